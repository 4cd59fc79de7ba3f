// SPDX-License-Identifier: GPL-2.0

//! MES with its two pipes, and what it can be asked for.
//!
//! One firmware runs on both pipes ("unified MES"). Pipe 1 is the kernel's: its ring is put into
//! an HQD by registers, and it maps the ring of pipe 0, flushes TLBs and accesses registers. Pipe
//! 0 schedules: it takes user queues. Frames and order of start are those of `mes_v12_0.c`.
//!
//! Lock order: a pipe's lock is below the scheduler's; pipe 0 before pipe 1 if both.

use super::{
    frame::{
        frame,
        report,
        run, //
    },
    log::{
        EventLog,
        LogFile, //
    },
    microcode::Running,
    pipe::{
        Failure,
        Pipe, //
    },
    resources::{
        aggregated_doorbell,
        init_vmids,
        set_resources, //
    }, //
};
use crate::{
    gmc::{
        Firmware,
        RegWait, //
    },
    hw::{
        mes::{
            op,
            v12::{
                AddQueue,
                InvTlbs,
                Misc,
                QueryStatus,
                RemoveQueue, //
            },
            FRAME_WORDS,
            TYPE_SCHEDULER, //
        },
        regs::{
            gc_12_0_0::{
                self as gc,
                CP_HQD_GFX_CONTROL as Messages,
                CP_MES_DOORBELL_CONTROL1 as Aggregated,
                CP_UNMAPPED_DOORBELL as Unmapped,
                RLC_CP_SCHEDULERS as Schedulers, //
            },
            Value, //
        },
        value::Bounded, //
    },
    sched::{
        Parts,
        ProcessConfig, //
    },
    types::{
        DoorbellWord,
        GpuVa,
        HqdSlot,
        PageTableBase,
        Pasid,
        Priority,
        RingSize, //
    }, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex, //
    }, //
};

mod reset;

use reset::WereReset;

/// Words of the rings' doorbells on the BAR (`AMDGPU_NAVI10_DOORBELL_MES_RING0` and `1`).
const DOORBELL_0: DoorbellWord = DoorbellWord::fixed::<{ 0xb << 1 }>();
const DOORBELL_1: DoorbellWord = DoorbellWord::fixed::<{ 0xc << 1 }>();
/// 64-bit doorbells that the compute micro engine takes (`..._KIQ` to `..._USERQUEUE_END`).
const MEC_DOORBELLS: (u32, u32) = (0, 0x8a);
/// Places of the rings: the queue 0 of each pipe.
const SLOT_0: HqdSlot = HqdSlot::fixed::<3, 0, 0>();
const SLOT_1: HqdSlot = HqdSlot::fixed::<3, 1, 0>();
/// Both, by their names.
pub(super) const RINGS: [(&str, HqdSlot); 2] = [("mes0", SLOT_0), ("mes1", SLOT_1)];
/// Types of queues (`MES_QUEUE_TYPE_*`).
pub(super) const TYPE_COMPUTE: u32 = 1;
pub(super) const TYPE_SDMA: u32 = 2;
const TYPE_SCHEDULER_RING: u32 = 3;
/// Firmware from which on a frame or field is known.
const HAS_REMOVE_AFTER_RESET: u32 = 0x5a;
const HAS_INV_TLBS: u32 = 0x84;

/// What a user queue's frame is made of besides the queue.
pub(super) struct Add {
    pub(super) pasid: Pasid,
    pub(super) page_table_base: PageTableBase,
    pub(super) process_context: GpuVa,
    pub(super) gang_context: GpuVa,
    pub(super) priority: Priority,
    pub(super) doorbell: DoorbellWord,
    pub(super) mqd: GpuVa,
    /// In address space 0.
    pub(super) wptr: GpuVa,
    /// The process' context is set up already ([`Engine::set_debugger`]).
    pub(super) keep_context: bool,
    pub(super) tba: GpuVa,
    pub(super) tma: GpuVa,
    /// `MES_QUEUE_TYPE_*`.
    pub(super) kind: u32,
    pub(super) aql: bool,
    pub(super) ring_size: RingSize,
}

/// A queue to take back.
pub(super) struct Victim {
    pub(super) doorbell: DoorbellWord,
    pub(super) gang_context: GpuVa,
    /// `MES_QUEUE_TYPE_*`.
    pub(super) kind: u32,
}

