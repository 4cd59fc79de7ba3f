// SPDX-License-Identifier: GPL-2.0
//
// The trap handler of every process on gfx12, the one that its waves enter. assemble.sh makes words of it.
//
// It is entered for exceptions, for s_trap and when the hardware takes a queue off while its waves run
// (SAVE_CONTEXT). A wave that is to be saved stores all that it is where the hardware says, and ends; later
// the hardware starts a wave with as many registers at the second instruction, which loads it all and goes
// on. Everything else is the business of the program's handler, whose address and memory are in ours.
//
// The layout of a stored wave is Linux's, which debuggers know (amdkfd/cwsr_trap_handler_gfx12.asm): vector
// registers of 128 or 256 bytes; 512 bytes of scalar registers; 128 bytes for the rest, of which the second
// half are trap temporaries 0 to 15; LDS, by the first wave of a work-group. The chip stores by vector
// registers only, so words gather in lanes first.
//
// TTMP4 to TTMP11 and TTMP13 have what the launch or a debugger left there, and stay, but for what TTMP11 is
// used for here. So does all else but TTMP2, 3, 12, 14 and 15 on the way to the program's handler, which
// expects STATE_PRIV in TTMP12 and its own memory in TTMP14 and TTMP15.

.set STATUS_NO_VGPRS, 24
.set STATUS_WAVE64, 29
// STATE_PRIV: 2 the barrier is complete, 9 SCC, 11:10 priority, 14 halted, 15 poison.
.set STATE_BARRIER, 1 << 2
.set STATE_SCC, 9
.set STATE_NOT_KEPT, 0x8c00
.set STATE_HALT, 1 << 14
// EXCP_FLAG_PRIV: 3:0 watched addresses; always to the handler: 4 violation of memory, 6 illegal
// instruction, 7 host, 8 and 9 begin and end, 11 step.
.set FLAG_SAVE, 5
.set FLAG_HOST, 7
.set FLAGS_WATCH, 15
.set FLAGS_ALWAYS, (1 << 4) | (1 << 6) | (1 << 7) | (1 << 8) | (1 << 9) | (1 << 11)
// TRAP_CTRL: which exceptions trap, 7 of watched addresses, 9 each instruction.
.set CTRL_WATCH, 1 << 7
.set CTRL_STEP, 9
// LLVM 19 has no name for this register.
.set SCHED_MODE, 26
// TTMP1: 31:28 the trap's number. TTMP11: 27:26 how instructions are scheduled, 23 whether there is a debugger.
.set NUMBER, 0xf0000000
.set SCHEDULING, 3 << 26
.set SCHEDULING_SHIFT, 26
.set DEBUGGER, 23
// The upper half of a place: the first wave of a work-group.
.set FIRST, 26
// After the vector registers.
.set REST, 512
.set LDS, 512 + 128

// A register's bytes: 128 with 32 lanes, 256 with 64. All registers' number and bytes.
.macro sizes one, count, all
	s_getreg_b32 \one, hwreg(HW_REG_STATUS, STATUS_WAVE64, 1)
	s_add_co_u32 \one, \one, 1
	s_lshl_b32 \one, \one, 7
	s_getreg_b32 \count, hwreg(HW_REG_GPR_ALLOC, 12, 8)
	s_add_co_u32 \count, \count, 1
	s_lshl_b32 \count, \count, 2
	s_mul_i32 \all, \one, \count
.endm

.macro next low, high, by
	s_add_co_u32 \low, \low, \by
	s_add_co_ci_u32 \high, \high, 0
.endm

.macro store data
	global_store_addtid_b32 \data, ttmp[14:15] scope:SCOPE_SYS
.endm

.macro load data
	global_load_addtid_b32 \data, ttmp[14:15] scope:SCOPE_SYS
.endm

.macro give_scheduling scratch
	s_bfe_u32 \scratch, ttmp11, SCHEDULING_SHIFT | (2 << 16)
	s_setreg_b32 hwreg(SCHED_MODE, 0, 2), \scratch
.endm

// The handlers of a work-group wait for each other.
.macro together
	s_barrier_signal -2
	s_barrier_wait -2
.endm

handler:
	s_branch trapped
	s_branch restore

