// SPDX-License-Identifier: MIT OR Apache-2.0

//! Images of expansion ROMs, as the module reads them.

use rkfd_hw::vbios::Image;

/// What an image tells lies in it, and has room where INFO puts it.
pub fn vbios(bytes: &[u8]) {
    let Some(image) = Image::new(bytes) else {
        return;
    };
    let lies_in =
        |text: &[u8]| text.is_empty() || bytes.windows(text.len()).any(|part| part == text);
    assert!(image.part_number().len() <= 43 && lies_in(image.part_number()));
    assert!(image.name() == b"--N/A--" || (image.name().len() < 64 && lies_in(image.name())));
    assert!(image.version_text().len() < 32 && lies_in(image.version_text()));
    assert!(image.build().len() < 32 && lies_in(image.build()));
    let version = image.version().to_le_bytes();
    assert!(version == [0; 4] || lies_in(&version));
    assert!(image.date().is_some());
}
