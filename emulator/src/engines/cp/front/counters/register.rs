// SPDX-License-Identifier: MIT OR Apache-2.0

//! Which registers are those of performance counters.

use rkfd_hw::regs::RegInfo;

/// Who counts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Who {
    Sequencer,
    Bus,
    /// A compute unit's vector cache (TCP).
    Vector,
    /// A channel of the second-level cache (TCC, on gfx12 GL2C).
    Second,
}

/// A register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Counters {
    /// CP_PERFMON_CNTL, which gfx12's header calls CP_PERFMON_CNTL_1.
    State,
    /// SQ_PERFCOUNTER_CTRL.
    Control,
    /// SQ_PERFCOUNTER_CTRL2.
    Second,
    /// SQ_PERFCOUNTER_MASK.
    Mask,
    /// What a counter counts.
    Select(Who, usize),
    /// The last sample's lower half, or upper half.
    Value(Who, usize, bool),
}

impl Counters {
    /// Which one a register is, if it is one of these.
    pub fn of(reg: &RegInfo) -> Option<Self> {
        let name = reg.reg.name;
        match name {
            "CP_PERFMON_CNTL" | "CP_PERFMON_CNTL_1" => return Some(Self::State),
            "SQ_PERFCOUNTER_CTRL" => return Some(Self::Control),
            "SQ_PERFCOUNTER_CTRL2" => return Some(Self::Second),
            "SQ_PERFCOUNTER_MASK" => return Some(Self::Mask),
            _ => {}
        }
        let (block, rest) = name.split_once("_PERFCOUNTER")?;
        let who = match block {
            "SQ" => Who::Sequencer,
            "GRBM" => Who::Bus,
            "TCP" => Who::Vector,
            "TCC" | "GL2C" => Who::Second,
            _ => return None,
        };
        let (number, what) = rest.split_once('_')?;
        let number = number.parse().ok()?;
        Some(match what {
            "SELECT" => Self::Select(who, number),
            "LO" => Self::Value(who, number, false),
            "HI" => Self::Value(who, number, true),
            _ => return None,
        })
    }
}

/// Whether a register is one of these.
pub(crate) fn is_counters(reg: &RegInfo) -> bool {
    Counters::of(reg).is_some()
}
