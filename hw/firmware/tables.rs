// SPDX-License-Identifier: MIT OR Apache-2.0

//! Tables in a file of a management unit whose own firmware is in the chip: they are for the security processor (P2S).

use super::super::layout::*;
use super::{head, header, part, Header, Unusable};

layout! {
    /// The header of version 2.1.
    pub struct TablesHeader: [u32; 11] = "struct smc_firmware_header_v2_1" {
        COUNT: 9[31:0] = "pptable_count";
        /// From the start of the file, in bytes.
        ENTRIES: 10[31:0] = "pptable_entry_offset";
    }

    /// An entry.
    pub struct TableEntry: [u32; 3] = "struct smc_soft_pptable_entry" {
        /// Whose table it is, one of [`id`].
        ID: 0[31:0] = "id";
        /// From the start of the file, in bytes.
        OFFSET: 1[31:0] = "ppt_offset_bytes";
        SIZE: 2[31:0] = "ppt_size_bytes";
    }
}

/// Numbers of tables (`pm/swsmu/smu13/smu_v13_0_6_ppt.c`).
pub mod id {
    /// `P2S_TABLE_ID_A`: of GPUs in one package with a CPU.
    pub const A: u32 = 0x5032_5341;
    /// `P2S_TABLE_ID_X`: of cards.
    pub const X: u32 = 0x5032_5358;
    /// `P2S_TABLE_ID_3`: of cards whose PCI device ends in 5.
    pub const CARD_5: u32 = 0x5032_5303;
}

/// The tables in a file that was checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Tables<'a> {
    /// The file's version.
    pub version: u32,
    file: &'a [u8],
    entries: u64,
    count: u64,
}

impl<'a> Tables<'a> {
    /// Those of a file with a header of version 2.1.
    ///
    /// # Errors
    ///
    /// What is wrong with the file. Every table lies inside it.
    pub fn read(file: &'a [u8]) -> Result<Self, Unusable> {
        use TablesHeader as H;
        let common = header(file)?;
        let [major, minor] = [Header::MAJOR, Header::MINOR].map(|field| common.get(field) as u16);
        if (major, minor) != (2, 1) {
            return Err(Unusable::Version { major, minor });
        }
        let header = head::<{ H::WORDS }>(file).ok_or(Unusable::Short)?;
        let header = H::read(&header).ok_or(Unusable::Short)?;
        let all = Self {
            version: common.get(Header::VERSION) as u32,
            file,
            entries: header.get(H::ENTRIES),
            count: header.get(H::COUNT),
        };
        for n in 0..all.count {
            let entry = all.entry(n).ok_or(Unusable::Component)?;
            all.bytes(&entry).ok_or(Unusable::Component)?;
        }
        Ok(all)
    }

    fn entry(&self, n: u64) -> Option<TableEntry> {
        const SIZE: u64 = 4 * TableEntry::WORDS as u64;
        let at = self.entries.checked_add(n.checked_mul(SIZE)?)?;
        let words = head::<{ TableEntry::WORDS }>(part(self.file, at, SIZE)?)?;
        TableEntry::read(&words)
    }

    fn bytes(&self, entry: &TableEntry) -> Option<&'a [u8]> {
        let (at, size) = (entry.get(TableEntry::OFFSET), entry.get(TableEntry::SIZE));
        part(self.file, at, size)
    }

    /// The first table with that number, if there is one (`smu_v13_0_6_init_microcode`).
    pub fn table(&self, id: u32) -> Option<&'a [u8]> {
        let mut entries = (0..self.count).filter_map(|n| self.entry(n));
        let found = entries.find(|entry| entry.get(TableEntry::ID) == u64::from(id));
        self.bytes(&found?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As AMD's `smu_13_0_6.bin`, with a word in each table.
    fn file() -> [u32; 19] {
        let common = [19 * 4, 44, 2 | (1 << 16), 13, 7, 0, 44, 0];
        let tables = [0x2_0000, 2, 44, id::A, 68, 4, id::X, 72, 4, 1, 2];
        let mut words = [0; 19];
        words[..8].copy_from_slice(&common);
        words[8..].copy_from_slice(&tables);
        words
    }

    fn read(words: &[u32; 19]) -> Result<Option<[u8; 4]>, Unusable> {
        let mut bytes = [0; 76];
        for (to, word) in bytes.chunks_exact_mut(4).zip(words) {
            to.copy_from_slice(&word.to_le_bytes());
        }
        let tables = Tables::read(&bytes)?;
        assert_eq!((tables.version, tables.table(id::CARD_5)), (7, None));
        Ok(tables.table(id::X).map(|bytes| bytes.try_into().unwrap()))
    }

    #[test]
    fn a_table_is_found_by_its_number() {
        assert_eq!(read(&file()), Ok(Some([2, 0, 0, 0])));
    }

    #[test]
    fn tables_lie_inside_the_file() {
        for (word, value) in [
            (9, 3),
            (9, u32::MAX),
            (10, 60),
            (10, u32::MAX),
            (15, 76),
            (16, 8),
        ] {
            let mut words = file();
            words[word] = value;
            assert_eq!(read(&words), Err(Unusable::Component), "{word} {value}");
        }
        let mut words = file();
        words[2] = 2;
        let version = Unusable::Version { major: 2, minor: 0 };
        assert_eq!(read(&words), Err(version));
    }
}
