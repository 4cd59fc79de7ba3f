// SPDX-License-Identifier: MIT OR Apache-2.0
//! Single instructions of gfx1201, assembled by llvm-mc: what gfx942 does not have, or has in
//! another form.

use rkfd_isa::*;
use rkfd_isa_testkit::*;

struct Machine<const L: usize> {
    memory: Flat,
    cu: ComputeUnit,
    group: Workgroup<L>,
}

/// Waves about to run `text` on `items` work items; 32 v registers, 1 KiB of LDS.
fn machine<const L: usize>(text: &str, items: u16) -> Machine<L> {
    let mut memory = Flat::new(1 << 20);
    // Waves one after the other, so that it is known which comes first.
    let checks = Checks {
        seed: None,
        ..Checks::default()
    };
    let mut cu = ComputeUnit::with_checks(&GFX1201, checks);
    let at = memory.alloc(8192);
    let code = assemble(&GFX1201, L, &format!("{text}\ns_endpgm\n"));
    memory.write(at, &descriptor_gfx1201(L, 256));
    memory.write(at + 256, &code);
    let kernel = cu.kernel(&mut memory, 0, at).expect("descriptor");
    let dispatch = Dispatch {
        workgroup_size: [items, 1, 1],
        grid_size: [u32::from(items) * 3, 5, 7],
        group_segment_size: 1024,
        kernarg_address: memory.alloc(4096),
        apertures: APERTURES,
        ..Dispatch::default()
    };
    let group = Workgroup::launch(
        &mut cu,
        &kernel,
        &dispatch,
        [2, 3, 4],
        Scratch::default(),
        &[],
    )
    .expect("launch");
    Machine { memory, cu, group }
}

impl<const L: usize> Machine<L>
where
    Workgroup<L>: Run,
{
    fn wave(&mut self) -> &mut wave::Wave<L> {
        &mut self.group.waves_mut()[0]
    }
    fn outcome(&mut self) -> Outcome {
        self.group.run(&mut self.cu, &mut self.memory, 1000)
    }
    fn run(mut self) -> Self {
        assert_eq!(self.outcome(), Outcome::Done);
        self
    }
    fn s(&self, n: usize) -> u32 {
        self.group.waves()[0].s[n]
    }
    fn v(&self, n: usize, lane: usize) -> u32 {
        self.group.waves()[0].v[n][lane]
    }
}

