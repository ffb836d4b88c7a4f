#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ringlet plan: the certificate counts every point, commands take the time of their rows, wrong input is named.
. "$(dirname "$0")/../../support/tap.sh"

net='switch:4@300GB/s,500ns*switch:2@25GB/s,2us'
model=transformer:layers=6,hidden=1024,heads=8,vocabulary=8000,sequence=512
plan() { "$ringlet" plan -q --model "$model" --accelerator a100-80gb -t "$net" "$@" >"$tmp/out" 2>"$tmp/err"; }
field() { sed -n "s/^ *\"$1\": *\\([^,]*\\),*$/\\1/p" "$tmp/out" | head -1; }

plan --train batch=32 -f json
expect "a plan" $? 0
expect "proven" "$(field proven)" true
sum() { grep -E '"(repeated|against_rules|out_of_memory|pruned|simulated)":' "$tmp/out" | sed 's/[^0-9]//g' | awk '{ s += $1 } END { printf "%.0f", s }'; }
expect "each point is counted once" "$(sum)" "$(field points)"
best=$(grep -o '"time_ps": *[0-9]*' "$tmp/out" | head -1 | sed 's/[^0-9]//g')
cp "$tmp/out" "$tmp/first"
plan --train batch=32 -f json
cmp -s "$tmp/out" "$tmp/first" && verdict "the same bytes again" "" || verdict "the same bytes again" "they differ"

# Commands are pasted into a shell.
plan --train batch=32 --within 20% -f json
grep -o '"command": *"ringlet run [^"]*"' "$tmp/out" | sed 's/^"command": *"\(.*\)"$/\1/' | head -3 >"$tmp/commands"
grep -o '"time_ps": *[0-9]*' "$tmp/out" | sed 's/[^0-9]//g' | head -3 >"$tmp/times"
expect "rows within a share" "$(wc -l <"$tmp/times" | tr -d ' ')" 3
while read -r line; do
    sh -c "\"$ringlet\" ${line#ringlet } -q -f json" | sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' | head -1
done <"$tmp/commands" >"$tmp/got"
expect "pasted commands take the times of their rows" "$(cat "$tmp/got")" "$(cat "$tmp/times")"

# Every layout of a small space, one by one: none is faster.
least=$(for tp in 1 2 4 8; do for pp in 1 2 4; do for mb in 1 2 4; do
    "$ringlet" run -q --model "$model" --accelerator a100-80gb -t "$net" --layout "tp=$tp,pp=$pp,sp=on" --train "batch=32,microbatch=$mb,zero=1" \
        --fold-stages -f json 2>/dev/null | sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' | head -1
done; done; done | sort -n | head -1)
plan --layout tp=1:8,pp=1+2+4,cp=1,sp=on,vp=1,order=tp-cp-dp-pp --train batch=32,microbatch=1+2+4,recompute=none,zero=1,schedule=1f1b -f json
expect "the fastest of a small space" "$(grep -o '"time_ps": *[0-9]*' "$tmp/out" | head -1 | sed 's/[^0-9]//g')" "$least"
[ "$least" -ge "$best" ] && verdict "a larger space is not slower" "" || verdict "a larger space is not slower" "$best, $least"

# Lists, strategies, a share, fewer simulations.
plan --train batch=32 --strategy megatron --within 5% -f csv
expect "within a share: rows" "$(awk -F, 'NR > 1 && $2 > 0.05 { n++ } END { print n + 0, (NR > 2) }' "$tmp/out")" "0 1"
grep -q 'zero=[023]' "$tmp/out" && verdict "a strategy fixes its axes" "zero is free" || verdict "a strategy fixes its axes" ""
plan --train batch=32 --most 1
grep -q 'not proven' "$tmp/out" && verdict "stopped early: the gap is said" "" || verdict "stopped early: the gap is said" "$(tail -3 "$tmp/out")"
plan --train batch=32 --gap 50% -f json
expect "a gap" $? 0
plan --layout tp=2,pp=2 --train batch=32,microbatch=2 --verify --top 2 -f csv
awk -F, 'NR > 1 && $3 < $1 * 0.99 { bad = 1 } END { exit bad || NR != 3 }' "$tmp/out" && verdict "whole simulations beside" "" || verdict "whole simulations beside" "$(cat "$tmp/out")"
"$ringlet" run -q --model "$model" --accelerator a100-80gb -t "$net" --layout auto --train batch=32 --fold-stages -f json >"$tmp/out" 2>"$tmp/err"
expect "run --layout auto takes it" "$(field time_ps)" "$best"

# Stopped in the middle: every point is counted, and nothing is said to be proven.
"$ringlet" plan -q --model llama3-70b --accelerator h100-sxm -t 'switch:8@450GB/s,500ns*switch:12500@50GB/s,2us' \
    --train batch=100000 -f json >"$tmp/out" 2>"$tmp/err" &
job=$!
spent $job 100
kill -TERM $job
wait $job
expect "stopped: exit status" $? 130
expect "stopped: not proven" "$(field proven)" false
expect "stopped: each point is counted once" "$(sum)" "$(field points)"

says "an axis twice" 2 "tp" plan --layout tp=2,tp=4 --train batch=32
says "no batch" 2 'expected batch=N' plan --layout tp=1
says "an unknown value" 2 'recompute: expected one of' plan --train batch=32,recompute=some
says "an empty range" 2 'pp: has no value from 9:12 that can be tried on 8 ranks' plan --layout pp=9:12 --train batch=32
says "a share" 2 '--within: expected a share such as 3% or 0.03' plan --train batch=32 --within 3x
says "an option of a run" 2 'is no option of a search for layouts' plan --train batch=32 --fold
says "no topology file" 5 'none.json' plan -t none.json --train batch=32
# More layouts than are shown are counted; a picture has a point for each row.
plan --train batch=32 --within 20% --top 2 --plot "$tmp/rows.svg"
expect "a picture of the rows" "$? $(grep -c 'memory of the fullest stage' "$tmp/rows.svg")" "0 1"
more=$(sed -n 's/^\([0-9]*\) more within 20%; --top .* shows all$/\1/p' "$tmp/out")
plan --train batch=32 --within 20% --top 100000 -f csv
expect "rows that are not shown are counted" "$(($(wc -l <"$tmp/out") - 1))" "$((more + 2))"
model=llama3-70b
says "nothing fits" 3 'no layout of llama3-70b fits: the nearest' plan --train batch=32
finish
