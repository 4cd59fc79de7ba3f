// SPDX-License-Identifier: MIT OR Apache-2.0
//! The interpreter with which the compute unit is compared: it takes one lane after the other, copies
//! its operands out of the registers, computes, and copies the result back. It decodes once, skips
//! inactive lanes, and knows only the instructions of collatz and matmul_naive on gfx942.

use rkfd_isa::decode::kind::Kind;
use rkfd_isa::decode::table::Family;
use rkfd_isa::decode::{code, Inst};
use rkfd_isa::target::Op;
use rkfd_isa::wave::Wave;
use rkfd_isa::{Access, ComputeUnit, Env, Workgroup, GFX942};
use rkfd_isa_testkit::{Flat, Launch};

/// Runs all workgroups; returns how many instructions of whole waves were executed.
pub fn run(launch: &Launch, memory: &mut Flat, cu: &mut ComputeUnit) -> u64 {
    let mut decoded = Vec::new();
    let mut count = 0;
    let (kernel, dispatch, scratch) = (&launch.kernel, &launch.dispatch, launch.scratch);
    let groups = |n: usize| dispatch.grid_size[n] / u32::from(dispatch.workgroup_size[n]);
    for id in (0..groups(1)).flat_map(|y| (0..groups(0)).map(move |x| [x, y, 0])) {
        let mut group =
            Workgroup::<64>::launch(cu, kernel, dispatch, id, scratch, &[]).expect("launch");
        for wave in group.waves_mut() {
            count += wave_to_end(wave, memory, &mut decoded);
        }
    }
    count
}

fn word(memory: &mut Flat, va: u64) -> u32 {
    let page = memory.translate(0, va, Access::Read).expect("in memory");
    page.load_u32(va as usize % 4096)
}

fn wave_to_end(w: &mut Wave<64>, memory: &mut Flat, decoded: &mut Vec<Option<Inst>>) -> u64 {
    let entry = w.pc;
    for count in 1.. {
        let pc = w.pc;
        let at = ((pc - entry) / 4) as usize;
        if decoded.len() <= at {
            decoded.resize(at + 1, None);
        }
        let i = *decoded[at].get_or_insert_with(|| {
            let words = [0, 4, 8].map(|n| word(memory, pc + n));
            GFX942.decode(words).expect("an instruction")
        });
        w.pc += u64::from(i.size);
        match i.family {
            Family::Sopp if i.op == Op::SEndpgm => return count,
            Family::Sopp | Family::Sopk | Family::Sopc | Family::Smem => control(w, &i, memory),
            Family::Sop1 | Family::Sop2 => scalar(w, &i),
            Family::Flat => global(w, &i, memory),
            _ => vector(w, &i),
        }
    }
    0
}

fn control(w: &mut Wave<64>, i: &Inst, memory: &mut Flat) {
    let taken = match (i.op, i.kind) {
        (_, Kind::Hint) => false,
        (_, Kind::Load(count)) => {
            let base = w.pair(i.src[0]) + u64::from(i.imm);
            for n in 0..u16::from(count) {
                w.set(i.dst + n, word(memory, base + 4 * u64::from(n)));
            }
            false
        }
        (Op::SCmpkGtU32, _) => {
            w.scc = w.s[i.dst as usize] > i.imm & 0xffff;
            false
        }
        (Op::SCmpEqU32, _) => {
            w.scc = w.scalar(i.src[0], i.imm) == w.scalar(i.src[1], i.imm);
            false
        }
        (Op::SBranch, _) => true,
        (Op::SCbranchScc0, _) => !w.scc,
        (Op::SCbranchExecz, _) => w.exec() == 0,
        (Op::SCbranchExecnz, _) => w.exec() != 0,
        other => panic!("{other:?} is in neither kernel"),
    };
    if taken {
        w.pc = w.pc.wrapping_add_signed(i64::from(i.imm as u16 as i16) * 4);
    }
}

