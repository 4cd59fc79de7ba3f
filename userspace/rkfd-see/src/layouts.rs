// SPDX-License-Identifier: MIT OR Apache-2.0

//! The layouts that bytes of the page have, each field with the lines that define it.

use crate::sources::{Line, Tree};
use anyhow::Result;
use rkfd_hw::layout::{Layout, LayoutInfo};
use rkfd_hw::{aql, ih, mes, mqd, pm4, sdma};
use rkfd_uapi::abi::StructInfo;
use rkfd_uapi::STRUCTS;
use serde_json::{json, Value};

const AMD: &str = "drivers/gpu/drm/amd";

/// Headers of Linux and HSA, by what they describe.
const MQDS: [&str; 2] = ["include/v9_structs.h", "include/v12_structs.h"];
const PACKETS: [&str; 2] = [
    "amdkfd/kfd_pm4_headers_ai.h",
    "amdkfd/kfd_pm4_headers_aldebaran.h",
];
const FRAMES: [&str; 1] = ["include/mes_v12_api_def.h"];
const HSA: [&str; 3] = ["hsa/hsa.h", "hsa/hsa_ext_amd.h", "hsa/amd_hsa_signal.h"];
const UAPI: &str = "include/uapi/linux/kfd_ioctl.h";

/// The trees in which lines are looked up.
pub struct Sources {
    /// This project.
    pub ours: Tree,
    /// Linux.
    pub linux: Tree,
    /// HSA's headers.
    pub hsa: Tree,
}

/// The key of a packet's layout: PM4 of the driver, by its header.
pub fn of_pm4(words: &[u32]) -> Option<&'static str> {
    let (opcode, _) = pm4::parse_header(*words.first()?)?;
    Some(match opcode {
        pm4::op::SET_RESOURCES => "pm4::SetResources",
        pm4::op::MAP_PROCESS => "pm4::MapProcess",
        pm4::op::MAP_QUEUES => "pm4::MapQueues",
        pm4::op::UNMAP_QUEUES => "pm4::UnmapQueues",
        pm4::op::QUERY_STATUS => "pm4::QueryStatus",
        pm4::op::RUN_LIST => "pm4::RunList",
        pm4::op::INVALIDATE_TLBS => "pm4::InvalidateTlbs",
        _ => return None,
    })
}

/// The key of a MES frame's layout.
pub fn of_mes(words: &[u32]) -> Option<&'static str> {
    let opcode = mes::v12::AddQueue::FIELDS
        .iter()
        .find(|f| f.name == "HEADER_OPCODE")?
        .get(words);
    Some(match u8::try_from(opcode).ok()? {
        mes::op::SET_HW_RSRC => "mes::v12::SetHwResources",
        mes::op::SET_HW_RSRC_1 => "mes::v12::SetHwResources1",
        mes::op::SET_SCHEDULING_CONFIG => "mes::v12::SetSchedulingConfig",
        mes::op::ADD_QUEUE => "mes::v12::AddQueue",
        mes::op::REMOVE_QUEUE => "mes::v12::RemoveQueue",
        mes::op::CHANGE_GANG_PRIORITY => "mes::v12::ChangeGangPriority",
        mes::op::SUSPEND => "mes::v12::Suspend",
        mes::op::RESUME => "mes::v12::Resume",
        mes::op::RESET => "mes::v12::Reset",
        mes::op::QUERY_SCHEDULER_STATUS => "mes::v12::QueryStatus",
        mes::op::MISC => "mes::v12::Misc",
        mes::op::UPDATE_ROOT_PAGE_TABLE => "mes::v12::UpdateRootPageTable",
        mes::op::SET_LOG_BUFFER => "mes::v12::SetLoggingBuffer",
        mes::op::INV_TLBS => "mes::v12::InvTlbs",
        _ => return None,
    })
}

/// The key of a copy engine's packet, by the name in the device's trace.
pub fn of_sdma(op: &str, is_gfx12: bool) -> Option<&'static str> {
    let both = match op {
        "FENCE" => ["sdma::v4_4::Fence", "sdma::v7_0::Fence"],
        "CONST_FILL" => ["sdma::v4_4::ConstantFill", "sdma::v7_0::ConstantFill"],
        "TRAP" => ["sdma::v4_4::Trap", "sdma::v7_0::Trap"],
        "COPY" => ["sdma::v4_4::CopyLinear", "sdma::v7_0::CopyLinear"],
        _ => return None,
    };
    Some(both[usize::from(is_gfx12)])
}

