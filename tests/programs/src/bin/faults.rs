// SPDX-License-Identifier: MIT OR Apache-2.0

//! What a program learns when its work fails on the GPU, and that other programs go on.
//!
//! `faults CODE-OBJECT memory [wave]`: a kernel writes where nothing is mapped, maybe of a single wave. The wait for it fails
//! with the address. KFD takes all queues of such a process off the GPU, those that it makes afterwards as well, so only
//! another process goes on.
//!
//! `faults CODE-OBJECT beyond`: a kernel writes past the end of its buffer, which lies between others. It
//! meets a fault, and the others are as they were.
//!
//! `faults CODE-OBJECT readonly`: a kernel reads memory that the program lends for reading, and then writes there. It
//! meets a fault, and the memory is as it was.
//!
//! `faults CODE-OBJECT packet`: an AQL packet without dimensions. The packet processor stops the
//! queue and stores why in the queue's inactive signal. The program has declared a runtime
//! (RUNTIME_ENABLE), so the driver also adds the error to the word that the save area's header names,
//! and signals the event that this header names. Another queue of the process goes on.
//!
//! `faults CODE-OBJECT instruction ILLEGAL`: a kernel has an instruction that the GPU doesn't know.
//! Its wave enters the trap handler, which leaves the error in the queue's inactive signal, wakes
//! whoever waits, and halts the wave. Another queue goes on.
//!
//! `faults CODE-OBJECT trap ILLEGAL`: the same for a kernel that traps (`__builtin_trap`), in one
//! work-item of a later work-group. The debugger's trap, which comes before it, does nothing.
//!
//! `faults CODE-OBJECT exception ILLEGAL`: both of these, in a program that has declared a runtime.
//! The trap handler's message names queue and exception to the driver, and the driver reports them to
//! the program as it does for a bad packet. Without a runtime the driver takes the same message for
//! that of an event without an id, and looks through all events of the process.
//!
//! `faults CODE-OBJECT unhandled ILLEGAL`: the program takes its trap handler away while it has a queue. From then
//! on waves have the driver's alone: a debugger's trap does nothing, and a wave with an instruction that the GPU
//! doesn't know halts, which nobody learns.
//!
//! `faults CODE-OBJECT hang`: the scheduler doesn't answer any more. The program learns it by a
//! hardware exception event.

use std::fs::File;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use rkfd::{Address, Buffer, Error, Gpu, Kernel, Queue, QueueOptions, Signal, Submission};
use rkfd_programs::raw::{self, call, errno};
use rkfd_programs::{check, code_object, report, Failure, VectorAdd, BLOCK, KERNEL, PATIENCE};
use rkfd_uapi::{amdgpu, debug, device, event, ioctl, memory};

const ELEMENTS: usize = 4096;
/// Work-items that are one wave on every chip.
const WAVE: u32 = 32;
/// An address at which nothing is mapped.
const NOWHERE: u64 = 0x1234_0000_0000;
/// Adds vectors and compares every sum.
fn add(queue: &Queue, kernel: &Kernel, seed: usize) -> Result<(), Failure> {
    let add = VectorAdd::new(queue.gpu(), ELEMENTS, seed)?;
    let work = add.dispatch(queue, kernel).submit()?;
    work.wait_timeout(PATIENCE)?;
    add.verify()
}

/// Another process adds vectors.
fn other_process() -> Result<(), Failure> {
    let mut args = std::env::args().skip(1);
    let status = Command::new("/bin/vectoradd")
        .args(args.next())
        .arg(ELEMENTS.to_string())
        .status()
        .map_err(Failure::new)?;
    check("another process goes on", status.success())
}

struct Setup {
    kfd: File,
    gpu: Gpu,
    kernel: Kernel,
}

impl Setup {
    fn new() -> Result<Self, Failure> {
        let gpu = Gpu::open()?;
        let kernel = gpu.load(&code_object()?)?.kernel(KERNEL)?;
        let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
        Ok(Self { kfd, gpu, kernel })
    }

    fn queue(&self) -> Result<Queue, Failure> {
        Ok(self.gpu.queue(QueueOptions::default())?)
    }

