// SPDX-License-Identifier: MIT OR Apache-2.0
//! What is counted beside requests, each of which works now and then: operations of debuggers, files that show what a
//! process has, children that are debugged, and memory from other sides.

use crate::table::SLOTS as REQUESTS;

/// Files that show what a process has, of each kind.
pub const LOOKS: [&str; 9] = [
    "look: fdinfo",
    "look: vram_",
    "look: sdma_",
    "look: pasid",
    "look: evicted_ms",
    "look: cu_occupancy",
    "look: a queue",
    "look: debugfs pasid_",
    "look: debugfs",
];
/// The operations of DBG_TRAP, by their numbers.
const OPERATIONS: [&str; 15] = [
    "debug: ENABLE",
    "debug: DISABLE",
    "debug: SEND_RUNTIME_EVENT",
    "debug: SET_EXCEPTIONS_ENABLED",
    "debug: SET_WAVE_LAUNCH_OVERRIDE",
    "debug: SET_WAVE_LAUNCH_MODE",
    "debug: SUSPEND_QUEUES",
    "debug: RESUME_QUEUES",
    "debug: SET_NODE_ADDRESS_WATCH",
    "debug: CLEAR_NODE_ADDRESS_WATCH",
    "debug: SET_FLAGS",
    "debug: QUERY_DEBUG_EVENT",
    "debug: QUERY_EXCEPTION_INFO",
    "debug: GET_QUEUE_SNAPSHOT",
    "debug: GET_DEVICE_SNAPSHOT",
];
const DEBUGGED: &str = "a child that is debugged";
/// What is done with memory from other sides.
#[derive(Clone, Copy)]
pub enum Memory {
    /// A mapping is read as debuggers do.
    Read,
    /// Or written.
    Written,
    /// Another driver's is mapped on the GPU.
    Imported,
}
const MEMORY: [&str; 3] = [
    "memory: read by /proc",
    "memory: written by /proc",
    "memory: another driver's",
];
const ALL: usize = LOOKS.len() + OPERATIONS.len() + 1 + MEMORY.len();
/// Slots of all that is counted: requests, then these.
pub const SLOTS: usize = REQUESTS + ALL;

/// The slot of a look at a file of this kind.
pub fn look(kind: usize) -> usize {
    REQUESTS + kind
}

/// The slot of an operation of DBG_TRAP.
pub fn operation(op: usize) -> usize {
    look(LOOKS.len()) + op
}

/// The slot of a child that is debugged.
pub fn debugged() -> usize {
    operation(OPERATIONS.len())
}

/// The slot of something that is done with memory.
pub fn memory(what: Memory) -> usize {
    debugged() + 1 + what as usize
}

/// All of them: slots and names.
pub fn all() -> impl Iterator<Item = (usize, &'static str)> {
    let names = LOOKS.into_iter().chain(OPERATIONS).chain([DEBUGGED]);
    let names = names.chain(MEMORY);
    (REQUESTS..).zip(names)
}

#[cfg(test)]
mod tests {
    use super::*;
    use rkfd_uapi::debug::CONSTANTS;

    #[test]
    fn operations_have_their_names_and_each_act_its_slot() {
        for (number, name) in (0..).zip(OPERATIONS) {
            let c = format!("KFD_IOC_DBG_TRAP_{}", name.trim_start_matches("debug: "));
            let constant = CONSTANTS.iter().find(|constant| constant.c == c);
            assert_eq!(constant.map(|constant| constant.value), Some(number), "{c}");
        }
        let slots: Vec<(usize, &str)> = all().collect();
        assert_eq!(slots.last(), Some(&(SLOTS - 1, MEMORY[2])));
        assert_eq!(memory(Memory::Imported), SLOTS - 1);
        assert_eq!(slots[look(2) - REQUESTS].1, "look: sdma_");
        assert_eq!(
            slots[operation(14) - REQUESTS].1,
            "debug: GET_DEVICE_SNAPSHOT"
        );
        assert_eq!(slots[debugged() - REQUESTS].1, DEBUGGED);
    }
}
