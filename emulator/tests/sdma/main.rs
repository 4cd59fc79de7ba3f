// SPDX-License-Identifier: MIT OR Apache-2.0

//! The SDMA engines of both chips: what each packet does, computed by the test itself; rings,
//! indirect buffers, preemption, faults, and what is refused.

mod kernel;
mod needs;
mod queues;
mod rig;

use rig::{byte, halves, Rig, Ring, CHIPS, NOWHERE, READ_ONLY, SPACE, VA};
use rkfd_hw::sdma::{atomic, func};

/// Buffers of the process.
pub(crate) const A: u64 = VA + (16 << 20);
pub(crate) const B: u64 = VA + (64 << 20);
const _: () = assert!(B + (64 << 20) < VA + SPACE);

/// COPY_LINEAR as Linux and ROCr write it.
pub(crate) fn copy(src: u64, dst: u64, bytes: u64) -> Vec<u32> {
    let ([s0, s1], [d0, d1]) = (halves(src), halves(dst));
    vec![1, (bytes - 1) as u32, 0, s0, s1, d0, d1]
}

pub(crate) fn fence(at: u64, value: u32) -> Vec<u32> {
    let [low, high] = halves(at);
    vec![5, low, high, value]
}

fn each(test: impl Fn(Rig, Ring)) {
    for chip in CHIPS {
        let rig = Rig::new(chip);
        let ring = rig.mapped(1, 2);
        test(rig, ring);
    }
}

#[test]
fn copies_of_any_size_and_alignment() {
    each(|rig, mut ring| {
        let sizes = [1, 3, 4, 4095, 4096, 4097, 70_001, 4 << 20];
        for (n, bytes) in sizes.into_iter().enumerate() {
            let (from, to) = (A + [0, 1, 7, 4090][n % 4], B + [3, 0, 4095, 2][n % 4]);
            rig.pattern(from, bytes, n as u64);
            rig.pattern(to - 1, bytes + 2, 99);
            rig.run(&mut ring, &copy(from, to, bytes));
            let got = rig.read(to - 1, bytes as usize + 2);
            let expected = (0..bytes + 2).map(|at| match at {
                0 => byte(0, 99),
                at if at == bytes + 1 => byte(at, 99),
                at => byte(at - 1, n as u64),
            });
            assert!(expected.eq(got), "{bytes} bytes from {from:#x} to {to:#x}");
        }
        rig.expect(&[]);
    });
}

#[test]
fn sixty_four_megabytes_in_one_packet() {
    each(|rig, mut ring| {
        let bytes = 64 << 20;
        let (from, to) = (VA + (4 << 20), VA + (100 << 20));
        let all: Vec<u8> = (0..bytes).map(|at| byte(at, 5)).collect();
        rig.write(from, &all);
        rig.run(&mut ring, &copy(from, to, bytes));
        assert!(rig.read(to, bytes as usize) == all);
        rig.expect(&[]);
    });
}

#[test]
fn a_broadcast_reaches_both_places() {
    each(|rig, mut ring| {
        rig.pattern(A, 10_000, 1);
        let mut packet = copy(A, B, 10_000);
        packet[0] |= 1 << 27;
        packet.extend(halves(B + 40_000));
        rig.run(&mut ring, &packet);
        let expected = rig.read(A, 10_000);
        assert!(rig.read(B, 10_000) == expected && rig.read(B + 40_000, 10_000) == expected);
        rig.expect(&[]);
    });
}

