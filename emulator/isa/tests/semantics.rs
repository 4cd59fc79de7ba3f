// SPDX-License-Identifier: MIT OR Apache-2.0
//! Single instructions, assembled by llvm-mc, with results worked out by hand or by the CPU in
//! another way.

use rkfd_isa::*;
use rkfd_isa_testkit::*;

struct Machine {
    memory: Flat,
    cu: ComputeUnit,
    group: Workgroup,
}

/// One wave of 64 lanes about to run `text`; 32 v registers and 32 a registers, 1 KiB of LDS.
fn machine(text: &str) -> Machine {
    let mut memory = Flat::new(1 << 20);
    let mut cu = ComputeUnit::new();
    let at = memory.alloc(8192);
    let mut kd = [0u8; 64];
    kd[16..20].copy_from_slice(&256u32.to_le_bytes());
    kd[44] = 7;
    kd[48..52].copy_from_slice(&(7 | (0xf0u32 << 12) | (1 << 21) | (1 << 23)).to_le_bytes());
    kd[52] = 2 << 1;
    kd[56] = 8;
    memory.write(at, &kd);
    memory.write(
        at + 256,
        &assemble(&GFX942, 64, &format!("{text}\ns_endpgm\n")),
    );
    let kernel = cu.kernel(&mut memory, 0, at).expect("descriptor");
    let dispatch = Dispatch {
        workgroup_size: [64, 1, 1],
        grid_size: [64, 1, 1],
        group_segment_size: 1024,
        kernarg_address: memory.alloc(4096),
        apertures: APERTURES,
        ..Dispatch::default()
    };
    let group = Workgroup::launch(&mut cu, &kernel, &dispatch, [0; 3], Scratch::default(), &[])
        .expect("launch");
    Machine { memory, cu, group }
}

impl Machine {
    fn wave(&mut self) -> &mut wave::Wave<64> {
        &mut self.group.waves_mut()[0]
    }
    fn run(mut self) -> Self {
        let outcome = self.group.run(&mut self.cu, &mut self.memory, 1000);
        assert_eq!(outcome, Outcome::Done);
        self
    }
    fn s(&self, n: usize) -> u32 {
        self.group.waves()[0].s[n]
    }
    fn v(&self, n: usize, lane: usize) -> u32 {
        self.group.waves()[0].v[n][lane]
    }
    fn scc(&self) -> bool {
        self.group.waves()[0].scc
    }
}

