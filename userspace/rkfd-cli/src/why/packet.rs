// SPDX-License-Identifier: MIT OR Apache-2.0

//! What an AQL packet waits for.

use rkfd::raw::hw::aql::{self, Barrier, BarrierValue, KernelDispatch, Vendor};

use super::queue::{Queue, Word};

/// What the packet at the read pointer does or waits for, behind "packet N".
pub(super) fn waits(words: &[u32; 16], queue: &Queue) -> String {
    let [header, ..] = words;
    match *header as u8 {
        aql::TYPE_INVALID => {
            "is INVALID: its slot is reserved, and its header not written yet".into()
        }
        aql::TYPE_KERNEL_DISPATCH => {
            let packet = KernelDispatch(*words);
            let kernel = packet.get(KernelDispatch::KERNEL_OBJECT);
            let grid = [
                KernelDispatch::GRID_SIZE_X,
                KernelDispatch::GRID_SIZE_Y,
                KernelDispatch::GRID_SIZE_Z,
            ]
            .map(|field| packet.get(field));
            let [x, y, z] = grid;
            format!(
                "is a kernel whose waves have not all ended: descriptor {kernel:#x}, grid {x} x {y} x {z}"
            )
        }
        aql::TYPE_BARRIER_AND => barrier(words, queue, true),
        aql::TYPE_BARRIER_OR => barrier(words, queue, false),
        aql::TYPE_VENDOR_SPECIFIC => match Vendor(*words).get(Vendor::FORMAT) as u8 {
            aql::VENDOR_BARRIER_VALUE => on_value(words, queue),
            aql::VENDOR_PM4_IB => "is a buffer of PM4 commands that have not all ended".into(),
            other => format!("is a vendor's packet of format {other}"),
        },
        other => format!("has type {other}"),
    }
}

fn shown(word: &Word) -> String {
    match word.value {
        Some(value) => format!("{:#x} (value {})", word.at, value as i64),
        None => format!("{:#x} (which the driver can't read)", word.at),
    }
}

fn listed<'a>(words: impl IntoIterator<Item = &'a Word>) -> String {
    words.into_iter().map(shown).collect::<Vec<_>>().join(", ")
}

/// A barrier that waits for all of its signals, or for one.
fn barrier(words: &[u32; 16], queue: &Queue, all: bool) -> String {
    let fields = [
        Barrier::DEP_SIGNAL_0,
        Barrier::DEP_SIGNAL_1,
        Barrier::DEP_SIGNAL_2,
        Barrier::DEP_SIGNAL_3,
        Barrier::DEP_SIGNAL_4,
    ];
    let named = fields.map(|field| Barrier(*words).get(field));
    let signals: Vec<&Word> = queue
        .signals
        .iter()
        .filter(|word| named.contains(&word.at))
        .collect();
    let open: Vec<&Word> = signals
        .iter()
        .copied()
        .filter(|word| word.value != Some(0))
        .collect();
    let waits = match all {
        true => !open.is_empty(),
        false => !signals.is_empty() && open.len() == signals.len(),
    };
    let name = if all { "barrier-AND" } else { "barrier-OR" };
    match (waits, all) {
        (false, _) => format!("is a {name} whose signals let it go"),
        (true, true) => format!("is a {name} that waits for signal {}", listed(open)),
        (true, false) => format!("is a {name} that waits for one of signal {}", listed(open)),
    }
}

/// A barrier that waits for a value of one signal.
fn on_value(words: &[u32; 16], queue: &Queue) -> String {
    let packet = BarrierValue(*words);
    let at = packet.get(BarrierValue::SIGNAL);
    let (value, mask) = (
        packet.get(BarrierValue::VALUE),
        packet.get(BarrierValue::MASK),
    );
    let (sign, compare): (_, fn(&i64, &i64) -> bool) = match packet.get(BarrierValue::COND) as u32 {
        aql::CONDITION_EQ => ("=", i64::eq),
        aql::CONDITION_NE => ("!=", i64::ne),
        aql::CONDITION_LT => ("<", i64::lt),
        _ => (">=", i64::ge),
    };
    let Some(signal) = queue.signals.iter().find(|word| word.at == at) else {
        return "is a barrier on a value without a signal".into();
    };
    let value = value as i64;
    let holds = |word: u64| compare(&((word & mask) as i64), &value);
    match signal.value.is_some_and(holds) {
        true => "is a barrier on a value, which lets it go".into(),
        false => format!(
            "is a barrier that waits until signal {} & {mask:#x} {sign} {value}",
            shown(signal)
        ),
    }
}