/// MES, running.
#[pin_data]
pub(super) struct Engine {
    parts: Arc<Parts>,
    version: u32,
    #[pin]
    scheduler: Mutex<Pipe>,
    #[pin]
    kernel: Mutex<Pipe>,
    /// A failed TLB flush was logged; one line is enough.
    logged: Atomic<u32>,
    #[pin]
    running: Mutex<Option<Running>>,
    log: Option<Pin<KBox<LogFile>>>,
}

impl Engine {
    /// Starts MES and the rings of both pipes (`mes_v12_0_kiq_hw_init`).
    pub(super) fn start(parts: &Arc<Parts>) -> Result<Arc<Self>> {
        init_vmids(parts);
        // Here, since a reset of the engines takes them away, and queues start anew after it.
        parts.gfx.set_golden();
        let regs = parts.gfx.regs();
        let (first, last) = MEC_DOORBELLS;
        regs.write(gc::CP_MEC_DOORBELL_RANGE_LOWER, Value::new(first << 3));
        regs.write(gc::CP_MEC_DOORBELL_RANGE_UPPER, Value::new(last << 3));
        let mut kernel = Pipe::new(parts, SLOT_1, DOORBELL_1)?;
        let scheduler = Pipe::new(parts, SLOT_0, DOORBELL_0)?;
        // `mes_v12_0_kiq_setting`: this register names the queue to RLC.
        regs.update(gc::RLC_CP_SCHEDULERS, |old| {
            old.with(Schedulers::scheduler0, SLOT_1.as_scheduler())
        });
        let log = LogFile::new(parts)?;
        let running = Running::start(parts, log.as_deref().map(LogFile::log));
        kernel.load()?;
        if let Err(error) =
            set_resources(parts, &mut kernel, false, log.as_deref().map(LogFile::log))
        {
            kernel.unload();
            return Err(error);
        }
        let version = scheduler.version();
        let engine = Arc::pin_init(
            pin_init!(Self {
                parts: parts.clone(),
                version,
                scheduler <- new_mutex!(scheduler, "rkfd MES 0"),
                kernel <- new_mutex!(kernel, "rkfd MES 1"),
                logged: Atomic::new(0),
                running <- new_mutex!(Some(running), "rkfd MES running"),
                log,
            }),
            GFP_KERNEL,
        )?;
        if let Err(error) = engine
            .test_registers()
            .and_then(|()| engine.start_scheduler())
        {
            engine.stop();
            return Err(error);
        }
        parts.tlb.set_firmware(Some(engine.clone()));
        Ok(engine)
    }

    /// Stores a register and loads it by way of MES: the kernel's pipe works, and reaches the
    /// registers that a frame names.
    fn test_registers(&self) -> Result {
        const PATTERN: u32 = 0xcafe_deca;
        let regs = &self.parts.gfx.regs();
        let mut pipe = self.kernel.lock();
        let word = regs.word(gc::SCRATCH_REG0, 0).ok_or(ENODEV)?;
        write_register(&mut pipe, word, PATTERN)
            .map_err(|failure| report(&self.parts, "WRITE_REG", failure))?;
        let stored = regs.read(gc::SCRATCH_REG0).bits();
        let loaded = read_register(&mut pipe, word)
            .map_err(|failure| report(&self.parts, "READ_REG", failure))?;
        if (stored, loaded) == (PATTERN, PATTERN) {
            return Ok(());
        }
        dev_err!(
            self.parts.dev.device(),
            "the scheduler (MES) stored {:#x} and loads {:#x} instead of {:#x}\n",
            stored,
            loaded,
            PATTERN
        );
        Err(EIO)
    }

