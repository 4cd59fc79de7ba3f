// SPDX-License-Identifier: MIT OR Apache-2.0

//! Kernel queues: fetching PM4 packets, and what the kernel interface queue (KIQ) does with them.
//!
//! Source: Linux, `amdgpu/gfx_v9_4_3.c` (`gfx_v9_4_3_kiq_pm4_funcs`, `_ring_emit_fence_kiq`),
//! `amdgpu/amdgpu_amdkfd.c` (`amdgpu_amdkfd_unmap_hiq`), `kgd_gfx_v9_hiq_mqd_load`.

use super::firmware::Firmware;
use super::runlist::queue_map;
use crate::blocks::vmhub;
use crate::device::interrupt::Interrupt;
use crate::device::Refused;
use crate::engines::cp::front::generation::GFX9_4_3;
use crate::engines::cp::front::hqd::Role;
use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::mec::{Owner, Stop};
use crate::engines::cp::packet::pm4::{self, Bad, Packet};
use crate::engines::cp::run::commands::Progress;
use crate::memory::tlb::Flush;
use crate::memory::{Hub, VmFault};
use crate::rules::{Effect, Event, Go, Kind};
use crate::trace::Value;
use rkfd_hw::ih::{client, source};
use rkfd_hw::pm4::{kiq_map, *};
use rkfd_hw::regs::gc_9_4_3 as gc;
use rkfd_hw::regs::Value as Contents;

/// Packets of a kernel queue in a round.
const ROUND: u32 = 64;
/// The interrupt that KIQ fences raise by writing CPC_INT_STATUS (`gfx_v9_4_3.c`: "src_id is 178").
const CPC_GENERIC2: u8 = 178;
/// ENGINE_SEL of MAP_QUEUES: a compute queue.
const ENGINE_COMPUTE: u64 = 0;
/// ENGINE_SEL of the KIQ's MAP_QUEUES: the HIQ.
const ENGINE_HIQ: u64 = 1;

impl Firmware {
    /// Executes packets of a kernel queue; whether there were any.
    pub(crate) fn step_pm4(&mut self, slot: Slot) -> bool {
        let mut worked = false;
        for _ in 0..ROUND {
            // The HIQ waits for its unmaps, and for those of the other XCCs.
            let hiq = self.mec.role(slot) == Some(Role::Hiq);
            if hiq && (self.unmapping.is_some() || !self.hiqs_together(slot)) {
                break;
            }
            // So does the KIQ: who submits a fence behind an unmap frees the MQD then.
            if self.mec.role(slot) == Some(Role::Kiq) && self.kernel_queue_stops(slot.xcc()) {
                break;
            }
            if self.mec.role(slot) == Some(Role::Kernel) {
                match self.step_kernel(slot) {
                    Some(Progress::Waits) => break,
                    Some(_) => {
                        worked = true;
                        continue;
                    }
                    None => {}
                }
            }
            let Some(h) = self.mec.hqd(slot).filter(|h| !h.broken && h.stop.is_none()) else {
                break;
            };
            if h.q.rptr >= h.q.wptr {
                break;
            }
            let role = h.role;
            match self.fetch(slot) {
                Ok(words) if role != Role::Hiq && self.waits(slot, &words) => break,
                Ok(words) => {
                    let effect = match self.ask_rules(slot, role, &words) {
                        Go::Wait => break,
                        Go::First(effect) => Some(effect),
                        Go::On(_) => None,
                    };
                    worked = true;
                    if matches!(effect, Some(Effect::Drop | Effect::Fail(_))) {
                        self.advance(slot, words.len() as u64);
                        continue;
                    }
                    if let Some(effect) = effect {
                        self.spoilt.insert(slot.xcc(), effect);
                    }
                    let done = pm4::parse(&words, role != Role::Hiq).and_then(|packet| {
                        self.trace_pm4(role, &words, &packet);
                        self.advance(slot, words.len() as u64);
                        if effect == Some(Effect::Twice) {
                            self.execute(slot, role, packet.clone())?;
                        }
                        self.execute(slot, role, packet)
                    });
                    if let Err(bad) = done {
                        self.bad_pm4(slot, role, &bad);
                    }
                }
                Err(Ok(fault)) => {
                    worked = true;
                    self.env.vm_fault(&fault);
                    self.mec.hqd(slot).into_iter().for_each(|h| h.broken = true);
                }
                Err(Err(bad)) => {
                    worked = true;
                    self.bad_pm4(slot, role, &bad);
                }
            }
        }
        worked
    }

