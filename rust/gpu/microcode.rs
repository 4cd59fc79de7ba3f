// SPDX-License-Identifier: GPL-2.0

//! Firmware that the driver itself had loaded, on a GPU whose engines were halted.

use super::{
    autoload::{
        self,
        load_lists, //
    },
    steps::Step,
    Gpu, //
};
use crate::{
    device::Handle,
    firmware::{
        AnySet,
        Autoload,
        CodeFile,
        CopyFile,
        CoreStarterFile,
        Direct,
        EngineFile,
        ProgramFile,
        RlcFile,
        SchedulerFile,
        SecureOsFile,
        Set,
        TablesFile, //
    },
    gfx::{
        self,
        Gfx, //
    },
    gmc::{
        self,
        Gart, //
    },
    hw::psp::firmware as kind,
    psp::{
        self,
        Psp, //
    },
    regs::Regs,
    sdma,
    smu,
    types::Versions, //
};
use kernel::{
    device::Device,
    new_mutex,
    prelude::*,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// Copy engines of a base die: the processor gives the firmware of one to those of the other dies
/// (`amdgpu_sdma_init_microcode`).
const SDMA: [u32; 4] = [kind::SDMA0, kind::SDMA1, kind::SDMA2, kind::SDMA3];

/// Loads the files with which a GPU is started whose engines are halted, and, `with_os`, whose security processor
/// runs nothing yet either.
///
/// # Errors
///
/// ENODEV when the driver can't start this one, those of the loader, EINVAL when a file can't be used. Logged, but
/// for the first.
pub(crate) fn load_files(
    dev: &Device,
    regs: &Regs,
    versions: &Versions,
    with_os: bool,
) -> Result<AnySet> {
    let files = gfx::hal(versions.gc).files().ok_or(ENODEV)?;
    let sdma = sdma::hal(versions.sdma).file().ok_or(ENODEV)?;
    let psp = psp::hal(versions.gc).interface().ok_or(ENODEV)?;
    let secure_os = with_os.then(|| SecureOsFile::load(dev, psp.file, (psp.is_earlier)(regs)));
    let secure_os = secure_os.transpose()?;
    Ok(match files {
        gfx::Files::Direct { rlc, mec } => AnySet::Direct(Set {
            secure_os,
            engines: Direct {
                rlc: RlcFile::load(dev, rlc)?,
                mec: EngineFile::load(dev, mec)?,
                sdma: CodeFile::load(dev, sdma, 1)?,
                tables: match smu::hal(versions.gc).tables_file() {
                    Some(name) => Some(TablesFile::load(dev, name)?),
                    None => None,
                },
            },
        }),
        gfx::Files::Autoload {
            pfp,
            me,
            mec,
            mes,
            imu,
            rlc,
        } => AnySet::Autoload(Set {
            secure_os,
            engines: Autoload {
                smu: CodeFile::load(dev, smu::hal(versions.gc).file().ok_or(ENODEV)?, 2)?,
                sdma: CopyFile::load(dev, sdma)?,
                pfp: ProgramFile::load(dev, pfp)?,
                me: ProgramFile::load(dev, me)?,
                mec: ProgramFile::load(dev, mec)?,
                mes: SchedulerFile::load(dev, mes)?,
                imu: CoreStarterFile::load(dev, imu)?,
                rlc: RlcFile::load(dev, rlc)?,
            },
        }),
    })
}

/// The firmware of a GPU: that which it came with, or that which the driver has loaded. Dropped, the micro engines
/// of the latter are halted before the security processor gives up the memory with their code. The next driver finds
/// them as this one did.
#[pin_data(PinnedDrop)]
pub(super) struct Microcode {
    dev: Arc<Handle>,
    regs: Arc<Regs>,
    gfx: Arc<Gfx>,
    gart: Arc<Gart>,
    gmc: Arc<gmc::Enabled>,
    interface: Option<&'static psp::Interface>,
    /// Which of the tables for the security processor is the GPU's.
    table: Option<u32>,
    /// What the driver has loaded is there, as long as this is.
    #[pin]
    loaded: Mutex<Option<Psp>>,
}

impl Microcode {
    /// Loads the firmware of the engines from these files, if the driver is to load it, and starts the graphics core.
    /// Copy engines are started where they are set up.
    ///
    /// # Errors
    ///
    /// As of [`Psp::start`].
    pub(super) fn new(
        gpu: &Gpu,
        gart: &Arc<Gart>,
        gmc: &Arc<gmc::Enabled>,
        files: Option<&Set<Direct>>,
    ) -> Result<Arc<Self>> {
        let this = Arc::pin_init(
            pin_init!(Self {
                dev: gpu.dev.clone(),
                regs: gpu.regs.clone(),
                gfx: gpu.gfx.clone(),
                gart: gart.clone(),
                gmc: gmc.clone(),
                interface: psp::hal(gpu.chip.versions.gc).interface(),
                table: smu::hal(gpu.chip.versions.gc).table_of(gpu.pci.device),
                loaded <- new_mutex!(None, "rkfd microcode"),
            }),
            GFP_KERNEL,
        )?;
        if let Some(files) = files {
            this.start(files)?;
        }
        Ok(this)
    }

    fn processor(&self) -> Result<psp::Parts<'_>> {
        Ok(psp::Parts {
            dev: &self.dev,
            regs: &self.regs,
            gart: &self.gart,
            vram: self.gmc.vram(),
            interface: self.interface.ok_or(ENODEV)?,
        })
    }

    fn start(&self, files: &Set<Direct>) -> Result {
        let os = match &files.secure_os {
            Some(file) => Some(file.components()?),
            None => None,
        };
        let parts = self.processor()?;
        let mut psp = Psp::start(&parts, os.as_ref())?;
        if let (Some(file), Some(id)) = (&files.engines.tables, self.table) {
            psp.load_table(file.content()?.table(id).unwrap_or_default())?;
        }
        load(&mut psp, &files.engines)?;
        if let Some(os) = &os {
            psp.load_register_list(os)?;
        }
        *self.loaded.lock() = Some(psp);
        // On an error, engines that run already are halted when this is dropped.
        self.gfx.start_firmware(self.dev.device(), None)
    }
}

