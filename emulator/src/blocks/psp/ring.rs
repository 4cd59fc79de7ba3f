// SPDX-License-Identifier: MIT OR Apache-2.0

//! The ring of the kernel's driver: frames, and the commands that they name.
//!
//! Source: Linux, `amdgpu/amdgpu_psp.c` (`psp_ring_cmd_submit`, `psp_cmd_submit_buf`).

use super::image::{Bad, Header};
use super::{kept, undefined, Kind, Psp, State, VMID};
use crate::device::facts::COPY_ENGINES_PER_DIE;
use crate::device::firmware::Firmware;
use crate::device::{Env, Refused};
use crate::memory::{Hub, VmFault, PAGE};
use crate::rules::{Effect, Event, Kind as About};
use crate::trace::Value;
use rkfd_hw::layout::Layout;
use rkfd_hw::psp::{command, error, Command, Frame};

/// Words of a frame.
const FRAME: u32 = Frame::WORDS as u32;
/// One partition (`AMDGPU_SPX_PARTITION_MODE` is 0; the processor counts partitions from 1).
const ONE_PARTITION: u64 = 1;
/// The largest firmware: nothing of Linux' files comes near.
const LARGEST: u64 = 16 << 20;

/// The ring.
pub(super) struct Ring {
    base: u64,
    /// In words.
    size: u32,
    /// The write pointer, up to which frames were taken, in words.
    at: u32,
}

impl Ring {
    /// A ring of `size` bytes.
    ///
    /// # Errors
    /// Its size is that of no frames, or its memory can't be read.
    pub fn new(env: &dyn Env, base: u64, size: u32) -> Result<Self, Refused> {
        let words = size / 4;
        if size % 4 != 0 || words == 0 || words % FRAME != 0 {
            return undefined(format!("a ring of {size} bytes"));
        }
        if let Err(fault) = env.memory().space(Hub::Mm(0), VMID).load_u32(base) {
            return undefined(format!("the ring: {fault}"));
        }
        let (size, at) = (words, 0);
        Ok(Self { base, size, at })
    }

    /// The write pointer.
    pub fn at(&self) -> u32 {
        self.at
    }

    /// Takes the frames up to a write pointer.
    ///
    /// # Errors
    /// The pointer is between frames or beyond the ring, or a frame is bad: what follows it is dropped.
    pub fn take(
        &mut self,
        to: u32,
        mut execute: impl FnMut(u64) -> Result<(), Refused>,
    ) -> Result<(), Refused> {
        if to % FRAME != 0 || to >= self.size {
            return undefined(format!(
                "the write pointer {to:#x} is at no frame of the ring"
            ));
        }
        let mut done = Ok(());
        while self.at != to && done.is_ok() {
            done = execute(self.base + u64::from(self.at) * 4);
            self.at = (self.at + FRAME) % self.size;
        }
        self.at = to;
        done
    }
}

