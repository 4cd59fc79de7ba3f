// SPDX-License-Identifier: MIT OR Apache-2.0

//! The emulated GPU's process: one device, one client, one report.
//!
//! It prints `ready` when QEMU can connect, ends when QEMU has gone (or on SIGTERM), and its exit
//! status is 1 if the driver did what the hardware does not define. What user programs do wrong is reported,
//! and no reason for that.

mod manual;

use clap::{CommandFactory, Parser};
use rkfd_emulator::chip::budget;
use rkfd_emulator::chip::device::{Checks, Config, Device};
use rkfd_emulator::chip::Name;
use rkfd_emulator::report::Report;
use rkfd_emulator::rules::{Rules, POINTS};
use rkfd_emulator::trace::Trace;
use rkfd_emulator::transport::{control, Transport};
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
#[command(version, after_help = RULES)]
struct Args {
    /// Where to listen: a path that does not exist yet.
    #[arg(long, required_unless_present = "manual")]
    socket: Option<PathBuf>,
    /// Which GPU.
    #[arg(long, default_value = "mi308x")]
    chip: Name,
    /// Video memory in MiB; default: the chip's own. Memory is taken from the host only where the
    /// guest touches it.
    #[arg(long, value_parser = clap::value_parser!(u64).range(64..=1 << 20))]
    vram_mib: Option<u64>,
    /// The chip's serial number, 16 hexadecimal digits, by which programs tell cards apart (`unique_id`).
    #[arg(long, value_name = "HEX", default_value = "0123456789abcdef", value_parser = serial)]
    serial: u64,
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
    /// Misbehave by a rule, such as `at the 3rd ADD_QUEUE: no answer`; can be given several times.
    #[arg(long = "rule", value_name = "RULE")]
    rules: Vec<String>,
    /// Stand still each time this happens, so that the device can be looked into by the control socket: a process'
    /// doorbell was rung, an AQL packet is read, waves start, a packet is complete, an interrupt goes into the ring.
    #[arg(long = "pause-at", value_name = "POINT", value_parser = POINTS.map(|(point, _)| point), requires = "control")]
    pause_at: Vec<String>,
    /// Where to listen for commands, one on a line: `add RULE`, `remove NUMBER`, `remove all`, `list`; and `pause`,
    /// `step`, `where`, `show waves` and others that look into the device. The last line of an answer begins with
    /// `ok` or `error`.
    #[arg(long, value_name = "PATH")]
    control: Option<PathBuf>,
    /// Start without running firmware, as before PSP load.
    #[arg(long)]
    cold: bool,
    /// Leave out what only finds mistakes of programs: registers that they use before they have waited for the
    /// memory operation that writes them, races of a work-group's waves for memory, an order of waves that a seed
    /// draws, and caches.
    #[arg(long)]
    fast: bool,
    /// Compute units and XCCs have no caches. With them a program which leaves out an acquire that it needs reads old
    /// values, and one that leaves out a release shows its results to nobody.
    #[arg(long)]
    no_caches: bool,
    /// The driver maps the memory that it shares with the device write-combined, as amdgpu does for some: then page
    /// table entries without SNOOPED and an interrupt ring without MC_SNOOP are right.
    #[arg(long)]
    write_combined: bool,
    /// Write the manual page, and files by which bash, zsh and fish complete this command, into a folder; it is made
    /// if it isn't there.
    #[arg(long, value_name = "FOLDER", exclusive = true)]
    manual: Option<PathBuf>,
}

/// A serial number in hexadecimal digits.
fn serial(text: &str) -> Result<u64, std::num::ParseIntError> {
    u64::from_str_radix(text, 16)
}

/// The language of rules, in short.
const RULES: &str = "\
Rules: WHEN EVENT [of KEY NUMBER ...]: EFFECT [from now on]
  WHEN    on, at, every, at the 3rd, from the 3rd, every 100th
  EVENT   ADD_QUEUE, UNMAP_QUEUES and other packets and frames, KIQ packet, HIQ packet, MES frame,
          IH entry, register NAME, read of NAME, write of NAME, any register access, dispatch,
          page walk, instruction fetch, doorbell ring, AQL packet, wave launch, end of pipe, queue stop,
          probe, power-on
  KEY     doorbell, queue, pasid, vmid, client, source, pipe
  EFFECT  no answer, hang, late 5 s, twice, wrong sequence, garbage, drop, fail, storm of 100,
          overflow, read ffffffff, wedge, fault flood of 100, bad checksum, impossible counts,
          pause, surprise removal, death, ...
Examples:
  --rule 'at the 3rd ADD_QUEUE: no answer'
  --rule 'on UNMAP_QUEUES of doorbell 0x1000: late 5 s'
  --rule 'every 100th IH entry: drop'
  --rule 'at register GRBM_STATUS: read ffffffff from now on'
docs/misbehaviour.md explains each word; a rule that is none is refused with what was expected.";

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
    if let Some(folder) = &args.manual {
        manual::write(Args::command(), folder)?;
        return Ok(ExitCode::SUCCESS);
    }
    let socket = args.socket.ok_or("no socket was named")?;
    let rules = Rules::of(&args.rules)?;
    for (point, event) in POINTS {
        if args.pause_at.iter().any(|at| at == point) {
            rules.add(&format!("on {event}: pause"))?;
        }
    }
    if args.cold {
        rules.add("at power-on: cold")?;
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
        serial: args.serial,
        rules: rules.clone(),
        report: report.clone(),
        trace: trace.clone(),
        checks: if args.fast {
            Checks::NONE
        } else {
            Checks {
                caches: !args.no_caches,
                ..Checks::default()
            }
        },
    })?;
    device.soc.memory.bus.set_cached(!args.write_combined);
    budget::watch(&device, args.host_memory << 20)?;
    if let Some(path) = &args.control {
        control::listen(path, device.clone())?;
    }
    let mut transport = Transport::new(device);
    let server = transport.listen(&socket)?;
    end_on_signal(socket, report.clone(), trace.clone())?;
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
