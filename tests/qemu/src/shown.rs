// SPDX-License-Identifier: MIT OR Apache-2.0
//! Paths as the person at the machine knows them.
//!
//! Everything runs in the Debian root, in which the checkout is `/rkfd` and the cache `/cache`
//! (`setup/in-root`). Whatever is printed for a person names the host's paths instead.

use std::env;
use std::path::{Path, PathBuf};

/// Where a folder of the root is on the host: the folder, and the variable that names the host's.
const PLACES: [(&str, &str); 3] = [
    ("/rkfd", "RKFD_HOST_CHECKOUT"),
    ("/cache", "RKFD_HOST_CACHE"),
    ("/", "RKFD_HOST_ROOT"),
];

/// A path of the root, as the host calls it.
pub fn shown(path: &Path) -> String {
    on_host(path, |name| env::var_os(name).map(PathBuf::from))
        .display()
        .to_string()
}

fn on_host(path: &Path, host: impl Fn(&str) -> Option<PathBuf>) -> PathBuf {
    let found = PLACES.iter().find_map(|(folder, name)| {
        let rest = path.strip_prefix(folder).ok()?;
        Some((host(name)?, rest))
    });
    match found {
        Some((folder, rest)) if rest.as_os_str().is_empty() => folder,
        Some((folder, rest)) => folder.join(rest),
        None => path.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(name: &str) -> Option<PathBuf> {
        let folder = match name {
            "RKFD_HOST_CHECKOUT" => "/home/me/rkfd",
            "RKFD_HOST_CACHE" => "/home/me/.cache/rkfd",
            _ => "/home/me/.cache/rkfd/root-1",
        };
        Some(folder.into())
    }

    #[test]
    fn each_place_is_named_as_on_the_host() {
        for (path, wanted) in [
            (
                "/cache/build/1/vm/demo",
                "/home/me/.cache/rkfd/build/1/vm/demo",
            ),
            ("/rkfd/tests/kernels", "/home/me/rkfd/tests/kernels"),
            ("/rkfd", "/home/me/rkfd"),
            ("/rkfd.ko", "/home/me/.cache/rkfd/root-1/rkfd.ko"),
            ("/boot/vmlinuz", "/home/me/.cache/rkfd/root-1/boot/vmlinuz"),
            ("relative", "relative"),
        ] {
            assert_eq!(on_host(Path::new(path), host), Path::new(wanted));
        }
    }

    #[test]
    fn outside_of_the_root_a_path_is_itself() {
        assert_eq!(
            on_host(Path::new("/cache/x"), |_| None),
            Path::new("/cache/x")
        );
    }
}
