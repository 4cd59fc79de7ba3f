// SPDX-License-Identifier: MIT OR Apache-2.0
//! The lines by which the guest reports to the host.
//!
//! ```text
//! @rkfd start
//! @rkfd scenario NAME          one of several of a machine begins, after the end of the one before
//! @rkfd test NAME ok
//! @rkfd test NAME FAIL DETAIL
//! @rkfd meminfo LABEL KIB
//! @rkfd kernel TEXT            a kernel message that should not be
//! @rkfd end passed=N failed=M  always last of a scenario
//! ```
//! Programs in the guest print only the `test` lines; process 1 passes them on and prints the rest.

use std::fmt;

/// What every line begins with.
pub const MARK: &str = "@rkfd ";

/// One parsed line.
#[derive(Debug, Clone, PartialEq, Eq)]
#[expect(missing_docs, reason = "a variant's text explains its fields")]
pub enum Line {
    /// Process 1 runs.
    Start,
    /// A scenario begins.
    Scenario(String),
    /// A test's result; the error is its detail.
    Test {
        name: String,
        result: Result<(), String>,
    },
    /// Free memory, in KiB.
    Meminfo { label: String, kib: u64 },
    /// A kernel message or state that makes the run bad.
    Kernel(String),
    /// The plan is done.
    End { passed: u64, failed: u64 },
}

impl Line {
    /// A test line. Its name is made to be one word.
    pub fn test(name: &str, result: Result<(), String>) -> Self {
        let name = name.split_whitespace().collect::<Vec<_>>().join("-");
        let name = if name.is_empty() {
            "unnamed".into()
        } else {
            name
        };
        Line::Test {
            name,
            result: result.map_err(|e| one_line(&e)),
        }
    }

    /// `None`: an ordinary line. `Some(Err)`: it has the mark but not the form.
    pub fn parse(line: &str) -> Option<Result<Self, String>> {
        let rest = line.trim_end().strip_prefix(MARK.trim_end())?;
        let bad = || format!("malformed: {}", line.trim_end());
        // "@rkfdx" is somebody else's word.
        if !rest.is_empty() && !rest.starts_with(' ') {
            return None;
        }
        Some(Self::parse_rest(rest.trim_start()).ok_or_else(bad))
    }

    fn parse_rest(rest: &str) -> Option<Self> {
        let (verb, rest) = rest.split_once(' ').unwrap_or((rest, ""));
        match verb {
            "start" if rest.is_empty() => Some(Line::Start),
            "scenario" if !rest.is_empty() => Some(Line::Scenario(rest.into())),
            "test" => {
                let (name, result) = rest.split_once(' ')?;
                let (word, detail) = result.split_once(' ').unwrap_or((result, ""));
                let result = match word {
                    "ok" if detail.is_empty() => Ok(()),
                    "FAIL" => Err(detail.into()),
                    _ => return None,
                };
                Some(Line::Test {
                    name: name.into(),
                    result,
                })
                .filter(|_| !name.is_empty())
            }
            "meminfo" => {
                let (label, kib) = rest.split_once(' ')?;
                Some(Line::Meminfo {
                    label: label.into(),
                    kib: kib.parse().ok()?,
                })
            }
            "kernel" if !rest.is_empty() => Some(Line::Kernel(rest.into())),
            "end" => {
                let (passed, failed) = rest.split_once(' ')?;
                Some(Line::End {
                    passed: passed.strip_prefix("passed=")?.parse().ok()?,
                    failed: failed.strip_prefix("failed=")?.parse().ok()?,
                })
            }
            _ => None,
        }
    }
}

/// What the host sends to the guest: the size of its terminal, rows before columns.
pub fn size_line(rows: u16, cols: u16) -> String {
    format!("size {rows} {cols}\n")
}

/// Reads what [`size_line`] wrote; `None` for any other line.
pub fn parse_size(line: &str) -> Option<(u16, u16)> {
    let (rows, cols) = line.trim().strip_prefix("size ")?.split_once(' ')?;
    Some((rows.parse().ok()?, cols.parse().ok()?))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

impl fmt::Display for Line {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MARK)?;
        match self {
            Line::Start => write!(f, "start"),
            Line::Scenario(name) => write!(f, "scenario {name}"),
            Line::Test {
                name,
                result: Ok(()),
            } => write!(f, "test {name} ok"),
            Line::Test {
                name,
                result: Err(detail),
            } => write!(f, "test {name} FAIL {detail}"),
            Line::Meminfo { label, kib } => write!(f, "meminfo {label} {kib}"),
            Line::Kernel(text) => write!(f, "kernel {}", one_line(text)),
            Line::End { passed, failed } => write!(f, "end passed={passed} failed={failed}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_read_back_as_written() {
        for line in [
            Line::Start,
            Line::Scenario("demo".into()),
            Line::test("vector-add", Ok(())),
            Line::test("queue", Err("errno 22,\n wanted 0".into())),
            Line::Meminfo {
                label: "before".into(),
                kib: 812_344,
            },
            Line::Kernel("WARNING: kernel/x.c:12 at f+0x1/0x2".into()),
            Line::End {
                passed: 3,
                failed: 1,
            },
        ] {
            assert_eq!(Line::parse(&format!("{line}\r\n")), Some(Ok(line)));
        }
    }

    #[test]
    fn a_size_reads_back_as_written() {
        assert_eq!(parse_size(&size_line(50, 132)), Some((50, 132)));
        for other in ["", "size", "size 5", "size 5 x", "@rkfd start"] {
            assert_eq!(parse_size(other), None, "{other}");
        }
    }

    #[test]
    fn a_name_is_one_word() {
        assert_eq!(Line::test("a b", Ok(())).to_string(), "@rkfd test a-b ok");
    }

    #[test]
    fn a_broken_line_is_an_error_not_an_ordinary_line() {
        for line in [
            "@rkfd",
            "@rkfd scenario",
            "@rkfd test a",
            "@rkfd test a OK",
            "@rkfd test a ok really",
            "@rkfd end passed=1",
            "@rkfd end passed=x failed=0",
            "@rkfd fine",
        ] {
            assert!(matches!(Line::parse(line), Some(Err(_))), "{line:?}");
        }
        assert_eq!(Line::parse("[rkfd] test a ok"), None);
        assert_eq!(Line::parse("@rkfdx"), None);
    }
}
