#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ringlet deploy: a search, its strategy file, the comparison of methods and of timings, Ctrl-C, and wrong input. Speaks TAP;
# the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"
graph=traces/small-cnn.graph.txt
cluster=testbed-4xv100-4xv100
if [ ! -x "$(dirname "$ringlet")/ringlet-deploy" ]; then
    skip "ringlet deploy" "needs METIS (libmetis-dev)"
    finish
fi
deploy() { "$ringlet" deploy "$@" </dev/null; }
field() { # name: its number in the JSON
    grep -o "\"$1\": *[0-9.]*" "$tmp/json" | head -1 | sed 's/.*: *//'
}

deploy -g $graph -t $cluster -b 400 -f json -o "$tmp/json" 2>"$tmp/err" || echo "exit status $?" >>"$tmp/err"
expect "a search" "$(cat "$tmp/err")" ""
expect "400 strategies are judged" "$(field judged)" 400
deploy -g $graph -t $cluster -b 400 -f json -o "$tmp/again" 2>/dev/null && cmp -s "$tmp/json" "$tmp/again"
expect "the same again" $? 0
objects() { tr '\n' ' ' <"$1" | tr -s ' ' | tr '{' '\n' | sed 's/^ //'; } # each object of a JSON file on a line of its own
objects "$tmp/json" >"$tmp/objects"
groups=$(grep -c '"devices": *\[' "$tmp/objects")
expect "each of the 47 operators is in one group" "$(grep '"name":.*"group":' "$tmp/objects" | sed 's/.*"name": *"\([^"]*\)".*/\1/' | sort -u | wc -l)" 47
expect "no group is empty" "$(grep '"name":.*"group":' "$tmp/objects" | sed 's/.*"group": *\([0-9]*\).*/\1/' | sort -nu | wc -l)" "$groups"
expect "the curve falls" "$(sed -n 's/^"judged": *[0-9]*, *"time_ps": *\([0-9]*\).*/\1/p' "$tmp/objects" | awk 'NR > 1 && $1 >= last { print NR } { last = $1; n++ } END { if (n < 2) print n + 0 " steps" }')" ""
# The plans, in the order data parallel, best uniform, found.
sed -n 's/^"time_ps": *\([0-9]*\), *"fits": true, *"network_time_ps": *\([0-9]*\).*/\1 \2/p' "$tmp/objects" >"$tmp/plans"
expect "found is at least as fast as uniform, and that as data parallel" "$(awk 'NR <= 3 { print $1 }' "$tmp/plans" | sort -rnc 2>&1)" ""
expect "the fastest over the network is returned" \
    "$(awk 'BEGIN { split("data parallel,best uniform,found,refined,with factors", name, ",") } NR == 1 || $2 <= least { least = $2; best = NR } END { print name[best] }' "$tmp/plans")" \
    "$(sed -n 's/.*"returned": *"\([^"]*\)".*/\1/p' "$tmp/objects")"
"$ringlet" run --trace "$tmp/json" -t $cluster -f json >"$tmp/run" 2>"$tmp/err"
expect "run takes as long as deploy says" "$(sed -n 's/.*"time_ps": *\([0-9]*\).*/\1/p' "$tmp/run" | head -1)" \
    "$(awk 'NR == 1 || $2 < least { least = $2 } END { print least }' "$tmp/plans")"
sed 's/"pass": 1/"pass": 7/' "$tmp/json" >"$tmp/pass.json"
leaves_nothing 3 "pass.json:" run --trace "$tmp/pass.json" -t $cluster
leaves_nothing 3 "has 8 ranks" run --trace "$tmp/json" -t $cluster --trace-ranks 4
deploy -g $graph -t $cluster -b 2 -m random --resume "$tmp/json" -f json -o "$tmp/resumed" 2>/dev/null
expect "a search begins with an earlier result" \
    "$(objects "$tmp/resumed" | sed -n 's/^"time_ps".*"network_time_ps": *\([0-9]*\).*/\1/p' | sed -n 3p)" "$(awk 'NR == 4 { print $2 }' "$tmp/plans")"
deploy -g $graph -t 'switch:8@10GB/s,2us' --devices v100:4,mine=1.3@24GiB:4 -b 50 >"$tmp/out" 2>"$tmp/err"
expect "devices of one's own" "$(grep -c 'mine' "$tmp/out" | sed 's/[1-9][0-9]*/some/')" some
deploy -g gpt2-small -t $cluster --batch 8 -b 30 --refine 20 >"$tmp/out" 2>"$tmp/err"
expect "a model" "$? $(grep -c '^# gpt2-small on' "$tmp/out") $(grep -c 'times are estimated' "$tmp/err")" "0 1 1"
deploy -g $graph -t $cluster -b 60 --refine 30 --plot "$tmp/curve.svg" >"$tmp/out" 2>"$tmp/err"
expect "a plot of both searches" "$? $(grep -o 'over the network' "$tmp/curve.svg" | wc -l) $(head -c 4 "$tmp/curve.svg")" "0 1 <svg"
deploy -g traces/transformer-8/transformer.3.et -t $cluster --batch 16 -b 30 --refine 20 >"$tmp/out" 2>"$tmp/err"
expect "the trace of one rank" "$? $(grep -c '^# transformer on .*: 33 operators' "$tmp/out") $(grep -c '237.4 MiB in 7' "$tmp/err")" "0 1 1"
leaves_nothing 2 "has the traces of 8 ranks" deploy -g traces/transformer-8 -t $cluster --batch 16
leaves_nothing 2 "(--batch)" deploy -g traces/transformer-8/transformer.0.et -t $cluster
expect "a trace from standard input" "$("$ringlet" deploy -g - -t $cluster 2>&1 >/dev/null <traces/transformer-8/transformer.0.et | grep -c 'a trace is read from a file')" 1
leaves_nothing 2 "unknown model" deploy -g gpt2-smal -t $cluster
deploy evaluate -g $graph -t "$cluster;testbed-2xv100-4xp100-2x1080ti" -b 60 --seeds 2 -f csv >"$tmp/out" 2>"$tmp/err"
expect "seven methods on two clusters" "$(awk -F, 'NR > 1 { n++; wrong += $7 < $8 || $9 < $7 || $8 <= 0 } END { print n, wrong + 0 }' "$tmp/out")" "14 0"
deploy judges -g $graph -t $cluster -b 60 -f csv >"$tmp/out" 2>"$tmp/err"
expect "two timings" "$(awk -F, 'NR > 1 { print ($4 > 0.5 && $4 <= 1) }' "$tmp/out")" 1

# On four groups every strategy can be judged: the default finds the best one.
least() { deploy -g $graph -t $cluster --groups 4 --refine 0 --no-factors -f json "$@" 2>/dev/null | tr '\n' ' ' | tr -s ' ' | sed 's/.*"found": *{ *"time_ps": *\([0-9]*\).*/\1/'; }
best=$(least -m exhaustive -b 7000)
for seed in 1 2 3; do
    expect "as good as exhaustive search, seed $seed" "$(least -b 2000 --seed $seed)" "$best"
done

# Ctrl-C gives the best so far.
"$ringlet" deploy -g $graph -t $cluster -b 100000000 -m random --refine 100 >"$tmp/out" 2>"$tmp/err" </dev/null &
pid=$!
spent $pid 30
kill -INT $pid
wait $pid
expect "Ctrl-C: exit status" $? 130
expect "Ctrl-C: the best so far" "$(grep -c '^# found' "$tmp/out")" 1

sed '5,6d' $graph >"$tmp/missing.txt"
expect "a node that is missing" "$(deploy -g "$tmp/missing.txt" -t $cluster 2>&1 >/dev/null | head -1 | grep -c 'expected two nodes of this file')" 1
sed '$d' $graph >"$tmp/pieces.txt"
expect "two pieces" "$(deploy -g "$tmp/pieces.txt" -t $cluster 2>&1 >/dev/null | grep -c 'expected a graph in one piece')" 1
{ cat $graph; printf '\tnode5 -- node4\n'; } >"$tmp/cycle.txt"
expect "a cycle" "$(deploy -g "$tmp/cycle.txt" -t $cluster 2>&1 >/dev/null | grep -c 'the graph has a cycle')" 1
sed 's/_time=[0-9.]*/_time=0/g' $graph >"$tmp/timeless.txt"
expect "no times" "$(deploy -g "$tmp/timeless.txt" -t $cluster 2>&1 >/dev/null | grep -c 'no operator has a time')" 1
leaves_nothing 3 "not an operator graph" deploy -g README.md -t $cluster
leaves_nothing 2 "does not say which devices it has" deploy -g $graph -t hgx-h100-8
leaves_nothing 2 "unknown device type 'k80'" deploy -g $graph -t hgx-h100-8 --devices k80:8
leaves_nothing 2 "expected TYPE:COUNT" deploy -g $graph -t hgx-h100-8 --devices v100
leaves_nothing 2 "has only 8 accelerators" deploy -g $graph -t hgx-h100-8 --devices v100:9
leaves_nothing 1 "no strategy found fits into memory" deploy -g $graph -t hgx-h100-8 --devices mine=1@1MiB:8 -b 20
leaves_nothing 2 "exhaustive search has" deploy -g $graph -t $cluster -m exhaustive -b 100
leaves_nothing 2 "expected one of" deploy -g $graph -t $cluster -m nonesuch
leaves_nothing 5 "none.json" deploy -g $graph -t $cluster --resume none.json
sed 's/"group": 0/"group": 99/' "$tmp/json" >"$tmp/bad.json"
leaves_nothing 3 "bad.json:" deploy -g $graph -t $cluster --resume "$tmp/bad.json"

finish
