// SPDX-License-Identifier: MIT OR Apache-2.0
//! Functions of integers that several groups of operations share.

/// A 24-bit source, sign-extended.
pub fn i24(x: u32) -> i64 {
    i64::from((x << 8) as i32 >> 8)
}
/// A 24-bit source.
pub fn u24(x: u32) -> u64 {
    u64::from(x & 0xff_ffff)
}

/// The middle one of three.
pub fn median<T: Ord>(a: T, b: T, c: T) -> T {
    let (low, high) = if a < b { (a, b) } else { (b, a) };
    if c < low {
        low
    } else if c > high {
        high
    } else {
        c
    }
}

/// Sum of absolute differences of elements of `bits` bits; masked ones count only where b is not
/// zero.
pub fn sad(a: u32, b: u32, bits: u32, masked: bool) -> u32 {
    let element = |x: u32, n: u32| (x >> (n * bits)) & ((1 << bits) - 1);
    (0..32 / bits)
        .filter(|n| !masked || element(b, *n) != 0)
        .map(|n| element(a, n).abs_diff(element(b, n)))
        .sum()
}

/// v_perm_b32: bytes 0-3 of b, 4-7 of a, signs, and constants.
pub fn permute(a: u32, b: u32, selector: u32) -> u32 {
    let data = (u64::from(a) << 32) | u64::from(b);
    (0..4).fold(0, |r, n| {
        let byte = match (selector >> (8 * n)) & 0xff {
            s @ 0..=7 => (data >> (8 * s)) as u8,
            s @ 8..=11 => {
                if (data >> (16 * (s - 8) + 15)) & 1 == 1 {
                    0xff
                } else {
                    0
                }
            }
            12 => 0,
            _ => 0xff,
        };
        r | (u32::from(byte) << (8 * n))
    })
}

/// `c` bits of `a` from bit `b` on.
pub fn field_u32(a: u32, b: u32, c: u32) -> u32 {
    (a >> (b & 31)) & ((1 << (c & 31)) - 1)
}

/// The same, sign-extended.
pub fn field_i32(a: u32, b: u32, c: u32) -> u32 {
    let (at, width) = (b & 31, c & 31);
    if width == 0 {
        return 0;
    }
    let up = 32 - width.min(32 - at);
    (((a >> at) << up) as i32 >> up) as u32
}

/// a - b - c, and whether it borrows.
pub fn borrow(a: u32, b: u32, c: u32) -> (u32, bool) {
    let (from, take) = (u64::from(a), u64::from(b) + u64::from(c));
    (from.wrapping_sub(take) as u32, take > from)
}

/// The nearest value that `bits` can hold.
pub fn limit(x: i128, bits: u32, signed: bool) -> u64 {
    if signed {
        x.clamp(-(1 << (bits - 1)), (1 << (bits - 1)) - 1) as u64
    } else {
        x.clamp(0, (1 << bits) - 1) as u64
    }
}
