// SPDX-License-Identifier: MIT OR Apache-2.0

//! Processes and queues that were added.

use crate::rules::Effect;
use rkfd_hw::mes::v12::AddQueue;
use rkfd_hw::regs::gc_12_0_0::SPI_GDBG_PER_VMID_CNTL as Control;
use rkfd_hw::regs::Value;

/// A process with queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Process {
    /// Address of the firmware's memory for it, which names it.
    pub context: u64,
    pub pasid: u16,
    pub page_table_base: u64,
}

/// A queue, and its gang.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Member {
    /// Context of its process.
    pub process: u64,
    /// Context of its gang: address of the firmware's memory for it.
    pub gang: u64,
    pub doorbell: u32,
    pub mqd: u64,
    /// Its type.
    pub kind: u64,
    /// It did not leave its HQD when it was asked to.
    pub hung: bool,
    /// Which queue that MES was asked to add it is, from 1.
    pub number: u64,
    /// It never does, by a rule: until a reset, or not even then.
    pub fault: Option<Effect>,
}

/// Processes and queues that were added.
#[derive(Default)]
pub(super) struct Members {
    pub processes: Vec<Process>,
    pub queues: Vec<Member>,
    /// What was set for processes, which may have no queue.
    pub debuggers: Vec<Debugger>,
    /// How many queues MES was ever asked to add.
    pub asked: u64,
}

impl Members {
    pub fn fault(&self, mqd: u64) -> Option<Effect> {
        let mut queues = self.queues.iter();
        queues.find(|q| q.mqd == mqd).and_then(|q| q.fault)
    }

    /// Whether resets of a queue do not end it.
    pub fn is_wedged(&self, mqd: u64) -> bool {
        self.fault(mqd) == Some(Effect::Wedge)
    }
}

/// What was set for a process.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Debugger {
    /// The process' context.
    pub context: u64,
    /// SPI_GDBG_PER_VMID_CNTL.
    pub control: u32,
    /// TCP_WATCH0_CNTL to 3.
    pub watch: [u32; 4],
}

impl Members {
    /// SPI_GDBG_PER_VMID_CNTL and TCP_WATCH0_CNTL to 3 of a process that gets a queue.
    pub fn debug_control(&self, process: &Process, p: &AddQueue) -> (u32, [u32; 4]) {
        let set = self.debuggers.iter().find(|d| d.context == process.context);
        let trap = p.is_set(AddQueue::TRAP_EN);
        let control = Value::zeroed().with(Control::TRAP_EN, trap).bits();
        set.map_or((control, [0; 4]), |d| (d.control, d.watch))
    }
}
