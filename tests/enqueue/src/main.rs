// SPDX-License-Identifier: MIT OR Apache-2.0
//! What it costs to hand a packet to a queue whose ring lies in plain memory, beside the stores that nobody can
//! do without ([`floor`]): nanoseconds a packet, and as a multiple of the floor of the same run.
//!
//! First the ring by itself, which is the library's own file, then all of a submission: the signal is set, the
//! packet is written, the doorbell rings. The packet processor of the fake GPU sleeps meanwhile. Last, what the path
//! allocates ([`count`]), and whether it makes a system call ([`sealed`]).

mod count;
mod floor;
mod primitive;
mod sealed;
mod submission;

/// What the ring takes from the library.
mod sync {
    pub(crate) use std::sync::atomic::AtomicU64;
}

/// The library's file as it is.
#[path = "../../../userspace/rkfd/src"]
mod library {
    pub(crate) mod queue {
        #![cfg_attr(
            not(test),
            expect(dead_code, reason = "the file has more than is measured")
        )]
        pub(crate) mod ring;
    }
}

use std::process::ExitCode;
use std::time::Instant;

/// Packets of a round: as many as the ring has slots.
const PACKETS: usize = 4096;
/// Rounds of each case. The least counts: what disturbs only ever adds.
const ROUNDS: usize = 61;

/// Nanoseconds a packet.
fn time(work: impl FnOnce()) -> f64 {
    let start = Instant::now();
    work();
    start.elapsed().as_nanos() as f64 / PACKETS as f64
}

/// A measured case.
struct Case<'a> {
    name: &'static str,
    /// What it is compared with: a case's number, and the aim.
    against: Option<(usize, f64)>,
    round: Box<dyn FnMut() -> f64 + 'a>,
}

/// Measures the cases in turns, so that what disturbs the machine disturbs all of them.
fn measure(mut cases: Vec<Case<'_>>) {
    let mut least = vec![f64::MAX; cases.len()];
    for _ in 0..ROUNDS {
        for (case, least) in cases.iter_mut().zip(&mut least) {
            *least = least.min((case.round)());
        }
    }
    for (case, &ns) in cases.iter().zip(&least) {
        let ratio = case.against.and_then(|(base, aim)| {
            let base = least.get(base)?;
            let verdict = if ns <= base * aim { "met" } else { "missed" };
            Some(format!("{:5.2} times it, aim {aim}: {verdict}", ns / base))
        });
        println!(
            "{:44} {ns:7.2} ns  {}",
            case.name,
            ratio.unwrap_or_default()
        );
    }
}

fn table() -> Result<(), rkfd::Error> {
    println!("The ring by itself, {PACKETS} packets, each case the least of {ROUNDS} rounds:");
    measure(primitive::cases());
    println!("\nWhole submissions, without the packet processor:");
    submission::measured()?;
    println!(
        "\nWhat {PACKETS} submissions of each kind allocate, and whether they make a system call:"
    );
    for case in submission::CASES {
        let allocated = submission::allocations(case)?;
        let sealed = sealed::outcome(case)?;
        println!("{case:44} {allocated} allocations, {sealed}");
    }
    println!(
        "{:44} {}",
        "with a system call, for comparison",
        sealed::outcome("call")?
    );
    Ok(())
}

fn main() -> ExitCode {
    match table() {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("enqueue: {error}");
            ExitCode::FAILURE
        }
    }
}