/// A box, as ROCr describes it (`BuildCopyRectCommand`): word-aligned bases, the rest in offsets.
#[test]
fn boxes_keep_to_their_pitch() {
    each(|rig, mut ring| {
        let gfx9 = rig.is_gfx9();
        for element in 0..5u32 {
            let size = 1u64 << element;
            let (columns, rows, slices) = (21u64, 5u64, 3u64);
            let (pitch, slice) = ([64u64, 40], [64 * 9u64, 40 * 6]);
            let (x, y, z) = ([3u64, 1], [2u64, 0], [1u64, 2]);
            rig.pattern(A, 64 * 9 * 5 * size, 7);
            rig.pattern(B, 40 * 6 * 6 * size, 8);
            let from = rig.read(A, (64 * 9 * 5 * size) as usize);
            let mut expected = rig.read(B, (40 * 6 * 6 * size) as usize);
            for k in 0..slices {
                for j in 0..rows {
                    for i in 0..columns * size {
                        let at = |n: usize| {
                            ((z[n] + k) * slice[n] + (y[n] + j) * pitch[n] + x[n]) * size + i
                        };
                        expected[at(1) as usize] = from[at(0) as usize];
                    }
                }
            }
            let image = |base: u64, n: usize| {
                let [low, high] = halves(base);
                let at = |value: u64| value as u32;
                let second = if gfx9 {
                    at(z[n]) | (at(pitch[n] - 1) << 13)
                } else {
                    at(z[n]) | (at(pitch[n] - 1) << 16)
                };
                vec![
                    low,
                    high,
                    at(x[n]) | (at(y[n]) << 16),
                    second,
                    at(slice[n] - 1),
                ]
            };
            let mut packet = vec![1 | (4 << 8) | (element << 29)];
            packet.extend(image(A, 0));
            packet.extend(image(B, 1));
            packet.push((columns as u32 - 1) | ((rows as u32 - 1) << 16));
            packet.push(slices as u32 - 1);
            rig.run(&mut ring, &packet);
            assert!(rig.read(B, expected.len()) == expected, "element {element}");
        }
        rig.expect(&[]);
    });
}

#[test]
fn pages_that_a_fill_leaves_zero_are_given_back_to_the_host() {
    const BYTES: u64 = 1 << 20;
    each(|rig, mut ring| {
        let vram = rig.guest.device.soc.memory.vram;
        rig.pattern(B, BYTES, 5);
        let before = vram.held();
        let [low, high] = halves(B + 100);
        let count = (BYTES - 200 - 4) as u32;
        rig.run(&mut ring, &[11 | (2 << 30), low, high, 0, count]);
        // All but the first and the last page, and those of the ring.
        assert!(
            vram.held() + BYTES - 16 * 4096 <= before,
            "{before}, {}",
            vram.held()
        );
        for (at, got) in rig.read(B, BYTES as usize).into_iter().enumerate() {
            let expected = match at as u64 {
                100..0xf_ff9c => 0,
                at => byte(at, 5),
            };
            assert_eq!(got, expected, "byte {at}");
        }
        rig.expect(&[]);
    });
}

#[test]
fn fills_and_writes() {
    each(|rig, mut ring| {
        let fill = |to: u64, size: u32, data: u32, count: u64| {
            let [low, high] = halves(to);
            vec![11 | (size << 30), low, high, data, count as u32]
        };
        rig.pattern(B, 40_000, 3);
        // ROCr's form: whole words, the count of bytes up to the last word's start.
        rig.run(&mut ring, &fill(B + 4, 2, 0x1234_5678, (5000 - 1) * 4));
        // Linux's form: bytes less one, whole words behind.
        rig.run(&mut ring, &fill(B + 24_000, 2, 0xdead_beef, 400 - 1));
        // Linux's clears: bytes.
        rig.run(&mut ring, &fill(B + 30_001, 0, 0x5a5a_5a5a, 4099 - 1));
        let got = rig.read(B, 40_000);
        for (at, got) in got.into_iter().enumerate() {
            let expected = match at {
                4..20_004 => 0x1234_5678u32.to_le_bytes()[at % 4],
                24_000..24_400 => 0xdead_beefu32.to_le_bytes()[at % 4],
                30_001..34_100 => 0x5a,
                _ => byte(at as u64, 3),
            };
            assert_eq!(got, expected, "byte {at}");
        }
        // The data starts anew behind each packet, and packets of data may be long.
        let words: Vec<u32> = (0..600).map(|n| n * 77).collect();
        let [low, high] = halves(B);
        let mut packet = vec![2, low, high, words.len() as u32 - 1];
        packet.extend(&words);
        rig.run(&mut ring, &packet);
        let expected: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
        assert_eq!(rig.read(B, expected.len()), expected);
        rig.expect(&[]);
    });
}

