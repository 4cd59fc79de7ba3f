#!/usr/bin/env python3
# SPDX-License-Identifier: MIT OR Apache-2.0
"""Write the MES frame tables of this folder from Linux's structures.

usage: generate.py LINUX-SOURCE-TREE

Facts only: member names, and the places that a C compiler gives them (v12 packs to 8 bytes). Members named reserved or dummy are left out, so that a
strict reader finds bits set there. Needs gcc.
"""
import pathlib, re, subprocess, sys, tempfile

INCLUDE = pathlib.Path(sys.argv[1]) / "drivers/gpu/drm/amd/include"
HERE = pathlib.Path(__file__).parent
FRAMES = [  # C union, name here, what it is
    ("MESAPI_SET_HW_RESOURCES", "SetHwResources", "SET_HW_RSRC: what the scheduler may hand out. The first frame of a ring."),
    ("MESAPI_SET_HW_RESOURCES_1", "SetHwResources1", "SET_HW_RSRC_1: its continuation."),
    ("MESAPI__SET_SCHEDULING_CONFIG", "SetSchedulingConfig", "SET_SCHEDULING_CONFIG: quanta and grace periods of the priority levels."),
    ("MESAPI__ADD_QUEUE", "AddQueue", "ADD_QUEUE: hand a queue to the scheduler."),
    ("MESAPI__REMOVE_QUEUE", "RemoveQueue", "REMOVE_QUEUE: take it back."),
    ("MESAPI__CHANGE_GANG_PRIORITY_LEVEL", "ChangeGangPriority", "CHANGE_GANG_PRIORITY: of the gang whose context is named."),
    ("MESAPI__SUSPEND", "Suspend", "SUSPEND: stop one gang or all."),
    ("MESAPI__RESUME", "Resume", "RESUME: run one gang or all again."),
    ("MESAPI__RESET", "Reset", "RESET: reset hung queues, or only find them."),
    ("MESAPI__QUERY_MES_STATUS", "QueryStatus", "QUERY_SCHEDULER_STATUS: also the fence after each command."),
    ("MESAPI__MISC", "Misc", "MISC: register access and the rest, by sub-opcode."),
    ("MESAPI__UPDATE_ROOT_PAGE_TABLE", "UpdateRootPageTable", "UPDATE_ROOT_PAGE_TABLE: of a process."),
    ("MESAPI__SET_LOGGING_BUFFER", "SetLoggingBuffer", "SET_LOG_BUFFER: where scheduling events are logged."),
    ("MESAPI__INV_TLBS", "InvTlbs", "INV_TLBS: invalidate translations."),
]


def match(text, at):
    """The index after the brace that closes the one at `at`."""
    depth = 0
    for i in range(at, len(text)):
        depth += (text[i] == "{") - (text[i] == "}")
        if depth == 0:
            return i + 1
    raise ValueError("unbalanced braces")


class Header:
    def __init__(self, path):
        self.text = re.sub(r"/\*.*?\*/|//[^\n]*", "", path.read_text(), flags=re.S)
        self.types = {}
        for m in re.finditer(r"\b(struct|union)\s+(\w+)\s*\{", self.text):
            end = match(self.text, m.end() - 1)
            self.types[m[2]] = self.text[m.end():end - 1]
        self.numbers = {"AMD_PRIORITY_NUM_LEVELS": 5}
        for m in re.finditer(r"(\w+)\s*=\s*(\d+)\s*[,}\s]", self.text):
            self.numbers.setdefault(m[1], int(m[2]))

    def members(self, body, prefix=""):
        """Paths of the integer members of a structure's body."""
        i = 0
        while i < len(body):
            m = re.compile(r"\s*(struct|union)\s*(\w+)?\s*\{").match(body, i)
            if m:
                end = match(body, m.end() - 1)
                name = re.compile(r"\s*(\w*)\s*;").match(body, end)
                yield from self.members(body[m.end():end - 1], prefix + (name[1] + "." if name[1] else ""))
                i = name.end()
                continue
            m = re.compile(r"\s*((?:struct|union|enum)\s+)?(\w+)\s+(\w+)\s*(?:\[(\w+)\])?\s*(?::\s*\d+)?\s*;").match(body, i)
            if not m:
                if not body[i:].strip():
                    return
                raise ValueError("can't read: " + body[i:i + 60])
            i = m.end()
            kind, ctype, name, count = (m[1] or "").strip(), m[2], m[3], m[4]
            if re.match(r"reserved|dummy", name):
                continue
            n = None if count is None else int(count) if count.isdigit() else self.numbers[count]
            paths = [prefix + name] if n is None else [f"{prefix}{name}[{k}]" for k in range(n)]
            for path in paths:
                if kind in ("struct", "union") and ctype in self.types:
                    yield from self.members(self.types[ctype], path + ".")
                else:
                    yield path