/// Scalar results: text, s0, SCC.
#[test]
fn scalar_arithmetic() {
    for (text, s0, scc) in [
        ("s_mov_b32 s1, -1\ns_add_co_u32 s0, s1, 2", 1, true),
        (
            "s_add_co_u32 s1, -1, 1\ns_add_co_ci_u32 s0, 5, 6",
            12,
            false,
        ),
        (
            "s_sub_co_u32 s1, 0, 1\ns_sub_co_ci_u32 s0, 5, 5",
            u32::MAX,
            true,
        ),
        (
            "s_mov_b64 s[2:3], -1\ns_add_nc_u64 s[0:1], s[2:3], 6",
            5,
            false,
        ),
        (
            "s_mov_b64 s[2:3], 3\ns_sub_nc_u64 s[0:1], s[2:3], 5",
            0xffff_fffe,
            false,
        ),
        (
            "s_mov_b64 s[2:3], 0x10000\ns_mul_u64 s[0:1], s[2:3], s[2:3]\ns_mov_b32 s0, s1",
            1,
            false,
        ),
        ("s_and_not1_b32 s0, 7, 5", 2, true),
        ("s_or_not1_b32 s0, 1, -3", 3, true),
        ("s_ctz_i32_b32 s0, 8", 3, false),
        ("s_clz_i32_u32 s0, 0xffff", 16, false),
        ("s_cls_i32 s0, -1", u32::MAX, false),
        (
            "s_mov_b32 s1, 0x12345678\ns_pack_hl_b32_b16 s0, s1, 0x9abc",
            0x9abc_1234,
            false,
        ),
        (
            "s_mov_b32 exec_lo, 5\ns_and_saveexec_b32 s0, 4\ns_mov_b32 s0, exec_lo",
            4,
            true,
        ),
        (
            "s_mov_b32 exec_lo, 5\ns_or_not1_saveexec_b32 s0, 4",
            5,
            true,
        ),
        (
            "s_mov_b32 vcc_lo, 0\ns_cbranch_vccz 1\ns_endpgm\ns_movk_i32 s0, 9",
            9,
            false,
        ),
        (
            "s_mov_b32 s0, 7\ns_mov_b32 null, 3\ns_add_co_i32 s0, s0, null",
            7,
            false,
        ),
        ("s_mov_b64 null, -1\ns_mov_b32 s0, exec_lo", u32::MAX, false),
        ("s_mov_b32 m0, 77\ns_mov_b32 s0, m0", 77, false),
        ("s_mul_f32 s0, 2.0, 4.0", 0x4100_0000, false),
        ("s_sub_f32 s0, 1.0, 4.0", 0xc040_0000, false),
        ("s_fmaak_f32 s0, 2.0, 4.0, 0x3f800000", 0x4110_0000, false),
        ("s_fmamk_f32 s0, 2.0, 0x40400000, 1.0", 0x40e0_0000, false),
        (
            "s_mov_b32 s0, 1.0\ns_fmac_f32 s0, 2.0, 4.0",
            0x4110_0000,
            false,
        ),
        ("s_max_num_f32 s0, 0x7fc00000, 2.0", 0x4000_0000, false),
        ("s_min_num_f32 s0, 0x7f800001, 2.0", 0x4000_0000, false),
        ("s_floor_f32 s0, 0xbfc00000", 0xc000_0000, false),
        ("s_cvt_f32_u32 s0, -1", 0x4f80_0000, false),
        ("s_cvt_i32_f32 s0, -4.0", 0xffff_fffc, false),
        ("s_cvt_u32_f32 s0, -4.0", 0, false),
        ("s_movk_i32 s0, 0\ns_cmp_nlt_f32 0x7fc00000, 2.0", 0, true),
        ("s_movk_i32 s0, 0\ns_cmp_ge_f32 2.0, 2.0", 0, true),
        ("s_getreg_b32 s0, hwreg(HW_REG_MODE)", 0xf0, false),
        (
            "s_denorm_mode 3\ns_getreg_b32 s0, hwreg(HW_REG_MODE, 4, 4)",
            3,
            false,
        ),
        ("s_mov_b32 s0, ttmp9", 2, false),
        ("s_mov_b32 s0, ttmp7", 3 | (4 << 16), false),
    ] {
        let m = machine::<32>(text, 32).run();
        let text = format!("{text}: {:#x}", m.s(0));
        assert_eq!((m.s(0), m.group.waves()[0].scc), (s0, scc), "{text}");
    }
}

/// v0 of lane 3 after an instruction with v1 = a, v2 = b, v3 = c; v[4:5] = a | b << 32, v0 = old.
fn vector(text: &str, [a, b, c]: [u32; 3]) -> u32 {
    let mut m = machine::<32>(text, 32);
    let w = m.wave();
    for (n, x) in [(0, 0xaaaa_5555), (1, a), (2, b), (3, c), (4, a), (5, b)] {
        w.v[n] = [x; 32];
    }
    m.run().v(0, 3)
}