trapped:
	// Instructions in their order, whatever the program has chosen.
	s_getreg_b32 ttmp2, hwreg(SCHED_MODE, 0, 2)
	s_wait_alu 0
	s_setreg_imm32_b32 hwreg(SCHED_MODE, 0, 2), 0
	s_getreg_b32 ttmp12, hwreg(HW_REG_STATE_PRIV)
	s_and_not1_b32 ttmp11, ttmp11, SCHEDULING
	s_lshl_b32 ttmp2, ttmp2, SCHEDULING_SHIFT
	s_or_b32 ttmp11, ttmp11, ttmp2
	s_and_not1_b32 ttmp12, ttmp12, STATE_NOT_KEPT
	s_getreg_b32 ttmp15, hwreg(HW_REG_EXCP_FLAG_PRIV)
	s_and_b32 ttmp2, ttmp12, STATE_HALT
	s_cbranch_scc0 running

	// Halted. The host may still trap; what else brings the wave here, a fetch that violates memory, has to
	// wait until somebody saves it.
	s_bitcmp1_b32 ttmp15, FLAG_HOST
	s_cbranch_scc1 program
until_saved:
	s_bitcmp1_b32 ttmp15, FLAG_SAVE
	s_cbranch_scc1 save
	s_sleep 16
	s_getreg_b32 ttmp15, hwreg(HW_REG_EXCP_FLAG_PRIV)
	s_branch until_saved

running:
	// The program's handler first. When it halts the wave or goes on, the wave comes back to be saved.
	s_and_b32 ttmp2, ttmp15, FLAGS_ALWAYS
	s_cbranch_scc1 program
	s_getreg_b32 ttmp2, hwreg(HW_REG_EXCP_FLAG_USER)
	s_and_b32 ttmp3, ttmp15, FLAGS_WATCH
	s_cbranch_scc0 unwatched
	s_or_b32 ttmp2, ttmp2, CTRL_WATCH
unwatched:
	s_getreg_b32 ttmp3, hwreg(HW_REG_TRAP_CTRL)
	s_and_b32 ttmp2, ttmp3, ttmp2
	s_cbranch_scc1 program
	s_and_b32 ttmp2, ttmp1, NUMBER
	s_cbranch_scc1 program
	// A step, which a request to save may hide.
	s_bitcmp1_b32 ttmp3, CTRL_STEP
	s_cbranch_scc1 program
	s_bitcmp1_b32 ttmp15, FLAG_SAVE
	s_cbranch_scc1 save

program:
	// Our memory: the program's handler, its memory, and whether there is a debugger.
	s_sendmsg_rtn_b64 ttmp[14:15], sendmsg(MSG_RTN_GET_TMA)
	s_wait_idle
	s_lshl_b64 ttmp[14:15], ttmp[14:15], 8
	s_sext_i32_i16 ttmp15, ttmp15
	// The program's handler sets the scheduling from here.
	s_and_b32 ttmp2, ttmp11, SCHEDULING
	s_and_not1_b32 ttmp1, ttmp1, SCHEDULING
	s_or_b32 ttmp1, ttmp1, ttmp2
	s_load_b32 ttmp2, ttmp[14:15], 0x10 scope:SCOPE_SYS
	s_wait_idle
	s_lshl_b32 ttmp2, ttmp2, DEBUGGER
	s_bitset0_b32 ttmp11, DEBUGGER
	s_or_b32 ttmp11, ttmp11, ttmp2
	s_load_b64 ttmp[2:3], ttmp[14:15], 0 scope:SCOPE_SYS
	s_wait_idle
	s_load_b64 ttmp[14:15], ttmp[14:15], 8 scope:SCOPE_SYS
	s_wait_idle
	s_cmp_eq_u64 ttmp[2:3], 0
	s_cbranch_scc1 nobody
	s_setpc_b64 ttmp[2:3]

nobody:
	// A trap is over behind its instruction, the host's at once.
	s_and_b32 ttmp2, ttmp1, NUMBER
	s_cbranch_scc1 behind
	s_getreg_b32 ttmp2, hwreg(HW_REG_EXCP_FLAG_PRIV, FLAG_HOST, 1)
	s_cmp_lg_u32 ttmp2, 0
	s_cbranch_scc1 leave
	// What an exception stopped stays so. It could not be saved if its next instruction were the last.
	s_or_b32 ttmp12, ttmp12, STATE_HALT
	s_sub_co_u32 ttmp0, ttmp0, 8
	s_sub_co_ci_u32 ttmp1, ttmp1, 0
	s_branch leave
behind:
	next ttmp0, ttmp1, 4
leave:
	s_and_b32 ttmp1, ttmp1, 0xffff
	// EXECZ and VCCZ follow EXEC and VCC. BARRIER_COMPLETE is the hardware's: it may have changed.
	s_and_b64 exec, exec, exec
	s_and_b64 vcc, vcc, vcc
	s_lshr_b32 ttmp12, ttmp12, STATE_SCC
	give_scheduling ttmp2
	s_setreg_b32 hwreg(HW_REG_STATE_PRIV, STATE_SCC, 7), ttmp12
	s_rfe_b64 ttmp[0:1]

