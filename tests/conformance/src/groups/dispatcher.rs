// SPDX-License-Identifier: MIT OR Apache-2.0
//! `kfd_ioctl`: the rules that every request follows.

use super::*;
use crate::fixture::KERNEL;
use crate::row::{row, Answer, Row};
use rkfd_uapi::ioctl::{self as requests, ioc, NONE, READ, READ_WRITE, TYPE, WRITE};
use rkfd_uapi::{event, memory};

/// A request of KFD's type with any number and size, on a buffer of 16 KiB.
fn number(c: &mut Ctx, number: u8, size: usize) -> Answer {
    let mut buffer = vec![0u8; 16384];
    let cmd = ioc(READ_WRITE, TYPE, number, size);
    Ok(Got::Errno(c.watched(|c| {
        sys::ioctl(&c.kfd, cmd, sys::address(&mut buffer[..]))
    })))
}

/// GET_VERSION with another size, direction or type on words that were all ones; returns the errno and
/// the words.
fn version(c: &Ctx, direction: u32, kind: u8, size: usize) -> (i32, Vec<u32>) {
    let mut words = vec![u32::MAX; 4096];
    let cmd = ioc(direction, kind, 1, size);
    let e = sys::ioctl(&c.kfd, cmd, sys::address(&mut words[..]));
    (e, words)
}

fn at(c: &mut Ctx, cmd: u32, address: u64) -> Answer {
    Ok(Got::Errno(c.watched(|c| sys::ioctl(&c.kfd, cmd, address))))
}

/// A structure at the end of a page, whose last `beyond` bytes lie on a page that doesn't exist.
fn at_end(c: &mut Ctx, cmd: u32, bytes: &[u8], beyond: usize) -> Answer {
    let map = guarded_page()?;
    let start = sys::PAGE + beyond - bytes.len();
    map.put(start, &bytes[..bytes.len() - beyond]);
    at(c, cmd, map.address + start as u64)
}

/// A structure on a page that can only be read.
fn read_only(c: &Ctx, cmd: u32, bytes: &[u8]) -> Result<i32, String> {
    let map = guarded_page()?;
    map.put(0, bytes);
    map.protect(0, sys::PAGE, libc::PROT_READ)
        .map_err(|e| format!("mprotect: {e}"))?;
    Ok(sys::ioctl(&c.kfd, cmd, map.address))
}

fn signal_args() -> Vec<u8> {
    sys::bytes(&event::CreateEventArgs::default())
}

fn low_page(bytes: &[u8]) -> Result<sys::Map, String> {
    let rw = libc::PROT_READ | libc::PROT_WRITE;
    let map = sys::Map::anonymous(sys::PAGE, rw, libc::MAP_32BIT).map_err(|e| e.to_string())?;
    map.put(0, bytes);
    Ok(map)
}

