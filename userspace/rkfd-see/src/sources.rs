// SPDX-License-Identifier: MIT OR Apache-2.0

//! Where something is defined: lines of our sources and of Linux's headers, looked up when the page is made.

use anyhow::{bail, Context, Result};
use std::cell::RefCell;
use std::collections::HashMap;
use std::ops::Range;
use std::path::PathBuf;
use std::rc::Rc;

/// A line of a file; lines count from 1.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The file, from the tree's root.
    pub file: String,
    /// Which.
    pub line: usize,
}

/// A tree of sources. Files are read when they are asked for.
pub struct Tree {
    root: PathBuf,
    read: RefCell<HashMap<String, Rc<Vec<String>>>>,
}

impl Tree {
    /// The tree in this folder.
    pub fn new(root: PathBuf) -> Self {
        Self {
            root,
            read: RefCell::default(),
        }
    }

    fn lines(&self, file: &str) -> Result<Rc<Vec<String>>> {
        if let Some(lines) = self.read.borrow().get(file) {
            return Ok(lines.clone());
        }
        let path = self.root.join(file);
        let text = std::fs::read(&path).with_context(|| path.display().to_string())?;
        let text = String::from_utf8_lossy(&text);
        let lines = Rc::new(text.lines().map(String::from).collect::<Vec<_>>());
        self.read.borrow_mut().insert(file.into(), lines.clone());
        Ok(lines)
    }

    /// The first line of a file that has this text.
    ///
    /// # Errors
    ///
    /// There is none: what the page says of the sources isn't true any more.
    pub fn find(&self, file: &str, text: &str) -> Result<Line> {
        let lines = self.lines(file)?;
        let Some(at) = lines.iter().position(|line| line.contains(text)) else {
            bail!("{file} has no line with '{text}'");
        };
        Ok(Line {
            file: file.into(),
            line: at + 1,
        })
    }

    /// The lines of a type of ours in a file: `pub struct NAME`. Of a table of several generations those
    /// that concern one: `v9 = ...` and `v12 = ...` begin the others' (`hw/mqd.rs`).
    ///
    /// # Errors
    ///
    /// The file lacks it.
    pub fn ours(&self, file: &str, name: &str, not: Option<&str>) -> Result<Type> {
        let lines = self.lines(file)?;
        let declares = |line: &&String| {
            let rest = line.trim_start().strip_prefix("pub struct ");
            rest.and_then(|rest| rest.strip_prefix(name))
                .is_some_and(|rest| !rest.starts_with(is_word))
        };
        let Some(first) = lines.iter().position(|line| declares(&line)) else {
            bail!("{file} has no struct {name}");
        };
        let end = block(&lines, first).end;
        let mut ranges: Vec<_> = std::iter::once(first..end).collect();
        // The generations' own blocks follow the common one.
        let mut at = end;
        while let Some(line) = lines.get(at) {
            let Some((generation, rest)) = line.trim_start().split_once(' ') else {
                break;
            };
            if !rest.starts_with("= \"") && !rest.starts_with('[') {
                break;
            }
            let own = block(&lines, at);
            at = own.end;
            if Some(generation) != not {
                ranges.push(own);
            }
        }
        Ok(Type {
            file: file.into(),
            first,
            ranges,
            lines,
        })
    }

    /// The lines of a C type in one of some headers: `struct X {`, `union X {`, or `} X;` of a typedef.
    ///
    /// # Errors
    ///
    /// A header can't be read.
    pub fn c(&self, headers: &[&str], name: &str) -> Result<Option<Type>> {
        for file in headers {
            let lines = self.lines(file)?;
            let found = lines.iter().enumerate().find_map(|(at, line)| {
                let rest = line.trim_start().strip_prefix(name);
                let opens = |rest: &str| {
                    let next = lines.get(at + 1).map_or("", |line| line.trim());
                    rest.trim() == "{" || (rest.trim().is_empty() && next.starts_with('{'))
                };
                if rest.is_some_and(opens) {
                    return Some(at..block(&lines, at).end);
                }
                let closes = line.trim_start().strip_prefix('}')?.trim_start();
                let closes = closes.strip_prefix(name)?;
                (!closes.starts_with(is_word)).then(|| opening(&lines, at)..at + 1)
            });
            if let Some(range) = found {
                return Ok(Some(Type {
                    file: (*file).into(),
                    first: range.start,
                    ranges: vec![range],
                    lines,
                }));
            }
        }
        Ok(None)
    }
}

