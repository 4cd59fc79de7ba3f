// SPDX-License-Identifier: MIT OR Apache-2.0

//! Code objects: ELF files with GPU code, as clang makes them.
//!
//! [`CodeObject::parse`] needs no device. Loading copies the segments to their addresses, relative to a
//! base, and adds that base where relocations ask for it.
//!
//! Source: LLVM AMDGPUUsage, "ELF Code Object".

pub(crate) mod metadata;
pub(crate) mod target;

use object::elf::{self, FileHeader64};
use object::read::elf::{ElfFile64, FileHeader, ProgramHeader};
use object::{LittleEndian, Object, ObjectSymbol, ObjectSymbolTable, RelocationFlags};
use rkfd_hw::aql::KernelDescriptor;

pub use metadata::{Arg, ArgKind, KernelMetadata};

use crate::error::CodeError;
use metadata::Metadata;

/// `EI_OSABI`: HSA.
const OSABI_AMDGPU_HSA: u8 = 64;
/// `EI_ABIVERSION` of code objects v4 to v6.
const ABI_VERSIONS: std::ops::RangeInclusive<u8> = 2..=4;
/// Note type of the metadata.
const NT_AMDGPU_METADATA: u32 = 32;
/// Relocation: nothing.
const R_AMDGPU_NONE: u32 = 0;
/// Relocation: 64-bit symbol address plus addend.
const R_AMDGPU_ABS64: u32 = 3;
/// Relocation: 64-bit base plus addend.
const R_AMDGPU_RELATIVE64: u32 = 13;
/// Bytes of a kernel descriptor.
const DESCRIPTOR: usize = 64;
/// Largest image that is loaded.
const IMAGE_MAX: u64 = 1 << 30;

/// A kernel of a code object.
#[derive(Clone, Debug)]
pub struct KernelInfo {
    /// The kernel's metadata.
    pub metadata: KernelMetadata,
    /// Offset of its descriptor in the image.
    pub descriptor: u64,
}

/// A relocation: `base + addend` is stored at `offset`.
#[derive(Clone, Copy, Debug)]
struct Relocation {
    offset: u64,
    addend: u64,
}

/// A parsed code object.
#[derive(Clone, Debug)]
pub struct CodeObject {
    target: String,
    image: Vec<u8>,
    relocations: Vec<Relocation>,
    kernels: Vec<KernelInfo>,
}

fn damaged(what: impl std::fmt::Display) -> CodeError {
    CodeError::Damaged(what.to_string())
}

/// `len` bytes of the image at `offset`, both of which may be anything.
fn part(image: &mut [u8], offset: u64, len: u64) -> Option<&mut [u8]> {
    let start = usize::try_from(offset).ok()?;
    image.get_mut(start..start.checked_add(usize::try_from(len).ok()?)?)
}

impl CodeObject {
    /// Reads a code object.
    ///
    /// # Errors
    ///
    /// When it isn't an ELF file for AMD GPUs of a known ABI version, or is damaged.
    pub fn parse(bytes: &[u8]) -> Result<Self, CodeError> {
        if bytes.starts_with(b"__CLANG_OFFLOAD_BUNDLE__") || bytes.starts_with(b"CCOB") {
            return Err(CodeError::Bundle);
        }
        let file = ElfFile64::<LittleEndian>::parse(bytes).map_err(damaged)?;
        let header = file.elf_header();
        let machine = header.e_machine.get(LittleEndian);
        if machine != elf::EM_AMDGPU {
            return Err(CodeError::Machine { machine });
        }
        let ident = header.e_ident();
        let (os_abi, version) = (ident.os_abi, ident.abi_version);
        if os_abi != OSABI_AMDGPU_HSA || !ABI_VERSIONS.contains(&version) {
            return Err(CodeError::Abi { os_abi, version });
        }

        let image = Self::build_image(header, bytes)?;
        let metadata = Self::find_metadata(header, bytes)?;
        let flags = header.e_flags.get(LittleEndian);
        let target = match target::of_flags(flags) {
            Some(name) => name.to_owned(),
            None if !metadata.target.is_empty() => {
                target::of_target_id(&metadata.target).to_owned()
            }
            None => format!("an unknown GPU (flags {flags:#x})"),
        };
        let relocations = Self::relocations(&file, image.len() as u64)?;
        let mut object = Self {
            target,
            image,
            relocations,
            kernels: Vec::new(),
        };
        for kernel in metadata.kernels {
            let symbol = file
                .dynamic_symbols()
                .chain(file.symbols())
                .find(|symbol| symbol.name() == Ok(kernel.symbol.as_str()))
                .ok_or_else(|| damaged(format_args!("no symbol `{}`", kernel.symbol)))?;
            let descriptor = symbol.address();
            object.check_descriptor(&kernel, descriptor)?;
            object.kernels.push(KernelInfo {
                metadata: kernel,
                descriptor,
            });
        }
        Ok(object)
    }