#[test]
fn atomics_of_both_widths() {
    let old = 0xffff_fff0_8000_0005u64;
    // Operation, source, comparison, what 64 bits become, what the low 32 become.
    let cases: [(u8, u64, u64, u64, u32); 13] = [
        (atomic::SWAP, 7, 0, 7, 7),
        (atomic::CMPSWAP, 9, old, 9, 9),
        (atomic::CMPSWAP, 9, 1, old, 0x8000_0005),
        (atomic::ADD, u64::MAX, 0, 0xffff_fff0_8000_0004, 0x8000_0004),
        (atomic::SUB, 6, 0, 0xffff_fff0_7fff_ffff, 0x7fff_ffff),
        (atomic::SMIN, 3, 0, old, 0x8000_0005),
        (atomic::UMIN, 3, 0, 3, 3),
        (atomic::SMAX, 3, 0, 3, 3),
        (atomic::UMAX, 3, 0, old, 0x8000_0005),
        (atomic::AND, 0xff, 0, 5, 5),
        (atomic::OR, 0xff, 0, 0xffff_fff0_8000_00ff, 0x8000_00ff),
        (atomic::XOR, 1, 0, 0xffff_fff0_8000_0004, 0x8000_0004),
        (atomic::DEC, 4, 0, 4, 4),
    ];
    each(|rig, mut ring| {
        for (op, src, cmp, wide, narrow) in cases {
            for (code, expected) in [
                (op | atomic::WIDE, wide),
                (op, (old >> 32 << 32) | u64::from(narrow)),
                (op + atomic::WIDE + atomic::NO_RETURN, wide),
            ] {
                rig.write(A, &old.to_le_bytes());
                let [low, high] = halves(A);
                let mut packet = vec![10 | (u32::from(code) << 25), low, high];
                packet.extend(halves(src));
                packet.extend(halves(cmp));
                packet.push(0);
                rig.run(&mut ring, &packet);
                assert_eq!(rig.wide(A), expected, "operation {code:#x}");
            }
        }
        // The form that ROCr completes signals with.
        rig.write(A, &5u64.to_le_bytes());
        let [low, high] = halves(A);
        let packet = [0x5e00_000a, low, high, u32::MAX, u32::MAX, 0, 0, 0];
        rig.run(&mut ring, &packet);
        assert_eq!(rig.wide(A), 4);
        rig.expect(&[]);
    });
}

#[test]
fn a_fence_and_a_trap_tell_the_process() {
    each(|mut rig, mut ring| {
        let mut packets = copy(A, B, 100);
        packets.extend(fence(A, 42));
        packets.extend([6, 42]);
        rig.run(&mut ring, &packets);
        assert_eq!(rig.word(A), 42);
        let entry = rig.interrupt().unwrap();
        // SOC15's client of the second engine; SOC21's graphics core.
        let (client, source) = if rig.is_gfx9() { (9, 224) } else { (10, 49) };
        let ring_id = if rig.is_gfx9() { 4 } else { 0x12 };
        assert_eq!(entry[0] & 0xff, client);
        assert_eq!((entry[0] >> 8) & 0xff, source);
        assert_eq!((entry[0] >> 16) & 0xff, ring_id);
        assert_eq!((entry[0] >> 24) & 0xf, u32::from(rig::VMID));
        assert_eq!(entry[0] >> 31, u32::from(rig.is_gfx9()), "the hub");
        assert_eq!((entry[3] & 0xffff, entry[4]), (0x8001, 42));
        assert_eq!(rig.interrupt(), None);
        // Without TRAP_ENABLE there is none.
        rig.control(1, 2);
        rig.run(&mut ring, &[6, 43]);
        assert_eq!(rig.interrupt(), None);
        rig.expect(&[]);
    });
}

#[test]
fn the_clock_grows_and_flushes_do_nothing() {
    each(|rig, mut ring| {
        let [low, high] = halves(A);
        let stamp = [13 | (2 << 8), low, high];
        rig.run(&mut ring, &stamp);
        let first = rig.wide(A);
        // ROCr's HDP flush, and padding with what it counts.
        rig.run(&mut ring, &[8, 0, 0x8000_0000, 0, 0, 0, 3 << 16, 7, 8, 9]);
        rig.run(&mut ring, &stamp);
        assert!(rig.wide(A) > first);
        if !rig.is_gfx9() {
            // ROCr's GCR_REQ, and Linux's copies with a word for compression.
            rig.run(&mut ring, &[17 | (1 << 8), 0, 0xc280_0000, 0, 0]);
            rig.pattern(A, 64, 1);
            let mut packet = copy(A, B, 64);
            packet[0] |= 1 << 19;
            packet.push(0);
            rig.run(&mut ring, &packet);
            assert_eq!(rig.read(B, 64), rig.read(A, 64));
        }
        rig.expect(&[]);
    });
}

