// SPDX-License-Identifier: MIT OR Apache-2.0
//! `rkfd capture`: the archive holds what the guest's files say, and nothing of whose machine it is.

use super::{with_vadd, MODULE, VADD};
use crate::plan::Step;
use crate::scenario::Scenario;

/// The host's name, which must not get out.
const HOST: &str = "heron-7";

/// What the scripts share: where the card is, and how the archive `$1` is unpacked into `/tmp/ARCHIVE`.
const UNPACK: &str = "S=0000:00:01.0; D=/sys/bus/pci/devices/$S; \
    unpack() { mkdir /tmp/$1.d && tar xf /tmp/$1 -C /tmp/$1.d && cd /tmp/$1.d/rkfd-capture || exit 1; }; \
    same() { [ -s $1 ] && [ \"$(sha256sum <$1)\" = \"$(sha256sum <$2)\" ] || { echo \"$1 is not $2\"; exit 1; }; }; ";

/// All of them.
pub fn all() -> Vec<Scenario> {
    vec![capture()]
}

fn capture() -> Scenario {
    let named = format!(
        "echo {HOST} >/proc/sys/kernel/hostname; echo 1 >/proc/sys/kernel/dmesg_restrict; \
         echo 'rkfd: told by a program on {HOST}' >/dev/kmsg; dmesg | grep -q {HOST}"
    );
    with_vadd(
        "capture",
        "the command archives what the guest's files say of the card, and nothing personal",
        "vectoradd",
    )
    .bin("rkfd-cli", "rkfd")
    .without_trace()
    .steps([
        Step::sh("named", 10, &named),
        Step::sh("no-driver", 60, &script(NO_DRIVER)),
        Step::insmod(MODULE),
        Step::sh("list", 60, &script(LIST)),
        Step::sh("not-confirmed", 60, &script(NOT_CONFIRMED)),
        Step::sh("root", 60, &script(ROOT)),
        Step::sh("busy", 240, &script(&busy())),
        Step::sh("serials", 60, &script(SERIALS)),
        Step::sh("user", 60, &script(USER)),
        Step::sh(
            "manual",
            10,
            "rkfd manual /tmp/man && grep -q 'serial numbers' /tmp/man/rkfd-capture.1 && grep -q capture /tmp/man/rkfd.bash",
        ),
        Step::Rmmod("rkfd".into()),
        Step::Absent("/sys/kernel/debug/rkfd".into()),
    ])
}

fn script(script: &str) -> String {
    format!("{UNPACK}{script}")
}

/// Nobody reads the discovery table without a driver; configuration space is there.
const NO_DRIVER: &str =
    "rkfd capture --yes /tmp/cold.tar && unpack cold.tar && same gpu/$S/pci/config $D/config && \
    grep '^missing  the discovery table' CONTENTS | grep -q 'no driver has read it'";

/// `--list` writes nothing.
const LIST: &str = "cd /tmp && rkfd capture --list >/tmp/list && ! [ -e rkfd-capture.tar ] && grep -q '^CONTENTS ' list && \
    grep -q \"^gpu/$S/discovery.bin  *[1-9][0-9]*  /sys/kernel/debug/rkfd/$S/discovery$\" list";

/// Without a yes there is no archive, and one that is there stays as it is.
const NOT_CONFIRMED: &str = "rkfd capture /tmp/no.tar </dev/null >/dev/null 2>/tmp/message; [ $? = 1 ] && \
    grep -q 'nothing was written' /tmp/message && ! [ -e /tmp/no.tar ] && \
    echo y | rkfd capture /tmp/asked.tar >/dev/null && [ -s /tmp/asked.tar ] && sha256sum /tmp/asked.tar >/tmp/sum && \
    ! rkfd capture --yes /tmp/asked.tar 2>/tmp/message && grep -q /tmp/asked.tar /tmp/message && sha256sum -c /tmp/sum";

