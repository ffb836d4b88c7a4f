#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ringlet deploy: a search, its strategy file, the comparison of methods and of timings, Ctrl-C, and wrong input. Speaks TAP;
# the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"
graph=traces/small-cnn.graph.txt
cluster=testbed-4xv100-4xv100
if [ ! -x "$(dirname "$ringlet")/ringlet-deploy" ]; then
    skip "ringlet deploy" "needs METIS and OpenBLAS (libmetis-dev, libopenblas-serial-dev)"
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
# Steps of a search: a marker at each better strategy, none at a corner.
expect "markers stand where data are" "$(grep '^<g fill=.*</g>$' "$tmp/curve.svg" | awk '{ n = split($0, p, "d=\"M"); for (i = 2; i <= n; i++) { split(p[i], x, " "); if (seen[NR, x[1]]++) twice++ } }
    END { print NR, twice + 0 }')" "2 0"
deploy -g traces/transformer-8/transformer.3.et -t $cluster --batch 16 -b 30 --refine 20 >"$tmp/out" 2>"$tmp/err"
expect "the trace of one rank" "$? $(grep -c '^# transformer on .*: 33 operators' "$tmp/out") $(grep -c '237.4 MiB in 7' "$tmp/err")" "0 1 1"
leaves_nothing 2 "has the traces of 8 ranks" deploy -g traces/transformer-8 -t $cluster --batch 16
leaves_nothing 2 "(--batch)" deploy -g traces/transformer-8/transformer.0.et -t $cluster
expect "a trace from standard input" "$("$ringlet" deploy -g - -t $cluster 2>&1 >/dev/null <traces/transformer-8/transformer.0.et | grep -c 'a trace is read from a file')" 1
leaves_nothing 2 "unknown model" deploy -g gpt2-smal -t $cluster
deploy evaluate -g $graph -t "$cluster;testbed-2xv100-4xp100-2x1080ti" -b 60 --seeds 2 -f csv >"$tmp/out" 2>"$tmp/err"
expect "eight methods on two clusters" "$(awk -F, 'NR > 1 { n++; wrong += $7 < $8 || $9 < $7 || $8 <= 0 } END { print n, wrong + 0 }' "$tmp/out")" "16 0"
deploy judges -g $graph -t $cluster -b 60 -f csv >"$tmp/out" 2>"$tmp/err"
expect "two timings" "$(awk -F, 'NR > 1 { print ($4 > 0.5 && $4 <= 1) }' "$tmp/out")" 1

# The page: its data are those of the JSON result. -o s.json needs no --format.
deploy -g $graph -t $cluster -b 60 --refine 30 --report "$tmp/page.html" -o "$tmp/s.json" >"$tmp/out" 2>"$tmp/err"
expect "a page, and a result by its name" "$? $(cat "$tmp/out" "$tmp/err") $(head -c 1 "$tmp/s.json")" "0  {"
expect "one page, from its first tag to its last" \
    "$(head -n 1 "$tmp/page.html") $(tail -n 1 "$tmp/page.html") $(grep -c 'id="data">{' "$tmp/page.html") $(grep -c '^  "kind": "deploy"' "$tmp/page.html")" "<!doctype html> </html> 1 1"
sed -n '/id="data">{/,/^}/p' "$tmp/page.html" | sed 's/.*id="data">//; s/<\/script>.*//' >"$tmp/data"
expect "no text of the data ends their element" "$(grep -c '<' "$tmp/data")" 0
expect "its brackets match" "$(tr -cd '{' <"$tmp/data" | wc -c) $(tr -cd '[' <"$tmp/data" | wc -c)" "$(tr -cd '}' <"$tmp/data" | wc -c) $(tr -cd ']' <"$tmp/data" | wc -c)"
plans() { tr '\n' ' ' <"$1" | tr -s ' ' | grep -o '"time_ps": *[0-9]*, *\("fits": *[a-z]*, *\)*"network_time_ps": *[0-9]*' | sed 's/"fits": *[a-z]*, *//'; }
expect "it has the times of each strategy" "$(plans "$tmp/data")" "$(plans "$tmp/s.json")"
rows() { tr '\n' ' ' <"$1" | tr -s ' ' | grep -o '"group": *[0-9]*, "operators": *[0-9]*, "first": "[^"]*", "compute_ps": *[0-9]*, "parameter_bytes": *[0-9]*, "devices": "[^"]*", "use": "[a-z_]*", "slower": *[-0-9.e]*'; }
expect "and each group" "$(rows "$tmp/data" | grep -c .) $(rows "$tmp/data" | cksum)" "$(grep -o '"use": "[a-z_]*", "slower"' "$tmp/s.json" | grep -c .) $(rows "$tmp/s.json" | cksum)"
expect "a device each, with its memory, and both curves" "$(grep -o '"peak_bytes"' "$tmp/data" | wc -l) $(grep -o '<svg' "$tmp/page.html" | wc -l) $(grep -o 'u003csvg' "$tmp/data" | wc -l)" "8 0 2"
expect "the command, without names of outputs" "$(grep -o '"command_line": *".*"' "$tmp/data" | sed 's/.*: *//')" "\"ringlet deploy --graph $graph --topology $cluster --budget 60 --refine 30\""
"$ringlet" run --trace "$tmp/s.json" -t $cluster -q >"$tmp/out" 2>"$tmp/err"
expect "run replays s.json" "$? $(cat "$tmp/err")" "0 "
deploy -g $graph -t $cluster -b 60 --refine 30 --report "$tmp/page2.html" -f csv -o "$tmp/csv.json" 2>/dev/null
expect "--format overrides the name, and the page stays the same" "$(head -n 1 "$tmp/csv.json" | cut -d, -f1-3) $(cmp "$tmp/page.html" "$tmp/page2.html" 2>&1)" "group,operators,first "
deploy -g gpt2-small -t $cluster --batch 8 -b 10 --refine 0 --no-factors -m random --report "$tmp/model.html" >"$tmp/out" 2>/dev/null
expect "a page tells what the reader assumes" "$(grep -c '"notes": *\["times are estimated' "$tmp/model.html")" 1
for place in none/p.html "$tmp"; do
    deploy -g $graph -t $cluster -b 100000000 --report $place >"$tmp/out" 2>"$tmp/err"
    expect "no page at $place: one error, before the search" "$? $(wc -l <"$tmp/err") $(grep -c "^ringlet: $place: cannot " "$tmp/err") $(wc -c <"$tmp/out")" "5 1 1 0"
