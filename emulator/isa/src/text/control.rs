// SPDX-License-Identifier: MIT OR Apache-2.0
//! Cache policies, lane controls, and the fields of scalar control instructions.

use super::{Bits, Piece, Policy, Text};
use std::fmt;

/// s_delay_alu: whose result is waited for.
const DELAYS: [&str; 12] = [
    "NO_DEP",
    "VALU_DEP_1",
    "VALU_DEP_2",
    "VALU_DEP_3",
    "VALU_DEP_4",
    "TRANS32_DEP_1",
    "TRANS32_DEP_2",
    "TRANS32_DEP_3",
    "FMA_ACCUM_CYCLE_1",
    "SALU_CYCLE_1",
    "SALU_CYCLE_2",
    "SALU_CYCLE_3",
];
/// And which instruction the second wait is for.
const SKIPS: [&str; 6] = ["SAME", "NEXT", "SKIP_1", "SKIP_2", "SKIP_3", "SKIP_4"];

/// s_waitcnt_depctr's counters: first bit, bits.
const DEPENDENCIES: [(&str, u32, u32); 7] = [
    ("depctr_hold_cnt", 7, 1),
    ("depctr_sa_sdst", 0, 1),
    ("depctr_va_vdst", 12, 4),
    ("depctr_va_sdst", 9, 3),
    ("depctr_va_ssrc", 8, 1),
    ("depctr_va_vcc", 1, 1),
    ("depctr_vm_vsrc", 2, 3),
];

/// MSG_SYSMSG's operations and the geometry messages', by number.
const SYSTEM: [&str; 5] = [
    "",
    "SYSMSG_OP_ECC_ERR_INTERRUPT",
    "SYSMSG_OP_REG_RD",
    "",
    "SYSMSG_OP_TTRACE_PC",
];
const GEOMETRY: [&str; 4] = ["GS_OP_NOP", "GS_OP_CUT", "GS_OP_EMIT", "GS_OP_EMIT_CUT"];

fn list(numbers: impl Iterator<Item = u32>) -> String {
    let all: Vec<String> = numbers.map(|n| n.to_string()).collect();
    all.join(",")
}

impl Text {
    pub(super) fn control(&self, f: &mut fmt::Formatter<'_>, piece: &Piece) -> fmt::Result {
        let value = |bits| self.value(bits);
        match *piece {
            Piece::Part(text, bits) => {
                let part = match value(bits) {
                    n @ 0..=3 => format!("BYTE_{n}"),
                    n @ 4..=5 => format!("WORD_{}", n - 4),
                    _ => "DWORD".into(),
                };
                write!(f, "{text}{part}")
            }
            Piece::Unused(bits) => {
                let names = ["PAD", "SEXT", "PRESERVE"];
                let name = names.get(value(bits) as usize).unwrap_or(&"RESERVED");
                write!(f, "dst_unused:UNUSED_{name}")
            }
            Piece::Cache(policy, always, bits) => cache(f, policy, value(bits) | u32::from(always)),
            Piece::Lanes(bits, doubles) => self.lane_control(f, value(bits), doubles),
            Piece::Eights(bits) => {
                let value = value(bits);
                write!(f, "dpp8:[{}]", list((0..8).map(|n| (value >> (3 * n)) & 7)))
            }
            Piece::Swizzle(bits) => swizzle(f, value(bits)),
            Piece::Waits(_) => {
                let counters = self.names().waits.iter();
                let ones = |bits: Bits| {
                    bits.iter()
                        .map(|(_, count, to)| ((1 << count) - 1) << to)
                        .sum()
                };
                counted(
                    f,
                    counters
                        .map(|(name, bits)| (*name, value(*bits), ones(*bits)))
                        .collect(),
                )
            }
            Piece::Dependencies(bits) => dependencies(f, value(bits)),
            Piece::Delay(bits) => delay(f, value(bits)),
            Piece::Hardware(bits) => self.hardware(f, value(bits)),
            Piece::Message(bits) => self.message(f, value(bits) as u16),
            Piece::Indexed(bits) => {
                let (value, names) = (value(bits), ["SRC0", "SRC1", "SRC2", "DST"]);
                if value > 15 {
                    return write!(f, "{value:#x}");
                }
                let set: Vec<&str> = (0..4)
                    .filter(|n| (value >> n) & 1 == 1)
                    .map(|n| names[n])
                    .collect();
                write!(f, "gpr_idx({})", set.join(","))
            }
            Piece::Version(bits) => version(f, value(bits)),
            Piece::Format(bits) => {
                super::format::write(f, value(bits), self.names().unified_formats)
            }
            _ => Ok(()),
        }
    }

