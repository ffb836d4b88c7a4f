#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# In-network aggregation on the command line: reactive protocols as rows of coll, their settings, the study, and algorithms
# by size in run. Expected times are from an independent packet model and closed forms: packets of 1024 + 82 B at
# 100 Gb/s (tau = 88 480 ps), links of 1 us, switches of 500 ns, 4 MiB = 4096 packets; RTT = 2 676 960 ps on a star.
# Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"
star='switch:8@100Gbps,1us,in_network=reduce+multicast'
star9='switch:9@100Gbps,1us,in_network=reduce+multicast'
coll() { # TOPOLOGY ARGUMENTS...
    net=$1
    shift
    "$ringlet" coll -t "$net" -b 4MiB --set switch_latency=500ns "$@" 2>"$tmp/err" </dev/null
}
# field NAME of CSV: prints the values of a column in one line
field() {
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }' | tr '\n' ' ' |
        sed 's/ $//'
}
cat >"$tmp/leaves.json" <<'JSON'
{"nodes": [{"id": "gpu", "count": 8, "kind": "accelerator"},
           {"id": "leaf", "count": 2, "kind": "switch", "in_network": "reduce+multicast"},
           {"id": "spine", "kind": "switch", "in_network": "reduce+multicast"}],
 "links": [
   {"src": "gpu0", "dst": "leaf0", "bandwidth": "100Gbps", "latency": "1us"},
   {"src": "gpu1", "dst": "leaf1", "bandwidth": "100Gbps", "latency": "1us"},
   {"src": "gpu2", "dst": "leaf0", "bandwidth": "100Gbps", "latency": "1us"},
   {"src": "gpu3", "dst": "leaf1", "bandwidth": "100Gbps", "latency": "1us"},
   {"src": "gpu4", "dst": "leaf0", "bandwidth": "100Gbps", "latency": "1us"},
   {"src": "gpu5", "dst": "leaf1", "bandwidth": "100Gbps", "latency": "1us"},
   {"src": "gpu6", "dst": "leaf0", "bandwidth": "100Gbps", "latency": "1us"},
   {"src": "gpu7", "dst": "leaf1", "bandwidth": "100Gbps", "latency": "1us"},
   {"src": "leaf0", "dst": "spine", "bandwidth": "100Gbps", "latency": "1us"},
   {"src": "leaf1", "dst": "spine", "bandwidth": "100Gbps", "latency": "1us"}]}
JSON
sed 's/, "in_network": "reduce+multicast"//' "$tmp/leaves.json" >"$tmp/plain.json"

# Golden times.
expect "SwitchML on a star, its usual window of 256" "$(coll "$star" -a switchml -f csv | field time_ps)" 365002560
for case in 1:10964828160 2:5482502560 8:1371222880 30:368070720 31:365002560; do
    expect "SwitchML on a star, window ${case%:*}" \
        "$(coll "$star" -a switchml --set window="${case%:*}" -f csv | field time_ps)" "${case#*:}"
done
expect "fewer slots than the window asks for are the window" \
    "$(coll "$star" -a switchml --set switch.slots=8 -f csv | field time_ps)" 1371222880
expect "memory for 8 slots in two versions says the same" \
    "$(coll "$star" -a switchml --set switch.memory=16KiB -f csv | field time_ps)" 1371222880
expect "SwitchML on two leaves and a spine" "$(coll "$tmp/leaves.json" -a switchml -f csv | field time_ps)" 368179520
expect "the same, below the knee" \
    "$(coll "$tmp/leaves.json" -a switchml --set switchml.window=66 -f csv | field time_ps)" 369062400
for case in 0:2904578080 0.5:1636128800 1:367679520; do
    expect "parameter server, 8 workers, a share of ${case%:*} added up" \
        "$(coll "$star9" -a ps-switch --set share="${case%:*}" -f csv | field time_ps)" "${case#*:}"
done

# Rows beside those of step algorithms, on the same packets. A ring of 8 has 14 steps of 128 packets of 4096 + 82 B, each
# 14 (129 x 334 240 + 2 x 1 us + 500 ns) without acknowledgements.
coll "$star" -a switchml,ring,ps_switch --set ack=0 -f csv >"$tmp/rows"
expect "rows stand beside those of steps, in the order asked for" "$(field algorithm <"$tmp/rows")" "switchml ring ps-switch"
expect "a ring's closed form on packets" "$(field time_ps <"$tmp/rows" | cut -d' ' -f2)" 638637440
expect "rows name their network" "$(field network <"$tmp/rows")" "packet packet packet"
expect "what is for protocols alone is empty for steps" "$(sed -n 3p "$tmp/rows" | sed 's/.*,,,,$/empty/')" empty
expect "nothing is lost, nothing sent again" "$(field retransmissions <"$tmp/rows")" "0  0"
expect "one note says why all run on packets" "$(cat "$tmp/err")" \
    "ringlet: note: switchml aggregates packets: all rows are simulated on packets"
