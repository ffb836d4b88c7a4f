#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs test programs (CMocka, speaking TAP) and shell tests (the same lines), shows what failed, and counts.
# run.sh BUILD PROGRAM...     The closing line is "N passed, N failed, N skipped".
# A skip although ../shared is there is a failure: the data that the test wants are at hand.
set -u
build=$1
shift
log=$build/test-log
mkdir -p "$log"
passed=0 failed=0 skipped=0
for program in "$@"; do
    name=$(basename "$program")
    out=$log/$name.tap
    CMOCKA_MESSAGE_OUTPUT=TAP BUILD=$build RINGLET=$build/ringlet "$program" >"$out" 2>"$out.err" </dev/null
    status=$?
    s=$(grep -ciE '^ok .*# *skip' "$out")
    p=$(($(grep -c '^ok ' "$out") - s))
    f=$(grep -c '^not ok ' "$out")
    if [ "$f" = 0 ] && { [ $status != 0 ] || [ "$p$s" = 00 ]; }; then
        echo "  $name: ended with status $status after $p tests"
        f=1
    fi
    if [ -d ../shared/data ] && [ "$s" != 0 ]; then
        echo "  $name: $s tests skipped although ../shared is here"
        f=$((f + s)) s=0
    fi
    if [ "$f" != 0 ]; then
        grep -A12 '^not ok ' "$out" | sed 's/^/    /'
        tail -30 "$out.err" | sed 's/^/    /'
    fi
    printf '  %-24s %4d passed' "$name" "$p"
    [ "$f" != 0 ] && printf ', %d FAILED' "$f"
    [ "$s" != 0 ] && printf ', %d skipped' "$s"
    echo
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
