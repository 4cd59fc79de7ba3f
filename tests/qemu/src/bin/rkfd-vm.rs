// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rkfd-vm demo | bench | test [FILTER]... | shell | run`: see the library's documentation.
//!
//! `demo`, `bench` and `test` run on each emulated GPU unless one is named; `shell` and `run` on one.

use anyhow::{anyhow, bail, ensure, Context, Result};
use clap::{Parser, Subcommand};
use rkfd_vm::bench::costs::{self, Costs};
use rkfd_vm::bench::rivals::Rivals;
use rkfd_vm::bench::stages::Stages;
use rkfd_vm::bench::Table;
use rkfd_vm::chip::Chip;
use rkfd_vm::demo::Story;
use rkfd_vm::flow::Flow;
use rkfd_vm::host::Host;
use rkfd_vm::qemu::Accel;
use rkfd_vm::run::{self, Show};
use rkfd_vm::scenarios::rocm::{Rocm, VECTORADD_WORKGROUPS};
use rkfd_vm::shown::shown;
use rkfd_vm::suite::{self, Options, Share};
use rkfd_vm::terminal;
use rkfd_vm::trace::Trace;
use rkfd_vm::{
    emulator, gdb, guest, interactive, mutants, omissions, scenarios, Include, Outcome, Scenario,
    Step,
};
use std::num::NonZeroUsize;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Boot a kernel with the module and the emulated GPU, run a plan, give one verdict.
#[derive(Parser)]
#[command(version)]
struct Args {
    /// Which emulated GPU: mi308x, navi48, mi308x-cpx (one XCC of four), navi48-xl (56 of 64 compute units), or all: one of
    /// each kind, and for `test` the scenarios to which the shape matters on the other two.
    #[arg(long, env = "CHIP", default_value = "all", global = true)]
    chip: String,
    /// The kernel image; default: the root's stock kernel.
    #[arg(long, env = "RKFD_KERNEL", global = true)]
    kernel: Option<PathBuf>,
    /// The module for that kernel; default: the one that `make module` built.
    #[arg(long, env = "RKFD_MODULE", global = true)]
    module: Option<PathBuf>,
    /// The emulator; default: the workspace's.
    #[arg(long, env = "RKFD_EMULATOR", global = true)]
    emulator: Option<PathBuf>,
    /// auto, kvm or tcg.
    #[arg(long, env = "RKFD_ACCEL", default_value = "auto", global = true)]
    accel: String,
    /// How many machines run at the same time; default: one more than there are processors. With
    /// one, what is shown of a run is shown while it runs, else when it ends.
    #[arg(short, long, env = "RKFD_JOBS", global = true)]
    jobs: Option<NonZeroUsize>,
    /// Stretch every timeout by this factor. They are those of an idle host, and only end what hangs: a
    /// busy host takes several times as long, a debug kernel even longer.
    #[arg(long, env = "RKFD_SLOW", default_value_t = 4, global = true,
        value_parser = clap::value_parser!(u32).range(1..=100))]
    slow: u32,
    /// Scan for leaked objects at the end of each run with the module; the kernel must have
    /// kmemleak. `test` also proves with the module LEAKING, which leaks, that leaks are found,
    /// and that the module's KUnit suites pass.
    #[arg(long, env = "RKFD_KMEMLEAK", value_name = "LEAKING", global = true)]
    kmemleak: Option<PathBuf>,
    /// Show the console while it runs.
    #[arg(short, long, global = true)]
    verbose: bool,
    #[command(subcommand)]
    what: What,
}

/// What a GPU is like when the module meets it.
#[derive(Clone, Copy, clap::ValueEnum)]
enum Start {
    /// Its firmware runs.
    Warm,
    /// No firmware is loaded.
    Cold,
}

