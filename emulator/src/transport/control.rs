// SPDX-License-Identifier: MIT OR Apache-2.0

//! The control socket: a stream of commands, one on a line, each with its answer: about rules, and to stop the device and
//! look into it.
//!
//! QEMU can show it to the guest as a serial port, so that a test installs a rule where it needs it.

use crate::chip::device::Device;
use crate::inspect::answer;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::sync::Arc;
use std::thread;

/// The longest line that is read.
const LONGEST: u64 = 1024;

/// Listens at a path that does not exist yet. Each connection has a thread.
///
/// # Errors
/// The path is taken or can't be made; the host refuses a thread.
pub fn listen(path: &Path, device: Arc<Device>) -> io::Result<()> {
    let listener = UnixListener::bind(path)?;
    thread::Builder::new()
        .name("control".into())
        .spawn(move || {
            for stream in listener.incoming().flatten() {
                let device = device.clone();
                let _ = thread::Builder::new()
                    .name("control".into())
                    .spawn(move || serve(stream, &device));
            }
        })?;
    Ok(())
}

/// Answers until the other end has gone.
fn serve(stream: UnixStream, device: &Device) -> io::Result<()> {
    let (mut lines, mut out) = (BufReader::new(stream.try_clone()?), stream);
    loop {
        let mut line = Vec::new();
        if lines.by_ref().take(LONGEST).read_until(b'\n', &mut line)? == 0 {
            return Ok(());
        }
        let line = String::from_utf8_lossy(&line);
        for mut text in answer(device, &line) {
            text.push('\n');
            out.write_all(text.as_bytes())?;
        }
    }
}
