// SPDX-License-Identifier: GPL-2.0

//! Tracepoints: what the driver does, for perf, bpftrace and trace-cmd.
//!
//! They are declared in C (`rkfd_trace.h`), since the kernel makes their code by macros of C, and each
//! has a function here. Nobody listening, one costs an instruction that does nothing, and its
//! arguments. The kernel crate's `declare_trace!` looks for them among the kernel's own.

use core::mem::offset_of;
use kernel::{
    bindings,
    ffi::c_char,
    jump_label::static_branch_unlikely,
    macros::paste, //
};

/// What Rust needs of `struct tracepoint`: whose other parts are empty in some kernels, as no type of C is.
#[repr(C)]
struct Tracepoint {
    name: *const c_char,
    key: bindings::static_key_false,
}

const _: () = assert!(offset_of!(Tracepoint, key) == offset_of!(bindings::tracepoint, key));

/// Declares a tracepoint of `rkfd_trace.h` as a module with `is_on` and `fire`.
macro_rules! tracepoint {
    ($name:ident($($arg:ident: $type:ty),*)) => {
        paste! {
            mod $name {
                use super::*;

                extern "C" {
                    static [< __tracepoint_rkfd_ $name >]: Tracepoint;
                    fn [< rust_do_trace_rkfd_ $name >]($($arg: $type),*);
                }

                /// Whether somebody listens.
                #[inline(always)]
                pub(super) fn is_on() -> bool {
                    // SAFETY: trace.c defines this tracepoint, whose key it is.
                    unsafe {
                        static_branch_unlikely!(
                            [< __tracepoint_rkfd_ $name >],
                            Tracepoint,
                            key
                        )
                    }
                }

                /// # Safety
                ///
                /// A pointer among the arguments is good for as much as `rkfd_trace.h` reads there.
                pub(super) unsafe fn fire($($arg: $type),*) {
                    // SAFETY: trace.c defines it; the rest the caller promises.
                    unsafe { [< rust_do_trace_rkfd_ $name >]($($arg),*) }
                }
            }
        }
    };
}

tracepoint!(ioctl_enter(number: u32, error: i32, bytes: *const u8, len: usize));
tracepoint!(ioctl_exit(number: u32, error: i32, bytes: *const u8, len: usize));
tracepoint!(queue(pasid: u32, doorbell: u32, mqd: u64, state: u32));
tracepoint!(mqd(pasid: u32, doorbell: u32, mqd: u64, fresh: bool));
tracepoint!(run_list(address: u64, words: u32, processes: u32, queues: u32, over: bool));
tracepoint!(packet(doorbell: u32, words: *const u32, len: usize));
tracepoint!(doorbell(doorbell: u32, value: u64));
tracepoint!(tlb_flush(pasid: u32, vmid: u32, kind: u32));
tracepoint!(ih_entry(words: *const u32));
tracepoint!(signal(pasid: u32, event: u32, bits: u32));
tracepoint!(evict(pasid: u32, change: i32));
tracepoint!(fault(pasid: u32, address: u64, not_present: bool, write: bool, execute: bool));

/// Bytes of a request's argument that are told at most; the largest structure has 400 (GET_PROCESS_APERTURES). A program may
/// give any size below 16 KiB. An event of more than 8 KiB makes perf warn (`PERF_MAX_TRACE_SIZE`), and ftrace drops one of
/// more than its pages hold.
const TOLD: usize = 512;

/// What is told of an argument.
fn told(argument: &[u8]) -> &[u8] {
    argument.get(..TOLD).unwrap_or(argument)
}

/// A request of `/dev/kfd` begins, with its argument as the program gave it, of which no more than 512 bytes are told.
#[inline(always)]
pub(crate) fn ioctl_entered(number: u8, argument: &[u8]) {
    if ioctl_enter::is_on() {
        let argument = told(argument);
        // SAFETY: The slice is good for its length.
        unsafe { ioctl_enter::fire(number.into(), 0, argument.as_ptr(), argument.len()) };
    }
}

