// SPDX-License-Identifier: MIT OR Apache-2.0

//! PCI configuration space: whether a GPU's atomic operations reach system memory.

use std::fs;
use std::path::Path;

use crate::machine::{Machine, PciGpu};

/// `PCI_STATUS` and its bit for a list of capabilities; where the list starts; the id of PCI Express
/// (`pci_regs.h`, as all that follows).
const STATUS: usize = 0x06;
const STATUS_CAP_LIST: u16 = 0x10;
const CAPABILITY_LIST: usize = 0x34;
const CAP_ID_EXP: u8 = 0x10;
/// In the capability: flags, of which bits 7 to 4 are the type of port; device capabilities 2 and control 2.
const EXP_FLAGS: usize = 0x02;
const EXP_DEVCAP2: usize = 0x24;
const EXP_DEVCTL2: usize = 0x28;
const TYPE_ROOT_PORT: u16 = 4;
const TYPE_UPSTREAM: u16 = 5;
const TYPE_DOWNSTREAM: u16 = 6;
const DEVCAP2_ATOMIC_ROUTE: u32 = 0x40;
const DEVCAP2_ATOMIC_COMP32: u32 = 0x80;
const DEVCAP2_ATOMIC_COMP64: u32 = 0x100;
const DEVCTL2_ATOMIC_EGRESS_BLOCK: u16 = 0x80;
/// Bytes of configuration space that only administrators can read past.
const PUBLIC: usize = 64;

/// Whether atomic operations over PCI Express reach system memory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum Atomics {
    /// All bridges route them, and the root port completes those of 32 and of 64 bits.
    Complete,
    /// The bridge with this address doesn't pass them on, or is a root port that doesn't complete them.
    StoppedBy(String),
    /// The GPU is behind no root port.
    NoRootPort,
    /// Only root can read what tells it.
    NotReadable,
}

/// As `pci_enable_atomic_ops_to_root` decides it.
pub(super) fn atomics(machine: &Machine, gpu: &PciGpu) -> Atomics {
    let Ok(device) = fs::canonicalize(machine.path(gpu.file(""))) else {
        return Atomics::NotReadable;
    };
    for bridge in device.ancestors().skip(1) {
        let Some(slot) = slot(bridge) else { break };
        match Port::read(bridge) {
            Read::Port(port) if !port.passes() => return Atomics::StoppedBy(slot.into()),
            Read::Port(port) if port.kind == TYPE_ROOT_PORT => return Atomics::Complete,
            Read::Port(_) | Read::Conventional => {}
            Read::Nothing => return Atomics::NotReadable,
        }
    }
    Atomics::NoRootPort
}

/// The folder's name, if it is a device's address, such as `0000:03:00.0`.
fn slot(folder: &Path) -> Option<&str> {
    let name = folder.file_name()?.to_str()?;
    let digits = |part: &str| part.chars().all(|c| c.is_ascii_hexdigit());
    let (place, function) = name.split_once('.')?;
    (place.split(':').count() == 3 && place.split(':').all(digits) && digits(function))
        .then_some(name)
}

/// A bridge's PCI Express capability.
struct Port {
    kind: u16,
    devcap2: u32,
    devctl2: u16,
}

enum Read {
    Port(Port),
    /// A bridge without the capability, which has no say.
    Conventional,
    Nothing,
}

impl Port {
    fn read(bridge: &Path) -> Read {
        let config = fs::read(bridge.join("config")).unwrap_or_default();
        let byte = |at: usize| config.get(at).copied();
        let half = |at: usize| Some(u16::from_le_bytes([byte(at)?, byte(at + 1)?]));
        if config.len() <= PUBLIC {
            return Read::Nothing;
        }
        if half(STATUS).is_none_or(|status| status & STATUS_CAP_LIST == 0) {
            return Read::Conventional;
        }
        let mut at = byte(CAPABILITY_LIST);
        // Capabilities are words, so there are no more of them; a list that is longer is a circle.
        for _ in 0..PUBLIC {
            let here = usize::from(at.unwrap_or(0) & !3);
            if here < PUBLIC {
                return Read::Conventional;
            }
            if byte(here) == Some(CAP_ID_EXP) {
                let word = |at| Some(u32::from(half(at)?) | (u32::from(half(at + 2)?) << 16));
                let port = || {
                    Some(Self {
                        kind: (half(here + EXP_FLAGS)? >> 4) & 0xf,
                        devcap2: word(here + EXP_DEVCAP2)?,
                        devctl2: half(here + EXP_DEVCTL2)?,
                    })
                };
                return port().map_or(Read::Nothing, Read::Port);
            }
            at = byte(here + 1);
        }
        Read::Conventional
    }