impl Psp {
    /// Executes the frame at an address.
    pub(super) fn frame(&self, state: &mut State, at: u64) -> Result<(), Refused> {
        kept::check(&*self.env);
        let space = self.env.memory().space(Hub::Mm(0), VMID);
        let wrong = |fault: VmFault| Refused::Undefined(format!("a frame: {fault}"));
        let mut frame = Frame::zeroed();
        space.read_words(at, &mut frame.0).map_err(wrong)?;
        let address = frame.get(Frame::CMD_BUF_ADDR);
        let mut words = Command::zeroed();
        space.read_words(address, &mut words.0).map_err(wrong)?;
        let id = words.get(Command::CMD_ID) as u32;
        // A driver that finds its fence's value takes the command for done.
        let before = space
            .load_u32(frame.get(Frame::FENCE_ADDR))
            .map_err(wrong)?;
        if u64::from(before) == frame.get(Frame::FENCE_VALUE) {
            return undefined(format!(
                "a frame: the fence has its value, {before:#x}, before the command is done"
            ));
        }
        let effect = self.ask_rules(id, &words);
        if effect == Some(Effect::Hang) {
            state.hangs = Some(self.env.rules().changes());
        }
        if matches!(effect, Some(Effect::Hang | Effect::Drop)) {
            return Ok(());
        }
        if effect == Some(Effect::Twice) {
            // Nobody hears how it went.
            let _ = self.command(state, id, &mut words);
        }
        let (status, why) = match effect {
            Some(Effect::Fail(code)) => (u32::from(code), None),
            _ => match self.command(state, id, &mut words) {
                Ok(()) => (0, None),
                Err((status, why)) => (status, Some(why)),
            },
        };
        words.set(Command::STATUS, status);
        let members = [
            ("command", Value::Hex(id.into())),
            ("status", Value::Hex(status.into())),
            ("type", Value::Hex(words.get(Command::FW_TYPE))),
            ("size", Value::Hex(words.get(Command::FW_SIZE))),
        ];
        self.env.trace().event("psp_command", &members);
        // The answer is there before the fence.
        space.write_words(address, &words.0).map_err(wrong)?;
        let fence = frame.get(Frame::FENCE_ADDR);
        let value = frame.get(Frame::FENCE_VALUE);
        if let Some(value) = effect.map_or(Some(value), |effect| effect.answer(value)) {
            space.store_u32(fence, value as u32).map_err(wrong)?;
        }
        match why {
            Some(Some(what)) => Err(Refused::Undefined(what)),
            _ => Ok(()),
        }
    }

    /// What the rules make of a command.
    fn ask_rules(&self, id: u32, words: &Command) -> Option<Effect> {
        let name = match id {
            command::SETUP_TMR => "SETUP_TMR",
            command::DESTROY_TMR => "DESTROY_TMR",
            command::LOAD_IP_FW => "LOAD_IP_FW",
            command::LOAD_TOC => "LOAD_TOC",
            command::AUTOLOAD_RLC => "AUTOLOAD_RLC",
            command::SPATIAL_PART => "SPATIAL_PART",
            command::RESERVED_PART => "FB_FW_RESERV_ADDR",
            command::RESERVED_FURTHER => "FB_FW_RESERV_EXT_ADDR",
            _ => "",
        };
        let keys = [("type", words.get(Command::FW_TYPE))];
        let of_firmware = id == command::LOAD_IP_FW;
        self.env.rules().ask(&Event {
            name,
            keys: if of_firmware { &keys } else { &[] },
            ..Event::of(About::Command)
        })
    }

    /// Does what a command asks for. What it refuses has a status, and is a violation where the refusal
    /// has a text.
    fn command(
        &self,
        state: &mut State,
        id: u32,
        words: &mut Command,
    ) -> Result<(), (u32, Option<String>)> {
        let wrong = |what: String| (error::CANCEL, Some(what));
        match id {
            command::SETUP_TMR => {
                let named = words.get(Command::TMR_ADDR) != 0 || words.get(Command::TMR_SIZE) != 0;
                if self.takes.boot_time_tmr && named {
                    return Err(wrong(
                        "SETUP_TMR names a region, of which there is one".into(),
                    ));
                }
                // `psp_prep_tmr_cmd_buf`: always `virt_phy_addr`.
                if words.get(Command::TMR_FLAGS) & 2 == 0 {
                    return Err(wrong(
                        "SETUP_TMR without its flag for two kinds of addresses".into(),
                    ));
                }
                state.tmr = true;
            }
            command::DESTROY_TMR => state.tmr = false,
            command::LOAD_IP_FW => self.load(state, words).map_err(wrong)?,
            command::LOAD_TOC if self.takes.autoload.is_some() => {
                self.contents(words).map_err(wrong)?;
            }
            command::AUTOLOAD_RLC if self.takes.autoload.is_some() => {
                self.autoload(state).map_err(wrong)?;
            }
            command::RESERVED_PART | command::RESERVED_FURTHER => {
                let parts = kept::parts(self.env.memory().vram.size());
                // Linux goes on without an answer.
                let parts = parts.filter(|_| self.tells_parts(state.secure_os));
                let [last, further] = parts.ok_or((error::UNKNOWN_COMMAND, None))?;
                let part = match id {
                    command::RESERVED_PART => last,
                    _ => further,
                };
                words.set(Command::KEPT_HIGH, (part.start >> 32) as u32);
                words.set(Command::KEPT_LOW, part.start as u32);
                words.set(Command::KEPT_SIZE, (part.end - part.start) as u32);
            }
            command::SPATIAL_PART if words.get(Command::SPATIAL_MODE) == ONE_PARTITION => {}
            // Trusted applications and the like: there are none, and drivers go on without.
            _ => return Err((error::NOT_SUPPORTED, None)),
        }
        Ok(())
    }