#[test]
fn a_poll_waits_for_each_comparison() {
    each(|rig, mut ring| {
        // Function, what keeps waiting, what ends it; bits outside of the mask differ.
        for (function, waits, goes) in [
            (func::EQUAL, 6, 5),
            (func::NOT_EQUAL, 5, 6),
            (func::LESS, 5, 4),
            (func::LESS_OR_EQUAL, 6, 5),
            (func::GREATER, 5, 6),
            (func::GREATER_OR_EQUAL, 4, 5),
        ] {
            let word = |value: u32| (0xab00_0000 | value).to_le_bytes();
            rig.write(A, &word(waits));
            rig.write(A + 8, &[0; 4]);
            let [low, high] = halves(A);
            let header = 8 | (1 << 31) | ((function as u32) << 28);
            let mut packets = vec![header, low, high, 5, 0xff, 4 | (0xfff << 16)];
            packets.extend(fence(A + 8, 1));
            rig.put(&mut ring, &packets);
            rig.ring_bell(&ring);
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert_eq!(rig.word(A + 8), 0, "function {function} did not wait");
            rig.write(A, &word(goes));
            rig.wait(|| rig.word(A + 8) == 1 && rig.wide(ring.rptr) == ring.written);
        }
        rig.expect(&[]);
    });
}

#[test]
fn a_condition_skips_what_it_counts() {
    each(|rig, mut ring| {
        for (value, expected) in [(1u32, 11), (0, 22)] {
            rig.write(A, &value.to_le_bytes());
            rig.write(A + 8, &22u32.to_le_bytes());
            let [low, high] = halves(A);
            let mut packets = vec![9, low, high, 1, 4];
            packets.extend(fence(A + 8, 11));
            packets.extend(fence(A + 16, 33));
            rig.run(&mut ring, &packets);
            assert_eq!((rig.word(A + 8), rig.word(A + 16)), (expected, 33));
        }
        rig.expect(&[]);
    });
}

#[test]
fn faults_halt_the_queue_and_name_the_engine() {
    for (src, dst, va, write) in [
        (A, NOWHERE, NOWHERE, true),
        (NOWHERE, B, NOWHERE, false),
        (A, READ_ONLY - 10, READ_ONLY, true),
    ] {
        each(|rig, mut ring| {
            let mut packets = copy(src, dst, 64);
            packets.extend(fence(A, 1));
            rig.pattern(A, 64, 2);
            rig.put(&mut ring, &packets);
            rig.ring_bell(&ring);
            rig.wait(|| !rig.guest.findings().is_empty());
            let gfx9 = rig.is_gfx9();
            let hub = if gfx9 { "Mm" } else { "Gfx" };
            rig.expect(&[&format!("SDMA: {hub} hub VMID 9")]);
            let soc = &rig.guest.device.soc;
            let hub = soc.memory.hub((rig.chip.sdma.generation.hub)(0));
            rig.wait(|| hub.registers().fault_status != 0);
            let status = Value::<S>::new(hub.registers().fault_status);
            use rkfd_hw::regs::gc_9_4_3::VM_L2_PROTECTION_FAULT_STATUS as S;
            use rkfd_hw::regs::Value;
            // `mmhub_client_ids_aldebaran` [256 + 1], `gfxhub_client_ids` of gfx12 [14].
            assert_eq!(status.get(S::CID), if gfx9 { 257 } else { 14 });
            assert_eq!((status.get(S::RW), status.get(S::VMID)), (write.into(), 9));
            let [low, high] = hub.registers().fault_address;
            assert_eq!((u64::from(high) << 32) | u64::from(low), va >> 12);
            // It stays at the packet.
            std::thread::sleep(std::time::Duration::from_millis(20));
            assert_ne!(rig.word(A), 1);
            assert_eq!(rig.wide(ring.rptr), 0);
        });
    }
}

