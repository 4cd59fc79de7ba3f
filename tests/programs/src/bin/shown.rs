// SPDX-License-Identifier: MIT OR Apache-2.0

//! Queues are what debugfs shows: MQDs, hardware queues and the run list have the rings, doorbells and
//! MQDs of this program's queues.
//!
//! What is compared with are CREATE_QUEUE's arguments. Places of words are those of Linux's
//! `struct v9_mqd` and `struct v12_compute_mqd`, which agree on these, and of `struct v9_sdma_mqd` and
//! `struct v12_sdma_mqd`; a hardware queue's registers follow each other as the MQD's words from
//! `cp_mqd_base_addr_lo` on do.
//!
//! `shown CODE-OBJECT`, alone on the GPU

use std::collections::BTreeMap;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use rkfd::trace::{observe, Step};
use rkfd::{Gpu, Memory, Queue, QueueOptions};
use rkfd_programs::{check, code_object, report, Failure, VectorAdd, KERNEL, PATIENCE};
use rkfd_uapi::ioctl;

const FOLDER: &str = "/sys/kernel/debug/kfd";
const QUEUES: usize = 3;
const ELEMENTS: usize = 4096;

/// Words of MQDs.
const COMPUTE_WORDS: usize = 512;
const SDMA_WORDS: usize = 128;
/// `cp_mqd_base_addr_lo`, where a hardware queue's registers begin.
const REGISTERS: usize = 128;
/// From there on: `cp_hqd_active`, `cp_hqd_pq_base_lo`, `cp_hqd_pq_doorbell_control`.
const ACTIVE: usize = 2;
const BASE: usize = 8;
const DOORBELL: usize = 15;
/// Registers that are shown of a hardware queue.
const HQD_REGISTERS: usize = 56;
/// `sdmax_rlcx_rb_base`.
const SDMA_BASE: usize = 1;
/// `SDMA_RLC0_RB_CNTL`, whose bit 0 says that the queue runs and bits 5:1 how many words its ring has, as a power
/// of two; in which word of what is shown SDMA_RLC0_DOORBELL_OFFSET is, and how many there are: of gfx942 runs of 19,
/// 6, 7 and 12, of gfx1201 all from RB_CNTL to CONTEXT_STATUS.
const SDMA_CONTROL: usize = 0;
const SDMA_SHOWN: [(&str, usize, usize); 2] =
    [("gfx9", 19 + 3, 19 + 6 + 7 + 12), ("gfx12", 17, 49)];
/// Queues of an engine (`kfd_device_info_set_sdma_info`): topology has only those that programs get.
const SDMA_QUEUES: u64 = 8;
/// DOORBELL_OFFSET in CP_HQD_PQ_DOORBELL_CONTROL, of which this much is a place in the process' slice.
const IN_SLICE: u32 = 0x1ffc;

/// CREATE_QUEUE's fields by name.
type Made = BTreeMap<&'static str, u64>;

/// A line and the words in rows below it.
struct Part {
    title: String,
    words: Vec<u32>,
}

fn read(name: &str) -> Result<String, Failure> {
    std::fs::read_to_string(format!("{FOLDER}/{name}"))
        .map_err(|e| Failure::new(format_args!("{name}: {e}")))
}

/// Takes a file apart. A row is an address with eight digits, a colon and words.
fn parts(text: &str) -> Vec<Part> {
    let mut parts: Vec<Part> = Vec::new();
    for line in text.lines() {
        let words = line.trim_start().split_once(": ").and_then(|(at, words)| {
            u32::from_str_radix(at, 16).ok().filter(|_| at.len() == 8)?;
            let words = words.split(' ').map(|word| u32::from_str_radix(word, 16));
            words.collect::<Result<Vec<u32>, _>>().ok()
        });
        match (words, parts.last_mut()) {
            (Some(words), Some(part)) => part.words.extend(words),
            _ => parts.push(Part {
                title: line.to_owned(),
                words: Vec::new(),
            }),
        }
    }
    parts
}

/// The address in two words, in units of 256 bytes.
fn base(words: &[u32], at: usize) -> Option<u64> {
    let (low, high) = (*words.get(at)?, *words.get(at + 1)?);
    Some(((u64::from(high) << 32) | u64::from(low)) << 8)
}

fn field(made: &Made, name: &str) -> u64 {
    made.get(name).copied().unwrap_or(0)
}

/// Whether registers, or the same words of an MQD, have a queue's ring and doorbell.
fn is_queue(registers: &[u32], made: &Made) -> bool {
    let doorbell = registers.get(DOORBELL).map(|word| word & IN_SLICE);
    // CAST: The low bits.
    let wanted = field(made, "doorbell_offset") as u32 & IN_SLICE;
    base(registers, BASE) == Some(field(made, "ring_base_address")) && doorbell == Some(wanted)
}

