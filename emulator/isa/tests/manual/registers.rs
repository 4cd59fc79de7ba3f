// SPDX-License-Identifier: MIT OR Apache-2.0
//! Registers that a wave lacks or may not write: RDNA4's manual, section 3.3.2, and CDNA3's, chapter 3.

use super::*;

/// A workgroup of one wave that has run `text` to its end; it has 8 v registers, of which v0 is 5.
fn ran<const L: usize>(target: &'static Target, text: &str) -> Workgroup<L>
where
    Workgroup<L>: Run,
{
    let mut memory = Flat::new(1 << 20);
    let mut cu = ComputeUnit::for_target(target);
    let at = memory.alloc(4096);
    let mut kd = [0; 64];
    if target.name == "gfx942" {
        kd[16..20].copy_from_slice(&256u32.to_le_bytes());
        kd[48..52].copy_from_slice(&(0xf0u32 << 12).to_le_bytes());
        kd[44] = 1;
    } else {
        kd = descriptor_gfx1201(L, 256);
        kd[48] = 0;
    }
    memory.write(at, &kd);
    memory.write(at + 256, &assemble(target, L, &format!("{text}\ns_endpgm")));
    let kernel = cu.kernel(&mut memory, 0, at).expect("descriptor");
    let dispatch = Dispatch {
        workgroup_size: [L as u16, 1, 1],
        grid_size: [L as u32, 5, 1],
        group_segment_size: 100,
        kernarg_address: memory.alloc(4096),
        dispatch_id: 5,
        apertures: APERTURES,
        ..Dispatch::default()
    };
    let mut group =
        Workgroup::<L>::launch(&mut cu, &kernel, &dispatch, [0; 3], Scratch::default(), &[])
            .expect("launch");
    group.waves_mut()[0].v[0] = [5; L];
    let outcome = group.run(&mut cu, &mut memory, 1000);
    assert_eq!(outcome, Outcome::Done, "{} {text}", target.name);
    group
}

/// A source beyond the allocation is v0; with such a destination an instruction does nothing.
#[test]
fn sources_are_v0_and_destinations_nowhere() {
    let group = ran::<64>(
        &GFX942,
        "v_mov_b32 v1, v100\nv_mov_b32 v100, 7\nv_add_u32 v2, v100, v101\nv_mov_b64 v[8:9], 1",
    );
    let v = &group.waves()[0].v;
    assert_eq!([v[0][9], v[1][9], v[2][9], v[7][9]], [5, 5, 10, 0]);
    let group = ran::<32>(
        &GFX1201,
        "v_mov_b32 v1, v100\nv_mov_b32 v100, 7\nv_dual_add_f32 v2, v0, v1 :: v_dual_mov_b32 v101, 0\n\
        s_mov_b32 m0, 200\nv_movrels_b32 v3, v1\nv_movreld_b32 v4, 7\ns_mov_b32 m0, -1\nv_movrels_b32 v5, v1",
    );
    let v = &group.waves()[0].v;
    assert_eq!([v[0][9], v[1][9], v[2][9]], [5, 5, 0]);
    assert_eq!([v[3][9], v[4][9], v[5][9]], [5, 0, 5]);
}

/// Only a trap handler writes trap temporaries; what tries otherwise leaves SCC alone, too.
#[test]
fn trap_temporaries_of_programs_keep_scc() {
    let text = [
        "s_cmp_eq_u32 s0, s0\ns_and_b32 ttmp4, s0, 0",
        "s_cmp_lg_u32 s0, s0\ns_or_b32 ttmp4, s0, -1",
    ];
    for (text, scc) in text.into_iter().zip([true, false]) {
        assert_eq!(ran::<64>(&GFX942, text).waves()[0].scc, scc, "{text}");
        assert_eq!(ran::<32>(&GFX1201, text).waves()[0].scc, scc, "{text}");
    }
}

/// A wave that is alone has no barrier: its operations do nothing (RDNA4 ISA, section 5.3). The barrier of trap
/// handlers is not a program's.
#[test]
fn a_wave_alone_has_no_barrier() {
    for text in [
        "s_barrier_wait -1",
        "s_barrier_signal -1\ns_barrier_signal -1\ns_barrier_wait -1\ns_barrier_wait -1",
        "s_barrier_signal -2\ns_barrier_wait -2",
    ] {
        ran::<32>(&GFX1201, text);
    }
}

/// LDS is allocated in blocks of 1,024 bytes (RDNA4 ISA, section 3.3.3), on gfx942 of 128 dwords.
#[test]
fn lds_comes_in_blocks() {
    let text = "v_mov_b32 v1, 1020\nv_mov_b32 v2, 7\nds_store_b32 v1, v2\nv_mov_b32 v3, 1024\nds_store_b32 v3, v2\n\
        s_wait_dscnt 0\nds_load_b32 v4, v1\nds_load_b32 v5, v3";
    let group = ran::<32>(&GFX1201, text);
    let v = &group.waves()[0].v;
    assert_eq!([v[4][0], v[5][0]], [7, 0]);
    let text = "v_mov_b32 v1, 0x1fc\nv_mov_b32 v2, 7\nds_write_b32 v1, v2\nv_mov_b32 v3, 0x200\nds_write_b32 v3, v2\n\
        ds_read_b32 v4, v1\nds_read_b32 v5, v3";
    let group = ran::<64>(&GFX942, text);
    let v = &group.waves()[0].v;
    assert_eq!([v[4][0], v[5][0]], [7, 0]);
}

/// TTMP8 at the start: bit 30 that y or z was asked for, 29:25 the wave, 24:0 the packet's number.
#[test]
fn waves_start_with_their_dispatch() {
    let ttmp8 = |ids: u32| {
        let mut kd = descriptor_gfx1201(32, 256);
        kd[52] |= (ids << 7) as u8;
        kd[53] |= (ids >> 1) as u8;
        let mut memory = Flat::new(1 << 16);
        let mut cu = ComputeUnit::for_target(&GFX1201);
        let at = memory.alloc(4096);
        memory.write(at, &kd);
        let kernel = cu.kernel(&mut memory, 0, at).expect("descriptor");
        let dispatch = Dispatch {
            workgroup_size: [64, 1, 1],
            grid_size: [64, 1, 1],
            dispatch_id: 0x1200_0005,
            ..Dispatch::default()
        };
        let group =
            Workgroup::<32>::launch(&mut cu, &kernel, &dispatch, [0; 3], Scratch::default(), &[]);
        group.expect("launch").waves()[1].s[116]
    };
    assert_eq!(ttmp8(1), (1 << 25) | 5);
    assert_eq!(ttmp8(3), (1 << 30) | (1 << 25) | 5);
    assert_eq!(ttmp8(5), (1 << 30) | (1 << 25) | 5);
}

/// Programs may read what handlers change, and messages have values (LLVM, SIDefines.h: 129 the draw's number, 135
/// the engine's, 255 the illegal one).
#[test]
fn programs_read_state_and_ask() {
    let text = "s_cmp_eq_u32 s0, s0\ns_getreg_b32 s2, hwreg(HW_REG_STATE_PRIV)\ns_getreg_b32 s3, hwreg(26)\n\
        s_setreg_imm32_b32 hwreg(26), 1\ns_sendmsg_rtn_b32 s4, 129\ns_sendmsg_rtn_b32 s5, 135\n\
        s_sendmsg_rtn_b32 s6, 132\ns_sendmsg_rtn_b32 s7, 255";
    let group = ran::<32>(&GFX1201, text);
    assert_eq!(group.waves()[0].s[2..8], [1 << 9, 0, 0, 0, 0, 0]);
}
