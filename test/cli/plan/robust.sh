#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ringlet plan --robust: the least worst regret is that of all points run one by one; factors are those of a run.
. "$(dirname "$0")/../../support/tap.sh"

net='switch:4@300GB/s,500ns*switch:2@25GB/s,2us'
model=transformer:layers=6,hidden=1024,heads=8,vocabulary=8000,sequence=512
plan() { "$ringlet" plan -q --model "$model" --accelerator a100-80gb -t "$net" "$@" >"$tmp/out" 2>"$tmp/err"; }
run() { "$ringlet" run -q --model "$model" --accelerator a100-80gb --fold-stages -f json "$@" 2>/dev/null | sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' | head -1; }
field() { sed -n "s/^ *\"$1\": *\\([^,]*\\),*$/\\1/p" "$tmp/out" | head -1; }

# Factors on a dimension and on accelerators mean what the settings of a run mean.
layout='--layout tp=2,pp=2,dp=2 --train batch=32,microbatch=2'
expect "a slower dimension is a slower topology" "$(run $layout -t "$net" --dim-scale 1=0.2)" "$(run $layout -t 'switch:4@300GB/s,500ns*switch:2@5GB/s,2us')"
expect "the inner dimension" "$(run $layout -t "$net" --dim-scale 0=2)" "$(run $layout -t 'switch:4@600GB/s,500ns*switch:2@25GB/s,2us')"
small='--layout cp=1,vp=1,order=tp-cp-dp-pp,sp=on'
plan $small --train batch=32,recompute=none --compute-scale 3 -f json
expect "bounds hold on faster accelerators" $? 0
plan $small --train batch=32,recompute=none --compute-scale 0.3 --host-scale 2 --network-scale 3 -f json
expect "and on slower ones" $? 0

# Every point of a small space in every case.
cases='1:1 0.05:0.8 1:0.8 0.05:1.5 1:1.5'
for tp in 1 2 4 8; do for pp in 1 2; do for mb in 1 4; do for zero in 0 3; do
    times=
    for case in $cases; do
        time=$(run -t "$net" --dim-scale "1=${case%:*}" --compute-scale "${case#*:}" --layout "tp=$tp,pp=$pp,sp=on" --train "batch=32,microbatch=$mb,zero=$zero")
        times="$times ${time:--}"
    done
    echo "$times"
done; done; done; done | grep -v -e - >"$tmp/all"
want=$(awk '{ for (c = 1; c <= NF; c++) { t[NR, c] = $c; if (NR == 1 || $c < best[c]) best[c] = $c } n = NF }
    END { for (i = 1; i <= NR; i++) { worst = 0; for (c = 1; c <= n; c++) { r = t[i, c] / best[c] - 1; if (r > worst) worst = r }
        all[i] = worst; if (i == 1 || worst < least) least = worst }
    for (i = 1; i <= NR; i++) if (all[i] <= least + 10) near++
    printf "%.4f %d", least, near }' "$tmp/all")
near=${want#* } want=${want% *}
space='--layout tp=1:8,pp=1+2,cp=1,vp=1,sp=on,order=tp-cp-dp-pp'
plan $space --train batch=32,microbatch=1+4,recompute=none,zero=0+3,schedule=1f1b --robust bandwidth=0.05:1,efficiency=0.8:1.5 -f json
expect "a robust plan" $? 0
expect "the least worst regret of all points" "$(printf %.4f "$(field regret)")" "$want"
expect "cases: the corners, and the nominal one" "$(grep -c '"best_ps"' "$tmp/out")" 5
nominal=$(field nominal_regret)
[ "$(echo "$nominal $want" | awk '{ print ($1 >= $2 && $2 > 0) }')" = 1 ] && verdict "the nominal layout has no less" "" || verdict "the nominal layout has no less" "$nominal, $want"
plan $space --train batch=32,microbatch=1+4,recompute=none,zero=0+3,schedule=1f1b --robust bandwidth=0.05:1,efficiency=0.8:1.5 --within 1000% --top 100 -f csv
expect "within a share: all layouts that are" "$(awk 'NR > 1' "$tmp/out" | wc -l | tr -d ' ')" "$near"
plan $space --train batch=32,microbatch=1+4,recompute=none,zero=0+3,schedule=1f1b --robust bandwidth=1 -f json
expect "nothing uncertain: no regret" "$(field regret)" 0.000000

says "a range upside down" 2 '--robust: bandwidth: expected two factors from 0.001 to 1000, the lower first' plan --train batch=32 --robust bandwidth=2:1
says "no number" 2 '--robust: efficiency: expected two factors' plan --train batch=32 --robust efficiency=fast
says "no factor" 2 "--robust: bandwith: unknown setting of what is uncertain; did you mean 'bandwidth'?" plan --train batch=32 --robust bandwith=0.1:1
says "stopped early is no proof" 2 'most: does not go with --robust' plan --train batch=32 --robust bandwidth=0.1:1 --most 3
says "no such dimension" 2 ' has dimensions 0 to 1, not 7' plan --train batch=32 --dim-scale 7=2
finish
