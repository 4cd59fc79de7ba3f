// SPDX-License-Identifier: MIT OR Apache-2.0
//! The requests with their structures, from the tables of `uapi/`.

use rkfd_uapi::abi::{FieldInfo, StructInfo};
use rkfd_uapi::ioctl::{IoctlInfo, IOCTLS};
use rkfd_uapi::STRUCTS;

/// A request and its argument's fields.
#[derive(Clone, Copy)]
pub struct Entry {
    /// Name, number, command.
    pub info: &'static IoctlInfo,
    /// Fields of the argument; none for a request without one.
    pub fields: &'static [FieldInfo],
    /// Bytes of the argument.
    pub size: usize,
}

fn structure(path: &str) -> Option<&'static StructInfo> {
    let name = path.rsplit("::").next()?;
    STRUCTS
        .iter()
        .flat_map(|file| file.iter())
        .find(|info| info.name == name)
}

/// All requests of /dev/kfd, by number.
pub fn all() -> Vec<Entry> {
    IOCTLS
        .iter()
        .map(|info| {
            let argument = structure(info.argument);
            Entry {
                info,
                fields: argument.map_or(&[], |a| a.fields),
                size: argument.map_or(0, |a| a.size),
            }
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use rkfd_uapi::ioctl;

    #[test]
    fn every_request_with_an_argument_has_its_structure() {
        for request in super::all() {
            assert_eq!(
                ioctl::ioc_size(request.info.command),
                request.size,
                "{}",
                request.info.name
            );
        }
    }
}
