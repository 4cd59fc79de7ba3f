#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Fetch the HSA runtime's C headers (AQL packets, signals) and print their folder in the root.
#
# Only the layout test reads them, so the package is unpacked beside the root, not installed.
. "$(dirname "$(readlink -f "$0")")/common.sh"
"$TOP/setup/devroot.sh" >/dev/null
DIR="$CACHE/hsa-headers"
fetch() {
    "$TOP/setup/in-root" sh -ec 'cd /tmp; apt-get -q update; apt-get -q download libhsa-runtime-dev
        rm -rf /cache/hsa-headers; dpkg -x libhsa-runtime-dev_*.deb x
        test -s x/usr/include/hsa/hsa.h; cp -r x/usr/include /cache/hsa-headers' </dev/null
}
[ -e "$DIR/hsa/hsa.h" ] || { lock_cache; rm -f "$DIR.fetched"; step "HSA headers" "$DIR.fetched" fetch; }
echo /cache/hsa-headers
