// SPDX-License-Identifier: MIT OR Apache-2.0

//! Frames: what the driver puts into the rings of MES, parsed strictly.
//!
//! Source: Linux, `include/mes_v12_api_def.h`; layouts in `rkfd_hw::mes::v12`. A frame whose header
//! is not one of an interface function, or that has a reserved bit set, is malformed.

use super::slot::Pipe;
use rkfd_hw::mes::v12::*;
use rkfd_hw::mes::{op, FRAME_WORDS, TYPE_SCHEDULER};

/// The words of a frame.
pub type Words = [u32; FRAME_WORDS];

/// Where a frame's completion is written, and what.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub struct Status {
    /// `api_completion_fence_addr`; 0 for a frame that does not ask.
    pub address: u64,
    /// `api_completion_fence_value`.
    pub value: u64,
}

/// Why a frame was not carried out: the upper half of the status (`MES_ERR_CODE`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ErrorWord {
    /// What failed; its numbers are the firmware's own and not public.
    pub code: u8,
    /// The frame's opcode.
    pub opcode: u8,
    /// Its sub-opcode, if it is MISC.
    pub misc: u8,
    /// `enum MES_ERROR_CATEGORY_CODE_12`.
    pub category: u8,
}

/// The interface function was not called correctly (`MES_ERROR_API`).
pub const CATEGORY_API: u8 = 1;
/// It was, but could not be carried out (`MES_ERROR_SCHEDULING`).
pub const CATEGORY_SCHEDULING: u8 = 2;

impl ErrorWord {
    /// The status. Its lower half is 0, which means that the frame failed.
    pub fn status(self) -> u64 {
        let word = u32::from(self.code)
            | (u32::from(self.opcode) << 8)
            | (u32::from(self.misc) << 16)
            | (u32::from(self.category) << 24)
            | (1 << 31);
        u64::from(word) << 32
    }
}

/// A frame.
#[derive(Clone, Debug)]
#[expect(missing_docs, reason = "the names are the frames'")]
pub enum Frame {
    SetHwResources(Box<SetHwResources>),
    SetHwResources1(Box<SetHwResources1>),
    SetSchedulingConfig(Box<SetSchedulingConfig>),
    AddQueue(Box<AddQueue>),
    RemoveQueue(Box<RemoveQueue>),
    ChangeGangPriority(Box<ChangeGangPriority>),
    Suspend(Box<Suspend>),
    Resume(Box<Resume>),
    Reset(Box<Reset>),
    QueryStatus(Box<QueryStatus>),
    Misc(Box<Misc>),
    UpdateRootPageTable(Box<UpdateRootPageTable>),
    SetLoggingBuffer(Box<SetLoggingBuffer>),
    InvTlbs(Box<InvTlbs>),
}

/// The revision of the firmware from which on RESET finds hung queues (`amdgpu_mes_queue_reset_by_mes_supported`).
pub const DETECTS_HUNG: u32 = 0x8d;
/// The one from which on there is INV_TLBS (`gmc_v12_0_flush_gpu_tlb_pasid`).
const INVALIDATES: u32 = 0x84;
/// The one from which on the scheduler has SET_HW_RSRC_1 (`mes_v12_0_hw_init`); of the other pipe nobody asks.
const RESOURCES_1: u32 = 0x4b;

impl Frame {
    /// The revision of the firmware from which on it has the command, for what Linux asks of later ones alone.
    pub(super) fn since(&self, pipe: Pipe) -> u32 {
        match self {
            Frame::SetHwResources1(_) if pipe == Pipe::Scheduler => RESOURCES_1,
            Frame::InvTlbs(_) => INVALIDATES,
            Frame::Reset(p)
                if p.get(Reset::HANG_DETECT_ONLY) | p.get(Reset::HANG_DETECT_THEN_RESET) != 0 =>
            {
                DETECTS_HUNG
            }
            _ => 0,
        }
    }
}

/// A frame that is not one.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Malformed {
    /// Where the status of the failure goes; not known for an unknown opcode.
    pub status: Option<Status>,
    /// Its opcode.
    pub opcode: u8,
    /// What is wrong.
    pub what: String,
}

/// The opcode that a frame's first word names.
pub fn opcode(words: &Words) -> u8 {
    (words[0] >> 4) as u8
}

/// The name of an opcode (Linux, `mes_v12_0_opcodes`).
pub fn name(opcode: u8) -> &'static str {
    match opcode {
        op::SET_HW_RSRC => "SET_HW_RSRC",
        op::SET_SCHEDULING_CONFIG => "SET_SCHEDULING_CONFIG",
        op::ADD_QUEUE => "ADD_QUEUE",
        op::REMOVE_QUEUE => "REMOVE_QUEUE",
        op::PERFORM_YIELD => "PERFORM_YIELD",
        op::SET_GANG_PRIORITY_LEVEL => "SET_GANG_PRIORITY_LEVEL",
        op::SUSPEND => "SUSPEND",
        op::RESUME => "RESUME",
        op::RESET => "RESET",
        op::SET_LOG_BUFFER => "SET_LOG_BUFFER",
        op::CHANGE_GANG_PRIORITY => "CHANGE_GANG_PRIORITY",
        op::QUERY_SCHEDULER_STATUS => "QUERY_SCHEDULER_STATUS",
        op::SET_DEBUG_VMID => "SET_DEBUG_VMID",
        op::MISC => "MISC",
        op::UPDATE_ROOT_PAGE_TABLE => "UPDATE_ROOT_PAGE_TABLE",
        op::SET_HW_RSRC_1 => "SET_HW_RSRC_1",
        op::INV_TLBS => "INV_TLBS",
        _ => "unknown",
    }
}

