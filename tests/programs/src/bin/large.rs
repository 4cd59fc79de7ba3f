// SPDX-License-Identifier: MIT OR Apache-2.0

//! GET_VERSION with a number that says that its argument is as large as one can be. It is answered as any other; who
//! listens to tracepoints must hear of it, and of a request that is refused before its argument is looked at.

use std::process::ExitCode;

use rkfd_bare::sys;
use rkfd_programs::raw::NOTHING;
use rkfd_programs::{check, report, Failure};
use rkfd_uapi::ioctl::{ioc, ioc_number, GET_VERSION, READ, SIZE_MAX, TYPE};

const ENOTTY: i32 = 25;

fn run() -> Result<(), Failure> {
    let failed = |errno: i32| Failure::new(format_args!("/dev/kfd: errno {errno}"));
    let kfd = sys::open("/dev/kfd").map_err(failed)?;
    let mut bytes = vec![0u8; SIZE_MAX];
    let number = ioc_number(GET_VERSION.command());
    let command = ioc(READ, TYPE, number, SIZE_MAX);
    let errno = sys::ioctl(&kfd, command, sys::address(&mut bytes[..]));
    check("the largest request is answered", errno == 0)?;
    check("the major version is 1", bytes.starts_with(&[1, 0, 0, 0]))?;
    let errno = sys::ioctl(&kfd, NOTHING.command(), sys::address(&mut bytes[..]));
    check("a number of no request is refused", errno == ENOTTY)
}

fn main() -> ExitCode {
    report("large", run)
}
