// SPDX-License-Identifier: MIT OR Apache-2.0

//! In which order a debugger hears of exceptions: a page fault before an error that a queue meets after it, also while the
//! scheduler is busy with another program's fault.

use super::debugger::Debugger;
use super::target::{Target, NOWHERE};
use super::{load, lost};
use rkfd::{Address, Buffer, Gpu, Queue, QueueOptions, Signal, Submission};
use rkfd_programs::other::Other;
use rkfd_programs::{check, Failure};
use rkfd_uapi::debug;
use std::time::Duration;

/// How long an interrupt takes at most, and less than the scheduler takes to answer in this scenario.
const BRIEFLY: Duration = Duration::from_millis(200);

/// What the debugged program does wrong.
pub struct Misdeeds {
    astray: Queue,
    flag: Buffer<u32>,
    _bad: Queue,
    gate: Signal,
    _barrier: Submission,
    work: Vec<Submission>,
}

impl Misdeeds {
    /// A queue for a kernel that faults, and one with a packet that is wrong behind a closed barrier.
    pub fn prepare(target: &Target) -> Result<Self, Failure> {
        let gpu = &target.gpu;
        let bad = gpu.queue(QueueOptions::default())?;
        let (gate, flag) = (gpu.signal(1)?, gpu.upload(&[1u32])?);
        let barrier = bad.barrier_and(&[&gate])?;
        let kernel = target.spin.kernel("spin")?;
        let wrong = bad.dispatch(&kernel).blocks(1).block(32);
        let wrong = wrong.arg(&flag).arg(&flag).submit()?;
        let slot = wrong.index().ok_or_else(lost)? % u64::from(bad.packets());
        let dimensions = (bad.addresses().0 + slot * 64 + 2) as *mut u16;
        // SAFETY: This is the packet's second half word, inside the queue's ring.
        unsafe { dimensions.write_volatile(0) };
        Ok(Self {
            astray: gpu.queue(QueueOptions::default())?,
            flag,
            _bad: bad,
            gate,
            _barrier: barrier,
            work: vec![wrong],
        })
    }

    /// A page fault, and then the packet.
    pub fn happen(&mut self, target: &Target) -> Result<(), Failure> {
        self.work
            .push(stray(&target.spin, &self.astray, &self.flag)?);
        std::thread::sleep(BRIEFLY);
        self.gate.set(0);
        Ok(())
    }
}

/// A kernel that writes where nothing is.
fn stray(spin: &rkfd::Module, queue: &Queue, flag: &Buffer<u32>) -> Result<Submission, Failure> {
    let kernel = spin.kernel("spin")?;
    let dispatch = queue.dispatch(&kernel).blocks(1).block(32);
    Ok(dispatch.arg(flag).arg(Address(NOWHERE)).submit()?)
}

/// Hears of the other program's fault and bad packet, while the scheduler takes this one's own queue off for a fault.
pub fn hears_in_order(gpu: &Gpu, debugger: &Debugger, other: &mut Other) -> Result<(), Failure> {
    other.ask("prepare")?;
    check("it has prepared", other.read()? == "prepared")?;
    let (queue, flag) = (gpu.queue(QueueOptions::default())?, gpu.upload(&[1u32])?);
    let _fault = stray(&load(gpu, 1)?, &queue, &flag)?;
    std::thread::sleep(BRIEFLY);
    other.ask("misbehave")?;
    check("it has done wrong", other.read()? == "done")?;
    let packet = debug::exception_mask(debug::EC_QUEUE_PACKET_DISPATCH_DIM_INVALID);
    let fault = debug::exception_mask(debug::EC_DEVICE_MEMORY_VIOLATION);
    let (mut heard, mut gpu_id) = (0, 0);
    // The fault stays raised, so that it can be asked about.
    while heard & packet == 0 {
        match debugger.query(!fault) {
            Ok(its) => {
                heard |= its.exception_mask;
                std::thread::sleep(BRIEFLY / 20);
            }
            Err(libc::EAGAIN) => debugger.wake()?,
            Err(errno) => {
                return Err(Failure::new(format_args!(
                    "QUERY_DEBUG_EVENT: errno {errno}"
                )))
            }
        }
    }
    // Upstream, too, tells of queues first.
    while let Ok(its) = debugger.query(!fault) {
        heard |= its.exception_mask;
        if its.exception_mask & fault != 0 {
            gpu_id = its.gpu_id;
            break;
        }
    }
    println!("heard with the packet's error, or before: {heard:#x}");
    check(
        "who hears of the packet has heard of the fault before it",
        heard & fault != 0,
    )?;
    passes_on(debugger, other, gpu_id)
}

/// What is known of the fault, to the debugger and then to the other program.
fn passes_on(debugger: &Debugger, other: &mut Other, gpu_id: u32) -> Result<(), Failure> {
    let known = debugger.fault(gpu_id)?;
    println!("the fault: {known:x?}");
    check(
        "where it was, that nothing is there, and which GPU",
        known.va == NOWHERE && known.failure.not_present == 1 && known.gpu_id == gpu_id,
    )?;
    let shown = |file: &str, what: String| {
        let text = std::fs::read_to_string(format!("/sys/kernel/debug/rkfd/{file}"));
        text.map(|text| text.contains(&what)).map_err(Failure::new)
    };
    let lasting = |n| format!("process {} gpu {gpu_id} evictions {n} ", debugger.pid);
    check(
        "the program goes on as long as the debugger has the fault",
        shown("evictions", lasting(0))?,
    )?;
    debugger.send_fault(gpu_id)?;
    other.ask("faulted")?;
    check("the program hears of it", other.numbers()? == [NOWHERE])?;
    check(
        "and its queues are off",
        shown("evictions", lasting(1))?
            && shown("queues", format!("    fault {NOWHERE:#x} write absent\n"))?,
    )
}
