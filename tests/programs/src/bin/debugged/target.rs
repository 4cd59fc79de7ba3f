// SPDX-License-Identifier: MIT OR Apache-2.0

//! The program that is debugged.

use super::order::Misdeeds;
use super::{kfd, load, lost, SOON};
use rkfd::{Address, Buffer, Gpu, Kernel, Module, Queue, QueueOptions, Signal, Submission};
use rkfd_programs::raw::{self, call, errno};
use rkfd_programs::spin::Spin;
use rkfd_programs::{check, other, Failure, PATIENCE};
use rkfd_uapi::{debug, event, ioctl};
use std::fs::File;
use std::time::Duration;

/// Work-items of the kernel that is suspended.
pub const ITEMS: u32 = 1024;
/// Work-items of those that touch a watched address.
pub const TOUCHING: u32 = 32;
/// What the runtime declares.
pub const R_DEBUG: u64 = 0x1234_5678;

/// An address at which nothing is mapped.
pub const NOWHERE: u64 = 0x1234_0000_0000;

/// Where trap handlers find whether a debugger is attached: the third word of 64 bits of the driver's memory
/// (`AMDGPU_VA_RESERVED_TRAP_START` of amdgpu_vm.h, `KFD_CWSR_TMA_OFFSET` of kfd_priv.h,
/// `kfd_process_set_trap_debug_flag`), at the end of the address space.
const IS_DEBUGGED: u64 = u64::MAX - (4 << 20) - (64 << 10) + 1 + 4096 + 2048 + 16;

/// What the debugged program has at a time.
pub struct Target {
    kfd: File,
    pub gpu: Gpu,
    pub spin: Module,
    traps: Kernel,
    queue: Option<Queue>,
    spinning: Option<Spin>,
    trapping: Option<(Queue, Submission, Buffer<u64>, Signal)>,
    touching: Vec<Touching>,
    misdeeds: Option<Misdeeds>,
    /// The event of page faults.
    faults: Option<u32>,
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
            misdeeds: None,
            faults: None,
        })
    }

    fn answer(&mut self, line: &str) -> Result<String, Failure> {
        match line {
            "runtime" => self.runtime(debug::RUNTIME_ENABLE_MODE_ENABLE_MASK),
            "no runtime" => self.runtime(0),
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
            "notice" => self.notice(),
            "destroy" => {
                self.touching.pop().ok_or_else(lost)?;
                Ok("destroyed".into())
            }
            "prepare" => {
                let event = raw::event(&self.kfd, event::EVENT_MEMORY);
                self.faults = Some(event.map_err(errno("CREATE_EVENT"))?);
                self.misdeeds = Some(Misdeeds::prepare(self)?);
                Ok("prepared".into())
            }
            "misbehave" => {
                let mut misdeeds = self.misdeeds.take().ok_or_else(lost)?;
                misdeeds.happen(self)?;
                self.misdeeds = Some(misdeeds);
                Ok("done".into())
            }
            "faulted" => {
                let id = self.faults.ok_or_else(lost)?;
                let heard = raw::wait(&self.kfd, id, SOON as u32).map_err(errno("WAIT_EVENTS"))?;
                Ok(heard.ok_or_else(lost)?.memory_exception().va.to_string())
            }
            _ => Err(Failure::new(format_args!("{line:?} is no request"))),
        }
    }

    /// Declares its runtime, or that it ends. Waits until the debugger has taken note.
    fn runtime(&mut self, mode_mask: u32) -> Result<String, Failure> {
        let mut args = debug::RuntimeEnableArgs {
            r_debug: R_DEBUG,
            mode_mask,
            ..Default::default()
        };
        call(&self.kfd, &ioctl::RUNTIME_ENABLE, &mut args).map_err(errno("RUNTIME_ENABLE"))?;
        Ok("declared".into())
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

    /// A kernel begins that waits until trap handlers are told of a debugger: how far it is after a while.
    fn notice(&mut self) -> Result<String, Failure> {
        self.place()?;
        let last = self.touching.last_mut().ok_or_else(lost)?;
        let kernel = self.spin.kernel("spin")?;
        let dispatch = last.queue.dispatch(&kernel).blocks(1).block(TOUCHING);
        last.work = Some(
            dispatch
                .arg(Address(IS_DEBUGGED))
                .arg(&last.seen)
                .submit()?,
        );
        self.touched()
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

/// Does what it reads, line by line, and answers.
pub fn run() -> Result<(), Failure> {
    let mut target = Target::new()?;
    other::answer(|line| target.answer(line))
}
