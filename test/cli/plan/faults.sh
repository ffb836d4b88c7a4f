#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ringlet plan with failures and stragglers: goodput is that of run --failures; a folded straggler takes the time of
# all ranks; the fastest layout beside a straggler is that of all points run one by one.
. "$(dirname "$0")/../../support/tap.sh"

net='switch:4@300GB/s,500ns*switch:2@25GB/s,2us'
model=transformer:layers=6,hidden=1024,heads=8,vocabulary=8000,sequence=512
plan() { "$ringlet" plan -q --model "$model" --accelerator a100-80gb -t "$net" "$@" >"$tmp/out" 2>"$tmp/err"; }
json() { "$ringlet" run -q --model "$model" --accelerator a100-80gb -t "$net" -f json "$@" 2>/dev/null; }
value() { sed -n "s/.*\"$1\": *\\([-0-9.]*\\).*/\\1/p" | head -1; }
run() { json "$@" | value time_ps; }
one='--layout tp=2,cp=1,pp=2,vp=1,sp=on,order=tp-cp-dp-pp --train batch=32,microbatch=4,recompute=none,schedule=1f1b,zero=1'

# Goodput, as a run has it, with the best interval and with one that is given.
for failures in mtbf=100h,checkpoint=60s,restart=5min mtbf=30h,checkpoint=2min,restart=5min,interval=20min; do
    plan $one --failures $failures --iterations 10000000 -f json
    got=$(value goodput <"$tmp/out")
    expect "goodput of $failures" "$got" "$(json $one --fold-stages --failures $failures --iterations 10000000 | value goodput)"
    plan $one --failures $failures -f json
    endless=$(value goodput <"$tmp/out")
    echo "$got $endless" | awk '{ exit !($1 > 0.5 && $1 < 1 && ($1 - $2) ^ 2 < 1e-6) }' && verdict "an endless run has nearly the same" "" || verdict "an endless run has nearly the same" "$got, $endless"
done
grep -q ringlet.*--failures "$tmp/out" && verdict "commands run the layout alone" "they do not" || verdict "commands run the layout alone" ""
says "no checkpoint" 2 '--failures: ' plan --train batch=32 --failures mtbf=3h
says "iterations alone" 2 '--iterations: needs --failures' plan --train batch=32 --iterations 3

expect "a folded run counts all accelerators" "$(json $one --fold-stages --failures mtbf=9h,checkpoint=9s --iterations 9 | value accelerators)" 8

# A straggler: folded as all ranks, where no communications share a link.
for layout in tp=1,pp=4,dp=2 tp=4,pp=1,dp=2,sp=on tp=1,pp=2,dp=4; do
    for rank in 0 5; do
        scale="--layout $layout --train batch=16,zero=1 --rank-scale $rank:compute=0.6"
        expect "rank $rank of $layout is slow" "$(run $scale --fold-stages)" "$(run $scale)"
    done
done
[ "$(run --layout pp=2,dp=4 --train batch=16 --fold-stages)" -lt "$(run --layout pp=2,dp=4 --train batch=16 --fold-stages --rank-scale 3:compute=0.9)" ] &&
    verdict "it takes longer" "" || verdict "it takes longer" "it does not"

# The fastest beside a straggler.
space='--layout tp=1:8,pp=1+2+4,cp=1,vp=1,sp=on,order=tp-cp-dp-pp --train batch=32,microbatch=1+4,recompute=none,zero=1,schedule=1f1b'
least=$(for tp in 1 2 4 8; do for pp in 1 2 4; do for mb in 1 4; do
    run --layout "tp=$tp,pp=$pp,sp=on" --train "batch=32,microbatch=$mb,zero=1" --rank-scale 7:compute=0.3 --fold-stages
done; done; done | sort -n | head -1)
plan $space --rank-scale 7:compute=0.3 -f json
expect "the fastest beside a straggler" "$(value time_ps <"$tmp/out")" "$least"
plan --train batch=32 --layout cp=1,vp=1 --rank-scale 7:compute=0.3 --within 2% -f json
expect "bounds hold beside a straggler" $? 0
line=$(grep -o '"command": *"ringlet run [^"]*"' "$tmp/out" | head -1 | sed 's/^"command": *"\(.*\)"$/\1/')
expect "a pasted command has the straggler" "$(sh -c "\"$ringlet\" ${line#ringlet } -q -f json" | value time_ps)" "$(value time_ps <"$tmp/out")"
says "a faster rank" 2 '--rank-scale: expected the compute of rank 3 at 1 or slower' plan --train batch=32 --rank-scale 3:compute=2
says "a slow host" 2 '--rank-scale: expected the compute of rank 3' plan --train batch=32 --rank-scale 3:host=0.5
says "no such rank" 2 '--rank-scale: expected a rank from 0 to 7' plan --train batch=32 --rank-scale 8:compute=0.5
finish
