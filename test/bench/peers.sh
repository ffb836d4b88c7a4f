#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# peers.sh [long]: ringlet beside SimGrid, if that is installed: ring all-reduce and all-to-alls of 64 MiB a rank on a crossbar of
# 50 GB/s and 500 ns links. Simulated times must be equal (SimGrid prints nanoseconds) before anything is compared. Instructions
# and CPU seconds leave out start-up, which is that of two ranks; CPU seconds are the least of a few runs, both programs in turn.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
ringlet=${RINGLET:-$build/ringlet}
peer=$build/test/bench/simgrid
[ -x "$peer" ] || { echo "SimGrid is not installed (apt-get install libsimgrid-dev): nothing to compare with"; exit 0; }
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
trap 'exit 130' INT TERM
. test/bench/inputs.sh
total=67108864
bad=0

ours() { # work ranks
    case $1 in
    ring) more="-c all_reduce -a ring -b $((total / $2 * $2))B" ;;
    burst) more="-c all_to_all -a direct -b $((total / $2 * $2))B" ;;
    jitter) more="-c all_to_all -a direct --counts $t/counts.$2" ;;
    esac
    echo "$ringlet coll -t switch:$2@50GB/s,500ns -j 1 --no-fold $more"
}
theirs() { echo "$peer $t/platform.$2 $1 $2 $total"; }
cpu() { "$build/test/bench/spawn" "$1" $2 | cut -d' ' -f1; }
time_of() { $1 --format csv | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "time_ps") c = i } NR == 2 { print $c }'; }
prepare() {
    "$peer" platform "$2" >"$t/platform.$2"
    [ "$1" != jitter ] || make_input "$t/counts.$2"
}
prepare ring 2
start_a=$(cpu 5 "$(ours ring 2)") start_b=$(cpu 5 "$(theirs ring 2)")

compare() { # work ranks runs goal
    prepare "$1" "$2"
    mine=$(time_of "$(ours "$1" "$2")") other=$($(theirs "$1" "$2"))
    same=$(awk -v a="$mine" -v b="$other" 'BEGIN { d = a / 1000 - b * 1e9; print (d < 1.01 && d > -1.01) ? "yes" : "NO" }')
    [ "$same" = yes ] || bad=1
    a=$(cpu 3 "$(ours "$1" "$2")") b=$(cpu "$3" "$(theirs "$1" "$2")")
    awk -v w="$1" -v n="$2" -v t="$mine" -v s="$same" -v a="$a" -v b="$b" -v sa="$start_a" -v sb="$start_b" -v g="$4" 'BEGIN {
        own = a - sa; own = own > 0.001 ? own : 0.001
        printf "%-8s %6d %14.0f %6s %12.4f %12.3f %9.0fx %10s\n", w, n, t, s, a, b, (b - sb) / own, g }'
}

echo
echo "beside SimGrid $(pkg-config --modversion simgrid 2>/dev/null), flow model, every message simulated; start-up $start_a and $start_b s, left out of the ratio"
printf '%-8s %6s %14s %6s %12s %12s %10s %10s\n' work ranks time_ps same ringlet_CPU_s SimGrid_CPU_s ratio goal
compare ring 256 1 -
compare burst 256 1 '>= 500x'
compare jitter 64 1 '>= 15x'
if [ "${1:-}" = long ]; then
    compare ring 1024 1 '>= 100x'
    compare burst 384 1 '>= 500x'
    compare jitter 128 1 '>= 40x'
fi
echo
messages=$((2 * 256 * 255))
for who in ours theirs; do
    for n in 2 256; do instructions $($who ring $n) >"$t/$who.$n" & done
done
wait
echo "instructions a message, ring all-reduce of 256 ranks: $((($(cat "$t/ours.256") - $(cat "$t/ours.2")) / messages)), SimGrid $((($(cat "$t/theirs.256") - $(cat "$t/theirs.2")) / messages))"
[ $bad = 0 ] || { echo "simulated times differ" >&2; exit 1; }
