#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Studies that grow in their database: done points are kept, and the rows are those of a new database, in any history.
. "$(dirname "$0")/../../support/tap.sh"
command -v timeout >/dev/null || { skip "growing studies" "needs timeout"; finish; }
if "$ringlet" --version | grep -q 'SQLite not built in'; then
    skip "growing studies" "needs SQLite"
    finish
fi
sweep() { "$ringlet" sweep "$@" >"$tmp/out" 2>"$tmp/err" </dev/null; }
all() { # every table that people see, of a database
    "$ringlet" sweep query "$1" -f csv
    command -v sqlite3 >/dev/null && sqlite3 "$1" 'SELECT point,name,coordinates,replica,options,hex(key),same_as,status,error FROM point; SELECT * FROM result; SELECT * FROM link; SELECT * FROM axis; SELECT * FROM dropped; SELECT * FROM share; SELECT name,text,hash,points,objectives,shard,columns FROM study'
}
same() { # name, database that was grown, database that was not
    all "$2" >"$tmp/grown" 2>"$tmp/err"
    all "$3" >"$tmp/fresh" 2>>"$tmp/err"
    [ -s "$tmp/fresh" ] && cmp -s "$tmp/grown" "$tmp/fresh" && verdict "$1" "" || verdict "$1" "$(diff "$tmp/fresh" "$tmp/grown" | head -5)"
}

study() { # values of bw, of algorithm, replicas, more members: a study on standard output
    echo "{\"name\": \"growing\", \"base\": {\"model\": \"transformer:layers=2,hidden=256,heads=4,vocabulary=1000\", \"noise\": [],
  \"topology\": {\"dims\": [{\"shape\": \"switch\", \"size\": 4, \"bandwidth\": \"50GB/s\", \"latency\": \"1us\"}]}},
  \"axes\": [{\"name\": \"bw\", \"pointer\": \"/topology/dims/0/bandwidth\", \"values\": [$1]}, {\"name\": \"algorithm\", \"pointer\": \"/algorithm\", \"values\": [$2]}],
  \"replicas\": $3, \"links\": \"summary\", $4
  \"points\": [{\"name\": \"as a point\", \"set\": {\"/topology/dims/0/bandwidth\": \"9GB/s\", \"/algorithm\": \"ring\"}}, {\"name\": \"bad\", \"set\": {\"/algorithm\": \"rnig\"}}]}"
}
few='"5GB/s", "9GB/s", "50GB/s"' more='"5GB/s", "7GB/s", "9GB/s", "50GB/s", "60GB/s"'
study "$few" '"ring", "direct"' 2 '' >"$tmp/1.json"
study "$more" '"direct", "halving_doubling", "ring"' 2 '"objectives": [{"column": "busiest_utilization", "goal": "max"}], "columns": ["time_ps", "events"],' >"$tmp/2.json"
study '"9GB/s", "60GB/s"' '"ring"' 3 '' >"$tmp/3.json"
for i in 1 2 3; do sweep "$tmp/$i.json" --db "$tmp/fresh$i.db" -q; done

# Values in front, in the middle and behind, and others in order; objectives and columns.
sweep "$tmp/1.json" --db "$tmp/g.db" -q
says "grown: only new points are run" 1 "34 points in $tmp/g.db, 18 of them run now, 14 taken from an earlier version, 2 equal to others" sweep "$tmp/2.json" --db "$tmp/g.db"
same "grown: the same bytes" "$tmp/g.db" "$tmp/fresh2.db"
says "grown: again" 1 " 0 of them run now" sweep "$tmp/2.json" --db "$tmp/g.db"
says "fewer values, one more replica: how many are not shown" 1 "26 results of values that the study no longer has stay in the database" sweep "$tmp/3.json" --db "$tmp/g.db"
same "fewer values, one more replica: the same bytes" "$tmp/g.db" "$tmp/fresh3.db"
says "fewer values: status" 0 "26 results of earlier versions of the study are kept and not shown" sweep --status "$tmp/g.db"
says "back again: nothing is run" 1 ", 0 of them run now" sweep "$tmp/2.json" --db "$tmp/g.db"
same "back again: the same bytes" "$tmp/g.db" "$tmp/fresh2.db"

# Replicas: the first one of each point is what a study without replicas has.
study "$few" '"ring", "direct"' 1 '' >"$tmp/once.json"
sweep "$tmp/once.json" --db "$tmp/once.db" -q
says "from one to several replicas: done points are kept" 1 ", 7 of them run now, 7 taken from an earlier version, 2 equal" sweep "$tmp/1.json" --db "$tmp/once.db"
same "from one to several replicas: the same bytes" "$tmp/once.db" "$tmp/fresh1.db"

