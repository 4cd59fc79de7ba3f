// SPDX-License-Identifier: MIT OR Apache-2.0

//! What goes into the archive, and what should and doesn't.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::path::Path;

use super::private::Private;
use crate::machine::Machine;

/// The folder that the archive unpacks into.
const FOLDER: &str = "rkfd-capture";
/// The list of what is in it.
const LIST: &str = "CONTENTS";
/// Bytes of a file that are kept.
const MOST: u64 = 32 << 20;
/// Folders within folders that are looked into.
const DEPTH: usize = 8;

/// A file of the archive.
struct Member {
    path: String,
    bytes: Vec<u8>,
    /// Where it comes from.
    from: String,
}

/// What belongs into it and isn't there.
struct Missing {
    what: String,
    why: String,
    next: String,
}

/// How a file is cleaned of what is private.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Lines.
    Text,
    /// Has nothing private.
    Binary,
    /// PCI configuration space.
    Config,
}

/// All of them.
pub(super) struct Collection<'a> {
    pub(super) machine: &'a Machine,
    pub(super) private: Private,
    members: Vec<Member>,
    missing: Vec<Missing>,
}

impl<'a> Collection<'a> {
    pub(super) fn new(machine: &'a Machine, private: Private) -> Self {
        Self {
            machine,
            private,
            members: Vec::new(),
            missing: Vec::new(),
        }
    }

    /// Reads a file of the machine, at most [`MOST`] of it.
    pub(super) fn read(&self, from: impl AsRef<Path>) -> io::Result<Vec<u8>> {
        let file = File::open(self.machine.path(from))?;
        let mut bytes = Vec::new();
        file.take(MOST).read_to_end(&mut bytes)?;
        Ok(bytes)
    }

    /// Puts a file in, if there is one: whether it was. One that there is and can't be read is missing.
    pub(super) fn file(&mut self, to: String, from: impl AsRef<Path>, kind: Kind) -> bool {
        let from = from.as_ref();
        let bytes = match self.read(from) {
            Ok(bytes) => bytes,
            Err(error) => {
                if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
                    self.refused(from, &error);
                }
                return false;
            }
        };
        let bytes = match kind {
            Kind::Binary => bytes,
            Kind::Config => self.private.config(bytes),
            Kind::Text => {
                let text = String::from_utf8_lossy(&bytes);
                self.private.text(&text).into_bytes()
            }
        };
        self.put(to, bytes, format!("/{}", from.display()));
        true
    }

    /// Puts in every text file of a folder, and of those in it: whether there was any. It follows no links.
    pub(super) fn folder(&mut self, to: &str, from: impl AsRef<Path>) -> bool {
        self.folder_of(to, from.as_ref(), DEPTH)
    }

    fn folder_of(&mut self, to: &str, from: &Path, depth: usize) -> bool {
        let mut any = false;
        for name in self.machine.list(from) {
            let (from, to) = (from.join(&name), format!("{to}/{name}"));
            let Ok(about) = self.machine.path(&from).symlink_metadata() else {
                continue;
            };
            if about.is_file() {
                any |= self.file(to, from, Kind::Text);
            } else if about.is_dir() && depth > 0 {
                any |= self.folder_of(&to, &from, depth - 1);
            }
        }
        any
    }

    /// Puts in a text that was made here.
    pub(super) fn text(&mut self, to: &str, text: &str, from: &str) {
        let text = self.private.text(text);
        self.put(to.into(), text.into_bytes(), from.into());
    }

    fn put(&mut self, path: String, bytes: Vec<u8>, from: String) {
        self.members.push(Member { path, bytes, from });
    }

    /// A file that there is can't be read.
    pub(super) fn refused(&mut self, from: &Path, error: &io::Error) {
        let what = format!("/{}", from.display());
        let next = match error.kind() {
            // As amdgpu does while the card sleeps (`amdgpu_pm_get_access_if_active`).
            ErrorKind::PermissionDenied => "sudo rkfd capture, unless the card sleeps",
            _ => "dmesg may say more",
        };
        self.missing(what, error.to_string(), next);
    }

    /// Something isn't in it.
    pub(super) fn missing(
        &mut self,
        what: impl Into<String>,
        why: impl Into<String>,
        next: impl Into<String>,
    ) {
        self.missing.push(Missing {
            what: what.into(),
            why: why.into(),
            next: next.into(),
        });
    }

    /// The list that is in the archive, in which it can't be itself.
    fn contents(&self) -> String {
        let mut list = String::new();
        for Member { path, bytes, from } in &self.members {
            let from = self.private.text(from);
            // Writing into a string doesn't fail.
            let _ = writeln!(list, "{path:<52} {:>9}  {from}", bytes.len());
        }
        for Missing { what, why, next } in &self.missing {
            let (what, why) = (self.private.text(what), self.private.text(why));
            let _ = writeln!(list, "missing  {what}: {why}; next: {next}");
        }
        list
    }

    /// A line for each file: its path, its bytes, where it comes from; and one for each thing that is missing.
    pub(super) fn list(&self) -> String {
        let contents = self.contents();
        format!("{LIST:<52} {:>9}  this list\n{contents}", contents.len())
    }

    /// Writes the archive. Its files belong to nobody by name, and have no time.
    ///
    /// # Errors
    ///
    /// Those of writing.
    pub(super) fn write(&self, to: impl Write) -> io::Result<()> {
        let mut archive = tar::Builder::new(to);
        let mut append = |path: &str, bytes: &[u8]| {
            let mut header = tar::Header::new_gnu();
            header.set_size(bytes.len() as u64);
            header.set_mode(0o644);
            header.set_mtime(0);
            header.set_uid(0);
            header.set_gid(0);
            archive.append_data(&mut header, format!("{FOLDER}/{path}"), bytes)
        };
        append(LIST, self.contents().as_bytes())?;
        for Member { path, bytes, .. } in &self.members {
            append(path, bytes)?;
        }
        archive.finish()
    }
}
