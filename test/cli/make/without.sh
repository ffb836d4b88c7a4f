#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A build without the optional packages: commands that need one name the package, everything else works.
. "$(dirname "$0")/../../support/tap.sh"
sqlite3 "$tmp/study.sqlite" <test/page/study.sql
make DEPS=no BUILD="$tmp/build" CFLAGS=-O0 WITHOUT="sqlite3 libmicrohttpd nlopt mpi metis" "$tmp/build/ringlet" >"$tmp/out" 2>"$tmp/err"
expect "it builds" "$?" 0
expect "without a warning" "$(cat "$tmp/err")" ""
bare=$tmp/build/ringlet
case $("$bare" --version) in
*"SQLite not built in, libmicrohttpd not built in, MPI not built in, METIS not built in"*) verdict "--version says what is not in" "" ;;
*) verdict "--version says what is not in" "$("$bare" --version)" ;;
esac
for words in "report $tmp/study.sqlite -o $tmp/x.html" "serve $tmp/study.sqlite" "sweep test/page/odd_axes.json --db $tmp/x.sqlite"; do
    "$bare" $words >"$tmp/out" 2>"$tmp/err"
    expect "${words%% *}: exit 3" "$?" 3
    grep -q 'apt-get install libsqlite3-dev' "$tmp/err" && verdict "${words%% *} names the package" "" || verdict "${words%% *} names the package" "no package"
done
"$bare" deploy -g traces/small-cnn.graph.txt -t testbed-4xv100-4xv100 >"$tmp/out" 2>"$tmp/err"
expect "deploy: exit 3, and the package" "$? $(grep -c 'libmetis-dev' "$tmp/err")" "3 1"
expect "no file is left behind" "$(ls "$tmp" | grep '^x\.')" ""
run="run --trace traces/transformer-8 --topology hgx-h100-8 -q"
"$bare" $run --report "$tmp/bare.html" >"$tmp/out" 2>"$tmp/err"
expect "a page of a run needs none of them" "$?" 0
finish
