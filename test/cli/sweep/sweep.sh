#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `ringlet sweep` on the command line: the same bytes however it is run, stopped and continued; failures as rows; queries;
# wrong use.
. "$(dirname "$0")/../../support/tap.sh"
command -v timeout >/dev/null || { skip "sweeps" "needs timeout"; finish; }
if "$ringlet" --version | grep -q 'SQLite not built in'; then
    "$ringlet" sweep tools/sweep/examples/replay.json --db "$tmp/x" >"$tmp/out" 2>"$tmp/err"
    expect "without SQLite: exit status" $? 3
    grep -q libsqlite3-dev "$tmp/err" && verdict "without SQLite: the package is named" "" || verdict "without SQLite: the package is named" "no"
    finish
fi
sweep() { "$ringlet" sweep "$@" >"$tmp/out" 2>"$tmp/err" </dev/null; }
csv() { "$ringlet" sweep query "$1" -f csv; }
same() { # name, database
    csv "$2" >"$tmp/this.csv" 2>"$tmp/err"
    cmp -s "$tmp/want.csv" "$tmp/this.csv" && verdict "$1" "" || verdict "$1" "other bytes: $(wc -l <"$tmp/this.csv") lines for $(wc -l <"$tmp/want.csv")"
}

# Some points are slow, several are equal, two fail.
study=$tmp/study.json
cat >"$study" <<'J'
{"name": "mixed", "base": {"model": "transformer:layers=4,hidden=256,heads=4,vocabulary=1000", "rank-scale": [],
   "topology": {"dims": [{"shape": "switch", "size": 8, "bandwidth": "50GB/s", "latency": "1us"}]}, "noise": []},
 "axes": [{"name": "bw", "pointer": "/topology/dims/0/bandwidth", "range": {"from": "5GB/s", "to": "500GB/s", "count": 30, "scale": "log"}},
          {"name": "algorithm", "pointer": "/algorithm", "values": ["ring", "direct", "halving_doubling"]},
          {"name": "slow", "pointer": "/rank-scale/-", "values": [null, "3:compute=0.9", "3:compute=0.5"]}],
 "points": [{"name": "as point 0", "set": {"/topology/dims/0/bandwidth": "5GB/s", "/algorithm": "ring"}},
            {"name": "bad", "set": {"/algorithm": "rnig"}}, {"name": "no such rank", "set": {"/rank-scale/-": "9:compute=2"}}],
 "replicas": 2, "links": "summary",
 "objectives": [{"column": "time_ps", "goal": "min"}, {"column": "busiest_utilization", "goal": "max"}]}
J
says "failures: exit status 1" 1 "4 of 546 points failed" sweep "$study" --db "$tmp/1.db" -j 1
csv "$tmp/1.db" >"$tmp/want.csv"
expect "a row for every point" "$(wc -l <"$tmp/want.csv")" 547
expect "failures are rows with their error" "$(grep -c '^[0-9]*,\(bad\|no such rank\),.*,2,' "$tmp/want.csv")" 4
grep -q "did you mean 'ring'" "$tmp/want.csv" && verdict "the error is the command's own" "" || verdict "the error is the command's own" "no"
t() { awk -F, -v p="$1" '$1 == p { print $9 }' "$tmp/want.csv"; }
"$ringlet" run -q -f json --model transformer:layers=4,hidden=256,heads=4,vocabulary=1000 -t 'switch:8@5GB/s,1us' -a ring --rank-scale 3:compute=0.5 >"$tmp/run.json" 2>"$tmp/err"
expect "a point is what the run says" "$(t 4)" "$(sed -n 's/^ *"time_ps": \([0-9]*\).*/\1/p' "$tmp/run.json" | head -1)"
expect "a point with the same options has the same result" "$(t 540)" "$(t 0)"
[ "$(t 0)" -gt "$(t 522)" ] && verdict "a faster network takes less" "" || verdict "a faster network takes less" "no"

sweep "$study" --db "$tmp/2.db" -j 2
same "two threads: the same bytes" "$tmp/2.db"
sweep "$study" --db "$tmp/2.db" -j 2
grep -q ' 0 of them run now' "$tmp/err" && verdict "nothing is run twice" "" || verdict "nothing is run twice" "no"
for i in 1 2 3; do sweep "$study" --db "$tmp/s$i.db" --shard $i/3; done
sweep merge "$tmp/m.db" "$tmp/s3.db" "$tmp/s1.db"
sweep merge "$tmp/m.db" "$tmp/s2.db"
same "three shards merged: the same bytes" "$tmp/m.db"
sweep merge "$tmp/half.db" "$tmp/s2.db" "$tmp/s1.db"
sweep "$study" --db "$tmp/half.db"
same "two shards of three, the rest run: the same bytes" "$tmp/half.db"
says "another shard in the same database" 3 "holds shard 1/3" sweep "$study" --db "$tmp/s1.db" --shard 2/3

# kill -9, at a different moment in every run of this test.
long=$tmp/long.json
sed 's/"replicas": 2/"replicas": 40/' "$study" >"$long"
"$ringlet" sweep "$long" --db "$tmp/whole.db" -j 2 -q >/dev/null 2>&1
csv "$tmp/whole.db" >"$tmp/want.csv"
killed=0
for i in 1 2 3 4 5 6; do
    ms=$((20 + ($(date +%N | sed 's/^0*//') / 1000 + i * 37) % 150))
    timeout -s KILL "0.$(printf %03d $ms)" "$ringlet" sweep "$long" --db "$tmp/k.db" -j 2 -q >/dev/null 2>&1
    [ $? = 137 ] && killed=$((killed + 1))
    [ -e "$tmp/k.db" ] && { "$ringlet" sweep --status "$tmp/k.db" >"$tmp/status" 2>"$tmp/err" || :; }
done
sweep "$long" --db "$tmp/k.db" -q
same "killed $killed times with SIGKILL, then the same command: the same bytes" "$tmp/k.db"
says "status" 0 "10920 of 10920 points (100.0 %), 80 failed" sweep --status "$tmp/k.db"

