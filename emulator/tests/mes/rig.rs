// SPDX-License-Identifier: MIT OR Apache-2.0

//! MES set up as Linux does it (`amdgpu/mes_v12_0.c`): ring of the kernel's pipe by registers, ring
//! of the scheduler by a frame.

use rkfd_emulator::chip::navi48::CHIP;
use rkfd_emulator::memory::Hub;
use rkfd_emulator::trace::Trace;
use rkfd_emulator_testkit::{get, kernel_context, put, Guest};
use rkfd_hw::mes::v12::*;
use rkfd_hw::mes::{header, op};
use rkfd_hw::mqd::v12::ComputeMqd as Mqd;
use rkfd_hw::regs::Block;
use std::sync::Arc;
use std::time::{Duration, Instant};

// Places in VRAM.
pub const TABLE: u64 = 0x10_0000;
pub const RING: [u64; 2] = [0x20_0000, 0x20_1000];
pub const MQD: [u64; 2] = [0x20_2000, 0x20_3000];
pub const WPTR: [u64; 2] = [0x20_4000, 0x20_4008];
pub const STATUS: u64 = 0x20_5000;
pub const FENCE: u64 = 0x20_5008;
/// CP_DEBUG: CPG_UTCL1_ERROR_HALT_DISABLE.
const NO_HALT: u32 = 1 << 15;
pub const CONTEXT: u64 = 0x20_6000;
pub const BUFFER: u64 = 0x20_7000;
/// AMDGPU_NAVI10_DOORBELL_MES_RING0 and 1, doubled.
pub const DOORBELL: [u32; 2] = [0xb << 1, 0xc << 1];
/// GRBM_GFX_CNTL: MEID 3 and the pipe.
pub const SELECT: [u32; 2] = [3 << 2, (3 << 2) | 1];
/// Words of a ring.
pub const WORDS: u64 = 1024;
/// SPI_GDBG_PER_VMID_CNTL.TRAP_EN.
pub const TRAP_EN: u32 = 1 << 3;
/// What a status holds before it is written.
pub const NOTHING: u64 = 0x5555_5555_5555_5555;

/// Address in VMID 0.
pub fn mc(vram: u64) -> u64 {
    CHIP.fb_base + vram
}

pub struct Rig {
    pub guest: Guest,
    pub wptr: [u64; 2],
}

impl Rig {
    pub fn new(rules: &[&str]) -> Self {
        Self::of(Guest::of(&CHIP, rules))
    }

    fn of(guest: Guest) -> Self {
        for hub in [Hub::Gfx(0), Hub::Mm(0)] {
            kernel_context(&guest.device.soc.memory, hub, TABLE, 16);
        }
        // What another driver left there would lose page faults.
        guest.write(Block::Osssys, "IH_RING1_CLIENT_CFG_DATA", 0);
        guest.open_doorbells();
        // Their engines' RESP_MODE 3, REDO_DELAY 9 (`sdma_v7_0_gfx_resume_instance`).
        for engine in 0..2 {
            let name = format!("SDMA{engine}_UTCL1_CNTL");
            guest.write(Block::Gc, &name, (3 << 9) | 9);
        }
        Self {
            guest,
            wptr: [0, 0],
        }
    }

    pub fn gc(&self, name: &str, value: u32) {
        self.guest.write(Block::Gc, name, value);
    }

    pub fn read(&self, name: &str) -> u32 {
        self.guest.read(Block::Gc, name)
    }

    /// `gfx_v12_0_cp_compute_enable`, `mes_v12_0_kiq_setting` and `mes_v12_0_enable`.
    pub fn enable(&self) {
        self.gc("CP_MEC_RS64_CNTL", 0xf << 26);
        // `gfxhub_v12_0_set_fault_enable_default` and `gfx_v12_0_cp_set_doorbell_range`.
        self.gc("CP_DEBUG", NO_HALT);
        self.gc("CP_MEC_DOORBELL_RANGE_UPPER", 0x8a << 3);
        self.gc("RLC_CP_SCHEDULERS", 0x80 | (3 << 5) | (1 << 3));
        // `gfx_v12_0_init_compute_vmid`: TRAP_EN.
        for vmid in 1..16 {
            self.gc("GRBM_GFX_CNTL", vmid << 4);
            let control = self.read("SPI_GDBG_PER_VMID_CNTL");
            self.gc("SPI_GDBG_PER_VMID_CNTL", control | TRAP_EN);
        }
        for (pipe, select) in SELECT.into_iter().enumerate() {
            self.gc("GRBM_GFX_CNTL", select);
            let cntl = self.read("CP_MES_CNTL");
            self.gc("CP_MES_CNTL", cntl | (1 << (16 + pipe)));
            self.gc("CP_MES_PRGRM_CNTR_START", 0x1000);
            self.gc("CP_MES_PRGRM_CNTR_START_HI", 0);
            self.gc("CP_MES_CNTL", if pipe == 0 { 1 << 26 } else { 3 << 26 });
        }
        self.gc("GRBM_GFX_CNTL", 0);
    }

