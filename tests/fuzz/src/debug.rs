// SPDX-License-Identifier: MIT OR Apache-2.0
//! Requests of debuggers (DBG_TRAP), about the process itself or one that it traces, and the runtime that they need.

use crate::request::Sender;
use crate::role::Role;
use crate::table::Entry;
use crate::value;
use rkfd_bare::rng::Rng;
use rkfd_bare::sys;
use rkfd_uapi::abi::Abi;
use rkfd_uapi::debug as abi;
use rkfd_uapi::ioctl::nr;
use std::os::fd::AsRawFd;

/// Numbers of queues in a list.
const LISTED: usize = 4;
/// The words of an operation's own arguments.
pub(crate) type Data = [u64; 3];

fn words<T: Abi>(args: &T) -> Data {
    let mut data = Data::default();
    let bytes = sys::bytes(args);
    sys::words_as_bytes(&mut data)[..bytes.len()].copy_from_slice(&bytes);
    data
}

/// Exceptions: all, one, or some.
fn exceptions(rng: &mut Rng) -> u64 {
    let one = abi::exception_mask(1 + rng.below(u64::from(abi::EC_PROCESS_DEVICE_REMOVE)) as u32);
    rng.pick(&[
        u64::MAX,
        u64::MAX,
        abi::exception_mask(abi::EC_PROCESS_RUNTIME),
        abi::exception_mask(abi::EC_DEVICE_MEMORY_VIOLATION),
        one,
        0,
    ])
}

/// A code of an exception that is raised now and then.
fn code(rng: &mut Rng) -> u32 {
    let any = rng.below(64) as u32;
    rng.pick(&[
        abi::EC_QUEUE_NEW,
        abi::EC_DEVICE_QUEUE_DELETE,
        abi::EC_DEVICE_MEMORY_VIOLATION,
        abi::EC_PROCESS_RUNTIME,
        abi::EC_PROCESS_DEVICE_REMOVE,
        any,
    ])
}

