// SPDX-License-Identifier: GPL-2.0

//! amdgpu's own requests, with the flags of its table (`amdgpu_ioctls_kms` of `amdgpu_drv.c`). Those
//! that aren't here answer EINVAL, as numbers do that a driver's table doesn't have; CS is one of them.

use super::{
    ctx,
    gem,
    info,
    Render, //
};
use crate::{
    glue::drm::{
        Access,
        Opened,
        Request,
        Requests, //
    },
    uapi::{
        amdgpu as abi,
        ctx as ctx_abi,
        gem as gem_abi, //
    }, //
};
use kernel::prelude::*;

/// One more than the highest number, from the first that drivers have.
pub(super) const COUNT: usize = 0x1a;

macro_rules! requests {
    ($( $name:ident $text:literal $access:ident $request:path, $argument:path => $answer:path ; )*) => {
        $(
            struct $name;

            impl Request<Render> for $name {
                type Argument = $argument;
                const COMMAND: u32 = $request.command();
                const NAME: &'static CStr = $text;
                const ACCESS: Access = Access::$access;

                fn answer(file: Opened<'_, Render>, argument: &mut $argument) -> Result {
                    file.file().gpu().check_open()?;
                    $answer(file, argument)
                }
            }
        )*

        /// All of them.
        pub(super) const fn all() -> Requests<COUNT> {
            Requests::new() $( .with::<Render, $name>() )*
        }
    };
}

requests! {
    Create c"AMDGPU_GEM_CREATE" Render gem_abi::GEM_CREATE, gem_abi::GemCreate => gem::create;
    Mmap c"AMDGPU_GEM_MMAP" Render gem_abi::GEM_MMAP, gem_abi::GemMmap => gem::mmap;
    Context c"AMDGPU_CTX" Render ctx_abi::CTX, ctx_abi::Ctx => ctx::ctx;
    Info c"AMDGPU_INFO" Render abi::INFO, abi::Info => ask;
    Metadata c"AMDGPU_GEM_METADATA" Render gem_abi::GEM_METADATA, gem_abi::GemMetadata => gem::metadata;
    WaitIdle c"AMDGPU_GEM_WAIT_IDLE" Render gem_abi::GEM_WAIT_IDLE, gem_abi::GemWaitIdle => gem::wait_idle;
    Va c"AMDGPU_GEM_VA" Render gem_abi::GEM_VA, gem_abi::GemVa => gem::va;
    Op c"AMDGPU_GEM_OP" Render gem_abi::GEM_OP, gem_abi::GemOp => gem::op;
    Userptr c"AMDGPU_GEM_USERPTR" Render gem_abi::GEM_USERPTR, gem_abi::GemUserptr => gem::userptr;
    List c"AMDGPU_GEM_LIST_HANDLES" Render gem_abi::GEM_LIST_HANDLES, gem_abi::GemListHandles => gem::list;
    Sched c"AMDGPU_SCHED" Master abi::SCHED, abi::Sched => ctx::sched;
}

fn ask(file: Opened<'_, Render>, argument: &mut abi::Info) -> Result {
    let opened = file.file();
    match argument.query {
        abi::INFO_GPUVM_FAULT => info::last_fault(&opened, &file.driver().processes, argument),
        _ => info::info(opened.gpu(), &file.driver().memory, argument),
    }
}
