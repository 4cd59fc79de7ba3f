// SPDX-License-Identifier: MIT OR Apache-2.0

//! Two GPUs, of which one is taken from the driver while programs use both.
//!
//! Each of two processes has a queue on a GPU of its own, and their kernels run at the same time. What belongs to one GPU
//! can't be mapped on the other. Then the driver is unbound from the first: the process with a queue there is woken with
//! an error, and all requests to it fail with ENODEV. The second one goes on: its memory holds what it held, and its
//! queue and new ones work.
//!
//! `pair CODE-OBJECT`

use std::fs::File;
use std::os::fd::AsRawFd;
use std::process::ExitCode;
use std::time::Duration;

use rkfd::topology::Node;
use rkfd::{Error, Gpu, Kernel, Memory, Queue, QueueOptions};
use rkfd_programs::gone::no_memory;
use rkfd_programs::other::{answer, Other};
use rkfd_programs::{check, code_object, raw, report, Failure, VectorAdd, KERNEL, PATIENCE};
use rkfd_uapi::ioctl;
use rkfd_uapi::memory::{AcquireVmArgs, ALLOC_GTT, ALLOC_WRITABLE};
use rustix::io::Errno;

/// The argument of the process with a queue on the first GPU.
const FIRST: &str = "first";
const ELEMENTS: usize = 65536;
const PAGE: usize = 4096;
/// Where nothing is mapped.
const VA: u64 = 0x1235_0000_0000;

/// The PCI address of a node's function, by its domain and location (`kfd_topology.c`: bus, device and function).
fn address(node: &Node) -> String {
    let (domain, at) = (node.property("domain"), node.property("location_id"));
    let (bus, device, function) = (at >> 8, (at >> 3) & 31, at & 7);
    format!("{domain:04x}:{bus:02x}:{device:02x}.{function}")
}

/// A GPU with a queue, and the work of one.
struct Side {
    gpu: Gpu,
    kernel: Kernel,
    queue: Queue,
    add: VectorAdd,
}

impl Side {
    fn new(index: usize) -> Result<Self, Failure> {
        let gpu = Gpu::open_index(index)?;
        let kernel = gpu.load(&code_object()?)?.kernel(KERNEL)?;
        let queue = gpu.queue(QueueOptions::default())?;
        let add = VectorAdd::new(&gpu, ELEMENTS, index)?;
        Ok(Self {
            gpu,
            kernel,
            queue,
            add,
        })
    }

    fn add(&self) -> Result<(), Failure> {
        let work = self.add.dispatch(&self.queue, &self.kernel);
        work.submit()?.wait()?;
        self.add.verify()
    }
}

/// An object of one GPU is neither mapped on the other nor unmapped from there.
fn no_peers(kfd: &File, one: &Gpu, other: &Gpu) -> Result<(), Failure> {
    let flags = ALLOC_GTT | ALLOC_WRITABLE;
    let handle = raw::alloc(kfd, one.id(), VA, PAGE, 0, flags).map_err(Failure::new)?;
    let there = raw::map(kfd, other.id(), handle);
    check("it can't be mapped there", there == Err(Errno::INVAL))?;
    raw::map(kfd, one.id(), handle).map_err(Failure::new)?;
    let there = raw::unmap(kfd, other.id(), handle);
    check("it can't be unmapped there", there == Err(Errno::INVAL))?;
    raw::unmap(kfd, one.id(), handle).map_err(Failure::new)?;
    raw::free(kfd, handle).map_err(Failure::new)
}

/// An address space of one GPU's file isn't the other's.
fn no_strangers_file(nodes: &[Node]) -> Result<(), Failure> {
    let [one, other] = nodes else {
        return Err(Failure::new("there aren't two GPUs"));
    };
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let render = File::options()
        .read(true)
        .write(true)
        .open(other.render_node()?);
    let render = render.map_err(Failure::new)?;
    let mut args = AcquireVmArgs {
        drm_fd: render.as_raw_fd() as u32,
        gpu_id: one.gpu_id,
    };
    let answer = raw::call(&kfd, &ioctl::ACQUIRE_VM, &mut args);
    check("the other's file is refused", answer == Err(Errno::INVAL))
}

/// The process with a queue on the first GPU: adds, or waits for what doesn't come until it is woken with an error.
fn first() -> Result<(), Failure> {
    let side = Side::new(0)?;
    answer(|request| match request {
        "add" => {
            side.add()?;
            Ok("added".into())
        }
        _ => {
            // Nobody opens this gate.
            let gate = side.gpu.signal(1)?;
            match side.queue.barrier_and(&[&gate])?.wait_timeout(PATIENCE) {
                Err(Error::Timeout { .. }) => Err(Failure::new("the waiter was not woken")),
                Ok(()) => Err(Failure::new("the barrier opened by itself")),
                Err(error) => {
                    println!("# woken with: {error}\nwoken");
                    // What it has is gone, and touching it would end the process with SIGBUS.
                    std::process::exit(0)
                }
            }
        }
    })
}

fn pair() -> Result<(), Failure> {
    let nodes = Gpu::nodes()?;
    let addresses: Vec<String> = nodes.iter().map(address).collect();
    println!("GPUs at {addresses:?}");
    no_strangers_file(&nodes)?;
    let first = Side::new(0)?;
    // The page of the process' events is memory of the first GPU, so signals of this one wake nobody: they are polled.
    let side = Side::new(1)?;
    first.add()?;
    let gone = first.gpu.clone();
    // Its queue would touch what is gone by then.
    drop(first);
    check("their ids differ", gone.id() != side.gpu.id())?;
    let code = std::env::args().nth(1).unwrap_or_default();
    let mut other = Other::start([code, FIRST.into()])?;
    other.ask("add")?;
    side.add()?;
    check("the other one adds", other.read()? == "added")?;
    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    no_peers(&kfd, &gone, &side.gpu)?;
    no_peers(&kfd, &side.gpu, &gone)?;

    other.ask("wait")?;
    std::thread::sleep(Duration::from_millis(300));
    let address = addresses.first().ok_or_else(|| Failure::new("no GPU"))?;
    std::fs::write("/sys/bus/pci/drivers/rkfd/unbind", address).map_err(Failure::new)?;
    check("the other one is woken", other.read()? == "woken")?;
    let left: Vec<u32> = Gpu::nodes()?.iter().map(|node| node.gpu_id).collect();
    check("one GPU is left", left == [side.gpu.id()])?;
    check(
        "it makes no queue",
        gone.queue(QueueOptions::default()).is_err(),
    )?;
    check("its clock is 0", gone.clocks()?.gpu == 0)?;
    // That doorbells or registers can't be had is ENOMEM, whatever the reason (`kfd_ioctl_alloc_memory_of_gpu`).
    no_memory(&kfd, gone.id(), Errno::NOMEM)?;

    side.add.verify()?;
    side.add.c.fill(f32::NAN)?;
    let queue = side.gpu.queue(QueueOptions::default())?;
    for queue in [&side.queue, &queue] {
        let add = VectorAdd::new(&side.gpu, ELEMENTS, 7)?;
        for add in [&side.add, &add] {
            add.dispatch(queue, &side.kernel).submit()?.wait()?;
            add.verify()?;
        }
    }
    side.gpu.alloc_in::<u32>(Memory::Gtt, ELEMENTS)?;
    Ok(())
}

fn main() -> ExitCode {
    if std::env::args().nth(2).as_deref() != Some(FIRST) {
        return report("pair", pair);
    }
    match first() {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            println!("# {failure}");
            ExitCode::FAILURE
        }
    }
}
