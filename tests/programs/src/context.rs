// SPDX-License-Identifier: MIT OR Apache-2.0

//! A context of the render node's, in whose name nothing is submitted.

use std::fs::File;

use rkfd_uapi::ctx;

use crate::raw::{call, errno};
use crate::Failure;

/// A context, and its file.
pub struct Context {
    file: File,
    id: u32,
}

impl Context {
    /// A new one of a new file.
    ///
    /// # Errors
    /// There is no render node, or the driver refuses.
    pub fn new() -> Result<Self, Failure> {
        let file = crate::render_node()?;
        let mut context = Self { file, id: 0 };
        context.id = context.ask(ctx::OP_ALLOC_CTX)?.number();
        Ok(context)
    }

    fn ask(&self, op: u32) -> Result<ctx::Ctx, Failure> {
        let mut args = ctx::Ctx {
            op,
            ctx_id: self.id,
            ..Default::default()
        };
        call(&self.file, &ctx::CTX, &mut args).map_err(errno("AMDGPU_CTX"))?;
        Ok(args)
    }

    /// What happened since the last question.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn since(&self) -> Result<u32, Failure> {
        Ok(self.ask(ctx::OP_QUERY_STATE)?.state().2)
    }

    /// What happened since it was made.
    ///
    /// # Errors
    /// The driver refuses.
    pub fn flags(&self) -> Result<u64, Failure> {
        Ok(self.ask(ctx::OP_QUERY_STATE2)?.state().0)
    }
}
