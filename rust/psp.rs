// SPDX-License-Identifier: GPL-2.0

//! The security processor (PSP): it takes firmware from memory, checks it, and gives it to the engines.
//!
//! From power-on its boot loader takes the processor's own components, one after the other, and starts the
//! secure OS, which takes everything else through a ring, into a trusted memory region (TMR) that nobody else
//! can write.
//!
//! Source: `amdgpu_psp.c` (`psp_hw_start`, `psp_load_non_psp_fw`, `psp_hw_fini`).

use crate::{
    device::Handle,
    gmc::{
        Gart,
        KernelBuf, //
    },
    hw::{
        firmware::{
            Component,
            SecureOs, //
        },
        psp::{
            command,
            control,
            firmware,
            Command, //
        }, //
    },
    regs::Regs,
    vram::Vram, //
};
use kernel::{
    fmt,
    prelude::*,
    sync::Arc,
    time::{
        delay::fsleep,
        Delta, //
    }, //
};

mod hal;
mod kept;
mod ring;

pub(crate) use hal::{
    hal,
    Interface, //
};
use ring::Ring;

/// SETUP_TMR's flag `virt_phy_addr`, which Linux always sets (`psp_prep_tmr_cmd_buf`).
const TWO_ADDRESSES: u32 = 1 << 1;
/// Bytes that the processor takes at once, and what their address is a multiple of (`PSP_1_MEG`).
const IMAGE: usize = 1 << 20;
/// TIMEOUT: for an answer of the boot loader or the secure OS. Of the boot loader Linux waits up to five minutes
/// (`PSP_VMBX_POLLING_LIMIT`), since it may have memory to train; here the driver gives up, and binding again
/// goes on.
const ANSWER: Delta = Delta::from_secs(10);
/// TIMEOUT: before the secure OS is looked for (`psp_v13_0_bootloader_load_sos`).
const START: Delta = Delta::from_millis(20);

/// From this version on the secure OS of the chips with such tables takes them (`psp_load_p2s_table`).
const KNOWS_TABLES: u32 = 0x0036_003c;

/// What the processor needs.
pub(crate) struct Parts<'a> {
    pub(crate) dev: &'a Arc<Handle>,
    pub(crate) regs: &'a Arc<Regs>,
    pub(crate) gart: &'a Arc<Gart>,
    pub(crate) vram: &'a Vram,
    pub(crate) interface: &'static Interface,
}

/// The secure OS runs and takes firmware; dropped, it has no ring and no memory of the driver's any more.
pub(crate) struct Psp {
    dev: Arc<Handle>,
    regs: Arc<Regs>,
    interface: &'static Interface,
    ring: Ring,
    image: KernelBuf,
}

impl Psp {
    /// Starts the secure OS, unless it runs, leaves to firmware what it keeps of VRAM, and sets the trusted memory region up.
    ///
    /// # Errors
    ///
    /// ENOMEM; EBUSY when the driver uses what firmware keeps; EINVAL when a component can't be used; ETIME when the
    /// processor doesn't answer; EIO when it refuses; ENODEV when the device is gone. Logged.
    pub(crate) fn start(parts: &Parts<'_>, os: Option<&SecureOs<'_>>) -> Result<Self> {
        let Parts {
            dev,
            regs,
            gart,
            vram,
            interface,
        } = *parts;
        let image = KernelBuf::aligned(gart, IMAGE, IMAGE)?;
        if let Some(os) = os {
            boot(parts, &image, os)?;
        }
        dev_info!(
            dev.device(),
            "the security processor runs, version {:#x}\n",
            regs.read(interface.mailboxes.version)
        );
        let ring = Ring::new(regs, gart, &interface.mailboxes).inspect_err(|error| {
            dev_err!(
                dev.device(),
                "the security processor takes no ring ({:?})\n",
                error
            );
        })?;
        let mut psp = Self {
            dev: dev.clone(),
            regs: regs.clone(),
            interface,
            ring,
            image,
        };
        psp.leave_kept_parts(vram)?;
        if !interface.autoload {
            // The region is there from power-on: nothing is named (`psp_prep_tmr_cmd_buf` without a buffer).
            let region = of(command::SETUP_TMR).with(Command::TMR_FLAGS, TWO_ADDRESSES);
            psp.command(fmt!("SETUP_TMR"), region)?;
        } else if let Some(contents) = os.and_then(|os| os.component(Component::Toc)) {
            psp.contents(contents)?;
        }
        Ok(psp)
    }

