#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `ringlet run` on the command line: its forms, effects of changes, wrong arguments, broken files, files left behind.
set -u
ringlet=${RINGLET:-build/ringlet}
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
n=0 bad=0
ok() { n=$((n + 1)); echo "ok $n - $1"; }
no() { n=$((n + 1)); bad=1; echo "not ok $n - $1"; sed 's/^/# /' "$dir/out" "$dir/err" 2>/dev/null | head -12; }
# status, text expected on standard error (or out), then the arguments
expect() {
    want=$1 text=$2
    shift 2
    "$ringlet" "$@" >"$dir/out" 2>"$dir/err" </dev/null
    got=$?
    if [ $got = "$want" ] && cat "$dir/err" "$dir/out" | grep -qF -- "$text"; then ok "exit $want: $*"; else
        echo "# exit $got, wanted $want and '$text'"
        no "exit $want: $*"
    fi
}
field() { sed -n "s/^ *\"$1\": *\\([0-9]*\\).*/\\1/p" "$2" | head -1; }
json() { # file, arguments
    f=$1
    shift
    "$ringlet" run "$@" --format json -o "$f" 2>"$dir/err"
}

m="--model transformer:layers=4,hidden=256,heads=4,vocabulary=1000"
t="--topology switch:8@50GB/s,500ns"

expect 0 "what bounds it" run $m $t
expect 0 "critical path" run $m $t --explain
expect 0 "rank,start_ps,span_ps" run $m $t --format csv
expect 0 "\"schema_version\": 1" run $m $t --format json
expect 0 "network alpha-beta" run $m $t --network alpha-beta

# A slower network, faster accelerators, a straggler: the direction of each effect.
json "$dir/a" $m $t && json "$dir/b" $m $t --network-scale 0.1 && json "$dir/c" $m $t --compute-scale 2 &&
    json "$dir/d" $m $t --rank-scale 3:compute=0.5
a=$(field time_ps "$dir/a") b=$(field time_ps "$dir/b") c=$(field time_ps "$dir/c") d=$(field time_ps "$dir/d")
[ "${a:-0}" -gt 0 ] && [ "$b" -gt "$a" ] && ok "a slower network takes longer" || no "a slower network takes longer"
[ "$c" -lt "$a" ] && ok "faster accelerators take less" || no "faster accelerators take less"
json "$dir/f" $m $t --rank-delay 5=700us && f=$(field time_ps "$dir/f")
[ "$f" = $((a + 700000000)) ] && ok "a late rank delays all by its delay" || no "a late rank delays all by its delay"
[ "$d" -gt "$a" ] && ok "a straggler delays all" || no "a straggler delays all"
json "$dir/a2" $m $t && cmp -s "$dir/a" "$dir/a2" && ok "two runs give the same bytes" || no "two runs give the same bytes"
# Links report a tenth of 50 GB/s, and utilization relative to that.
"$ringlet" run $m $t --network-scale 0.1 --links-csv "$dir/slow.csv" >/dev/null 2>"$dir/err"
awk -F, 'NR > 1 && ($6 != 5000000000 || ($9 - $7 * 200) ^ 2 > 1 || $11 > 1) { bad = 1 } END { exit bad || NR != 17 }' \
    "$dir/slow.csv" && ok "links of a scaled network" || no "links of a scaled network"
for key in time_ps iteration_time_ps compute_ps exposed_comm_ps host_ps idle_ps links ranks events messages utilization span_ps busy_ps active_ps; do
    grep -q "\"$key\"" "$dir/a" || { no "JSON has $key"; continue; }
    ok "JSON has $key"
done

expect 0 "  waiting for other ranks" run $m $t --rank-scale 3:compute=0.5 --explain
expect 0 "levers: the ranks that start late" run $m $t --rank-delay 5=700ms