# Ctrl-C: finished points are kept, and the message says how to continue.
"$ringlet" sweep "$long" --db "$tmp/c.db" -j 2 >"$tmp/out" 2>"$tmp/err" &
pid=$!
while kill -0 $pid 2>/dev/null && [ ! -s "$tmp/c.db" ]; do sleep 0.05; done
kill -TERM $pid
wait $pid
got=$?
if [ $got = 1 ]; then skip "interrupted" "needs a slower machine: it was done before"; else
    [ $got = 130 ] && grep -q 'the same command continues' "$tmp/err" && verdict "interrupted: says how to go on" "" || verdict "interrupted: says how to go on" "exit status $got"
fi
sweep "$long" --db "$tmp/c.db" -q
same "interrupted, then the same command: the same bytes" "$tmp/c.db"

# No space left: by a limit on the size of files.
(trap '' XFSZ; ulimit -f 300; "$ringlet" sweep "$long" --db "$tmp/f.db" -q >"$tmp/out" 2>"$tmp/err")
got=$?
[ $got = 5 ] && verdict "no room: exit status 5" "" || verdict "no room: exit status 5" "exit status $got"
sweep "$long" --db "$tmp/f.db" -q
same "no room, then room: the same bytes" "$tmp/f.db"

# No space left: on a full disk, which is then enlarged.
mkdir "$tmp/disk"
if mount -t tmpfs -o size=2m none "$tmp/disk" 2>"$tmp/err"; then
    trap 'umount "$tmp/disk"; rm -rf "$tmp"' EXIT
    says "a full disk: exit status 5, and how to go on" 5 "database or disk is full; committed points are safe, and the same command continues" sweep "$long" --db "$tmp/disk/x.db" -q
    kept=$("$ringlet" sweep query "$tmp/disk/x.db" -f csv 2>"$tmp/err" | tail -n +2 | wc -l)
    [ "$kept" -gt 0 ] && [ "$kept" -lt 10920 ] && verdict "a full disk: what was committed is there" "" || verdict "a full disk: what was committed is there" "$kept points"
    mount -o remount,size=64m "$tmp/disk"
    says "a full disk, made larger: only what is missing is run" 1 " $((10920 - kept)) of them run now" sweep "$long" --db "$tmp/disk/x.db"
    same "a full disk, made larger: the same bytes" "$tmp/disk/x.db"
    umount "$tmp/disk"
    mount -t tmpfs -o size=20k none "$tmp/disk"
    says "no room to begin: exit status 5" 5 "database or disk is full" sweep "$long" --db "$tmp/disk/x.db" -q
    umount "$tmp/disk"
    trap 'rm -rf "$tmp"' EXIT
else
    skip "a full disk" "needs a tmpfs that can be mounted"
fi

