// SPDX-License-Identifier: MIT OR Apache-2.0

//! Preemption in the middle of a kernel: what was begun of a queue, in its context save area.
//!
//! Sources: Linux, `amdkfd/kfd_mqd_manager_v9.c` and `_v12.c` (`get_wave_state`: "Control stack is
//! written backwards, while workgroup context data is written forwards. Both starts from
//! m->cp_hqd_cntl_stack_size"; on gfx9 "Control stack is located one page after MQD"),
//! `amdkfd/kfd_queue.c` (`kfd_queue_ctx_save_restore_size`: how large both are).
//!
//! Both are in memory, and nothing of the queue stays in the device: whoever destroys a preempted
//! queue frees them, and a queue goes on wherever its MQD is loaded next. What they hold is between
//! the hardware and the trap handler, which is the driver's; the layout here is the model's own. It
//! keeps within the sizes: eight bytes of control stack for each packet and each workgroup, of
//! which no more are resident than the area has room for.

use crate::engines::cp::front::hqd::{Image, AQL_WORDS};
use crate::engines::cp::front::shader::{Registers, REGISTERS};
use crate::engines::cp::launch::dispatch::Progress;
use crate::engines::cp::launch::group::Group;
use crate::engines::cp::launch::gws;
use crate::engines::cp::launch::room::Room;
use crate::engines::cp::mec::inflight::{Item, Work};
use crate::engines::cp::mec::loads::Load;
use crate::engines::cp::mec::{Hqd, Mec};
use crate::engines::cp::packet::aql::check_dispatch;
use crate::engines::cp::packet::aql::Condition;
use crate::engines::cp::packet::command::Release;
use crate::memory::VmFault;
use crate::report::Whose;
use rkfd_hw::aql::{Header, KernelDispatch};
use rkfd_hw::regs::gc_9_4_3::CP_HQD_PERSISTENT_STATE as STATE;
use rkfd_hw::regs::Value;
use std::fmt;
use std::sync::Arc;

/// A packet that was begun, as an XCC saved it: what it is and how far, workgroups by their place.
struct Record {
    words: Vec<u32>,
    groups: Vec<(u32, Group)>,
}

impl Record {
    fn progress(words: &[u32]) -> Progress {
        let mut progress = Progress::default();
        let values = words.chunks_exact(2).skip(1);
        for (value, words) in progress.0.iter_mut().zip(values) {
            if let [low, high] = words {
                *value = u64::from(*low) | (u64::from(*high) << 32);
            }
        }
        progress
    }
}

/// Bytes of a record's entry on the control stack: where it lies, and what it is.
const ENTRY: u64 = 8;
/// An entry's second word: a workgroup, not a packet; the rest is its size in words.
const GROUP: u32 = 1 << 31;
/// Words of an AQL packet's record, and of one of PM4, which has its registers, too.
const PACKET: usize = 14;
const COMMAND: usize = PACKET + REGISTERS;
/// What a record is: an AQL packet, one that is complete, a dispatch and a RELEASE_MEM of PM4.
const AQL: u32 = 0;
const DONE: u32 = 1;
const LAUNCH: u32 = 2;
const RELEASE: u32 = 3;
/// The queue's semaphores and barriers, which no packet is.
const GWS: u32 = 4;
/// Packets that may be under way: their records' room is set aside.
const PACKETS: u64 = 64;

/// The room for workgroups in the save area that an image names.
pub(crate) fn room_of(image: &Image) -> Arc<Room> {
    let bytes = image
        .get(Image::CP_HQD_CTX_SAVE_SIZE)
        .saturating_sub(image.get(Image::CP_HQD_CNTL_STACK_SIZE));
    let records = PACKETS * COMMAND as u64 + gws::MOST + 2;
    Room::with((bytes / 4).saturating_sub(records))
}

