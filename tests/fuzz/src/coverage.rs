// SPDX-License-Identifier: MIT OR Apache-2.0
//! Which of the module's basic blocks the run reaches, as a module that was built with RKFD_COVERAGE=all notes them
//! (`rust/glue/coverage.c`): those of interrupts and work items, too.

use std::fs::{read_to_string, write};

/// The module's parameter: "clear" or an address is written to it; what is read are addresses from there on.
const FILE: &str = "/sys/module/rkfd/parameters/reached";
/// Where the module's code begins.
const TEXT: &str = "/sys/module/rkfd/sections/.text";
/// Offsets in a line.
const IN_LINE: usize = 16;

fn number(text: &str) -> Result<u64, String> {
    let digits = text.trim().trim_start_matches("0x");
    u64::from_str_radix(digits, 16).map_err(|e| format!("{text:?}: {e}"))
}

/// Begins: what the module has done so far doesn't count.
///
/// # Errors
///
/// The module notes nothing.
pub fn begin() -> Result<(), String> {
    write(FILE, "clear").map_err(|e| format!("{FILE}: {e}"))
}

/// Prints the blocks' offsets from the code's begin, for `tests/fuzz/coverage.py`.
///
/// # Errors
///
/// The module is gone, or its answers are no numbers.
pub fn print() -> Result<(), String> {
    let failed = |e| format!("{FILE}: {e}");
    let text = number(&read_to_string(TEXT).map_err(|e| format!("{TEXT}: {e}"))?)?;
    let (mut from, mut offsets) = (0, Vec::new());
    loop {
        write(FILE, format!("{from:x}")).map_err(failed)?;
        let page = read_to_string(FILE).map_err(failed)?;
        let before = offsets.len();
        for line in page.lines().filter(|line| !line.is_empty()) {
            let address = number(line)?;
            offsets.push(address.wrapping_sub(text));
            from = address + 1;
        }
        if offsets.len() == before {
            break;
        }
    }
    for line in offsets.chunks(IN_LINE) {
        let line: Vec<String> = line.iter().map(|offset| format!("{offset:x}")).collect();
        println!("reached {}", line.join(" "));
    }
    Ok(())
}
