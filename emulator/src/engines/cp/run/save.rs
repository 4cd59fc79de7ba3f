// SPDX-License-Identifier: MIT OR Apache-2.0

//! Preemption in the middle of a kernel: what was begun of a queue, in its context save area.
//!
//! Its waves store themselves there, one behind the other, by the trap handler that the driver has given their
//! process; the control stack describes them as the chip's does ([`crate::engines::cp::front::relaunch`]). Waves
//! without a handler can't be saved: they go on, and the queue leaves when they have ended.
//!
//! Which packets were begun, and how far, lies behind the waves' states ([`super::record`]). Nothing of the queue stays in the device: whoever destroys a preempted queue frees
//! it all, and a queue goes on wherever its MQD is loaded next.

use super::area::{Area, Lost};
use super::record::{Record, Share, HEAD};
use crate::engines::cp::front::hqd::{Image, AQL_WORDS};
use crate::engines::cp::front::shader::{Registers, REGISTERS};
use crate::engines::cp::front::slot::Slot;
use crate::engines::cp::launch::dispatch::saving::NoRoom;
use crate::engines::cp::launch::dispatch::Go;
use crate::engines::cp::launch::gws;
use crate::engines::cp::launch::room::Room;
use crate::engines::cp::launch::saved::ENTRY;
use crate::engines::cp::mec::inflight::{Item, Work, UNDER_WAY};
use crate::engines::cp::mec::loads::Load;
use crate::engines::cp::mec::{Hqd, Mec};
use crate::engines::cp::packet::aql::check_dispatch;
use crate::engines::cp::packet::aql::Condition;
use crate::engines::cp::packet::command::Release;
use rkfd_hw::aql::{Header, KernelDispatch};
use rkfd_hw::regs::gc_9_4_3::CP_HQD_PERSISTENT_STATE as STATE;
use rkfd_hw::regs::Value;
use std::sync::Arc;

/// Words of an AQL packet's record, and of one of PM4, which has its registers, too.
const PACKET: usize = 14;
const COMMAND: usize = PACKET + REGISTERS;
/// What a record is: an AQL packet, one that is complete, a dispatch and a RELEASE_MEM of PM4.
const AQL: u32 = 0;
const DONE: u32 = 1;
const LAUNCH: u32 = 2;
const RELEASE: u32 = 3;
/// Words of the records of all packets that may be under way: their room is set aside.
const RECORDS: u64 = (UNDER_WAY * (ENTRY + COMMAND) + ENTRY + HEAD) as u64 + gws::MOST;

/// The room for workgroups in the save area that an image names.
pub(crate) fn room_of(image: &Image) -> Arc<Room> {
    let bytes = image
        .get(Image::CP_HQD_CTX_SAVE_SIZE)
        .saturating_sub(image.get(Image::CP_HQD_CNTL_STACK_SIZE));
    Room::with((bytes / 4).saturating_sub(RECORDS))
}

impl Mec {
    /// Whether all that was begun of a queue has ended or was saved. Until then it has the waves save themselves,
    /// as far as they can.
    pub(crate) fn has_saved(&mut self, slot: Slot) -> bool {
        let Some(h) = self.hqds.get(slot.place()).and_then(Option::as_deref) else {
            return true;
        };
        if !h.launched.is_idle() {
            return false;
        }
        let all = || h.launched.dispatches().flat_map(|d| &d.0);
        let failed = || all().any(|d| d.failure().is_some());
        if h.broken || failed() || !all().any(|d| d.has_begun()) {
            return true;
        }
        if all().any(|d| d.is_saving()) {
            return all().all(|d| d.is_saved());
        }
        // What still lies in the area is loaded before anything else is stored there.
        let moving = all().any(|d| d.is_moving());
        if moving {
            all().for_each(|d| d.set(Go::Settle));
        } else if self.ask_to_save(h).is_err() {
            // Then they are lost, which is found when they are looked for.
            return true;
        }
        for d in all().filter(|d| d.has_begun()) {
            self.units.submit(d);
        }
        false
    }

    /// Asks all waves of a queue to save themselves, each XCC's in its area.
    fn ask_to_save(&self, h: &Hqd) -> Result<(), NoRoom> {
        for (nth, load) in h.loads.iter().enumerate() {
            let area = Area::of(self, h, load);
            let (mut at, end) = (area.states(), area.base.wrapping_add(area.size));
            for d in h.launched.dispatches().filter_map(|d| d.0.get(nth)) {
                at = d.ask_to_save(at, end)?;
            }
        }
        Ok(())
    }