    /// What the rules make of a packet.
    fn ask_rules(&mut self, slot: Slot, role: Role, words: &[u32]) -> Go {
        let env = self.env.clone();
        let (rules, header) = (env.rules(), words.first().copied().unwrap_or(0));
        if !rules.is_about(Kind::Packet) || header == FILLER {
            return Go::On(None);
        }
        let Ok((opcode, _)) = pm4::size(header) else {
            return Go::On(None);
        };
        let mut keys = Vec::new();
        if let (op::UNMAP_QUEUES, Some(words)) = (opcode, words.first_chunk()) {
            let all = doorbells(&UnmapQueues(*words)).into_iter();
            keys.extend(all.map(|bell| ("doorbell", u64::from(bell))));
        }
        let ring = match role {
            Role::Hiq => "HIQ",
            _ => "KIQ",
        };
        let event = Event {
            kind: Kind::Packet,
            ring,
            name: pm4::name(opcode),
            keys: &keys,
        };
        let rptr = self.mec.hqd(slot).map_or(0, |h| h.q.rptr);
        let place = slot.place() as u64;
        self.holds.ask(rules, place, rptr, &event)
    }

    /// The value of a fence that an XCC's queue writes: the rules may have spoilt it, or that of the
    /// packets that it stands for; `None` if it is not written.
    fn fence_of(&mut self, slot: Slot, value: u64) -> Option<u64> {
        match self.spoilt.remove(&slot.xcc()) {
            Some(effect) => effect.answer(value),
            None => Some(value),
        }
    }

    /// Whether an XCC's HIQ or a kernel's queue there was asked to stop and has not yet.
    fn kernel_queue_stops(&self, xcc: u8) -> bool {
        let kernels = |role| matches!(role, Role::Hiq | Role::Kernel);
        let mut connected = self
            .mec
            .hqds
            .iter()
            .flatten()
            .filter(|h| h.slot.xcc() == xcc);
        connected.any(|h| kernels(h.role) && h.stop.is_some())
    }

    /// Whether every XCC has its HIQ, at the first one's slot and with the same ring.
    ///
    /// A driver need not wait for one XCC's HIQ before it submits the next one's to that XCC's KIQ, nor
    /// before it rings them (Linux, `kgd_gfx_v9_hiq_mqd_load`), so packets wait. It is the driver's mistake
    /// only where no KIQ has anything left by which the HIQ could come: each was looked at again after the
    /// HIQ's doorbell.
    fn hiqs_together(&mut self, first: Slot) -> bool {
        let place = |slot: Slot| self.mec.hqds.get(slot.place()).and_then(Option::as_ref);
        let Some(leader) = place(first).filter(|h| !h.broken) else {
            return false;
        };
        let alone = self.shared.xccs().find(|&xcc| {
            let other = place(first.on(xcc));
            let same = other.filter(|h| {
                let (a, b) = (&leader.q, &h.q);
                h.role == Role::Hiq && (a.ring, a.size, a.doorbell) == (b.ring, b.size, b.doorbell)
            });
            same.is_none_or(|h| h.broken)
        });
        let Some(xcc) = alone.filter(|_| leader.q.rptr < leader.q.wptr) else {
            self.hiq_waited = false;
            return alone.is_none();
        };
        let waited = std::mem::replace(&mut self.hiq_waited, true);
        if !waited || self.kiq_has_packets(xcc) {
            return false;
        }
        self.violation(format_args!(
            "HIQ rung while XCC {xcc} of the partition has no HIQ of the same ring"
        ));
        self.mec
            .hqd(first)
            .into_iter()
            .for_each(|h| h.broken = true);
        false
    }

