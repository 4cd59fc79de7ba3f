// SPDX-License-Identifier: MIT OR Apache-2.0
//! The data of a load or a store that converts: which registers, and how they hold components.

/// Which registers, and how they hold the components.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Data {
    /// To memory.
    pub store: bool,
    /// Components, from X on.
    pub count: u8,
    /// How much of a register each has.
    pub part: Part,
}

/// How much of a register a component has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// Half: two components share a register.
    Half,
    /// The upper half, for X alone.
    High,
}

impl Data {
    /// From what follows buffer_ and tbuffer_ in a name.
    pub fn parse(rest: &str) -> Option<Self> {
        let (store, rest) = match rest.strip_prefix("store_") {
            Some(rest) => (true, rest),
            None => (false, rest.strip_prefix("load_")?),
        };
        // gfx9's names have format_d16_hi, gfx12's d16_hi_format.
        let (rest, components) = rest.rsplit_once('_')?;
        let part = match rest {
            "format" => Part::Whole,
            "format_d16" | "d16_format" => Part::Half,
            "format_d16_hi" | "d16_hi_format" => Part::High,
            _ => return None,
        };
        let count = ["x", "xy", "xyz", "xyzw"]
            .iter()
            .position(|name| *name == components)?;
        Some(Self {
            store,
            count: count as u8 + 1,
            part,
        })
    }

    /// Registers that it spans.
    pub fn registers(&self) -> u16 {
        match self.part {
            Part::Whole => self.count.into(),
            Part::Half | Part::High => u16::from(self.count).div_ceil(2),
        }
    }

    /// Where a component is: the register, counted from the first, and the shift.
    pub(crate) fn place(&self, component: usize) -> (u16, u32) {
        match self.part {
            Part::Whole => (component as u16, 0),
            Part::Half => (component as u16 / 2, component as u32 % 2 * 16),
            Part::High => (0, 16),
        }
    }
}
