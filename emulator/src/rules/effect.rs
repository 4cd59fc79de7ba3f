// SPDX-License-Identifier: MIT OR Apache-2.0

//! What becomes of an event.

use super::event::Kind;
use std::time::Duration;

/// What a rule does.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Effect {
    /// It is carried out, but nobody learns that it is done.
    NoAnswer,
    /// Whoever carries it out stays at it, until the rule is removed or the device reset.
    Hang,
    /// It is carried out that much later.
    Late(Duration),
    /// It is carried out, or comes, twice.
    Twice,
    /// The answer is one more than it should be.
    WrongSequence,
    /// The answer, or the entry, is nonsense.
    Garbage,
    /// It is passed over.
    Drop,
    /// It is refused, with this code of the firmware where there is one.
    Fail(u8),
    /// It comes so many times.
    Storm(u32),
    /// It comes until its ring overflows.
    Overflow,
    /// The register reads as this.
    Read(u32),
    /// As [`Effect::Hang`], and a reset of the queue does not end it: its pipe has to be reset.
    Wedge,
    /// Mutation: a page walk gets the next page's address.
    StalePage,
    /// Mutation: one bit of an instruction word is the wrong way round.
    FlipBit,
    /// Mutation: the last word of a packet's body is hidden until it is read again.
    HideWord,
    /// The discovery binary is damaged.
    Damaged(Damage),
    /// The firmware does not run, as before PSP load.
    Cold,
    /// Another driver has used the device: registers of queues and contexts hold what it left there.
    Used,
    /// The device is this node of a hive.
    Node(u32),
    /// The micro engine scheduler's firmware is of this revision.
    MesRevision(u32),
    /// So many page faults of the queue's process, each of another page.
    FaultFlood(u32),
    /// The device stands still, so that it can be looked into.
    Pause,
    /// The device falls off the bus: it answers no access any more, and all reads give ffffffff.
    SurpriseRemoval,
    /// The device's process ends at once.
    Death,
    /// The device loses power, and gets it again. No rule has this effect: the control socket asks for it.
    PowerCycle,
}

/// What is wrong with the discovery binary.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Damage {
    /// Its signature.
    Signature,
    /// Its checksum.
    Checksum,
    /// It has a version that nobody knows yet.
    FutureVersion,
    /// It lists a graphics core of an unknown version.
    UnknownCore,
    /// It counts more IP blocks than it has room for.
    ImpossibleCounts,
    /// The signature of its table of IP blocks.
    BlocksSignature,
    /// The checksum of that table.
    BlocksChecksum,
    /// That table is of no die.
    NoDies,
    /// That table lists a block thousands of times.
    TooManyBlocks,
    /// That table lists its last block twice, which does no harm.
    RepeatedBlock,
    /// The signature of its table of the graphics core.
    CoreSignature,
    /// The signature of its table of what is fused off.
    HarvestSignature,
    /// It has no such table, which does no harm.
    NoHarvest,
}

