// SPDX-License-Identifier: GPL-2.0

//! Thin wrappers over `kernel::bindings`: what the kernel crate lacks, and what its series
//! have by different names ([`linux`]). Each file states in its
//! first lines what that is.
//!
//! No other room names `bindings::`. Each file wraps one thing of the C side behind a type whose
//! methods are safe; its SAFETY comments explain why.

// Of the hardware half.
pub(crate) mod aperture;
pub(crate) mod attributes;
pub(crate) mod bound;
pub(crate) mod dma;
pub(crate) mod linux;
pub(crate) mod pci;
pub(crate) mod ratelimit;
pub(crate) mod sleep;
pub(crate) mod trace;
pub(crate) mod transfer;
pub(crate) mod workqueue;

// Of the user half.
pub(crate) mod anon_file;
pub(crate) mod anon_inode;
pub(crate) mod chrdev;
pub(crate) mod devcgroup;
pub(crate) mod dma_buf;
pub(crate) mod drm;
pub(crate) mod event_file;
pub(crate) mod interval;
pub(crate) mod kobject;
pub(crate) mod mmu_notifier;
pub(crate) mod owned_pages;
pub(crate) mod owner;
mod table;
pub(crate) mod task;
pub(crate) mod user;
pub(crate) mod user_pages;
pub(crate) mod vma;