macro_rules! frames {
    ($words:ident: $( $op:ident => $frame:ident ),* $(,)?) => {
        match opcode($words) {
            $( op::$op => {
                let frame = $frame(*$words);
                let status = Status {
                    address: frame.get($frame::API_STATUS_API_COMPLETION_FENCE_ADDR),
                    value: frame.get($frame::API_STATUS_API_COMPLETION_FENCE_VALUE),
                };
                Some((status, frame.reserved_word(), Frame::$frame(Box::new(frame))))
            } )*
            _ => None,
        }
    };
}

/// Parses a frame.
///
/// # Errors
/// What is malformed.
pub fn parse(words: &Words) -> Result<(Frame, Status), Malformed> {
    let opcode = opcode(words);
    let bad = |status, what: String| {
        Err(Malformed {
            status,
            opcode,
            what,
        })
    };
    let known = frames!(words:
        SET_HW_RSRC => SetHwResources,
        SET_HW_RSRC_1 => SetHwResources1,
        SET_SCHEDULING_CONFIG => SetSchedulingConfig,
        ADD_QUEUE => AddQueue,
        REMOVE_QUEUE => RemoveQueue,
        CHANGE_GANG_PRIORITY => ChangeGangPriority,
        SUSPEND => Suspend,
        RESUME => Resume,
        RESET => Reset,
        QUERY_SCHEDULER_STATUS => QueryStatus,
        MISC => Misc,
        UPDATE_ROOT_PAGE_TABLE => UpdateRootPageTable,
        SET_LOG_BUFFER => SetLoggingBuffer,
        INV_TLBS => InvTlbs,
    );
    let kind = u64::from(words[0] & 0xf);
    let size = (words[0] >> 12) & 0xff;
    if kind != TYPE_SCHEDULER {
        return bad(None, format!("a frame of type {kind}"));
    }
    let Some((status, reserved, frame)) = known else {
        return bad(
            None,
            format!("frame with opcode {opcode} ({})", name(opcode)),
        );
    };
    if size as usize != FRAME_WORDS {
        return bad(Some(status), format!("{} of {size} words", name(opcode)));
    }
    if let Some(word) = reserved {
        let what = format!("{}: reserved bits in word {word}", name(opcode));
        return bad(Some(status), what);
    }
    if status.address % 8 != 0 {
        return bad(
            None,
            format!("{}: misaligned completion fence", name(opcode)),
        );
    }
    Ok((frame, status))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rkfd_hw::mes::header;

    #[test]
    fn the_status_of_a_failure_is_linux_s_err_code() {
        // MES_ERR_CODE(5, 14, 4, MES_ERROR_API), by the shifts of mes_v12_api_def.h.
        let error = ErrorWord {
            code: 5,
            opcode: 14,
            misc: 4,
            category: CATEGORY_API,
        };
        assert_eq!(error.status(), 0x8104_0e05_0000_0000);
        assert_eq!(error.status() as u32, 0);
    }

    #[test]
    fn the_completion_of_each_frame_is_where_linux_puts_it() {
        // offsetof(union MESAPI__*, api_status) in words, from amdkfd's reference of 7.2.
        for (opcode, at) in [
            (op::SET_HW_RSRC, 50),
            (op::SET_HW_RSRC_1, 2),
            (op::SET_SCHEDULING_CONFIG, 34),
            (op::ADD_QUEUE, 38),
            (op::REMOVE_QUEUE, 6),
            (op::CHANGE_GANG_PRIORITY, 8),
            (op::SUSPEND, 8),
            (op::RESUME, 4),
            (op::RESET, 28),
            (op::QUERY_SCHEDULER_STATUS, 2),
            (op::MISC, 2),
            (op::UPDATE_ROOT_PAGE_TABLE, 6),
            (op::SET_LOG_BUFFER, 6),
            (op::INV_TLBS, 2),
        ] {
            let mut words = [0; FRAME_WORDS];
            words[0] = header(opcode);
            words[at..at + 4].copy_from_slice(&[0x1000, 0x2, 0x3, 0x4]);
            let (_, status) = parse(&words).unwrap();
            let expected = Status {
                address: 0x2_0000_1000,
                value: 0x4_0000_0003,
            };
            assert_eq!(status, expected, "{}", name(opcode));
        }
    }

    #[test]
    fn malformed_frames_are_refused() {
        let parse_error = |words: &Words| parse(words).unwrap_err();
        let mut words = [0; FRAME_WORDS];
        words[0] = header(op::SUSPEND);
        words[8] = 0x3000;
        assert!(parse(&words).is_ok());
        let mut wrong = words;
        wrong[0] = header(op::SUSPEND) & !0xf;
        assert_eq!(parse_error(&wrong).what, "a frame of type 0");
        wrong[0] = header(op::SUSPEND) - (1 << 12);
        let error = parse_error(&wrong);
        assert_eq!(error.what, "SUSPEND of 63 words");
        assert_eq!(error.status.map(|s| s.address), Some(0x3000));
        wrong[0] = header(12);
        assert_eq!(parse_error(&wrong).what, "frame with opcode 12 (unknown)");
        assert_eq!(parse_error(&wrong).status, None);
        wrong = words;
        wrong[63] = 1;
        assert_eq!(
            parse_error(&wrong).what,
            "SUSPEND: reserved bits in word 63"
        );
        wrong = words;
        wrong[1] = 8;
        assert_eq!(parse_error(&wrong).what, "SUSPEND: reserved bits in word 1");
        wrong = words;
        wrong[0] |= 1 << 20;
        assert_eq!(parse_error(&wrong).what, "SUSPEND: reserved bits in word 0");
        wrong = words;
        wrong[8] = 0x3004;
        assert_eq!(
            parse_error(&wrong).what,
            "SUSPEND: misaligned completion fence"
        );
    }
}