    /// Shows the processor the table of contents of what will come (`psp_load_toc`). How large a region it wants
    /// is nothing to the driver where the region is there from power-on.
    ///
    /// Not inlined: a command is a sixteenth of a kernel stack.
    #[inline(never)]
    fn contents(&mut self, bytes: &[u8]) -> Result {
        put(&self.dev, &self.image, bytes)?;
        let load = of(command::LOAD_TOC)
            .with(Command::TOC_ADDR, self.image.gpu_addr().get())
            // CAST: At most 1 MiB.
            .with(Command::TOC_SIZE, bytes.len() as u32);
        self.command(fmt!("LOAD_TOC"), load)
    }

    /// Has the run list controller start and hand out what has come.
    ///
    /// # Errors
    ///
    /// As of [`Self::start`].
    pub(crate) fn autoload(&mut self) -> Result {
        self.command(fmt!("AUTOLOAD_RLC"), of(command::AUTOLOAD_RLC))
    }

    /// Has an engine's firmware taken, which is of a kind of [`crate::hw::psp::firmware`]. Without bytes there is
    /// none.
    ///
    /// # Errors
    ///
    /// As of [`Self::start`].
    pub(crate) fn load(&mut self, kind: u32, bytes: &[u8]) -> Result {
        if bytes.is_empty() {
            return Ok(());
        }
        put(&self.dev, &self.image, bytes)?;
        let load = of(command::LOAD_IP_FW)
            .with(Command::FW_ADDR, self.image.gpu_addr().get())
            // CAST: At most 1 MiB.
            .with(Command::FW_SIZE, bytes.len() as u32)
            .with(Command::FW_TYPE, kind);
        self.command(fmt!("LOAD_IP_FW of type {:#x}", kind), load)
    }

    /// Has the management unit's table taken, by a secure OS that knows it: before all else
    /// (`psp_load_p2s_table`).
    ///
    /// # Errors
    ///
    /// As of [`Self::start`].
    pub(crate) fn load_table(&mut self, table: &[u8]) -> Result {
        match running_version(&self.regs, self.interface) >= KNOWS_TABLES {
            true => self.load(firmware::P2S_TABLE, table),
            false => Ok(()),
        }
    }

    /// Has the list of registers taken with which the secure OS guards others, where its file has one: after all
    /// else (`psp_rl_load`).
    ///
    /// # Errors
    ///
    /// As of [`Self::start`].
    pub(crate) fn load_register_list(&mut self, os: &SecureOs<'_>) -> Result {
        let list = os.component(Component::RegisterList);
        self.load(firmware::REG_LIST, list.unwrap_or_default())
    }

    /// The processor was reset: what it had of the driver's, it has no more. Or it reads no memory any more.
    pub(crate) fn abandon(&mut self) {
        self.ring.abandon();
    }

    fn command(&mut self, name: fmt::Arguments<'_>, command: Command) -> Result {
        match self.ask(name, &command)? {
            0 => Ok(()),
            status => {
                dev_err!(
                    self.dev.device(),
                    "the security processor refuses {}: status {:#x}\n",
                    name,
                    status
                );
                Err(EIO)
            }
        }
    }

    /// Has a command done that may be refused, and returns its status.
    fn ask(&mut self, name: fmt::Arguments<'_>, command: &Command) -> Result<u32> {
        self.ring.submit(command).inspect_err(|error| {
            let alive = self.regs.read(self.interface.mailboxes.alive);
            dev_err!(
                self.dev.device(),
                "the security processor doesn't answer {} ({:?}; its sign of life is {:#x})\n",
                name,
                error,
                alive
            );
        })
    }
}