    /// Whether an XCC's KIQ has packets that it did not execute yet.
    fn kiq_has_packets(&self, xcc: u8) -> bool {
        let connected = self.mec.hqds.iter().flatten();
        let mut kiqs = connected.filter(|h| h.slot.xcc() == xcc && h.role == Role::Kiq);
        kiqs.any(|h| !h.broken && h.q.rptr < h.q.wptr)
    }

    /// The packet at the read pointer; an error is a fault or a malformed packet.
    fn fetch(&mut self, slot: Slot) -> Result<Vec<u32>, Result<VmFault, Bad>> {
        let q = match self.mec.hqd(slot) {
            Some(h) => h.q.clone(),
            None => return Ok(Vec::new()),
        };
        let space = self.mec.space_on(slot.xcc(), 0);
        let header = space.load_u32(q.at(q.rptr)).map_err(Ok)?;
        let (opcode, len) = pm4::size(header).map_err(Err)?;
        if q.rptr + len as u64 > q.wptr {
            let what = format!(
                "{} of {len} words runs past the write pointer",
                pm4::name(opcode)
            );
            return Err(Err(Bad::Content(what)));
        }
        (0..len as u64)
            .map(|i| space.load_u32(q.at(q.rptr + i)).map_err(Ok))
            .collect()
    }

    fn advance(&mut self, slot: Slot, words: u64) {
        let Some(h) = self.mec.hqd(slot) else { return };
        h.q.rptr += words;
        let q = h.q.clone();
        let hiq = h.role == Role::Hiq;
        for xcc in self.shared.xccs().filter(|&xcc| hiq || xcc == slot.xcc()) {
            let slot = slot.on(xcc);
            if let Some(h) = self.mec.hqd(slot) {
                (h.q.rptr, h.q.wptr) = (q.rptr, q.wptr);
            }
            q.save_pointers(self.shared.regs(xcc).image_mut(slot));
        }
        if q.reports {
            // 32 bits, within the ring.
            if let Err(fault) = self
                .mec
                .space_on(slot.xcc(), 0)
                .store_u32(q.report, (q.rptr & (q.size - 1)) as u32)
            {
                self.env.vm_fault(&fault);
            }
        }
    }

    fn bad_pm4(&mut self, slot: Slot, role: Role, bad: &Bad) {
        let (Bad::Opcode(what) | Bad::Content(what)) = bad;
        self.violation(format_args!("{role:?} queue: {what}"));
        let Some(mut h) = self.mec.hqds.get_mut(slot.place()).and_then(Option::take) else {
            return;
        };
        h.broken = true;
        if matches!(bad, Bad::Opcode(_)) {
            self.mec.interrupt(
                &h,
                client::GRBM_CP,
                source::CP_BAD_OPCODE,
                [(h.q.doorbell / 2) & 0x3ff, 0, 0, 0],
            );
        }
        if let Some(place) = self.mec.hqds.get_mut(slot.place()) {
            *place = Some(h);
        }
    }

