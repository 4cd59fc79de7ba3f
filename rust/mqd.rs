// SPDX-License-Identifier: GPL-2.0

//! MQDs: the image of a queue that the firmware loads into a hardware queue.
//!
//! Each is built by one function that sets every word that isn't zero, in place: an MQD is an eighth
//! of a kernel stack. Which words there are differs between versions, so each has a file and a [`Hal`].
//! A user queue has one MQD for each XCC, in VRAM, a [`Hal::stride`] apart.

use crate::{
    chip::ChipInfo,
    hw::value::Bounded,
    types::{
        Format,
        GpuVa,
        Priority,
        QueueSpec, //
    }, //
};
use core::num::NonZero;

mod common;
mod hal;

pub(crate) use common::COUNTED;
pub(crate) use hal::{
    hal,
    v12,
    v9,
    Hal, //
};

/// First words and widths in bits of a layout's fields, for [`Hal::updated`].
macro_rules! words {
    ($layout:ident: $($field:ident),* $(,)?) => {
        &[$(($layout::$field.word(), $layout::$field.width())),*]
    };
}

use words;

/// The words of an MQD.
pub(crate) type Image = [u32; 512];

/// Words of a queue's MQD.
pub(crate) fn words_of(format: Format) -> usize {
    match format {
        Format::Aql | Format::Pm4 => 512,
        Format::Sdma => 128,
    }
}

/// All compute units.
const ALL: u32 = 0xffff_ffff;

/// A user queue on one XCC.
pub(crate) struct UserQueue<'a> {
    pub(crate) spec: &'a QueueSpec,
    pub(crate) chip: &'a ChipInfo,
    pub(crate) mqd_addr: GpuVa,
    /// Index of the XCC, and the logical one it is for this queue.
    pub(crate) xcc_index: u32,
    pub(crate) logical_xcc: u32,
    /// The process has a trap handler.
    pub(crate) trap: bool,
    /// The device makes atomic operations on memory.
    pub(crate) atomics: bool,
    /// Compute units by shader engine.
    pub(crate) cu_mask: Option<[u32; 4]>,
}

/// A copy queue's MQD is smaller than a compute queue's.
fn sdma_image(words: &[u32; 128], image: &mut Image) {
    *image = [0; 512];
    for (to, from) in image.iter_mut().zip(words) {
        *to = *from;
    }
}

/// log2 of a size in words, less one: the form in which MQDs have the sizes of rings and EOP buffers.
fn words_log2(bytes: u64) -> Bounded<6> {
    NonZero::new(bytes / 8).map_or(Bounded::new::<0>(), Bounded::<6>::log2_of)
}

/// `eop_control`: at most 0xff entries, since the count of an engine has 8 bits.
fn eop_control(bytes: u32) -> u32 {
    match bytes {
        0..=7 => 0,
        _ => (bytes / 8)
            .checked_next_power_of_two()
            .map_or(0xa, |entries| entries.trailing_zeros().min(0xa)),
    }
}

/// `pipe_priority_map`: low, medium or high.
fn pipe_priority(priority: Priority) -> u32 {
    match priority.get() {
        0..=6 => 0,
        7..=10 => 1,
        _ => 2,
    }
}