    /// LOAD_IP_FW.
    fn load(&self, state: &mut State, words: &Command) -> Result<(), String> {
        let number = words.get(Command::FW_TYPE) as u32;
        let kind = self.takes.kinds.iter().find(|(known, _)| *known == number);
        let Some((_, kind)) = kind else {
            return Err(format!("LOAD_IP_FW: type {number:#x} is not of this chip"));
        };
        if !state.tmr {
            return Err("LOAD_IP_FW before there is a trusted memory region".into());
        }
        let (at, size) = (words.get(Command::FW_ADDR), words.get(Command::FW_SIZE));
        self.look_at("LOAD_IP_FW", number, at, size)?;
        let firmware = self.env.firmware();
        let all = |of: fn(u8) -> Firmware| (0..self.xccs).for_each(|xcc| firmware.add(of(xcc)));
        match *kind {
            // The processor starts it.
            Kind::Rlc => {
                all(Firmware::Rlc);
                all(Firmware::RlcStarted);
            }
            Kind::Mec => all(Firmware::Mec),
            Kind::MecJumpTable => all(Firmware::MecJumpTable),
            // So it does these: Linux leaves SDMA_F32_CNTL alone where the processor loads
            // (`sdma_v4_4_2_inst_enable`).
            Kind::Sdma(first) => {
                let engines = (0..self.dies).map(|die| first + die * COPY_ENGINES_PER_DIE);
                for engine in engines {
                    firmware.add(Firmware::Sdma(engine));
                    firmware.add(Firmware::SdmaStarted(engine));
                }
            }
            Kind::Smu => firmware.add(Firmware::Smu),
            Kind::Part => {
                state.parts.insert(number);
            }
            Kind::Other => {}
        }
        Ok(())
    }

    /// That an image lies where a command says, all of which can be read.
    pub(super) fn look_at(
        &self,
        command: &str,
        number: u32,
        at: u64,
        size: u64,
    ) -> Result<(), String> {
        if at % PAGE != 0 || size == 0 || size > LARGEST {
            return Err(format!(
                "{command}: type {number:#x}: {size:#x} bytes at {at:#x}"
            ));
        }
        let space = self.env.memory().space(Hub::Mm(0), VMID);
        let header = Header::read(&space, at).map_err(|bad| match bad {
            Bad::Fault(fault) => format!("{command}: {fault}"),
            Bad::NoImage => format!("{command}: type {number:#x} at {at:#x} is no image"),
        })?;
        let is_data = self.takes.data.contains(&number);
        if !header.has_size(size, self.takes.overhead, is_data) {
            return Err(format!(
                "{command}: type {number:#x} at {at:#x}: {size:#x} bytes aren't the image's, or it is for another chip"
            ));
        }
        let mut page = [0; PAGE as usize];
        for from in (at..at + size).step_by(page.len()) {
            let bytes = page.len().min((at + size - from) as usize);
            let part = page.get_mut(..bytes).unwrap_or_default();
            (space.read(from, part)).map_err(|fault| format!("{command}: {fault}"))?;
        }
        Ok(())
    }
}
