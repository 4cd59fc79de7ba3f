// SPDX-License-Identifier: MIT OR Apache-2.0
//! The rows: what a rule costs programs, what is logged, and what is needed to go on.

use super::{again, live, load, probe, reload, Row, NO_GPU, RIGHT};

/// What both schedulers have.
pub(super) fn both() -> Vec<Row> {
    vec![
        live("ih-twice", "on IH entry: twice", RIGHT),
        live("ih-storm", "on IH entry: storm of 100", RIGHT),
        live("ih-storm-once", "at the 1st IH entry: storm of 3000", RIGHT),
        live("ih-overflow", "at the 1st IH entry: overflow", RIGHT),
        live("ih-drop", "on IH entry: drop", "status [01]"),
        live("ih-garbage", "on IH entry: garbage", "status [01]"),
        live(
            "ih-drop-every-2nd",
            "every 2nd IH entry: drop",
            "status [01]",
        )
        .running("$VADD; $VADD; $VADD"),
        live("dispatch-late", "at the 1st dispatch: late 2 s", RIGHT),
        live(
            "dispatch-hang",
            "at the 1st dispatch: hang",
            "status (124|143)",
        )
        .running("timeout 10 $VADD"),
        live("dispatch-fail", "at the 1st dispatch: fail", "status 1"),
        live(
            "fault-flood",
            "at the 1st dispatch: fault flood of 1000",
            "status [01]",
        ),
        probe("bad-signature", "at probe: bad signature", NO_GPU)
            .logging("the discovery table .* is unusable"),
        probe("bad-checksum", "at probe: bad checksum", NO_GPU)
            .logging("the discovery table .* is unusable"),
        probe("unknown-core", "at probe: unknown core", NO_GPU)
            .logging("isn.t supported: GC 99[.]"),
        probe("impossible-counts", "at probe: impossible counts", NO_GPU)
            .logging("the discovery table .* is unusable"),
        probe("cold", "at power-on: cold", NO_GPU).logging("the GPU is cold"),
        load(
            "memsize-ones",
            "on register RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE: read ffffffff",
            NO_GPU,
        ),
        load(
            "memsize-zero",
            "on register RCC_DEV0_EPF0_RCC_CONFIG_MEMSIZE: read 0",
            NO_GPU,
        ),
        load(
            "all-registers-garbage",
            "on any register read: garbage",
            NO_GPU,
        ),
        load("all-registers-zero", "on any register read: read 0", NO_GPU),
        load(
            "all-registers-ones",
            "on any register read: read ffffffff",
            NO_GPU,
        ),
        live("ih-drop-once", "at the 1st IH entry: drop", "status [01]"),
        live(
            "ih-garbage-once",
            "at the 1st IH entry: garbage",
            "status [01]",
        ),
        live("ih-twice-2nd", "every 2nd IH entry: twice", RIGHT).running("$VADD >/dev/null; $VADD"),
        live("ih-overflow-all", "on IH entry: overflow", "status [01]"),
        live("dispatch-later", "at the 1st dispatch: late 6 s", RIGHT),
        live(
            "fault-flood-2nd",
            "every 2nd dispatch: fault flood of 10",
            RIGHT,
        )
        .running("$VADD; $VADD >/dev/null; $VADD"),
        live("fill-late", "on kernel fill: late 500 ms", RIGHT),
        live("fill-hang", "at the 1st kernel fill: hang", RIGHT)
            .logging("copy engine 0 gets no further .* resetting it"),
    ]
}

/// What a driver's orders turn into without some of their words, or from wrong ones, nobody can tell, so
/// the device's reports do not count.
pub(super) fn lost() -> Vec<Row> {
    vec![
        load(
            "every-3rd",
            "every 3rd any register write: drop",
            "status [01]",
        ),
        load(
            "every-10th",
            "every 10th any register write: drop",
            "status [01]",
        ),
        load(
            "every-100th",
            "every 100th any register write: drop",
            "status [01]",
        ),
        load(
            "zero-50th",
            "every 50th any register read: read 0",
            "status [01]",
        ),
        load(
            "ones-50th",
            "every 50th any register read: read ffffffff",
            "status [01]",
        ),
        load(
            "garbage-20th",
            "every 20th any register read: garbage",
            "status [01]",
        ),
        reload(
            "used-lost-2nd",
            "every 2nd any register write: drop",
            "status [01]",
        ),
        reload(
            "used-garbage-10th",
            "every 10th any register read: garbage",
            "status [01]",
        ),
        reload(
            "used-ones-10th",
            "every 10th any register read: read ffffffff",
            "status [01]",
        ),
    ]
}

