// SPDX-License-Identifier: MIT OR Apache-2.0
//! Exceptions that arithmetic raises in a wave's active lanes, for waves of which some trap.
//!
//! The bits are those of EXCP and EXCP_EN (CDNA3 ISA, chapter 3, "Trap Status" and "Mode"), which gfx12 has in
//! EXCP_FLAG_USER and TRAP_CTRL. What raises them is inferred from IEEE 754, section 7, which LLVM's AMDGPUUsage names
//! for the bits of kernel descriptors: a result that is too small is one that isn't exact, and a source is denormal where
//! MODE keeps denormals. Reciprocals, roots and logarithms, which aren't rounded correctly on the chip, raise only
//! what their source does. Nothing is raised by operations on matrices, dot products, packed ones and those with SDWA or
//! DPP, nor by v_div_scale and v_div_fmas, whose results v_div_fixup judges.

use super::exact::{Exact, Format};
use super::float::Round;
use super::{vdouble, vfloat, vhalf, Context, Next, Step};
use crate::decode::kind::Kind;
use crate::decode::table::Family;
use crate::decode::Inst;
use crate::fault::FaultKind;
use crate::kernel::mode;
use crate::target::TrapLayout;
use crate::wave::Wave;

/// No number comes out, though numbers, or none that is quiet, went in.
pub const INVALID: u32 = 1 << 0;
/// A source is denormal.
pub const DENORMAL: u32 = 1 << 1;
/// A number divided by zero.
pub const DIVISION: u32 = 1 << 2;
/// The result is too large for its format.
pub const OVERFLOW: u32 = 1 << 3;
/// It is too small, and not exact.
pub const UNDERFLOW: u32 = 1 << 4;
/// It is rounded.
pub const INEXACT: u32 = 1 << 5;
/// An integer divided by zero: v_rcp_iflag_f32.
pub const INTEGER: u32 = 1 << 6;

/// A source of an operation.
#[derive(Clone, Copy)]
struct Number {
    negative: bool,
    nan: bool,
    signalling: bool,
    infinite: bool,
    zero: bool,
    denormal: bool,
    exact: Exact,
}

impl Number {
    fn of(code: u64, format: &Format) -> Self {
        let fraction = code & ((1 << format.fraction) - 1);
        let top = (1 << format.exponent) - 1;
        let exponent = (code >> format.fraction) & top;
        let negative = (code >> (format.fraction + format.exponent)) & 1 == 1;
        let lowest = 1 - format.bias - format.fraction as i32;
        let exact = match exponent {
            _ if exponent == top && fraction != 0 => Exact::Nan,
            _ if exponent == top => Exact::Infinite(negative),
            0 => Exact::Finite(negative, fraction.into(), lowest),
            _ => {
                let mantissa = fraction | (1 << format.fraction);
                Exact::Finite(negative, mantissa.into(), lowest + exponent as i32 - 1)
            }
        };
        let nan = exact == Exact::Nan;
        Self {
            negative,
            nan,
            signalling: nan && fraction >> (format.fraction - 1) == 0,
            infinite: exact == Exact::Infinite(negative),
            zero: exponent == 0 && fraction == 0,
            denormal: exponent == 0 && fraction != 0,
            exact,
        }
    }
}

/// What an operation does with its sources.
#[derive(Clone, Copy)]
enum What {
    /// Sources' signs: a + b, or with one of them turned.
    Sum([bool; 2]),
    Product,
    /// a * b + c.
    Fma,
    /// Chooses, compares, or rounds to an integral number: no result is new.
    Same,
    Reciprocal {
        of_integer: bool,
    },
    /// A root, or its reciprocal.
    Root {
        reciprocal: bool,
    },
    Logarithm,
    /// To an integer of these limits.
    ToInteger(f64, f64),
    /// To another format.
    Convert,
    /// x * 2^n, where the second source is an integer.
    Scale,
    /// What v_div_fixup looks at: denominator and numerator.
    Quotient,
}

/// How an operation's numbers lie in registers.
#[derive(Clone, Copy)]
enum Kept {
    Half,
    Single,
    Double,
}

impl Kept {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "f16" => Self::Half,
            "f32" => Self::Single,
            "f64" => Self::Double,
            _ => return None,
        })
    }

    fn format(self) -> &'static Format {
        match self {
            Self::Half => &Format::F16,
            Self::Single => &Format::F32,
            Self::Double => &Format::F64,
        }
    }

    /// MODE's rounding of results.
    fn round(self, mode: u32) -> Round {
        Round::from_bits(mode >> self.field(mode::ROUND))
    }

    /// Whether MODE keeps results that are denormal.
    fn keeps(self, mode: u32) -> bool {
        (mode >> (self.field(mode::DENORM) + 1)) & 1 == 1
    }

    fn field(self, of_single: u32) -> u32 {
        match self {
            Self::Single => of_single,
            Self::Half | Self::Double => of_single + 2,
        }
    }

    fn source<const L: usize>(self, w: &Wave<L>, i: &Inst, n: usize) -> [u64; L] {
        match self {
            Self::Half => vhalf::source(w, i, n).map(u64::from),
            Self::Single => vfloat::source(w, i, n).map(u64::from),
            Self::Double => vdouble::source64(w, i, n),
        }
    }
}