    fn build_image(
        header: &FileHeader64<LittleEndian>,
        bytes: &[u8],
    ) -> Result<Vec<u8>, CodeError> {
        let headers = header
            .program_headers(LittleEndian, bytes)
            .map_err(damaged)?;
        let loads = || {
            headers
                .iter()
                .filter(|ph| ph.p_type(LittleEndian) == elf::PT_LOAD)
        };
        let mut size = 0u64;
        for ph in loads() {
            let (start, len) = (ph.p_vaddr(LittleEndian), ph.p_memsz(LittleEndian));
            let end = start.checked_add(len).filter(|&end| end <= IMAGE_MAX);
            size = size.max(end.ok_or_else(|| damaged("a segment is too large"))?);
        }
        if size == 0 {
            return Err(damaged("no segments to load"));
        }
        let mut image = vec![0; size as usize];
        for ph in loads() {
            let data = ph
                .data(LittleEndian, bytes)
                .map_err(|()| damaged("a cut-off segment"))?;
            if data.len() as u64 > ph.p_memsz(LittleEndian) {
                return Err(damaged("a segment is longer in the file than in memory"));
            }
            part(&mut image, ph.p_vaddr(LittleEndian), data.len() as u64)
                .ok_or_else(|| damaged("a segment outside the image"))?
                .copy_from_slice(data);
        }
        Ok(image)
    }

    fn find_metadata(
        header: &FileHeader64<LittleEndian>,
        bytes: &[u8],
    ) -> Result<Metadata, CodeError> {
        for ph in header
            .program_headers(LittleEndian, bytes)
            .map_err(damaged)?
        {
            let Some(mut notes) = ph.notes(LittleEndian, bytes).map_err(damaged)? else {
                continue;
            };
            while let Some(note) = notes.next().map_err(damaged)? {
                if note.name() == b"AMDGPU" && note.n_type(LittleEndian) == NT_AMDGPU_METADATA {
                    return Metadata::parse(note.desc());
                }
            }
        }
        Err(damaged("no AMDGPU metadata note"))
    }

    fn relocations(
        file: &ElfFile64<'_, LittleEndian>,
        size: u64,
    ) -> Result<Vec<Relocation>, CodeError> {
        let Some(all) = file.dynamic_relocations() else {
            return Ok(Vec::new());
        };
        let mut relocations = Vec::new();
        for (offset, relocation) in all {
            let RelocationFlags::Elf { r_type } = relocation.flags() else {
                continue;
            };
            let symbol = match (r_type, relocation.target()) {
                (R_AMDGPU_NONE, _) => continue,
                (R_AMDGPU_RELATIVE64, _) => 0,
                (R_AMDGPU_ABS64, object::RelocationTarget::Symbol(index)) => {
                    let table = file.dynamic_symbol_table();
                    let symbol = table.and_then(|table| table.symbol_by_index(index).ok());
                    let symbol = symbol.filter(|symbol| symbol.is_definition());
                    symbol
                        .ok_or_else(|| damaged("a relocation to a missing symbol"))?
                        .address()
                }
                (other, _) => return Err(CodeError::Relocation(other)),
            };
            if offset.checked_add(8).is_none_or(|end| end > size) {
                return Err(damaged("a relocation outside the image"));
            }
            let addend = symbol.wrapping_add(relocation.addend() as u64);
            relocations.push(Relocation { offset, addend });
        }
        Ok(relocations)
    }

