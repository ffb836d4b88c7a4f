#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs test programs (CMocka, TAP output) and shell tests (the same output). Shows failures, names skipped tests,
# and counts.
# run.sh BUILD PROGRAM...     The closing line is "N passed, N failed, N skipped". JOBS=N runs N of them at a time; without
#                             it, one for each processor. A test that took 10 s or longer has its time behind it.
# run.sh --one BUILD PROGRAM  One of them: prints its lines, and leaves its three counts in the log's folder.
# A skip is "ok N # SKIP" or "1..0 # SKIP" (TAP), "not ok N # SKIP" (CMocka 1.1.5), or a comment "# skipped ...".
# If all public files of test/data/sources.txt are in ../shared/data, a skip is a failure, unless a program is missing:
# "ok N - what # SKIP needs PROGRAM". Where ABSENT is set, as by .ci/run, that is a failure, too, if CI installs this program,
# unless ABSENT lists it.
set -u
one() { # PROGRAM
    name=${1#"$build"/}
    name=${name#test/}
    out=$log/$(echo "$name" | tr / -).tap
    began=$(date +%s)
    CMOCKA_MESSAGE_OUTPUT=TAP BUILD=$build RINGLET=$build/ringlet "$1" >"$out" 2>"$out.err" </dev/null
    status=$?
    seconds=$(($(date +%s) - began))
    s=$(grep -ciE "$skip" "$out")
    p=$(grep '^ok ' "$out" | grep -civE "$skip")
    f=$(grep '^not ok ' "$out" | grep -civE "$skip")
    if [ "$f" = 0 ] && { [ $status != 0 ] || [ "$p$s" = 00 ]; }; then
        echo "  $name: ended with status $status after $p tests"
        f=1
    fi
    wrong=0
    [ "$all_data" != yes ] || wrong=$(grep -iE "$skip" "$out" | grep -civE '# *skip.* needs ')
    [ -z "${ABSENT+set}" ] || wrong=$((wrong + $(grep -iE "$skip" "$out" | without_need)))
    if [ "$wrong" != 0 ]; then
        echo "  $name: $wrong tests skipped although what they need is here"
        f=$((f + wrong)) s=$((s - wrong))
    fi
    if [ "$f" != 0 ]; then
        grep -A12 '^not ok ' "$out" | sed 's/^/    /'
        tail -30 "$out.err" | sed 's/^/    /'
    fi
    printf '  %-36s %4d passed' "$name" "$p"
    [ "$f" != 0 ] && printf ', %d FAILED' "$f"
    [ "$s" != 0 ] && printf ', %d skipped' "$s"
    [ "$seconds" -ge 10 ] && printf ', %d s' "$seconds"
    echo
    echo "$p $f $s" >"$out.counts"
}

without_need() { # counts the skips on standard input that need programs which CI installs, all of them here
    awk -v installed="$installed" -v absent="$ABSENT" '
    function names(list,   n, i, word) {
        n = split(list, word, " ")
        for (i = 1; i <= n; i++) if (match(rest, "[^a-z0-9-]" word[i] "[^a-z0-9-]")) return 1
        return 0
    }
    { rest = " " tolower($0) " " }
    sub(/.* needs /, " ", rest) && names(installed) && !names(absent) { found++ }
    END { print found + 0 }'
}

skip='^((not )?ok .*|1\.\.0 *)?# *skip'
installed="node chromium playwright-core mpirun clang clang-format sqlite3 libmicrohttpd dot"
if [ "$1" = --one ]; then
    build=$2 log=$2/test-log
    # The lines of one test stay together.
    lines=$(one "$3")
    echo "$lines"
    exit 0
fi
build=$1 log=$1/test-log
shift
export all_data=no
[ ! -d ../shared/data ] || all_data=$(grep -v '^#' test/data/sources.txt 2>/dev/null | while read -r file rest; do
    [ -e "../shared/data/$file" ] || { echo no && break; }
done)
all_data=${all_data:-yes}
mkdir -p "$log"
rm -f "$log"/*.tap "$log"/*.counts
printf '%s\0' "$@" | xargs -0 -n 1 -P "${JOBS:-$(nproc)}" sh "$0" --one "$build"
for out in "$log"/*.tap; do
    grep -iE "$skip" "$out" | sed "s|^not ok|ok|; s|^|  $(basename "$out" .tap): |"
done >"$log/skipped"
if [ -s "$log/skipped" ]; then
    echo "skipped:"
    cat "$log/skipped"
fi
# Once more at the end: who reads only the last lines of a long log sees what failed.
for out in "$log"/*.tap; do
    [ "$(cut -d' ' -f2 "$out.counts" 2>/dev/null)" = 0 ] && continue
    name=$(basename "$out" .tap)
    grep -A4 '^not ok ' "$out" | grep -viE "$skip" | cut -c1-200 | sed "s|^|  $name: |"
    tail -3 "$out.err" | cut -c1-200 | sed "s|^|  $name: |"
done >"$log/failed"
if [ -s "$log/failed" ]; then
    echo "failed:"
    cat "$log/failed"
fi
cat "$log"/*.counts | awk -v all=$# '{ p += $1; f += $2; s += $3 }
    END { f += all - NR; print p + 0 " passed, " f + 0 " failed, " s + 0 " skipped"; exit f > 0 }'
