// SPDX-License-Identifier: MIT OR Apache-2.0

//! A queue as it is loaded on the XCCs of a partition: an MQD and an HQD on each.
//!
//! A PM4 queue runs on the XCC that PM4_TARGET_XCC_IN_XCP names; on the others it is loaded, too,
//! and does nothing. An AQL queue's dispatches are split ([`crate::engines::cp::launch::split`]).

use crate::engines::cp::front::hqd::Image;
use crate::engines::cp::launch::gws::Gws;
use crate::engines::cp::launch::room::Room;
use std::sync::Arc;

/// A queue as it is loaded on one XCC.
pub(crate) struct Load {
    pub xcc: u8,
    /// Address of its MQD there.
    pub mqd: u64,
    /// The MQD's words as they were loaded.
    pub image: Box<Image>,
    /// What is left of its save area.
    pub room: Arc<Room>,
    /// Its semaphores and barriers, if it was given any.
    pub gws: Option<Arc<Gws>>,
}

/// A queue as it is loaded on all its XCCs.
pub(crate) struct Loads {
    /// Where packets are taken.
    pub lead: Load,
    pub others: Vec<Load>,
}

impl Load {
    pub fn new(xcc: u8, mqd: u64, image: Box<Image>) -> Self {
        let room = Room::endless();
        Self {
            xcc,
            mqd,
            image,
            room,
            gws: None,
        }
    }
}

impl Loads {
    /// A queue of one XCC.
    pub fn alone(xcc: u8, mqd: u64, image: Box<Image>) -> Self {
        Self {
            lead: Load::new(xcc, mqd, image),
            others: Vec::new(),
        }
    }

    /// All of them, the leading one first.
    pub fn iter(&self) -> impl Iterator<Item = &Load> {
        std::iter::once(&self.lead).chain(&self.others)
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = &mut Load> {
        std::iter::once(&mut self.lead).chain(&mut self.others)
    }

    /// Gives it so many semaphores and barriers on each XCC.
    pub fn give_gws(&mut self, count: u32) {
        for load in self.iter_mut() {
            load.gws = (count > 0).then(|| Arc::new(Gws::new(count)));
        }
    }

    /// Whether semaphores or barriers of it have to be saved.
    pub fn has_used_gws(&self) -> bool {
        self.iter()
            .any(|load| load.gws.as_ref().is_some_and(|gws| gws.is_used()))
    }

    /// Whether a workgroup of so many words can be saved, wherever it runs.
    pub fn have_room(&self, words: u64) -> bool {
        self.iter().all(|load| load.room.has(words))
    }
}
