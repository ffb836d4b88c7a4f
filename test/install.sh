#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs into an empty folder, compiles a small program through pkg-config, and runs it against the shared library.
set -eu
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
make -s install DESTDIR="$dir" PREFIX=/usr
cat >"$dir/use.c" <<'C'
#include <stdio.h>
#include "net/topology/topology.h"
#include "sim/base/units.h"
int main(void)
{
    rlt_topology *t = NULL;
    rlt_error err = {0};
    if (rlt_topology_load("ring:4@200GB/s,500ns*switch:8@50GB/s,500ns", NULL, &t, &err) < 0) {
        fprintf(stderr, "%s: %s\n", err.where, err.what);
        return 1;
    }
    printf("%u accelerators\n", rlt_topology_accelerators(t));
    rlt_topology_free(t);
    return 0;
}
C
export PKG_CONFIG_PATH="$dir/usr/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$dir"
${CC:-gcc} -std=c11 -Wall -Wextra -Werror -o "$dir/use" "$dir/use.c" $(pkg-config --cflags --libs ringlet)
[ "$(LD_LIBRARY_PATH="$dir/usr/lib" "$dir/use")" = "32 accelerators" ]
"$dir/usr/bin/ringlet" --version >/dev/null
[ -s "$dir/usr/share/ringlet/accelerators/h100-sxm.json" ]
# Only rlt_ names leave the library.
if nm -D --defined-only "$dir/usr/lib/libringlet.so" | awk '{print $3}' | grep -vE '^rlt_'; then
    echo "names without the rlt_ prefix are exported" >&2
    exit 1
fi
[ -s "$dir/usr/share/man/man1/ringlet.1" ] && [ -s "$dir/usr/share/bash-completion/completions/ringlet" ]
make -s uninstall DESTDIR="$dir" PREFIX=/usr >/dev/null
left=$(find "$dir/usr" -type f)
[ -z "$left" ] || { echo "uninstall left: $left" >&2; exit 1; }
echo "installed, linked, ran, uninstalled"
