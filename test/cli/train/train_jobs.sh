#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Several training jobs on one fabric, each from a file of options. On separate links each takes the time it takes alone; on a
# shared cable gradients take twice as long. Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"

result() { "$ringlet" run -q --format json "$@" 2>"$tmp/err" </dev/null >"$tmp/json"; }
of_jobs() { # FIELD: of each job
    grep '"first_rank"' "$tmp/json" | sed "s/.*\"$1\": \[*\([0-9.]*\).*/\1/" | tr '\n' ' ' | sed 's/ $//'
}
total() { sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' "$tmp/json" | head -1; }

# A GPT in a pipeline and a ResNet over a data-parallel group, on a switch whose cables nobody shares.
net='--topology switch:8@50GB/s,500ns'
printf '{"model": "gpt2-small", "accelerator": "a100-40gb", "layout": {"tp": 2, "pp": 2}, "train": {"batch": 4, "steps": 2}}' >"$tmp/gpt.json"
printf '{"_": "images", "model": "resnet50", "accelerator": "v100-sxm2-16gb", "train": "batch=128,microbatch=32,precision=fp16"}' >"$tmp/resnet.json"
for network in flow alpha-beta; do
    result --config "$tmp/gpt.json" --layout tp=2,pp=2,dp=1 $net --network $network
    gpt=$(total)
    result --config "$tmp/resnet.json" --layout dp=4 $net --network $network
    resnet=$(total)
    result $net --network $network --job "$tmp/gpt.json@0-3" --job "$tmp/resnet.json@4-7"
    expect "each takes what it takes alone, $network" "$(of_jobs time_ps)" "$gpt $resnet"
    result $net --network $network --job "$tmp/gpt.json@0-3" --job "$tmp/resnet.json@4-7" --alone
    expect "and is told so, $network" "$(of_jobs alone_ps), $(of_jobs slowdown)" "$gpt $resnet, 1.000000 1.000000"
    result $net --network $network --config "$tmp/resnet.json" --layout dp=4 --job "$tmp/gpt.json@7,5,6,4"
    expect "beside the command's own, on other accelerators, $network" "$(of_jobs time_ps)" "$resnet $gpt"
done
result $net --config "$tmp/resnet.json" --layout dp=4
own=$(grep -o '"tokens_per_s": [0-9.]*' "$tmp/json")
result $net --config "$tmp/resnet.json" --layout dp=4 --job "$tmp/gpt.json@4-7"
expect "tokens a second are of the command's own time" "$(grep -o '"tokens_per_s": [0-9.]*' "$tmp/json")" "$own"
result $net --job "$tmp/gpt.json@0-3"
expect "one job and nothing else" "$(of_jobs time_ps)" "$(total)"

# Compute beside communication is slowed by each job's accelerator, or for all jobs by the command.
sed 's/"name": *"[^"]*"/"name": "slowed"/; s/^{/{"overlap_slowdown": 3,/' workload/accelerators/a100-40gb.json | awk '/overlap_slowdown/ && n++ { next } { print }' >"$tmp/slowed.json"
printf '{"model": "gpt2-small", "accelerator": "%s", "train": "batch=8"}' "$tmp/slowed.json" >"$tmp/slow.json"
printf '{"model": "gpt2-small", "accelerator": "a100-40gb", "train": "batch=8"}' >"$tmp/fast.json"
result $net --config "$tmp/slow.json" --layout dp=4
slow=$(total)
result $net --config "$tmp/fast.json" --layout dp=4
fast=$(total)
[ "$slow" -gt "$fast" ] && verdict "the slowdown is felt" "" || verdict "the slowdown is felt" "$slow and $fast"
result $net --job "$tmp/slow.json@0-3" --job "$tmp/fast.json@4-7"
expect "of each job its own" "$(of_jobs time_ps)" "$slow $fast"
result $net --job "$tmp/slow.json@0-3" --job "$tmp/fast.json@4-7" --overlap-slowdown 1
both=$(of_jobs time_ps)
result $net --config "$tmp/fast.json" --layout dp=4 --overlap-slowdown 1
expect "or the command's" "$both" "$(total) $(total)"

# Two switches and one cable. GPT-2 has 124 439 808 parameters (published). An all-reduce of 2 B each between two ranks takes
# 2 x (1/2) x 248 879 616 B / 50 GB/s = 4 977 592 320 ps alone; two equal ones share the cable from end to end.
cable="--topology test/support/networks/dumbbell.json"
printf '{"model": "gpt2-small", "accelerator": "a100-40gb", "train": "batch=2,overlap=off"}' >"$tmp/two.json"
result $cable --job "$tmp/two.json@0,1" --job "$tmp/two.json@2,3" --alone
alone=$(of_jobs alone_ps | cut -d' ' -f1)
expect "the same at the same time: once more the all-reduce" "$(of_jobs time_ps)" "$((alone + 4977592320)) $((alone + 4977592320))"
result $cable --job "$tmp/two.json@0,2" --job "$tmp/two.json@1,3" --alone
expect "each behind its own switch: alone" "$(of_jobs slowdown)" "1.000000 1.000000"
# Different jobs: no job is faster than alone, or slower than with all its communication at half the speed; utilization <= 1.
printf '{"model": "resnet50", "accelerator": "v100-sxm2-16gb", "train": "batch=64,microbatch=32,precision=fp16,overlap=off"}' >"$tmp/pair.json"
result $cable --job "$tmp/two.json@0,1" --job "$tmp/pair.json@2,3" --alone
set -- $(of_jobs time_ps) $(of_jobs alone_ps)
[ "$1" -ge "$3" ] && [ "$1" -le $(($3 + 4977592320)) ] && verdict "a GPT beside a ResNet: bounds" "" || verdict "a GPT beside a ResNet: bounds" "$*"
# ResNet-50: 25 557 032 parameters (torchvision), 51 114 064 B over the cable.
[ "$2" -ge "$4" ] && [ "$2" -le $(($4 + 51114064 * 20)) ] && verdict "and the ResNet's" "" || verdict "and the ResNet's" "$*"
"$ringlet" run -q $cable --job "$tmp/two.json@0,1" --job "$tmp/two.json@2,3" --alone >"$tmp/out" 2>"$tmp/err"
grep -q 'two.json: ends after .*; alone after .*: 1\.[0-9]* times as long' "$tmp/out" && verdict "for people, too" "" || verdict "for people, too" "it is not"
printf '{"trace": "traces/transformer-8"}' >"$tmp/trace.json"
result --topology switch:16@50GB/s,500ns --job "$tmp/trace.json@8-15" --job "$tmp/gpt.json@0-3"
expect "a recording from a file" "$(of_jobs ranks)" "8 4"

job() { printf '%s' "$1" >"$tmp/b.json"; }
job '{"model": "gpt2-small"'
leaves_nothing 3 "b.json:1:23: expected ',' or '}'" run $net --job "$tmp/b.json@0-3"
job '{"model": "gpt2-small", "accelerator": "a100-40gb", "layout": {"qp": 2}}'
leaves_nothing 3 "b.json:1:63: layout: qp: unknown setting" run $net --job "$tmp/b.json@0-3"
job '{"topology": "switch:8@50GB/s,500ns"}'
leaves_nothing 3 "b.json:1:14: topology: no option of a job" run $net --job "$tmp/b.json@0-3"
job '{"modle": "gpt2-small"}'
leaves_nothing 3 "no option of a job; did you mean 'model'?" run $net --job "$tmp/b.json@0-3"
job '{"model": "gpt2-smal", "accelerator": "a100-40gb"}'
leaves_nothing 3 "b.json:1:11: model: gpt2-smal: unknown model; did you mean 'gpt2-small'?" run $net --job "$tmp/b.json@0-3"
job '{"model": "gpt2-small", "accelerator": "a100-40gb", "fold": true}'
leaves_nothing 3 "b.json:1:61: fold: a folded training cannot be a job" run $net --job "$tmp/b.json@0-3"
job '{"model": "gpt2-small", "accelerator": "a100-40gb", "layout": {"pp": 3}}'
leaves_nothing 3 "b.json: layout: 4 ranks are not a multiple" run $net --job "$tmp/b.json@0-3"
job '{}'
leaves_nothing 3 "b.json: expected --trace, --model or --job" run $net --job "$tmp/b.json@0-3"
job ''
leaves_nothing 3 "b.json:1:1: the text ends" run $net --job "$tmp/b.json@0-3"
job '{"trace": "nowhere"}'
leaves_nothing 3 "nowhere: no such file, and no trace of that name" run $net --job "$tmp/b.json@0-3"
leaves_nothing 5 "no such file" run $net --job "$tmp/nowhere.json@0-3"
leaves_nothing 2 "accelerator 3 already has rank 3" run $net --job "$tmp/gpt.json@0-3" --job "$tmp/gpt.json@3-6"
leaves_nothing 2 "expected an accelerator from 0 to 7" run $net --job "$tmp/gpt.json@6-9"
leaves_nothing 2 "needs --job" run $net --model transformer --alone
leaves_nothing 2 "--noise" run $net --job "$tmp/gpt.json@0-3" --alone --noise lognormal:cv=0.1
leaves_nothing 2 "does not go with --job" run $net --config "$tmp/gpt.json" --fold --job "$tmp/gpt.json@4-7"
# The same error if a file of options belongs to the command itself.
job '{"model": "gpt2-small", "accelerator": "a100-40gb", "layout": {"qp": 2}}'
leaves_nothing 3 "b.json:1:63: layout: qp: unknown setting" run $net --config "$tmp/b.json"
leaves_nothing 2 "--layout: rp: unknown setting" run $net --config "$tmp/b.json" --layout rp=2
finish