save:
	// A wave that gave its registers away has nothing to come back for.
	s_getreg_b32 ttmp14, hwreg(HW_REG_STATUS, STATUS_NO_VGPRS, 1)
	s_cmp_eq_u32 ttmp14, 0
	s_cbranch_scc1 has_registers
	s_endpgm
has_registers:
	s_and_b32 ttmp1, ttmp1, 0xffff
	s_setreg_imm32_b32 hwreg(HW_REG_EXCP_FLAG_PRIV, FLAG_SAVE, 1), 0
	s_mov_b64 ttmp[2:3], exec
	s_mov_b64 exec, 0
	s_sendmsg_rtn_b64 exec, sendmsg(MSG_RTN_SAVE_WAVE)
	s_wait_idle
	s_bfe_u32 ttmp14, exec_hi, FIRST | (1 << 16)
	s_lshl_b32 ttmp14, ttmp14, 31
	s_or_b32 ttmp1, ttmp1, ttmp14

	// v0 is where all else begins: 16 words, then the 16 trap temporaries.
	s_mov_b32 ttmp14, exec_lo
	s_and_b32 ttmp15, exec_hi, 0xffff
	s_mov_b64 exec, -1
	store v0
	v_mov_b32 v0, 0
	.irp n, 4, 5, 6, 7, 8, 9, 10, 11, 13
	v_writelane_b32 v0, ttmp\n, 16 + \n
	.endr

	// From here TTMP8 and 9 are the place, TTMP4 to TTMP6 a register's bytes, their number and all bytes.
	s_mov_b64 ttmp[8:9], ttmp[14:15]
	sizes ttmp4, ttmp5, ttmp6
	.irp n, 1, 2, 3
	next ttmp14, ttmp15, ttmp4
	store v\n
	.endr
	v_writelane_b32 v0, m0, 0
	// Nothing of the work-group's barrier or LDS changes behind this.
	together
	s_getreg_b32 ttmp7, hwreg(HW_REG_STATE_PRIV)
	s_and_b32 ttmp7, ttmp7, STATE_BARRIER
	s_and_not1_b32 ttmp12, ttmp12, STATE_BARRIER
	s_or_b32 ttmp12, ttmp12, ttmp7
	v_writelane_b32 v0, ttmp0, 1
	s_and_b32 ttmp7, ttmp1, 0xffff
	v_writelane_b32 v0, ttmp7, 2
	v_writelane_b32 v0, ttmp2, 3
	v_writelane_b32 v0, ttmp3, 4
	v_writelane_b32 v0, ttmp12, 5
	.macro lane register, lane
	s_getreg_b32 ttmp7, hwreg(\register)
	v_writelane_b32 v0, ttmp7, \lane
	.endm
	lane HW_REG_EXCP_FLAG_PRIV, 6
	lane HW_REG_MODE, 8
	lane HW_REG_SCRATCH_BASE_LO, 9
	lane HW_REG_SCRATCH_BASE_HI, 10
	lane HW_REG_EXCP_FLAG_USER, 11
	lane HW_REG_TRAP_CTRL, 12
	lane HW_REG_STATUS, 13
	s_get_barrier_state ttmp7, -1
	s_wait_idle
	v_writelane_b32 v0, ttmp7, 14
	s_mov_b64 exec, 0xffffffff
	s_mov_b64 ttmp[14:15], ttmp[8:9]
	s_add_co_u32 ttmp7, ttmp6, REST
	next ttmp14, ttmp15, ttmp7
	store v0

	// Scalar registers, 32 at a time. The last two are VCC.
	s_mov_b64 ttmp[14:15], ttmp[8:9]
	next ttmp14, ttmp15, ttmp6
	.irp block, 0, 32, 64
	.set n, 0
	.rept 32
	v_writelane_b32 v0, s[\block + n], n
	.set n, n + 1
	.endr
	store v0
	next ttmp14, ttmp15, 128
	.endr
	v_mov_b32 v0, 0
	.set n, 0
	.rept 10
	v_writelane_b32 v0, s[96 + n], n
	.set n, n + 1
	.endr
	v_writelane_b32 v0, vcc_lo, 10
	v_writelane_b32 v0, vcc_hi, 11
	store v0

	s_mov_b64 exec, -1
	s_cmp_ge_i32 ttmp1, 0
	s_cbranch_scc1 vectors
	s_getreg_b32 ttmp7, hwreg(HW_REG_LDS_ALLOC, 12, 9)
	s_lshl_b32 ttmp7, ttmp7, 9
	s_cbranch_scc0 vectors
	s_mov_b64 ttmp[14:15], ttmp[8:9]
	s_add_co_u32 ttmp13, ttmp6, LDS
	next ttmp14, ttmp15, ttmp13
	s_mov_b32 ttmp13, 0
	v_mbcnt_lo_u32_b32 v0, -1, 0
	v_mbcnt_hi_u32_b32 v0, -1, v0
	v_lshlrev_b32 v0, 2, v0
