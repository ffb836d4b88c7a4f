#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs the Debian packages that ringlet builds with, where that is possible; else prints the one line that does it.
# deps.sh check: only say what is missing. deps.sh page: also what opens pages and draws graphs in their tests.
set -u
wanted="gcc:gcc pkg-config:pkg-config ar:binutils mpirun:openmpi-bin sqlite3:sqlite3"
libraries="igraph:libigraph-dev libcjson:libcjson-dev libuv:libuv1-dev cmocka:libcmocka-dev zlib:zlib1g-dev expat:libexpat1-dev nlopt:libnlopt-dev sqlite3:libsqlite3-dev ompi-c:libopenmpi-dev"
[ "${1:-}" = page ] && wanted="$wanted node:nodejs npm:npm chromium:chromium dot:graphviz"
missing=""
for w in $wanted; do
    command -v "${w%%:*}" >/dev/null 2>&1 || missing="$missing ${w##*:}"
done
for l in $libraries; do
    pkg-config --exists "${l%%:*}" 2>/dev/null || missing="$missing ${l##*:}"
done
# No pkg-config file comes with it.
[ -r /usr/include/http_parser.h ] || missing="$missing libhttp-parser-dev"
[ -z "$missing" ] && exit 0
line="apt-get install -y --no-install-recommends$missing libc6-dev"
if [ "${1:-}" = check ] || ! command -v apt-get >/dev/null 2>&1; then
    echo "ringlet needs packages that are missing; as root: $line" >&2
    exit 1
fi
if [ "$(id -u)" = 0 ]; then
    run=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
    run="sudo"
else
    echo "ringlet needs packages that are missing; as root: $line" >&2
    exit 1
fi
echo "installing:$missing" >&2
$run apt-get update -qq && DEBIAN_FRONTEND=noninteractive $run $line >/dev/null
