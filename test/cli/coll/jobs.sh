#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ringlet coll on several threads: the same bytes and the same error for any --jobs, and Ctrl-C.
# Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"

# same NAME STATUS ROWS ARGUMENTS...   expects STATUS and at least ROWS lines with --jobs 1; with 2, 4 and the default
# the same bytes, messages and status
same() {
    name=$1 status=$2 rows=$3 why=""
    shift 3
    "$ringlet" coll "$@" --jobs 1 >"$tmp/one" 2>"$tmp/one.err" </dev/null
    got=$?
    [ $got = "$status" ] || why="exit status $got, expected $status"
    lines=$(wc -l <"$tmp/one")
    [ "$lines" -ge "$rows" ] || why="$why
$lines lines, expected $rows"
    grep -q 'Sanitizer' "$tmp/one.err" && why="$why
$(cat "$tmp/one.err")"
    for jobs in '--jobs 2' '-j4' ''; do
        "$ringlet" coll "$@" $jobs >"$tmp/many" 2>"$tmp/many.err" </dev/null
        got=$?
        [ $got = "$status" ] || why="$why
with '$jobs': exit status $got, expected $status"
        cmp "$tmp/one" "$tmp/many" >"$tmp/cmp" 2>&1 || why="$why
with '$jobs': $(cat "$tmp/cmp")"
        cmp "$tmp/one.err" "$tmp/many.err" >"$tmp/cmp" 2>&1 || why="$why
with '$jobs': other messages: $(head -20 "$tmp/many.err")"
    done
    verdict "$name" "$why"
}

net='ring:4@200GB/s,500ns*switch:4@50GB/s,500ns'
for format in table csv json; do
    same "many rows as $format" 0 100 -t "$net" -c all -a all -b 1KiB:64MiB:x4 -f $format
    same "their links as $format" 0 20 -t "$net" -c all_reduce,all_to_all -a all -b 1KiB:4MiB:x16 --links -f $format
done
same "a file's graph, hashed routes" 0 20 -t dgx1-v100-8 -c all -a all -b 1MiB:16MiB:x4 --routing ecmp --check
same "sprayed routes and a time series" 0 20 -t 'fat-tree:8@50GB/s,500ns' -c all -a all -b 1MiB:16MiB:x4 \
    --routing spray --links --series 10us -f json
same "alpha-beta, with its warnings" 0 20 -t "$net" -c all -a all -b 1KiB:4MiB:x4 --network alpha-beta
same "notes, once each" 0 10 -t "$net" -c all_reduce -a all -b 1MiB:16MiB:x2 --set window=2
same "one row" 0 5 -t "$net" -b 1MiB
same "more rows than may wait" 0 1500 -t switch:2@100GB/s,0ns -c broadcast -a ring -b 1KiB:1500KiB:+1KiB -f csv
"$ringlet" coll -t "$net" -b 1KiB:1MiB:x4 -j 2 -o "$tmp/file" && "$ringlet" coll -t "$net" -b 1KiB:1MiB:x4 -j 1 >"$tmp/one"
cmp -s "$tmp/file" "$tmp/one"
expect "into a file" $? 0

# threads NAME STATUS NOTE ARGUMENTS...   expects STATUS, with --threads 2 and 5 the bytes of --threads 1, and NOTE once
threads() {
    name=$1 status=$2 note=$3 why=""
    shift 3
    "$ringlet" coll "$@" --network packet --threads 1 >"$tmp/one" 2>"$tmp/one.err" </dev/null
    for n in 2 5; do
        "$ringlet" coll "$@" --network packet --threads $n >"$tmp/many" 2>"$tmp/many.err" </dev/null
        got=$?
        [ $got = "$status" ] || why="$why
with $n: exit status $got, expected $status"
        cmp "$tmp/one" "$tmp/many" >"$tmp/cmp" 2>&1 || why="$why
with $n: $(cat "$tmp/cmp")"
        grep -v 'note: --threads' "$tmp/many.err" | cmp -s "$tmp/one.err" - || why="$why
with $n: other messages: $(head -20 "$tmp/many.err")"
        [ -z "$note" ] || [ "$(grep -c "note: --threads.*$note" "$tmp/many.err")" = 1 ] || why="$why
with $n: no note of '$note'"
    done
    verdict "$name" "$why"
}
threads "one row on several threads" 0 '' -t "$net" -c all_reduce,all_to_all -a all -b 64KiB --links -f json
threads "not under back-pressure" 0 back-pressure -t "$net" -a ring,tree -b 64KiB --set pause=pfc
threads "not for a reactive protocol" 0 'reactive protocol' -t switch:4@1GB/s,1us,in_network=reduce+multicast -a switchml -b 64KiB
threads "not over links without latency" 0 'without latency' -t switch:4@1GB/s,0ns -a ring -b 64KiB
threads "a flow that gives up" 4 '' -t "$net" -a ring -b 64KiB --set loss=1 --set rto=10us --set retries=2

