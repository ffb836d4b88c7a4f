#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Overhead of a sweep beside its simulations: an 8-GPU trace, bandwidth x algorithm x straggler. Instructions per point are the
# slope between 100 and 1100 points; "bare" are those inside rlt_replay_create, _run and _free in the same runs.
set -u
build=${BUILD:-build}
"$build/ringlet" --version | grep -q 'SQLite not built in' && { echo "sweep: no SQLite, nothing to measure"; exit 0; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
study() { # number of bandwidths, of which each is 100 points
    cat <<J
{"base": {"trace": "traces/transformer-8", "rank-scale": [],
  "topology": {"dims": [{"shape": "switch", "size": 8, "bandwidth": "50GB/s", "latency": "1us"}]}},
 "axes": [{"name": "bw", "pointer": "/topology/dims/0/bandwidth", "range": {"from": "5GB/s", "to": "500GB/s", "count": $1, "scale": "log"}},
  {"name": "algorithm", "pointer": "/algorithm", "values": ["ring", "direct", "halving_doubling", "recursive_doubling"]},
  {"name": "slow", "pointer": "/rank-scale/-", "values": [$(awk 'BEGIN { for (i = 0; i < 25; i++) printf "%s\"3:compute=%.2f\"", i ? "," : "", 0.5 + i / 50 }')]}]}
J
}
count() { # number of bandwidths: all instructions, then those of the simulation alone
    study "$1" >"$tmp/study.json"
    rm -f "$tmp"/db*
    valgrind --tool=callgrind --callgrind-out-file="$tmp/cg" "$build/ringlet" sweep "$tmp/study.json" --db "$tmp/db" -j 1 -q 2>&1 >/dev/null |
        sed -n 's/.*Collected : *//p'
    callgrind_annotate --inclusive=yes --threshold=99.9 "$tmp/cg" 2>/dev/null | grep -v '=>' |
        awk '/:rlt_replay_(create|run|free) \[/ { gsub(",", "", $1); n += $1 } END { print n }'
}
set -- $(count 2) $(count 11)
echo "a sweep of an 8-GPU trace: instructions a point (goal: <= 1.20 x bare)"
awk -v a="$1" -v b="$2" -v c="$3" -v d="$4" 'BEGIN { all = (c - a) / 900; bare = (d - b) / 900; printf "%d, bare %d: %.2f x\n", all, bare, all / bare }'
now() { date +%s.%N; }
for jobs in 1 2; do
    study 100 >"$tmp/study.json"
    rm -f "$tmp"/db*
    begun=$(now)
    "$build/ringlet" sweep "$tmp/study.json" --db "$tmp/db" -j $jobs -q
    awk -v a="$begun" -v b="$(now)" -v j=$jobs 'BEGIN { printf "10000 points, --jobs %d: %.2f s, %.0f points/s (goal: about 1000 on two cores)\n", j, b - a, 10000 / (b - a) }'
done
# Gain of two cores, independent of other load on this machine: processor seconds of two threads over those of one, and the time in
# which the two simulating threads neither run nor wait for a core.
cpu() { ("$@"; times) | tail -1 | sed 's/[ms]/ /g' | awk '{ print 60 * $1 + $2 + 60 * $3 + $4 }'; }
least() { for i in 1 2 3; do rm -f "$tmp"/db*; cpu "$@"; done | sort -n | head -1; }
study 100 >"$tmp/study.json"
for jobs in 1 2; do
    eval "cpu_$jobs=$(least "$build/ringlet" sweep "$tmp/study.json" --db "$tmp/db" -j $jobs -q)"
done
rm -f "$tmp"/db*
begun=$(now)
"$build/ringlet" sweep "$tmp/study.json" --db "$tmp/db" -j 2 -q &
pid=$!
while cat /proc/$pid/task/*/schedstat >"$tmp/new" 2>/dev/null && [ -s "$tmp/new" ]; do
    mv "$tmp/new" "$tmp/threads"
    ended=$(now)
    sleep 0.01
done
wait $pid
awk -v a="$begun" -v b="$ended" -v one="$cpu_1" -v two="$cpu_2" 'NR > 1 { blocked += (b - a - ($1 + $2) / 1e9) / (b - a); n++ }
    END { blocked /= n; printf "processor seconds, --jobs 1 and 2: %.2f, %.2f; threads blocked: %.1f %%; speed-up on two free cores %.2f (goal: >= 1.8)\n", one, two, 100 * blocked, 2 * one / two * (1 - blocked) }' "$tmp/threads"
# The inputs stay the same; only the number of points grows.
for n in 25 2500; do
    study 10 | sed "s|{\"name\": \"slow\".*|{\"pointer\": \"/compute-scale\", \"range\": {\"from\": 0.5, \"to\": 1.5, \"count\": $n}}]}|" >"$tmp/study.json"
    rm -f "$tmp"/db*
    echo "$((n * 40)) points, --jobs 2: peak KiB $("$build/test/bench/spawn" 1 "$build/ringlet" sweep "$tmp/study.json" --db "$tmp/db" -j 2 -q | cut -d' ' -f2)"
done
# Many points with almost no simulation.
for n in 100 1000 10000 100000; do
    cat >"$tmp/study.json" <<J
{"command": "coll", "base": {"topology": {"dims": [{"shape": "switch", "size": 2, "bandwidth": "50GB/s", "latency": "1us"}]},
  "network": "alpha-beta", "algorithm": "ring", "bytes": "1KiB"},
 "axes": [{"pointer": "/topology/dims/0/bandwidth", "range": {"from": "5GB/s", "to": "500GB/s", "count": 10, "scale": "log"}},
  {"pointer": "/bytes", "range": {"from": "1B", "to": "${n}B", "count": $n}}]}
J
    rm -f "$tmp"/db*
    echo "$((n * 10)) points of a small collective, --jobs 2: peak KiB $("$build/test/bench/spawn" 1 "$build/ringlet" sweep "$tmp/study.json" --db "$tmp/db" -j 2 -q | cut -d' ' -f2)"
done