coll "$star" -a ring,nvls --set loss=0.001 -f csv >"$tmp/lossy"
expect "a setting of packets does so, too, and what cannot run there drops out" \
    "$(field algorithm <"$tmp/lossy") $(field network <"$tmp/lossy") $(grep -c 'switch_latency=500ns is a setting of packets' "$tmp/err") $(grep -c 'nvls is left out' "$tmp/err")" \
    "ring packet 1 1"
expect "a row does not depend on the others" "$(coll "$star" -a ring,switchml --set loss=0.001 -f csv | grep ',ring,' | cut -d, -f1-15)" \
    "$(sed -n 2p "$tmp/lossy")"
expect "without either, flow" "$("$ringlet" coll -t "$star" -b 4MiB -a ring,nvls -f csv | field network)" "flow flow"
"$ringlet" coll -t switch:1024@50GB/s,1us -b 256MiB -a ring --set loss=0.01 >"$tmp/out" 2>"$tmp/many" </dev/null &
job=$!
until [ -s "$tmp/many" ] || ! kill -0 $job 2>/dev/null; do sleep 0.1; done
kill -INT $job
wait $job
expect "many packets are announced with their cost" "$? $(grep -c 'about 134 million packets; a million takes' "$tmp/many")" "130 1"
expect "a server gets every chunk once where all are added up" \
    "$(field server_bytes <"$tmp/rows" | awk '{ print $NF }')" $((4096 * 1106))
expect "without a server, a share of fallbacks has no meaning" "$(field fallback_share <"$tmp/rows" | sed 's/^ *//')" 0.000000
expect "half of the chunks added up: half of the contributions fall back" \
    "$(coll "$star9" -a ps-switch --set share=0.5 -f csv | field fallback_share)" 0.500000
expect "there are no columns for protocols where there are none" "$(coll "$star" -a ring -f csv | grep -c retransmissions)" 0
expect "links carry packets and nothing else" \
    "$(coll "$star" -a switchml --links -f json | grep -o '"bytes": 4530176' | sort | uniq -c | awk '{ print $1, $3 }')" "2 4530176"
coll "$star" -a switchml --series 10us -f json >"$tmp/json"
for field in '"retransmissions": 0' '"fallback_share": null' '"server_bytes": null' '"in_network": {"workers": 8' \
    '"window": 256' '"chunks": 4096' '"sums": 4096' '"contributions": 32768' '"occupancy": {"bin_ps"'; do
    expect "JSON has $field" "$(grep -cF "$field" "$tmp/json")" 1
done
expect "the same bytes for any number of threads" \
    "$(coll "$star" -a switchml,ring,ps-switch -f csv -j 3 | cksum)" "$(coll "$star" -a switchml,ring,ps-switch -f csv -j 1 | cksum)"
coll "$star" -a switchml --set loss=0.001 --set rto=100us --set seed=1 -f csv >"$tmp/loss"
expect "what is lost is sent again" "$(field retransmissions <"$tmp/loss" | awk '{ print ($1 > 20 && $1 < 2000) }')" 1
expect "the same seed, the same losses" "$(coll "$star" -a switchml --set loss=0.001 --set rto=100us --set seed=1 -f csv | cksum)" \
    "$(cksum <"$tmp/loss")"
for seed in 1 2 3 4 5; do
    expect "losses between switches are made up for, seed $seed" \
        "$(coll "$tmp/leaves.json" -a switchml --set loss=0.002 --set rto=100us --set tries=50 --set seed=$seed -f csv |
            field retransmissions | awk '{ print ($1 > 100) }')" 1
done

# A named packet is lost: worker 0's N-th. Its timer of 10 ms began when the packet had left, after N tau. The packet that it sends
# again completes the sum: (N + 2) tau + 10 ms + 2 d + s. All 8 workers have sent theirs again by then.
for n in 1 3 60; do
    expect "SwitchML loses packet $n of link 0" \
        "$("$ringlet" coll -t "$star" -b 64KiB -a switchml --set switch_latency=500ns --set lose=0:$n -f csv 2>/dev/null | cut -d, -f5,16 | tail -1)" \
        "$(((n + 2) * 88480 + 10000000000 + 2 * 1000000 + 500000)),8"
done
expect "a protocol that names one more loses it, too" \
    "$("$ringlet" coll -t "$star" -b 64KiB -a switchml --set lose=0:3,0:5 -f json 2>/dev/null | grep -o '"lost": [0-9]*')" '"lost": 2'
expect "and so do plain messages" "$("$ringlet" coll -t "$star" -b 64KiB -a ring --set lose=0:1,0:2,3:7 --links --expand-links -f json 2>/dev/null |
    grep -o '"losses": [1-9]' | tr '\n' ' ')" '"losses": 2 "losses": 1 '
