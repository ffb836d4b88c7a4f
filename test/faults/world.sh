#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Faults from outside: readers that leave, limits, full and read-only disks, sweeps that meet, machines that are lost: see README.md.
# world.sh [COUNTS]   COUNTS receives faults, lost and half results.
. "$(dirname "$0")/../support/tap.sh"
injected=0 lost=0 half=0
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
version=$("$ringlet" --version)
trap '[ -d "$tmp/disk" ] && umount "$tmp/disk" 2>/dev/null; rm -rf "$tmp"' EXIT

held() { # NAME ACTUAL EXPECTED   A fault whose outcome is known.
    injected=$((injected + 1))
    [ "$2" = "$3" ] || lost=$((lost + 1))
    expect "$1" "$2" "$3"
}
whole() { # NAME FILE   No part of a result under its final name, and no temporary file.
    [ "$(ls "$(dirname "$2")" | grep -c "^$(basename "$2")")" = 0 ] || half=$((half + 1))
    expect "$1: nothing is left" "$(ls "$(dirname "$2")" | grep "^$(basename "$2")")" ""
}
study() { # SEEDS
    printf '%s\n' '{"name": "faults", "command": "coll", "base": {"topology": "switch:32@50GB/s,1us", "collective": "all_reduce", "network": "packet"},' \
        '"axes": [{"name": "size", "pointer": "/bytes", "values": ["1MiB", "2MiB", "4MiB", "8MiB", "16MiB"]},' \
        '{"name": "algorithm", "pointer": "/algorithm", "values": ["ring", "direct"]},' \
        '{"name": "latency", "pointer": "/topology", "values": ["switch:32@50GB/s,1us", "switch:32@50GB/s,2us", "switch:32@50GB/s,3us"]}], "columns": ["time_ps"]}'
}
rows_of() { # DATABASE
    "$ringlet" sweep query "$1" -f csv
}

# ---- readers that leave: no word, and no success
for words in "coll -t hgx-h100-8 -b 1KiB:1GiB:x2 -a all -f csv" "topo export switch:64@1GB/s,1us --as json" "help columns" "run --trace traces/transformer-8 -t hgx-h100-8 -f json"; do
    { "$ringlet" $words 2>"$tmp/err"; echo $? >"$tmp/status"; } | :
    held "a reader leaves: $words" "$(cat "$tmp/status")-$(grep -vc '^ringlet: note: ' "$tmp/err")" 5-0
done
# ---- a limit on the size of files
for words in "coll -t hgx-h100-8 -b 1KiB:1GiB:x2 -a all -f json -o" "topo export hgx-h100-8 --as graphml -o" "run --trace traces/transformer-8 -t hgx-h100-8 -o /dev/null --report" \
    "report $tmp/run.json -o" "run --trace traces/transformer-8 -t hgx-h100-8 -o /dev/null --timeline"; do
    [ -e "$tmp/run.json" ] || "$ringlet" run --trace traces/transformer-8 -t hgx-h100-8 -f json >"$tmp/run.json"
    (ulimit -f 1; "$ringlet" $words "$tmp/large") >"$tmp/out" 2>"$tmp/err"
    held "a limit on sizes: ${words%% *} ${words##* }" "$?-$(grep -c 'cannot write: File too large$' "$tmp/err")" 5-1
    whole "a limit on sizes: ${words%% *} ${words##* }" "$tmp/large"
