// SPDX-License-Identifier: MIT OR Apache-2.0
//
// The trap handler of this library's queues. handler.sh assembles it for each target into words.rs.
//
// A wave comes here for s_trap, for an instruction that is none, and for an access that violates
// memory. It finds its queue by the doorbell's number in the table behind this page, leaves the
// error in the value of the queue's inactive signal, wakes who sleeps on the signal's event, reports
// the exception to the driver for a program that asked for it (RUNTIME_ENABLE), and halts: it is never
// resumed, so its first vector registers are free. The trap of a debugger, of which there is none,
// does nothing (LLVM's AMDGPUUsage, "Trap Handler ABI").
//
// TTMP0 and TTMP1 have the wave's address and the trap's number. A driver that has a handler of its
// own for saving waves calls this one, as Linux's does: then TTMP12 has the state and TTMP14 and
// TTMP15 the address of the table (its memory, TMA). Else nothing but TTMP0 and TTMP1 is set.

// Bytes from here to the table, and where signals have what is used of them.
.set TABLE, 4096
.set VALUE, 8
.set MAILBOX, 16
.set EVENT, 24
// What ROCm's runtime calls the errors.
.set MEMORY_VIOLATION, 0x20000000
.set ILLEGAL_INSTRUCTION, 0x40000000
.set TRAP, 0x80000000
.set ABORT, 2
.set DEBUGGER, 3
// A message to the driver: an event, or a queue's doorbell and exceptions behind its bits. These are
// called as ROCm's runtime does, for which a violation is one of an aperture unless an address doesn't translate
// (KFD_DEBUG_TRAP_CODE of Linux's kfd_int_process_v9.c, KFD_EC_MASK of its kfd_ioctl.h).
.set DOORBELLS, 1 << 10
.set WAVE_ABORT, 10 + 0
.set WAVE_TRAP, 10 + 1
.set WAVE_ILLEGAL_INSTRUCTION, 10 + 3
.set WAVE_MEMORY_VIOLATION, 10 + 4
.set WAVE_APERTURE_VIOLATION, 10 + 5

// Sends an interrupt with the data of a register that isn't TTMP5.
.macro interrupt data
	s_mov_b32 ttmp5, m0
	s_mov_b32 m0, \data
	s_nop 0
	s_sendmsg sendmsg(MSG_INTERRUPT)
	wait_scalar
	s_mov_b32 m0, ttmp5
.endm

.ifdef GFX12
	.macro wait_scalar
	s_wait_kmcnt 0
	.endm
	.macro wait_vector
	s_wait_loadcnt 0
	s_wait_storecnt 0
	.endm
	.set STATE, 4
	.set STATE_SCC, 9
	.set EXCEPTIONS, 17
	.set EXCEPTION_ILLEGAL, 6
	.set EXCEPTION_MEMORY, 4
	.set EXCEPTION_TRANSLATION, 12
	.set NUMBER, 28 | (4 << 16)
.else
	.macro wait_scalar
	s_waitcnt lgkmcnt(0)
	.endm
	.macro wait_vector
	s_waitcnt vmcnt(0)
	.endm
	.set STATE, 2
	.set STATE_SCC, 0
	.set EXCEPTIONS, 3
	.set EXCEPTION_ILLEGAL, 11
	.set EXCEPTION_MEMORY, 8
	.set EXCEPTION_TRANSLATION, 28
	.set NUMBER, 16 | (8 << 16)
.endif

handler:
	// The state, before SCC changes.
	s_getreg_b32 ttmp5, hwreg(STATE)
	s_getpc_b64 ttmp[2:3]
here:
	s_add_u32 ttmp2, ttmp2, TABLE - (here - handler)
	s_addc_u32 ttmp3, ttmp3, 0
	s_cmp_eq_u64 ttmp[2:3], ttmp[14:15]
	s_cselect_b32 ttmp12, ttmp12, ttmp5

	// A wave that goes on keeps its TTMPs, but for 2 to 5 and 12.
	s_getreg_b32 ttmp5, hwreg(EXCEPTIONS)
	s_bitcmp1_b32 ttmp5, EXCEPTION_ILLEGAL
	s_cbranch_scc1 illegal
	s_bitcmp1_b32 ttmp5, EXCEPTION_MEMORY
	s_cbranch_scc1 violation
	s_bfe_u32 ttmp5, ttmp1, NUMBER
	s_cmp_eq_u32 ttmp5, DEBUGGER
	s_cbranch_scc1 debugger
	s_cmp_eq_u32 ttmp5, ABORT
	s_cselect_b32 ttmp13, WAVE_ABORT, WAVE_TRAP
	s_mov_b32 ttmp4, TRAP
	s_branch stop
