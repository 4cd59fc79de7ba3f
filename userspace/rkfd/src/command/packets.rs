// SPDX-License-Identifier: MIT OR Apache-2.0

//! The packets of a dispatch, for both generations of PM4.

use rkfd_hw::aql::{KernelDescriptor, KernelDispatch};
use rkfd_hw::layout::Layout;
use rkfd_hw::mqd::{Common, COMPUTE_DISPATCH_SCRATCH_BASE};
use rkfd_hw::pm4::commands::*;
use rkfd_hw::pm4::header;
use rkfd_hw::value::Bounded;

use crate::error::DispatchError;
use crate::module::Kernel;
use crate::queue::Area;
use crate::signal::Completion;

/// What differs between generations.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Generation {
    Gfx9,
    Gfx10,
}

/// What the registers hold for a kernel.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Shader {
    /// Address of the first instruction.
    entry: u64,
    rsrc: [u32; 3],
    /// Waves of 32 lanes.
    wave32: bool,
}

/// Bits of a descriptor's properties (LLVM AMDGPUUsage, "Kernel Descriptor"): the user data is the
/// arguments' address alone; waves of 32 lanes.
const KERNARG_PTR: u64 = 1 << 3;
const WAVE32: u64 = 1 << 10;
/// All bits for what else may be in user data.
const USER_DATA: u64 = 0x7f;
/// COMPUTE_PGM_RSRC2: the waves have their process's trap handler, without which they can't be preempted (Linux,
/// `kfd_mqd_manager_v9.c`, `init_mqd`, sets it for packets of AQL).
const TRAP_PRESENT: u32 = 1 << 6;
/// COMPUTE_PGM_RSRC2: LDS of a workgroup, in blocks of 512 bytes.
const LDS_SHIFT: u32 = 15;

impl Shader {
    /// Of a kernel that an AQL packet names.
    pub(crate) fn of(kernel: &Kernel, packet: &KernelDispatch) -> Result<Self, DispatchError> {
        let descriptor = kernel.descriptor();
        Self::from_descriptor(kernel.address(), &descriptor, packet)
    }

    fn from_descriptor(
        at: u64,
        descriptor: &KernelDescriptor,
        packet: &KernelDispatch,
    ) -> Result<Self, DispatchError> {
        use KernelDescriptor as D;
        let properties = descriptor.get(D::KERNEL_CODE_PROPERTIES);
        if properties & USER_DATA & !KERNARG_PTR != 0 {
            return Err(DispatchError::NeedsAql {
                what: "the packet or the queue's structure",
            });
        }
        let lds = packet.get(KernelDispatch::GROUP_SEGMENT_SIZE).div_ceil(512) as u32;
        let rsrc2 = descriptor.get(D::COMPUTE_PGM_RSRC2) as u32;
        let offset = descriptor.get(D::KERNEL_CODE_ENTRY_BYTE_OFFSET);
        Ok(Self {
            entry: at.wrapping_add(offset),
            rsrc: [
                descriptor.get(D::COMPUTE_PGM_RSRC1) as u32,
                rsrc2 | (lds << LDS_SHIFT),
                descriptor.get(D::COMPUTE_PGM_RSRC3) as u32,
            ],
            wave32: properties & WAVE32 != 0,
        })
    }
}

/// The number of the register that a word of an MQD holds.
fn register(word: usize) -> u16 {
    (SH_COMPUTE as usize + word - 1) as u16
}

/// SET_SH_REG of registers from that of a word of an MQD on.
fn set(word: usize, values: &[u32]) -> Vec<u32> {
    let words = SetShReg::WORDS as u32 + values.len() as u32;
    let mut packet = SetShReg::zeroed()
        .with(SetShReg::HEADER, header(op::SET_SH_REG, words))
        .with(SetShReg::REG_OFFSET, register(word))
        .0
        .to_vec();
    packet.extend(values);
    packet
}

fn halves(value: u64) -> [u32; 2] {
    [value as u32, (value >> 32) as u32]
}

