// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the device saw of one program's queue.

use crate::trace::{Event, Trace};
use rkfd_hw::mes::FRAME_WORDS;

/// The first user queue, from its creation until it is taken off.
pub struct Device<'a> {
    trace: &'a Trace,
    /// The queue on its hardware slot.
    pub queue: &'a Event,
    last: u64,
}

impl<'a> Device<'a> {
    /// Find the queue.
    pub fn of(trace: &'a Trace) -> Result<Self, String> {
        let user = |kind: &'static str| trace.all(kind).find(|e| e.text("role") == "User");
        let queue = user("queue_connect").ok_or("the device connected no user queue")?;
        let last = user("queue_disconnect").map_or(u64::MAX, Event::seq);
        Ok(Device { trace, queue, last })
    }

    /// Events of a kind until the queue was taken off.
    fn events(&self, kind: &'a str) -> impl Iterator<Item = &'a Event> {
        let last = self.last;
        self.trace.all(kind).take_while(move |e| e.seq() <= last)
    }

    /// The one event of a kind while the queue existed.
    pub fn one(&self, kind: &'static str) -> Result<&'a Event, String> {
        let first = self.queue.seq();
        let mut found = self.events(kind).filter(|e| e.seq() > first);
        match (found.next(), found.next()) {
            (Some(event), None) => Ok(event),
            (None, _) => Err(format!("the device had no '{kind}'")),
            _ => Err(format!("the device had more than one '{kind}'")),
        }
    }

    /// The last PM4 packet of an opcode before the queue was connected.
    pub fn packet(&self, op: &str) -> Result<&'a Event, String> {
        let first = self.queue.seq();
        let before = self.events("pm4").take_while(|e| e.seq() < first);
        before
            .filter(|e| e.text("op") == op)
            .last()
            .ok_or_else(|| format!("the device saw no {op}"))
    }

    /// The first frame of MES with an opcode that `wanted` knows by its words.
    pub fn frame(
        &self,
        op: &str,
        wanted: impl Fn(&[u32; FRAME_WORDS]) -> bool,
    ) -> Result<(&'a Event, [u32; FRAME_WORDS]), String> {
        for event in self.events("mes").filter(|e| e.text("op") == op) {
            let words = event.words("words")?;
            let words = words.try_into().map_err(|_| format!("{op} is too short"))?;
            if wanted(&words) {
                return Ok((event, words));
            }
        }
        Err(format!("the device saw no such {op}"))
    }

    /// Packets (`pm4`) or frames (`mes`) of an opcode in all.
    pub fn count(&self, kind: &'static str, op: &str) -> usize {
        self.events(kind).filter(|e| e.text("op") == op).count()
    }

    /// The doorbell of the queue when it was rung.
    pub fn doorbell(&self) -> Result<&'a Event, String> {
        let index = self.queue.num("doorbell")?;
        let mut rung = self.events("doorbell");
        rung.find(|e| e.num("index") == Ok(index))
            .ok_or_else(|| "the device saw no doorbell of the queue".into())
    }

    /// A word of the MQD as it was loaded; 0 if it was 0.
    pub fn word(&self, name: &str) -> Result<u64, String> {
        let mqd = self.queue.num("mqd")?;
        let mut words = self.events("mqd_word");
        words
            .find(|e| e.num("mqd") == Ok(mqd) && e.text("name") == name)
            .map_or(Ok(0), |e| e.num("value"))
    }

    /// Two words of the MQD, `NAME_LO` and `NAME_HI`.
    pub fn pair(&self, name: &str) -> Result<u64, String> {
        let half = |end: &str| self.word(&format!("{name}_{end}"));
        Ok(half("LO")? | (half("HI")? << 32))
    }

    /// Where the queue ended: its read pointer when it was taken off.
    pub fn end(&self) -> Result<&'a Event, String> {
        let mut ends = self.events("queue_disconnect");
        ends.find(|e| e.text("role") == "User")
            .ok_or_else(|| "the queue was never taken off".into())
    }
}
