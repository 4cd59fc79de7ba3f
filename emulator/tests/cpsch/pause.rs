// SPDX-License-Identifier: MIT OR Apache-2.0

//! A device that stands still: where it stops, what it shows, and that nothing comes of it.

use crate::dispatches::vadd;
use crate::queues::*;
use crate::rig::{Rig, MC};
use rkfd_emulator::inspect::answer;
use rkfd_hw::mqd::v9::ComputeMqd as Mqd;
use rkfd_hw::pte;
use rkfd_hw::regs::gc_9_4_3 as gc;
use std::time::Duration;

/// The answer to a command, without its last line, which says that it was carried out.
fn ask(rig: &Rig, line: &str) -> Vec<String> {
    let mut lines = answer(&rig.device, line);
    assert_eq!(lines.pop().as_deref(), Some("ok"), "{line}: {lines:?}");
    lines
}

/// Waits until the device stands still, and returns at what.
fn stop(rig: &Rig) -> String {
    rig.wait("a stop", || rig.device.soc.pause.stands());
    ask(rig, "where").swap_remove(0)
}

/// What stands behind a word of a line.
fn after<'a>(line: &'a str, word: &str) -> &'a str {
    let at = line.find(word).unwrap() + word.len();
    line[at..].split_whitespace().next().unwrap()
}

/// The lanes of a vector register.
fn lanes(shown: &[String], register: &str) -> Vec<u32> {
    let prefix = format!("{register} lane ");
    let rows = shown.iter().filter_map(|line| line.strip_prefix(&prefix));
    let words = rows.flat_map(|row| row.split_once(": ").unwrap().1.split(' '));
    words
        .map(|word| u32::from_str_radix(word, 16).unwrap())
        .collect()
}