impl Sender<'_> {
    /// RUNTIME_ENABLE: the program has a runtime, or has none any more.
    pub(crate) fn runtime(&mut self, rng: &mut Rng) -> u8 {
        const ON: u32 = abi::RUNTIME_ENABLE_MODE_ENABLE_MASK;
        self.put(&abi::RuntimeEnableArgs {
            r_debug: rng.bits(),
            mode_mask: rng.pick(&[ON, ON, ON | abi::RUNTIME_ENABLE_MODE_TTMP_SAVE_MASK, 0]),
            ..Default::default()
        });
        nr::RUNTIME_ENABLE
    }

    /// An operation about the process itself.
    pub(crate) fn trap_self(&mut self, rng: &mut Rng) -> u8 {
        let other = self.process.shared.foreign(rng.bits()) as u32;
        let own = sys::pid();
        let pid = rng.pick(&[own, own, own, own, own, own, 1, other]);
        self.trap(rng, pid)
    }

    /// An operation about a process.
    pub(crate) fn trap(&mut self, rng: &mut Rng, pid: u32) -> u8 {
        let op = match rng.below(32) {
            0..=4 => abi::OP_ENABLE,
            5 => abi::OP_DISABLE,
            n => (n as u32).wrapping_sub(6) % abi::OP_GET_DEVICE_SNAPSHOT + 1,
        };
        let data = self.data(rng, op);
        self.put(&abi::DbgTrapArgs { pid, op, data });
        nr::DBG_TRAP
    }

    /// A number of a queue of the process, or a small one, which a process that is traced may have.
    fn queue_id(&self, rng: &mut Rng) -> u32 {
        let small = rng.below(4) as u32;
        let own = self.process.pool().queues.any(rng).map(|queue| queue.id);
        own.filter(|_| rng.chance(3, 4)).unwrap_or(small)
    }

    /// Where there is room, or anything else.
    fn room(&mut self, rng: &mut Rng) -> u64 {
        if rng.chance(1, 8) {
            let pool = self.process.pool();
            return value::make(Role::Pointer, rng, self.process, &pool, &self.scratch);
        }
        self.scratch.filled(0)
    }

    /// Numbers of queues, two in a word.
    fn list(&mut self, rng: &mut Rng) -> u64 {
        if rng.chance(1, 8) {
            return self.room(rng);
        }
        let ids: Vec<u64> = (0..LISTED).map(|_| self.queue_id(rng).into()).collect();
        let pairs: Vec<u64> = ids.chunks_exact(2).map(|p| p[0] | (p[1] << 32)).collect();
        self.scratch.words(&pairs)
    }

    /// An operation's arguments.
    fn data(&mut self, rng: &mut Rng, op: u32) -> Data {
        let exception_mask = exceptions(rng);
        let gpu_id = match rng.chance(1, 12) {
            true => rng.bits() as u32,
            false => self.process.node.gpu,
        };
        let some = rng.below(6) as u32;
        let size = rng.pick(&[0, 4, 8, 48, 64, 128, 256]);
        match op {
            abi::OP_ENABLE => words(&abi::DbgTrapEnableArgs {
                exception_mask,
                rinfo_ptr: self.room(rng),
                rinfo_size: size,
                dbg_fd: match rng.chance(1, 8) {
                    true => self.process.render.as_raw_fd() as u32,
                    false => self.process.bell.as_raw_fd() as u32,
                },
            }),
            abi::OP_SEND_RUNTIME_EVENT => words(&abi::DbgTrapSendRuntimeEventArgs {
                exception_mask,
                gpu_id,
                queue_id: self.queue_id(rng),
            }),
            abi::OP_SET_EXCEPTIONS_ENABLED => {
                words(&abi::DbgTrapSetExceptionsEnabledArgs { exception_mask })
            }
            abi::OP_SET_WAVE_LAUNCH_OVERRIDE => words(&abi::DbgTrapSetWaveLaunchOverrideArgs {
                override_mode: rng.below(3) as u32,
                enable_mask: rng.bits() as u32 & 0x1ff,
                support_request_mask: rng.bits() as u32 & rng.pick(&[0, 0x7f, 0x1ff, u32::MAX]),
                pad: 0,
            }),
            abi::OP_SET_WAVE_LAUNCH_MODE => words(&abi::DbgTrapSetWaveLaunchModeArgs {
                launch_mode: rng.pick(&[0, 0, 0, 1, 2, 3]),
                pad: 0,
            }),
            abi::OP_SUSPEND_QUEUES => words(&abi::DbgTrapSuspendQueuesArgs {
                exception_mask,
                queue_array_ptr: self.list(rng),
                num_queues: some,
                grace_period: rng.pick(&[0, 1, 100]),
            }),
            abi::OP_RESUME_QUEUES => words(&abi::DbgTrapResumeQueuesArgs {
                queue_array_ptr: match rng.chance(1, 4) {
                    true => 0,
                    false => self.list(rng),
                },
                num_queues: some,
                pad: 0,
            }),
            abi::OP_SET_NODE_ADDRESS_WATCH => words(&abi::DbgTrapSetNodeAddressWatchArgs {
                address: value::va(rng, &self.process.pool()),
                mode: some,
                mask: rng.bits() as u32 & !0x3f,
                gpu_id,
                id: 0,
            }),
            abi::OP_CLEAR_NODE_ADDRESS_WATCH => {
                words(&abi::DbgTrapClearNodeAddressWatchArgs { gpu_id, id: some })
            }
            abi::OP_SET_FLAGS => words(&abi::DbgTrapSetFlagsArgs {
                flags: rng.pick(&[0, 0, some, 8]),
                pad: 0,
            }),
            abi::OP_QUERY_DEBUG_EVENT => words(&abi::DbgTrapQueryDebugEventArgs {
                exception_mask,
                gpu_id: 0,
                queue_id: 0,
            }),
            abi::OP_QUERY_EXCEPTION_INFO => words(&abi::DbgTrapQueryExceptionInfoArgs {
                info_ptr: self.room(rng),
                info_size: size,
                source_id: rng.pick(&[gpu_id, gpu_id, 0, some]),
                exception_code: code(rng),
                clear_exception: rng.below(2) as u32,
            }),
            abi::OP_GET_QUEUE_SNAPSHOT => words(&abi::DbgTrapQueueSnapshotArgs {
                exception_mask,
                snapshot_buf_ptr: self.room(rng),
                num_queues: some,
                entry_size: size,
            }),
            abi::OP_GET_DEVICE_SNAPSHOT => words(&abi::DbgTrapDeviceSnapshotArgs {
                exception_mask,
                snapshot_buf_ptr: self.room(rng),
                num_devices: some,
                entry_size: size,
            }),
            _ => Data::default(),
        }
    }

    /// Sends an operation about a process that this thread traces.
    pub fn debug(&mut self, rng: &mut Rng, pid: u32) {
        self.clear();
        let number = self.trap(rng, pid);
        if let Some(entry) = self.process.request(number) {
            self.send(rng, &entry);
        }
    }

    /// The operation that the argument names, if the request is DBG_TRAP.
    pub(crate) fn operation(&mut self, entry: &Entry) -> Option<usize> {
        let is_it = entry.node == crate::table::Node::Kfd && entry.info.number == nr::DBG_TRAP;
        let op = is_it.then(|| self.field(entry, "op"))?;
        (op <= u64::from(abi::OP_GET_DEVICE_SNAPSHOT)).then_some(op as usize)
    }
}