impl Generation {
    /// The generation of a GPU, by its `gfx_target_version`.
    pub(crate) fn of(version: u32) -> Self {
        match version < 100_000 {
            true => Self::Gfx9,
            false => Self::Gfx10,
        }
    }

    /// The word of an MQD for COMPUTE_PGM_RSRC3.
    fn rsrc3(self) -> usize {
        match self {
            Self::Gfx9 => 46,
            Self::Gfx10 => 41,
        }
    }

    /// What the host wrote before becomes visible: caches forget.
    pub(crate) fn acquire(self) -> Vec<u32> {
        match self {
            Self::Gfx9 => {
                use AcquireMem9 as A;
                let flags = [
                    A::TC_WB_ACTION_ENA,
                    A::TCL1_ACTION_ENA,
                    A::TC_ACTION_ENA,
                    A::SH_KCACHE_ACTION_ENA,
                    A::SH_ICACHE_ACTION_ENA,
                ];
                let all = A::zeroed()
                    .with(A::HEADER, header(op::ACQUIRE_MEM, 7))
                    .with(A::COHER_SIZE, u32::MAX)
                    .with(A::COHER_SIZE_HI, Bounded::MAX)
                    .with(A::POLL_INTERVAL, 10);
                let set = flags.into_iter().fold(all, |p, flag| p.with(flag, true));
                set.0.to_vec()
            }
            Self::Gfx10 => {
                use AcquireMem10 as A;
                let flags = [A::GLK_INV, A::GLV_INV, A::GL1_INV, A::GL2_INV];
                // GLI_INV is 1 for all.
                let all = A::zeroed()
                    .with(A::HEADER, header(op::ACQUIRE_MEM, 8))
                    .with(A::COHER_SIZE, u32::MAX)
                    .with(A::COHER_SIZE_HI, 0xff)
                    .with(A::POLL_INTERVAL, 10)
                    .having(A::GLI_INV.is::<1>());
                let set = flags.into_iter().fold(all, |p, flag| p.with(flag, true));
                set.0.to_vec()
            }
        }
    }

    /// Registers, and the start of the shader, over the grid of an AQL packet.
    pub(crate) fn dispatch(
        self,
        shader: &Shader,
        packet: &KernelDispatch,
        scratch: Option<Area>,
    ) -> Vec<u32> {
        use KernelDispatch as K;
        let size = |value: u64| value.max(1) as u32;
        let grid =
            [K::GRID_SIZE_X, K::GRID_SIZE_Y, K::GRID_SIZE_Z].map(|field| size(packet.get(field)));
        let block = [
            K::WORKGROUP_SIZE_X,
            K::WORKGROUP_SIZE_Y,
            K::WORKGROUP_SIZE_Z,
        ]
        .map(|field| size(packet.get(field)));
        let [rsrc1, rsrc2, rsrc3] = shader.rsrc;
        let mut blocks = [0; 3];
        // COMPUTE_START, then COMPUTE_NUM_THREAD: whole workgroups, and the last one of each row.
        let mut shape = [0; 6];
        for (n, (grid, block)) in grid.into_iter().zip(block).enumerate() {
            let last = match grid % block {
                0 => block,
                rest => rest,
            };
            for (all, value) in [
                (&mut blocks[..], grid.div_ceil(block)),
                (&mut shape[3..], block | (last << 16)),
            ] {
                if let Some(place) = all.get_mut(n) {
                    *place = value;
                }
            }
        }
        let mut commands = set(Common::COMPUTE_PGM.word(), &halves(shader.entry >> 8));
        let rsrc2 = rsrc2 | TRAP_PRESENT;
        commands.extend(set(Common::COMPUTE_PGM_RSRC1.word(), &[rsrc1, rsrc2]));
        commands.extend(set(self.rsrc3(), &[rsrc3]));
        if let Some(area) = scratch {
            let base = halves(area.address >> 8);
            commands.extend(set(COMPUTE_DISPATCH_SCRATCH_BASE.word(), &base));
        }
        let waves = scratch.map_or(0, |area| area.size);
        commands.extend(set(Common::COMPUTE_TMPRING_SIZE.word(), &[waves]));
        commands.extend(set(Common::COMPUTE_START_X.word(), &shape));
        let arguments = halves(packet.get(K::KERNARG_ADDRESS));
        commands.extend(set(Common::COMPUTE_USER_DATA_0.word(), &arguments));
        let Initiator([initiator]) = Initiator::zeroed()
            .with(Initiator::COMPUTE_SHADER_EN, true)
            .with(Initiator::PARTIAL_TG_EN, true)
            .with(Initiator::FORCE_START_AT_000, true)
            .with(Initiator::CS_W32_EN, shader.wave32);
        let [x, y, z] = blocks;
        let start = DispatchDirect::zeroed()
            .with(DispatchDirect::HEADER, header(op::DISPATCH_DIRECT, 5))
            .with(DispatchDirect::DIM_X, x)
            .with(DispatchDirect::DIM_Y, y)
            .with(DispatchDirect::DIM_Z, z)
            .with(DispatchDirect::DISPATCH_INITIATOR, initiator);
        commands.extend(start.0);
        // The next dispatch may need its results.
        let flush = EventWrite::zeroed()
            .with(EventWrite::HEADER, header(op::EVENT_WRITE, 2))
            .having(EventWrite::EVENT_TYPE.is::<EVENT_CS_PARTIAL_FLUSH>())
            .having(EventWrite::EVENT_INDEX.is::<INDEX_CS_PARTIAL_FLUSH>());
        commands.extend(flush.0);
        commands
    }