/// Members are what the guest's files say, and all that there are is in the list. The first bytes of the discovery table
/// are Linux's `BINARY_SIGNATURE` (`discovery.h`).
const ROOT: &str = "rkfd capture --yes /tmp/root.tar >/tmp/printed && cat /tmp/printed && unpack root.tar && \
    same gpu/$S/discovery.bin /sys/kernel/debug/rkfd/$S/discovery && printf '\\007\\024!(' >/tmp/signature && \
    head -c 4 gpu/$S/discovery.bin | cmp - /tmp/signature && same gpu/$S/pci/config $D/config && \
    [ $(stat -c %s gpu/$S/pci/config) -gt 64 ] && same gpu/$S/pci/resource $D/resource && \
    for f in gpu_id mem_banks/0/properties; do \
    same topology/nodes/1/$f /sys/devices/virtual/kfd/kfd/topology/nodes/1/$f; done && \
    same kernel/release /proc/sys/kernel/osrelease && dmesg | sed -n 's/.*\\(rkfd 0000:00:01.0: .*\\)/\\1/p' >/tmp/told && \
    [ -s /tmp/told ] && grep -o 'rkfd 0000:00:01.0: .*' kernel/log.txt | cmp - /tmp/told && \
    grep -q '^nothing stops rkfd' doctor.txt && grep -q '^kfd/hqds$' driver/registers.txt && [ -s driver/kfd/hqds ] && \
    ! grep -e '^missing  the ' -e '^missing  PCI ' -e '^missing  a trace' CONTENTS && ! grep -r heron-7 . && ! grep -r 'unique_id [0-9]' . && \
    find . -type f | sed 's,^./,,' | while read f; do \
    grep -q \"^$f  *$(stat -c %s $f)  \" /tmp/printed || { echo \"the list lacks $f\"; exit 1; }; done";

/// The card's serial number, as the driver shows it, is in if it is wanted.
const SERIALS: &str =
    "P=nodes/1/properties; grep -q '^unique_id [0-9]' /sys/devices/virtual/kfd/kfd/topology/$P && \
    rkfd capture --yes --serials /tmp/serials.tar >/dev/null && unpack serials.tar && \
    same topology/$P /sys/devices/virtual/kfd/kfd/topology/$P && ! grep -r heron-7 .";

/// A user's archive is smaller and says what it lacks; where the user may not write, the command says so.
const USER: &str = "echo 'user:x:1000:1000::/:/bin/sh' >/etc/passwd; mkdir /tmp/user && chown 1000:1000 /tmp/user && \
    as() { start-stop-daemon -S -q -c 1000:1000 -x /bin/rkfd -- capture --yes $1 >/tmp/said 2>&1; }; \
    as /tmp/user/user.tar && mv /tmp/user/user.tar /tmp && unpack user.tar && cat CONTENTS && \
    for what in \"/sys/kernel/debug/rkfd/$S/discovery\" 'PCI configuration space' 'the kernel log' 'a trace' 'the module'; do \
    grep \"^missing  $what\" CONTENTS | grep -q 'next: sudo rkfd capture' || exit 1; done; \
    [ $(stat -c %s gpu/$S/pci/config) = 64 ] && ! [ -e gpu/$S/discovery.bin ] && ! grep -r heron-7 . && \
    same topology/nodes/1/gpu_id /sys/devices/virtual/kfd/kfd/topology/nodes/1/gpu_id && \
    same gpu/$S/ip_discovery/die/0/11/0/base_addr $D/ip_discovery/die/0/11/0/base_addr && \
    [ $(stat -c %s /tmp/user.tar) -lt $(stat -c %s /tmp/root.tar) ] && ! as /root/user.tar && \
    cat /tmp/said && grep -q 'rkfd: /root/user.tar: Permission denied' /tmp/said";

/// While a program computes (it is stopped, so that it isn't done too soon; one that is done before is started again) and
/// somebody listens to the tracepoints, the program's name is in the driver's files, and not in the archive.
fn busy() -> String {
    format!(
        "Q=/sys/kernel/debug/rkfd/queues; T=/sys/kernel/tracing; echo 1 >$T/events/rkfd/enable; \
         for try in 1 2 3 4 5; do vectoradd {VADD} 1048576 >/dev/null 2>&1 & P=$!; \
         until grep -q '^process [0-9]* vectoradd' $Q && grep -q \"vectoradd-$P .*rkfd_queue\" $T/trace; do \
         kill -0 $P 2>/dev/null || break; sleep 0.1; done; \
         kill -STOP $P 2>/dev/null && grep -q '^process [0-9]* vectoradd' $Q && break; \
         kill -CONT $P 2>/dev/null; wait $P; done; rkfd capture --yes /tmp/busy.tar >/dev/null; R=$?; \
         kill -CONT $P; [ $R = 0 ] && wait $P || exit 1; echo 0 >$T/events/rkfd/enable; unpack busy.tar && cat driver/rkfd/queues && \
         grep -q \"^process $P ?$\" driver/rkfd/queues && grep -q -- \"-$P .*: rkfd_queue: \" trace/0.txt && \
         ! grep -r vectoradd ."
    )
}
