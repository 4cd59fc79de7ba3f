// SPDX-License-Identifier: GPL-2.0

//! Where an attribute of the file `gpu_metrics` has its values from.

use crate::uapi::metrics::Attribute;

/// Where the values of an attribute come from: a number of a word in the unit's table, that of the first value.
#[derive(Clone, Copy)]
pub(super) enum Source {
    /// Words with a fraction.
    Rounded(usize),
    /// Words with a fraction, of two words each.
    RoundedPair(usize),
    /// A word as it is.
    Word(usize),
    /// Two words as they are.
    Pair(usize),
    /// Of each XCC that is there a word with a fraction.
    Xcc(usize),
    /// The same, of two words each.
    XccPair(usize),
    /// A bit for each XCC, from that of the first one that is there.
    XccBits(usize),
    /// The generation of the link.
    Link(usize),
    /// Not from the table: the time since the machine's start.
    Uptime,
}

/// An attribute that the unit reports.
pub(super) struct Metric {
    pub(super) attribute: &'static Attribute,
    pub(super) source: Source,
    /// Whether firmware of this version does.
    pub(super) known: fn(u32) -> bool,
}

impl Metric {
    /// What every firmware reports.
    pub(super) const fn new(attribute: &'static Attribute, source: Source) -> Self {
        Self::if_known(attribute, source, |_| true)
    }

    /// What firmware of some versions reports.
    pub(super) const fn if_known(
        attribute: &'static Attribute,
        source: Source,
        known: fn(u32) -> bool,
    ) -> Self {
        Self {
            attribute,
            source,
            known,
        }
    }
}