    fn execute(&mut self, slot: Slot, role: Role, packet: Packet) -> Result<(), Bad> {
        let misplaced = |name: &str| Err(Bad::Content(format!("{name} is not for this queue")));
        match packet {
            Packet::Nop => {}
            Packet::WriteMemory {
                address,
                same,
                data,
            } => self.write_memory(slot, address, same, &data),
            Packet::WriteRegister {
                register,
                same,
                data,
            } => {
                for (i, &value) in data.iter().enumerate() {
                    let at = if same { register } else { register + i as u32 };
                    // Each XCC that takes the packet writes its own.
                    let all = role == Role::Hiq;
                    for xcc in self.shared.xccs().filter(|&xcc| all || xcc == slot.xcc()) {
                        self.write_register(slot.on(xcc), at, value);
                    }
                }
            }
            Packet::QueryStatus(p) => self.query_status(slot, &p),
            // It has waited.
            Packet::Wait(_) if role != Role::Hiq => {}
            Packet::Wait(_) => return misplaced("WAIT_REG_MEM"),
            Packet::SetResources(p) => return self.set_resources(slot.xcc(), role, &p),
            Packet::MapQueues(p) if role == Role::Kiq => self.map_kernel_queue(slot.xcc(), &p),
            Packet::UnmapQueues(p) if role == Role::Kiq => {
                self.unmap_kernel_queues(slot.xcc(), &p);
            }
            Packet::InvalidateTlbs(control) if role == Role::Kiq => {
                self.invalidate_tlbs(slot.xcc(), control);
            }
            Packet::RunList(p) if role == Role::Hiq => self.run_list(&p),
            Packet::UnmapQueues(p) if role == Role::Hiq => self.unmap_user_queues(&p),
            Packet::MapQueues(_) => return misplaced("MAP_QUEUES"),
            Packet::UnmapQueues(_) => return misplaced("UNMAP_QUEUES"),
            Packet::InvalidateTlbs(_) => return misplaced("INVALIDATE_TLBS"),
            Packet::RunList(_) => return misplaced("RUN_LIST"),
            Packet::MapProcess(_) => return misplaced("MAP_PROCESS"),
        }
        Ok(())
    }

    fn map_kernel_queue(&mut self, xcc: u8, p: &MapQueues) {
        // Linux tells each KIQ first (`amdgpu_gfx_enable_kcq`).
        if (self.reserved >> xcc) & 1 == 0 {
            return self.violation(format_args!("MAP_QUEUES of the KIQ before SET_RESOURCES"));
        }
        let role = match p.get(MapQueues::ENGINE_SEL) {
            ENGINE_COMPUTE => Role::Kernel,
            ENGINE_HIQ => Role::Hiq,
            other => {
                return self.violation(format_args!(
                    "MAP_QUEUES: engine {other} of the KIQ is not modelled"
                ))
            }
        };
        let wrong = [
            ("QUEUE_SEL", p.get(MapQueues::QUEUE_SEL), 0),
            ("NUM_QUEUES", p.get(MapQueues::NUM_QUEUES), 1),
            ("QUEUE_TYPE", p.get(MapQueues::QUEUE_TYPE), 0),
            (
                "EXTENDED_ENGINE_SEL",
                p.get(MapQueues::EXTENDED_ENGINE_SEL),
                0,
            ),
            ("VMID", p.get(kiq_map::VMID), 0),
            ("ALLOC_FORMAT", p.get(kiq_map::ALLOC_FORMAT), 0),
        ];
        for (name, value, must) in wrong {
            if value != must {
                return self.violation(format_args!(
                    "MAP_QUEUES of the KIQ: {name} is {value}, not {must}"
                ));
            }
        }
        let (me, pipe, queue) = (
            p.get(kiq_map::ME) as u32 + 1,
            p.get(kiq_map::PIPE) as u32,
            p.get(kiq_map::QUEUE) as u32,
        );
        let Some(slot) = GFX9_4_3.slots.find(me, pipe, queue) else {
            return self.violation(format_args!(
                "MAP_QUEUES: no HQD me{me} pipe{pipe} queue{queue}"
            ));
        };
        let slot = slot.on(xcc);
        let mut there = self
            .mec
            .hqds
            .iter()
            .flatten()
            .filter(|h| h.slot.xcc() == xcc);
        if role == Role::Hiq && there.any(|h| h.role == Role::Hiq) {
            return self.violation(format_args!("MAP_QUEUES: there is an HIQ already"));
        }
        let map = queue_map(p);
        match self.mec.fetch_mqd(&map, role, xcc) {
            Ok((queue, loads)) => {
                let wptr = Some((0, queue.poll));
                let kernel = Owner::default();
                self.mec.connect(slot, role, queue, loads, kernel, wptr);
            }
            Err(bad) => self.mec.refuse(&map, &bad),
        }
    }

