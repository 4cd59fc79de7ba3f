// SPDX-License-Identifier: MIT OR Apache-2.0
//! The steps of a dispatch: what each is for, and which values belong together.

use super::device::Device;
use super::handover::Handover;
use super::program::Program;
use super::{count, device, ours, same, Row, Step};
use crate::chip::Chip;
use rkfd_uapi::mmap;

/// How many values must be compared in all; if there are fewer, a side has printed too little.
pub const COMPARED: usize = 30;
/// What the measured case is.
const ELEMENTS: u64 = 1 << 20;

/// The names of all steps, in order; `docs/dispatch.md` has the same list.
pub const NAMES: [&str; 13] = [
    "Open",
    "Memory",
    "Queue",
    "Scheduling",
    "Doorbell page",
    "Packet",
    "Doorbell store",
    "Execution",
    "Completion",
    "Interrupt",
    "Event",
    "Result",
    "No system calls",
];

type Result<T> = std::result::Result<T, String>;

/// All steps, in the order of a dispatch.
pub fn all(p: &Program, d: &Device<'_>, chip: &Chip) -> Result<Vec<Step>> {
    let handover = Handover::of(chip.scheduler, p, d)?;
    Ok(vec![
        open(p)?,
        memory(p, &handover)?,
        create(p, d)?,
        handover.step,
        map_doorbell(p, d)?,
        packet(p, d)?,
        doorbell(p, d)?,
        execute(p, d, chip.lanes)?,
        complete(p, d)?,
        interrupt(p, d, handover.pasid)?,
        wake(p)?,
        result(p)?,
        no_system_calls(p)?,
    ])
}

fn open(p: &Program) -> Result<Step> {
    let version = p.request("GET_VERSION")?;
    let (major, minor) = (version.get("major_version")?, version.get("minor_version")?);
    let vm = p.request("ACQUIRE_VM")?;
    Ok(Step {
        name: "Open",
        title: "/dev/kfd gives the process a compute context on the GPU",
        why: "HIP calls the HSA runtime, which finds GPUs in sysfs and speaks to KFD by ioctl.",
        rows: vec![
            ours("GET_VERSION", format_args!("KFD {major}.{minor}")),
            ours(
                "ACQUIRE_VM",
                format_args!("gpu_id {:#x}", vm.get("gpu_id")?),
            ),
        ],
    })
}

fn memory(p: &Program, handover: &Handover) -> Result<Step> {
    let maps = p.count("MAP_MEMORY_TO_GPU") as u64;
    let c = p.maps.iter().filter(|m| m.size == 4 * ELEMENTS).last();
    let c = c.ok_or("the program mapped no result buffer")?;
    Ok(Step {
        name: "Memory",
        title: "allocated and mapped, program and GPU see it at the same address",
        why:
            "ALLOC_MEMORY_OF_GPU gives a buffer, mmap of the render node shows it to the CPU, and\n\
              MAP_MEMORY_TO_GPU writes the process' page tables and flushes the TLBs.",
        rows: vec![
            ours("buffers mapped", maps),
            ours("result buffer c", format_args!("{:#x}", c.address)),
            ours(
                "  mmap offset",
                format_args!("{:#x}, {} bytes", c.offset, c.size),
            ),
            device(
                "page table root",
                format_args!("{:#x} {}", handover.page_table, handover.request),
            ),
            device("TLB flushes by firmware", handover.flushes),
        ],
    })
}

