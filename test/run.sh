#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Runs test programs (CMocka, TAP output) and shell tests (the same output). Shows failures, names skipped tests,
# and counts.
# run.sh BUILD PROGRAM...     The closing line is "N passed, N failed, N skipped".
# A skip is "ok N # SKIP" (TAP) or "not ok N # SKIP" (CMocka 1.1.5). If ../shared exists, test data are present: a skip
# is then a failure, unless a program is missing: "ok N - what # SKIP needs PROGRAM".
set -u
build=$1
shift
log=$build/test-log
mkdir -p "$log"
passed=0 failed=0 skipped=0
: >"$log/skipped"
skip='^(not )?ok .*# *skip'
for program in "$@"; do
    name=${program#"$build"/}
    name=${name#test/}
    out=$log/$(echo "$name" | tr / -).tap
    CMOCKA_MESSAGE_OUTPUT=TAP BUILD=$build RINGLET=$build/ringlet "$program" >"$out" 2>"$out.err" </dev/null
    status=$?
    s=$(grep -ciE "$skip" "$out")
    p=$(grep '^ok ' "$out" | grep -civE '# *skip')
    f=$(grep '^not ok ' "$out" | grep -civE '# *skip')
    if [ "$f" = 0 ] && { [ $status != 0 ] || [ "$p$s" = 00 ]; }; then
        echo "  $name: ended with status $status after $p tests"
        f=1
    fi
    grep -iE "$skip" "$out" | sed "s|^|  $name: |" >>"$log/skipped"
    wrong=$(grep -iE "$skip" "$out" | grep -cv '# SKIP needs ')
    if [ -d ../shared/data ] && [ "$wrong" != 0 ]; then
        echo "  $name: $wrong tests skipped although ../shared is here"
        f=$((f + wrong)) s=$((s - wrong))
    fi
    if [ "$f" != 0 ]; then
        grep -A12 '^not ok ' "$out" | sed 's/^/    /'
        tail -30 "$out.err" | sed 's/^/    /'
    fi
    printf '  %-36s %4d passed' "$name" "$p"
    [ "$f" != 0 ] && printf ', %d FAILED' "$f"
    [ "$s" != 0 ] && printf ', %d skipped' "$s"
    echo
    passed=$((passed + p)) failed=$((failed + f)) skipped=$((skipped + s))
done
if [ -s "$log/skipped" ]; then
    echo "skipped:"
    cat "$log/skipped"
fi
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