/// Packets.
pub(super) fn cpsch() -> Vec<Row> {
    vec![
        live("unmap-late", "on UNMAP_QUEUES: late 2 s", RIGHT),
        live("unmap-twice", "on HIQ UNMAP_QUEUES: twice", RIGHT),
        live("status-late", "on QUERY_STATUS: late 2 s", RIGHT),
        live("status-twice", "on QUERY_STATUS: twice", RIGHT),
        live("run-list-late", "on RUN_LIST: late 2 s", RIGHT),
        live("status-drop", "on QUERY_STATUS: drop", "failed, errno 62").logging("it is stuck"),
        live(
            "status-no-answer",
            "at the 1st QUERY_STATUS: no answer",
            "failed, errno 62",
        )
        .logging("it is stuck"),
        live(
            "status-wrong",
            "on QUERY_STATUS: wrong sequence",
            "failed, errno 62",
        )
        .logging("it is stuck"),
        live(
            "status-garbage",
            "on QUERY_STATUS: garbage",
            "failed, errno 62",
        )
        .logging("it is stuck"),
        live(
            "unmap-no-answer",
            "at the 1st UNMAP_QUEUES: no answer",
            "failed, errno 62",
        )
        .logging("it is stuck"),
        live(
            "unmap-wrong",
            "on HIQ UNMAP_QUEUES: wrong sequence",
            "failed, errno 62",
        )
        .logging("it is stuck"),
        live(
            "unmap-hang",
            "on HIQ UNMAP_QUEUES: hang",
            "failed, errno 62",
        )
        .logging("it is stuck"),
        live(
            "run-list-hang",
            "at the 1st RUN_LIST: hang",
            "status (124|143)",
        )
        .running("timeout 10 $VADD")
        .logging("it is stuck"),
        live(
            "run-list-drop",
            "at the 1st RUN_LIST: drop",
            "status (124|143)",
        )
        .running("timeout 10 $VADD"),
        live("hiq-hang", "on HIQ packet: hang", "status (124|143)")
            .running("timeout 10 $VADD")
            .logging("it is stuck"),
        probe(
            "set-resources-drop",
            "on KIQ SET_RESOURCES: drop",
            "status (1|124|143)",
        )
        .running("timeout 10 $VADD"),
        load(
            "hiq-map-drop",
            "on KIQ MAP_QUEUES: drop",
            "status (1|124|143)",
        )
        .running("timeout 10 $VADD"),
        load("kiq-hang", "on KIQ packet: hang", NO_GPU),
        load("kiq-late", "on KIQ packet: late 20 ms", RIGHT),
        load("kiq-twice", "on KIQ WRITE_DATA: twice", RIGHT),
    ]
}

/// On MI308X, what can become of the reset of a GPU that is of no use without one.
pub(super) fn resets() -> Vec<Row> {
    // A reset of the whole GPU has failed by then.
    const MASTERS: &str =
        "timeout 60 $VADD; . /rules.sh; logs 'mode 1 reset doesn.t help'; masters";
    const CLOSED: &str = "memory is closed to it";
    // All but the first: the scheduler doesn't answer, and the engines' reset can't reset the copy engines.
    vec![
        // The first program after the module is loaded has pages of the driver's own mapped, for which VMID 0 is flushed.
        live(
            "hub-deaf",
            "on read of VM_INVALIDATE_ENG17_ACK: read 0 until reset",
            "failed, errno",
        )
        .logging("resetting the GPU .mode 1 reset."),
        reload(
            "reset-unanswered",
            "at the 1st QUERY_STATUS: no answer|on SMU message of message 0x4d: fail 0xfd|on SMU message of message 3: drop",
            "failed, errno",
        )
        .logging("management unit doesn.t reset the GPU .ETIME"),
        reload(
            "reset-refused",
            "at the 1st QUERY_STATUS: no answer|on SMU message of message 0x4d: fail 0xfd|on SMU message of message 3: fail 0xfd",
            "failed, errno",
        )
        .logging("management unit doesn.t reset the GPU .EINVAL"),
        reload(
            "reset-unbooted",
            "at the 1st QUERY_STATUS: no answer|on SMU message of message 0x4d: fail 0xfd until reset|on read of MP0_SMN_C2PMSG_35: read 0",
            "failed, errno",
        )
        .logging("boot loader doesn.t come back from the reset .ETIME"),
        reload(
            "refused-masters-nothing",
            "at the 1st QUERY_STATUS: no answer|on SMU message of message 0x4d: fail 0xfd|on SMU message of message 3: fail 0xfd",
            CLOSED,
        )
        .running(MASTERS),
        reload(
            "unbooted-masters-nothing",
            "at the 1st QUERY_STATUS: no answer|on SMU message of message 0x4d: fail 0xfd until reset|on read of MP0_SMN_C2PMSG_35: read 0",
            CLOSED,
        )
        .running(MASTERS),
        // Four programs flush TLBs. One waits for KIQ, and the others, whose turn comes then, don't: KIQ is given one
        // fence by that one, and one more when it is started again, by the soft reset that doesn't help.
        live(
            "kiq-is-waited-for-once",
            "on KIQ WRITE_DATA: drop until reset",
            "done 2: on KIQ WRITE_DATA",
        )
        .running(
            "for i in 1 2 3 4; do timeout 40 $VADD >/dev/null & done; wait; \
             . /rules.sh; logs 'the GPU works again'; rule list",
        )
        .logging("KIQ doesn.t acknowledge TLB flushes .ETIME"),
    ]
}

