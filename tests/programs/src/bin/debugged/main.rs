// SPDX-License-Identifier: MIT OR Apache-2.0

//! A program debugs another (DBG_TRAP).
//!
//! `debugged SPIN ILLEGAL VADD`: the debugger. It starts the other one, traces it, attaches, and lets its runtime
//! begin. It suspends a queue in the middle of a kernel: the waves stand still, and the queue's save area has
//! their program counters. It resumes the queue, watches addresses of which a wave touches one, has waves begin
//! halted, hears of a trap before the program does, and passes it on. It leaves, comes back, and outlives the
//! program's death.
//!
//! `debugged SPIN ILLEGAL order`: the debugger again. It hears of a page fault before an error that came later.
//!
//! `debugged SPIN ILLEGAL resume`: the debugger again. It resumes a queue while the program, which destroys it, is about
//! to wait for that.
//!
//! `debugged SPIN ILLEGAL target`: the other one. It does what it reads line by line, and answers each line with
//! one.

mod debugger;
mod order;
mod resume;
mod target;

use debugger::Debugger;
use rkfd::{Gpu, Module, QueueOptions};
use rkfd_programs::other::Other;
use rkfd_programs::{check, report, Failure, VectorAdd, KERNEL, PATIENCE};
use rkfd_uapi::debug;
use std::fs::File;
use std::process::ExitCode;
use target::{ITEMS, NOWHERE, R_DEBUG, TOUCHING};

/// Lanes of the widest waves.
const LANES: u32 = 64;
/// How long an exception may take, in milliseconds.
const SOON: i32 = 60_000;

fn argument(n: usize) -> Result<String, Failure> {
    let argument = std::env::args().nth(n);
    argument.ok_or_else(|| Failure::new(format_args!("argument {n} is missing")))
}

fn load(gpu: &Gpu, n: usize) -> Result<Module, Failure> {
    let code = std::fs::read(argument(n)?).map_err(Failure::new)?;
    Ok(gpu.load(&code)?)
}

fn kfd() -> Result<File, Failure> {
    let file = File::options().read(true).write(true).open("/dev/kfd");
    file.map_err(Failure::new)
}

fn lost() -> Failure {
    Failure::new("nothing there")
}

/// Attaches and sees the runtime begin.
fn handshake(debugger: &Debugger, other: &mut Other) -> Result<(), Failure> {
    check(
        "whoever isn't traced can't be debugged",
        debugger.enable() == Err(libc::EPERM),
    )?;
    // SAFETY: A request about a child of this program's.
    let traced = unsafe {
        libc::ptrace(
            libc::PTRACE_SEIZE,
            debugger.pid as libc::pid_t,
            0usize,
            0usize,
        )
    };
    check("the other program is traced", traced == 0)?;
    let before = debugger.enable();
    check(
        "it has no runtime yet",
        before == Ok(debug::RuntimeInfo::default()),
    )?;
    check("only once", debugger.enable() == Err(libc::EALREADY))?;
    other.ask("runtime")?;
    debugger.wake()?;
    let runtime = debug::exception_mask(debug::EC_PROCESS_RUNTIME);
    let raised = debugger
        .query(0)
        .map(|its| (its.exception_mask, its.gpu_id, its.queue_id));
    check("its runtime begins", raised == Ok((runtime, 0, 0)))?;
    let mut info = debug::RuntimeInfo::default();
    let mut its = debug::DbgTrapQueryExceptionInfoArgs {
        info_ptr: (&raw mut info) as u64,
        info_size: size_of_val(&info) as u32,
        exception_code: debug::EC_PROCESS_RUNTIME,
        clear_exception: 1,
        ..Default::default()
    };
    debugger.must(
        "QUERY_EXCEPTION_INFO",
        debug::OP_QUERY_EXCEPTION_INFO,
        &mut its,
    )?;
    println!("the runtime: {info:x?}");
    check(
        "it has declared its address",
        (info.r_debug, info.runtime_state) == (R_DEBUG, debug::RUNTIME_STATE_ENABLED),
    )?;
    check(
        "nothing else was raised",
        debugger.query(0).err() == Some(libc::EAGAIN),
    )?;
    debugger.send(debug::EC_PROCESS_RUNTIME, 0)?;
    check("the program goes on", other.read()? == "declared")
}

