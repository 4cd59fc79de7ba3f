// SPDX-License-Identifier: MIT OR Apache-2.0

//! Reading a rule.
//!
//! ```text
//! rule   = when point { "of" key number } ":" effect [ "from now on" ] [ "until reset" ]
//! when   = "on" | "every" | "at the" nth | "from the" nth | "every" nth | "at"
//! point  = [ "KIQ" | "HIQ" | "MES" ] ( "packet" | "frame" | NAME ) | COMMAND
//!        | "register" NAME | "read of" NAME | "write of" NAME | one of the kinds of events
//! nth    = "1st" | "2nd" | "3rd" | "4th" ...
//! number = decimal, or hexadecimal with "0x"
//! ```

use super::effect::{self, Effect, Given};
use super::event::{Kind, COMMANDS, KEYS, KINDS, PACKETS, RINGS};
use super::rule::{Point, Rule, When};
use std::time::Duration;

/// Rules longer than this are nobody's.
const LONGEST: usize = 400;

/// Reads a rule.
///
/// # Errors
/// What was expected, and what stands there instead.
pub fn parse(text: &str) -> Result<Rule, String> {
    if text.len() > LONGEST {
        return Err(format!("a rule of more than {LONGEST} bytes"));
    }
    let Some((head, effect)) = text.split_once(':') else {
        return Err("expected ':' between what happens and what becomes of it".into());
    };
    let mut words = Words(head.split_whitespace().collect::<Vec<_>>().into());
    let mut when = when(&mut words)?;
    let mut point = point(&mut words)?;
    while !words.is_empty() {
        words.take("of", "'of' or ':'")?;
        point.keys.push(key(&mut words)?);
    }
    let effect = effect.split_whitespace().collect::<Vec<_>>().join(" ");
    let (effect, until_reset) = match effect.strip_suffix(" until reset") {
        Some(effect) => (effect, true),
        None => (&*effect, false),
    };
    let effect = match effect.strip_suffix(" from now on") {
        Some(effect) => {
            when = match when {
                When::At(n) | When::Every(n) => When::From(n),
                When::Each | When::From(_) => when,
            };
            effect
        }
        None => effect,
    };
    let effect = read_effect(effect, &mut point.kinds)?;
    Ok(Rule {
        when,
        point,
        effect,
        until_reset,
    })
}

/// Words that are still to be read.
struct Words<'a>(std::collections::VecDeque<&'a str>);

impl<'a> Words<'a> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn peek(&self) -> &'a str {
        self.0.front().copied().unwrap_or("")
    }

    fn next(&mut self, expected: &str) -> Result<&'a str, String> {
        let word = self.0.pop_front();
        word.ok_or_else(|| format!("expected {expected}, but the rule ends"))
    }

    fn wrong<T>(&self, expected: &str) -> Result<T, String> {
        match self.peek() {
            "" => Err(format!("expected {expected}, but the rule ends")),
            word => Err(format!("expected {expected}, but found '{word}'")),
        }
    }

    fn take(&mut self, word: &str, expected: &str) -> Result<(), String> {
        match self.peek() == word {
            true => self.next(expected).map(drop),
            false => self.wrong(expected),
        }
    }

    /// Takes all the words of a phrase if they come next.
    fn phrase(&mut self, phrase: &str) -> bool {
        let there = phrase
            .split(' ')
            .enumerate()
            .all(|(n, word)| self.0.get(n) == Some(&word));
        if there {
            self.0.drain(..phrase.split(' ').count());
        }
        there
    }
}

fn when(words: &mut Words<'_>) -> Result<When, String> {
    const FIRST: &str = "'on', 'at the Nth', 'from the Nth' or 'every Nth'";
    match words.next(FIRST)? {
        "on" => Ok(When::Each),
        "at" if words.peek() != "the" => Ok(When::Each),
        "at" => {
            words.take("the", "'the'")?;
            nth(words).map(When::At)
        }
        "from" => {
            words.take("the", "'the'")?;
            nth(words).map(When::From)
        }
        "every" if ordinal(words.peek()).is_some() => nth(words).map(When::Every),
        "every" => Ok(When::Each),
        word => Err(format!("expected {FIRST}, but found '{word}'")),
    }
}

fn nth(words: &mut Words<'_>) -> Result<u64, String> {
    let Some(n) = ordinal(words.peek()) else {
        return words.wrong("a number such as 1st, 2nd, 3rd or 4th");
    };
    words.next("a number")?;
    Ok(n)
}

fn ordinal(word: &str) -> Option<u64> {
    let at = word.find(|c: char| !c.is_ascii_digit())?;
    let (digits, end) = word.split_at_checked(at)?;
    let known = matches!(end, "st" | "nd" | "rd" | "th");
    digits.parse().ok().filter(|n| known && *n > 0)
}

