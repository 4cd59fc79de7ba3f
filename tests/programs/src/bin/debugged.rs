// SPDX-License-Identifier: MIT OR Apache-2.0

//! A program debugs another (DBG_TRAP).
//!
//! `debugged SPIN ILLEGAL VADD`: the debugger. It starts the other one, traces it, attaches, and lets its runtime
//! begin. It suspends a queue in the middle of a kernel: the waves stand still, and the queue's save area has
//! their program counters. It resumes the queue, watches an address that a wave touches, has waves begin halted, hears of a trap before the program does, and passes it on. It
//! leaves, comes back, and outlives the program's death.
//!
//! `debugged SPIN ILLEGAL target`: the other one. It does what it reads line by line, and answers each line with
//! one.

use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};
use std::process::ExitCode;
use std::time::Duration;

use rkfd::{Buffer, Gpu, Kernel, Module, Queue, QueueOptions, Signal, Submission};
use rkfd_programs::other::{self, Other};
use rkfd_programs::raw::{self, call, errno};
use rkfd_programs::spin::Spin;
use rkfd_programs::{check, report, Failure, VectorAdd, KERNEL, PATIENCE};
use rkfd_uapi::abi::Abi;
use rkfd_uapi::{debug, ioctl};

/// Work-items of the kernel that is suspended, and lanes of the widest waves.
const ITEMS: u32 = 1024;
const LANES: u32 = 64;
/// Work-items of those that touch a watched address.
const TOUCHING: u32 = 32;
/// What the runtime declares.
const R_DEBUG: u64 = 0x1234_5678;
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

/// What the debugged program has at a time.
struct Target {
    kfd: File,
    gpu: Gpu,
    spin: Module,
    traps: Kernel,
    queue: Option<Queue>,
    spinning: Option<Spin>,
    trapping: Option<(Queue, Submission, Buffer<u64>, Signal)>,
    touching: Vec<Touching>,
}

/// A kernel that counts its work-items in a word, and ends at once.
struct Touching {
    queue: Queue,
    flag: Buffer<u32>,
    seen: Buffer<u32>,
    work: Option<Submission>,
}

impl Target {
    fn new() -> Result<Self, Failure> {
        let gpu = Gpu::open()?;
        Ok(Self {
            kfd: kfd()?,
            spin: load(&gpu, 1)?,
            traps: load(&gpu, 2)?.kernel("traps")?,
            gpu,
            queue: None,
            spinning: None,
            trapping: None,
            touching: Vec::new(),
        })
    }

    fn answer(&mut self, line: &str) -> Result<String, Failure> {
        match line {
            "runtime" => self.runtime(),
            "spin" => self.spin(),
            "look" => self.look(),
            "go" => {
                let spin = self.spinning.take().ok_or_else(lost)?;
                spin.work.wait_timeout(PATIENCE)?;
                Ok("ended".into())
            }
            "trap" => self.trap(),
            "told" => self.told(),
            "place" => self.place(),
            "touch" => self.touch(),
            "touched" => self.touched(),
            _ => Err(Failure::new(format_args!("{line:?} is no request"))),
        }
    }

    /// Waits until the debugger has taken note.
    fn runtime(&mut self) -> Result<String, Failure> {
        let mut args = debug::RuntimeEnableArgs {
            r_debug: R_DEBUG,
            mode_mask: debug::RUNTIME_ENABLE_MODE_ENABLE_MASK,
            ..Default::default()
        };
        call(&self.kfd, &ioctl::RUNTIME_ENABLE, &mut args).map_err(errno("RUNTIME_ENABLE"))?;
        Ok("enabled".into())
    }

    fn spin(&mut self) -> Result<String, Failure> {
        let queue = self.gpu.queue(QueueOptions::default())?;
        let spin = Spin::start(&queue, &self.spin.kernel("spin")?, ITEMS)?;
        let (ring, save) = (queue.addresses().0, queue.save_area());
        let answer = format!("{} {ring} {save}", queue.id());
        (self.spinning, self.queue) = (Some(spin), Some(queue));
        Ok(answer)
    }