lost() { "$ringlet" coll -t "$star" -b 64KiB -a ring --set "lose=$1" --links --expand-links -f csv 2>/dev/null | cksum; }
expect "a link by its name" "$(lost 'acc0->sw0.0.0:1,acc1->sw0.0.0:7')" "$(lost 0:1,2:7)"
expect "or as tables write it" "$(lost 'acc0 -> sw0.0.0:1')" "$(lost 0:1)"
expect "all links of a node" "$(lost acc3:2)" "$(lost 6:2,7:2)"
refused "a link that is not there" 2 "lose: 99: there are links 0 to 15" coll -t "$star" -a ring -b 64KiB --set lose=99:1
refused "nor by name" 2 "lose: acc9: expected the number of a link, a node, or FROM->TO" coll -t "$star" -a ring -b 64KiB --set lose=acc9:1
refused "more links of a name than packets may be named" 2 "lose: expected at most 16 packets" coll -t switch:9@100Gbps,1us -a ring -b 64KiB \
    --set lose=sw0.0.0:1
refused "a packet without its link" 2 "expected LINK:N, the name or number of a link" coll -t "$star" -a ring --set lose=3
refused "packet 0" 2 "expected LINK:N" coll -t "$star" -a ring --set lose=3:0

# all: includes reactive protocols if a switch can aggregate.
"$ringlet" coll -t "$star" -a all -n packet -b 64KiB -f csv >"$tmp/all" 2>"$tmp/err"
expect "'all' has them where a switch adds up packets" "$(grep -c ',switchml,' "$tmp/all")" 1
"$ringlet" coll -t "$star" -a all -b 64KiB -f csv >"$tmp/all" 2>"$tmp/err"
expect "in a network without packets it says how to have them" \
    "$(grep -c ',switchml,' "$tmp/all") $(grep -c ',nvls,' "$tmp/all") $(grep -c 'left out of .all.*--network packet compares them' "$tmp/err")" "0 1 1"
"$ringlet" coll -t "$star" -b 64KiB -f csv >"$tmp/all" 2>"$tmp/err"
expect "without a word there are only steps" "$(grep -c ',switchml,' "$tmp/all")" 0
"$ringlet" coll -t 'switch:8@100Gbps,1us' -a all -b 64KiB -f csv >"$tmp/all" 2>"$tmp/err"
expect "'all' has none where no switch adds up" "$(grep -c ',switchml,' "$tmp/all")" 0
"$ringlet" coll -t hgx-h100-8 -a all -b 64KiB -f csv >"$tmp/all" 2>"$tmp/err"
expect "nor beside a machine's tuned endpoint" "$(grep -c ',switchml,' "$tmp/all")" 0
expect "list names them with their settings" "$("$ringlet" list algorithms -f csv | grep -c '^switchml,.*window=256')" 1
expect "and each setting with its unit" "$("$ringlet" list settings -f csv | grep -c '^switchml.rto,.*,10ms,')" 1

# Wrong arguments.
refused "inside=nvls: no switch aggregates for all" 3 "can add up: see in_network" coll -t 'switch:8@100Gbps,1us' -a switchml -b 4MiB
refused "nor on a graph" 3 "can add up: see in_network" coll -t "$tmp/plain.json" -a switchml -b 4MiB
refused "a misspelt protocol" 2 "did you mean 'switchml'" coll -t "$star" -a swichml
refused "a collective it does not do" 3 "switchml: does not support all_gather" coll -t "$star" -a switchml -c all_gather -b 4MiB
refused "a misspelt setting" 2 "unknown setting of switchml; did you mean 'window'" coll -t "$star" -a switchml --set switchml.windo=3
refused "a setting of a protocol not asked for" 2 "belongs to switchml" coll -t "$star" -a ring --set switchml.window=3
refused "a setting without its unit" 2 "the unit is missing" coll -t "$star" -a switchml --set rto=5
refused "a window of nothing" 2 "expected 1 to" coll -t "$star" -a switchml --set window=0
refused "a word that is none" 2 "expected one of all, tor, spine" coll -t "$star" -a switchml --set place=core
refused "settings of packets where there are none" 2 "setting of --network packet, not of flow" coll -t "$star" -a ring -n flow --set loss=0.1
refused "a protocol where there are none" 2 "switchml works packet by packet: it needs --network packet" coll -t "$star" -a ring,switchml -n flow
refused "a plan of what reacts" 3 "no plan" coll -t "$star" -a switchml -b 4MiB --export-plan -
refused "all is lost: a stall with its reason" 4 "without success" coll -t "$star" -a switchml -b 64KiB --set loss=1 --set tries=3
refused "workers and ranks" 2 "--ranks does not go with --workers" coll -t "$star" --workers 4 --ranks 8
refused "workers and a group" 2 "--group does not go with --workers" coll -t "$star" --workers 4 -g 0-3
refused "one worker" 2 "expected 2 to" coll -t "$star" --workers 1
refused "more workers than ranks" 2 "1 tenant with 16 workers each exceed the 8 ranks" coll -t "$star" --workers 16
refused "no rank is left for the server" 3 "8 workers and 1 separate server exceed the 8 ranks" coll -t "$star" -a ps-switch -b 64KiB --workers 8
refused "a straggler without a unit" 2 "the unit is missing" coll -t "$star" --straggler 5
refused "the study has moved" 2 "studies are run by 'ringlet sweep ina'" coll -t "$star" --study ina

