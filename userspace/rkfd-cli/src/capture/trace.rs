// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the driver's tracepoints told, where somebody listens to them: `rkfd trace`, or by hand.

use std::io::ErrorKind;
use std::path::Path;

use super::collection::Collection;

/// Where Linux mounts tracefs (Documentation/trace/ftrace.rst).
const TRACEFS: &str = "sys/kernel/tracing";
/// The driver's events there.
const EVENTS: &str = "events/rkfd";

/// Puts in what was told so far. Reading it takes nothing away.
pub(super) fn collect(all: &mut Collection) {
    let root = Path::new(TRACEFS);
    if let Err(error) = std::fs::read_dir(all.machine.path(root)) {
        if error.kind() == ErrorKind::PermissionDenied {
            all.missing("a trace", "only root reads tracefs", "sudo rkfd capture");
        }
        return;
    }
    let names = all.machine.list(root.join(EVENTS));
    let mut places = vec![root.to_owned()];
    let instances = all.machine.list(root.join("instances"));
    places.extend(
        instances
            .iter()
            .map(|name| root.join("instances").join(name)),
    );
    let mut number = 0;
    for place in places {
        if !listens(all, &place) {
            continue;
        }
        let from = place.join("trace");
        match all.read(&from) {
            Ok(bytes) => {
                let text = nameless(&String::from_utf8_lossy(&bytes), &names);
                let from = format!("/{}", from.display());
                all.text(&format!("trace/{number}.txt"), &text, &from);
                number += 1;
            }
            Err(error) => all.refused(&from, &error),
        }
    }
}

/// Whether some of the driver's events are on.
fn listens(all: &Collection, place: &Path) -> bool {
    let enabled = all.machine.text(place.join(EVENTS).join("enable"));
    enabled.is_some_and(|value| value != "0")
}

/// The lines of the driver's events without names of tasks: `NAME-PID [CPU] FLAGS TIME: EVENT: VALUES`. Other events may be
/// on as well, and tell of others.
fn nameless(trace: &str, events: &[String]) -> String {
    let mut text = String::new();
    for line in trace.lines() {
        if line.starts_with('#') {
            text += &format!("{line}\n");
            continue;
        }
        // A name may have brackets and lines in it; what the kernel writes behind it has not.
        let Some((task, rest)) = events.iter().find_map(|event| {
            let at = line.find(&format!(": {event}: "))?;
            line.get(..at)?.rfind(" [").map(|at| line.split_at(at))
        }) else {
            continue;
        };
        let pid = task.rsplit('-').next().unwrap_or_default().trim();
        text += &format!("{:>16}-{pid:<7}{rest}\n", "?");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tasks_have_no_names_and_others_events_are_left_out() {
        let trace = "# tracer: nop\n      my-tool-812     [001] .....    12.5: ioctl_enter: cmd 0xc0184b02\n\
                     bash-7 [000] .....    12.6: sched_switch: prev_comm=bash\n\
                     bash-7 [000] .....    12.7: tracing_mark_write: hello\n";
        let events = ["enable".to_owned(), "ioctl_enter".to_owned()];
        assert_eq!(
            nameless(trace, &events),
            "# tracer: nop\n               ?-812     [001] .....    12.5: ioctl_enter: cmd 0xc0184b02\n"
        );
    }
}
