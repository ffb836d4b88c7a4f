#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The k-th allocation of whole commands fails, for k = 1, 2, ...: the result is an error of one line with its exit status, never a
# crash, a silent failure, or an incomplete result without notice. Once only that allocation fails, once all later ones fail, too.
set -u
ringlet=${BUILD:-build}/ringlet
fail=${BUILD:-build}/test/faults.so
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
n=0 bad=0 failed=0
if [ ! -e "$fail" ]; then
    echo "ok 1 - nothing is preloaded under a sanitizer"
    echo "1 passed, 0 failed"
    exit 0
fi

cp "$fail" "$tmp/faults.so" && fail=$tmp/faults.so # LD_PRELOAD takes no path with spaces

try() { # label, command
    label=$1
    shift
    n=$((n + 1)) wrong=""
    LD_PRELOAD="$fail" FAIL_MALLOC_COUNT="$tmp/count" "$ringlet" "$@" >"$tmp/whole" 2>/dev/null
    count=$(cat "$tmp/count" 2>/dev/null) k=1 ran=0
    [ "${count:-0}" -gt 0 ] || wrong=" no allocation is seen;"
    while [ "$k" -le "${count:-0}" ]; do
        for all in FAIL_MALLOC_ALL NOTHING; do
            env "$all=1" FAIL_MALLOC=$k LD_PRELOAD="$fail" timeout 60 "$ringlet" "$@" >"$tmp/out" 2>"$tmp/err"
            status=$? ran=$((ran + 1))
            case $status in
            0) cmp -s "$tmp/whole" "$tmp/out" || grep -q 'out of memory' "$tmp/err" || wrong="$wrong k=$k: status 0 with another result;" ;;
            1 | 2 | 3 | 4 | 5) grep -q '^ringlet: ' "$tmp/err" || wrong="$wrong k=$k: status $status without a word;" ;;
            *) wrong="$wrong k=$k: status $status;" ;;
            esac
        done
        if [ $k -lt 32 ]; then k=$((k + 1)); else k=$((k + k / 6)); fi
    done
    if [ -z "$wrong" ]; then
        echo "ok $n - $label: $ran runs, $count allocations"
    else
        echo "not ok $n - $label:$wrong"
        bad=1 failed=$((failed + 1))
    fi
}

try "coll" coll -t hgx-h100-8 -b 1MiB -c all_reduce -a ring,direct,tree -j 1
try "coll as JSON, with links" coll -t dgx1-v100-8 -b 1MiB -a ring -f json --links -j 1
try "coll on a fat tree, folded" coll -t fat-tree:16@50GB/s,500ns -b 1MiB -a direct -j 1
yes 3 | head -200 >"$tmp/updates"
try "coll of several jobs" coll -t 'switch:6@100Gbps,1us,in_network=reduce+multicast' -b 16KiB -a switchml,libra,ring --tenants 2 \
    --set switch.slots=8 --set switch.sharing=first_come --set switch.fallback=host_ring --set window=8 --updates "$tmp/updates" -j 1
try "study of several jobs" sweep ina -t 'switch:6@100Gbps,1us,in_network=reduce+multicast' -b 16KiB -a switchml,ring --tenants 1,2 \
    --workers 2 --slots 8 --loss 0 --straggler 0us -f json -j 1
yes 0.5 | head -300 >"$tmp/gradients"
for form in table json; do
    try "arithmetic of a file as $form" coll arithmetic -g "$tmp/gradients" -w 2,3 -f $form
    try "stragglers as $form" run stragglers --nodes 2,4 --jitter 0,0.1 --batches 8 -f $form
done
try "help on columns" help columns
try "help that searches" help -k bandwidth
try "topo" topo dgx1-v100-8
try "run of a trace" run --trace traces/transformer-8 -t hgx-h100-8
try "run of a model, explained" run --model transformer:layers=2,hidden=256,heads=4 -t switch:4@50GB/s,1us --explain -f json
for network in flow packet; do
    try "run of two jobs on links that fail, $network" run --model transformer:layers=2,hidden=128,heads=4,vocabulary=1000,ranks=3 \
        -t 'ring:3@100GB/s,1us*switch:2@50GB/s,1us' --job transformer:layers=2,hidden=128,heads=4,vocabulary=1000@3-5 -n $network \
        --background '0>4:2GB/s' --link-event 10us:0=0 --link-event 20us:acc4=0 --link-event 60us:acc4=1 \
        --noise lognormal:cv=0.1 -f json
done
try "check" check topologies/dgx1-v100-8.json topologies/hgx-h100-8.json
try "trace info" trace info traces/transformer-8
echo "$((n - failed)) passed, $failed failed"
exit $bad
