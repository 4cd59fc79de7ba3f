// SPDX-License-Identifier: MIT OR Apache-2.0

//! Code objects, as the library loads them.

use rkfd::CodeObject;

/// Largest image that is made here; the parser itself makes none.
const IMAGE: usize = 1 << 20;

/// A code object that is accepted has an image with each of its kernels' descriptors in it.
pub fn code(bytes: &[u8]) {
    let Ok(code) = CodeObject::parse(bytes) else {
        return;
    };
    let end = code.image_size() as u64;
    for kernel in code.kernels() {
        // A descriptor has 64 bytes.
        let after = kernel.descriptor.checked_add(64);
        assert!(after.is_some_and(|after| after <= end), "{kernel:?}");
    }
    if code.image_size() <= IMAGE {
        for base in [0, 0x1000, u64::MAX & !0xfff] {
            assert_eq!(code.image_at(base).len(), code.image_size());
        }
    }
}
