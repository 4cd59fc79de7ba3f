// SPDX-License-Identifier: MIT OR Apache-2.0

//! What the command prints about itself is true.

use std::process::{Command, Output};

fn rkfd(args: &[&str]) -> Output {
    Command::new(env!("CARGO_BIN_EXE_rkfd"))
        .args(args)
        .output()
        .expect("the command starts")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).expect("text")
}

#[test]
fn the_version_names_the_command() {
    let version = text(&rkfd(&["--version"]).stdout);
    assert_eq!(version, format!("rkfd {}\n", env!("CARGO_PKG_VERSION")));
}

#[test]
fn the_lines_of_the_help_work_as_they_stand() {
    let help = text(&rkfd(&["run", "--help"]).stdout);
    let line = |start: &str| {
        let mut lines = help.lines().map(str::trim);
        lines.find(|line| line.starts_with(start)).expect(start)
    };
    // The kernel: from its first line to the brace that closes it.
    let kernel = help
        .lines()
        .skip_while(|line| !line.contains("extern \"C\""));
    let kernel: Vec<&str> = kernel.take_while(|line| !line.is_empty()).collect();
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("vadd.hip"), kernel.join("\n")).expect("a file");

    let compiled = Command::new("sh")
        .args(["-c", line("clang ")])
        .current_dir(&folder)
        .output()
        .expect("a shell");
    assert!(compiled.status.success(), "{}", text(&compiled.stderr));
    let code = std::fs::read(folder.path().join("vadd.co")).expect("a code object");
    let code = rkfd::CodeObject::parse(&code).expect("a code object that can be read");
    assert_eq!(code.target(), "gfx942");
    let kernel = &code.kernels()[0].metadata;
    let names: Vec<&str> = kernel.args.iter().map(|arg| arg.name.as_str()).collect();
    assert_eq!(names[..4], ["a", "b", "c", "n"]);

    // The line that runs it is understood: without a GPU or with one, its status is not that of a
    // wrong command line.
    let run = format!(
        "PATH={}:$PATH; {}",
        folder.path().display(),
        line("rkfd run ")
    );
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_rkfd"), folder.path().join("rkfd"))
        .expect("a link");
    let ran = Command::new("sh")
        .args(["-c", &run])
        .current_dir(&folder)
        .output()
        .expect("a shell");
    assert_ne!(ran.status.code(), Some(2), "{}", text(&ran.stderr));
}

#[test]
fn each_help_explains_the_exit_status() {
    for command in [
        &["--help"][..],
        &["info", "--help"],
        &["run", "--help"],
        &["copy", "--help"],
    ] {
        let help = text(&rkfd(command).stdout);
        assert!(help.contains("Exit status:\n  0  all"), "{help}");
    }
    assert_eq!(rkfd(&["nonsense"]).status.code(), Some(2));
}

#[test]
fn a_failure_is_one_document_of_json() {
    let failed = rkfd(&["run", "/nonexistent.co", "k", "--grid=1", "--json"]);
    assert_eq!(failed.status.code(), Some(1));
    let json: serde_json::Value = text(&failed.stdout).parse().expect("JSON");
    assert_eq!(json["error"]["status"], 1);
    let message = json["error"]["message"].as_str().expect("a message");
    assert!(message.starts_with("/nonexistent.co: "), "{message}");
    assert_eq!(text(&failed.stderr), format!("rkfd: {message}\n"));
}
