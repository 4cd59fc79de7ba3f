// SPDX-License-Identifier: MIT OR Apache-2.0
//! How rkfd-vm treats emulators that keep, and that break, their side of the contract. They are
//! shell scripts here, so that each way of misbehaving is one line.

use rkfd_vm::emulator::Emulator;
use rkfd_vm::host::{Host, RunDir};
use rkfd_vm::Scenario;
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// A file that any process still has open for writing cannot be executed, and a test that starts
/// its script just then inherits, for a moment, what another one is writing.
static WRITE_AND_START: Mutex<()> = Mutex::new(());

/// The script finds its arguments in $2 (chip), $4 (socket), $6 (report) and $8 (trace).
fn start(name: &str, script: &str) -> (RunDir, Result<Emulator, String>) {
    let _one_at_a_time = WRITE_AND_START.lock().unwrap_or_else(|e| e.into_inner());
    let build = Path::new(env!("CARGO_TARGET_TMPDIR")).to_path_buf();
    let dir = RunDir::new(&build, None, name).unwrap();
    let binary: PathBuf = dir.file("emulator");
    fs::write(&binary, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&binary, fs::Permissions::from_mode(0o755)).unwrap();
    let host = Host {
        cache: build.clone(),
        target: build.clone(),
        build,
        kernel: PathBuf::new(),
        image: PathBuf::new(),
        module: PathBuf::new(),
        test_modules: PathBuf::new(),
        firmware: None,
        emulator: Some(binary),
        chip: &rkfd_vm::chip::ALL[0],
        slow: 1,
    };
    let scenario = Scenario::new("x", "y").rule("on dispatch: hang");
    let all = Emulator::start_all(&host, &dir, &scenario).map_err(|e| format!("{e:#}"));
    let emulator = all.and_then(|mut all| all.pop().ok_or_else(|| "none was started".into()));
    (dir, emulator)
}

fn finish(name: &str, script: &str) -> Vec<String> {
    start(name, script)
        .1
        .unwrap_or_else(|e| panic!("{name}: {e}"))
        .finish()
}

#[test]
fn a_good_one_gets_all_options_and_is_found_good() {
    let (dir, emulator) = start(
        "good",
        r#"echo "$@" >&2; echo ready; echo 'end violations=0 faults=0' > "$6""#,
    );
    assert_eq!(emulator.unwrap().finish(), [""; 0]);
    let log = fs::read_to_string(dir.file("emulator.log")).unwrap();
    let socket = dir.file("gpu.sock").display().to_string();
    assert!(
        log.starts_with(&format!("--chip mi308x --socket {socket} --report ")),
        "{log}"
    );
    assert!(log.contains(" --rule on dispatch: hang"), "{log}");
}

#[test]
fn one_that_ends_at_once_is_an_error_with_its_last_words() {
    let (_dir, emulator) = start("early", "echo 'no such chip' >&2; exit 2");
    let error = emulator.err().expect("it was taken for ready");
    assert!(
        error.contains("ended before it was ready") && error.contains("no such chip"),
        "{error}"
    );
}

#[test]
fn violations_make_the_run_bad() {
    let wrong = finish(
        "violations",
        r#"echo ready; printf 'violation 2 bad PTE\nend violations=2 faults=0\n' > "$6"; exit 1"#,
    );
    assert_eq!(wrong.len(), 2, "the status and the violation: {wrong:?}");
    assert!(wrong.iter().any(|w| w.contains("bad PTE")), "{wrong:?}");
}

#[test]
fn a_missing_report_makes_the_run_bad() {
    let wrong = finish("no-report", "echo ready");
    assert!(
        wrong.iter().any(|w| w.contains("left no report")),
        "{wrong:?}"
    );
}

#[test]
fn a_crash_makes_the_run_bad() {
    let wrong = finish(
        "crash",
        r#"echo ready; echo 'end violations=0 faults=0' > "$6"; kill -SEGV $$"#,
    );
    assert!(wrong.iter().any(|w| w.contains("signal: 11")), "{wrong:?}");
}