# Workers and a straggler as options of any row.
expect "eight workers and a server" "$(coll "$star9" -a ps-switch --workers 8 -f csv | field time_ps)" 367679520
expect "all wait for the last rank: its delay comes on top" \
    "$(coll "$star" -a ring,switchml --set ack=0 --straggler 500us -f csv | field time_ps)" "1138637440 865002560"
expect "and takes from the bandwidth: 2 (n - 1) / n bytes over the time" \
    "$("$ringlet" coll -t "$star" -b 4MiB -a ring -n alpha-beta --straggler 500us -f csv | field busbw_GBps)" "$(awk 'BEGIN { printf "%.6f", 4194304 * 1.75 / 1115202560 * 1e3 }')"

# The shipped study, run by `ringlet sweep` with axes and options of base on the command line.
study() {
    "$ringlet" sweep ina -t "$star9" --workers 8 --loss 0 -b 4MiB --set switch_latency=500ns "$@" 2>"$tmp/err" </dev/null
}
study -a switchml,ring --set ack=0 --slots 16,256 --straggler 0us,500us -f csv >"$tmp/study"
expect "a row for each algorithm, number of slots and straggler" "$(field algorithm <"$tmp/study")" \
    "switchml ring switchml ring switchml ring switchml ring"
expect "windows of 16 and 256 slots, and a straggler's 500 us" "$(field time_ps <"$tmp/study")" \
    "686628960 638637440 365002560 638637440 1186628960 1138637440 865002560 1138637440"
# 638.63744 / 365.00256 = 1.749679, 1138.63744 / 865.00256 = 1.316340
expect "the gain is the best baseline over each" "$(field gain <"$tmp/study" | awk '{ printf "%.6f %.6f %.6f", $3, $4, $7 }')" \
    "1.749679 1.000000 1.316340"
expect "all slots wait for the straggler" "$(field peak_occupancy <"$tmp/study" | awk '{ print $NF }')" 256
expect "on average 236.65" "$(field mean_occupancy <"$tmp/study" | awk '{ printf "%.2f", $NF }')" 236.65
study -a switchml,ring --set ack=0 --slots 16,256 --straggler 0us,500us >"$tmp/table"
expect "the summary counts the points won" "$(grep -c '^# algorithm: the best beats the baseline .* at 2 of 4 points' "$tmp/table")" 1
expect "and says where most" "$(grep -c '^# most *1.75x: size 4MiB, workers 8.*slots 256.*: switchml against ring' "$tmp/table")" 1
study -a ps-switch,ring --slots 256 --straggler 0us -f csv >"$tmp/study"
expect "servers apart stand beside the workers asked for" "$(field time_ps <"$tmp/study" | cut -d' ' -f1)" 367679520
study -a switchml,ring --slots 64 --straggler 0us --place tor,spine,all -f csv >"$tmp/study"
expect "a placement that no switch has is a failed row with its reason" \
    "$? $(awk -F, '$10 == "switchml" { print $9, $12 }' "$tmp/study" | tr '\n' ';')" \
    "1 place=tor 0;place=spine 3;place=all 0;"
expect "and the others are there" "$(grep -c ',365002560,' "$tmp/study")" 2
# Four workers a leaf, one uplink. Without sums in the leaves it carries 4 x 4096 packets: 1 449 656 320 ps and one crossing.
"$ringlet" sweep ina -t 'fat-tree:16@100Gbps,1us,hosts_per_leaf=4,oversubscription=4,in_network=reduce+multicast' \
    -a switchml --workers 16 -b 4MiB --slots 256 --set window=256 --place all,spine --loss 0 --straggler 0us \
    --set switch_latency=500ns -f csv >"$tmp/study" 2>"$tmp/err"
expect "sums at all levels: (C - 1) tau + RTT" "$(field time_ps <"$tmp/study" | cut -d' ' -f1)" 368179520
expect "at the spine alone, four times the packets" \
    "$(field time_ps <"$tmp/study" | awk '{ print ($2 > 1449656320 && $2 < 1449656320 + 12000000) }')" 1
usual() {
    "$ringlet" sweep ina -b 64KiB,1MiB --slots 64 "$@" 2>"$tmp/err"
}
usual --db "$tmp/ina.db" --plot "$tmp/ina.svg" --x slots --y gain --by algorithm --slots 16,64 -j 1
expect "the usual study ends well" "$?" 0
expect "a sweep has the packets that found a slot of another job" \
    "$("$ringlet" sweep ina -t 'switch:10@100Gbps,1us,in_network=reduce+multicast' -a atp -b 64KiB --workers 4 --tenants 1,2 --slots 16 --loss 0 \
        --straggler 0us --set switch.sharing=dynamic -f csv 2>/dev/null | field collision_share | awk '{ print NF, ($1 > 0 && $1 < 1) }')" "1 1"
