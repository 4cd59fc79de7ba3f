// SPDX-License-Identifier: MIT OR Apache-2.0

//! The command processor, whichever firmware schedules its queues: from a doorbell to a finished
//! dispatch.
//!
//! ```text
//! cpsch, mes --map, unmap--> sched --connect, save--> mec: HQDs and the queues on them
//!                              |
//! doorbells ------------> sched::step --> run: takes packets --> launch: workgroups on workers
//!                                          ^                        |
//!                                          +--- signal, interrupt <-+
//! ```
//!
//! From the ground up: [`packet`] parses packets; [`front`] checks what a queue runs by; [`launch`]
//! executes dispatches; [`mec`] keeps the loaded queues; [`run`] takes their packets and completes
//! them; [`sched`] decides which queue has an HQD.
//!
//! Written from the firmware's side: Linux's packet and MQD definitions, their comments about the
//! firmware (`amdgpu/gfx_v9_4_3.c`, `amdkfd/kfd_mqd_manager_v9.c`), and the HSA standard
//! for AQL.
//!
//! Threads: the thread of the scheduler's firmware owns all queues, so no queue state is locked.
//! *Workers* ([`launch::workers`]) run workgroups for a budget of instructions a turn, the dispatches
//! taking turns, so that a kernel without end stops neither other queues nor an unmap.

pub mod front;
pub mod launch;
pub(crate) mod mec;
pub mod packet;
pub mod run;
pub(crate) mod sched;
