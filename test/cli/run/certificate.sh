#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What a recording can tell: communication that is recorded as gaps becomes waits, or the run is refused; certificates;
# estimates with bounds. Speaks TAP.
. "$(dirname "$0")/../../support/tap.sh"

event() { printf '{"ph":"X","cat":"%s","name":"%s","pid":%s,"tid":%s,"ts":%s,"dur":%s,"args":{%s}},' "$@"; }
# A collective from 100 to 5100 us without a recorded wait, then a kernel at START: 20 us later it waits for the collective.
record() { # START
    printf '{"distributedInfo":{"rank":0,"world_size":2},"traceEvents":['
    event user_annotation 'ProfilerStep#0' 1 1 0 60 ''
    event cpu_op aten::mul 1 1 1 50 ''
    for i in 1 2 3; do event cuda_runtime cudaLaunchKernel 1 1 ${i}0 5 "\"correlation\":$i"; done
    event kernel gemm 0 7 20 80 '"stream":7,"correlation":1'
    event kernel ncclDevKernel_Generic 0 20 100 5000 '"stream":20,"correlation":2,"Collective name":"allreduce","In msg nelems":1000000,"dtype":"Float","Group size":2'
    event kernel optimizer 0 7 "$1" 50 '"stream":7,"correlation":3'
    printf '{"ph":"i"}]}'
}
record 5120 >"$tmp/waits.json"
record 5900 >"$tmp/gap.json"
on="--replicate all=0 -t switch:2@50GB/s,1us"
time_of() { # ARGUMENTS...
    "$ringlet" run --trace "$tmp/waits.json" $on -f json "$@" | jq .time_ps
}

slow=$(time_of --network-scale 0.1) same=$(time_of) fast=$(time_of --network-scale 10)
verdict "a network of another speed changes the time" "$([ "$slow" -gt "$same" ] && [ "$same" -gt "$fast" ] || echo "$slow $same $fast")"
"$ringlet" run --trace "$tmp/waits.json" $on -e >"$tmp/out"
for text in 'certificate: 0 ps of the recorded 5.17 ms (0.0 %) could hide communication' \
    'exposed communication of a rank: 5 ms in the recording' 'a network ten times slower'; do
    verdict "says: $text" "$(grep -qF "$text" "$tmp/out" || cat "$tmp/out")"
done
"$ringlet" run --trace "$tmp/waits.json" $on -e -f json >"$tmp/json"
verdict "JSON has the certificate" "$(jq -r '.certificate | select(.hidden_ps != 0 or .recorded_exposed_comm_ps != 5000000000)' "$tmp/json")"
verdict "a simulation lies within the bounds" "$(jq --argjson t "$slow" '.explain.estimates[1] | select(.low_ps > $t or .high_ps < $t)' "$tmp/json")"

"$ringlet" run --trace "$tmp/gap.json" $on >"$tmp/out" 2>&1
verdict "a gap that may be communication is refused: exit 1" "$([ $? = 1 ] || cat "$tmp/out")"
verdict "with the reason" "$(grep -qF '5 ms of the recorded 5 ms of exposed communication are in gaps' "$tmp/out" || cat "$tmp/out")"
"$ringlet" run --trace "$tmp/gap.json" $on --keep-waits >"$tmp/out" 2>&1
verdict "but replayed as recorded: exit 0" "$([ $? = 0 ] || cat "$tmp/out")"
"$ringlet" trace check "$tmp/gap.json" --replicate all=0 >"$tmp/out" 2>&1
verdict "trace check: exit 1" "$([ $? = 1 ] || cat "$tmp/out")"
verdict "trace check says the same" "$(grep -q '^lacks: certificate: 5 ms of the recorded 5.95 ms' "$tmp/out" || cat "$tmp/out")"
finish