expect "the same bytes for any number of threads" "$(usual -f csv -j 1 | cksum)" "$(usual -f csv -j 3 | cksum)"
"$ringlet" sweep wins "$tmp/ina.db" -f json >"$tmp/one"
expect "JSON has the points won by every axis" "$(grep -o '"axis": "[a-z]*"' "$tmp/one" | sort -u | wc -l | tr -d ' ')" 7
expect "one is the sum of the others" \
    "$(sed -n 's/^  "wins": \([0-9]*\).*/\1/p' "$tmp/one")" \
    "$(sed -n 's/.*"axis": "workers".*"wins": \([0-9]*\).*/\1/p' "$tmp/one" | awk '{ s += $1 } END { print s }')"
expect "the picture has the gain over the slots" "$(grep -c '>gain<' "$tmp/ina.svg" | awk '{ print ($1 >= 1) }')" 1
expect "occupancy over time is coll's" \
    "$(coll "$star9" -a switchml --workers 8 --straggler 500us --set switch.slots=256 --series 1us -f json | grep -c '"occupancy": {"bin_ps"')" 1
# Recorded results of the study (all rows of two commands of collectives/in_network/PROTOCOLS.md). A row of a step algorithm applies to every
# number of slots.
compare() { # COMMAND: the study's CSV on standard input; how many rows are the same, and those that are not
    awk -F, -v command="$1" '
        NR == FNR { if ($1 == command) { rows++; key = $2 "," $3 "," $4 + 0 "," $5 + 0 "," $6 "," $7; row[key] = $0 } next }
        FNR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; split("busbw_GBps gain fallback_share mean_occupancy fairness", real, " ")
            split("9 10 12 14 16", of_real, " "); split("time_ps retransmissions peak_occupancy server_bytes", whole, " ")
            split("8 11 13 15", of_whole, " "); next }
        { loss = $at["loss"]; slots = $at["slots"]; a = $at["algorithm"]; late = $at["straggler"]
          sub(/.*=/, "", loss); sub(/.*=/, "", slots); gsub(/_/, "-", a)
          key = $at["workers"] "," $at["tenants"] "," loss + 0 "," late * 1000000 "," (a ~ /^(ring|ps)$/ ? "" : slots) "," a
          n = split(row[key], old, ","); wrong = n == 0
          for (i = 1; i <= 4; i++) wrong += old[of_whole[i]] != $at[whole[i]]
          for (i = 1; i <= 5; i++) { x = $at[real[i]]; wrong += old[of_real[i]] != (x == "" ? "" : sprintf("%.6f", x)) }
          if (wrong) print "not the same: " $0; else same += !seen[key]++ }
        END { print same, "of", rows }' test/cli/coll/ina_study.csv -
}
expect "the sweep of collectives/in_network/PROTOCOLS.md: 96 rows as before" "$("$ringlet" sweep ina -t "$star9" -a switchml,ps_switch,ring,ps -b 4MiB \
    --workers 2,4,8 --slots 16,32,256 --loss 0,0.0001 --straggler 0us,500us --set switch_latency=500ns --set rto=1ms -f csv | compare one)" \
    "96 of 96"
expect "the second: 6" "$("$ringlet" sweep ina -t 'switch:16@100Gbps,1us,in_network=reduce+multicast' -a switchml,ring -b 4MiB \
    --tenants 1,2,4 --workers 4 --slots 32 --loss 0 --straggler 0us -f csv | compare two)" "6 of 6"
"$ringlet" sweep ina -t "$star9" -a switchml,ps_switch,ring,ps -b 4MiB --workers 2,4,8 --slots 16,32,256 --loss 0,0.0001 \
    --straggler 0us,500us --set switch_latency=500ns --set rto=1ms --db "$tmp/wins.db" -q
"$ringlet" sweep wins "$tmp/wins.db" -f csv >"$tmp/wins"
expect "where it wins, by axis, as before" "$(grep -v '^size\|^tenants\|^axis\|^place' "$tmp/wins" |
    awk -F, '{ printf "%s %s %d %d %.2f %.2f %.2f;", $1, $2, $3, $4, $5, $6, $7 }')" \
    "workers 2 12 0 0.22 0.50 0.99;workers 4 12 4 0.33 0.69 1.48;workers 8 12 4 0.25 0.79 1.78;loss 0 18 8 0.52 0.99 1.78;loss 0.0001 18 0 0.22 0.41 0.63;straggler 0us 18 4 0.22 0.50 1.78;straggler 500us 18 4 0.37 0.68 1.33;slots 16 12 0 0.22 0.50 0.97;slots 32 12 4 0.26 0.77 1.78;slots 256 12 4 0.28 0.80 1.78;"
# refused_study NAME STATUS TEXT ARGUMENTS... of `ringlet sweep`
cat >"$tmp/zip.json" <<'JSON'
{"command": "coll", "base": {"topology": "ring:4@50GB/s,1us", "bytes": "1KiB", "algorithm": "ring"},
 "axes": [{"name": "layout", "pointers": ["/bytes", "/algorithm"], "values": [["1KiB", "ring"], ["2KiB", "tree"]]}]}
