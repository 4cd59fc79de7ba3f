// SPDX-License-Identifier: MIT OR Apache-2.0
//! Runs rows, each in a process of its own, and judges what they answer.

use crate::fixture::Ctx;
use crate::row::{Got, Row, Want};
use crate::snapshot;
use rkfd_bare::node::Node;
use rkfd_bare::sys;
use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::panic::{catch_unwind, AssertUnwindSafe};
use std::time::{Duration, Instant};

/// How long a row may take: it only ends what would never end. Reading each cache of the topology takes more than
/// 20 s on the debug kernel beside other machines.
const SECONDS: u32 = 120;

/// How a row's process ended.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Outcome {
    /// The row's answer, and what its failing call has changed.
    Answer(Got, Option<String>),
    /// Its preparation failed, or it ended without an answer.
    Broken(String),
}

/// The verdict on a row.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// The answer is Linux's.
    Passed,
    /// The feature is refused with the right errno.
    Unsupported,
    /// The answer is not Linux's; the text explains it.
    Failed(String),
}

/// How long the driver may take to let go of a process that has ended.
const GONE: Duration = Duration::from_secs(20);

/// Runs a row, and waits until nothing of its process is left: a driver lets go of a process
/// from a work queue, after the parent has learned of its end.
pub fn run(node: &Node, row: &Row) -> Outcome {
    let before = snapshot::counts();
    let outcome = in_process(node, row);
    let end = Instant::now() + GONE;
    loop {
        let after = snapshot::counts();
        if after == before {
            return outcome;
        }
        if Instant::now() > end {
            let [before, after] = [before, after].map(|counts| snapshot::in_a_line(&counts));
            return Outcome::Broken(format!("its process left counters {before} -> {after}"));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

fn in_process(node: &Node, row: &Row) -> Outcome {
    let Ok((mut reader, mut writer)) = UnixStream::pair() else {
        return Outcome::Broken("no pipe".into());
    };
    let Some(pid) = sys::fork() else {
        sys::alarm(SECONDS);
        let text = in_child(node, row);
        let _ = writer.write_all(text.as_bytes());
        sys::exit(0);
    };
    drop(writer);
    let mut text = String::new();
    let read = reader.read_to_string(&mut text);
    let status = sys::wait(pid);
    if status != 0 {
        let how = match status & 0x7f {
            0 => format!("status {}", status >> 8),
            libc::SIGALRM => format!("no answer within {SECONDS} s"),
            signal => format!("signal {signal}"),
        };
        return Outcome::Broken(format!("ended without an answer: {how}"));
    }
    match read {
        Ok(_) => decode(&text),
        Err(e) => Outcome::Broken(e.to_string()),
    }
}

fn in_child(node: &Node, row: &Row) -> String {
    let result = catch_unwind(AssertUnwindSafe(|| {
        let mut c = Ctx::new(node, row.needs).map_err(|e| format!("preparation: {e}"))?;
        let got = (row.run)(&mut c)?;
        Ok::<_, String>((got, c.changed.take()))
    }));
    match result {
        Ok(Ok((got, None))) => got.encode(),
        Ok(Ok((got, Some(changed)))) => format!("{}\n{changed}", got.encode()),
        Ok(Err(e)) => format!("broken {e}"),
        Err(_) => "broken a panic".into(),
    }
}

fn decode(text: &str) -> Outcome {
    if let Some(why) = text.strip_prefix("broken ") {
        return Outcome::Broken(why.into());
    }
    let (answer, changed) = match text.split_once('\n') {
        Some((answer, changed)) => (answer, Some(changed.to_owned())),
        None => (text, None),
    };
    match Got::decode(answer) {
        Some(got) => Outcome::Answer(got, changed),
        None => Outcome::Broken(format!("an answer that can't be read: {text:?}")),
    }
}

/// Judges an outcome by an expectation.
pub fn judge(want: Want, outcome: &Outcome) -> Verdict {
    match outcome {
        Outcome::Broken(why) => Verdict::Failed(why.clone()),
        Outcome::Answer(got, _) if !want.holds(got) => {
            Verdict::Failed(format!("got {got}, wanted {want}"))
        }
        Outcome::Answer(_, Some(changed)) => {
            Verdict::Failed(format!("it failed as it should, but {changed}"))
        }
        Outcome::Answer(Got::Errno(got), None) if matches!(want, Want::Unsupported(lacking, full) if lacking == *got && full != *got) => {
            Verdict::Unsupported
        }
        Outcome::Answer(_, None) => Verdict::Passed,
    }
}

/// The verdict on the same outcome with the expectation perturbed: it must be a failure.
pub fn judge_perturbed(want: Want, outcome: &Outcome) -> Verdict {
    let outcome = match outcome.clone() {
        Outcome::Answer(got, changed) => Outcome::Answer(want.perturb_answer(got), changed),
        broken => broken,
    };
    judge(want.perturbed(), &outcome)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_kind_of_fault_fails_a_row() {
        let want = Want::Errno(libc::EINVAL);
        let right = Got::Errno(libc::EINVAL);
        assert_eq!(
            judge(want, &Outcome::Answer(right.clone(), None)),
            Verdict::Passed
        );
        let faults = [
            Outcome::Answer(Got::Errno(0), None),
            Outcome::Answer(Got::Value(22), None),
            Outcome::Answer(right, Some("counters".into())),
            Outcome::Broken("a panic".into()),
            decode("nonsense"),
            decode(""),
            decode("broken x"),
        ];
        for fault in faults {
            assert!(
                matches!(judge(want, &fault), Verdict::Failed(_)),
                "{fault:?}"
            );
        }
    }

    #[test]
    fn what_changed_is_read_back() {
        let got = Outcome::Answer(Got::Errno(22), Some("a; b".into()));
        assert_eq!(decode("E 22\na; b"), got);
    }
}
