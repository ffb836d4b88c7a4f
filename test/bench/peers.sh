#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Compares ringlet with SimGrid in one run: ring all-reduce and all-to-alls of 64 MiB per rank on a crossbar of 50 GB/s and 500 ns
# links. Simulated times must be equal (SimGrid prints nanoseconds) before anything is compared. CPU seconds are the best of a few
# runs, both programs in turn; they include start-up, which is printed first.
set -u
build=${BUILD:-build}
ringlet=$build/ringlet
peer=$build/test/bench/simgrid
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
total=67108864
bad=0

# Counts of the jittered all-to-all, one row per sender; the diagonal is empty.
whole() { echo $((total / $1 * $1)); } # bytes of a rank in equal parts
jitter() { awk -v n="$1" -v b=$total 'BEGIN { m = int(b / n); for (i = 0; i < n; i++) { row = ""; for (j = 0; j < n; j++)
    row = row (i == j ? 0 : int(m * (1 + 0.5 * (((i * n + j) * 7919) % 1000) / 1000))) " "; print row } }'; }
ours() { # work ranks
    case $1 in
    ring) more="-c all_reduce -a ring -b $(whole "$2")B" ;;
    burst) more="-c all_to_all -a direct -b $(whole "$2")B" ;;
    jitter) more="-c all_to_all -a direct --counts $tmp/counts.$2" ;;
    esac
    echo "$ringlet coll -t switch:$2@50GB/s,500ns -j 1 --no-fold $more"
}
theirs() { echo "$peer $tmp/platform.$2 $1 $2 $total"; }
instructions() { valgrind --tool=callgrind --callgrind-out-file=/dev/null $1 2>&1 >/dev/null | sed -n 's/.*Collected : *//p'; }
cpu() { $build/test/bench/spawn "$1" $2 | cut -d' ' -f1; }
peak() { $build/test/bench/spawn 1 $1 | cut -d' ' -f2; }
time_of() { $1 --format csv | awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "time_ps") c = i } NR == 2 { print $c }'; }
prepare() { $peer platform "$2" >"$tmp/platform.$2"; [ "$1" = jitter ] && jitter "$2" >"$tmp/counts.$2"; }

compare() { # work ranks runs goal
    prepare "$1" "$2"
    mine=$(time_of "$(ours "$1" "$2")") other=$($(theirs "$1" "$2"))
    same=$(awk -v a="$mine" -v b="$other" 'BEGIN { d = a / 1000 - b * 1e9; print (d < 1.01 && d > -1.01) ? "yes" : "NO" }')
    [ "$same" = yes ] || bad=1
    a=$(cpu 3 "$(ours "$1" "$2")") b=$(cpu "$3" "$(theirs "$1" "$2")")
    awk -v w="$1" -v n="$2" -v t="$mine" -v s="$same" -v a="$a" -v b="$b" -v g="$4" \
        'BEGIN { printf "%-8s %6d %14.0f %6s %12.4f %12.3f %9.0fx %10s\n", w, n, t, s, a, b, b / (a > 0 ? a : 1e-9), g }'
}

echo "beside SimGrid $(pkg-config --modversion simgrid 2>/dev/null), flow model, every message simulated, start-up included"
printf '%-8s %6s %14s %6s %12s %12s %10s %10s\n' work ranks time_ps same ringlet_CPU_s SimGrid_CPU_s ratio goal
compare ring 2 3 start-up
compare ring 256 1 -
compare ring 1024 1 '>= 100x'
compare burst 256 2 '>= 500x'
compare burst 384 1 '>= 500x'
compare jitter 64 2 '>= 15x'
compare jitter 128 1 '>= 40x'
echo
echo "instructions per message, ring all-reduce of 256 ranks, start-up of a 2-rank run subtracted (callgrind)"
messages=$((2 * 256 * 255))
prepare ring 256
prepare ring 2
b=$((($(instructions "$(theirs ring 256)") - $(instructions "$(theirs ring 2)")) / messages))
for model in alpha-beta flow; do
    a=$((($(instructions "$(ours ring 256) -n $model") - $(instructions "$(ours ring 2) -n $model")) / messages))
    echo "$model $a, SimGrid $b: $(awk -v a=$a -v b=$b 'BEGIN { printf "%.1f", b / a }')x fewer"
done
echo
echo "jittered all-to-all in the flow model: growth with the number of flows n (n - 1)"
last=0
for n in 64 128 256; do
    jitter $n >"$tmp/counts.$n"
    a=$(cpu 3 "$(ours jitter $n)")
    awk -v n=$n -v a="$a" -v last="$last" 'BEGIN { printf "%4d ranks %9.3f s", n, a
        if (last > 0) printf "   exponent %.2f", log(a / last) / log(n * (n - 1) / (n / 2 * (n / 2 - 1))); print "" }'
    last=$a
done
echo "goal: <= 1.75 up to 128 ranks, <= 1.9 up to 256"
[ $bad = 0 ] || { echo "simulated times differ" >&2; exit 1; }