JSON
refused_study() {
    name=$1 status=$2 text=$3
    shift 3
    "$ringlet" sweep "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    expect "$name" "$? $(grep -cF -- "$text" "$tmp/err")" "$status 1"
}
# A study that names no network: all points stand on packets if one of them needs packets.
mixed() { # MEMBERS OF BASE, AXES
    printf '{"command": "coll", "base": {"topology": "%s", "bytes": "4MiB"%s}, "axes": [%s]}' "$star" "$1" "$2" >"$tmp/mixed.json"
    "$ringlet" sweep "$tmp/mixed.json" -f csv >"$tmp/mixed" 2>"$tmp/err"
}
algorithms='{"name": "algorithm", "pointer": "/algorithm", "values": ["ring", "switchml"]}'
mixed ', "set": ["ack=0", "switch_latency=500ns"]' "$algorithms"
expect "packets that base sets" "$? $(field time_ps <"$tmp/mixed")" "0 638637440 365002560"
mixed '' "$algorithms"
expect "a ring beside a protocol" "$? $(field time_ps <"$tmp/mixed" | cut -d' ' -f1)" "0 $("$ringlet" coll -t "$star" -b 4MiB -a ring -n packet -f csv | field time_ps)"
mixed ', "set": [], "algorithm": "ring"' '{"name": "mtu", "pointer": "/set/-", "values": ["chunks=1", "mtu=1KiB"]}'
expect "a setting of another point" "$? $(field time_ps <"$tmp/mixed" | cut -d' ' -f1)" "0 $("$ringlet" coll -t "$star" -b 4MiB -a ring -n packet -f csv | field time_ps)"
mixed ', "network": "flow"' "$algorithms"
expect "a named network is kept, and refuses what it cannot do" "$? $(grep -c 'works packet by packet' "$tmp/mixed") $(field time_ps <"$tmp/mixed" | cut -d' ' -f1)" \
    "1 1 $("$ringlet" coll -t "$star" -b 4MiB -a ring -f csv | field time_ps)"
mixed ', "network": "flow", "algorithm": "ring", "set": []' '{"name": "loss", "pointer": "/set/-", "values": ["loss=0.01", "loss=0"]}'
expect "and a setting that no point's network has" "$? $(grep -c 'setting of --network packet, not of flow' "$tmp/mixed")" "1 2"
mixed ', "algorithm": "ring", "set": ["ack=0"]' '{"name": "network", "pointer": "/network", "values": ["flow", "packet"]}'
expect "a comparison of networks has settings of one" "$?" 0
refused_study "an empty value of an axis" 2 "--slots: '' is not a value" ina --slots 64,,256
refused_study "an axis without values" 2 "--slots: needs a value" ina --slots
refused_study "no axis and no option" 2 "--slot: unknown option" ina --slot 16
refused_study "what shapes a report" 2 "--why: unknown option" ina --why
refused_study "no such file, and no study of that name" 3 "did you mean 'ina'" inna
refused_study "a setting that nothing has" 1 "windo: unknown setting; did you mean 'window'" ina -a ring -b 1KiB --workers 2 --loss 0 --straggler 0us --slots 16 --set windo=3
refused_study "a bad value of a setting of another protocol" 1 "window: expected 1 to 262144, got" ina -a ring -b 1KiB --workers 2 --loss 0 --straggler 0us --slots 16 --set switchml.window=0
refused_study "a loss above one" 1 "24 of 24 points failed" ina --loss 2 -a switchml -b 1KiB,2KiB
refused_study "shards without a database" 2 "--db: is required with --shard" ina --shard 1/2
refused_study "an axis of several pointers" 2 "changes several values at once" "$tmp/zip.json" --layout 3
"$ringlet" sweep query tools/sweep/examples/ina.json >"$tmp/out" 2>"$tmp/err"
expect "a study is no database" "$?" 3

# run: by size and group. The transformer has 2 (12 h^2 + 13 h) + 2 h + (50 257 + 1024) h = 53 561 088 parameters (h = 768),
# of 2 bytes each. First the last norm and MLP are reduced, 2 h + 8 h^2 + 5 h parameters, which fill a bucket, then the rest.
run() {
    "$ringlet" run -m transformer:layers=2,hidden=768 -t "$star" -f json "$@" 2>"$tmp/err" </dev/null |
        sed -n 's/.*"index".*"algorithm": "\([a-z]*\)".*"transfer_ps": \([0-9]*\).*/\1 \2/p' | tr '\n' ' '
}
time_of() {
    "$ringlet" coll -t "$star" -a "$1" -b "$2B" -f csv 2>/dev/null | field time_ps
}
small=9447936 large=97674240
expect "from 64 MiB on in the switch, below by the ring" "$(run -a all_reduce=ring:64MiB:nvls)" \
    "ring $(time_of ring $small) nvls $(time_of nvls $large) "
