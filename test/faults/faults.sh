#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes memory and files of whole commands fail, one call at a time, and judges what is left: see README.md.
# faults.sh [sample]          All commands; sample: some calls of each, for `make test`. FAULTS="run coll" names commands.
# faults.sh --one NAME [sample] LOG   One of them: TAP lines, and its three counts in LOG.
. "$(dirname "$0")/../support/tap.sh"
run=$tmp/run
fault=$(dirname "$ringlet")/test/faults.so
all_commands="run coll topo trace sweep plan design deploy calibrate report study check"
version=$("$ringlet" --version)
[ -e "$fault" ] || { skip "faults" "needs a build without a sanitizer"; finish; }
cp "$fault" "$tmp/faults.so" && fault=$tmp/faults.so # LD_PRELOAD takes no path with spaces

# ---- the commands: each reads from ../in, writes into its working folder
inputs() {
    mkdir -p "$run/in" "$run/box" "$tmp/whole"
    cp -r traces/transformer-8 "$run/in/trace"
    cp topologies/hgx-h100-8.json "$run/in/net.json"
    cp traces/small-cnn.graph.txt "$run/in/graph.txt"
    cp topologies/testbed-2xv100-4xp100-2x1080ti.json "$run/in/testbed.json"
    printf '%s\n' '{"name": "faults", "command": "coll", "base": {"topology": "switch:4@50GB/s,1us", "collective": "all_reduce"},' \
        '"axes": [{"name": "size", "pointer": "/bytes", "values": ["16KiB", "1MiB"]},' \
        '{"name": "algorithm", "pointer": "/algorithm", "values": ["ring", "direct"]}], "columns": ["time_ps", "bound_ps"]}' >"$run/in/study.json"
    printf '{"name": "m", "endpoint": {"launch": "5us", "message": "500ns"}, "dims": [{"shape": "switch", "size": 8, "bandwidth": "300GB/s", "latency": "0ns"}]}\n' >"$run/in/m.json"
    awk 'BEGIN { print "system,collective,n_ranks,size_bytes,time_us"
                 for (m = 1024; m <= 2^24; m *= 16) printf "m,all_reduce,4,%d,%.6f\n", m, 7.5 + 6 * (1.3 + m / (4 * 220 * 1000)) }' >"$run/in/ring.csv"
    "$ringlet" run --trace traces/transformer-8 -t hgx-h100-8 -f json >"$run/in/run.json"
    is_here study && "$ringlet" sweep "$run/in/study.json" -q --db "$run/in/study.db"
}
words_of() { # NAME
    case $1 in
    run) echo "run --trace ../in/trace -t ../in/net.json -f json -o out.json --timeline timeline.json --links-csv links.csv --report page.html --plot plot.svg" ;;
    coll) echo "coll -t ../in/net.json -b 1KiB,1MiB -a ring,direct -f csv -o out.csv --plot plot.svg -j 1" ;;
    topo) echo "topo export ../in/net.json --as graphml -o out.graphml" ;;
    trace) echo "trace convert ../in/trace -o out" ;;
    sweep) echo "sweep ../in/study.json --db out.db -j 1 -q" ;;
    plan) echo "plan -q --model llama3-8b --accelerator h100-sxm -t switch:8@450GB/s,500ns*switch:2@50GB/s,2us --train batch=16 --strategy megatron --within 1% -j 1 -f json -o out.json --save saved" ;;
    design) echo "design bandwidth -t ring:4@10GB/s,1ns*switch:2@10GB/s,1ns -w ../in/trace --total 20GB/s --no-simulation -o out.txt" ;;
    deploy) echo "deploy -g ../in/graph.txt -t ../in/testbed.json --budget 20 -f json -o out.json --report page.html -q" ;;
    calibrate) echo "calibrate -t ../in/m.json -a ring --fit message ../in/ring.csv -o out.json -f csv -j 1" ;;
    study) echo "report ../in/study.db -o page.html" ;;
    report) echo "report ../in/run.json -o page.html" ;;
    check) echo "check ../in/net.json ../in/m.json ../in/trace/transformer.0.et" ;;
    esac
}
is_here() { # NAME: what it needs is built in
    case $1 in
    sweep | study) case $version in *'SQLite not'*) return 1 ;; esac ;;
    design | calibrate) case $version in *'NLopt not'*) return 1 ;; esac ;;
    deploy) case $version in *'METIS not'*) return 1 ;; esac ;;
    esac
}

