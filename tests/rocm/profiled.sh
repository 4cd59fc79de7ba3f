#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# profiled TARGET: a profiler reads the GPU's performance counters while vectoradd runs. What the waves of its kernel
# execute is counted from the compiler's assembly, /srv/vectoradd.TARGET.mix.
set -eu
target=$1 items=1048576
case $target in
    gfx942) lanes=64 memory='SQ_INSTS_VMEM_RD SQ_INSTS_VMEM_WR' ;;
    *) lanes=32 memory='SQ_INSTS_TEX_LOAD SQ_INSTS_TEX_STORE' ;;
esac
counters="SQ_WAVES SQ_INSTS_VALU SQ_INSTS_SALU SQ_INSTS_SMEM $memory SQ_BUSY_CYCLES GRBM_COUNT GRBM_GUI_ACTIVE"
HSA_TOOLS_LIB=/srv/profile.so PROFILE=$counters vectoradd 2>/tmp/counters
cat /tmp/counters
tr -d '"' </tmp/counters | awk -F, -v waves=$((items / lanes)) -v mix="/srv/vectoradd.$target.mix" -v wanted="$counters" '
    BEGIN { while ((getline line < mix) > 0) { split(line, word, " "); each[word[1]] = word[2] } }
    $4 ~ /vectorAdd/ { found[$6] = $7; if ($9 <= $8) bad("the dispatch ends at " $9 " and begins at " $8) }
    function bad(what) { print "profiled: " what; failed = 1 }
    function equal(name, value) { if (found[name] != value) bad(name " is " found[name] ", and not " value) }
    END {
        for (count = split(wanted, names, " "); count > 0; count--) {
            name = names[count]
            if (!(name in found)) bad("no " name)
            else if (name == "SQ_WAVES") equal(name, waves)
            else if (name ~ /INSTS/) equal(name, waves * each[name])
            else if (found[name] <= 0) bad(name " is 0")
        }
        if (found["GRBM_GUI_ACTIVE"] > found["GRBM_COUNT"]) bad("busier than there was time")
        if (!each["SQ_INSTS_VALU"]) bad("the assembly has no vector arithmetic")
        print "profiled: " (failed ? "FAILED" : "PASSED")
        exit failed
    }'
