// SPDX-License-Identifier: GPL-2.0

//! The DRM device of a GPU, its second face: `/dev/dri/card0` and `/dev/dri/renderD128`, and on.
//!
//! Its files name an address space for ACQUIRE_VM, and buffer objects are mapped on it at offsets
//! that the driver makes up: see `mmap`. The nodes, requests that every DRM driver has, and what udev
//! and libdrm find in sysfs are the DRM core's; here is what compute clients ask of amdgpu.
//!
//! Lock order: the mutex of [`RenderNodes`] is above the device core's.

use crate::{
    counts::Counts,
    glue::{
        dma_buf::DmaBuf,
        drm::{
            self,
            Device,
            Driver,
            Fops,
            Gem,
            Identity,
            Opened,
            Printer,
            Registered,
            Requests,
            Table, //
        },
        transfer::Transfer,
        vma::{
            Area,
            Fault,
            VmOps, //
        }, //
    },
    gpu::Gpu,
    limit::SystemMemory,
    memory::{
        self,
        Object, //
    },
    mmap::{
        Offsets,
        VmFile, //
    },
    process::Processes, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        ArcBorrow,
        Mutex, //
    }, //
};

mod ctx;
mod device_info;
mod fdinfo;
mod gem;
mod info;
mod request;
mod sensor;

/// The words and the version of the amdgpu whose requests these are (`amdgpu_drv.c`, `amdgpu_drv.h`).
const IDENTITY: Identity = Identity {
    name: c"amdgpu",
    description: c"AMD GPU",
    version: (3, 64, 0),
};

static FOPS: Fops = Fops::new::<Render>();
static VM_OPS: VmOps = drm::vm_ops::<Render>();
static REQUESTS: Requests<{ request::COUNT }> = request::all();
static TABLE: Table = Table::new::<Render, { request::COUNT }>(&IDENTITY, &FOPS, &REQUESTS);

/// What opening a node of a GPU needs.
pub(crate) struct Render {
    counts: Arc<Counts>,
    memory: Arc<SystemMemory>,
    processes: Arc<Processes>,
    offsets: Arc<Offsets>,
}

impl Driver for Render {
    type File = VmFile;
    type Object = Object;

    fn table() -> &'static Table {
        &TABLE
    }

    fn fops() -> &'static Fops {
        &FOPS
    }

    fn vm_ops() -> &'static VmOps {
        &VM_OPS
    }

    fn open(&self) -> Result<Arc<VmFile>> {
        self.offsets.gpu().alive()?;
        VmFile::new(&self.offsets, &self.counts)
    }

    fn import(&self, buf: DmaBuf) -> Result<Gem<Object>> {
        memory::of_foreign(&self.offsets, &self.counts, buf)
    }

    fn show(file: Opened<'_, Self>, printer: &Printer<'_>) {
        fdinfo::show(file, printer);
    }

    fn mmap(file: ArcBorrow<'_, VmFile>, area: &Area<'_>) -> Result {
        file.map(area)
    }

    fn fault(file: ArcBorrow<'_, VmFile>, fault: &Fault<'_>) -> Result {
        file.fault(fault)
    }

    fn access(file: ArcBorrow<'_, VmFile>, transfer: &Transfer<'_>) -> Result {
        file.access(transfer)
    }
}

/// The DRM devices of the module.
#[pin_data]
pub(crate) struct RenderNodes {
    #[pin]
    list: Mutex<KVec<Listed>>,
    processes: Arc<Processes>,
}

/// A GPU's device while programs can open it. Dropped in this order.
struct Listed {
    _nodes: Registered,
    offsets: Arc<Offsets>,
}

impl RenderNodes {
    /// None yet.
    pub(crate) fn new(processes: &Arc<Processes>) -> impl PinInit<Self> {
        let processes = processes.clone();
        pin_init!(Self {
            list <- new_mutex!(KVec::new(), "rkfd render nodes"),
            processes,
        })
    }

    /// Makes the nodes of a GPU, and returns the minor of the render node.
    pub(crate) fn add(&self, gpu: &Arc<Gpu>) -> Result<u32> {
        let mut list = self.list.lock();
        list.reserve(1, GFP_KERNEL)?;
        let offsets = Offsets::new(gpu)?;
        let render = Render {
            counts: self.processes.shared().counts.clone(),
            memory: self.processes.shared().memory.clone(),
            processes: self.processes.clone(),
            offsets: offsets.clone(),
        };
        let device = Device::new(gpu.device(), Arc::new(render, GFP_KERNEL)?)?;
        let number = device.render_node();
        gpu.set_node(number);
        offsets.open(device.clone());
        let nodes = Registered::new(device).inspect_err(|_| offsets.close())?;
        let listed = Listed {
            _nodes: nodes,
            offsets,
        };
        list.push_within_capacity(listed).map_err(|_| ENOMEM)?;
        Ok(number.minor)
    }

    /// Removes the nodes of a GPU; their mappings are revoked.
    pub(crate) fn remove(&self, gpu: &Gpu) {
        let removed = {
            let mut list = self.list.lock();
            let index = list
                .iter()
                .position(|listed| listed.offsets.gpu().id() == gpu.id());
            index.and_then(|index| list.remove(index).ok())
        };
        drop(removed);
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        // From here on nothing can be mapped; nor, once the nodes are dropped, be opened.
        self.offsets.close();
    }
}
