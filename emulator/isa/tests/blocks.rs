// SPDX-License-Identifier: MIT OR Apache-2.0
//! Code runs in blocks that are decoded beforehand. A program must not see a difference.

use rkfd_isa::exec;
use rkfd_isa::wave::Wave;
use rkfd_isa::*;
use rkfd_isa_testkit::*;
use std::collections::BTreeSet;

/// A gfx942 kernel of one wave, and where its code begins.
fn kernel(code: &[u8]) -> (Flat, ComputeUnit, Workgroup<64>, u64) {
    let mut memory = Flat::new(1 << 20);
    let mut cu = ComputeUnit::new();
    let at = memory.alloc(4096 + code.len());
    let mut kd = descriptor_gfx1201(64, 256);
    // No mode of work-groups; v0 to v31, and no registers for accumulation.
    kd[44..48].copy_from_slice(&7u32.to_le_bytes());
    kd[48..52].copy_from_slice(&(3u32 | (0xf0 << 12)).to_le_bytes());
    memory.write(at, &kd);
    memory.write(at + 256, code);
    let kernel = cu.kernel(&mut memory, 0, at).expect("descriptor");
    let dispatch = Dispatch {
        workgroup_size: [64, 1, 1],
        grid_size: [64, 1, 1],
        ..Dispatch::default()
    };
    let group = Workgroup::launch(&mut cu, &kernel, &dispatch, [0; 3], Scratch::default(), &[]);
    (memory, cu, group.expect("launch"), at + 256)
}

fn registers<const L: usize>(wave: &Wave<L>) -> (Vec<u32>, Vec<[u32; L]>, bool, u64, u32) {
    (
        wave.s.to_vec(),
        wave.v.clone(),
        wave.scc,
        wave.pc,
        wave.mode,
    )
}

/// Goes backwards into the middle of a block, and past words that are no instruction.
const PROGRAM: &str = "s_mov_b32 s4, 5
s_branch 1
s_setvskip s0, s1
v_mov_b32 v1, 3
v_add_u32 v2, s4, v1
s_add_i32 s5, s5, 7
s_sub_u32 s4, s4, 1
s_cmp_lg_u32 s4, 2
s_cbranch_scc1 65531
v_cmp_gt_u32 vcc, 9, v2
s_endpgm";

#[test]
fn slices_end_and_go_on_anywhere() {
    let code = assemble(&GFX942, 64, PROGRAM);
    let mut results = Vec::new();
    for budget in [100, 1, 2, 3, 7] {
        let (mut memory, mut cu, mut group, _) = kernel(&code);
        let mut slices = 0;
        while group.run(&mut cu, &mut memory, budget) != Outcome::Done {
            slices += 1;
            assert!(slices < 100, "it ends");
        }
        let wave = &group.waves_mut()[0];
        // s_mov, s_branch, v_mov, three times five, v_cmp, s_endpgm.
        assert_eq!(cu.statistics().instructions, 20);
        assert!(slices >= 19 / budget, "{slices} slices of {budget}");
        results.push(registers(wave));
    }
    assert!(results.iter().all(|r| *r == results[0]));
    let (s, v, ..) = &results[0];
    assert_eq!((s[4], s[5], v[1][63], v[2][63]), (2, 21, 3, 3 + 3));
}

#[test]
fn an_instruction_whose_destination_a_wave_lacks_does_nothing() {
    let code = assemble(
        &GFX942,
        64,
        "s_mov_b32 s4, 1\ns_mov_b32 s5, 2\nv_mov_b32 v200, 0\ns_mov_b32 s4, 3\ns_endpgm",
    );
    let (mut memory, mut cu, mut group, begin) = kernel(&code);
    assert_eq!(group.run(&mut cu, &mut memory, 100), Outcome::Done);
    let wave = &group.waves_mut()[0];
    assert_eq!((&wave.s[4..6], wave.pc), (&[3, 2][..], begin + 20));
    assert!(wave.v.iter().skip(1).all(|v| *v == [0; 64]));
    assert_eq!(cu.statistics().instructions, 5);
}

#[test]
fn code_goes_on_in_the_next_page() {
    // s_nop 0 to the page's end and beyond, the last word an instruction of 8 bytes.
    let before = (4096 - 256 - 4) / 4;
    let mut code = [0, 0, 0x80, 0xbf].repeat(before);
    code.extend(assemble(
        &GFX942,
        64,
        "s_mov_b32 s4, 0x12345678\ns_mov_b32 s5, 9\ns_endpgm",
    ));
    let (mut memory, mut cu, mut group, _) = kernel(&code);
    assert_eq!(group.run(&mut cu, &mut memory, 5000), Outcome::Done);
    assert_eq!(group.waves_mut()[0].s[4..6], [0x1234_5678, 9]);
    assert_eq!(cu.statistics().instructions, before as u64 + 3);
}

/// A wave with anything in its registers; addresses need not be valid.
fn scrambled<const L: usize>(random: &mut Random) -> Wave<L> {
    let mut wave = blank::<L>(256);
    wave.s[..128].fill_with(|| random.u32() >> (random.u32() % 32));
    for v in &mut wave.v {
        v.fill_with(|| random.u32() >> (random.u32() % 32));
    }
    wave.scc = random.u32() & 1 == 1;
    wave
}

/// Compares, for random forms of each encoding, the function that was found while decoding with plain
/// execution. Returns the mnemonics that have such a function.
fn compare<const L: usize>(target: &'static Target) -> BTreeSet<&'static str> {
    let mut random = Random(7);
    let mut seen = BTreeSet::new();
    let mut memory = Flat::new(4096);
    for row in target.rows {
        for n in 0..24 {
            // Few bits in half of them, so that there are forms without modifiers.
            let few = if n % 2 == 0 {
                random.u64() & random.u64() & random.u64()
            } else {
                u64::MAX
            };
            let word = row.value | (random.u64() & few & !row.mask);
            let words = [word as u32, (word >> 32) as u32, random.u32()];
            let Ok(inst) = target.decode(words) else {
                continue;
            };
            let Some(step) = exec::step::<L>(&inst).filter(|_| inst.unsupported().is_none()) else {
                continue;
            };
            let seed = random.u64();
            let [mut a, mut b] = [0, 1].map(|_| scrambled::<L>(&mut Random(seed | 1)));
            step(&mut a, &inst);
            let next = perform(&inst, &mut b, &mut memory, &mut []);
            let text = format!("{} {words:08x?}", inst.name());
            assert_eq!(next, Ok(exec::Next::Go), "{text}");
            assert!(registers(&a) == registers(&b), "{text}");
            seen.insert(inst.name());
        }
    }
    seen
}

#[test]
fn functions_found_while_decoding_do_as_execution_does() {
    let seen = [
        (&GFX942, compare::<64>(&GFX942)),
        (&GFX1201, compare::<64>(&GFX1201)),
        (&GFX1201, compare::<32>(&GFX1201)),
    ];
    met(
        seen,
        &[
            "s_abs_i32",
            "v_add_f32",
            "v_add3_u32",
            "v_cmp_lt_i64",
            "s_cbranch_vccz",
        ],
    );
}