# ---- one run with faults, and the verdict
go() { # VARIABLE=VALUE...   Runs the command in its folder.
    (cd "$run/box" && exec timeout 120 env "$@" LD_PRELOAD="$fault" "$exe" $words >stdout 2>"$tmp/err" </dev/null)
}
again() { # Runs it without faults.
    (cd "$run/box" && "$exe" $words >stdout 2>"$tmp/err2" </dev/null)
}
# Compares what is under final names with the whole results. A command killed may leave temporary files.
left_over() { # KILLED
    for f in "$run"/box/* "$run"/box/*/*; do
        [ -f "$f" ] || continue
        name=${f#"$run"/box/}
        case $name in stdout | saved | *.db | *.db-*) continue ;; esac
        if [ ! -f "$tmp/whole/$name" ]; then
            case $1-$name in yes-*.?????? | yes-*.part) ;; *) echo "$name is left" ;; esac
        elif ! cmp -s "$f" "$tmp/whole/$name"; then
            echo "$name is not whole"
        fi
    done
}
answers() { # FILE: its answers without the sums of what stands before them
    sed 's/ [0-9a-f]*$//' "$1" | sort
}
missing() { # What a successful command lacks.
    for f in "$tmp"/whole/* "$tmp"/whole/*/*; do
        name=${f#"$tmp"/whole/}
        case $name in
        *.db | *.db-*) continue ;;
        saved) # a search that went on has the same answers, perhaps in another order
            answers "$f" >"$tmp/answers"
            [ -f "$run/box/saved" ] && answers "$run/box/saved" | cmp -s - "$tmp/answers" || echo "saved has other answers"
            continue ;;
        esac
        [ ! -f "$f" ] || cmp -s "$f" "$run/box/$name" || echo "$name is missing or another"
    done
}
# What was kept in a database or a file of answers: the same command goes on, to the same result.
goes_on() {
    if [ -e "$run/box/out.db" ] && "$exe" sweep query "$run/box/out.db" -f csv >"$tmp/rows" 2>"$tmp/err2"; then
        sed 1d "$tmp/rows" | while read -r row; do
            grep -qxF "$row" "$tmp/query" || echo "the database had the row $row"
        done
    fi
    again || echo "the next run fails: $(head -1 "$tmp/err2")"
    [ "$command" != sweep ] || "$exe" sweep query "$run/box/out.db" -f csv 2>&1 | cmp -s - "$tmp/query" || echo "the next run has other rows"
    missing
}
complain() { # KIND TEXT
    echo "$1: $2" >>"$tmp/complaints"
}
judge() { # STATUS WHAT
    said=no killed=no
    while read -r line; do
        case $line in 'ringlet: note: '*) ;; 'ringlet: '*) said=yes ;; esac
    done <"$tmp/err"
    case $1-$2 in
    0-*)
        lacks=$(missing)
        [ -z "$lacks" ] || grep -q 'out of memory' "$tmp/err" || complain lost "$2: status 0, but $lacks" ;;
    137-*kill*) killed=yes ;;
    5-*) [ $said = yes ] || complain lost "$2: status $1 without a word" ;;
    *) complain lost "$2: status $1: $(head -1 "$tmp/err")" ;;
    esac
    left=$(left_over $killed)
    [ -z "$left" ] || complain half "$2: $left"
    case $1-$command in
    0-*) ;;
    *-sweep | *-plan)
        lacks=$(goes_on)
        [ -z "$lacks" ] || complain lost "$2, then again: $lacks" ;;
    esac
    injected=$((injected + 1))
    rm -rf "$run/box"
    mkdir "$run/box"
}
next() { # NUMBER DENSE   The next call to fail: each of the first DENSE, then ever fewer.
    [ "$1" -lt "$2" ] && echo $(($1 + 1)) || echo $(($1 + 1 + $1 / $thin))
}
fail_memory() {
    go FAIL_MALLOC_COUNT="$tmp/count"
    judge $? "no fault"
    count=$(cat "$tmp/count" 2>/dev/null) k=1
    [ "${count:-0}" -gt 0 ] || { complain lost "no allocation is seen: the library of faults is not loaded" && return; }
    while [ "$k" -le "$count" ]; do
        go FAIL_MALLOC=$k
        judge $? "allocation $k"
        if [ $((k % 7)) = 0 ] || [ -n "$sample" ]; then
            go FAIL_MALLOC=$k FAIL_MALLOC_ALL=1
            judge $? "allocations from $k"
        fi
        k=$(next $k $dense)
    done
}
fail_files() { # CALL HOW...
    call=$1
    shift
    go FAULT_CALL=$call FAULT_UNDER="$run" FAULT_COUNT="$tmp/count"
    judge $? "no fault"
    count=$(cat "$tmp/count") k=1 turn=0
    while [ "$k" -le "$count" ]; do
        for how; do
            turn=$((turn + 1))
            [ -n "$sample" ] && [ $((turn % $# )) != $((k % $#)) ] && continue
            go FAULT_CALL=$call FAULT_UNDER="$run" FAULT_AT=$k FAULT_HOW=$how
            judge $? "$call $k: $how"
            case $how in ENOSPC | EIO | EROFS)
                go FAULT_CALL=$call FAULT_UNDER="$run" FAULT_AT=$k FAULT_HOW=$how FAULT_ALL=1
                judge $? "$call from $k: $how" ;;
            esac
        done
        k=$(next $k $dense)
    done
}
if [ "${1:-}" = --one ]; then
    command=$2 sample=${3:-} injected=0 exe=$ringlet
    words=$(words_of "$command") dense=2000 thin=40
    [ -z "$sample" ] || dense=0 thin=1
    [ "$command" != deploy ] || exe=$(dirname "$ringlet")/ringlet-deploy
    inputs
    : >"$tmp/complaints"
    set -f
    (cd "$run/box" && "$exe" $words >stdout 2>"$tmp/err" </dev/null)
    expect "$command: without faults" $? 0
    set +f
    cp -r "$run/box/." "$tmp/whole"
    [ "$command" != sweep ] || "$exe" sweep query "$tmp/whole/out.db" -f csv >"$tmp/query"
    rm -rf "$run/box" && mkdir "$run/box"
    fail_memory
    fail_files open EIO EROFS EINTR kill
    fail_files write ENOSPC EIO EINTR short kill
    fail_files rename EIO EROFS kill
    fail_files sync EIO kill
    verdict "$command: $injected faults" "$(head -20 "$tmp/complaints")"
    echo "$injected $(grep -c '^lost' "$tmp/complaints") $(grep -c '^half' "$tmp/complaints")" >"$4"
    finish
fi

# ---- all of them
sample=${1:-}
[ -n "$sample" ] || all_commands="world $all_commands"
: >"$tmp/list"
for command in ${FAULTS:-$all_commands}; do
    is_here "$command" && echo "$command" >>"$tmp/list" || skip "$command" "needs a library that is not built in"
done
export RINGLET="$ringlet"
xargs -P "${JOBS:-2}" -I{} sh -c 'if [ {} = world ]; then sh "$1/world.sh" "$3/{}.counts"; else sh "$1/faults.sh" --one {} "$2" "$3/{}.counts"; fi >"$3/{}.tap" 2>&1' - \
    "$PWD/test/faults" "$sample" "$tmp" <"$tmp/list"
while read -r command; do
    sed -n 's/^\(not \)\{0,1\}ok [0-9]* - /\1ok - /p; s/^#/#/p' "$tmp/$command.tap"
    [ -e "$tmp/$command.counts" ] || { echo "not ok - $command: no verdict"; cat "$tmp/$command.tap"; }
done <"$tmp/list" >"$tmp/lines"
while read -r line; do
    case $line in
    ok*SKIP*) echo "$line" ;;
    ok*) verdict "${line#ok - }" "" ;;
    not\ ok*) verdict "${line#not ok - }" "see below" ;;
    *) echo "$line" ;;
    esac
done <"$tmp/lines"
echo "$passed passed, $failed failed"
cat "$tmp"/*.counts 2>/dev/null | awk '{ n += $1; lost += $2; half += $3 } END { printf "%d faults injected, %d lost, %d half\n", n, lost, half }'
[ "$failed" = 0 ]
