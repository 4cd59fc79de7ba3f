// SPDX-License-Identifier: MIT OR Apache-2.0

//! What differs between generations of the engine: places in the MQD, packets, interrupts.

use super::packet::{self, Bad, Dialect, Packet};
use super::places::{self, Places};
use super::{MQD_WORDS, PER_DIE, QUEUES};
use crate::memory::Hub;
use rkfd_hw::ih::{client, source};
use rkfd_hw::mqd::{v12, v9};
use rkfd_hw::regs::Value;

/// The place of a kernel's queue that is none of those that processes get.
const OWN: u8 = QUEUES as u8;

/// The unit of an engine's counters: Linux shows them in microseconds by dividing by 100
/// (`SDMA_ACTIVITY_DIVISOR` in `amdkfd/kfd_process.c`). In ns.
pub(super) const TICK: u64 = 10;

/// IB_CNTL.SWITCH_INSIDE_IB.
const SWITCH: u32 = 1 << 8;
/// `SDMA_RLC_DUMMY_DEFAULT`.
const DUMMY: u32 = 0xf;

/// A generation of SDMA.
pub struct Generation {
    /// The hub that translates an engine's addresses.
    pub hub: fn(u8) -> Hub,
    /// Words of the MQD.
    pub(super) mqd: MqdWords,
    /// Where queues have their registers.
    pub(super) places: Places,
    /// A reserved word of an MQD that is not zero.
    pub(super) reserved: fn([u32; MQD_WORDS]) -> Option<usize>,
    /// Bits that RB_CNTL may have: size, and write-back of the read pointer.
    pub(super) rb_cntl: u32,
    /// What a process' MQD always has, of which nothing can be seen here: name, word, bits, their value.
    pub(super) fixed: &'static [(&'static str, usize, u32, u32)],
    /// The queue that the kernel's driver sets up by registers.
    pub(super) kernel: Kernel,
    /// Takes the packet at the start of some words apart; its size comes from [`packet::size`].
    pub(super) parse: fn(&[u32]) -> Result<Packet, Bad>,
    /// What its packets differ in.
    pub(super) packets: Dialect,
    /// Interrupts: client of an engine, sources, ring id of a queue.
    pub(super) irq: Interrupts,
    /// The register that halts an engine: HALT is the same bit in all.
    pub(super) halts: &'static str,
    /// Whether an engine reads its program from memory, by VMID 0, while it runs.
    pub(super) program_in_memory: bool,
    /// Whether it leaves the kernel's queue for those of processes only by AUTO_CTXSW_ENABLE.
    pub(super) switches_if_told: bool,
    /// Bits of CNTL by which an engine has its addresses translated, if it has any.
    pub(super) translates: u32,
    /// What an engine's registers have before a queue is on it: name, bits, their value.
    pub(super) golden: &'static [(&'static str, u32, u32)],
    /// What the engines' registers are called: what stands in front, then of a queue.
    pub(super) names: Names,
    /// The name of an engine for its hub (`mmhub_client_ids_aldebaran` in `amdgpu/gmc_v9_0.c`,
    /// `gfxhub_client_ids` in `gfxhub_v12_0.c`): CID of the first.
    pub(super) first_cid: u32,
}

/// Words of an MQD.
#[derive(Clone, Copy)]
pub(super) struct MqdWords {
    pub rb_cntl: usize,
    /// 64 bits, like all that name an address or a pointer.
    pub rb_base: usize,
    pub rptr: usize,
    pub wptr: usize,
    pub rptr_addr: (usize, usize),
    /// Low and high word of the write pointer's address; gfx9's schedulers get it in a packet instead.
    pub poll_addr: Option<(usize, usize)>,
    pub ib_cntl: usize,
    pub ib_rptr: usize,
    pub ib_base: usize,
    pub ib_size: usize,
    pub doorbell: usize,
    pub doorbell_offset: usize,
    pub aql_cntl: usize,
    pub engine: usize,
    pub queue: usize,
    /// How long the queue has the engine, in the bits of a word, which aren't all 0.
    pub quantum: Option<(usize, u32)>,
    /// For how long the queue was at work, in [`TICK`]s: 64 bits. Others count elsewhere.
    pub utilization: Option<usize>,
}