/// What `mqds` shows of this process.
fn own_mqds() -> Result<Vec<Part>, Failure> {
    let title = format!("Process {0} PASID {0}:", std::process::id());
    let mut parts = parts(&read("mqds")?).into_iter();
    parts
        .find(|part| part.title == title)
        .ok_or_else(|| Failure::new("mqds doesn't show this process"))?;
    let own = parts.take_while(|part| !part.title.starts_with("Process"));
    Ok(own.collect())
}

fn check_mqds(gpu: &Gpu, made: &[Made], xccs: usize) -> Result<Vec<Vec<u32>>, Failure> {
    let shown = own_mqds()?;
    let on = |kind: &str| format!("  {kind} queue on device {:x}", gpu.id());
    let of_kind = |kind: &str| {
        let title = on(kind);
        let parts = shown.iter().filter(move |part| part.title == title);
        parts.collect::<Vec<_>>()
    };
    let (compute, copying) = (of_kind("Compute"), of_kind("SDMA"));
    check(
        "mqds shows each queue once",
        compute.len() == QUEUES && copying.len() == 1 && shown.len() == QUEUES + 1,
    )?;
    let mut addresses = Vec::new();
    for (part, made) in compute.iter().zip(made) {
        check(
            "a compute queue has an MQD for each XCC",
            part.words.len() == COMPUTE_WORDS * xccs,
        )?;
        let mqds: Vec<&[u32]> = part.words.chunks(COMPUTE_WORDS).collect();
        check(
            "each has the ring and the doorbell that the program was given",
            mqds.iter()
                .all(|mqd| mqd.get(REGISTERS..).is_some_and(|mqd| is_queue(mqd, made))),
        )?;
        let first = part.words.get(REGISTERS..REGISTERS + 2);
        addresses.push(first.unwrap_or_default().to_vec());
    }
    let ring = made
        .get(QUEUES)
        .map(|made| field(made, "ring_base_address"));
    check(
        "the copy queue's MQD has its ring",
        copying.first().is_some_and(|part| {
            part.words.len() == SDMA_WORDS && base(&part.words, SDMA_BASE) == ring
        }),
    )?;
    Ok(addresses)
}

fn check_hqds(gpu: &Gpu, made: &[Made], xccs: usize) -> Result<(), Failure> {
    let shown = parts(&read("hqds")?);
    let node = format!("Node 1, gpu_id {:x}:", gpu.id());
    check(
        "hqds names the GPU",
        shown.first().is_some_and(|part| part.title == node),
    )?;
    let slots: Vec<&Part> = shown
        .iter()
        .filter(|part| part.title.contains("CP Pipe"))
        .collect();
    check(
        "each hardware queue has all its registers",
        !slots.is_empty() && slots.iter().all(|part| part.words.len() == HQD_REGISTERS),
    )?;
    // The scheduler's own queue, from which run lists come; MES shows none.
    let own: Vec<&Part> = shown
        .iter()
        .filter(|part| part.title.contains("HIQ on MEC"))
        .collect();
    let lists = gpu.target().starts_with("gfx9");
    check(
        "the scheduler's own queue is shown with its registers, and is active",
        own.len() == if lists { xccs } else { 0 }
            && own.iter().all(|part| {
                part.words.len() == HQD_REGISTERS
                    && part.words.get(ACTIVE).is_some_and(|word| word & 1 != 0)
            }),
    )?;
    let active: Vec<&&Part> = slots
        .iter()
        .filter(|part| part.words.get(ACTIVE).is_some_and(|word| word & 1 != 0))
        .collect();
    println!(
        "active: {:?}",
        active.iter().map(|part| &part.title).collect::<Vec<_>>()
    );
    check("as many are active as MQDs", active.len() == QUEUES * xccs)?;
    for made in made.iter().take(QUEUES) {
        let count = active
            .iter()
            .filter(|part| is_queue(&part.words, made))
            .count();
        check(
            "a queue is active on each XCC, with its ring and doorbell",
            count == xccs,
        )?;
    }
    Ok(())
}