    fn unmap_kernel_queues(&mut self, xcc: u8, p: &UnmapQueues) {
        if p.get(UnmapQueues::QUEUE_SEL) != SELECT_DOORBELL {
            return self.violation(format_args!(
                "UNMAP_QUEUES of the KIQ: only by doorbell is modelled"
            ));
        }
        let stop = match p.get(UnmapQueues::ACTION) {
            UNMAP_PREEMPT => Stop::Save,
            UNMAP_RESET => Stop::Reset,
            other => {
                return self.violation(format_args!("UNMAP_QUEUES: action {other} is not modelled"))
            }
        };
        for bell in doorbells(p) {
            let found = self
                .mec
                .hqds
                .iter()
                .flatten()
                .filter(|h| h.loads.iter().any(|load| load.xcc == xcc))
                .find(|h| h.q.doorbell == bell && h.role != Role::Kiq);
            match found.map(|h| h.slot) {
                Some(slot) => self.mec.stop(slot, stop),
                None => self.violation(format_args!(
                    "UNMAP_QUEUES: doorbell {bell:#x} is of no connected queue"
                )),
            }
        }
    }

    /// QUERY_STATUS: everything before it is done, since unmaps are waited for.
    fn query_status(&mut self, slot: Slot, p: &QueryStatus) {
        let command = p.get(QueryStatus::COMMAND);
        if command == QUERY_INTERRUPT_ONLY
            || command > QUERY_FENCE_AFTER_ACK
            || p.get(QueryStatus::INTERRUPT_SEL) != 0
        {
            return self.violation(format_args!(
                "QUERY_STATUS: command {command} or its interrupt is not modelled"
            ));
        }
        let (address, data) = (p.get(QueryStatus::ADDR), p.get(QueryStatus::DATA));
        if address % 8 != 0 {
            return self.violation(format_args!(
                "QUERY_STATUS: fence address {address:#x} is misaligned"
            ));
        }
        let Some(data) = self.fence_of(slot, data) else {
            return;
        };
        self.env.trace().event(
            "fence",
            &[
                ("address", Value::Hex(address)),
                ("value", Value::Hex(data)),
            ],
        );
        if let Err(fault) = self.mec.space_on(slot.xcc(), 0).store_u64(address, data) {
            self.env.vm_fault(&fault);
        }
    }

    fn write_memory(&mut self, slot: Slot, address: u64, same: bool, data: &[u32]) {
        for (i, &word) in data.iter().enumerate() {
            let Some(word) = self.fence_of(slot, word.into()) else {
                return;
            };
            let word = word as u32;
            let at = if same {
                address
            } else {
                address + i as u64 * 4
            };
            if let Err(fault) = self.mec.space_on(slot.xcc(), 0).store_u32(at, word) {
                return self.env.vm_fault(&fault);
            }
        }
    }

    /// Writes a register of the slot's command processor by its offset in the register space, which
    /// is as the XCC itself sees it: the first XCC's (`gfx_v9_4_3_normalize_xcc_reg_offset`).
    pub(super) fn write_register(&mut self, slot: Slot, at: u32, value: u32) {
        let found = self.register_of(at);
        let Some(info) = found.filter(|info| !vmhub::owns(self.env.memory(), info)) else {
            return self.write_other(slot, at, value);
        };
        if info.reg == gc::CPC_INT_STATUS.any() {
            return self.raise_status(slot, value);
        }
        if let Err(why) = self.shared.write(slot.xcc(), info, value) {
            let why = if let Refused::Undefined(text) = why {
                text
            } else {
                format!("{why:?}")
            };
            self.violation(format_args!(
                "a packet writes {} = {value:#x}: {why}",
                info.reg.name
            ));
        }
    }

