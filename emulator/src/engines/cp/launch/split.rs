// SPDX-License-Identifier: MIT OR Apache-2.0

//! A dispatch on the XCCs of a partition: each runs a share of its workgroups.
//!
//! Source: Linux, `amdkfd/kfd_mqd_manager_v9.c` (`init_mqd_v9_4_3`): workgroups go to the XCCs by
//! turns, COMPUTE_TG_CHUNK_SIZE (1) at a time, in the order of COMPUTE_CURRENT_LOGIC_XCC_ID.

use super::dispatch::{Counts, Dispatch, Go};
use super::window::Failure;
use super::workers::Units;
use std::sync::Arc;

/// A dispatch: what each XCC has of it, in the order in which the queue is loaded on them.
#[derive(Clone, Default)]
pub(crate) struct SplitDispatch(pub Vec<Arc<Dispatch>>);

impl SplitDispatch {
    pub fn is_idle(&self) -> bool {
        self.0.iter().all(|d| d.is_idle())
    }

    pub fn is_finished(&self) -> bool {
        self.0.iter().all(|d| d.is_finished())
    }

    /// What stopped it, and on which XCC.
    pub fn failure(&self) -> Option<(u8, Failure)> {
        let mut failed = self.0.iter().filter_map(|d| Some((d.xcc(), d.failure()?)));
        failed.next()
    }

    pub fn had_turn(&self) -> bool {
        self.0.iter().any(|d| d.had_turn())
    }

    pub fn set(&self, go: Go) {
        self.0.iter().for_each(|d| d.set(go));
    }

    /// The device's time when it was launched.
    pub fn started(&self) -> u64 {
        self.0.first().map_or(0, |d| d.started)
    }

    pub fn waves_per_group(&self) -> u32 {
        self.0.first().map_or(0, |d| d.waves_per_group())
    }

    /// Workgroups in all.
    pub fn total(&self) -> u64 {
        self.0.iter().fold(0, |sum, d| d.total.saturating_add(sum))
    }

    /// What each XCC executed.
    pub fn counts(&self) -> Vec<Counts> {
        self.0.iter().map(|d| d.counts()).collect()
    }

    /// Gives the compute units what there is to do.
    pub fn submit(&self, units: &Units) {
        for d in self.0.iter().filter(|d| !d.is_finished()) {
            units.submit(d);
        }
    }
}