impl Step for Microcode {
    /// The security processor reads its ring in memory.
    fn give_up(&self) {
        if let Some(psp) = &mut *self.loaded.lock() {
            psp.abandon();
        }
    }

    fn again(&self, files: &AnySet) -> Result {
        self.give_up();
        let before = self.loaded.lock().take();
        drop(before);
        match files {
            AnySet::Direct(files) => self.start(files),
            AnySet::Autoload(files) => {
                let start = |starts| self.gfx.start_firmware(self.dev.device(), Some(starts));
                autoload::hand_out(&self.processor()?, &self.gmc, files, start)?;
                Ok(())
            }
        }
    }
}

#[pinned_drop]
impl PinnedDrop for Microcode {
    fn drop(self: Pin<&mut Self>) {
        let loaded = self.loaded.lock().take();
        if let Some(psp) = loaded {
            self.gfx.halt_firmware();
            drop(psp);
        }
    }
}

/// Each engine's firmware, in the order of `enum AMDGPU_UCODE_ID`.
fn load(psp: &mut Psp, files: &Direct) -> Result {
    let sdma = files.sdma.code()?;
    for engine in SDMA {
        psp.load(engine, sdma.bytes())?;
    }
    let mec = files.mec.content()?;
    psp.load(kind::MEC, mec.bytes_without_jump_table())?;
    psp.load(kind::MEC_JUMP_TABLE, mec.jump_table_bytes())?;
    let rlc = files.rlc.content()?;
    load_lists(psp, &rlc)?;
    psp.load(kind::RLC, rlc.code.bytes())
}
