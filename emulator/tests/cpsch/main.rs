// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command processor on a whole device, driven as Linux drives it: memory by hand, registers by
//! BAR offset, doorbells by stores into their page.

mod caches;
mod commands;
mod copies;
mod counters;
mod dispatches;
mod errors;
mod gws;
mod isolation;
mod kernel_queues;
mod kernels;
mod left_out;
mod mqds;
mod packets;
mod pause;
mod preemption;
mod programs;
mod queues;
mod registers;
mod reset;
mod rig;
mod scale;
mod scheduler;
mod turns;
mod vendor;
mod waves;
mod xccs;
