#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs in the root with ROCm: build what is in /mnt into /srv, HIP programs for all TARGETS at once.
set -eu
FLAGS='-O2 -Wall'

for source in /mnt/*.hip; do
    name=$(basename "$source" .hip)
    [ ! -e "/srv/$name" ] || continue
    library=
    case $name in lib_*)
        # A library is not of every ROCm; some are headers alone.
        name_of=${name#lib_}
        [ -e "/usr/include/$name_of" ] || continue
        [ ! -e "/usr/lib/x86_64-linux-gnu/lib$name_of.so" ] || library=-l$name_of ;;
    esac
    echo "$name"
    hipcc $(printf ' --offload-arch=%s' $TARGETS) $FLAGS "$source" -o "/srv/$name.new" $library
    mv "/srv/$name.new" "/srv/$name"
done

CXX="$(ls /usr/bin/clang++-* | sort -V | tail -1) -std=c++20 $FLAGS"
gcc $FLAGS /mnt/hsa.c -o /srv/hsa -lhsa-runtime64
[ ! -e /usr/include/CL/cl.h ] || gcc $FLAGS /mnt/opencl.c -o /srv/opencl -lOpenCL
for name in debugger debugger_faults; do
    $CXX "/mnt/$name.cpp" -o "/srv/$name" -lrocm-dbgapi
done

# List the functions of the two tables through which HIP calls the HSA runtime.
awk '/^struct CoreApiTable/ { table = "core_" }
     /^struct AmdExtTable/ { table = "amd_ext_" }
     /^};/ { table = "" }
     table && match($0, /hsa_[a-z0-9_]+_fn;/) { print "CALL(" table ", " substr($0, RSTART, RLENGTH - 4) ")" }
' /usr/include/hsa/hsa_api_trace.h >/tmp/hsa_calls.h
$CXX -shared -fPIC -I/usr/include/hsa -I/tmp /mnt/hsa_trace.cpp -o /srv/hsa_trace.so

# The profiler's libraries are not of every ROCm.
[ -e /usr/include/aqlprofile-sdk ] || exit 0
$CXX -shared -fPIC -I/usr/include/hsa /mnt/profile.cpp -o /srv/profile.so -lhsa-amd-aqlprofile64
cp /mnt/profiled.sh /srv/profiled
# What a wave of vectorAdd executes that leaves out nothing, by the names of counters.
for target in $TARGETS; do
    hipcc --offload-arch="$target" --offload-device-only $FLAGS -S /mnt/vectoradd.hip -o - |
        awk -v chip="$target" '
            BEGIN { read = chip ~ /gfx9/ ? "VMEM_RD" : "TEX_LOAD"; write = chip ~ /gfx9/ ? "VMEM_WR" : "TEX_STORE" }
            /^_Z9vectorAdd.*:/ { inside = 1; next }
            !inside || $1 !~ /^[a-z]/ { next }
            $1 ~ /^v_/ { counts["VALU"]++ }
            $1 ~ /^global_load/ { counts[read]++ }
            $1 ~ /^global_store/ { counts[write]++ }
            $1 ~ /^s_load/ { counts["SMEM"]++; next }
            $1 ~ /^s_/ && $1 !~ /^s_(wait|nop|endpgm|clause|delay_alu|sendmsg|branch|cbranch|set_inst)/ { counts["SALU"]++ }
            $1 == "s_endpgm" { exit }
            END { for (kind in counts) print "SQ_INSTS_" kind, counts[kind] }
        ' >"/srv/vectoradd.$target.mix"
done
