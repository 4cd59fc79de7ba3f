// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a user queue's packets and dispatches look like in the trace.

use crate::engines::cp::front::hqd::AQL_WORDS;
use crate::engines::cp::launch::dispatch::Counts;
use crate::engines::cp::launch::split::SplitDispatch;
use crate::engines::cp::mec::{Hqd, Mec};
use crate::trace::Value;
use rkfd_hw::aql::{self, Header, KernelDescriptor, KernelDispatch, Vendor};
use rkfd_hw::layout::Layout;

impl Mec {
    pub(crate) fn trace_packet(&self, h: &Hqd, at: u64, header: &Header, words: &[u32]) {
        let kind = match header.packet_type {
            aql::TYPE_KERNEL_DISPATCH => "KERNEL_DISPATCH",
            aql::TYPE_BARRIER_AND => "BARRIER_AND",
            aql::TYPE_BARRIER_OR => "BARRIER_OR",
            aql::TYPE_VENDOR_SPECIFIC => match Vendor::FORMAT.get(words) as u8 {
                aql::VENDOR_PM4_IB => "PM4_IB",
                aql::VENDOR_BARRIER_VALUE => "BARRIER_VALUE",
                _ => "other",
            },
            _ => "other",
        };
        let name = h.slot.to_string();
        self.env.trace().event(
            "aql",
            &[
                ("queue", Value::Text(&name)),
                ("doorbell", Value::Num(h.q.doorbell.into())),
                ("index", Value::Num(at / AQL_WORDS)),
                ("type", Value::Text(kind)),
                ("barrier", Value::Num(header.barrier.into())),
                ("acquire", Value::Num(header.acquire.into())),
                ("release", Value::Num(header.release.into())),
                ("words", Value::Words(words)),
            ],
        );
    }

    pub(crate) fn trace_start(&self, h: &Hqd, at: u64, packet: &KernelDispatch, d: &SplitDispatch) {
        let name = h.slot.to_string();
        let object = packet.get(KernelDispatch::KERNEL_OBJECT);
        let mut descriptor = [0; KernelDescriptor::WORDS];
        if self.env.trace().is_on() {
            // The launch has just read it, so it is there.
            _ = self.space_of(h).read_words(object, &mut descriptor);
        }
        self.env.trace().event(
            "dispatch_start",
            &[
                ("queue", Value::Text(&name)),
                ("index", Value::Num(at / AQL_WORDS)),
                ("descriptor", Value::Words(&descriptor)),
                ("kernel", Value::Hex(object)),
                (
                    "kernarg",
                    Value::Hex(packet.get(KernelDispatch::KERNARG_ADDRESS)),
                ),
                ("workgroups", Value::Num(d.total())),
                (
                    "waves_per_workgroup",
                    Value::Num(d.waves_per_group().into()),
                ),
                ("start_ts", Value::Num(d.started())),
            ],
        );
    }

    /// A dispatch of a PM4 queue.
    pub(crate) fn trace_launch(&self, h: &Hqd, program: u64, d: &SplitDispatch) {
        let name = h.slot.to_string();
        self.env.trace().event(
            "dispatch_start",
            &[
                ("queue", Value::Text(&name)),
                ("program", Value::Hex(program)),
                ("workgroups", Value::Num(d.total())),
                (
                    "waves_per_workgroup",
                    Value::Num(d.waves_per_group().into()),
                ),
                ("start_ts", Value::Num(d.started())),
            ],
        );
    }

    /// The end of a dispatch, the `nth` of those that the queue has launched.
    pub(crate) fn trace_end(&self, h: &Hqd, nth: usize, d: &SplitDispatch, end: u64) {
        let (name, counts) = (h.slot.to_string(), d.counts());
        let sum = |of: fn(&Counts) -> u64| counts.iter().map(of).sum();
        let xccs: Vec<u32> = counts.iter().map(|c| c.workgroups as u32).collect();
        self.env.trace().event(
            "dispatch_end",
            &[
                ("queue", Value::Text(&name)),
                ("index", Value::Num(h.q.rptr / h.q.unit() + nth as u64)),
                ("workgroups", Value::Num(sum(|c| c.workgroups))),
                ("xcc_workgroups", Value::Words(&xccs)),
                ("waves", Value::Num(sum(|c| c.waves))),
                ("instructions", Value::Num(sum(|c| c.instructions))),
                ("start_ts", Value::Num(d.started())),
                ("end_ts", Value::Num(end)),
            ],
        );
    }
}