# A trace written as Chakra and read back takes the same time.
mkdir "$dir/et"
"$ringlet" trace generate --set ranks=8 --set layers=4 --set hidden=256 --set heads=4 --set vocabulary=1000 -o "$dir/et" --prefix t >/dev/null 2>"$dir/err"
if ls "$dir"/et/*.0.et >/dev/null 2>&1; then
    json "$dir/e" --trace "$dir/et" $t
    e=$(field time_ps "$dir/e")
    [ "${e:-0}" -gt 0 ] && ok "a generated trace is replayed" || no "a generated trace is replayed"
    expect 0 "what bounds it" run --trace "$dir/et/t" $t
    rm "$dir/et/t.3.et"
    expect 3 "7 files for 8 ranks" run --trace "$dir/et/t" $t --trace-ranks 8
    expect 0 "what bounds it" run --trace "$dir/et/t" $t --replicate 3=0
    head -c 200 "$dir/et/t.0.et" >"$dir/et/x" && mv "$dir/et/x" "$dir/et/t.0.et"
    expect 3 "t.0.et" run --trace "$dir/et/t" $t --replicate 3=1
    : >"$dir/et/t.0.et"
    expect 3 "t.0.et" run --trace "$dir/et/t" $t --replicate 3=1
else
    no "a trace is generated"
fi

# The timeline and the links are separate files, complete or absent.
"$ringlet" run $m $t --timeline "$dir/timeline.json" --links-csv "$dir/links.csv" --series 100us >/dev/null 2>"$dir/err"
grep -q '"traceEvents"' "$dir/timeline.json" && tail -1 "$dir/timeline.json" | grep -q '}}' && ok "timeline" || no "timeline"
head -1 "$dir/links.csv" | grep -q '^id,src,dst,.*,bytes_from_0_ps,bytes_from_100000000_ps' && ok "links over time" || no "links over time"

# The plot: the area below each line, divided by that of its panel up to 100 %, is the link's utilization.
areas() { # SVG: of each line, in percent of the run
    sed -n 's/.*y="\([0-9.]*\)" text-anchor="end">\([0-9]*\)<.*/tick \2 \1/p; s/^<path fill="none" .* d="\(M[^"]*\)"><title>.*/line \1/p; s/^<text [^>]*font-weight.*/panel/p' "$1" |
        awk '$1 == "panel" { delete y } $1 == "tick" { y[$2] = $3 - 4 }
             $1 == "line" { n = split($0, w, /[ ML]+/); area = 0
                 for (i = 4; i + 1 <= n; i += 2) area += (w[i] - w[i - 2]) * (y[0] - w[i - 1])
                 printf "%.2f\n", 100 * area / (w[n - 1] - w[2]) / (y[0] - y[100]) }'
}
two="--topology ring:4@50GB/s,500ns*switch:2@10GB/s,1us $m,microbatch=8"
for how in "" "--series 20us" "--network alpha-beta" "--network-scale 0.5"; do
    "$ringlet" run $two $how --plot "$dir/plot.svg" --links-csv "$dir/links.csv" >/dev/null 2>"$dir/err"
    # CSV: dimension in column 4, utilization in column 11; the busiest link of each dimension is compared with its first line.
    areas "$dir/plot.svg" >"$dir/areas"
    for dim in 0 1; do awk -F, -v d=$dim 'NR > 1 && $4 == d && $11 > most { most = $11 } END { printf "%.2f\n", 100 * most }' "$dir/links.csv"; done >"$dir/most"
    awk 'NR == FNR { most[++n] = $1; next } { for (i = 1; i <= n; i++) if (($1 - most[i]) ^ 2 < 1) seen[i] = 1 } END { exit !(n == 2 && seen[1] && seen[2]) }' \
        "$dir/most" "$dir/areas" && ok "areas of a plot $how" || { cat "$dir/most" "$dir/areas"; no "areas of a plot $how"; }
done
grep -c 'font-weight' "$dir/plot.svg" | grep -qx 2 && grep -q '>dim 1 switch, busiest links<' "$dir/plot.svg" && ok "a panel for each dimension" || no "a panel for each dimension"
json "$dir/p" $two --network-scale 0.5 --plot "$dir/again.svg"
cmp -s "$dir/plot.svg" "$dir/again.svg" && ok "twice the same picture" || no "twice the same picture"
json "$dir/q" $two --network-scale 0.5
# (Series make the network look at its links more often.)
sed '/"events"/d' "$dir/p" >"$dir/p2" && sed '/"events"/d' "$dir/q" | cmp -s - "$dir/p2" && ok "--plot changes nothing else" || no "--plot changes nothing else"
expect 0 "no link carried anything" run --model transformer:layers=1,ranks=1 $t --plot /dev/stdout
expect 0 "first of" run $m --train stack=any $t --until 4ms --plot /dev/stdout
expect 5 "/nowhere/x.svg" run $m $t --plot /nowhere/x.svg
expect 2 "under --timing astra" run $m $t --timing astra --astra-system none.json --plot "$dir/left"
expect 2 "--plot: needs --series DURATION: the network has 20000 links" run --model transformer:layers=1,ranks=2 -t switch:10000@50GB/s,1us --plot "$dir/left"
[ ! -e "$dir/left" ] && ok "no picture is left" || no "no picture is left"
expect 2 "--until: expected a time above 0" run $m $t --until 0
expect 0 "0-7 " run $m $t
expect 5 "/nowhere/x" run $m $t -o /nowhere/x
expect 5 "/dev/full" run $m $t -o /dev/full
expect 5 "nothing" run --trace "$dir/nothing" $t -o "$dir/left"
[ ! -e "$dir/left" ] && ok "a failed run leaves no file" || no "a failed run leaves no file"

# NVLink's switches add up and replicate, but packets are not simulated through them: the default is another algorithm.
expect 0 "all_reduce       ring                8    27.04 MiB" run --trace traces/transformer-8 --topology hgx-h100-8 --network packet
expect 3 "nvls: the network model 'packet' has no in-network reduction" \
    run --trace traces/transformer-8 --topology hgx-h100-8 --network packet -a all_reduce=nvls

