// SPDX-License-Identifier: MIT OR Apache-2.0
//! The labs of `docs/course/`: their commands, and what the pages say that these print.
//!
//! A block of code that begins with ```` ```console ```` has commands, each behind `# `, and below a command what it
//! prints: each of these lines stands in the output, in this order, and `…` in one stands for anything. A word behind
//! `console` names the chip for which the output is.

use crate::chip;
use crate::verdict::Outcome;

macro_rules! labs {
    ($($name:literal: $page:literal),* $(,)?) => {
        &[$(($name, include_str!(concat!("../../../docs/course/", $page))),)*]
    };
}

/// The labs: what they are called, and their pages.
const LABS: &[(&str, &str)] = labs! {
    "requests": "1-requests.md",
    "doorbell": "2-doorbell.md",
    "packet": "3-packet.md",
    "queue": "4-queue.md",
    "run-list": "5-run-list.md",
    "page-fault": "6-page-fault.md",
    "hang": "7-hang.md",
    "preemption": "8-preemption.md",
    "no-system-call": "9-no-system-call.md",
    "kernel-ring": "10-kernel-ring.md",
    "stopped": "11-stopped.md",
};

/// A command of a lab.
#[derive(Debug, PartialEq, Eq)]
pub struct Command {
    /// The lab, and which of its commands.
    pub name: String,
    /// What is typed.
    pub typed: String,
    /// What it prints, line by line.
    wanted: Vec<String>,
    /// The chip for which that is true; empty for both.
    chip: String,
}

/// The commands of a page.
fn of_page(lab: &str, page: &str) -> Vec<Command> {
    let mut commands: Vec<Command> = Vec::new();
    let mut block: Option<String> = None;
    for line in page.lines() {
        if let Some(kind) = line.strip_prefix("```") {
            let begins = block
                .is_none()
                .then(|| kind.strip_prefix("console"))
                .flatten();
            block = begins.map(|chip| chip.trim().into());
            continue;
        }
        let Some(chip) = &block else { continue };
        match (line.strip_prefix("# "), commands.last_mut()) {
            (Some(typed), _) => commands.push(Command {
                name: format!("{lab}-{}", commands.len() + 1),
                typed: typed.into(),
                wanted: Vec::new(),
                chip: chip.clone(),
            }),
            (None, Some(command)) if !line.trim().is_empty() => command.wanted.push(line.into()),
            _ => {}
        }
    }
    commands
}

/// All commands, lab by lab.
pub fn commands() -> Vec<Command> {
    let pages = LABS.iter().flat_map(|(lab, page)| of_page(lab, page));
    pages.collect()
}

/// What the guest prints before a command's output.
fn mark(command: &Command) -> String {
    format!("=== lab {}", command.name)
}

/// What the topology calls an instruction set: `gfx942` is 90402.
fn version(target: &str) -> Option<u32> {
    let digits = target.strip_prefix("gfx")?;
    let (major, rest) = digits.split_at_checked(digits.len().checked_sub(2)?)?;
    let [minor, step] = rest.as_bytes() else {
        return None;
    };
    let digit = |byte: u8| char::from(byte).to_digit(16);
    Some(major.parse::<u32>().ok()? * 10_000 + digit(*minor)? * 100 + digit(*step)?)
}

impl Command {
    /// What process 1 runs: the command, on the chip that it is for.
    pub fn script(&self) -> String {
        let chip = chip::ALL.iter().find(|chip| chip.name == self.chip);
        let only = chip.and_then(|chip| version(chip.target)).map(|version| {
            let properties = "/sys/class/kfd/kfd/topology/nodes/1/properties";
            format!("grep -q '^gfx_target_version {version}$' {properties} || exit 0; ")
        });
        format!(
            "echo '{}'; {}{}",
            mark(self),
            only.unwrap_or_default(),
            self.typed
        )
    }
}

/// Compares what the commands have printed with the pages.
///
/// # Errors
///
/// A line that a page has and the output lacks.
pub fn check(outcome: &Outcome) -> Result<(), String> {
    let mut wrong = Vec::new();
    for command in commands() {
        if !command.chip.is_empty() && command.chip != outcome.chip.name {
            continue;
        }
        let mark = mark(&command);
        let mut lines = outcome
            .output
            .iter()
            .skip_while(|line| line.trim() != mark)
            .skip(1);
        let printed: Vec<&str> = lines
            .by_ref()
            .take_while(|line| !line.starts_with("=== lab "))
            .map(String::as_str)
            .collect();
        let mut rest = printed.iter();
        for wanted in &command.wanted {
            if !rest.any(|line| has(line, wanted)) {
                wrong.push(format!(
                    "{}: '{wanted}' is not (or not there) in {printed:?}",
                    command.name
                ));
                break;
            }
        }
    }
    match wrong.is_empty() {
        true => Ok(()),
        false => Err(wrong.join("\n")),
    }
}

