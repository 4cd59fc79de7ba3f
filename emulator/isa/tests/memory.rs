// SPDX-License-Identifier: MIT OR Apache-2.0
//! Buffer and scalar memory, LDS beyond loads and stores, packed atomics, and global
//! synchronisation.

#![expect(clippy::precedence, reason = "formulas read as the manuals print them")]

use half::{bf16, f16};
use rkfd_isa::*;
use rkfd_isa_testkit::*;
use std::num::NonZeroU32;

const KIB: usize = 1024;

/// Execute a few instructions on one wave with memory at `BASE` and LDS.
fn run<const L: usize>(
    target: &Target,
    text: &str,
    memory: &mut Flat,
    lds: &mut [u8],
    set: impl Fn(&mut wave::Wave<L>),
) -> wave::Wave<L> {
    let mut wave = blank::<L>(32);
    set(&mut wave);
    for code in assemble_each(target, L, text) {
        step(target, &mut wave, &code, memory, lds).unwrap_or_else(|e| panic!("{text}: {e}"));
    }
    wave
}

/// A descriptor in s[4:7]: base, stride, records, the last word.
fn descriptor<const L: usize>(w: &mut wave::Wave<L>, stride: u32, records: u32, last: u32) {
    w.s[4] = BASE as u32;
    w.s[5] = (BASE >> 32) as u32 | (stride << 16);
    w.s[6] = records;
    // A buffer without a data format is none.
    let format = if last >> 12 & 0x7f == 0 { 4 << 15 } else { 0 };
    w.s[7] = last | format;
}

fn numbered(bytes: usize) -> Flat {
    let mut memory = Flat::new(bytes);
    let words: Vec<u32> = (0..bytes as u32 / 4).collect();
    memory.put(&words);
    memory
}

#[test]
fn raw_buffers() {
    // Both chips: an offset register, a scalar offset, the instruction's; what lies beyond is zero.
    for (target, load) in [
        (
            &GFX942,
            "buffer_load_dwordx2 v[2:3], v0, s[4:7], s8 offen offset:16",
        ),
        (
            &GFX1201,
            "buffer_load_b64 v[2:3], v0, s[4:7], s8 offen offset:16",
        ),
    ] {
        let set = |v0: &mut [u32], s: &mut target::Scalars| {
            v0.iter_mut()
                .enumerate()
                .for_each(|(l, x)| *x = 8 * l as u32);
            s[8] = 32;
        };
        // The last word's check: gfx12 asks for raw bounds by 3.
        let last = if target.name == "gfx942" { 0 } else { 3 << 28 };
        let (mut memory, lanes) = (numbered(8 * KIB), if last == 0 { 64 } else { 32 });
        let [second, third] = if lanes == 64 {
            let w = run::<64>(target, load, &mut memory, &mut [], |w| {
                descriptor(w, 0, 16 + 8 * 40 + 4 + if last == 0 { 32 } else { 0 }, last);
                set(&mut w.v[0], &mut w.s);
            });
            [w.v[2].to_vec(), w.v[3].to_vec()]
        } else {
            let w = run::<32>(target, load, &mut memory, &mut [], |w| {
                descriptor(w, 0, 16 + 8 * 20 + 4, last);
                set(&mut w.v[0], &mut w.s);
            });
            [w.v[2].to_vec(), w.v[3].to_vec()]
        };
        let inside = if lanes == 64 { 40 } else { 20 };
        for l in 0..lanes {
            let first = 12 + 2 * l as u32;
            assert_eq!(
                second[l],
                if l <= inside { first } else { 0 },
                "{} lane {l}",
                target.name
            );
            assert_eq!(
                third[l],
                if l < inside { first + 1 } else { 0 },
                "{} lane {l}",
                target.name
            );
        }
    }
}

