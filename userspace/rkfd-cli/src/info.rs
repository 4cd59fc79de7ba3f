// SPDX-License-Identifier: MIT OR Apache-2.0

//! `rkfd info`: the driver and its GPUs.

use rkfd::raw::uapi;
use rkfd::topology::Node;
use rkfd::Gpu;
use serde_json::{json, Value};

use crate::machine::Machine;
use crate::surroundings::{self, Owner};
use crate::Failure;

/// Bytes in the largest unit that keeps them readable.
fn bytes(n: u64) -> String {
    match n {
        0..0x400 => format!("{n} B"),
        0x400..0x10_0000 => format!("{:.1} KiB", n as f64 / 1024.0),
        0x10_0000..0x4000_0000 => format!("{:.1} MiB", n as f64 / (1 << 20) as f64),
        _ => format!("{:.1} GiB", n as f64 / (1 << 30) as f64),
    }
}

/// The PCI address of a node.
fn pci(node: &Node) -> String {
    let at = node.property("location_id");
    let (bus, device, function) = ((at >> 8) & 0xff, (at >> 3) & 0x1f, at & 7);
    format!(
        "{:04x}:{bus:02x}:{device:02x}.{function}",
        node.property("domain")
    )
}

/// What is known of one GPU.
struct Report {
    index: usize,
    node: Node,
    /// The GPU, if it could be opened.
    gpu: Result<Gpu, rkfd::Error>,
}

/// Prints everything. A GPU that can't be opened is described as far as sysfs does, and then is
/// the failure.
pub(crate) fn show(as_json: bool) -> Result<(), Failure> {
    let nodes = Gpu::nodes()?;
    if nodes.is_empty() {
        return Err(rkfd::Error::NoGpu.into());
    }
    let reports = nodes.into_iter().enumerate().map(|(index, node)| Report {
        index,
        gpu: Gpu::of_node(node.clone()),
        node,
    });
    let reports: Vec<Report> = reports.collect();
    let owner = surroundings::owner(&Machine::here());
    match as_json {
        true => println!("{}", json(&owner, &reports)),
        false => reports
            .iter()
            .for_each(|report| print!("{}", report.text(&owner))),
    }
    let failures = reports.into_iter().filter_map(|report| report.gpu.err());
    match failures.last() {
        Some(error) => Err(Failure::Shown(error)),
        None => Ok(()),
    }
}

fn json(owner: &Owner, reports: &[Report]) -> Value {
    let mut opened = reports.iter().filter_map(|report| report.gpu.as_ref().ok());
    let version = opened.next().map(Gpu::driver_version);
    json!({
        "driver": {
            "module": owner.module(),
            "is_rkfd": owner.is_rkfd(),
            "kfd": version.map(|(major, minor)| format!("{major}.{minor}")),
        },
        "gpus": reports.iter().map(Report::json).collect::<Vec<_>>(),
    })
}

impl Report {
    fn json(&self) -> Value {
        let node = &self.node;
        let property = |key| node.property(key);
        let gpu = self.gpu.as_ref().ok();
        let clocks = gpu.and_then(|gpu| gpu.clocks().ok());
        json!({
            "index": self.index,
            "id": node.gpu_id,
            "name": node.name,
            "target": gpu.map(Gpu::target),
            "pci": {
                "address": pci(node),
                "vendor": property("vendor_id"),
                "device": property("device_id"),
            },
            "compute_units": node.compute_units(),
            "simds_per_unit": property("simd_per_cu"),
            "dies": node.xccs(),
            "wave_size": property("wave_front_size"),
            "lds_bytes": node.lds_size(),
            "memory_bytes": node.vram_size(),
            "memory_is_visible": node.large_bar(),
            "available_bytes": gpu.and_then(|gpu| gpu.available_memory().ok()),
            "firmware": {
                "compute": property("fw_version"),
                "sdma": property("sdma_fw_version"),
            },
            "queues": property("num_cp_queues"),
            "copy_engines": property("num_sdma_engines"),
            "save_area_bytes": property("cwsr_size"),
            "control_stack_bytes": property("ctl_stack_size"),
            "render_node": node.render_node().ok(),
            "clocks": clocks.map(|clocks| json!({
                "gpu_ticks": clocks.gpu,
                "host_ns": clocks.host.as_nanos() as u64,
            })),
            "error": self.gpu.as_ref().err().map(ToString::to_string),
        })
    }

