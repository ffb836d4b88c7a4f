#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `ringlet serve` runs ringlet-serve, the executable beside ringlet: in any folder, however ringlet is called, and if it is missing.
# What it answers is tested by test/tools/serve.c.
. "$(dirname "$0")/../../support/tap.sh"
built=$(dirname "$ringlet")
[ -x "$built/ringlet-serve" ] || { skip "serve" "needs libmicrohttpd"; finish; }
command -v sqlite3 >/dev/null || { skip "serve" "needs sqlite3, to make a study"; finish; }
sqlite3 "$tmp/study.sqlite" <test/page/study.sql

address='^http://127\.0\.0\.1:[0-9]*/?token=[0-9a-f]*$'
# it_serves NAME SIGNAL COMMAND...   The command becomes ringlet-serve, prints its address, and ends properly on the signal.
it_serves() {
    name=$1 signal=$2
    shift 2
    : >"$tmp/url"
    "$@" serve "$tmp/study.sqlite" --port 0 >"$tmp/url" 2>"$tmp/err" </dev/null &
    pid=$!
    until grep -q "$address" "$tmp/url" || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
    expect "$name: the process is ringlet-serve" "$(basename "$(readlink /proc/$pid/exe)")" ringlet-serve
    grep -q "$address" "$tmp/url"
    expect "$name: tells its address" "$?" 0
    kill -"$signal" $pid
    wait $pid
    expect "$name: ends cleanly by SIG$signal" "$?, $(cat "$tmp/err")" "0, "
}
it_serves "as built" INT "$ringlet"
it_serves "as built, ended by whoever stops services" TERM "$ringlet"
it_serves "called by its own name" INT "$built/ringlet-serve"
mkdir -p "$tmp/copied/build" "$tmp/links" "$tmp/alone"
cp "$ringlet" "$built/ringlet-serve" "$tmp/copied/build"
it_serves "copied" INT "$tmp/copied/build/ringlet"
ln -s ../copied/build/ringlet "$tmp/links/ringlet"
it_serves "by a symbolic link" INT "$tmp/links/ringlet"
ln -s links/ringlet "$tmp/rl"
it_serves "by a link to a link, of another name" INT "$tmp/rl"
PATH=$tmp/links:$PATH
it_serves "found in PATH" INT ringlet

# A what-if ends with its server, even a killed one. This one has far more packets than there is time for.
if command -v curl >/dev/null; then
    : >"$tmp/url"
    "$ringlet" serve "$tmp/study.sqlite" --port 0 >"$tmp/url" 2>"$tmp/err" </dev/null &
    pid=$!
    until grep -q '^http' "$tmp/url" || ! kill -0 $pid 2>/dev/null; do sleep 0.05; done
    url=$(cat "$tmp/url") base=${url%%\?*}
    token=$(curl -s "$url" | sed -n 's/.*"token":"\([0-9a-f]*\)".*/\1/p')
    curl -s -X POST -H "Origin: ${base%/}" -H "X-Ringlet-Token: $token" -H 'Content-Type: application/json' \
        -d '{"options":{"model":"llama3-8b","topology":"switch:8@450GB/s,500ns*switch:16@50GB/s,2us","layout":"tp=8","network":"packet"}}' "${base}runs" >"$tmp/out"
    run=""
    until [ -n "$run" ] || ! kill -0 $pid 2>/dev/null; do run=$(pgrep -P $pid) || sleep 0.05; done
    spent "$run" 20
    kill -0 "$run" && kill -KILL $pid
    wait $pid 2>/dev/null
    i=0
    while [ $i -lt 600 ] && [ -e "/proc/$run/exe" ]; do sleep 0.1; i=$((i + 1)); done
    [ ! -e "/proc/$run/exe" ] && verdict "a what-if ends with a killed server" "" || { verdict "a what-if ends with a killed server" "it runs on"; kill -KILL "$run"; }
else
    skip "a what-if ends with a killed server" "needs curl"
fi

# refused NAME STATUS TEXT COMMAND...
refused() {
    name=$1 status=$2 text=$3
    shift 3
    "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    expect "$name: exit $status" "$?" "$status"
    grep -qF -- "$text" "$tmp/err"
    expect "$name: says why" "$?" 0
    expect "$name: prints nothing" "$(cat "$tmp/out")" ""
}
cp "$ringlet" "$tmp/alone"
alone=$(readlink -f "$tmp/alone")
why="a server needs $alone/ringlet-serve, which is missing: ringlet was built without libmicrohttpd or copied without this file; apt-get install ringlet, or for a build of your own apt-get install libmicrohttpd-dev, then make"
refused "missing" 3 "ringlet: serve: $why" "$alone/ringlet" serve "$tmp/study.sqlite" --port 0
refused "missing, and no study" 5 "ringlet: $tmp/none.sqlite: cannot open: No such file or directory" "$alone/ringlet" serve "$tmp/none.sqlite"
refused "missing, and wrong use" 2 "ringlet: --port: expected" "$alone/ringlet" serve "$tmp/study.sqlite" --port 70000
"$alone/ringlet" serve --help >"$tmp/alone.help"
expect "missing: its help is there" "$?" 0
"$ringlet" serve --help | cmp -s - "$tmp/alone.help"
expect "its help is the same" "$?" 0
expect "missing: --version says so" "$("$alone/ringlet" --version | grep -o 'libmicrohttpd [^,]*')" "libmicrohttpd not built in"
expect "there: --version says where" "$("$ringlet" --version | grep -o 'libmicrohttpd [^,]*')" "libmicrohttpd in ringlet-serve"
"$built/ringlet-serve" --version | grep -q 'libmicrohttpd [0-9]'
expect "there: it says which" "$?" 0
ln -s ringlet "$alone/ringlet-serve"
refused "the command once more under that name" 3 "$why" timeout 20 "$alone/ringlet" serve "$tmp/study.sqlite" --port 0
rm "$alone/ringlet-serve"
echo >"$alone/ringlet-serve"
refused "a file that is no program" 5 "ringlet: $alone/ringlet-serve: cannot be run: Permission denied" "$alone/ringlet" serve "$tmp/study.sqlite" --port 0
# The other executable beside it.
refused "several ranks without ringlet-mpi" 3 "ringlet: sweep: several ranks need $alone/ringlet-mpi, which is missing: ringlet was built without Open MPI or copied without this file; apt-get install ringlet-mpi, or for a build of your own apt-get install libopenmpi-dev" \
    env OMPI_COMM_WORLD_SIZE=2 "$alone/ringlet" sweep replay --db "$tmp/ranks.db"
expect "several ranks without ringlet-mpi: nothing is begun" "$(ls "$tmp" | grep -c ranks)" 0
finish
