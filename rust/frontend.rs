// SPDX-License-Identifier: GPL-2.0

//! The user half as a whole: what the module makes before the first GPU is probed, and how what
//! happens to a GPU reaches processes.

use crate::{
    chardev::{
        self,
        KfdNode, //
    },
    debugfs::DebugFs,
    glue::{
        anon_inode,
        mmu_notifier, //
    },
    gpu::Gpu,
    process,
    render::{
        self,
        RenderClass,
        RenderNode, //
    },
    sched::Hang,
    smi,
    topology::{
        self,
        TopologyTree, //
    },
    uapi::event as abi,
    upcall::{
        self,
        Pasid,
        QueueError,
        Upcalls,
        VmFault, //
    },
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Device nodes, topology, debugfs. To be made before the PCI driver is registered and dropped
/// after it is gone.
#[pin_data]
pub(crate) struct Frontend {
    // Dropped in this order.
    #[pin]
    debugfs: DebugFs,
    topology: TopologyTree,
    render: RenderClass,
    kfd: KfdNode,
    works: process::Works,
}

impl Frontend {
    /// Makes them. Called once, by the module's init.
    pub(crate) fn new() -> impl PinInit<Self, Error> {
        pin_init::pin_init_scope(|| {
            anon_inode::init();
            chardev::init();
            render::init();
            topology::init();
            process::init();
            smi::init();
            upcall::register(&SINK)?;
            let works = process::Works::new()?;
            let kfd = KfdNode::new()?;
            let render = RenderClass::new()?;
            let topology = TopologyTree::new(kfd.node())?;
            Ok(try_pin_init!(Self {
                debugfs <- DebugFs::new(),
                topology,
                render,
                kfd,
                works,
            }))
        })
    }
}

/// The processes. To be dropped before the PCI driver: no file is open then, but programs that
/// closed theirs live on, and what they left is taken off the GPUs.
pub(crate) struct Processes;

impl Drop for Processes {
    fn drop(&mut self) {
        process::end_all();
    }
}

/// The last field of the module: nothing of ours is called when it is gone.
pub(crate) struct Last;

impl Drop for Last {
    fn drop(&mut self) {
        mmu_notifier::synchronize();
    }
}

struct Sink;

static SINK: Sink = Sink;

impl Upcalls for Sink {
    fn gpu_added(&self, gpu: &Arc<Gpu>) -> Result {
        RenderNode::add(gpu)?;
        topology::add(gpu).inspect_err(|_| RenderNode::remove(gpu))
    }

    fn gpu_removed(&self, gpu: &Arc<Gpu>) {
        topology::remove(gpu);
        // First every fault handler refuses, then what is mapped is taken away.
        process::for_each(|process| process.device_lost(gpu));
        RenderNode::remove(gpu);
        chardev::revoke(gpu);
    }

    fn signal(&self, _gpu: &Gpu, pasid: Pasid, id: u32, bits: u32) {
        if let Some(process) = process::by_pasid(pasid) {
            process.events.signal(id, bits);
        }
    }

    fn vm_fault(&self, gpu: &Gpu, fault: &VmFault) {
        if let Some(process) = process::by_pasid(fault.pasid) {
            smi::vm_fault(gpu, &process.who);
            process.events.memory_exception(abi::MemoryExceptionData {
                failure: abi::MemoryExceptionFailure {
                    not_present: fault.not_present.into(),
                    read_only: fault.write.into(),
                    no_execute: fault.execute.into(),
                    imprecise: 0,
                },
                va: fault.va,
                gpu_id: gpu.id().get().into(),
                error_type: 0,
            });
        }
    }

    fn queue_error(&self, gpu: &Gpu, error: &QueueError) -> bool {
        let process = process::by_pasid(error.pasid);
        process.is_some_and(|process| process.queue_error(gpu, error))
    }

    fn gpu_hang(&self, gpu: &Gpu, hang: Hang) {
        let gpu_id = gpu.id().get().into();
        process::for_each(|process| {
            let told = match hang {
                Hang::Gpu => process.device(gpu_id).is_ok(),
                Hang::Queues => process
                    .with_device(gpu_id, |_, state| Ok(state.lost_a_queue()))
                    .unwrap_or(false),
            };
            if told {
                process.events.hw_exception(abi::HwExceptionData {
                    reset_type: abi::RESET_WHOLE_GPU,
                    reset_cause: abi::CAUSE_GPU_HANG,
                    memory_lost: 1,
                    gpu_id,
                });
            }
        });
    }
}
