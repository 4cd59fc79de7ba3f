// SPDX-License-Identifier: MIT OR Apache-2.0
//! What the program printed about its own run: requests, mappings, the packet and the doorbell.

use crate::trace::hex;

/// A request to the driver.
#[derive(Debug, Default)]
pub struct Request {
    /// Its name.
    pub name: String,
    /// Its error, if it failed.
    pub errno: Option<String>,
    /// Fields: name, value given, value returned.
    pub fields: Vec<(String, u64, u64)>,
}

/// A mapping.
#[derive(Debug, Default)]
pub struct Map {
    /// Of what, such as `doorbells of /dev/kfd`.
    pub what: String,
    /// The offset given to `mmap`.
    pub offset: u64,
    /// Bytes.
    pub size: u64,
    /// Where.
    pub address: u64,
}

/// Everything, in order.
#[derive(Debug, Default)]
pub struct Program {
    /// Requests.
    pub requests: Vec<Request>,
    /// Mappings.
    pub maps: Vec<Map>,
    /// The packet's address and words.
    pub packet: Option<(u64, Vec<u32>)>,
    /// The doorbell's byte in the slice, and the value stored.
    pub doorbell: Option<(u64, u64)>,
    /// All lines.
    pub lines: Vec<String>,
}

impl Program {
    /// Read what was printed, up to another program's output.
    pub fn read(output: &[String]) -> Self {
        let mut program = Program::default();
        for line in output {
            program.line(line);
        }
        program.lines = output.to_vec();
        program
    }

    fn line(&mut self, line: &str) {
        let words: Vec<&str> = line
            .split([' ', ',', ':'])
            .filter(|w| !w.is_empty())
            .collect();
        match words[..] {
            ["ioctl", name, _, ref rest @ ..] => self.requests.push(Request {
                name: name.trim_start_matches("AMDKFD_IOC_").into(),
                errno: rest.last().map(|e| e.to_string()),
                fields: Vec::new(),
            }),
            [name, "=", given, ref rest @ ..] if line.starts_with("    ") => {
                let Some(given) = hex(given) else { return };
                let returned = match rest {
                    ["->", returned] => hex(returned).unwrap_or(given),
                    _ => given,
                };
                if let Some(request) = self.requests.last_mut() {
                    request.fields.push((name.into(), given, returned));
                }
            }
            ["mmap", ref what @ .., "offset", offset, size, "bytes", "at", address] => {
                self.maps.push(Map {
                    what: what.join(" "),
                    offset: hex(offset).unwrap_or(0),
                    size: size.parse().unwrap_or(0),
                    address: hex(address).unwrap_or(0),
                });
            }
            ["packet", _, "of", "queue", _, "at", address] => {
                self.packet = hex(address).map(|address| (address, Vec::new()));
            }
            ["doorbell", "of", "queue", _, "byte", byte, "of", "the", "slice", value] => {
                self.doorbell = hex(byte).zip(hex(value));
            }
            // "[ 3] 0x00100000  grid size x"
            _ if line.trim_start().starts_with('[') => {
                let value = words.iter().find_map(|w| hex(w));
                if let (Some((_, words)), Some(value)) = (&mut self.packet, value) {
                    words.push(value as u32);
                }
            }
            _ => {}
        }
    }

    /// The first request of a name that succeeded.
    pub fn request(&self, name: &str) -> Result<&Request, String> {
        let mut all = self.requests.iter();
        all.find(|r| r.name == name && r.errno.is_none())
            .ok_or_else(|| format!("the program made no {name}"))
    }

    /// The last request of a name that succeeded.
    pub fn last_request(&self, name: &str) -> Result<&Request, String> {
        let mut all = self.requests.iter();
        all.rfind(|r| r.name == name && r.errno.is_none())
            .ok_or_else(|| format!("the program made no {name}"))
    }

    /// How often a request was made.
    pub fn count(&self, name: &str) -> usize {
        self.requests.iter().filter(|r| r.name == name).count()
    }

    /// The word after a text in the first line that has both, such as a printed address.
    pub fn after(&self, text: &str) -> Result<&str, String> {
        let mut found = self.lines.iter().filter_map(|l| l.split_once(text));
        let word = found.find_map(|(_, rest)| rest.split([',', ' ']).find(|w| !w.is_empty()));
        word.ok_or_else(|| format!("the program did not print '{text}'"))
    }
}

impl Request {
    /// A field's value after the request.
    pub fn get(&self, field: &str) -> Result<u64, String> {
        let found = self.fields.iter().find(|f| f.0 == field);
        found
            .map(|f| f.2)
            .ok_or_else(|| format!("{} has no field {field}", self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_example_prints() {
        let text = "ioctl AMDKFD_IOC_CREATE_QUEUE (0xc0604b02)
    ring_base_address = 0x7f834000c000
    doorbell_offset = 0x0 -> 0xf60e400000000000
ioctl AMDKFD_IOC_DESTROY_QUEUE (0xc0084b03) failed, errno 62
mmap doorbells of /dev/kfd: offset 0xf60e400000000000, 8192 bytes at 0x7f833fff8000
packet 0 of queue 0, at 0x7f834000c000:
    [ 0] 0x00011502  header, dimensions
    [15] 0x00007f83  completion signal, high
doorbell of queue 0, byte 0x8 of the slice: 0x3
signal at 0x7f833fffa040, event 1, before: 1";
        let lines: Vec<String> = text.lines().map(String::from).collect();
        let program = Program::read(&lines);
        let create = program.request("CREATE_QUEUE").unwrap();
        assert_eq!(create.get("ring_base_address"), Ok(0x7f83_4000_c000));
        assert_eq!(create.get("doorbell_offset"), Ok(0xf60e_4000_0000_0000));
        assert!(program.request("DESTROY_QUEUE").is_err());
        assert_eq!(program.maps[0].what, "doorbells of /dev/kfd");
        assert_eq!(program.maps[0].size, 8192);
        assert_eq!(
            program.packet,
            Some((0x7f83_4000_c000, vec![0x11502, 0x7f83]))
        );
        assert_eq!(program.doorbell, Some((8, 3)));
        assert_eq!(program.after("signal at "), Ok("0x7f833fffa040"));
        assert_eq!(program.after("event "), Ok("1"));
    }
}