/// A request ends: 0 or a negative errno, and its argument as the program gets it back, told as above.
#[inline(always)]
pub(crate) fn ioctl_left(number: u8, error: i32, argument: &[u8]) {
    if ioctl_exit::is_on() {
        let argument = told(argument);
        // SAFETY: As above.
        unsafe { ioctl_exit::fire(number.into(), error, argument.as_ptr(), argument.len()) };
    }
}

/// A queue, by its doorbell's word in the BAR and the address of its MQD, enters a state: 0 created,
/// 1 mapped, 2 disabled, 3 evicted, 4 hung, 5 gone.
#[inline(always)]
pub(crate) fn queue_enters(pasid: u32, doorbell: u32, mqd: u64, state: u32) {
    if queue::is_on() {
        // SAFETY: No pointers.
        unsafe { queue::fire(pasid, doorbell, mqd, state) };
    }
}

/// A queue's MQD is written: whole (`fresh`), or what an update may change.
#[inline(always)]
pub(crate) fn mqd_written(pasid: u32, doorbell: u32, mqd: u64, fresh: bool) {
    if mqd::is_on() {
        // SAFETY: No pointers.
        unsafe { mqd::fire(pasid, doorbell, mqd, fresh) };
    }
}

/// A run list is written, of so many words; `over` when there are more queues than places.
#[inline(always)]
pub(crate) fn run_list_written(address: u64, words: u32, processes: u32, queues: u32, over: bool) {
    if run_list::is_on() {
        // SAFETY: No pointers.
        unsafe { run_list::fire(address, words, processes, queues, over) };
    }
}

/// A packet is written to a ring of the kernel's: PM4 for KIQ and HIQ, a frame for MES.
#[inline(always)]
pub(crate) fn packet_written(doorbell: u32, words: &[u32]) {
    if packet::is_on() {
        // SAFETY: The slice is good for its length.
        unsafe { packet::fire(doorbell, words.as_ptr(), words.len()) };
    }
}

/// The driver rings a doorbell.
#[inline(always)]
pub(crate) fn doorbell_rung(doorbell: u32, value: u64) {
    if doorbell::is_on() {
        // SAFETY: No pointers.
        unsafe { doorbell::fire(doorbell, value) };
    }
}

/// The TLBs forget an address space: of a process, or, with PASID 0, of a VMID. `kind` is the
/// hardware's FLUSH_TYPE.
#[inline(always)]
pub(crate) fn tlb_flushed(pasid: u32, vmid: u32, kind: u32) {
    if tlb_flush::is_on() {
        // SAFETY: No pointers.
        unsafe { tlb_flush::fire(pasid, vmid, kind) };
    }
}

/// An entry of an IH ring is taken.
#[inline(always)]
pub(crate) fn ih_entry_taken(words: &[u32; 8]) {
    if ih_entry::is_on() {
        // SAFETY: There are 8 words, as many as are copied.
        unsafe { ih_entry::fire(words.as_ptr()) };
    }
}

/// The GPU signals an event of a process, of whose id the low `bits` bits are known.
#[inline(always)]
pub(crate) fn event_signaled(pasid: u32, event: u32, bits: u32) {
    if signal::is_on() {
        // SAFETY: No pointers.
        unsafe { signal::fire(pasid, event, bits) };
    }
}

/// A process' queues are evicted once more (1), or once less (-1).
#[inline(always)]
pub(crate) fn evictions_changed(pasid: u32, change: i32) {
    if evict::is_on() {
        // SAFETY: No pointers.
        unsafe { evict::fire(pasid, change) };
    }
}

/// A page fault of the GPU's.
#[inline(always)]
pub(crate) fn page_faulted(
    pasid: u32,
    address: u64,
    not_present: bool,
    write: bool,
    execute: bool,
) {
    if fault::is_on() {
        // SAFETY: No pointers.
        unsafe { fault::fire(pasid, address, not_present, write, execute) };
    }
}

#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
