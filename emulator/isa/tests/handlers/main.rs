// SPDX-License-Identifier: MIT OR Apache-2.0
//! Complete trap handlers, as a driver has them for every process: they save a wave when hardware takes its
//! queue off, load it later, and pass everything else to the program's handler. They are the
//! module's (`rust/chip/handlers/`), where its cleaner shader is, too, in the layout and by the conventions of Linux's
//! (`amdkfd/cwsr_trap_handler_gfx9.asm`, `cwsr_trap_handler_gfx12.asm`).

mod chained;
mod cleaner;
mod machine;
mod saved;
