// SPDX-License-Identifier: MIT OR Apache-2.0
//! Kernel messages after which a run is bad, even if all tests pass.

/// A message is bad if it contains one of these.
const BAD: &[&str] = &[
    "WARNING: ",
    "BUG: ",
    "kernel BUG at",
    "Oops: ",
    "Oops:",
    "Kernel panic",
    "Call Trace:",
    "general protection fault",
    "KASAN: ",
    "UBSAN: ",
    "KFENCE: ",
    "DEBUG_LOCKS_WARN_ON",
    "INFO: task ",
    "rcu: INFO: ",
    "rcu_preempt detected",
    "detected stall",
    "soft lockup",
    "hard LOCKUP",
    "suspicious RCU usage",
    "Voluntary context switch within RCU",
    "possible recursive locking",
    "possible circular locking",
    "unreferenced object",
    "refcount_t: ",
    "list_add corruption",
    "list_del corruption",
    "Bad page state",
    "DMA-API: ",
    "scheduling while atomic",
    "sleeping function called from invalid context",
    "rust_kernel: panicked",
    "panicked at",
    "Unknown symbol",
    // Of the whole machine: that of a memory cgroup is a "Memory cgroup out of memory".
    "Out of memory: ",
    "disagrees about version of symbol",
];

/// Messages of a healthy boot that look like bad ones.
const FINE: &[&str] = &[
    "DMA-API: preallocated",
    "DMA-API: debugging enabled",
    "DMA-API: debugging disabled on kernel command line",
    "Spectre V2 : WARNING: ",
];

/// Whether this text of a kernel message makes a run bad. That of a failing KUnit test does, too:
/// loading a module succeeds even if its tests fail.
pub fn is_splat(message: &str) -> bool {
    message.trim_start().starts_with("not ok ")
        || BAD.iter().any(|b| message.contains(b)) && !FINE.iter().any(|f| message.contains(f))
}

/// The kernel's messages, in order.
///
/// When a program has reached the limit of its memory cgroup the kernel reports who asked for more, with
/// a call trace. That is no fault of the kernel's.
#[derive(Debug, Default, Clone, Copy)]
pub struct Messages {
    /// The next call trace is that of a program at its limit.
    at_limit: bool,
}

impl Messages {
    /// Whether the next message makes a run bad.
    pub fn is_splat(&mut self, message: &str) -> bool {
        if message.contains(" invoked oom-killer: ") {
            self.at_limit = true;
        }
        if message.trim() == "Call Trace:" && self.at_limit {
            self.at_limit = false;
            return false;
        }
        is_splat(message)
    }
}

/// The message in a console line, if it is one: `[    1.234567] text` or, with CONFIG_PRINTK_CALLER,
/// `[    1.234567][    T1] text`.
pub fn console_message(line: &str) -> Option<&str> {
    let (stamp, mut text) = line.split_once('[')?.1.split_once(']')?;
    let (seconds, micros) = stamp.trim_start().split_once('.')?;
    let digits = |s: &str| !s.is_empty() && s.bytes().all(|b| b.is_ascii_digit());
    if !digits(seconds) || !digits(micros) {
        return None;
    }
    if text.starts_with('[') {
        text = text.split_once(']')?.1;
    }
    Some(text.trim())
}

/// The text of one `/dev/kmsg` record (`prio,seq,time,flags;text`), without its level if it is
/// one that programs wrote.
pub fn kmsg_message(record: &str) -> Option<&str> {
    let (head, text) = record.split_once(';')?;
    let prio: u32 = head.split(',').next()?.parse().ok()?;
    // Facility 0 is the kernel; everything else was written to /dev/kmsg from user space.
    (prio >> 3 == 0).then(|| text.lines().next().unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn real_splats_are_seen() {
        for line in [
            "[   12.345678] WARNING: drivers/foo.c:12 at bar+0x1/0x2, CPU#0: insmod/80",
            "[   12.345678] BUG: kernel NULL pointer dereference, address: 0000000000000000",
            "[   12.345678] Oops: Oops: 0002 [#1] SMP PTI",
            "[   12.345678] Kernel panic - not syncing: sysrq triggered crash",
            "[    5.000000][   T80] BUG: KASAN: slab-use-after-free in f+0x1/0x2",
            "[   99.000000] INFO: task rkfd:80 blocked for more than 120 seconds.",
            "[   99.000000] rcu: INFO: rcu_preempt self-detected stall on CPU",
            "[    1.000000]     not ok 3 header_words",
            "[    1.000000] rkfd: Unknown symbol foo (err -2)",
        ] {
            let message = console_message(line).expect(line);
            assert!(is_splat(message), "{line}");
        }
    }

    #[test]
    fn ordinary_lines_are_not() {
        for line in [
            "[    0.512345] debug: unmapping init memory",
            "[    0.100000] Spectre V2 : WARNING: Unprivileged eBPF is enabled with eIBRS on",
            "[    7.000000] rkfd: loading out-of-tree module taints kernel.",
            // Only the step that made the kernel scan knows whose they are.
            "[   99.000000] kmemleak: 1 new suspected memory leaks (see /sys/kernel/debug/kmemleak)",
        ] {
            assert!(!is_splat(console_message(line).expect(line)), "{line}");
        }
        assert_eq!(
            console_message("WARNING: from a program, not the kernel"),
            None
        );
        assert_eq!(console_message("[ok] WARNING: "), None);
    }

    #[test]
    fn a_cgroup_at_its_limit_is_no_splat() {
        let mut messages = Messages::default();
        let killed = "hoard invoked oom-killer: gfp_mask=0x400cc0(GFP_KERNEL_ACCOUNT), order=0";
        let cgroup = "Memory cgroup out of memory: Killed process 80 (hoard) total-vm:2308kB";
        for message in [killed, "Call Trace:", cgroup] {
            assert!(!messages.is_splat(message), "{message}");
        }
        assert!(messages.is_splat("Call Trace:"));
        assert!(messages.is_splat("Out of memory: Killed process 80 (sleep) total-vm:2308kB"));
    }

    #[test]
    fn kmsg_records_of_programs_are_left_out() {
        assert_eq!(kmsg_message("4,100,12345,-;WARNING: x"), Some("WARNING: x"));
        assert_eq!(kmsg_message("12,100,12345,-;WARNING: I am a program"), None);
        assert_eq!(kmsg_message("nonsense"), None);
    }
}
