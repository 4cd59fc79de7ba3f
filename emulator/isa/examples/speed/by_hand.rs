// SPDX-License-Identifier: MIT OR Apache-2.0
//! What a generator of host code could reach at best: vadd and collatz of gfx942, written by hand as it would translate
//! them. Nothing is decoded or dispatched, values stay in the host's registers within a block, and masks are
//! compared only where the program compares. Waves are launched, pages found and dwords loaded as the interpreter does.
//! Registers that the program has written are in the wave when a block ends, since a trap or a save may come there.

use rkfd_isa::decode::code;
use rkfd_isa::memory::Tlb;
use rkfd_isa::wave::{gather, lane_bits, Wave};
use rkfd_isa::{Access, ComputeUnit, Workgroup};
use rkfd_isa_testkit::{Flat, Launch};

/// The program of a wave from its first instruction to its last; returns how many it took.
type Program = fn(&mut Wave<64>, &mut Flat, &mut Tlb) -> u64;

/// Runs all workgroups of a kernel by its program; returns how many instructions of whole waves they took.
pub fn run(kernel: &str, launch: &Launch, memory: &mut Flat, cu: &mut ComputeUnit) -> u64 {
    let program: Program = match kernel {
        "vadd" => vadd,
        "collatz" => collatz,
        other => panic!("{other} is not written by hand"),
    };
    let (dispatch, mut tlb) = (&launch.dispatch, Tlb::default());
    let groups = dispatch.grid_size[0] / u32::from(dispatch.workgroup_size[0]);
    let mut count = 0;
    for x in 0..groups {
        let (kernel, scratch) = (&launch.kernel, launch.scratch);
        let mut group =
            Workgroup::<64>::launch(cu, kernel, dispatch, [x, 0, 0], scratch, &[]).expect("launch");
        for wave in group.waves_mut() {
            count += program(wave, memory, &mut tlb);
        }
        group.retire(cu);
    }
    count
}

fn word(tlb: &mut Tlb, memory: &mut Flat, va: u64) -> u32 {
    let page = tlb.page(memory, 0, va, Access::Read).expect("in memory");
    page.load_u32(va as usize % 4096)
}

fn pair(tlb: &mut Tlb, memory: &mut Flat, va: u64) -> u64 {
    u64::from(word(tlb, memory, va)) | (u64::from(word(tlb, memory, va + 4)) << 32)
}

/// The first block of both: which lanes have an element. `size` and `n` are where its arguments are.
fn elements(w: &mut Wave<64>, memory: &mut Flat, tlb: &mut Tlb, size: u64, n: u64) -> u64 {
    let at = w.pair(0);
    let group = word(tlb, memory, at + size) & 0xffff;
    let (first, n) = (w.s[2].wrapping_mul(group), word(tlb, memory, at + n));
    w.v[0].iter_mut().for_each(|i| *i = i.wrapping_add(first));
    let exec = w.exec();
    let with = gather::<64>(|l| w.v[0][l] < n) & exec;
    w.set_mask(code::EXEC, with);
    w.set_mask(code::VCC, with);
    w.set_pair(2, exec);
    with
}

/// Each lane's dword at `base` and four times v0. `None`: they don't lie in one page, or not all lanes are there.
fn row(w: &Wave<64>, base: u64, exec: u64) -> Option<u64> {
    let first = base + 4 * u64::from(w.v[0][0]);
    let apart = (0..64).fold(0, |apart, l| apart | (w.v[0][l] ^ (w.v[0][0] + l as u32)));
    (exec == u64::MAX && apart == 0 && first % 4096 <= 4096 - 256).then_some(first)
}

fn load(w: &Wave<64>, memory: &mut Flat, tlb: &mut Tlb, base: u64, exec: u64) -> [u32; 64] {
    let mut values = [0; 64];
    if let Some(first) = row(w, base, exec) {
        let page = tlb.page(memory, 0, first, Access::Read).expect("in memory");
        page.load_row(first as usize % 4096 / 4, &mut values);
        return values;
    }
    for l in (0..64).filter(|l| (exec >> l) & 1 == 1) {
        values[l] = word(tlb, memory, base + 4 * u64::from(w.v[0][l]));
    }
    values
}