# Several ranks.
if command -v mpirun >/dev/null 2>&1 && [ -x "$(dirname "$ringlet")/ringlet-mpi" ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    ranks() { timeout 120 mpirun --oversubscribe -np 3 "$ringlet" sweep "$@" >"$tmp/out" 2>"$tmp/err" </dev/null; }
    ranks "$long" --db "$tmp/r.db" -q
    same "mpirun -np 3: the same bytes" "$tmp/r.db"
    if [ -e "$(dirname "$ringlet")/test/faults.so" ]; then
        dying_rank write 20 "$long" --db "$tmp/d.db" -q
        got=$?
        [ $got != 0 ] && grep -qE 'signal 9|interrupted' "$tmp/err" && verdict "a rank is killed: the job ends and says so" "" || verdict "a rank is killed: the job ends and says so" "exit status $got"
        [ -s "$tmp/d.db" ] && verdict "a rank is killed: its database is there" "" || verdict "a rank is killed: its database is there" "none"
    else
        skip "a rank is killed" "needs a build without a sanitizer"
    fi
    ranks "$long" --db "$tmp/d.db" -q
    same "a rank is killed, then the same command: the same bytes" "$tmp/d.db"
    printf '{"base":{}' >"$tmp/broken.json"
    ranks "$tmp/broken.json" --db "$tmp/nothing.db"
    expect "ranks: a broken study is one message" "$(grep -c '^ringlet:' "$tmp/err")" 1
else
    skip "several ranks" "needs mpirun of Open MPI (apt-get install libopenmpi-dev openmpi-bin)"
fi

# Queries.
says "query: one condition" 0 "as point 0" sweep query "$tmp/1.db" --where "name = 'as point 0' and replica = 1" -f csv
says "query: JSON lines" 0 '"name":"bad"' sweep query "$tmp/1.db" --where 'status <> 0' -f json
says "query: a wrong condition" 2 "no such column" sweep query "$tmp/1.db" --where 'tme_ps > 1'
sweep top "$tmp/1.db" -n 1 -f csv
expect "top: the least time" "$(awk -F, 'NR == 2 { print $9 }' "$tmp/out")" "$(csv "$tmp/1.db" | awk -F, 'NR > 1 && $7 == 0 && (!m || $9 < m) { m = $9 } END { print m }')"
says "top: by another column" 0 "busiest_utilization" sweep top "$tmp/1.db" --by busiest_utilization --goal max -f csv
says "top: an unknown column" 2 "did you mean 'time_ps'" sweep top "$tmp/1.db" --by time_p
sweep pareto "$tmp/1.db" -f csv
tail -n +2 "$tmp/out" | awk -F, '{ t[NR] = $9; u[NR] = $19 } END { for (i in t) for (k in t) if ((t[k] < t[i] && u[k] >= u[i]) || (t[k] <= t[i] && u[k] > u[i])) bad = 1; exit bad || NR < 2 }'
expect "pareto: none beats another" $? 0
# Shares computed from the rows: variance of the means by bandwidth, divided by the variance.
sweep sensitivity "$tmp/1.db" -f csv
csv "$tmp/1.db" | awk -F, 'NR > 1 && $2 == "" { n++; s += $9; q[n] = $9; k[n] = $3; c[$3]++; g[$3] += $9 }
    END { m = s / n; for (i = 1; i <= n; i++) v += (q[i] - m) ^ 2; for (b in c) e += c[b] * (g[b] / c[b] - m) ^ 2; printf "%.4f\n", e / v }' >"$tmp/share"
expect "sensitivity: the share of the bandwidth" "$(awk -F, '$1 == "bw" { printf "%.4f\n", $3 }' "$tmp/out")" "$(cat "$tmp/share")"
says "compare: options that differ" 0 "--rank-scale" sweep compare "$tmp/1.db" 'as point 0' 4
says "compare: no such point" 2 "no point with this number or name" sweep compare "$tmp/1.db" 0 99999
sweep query "$tmp/1.db" -f csv --where 'status = 0 and (select sum(count) from link l where l.point = points.point) = 16'
expect "links: all 16 of every point that was run, in classes" "$(grep -c '' "$tmp/out")" 543
says "the same inputs only" 3 "is of another study" sweep tools/sweep/examples/replay.json --db "$tmp/1.db"
# Tables for people: no empty columns, units, columns asked for next to the axes.
sweep query "$tmp/1.db" --where 'status = 0 and replica = 0 and name is null'
expect "table: columns" "$(head -1 "$tmp/out" | tr -s ' ' ' ' | cut -d' ' -f1-6)" "point bw algorithm slow time_ps busiest_utilization"
grep -qE 'error|busbw_GBps|status' "$tmp/out" && verdict "table: no empty columns" "there are" || verdict "table: no empty columns" ""
grep -qE ' [0-9.]+ (us|ms) .* [0-9.]+ [KMG]iB' "$tmp/out" && verdict "table: times and sizes have units" "" || verdict "table: times and sizes have units" "no"
sweep query "$tmp/1.db" -c bw,time_ps -f csv --where 'point = 0'
expect "columns chosen" "$(cat "$tmp/out")" "bw,time_ps
5GB/s,$(t 0)"
says "columns: an unknown one" 2 "no column 'tim_ps'; did you mean 'time_ps'?" sweep query "$tmp/1.db" -c bw,tim_ps
sweep compare "$tmp/1.db" 0 522
grep -qE '^--topology /dims/0/bandwidth +5GB/s +500GB/s ' "$tmp/out" && verdict "compare: where topologies differ" "" || verdict "compare: where topologies differ" "no"
cat >"$tmp/zip.json" <<'J'
{"base": {"model": "transformer:layers=1,hidden=64,heads=2,vocabulary=100", "topology": {"dims": [{"shape": "switch", "size": 2, "bandwidth": "5GB/s", "latency": "1us"}]}},
 "axes": [{"name": "speed", "pointers": ["/topology/dims/0/bandwidth", "/compute-scale"], "values": [["5GB/s", 1], ["9GB/s", 2]]}]}
J
sweep "$tmp/zip.json" --db "$tmp/zip.db"
says "table: values of zipped axes" 0 "bandwidth=9GB/s,compute-scale=2" sweep query "$tmp/zip.db"
says "csv: values of zipped axes" 0 '"[""9GB/s"",2]"' sweep query "$tmp/zip.db" -f csv
sweep sensitivity "$tmp/1.db"
grep -qE '^bw +30 +[0-9.]+ +[0-9.]+ [mu]s +[0-9.]+ [mu]s$' "$tmp/out" && verdict "sensitivity: means are times" "" || verdict "sensitivity: means are times" "no"
# Values of ranges: large ones have no exponent, and filters accept them.
cat >"$tmp/range.json" <<'J'
{"base": {"model": "transformer:layers=1,hidden=64,heads=2,vocabulary=100", "topology": {"dims": [{"shape": "switch", "size": 2, "bandwidth": "5GB/s", "latency": "1us"}]}},
 "axes": [{"name": "seed", "pointer": "/seed", "range": {"from": 0, "to": 30000000, "count": 3}}, {"name": "speed", "pointer": "/compute-scale", "range": {"from": 0.5, "to": 2, "count": 3, "scale": "log"}}],
 "filter": [{"unless": {"speed": [0.5, 2]}}]}
J
sweep "$tmp/range.json" --db "$tmp/range.db" -q
sweep query "$tmp/range.db" -c seed,speed,status -f csv
expect "ranges: whole numbers, filtered" "$(tr '\n' ' ' <"$tmp/out")" "seed,speed,status 0,1,0 15000000,1,0 30000000,1,0 "
says "query: nothing there" 0 "there is no such point" sweep query "$tmp/range.db" --where 'status <> 0'
expect "a database is one file" "$(echo "$tmp"/range.db* "$tmp"/m.db*)" "$tmp/range.db $tmp/m.db"
if command -v sqlite3 >/dev/null; then
    { echo 'BEGIN; SELECT count(*) FROM point;'; sleep 2; } | sqlite3 "$tmp/range.db" >"$tmp/reader" &
    while [ ! -s "$tmp/reader" ] && kill -0 $! 2>/dev/null; do sleep 0.05; done
    says "somebody reads a database that is done" 0 " 0 of them run now" sweep "$tmp/range.json" --db "$tmp/range.db"
    wait $!
else
    skip "somebody reads a database that is done" "needs sqlite3"
fi
# An error that every point would have is one error without a database; an error of some points is reported by the first.
sed 's|"transformer-8"|"traces/transformer-9"|' tools/sweep/examples/replay.json >"$tmp/wrong.json"
says "a trace that is not there" 5 "traces/transformer-9: no such file" sweep "$tmp/wrong.json" --db "$tmp/wrong.db"
echo '{"command": "coll", "base": {"topology": "switch:4@50GB/s,1us", "collective": "all_gather", "algorithm": "ring", "counts": "no-such-file"},
    "axes": [{"pointer": "/network", "values": ["flow", "alpha-beta"]}]}' >"$tmp/wrong.json"