    /// The end: caches are written back, the signal's value becomes 0, and its event is signalled.
    pub(crate) fn release(self, end: &Completion) -> Vec<u32> {
        let mut commands = self.end_of_pipe(end.value, 0, None).to_vec();
        if end.mailbox != 0 {
            let event = end.event;
            commands.extend(self.end_of_pipe(end.mailbox, event.into(), Some(event)));
        }
        commands
    }

    /// RELEASE_MEM of 64 bits, with an interrupt for an event.
    fn end_of_pipe(self, address: u64, data: u64, event: Option<u32>) -> [u32; 8] {
        let interrupt = match event {
            None => Bounded::new::<INT_NONE>(),
            Some(_) => Bounded::new::<INT_AFTER_WRITE>(),
        };
        let context = event.unwrap_or(0);
        let head = header(op::RELEASE_MEM, 8);
        match self {
            Self::Gfx9 => {
                use ReleaseMem9 as R;
                R::zeroed()
                    .with(R::HEADER, head)
                    .having(R::EVENT_TYPE.is::<EVENT_CACHE_FLUSH_AND_INV_TS>())
                    .having(R::EVENT_INDEX.is::<INDEX_END_OF_PIPE>())
                    .with(R::TC_WB_ACTION_EN, true)
                    .with(R::TC_ACTION_EN, true)
                    .with(R::TC_MD_ACTION_EN, true)
                    .with(R::INT_SEL, interrupt)
                    .having(R::DATA_SEL.is::<DATA_64>())
                    .with(R::ADDR, address)
                    .with(R::DATA, data)
                    .with(R::INT_CTXID, context)
                    .0
            }
            Self::Gfx10 => {
                use ReleaseMem10 as R;
                R::zeroed()
                    .with(R::HEADER, head)
                    .having(R::EVENT_TYPE.is::<EVENT_CACHE_FLUSH_AND_INV_TS>())
                    .having(R::EVENT_INDEX.is::<INDEX_END_OF_PIPE>())
                    .with(R::GL2_WB, true)
                    .with(R::GCR_SEQ, true)
                    .having(R::CACHE_POLICY.is::<3>())
                    .with(R::INT_SEL, interrupt)
                    .having(R::DATA_SEL.is::<DATA_64>())
                    .with(R::ADDR, address)
                    .with(R::DATA, data)
                    .with(R::INT_CTXID, context)
                    .0
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `gfx_v9_4_3_ring_emit_fence` and `gfx_v12_0_ring_emit_fence` with an interrupt and 64 bits.
    #[test]
    fn ends_of_pipe_are_linux_s() {
        let tail = [0x1000, 0x7f00, 5, 0, 5];
        let select = (2 << 29) | (2 << 24);
        let gfx9 = 0x14 | (5 << 8) | (1 << 15) | (1 << 17) | (1 << 21);
        let expected = [&[0xc006_4900, gfx9, select][..], &tail].concat();
        let address = 0x7f00_0000_1000;
        assert_eq!(
            Generation::Gfx9.end_of_pipe(address, 5, Some(5))[..],
            expected
        );
        let gfx12 = 0x14 | (5 << 8) | (1 << 21) | (1 << 22) | (3 << 25);
        let expected = [&[0xc006_4900, gfx12, select][..], &tail].concat();
        assert_eq!(
            Generation::Gfx10.end_of_pipe(address, 5, Some(5))[..],
            expected
        );
        let event = Completion {
            value: 0x10,
            mailbox: 0,
            event: 0,
        };
        assert_eq!(Generation::Gfx9.release(&event).len(), 8, "nobody sleeps");
    }

    #[test]
    fn a_dispatch_sets_the_registers_of_its_kernel() {
        use KernelDescriptor as D;
        let descriptor = D::zeroed()
            .with(D::KERNEL_CODE_ENTRY_BYTE_OFFSET, 0x1000)
            .with(D::COMPUTE_PGM_RSRC1, 11)
            .with(D::COMPUTE_PGM_RSRC2, 12)
            .with(D::COMPUTE_PGM_RSRC3, 13)
            .with(D::KERNEL_CODE_PROPERTIES, (KERNARG_PTR | WAVE32) as u16);
        use KernelDispatch as K;
        let packet = K::zeroed()
            .with(K::WORKGROUP_SIZE_X, 256)
            .with(K::GRID_SIZE_X, 600)
            .with(K::GROUP_SEGMENT_SIZE, 513)
            .with(K::KERNARG_ADDRESS, 0x2_0000_0040);
        let shader = Shader::from_descriptor(0x7f00_0000_0000, &descriptor, &packet).unwrap();
        let found = Generation::Gfx10.dispatch(&shader, &packet, None);
        // Registers by their numbers in `gc_12_0_0_offset.h` from COMPUTE_DISPATCH_INITIATOR on.
        let expected = [
            &[0xc002_7600, 0x20c, 0x0000_0010, 0x7f][..],
            &[0xc002_7600, 0x212, 11, 12 | (2 << 15) | (1 << 6)],
            &[0xc001_7600, 0x228, 13],
            &[0xc001_7600, 0x218, 0],
            &[
                0xc006_7600,
                0x204,
                0,
                0,
                0,
                256 | (88 << 16),
                0x1_0001,
                0x1_0001,
            ],
            &[0xc002_7600, 0x240, 0x40, 2],
            &[0xc003_1500, 3, 1, 1, 0x8007],
            &[0xc000_4600, 0x407],
        ];
        assert_eq!(found, expected.concat());
        // With scratch: COMPUTE_DISPATCH_SCRATCH_BASE_LO and COMPUTE_TMPRING_SIZE as well.
        let area = Area::at(0x7f12_3456_7800, 64 | (6 << 12));
        let found = Generation::Gfx9.dispatch(&shader, &packet, Some(area));
        let has = |words: &[u32]| found.windows(words.len()).any(|found| found == words);
        assert!(has(&[0xc002_7600, 0x210, 0x1234_5678, 0x7f]));
        assert!(has(&[0xc001_7600, 0x218, 64 | (6 << 12)]));
        let pointer = descriptor.with(D::KERNEL_CODE_PROPERTIES, (KERNARG_PTR | 2) as u16);
        assert!(Shader::from_descriptor(0, &pointer, &packet).is_err());
    }
}
