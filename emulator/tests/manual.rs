// SPDX-License-Identifier: MIT OR Apache-2.0

//! What `rkfd-emulator --manual` writes, against the options that its help has.

use std::process::{Command, Output};

fn run(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rkfd-emulator"));
    command.args(arguments).output().expect("it starts")
}

/// The long options that `--help` shows, without their dashes.
fn options() -> Vec<String> {
    let help = run(&["--help"]).stdout;
    let help = String::from_utf8(help).expect("text");
    let lines = help.lines().map(str::trim_start);
    let options = lines
        .filter(|line| line.starts_with('-'))
        .filter_map(|line| {
            let (_, option) = line.split_once("--")?;
            option.split([' ', ',']).next().map(str::to_owned)
        });
    options.collect()
}

#[test]
fn each_option_is_in_the_page_and_in_each_shells_file() {
    let folder = std::env::temp_dir().join(format!("rkfd-manual-{}", std::process::id()));
    let path = folder.to_str().expect("a path of text");
    let output = run(&["--manual", path]);
    assert!(output.status.success(), "{output:?}");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).expect(name);
    let (page, bash) = (read("rkfd-emulator.1"), read("rkfd-emulator.bash"));
    let (zsh, fish) = (read("_rkfd-emulator"), read("rkfd-emulator.fish"));
    std::fs::remove_dir_all(&folder).expect("the folder");
    assert!(page.contains(".SH NAME") && page.contains("at the 3rd ADD_QUEUE"));
    let options = options();
    for wanted in ["socket", "chip", "rule", "control", "manual", "help"] {
        assert!(options.iter().any(|option| option == wanted), "{options:?}");
    }
    for option in options {
        let escaped = format!("\\-\\-{}", option.replace('-', "\\-"));
        assert!(page.contains(&escaped), "the page: {option}");
        assert!(bash.contains(&format!("--{option}")), "bash: {option}");
        assert!(zsh.contains(&format!("--{option}")), "zsh: {option}");
        assert!(fish.contains(&format!("-l {option}")), "fish: {option}");
    }
}

#[test]
fn a_device_needs_a_socket_and_the_manual_needs_nothing_else() {
    assert_eq!(run(&[]).status.code(), Some(2));
    assert_eq!(
        run(&["--manual", "/nowhere", "--cold"]).status.code(),
        Some(2)
    );
    // A folder that can't be made.
    assert_eq!(run(&["--manual", "/proc/none"]).status.code(), Some(2));
}
