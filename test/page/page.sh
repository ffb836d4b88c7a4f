#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Pages of runs and studies in headless Chromium: no errors, no requests, right numbers, zoom, filter, keyboard, and a bounded number of elements.
# Needs node, chromium and playwright-core (`make deps-page`); without them only tests without browser run. SHOTS=DIR keeps pictures.
. "$(dirname "$0")/../support/tap.sh"
exits() { # status, text on standard error, arguments
    want=$1 words=$2
    shift 2
    "$ringlet" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    got=$?
    [ $got = "$want" ] && grep -qF -- "$words" "$tmp/err" && verdict "exit $want: $*" "" || verdict "exit $want: $*" "exit $got, wanted $want and '$words'"
}
run="run --trace traces/transformer-8 --topology hgx-h100-8 -q"
"$ringlet" $run --series 20us --timeline "$tmp/step.json" -f json -o "$tmp/run.json" 2>"$tmp/err"
"$ringlet" report "$tmp/run.json" --timeline "$tmp/step.json" -o "$tmp/run.html" 2>"$tmp/err"
expect "a page from a result" "$?" 0
"$ringlet" $run --report "$tmp/direct.html" -f json -o "$tmp/direct.json" 2>"$tmp/err"
expect "a page from a run" "$?" 0
"$ringlet" $run -f json -o "$tmp/plain.json" 2>"$tmp/err"
cmp -s "$tmp/plain.json" "$tmp/direct.json" && verdict "--report changes nothing else" "" || verdict "--report changes nothing else" "the results differ"
"$ringlet" $run --report "$tmp/again.html" >/dev/null 2>&1
cmp -s "$tmp/direct.html" "$tmp/again.html" && verdict "the same page twice" "" || verdict "the same page twice" "they differ"
page_bytes=$(sed 's/<script type="application\/json".*//' "$tmp/run.html" | wc -c)
empty=$("$ringlet" report "$tmp/plain.json" | sed 's/"kind":"run".*/}/' | wc -c)
[ "$empty" -lt 400000 ] && [ "$page_bytes" -gt 1000 ] && verdict "a page without its data is below 400 kB" "" || verdict "a page without its data is below 400 kB" "$empty bytes"
expect "no address of another place in the page" "$(grep -oE '(src|href)="?(https?:)?//[^"]*' "$tmp/run.html" | head -3)" ""

# Wrong use, broken files, files left behind.
mkdir "$tmp/gone"
exits 2 "expected RESULT" report
exits 2 "unknown option" report --colour "$tmp/run.json"
exits 2 "--events" report "$tmp/run.json" --events 3
echo '{"schema_version": 1' >"$tmp/broken.json"
echo '{"manifest": {"command": "coll"}}' >"$tmp/coll.json"
echo '{"manifest": {"command": "run"}, "time_ps": 1, "iteration_time_ps": [], "ranks": [3], "collectives": [], "links": []}' >"$tmp/odd.json"
exits 3 "broken.json:" report "$tmp/broken.json" -o "$tmp/gone/x.html"
exits 3 "ringlet run --format json" report "$tmp/coll.json" -o "$tmp/gone/x.html"
exits 3 "ranks[0]: expected an object" report "$tmp/odd.json" -o "$tmp/gone/x.html"
exits 5 "cannot open" report "$tmp/nowhere.json" -o "$tmp/gone/x.html"
exits 3 "traceEvents" report "$tmp/run.json" --timeline "$tmp/plain.json" -o "$tmp/gone/x.html"
exits 2 "not the network of the result" report "$tmp/run.json" -t dgx1-v100-8 -o "$tmp/gone/x.html"
{ printf 'SQLite format 3\000'; head -c 4000 /dev/zero | tr '\000' 'x'; } >"$tmp/not.sqlite"
exits 3 "not.sqlite" report "$tmp/not.sqlite" -o "$tmp/gone/x.html"
sqlite3 "$tmp/other.sqlite" 'CREATE TABLE t(a)'
exits 3 "not the results of a study" report "$tmp/other.sqlite" -o "$tmp/gone/x.html"
sqlite3 "$tmp/study.sqlite" <test/page/study.sql
cp "$tmp/study.sqlite" "$tmp/bad.sqlite"
sqlite3 "$tmp/bad.sqlite" "UPDATE point SET coordinates = '[0,9,0,0,0]' WHERE point = 7"
exits 3 "point.coordinates" report "$tmp/bad.sqlite" -o "$tmp/gone/x.html"
sqlite3 "$tmp/bad.sqlite" "UPDATE study SET schema_version = 9"
exits 3 "schema version 9" report "$tmp/bad.sqlite" -o "$tmp/gone/x.html"
exits 2 "needs the result of a run" report "$tmp/study.sqlite" --timeline "$tmp/step.json" -o "$tmp/gone/x.html"
expect "no file is left behind" "$(ls "$tmp/gone")" ""