#[derive(Subcommand)]
enum What {
    /// Follow one dispatch from ioctl to interrupt.
    Demo {
        /// What the GPU is like when the module meets it; cold: as after power-on.
        #[arg(long, env = "RKFD_START", default_value = "warm")]
        start: Start,
    },
    /// Measure the paths of a dispatch and the requests, as ratios.
    Bench {
        /// What to measure: paths, or a part of the program `costs`; default: all.
        parts: Vec<String>,
        /// Write what requests cost into this folder, as CHIP.json.
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
    },
    /// Measure requests with Linux's amdgpu.ko, with the module, and with amdgpu.ko again, in one machine.
    BenchAmdgpu {
        /// Write what they cost into this folder, as CHIP.json.
        #[arg(long, value_name = "FOLDER")]
        out: PathBuf,
    },
    /// Run the scenarios whose name contains a FILTER; ends with `N passed, N failed`.
    Test {
        /// Parts of names.
        filter: Vec<String>,
        /// FILTERs are whole names.
        #[arg(long)]
        exact: bool,
        /// Run what takes too long for every change, instead of the others.
        #[arg(long)]
        long: bool,
        /// Only list them.
        #[arg(long)]
        list: bool,
        /// Run a share of the machines, by its number and how many there are: 1/2, and elsewhere or later 2/2.
        #[arg(long, env = "RKFD_SHARE", default_value = "1/1")]
        share: Share,
    },
    /// Run mutants of the module, and count which ones a scenario notices.
    Mutants(mutants::Wanted),
    /// Run the demo with drivers that leave out what silicon needs: the device has to name it.
    Omissions {
        /// Parts of their names.
        filter: Vec<String>,
        /// What the planter of mutants listed.
        #[arg(long, env = "RKFD_MUTANTS")]
        list: PathBuf,
        /// What is left out, and what the device has to report.
        #[arg(long, default_value = "tests/mutants/omissions.txt")]
        table: PathBuf,
    },
    /// Run programs of Debian's ROCm; ends with `N passed, N failed` for each chip.
    Rocm {
        /// Parts of scenarios' names.
        filter: Vec<String>,
        /// On Linux's own amdgpu.ko, on a device from power-on (MI308X).
        #[arg(long)]
        stock: bool,
        /// The root with ROCm.
        #[arg(long, env = "RKFD_ROCM_ROOT")]
        root: PathBuf,
        /// The programs of `tests/rocm`.
        #[arg(long, env = "RKFD_ROCM_PROGRAMS")]
        programs: PathBuf,
    },
    /// Follow one vector addition of HIP through all layers.
    RocmTrace {
        /// The root with ROCm.
        #[arg(long, env = "RKFD_ROCM_ROOT")]
        root: PathBuf,
        /// The programs of `tests/rocm`.
        #[arg(long, env = "RKFD_ROCM_PROGRAMS")]
        programs: PathBuf,
    },
    /// A shell in the guest, with the module loaded. Ctrl-A X ends it.
    Shell {
        /// Put a file or a folder into the guest; without a place there it goes to /root.
        #[arg(long = "include", value_name = "PATH[:/DST]", value_parser = Include::parse)]
        includes: Vec<Include>,
        /// How many emulated GPUs there are. The board has room for the BAR of one MI308X alone.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(..=8))]
        gpus: u8,
    },
    /// gdb on the guest's kernel and module; further arguments are gdb's.
    Gdb {
        /// Such as `-x FILE` or `-batch`.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Run a plan given on the command line, such as `'insmod /rkfd.ko' 'rmmod rkfd'`.
    Run {
        /// The steps. Single quotes hold words together: `run NAME SECONDS STATUS /bin/sh -c '...'`.
        #[arg(required = true)]
        steps: Vec<String>,
        /// Put a file or a folder into the guest; without a place there it goes to /root.
        #[arg(long = "include", value_name = "PATH[:/DST]", value_parser = Include::parse)]
        includes: Vec<Include>,
        /// How many emulated GPUs there are. The board has room for the BAR of one MI308X alone.
        #[arg(long, default_value_t = 1, value_parser = clap::value_parser!(u8).range(..=8))]
        gpus: u8,
    },
}

fn main() -> ExitCode {
    match real_main(Args::parse()) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(e) => {
            eprintln!("rkfd-vm: {e:#}");
            ExitCode::FAILURE
        }
    }
}