says "counts that are not there" 5 "no-such-file" sweep "$tmp/wrong.json" --db "$tmp/wrong.db"
sed 's|switch:4@50GB/s,1us|no-such-topology|; s|, "counts": "no-such-file"||' "$tmp/wrong.json" >"$tmp/wrong2.json"
says "a topology that is not there" 3 "no-such-topology" sweep "$tmp/wrong2.json" --db "$tmp/wrong.db"
[ -e "$tmp/wrong.db" ] && verdict "nothing is begun" "a database is there" || verdict "nothing is begun" ""
says "the first that failed" 1 "the first now: point " sweep "$study" --db "$tmp/first.db" -j 2
# Replicas are ranked by their mean, not by the best of them.
echo '{"base": {"trace": "traces/transformer-8", "topology": "switch:8@50GB/s,1us"}, "replicas": 5, "objectives": ["time_ps"],
    "axes": [{"name": "noise", "pointer": "/noise/-", "values": ["lognormal:cv=0.05", "lognormal:cv=0.3"]}]}' >"$tmp/noisy.json"
sweep "$tmp/noisy.json" --db "$tmp/noisy.db" -q
"$ringlet" sweep query "$tmp/noisy.db" -c noise,time_ps -f csv 2>"$tmp/err" | tail -n +2 | awk -F, '{ n[$1]++; s[$1] += $2 } END { for (k in s) printf "%s,%.1f\n", k, s[k] / n[k] }' | sort -t, -k2n >"$tmp/expected"
"$ringlet" sweep top "$tmp/noisy.db" -c noise,time_ps -f csv 2>"$tmp/err" | tail -n +2 | awk -F, '{ printf "%s,%.1f\n", $1, $2 }' >"$tmp/got"
[ "$(wc -l <"$tmp/got")" = 2 ] && cmp -s "$tmp/expected" "$tmp/got" && verdict "top: means of replicas" "" || verdict "top: means of replicas" "$(cat "$tmp/got" "$tmp/expected")"
"$ringlet" sweep pareto "$tmp/noisy.db" -c noise -f csv 2>"$tmp/err" | tail -n +2 >"$tmp/got"
expect "pareto: means of replicas" "$(cat "$tmp/got")" "$(head -1 "$tmp/expected" | cut -d, -f1)"
says "no database" 5 "cannot be opened" sweep query "$tmp/none.db"
says "not a database" 3 "is not a database of a sweep" sweep query "$study"
says "status of what is none" 5 "cannot be opened" sweep --status "$tmp/none.db"

# Plots: as many lines and markers as values; the front.
sweep query "$tmp/1.db" --plot "$tmp/1.svg"
expect "plot: a line for each of three values, 30 markers on each" "$(grep -c '<title>' "$tmp/1.svg") $(grep -o '<path d="M[^"]*a3.5 3.5' "$tmp/1.svg" | wc -l)" "3 31"
grep -q '>100 GB/s<' "$tmp/1.svg" && verdict "plot: the axis of bandwidths has units" "" || verdict "plot: the axis of bandwidths has units" "no"
sweep query "$tmp/1.db" --plot "$tmp/2.svg" --x algorithm --by slow --panels bw --where "bw in ('5GB/s', '500GB/s')" --y busiest_utilization
expect "plot: two panels" "$(grep -c '>bw: ' "$tmp/2.svg")" 2
expect "plot: they share a legend, which says what tells the lines apart" "$(grep -c 'font-style="italic">slow<' "$tmp/2.svg") $(grep -c 'h26" .*<text' "$tmp/2.svg")" "1 3"
# The mean of replicas, on a linear axis, as computed from points without noise.
cat >"$tmp/noisy.json" <<'J'
{"base": {"model": "transformer:layers=1,hidden=64,heads=2,vocabulary=100", "topology": "switch:2@5GB/s,1us", "noise": []}, "replicas": 40,
 "axes": [{"name": "cv", "pointer": "/noise/-", "values": [null, "lognormal:cv=0.5", "lognormal:cv=0.25"]}, {"name": "speed", "pointer": "/compute-scale", "values": [1, 2, 4]}]}
J
sweep "$tmp/noisy.json" --db "$tmp/noisy.db"
sweep query "$tmp/noisy.db" --plot "$tmp/3.svg" --x speed --by cv
csv "$tmp/noisy.db" | awk -F, 'NR > 1 { n[$3 $4]++; sum[$3 $4] += $8 } END { printf "%.6f\n", (sum["lognormal:cv=0.51"] / n["lognormal:cv=0.51"] - sum["4"] / n["4"]) / (sum["1"] / n["1"] - sum["4"] / n["4"]) }' >"$tmp/share"
expect "plot: of replicas the mean" "$(grep -o 'd="M[^"]*"><title>[^<]*' "$tmp/3.svg" | tr 'ML<>"' '     ' |
    awk -v want="$(cat "$tmp/share")" '/none/ { one = $3; four = $7 } /cv=0[.]5/ { off = (four - $3) / (four - one) - want; print (off < 0.002 && off > -0.002), (want > 1) }')" "1 1"
# A letter takes about seven points, after a key of 32.
expect "plot: names of the legend stand apart" "$(grep -o '<text x="[0-9.]*" y="[0-9.]*">\(none\|lognormal[^<]*\)<' "$tmp/3.svg" | tr '"<>' '   ' |
    awk '$5 == y && $3 - x < 32 + 7 * length(name) { n++ } { x = $3; y = $5; name = $6 } END { print NR, n + 0 }')" "3 0"
