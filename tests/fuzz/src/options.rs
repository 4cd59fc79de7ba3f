// SPDX-License-Identifier: MIT OR Apache-2.0
//! The command line.

use std::time::Duration;

/// How it is called.
pub const USAGE: &str =
    "rkfd-fuzz --calls N | --seconds N [--seed N] [--processes N] [--threads N] \
     [--corpus] [--coverage]";

/// What to do.
pub struct Options {
    /// When to stop.
    pub until: Until,
    /// What the random numbers start from.
    pub seed: u64,
    /// Processes at a time.
    pub processes: usize,
    /// Threads of each.
    pub threads: usize,
    /// First the seeds that once found something.
    pub corpus: bool,
    /// Print which of the module's blocks were reached.
    pub coverage: bool,
}

/// When a run ends.
pub enum Until {
    /// After so many calls.
    Calls(u64),
    /// After this time.
    Time(Duration),
}

/// Reads the arguments.
pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Options, String> {
    let mut options = Options {
        until: Until::Calls(0),
        seed: 1,
        processes: 3,
        threads: 3,
        corpus: false,
        coverage: false,
    };
    while let Some(word) = words.next() {
        match word.as_str() {
            "--corpus" => options.corpus = true,
            "--coverage" => options.coverage = true,
            _ => number(&mut options, &word, words.next())?,
        }
    }
    match options.until {
        Until::Calls(0) => Err("neither --calls nor --seconds is given".into()),
        _ => Ok(options),
    }
}

/// Sets an option that has a number.
fn number(options: &mut Options, word: &str, value: Option<String>) -> Result<(), String> {
    let value = value.ok_or(format!("{word} needs a number"))?;
    let value: u64 = value
        .parse()
        .map_err(|_| format!("{word}: {value} is no number"))?;
    match word {
        "--calls" => options.until = Until::Calls(value),
        "--seconds" => options.until = Until::Time(Duration::from_secs(value)),
        "--seed" => options.seed = value,
        "--processes" => options.processes = value.clamp(1, 64) as usize,
        "--threads" => options.threads = value.clamp(1, 16) as usize,
        _ => return Err(format!("{word} is not known")),
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(line: &str) -> Result<Options, String> {
        parse(line.split_whitespace().map(str::to_owned))
    }

    #[test]
    fn the_command_line_is_read_and_mistakes_are_named() {
        let options =
            of("--calls 7 --seed 3 --processes 2 --threads 1 --corpus --coverage").unwrap();
        assert!(matches!(options.until, Until::Calls(7)));
        assert_eq!(
            (options.seed, options.processes, options.threads),
            (3, 2, 1)
        );
        assert!(options.corpus && options.coverage);
        for (line, names) in [
            ("", "neither"),
            ("--calls", "needs"),
            ("--calls x", "no number"),
            ("--x 1", "not known"),
        ] {
            assert!(of(line).is_err_and(|e| e.contains(names)), "{line}");
        }
    }
}
