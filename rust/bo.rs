// SPDX-License-Identifier: GPL-2.0

//! Buffer objects.
use kernel::prelude::*;