# A further axis: done points are those that leave its option out.
sed 's|"axes": \[|&{"name": "slow", "pointer": "/rank-scale", "values": [null, "1:compute=0.5"]}, |' "$tmp/1.json" >"$tmp/axis.json"
sweep "$tmp/axis.json" --db "$tmp/axis.db" -q
sweep "$tmp/1.json" --db "$tmp/axes.db" -q
says "one more axis: done points are kept" 1 ", 12 of them run now, 14 taken" sweep "$tmp/axis.json" --db "$tmp/axes.db"
same "one more axis: the same bytes" "$tmp/axes.db" "$tmp/axis.db"

# From the command line.
sweep "$tmp/1.json" --db "$tmp/o.db" -q
says "values from the command line" 1 ", 8 of them run now" sweep "$tmp/1.json" --db "$tmp/o.db" --bw "5GB/s,6GB/s,7GB/s,9GB/s,50GB/s"

# What is not the same study.
before=$(all "$tmp/g.db" | cksum)
sed 's/layers=2/layers=3/' "$tmp/2.json" >"$tmp/other.json"
says "another base: what differs" 3 'base/model is "transformer:layers=2,hidden=256,heads=4,vocabulary=1000" in the database and "transformer:layers=3,' sweep "$tmp/other.json" --db "$tmp/g.db"
sed 's/"noise"/"seed": 3, "noise"/' "$tmp/2.json" >"$tmp/other.json"
says "one more option: what differs" 3 'base/seed is nothing in the database and 3 in the study' sweep "$tmp/other.json" --db "$tmp/g.db"
sed 's/"size": 4/"size": 8/' "$tmp/2.json" >"$tmp/other.json"
says "another network: what differs" 3 'base/topology/dims is [{"shape":' sweep "$tmp/other.json" --db "$tmp/g.db"
sed 's/"summary"/"none"/' "$tmp/2.json" >"$tmp/other.json"
says "other links: what differs" 3 'links is summary in the database and none in the study' sweep "$tmp/other.json" --db "$tmp/g.db"
echo '{"command": "coll", "base": {}, "axes": [{"pointer": "/bytes", "values": ["1MiB"]}]}' >"$tmp/other.json"
says "another command: what differs" 3 'command is run in the database and coll in the study' sweep "$tmp/other.json" --db "$tmp/g.db"
says "another shard: refused" 3 "holds the whole study, not shard 1/2" sweep "$tmp/1.json" --db "$tmp/g.db" --shard 1/2
expect "refused: nothing has changed" "$(all "$tmp/g.db" | cksum)" "$before"

# Shards of a study that grows, merged with what they keep.
for i in 1 2 3; do
    sweep "$tmp/1.json" --db "$tmp/s$i.db" --shard $i/3 -q
    sweep "$tmp/2.json" --db "$tmp/s$i.db" --shard $i/3 -q
    says "shard $i: status" 0 "(100.0 %)" sweep --status "$tmp/s$i.db"
done
sweep merge "$tmp/m.db" "$tmp/s3.db" "$tmp/s1.db"
sweep merge "$tmp/m.db" "$tmp/s2.db"
"$ringlet" sweep query "$tmp/m.db" -f csv >"$tmp/m.csv"
"$ringlet" sweep query "$tmp/fresh2.db" -f csv | cmp -s - "$tmp/m.csv" && verdict "shards, grown and merged: the same bytes" "" || verdict "shards, grown and merged: the same bytes" "no"
says "merged: what was kept are points" 1 " 0 of them run now" sweep "$tmp/2.json" --db "$tmp/m.db"
grep -q 'stay in the database' "$tmp/err" && verdict "merged: nothing is hidden" "$(cat "$tmp/err")" || verdict "merged: nothing is hidden" ""
sweep "$tmp/1.json" --db "$tmp/old.db" --shard 1/3 -q
says "merge of two versions: refused" 3 "is of another study" sweep merge "$tmp/x.db" "$tmp/old.db" "$tmp/s2.db"
sweep "$tmp/3.json" --db "$tmp/m.db" -q
same "merged, then fewer values: the same bytes" "$tmp/m.db" "$tmp/fresh3.db"

# kill -9 and Ctrl-C at any moment, while versions of the study alternate.
study "$more" '"ring", "direct"' 400 '' >"$tmp/long1.json"
study "$few, \"70GB/s\"" '"halving_doubling", "ring"' 500 '' >"$tmp/long2.json"
sweep "$tmp/long2.json" --db "$tmp/whole.db" -q
killed=0
for i in 1 2 3 4 5 6; do
    ms=$((20 + ($(date +%N | sed 's/^0*//') / 1000 + i * 37) % 150))
    how=KILL
    [ $((i % 3)) = 0 ] && how=INT
    timeout -s $how "0.$(printf %03d $ms)" "$ringlet" sweep "$tmp/long$((1 + i % 2)).json" --db "$tmp/k.db" -j 2 -q >/dev/null 2>&1
    case $? in 137 | 124) killed=$((killed + 1)) ;; esac
    [ -e "$tmp/k.db" ] && { "$ringlet" sweep --status "$tmp/k.db" >"$tmp/status" 2>"$tmp/err" || :; }