    /// DPP_CTRL (SIDefines.h, DppCtrl).
    fn lane_control(&self, f: &mut fmt::Formatter<'_>, control: u32, doubles: bool) -> fmt::Result {
        let names = self.names();
        let low = control & 15;
        match control {
            0x150..=0x15f => write!(f, "{}:{low}", names.share),
            // Nor does the unit for doubles have others.
            _ if doubles => f.write_str(" /* DP ALU dpp only supports row_newbcast */"),
            0..=0xff => write!(
                f,
                "quad_perm:[{}]",
                list((0..4).map(|n| (control >> (2 * n)) & 3))
            ),
            0x101..=0x10f => write!(f, "row_shl:{low}"),
            0x111..=0x11f => write!(f, "row_shr:{low}"),
            0x121..=0x12f => write!(f, "row_ror:{low}"),
            0x130 if names.whole_waves => f.write_str("wave_shl:1"),
            0x134 if names.whole_waves => f.write_str("wave_rol:1"),
            0x138 if names.whole_waves => f.write_str("wave_shr:1"),
            0x13c if names.whole_waves => f.write_str("wave_ror:1"),
            0x140 => f.write_str("row_mirror"),
            0x141 => f.write_str("row_half_mirror"),
            0x142 if names.whole_waves => f.write_str("row_bcast:15"),
            0x143 if names.whole_waves => f.write_str("row_bcast:31"),
            0x160..=0x16f if !names.whole_waves => write!(f, "row_xmask:{low}"),
            _ => f.write_str("/* Invalid dpp_ctrl value */"),
        }
    }

    /// HwregEncoding: number, first bit, bits less one.
    fn hardware(&self, f: &mut fmt::Formatter<'_>, value: u32) -> fmt::Result {
        let (id, offset, width) = (
            value as u16 & 63,
            (value >> 6) & 31,
            ((value >> 11) & 31) + 1,
        );
        match self.names().hardware.iter().find(|(n, _)| *n == id) {
            Some((_, name)) => write!(f, "hwreg({name}")?,
            None => write!(f, "hwreg({id}")?,
        }
        if (offset, width) != (0, 32) {
            write!(f, ", {offset}, {width}")?;
        }
        f.write_str(")")
    }

    fn message(&self, f: &mut fmt::Formatter<'_>, value: u16) -> fmt::Result {
        const GS: u16 = 2;
        const GS_DONE: u16 = 3;
        const SYSMSG: u16 = 15;
        let names = self.names();
        let id = value & names.message_mask;
        let (operation, stream) = if names.streams {
            ((value >> 4) & 7, (value >> 8) & 3)
        } else {
            (0, 0)
        };
        let geometry = names.streams && matches!(id, GS | GS_DONE);
        let operations: &[&str] = match id {
            SYSMSG => &SYSTEM,
            _ if geometry => &GEOMETRY,
            _ => &[],
        };
        let operation_name = operations
            .get(usize::from(operation))
            .copied()
            .unwrap_or("");
        let needs = !operations.is_empty();
        let valid = if needs {
            !(operation_name.is_empty() || (geometry && id == GS && operation == 0))
        } else {
            operation == 0
        };
        let streams = geometry && operation != 0;
        let name = names.messages.iter().find(|(n, _)| *n == id);
        match name {
            Some((_, name)) if valid && (streams || stream == 0) => {
                write!(f, "sendmsg({name}")?;
                if needs {
                    write!(f, ", {operation_name}")?;
                }
                if streams {
                    write!(f, ", {stream}")?;
                }
                f.write_str(")")
            }
            _ if id | (operation << 4) | (stream << 8) == value => {
                write!(f, "sendmsg({id}, {operation}, {stream})")
            }
            _ => write!(f, "{value}"),
        }
    }
}

fn cache(f: &mut fmt::Formatter<'_>, policy: Policy, value: u32) -> fmt::Result {
    let flag = |bit: u32, text| if value & bit == 0 { "" } else { text };
    let (hint, scope) = (value & 7, (value >> 3) & 3);
    match policy {
        Policy::Scalar => return f.write_str(flag(1, " glc")),
        Policy::Scope => {
            return write!(
                f,
                "{}{}{}",
                flag(1, " sc0"),
                flag(2, " nt"),
                flag(16, " sc1")
            )
        }
        _ if hint == 0 => {}
        // Bit 0 returns the old value, bit 1 is not temporal, bit 2 cascades.
        Policy::Atomic => {
            f.write_str(" th:TH_ATOMIC_")?;
            match hint {
                4.. if scope >= 2 => f.write_str(if hint & 2 != 0 {
                    "CASCADE_NT"
                } else {
                    "CASCADE_RT"
                })?,
                4.. => write!(f, "{hint:#x}")?,
                3 => f.write_str("NT_RETURN")?,
                2 => f.write_str("NT")?,
                _ => f.write_str("RETURN")?,
            }
        }
        Policy::Load | Policy::Store => {
            let store = policy == Policy::Store;
            let name = match hint {
                1 => "NT",
                2 => "HT",
                3 if scope == 3 => "BYPASS",
                3 if store => "RT_WB",
                3 => "LU",
                4 => "NT_RT",
                5 => "RT_NT",
                6 => "NT_HT",
                _ if store => "NT_WB",
                _ => return write!(f, " th:{hint:#x}").and_then(|()| scope_of(f, scope)),
            };
            write!(f, " th:TH_{}_{name}", if store { "STORE" } else { "LOAD" })?;
        }
    }
    scope_of(f, scope)
}