/// Frames.
pub(super) fn mes() -> Vec<Row> {
    vec![
        live("add-late", "on ADD_QUEUE: late 1 s", RIGHT),
        live(
            "add-fails",
            "at the 1st ADD_QUEUE: fail",
            "CREATE_QUEUE .* failed, errno 110",
        )
        .logging("refuses ADD_QUEUE: error 255"),
        live(
            "add-fails-7",
            "at the 1st ADD_QUEUE: fail 7",
            "CREATE_QUEUE .* failed, errno 110",
        )
        .logging("refuses ADD_QUEUE: error 7"),
        live(
            "add-no-answer",
            "at the 1st ADD_QUEUE: no answer",
            "CREATE_QUEUE .* failed, errno",
        ),
        live(
            "add-wrong",
            "at the 1st ADD_QUEUE: wrong sequence",
            "status [01]",
        ),
        live(
            "add-garbage",
            "at the 1st ADD_QUEUE: garbage",
            "status [01]",
        ),
        live(
            "add-drop",
            "at the 1st ADD_QUEUE: drop",
            "CREATE_QUEUE .* failed, errno",
        ),
        live("add-twice", "at the 1st ADD_QUEUE: twice", "status [01]"),
        live(
            "add-hang",
            "at the 1st ADD_QUEUE: hang",
            "CREATE_QUEUE .* failed, errno 110",
        )
        .logging("it is stuck"),
        live("remove-late", "on REMOVE_QUEUE: late 1 s", RIGHT),
        live("remove-fails", "at the 1st REMOVE_QUEUE: fail", RIGHT)
            .logging("refuses REMOVE_QUEUE: error 255"),
        live(
            "remove-no-answer",
            "at the 1st REMOVE_QUEUE: no answer",
            "status [01]",
        ),
        live(
            "remove-wrong",
            "at the 1st REMOVE_QUEUE: wrong sequence",
            "status [01]",
        ),
        live(
            "remove-drop",
            "at the 1st REMOVE_QUEUE: drop",
            "status [01]",
        ),
        live(
            "remove-twice",
            "at the 1st REMOVE_QUEUE: twice",
            "status [01]",
        ),
        live(
            "remove-hang",
            "at the 1st REMOVE_QUEUE: hang",
            "DESTROY_QUEUE .* failed, errno 110",
        )
        .logging("it is stuck"),
        live(
            "status-late",
            "on QUERY_SCHEDULER_STATUS: late 100 ms",
            RIGHT,
        ),
        reload(
            "status-drop",
            "at the 1st QUERY_SCHEDULER_STATUS: drop",
            RIGHT,
        )
        .logging("pipe 1 .* it is stuck"),
        reload(
            "status-wrong",
            "at the 1st QUERY_SCHEDULER_STATUS: wrong sequence",
            "status [01]",
        ),
        reload(
            "status-hang",
            "at the 1st QUERY_SCHEDULER_STATUS: hang",
            RIGHT,
        )
        .logging("pipe 1 .* it is stuck"),
        load("resources-fail", "on SET_HW_RSRC: fail", NO_GPU)
            .logging("refuses SET_HW_RSRC: error 255 of command 0"),
        load("resources-hang", "on SET_HW_RSRC: hang", NO_GPU)
            .logging("doesn.t answer; it is stuck"),
        load("resources-1-fail", "on SET_HW_RSRC_1: fail", NO_GPU).logging("refuses"),
        load("scheduler-refused", "on ADD_LEGACY_QUEUE: fail", NO_GPU).logging("refuses ADD_QUEUE"),
        load("all-silent", "on MES frame: no answer", NO_GPU).logging("it is stuck"),
        load("all-late", "on MES frame: late 50 ms", RIGHT),
        live("legacy-stays", "on MISC: late 200 ms", "status [01]"),
    ]
}

