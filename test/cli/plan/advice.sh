#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ringlet plan: what binds the fastest layout, what would help it, what is just out of reach, and where a layout of the user
# stands. Each figure is compared with that of a run, or of a search, by hand.
. "$(dirname "$0")/../../support/tap.sh"

net='switch:4@300GB/s,500ns*switch:2@25GB/s,2us'
model=transformer:layers=6,hidden=1024,heads=8,vocabulary=8000,sequence=512
fixed='cp=1,order=tp-cp-dp-pp,sp=on'
plan() { "$ringlet" plan -q --model "$model" --accelerator a100-80gb -t "$net" "$@" >"$tmp/out" 2>"$tmp/err"; }
run() { # settings of --layout, others
    layout=$1
    shift
    "$ringlet" run -q --model "$model" --accelerator a100-80gb -t "$net" --layout "$layout" --fold-stages -f json "$@" 2>"$tmp/err" |
        sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' | head -1
}
numbers() { grep -oE "\"$1\": *[0-9.]+" "$tmp/out" | sed 's/.*: *//'; } # of members of this name
gain() { grep "\"what\": \"$1" "$tmp/out" | grep -oE '"gain": *[0-9.]+' | sed 's/.*: *//'; }
close() { # name, share, share
    awk -v a="$2" -v b="$3" 'BEGIN { exit !(a != "" && a - b < 2e-6 && b - a < 2e-6) }' && verdict "$1" "" || verdict "$1" "'$2', '$3'"
}
ratio() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.6f", a / b - 1 }'; }

# Four stages: the layout is fixed, so that each change can be run by hand.
point='tp=2,cp=1,pp=4,ep=1,sp=on,order=tp-cp-dp-pp,vp=1'
train=microbatch=1,recompute=full,schedule=1f1b,zero=0
plan --layout "$point" --train "batch=8,$train" -f json
time=$(run "$point" --train "batch=8,$train")
close "accelerators" "$(gain accelerators)" "$(ratio "$time" "$(run "$point" --train "batch=8,$train" --compute-scale 1.1)")"
close "more samples" "$(gain 'batch x 2')" "$(awk -v a="$time" -v b="$(run "$point" --train "batch=16,$train")" 'BEGIN { printf "%.6f", 2 * a / b - 1 }')"
close "nothing computed again" "$(gain nothing)" "$(ratio "$time" "$(run "$point" --train "batch=8,$(echo $train | sed s/full/none/)")")"
inner=$(net='switch:4@600GB/s,500ns*switch:2@25GB/s,2us' && run "$point" --train "batch=8,$train")
outer=$(net='switch:4@300GB/s,500ns*switch:2@50GB/s,2us' && run "$point" --train "batch=8,$train")
close "the innermost dimension" "$(gain 'bandwidth of the innermost')" "$(ratio "$time" "$inner")"
close "the outermost dimension" "$(gain 'bandwidth of the outermost')" "$(ratio "$time" "$outer")"
numbers gain >"$tmp/gains"
sort -rg "$tmp/gains" | cmp -s - "$tmp/gains" && verdict "the largest gain first" "" || verdict "the largest gain first" "$(cat "$tmp/gains")"
sum=$(grep '"shares"' "$tmp/out" | grep -oE '[0-9]\.[0-9]+' | awk '{ s += $1 } END { printf "%.2f", s }')
expect "shares of the time add up" "$sum" 1.00
plan --layout "$point" --train "batch=8,$train"
grep -q '^time of layout 1: compute [0-9.]* %, .*bubble [0-9.]* %.*; memory [0-9]* % full on stage 0 of 4$' "$tmp/out" &&
    verdict "what binds" "" || verdict "what binds" "$(grep 'time of' "$tmp/out")"
grep -q 'tensor parallelism (inside nodes)' "$tmp/out" && verdict "where groups communicate" "" || verdict "where groups communicate" "$(grep 'time of' "$tmp/out")"

