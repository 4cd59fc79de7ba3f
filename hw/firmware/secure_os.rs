// SPDX-License-Identifier: MIT OR Apache-2.0

//! The security processor's file: what its boot loader takes, component by component.

use super::super::layout::*;
use super::{word, Header, Unusable};

layout! {
    /// The header of version 2.1. Entries follow it; those from AUX on are for boards with earlier firmware of the
    /// power management, and replace the others there.
    pub struct SecureOsHeader: [u32; 10] = "struct psp_firmware_header_v2_1" {
        COUNT: 8[31:0] = "psp_fw_bin_count";
        AUX: 9[31:0] = "psp_aux_fw_bin_index";
    }

    /// An entry.
    pub struct ComponentEntry: [u32; 4] = "struct psp_fw_bin_desc" {
        /// One of [`Component`].
        KIND: 0[31:0] = "fw_type";
        VERSION: 1[31:0] = "fw_version";
        /// From where the code begins, in bytes.
        OFFSET: 2[31:0] = "offset_bytes";
        SIZE: 3[31:0] = "size_bytes";
    }
}

/// A component (`enum psp_fw_type`).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Component {
    /// `PSP_FW_TYPE_PSP_SOS`.
    SecureOs = 1,
    /// `PSP_FW_TYPE_PSP_SYS_DRV`.
    SystemDriver = 2,
    /// `PSP_FW_TYPE_PSP_KDB`.
    KeyDatabase = 3,
    /// `PSP_FW_TYPE_PSP_TOC`.
    Toc = 4,
    /// `PSP_FW_TYPE_PSP_SPL`.
    SplTable = 5,
    /// `PSP_FW_TYPE_PSP_RL`.
    RegisterList = 6,
    /// `PSP_FW_TYPE_PSP_SOC_DRV`.
    SocDriver = 7,
    /// `PSP_FW_TYPE_PSP_INTF_DRV`.
    InterfaceDriver = 8,
    /// `PSP_FW_TYPE_PSP_DBG_DRV`.
    DebugDriver = 9,
    /// `PSP_FW_TYPE_PSP_RAS_DRV`.
    RasDriver = 10,
    /// `PSP_FW_TYPE_PSP_IPKEYMGR_DRV`.
    KeyManager = 11,
    /// `PSP_FW_TYPE_PSP_SPDM_DRV`.
    SpdmDriver = 12,
}

/// Words of an entry.
const ENTRY: usize = ComponentEntry::WORDS;

/// The components in a file that was checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct SecureOs<'a> {
    file: &'a [u8],
    /// Of the header.
    words: usize,
    /// The first entry, and the one behind the last.
    entries: (usize, usize),
    /// Where components are counted from.
    base: usize,
}

impl<'a> SecureOs<'a> {
    /// The components of a file with a header of version 2.0 or 2.1: those for boards with `earlier` firmware of
    /// the power management, or the others.
    ///
    /// # Errors
    ///
    /// What is wrong with the file. Every component lies inside it, and there are a key database, a system
    /// driver and a secure OS.
    pub fn read(file: &'a [u8], earlier: bool) -> Result<Self, Unusable> {
        let header = super::header(file)?;
        let [major, minor] = [Header::MAJOR, Header::MINOR].map(|field| header.get(field) as u16);
        // Version 2.0 knows no others: entries begin a word earlier.
        let (words, aux) = match (major, minor) {
            (2, 0) => (SecureOsHeader::WORDS - 1, false),
            (2, 1) => (SecureOsHeader::WORDS, true),
            _ => return Err(Unusable::Version { major, minor }),
        };
        let counts = file
            .get(4 * Header::WORDS..words << 2)
            .ok_or(Unusable::Short)?;
        let mut counts = counts.chunks_exact(4).map(word);
        let mut number = || counts.next().and_then(|count| usize::try_from(count).ok());
        let count = number().ok_or(Unusable::Component)?;
        let aux = match aux {
            true => number().ok_or(Unusable::Component)?,
            false => 0,
        };
        let entries = match earlier {
            true => (aux, count),
            // As Linux does: so many less, from the first on.
            false => (0, count.checked_sub(aux).ok_or(Unusable::Component)?),
        };
        let base = header.get(Header::CODE_OFFSET);
        let base = usize::try_from(base).map_err(|_| Unusable::Component)?;
        let all = Self {
            file,
            words,
            entries,
            base,
        };
        let most = file.len() / (4 * ENTRY);
        if entries.0 > entries.1 || entries.1 > most {
            return Err(Unusable::Component);
        }
        for n in entries.0..entries.1 {
            let entry = all.entry(n).ok_or(Unusable::Component)?;
            all.bytes(&entry).ok_or(Unusable::Component)?;
        }
        let needed = [
            Component::KeyDatabase,
            Component::SystemDriver,
            Component::SecureOs,
        ];
        match needed.iter().all(|kind| all.component(*kind).is_some()) {
            true => Ok(all),
            false => Err(Unusable::Component),
        }
    }

    fn entry(&self, n: usize) -> Option<ComponentEntry> {
        let at = n.checked_mul(ENTRY)?.checked_add(self.words)?;
        let at = at.checked_mul(4)?;
        let bytes = self.file.get(at..)?.get(..4 * ENTRY)?;
        let mut words = [0; ENTRY];
        for (to, from) in words.iter_mut().zip(bytes.chunks_exact(4)) {
            *to = word(from);
        }
        ComponentEntry::read(&words)
    }

    fn bytes(&self, entry: &ComponentEntry) -> Option<&'a [u8]> {
        let at = usize::try_from(entry.get(ComponentEntry::OFFSET)).ok()?;
        let size = usize::try_from(entry.get(ComponentEntry::SIZE)).ok()?;
        self.file.get(self.base.checked_add(at)?..)?.get(..size)
    }

    /// The last component of a kind, if there is one that isn't empty.
    pub fn component(&self, kind: Component) -> Option<&'a [u8]> {
        let (first, end) = self.entries;
        let found = (first..end).rev().find_map(|n| {
            let entry = self.entry(n)?;
            (entry.get(ComponentEntry::KIND) == kind as u64).then_some(entry)
        });
        self.bytes(&found?).filter(|bytes| !bytes.is_empty())
    }

    /// The secure OS' version.
    pub fn version(&self) -> u32 {
        let (first, end) = self.entries;
        let found = (first..end).rev().find_map(|n| {
            let entry = self.entry(n)?;
            let is_os = entry.get(ComponentEntry::KIND) == Component::SecureOs as u64;
            is_os.then(|| entry.get(ComponentEntry::VERSION) as u32)
        });
        found.unwrap_or(0)
    }
}
