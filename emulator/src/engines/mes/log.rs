// SPDX-License-Identifier: MIT OR Apache-2.0

//! The log of what the scheduler does, in memory of the driver's.
//!
//! SET_HW_RSRC names it (`event_intr_history_gpu_mc_ptr`). What AMD's firmware writes there is not
//! public; here it is the one format of a log that the interface has: `struct MES_LOG_BUFFER`, with
//! an entry whenever a gang gets an HQD, loses it, comes or goes.
//!
//! Source: Linux, `include/mes_v12_api_def.h`; `amdgpu/mes_v12_0.c` (`mes_v12_0_set_hw_resources`:
//! a log for each pipe).

use super::failure::{api, code, memory, Failure};
use super::firmware::Firmware;
use super::slot::Pipe;
use super::state::Log;
use rkfd_hw::mes::log;
use rkfd_hw::mes::v12::SetHwResources;

impl Firmware {
    /// Begins the log of a pipe, if its resources name one.
    pub(super) fn begin_log(&mut self, pipe: Pipe, p: &SetHwResources) -> Result<(), Failure> {
        let at = p.get(SetHwResources::EVENT_INTR_HISTORY_GPU_MC_PTR);
        let on = p.get(SetHwResources::ENABLE_MES_EVENT_INT_LOGGING) == 1;
        if on != (at != 0) || at % 8 != 0 {
            return api(code::VALUE, format!("a log at {at:#x}"));
        }
        let Some(place) = self.control.logs.get_mut(pipe.index()) else {
            return Ok(());
        };
        *place = on.then(|| Log {
            at,
            ..Log::default()
        });
        if !on {
            return Ok(());
        }
        let name = "event_intr_history_gpu_mc_ptr";
        memory(name, self.space().load_u64(at + log::BYTES - 8))?;
        let entries = u32::try_from(log::ENTRIES).unwrap_or(0);
        let header = [0, 0, entries, 0, 0, 0, 0, 0];
        memory(name, self.space().write_words(at, &header))
    }

    /// Writes what has changed since the last time.
    pub(super) fn log_changes(&mut self) {
        let Some(mut log) = self.control.logs.first_mut().and_then(Option::take) else {
            return;
        };
        let gangs = self.gangs();
        let left = log.written.iter().map(|(gang, _)| *gang);
        let left: Vec<u64> = left.filter(|g| gangs.iter().all(|(k, _)| k != g)).collect();
        let gone = left.into_iter().map(|gang| (gang, log::IDLE));
        let old = std::mem::take(&mut log.written);
        let changes = gangs.iter().copied().filter(|gang| !old.contains(gang));
        for (gang, state) in gone.chain(changes) {
            self.write_entry(&mut log, gang, state);
        }
        log.written = gangs;
        self.control.logs[0] = Some(log);
    }

    /// Each gang with its state: running if one of its queues is connected.
    fn gangs(&self) -> Vec<(u64, u32)> {
        let mut gangs: Vec<(u64, u32)> = Vec::new();
        for queue in &self.members.queues {
            let state = match self.is_connected(queue.mqd) {
                true => log::RUNNING,
                false => log::READY,
            };
            match gangs.iter_mut().find(|(gang, _)| *gang == queue.gang) {
                Some((_, known)) if state == log::RUNNING => *known = state,
                Some(_) => {}
                None => gangs.push((queue.gang, state)),
            }
        }
        gangs
    }

    fn write_entry(&self, log: &mut Log, gang: u64, state: u32) {
        let now = self.shared.env.clock().now();
        let entry = [
            now as u32,
            (now >> 32) as u32,
            log::CONTEXT_STATE_CHANGE,
            0,
            gang as u32,
            (gang >> 32) as u32,
            state,
            0,
        ];
        let at = log.at + log::HEADER_BYTES + u64::from(log.next) * log::ENTRY_BYTES;
        log.next += 1;
        if u64::from(log.next) == log::ENTRIES {
            log.next = 0;
            log.wraps = log.wraps.wrapping_add(1);
        }
        let space = self.space();
        let written = space
            .write_words(at, &entry)
            .and_then(|()| space.write_words(log.at, &[log.next, log.wraps]));
        if let Err(fault) = written {
            self.fault("the log of MES", &fault);
        }
    }
}
