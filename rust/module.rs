// SPDX-License-Identifier: GPL-2.0

//! The owner of what the module has beside its GPUs: processes, device nodes, topology, debugfs.
//!
//! There is one [`Module`]. It is made before the PCI driver is registered and goes after it; parts
//! of it are handed to those who need them: a file gets its process, a process what processes
//! share, a GPU the module as its [`Upcalls`]. Only a probe is handed nothing by the driver core,
//! and so takes the module from the one static that there is ([`current`]).
//!
//! Lock order: the static's mutex is a leaf.

use crate::{
    card::Cards,
    chardev::KfdNode,
    counts::Counts,
    debugfs::DebugFs,
    glue::{
        anon_inode::PseudoFs,
        kobject::{
            Dir,
            Empty, //
        },
        mmu_notifier,
        trace, //
    },
    gpu::{
        Gpu,
        Gpus,
        Upcalls, //
    },
    limit::SystemMemory,
    process::{
        user::Works,
        Places,
        Processes,
        Shared, //
    },
    render::RenderNodes,
    sensors::AllSensors,
    smi::Clients,
    teardown,
    topology::Topology,
    types::{
        EventId,
        Hang,
        Pasid,
        QueueError,
        VmFault, //
    },
    uapi::event as abi,
    vm::pasid::Pasids, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

kernel::sync::global_lock! {
    // SAFETY: Initialised by `Owner::new`, which the module's init calls once and before any use.
    unsafe(uninit) static MODULE: Mutex<Option<Arc<Module>>> = None;
}

/// The module, while it is loaded.
pub(crate) fn current() -> Option<Arc<Module>> {
    MODULE.lock().clone()
}

/// What the module owns.
#[pin_data]
pub(crate) struct Module {
    // Dropped in this order.
    #[pin]
    debugfs: DebugFs,
    #[pin]
    cards: Cards,
    #[pin]
    sensors: AllSensors,
    #[pin]
    topology: Topology,
    #[pin]
    render: RenderNodes,
    shown: Shown,
    kfd: KfdNode,
    processes: Arc<Processes>,
}

/// Processes have folders in sysfs, `/sys/class/kfd/kfd/proc`, and in debugfs. Dropped, when no process is left, they have none.
struct Shown(Arc<Processes>);

impl Shown {
    fn new(processes: &Arc<Processes>, places: Places) -> Self {
        processes.show_in(Some(places));
        Self(processes.clone())
    }
}

impl Drop for Shown {
    fn drop(&mut self) {
        self.0.show_in(None);
    }
}

impl Module {
    fn new() -> Result<Arc<Self>> {
        let counts = Counts::new()?;
        let memory = SystemMemory::new()?;
        let fs = PseudoFs::new()?;
        let processes = Processes::new(Shared {
            gpus: Gpus::new()?,
            pasids: Pasids::new()?,
            memory: memory.clone(),
            clients: Clients::new()?,
            works: Works::new()?,
            counts: counts.clone(),
        })?;
        let kfd = KfdNode::new(&fs, &processes)?;
        let topology = Topology::new(kfd.node())?;
        let sysfs = Dir::of_node(kfd.node(), c"proc", Empty)?;
        let render = RenderNodes::new(&processes);
        Arc::pin_init(
            pin_init!(Self {
                debugfs <- DebugFs::new(&processes),
                cards <- Cards::new(&memory),
                sensors <- AllSensors::new(),
                topology <- topology,
                render <- render,
                shown: Shown::new(
                    &processes,
                    Places {
                        sysfs,
                        debugfs: debugfs.proc(),
                    },
                ),
                kfd,
                processes,
            }),
            GFP_KERNEL,
        )
    }

    /// Makes what shows a GPU to tools. On an error nothing stays.
    fn show(&self, gpu: &Arc<Gpu>, minor: u32) -> Result {
        self.topology.add(gpu, minor)?;
        let shown = self.cards.add(gpu);
        let shown = shown.and_then(|()| self.sensors.add(gpu));
        let shown = shown.and_then(|()| self.debugfs.tables().add(gpu));
        shown.inspect_err(|_| self.hide(gpu))
    }

    /// Removes what is there of that.
    fn hide(&self, gpu: &Gpu) {
        self.debugfs.tables().remove(gpu);
        self.sensors.remove(gpu);
        self.cards.remove(gpu);
        self.topology.remove(gpu);
    }

    /// The GPUs.
    pub(crate) fn gpus(&self) -> &Arc<Gpus> {
        &self.processes.shared().gpus
    }
}

/// The module's life: dropped, all is gone and nothing of ours is called any more. No file is open
/// then, and no GPU is left.
pub(crate) struct Owner(Arc<Module>);

impl Owner {
    /// Makes everything. To be called once, by the module's init.
    pub(crate) fn new() -> Result<Self> {
        // SAFETY: Called once, before any use.
        unsafe { MODULE.init() };
        let module = Module::new()?;
        *MODULE.lock() = Some(module.clone());
        Ok(Self(module))
    }

    /// A guard that ends all processes when it is dropped.
    pub(crate) fn end_processes(&self) -> EndProcesses {
        EndProcesses(self.0.processes.clone())
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let module = MODULE.lock().take();
        drop(module);
        self.0.processes.shared().works.close();
        mmu_notifier::synchronize();
    }
}

/// To be dropped before the PCI driver: no file is open then, but programs that closed theirs live
/// on, and what they left is taken off the GPUs.
pub(crate) struct EndProcesses(Arc<Processes>);

impl Drop for EndProcesses {
    fn drop(&mut self) {
        teardown::end_all(&self.0);
    }
}

impl Upcalls for Module {
    fn gpu_added(&self, gpu: &Arc<Gpu>) -> Result {
        let minor = self.render.add(gpu)?;
        self.show(gpu, minor)
            .inspect_err(|_| self.render.remove(gpu))
    }

    fn gpu_removed(&self, gpu: &Arc<Gpu>) {
        self.hide(gpu);
        // First every fault handler refuses, then what is mapped is taken away.
        self.processes.for_each(|process| process.device_lost(gpu));
        self.render.remove(gpu);
        self.kfd.revoke(gpu);
    }

    fn signal(&self, _gpu: &Gpu, pasid: Pasid, id: u32, bits: u32) {
        trace::event_signaled(pasid.get().into(), id, bits);
        if let Some(process) = self.processes.by_pasid(pasid) {
            process.events.signal(EventId::new(id), bits);
        }
    }

    fn try_signal(&self, _gpu: &Gpu, pasid: Pasid, id: u32, bits: u32) -> bool {
        let trace = || trace::event_signaled(pasid.get().into(), id, bits);
        match self.processes.by_pasid(pasid) {
            Some(process) => process.events.try_signal(EventId::new(id), bits, trace),
            None => {
                trace();
                true
            }
        }
    }

    fn is_debugged_fault(&self, gpu: &Gpu, fault: &VmFault) -> bool {
        let process = self.processes.by_pasid(fault.pasid);
        process.is_some_and(|process| process.is_debugged_fault(gpu, fault))
    }

    fn vm_fault(&self, gpu: &Gpu, fault: &VmFault) {
        if let Some(process) = self.processes.by_pasid(fault.pasid) {
            process.fault(gpu, fault);
        }
    }

    fn queue_error(&self, gpu: &Gpu, error: &QueueError) -> bool {
        let process = self.processes.by_pasid(error.pasid);
        process.is_some_and(|process| process.queue_error(gpu, error))
    }

    fn gpu_reset(&self, gpu: &Gpu, number: u32, done: bool) {
        let clients = &self.processes.shared().clients;
        clients.gpu_reset(gpu, number, done);
        // Last, since processes may keep their state for a while.
        if done {
            self.processes.for_each(|process| process.release_hung(gpu));
        }
    }

    fn gpu_hang(&self, gpu: &Gpu, hang: Hang) {
        self.processes.for_each(|process| {
            let concerned = match hang {
                Hang::Lost => return process.device_lost(gpu),
                Hang::Gpu => process.device(gpu.id()).is_ok(),
                Hang::Queues => process
                    .with_device(gpu.id(), |_, state| Ok(state.lost_a_queue()))
                    .unwrap_or(false),
            };
            if let (Hang::Gpu, Ok(device)) = (hang, process.device(gpu.id())) {
                device.usage.evict();
            }
            if concerned {
                process.events.hw_exception(abi::HwExceptionData {
                    reset_type: abi::RESET_WHOLE_GPU,
                    reset_cause: abi::CAUSE_GPU_HANG,
                    memory_lost: 1,
                    gpu_id: gpu.id().get().into(),
                });
            }
        });
    }
}
