#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ringlet coll --plan, --export-plan, --as: an exported plan read again gives the same rows; an error in a file is one
# line with its place. Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"
coll="coll -t ring:8@50GB/s,500ns --network alpha-beta -f csv"
coll() {
    "$ringlet" $coll "$@" 2>"$tmp/err" </dev/null
}
time_of() { # the column time_ps of the rows
    awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "time_ps") c = i; next } { print $c }' | tr '\n' ' '
}

# 14 rounds of 2^17 bytes at 25 GB/s and 500 ns.
for as in json msccl goal; do
    coll -b 1MiB -a ring --export-plan "$tmp/ring.$as" --as $as >/dev/null
    expect "a ring through $as takes the time of a ring" \
        "$(coll -b 1MiB -a ring --plan "$tmp/ring.$as" | time_of)" "80400320 80400320 "
done
expect "plans alone, without --algorithm, several of them, at several sizes" \
    "$(coll -b 1MiB,2MiB --plan "$tmp/ring.json" --plan "$tmp/ring.msccl" | time_of)" \
    "80400320 80400320 153800640 153800640 "
coll -b 1MiB --plan "$tmp/ring.msccl" --export-plan - >"$tmp/again.json"
expect "a plan from a file is written to standard output, and nothing else is" \
    "$(coll -b 1MiB --plan "$tmp/again.json" | time_of)" "80400320 "

for as in json msccl; do
    expect "check knows a plan in $as, and proves it" \
        "$("$ringlet" check "$tmp/ring.$as" 2>&1 | grep -c 'ok: plan ring: all_reduce of 8 ranks.*every contribution arrives once')" 1
done
expect "the messages of a GOAL file are proven, if it is said to be a plan" \
    "$("$ringlet" check --as plan "$tmp/ring.goal" 2>&1 | grep -c 'ok: plan ring: all_reduce of 8 ranks.*every message is awaited')" 1
refused "another collective" 2 "is a plan for all_reduce, but --collective is all_gather" $coll \
    -c all_gather -b 1MiB --plan "$tmp/ring.json"
refused "another number of ranks" 3 "is a plan for 8 ranks, but the group has 4" $coll -r 4 -b 1MiB --plan "$tmp/ring.json"
refused "no such file" 5 "no such file" $coll -b 1MiB --plan "$tmp/none.xml"
refused "several plans to one file" 2 "needs one --collective" $coll -a ring,direct -b 1MiB --export-plan "$tmp/x"
refused "an unknown format" 2 "yaml" $coll -a ring -b 1MiB --export-plan "$tmp/x" --as yaml
sed 's/^num_ranks.*/num_ranks 9/; 1d' "$tmp/ring.goal" >"$tmp/foreign.goal"
refused "GOAL that does not say what it is" 3 "give exactly one collective and one size" $coll -b 1MiB,2MiB --plan "$tmp/foreign.goal"
sed '9s/type="rrc"/type="r"/' "$tmp/ring.msccl" >"$tmp/lost.xml"
refused "a lost contribution" 1 "lost.xml:9: " $coll -b 1MiB --plan "$tmp/lost.xml"
"$ringlet" check "$tmp/lost.xml" >"$tmp/out" 2>"$tmp/err"
expect "check finds it, too" "$?-$(grep -c '^ringlet: .*lost.xml:9: ' "$tmp/err")" 1-1
sed '8s/cnt="1"/cnt="x"/' "$tmp/ring.msccl" >"$tmp/bad.xml"
lane() { # name, what is said, then an edit of line 15: missing places are bad input, not a wrong plan
    sed "15$3" "$tmp/ring.json" >"$tmp/odd.json"
    refused "$1" 3 "odd.json:15:$2" $coll -b 1MiB --plan "$tmp/odd.json"
}
lane "a block beyond the lane" '36: programs[0].steps[0].send: 1 x 1 blocks from block 99 on do not fit in a lane of 8' 's/"send": .[0-9]*./"send": [99]/'
lane "more blocks than the lane has" '36: programs[0].steps[0].send: 1 x 9 blocks from block 0 on do not fit in a lane of 8' 's/"send": .[0-9]*./"send": [0, 9]/'
lane "blocks landing elsewhere than there are" '' 's/"send": .[0-9]*./"send": [0], "land": [8]/'
lane "as many sent as land" '' 's/"send": .[0-9]*./"send": [0, 2], "land": [0]/'
lane "a buffer too many" '' 's/"add"/"into": 1, "add"/'
lane "after a lane that is none" '' 's/"add"/"after": [1, 0], "add"/'
refused "an attribute that is no number" 3 "bad.xml:8:" $coll -b 1MiB --plan "$tmp/bad.xml"
"$ringlet" check "$tmp/bad.xml" >"$tmp/out" 2>"$tmp/err"
expect "nor for check" "$?-$(grep -c '^ringlet: .*bad.xml:8:.*taken as a plan' "$tmp/err")" 3-1

finish
