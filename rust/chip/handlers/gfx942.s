// SPDX-License-Identifier: GPL-2.0
//
// The trap handler of every process on gfx9.4.3, the one that its waves enter. assemble.sh makes words of it.
//
// It is entered for exceptions, for s_trap and when the hardware takes a queue off while its waves run
// (SAVECTX). A wave that is to be saved stores all that it is where the hardware says, and ends; later the
// hardware starts a wave with as many registers at the second instruction, which loads it all and goes
// on. Everything else is the business of the program's handler, whose address and memory are in ours.
//
// The layout of a stored wave is Linux's, which debuggers know (amdkfd/cwsr_trap_handler_gfx9.asm):
// vector registers of 256 bytes, first those that aren't for accumulation; scalar registers; 128 bytes for the
// rest, of which the second half are trap temporaries 0 to 15; LDS, by the first wave of a work-group.
//
// TTMP4 to TTMP11 and TTMP13 have what a debugger asked for at the launch, and stay. So does all else but
// TTMP2, 3, 12, 14 and 15 on the way to the program's handler, which expects STATUS in TTMP12 and its own
// memory in TTMP14 and TTMP15.

// STATUS: 2:1 priority, 13 halted, 17 error of a memory's bits.
.set STATUS_NOT_KEPT, 0x20006
.set STATUS_HALT, 1 << 13
.set STATUS_REPLAY, 22
// TRAPSTS: 8:0 and 14:12 exceptions that MODE permits, of which 7 and 14:12 are watched addresses; always
// to the handler: 8 violation of memory, 11 illegal instruction, 22 host, 23 and 24 begin and end, 25 step.
.set FLAG_SAVE, 10
.set FLAG_TRANSLATION, 28
.set FLAGS_ALWAYS, (1 << 8) | (1 << 11) | (1 << 22) | (1 << 23) | (1 << 24) | (1 << 25)
.set FLAGS_BY_MODE, 0x71ff
.set FLAGS_WATCH, 0x7080
// MODE: 20:12 which exceptions trap.
.set MODE_TRAPS, 12
// TTMP1: 23:16 the trap's number, 24 the host's.
.set NUMBER, 0xff0000
.set HOST, 1 << 24
// IB_STS: 20:15 of replay, which TTMP13 keeps in 31:26. Its 23 tells the program's handler of a debugger.
.set REPLAY, 0x1f8000
.set REPLAY_SHIFT, 26 - 15
.set DEBUGGER, 23
// The upper half of a place: the first wave of a work-group.
.set FIRST, 1 << 26
// In the last 128 bytes.
.set AT_M0, 0
.set AT_PC, 0x04
.set AT_EXEC, 0x0c
.set AT_STATUS, 0x14
.set AT_FLAGS, 0x18
.set AT_XNACK, 0x1c
.set AT_MODE, 0x24
.set AT_TTMP4, 0x50
.set AT_TTMP8, 0x60
.set AT_TTMP13, 0x74
.set REST, 128
// A buffer of words, one for each lane.
.set WORD1_STRIDE, 4 << 16
.set WORD2_ALL, 1 << 24
.set WORD3_LANES, 0x00807fac

// Bytes of all vector and all scalar registers.
.macro sizes vector, scalar
	s_getreg_b32 \vector, hwreg(HW_REG_GPR_ALLOC, 6, 6)
	s_add_u32 \vector, \vector, 1
	s_lshl_b32 \vector, \vector, 11
	s_getreg_b32 \scalar, hwreg(HW_REG_GPR_ALLOC, 24, 3)
	s_add_u32 \scalar, \scalar, 1
	s_lshl_b32 \scalar, \scalar, 6
.endm

// Vector registers that aren't for accumulation, and those that are.
.macro counts plain, accumulation
	s_getreg_b32 \plain, hwreg(HW_REG_GPR_ALLOC, 12, 6)
	s_add_u32 \plain, \plain, 1
	s_lshl_b32 \plain, \plain, 2
	s_getreg_b32 \accumulation, hwreg(HW_REG_GPR_ALLOC, 6, 6)
	s_add_u32 \accumulation, \accumulation, 1
	s_lshl_b32 \accumulation, \accumulation, 3
	s_sub_u32 \accumulation, \accumulation, \plain