    /// `mes_v12_0_hw_init`.
    fn start_scheduler(&self) -> Result {
        let regs = &self.parts.gfx.regs();
        /// Doorbell addresses hold the process' number from bit 13 on: a slice is 8 KiB.
        const SLICE_BIT: u64 = 13;
        regs.update(gc::CP_UNMAPPED_DOORBELL, |old| {
            old.having(Unmapped::PROC_LSB.is::<SLICE_BIT>())
                .with(Unmapped::ENABLE, true)
        });
        let mut pipe = self.scheduler.lock();
        let map = frame!(AddQueue, ADD_QUEUE)
            .with(AddQueue::PIPE_ID, pipe.slot().pipe().into())
            .with(AddQueue::QUEUE_ID, pipe.slot().queue().into())
            .with(AddQueue::DOORBELL_OFFSET, pipe.doorbell().get())
            .with(AddQueue::MQD_ADDR, pipe.mqd_addr().get())
            .with(AddQueue::WPTR_ADDR, pipe.wptr_addr().get())
            .with(AddQueue::QUEUE_TYPE, TYPE_SCHEDULER_RING)
            .with(AddQueue::MAP_LEGACY_KQ, true);
        run!(self.kernel.lock(), AddQueue, map)
            .map_err(|failure| report(&self.parts, "ADD_QUEUE of its own ring", failure))?;
        set_resources(&self.parts, &mut pipe, true, self.log())?;
        for level in 0..5 {
            let doorbell = aggregated_doorbell(level).into();
            let doorbell = Aggregated::DOORBELL_OFFSET.try_to(doorbell).ok_or(EINVAL)?;
            regs.update(gc::CP_MES_DOORBELL_CONTROL1.at(level, 1), |old| {
                old.with(Aggregated::DOORBELL_HIT, false)
                    .having(doorbell)
                    .with(Aggregated::DOORBELL_EN, true)
            });
        }
        regs.write(
            gc::CP_HQD_GFX_CONTROL,
            Value::zeroed().with(Messages::DB_UPDATED_MSG_EN, true),
        );
        run!(
            pipe,
            QueryStatus,
            frame!(QueryStatus, QUERY_SCHEDULER_STATUS)
        )
        .map_err(|failure| report(&self.parts, "QUERY_SCHEDULER_STATUS", failure))
    }

    /// Takes the rings off and halts MES, whose firmware stays in place.
    pub(super) fn stop(&self) {
        self.parts.tlb.set_firmware(None);
        let pipe = self.scheduler.lock();
        let mut kernel = self.kernel.lock();
        let unmap = frame!(RemoveQueue, REMOVE_QUEUE)
            .with(RemoveQueue::DOORBELL_OFFSET, pipe.doorbell().get())
            .with(RemoveQueue::PIPE_ID, pipe.slot().pipe().into())
            .with(RemoveQueue::QUEUE_ID, pipe.slot().queue().into())
            .with(RemoveQueue::UNMAP_LEGACY_QUEUE, true)
            .with(RemoveQueue::QUEUE_TYPE, TYPE_SCHEDULER_RING);
        // A device that is being unbound still answers.
        if self.parts.dev.check_there().is_ok() {
            if let Err(failure) = run!(kernel, RemoveQueue, unmap) {
                report(&self.parts, "REMOVE_QUEUE of its own ring", failure);
                pipe.unload();
            }
        }
        self.parts.gfx.regs().update(gc::RLC_CP_SCHEDULERS, |old| {
            old.with(Schedulers::scheduler0, 0)
        });
        kernel.unload();
        *self.running.lock() = None;
    }

    /// Halts MES, which doesn't answer, without asking it. Who still has a reference finds pipes that
    /// take no commands, and so can't ring a doorbell that another ring has by then.
    pub(super) fn halt(&self) {
        self.parts.tlb.set_firmware(None);
        *self.running.lock() = None;
        self.scheduler.lock().give_up();
        self.kernel.lock().give_up();
    }

    /// Hands a queue over (`add_queue_mes`).
    pub(super) fn add(&self, add: &Add) -> Result<(), Failure> {
        /// In units of 100 ns: 10 ms and 1 ms.
        const PROCESS_QUANTUM: u64 = 100_000;
        const GANG_QUANTUM: u64 = 10_000;
        const LAST_PFN: u64 = (1 << 36) - 1;
        const NORMAL: u32 = 1;
        // KFD's priorities that aren't MES's count as normal (`convert_to_mes_priority_level`).
        let priority = match add.priority.get() {
            level @ 0..=4 => level.into(),
            _ => NORMAL,
        };
        let frame = frame!(AddQueue, ADD_QUEUE)
            .with(AddQueue::PROCESS_ID, add.pasid.get().into())
            .with(AddQueue::PAGE_TABLE_BASE_ADDR, add.page_table_base.get())
            .with(AddQueue::PROCESS_VA_END, LAST_PFN)
            .with(AddQueue::PROCESS_QUANTUM, PROCESS_QUANTUM)
            .with(AddQueue::PROCESS_CONTEXT_ADDR, add.process_context.get())
            .with(AddQueue::GANG_QUANTUM, GANG_QUANTUM)
            .with(AddQueue::GANG_CONTEXT_ADDR, add.gang_context.get())
            .with(AddQueue::INPROCESS_GANG_PRIORITY, priority)
            .with(AddQueue::GANG_GLOBAL_PRIORITY_LEVEL, NORMAL)
            .with(AddQueue::DOORBELL_OFFSET, add.doorbell.get())
            .with(AddQueue::MQD_ADDR, add.mqd.get())
            .with(AddQueue::WPTR_ADDR, add.wptr.get())
            .with(AddQueue::QUEUE_TYPE, add.kind)
            .try_with(AddQueue::KFD_QUEUE_SIZE, add.ring_size.bytes() >> 2)
            .ok_or(EINVAL)?
            .with(AddQueue::TRAP_HANDLER_ADDR, add.tba.get())
            .with(AddQueue::TMA_ADDR, add.tma.get())
            .with(
                AddQueue::VM_CONTEXT_CNTL,
                self.parts.hubs.process_context_control(),
            )
            .with(AddQueue::IS_KFD_PROCESS, true)
            .with(AddQueue::SKIP_PROCESS_CTX_CLEAR, add.keep_context)
            .with(AddQueue::TRAP_EN, true)
            .with(AddQueue::IS_AQL_QUEUE, add.aql);
        run!(self.scheduler.lock(), AddQueue, frame)
    }