fn create(p: &Program, d: &Device<'_>) -> Result<Step> {
    let args = p.request("CREATE_QUEUE")?;
    let control = d.word("CP_HQD_PQ_CONTROL")?;
    let bell = (d.word("CP_HQD_PQ_DOORBELL_CONTROL")? >> 2) & 0x3ff_ffff;
    let (_, byte) = mmap::doorbell_slice(args.get("doorbell_offset")?);
    let get = |name| args.get(name);
    let eop = same(
        "end-of-pipe buffer",
        get("eop_buffer_address")?,
        "..EOP_BASE_ADDR << 8",
        d.pair("CP_HQD_EOP_BASE_ADDR")? << 8,
    );
    Ok(Step {
        name: "Queue",
        title: "CREATE_QUEUE, the driver fills an MQD and the device loads it",
        why: "The MQD is the memory image of a queue: 512 words, most of them registers. It holds where\n\
              the ring and its indices lie, which doorbell it has, where preempted waves are saved.",
        rows: vec![
            device("MQD at", format_args!("{:#x}", d.queue.num("mqd")?)),
            same(
                "ring",
                get("ring_base_address")?,
                "CP_HQD_PQ_BASE << 8",
                d.pair("CP_HQD_PQ_BASE")? << 8,
            ),
            count(
                "  bytes of the ring",
                get("ring_size")?,
                "2^(QUEUE_SIZE+1) words",
                8 << (control & 0x3f),
            ),
            same(
                "read index",
                get("read_pointer_address")?,
                "..RPTR_REPORT_ADDR",
                d.pair("CP_HQD_PQ_RPTR_REPORT_ADDR")?,
            ),
            same(
                "write index",
                get("write_pointer_address")?,
                "..WPTR_POLL_ADDR",
                d.pair("CP_HQD_PQ_WPTR_POLL_ADDR")?,
            ),
            eop,
            same(
                "area for saved waves",
                get("ctx_save_restore_address")?,
                "..CTX_SAVE_BASE_ADDR",
                d.pair("CP_HQD_CTX_SAVE_BASE_ADDR")?,
            ),
            same(
                "  bytes of the area",
                get("ctx_save_restore_size")?,
                "..CTX_SAVE_SIZE",
                d.word("CP_HQD_CTX_SAVE_SIZE")?,
            ),
            same(
                "doorbell, byte in slice",
                byte as u64,
                &format!("word {bell:#x} of BAR 2"),
                bell * 4 % mmap::DOORBELL_SLICE as u64,
            ),
            count(
                "AQL packets",
                u64::from(get("queue_type")? == 2),
                "CP_HQD_AQL_CONTROL",
                d.word("CP_HQD_AQL_CONTROL")?,
            ),
        ],
    })
}

fn map_doorbell(p: &Program, d: &Device<'_>) -> Result<Step> {
    let args = p.request("CREATE_QUEUE")?;
    let map = p.maps.iter().find(|m| m.what.starts_with("doorbells"));
    let map = map.ok_or("the program mapped no doorbells")?;
    let (slice, _) = mmap::doorbell_slice(args.get("doorbell_offset")?);
    let word = d.queue.num("doorbell")?;
    let size = mmap::DOORBELL_SLICE as u64;
    Ok(Step {
        name: "Doorbell page",
        title: "mmap it, and from now on the kernel is not needed",
        why: "A process gets a slice of BAR 2 of its own, so it cannot ring others' doorbells.",
        rows: vec![
            Row {
                device: format!("{slice:#x} from CREATE_QUEUE"),
                ..same("mmap offset", map.offset, "", slice)
            },
            ours(
                "mapped at",
                format_args!("{:#x}, {} bytes", map.address, map.size),
            ),
            device(
                "slice of BAR 2",
                format_args!(
                    "{} (bytes from {:#x})",
                    word * 4 / size,
                    word * 4 / size * size
                ),
            ),
        ],
    })
}