# The network with the utilization of each link, read by an independent reader.
exits 2 "page, graphml, dot" report "$tmp/run.json" --as svg -o "$tmp/gone/x"
exits 2 "needs the result of a run" report "$tmp/study.sqlite" --as dot -o "$tmp/gone/x"
"$ringlet" run --trace traces/transformer-8 -t 'switch:4@50GB/s,1us*ring:2@10GB/s,2us' -a hierarchical --links -q -f json -o "$tmp/links.json" 2>"$tmp/err"
for as in graphml dot; do
    "$ringlet" report "$tmp/links.json" --as $as -o "$tmp/net.$as" 2>"$tmp/err"
    expect "$as" "$?" 0
done
expect "no note where all is known" "$(cat "$tmp/err")" ""
"$ringlet" topo export 'switch:4@50GB/s,1us*ring:2@10GB/s,2us' -o "$tmp/net.json" 2>/dev/null
"$ringlet" topo export "$tmp/net.graphml" -o "$tmp/back.json" 2>"$tmp/err"
"$ringlet" check "$tmp/net.graphml" >"$tmp/out" 2>"$tmp/err"
expect "ringlet reads the GraphML" "$?" 0
links() { grep -oE '"(src|dst|bandwidth|latency|source|target)": *"[^"]*"' "$1" | sort | uniq -c; }
expect "the same links" "$(links "$tmp/back.json")" "$(links "$tmp/net.json")"
util() { sed -n 's/.*"busy_ps".*"utilization": *\([0-9.]*\).*/\1/p' "$tmp/links.json"; }
expect "each link's utilization, in GraphML" "$(sed -n 's/.*e_utilization">\([0-9.]*\)<.*/\1/p' "$tmp/net.graphml")" "$(util)"
expect "and in dot" "$(sed -n 's/.* utilization=\([0-9.]*\) .*/\1/p' "$tmp/net.dot")" "$(util)"
if command -v dot >/dev/null 2>&1; then
    dot -Tplain "$tmp/net.dot" >"$tmp/plain" 2>"$tmp/err"
    expect "Graphviz reads the dot" "$? $(grep -c ^edge "$tmp/plain") $(grep -c ^node "$tmp/plain")" "0 $(grep -c -- '->' "$tmp/net.dot") $(grep -c ' kind=' "$tmp/net.dot")"
else
    skip "Graphviz reads the dot" "needs dot"
fi

# A larger run, and a study.
big="run -q --model transformer:layers=8,hidden=1024,heads=16 -t switch:8@450GB/s,500ns*switch:128@50GB/s,2us -a hierarchical"
"$ringlet" $big --report "$tmp/big.html" >"$tmp/out" 2>"$tmp/err"
expect "a page of 1024 ranks" "$?" 0
# Very large runs: a pipeline of 1024 ranks (600 000 events; many ranks have equal tracks), 16384 ranks, and a million
# events in which no two tracks are equal.
"$ringlet" run -q --model llama3-8b --accelerator h100-sxm --layout tp=4,pp=8 --train batch=512 -t "switch:8@450GB/s,500ns*switch:128@50GB/s,2us" \
    -n alpha-beta --report "$tmp/pipeline.html" >"$tmp/out" 2>"$tmp/err"
