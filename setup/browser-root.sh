#!/usr/bin/env bash
# SPDX-License-Identifier: MIT OR Apache-2.0
# Make the Debian root with the browser in which pages are tested, and print its path.
exec "$(dirname "$0")/debian-root.sh" browser trixie 1500 chromium-headless-shell fonts-dejavu-core