fn packet(p: &Program, d: &Device<'_>) -> Result<Step> {
    const WORDS: [&str; 16] = [
        "header, dimensions",
        "work-group x, y",
        "work-group z",
        "grid x",
        "grid y",
        "grid z",
        "private segment",
        "group segment",
        "kernel object",
        "",
        "kernel arguments",
        "",
        "reserved",
        "",
        "completion signal",
        "",
    ];
    let (address, words) = p.packet.as_ref().ok_or("the program showed no packet")?;
    let fetched = d.one("aql")?;
    let seen = fetched.words("words")?;
    let ring = d.queue.num("ring")?;
    let slot = ring + fetched.num("index")? * 64 % (d.queue.num("words")? * 4);
    let mut rows = vec![same("slot", *address, "", slot)];
    if (words.len(), seen.len()) != (16, 16) {
        return Err(format!(
            "packets of {} and {} words",
            words.len(),
            seen.len()
        ));
    }
    for ((what, ours), device) in WORDS.into_iter().zip(words).zip(&seen) {
        rows.push(Row {
            ours: format!("{ours:#010x}"),
            device: format!("{device:#010x}"),
            ..same(what, (*ours).into(), "", (*device).into())
        });
    }
    Ok(Step {
        name: "Packet",
        title: "64 bytes, the header last, with release order",
        why: "Until its type is no longer INVALID the device does not look at the other words.",
        rows,
    })
}

fn doorbell(p: &Program, d: &Device<'_>) -> Result<Step> {
    let (byte, value) = p.doorbell.ok_or("the program rang no doorbell")?;
    let rung = d.doorbell()?;
    let word = rung.num("index")?;
    let fetched = d.one("aql")?;
    Ok(Step {
        name: "Doorbell store",
        title: "one store of 64 bits, the packet's index",
        why: "The device fetches the packet through the process' own page tables.",
        rows: vec![
            same("value", value, "", rung.num("value")?),
            same(
                "byte in the slice",
                byte,
                &format!("word {word:#x} of BAR 2"),
                word * 4 % mmap::DOORBELL_SLICE as u64,
            ),
            device(
                "from doorbell to fetch",
                microseconds(rung.time(), fetched.time()),
            ),
        ],
    })
}

fn execute(p: &Program, d: &Device<'_>, lanes: u64) -> Result<Step> {
    let (_, words) = p.packet.as_ref().ok_or("the program showed no packet")?;
    let word = |n: usize| words.get(n).copied().map(u64::from).ok_or("a short packet");
    let (block, grid) = (word(1)? & 0xffff, word(3)?);
    let groups = grid.div_ceil(block.max(1));
    let (start, end) = (d.one("dispatch_start")?, d.one("dispatch_end")?);
    Ok(Step {
        name: "Execution",
        title: "work-groups go to compute units, as waves of lanes in step",
        why: "The kernel object is the descriptor that clang put into the code object; its code runs\n\
              instruction by instruction, loading and storing by the same page tables.",
        rows: vec![
            same(
                "kernel descriptor",
                crate::trace::hex(p.after("kernel descriptor at ")?).unwrap_or(0),
                "",
                start.num("kernel")?,
            ),
            same(
                "kernel arguments",
                crate::trace::hex(p.after("arguments at ")?).unwrap_or(0),
                "",
                start.num("kernarg")?,
            ),
            count("work-groups", groups, "ended", end.num("workgroups")?),
            count(
                "waves",
                groups * block.div_ceil(lanes),
                &format!("of {lanes} lanes"),
                end.num("waves")?,
            ),
            device("wave instructions", end.num("instructions")?),
            device("time", microseconds(start.time(), end.time())),
        ],
    })
}

fn complete(p: &Program, d: &Device<'_>) -> Result<Step> {
    let signal = d.one("signal")?;
    let after = p.after("signal after: ")?.parse().unwrap_or(u64::MAX);
    let read = p.after("read index ")?;
    // "read index 0x..." is its address; the last one printed is its value.
    let index = p.lines.iter().filter_map(|l| l.split_once("read index "));
    let index = index.last().map_or(read, |(_, value)| value);
    Ok(Step {
        name: "Completion",
        title: "the slot is free again, the signal is decremented",
        why: "A program that polls sees it here, without the kernel.",
        rows: vec![
            same(
                "signal",
                crate::trace::hex(p.after("signal at ")?).unwrap_or(0),
                "",
                signal.num("address")?,
            ),
            device("  value before", signal.num("old")?),
            count("  value after", after, "written", signal.num("new")?),
            count(
                "read index",
                index.parse().unwrap_or(u64::MAX),
                "at the queue's end",
                d.end()?.num("rptr")?,
            ),
        ],
    })
}

