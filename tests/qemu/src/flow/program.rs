// SPDX-License-Identifier: MIT OR Apache-2.0
//! The program's side of a run, read from HIP's log, the tool of the HSA runtime
//! (`tests/rocm/hsa_trace.cpp`), and strace.

use super::{count, Counts, STRACE};
use std::collections::BTreeMap;

/// The calls, requests and packets of the program's side.
#[derive(Debug, Default)]
pub(super) struct Program {
    pub(super) hip: Counts,
    pub(super) hsa: Counts,
    pub(super) ioctls: Counts,
    /// Queues that the HSA runtime made, by its number, and the requests that each took.
    pub(super) queues: Vec<(String, Counts)>,
    /// Doorbells of these queues that were rung, in order.
    pub(super) submissions: Vec<Submission>,
}

/// A packet that a thread of the program put into a queue.
#[derive(Debug)]
pub(super) struct Submission {
    pub(super) index: u64,
    pub(super) thread: String,
    /// The thread's requests from the reservation of the slot to the doorbell; `None` if it
    /// reserved another one.
    pub(super) before: Option<Counts>,
    /// All threads' requests from the doorbell until the thread that rang had waited.
    pub(super) after: Vec<Request>,
    waited: bool,
}

/// A request to the driver.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Request {
    pub(super) thread: String,
    pub(super) name: String,
    /// The marked call of the HSA runtime that its thread was in.
    pub(super) within: Option<String>,
}

/// Where a thread is.
#[derive(Debug, Default)]
struct Thread {
    making_queue: Option<Counts>,
    within: Option<String>,
    reserved: Option<(u64, Counts)>,
}

impl Program {
    pub(super) fn read(output: &[String]) -> Self {
        let mut program = Program::default();
        let mut threads = BTreeMap::<&str, Thread>::new();
        for line in output {
            if let Some(line) = line.strip_prefix(STRACE) {
                let (id, call) = line.trim().split_once(' ').unwrap_or(("", line));
                let (call, thread) = (call.trim(), threads.entry(id).or_default());
                if let Some(name) = request(call) {
                    program.request(name, id, thread);
                } else if let Some(mark) = call.strip_prefix("write(-1, \"") {
                    program.mark(mark.split('"').next().unwrap_or(""), id, thread);
                }
            } else if let Some(("", call)) = line.split_once("hsa ") {
                if let Some((name, count)) = call.split_once(' ') {
                    let count = count.parse().unwrap_or(0);
                    *program.hsa.entry(name.into()).or_default() += count;
                }
            } else if let Some(name) = hip_call(line) {
                count(&mut program.hip, name);
            }
        }
        program
    }

    fn request(&mut self, name: &str, id: &str, thread: &mut Thread) {
        count(&mut self.ioctls, name);
        if let Some(made) = &mut thread.making_queue {
            count(made, name);
        }
        if let Some((_, requests)) = &mut thread.reserved {
            count(requests, name);
        }
        for submission in self.submissions.iter_mut().filter(|s| !s.waited) {
            submission.after.push(Request {
                thread: id.into(),
                name: name.into(),
                within: thread.within.clone(),
            });
        }
    }

    fn mark(&mut self, mark: &str, id: &str, thread: &mut Thread) {
        match mark.split(' ').collect::<Vec<_>>()[..] {
            ["begin", "hsa_queue_create"] => thread.making_queue = Some(Counts::new()),
            ["end", "hsa_queue_create", number] => {
                let made = thread.making_queue.take().unwrap_or_default();
                self.queues.push((number.into(), made));
            }
            ["begin", call] => thread.within = Some(call.into()),
            ["end", _] => thread.within = None,
            ["reserved", _, index] => {
                thread.reserved = index.parse().ok().map(|index| (index, Counts::new()));
            }
            ["doorbell", _, value] => {
                let index = value.parse().unwrap_or(u64::MAX);
                let reserved = thread.reserved.take();
                self.submissions.push(Submission {
                    index,
                    thread: id.into(),
                    before: reserved
                        .and_then(|(slot, requests)| (slot == index).then_some(requests)),
                    after: Vec::new(),
                    waited: false,
                });
            }
            ["waited", _] => {
                let own = self.submissions.iter_mut().filter(|s| s.thread == id);
                own.for_each(|s| s.waited = true);
            }
            _ => {}
        }
    }
}

/// The name of a request to the driver that a system call begins.
fn request(call: &str) -> Option<&str> {
    let name = call.strip_prefix("ioctl(")?.split(", ").nth(1)?;
    // Of the two drivers that strace knows for a number of DRM the first is ours.
    let name = name.split(" or ").next().unwrap_or(name);
    name.strip_prefix("AMDKFD_IOC_")
        .or_else(|| name.strip_prefix("DRM_IOCTL_"))
}

