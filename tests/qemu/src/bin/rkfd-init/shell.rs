// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interactive shell on the console, which follows the size of the host's terminal.

use rkfd_vm::protocol;
use rustix::termios::{self, OptionalActions, Winsize};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::thread;

const GREETING: &str = "
The module is loaded; its devices are /dev/kfd and /dev/dri/*. For example:
  rkfd info
  rkfd top
  vectoradd /kernels/vadd-O3.co
  rkfd run /kernels/saxpy-O3.co saxpy --grid 1024 f32:2 buf:in:f32:1024:iota buf:inout:f32:1024:1 u32:1024
'device where' asks the emulated GPU whether it stands still, 'device pause' stops it (docs/looking-in.md).
/kernels has code objects and their sources; /sys/kernel/debug and /sys/kernel/tracing are mounted.
'exit' powers the machine off; Ctrl-A X ends it at once.
";

/// Run it until it ends.
pub fn run(rows: u16, cols: u16) {
    resize(rows, cols);
    if let Err(why) = follow_size() {
        println!("The shell does not follow the size of the terminal: {why}");
    }
    println!("{GREETING}");
    let shell = Command::new("/bin/busybox")
        .args(["setsid", "-c", "/bin/sh", "-l"])
        .env("PATH", "/bin")
        .env("HOME", "/root")
        .env("PS1", "rkfd:\\w# ")
        .current_dir("/root")
        .status();
    if let Err(why) = shell {
        println!("The shell cannot be started: {why}");
    }
}

/// Give the console this size; programs on it get SIGWINCH.
fn resize(rows: u16, cols: u16) {
    let size = Winsize {
        ws_row: rows,
        ws_col: cols,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    let _ = termios::tcsetwinsize(std::io::stdin(), size);
}

/// The host sends each new size of its terminal to the second serial port.
fn follow_size() -> std::io::Result<()> {
    let port = OpenOptions::new()
        .read(true)
        .custom_flags(crate::O_NOCTTY)
        .open("/dev/ttyS1")?;
    // What the host sends must not come back as an echo.
    let mut mode = termios::tcgetattr(&port)?;
    mode.make_raw();
    termios::tcsetattr(&port, OptionalActions::Now, &mode)?;
    thread::spawn(move || read_sizes(port));
    Ok(())
}

fn read_sizes(port: File) {
    for line in BufReader::new(port).lines().map_while(Result::ok) {
        if let Some((rows, cols)) = protocol::parse_size(&line) {
            resize(rows, cols);
        }
    }
}