fn interrupt(p: &Program, d: &Device<'_>, pasid: u64) -> Result<Step> {
    let entry = d.one("interrupt")?;
    let event = p.after(", event ")?.parse().unwrap_or(u64::MAX);
    let context = entry.words("data")?.first().copied().unwrap_or(0);
    let msi = d.one("msi")?;
    Ok(Step {
        name: "Interrupt",
        title: "an entry in the IH ring, and an MSI",
        why: "The signal names an event. The device writes its id into the mailbox and interrupts.",
        rows: vec![
            count("event id", event, "context id in the entry", context.into()),
            same("PASID", pasid, "in the entry", entry.num("pasid")?),
            device(
                "source",
                format_args!(
                    "client {}, source {} (end of pipe)",
                    entry.num("client")?,
                    entry.num("source")?
                ),
            ),
            Row {
                ours: "once".into(),
                agree: Some(msi.num("sent")? == 1),
                ..device("MSI", "sent once")
            },
        ],
    })
}

fn wake(p: &Program) -> Result<Step> {
    // On a busy host a wait ends before the dispatch does, and is made again.
    let wait = p.last_request("WAIT_EVENTS")?;
    let result = match wait.get("wait_result")? {
        0 => "complete",
        1 => "timeout",
        _ => "failed",
    };
    let row = Row {
        agree: Some(result == "complete"),
        device: "complete".into(),
        ..ours("WAIT_EVENTS", result)
    };
    Ok(Step {
        name: "Event",
        title: "WAIT_EVENTS wakes, the driver found the event by PASID and id",
        why: "A work item reads the IH ring; the interrupt handler itself takes no lock.",
        rows: vec![ours("events waited for", wait.get("num_events")?), row],
    })
}

fn result(p: &Program) -> Result<Step> {
    let wanted = format!("{ELEMENTS}/{ELEMENTS}");
    let verified = p.after("verified ")?;
    let row = Row {
        device: format!("{wanted} wanted"),
        agree: Some(verified == wanted),
        ..ours("verified", verified)
    };
    Ok(Step {
        name: "Result",
        title: "every sum is compared with the CPU's",
        why: "c[i] = a[i] + b[i] for 1,048,576 floats.",
        rows: vec![row],
    })
}

fn no_system_calls(p: &Program) -> Result<Step> {
    // "1000 of 1000 dispatches complete, 0 wrong, filter in force: true, 1.234 s"
    let line = p
        .lines
        .iter()
        .find(|l| l.contains(" dispatches complete, "));
    let line = line.ok_or("the polling program printed nothing")?;
    let (done, rest) = line.split_once(" of ").unwrap_or(("?", line));
    let all = rest.split(' ').next().unwrap_or("");
    let good = done == all && line.contains(" 0 wrong, filter in force: true");
    Ok(Step {
        name: "No system calls",
        title: "none between enqueue and completion, when a program polls",
        why:
            "Another program, in the same boot, forbids itself every system call (seccomp), then\n\
              dispatches and polls. The first system call would have killed it.",
        rows: vec![
            Row {
                device: "all of them".into(),
                agree: Some(good),
                ..ours("dispatches under seccomp", format_args!("{done} of {all}"))
            },
            ours("system calls", if good { "0" } else { "some" }),
        ],
    })
}

fn microseconds(from: u64, to: u64) -> String {
    format!("{:.1} us", to.saturating_sub(from) as f64 / 1e3)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whoever reads a step of the demo finds its files under the same number.
    #[test]
    fn the_document_has_the_same_steps() {
        let text = include_str!("../../../../docs/dispatch.md");
        let steps: Vec<(usize, &str)> = text
            .lines()
            .filter_map(|line| {
                let (number, rest) = line.split_once(". **")?;
                let (name, _) = rest.split_once(".**")?;
                Some((number.parse().ok()?, name))
            })
            .collect();
        let wanted: Vec<(usize, &str)> = (1..).zip(NAMES).collect();
        assert_eq!(steps, wanted);
    }
}
