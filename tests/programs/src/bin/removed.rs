// SPDX-License-Identifier: MIT OR Apache-2.0

//! The driver is unbound from the GPU while a program uses it.
//!
//! One process has a queue, mapped memory, and a waiter that sleeps in the driver. When the driver
//! is unbound the waiter must wake with an error, every request must fail at once, and a store to
//! the doorbell must end the process with SIGBUS: the device may belong to somebody else. So must a store
//! to the page of registers that flush HDP, which another process has mapped, and a load of VRAM in a third one. Of what
//! was mapped of system memory a debugger reads nothing any more.
//!
//! `removed CODE-OBJECT`
//!
//! `removed CODE-OBJECT fails`: the same where the driver's probe fails, once programs have found the GPU. The driver is
//! held there meanwhile, by the module `hold_call`.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::ptr::null_mut;
use std::time::{Duration, Instant};

use rkfd::{Error, Gpu, Memory, QueueOptions};
use rkfd_programs::gone::{no_memory, refused};
use rkfd_programs::raw::errno;
use rkfd_programs::{
    bound, check, code_object, held, report, Failure, VectorAdd, KERNEL, PATIENCE,
};
use rkfd_uapi::mmap::{Kind, Offset};
use rustix::io::Errno;
use rustix::mm::{MapFlags, ProtFlags};

const CHILD: &str = "RKFD_EXAMPLE_CHILD";
/// The child writes the first file when it is ready, the parent the second when the driver is unbound.
const READY: &str = "/tmp/removed-ready";
const GONE: &str = "/tmp/removed-gone";
/// The child that has the page of registers, in the place of "1", and its file.
const REGISTERS: &str = "registers";
const READY_TOO: &str = "/tmp/removed-ready-too";
/// The same of the child that has VRAM.
const VRAM: &str = "vram";
const READY_THIRD: &str = "/tmp/removed-ready-third";
const ELEMENTS: usize = 4096;
const SIGBUS: i32 = 7;

