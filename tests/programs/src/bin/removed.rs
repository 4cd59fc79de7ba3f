// SPDX-License-Identifier: MIT OR Apache-2.0

//! The driver is unbound from the GPU while a program uses it.
//!
//! One process has a queue, mapped memory, and a waiter that sleeps in the driver. When the driver
//! is unbound the waiter must wake with an error, every request must fail at once, and a store to
//! the doorbell must end the process with SIGBUS: the device may belong to somebody else.
//!
//! `removed CODE-OBJECT`
//!
//! `removed CODE-OBJECT fails`: the same where the driver's probe fails, once programs have found the GPU. The driver is
//! held there meanwhile, by the module `hold_call`.

use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use rkfd::{Error, Gpu, QueueOptions};
use rkfd_programs::{bound, code_object, held, report, Failure, VectorAdd, KERNEL, PATIENCE};

const CHILD: &str = "RKFD_EXAMPLE_CHILD";
/// The child writes the first file when it is ready, the parent the second when the driver is unbound.
const READY: &str = "/tmp/removed-ready";
const GONE: &str = "/tmp/removed-gone";
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

/// A request that must fail with ENODEV.
fn refused<T>(what: &str, result: Result<T, Error>) -> Result<(), Failure> {
    match result {
        Err(Error::Ioctl { errno, .. }) if errno == rustix::io::Errno::NODEV => Ok(()),
        Err(error) => Err(Failure::new(format_args!("{what}: {error}, wanted ENODEV"))),
        Ok(_) => Err(Failure::new(format_args!("{what} works without a driver"))),
    }
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
    refused("GET_CLOCK_COUNTERS", gpu.clocks())?;
    println!("all requests are refused with ENODEV; now the doorbell");
    let _ = add
        .dispatch(&queue, &kernel)
        .prepare()
        .map(|mut work| work.submit());
    Err(Failure::new("the doorbell can still be rung"))
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
    let mut child = Command::new(std::env::current_exe().map_err(Failure::new)?)
        .args(std::env::args().skip(1))
        .env(CHILD, "1")
        .stdin(Stdio::null())
        .spawn()
        .map_err(Failure::new)?;
    if fails() {
        bind(&driver, &address, &mut child)?;
    } else {
        wait_for(READY, Some(&mut child))?;
        let start = Instant::now();
        std::fs::write(driver.join("unbind"), &address).map_err(Failure::new)?;
        println!("unbound {address} in {:?}", start.elapsed());
    }
    std::fs::write(GONE, "").map_err(Failure::new)?;
    let status = child.wait().map_err(Failure::new)?;
    match status.signal() {
        Some(SIGBUS) => Ok(()),
        _ => Err(Failure::new(format_args!(
            "the child ended with {status}, wanted SIGBUS at the doorbell"
        ))),
    }
}

fn main() -> ExitCode {
    if std::env::var_os(CHILD).is_none() {
        return report("removed", parent);
    }
    match child() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("removed, child: {failure}");
            ExitCode::FAILURE
        }
    }
}