#[test]
fn a_dispatch_is_stopped_at_each_of_its_stations() {
    let rig = Rig::with(
        &[
            "on doorbell ring: pause",
            "on AQL packet: pause",
            "on wave launch: pause",
            "on end of pipe: pause",
            "on IH entry of source 181: pause",
        ],
        4,
        3,
    );
    let p = Process::new(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    run(&rig, &[(&p, &[&q])]);
    let signal = p.signal(7);
    let (packet, out, sums) = vadd(&p, 64, 3, signal);
    q.push(packet.0);
    let whose = "of doorbell 0x800 of pasid 0x8001 of vmid 0x2";
    assert_eq!(stop(&rig), format!("stop 1 at doorbell ring {whose}"));
    // Nothing of the queue has moved.
    let hqds = ask(&rig, "show hqds");
    let hqd = hqds.iter().find(|hqd| hqd.starts_with("me1 ")).unwrap();
    assert_eq!(after(hqd, "vmid "), "2");
    assert_eq!(
        after(hqd, "ring "),
        format!("{:#x}", q.image().get(Mqd::CP_HQD_PQ_BASE) << 8)
    );
    assert_eq!([after(hqd, "rptr "), after(hqd, "wptr ")], ["0x0", "0x0"]);
    let slot = hqd.split_once(':').unwrap().0;
    let bell = q.image().get(Mqd::CP_HQD_PQ_DOORBELL_CONTROL);
    let registers = ask(&rig, &format!("show hqd {slot}"));
    let shown = registers
        .iter()
        .find(|line| line.starts_with("CP_HQD_PQ_DOORBELL_CONTROL "));
    let hit = gc::CP_HQD_PQ_DOORBELL_CONTROL::DOORBELL_HIT.mask();
    let shown = u64::from_str_radix(after(shown.unwrap(), "0x"), 16).unwrap();
    assert_eq!(shown & !u64::from(hit), bell & !u64::from(hit));

    ask(&rig, "continue");
    assert_eq!(stop(&rig), format!("stop 2 at AQL packet {whose}"));
    ask(&rig, "continue");
    assert_eq!(stop(&rig), "stop 3 at wave launch of vmid 0x2");
    rig.wait("the work-group", || ask(&rig, "show waves").len() == 4);
    assert_eq!(p.words(out, 64), [0; 64]);
    ask(&rig, "continue");
    assert_eq!(stop(&rig), format!("stop 4 at end of pipe {whose}"));
    // The waves have stored, and nobody was told.
    assert_eq!(p.words(out, 64), sums);
    assert_eq!(p.value(signal), 1);
    std::thread::sleep(Duration::from_millis(20));
    assert_eq!(p.value(signal), 1);
    assert_eq!(rig.interrupt(), None);
    ask(&rig, "continue");
    assert!(stop(&rig).starts_with("stop 5 at IH entry of client 0x14 of source 0xb5"));
    assert_eq!(p.value(signal), 0);
    assert_eq!(rig.interrupt(), None);
    ask(&rig, "continue");
    rig.wait("the interrupt", || rig.interrupt().is_some());
    assert_eq!(ask(&rig, "where"), ["the device goes on"]);
    rig.clean();
}

#[test]
fn a_wave_goes_on_by_single_instructions() {
    let rig = Rig::with(&["at the 1st wave launch: pause"], 4, 3);
    let p = Process::new(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    run(&rig, &[(&p, &[&q])]);
    let signal = p.signal(0);
    let (packet, _, sums) = vadd(&p, 64, 3, signal);
    q.push(packet.0);
    stop(&rig);
    rig.wait("the work-group", || ask(&rig, "show waves").len() == 4);
    // Until the first wave's addition is next. One wave moves at a time.
    let mut steps = 0;
    let mut step = || {
        let before = ask(&rig, "show waves");
        let stop = ask(&rig, "step").swap_remove(0);
        steps += 1;
        assert_eq!(stop, format!("stop {} at one instruction", steps + 1));
        let after = ask(&rig, "show waves");
        let moved = before.iter().filter(|line| !after.contains(line));
        assert_eq!(moved.count(), 1, "{before:?} {after:?}");
        assert!(steps < 400);
    };
    let (operands, before) = loop {
        let shown = ask(&rig, "show wave 0");
        let (_, text) = shown[0].rsplit_once(": ").unwrap();
        if let Some(operands) = text.strip_prefix("v_add_f32_e32 ") {
            let operands: Vec<String> = operands.split(", ").map(str::to_owned).collect();
            break (operands, shown);
        }
        step();
    };
    let [sum, a, b] = &operands[..] else {
        panic!("{operands:?}")
    };
    // They are what the host's processor adds.
    let float = |register: &str| lanes(&before, register).into_iter().map(f32::from_bits);
    let added: Vec<u32> = (float(a).zip(float(b)))
        .map(|(a, b)| (a + b).to_bits())
        .collect();
    assert_eq!(added, sums);
    assert_ne!(lanes(&before, sum), sums);
    while ask(&rig, "show wave 0")[0] == before[0] {
        step();
    }
    assert_eq!(lanes(&ask(&rig, "show wave 0"), sum), sums);
    ask(&rig, "continue");
    p.wait(signal);
    rig.clean();
}

#[test]
fn a_page_walk_is_shown_entry_by_entry() {
    let rig = Rig::with(&["at the 1st wave launch: pause"], 4, 3);
    let p = Process::new(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    run(&rig, &[(&p, &[&q])]);
    let signal = p.signal(0);
    let (packet, out, _) = vadd(&p, 64, 3, signal);
    q.push(packet.0);
    stop(&rig);
    rig.wait("the work-group", || !ask(&rig, "show waves").is_empty());
    let vmid = after(&ask(&rig, "show waves")[0], "vmid ").to_owned();
    let walk = ask(&rig, &format!("show walk {vmid} {out:#x}"));
    let last = walk.last().unwrap();
    assert!(
        last.contains(&format!("{out:#x} is VRAM {:#x},", p.at(out) - MC)),
        "{walk:?}"
    );
    // Each entry behind the base register lies where the rig's memory has it.
    for line in &walk[1..walk.len() - 1] {
        let at = u64::from_str_radix(after(line, "entry at 0x").trim_end_matches(':'), 16);
        let entry = u64::from_str_radix(after(line, ": 0x"), 16);
        assert_eq!(rig.u64(MC + at.unwrap()), entry.unwrap(), "{line}");
    }
    assert!(walk.len() >= 4, "{walk:?}");
    // An entry that no chip defines is a violation when an engine meets it, and none for who only looks.
    let odd = 0x7f00_0000_0000 + (64 << 20);
    p.map_page(odd, p.at(out), pte::VALID | pte::PRT);
    let walk = ask(&rig, &format!("show walk {vmid} {odd:#x}"));
    assert!(walk.last().unwrap().ends_with("Malformed(0)"), "{walk:?}");
    // A page that isn't resident translates, to nothing.
    let absent = odd + (1 << 20);
    p.map_page(absent, p.at(out), pte::PRT);
    let walk = ask(&rig, &format!("show walk {vmid} {absent:#x}"));
    let wanted = format!("{absent:#x} is not resident,");
    assert!(walk.last().unwrap().contains(&wanted), "{walk:?}");
    // What isn't mapped: a look records no fault.
    let walk = ask(&rig, &format!("show walk {vmid} 0x7fff00000000"));
    assert!(
        walk.last().unwrap().contains("does not translate: Invalid"),
        "{walk:?}"
    );
    ask(&rig, "continue");
    p.wait(signal);
    rig.clean();
}

#[test]
fn a_reset_ends_the_pause() {
    let rig = Rig::with(&["on AQL packet: pause"], 4, 3);
    let p = Process::new(&rig, 0x8001);
    let q = Queue::new(&p, 0x800, 16);
    run(&rig, &[(&p, &[&q])]);
    let signal = p.signal(0);
    let (packet, ..) = vadd(&p, 64, 3, signal);
    q.push(packet.0);
    stop(&rig);
    rig.device.reset_function();
    assert_eq!(p.value(signal), 1);
    assert!(!rig.device.soc.pause.stands());
}

#[test]
fn what_can_not_be_shown_is_refused() {
    let rig = Rig::new();
    for (line, why) in [
        ("continue", "the device does not stand still"),
        ("step", "the device does not stand still"),
        ("show hqds", "the device goes on; 'pause' stops it"),
    ] {
        assert_eq!(answer(&rig.device, line), [format!("error: {why}")]);
    }
    assert_eq!(ask(&rig, "pause"), ["stop 1 at asked for"]);
    for (line, why) in [
        ("step 0", "expected a number from 1 to 100000"),
        ("show hqd me9", "there is no HQD 'me9'"),
        (
            "show wave 0",
            "there is no such wave; 'show waves' has their numbers",
        ),
        ("show walk 16 0", "expected a VMID from 0 to 15"),
        ("show walk 0 0 xcc 1", "there is no such XCC"),
    ] {
        assert_eq!(
            answer(&rig.device, line),
            [format!("error: {why}")],
            "{line}"
        );
    }
    // Nothing happens in an idle device.
    assert_eq!(
        ask(&rig, "step"),
        ["the device goes on: nothing has happened yet"]
    );
    rig.clean();
}
