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
    /// The discovery binary has a wrong signature.
    BadSignature,
    /// The discovery binary has a wrong checksum.
    BadChecksum,
    /// The discovery binary has a version that nobody knows yet.
    FutureVersion,
    /// The discovery binary lists a graphics core of an unknown version.
    UnknownCore,
    /// The discovery binary counts more IP blocks than it has room for.
    ImpossibleCounts,
    /// The firmware does not run, as before PSP load.
    Cold,
    /// Another driver has used the device: registers of queues and contexts hold what it left there.
    Used,
    /// The device is this node of a hive.
    Node(u32),
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
    ("bad signature", |_| Effect::BadSignature, &[Kind::Probe]),
    ("bad checksum", |_| Effect::BadChecksum, &[Kind::Probe]),
    ("future version", |_| Effect::FutureVersion, &[Kind::Probe]),
    ("unknown core", |_| Effect::UnknownCore, &[Kind::Probe]),
    (
        "impossible counts",
        |_| Effect::ImpossibleCounts,
        &[Kind::Probe],
    ),
    ("cold", |_| Effect::Cold, &[Kind::PowerOn]),
    ("used", |_| Effect::Used, &[Kind::PowerOn]),
    ("node N", |g| Effect::Node(g.number), &[Kind::PowerOn]),
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