expect "a size is its own threshold" "$(run -a all_reduce=ring:${large}B:nvls | cut -d' ' -f1,3)" "ring nvls"
expect "one byte more, and it is below" "$(run -a all_reduce=ring:$((large + 1))B:nvls | cut -d' ' -f1,3)" "ring ring"
expect "three by two sizes" "$(run -a all_reduce=direct:8MiB:ring:64MiB:nvls | cut -d' ' -f1,3)" "ring nvls"
expect "groups of 8 in the switch" "$(run -a all_reduce=ring,all_reduce@8=nvls | cut -d' ' -f1,3)" "nvls nvls"
expect "groups of 4: there are none" "$(run -a all_reduce=ring,all_reduce@4=nvls | cut -d' ' -f1,3)" "ring ring"
star='switch:8@100Gbps,1us'
expect "where no switch adds up, what stands before it" "$(run -a all_reduce=ring:64MiB:nvls | cut -d' ' -f1,3)" "ring ring"
for wrong in all_reduce=ring:64MiB all_reduce=ring:64MiB:nosuch ring:64MiB:nvls all_reduce@0=ring all_reduce=ring:2MiB:nvls:1MiB:ring \
    all_reduce=ring:1:nvls all_gather=ring:1MiB:tree all_gather=ring:1MiB:switchml; do
    "$ringlet" run -m transformer:layers=2,hidden=768 -t "$star" -a $wrong >"$tmp/out" 2>"$tmp/err" </dev/null
    expect "--algorithm $wrong is wrong use" "$? $(grep -c '^ringlet: --algorithm' "$tmp/err")" "2 1"
done

# coll arithmetic. 0.1 as a float is 0.100000001490116: 10^6 times it is slightly above 100000, so three of them are 300000, or
# 0.3; the true sum is 0.300000004470348. One value of -512 and one of 3: a block is scaled by 2^10 > 512; the ends are exact.
arithmetic() { # ARGUMENTS...   columns of the CSV in one line each: workers, mode and those named in $columns
    "$ringlet" coll arithmetic -f csv "$@" 2>"$tmp/err" </dev/null | awk -F, -v names="workers,mode,${columns-worst,bound}" '
        NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; n = split(names, name, ","); next }
        { for (i = 1; i <= n; i++) printf "%s%s", $at[name[i]], i < n ? " " : ";" }'
}
printf '# a gradient of one value\n\n 0.1 # in tenths\n' >"$tmp/tenth"
expect "three tenths in fixed point, by hand" "$(arithmetic -g "$tmp/tenth" -w 3 -m fixed | awk '{ printf "%s %s %.5e %.5e", $1, $2, $3, $4 }')" \
    "3 fixed 4.47035e-09 1.50000e-06"
printf '512\n-3\n' >"$tmp/two"
expect "beyond the limit a sum is the server's" "$(columns=worst,to_server,overflows arithmetic -g "$tmp/two" -w 5 -m fixed)" "5 fixed 0 1 0;"
expect "a limit of one's own, and what is then beyond 31 bits: five values and their sum" \
    "$(columns=bound,to_server,overflows arithmetic -g "$tmp/two" -w 5 -m fixed --limit 1000 --scale 10000000)" "5 fixed  0 6;"
expect "the sum alone: 2560 x 10^6 of 2147 x 10^6" "$(columns=overflows arithmetic -g "$tmp/two" -w 5 -m fixed --limit 1000)" "5 fixed 1;"
expect "powers of two are exact as floats" "$(arithmetic -g "$tmp/two" -w 1,4 -m native | awk '{ gsub(/ [^ ]*;/, ";") } 1')" "1 native 0;4 native 0;"
expect "value i of worker w is number w x values + i, around" "$(arithmetic -g "$tmp/two" -n 3 -w 2 -m native)" \
    "$(printf '512\n-3\n512\n-3\n512\n-3\n' >"$tmp/six"; arithmetic -g "$tmp/six" -n 3 -w 2 -m native)"
expect "n^2 2^e / (2 (2^31 - 1)) in blocks of one" "$(columns=bound arithmetic -g "$tmp/two" -w 4 -m block --block 1 | awk '{ printf "%.5e", $3 }')" \
    "$(awk 'BEGIN { printf "%.5e", 16 * 1024 / (2 * 2147483647) }')"
printf '\0\0\0\77\0\0\100\300' >"$tmp/raw.f32"
cp "$tmp/raw.f32" "$tmp/raw.bin"
printf '0.5\n-3\n' >"$tmp/raw"
expect "raw floats are the numbers that they are" "$(arithmetic -g "$tmp/raw.f32" -w 3 -m table16,block)" "$(arithmetic -g "$tmp/raw" -w 3 -m table16,block)"
for how in "-g normal" "-g log-uniform --seed 7" "-g log-uniform --single --size 100" "-g normal --any-order --block 7 --size 1e-30"; do
    "$ringlet" coll arithmetic -n 3000 -w 1,2,5,64 $how -f csv >"$tmp/rows" 2>"$tmp/err"
    expect "no sum is worse than its bound: $how" "$(awk -F, 'NR > 1 { n++; b += $4 != ""; wrong += $4 != "" && $3 > $4 } END { print n, b, wrong + 0 }' \
        "$tmp/rows")" "20 11 0"
    expect "the same again: $how" "$("$ringlet" coll arithmetic -n 3000 -w 1,2,5,64 $how -f csv | cmp - "$tmp/rows")" ""
