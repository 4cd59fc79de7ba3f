// SPDX-License-Identifier: MIT OR Apache-2.0
//! The description of /dev/kfd for syzkaller, from the tables of `uapi/` and the roles of the fields.

use crate::role::{self, Role};
use crate::table::{self, Entry};
use rkfd_uapi::abi::FieldInfo;
use rkfd_uapi::ioctl::{ioc_direction, nr, READ, WRITE};
use std::fmt::Write;

/// What stands above the requests.
const HEAD: &str = "\
# SPDX-License-Identifier: MIT OR Apache-2.0
# Requests of /dev/kfd. Written by `rkfd-fuzz --syzkaller` from uapi/: do not edit.

include <linux/kfd_ioctl.h>

resource fd_kfd[fd]
resource fd_kfd_render[fd]
resource fd_kfd_dmabuf[fd]
resource kfd_gpu[int32]: 0
resource kfd_handle[int64]: 0
resource kfd_queue[int32]: 0
resource kfd_event[int32]: 0

openat$kfd(fd const[AT_FDCWD], file ptr[in, string[\"/dev/kfd\"]], flags const[O_RDWR], mode const[0]) fd_kfd
syz_open_dev$kfd_render(dev ptr[in, string[\"/dev/dri/renderD#\"]], id intptr[128:255], flags const[O_RDWR]) fd_kfd_render
mmap$kfd(addr vma, len len[addr], prot flags[mmap_prot], flags flags[mmap_flags], fd fd_kfd, offset fileoff)
mmap$kfd_render(addr vma, len len[addr], prot flags[mmap_prot], flags flags[mmap_flags], fd fd_kfd_render, offset fileoff)

";

/// What stands below: structures that pointers point to, and sets of values.
const TAIL: &str = "\
kfd_event_data {
	data	array[int64, 4]
	ext	int64
	event_id	kfd_event
	pad	const[0, int32]
}

kfd_process_device_apertures {
	limits	array[int64, 6]	(out)
	gpu_id	kfd_gpu	(out)
	pad	int32	(out)
}

kfd_alloc_flags = KFD_IOC_ALLOC_MEM_FLAGS_VRAM, KFD_IOC_ALLOC_MEM_FLAGS_GTT, KFD_IOC_ALLOC_MEM_FLAGS_USERPTR, KFD_IOC_ALLOC_MEM_FLAGS_DOORBELL, KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP, KFD_IOC_ALLOC_MEM_FLAGS_WRITABLE, KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE, KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC, KFD_IOC_ALLOC_MEM_FLAGS_NO_SUBSTITUTE, KFD_IOC_ALLOC_MEM_FLAGS_AQL_QUEUE_MEM, KFD_IOC_ALLOC_MEM_FLAGS_COHERENT, KFD_IOC_ALLOC_MEM_FLAGS_UNCACHED
";

/// The whole description.
pub fn description() -> String {
    let mut text = HEAD.to_owned();
    let requests = table::kfd();
    for entry in &requests {
        let argument = match entry.fields {
            [] => "arg const[0]".to_owned(),
            _ => format!("arg ptr[{}, {}]", direction(entry), name(entry)),
        };
        let suffix = suffix(entry);
        let _ = writeln!(
            text,
            "ioctl$KFD_{suffix}(fd fd_kfd, cmd const[{}], {argument})",
            entry.info.c
        );
    }
    text.push('\n');
    for entry in requests.iter().filter(|entry| !entry.fields.is_empty()) {
        let _ = writeln!(text, "{} {{", name(entry));
        for field in entry.fields {
            let (kind, out) = kind(entry, field);
            let out = if out { "\t(out)" } else { "" };
            let _ = writeln!(text, "\t{}\t{kind}{out}", field.name);
        }
        text.push_str("}\n\n");
    }
    text + TAIL
}

fn suffix(entry: &Entry) -> &str {
    entry.info.c.trim_start_matches("AMDKFD_IOC_")
}

fn name(entry: &Entry) -> String {
    format!("kfd_{}_args", suffix(entry).to_lowercase())
}

fn direction(entry: &Entry) -> &'static str {
    match ioc_direction(entry.info.command) {
        READ => "out",
        WRITE => "in",
        _ => "inout",
    }
}

/// A field's type, and whether the driver fills it.
fn kind(entry: &Entry, field: &FieldInfo) -> (String, bool) {
    let int = match field.size {
        4 => "int32",
        8 => "int64",
        bytes => return (format!("array[int8, {bytes}]"), direction(entry) == "out"),
    };
    let made = |number| entry.info.number == number;
    let here = |name| entry.fields.iter().any(|f| f.name == name);
    let role = role::of(entry, field.name).unwrap_or(Role::Out);
    let kind = match (role, field.name) {
        // Of 64 bits where it is an output.
        (Role::Handle, _) => {
            let out = made(nr::ALLOC_MEMORY_OF_GPU) || made(nr::IMPORT_DMABUF);
            return ("kfd_handle".into(), out);
        }
        (Role::Queue, _) => return ("kfd_queue".into(), made(nr::CREATE_QUEUE)),
        (Role::Event, _) => return ("kfd_event".into(), made(nr::CREATE_EVENT)),
        (Role::Fd, "drm_fd") => "fd_kfd_render".into(),
        (Role::Fd, _) => return ("fd_kfd_dmabuf".into(), made(nr::EXPORT_DMABUF)),
        (Role::Gpu, _) => "kfd_gpu".into(),
        (Role::Pointer, "device_ids_array_ptr") => "ptr64[in, array[kfd_gpu]]".into(),
        (Role::Pointer, "events_ptr") => "ptr64[inout, array[kfd_event_data]]".into(),
        (Role::Pointer, "kfd_process_device_apertures_ptr") => {
            "ptr64[out, array[kfd_process_device_apertures]]".into()
        }
        (Role::Pointer, "cu_mask_ptr") => "ptr64[in, array[int32]]".into(),
        (Role::Pointer, "mmap_offset") => "vma64".into(),
        (Role::Pointer, _) => "ptr64[inout, array[int8]]".into(),
        (Role::Count, "num_events") => "len[events_ptr, int32]".into(),
        (Role::Count, "n_devices") => "len[device_ids_array_ptr, int32]".into(),
        (Role::Count, "num_of_nodes") if here("kfd_process_device_apertures_ptr") => {
            "len[kfd_process_device_apertures_ptr, int32]".into()
        }
        (Role::Flags, _) if made(nr::ALLOC_MEMORY_OF_GPU) => "flags[kfd_alloc_flags, int32]".into(),
        (Role::Timeout, _) => "int32[0:50]".into(),
        (Role::Small | Role::Pid, _) => format!("{int}[0:256]"),
        (Role::Out, "pad") => format!("const[0, {int}]"),
        (Role::Out, _) => return (int.into(), true),
        _ => int.into(),
    };
    (kind, false)
}

#[cfg(test)]
mod tests {
    use super::*;

    const FILE: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../docs/syzkaller/dev_kfd.txt"
    );

    #[test]
    fn the_file_is_what_the_tables_give() {
        let file = std::fs::read_to_string(FILE).unwrap_or_default();
        assert!(
            file == description(),
            "run: rkfd-fuzz --syzkaller > docs/syzkaller/dev_kfd.txt"
        );
    }

    /// Bytes of a type of the description; resources have the size that their line gives.
    fn bytes(kind: &str, resources: &[(String, usize)]) -> usize {
        if let Some((_, size)) = resources.iter().find(|(name, _)| name == kind) {
            return *size;
        }
        let (head, rest) = kind.split_once('[').unwrap_or((kind, ""));
        match head {
            "ptr64" | "vma64" | "int64" => 8,
            "int32" => 4,
            "array" => {
                let (of, count) = rest.trim_end_matches(']').split_once(", ").unwrap();
                bytes(of, resources) * count.parse::<usize>().unwrap()
            }
            "int8" => 1,
            "len" | "const" | "flags" => bytes(
                rest.trim_end_matches(']').rsplit(", ").next().unwrap(),
                resources,
            ),
            _ => panic!("{kind} has no size"),
        }
    }

    /// The text's own structures add up to the sizes that Linux's encoded commands have, and every
    /// name that is used is declared.
    #[test]
    fn the_structures_have_the_sizes_of_linux() {
        let text = description();
        let resources: Vec<(String, usize)> = text
            .lines()
            .filter_map(|line| line.strip_prefix("resource "))
            .map(|line| {
                let (name, rest) = line.split_once('[').unwrap();
                (
                    name.to_owned(),
                    if rest.starts_with("int64") { 8 } else { 4 },
                )
            })
            .collect();
        for entry in table::kfd().iter().filter(|entry| !entry.fields.is_empty()) {
            let begin = format!("\n{} {{\n", name(entry));
            let body = text
                .split(begin.as_str())
                .nth(1)
                .unwrap()
                .split("\n}")
                .next()
                .unwrap();
            let size: usize = body
                .lines()
                .map(|line| bytes(line.split('\t').nth(2).unwrap(), &resources))
                .sum();
            assert_eq!(size, entry.size, "{}", entry.info.name);
        }
        for (name, _) in &resources {
            assert!(
                text.matches(name.as_str()).count() > 1,
                "{name} is never used"
            );
        }
    }
}