/// Suspends a queue in the middle of a kernel.
fn suspends(debugger: &Debugger, other: &mut Other) -> Result<(), Failure> {
    other.ask("spin")?;
    let [id, ring, save] = other.numbers()?[..] else {
        return Err(lost());
    };
    let id = id as u32;
    let entries = debugger.queues()?;
    let entry = entries.iter().find(|entry| entry.ring_base_address == ring);
    println!("the queue: {entry:x?}");
    check(
        "the queue is new, and where the program has it",
        entry.is_some_and(|it| {
            (it.queue_id, it.ctx_save_restore_address) == (id, save)
                && it.exception_status == debug::exception_mask(debug::EC_QUEUE_NEW)
        }),
    )?;
    debugger.suspend(id)?;
    other.ask("look")?;
    let found = other.numbers()?;
    println!("program counters in the save area: {found:?}");
    check(
        "every wave's program counter is there",
        found.iter().all(|found| *found >= u64::from(ITEMS / LANES)),
    )?;
    debugger.resume(id)?;
    debugger.suspend(id)?;
    debugger.resume_all()?;
    other.ask("go")?;
    check("the kernel goes on, and ends", other.read()? == "ended")
}

/// Addresses that a GPU watches at a time (`MAX_WATCH_ADDRESSES` of kfd_debug.c).
const WATCHES: u32 = 4;

/// A wave touches a watched address, and waves begin halted.
fn watches(debugger: &Debugger, other: &mut Other) -> Result<(), Failure> {
    let watched = debug::TRAP_MASK_ADDRESS_WATCH;
    let mut its = debug::DbgTrapSetWaveLaunchOverrideArgs {
        override_mode: debug::OVERRIDE_OR,
        enable_mask: watched,
        support_request_mask: watched,
        pad: 0,
    };
    let op = debug::OP_SET_WAVE_LAUNCH_OVERRIDE;
    debugger.must("SET_WAVE_LAUNCH_OVERRIDE", op, &mut its)?;
    check(
        "no exception was chosen before",
        its.enable_mask == 0 && its.support_request_mask & watched != 0,
    )?;
    (0..WATCHES).try_for_each(|last| watch(debugger, other, last))?;

    for (mode, wanted) in [
        (debug::LAUNCH_MODE_HALT, [0, 0]),
        (debug::LAUNCH_MODE_NORMAL, [u64::from(TOUCHING), 1]),
    ] {
        debugger.launch(mode)?;
        println!("launch mode {mode}");
        check("its waves are halted or not", begins(other)? == wanted)?;
    }
    Ok(())
}

/// A wave touches the address of this watch of a GPU's. Those before it watch where no wave comes.
fn watch(debugger: &Debugger, other: &mut Other, last: u32) -> Result<(), Failure> {
    let [id, gpu, at] = placed(other)?;
    for number in 0..=last {
        let mut its = debug::DbgTrapSetNodeAddressWatchArgs {
            address: if number == last { at } else { NOWHERE },
            mode: debug::WATCH_MODE_ALL,
            mask: u32::MAX,
            gpu_id: gpu as u32,
            id: u32::MAX,
        };
        let op = debug::OP_SET_NODE_ADDRESS_WATCH;
        debugger.must("SET_NODE_ADDRESS_WATCH", op, &mut its)?;
        check("watches are numbered from 0", its.id == number)?;
    }
    println!("watch {last} of {WATCHES}");
    other.ask("touch")?;
    check("a kernel begins", other.read()? == "begun")?;
    let raised = debugger.exception(debug::EC_QUEUE_WAVE_TRAP)?;
    println!("raised: {raised:x?}");
    check(
        "a wave of the queue met the watch",
        u64::from(raised.queue_id) == id,
    )?;
    other.ask("touched")?;
    check(
        "it stands behind the access",
        other.numbers()? == [u64::from(TOUCHING), 0],
    )?;
    let clear = |id| {
        let mut its = debug::DbgTrapClearNodeAddressWatchArgs {
            gpu_id: gpu as u32,
            id,
        };
        debugger.operate(debug::OP_CLEAR_NODE_ADDRESS_WATCH, &mut its)
    };
    (0..=last).try_for_each(|number| {
        check(
            "a watch ends once",
            (clear(number), clear(number)) == (Ok(0), Err(libc::EINVAL)),
        )
    })
}

/// Whether trap handlers are told of a debugger, by a kernel that waits until they are.
fn is_noticed(other: &mut Other) -> Result<bool, Failure> {
    other.ask("notice")?;
    let numbers = other.numbers()?;
    println!("the kernel that waits for a debugger has counted and ended: {numbers:?}");
    match numbers[..] {
        [counted, ended] if counted == u64::from(TOUCHING) => Ok(ended == 1),
        _ => Err(Failure::new("it has not begun")),
    }
}