#[test]
fn vector_operations() {
    let f = f32::to_bits;
    for (text, sources, want) in [
        ("v_add_nc_u32 v0, v1, v2", [5, u32::MAX, 0], 4),
        ("v_xor3_b32 v0, v1, v2, 0x12345678", [1, 2, 0], 0x1234_567b),
        ("v_add3_u32 v0, 0x10000, v2, v3", [0, 2, 3], 0x1_0005),
        ("v_ctz_i32_b32 v0, v1", [8, 0, 0], 3),
        (
            "v_add_co_u32 v0, vcc_lo, v1, v2\nv_add_co_ci_u32 v0, vcc_lo, 0, 0, vcc_lo",
            [u32::MAX, 1, 0],
            1,
        ),
        ("v_mad_co_u64_u32 v[0:1], s2, v1, v2, v[4:5]", [4, 5, 0], 24),
        ("v_lshlrev_b64 v[0:1], 1, v[4:5]", [0x8000_0001, 0, 0], 2),
        // A result of 16 bits leaves the other half.
        ("v_add_nc_u16 v0, v1, v2", [0xffff, 2, 0], 0xaaaa_0001),
        (
            "v_add_nc_u16 v0, v1, v2 op_sel:[1,0,1]",
            [0x0007_0000, 2, 0],
            0x0009_5555,
        ),
        ("v_add_f16 v0, v1, v2", [0x3c00, 0x4000, 0], 0xaaaa_4200),
        (
            "v_fmaak_f16 v0, v1, v2, 0x3c00",
            [0x4000, 0x4000, 0],
            0xaaaa_4500,
        ),
        (
            "v_fmamk_f16 v0, v1, 0x4000, v2",
            [0x4000, 0x3c00, 0],
            0xaaaa_4500,
        ),
        ("v_cvt_f16_f32 v0, v1", [f(1.0), 0, 0], 0xaaaa_3c00),
        (
            "v_cmp_lt_u16 vcc_lo, v1, v2\nv_cndmask_b32 v0, 0, 1, vcc_lo",
            [0x10003, 4, 0],
            1,
        ),
        ("v_min_num_f32 v0, v1, v2", [0x7f80_0001, f(3.0), 0], f(3.0)),
        (
            "v_max_num_f32 v0, v1, v2",
            [0x7f80_0001, 0x7fc0_0002, 0],
            0x7fc0_0001,
        ),
        (
            "v_minmax_num_f32 v0, v1, v2, v3",
            [f(5.0), f(9.0), f(7.0)],
            f(7.0),
        ),
        (
            "v_maxmin_num_f32 v0, v1, v2, v3",
            [f(5.0), f(9.0), f(7.0)],
            f(7.0),
        ),
        ("v_add_f32 v0, v1, v2 clamp", [0x7fc0_0000, 0, 0], 0),
        (
            "v_cmpx_gt_u32 v1, v2\nv_mov_b32 v0, 9",
            [1, 2, 0],
            0xaaaa_5555,
        ),
        ("v_cmpx_lt_u32 v1, v2\nv_mov_b32 v0, 9", [1, 2, 0], 9),
        ("s_mov_b32 m0, 2\nv_movrels_b32 v0, v1", [1, 2, 3], 3),
        (
            "s_mov_b32 m0, 2\nv_movreld_b32 v0, v1\nv_mov_b32 v0, v2",
            [7, 2, 3],
            7,
        ),
        (
            "v_mbcnt_lo_u32_b32 v0, -1, 0\nv_mbcnt_hi_u32_b32 v0, -1, v0",
            [0, 0, 0],
            3,
        ),
    ] {
        assert_eq!(vector(text, sources), want, "{text} {sources:x?}");
    }
}

#[test]
fn pairs_read_before_they_write() {
    for (text, v0, v1) in [
        ("v_dual_mov_b32 v0, v1 :: v_dual_mov_b32 v1, v0", 20, 10),
        (
            "v_dual_add_nc_u32 v1, 5, v1 :: v_dual_mov_b32 v0, v1",
            20,
            25,
        ),
        (
            "v_dual_mov_b32 v0, 0x1234 :: v_dual_add_nc_u32 v1, 0x1234, v0",
            0x1234,
            0x123e,
        ),
        (
            "v_dual_mov_b32 v0, v3 :: v_dual_lshlrev_b32 v1, 2, v0",
            30,
            40,
        ),
    ] {
        // The assembler wants the operation with more encodings second.
        let text = match text.split_once(" :: ") {
            Some((x, y)) if x.contains("nc_u32") => format!("{y} :: {x}"),
            _ => text.to_string(),
        };
        let mut m = machine::<32>(&text, 32);
        for (n, x) in [(0, 10), (1, 20), (3, 30)] {
            m.wave().v[n] = [x; 32];
        }
        let m = m.run();
        assert_eq!([m.v(0, 0), m.v(1, 31)], [v0, v1], "{text}");
    }
    let f = f32::to_bits;
    let text =
        "s_mov_b32 vcc_lo, 0xff\nv_dual_fmac_f32 v0, v1, v2 :: v_dual_cndmask_b32 v5, v4, v3\n\
        v_dual_fmaak_f32 v6, v1, v2, 0x40000000 :: v_dual_fmamk_f32 v7, v4, 0x40000000, v3";
    let mut m = machine::<32>(text, 32);
    for n in 0..8 {
        m.wave().v[n] = [f(n as f32 + 1.0); 32];
    }
    let m = m.run();
    assert_eq!([m.v(0, 0), m.v(5, 0), m.v(5, 9)], [f(7.0), f(4.0), f(5.0)]);
    assert_eq!([m.v(6, 0), m.v(7, 0)], [f(8.0), f(14.0)]);
}