/// Executes an instruction of a wave some of whose exceptions of arithmetic trap, by its function if it has one.
///
/// # Errors
/// Exceptions that trap, in spite of which the instruction was executed; otherwise as of [`super::execute`].
pub fn execute<const L: usize>(
    w: &mut Wave<L>,
    i: &Inst,
    step: Option<Step<L>>,
    c: &mut Context<'_>,
    layout: &TrapLayout,
) -> Result<Next, FaultKind> {
    let raised = raised(w, i);
    // The wave is behind it already.
    let pc = w.pc.wrapping_sub(u64::from(i.size));
    let next = match step {
        Some(step) => {
            step(w, i);
            Next::Go
        }
        None => super::execute(w, i, c)?,
    };
    match w.note(layout, raised) {
        0 => Ok(next),
        flags => Err(FaultKind::Arithmetic { flags, pc }),
    }
}

/// What an instruction raises: it is asked before the instruction is executed, which may write over its sources.
pub fn raised<const L: usize>(w: &Wave<L>, i: &Inst) -> u32 {
    match i.family {
        Family::Vopd => {
            let halves = i.halves().into_iter().flatten();
            halves.fold(0, |all, half| all | raised(w, &half))
        }
        Family::Vop1 | Family::Vop2 | Family::Vopc | Family::Vop3 => {
            operation(i).map_or(0, |(what, from, to)| over_lanes(w, i, what, from, to))
        }
        _ => 0,
    }
}

/// What the instruction does, and the formats of its sources and of its result.
fn operation(i: &Inst) -> Option<(What, Kept, Kept)> {
    let (stem, last) = i.name().strip_prefix("v_")?.rsplit_once('_')?;
    if matches!(i.kind, Kind::Compare { .. }) {
        let from = Kept::named(last)?;
        return Some((What::Same, from, from));
    }
    if let Some(to) = stem.strip_prefix("cvt_") {
        let from = Kept::named(last)?;
        let limits = |low: f64, high: f64| Some((What::ToInteger(low, high), from, from));
        return match to {
            "i32" | "rpi_i32" | "flr_i32" | "nearest_i32" | "floor_i32" => {
                limits(i32::MIN.into(), i32::MAX.into())
            }
            "u32" => limits(0.0, u32::MAX.into()),
            "i16" => limits(i16::MIN.into(), i16::MAX.into()),
            "u16" => limits(0.0, u16::MAX.into()),
            _ => Some((What::Convert, from, Kept::named(to)?)),
        };
    }
    let what = match stem {
        "add" => What::Sum([false, false]),
        "sub" => What::Sum([false, true]),
        "subrev" => What::Sum([true, false]),
        "mul" => What::Product,
        "fma" | "fmac" | "fmamk" | "fmaak" => What::Fma,
        "rcp" => What::Reciprocal { of_integer: false },
        "rcp_iflag" => What::Reciprocal { of_integer: true },
        "rsq" => What::Root { reciprocal: true },
        "sqrt" => What::Root { reciprocal: false },
        "log" => What::Logarithm,
        "ldexp" => What::Scale,
        "div_fixup" => What::Quotient,
        "trunc" | "ceil" | "floor" | "rndne" | "fract" => What::Same,
        _ if ["min", "max", "med3"].iter().any(|s| stem.starts_with(s)) => What::Same,
        _ => return None,
    };
    let kept = Kept::named(last)?;
    // Integers of 16 bits scale a half.
    let known = !matches!((what, kept), (What::Scale, Kept::Half));
    known.then_some((what, kept, kept))
}

fn over_lanes<const L: usize>(w: &Wave<L>, i: &Inst, what: What, from: Kept, to: Kept) -> u32 {
    let name = i.name();
    let immediate = || [u64::from(i.imm); L];
    let first = from.source(w, i, 0);
    // v_fmamk and v_fmaak have a constant of 16 or 32 bits between or behind their sources.
    let (second, third) = match () {
        () if name.starts_with("v_fmamk") => (immediate(), from.source(w, i, 1)),
        () if name.starts_with("v_fmaak") => (from.source(w, i, 1), immediate()),
        () => match what {
            What::Fma | What::Quotient => (from.source(w, i, 1), from.source(w, i, 2)),
            What::Sum(_) | What::Product => (from.source(w, i, 1), [0; L]),
            What::Scale => {
                let mut splat = None;
                let by = w.lanes(i, 1, &mut splat).map(u64::from);
                (by, [0; L])
            }
            What::Same if sources(i) > 1 => {
                let third = match sources(i) {
                    3 => from.source(w, i, 2),
                    _ => [0; L],
                };
                (from.source(w, i, 1), third)
            }
            _ => ([0; L], [0; L]),
        },
    };
    let result = Rounding {
        format: to.format(),
        round: to.round(w.mode),
        keeps: to.keeps(w.mode),
    };
    let lane = |l: usize| of_lane(what, from, [first[l], second[l], third[l]], &result);
    super::lanes::active(w).fold(0, |all, l| all | lane(l))
}

