// SPDX-License-Identifier: MIT OR Apache-2.0

//! The language of rules by which the device misbehaves, and the commands that install them.

use rkfd_emulator::rules::{answer, Rules};

/// A text either is a rule, is listed and can be installed again, or is refused with a reason, and
/// changes nothing.
pub fn rules(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    let rules = Rules::none();
    for line in text.lines() {
        assert!(!answer(&rules, line).is_empty());
    }
    let rules = Rules::none();
    match rules.add(&text) {
        Err(why) => {
            assert!(!why.is_empty());
            assert!(rules.list().is_empty());
        }
        Ok(number) => {
            let listed = rules.list();
            assert_eq!(listed.len(), 1);
            assert!(listed.iter().all(|line| line.ends_with(text.trim())));
            assert!(rules.add(text.trim()).is_ok());
            assert_eq!(rules.remove(Some(number)), 1);
            assert_eq!(rules.list().len(), 1);
        }
    }
}
