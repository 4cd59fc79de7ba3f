// SPDX-License-Identifier: MIT OR Apache-2.0

//! Preparing a dispatch: kernel descriptor, arguments to preload, scratch memory, trap handler.
//!
//! Source: HSA runtime, `amd_hsa_queue.h`.

use crate::engines::cp::front::debug::{self, Debugged};
use crate::engines::cp::front::hqd::{Image, AQL_WORDS};
use crate::engines::cp::front::shader::TRAP_PRESENT;
use crate::engines::cp::front::waves::Allowed;
use crate::engines::cp::launch::dispatch::{Dispatch, FromQueue, ScratchArea};
use crate::engines::cp::launch::group::Group;
use crate::engines::cp::launch::share::Share;
use crate::engines::cp::launch::split::SplitDispatch;
use crate::engines::cp::launch::window::{Seats, Window};
use crate::engines::cp::mec::loads::Load;
use crate::engines::cp::mec::{Hqd, Mec};
use crate::engines::cp::packet::amd_queue::{READ_INDEX, READ_INDEX_OFFSET, SCRATCH, TMPRING};
use crate::engines::cp::packet::error::{code, PacketError};
use crate::memory::Hub;
use rkfd_hw::aql::KernelDispatch;
use rkfd_isa::{Apertures, DescriptorError, Handler, Kernel, LaunchError, Scratch};
use std::sync::atomic::AtomicU8;

impl Mec {
    /// Turns a checked packet into a dispatch: reads the kernel descriptor, arguments to preload and
    /// where scratch lies.
    pub(crate) fn prepare(
        &mut self,
        h: &Hqd,
        p: &KernelDispatch,
        at: u64,
    ) -> Result<SplitDispatch, PacketError> {
        use KernelDispatch as K;
        let vmid = h.owner.vmid;
        let kernel_at = p.get(K::KERNEL_OBJECT);
        let now = AtomicU8::new(vmid);
        let mut window = Window {
            gws: None,
            seat: None,
            env: &*self.env,
            hub: Hub::Gfx(h.slot.xcc()),
            vmid: &now,
            watches: Default::default(),
            fault: None,
            notices: Vec::new(),
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
    pub(crate) fn start(
        &mut self,
        h: &Hqd,
        kernel: Kernel,
        mut params: rkfd_isa::Dispatch,
        preloaded: Vec<u32>,
        scratch: ScratchArea,
        shares: &[Share],
    ) -> Result<SplitDispatch, PacketError> {
        params.handler = self.handler_of(h);
        params.doorbell = h.q.doorbell / 2;
        let (launch, missing) = debug::launch(&self.regs.vmid(h.owner.vmid));
        params.launch = launch;
        if let Some(what) = missing {
            let report = self.env.report();
            report.fault(format_args!(
                "a debugger asks for {what}, which is not modelled"
            ));
        }
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
                self.env.clone(),
                self.generation.isa,
                &self.facts.gc,
                kernel,
                params,
                preloaded.clone(),
                FromQueue {
                    share,
                    seats: Seats {
                        slots: self.regs.waves().clone(),
                        registers: self.generation.waves,
                        hqd: h.slot,
                        allowed: Allowed::of(&load.image),
                        counters: self.regs.counters().clone(),
                        counted: load.image.get(Image::COMPUTE_PERFCOUNT_ENABLE) & 1 == 1,
                    },
                    debugged: Debugged {
                        regs: self.regs.clone(),
                        mask_bits: self.generation.watch_mask,
                    },
                    vmid: h.owner.vmid,
                    scratch: ScratchArea { base, ..scratch },
                    room: load.room.clone(),
                    gws: load.gws.clone(),
                    priority: h.q.priority,
                },
            )
        });
        let dispatch = SplitDispatch(parts.collect());
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

    /// The scratch memory that a COMPUTE_TMPRING_SIZE describes.
    pub(crate) fn scratch_area(&self, size: u32, base: u64) -> ScratchArea {
        let ring = &self.generation.scratch;
        let engines = match ring.per_engine {
            true => self.facts.gc.engines,
            false => 1,
        };
        ScratchArea {
            base,
            wave_size: u64::from((size >> 12) & ring.wave_size) * ring.unit,
            waves: (size & 0xfff) * engines,
        }
    }

    /// Which workgroups the XCCs of an AQL queue run.
    pub(crate) fn shares(&self, h: &Hqd) -> Vec<Share> {
        let spread = self.generation.mqd.spread.as_ref();
        let of = h.loads.iter().count() as u64;
        let share = |load: &Load| Share {
            xcc: load.xcc,
            index: spread.map_or(0, |s| (s.logical)(&load.image).into()),
            of,
        };
        h.loads.iter().map(share).collect()
    }
}