/// A kernel begins: what it has counted after a while, and whether it has ended.
fn begins(other: &mut Other) -> Result<Vec<u64>, Failure> {
    placed(other)?;
    other.ask("touch")?;
    check("another begins", other.read()? == "begun")?;
    other.ask("touched")?;
    let numbers = other.numbers()?;
    println!("it has counted and ended: {numbers:?}");
    Ok(numbers)
}

/// Where the other program's next kernel counts: its queue, its GPU, and the address.
fn placed(other: &mut Other) -> Result<[u64; 3], Failure> {
    other.ask("place")?;
    other.numbers()?.try_into().map_err(|_| lost())
}

/// Hears of a trap before the program does.
fn hears(debugger: &Debugger, other: &mut Other) -> Result<(), Failure> {
    other.ask("trap")?;
    let [id] = other.numbers()?[..] else {
        return Err(lost());
    };
    let raised = debugger.exception(debug::EC_QUEUE_WAVE_ABORT)?;
    println!("raised: {raised:x?}");
    check("it is the queue's", u64::from(raised.queue_id) == id)?;
    debugger.send(debug::EC_QUEUE_WAVE_ABORT, raised.queue_id)?;
    other.ask("told")?;
    let word = other.numbers()?;
    check(
        "the program hears of exactly this",
        word == [debug::exception_mask(debug::EC_QUEUE_WAVE_ABORT)],
    )
}

/// The runtime ends: what the debugger changed of waves goes with it (`kfd_runtime_disable`).
fn runtime_ends(debugger: &Debugger, other: &mut Other) -> Result<(), Failure> {
    debugger.launch(debug::LAUNCH_MODE_HALT)?;
    other.ask("no runtime")?;
    debugger.exception(debug::EC_PROCESS_RUNTIME)?;
    debugger.send(debug::EC_PROCESS_RUNTIME, 0)?;
    check("the program goes on", other.read()? == "declared")?;
    check(
        "waves begin as without a debugger",
        begins(other)? == [u64::from(TOUCHING), 1],
    )?;
    check("trap handlers know of none", !is_noticed(other)?)
}

fn debugger() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let mut other = Other::start([argument(1)?, argument(2)?, "target".into()])?;
    let debugger = Debugger::new(other.pid())?;
    handshake(&debugger, &mut other)?;
    check(
        "trap handlers know of the debugger",
        is_noticed(&mut other)?,
    )?;
    suspends(&debugger, &mut other)?;
    watches(&debugger, &mut other)?;
    hears(&debugger, &mut other)?;

    debugger.launch(debug::LAUNCH_MODE_HALT)?;
    check("it detaches", debugger.disable() == Ok(0))?;
    check(
        "waves begin as without a debugger",
        begins(&mut other)? == [u64::from(TOUCHING), 1],
    )?;
    check(
        "there is nothing to detach from",
        debugger.disable() == Err(libc::EINVAL),
    )?;
    check("trap handlers know that it left", !is_noticed(&mut other)?)?;
    let again = debugger
        .enable()
        .map(|info| (info.r_debug, info.runtime_state));
    check(
        "it comes back, and finds the runtime",
        again == Ok((R_DEBUG, debug::RUNTIME_STATE_ENABLED)),
    )?;
    check(
        "trap handlers know that it is back",
        is_noticed(&mut other)?,
    )?;
    runtime_ends(&debugger, &mut other)?;
    other.kill()?;
    check(
        "the program is gone",
        debugger.disable() == Err(libc::ESRCH),
    )?;

    let queue = gpu.queue(QueueOptions::default())?;
    let kernel = load(&gpu, 3)?.kernel(KERNEL)?;
    let add = VectorAdd::new(&gpu, 4096, 1)?;
    add.dispatch(&queue, &kernel)
        .submit()?
        .wait_timeout(PATIENCE)?;
    add.verify()
}

/// Does something as the debugger of a program whose runtime has begun.
fn attached(f: impl FnOnce(&Debugger, &mut Other) -> Result<(), Failure>) -> Result<(), Failure> {
    let mut other = Other::start([argument(1)?, argument(2)?, "target".into()])?;
    let debugger = Debugger::new(other.pid())?;
    handshake(&debugger, &mut other)?;
    f(&debugger, &mut other)?;
    other.kill()
}

fn order() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    attached(|debugger, other| order::hears_in_order(&gpu, debugger, other))
}

fn main() -> ExitCode {
    match std::env::args().nth(3).as_deref() {
        Some("order") => report("debugged", order),
        Some("resume") => report("debugged", || attached(resume::just_before_the_wait)),
        Some("target") => match target::run() {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                eprintln!("the other program: {failure}");
                ExitCode::FAILURE
            }
        },
        _ => report("debugged", debugger),
    }
}
