#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The tour of ringlet help: each function that it names is defined where it says, each command works, and, where gdb is installed, the
# functions of a walk are reached one after the other.
. "$(dirname "$0")/../../support/tap.sh"

tour=tools/help/tour.md
# Of walk n: its command, its functions.
command_of() { awk -v n="$1" '/^## /{ walk++ } /^```/ { inside = !inside; next } inside && walk == n' $tour; }
functions_of() { awk -v n="$1" '/^## /{ walk++ } walk == n' $tour | sed -n 's/^| `\([^`]*\.c:[a-z_0-9]*\)` |.*/\1/p'; }
walks=$(grep -c '^## ' $tour)
expect "there are four walks" "$walks" 4
missing="" n=0
for at in $(grep -o '`[a-z_/0-9]*\.c:[a-z_0-9]*`' $tour | tr -d '`' | sort -u); do
    n=$((n + 1))
    grep -q "^[a-z].*[ *]${at#*:}(" "${at%:*}" 2>/dev/null || missing="$missing $at"
done
verdict "each function is defined where the tour says" "$missing"
[ $n -ge 40 ]
expect "there are functions" "$?" 0

# The command of a sanitizer's build is not stopped on its way.
can=yes
command -v gdb >/dev/null || can="needs gdb"
nm "$ringlet" | grep -q __asan_init && can="needs gdb on a build without sanitizers"
[ "$can" != yes ] || gdb -nx -batch -ex 'break main' -ex run --args "$ringlet" --version 2>/dev/null </dev/null | grep -qE '(^|hit )Breakpoint 1, ' ||
    can="needs gdb that may trace"
mkdir -p "$tmp/work/tools/sweep"
ln -s "$PWD/topologies" "$PWD/traces" "$tmp/work"
ln -s "$PWD/tools/sweep/examples" "$tmp/work/tools/sweep/examples"
walk=0
while [ $walk -lt "$walks" ]; do
    walk=$((walk + 1))
    line=$(command_of $walk)
    if [ "$can" != yes ]; then
        skip "$line" "$can"
        continue
    fi
    {
        echo 'set pagination off'
        echo 'set breakpoint pending off'
        next=run
        for at in $(functions_of $walk); do
            # Each is awaited once the one before it was reached; a function that is not reached ends the script.
            printf 'tbreak %s\n%s\necho reached %s\\n\n' "$at" $next "$at"
            next=continue
        done
        echo kill
    } >"$tmp/script"
    # shellcheck disable=SC2086
    (cd "$tmp/work" && gdb -nx -batch -x "$tmp/script" --args "$ringlet" ${line#ringlet } >"$tmp/out" 2>"$tmp/err" </dev/null)
    # Breakpoint i is that of function i.
    missing=$(functions_of $walk | awk -v stops="$(sed -n 's/^\(Thread .* hit \)\{0,1\}Temporary breakpoint \([0-9]*\), .*/\2/p' "$tmp/out" | tr '\n' ' ')" '
        BEGIN { n = split(stops, s, " "); for (i = 1; i <= n; i++) there[s[i]] = 1 } !(NR in there)' | head -1)
    verdict "reached one after the other: $line" "$missing"
done

finish
