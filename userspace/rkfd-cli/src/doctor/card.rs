// SPDX-License-Identifier: MIT OR Apache-2.0

//! One GPU: who drives it, what shows on it, and how it is connected.

use super::config::{self, Atomics};
use super::firmware::{self, Chip};
use super::Finding;
use crate::machine::{Machine, PciGpu};
use crate::surroundings::Owner;

/// What BAR 0 shows of VRAM without Resizable BAR.
const SMALL_BAR: u64 = 256 << 20;

pub(super) fn findings(machine: &Machine, gpu: &PciGpu, owner: &Owner) -> Vec<Finding> {
    let about = format!("GPU {} (1002:{:04x})", gpu.slot, gpu.device);
    let Some(chip) = firmware::chip(gpu.device) else {
        return vec![Finding::note(
            &about,
            "isn't one that rkfd drives: those are MI300A, MI300X, MI308X and Navi 48",
        )];
    };
    let driven = gpu.driver.as_deref();
    if owner.is_rkfd() && driven == owner.module() {
        return vec![Finding::ok(
            &about,
            format!("{}, driven by {owner}", chip.name),
        )];
    }
    let mut all = vec![Finding::ok(
        &about,
        format!("{}, which rkfd drives", chip.name),
    )];
    all.extend(display(machine, &about, gpu));
    all.push(visible(machine, &about, gpu));
    all.extend(partition(machine, &about, gpu));
    all.push(atomics(machine, &about, gpu));
    all.push(translation(machine, &about, gpu));
    all.push(firmware::files(machine, &about, &chip));
    all.push(driver(&about, gpu, &chip, owner));
    all
}

/// Connectors that show a picture, or the machine's own console.
fn display(machine: &Machine, about: &str, gpu: &PciGpu) -> Option<Finding> {
    let mut shown = Vec::new();
    for card in machine.list(gpu.file("drm")) {
        let folder = gpu.file("drm").join(card);
        let mut connectors = machine.list(&folder);
        let status = |name: &String| machine.text(folder.join(name).join("status"));
        connectors.retain(|name| status(name).as_deref() == Some("connected"));
        shown.extend(connectors);
    }
    if machine.text(gpu.file("boot_vga")).as_deref() == Some("1") {
        shown.push("the firmware's console".into());
    }
    (!shown.is_empty()).then(|| {
        let text = format!(
            "shows {}, which goes dark when its driver gives it up",
            shown.join(", ")
        );
        Finding::note(about, text).next("log in by ssh first, or have another GPU show the display")
    })
}

/// The module writes all of VRAM through BAR 0.
fn visible(machine: &Machine, about: &str, gpu: &PciGpu) -> Finding {
    let number = |text: &str| u64::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let resources = machine.text(gpu.file("resource")).unwrap_or_default();
    let mut first = resources
        .lines()
        .next()
        .unwrap_or_default()
        .split_whitespace();
    let mut next = || number(first.next()?);
    let Some((start, end)) = next().zip(next()).filter(|(start, end)| end > start) else {
        return Finding::note(about, "its BAR 0 has no address")
            .next("enable \"Above 4G Decoding\" in the machine's set-up");
    };
    let size = end - start + 1;
    // amdgpu reports it; otherwise it stands in registers.
    let vram = machine.text(gpu.file("mem_info_vram_total"));
    let vram: Option<u64> = vram.and_then(|bytes| bytes.parse().ok());
    let mib = size >> 20;
    let stop = |text: String| {
        Finding::stop(about, text).next("enable \"Resizable BAR\" in the machine's set-up")
    };
    match vram {
        Some(vram) if size < vram => stop(format!(
            "BAR 0 shows {mib} of {} MiB of VRAM, and rkfd needs all",
            vram >> 20
        )),
        None if size <= SMALL_BAR => {
            stop(format!("BAR 0 shows {mib} MiB of VRAM, and rkfd needs all"))
        }
        _ => Finding::ok(about, format!("BAR 0 shows {mib} MiB of VRAM")),
    }
}

/// How its dies are divided; amdgpu reports it.
fn partition(machine: &Machine, about: &str, gpu: &PciGpu) -> Option<Finding> {
    let file = gpu.file("current_compute_partition");
    let mode = machine.text(&file)?;
    Some(match mode.as_str() {
        "SPX" => Finding::ok(about, "its dies are one partition (SPX)"),
        _ => Finding::stop(
            about,
            format!("its dies are divided ({mode}), and rkfd takes them as one"),
        )
        .next(format!("echo SPX > /{}", file.display())),
    })
}

fn atomics(machine: &Machine, about: &str, gpu: &PciGpu) -> Finding {
    let lacking = |why: String| {
        Finding::note(
            about,
            format!(
                "{why}: programs that use atomic operations on system memory, as HIP's \
                                      printf and assert do, won't work"
            ),
        )
    };
    match config::atomics(machine, gpu) {
        Atomics::Complete => Finding::ok(about, "its PCIe atomic operations reach system memory"),
        Atomics::StoppedBy(bridge) => lacking(format!(
            "the bridge {bridge} stops its PCIe atomic operations"
        ))
        .next("try a slot that is wired to the CPU"),
        Atomics::NoRootPort => lacking("no root port completes its PCIe atomic operations".into()),
        Atomics::NotReadable => Finding::note(
            about,
            "only root can see whether its PCIe atomic operations reach system memory",
        )
        .next("sudo rkfd doctor"),
    }
}

fn translation(machine: &Machine, about: &str, gpu: &PciGpu) -> Finding {
    let kind = machine.text(gpu.file("iommu_group/type"));
    Finding::ok(
        about,
        match kind.as_deref() {
            Some("identity") => "the IOMMU passes its addresses through".into(),
            Some(kind) => format!("the IOMMU translates its addresses ({kind})"),
            None => "no IOMMU is in its way".to_string(),
        },
    )
}

