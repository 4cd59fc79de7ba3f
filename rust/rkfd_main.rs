// SPDX-License-Identifier: GPL-2.0

//! rkfd: a KFD-compatible AMD GPU compute-queue driver.
//!
//! Data flows one way down (ioctl -> process -> queue -> mqd -> sched -> ring) and one way up
//! (ih -> upcall -> event -> waiter); a lower room never calls a higher one. The rooms:
//!
//! | room | what |
//! |---|---|
//! | `driver`, `gpu` | PCI device found; its bring-up and teardown |
//! | `discovery`, `chip`, `regs` | what the chip says it is, and where its registers lie |
//! | `gmc`, `vm`, `bo` | address spaces, page tables, memory |
//! | `ih`, `ring`, `mqd`, `sched`, `doorbell` | interrupts, queues, schedulers |
//! | `chardev`, `ioctl`, `render` | what programs open and call |
//! | `process`, `queue`, `event` | what programs own |
//! | `topology`, `smi`, `debugfs`, `frontend` | what is shown; the user half as a whole |
//! | `types` | addresses and numbers that travel between rooms |
//! | `glue`, `hw`, `uapi` | the kernel's C side; the contracts with the GPU and with user programs |
//! | `kunit`, here and in rooms | their tests, on kernels with KUnit |

use kernel::prelude::*;

#[path = "../hw/lib.rs"]
#[allow(dead_code, unreachable_pub)]
#[macro_use]
mod hw;
#[path = "../uapi/lib.rs"]
#[allow(unreachable_pub)]
#[macro_use]
mod uapi;

mod types;

mod glue;

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;

// The hardware half, lowest first.
mod bo;
mod chip;
mod discovery;
mod doorbell;
mod driver;
mod gmc;
mod gpu;
mod ih;
mod mqd;
mod regs;
mod ring;
mod sched;
mod sdma;
mod upcall;
mod vm;

// The user half, highest first.
mod chardev;
mod counts;
mod debugfs;
mod event;
mod ids;
mod ioctl;
mod limit;
mod memory;
mod mmap;
mod module;
mod process;
mod queue;
mod render;
mod smi;
mod teardown;
mod topology;

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
    imports_ns: ["DMA_BUF"],
    params: {
        mes_log: bool {
            default: false,
            description: "Have the micro engine scheduler log what it does, for debugfs",
        },
    },
}