/// The copy queue is on one of the engines' queues, of which all are shown.
fn check_copying(gpu: &Gpu, made: &Made) -> Result<(), Failure> {
    let shown = SDMA_SHOWN
        .iter()
        .find(|(chip, ..)| gpu.target().starts_with(chip));
    let (_, bell, count) = shown.ok_or_else(|| Failure::new("another chip"))?;
    let parts = parts(&read("hqds")?).into_iter();
    let queues: Vec<Part> = parts.filter(|part| part.title.contains("RLC")).collect();
    let of = |name| gpu.node().property(name);
    let engines = of("num_sdma_engines") + of("num_sdma_xgmi_engines");
    let titles = (0..engines)
        .flat_map(|e| (0..SDMA_QUEUES).map(move |q| format!("  SDMA Engine {e}, RLC {q}")));
    check(
        "each queue of a copy engine is shown with all its registers",
        titles.eq(queues.iter().map(|part| part.title.clone()))
            && queues.iter().all(|part| part.words.len() == *count),
    )?;
    let ring = Some(field(made, "ring_base_address"));
    let mine = queues
        .iter()
        .filter(|part| base(&part.words, SDMA_BASE) == ring);
    let [mine] = mine.collect::<Vec<_>>()[..] else {
        return Err(Failure::new("the copy queue's ring is not on one queue"));
    };
    println!("copies: {}", mine.title.trim());
    let word = |at: usize| mine.words.get(at).copied().unwrap_or(0);
    let control = word(SDMA_CONTROL);
    // CAST: The low bits.
    let wanted = field(made, "doorbell_offset") as u32 & IN_SLICE;
    check(
        "it runs, with the ring and the doorbell that the program was given",
        control & 1 == 1
            && 4 << ((control >> 1) & 0x1f) == field(made, "ring_size")
            && word(*bell) & IN_SLICE == wanted,
    )
}

fn check_run_list(mqds: &[Vec<u32>], lists: bool) -> Result<(), Failure> {
    let shown = parts(&read("rls")?);
    let Some([_, rest @ ..]) = shown.get(..) else {
        return Err(Failure::new("rls is empty"));
    };
    if !lists {
        let none = rest.iter().any(|part| part.title == "  No active runlist");
        return check("there is no run list", none);
    }
    let words = shown.first().map_or(&[][..], |part| &part.words);
    let listed = |mqd: &Vec<u32>| words.windows(2).any(|pair| pair == mqd.as_slice());
    check("the run list has each queue's MQD", mqds.iter().all(listed))
}

/// Megabytes in use and the limit.
fn limit() -> Result<(u64, u64), Failure> {
    let text = read("mem_limit")?;
    let line = text.lines().next().unwrap_or_default();
    let numbers = line
        .strip_prefix("System mem used ")
        .and_then(|rest| rest.split_once("M out of "))
        .and_then(|(used, limit)| {
            Some((used.parse().ok()?, limit.strip_suffix('M')?.parse().ok()?))
        });
    numbers.ok_or_else(|| Failure::new(format_args!("mem_limit shows {line:?}")))
}

fn check_memory(gpu: &Gpu) -> Result<(), Failure> {
    const MEGABYTES: u64 = 32;
    let (before, most) = limit()?;
    let _more = gpu.alloc_in::<u8>(Memory::Gtt, (MEGABYTES << 20) as usize)?;
    let (after, _) = limit()?;
    println!("{before} M, then {after} M of {most} M");
    check(
        "mem_limit counts system memory",
        after == before + MEGABYTES && after <= most,
    )
}

fn run() -> Result<(), Failure> {
    let code = code_object()?;
    let made = Arc::new(Mutex::new(Vec::<Made>::new()));
    let seen = made.clone();
    observe(move |step| {
        let Step::Ioctl(request) = step else { return };
        if request.name() == ioctl::CREATE_QUEUE.info.name {
            let fields = request.fields().into_iter();
            let made = fields.map(|(name, _, value)| (name, value)).collect();
            seen.lock()
                .unwrap_or_else(PoisonError::into_inner)
                .push(made);
        }
    });
    let gpu = Gpu::open()?;
    let module = gpu.load(&code)?;
    let kernel = module.kernel(KERNEL)?;
    let queues: Vec<Queue> = (0..QUEUES)
        .map(|_| gpu.queue(QueueOptions::new().packets(64)))
        .collect::<Result<_, _>>()?;
    let _copies = gpu.copy_queue()?;
    for (i, queue) in queues.iter().enumerate() {
        let add = VectorAdd::new(&gpu, ELEMENTS, i)?;
        add.dispatch(queue, &kernel)
            .submit()?
            .wait_timeout(PATIENCE)?;
        add.verify()?;
    }
    let made = made.lock().unwrap_or_else(PoisonError::into_inner);
    let xccs = gpu.node().xccs() as usize;
    let mqds = check_mqds(&gpu, &made, xccs)?;
    check_hqds(&gpu, &made, xccs)?;
    let copies = made
        .get(QUEUES)
        .ok_or_else(|| Failure::new("no copy queue was made"))?;
    check_copying(&gpu, copies)?;
    check_run_list(&mqds, gpu.target().starts_with("gfx9"))?;
    check_memory(&gpu)
}

fn main() -> ExitCode {
    report("shown", run)
}
