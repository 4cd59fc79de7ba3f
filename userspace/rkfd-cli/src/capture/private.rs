// SPDX-License-Identifier: MIT OR Apache-2.0

//! What tells whose machine it is, and is taken out: names of the host and of processes, serial numbers.

use crate::machine::Machine;

/// Names of hosts that name none, or that every log has.
const NO_NAMES: [&str; 7] = ["(none)", "localhost", "rkfd", "amdgpu", "kfd", "pci", "drm"];
/// Shorter numbers are those of other things, too.
const SHORTEST: usize = 6;
/// In place of a serial number.
const LEFT_OUT: &str = "(left out)";
/// What comes behind a process' name in the log (`amdgpu_vm_print_task_info`, `kfd_events.c`).
const AFTER_NAME: [&str; 4] = [" pid ", "(pid:", "(pasid:", " tid "];
/// Bytes of the PCI configuration space of conventional PCI; behind them are PCI Express' own capabilities
/// (`pci_regs.h`, as what follows): an id in bits 15:0, the next one's place in bits 31:20.
const CONVENTIONAL: usize = 256;
const CAP_DEVICE_SERIAL_NUMBER: u32 = 0x03;
/// Capabilities are words, so there are no more of them; a list that is longer is a circle.
const MOST_CAPS: usize = (4096 - CONVENTIONAL) / 4;

/// What is looked for.
pub(super) struct Private {
    hosts: Vec<String>,
    /// Serial numbers, each as its files have it.
    numbers: Vec<String>,
    keeps_numbers: bool,
}

impl Private {
    /// What is private of a machine.
    pub(super) fn of(machine: &Machine, keeps_numbers: bool) -> Self {
        let host = machine.text("proc/sys/kernel/hostname").unwrap_or_default();
        let first = host.split('.').next().unwrap_or_default().to_owned();
        let mut hosts = vec![host, first];
        hosts.retain(|host| !host.is_empty() && !NO_NAMES.contains(&host.as_str()));
        hosts.dedup();
        let mut numbers = Vec::new();
        for gpu in machine.gpus() {
            let files = ["unique_id", "serial_number"].map(|name| machine.text(gpu.file(name)));
            numbers.extend(files.into_iter().flatten());
        }
        for node in machine.list(super::system::NODES) {
            let text = machine.text(format!("{}/{node}/properties", super::system::NODES));
            let text = text.unwrap_or_default();
            let numbered = text
                .lines()
                .find_map(|line| line.strip_prefix("unique_id "));
            if let Some(number) = numbered.and_then(|number| number.trim().parse::<u64>().ok()) {
                numbers.extend([number.to_string(), format!("{number:x}")]);
            }
        }
        numbers.retain(|number| number.len() >= SHORTEST);
        Self {
            hosts,
            numbers,
            keeps_numbers,
        }
    }

    /// Whether serial numbers stay in.
    pub(super) fn keeps_numbers(&self) -> bool {
        self.keeps_numbers
    }

    /// A text without it.
    pub(super) fn text(&self, text: &str) -> String {
        let mut clean = String::with_capacity(text.len());
        for line in text.split_inclusive('\n') {
            let name = "unique_id ";
            match line.strip_prefix(name) {
                Some(number) if !self.keeps_numbers => {
                    let end = if number.ends_with('\n') { "\n" } else { "" };
                    clean += &format!("{name}{LEFT_OUT}{end}");
                }
                _ => clean += line,
            }
        }
        for host in &self.hosts {
            clean = replaced(&clean, host, "(host)");
        }
        if !self.keeps_numbers {
            for number in &self.numbers {
                clean = clean.replace(number.as_str(), LEFT_OUT);
            }
        }
        clean
    }

    /// PCI configuration space without the device's serial number.
    pub(super) fn config(&self, mut bytes: Vec<u8>) -> Vec<u8> {
        if self.keeps_numbers {
            return bytes;
        }
        let mut at = CONVENTIONAL;
        for _ in 0..MOST_CAPS {
            let Some(&[a, b, c, d]) = bytes.get(at..at + 4) else {
                break;
            };
            let header = u32::from_le_bytes([a, b, c, d]);
            if header & 0xffff == CAP_DEVICE_SERIAL_NUMBER {
                if let Some(number) = bytes.get_mut(at + 4..at + 12) {
                    number.fill(0);
                }
            }
            at = (header >> 20) as usize & !3;
            if at < CONVENTIONAL {
                break;
            }
        }
        bytes
    }
}

/// A text with another word in place of a word, but for parts of longer words.
fn replaced(text: &str, word: &str, with: &str) -> String {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    let (mut clean, mut rest) = (String::with_capacity(text.len()), text);
    let mut last = None;
    while let Some((before, after)) = rest.split_once(word) {
        let before_it = before.chars().next_back().or(last);
        let whole = !before_it.is_some_and(is_part) && !after.chars().next().is_some_and(is_part);
        clean += before;
        clean += if whole { with } else { word };
        last = word.chars().next_back();
        rest = after;
    }
    clean + rest
}

/// A line of the kernel log without names of processes.
pub(super) fn nameless(line: &str) -> String {
    let mut line = line.to_owned();
    for before in ["rocess ", "thread "] {
        let Some((head, tail)) = line.split_once(before) else {
            continue;
        };
        let ends = AFTER_NAME.iter().filter_map(|after| tail.find(after));
        // "process pid 3" has no name.
        if let (Some(end), false) = (ends.min(), tail.starts_with("pid ")) {
            line = format!("{head}{before}?{}", tail.get(end..).unwrap_or_default());
        }
    }
    if let Some((head, tail)) = line.split_once(" Comm: ") {
        let rest = tail.split_once(' ').map_or("", |(_, rest)| rest);
        line = format!("{head} Comm: ? {rest}");
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::made::Made;

    #[test]
    fn hosts_are_whole_words() {
        assert_eq!(
            replaced("gpu0 on gpu: gpu_id, agpu", "gpu", "(host)"),
            "gpu0 on (host): gpu_id, agpu"
        );
        assert_eq!(replaced("gpugpu gpu", "gpu", "x"), "gpugpu x");
        let machine = Made::new().file("proc/sys/kernel/hostname", "amdgpu\n");
        let private = Private::of(&machine, false);
        assert_eq!(private.text("amdgpu: unique_id\n"), "amdgpu: unique_id\n");
    }

    #[test]
    fn processes_have_no_names_in_the_log() {
        for (line, expected) in [
            (
                "amdgpu:  Process my tool pid 12 thread my:cs0 pid 13",
                "amdgpu:  Process ? pid 12 thread ? pid 13",
            ),
            (
                "SIGBUS suppressed for process tool(pid:7): app",
                "SIGBUS suppressed for process ?(pid:7): app",
            ),
            (
                "Queues reset on process tool tid 3 thread tool pid 3",
                "Queues reset on process ? tid 3 thread ? pid 3",
            ),
            ("process pid 3 opened", "process pid 3 opened"),
            (
                "CPU: 1 PID: 4 Comm: tool Tainted: G [rkfd]",
                "CPU: 1 PID: 4 Comm: ? Tainted: G [rkfd]",
            ),
        ] {
            assert_eq!(nameless(line), expected);
        }
    }

    #[test]
    fn a_list_of_capabilities_in_a_circle_ends() {
        let private = Private::of(&Made::new(), false);
        let mut config = vec![0; 4096];
        config[0x100..0x104].copy_from_slice(&0x1000_0001_u32.to_le_bytes());
        assert_eq!(private.config(config.clone()), config);
        assert_eq!(private.config(vec![1; 64]), vec![1; 64]);
    }
}