    /// Declares that the program has a runtime. There must be no queues yet.
    fn enable_runtime(&self) -> Result<(), Failure> {
        let mut runtime = debug::RuntimeEnableArgs {
            mode_mask: debug::RUNTIME_ENABLE_MODE_ENABLE_MASK,
            ..Default::default()
        };
        call(&self.kfd, &ioctl::RUNTIME_ENABLE, &mut runtime).map_err(errno("RUNTIME_ENABLE"))
    }

    /// Loads the kernel `name` from the code object ILLEGAL, whose kernels fail.
    fn failing(&self, name: &str) -> Result<Kernel, Failure> {
        let path = std::env::args().nth(3);
        let path = path.ok_or_else(|| Failure::new("the code object ILLEGAL is missing"))?;
        let code = std::fs::read(&path).map_err(Failure::new)?;
        Ok(self.gpu.load(&code)?.kernel(name)?)
    }
}

/// The word and the event by which the driver reports a queue's exceptions to a runtime.
struct Exceptions {
    word: Buffer<u64>,
    event: Signal,
}

impl Exceptions {
    /// Makes both, and names them in the header of the queue's save area.
    fn of(queue: &Queue) -> Result<Self, Failure> {
        let word = queue.gpu().upload(&[0u64])?;
        let event = queue.gpu().signal(1)?;
        let id = Self::id(&event)?;
        // The last members of the header: where errors go, and the event.
        let header = queue.save_area() as *mut u64;
        // SAFETY: The save area is mapped at its address, and the queue has run nothing yet.
        unsafe {
            header.add(3).write_volatile(word.address());
            header.add(4).cast::<u32>().write_volatile(id);
        }
        Ok(Self { word, event })
    }

    fn id(event: &Signal) -> Result<u32, Failure> {
        let id = event.event_id();
        id.ok_or_else(|| Failure::new("a signal without an event"))
    }

    fn none(&self) -> bool {
        self.word.get(0) == Some(0)
    }

    /// Waits for the event; the exception `code`, and no other, must have been reported.
    fn wait(&self, kfd: &File, code: u32) -> Result<(), Failure> {
        let woken = raw::wait(kfd, Self::id(&self.event)?, 20_000).map_err(errno("WAIT_EVENTS"))?;
        check(
            "the event that the header names is signalled",
            woken.is_some(),
        )?;
        let mask = 1u64 << (code - 1);
        println!(
            "errors of the queue: {:x?}, wanted {mask:#x}",
            self.word.get(0)
        );
        check(
            "exactly this error was reported",
            self.word.get(0) == Some(mask),
        )
    }
}

/// Writes an event's slot as the GPU does, but without an interrupt that names the event, so that it is
/// signalled only when the driver looks through all slots. Returns the event's id.
fn write_slot(event: &Signal) -> Result<u32, Failure> {
    let id = Exceptions::id(event)?;
    // SAFETY: A signal's third word is the address of its event's slot; both are mapped.
    unsafe {
        let slot = (event.address() as *const u64).add(2).read_volatile();
        (slot as *mut u64).write_volatile(id.into());
    }
    Ok(id)
}