.endm

// The descriptor in TTMP8 to TTMP11 of a place.
.macro describe low, high
	s_mov_b32 ttmp8, \low
	s_and_b32 ttmp9, \high, 0xffff
	s_or_b32 ttmp9, ttmp9, WORD1_STRIDE
	s_mov_b32 ttmp10, WORD2_ALL
	s_mov_b32 ttmp11, WORD3_LANES
.endm

.macro keep_replay scratch
	s_getreg_b32 \scratch, hwreg(HW_REG_IB_STS)
	s_and_b32 \scratch, \scratch, REPLAY
	s_lshl_b32 \scratch, \scratch, REPLAY_SHIFT
	s_and_b32 ttmp13, ttmp13, 0x03ffffff
	s_or_b32 ttmp13, ttmp13, \scratch
	s_setreg_imm32_b32 hwreg(HW_REG_IB_STS), 0
.endm

.macro give_replay scratch
	s_lshr_b32 \scratch, ttmp13, REPLAY_SHIFT
	s_and_b32 \scratch, \scratch, REPLAY
	s_setreg_b32 hwreg(HW_REG_IB_STS), \scratch
.endm

// STATUS but for the priority, which the hardware may have changed. EXECZ and VCCZ follow EXEC and VCC.
.macro give_status status, scratch
	s_and_b64 exec, exec, exec
	s_and_b64 vcc, vcc, vcc
	s_lshr_b32 \scratch, \status, 3
	s_setreg_b32 hwreg(HW_REG_STATUS, 3, 29), \scratch
	s_nop 2
	s_setreg_b32 hwreg(HW_REG_STATUS, 0, 1), \status
.endm

// A scalar store, and its acknowledgement before the next.
.macro store size, data, base, offset
	s_store_dword\size \data, \base, \offset glc
	s_waitcnt lgkmcnt(0)
.endm

// What becomes of vector stores, once scalar registers are saved, of which a wave has 16 at least: S6 is 1 if they get
// lost, as they do after an address that did not translate unless accesses are replayed. S8 and S9 are the place.
.macro probe_stores
	s_getreg_b32 s6, hwreg(HW_REG_TRAPSTS, FLAG_TRANSLATION, 1)
	s_getreg_b32 s4, hwreg(HW_REG_STATUS, STATUS_REPLAY, 1)
	s_andn2_b32 s6, s6, s4
	s_mov_b32 s8, ttmp8
	s_and_b32 s9, ttmp9, 0xffff
.endm

// A vector register, offset bytes behind TTMP4, by scalar stores of four lanes.
.macro store_lanes register, offset
	s_mov_b32 s4, 0
	s_add_u32 s5, ttmp4, \offset
lanes\@:
	.irp n, 0, 1, 2, 3
	v_readlane_b32 s\n, \register, s4
	s_add_u32 s4, s4, 1
	.endr
	store x4, s[0:3], s[8:9], s5
	s_add_u32 s5, s5, 16
	s_cmp_lt_u32 s4, 64
	s_cbranch_scc1 lanes\@
.endm

.macro store_four
	s_cmp_eq_u32 s6, 0
	s_cbranch_scc0 four_by_lanes\@
	buffer_store_dword v0, off, ttmp[8:11], ttmp4 sc0 nt
	buffer_store_dword v1, off, ttmp[8:11], ttmp4 offset:256 sc0 nt
	buffer_store_dword v2, off, ttmp[8:11], ttmp4 offset:512 sc0 nt
	buffer_store_dword v3, off, ttmp[8:11], ttmp4 offset:768 sc0 nt
	s_branch four_stored\@
four_by_lanes\@:
	store_lanes v0, 0
	store_lanes v1, 256
	store_lanes v2, 512
	store_lanes v3, 768
four_stored\@:
.endm

