#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ringlet calibrate --clusters: measurements made by the simulator are predicted exactly; a fit to other clusters finds a
# latency that is not the shipped one; outliers are dropped and counted; wrong files have a place. Speaks TAP.
. "$(dirname "$0")/../../support/tap.sh"

# measure SYSTEM NODES ARGUMENTS...   prints rows that the simulator makes
measure() {
    system=$1 nodes=$2
    shift 2
    "$ringlet" coll -c all_reduce -f csv "$@" 2>/dev/null | awk -F, -v s="$system" -v n="$nodes" '
        /^#/ { next }
        !head { for (i = 1; i <= NF; i++) at[$i] = i; head = 1; next }
        { printf "%s,here,all_reduce,%d,%d,%s,%.6f,,out\n", s, $at["ranks"], n, $at["bytes"], $at["time_ps"] / 1e6 }'
}
head=system,setting,collective,n_ranks,n_nodes,size_bytes,time_us,busbw_GBps,inplace
sizes=1KiB,64KiB,1MiB,64MiB,1GiB
two='hgx-h100-8*rail:2@400Gbps,500ns'
file() { # NAME CLUSTERS   writes a file of clusters with one constant, the latency by class
    printf '{"constants": [{"name": "network_latency", "by": "network", "unit": "us", "prior": 0, "step": 20, "least": 0, "most": 100}],\n "goals": {"check": {"below": {"median": 0.2}}},\n "clusters": [%s]}\n' "$2" >"$tmp/$1.json"
}
a='{"name": "a", "system": "A", "topology": "'$two'", "network": "roce", "set": ["nccl=2.26"]}'
b='{"name": "b", "system": "B", "topology": "hgx-h100-8*rail:4@200Gbps,500ns", "network": "roce", "algorithm": "tree", "where": ["setting=here"]}'
file both "$a, $b"
run() { # ARGUMENTS...
    "$ringlet" calibrate "$@" >"$tmp/out" 2>"$tmp/err"
}

{ echo $head && measure A 2 -t "$two" -b $sizes --set network=roce --set nccl=2.26 -a auto
  measure B 4 -t 'hgx-h100-8*rail:4@200Gbps,500ns' -b $sizes --set network=roce -a tree; } >"$tmp/shipped.csv"
run --check --clusters "$tmp/both.json" -f csv "$tmp/shipped.csv"
expect "what the simulator made is predicted" "$?-$(wc -l <"$tmp/shipped.csv" | tr -d ' ')" 0-11
# test,system,network,rows,median,p90,rows,median,p90,rows,median,p90,apart
expect "exactly, in each class of sizes" "$(awk -F, 'NR > 1 && $2 != "goal" { print $2, $4, $7, $10, ($6 + $9 + $12 < 1e-6) }' "$tmp/out" | tr '\n' ';')" \
    "a 2 3 1 1;b 2 3 1 1;all 4 6 2 1;"
expect "the goals of the file stand beside" "$(awk -F, '$2 == "goal" { print $5 }' "$tmp/out")" 0.200000

# 2 x 16 ranks at 10 GB/s: 1 GiB x 30/16 / 10 GB/s = 201.326592 ms
{ echo $head && echo A,here,all_reduce,16,2,1073741824,,10,out; } >"$tmp/rate.csv"
run --check --clusters "$tmp/both.json" --rows -f csv "$tmp/rate.csv"
expect "a blank time follows from the bus bandwidth" "$(awk -F, 'NR == 2 { print $(NF - 5) }' "$tmp/out")" 201326592000

{ cat "$tmp/shipped.csv" && echo A,here,all_reduce,16,2,65535,100000,,out && echo B,elsewhere,all_reduce,32,4,2048,1,,out; } >"$tmp/outlier.csv"
run --check --clusters "$tmp/both.json" -f csv "$tmp/outlier.csv"
expect "a row above its larger neighbour is dropped, and counted" "$(grep -c '1 row above 1.35 times the next larger size dropped: a' "$tmp/err")" 1
expect "a row of another setting is not of the cluster" "$(awk -F, '$2 == "all" { print $4, $7 }' "$tmp/out")" "4 6"