    fn passes(&self) -> bool {
        let completes = DEVCAP2_ATOMIC_COMP32 | DEVCAP2_ATOMIC_COMP64;
        let blocks = self.kind == TYPE_UPSTREAM && self.devctl2 & DEVCTL2_ATOMIC_EGRESS_BLOCK != 0;
        match self.kind {
            TYPE_UPSTREAM | TYPE_DOWNSTREAM => self.devcap2 & DEVCAP2_ATOMIC_ROUTE != 0 && !blocks,
            TYPE_ROOT_PORT => self.devcap2 & completes == completes,
            _ => true,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::machine::made::Made;

    /// A bridge's configuration space, its capability behind another.
    fn config(kind: u8, devcap2: u32, devctl2: u16) -> Vec<u8> {
        let mut bytes = vec![0; 256];
        bytes[STATUS] = 0x10;
        bytes[CAPABILITY_LIST] = 0x40;
        bytes[0x40..0x42].copy_from_slice(&[0x01, 0x80]);
        bytes[0x80] = CAP_ID_EXP;
        bytes[0x82] = (kind << 4) | 2;
        bytes[0xa4..0xa8].copy_from_slice(&devcap2.to_le_bytes());
        bytes[0xa8..0xaa].copy_from_slice(&devctl2.to_le_bytes());
        bytes
    }

    const ROOT: &str = "sys/devices/pci0000:00/0000:00:01.1";

    /// A GPU behind a switch.
    fn behind(root: &[u8], upstream: &[u8], downstream: &[u8]) -> Atomics {
        let (up, down) = (
            format!("{ROOT}/0000:01:00.0"),
            format!("{ROOT}/0000:01:00.0/0000:02:00.0"),
        );
        let machine = Made::new()
            .file(&format!("{ROOT}/config"), root)
            .file(&format!("{up}/config"), upstream)
            .file(&format!("{down}/config"), downstream)
            .file(&format!("{down}/0000:03:00.0/vendor"), "0x1002\n")
            .link_to(
                "sys/bus/pci/devices/0000:03:00.0",
                &format!("../../../../{down}/0000:03:00.0"),
            );
        let gpu = PciGpu {
            slot: "0000:03:00.0".into(),
            device: 0x74a2,
            driver: None,
        };
        atomics(&machine, &gpu)
    }

    #[test]
    fn each_bridge_has_to_pass_them() {
        let root = config(4, 0x180, 0);
        let (up, down) = (config(5, 0x40, 0), config(6, 0x40, 0));
        assert_eq!(behind(&root, &up, &down), Atomics::Complete);
        let stopped = |slot: &str| Atomics::StoppedBy(slot.into());
        assert_eq!(
            behind(&config(4, 0x80, 0), &up, &down),
            stopped("0000:00:01.1")
        );
        assert_eq!(
            behind(&root, &config(5, 0, 0), &down),
            stopped("0000:01:00.0")
        );
        assert_eq!(
            behind(&root, &config(5, 0x40, 0x80), &down),
            stopped("0000:01:00.0")
        );
        assert_eq!(
            behind(&root, &up, &config(6, 0, 0)),
            stopped("0000:02:00.0")
        );
        assert_eq!(behind(&root, &up[..64], &down), Atomics::NotReadable);
    }

    #[test]
    fn a_list_that_is_a_circle_ends() {
        let mut circle = config(5, 0, 0);
        circle[0x41] = 0x40;
        let (root, down) = (config(4, 0x180, 0), config(6, 0x40, 0));
        assert_eq!(behind(&root, &circle, &down), Atomics::Complete);
        assert_eq!(behind(&[0; 256], &[0; 256], &down), Atomics::NoRootPort);
    }
}