    /// Lets the waves end, which they don't, and counts the program counters in the queue's save area.
    fn look(&mut self) -> Result<String, Failure> {
        let spin = self.spinning.as_ref().ok_or_else(lost)?;
        let queue = self.queue.as_ref().ok_or_else(lost)?;
        spin.release();
        std::thread::sleep(Duration::from_millis(200));
        check("the waves stand still", !spin.work.is_done())?;
        let node = self.gpu.node();
        let code = self.spin.address();
        let code = code..code + 0x1_0000;
        let mut found = 0;
        for xcc in 0..u64::from(node.xccs().max(1)) {
            let base = queue.save_area() + xcc * node.property("cwsr_size");
            // SAFETY: The queue's save area is mapped as a whole, and its header's sizes were checked to lie
            // inside by the driver, which the loop's bounds repeat.
            let word = |at: u64| unsafe { ((base + at) as *const u32).read_volatile() };
            let [stack_at, stack, end, waves] = [0, 4, 8, 12].map(word);
            println!("# XCC {xcc}: control stack {stack} bytes at {stack_at:#x}, waves {waves} bytes, up to {end:#x}");
            let inside = u64::from(end) <= node.property("cwsr_size") && waves <= end;
            check("the header names a part of the area", inside)?;
            let pair = |at: u64| u64::from(word(at)) | (u64::from(word(at + 4) & 0xffff) << 32);
            let places = (u64::from(end - waves)..u64::from(end).saturating_sub(4)).step_by(4);
            found += places.filter(|at| code.contains(&pair(*at))).count();
        }
        Ok(found.to_string())
    }

    /// Where a kernel will count: its queue, its GPU, and the word's address.
    fn place(&mut self) -> Result<String, Failure> {
        let new = Touching {
            queue: self.gpu.queue(QueueOptions::default())?,
            flag: self.gpu.upload(&[1u32])?,
            seen: self.gpu.upload(&[0u32])?,
            work: None,
        };
        let answer = format!(
            "{} {} {}",
            new.queue.id(),
            self.gpu.id(),
            new.seen.address()
        );
        self.touching.push(new);
        Ok(answer)
    }

    fn touch(&mut self) -> Result<String, Failure> {
        let last = self.touching.last_mut().ok_or_else(lost)?;
        let kernel = self.spin.kernel("spin")?;
        let dispatch = last.queue.dispatch(&kernel).blocks(1).block(TOUCHING);
        last.work = Some(dispatch.arg(&last.flag).arg(&last.seen).submit()?);
        Ok("begun".into())
    }

    /// How far the kernel is after a while: what it has counted, and whether it has ended.
    fn touched(&mut self) -> Result<String, Failure> {
        std::thread::sleep(Duration::from_millis(300));
        let last = self.touching.last().ok_or_else(lost)?;
        let work = last.work.as_ref().ok_or_else(lost)?;
        let seen = last.seen.get(0).unwrap_or(0);
        Ok(format!("{seen} {}", u32::from(work.is_done())))
    }

    /// A work-group traps. The header of the queue's save area names a word and an event for that.
    fn trap(&mut self) -> Result<String, Failure> {
        let queue = self.gpu.queue(QueueOptions::default())?;
        let (word, event) = (self.gpu.upload(&[0u64])?, self.gpu.signal(1)?);
        let header = queue.save_area() as *mut u64;
        let id = event.event_id().ok_or_else(lost)?;
        // SAFETY: The save area is mapped at its address, and the queue has run nothing yet.
        unsafe {
            header.add(3).write_volatile(word.address());
            header.add(4).cast::<u32>().write_volatile(id);
        }
        let out = self.gpu.upload(&[0u32; 2])?;
        let dispatch = queue.dispatch(&self.traps).blocks(1).block(32);
        let work = dispatch.arg(&out).arg(0u32).submit()?;
        let answer = queue.id().to_string();
        self.trapping = Some((queue, work, word, event));
        Ok(answer)
    }

    /// Waits until the trap is passed on.
    fn told(&mut self) -> Result<String, Failure> {
        let (_, work, word, event) = self.trapping.as_ref().ok_or_else(lost)?;
        let id = event.event_id().ok_or_else(lost)?;
        let woken = raw::wait(&self.kfd, id, SOON as u32).map_err(errno("WAIT_EVENTS"))?;
        check("the event of the header is signalled", woken.is_some())?;
        check("the kernel doesn't end", !work.is_done())?;
        Ok(word.get(0).unwrap_or(0).to_string())
    }
}

fn lost() -> Failure {
    Failure::new("nothing there")
}

fn target() -> Result<(), Failure> {
    let mut target = Target::new()?;
    other::answer(|line| target.answer(line))
}

/// The debugger's side of the other program.
struct Debugger {
    kfd: File,
    pid: u32,
    events: File,
    bell: File,
}