fn memory() -> Result<(), Failure> {
    let s = Setup::new()?;
    let queue = s.queue()?;
    add(&queue, &s.kernel, 1)?;
    let own = raw::event(&s.kfd, event::EVENT_MEMORY).map_err(errno("CREATE_EVENT"))?;
    let a = VectorAdd::new(&s.gpu, ELEMENTS, 2)?;
    let (elements, block) = match std::env::args().nth(3).as_deref() {
        Some("wave") => (WAVE, WAVE),
        _ => (ELEMENTS as u32, BLOCK),
    };
    let dispatch = queue.dispatch(&s.kernel).blocks(elements / block);
    let dispatch = dispatch.block(block).arg(&a.a).arg(&a.b);
    let work = dispatch.arg(Address(NOWHERE)).arg(elements).submit()?;
    let result = work.wait_timeout(PATIENCE);
    println!("the wait: {result:?}");
    let range = NOWHERE..NOWHERE + (ELEMENTS * 4) as u64;
    check(
        "the wait fails with the GPU and the address",
        matches!(result, Err(Error::MemoryFault { gpu_id, address, .. })
            if gpu_id == s.gpu.id() && range.contains(&address)),
    )?;
    let data = raw::wait(&s.kfd, own, 0).map_err(errno("WAIT_EVENTS"))?;
    let data = data.map(|data| data.memory_exception());
    println!("the program's own memory event: {data:x?}");
    check(
        "the process' memory event reports a store to an unmapped page, at exactly this address",
        data.is_some_and(|d| {
            (d.gpu_id, d.error_type) == (s.gpu.id(), event::MEM_ERR_NO_RAS)
                && (d.failure.not_present, d.failure.read_only) == (1, 1)
                && (d.failure.no_execute, d.failure.imprecise) == (0, 0)
                && range.contains(&d.va)
        }),
    )?;
    // The field RW of VM_L2_PROTECTION_FAULT_STATUS, the same on both chips.
    const STORE: u32 = 1 << 18;
    let fault = last_fault(&raw::render()?)?;
    println!("INFO of the address space's last fault: {fault:x?}");
    check(
        "INFO tells the same address, a store, and the graphics hub",
        range.contains(&fault.addr)
            && fault.status & STORE != 0
            && fault.vmhub & 0xff == amdgpu::VMHUB_TYPE_GFX,
    )?;
    let other = last_fault(&rkfd_programs::render_node()?)?;
    check(
        "another file's address space had none",
        (other.addr, other.status, other.vmhub) == (0, 0, 0),
    )?;
    raw::destroy_queue(&s.kfd, queue.id()).map_err(errno("DESTROY_QUEUE"))?;
    let next = s.queue()?;
    let work = a.dispatch(&next, &s.kernel).submit()?;
    std::thread::sleep(Duration::from_millis(200));
    check(
        "the process stays evicted: a queue that it makes when the first is gone doesn't run",
        !work.is_done(),
    )?;
    other_process()
}

/// What INFO answers about the last fault in a file's address space.
fn last_fault(render: &File) -> Result<amdgpu::InfoGpuvmFault, Failure> {
    let mut answer = amdgpu::InfoGpuvmFault::default();
    let mut args = amdgpu::Info {
        return_pointer: (&raw mut answer) as u64,
        return_size: std::mem::size_of_val(&answer) as u32,
        query: amdgpu::INFO_GPUVM_FAULT,
        ..Default::default()
    };
    call(render, &amdgpu::INFO, &mut args).map_err(errno("INFO"))?;
    Ok(answer)
}

fn beyond() -> Result<(), Failure> {
    /// A page of floats.
    const PAGE: usize = 1024;
    let s = Setup::new()?;
    let queue = s.queue()?;
    let a = VectorAdd::new(&s.gpu, ELEMENTS, 2)?;
    let mut pages = Vec::new();
    for _ in 0..9 {
        pages.push(s.gpu.upload(&[1.5f32; PAGE])?);
    }
    let target = &pages[4];
    let dispatch = queue.dispatch(&s.kernel).blocks(ELEMENTS as u32 / BLOCK);
    let dispatch = dispatch.block(BLOCK).arg(&a.a).arg(&a.b);
    let work = dispatch.arg(target).arg(ELEMENTS as u32).submit()?;
    let result = work.wait_timeout(PATIENCE);
    println!("the wait: {result:?}");
    let end = target.address() + (PAGE * 4) as u64;
    let past = end..target.address() + (ELEMENTS * 4) as u64;
    check(
        "the wait fails with an address past the buffer",
        matches!(result, Err(Error::MemoryFault { address, .. }) if past.contains(&address)),
    )?;
    for (n, page) in pages.iter().enumerate().filter(|(n, _)| *n != 4) {
        let same = page.to_vec()?.iter().all(|&value| value == 1.5);
        check(&format!("buffer {n} is as it was"), same)?;
    }
    other_process()
}

/// Memory of the program's own, which starts with a page.
#[repr(align(4096))]
struct Lent([f32; ELEMENTS]);

