// SPDX-License-Identifier: MIT OR Apache-2.0
//! The table: an instruction's text on gfx942 and on gfx1201, what its sources are, and its formula.

use super::*;

mod doubles;
mod halves;
mod integers;
mod packed;
mod parts;
mod shorts;
mod singles;

/// Takes one row: both texts, what the sources are, and the formula.
type Add<'a> = dyn FnMut(&'static str, &'static str, Kind, Reference) + 'a;

/// Every instruction with its formula.
pub fn cases() -> Vec<Case> {
    let mut all: Vec<Case> = Vec::new();
    let mut add = |a, b, k, r: Reference| all.push(Case(a, b, k, r));
    integers::add(&mut add);
    shorts::add(&mut add);
    packed::add(&mut add);
    halves::add(&mut add);
    singles::add(&mut add);
    doubles::add(&mut add);
    parts::add(&mut add);
    all
}
