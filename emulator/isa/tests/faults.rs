// SPDX-License-Identifier: MIT OR Apache-2.0
//! Every fault has its own name: illegal instructions, memory faults, damaged code, descriptors with
//! reserved bits. Nothing that a guest provides may cause a panic.

use rkfd_isa::*;
use rkfd_isa_testkit::*;

/// A descriptor for hand-written code: 512 vector registers, 16 user SGPRs, scratch.
fn descriptor(entry: i64) -> [u8; 64] {
    let mut kd = [0u8; 64];
    let mut put = |at: usize, v: u32| kd[at..at + 4].copy_from_slice(&v.to_le_bytes());
    put(16, entry as u32);
    put(20, (entry >> 32) as u32);
    put(44, 63);
    put(48, 63 | (0xf0 << 12) | (1 << 21) | (1 << 23));
    put(52, 1 | (16 << 1) | (7 << 7) | (2 << 11));
    put(56, 8);
    kd
}

/// Run `words` as a kernel of one wave; at most `budget` instructions.
fn run_words(words: &[u32], budget: u64) -> (Outcome, Workgroup, Flat) {
    run_words_with(words, budget, |_| ())
}

fn run_words_with(
    words: &[u32],
    budget: u64,
    mut prepare: impl FnMut(&mut Workgroup),
) -> (Outcome, Workgroup, Flat) {
    let mut memory = Flat::new(1 << 20);
    let mut cu = ComputeUnit::new();
    let at = memory.alloc(4096 + words.len() * 4);
    memory.write(at, &descriptor(256));
    let code: Vec<u8> = words.iter().flat_map(|w| w.to_le_bytes()).collect();
    memory.write(at + 256, &code);
    let data = memory.alloc(16384);
    let kernel = cu.kernel(&mut memory, 0, at).expect("descriptor");
    let dispatch = Dispatch {
        workgroup_size: [64, 1, 1],
        grid_size: [64, 1, 1],
        group_segment_size: 4096,
        private_segment_size: 64,
        kernarg_address: data,
        apertures: APERTURES,
        ..Dispatch::default()
    };
    let scratch = Scratch {
        base: memory.alloc(4096),
        wave_size: 4096,
    };
    let mut group =
        Workgroup::launch(&mut cu, &kernel, &dispatch, [0, 0, 0], scratch, &[]).expect("launch");
    prepare(&mut group);
    let outcome = group.run(&mut cu, &mut memory, budget);
    (outcome, group, memory)
}

fn fault(words: &[u32]) -> Fault {
    match run_words(words, 100).0 {
        Outcome::Fault(fault) => fault,
        other => panic!("{other:?} instead of a fault"),
    }
}

#[test]
fn unimplemented_instructions_are_named() {
    // s_setvskip s0, s1: LLVM's encoding.
    let f = fault(&[0xbf10_0100]);
    assert_eq!(f.kind, FaultKind::Illegal);
    assert_eq!(f.mnemonic(), Some("s_setvskip"));
    let text = f.to_string();
    assert!(
        text.contains("illegal instruction")
            && text.contains("s_setvskip")
            && text.contains("wave 0 of workgroup 0,0,0"),
        "{text}"
    );
    // v_add_f32_sdwa with a reserved select, and v_add_f32_dpp with a reserved control.
    assert_eq!(
        fault(&[0x0200_04f9, 0x0607_0601]).kind,
        FaultKind::Unsupported("a reserved SDWA select")
    );
    assert_eq!(
        fault(&[0x0200_04fa, 0xff01_7001]).kind,
        FaultKind::Unsupported("this DPP control")
    );
}

#[test]
fn undecodable_words_are_not_guessed() {
    // SOP1's opcode 0xff and the reserved encoding 0b110011.
    for word in [0xbe80_ff00, 0xcc00_0000, 0xffff_ffff] {
        let f = fault(&[word, 0]);
        assert_eq!(
            (f.kind, f.mnemonic(), f.words[0]),
            (FaultKind::Undecodable, None, word)
        );
    }
}