fn real_main(args: Args) -> Result<bool> {
    let chips = Chip::chosen(&args.chip)?;
    let chip = chips.first().context("no chip")?;
    let host = Host::new(args.kernel, args.module, args.emulator, chip, args.slow)?;
    let show = |quiet: Show| if args.verbose { Show::All } else { quiet };
    let mut suite = match args.what {
        What::Demo { start } => {
            let scenario = match start {
                Start::Warm => scenarios::demo(),
                Start::Cold => scenarios::cold_demo(),
            };
            return each(&host, chips, |host| {
                if !scenario.runs_on(host.chip, true) {
                    println!(
                        "{}: the module can't start this GPU from power-on.",
                        host.chip
                    );
                    return Ok(true);
                }
                demo(host, &args.accel, &scenario, show(Show::Nothing))
            });
        }
        What::Bench { parts, out } => {
            let known = || {
                [scenarios::PATHS, scenarios::STAGES]
                    .into_iter()
                    .chain(costs::PARTS)
            };
            if let Some(part) = parts.iter().find(|part| known().all(|name| name != *part)) {
                bail!("'{part}' is no part of the benchmarks");
            }
            let wanted = |name: &&str| parts.is_empty() || parts.iter().any(|part| part == name);
            let parts: Vec<&str> = known().filter(wanted).collect();
            return each(&host, chips, |host| {
                let show = show(Show::Nothing);
                bench(host, &args.accel, show, &parts, out.as_deref())
            });
        }
        What::BenchAmdgpu { out } => {
            let show = show(Show::Nothing);
            let scenario = scenarios::rivals::all();
            return each(&host, chips, |host| {
                match scenario.runs_on(host.chip, true) {
                    true => bench_amdgpu(host, &args.accel, &scenario, show, &out),
                    false => {
                        println!(
                            "{}: amdgpu.ko and the module can't follow each other.",
                            host.chip
                        );
                        Ok(true)
                    }
                }
            });
        }
        What::Mutants(wanted) => {
            let suite = scenarios::all();
            let accel = prepare(&host, &args.accel, &suite)?;
            let jobs = args.jobs.unwrap_or_else(suite::usual_jobs);
            let chips = Chip::tested(&args.chip)?;
            return mutants::run(&host, (chips, accel, jobs), &suite, &wanted);
        }
        What::Omissions {
            filter,
            list,
            table,
        } => {
            let mut suite = scenarios::all();
            suite.push(scenarios::demo());
            let accel = prepare(&host, &args.accel, &suite)?;
            let jobs = args.jobs.unwrap_or_else(suite::usual_jobs);
            let lists = (list.as_path(), table.as_path());
            return omissions::run(&host, (chips, accel, jobs), lists, (&suite, &filter));
        }
        What::Rocm {
            filter,
            stock,
            root,
            programs,
        } => {
            let rocm = Rocm { root, programs };
            let show = show(Show::Programs);
            return each(&host, chips, |host| {
                let mut suite = match stock {
                    true => rocm.stock(host.chip),
                    false => rocm.all(host.chip),
                };
                choose(&mut suite, &filter)?;
                test(
                    host,
                    std::slice::from_ref(host.chip),
                    &args.accel,
                    &suite,
                    show,
                    (args.jobs, Share::WHOLE),
                )
            });
        }
        What::RocmTrace { root, programs } => {
            let scenario = Rocm { root, programs }.trace();
            let show = show(Show::Nothing);
            return each(&host, chips, |host| {
                rocm_trace(host, &args.accel, &scenario, show)
            });
        }
        What::Run {
            steps,
            includes,
            gpus,
        } => {
            let plan = steps
                .iter()
                .map(|s| Step::parse(s))
                .collect::<Result<Vec<_>>>()?;
            vec![Scenario {
                plan,
                includes,
                gpus,
                ..Scenario::new("run", "a plan of your own")
            }]
        }
        What::Shell { includes, gpus } => {
            let mut scenario = scenarios::shell(terminal::size());
            scenario.includes.extend(includes);
            scenario.gpus = gpus;
            let accel = prepare(&host, &args.accel, std::slice::from_ref(&scenario))?;
            return interactive::run(&host, accel, &scenario);
        }
        What::Gdb { args: further } => {
            let wanted = !gdb::kernel_symbols(&host).exists();
            let scenario = gdb::scenario(scenarios::shell(terminal::size()), wanted);
            let accel = prepare(&host, &args.accel, std::slice::from_ref(&scenario))?;
            return gdb::run(&host, accel, &scenario, &further);
        }
        What::Test {
            filter,
            exact,
            list,
            long,
            share,
        } => {
            let mut suite = if long {
                scenarios::long()
            } else {
                scenarios::all()
            };
            if let Some(leaking) = &args.kmemleak {
                scenarios::debug::adapt(&mut suite, leaking);
            }
            if exact {
                suite.retain(|s| filter.iter().any(|name| name == s.name));
            }
            choose(&mut suite, &filter)?;
            if list {
                suite
                    .iter()
                    .for_each(|s| println!("{:28} {}", s.name, s.about));
                return Ok(true);
            }
            let chips = Chip::tested(&args.chip)?;
            return test(
                &host,
                chips,
                &args.accel,
                &suite,
                show(Show::Nothing),
                (args.jobs, share),
            );
        }
    };
    if args.kmemleak.is_some() {
        suite.iter_mut().for_each(scenarios::debug::check_for_leaks);
    }
    test(
        &host,
        std::slice::from_ref(chip),
        &args.accel,
        &suite,
        show(Show::Programs),
        (args.jobs, Share::WHOLE),
    )
}