#[test]
fn structured_and_swizzled_buffers() {
    let mut memory = numbered(64 * KIB);
    // Items of 12 bytes, checked by index.
    let load = "buffer_load_dword v2, v0, s[4:7], 0 idxen offset:8";
    let w = run::<64>(&GFX942, load, &mut memory, &mut [], |w| {
        descriptor(w, 12, 10, 0);
        // Raw checks count bytes; the swizzle makes the check one of items: eight side by side.
        w.s[5] |= 1 << 31;
        w.v[0] = std::array::from_fn(|l| l as u32);
    });
    for l in 0..64u32 {
        // Element 2 of item l: blocks of 8 items, each element of all eight together.
        let word = l / 8 * 8 * 3 + 2 * 8 + l % 8;
        assert_eq!(
            w.v[2][l as usize],
            if l < 10 { word } else { 0 },
            "lane {l}"
        );
    }
    let linear = run::<64>(&GFX942, load, &mut memory, &mut [], |w| {
        descriptor(w, 12, 10, 0);
        w.v[0] = std::array::from_fn(|l| l as u32);
    });
    assert_eq!(
        [linear.v[2][3], linear.v[2][9], linear.v[2][10]],
        [11, 29, 0]
    );
}

#[test]
fn buffer_stores_and_atomics() {
    let mut memory = Flat::new(4 * KIB);
    let text = "buffer_store_byte v1, v0, s[4:7], 0 offen\nbuffer_store_short_d16_hi v1, v0, s[4:7], 0 offen offset:2\n\
        buffer_atomic_add v2, off, s[4:7], 0 offset:1024 sc0\nbuffer_atomic_pk_add_f16 v3, off, s[4:7], 0 offset:1028";
    let w = run::<64>(&GFX942, text, &mut memory, &mut [], |w| {
        descriptor(w, 0, 2048, 0);
        w.v[0] = std::array::from_fn(|l| 8 * l as u32);
        w.v[1] = std::array::from_fn(|l| 0xab00_0000 | (l as u32) << 16 | 0x50 | l as u32 & 15);
        w.v[2] = [3; 64];
        w.v[3] = [u32::from(f16::from_f32(0.5).to_bits())
            | u32::from(f16::from_f32(-1.0).to_bits()) << 16; 64];
    });
    for l in 0..64u32 {
        let bytes = memory.read(BASE + u64::from(8 * l), 4);
        assert_eq!(bytes, [0x50 | l as u8 & 15, 0, l as u8, 0xab], "lane {l}");
    }
    assert_eq!(memory.words(BASE + 1024, 1), [192]);
    assert_eq!([w.v[2][0], w.v[2][63]], [0, 189]);
    let sums = memory.words(BASE + 1028, 1)[0];
    assert_eq!(
        [sums as u16, (sums >> 16) as u16].map(|b| f16::from_bits(b).to_f32()),
        [32.0, -64.0]
    );
}

#[test]
fn loads_into_lds() {
    let mut memory = numbered(4 * KIB);
    let mut lds = vec![0; KIB];
    let text = "buffer_load_dword v0, s[4:7], 0 offen offset:4 lds\nglobal_load_lds_ubyte v2, s[8:9] offset:256";
    run::<64>(&GFX942, text, &mut memory, &mut lds, |w| {
        descriptor(w, 0, 4096, 0);
        (w.s[8], w.s[9], w.s[124]) = (BASE as u32, (BASE >> 32) as u32, 16);
        w.v[0] = std::array::from_fn(|l| 4 * (63 - l as u32));
        w.v[2] = std::array::from_fn(|l| 4 * l as u32);
    });
    let word = |at: usize| u32::from_le_bytes([lds[at], lds[at + 1], lds[at + 2], lds[at + 3]]);
    for l in 0..59 {
        assert_eq!(word(16 + 4 + 4 * l), 64 - l as u32, "lane {l}");
    }
    assert_eq!(word(16 + 256 + 4 * 7), 64 + 7);
}

#[test]
fn scalar_stores_atomics_and_buffers() {
    let mut memory = numbered(4 * KIB);
    let text =
        "s_buffer_load_dwordx4 s[12:15], s[4:7], 0x18\ns_store_dwordx2 s[12:13], s[4:5], 0x100\n\
        s_atomic_add s16, s[4:5], 0x40 glc\ns_atomic_cmpswap_x2 s[20:23], s[4:5], 0x80 glc";
    let w = run::<64>(&GFX942, text, &mut memory, &mut [], |w| {
        descriptor(w, 0, 0x20, 0);
        w.s[16] = 1000;
        (w.s[20], w.s[21], w.s[22], w.s[23]) = (5, 6, 32, 33);
    });
    assert_eq!(w.s[12..16], [6, 7, 0, 0], "zeros beyond 32 bytes");
    assert_eq!(memory.words(BASE + 0x100, 2), [6, 7]);
    assert_eq!((memory.words(BASE + 0x40, 1)[0], w.s[16]), (1016, 16));
    assert_eq!(memory.words(BASE + 0x80, 2), [5, 6]);
    assert_eq!(w.s[20..22], [32, 33]);
    let text = "s_buffer_load_i8 s12, s[4:7], 0x0c\ns_buffer_load_b96 s[16:18], s[4:7], 0x8";
    let w = run::<32>(&GFX1201, text, &mut memory, &mut [], |w| {
        descriptor(w, 0, 0x40, 0)
    });
    assert_eq!((w.s[12], &w.s[16..19]), (3, &[2, 3, 4][..]));
}

