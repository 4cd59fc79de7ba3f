// SPDX-License-Identifier: MIT OR Apache-2.0
//! The "newc" archive that the kernel unpacks as its first root file system.

use std::io::{self, Write};

const DIR: u32 = 0o040_000;
const FILE: u32 = 0o100_000;
const LINK: u32 = 0o120_000;
const CHAR: u32 = 0o020_000;

/// Writes an archive entry by entry. Parent folders are made as needed.
pub struct Archive<W: Write> {
    out: W,
    inode: u32,
    made: Vec<String>,
}

impl<W: Write> Archive<W> {
    /// An archive that is written to `out`.
    pub fn new(out: W) -> Self {
        Archive {
            out,
            inode: 0,
            made: Vec::new(),
        }
    }

    /// A regular file.
    pub fn file(&mut self, path: &str, mode: u32, data: &[u8]) -> io::Result<()> {
        self.entry(path, FILE | mode, (0, 0), data)
    }

    /// A symbolic link.
    pub fn link(&mut self, path: &str, target: &str) -> io::Result<()> {
        self.entry(path, LINK | 0o777, (0, 0), target.as_bytes())
    }

    /// A folder.
    pub fn dir(&mut self, path: &str) -> io::Result<()> {
        let path = path.trim_matches('/');
        if path.is_empty() || self.made.iter().any(|m| m == path) {
            return Ok(());
        }
        self.entry(path, DIR | 0o755, (0, 0), &[])?;
        self.made.push(path.into());
        Ok(())
    }

    /// A character device.
    pub fn device(&mut self, path: &str, mode: u32, major: u32, minor: u32) -> io::Result<()> {
        self.entry(path, CHAR | mode, (major, minor), &[])
    }

    /// The end mark; gives the writer back.
    pub fn finish(mut self) -> io::Result<W> {
        self.raw("TRAILER!!!", 0, (0, 0), &[])?;
        self.out.flush()?;
        Ok(self.out)
    }

    fn entry(&mut self, path: &str, mode: u32, rdev: (u32, u32), data: &[u8]) -> io::Result<()> {
        let path = path.trim_matches('/');
        if let Some((parent, _)) = path.rsplit_once('/') {
            self.dir(parent)?;
        }
        self.inode += 1;
        self.raw(path, mode, rdev, data)
    }

    fn raw(&mut self, path: &str, mode: u32, rdev: (u32, u32), data: &[u8]) -> io::Result<()> {
        let too_long = || io::Error::other(format!("{path} is too long for the archive"));
        let size = u32::try_from(data.len()).map_err(|_| too_long())?;
        let name_size = u32::try_from(path.len() + 1).map_err(|_| too_long())?;
        let links = if mode & DIR == DIR { 2 } else { 1 };
        // magic ino mode uid gid nlink mtime filesize dev(2) rdev(2) namesize check
        let fields = [
            self.inode, mode, 0, 0, links, 0, size, 0, 0, rdev.0, rdev.1, name_size, 0,
        ];
        let mut head = String::from("070701");
        for field in fields {
            head.push_str(&format!("{field:08x}"));
        }
        head.push_str(path);
        head.push('\0');
        self.padded(head.as_bytes())?;
        self.padded(data)
    }

    fn padded(&mut self, bytes: &[u8]) -> io::Result<()> {
        self.out.write_all(bytes)?;
        let pad = bytes.len().next_multiple_of(4) - bytes.len();
        self.out.write_all(&[0; 3][..pad])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Command, Stdio};

    fn sample() -> Vec<u8> {
        let mut a = Archive::new(Vec::new());
        a.file("/init", 0o755, b"hello").unwrap();
        a.file("/etc/deep/plan", 0o644, b"").unwrap();
        a.link("/bin/sh", "busybox").unwrap();
        a.device("/dev/console", 0o600, 5, 1).unwrap();
        a.finish().unwrap()
    }

    #[test]
    fn entries_are_aligned_and_ended() {
        let bytes = sample();
        assert_eq!(bytes.len() % 4, 0);
        assert!(bytes.starts_with(b"070701"));
        let text = String::from_utf8_lossy(&bytes);
        assert_eq!(
            text.matches("070701").count(),
            9,
            "4 entries, 4 folders, 1 trailer"
        );
        assert!(text.contains("TRAILER!!!"));
    }

    /// The real cpio is the referee, where it is installed.
    #[test]
    fn cpio_lists_it() {
        let Ok(mut child) = Command::new("cpio")
            .args(["-itv", "--quiet"])
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
        else {
            panic!("cpio is not installed: run the tests in the Debian root (make test)");
        };
        child.stdin.take().unwrap().write_all(&sample()).unwrap();
        let out = child.wait_with_output().unwrap();
        let list = String::from_utf8_lossy(&out.stdout);
        assert!(out.status.success());
        assert!(list.contains("sh -> busybox"), "{list}");
        assert!(
            list.lines()
                .any(|l| l.starts_with("crw-------") && l.contains("5,   1")),
            "{list}"
        );
        assert!(
            list.lines()
                .any(|l| l.starts_with("-rwxr-xr-x") && l.ends_with("init")),
            "{list}"
        );
    }
}
