// SPDX-License-Identifier: MIT OR Apache-2.0

//! The lines of the control socket about rules: one command each, and its answer, whose last line begins with `ok` or
//! `error`.
//!
//! ```text
//! add at the 3rd ADD_QUEUE: no answer      ok 1
//! list                                     1 seen 2 done 0: at the 3rd ADD_QUEUE: no answer
//!                                          ok 1
//! remove 1                                 ok 1
//! remove all                               ok 0
//! power cycle                              ok
//! ```

use super::Rules;

/// Carries out a command; the lines of its answer.
pub fn answer(rules: &Rules, line: &str) -> Vec<String> {
    match carry_out(rules, line.trim()) {
        Ok(lines) => lines,
        Err(why) => vec![format!("error: {why}")],
    }
}

fn carry_out(rules: &Rules, line: &str) -> Result<Vec<String>, String> {
    let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
    match (word, rest.trim()) {
        ("add", text) => Ok(vec![format!("ok {}", rules.add(text)?)]),
        ("remove", "all") => Ok(vec![format!("ok {}", rules.remove(None))]),
        ("remove", number) => match number.parse() {
            Ok(number) if rules.remove(Some(number)) == 1 => Ok(vec!["ok 1".into()]),
            Ok(number) => Err(format!("there is no rule {number}")),
            Err(_) => Err(format!(
                "expected the number of a rule or 'all', but found '{number}'"
            )),
        },
        ("power", "cycle") if rules.power_cycle() => Ok(vec!["ok".into()]),
        ("power", "cycle") => Err("there is no device".into()),
        ("list", "") => {
            let mut lines = rules.list();
            lines.push(format!("ok {}", lines.len()));
            Ok(lines)
        }
        _ => Err(format!(
            "expected 'add RULE', 'remove NUMBER', 'remove all', 'list' or 'power cycle', but found '{line}'"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_an_answer() {
        let rules = Rules::none();
        for (line, expected) in [
            ("add at the 3rd ADD_QUEUE: no answer", "ok 1"),
            ("add on dispatch: hang\r\n", "ok 2"),
            ("list", "1 seen 0 done 0: at the 3rd ADD_QUEUE: no answer|2 seen 0 done 0: on dispatch: hang|ok 2"),
            ("remove 1", "ok 1"),
            ("remove 1", "error: there is no rule 1"),
            ("remove one", "error: expected the number of a rule or 'all', but found 'one'"),
            ("remove all", "ok 1"),
            ("list", "ok 0"),
            ("add", "error: expected ':' between what happens and what becomes of it"),
            ("power cycle", "error: there is no device"),
            ("", "error: expected 'add RULE', 'remove NUMBER', 'remove all', 'list' or 'power cycle', but found ''"),
            ("list all", "error: expected 'add RULE', 'remove NUMBER', 'remove all', 'list' or 'power cycle', but found 'list all'"),
        ] {
            assert_eq!(answer(&rules, line).join("|"), expected, "{line}");
        }
    }
}
