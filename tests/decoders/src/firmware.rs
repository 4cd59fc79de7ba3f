// SPDX-License-Identifier: MIT OR Apache-2.0

//! Firmware files, as the module reads them.

use rkfd_hw::firmware::{Code, EngineCode};

/// What is accepted lies in the file: whole words of code, and a jump table that is a part of them.
pub fn firmware(bytes: &[u8]) {
    for major in 0..4 {
        let Ok(code) = Code::read(bytes, major) else {
            continue;
        };
        let words: Vec<u32> = code.words().collect();
        assert!(!words.is_empty() && 4 * words.len() <= bytes.len());
        let in_file = |all: &[u32]| {
            let all: Vec<u8> = all.iter().flat_map(|word| word.to_le_bytes()).collect();
            bytes.windows(all.len()).any(|part| part == all)
        };
        assert!(in_file(&words));
        let Ok(engine) = EngineCode::read(bytes) else {
            continue;
        };
        let (at, table) = (engine.jump_table_at as usize, engine.jump_table());
        let table: Vec<u32> = table.collect();
        let words: Vec<u32> = engine.code.words().collect();
        assert_eq!(words.get(at..at + table.len()), Some(&table[..]));
    }
}
