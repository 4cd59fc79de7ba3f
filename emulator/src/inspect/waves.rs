// SPDX-License-Identifier: MIT OR Apache-2.0

//! Waves between two instructions: their registers, and the LDS of their work-groups.

use super::words::{number, rows};
use super::Answer;
use crate::chip::device::Device;
use crate::device::views::{GroupView, WaveView};

/// What the waves that have begun are: those that get their turn first come first.
fn waves(device: &Device) -> impl Iterator<Item = (GroupView, usize)> {
    let groups = device.soc.views.groups().into_iter();
    groups.flat_map(|group| {
        let count = group.waves.len();
        let mut group = Some(group);
        // The last one takes the work-group.
        (0..count).filter_map(move |n| {
            let own = if n + 1 == count {
                group.take()
            } else {
                group.clone()
            };
            Some((own?, n))
        })
    })
}

/// The wave that is next, if any has begun.
pub(super) fn next(device: &Device) -> Option<String> {
    let (group, n) = waves(device).next()?;
    Some(format!(
        "next: {}",
        line(device, &group, group.waves.get(n)?)
    ))
}

/// A line for each wave.
pub(super) fn all(device: &Device) -> Vec<String> {
    let all = waves(device).enumerate();
    all.filter_map(|(number, (group, n))| {
        let line = line(device, &group, group.waves.get(n)?);
        Some(format!("{number}: {line}"))
    })
    .collect()
}

/// Where a wave is, and what it does next.
fn line(device: &Device, group: &GroupView, wave: &WaveView) -> String {
    let [x, y, z] = group.id;
    let mut bytes = [0; 12];
    let space = device.soc.memory.space(group.hub, group.vmid);
    // As far as the page goes: an instruction may begin at its end.
    let left = (4096 - wave.pc % 4096).min(12) as usize;
    let (here, beyond) = bytes.split_at_mut(left);
    let mut there = space.peek(wave.pc, here);
    there &= beyond.is_empty() || space.peek(wave.pc + left as u64, beyond);
    let words = [0, 1, 2].map(|n| {
        let word = bytes.get(n * 4..n * 4 + 4).and_then(|b| b.try_into().ok());
        u32::from_le_bytes(word.unwrap_or_default())
    });
    let text = group.target.text(words, group.lanes);
    let text = match text.filter(|_| there) {
        Some(text) => text.to_string(),
        None => "no instruction".into(),
    };
    let handler = if wave.privileged {
        ", in its trap handler"
    } else {
        ""
    };
    format!(
        "{} hub vmid {} group {x},{y},{z} wave {} {}{handler} at {:#x}: {text}",
        group.hub, group.vmid, wave.index, wave.state, wave.pc
    )
}

/// The wave of a number, as [`all`] counts them.
fn find(device: &Device, n: &str) -> Result<(GroupView, usize), String> {
    let n = number(n).and_then(|n| usize::try_from(n).ok());
    let found = n.and_then(|n| waves(device).nth(n));
    found.ok_or_else(|| "there is no such wave; 'show waves' has their numbers".into())
}

/// The registers of a wave.
pub(super) fn registers(device: &Device, n: &str) -> Answer {
    let (group, n) = find(device, n)?;
    let wave = group.waves.get(n).ok_or("there is no such wave")?;
    let mut lines = vec![
        line(device, &group, wave),
        format!(
            "exec {:#x} vcc {:#x} scc {} mode {:#x} m0 {:#x}",
            wave.exec,
            wave.vcc,
            u8::from(wave.scc),
            wave.mode,
            wave.m0
        ),
    ];
    lines.extend(rows(&wave.scalars, |n| format!("s{n}")));
    for (kind, registers) in [("v", &wave.vectors), ("a", &wave.accumulation)] {
        for (n, lanes) in registers.iter().enumerate() {
            lines.extend(rows(lanes, |lane| format!("{kind}{n} lane {lane}")));
        }
    }
    Ok(lines)
}

/// The LDS of a wave's work-group.
pub(super) fn lds(device: &Device, n: &str) -> Answer {
    let (group, _) = find(device, n)?;
    let words = group.lds.chunks_exact(4);
    let words: Vec<u32> = words
        .map(|b| u32::from_le_bytes(b.try_into().unwrap_or_default()))
        .collect();
    Ok(rows(&words, |n| format!("{:#06x}", n * 4)))
}
