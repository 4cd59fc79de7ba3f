// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the driver shows of queues, taken apart.

use rkfd::raw::hw::aql;

/// A process.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Process {
    pub(crate) id: u32,
    pub(crate) name: String,
    /// The driver did not look at it.
    pub(crate) busy: bool,
    pub(crate) queues: Vec<Queue>,
}

/// Where a queue is on the hardware.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Hqd {
    pub(crate) xcc: u32,
    pub(crate) pipe: u32,
    pub(crate) queue: u32,
    /// How far the hardware may read the ring, in words.
    pub(crate) write: u64,
}

/// A wave that is halted.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Wave {
    pub(crate) xcc: u32,
    pub(crate) engine: u32,
    pub(crate) array: u32,
    pub(crate) cu: u32,
    pub(crate) simd: u32,
    pub(crate) slot: u32,
    /// Its next instruction, and the first word of that where the driver can load it.
    pub(crate) pc: u64,
    pub(crate) code: Option<u32>,
}

/// A word in the program's memory; its value where the driver can load it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Word {
    pub(crate) at: u64,
    pub(crate) value: Option<u64>,
}

/// A page fault.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Fault {
    pub(crate) at: u64,
    pub(crate) write: bool,
    /// Nothing is mapped there; else the mapping forbids the access.
    pub(crate) absent: bool,
}

/// What packets a queue takes.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(crate) enum Kind {
    #[default]
    Aql,
    Pm4,
    Sdma,
}

impl std::fmt::Display for Kind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Aql => "AQL",
            Self::Pm4 => "PM4",
            Self::Sdma => "SDMA",
        })
    }
}

/// Why a queue is evicted, as far as the driver says so.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Evicted {
    Reset,
    Memory,
}

/// A queue.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Queue {
    pub(crate) id: u32,
    pub(crate) gpu: u32,
    pub(crate) busy: bool,
    pub(crate) kind: Kind,
    pub(crate) state: String,
    pub(crate) ring: u64,
    pub(crate) ring_bytes: u64,
    pub(crate) share: u32,
    /// Exceptions, a bit for each.
    pub(crate) errors: u64,
    pub(crate) evicted: Vec<Evicted>,
    pub(crate) fault: Option<Fault>,
    pub(crate) hqds: Vec<Hqd>,
    /// Somebody else looked at the hardware queues.
    pub(crate) hqds_busy: bool,
    pub(crate) read: Option<Word>,
    pub(crate) write: Option<Word>,
    pub(crate) packet: Option<[u32; 16]>,
    pub(crate) signals: Vec<Word>,
    /// Where the packet's kernel begins.
    pub(crate) entry: Option<u64>,
    /// Its waves that are halted, as far as the driver shows them.
    pub(crate) waves: Vec<Wave>,
    /// Somebody else looked at waves.
    pub(crate) waves_busy: bool,
}

/// A number, hexadecimal with `0x`.
fn number<T: TryFrom<u64>>(text: &str) -> Option<T> {
    let value = match text.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16),
        None => text.parse(),
    };
    T::try_from(value.ok()?).ok()
}

/// Takes the file apart. Lines that are not known are passed over.
pub(crate) fn parse(text: &str) -> Vec<Process> {
    let mut processes: Vec<Process> = Vec::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        if let ["process", id, ..] = words[..] {
            // A name may have spaces.
            let name = line.splitn(3, ' ').nth(2).unwrap_or_default();
            processes.push(Process {
                id: number(id).unwrap_or_default(),
                name: name.into(),
                ..Process::default()
            });
            continue;
        }
        let Some(process) = processes.last_mut() else {
            continue;
        };
        match (&words[..], process.queues.last_mut()) {
            (["queue", id, "gpu", gpu], _) => process.queues.push(Queue {
                id: number(id).unwrap_or_default(),
                gpu: number(gpu).unwrap_or_default(),
                ..Queue::default()
            }),
            (["busy"], None) => process.busy = true,
            (words, Some(queue)) => {
                let _ = queue.take(words);
            }
            _ => {}
        }
    }
    processes
}

impl Queue {
    /// Whether it may have waves: it is on the hardware with a dispatch, or with packets of which nothing is known.
    pub(crate) fn has_waves(&self) -> bool {
        let is_dispatch = |packet: [u32; 16]| packet[0] as u8 == aql::TYPE_KERNEL_DISPATCH;
        !self.hqds.is_empty()
            && match self.kind {
                Kind::Aql => self.packet.is_some_and(is_dispatch),
                Kind::Pm4 => self.read.map(|at| at.value) != self.write.map(|at| at.value),
                Kind::Sdma => false,
            }
    }

    /// Takes a line.
    fn take(&mut self, words: &[&str]) -> Option<()> {
        let word = |at: &str, value: &str| {
            Some(Word {
                at: number(at)?,
                value: number(value),
            })
        };
        match words {
            ["busy"] => self.busy = true,
            ["type", kind] => {
                self.kind = match *kind {
                    "pm4" => Kind::Pm4,
                    "sdma" => Kind::Sdma,
                    _ => Kind::Aql,
                }
            }
            ["state", state] => self.state = (*state).into(),
            ["ring", at, bytes] => (self.ring, self.ring_bytes) = (number(at)?, number(bytes)?),
            ["share", share] => self.share = number(share)?,
            ["errors", bits] => self.errors = number(bits)?,
            ["evicted", "reset"] => self.evicted.push(Evicted::Reset),
            ["evicted", "memory"] => self.evicted.push(Evicted::Memory),
            ["fault", at, what, page] => {
                self.fault = Some(Fault {
                    at: number(at)?,
                    write: *what == "write",
                    absent: *page == "absent",
                })
            }
            ["hqd", "busy"] => self.hqds_busy = true,
            ["hqd", xcc, pipe, queue, "vmid", _, "read", _, "write", write] => {
                self.hqds.push(Hqd {
                    xcc: number(xcc)?,
                    pipe: number(pipe)?,
                    queue: number(queue)?,
                    write: number(write)?,
                })
            }
            ["wave", "busy"] => self.waves_busy = true,
            ["wave", xcc, engine, array, cu, simd, slot, "pc", pc, "status", _, "code", code] => {
                self.waves.push(Wave {
                    xcc: number(xcc)?,
                    engine: number(engine)?,
                    array: number(array)?,
                    cu: number(cu)?,
                    simd: number(simd)?,
                    slot: number(slot)?,
                    pc: number(pc)?,
                    code: number(code),
                })
            }
            ["entry", at] => self.entry = number(at),
            ["read", at, value] => self.read = word(at, value),
            ["write", at, value] => self.write = word(at, value),
            ["signal", at, value] => self.signals.push(word(at, value)?),
            ["packet", words @ ..] => {
                let words = words.iter().map(|word| u32::from_str_radix(word, 16));
                let words: Vec<u32> = words.collect::<Result<_, _>>().ok()?;
                self.packet = words.try_into().ok();
            }
            _ => {}
        }
        Some(())
    }
}
