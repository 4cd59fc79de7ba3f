// SPDX-License-Identifier: MIT OR Apache-2.0
//! Instructions counted by what they are, for the chip's performance counters.
//!
//! Sources: Linux, `include/soc24_enum.h` (`SQ_PERF_SEL`, from which the kinds are); ROCm, "MI300 and MI200 series
//! performance counters and metrics", section "Instruction mix", and rocprofiler-sdk's `counter_defs.yaml`, which say
//! what each counts.

use crate::decode::counters::returns;
use crate::decode::kind::Kind;
use crate::decode::table::Family;
use crate::decode::{Inst, Op};

/// What an instruction is counted as. The names are those of the chip's events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Issue {
    /// Vector arithmetic, that of matrices among it.
    Valu,
    /// Vector arithmetic on matrices.
    Mfma,
    /// Scalar arithmetic.
    Salu,
    /// Scalar memory.
    Smem,
    /// LDS, but for flat addresses.
    Lds,
    /// Global wave synchronisation.
    Gds,
    /// Vector memory that answers with something, but for flat addresses.
    Load,
    /// Vector memory that answers with nothing, but for flat addresses.
    Store,
    /// Flat addresses, answered with something.
    FlatLoad,
    /// Flat addresses, answered with nothing.
    FlatStore,
    /// Branches, calls and returns.
    Branch,
    /// Messages.
    Sendmsg,
    /// What the sequencer does by itself: waits, hints, barriers, the end.
    Internal,
}

/// How many kinds there are.
const KINDS: usize = Issue::Internal as usize + 1;

/// How many instructions of each kind waves have executed. One is counted once for a wave.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally([u64; KINDS]);

impl Tally {
    /// How many of some kinds.
    pub fn of(&self, kinds: &[Issue]) -> u64 {
        kinds.iter().map(|&kind| self.0[kind as usize]).sum()
    }

    /// How many in all.
    pub fn all(&self) -> u64 {
        // Those of matrices are counted among vector arithmetic, too.
        self.0.iter().sum::<u64>() - self.of(&[Issue::Mfma])
    }

    /// Adds what others have executed.
    pub fn add(&mut self, other: &Self) {
        for (count, more) in self.0.iter_mut().zip(other.0) {
            *count += more;
        }
    }

    /// One more instruction.
    pub(crate) fn count(&mut self, inst: &Inst) {
        let kind = kind_of(inst);
        self.0[kind as usize] += 1;
        if kind == Issue::Valu && matches!(inst.kind, Kind::Matrix(_)) {
            self.0[Issue::Mfma as usize] += 1;
        }
    }
}

fn kind_of(inst: &Inst) -> Issue {
    use Family::*;
    match inst.family {
        _ if goes_elsewhere(inst) => Issue::Branch,
        Sop1 | Sop2 | Sopc | Sopk => Issue::Salu,
        Sopp if inst.name().starts_with("s_sendmsg") => Issue::Sendmsg,
        Sopp | Exp | Vintrp | Mimg => Issue::Internal,
        Smem => Issue::Smem,
        Vop1 | Vop2 | Vopc | Vop3 | Vop3p | Vopd | Sdwa | Dpp => Issue::Valu,
        Ds if inst.name().starts_with("ds_gws") => Issue::Gds,
        Ds => Issue::Lds,
        // Maintenance of caches moves no data.
        Flat | Mubuf | Mtbuf if inst.kind == Kind::Hint => Issue::Internal,
        Flat if inst.name().starts_with("flat") => match returns(inst) {
            true => Issue::FlatLoad,
            false => Issue::FlatStore,
        },
        Flat | Mubuf | Mtbuf if returns(inst) => Issue::Load,
        Flat | Mubuf | Mtbuf => Issue::Store,
    }
}

/// Whether the program counter is what an instruction is for.
fn goes_elsewhere(inst: &Inst) -> bool {
    use Op::{SCallB64, SRfeB64, SRfeRestoreB64, SSetpcB64, SSwappcB64};
    let jumps = matches!(
        inst.op,
        SCallB64 | SRfeB64 | SRfeRestoreB64 | SSetpcB64 | SSwappcB64
    );
    let name = inst.name();
    jumps || name.starts_with("s_branch") || name.starts_with("s_cbranch")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::target::{Target, GFX1201, GFX942};

    fn counted(target: &Target, words: [u32; 3]) -> Issue {
        kind_of(&target.decode(words).expect("an instruction"))
    }

    /// Words from LLVM's assembler (`llvm-mc -show-encoding`).
    #[test]
    fn instructions_are_counted_as_what_they_are() {
        for (words, kind) in [
            ([0x6802_0501, 0, 0], Issue::Valu), // v_add_u32_e32 v1, v1, v2
            ([0x8102_0201, 0, 0], Issue::Salu), // s_add_i32 s2, s1, s2
            ([0xc002_0100, 0, 0], Issue::Smem), // s_load_dword s4, s[0:1], 0x0
            ([0xdc50_8000, 0x017f_0002, 0], Issue::Load), // global_load_dword v1, v[2:3], off
            ([0xdc70_8000, 0x007f_0102, 0], Issue::Store), // global_store_dword v[2:3], v1, off
            ([0xdc50_0000, 0x0100_0002, 0], Issue::FlatLoad), // flat_load_dword v1, v[2:3]
            ([0xd86c_0000, 0x0100_0002, 0], Issue::Lds), // ds_read_b32 v1, v2
            ([0xbf82_0001, 0, 0], Issue::Branch), // s_branch
            ([0xbf85_0001, 0, 0], Issue::Branch), // s_cbranch_scc1
            ([0xbe80_1d02, 0, 0], Issue::Branch), // s_setpc_b64 s[2:3]
            ([0xbf90_0001, 0, 0], Issue::Sendmsg), // s_sendmsg sendmsg(MSG_INTERRUPT)
            ([0xbf8c_0000, 0, 0], Issue::Internal), // s_waitcnt 0
            ([0xbf81_0000, 0, 0], Issue::Internal), // s_endpgm
        ] {
            assert_eq!(counted(&GFX942, words), kind, "gfx942 {words:08x?}");
        }
        for (words, kind) in [
            ([0x4a02_0501, 0, 0], Issue::Valu), // v_add_nc_u32_e32 v1, v1, v2
            ([0xf400_0100, 0xf800_0000, 0], Issue::Smem), // s_load_b32 s4, s[0:1], 0x0
            ([0xee05_007c, 0x0000_0001, 0x0000_0002], Issue::Load), // global_load_b32 v1, v[2:3], off
            ([0xec05_007c, 0x0000_0001, 0x0000_0002], Issue::FlatLoad), // flat_load_b32 v1, v[2:3]
            ([0xbfa0_0001, 0, 0], Issue::Branch),                   // s_branch
            ([0xbfb0_0000, 0, 0], Issue::Internal),                 // s_endpgm
        ] {
            assert_eq!(counted(&GFX1201, words), kind, "gfx1201 {words:08x?}");
        }
    }

    #[test]
    fn matrices_are_vector_arithmetic_too() {
        let mut tally = Tally::default();
        // v_mfma_f32_32x32x8_f16 a[0:15], v[0:1], v[2:3], a[0:15]
        let inst = GFX942.decode([0xd3cc_8000, 0x0402_0500, 0]);
        tally.count(&inst.expect("a matrix operation"));
        let counts = (tally.of(&[Issue::Valu]), tally.of(&[Issue::Mfma]));
        assert_eq!((counts, tally.all()), ((1, 1), 1));
    }
}