    /// `mes_v12_0_mqd_init`.
    pub fn mqd(pipe: usize) -> Mqd {
        // QUEUE_SIZE 9, RPTR_BLOCK_SIZE 9, NO_UPDATE_RPTR, UNORD_DISPATCH, PRIV_STATE, KMD_QUEUE.
        let control = 9 | (9 << 8) | (1 << 27) | (1 << 28) | (1 << 30) | (1 << 31);
        let mut m = Mqd::zeroed()
            .with(Mqd::HEADER, 0xc031_0800)
            .with(Mqd::CP_MQD_BASE_ADDR, mc(MQD[pipe]))
            .with(Mqd::CP_HQD_PQ_BASE, mc(RING[pipe]) >> 8)
            .with(Mqd::CP_HQD_PQ_CONTROL, control)
            .with(Mqd::CP_HQD_PQ_WPTR_POLL_ADDR, mc(WPTR[pipe]))
            .with(
                Mqd::CP_HQD_PQ_DOORBELL_CONTROL,
                (DOORBELL[pipe] << 2) | (1 << 30),
            )
            .with(Mqd::CP_HQD_PERSISTENT_STATE, 0x55 << 8)
            .with(Mqd::CP_HQD_ACTIVE, 1);
        m.0[184] = 1 << 15;
        m
    }

    /// `mes_v12_0_queue_init_register` of the kernel's pipe.
    pub fn kernel_ring(&self) {
        let mqd = Self::mqd(1);
        self.words(MQD[1], &mqd.0);
        self.gc("GRBM_GFX_CNTL", SELECT[1]);
        let (low, high) = (|value: u64| value as u32, |value: u64| (value >> 32) as u32);
        for (name, value) in [
            ("CP_MQD_BASE_ADDR", low(mqd.get(Mqd::CP_MQD_BASE_ADDR))),
            ("CP_MQD_BASE_ADDR_HI", high(mqd.get(Mqd::CP_MQD_BASE_ADDR))),
            ("CP_HQD_PQ_BASE", low(mqd.get(Mqd::CP_HQD_PQ_BASE))),
            ("CP_HQD_PQ_BASE_HI", high(mqd.get(Mqd::CP_HQD_PQ_BASE))),
            ("CP_HQD_PQ_CONTROL", low(mqd.get(Mqd::CP_HQD_PQ_CONTROL))),
            (
                "CP_HQD_PQ_WPTR_POLL_ADDR",
                low(mqd.get(Mqd::CP_HQD_PQ_WPTR_POLL_ADDR)),
            ),
            (
                "CP_HQD_PQ_WPTR_POLL_ADDR_HI",
                high(mqd.get(Mqd::CP_HQD_PQ_WPTR_POLL_ADDR)),
            ),
            (
                "CP_HQD_PQ_DOORBELL_CONTROL",
                low(mqd.get(Mqd::CP_HQD_PQ_DOORBELL_CONTROL)),
            ),
            (
                "CP_HQD_PERSISTENT_STATE",
                low(mqd.get(Mqd::CP_HQD_PERSISTENT_STATE)),
            ),
            ("CP_HQD_ACTIVE", low(mqd.get(Mqd::CP_HQD_ACTIVE))),
        ] {
            self.gc(name, value);
        }
        self.gc("GRBM_GFX_CNTL", 0);
    }

    pub fn words(&self, at: u64, words: &[u32]) {
        let bytes: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        let vram = self.guest.device.soc.memory.vram;
        assert!(vram.part(at, bytes.len()).unwrap().write(0, &bytes));
        self.guest.device.soc.memory.flush_hdp();
    }

    pub fn value(&self, at: u64) -> u64 {
        get(self.guest.device.soc.memory.vram, at)
    }

    pub fn set(&self, at: u64, value: u64) {
        put(self.guest.device.soc.memory.vram, at, value);
        self.guest.device.soc.memory.flush_hdp();
    }

    pub fn append(&mut self, pipe: usize, frame: &[u32; 64]) {
        let at = self.wptr[pipe] % WORDS;
        self.words(RING[pipe] + at * 4, frame);
        self.wptr[pipe] += 64;
    }

    pub fn ring(&self, pipe: usize) {
        self.set(WPTR[pipe], self.wptr[pipe]);
        let doorbells = &self.guest.device.soc.doorbells;
        doorbells.store(DOORBELL[pipe], self.wptr[pipe]);
    }

