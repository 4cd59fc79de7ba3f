// SPDX-License-Identifier: MIT OR Apache-2.0

//! The open driver: its file, its version, and where it places each GPU's apertures.

mod link;

use std::path::Path;
use std::sync::{Arc, PoisonError};

use rkfd_uapi::device::ProcessDeviceApertures;
use rkfd_uapi::VERSION_MAJOR;
use rustix::io::Errno;

use crate::error::{Error, Result};
use crate::sync::{Mutex, MutexGuard};
use crate::sys::kfd::Kfd;

pub(crate) use link::Link;

/// The driver's file.
pub(crate) const DEVICE: &str = "/dev/kfd";

/// Locks a mutex; what it guards stays consistent even if a holder panicked.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The driver, opened by this process.
#[derive(Debug)]
pub(crate) struct Driver {
    pub(crate) kfd: Kfd,
    pub(crate) version: (u32, u32),
    apertures: Vec<ProcessDeviceApertures>,
    pid: rustix::process::Pid,
}

impl Driver {
    /// Opens `/dev/kfd`.
    pub(crate) fn open() -> Result<Arc<Self>> {
        Self::of_device(Kfd::open(Path::new(DEVICE))?)
    }

    /// Reads the version and the apertures of an open driver.
    pub(crate) fn of_device(kfd: Kfd) -> Result<Arc<Self>> {
        let version = kfd.version().map_err(|error| match error {
            Error::Ioctl {
                errno: Errno::NOTTY,
                ..
            } => Error::NotKfd {
                path: DEVICE.into(),
            },
            error => error,
        })?;
        if version.0 != VERSION_MAJOR {
            return Err(Error::Version {
                major: version.0,
                minor: version.1,
            });
        }
        let apertures = kfd.apertures()?;
        Ok(Arc::new(Self {
            kfd,
            version,
            apertures,
            pid: rustix::process::getpid(),
        }))
    }

    /// Whether this process opened it, and not one that this process was forked from.
    pub(crate) fn is_own(&self) -> bool {
        self.pid == rustix::process::getpid()
    }

    fn apertures_of(&self, gpu_id: u32) -> Result<ProcessDeviceApertures> {
        let mut all = self.apertures.iter();
        let found = all.find(|a| a.gpu_id == gpu_id).copied();
        found.ok_or_else(|| Error::Topology {
            path: crate::topology::ROOT.into(),
            what: format!("GPU {gpu_id:#x} has no apertures; the driver may be restarting"),
        })
    }
}
