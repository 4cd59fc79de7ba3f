// SPDX-License-Identifier: MIT OR Apache-2.0
//! The terminal that a virtual machine's console is shown on.

use crate::protocol;
use rustix::termios;
use std::io::Write;
use std::thread;
use std::time::Duration;

/// The size of a terminal that doesn't know its own.
const USUAL: (u16, u16) = (24, 80);
/// How often the size is looked at: a person who drags a corner does not notice the delay.
const LOOK: Duration = Duration::from_millis(250);

/// Rows and columns of our terminal.
pub fn size() -> (u16, u16) {
    match termios::tcgetwinsize(std::io::stdin()) {
        Ok(size) if size.ws_row > 0 && size.ws_col > 0 => (size.ws_row, size.ws_col),
        _ => USUAL,
    }
}

/// Sends each new size to the guest, until the guest is gone.
pub fn send_sizes(mut guest: impl Write + Send + 'static) {
    thread::spawn(move || {
        let mut sent = size();
        loop {
            thread::sleep(LOOK);
            let now = size();
            if now != sent {
                let line = protocol::size_line(now.0, now.1);
                if guest.write_all(line.as_bytes()).is_err() {
                    return;
                }
                sent = now;
            }
        }
    });
}
