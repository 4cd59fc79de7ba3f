// SPDX-License-Identifier: MIT OR Apache-2.0

//! Preparing a dispatch, and completing its signal.
//!
//! Sources: HSA runtime, `amd_hsa_signal.h`, `amd_hsa_queue.h`; HSA Platform System Architecture,
//! section 2.4; Linux, `amdkfd/kfd_events.c` (`kfd_signal_event_interrupt`).

use super::dispatch::{Dispatch, FromQueue, ScratchArea};
use super::error::{code, PacketError};
use super::gang::{Gang, Share};
use super::group::Group;
use super::hqd::{Image, AQL_WORDS};
use super::launch::TRAP_PRESENT;
use super::mec::{Hqd, Mec};
use super::memory::Window;
use crate::memory::Hub;
use crate::trace::Value;
use rkfd_hw::aql::{self, KernelDispatch, Signal};
use rkfd_hw::ih::{client, source};
use rkfd_isa::{Apertures, DescriptorError, Handler, Kernel, LaunchError, Scratch};
use std::sync::atomic::AtomicU8;

/// Where the read index lies in `amd_queue_t`, which its address therefore tells.
pub(super) const READ_INDEX: u64 = 0x80;
/// `read_dispatch_id_field_base_byte_offset` in `amd_queue_t`: says the above.
pub(super) const READ_INDEX_OFFSET: u64 = 0x88;
/// `compute_tmpring_size`: waves in bits 11:0, and the size of a wave's.
const TMPRING: u64 = 0x8c;
/// `scratch_backing_memory_location`.
const SCRATCH: u64 = 0xa0;

impl Mec {
    /// Turns a checked packet into a dispatch: reads the kernel descriptor, arguments to preload and
    /// where scratch lies.
    pub(super) fn prepare(
        &mut self,
        h: &Hqd,
        p: &KernelDispatch,
        at: u64,
    ) -> Result<Gang, PacketError> {
        use KernelDispatch as K;
        let vmid = h.owner.vmid;
        let kernel_at = p.get(K::KERNEL_OBJECT);
        let now = AtomicU8::new(vmid);
        let mut window = Window {
            gws: None,
            soc: &self.soc,
            hub: Hub::Gfx(h.slot.xcc()),
            vmid: &now,
            fault: None,
            told: Vec::new(),
        };
        let kernel = match self.cu.kernel(&mut window, h.owner.tag, kernel_at) {
            Ok(kernel) => kernel,
            Err(DescriptorError::Memory(_)) => {
                return Err(match window.fault {
                    Some(fault) => fault.into(),
                    None => PacketError::bad(code::CODE, "AQL dispatch: no kernel descriptor"),
                });
            }
            Err(what) => {
                return Err(PacketError::bad(
                    code::CODE,
                    format!("AQL dispatch: {what}"),
                ))
            }
        };
        let queue_address = h.q.report.wrapping_sub(READ_INDEX);
        let private = p.get(K::PRIVATE_SEGMENT_SIZE) as u32;
        let scratch = if private > 0 {
            self.scratch(h, queue_address)?
        } else {
            ScratchArea::default()
        };
        let arguments = p.get(K::KERNARG_ADDRESS);
        let (count, first) = kernel.preload;
        let mut preloaded = vec![0; count.min(16) as usize];
        if count > 0 {
            self.space(vmid)
                .read_words(arguments.wrapping_add(u64::from(first) * 4), &mut preloaded)?;
        }
        let half = |field| p.get(field) as u16;
        let word = |field| p.get(field) as u32;
        let params = rkfd_isa::Dispatch {
            vmid: h.owner.tag,
            apertures: Apertures::from_sh_mem_bases(self.regs.vmid(vmid).sh_mem_bases),
            workgroup_size: [
                half(K::WORKGROUP_SIZE_X),
                half(K::WORKGROUP_SIZE_Y),
                half(K::WORKGROUP_SIZE_Z),
            ],
            grid_size: [
                word(K::GRID_SIZE_X),
                word(K::GRID_SIZE_Y),
                word(K::GRID_SIZE_Z),
            ],
            private_segment_size: private,
            group_segment_size: word(K::GROUP_SEGMENT_SIZE),
            kernarg_address: arguments,
            packet_address: h.q.at(at),
            queue_address,
            dispatch_id: at / AQL_WORDS,
            ..Default::default()
        };
        let shares = self.shares(h);
        self.start(h, kernel, params, preloaded, scratch, &shares)
    }

