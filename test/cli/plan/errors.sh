#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ringlet plan where no layout can run: settings that cannot go together are named, and what would fit.
. "$(dirname "$0")/../../support/tap.sh"

net='switch:4@300GB/s,500ns*switch:2@25GB/s,2us'
model=transformer:layers=6,hidden=1024,heads=8,vocabulary=8000,sequence=512
plan() { "$ringlet" plan -q --model "$model" --accelerator a100-80gb -t "$net" "$@" >"$tmp/out" 2>"$tmp/err"; }

# Two settings, or a setting and what is no axis, and the rule.
says "accelerators" 3 'plan: tp=3 and 8 accelerators cannot go together: 8 ranks are not a multiple of tp 3 x cp 1 x pp 1; dp=2 would use 6 of them' plan \
    --layout tp=3 --train batch=32
says "too many" 3 'plan: tp=16 and 8 accelerators cannot go together: 8 ranks are not a multiple of' plan --layout tp=16 --train batch=32
says "two sizes" 3 'plan: tp=8 and cp=2 cannot go together: 8 ranks' plan --layout tp=8,cp=2 --train batch=32
says "two sizes, one of them no axis" 3 'plan: tp=8 and dp=4 on 8 accelerators cannot go together: tp 8 x cp 1 x dp 4' plan --layout dp=4,tp=8 --train batch=32
says "batch and microbatch" 3 'plan: microbatch=3 and batch=128 cannot go together: 128 samples are not a multiple' plan --train batch=128,microbatch=3
says "a batch that cannot be cut" 3 'plan: tp=1, pp=1, cp=1 and batch=5 cannot go together: 5 samples are not a multiple of dp 8' plan \
    --layout tp=1,pp=1,cp=1 --train batch=5
says "stages and chunks" 3 "plan: pp=8 and vp=4 cannot go together: 8 stages x 4 chunks exceed the model's 6 blocks" plan --layout pp=8,vp=4 --train batch=128
says "chunks without a pipeline" 3 'pp=1 and vp=4 cannot go together: chunks need a pipeline' plan --layout pp=1,vp=4 --train batch=32
says "schedule and chunks" 3 'plan: vp=2 and schedule=1f1b cannot go together: several chunks per stage need schedule=interleaved' plan \
    --layout vp=2 --train batch=32,schedule=1f1b
says "a strategy's setting" 3 'plan: schedule=1f1b of megatron and vp=2 cannot go together' plan --layout vp=2 --train batch=32 --strategy megatron
says "no experts" 3 'plan: ep=4 and the model transformer cannot go together: transformer has no experts' plan --layout ep=4 --train batch=32
says "settings that do not matter are not named" 3 'plan: tp=3 and 8 accelerators cannot' plan --layout tp=3,sp=on,vp=1 --train batch=32,microbatch=1,zero=1,schedule=1f1b

# One axis, two values.
says "strategy and layout" 2 '--layout: tp=2 and tp=4 of --strategy cannot go together' plan --layout tp=2 --strategy megatron:tp=4 --train batch=32
says "layout and train" 2 '--train: tp=4 and tp=2 of --layout cannot go together' plan --layout tp=2 --train batch=32,tp=4
says "within and gap" 2 '--gap: does not go with --within' plan --within 3% --gap 1% --train batch=32
says "no simulation" 2 '--most: expected at least 1' plan --most 0 --train batch=32
says "no memory" 2 '--headroom: expected a share' plan --headroom 100% --train batch=32
says "not my layout" 2 "--mine: expected axes of a search with one value each, such as tp=8,pp=2,microbatch=1, got 'batch=4'" plan --mine tp=2,batch=4 --train batch=32
says "a list in my layout" 2 "--mine: tp: expected a whole number, got '2+4'" plan --mine tp=2+4 --train batch=32
says "my axis twice" 2 '--mine: tp: is given twice' plan --mine tp=2,tp=4 --train batch=32
says "a reach" 2 '--reach: expected a share' plan --reach x --train batch=32,microbatch=1,zero=0,schedule=1f1b,recompute=none --layout tp=2,pp=1,cp=1,vp=1,order=tp-cp-dp-pp

# Nothing fits: each value that is offered does fit, and takes the memory that was said.
model=llama3-70b net='switch:8@300GB/s,500ns*switch:4@25GB/s,2us'
fixed='tp=8,pp=1,cp=1,vp=1,order=tp-cp-dp-pp'
says "nothing fits" 3 'plan: no layout with tp=8, pp=1, cp=1, vp=1, order=tp-cp-dp-pp, microbatch=1, recompute=none, schedule=1f1b and zero=0 fits: the nearest (tp=8 dp=4 microbatch=1 recompute=none zero=0) needs' plan \
    --layout "$fixed" --train batch=32,microbatch=1,recompute=none,schedule=1f1b,zero=0
grep -o 'fit with .*' "$tmp/err" | sed 's/fit with //; s/; or with /\n/g' >"$tmp/offers"
[ "$(wc -l <"$tmp/offers")" -ge 2 ] && verdict "several offers" "" || verdict "several offers" "$(cat "$tmp/offers")"
while read -r setting bytes; do
    plan --layout "$(echo "$fixed" | sed "s/${setting%=*}=[^,]*/$setting/")" --train "$(echo batch=32,microbatch=1,recompute=none,schedule=1f1b,zero=0 | sed "s/${setting%=*}=[^,]*/$setting/")" -f csv
    expect "offered: $setting" "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "memory_bytes") at = i } NR == 2 { printf "(%.1f", $at / 1e9 }' "$tmp/out")" "${bytes% GB)}"
done <"$tmp/offers"
"$ringlet" plan -q --model llama3-8b --accelerator a100-40gb -t switch:5@300GB/s,500ns --layout tp=1,pp=1,cp=1,vp=1,order=tp-cp-dp-pp \
    --train batch=60,microbatch=1,recompute=none,schedule=1f1b,zero=1 >"$tmp/out" 2>"$tmp/err"
expect "two changes at once" "$? $(grep -c 'it would fit with pp=5 and recompute=full (36.3 GB); or with cp=5 and zero=3 (33.9 GB); or with recompute=full and zero=3 (33.3 GB)$' "$tmp/err")" "3 1"
"$ringlet" plan -q --model llama3-8b --accelerator a100-40gb -t switch:3@300GB/s,500ns --layout tp=1,pp=1 --train batch=60,zero=1 >"$tmp/out" 2>"$tmp/err"
expect "no change" "$? $(grep -c 'it takes more accelerators, or more memory on each$' "$tmp/err")" "3 1"
says "headroom alone" 3 'it would fit without --headroom' plan --headroom 90% --layout tp=8,pp=2+4,cp=1,vp=1 --train batch=32 --strategy megatron
says "two questions" 2 '--robust: does not go with --accelerators' plan --accelerators 8:64 --robust bandwidth=0.5:1 --train batch=32
says "the user's layout among several searches" 2 '--mine: is about one search' plan --robust bandwidth=0.5:1 --mine tp=2 --train batch=32
says "a budget's step without a budget" 2 '--steps: needs --with-network' plan --steps 4 --train batch=32
"$ringlet" run -q --model "$model" --accelerator a100-80gb -t "$net" --layout auto --train batch=32,tp=3 >"$tmp/out" 2>"$tmp/err"
expect "run --layout auto says it, too" "$? $(grep -c 'tp=3 and the model llama3-70b cannot\|tp=3 and 32 accelerators cannot' "$tmp/err")" "3 1"
finish