    fn raise_status(&mut self, slot: Slot, value: u32) {
        let generic2 = gc::CPC_INT_STATUS::GENERIC2_INT_STATUS;
        if value & !generic2.mask() != 0 {
            return self.violation(format_args!(
                "a packet sets CPC_INT_STATUS bits {value:#x}: not modelled"
            ));
        }
        let hub = Hub::Gfx(slot.xcc());
        let enables = Contents::<gc::CPC_INT_CNTL>::new(
            self.shared
                .regs(slot.xcc())
                .int_cntl(slot.me(), slot.pipe()),
        );
        if value & generic2.mask() != 0 && enables.get(gc::CPC_INT_CNTL::GENERIC2_INT_ENABLE) == 1 {
            self.env.interrupt(&Interrupt {
                client: client::GRBM_CP,
                source: CPC_GENERIC2,
                ring_id: slot.ring_id(),
                vmid: 0,
                hub,
                data: [0; 4],
            });
        }
    }

    /// INVALIDATE_TLBS: forgets an XCC's translations of a process's VMIDs.
    fn invalidate_tlbs(&mut self, xcc: u8, p: InvalidateTlbs) {
        // Linux selects a PASID by 1 (`gfx_v9_4_3_kiq_invalidate_tlbs`).
        let dst = p.get(InvalidateTlbs::DST_SEL);
        if dst != 1 {
            return self.violation(format_args!(
                "INVALIDATE_TLBS: destination {dst} is not modelled"
            ));
        }
        let pasid = p.get(InvalidateTlbs::PASID) as u16;
        let vmids = self.env.pasids().vmids_of(pasid);
        let kind = match p.get(InvalidateTlbs::FLUSH_TYPE) as u32 {
            kind @ 0..=2 => Flush::of(kind),
            kind => {
                return self.violation(format_args!("INVALIDATE_TLBS: flush type {kind}"));
            }
        };
        let memory = self.env.memory();
        memory.flush(Hub::Gfx(xcc), vmids, kind);
        if p.is_set(InvalidateTlbs::ALL_HUB) {
            memory
                .multimedia_hubs()
                .for_each(|hub| memory.flush(hub, vmids, kind));
        }
        let members = [
            ("pasid", Value::Num(pasid.into())),
            ("vmids", Value::Hex(vmids.into())),
        ];
        self.env.trace().event("tlb_invalidate", &members);
    }

    pub(crate) fn trace_pm4(&self, role: Role, words: &[u32], packet: &Packet) {
        if !self.env.trace().is_on() || *packet == Packet::Nop {
            return;
        }
        let queue = match role {
            Role::Kiq => "kiq",
            Role::Hiq => "hiq",
            Role::Kernel => "kernel",
            Role::User => "runlist",
        };
        let fields = format!("{packet:?}");
        let op = words.first().map_or("", |&header| {
            pm4::size(header).map_or("", |(op, _)| pm4::name(op))
        });
        self.env.trace().event(
            "pm4",
            &[
                ("queue", Value::Text(queue)),
                ("op", Value::Text(op)),
                ("fields", Value::Text(&fields)),
                ("words", Value::Words(words)),
            ],
        );
    }
}

/// The doorbells that an UNMAP_QUEUES names.
pub(crate) fn doorbells(p: &UnmapQueues) -> Vec<u32> {
    let all = [
        UnmapQueues::DOORBELL_OFFSET0,
        UnmapQueues::DOORBELL_OFFSET1,
        UnmapQueues::DOORBELL_OFFSET2,
        UnmapQueues::DOORBELL_OFFSET3,
    ];
    all.iter()
        .take(p.get(UnmapQueues::NUM_QUEUES) as usize)
        .map(|&field| p.get(field) as u32)
        .collect()
}
