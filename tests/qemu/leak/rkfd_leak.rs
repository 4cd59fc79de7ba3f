// SPDX-License-Identifier: GPL-2.0

//! Leaks one object when it is loaded: the leak that the scan of the debug kernel must find.

use kernel::prelude::*;

struct Leak;

impl kernel::Module for Leak {
    fn init(_module: &'static ThisModule) -> Result<Self> {
        // Filled, so that it isn't mistaken for a pointer to something that lives.
        let object = KBox::new([0x5a_u8; 200], GFP_KERNEL)?;
        core::mem::forget(object);
        pr_info!("leaked an object of 200 bytes\n");
        Ok(Leak)
    }
}

module! {
    type: Leak,
    name: "rkfd_leak",
    authors: ["The rkfd authors"],
    description: "Leaks one object, for tests",
    license: "GPL",
}
