// SPDX-License-Identifier: MIT OR Apache-2.0

//! `rkfd trace`: runs a program while the driver's tracepoints are listened to, and counts.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rkfd_trace::summary::Summary;
use rkfd_trace::timeline::Timeline;
use rkfd_trace::{driver, perfetto};

use crate::Failure;

/// Where Linux mounts tracefs (Documentation/trace/ftrace.rst).
const TRACEFS: &str = "/sys/kernel/tracing";
/// KiB for each processor: some 100,000 events.
const BUFFER: &str = "16384";

/// `rkfd trace`.
#[derive(clap::Args)]
pub(crate) struct Options {
    /// Keep the events themselves, which rkfd-trace puts beside those of an emulated GPU.
    #[arg(long, value_name = "FILE")]
    raw: Option<PathBuf>,
    /// Write what the driver did as a trace for ui.perfetto.dev.
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// Print what was counted, which is done as well where no other output is asked for.
    #[arg(long)]
    summary: bool,
    /// The program, and its arguments.
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
    program: Vec<OsString>,
}

/// A place of tracefs where nobody else listens. It goes with its owner.
struct Listener(PathBuf);

impl Listener {
    fn new(tracefs: &Path) -> Result<Self, Failure> {
        let events = tracefs.join("events/rkfd");
        // What is missing is named: tracefs itself, or the module's events in it.
        fs::read_dir(&events).map_err(|error| failed(&events, error))?;
        let place = tracefs.join(format!("instances/rkfd-{}", std::process::id()));
        fs::create_dir(&place).map_err(|error| failed(&place, error))?;
        let listener = Self(place);
        for (file, text) in [
            ("trace_clock", "mono"),
            ("buffer_size_kb", BUFFER),
            ("events/rkfd/enable", "1"),
        ] {
            listener.write(file, text)?;
        }
        Ok(listener)
    }

    fn write(&self, file: &str, text: &str) -> Result<(), Failure> {
        let path = self.0.join(file);
        fs::write(&path, text).map_err(|error| failed(&path, error))
    }

    /// What was heard.
    fn text(&self) -> Result<String, Failure> {
        self.write("tracing_on", "0")?;
        let path = self.0.join("trace");
        fs::read_to_string(&path).map_err(|error| failed(&path, error))
    }
}

impl Drop for Listener {
    fn drop(&mut self) {
        // Without its events off, the folder is in use.
        let _ = self.write("events/rkfd/enable", "0");
        let _ = fs::remove_dir(&self.0);
    }
}

fn failed(path: &Path, error: std::io::Error) -> Failure {
    Failure::File {
        path: path.display().to_string(),
        error,
    }
}

/// Runs the program, and prints what the driver did meanwhile.
pub(crate) fn trace(options: &Options) -> Result<(), Failure> {
    let listener = Listener::new(Path::new(TRACEFS))?;
    let Some((program, arguments)) = options.program.split_first() else {
        return Ok(());
    };
    let ended = Command::new(program)
        .args(arguments)
        .env(rkfd::trace::MARKER, listener.0.join("trace_marker"))
        .status();
    let ended = ended.map_err(|error| failed(Path::new(program), error))?;
    let text = listener.text()?;
    if let Some(path) = &options.raw {
        fs::write(path, &text).map_err(|error| failed(path, error))?;
    }
    let events = driver::parse(&text);
    if let Some(path) = &options.perfetto {
        let timeline = Timeline::new(&[], &events, 0);
        fs::write(path, perfetto::encode(&timeline)).map_err(|error| failed(path, error))?;
    }
    if options.summary || (options.raw.is_none() && options.perfetto.is_none()) {
        print!("{}", Summary::of_driver(&events));
    }
    match ended.success() {
        true => Ok(()),
        false => Err(Failure::Program {
            program: program.to_string_lossy().into_owned(),
            status: ended.to_string(),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_named() {
        let dir = tempfile::tempdir().unwrap();
        let Err(Failure::File { path, error }) = Listener::new(dir.path()) else {
            panic!("there are no events");
        };
        assert!(path.ends_with("events/rkfd"));
        assert_eq!(error.kind(), std::io::ErrorKind::NotFound);
    }
}