fn store(
    w: &Wave<64>,
    (memory, tlb): (&mut Flat, &mut Tlb),
    base: u64,
    exec: u64,
    values: &[u32; 64],
) {
    if let Some(first) = row(w, base, exec) {
        let page = tlb
            .page(memory, 0, first, Access::Write)
            .expect("in memory");
        page.store_row(first as usize % 4096 / 4, values);
        return;
    }
    for l in (0..64).filter(|l| (exec >> l) & 1 == 1) {
        let va = base + 4 * u64::from(w.v[0][l]);
        let page = tlb.page(memory, 0, va, Access::Write).expect("in memory");
        page.store_u32(va as usize % 4096, values[l]);
    }
}

/// Lanes of `exec` get `new`.
fn merge(to: &mut [u32; 64], exec: u64, new: &[u32; 64]) {
    if exec == u64::MAX {
        *to = *new;
        return;
    }
    let on = lane_bits(exec);
    for l in 0..64 {
        to[l] = if on(l) { new[l] } else { to[l] };
    }
}

fn vadd(w: &mut Wave<64>, memory: &mut Flat, tlb: &mut Tlb) -> u64 {
    let at = w.pair(0);
    let exec = elements(w, memory, tlb, 0x2c, 0x18);
    if exec == 0 {
        return 10;
    }
    let [a, b, c] = [0, 8, 16].map(|n| pair(tlb, memory, at + n));
    let (from, more) = (load(w, memory, tlb, a, exec), load(w, memory, tlb, b, exec));
    let add = |l: usize| (f32::from_bits(from[l]) + f32::from_bits(more[l])).to_bits();
    let sum: [u32; 64] = std::array::from_fn(add);
    store(w, (memory, tlb), c, exec, &sum);
    // v[0:1] to v[4:5] hold addresses when the block ends, v2 the sum.
    let address = |base: u64, l: usize| base + 4 * u64::from(w.v[0][l]);
    let high = |base: u64| std::array::from_fn::<u32, 64, _>(|l| (address(base, l) >> 32) as u32);
    let low = |base: u64| std::array::from_fn::<u32, 64, _>(|l| address(base, l) as u32);
    let ends = [low(c), high(c), sum, high(b), low(a), high(a), from, more];
    for (to, end) in w.v.iter_mut().zip(&ends) {
        merge(to, exec, end);
    }
    23
}

fn collatz(w: &mut Wave<64>, memory: &mut Flat, tlb: &mut Tlb) -> u64 {
    let at = w.pair(0);
    let all = elements(w, memory, tlb, 0x24, 0x10);
    if all == 0 {
        return 10;
    }
    let [from, to] = [0, 8].map(|n| pair(tlb, memory, at + n));
    let first = load(w, memory, tlb, from, all);
    let mut exec = gather::<64>(|l| first[l] != 1) & all;
    let (mut values, mut steps) = (first.map(u64::from), [0u32; 64]);
    let on = lane_bits(exec);
    let mut live: [u64; 64] = std::array::from_fn(|l| if on(l) { u64::MAX } else { 0 });
    let mut count = 21 + 6;
    if exec != 0 {
        count += 4;
        for step in 1.. {
            // Two blocks, of which waves without a lane in the second one skip that.
            let mut even = 0;
            for (value, live) in values.iter_mut().zip(&live) {
                let odds = (*value & 1).wrapping_neg();
                let odd = value.wrapping_add(*value << 1).wrapping_add(1);
                even |= live & !odds;
                *value = (odd & odds & live) | ((*value >> 1) & !odds & live) | (*value & !live);
            }
            count += 11 + if even == 0 { 0 } else { 2 };
            let last = if step > 9999 { u64::MAX } else { 0 };
            for l in 0..64 {
                steps[l] = (step & live[l] as u32) | (steps[l] & !live[l] as u32);
                live[l] &= !last & if values[l] == 1 { 0 } else { u64::MAX };
            }
            exec = gather::<64>(|l| live[l] != 0);
            for (l, value) in values.iter().enumerate() {
                (w.v[2][l], w.v[3][l]) = (*value as u32, (*value >> 32) as u32);
            }
            w.v[4] = steps;
            w.set_mask(code::EXEC, exec);
            count += 12;
            if exec == 0 {
                break;
            }
        }
        count += 1;
    }
    w.set_mask(code::EXEC, all);
    store(w, (memory, tlb), to, all, &steps);
    count
}