    /// Writes what was begun of a queue to its save areas, and how much that is to its images. Each
    /// XCC saves its share; of a PM4 queue the only one that has any.
    pub(crate) fn save_waves(&self, h: &mut Hqd) -> Result<(), Lost> {
        let ends: Vec<(u64, u64)> = (h.loads.iter().enumerate())
            .filter(|(n, _)| h.q.aql || *n == 0)
            .map(|(n, load)| self.save_share(h, n, load))
            .collect::<Result<_, _>>()?;
        for (load, (end, top)) in h.loads.iter_mut().zip(ends) {
            // Both lie in the area, the size of which has 32 bits.
            load.image.set(Image::CP_HQD_CNTL_STACK_OFFSET, top as u32);
            load.image.set(Image::CP_HQD_WG_STATE_OFFSET, end as u32);
        }
        Ok(())
    }

    /// Writes the `nth` XCC's; how far states and stack reach then.
    fn save_share(&self, h: &Hqd, nth: usize, load: &Load) -> Result<(u64, u64), Lost> {
        let area = Area::of(self, h, load);
        let mut end = area.stack_size;
        let gws = load.gws.as_ref().filter(|gws| gws.is_used());
        let mut share = Share {
            gws: gws.map(|gws| gws.save()),
            records: Vec::new(),
        };
        let mut described = Vec::new();
        for (index, item) in (0..).zip(&h.launched.items) {
            let dispatch = match &item.work {
                Work::Dispatch(d) if !item.done => d.0.get(nth),
                // One that holds the queue is the last: it is taken from the ring again.
                Work::Barrier(_) | Work::Commands if !item.done => break,
                _ => None,
            };
            if dispatch.is_some_and(|d| !d.is_saved()) {
                return Err(Lost::Area("the context save area is too small"));
            }
            let (progress, groups) = dispatch.map(|d| d.save()).unwrap_or_default();
            let kind = match (&item.work, &item.registers) {
                (Work::Release(_), _) => RELEASE,
                (_, Some(_)) => LAUNCH,
                _ if item.done => DONE,
                _ => AQL,
            };
            let values = match &item.work {
                Work::Release(release) => release.pack(),
                _ => progress.0,
            };
            let mut record = vec![index, kind];
            for value in values {
                record.extend([value as u32, (value >> 32) as u32]);
            }
            record.extend(item.registers.iter().flat_map(|r| r.iter()));
            for (d, group) in dispatch
                .iter()
                .flat_map(|d| groups.iter().map(move |g| (d, g)))
            {
                described.push(d.described(group));
                end = end.max(d.end_of(group).wrapping_sub(area.base));
            }
            share.records.push(Record {
                words: record,
                groups,
            });
        }
        let mut words = share.words(area.base);
        words.insert(0, words.len() as u32);
        area.write(self, end, &words)?;
        let top = area.push(self, &self.generation.stack.words(&described))?;
        Ok((end, top))
    }

    /// Reads back what was begun of a queue whose images were loaded. Instructions are read anew for its waves: a debugger
    /// that has stopped them puts breakpoints into their code, and AMD's has nobody else drop what caches have of it.
    pub(crate) fn restore_waves(&mut self, h: &mut Hqd) -> Result<(), Lost> {
        let bad = || Lost::Changed;
        let mut shares: Vec<Vec<Record>> = (h.loads.iter().enumerate())
            .filter(|(n, _)| h.q.aql || *n == 0)
            .map(|(_, load)| self.read_share(h, load))
            .collect::<Result<_, _>>()?;
        let packets: Vec<Record> = shares.first().cloned().unwrap_or_default();
        if shares.iter().any(|share| share.len() != packets.len()) {
            return Err(bad());
        }
        for (index, packet) in packets.iter().enumerate() {
            let mut item = self.begun(h, packet)?.ok_or_else(bad)?;
            for (nth, share) in shares.iter_mut().enumerate() {
                let record = share.get_mut(index).ok_or_else(bad)?;
                if record.words.get(..2) != packet.words.get(..2) {
                    return Err(bad());
                }
                goes_on(&mut item, nth, record).ok_or_else(bad)?;
            }
            h.launched.items.push_back(item);
        }
        self.check_stacks(h)?;
        self.units.invalidate_code();
        self.cu.invalidate_code();
        for load in h.loads.iter_mut() {
            let size = load.image.get(Image::CP_HQD_CNTL_STACK_SIZE) as u32;
            load.image.set(Image::CP_HQD_CNTL_STACK_OFFSET, size);
            load.image.set(Image::CP_HQD_WG_STATE_OFFSET, size);
        }
        Ok(())
    }

    /// Checks that the control stacks describe the waves that are about to go on.
    fn check_stacks(&self, h: &Hqd) -> Result<(), Lost> {
        let loads = h.loads.iter().enumerate();
        for (nth, load) in loads.filter(|(n, _)| h.q.aql || *n == 0) {
            let of = h.launched.dispatches().filter_map(|d| d.0.get(nth));
            let described: Vec<_> = of.flat_map(|d| d.described_all()).collect();
            let top = load.image.get(Image::CP_HQD_CNTL_STACK_OFFSET);
            let words = self.generation.stack.words(&described);
            Area::of(self, h, load).check(self, top, &words)?;
        }
        Ok(())
    }