# An event later than 26 days is an error. 4 ranks at 1 kB/s: a step of 1 GB takes 11.6 days, so 4 GB fail in the third
# step, 1 TB in the first. Earlier rows are printed.
same "an error in the middle" 3 5 -t switch:4@1KB/s,0ns -a ring -b 1KB,2KB,4GB,3KB,1TB,4KB
grep -q 'after the end of simulated time' "$tmp/one.err"
expect "is the first one" "$?-$(grep -c 'now is 0 ps' "$tmp/one.err")" 0-0
expect "after the rows before it" "$(grep -c '^all_reduce' "$tmp/one")" 2
same "an error leaves no JSON" 3 0 -t switch:4@1KB/s,0ns -a ring -b 1KB,2KB,4GB,3KB,1TB,4KB -f json --links
expect "not even the beginning" "$(wc -c <"$tmp/many")" 0
same "an algorithm that cannot" 2 0 -t "$net" -c all_gather -a point_to_point -b 1KiB:64MiB:x4
printf '0 1 2\n1 0 2\n2 1 0\n' >"$tmp/counts"
same "one that cannot do counts" 3 0 -t switch:3@100GB/s,0ns -c all_to_all -a ring --counts "$tmp/counts"
same "is left out among several" 0 4 -t switch:3@100GB/s,0ns -c all_to_all -a ring,direct --counts "$tmp/counts"
"$ringlet" coll -t "$net" -b 1KiB:1MiB:x2 -j 2 >/dev/full 2>"$tmp/err"
expect "a full disk" "$?-$(wc -l <"$tmp/err" | tr -d ' ')" 5-1
for jobs in 0 -1 two 1025; do
    "$ringlet" coll -t "$net" -b 1KiB --jobs $jobs >"$tmp/out" 2>"$tmp/err"
    expect "--jobs $jobs is refused" "$?-$(grep -c '^ringlet: --jobs: ' "$tmp/err")" 2-1
done

# Prints the seconds of processor time that ended jobs have taken, from what `times` wrote: a subshell has jobs of its own.
children() {
    awk 'NR == 2 { split($1, u, "[ms]"); split($2, s, "[ms]"); print 60 * (u[1] + s[1]) + u[2] + s[2] }' "$tmp/times"
}
# interrupt NAME ARGUMENTS...   SIGINT after a second of processor time. It takes a few more at most, whole rows take minutes.
interrupt() {
    name=$1
    shift
    times >"$tmp/times"
    before=$(children)
    "$ringlet" coll "$@" >"$tmp/out" 2>"$tmp/err" </dev/null &
    job=$!
    spent $job 100
    kill -INT $job
    wait $job
    expect "$name: exit status" $? 130
    times >"$tmp/times"
    expect "$name: soon" "$(children | awk -v before="$before" '{ print $1 - before <= 10 ? "soon" : $1 - before " s" }')" soon
    expect "$name: said once" "$(grep -c '^ringlet: interrupted: the results are partial$' "$tmp/err")-$(wc -l <"$tmp/err" | tr -d ' ')" 1-1
}
for jobs in 1 2 4; do
    interrupt "interrupt with $jobs jobs" -t switch:32@100GB/s,1us -c all_to_all -a direct -b 1MB:50MB:+1KB -f json -j $jobs
    expect "the rows are flagged" "$(grep -c '"partial": *true' "$tmp/out")" 1
    rows=$(grep -c '"time_ps"' "$tmp/out")
    grep -o '"bytes": *[0-9][0-9]*' "$tmp/out" | tr -dc '0-9\n' >"$tmp/bytes"
    awk -v n="$rows" 'BEGIN { for (i = 0; i < n; i++) printf "%d\n", 1000000 + 1000 * i }' | cmp -s - "$tmp/bytes"
    expect "there are some, none left out" "$?-$([ "$rows" -gt 0 ] && echo some)" 0-some
done
interrupt "interrupt in the first rows" -t switch:4096@100GB/s,1us -c all_reduce,all_gather -a ring -b 1GB -j 2 -f csv --no-fold
expect "the heading stands alone, and the mark" "$(wc -l <"$tmp/out" | tr -d ' ') $(tail -n 1 "$tmp/out")" "2 # partial: interrupted before the end"

# A table of all algorithms has the fastest first, and over several sizes only the fastest.
all="coll -t hgx-h100-8 -b 1MiB,64MiB"
rows() { grep -c '^all_reduce '; }
expect "the fastest of each size, the others counted" \
    "$("$ringlet" $all | rows) $("$ringlet" $all | grep -c '^# rows of algorithms that are no faster are hidden (22): --all shows them')" "2 1"
expect "--all shows them" "$("$ringlet" $all --all | rows) $("$ringlet" $all --all | grep -c hidden)" "24 0"
expect "CSV has all, in the order of the list" "$("$ringlet" $all -f csv | sed -n '2p;$p' | cut -d, -f2,3 | tr '\n' ' ')$("$ringlet" $all -f csv | wc -l | tr -d ' ')" \
    "1048576,ring 67108864,rings 25"
expect "one size has all, the fastest first" \
    "$("$ringlet" coll -t hgx-h100-8 -b 1MiB | awk '/^all_reduce/ { n++; if (t && $5 < t) wrong++; t = $5 } END { print n, wrong + 0 }')" "12 0"
expect "a named list keeps its order" "$("$ringlet" $all -a ring,direct | awk '/^all_reduce/ { printf "%s ", $4 }')" "ring direct ring direct "

# Commands with a bar can be told to show none.
for command in run coll 'coll arithmetic' sweep plan calibrate calibrate-training 'deploy search' 'deploy evaluate' 'deploy train'; do
    expect "$command has --quiet" "$("$ringlet" $command --help | grep -c '^ *-q, --quiet')" 1
done
if command -v script >/dev/null; then
    expect "and shows none" "$(TERM=xterm script -qec "'$ringlet' coll -t switch:64@50GB/s,1us -n packet -b 64MiB -a direct -q" /dev/null |
        awk '/simulating/ { bar++ } /all_reduce  / { rows++ } END { print bar + 0, rows }')" "0 1"
else
    skip "no bar on a terminal" "needs script"
fi

finish