expect "a page of a pipeline of 1024 ranks" "$?" 0
"$ringlet" run -q --model transformer:layers=4 -t "switch:8@450GB/s,500ns*switch:2048@50GB/s,2us" -n alpha-beta -a halving_doubling --report "$tmp/most.html" >"$tmp/out" 2>"$tmp/err"
expect "a page of 16384 ranks" "$?" 0
awk 'BEGIN { print "{\"traceEvents\":["; x = 1
    for (r = 0; r < 8; r++) printf "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"tid\":0,\"args\":{\"name\":\"rank %d\"}},\n", r, r
    for (r = 0; r < 8; r++) { at = 0; for (i = 0; i < 125000; i++) { x = (x * 16807) % 2147483647; at += 1 + x % 20
        printf "%s{\"ph\":\"X\",\"pid\":%d,\"tid\":1,\"ts\":%d.%03d,\"dur\":0.%03d,\"cat\":\"compute\",\"name\":\"op %d\"}\n", i + r ? "," : "", r, at / 1000, at % 1000, 1 + x % 20, i % 9; at += 1 + x % 20 } }
    print "],\"otherData\":{\"generator\":\"ringlet\",\"dropped_events\":5}}" }' >"$tmp/million.json"
"$ringlet" report "$tmp/run.json" --timeline "$tmp/million.json" -o "$tmp/million.html" 2>"$tmp/err"
expect "a page of a million events" "$?" 0
"$ringlet" report "$tmp/study.sqlite" -o "$tmp/study.html" 2>"$tmp/err"
expect "a page of a study" "$?" 0

# The browser.
deps=${BUILD:-build}/page/node_modules/playwright-core
if [ -x "$(dirname "$ringlet")/ringlet-deploy" ]; then
    "$ringlet" deploy -g traces/small-cnn.graph.txt -t testbed-4xv100-8x1080ti-4xp100 -b 300 --refine 100 --report "$tmp/deploy.html" -o "$tmp/deploy.json" 2>"$tmp/err"
    expect "a page of a deployment" "$?" 0
fi
chromium=$(command -v chromium || command -v chromium-browser || true)
if [ ! -d "$deps" ] && nm "$ringlet" | grep -q __asan_init; then
    skip "pages are opened" "needs a build without sanitizers" # the pages are the same
    finish
elif ! command -v node >/dev/null 2>&1 || [ -z "$chromium" ] || [ ! -d "$deps" ]; then
    skip "pages are opened" "needs node, chromium and playwright-core (make deps-page installs them)"
    finish
