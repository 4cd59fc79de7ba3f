#!/bin/sh
# SPDX-License-Identifier: MIT OR Apache-2.0
# Runs in the root with ROCm: build what is in /mnt into /srv, HIP programs for all TARGETS at once.
set -eu
FLAGS='-O2 -Wall'

for source in /mnt/*.hip; do
    name=$(basename "$source" .hip)
    [ ! -e "/srv/$name" ] || continue
    echo "$name"
    hipcc $(printf ' --offload-arch=%s' $TARGETS) $FLAGS "$source" -o "/srv/$name.new"
    mv "/srv/$name.new" "/srv/$name"
done

gcc $FLAGS /mnt/hsa.c -o /srv/hsa -lhsa-runtime64
for name in debugger debugger_faults; do
    clang++-21 -std=c++20 $FLAGS "/mnt/$name.cpp" -o "/srv/$name" -lrocm-dbgapi
done

# List the functions of the two tables through which HIP calls the HSA runtime.
awk '/^struct CoreApiTable/ { table = "core_" }
     /^struct AmdExtTable/ { table = "amd_ext_" }
     /^};/ { table = "" }
     table && match($0, /hsa_[a-z0-9_]+_fn;/) { print "CALL(" table ", " substr($0, RSTART, RLENGTH - 4) ")" }
' /usr/include/hsa/hsa_api_trace.h >/tmp/hsa_calls.h
clang++-21 -std=c++20 $FLAGS -shared -fPIC -I/usr/include/hsa -I/tmp /mnt/hsa_trace.cpp -o /srv/hsa_trace.so