.macro load_four
	buffer_load_dword v0, off, ttmp[8:11], ttmp4 sc0 nt
	buffer_load_dword v1, off, ttmp[8:11], ttmp4 offset:256 sc0 nt
	buffer_load_dword v2, off, ttmp[8:11], ttmp4 offset:512 sc0 nt
	buffer_load_dword v3, off, ttmp[8:11], ttmp4 offset:768 sc0 nt
	s_waitcnt vmcnt(0)
.endm

handler:
	s_branch trapped
	s_branch restore

trapped:
	s_getreg_b32 ttmp12, hwreg(HW_REG_STATUS)
	s_andn2_b32 ttmp12, ttmp12, STATUS_NOT_KEPT
	s_getreg_b32 ttmp15, hwreg(HW_REG_TRAPSTS)
	s_and_b32 ttmp2, ttmp12, STATUS_HALT
	s_cbranch_scc0 running

	// Halted. The host may still trap; what else brings the wave here, a fetch that violates memory, has to
	// wait until somebody saves it.
	s_and_b32 ttmp2, ttmp1, NUMBER
	s_cbranch_scc1 program
until_saved:
	s_bitcmp1_b32 ttmp15, FLAG_SAVE
	s_cbranch_scc1 save
	s_sleep 16
	s_getreg_b32 ttmp15, hwreg(HW_REG_TRAPSTS)
	s_branch until_saved

running:
	// The program's handler first. When it halts the wave or goes on, the wave comes back to be saved.
	s_and_b32 ttmp2, ttmp15, FLAGS_ALWAYS
	s_cbranch_scc1 program
	s_and_b32 ttmp2, ttmp15, FLAGS_BY_MODE
	s_cbranch_scc0 by_number
	s_and_b32 ttmp3, ttmp15, FLAGS_WATCH
	s_cbranch_scc0 permitted
	s_bitset1_b32 ttmp2, 7
permitted:
	s_getreg_b32 ttmp3, hwreg(HW_REG_MODE)
	s_lshl_b32 ttmp2, ttmp2, MODE_TRAPS
	s_and_b32 ttmp2, ttmp2, ttmp3
	s_cbranch_scc1 program
by_number:
	s_and_b32 ttmp2, ttmp1, NUMBER
	s_cbranch_scc1 program
	s_bitcmp1_b32 ttmp15, FLAG_SAVE
	s_cbranch_scc1 save

program:
	keep_replay ttmp14
	// Our memory: the program's handler, its memory, and whether there is a debugger.
	s_getreg_b32 ttmp14, hwreg(HW_REG_TMA_LO)
	s_getreg_b32 ttmp15, hwreg(HW_REG_TMA_HI)
	s_lshl_b64 ttmp[14:15], ttmp[14:15], 8
	s_sext_i32_i16 ttmp15, ttmp15
	s_load_dword ttmp2, ttmp[14:15], 0x10 glc
	s_waitcnt lgkmcnt(0)
	s_lshl_b32 ttmp2, ttmp2, DEBUGGER
	s_bitset0_b32 ttmp13, DEBUGGER
	s_or_b32 ttmp13, ttmp13, ttmp2
	s_load_dwordx2 ttmp[2:3], ttmp[14:15], 0 glc
	s_waitcnt lgkmcnt(0)
	s_load_dwordx2 ttmp[14:15], ttmp[14:15], 8 glc
	s_waitcnt lgkmcnt(0)
	s_cmp_eq_u64 ttmp[2:3], 0
	s_cbranch_scc1 nobody
	s_setpc_b64 ttmp[2:3]

nobody:
	// A trap is over, the host's at once, another's behind its instruction.
	s_bitcmp1_b32 ttmp1, 24
	s_cbranch_scc1 leave
	s_and_b32 ttmp2, ttmp1, NUMBER
	s_cbranch_scc1 behind
	// What an exception stopped stays so. It could not be saved if its next instruction were the last.
	s_or_b32 ttmp12, ttmp12, STATUS_HALT
	s_sub_u32 ttmp0, ttmp0, 8
	s_subb_u32 ttmp1, ttmp1, 0
	s_branch leave
behind:
	s_add_u32 ttmp0, ttmp0, 4
	s_addc_u32 ttmp1, ttmp1, 0
