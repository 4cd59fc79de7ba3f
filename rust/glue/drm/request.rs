// SPDX-License-Identifier: GPL-2.0

//! A driver's own requests: the core looks them up by number, checks who may make them, and copies
//! their arguments (`drm_ioctl`).

use super::{
    file::Opened,
    Driver, //
};
use crate::{
    glue::{
        table::Table,
        user, //
    },
    uapi::{
        abi::Abi,
        ioctl as ioc, //
    }, //
};
use core::mem::size_of;
use kernel::{
    bindings,
    error::from_result,
    prelude::*,
    str::as_char_ptr_in_const_context, //
};

/// Who may make a request, beside root.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Access {
    /// Files of a render node, and those of the primary node that its master let in.
    Render,
    /// The master of the primary node.
    Master,
}

/// A request of a driver.
pub(crate) trait Request<T: Driver> {
    type Argument: Abi;
    /// The encoded command.
    const COMMAND: u32;
    /// For the core's debug messages.
    const NAME: &'static CStr;
    const ACCESS: Access;

    /// Answers it. What it changes of the argument goes back even when it fails.
    fn answer(file: Opened<'_, T>, argument: &mut Self::Argument) -> Result;
}

/// The requests of a driver by number, from the first that drivers have. Those that it doesn't have
/// answer EINVAL.
pub(crate) struct Requests<const N: usize>(Table<[bindings::drm_ioctl_desc; N]>);

impl<const N: usize> Requests<N> {
    /// None.
    pub(crate) const fn new() -> Self {
        Self(Table([pin_init::zeroed(); N]))
    }

    /// And this one. It doesn't compile where the number is beyond the last.
    #[expect(
        clippy::indexing_slicing,
        reason = "tables are statics, so that the compiler reports it"
    )]
    pub(crate) const fn with<T: Driver, R: Request<T>>(mut self) -> Self {
        // One below the first wraps, and is beyond the last too.
        let index = (ioc::ioc_number(R::COMMAND) as u32).wrapping_sub(bindings::DRM_COMMAND_BASE);
        self.0 .0[index as usize] = bindings::drm_ioctl_desc {
            cmd: R::COMMAND,
            flags: match R::ACCESS {
                Access::Render => {
                    bindings::drm_ioctl_flags_DRM_AUTH | bindings::drm_ioctl_flags_DRM_RENDER_ALLOW
                }
                Access::Master => bindings::drm_ioctl_flags_DRM_MASTER,
            },
            func: Some(call::<T, R>),
            name: as_char_ptr_in_const_context(R::NAME),
        };
        self
    }

    pub(super) const fn as_ptr(&self) -> *const bindings::drm_ioctl_desc {
        self.0.as_ptr().cast()
    }
}

extern "C" fn call<T: Driver, R: Request<T>>(
    _drm: *mut bindings::drm_device,
    data: *mut c_void,
    file: *mut bindings::drm_file,
) -> c_int {
    from_result(|| {
        // SAFETY: The core passes a buffer of at least the table's size, all of it written, that is ours
        // during the call; and an open file of this driver.
        let (bytes, file) = unsafe {
            let len = size_of::<R::Argument>();
            let bytes = core::slice::from_raw_parts_mut(data.cast::<u8>(), len);
            (bytes, Opened::<T>::from_raw(file))
        };
        let mut argument = user::read_abi(bytes)?;
        let result = R::answer(file, &mut argument);
        user::write_abi(bytes, &argument)?;
        result.map(|()| 0)
    })
}