/// Each effect's words, and the kinds of events that it is for. `N` stands for a number, `T` for a
/// time. The device-wide ones are for all kinds but [`Kind::Probe`] and [`Kind::PowerOn`].
const TABLE: &[Row] = &[
    (
        "no answer",
        |_| Effect::NoAnswer,
        &[Kind::Packet, Kind::Command, Kind::Message],
    ),
    (
        "hang",
        |_| Effect::Hang,
        &[
            Kind::Packet,
            Kind::Command,
            Kind::Message,
            Kind::Dispatch,
            Kind::Fill,
            Kind::KernelCopy,
            Kind::Copy,
            Kind::Stop,
        ],
    ),
    (
        "late T",
        |g| Effect::Late(g.time),
        &[
            Kind::Packet,
            Kind::Dispatch,
            Kind::Fill,
            Kind::KernelCopy,
            Kind::Copy,
        ],
    ),
    (
        "twice",
        |_| Effect::Twice,
        &[Kind::Packet, Kind::Command, Kind::IhEntry],
    ),
    (
        "wrong sequence",
        |_| Effect::WrongSequence,
        &[Kind::Packet, Kind::Command],
    ),
    (
        "garbage",
        |_| Effect::Garbage,
        &[
            Kind::Packet,
            Kind::Command,
            Kind::Message,
            Kind::IhEntry,
            Kind::Read,
        ],
    ),
    (
        "drop",
        |_| Effect::Drop,
        &[
            Kind::Packet,
            Kind::Command,
            Kind::Message,
            Kind::IhEntry,
            Kind::Write,
        ],
    ),
    (
        "fail N",
        |g| Effect::Fail(g.number as u8),
        &[Kind::Packet, Kind::Command, Kind::Message],
    ),
    (
        "fail",
        |_| Effect::Fail(0xff),
        &[Kind::Packet, Kind::Command, Kind::Message, Kind::Dispatch],
    ),
    ("storm of N", |g| Effect::Storm(g.number), &[Kind::IhEntry]),
    ("overflow", |_| Effect::Overflow, &[Kind::IhEntry]),
    ("read N", |g| Effect::Read(g.number), &[Kind::Read]),
    ("wedge", |_| Effect::Wedge, &[Kind::Stop]),
    ("stale page", |_| Effect::StalePage, &[Kind::Walk]),
    ("flip a bit", |_| Effect::FlipBit, &[Kind::Fetch]),
    ("hide a word", |_| Effect::HideWord, &[Kind::AqlPacket]),
    (
        "bad signature",
        |_| Effect::Damaged(Damage::Signature),
        &[Kind::Probe],
    ),
    (
        "bad checksum",
        |_| Effect::Damaged(Damage::Checksum),
        &[Kind::Probe],
    ),
    (
        "future version",
        |_| Effect::Damaged(Damage::FutureVersion),
        &[Kind::Probe],
    ),
    (
        "unknown core",
        |_| Effect::Damaged(Damage::UnknownCore),
        &[Kind::Probe],
    ),
    (
        "impossible counts",
        |_| Effect::Damaged(Damage::ImpossibleCounts),
        &[Kind::Probe],
    ),
    (
        "bad block table",
        |_| Effect::Damaged(Damage::BlocksSignature),
        &[Kind::Probe],
    ),
    (
        "bad block checksum",
        |_| Effect::Damaged(Damage::BlocksChecksum),
        &[Kind::Probe],
    ),
    (
        "no dies",
        |_| Effect::Damaged(Damage::NoDies),
        &[Kind::Probe],
    ),
    (
        "too many blocks",
        |_| Effect::Damaged(Damage::TooManyBlocks),
        &[Kind::Probe],
    ),
    (
        "repeated block",
        |_| Effect::Damaged(Damage::RepeatedBlock),
        &[Kind::Probe],
    ),
    (
        "bad core table",
        |_| Effect::Damaged(Damage::CoreSignature),
        &[Kind::Probe],
    ),
    (
        "bad harvest table",
        |_| Effect::Damaged(Damage::HarvestSignature),
        &[Kind::Probe],
    ),
    (
        "no harvest table",
        |_| Effect::Damaged(Damage::NoHarvest),
        &[Kind::Probe],
    ),
    ("cold", |_| Effect::Cold, &[Kind::PowerOn]),
    ("used", |_| Effect::Used, &[Kind::PowerOn]),
    ("node N", |g| Effect::Node(g.number), &[Kind::PowerOn]),
    (
        "MES revision N",
        |g| Effect::MesRevision(g.number),
        &[Kind::PowerOn],
    ),
    (
        "fault flood of N",
        |g| Effect::FaultFlood(g.number),
        &[Kind::Dispatch],
    ),
    ("pause", |_| Effect::Pause, ANY),
    ("surprise removal", |_| Effect::SurpriseRemoval, ANY),
    ("death", |_| Effect::Death, ANY),
];

const ANY: &[Kind] = &[
    Kind::Packet,
    Kind::Command,
    Kind::Message,
    Kind::IhEntry,
    Kind::Read,
    Kind::Write,
    Kind::Doorbell,
    Kind::Dispatch,
    Kind::WaveLaunch,
    Kind::EndOfPipe,
    Kind::Fill,
    Kind::KernelCopy,
    Kind::Copy,
    Kind::Walk,
    Kind::Fetch,
    Kind::AqlPacket,
    Kind::Stop,
];

/// What stood in the place of `N` or `T`.
#[derive(Clone, Copy, Default)]
pub(super) struct Given {
    pub number: u32,
    pub time: Duration,
}

/// An effect's words, what they make, and the kinds of events that may have it.
type Row = (&'static str, fn(Given) -> Effect, &'static [Kind]);

/// The effects that one of some kinds of events may have.
pub(super) fn of(kinds: &[Kind]) -> Vec<&'static Row> {
    let fits = |row: &&Row| row.2.iter().any(|kind| kinds.contains(kind));
    TABLE.iter().filter(fits).collect()
}

impl Effect {
    /// What is answered in place of a value; `None` for nothing.
    pub fn answer(self, value: u64) -> Option<u64> {
        match self {
            Self::NoAnswer => None,
            Self::WrongSequence => Some(value.wrapping_add(1)),
            Self::Garbage => Some(!value),
            _ => Some(value),
        }
    }

    /// Whether it happens to the whole device, whatever the event.
    pub fn is_device_wide(self) -> bool {
        matches!(self, Self::Pause | Self::SurpriseRemoval | Self::Death)
    }
}