#[test]
fn barriers_in_two_halves() {
    // The second wave writes after it has arrived; the first reads before it waits.
    let text = "s_barrier_signal -1\ns_barrier_wait -1\nds_store_b32 v1, v0\ns_wait_dscnt 0x0\n\
        s_barrier_signal -1\ns_nop 0\ns_barrier_wait -1\nds_load_b32 v2, v3\ns_wait_dscnt 0x0";
    let mut m = machine::<32>(text, 64);
    for (n, wave) in m.group.waves_mut().iter_mut().enumerate() {
        wave.v[0] = std::array::from_fn(|l| (n * 32 + l) as u32);
        wave.v[1] = std::array::from_fn(|l| (n * 32 + l) as u32 * 4);
        wave.v[3] = std::array::from_fn(|l| (63 - (n * 32 + l)) as u32 * 4);
    }
    let m = m.run();
    for (n, wave) in m.group.waves().iter().enumerate() {
        assert_eq!(wave.v[2], std::array::from_fn(|l| 63 - (n * 32 + l) as u32));
    }
    for text in [
        "s_barrier_wait -1",
        "s_barrier_signal -1\ns_barrier_signal -1",
        "s_barrier_signal 1",
        "s_barrier_signal -1\ns_barrier_signal_isfirst -1",
    ] {
        let outcome = machine::<32>(text, 64).outcome();
        let Outcome::Fault(fault) = outcome else {
            panic!("{text}: {outcome:?}")
        };
        assert!(
            fault
                .mnemonic()
                .is_some_and(|m| m.starts_with("s_barrier_")),
            "{fault}"
        );
    }
}

/// Three waves, one after the other up to where they wait.
#[test]
fn barriers_tell_who_came_first() {
    let text = "s_get_barrier_state s0, -1\ns_barrier_signal_isfirst -1\ns_cselect_b32 s1, 1, 0\n\
        s_get_barrier_state s2, -1\ns_barrier_wait -1\ns_get_barrier_state s3, -1";
    let m = machine::<32>(text, 96).run();
    // Bit 0 valid, from 4 on the members, from 16 on the signals.
    let state = |signals: u32| 1 | (3 << 4) | (signals << 16);
    for (n, wave) in m.group.waves().iter().enumerate() {
        let n = n as u32;
        assert_eq!(wave.s[..3], [state(n), u32::from(n == 0), state(n + 1)]);
        // Behind the barrier nobody has signalled again, and who has ended is no member.
        assert_eq!(wave.s[3] >> 16, 0);
    }
    let alone = machine::<32>("s_get_barrier_state s0, -1", 32).run();
    assert_eq!(alone.s(0), 0, "a wave that is alone has no barrier");
}

/// A halted wave stays where it is, and the others run on.
#[test]
fn halted_waves_stay() {
    for text in ["s_sethalt 1", "s_sendmsghalt sendmsg(MSG_INTERRUPT)"] {
        let halt = format!("s_cmp_eq_u32 s0, 0\ns_cbranch_scc0 1\n{text}\ns_mov_b32 s1, 7");
        let mut m = machine::<32>(&halt, 64);
        for (n, wave) in m.group.waves_mut().iter_mut().enumerate() {
            (wave.s[0], wave.s[1]) = (n as u32, 1);
        }
        for _ in 0..3 {
            assert_eq!(m.outcome(), Outcome::Budget, "{text}");
        }
        let [halted, other] = m.group.waves() else {
            panic!("two waves")
        };
        assert_eq!((halted.state, halted.s[1]), (wave::State::Halted, 1));
        assert_eq!((other.state, other.s[1]), (wave::State::Done, 7));
        // The message came once.
        assert_eq!(m.memory.messages.len(), usize::from(text.contains("msg")));
    }
    // s_sethalt 0 takes nothing back that is not there.
    assert_eq!(
        machine::<32>("s_sethalt 0\ns_version 0x2008\ns_mov_b32 s1, 7", 32)
            .run()
            .s(1),
        7
    );
}