def places(path, frames):
    """(bit, width) of every (C type, member path), asked of the compiler."""
    c = '#include <stdint.h>\n#include <stdbool.h>\n#include <stdio.h>\n#include <string.h>\n#include "%s"\nint main(void){long i,f,l;\n' % path
    for ctype, member in frames:
        c += ("{static union %s x; memset(&x,0,sizeof x); x.%s=-1; unsigned char*p=(void*)&x; f=l=-1;"
              "for(i=0;i<sizeof x*8;i++) if(p[i/8]>>(i%%8)&1){if(f<0)f=i;l=i;} printf(\"%%ld %%ld\\n\",f,l-f+1);}\n" % (ctype, member))
    with tempfile.TemporaryDirectory() as d:
        d = pathlib.Path(d)
        (d / "p.c").write_text(c + "return 0;}\n")
        subprocess.run(["gcc", "-w", "-o", d / "p", d / "p.c"], check=True)
        out = subprocess.run([d / "p"], check=True, capture_output=True, text=True).stdout
    return [tuple(map(int, line.split())) for line in out.splitlines()]


for version in ("v12",):
    path = INCLUDE / f"mes_{version}_api_def.h"
    header = Header(path)
    frames = []
    for ctype, name, doc in FRAMES:
        if ctype not in header.types:
            continue
        seen = []
        for member in header.members(header.types[ctype]):
            if not member.startswith("max_dwords_in_api") and not re.search(r"(^|\.)(uint32_all|u32All|u32all|all)$", member):
                seen.append(member)
        frames.append((ctype, name, doc, seen))
    asked = [(t, m) for t, _, _, ms in frames for m in ms]
    found = dict(zip(asked, places(path, asked)))
    out = ["// SPDX-License-Identifier: MIT OR Apache-2.0", "// Generated by hw/mes/generate.py: change that, not this.", "",
           f"//! MES frames, {version}.", "//!", f"//! Source: Linux, `drivers/gpu/drm/amd/include/mes_{version}_api_def.h`.", "",
           "use super::super::layout::*;", "", "layout! {"]
    for ctype, name, doc, ms in frames:
        out += [f"    /// {doc}", f'    pub struct {name}: [u32; 64] = "union {ctype}" {{']
        for m in ms:
            bit, width = found[(ctype, m)]
            here = re.sub(r"\W+", "_", m).strip("_").upper()
            out.append(f'        {here}: {bit // 32}[{bit % 32 + width - 1}:{bit % 32}] = "{m}";')
        out.append("    }\n")
    out[-1] = out[-1].rstrip()
    out += ["}", "", "/// The layouts of this file.", "pub const LAYOUTS: &[LayoutInfo] = &["]
    out += [f"    LayoutInfo::of::<{name}>()," for _, name, _, _ in frames] + ["];", ""]
    (HERE / f"{version}.rs").write_text("\n".join(out))
    print(f"{version}: {len(frames)} frames, {len(asked)} fields")
