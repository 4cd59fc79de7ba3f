// SPDX-License-Identifier: GPL-2.0
//
// The cleaner shader of gfx9.4.3: what the command processor runs on each compute unit before another process'
// waves, where processes are isolated. assemble.sh makes words of it.
//
// It is launched twice (amdgpu/gfx_v9_4_3_cleaner_shader.asm). With 1 in s0 as sixteen waves of one work-group, which
// have all vector registers of the compute unit, 128 each, all of LDS, and some of the scalar registers; bit 31 of s1
// tells the first wave. With 0 in s0 as 24 waves for the other scalar registers, more than a barrier takes: those
// halt, and the command processor has them go on when all are there. Each wave has 96 scalar registers.

.set FIRST_WAVE, 31
.set VECTORS, 128
.set SCALARS, 96
.set LDS_BYTES, 0x10000
// What the wave's lanes store at once.
.set STORED, 64 * 16

.text
        s_cmp_eq_u32    s0, 1
        s_cbranch_scc0  halt
        // Nobody ends before all have begun: who came later would have the registers of who came first.
        s_barrier

        s_movk_i32      s2, VECTORS - 4
        s_set_gpr_idx_on s2, gpr_idx(DST)
vectors:
        v_mov_b32       v0, 0
        v_mov_b32       v1, 0
        v_mov_b32       v2, 0
        v_mov_b32       v3, 0
        s_sub_u32       s2, s2, 4
        s_set_gpr_idx_idx s2
        s_cbranch_scc0  vectors
        s_set_gpr_idx_off

        s_bitcmp1_b32   s1, FIRST_WAVE
        s_cbranch_scc0  scalars
        // v0: 16 times the lane's number.
        v_mbcnt_lo_u32_b32 v0, -1, 0
        v_mbcnt_hi_u32_b32 v0, -1, v0
        v_lshlrev_b32   v0, 4, v0
        s_movk_i32      s2, LDS_BYTES / STORED - 1
lds:
        ds_write_b128   v0, v[4:7]
        v_add_u32       v0, STORED, v0
        s_sub_u32       s2, s2, 1
        s_cbranch_scc0  lds
        s_waitcnt       lgkmcnt(0)
        v_mov_b32       v0, 0
        s_branch        scalars

halt:
        s_sethalt       1
scalars:
        s_movk_i32      m0, SCALARS - 8
        s_nop           0
next:
        s_movreld_b64   s[0:1], 0
        s_movreld_b64   s[2:3], 0
        s_movreld_b64   s[4:5], 0
        s_movreld_b64   s[6:7], 0
        s_sub_u32       m0, m0, 8
        s_cbranch_scc0  next
        s_mov_b32       flat_scratch_lo, 0
        s_mov_b32       flat_scratch_hi, 0
        s_mov_b64       vcc, 0
        s_endpgm
