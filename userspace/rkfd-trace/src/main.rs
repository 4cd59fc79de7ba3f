// SPDX-License-Identifier: MIT OR Apache-2.0

//! `rkfd-trace`: reads traces of the emulated GPU and of the driver.

use anyhow::{Context, Result};
use clap::Parser;
use rkfd_trace::{clock, device, driver, perfetto, summary::Summary, timeline};
use std::path::{Path, PathBuf};

/// Puts traces of the driver and of the emulated GPU on one clock.
#[derive(Parser)]
#[command(version, about)]
struct Args {
    /// The device's trace (`rkfd-emulator --trace FILE`).
    #[arg(long, value_name = "FILE.jsonl")]
    device: PathBuf,
    /// What `trace` of tracefs printed; other lines in it do no harm.
    #[arg(long, value_name = "FILE")]
    driver: Option<PathBuf>,
    /// Write a trace for ui.perfetto.dev.
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
}

fn read(path: &Path) -> Result<String> {
    let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

fn main() -> Result<()> {
    let args = Args::parse();
    let device = device::parse(&read(&args.device)?)?;
    let driver = args.driver.as_deref().map(read).transpose()?;
    let driver = driver.map_or(Vec::new(), |text| driver::parse(&text));
    let offset = match driver.is_empty() {
        true => 0,
        false => clock::offset(&device, &driver)?,
    };
    let device = timeline::within(&device, &driver, offset);
    if let Some(path) = &args.perfetto {
        let timeline = timeline::Timeline::new(device, &driver, offset);
        std::fs::write(path, perfetto::encode(&timeline))
            .with_context(|| path.display().to_string())?;
    }
    print!("{}", Summary::new(device, &driver));
    Ok(())
}
