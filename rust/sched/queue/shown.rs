// SPDX-License-Identifier: GPL-2.0

//! A queue's MQDs as they are in memory, for people to look at.

use super::{
    Format,
    HwQueue, //
};
use crate::mqd;

impl HwQueue {
    /// What kind of packets it takes.
    pub(crate) fn format(&self) -> Format {
        self.with_spec(|spec| spec.format)
    }

    /// Its MQDs: that of each XCC, or the one of a copy engine. None of their words when the device is gone.
    pub(crate) fn mqds(&self) -> impl Iterator<Item = impl Iterator<Item = u32> + '_> + '_ {
        let words = mqd::words_of(self.format());
        (0..u64::from(self.copies)).map(move |copy| {
            let at = copy.saturating_mul(self.stride);
            let places = (at..).step_by(4).take(words);
            places.map_while(|at| self.mqd.read32(at).ok())
        })
    }
}
