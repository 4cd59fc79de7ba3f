// SPDX-License-Identifier: GPL-2.0

//! What the core knows of a driver: its name, its features, and what it calls.

use super::{
    device,
    fdinfo,
    file::{
        self,
        Fops, //
    },
    prime,
    request::Requests,
    Driver, //
};
use crate::glue::table;
use kernel::{
    bindings,
    prelude::*,
    str::{
        as_char_ptr_in_const_context,
        CStr, //
    }, //
};

/// How a driver calls itself.
pub(crate) struct Identity {
    pub(crate) name: &'static CStr,
    pub(crate) description: &'static CStr,
    /// Major, minor, patch level.
    pub(crate) version: (c_int, c_int, c_int),
}

/// What the core knows of a driver.
pub(crate) struct Table(table::Table<bindings::drm_driver>);

impl Table {
    /// The table of a driver with primary and render nodes.
    pub(crate) const fn new<T: Driver, const N: usize>(
        identity: &Identity,
        fops: &'static Fops,
        requests: &'static Requests<N>,
    ) -> Self {
        let mut driver: bindings::drm_driver = pin_init::zeroed();
        driver.open = Some(file::open::<T>);
        driver.postclose = Some(file::postclose::<T>);
        driver.release = Some(device::release::<T>);
        driver.show_fdinfo = Some(fdinfo::show::<T>);
        (driver.major, driver.minor, driver.patchlevel) = identity.version;
        driver.name = as_char_ptr_in_const_context(identity.name).cast_mut();
        driver.desc = as_char_ptr_in_const_context(identity.description).cast_mut();
        driver.gem_prime_import = Some(prime::import::<T>);
        driver.driver_features = bindings::drm_driver_feature_DRIVER_GEM
            | bindings::drm_driver_feature_DRIVER_RENDER
            | bindings::drm_driver_feature_DRIVER_SYNCOBJ
            | bindings::drm_driver_feature_DRIVER_SYNCOBJ_TIMELINE;
        driver.ioctls = requests.as_ptr();
        driver.num_ioctls = N as c_int;
        driver.fops = fops.as_ptr();
        Self(table::Table(driver))
    }

    pub(super) const fn as_ptr(&self) -> *const bindings::drm_driver {
        self.0.as_ptr()
    }
}
