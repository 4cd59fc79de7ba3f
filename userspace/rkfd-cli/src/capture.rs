// SPDX-License-Identifier: MIT OR Apache-2.0

//! `rkfd capture`: one archive of what a card and its machine show, for somebody who hasn't got them.
//!
//! It reads files and writes one. It touches no register by itself: what registers show comes from files of a driver that
//! is there ([`driver`]).

mod card;
mod collection;
mod driver;
mod private;
mod system;

use std::fs::OpenOptions;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};

use crate::machine::Machine;
use crate::Failure;
use collection::Collection;
use private::Private;

/// What is in it, and what isn't, for the help.
const CONTENTS: &str = "What the archive holds, as far as this machine shows it to this user:
  gpu/SLOT/     PCI configuration space, BARs, link; the IP discovery table; versions of firmware; sensors
  topology/     what KFD shows of its nodes
  driver/       what rkfd shows in debugfs of queues, VMIDs and schedulers; registers.txt says which registers its
                files read, and why that is safe. The command itself reads none
  kernel/       release, parameters of the driver, and the kernel log's lines about rkfd, amdgpu and kfd
  trace/        what the driver's tracepoints told, where somebody listens
  doctor.txt    what `rkfd doctor` says
  CONTENTS      this list with sizes and sources, and what is missing

What needs what:
  PCI configuration space past 64 bytes, debugfs, the trace          root
  the kernel log                                                     root, where kernel.dmesg_restrict is 1
  the discovery table, byte by byte    root, and rkfd (debugfs rkfd/SLOT) or amdgpu (dri/SLOT/amdgpu_discovery)
  the discovery table, as text         amdgpu (ip_discovery of the PCI device); any user
The table lies in VRAM. Without a driver nobody reads it for you, and neither does this command.

Left out: the host's name, names of users and processes, the kernel's command line, lines of the log that programs wrote,
and serial numbers (unique_id, serial_number, PCI's device serial number) without --serials. Numbers of processes stay in.
Nothing is sent: look at the list, and into the archive, before you do.";

/// `rkfd capture`.
#[derive(clap::Args)]
#[command(after_long_help = CONTENTS)]
pub(crate) struct Options {
    /// Where to; there must be no such file yet.
    #[arg(default_value = "rkfd-capture.tar")]
    archive: PathBuf,
    /// Print what the archive would hold, and write nothing.
    #[arg(long, conflicts_with = "yes")]
    list: bool,
    /// Write without asking.
    #[arg(long)]
    yes: bool,
    /// Keep the card's serial numbers in.
    #[arg(long)]
    serials: bool,
}

/// Prints the list, asks, and writes the archive.
///
/// # Errors
///
/// [`Failure::NoCard`], [`Failure::NotConfirmed`], and [`Failure::File`] when the archive can't be written or is there
/// already. What can't be read is in the list, and no error.
pub(crate) fn capture(options: &Options) -> Result<(), Failure> {
    let machine = Machine::here();
    let all = collect(&machine, options.serials)?;
    print!("{}", all.list());
    if options.list {
        return Ok(());
    }
    if options.archive.exists() {
        let error = io::Error::from(io::ErrorKind::AlreadyExists);
        return Err(failed(&options.archive, error));
    }
    if !options.yes {
        confirm(&options.archive, io::stdin().lock())?;
    }
    write(&all, &options.archive)?;
    println!("wrote {}", options.archive.display());
    Ok(())
}

/// Everything that there is to be put in.
fn collect(machine: &Machine, serials: bool) -> Result<Collection<'_>, Failure> {
    let gpus = machine.gpus();
    if gpus.is_empty() {
        return Err(Failure::NoCard);
    }
    let mut all = Collection::new(machine, Private::of(machine, serials));
    for gpu in &gpus {
        card::collect(&mut all, gpu);
    }
    system::collect(&mut all);
    driver::collect(&mut all);
    Ok(all)
}

/// Asks whether to go on.
fn confirm(archive: &Path, mut answers: impl BufRead) -> Result<(), Failure> {
    print!("write all of this to {}? [y/N] ", archive.display());
    let _ = io::stdout().flush();
    let mut answer = String::new();
    let read = answers.read_line(&mut answer);
    let is_yes = matches!(answer.trim().to_lowercase().as_str(), "y" | "yes");
    match read {
        Ok(_) if is_yes => Ok(()),
        _ => Err(Failure::NotConfirmed),
    }
}

fn write(all: &Collection, archive: &Path) -> Result<(), Failure> {
    let failed = |error| failed(archive, error);
    // Not over somebody's file, nor through a link.
    let file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .open(archive);
    let mut file = file.map_err(failed)?;
    all.write(&mut file).map_err(failed)?;
    file.sync_all().map_err(failed)
}

fn failed(path: &Path, error: io::Error) -> Failure {
    Failure::File {
        path: path.display().to_string(),
        error,
    }
}