fn wait_for(path: &str, child: Option<&mut Child>) -> Result<(), Failure> {
    let start = Instant::now();
    let mut child = child;
    while !std::path::Path::new(path).exists() {
        let ended = child.as_mut().and_then(|c| c.try_wait().ok().flatten());
        if let Some(status) = ended {
            return Err(Failure::new(format_args!("the child ended: {status}")));
        }
        if start.elapsed() > PATIENCE {
            return Err(Failure::new(format_args!("{path} was not written in time")));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
    Ok(())
}

fn fails() -> bool {
    std::env::args().nth(2).as_deref() == Some("fails")
}

/// Opens the GPU; where the driver is being bound, as soon as there is one.
fn open() -> Result<Gpu, Failure> {
    let (start, mut last) = (Instant::now(), String::new());
    loop {
        match Gpu::open() {
            Err(error) if fails() && start.elapsed() < PATIENCE => {
                let error = error.to_string();
                if error != last {
                    println!("not yet: {error}");
                    last = error;
                }
                std::thread::sleep(Duration::from_millis(10));
            }
            opened => return Ok(opened?),
        }
    }
}

fn child() -> Result<(), Failure> {
    let gpu = open()?;
    let module = gpu.load(&code_object()?)?;
    let kernel = module.kernel(KERNEL)?;
    let queue = gpu.queue(QueueOptions::default())?;
    let add = VectorAdd::new(&gpu, ELEMENTS, 0)?;
    let buffer = gpu.alloc_in::<u32>(Memory::Gtt, ELEMENTS)?;
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let own = File::open("/proc/self/mem").map_err(Failure::new)?;
    let peek = || own.read_exact_at(&mut [0; 4], buffer.address());
    peek().map_err(Failure::new)?;
    add.dispatch(&queue, &kernel).submit()?.wait()?;
    add.verify()?;

    // Nobody opens this gate, so the barrier waits until the driver is unbound.
    let gate = gpu.signal(1)?;
    let barrier = queue.barrier_and(&[&gate])?;
    let woken = std::thread::scope(|scope| -> Result<_, Failure> {
        let waiter = scope.spawn(|| barrier.wait_timeout(PATIENCE));
        std::thread::sleep(Duration::from_millis(200));
        std::fs::write(READY, "").map_err(Failure::new)?;
        waiter.join().map_err(|_| Failure::new("a panic"))
    })?;
    match woken {
        Err(Error::Timeout { .. }) => return Err(Failure::new("the waiter was not woken")),
        Ok(()) => return Err(Failure::new("the barrier opened by itself")),
        Err(error) => println!("the waiter was woken: {error}"),
    }
    wait_for(GONE, None)?;
    refused("CREATE_QUEUE", gpu.queue(QueueOptions::default()))?;
    refused("an allocation", gpu.alloc::<u32>(1024))?;
    no_memory(&kfd, gpu.id(), Errno::NODEV)?;
    refused("GET_CLOCK_COUNTERS", gpu.clocks())?;
    check("a debugger reads nothing", peek().is_err())?;
    println!("all requests are refused with ENODEV; now the doorbell");
    let _ = add
        .dispatch(&queue, &kernel)
        .prepare()
        .map(|mut work| work.submit());
    Err(Failure::new("the doorbell can still be rung"))
}

/// Has the page of registers that flush HDP mapped until the driver is unbound.
fn registers() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let kfd = File::options().read(true).write(true).open("/dev/kfd");
    let kfd = kfd.map_err(Failure::new)?;
    let at = Offset {
        kind: Kind::Mmio,
        gpu_id: gpu.id() as u16,
        offset: 0,
    };
    let (prot, shared) = (ProtFlags::READ | ProtFlags::WRITE, MapFlags::SHARED);
    // SAFETY: The kernel chooses the place, where nothing is.
    let page = unsafe { rustix::mm::mmap(null_mut(), 4096, prot, shared, &kfd, at.bits()) };
    let flush = page.map_err(errno("mmap of the registers"))?.cast::<u32>();
    // SAFETY: The page is mapped, and its first register is HDP_MEM_FLUSH_CNTL.
    unsafe { flush.write_volatile(1) };
    std::fs::write(READY_TOO, "").map_err(Failure::new)?;
    wait_for(GONE, None)?;
    println!("now the registers");
    // SAFETY: As above. Without a driver the kernel ends the process here.
    unsafe { flush.write_volatile(1) };
    Err(Failure::new("the registers can still be written"))
}

/// Has VRAM mapped until the driver is unbound.
fn vram() -> Result<(), Failure> {
    let gpu = Gpu::open()?;
    let buffer = gpu.alloc_in::<u32>(Memory::Vram, ELEMENTS)?;
    check("VRAM is zero", buffer.get(0) == Some(0))?;
    std::fs::write(READY_THIRD, "").map_err(Failure::new)?;
    wait_for(GONE, None)?;
    println!("now VRAM");
    // Without a driver the kernel ends the process here.
    let got = buffer.get(0);
    Err(Failure::new(format_args!(
        "VRAM can still be read: {got:?}"
    )))
}

/// The probe fails while the child, which waits for the GPU, uses it.
fn bind(driver: &Path, address: &str, child: &mut Child) -> Result<(), Failure> {
    std::thread::scope(|scope| {
        let binding = scope.spawn(|| std::fs::write(driver.join("bind"), address));
        let ready = wait_for(READY, Some(child));
        // The child may be faster than the rest of the probe.
        let there = ready.and_then(|()| held::wait());
        held::release()?;
        there?;
        match binding.join() {
            Ok(Err(error)) => println!("the driver wasn't bound: {error}"),
            _ => return Err(Failure::new("the driver is bound")),
        }
        Ok(())
    })
}

fn parent() -> Result<(), Failure> {
    code_object()?;
    let (driver, address) = bound()?;
    if fails() {
        std::fs::write(driver.join("unbind"), &address).map_err(Failure::new)?;
    }
    let mut children = vec![start("1")?];
    if fails() {
        bind(&driver, &address, &mut children[0])?;
    } else {
        children.push(start(REGISTERS)?);
        children.push(start(VRAM)?);
        for (ready, child) in [READY, READY_TOO, READY_THIRD].iter().zip(&mut children) {
            wait_for(ready, Some(child))?;
        }
        let start = Instant::now();
        std::fs::write(driver.join("unbind"), &address).map_err(Failure::new)?;
        println!("unbound {address} in {:?}", start.elapsed());
    }
    std::fs::write(GONE, "").map_err(Failure::new)?;
    let mut ends = children.iter_mut().map(Child::wait);
    ends.try_for_each(|end| {
        let status = end.map_err(Failure::new)?;
        match status.signal() {
            Some(SIGBUS) => Ok(()),
            _ => Err(Failure::new(format_args!(
                "a child ended with {status}, wanted SIGBUS at the doorbell, the registers or VRAM"
            ))),
        }
    })
}

/// Starts a child: "1", [`REGISTERS`] or [`VRAM`].
fn start(which: &str) -> Result<Child, Failure> {
    let child = Command::new(std::env::current_exe().map_err(Failure::new)?)
        .args(std::env::args().skip(1))
        .env(CHILD, which)
        .stdin(Stdio::null())
        .spawn();
    child.map_err(Failure::new)
}

fn main() -> ExitCode {
    let result = match std::env::var(CHILD).as_deref() {
        Err(_) => return report("removed", parent),
        Ok(REGISTERS) => registers(),
        Ok(VRAM) => vram(),
        Ok(_) => child(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("removed, child: {failure}");
            ExitCode::FAILURE
        }
    }
}