    /// Takes a queue back (`remove_queue_mes`). `done` gets the queues that had to be reset for that, even if this
    /// one isn't taken back then; `find` returns other queues by their doorbell.
    pub(super) fn remove(
        &self,
        victim: &Victim,
        find: &dyn Fn(DoorbellWord) -> Option<Victim>,
        done: &mut WereReset,
    ) -> Result<(), Failure> {
        let mut pipe = self.scheduler.lock();
        match self.take(&mut pipe, victim, false) {
            Err(failure @ Failure::Refused(_)) => {
                report(&self.parts, "REMOVE_QUEUE", failure);
                self.recover(&mut pipe, victim, find, done)
            }
            result => result,
        }
    }

    /// Takes a queue off that the firmware of the compute engine refuses to go on with, while all
    /// others stand still (`kfd_dqm_suspend_bad_queue_mes`). As [`Engine::remove`].
    pub(super) fn stop_bad(
        &self,
        victim: &Victim,
        find: &dyn Fn(DoorbellWord) -> Option<Victim>,
        done: &mut WereReset,
    ) -> Result<(), Failure> {
        self.recover(&mut self.scheduler.lock(), victim, find, done)
    }

    /// What waves of a process do for a debugger, of which there is none: they have trap temporaries
    /// (`kfd_dbg_set_mes_debug_mode`). The first time clears the context.
    pub(super) fn set_debugger(
        &self,
        context: GpuVa,
        config: &ProcessConfig,
    ) -> Result<(), Failure> {
        let control = config.spi_gdbg_per_vmid_cntl();
        let [first, second, third, fourth] = config.watches;
        let frame = shader_debugger(context)
            .with(Misc::SET_SHADER_DEBUGGER_SPI_GDBG_PER_VMID_CNTL, control)
            .with(Misc::SET_SHADER_DEBUGGER_TCP_WATCH_CNTL_0, first)
            .with(Misc::SET_SHADER_DEBUGGER_TCP_WATCH_CNTL_1, second)
            .with(Misc::SET_SHADER_DEBUGGER_TCP_WATCH_CNTL_2, third)
            .with(Misc::SET_SHADER_DEBUGGER_TCP_WATCH_CNTL_3, fourth)
            .with(Misc::SET_SHADER_DEBUGGER_TRAP_EN, 1);
        run!(self.scheduler.lock(), Misc, frame)
    }

    /// MES forgets a process, whose queues are gone (`amdgpu_mes_flush_shader_debugger`).
    pub(super) fn forget_process(&self, context: GpuVa) -> Result<(), Failure> {
        /// `process_ctx_flush`, which the interface's definition doesn't name.
        const FLUSH: u32 = 1 << 31;
        let mut frame = shader_debugger(context);
        let flags = Misc::SET_SHADER_DEBUGGER_FLAGS_SINGLE_MEMOP.word();
        *frame.0.get_mut(flags).ok_or(EINVAL)? = FLUSH;
        run!(self.scheduler.lock(), Misc, frame)
    }

    /// REMOVE_QUEUE. `after_reset`: MES shall only forget a queue that was reset.
    pub(super) fn take(
        &self,
        pipe: &mut Pipe,
        victim: &Victim,
        after_reset: bool,
    ) -> Result<(), Failure> {
        let remove = frame!(RemoveQueue, REMOVE_QUEUE)
            .with(RemoveQueue::DOORBELL_OFFSET, victim.doorbell.get())
            .with(RemoveQueue::GANG_CONTEXT_ADDR, victim.gang_context.get())
            .with(RemoveQueue::QUEUE_TYPE, victim.kind)
            .with(
                RemoveQueue::REMOVE_QUEUE_AFTER_RESET,
                after_reset && self.version >= HAS_REMOVE_AFTER_RESET,
            );
        run!(pipe, RemoveQueue, remove)
    }

