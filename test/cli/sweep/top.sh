#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Rows of a sweep: short tables, and for each row the command that repeats it, to the picosecond.
. "$(dirname "$0")/../../support/tap.sh"
if "$ringlet" --version | grep -q 'SQLite not built in'; then
    skip "rows and commands" "needs SQLite"
    finish
fi
sweep() { "$ringlet" sweep "$@" >"$tmp/out" 2>"$tmp/err" </dev/null; }
mkdir "$tmp/bin"
ln -s "$ringlet" "$tmp/bin/ringlet"
PATH=$tmp/bin:$PATH
# Pastes every command below a table into a shell and compares the time with the row's.
repeats() { # name, database, at least so many rows, more arguments of top
    name=$1 db=$2 least=$3
    shift 3
    "$ringlet" sweep top "$db" --commands "$@" >"$tmp/out" 2>"$tmp/err"
    n=0 bad=""
    sed -n 's/^# point //p' "$tmp/out" >"$tmp/points"
    while read -r point; do
        sed -n "/^# point $point\$/{n;p;}" "$tmp/out" >"$tmp/pasted"
        echo "$(cat "$tmp/pasted") --format json" | sh >"$tmp/json" 2>"$tmp/pasted.err"
        got=$(sed -n 's/.*"time_ps": *\([0-9]*\).*/\1/p' "$tmp/json" | head -1)
        want=$("$ringlet" sweep query "$db" -c time_ps -f csv --where "point = $point" | tail -1)
        [ -n "$got" ] && [ "$got" = "$want" ] || bad="$bad point $point: $got, not $want: $(cat "$tmp/pasted" "$tmp/pasted.err")"
        n=$((n + 1))
    done <"$tmp/points"
    [ -z "$bad" ] && [ $n -ge "$least" ] && verdict "$name: $n commands" "" || verdict "$name: $n commands" "$bad"
}
columns() { sed -n 1p "$tmp/out" | wc -w; }

for e in replay collectives aggregation training ina; do
    sweep "tools/sweep/examples/$e.json" --db "$tmp/$e.db" -q
    sweep top "$tmp/$e.db" -f table
    [ "$(columns)" -le 12 ] && [ "$(columns)" -ge 4 ] && verdict "top: a short table of $e" "" || verdict "top: a short table of $e" "$(columns) columns"
    repeats "example $e" "$tmp/$e.db" 10
done
echo '{"command": "coll", "base": {"topology": "switch:5@100Gbps,1us,in_network=reduce+multicast", "network": "packet", "collective": "all_reduce", "bytes": "64KiB", "set": ["switchml.rto=1ms"]},
    "axes": [{"pointer": "/algorithm", "values": ["ring", "switchml"]}, {"name": "slots", "pointer": "/set/-", "values": ["switch.slots=16", "switch.slots=64"]}]}' >"$tmp/sets.json"
sweep "$tmp/sets.json" --db "$tmp/sets.db" -q
repeats "points with settings of protocols that do not run" "$tmp/sets.db" 4
says "top: what is left out" 0 "more columns: --all shows them, --columns chooses" sweep top "$tmp/replay.db" -f table
sweep top "$tmp/replay.db" -f table --all
[ "$(columns)" -gt 12 ] && verdict "top: --all" "" || verdict "top: --all" "$(columns) columns"
sweep top "$tmp/replay.db" -f table
expect "top: no column that is equal in all rows, or that repeats another" "$(sed -n 1p "$tmp/out" | tr ' ' '\n' | grep -c '^\(host_ps\|idle_ps\|iteration_time_ps\)$')" 0
sweep top "$tmp/training.db" -f table -n 3
expect "top: axes, objectives and time in any case" "$(sed -n 1p "$tmp/out" | tr ' ' '\n' | grep -c '^\(layout\|batch\|recompute\|outer\|tokens_per_second\|memory_bytes\|time_ps\)$')" 7
sweep test/page/odd_axes.json --db "$tmp/odd.db" -q
says "top: values that are objects, in words" 0 " switch,8,100GB/s,1us " sweep top "$tmp/odd.db" -f table -n 3
sweep top "$tmp/replay.db" -f table -c point,bw
expect "top: --columns" "$(sed -n 1p "$tmp/out" | tr -s ' ')" "point bw"
sweep top "$tmp/replay.db" -f table --by idle_ps
sed -n 1p "$tmp/out" | grep -q 'idle_ps' && verdict "top: the column it ranks by" "" || verdict "top: the column it ranks by" "no"
sweep pareto "$tmp/training.db" -f table
[ "$(columns)" -le 12 ] && verdict "pareto: a short table" "" || verdict "pareto: a short table" "$(columns) columns"

