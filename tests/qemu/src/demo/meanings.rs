// SPDX-License-Identifier: MIT OR Apache-2.0
//! What each number that the demo prints means: step, label, meaning.

/// The meaning of a row of a step.
pub fn of(step: &str, what: &str) -> Option<&'static str> {
    let found = MEANINGS.iter().find(|m| m.0 == step && m.1 == what.trim());
    found.map(|m| m.2)
}

const MEANINGS: &[(&str, &str, &str)] = &[
    (
        "Open",
        "GET_VERSION",
        "the version of the ioctl interface, which user libraries check first",
    ),
    (
        "Open",
        "ACQUIRE_VM",
        "the GPU's number in the topology; the render node gives its address space",
    ),
    (
        "Memory",
        "buffers mapped",
        "allocations that got GPU page tables: a, b, c, code, arguments, ring and others",
    ),
    (
        "Memory",
        "result buffer c",
        "the address of c, the same for program and GPU",
    ),
    (
        "Memory",
        "mmap offset",
        "what the program passed to mmap of the render node, to name this buffer",
    ),
    (
        "Memory",
        "page table root",
        "PDB0, the first level of the process' page tables, as firmware was given it",
    ),
    (
        "Memory",
        "TLB flushes by firmware",
        "flushes that the driver left to firmware; it does most by registers",
    ),
    (
        "Queue",
        "MQD at",
        "the GPU address at which the device read the queue's MQD",
    ),
    (
        "Queue",
        "ring",
        "the packets' ring, in the program's memory; the register counts units of 256 bytes",
    ),
    (
        "Queue",
        "bytes of the ring",
        "its size; the register holds the exponent",
    ),
    (
        "Queue",
        "read index",
        "where the device writes how many packets it has read",
    ),
    (
        "Queue",
        "write index",
        "where the program writes how many packets there are",
    ),
    (
        "Queue",
        "end-of-pipe buffer",
        "memory in which the device notes what to do when a dispatch ends",
    ),
    (
        "Queue",
        "area for saved waves",
        "where waves go when the queue is preempted, and come back from",
    ),
    (
        "Queue",
        "bytes of the area",
        "its size: enough for every wave that the GPU can hold",
    ),
    (
        "Queue",
        "doorbell, byte in slice",
        "which of the process' doorbells is the queue's; the device counts words of BAR 2",
    ),
    (
        "Queue",
        "AQL packets",
        "1: the ring has AQL packets of 64 bytes, 0: words of PM4",
    ),
    (
        "Scheduling",
        "RUN_LIST",
        "where the list of packets lies, and how long it is",
    ),
    (
        "Scheduling",
        "MAP_PROCESS: PASID",
        "the process' number, by which faults and interrupts name it",
    ),
    (
        "Scheduling",
        "queues",
        "how many queues of the process the list has",
    ),
    (
        "Scheduling",
        "MAP_QUEUES: MQD",
        "the MQD that the list names, and the one that the device loaded",
    ),
    (
        "Scheduling",
        "write index",
        "where firmware looks for new packets of the queue",
    ),
    (
        "Scheduling",
        "doorbell",
        "the queue's doorbell, as a word of BAR 2",
    ),
    (
        "Scheduling",
        "PASID",
        "the process' number, by which faults and interrupts name it",
    ),
    (
        "Scheduling",
        "MQD",
        "the MQD that the frame names, and the one that the device loaded",
    ),
    (
        "Scheduling",
        "ring, in words",
        "the size of the ring that the program asked for, and that MES was given",
    ),
    (
        "Scheduling",
        "AQL packets",
        "1: the ring has AQL packets, which MES must know",
    ),
    (
        "Scheduling",
        "write index, in the GART",
        "the program's write index at an address of the driver's own, for MES",
    ),
    (
        "Scheduling",
        "page of the process",
        "where MES keeps its state of the process",
    ),
    (
        "Scheduling",
        "page of the gang",
        "where MES keeps its state of the queue and those scheduled with it",
    ),
    (
        "Scheduling",
        "fence",
        "whether MES accepted the frame; MES stores it, and the driver polls it",
    ),
    (
        "Scheduling",
        "VMID",
        "which set of page tables the hardware uses for the process: one of 16",
    ),
    (
        "Scheduling",
        "hardware queue",
        "the slot whose registers now have the MQD's values",
    ),
    (
        "Doorbell page",
        "mmap offset",
        "the number by which mmap of /dev/kfd knows that doorbells are meant",
    ),
    (
        "Doorbell page",
        "mapped at",
        "where the program sees its slice of doorbells",
    ),
    (
        "Doorbell page",
        "slice of BAR 2",
        "which slice of the device's doorbell BAR it is",
    ),
    (
        "Packet",
        "slot",
        "the address of the packet in the ring, and where the device read it",
    ),
    (
        "Packet",
        "header, dimensions",
        "low half: type 2 (dispatch), barrier, fences; high half: dimensions of the grid",
    ),
    (
        "Packet",
        "work-group x, y",
        "work-items of a work-group: x in the low half, y in the high half",
    ),
    ("Packet", "work-group z", "the same for z, in the low half"),
    (
        "Packet",
        "grid x",
        "work-items of the whole grid in x: one for each float",
    ),
    ("Packet", "grid y", "the same in y"),
    ("Packet", "grid z", "the same in z"),
    (
        "Packet",
        "private segment",
        "bytes of scratch memory for each work-item",
    ),
    (
        "Packet",
        "group segment",
        "bytes of LDS for each work-group",
    ),
    (
        "Packet",
        "kernel object",
        "the address of the kernel's descriptor, low and then high half",
    ),
    (
        "Packet",
        "kernel arguments",
        "the address of the arguments a, b, c and n, low and then high half",
    ),
    ("Packet", "reserved", "0, by the specification"),
    (
        "Packet",
        "completion signal",
        "the address of the signal that the device decrements, low and then high half",
    ),
    (
        "Doorbell store",
        "value",
        "the index of the last packet that is ready",
    ),
    (
        "Doorbell store",
        "byte in the slice",
        "where in the mapped slice the program stored it",
    ),
    (
        "Doorbell store",
        "from doorbell to fetch",
        "until the device read the packet, by the emulator's clock",
    ),
    (
        "Execution",
        "kernel descriptor",
        "64 bytes from clang: registers, LDS, scratch, and where the code begins",
    ),
    (
        "Execution",
        "kernel arguments",
        "where the waves find the arguments, passed in scalar registers",
    ),
    (
        "Execution",
        "work-groups",
        "items of the grid by items of a work-group, and how many the device ended",
    ),
    (
        "Execution",
        "waves",
        "work-groups by the waves of each, and how many the device ran",
    ),
    (
        "Execution",
        "wave instructions",
        "instructions that were executed, each once for all lanes of a wave",
    ),
    (
        "Execution",
        "time",
        "from the first wave's start to the last one's end, by the emulator's clock",
    ),
    (
        "Completion",
        "signal",
        "the address that the packet named, and that the device wrote to",
    ),
    ("Completion", "value before", "1: the program waits for 0"),
    (
        "Completion",
        "value after",
        "what the program read after the wait, and what the device wrote",
    ),
    (
        "Completion",
        "read index",
        "how many packets are done with; their slots may be used again",
    ),
    (
        "Interrupt",
        "event id",
        "the number of the event that the signal names, which the IH entry carries",
    ),
    ("Interrupt", "PASID", "whose event it is"),
    (
        "Interrupt",
        "source",
        "which block of the GPU interrupts, and why",
    ),
    (
        "Interrupt",
        "MSI",
        "one message over PCI made the CPU look into the IH ring",
    ),
    (
        "Event",
        "events waited for",
        "how many the program passed to the ioctl WAIT_EVENTS",
    ),
    (
        "Event",
        "WAIT_EVENTS",
        "what the ioctl returned when the driver had woken it",
    ),
    (
        "Result",
        "verified",
        "sums that are the CPU's, bit by bit, of all",
    ),
    (
        "No system calls",
        "dispatches under seccomp",
        "dispatches that completed in a program that may make no system call",
    ),
    (
        "No system calls",
        "system calls",
        "between writing the packet and seeing the signal",
    ),
];