fn scope_of(f: &mut fmt::Formatter<'_>, scope: u32) -> fmt::Result {
    match scope {
        0 => Ok(()),
        n => write!(
            f,
            " scope:SCOPE_{}",
            ["CU", "SE", "DEV", "SYS"][n as usize & 3]
        ),
    }
}

/// ds_swizzle_b32's offset (SIDefines.h, Swizzle).
fn swizzle(f: &mut fmt::Formatter<'_>, value: u32) -> fmt::Result {
    if value == 0 {
        return Ok(());
    }
    f.write_str(" offset:")?;
    if value & 0xff00 == 0x8000 {
        return write!(
            f,
            "swizzle(QUAD_PERM,{})",
            list((0..4).map(|n| (value >> (2 * n)) & 3))
        );
    }
    if value & 0x8000 != 0 {
        return write!(f, "{value}");
    }
    let (and, or, xor) = (value & 31, (value >> 5) & 31, (value >> 10) & 31);
    if and == 31 && or == 0 && xor.count_ones() == 1 {
        return write!(f, "swizzle(SWAP,{xor})");
    }
    if and == 31 && or == 0 && xor > 0 && (xor + 1).is_power_of_two() {
        return write!(f, "swizzle(REVERSE,{})", xor + 1);
    }
    let group = 32 - and;
    if group > 1 && group.is_power_of_two() && or < group && xor == 0 {
        return write!(f, "swizzle(BROADCAST,{group},{or})");
    }
    // What becomes of a bit of the lane's number: constant, kept or inverted.
    let (zeros, ones) = (or ^ xor, (and | or) ^ xor);
    let pattern: String = (0..5)
        .rev()
        .map(|n| match ((zeros >> n) & 1, (ones >> n) & 1) {
            (0, 0) => '0',
            (1, 1) => '1',
            (0, _) => 'p',
            _ => 'i',
        })
        .collect();
    write!(f, "swizzle(BITMASK_PERM,\"{pattern}\")")
}

fn dependencies(f: &mut fmt::Formatter<'_>, value: u32) -> fmt::Result {
    let mask = |bits: u32| (1 << bits) - 1;
    let used: u32 = DEPENDENCIES
        .iter()
        .map(|(_, at, bits)| mask(*bits) << at)
        .sum();
    if value & !used != 0 {
        return write!(f, "{value:#x}");
    }
    let counters = DEPENDENCIES.iter();
    counted(
        f,
        counters
            .map(|(name, at, bits)| (*name, (value >> at) & mask(*bits), mask(*bits)))
            .collect(),
    )
}

/// Counters that are not at their most; all of them if each is.
fn counted(f: &mut fmt::Formatter<'_>, counters: Vec<(&str, u32, u32)>) -> fmt::Result {
    let all = counters.iter().all(|(_, n, most)| n == most);
    let shown = counters.iter().filter(|(_, n, most)| all || n != most);
    let texts: Vec<String> = shown.map(|(name, n, _)| format!("{name}({n})")).collect();
    f.write_str(&texts.join(" "))
}

fn delay(f: &mut fmt::Formatter<'_>, value: u32) -> fmt::Result {
    let name = |names: &[&'static str], n: u32, bad| names.get(n as usize).copied().unwrap_or(bad);
    let mut texts = Vec::new();
    for (what, names, n) in [
        ("instid0", &DELAYS[..], value & 15),
        ("instskip", &SKIPS[..], (value >> 4) & 7),
        ("instid1", &DELAYS[..], (value >> 7) & 15),
    ] {
        let bad = if what == "instskip" {
            "/* invalid instskip value */"
        } else {
            "/* invalid instid value */"
        };
        if n != 0 {
            texts.push(format!("{what}({})", name(names, n, bad)));
        }
    }
    if texts.is_empty() {
        return f.write_str("0");
    }
    f.write_str(&texts.join(" | "))
}

/// s_version: a generation, and what the program was compiled for.
fn version(f: &mut fmt::Formatter<'_>, value: u32) -> fmt::Result {
    const GENERATIONS: [(u32, &str); 4] = [(0, "GFX7"), (4, "GFX10"), (6, "GFX11"), (9, "GFX12")];
    const FLAGS: [(u32, &str); 3] = [(13, "W64"), (14, "W32"), (15, "MDP")];
    if value & 0x1f00 != 0 {
        return write!(f, "{value:#x}");
    }
    let name = GENERATIONS.iter().find(|(n, _)| *n == value & 0xff);
    let mut text = name.map_or((value & 0xff).to_string(), |(_, name)| {
        format!("UC_VERSION_{name}")
    });
    for (_, name) in FLAGS.iter().filter(|(bit, _)| (value >> bit) & 1 == 1) {
        if text.contains('|') {
            text = format!("({text})");
        }
        text += &format!("|UC_VERSION_{name}_BIT");
    }
    f.write_str(&text)
}