fi
# What the page must show, queried from the database directly.
q() { sqlite3 "$tmp/study.sqlite" "$1"; }
of="FROM point p JOIN result r ON r.point = COALESCE(p.same_as, p.point)"
"$ringlet" run -q --model transformer:layers=4 -t switch:8@50GB/s,1us -f json -o "$tmp/whatif.json"
cat >"$tmp/study-facts.json" <<EOF
{"filters": [["tp=8", $(q "SELECT count(*) FROM point WHERE coordinates LIKE '[_,3,%'")],
  ["iteration<20ms", $(q "SELECT count(*) $of WHERE r.iteration_time_ps < 20000000000")],
  ["status=failed", $(q "SELECT count(*) FROM point WHERE status <> 0")],
  ["memory<=4GiB mfu>=50% bandwidth=400GB/s", $(q "SELECT count(*) $of WHERE r.memory_bytes <= 4294967296 AND r.model_flops_utilization >= 0.5 AND p.coordinates LIKE '[4,%'")],
  ["-torus batch>1000", $(q "SELECT count(*) FROM point WHERE json_extract(coordinates, '\$[4]') <> 5 AND json_extract(coordinates, '\$[3]') >= 6")]],
 "front": [$(q "SELECT group_concat(point) FROM (SELECT p.point $of WHERE p.point <> 1 AND NOT EXISTS (SELECT 1 FROM result x WHERE x.iteration_time_ps <= r.iteration_time_ps AND x.memory_bytes <= r.memory_bytes AND (x.iteration_time_ps < r.iteration_time_ps OR x.memory_bytes < r.memory_bytes)) ORDER BY p.point)")],
 "best": $(q "SELECT p.point $of ORDER BY r.iteration_time_ps, p.point LIMIT 1"), "matters": "batch",
 "pp_most": $(q "SELECT max(k) FROM (SELECT max(r.iteration_time_ps) * 1.0 / min(r.iteration_time_ps) AS k $of GROUP BY json_remove(p.coordinates, '\$[2]') HAVING count(*) > 1)"),
 "what_if_ps": $(sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' "$tmp/whatif.json" | head -1)}
EOF
# Databases of `ringlet sweep`: of a finished sweep, of a collective, of an unfinished sweep.
"$ringlet" sweep test/page/odd_axes.json --db "$tmp/odd.sqlite" >/dev/null 2>&1
"$ringlet" sweep tools/sweep/examples/collectives.json --db "$tmp/coll.sqlite" >/dev/null 2>&1
for i in odd coll; do "$ringlet" report "$tmp/$i.sqlite" -o "$tmp/$i.html" 2>"$tmp/err"; expect "a page of a sweep: $i" "$?" 0; done
for i in replay aggregation training; do
    "$ringlet" sweep tools/sweep/examples/$i.json --db "$tmp/$i.sqlite" >/dev/null 2>&1
    "$ringlet" report "$tmp/$i.sqlite" -o "$tmp/$i.html" 2>"$tmp/err"
    expect "a page of the study of $i" "$?" 0
done
sed 's/"sample": .*//; s/"batch", "pointer".*/"batch", "pointer": "\/train\/batch", "range": {"from": 64, "to": 6400, "count": 100}},/; s/_what": ".*",/_what": "long",/' \
    tools/sweep/examples/training.json >"$tmp/long.json"
"$ringlet" sweep "$tmp/long.json" --db "$tmp/long.sqlite" -j 1 >/dev/null 2>"$tmp/long.err" &
sweep=$!
while kill -0 $sweep 2>/dev/null && [ "$(sqlite3 "$tmp/long.sqlite" 'SELECT count(*) FROM point' 2>/dev/null || echo 0)" = 0 ]; do sleep 0.1; done
servers=
for i in study odd coll long; do
    "$ringlet" serve "$tmp/$i.sqlite" --port 0 >"$tmp/$i.url" 2>"$tmp/err" &
    servers="$servers $!"
done
for i in study odd coll long; do until [ -s "$tmp/$i.url" ] || ! kill -0 $! 2>/dev/null; do sleep 0.1; done; done
node test/page/page.js "$tmp" "$(cat "$tmp/study.url")" "$PWD/$deps" "$chromium" >"$tmp/tap" 2>"$tmp/node.err"
kill -0 $sweep 2>/dev/null && verdict "the sweep was under way all the time" "" || verdict "the sweep was under way all the time" "it ended before"
kill $sweep
wait $sweep
for i in $servers; do
    kill $i
    wait $i
    expect "the server ends when told to" "$?" 0
done
grep '^#' "$tmp/tap"
grep -c '^ok' "$tmp/tap" >"$tmp/passes"
while read -r line; do
    case $line in
    "ok "*) verdict "$(echo "$line" | sed 's/^ok [0-9]* - //')" "" ;;
    "not ok "*) : >"$tmp/out"; verdict "$(echo "$line" | sed 's/^not ok [0-9]* - //')" "see above" ;;
    esac
done <"$tmp/tap"
[ "$(cat "$tmp/passes")" -gt 40 ] && verdict "the browser's tests came to their end" "" || verdict "the browser's tests came to their end" "$(tail -n 5 "$tmp/tap"; tail -n 5 "$tmp/node.err")"
finish
