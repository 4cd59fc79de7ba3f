// SPDX-License-Identifier: GPL-2.0

//! What a mapping may do.

/// How the GPU may use a mapping, and what a user program asked of its caches.
#[derive(Clone, Copy, Default, PartialEq, Eq, Debug)]
pub(crate) struct MapFlags {
    pub(crate) writable: bool,
    pub(crate) executable: bool,
    /// Coherent with the CPU: gfx942 is, without further ado.
    pub(crate) coherent: bool,
    pub(crate) uncached: bool,
    /// Coherent at device-scope atomics as well.
    pub(crate) ext_coherent: bool,
}
