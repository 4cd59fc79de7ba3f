// SPDX-License-Identifier: MIT OR Apache-2.0

//! What kinds of steps there are: where on the diagram, what they mean, and which code does it.

use crate::layouts::Sources;
use anyhow::Result;
use serde_json::{json, Map, Value};

/// A kind of step.
pub struct Kind {
    /// `driver.` or `device.`, and the event's name.
    pub key: &'static str,
    /// The box of the diagram.
    pub place: &'static str,
    /// What it means, for a reader who sees it for the first time.
    why: &'static str,
    /// A file of ours, and a text of the line where it happens.
    ours: (&'static str, &'static str),
    /// The same in Linux' driver, below `drivers/gpu/drm/amd`; empty where the device acts.
    linux: (&'static str, &'static str),
}

const fn kind(
    key: &'static str,
    place: &'static str,
    ours: (&'static str, &'static str),
    linux: (&'static str, &'static str),
    why: &'static str,
) -> Kind {
    Kind {
        key,
        place,
        why,
        ours,
        linux,
    }
}

const NONE: (&str, &str) = ("", "");

/// All of them.
#[rustfmt::skip]
const KINDS: &[Kind] = &[
    kind("driver.ioctl", "ioctl", ("rust/ioctl.rs", "fn dispatch("), ("amdkfd/kfd_chardev.c", "static long kfd_ioctl(struct file *filep"),
        "A system call on /dev/kfd. The program passes a structure; the driver checks each field and answers in the same structure."),
    kind("driver.ioctl_exit", "ioctl", ("rust/ioctl.rs", "trace::ioctl_left(number, errno(result), bytes)"), ("amdkfd/kfd_chardev.c", "static long kfd_ioctl(struct file *filep"),
        "The system call returns: the structure has the driver's answer, and the program goes on."),
    kind("driver.mqd", "mqd", ("rust/sched/queue.rs", "trace::mqd_written("), ("amdkfd/kfd_mqd_manager_v9.c", "static void init_mqd("),
        "The driver fills the memory queue descriptor (MQD): 512 words that are the queue's registers, from which the hardware loads it. The words are those that the GPU read."),
    kind("driver.queue", "mqd", ("rust/sched/queue.rs", "trace::queue_enters("), ("amdkfd/kfd_device_queue_manager.c", "static int create_queue_cpsch("),
        "The queue's state in the driver: created, mapped, disabled, evicted, hung, gone."),
    kind("driver.run_list", "frame", ("rust/sched/cpsch/runlist.rs", "trace::run_list_written("), ("amdkfd/kfd_packet_manager.c", "static int pm_create_runlist_ib("),
        "The run list: one MAP_PROCESS for each process, and one MAP_QUEUES for each of its queues. Firmware takes turns with what doesn't fit on the hardware."),
    kind("driver.pm4", "frame", ("rust/ring.rs", "trace::packet_written("), ("amdkfd/kfd_packet_manager.c", "int pm_send_runlist("),
        "The driver writes a PM4 packet into the ring of KIQ or HIQ, which firmware of the packet processor reads."),
    kind("driver.mes", "frame", ("rust/sched/mes/pipe.rs", "trace::packet_written("), ("amdgpu/mes_v12_0.c", "static int mes_v12_0_submit_pkt_and_poll_completion("),
        "The driver writes a frame of 64 words into the ring of MES, the scheduler's own processor, and polls the fence that the frame names."),
    kind("driver.packet", "frame", ("rust/ring.rs", "trace::packet_written("), ("amdgpu/amdgpu_ring.c", "void amdgpu_ring_commit("),
        "The driver writes a packet into one of its own rings."),
    kind("driver.doorbell", "bell", ("rust/doorbell.rs", "trace::doorbell_rung(word.get(), value)"), ("amdgpu/amdgpu_doorbell_mgr.c", "void amdgpu_mm_wdoorbell64("),
        "The driver rings a doorbell of its own: a store to BAR 2 that says how far a ring is written."),
    kind("driver.tlb_flush", "walk", ("rust/gmc/tlb.rs", "trace::tlb_flushed(pasid"), ("amdgpu/gmc_v9_0.c", "static void gmc_v9_0_flush_gpu_tlb("),
        "The driver makes the GPU forget translations that it may have cached, since page tables have changed."),
    kind("driver.ih_entry", "handler", ("rust/ih.rs", "trace::ih_entry_taken("), ("amdgpu/amdgpu_ih.c", "void amdgpu_ih_decode_iv_helper("),
        "The interrupt's work item takes an entry out of the IH ring and decides by client and source who wants it."),
    kind("driver.signal", "event", ("rust/module.rs", "trace::event_signaled(pasid.get().into(), id, bits)"), ("amdkfd/kfd_events.c", "void kfd_signal_event_interrupt("),
        "The driver looks the event up by the process' PASID and the id in the entry, and wakes who waits for it."),
    kind("driver.evict", "handler", ("rust/sched/state.rs", "trace::evictions_changed("), ("amdkfd/kfd_process.c", "int kfd_process_evict_queues("),
        "All queues of a process are taken off the hardware, or may come back."),
    kind("driver.fault", "handler", ("rust/process/exception.rs", "trace::page_faulted("), ("amdkfd/kfd_events.c", "void kfd_signal_vm_fault_event("),
        "The driver learns which address of which process has faulted, and tells the process by a memory exception event."),
    kind("device.pm4", "sched", ("emulator/src/engines/cpsch/kiq.rs", "\"pm4\","), ("amdkfd/kfd_pm4_opcodes.h", "IT_RUN_LIST"),
        "Firmware of the packet processor (CPSCH) reads a packet out of KIQ, HIQ or the run list, and does what it says."),
    kind("device.mes", "sched", ("emulator/src/engines/mes/firmware.rs", ".event(\"mes\""), ("include/mes_v12_api_def.h", "MES_SCH_API_ADD_QUEUE"),
        "MES takes a frame out of its ring, does what it says, and stores the fence."),
    kind("device.mqd_word", "hqd", ("emulator/src/engines/cp/sched/fetch.rs", "\"mqd_word\","), ("include/v9_structs.h", "struct v9_mqd {"),
        "Firmware reads the MQD and loads its words into the registers of a hardware queue (HQD)."),
    kind("device.queue_connect", "hqd", ("emulator/src/engines/cp/sched/connect.rs", "self.trace_queue(\"queue_connect\""), ("amdgpu/gfx_v9_4_3.c", "static int gfx_v9_4_3_xcc_kiq_init_register("),
        "The queue is on a hardware queue now: its doorbell is heard."),
    kind("device.queue_disconnect", "hqd", ("emulator/src/engines/cp/sched/connect.rs", "fn write_back("), ("amdkfd/kfd_mqd_manager_v9.c", "static int destroy_hiq_mqd("),
        "The queue leaves its hardware queue; what has changed of the registers goes back into the MQD."),
    kind("device.vmid_assign", "vmid", ("emulator/src/engines/cp/sched/process.rs", "\"vmid_assign\","), ("amdkfd/kfd_device_queue_manager.c", "static int set_pasid_vmid_mapping("),
        "The process gets one of 16 VMIDs, and that VMID the root of the process' page tables."),
    kind("device.vmid_release", "vmid", ("emulator/src/engines/cp/sched/process.rs", "\"vmid_release\""), ("amdkfd/kfd_device_queue_manager.c", "static void deallocate_vmid("),
        "The process has no VMID any more: none of its queues is on the hardware."),
    kind("device.doorbell", "bell", ("emulator/src/device/doorbell.rs", "pub struct Doorbells"), ("amdkfd/kfd_doorbell.c", "int kfd_doorbell_mmap("),
        "A store to the doorbell BAR arrives. The program makes it without a system call: the page is mapped into the program."),
    kind("device.aql", "cp", ("emulator/src/engines/cp/run/trace.rs", "\"aql\","), NONE,
        "The packet processor reads the packet out of the ring, through the process' page tables, and takes it apart."),
    kind("device.page_walk", "walk", ("emulator/src/memory/walk.rs", "pub fn walk("), ("amdgpu/amdgpu_vm_pt.c", "int amdgpu_vm_ptes_update("),
        "No TLB knows the address, so the hub walks the process' page tables: one entry of 8 bytes at each level."),
    kind("device.dispatch_start", "waves", ("emulator/src/engines/cp/run/trace.rs", "fn trace_start("), NONE,
        "The kernel descriptor says which registers, how much LDS and scratch a wave needs, and where the code begins. Work-groups go to the compute units."),
    kind("device.dispatch_end", "waves", ("emulator/src/engines/cp/run/trace.rs", "fn trace_end("), NONE,
        "The last wave has ended."),
    kind("device.signal", "signal", ("emulator/src/engines/cp/run/signal.rs", "fn complete_signal("), NONE,
        "The packet processor stores both timestamps into the completion signal and decrements its value. A program that polls sees it here, without the kernel."),
    kind("device.interrupt", "ih", ("emulator/src/blocks/ih.rs", "fn trace_entry("), ("amdgpu/amdgpu_ih.c", "int amdgpu_ih_process("),
        "The signal names an event, so an interrupt is raised: an entry of 32 bytes goes into the IH ring in memory."),
    kind("device.ih_write", "ih", ("emulator/src/blocks/ih.rs", "\"ih_write\","), ("amdgpu/amdgpu_ih.c", "int amdgpu_ih_process("),
        "The interrupt handler block stores the entry, and its write pointer."),
    kind("device.msi", "msi", ("emulator/src/blocks/ih.rs", ".event(\"msi\""), ("amdgpu/amdgpu_irq.c", "static irqreturn_t amdgpu_irq_handler("),
        "One message over PCI Express makes a processor look into the IH ring."),
    kind("device.fence", "sched", ("emulator/src/engines/cpsch/kiq.rs", "\"fence\","), ("amdkfd/kfd_packet_manager_v9.c", "static int pm_query_status_v9("),
        "QUERY_STATUS: everything before is done, so firmware stores the fence that the driver polls."),
    kind("device.unmap", "sched", ("emulator/src/engines/cpsch/hiq.rs", "fn unmap"), ("amdkfd/kfd_packet_manager_v9.c", "static int pm_unmap_queues_v9("),
        "UNMAP_QUEUES: firmware takes queues off the hardware."),
    kind("device.sdma", "sdma", ("emulator/src/engines/sdma/execute.rs", "pub(super) fn execute("), ("amdgpu/sdma_v4_4_2.c", "static void sdma_v4_4_2_emit_fill_buffer("),
        "A copy engine executes a packet. The driver uses it to clear video memory before a program gets it."),
    kind("device.tlb_invalidate", "walk", ("emulator/src/blocks/vmhub.rs", ".event(\"tlb_invalidate\""), ("amdgpu/gmc_v9_0.c", "static void gmc_v9_0_flush_gpu_tlb("),
        "A hub forgets the translations of a VMID."),
    kind("device.vm_fault", "walk", ("emulator/src/blocks/vmhub.rs", "pub fn capture("), ("amdgpu/gmc_v9_0.c", "static int gmc_v9_0_process_interrupt("),
        "The address does not translate. The hub keeps the first fault in its registers and raises an interrupt."),
    kind("device.fault", "waves", ("emulator/src/report.rs", "pub fn fault("), NONE,
        "What the program did that the GPU doesn't define."),
];