/// Keeps the scenarios with one of these in their name; all, if there is none.
fn choose(suite: &mut Vec<Scenario>, parts: &[String]) -> Result<()> {
    for part in parts {
        let mut names = suite.iter().map(|s| s.name);
        ensure!(
            names.any(|name| name.contains(part)),
            "no scenario has '{part}' in its name"
        );
    }
    suite.retain(|s| parts.is_empty() || parts.iter().any(|part| s.name.contains(part)));
    Ok(())
}

/// Runs `what` for each chip, and returns whether all of them were good.
fn each(host: &Host, chips: &'static [Chip], what: impl Fn(&Host) -> Result<bool>) -> Result<bool> {
    let mut good = true;
    for (chip, n) in chips.iter().zip(1..) {
        good &= what(&host.with(chip))?;
        if n < chips.len() {
            println!();
        }
    }
    Ok(good)
}

/// Check the host and build what the scenarios need.
fn prepare(host: &Host, accel: &str, suite: &[Scenario]) -> Result<Accel> {
    let device = suite.iter().any(|s| s.gpus > 0);
    host.check(device)?;
    guest::build_programs(host, suite)?;
    if device {
        emulator::build(host)?;
    }
    Accel::choose(host, accel)
}

fn demo(host: &Host, accel: &str, scenario: &Scenario, show: Show) -> Result<bool> {
    let Some((outcome, accel)) = one(host, accel, scenario, show)? else {
        return Ok(false);
    };
    let story = Story::of(&outcome).map_err(|e| anyhow!(e))?;
    let kernel = host.kernel.file_name().unwrap_or_default();
    println!(
        "One vector addition of 1,048,576 floats on the emulated {} in QEMU ({accel}),\n{}. '=': \
         both sides have the same value.",
        host.chip,
        kernel.to_string_lossy()
    );
    print!("{story}");
    let differences = story.differences();
    println!();
    differences.iter().for_each(|d| println!("DIFFERS {d}"));
    println!("logs: {}", shown(&outcome.logs));
    println!(
        "{}: {} values compared, {} differ; verified 1048576/1048576; 0 system calls; {:.1} s",
        host.chip,
        story.compared(),
        differences.len(),
        outcome.took.as_secs_f32()
    );
    Ok(differences.is_empty())
}

fn bench(host: &Host, accel: &str, show: Show, parts: &[&str], out: Option<&Path>) -> Result<bool> {
    if parts.contains(&scenarios::STAGES) && !stages(host, accel, show)? {
        return Ok(false);
    }
    let parts: Vec<&str> = parts
        .iter()
        .copied()
        .filter(|part| *part != scenarios::STAGES)
        .collect();
    if parts.is_empty() {
        return Ok(true);
    }
    let parts = &parts;
    let scenario = scenarios::bench(parts);
    let Some((outcome, accel)) = one(host, accel, &scenario, show)? else {
        return Ok(false);
    };
    if parts.contains(&scenarios::PATHS) {
        let table = Table::of(&outcome.output, accel).map_err(|e| anyhow!(e))?;
        println!("On the emulated {}:", host.chip);
        print!("{table}");
    }
    if let Some(folder) = out {
        let costs = Costs::of(&outcome.output).map_err(|e| anyhow!(e))?;
        let json = costs.json(host.chip.name, &accel.to_string());
        write_figures(folder, host, &json)?;
    }
    Ok(true)
}