#[test]
fn memory_lds_and_hints() {
    let text = "v_mov_b32 v10, 0\ns_clause 0x1\nglobal_load_b128 v[12:15], v10, s[0:1]\n\
        global_load_b96 v[16:18], v10, s[0:1] offset:5\nglobal_load_i8 v20, v10, s[0:1] offset:7\n\
        global_load_d16_hi_b16 v21, v10, s[0:1]\n\
        global_atomic_inc_u32 v22, v10, v11, s[0:1] offset:32 th:TH_ATOMIC_RETURN\n\
        s_wait_loadcnt_dscnt 0x0\nglobal_store_b8 v10, v12, s[0:1] offset:64\ns_load_b96 s[4:6], s[0:1], 0x4\n\
        s_load_u16 s7, s[0:1], 0x6\ns_wait_kmcnt 0x0\ns_delay_alu instid0(VALU_DEP_1)\ns_wait_alu 0xfffe\n\
        s_wait_idle\nglobal_inv scope:SCOPE_SYS\nglobal_wb scope:SCOPE_SYS\ns_sendmsg sendmsg(MSG_DEALLOC_VGPRS)";
    let mut m = machine::<32>(text, 32);
    let base = u64::from(m.s(0)) | (u64::from(m.s(1)) << 32);
    let bytes: Vec<u8> = (0..32u8).map(|b| b.wrapping_mul(16) + b % 16).collect();
    m.memory.write(base, &bytes);
    m.wave().v[11] = [30; 32];
    m.wave().v[21] = [0xabcd; 32];
    let m = m.run();
    let word =
        |at: usize| u32::from_le_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]]);
    assert_eq!([m.v(12, 1), m.v(15, 1)], [word(0), word(12)]);
    assert_eq!(
        [m.v(16, 1), m.v(17, 1), m.v(18, 1)],
        [word(5), word(9), word(13)]
    );
    assert_eq!(m.v(20, 0), bytes[7] as i8 as u32);
    assert_eq!(m.v(21, 0), ((word(0) & 0xffff) << 16) | 0xabcd);
    // 32 increments that wrap after 30: 31 steps make 0 again, one more makes 1.
    assert_eq!((m.memory.words(base + 32, 1)[0], m.v(22, 31)), (1, 0));
    assert_eq!(m.memory.read(base + 64, 2), [bytes[0], 0]);
    assert_eq!(
        [m.s(4), m.s(5), m.s(6), m.s(7)],
        [word(4), word(8), word(12), word(6) & 0xffff]
    );
    assert!(m.memory.messages.is_empty());

    let text = "ds_store_b32 v1, v2\nds_add_rtn_u32 v3, v1, v2\nds_cmpstore_rtn_b32 v4, v1, v6, v5\nds_load_b32 v0, v1\n\
        ds_store_2addr_b32 v1, v5, v6 offset0:64 offset1:128\nds_load_2addr_b32 v[8:9], v1 offset0:128 offset1:64\n\
        ds_bpermute_b32 v10, v1, v2 offset:4";
    let mut m = machine::<32>(text, 32);
    let lane = |f: fn(u32) -> u32| std::array::from_fn(|l| f(l as u32));
    m.wave().v[1] = lane(|l| l * 4);
    m.wave().v[2] = lane(|l| l * 0x1_0001);
    m.wave().v[5] = lane(|l| if l % 2 == 0 { l * 0x2_0002 } else { 0 });
    m.wave().v[6] = [77; 32];
    let m = m.run();
    assert_eq!(
        [m.v(3, 6), m.v(4, 6), m.v(0, 6), m.v(7, 6)],
        [0x6_0006, 0xc_000c, 77, 0]
    );
    assert_eq!([m.v(4, 7), m.v(0, 7)], [0xe_000e, 0xe_000e]);
    assert_eq!([m.v(8, 6), m.v(9, 6), m.v(10, 31)], [77, 0xc_000c, 0]);
}

#[test]
fn waves_of_64_lanes() {
    let text = "v_cmp_gt_u32 vcc, 40, v0\ns_and_saveexec_b64 s[4:5], vcc\nv_mov_b32 v1, 7";
    let m = machine::<64>(text, 64).run();
    assert_eq!(
        [m.s(4), m.s(5), m.s(126), m.s(127)],
        [u32::MAX, u32::MAX, u32::MAX, 0xff]
    );
    assert_eq!([m.v(1, 39), m.v(1, 40), m.v(0, 63)], [7, 0, 63]);
}