/// The kind of an event, by its key.
pub fn find(key: &str) -> Option<&'static Kind> {
    KINDS.iter().find(|kind| kind.key == key)
}

/// Those that are used, for the page.
///
/// # Errors
///
/// A line that this file names isn't there.
pub fn describe(used: &[&'static Kind], sources: &Sources) -> Result<Map<String, Value>> {
    let mut all = Map::new();
    for kind in used {
        let ours = sources.ours.find(kind.ours.0, kind.ours.1)?;
        let mut described =
            json!({"place": kind.place, "why": kind.why, "file": ours.file, "line": ours.line});
        if !kind.linux.0.is_empty() {
            let file = format!("drivers/gpu/drm/amd/{}", kind.linux.0);
            let theirs = sources.linux.find(&file, kind.linux.1)?;
            described["linux"] = json!(theirs.file);
            described["linux_line"] = json!(theirs.line);
        }
        all.insert(kind.key.into(), described);
    }
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sources::Tree;
    use std::path::Path;

    #[test]
    fn our_lines_are_there() {
        let top = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
        let ours = Tree::new(top);
        for kind in KINDS {
            ours.find(kind.ours.0, kind.ours.1)
                .unwrap_or_else(|e| panic!("{}: {e}", kind.key));
        }
    }
}
