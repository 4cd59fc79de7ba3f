// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every fault on gfx1201 has its own name, and nothing that a guest provides may cause a panic.

use rkfd_isa::*;
use rkfd_isa_testkit::*;
use std::collections::{BTreeMap, BTreeSet};

/// s_nop 0.
const NOP: u32 = 0xbf80_0000;

/// Run `words` as a kernel of one wave on registers that `prepare` fills; at most `budget`
/// instructions. `few` vector registers, so that a register beyond them is likely, or all.
fn run_words(
    words: &[u32],
    budget: u64,
    few: bool,
    prepare: impl FnOnce(&mut Workgroup<32>),
) -> Outcome {
    let mut memory = Flat::new(1 << 20);
    let mut cu = ComputeUnit::for_target(&GFX1201);
    let at = memory.alloc(4096 + words.len() * 4);
    let mut kd = descriptor_gfx1201(32, 256);
    kd[48] = if few { 0 } else { 31 };
    memory.write(at, &kd);
    let code: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    memory.write(at + 256, &code);
    let data = memory.alloc(16384);
    let kernel = cu.kernel(&mut memory, 0, at).expect("descriptor");
    let dispatch = Dispatch {
        workgroup_size: [32, 1, 1],
        grid_size: [32, 1, 1],
        group_segment_size: 4096,
        private_segment_size: 64,
        kernarg_address: data,
        apertures: APERTURES,
        ..Dispatch::default()
    };
    let scratch = Scratch {
        base: memory.alloc(4096),
        wave_size: 2048,
    };
    let mut group =
        Workgroup::launch(&mut cu, &kernel, &dispatch, [0, 0, 0], scratch, &[]).expect("launch");
    prepare(&mut group);
    group.run(&mut cu, &mut memory, budget)
}

fn fault(words: &[u32]) -> Fault {
    match run_words(words, 100, false, |_| ()) {
        Outcome::Fault(fault) => fault,
        other => panic!("{other:?} instead of a fault"),
    }
}

fn assembled(text: &str) -> Vec<u32> {
    let bytes = assemble(&GFX1201, 32, text);
    let word = |b: &[u8]| u32::from_le_bytes([b[0], b[1], b[2], b[3]]);
    bytes.chunks(4).map(word).collect()
}

#[test]
fn unimplemented_instructions_are_named() {
    for (text, name) in [
        ("s_barrier_init m0", "s_barrier_init"),
        ("s_barrier_join 1", "s_barrier_join"),
        (
            "global_load_tr_b64 v[0:1], v[2:3], off",
            "global_load_tr_b64",
        ),
    ] {
        let f = fault(&assembled(text));
        assert_eq!(
            (f.kind, f.mnemonic()),
            (FaultKind::Illegal, Some(name)),
            "{text}"
        );
        assert!(f.to_string().contains(name), "{f}");
    }
    for (text, what) in [
        (
            "s_getreg_b32 s0, hwreg(HW_REG_DVGPR_ALLOC_LO)",
            "this hardware register",
        ),
        (
            "s_sendmsg_rtn_b32 s0, sendmsg(MSG_RTN_GET_TMA)",
            "this message",
        ),
        ("s_barrier_wait 1", "a barrier other than the workgroup's"),
        (
            "s_get_barrier_state s0, 1",
            "a barrier other than the workgroup's",
        ),
        (
            "tbuffer_load_format_x v0, off, s[4:7], null format:0",
            "this buffer format",
        ),
    ] {
        assert_eq!(
            fault(&assembled(text)).kind,
            FaultKind::Unsupported(what),
            "{text}"
        );
    }
    // v_dual_add_f32 v0, v1, v2 :: v_dual_add_f32 v3, v5, v6: v1 and v5 in one bank, which the
    // assembler refuses.
    let f = fault(&[0xc908_0501, 0x0002_0d05]);
    assert_eq!(
        f.kind,
        FaultKind::Unsupported("a pair whose sources lie in one register bank")
    );
}

#[test]
fn undecodable_words_are_not_guessed() {
    // LLVM's v_illegal, SOP1's last opcode, the second operation 12 of a pair, and nothing at all.
    for word in [0, 0xbe80_ff00, 0xc918_0501, 0xffff_ffff] {
        let f = fault(&[word, 0]);
        assert_eq!(
            (f.kind, f.mnemonic()),
            (FaultKind::Undecodable, None),
            "{word:#x}"
        );
    }
}

