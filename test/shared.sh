#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Replays everything in ../shared/data that ringlet reads, as a user would. One "ok" line each; exit 1 if one fails.
set -u
ringlet=${RINGLET:-build/ringlet}
data=../shared/data
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
failed=0 n=0
try() { # what, command...
    what=$1
    shift
    for word in "$@"; do
        case $word in "$data"/*) [ -e "$word" ] || ls "$word".* >/dev/null 2>&1 || { echo "# $what: $word is not here" && return; } ;; esac
    done
    n=$((n + 1))
    if "$@" >"$dir/out" 2>"$dir/err" && cp "$dir/out" "$dir/first" && "$@" >"$dir/out" 2>/dev/null && cmp -s "$dir/out" "$dir/first"; then
        echo "ok $n - $what: $(sed -n 's/^total time *//p' "$dir/out" | head -1)"
    else
        echo "not ok $n - $what"
        head -5 "$dir/err"
        failed=1
    fi
}
[ -d $data ] || { echo "# $data is missing"; exit 0; }

for f in test/data/astra/net/*.yml $data/chakra/HGX-H100-validated.yml; do
    try "topology $(basename "$f")" "$ringlet" topo "$f"
done
try "Kineto DLRM, 8 ranks" "$ringlet" run --trace $data/kineto/dlrm_v100_8rank --host-trace $data/host_et/dlrm_v100_8rank \
    --topology topologies/dgx1-v100-8.json --explain
for f in $data/kineto/hta/*.json.gz; do
    more=""
    case $f in *nccl_parser_config*) more="--replicate 1=0" ;; esac
    try "Kineto $(basename "$f" .json.gz)" "$ringlet" run --trace "$f" $more --topology topologies/dgx-a100-8.json
done
try "Chakra DLRM, 8 ranks" "$ringlet" run --trace $data/chakra/dlrm_v100_8rank --topology topologies/dgx1-v100-8.json
for d in $data/chakra/astra_microbenchmarks/*/*; do
    c=$(basename "$(dirname "$d")") p=$(basename "$d" | sed 's/npus.*//')
    try "Chakra $c, $p ranks" "$ringlet" run --trace "$d/$c" --topology "ring:$p@100GB/s,500ns"
    [ "$p" = 8 ] && try "Chakra $c, $p ranks, timing astra" "$ringlet" run --timing astra --astra-system $data/chakra/HGX-H100-validated.json \
        --topology $data/chakra/HGX-H100-validated.yml --trace "$d/$c"
done
try "Chakra custom ring" "$ringlet" run --trace $data/chakra/astra_custom_collectives/custom_ring_allreduce_8npus_1MB \
    --topology "ring:8@100GB/s,500ns"
mkdir "$dir/feeder" && tar -xzf $data/chakra/mlcommons_feeder_tests_trace.tar.gz -C "$dir/feeder"
et=$(find "$dir/feeder" -name 'chakra.0.et')
try "Chakra feeder trace" "$ringlet" run --trace "$et" --replicate all=0 --topology topologies/dgx-a100-8.json
for d in $data/astra/et/*; do
    p=$(ls "$d" | head -1 | sed 's/\..*//') k=$(ls "$d" | wc -l)
    try "Chakra $(basename "$d")" "$ringlet" run --trace "$d/$p" --topology "switch:$k@50GB/s,500ns"
done
for f in $data/goal/*.goal; do
    try "GOAL $(basename "$f" .goal)" "$ringlet" run --trace "$f" --topology "switch:32@50GB/s,500ns"
done
for f in $data/astra1/*.txt; do
    try "ASTRA-sim 1.0 $(basename "$f" .txt)" "$ringlet" run --trace "$f" --topology "switch:16@50GB/s,500ns"
done
for f in $data/simai/*.txt $data/simai/*.csv; do
    try "SimAI $(basename "$f")" "$ringlet" run --trace "$f" --topology "switch:128@50GB/s,500ns"
done
for f in $data/pipedream/*.txt; do
    try "PipeDream $(basename "$f" .txt)" "$ringlet" run --trace "$f" --topology "switch:3@50GB/s,500ns"
done
try "timeline ST" "$ringlet" run --trace $data/pipeline_timelines/ST/trace-ST.csv.gz --topology "switch:8@50GB/s,500ns"
try "timeline ST, ideal" "$ringlet" run --trace $data/pipeline_timelines/ST/trace-ST.csv.gz --ideal --topology "switch:8@50GB/s,500ns"
exit $failed