done

# On four groups every strategy can be judged: the default finds the best one.
least() { deploy -g $graph -t $cluster --groups 4 --refine 0 --no-factors -f json "$@" 2>/dev/null | tr '\n' ' ' | tr -s ' ' | sed 's/.*"found": *{ *"time_ps": *\([0-9]*\).*/\1/'; }
best=$(least -m exhaustive -b 7000)
for seed in 1 2 3; do
    expect "as good as exhaustive search, seed $seed" "$(least -b 2000 --seed $seed)" "$best"
done

# The policy: training does not depend on threads, its weights guide a search, and wrong weights are refused.
teach() { deploy train --games 10 --rounds 2 --steps 30 --playouts 30 --width 8 "$@"; }
teach -o "$tmp/one.weights" -j 1 >"$tmp/out" 2>"$tmp/err"
expect "training: two rounds" "$? $(cat "$tmp/err") $(grep -c '^ *[12] ' "$tmp/out")" "0  2"
teach -o "$tmp/two.weights" -j 2 >"$tmp/again" 2>&1
expect "training does not depend on threads" "$(cmp "$tmp/one.weights" "$tmp/two.weights" 2>&1) $(cmp "$tmp/out" "$tmp/again" 2>&1)" " "
expect "weights say how they came about" "$(head -n 1 "$tmp/one.weights" | grep -ac 'ringlet deploy train .*--seed 1')" 1
deploy policy -g $graph -n 4 -b 60 --playouts 20 --weights "$tmp/one.weights" -f csv >"$tmp/out" 2>"$tmp/err"
expect "the policy on four clusters: wins, ties and losses, and cross-entropies" \
    "$? $(awk -F, 'NR > 1 && !/^#/ { n++; if ($3 + $4 + $5 != 4 || $8 < $9 || $10 < $9) wrong++ } END { print n, wrong + 0 }' "$tmp/out")" "0 2 0"
deploy -g $graph -t $cluster -b 100 --refine 0 --weights "$tmp/one.weights" -o "$tmp/small.json" 2>"$tmp/err"
expect "a search with these weights" "$? $(cat "$tmp/err")" "0 "
deploy -g $graph -t $cluster -b 100 --refine 0 --trials 3 -j 1 -f csv >"$tmp/out" 2>"$tmp/err"
expect "three trials on one thread as on three" "$(deploy -g $graph -t $cluster -b 100 --refine 0 --trials 3 -j 3 -f csv 2>/dev/null | cmp - "$tmp/out" 2>&1)" ""
deploy -g random:3 -t random:4 -b 60 >"$tmp/out" 2>"$tmp/err"
expect "a random model on a random cluster" "$? $(grep -c '^# random-3 on random-4' "$tmp/out")" "0 1"
leaves_nothing 3 "these are no weights" deploy -g $graph -t $cluster --weights README.md
leaves_nothing 5 "no such file, and no weights of that name" deploy -g $graph -t $cluster --weights tug.weights
head -c 5000 "$tmp/one.weights" >"$tmp/cut.weights"
leaves_nothing 3 "bytes of weights" deploy -g $graph -t $cluster --weights "$tmp/cut.weights"
leaves_nothing 2 "expected a multiple of 4" deploy train -o "$tmp/no.weights" --width 6
deploy train -o none/w >"$tmp/out" 2>"$tmp/err"
expect "no place for weights: one error, before the games" "$? $(cat "$tmp/err" | grep -c '^ringlet: none/w: cannot ') $(wc -c <"$tmp/out")" "5 1 0"

# Ctrl-C gives the best so far.
"$ringlet" deploy -g $graph -t $cluster -b 100000000 -m random --refine 100 --report "$tmp/stopped.html" >"$tmp/out" 2>"$tmp/err" </dev/null &
pid=$!
spent $pid 30
kill -INT $pid
wait $pid
expect "Ctrl-C: exit status" $? 130
expect "Ctrl-C: the best so far" "$(grep -c '^# found' "$tmp/out")" 1
expect "Ctrl-C: its page says so" "$(grep -c '^  "stopped": true' "$tmp/stopped.html") $(tail -n 1 "$tmp/stopped.html")" "1 </html>"

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