struct Known {
    file: &'static str,
    without: Option<&'static str>,
    info: LayoutInfo,
}

fn known(key: &str) -> Option<Known> {
    fn of<T: Layout>(file: &'static str) -> Option<Known> {
        let info = LayoutInfo::of::<T>();
        Some(Known {
            file,
            without: None,
            info,
        })
    }
    let except = |known: Option<Known>, without| {
        known.map(|k| Known {
            without: Some(without),
            ..k
        })
    };
    let pick = |all: &'static [LayoutInfo], file| {
        let name = key.rsplit("::").next()?;
        let found = all.iter().find(|info| info.name == name)?;
        let info = LayoutInfo { ..*found };
        Some(Known {
            file,
            without: None,
            info,
        })
    };
    match key {
        "mqd::v9::ComputeMqd" => except(of::<mqd::v9::ComputeMqd>("hw/mqd/tables.rs"), "v12"),
        "mqd::v12::ComputeMqd" => except(of::<mqd::v12::ComputeMqd>("hw/mqd/tables.rs"), "v9"),
        "ih::Entry" => of::<ih::Entry>("hw/ih.rs"),
        "aql::KernelDescriptor" => of::<aql::KernelDescriptor>("hw/aql.rs"),
        "pm4::InvalidateTlbs" => of::<pm4::InvalidateTlbs>("hw/pm4.rs"),
        _ if key.starts_with("pm4::") => pick(pm4::LAYOUTS, "hw/pm4.rs"),
        _ if key.starts_with("mes::v12::") => pick(mes::v12::LAYOUTS, "hw/mes/v12.rs"),
        _ if key.starts_with("aql::") => pick(aql::LAYOUTS, "hw/aql.rs"),
        _ if key.starts_with("sdma::v4_4::") => {
            except(pick(sdma::v4_4::LAYOUTS, "hw/sdma/tables.rs"), "v7_0")
        }
        _ if key.starts_with("sdma::v7_0::") => {
            except(pick(sdma::v7_0::LAYOUTS, "hw/sdma/tables.rs"), "v4_4")
        }
        _ => None,
    }
}

fn line(line: Option<Line>) -> Value {
    line.map_or(Value::Null, |l| json!(l.line))
}

/// The description of a layout for the page.
///
/// # Errors
///
/// Our sources or Linux's don't have it where this file says.
pub fn describe(key: &str, sources: &Sources) -> Result<Option<Value>> {
    if let Some(name) = key.strip_prefix("uapi::") {
        return uapi(name, sources);
    }
    let Some(Known {
        file,
        without,
        info,
    }) = known(key)
    else {
        return Ok(None);
    };
    let ours = sources.ours.ours(file, info.name, without)?;
    let headers = |names: &[&str]| {
        names
            .iter()
            .map(|n| format!("{AMD}/{n}"))
            .collect::<Vec<_>>()
    };
    let in_linux = match key.split("::").next() {
        Some("mqd") => headers(&MQDS),
        Some("pm4") => headers(&PACKETS),
        Some("mes") => headers(&FRAMES),
        _ => Vec::new(),
    };
    let in_linux: Vec<&str> = in_linux.iter().map(String::as_str).collect();
    let theirs = match info.c {
        "" => None,
        c if key.starts_with("aql::") => sources.hsa.c(&HSA, c)?,
        c => sources.linux.c(&in_linux, c)?,
    };
    // The copy engines' header has macros for each field in place of a type.
    let macros = match key.split("::").nth(1) {
        Some("v4_4") => Some(format!("{AMD}/amdgpu/vega10_sdma_pkt_open.h")),
        Some("v7_0") => Some(format!("{AMD}/amdgpu/sdma_v6_0_0_pkt_open.h")),
        _ => None,
    };
    let by_macro = |member: &str| {
        let first = member.split('+').next().unwrap_or(member);
        let define = format!("#define {}_{first}_offset", info.c);
        sources.linux.find(macros.as_ref()?, &define).ok()
    };
    let in_c = |member: &str| match &theirs {
        Some(found) => found.member(member),
        None => by_macro(member),
    };
    let fields = info.fields.iter().map(|f| {
        let (our_line, c_line) = (line(ours.member(f.name)), line(in_c(f.c)));
        json!([f.name, f.bit, f.width, f.c, our_line, c_line])
    });
    let first = || by_macro(info.fields.first()?.c);
    let header = theirs.as_ref().map(|t| t.line()).or_else(first);
    Ok(Some(json!({
        "name": info.name, "c": info.c, "words": info.words,
        "file": file, "line": ours.line().line,
        "header": header.as_ref().map(|l| l.file.clone()), "hline": header.map(|l| l.line),
        "fields": fields.collect::<Vec<_>>(),
    })))
}