fn point(words: &mut Words<'_>) -> Result<Point, String> {
    let of = |kinds: &[Kind]| Point {
        kinds: kinds.to_vec(),
        ring: None,
        name: None,
        keys: Vec::new(),
    };
    for (phrase, kinds) in KINDS {
        if words.phrase(phrase) {
            return Ok(of(kinds));
        }
    }
    for (phrase, kinds) in [
        ("register", &[Kind::Read, Kind::Write][..]),
        ("read of", &[Kind::Read]),
        ("write of", &[Kind::Write]),
    ] {
        if words.phrase(phrase) {
            let name = words.next("the name of a register")?;
            let name = Some(name.into());
            return Ok(Point { name, ..of(kinds) });
        }
    }
    let command = COMMANDS.iter().find(|name| **name == words.peek());
    if let Some(name) = command {
        words.next("a command")?;
        let name = Some((*name).into());
        return Ok(Point {
            name,
            ..of(&[Kind::Command])
        });
    }
    let mut packet = of(&[Kind::Packet]);
    let ring = RINGS.iter().find(|ring| **ring == words.peek());
    if let Some(ring) = ring {
        words.next("a ring")?;
        packet.ring = Some((*ring).into());
        if matches!(words.peek(), "packet" | "frame") {
            words.next("a packet")?;
            return Ok(packet);
        }
    }
    let Some(name) = PACKETS.iter().find(|name| **name == words.peek()) else {
        let kinds: Vec<String> = KINDS
            .iter()
            .map(|(words, _)| format!("'{words}'"))
            .collect();
        return words.wrong(&format!(
            "a packet's or command's name ({}, {}), 'KIQ packet', 'HIQ packet', 'MES frame', 'register NAME', \
             'read of NAME', 'write of NAME', {}",
            PACKETS.join(", "),
            COMMANDS.join(", "),
            kinds.join(", "),
        ));
    };
    words.next("a packet")?;
    packet.name = Some((*name).into());
    Ok(packet)
}

fn key(words: &mut Words<'_>) -> Result<(&'static str, u64), String> {
    let Some(key) = KEYS.iter().find(|key| **key == words.peek()) else {
        return words.wrong(&format!("one of {}", KEYS.join(", ")));
    };
    words.next("a key")?;
    let value = words.next(&format!("the number of the {key}"))?;
    match number(value) {
        Some(value) => Ok((key, value)),
        None => Err(format!(
            "expected the number of the {key}, but found '{value}'"
        )),
    }
}

fn number(word: &str) -> Option<u64> {
    match word.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok(),
        None => word.parse().ok(),
    }
}

/// The effect that the words name. Of the kinds those stay that can have it.
fn read_effect(text: &str, kinds: &mut Vec<Kind>) -> Result<Effect, String> {
    let mut known = Vec::new();
    for (words, make, its) in effect::of(kinds) {
        if let Some(given) = fill(words, text)? {
            kinds.retain(|kind| its.contains(kind));
            return Ok(make(given));
        }
        known.push(format!("'{words}'"));
    }
    Err(format!("expected {}, but found '{text}'", known.join(", ")))
}

