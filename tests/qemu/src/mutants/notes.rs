// SPDX-License-Identifier: MIT OR Apache-2.0
//! What earlier runs of mutants found out: a file beside the module with mutants, a line for each scenario without a
//! mutant and for each mutant that was judged. So a run that was interrupted goes on, and a larger sample runs only
//! what is new. A file holds for one build of the module, the emulator, the runner and the guest's programs.

use crate::emulator;
use crate::guest;
use crate::host::Host;
use crate::mutants::Places;
use anyhow::{Context, Result};
use std::collections::hash_map::DefaultHasher;
use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

/// A scenario without a mutant: how long it took, and which places it came to, met, and saw fail.
type Ran = (Duration, Places);

/// What is known, and the file to which more is added.
pub(super) struct Notes {
    file: Mutex<File>,
    /// By scenario and chip.
    bases: BTreeMap<(String, String), Ran>,
    /// By number: which scenario notices it, and by what; `None`: none does.
    verdicts: BTreeMap<usize, Option<String>>,
}

impl Notes {
    /// Those of these builds. Those of others are removed.
    ///
    /// # Errors
    /// A build is not there, or the file can't be written.
    pub(super) fn of(host: &Host) -> Result<Self> {
        let mut builds = vec![
            host.module.clone(),
            emulator::binary(host),
            env::current_exe()?,
        ];
        let mut programs: Vec<PathBuf> = (fs::read_dir(guest::programs_dir(host))?)
            .filter_map(|entry| Some(entry.ok()?.path()))
            .filter(|path| path.is_file() && path.extension().is_none())
            .collect();
        programs.sort();
        builds.append(&mut programs);
        let mut hash = DefaultHasher::new();
        for build in &builds {
            let bytes = fs::read(build).with_context(|| build.display().to_string())?;
            (build, bytes).hash(&mut hash);
        }
        let folder = host.build.join("mutants/notes");
        fs::create_dir_all(&folder)?;
        let path = folder.join(format!("{:016x}", hash.finish()));
        for entry in fs::read_dir(&folder)?.filter_map(Result::ok) {
            if entry.path() != path {
                fs::remove_file(entry.path())?;
            }
        }
        let text = fs::read_to_string(&path).unwrap_or_default();
        let file = OpenOptions::new().create(true).append(true).open(&path)?;
        Ok(Self::read(file, &text))
    }

    /// A line that was cut short says nothing.
    fn read(file: File, text: &str) -> Self {
        let (mut bases, mut verdicts) = (BTreeMap::new(), BTreeMap::new());
        let whole = text.rsplit_once('\n').map_or("", |(whole, _)| whole);
        for line in whole.lines() {
            match line.split_once('\t') {
                Some(("base", rest)) => {
                    let parts: Vec<&str> = rest.splitn(6, '\t').collect();
                    let [scenario, chip, took, come_to, met, failed] = parts[..] else {
                        continue;
                    };
                    let took = Duration::from_millis(took.parse().unwrap_or(0));
                    let [come_to, met, failed] = [come_to, met, failed].map(|numbers| {
                        let numbers = numbers.split(' ');
                        numbers.filter_map(|n| n.parse().ok()).collect()
                    });
                    let places = Places {
                        come_to,
                        met,
                        failed,
                    };
                    bases.insert((scenario.to_owned(), chip.to_owned()), (took, places));
                }
                Some(("caught", rest)) => {
                    let Some((number, how)) = rest.split_once('\t') else {
                        continue;
                    };
                    verdicts.extend(number.parse().ok().map(|n| (n, Some(how.to_owned()))));
                }
                Some(("missed", number)) => {
                    verdicts.extend(number.parse().ok().map(|n| (n, None)));
                }
                _ => {}
            }
        }
        Self {
            file: Mutex::new(file),
            bases,
            verdicts,
        }
    }

    fn add(&self, line: &str) {
        let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
        // What can't be noted is found out again.
        let _ = file.write_all(format!("{line}\n").as_bytes());
    }

    pub(super) fn base(&self, scenario: &str, chip: &str) -> Option<Ran> {
        let at = (scenario.to_owned(), chip.to_owned());
        self.bases.get(&at).cloned()
    }

    pub(super) fn ran(&self, scenario: &str, chip: &str, took: Duration, places: &Places) {
        let sets = [&places.come_to, &places.met, &places.failed];
        let [come_to, met, failed] = sets.map(|numbers| {
            let numbers: Vec<String> = numbers.iter().map(usize::to_string).collect();
            numbers.join(" ")
        });
        let took = took.as_millis();
        self.add(&format!(
            "base\t{scenario}\t{chip}\t{took}\t{come_to}\t{met}\t{failed}"
        ));
    }

    /// How a mutant was judged before, if it was.
    pub(super) fn verdict(&self, number: usize) -> Option<Option<String>> {
        self.verdicts.get(&number).cloned()
    }

    pub(super) fn judged(&self, number: usize, how: Option<&str>) {
        match how {
            Some(how) => self.add(&format!("caught\t{number}\t{how}")),
            None => self.add(&format!("missed\t{number}")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_known_again() {
        let path = env::temp_dir().join(format!("rkfd-notes-{}", std::process::id()));
        let file = || OpenOptions::new().create(true).append(true).open(&path);
        let notes = Notes::read(file().unwrap(), "");
        let places = Places {
            come_to: [3, 5, 70].into(),
            met: [3, 70].into(),
            failed: [70].into(),
        };
        notes.ran("used", "navi48", Duration::from_millis(1500), &places);
        notes.judged(3, Some("used on navi48: a\tviolation"));
        notes.judged(70, None);
        let mut text = fs::read_to_string(&path).unwrap();
        // The run ended here.
        text.push_str("missed\t7");
        let notes = Notes::read(file().unwrap(), &text);
        fs::remove_file(&path).unwrap();
        let (took, read) = notes.base("used", "navi48").unwrap();
        assert_eq!(took, Duration::from_millis(1500));
        assert_eq!((read.come_to, read.met), (places.come_to, places.met));
        assert_eq!(read.failed, places.failed);
        assert!(notes.base("used", "mi308x").is_none());
        let how = notes.verdict(3).unwrap();
        assert_eq!(how.as_deref(), Some("used on navi48: a\tviolation"));
        assert_eq!(notes.verdict(70), Some(None));
        assert_eq!(notes.verdict(7), None);
    }
}