#[test]
fn a_register_beyond_the_allocation_is_not_written() {
    let mut memory = Flat::new(1 << 20);
    let mut cu = ComputeUnit::new();
    let at = memory.alloc(4096);
    let mut kd = descriptor(256);
    kd[48] = 0; // 8 registers
    memory.write(at, &kd);
    let code = assemble(&GFX942, 64, "v_mov_b32 v8, 7\nv_mov_b32 v1, v8\ns_endpgm");
    memory.write(at + 256, &code);
    let kernel = cu.kernel(&mut memory, 0, at).expect("descriptor");
    let dispatch = Dispatch {
        workgroup_size: [1, 1, 1],
        grid_size: [1, 1, 1],
        ..Dispatch::default()
    };
    let mut group: Workgroup =
        Workgroup::launch(&mut cu, &kernel, &dispatch, [0; 3], Scratch::default(), &[])
            .expect("launch");
    group.waves_mut()[0].v[0][0] = 5;
    assert_eq!(group.run(&mut cu, &mut memory, 10), Outcome::Done);
    // A source beyond it is v0.
    let v: Vec<u32> = group.waves()[0].v.iter().map(|v| v[0]).collect();
    assert_eq!(v[..9], [5, 5, 0, 0, 0, 0, 0, 0, 0]);
}

#[test]
fn an_endless_loop_uses_its_budget() {
    // s_branch -1
    let (outcome, ..) = run_words(&[0xbf82_ffff], 5000);
    assert_eq!(outcome, Outcome::Budget);
}

#[test]
fn memory_faults_say_where() {
    // s_load_dwordx2 s[0:1], s[2:3], 0x10: s2 and s3 are 0.
    let f = fault(&[0xc006_0001, 0x10]);
    let FaultKind::Memory(m) = f.kind else {
        panic!("{f}")
    };
    assert_eq!(
        (m.va, m.access, m.reason),
        (0x10, Access::Read, Reason::NotPresent)
    );
    assert_eq!(f.mnemonic(), Some("s_load_dwordx2"));
    let text = f.to_string();
    assert!(
        text.contains(", s_load_dwordx2 s[0:1], s[2:3], 0x10, wave 0"),
        "{text}"
    );
    // s_setpc_b64 s[2:3]: the next fetch fails.
    let f = fault(&[0xbe80_1d02]);
    let FaultKind::Memory(m) = f.kind else {
        panic!("{f}")
    };
    assert_eq!((m.va, m.access, f.pc), (0, Access::Execute, 0));
}

#[test]
fn read_only_memory() {
    let mut memory = Flat::new(8 << 20);
    let mut cu = ComputeUnit::new();
    let code = load(&mut memory, &compile(&GFX942, "vadd", 3));
    let p = memory.alloc(4096);
    memory.read_only = p..p + 4096;
    let args = Args::default().u64(p).u64(p).u64(p).u32(64);
    let f = prepare(
        &mut memory,
        &mut cu,
        &code,
        "vadd",
        args,
        [64, 1, 1],
        [64, 1, 1],
    )
    .run(&mut memory, &mut cu, 1000)
    .expect_err("a fault");
    let FaultKind::Memory(m) = f.kind else {
        panic!("{f}")
    };
    assert_eq!(
        (m.va, m.access, m.reason, f.mnemonic()),
        (
            p,
            Access::Write,
            Reason::NotPermitted,
            Some("global_store_dword")
        )
    );
}

#[test]
fn stale_translations_need_a_flush() {
    // Until the embedder's epoch changes, the old right is used; afterwards the new one.
    let mut memory = Flat::new(8 << 20);
    let mut cu = ComputeUnit::new();
    let code = load(&mut memory, &compile(&GFX942, "vadd", 3));
    let p = memory.alloc(4096);
    let args = Args::default().u64(p).u64(p).u64(p).u32(64);
    let launch = prepare(
        &mut memory,
        &mut cu,
        &code,
        "vadd",
        args,
        [64, 1, 1],
        [64, 1, 1],
    );
    launch.run(&mut memory, &mut cu, 1000).expect("writable");
    memory.read_only = p..p + 4096;
    launch
        .run(&mut memory, &mut cu, 1000)
        .expect("still cached");
    memory.epoch += 1;
    launch.run(&mut memory, &mut cu, 1000).expect_err("flushed");
}

#[test]
fn reserved_descriptor_bits() {
    let good = descriptor(256);
    assert!(Kernel::parse(0, &good).is_ok());
    let mut refused = 0;
    for bit in 0..512 {
        let mut kd = good;
        kd[bit / 8] ^= 1 << (bit % 8);
        match Kernel::parse(0, &kd) {
            Err(DescriptorError::Reserved(_) | DescriptorError::Unsupported(_)) => refused += 1,
            Err(other) => panic!("{other}"),
            Ok(_) => {}
        }
    }
    println!("{refused} of 512 single-bit changes refused");
    // 12..16, 24..44 and 60..64 alone are 224 bits.
    assert!(refused >= 224 + 11, "{refused}");
}