    fn log(&self) -> Option<&EventLog> {
        self.log.as_deref().map(LogFile::log)
    }

    pub(super) fn parts(&self) -> &Arc<Parts> {
        &self.parts
    }

    pub(super) fn version(&self) -> u32 {
        self.version
    }
}

impl Firmware for Engine {
    /// `mes_v12_0_inv_tlbs_pasid`, for both hubs.
    fn invalidate_tlbs(&self, pasid: Pasid, kind: Bounded<3>) -> Option<Result> {
        const BY_PASID: u64 = 0;
        let mut pipe = self.kernel.lock();
        if self.version < HAS_INV_TLBS || pipe.is_stuck() {
            return None;
        }
        for hub in 0..2 {
            let frame = frame!(InvTlbs, INV_TLBS)
                .having(InvTlbs::INVALIDATE_TLBS_INV_SEL.is::<BY_PASID>())
                .with(InvTlbs::INVALIDATE_TLBS_FLUSH_TYPE, kind.into())
                .with(InvTlbs::INVALIDATE_TLBS_INV_SEL_ID, pasid.get())
                .with(InvTlbs::INVALIDATE_TLBS_HUB_ID, hub);
            if let Err(failure) = run!(pipe, InvTlbs, frame) {
                let first = self.logged.xchg(1, Relaxed) == 0;
                return Some(Err(if first {
                    report(&self.parts, "INV_TLBS", failure)
                } else {
                    failure.into()
                }));
            }
        }
        self.logged.store(0, Relaxed);
        Some(Ok(()))
    }

    /// MISC with WAIT_REG_MEM, as `amdgpu_mes_reg_write_reg_wait`.
    fn write_and_wait(&self, wait: &RegWait) -> Option<Result> {
        const MISC_WAIT_REG_MEM: u32 = 4;
        const STORE_THEN_WAIT: u32 = 1;
        let mut pipe = self.kernel.lock();
        if pipe.is_stuck() {
            return None;
        }
        let frame = frame!(Misc, MISC)
            .with(Misc::OPCODE, MISC_WAIT_REG_MEM)
            .with(Misc::WAIT_REG_MEM_OP, STORE_THEN_WAIT)
            .with(Misc::WAIT_REG_MEM_REFERENCE, wait.value)
            .with(Misc::WAIT_REG_MEM_MASK, wait.mask)
            .with(Misc::WAIT_REG_MEM_REG_OFFSET1, wait.write)
            .with(Misc::WAIT_REG_MEM_REG_OFFSET2, wait.wait);
        Some(run!(pipe, Misc, frame).map_err(Error::from))
    }
}

/// MISC with SET_SHADER_DEBUGGER.
fn shader_debugger(context: GpuVa) -> Misc {
    const SET_SHADER_DEBUGGER: u32 = 5;
    frame!(Misc, MISC)
        .with(Misc::OPCODE, SET_SHADER_DEBUGGER)
        .with(
            Misc::SET_SHADER_DEBUGGER_PROCESS_CONTEXT_ADDR,
            context.get(),
        )
}

/// MISC with WRITE_REG (`amdgpu_mes_wreg`); registers are words of BAR 5.
fn write_register(pipe: &mut Pipe, word: u32, value: u32) -> Result<(), Failure> {
    const WRITE_REG: u32 = 0;
    let frame = frame!(Misc, MISC)
        .with(Misc::OPCODE, WRITE_REG)
        .with(Misc::WRITE_REG_REG_OFFSET, word)
        .with(Misc::WRITE_REG_REG_VALUE, value);
    run!(pipe, Misc, frame)
}

/// MISC with READ_REG (`amdgpu_mes_rreg`).
fn read_register(pipe: &mut Pipe, word: u32) -> Result<u32, Failure> {
    const READ_REG: u32 = 3;
    let frame = frame!(Misc, MISC)
        .with(Misc::OPCODE, READ_REG)
        .with(Misc::READ_REG_REG_OFFSET, word)
        .with(Misc::READ_REG_BUFFER_ADDR, pipe.register_addr().get());
    run!(pipe, Misc, frame)?;
    Ok(pipe.register()?)
}
