// SPDX-License-Identifier: GPL-2.0

//! Memory that the engine is at work on for somebody who may not wait to the end.

use super::{
    copier::{
        Killable,
        Ticket, //
    },
    Copier, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Memory in use. Dropped, it is given back or, if the engine may still touch it, kept until the engine
/// was reset.
pub(super) struct Running<T: Send + Sync + 'static> {
    pub(super) copier: Arc<Copier>,
    /// What the engine uses; none once it has been taken out.
    pub(super) memory: Option<T>,
    /// The submission that the engine may have begun.
    pub(super) ticket: Option<Ticket>,
}

impl<T: Send + Sync + 'static> Running<T> {
    /// Nothing was submitted yet.
    pub(super) fn new(copier: &Arc<Copier>, memory: T) -> Self {
        Self {
            copier: copier.clone(),
            memory: Some(memory),
            ticket: None,
        }
    }

    /// Lets a work item wait for what the engine has begun.
    pub(super) fn finish_late(self) {
        let Some(late) = self.copier.late() else {
            return;
        };
        // Without memory for the work item the closure is dropped, and with it this.
        let _ = late.queue().try_spawn(GFP_KERNEL, move || {
            if let Some(ticket) = self.ticket {
                // Dropping it looks at what became of the ticket.
                let _ = self.copier.wait(ticket, Killable::No);
            }
        });
    }
}

impl<T: Send + Sync + 'static> Drop for Running<T> {
    fn drop(&mut self) {
        let Some(memory) = self.memory.take() else {
            return;
        };
        if let Some(ticket) = self.ticket {
            self.copier.keep(ticket, memory);
        }
    }
}
