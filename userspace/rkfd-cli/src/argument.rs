// SPDX-License-Identifier: MIT OR Apache-2.0

//! Kernel arguments on the command line.
//!
//! | text | argument |
//! |---|---|
//! | `u32:7`, `f32:1.5` | a number; types `u8 i8 u16 i16 u32 i32 u64 i64 f32 f64` |
//! | `buf:in:f32:1048576:iota` | a buffer filled with 0, 1, 2, ... |
//! | `buf:in:u32:64:7` | a buffer filled with one number |
//! | `buf:out:f32:1048576` | a buffer of zeros, shown afterwards |
//! | `buf:inout:f32:64:iota` | a buffer that is filled and shown |
//! | `lds:1024` | bytes of LDS that the dispatch adds |

use std::fmt;
use std::str::FromStr;

use rkfd::zerocopy::IntoBytes;
use rkfd::{Argument, Buffer, Element, Gpu, IntoArgument, Lds};
use serde_json::{json, Value};

/// Elements shown of a buffer.
const SHOWN: usize = 8;

/// What a buffer starts with.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fill {
    /// Every element's index.
    Iota,
    /// One number, as it was written.
    Value(String),
}

/// An argument as it was written. It was checked, but for the buffer's size.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Spec {
    /// A number.
    Number { kind: String, text: String },
    /// A buffer of `len` elements.
    Buffer {
        kind: String,
        len: usize,
        fill: Fill,
        shown: bool,
    },
    /// Bytes of LDS.
    Lds(u32),
}

/// A number on the command line: also makes one of an index.
trait Parsed: Element + Default + FromStr + fmt::Display {
    const NAME: &'static str;
    fn of_index(index: usize) -> Self;

    /// The number in JSON; a string if JSON does not have it.
    fn json(self) -> Value;
}

/// The functions of one number type.
struct Kind {
    name: &'static str,
    /// Whether a text is such a number.
    check: fn(&str) -> bool,
    number: fn(&str) -> Option<Argument>,
    buffer: fn(&Gpu, usize, &Fill) -> rkfd::Result<(Argument, Show)>,
}

/// Reads a buffer's contents.
type Show = Box<dyn Fn() -> rkfd::Result<Summary>>;

/// What is shown of a buffer.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    kind: &'static str,
    elements: usize,
    /// The first elements, as text and as JSON.
    first: Vec<(String, Value)>,
    /// FNV-1a of the bytes.
    checksum: u64,
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let first: Vec<_> = self.first.iter().map(|(text, _)| text.as_str()).collect();
        let more = if self.elements > SHOWN { ", ..." } else { "" };
        let (first, elements, checksum) = (first.join(", "), self.elements, self.checksum);
        write!(
            f,
            "[{first}{more}] {elements} elements, checksum {checksum:016x}"
        )
    }
}

impl Summary {
    /// The JSON of the buffer that is argument `index`.
    pub(crate) fn json(&self, index: usize) -> Value {
        let first: Vec<_> = self.first.iter().map(|(_, value)| value).collect();
        json!({
            "argument": index,
            "type": self.kind,
            "elements": self.elements,
            "first": first,
            "checksum": format!("{:016x}", self.checksum),
        })
    }
}

fn check<T: Parsed>(text: &str) -> bool {
    text.parse::<T>().is_ok()
}

fn number<T: Parsed>(text: &str) -> Option<Argument> {
    Some(text.parse::<T>().ok()?.into_argument())
}

fn buffer<T: Parsed>(gpu: &Gpu, len: usize, fill: &Fill) -> rkfd::Result<(Argument, Show)> {
    let buffer: Buffer<T> = gpu.alloc(len)?;
    match fill {
        Fill::Iota => buffer.fill_with(T::of_index)?,
        Fill::Value(text) => buffer.fill(text.parse().unwrap_or_default())?,
    }
    let argument = (&buffer).into_argument();
    Ok((argument, Box::new(move || Ok(summary(&buffer.to_vec()?)))))
}

macro_rules! kinds {
    ($($t:ident),*) => {
        $( impl Parsed for $t {
            const NAME: &'static str = stringify!($t);

            fn of_index(index: usize) -> Self {
                index as $t
            }

            fn json(self) -> Value {
                match Value::from(self) {
                    Value::Null => self.to_string().into(),
                    number => number,
                }
            }
        } )*

        /// The number types.
        const KINDS: &[Kind] = &[ $( Kind {
            name: <$t>::NAME,
            check: check::<$t>,
            number: number::<$t>,
            buffer: buffer::<$t>,
        } ),* ];
    };
}
kinds!(u8, i8, u16, i16, u32, i32, u64, i64, f32, f64);

fn kind(name: &str) -> Result<&'static Kind, String> {
    KINDS.iter().find(|kind| kind.name == name).ok_or_else(|| {
        let names: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
        format!("`{name}` is no type; there are {}", names.join(", "))
    })
}

fn summary<T: Parsed>(values: &[T]) -> Summary {
    let checksum = values
        .as_bytes()
        .iter()
        .fold(0xcbf2_9ce4_8422_2325u64, |hash, &byte| {
            (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3)
        });
    let first = values.iter().take(SHOWN);
    Summary {
        kind: T::NAME,
        elements: values.len(),
        first: first
            .map(|value| (value.to_string(), value.json()))
            .collect(),
        checksum,
    }
}