#[test]
fn undefined_packets_halt_the_queue() {
    let [low, high] = halves(A);
    let cases: &[(&[u32], &str)] = &[
        (&[3], "unknown packet with opcode 3.0"),
        (&[1 | (1 << 8), 0], "COPY with opcode 1.1"),
        (&[15, 0], "unknown packet with opcode 15.0"),
        (&[0xff], "unknown packet with opcode 255.0"),
        (
            &[5 | (1 << 29), low, high, 1],
            "FENCE: reserved bits of word 0",
        ),
        (&[5, low + 2, high, 1], "FENCE: the address is not a word's"),
        (&[6, 1 << 28], "TRAP: reserved bits of word 1"),
        (
            &[1 | (1 << 18), 3, 0, low, high, low + 64, high],
            "COPY: a byte swap",
        ),
        (
            &[1, 99, 0, low, high, low + 50, high],
            "COPY: source and destination overlap",
        ),
        (
            &[11 | (1 << 30), low, high, 0, 3],
            "FILLSIZE 1 is not modelled",
        ),
        (&[11, low, high, 1, 3], "four different ones"),
        (
            &[11 | (2 << 30), low + 1, high, 1, 3],
            "CONST_FILL: the address",
        ),
        (
            &[8, low, high, 0, 0, 0],
            "POLL_REGMEM: a process waits for a register",
        ),
        (&[8 | (1 << 31) | (7 << 28), low, high, 0, 0, 0], "FUNC 7"),
        (&[10 | (0x47 << 25), low + 4, high, 0, 0, 0, 0, 0], ""),
        (
            &[10 | (0x2f << 25), low + 4, high, 0, 0, 0, 0, 0],
            "ATOMIC: a misaligned",
        ),
        (
            &[10 | (0x3f << 25), low, high, 0, 0, 0, 0, 0],
            "operation is not modelled",
        ),
        (
            &[4, low, high, 8, 0, 0],
            "does not end on a boundary of eight words",
        ),
        (
            &[0, 0, 4, low + 4, high, 8, 0, 0],
            "a misaligned or empty buffer",
        ),
        (&[2, low, high, 100, 1], "WRITE runs past the end"),
        (&[5, low, high], "FENCE runs past the end"),
    ];
    for (packet, what) in cases {
        each(|rig, mut ring| {
            rig.put(&mut ring, packet);
            rig.ring_bell(&ring);
            if what.is_empty() {
                rig.wait(|| rig.wide(ring.rptr) == ring.written);
                return rig.expect(&[]);
            }
            rig.wait(|| !rig.guest.findings().is_empty());
            rig.expect(&[what]);
            let ready = || rig.guest.device.sdma.state(ring.slot);
            rig.wait(|| ready().is_some_and(|state| !state.busy));
        });
    }
}

#[test]
fn registers_are_not_a_process_s() {
    each(|mut rig, mut ring| {
        let mut packets = vec![14 | (0xf << 28), 0x1234, 5];
        packets.extend(fence(A, 9));
        rig.run(&mut ring, &packets);
        rig.expect(&["SRBM_WRITE of register 0x1234 by a process"]);
        // The write is dropped and an interrupt reports it; the packets behind it are executed.
        assert_eq!(rig.word(A), 9);
        let source = (rig.interrupt().unwrap()[0] >> 8) & 0xff;
        assert_eq!(source, if rig.is_gfx9() { 247 } else { 50 });
    });
}

#[test]
fn a_finite_poll_gives_up() {
    each(|mut rig, mut ring| {
        let [low, high] = halves(A);
        rig.put(
            &mut ring,
            &[
                8 | (1 << 31) | (3 << 28),
                low,
                high,
                77,
                u32::MAX,
                4 | (3 << 16),
            ],
        );
        rig.ring_bell(&ring);
        rig.wait(|| !rig.guest.findings().is_empty());
        rig.expect(&["POLL_REGMEM: gave up"]);
        let source = (rig.interrupt().unwrap()[0] >> 8) & 0xff;
        assert_eq!(source, if rig.is_gfx9() { 246 } else { 57 });
    });
}
