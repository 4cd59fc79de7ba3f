// SPDX-License-Identifier: GPL-2.0
/* The code of the tracepoints: the kernel makes it by macros of C. */

#define CREATE_TRACE_POINTS
#define CREATE_RUST_TRACE_POINTS
#include "rkfd_trace.h"