/// Why waves can't be saved or restored.
#[derive(Debug)]
pub(crate) enum Lost {
    /// Memory can't be reached.
    Memory(VmFault),
    /// The area is too small, or the MQD and it do not fit.
    Area(&'static str),
    /// The area, which is the program's memory, does not hold what was saved there.
    Changed,
}

impl Lost {
    /// Whose doing it is: the area lies in the program's memory, the stack of gfx9 in the kernel's.
    pub fn whose(&self) -> Whose {
        match self {
            Self::Memory(fault) if fault.vmid == 0 => Whose::Driver,
            Self::Memory(_) | Self::Changed => Whose::Program,
            Self::Area(_) => Whose::Driver,
        }
    }
}

impl From<VmFault> for Lost {
    fn from(fault: VmFault) -> Self {
        Self::Memory(fault)
    }
}

impl fmt::Display for Lost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Memory(fault) => write!(f, "the context save area: {fault}"),
            Self::Area(what) => f.write_str(what),
            Self::Changed => {
                f.write_str("the context save area does not hold what was saved there")
            }
        }
    }
}

/// A queue's save area and control stack.
struct Area {
    base: u64,
    /// Bytes of the area and of the control stack at its start.
    size: u64,
    stack_size: u64,
    /// Where the stack lies, and in which address space.
    stack: (u8, u64),
    vmid: u8,
    xcc: u8,
}

impl Area {
    fn of(mec: &Mec, h: &Hqd, load: &Load) -> Self {
        let image = &load.image;
        let base = image.get(Image::CP_HQD_CTX_SAVE_BASE_ADDR);
        Self {
            base,
            size: image.get(Image::CP_HQD_CTX_SAVE_SIZE),
            stack_size: image.get(Image::CP_HQD_CNTL_STACK_SIZE),
            stack: match mec.generation.stack_behind_mqd {
                Some(behind) => (0, load.mqd + behind),
                None => (h.owner.vmid, base),
            },
            vmid: h.owner.vmid,
            xcc: load.xcc,
        }
    }
}

/// Writes records: the states forwards, their entries backwards.
struct Writer<'a> {
    mec: &'a Mec,
    area: Area,
    /// Where the next state goes, and where the last entry is.
    end: u64,
    top: u64,
}

impl Writer<'_> {
    fn put(&mut self, words: &[u32], kind: u32) -> Result<(), Lost> {
        let end = self.end + words.len() as u64 * 4;
        if end > self.area.size || self.top < ENTRY {
            return Err(Lost::Area("the context save area is too small"));
        }
        self.mec
            .space_on(self.area.xcc, self.area.vmid)
            .write_words(self.area.base.wrapping_add(self.end), words)?;
        self.top -= ENTRY;
        let (vmid, stack) = self.area.stack;
        let entry = [self.end as u32, kind | words.len() as u32];
        self.mec
            .space_on(self.area.xcc, vmid)
            .write_words(stack.wrapping_add(self.top), &entry)?;
        self.end = end;
        Ok(())
    }
}