impl Drop for Psp {
    fn drop(&mut self) {
        if self.ring.is_abandoned() {
            return;
        }
        // The ring goes next. A device that is gone has no region.
        if !self.interface.autoload {
            let _ = self.command(fmt!("DESTROY_TMR"), of(command::DESTROY_TMR));
        }
    }
}

/// Whether a secure OS runs.
fn is_running(regs: &Regs, interface: &Interface) -> bool {
    regs.read(interface.mailboxes.alive) != 0
}

/// After a reset of the whole device: waits for the boot loader (`amdgpu_psp_wait_for_bootloader`).
///
/// # Errors
///
/// ETIME when it doesn't come, EIO when the secure OS that ran before goes on, ENODEV when the device is gone.
pub(crate) fn wait_for_boot_loader(regs: &Regs, interface: &Interface) -> Result {
    let boot = interface.mailboxes.boot;
    regs.wait_at(0, boot, ANSWER, |value| value & control::DONE != 0)?;
    match is_running(regs, interface) {
        true => Err(EIO),
        false => Ok(()),
    }
}

/// The version of the secure OS that runs.
pub(crate) fn running_version(regs: &Regs, interface: &Interface) -> u32 {
    regs.read(interface.mailboxes.version)
}

/// A command without content.
fn of(id: u32) -> Command {
    Command::zeroed().with(Command::CMD_ID, id)
}

/// Gives the boot loader the components of a file that was checked, and waits for the secure OS.
fn boot(parts: &Parts<'_>, image: &KernelBuf, os: &SecureOs<'_>) -> Result {
    let (regs, boxes) = (parts.regs, &parts.interface.mailboxes);
    let dev = parts.dev.device();
    // Bits 7:0 are an error, and it has no other while it is busy.
    let is_ready = |value: u32| value == control::DONE;
    let ready = |what: &dyn kernel::fmt::Debug| {
        regs.wait_at(0, boxes.boot, ANSWER, is_ready)
            .inspect_err(|error| {
                dev_err!(
                    dev,
                    "the boot loader of the security processor doesn't take {:?} ({:?}; its status is {:#x})\n",
                    what,
                    error,
                    regs.read(boxes.boot)
                );
            })
    };
    ready(&"anything")?;
    for &(command, component) in parts.interface.components {
        let Some(bytes) = os.component(component) else {
            continue;
        };
        put(parts.dev, image, bytes)?;
        // CAST: Addresses of the GART have at most 52 bits.
        let at = (image.gpu_addr().get() >> 20) as u32;
        regs.write(boxes.component, at);
        regs.write(boxes.boot, command);
        if component != Component::SecureOs {
            ready(&component)?;
        }
    }
    fsleep(START);
    let alive = regs.wait_at(0, boxes.alive, ANSWER, |value| value != 0);
    alive.map(|_| ()).inspect_err(|error| {
        dev_err!(
            dev,
            "the secure OS of the security processor doesn't start ({:?}; the boot loader's status is {:#x})\n",
            error,
            regs.read(boxes.boot)
        );
    })
}

/// Puts bytes where the processor takes them, and zero behind them (`psp_copy_fw`).
fn put(dev: &Handle, image: &KernelBuf, bytes: &[u8]) -> Result {
    if bytes.len() > IMAGE {
        dev_err!(
            dev.device(),
            "{} bytes of firmware are more than the security processor takes\n",
            bytes.len()
        );
        return Err(EINVAL);
    }
    let words = bytes.chunks(4).map(|bytes| {
        let all = bytes.iter().rev();
        all.fold(0, |word, &byte| (word << 8) | u32::from(byte))
    });
    let words = Iterator::chain(words, core::iter::repeat(0));
    words
        .take(IMAGE / 4)
        .enumerate()
        .try_for_each(|(index, word)| image.write(index, word))
}
