// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reading and checking the MQDs of a queue that is to be mapped.
//!
//! Source: Linux, `amdkfd/kfd_mqd_manager_v9.c` (`init_mqd_v9_4_3`): the MQDs for several XCCs lie one
//! behind the other, CP_MQD_STRIDE_SIZE apart; the first XCC alone reports an AQL queue's read
//! pointer.

use crate::engines::cp::front::hqd::{Image, Queue, Role};
use crate::engines::cp::mec::line::{Pointer, QueueMap};
use crate::engines::cp::mec::loads::{Load, Loads};
use crate::engines::cp::mec::Mec;
use crate::memory::VmFault;
use crate::report::{Whose, Wrong};
use crate::trace::Value;
use std::fmt;

/// Why a queue can't be mapped.
#[derive(Clone, Debug)]
pub(crate) enum BadQueue {
    /// Its MQD can't be reached.
    Memory(VmFault),
    /// Something is wrong with its MQD.
    Mqd(Role, Wrong),
    /// It does not fit what names it, or the queues that are mapped.
    Map(String),
}

impl fmt::Display for BadQueue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(fault) => write!(f, "the MQD: {fault}"),
            Self::Mqd(role, what) => write!(f, "MQD of a {role:?} queue: {what}"),
            Self::Map(what) => f.write_str(what),
        }
    }
}

impl BadQueue {
    /// Whose doing it is.
    pub fn whose(&self) -> Whose {
        match self {
            Self::Mqd(_, wrong) => wrong.whose,
            Self::Memory(_) | Self::Map(_) => Whose::Driver,
        }
    }
}

impl Mec {
    /// Reads and checks the MQDs of a queue that is to be mapped; a kernel's is on one XCC.
    ///
    /// # Errors
    /// What is wrong.
    pub fn fetch_mqd(
        &mut self,
        map: &QueueMap,
        role: Role,
        xcc: u8,
    ) -> Result<(Queue, Loads), BadQueue> {
        let at = map.mqd;
        let bad = |what: String| Err(BadQueue::Map(what));
        if at % 4 != 0 {
            return bad(format!("MQD address {at:#x} is misaligned"));
        }
        let (queue, loads) = self.fetch_loads(map, role, xcc)?;
        let bell = map.doorbell;
        if queue.doorbell != bell {
            let its = queue.doorbell;
            return bad(format!("doorbell {bell:#x}, but {its:#x} in the MQD"));
        }
        if matches!(map.wptr, Pointer::Process(at) if at != queue.poll) {
            return bad("write pointer address differs from the MQD's".into());
        }
        if bell >= self.env.doorbells().words() {
            return bad(format!("doorbell {bell:#x} is beyond the BAR"));
        }
        for other in self.hqds.iter().flatten() {
            if other.q.mqd == queue.mqd {
                return bad("the MQD is that of a connected queue".into());
            }
            // The HIQs of a partition are rung by the same.
            let together = role == Role::Hiq && other.role == Role::Hiq;
            if other.q.doorbell == queue.doorbell && !together {
                return bad("the doorbell is that of a connected queue".into());
            }
        }
        Ok((queue, loads))
    }

    /// Reads and checks the MQDs of a queue on all XCCs, or on one for a kernel's queue.
    pub(crate) fn fetch_loads(
        &self,
        map: &QueueMap,
        role: Role,
        xcc: u8,
    ) -> Result<(Queue, Loads), BadQueue> {
        let format = &self.generation.mqd;
        let bad = |wrong: Wrong| BadQueue::Mqd(role, wrong);
        let fetch = |xcc: u8, at: u64| -> Result<(Queue, Load), BadQueue> {
            let mut image = Box::new(Image::zeroed());
            let read = self.space_on(xcc, 0).read_words(at, &mut image.0);
            read.map_err(BadQueue::Memory)?;
            if !self.turns.knows(map.mqd) {
                self.trace_mqd(at, &image);
            }
            let queue = Queue::from_mqd(format, &image, at, role).map_err(bad)?;
            // `init_mqd_hiq_v9_4_3`: all HIQs of a partition have the same place for it.
            if role == Role::Hiq && xcc != 0 && queue.reports {
                let what = format!("the HIQ of XCC {xcc} reports the read pointer, too");
                return Err(bad(what.into()));
            }
            Ok((queue, Load::new(xcc, at, image)))
        };
        let (mut queue, first) = fetch(xcc, map.mqd)?;
        let Some(spread) = format.spread.as_ref().filter(|_| role == Role::User) else {
            let others = Vec::new();
            let lead = first;
            return Ok((queue, Loads { lead, others }));
        };
        let stride = (spread.stride)(&first.image);
        let xccs = self.facts.xccs;
        let mut loads = vec![first];
        for xcc in 1..xccs {
            let at = map.mqd.wrapping_add(stride * u64::from(xcc));
            let (own, load) = fetch(xcc, at)?;
            if queue.aql && own.reports {
                return Err(bad(
                    format!("XCC {xcc} reports the read pointer, too").into()
                ));
            }
            let same = Queue {
                mqd: queue.mqd,
                reports: queue.reports,
                ..own
            };
            if same != queue {
                return Err(bad(
                    format!("XCC {xcc} has another queue than the first").into()
                ));
            }
            loads.push(load);
        }
        let logical = loads.iter().map(|load| (spread.logical)(&load.image));
        let turns = logical.fold(0u64, |all, id| all | 1u64.checked_shl(id).unwrap_or(0));
        if queue.aql && turns != (1 << xccs) - 1 {
            return Err(bad(
                "COMPUTE_CURRENT_LOGIC_XCC_ID are not 0 to the number of XCCs, each once".into(),
            ));
        }
        let lead = match queue.aql {
            true => 0,
            false => (spread.target)(&loads[0].image) as usize,
        };
        if lead >= loads.len() {
            // Bits 15:8 of what the program gave as its share of time (`kfd_ioctl_create_queue`).
            return Err(bad(Wrong::of_program(format!(
                "PM4_TARGET_XCC_IN_XCP is {lead}, and there are {xccs} XCCs"
            ))));
        }
        let lead = loads.remove(lead);
        queue.mqd = map.mqd;
        let others = loads;
        Ok((queue, Loads { lead, others }))
    }

    pub(crate) fn trace_mqd(&self, at: u64, image: &Image) {
        if !self.env.trace().is_on() {
            return;
        }
        for (i, &word) in image.0.iter().enumerate().filter(|(_, &word)| word != 0) {
            let name = self.generation.mqd.word_name(i);
            self.env.trace().event(
                "mqd_word",
                &[
                    ("mqd", Value::Hex(at)),
                    ("index", Value::Num(i as u64)),
                    ("name", Value::Text(&name)),
                    ("value", Value::Hex(word.into())),
                ],
            );
        }
    }
}