impl Mec {
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
        let (end, top) = (area.stack_size, area.stack_size);
        let mut out = Writer {
            mec: self,
            area,
            end,
            top,
        };
        if let Some(gws) = load.gws.as_ref().filter(|gws| gws.is_used()) {
            out.put(&[&[0, GWS], &gws.save()[..]].concat(), 0)?;
        }
        for (index, item) in (0..).zip(&h.launched.items) {
            let (progress, groups) = match &item.work {
                Work::Dispatch(d) if !item.done => {
                    d.0.get(nth).map(|d| d.save()).unwrap_or_default()
                }
                // One that holds the queue is the last: it is taken from the ring again.
                Work::Barrier(_) | Work::Commands if !item.done => break,
                _ => Default::default(),
            };
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
            out.put(&record, 0)?;
            for (place, mut words) in groups {
                words.insert(0, place);
                out.put(&words, GROUP)?;
            }
        }
        Ok((out.end, out.top))
    }

    /// Reads back what was begun of a queue whose images were loaded.
    pub(crate) fn restore_waves(&mut self, h: &mut Hqd) -> Result<(), Lost> {
        let bad = || Lost::Changed;
        let mut shares: Vec<Vec<Record>> = (h.loads.iter().enumerate())
            .filter(|(n, _)| h.q.aql || *n == 0)
            .map(|(_, load)| self.read_share(h, load))
            .collect::<Result<_, _>>()?;
        let packets: Vec<Vec<u32>> = (shares.iter().take(1).flatten())
            .map(|record| record.words.clone())
            .collect();
        if shares.iter().any(|share| share.len() != packets.len()) {
            return Err(bad());
        }
        for (index, words) in packets.iter().enumerate() {
            let mut item = self.begun(h, words)?.ok_or_else(bad)?;
            for (nth, share) in shares.iter_mut().enumerate() {
                let record = share.get_mut(index).ok_or_else(bad)?;
                if record.words.get(..2) != words.get(..2) {
                    return Err(bad());
                }
                goes_on(&mut item, nth, record).ok_or_else(bad)?;
            }
            h.launched.items.push_back(item);
        }
        for load in h.loads.iter_mut() {
            let size = load.image.get(Image::CP_HQD_CNTL_STACK_SIZE) as u32;
            load.image.set(Image::CP_HQD_CNTL_STACK_OFFSET, size);
            load.image.set(Image::CP_HQD_WG_STATE_OFFSET, size);
        }
        Ok(())
    }

    /// Reads what an XCC saved.
    fn read_share(&self, h: &Hqd, load: &Load) -> Result<Vec<Record>, Lost> {
        let area = Area::of(self, h, load);
        let offset = load.image.get(Image::CP_HQD_CNTL_STACK_OFFSET);
        if offset >= area.stack_size || (area.stack_size - offset) % ENTRY != 0 {
            return Err(Lost::Area("MQD asks to restore waves that were not saved"));
        }
        let mut stack = vec![0; (area.stack_size - offset) as usize / 4];
        let (vmid, at) = area.stack;
        self.space_on(area.xcc, vmid)
            .read_words(at.wrapping_add(offset), &mut stack)?;
        let bad = || Lost::Changed;
        let mut records: Vec<Record> = Vec::new();
        for entry in stack.rchunks_exact(2) {
            let &[at, kind] = entry else { continue };
            let size = kind & !GROUP;
            if u64::from(at) + u64::from(size) * 4 > area.size {
                return Err(bad());
            }
            let mut words = vec![0; size as usize];
            self.space_on(area.xcc, area.vmid)
                .read_words(area.base.wrapping_add(at.into()), &mut words)?;
            if kind & GROUP == 0 && words.get(1) == Some(&GWS) {
                // One that has none any more, or another number, begins anew.
                let its = load.gws.as_ref().zip(words.get(2..));
                its.map(|(gws, words)| gws.restore(words));
            } else if kind & GROUP == 0 {
                let groups = Vec::new();
                records.push(Record { words, groups });
            } else {
                let (place, words) = words.split_first().ok_or_else(bad)?;
                let group = Group::restore(words, h.owner.tag).ok_or_else(bad)?;
                let record = records.last_mut().ok_or_else(bad)?;
                record.groups.push((*place, group));
            }
        }
        Ok(records)
    }

    /// The packet of a record; one of AQL is in the ring still.
    fn begun(&mut self, h: &Hqd, record: &[u32]) -> Result<Option<Item>, Lost> {
        let Some((&[index, kind], rest)) = record.split_first_chunk::<2>() else {
            return Ok(None);
        };
        if index as usize != h.launched.len() || h.q.aql != (kind <= DONE) {
            return Ok(None);
        }
        let progress = Record::progress(record);
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
        share.restore(&Record::progress(&record.words), groups)?;
    }
    Some(())
}
