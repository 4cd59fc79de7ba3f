// SPDX-License-Identifier: MIT OR Apache-2.0

//! Performance counters as AMD's aqlprofile programs and reads them, and what a compiled kernel makes them count by
//! LLVM's disassembly.
//!
//! The words are those that its `aqlprofile_pmc_create_packets` returns for a gfx942 and a gfx1201.

use crate::code;
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};

/// SET_UCONFIG_REG of one register, as an offset from the first one.
pub(crate) fn set(register: u32, value: u32) -> [u32; 3] {
    [0xc001_7900, register, value]
}

/// COPY_DATA of a register by its address.
pub(crate) fn copy(select: u32, register: u32, to: u64) -> [u32; 6] {
    [
        0xc004_4000,
        select,
        register,
        0,
        to as u32,
        (to >> 32) as u32,
    ]
}

pub(crate) const INDEX: u32 = 0x200;
pub(crate) const STATE: u32 = 0x1808;
const SELECT: u32 = 0x19c0;
const VALUE: u32 = 0xd1c0;
/// GRBM_GFX_INDEX: all.
pub(crate) const ALL: [u32; 3] = [0xc001_7900, INDEX, 0xe000_0000];
/// EVENT_WRITE of CS_PARTIAL_FLUSH.
pub(crate) const FLUSH: [u32; 2] = [0xc000_4600, 0x407];
/// SET_SH_REG of COMPUTE_PERFCOUNT_ENABLE.
const ENABLE: [u32; 3] = [0xc001_7600, 0x20b, 1];
/// The shader engines of an XCC.
const ENGINES: u32 = 4;

/// The program that starts sequencers' events on a gfx942.
pub fn start_gfx942(events: &[u32]) -> Vec<u32> {
    let mut words = FLUSH.to_vec();
    words.extend(ALL);
    words.extend(set(0x1cbf, 1));
    words.extend(set(STATE, 0));
    for (n, event) in (0..).zip(events) {
        words.extend(ALL);
        words.extend(set(SELECT + n, 0x0f0f_f000 | event));
        words.extend(set(0x19e1, u32::MAX));
        words.extend(set(0x19e0, 0xffff_0057));
    }
    words.extend(begin());
    words
}

/// How each program ends that starts counters.
pub(crate) fn begin() -> Vec<u32> {
    let mut words = [ALL, ENABLE, set(STATE, 0), set(STATE, 1)].concat();
    words.extend(FLUSH);
    words
}

/// The program that reads so many of them: 64 bits by XCC, counter and engine.
pub fn read_gfx942(xccs: u32, events: usize, to: u64) -> Vec<u32> {
    let mut words = set(STATE, 0x401).to_vec();
    let mut at = to;
    for xcc in 0..xccs {
        let mut own = ALL.to_vec();
        own.extend(FLUSH);
        own.extend(ALL);
        for event in 0..events as u32 {
            for engine in 0..ENGINES {
                own.extend(set(INDEX, 0x6000_0000 | (engine << 16)));
                for half in 0..2 {
                    own.extend(copy(0x0200_2500, VALUE + 2 * event + half, at));
                    at += 4;
                }
            }
        }
        own.extend(ALL);
        // PRED_EXEC.
        words.extend([0xc000_2300, (1 << (24 + xcc)) | own.len() as u32]);
        words.extend(own);
    }
    words
}

/// The program that stops them.
pub fn stop_gfx942() -> Vec<u32> {
    let mut words = ALL.to_vec();
    words.extend(set(STATE, 2));
    words.extend(set(0x1cbf, 0));
    words.extend(FLUSH);
    words
}

/// The program that starts sequencers' events on a gfx1201.
pub fn start_gfx1201(events: &[u32]) -> Vec<u32> {
    let mut words = FLUSH.to_vec();
    words.extend(ALL);
    words.extend(set(STATE, 0));
    words.extend(set(0x19e0, 0x55));
    words.extend(set(0x19e2, 0x1_ffff));
    for (n, event) in (0..).zip(events) {
        words.extend(ALL);
        words.extend(set(SELECT + 2 * n, *event));
        words.extend(set(0x19e0, 0x55));
    }
    words.extend(begin());
    words
}

/// Work-group processors of a gfx1201, two arrays of four in each engine.
pub const PROCESSORS: usize = 32;

/// The program that reads so many of them: 64 bits, of which 32 are written, by counter and work-group processor.
pub fn read_gfx1201(events: usize, to: u64) -> Vec<u32> {
    let mut words = set(STATE, 0x401).to_vec();
    words.extend(ALL);
    words.extend(FLUSH);
    words.extend(ALL);
    let mut at = to;
    for event in 0..events as u32 {
        for processor in 0..PROCESSORS as u32 {
            let (engine, array, instance) = (processor / 8, processor / 4 % 2, processor % 4 * 4);
            words.extend(set(INDEX, (engine << 16) | (array << 8) | instance));
            words.extend(copy(0x0600_6200, VALUE + 2 * event, at));
            at += 8;
        }
    }
    words.extend(ALL);
    words
}

/// How many instructions of a kernel without loops a wave executes that leaves out none.
#[derive(Default, Debug)]
pub struct Mix {
    pub all: u64,
    pub valu: u64,
    pub salu: u64,
    pub smem: u64,
    pub load: u64,
    pub store: u64,
    pub branch: u64,
}

impl Mix {
    /// Those of `tests/kernels/NAME.hip`, from its entry to the first s_endpgm, by llvm-objdump.
    pub fn of(name: &str, arch: &str) -> Self {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let (number, process) = (COUNT.fetch_add(1, Ordering::Relaxed), std::process::id());
        let path = std::env::temp_dir().join(format!("rkfd-mix-{process}-{number}.co"));
        std::fs::write(&path, code::elf(name, arch)).unwrap();
        let output = Command::new("llvm-objdump-19")
            .arg("-d")
            .arg(&path)
            .output();
        let output = output.expect("llvm-objdump-19 runs").stdout;
        let _ = std::fs::remove_file(&path);
        let text = String::from_utf8(output).unwrap();
        let body = text
            .split_once(&format!("<{name}>:\n"))
            .expect("the kernel")
            .1;
        let mut mix = Self::default();
        for line in body.lines() {
            let mnemonic = line.split_whitespace().next().unwrap();
            mix.count(mnemonic);
            if mnemonic == "s_endpgm" {
                break;
            }
        }
        mix
    }

    fn count(&mut self, mnemonic: &str) {
        const INTERNAL: [&str; 5] = ["s_wait", "s_endpgm", "s_clause", "s_delay_alu", "s_sendmsg"];
        let is = |prefix: &str| mnemonic.starts_with(prefix);
        self.all += 1;
        match () {
            () if INTERNAL.into_iter().any(is) || is("s_nop") => {}
            () if is("s_load") => self.smem += 1,
            () if is("s_branch") || is("s_cbranch") => self.branch += 1,
            () if is("s_") => self.salu += 1,
            () if is("global_load") => self.load += 1,
            () if is("global_store") => self.store += 1,
            () if is("v_") => self.valu += 1,
            () => panic!("what is {mnemonic}?"),
        }
    }
}