pub(super) fn rows() -> Vec<Row> {
    let any = "ioctl";
    vec![
        row(any, "number 0", ENOTTY, "kfd_chardev.c:3639", |c| {
            number(c, 0, 8)
        }),
        row(
            any,
            "number 0x29, one past the last",
            ENOTTY,
            "kfd_chardev.c:3634",
            |c| number(c, 0x29, 8),
        ),
        row(any, "number 0x2a", ENOTTY, "kfd_chardev.c:3634", |c| {
            number(c, 0x2a, 8)
        }),
        row(any, "number 0x40", ENOTTY, "kfd_chardev.c:3634", |c| {
            number(c, 0x40, 8)
        }),
        row(any, "number 0x80", ENOTTY, "kfd_chardev.c:3634", |c| {
            number(c, 0x80, 8)
        }),
        row(any, "number 0xff", ENOTTY, "kfd_chardev.c:3634", |c| {
            number(c, 0xff, 8)
        }),
        row(
            any,
            "number 0, the largest size",
            ENOTTY,
            "kfd_chardev.c:3639",
            |c| number(c, 0, 16383),
        ),
        row(
            any,
            "unknown number, no argument",
            ENOTTY,
            "kfd_chardev.c:3634",
            |c| at(c, ioc(NONE, TYPE, 0x30, 0), 0),
        ),
        // The driver ignores type and direction.
        row(
            "GET_VERSION",
            "another type byte",
            is(1),
            "kfd_chardev.c:3627",
            |c| Ok(Got::Value(version(c, READ, b'J', 8).1[0].into())),
        ),
        row(
            "GET_VERSION",
            "direction: write",
            is(1),
            "kfd_chardev.c:3649",
            |c| Ok(Got::Value(version(c, WRITE, TYPE, 8).1[0].into())),
        ),
        row(
            "GET_VERSION",
            "direction: none",
            is(1),
            "kfd_chardev.c:3649",
            |c| Ok(Got::Value(version(c, NONE, TYPE, 8).1[0].into())),
        ),
        row(
            "GET_VERSION",
            "direction: both",
            is(1),
            "kfd_chardev.c:3649",
            |c| Ok(Got::Value(version(c, READ_WRITE, TYPE, 8).1[0].into())),
        ),
        // Sizes.
        row(
            "GET_VERSION",
            "size 0: nothing is written",
            is(u32::MAX as u64),
            "kfd_chardev.c:3730",
            |c| Ok(Got::Value(version(c, READ, TYPE, 0).1[0].into())),
        ),
        row(
            "GET_VERSION",
            "size 0: errno",
            OK,
            "kfd_chardev.c:3645",
            |c| Ok(Got::Errno(version(c, READ, TYPE, 0).0)),
        ),
        row(
            "GET_VERSION",
            "size 4: the major version",
            is(1),
            "kfd_chardev.c:3730",
            |c| Ok(Got::Value(version(c, READ, TYPE, 4).1[0].into())),
        ),
        row(
            "GET_VERSION",
            "size 4: the rest is left alone",
            is(u32::MAX as u64),
            "kfd_chardev.c:3730",
            |c| Ok(Got::Value(version(c, READ, TYPE, 4).1[1].into())),
        ),
        row(
            "GET_VERSION",
            "size 2: half a word",
            is(0xffff_0001),
            "kfd_chardev.c:3730",
            |c| Ok(Got::Value(version(c, READ, TYPE, 2).1[0].into())),
        ),
        row(
            "GET_VERSION",
            "size 16: the tail reads as zero",
            is(0),
            "kfd_chardev.c:3718",
            |c| {
                let w = version(c, READ, TYPE, 16).1;
                Ok(Got::Value((w[2] | w[3]).into()))
            },
        ),
        row(
            "GET_VERSION",
            "size 16: nothing beyond",
            is(u32::MAX as u64),
            "kfd_chardev.c:3730",
            |c| Ok(Got::Value(version(c, READ, TYPE, 16).1[4].into())),
        ),
        row(
            "GET_VERSION",
            "size 128: the largest on the stack",
            is(0),
            "kfd_chardev.c:3699",
            |c| Ok(Got::Value(version(c, READ, TYPE, 128).1[31].into())),
        ),
        row(
            "GET_VERSION",
            "size 132: from the heap",
            is(0),
            "kfd_chardev.c:3702",
            |c| Ok(Got::Value(version(c, READ, TYPE, 132).1[32].into())),
        ),
        row(
            "GET_VERSION",
            "size 132: nothing beyond",
            is(u32::MAX as u64),
            "kfd_chardev.c:3730",
            |c| Ok(Got::Value(version(c, READ, TYPE, 132).1[33].into())),
        ),
        row(
            "GET_VERSION",
            "size 16383: the version",
            is(1),
            "kfd_chardev.c:3645",
            |c| Ok(Got::Value(version(c, READ, TYPE, 16383).1[0].into())),
        ),
        row(
            "GET_VERSION",
            "size 16380: all zero behind it",
            is(0),
            "kfd_chardev.c:3718",
            |c| {
                Ok(Got::Value(
                    version(c, READ, TYPE, 16380).1[2..4095]
                        .iter()
                        .map(|w| u64::from(*w))
                        .sum(),
                ))
            },
        ),
        row(
            "GET_CLOCK_COUNTERS",
            "size 48: the caller's tail comes back",
            is(0x1234),
            "kfd_chardev.c:3713",
            |c| {
                let mut words = [0u64, 0, 0, 0, c.gpu.into(), 0x1234];
                sys::ioctl(
                    &c.kfd,
                    ioc(READ_WRITE, TYPE, 5, 48),
                    sys::address(&mut words),
                );
                Ok(Got::Value(words[5]))
            },
        ),
        row(
            "GET_CLOCK_COUNTERS",
            "size 32: no gpu_id, so no GPU's counter",
            is(0),
            "kfd_chardev.c:3709",
            |c| {
                let mut words = [7u64, 0, 0, 0, c.gpu.into()];
                sys::ioctl(
                    &c.kfd,
                    ioc(READ_WRITE, TYPE, 5, 32),
                    sys::address(&mut words),
                );
                Ok(Got::Value(words[0]))
            },
        ),
        row(
            "GET_CLOCK_COUNTERS",
            "size 8: only the first field is written",
            is(77),
            "kfd_chardev.c:3730",
            |c| {
                let mut words = [0u64, 77, 0, 0, c.gpu.into()];
                sys::ioctl(
                    &c.kfd,
                    ioc(READ_WRITE, TYPE, 5, 8),
                    sys::address(&mut words),
                );
                Ok(Got::Value(words[1]))
            },
        ),
        row(
            "AVAILABLE_MEMORY",
            "size 8: gpu_id reads as 0",
            EINVAL,
            "kfd_chardev.c:3709",
            |c| {
                let mut words = [0u64, c.gpu.into()];
                at(c, ioc(READ_WRITE, TYPE, 0x23, 8), sys::address(&mut words))
            },
        ),
        row(
            "CREATE_EVENT",
            "size 0: a signal event",
            OK,
            "kfd_chardev.c:3709",
            |c| {
                c.signal_page()?;
                at(c, ioc(READ_WRITE, TYPE, 8, 0), 0)
            },
        ),
        row(
            "SET_EVENT",
            "size 0: event 0",
            EINVAL,
            "kfd_chardev.c:3709",
            |c| at(c, ioc(WRITE, TYPE, 0xa, 0), 0),
        ),
        row(
            "SET_EVENT",
            "size 4: the pad is missing",
            OK,
            "kfd_chardev.c:3645",
            |c| {
                let mut id = c.signal(false)?;
                at(c, ioc(WRITE, TYPE, 0xa, 4), sys::address(&mut id))
            },
        ),
        row("SET_EVENT", "size 256", OK, "kfd_chardev.c:3702", |c| {
            let mut words = [0u32; 64];
            words[0] = c.signal(false)?;
            at(c, ioc(WRITE, TYPE, 0xa, 256), sys::address(&mut words))
        }),
        // Addresses.
        row(
            "GET_VERSION",
            "address 0",
            EFAULT,
            "kfd_chardev.c:3730",
            |c| at(c, requests::GET_VERSION.command(), 0),
        ),
        row(
            "GET_VERSION",
            "a kernel address",
            EFAULT,
            "kfd_chardev.c:3730",
            |c| at(c, requests::GET_VERSION.command(), KERNEL),
        ),
        row(
            "GET_VERSION",
            "the last address",
            EFAULT,
            "kfd_chardev.c:3730",
            |c| at(c, requests::GET_VERSION.command(), u64::MAX),
        ),
        row(
            "GET_VERSION",
            "a page that can't be read",
            EFAULT,
            "kfd_chardev.c:3730",
            |c| {
                let map = guarded_page()?;
                at(
                    c,
                    requests::GET_VERSION.command(),
                    map.address + sys::PAGE as u64,
                )
            },
        ),
        row(
            "GET_VERSION",
            "ends at the end of a page",
            OK,
            "kfd_chardev.c:3730",
            |c| at_end(c, requests::GET_VERSION.command(), &[0; 8], 0),
        ),
        row(
            "GET_VERSION",
            "last byte beyond the page",
            EFAULT,
            "kfd_chardev.c:3730",
            |c| at_end(c, requests::GET_VERSION.command(), &[0; 8], 1),
        ),
        row(
            "GET_VERSION",
            "a page that can't be written",
            EFAULT,
            "kfd_chardev.c:3730",
            |c| {
                Ok(Got::Errno(read_only(
                    c,
                    requests::GET_VERSION.command(),
                    &[0; 8],
                )?))
            },
        ),
        row(
            "GET_VERSION",
            "an odd address",
            OK,
            "kfd_chardev.c:3730",
            |c| {
                let map = guarded_page()?;
                at(c, requests::GET_VERSION.command(), map.address + 3)
            },
        ),
        row(
            "GET_CLOCK_COUNTERS",
            "address 0",
            EFAULT,
            "kfd_chardev.c:3713",
            |c| at(c, requests::GET_CLOCK_COUNTERS.command(), 0),
        ),
        row(
            "GET_CLOCK_COUNTERS",
            "last 8 bytes beyond the page",
            EFAULT,
            "kfd_chardev.c:3713",
            |c| at_end(c, requests::GET_CLOCK_COUNTERS.command(), &[0; 40], 8),
        ),
        row(
            "CREATE_EVENT",
            "address 0",
            EFAULT,
            "kfd_chardev.c:3713",
            |c| at(c, requests::CREATE_EVENT.command(), 0),
        ),
        row(
            "CREATE_EVENT",
            "last byte beyond the page",
            EFAULT,
            "kfd_chardev.c:3713",
            |c| at_end(c, requests::CREATE_EVENT.command(), &signal_args(), 1),
        ),
        row(
            "CREATE_EVENT",
            "ends at the end of a page",
            OK,
            "kfd_chardev.c:3713",
            |c| {
                c.signal_page()?;
                at_end(c, requests::CREATE_EVENT.command(), &signal_args(), 0)
            },
        ),
        row(
            "CREATE_EVENT",
            "a page that can't be written: errno",
            EFAULT,
            "kfd_chardev.c:3731",
            |c| {
                c.signal_page()?;
                Ok(Got::Errno(read_only(
                    c,
                    requests::CREATE_EVENT.command(),
                    &signal_args(),
                )?))
            },
        ),
        row(
            "CREATE_EVENT",
            "a page that can't be written: the event exists",
            OK,
            "kfd_chardev.c:3727",
            |c| {
                c.signal_page()?;
                read_only(c, requests::CREATE_EVENT.command(), &signal_args())?;
                Ok(Got::Errno(c.set(1)))
            },
        ),
        row(
            "SET_EVENT",
            "a page that can't be written, which it need not",
            OK,
            "kfd_chardev.c:3729",
            |c| {
                let args = event::SetEventArgs {
                    event_id: c.signal(false)?,
                    pad: 0,
                };
                Ok(Got::Errno(read_only(
                    c,
                    requests::SET_EVENT.command(),
                    &sys::bytes(&args),
                )?))
            },
        ),
        row(
            "ALLOC_MEMORY_OF_GPU",
            "address 0",
            EFAULT,
            "kfd_chardev.c:3713",
            |c| at(c, requests::ALLOC_MEMORY_OF_GPU.command(), 0),
        ),
        row(
            "CREATE_QUEUE",
            "address 0",
            EFAULT,
            "kfd_chardev.c:3713",
            |c| at(c, requests::CREATE_QUEUE.command(), 0),
        ),
        row(
            "GET_PROCESS_APERTURES",
            "a page that can't be written",
            EFAULT,
            "kfd_chardev.c:3731",
            |c| {
                Ok(Got::Errno(read_only(
                    c,
                    requests::GET_PROCESS_APERTURES.command(),
                    &[0; 400],
                )?))
            },
        ),
        row(
            "SET_EVENT",
            "a failing call gives nothing back of an input",
            is(5),
            "kfd_chardev.c:3729",
            |c| {
                let mut args = event::SetEventArgs {
                    event_id: 99,
                    pad: 5,
                };
                c.raw(&requests::SET_EVENT, &mut args);
                Ok(Got::Value(args.pad.into()))
            },
        ),
        row(
            "WAIT_EVENTS",
            "a failing call gives its output back",
            is(2),
            "kfd_chardev.c:3729",
            |c| {
                let mut args = event::WaitEventsArgs {
                    num_events: 9999,
                    ..Default::default()
                };
                c.raw(&requests::WAIT_EVENTS, &mut args);
                Ok(Got::Value(args.wait_result.into()))
            },
        ),
        row(
            "MAP_MEMORY_TO_GPU",
            "a failing call gives n_success back",
            is(1),
            "kfd_chardev.c:3729",
            |c| {
                let bo = c.unmapped_bo(4096, crate::fixture::GTT)?;
                let mut ids = [c.gpu, 0xdead];
                let mut args = memory::MapMemoryToGpuArgs {
                    handle: bo.handle,
                    device_ids_array_ptr: sys::address(&mut ids),
                    n_devices: 2,
                    n_success: 0,
                };
                c.raw(&requests::MAP_MEMORY_TO_GPU, &mut args);
                Ok(Got::Value(args.n_success.into()))
            },
        ),
        // A 32-bit process may use an open file, but not open one.
        row(
            "open",
            "by the 32-bit entry",
            Want::Unsupported(libc::ENOSYS, libc::EPERM),
            "kfd_chardev.c:210",
            |_| {
                let path = low_page(b"/dev/kfd\0")?;
                Ok(Got::Errno(sys::open_compat(path.address)))
            },
        ),
        row(
            "GET_VERSION",
            "by the 32-bit entry",
            Want::Unsupported(libc::ENOSYS, 0),
            "kfd_chardev.c:61",
            |c| {
                let map = low_page(&[0; 8])?;
                Ok(Got::Errno(sys::ioctl_compat(
                    &c.kfd,
                    requests::GET_VERSION.command(),
                    map.address,
                )))
            },
        ),
    ]
}
