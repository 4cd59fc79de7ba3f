// SPDX-License-Identifier: MIT OR Apache-2.0

//! A debugger's side of another program: its requests.

use super::{kfd, SOON};
use rkfd_programs::{check, Failure};
use rkfd_uapi::abi::Abi;
use rkfd_uapi::{debug, event, ioctl};
use std::fs::File;
use std::io::Read;
use std::os::fd::{AsRawFd, FromRawFd};

/// The debugger's side of the other program.
pub struct Debugger {
    kfd: File,
    /// The other program.
    pub pid: u32,
    events: File,
    bell: File,
}

impl Debugger {
    pub fn new(pid: u32) -> Result<Self, Failure> {
        let mut ends = [0; 2];
        // SAFETY: There is room for two descriptors, which nobody else owns afterwards.
        let (events, bell) = unsafe {
            match libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC | libc::O_NONBLOCK) {
                0 => (File::from_raw_fd(ends[0]), File::from_raw_fd(ends[1])),
                _ => return Err(Failure::new("no pipe")),
            }
        };
        Ok(Self {
            kfd: kfd()?,
            pid,
            events,
            bell,
        })
    }

    /// An operation with its own arguments: what the request returns, or its errno.
    pub fn operate<T: Abi>(&self, op: u32, its: &mut T) -> Result<i32, i32> {
        let mut args = debug::DbgTrapArgs {
            pid: self.pid,
            op,
            ..Default::default()
        };
        let data = args.data.as_mut_ptr().cast::<T>();
        assert!(size_of::<T>() <= size_of_val(&args.data));
        let command = libc::c_ulong::from(ioctl::DBG_TRAP.command());
        // SAFETY: The arguments fit, are integers without padding, and point only at what lives until then.
        unsafe {
            data.write(*its);
            let returned = libc::ioctl(self.kfd.as_raw_fd(), command, &raw mut args);
            *its = args.data.as_ptr().cast::<T>().read();
            match returned {
                -1 => Err(*libc::__errno_location()),
                count => Ok(count),
            }
        }
    }

    pub fn must<T: Abi>(&self, what: &str, op: u32, its: &mut T) -> Result<i32, Failure> {
        let result = self.operate(op, its);
        result.map_err(|errno| Failure::new(format_args!("{what}: errno {errno}")))
    }

    /// Attaches, and returns what the other program has declared of its runtime, or the errno.
    pub fn enable(&self) -> Result<debug::RuntimeInfo, i32> {
        let mut info = debug::RuntimeInfo::default();
        let mut its = debug::DbgTrapEnableArgs {
            exception_mask: u64::MAX,
            rinfo_ptr: (&raw mut info) as u64,
            rinfo_size: size_of_val(&info) as u32,
            dbg_fd: self.bell.as_raw_fd() as u32,
        };
        self.operate(debug::OP_ENABLE, &mut its).map(|_| info)
    }

    pub fn disable(&self) -> Result<i32, i32> {
        self.operate(
            debug::OP_DISABLE,
            &mut debug::DbgTrapSetFlagsArgs::default(),
        )
    }

    /// Waits until the file has a byte, and empties it.
    pub fn wake(&self) -> Result<(), Failure> {
        let mut poll = libc::pollfd {
            fd: self.events.as_raw_fd(),
            events: libc::POLLIN,
            revents: 0,
        };
        // SAFETY: One descriptor, which is open.
        let ready = unsafe { libc::poll(&mut poll, 1, SOON) };
        check("the debugger's file is written to", ready == 1)?;
        let _ = (&self.events).read(&mut [0; 256]);
        Ok(())
    }

    /// The next exceptions; those in `dismissed` are taken from there.
    pub fn query(&self, dismissed: u64) -> Result<debug::DbgTrapQueryDebugEventArgs, i32> {
        let mut its = debug::DbgTrapQueryDebugEventArgs {
            exception_mask: dismissed,
            ..Default::default()
        };
        self.operate(debug::OP_QUERY_DEBUG_EVENT, &mut its)
            .map(|_| its)
    }

    /// Waits for an exception. All that come before are dismissed with it.
    pub fn exception(&self, code: u32) -> Result<debug::DbgTrapQueryDebugEventArgs, Failure> {
        loop {
            match self.query(u64::MAX) {
                Ok(its) if its.exception_mask & debug::exception_mask(code) != 0 => return Ok(its),
                Ok(_) => {}
                Err(libc::EAGAIN) => self.wake()?,
                Err(errno) => {
                    return Err(Failure::new(format_args!(
                        "QUERY_DEBUG_EVENT: errno {errno}"
                    )))
                }
            }
        }
    }

    /// Passes exceptions on to the other program.
    pub fn send(&self, code: u32, queue_id: u32) -> Result<(), Failure> {
        let mut its = debug::DbgTrapSendRuntimeEventArgs {
            exception_mask: debug::exception_mask(code),
            queue_id,
            ..Default::default()
        };
        self.must("SEND_RUNTIME_EVENT", debug::OP_SEND_RUNTIME_EVENT, &mut its)?;
        Ok(())
    }

    /// The first queues of the other program, which are no longer new then: only such can be suspended.
    pub fn queues(&self) -> Result<[debug::QueueSnapshotEntry; 8], Failure> {
        let mut entries = [debug::QueueSnapshotEntry::default(); 8];
        let mut its = debug::DbgTrapQueueSnapshotArgs {
            exception_mask: u64::MAX,
            snapshot_buf_ptr: entries.as_mut_ptr() as u64,
            num_queues: entries.len() as u32,
            entry_size: size_of_val(&entries[0]) as u32,
        };
        self.must("GET_QUEUE_SNAPSHOT", debug::OP_GET_QUEUE_SNAPSHOT, &mut its)?;
        Ok(entries)
    }

    /// Suspends a queue that is there, and one that isn't.
    pub fn suspend(&self, queue: u32) -> Result<(), Failure> {
        let mut list = [queue, 999];
        let mut its = debug::DbgTrapSuspendQueuesArgs {
            queue_array_ptr: list.as_mut_ptr() as u64,
            num_queues: 2,
            ..Default::default()
        };
        let count = self.must("SUSPEND_QUEUES", debug::OP_SUSPEND_QUEUES, &mut its)?;
        println!("suspended {count}: {list:#x?}");
        let invalid = 1 << debug::QUEUE_INVALID_BIT;
        check(
            "the queue is suspended, and the other marked",
            count == 1 && list == [queue, 999 | invalid],
        )
    }

    /// Chooses how waves begin.
    pub fn launch(&self, launch_mode: u32) -> Result<i32, Failure> {
        let mut its = debug::DbgTrapSetWaveLaunchModeArgs {
            launch_mode,
            pad: 0,
        };
        let op = debug::OP_SET_WAVE_LAUNCH_MODE;
        self.must("SET_WAVE_LAUNCH_MODE", op, &mut its)
    }

    /// What is known of a GPU's page fault.
    pub fn fault(&self, gpu_id: u32) -> Result<event::MemoryExceptionData, Failure> {
        let mut fault = event::MemoryExceptionData::default();
        let mut its = debug::DbgTrapQueryExceptionInfoArgs {
            info_ptr: (&raw mut fault) as u64,
            info_size: size_of_val(&fault) as u32,
            source_id: gpu_id,
            exception_code: debug::EC_DEVICE_MEMORY_VIOLATION,
            ..Default::default()
        };
        let op = debug::OP_QUERY_EXCEPTION_INFO;
        self.must("QUERY_EXCEPTION_INFO", op, &mut its)?;
        Ok(fault)
    }

    /// Passes a GPU's page fault on to the other program.
    pub fn send_fault(&self, gpu_id: u32) -> Result<(), Failure> {
        let mut its = debug::DbgTrapSendRuntimeEventArgs {
            exception_mask: debug::exception_mask(debug::EC_DEVICE_MEMORY_VIOLATION),
            gpu_id,
            ..Default::default()
        };
        self.must("SEND_RUNTIME_EVENT", debug::OP_SEND_RUNTIME_EVENT, &mut its)?;
        Ok(())
    }

    /// Resumes the queues of a list, and returns how many.
    pub fn resume_list(&self, address: u64, num_queues: u32) -> Result<i32, Failure> {
        let mut its = debug::DbgTrapResumeQueuesArgs {
            queue_array_ptr: address,
            num_queues,
            pad: 0,
        };
        self.must("RESUME_QUEUES", debug::OP_RESUME_QUEUES, &mut its)
    }

    pub fn resume(&self, queue: u32) -> Result<(), Failure> {
        let mut list = [queue];
        let count = self.resume_list(list.as_mut_ptr() as u64, 1)?;
        check("the queue is resumed", count == 1 && list == [queue])
    }

    /// Resumes all, which no list says.
    pub fn resume_all(&self) -> Result<(), Failure> {
        let mut its = debug::DbgTrapResumeQueuesArgs {
            num_queues: 1,
            ..Default::default()
        };
        let count = self.must("RESUME_QUEUES", debug::OP_RESUME_QUEUES, &mut its)?;
        check("all queues are resumed", count >= 1)
    }
}