    /// A frame and QUERY_SCHEDULER_STATUS as its fence, as
    /// `mes_v12_0_submit_pkt_and_poll_completion`; the frame's status when the fence has come.
    pub fn submit(&mut self, pipe: usize, frame: &[u32; 64], status_at: usize) -> u64 {
        let mut frame = *frame;
        frame[status_at] = mc(STATUS) as u32;
        frame[status_at + 1] = (mc(STATUS) >> 32) as u32;
        frame[status_at + 2] = 1;
        self.set(STATUS, NOTHING);
        self.append(pipe, &frame);
        let seq = self.wptr[pipe] + 0x1_0000_0000;
        let query = query(FENCE, seq);
        self.append(pipe, &query.0);
        self.set(FENCE, 0);
        self.ring(pipe);
        self.wait(FENCE, seq);
        self.value(STATUS)
    }

    pub fn wait(&self, at: u64, value: u64) {
        let until = Instant::now() + Duration::from_secs(600);
        while self.value(at) != value {
            assert!(Instant::now() < until, "{:?}", self.guest.findings());
            std::thread::sleep(Duration::from_micros(200));
        }
    }

    /// `mes_v12_0_set_hw_resources`.
    pub fn resources(pipe: usize) -> SetHwResources {
        use SetHwResources as R;
        let mut frame = R::zeroed()
            .with(R::G_SCH_CTX_GPU_MC_PTR, mc(CONTEXT))
            .with(R::QUERY_STATUS_FENCE_GPU_MC_PTR, mc(CONTEXT + 8))
            .with(R::DISABLE_RESET, true)
            .with(R::DISABLE_MES_LOG, true)
            .with(R::USE_DIFFERENT_VMID_COMPUTE, true)
            .with(R::ENABLE_REG_ACTIVE_POLL, true)
            .with(R::ENABLE_LEVEL_PROCESS_QUANTUM_CHECK, true)
            .with(R::OVERSUBSCRIPTION_TIMER, 50)
            .having(R::UNMAPPED_DOORBELL_HANDLING.is::<1>());
        if pipe == 0 {
            frame = frame
                .with(R::VMID_MASK_MMHUB, 0xff00)
                .with(R::VMID_MASK_GFXHUB, 0xff00)
                .with(R::COMPUTE_HQD_MASK_0, 0xc)
                .with(R::COMPUTE_HQD_MASK_1, 0xc);
        }
        // Sienna Cichlid's bases of GC, MMHUB and OSSSYS.
        for (at, bases) in [
            (26, &[0x1260, 0xa000, 0x1c000, 0x0240_2c00][..]),
            (34, &[0x1a000, 0x0240_8800]),
            (42, &[0x10a0, 0x0240_a000]),
        ] {
            frame.0[at..at + bases.len()].copy_from_slice(bases);
        }
        frame.0[0] = header(op::SET_HW_RSRC);
        frame
    }

    pub fn map_scheduler() -> AddQueue {
        let mut frame = AddQueue::zeroed()
            .with(AddQueue::DOORBELL_OFFSET, DOORBELL[0])
            .with(AddQueue::MQD_ADDR, mc(MQD[0]))
            .with(AddQueue::WPTR_ADDR, mc(WPTR[0]))
            .with(AddQueue::QUEUE_TYPE, 3)
            .with(AddQueue::MAP_LEGACY_KQ, true);
        frame.0[0] = header(op::ADD_QUEUE);
        frame
    }

    /// All of the start: both rings, resources of both pipes.
    pub fn started(rules: &[&str]) -> Self {
        Self::new(rules).start()
    }

    /// The same with a trace.
    pub fn traced(trace: Arc<Trace>) -> Self {
        Self::of(Guest::traced(&CHIP, &[], trace)).start()
    }

    fn start(self) -> Self {
        let mut rig = self;
        rig.enable();
        rig.kernel_ring();
        assert_eq!(rig.submit(1, &Self::resources(1).0, 50), 1);
        rig.words(MQD[0], &Self::mqd(0).0);
        assert_eq!(rig.submit(1, &Self::map_scheduler().0, 38), 1);
        assert_eq!(rig.submit(0, &Self::resources(0).0, 50), 1);
        assert_eq!(rig.guest.findings(), [""; 0]);
        rig
    }
}

/// QUERY_SCHEDULER_STATUS as a fence.
pub fn query(at: u64, value: u64) -> QueryStatus {
    let mut frame = QueryStatus::zeroed()
        .with(QueryStatus::API_STATUS_API_COMPLETION_FENCE_ADDR, mc(at))
        .with(QueryStatus::API_STATUS_API_COMPLETION_FENCE_VALUE, value);
    frame.0[0] = header(op::QUERY_SCHEDULER_STATUS);
    frame
}

/// MES_ERR_CODE of `mes_v12_api_def.h`.
pub fn error(code: u64, opcode: u8, misc: u64, category: u64) -> u64 {
    (code | (u64::from(opcode) << 8) | (misc << 16) | (category << 24) | (1 << 31)) << 32
}

pub fn frame(opcode: u8, fields: &[(usize, u32)]) -> [u32; 64] {
    let mut words = [0; 64];
    words[0] = header(opcode);
    for &(at, value) in fields {
        words[at] = value;
    }
    words
}
