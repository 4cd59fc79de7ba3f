// SPDX-License-Identifier: MIT OR Apache-2.0
//! Reads `/sys/kernel/debug/kmemleak`: the objects to which nothing points any more.

use std::fmt;

/// One unreferenced object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Leak {
    /// Its size in bytes.
    pub size: u64,
    /// Who allocated it: `comm "insmod", pid 80, jiffies 4294901234`.
    pub by: String,
    /// Where, innermost function first.
    pub trace: Vec<String>,
}

impl Leak {
    /// Was it allocated by a module, or for one? Tests load no modules but ours. A function of a
    /// loaded module carries its name, `f+0x1/0x2 [rkfd]`; of one that is gone only the address is
    /// left, while functions of the kernel itself always have names.
    pub fn is_ours(&self) -> bool {
        let of_module = |f: &String| f.ends_with(']') || f.starts_with("0x");
        self.trace.iter().any(of_module)
    }
}

impl fmt::Display for Leak {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes, {}: ", self.size, self.by)?;
        f.write_str(&self.trace.join(" < "))
    }
}

/// Every object of a listing. What does not look like one is an error: a listing that we cannot
/// read must not pass for an empty one.
pub fn parse(text: &str) -> Result<Vec<Leak>, String> {
    let mut leaks: Vec<Leak> = Vec::new();
    let mut in_trace = false;
    for line in text.lines() {
        if let Some(head) = line.strip_prefix("unreferenced object ") {
            let size = head
                .split_once("(size ")
                .and_then(|(_, s)| s.strip_suffix("):")?.parse().ok());
            leaks.push(Leak {
                size: size.ok_or_else(|| format!("no size in '{line}'"))?,
                by: String::new(),
                trace: Vec::new(),
            });
            in_trace = false;
            continue;
        }
        let Some(leak) = leaks.last_mut() else {
            return Err(format!("not a listing of kmemleak: '{line}'"));
        };
        let words = line.trim();
        if words.starts_with("comm ") {
            leak.by = words.into();
        } else if words.starts_with("backtrace") {
            in_trace = true;
        } else if in_trace && !words.is_empty() {
            leak.trace.push(words.into());
        }
    }
    Ok(leaks)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = r#"unreferenced object 0xffff888003f3a000 (size 256):
  comm "insmod", pid 80, jiffies 4294901234
  hex dump (first 32 bytes):
    5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a  ZZZZZZZZZZZZZZZZ
    5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a 5a  ZZZZZZZZZZZZZZZZ
  backtrace (crc 5af3c0de):
    kvrealloc_node_align_noprof+0x1/0x2
    0xffffffffa0002010
    do_one_initcall+0x12/0x34
unreferenced object 0xffff888003f3b000 (size 8):
  comm "swapper/0", pid 1, jiffies 4294892000
  backtrace (crc 0):
    kmalloc_noprof+0x1/0x2
"#;

    #[test]
    fn objects_of_modules_are_told_from_others() {
        let leaks = parse(LISTING).unwrap();
        assert_eq!(leaks.len(), 2);
        assert_eq!((leaks[0].size, leaks[0].trace.len()), (256, 3));
        assert!(leaks[0].is_ours() && !leaks[1].is_ours());
        assert!(leaks[1]
            .to_string()
            .starts_with("8 bytes, comm \"swapper/0\""));
        let loaded = LISTING.replace("0xffffffffa0002010", "rkfd_init+0x1/0x2 [rkfd]");
        assert!(parse(&loaded).unwrap()[0].is_ours());
    }

    #[test]
    fn only_a_listing_is_read_as_one() {
        assert_eq!(parse(""), Ok(Vec::new()));
        assert!(parse("kmemleak is disabled\n").is_err());
        assert!(parse("unreferenced object 0x1 (sighs 8):\n").is_err());
    }
}