/// Where a type's members stand.
pub struct Type {
    file: String,
    first: usize,
    ranges: Vec<Range<usize>>,
    lines: Rc<Vec<String>>,
}

impl Type {
    /// Its first line.
    pub fn line(&self) -> Line {
        self.at(self.first)
    }

    /// The line of a member: the last name of `a.b[3]`, or the first of `a+b`.
    pub fn member(&self, path: &str) -> Option<Line> {
        let name = path.split('+').next()?.rsplit('.').next()?;
        let name = name.split('[').next().filter(|name| !name.is_empty())?;
        let mut lines = self.ranges.iter().cloned().flatten();
        let found = lines.find(|&at| at != self.first && has_word(&self.lines[at], name))?;
        Some(self.at(found))
    }

    fn at(&self, line: usize) -> Line {
        Line {
            file: self.file.clone(),
            line: line + 1,
        }
    }
}

fn is_word(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// Whether the code of a line, not its comment, has a word.
fn has_word(line: &str, word: &str) -> bool {
    let code = line.split("//").next().unwrap_or("");
    code.split(|c| !is_word(c)).any(|part| part == word)
}

/// The lines of the block that the braces from line `first` on make.
fn block(lines: &[String], first: usize) -> Range<usize> {
    let mut depth = 0;
    for (at, line) in lines.iter().enumerate().skip(first) {
        let opens = line.matches('{').count();
        depth += opens as i64 - line.matches('}').count() as i64;
        let opened = depth > 0 || opens > 0 || line.contains('}');
        if opened && depth <= 0 {
            return first..at + 1;
        }
    }
    first..lines.len()
}

/// The line of the brace that the one in line `last` closes.
fn opening(lines: &[String], last: usize) -> usize {
    let mut depth = 0;
    for at in (0..=last).rev() {
        let line = &lines[at];
        depth += line.matches('}').count() as i64 - line.matches('{').count() as i64;
        if depth <= 0 {
            return at;
        }
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tree(name: &str, text: &str) -> Tree {
        let root = std::env::temp_dir().join(format!("rkfd-see-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&root).unwrap();
        std::fs::write(root.join("x"), text).unwrap();
        Tree::new(root)
    }

    #[test]
    fn types_of_c_are_found_however_they_are_written() {
        let text = "struct other_a {\n\tint b;\n};\nstruct a\n{\n\tunion {\n\t\tint b:3; // c\n\t};\n\tint c[2];\n};\n\
                    typedef struct t_s {\n  int b;\n} t_t;\n";
        let tree = tree("c", text);
        let a = tree.c(&["x"], "struct a").unwrap().unwrap();
        assert_eq!(a.line().line, 4);
        assert_eq!(a.member("u.b").unwrap().line, 7);
        assert_eq!(a.member("c[1]+d").unwrap().line, 9);
        let t = tree.c(&["x"], "t_t").unwrap().unwrap();
        assert_eq!((t.line().line, t.member("b").unwrap().line), (11, 12));
        assert!(tree.c(&["x"], "struct absent").unwrap().is_none());
    }

    #[test]
    fn a_generation_has_its_own_members_and_the_common_ones() {
        let text = "mqds! {\n    pub struct M: [u32; 2] {\n        A: 0[1:0] = \"a\";\n    }\n    v9 = \"x\" {\n        \
                    B: 1[0:0] = \"b\";\n    }\n    v12 = \"y\" {\n        B: 1[1:1] = \"b\";\n    }\n}\n";
        let tree = tree("ours", text);
        let v9 = tree.ours("x", "M", Some("v12")).unwrap();
        let v12 = tree.ours("x", "M", Some("v9")).unwrap();
        assert_eq!(v9.member("A").unwrap().line, 3);
        assert_eq!(v9.member("B").unwrap().line, 6);
        assert_eq!(v12.member("B").unwrap().line, 9);
        assert!(tree.find("x", "absent").is_err());
    }
}
