// SPDX-License-Identifier: MIT OR Apache-2.0

//! At which instruction waves of a queue halted.

use super::queue::{Queue, Wave};

/// How far behind its entry a kernel's code is taken to reach, in bytes: where it ends the driver doesn't know.
const FAR: u64 = 1 << 24;

/// A part of a sentence about the waves that are halted; nothing where none is.
pub(super) fn halted(queue: &Queue) -> String {
    let Some(first) = queue.waves.first() else {
        return match queue.waves_busy {
            true => "; somebody looks at its waves, ask again for these".into(),
            false => String::new(),
        };
    };
    let more = match queue.waves.len() {
        1 => String::new(),
        count => format!(" (the first of {count} that the driver shows)"),
    };
    format!(
        "; wave {} halted at {}{more}",
        place(first),
        at(first, queue)
    )
}

/// Where a wave is on the hardware.
fn place(wave: &Wave) -> String {
    format!(
        "on XCC {} engine {} array {} CU {} SIMD {} slot {}",
        wave.xcc, wave.engine, wave.array, wave.cu, wave.simd, wave.slot
    )
}

/// Where a wave is in its code.
fn at(wave: &Wave, queue: &Queue) -> String {
    let offset = queue.entry.and_then(|entry| wave.pc.checked_sub(entry));
    let behind = match offset.filter(|offset| *offset < FAR) {
        Some(offset) => format!(" (the kernel's entry + {offset:#x})"),
        None => String::new(),
    };
    let code = match wave.code {
        Some(code) => format!("instruction {code:#010x}"),
        None => "an instruction that the driver can't read".into(),
    };
    format!("{:#x}{behind}, {code}", wave.pc)
}

#[cfg(test)]
mod tests {
    use super::super::queue::parse;
    use super::halted;

    fn of(lines: &str) -> String {
        let text = format!("process 5 a\n  queue 2 gpu 7\n{}", lines.replace('|', "\n"));
        halted(&parse(&text)[0].queues[0])
    }

    #[test]
    fn the_first_of_its_waves_is_named_with_its_place_and_its_instruction() {
        let wave = "wave 1 2 0 3 1 4 pc 0x7f0000001010 status 0x12040 code 0xbfff0000";
        let place = "; wave on XCC 1 engine 2 array 0 CU 3 SIMD 1 slot 4 halted at 0x7f0000001010";
        assert_eq!(of("state mapped"), "");
        assert_eq!(of(wave), format!("{place}, instruction 0xbfff0000"));
        assert_eq!(
            of(&format!("entry 0x7f0000001000|{wave}")),
            format!("{place} (the kernel's entry + 0x10), instruction 0xbfff0000")
        );
        // A function that lies before it, or somewhere else.
        for entry in ["0x7f0000002000", "0x7e0000000000"] {
            assert_eq!(
                of(&format!("entry {entry}|{wave}|{wave}")),
                format!("{place}, instruction 0xbfff0000 (the first of 2 that the driver shows)")
            );
        }
        let unread = wave.replace("0xbfff0000", "?");
        assert_eq!(
            of(&unread),
            format!("{place}, an instruction that the driver can't read")
        );
        assert!(of("wave busy").contains("ask again"));
    }
}