/// On MI308X: what the management unit answers, by the numbers of its messages (`PPSMC_MSG_*`).
pub(super) fn management_unit() -> Vec<Row> {
    const BEGIN: &str = "management unit doesn.t begin its work .";
    const POWER: &str = "cat /sys/bus/pci/devices/0000:00:01.0/hwmon/hwmon*/power1_input";
    vec![
        load("silent", "on SMU message: drop", NO_GPU)
            .logging("management unit doesn.t begin its work .ETIME"),
        load("hangs", "at the 2nd SMU message: hang", NO_GPU)
            .logging("management unit doesn.t begin its work .ETIME"),
        again(
            "no-version",
            "on SMU message of message 2: fail 0xff",
            NO_GPU,
        )
        .logging("management unit doesn.t begin its work .EIO"),
        again("busy", "at the 1st SMU message: fail 0xfc", NO_GPU)
            .logging("management unit doesn.t begin its work .EBUSY"),
        again(
            "no-table",
            "on SMU message of message 13: fail 0xfd",
            NO_GPU,
        )
        .logging("management unit doesn.t begin its work .EINVAL"),
        again(
            "no-features",
            "on SMU message of message 5: fail 0xfe",
            NO_GPU,
        )
        .logging("management unit doesn.t begin its work .EOPNOTSUPP"),
        again("garbage", "on SMU message: garbage", NO_GPU).logging(BEGIN),
        live(
            "measures-nothing",
            "on SMU message of message 9: fail",
            "status 1",
        )
        .running(POWER),
        reload(
            "stops-measuring",
            "on SMU message of message 9: no answer",
            "status 1",
        )
        .running(POWER),
    ]
}

/// From power-on, on MI308X: what the security processor's mailboxes answer.
pub(super) fn security_processor() -> Vec<Row> {
    vec![
        probe(
            "boot-loader-silent",
            "at power-on: cold|on read of MP0_SMN_C2PMSG_35: read 0",
            NO_GPU,
        )
        .logging("boot loader of the security processor doesn't take .anything. .ETIME; its status is 0x0"),
        probe(
            "component-refused",
            "at power-on: cold|from the 2nd read of MP0_SMN_C2PMSG_35: read 80000001",
            NO_GPU,
        )
        .logging("doesn't take KeyDatabase .ETIME; its status is 0x80000001"),
        probe(
            "secure-os-dead",
            "at power-on: cold|on read of MP0_SMN_C2PMSG_81: read 0",
            NO_GPU,
        )
        .logging("secure OS of the security processor doesn't start .ETIME"),
        probe(
            "no-ring",
            "at power-on: cold|on read of MP0_SMN_C2PMSG_64: read 0",
            NO_GPU,
        )
        .logging("security processor takes no ring .ETIME"),
        again("tmr-dropped", "at power-on: cold|on SETUP_TMR: drop", NO_GPU)
            .logging("doesn.t answer SETUP_TMR .ETIME"),
        again(
            "tmr-refused",
            "at power-on: cold|on SETUP_TMR: fail 7",
            NO_GPU,
        )
        .logging("refuses SETUP_TMR: status 0x7"),
        again(
            "firmware-refused",
            "at power-on: cold|on LOAD_IP_FW of type 4: fail 16",
            NO_GPU,
        )
        .logging("refuses LOAD_IP_FW of type 0x4: status 0x10"),
        again(
            "firmware-unanswered",
            "at power-on: cold|at the 3rd LOAD_IP_FW: no answer",
            NO_GPU,
        )
        .logging("doesn.t answer LOAD_IP_FW of type 0x[0-9a-f]+ .ETIME"),
        again(
            "firmware-garbage",
            "at power-on: cold|at the 1st LOAD_IP_FW: garbage",
            NO_GPU,
        )
        .logging("doesn.t answer LOAD_IP_FW of type 0x[0-9a-f]+ .ETIME"),
        again(
            "firmware-hangs",
            "at power-on: cold|at the 2nd LOAD_IP_FW: hang",
            NO_GPU,
        )
        .logging("doesn.t answer LOAD_IP_FW of type 0x[0-9a-f]+ .ETIME"),
        probe(
            "commands-twice",
            "at power-on: cold|on PSP command: twice",
            RIGHT,
        ),
    ]
}
