// SPDX-License-Identifier: GPL-2.0

//! Frames: how a command is made, run on a pipe, and its failure reported.

use super::pipe::Failure;
use crate::glue::ratelimit::ratelimited;
use crate::sched::Parts;
use kernel::prelude::*;

/// A frame with its header.
macro_rules! frame {
    ($type:ident, $op:ident) => {
        $type::zeroed()
            .having($type::HEADER_TYPE.is::<TYPE_SCHEDULER>())
            .with($type::HEADER_OPCODE, op::$op)
            .having($type::HEADER_DWSIZE.is::<{ FRAME_WORDS as u64 }>())
    };
}

/// Runs a frame on a pipe.
macro_rules! run {
    ($pipe:expr, $type:ident, $frame:expr) => {
        $pipe.run($frame.0, $type::API_STATUS_API_COMPLETION_FENCE_ADDR.word())
    };
}

pub(super) use {
    frame,
    run, //
};

/// Logs what failed, and returns it as an error.
pub(super) fn report(parts: &Parts, what: &str, failure: Failure) -> Error {
    if let Failure::Refused(refusal) = &failure {
        ratelimited!(
            dev_err,
            parts.dev.device(),
            "the scheduler (MES) refuses {}: {}\n",
            what,
            refusal
        );
    }
    failure.into()
}