/// Scalar results: text, s0, SCC.
#[test]
fn scalar_arithmetic() {
    for (text, s0, scc) in [
        ("s_mov_b32 s1, -1\ns_add_u32 s0, s1, 2", 1, true),
        ("s_brev_b32 s1, 1\ns_add_i32 s0, s1, s1", 0, true),
        ("s_mov_b32 s1, 3\ns_sub_u32 s0, s1, 5", 0xffff_fffe, true),
        ("s_add_u32 s1, -1, 1\ns_addc_u32 s0, 5, 6", 12, false),
        ("s_sub_u32 s1, 0, 1\ns_subb_u32 s0, 5, 5", 0xffff_ffff, true),
        ("s_min_i32 s0, -3, 2", 0xffff_fffd, true),
        ("s_max_u32 s0, -3, 2", 0xffff_fffd, true),
        ("s_lshl_b32 s0, 3, 33", 6, true),
        ("s_ashr_i32 s0, -8, 1", 0xffff_fffc, true),
        ("s_mov_b32 s1, 0x12345678\ns_bfe_u32 s0, s1, 0x80010", 0x34, true),
        ("s_movk_i32 s1, 0xf0\ns_bfe_i32 s0, s1, 0x40004", 0xffff_ffff, true),
        ("s_mul_hi_u32 s0, -1, 16", 15, false),
        ("s_ff1_i32_b64 s0, 0", 0xffff_ffff, false),
        ("s_flbit_i32_b32 s0, 0xffff", 16, false),
        ("s_bcnt1_i32_b64 s0, -1", 64, true),
        ("s_sext_i32_i8 s0, 0x80", 0xffff_ff80, false),
        ("s_lshl2_add_u32 s0, 3, 1", 13, false),
        ("s_absdiff_i32 s0, 3, 10", 7, true),
        ("s_movk_i32 s1, 0x1234\ns_pack_ll_b32_b16 s0, s1, 0x5678", 0x5678_1234, false),
        ("s_movk_i32 s0, -2\ns_addk_i32 s0, 3", 1, false),
        ("s_movk_i32 s0, 7\ns_cmpk_gt_u32 s0, 6", 7, true),
        ("s_cmp_lt_i32 -1, 0\ns_cselect_b32 s0, 11, 22", 11, true),
        ("s_mov_b64 s[2:3], 0xff\ns_bitcmp1_b64 s[2:3], 7\ns_movk_i32 s0, 0", 0, true),
        ("s_mov_b64 s[0:1], 1.0", 0, false),
        ("s_getreg_b32 s0, hwreg(HW_REG_MODE, 4, 4)", 15, false),
        ("s_mov_b64 exec, 5\ns_and_saveexec_b64 s[0:1], 4\ns_mov_b32 s0, exec_lo", 4, true),
        ("s_mov_b64 vcc, 0\ns_cbranch_vccz 1\ns_endpgm\ns_movk_i32 s0, 9", 9, false),
        ("s_getpc_b64 s[2:3]\ns_add_u32 s2, s2, 16\ns_addc_u32 s3, s3, 0\ns_swappc_b64 s[4:5], s[2:3]\ns_endpgm\ns_sub_u32 s0, s2, s4", 4, false),
    ] {
        let m = machine(text).run();
        assert_eq!((m.s(0), m.scc()), (s0, scc), "{text}");
    }
}

/// v0 of lane 3 after an instruction with v1 = a, v2 = b, v3 = c; v[4:5] = a | b << 32.
fn vector(text: &str, a: u32, b: u32, c: u32) -> u32 {
    let mut m = machine(text);
    let w = m.wave();
    for (n, x) in [(1, a), (2, b), (3, c), (4, a), (5, b)] {
        w.v[n] = [x; 64];
    }
    m.run().v(0, 3)
}

#[test]
fn vector_integers() {
    for (text, [a, b, c], want) in [
        (
            "v_perm_b32 v0, v1, v2, v3",
            [0x0706_0504, 0x0302_0100, 0x0c04_0700],
            0x0004_0700,
        ),
        (
            "v_perm_b32 v0, v1, v2, v3",
            [0x8000_0000, 0, 0x0d0b_0a09],
            0xffff_0000,
        ),
        (
            "v_bfi_b32 v0, v1, v2, v3",
            [0xff00, 0x1234_5678, 0xaaaa_aaaa],
            0xaaaa_56aa,
        ),
        (
            "v_bfe_i32 v0, v1, v2, v3",
            [0x0000_8000, 12, 4],
            0xffff_fff8,
        ),
        ("v_alignbit_b32 v0, v1, v2, v3", [1, 0x8000_0000, 31], 3),
        (
            "v_alignbyte_b32 v0, v1, v2, v3",
            [0x4433_2211, 0x8877_6655, 1],
            0x1188_7766,
        ),
        ("v_mad_u32_u24 v0, v1, v2, v3", [0xff00_0003, 5, 7], 22),
        ("v_med3_i32 v0, v1, v2, v3", [9, u32::MAX, 4], 4),
        (
            "v_sad_u8 v0, v1, v2, v3",
            [0x0105_00ff, 0x0500_0000, 1],
            4 + 5 + 255 + 1,
        ),
        ("v_mul_hi_i32 v0, v1, v2", [u32::MAX, 2, 0], u32::MAX),
        ("v_ffbh_u32 v0, v1", [0, 0, 0], u32::MAX),
        ("v_xad_u32 v0, v1, v2, v3", [0xf0, 0xff, 1], 0x10),
        ("v_lshlrev_b64 v[0:1], 1, v[4:5]", [0x8000_0001, 0, 0], 2),
        ("v_mbcnt_lo_u32_b32 v0, v1, v2", [u32::MAX, 10, 0], 13),
        ("v_mbcnt_hi_u32_b32 v0, v1, v2", [u32::MAX, 10, 0], 10),
        ("v_add_u16 v0, v1, v2", [0xffff_ffff, 2, 0], 1),
        ("v_mad_u16 v0, v1, v2, v3", [3, 5, 0xffff], 14),
        (
            "v_cmp_lt_u32 vcc, v1, v2\nv_cndmask_b32 v0, v1, v2, vcc",
            [3, 5, 0],
            5,
        ),
        (
            "v_cmp_ge_i64 vcc, v[4:5], 0\nv_cndmask_b32 v0, 0, 1, vcc",
            [0, u32::MAX, 0],
            0,
        ),
        (
            "v_add_co_u32 v0, vcc, v1, v2\nv_addc_co_u32 v0, vcc, 0, 0, vcc",
            [u32::MAX, 1, 0],
            1,
        ),
        ("v_pk_add_u16 v0, v1, v2", [0xffff_0001, 0x0001_0002, 0], 3),
        (
            "v_pk_lshlrev_b16 v0, v1, v2 op_sel:[0,1] op_sel_hi:[0,0]",
            [4, 0x0123_0045, 0],
            0x0450_1230,
        ),
    ] {
        assert_eq!(vector(text, a, b, c), want, "{text} {a:#x} {b:#x} {c:#x}");
    }
}