    fn text(&self, owner: &Owner) -> String {
        let node = &self.node;
        let property = |key| node.property(key);
        let mut lines = Vec::new();
        let mut line = |name: &'static str, value: String| lines.push((name, value));
        let ids = (property("vendor_id"), property("device_id"));
        line(
            "PCI",
            format!("{} ({:04x}:{:04x})", pci(node), ids.0, ids.1),
        );
        let (units, simds, dies) = (node.compute_units(), property("simd_per_cu"), node.xccs());
        line(
            "compute units",
            format!("{units} of {simds} SIMDs, {dies} die(s)"),
        );
        line(
            "wave",
            format!("{} work-items", property("wave_front_size")),
        );
        let lds = bytes(node.lds_size().into());
        line("LDS", format!("{lds} per compute unit"));
        let visible = match node.large_bar() {
            true => "the CPU can map it",
            false => "not mapped by the CPU",
        };
        let memory = bytes(node.vram_size());
        line("device memory", format!("{memory}, {visible}"));
        let firmware = (property("fw_version"), property("sdma_fw_version"));
        let firmware = format!("compute {:#x}, SDMA {:#x}", firmware.0, firmware.1);
        line("firmware", firmware);
        let engines = (property("num_cp_queues"), property("num_sdma_engines"));
        let engines = format!("{} queues, {} SDMA engines", engines.0, engines.1);
        line("hardware", engines);
        let save = (bytes(property("cwsr_size")), property("ctl_stack_size"));
        let save = format!("{}, control stack {}", save.0, bytes(save.1));
        line("save area", save);
        let render = node.render_node();
        line(
            "render node",
            render.map_or_else(|error| error.to_string(), |path| path.display().to_string()),
        );
        match &self.gpu {
            Ok(gpu) => opened(gpu, owner, line),
            Err(_) => {
                line("driver", owner.to_string());
                line("opened", "no".into());
            }
        }
        let mut text = format!("GPU {}: id {:#x} {}\n", self.index, node.gpu_id, node.name);
        for (name, value) in lines {
            text += &format!("  {name:<18}{value}\n");
        }
        text
    }
}

/// What only an open GPU reports.
fn opened(gpu: &Gpu, owner: &Owner, mut line: impl FnMut(&'static str, String)) {
    let (major, minor) = gpu.driver_version();
    let (own_major, own_minor) = (uapi::VERSION_MAJOR, uapi::VERSION_MINOR);
    line("instruction set", gpu.target());
    line(
        "driver",
        format!("{owner}, KFD {major}.{minor} (this program: {own_major}.{own_minor})"),
    );
    let free = gpu.available_memory();
    line(
        "available memory",
        free.map_or_else(|error| error.to_string(), bytes),
    );
    let clocks = gpu.clocks().map(|clocks| {
        let host = clocks.host.as_secs_f64();
        format!("GPU {} ticks, host {host:.6} s", clocks.gpu)
    });
    line("clocks", clocks.unwrap_or_else(|error| error.to_string()));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_readable() {
        assert_eq!(bytes(0), "0 B");
        assert_eq!(bytes(1536), "1.5 KiB");
        assert_eq!(bytes(192 << 30), "192.0 GiB");
    }

    #[test]
    fn a_gpu_is_described_in_text_and_json() {
        let (gpu, _driver) = rkfd::fake::open();
        let owner = Owner::Rkfd { module: "rkfd" };
        let report = |gpu: Result<Gpu, rkfd::Error>, node: &Node| Report {
            index: 0,
            node: node.clone(),
            gpu,
        };
        let node = gpu.node().clone();
        let (open, closed) = (
            report(Ok(gpu), &node),
            report(Err(rkfd::Error::NoGpu), &node),
        );
        let text = open.text(&owner);
        assert!(text.contains("instruction set   gfx942"), "{text}");
        assert!(text.contains("driver            rkfd, KFD 1."), "{text}");
        let text = closed.text(&owner);
        assert!(text.contains("opened            no"), "{text}");

        let json: Value = json(&owner, &[open, closed]).to_string().parse().unwrap();
        assert_eq!(json["driver"]["module"], "rkfd");
        assert_eq!(json["driver"]["is_rkfd"], true);
        assert!(json["driver"]["kfd"].as_str().unwrap().starts_with("1."));
        let (open, closed) = (&json["gpus"][0], &json["gpus"][1]);
        assert_eq!(
            (&open["target"], &closed["target"]),
            (&json!("gfx942"), &Value::Null)
        );
        assert_eq!(
            (&open["error"], &open["compute_units"]),
            (&Value::Null, &json!(4))
        );
        assert!(closed["error"].as_str().unwrap().contains("has no GPU"));
        assert!(open["available_bytes"].as_u64() > Some(0));
        assert!(open["clocks"]["gpu_ticks"].as_u64() > Some(0));
        // Every field of the documentation is there, and none that is not documented.
        let readme = include_str!("../README.md");
        for (field, value) in open.as_object().unwrap() {
            let named = |name: &str| readme.contains(&format!("`.{name}`"));
            match value.as_object() {
                Some(inner) => inner
                    .keys()
                    .for_each(|key| assert!(named(&format!("{field}.{key}")), "{field}.{key}")),
                None => assert!(named(field), "{field}"),
            }
        }
    }
}