# Words that a shell would change, replicas, flags, objects.
echo "{\"base\": {\"model\": \"transformer:layers=2,hidden=64,heads=2,vocabulary=100\", \"no-skew\": true, \"noise\": [\"lognormal:cv=0.1\"],
  \"topology\": {\"name\": \"it's \$HOME \\\"x\\\"\", \"dims\": [{\"shape\": \"ring\", \"size\": 2, \"bandwidth\": \"50GB/s\", \"latency\": \"1us\"}, {\"shape\": \"switch\", \"size\": 2, \"bandwidth\": \"5GB/s\", \"latency\": \"1us\"}]}},
  \"axes\": [{\"name\": \"bw\", \"pointer\": \"/topology/dims/1/bandwidth\", \"values\": [\"5GB/s\", \"9GB/s\"]}, {\"name\": \"command\", \"pointer\": \"/algorithm\", \"values\": [null, \"ring\"]}],
  \"points\": [{\"name\": \"mine\", \"set\": {\"/algorithm\": \"direct\"}}], \"replicas\": 2}" >"$tmp/quote.json"
sweep "$tmp/quote.json" --db "$tmp/quote.db"
repeats "quotes and replicas" "$tmp/quote.db" 5 --goal max
says "commands: of a named point" 0 "--algorithm direct" sweep query "$tmp/quote.db" --where "name = 'mine'" -c command -f csv
says "commands: CSV on request" 0 ",command" sweep query "$tmp/quote.db" --commands -f csv
sweep query "$tmp/quote.db" -f csv
head -1 "$tmp/out" | grep -q ',command$' && verdict "commands: not in CSV unless asked for" "there" || verdict "commands: not in CSV unless asked for" ""
says "an axis called command" 0 '"axis_command":"ring"' sweep query "$tmp/quote.db" -f json
for verb in top pareto query; do says "commands: always in JSON of $verb" 0 '"command":"ringlet run --model' sweep "$verb" "$tmp/quote.db" -f json; done
# A point with wrong options has none; nor has any if an input of the study is gone.
echo '{"base": {"model": "transformer:layers=2,hidden=64,heads=2,vocabulary=100", "topology": "switch:2@5GB/s,1us"}, "axes": [{"pointer": "/no-skew", "values": [null, 3]}]}' >"$tmp/wrong.json"
sweep "$tmp/wrong.json" --db "$tmp/wrong.db"
says "commands: none for wrong options" 0 '"command":null' sweep query "$tmp/wrong.db" --where 'status <> 0' -f json
says "the failed point is no copy of another" 1 "1 of 2 points failed" sweep "$tmp/wrong.json" --db "$tmp/wrong.db"
echo '{"dims": [{"shape": "switch", "size": 4, "bandwidth": "5GB/s", "latency": "1us"}]}' >"$tmp/net.json"
printf '{"base": {"model": "transformer:layers=2,hidden=64,heads=2,vocabulary=100", "topology": "%s"}, "axes": [{"pointer": "/topology/dims/0/bandwidth", "values": ["5GB/s", "6GB/s"]}]}' "$tmp/net.json" >"$tmp/gone.json"
sweep "$tmp/gone.json" --db "$tmp/gone.db"
rm -f "$tmp/net.json"
says "commands: an input is gone" 0 "no commands: " sweep top "$tmp/gone.db" -f json
grep -q '"command":null' "$tmp/out" && verdict "commands: rows are shown all the same" "" || verdict "commands: rows are shown all the same" "no"
coll() { "$ringlet" coll -t switch:4@5GB/s,1us -c all_reduce -b 1MiB -a ring "$@" >"$tmp/out" 2>"$tmp/err"; }
coll --set switchml.rto=1ms
expect "a setting of a protocol that does not run: refused" $? 2
coll --set switchml.rto=1ms --unused-sets
expect "a setting of a protocol that does not run: accepted on request" $? 0
coll --set switchml.rtto=1ms --unused-sets
expect "an unknown setting: refused all the same" $? 2
finish
