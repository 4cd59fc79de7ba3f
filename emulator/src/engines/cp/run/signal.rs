// SPDX-License-Identifier: MIT OR Apache-2.0

//! Completing a signal: what a program that waits for a dispatch sees of its end.
//!
//! Sources: HSA runtime, `amd_hsa_signal.h`; HSA Platform System Architecture, section 2.4; Linux,
//! `amdkfd/kfd_events.c` (`kfd_signal_event_interrupt`).

use crate::engines::cp::mec::{Hqd, Mec};
use crate::engines::cp::packet::error::{code, PacketError};
use crate::trace::Value;
use rkfd_hw::aql::{self, Signal};
use rkfd_hw::ih::{client, source};
use rkfd_hw::layout::Layout;

impl Mec {
    /// Completes a signal: timestamps, the value, and, if it has an event, mailbox and interrupt.
    ///
    /// What belongs to the event is read first: once the value has changed, the host may reuse
    /// the signal.
    pub(crate) fn complete_signal(
        &self,
        h: &Hqd,
        at: u64,
        (start, end): (u64, u64),
    ) -> Result<(), PacketError> {
        let space = self.space_of(h);
        let word = |word: usize| at + word as u64 * 4;
        let kind = space.load_u64(word(Signal::KIND.word()))? as i64;
        if kind != aql::SIGNAL_KIND_USER {
            return Err(PacketError::bad(
                code::RESERVED,
                format!("AQL: completion signal of kind {kind}"),
            ));
        }
        let mailbox = space.load_u64(word(Signal::EVENT_MAILBOX_PTR.word()))?;
        let event = space.load_u32(word(Signal::EVENT_ID.word()))?;
        space.store_u64(word(Signal::START_TS.word()), start)?;
        space.store_u64(word(Signal::END_TS.word()), end)?;
        // Before the value changes, too.
        let mut words = [0; Signal::WORDS];
        if self.env.trace().is_on() && space.read_words(at, &mut words).is_err() {
            words = [0; Signal::WORDS];
        }
        let old = space.update_u64(word(Signal::VALUE.word()), |value| value.wrapping_sub(1))?;
        let name = h.slot.to_string();
        self.env.trace().event(
            "signal",
            &[
                ("queue", Value::Text(&name)),
                ("address", Value::Hex(at)),
                ("old", Value::Num(old)),
                ("new", Value::Num(old.wrapping_sub(1))),
                (
                    "event",
                    Value::Num(if mailbox == 0 { 0 } else { event.into() }),
                ),
                ("words", Value::Words(&words)),
            ],
        );
        if mailbox != 0 {
            space.store_u64(mailbox, event.into())?;
            self.interrupt(h, client::GRBM_CP, source::CP_EOP, [event, 0, 0, 0]);
        }
        Ok(())
    }
}
