#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ringlet plan --with-network: pasted commands take the times of their rows, every pair of layout and split is counted, budgets are
# kept, wrong input is named.
. "$(dirname "$0")/../../support/tap.sh"

net='ring:4@60GB/s,500ns*switch:2@30GB/s,2us'
plan() {
    "$ringlet" plan -q --model transformer:layers=6,hidden=1024,heads=8,vocabulary=8000,sequence=512 --accelerator a100-80gb -t "$net" \
        --train batch=32,schedule=1f1b --layout cp=1,order=tp-cp-dp-pp "$@" >"$tmp/out" 2>"$tmp/err"
}
field() { sed -n "s/.*\"$1\": *\\([^,}]*\\)[,}]*.*/\\1/p" "$tmp/out" | head -1; }
row_times() { sed -n '/"results"/,$p' "$tmp/out" | grep -o '"time_ps": *[0-9]*' | sed 's/[^0-9]//g'; }

plan --with-network --total 90GB/s --steps 32 --within 3% -f json
expect "layout and bandwidths" $? 0
expect "proven" "$(field proven)" true
expect "each pair is counted once" "$(($(field pairs_pruned) + $(field pairs_passed) + $(field pairs_judged)))" "$(field pairs)"
expect "pairs are layouts x splits" "$(($(field simulated) * 31))" "$(field pairs)"
expect "each layout is counted once" \
    "$(($(field repeated) + $(field against_rules) + $(field out_of_memory) + $(field pruned) + $(field simulated)))" "$(field points)"
best=$(row_times | head -1)
given=$(sed -n '/"as_given"/,/}/p' "$tmp/out" | sed -n 's/.*"time_ps": *\([0-9]*\).*/\1/p')
resplit=$(sed -n '/"best_split_for_that"/,/}/p' "$tmp/out" | sed -n 's/.*"time_ps": *\([0-9]*\).*/\1/p')
[ "$best" -le "$resplit" ] && [ "$resplit" -le "$given" ] && verdict "each freedom helps" "" || verdict "each freedom helps" "$best, $resplit, $given"
grep -o '"command": *"ringlet run [^"]*"' "$tmp/out" | sed 's/^"command": *"\(.*\)"$/\1/' | head -3 >"$tmp/commands"
row_times | head -3 >"$tmp/times"
while read -r line; do
    sh -c "\"$ringlet\" ${line#ringlet } -q -f json" | sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' | head -1
done <"$tmp/commands" >"$tmp/got"
expect "pasted commands take the times of their rows" "$(cat "$tmp/got")" "$(cat "$tmp/times")"

# Every split of the grid with its best layout, by the search of layouts alone: none is faster.
least=$(
    total_net=$net
    for k in 1 2 3 4 5 6 7; do
        net="ring:4@${k}0GB/s,500ns*switch:2@$((8 - k))0GB/s,2us"
        plan -f json
        row_times | head -1
    done | sort -n | head -1
    net=$total_net
)
plan --with-network --total 80GB/s --steps 8 -f json
got=$(row_times | head -1)
scaled=$(sed -n '/"as_given"/,/}/p' "$tmp/out" | sed -n 's/.*"time_ps": *\([0-9]*\).*/\1/p')
[ "$scaled" -lt "$least" ] && least=$scaled
expect "the fastest of all splits" "$got" "$least"
plan --with-network --total 160GB/s --steps 8 -f json
[ "$(row_times | head -1)" -le "$got" ] && verdict "a larger budget is not slower" "" || verdict "a larger budget is not slower" "$(row_times)"

# Dollars.
plan --with-network --budget '20k$' --steps 16 -f csv
expect "a price" $? 0
expect "the price is kept" "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "cost_dollars") c = i } NR > 1 { print ($c > 19000 && $c <= 20000) }' "$tmp/out")" 1

# Stopped early.
plan --with-network --total 90GB/s --most 3
grep -q '^not proven' "$tmp/out" && verdict "stopped early: not proven" "" || verdict "stopped early: not proven" "$(tail -3 "$tmp/out")"
plan --with-network --total 90GB/s --gap 20% -f json
[ "$(row_times | head -1)" -le $((best * 12 / 10)) ] && verdict "a gap" "" || verdict "a gap" "$(row_times), $best"
"$ringlet" plan -q --model llama3-70b --accelerator h100-sxm \
    -t 'ring:8@200GB/s,500ns*fully-connected:8@200GB/s,500ns*switch:64@50GB/s,2us' --train batch=4096 --with-network --total 450GB/s -f json >"$tmp/out" 2>"$tmp/err" &
job=$!
spent $job 100
kill -TERM $job
wait $job
expect "Ctrl-C: exit status" $? 130
expect "Ctrl-C: not proven" "$(field proven)" false

says "no budget" 2 '--with-network: needs --total RATE or --budget DOLLARS' plan --with-network
says "two budgets" 2 '--budget: and --total are two budgets' plan --with-network --total 90GB/s --budget '1M$'
says "a rate without a unit" 2 "--total: expected a rate with a unit, such as 400Gbps or 50GB/s, got '90'" plan --with-network --total 90
says "dollars without a unit" 2 "--budget: expected dollars, such as '10M$', got '20k'" plan --with-network --budget 20k
says "a budget alone" 2 '--total: needs --with-network' plan --total 90GB/s
says "a budget too small" 3 '--total: is too small for 64 --steps' plan --with-network --total 9B/s
says "fewer steps than dimensions" 2 '--steps: expected 2 (dimensions) to 4096, got 1' plan --with-network --total 90GB/s --steps 1
says "no such prices" 2 '--cost: expected libra' plan --with-network --budget '1M$' --cost none
net=hgx-h100-8
says "a network by name" 2 "'hgx-h100-8' has no bandwidth to change" plan --with-network --total 90GB/s
net='switch:4@60GB/s,500ns*switch:2@30GB/s,2us,nics=2'
says "a second bandwidth" 2 "has the setting 'nics'" plan --with-network --total 90GB/s
net='torus:2x4@60GB/s,500ns'
says "a shape without prices" 3 "has a torus" plan --with-network --budget '1M$'
finish