/// Scratch's register counts in blocks of 64 bytes, its constant in bytes.
#[test]
fn scalar_scratch() {
    let mut memory = numbered(8 * KIB);
    let text = "s_scratch_load_dword s8, s[4:5], s6\n\
        s_scratch_load_dwordx2 s[10:11], s[4:5], 0x24\n\
        s_scratch_load_dwordx4 s[12:15], s[4:5], s6 offset:0x10\n\
        s_scratch_store_dwordx2 s[12:13], s[4:5], s7";
    let w = run::<64>(&GFX942, text, &mut memory, &mut [], |w| {
        descriptor(w, 0, 3, 20);
        w.s[7] = 20;
    });
    assert_eq!(w.s[8], 3 * 16);
    assert_eq!(w.s[10..12], [9, 10]);
    assert_eq!(w.s[12..16], [52, 53, 54, 55]);
    assert_eq!(memory.words(BASE + 20 * 64, 3), [52, 53, 20 * 16 + 2]);
}

#[test]
fn lds_counters_and_exchanges() {
    let mut lds = vec![0; KIB];
    let text = "ds_append v1 offset:8\nds_consume v2 offset:12\nds_read_addtid_b32 v3 offset:64\n\
        ds_wrxchg2_rtn_b32 v[4:5], v0, v6, v7 offset0:40 offset1:120\nds_mskor_rtn_b32 v8, v0, v6, v7 offset:300\n\
        ds_wrap_rtn_b32 v9, v0, v6, v7 offset:640\nds_pk_add_rtn_bf16 v10, v0, v11 offset:768";
    let put =
        |lds: &mut Vec<u8>, at: usize, x: u32| lds[at..at + 4].copy_from_slice(&x.to_le_bytes());
    put(&mut lds, 40, 100);
    put(&mut lds, 44, 200);
    for l in 0..64 {
        put(&mut lds, 96 + 4 * l, 7000 + l as u32);
    }
    let one = u32::from(bf16::from_f32(1.5).to_bits());
    for l in 0..32 {
        put(&mut lds, 768 + 4 * l, one | one << 16);
    }
    let mut memory = Flat::new(4 * KIB);
    let w = run::<64>(&GFX942, text, &mut memory, &mut lds, |w| {
        w.s[124] = 32;
        w.set_pair(126, 0xffff_ffff);
        w.v[0] = std::array::from_fn(|l| 4 * l as u32);
        w.v[6] = std::array::from_fn(|l| 0xff00 + l as u32);
        w.v[7] = [0x11; 64];
        w.v[11] = [u32::from(bf16::from_f32(0.25).to_bits()); 64];
    });
    let word = |at: usize| u32::from_le_bytes([lds[at], lds[at + 1], lds[at + 2], lds[at + 3]]);
    assert_eq!(
        [w.v[1][9], w.v[2][9], word(40), word(44)],
        [100, 200, 132, 168]
    );
    assert_eq!(w.v[3][5], 7005);
    // Old values at 160 + 4 l, of the numbers above; new ones from both operands.
    assert_eq!(
        [w.v[4][2], word(160 + 8), word(480 + 8)],
        [7000 + (160 - 96) / 4 + 2, 0xff02, 0x11]
    );
    // 300 + 4 l: still the numbers; clear the first operand's bits, set the second's.
    let old = 7000 + (300 - 96) / 4 + 3;
    assert_eq!([w.v[8][3], word(300 + 12)], [old, old & !0xff03 | 0x11]);
    // Zero is below the first operand, so the second is added.
    assert_eq!([w.v[9][1], word(640 + 4)], [0, 0x11]);
    let sum = u32::from(bf16::from_f32(1.75).to_bits());
    assert_eq!(
        [w.v[10][4], word(768 + 16)],
        [one | one << 16, sum | one << 16]
    );
}