/// Where the time of a dispatch goes.
fn stages(host: &Host, accel: &str, show: Show) -> Result<bool> {
    let scenario = scenarios::stages();
    let Some((outcome, accel)) = one(host, accel, &scenario, show)? else {
        return Ok(false);
    };
    let trace = Trace::read(&outcome.logs).map_err(|e| anyhow!(e))?;
    let stages = Stages::of(&outcome.output, &trace).map_err(|e| anyhow!(e))?;
    println!("On the emulated {}:", host.chip);
    print!("{stages}");
    let folder = Path::new("target/bench/stages");
    write_figures(
        folder,
        host,
        &stages.json(host.chip.name, &accel.to_string()),
    )?;
    Ok(true)
}

fn bench_amdgpu(
    host: &Host,
    accel: &str,
    scenario: &Scenario,
    show: Show,
    out: &Path,
) -> Result<bool> {
    let Some((outcome, accel)) = one(host, accel, scenario, show)? else {
        return Ok(false);
    };
    let rivals = Rivals::of(&outcome.output).map_err(|e| anyhow!(e))?;
    write_figures(out, host, &rivals.json(host.chip.name, &accel.to_string()))?;
    Ok(true)
}

/// Writes a chip's figures into a folder.
fn write_figures(folder: &Path, host: &Host, json: &serde_json::Value) -> Result<()> {
    std::fs::create_dir_all(folder)?;
    let file = folder.join(host.chip.name).with_extension("json");
    std::fs::write(file, format!("{json:#}\n"))?;
    Ok(())
}

fn rocm_trace(host: &Host, accel: &str, scenario: &Scenario, show: Show) -> Result<bool> {
    let Some((outcome, accel)) = one(host, accel, scenario, show)? else {
        return Ok(false);
    };
    let flow = Flow::of(&outcome, VECTORADD_WORKGROUPS).map_err(|e| anyhow!(e))?;
    println!(
        "One vector addition of HIP on the emulated {} in QEMU ({accel}):",
        host.chip
    );
    print!("{flow}");
    let broken = flow.broken();
    broken.iter().for_each(|b| println!("WRONG {b}"));
    println!("logs: {}", shown(&outcome.logs));
    Ok(broken.is_empty())
}

/// Run one scenario; `None` if it was bad, which has been printed then.
fn one(
    host: &Host,
    accel: &str,
    scenario: &Scenario,
    show: Show,
) -> Result<Option<(Outcome, Accel)>> {
    let accel = prepare(host, accel, std::slice::from_ref(scenario))?;
    eprintln!(
        "booting the stock kernel with the emulated {} ...",
        host.chip
    );
    let outcome = run::run(host, accel, scenario, show, &mut |line| println!("{line}"))?;
    let verdict = outcome.judge(scenario);
    if verdict.failed == 0 {
        return Ok(Some((outcome, accel)));
    }
    println!("FAIL {}:", scenario.name);
    verdict.reasons.iter().for_each(|r| println!("     {r}"));
    println!("{}", emulator::tail(&outcome.logs.join("log"), 20));
    Ok(None)
}

/// Runs the scenarios on each chip; those without a device once.
fn test(
    host: &Host,
    chips: &'static [Chip],
    accel: &str,
    suite: &[Scenario],
    show: Show,
    (jobs, share): (Option<NonZeroUsize>, Share),
) -> Result<bool> {
    let options = Options {
        accel: prepare(host, accel, suite)?,
        show,
        jobs: jobs.unwrap_or_else(suite::usual_jobs),
        share,
    };
    let count = suite::run(host, chips, suite, options);
    // A filter that leaves nothing for the chip is a mistake, not a success.
    ensure!(count.all() > 0, "no such scenario runs on this chip");
    Ok(count.failed == 0)
}
