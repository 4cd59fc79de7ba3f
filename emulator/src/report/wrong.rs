// SPDX-License-Identifier: MIT OR Apache-2.0

//! Something wrong, and whose doing it is.

use std::fmt;

/// Who made a mistake.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Whose {
    /// The driver: it owns registers, scheduler packets, MQDs and page tables.
    Driver,
    /// A user program: it owns its rings, pointers, signals, doorbells and kernels, and some values
    /// that the driver copies into an MQD as they are.
    Program,
}

impl Whose {
    /// The word for it in the report and in the trace.
    pub fn word(self) -> &'static str {
        match self {
            Self::Driver => "violation",
            Self::Program => "fault",
        }
    }
}

/// What is wrong with something that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Wrong {
    /// Whose doing it is.
    pub whose: Whose,
    /// A sentence about it.
    pub what: String,
}

impl Wrong {
    /// A program's doing.
    pub fn of_program(what: impl Into<String>) -> Self {
        let (whose, what) = (Whose::Program, what.into());
        Self { whose, what }
    }

    /// The same with more said about it.
    pub fn map(self, say: impl FnOnce(String) -> String) -> Self {
        let (whose, what) = (self.whose, say(self.what));
        Self { whose, what }
    }
}

/// What nobody but the driver writes.
impl From<String> for Wrong {
    fn from(what: String) -> Self {
        let whose = Whose::Driver;
        Self { whose, what }
    }
}

impl From<&str> for Wrong {
    fn from(what: &str) -> Self {
        what.to_string().into()
    }
}

impl fmt::Display for Wrong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what)
    }
}