leave:
	s_and_b32 ttmp1, ttmp1, 0xffff
	give_replay ttmp14
	give_status ttmp12, ttmp2
	s_rfe_b64 ttmp[0:1]

save:
	s_and_b32 ttmp1, ttmp1, 0xffff
	s_setreg_imm32_b32 hwreg(HW_REG_TRAPSTS, FLAG_SAVE, 1), 0
	keep_replay ttmp14
	// The hardware's answer comes in EXEC, and never is 0. Priority, so that nobody waits for this wave.
	s_mov_b64 ttmp[2:3], exec
	s_mov_b64 exec, 0
	s_sendmsg sendmsg(MSG_SAVEWAVE)
	s_or_b32 ttmp14, ttmp12, 2 << 1
	s_setreg_b32 hwreg(HW_REG_STATUS), ttmp14
answer:
	s_sleep 2
	s_cbranch_execz answer

	// What isn't a vector register or LDS, from TTMP14 and TTMP15 on.
	sizes ttmp14, ttmp15
	s_add_u32 ttmp14, ttmp14, ttmp15
	s_and_b32 ttmp15, exec_hi, 0xffff
	s_add_u32 ttmp14, ttmp14, exec_lo
	s_addc_u32 ttmp15, ttmp15, 0
	store x4, ttmp[4:7], ttmp[14:15], AT_TTMP4
	store x4, ttmp[8:11], ttmp[14:15], AT_TTMP8
	store , ttmp13, ttmp[14:15], AT_TTMP13
	describe exec_lo, exec_hi
	s_and_b32 ttmp13, exec_hi, FIRST
	s_mov_b32 ttmp4, m0
	store , ttmp4, ttmp[14:15], AT_M0
	store x2, ttmp[0:1], ttmp[14:15], AT_PC
	store x2, ttmp[2:3], ttmp[14:15], AT_EXEC
	store , ttmp12, ttmp[14:15], AT_STATUS
	s_getreg_b32 ttmp4, hwreg(HW_REG_TRAPSTS)
	store , ttmp4, ttmp[14:15], AT_FLAGS
	s_mov_b64 ttmp[4:5], xnack_mask
	store x2, ttmp[4:5], ttmp[14:15], AT_XNACK
	s_getreg_b32 ttmp4, hwreg(HW_REG_MODE)
	store , ttmp4, ttmp[14:15], AT_MODE
	s_setvskip 0, 0

	// Scalar registers, relative, since where VCC and the others lie depends on how many there are.
	sizes ttmp4, ttmp5
	s_sub_u32 ttmp14, ttmp14, ttmp5
	s_subb_u32 ttmp15, ttmp15, 0
	s_lshr_b32 ttmp5, ttmp5, 2
	s_mov_b32 m0, 0
	s_nop 0
scalars:
	.irp n, 0, 2, 4, 6, 8, 10, 12, 14
	s_movrels_b64 s[\n:\n+1], s[\n:\n+1]
	.endr
	store x4, s[0:3], ttmp[14:15], 0
	store x4, s[4:7], ttmp[14:15], 16
	store x4, s[8:11], ttmp[14:15], 32
	store x4, s[12:15], ttmp[14:15], 48
	s_add_u32 ttmp14, ttmp14, 64
	s_addc_u32 ttmp15, ttmp15, 0
	s_add_u32 m0, m0, 16
	s_cmp_lt_u32 m0, ttmp5
	s_cbranch_scc1 scalars

	// The first vector registers, with all lanes: the rest is done by them.
	probe_stores
	s_mov_b64 exec, -1
	s_mov_b64 xnack_mask, 0
	s_mov_b32 ttmp4, 0
	store_four
	s_getreg_b32 ttmp5, hwreg(HW_REG_LDS_ALLOC, 12, 9)
	s_cmp_eq_u32 ttmp5, 0
	s_cbranch_scc1 vectors
	// Nobody writes to LDS behind this.
	s_barrier
	s_cmp_eq_u32 ttmp13, 0
	s_cbranch_scc1 vectors
	s_lshl_b32 ttmp5, ttmp5, 8
	sizes ttmp4, ttmp6
	s_add_u32 ttmp4, ttmp4, ttmp6
	s_add_u32 ttmp4, ttmp4, REST
	s_add_u32 ttmp5, ttmp5, ttmp4
	v_mbcnt_lo_u32_b32 v0, -1, 0
	v_mbcnt_hi_u32_b32 v0, -1, v0
	v_lshlrev_b32 v0, 2, v0
