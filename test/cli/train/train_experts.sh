#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Experts as a user asks for them: layouts, routing, dispatchers, what is refused, and pairs of measured dispatchers.
. "$(dirname "$0")/../../support/tap.sh"
net='switch:8@450GB/s,500ns*switch:4@50GB/s,2us'
job="--model qwen3-30b-a3b:layers=4 --accelerator h100-sxm --any-memory"
base=batch=16,zero=1,sp=on,recompute=full
run() { # settings, more arguments
    settings=$base,$1
    shift
    "$ringlet" run -q $job -t "$net" --layout tp=8,ep=32 --train "${settings%,}" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
}
time_of() {
    run "$1" --fold -f json
    sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' "$tmp/out" | head -1
}
said() { grep -c -- "$1" "$tmp/out"; }
wrong() { # status, text of the message, settings
    refused "refused: $3" "$1" "$2" run -q $job -t "$net" --layout tp=8,ep=32 --train "$base,$3" --fold
}

run "" --fold
expect "experts span tensor parallelism" "$(said 'experts: etp 1 (ep does not divide cp x dp)')" 1
one=$(time_of "")
expect "etp=1 is the same" "$(time_of etp=1)" "$one"
expect "a copy for each node is faster on an ideal host" "$([ "$(time_of dispatcher=two-level)" -lt "$one" ] && echo yes)" yes
two=$(time_of dispatcher=two-level)
expect "in fp8 more so" "$([ "$(time_of dispatcher=two-level,dispatch_precision=fp8)" -lt "$two" ] && echo yes)" yes
expect "a host's messages are slower" "$([ "$(time_of dispatcher=uccl-p5)" -gt "$one" ] && echo yes)" yes
run dispatcher=uccl-p5 --fold
expect "with the source of its constants" "$(said '^dispatcher uccl-p5 (proxy): .*low-latency')" 1
expect "overlapped it is faster" "$([ "$(time_of expert_overlap=on)" -lt "$one" ] && echo yes)" yes
expect "hot experts are slower" "$([ "$(time_of routing=zipf:0.5)" -gt "$one" ] && echo yes)" yes
run routing=zipf:0.5,capacity=1.25 --fold
expect "and capacity drops" "$(said 'experts get 1.250 of the mean.* 16.36 % of the copies are dropped')" 1
run capacity=1.25,routing=zipf:0.5 --fold -f json
expect "in JSON, too" "$(grep -c '"dropped": 0.163' "$tmp/out")" 1

wrong 2 "did you mean 'two-level'?" dispatcher=two-levle
wrong 2 "capacity: expected 0.01 to 1000, got '0'" capacity=0
wrong 3 "ep 3 does not divide cp 1 x dp 4, nor these x tp 8 (etp=1)" ep=3
wrong 3 "etp 3 does not divide tp 8" etp=3
wrong 2 "expected zipf:S with S from 0 to 10" routing=zipf:-1
printf '1,2,x\n' >"$tmp/counts"
wrong 3 "$tmp/counts:1:5: expected a count, 0 or more, got 'x'" routing="$tmp/counts"

measured=test/data/throughput/measured_dispatch.csv
"$ringlet" calibrate-training --check "$measured" >"$tmp/out" 2>"$tmp/err"
expect "all runs are covered" "$(said '^experts  *-  *46 ')" 1
# Goal: the sign of each gap above 6 %.
expect "the faster dispatcher is predicted" "$(said '^36 of 36 pairs that are more than 6 % apart have the right sign')" 1
finish