fn readonly() -> Result<(), Failure> {
    const VALUE: f32 = 1.5;
    let s = Setup::new()?;
    let queue = s.queue()?;
    let own = raw::event(&s.kfd, event::EVENT_MEMORY).map_err(errno("CREATE_EVENT"))?;
    let add = VectorAdd::new(&s.gpu, ELEMENTS, 2)?;
    let mut owned = Box::new(Lent([VALUE; ELEMENTS]));
    let lent = owned.0.as_mut_ptr();
    let flags = memory::ALLOC_USERPTR | memory::ALLOC_COHERENT;
    let bytes = size_of::<Lent>();
    let handle = raw::alloc(&s.kfd, s.gpu.id(), NOWHERE, bytes, lent as u64, flags);
    let handle = handle.map_err(errno("ALLOC_MEMORY_OF_GPU"))?;
    raw::map(&s.kfd, s.gpu.id(), handle).map_err(errno("MAP_MEMORY_TO_GPU"))?;

    let dispatch = || {
        let dispatch = queue.dispatch(&s.kernel).blocks(ELEMENTS as u32 / BLOCK);
        dispatch.block(BLOCK)
    };
    let reads = dispatch().arg(Address(NOWHERE)).arg(&add.b).arg(&add.c);
    let work = reads.arg(ELEMENTS as u32).submit()?;
    work.wait_timeout(PATIENCE)?;
    let (b, c) = (add.b.to_vec()?, add.c.to_vec()?);
    let sums = b.iter().zip(&c).all(|(b, c)| VALUE + b == *c);
    check("the GPU reads it", sums)?;

    let writes = dispatch().arg(&add.a).arg(&add.b).arg(Address(NOWHERE));
    let work = writes.arg(ELEMENTS as u32).submit()?;
    let result = work.wait_timeout(PATIENCE);
    println!("the wait: {result:?}");
    let range = NOWHERE..NOWHERE + bytes as u64;
    // SAFETY: Each is inside the memory, which lives until the end of this function.
    let same = (0..ELEMENTS).all(|i| unsafe { lent.add(i).read_volatile() } == VALUE);
    check("the memory is as it was", same)?;
    check(
        "the wait fails with an address of it",
        matches!(result, Err(Error::MemoryFault { address, .. }) if range.contains(&address)),
    )?;
    let data = raw::wait(&s.kfd, own, 0).map_err(errno("WAIT_EVENTS"))?;
    let data = data.map(|data| data.memory_exception());
    println!("the program's own memory event: {data:x?}");
    check(
        "the process' memory event reports a store to a page that is read-only",
        data.is_some_and(|d| d.failure.read_only == 1 && range.contains(&d.va)),
    )?;
    other_process()
}

fn packet() -> Result<(), Failure> {
    let s = Setup::new()?;
    s.enable_runtime()?;
    let (bad, good) = (s.queue()?, s.queue()?);
    let exceptions = Exceptions::of(&bad)?;

    // A closed barrier keeps the packet processor from the packet behind it, which is spoiled meanwhile.
    let gate = s.gpu.signal(1)?;
    let _barrier = bad.barrier_and(&[&gate])?;
    let addition = VectorAdd::new(&s.gpu, ELEMENTS, 3)?;
    let work = addition.dispatch(&bad, &s.kernel).submit()?;
    let slot = work.index().ok_or_else(|| Failure::new("no packet"))? % u64::from(bad.packets());
    let setup = (bad.addresses().0 + slot * 64 + 2) as *mut u16;
    // SAFETY: This is the packet's second half word, inside the queue's ring.
    unsafe { setup.write_volatile(0) };
    check("no error is reported before", exceptions.none())?;
    gate.set(0);

    exceptions.wait(&s.kfd, debug::EC_QUEUE_PACKET_DISPATCH_DIM_INVALID)?;
    let result = work.wait_timeout(PATIENCE);
    println!("the wait: {result:?}");
    check(
        "the wait reports that the queue was stopped",
        matches!(result, Err(Error::QueueStopped { .. })),
    )?;
    check("nothing was computed", addition.verified()? == 0)?;
    add(&good, &s.kernel, 4)?;
    check("another queue goes on", true)?;
    other_process()
}

fn instruction() -> Result<(), Failure> {
    let s = Setup::new()?;
    let illegal = s.failing("illegal")?;
    let (bad, good) = (s.queue()?, s.queue()?);
    let reached = s.gpu.upload(&[0u32])?;
    let work = bad
        .dispatch(&illegal)
        .grid(32)
        .block(32)
        .arg(&reached)
        .submit()?;
    expect_stop(&work, 0x4000_0000)?;
    check(
        "the instruction behind it is not reached",
        reached.get(0) == Some(0),
    )?;
    add(&good, &s.kernel, 5)?;
    check("another queue goes on", true)?;
    other_process()
}

