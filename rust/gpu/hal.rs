// SPDX-License-Identifier: GPL-2.0

//! What differs between GPUs as a whole.

use super::reset::{
    Method,
    Soft, //
};
use crate::chip::Generation;

/// The ways to reset a GPU of a generation, in the order in which they are tried.
pub(super) fn reset_methods(generation: Generation) -> &'static [&'static dyn Method] {
    match generation {
        Generation::Gfx942 => &[&Soft],
        Generation::Gfx1201 => &[&Soft],
        #[cfg(rkfd_stub_chip)]
        Generation::Stub => &[&Soft],
    }
}