impl Debugger {
    fn new(pid: u32) -> Result<Self, Failure> {
        let mut ends = [0; 2];
        // SAFETY: There is room for two descriptors, which nobody else owns afterwards.
        let (events, bell) = unsafe {
            match libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) {
                0 => (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])),
                _ => return Err(Failure::new("no pipe")),
            }
        };
        Ok(Self {
            kfd: kfd()?,
            pid,
            events,
            bell,
        })
    }

    /// An operation with its own arguments: what the request returns, or its errno.
    fn operate<T: Abi>(&self, op: u32, its: &mut T) -> Result<i32, i32> {
        let mut args = debug::DbgTrapArgs {
            pid: self.pid,
            op,
            ..Default::default()
        };
        let data = args.data.as_mut_ptr().cast::<T>();
        assert!(size_of::<T>() <= size_of_val(&args.data));
        let command = libc::c_ulong::from(ioctl::DBG_TRAP.command());
        // SAFETY: The arguments fit, are integers without padding, and point only at what lives until then.
        unsafe {
            data.write(*its);
            let returned = libc::ioctl(self.kfd.as_raw_fd(), command, &raw mut args);
            *its = args.data.as_ptr().cast::<T>().read();
            match returned {
                -1 => Err(*libc::__errno_location()),
                count => Ok(count),
            }
        }
    }

    fn must<T: Abi>(&self, what: &str, op: u32, its: &mut T) -> Result<i32, Failure> {
        let result = self.operate(op, its);
        result.map_err(|errno| Failure::new(format_args!("{what}: errno {errno}")))
    }

    /// Attaches, and returns what the other program has declared of its runtime, or the errno.
    fn enable(&self) -> Result<debug::RuntimeInfo, i32> {
        let mut info = debug::RuntimeInfo::default();
        let mut its = debug::DbgTrapEnableArgs {
            exception_mask: u64::MAX,
            rinfo_ptr: (&raw mut info) as u64,
            rinfo_size: size_of_val(&info) as u32,
            dbg_fd: self.bell.as_raw_fd() as u32,
        };
        self.operate(debug::OP_ENABLE, &mut its).map(|_| info)
    }

    fn disable(&self) -> Result<i32, i32> {
        self.operate(
            debug::OP_DISABLE,
            &mut debug::DbgTrapSetFlagsArgs::default(),
        )
    }

    /// Waits until the file has a byte, and empties it.
    fn wake(&self) -> Result<(), Failure> {
        let mut poll = libc::pollfd {
            fd: self.events.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: One descriptor, which is open.
        let ready = unsafe { libc::poll(&mut poll, 1, SOON) };
        check("the debugger's file is written to", ready == 1)?;
        let _ = (&self.events).read(&mut [0; 256]);
        Ok(())
    }

    /// The next exceptions; those in `dismissed` are taken from there.
    fn query(&self, dismissed: u64) -> Result<debug::DbgTrapQueryDebugEventArgs, i32> {
        let mut its = debug::DbgTrapQueryDebugEventArgs {
            exception_mask: dismissed,
            ..Default::default()
        };
        self.operate(debug::OP_QUERY_DEBUG_EVENT, &mut its)
            .map(|_| its)
    }

    /// Waits for an exception. All that come before are dismissed with it.
    fn exception(&self, code: u32) -> Result<debug::DbgTrapQueryDebugEventArgs, Failure> {
        loop {
            match self.query(u64::MAX) {
                Ok(its) if its.exception_mask & debug::exception_mask(code) != 0 => return Ok(its),
                Ok(_) => {}
                Err(libc::EAGAIN) => self.wake()?,
                Err(errno) => {
                    return Err(Failure::new(format_args!(
                        "QUERY_DEBUG_EVENT: errno {errno}"
                    )))
                }
            }
        }
    }

    /// Passes exceptions on to the other program.
    fn send(&self, code: u32, queue_id: u32) -> Result<(), Failure> {
        let mut its = debug::DbgTrapSendRuntimeEventArgs {
            exception_mask: debug::exception_mask(code),
            queue_id,
            ..Default::default()
        };
        self.must("SEND_RUNTIME_EVENT", debug::OP_SEND_RUNTIME_EVENT, &mut its)?;
        Ok(())
    }

    /// Suspends a queue that is there, and one that isn't.
    fn suspend(&self, queue: u32) -> Result<(), Failure> {
        let mut list = [queue, 999];
        let mut its = debug::DbgTrapSuspendQueuesArgs {
            queue_array_ptr: list.as_mut_ptr() as u64,
            num_queues: 2,
            ..Default::default()
        };
        let count = self.must("SUSPEND_QUEUES", debug::OP_SUSPEND_QUEUES, &mut its)?;
        println!("suspended {count}: {list:#x?}");
        let invalid = 1 << debug::QUEUE_INVALID_BIT;
        check(
            "the queue is suspended, and the other marked",
            count == 1 && list == [queue, 999 | invalid],
        )
    }

    fn resume(&self, queue: u32) -> Result<(), Failure> {
        let mut list = [queue];
        let mut its = debug::DbgTrapResumeQueuesArgs {
            queue_array_ptr: list.as_mut_ptr() as u64,
            num_queues: 1,
            pad: 0,
        };
        let count = self.must("RESUME_QUEUES", debug::OP_RESUME_QUEUES, &mut its)?;
        check("the queue is resumed", count == 1 && list == [queue])
    }
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
    check("the program goes on", other.read()? == "enabled")
}

