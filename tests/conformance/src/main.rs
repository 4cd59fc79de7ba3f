// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rkfd-conformance [--shortage | --sweep] [GROUP...]`: makes requests to the driver, and compares
//! its answers with those that the source of Linux's KFD gives.
//!
//! Every row names a request, its arguments, Linux 7.3's answer, and the line of Linux from which that
//! answer follows. It runs in a process of its own. A request that fails must leave everything as it was.
//!
//! The answers are compared with changed expectations as well, and each row must then fail.
//!
//! With `--shortage`, on a kernel with fault injection, allocations fail one after the other.
//! With `--sweep`, where the module `tests/qemu/fail-nth` is loaded, whatever the driver asks for fails.

mod fixture;
mod groups;
mod report;
mod row;
mod runner;
mod shortage;
mod snapshot;
mod sweep;
mod traps;

use report::Report;
use rkfd_bare::node::Node;
use row::Group;
use runner::Verdict;
use std::cell::Cell;
use std::process::ExitCode;

fn main() -> ExitCode {
    let (flags, names): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|a| a.starts_with('-'));
    let run = match flags.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => conformance,
        ["--shortage"] => |node: &Node, _: &[Group]| shortage::run(node),
        ["--sweep"] => sweep::run,
        _ => {
            eprintln!("rkfd-conformance [--shortage | --sweep] [GROUP...]");
            return ExitCode::from(2);
        }
    };
    let node = match Node::find() {
        Ok(node) => node,
        Err(e) => {
            eprintln!("rkfd-conformance: {e}");
            return ExitCode::FAILURE;
        }
    };
    let mut groups = groups::all();
    groups.retain(|group| names.is_empty() || names.iter().any(|name| name == group.name));
    if run(&node, &groups) {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    }
}

/// Runs all rows; prints for each group whether all its answers are Linux's. Each answer is judged by a
/// wrong expectation, too, and there are rows that break the rules: all of these must fail.
fn conformance(node: &Node, groups: &[Group]) -> bool {
    let (mut report, self_test) = (Report::default(), SelfTest::default());
    for group in groups {
        report.group(group, &|row| {
            let outcome = runner::run(node, row);
            let name = format!("{}: {}", row.call, row.given);
            self_test.note(&name, runner::judge_perturbed(row.want, &outcome));
            runner::judge(row.want, &outcome)
        });
    }
    for row in traps::rows() {
        self_test.note(row.given, runner::judge(row.want, &runner::run(node, &row)));
    }
    report.table();
    let good = self_test.total();
    report.total() && good
}

/// Counts what must fail.
#[derive(Default)]
struct SelfTest {
    seen: Cell<u32>,
    missed: Cell<u32>,
}

impl SelfTest {
    /// A verdict on what is wrong.
    fn note(&self, name: &str, verdict: Verdict) {
        let count = match verdict {
            Verdict::Failed(_) => &self.seen,
            _ => {
                println!("MISSED {name}");
                &self.missed
            }
        };
        count.set(count.get() + 1);
    }

    /// Whether all of them failed.
    fn total(&self) -> bool {
        let (seen, missed) = (self.seen.get(), self.missed.get());
        println!("self-test: {seen} wrong expectations seen, {missed} missed");
        match missed {
            0 => println!("@rkfd test conformance-self-test ok"),
            _ => println!(
                "@rkfd test conformance-self-test FAIL {missed} wrong expectations were missed"
            ),
        }
        missed == 0
    }
}
