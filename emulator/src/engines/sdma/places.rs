// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where the registers of queues are. An engine's queues have the same ones, at equal distances; who shows a
//! queue reads them all (Linux, `kgd_gfx_v9_4_3_hqd_sdma_dump`, `hqd_sdma_dump_v12`), most of which no table
//! names. They hold what the queue's MQD has; what is between them is 0.

use rkfd_hw::mqd::{SdmaRun, V12_SDMA_RUNS, V9_SDMA_RUNS};
use rkfd_hw::regs::{gc_12_0_0 as gc, sdma_4_4_2 as sdma, AnyReg, RegInfo};

/// The places, in words.
#[derive(Clone, Copy)]
pub(super) struct Places {
    /// RB_CNTL of a queue of the first engine, whichever queue that is.
    first: AnyReg,
    /// From a register of a queue, or of an engine, to that of the next.
    queue: u32,
    engine: u32,
    /// CONTEXT_STATUS and the last register of a queue, behind RB_CNTL.
    pub status: u32,
    pub last: u32,
    /// Those that the MQD has.
    runs: &'static [SdmaRun],
}

/// Of SDMA 4.4.2: each engine is a block of its own.
pub(super) const V4_4_2: Places = {
    let first = sdma::SDMA_RLC0_RB_CNTL.any();
    Places {
        first,
        queue: sdma::SDMA_RLC1_RB_CNTL.any().offset - first.offset,
        engine: 0,
        status: sdma::SDMA_RLC0_CONTEXT_STATUS.any().offset - first.offset,
        last: sdma::SDMA_RLC0_UTILIZATION_HI.any().offset - first.offset,
        runs: V9_SDMA_RUNS,
    }
};

/// Of SDMA 7.0.
pub(super) const V7_0: Places = {
    let first = gc::SDMA0_QUEUE0_RB_CNTL.any();
    let last = gc::SDMA0_QUEUE0_CONTEXT_STATUS.any().offset - first.offset;
    Places {
        first,
        queue: gc::SDMA0_QUEUE1_RB_CNTL.any().offset - first.offset,
        engine: gc::SDMA1_QUEUE0_RB_CNTL.any().offset - first.offset,
        status: last,
        last,
        runs: V12_SDMA_RUNS,
    }
};

impl Places {
    /// What a register of an engine's queue is, as words behind the queue's RB_CNTL.
    pub fn of(&self, reg: &RegInfo, engine: u8) -> u32 {
        let start = i64::from(self.first.offset) + i64::from(self.engine) * i64::from(engine);
        let behind = i64::from(reg.reg.offset) - start;
        behind.rem_euclid(i64::from(self.queue)) as u32
    }

    /// The word of the MQD that a register has.
    pub fn word(&self, place: u32) -> Option<usize> {
        self.runs.iter().find_map(|run| run.word_of(place))
    }
}
