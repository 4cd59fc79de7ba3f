// SPDX-License-Identifier: GPL-2.0

//! rkfd: a KFD-compatible AMD GPU compute-queue driver.
//!
//! Data flows one way down (ioctl -> process -> queue -> mqd -> sched -> ring) and one way up
//! (ih -> upcall -> event -> waiter); a lower room never calls a higher one. `setup/floors.toml` lists
//! which room stands on which, and `make check` compares. The rooms, highest first:
//!
//! | room | what |
//! |---|---|
//! | `driver` | a PCI device found |
//! | `module` | the owner of all that is not a GPU's |
//! | `chardev`, `ioctl`, `render` | what programs open and call |
//! | `topology`, `debugfs` | what is shown in sysfs and debugfs |
//! | `queue`, `memory`, `debug`, `teardown` | what is done with queues and memory, by programs and debuggers; the end of a process |
//! | `process` | what programs own: queues, buffer objects, address spaces, events |
//! | `event`, `context`, `mmap`, `limit`, `smi` | waiting; contexts of files; the CPU's mappings; limits of memory; management events |
//! | `gpu` | a GPU: the owner of its parts, bring-up and teardown, what it reports |
//! | `sched`, `mqd`, `sdma`, `ring`, `ih` | schedulers, queues, copy engines, interrupts |
//! | `vm`, `gmc`, `bo`, `vram`, `doorbell` | address spaces, page tables, memory, doorbells |
//! | `gfx`, `nbio` | the graphics core and the bus side |
//! | `device`, `kept` | the handle that outlives the device; what can't be freed yet |
//! | `discovery`, `chip`, `regs` | what the chip is made of, as data, and its registers |
//! | `vbios` | who the card is, by its expansion ROM |
//! | `firmware` | files of firmware, for a GPU that comes from power-on |
//! | `ids`, `pages`, `counts` | tables that number objects, pages in use, and counts of objects |
//! | `types` | addresses and numbers that travel between rooms |
//! | `glue`, `hw`, `uapi` | the kernel's C side; the contracts with the GPU and with user programs |
//! | `kunit`, here and in rooms | their tests, on kernels with KUnit |

use kernel::prelude::*;

#[path = "../hw/lib.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "shared with the emulator and the tests, which use more of it"
)]
#[macro_use]
mod hw;
#[path = "../uapi/lib.rs"]
#[expect(
    dead_code,
    unreachable_pub,
    reason = "shared with the library, which exports all of it"
)]
#[macro_use]
mod uapi;

mod types;

mod glue;

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;

// The hardware half.
mod bo;
mod card;
mod chip;
mod device;
mod discovery;
mod doorbell;
mod driver;
mod firmware;
mod gfx;
mod gmc;
mod gpu;
mod hangs;
mod ih;
mod isolation;
mod kept;
mod mqd;
mod nbio;
mod pages;
mod psp;
mod regs;
mod ring;
mod sched;
mod sdma;
mod sensors;
mod vbios;
mod vm;
mod vram;

// The user half, and the owner of both.
mod chardev;
mod context;
mod counts;
mod debug;
mod debugfs;
mod event;
mod ids;
mod ioctl;
mod limit;
mod memory;
mod mmap;
mod module;
mod process;
mod profiler;
mod queue;
mod render;
mod smi;
mod smu;
mod teardown;
mod topology;
mod trap;

/// The module. Fields are dropped in this order: what programs left is taken off the devices, then
/// no device is left when the rest goes.
#[pin_data]
struct Rkfd {
    processes: module::EndProcesses,
    #[pin]
    driver: kernel::driver::Registration<kernel::pci::Adapter<driver::Driver>>,
    owner: module::Owner,
}

impl kernel::InPlaceModule for Rkfd {
    fn init(module: &'static ThisModule) -> impl PinInit<Self, Error> {
        pin_init::pin_init_scope(move || {
            // Before any probe, which takes from it what it needs.
            let owner = module::Owner::new()?;
            Ok(try_pin_init!(Self {
                processes: owner.end_processes(),
                driver <- kernel::driver::Registration::new(
                    <Self as kernel::ModuleMetadata>::NAME,
                    module,
                ),
                owner,
            }))
        })
    }
}

module! {
    type: Rkfd,
    name: "rkfd",
    authors: ["The rkfd authors"],
    description: "KFD-compatible AMD GPU compute-queue driver",
    license: "GPL",
    firmware: [
        "amdgpu/gc_12_0_1_imu.bin",
        "amdgpu/gc_12_0_1_me.bin",
        "amdgpu/gc_12_0_1_mec.bin",
        "amdgpu/gc_12_0_1_pfp.bin",
        "amdgpu/gc_12_0_1_rlc.bin",
        "amdgpu/gc_12_0_1_uni_mes.bin",
        "amdgpu/gc_9_4_3_mec.bin",
        "amdgpu/gc_9_4_3_rlc.bin",
        "amdgpu/psp_13_0_6_sos.bin",
        "amdgpu/psp_14_0_3_sos.bin",
        "amdgpu/sdma_4_4_2.bin",
        "amdgpu/sdma_7_0_1.bin",
        "amdgpu/smu_13_0_6.bin",
        "amdgpu/smu_14_0_3.bin",
    ],
    imports_ns: ["DMA_BUF"],
    params: {
        enforce_isolation: i32 {
            default: 0,
            description: "Run one process at a time, and clear registers and LDS in between (1 = on, others = off)",
        },
        mes_log: i32 {
            default: 0,
            description: "Have the micro engine scheduler log what it does, for debugfs (0 = off, others = on)",
        },
    },
}