lds:
	ds_read_b32 v1, v0
	s_waitcnt lgkmcnt(0)
	s_cmp_eq_u32 s6, 0
	s_cbranch_scc0 lds_by_lanes
	buffer_store_dword v1, off, ttmp[8:11], ttmp4 sc0 nt
	s_branch lds_stored
lds_by_lanes:
	store_lanes v1, 0
lds_stored:
	v_add_u32 v0, 0x100, v0
	s_add_u32 ttmp4, ttmp4, 256
	s_cmp_lt_u32 ttmp4, ttmp5
	s_cbranch_scc1 lds

vectors:
	s_mov_b32 ttmp4, 1024
	counts ttmp5, ttmp6
	s_mov_b32 ttmp7, 4
plain:
	s_cmp_lt_u32 ttmp7, ttmp5
	s_cbranch_scc0 accumulation
	s_set_gpr_idx_on ttmp7, gpr_idx(SRC0)
	v_mov_b32 v0, v0
	v_mov_b32 v1, v1
	v_mov_b32 v2, v2
	v_mov_b32 v3, v3
	s_set_gpr_idx_off
	store_four
	s_add_u32 ttmp4, ttmp4, 1024
	s_add_u32 ttmp7, ttmp7, 4
	s_branch plain
accumulation:
	s_mov_b32 ttmp7, 0
each:
	s_cmp_lt_u32 ttmp7, ttmp6
	s_cbranch_scc0 saved
	s_set_gpr_idx_on ttmp7, gpr_idx(SRC0)
	v_accvgpr_read_b32 v0, a0
	v_accvgpr_read_b32 v1, a1
	v_accvgpr_read_b32 v2, a2
	v_accvgpr_read_b32 v3, a3
	s_set_gpr_idx_off
	store_four
	s_add_u32 ttmp4, ttmp4, 1024
	s_add_u32 ttmp7, ttmp7, 4
	s_branch each
saved:
	s_endpgm_saved

restore:
	describe exec_lo, exec_hi
	s_and_b32 ttmp13, exec_hi, FIRST
	sizes ttmp4, ttmp5
	// What isn't a vector register or LDS, from TTMP14 and TTMP15 on.
	s_add_u32 ttmp4, ttmp4, ttmp5
	s_and_b32 ttmp15, exec_hi, 0xffff
	s_add_u32 ttmp14, exec_lo, ttmp4
	s_addc_u32 ttmp15, ttmp15, 0
	s_mov_b64 exec, -1
	s_cmp_eq_u32 ttmp13, 0
	s_cbranch_scc1 load_vectors
	s_getreg_b32 ttmp5, hwreg(HW_REG_LDS_ALLOC, 12, 9)
	s_cmp_eq_u32 ttmp5, 0
	s_cbranch_scc1 load_vectors
	s_lshl_b32 ttmp5, ttmp5, 8
	s_add_u32 ttmp4, ttmp4, REST
	s_add_u32 ttmp5, ttmp5, ttmp4
	v_mbcnt_lo_u32_b32 v0, -1, 0
	v_mbcnt_hi_u32_b32 v0, -1, v0
	v_lshlrev_b32 v0, 2, v0
load_lds:
	buffer_load_dword v1, off, ttmp[8:11], ttmp4 sc0 nt
	s_waitcnt vmcnt(0)
	ds_write_b32 v0, v1
	v_add_u32 v0, 0x100, v0
	s_add_u32 ttmp4, ttmp4, 256
	s_cmp_lt_u32 ttmp4, ttmp5
	s_cbranch_scc1 load_lds
	s_waitcnt lgkmcnt(0)