fn uapi(name: &str, sources: &Sources) -> Result<Option<Value>> {
    let mut all = STRUCTS.iter().flat_map(|file| file.iter());
    let Some(info): Option<&StructInfo> = all.find(|info| info.name == name) else {
        return Ok(None);
    };
    let files = [
        "criu", "debug", "device", "event", "memory", "queue", "smi", "svm",
    ];
    let files = files.map(|file| format!("uapi/{file}.rs"));
    let ours = files
        .iter()
        .find_map(|file| sources.ours.ours(file, name, None).ok());
    let theirs = sources.linux.c(&[UAPI], info.c)?;
    let fields = info.fields.iter().filter(|f| !f.c.is_empty()).map(|f| {
        let our_line = line(ours.as_ref().and_then(|t| t.member(f.name)));
        let c_line = line(theirs.as_ref().and_then(|t| t.member(f.c)));
        json!([f.c, f.offset * 8, f.size * 8, f.c, our_line, c_line])
    });
    let (our, their) = (
        ours.as_ref().map(|t| t.line()),
        theirs.as_ref().map(|t| t.line()),
    );
    Ok(Some(json!({
        "name": name, "c": info.c, "words": info.size.div_ceil(4),
        "file": our.as_ref().map(|l| l.file.clone()), "line": our.map(|l| l.line),
        "header": their.as_ref().map(|l| l.file.clone()), "hline": their.map(|l| l.line),
        "fields": fields.collect::<Vec<_>>(),
    })))
}

/// The bits of page table entries, with their names in Linux and the lines that define them.
///
/// # Errors
///
/// As [`describe`].
pub fn entry_bits(sources: &Sources) -> Result<Value> {
    use rkfd_hw::pte;
    let bit = |name: &str, shift: u32, width: u32, c: &str, of: &str| -> Result<Value> {
        let ours = sources
            .ours
            .find("hw/pte.rs", &format!("pub const {name}"))?;
        let header = format!("{AMD}/amdgpu/amdgpu_vm.h");
        let theirs = sources.linux.find(&header, &format!("#define {c}"))?;
        Ok(json!([name, shift, width, c, ours.line, theirs.line, of]))
    };
    let flag = |name, value: u64, c, of| bit(name, value.trailing_zeros(), 1, c, of);
    let all = [
        flag("VALID", pte::VALID, "AMDGPU_PTE_VALID", "all")?,
        flag("SYSTEM", pte::SYSTEM, "AMDGPU_PTE_SYSTEM", "all")?,
        flag("SNOOPED", pte::SNOOPED, "AMDGPU_PTE_SNOOPED", "all")?,
        flag(
            "EXECUTABLE",
            pte::EXECUTABLE,
            "AMDGPU_PTE_EXECUTABLE",
            "all",
        )?,
        flag("READABLE", pte::READABLE, "AMDGPU_PTE_READABLE", "all")?,
        flag("WRITEABLE", pte::WRITEABLE, "AMDGPU_PTE_WRITEABLE", "all")?,
        flag("PDE_PTE", pte::PDE_PTE, "AMDGPU_PDE_PTE", "gfx9")?,
        flag(
            "TRANSLATE_FURTHER",
            pte::TRANSLATE_FURTHER,
            "AMDGPU_PTE_TF",
            "gfx9",
        )?,
        flag(
            "PDE_PTE",
            pte::gfx12::PDE_PTE,
            "AMDGPU_PDE_PTE_GFX12",
            "gfx12",
        )?,
    ];
    Ok(json!({"file": "hw/pte.rs", "header": format!("{AMD}/amdgpu/amdgpu_vm.h"), "bits": all}))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_are_known_by_their_headers() {
        assert_eq!(
            of_pm4(&[pm4::header(pm4::op::MAP_QUEUES, 7)]),
            Some("pm4::MapQueues")
        );
        assert_eq!(
            of_mes(&[mes::header(mes::op::ADD_QUEUE)]),
            Some("mes::v12::AddQueue")
        );
        assert_eq!(of_pm4(&[0]), None);
        for key in [
            "pm4::MapProcess",
            "mes::v12::Misc",
            "aql::Signal",
            "sdma::v7_0::Fence",
        ] {
            assert_eq!(
                known(key).map(|k| key.ends_with(k.info.name)),
                Some(true),
                "{key}"
            );
        }
    }
}
