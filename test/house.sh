#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The rules of the house, checked on the compiler's dependency files and the sources:
# includes point down only (tools -> workload -> collectives -> net -> sim), igraph.h, uv.h and cJSON.h have one place each,
# nothing else stands at the top, no extern in a .c file, the library neither prints nor exits.
set -u
build=${BUILD:-build}
bad=0 n=0
verdict() { # name, offending lines
    n=$((n + 1))
    if [ -z "$2" ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        echo "$2" | sed 's/^/# /' | head -20
        bad=1
    fi
}
words_of() { tr -s ' \\' '\n\n' <"$1"; }

arrows=""
for d in $(find "$build"/sim "$build"/net "$build"/collectives "$build"/workload "$build"/tools -name '*.d'); do
    src=${d#"$build"/}
    floor=${src%%/*}
    case $floor in
    sim) banned='net|collectives|workload|tools' ;;
    net) banned='collectives|workload|tools' ;;
    collectives) banned='workload|tools' ;;
    workload) banned='tools' ;;
    *) continue ;;
    esac
    up=$(words_of "$d" | grep -E "^($banned)/" | head -1)
    [ -n "$up" ] && arrows="$arrows $src->$up"
done
verdict "includes point down the floors" "$arrows"

only() { # header pattern, allowed pattern
    for d in $(find "$build"/sim "$build"/net "$build"/collectives "$build"/workload "$build"/tools -name '*.d'); do
        src=${d#"$build"/}
        echo "$src" | grep -qE "$2" && continue
        words_of "$d" | grep -q "$1" && echo "$src includes $1"
    done
}
# System headers are not in -MMD files, so the sources are read.
listed() { # name: the files of that name in a checkout, or in an unpacked archive
    if [ -z "$(git rev-parse --show-cdup 2>&1)" ]; then
        git ls-files -- "$1"
    else
        find . -path './build*' -prune -o -type f -name "$1" -print | sed 's|^\./||' | sort
    fi
}
sources() { listed '*.[ch]' | grep -v '^test/'; }
verdict "igraph.h only in net/topology/graph.c" "$(sources | xargs grep -l '<igraph' | grep -v '^net/topology/graph\.c$')"
verdict "uv.h only in tools/" "$(sources | xargs grep -l '<uv\.h>' | grep -v '^tools/')"
verdict "cJSON.h only in sim/text/json.c" "$(sources | xargs grep -l 'cJSON\.h' | grep -vE '^sim/text/json(_write)?\.c$')"
verdict "expat.h only in sim/text/xml.c" "$(sources | xargs grep -l '<expat' | grep -v '^sim/text/xml\.c$')"
verdict "sqlite3.h only in tools/sweep/store/store.c, study.c, tools/report/study_sqlite.c and workload/readers/nsys/database.c" "$(sources | xargs grep -lE '<sqlite3\.h>|store_sqlite\.h' | grep -vE '^tools/(sweep/store/[a-z]*\.[ch]|report/study_sqlite\.c)$|^workload/readers/nsys/database\.c$')"
verdict "microhttpd.h only in tools/serve/http.c" "$(sources | xargs grep -l '<microhttpd\.h>' | grep -v '^tools/serve/http\.c$')"
verdict "mpi.h only in tools/sweep/ranks_mpi.c" "$(sources | xargs grep -l '<mpi\.h>' | grep -v '^tools/sweep/ranks_mpi\.c$')"
# The common command starts without the libraries that few uses need: see ALL_BESIDE in the Makefile.
verdict "ringlet is linked neither with libmicrohttpd nor with MPI" "$(ldd "$build/ringlet" | grep -E 'libmicrohttpd|libmpi')"
verdict "no extern in a .c file" "$(sources | grep '\.c$' | xargs grep -nE '^extern ')"
verdict "the library neither prints nor exits" \
    "$(sources | grep -v '^tools/' | xargs grep -nE '\b(printf|puts|exit|abort|perror)\(' | grep -vE 'snprintf|_printf|^[^:]*:[0-9]*: *(/\*|\*|//)|RLT_PRINTF|vsnprintf|format\(printf')"
verdict "files stay under 700 lines" "$(sources | xargs wc -l | awk '$2 != "total" && $1 > 700')"
verdict "nothing but the fixed names stands at the top" \
    "$({ git ls-tree --name-only HEAD 2>/dev/null || ls | grep -vE '^build'; } | grep -vE '^(\..*|Makefile|README\.md|LICENSE|sim|net|workload|collectives|topologies|traces|test|tools)$')"
if command -v clang-format >/dev/null 2>&1; then
    verdict "clang-format is content" "$(listed '*.[ch]' | xargs clang-format --dry-run 2>&1 | grep 'warning:' | head -5)"
else
    n=$((n + 1))
    echo "ok $n - clang-format is content # SKIP needs clang-format"
fi
headers=""
for h in $(sources | grep '\.h$'); do
    ${CC:-gcc} -std=c11 -D_POSIX_C_SOURCE=200809L -I. -Wall -Wextra -Wshadow -fsyntax-only -x c "$h" 2>/dev/null || headers="$headers $h"
done
verdict "every header compiles alone" "$headers"
exit $bad
