#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# profiled TARGET: a profiler reads the GPU's performance counters while vectoradd runs. What the waves of its kernel
# execute is counted from the compiler's assembly, /srv/vectoradd.TARGET.mix; what they ask of caches follows from where
# their dwords lie: side by side.
set -eu
target=$1 items=1048576
# Lines of 128 bytes in each array that a wave loads or stores.
case $target in
    gfx942) lanes=64 lines=2 memory='SQ_INSTS_VMEM_RD SQ_INSTS_VMEM_WR'
        vector='TCP_TOTAL_CACHE_ACCESSES TCP_TCC_READ_REQ TCP_TCC_WRITE_REQ' second=TCC ;;
    *) lanes=32 lines=1 memory='SQ_INSTS_TEX_LOAD SQ_INSTS_TEX_STORE'
        vector='TCP_REQ TCP_REQ_READ TCP_REQ_WRITE' second=GL2C ;;
esac
counters="SQ_WAVES SQ_INSTS_VALU SQ_INSTS_SALU SQ_INSTS_SMEM $memory SQ_BUSY_CYCLES GRBM_COUNT GRBM_GUI_ACTIVE"
caches="$vector ${second}_READ ${second}_WRITE ${second}_HIT ${second}_MISS"
HSA_TOOLS_LIB=/srv/profile.so PROFILE=$counters vectoradd 2>/tmp/counters
HSA_TOOLS_LIB=/srv/profile.so PROFILE=$caches vectoradd 2>>/tmp/counters
cat /tmp/counters
tr -d '"' </tmp/counters | awk -F, -v waves=$((items / lanes)) -v lines=$lines -v mix="/srv/vectoradd.$target.mix" \
    -v wanted="$counters $caches" -v second=$second '
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
            else if (name ~ /ACCESSES$|_REQ$/ && name !~ /READ|WRITE/) equal(name, waves * 3 * lines)
            else if (name ~ /^TCP.*READ/) equal(name, waves * 2 * lines)
            else if (name ~ /WRITE/) equal(name, waves * lines)
            else if (name ~ /_HIT$/) continue
            else if (found[name] <= 0) bad(name " is 0")
        }
        if (found["GRBM_GUI_ACTIVE"] > found["GRBM_COUNT"]) bad("busier than there was time")
        read = found[second "_READ"]
        if (read <= waves * 2 * lines) bad("reads are less than those of vector caches and some of scalar ones: " read)
        equal(second "_MISS", read + found[second "_WRITE"] - found[second "_HIT"])
        if (!each["SQ_INSTS_VALU"]) bad("the assembly has no vector arithmetic")
        print "profiled: " (failed ? "FAILED" : "PASSED")
        exit failed
    }'
