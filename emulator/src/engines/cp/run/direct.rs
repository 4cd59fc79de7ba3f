// SPDX-License-Identifier: MIT OR Apache-2.0

//! Dispatches of PM4 queues, whose parameters SET_SH_REG and DISPATCH_DIRECT store in registers.
//!
//! Sources: [`rkfd_hw::pm4::commands`]; Linux, `amdgpu/gfx_v9_4_3.c`
//! (`gfx_v9_4_3_do_edc_gpr_workarounds` and its like dispatch this way),
//! `include/asic_reg/gc/gc_12_0_0_sh_mask.h`; LLVM AMDGPUUsage, "Kernel Descriptor", for what
//! COMPUTE_PGM_RSRC* hold.
//!
//! A queue has the registers of shaders to itself, as the words of its MQD.

use crate::engines::cp::front::hqd::Image;
use crate::engines::cp::front::shader::Registers;
use crate::engines::cp::front::shader::REGISTERS;
use crate::engines::cp::front::shader::TRAP_PRESENT;
use crate::engines::cp::launch::dispatch::ScratchArea;
use crate::engines::cp::launch::room::most;
use crate::engines::cp::launch::share::Share;
use crate::engines::cp::launch::split::SplitDispatch;
use crate::engines::cp::mec::inflight::{Item, Work, UNDER_WAY};
use crate::engines::cp::mec::{Hqd, Mec};
use crate::engines::cp::packet::command::Launch;
use crate::engines::cp::packet::error::{code, PacketError};
use rkfd_hw::layout::Field;
use rkfd_hw::mqd::COMPUTE_DISPATCH_SCRATCH_BASE;
use rkfd_hw::pm4::commands::{Initiator, SH_COMPUTE};
use rkfd_isa::{Apertures, Kernel};
use std::ops::RangeInclusive;

/// Words of an MQD whose registers a process sets: all that describe a dispatch, except those that a
/// generation has elsewhere. A process doesn't set COMPUTE_VMID and the registers for restoring waves.
const OWN: [RangeInclusive<usize>; 3] = [2..=20, 22..=32, 65..=80];

/// COMPUTE_PGM_RSRC2: the LDS of a workgroup, in blocks of 512 bytes.
const LDS_SIZE: u32 = 0x1ff << 15;
/// COMPUTE_PGM_RSRC2.EXCP_EN_MSB: bits 7 and 8 of EXCP_EN, which a descriptor may not have.
const WATCH_AND_VIOLATION: u32 = 3 << 13;
/// Bytes of LDS of a COMPUTE_PGM_RSRC2.
fn lds(rsrc2: u32) -> u32 {
    ((rsrc2 & LDS_SIZE) >> 15) * 512
}

impl Mec {
    /// Whether a word of an MQD is a register that a process may set.
    fn is_own(&self, word: usize) -> bool {
        OWN.iter().any(|own| own.contains(&word)) || word == self.generation.mqd.rsrc3
    }

