// SPDX-License-Identifier: GPL-2.0

//! Files of firmware, for a GPU whose engines are halted, as after power-on: the kernel's loader finds them, and they are
//! checked before the hardware is touched.
//!
//! Which files a block needs, its own `hal.rs` knows. What lies where in a file: [`crate::hw::firmware`].

use crate::hw::firmware::{
    Code,
    EngineCode,
    RlcCode,
    SecureOs,
    Unusable, //
};
use kernel::{
    device::Device,
    firmware::Firmware,
    prelude::*,
    str::CStr, //
};

/// What a GPU is started with.
pub(crate) struct Set {
    /// The secure OS of the security processor, unless one runs already.
    pub(crate) secure_os: Option<SecureOsFile>,
    /// Of the run list controller.
    pub(crate) rlc: RlcFile,
    /// Of the compute micro engines.
    pub(crate) mec: EngineFile,
    /// Of the copy engines, the same for all.
    pub(crate) sdma: CodeFile,
}

/// A file with code and nothing else that is needed; it was checked.
pub(crate) struct CodeFile {
    file: Firmware,
    major: u16,
}

impl CodeFile {
    /// Loads the file with that name, whose header has the version `major`.
    ///
    /// # Errors
    ///
    /// That of the loader, ENOENT where there is no such file; EINVAL when the file can't be used. Logged.
    pub(crate) fn load(dev: &Device, name: &'static CStr, major: u16) -> Result<Self> {
        let file = load(dev, name)?;
        let version = Code::read(file.data(), major).map(|code| code.version);
        log(dev, name, version)?;
        Ok(Self { file, major })
    }

    /// The code.
    ///
    /// # Errors
    ///
    /// None for what was checked; otherwise EINVAL.
    pub(crate) fn code(&self) -> Result<Code<'_>> {
        Code::read(self.file.data(), self.major).map_err(|_| EINVAL)
    }
}

/// A file of a micro engine of the command processor; it was checked.
pub(crate) struct EngineFile(Firmware);

impl EngineFile {
    /// Loads the file with that name.
    ///
    /// # Errors
    ///
    /// As of [`CodeFile::load`].
    pub(crate) fn load(dev: &Device, name: &'static CStr) -> Result<Self> {
        let file = load(dev, name)?;
        let version = EngineCode::read(file.data()).map(|engine| engine.code.version);
        log(dev, name, version)?;
        Ok(Self(file))
    }

    /// The code.
    ///
    /// # Errors
    ///
    /// None for what was checked; otherwise EINVAL.
    pub(crate) fn code(&self) -> Result<EngineCode<'_>> {
        EngineCode::read(self.0.data()).map_err(|_| EINVAL)
    }
}

/// A file of the run list controller; it was checked.
pub(crate) struct RlcFile(Firmware);

impl RlcFile {
    /// Loads the file with that name.
    ///
    /// # Errors
    ///
    /// As of [`CodeFile::load`].
    pub(crate) fn load(dev: &Device, name: &'static CStr) -> Result<Self> {
        let file = load(dev, name)?;
        let version = RlcCode::read(file.data()).map(|rlc| rlc.code.version);
        log(dev, name, version)?;
        Ok(Self(file))
    }

    /// The code.
    ///
    /// # Errors
    ///
    /// None for what was checked; otherwise EINVAL.
    pub(crate) fn code(&self) -> Result<RlcCode<'_>> {
        RlcCode::read(self.0.data()).map_err(|_| EINVAL)
    }
}

/// A file of the security processor; it was checked.
pub(crate) struct SecureOsFile {
    file: Firmware,
    earlier: bool,
}

impl SecureOsFile {
    /// Loads the file with that name, of which boards with `earlier` firmware of the power management have parts
    /// of their own.
    ///
    /// # Errors
    ///
    /// As of [`CodeFile::load`].
    pub(crate) fn load(dev: &Device, name: &'static CStr, earlier: bool) -> Result<Self> {
        let file = load(dev, name)?;
        let version = SecureOs::read(file.data(), earlier).map(|os| os.version());
        log(dev, name, version)?;
        Ok(Self { file, earlier })
    }

    /// Its components.
    ///
    /// # Errors
    ///
    /// None for what was checked; otherwise EINVAL.
    pub(crate) fn components(&self) -> Result<SecureOs<'_>> {
        SecureOs::read(self.file.data(), self.earlier).map_err(|_| EINVAL)
    }
}

impl kernel::fmt::Display for Unusable {
    fn fmt(&self, f: &mut kernel::fmt::Formatter<'_>) -> kernel::fmt::Result {
        core::fmt::Display::fmt(self, f)
    }
}

fn load(dev: &Device, name: &'static CStr) -> Result<Firmware> {
    // The loader's own message would name neither the package nor why the file is needed.
    Firmware::request_nowarn(name, dev).inspect_err(|error| {
        dev_err!(
            dev,
            "the GPU's firmware {} can't be loaded ({:?}): Debian's package firmware-amd-graphics has it\n",
            name,
            error
        );
    })
}

/// Logs the version of a file, or why it can't be used.
fn log(dev: &Device, name: &'static CStr, version: Result<u32, Unusable>) -> Result {
    match version {
        Ok(version) => {
            dev_info!(dev, "firmware {}: version {:#x}\n", name, version);
            Ok(())
        }
        Err(why) => {
            dev_err!(
                dev,
                "the firmware {} is damaged or for another chip: {}; Debian's package firmware-amd-graphics has it\n",
                name,
                why
            );
            Err(EINVAL)
        }
    }
}