/// How many sources an operation has that chooses among them.
fn sources(i: &Inst) -> usize {
    let name = i.name();
    let three = [
        "min3", "max3", "med3", "minmax", "maxmin", "minimum3", "maximum3",
    ];
    match () {
        () if three.iter().any(|part| name.contains(part)) || name.contains("mum_m") => 3,
        () if name.starts_with("v_m") || matches!(i.kind, Kind::Compare { .. }) => 2,
        () => 1,
    }
}

/// How a result is rounded.
struct Rounding {
    format: &'static Format,
    round: Round,
    keeps: bool,
}

fn of_lane(what: What, from: Kept, codes: [u64; 3], result: &Rounding) -> u32 {
    let [a, b, c] = codes.map(|code| Number::of(code, from.format()));
    let all: &[Number] = match what {
        What::Scale => &[a],
        // The quotient so far says nothing.
        What::Quotient => &[b, c],
        _ => &[a, b, c],
    };
    let any = |is: fn(&Number) -> bool| all.iter().any(is);
    if any(|n| n.signalling) {
        return INVALID;
    }
    if let What::ToInteger(low, high) = what {
        return to_integer(codes[0], &a, from, (low, high));
    }
    if any(|n| n.nan) {
        return 0;
    }
    let denormal = if any(|n| n.denormal) { DENORMAL } else { 0 };
    let when = |is: bool, flag: u32| if is { flag } else { 0 };
    let turned = |n: Number, turn: bool| match n.exact {
        Exact::Finite(s, m, e) => Exact::Finite(s != turn, m, e),
        Exact::Infinite(s) => Exact::Infinite(s != turn),
        Exact::Nan => Exact::Nan,
    };
    let sum = |a, b| Exact::sum(a, b, result.round);
    let exact = match what {
        What::Same => return denormal,
        What::Reciprocal { of_integer } => {
            let flag = if of_integer { INTEGER } else { DIVISION };
            return denormal | when(a.zero, flag);
        }
        What::Root { reciprocal } => {
            let negative = when(a.negative && !a.zero, INVALID);
            return denormal | negative | when(a.zero && reciprocal, DIVISION);
        }
        What::Logarithm => {
            return denormal | when(a.negative && !a.zero, INVALID) | when(a.zero, DIVISION);
        }
        What::Quotient => {
            let none = (b.zero && c.zero) || (b.infinite && c.infinite);
            let by_zero = b.zero && !c.zero && !c.infinite;
            return denormal | when(none, INVALID) | when(by_zero, DIVISION);
        }
        What::Sum([first, second]) => sum(turned(a, first), turned(b, second)),
        What::Product => Exact::product(a.exact, b.exact),
        What::Fma => sum(Exact::product(a.exact, b.exact), c.exact),
        What::Convert | What::ToInteger(..) => a.exact,
        What::Scale => a.exact.scaled(codes[1] as i32),
    };
    denormal | rounded(exact, result)
}

/// What becomes of an exact result in its format.
fn rounded(exact: Exact, result: &Rounding) -> u32 {
    let (mantissa, exponent) = match exact {
        Exact::Nan => return INVALID,
        Exact::Infinite(_) | Exact::Finite(_, 0, _) => return 0,
        Exact::Finite(_, m, e) => (m, e),
    };
    let format = result.format;
    let back = Number::of(exact.round(format, result.round), format);
    // The power of two that the value is not below.
    let power = exponent + 127 - mantissa.leading_zeros() as i32;
    let tiny = power < 1 - format.bias;
    let changed = back.exact.reduced() != exact.reduced() || (back.denormal && !result.keeps);
    match changed {
        false => 0,
        true if back.infinite || power > format.bias => OVERFLOW | INEXACT,
        true if tiny => UNDERFLOW | INEXACT,
        true => INEXACT,
    }
}