#[test]
fn swizzle_rotates() {
    let text = "ds_swizzle_b32 v1, v0 offset:swizzle(BITMASK_PERM, \"00000\")";
    let w = run::<64>(&GFX942, text, &mut Flat::new(4 * KIB), &mut [], |w| {
        w.v[0] = std::array::from_fn(|l| l as u32)
    });
    assert_eq!([w.v[1][5], w.v[1][37]], [0, 32]);
    // Offset 0xc000 + rotation by 3 << 5: from three lanes up, in groups of 32.
    let mut wave = blank::<64>(32);
    wave.v[0] = std::array::from_fn(|l| l as u32);
    let mut code = assemble(&GFX942, 64, "ds_swizzle_b32 v1, v0 offset:0x8000");
    code[..2].copy_from_slice(&0xc060u16.to_le_bytes());
    step(&GFX942, &mut wave, &code, &mut Flat::new(4 * KIB), &mut []).expect("runs");
    assert_eq!([wave.v[1][0], wave.v[1][30], wave.v[1][40]], [3, 1, 43]);
}

#[test]
fn packed_and_conditional_atomics_in_memory() {
    let mut memory = Flat::new(4 * KIB);
    let start = memory.put(&[10u32, 5, 0x3c00_3c00, 0x3f80_3f80]);
    let text = "global_atomic_cond_sub_u32 v1, v0, v2, s[4:5] th:TH_ATOMIC_RETURN\nglobal_atomic_sub_clamp_u32 v0, v2, s[4:5] offset:4\n\
        global_atomic_pk_add_f16 v0, v3, s[4:5] offset:8\nglobal_atomic_pk_add_bf16 v0, v4, s[4:5] offset:12";
    let w = run::<32>(&GFX1201, text, &mut memory, &mut [], |w| {
        (w.s[4], w.s[5]) = (start as u32, (start >> 32) as u32);
        w.set(126, 7);
        w.v[2] = [4; 32];
        w.v[3] = [0x4000_c000; 32];
        w.v[4] = [0x4000_c000; 32];
    });
    // 10 - 4 - 4, and then 2 is too little; 5 - 4, then nothing; 1 +- 3 * 2 of either format.
    assert_eq!(w.v[1][..3], [10, 6, 2]);
    let got = memory.words(start, 4);
    assert_eq!(got[..2], [2, 0]);
    assert_eq!(
        [got[2] as u16, (got[2] >> 16) as u16].map(|b| f16::from_bits(b).to_f32()),
        [-5.0, 7.0]
    );
    assert_eq!(
        [got[3] as u16, (got[3] >> 16) as u16].map(|b| bf16::from_bits(b).to_f32()),
        [-5.0, 7.0]
    );
}

/// A device with one barrier, which opens at the request with a certain number.
struct Device {
    flat: Flat,
    asked: Vec<GwsRequest>,
    opens: u32,
}
impl Env for Device {
    fn epoch(&self) -> u64 {
        self.flat.epoch()
    }
    fn translate(&mut self, vmid: u8, va: u64, access: Access) -> Result<HostPage, Reason> {
        self.flat.translate(vmid, va, access)
    }
    fn clock(&mut self) -> u64 {
        0x1_2345_6789
    }
    fn interrupt(&mut self, _: u16, _: u32, _: bool) {}
    fn synchronise(&mut self, _: u8, request: &GwsRequest) -> GwsAnswer {
        self.asked.push(*request);
        match NonZeroU32::new(self.asked.len() as u32) {
            Some(ticket) if request.operation == Gws::Barrier && ticket.get() < self.opens => {
                GwsAnswer::Wait(ticket)
            }
            _ => GwsAnswer::Go,
        }
    }
    fn reply(&mut self, message: u16) -> Option<u64> {
        (message == 128).then_some(0x42)
    }
}