#[test]
fn vector_floats() {
    let f = f32::to_bits;
    for (text, [a, b, c], want) in [
        ("v_add_f32 v0, v1, -v2", [f(1.5), f(0.25), 0], f(1.25)),
        (
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 6), 0x10\nv_mul_f32 v0, |v1|, v2 mul:4",
            [f(-1.5), f(2.0), 0],
            f(12.0),
        ),
        ("v_add_f32 v0, v1, v2 clamp", [f(0.75), f(0.75), 0], f(1.0)),
        (
            "v_add_f32 v0, v1, v2",
            [0x7f80_0001, f(1.0), 0],
            0x7fc0_0001,
        ),
        (
            "v_sub_f32 v0, v1, v2",
            [0x7f80_0000, 0x7f80_0000, 0],
            0x7fc0_0000,
        ),
        (
            "v_fma_f32 v0, v1, v2, v3",
            [0x3f80_0001, 0x3f80_0001, f(-1.0)],
            f(2f32.powi(-22) + 2f32.powi(-46)),
        ),
        (
            "v_fmamk_f32 v0, v1, 0x40400000, v2",
            [f(2.0), f(1.0), 0],
            f(7.0),
        ),
        ("v_min_f32 v0, v1, v2", [0x7fc0_0000, f(3.0), 0], f(3.0)),
        ("v_max_f32 v0, v1, v2", [0x8000_0000, 0, 0], 0),
        ("v_cvt_u32_f32 v0, v1", [f(-5.0), 0, 0], 0),
        ("v_cvt_i32_f32 v0, v1", [0x7fc0_0000, 0, 0], 0),
        ("v_cvt_f32_u32 v0, v1", [0xffff_ffff, 0, 0], f(4294967296.0)),
        ("v_rndne_f32 v0, v1", [f(2.5), 0, 0], f(2.0)),
        ("v_fract_f32 v0, v1", [f(-0.25), 0, 0], f(0.75)),
        ("v_ldexp_f32 v0, v1, v2", [f(1.0), (-149i32) as u32, 0], 1),
        ("v_cvt_f16_f32 v0, v1", [f(1.0), 0, 0], 0x3c00),
        ("v_cvt_f32_f16 v0, v1", [0xbc00, 0, 0], f(-1.0)),
        (
            "v_cmp_class_f32 vcc, v1, v2\nv_cndmask_b32 v0, 0, 1, vcc",
            [0x8000_0001, 1 << 4, 0],
            1,
        ),
        (
            "v_cmp_nlt_f32 vcc, v1, v2\nv_cndmask_b32 v0, 0, 1, vcc",
            [0x7fc0_0000, 0, 0],
            1,
        ),
        // Towards zero, then flush denormals, through MODE.
        (
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 3\nv_add_f32 v0, v1, v2",
            [f(1.0), f(-1e-20), 0],
            0x3f7f_ffff,
        ),
        (
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 0, 2), 1\nv_mul_f32 v0, v1, v2",
            [0x3f80_0001, 0x3f80_0001, 0],
            0x3f80_0003,
        ),
        (
            "s_setreg_imm32_b32 hwreg(HW_REG_MODE, 4, 2), 0\nv_add_f32 v0, v1, v2",
            [1, 0, 0],
            0,
        ),
    ] {
        assert_eq!(vector(text, a, b, c), want, "{text} {a:#x} {b:#x} {c:#x}");
    }
}

