// SPDX-License-Identifier: MIT OR Apache-2.0
//! The kernel as QEMU starts it: unpacked, if it can be entered so.
//!
//! A `bzImage` holds the kernel compressed behind a loader of its own (Linux's
//! Documentation/arch/x86/boot.rst). The translator spends a quarter of a boot on that
//! loader. QEMU also starts the kernel's own ELF file where that names an entry for it (PVH, the
//! note `XEN_ELFNOTE_PHYS32_ENTRY` of Linux's include/xen/interface/elfnote.h). So the payload
//! is unpacked once for each image, and kept in the cache.

use crate::shown::shown;
use anyhow::{Context, Result};
use std::fs;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

/// How a payload begins that zstd compressed.
const ZSTD: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];
/// The note's owner and type, as they lie in the file: type 18, then "Xen".
const PVH_NOTE: [u8; 8] = [18, 0, 0, 0, b'X', b'e', b'n', 0];

/// The file to start: the unpacked kernel in `cache`, or `kernel` itself if that can't be.
///
/// # Errors
/// The image can't be read, its payload is broken, or the cache can't be written.
pub fn to_start(kernel: &Path, cache: &Path) -> Result<PathBuf> {
    let facts = fs::metadata(kernel).with_context(|| shown(kernel))?;
    let made = facts.modified()?.duration_since(UNIX_EPOCH)?.as_secs();
    let name = kernel.file_name().unwrap_or_default().to_string_lossy();
    let kept = cache.join(format!("vmlinux-{name}-{}-{made}", facts.len()));
    if kept.is_file() {
        return Ok(kept);
    }
    let image = fs::read(kernel).with_context(|| shown(kernel))?;
    let Some(payload) = payload(&image).filter(|p| p.starts_with(&ZSTD)) else {
        return Ok(kernel.into());
    };
    let mut elf = Vec::new();
    let mut decoder = ruzstd::StreamingDecoder::new(payload)
        .with_context(|| format!("the payload of {}", shown(kernel)))?;
    decoder
        .read_to_end(&mut elf)
        .with_context(|| format!("the payload of {}", shown(kernel)))?;
    if !elf.windows(PVH_NOTE.len()).any(|bytes| bytes == PVH_NOTE) {
        return Ok(kernel.into());
    }
    let part = kept.with_extension(format!("{}.part", std::process::id()));
    fs::write(&part, elf)?;
    fs::rename(&part, &kept)?;
    Ok(kept)
}

/// The compressed kernel in a `bzImage`, without the size that follows it.
fn payload(image: &[u8]) -> Option<&[u8]> {
    let word = |at: usize| {
        let bytes = image.get(at..)?.first_chunk()?;
        usize::try_from(u32::from_le_bytes(*bytes)).ok()
    };
    // "HdrS", and a protocol that has the payload's place (2.08).
    if image.get(0x202..0x206)? != b"HdrS" || word(0x206)? & 0xffff < 0x208 {
        return None;
    }
    // The real-mode part: its first sector, and as many more as the header counts (0 means 4).
    let sectors = match *image.get(0x1f1)? {
        0 => 4,
        n => usize::from(n),
    };
    let start = (sectors + 1) * 512 + word(0x248)?;
    image.get(start..)?.get(..word(0x24c)?.checked_sub(4)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A `bzImage` with this payload behind one sector of real-mode code.
    fn image(payload: &[u8]) -> Vec<u8> {
        let mut image = vec![0; 1024];
        image[0x1f1] = 1;
        image[0x202..0x208].copy_from_slice(b"HdrS\x0f\x02");
        let words = [(0x248, 16), (0x24c, payload.len() as u32 + 4)];
        for (at, value) in words {
            image[at..at + 4].copy_from_slice(&value.to_le_bytes());
        }
        image.extend([0; 16]);
        image.extend(payload);
        image.extend((payload.len() as u32).to_le_bytes());
        image
    }

    #[test]
    fn the_payload_is_found_and_checked() {
        let whole = image(b"compressed");
        assert_eq!(payload(&whole), Some(&b"compressed"[..]));
        assert_eq!(payload(&whole[..whole.len() - 8]), None);
        assert_eq!(payload(&[0; 2048]), None);
        assert_eq!(payload(b"short"), None);
    }

    #[test]
    fn what_is_no_zstd_starts_as_it_is() {
        let dir = std::env::temp_dir().join(format!("rkfd-image-{}", std::process::id()));
        fs::create_dir_all(&dir).unwrap();
        let kernel = dir.join("vmlinuz");
        fs::write(&kernel, image(b"\xfd7zXZ")).unwrap();
        assert_eq!(to_start(&kernel, &dir).unwrap(), kernel);
        fs::remove_dir_all(&dir).unwrap();
    }
}
