#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Fetch AMD's own firmware, as Debian packages it, and print its folder in the root: setup/firmware.sh
#
# Only where it is asked for (FIRMWARE=debian): its licence is AMD's, and the emulated GPU executes nothing of it.
# Debian has it outside its main section, which the root doesn't read; its newest comes with the backports, as the
# root's kernel does.
. "$(dirname "$(readlink -f "$0")")/common.sh"
"$TOP/setup/devroot.sh" >/dev/null
SUITE=trixie-backports
DIR="$CACHE/firmware-$SUITE"
fetch() {
    "$TOP/setup/in-root" bash -ec '
        at=$(mktemp -d); mkdir -p "$at"/{lists/partial,cache/archives/partial}; cd "$at"
        sed -n "s/ ${0%-backports} main.*/ $0 non-free-firmware/p" /etc/apt/sources.list >sources
        options=(-o Dir::Etc::sourcelist="$at/sources" -o Dir::Etc::sourceparts=/dev/null -o Dir::State::lists="$at/lists"
            -o Dir::Cache="$at/cache" -o Acquire::Languages=none)
        apt-get -q "${options[@]}" update
        apt-get -q "${options[@]}" download firmware-amd-graphics
        rm -rf "/cache/firmware-$0"; dpkg -x firmware-amd-graphics_*.deb x
        cp -r x/usr/lib/firmware/amdgpu "/cache/firmware-$0"
        rm -rf "$at"' "$SUITE" </dev/null
}
[ -e "$DIR.fetched" ] || { lock_cache; rm -f "$DIR.fetched"; step "AMD's firmware from Debian $SUITE" "$DIR.fetched" fetch; }
echo "/cache/firmware-$SUITE"
