// SPDX-License-Identifier: MIT OR Apache-2.0

//! What one process' waves leave in registers and LDS, and whether another process' waves find it.
//!
//! `leftovers CODE-OBJECT CASE`; the code object has the kernels `leave(value)` and `look(counts, value)`.
//!
//! * `found`: without isolation they find it, as on silicon, which clears nothing;
//! * `isolated`: with it they never do, though both processes' queues are there all the time.
//!
//! A GPU may run the two on different compute units, and the other process' own waves may come between: so what is to
//! be found is left and looked for again and again.

use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, Command, ExitCode, Stdio};

use rkfd::{Gpu, Kernel, Queue, QueueOptions};
use rkfd_programs::{check, code_object, report, Failure, BLOCK, PATIENCE};

/// What is left: no small number, no address.
const SECRET: u32 = 0x5ec2_e7aa;
const GROUPS: u32 = 256;
/// How often it is left, and looked for.
const ROUNDS: usize = 12;

/// The other process, which leaves it each time it is asked to.
struct Other {
    child: Child,
    asks: ChildStdin,
    says: BufReader<std::process::ChildStdout>,
}

impl Other {
    fn start() -> Result<Self, Failure> {
        let program = std::env::current_exe().map_err(Failure::new)?;
        let code = std::env::args().nth(1).unwrap_or_default();
        let mut child = Command::new(program)
            .args([&code, "other"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(Failure::new)?;
        let missing = || Failure::new("the other process has no pipes");
        let asks = child.stdin.take().ok_or_else(missing)?;
        let says = child.stdout.take().ok_or_else(missing)?;
        let says = BufReader::new(says);
        Ok(Self { child, asks, says })
    }

    /// Has it leave the value once.
    fn leave(&mut self) -> Result<(), Failure> {
        writeln!(self.asks, "go").map_err(Failure::new)?;
        let mut line = String::new();
        self.says.read_line(&mut line).map_err(Failure::new)?;
        match line.trim() {
            "left" => Ok(()),
            other => Err(Failure::new(format_args!("the other process: {other}"))),
        }
    }

    fn end(mut self) -> Result<(), Failure> {
        drop(self.asks);
        let status = self.child.wait().map_err(Failure::new)?;
        check("the other process ends", status.success())
    }
}

fn queue_and(kernel: &str) -> Result<(Queue, Kernel), Failure> {
    let gpu = Gpu::open()?;
    let module = gpu.load(&code_object()?)?;
    Ok((gpu.queue(QueueOptions::new())?, module.kernel(kernel)?))
}

fn other() -> Result<(), Failure> {
    let (queue, kernel) = queue_and("leave")?;
    for line in std::io::stdin().lines() {
        line.map_err(Failure::new)?;
        let dispatch = queue.dispatch(&kernel).blocks(GROUPS).block(BLOCK);
        dispatch.arg(SECRET).submit()?.wait_timeout(PATIENCE)?;
        println!("left");
    }
    Ok(())
}

/// How many work-items found it, in all rounds: in a vector register, in a scalar one, in LDS.
fn found() -> Result<[u64; 3], Failure> {
    let (queue, kernel) = queue_and("look")?;
    let counts = queue.gpu().alloc::<u32>(3)?;
    let mut other = Other::start()?;
    let mut found = [0; 3];
    for _ in 0..ROUNDS {
        counts.fill(0)?;
        other.leave()?;
        let dispatch = queue.dispatch(&kernel).blocks(GROUPS).block(BLOCK);
        let work = dispatch.arg(&counts).arg(SECRET).submit()?;
        work.wait_timeout(PATIENCE)?;
        for (sum, now) in found.iter_mut().zip(counts.to_vec()?) {
            *sum += u64::from(now);
        }
    }
    other.end()?;
    let [vectors, scalars, lds] = found;
    println!("work-items that found it: {vectors} in v40, {scalars} in s60, {lds} in LDS");
    Ok(found)
}

fn main() -> ExitCode {
    match std::env::args().nth(2).as_deref() {
        Some("found") => report("found", || {
            check("others find what is left", !found()?.contains(&0))
        }),
        Some("isolated") => report("isolated", || {
            check("nobody finds what others left", found()? == [0; 3])
        }),
        Some("other") => match other() {
            Ok(()) => ExitCode::SUCCESS,
            Err(failure) => {
                println!("{failure}");
                ExitCode::FAILURE
            }
        },
        _ => report("leftovers", || {
            Err(Failure::new("usage: leftovers CODE-OBJECT CASE"))
        }),
    }
}
