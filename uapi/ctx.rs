// SPDX-License-Identifier: MIT OR Apache-2.0

//! Contexts of a DRM device's file: in whose name a program submits work to the kernel's rings, and whether a reset
//! has hit it since.
//!
//! Source: Linux 7.3, `include/uapi/drm/amdgpu_drm.h`.

use super::{
    drm::TYPE,
    ioctl::{Request, READ_WRITE},
};

structs! {
    /// Argument of [`CTX`]. The answer takes its place: [`Ctx::answer_number`], [`Ctx::answer_state`].
    pub struct Ctx = "union drm_amdgpu_ctx" {
        /// One of `OP_`.
        op: u32 = "in.op",
        /// None, but for [`OP_SET_STABLE_PSTATE`], where it is one of `PSTATE_`.
        flags: u32 = "in.flags",
        /// The context; numbers start at 1.
        ctx_id: u32 = "in.ctx_id",
        /// One of `PRIORITY_`; anything else counts as [`PRIORITY_NORMAL`].
        priority: i32 = "in.priority",
    }
}

constants! {
    OP_ALLOC_CTX: u32 = 1, "AMDGPU_CTX_OP_ALLOC_CTX";
    OP_FREE_CTX: u32 = 2, "AMDGPU_CTX_OP_FREE_CTX";
    /// Was there a reset since the last question?
    OP_QUERY_STATE: u32 = 3, "AMDGPU_CTX_OP_QUERY_STATE";
    /// What happened since the context was made?
    OP_QUERY_STATE2: u32 = 4, "AMDGPU_CTX_OP_QUERY_STATE2";
    /// At which clocks does the GPU run?
    OP_GET_STABLE_PSTATE: u32 = 5, "AMDGPU_CTX_OP_GET_STABLE_PSTATE";
    OP_SET_STABLE_PSTATE: u32 = 6, "AMDGPU_CTX_OP_SET_STABLE_PSTATE";

    /// Answers of [`OP_QUERY_STATE`].
    NO_RESET: u32 = 0, "AMDGPU_CTX_NO_RESET";
    UNKNOWN_RESET: u32 = 3, "AMDGPU_CTX_UNKNOWN_RESET";

    /// Answers of [`OP_QUERY_STATE2`], bits.
    QUERY2_RESET: u64 = 1 << 0, "AMDGPU_CTX_QUERY2_FLAGS_RESET";
    QUERY2_VRAMLOST: u64 = 1 << 1, "AMDGPU_CTX_QUERY2_FLAGS_VRAMLOST";
    QUERY2_RESET_IN_PROGRESS: u64 = 1 << 5, "AMDGPU_CTX_QUERY2_FLAGS_RESET_IN_PROGRESS";

    /// Not a priority of a context.
    PRIORITY_UNSET: i32 = -2048, "AMDGPU_CTX_PRIORITY_UNSET";
    PRIORITY_VERY_LOW: i32 = -1023, "AMDGPU_CTX_PRIORITY_VERY_LOW";
    PRIORITY_LOW: i32 = -512, "AMDGPU_CTX_PRIORITY_LOW";
    PRIORITY_NORMAL: i32 = 0, "AMDGPU_CTX_PRIORITY_NORMAL";
    /// From here on for those with CAP_SYS_NICE, and for the master of a screen.
    PRIORITY_HIGH: i32 = 512, "AMDGPU_CTX_PRIORITY_HIGH";
    PRIORITY_VERY_HIGH: i32 = 1023, "AMDGPU_CTX_PRIORITY_VERY_HIGH";

    PSTATE_FLAGS_MASK: u32 = 0xf, "AMDGPU_CTX_STABLE_PSTATE_FLAGS_MASK";
    /// Clocks follow the load.
    PSTATE_NONE: u32 = 0, "AMDGPU_CTX_STABLE_PSTATE_NONE";
    PSTATE_STANDARD: u32 = 1, "AMDGPU_CTX_STABLE_PSTATE_STANDARD";
    PSTATE_PEAK: u32 = 4, "AMDGPU_CTX_STABLE_PSTATE_PEAK";

    /// Operations of [`SCHED`](super::amdgpu::SCHED): all contexts of a file, and one.
    SCHED_OP_PROCESS: u32 = 1, "AMDGPU_SCHED_OP_PROCESS_PRIORITY_OVERRIDE";
    SCHED_OP_CONTEXT: u32 = 2, "AMDGPU_SCHED_OP_CONTEXT_PRIORITY_OVERRIDE";
}

/// Makes, frees and asks contexts.
pub const CTX: Request<Ctx> = Request::new(
    "AMDGPU_CTX",
    "DRM_IOCTL_AMDGPU_CTX",
    "Ctx",
    READ_WRITE,
    TYPE,
    0x42,
);

/// Whether it is a context's priority (`amdgpu_ctx_priority_is_valid`).
pub const fn is_priority(priority: i32) -> bool {
    matches!(
        priority,
        PRIORITY_VERY_LOW | PRIORITY_LOW | PRIORITY_NORMAL | PRIORITY_HIGH | PRIORITY_VERY_HIGH
    )
}

impl Ctx {
    /// Answers [`OP_ALLOC_CTX`] with the context's number, and [`OP_GET_STABLE_PSTATE`] with one of `PSTATE_`: the
    /// rest stays.
    pub fn answer_number(&mut self, number: u32) {
        self.op = number;
    }

    /// The number of that answer.
    pub const fn number(&self) -> u32 {
        self.op
    }

    /// Answers [`OP_QUERY_STATE`] and [`OP_QUERY_STATE2`]; how many resets it caused is always 0. `None` leaves the
    /// status as it is.
    pub fn answer_state(&mut self, flags: u64, status: Option<u32>) {
        self.op = flags as u32;
        self.flags = (flags >> 32) as u32;
        self.ctx_id = 0;
        if let Some(status) = status {
            self.priority = status as i32;
        }
    }

    /// Flags, resets and status of that answer.
    pub const fn state(&self) -> (u64, u32, u32) {
        let flags = self.op as u64 | ((self.flags as u64) << 32);
        (flags, self.ctx_id, self.priority as u32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_answer_takes_the_place_of_the_question() {
        let mut args = Ctx {
            priority: 5,
            ..Ctx::default()
        };
        args.answer_state(0x1_0000_0003, None);
        assert_eq!(args.state(), (0x1_0000_0003, 0, 5));
        args.answer_state(0, Some(UNKNOWN_RESET));
        assert_eq!(args.state(), (0, 0, UNKNOWN_RESET));
    }

    #[test]
    fn five_numbers_are_priorities() {
        let all = -3000..3000;
        assert_eq!(all.filter(|n| is_priority(*n)).count(), 5);
        assert!(!is_priority(PRIORITY_UNSET));
    }
}