    /// Reads what an XCC saved.
    fn read_share(&self, h: &Hqd, load: &Load) -> Result<Vec<Record>, Lost> {
        let area = Area::of(self, h, load);
        let top = load.image.get(Image::CP_HQD_CNTL_STACK_OFFSET);
        let end = load.image.get(Image::CP_HQD_WG_STATE_OFFSET);
        if top >= area.stack_size || end < area.stack_size {
            return Err(Lost::Area("MQD asks to restore waves that were not saved"));
        }
        let count = area.read(self, end, HEAD)?.first().copied().unwrap_or(0);
        // A workgroup's words are fewer than those of its waves' states.
        if u64::from(count) > RECORDS + (end - area.stack_size) / 4 {
            return Err(Lost::Changed);
        }
        let entries = area.read(self, end + HEAD as u64 * 4, count as usize)?;
        let share = Share::of(&entries, area.base).ok_or(Lost::Changed)?;
        if let (Some(gws), Some(words)) = (&load.gws, &share.gws) {
            // One that has none any more, or another number, begins anew.
            gws.restore(words);
        }
        Ok(share.records)
    }

    /// The packet of a record; one of AQL is in the ring still.
    fn begun(&mut self, h: &Hqd, record: &Record) -> Result<Option<Item>, Lost> {
        let Some((&[index, kind], rest)) = record.words.split_first_chunk::<2>() else {
            return Ok(None);
        };
        let is_known = kind <= RELEASE && h.q.aql == (kind <= DONE);
        // A ring may have been replaced by a smaller one.
        let is_there = !h.q.aql || u64::from(index) * AQL_WORDS < h.q.size;
        if index as usize != h.launched.len() || !is_known || !is_there {
            return Ok(None);
        }
        let progress = record.progress();
        let now = self.env.clock().now();
        if kind == RELEASE {
            let item = Item::of(Work::Release(Release::unpack(&progress.0)), now);
            return Ok(Some(item));
        }
        if kind == LAUNCH {
            let registers = rest.get(PACKET - 2..COMMAND - 2);
            let Some(registers) = registers.and_then(|r| Registers::try_from(r).ok()) else {
                return Ok(None);
            };
            let Ok(dispatch) = self.dispatch_of(h, &registers) else {
                return Ok(None);
            };
            let mut item = Item::of(Work::Dispatch(dispatch), now);
            item.registers = Some(Box::new(registers));
            return Ok(Some(item));
        }
        let at = h.q.rptr + u64::from(index) * AQL_WORDS;
        let mut words = [0; AQL_WORDS as usize];
        self.space_of(h).read_words(h.q.at(at), &mut words)?;
        let packet = KernelDispatch(words);
        let Some(header) = Header::parse(words[0] as u16) else {
            return Ok(None);
        };
        let work = if kind == DONE {
            Work::Barrier(Condition::All([0; 5]))
        } else if check_dispatch(&packet).is_ok() {
            match self.prepare(h, &packet, at) {
                Ok(dispatch) => Work::Dispatch(dispatch),
                Err(_) => return Ok(None),
            }
        } else {
            return Ok(None);
        };
        let item = Item {
            work,
            signal: packet.get(KernelDispatch::COMPLETION_SIGNAL),
            release: header.release,
            registers: None,
            started: now,
            done: kind == DONE,
        };
        Ok(Some(item))
    }

    /// Marks an MQD in memory as one for which no waves were saved.
    pub(crate) fn lose_waves(&self, mqd: u64) {
        let at = mqd + Image::CP_HQD_PERSISTENT_STATE.word() as u64 * 4;
        let space = self.space(0);
        let done = space.load_u32(at).and_then(|state| {
            let state = Value::new(state)
                .with(STATE::RESTORE_ACTIVE, false)
                .with(STATE::RELAUNCH_WAVES, false)
                .bits();
            space.store_u32(at, state)
        });
        if let Err(fault) = done {
            self.env.vm_fault(&fault);
        }
    }
}

/// Puts the `nth` XCC's share of a packet back to where it was; `None` when its workgroups are not
/// the packet's.
fn goes_on(item: &mut Item, nth: usize, record: &mut Record) -> Option<()> {
    if let Work::Dispatch(gang) = &mut item.work {
        let groups = std::mem::take(&mut record.groups);
        let share = Arc::get_mut(gang.0.get_mut(nth)?)?;
        share.restore(&record.progress(), groups)?;
    }
    Some(())
}
