# SPDX-License-Identifier: MIT OR Apache-2.0
# Stop in the module's first ioctl, show how it came there, and let the guest go on.
break rkfd_main::ioctl::dispatch
continue
backtrace
info source
delete
detach
