// SPDX-License-Identifier: MIT OR Apache-2.0

//! A GPU that the program's cgroup forbids: its part of the topology can't be read (EPERM), and a process
//! that opens /dev/kfd there has no such GPU (`kfd_devcgroup_check_permission`).
//!
//! `permitted GROUP`, a folder of a cgroup of version 2
//!
//! `permitted GROUP forbid MINOR`: only forbids the group the DRM node with that number.

use std::fs::{self, File};
use std::path::Path;
use std::process::ExitCode;

use rkfd_bare::sys::{forbid_minor, major, open_with};
use rkfd_programs::raw::{self, call, errno};
use rkfd_programs::{check, report, Failure};
use rkfd_uapi::{device, ioctl, memory};
use rustix::io::Errno;

const NODES: &str = "/sys/devices/virtual/kfd/kfd/topology/nodes";
/// What a GPU's node has, and what the processors' node has about the GPU.
const ABOUT_THE_GPU: [&str; 6] = [
    "1/gpu_id",
    "1/properties",
    "1/mem_banks/0/properties",
    "1/caches/0/properties",
    "1/io_links/0/properties",
    "0/io_links/0/properties",
];

fn read(file: &str) -> Result<String, Option<i32>> {
    fs::read_to_string(Path::new(NODES).join(file)).map_err(|e| e.raw_os_error())
}

/// Forbids a cgroup the DRM node with a number.
fn forbid(group: &str, minor: u32) -> Result<(), Failure> {
    let raw = |error: i32| Failure::new(format_args!("errno {error}"));
    // O_DIRECTORY.
    let folder = open_with(group, 0o200000).map_err(raw)?;
    forbid_minor(&folder, minor).map_err(raw)
}

fn run() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [group, _, minor] = &arguments[..] {
        return forbid(group, minor.parse().map_err(Failure::new)?);
    }
    let group = std::env::args().nth(1).unwrap_or_default();
    let id = read("1/gpu_id").map_err(|e| Failure::new(format_args!("gpu_id: {e:?}")))?;
    let id: u32 = id.trim().parse().map_err(Failure::new)?;
    let render = fs::read_dir("/dev/dri").map_err(Failure::new)?.flatten();
    let mut render = render.map(|e| e.path().display().to_string());
    let render = render.find(|path| path.contains("/renderD"));
    let render = render.ok_or_else(|| Failure::new("no render node"))?;
    let minor = render.trim_start_matches(|c: char| !c.is_ascii_digit());
    let minor: u32 = minor.parse().map_err(Failure::new)?;
    check("the render node can be seen", major(&render).is_ok())?;

    forbid(&group, minor)?;
    let pid = std::process::id().to_string();
    fs::write(format!("{group}/cgroup.procs"), pid).map_err(Failure::new)?;

    for file in ABOUT_THE_GPU {
        let refused = read(file) == Err(Some(Errno::PERM.raw_os_error()));
        check(&format!("{file} can't be read"), refused)?;
    }
    let others = read("0/properties").is_ok() && read("0/gpu_id").is_ok();
    check("the processors' node can be read", others)?;
    let refused = File::open(&render).is_err_and(|e| e.raw_os_error() == Some(1));
    check("the render node can't be opened", refused)?;

    let kfd = File::open("/dev/kfd").map_err(Failure::new)?;
    let mut version = device::GetVersionArgs::default();
    call(&kfd, &ioctl::GET_VERSION, &mut version).map_err(errno("GET_VERSION"))?;
    let mut apertures = device::GetProcessAperturesNewArgs::default();
    call(&kfd, &ioctl::GET_PROCESS_APERTURES_NEW, &mut apertures)
        .map_err(errno("GET_PROCESS_APERTURES_NEW"))?;
    check("the process has no GPU", apertures.num_of_nodes == 0)?;
    let flags = memory::ALLOC_GTT | memory::ALLOC_WRITABLE;
    let made = raw::alloc(&kfd, id, 0x1234_0000_0000, 4096, 0, flags);
    check("requests don't know the GPU", made == Err(Errno::INVAL))
}

fn main() -> ExitCode {
    report("permitted", run)
}
