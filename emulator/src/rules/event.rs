// SPDX-License-Identifier: MIT OR Apache-2.0

//! What rules can be about.

use std::fmt;

/// A kind of event.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Kind {
    /// The firmware takes a packet of KIQ or HIQ, or a frame of MES.
    Packet,
    /// The security processor takes a command from its ring.
    Command,
    /// The management unit takes a message from its mailbox.
    Message,
    /// The interrupt handler has an entry for its ring.
    IhEntry,
    /// The host reads a register.
    Read,
    /// The host writes a register.
    Write,
    /// The firmware finds that the doorbell of a process' queue was rung.
    Doorbell,
    /// A dispatch is about to be launched.
    Dispatch,
    /// The waves of a work-group are about to start.
    WaveLaunch,
    /// A packet of a process' queue is complete, and its signal about to be told.
    EndOfPipe,
    /// The kernel's queue of a copy engine has a fill.
    Fill,
    /// The kernel's queue of a copy engine has a copy.
    KernelCopy,
    /// A process' queue of a copy engine has a packet.
    Copy,
    /// A page walk of a process for a write.
    Walk,
    /// A wave fetches an instruction word.
    Fetch,
    /// The packet processor has read an AQL packet, and is about to carry it out.
    AqlPacket,
    /// A user queue is asked to leave its HQD.
    Stop,
    /// The discovery binary is made.
    Probe,
    /// The device gets power.
    PowerOn,
}

/// The words that name a kind, and the kinds that they name.
pub(super) const KINDS: &[(&str, &[Kind])] = &[
    ("IH entry", &[Kind::IhEntry]),
    ("any register access", &[Kind::Read, Kind::Write]),
    ("any register read", &[Kind::Read]),
    ("any register write", &[Kind::Write]),
    ("PSP command", &[Kind::Command]),
    ("SMU message", &[Kind::Message]),
    ("doorbell ring", &[Kind::Doorbell]),
    ("dispatch", &[Kind::Dispatch]),
    ("wave launch", &[Kind::WaveLaunch]),
    ("end of pipe", &[Kind::EndOfPipe]),
    ("kernel fill", &[Kind::Fill]),
    ("kernel copy", &[Kind::KernelCopy]),
    ("copy packet", &[Kind::Copy]),
    ("page walk", &[Kind::Walk]),
    ("instruction fetch", &[Kind::Fetch]),
    ("AQL packet", &[Kind::AqlPacket]),
    ("queue stop", &[Kind::Stop]),
    ("probe", &[Kind::Probe]),
    ("power-on", &[Kind::PowerOn]),
];

/// Names of packets. `LEGACY` frames are those of the kernel's own queues.
pub(super) const PACKETS: &[&str] = &[
    // KIQ and HIQ.
    "SET_RESOURCES",
    "MAP_QUEUES",
    "UNMAP_QUEUES",
    "QUERY_STATUS",
    "RUN_LIST",
    "WRITE_DATA",
    "RELEASE_MEM",
    "INVALIDATE_TLBS",
    // MES.
    "SET_HW_RSRC",
    "SET_HW_RSRC_1",
    "SET_SCHEDULING_CONFIG",
    "ADD_QUEUE",
    "ADD_LEGACY_QUEUE",
    "REMOVE_QUEUE",
    "REMOVE_LEGACY_QUEUE",
    "CHANGE_GANG_PRIORITY",
    "SUSPEND",
    "RESUME",
    "RESET",
    "QUERY_SCHEDULER_STATUS",
    "MISC",
    "UPDATE_ROOT_PAGE_TABLE",
    "INV_TLBS",
];

/// Names of the security processor's commands.
pub(super) const COMMANDS: &[&str] = &[
    "SETUP_TMR",
    "DESTROY_TMR",
    "LOAD_IP_FW",
    "LOAD_TOC",
    "AUTOLOAD_RLC",
    "SPATIAL_PART",
    "FB_FW_RESERV_ADDR",
    "FB_FW_RESERV_EXT_ADDR",
];

/// Rings that packets are taken from.
pub(super) const RINGS: &[&str] = &["KIQ", "HIQ", "MES"];

/// What an event may say about itself.
pub(super) const KEYS: &[&str] = &[
    "doorbell", "queue", "pasid", "vmid", "client", "source", "pipe", "engine", "type", "message",
];

/// What is paused at by `--pause-at`, and the rules' word for it.
pub const POINTS: [(&str, &str); 5] = [
    ("doorbell", "doorbell ring"),
    ("fetch", "AQL packet"),
    ("wave", "wave launch"),
    ("eop", "end of pipe"),
    ("ih", "IH entry"),
];

/// Something that happens.
#[derive(Clone, Copy, Debug)]
pub struct Event<'a> {
    /// What.
    pub kind: Kind,
    /// A packet's ring.
    pub ring: &'a str,
    /// The name of the packet or of the register.
    pub name: &'a str,
    /// What else is known about it.
    pub keys: &'a [(&'static str, u64)],
}

impl<'a> Event<'a> {
    /// An event that says nothing about itself.
    pub fn of(kind: Kind) -> Self {
        Self {
            kind,
            ring: "",
            name: "",
            keys: &[],
        }
    }

    /// A register access.
    pub fn named(kind: Kind, name: &'a str) -> Self {
        Self {
            name,
            ..Self::of(kind)
        }
    }

    /// The same with something said about it.
    pub fn with(self, keys: &'a [(&'static str, u64)]) -> Self {
        Self { keys, ..self }
    }
}

impl fmt::Display for Event<'_> {
    /// As a rule names it.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_it = |row: &&(&str, &[Kind])| row.1 == [self.kind];
        match (self.name, self.kind, KINDS.iter().find(is_it)) {
            (name, Kind::Read, _) => write!(f, "read of {name}")?,
            (name, Kind::Write, _) => write!(f, "write of {name}")?,
            ("", _, Some((words, _))) => f.write_str(words)?,
            (name, ..) if self.ring.is_empty() => f.write_str(name)?,
            (name, ..) => write!(f, "{} {name}", self.ring)?,
        }
        for (key, value) in self.keys {
            write!(f, " of {key} {value:#x}")?;
        }
        Ok(())
    }
}
