#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Coupled axes: rules, derived axes, and layouts that cannot run, which are no points. A wrong rule is one error with its place.
. "$(dirname "$0")/../../support/tap.sh"
if "$ringlet" --version | grep -q 'SQLite not built in'; then
    skip "coupled axes" "needs SQLite"
    finish
fi
sweep() { "$ringlet" sweep "$@" >"$tmp/out" 2>"$tmp/err" </dev/null; }
sizes='"tp", "pointer": "/layout/tp", "values": [1, 2, 3, 4, 8]'
study() { # values of dp, more members: a study on standard output
    echo "{\"name\": \"layouts\", \"base\": {\"model\": \"transformer:layers=8,hidden=512,heads=8,vocabulary=1000,sequence=256\", \"topology\": \"switch:16@50GB/s,1us\",
  \"network\": \"alpha-beta\", \"accelerator\": \"h100-sxm\", \"layout\": {\"tp\": 1, \"pp\": 1, \"dp\": 1}, \"train\": {\"batch\": 24, \"schedule\": \"1f1b\"}},
 \"axes\": [{\"name\": $sizes}, {\"name\": \"pp\", \"pointer\": \"/layout/pp\", \"values\": [1, 2, 3, 4]}, {\"name\": \"dp\", \"pointer\": \"/layout/dp\", \"values\": $1},
  {\"name\": \"schedule\", \"pointer\": \"/train/schedule\", \"values\": [\"1f1b\", \"interleaved\"]}, {\"name\": \"speed\", \"pointer\": \"/compute-scale\", \"values\": [1, 2]}]$2}"
}
all='[1, 2, 3, 4, 5, 6, 8, 16]'

# What rules and derived values leave is what a study of all combinations has that fits.
study "$all" '' >"$tmp/whole.json"
sweep "$tmp/whole.json" --db "$tmp/whole.db" -q
"$ringlet" sweep query "$tmp/whole.db" -c tp,pp,dp,schedule,speed,time_ps -f csv --where 'status = 0 and tp * pp * dp = 16 and 24 % dp = 0' >"$tmp/want"
study '"16 / (tp * pp)"' ', "rules": ["heads % tp == 0", "batch % dp == 0 and layers % pp == 0", "schedule != '"'interleaved'"' or batch / dp % pp == 0"]' >"$tmp/rules.json"
says "rules: no point fails" 0 "36 points in" sweep "$tmp/rules.json" --db "$tmp/rules.db"
"$ringlet" sweep query "$tmp/rules.db" -c tp,pp,dp,schedule,speed,time_ps -f csv >"$tmp/got"
cmp -s "$tmp/want" "$tmp/got" && verdict "rules: the points that can run" "" || verdict "rules: the points that can run" "$(diff "$tmp/want" "$tmp/got" | head)"
study "$all" ', "skip_impossible": true, "rules": ["tp * pp * dp == 16"]' >"$tmp/skip.json"
says "skip_impossible: no point fails" 0 "36 points in" sweep "$tmp/skip.json" --db "$tmp/skip.db"
"$ringlet" sweep query "$tmp/skip.db" -c tp,pp,dp,schedule,speed,time_ps -f csv >"$tmp/got"
cmp -s "$tmp/want" "$tmp/got" && verdict "skip_impossible: the points that can run" "" || verdict "skip_impossible: the points that can run" "$(diff "$tmp/want" "$tmp/got" | head)"
reasons='not tp * pp * dp == 16; 4 batch: N samples are not a multiple of dp N x microbatch N; 4 schedule: interleaved needs a number of microbatches divisible by N, got N'
says "reasons: before the run" 0 "$reasons" sweep "$tmp/skip.json"
says "reasons: --dry-run" 0 "$reasons" sweep "$tmp/skip.json" --dry-run
says "reasons: --status" 0 "$reasons" sweep --status "$tmp/skip.db"
says "reasons: top" 0 "$reasons" sweep top "$tmp/skip.db"
says "status counts what is left" 0 "36 of 36 points (100.0 %), 0 failed" sweep --status "$tmp/skip.db"
study '[16, 1]' ', "skip_impossible": true' | sed 's/transformer:layers=8,hidden=512,heads=8,vocabulary=1000,sequence=256/llama3-8b/; s/"batch": 24/"batch": 16, "zero": 1/' >"$tmp/memory.json"
says "memory" 0 "1 dropped: 1 does not fit into the memory" sweep "$tmp/memory.json" --dry-run --tp 1 --pp 1 --schedule 1f1b --speed 1
grep -q '^layouts: 1 point:' "$tmp/out" && verdict "memory: what fits stays" "" || verdict "memory: what fits stays" "no"
# A derived value is shown as any other, compared, and set by hand.
says "derived: a column" 0 '"dp":4' sweep query "$tmp/rules.db" --where 'dp = 4' -f json
says "derived: sensitivity" 0 "dp" sweep sensitivity "$tmp/rules.db"
set -- $("$ringlet" sweep query "$tmp/rules.db" -c point -f csv | sed -n '2p;$p')
says "derived: compare" 0 "--layout" sweep compare "$tmp/rules.db" "$1" "$2"
says "derived: values by hand" 0 "2 points" sweep "$tmp/rules.json" --dry-run --tp 2 --pp 4 --dp 2 --schedule 1f1b
study '"2 * half"' '' | sed 's|"axes": \[|&{"name": "half", "pointer": "/train/microbatch", "values": "4 / tp"}, |' >"$tmp/w.json"
says "derived: before its axis" 3 "column 5: 'tp' is a later axis" sweep "$tmp/w.json" --dry-run
study '"16 / tp"' '' | sed 's|{"name": "schedule"|{"name": "micro", "pointer": "/train/microbatch", "values": "dp / pp"}, &|' >"$tmp/two.json"
says "derived from a derived one" 0 "micro is not whole: dp / pp" sweep "$tmp/two.json" --dry-run
study "$all" '' | sed 's|"values": \[1, 2\]}\]|"values": "1.5 * tp"}]|' >"$tmp/w.json"
says "derived: fractions" 0 "320 points" sweep "$tmp/w.json" --dry-run
sed "s|\"objectives\"|\"rules\": [\"size <= '1MiB'\"], &|" tools/sweep/examples/collectives.json >"$tmp/w.json"
says "a value with a unit" 0 "64 not size <= '1MiB'" sweep "$tmp/w.json" --dry-run

# Samples take their points from what is left; shards, a kill and MPI see the same points.
study "$all" ', "skip_impossible": true, "rules": ["tp * pp * dp == 16"], "replicas": 2, "points": [{"name": "mine", "set": {"/layout/tp": 2, "/layout/dp": 8}}], "sample": {"random": 12, "seed": 3}' >"$tmp/random.json"
says "a random sample" 0 "26 points in" sweep "$tmp/random.json" --db "$tmp/r1.db"
"$ringlet" sweep query "$tmp/r1.db" -f csv >"$tmp/want"
same() { # name, database
    "$ringlet" sweep query "$2" -f csv >"$tmp/got" 2>"$tmp/err"
    cmp -s "$tmp/want" "$tmp/got" && verdict "$1" "" || verdict "$1" "$(diff "$tmp/want" "$tmp/got" | head -5)"
}
for i in 1 2; do
    sweep "$tmp/random.json" --db "$tmp/s$i.db" --shard $i/2 -q
    says "shard $i: status" 0 "(100.0 %), 0 failed" sweep --status "$tmp/s$i.db"
done
sweep merge "$tmp/m.db" "$tmp/s1.db" "$tmp/s2.db"
same "a random sample in shards: the same bytes" "$tmp/m.db"
says "merged: reasons" 0 "not tp * pp * dp == 16" sweep --status "$tmp/m.db"
says "compare: a named point of a sample" 0 "--layout" sweep compare "$tmp/r1.db" mine "$(sed -n '2s/,.*//p' "$tmp/want")"
if command -v mpirun >/dev/null 2>&1 && [ -x "$(dirname "$ringlet")/ringlet-mpi" ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    timeout 120 mpirun --oversubscribe -np 3 "$ringlet" sweep "$tmp/random.json" --db "$tmp/mpi.db" -q >"$tmp/out" 2>"$tmp/err" </dev/null
    same "mpirun -np 3: the same bytes" "$tmp/mpi.db"
else
    skip "several ranks" "needs mpirun of Open MPI (apt-get install libopenmpi-dev openmpi-bin)"
fi
study "$all" ', "skip_impossible": true, "rules": ["tp * pp * dp == 16"], "sample": {"adaptive": 12, "seed": 3, "round": 3}' >"$tmp/adaptive.json"
says "an adaptive sample: no point fails" 0 "12 points in" sweep "$tmp/adaptive.json" --db "$tmp/a1.db" -j 1
"$ringlet" sweep query "$tmp/a1.db" -f csv >"$tmp/want"
sweep "$tmp/adaptive.json" --db "$tmp/a2.db" -j 2 -q
same "an adaptive sample on two threads: the same bytes" "$tmp/a2.db"
# Ctrl-C while layouts are checked: nothing is begun.
study "$all" ', "skip_impossible": true' | sed 's/"values": \[1, 2\]}\]/"values": [1]}, {"name": "batch", "pointer": "\/train\/batch", "range": {"from": 1, "to": 3000, "count": 3000}}]/; s/transformer:layers=8,hidden=512,heads=8,vocabulary=1000,sequence=256/gpt3-175b/' >"$tmp/slow.json"
"$ringlet" sweep "$tmp/slow.json" --db "$tmp/slow.db" -q >"$tmp/out" 2>"$tmp/err" &
pid=$!
spent $pid 20
kill -TERM $pid
wait $pid
expect "interrupted while layouts are checked: exit status" $? 130
[ ! -e "$tmp/slow.db" ] && grep -q 'interrupted while layouts were checked' "$tmp/err" && verdict "interrupted while layouts are checked: nothing is begun" "" || verdict "interrupted while layouts are checked: nothing is begun" "$(ls "$tmp"/slow*)"
# The chapter's example and what it says about it.
sed -n '/^```json/,/^```$/p' tools/sweep/study/STUDIES.md | grep -v '^```' >"$tmp/page.json"
says "the example of the chapter" 0 "$(grep '^[0-9]* dropped: ' tools/sweep/study/STUDIES.md)" sweep "$tmp/page.json" --dry-run
# A study that gets rules grows: rows that are no points any more are not shown.
study "$all" '' >"$tmp/grow.json"
says "rules come to a study: nothing is run" 0 ", 0 of them run now, 36 taken from an earlier version" sweep "$tmp/skip.json" --db "$tmp/whole.db"

# Wrong rules.
wrong() { # rule, message
    study "$all" ", \"rules\": [\"tp <= 8\", \"$1\"]" >"$tmp/w.json"
    says "wrong: $1" 3 "w.json:4:" sweep "$tmp/w.json" --db "$tmp/w.db"
    grep -qF -- "rules[1]: $2" "$tmp/err" && expect "wrong: one error" "$(grep -c '^ringlet:' "$tmp/err")" 1 || verdict "wrong: says '$2'" "no"
}
wrong "tp * * 2 == 1" "column 6 of 'tp * * 2 == 1': expected a value"
wrong "(tp == 2" "column 9 of '(tp == 2': expected an operator or ')'"
wrong "tp == 2)" "column 8 of 'tp == 2)': expected an operator or the end"
wrong "ttp == 2" "column 1: no axis or setting 'ttp'; did you mean 'tp'?"
wrong "1 < tp < 4" "column 8 of '1 < tp < 4': expected 'and' between comparisons"
wrong "schedule * 2 == 1" "column 1: 'schedule' is '1f1b', expected a number"
wrong "tp % (pp - 1) == 0" "column 4: division by zero"
wrong "batch % 4MiB == 0" "column 9 of 'batch % 4MiB == 0': expected a number; one with a unit stands in quotes: '4MiB'"
wrong "schedule == '1f1b" "column 13 of 'schedule == '1f1b': expected a closing quote"
wrong "" "column 1 of '': expected a value"
wrong "schedule" "expected a comparison such as tp <= 8"
wrong "$(printf '%070d' 0 | tr 0 '(')1" "column 65"
study "$all" ', "rules": [3]' >"$tmp/w.json"
says "wrong: a number" 3 'rules[0]: expected a rule such as "heads % tp == 0"' sweep "$tmp/w.json" --dry-run
study '"17 / (3 * tp)"' '' >"$tmp/w.json"
says "wrong: never whole" 3 "axes[2].values: is whole for no values of the other axes" sweep "$tmp/w.json" --dry-run
study "$all" ', "rules": ["tp > 100"]' >"$tmp/w.json"
says "nothing left: why" 3 "no point passes the filters: 640 dropped: 640 not tp > 100" sweep "$tmp/w.json" --db "$tmp/w.db"
study "$all" ', "skip_impossible": "yes"' >"$tmp/w.json"
says "wrong: skip_impossible is a switch" 3 "skip_impossible" sweep "$tmp/w.json" --dry-run
sed 's|"objectives"|"skip_impossible": true, &|' tools/sweep/examples/collectives.json >"$tmp/w.json"
says "wrong: skip_impossible of collectives" 3 "is for trainings, and 'coll' runs none" sweep "$tmp/w.json" --dry-run
# What no layout can mend stays an error of its point.
study '[1]' ', "skip_impossible": true, "rules": ["tp == 1 and pp == 1 and speed == 1"]' | sed 's/"1f1b", "interleaved"/"1f1b", "1f2b"/' >"$tmp/w.json"
says "a wrong word is a row with its error" 1 "1 of 2 points failed" sweep "$tmp/w.json"
finish
