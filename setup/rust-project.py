#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Writes rust-project.json of the checkout, by which rust-analyzer understands the module.

    rust-project.py KERNELS-PROJECT

The kernel's own generator describes the kernel crate and what it needs, but does not find a module
whose root lies in a subfolder: it is added here. All paths become the host's (RKFD_HOST_*).
"""

import json
import os
import sys
from pathlib import Path

MODULE = "/rkfd/rust/rkfd_main.rs"
# What kbuild lets every module use.
USES = ["core", "macros", "kernel", "pin_init", "zerocopy", "zerocopy_derive", "ffi", "build_error"]
PLACES = [
    ("/rkfd", os.environ["RKFD_HOST_CHECKOUT"]),
    ("/cache", os.environ["RKFD_HOST_CACHE"]),
    ("/usr", os.environ["RKFD_HOST_ROOT"] + "/usr"),
]


def on_host(value):
    """The same, with every path of the root replaced."""
    if isinstance(value, dict):
        return {key: on_host(item) for key, item in value.items()}
    if isinstance(value, list):
        return [on_host(item) for item in value]
    if isinstance(value, str):
        for inside, outside in PLACES:
            if value == inside or value.startswith(inside + "/"):
                return outside + value[len(inside):]
    return value


project = json.loads(Path(sys.argv[1]).read_text())
crates = project["crates"]
names = [crate["display_name"] for crate in crates]
kernel = crates[names.index("kernel")]
crates.append({
    "display_name": "rkfd",
    "root_module": MODULE,
    "is_workspace_member": True,
    "edition": "2021",
    "deps": [{"crate": names.index(name), "name": name} for name in USES],
    "cfg": [*kernel["cfg"], "MODULE"],
    "env": {**kernel["env"], "RUST_MODFILE": "rkfd"},
    "source": {"include_dirs": ["/rkfd/rust", "/rkfd/hw", "/rkfd/uapi"], "exclude_dirs": []},
})
for crate in crates:
    if not Path(crate["root_module"]).is_file():
        sys.exit(f"{crate['display_name']}: there is no {crate['root_module']}")
Path("/rkfd/rust-project.json").write_text(json.dumps(on_host(project), indent=1))
