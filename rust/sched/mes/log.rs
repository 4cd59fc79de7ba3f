// SPDX-License-Identifier: GPL-2.0

//! What MES logs of its doings, for people who debug it: memory that it writes, and a file in
//! debugfs that shows the words as they are. Only with the module's parameter `mes_log`, as
//! amdgpu's `mes_log_enable`.
//!
//! Sources: `amdgpu_mes_event_log_init`, `amdgpu_debugfs_mes_event_log_show`.

use crate::{
    glue::linux,
    hw::{
        mes::log,
        value::Bounded, //
    },
    sched::Parts,
    types::GpuVa,
    vram::VramRange, //
};
use kernel::{
    debugfs,
    fmt,
    prelude::*,
    str::CString,
    sync::Arc, //
};

/// Both pipes have one.
const PIPES: u64 = 2;
/// Bytes of a pipe's.
const STRIDE: u64 = log::BYTES + log::SCRATCH_BYTES;
/// Words in a line of the file.
const LINE: usize = 8;

/// The memory.
pub(super) struct EventLog {
    memory: VramRange,
}

impl EventLog {
    fn new(parts: &Arc<Parts>) -> Result<Self> {
        Ok(Self {
            memory: VramRange::new(&parts.vram, PIPES * STRIDE)?,
        })
    }

    /// Address of a pipe's log.
    pub(super) fn addr(&self, pipe: Bounded<2>) -> GpuVa {
        self.memory
            .gpu_addr()
            .byte(pipe.get().saturating_mul(STRIDE))
    }

    /// Address of the memory behind it that the firmware keeps for itself.
    pub(super) fn scratch_addr(&self, pipe: Bounded<2>) -> GpuVa {
        self.addr(pipe).byte(log::BYTES)
    }

    /// As `seq_hex_dump` with offsets, 32 bytes a line, in words; without what the firmware keeps for
    /// itself. Nothing when the device is gone.
    fn show(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = |pipe: u64| {
            let first = pipe.saturating_mul(STRIDE);
            let lines = (0..log::BYTES).step_by(LINE * 4);
            lines.map(move |line| first.saturating_add(line))
        };
        for at in (0..PIPES).flat_map(lines) {
            write!(f, "{at:08x}:")?;
            for word in (at..).step_by(4).take(LINE) {
                let Ok(value) = self.memory.read32(word) else {
                    return Ok(());
                };
                write!(f, " {value:08x}")?;
            }
            writeln!(f)?;
        }
        Ok(())
    }
}

fn show(log: &Arc<EventLog>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    log.show(f)
}

/// The log, and its file `mes_event_log` in the device's folder of debugfs.
#[pin_data]
pub(super) struct LogFile {
    log: Arc<EventLog>,
    #[pin]
    file: debugfs::File<Arc<EventLog>>,
    _dir: debugfs::Dir,
}

impl LogFile {
    /// `None` unless it is asked for.
    pub(super) fn new(parts: &Arc<Parts>) -> Result<Option<Pin<KBox<Self>>>> {
        if linux::parameter(crate::module_parameters::mes_log.value()) == 0 {
            return Ok(None);
        }
        let log = Arc::new(EventLog::new(parts)?, GFP_KERNEL)?;
        let shown = log.clone();
        let name = CString::try_from_fmt(fmt!("rkfd-{}", parts.dev.device().name()))?;
        let dir = debugfs::Dir::new(&name);
        let file = KBox::pin_init(
            pin_init!(Self {
                log,
                file <- dir.read_callback_file(c"mes_event_log", shown, &show),
                _dir: dir,
            }),
            GFP_KERNEL,
        )?;
        Ok(Some(file))
    }

    /// The memory.
    pub(super) fn log(&self) -> &EventLog {
        &self.log
    }
}