/// Waits for a kernel that stops: the wait must end with the error of the kernel's queue, although the
/// kernel itself doesn't end.
fn expect_stop(work: &Submission, error: i64) -> Result<(), Failure> {
    let start = Instant::now();
    let result = work.wait_timeout(PATIENCE);
    println!("the wait: {result:?}, after {:?}", start.elapsed());
    if let Err(error) = &result {
        println!("the message: {error}");
    }
    check(
        "the wait reports that the queue was stopped, and why",
        matches!(result, Err(Error::QueueStopped { code }) if code == error),
    )?;
    check("the kernel doesn't end", !work.is_done())
}

fn trap() -> Result<(), Failure> {
    const GROUPS: u32 = 64;
    let s = Setup::new()?;
    let traps = s.failing("traps")?;
    let (bad, good) = (s.queue()?, s.queue()?);
    let exceptions = Exceptions::of(&bad)?;
    let unnamed = s.gpu.signal(1)?;
    let id = write_slot(&unnamed)?;
    // Successive work-groups go to successive XCCs, so each XCC of the partition traps once.
    for (which, queue) in [
        (9u32, &bad),
        (10, &s.queue()?),
        (11, &s.queue()?),
        (12, &s.queue()?),
    ] {
        let out = s.gpu.upload(&[0u32; GROUPS as usize * 2])?;
        let dispatch = queue.dispatch(&traps).blocks(GROUPS).block(32);
        let work = dispatch.arg(&out).arg(which).submit()?;
        expect_stop(&work, 0x8000_0000)?;
        // All others end soon.
        let others = || {
            (0..GROUPS)
                .filter(|&n| out.get(n as usize * 2) == Some(n + 1))
                .count()
        };
        let end = Instant::now() + PATIENCE;
        while others() < GROUPS as usize && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        check(
            "the debugger's trap does nothing",
            others() == GROUPS as usize,
        )?;
        let behind = |n: u32| out.get(n as usize * 2 + 1);
        while (0..GROUPS).any(|n| n != which && behind(n) != Some(n + 1)) && Instant::now() < end {
            std::thread::sleep(Duration::from_millis(1));
        }
        check(
            "every work-group ends except the one that traps",
            (0..GROUPS).all(|n| behind(n) == Some(if n == which { 0 } else { n + 1 })),
        )?;
    }
    check("without a runtime the word stays empty", exceptions.none())?;
    let woken = raw::wait(&s.kfd, id, 20_000).map_err(errno("WAIT_EVENTS"))?;
    check("the driver looked through all events", woken.is_some())?;
    add(&good, &s.kernel, 7)?;
    check("another queue goes on", true)?;
    other_process()
}

fn exception() -> Result<(), Failure> {
    let s = Setup::new()?;
    s.enable_runtime()?;
    let (illegal, traps) = (s.failing("illegal")?, s.failing("traps")?);
    let queues = [s.queue()?, s.queue()?, s.queue()?];
    let [first, second, good] = &queues;
    let exceptions = [
        Exceptions::of(first)?,
        Exceptions::of(second)?,
        Exceptions::of(good)?,
    ];

    let reached = s.gpu.upload(&[0u32])?;
    let dispatch = first.dispatch(&illegal).grid(32).block(32).arg(&reached);
    let work = dispatch.submit()?;
    expect_stop(&work, 0x4000_0000)?;
    exceptions[0].wait(&s.kfd, debug::EC_QUEUE_WAVE_ILLEGAL_INSTRUCTION)?;
    check(
        "no other queue has the exception",
        exceptions[1].none() && exceptions[2].none(),
    )?;

    let unnamed = s.gpu.signal(1)?;
    let id = write_slot(&unnamed)?;
    let out = s.gpu.upload(&[0u32; 2])?;
    let dispatch = second.dispatch(&traps).blocks(1).block(32);
    let work = dispatch.arg(&out).arg(0u32).submit()?;
    expect_stop(&work, 0x8000_0000)?;
    exceptions[1].wait(&s.kfd, debug::EC_QUEUE_WAVE_ABORT)?;
    check("no other queue has the exception", exceptions[2].none())?;
    let woken = raw::wait(&s.kfd, id, 0).map_err(errno("WAIT_EVENTS"))?;
    check(
        "with a runtime the driver didn't look through all events",
        woken.is_none(),
    )?;

    add(good, &s.kernel, 8)?;
    check("another queue goes on", exceptions[2].none())?;
    other_process()
}

