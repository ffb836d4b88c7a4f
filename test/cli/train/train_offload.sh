#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# AxoNN with its optimizer state in the host's memory: 4 phi + 16 bucket instead of 20 phi bytes, and gradients summed in chunks
# while the optimizer steps over earlier chunks. Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"
job='--model gpt2-small --accelerator a100-40gb --topology switch:2@50GB/s,0ns --layout dp=2'
run() { "$ringlet" run -q -f json "$@" 2>"$tmp/err" </dev/null >"$tmp/json"; }
time_of() { run $job --strategy "axonn-offload:stack=any,batch=2,host=0,$1" && sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' "$tmp/json" | head -1; }
sum() { sed -n 's/.*"stages": \(\[[^]]*\]\).*/\1/p' "$tmp/json" | grep -o "\"$1\": [0-9]*" | awk '{ s += $2 } END { printf "%.0f", s }'; }

# GPT-2: 124 439 808 parameters. Chunks of 16 M elements: an all-reduce of two takes 40 ps an element at 50 GB/s, a step 24 B.
# Slow host: all optimizer steps follow the first sum. Fast host (1 PB/s, 0.024 ps an element): all sums, then one chunk's step.
P=124439808
slow=$(time_of offload_bandwidth=50GB/s)
fast=$(time_of offload_bandwidth=1PB/s)
expect "sums and steps overlap" $((slow - fast)) $((P * 480 + 16000000 * 40 - P * 40 - (P % 16000000) * 24 / 1000))
expect "one chunk: they do not" $(($(time_of offload_bandwidth=50GB/s,offload_chunk=100) - slow)) $(((P - 16000000) * 40))
run $job --strategy axonn-offload:stack=any,batch=2,host=0
expect "50 GB/s unless said" "$(sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' "$tmp/json" | head -1)" "$slow"

# Memory: 2 phi of weights, 2 phi of gradients, 16 bytes for each element of a bucket.
expect "weights and gradients" "$(sum weights_bytes) $(sum gradients_bytes)" "$((2 * P)) $((2 * P))"
expect "optimizer, and a bucket of it" "$(sum optimizer_bytes) $(sum buffers_bytes)" "0 64000000"
run $job --strategy axonn:stack=any,batch=2
expect "not offloaded: 20 phi" $(($(sum memory_bytes) - $(sum activations_bytes))) $((20 * P))

# The 12B model of AxoNN, 24 stages, two of each: 520 GB; offloaded with buckets of 16 M 130.24 GB (published; the sum over all
# accelerators, with phi as they count it and activations by equation 1).
big='--model transformer:layers=48,hidden=4512,heads=24,sequence=512,vocabulary=51200 --accelerator v100-sxm2-16gb -t summit --layout dp=2,pp=24 --any-memory'
run $big --strategy axonn:batch=48
before=$(sum memory_bytes) phi=$(sum weights_bytes) rows=$(sum activations_bytes)
run $big --strategy axonn-offload:batch=48,offload_bucket=16000000
after=$(sum memory_bytes)
expect "12B: 4 phi + 16 buckets and activations" "$after" $((2 * phi + 24 * 16 * 16000000 + rows))
within() { awk -v x="$2" -v y="$3" -v d="$4" 'BEGIN { exit !(x > y * (1 - d) && x < y * (1 + d)) }' && verdict "$1" "" || verdict "$1" "$2, published $3"; }
within "12B: 520 GB" $((before * 2)) 520000000000 0.06
within "12B offloaded: 130.24 GB" $((after * 2)) 130240000000 0.06
within "a quarter of it" "$(echo "$after $before" | awk '{ printf "%.4f", $1 / $2 }')" 0.25046 0.01

leaves_nothing 3 "offload: needs zero=0" run $job --strategy axonn-offload:stack=any,zero=1
leaves_nothing 3 "offload: needs" run $job --strategy axonn-offload:stack=any,sparsity=0.9
leaves_nothing 2 "offload_bucket: expected 1 to" run $job --strategy axonn-offload:stack=any,offload_bucket=0
leaves_nothing 2 "the unit is missing" run $job --strategy axonn-offload:stack=any,offload_bandwidth=50
leaves_nothing 2 "offload: expected one of off, on" run $job --strategy axonn-offload:stack=any,offload=yes
finish
