// SPDX-License-Identifier: MIT OR Apache-2.0
//! One boot for several scenarios: a machine that runs them one after the other.
//!
//! Most of a short scenario's time is the boot. Scenarios that ask for the same machine and leave
//! it as they found it share one. Process 1 begins each of them anew ([`Step::Scenario`]): the GPU
//! is reset, the kernel's log is emptied for who reads it, and no module may be left. Each scenario
//! has its own verdict, its own folder of logs and its own part of the device's trace, which begins
//! with that reset. What ends the machine fails the scenario that ran; those that had not begun run
//! in another machine. Where the device misbehaves, process 1 gives it each scenario's rules by its
//! control socket before it is reset.

use crate::plan::Step;
use crate::scenario::{Expect, Scenario};
use std::collections::BTreeMap;
use std::path::Path;
use std::{fs, io};

/// Scenarios, and the machine that runs all of them.
#[derive(Debug, Clone)]
pub struct Boot<'a> {
    /// The scenarios, in order.
    pub scenarios: Vec<&'a Scenario>,
    /// What is booted: the plan and the includes of all.
    pub machine: Scenario,
}

impl<'a> Boot<'a> {
    /// A machine for scenarios that [`of`] put together, or for one.
    pub fn new(scenarios: &[&'a Scenario]) -> Option<Self> {
        let mut machine = Scenario::clone(scenarios.first()?);
        machine.plan.clear();
        for scenario in scenarios {
            if machine.shares {
                machine.plan.push(Step::Scenario {
                    name: scenario.name.into(),
                    rules: machine.control.then(|| scenario.rules.clone()),
                });
            }
            machine.plan.extend(scenario.plan.iter().cloned());
            for include in &scenario.includes {
                if !machine.includes.contains(include) {
                    machine.includes.push(include.clone());
                }
            }
        }
        let scenarios = scenarios.to_vec();
        Some(Boot { scenarios, machine })
    }
}

/// Puts scenarios together that can share a machine; the others are alone.
pub fn of<'a>(suite: impl IntoIterator<Item = &'a Scenario>) -> Vec<Vec<&'a Scenario>> {
    let (mut boots, mut shared) = (Vec::new(), BTreeMap::<String, usize>::new());
    for scenario in suite {
        let at = *shared.entry(machine_of(scenario)).or_insert(boots.len());
        match boots.get_mut(at) {
            Some(boot) if scenario.shares => Vec::push(boot, scenario),
            _ => boots.push(vec![scenario]),
        }
    }
    boots
}

/// What two scenarios must have in common to share a machine.
fn machine_of(scenario: &Scenario) -> String {
    let Scenario {
        name,
        module,
        gpus,
        trace,
        emulator_args,
        meant,
        control,
        machine,
        qemu_args,
        kernel_args,
        cpus,
        memory_mib,
        expect,
        shares,
        ..
    } = scenario;
    if !shares || *expect != Expect::Pass {
        return (*name).into();
    }
    let flags = (module, gpus, trace, cpus, memory_mib, control);
    format!("a machine: {flags:?} {meant:?} {machine:?} {emulator_args:?} {qemu_args:?} {kernel_args:?}")
}

/// Writes the part of a machine's trace that belongs to its scenario number `n`, from 0.
///
/// # Errors
/// The trace can't be read, or the part can't be written.
pub fn split_trace(trace: &Path, n: usize, part: &Path) -> io::Result<()> {
    let text = fs::read_to_string(trace)?;
    let mut resets = 0;
    let lines = text.split_inclusive('\n').filter(|line| {
        resets += usize::from(begins_anew(line));
        resets == n + 1
    });
    fs::write(part, lines.collect::<String>())
}

/// Whether a line of a trace is the reset by which process 1 begins a scenario.
fn begins_anew(line: &str) -> bool {
    line.contains(r#""ev":"bus_reset""#) && line.contains(r#""why":"flr""#)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_equal_machines_are_shared() {
        let shared = |name| Scenario::new(name, "").shares_a_machine();
        let all = [
            shared("a"),
            Scenario::new("alone", ""),
            shared("b").without_trace(),
            shared("c"),
            shared("d").emulator_arg("--cold"),
            shared("e").without_trace(),
        ];
        let names = |boot: &Vec<&Scenario>| boot.iter().map(|s| s.name).collect::<Vec<_>>();
        let boots: Vec<_> = of(&all).iter().map(names).collect();
        let wanted = [vec!["a", "c"], vec!["alone"], vec!["b", "e"], vec!["d"]];
        assert_eq!(boots, wanted);
    }

    #[test]
    fn a_machine_has_the_plans_and_includes_of_all() {
        let one = |name| {
            let scenario = Scenario::new(name, "").bin("p", "x").bin("p", name);
            scenario.step(Step::insmod(name)).shares_a_machine()
        };
        let (a, b) = (one("a"), one("b"));
        let boot = Boot::new(&[&a, &b]).unwrap();
        assert_eq!(boot.machine.includes.len(), 3);
        let begin = |name: &str| Step::Scenario {
            name: name.into(),
            rules: None,
        };
        let wanted = [begin("a"), Step::insmod("a"), begin("b"), Step::insmod("b")];
        assert_eq!(boot.machine.plan, wanted);
        assert!(Boot::new(&[]).is_none());
    }

    #[test]
    fn a_trace_is_cut_where_scenarios_begin() {
        let dir = std::env::temp_dir();
        let file = |name| dir.join(format!("rkfd-cut-{}-{name}", std::process::id()));
        let reset = |n, why| format!("{{\"seq\":{n},\"ev\":\"bus_reset\",\"why\":\"{why}\"}}\n");
        let other = |n| format!("{{\"seq\":{n},\"ev\":\"aql\"}}\n");
        let parts = [
            reset(0, "vfio-user"),
            reset(1, "flr") + &other(2),
            reset(3, "flr"),
        ];
        fs::write(file("all"), parts.concat()).unwrap();
        for (n, wanted) in parts[1..].iter().enumerate() {
            split_trace(&file("all"), n, &file("part")).unwrap();
            assert_eq!(&fs::read_to_string(file("part")).unwrap(), wanted);
        }
        for name in ["all", "part"] {
            fs::remove_file(file(name)).unwrap();
        }
    }
}