/// What stands in a text where the words of an effect have `N` or `T`; `None` for other words.
fn fill(words: &str, text: &str) -> Result<Option<Given>, String> {
    let mut given = Given::default();
    let mut found = text.split(' ').peekable();
    for word in words.split(' ') {
        match (word, found.next()) {
            (_, None) => return Ok(None),
            ("N", Some(value)) => {
                // Values of registers are written as they are read: in hexadecimal, with or without 0x.
                let value = match words.starts_with("read") {
                    true => u64::from_str_radix(value.trim_start_matches("0x"), 16).ok(),
                    false => number(value),
                };
                let value = value.and_then(|value| u32::try_from(value).ok());
                given.number = value.ok_or(format!(
                    "expected a number of 32 bits behind '{}'",
                    words.trim_end_matches(" N")
                ))?;
            }
            ("T", Some(value)) => {
                const EXPECTED: &str = "expected a time such as '5 s' or '20 ms' behind 'late'";
                let unit = match found.next() {
                    Some("s") => 1000,
                    Some("ms") => 1,
                    _ => return Err(EXPECTED.into()),
                };
                let ms = number(value).and_then(|value| value.checked_mul(unit));
                given.time = Duration::from_millis(ms.ok_or(EXPECTED)?);
            }
            (word, Some(other)) if word != other => return Ok(None),
            _ => {}
        }
    }
    Ok(found.next().is_none().then_some(given))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_examples_of_the_documentation_are_rules() {
        let rule = parse("at the 3rd ADD_QUEUE: no answer").unwrap();
        assert_eq!((rule.when, rule.effect), (When::At(3), Effect::NoAnswer));
        assert_eq!(rule.point.name.as_deref(), Some("ADD_QUEUE"));
        let rule = parse("on UNMAP_QUEUES of doorbell 0x1000: late 5 s").unwrap();
        assert_eq!(rule.effect, Effect::Late(Duration::from_secs(5)));
        assert_eq!(rule.point.keys, [("doorbell", 0x1000)]);
        let rule = parse("every 100th IH entry: drop").unwrap();
        assert_eq!((rule.when, rule.effect), (When::Every(100), Effect::Drop));
        let rule = parse("at register GRBM_STATUS: read ffffffff from now on").unwrap();
        assert_eq!(rule.point.kinds, [Kind::Read]);
        assert_eq!(rule.effect, Effect::Read(u32::MAX));
        let rule = parse("on read of GRBM_STATUS: read 0 from now on until reset").unwrap();
        assert!(rule.until_reset && rule.effect == Effect::Read(0));
        let rule = parse("at the 2000th any register access: surprise removal").unwrap();
        assert_eq!(rule.point.kinds, [Kind::Read, Kind::Write]);
        let rule = parse("at the 2nd read of GRBM_STATUS: read 0x10 from now on").unwrap();
        assert_eq!((rule.when, rule.effect), (When::From(2), Effect::Read(16)));
        assert_eq!(
            parse("on HIQ packet: hang").unwrap().point.ring.as_deref(),
            Some("HIQ")
        );
        assert_eq!(
            parse("on IH entry of source 181 of client 0x14: storm of 9")
                .unwrap()
                .effect,
            Effect::Storm(9)
        );
        for text in [
            "at probe: bad checksum",
            "at power-on: cold",
            "on dispatch: fault flood of 100",
            "on queue stop of queue 1: wedge",
        ] {
            parse(text).unwrap();
        }
    }

    #[test]
    fn an_error_names_what_was_expected() {
        for (text, expected) in [
            ("", "expected ':'"),
            ("ADD_QUEUE: drop", "expected 'on', 'at the Nth', 'from the Nth' or 'every Nth', but found 'ADD_QUEUE'"),
            (": drop", "but the rule ends"),
            ("at the third ADD_QUEUE: drop", "expected a number such as 1st, 2nd, 3rd or 4th, but found 'third'"),
            ("at the 0th ADD_QUEUE: drop", "but found '0th'"),
            ("on ADD_QUEUES: drop", "expected a packet's or command's name (SET_RESOURCES, "),
            ("on: drop", "but the rule ends"),
            ("on ADD_QUEUE doorbell 4: drop", "expected 'of' or ':', but found 'doorbell'"),
            ("on ADD_QUEUE of bell 4: drop", "expected one of doorbell, queue, pasid"),
            ("on ADD_QUEUE of doorbell four: drop", "expected the number of the doorbell, but found 'four'"),
            ("on ADD_QUEUE of doorbell: drop", "expected the number of the doorbell, but the rule ends"),
            ("on ADD_QUEUE: storm of 5", "expected 'no answer', 'hang', 'late T', "),
            ("on ADD_QUEUE:", "but found ''"),
            ("on ADD_QUEUE: late five s", "expected a time such as '5 s' or '20 ms'"),
            ("on ADD_QUEUE: late 5", "expected a time such as '5 s' or '20 ms'"),
            ("on IH entry: storm of many", "expected a number of 32 bits behind 'storm of'"),
            ("on IH entry: storm of 4294967296", "expected a number of 32 bits"),
            ("on register GRBM_STATUS: hang", "expected 'garbage', 'drop', 'read N', 'pause', 'surprise removal', 'death', but found 'hang'"),
            ("on read of: garbage", "expected the name of a register, but the rule ends"),
            ("at probe: drop", "expected 'bad signature', 'bad checksum'"),
        ] {
            let error = parse(text).unwrap_err();
            assert!(error.contains(expected), "'{text}': {error}");
        }
    }

    #[test]
    fn nothing_that_is_written_makes_it_panic() {
        let rule = "every 100th IH entry of source 0x10 of pasid 7: storm of 4 from now on";
        for start in 0..rule.len() {
            for end in start..rule.len() {
                let _ = parse(&rule[start..end]);
                let _ = parse(&format!("{}é{}", &rule[..start], &rule[end..]));
            }
        }
        for words in [
            "é: é",
            "at the 99999999999999999999th dispatch: hang",
            "on dispatch: late 99999999999999999 s",
            "every 1é dispatch: hang",
        ] {
            assert!(parse(words).is_err(), "{words}");
        }
        assert!(parse(&"x".repeat(10_000)).is_err());
    }
}
