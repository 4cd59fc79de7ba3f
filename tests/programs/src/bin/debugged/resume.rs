// SPDX-License-Identifier: MIT OR Apache-2.0

//! A queue is resumed while the program that destroys it is about to wait for that.

use super::debugger::Debugger;
use super::placed;
use rkfd_bare::awaited::Page;
use rkfd_programs::other::Other;
use rkfd_programs::{check, held, Failure};
use std::thread;
use std::time::Duration;

/// How long the driver gets to be where it would wake the program.
const A_WHILE: Duration = Duration::from_millis(300);

fn number(errno: i32) -> Failure {
    Failure::new(format_args!("userfaultfd: errno {errno}"))
}

/// The debugger's request is held up where it reads its list of queues, after the driver has found that it is allowed. The
/// program destroys the queue: the module `hold_call` holds it once the driver has seen that the queue is suspended, and
/// before it counts among those who wait. Then the request gets its list, and a little later the program goes on.
pub fn just_before_the_wait(debugger: &Debugger, other: &mut Other) -> Result<(), Failure> {
    let [id, ..] = placed(other)?;
    let id = id as u32;
    debugger.queues()?;
    debugger.suspend(id)?;
    let list = Page::new().map_err(number)?;
    let address = list.address();
    thread::scope(|scope| {
        let resumes = scope.spawn(move || debugger.resume_list(address, 1));
        list.touched().map_err(Failure::new)?;
        held::hold_next()?;
        other.ask("destroy")?;
        held::wait()?;
        list.give(&id.to_ne_bytes()).map_err(number)?;
        thread::sleep(A_WHILE);
        held::release()?;
        let count = resumes.join().map_err(|_| Failure::new("a panic"))??;
        check("the queue is resumed", count == 1)
    })?;
    check("the queue is destroyed", other.read()? == "destroyed")
}