load_vectors:
	s_mov_b32 ttmp4, 1024
	counts ttmp5, ttmp6
	s_mov_b32 ttmp7, 4
load_plain:
	s_cmp_lt_u32 ttmp7, ttmp5
	s_cbranch_scc0 load_accumulation
	load_four
	s_set_gpr_idx_on ttmp7, gpr_idx(DST)
	v_mov_b32 v0, v0
	v_mov_b32 v1, v1
	v_mov_b32 v2, v2
	v_mov_b32 v3, v3
	s_set_gpr_idx_off
	s_add_u32 ttmp4, ttmp4, 1024
	s_add_u32 ttmp7, ttmp7, 4
	s_branch load_plain
load_accumulation:
	s_mov_b32 ttmp7, 0
load_each:
	s_cmp_lt_u32 ttmp7, ttmp6
	s_cbranch_scc0 load_first
	load_four
	s_set_gpr_idx_on ttmp7, gpr_idx(DST)
	v_accvgpr_write_b32 a0, v0
	v_accvgpr_write_b32 a1, v1
	v_accvgpr_write_b32 a2, v2
	v_accvgpr_write_b32 a3, v3
	s_set_gpr_idx_off
	s_add_u32 ttmp4, ttmp4, 1024
	s_add_u32 ttmp7, ttmp7, 4
	s_branch load_each
load_first:
	s_mov_b32 ttmp4, 0
	load_four

	// Scalar registers from above, since each block passes through the lowest.
	sizes ttmp4, ttmp5
	s_mov_b64 ttmp[8:9], ttmp[14:15]
	s_lshr_b32 m0, ttmp5, 2
load_scalars:
	s_sub_u32 ttmp8, ttmp8, 64
	s_subb_u32 ttmp9, ttmp9, 0
	s_load_dwordx16 s[0:15], ttmp[8:9], 0 glc
	s_waitcnt lgkmcnt(0)
	s_sub_u32 m0, m0, 16
	s_nop 0
	.irp n, 0, 2, 4, 6, 8, 10, 12, 14
	s_movreld_b64 s[\n:\n+1], s[\n:\n+1]
	.endr
	s_cmp_eq_u32 m0, 0
	s_cbranch_scc0 load_scalars

	// A request to save that comes meanwhile stays: SAVECTX isn't written.
	s_load_dword ttmp4, ttmp[14:15], AT_M0 glc
	s_load_dwordx2 ttmp[0:1], ttmp[14:15], AT_PC glc
	s_load_dwordx2 ttmp[2:3], ttmp[14:15], AT_EXEC glc
	s_load_dword ttmp12, ttmp[14:15], AT_STATUS glc
	s_load_dword ttmp5, ttmp[14:15], AT_FLAGS glc
	s_load_dwordx2 ttmp[6:7], ttmp[14:15], AT_XNACK glc
	s_load_dword ttmp8, ttmp[14:15], AT_MODE glc
	s_waitcnt lgkmcnt(0)
	s_mov_b32 m0, ttmp4
	s_mov_b64 exec, ttmp[2:3]
	s_mov_b64 xnack_mask, ttmp[6:7]
	s_setreg_b32 hwreg(HW_REG_TRAPSTS, 0, FLAG_SAVE), ttmp5
	s_lshr_b32 ttmp5, ttmp5, FLAG_SAVE + 1
	s_setreg_b32 hwreg(HW_REG_TRAPSTS, FLAG_SAVE + 1, 21), ttmp5
	s_setreg_b32 hwreg(HW_REG_MODE), ttmp8
	s_load_dwordx4 ttmp[4:7], ttmp[14:15], AT_TTMP4 glc
	s_load_dwordx4 ttmp[8:11], ttmp[14:15], AT_TTMP8 glc
	s_load_dword ttmp13, ttmp[14:15], AT_TTMP13 glc
	s_waitcnt lgkmcnt(0)
	s_and_b32 ttmp1, ttmp1, 0xffff
	give_replay ttmp14
	give_status ttmp12, ttmp14
	// LDS is there for all of the work-group.
	s_barrier
	s_rfe_b64 ttmp[0:1]
