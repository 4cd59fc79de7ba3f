// SPDX-License-Identifier: MIT OR Apache-2.0

//! `rkfd capture`: one archive of what a card and its machine show, for somebody who hasn't got them.
//!
//! It reads files and writes one. It touches no register by itself: what registers show comes from files of a driver that
//! is there ([`driver`]).

mod card;
mod collection;
mod driver;
mod log;
mod private;
mod system;
mod trace;

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
  the discovery table, as text         rkfd or amdgpu (ip_discovery of the PCI device); any user
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
    log::collect(&mut all, &gpus);
    trace::collect(&mut all);
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::made::Made;
    use std::collections::BTreeMap;
    use std::io::Read;

    const SLOT: &str = "0000:03:00.0";
    const AT: &str = "sys/bus/pci/devices/0000:03:00.0";
    const NODE: &str = "sys/devices/virtual/kfd/kfd/topology/nodes/1";

    /// A machine with a card, a host name and a serial number.
    fn machine() -> Made {
        let mut config = vec![0; 4096];
        config[0x100..0x104].copy_from_slice(&0x0001_0003_u32.to_le_bytes());
        config[0x104..0x10c].copy_from_slice(b"SERIALNO");
        Made::new()
            .pci(SLOT, "0x1002", "0x120000", Some("rkfd"))
            .module("rkfd")
            .file(&format!("{AT}/config"), config)
            .file(&format!("{AT}/unique_id"), "00c0ffee12345678\n")
            .file("proc/sys/kernel/hostname", "heron.example.org\n")
            .file("proc/sys/kernel/osrelease", "7.3.4+deb13-amd64\n")
            .file(
                &format!("{NODE}/properties"),
                "simd_count 320\nunique_id 54324670505309816\n",
            )
            .file(
                &format!("sys/kernel/debug/rkfd/{SLOT}/discovery"),
                [0x07, 0x14, 0x21, 0x28, 0xff],
            )
            .file(
                "sys/kernel/debug/rkfd/queues",
                "process 812 secret-program\n  queue 0\n",
            )
            .file(
                "dev/kmsg",
                "6,1,1500000,-;rkfd 0000:03:00.0: heron, 00c0ffee12345678\n SUBSYSTEM=pci\n\
                 6,2,1600000,-;Command line: amdgpu.dc=0 secret\n12,3,1700000,-;rkfd: from a program\n",
            )
    }

    /// The archive's files.
    fn unpacked(all: &Collection) -> BTreeMap<String, Vec<u8>> {
        let mut bytes = Vec::new();
        all.write(&mut bytes).unwrap();
        let mut files = BTreeMap::new();
        for entry in tar::Archive::new(bytes.as_slice()).entries().unwrap() {
            let mut entry = entry.unwrap();
            let path = entry.path().unwrap().display().to_string();
            assert_eq!(entry.header().username().unwrap(), Some(""));
            let mut bytes = Vec::new();
            entry.read_to_end(&mut bytes).unwrap();
            let path = path.strip_prefix("rkfd-capture/").unwrap();
            assert!(files.insert(path.to_owned(), bytes).is_none(), "{path}");
        }
        files
    }

    fn has(files: &BTreeMap<String, Vec<u8>>, word: &str) -> bool {
        let is_in = |bytes: &Vec<u8>| {
            bytes
                .windows(word.len())
                .any(|part| part == word.as_bytes())
        };
        files.values().any(is_in)
    }

    #[test]
    fn the_archive_holds_what_the_list_says_and_nothing_personal() {
        let machine = machine();
        let all = collect(&machine, false).unwrap();
        let files = unpacked(&all);
        for (path, bytes) in &files {
            let mut lines = all.list().lines().map(str::to_owned).collect::<Vec<_>>();
            lines.retain(|line| line.split_whitespace().next() == Some(path));
            let [line] = lines.as_slice() else {
                panic!("{path}: {lines:?}");
            };
            let size = line.split_whitespace().nth(1);
            assert_eq!(size, Some(bytes.len().to_string().as_str()), "{path}");
        }
        let discovery = files.get(&format!("gpu/{SLOT}/discovery.bin"));
        assert_eq!(discovery.unwrap(), &[0x07, 0x14, 0x21, 0x28, 0xff]);
        assert!(has(&files, "simd_count 320"));
        assert!(has(&files, "process 812 ?\n  queue 0"));
        for word in [
            "heron",
            "SERIALNO",
            "00c0ffee",
            "54324670505309816",
            "secret",
            "from a program",
        ] {
            assert!(!has(&files, word), "{word}");
        }
        assert_eq!(
            String::from_utf8_lossy(&files["kernel/log.txt"]),
            "[    1.500000] rkfd 0000:03:00.0: (host), (left out)\n"
        );
    }

    #[test]
    fn serial_numbers_are_in_if_they_are_wanted() {
        let machine = machine();
        let files = unpacked(&collect(&machine, true).unwrap());
        for word in ["SERIALNO", "00c0ffee12345678", "54324670505309816"] {
            assert!(has(&files, word), "{word}");
        }
        assert!(!has(&files, "heron"));
    }

    #[test]
    fn what_is_missing_is_said() {
        let machine = Made::new().pci(SLOT, "0x1002", "0x120000", None);
        let all = collect(&machine, false).unwrap();
        let list = all.list();
        for part in ["the discovery table", "the kernel log", "debugfs"] {
            let mut lines = list.lines().filter(|line| line.starts_with("missing"));
            assert!(lines.any(|line| line.contains(part)), "{part}: {list}");
        }
        let files = unpacked(&all);
        assert!(has(&files, "missing  the kernel log"));
        let none = collect(&Made::new(), false).err();
        assert!(matches!(none, Some(Failure::NoCard)));
    }

    #[test]
    fn only_a_yes_is_one() {
        let path = Path::new("x.tar");
        for yes in ["y\n", "Yes\n"] {
            assert!(confirm(path, yes.as_bytes()).is_ok());
        }
        for no in ["", "\n", "n\n", "yellow\n"] {
            let answer = confirm(path, no.as_bytes());
            assert!(matches!(answer, Err(Failure::NotConfirmed)), "{no:?}");
        }
    }

    #[test]
    fn no_file_is_written_over() {
        let machine = machine();
        let all = collect(&machine, false).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x.tar");
        write(&all, &path).unwrap();
        assert!(matches!(write(&all, &path), Err(Failure::File { .. })));
    }
}