grep -q 'mean of 40 replicas' "$tmp/3.svg" && verdict "and it is said" "" || verdict "and it is said" "no"
says "plot: an unknown axis" 2 "--x: no axis 'bww'; did you mean 'bw'?" sweep query "$tmp/1.db" --plot "$tmp/x.svg" --x bww
says "plot: an axis twice" 2 "is used twice" sweep query "$tmp/1.db" --plot "$tmp/x.svg" --x bw --by bw
says "plot: too many lines" 2 "these are more" sweep query "$tmp/1.db" --plot "$tmp/x.svg" --x slow --by bw
says "plot: nothing there" 3 "no point has a time_ps" sweep query "$tmp/1.db" --plot "$tmp/x.svg" --where 'status = 9'
says "plot: of an unknown column" 2 "did you mean 'time_ps'" sweep query "$tmp/1.db" --plot "$tmp/x.svg" --y tim_ps
[ ! -e "$tmp/x.svg" ] && verdict "plot: an error leaves no file" "" || verdict "plot: an error leaves no file" "there it is"
says "front" 0 "time_ps" sweep pareto "$tmp/1.db" --plot "$tmp/f.svg"
grep -q '<title>front</title>' "$tmp/f.svg" && verdict "plot: the front" "" || verdict "plot: the front" "no"
says "front: one objective" 2 "query DB --plot' plots it over an axis" sweep pareto "$tmp/zip.db" --plot "$tmp/x.svg"

# Wrong use, before anything runs.
wide='{"name": "w", "base": {}, "axes": ['
for a in seed until host-scale; do wide="$wide{\"pointer\": \"/$a\", \"range\": {\"from\": 1, \"to\": 9, \"count\": 10000}},"; done
echo "${wide%,}]}" >"$tmp/wide.json"
says "10^12 points" 3 "1000000000000 places" sweep "$tmp/wide.json" --db "$tmp/w.db"
[ ! -e "$tmp/w.db" ] && verdict "a study that is refused leaves no file" "" || verdict "a study that is refused leaves no file" "there it is"
echo '{"base": {}, "axes": [{"pointer": "/layout/tp", "values": [1]}]}' >"$tmp/p.json"
says "unknown pointer" 3 "base has no '/layout'" sweep "$tmp/p.json" --db "$tmp/w.db"
echo '{"base": {}, "axes": [{"pointer": "/seed", "values": []}]}' >"$tmp/p.json"
says "empty axis" 3 "p.json:1:" sweep "$tmp/p.json" --db "$tmp/w.db"
says "no study" 2 "expected STUDY" sweep --db "$tmp/w.db"
says "nothing at all" 2 "expected STUDY" sweep
says "no database named: rows are printed and not kept" 1 "4 of 546 points failed" sweep "$study"
says "shard" 2 "expected I/N" sweep "$study" --db "$tmp/w.db" --shard 4/3
says "dry run" 0 "mixed: 546 points: bw (30) x algorithm (3) x slow (3), 3 named, 2 replicas" sweep "$study" --dry-run

# Invalid studies: one line, and the right exit status.
wrong() { # name, text, members of the study behind base
    echo "{\"base\": {\"model\": \"transformer:layers=1,hidden=64,heads=2,vocabulary=100\", \"topology\": {\"dims\": [{\"shape\": \"switch\", \"size\": 2, \"bandwidth\": \"5GB/s\", \"latency\": \"1us\"}]}}, $3}" >"$tmp/p.json"
    says "wrong study: $1" 3 "$2" sweep "$tmp/p.json" --db "$tmp/w.db"
}
seeds='"axes": [{"name": "a", "pointer": "/seed", "values": [1, 2]}]'
wrong "axis of two names" "another axis is called 'a'" '"axes": [{"name": "a", "pointer": "/seed", "values": [1]}, {"name": "a", "pointer": "/until", "values": ["1s"]}]'
wrong "a place changed twice" "changes the same value as '/seed' of axis 'a'" '"axes": [{"name": "a", "pointer": "/seed", "values": [1]}, {"name": "b", "pointer": "/seed", "values": [1]}]'
wrong "axis without a name" "axes[0].name: expected a name" '"axes": [{"name": "", "pointer": "/seed", "values": [1]}]'
wrong "a huge count" "expected a whole number" '"axes": [{"pointer": "/seed", "range": {"from": 1, "to": 2, "count": 1e30}}]'
wrong "not a number" "expected a number, got 'nan'" '"axes": [{"pointer": "/compute-scale", "range": {"from": "nan", "to": "1", "count": 3}}]'
wrong "infinite" "expected a number, got 'inf'" '"axes": [{"pointer": "/compute-scale", "range": {"from": "1", "to": "inf", "count": 3}}]'
wrong "logarithm of nothing" "needs ends above 0" '"axes": [{"pointer": "/seed", "range": {"from": 0, "to": 2, "count": 3, "scale": "log"}}]'
wrong "a range of several places" "a range needs one pointer" '"axes": [{"pointers": ["/seed", "/compute-scale"], "range": {"from": 1, "to": 2, "count": 3}}]'
wrong "a wrong type" "expected a list of values" '"axes": [{"pointer": "/seed", "values": {"a": 1}}]'
wrong "a pointer that is near" "did you mean '/topology'?" '"axes": [{"pointer": "/toplogy/dims/0/bandwidth", "values": ["1GB/s"]}]'
wrong "a pointer that is near, further in" "did you mean '/topology/dims'?" '"axes": [{"pointer": "/topology/dim/0/bandwidth", "values": ["1GB/s"]}]'
wrong "a filter of no axis" "no axis of that name" "$seeds, \"filter\": [{\"unless\": {\"b\": 1}}]"
wrong "ends of different units" "'KB/s' and 'GB/s': use one unit" '"axes": [{"pointer": "/topology/dims/0/bandwidth", "range": {"from": "1KB/s", "to": "1GB/s", "count": 3}}]'
wrong "two points of one name" "another point is called 'x'" "$seeds, \"points\": [{\"name\": \"x\"}, {\"name\": \"x\", \"set\": {\"/until\": \"1s\"}}]"
wrong "a filter of no value" "axis 'a' has no such value; it has 1, 2" "$seeds, \"filter\": [{\"unless\": {\"a\": 7}}]"
wrong "no replica" "expected at least 1" "$seeds, \"replicas\": 0"
wrong "a negative sample" "got -3" "$seeds, \"sample\": {\"random\": -3}"
wrong "a seed that is a text" "expected a whole number" "$seeds, \"sample\": {\"random\": 1, \"seed\": \"x\"}"
[ ! -e "$tmp/w.db" ] && verdict "wrong studies leave no file" "" || verdict "wrong studies leave no file" "there it is"
echo "this is no database" >"$tmp/text"
says "a text for a database" 3 "file is not a database" sweep "$study" --db "$tmp/text"
if command -v sqlite3 >/dev/null; then
    sqlite3 "$tmp/other.db" 'CREATE TABLE x(a)'
    says "another's database" 3 "is not a database of a sweep" sweep "$study" --db "$tmp/other.db"
    expect "another's database is as it was" "$(sqlite3 "$tmp/other.db" .schema)" "CREATE TABLE x(a);"