#[test]
fn descriptors() {
    let good = descriptor_gfx1201(32, 256);
    let kernel = Kernel::parse_for(&GFX1201, 0, &good).expect("good");
    assert_eq!((kernel.lanes, kernel.vgprs), (32, 32));
    let wide = Kernel::parse_for(&GFX1201, 0, &descriptor_gfx1201(64, 256)).expect("good");
    assert_eq!((wide.lanes, wide.vgprs), (64, 32));
    // The field that was the SGPR count is ignored.
    let mut quirk = good;
    quirk[48] |= 0x40;
    assert_eq!(Kernel::parse_for(&GFX1201, 0, &quirk), Ok(kernel));
    // It is another chip's descriptor.
    assert!(Kernel::parse(0, &good).is_err());
    let mut cu = ComputeUnit::for_target(&GFX1201);
    let dispatch = Dispatch {
        workgroup_size: [1, 1, 1],
        grid_size: [1, 1, 1],
        ..Dispatch::default()
    };
    let wrong =
        Workgroup::<64>::launch(&mut cu, &kernel, &dispatch, [0; 3], Scratch::default(), &[]);
    assert_eq!(wrong.err(), Some(LaunchError::Registers));
    let mut refused = 0;
    for bit in 0..512 {
        let mut kd = good;
        kd[bit / 8] ^= 1 << (bit % 8);
        match Kernel::parse_for(&GFX1201, 0, &kd) {
            Err(DescriptorError::Reserved(_) | DescriptorError::Unsupported(_)) => refused += 1,
            Err(other) => panic!("{other}"),
            Ok(_) => {}
        }
    }
    println!("{refused} of 512 single-bit changes refused");
    assert!(refused >= 224 + 11, "{refused}");
}

/// An encoding of the table with everything that it does not fix at random.
fn random_encoding(r: &mut Random, row: &decode::table::Row) -> [u32; 5] {
    let word = row.value | (r.u64() & !row.mask);
    [word as u32, (word >> 32) as u32, r.u32(), NOP, NOP]
}

/// Registers full of anything: large numbers, small numbers, addresses of the test memory.
fn scramble(group: &mut Workgroup<32>, r: &mut Random) {
    let mut any = || match r.u32() % 4 {
        0 => r.u32() % 64,
        1 => (BASE + u64::from(r.u32() % 0x10_0000)) as u32,
        2 => (BASE >> 32) as u32,
        _ => r.u32(),
    };
    for wave in group.waves_mut() {
        wave.s[..128].fill_with(&mut any);
        for v in wave.v.iter_mut().step_by(7) {
            v.fill_with(&mut any);
        }
    }
}

#[test]
fn random_code_never_panics() {
    let mut r = Random(0x1234_5678_9abc_def1);
    let mut outcomes = BTreeMap::new();
    for round in 0..4000 {
        // Three of four start real encodings, so that operands get wild, not opcodes.
        let words: Vec<u32> = (0..8)
            .flat_map(|_| match round % 4 {
                0 => [r.u32(), r.u32(), r.u32(), r.u32(), NOP],
                _ => {
                    let row = &GFX1201.rows[r.u32() as usize % GFX1201.rows.len()];
                    random_encoding(&mut r, row)
                }
            })
            .collect();
        let outcome = match run_words(&words, 200, round % 2 == 0, |_| ()) {
            Outcome::Fault(f) => format!("{:?}", f.kind)
                .split('(')
                .next()
                .unwrap_or("")
                .to_string(),
            other => format!("{other:?}"),
        };
        *outcomes.entry(outcome).or_insert(0) += 1;
    }
    println!("{outcomes:?}");
}

#[test]
fn every_encoding_executes_or_is_refused_by_name() {
    let mut r = Random(99);
    let (mut executed, mut refused) = (BTreeSet::new(), BTreeSet::new());
    for (n, row) in GFX1201.rows.iter().enumerate() {
        for round in 0..4 {
            let code = random_encoding(&mut r, row);
            let few = (n + round) % 2 == 0;
            match run_words(&code, 3, few, |group| scramble(group, &mut r)) {
                Outcome::Fault(Fault {
                    kind: FaultKind::Illegal | FaultKind::Unsupported(_) | FaultKind::Undecodable,
                    ..
                }) => refused.insert(row.mnemonic),
                _ => executed.insert(row.mnemonic),
            };
        }
    }
    let never = refused.difference(&executed).count();
    println!("{} mnemonics executed, {never} never", executed.len());
    assert!(executed.len() > 450, "{}", executed.len());
}
