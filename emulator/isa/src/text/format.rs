// SPDX-License-Identifier: MIT OR Apache-2.0
//! Typed buffers' formats (AMDGPUAsmUtils.cpp, MTBUFFormat).

use std::fmt;

/// gfx9's data formats by number.
const DATA: [&str; 16] = [
    "INVALID",
    "8",
    "16",
    "8_8",
    "32",
    "16_16",
    "10_11_11",
    "11_11_10",
    "10_10_10_2",
    "2_10_10_10",
    "8_8_8_8",
    "32_32",
    "16_16_16_16",
    "32_32_32",
    "32_32_32_32",
    "RESERVED_15",
];
/// And its numeric formats.
const NUMBERS: [&str; 8] = [
    "UNORM",
    "SNORM",
    "USCALED",
    "SSCALED",
    "UINT",
    "SINT",
    "RESERVED_6",
    "FLOAT",
];
/// gfx12's formats in order: a data format, and the numeric formats that it has.
const UNIFIED: [(&str, &[&str]); 14] = [
    ("8", &INTEGERS),
    ("16", &SIXTEEN),
    ("8_8", &INTEGERS),
    ("32", &WHOLE),
    ("16_16", &SIXTEEN),
    ("10_11_11", &["FLOAT"]),
    ("11_11_10", &["FLOAT"]),
    ("10_10_10_2", &["UNORM", "SNORM", "UINT", "SINT"]),
    ("2_10_10_10", &INTEGERS),
    ("8_8_8_8", &INTEGERS),
    ("32_32", &WHOLE),
    ("16_16_16_16", &SIXTEEN),
    ("32_32_32", &WHOLE),
    ("32_32_32_32", &WHOLE),
];
const INTEGERS: [&str; 6] = ["UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT"];
const SIXTEEN: [&str; 7] = [
    "UNORM", "SNORM", "USCALED", "SSCALED", "UINT", "SINT", "FLOAT",
];
const WHOLE: [&str; 3] = ["UINT", "SINT", "FLOAT"];

/// The format, unless it is number 1, normalised bytes.
pub fn write(f: &mut fmt::Formatter<'_>, value: u32, unified: bool) -> fmt::Result {
    if value == 1 {
        return Ok(());
    }
    if unified {
        return match name(value) {
            Some(name) => write!(f, " format:[BUF_FMT_{name}]"),
            None => write!(f, " format:{value}"),
        };
    }
    let (data, number) = (value & 15, (value >> 4) & 7);
    let mut names = Vec::new();
    if data != 1 {
        names.push(format!("BUF_DATA_FORMAT_{}", DATA[data as usize]));
    }
    if number != 0 {
        names.push(format!("BUF_NUM_FORMAT_{}", NUMBERS[number as usize]));
    }
    write!(f, " format:[{}]", names.join(","))
}

fn name(value: u32) -> Option<String> {
    let all = UNIFIED
        .iter()
        .flat_map(|(data, numbers)| numbers.iter().map(move |number| format!("{data}_{number}")));
    std::iter::once("INVALID".to_string())
        .chain(all)
        .nth(value as usize)
}