else
    skip "another's database" "needs sqlite3"
fi
says "a database in no folder" 5 "No such file" sweep "$study" --db "$tmp/no/such/x.db"
mkdir "$tmp/folder"
says "a folder for a database" 5 "folder: cannot be opened: Is a directory" sweep top "$tmp/folder"
# A database of an earlier version lacks a figure that is stored today.
if command -v sqlite3 >/dev/null; then
    echo '{"base": {"model": "transformer:layers=1,hidden=64,heads=2,vocabulary=100", "topology": "switch:2@5GB/s,1us"},
        "axes": [{"name": "a", "pointer": "/seed", "values": [1, 2, 3]}]}' >"$tmp/grown.json"
    sweep "$tmp/grown.json" --db "$tmp/grown.db" -q
    csv "$tmp/grown.db" >"$tmp/want.csv"
    cp "$tmp/grown.db" "$tmp/older.db"
    sqlite3 "$tmp/older.db" 'DELETE FROM result WHERE point=1; DELETE FROM point WHERE point=1; ALTER TABLE result DROP COLUMN bubble_ps'
    sweep "$tmp/grown.json" --db "$tmp/older.db" -q
    expect "a database without a figure: the column is added" "$(sqlite3 "$tmp/older.db" "SELECT count(*) FROM pragma_table_info('result') WHERE name='bubble_ps'")" 1
    expect "and the rest is run" "$(sqlite3 "$tmp/older.db" 'SELECT count(*) FROM result WHERE time_ps > 0')" 3
else
    skip "a database of an earlier version" "needs sqlite3"
fi
# Numbers 0, 2, 3, 4 of five remain: shards have two and two, or two, one and one.
echo '{"base": {"model": "transformer:layers=1,hidden=64,heads=2,vocabulary=100", "topology": "switch:2@5GB/s,1us"},
    "axes": [{"name": "a", "pointer": "/seed", "values": [1, 2, 3, 4, 5]}], "filter": [{"unless": {"a": 2}}]}' >"$tmp/p.json"
sweep "$tmp/p.json" --db "$tmp/share1.db" --shard 1/3
says "status of a shard: its own points" 0 ", shard 1/3: 2 of 2 points (100.0 %), 0 failed" sweep --status "$tmp/share1.db"
sweep "$tmp/p.json" --db "$tmp/share2.db" --shard 2/3
says "and of one that has fewer" 0 ", shard 2/3: 1 of 1 points (100.0 %), 0 failed" sweep --status "$tmp/share2.db"
says "shard 0/3" 2 "expected I/N" sweep "$study" --db "$tmp/w.db" --shard 0/3
says "no jobs" 2 "--jobs: expected 1 to 1024" sweep "$study" --db "$tmp/w.db" --jobs 0
says "merge: other studies" 3 "is of another study" sweep merge "$tmp/w.db" "$tmp/1.db" "$tmp/zip.db"
says "merge: no such database" 5 "cannot be opened" sweep merge "$tmp/w.db" "$tmp/none.db"
[ ! -e "$tmp/w.db" ] && verdict "merge: an error leaves no file" "" || verdict "merge: an error leaves no file" "there it is"
says "merge: into one of them" 2 "is the target of the merge" sweep merge "$tmp/s1.db" "$tmp/s1.db"
says "merge: shards are missing" 0 "of 546 points are in" sweep merge "$tmp/w2.db" "$tmp/s1.db" "$tmp/s2.db"
cp "$tmp/zip.db" "$tmp/zip-was.db"
says "query: no such column" 2 "no such column: bww; columns are those of the table" sweep query "$tmp/1.db" --where "bww = 1"
says "query: a text without quotes" 2 'unrecognized token: "25GB"; columns are those of the table, texts as in' sweep query "$tmp/1.db" --where "bw = 25GB/s"
says "query: several statements" 2 "not several statements" sweep query "$tmp/zip.db" --where '1); DELETE FROM point; --'
says "query: order with a statement" 2 "not several statements" sweep query "$tmp/zip.db" --order 'point; DROP TABLE point'
says "query: what is not read" 2 "not authorized" sweep query "$tmp/zip.db" --where "(select count(*) from pragma_table_info('point')) > 0"
cmp -s "$tmp/zip.db" "$tmp/zip-was.db" && verdict "queries only read" "" || verdict "queries only read" "the database has changed"