# Collectives aggregated by switches: above a size, beside a ring, in groups that can spare a server.
star="--topology switch:9@100Gbps,1us,in_network=reduce+multicast --model transformer:layers=2,hidden=768,ranks=8"
expect 0 "all_reduce       switchml            8    93.15 MiB" run $star -a all_reduce=ring:64MiB:switchml
expect 0 "1 by switchml; 763080 packets from hosts, 0 sent again" run $star -a all_reduce=ring:64MiB:switchml
expect 0 "2 by ps-switch" run $star -a ps-switch --set ps_switch.share=0.5
expect 0 '"jobs": {"sharp": 2}' run $star -a sharp --format json
expect 0 "2 by switchml" run $star -a switchml --set loss=0.0001 --set rto=100us
expect 3 "9 ranks are placed, and 9 of them train" run $star -a atp --model transformer:layers=2,hidden=768
expect 3 "no switch of" run $star -a all_reduce=switchml --topology "switch:9@100Gbps,1us"
expect 0 "ring " run $star -a switchml --topology "switch:9@100Gbps,1us"
expect 4 "without success" run $star -a switchml --set loss=1 --set tries=2
expect 2 "needs --network packet" run $star -a switchml --network flow
expect 2 "switchml does not support all_gather" run $star -a all_gather=switchml
expect 2 "window: expected 1" run $star -a switchml --set switchml.window=0
expect 2 "unknown setting" run $star -a switchml --set aggregators=3

# Wrong use: one clear line, status 2.
expect 2 "--trace" run $t
expect 2 "unknown model" run --model resnte $t
expect 2 "did you mean" run $m $t --explian
expect 2 "unknown setting" run --model transformer:depth=3 $t
expect 2 "flow" run $m $t --network fow
expect 2 "--compute-scale" run $m $t --compute-scale 0
expect 2 "--compute-scale" run $m $t --compute-scale -1
expect 2 "--rank-scale" run $m $t --rank-scale 3=0.5
expect 2 "expected a rank from 0 to 7, got 99" run $m $t --rank-scale 99:host=2
expect 2 "--rank-delay" run $m $t --rank-delay 3=5
expect 2 "expected a rank from 0 to 7, got 8" run $m $t --rank-delay 8=5us
expect 2 "--astra-system" run $m $t --timing astra
expect 2 "unknown algorithm" run $m $t --algorithm rnig
expect 3 "did you mean 'hgx-h100-8'" run $m --topology hgx-h100
expect 3 "unit" run $m --topology "switch:8@50,500ns"
expect 3 "9" run $m $t --topology "switch:8@50GB/s,500ns" --model transformer:ranks=9
"$ringlet" trace generate --model gpt2-small --accelerator a100 --layout tp=2,dp=2 -o "$dir/pair" >"$dir/out" 2>&1
expect 3 "names rank 1, but there is only 1 rank" run --trace "$dir/pair/trace.0.et" $t
expect 0 "collective of a single rank: moves nothing; pass the files of all ranks, or use --trace-ranks and --replicate" run --trace traces/transformer-8/transformer.0.et $t
expect 0 "partial" run $m $t --until 1us
expect 0 "\"partial\": true" run --trace traces/transformer-8 -t hgx-h100-8 --until 5ms --format json

# Collectives that differ only in when they take place are one row. --all lists each: counted here by sort.
pipeline="--model transformer:layers=4,hidden=256,heads=4 -t switch:8@50GB/s,1us --layout tp=2,dp=2,pp=2"
same() { # FILE: a line for each collective, without what may differ
    sed -n 's/^ *{"index": [0-9]*, \("collective".*\)"first_arrival_ps".*"end_ps": [0-9]*, \(.*\), "last_rank": [0-9]*\(.*\)}.*/\1\2\3/p' "$1"
}
json "$dir/classes" $pipeline && json "$dir/each" $pipeline --all
same "$dir/each" | sort | uniq -c | sed 's/^ *//' >"$dir/counted"
same "$dir/classes" | sed 's/\(.*\), "count": \([0-9]*\), "members".*/\2 \1/' | sort >"$dir/out"
[ "$(wc -l <"$dir/out")" -gt 10 ] && sort "$dir/counted" | cmp -s - "$dir/out" && ok "equal collectives are one row" || no "equal collectives are one row"
# The gradients of the word embedding: stage 0 is ranks 0 to 3, or every second rank if stages are innermost.
embedding() { grep '"bytes": 13393152,.*"count": 2, "members": "'"$1"'"' "$2" >"$dir/out"; }
json "$dir/inner" $pipeline,order=pp-tp-dp
embedding 0-3 "$dir/classes" && embedding 0-6:2 "$dir/inner" && ok "and say which ranks take part" || no "and say which ranks take part"
"$ringlet" run --compare "$dir/classes" "$dir/each" >"$dir/out" 2>"$dir/err"
cp "$dir/out" "$dir/compared"
expect 0 "--compare explains the difference by itself" run --compare "$dir/classes" "$dir/each" --explain
cmp -s "$dir/out" "$dir/compared" && ok "--explain changes no comparison" || no "--explain changes no comparison"
[ "$(grep -cE ' \(([0-9]+), \1\) ' "$dir/out")" = 3 ] && ok "a comparison counts them" || no "a comparison counts them"

exit $bad
