// SPDX-License-Identifier: MIT OR Apache-2.0

//! Hardware queues, and the page tables of their processes.

use super::words::number;
use super::Answer;
use crate::chip::device::Device;
use crate::memory::walk::Place;
use crate::memory::Hub;
use rkfd_hw::pte;

/// Bits of entries, which are the same on all chips and levels.
const FLAGS: &[(u64, &str)] = &[
    (pte::VALID, "VALID"),
    (pte::SYSTEM, "SYSTEM"),
    (pte::SNOOPED, "SNOOPED"),
    (pte::EXECUTABLE, "EXECUTABLE"),
    (pte::READABLE, "READABLE"),
    (pte::WRITEABLE, "WRITEABLE"),
];

/// A line for each hardware queue that is connected.
pub(super) fn connected(device: &Device) -> Vec<String> {
    let hqds = device.soc.views.hqds().into_iter();
    let line = |hqd: crate::device::views::HqdView| {
        let [rptr, wptr] = hqd.pointers;
        format!(
            "{}: vmid {} ring {:#x} rptr {rptr:#x} wptr {wptr:#x}",
            hqd.slot, hqd.vmid, hqd.base
        )
    };
    hqds.filter(|hqd| hqd.active).map(line).collect()
}

/// The registers of one that are not 0.
pub(super) fn registers(device: &Device, slot: &str) -> Answer {
    let mut hqds = device.soc.views.hqds().into_iter();
    let hqd = hqds.find(|hqd| hqd.slot == slot);
    let hqd = hqd.ok_or_else(|| format!("there is no HQD '{slot}'"))?;
    let set = hqd.registers.iter().filter(|(_, value)| *value != 0);
    Ok(set
        .map(|(name, value)| format!("{name} {value:#x}"))
        .collect())
}

/// The page walk for an address: each entry that it reads, and where it leads.
pub(super) fn walk(device: &Device, hub: Hub, vmid: &str, va: &str) -> Answer {
    let vmid = number(vmid).and_then(|n| u8::try_from(n).ok());
    let vmid = vmid.filter(|vmid| *vmid < 16);
    let vmid = vmid.ok_or("expected a VMID from 0 to 15")?;
    let va = number(va).ok_or("expected an address")?;
    let (path, found) = device.soc.memory.space(hub, vmid).look(va);
    let mut lines = Vec::new();
    for (n, (at, entry)) in path.at.iter().zip(&path.entries).enumerate() {
        let flags = FLAGS.iter().filter(|(bit, _)| entry & bit != 0);
        let flags: Vec<&str> = flags.map(|(_, name)| *name).collect();
        let place = match n {
            0 => "base register".into(),
            _ => format!("entry at {at:#x}"),
        };
        lines.push(format!("{place}: {entry:#018x} {}", flags.join(" ")));
    }
    lines.push(match found {
        Ok(found) => {
            let at = found.place.plus(va.wrapping_sub(found.start));
            let place = match at {
                Place::Vram(at) => format!("VRAM {at:#x}"),
                Place::Bus(at) => format!("system memory {at:#x}"),
                Place::Nothing => "not resident".into(),
            };
            format!("{va:#x} is {place}, in a range of {:#x} bytes", found.len)
        }
        Err(why) => format!("{va:#x} does not translate: {why:?}"),
    });
    Ok(lines)
}
