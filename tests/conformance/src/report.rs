// SPDX-License-Identifier: MIT OR Apache-2.0
//! Counts, failures, and the table of what is supported.

use crate::row::{Group, Row, Want};
use crate::runner::Verdict;
use std::collections::BTreeMap;
use std::time::Instant;

/// Rows by verdict.
#[derive(Clone, Copy, Default)]
struct Count {
    passed: u32,
    failed: u32,
    unsupported: u32,
}

impl Count {
    fn add(&mut self, verdict: &Verdict) {
        match verdict {
            Verdict::Passed => self.passed += 1,
            Verdict::Failed(_) => self.failed += 1,
            Verdict::Unsupported => self.unsupported += 1,
        }
    }
}

/// The results for one request.
#[derive(Default)]
struct Call {
    count: Count,
    /// The features that are not supported, each with the errno of the refusal.
    lacks: Vec<String>,
}

/// All results.
#[derive(Default)]
pub struct Report {
    total: Count,
    calls: BTreeMap<&'static str, Call>,
}

impl Report {
    /// Runs a group and prints its failures, the time it took, and its line for the harness.
    pub fn group(&mut self, group: &Group, run: &dyn Fn(&Row) -> Verdict) {
        let begin = Instant::now();
        let mut count = Count::default();
        let mut first = None;
        for row in &group.rows {
            let verdict = run(row);
            count.add(&verdict);
            self.total.add(&verdict);
            let call = self.calls.entry(row.call).or_default();
            call.count.add(&verdict);
            match (&verdict, row.want) {
                (Verdict::Failed(why), _) => {
                    println!("FAIL {} ({}): {why} - {}", row.call, row.given, row.source);
                    first.get_or_insert(format!("{} ({}): {why}", row.call, row.given));
                }
                (Verdict::Unsupported, Want::Unsupported(errno, _)) => {
                    call.lacks
                        .push(format!("{} ({})", row.given, rkfd_bare::errno::name(errno)));
                }
                _ => {}
            }
        }
        let Count {
            passed,
            failed,
            unsupported,
        } = count;
        println!(
            "{}: {passed} passed, {failed} failed, {unsupported} not supported, in {:.1} s",
            group.name,
            begin.elapsed().as_secs_f64()
        );
        match first {
            None => println!("@rkfd test conformance-{} ok", group.name),
            Some(first) => println!(
                "@rkfd test conformance-{} FAIL {failed} of {} rows; the first: {first}",
                group.name,
                group.rows.len()
            ),
        }
    }

    /// Prints the table of requests, in Markdown.
    pub fn table(&self) {
        println!("| request | rows as Linux | rows that differ | not supported (errno) |");
        println!("|---|---|---|---|");
        for (name, call) in &self.calls {
            let Count { passed, failed, .. } = call.count;
            println!(
                "| {name} | {passed} | {failed} | {} |",
                call.lacks.join("; ")
            );
        }
    }

    /// Prints the total; returns whether nothing failed.
    pub fn total(&self) -> bool {
        let Count {
            passed,
            failed,
            unsupported,
        } = self.total;
        println!("rows: {passed} passed, {failed} failed, {unsupported} not supported");
        failed == 0
    }
}