# My layout: its time is that of its command, and all faster layouts of a small space are counted.
plan --layout "$fixed,tp=1+2+4,pp=1+2,vp=1" --train batch=32,microbatch=1+2+4,recompute=none,zero=1,schedule=1f1b --mine tp=4,pp=2,microbatch=1 --within 1000% --top 100 -f json
mine=$(numbers mine_ps)
expect "mine: time" "$mine" "$(run "$fixed,tp=4,pp=2,vp=1" --train batch=32,microbatch=1,recompute=none,zero=1,schedule=1f1b)"
faster=$(numbers time_ps | awk -v t="$mine" '$1 < t { n++ } END { print n + 0 }')
expect "mine: how many are faster" "$(numbers 'faster_at_[a-z]*' | tr '\n' ' ')" "$faster $faster "
plan --layout "$fixed,tp=1+2+4,pp=1+2,vp=1" --train batch=32,microbatch=1+2+4,recompute=none,zero=1,schedule=1f1b --mine tp=4,pp=2,microbatch=1 -f json
numbers 'faster_at_[a-z]*' | tr '\n' ' ' | awk -v n="$faster" '{ exit !($1 <= n && n <= $2) }' &&
    verdict "mine: bounds of the number" "" || verdict "mine: bounds of the number" "$faster: $(grep faster_at "$tmp/out")"
plan --layout "$fixed" --train batch=32,zero=1,schedule=1f1b,recompute=none --mine tp=4,pp=2,microbatch=1
grep -q '^mine: .* s, [0-9.]* GB, [0-9.]* % slower than layout 1: .* more ' "$tmp/out" && verdict "mine: why" "" || verdict "mine: why" "$(grep mine "$tmp/out")"
plan --layout "$fixed" --train batch=32,zero=1,schedule=1f1b,recompute=none --mine tp=4,pp=2,microbatch=3
grep -q '^mine cannot run: batch: 32 samples are not a multiple of' "$tmp/out" && verdict "mine: against a rule" "" || verdict "mine: against a rule" "$(grep mine "$tmp/out")"

# Out of reach: with a little less memory than the fastest layout needs, it is named, with what is missing.
small='tp=1+2,pp=1,cp=1,ep=1,sp=on,order=tp-cp-dp-pp,vp=1' few=batch=64,microbatch=1+2+4,recompute=none+full,zero=0,schedule=1f1b
plan --layout "$small" --train "$few" -f csv
need=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "memory_bytes") at = i } NR == 2 { printf "%.0f", $at }' "$tmp/out")
best=$(awk -F, 'NR == 2 { print $1 }' "$tmp/out")
headroom=$(awk -v n="$need" 'BEGIN { printf "%.6f", 1 - n * 0.97 / 85200000000 }')
plan --layout "$small" --train "$few" --headroom "$headroom" --reach 5% -f json
expect "out of reach: the fastest" "$(numbers needs_ps | head -1)" "$best"
grep -q '"would_fit_with": "[^"]*recompute=selective"' "$tmp/out" && verdict "out of reach: what would make it fit" "" || verdict "out of reach: what would make it fit" "$(grep would_fit "$tmp/out")"
plan --layout "$small" --train "$few" --headroom "$headroom" --advice
grep -A1 'just out of reach' "$tmp/out" | grep -q '^  [0-9.]* GB too large, .* % faster)  .*; would fit with ' && verdict "out of reach, as text" "" ||
    verdict "out of reach, as text" "$(grep -A2 reach "$tmp/out")"
grep -q '% faster  10 % more memory, searched again: ' "$tmp/out" && verdict "more memory" "" || verdict "more memory" "$(grep -A6 'would help' "$tmp/out")"
plan --layout "$small" --train "$few" --reach 5%
grep -q '^no faster layout is just out of reach$' "$tmp/out" && verdict "nothing is out of reach" "" || verdict "nothing is out of reach" "$(grep reach "$tmp/out")"
finish
