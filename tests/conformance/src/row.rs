// SPDX-License-Identifier: MIT OR Apache-2.0
//! A row of a table, which is one check.

use crate::fixture::Ctx;
use rkfd_bare::errno;
use std::fmt;

/// What a row needs before it runs. Each includes the ones before it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Needs {
    /// `/dev/kfd` open.
    Open,
    /// The GPU's address space acquired.
    Vm,
    /// Buffers for a queue, all mapped as they must be.
    Buffers,
    /// One queue, which is mapped on the hardware.
    Queue,
}

/// What Linux answers.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Want {
    /// This errno, 0 for success.
    Errno(i32),
    /// This value, which shows an effect.
    Value(u64),
    /// The row computes the expected value, and returns it beside the one that it got.
    Computed,
    /// The first errno means that the driver does not have the feature, as in a Linux build or on a GPU
    /// without it; such rows are counted apart. With the feature the second errno is right.
    Unsupported(i32, i32),
}

/// What the driver answered.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Got {
    /// An errno, 0 for success.
    Errno(i32),
    /// A value.
    Value(u64),
    /// A value, and the one that was wanted.
    Pair(u64, u64),
}

/// What a row returns; an error means that its preparation failed.
pub type Answer = Result<Got, String>;

/// One row.
pub struct Row {
    /// The request or system call.
    pub call: &'static str,
    /// What is passed, or what is read.
    pub given: &'static str,
    /// What Linux answers.
    pub want: Want,
    /// The line of Linux 7.3 from which that answer follows.
    pub source: &'static str,
    /// What it needs.
    pub needs: Needs,
    /// Makes the call and returns the answer.
    pub run: fn(&mut Ctx) -> Answer,
}

/// A group of rows.
pub struct Group {
    /// Its name, one word.
    pub name: &'static str,
    /// Its rows.
    pub rows: Vec<Row>,
}

/// A row that needs a VM; see [`Row::open`] and the others.
pub fn row(
    call: &'static str,
    given: &'static str,
    want: Want,
    source: &'static str,
    run: fn(&mut Ctx) -> Answer,
) -> Row {
    Row {
        call,
        given,
        want,
        source,
        needs: Needs::Vm,
        run,
    }
}

impl Row {
    /// Makes the row need only the open file.
    pub fn open(mut self) -> Self {
        self.needs = Needs::Open;
        self
    }

    /// Makes the row need buffers for a queue.
    pub fn buffers(mut self) -> Self {
        self.needs = Needs::Buffers;
        self
    }

    /// Makes the row need a queue.
    pub fn queue(mut self) -> Self {
        self.needs = Needs::Queue;
        self
    }
}

impl Want {
    /// A wrong expectation, against which every row must fail.
    pub fn perturbed(self) -> Self {
        match self {
            Self::Errno(0) => Self::Errno(libc::EINVAL),
            Self::Errno(e) => Self::Errno(if e == libc::EXDEV { 0 } else { libc::EXDEV }),
            Self::Value(v) => Self::Value(v ^ 1),
            Self::Computed => Self::Computed,
            Self::Unsupported(lacking, full) => Self::Unsupported(lacking + 1000, full + 2000),
        }
    }

    /// The answer with its own expectation perturbed, for rows that compute it.
    pub fn perturb_answer(self, got: Got) -> Got {
        match (self, got) {
            (Self::Computed, Got::Pair(got, want)) => Got::Pair(got, want ^ 1),
            (_, got) => got,
        }
    }

    /// Whether the answer is the wanted one.
    pub fn holds(self, got: &Got) -> bool {
        match (self, got) {
            (Self::Errno(want), Got::Errno(got)) => want == *got,
            (Self::Unsupported(lacking, full), Got::Errno(got)) => [lacking, full].contains(got),
            (Self::Value(want), Got::Value(got)) => want == *got,
            (Self::Computed, Got::Pair(got, want)) => got == want,
            _ => false,
        }
    }
}

fn value(v: u64) -> String {
    if v < 10_000 {
        v.to_string()
    } else {
        format!("{v:#x}")
    }
}

impl fmt::Display for Want {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Errno(e) => f.write_str(&errno::name(*e)),
            Self::Unsupported(lacking, full) => {
                write!(
                    f,
                    "{}, or not supported: {}",
                    errno::name(*full),
                    errno::name(*lacking)
                )
            }
            Self::Value(v) => f.write_str(&value(*v)),
            Self::Computed => f.write_str("the computed value"),
        }
    }
}

impl fmt::Display for Got {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Errno(e) => f.write_str(&errno::name(*e)),
            Self::Value(v) => f.write_str(&value(*v)),
            Self::Pair(got, want) => write!(f, "{} instead of {}", value(*got), value(*want)),
        }
    }
}

impl Got {
    /// Writes the answer as text, for the pipe from a row's process to the judge.
    pub fn encode(&self) -> String {
        match self {
            Self::Errno(e) => format!("E {e}"),
            Self::Value(v) => format!("V {v}"),
            Self::Pair(g, w) => format!("P {g} {w}"),
        }
    }

    /// Reads an answer from that text.
    pub fn decode(text: &str) -> Option<Self> {
        let mut words = text.split(' ');
        let kind = words.next()?;
        let mut number = || words.next()?.parse::<u64>().ok();
        match kind {
            "E" => Some(Self::Errno(i32::try_from(number()?).ok()?)),
            "V" => Some(Self::Value(number()?)),
            "P" => Some(Self::Pair(number()?, number()?)),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_survive_the_pipe() {
        for got in [
            Got::Errno(0),
            Got::Errno(524),
            Got::Value(u64::MAX),
            Got::Pair(3, 4),
        ] {
            assert_eq!(Got::decode(&got.encode()), Some(got));
        }
        for bad in ["", "E", "E x", "Z 1", "P 1"] {
            assert_eq!(Got::decode(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_perturbed_expectation_fails() {
        let cases = [
            (Want::Errno(0), Got::Errno(0)),
            (Want::Errno(libc::EINVAL), Got::Errno(libc::EINVAL)),
            (Want::Errno(libc::EXDEV), Got::Errno(libc::EXDEV)),
            (Want::Value(7), Got::Value(7)),
            (Want::Unsupported(1, 0), Got::Errno(1)),
            (Want::Unsupported(1, 0), Got::Errno(0)),
            (Want::Computed, Got::Pair(5, 5)),
        ];
        for (want, got) in cases {
            assert!(want.holds(&got));
            assert!(
                !want.perturbed().holds(&want.perturb_answer(got)),
                "{want:?}"
            );
        }
    }
}