#[test]
fn one_flipped_bit_of_code_is_noticed() {
    let (n, a, b): (usize, Vec<f32>, Vec<f32>) = (
        50,
        (0..64).map(|v| v as f32 * 1.5).collect(),
        (0..64).map(|v| 3.0 - v as f32).collect(),
    );
    let elf = compile(&GFX942, "vadd", 3);
    // Every bit of every instruction up to s_endpgm.
    let run = |flip: Option<(u64, u32)>| -> Result<Vec<u32>, String> {
        let mut memory = Flat::new(4 << 20);
        let mut cu = ComputeUnit::new();
        let code = load(&mut memory, &elf);
        let entry = code.base + code.symbols["vadd"].0;
        if let Some((at, bit)) = flip {
            let word = memory.words(entry + at, 1)[0] ^ (1 << bit);
            memory.write(entry + at, &word.to_le_bytes());
        }
        let (pa, pb, out) = (memory.put(&a), memory.put(&b), memory.alloc(4096));
        let args = Args::default().u64(pa).u64(pb).u64(out).u32(n as u32);
        let launch = prepare(
            &mut memory,
            &mut cu,
            &code,
            "vadd",
            args,
            [64, 1, 1],
            [64, 1, 1],
        );
        let mut group: Workgroup = Workgroup::launch(
            &mut cu,
            &launch.kernel,
            &launch.dispatch,
            [0; 3],
            launch.scratch,
            &[],
        )
        .map_err(|e| e.to_string())?;
        match group.run(&mut cu, &mut memory, 10_000) {
            Outcome::Done => Ok(memory.words(out, 64)),
            other => Err(format!("{other:?}")),
        }
    };
    let good = run(None).expect("vadd runs");
    let (mut differ, mut fault, mut same) = (0, 0, 0);
    for at in (0..92u64).step_by(4) {
        for bit in 0..32 {
            match run(Some((at, bit))) {
                Ok(words) if words == good => same += 1,
                Ok(_) => differ += 1,
                Err(_) => fault += 1,
            }
        }
    }
    println!("{differ} bits change the sums, {fault} fault, {same} make no difference");
    // Harmless bits exist: wait counts, cache policy, the bounds check of a full grid.
    assert!(
        differ > 50 && fault > 100 && same < (differ + fault),
        "{differ} {fault} {same}"
    );
}

#[test]
fn random_code_never_panics() {
    let mut r = Random(0x1234_5678_9abc_def1);
    let mut outcomes = std::collections::BTreeMap::new();
    for round in 0..4000 {
        let words: Vec<u32> = (0..32)
            .map(|n| {
                let word = r.u32();
                // Half of the words start a real encoding, so that operands get wild, not opcodes.
                if n % 2 == 0 && round % 4 != 0 {
                    let rows = GFX942.rows;
                    let row = &rows[r.u32() as usize % rows.len()];
                    row.value as u32 | (word & !(row.mask as u32))
                } else {
                    word
                }
            })
            .collect();
        let outcome = match run_words(&words, 200).0 {
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

/// Registers full of anything: large numbers, small numbers, addresses of the test memory.
fn scramble(group: &mut Workgroup, r: &mut Random) {
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
fn every_encoding_executes_or_is_refused_by_name() {
    // One wave, each encoding of the table with random operands: none may panic, and what is
    // neither executed nor refused does not exist.
    let mut r = Random(99);
    let (mut executed, mut refused) = (
        std::collections::BTreeSet::new(),
        std::collections::BTreeSet::new(),
    );
    for row in GFX942.rows {
        for _ in 0..6 {
            let random = r.u64();
            let word = row.value | (random & !row.mask);
            let code = [word as u32, (word >> 32) as u32, 0xbf81_0000, 0xbf81_0000];
            let (outcome, ..) = run_words_with(&code, 3, |group| scramble(group, &mut r));
            match outcome {
                Outcome::Fault(Fault {
                    kind: FaultKind::Illegal | FaultKind::Unsupported(_) | FaultKind::Undecodable,
                    ..
                }) => {
                    refused.insert(row.op.name());
                }
                _ => {
                    executed.insert(row.op.name());
                }
            }
        }
    }
    println!(
        "{} mnemonics executed, {} never",
        executed.len(),
        refused.difference(&executed).count()
    );
    assert!(executed.len() > 450, "{}", executed.len());
}