    /// A dispatch of which nothing runs yet, split among XCCs. Their parts of the scratch memory lie
    /// one behind the other.
    pub(super) fn start(
        &mut self,
        h: &Hqd,
        kernel: Kernel,
        mut params: rkfd_isa::Dispatch,
        preloaded: Vec<u32>,
        scratch: ScratchArea,
        shares: &[Share],
    ) -> Result<Gang, PacketError> {
        params.handler = self.handler_of(h);
        params.doorbell = h.q.doorbell / 2;
        // A trial, so that what can't be launched is the packet's error and not a worker's.
        let wave = Scratch {
            base: scratch.base,
            wave_size: scratch.wave_size,
        };
        let trial = Group::launch(&mut self.cu, &kernel, &params, [0; 3], wave, &preloaded);
        let enough = params.private_segment_size >= kernel.private_segment_fixed_size;
        let lanes = kernel.lanes;
        let trial_error = trial.err().map(|what| {
            let code = match what {
                LaunchError::PrivateSegment if enough => return PacketError::Scratch(lanes),
                LaunchError::WorkgroupSize => code::GROUP_SIZE,
                LaunchError::Grid => code::DIM,
                LaunchError::GroupSegment => code::LDS,
                LaunchError::Registers | LaunchError::UserSgprs => code::REGISTER,
                LaunchError::PrivateSegment => code::CODE,
            };
            PacketError::bad(code, format!("dispatch: {what}"))
        });
        if let Some(error) = trial_error {
            return Err(error);
        }
        let private = params.private_segment_size;
        let parts = shares.iter().zip(h.loads.iter()).map(|(&share, load)| {
            let before = share.index * u64::from(scratch.waves) * scratch.wave_size;
            let base = scratch.base.wrapping_add(before);
            Dispatch::new(
                self.soc.clone(),
                kernel,
                params,
                preloaded.clone(),
                FromQueue {
                    share,
                    vmid: h.owner.vmid,
                    scratch: ScratchArea { base, ..scratch },
                    room: load.room.clone(),
                    gws: load.gws.clone(),
                    priority: h.q.priority,
                },
            )
        });
        let dispatch = Gang(parts.collect());
        if private > 0 && scratch.waves < dispatch.waves_per_group() {
            return Err(PacketError::Scratch(lanes));
        }
        Ok(dispatch)
    }

    /// The trap handler of a queue's process, as far as its waves enter it: gfx9 wants
    /// COMPUTE_PGM_RSRC2.TRAP_PRESENT, which the driver sets in the MQD.
    fn handler_of(&self, h: &Hqd) -> Handler {
        let rsrc2 = h.loads.lead.image.get(Image::COMPUTE_PGM_RSRC2) as u32;
        match self.generation.asks_for_traps && rsrc2 & TRAP_PRESENT == 0 {
            true => Handler::default(),
            false => self.regs.vmid(h.owner.vmid).handler,
        }
    }

    /// The scratch memory that the queue's `amd_queue_t` provides.
    fn scratch(&self, h: &Hqd, queue: u64) -> Result<ScratchArea, PacketError> {
        let space = self.space_of(h);
        let mut word = [0];
        space.read_words(queue.wrapping_add(READ_INDEX_OFFSET), &mut word)?;
        if u64::from(word[0]) != READ_INDEX {
            let what =
                "AQL dispatch: scratch is needed, but no amd_queue_t lies around the read pointer";
            return Err(PacketError::bad(code::CODE, what));
        }
        space.read_words(queue.wrapping_add(TMPRING), &mut word)?;
        let mut base = [0; 2];
        space.read_words(queue.wrapping_add(SCRATCH), &mut base)?;
        let base = u64::from(base[0]) | (u64::from(base[1]) << 32);
        Ok(self.scratch_area(word[0], base))
    }

    /// The scratch memory that a COMPUTE_TMPRING_SIZE tells of.
    pub(super) fn scratch_area(&self, size: u32, base: u64) -> ScratchArea {
        let ring = &self.generation.scratch;
        let engines = match ring.per_engine {
            true => self.soc.chip.gc.engines,
            false => 1,
        };
        ScratchArea {
            base,
            wave_size: u64::from(ring.wave_size.get(size)) * ring.unit,
            waves: (size & 0xfff) * engines,
        }
    }

    /// Completes a signal: timestamps, the value, and, if it has an event, mailbox and interrupt.
    ///
    /// What belongs to the event is read first: once the value has changed, the host may reuse
    /// the signal.
    pub(super) fn complete_signal(
        &self,
        h: &Hqd,
        at: u64,
        (start, end): (u64, u64),
    ) -> Result<(), PacketError> {
        let space = self.space_of(h);
        let field = |field: rkfd_hw::layout::Field<Signal>| at + field.word() as u64 * 4;
        let kind = space.load_u64(field(Signal::KIND))? as i64;
        if kind != aql::SIGNAL_KIND_USER {
            return Err(PacketError::bad(
                code::RESERVED,
                format!("AQL: completion signal of kind {kind}"),
            ));
        }
        let mailbox = space.load_u64(field(Signal::EVENT_MAILBOX_PTR))?;
        let event = space.load_u32(field(Signal::EVENT_ID))?;
        space.store_u64(field(Signal::START_TS), start)?;
        space.store_u64(field(Signal::END_TS), end)?;
        let old = space.update_u64(field(Signal::VALUE), |value| value.wrapping_sub(1))?;
        let name = h.slot.to_string();
        self.soc.trace.event(
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
            ],
        );
        if mailbox != 0 {
            space.store_u64(mailbox, event.into())?;
            self.interrupt(h, client::GRBM_CP, source::CP_EOP, [event, 0, 0, 0]);
        }
        Ok(())
    }
}
