// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rkfd-trace-diff VERDICTS AMDGPU RKFD`: compares what stock amdgpu and the module did to the same device, from
//! its power-on to the first dispatch: two traces of the device, and the verdicts on their differences.
//!
//! Compared are the registers that were written with the last value of each, what the security processor and the
//! management unit were asked, the packets of kernel queues, and the words of MQDs; not their order, but for the
//! security processor's. It fails on a difference that no verdict names, and on a verdict that no difference needs
//! any more.

mod compare;
mod seen;
mod verdicts;

use anyhow::{bail, Context, Result};
use seen::Seen;
use verdicts::Verdicts;

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [verdicts, amdgpu, rkfd] = &arguments[..] else {
        bail!("usage: rkfd-trace-diff VERDICTS AMDGPU RKFD");
    };
    let read = |path: &String| std::fs::read_to_string(path).with_context(|| path.clone());
    let verdicts = Verdicts::parse(&read(verdicts)?)?;
    let seen = |path| Seen::of(&rkfd_trace::device::parse(&read(path)?)?).context(path.clone());
    let report = compare::compare(&seen(amdgpu)?, &seen(rkfd)?, &verdicts);
    print!("{report}");
    // A line that a run of tests adds up.
    println!("{} passed, {} failed", report.passed(), report.failed());
    match report.failed() {
        0 => Ok(()),
        _ => bail!("there are differences without a verdict, or verdicts without a difference"),
    }
}
