// SPDX-License-Identifier: MIT OR Apache-2.0

//! `rkfd info`: what the driver says of itself and of its GPUs.

use rkfd::topology::Node;
use rkfd::Gpu;

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

fn line(name: &str, value: impl std::fmt::Display) {
    println!("  {name:<18}{value}");
}

/// Prints everything. A GPU that can't be opened is described as far as sysfs does, and then is
/// the failure.
pub(crate) fn show() -> Result<(), Failure> {
    let nodes = Gpu::nodes()?;
    if nodes.is_empty() {
        return Err(rkfd::Error::NoGpu.into());
    }
    let mut failure = None;
    for (index, node) in nodes.into_iter().enumerate() {
        let property = |key| node.property(key);
        println!("GPU {index}: id {:#x} {}", node.gpu_id, node.name);
        let ids = format!(
            "{:04x}:{:04x}",
            property("vendor_id"),
            property("device_id")
        );
        line("PCI", format_args!("{} ({ids})", pci(&node)));
        let per_cu = property("simd_per_cu");
        line(
            "compute units",
            format_args!(
                "{} of {per_cu} SIMDs, {} die(s)",
                node.compute_units(),
                node.xccs()
            ),
        );
        line(
            "wave",
            format_args!("{} work-items", property("wave_front_size")),
        );
        line(
            "LDS",
            format_args!("{} per compute unit", bytes(node.lds_size().into())),
        );
        let visible = if node.large_bar() {
            "the CPU can map it"
        } else {
            "not mapped by the CPU"
        };
        line(
            "device memory",
            format_args!("{}, {visible}", bytes(node.vram_size())),
        );
        let firmware = (property("fw_version"), property("sdma_fw_version"));
        line(
            "firmware",
            format_args!("compute {:#x}, SDMA {:#x}", firmware.0, firmware.1),
        );
        let engines = (property("num_cp_queues"), property("num_sdma_engines"));
        line(
            "hardware",
            format_args!("{} queues, {} SDMA engines", engines.0, engines.1),
        );
        let save = (property("cwsr_size"), property("ctl_stack_size"));
        line(
            "save area",
            format_args!("{}, control stack {}", bytes(save.0), bytes(save.1)),
        );
        match node.render_node() {
            Ok(path) => line("render node", path.display()),
            Err(error) => line("render node", error),
        }
        match Gpu::of_node(node) {
            Ok(gpu) => opened(&gpu),
            Err(error) => {
                line("opened", "no");
                failure = Some(error);
            }
        }
    }
    match failure {
        Some(error) => Err(error.into()),
        None => Ok(()),
    }
}

/// What only an open GPU tells.
fn opened(gpu: &Gpu) {
    let (major, minor) = gpu.driver_version();
    let (own_major, own_minor) = (rkfd_uapi::VERSION_MAJOR, rkfd_uapi::VERSION_MINOR);
    line("instruction set", gpu.target());
    line(
        "driver",
        format_args!("KFD {major}.{minor} (this program: {own_major}.{own_minor})"),
    );
    match gpu.available_memory() {
        Ok(free) => line("available memory", bytes(free)),
        Err(error) => line("available memory", error),
    }
    match gpu.clocks() {
        Ok(clocks) => line(
            "clocks",
            format_args!(
                "GPU {}, system {} at {} Hz",
                clocks.gpu_clock_counter, clocks.system_clock_counter, clocks.system_clock_freq
            ),
        ),
        Err(error) => line("clocks", error),
    }
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
}