lds:
	ds_load_b32 v1, v0
	s_wait_idle
	store v1
	next ttmp14, ttmp15, ttmp4
	v_add_nc_u32 v0, ttmp4, v0
	s_add_co_u32 ttmp13, ttmp13, ttmp4
	s_cmp_lt_u32 ttmp13, ttmp7
	s_cbranch_scc1 lds

vectors:
	s_lshl_b32 ttmp7, ttmp4, 2
	s_mov_b64 ttmp[14:15], ttmp[8:9]
	s_mov_b32 m0, 4
vector:
	next ttmp14, ttmp15, ttmp7
	s_cmp_lt_u32 m0, ttmp5
	s_cbranch_scc0 saved
	s_mov_b64 ttmp[10:11], ttmp[14:15]
	.irp n, 0, 1, 2, 3
	v_movrels_b32 v\n, v\n
	store v\n
	next ttmp14, ttmp15, ttmp4
	.endr
	s_mov_b64 ttmp[14:15], ttmp[10:11]
	s_add_co_u32 m0, m0, 4
	s_branch vector
saved:
	// No wave goes on before the barrier's state is stored.
	together
	s_endpgm_saved

restore:
	// TTMP8 and 9 are the place, TTMP13 its upper half as the hardware gave it, TTMP4 to TTMP6 as above.
	s_mov_b32 ttmp13, exec_hi
	s_mov_b32 ttmp8, exec_lo
	s_and_b32 ttmp9, exec_hi, 0xffff
	sizes ttmp4, ttmp5, ttmp6
	s_mov_b64 exec, -1
	s_bitcmp1_b32 ttmp13, FIRST
	s_cbranch_scc0 load_vectors
	s_getreg_b32 ttmp7, hwreg(HW_REG_LDS_ALLOC, 12, 9)
	s_lshl_b32 ttmp7, ttmp7, 9
	s_cbranch_scc0 load_vectors
	s_mov_b64 ttmp[14:15], ttmp[8:9]
	s_add_co_u32 ttmp12, ttmp6, LDS
	next ttmp14, ttmp15, ttmp12
	s_mov_b32 ttmp12, 0
	v_mbcnt_lo_u32_b32 v0, -1, 0
	v_mbcnt_hi_u32_b32 v0, -1, v0
	v_lshlrev_b32 v0, 2, v0
load_lds:
	load v1
	s_wait_idle
	ds_store_b32 v0, v1
	next ttmp14, ttmp15, ttmp4
	v_add_nc_u32 v0, ttmp4, v0
	s_add_co_u32 ttmp12, ttmp12, ttmp4
	s_cmp_lt_u32 ttmp12, ttmp7
	s_cbranch_scc1 load_lds
	s_wait_idle

load_vectors:
	s_lshl_b32 ttmp7, ttmp4, 2
	s_mov_b64 ttmp[10:11], ttmp[8:9]
	s_mov_b32 m0, 4
load_vector:
	next ttmp10, ttmp11, ttmp7
	s_cmp_lt_u32 m0, ttmp5
	s_cbranch_scc0 load_first
	s_mov_b64 ttmp[14:15], ttmp[10:11]
	.irp n, 0, 1, 2, 3
	load v\n
	next ttmp14, ttmp15, ttmp4
	.endr
	s_wait_idle
	.irp n, 0, 1, 2, 3
	v_movreld_b32 v\n, v\n
	.endr
	s_add_co_u32 m0, m0, 4
	s_branch load_vector
