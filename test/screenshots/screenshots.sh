#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Makes each kind of page and drawing, takes pictures of all, and joins them in OUT/index.html. Usage: screenshots.sh BUILD OUT.
set -e
ringlet=$1/ringlet out=$2
rm -rf "$out"
mkdir -p "$out"
"$ringlet" run --trace traces/transformer-8 --topology hgx-h100-8 -q --report "$out/run.html" >/dev/null
"$ringlet" run -q --model llama3-8b --accelerator h100-sxm --layout tp=4,pp=4 --train batch=64 --series 10ms \
    -t 'switch:8@450GB/s,500ns*switch:4@50GB/s,2us' -n alpha-beta --report "$out/pipeline.html" >/dev/null
for study in training replay collectives aggregation; do
    "$ringlet" sweep tools/sweep/examples/$study.json -q --db "$out/$study.sqlite" >/dev/null 2>&1 || true # impossible layouts are points that fail
    "$ringlet" report "$out/$study.sqlite" -o "$out/$study.html"
done
"$ringlet" sweep tools/sweep/examples/replay.json -q --db "$out/replay.sqlite" --plot "$out/plot-replay.svg" >/dev/null 2>&1
"$ringlet" sweep tools/sweep/examples/collectives.json -q --db "$out/collectives.sqlite" --panels network --plot "$out/plot-collectives.svg" >/dev/null 2>&1
"$ringlet" sweep tools/sweep/examples/aggregation.json -q --db "$out/aggregation.sqlite" --panels loss --plot "$out/plot-aggregation.svg" >/dev/null 2>&1
"$ringlet" sweep pareto "$out/training.sqlite" --by layout --plot "$out/plot-front.svg" >/dev/null 2>&1
"$ringlet" design bandwidth -t libra-4d -w gpt3-175b@tp=16,zero=2 --total 100GB/s:1TB/s:+100GB/s --plot "$out/plot-budgets.svg" >/dev/null
"$ringlet" coll -t hgx-h100-8 -c all_reduce -a ring,nvls,direct -b 1KiB:1GiB:x4 --plot "$out/plot-coll.svg" >/dev/null 2>&1
[ ! -x "$1/ringlet-deploy" ] || "$ringlet" deploy -g traces/small-cnn.graph.txt -t testbed-4xv100-8x1080ti-4xp100 -b 300 --refine 100 --report "$out/deploy.html" >/dev/null
"$ringlet" serve "$out/training.sqlite" --port 0 >"$out/serve.url" 2>/dev/null &
server=$!
until [ -s "$out/serve.url" ] || ! kill -0 $server 2>/dev/null; do sleep 0.1; done
status=0
node test/screenshots/screenshots.js "$out" "$PWD/$1/page/node_modules/playwright-core" "$(command -v chromium || command -v chromium-browser)" || status=$?
kill $server
exit $status