    /// The descriptor must lie in the image, aligned, and agree with the metadata.
    fn check_descriptor(&mut self, kernel: &KernelMetadata, at: u64) -> Result<(), CodeError> {
        let aligned = at % DESCRIPTOR as u64 == 0;
        let bytes = part(&mut self.image, at, DESCRIPTOR as u64).filter(|_| aligned);
        let bytes = bytes.ok_or_else(|| {
            damaged(format_args!(
                "the descriptor of `{}` is not in the image",
                kernel.name
            ))
        })?;
        let words: Vec<u32> = bytes
            .chunks_exact(4)
            .map(|word| u32::from_le_bytes(word.try_into().unwrap_or_default()))
            .collect();
        let descriptor = KernelDescriptor::read(&words).ok_or_else(|| damaged("descriptor"))?;
        let size = descriptor.get(KernelDescriptor::KERNARG_SIZE) as u32;
        // 0 is what compilers wrote that left the size to the metadata.
        if size != 0 && size != kernel.kernarg_size {
            return Err(CodeError::KernargSize {
                kernel: kernel.name.clone(),
                descriptor: size,
                metadata: kernel.kernarg_size,
            });
        }
        Ok(())
    }

    /// What it was compiled for, such as `gfx942`.
    pub fn target(&self) -> &str {
        &self.target
    }

    /// The kernels.
    pub fn kernels(&self) -> &[KernelInfo] {
        &self.kernels
    }

    /// The descriptor of one of the kernels, which has no relocations.
    pub(crate) fn descriptor(&self, kernel: &KernelInfo) -> KernelDescriptor {
        let start = usize::try_from(kernel.descriptor).unwrap_or(usize::MAX);
        let mut descriptor = KernelDescriptor::zeroed();
        let bytes = self.image.get(start..).unwrap_or_default();
        for (word, bytes) in descriptor.0.iter_mut().zip(bytes.chunks_exact(4)) {
            *word = u32::from_le_bytes(bytes.try_into().unwrap_or_default());
        }
        descriptor
    }

    /// Bytes of memory it needs.
    pub fn image_size(&self) -> usize {
        self.image.len()
    }

    /// The memory's contents when it is loaded at `base`.
    pub fn image_at(&self, base: u64) -> Vec<u8> {
        let mut image = self.image.clone();
        for relocation in &self.relocations {
            if let Some(place) = part(&mut image, relocation.offset, 8) {
                place.copy_from_slice(&base.wrapping_add(relocation.addend).to_le_bytes());
            }
        }
        image
    }

    /// The number of the kernel with this name.
    pub(crate) fn find(&self, name: &str) -> Result<usize, CodeError> {
        let found = self
            .kernels
            .iter()
            .position(|kernel| kernel.metadata.name == name);
        found.ok_or_else(|| CodeError::NoKernel {
            name: name.to_owned(),
            present: self
                .kernels
                .iter()
                .map(|kernel| kernel.metadata.name.clone())
                .collect(),
        })
    }

    /// Refuses a GPU that the code was not compiled for.
    pub(crate) fn check_target(&self, gpu: &str) -> Result<(), CodeError> {
        match target::runs_on(&self.target, gpu) {
            true => Ok(()),
            false => Err(CodeError::Target {
                code: self.target.clone(),
                gpu: gpu.to_owned(),
            }),
        }
    }
}

#[cfg(test)]
pub(crate) mod tests;