/// Who has it, and how rkfd gets it.
fn driver(about: &str, gpu: &PciGpu, chip: &Chip, owner: &Owner) -> Finding {
    let slot = &gpu.slot;
    match (gpu.driver.as_deref(), owner) {
        (None, Owner::Rkfd { module }) => {
            Finding::stop(about, format!("was not taken by {module}"))
                .next(format!("dmesg | grep {slot}"))
        }
        (None, _) => Finding::stop(about, "has no driver").next("modprobe drm; insmod rkfd.ko"),
        // The whole module has to go, because class kfd is its own.
        (Some(driver), Owner::Other { module }) if driver == *module => {
            let finding = Finding::stop(about, format!("driven by {driver}"));
            match chip.after_amdgpu {
                false => finding.next(format!(
                    "nothing yet: {driver} halts the engines of {} when it goes, and rkfd can't start them", chip.name
                )),
                true => finding.next(format!("modprobe -r {driver}; modprobe drm; insmod rkfd.ko")),
            }
        }
        (Some(driver), _) => {
            let take = match owner {
                Owner::Rkfd { module } => {
                    format!("echo {slot} > /sys/bus/pci/drivers/{module}/bind")
                }
                _ => "modprobe drm; insmod rkfd.ko".into(),
            };
            Finding::stop(about, format!("driven by {driver}")).next(format!(
                "echo {slot} > /sys/bus/pci/drivers/{driver}/unbind; {take}"
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{tests::of, Verdict};
    use super::*;
    use crate::machine::made::Made;

    const SLOT: &str = "0000:03:00.0";
    const AT: &str = "sys/bus/pci/devices/0000:03:00.0";

    fn gpu(driver: Option<&str>) -> Made {
        Made::new().pci(SLOT, "0x1002", "0x120000", driver).file(
            &format!("{AT}/resource"),
            "0x0000008000000000 0x00000087ffffffff 0x000000000014220c\n",
        )
    }

    fn found(machine: &Machine, verdict: Verdict) -> String {
        let owner = crate::surroundings::owner(machine);
        let gpus = machine.gpus();
        let all = gpus.iter().flat_map(|gpu| findings(machine, gpu, &owner));
        of(&all.collect::<Vec<_>>(), verdict)
    }

    fn amdgpu() -> Made {
        gpu(Some("amdgpu"))
            .file("sys/module/amdgpu/initstate", "live\n")
            .file("sys/module/amdgpu/taint", "\n")
    }

    #[test]
    fn a_gpu_without_a_driver_wants_the_module() {
        let stops = found(&gpu(None), Verdict::Stop);
        assert_eq!(
            stops,
            format!("GPU {SLOT} (1002:74a2): has no driver | modprobe drm; insmod rkfd.ko\n")
        );
        let right = found(&gpu(None), Verdict::Ok);
        assert!(right.contains("BAR 0 shows 32768 MiB"), "{right}");
        let refused = found(&gpu(None).module("rkfd"), Verdict::Stop);
        assert!(
            refused.contains(&format!("was not taken by rkfd | dmesg | grep {SLOT}")),
            "{refused}"
        );
    }

    #[test]
    fn amdgpu_has_to_go_as_a_whole() {
        let stops = found(&amdgpu(), Verdict::Stop);
        assert!(
            stops
                .ends_with("driven by amdgpu | modprobe -r amdgpu; modprobe drm; insmod rkfd.ko\n"),
            "{stops}"
        );
        let navi48 = amdgpu().file(&format!("{AT}/device"), "0x7550\n");
        let stops = found(&navi48, Verdict::Stop);
        assert!(stops.contains("nothing yet"), "{stops}");
    }

    #[test]
    fn all_of_vram_has_to_be_seen() {
        let small = amdgpu().file(
            &format!("{AT}/resource"),
            "0xc0000000 0xcfffffff 0x14220c\n",
        );
        let stops = found(&small, Verdict::Stop);
        assert!(stops.contains("BAR 0 shows 256 MiB"), "{stops}");
        let known = amdgpu().file(&format!("{AT}/mem_info_vram_total"), "206141652992\n");
        let stops = found(&known, Verdict::Stop);
        assert!(stops.contains("BAR 0 shows 32768 of 196592 MiB"), "{stops}");
        let none = gpu(None).file(&format!("{AT}/resource"), "0x0 0x0 0x0\n");
        assert!(found(&none, Verdict::Note).contains("Above 4G Decoding"));
    }

    #[test]
    fn dies_that_are_divided_and_displays_are_named() {
        let divided = amdgpu()
            .file(&format!("{AT}/current_compute_partition"), "CPX\n")
            .file(&format!("{AT}/drm/card1/card1-DP-1/status"), "connected\n")
            .file(
                &format!("{AT}/drm/card1/card1-DP-2/status"),
                "disconnected\n",
            );
        let stops = found(&divided, Verdict::Stop);
        assert!(
            stops.contains(&format!("| echo SPX > /{AT}/current_compute_partition\n")),
            "{stops}"
        );
        let notes = found(&divided, Verdict::Note);
        assert!(
            notes.contains("shows card1-DP-1, which goes dark"),
            "{notes}"
        );
    }

    #[test]
    fn other_chips_are_left_alone() {
        let machine = gpu(Some("amdgpu")).file(&format!("{AT}/device"), "0x744c\n");
        assert_eq!(found(&machine, Verdict::Stop), "");
        assert!(found(&machine, Verdict::Note).contains("isn't one that rkfd drives"));
    }
}
