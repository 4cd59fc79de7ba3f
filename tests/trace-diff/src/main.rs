// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rkfd-trace-diff [--note] VERDICTS SAME AMDGPU RKFD`: compares what stock amdgpu and the module did to the same
//! device, from its power-on to the first dispatch: two traces of the device, the verdicts on their differences, and
//! what is the same in both, which `--note` writes.
//!
//! It fails on a difference that no verdict names, on a verdict that no difference needs any more, and where something
//! else than noted is the same.

use anyhow::{bail, Context, Result};
use rkfd_trace_diff::{compare, Same, Seen, Verdicts};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (note, arguments) = match &arguments[..] {
        [first, rest @ ..] if first == "--note" => (true, rest),
        all => (false, all),
    };
    let [verdicts, noted, amdgpu, rkfd] = arguments else {
        bail!("usage: rkfd-trace-diff [--note] VERDICTS SAME AMDGPU RKFD");
    };
    let read = |path: &String| std::fs::read_to_string(path).with_context(|| path.clone());
    let verdicts = Verdicts::parse(&read(verdicts)?)?;
    let seen = |path| Seen::of(&rkfd_trace::device::parse(&read(path)?)?).context(path.clone());
    let report = compare(&seen(amdgpu)?, &seen(rkfd)?, &verdicts);
    print!("{report}");
    if note {
        std::fs::write(noted, report.same().to_string()).with_context(|| noted.clone())?;
    }
    let other = report.same().differences(&Same::parse(&read(noted)?)?);
    for line in &other {
        println!("{noted}: {line}");
    }
    // A line that a run of tests adds up.
    let failed = report.failed() + other.len();
    println!("{} passed, {failed} failed", report.passed());
    match failed {
        0 => Ok(()),
        _ => bail!("there are differences without a verdict, verdicts without a difference, or other things the same than noted"),
    }
}