file apart "$a, {\"name\": \"b\", \"system\": \"B\", \"network\": \"roce\", \"apart\": \"no topology\"}"
run --check --clusters "$tmp/apart.json" -f csv "$tmp/shipped.csv"
expect "a cluster apart does not count, and its reason is told" "$(awk -F, '$2 == "all" { print $4, $7 } $2 == "b" { print $NF }' "$tmp/out" | tr '\n' ';')" "2 3;no topology (5 rows not simulated);"

if run -t dgx-a100-8 "$tmp/shipped.csv"; grep -q 'built without' "$tmp/err"; then
    skip "fits" "needs NLopt"
else
    { echo $head && measure A 2 -t "$two" -b $sizes --set network=roce --set nccl=2.26 --set network_latency=20us -a auto
      measure B 4 -t 'hgx-h100-8*rail:4@200Gbps,500ns' -b $sizes --set network=roce --set network_latency=20us -a tree; } >"$tmp/slow.csv"
    run --leave-one-out all --max-evaluations 60 --clusters "$tmp/both.json" -f csv "$tmp/slow.csv"
    # The pull, 0.02 at a step of 20 us, is weaker than the rows: its slope is 0.002 a us, theirs 0.01 and more.
    expect "a fit to the other cluster finds the latency" "$(sed -n 's/.*note: . left out: network_latency (roce) \([0-9.]*\)us$/\1/p' "$tmp/err" | awk '$1 > 19.5 && $1 < 20.5' | wc -l | tr -d ' ')" 2
    expect "and predicts the one left out" "$(awk -F, '$1 == "left out" && $2 == "all" { print ($5 < 0.02), ($8 < 0.02) }' "$tmp/out")" "1 1"
    run --halves --max-evaluations 60 --clusters "$tmp/both.json" -f csv "$tmp/slow.csv"
    expect "halves: the other sizes, with and without the residual, and interpolation" \
        "$(awk -F, '$2 == "all" { print $1, $4 + $7 }' "$tmp/out" | tr '\n' ';')" "other half 4;with residual 4;interpolation 4;"
    expect "the model predicts better than interpolation" "$(awk -F, '$2 == "all" { m[$1] = $8 } END { print (m["other half"] < m["interpolation"]) }' "$tmp/out")" 1
fi

refused() { # NAME, TEXT, ARGUMENTS...
    name=$1 text=$2
    shift 2
    run "$@" "$tmp/shipped.csv"
    expect "$name" "$(($? > 0))-$(grep -c -- "$text" "$tmp/err")-$(wc -c <"$tmp/out" | tr -d ' ')" 1-1-0
}
refused "no such file" 'nowhere.json' --check --clusters "$tmp/nowhere.json"
echo '{"clusters": 3}' >"$tmp/bad.json"
refused "no clusters" "expected 'clusters', a list" --check --clusters "$tmp/bad.json"
file bad '{"name": "a", "system": "A", "network": "roce", "topolgy": "x"}'
refused "an unknown key" 'bad.json:3:.*topolgy' --check --clusters "$tmp/bad.json"
file bad '{"name": "a", "system": "A", "network": "roce"}'
refused "neither topology nor reason" "needs 'apart', the reason" --check --clusters "$tmp/bad.json"
file bad '{"name": "a", "system": "A", "topology": "nothing-8", "network": "roce"}'
refused "an unknown topology" 'a: nothing-8' --check --clusters "$tmp/bad.json"
file bad '{"name": "a", "system": "A", "topology": "'$two'", "network": "tokenring"}'
refused "an unknown class of network" 'tokenring' --check --clusters "$tmp/bad.json"
file bad '{"name": "a", "system": "Z", "topology": "'$two'", "network": "roce"}'
refused "no measured system" 'no measurement is of a system of these clusters' --check --clusters "$tmp/bad.json"
file bad '{"name": "b", "system": "B", "topology": "'$two'", "network": "roce"}'
refused "a machine without room" 'has no room for 32 ranks on 4 nodes' --check --clusters "$tmp/bad.json"
sed 's/network_latency/network_lateness/' "$tmp/both.json" >"$tmp/bad.json"
refused "a constant that is no setting" "'network_lateness' is no setting of endpoints" --check --clusters "$tmp/bad.json"
refused "no test" 'needs one of --check' --clusters "$tmp/both.json"
refused "a topology beside" 'not together with --clusters' --check -t dgx-a100-8 --clusters "$tmp/both.json"
finish
