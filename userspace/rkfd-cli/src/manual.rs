// SPDX-License-Identifier: MIT OR Apache-2.0

//! `rkfd manual`: the command's manual pages, and how shells complete it.

use crate::Failure;
use clap::Command;
use clap_complete::Shell;
use std::path::Path;

/// The shells that learn to complete the command.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// Writes a manual page for the command and each of its subcommands, and a file for each shell.
pub fn write(mut command: Command, folder: &Path) -> Result<(), Failure> {
    let failed = |error| Failure::File {
        path: folder.display().to_string(),
        error,
    };
    std::fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(command.clone(), folder).map_err(failed)?;
    let name = command.get_name().to_owned();
    for shell in SHELLS {
        clap_complete::generate_to(shell, &mut command, &name, folder).map_err(failed)?;
    }
    let mut written: Vec<_> = std::fs::read_dir(folder)
        .map_err(failed)?
        .filter_map(|entry| Some(entry.ok()?.path().display().to_string()))
        .collect();
    written.sort();
    written.iter().for_each(|path| println!("{path}"));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn each_subcommand_has_a_page_and_each_shell_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let command = crate::Cli::command();
        write(command.clone(), folder.path()).unwrap();
        let read = |name: &str| std::fs::read_to_string(folder.path().join(name)).unwrap();
        let page = read("rkfd.1");
        assert!(page.contains(".SH NAME"), "{page}");
        for sub in command.get_subcommands().map(Command::get_name) {
            assert!(page.contains(&format!("rkfd\\-{sub}(1)")), "{sub}");
            assert!(
                read(&format!("rkfd-{sub}.1")).contains(".SH SYNOPSIS"),
                "{sub}"
            );
            for file in ["rkfd.bash", "_rkfd", "rkfd.fish"] {
                assert!(read(file).contains(sub), "{file}: {sub}");
            }
        }
    }
}
