#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Cost of a simulation: instructions (callgrind: repeatable under any load), CPU seconds (best of five) and peak memory, with
# start-up subtracted. The case is the one in common use for such comparisons: ring all-reduce of 64 MiB over a crossbar of
# 50 GB/s and 500 ns links, every message simulated.
set -u
build=${BUILD:-build}
ringlet=$build/ringlet
command -v valgrind >/dev/null 2>&1 || { echo "valgrind is missing: apt-get install valgrind" >&2; exit 1; }

coll() { # ranks, model, more
    n=$1 model=$2
    shift 2
    echo "$ringlet coll --topology switch:$n@50GB/s,500ns --network $model --bytes 64MiB --no-fold -j 1 $*"
}
instructions() { # command
    valgrind --tool=callgrind --callgrind-out-file=/dev/null $1 2>&1 >/dev/null | sed -n 's/.*Collected : *//p'
}
measure() { $build/test/bench/spawn 5 $1; }

echo "# $(git describe --always --dirty 2>/dev/null), $($ringlet --version | head -1), $(gcc -dumpfullversion), load $(cut -d' ' -f1 /proc/loadavg)"
echo
echo "ring all-reduce, 64 MiB, crossbar: instructions per message (start-up of a 2-rank run subtracted)"
printf '%-12s %6s %10s %16s %14s %10s %12s\n' model ranks messages instructions per-message goal time_ps
for model in alpha-beta flow; do
    goal=452
    [ $model = flow ] && goal=900
    base=$(instructions "$(coll 2 $model --collective all_reduce --algorithm ring)")
    for n in 16 256; do
        messages=$((2 * n * (n - 1)))
        total=$(instructions "$(coll $n $model --collective all_reduce --algorithm ring)")
        time=$($(coll $n $model --collective all_reduce --algorithm ring --format csv) | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "time_ps") c = i } NR == 2 { print $c }')
        printf '%-12s %6d %10d %16d %14d %10s %12s\n' $model $n $messages "$total" $(((total - base) / messages)) "$([ $n = 256 ] && echo "<= $goal" || echo -)" "$time"
    done
done
echo
echo "ring all-reduce, 64 MiB, leaf-spine of 16, packet model: instructions per packet of 4096 B (start-up subtracted)"
packets="$ringlet coll --topology leaf-spine-16 --network packet --collective all_reduce --algorithm ring"
printf '%-12s %10s %16s %14s %10s\n' ack packets instructions per-packet goal
for ack in 1 8; do
    base=$(instructions "$packets --bytes 1KiB --set ack=$ack")
    total=$(instructions "$packets --bytes 64MiB --set ack=$ack")
    goal=1500
    [ $ack = 8 ] && goal=800
    printf '%-12s %10d %16d %14d %10s\n' $ack 491520 "$total" $(((total - base) / 491520)) "<= $goal"
done
echo
echo "CPU seconds and peak memory of the whole process (start-up: the 2-rank run)"
printf '%-34s %10s %12s %10s\n' work CPU_s peak_KiB goal
row() { # label, goal, command
    set -- "$1" "$2" $(measure "$3")
    printf '%-34s %10s %12s %10s\n' "$1" "$3" "$4" "$2"
}
for model in alpha-beta flow; do
    row "start-up, $model" "" "$(coll 2 $model --collective all_reduce --algorithm ring)"
    row "ring 256, $model" "" "$(coll 256 $model --collective all_reduce --algorithm ring)"
    row "ring 1024, $model" "<= 32 MB" "$(coll 1024 $model --collective all_reduce --algorithm ring)"
