// SPDX-License-Identifier: GPL-2.0

//! Buffer objects of a program's own memory (user pointers).
//!
//! The pages come and go under the object: whoever watches the program's memory takes them from it
//! once the GPU can't reach them any more, and gives it others ([`Bo::swap_user`]). Without pages
//! nothing of it can be mapped.
//!
//! Lock order: the pages' lock is a leaf.

use super::{
    home::WORDS,
    run,
    Backing,
    Bo,
    Memory,
    Segment,
    PAGE, //
};
use crate::glue::{
    bound::WhileBound,
    dma::{
        self,
        DeviceAccess,
        PageMapping, //
    },
    user_pages::UserPages, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        atomic::AtomicFlag,
        Arc,
        Mutex, //
    }, //
};

/// Pages and their bus addresses.
pub(crate) struct Mapped {
    // The mapping is undone before the pages are let go: fields are dropped in order.
    map: WhileBound<PageMapping>,
    pages: UserPages,
}

impl Mapped {
    /// Makes pages reachable for the device.
    pub(crate) fn new(memory: &Memory, pages: UserPages) -> Result<Self> {
        let access = match pages.are_writable() {
            true => DeviceAccess::ReadWrite,
            false => DeviceAccess::Read,
        };
        let map = memory
            .dev
            .hold(|dev| PageMapping::new(dev, pages.iter(), access))?;
        Ok(Self { map, pages })
    }
}

/// The memory of an object, while there is any.
#[pin_data]
pub(super) struct User {
    #[pin]
    mapped: Mutex<Option<Mapped>>,
}

impl User {
    /// As [`Bo::segments`]. EFAULT when the program took the memory away.
    pub(super) fn segments(
        &self,
        offset: u64,
        len: u64,
        mut f: impl FnMut(Segment) -> Result,
    ) -> Result {
        let end = (offset.saturating_add(len) / PAGE) as usize;
        let mut at = (offset / PAGE) as usize;
        while at < end {
            // A run at a time, since `f` may sleep and the guards forbid it.
            let run = {
                let mapped = self.mapped.lock();
                let mapped = mapped.as_ref().ok_or(EFAULT)?;
                mapped
                    .map
                    .try_access_with(|map| run(map.bus(), at, end))
                    .ok_or(ENODEV)?
                    .ok_or(EINVAL)?
            };
            at = at.saturating_add((run.len / PAGE) as usize);
            f(run)?;
        }
        Ok(())
    }
}

impl User {
    /// As [`Bo::peek_u64`].
    pub(super) fn peek(&self, index: usize) -> Option<u64> {
        let mapped = self.mapped.try_lock()?;
        let page = mapped.as_ref()?.pages.get(index / WORDS)?;
        dma::read_u64(page, index % WORDS).ok()
    }

    /// As [`Bo::poke_u64`].
    pub(super) fn poke(&self, index: usize, value: u64) -> bool {
        let Some(mapped) = self.mapped.try_lock() else {
            return false;
        };
        let page = mapped.as_ref().and_then(|it| it.pages.get(index / WORDS));
        page.is_some_and(|page| dma::write_u64(page, index % WORDS, value).is_ok())
    }
}

impl Bo {
    /// An object of a program's memory, without any yet: whole pages, for which there is room within the limits.
    ///
    /// # Errors
    ///
    /// ENOMEM.
    pub(crate) fn for_user(memory: &Arc<Memory>, size: u64) -> Result<Arc<Self>> {
        let user = KBox::pin_init(
            pin_init!(User { mapped <- new_mutex!(None, "rkfd user pages") }),
            GFP_KERNEL_ACCOUNT,
        )?;
        Ok(Arc::new(
            Self {
                memory: memory.clone(),
                touched: AtomicFlag::new(false),
                size,
                backing: Backing::User(user),
            },
            GFP_KERNEL_ACCOUNT,
        )?)
    }

    /// Whether the object is memory of a program's own.
    pub(crate) fn is_user(&self) -> bool {
        matches!(self.backing, Backing::User(_))
    }

    /// Exchanges its pages. The GPU must not reach those that come out any more: its TLB was flushed.
    pub(crate) fn swap_user(&self, mapped: &mut Option<Mapped>) {
        if let Backing::User(user) = &self.backing {
            core::mem::swap(&mut *user.mapped.lock(), mapped);
        }
    }
}
