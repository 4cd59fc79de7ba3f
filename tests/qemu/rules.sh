# SPDX-License-Identifier: MIT OR Apache-2.0
# One row of tests/qemu/src/scenarios/rules.rs, in the guest:
#   . /rules.sh; row KIND 'RULE|RULE' 'PROGRAM' 'EXPECTED' 'LOGGED'
# KIND: live    the module is loaded, and goes on afterwards
#       reload  the module is loaded, and loaded anew afterwards
#       load    the rules are there while the module is loaded
#       probe   the same, and the device loses power before
#       again   the same, but it keeps power afterwards: the second try is with what the first one left
# EXPECTED is looked for in the program's output and in its last line, `status N`; LOGGED in the kernel's log.

PORT=/dev/ttyS2
GPU=/sys/bus/pci/devices/0000:00:01.0
VADD='vectoradd /kernels/vadd-O3.co 4096'

# What the device's control socket answers to a command.
rule() {
    exec 3<>$PORT
    stty -F $PORT raw -echo
    echo "$*" >&3
    while read -r -t 20 line <&3; do
        case $line in
            ok*) exec 3>&-; return 0 ;;
            error*) echo "$line"; exec 3>&-; return 1 ;;
            *) echo "rule $line" ;;
        esac
    done
    echo "the control socket does not answer '$*'"
    exec 3>&-
    return 1
}

# The device starts anew, as rules say; its configuration space is that after a function-level reset.
power_cycle() {
    rule power cycle && echo 1 >$GPU/reset
}

bad() {
    echo "$*"
    grep -v -e @rkfd -e '^ ' /tmp/out | tail -n 4
    dmesg | grep -v 'loading out-of-tree' | tail -n 6
    rule remove all >/dev/null
    wrong=1
}

# A program runs, if not during a reset that is still going on, then after it.
works() {
    for try in 1 2 3 4 5; do
        $VADD >/tmp/out 2>&1 && return
        sleep 1
    done
    return 1
}

# The kernel's log says so, if not at once, then at the end of a reset.
logs() {
    for try in $(seq 20); do
        dmesg | grep -Eq -- "$1" && return
        sleep 1
    done
    return 1
}

# Whether the GPU may read and write memory: bus mastering, bit 2 of the command register.
masters() {
    case $(od -An -tx1 -j4 -N1 $GPU/config) in
        *[4567cdef]) echo "memory is open to it" ;;
        *) echo "memory is closed to it" ;;
    esac
}

row() {
    kind=$1 rules=$2 program=$3 expected=$4 logged=$5 wrong=0
    [ -n "$program" ] || program=$VADD
    dmesg -c >/dev/null
    : >/tmp/out
    case $kind in load | probe | again) rmmod rkfd || exit 1 ;; esac
    IFS='|'
    set -- $rules
    unset IFS
    for text; do rule add "$text" || exit 1; done
    case $kind in
        probe | again) power_cycle && insmod /rkfd.ko ;;
        load) insmod /rkfd.ko ;;
    esac
    timeout 120 sh -c "$program" >/tmp/out 2>&1
    echo "status $?" >>/tmp/out
    # Rules are for a reset that is still going on, too.
    [ -z "$logged" ] || logs "$logged" || bad "not found in the kernel's log: $logged"
    rule list >/tmp/rules || bad "no list of rules"
    grep -q 'done 0:' /tmp/rules && bad "a rule did nothing: $(cat /tmp/rules)"
    rule remove all || exit 1
    grep -Eq -- "$expected" /tmp/out || bad "not found in the program's output: $expected"
    [ -n "$SHOW" ] && bad "$kind: $rules"
    case $kind in
        live) ;;
        *)
            rmmod rkfd || { bad "the module does not unload"; exit 1; }
            [ $kind = again ] || power_cycle || exit 1
            insmod /rkfd.ko || exit 1
            ;;
    esac
    works || { bad "the driver is not usable any more"; rmmod rkfd; power_cycle; insmod /rkfd.ko; }
    return $wrong
}