/// Suspends a queue in the middle of a kernel.
fn suspends(debugger: &Debugger, other: &mut Other) -> Result<(), Failure> {
    other.ask("spin")?;
    let [id, ring, save] = other.numbers()?[..] else {
        return Err(lost());
    };
    let id = id as u32;
    let mut entries = [debug::QueueSnapshotEntry::default(); 8];
    let mut its = debug::DbgTrapQueueSnapshotArgs {
        exception_mask: u64::MAX,
        snapshot_buf_ptr: entries.as_mut_ptr() as u64,
        num_queues: 8,
        entry_size: size_of_val(&entries[0]) as u32,
    };
    debugger.must("GET_QUEUE_SNAPSHOT", debug::OP_GET_QUEUE_SNAPSHOT, &mut its)?;
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
    other.ask("go")?;
    check("the kernel goes on, and ends", other.read()? == "ended")
}

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
    let [id, gpu, at] = placed(other)?;
    let mut its = debug::DbgTrapSetNodeAddressWatchArgs {
        address: at,
        mode: debug::WATCH_MODE_ALL,
        mask: u32::MAX,
        gpu_id: gpu as u32,
        id: 0,
    };
    let op = debug::OP_SET_NODE_ADDRESS_WATCH;
    debugger.must("SET_NODE_ADDRESS_WATCH", op, &mut its)?;
    let number = its.id;
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
    let clear = || {
        let mut its = debug::DbgTrapClearNodeAddressWatchArgs {
            gpu_id: gpu as u32,
            id: number,
        };
        debugger.operate(debug::OP_CLEAR_NODE_ADDRESS_WATCH, &mut its)
    };
    check(
        "the watch ends once",
        (clear(), clear()) == (Ok(0), Err(libc::EINVAL)),
    )?;

    let mode = |launch_mode| {
        let mut its = debug::DbgTrapSetWaveLaunchModeArgs {
            launch_mode,
            pad: 0,
        };
        let op = debug::OP_SET_WAVE_LAUNCH_MODE;
        debugger.must("SET_WAVE_LAUNCH_MODE", op, &mut its)
    };
    for (launch_mode, wanted) in [
        (debug::LAUNCH_MODE_HALT, [0, 0]),
        (debug::LAUNCH_MODE_NORMAL, [u64::from(TOUCHING), 1]),
    ] {
        mode(launch_mode)?;
        placed(other)?;
        other.ask("touch")?;
        check("another begins", other.read()? == "begun")?;
        other.ask("touched")?;
        let numbers = other.numbers()?;
        println!("launch mode {launch_mode}: {numbers:?}");
        check("its waves are halted or not", numbers == wanted)?;
    }
    Ok(())
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

fn debugger() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let mut other = Other::start([argument(1)?, argument(2)?, "target".into()])?;
    let debugger = Debugger::new(other.pid())?;
    handshake(&debugger, &mut other)?;
    suspends(&debugger, &mut other)?;
    watches(&debugger, &mut other)?;
    hears(&debugger, &mut other)?;

    check("it detaches", debugger.disable() == Ok(0))?;
    check(
        "there is nothing to detach from",
        debugger.disable() == Err(libc::EINVAL),
    )?;
    let again = debugger
        .enable()
        .map(|info| (info.r_debug, info.runtime_state));
    check(
        "it comes back, and finds the runtime",
        again == Ok((R_DEBUG, debug::RUNTIME_STATE_ENABLED)),
    )?;
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

fn main() -> ExitCode {
    match std::env::args().nth(3).as_deref() {
        Some("target") => match target() {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                eprintln!("the other program: {failure}");
                ExitCode::FAILURE
            }
        },
        _ => report("debugged", debugger),
    }
}