/// The kernel's own queue of an engine.
#[derive(Clone, Copy)]
pub(super) struct Kernel {
    /// Its place among the engine's queues.
    pub queue: u8,
    /// Further bits that its RB_CNTL may have, and those that it has to have.
    pub rb_cntl: u32,
    pub needs: u32,
    /// The register and the bits of it by which the engine looks for the write pointer in memory.
    pub polls: (&'static str, u32),
}

/// Interrupts of the engines.
#[derive(Clone, Copy)]
pub(super) struct Interrupts {
    /// The client that an engine is; engines beyond the table have the last.
    pub clients: &'static [u8],
    pub trap: u8,
    pub srbm_write: u8,
    pub poll_timeout: u8,
    /// The ring id of an engine's queue.
    pub ring_id: fn(engine: u8, queue: u8) -> u8,
}

/// Names of registers.
#[derive(Clone, Copy)]
pub(super) struct Names {
    /// Whether the engine's number stands behind `SDMA`.
    pub numbered: bool,
    /// What a queue is called.
    pub queue: &'static str,
    /// What the kernel's queue is called.
    pub kernel: &'static str,
}

/// SDMA 4.4.2 (gfx942). Behind the multimedia hub of its base die (`ring->vm_hub = AMDGPU_MMHUB0(aid_id)` in
/// `sdma_v4_4_2_sw_init`); each engine of a die is a client of its own. The kernel's queue (GFX) is one more
/// than those of processes (RLC). Ring ids 0 and 1 are the kernel's rings
/// (`sdma_v4_4_2_process_trap_irq`); that processes' follow is this model's own.
pub const V4_4_2: Generation = Generation {
    hub: |engine| Hub::Mm(engine / PER_DIE),
    mqd: MqdWords {
        rb_cntl: v9::SdmaMqd::SDMAX_RLCX_RB_CNTL.word(),
        rb_base: v9::SdmaMqd::SDMAX_RLCX_RB_BASE.word(),
        rptr: v9::SdmaMqd::SDMAX_RLCX_RB_RPTR.word(),
        wptr: v9::SdmaMqd::SDMAX_RLCX_RB_WPTR.word(),
        rptr_addr: (
            v9::SdmaMqd::SDMAX_RLCX_RB_RPTR_ADDR_LO.word(),
            v9::SdmaMqd::SDMAX_RLCX_RB_RPTR_ADDR_HI.word(),
        ),
        poll_addr: None,
        ib_cntl: v9::SdmaMqd::SDMAX_RLCX_IB_CNTL.word(),
        ib_rptr: v9::SdmaMqd::SDMAX_RLCX_IB_RPTR.word(),
        ib_base: v9::SdmaMqd::SDMAX_RLCX_IB_BASE.word(),
        ib_size: v9::SdmaMqd::SDMAX_RLCX_IB_SIZE.word(),
        doorbell: v9::SdmaMqd::SDMAX_RLCX_DOORBELL.word(),
        doorbell_offset: v9::SdmaMqd::SDMAX_RLCX_DOORBELL_OFFSET.word(),
        aql_cntl: v9::SdmaMqd::SDMAX_RLCX_RB_AQL_CNTL.word(),
        engine: v9::SdmaMqd::SDMA_ENGINE_ID.word(),
        queue: v9::SdmaMqd::SDMA_QUEUE_ID.word(),
        quantum: None,
        utilization: Some(v9::SdmaMqd::SDMAX_RLCX_UTILIZATION.word()),
    },
    places: places::V4_4_2,
    reserved: |words| v9::SdmaMqd(words).reserved_word(),
    rb_cntl: {
        use rkfd_hw::regs::sdma_4_4_2::SDMA_RLC0_RB_CNTL as RB;
        RB::RB_ENABLE.mask()
            | RB::RB_SIZE.mask()
            | RB::RPTR_WRITEBACK_ENABLE.mask()
            | RB::RPTR_WRITEBACK_TIMER.mask()
    },
    // `update_mqd_sdma`: how the read pointer is reported, and that long indirect buffers let others by.
    fixed: {
        use rkfd_hw::regs::sdma_4_4_2::SDMA_RLC0_RB_CNTL as RB;
        use v9::SdmaMqd as M;
        const RPTR: u32 = RB::RPTR_WRITEBACK_ENABLE.mask() | RB::RPTR_WRITEBACK_TIMER.mask();
        const VALUE: u32 = Value::zeroed()
            .having(RB::RPTR_WRITEBACK_ENABLE.is::<1>())
            .having(RB::RPTR_WRITEBACK_TIMER.is::<6>())
            .bits();
        &[
            ("RB_CNTL", M::SDMAX_RLCX_RB_CNTL.word(), RPTR, VALUE),
            ("IB_CNTL", M::SDMAX_RLCX_IB_CNTL.word(), SWITCH, SWITCH),
            ("DUMMY_REG", M::SDMAX_RLCX_DUMMY_REG.word(), u32::MAX, DUMMY),
        ]
    },
    kernel: {
        use rkfd_hw::regs::sdma_4_4_2::{
            SDMA_GFX_RB_CNTL as RB, SDMA_GFX_RB_WPTR_POLL_CNTL as Poll,
        };
        Kernel {
            queue: OWN,
            rb_cntl: RB::RB_PRIV.mask(),
            needs: 0,
            polls: (
                "RB_WPTR_POLL_CNTL",
                Poll::ENABLE.mask() | Poll::F32_POLL_ENABLE.mask(),
            ),
        }
    },
    parse: packet::v4_4::parse,
    packets: Dialect {
        long_copies: false,
        gcr: false,
        register_unit: 4,
    },
    irq: Interrupts {
        clients: &client::SDMA,
        trap: source::SDMA_TRAP,
        srbm_write: source::SDMA_SRBM_WRITE,
        poll_timeout: source::SDMA_POLL_TIMEOUT,
        ring_id: |_, queue| if queue == OWN { 0 } else { queue + 2 },
    },
    halts: "F32_CNTL",
    program_in_memory: false,
    switches_if_told: true,
    // "set utc l1 enable flag always to 1" (`sdma_v4_4_2_inst_start`, after the kernel's queue was turned on).
    translates: rkfd_hw::regs::sdma_4_4_2::SDMA_CNTL::UTC_L1_ENABLE.mask(),
    // `sdma_v4_4_2_inst_init_golden_registers`, `sdma_v4_4_2_inst_ctx_switch_enable`.
    golden: {
        use rkfd_hw::regs::sdma_4_4_2::SDMA_GB_ADDR_CONFIG as Addresses;
        const BITS: u32 = Addresses::NUM_BANKS.mask() | Addresses::PIPE_INTERLEAVE_SIZE.mask();
        const VALUE: u32 = Value::zeroed()
            .having(Addresses::NUM_BANKS.is::<4>())
            .bits();
        &[
            ("GB_ADDR_CONFIG", BITS, VALUE),
            ("GB_ADDR_CONFIG_READ", BITS, VALUE),
            ("UTCL1_TIMEOUT", u32::MAX, 0x0080_0080),
        ]
    },
    names: Names {
        numbered: false,
        queue: "RLC",
        kernel: "GFX",
    },
    first_cid: 256,
};

/// SDMA 7.0 (gfx12). Behind the graphics hub (`AMDGPU_GFXHUB(0)` in `sdma_v7_0_sw_init`); the
/// ring id of its interrupts names engine and queue (`sdma_v7_0_process_trap_irq`). The kernel's queue
/// is the first of them (`sdma_v7_0_gfx_resume_instance`).
pub const V7_0: Generation = Generation {
    hub: |_| Hub::Gfx(0),
    mqd: MqdWords {
        rb_cntl: v12::SdmaMqd::SDMAX_RLCX_RB_CNTL.word(),
        rb_base: v12::SdmaMqd::SDMAX_RLCX_RB_BASE.word(),
        rptr: v12::SdmaMqd::SDMAX_RLCX_RB_RPTR.word(),
        wptr: v12::SdmaMqd::SDMAX_RLCX_RB_WPTR.word(),
        rptr_addr: {
            let low = v12::SdmaMqd::SDMAX_RLCX_RB_RPTR_ADDR.word();
            (low, low + 1)
        },
        poll_addr: {
            let low = v12::SdmaMqd::SDMAX_RLCX_RB_WPTR_POLL_ADDR.word();
            Some((low, low + 1))
        },
        ib_cntl: v12::SdmaMqd::SDMAX_RLCX_IB_CNTL.word(),
        ib_rptr: v12::SdmaMqd::SDMAX_RLCX_IB_RPTR.word(),
        ib_base: v12::SdmaMqd::SDMAX_RLCX_IB_BASE.word(),
        ib_size: v12::SdmaMqd::SDMAX_RLCX_IB_SIZE.word(),
        doorbell: v12::SdmaMqd::SDMAX_RLCX_DOORBELL.word(),
        doorbell_offset: v12::SdmaMqd::SDMAX_RLCX_DOORBELL_OFFSET.word(),
        aql_cntl: v12::SdmaMqd::SDMAX_RLCX_RB_AQL_CNTL.word(),
        engine: v12::SdmaMqd::SDMA_ENGINE_ID.word(),
        queue: v12::SdmaMqd::SDMA_QUEUE_ID.word(),
        // CONTEXT_QUANTUM of SDMA0_QUEUE0_SCHEDULE_CNTL.
        quantum: Some((v12::SdmaMqd::SDMAX_RLCX_SCHED_CNTL.word(), 0xff00)),
        utilization: None,
    },
    places: places::V7_0,
    reserved: |words| v12::SdmaMqd(words).reserved_word(),
    rb_cntl: {
        use rkfd_hw::regs::gc_12_0_0::SDMA0_QUEUE0_RB_CNTL as RB;
        RB::RB_ENABLE.mask()
            | RB::RB_SIZE.mask()
            | RB::RPTR_WRITEBACK_ENABLE.mask()
            | RB::RPTR_WRITEBACK_TIMER.mask()
            | RB::MCU_WPTR_POLL_ENABLE.mask()
    },
    // `update_mqd_sdma`; how long a queue has the engine is a parameter of Linux's module.
    fixed: {
        use rkfd_hw::regs::gc_12_0_0::SDMA0_QUEUE0_RB_CNTL as RB;
        use v12::SdmaMqd as M;
        const BITS: u32 = RB::RPTR_WRITEBACK_ENABLE.mask()
            | RB::RPTR_WRITEBACK_TIMER.mask()
            | RB::MCU_WPTR_POLL_ENABLE.mask();
        const VALUE: u32 = Value::zeroed()
            .having(RB::RPTR_WRITEBACK_ENABLE.is::<1>())
            .having(RB::RPTR_WRITEBACK_TIMER.is::<6>())
            .having(RB::MCU_WPTR_POLL_ENABLE.is::<1>())
            .bits();
        &[
            ("RB_CNTL", M::SDMAX_RLCX_RB_CNTL.word(), BITS, VALUE),
            ("IB_CNTL", M::SDMAX_RLCX_IB_CNTL.word(), SWITCH, SWITCH),
            ("DUMMY_REG", M::SDMAX_RLCX_DUMMY_REG.word(), u32::MAX, DUMMY),
        ]
    },
    kernel: {
        use rkfd_hw::regs::gc_12_0_0::SDMA0_QUEUE0_RB_CNTL as RB;
        Kernel {
            queue: 0,
            rb_cntl: RB::RB_PRIV.mask() | RB::WPTR_POLL_ENABLE.mask(),
            needs: RB::RB_PRIV.mask(),
            polls: (
                "RB_CNTL",
                RB::WPTR_POLL_ENABLE.mask() | RB::MCU_WPTR_POLL_ENABLE.mask(),
            ),
        }
    },
    parse: packet::v7_0::parse,
    packets: Dialect {
        long_copies: true,
        gcr: true,
        register_unit: 1,
    },
    irq: Interrupts {
        clients: &[client::GFX],
        trap: source::GFX12_SDMA_TRAP,
        srbm_write: source::GFX12_SDMA_SRBM_WRITE,
        poll_timeout: source::GFX12_SDMA_POLL_TIMEOUT,
        ring_id: |engine, queue| (engine << 4) | queue,
    },
    halts: "MCU_CNTL",
    program_in_memory: true,
    switches_if_told: false,
    translates: 0,
    // `sdma_v7_0_gfx_resume_instance`: addresses that are not copied get an answer, too.
    golden: {
        use rkfd_hw::regs::gc_12_0_0::SDMA0_UTCL1_CNTL as Utcl1;
        const VALUE: Value<Utcl1> = Value::zeroed()
            .having(Utcl1::RESP_MODE.is::<3>())
            .having(Utcl1::REDO_DELAY.is::<9>());
        &[(
            "UTCL1_CNTL",
            Utcl1::RESP_MODE.mask() | Utcl1::REDO_DELAY.mask(),
            VALUE.bits(),
        )]
    },
    names: Names {
        numbered: true,
        queue: "QUEUE",
        kernel: "QUEUE0",
    },
    first_cid: 13,
};