illegal:
	s_mov_b32 ttmp13, WAVE_ILLEGAL_INSTRUCTION
	s_mov_b32 ttmp4, ILLEGAL_INSTRUCTION
	s_branch stop
violation:
	s_mov_b32 ttmp13, WAVE_APERTURE_VIOLATION
	s_mov_b32 ttmp4, MEMORY_VIOLATION
	s_bitcmp1_b32 ttmp5, EXCEPTION_TRANSLATION
	s_cbranch_scc0 stop
	// An address that doesn't translate: the driver tells the program which, by an event of its own. Vector stores get
	// lost now.
	s_mov_b32 ttmp13, WAVE_MEMORY_VIOLATION
	s_mov_b32 ttmp4, 0

stop:
	// The queue's entry of the table: its inactive signal. EXEC is needed for the answer, and later.
	s_mov_b64 ttmp[14:15], exec
.ifdef GFX12
	s_sendmsg_rtn_b32 ttmp5, sendmsg(MSG_RTN_GET_DOORBELL)
	wait_scalar
.else
	s_mov_b32 exec_lo, 0x80000000
	s_sendmsg sendmsg(MSG_GET_DOORBELL)
answer:
	s_nop 7
	s_bitcmp0_b32 exec_lo, 31
	s_cbranch_scc0 answer
	s_mov_b32 ttmp5, exec_lo
.endif
	s_and_b32 ttmp5, ttmp5, DOORBELLS - 1
	s_lshl_b32 ttmp13, 1, ttmp13
	s_or_b32 ttmp13, ttmp13, ttmp5
	s_cmp_eq_u32 ttmp4, 0
	s_cbranch_scc1 exception
	s_lshl_b32 ttmp5, ttmp5, 3
	s_add_u32 ttmp2, ttmp2, ttmp5
	s_addc_u32 ttmp3, ttmp3, 0
	s_load_dwordx2 ttmp[2:3], ttmp[2:3], 0
	wait_scalar
	s_cmp_eq_u64 ttmp[2:3], 0
	s_cbranch_scc1 exception

	// The first lane does what scalars can't.
	s_mov_b64 exec, 1
	v_mov_b32 v0, ttmp2
	v_mov_b32 v1, ttmp3
	v_mov_b32 v2, ttmp4
	v_mov_b32 v3, 0
.ifdef GFX12
	global_atomic_or_b64 v[0:1], v[2:3], off offset:VALUE scope:SCOPE_SYS
.else
	global_atomic_or_x2 v[0:1], v[2:3], off offset:VALUE sc1
.endif
	wait_vector
	s_load_dwordx2 ttmp[10:11], ttmp[2:3], MAILBOX
	s_load_dword ttmp4, ttmp[2:3], EVENT
	wait_scalar
	s_cmp_eq_u64 ttmp[10:11], 0
	s_cbranch_scc1 exception
	v_mov_b32 v0, ttmp10
	v_mov_b32 v1, ttmp11
	v_mov_b32 v2, ttmp4
.ifdef GFX12
	global_store_b64 v[0:1], v[2:3], off scope:SCOPE_SYS
.else
	global_store_dwordx2 v[0:1], v[2:3], off sc0 sc1
.endif
	wait_vector
	// A higher number would be taken for a doorbell and exceptions. With 0, which is no event, the
	// driver looks for those whose mailbox was written.
	s_cmp_lt_u32 ttmp4, DOORBELLS
	s_cselect_b32 ttmp4, ttmp4, 0
	interrupt ttmp4

exception:
	interrupt ttmp13
	s_mov_b64 exec, ttmp[14:15]
	s_sethalt 1
	s_branch back

debugger:
	s_add_u32 ttmp0, ttmp0, 4
	s_addc_u32 ttmp1, ttmp1, 0
back:
	s_and_b32 ttmp1, ttmp1, 0xffff
.if STATE_SCC
	s_lshr_b32 ttmp12, ttmp12, STATE_SCC
.endif
	s_setreg_b32 hwreg(STATE, STATE_SCC, 1), ttmp12
	s_rfe_b64 ttmp[0:1]