#[test]
fn inactive_lanes_keep_their_values() {
    let mut m = machine("s_mov_b64 exec, 0xf0\nv_mov_b32 v0, 7\nv_cmp_eq_u32 s[2:3], 7, v0\nv_readfirstlane_b32 s4, v1");
    m.wave().v[0] = [1; 64];
    m.wave().v[1] = std::array::from_fn(|l| l as u32);
    let m = m.run();
    assert_eq!([m.v(0, 3), m.v(0, 4), m.v(0, 7), m.v(0, 8)], [1, 7, 7, 1]);
    assert_eq!([m.s(2), m.s(3), m.s(4)], [0xf0, 0, 4]);
}

#[test]
fn packed_pairs_and_accumulation_registers() {
    let text = "v_pk_fma_f32 v[6:7], v[4:5], v[2:3], 1.0 op_sel_hi:[1,1,0]\nv_accvgpr_write_b32 a31, v7\nv_accvgpr_read_b32 v0, a31";
    let mut m = machine(text);
    for (n, x) in [(2, 3f32), (3, 4.0), (4, 5.0), (5, 6.0)] {
        m.wave().v[n] = [x.to_bits(); 64];
    }
    let m = m.run();
    assert_eq!(
        [m.v(6, 0), m.v(7, 0), m.v(0, 63)],
        [16f32, 25.0, 25.0].map(f32::to_bits)
    );
    assert_eq!(m.v(32 + 31, 5), 25f32.to_bits(), "a31 follows ACCUM_OFFSET");
}

/// As LLVM uses it: elements 1 and 2 of two pairs (`shufflevector`, mask <1, 2>) by op_sel:[1,0], and
/// a copy of both by op_sel:[0,1]; op_sel_hi is never looked at.
#[test]
fn a_packed_move_takes_both_halves_by_op_sel() {
    let text = "v_pk_mov_b32 v[6:7], v[2:3], v[4:5] op_sel:[1,0]\nv_pk_mov_b32 v[8:9], v[2:3], v[4:5] op_sel:[0,1]\n\
        v_pk_mov_b32 v[4:5], v[2:3], v[4:5] op_sel:[1,0] op_sel_hi:[0,0]";
    let mut m = machine(text);
    for n in 2..6 {
        m.wave().v[n] = [n as u32; 64];
    }
    let m = m.run();
    assert_eq!([6, 7, 8, 9, 4, 5].map(|n| m.v(n, 63)), [3, 4, 2, 5, 3, 4]);
}

