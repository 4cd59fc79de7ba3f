// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rkfd-conformance [--self-test | --shortage] [GROUP...]`: makes requests to the driver, and compares
//! its answers with those that the source of Linux's KFD gives.
//!
//! Every row names a request, its arguments, Linux 7.3's answer, and the line of Linux from which that
//! answer follows. It runs in a process of its own. A request that fails must leave everything as it was.
//!
//! With `--shortage`, on a kernel with fault injection, allocations fail one after the other.
//! With `--self-test` every expectation is changed, and each row must then fail.

mod fixture;
mod groups;
mod report;
mod row;
mod runner;
mod shortage;
mod snapshot;
mod traps;

use report::Report;
use rkfd_bare::node::Node;
use row::Group;
use runner::Verdict;
use std::process::ExitCode;

fn main() -> ExitCode {
    let (flags, names): (Vec<_>, Vec<_>) =
        std::env::args().skip(1).partition(|a| a.starts_with('-'));
    let run = match flags.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [] => conformance,
        ["--self-test"] => self_test,
        ["--shortage"] => |node: &Node, _: &[Group]| shortage::run(node),
        _ => {
            eprintln!("rkfd-conformance [--self-test | --shortage] [GROUP...]");
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

/// Runs all rows; prints for each group whether all its answers are Linux's.
fn conformance(node: &Node, groups: &[Group]) -> bool {
    let mut report = Report::default();
    for group in groups {
        report.group(group, &|row| {
            runner::judge(row.want, &runner::run(node, row))
        });
    }
    report.table();
    report.total()
}

/// Runs all rows against wrong expectations, and rows that break the rules; all of them must fail.
fn self_test(node: &Node, groups: &[Group]) -> bool {
    let (mut seen, mut missed) = (0, 0);
    let mut note = |name: &str, verdict: Verdict| match verdict {
        Verdict::Failed(_) => seen += 1,
        _ => {
            missed += 1;
            println!("MISSED {name}");
        }
    };
    for row in groups.iter().flat_map(|group| &group.rows) {
        let outcome = runner::run(node, row);
        let name = format!("{}: {}", row.call, row.given);
        note(&name, runner::judge_perturbed(row.want, &outcome));
    }
    for row in traps::rows() {
        note(row.given, runner::judge(row.want, &runner::run(node, &row)));
    }
    println!("self-test: {seen} wrong expectations seen, {missed} missed");
    match missed {
        0 => println!("@rkfd test conformance-self-test ok"),
        _ => println!(
            "@rkfd test conformance-self-test FAIL {missed} wrong expectations were missed"
        ),
    }
    missed == 0
}
