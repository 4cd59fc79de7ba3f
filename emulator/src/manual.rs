// SPDX-License-Identifier: MIT OR Apache-2.0

//! `rkfd-emulator --manual`: the command's manual page, and how shells complete it.

use clap::Command;
use clap_complete::Shell;
use std::io;
use std::path::Path;

/// The shells that learn to complete the command.
const SHELLS: [Shell; 3] = [Shell::Bash, Shell::Zsh, Shell::Fish];

/// Writes `rkfd-emulator.1`, and a file for each shell.
pub fn write(mut command: Command, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    clap_mangen::generate_to(command.clone(), folder)?;
    let name = command.get_name().to_owned();
    for shell in SHELLS {
        clap_complete::generate_to(shell, &mut command, &name, folder)?;
    }
    Ok(())
}