# Inputs are read once, and igraph runs only on the preparing thread: a preloaded library records this.
cat >"$tmp/watch.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>
static void *next(const char *name) { return dlsym(RTLD_NEXT, name); }
static void tell(const char *what, const char *path)
{
    char line[5000];
    const char *to = getenv("WATCH");
    int n = snprintf(line, sizeof line, "%s %s\n", what, path), fd = to ? (int)syscall(SYS_openat, AT_FDCWD, to, O_WRONLY | O_APPEND | O_CREAT, 0666) : -1;
    if (fd >= 0 && syscall(SYS_write, fd, line, (size_t)n) && syscall(SYS_close, fd)) {}
}
#define OPEN(name) int name(const char *p, int f, ...) { int mode; va_list a; va_start(a, f); mode = va_arg(a, int); va_end(a); tell("open", p); return ((int (*)(const char *, int, ...))next(#name))(p, f, mode); }
#define FOPEN(name) FILE *name(const char *p, const char *m) { tell("open", p); return ((FILE *(*)(const char *, const char *))next(#name))(p, m); }
OPEN(open) OPEN(open64) FOPEN(fopen) FOPEN(fopen64)
/* What every call of net/topology/graph.c begins with. */
void *igraph_set_error_handler(void *h)
{
    tell("igraph", syscall(SYS_gettid) == getpid() ? "main" : "worker");
    return ((void *(*)(void *))next("igraph_set_error_handler"))(h);
}
C
watched() { # study: runs it on two threads, and records into $tmp/watched
    rm -f "$tmp/watched" "$tmp"/w.db*
    WATCH=$tmp/watched LD_PRELOAD=$tmp/watch.so "$ringlet" sweep "$1" --db "$tmp/w.db" -j 2 -q >"$tmp/out" 2>"$tmp/err"
}
times_ps() { "$ringlet" sweep query "$1" -c time_ps,status -f csv | tail -n +2 | sort -u; }
# A point with shared inputs has the result of a single run: name, members of base, options of that run.
alike() {
    echo "{\"base\": {$2}, \"axes\": [{\"pointer\": \"/until\", \"values\": [\"1000s\", \"2000s\"]}]}" >"$tmp/a.json"
    name=$1
    shift 2
    rm -f "$tmp"/a.db*
    sweep "$tmp/a.json" --db "$tmp/a.db" -q
    "$ringlet" run -q -f json "$@" >"$tmp/run.json" 2>>"$tmp/err"
    expect "as a run of its own: $name" "$(times_ps "$tmp/a.db")" "$(sed -n 's/^ *"time_ps": \([0-9]*\).*/\1/p' "$tmp/run.json" | head -1),0"
}
echo '{"dims": [{"shape": "switch", "size": 4, "bandwidth": "100GB/s", "latency": "1us"}, {"shape": "switch", "size": 4, "bandwidth": "10GB/s", "latency": "2us"}]}' >"$tmp/net.json"
echo '{"model": "transformer:layers=2,hidden=64,heads=2,vocabulary=100"}' >"$tmp/job.json"
echo '{"ranks": [15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0]}' >"$tmp/place.json"
cat >"$tmp/astra.json" <<'J'
{"scheduling-policy": "LIFO", "endpoint-delay": 10, "preferred-dataset-splits": 1, "active-chunks-per-dimension": 1,
 "all-reduce-implementation": ["ring", "ring"], "all-gather-implementation": ["ring", "ring"], "reduce-scatter-implementation": ["ring", "ring"],
 "all-to-all-implementation": ["direct", "direct"]}
J
net="\"topology\": \"$tmp/net.json\""
train='"model": "gpt2-small", "accelerator": "h100-sxm", "network": "alpha-beta", "train": "batch=32"'
gpt2="--model gpt2-small --accelerator h100-sxm -n alpha-beta --train batch=32 -t $tmp/net.json"
alike "--map" "$net, $train, \"layout\": \"tp=2,dp=4\", \"map\": \"tp=0,dp=1\"" $gpt2 --layout tp=2,dp=4 --map tp=0,dp=1
alike "--fold-stages" "$net, $train, \"layout\": {\"pp\": 2, \"tp\": 2}, \"fold-stages\": true" $gpt2 --layout pp=2,tp=2 --fold-stages
alike "--fold" "$net, $train, \"layout\": {\"pp\": 4, \"tp\": 4}, \"fold\": true" $gpt2 --layout pp=4,tp=4 --fold
alike "order=auto" "$net, $train, \"layout\": {\"pp\": 2, \"tp\": 2, \"order\": \"auto\"}" $gpt2 --layout pp=2,tp=2,order=auto
alike "--job, --background" "$net, \"placement\": \"$tmp/place.json\", \"trace\": \"traces/transformer-8\", \"job\": [\"$tmp/job.json@0-3\"], \"background\": [\"4>12:1GB/s\"]" \
    -t "$tmp/net.json" --placement "$tmp/place.json" --trace traces/transformer-8 --job "$tmp/job.json@0-3" --background "4>12:1GB/s"
alike "--timing astra" "$net, \"trace\": \"traces/transformer-16\", \"timing\": \"astra\", \"astra-system\": \"$tmp/astra.json\"" \
    -t "$tmp/net.json" --trace traces/transformer-16 --timing astra --astra-system "$tmp/astra.json"
if ! ${CC:-cc} -fPIC -shared -o "$tmp/watch.so" "$tmp/watch.c" -ldl 2>/dev/null || ! WATCH=$tmp/watched LD_PRELOAD=$tmp/watch.so "$ringlet" topo export ring:4@200GB/s,0ns --as graphml >/dev/null 2>&1 ||
    ! grep -q '^igraph main' "$tmp/watched"; then
    skip "how often inputs are read, and who calls igraph" "needs a library that can be preloaded"