/// Whether a line has the parts of a text between its `…`, in order; a text without any is the whole line.
fn has(line: &str, text: &str) -> bool {
    let (line, text) = (line.trim(), text.trim());
    if !text.contains('…') {
        return line == text;
    }
    let parts: Vec<&str> = text.split('…').collect();
    let mut at = 0;
    for (nth, part) in parts.iter().enumerate() {
        let part = if nth == 0 { part.trim_start() } else { part };
        let Some(found) = line.get(at..).and_then(|rest| rest.find(part)) else {
            return false;
        };
        if nth == 0 && found != 0 {
            return false;
        }
        at += found + part.len();
    }
    parts.last().is_some_and(|last| line.ends_with(last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::c_program;
    use std::fs;
    use std::path::Path;

    #[test]
    fn commands_are_read_with_what_they_print() {
        let page = "Text.\n```console\n# a b\nx … z\n\n# c\n```\n# no command\n```console mi308x\n# d\n1\n```\n";
        let commands = of_page("lab", page);
        let typed: Vec<_> = commands.iter().map(|c| c.typed.as_str()).collect();
        assert_eq!(typed, ["a b", "c", "d"]);
        assert_eq!(commands[0].wanted, ["x … z"]);
        assert_eq!(
            (commands[2].chip.as_str(), commands[2].name.as_str()),
            ("mi308x", "lab-3")
        );
    }

    #[test]
    fn anything_may_stand_for_an_ellipsis_and_nothing_else() {
        assert!(has("  a 12 b", "a … b"));
        assert!(has("pid-1 x: y=3", "… x: y=…"));
        assert!(!has("a 12 c", "a … b"));
        assert!(!has("xa 1 b", "a … b"));
        assert!(has("1", "1") && !has("11", "1"));
    }

    /// The pages have the programs of [`c_program::SOURCES`] as they are compiled, and say how they are.
    #[test]
    fn pages_have_the_sources_of_their_programs() {
        let programs = Path::new("../..").join(c_program::SOURCES);
        for (lab, program) in [("doorbell", "doorbell"), ("packet", "aql")] {
            let source = fs::read_to_string(programs.join(format!("{program}.c"))).expect(program);
            let (_, page) = LABS.iter().find(|(name, _)| *name == lab).expect(lab);
            assert!(page.contains(&format!("```c\n{source}```\n")), "{lab}");
        }
        let (_, page) = LABS
            .iter()
            .find(|(name, _)| *name == "doorbell")
            .expect("it is there");
        assert!(page.contains(&format!("    {} -o doorbell ", c_program::COMPILER)));
    }

    /// Versions as Linux's `kfd_device.c` has them for these targets; gfx90a has a hexadecimal digit.
    #[test]
    fn a_command_of_one_chip_runs_there_only() {
        assert_eq!(version("gfx942"), Some(90_402));
        assert_eq!(version("gfx90a"), Some(90_010));
        assert_eq!(version("gfx1201"), Some(120_001));
        assert_eq!((version("gfx"), version("sm_90")), (None, None));
        let page = "```console navi48\n# d\n```\n```console\n# e\n```\n";
        let scripts: Vec<_> = of_page("lab", page).iter().map(Command::script).collect();
        assert!(
            scripts[0].contains("^gfx_target_version 120001$' ")
                && scripts[0].ends_with("|| exit 0; d")
        );
        assert_eq!(scripts[1], "echo '=== lab lab-2'; e");
    }

    #[test]
    fn each_page_is_a_lab() {
        let folder = fs::read_dir("../../docs/course").expect("the course");
        let pages = folder.flatten().filter(|entry| {
            let name = entry.file_name().into_string().unwrap_or_default();
            name.ends_with(".md") && name != "README.md"
        });
        assert_eq!(pages.count(), LABS.len());
        let contents = include_str!("../../../docs/course/README.md");
        for (nth, (_, page)) in LABS.iter().enumerate() {
            let (title, _) = page.split_once('\n').expect("a title");
            let name = title
                .strip_prefix(&format!("# Lab {}: ", nth + 1))
                .expect(title);
            assert!(
                contents.contains(&format!("\n{}. [{name}](", nth + 1)),
                "{name}"
            );
        }
    }

    #[test]
    fn each_lab_has_commands_and_says_what_they_print() {
        for &(lab, page) in LABS {
            let commands = of_page(lab, page);
            assert!(commands.len() >= 2, "{lab}");
            assert!(commands.iter().any(|c| !c.wanted.is_empty()), "{lab}");
        }
    }
}