fn scalar(w: &mut Wave<64>, i: &Inst) {
    let wide = |n: usize| w.scalar64(i.src[n], i.imm, rkfd_isa::wave::Wide::Signed);
    let (a, exec) = (wide(0), w.exec());
    let b = if i.src[1] == code::NONE { 0 } else { wide(1) };
    let (result, scc) = match i.op {
        Op::SMovB32 | Op::SMovB64 => (a, w.scc),
        Op::SAddI32 => (u64::from(a as u32).wrapping_add(b), false),
        Op::SMulI32 => (a.wrapping_mul(b), w.scc),
        Op::SAndB32 => (a & b, a as u32 & b as u32 != 0),
        Op::SAndB64 => (a & b, a & b != 0),
        Op::SOrB64 => (a | b, a | b != 0),
        Op::SXorB64 => (a ^ b, a ^ b != 0),
        Op::SAndn2B64 => (a & !b, a & !b != 0),
        Op::SCselectB64 => (if w.scc { a } else { b }, w.scc),
        Op::SAndSaveexecB64 | Op::SAndn2SaveexecB64 => {
            let new = if i.op == Op::SAndSaveexecB64 {
                a & exec
            } else {
                a & !exec
            };
            w.set_pair(code::EXEC, new);
            (exec, new != 0)
        }
        other => panic!("{other:?} is in neither kernel"),
    };
    w.scc = scc;
    if i.row.widths[0] == 2 {
        w.set_pair(i.dst, result);
    } else {
        w.set(i.dst, result as u32);
    }
}

/// One lane's operands.
fn copy(w: &Wave<64>, i: &Inst, lane: usize) -> [u64; 3] {
    std::array::from_fn(|n| match (i.src[n], i.row.widths[n + 1]) {
        (code::NONE, _) | (_, 0) => 0,
        (v @ code::VGPR.., 1) => u64::from(w.v[w.slot(v)][lane]),
        (v @ code::VGPR.., _) => {
            let at = w.slot(v);
            u64::from(w.v[at][lane]) | (u64::from(w.v[at + 1][lane]) << 32)
        }
        (s, 1) => u64::from(w.scalar(s, i.imm)),
        (s, _) => w.scalar64(s, i.imm, rkfd_isa::wave::Wide::Signed),
    })
}

fn write(w: &mut Wave<64>, i: &Inst, lane: usize, value: u64) {
    let at = w.slot(i.dst);
    w.v[at][lane] = value as u32;
    if i.row.widths[0] == 2 {
        w.v[at + 1][lane] = (value >> 32) as u32;
    }
}

fn float(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn vector(w: &mut Wave<64>, i: &Inst) {
    let (exec, mut mask) = (w.exec(), 0);
    for lane in (0..64).filter(|lane| (exec >> lane) & 1 == 1) {
        let [a, b, c] = copy(w, i, lane);
        if let Kind::Compare { when, .. } = i.kind {
            let relation = match a.cmp(&b) {
                std::cmp::Ordering::Less => 1,
                std::cmp::Ordering::Equal => 2,
                std::cmp::Ordering::Greater => 4,
            };
            mask |= u64::from(when & relation != 0) << lane;
            continue;
        }
        let value = match i.op {
            Op::VMovB32 | Op::VMovB64 => a,
            Op::VAddU32 => a + b,
            Op::VAndB32 => a & b,
            Op::VMaxU32 => a.max(b),
            Op::VMulLoU32 => a * b,
            Op::VBfeU32 => (a >> (b & 31)) & ((1 << (c & 31)) - 1),
            Op::VLshlAddU32 => (a << (b & 31)) + c,
            Op::VAddF32 => (float(a) + float(b)).to_bits().into(),
            Op::VMulF32 => (float(a) * float(b)).to_bits().into(),
            Op::VLshrrevB64 => b >> (a & 63),
            Op::VLshlAddU64 => (a << (b & 7)).wrapping_add(c),
            Op::VMadU64U32 => {
                let (sum, carry) = (a * b).overflowing_add(c);
                mask |= u64::from(carry) << lane;
                sum
            }
            other => panic!("{other:?} is in neither kernel"),
        };
        write(w, i, lane, value);
    }
    if i.sdst != code::NONE && (matches!(i.kind, Kind::Compare { .. }) || i.op == Op::VMadU64U32) {
        w.set_pair(i.sdst, mask);
    }
}

fn global(w: &mut Wave<64>, i: &Inst, memory: &mut Flat) {
    let exec = w.exec();
    for lane in (0..64).filter(|lane| (exec >> lane) & 1 == 1) {
        let at = w.slot(i.src[0]);
        let va = u64::from(w.v[at][lane]) | (u64::from(w.v[at + 1][lane]) << 32);
        let va = va.wrapping_add_signed(i64::from(i.imm as i32));
        match i.kind {
            Kind::Load(1) => {
                let value = word(memory, va);
                let at = w.slot(i.dst);
                w.v[at][lane] = value;
            }
            Kind::Store(1) => {
                let page = memory.translate(0, va, Access::Write).expect("in memory");
                page.store_u32(va as usize % 4096, w.v[w.slot(i.src[1])][lane]);
            }
            other => panic!("{other:?} is in neither kernel"),
        }
    }
}
