// SPDX-License-Identifier: GPL-2.0

//! Files of firmware, for a GPU whose engines are halted, as after power-on: the kernel's loader finds them, and they are
//! checked before the hardware is touched.
//!
//! Which files a block needs, its own `hal.rs` knows. What lies where in a file: [`crate::hw::firmware`].

use crate::hw::firmware::{
    program::{
        CopyProgram,
        CoreStarter,
        Program, //
    },
    tables::Tables,
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

/// What a GPU is started with, and what its engines get.
pub(crate) struct Set<Engines> {
    /// The secure OS of the security processor, unless one runs already.
    pub(crate) secure_os: Option<SecureOsFile>,
    /// What the engines get.
    pub(crate) engines: Engines,
}

/// The same, by who hands firmware out.
pub(crate) enum AnySet {
    /// The security processor does.
    Direct(Set<Direct>),
    /// The run list controller does, when all of it is there.
    Autoload(Set<Autoload>),
}

impl AnySet {
    /// Versions of the compute micro engine's firmware and of the copy engines'.
    ///
    /// # Errors
    ///
    /// None for what was checked; otherwise EINVAL.
    pub(crate) fn versions(&self) -> Result<(u32, u32)> {
        Ok(match self {
            Self::Direct(Set { engines, .. }) => (
                engines.mec.content()?.code.version,
                engines.sdma.code()?.version,
            ),
            Self::Autoload(Set { engines, .. }) => (
                engines.mec.content()?.version,
                engines.sdma.content()?.version,
            ),
        })
    }
}

/// What the security processor gives each engine.
pub(crate) struct Direct {
    /// Of the run list controller.
    pub(crate) rlc: RlcFile,
    /// Of the compute micro engines.
    pub(crate) mec: EngineFile,
    /// Of the copy engines, the same for all.
    pub(crate) sdma: CodeFile,
    /// Tables of the management unit, which the security processor takes before all else.
    pub(crate) tables: Option<TablesFile>,
}

/// What the run list controller hands out.
pub(crate) struct Autoload {
    /// Of the management unit, without which the controller can't start.
    pub(crate) smu: CodeFile,
    /// Of the copy engines, the same for all.
    pub(crate) sdma: CopyFile,
    /// Of the graphics pipe's two engines: the driver uses neither, and the controller wants them.
    pub(crate) pfp: ProgramFile,
    /// As above.
    pub(crate) me: ProgramFile,
    /// Of the compute micro engine.
    pub(crate) mec: ProgramFile,
    /// Of both pipes of the scheduler.
    pub(crate) mes: SchedulerFile,
    /// Of the unit that starts the graphics core.
    pub(crate) imu: CoreStarterFile,
    /// Of the run list controller.
    pub(crate) rlc: RlcFile,
}

impl Autoload {
    /// Where the engines' programs begin.
    ///
    /// # Errors
    ///
    /// None for what was checked; otherwise EINVAL.
    pub(crate) fn starts(&self) -> Result<Starts> {
        Ok(Starts {
            mec: self.mec.content()?.start_registers(),
            mes: self.mes.content()?.start_registers(),
        })
    }
}

/// Where programs begin, as the engines' registers have it.
#[derive(Clone, Copy)]
pub(crate) struct Starts {
    /// Of the compute micro engine, on all pipes.
    pub(crate) mec: [u32; 2],
    /// Of the scheduler, on both pipes.
    pub(crate) mes: [u32; 2],
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

/// A kind of file, by what reads its content and what that says of its version.
macro_rules! files {
    ($($(#[$doc:meta])* $name:ident($content:ident, $read:ident, $version:expr);)*) => {$(
        $(#[$doc])*
        pub(crate) struct $name(Firmware);

        impl $name {
            /// Loads the file with that name.
            ///
            /// # Errors
            ///
            /// As of [`CodeFile::load`].
            pub(crate) fn load(dev: &Device, name: &'static CStr) -> Result<Self> {
                let file = load(dev, name)?;
                log(dev, name, $content::$read(file.data()).map($version))?;
                Ok(Self(file))
            }

            /// Its content.
            ///
            /// # Errors
            ///
            /// None for what was checked; otherwise EINVAL.
            pub(crate) fn content(&self) -> Result<$content<'_>> {
                $content::$read(self.0.data()).map_err(|_| EINVAL)
            }
        }
    )*};
}

files! {
    /// A file of a micro engine of the command processor with a jump table; it was checked.
    EngineFile(EngineCode, read, |engine| engine.code.version);
    /// A file of an engine of the command processor that is told where to begin; it was checked.
    ProgramFile(Program, of_engine, |program| program.version);
    /// A file of the scheduler; it was checked.
    SchedulerFile(Program, of_scheduler, |program| program.version);
    /// A file of the unit that starts the graphics core; it was checked.
    CoreStarterFile(CoreStarter, read, |starter| starter.version);
    /// A file of copy engines that are processors of their own; it was checked.
    CopyFile(CopyProgram, read, |program| program.version);
    /// A file with tables for the security processor; it was checked.
    TablesFile(Tables, read, |tables| tables.version);
    /// A file of the run list controller; it was checked.
    RlcFile(RlcCode, read, |rlc| rlc.code.version);
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

    /// Whether there is a file with that name. Logs nothing.
    pub(crate) fn is_there(dev: &Device, name: &'static CStr) -> bool {
        Firmware::request_nowarn(name, dev).is_ok()
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