/// A workgroup of a program on a device, and the compute unit.
fn launch(text: &str, items: u16, opens: u32) -> (Device, ComputeUnit, Workgroup) {
    let mut device = Device {
        flat: Flat::new(64 * KIB),
        asked: Vec::new(),
        opens,
    };
    let mut cu = ComputeUnit::new();
    let at = device.flat.alloc(8 * KIB);
    let mut kd = [0u8; 64];
    kd[16..20].copy_from_slice(&256u32.to_le_bytes());
    kd[48..52].copy_from_slice(&(1 | (0xf0u32 << 12)).to_le_bytes());
    device.flat.write(at, &kd);
    device.flat.write(at + 256, &assemble(&GFX942, 64, text));
    let kernel = cu.kernel(&mut device, 0, at).expect("descriptor");
    let dispatch = Dispatch {
        workgroup_size: [items, 1, 1],
        grid_size: [items.into(), 1, 1],
        ..Dispatch::default()
    };
    let group = Workgroup::launch(&mut cu, &kernel, &dispatch, [0; 3], Scratch::default(), &[])
        .expect("launch");
    (device, cu, group)
}

#[test]
fn a_workgroup_that_only_waits_gives_its_turn_back() {
    // The second wave counts 64 * 20 down before it comes.
    let text = "v_readfirstlane_b32 s0, v0\ns_mul_i32 s0, s0, 20\ns_cmp_eq_u32 s0, 0\n\
        s_cbranch_scc1 2\ns_sub_u32 s0, s0, 1\ns_branch 65532\ns_mov_b32 m0, 0\n\
        ds_gws_barrier v0 gds\ns_endpgm";
    let (mut device, mut cu, mut group) = launch(text, 128, u32::MAX);
    assert_eq!(group.run(&mut cu, &mut device, 1 << 20), Outcome::Budget);
    // It has come, while the first one has waited from the start.
    assert!(group.waves().iter().all(|wave| wave.ticket.is_some()));
    let executed = cu.statistics().instructions;
    assert!(
        (64 * 20 * 4..64 * 20 * 4 + 50).contains(&executed),
        "{executed}"
    );
    let before = device.asked.len();
    assert_eq!(group.run(&mut cu, &mut device, 1 << 20), Outcome::Budget);
    assert_eq!(device.asked.len(), before + 2, "each asks once");
    device.opens = 0;
    assert_eq!(group.run(&mut cu, &mut device, 1 << 20), Outcome::Done);
}

#[test]
fn global_synchronisation_and_messages_are_the_devices() {
    let text = "s_mov_b32 m0, 0x30000\nv_mov_b32 v2, 5\nds_gws_init v2 offset:1 gds\nds_gws_barrier v2 offset:1 gds\ns_endpgm";
    let (mut device, mut cu, mut group) = launch(text, 64, 4);
    for _ in 0..2 {
        assert_eq!(group.run(&mut cu, &mut device, 100), Outcome::Budget);
    }
    assert_eq!(group.run(&mut cu, &mut device, 100), Outcome::Done);
    // A wave that asks again shows the ticket that the device gave it.
    let asked = |operation, ticket| GwsRequest {
        operation,
        resource: 4,
        value: 5,
        ticket: NonZeroU32::new(ticket),
    };
    let barrier = [0, 2, 3].map(|ticket| asked(Gws::Barrier, ticket));
    assert_eq!(
        device.asked,
        [&[asked(Gws::Init, 0)], &barrier[..]].concat()
    );
    // The time, and an answer of the device.
    let mut wave = blank::<32>(8);
    for text in [
        "s_sendmsg_rtn_b64 s[2:3], sendmsg(MSG_RTN_GET_REALTIME)",
        "s_sendmsg_rtn_b32 s4, sendmsg(MSG_RTN_GET_DOORBELL)",
    ] {
        let inst = GFX1201
            .decode(words(&assemble(&GFX1201, 32, text)))
            .expect("decodes");
        let mut tlb = rkfd_isa::memory::Tlb::default();
        let mut context = exec::Context {
            env: &mut device,
            caches: None,
            tlb: &mut tlb,
            lds: &mut [],
            vmid: 0,
            others: Default::default(),
            watching: Default::default(),
        };
        exec::execute(&mut wave, &inst, &mut context).expect(text);
    }
    assert_eq!([wave.s[2], wave.s[3], wave.s[4]], [0x2345_6789, 1, 0x42]);
}