done
sweep "$tmp/long2.json" --db "$tmp/k.db" -q
same "stopped $killed times, in two versions, then continued: the same bytes" "$tmp/k.db" "$tmp/whole.db"

# An adaptive sample with more points takes the same first rounds.
adaptive() { study "$more" '"ring", "direct", "halving_doubling"' 1 "\"sample\": {\"adaptive\": $1, \"round\": 3, \"seed\": 2},"; }
adaptive 6 >"$tmp/a6.json"
adaptive 12 >"$tmp/a12.json"
sweep "$tmp/a6.json" --db "$tmp/a.db" -q
says "an adaptive sample grows: only new points are run" 1 "8 taken from an earlier version" sweep "$tmp/a12.json" --db "$tmp/a.db"
sweep "$tmp/a12.json" --db "$tmp/a12.db" -q
same "an adaptive sample grows: the same bytes" "$tmp/a.db" "$tmp/a12.db"

# Databases that are broken, or cannot grow for want of room.
cp "$tmp/fresh1.db" "$tmp/b.db"
dd if=/dev/urandom of="$tmp/b.db" bs=1k seek=2 count=40 conv=notrunc 2>/dev/null
sweep "$tmp/2.json" --db "$tmp/b.db" -q
got=$?
{ [ $got = 3 ] || [ $got = 5 ]; } && expect "a broken database: one error" "$(grep -c '^ringlet:' "$tmp/err")" 1 || verdict "a broken database: one error" "exit status $got: $(cat "$tmp/err")"
cp "$tmp/whole.db" "$tmp/full.db"
(trap '' XFSZ; ulimit -f $(($(wc -c <"$tmp/full.db") / 1024 + 20)); "$ringlet" sweep "$tmp/long1.json" --db "$tmp/full.db" -q >"$tmp/out" 2>"$tmp/err")
expect "no room to grow: exit status 5" $? 5
sweep "$tmp/long2.json" --db "$tmp/full.db" -q
same "no room to grow, then the earlier version: the same bytes" "$tmp/full.db" "$tmp/whole.db"
if command -v mpirun >/dev/null 2>&1 && [ -x "$(dirname "$ringlet")/ringlet-mpi" ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    sweep "$tmp/1.json" --db "$tmp/r.db" -q
    timeout 120 mpirun --oversubscribe -np 3 "$ringlet" sweep "$tmp/2.json" --db "$tmp/r.db" -q >"$tmp/out" 2>"$tmp/err" </dev/null
    same "grown by mpirun -np 3: the same bytes" "$tmp/r.db" "$tmp/fresh2.db"
else
    skip "grown by several ranks" "needs mpirun of Open MPI (apt-get install libopenmpi-dev openmpi-bin)"
fi

# ---- a point whose figures cannot be written is not there, and the next run makes it
if command -v sqlite3 >/dev/null; then
    printf '%s\n' '{"name": "half", "command": "coll", "base": {"topology": "switch:4@50GB/s,1us", "collective": "all_reduce"},' \
        '"axes": [{"pointer": "/bytes", "values": ["16KiB", "1MiB"]}], "columns": ["time_ps"]}' >"$tmp/half.json"
    sweep "$tmp/half.json" --db "$tmp/half.db" -j 1 -q
    "$ringlet" sweep query "$tmp/half.db" -f csv >"$tmp/half.csv"
    sqlite3 "$tmp/half.db" "DELETE FROM point; DELETE FROM result; CREATE TRIGGER no BEFORE INSERT ON result BEGIN SELECT RAISE(ABORT, 'no room'); END"
    sweep "$tmp/half.json" --db "$tmp/half.db" -j 1 -q
    expect "figures that cannot be written: the sweep fails" $? 5
    grep -q 'no room' "$tmp/err" && verdict "it is said" "" || verdict "it is said" "$(cat "$tmp/err")"
    expect "the point is not there" "$(sqlite3 "$tmp/half.db" "SELECT count(*) FROM point; DROP TRIGGER no")" 0
    sweep "$tmp/half.json" --db "$tmp/half.db" -j 1 -q
    expect "the next run makes it" "$("$ringlet" sweep query "$tmp/half.db" -f csv)" "$(cat "$tmp/half.csv")"
else
    skip "figures that cannot be written" "needs sqlite3"
fi
finish