done
row "all-to-all burst 256, flow" "" "$(coll 256 flow --collective all_to_all --algorithm direct)"
echo
echo "ring all-reduce, 64 MiB, crossbar: ns of CPU per message as ranks grow (start-up subtracted)"
printf '%-12s %6s %14s %10s\n' model ranks ns-per-message growth
for model in alpha-beta flow; do
    start=$(measure "$(coll 2 $model --collective all_reduce --algorithm ring)" | cut -d' ' -f1)
    first=0
    for n in 256 1024 4096; do
        all=$(measure "$(coll $n $model --collective all_reduce --algorithm ring)" | cut -d' ' -f1)
        ns=$(awk -v a="$all" -v s="$start" -v n=$n 'BEGIN { printf "%.1f", (a - s) * 1e9 / (2 * n * (n - 1)) }')
        [ $n = 256 ] && first=$ns
        awk -v m=$model -v n=$n -v a="$ns" -v f="$first" 'BEGIN { printf "%-12s %6d %14.1f %10.2f\n", m, n, a, a / (f > 0 ? f : 1e-9) }'
    done
done
echo "goal: <= 1.6 from 256 to 4096 ranks"
echo
echo "all-to-all burst, flow: bytes of memory a flow at the peak (that of a 2-rank run subtracted; goal: <= 130)"
least=$(measure "$(coll 2 flow --collective all_to_all --algorithm direct)" | cut -d' ' -f2)
for n in 256 384; do
    peak=$(measure "$(coll $n flow --collective all_to_all --algorithm direct)" | cut -d' ' -f2)
    echo "$n ranks $(((peak - least) * 1024 / (n * (n - 1))))"
done
echo
echo "a training: GPT-3 175B, tp 8 x pp 16, 3-level fat tree, alpha-beta: CPU s, peak memory (start-up included)"
train() { # nodes of 8, data-parallel replicas, options
    echo "$build/ringlet run -q --model gpt3-175b --accelerator h100-sxm --layout tp=8,pp=16,dp=$2 \
        --topology switch:8@450GB/s,500ns*fat-tree:$1@50GB/s,500ns,levels=3,hosts_per_leaf=8 --network alpha-beta \
        --train batch=$((12 * $2)),recompute=selective,zero=1 $3"
}
row "1024 accelerators, every rank" "<= 60 s" "$(train 128 8 '')"
row "16384, every rank" "" "$(train 2048 128 '')"
row "16384, folded" "<= 10 s, 2 GB" "$(train 2048 128 --fold)"
row "16384, a rank a stage" "" "$(train 2048 128 --fold-stages)"
echo
echo "deployment search: 10 000 strategies of 47 operators on 16 devices (goal: 1 000 a second)"
[ ! -x "$build/ringlet-deploy" ] || row "10 000 strategies" "<= 10 s" "$build/ringlet-deploy deploy -g traces/small-cnn.graph.txt \
    -t testbed-4xv100-8x1080ti-4xp100 -m random -b 10000 --refine 0 --no-factors"
echo
echo "design: 4 dimensions x 100 budgets x 3 workloads, each split found and simulated, a command a workload: CPU s of all 300 (goal: < 30)"
spent() { awk '{ print ($16 + $17) / hz }' hz=$(getconf CLK_TCK) /proc/$$/stat; }
before=$(spent)
for model in turing-nlg-17b@tp=1,microbatch=8 gpt3-175b@tp=16,microbatch=16 megatron-1t@tp=32,microbatch=8; do
    $ringlet design bandwidth -t 'ring:2@1GB/s,1ns*fully-connected:8@1GB/s,1ns*ring:8@1GB/s,1ns*switch:8@1GB/s,1ns' -w $model \
        --total 10GB/s:1000GB/s:+10GB/s --format csv >/dev/null || exit 1
done
awk -v a=$before -v b=$(spent) 'BEGIN { printf "%.2f\n", b - a }'
echo
echo "event queue, ns of CPU per hold (goal: <= 40 at 1e5 pending with ties)"
$build/test/bench/queue
echo
BUILD=$build test/bench/sweep.sh
echo
if [ -x "$build/test/bench/simgrid" ]; then
    test/bench/peers.sh
else
    echo "SimGrid is not installed (apt-get install libsimgrid-dev): nothing to compare with"
fi
