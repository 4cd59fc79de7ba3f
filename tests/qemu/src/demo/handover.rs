// SPDX-License-Identifier: MIT OR Apache-2.0
//! How the queue was handed to the hardware: by a run list, or by a frame of MES.

use super::device::Device;
use super::program::Program;
use super::{count, device, ours, same, Step};
use crate::chip::Scheduler;
use rkfd_hw::mes::v12::AddQueue;

type Result<T> = std::result::Result<T, String>;

/// What the driver passed to the firmware about the process and its queue, and the step that shows it.
pub struct Handover {
    /// The packet or frame that names the process.
    pub request: &'static str,
    /// Its page table.
    pub page_table: u64,
    /// Its number.
    pub pasid: u64,
    /// TLB flushes that the driver let firmware do.
    pub flushes: usize,
    /// The step.
    pub step: Step,
}

impl Handover {
    /// Reads it from the trace.
    pub fn of(scheduler: Scheduler, p: &Program, d: &Device<'_>) -> Result<Self> {
        match scheduler {
            Scheduler::Cpsch => run_list(p, d),
            Scheduler::Mes => add_queue(p, d),
        }
    }
}

fn run_list(p: &Program, d: &Device<'_>) -> Result<Handover> {
    let args = p.request("CREATE_QUEUE")?;
    let run = d.packet("RUN_LIST")?;
    let process = d.packet("MAP_PROCESS")?;
    let queue = d.packet("MAP_QUEUES")?;
    let pasid = process.field("PASID")?;
    let list = (run.field("IB_BASE_LO")? << 2) | (run.field("IB_BASE_HI")? << 32);
    let step = Step {
        name: "Scheduling",
        title: "the run list names the processes and queues to the firmware, through HIQ",
        why: "The driver writes MAP_PROCESS and MAP_QUEUES into a list, and RUN_LIST into its own ring,\n\
              HIQ. The firmware gives the process a VMID and the queue a hardware slot.",
        rows: vec![
            device(
                "RUN_LIST",
                format_args!("at {list:#x}, {} words", run.field("IB_SIZE")?),
            ),
            same("MAP_PROCESS: PASID", pasid, "of the VMID", d.queue.num("pasid")?),
            count(
                "  queues",
                p.count("CREATE_QUEUE") as u64,
                "NUM_QUEUES",
                process.field("NUM_QUEUES")?,
            ),
            same(
                "MAP_QUEUES: MQD",
                queue.field("MQD_ADDR")?,
                "loaded from",
                d.pair("CP_MQD_BASE_ADDR")?,
            ),
            same(
                "  write index",
                args.get("write_pointer_address")?,
                "WPTR_ADDR",
                queue.field("WPTR_ADDR")?,
            ),
            same(
                "  doorbell",
                queue.field("DOORBELL_OFFSET")?,
                "word of BAR 2",
                d.queue.num("doorbell")?,
            ),
            device("VMID", d.queue.num("vmid")?),
            device("hardware queue", d.queue.text("queue")),
        ],
    };
    Ok(Handover {
        request: "MAP_PROCESS",
        page_table: process.field("PAGE_TABLE_BASE")?,
        pasid,
        flushes: d.count("pm4", "INVALIDATE_TLBS"),
        step,
    })
}

fn add_queue(p: &Program, d: &Device<'_>) -> Result<Handover> {
    let args = p.request("CREATE_QUEUE")?;
    let mqd = d.queue.num("mqd")?;
    let event = d.frame("ADD_QUEUE", |words| {
        AddQueue(*words).get(AddQueue::MQD_ADDR) == mqd
    })?;
    let frame = AddQueue(event.1);
    let pasid = frame.get(AddQueue::PROCESS_ID);
    let hexadecimal = |field| format!("{:#x}", frame.get(field));
    let step = Step {
        name: "Scheduling",
        title: "ADD_QUEUE hands the queue to the micro engine scheduler (MES)",
        why: "A frame of 64 words in MES' ring names the process, its page table, the MQD, and pages in\n\
              which MES keeps its own state. MES gives VMID and hardware slot, and stores a fence.",
        rows: vec![
            same("PASID", pasid, "of the VMID", d.queue.num("pasid")?),
            same(
                "MQD",
                frame.get(AddQueue::MQD_ADDR),
                "loaded from",
                d.pair("CP_MQD_BASE_ADDR")?,
            ),
            same(
                "doorbell",
                frame.get(AddQueue::DOORBELL_OFFSET),
                "word of BAR 2",
                d.queue.num("doorbell")?,
            ),
            count(
                "ring, in words",
                args.get("ring_size")? / 4,
                "kfd_queue_size",
                frame.get(AddQueue::KFD_QUEUE_SIZE),
            ),
            count(
                "AQL packets",
                u64::from(args.get("queue_type")? == 2),
                "is_aql_queue",
                frame.get(AddQueue::IS_AQL_QUEUE),
            ),
            ours("write index, in the GART", hexadecimal(AddQueue::WPTR_ADDR)),
            ours("page of the process", hexadecimal(AddQueue::PROCESS_CONTEXT_ADDR)),
            ours("page of the gang", hexadecimal(AddQueue::GANG_CONTEXT_ADDR)),
            device("fence", event.0.text("outcome")),
            device("VMID", d.queue.num("vmid")?),
            device("hardware queue", d.queue.text("queue")),
        ],
    };
    Ok(Handover {
        request: "ADD_QUEUE",
        page_table: frame.get(AddQueue::PAGE_TABLE_BASE_ADDR),
        pasid,
        flushes: d.count("mes", "INV_TLBS"),
        step,
    })
}