impl FromStr for Spec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let parts: Vec<&str> = text.split(':').collect();
        match parts[..] {
            ["lds", bytes] => bytes
                .parse()
                .map(Self::Lds)
                .map_err(|e| format!("LDS of `{bytes}` bytes: {e}")),
            ["buf", way, name, len, ref fill @ ..] if fill.len() <= 1 => {
                let (filled, shown) = match way {
                    "in" => (true, false),
                    "out" => (false, true),
                    "inout" => (true, true),
                    _ => return Err(format!("`{way}`: a buffer is in, out or inout")),
                };
                let kind = kind(name)?;
                let len = len.parse().map_err(|e| format!("length `{len}`: {e}"))?;
                let fill = match (filled, fill) {
                    (true, ["iota"]) => Fill::Iota,
                    (true, [text]) if (kind.check)(text) => Fill::Value((*text).to_owned()),
                    (true, [text]) => return Err(format!("`{text}` is no {name} and not iota")),
                    (false, []) => Fill::Value("0".into()),
                    (true, _) => return Err("give the value that fills the buffer".into()),
                    (false, _) => return Err("an out buffer is not filled; use inout".into()),
                };
                Ok(Self::Buffer {
                    kind: kind.name.into(),
                    len,
                    fill,
                    shown,
                })
            }
            [name, text] => {
                let kind = kind(name)?;
                match (kind.check)(text) {
                    true => Ok(Self::Number {
                        kind: name.into(),
                        text: text.into(),
                    }),
                    false => Err(format!("`{text}` is no {name}")),
                }
            }
            _ => Err("write type:value, buf:in|out|inout:type:length[:fill] or lds:bytes".into()),
        }
    }
}

impl Spec {
    /// Makes the argument, and what shows its buffer afterwards, if it is to be shown.
    pub(crate) fn make(&self, gpu: &Gpu) -> rkfd::Result<(Argument, Option<Show>)> {
        let zero = || 0u32.into_argument();
        Ok(match self {
            Self::Lds(bytes) => (Lds(*bytes).into_argument(), None),
            Self::Number { kind: name, text } => {
                // Both were checked when the text was read.
                let argument = kind(name).ok().and_then(|kind| (kind.number)(text));
                (argument.unwrap_or_else(zero), None)
            }
            Self::Buffer {
                kind: name,
                len,
                fill,
                shown,
            } => match kind(name) {
                Ok(kind) => {
                    let (argument, show) = (kind.buffer)(gpu, *len, fill)?;
                    (argument, shown.then_some(show))
                }
                Err(_) => (zero(), None),
            },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Spec, String> {
        text.parse()
    }

    #[test]
    fn numbers_buffers_and_lds_are_read() {
        let number = |kind: &str, text: &str| Spec::Number {
            kind: kind.into(),
            text: text.into(),
        };
        assert_eq!(parse("f32:1.5"), Ok(number("f32", "1.5")));
        assert_eq!(parse("i64:-7"), Ok(number("i64", "-7")));
        assert_eq!(parse("lds:1024"), Ok(Spec::Lds(1024)));
        let buffer = |len, fill, shown| Spec::Buffer {
            kind: "f32".into(),
            len,
            fill,
            shown,
        };
        assert_eq!(
            parse("buf:in:f32:1048576:iota"),
            Ok(buffer(1 << 20, Fill::Iota, false))
        );
        assert_eq!(
            parse("buf:out:f32:4"),
            Ok(buffer(4, Fill::Value("0".into()), true))
        );
        assert_eq!(
            parse("buf:inout:f32:4:2.5"),
            Ok(buffer(4, Fill::Value("2.5".into()), true))
        );
    }

    #[test]
    fn what_cannot_be_read_says_why() {
        for text in [
            "",
            "7",
            "u8:256",
            "u33:1",
            "f32:x",
            "buf",
            "buf:in:f32:4",
            "buf:out:f32:4:1",
            "buf:at:f32:4:1",
            "buf:in:f32:-1:iota",
            "buf:in:f32:4:x",
            "lds:-1",
            "a:b:c",
        ] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("u33:1").unwrap_err().contains("u8, i8, u16"));
    }

    #[test]
    fn summaries_show_the_first_elements() {
        let ten = summary(&(0..10u8).collect::<Vec<_>>());
        let text = ten.to_string();
        assert!(
            text.starts_with("[0, 1, 2, 3, 4, 5, 6, 7, ...] 10 elements"),
            "{text}"
        );
        let none = summary::<u8>(&[]).to_string();
        assert!(none.ends_with("cbf29ce484222325"), "{none}");
        let json = ten.json(2);
        assert_eq!(json["argument"], 2);
        assert_eq!(json["type"], "u8");
        assert_eq!(json["elements"], 10);
        assert_eq!(json["first"], json!([0, 1, 2, 3, 4, 5, 6, 7]));
        assert!(text.ends_with(json["checksum"].as_str().unwrap()));
        let odd = [1.5, f32::NAN, f32::INFINITY, f32::NEG_INFINITY];
        let odd = summary(&odd).json(0);
        assert_eq!(odd["first"], json!([1.5, "NaN", "inf", "-inf"]));
    }
}