done
# ---- a disk that is full, and one that is read-only
mkdir "$tmp/disk"
if mount -t tmpfs -o size=16k tmpfs "$tmp/disk" 2>/dev/null; then
    for words in "coll -t hgx-h100-8 -b 1KiB:1GiB:x2 -a all -f json -o" "run --trace traces/transformer-8 -t hgx-h100-8 -o /dev/null --report" "report $tmp/run.json -o" \
        "sweep collectives -q -j 1 --db"; do
        case $words-$version in sweep*'SQLite not'*) continue ;; esac
        "$ringlet" $words "$tmp/disk/r" >"$tmp/out" 2>"$tmp/err"
        held "a full disk: ${words%% *}" "$?-$(grep -c '^ringlet: .*\(No space left on device\|disk is full\)' "$tmp/err")" 5-1
        case $words in sweep*) rm -f "$tmp"/disk/* ;; *) whole "a full disk: ${words%% *}" "$tmp/disk/r" ;; esac
    done
    mount -o remount,ro "$tmp/disk"
    for words in "coll -t hgx-h100-8 -b 1KiB -o" "run --trace traces/transformer-8 -t hgx-h100-8 -o" "report $tmp/run.json -o" "topo export hgx-h100-8 --as json -o" \
        "trace convert traces/transformer-8 -o" "sweep collectives -q -j 1 --db"; do
        case $words-$version in sweep*'SQLite not'*) continue ;; esac
        "$ringlet" $words "$tmp/disk/r" >"$tmp/out" 2>"$tmp/err"
        held "a read-only disk: ${words%% *}" "$?-$(grep -c '^ringlet: .*Read-only file system' "$tmp/err")" 5-1
    done
    umount "$tmp/disk"
else
    skip "full and read-only disks" "needs the right to mount"
fi

# ---- sweeps: two at once, a machine of a job array that is lost, a rank that is killed
case $version in
*'SQLite not'*) skip "sweeps" "needs SQLite" ;;
*)
    study >"$tmp/study.json"
    "$ringlet" sweep "$tmp/study.json" -q --db "$tmp/alone.db" >"$tmp/out" 2>"$tmp/err"
    rows_of "$tmp/alone.db" >"$tmp/rows"
    expect "a sweep without faults" "$(wc -l <"$tmp/rows" | tr -d ' ')" 31
    "$ringlet" sweep "$tmp/study.json" -q -j 1 --db "$tmp/two.db" >"$tmp/out" 2>"$tmp/err" & one=$!
    "$ringlet" sweep "$tmp/study.json" -q -j 1 --db "$tmp/two.db" >"$tmp/out2" 2>"$tmp/err2"
    second=$?
    wait $one
    first=$?
    held "two sweeps on one database: each ends well or says why" \
        "$(for s in "$first err" "$second err2"; do set -- $s; [ "$1" = 0 ] || grep -q 'another sweep is writing it$' "$tmp/$2" || echo "status $1: $(cat "$tmp/$2")"; done)" ""
    "$ringlet" sweep "$tmp/study.json" -q --db "$tmp/two.db" >"$tmp/out" 2>"$tmp/err"
    held "two sweeps on one database: all rows" "$? $(rows_of "$tmp/two.db" | cmp - "$tmp/rows")" "0 "
    for i in 1 2 3; do
        "$ringlet" sweep "$tmp/study.json" -q -j 1 --db "$tmp/share$i.db" --shard $i/3 >"$tmp/out" 2>"$tmp/err" & job=$!
        [ $i = 2 ] && { spent $job 10; kill -KILL $job; }
        wait $job 2>/dev/null
    done
    for i in 1 2 3; do "$ringlet" sweep merge "$tmp/merged.db" "$tmp/share$i.db" >"$tmp/out" 2>"$tmp/err" || cat "$tmp/err"; done
    kept=$(rows_of "$tmp/merged.db" | sed 1d | grep -cxFf "$tmp/rows")
    held "a lost machine: the rows that are merged are right" "$kept $([ "$kept" -ge 20 ] && echo enough)" "$(($(rows_of "$tmp/merged.db" | wc -l) - 1)) enough"
    "$ringlet" sweep "$tmp/study.json" -q --db "$tmp/merged.db" >"$tmp/out" 2>"$tmp/err"
    held "a lost machine: the same command runs the rest" "$? $(rows_of "$tmp/merged.db" | cmp - "$tmp/rows")" "0 "
    if command -v mpirun >/dev/null && [ -x "$(dirname "$ringlet")/ringlet-mpi" ] && [ -e "$(dirname "$ringlet")/test/faults.so" ]; then
        for where in "write 50" "open 3"; do
            rm -f "$tmp"/ranks.db*
            dying_rank $where "$tmp/study.json" -q -j 1 --db "$tmp/ranks.db"
            held "a rank dies in $where: the others end, and not with success" "$([ $? != 0 ] && echo failed)" failed
            "$ringlet" sweep "$tmp/study.json" -q --db "$tmp/ranks.db" >"$tmp/out" 2>"$tmp/err"
            held "a rank dies in $where: the same command goes on" "$? $(rows_of "$tmp/ranks.db" | cmp - "$tmp/rows")" "0 "
        done
    else
        skip "a killed rank" "needs mpirun, and a build without a sanitizer"
    fi ;;
esac
[ -z "${1:-}" ] || echo "$injected $lost $half" >"$1"
finish