load_first:
	s_mov_b64 ttmp[14:15], ttmp[8:9]
	.irp n, 0, 1, 2, 3
	load v\n
	next ttmp14, ttmp15, ttmp4
	.endr

	s_mov_b64 ttmp[14:15], ttmp[8:9]
	next ttmp14, ttmp15, ttmp6
	s_load_b512 s[0:15], ttmp[14:15], 0 scope:SCOPE_SYS
	s_load_b512 s[16:31], ttmp[14:15], 0x40 scope:SCOPE_SYS
	s_load_b512 s[32:47], ttmp[14:15], 0x80 scope:SCOPE_SYS
	s_load_b512 s[48:63], ttmp[14:15], 0xc0 scope:SCOPE_SYS
	s_load_b512 s[64:79], ttmp[14:15], 0x100 scope:SCOPE_SYS
	s_load_b512 s[80:95], ttmp[14:15], 0x140 scope:SCOPE_SYS
	s_load_b256 s[96:103], ttmp[14:15], 0x180 scope:SCOPE_SYS
	s_load_b64 s[104:105], ttmp[14:15], 0x1a0 scope:SCOPE_SYS
	s_load_b64 vcc, ttmp[14:15], 0x1a8 scope:SCOPE_SYS
	s_wait_idle

	// The barrier's arrivals, by the first wave: bit 0 valid, 22:16 their number.
	next ttmp14, ttmp15, REST
	s_bitcmp1_b32 ttmp13, FIRST
	s_cbranch_scc0 arrived
	s_load_b32 ttmp7, ttmp[14:15], 0x38 scope:SCOPE_SYS
	s_wait_idle
	s_bitcmp1_b32 ttmp7, 0
	s_cbranch_scc0 arrived
	s_bfe_u32 ttmp7, ttmp7, 16 | (7 << 16)
arrive:
	s_cmp_eq_u32 ttmp7, 0
	s_cbranch_scc1 arrived
	s_barrier_signal -1
	s_sub_co_u32 ttmp7, ttmp7, 1
	s_branch arrive
arrived:
	// A request to save, or the host's, that comes meanwhile stays: these two flags aren't written.
	s_load_b32 ttmp10, ttmp[14:15], 0 scope:SCOPE_SYS
	s_load_b32 ttmp0, ttmp[14:15], 4 scope:SCOPE_SYS
	s_load_b32 ttmp1, ttmp[14:15], 8 scope:SCOPE_SYS
	s_load_b32 ttmp2, ttmp[14:15], 0xc scope:SCOPE_SYS
	s_load_b32 ttmp3, ttmp[14:15], 0x10 scope:SCOPE_SYS
	s_load_b32 ttmp12, ttmp[14:15], 0x14 scope:SCOPE_SYS
	s_load_b32 ttmp4, ttmp[14:15], 0x18 scope:SCOPE_SYS
	s_load_b32 ttmp5, ttmp[14:15], 0x20 scope:SCOPE_SYS
	s_load_b32 ttmp6, ttmp[14:15], 0x24 scope:SCOPE_SYS
	s_load_b32 ttmp7, ttmp[14:15], 0x28 scope:SCOPE_SYS
	s_load_b32 ttmp8, ttmp[14:15], 0x2c scope:SCOPE_SYS
	s_load_b32 ttmp9, ttmp[14:15], 0x30 scope:SCOPE_SYS
	s_wait_idle
	s_mov_b32 m0, ttmp10
	s_mov_b64 exec, ttmp[2:3]
	s_setreg_b32 hwreg(HW_REG_EXCP_FLAG_PRIV, 0, 5), ttmp4
	s_lshr_b32 ttmp4, ttmp4, 6
	s_setreg_b32 hwreg(HW_REG_EXCP_FLAG_PRIV, 6, 1), ttmp4
	s_lshr_b32 ttmp4, ttmp4, 2
	s_setreg_b32 hwreg(HW_REG_EXCP_FLAG_PRIV, 8, 24), ttmp4
	s_setreg_b32 hwreg(HW_REG_MODE), ttmp5
	s_setreg_b32 hwreg(HW_REG_SCRATCH_BASE_LO), ttmp6
	s_setreg_b32 hwreg(HW_REG_SCRATCH_BASE_HI), ttmp7
	s_setreg_b32 hwreg(HW_REG_EXCP_FLAG_USER), ttmp8
	s_setreg_b32 hwreg(HW_REG_TRAP_CTRL), ttmp9
	s_load_b128 ttmp[4:7], ttmp[14:15], 0x50 scope:SCOPE_SYS
	s_load_b128 ttmp[8:11], ttmp[14:15], 0x60 scope:SCOPE_SYS
	s_load_b32 ttmp13, ttmp[14:15], 0x74 scope:SCOPE_SYS
	s_wait_idle
	s_and_b32 ttmp1, ttmp1, 0xffff
	s_and_b64 exec, exec, exec
	s_and_b64 vcc, vcc, vcc
	give_scheduling ttmp14
	s_setreg_b32 hwreg(HW_REG_STATE_PRIV), ttmp12
	// LDS and barrier are there for all of the work-group.
	together
	s_rfe_b64 ttmp[0:1]