fn unhandled() -> Result<(), Failure> {
    const GROUPS: u32 = 64;
    let s = Setup::new()?;
    let (illegal, traps) = (s.failing("illegal")?, s.failing("traps")?);
    let (bad, good) = (s.queue()?, s.queue()?);
    add(&bad, &s.kernel, 9)?;
    let mut none = device::SetTrapHandlerArgs {
        gpu_id: s.gpu.id(),
        ..Default::default()
    };
    call(&s.kfd, &ioctl::SET_TRAP_HANDLER, &mut none).map_err(errno("SET_TRAP_HANDLER"))?;

    let out = s.gpu.upload(&[0u32; GROUPS as usize * 2])?;
    let dispatch = bad.dispatch(&traps).blocks(GROUPS).block(32);
    let work = dispatch.arg(&out).arg(GROUPS).submit()?;
    work.wait_timeout(PATIENCE)?;
    let behind = |n: u32| out.get(n as usize * 2 + 1) == Some(n + 1);
    check("a debugger's trap does nothing", (0..GROUPS).all(behind))?;

    let reached = s.gpu.upload(&[0u32])?;
    let dispatch = bad.dispatch(&illegal).grid(32).block(32).arg(&reached);
    let work = dispatch.submit()?;
    // Work that was submitted later, on another queue, ends meanwhile.
    for seed in 10..14 {
        add(&good, &s.kernel, seed)?;
    }
    let result = work.wait_timeout(Duration::from_secs(2));
    println!("the wait: {result:?}");
    check(
        "the program doesn't learn of an exception",
        matches!(result, Err(Error::Timeout { .. })) && !work.is_done(),
    )?;
    check(
        "the instruction behind it is not reached",
        reached.get(0) == Some(0),
    )?;
    other_process()
}

fn hang() -> Result<(), Failure> {
    let s = Setup::new()?;
    let own = raw::event(&s.kfd, event::EVENT_HW_EXCEPTION).map_err(errno("CREATE_EVENT"))?;
    let queue = s.queue()?;
    add(&queue, &s.kernel, 6)?;
    let none = raw::wait(&s.kfd, own, 0).map_err(errno("WAIT_EVENTS"))?;
    check("no exception before", none.is_none())?;
    // The scheduler doesn't acknowledge the queue's destruction.
    let data = std::thread::scope(|scope| {
        let waiter = scope.spawn(|| raw::wait(&s.kfd, own, 60_000));
        drop(queue);
        waiter.join()
    });
    let data = data
        .map_err(|_| Failure::new("the waiter panicked"))?
        .map_err(errno("WAIT_EVENTS"))?
        .map(|data| data.hw_exception());
    println!("the exception: {data:x?}");
    check(
        "the whole GPU hangs, and memory is lost",
        data.is_some_and(|d| {
            (d.reset_type, d.reset_cause) == (event::RESET_WHOLE_GPU, event::CAUSE_GPU_HANG)
                && (d.memory_lost, d.gpu_id) == (1, s.gpu.id())
        }),
    )
}

fn run() -> Result<(), Failure> {
    match std::env::args().nth(2).as_deref() {
        Some("memory") => memory(),
        Some("beyond") => beyond(),
        Some("readonly") => readonly(),
        Some("packet") => packet(),
        Some("instruction") => instruction(),
        Some("trap") => trap(),
        Some("exception") => exception(),
        Some("unhandled") => unhandled(),
        Some("hang") => hang(),
        _ => Err(Failure::new(
            "the second argument must be memory, beyond, readonly, packet, instruction, trap, exception, unhandled or hang",
        )),
    }
}

fn main() -> ExitCode {
    report("faults", run)
}