/// What a conversion to an integer between limits raises.
fn to_integer(code: u64, number: &Number, from: Kept, (low, high): (f64, f64)) -> u32 {
    let value = match from {
        Kept::Double => f64::from_bits(code),
        Kept::Half | Kept::Single => from.format().value(code),
    };
    let whole = value.trunc();
    match () {
        () if !(low..=high).contains(&whole) => INVALID,
        () if number.denormal => DENORMAL | INEXACT,
        () if whole != value => INEXACT,
        () => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SINGLE: Rounding = Rounding {
        format: &Format::F32,
        round: Round::Nearest,
        keeps: true,
    };

    fn of(what: What, values: &[f32]) -> u32 {
        let code = |n: usize| values.get(n).map_or(0, |x| x.to_bits().into());
        of_lane(what, Kept::Single, [code(0), code(1), code(2)], &SINGLE)
    }

    /// IEEE 754's own cases.
    #[test]
    fn what_the_standard_says() {
        let (inf, nan, big, tiny) = (f32::INFINITY, f32::NAN, f32::MAX, f32::MIN_POSITIVE);
        let signalling = f32::from_bits(0x7f80_0001);
        let denormal = f32::from_bits(1);
        let sum = What::Sum([false, false]);
        for (what, values, flags) in [
            (sum, &[1.0, 2.0][..], 0),
            (sum, &[inf, -inf], INVALID),
            (sum, &[inf, inf], 0),
            (What::Sum([false, true]), &[inf, inf], INVALID),
            (What::Sum([true, false]), &[inf, inf], INVALID),
            (sum, &[nan, 1.0], 0),
            (sum, &[signalling, 1.0], INVALID),
            (sum, &[1.0, 1e-30], INEXACT),
            (sum, &[denormal, 1.0], DENORMAL | INEXACT),
            (sum, &[big, big], OVERFLOW | INEXACT),
            (What::Product, &[0.0, inf], INVALID),
            (What::Product, &[big, 2.0], OVERFLOW | INEXACT),
            (What::Product, &[tiny, 0.5], 0),
            (
                What::Product,
                &[f32::from_bits(0x0080_0001), 0.5],
                UNDERFLOW | INEXACT,
            ),
            (What::Fma, &[2.0, 3.0, -6.0], 0),
            (What::Fma, &[inf, 1.0, -inf], INVALID),
            (
                What::Fma,
                &[1.0 + f32::EPSILON, 1.0 + f32::EPSILON, 0.0],
                INEXACT,
            ),
            (What::Same, &[1.0, signalling], INVALID),
            (What::Reciprocal { of_integer: false }, &[0.0], DIVISION),
            (What::Reciprocal { of_integer: true }, &[-0.0], INTEGER),
            (What::Reciprocal { of_integer: false }, &[inf], 0),
            (What::Root { reciprocal: false }, &[-1.0], INVALID),
            (What::Root { reciprocal: false }, &[-0.0], 0),
            (What::Root { reciprocal: true }, &[0.0], DIVISION),
            (What::Logarithm, &[0.0], DIVISION),
            (What::Logarithm, &[-2.0], INVALID),
            (What::Quotient, &[nan, 0.0, 1.0], DIVISION),
            (What::Quotient, &[nan, 0.0, 0.0], INVALID),
            (What::Quotient, &[nan, inf, inf], INVALID),
            (What::Quotient, &[nan, 0.0, inf], 0),
        ] {
            assert_eq!(of(what, values), flags, "{values:?}");
        }
        let integer = What::ToInteger(i32::MIN.into(), i32::MAX.into());
        for (value, flags) in [
            (3.0, 0),
            (3.5, INEXACT),
            (nan, INVALID),
            (3e9, INVALID),
            (-2_147_483_648.0, 0),
        ] {
            assert_eq!(of(integer, &[value]), flags, "{value}");
        }
    }

    /// Two numbers of single precision have an exact sum and product in double precision if they are near enough
    /// together: the host's arithmetic says what is exact, too large or too small.
    #[test]
    fn what_the_host_computes() {
        let mut seed = 7u64;
        let mut random = |low: u64, high: u64| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let exponent = low + (seed >> 40) % (high - low);
            f32::from_bits((exponent << 23) as u32 | (seed >> 41) as u32 & 0x807f_ffff)
        };
        for _ in 0..200_000 {
            let (a, b) = (random(115, 140), random(115, 140));
            let exact = f64::from(a) + f64::from(b);
            let wanted = if exact == f64::from(a + b) {
                0
            } else {
                INEXACT
            };
            assert_eq!(of(What::Sum([false, false]), &[a, b]), wanted, "{a} + {b}");
            let (a, b) = (random(1, 254), random(1, 254));
            let (exact, single) = (f64::from(a) * f64::from(b), a * b);
            let wanted = match () {
                () if exact == f64::from(single) => 0,
                () if single.is_infinite() => OVERFLOW | INEXACT,
                () if exact.abs() < f64::from(f32::MIN_POSITIVE) => UNDERFLOW | INEXACT,
                () => INEXACT,
            };
            assert_eq!(of(What::Product, &[a, b]), wanted, "{a:e} * {b:e}");
        }
    }
}
