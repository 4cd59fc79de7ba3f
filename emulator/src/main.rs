// SPDX-License-Identifier: MIT OR Apache-2.0

//! The emulated GPU's process: one device, one client, one report.
//!
//! It prints `ready` when QEMU can connect, ends when QEMU has gone (or on SIGTERM), and its exit
//! status is 1 if the driver did what the hardware does not define. What user programs do wrong is reported,
//! and no reason for that.

use clap::Parser;
use rkfd_emulator::chip::{budget, removal};
use rkfd_emulator::chip::device::{Config, Device};
use rkfd_emulator::chip::Name;
use rkfd_emulator::inject::{Fault, Faults};
use rkfd_emulator::report::Report;
use rkfd_emulator::trace::Trace;
use rkfd_emulator::transport::Transport;
use signal_hook::consts::{SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;
use std::{io, thread};

/// An emulated AMD GPU for QEMU's vfio-user-pci.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Where to listen: a path that does not exist yet.
    #[arg(long)]
    socket: PathBuf,
    /// Which GPU.
    #[arg(long, default_value = "mi308x")]
    chip: Name,
    /// Video memory in MiB; default: the chip's own. Memory is taken from the host only where the
    /// guest touches it.
    #[arg(long, value_parser = clap::value_parser!(u64).range(64..=1 << 20))]
    vram_mib: Option<u64>,
    /// Memory in MiB that the VRAM may take from the host. A device whose guest writes more falls off
    /// the bus, and the report names that as a violation.
    #[arg(long, default_value_t = budget::DEFAULT_MIB, value_parser = clap::value_parser!(u64).range(16..=1 << 20))]
    host_memory: u64,
    /// Where to write what the driver did wrong (violations) and what programs did (faults).
    #[arg(long)]
    report: Option<PathBuf>,
    /// Where to write what the device sees and does, one JSON object a line.
    #[arg(long)]
    trace: Option<PathBuf>,
    /// Break the device in a way; can be given several times.
    #[arg(long = "inject", value_name = "NAME")]
    faults: Vec<Fault>,
    /// Start without running firmware, as before PSP load.
    #[arg(long)]
    cold: bool,
}

/// How often the trace is written out, so that others can follow it.
const FLUSH: Duration = Duration::from_millis(100);

fn main() -> ExitCode {
    let args = Args::parse();
    match run(args) {
        Ok(code) => code,
        Err(why) => {
            eprintln!("rkfd-emulator: {why}");
            ExitCode::from(2)
        }
    }
}

fn run(args: Args) -> Result<ExitCode, Box<dyn std::error::Error>> {
    let mut faults = args.faults;
    if args.cold {
        faults.push(Fault::Cold);
    }
    let report = Report::new(args.report);
    let trace = match &args.trace {
        Some(path) => Trace::to_file(path)?,
        None => Trace::off(),
    };
    let chip = args.chip.chip();
    let device = Device::new(Config {
        chip,
        vram_size: args.vram_mib.map_or(chip.vram_size, |mib| mib << 20),
        faults: Faults::new(&faults),
        report: report.clone(),
        trace: trace.clone(),
    })?;
    budget::watch(&device, args.host_memory << 20)?;
    removal::watch(&device)?;
    let mut transport = Transport::new(device);
    let server = transport.listen(&args.socket)?;
    end_on_signal(args.socket, report.clone(), trace.clone())?;
    if trace.is_on() {
        let trace = trace.clone();
        thread::Builder::new()
            .name("trace".into())
            .spawn(move || loop {
                thread::sleep(FLUSH);
                trace.flush();
            })?;
    }
    println!("ready");
    io::stdout().flush()?;
    if let Err(why) = server.run(&mut transport) {
        // QEMU ended in the middle of a message, or sent one that the protocol does not have.
        eprintln!("rkfd-emulator: connection: {why}");
    }
    // Takes its socket with it; process exit would not.
    drop(server);
    Ok(end(&report, &trace))
}

/// Writes the findings and returns the exit status.
fn end(report: &Report, trace: &Trace) -> ExitCode {
    trace.flush();
    if let Err(why) = report.write() {
        eprintln!("rkfd-emulator: report: {why}");
        return ExitCode::from(2);
    }
    ExitCode::from(u8::from(report.violations() != 0))
}

/// Ends the process as if the client had gone when it is asked to.
fn end_on_signal(socket: PathBuf, report: Arc<Report>, trace: Arc<Trace>) -> io::Result<()> {
    let mut signals = Signals::new([SIGTERM, SIGINT])?;
    thread::Builder::new()
        .name("signals".into())
        .spawn(move || {
            if signals.forever().next().is_some() {
                let _ = std::fs::remove_file(&socket);
                let failed = end(&report, &trace) != ExitCode::SUCCESS;
                std::process::exit(failed.into());
            }
        })?;
    Ok(())
}