#[test]
fn lds_operations() {
    let text = "ds_write_b32 v1, v2\nds_add_rtn_u32 v3, v1, v2\nds_cmpst_rtn_b32 v4, v1, v5, v6\nds_read_b32 v0, v1\n\
        ds_write2_b32 v1, v5, v6 offset0:64 offset1:128\nds_read2_b32 v[8:9], v1 offset0:128 offset1:64\nds_read_u16 v7, v1 offset:2";
    let mut m = machine(text);
    let lane = |f: fn(u32) -> u32| std::array::from_fn(|l| f(l as u32));
    m.wave().v[1] = lane(|l| l * 4);
    m.wave().v[2] = lane(|l| l * 0x1_0001);
    m.wave().v[5] = lane(|l| if l % 2 == 0 { l * 0x2_0002 } else { 0 });
    m.wave().v[6] = [77; 64];
    let m = m.run();
    // Even lanes compare equal and are exchanged.
    assert_eq!(
        [m.v(3, 6), m.v(4, 6), m.v(0, 6), m.v(7, 6)],
        [0x6_0006, 0xc_000c, 77, 0]
    );
    assert_eq!([m.v(4, 7), m.v(0, 7), m.v(7, 7)], [0xe_000e, 0xe_000e, 0xe]);
    assert_eq!([m.v(8, 6), m.v(9, 6)], [77, 0xc_000c]);
}

#[test]
fn lane_permutations() {
    let text = "ds_bpermute_b32 v3, v1, v2\nds_permute_b32 v4, v1, v2\nds_swizzle_b32 v5, v2 offset:swizzle(BITMASK_PERM, \"pppp1\")\n\
        ds_swizzle_b32 v6, v2 offset:swizzle(QUAD_PERM, 3, 2, 1, 0)\nv_readlane_b32 s4, v2, 9\nv_writelane_b32 v2, 5, 1";
    let mut m = machine(text);
    m.wave().v[1] = std::array::from_fn(|l| (l as u32 + 1) * 4);
    m.wave().v[2] = std::array::from_fn(|l| 100 + l as u32);
    let m = m.run();
    assert_eq!(
        [m.v(3, 0), m.v(3, 63), m.v(4, 1), m.v(4, 0)],
        [101, 100, 100, 163]
    );
    assert_eq!(
        [m.v(5, 2), m.v(6, 4), m.s(4), m.v(2, 1)],
        [103, 107, 109, 5]
    );
}

#[test]
fn memory_of_every_width() {
    let text = "v_mov_b32 v10, 0\nglobal_load_dwordx4 v[12:15], v10, s[0:1]\nglobal_load_dwordx3 v[16:18], v10, s[0:1] offset:5\n\
        global_load_sbyte v20, v10, s[0:1] offset:7\nglobal_load_short_d16_hi v21, v10, s[0:1]\nglobal_atomic_inc v22, v10, v11, s[0:1] offset:32 sc0\n\
        s_waitcnt vmcnt(0)\nglobal_store_byte v10, v12, s[0:1] offset:64\ns_waitcnt vmcnt(0)\ns_memtime s[6:7]\ns_sendmsg 1";
    let mut m = machine(text);
    let base = u64::from(m.group.waves()[0].s[0]) | (u64::from(m.group.waves()[0].s[1]) << 32);
    let bytes: Vec<u8> = (0..32u8).map(|b| b.wrapping_mul(16) + b % 16).collect();
    m.memory.write(base, &bytes);
    m.wave().v[11] = [62; 64];
    m.wave().v[21] = [0xabcd; 64];
    let m = m.run();
    let word =
        |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    assert_eq!([m.v(12, 1), m.v(15, 1)], [word(0), word(12)]);
    assert_eq!(
        [m.v(16, 1), m.v(17, 1), m.v(18, 1)],
        [word(5), word(9), word(13)],
        "unaligned"
    );
    assert_eq!(m.v(20, 0), bytes[7] as i8 as u32);
    assert_eq!(m.v(21, 0), ((word(0) & 0xffff) << 16) | 0xabcd);
    // 64 increments that wrap after 62: 63 steps make 0 again, one more makes 1.
    assert_eq!(m.memory.words(base + 32, 1)[0], 1);
    assert_eq!(m.v(22, 63), 0);
    assert_eq!(m.memory.read(base + 64, 2), [bytes[0], 0]);
    assert_eq!((m.s(6), &m.memory.messages[..]), (1, &[(1u16, 0u32)][..]));
}