    /// The words of an MQD that hold registers of shaders which processes set.
    pub(crate) fn own_registers(&self) -> impl Iterator<Item = usize> + '_ {
        (1..REGISTERS).filter(|&word| self.is_own(word))
    }

    /// SET_SH_REG: sets registers from one on, on the XCCs that execute the packet.
    pub(crate) fn set_registers(
        &self,
        h: &mut Hqd,
        first: u32,
        values: &[u32],
    ) -> Result<(), PacketError> {
        let xccs = self.executing(h);
        for (register, &value) in (first..).zip(values) {
            let word = register.wrapping_sub(SH_COMPUTE).saturating_add(1) as usize;
            if !self.is_own(word) {
                let what = format!("SET_SH_REG: register {register:#x} is none of a process's");
                return Err(PacketError::bad(code::REGISTER, what));
            }
            let loads = h.loads.iter_mut();
            for load in loads.filter(|load| xccs.contains(&load.xcc)) {
                if let Some(place) = load.image.0.get_mut(word) {
                    *place = value;
                }
            }
        }
        Ok(())
    }

    /// DISPATCH_DIRECT; false when it has to wait.
    pub(crate) fn launch(&mut self, h: &mut Hqd, launch: &Launch) -> Result<bool, PacketError> {
        let registers = self.registers_of(h, launch);
        let get = |field: Field<Image, 32>| field.get(&registers[..]);
        let threads = [
            Image::COMPUTE_NUM_THREAD_X,
            Image::COMPUTE_NUM_THREAD_Y,
            Image::COMPUTE_NUM_THREAD_Z,
        ];
        let items = threads.map(|field| get(field) & 0xffff).iter().product();
        let lds = lds(get(Image::COMPUTE_PGM_RSRC2) as u32);
        // Not more is begun than can be saved.
        let room = h.launched.is_empty()
            || h.loads
                .lead
                .room
                .has(most(self.generation.isa, items, lds.into()));
        if h.launched.len() >= UNDER_WAY || !room {
            return Ok(false);
        }
        let dispatch = self.dispatch_of(h, &registers)?;
        self.trace_launch(h, Image::COMPUTE_PGM.get(&registers[..]) << 8, &dispatch);
        dispatch.submit(&self.units);
        let started = dispatch.started();
        h.launched.items.push_back(Item {
            registers: Some(registers),
            ..Item::of(Work::Dispatch(dispatch), started)
        });
        Ok(true)
    }

    /// The registers at a DISPATCH_DIRECT.
    fn registers_of(&self, h: &Hqd, launch: &Launch) -> Box<Registers> {
        let mut registers = Box::new([0; REGISTERS]);
        let words = registers.iter_mut().zip(h.loads.lead.image.0);
        words.for_each(|(to, from)| *to = from);
        let [x, y, z] = launch.dimensions;
        let words = &mut registers[..];
        Image::COMPUTE_DIM_X.put(words, x);
        Image::COMPUTE_DIM_Y.put(words, y);
        Image::COMPUTE_DIM_Z.put(words, z);
        Image::COMPUTE_DISPATCH_INITIATOR.put(words, launch.initiator);
        registers
    }

    /// Turns registers into a dispatch.
    pub(crate) fn dispatch_of(
        &mut self,
        h: &Hqd,
        registers: &Registers,
    ) -> Result<SplitDispatch, PacketError> {
        let fail =
            |code, what: String| Err(PacketError::bad(code, format!("PM4 dispatch: {what}")));
        let get = |field: Field<Image, 32>| field.get(registers);
        let initiator = get(Image::COMPUTE_DISPATCH_INITIATOR) as u32;
        let initiator = Initiator([initiator]);
        let set = |field| initiator.is_set(field);
        let starts = [
            Image::COMPUTE_START_X,
            Image::COMPUTE_START_Y,
            Image::COMPUTE_START_Z,
        ];
        if !set(Initiator::FORCE_START_AT_000) && starts.into_iter().any(|f| get(f) != 0) {
            return fail(
                code::DIM,
                "COMPUTE_START that is not 0 is not modelled".into(),
            );
        }
        let threads = [
            get(Image::COMPUTE_NUM_THREAD_X) as u32,
            get(Image::COMPUTE_NUM_THREAD_Y) as u32,
            get(Image::COMPUTE_NUM_THREAD_Z) as u32,
        ];
        let dimensions = [
            get(Image::COMPUTE_DIM_X) as u32,
            get(Image::COMPUTE_DIM_Y) as u32,
            get(Image::COMPUTE_DIM_Z) as u32,
        ];
        let mut grid_size = [0; 3];
        for ((size, dim), threads) in grid_size.iter_mut().zip(dimensions).zip(threads) {
            let (full, partial) = (threads & 0xffff, threads >> 16);
            let whole = match set(Initiator::USE_THREAD_DIMENSIONS) {
                true => Some(dim),
                false => dim.checked_mul(full),
            };
            // The last workgroup may be smaller.
            let less = match set(Initiator::PARTIAL_TG_EN) && partial > 0 {
                true => full.checked_sub(partial),
                false => Some(0),
            };
            let Some(whole) = whole.zip(less).and_then(|(a, b)| a.checked_sub(b)) else {
                return fail(code::DIM, format!("{dim} workgroups of {threads:#x}"));
            };
            *size = whole;
        }
        let kernel = self.kernel_of(registers, set(Initiator::CS_W32_EN))?;
        let scratch = match kernel.scratch {
            true => self.scratch_area(
                get(Image::COMPUTE_TMPRING_SIZE) as u32,
                COMPUTE_DISPATCH_SCRATCH_BASE.get(registers) << 8,
            ),
            false => ScratchArea::default(),
        };
        let params = rkfd_isa::Dispatch {
            vmid: h.owner.tag,
            apertures: Apertures::from_sh_mem_bases(self.regs.vmid(h.owner.vmid).sh_mem_bases),
            workgroup_size: threads.map(|n| n as u16),
            grid_size,
            private_segment_size: (scratch.wave_size / u64::from(kernel.lanes.max(1))) as u32,
            group_segment_size: lds(get(Image::COMPUTE_PGM_RSRC2) as u32),
            ..Default::default()
        };
        let data = Image::COMPUTE_USER_DATA_0.word();
        let data = registers.get(data..data + 16).unwrap_or_default();
        let shares = [Share::whole(h.slot.xcc())];
        self.start(h, kernel, params, data.to_vec(), scratch, &shares)
    }

    /// The shader that the registers describe. Its user data are what a descriptor's kernel preloads.
    fn kernel_of(&self, registers: &Registers, wave32: bool) -> Result<Kernel, PacketError> {
        let get = |field: Field<Image, 32>| field.get(registers);
        let rsrc3 = registers.get(self.generation.mqd.rsrc3).copied();
        let rsrc2 = get(Image::COMPUTE_PGM_RSRC2) as u32;
        // The same words make a descriptor, but for the LDS, whose size a packet has, the trap handler, and two exceptions.
        let mut descriptor = [0; 64];
        for (at, word) in [
            (44, rsrc3.unwrap_or(0)),
            (48, get(Image::COMPUTE_PGM_RSRC1) as u32),
            (52, rsrc2 & !(LDS_SIZE | TRAP_PRESENT | WATCH_AND_VIOLATION)),
            (56, u32::from(wave32) << 10),
        ] {
            let bytes = descriptor.iter_mut().skip(at).zip(word.to_le_bytes());
            bytes.for_each(|(to, from)| *to = from);
        }
        let entry = Image::COMPUTE_PGM.get(registers) << 8;
        match Kernel::parse_for(self.generation.isa, entry, &descriptor) {
            Ok(kernel) => Ok(Kernel {
                preload: (kernel.user_count, 0),
                exceptions: kernel.exceptions | ((rsrc2 & WATCH_AND_VIOLATION) >> 13 << 7),
                ..kernel
            }),
            Err(what) => Err(PacketError::bad(
                code::CODE,
                format!("PM4 dispatch: {what}"),
            )),
        }
    }
}