else
    reads() { # number of points, members of base: how often each input was opened
        echo "{\"base\": {$2}, \"axes\": [{\"pointer\": \"/compute-scale\", \"range\": {\"from\": 0.5, \"to\": 2, \"count\": $1}}, {\"pointer\": \"/algorithm\", \"values\": [\"ring\", \"direct\"]}]}" >"$tmp/p.json"
        watched "$tmp/p.json" || cat "$tmp/err"
        grep "^open .*$3" "$tmp/watched" | sort | uniq -c
    }
    once() { # name, members of base, expression that finds the inputs
        few=$(reads 2 "$2" "$3") many=$(reads 40 "$2" "$3")
        [ -n "$few" ] && expect "read once: $1" "$many" "$few" || verdict "read once: $1" "nothing was read"
    }
    once "a topology, a placement, a trace, jobs" "$net, \"placement\": \"$tmp/place.json\", \"trace\": \"traces/transformer-8\", \"job\": [\"$tmp/job.json@0-3\", \"transformer:layers=1,hidden=64,heads=2,vocabulary=100@4-7\"]" \
        '\(net.json\|place.json\|job.json\|transformer\)'
    once "background traffic beside a trace" "$net, \"trace\": \"traces/transformer-8\", \"background\": [\"0-3>12:1GB/s\"]" 'transformer'
    once "a system of ASTRA-sim" "$net, \"trace\": \"traces/transformer-16\", \"timing\": \"astra\", \"astra-system\": \"$tmp/astra.json\"" '\(astra.json\|transformer\)'
    once "an accelerator with its stacks, a model, pinned" "$net, $train, \"layout\": \"tp=2,dp=4\", \"map\": \"tp=1,dp=0\"" '\(h100\|gpt2\)'
    "$ringlet" topo export --as graphml -o "$tmp/net.graphml" "$tmp/net.json" >"$tmp/out" 2>"$tmp/err"
    main_only() { # name, study
        watched "$2"
        grep -q '^igraph main' "$tmp/watched" && ! grep -q '^igraph worker' "$tmp/watched" && verdict "igraph on one thread: $1" "" || verdict "igraph on one thread: $1" "$(grep igraph "$tmp/watched" | sort | uniq -c)"
    }
    for e in replay collectives aggregation training; do main_only "example $e" "tools/sweep/examples/$e.json"; done
    reads 3 "\"topology\": \"$tmp/net.graphml\", \"trace\": \"traces/transformer-8\", \"job\": [\"$tmp/job.json@8-11\"]" '' >/dev/null
    main_only "a graph, a trace and a job" "$tmp/p.json"
    for how in '"layout": {"pp": 2, "tp": 2, "order": "auto"}' '"layout": {"pp": 4, "tp": 4}, "fold": true' '"layout": {"pp": 2, "tp": 2}, "fold-stages": true'; do
        reads 3 "$net, $train, $how" '' >/dev/null
        grep -q '^igraph worker' "$tmp/watched" && verdict "no igraph in workers: $how" "$(grep -c igraph "$tmp/watched") calls" || verdict "no igraph in workers: $how" ""
    done
    echo "{\"command\": \"coll\", \"base\": {\"topology\": \"$tmp/net.graphml\", \"bytes\": \"1MiB\", \"algorithm\": \"ring\", \"collective\": \"all_reduce\"},
        \"axes\": [{\"pointer\": \"/algorithm\", \"values\": [\"ring\", \"direct\"]}, {\"pointer\": \"/collective\", \"values\": [\"all_reduce\", \"all_to_all\", \"broadcast\"]}, {\"pointer\": \"/routing\", \"values\": [\"ecmp\", \"spray\"]}, {\"pointer\": \"/ranks\", \"values\": [4, 16]}]}" >"$tmp/p.json"
    main_only "a graph and collectives" "$tmp/p.json"
    "$ringlet" coll -t "$tmp/net.json" -c all_gather -b 1MiB -a ring --export-plan "$tmp/plan.xml" --as msccl >"$tmp/out" 2>"$tmp/err"
    "$ringlet" coll -t "$tmp/net.json" -c all_gather -b 1MiB -a direct --export-plan "$tmp/plan.goal" --as goal >"$tmp/out" 2>"$tmp/err"
    seq 1000 1015 >"$tmp/shares"
    seq 1 400 >"$tmp/updates"
    coll_reads() { # number of points, more of base: as above
        echo "{\"command\": \"coll\", \"base\": {\"topology\": {\"dims\": [{\"shape\": \"switch\", \"size\": 16, \"bandwidth\": \"1GB/s\", \"latency\": \"1us\", \"in_network\": \"reduce+multicast\"}]}, $2},
            \"axes\": [{\"pointer\": \"/topology/dims/0/bandwidth\", \"range\": {\"from\": \"10GB/s\", \"to\": \"100GB/s\", \"count\": $1}}]}" >"$tmp/p.json"
        watched "$tmp/p.json" || cat "$tmp/err"
        grep "^open .*\(plan\.\|shares\|updates\)" "$tmp/watched" | sort | uniq -c
    }
    coll_once() {
        few=$(coll_reads 2 "$2") many=$(coll_reads 20 "$2")
        [ -n "$few" ] && expect "read once: $1" "$many" "$few" || verdict "read once: $1" "nothing was read"
    }
    coll_once "a plan" "\"collective\": \"all_gather\", \"bytes\": \"1MiB\", \"plan\": [\"$tmp/plan.xml\"]"
    coll_once "a plan of messages" "\"collective\": \"all_gather\", \"bytes\": \"1MiB\", \"plan\": [\"$tmp/plan.goal\"]"
    coll_once "counts" "\"collective\": \"all_gather\", \"algorithm\": \"ring\", \"counts\": \"$tmp/shares\""
    coll_once "updates" "\"network\": \"packet\", \"collective\": \"all_reduce\", \"bytes\": \"64KiB\", \"algorithm\": \"libra\", \"updates\": \"$tmp/updates\""
    "$ringlet" topo export --as graphml -o "$tmp/adds.graphml" switch:4@100GB/s,1us,in_network=reduce+multicast*switch:4@100GB/s,1us,in_network=reduce+multicast >"$tmp/out" 2>"$tmp/err"
    sed "s|$tmp/net.graphml|$tmp/adds.graphml|; s|\"ring\", \"direct\"|\"ring\", \"switchml\", \"atp\", \"ps_switch\"|; s|, \"all_to_all\", \"broadcast\"||; s|\"base\": {|&\"network\": \"packet\", |" "$tmp/p.json" >"$tmp/adds.json"
    main_only "a graph whose switches add up" "$tmp/adds.json"
fi

for e in replay collectives aggregation training; do
    says "example $e" 0 "of them run now" sweep "tools/sweep/examples/$e.json" --db "$tmp/e-$e.db" --plot "$tmp/$e.svg"
done
finish