done
expect "of any order, tables and floats only; of two, all" "$(columns=reproducible arithmetic -n 10 -w 2:3:+1)" \
    "2 block yes;2 fixed yes;2 table16 yes;2 table32 yes;2 native yes;3 block yes;3 fixed yes;3 table16 no;3 table32 no;3 native no;"
expect "tables of less than 448 and 496 KiB" "$(columns=table_bytes arithmetic -n 10 -w 2 -m table16,table32)" "2 table16 329726;2 table32 507900;"
expect "rows of one number of workers do not depend on the others" "$(arithmetic -n 500 -w 4)" "$(arithmetic -n 500 -w 4,16 | tr ';' '\n' | grep '^4' | tr '\n' ';')"
"$ringlet" coll arithmetic -n 500 -w 4 -g log-uniform --seed 5 >"$tmp/out" 2>"$tmp/err"
expect "the table names distribution and seed" "$(grep -c '^# gradients: log-uniform, size 0.01; 500 values, seed 5;' "$tmp/out")" 1
"$ringlet" coll arithmetic -g "$tmp/tenth" -w 3 -m fixed -f json >"$tmp/out" 2>"$tmp/err"
expect "JSON has the manifest, and the file's hash" "$(grep -c '"command": "coll arithmetic"\|"what": "gradients".*"hash": "[0-9a-f]\{16\}"\|^  "seed": 1' "$tmp/out")" 3
"$ringlet" coll arithmetic -w 64:127:+1 -n 6000 --any-order -m native,table16,table32 -f json -o "$tmp/part.json" 2>"$tmp/err" </dev/null &
job=$!
spent $job 300
kill -INT $job
wait $job
expect "Ctrl-C ends it, and says so" "$? $(grep -v '^ringlet: note: ' "$tmp/err")" "130 ringlet: interrupted: the results are partial"
expect "what was done is written and flagged" "$(grep -c '"partial": *true' "$tmp/part.json.partial") $([ "$(grep -c '"workers": 6[45],' "$tmp/part.json.partial")" -gt 0 ] && echo some)" "1 some"
printf '0.1\nnan\n' >"$tmp/nan"
printf '0.1\n1e39\n' >"$tmp/large"
printf '1\n2 3\n' >"$tmp/pair"
printf '%0100d\n' 1 >"$tmp/long"
printf '# nothing\n' >"$tmp/empty"
printf 'abcde' >"$tmp/five.f32"
printf '\0\0\0\0\0\0\200\177' >"$tmp/inf.f32"
refused "not a number, with its line" 3 "nan:2: expected a number, got 'nan'" coll arithmetic -g "$tmp/nan"
refused "a number that no float can be" 3 "large:2: 1e+39 does not fit into a 32-bit float" coll arithmetic -g "$tmp/large"
refused "two numbers in a line" 3 "pair:2: expected a number, got '2 3'" coll arithmetic -g "$tmp/pair"
refused "more digits than a number has" 3 "long:1: expected a number, got '000" coll arithmetic -g "$tmp/long"
refused "a file without numbers" 3 "empty: has no numbers" coll arithmetic -g "$tmp/empty"
refused "raw floats that are not whole" 3 "five.f32: 5 bytes are not a multiple of 4" coll arithmetic -g "$tmp/five.f32"
refused "an infinite raw float, with its place" 3 "inf.f32: value 1: expected a finite number, got inf" coll arithmetic -g "$tmp/inf.f32"
refused "raw floats under another name" 3 "expected one number a line; raw floats are named *.f32" coll arithmetic -g "$tmp/raw.bin"
refused "no such file" 5 "nosuch: cannot open" coll arithmetic -g "$tmp/nosuch"
refused "a mistyped distribution" 2 "'nrmal' is neither a word nor a file; did you mean 'normal'?" coll arithmetic -g nrmal
refused "more workers than can be added up" 2 "--workers: expected 1 to 4096, got 4097" coll arithmetic -w 2,4097
refused "no workers" 2 "--workers: expected 1 to 4096, got 0" coll arithmetic -w 0
refused "more values than fit" 2 "65536 values of 4096 workers are more than 134217728" coll arithmetic -w 4096
refused "an unknown mode" 2 "--modes: expected block, fixed, table16, table32 or native, got 'blok'" coll arithmetic -m fixed,blok
refused "a mode twice" 2 "--modes: 'block' is given twice" coll arithmetic -m block,block
refused "a scale of nothing" 2 "--scale: expected 1e-30 to 1e+30, got '0'" coll arithmetic --scale 0
refused "a block of nothing" 2 "--block: expected 1 to 134217728, got '0'" coll arithmetic --block 0

finish