/// `:3:hip_memory.cpp :756 : 0159028454 us:   hipMalloc ( 0x7ff, 4194304 )`: the name.
fn hip_call(line: &str) -> Option<&str> {
    let (_, call) = line.strip_prefix(":3:hip_")?.split_once(" us:")?;
    let (name, rest) = call.trim_start().split_once(' ')?;
    let is_name = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    (is_name && rest.starts_with('(')).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const OUTPUT: &str = r#":3:hip_memory.cpp            :641 : 10 us:   hipMalloc ( 0x7ffc, 4194304 )
:3:hip_memory.cpp            :643 : 11 us:  hipMalloc: Returned hipSuccess : 0x7f
hsa hsa_init 1
strace 7 write(-1, "begin hsa_queue_create", 22) = -1 EBADF (Bad file descriptor)
strace 7 ioctl(3, AMDKFD_IOC_CREATE_QUEUE, 0x7ffc) = 0
strace 7 ioctl(2, TCGETS2, 0x7ffc) = -1 ENOTTY (Inappropriate ioctl for device)
strace 7 write(-1, "end hsa_queue_create 1", 22) = -1 EBADF (Bad file descriptor)
strace 8 ioctl(3, AMDKFD_IOC_SET_EVENT, 0x7ffc) = 0
strace 7 write(-1, "reserved 1 0", 12) = -1 EBADF (Bad file descriptor)
strace 7 write(-1, "doorbell 1 0", 12) = -1 EBADF (Bad file descriptor)
strace 7 write(-1, "begin async_handler", 19) = -1 EBADF (Bad file descriptor)
strace 7 ioctl(3, AMDKFD_IOC_SET_EVENT, 0x7ffc) = 0
strace 7 write(-1, "end async_handler", 17) = -1 EBADF (Bad file descriptor)
strace 7 ioctl(3, AMDKFD_IOC_WAIT_EVENTS, 0x7ffc <unfinished ...>
strace 8 ioctl(3, AMDKFD_IOC_SET_EVENT, 0x7ffc) = 0
strace 7 <... ioctl resumed>) = 0
strace 7 write(-1, "waited 0", 8) = -1 EBADF (Bad file descriptor)
strace 7 ioctl(3, AMDKFD_IOC_DESTROY_QUEUE, 0x7ffc) = 0
vectoradd: PASSED (0 wrong)"#;

    fn read(output: &str) -> Program {
        Program::read(&output.lines().map(String::from).collect::<Vec<_>>())
    }

    #[test]
    fn each_layer_is_counted() {
        let p = read(OUTPUT);
        assert_eq!(p.hip, Counts::from([("hipMalloc".into(), 1)]));
        assert_eq!(p.hsa, Counts::from([("hsa_init".into(), 1)]));
        assert_eq!((p.ioctls["CREATE_QUEUE"], p.ioctls["SET_EVENT"]), (1, 3));
        assert_eq!(p.queues.len(), 1);
        assert_eq!(p.queues[0].1, Counts::from([("CREATE_QUEUE".into(), 1)]));
    }

    #[test]
    fn requests_after_a_doorbell_have_their_thread_and_their_call() {
        let p = read(OUTPUT);
        let [s] = &p.submissions[..] else {
            panic!("{:?}", p.submissions)
        };
        assert_eq!((s.index, s.thread.as_str()), (0, "7"));
        let after: Vec<_> = s
            .after
            .iter()
            .map(|r| (r.thread.as_str(), r.name.as_str(), r.within.as_deref()))
            .collect();
        assert_eq!(
            after,
            [
                ("7", "SET_EVENT", Some("async_handler")),
                ("7", "WAIT_EVENTS", None),
                ("8", "SET_EVENT", None)
            ]
        );
    }

    #[test]
    fn only_the_threads_own_requests_are_before_its_doorbell() {
        let p = read(OUTPUT);
        assert_eq!(p.submissions[0].before, Some(Counts::new()));
        let at = "strace 7 write(-1, \"doorbell";
        for (thread, wanted) in [("7", 1), ("8", 0)] {
            let more = format!("strace {thread} ioctl(3, AMDKFD_IOC_SET_EVENT, 0x7ffc) = 0\n{at}");
            let p = read(&OUTPUT.replace(at, &more));
            let before = p.submissions[0].before.as_ref().unwrap();
            assert_eq!(before.values().sum::<u64>(), wanted);
        }
        let p = read(&OUTPUT.replace("reserved 1 0", "reserved 1 9"));
        assert_eq!(p.submissions[0].before, None);
    }
}
