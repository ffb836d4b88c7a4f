#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Several jobs at once on one network: sharing of switch slots, jobs without slots, and recorded update
# counts for Libra. Expected times are closed forms: packets of 1024 + 82 B at 100 Gb/s
# (tau), links of d = 1 us, switches of s = 500 ns, C = 4096 packets (4 MiB):
#   window       RTT = 2 L tau + 2 L d + (2 L - 1) s for L levels; T = (C-1) tau + RTT if W tau >= RTT, else
#                T = floor((C-1)/W) RTT + ((C-1) mod W) tau + RTT; a static split gives each of J jobs W = S / J
#   server       T = (f + n (1 - f)) C tau + 3 tau + 4 d + 2 s, where f is the share that the switch aggregates
#   shared link  J jobs send J C packets over it: T = (J C - 1) tau + RTT
# Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"
tau=88480 C=4096 rtt=2676960
plain() { # RANKS: a switch that adds up
    echo "switch:$1@100Gbps,1us,in_network=reduce+multicast"
}
coll() { # TOPOLOGY ARGUMENTS...
    net=$1
    shift
    "$ringlet" coll -t "$net" -b 4MiB --set switch_latency=500ns "$@" 2>"$tmp/err" </dev/null
}
steps() { # the same without packet settings
    net=$1
    shift
    "$ringlet" coll -t "$net" -b 4MiB "$@" 2>"$tmp/err" </dev/null
}
field() { # NAME of CSV: the values of a column in one line
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i; next } { print $c }' | tr '\n' ' ' |
        sed 's/ $//'
}
each() { # FIELD of tenants[] in JSON: its values in one line
    grep -o '"tenants": \[.*\]' | grep -o "\"$1\": [^,}]*" | sed "s/^\"$1\": //; s/\"//g" | tr '\n' ' ' | sed 's/ $//'
}
sum() { # of numbers in one line
    tr ' ' '\n' | awk '{ s += $1 } END { printf "%d", s }'
}
window() { # W: the time of C packets through it
    if [ $(($1 * tau)) -ge $rtt ]; then
        echo $(((C - 1) * tau + rtt))
    else
        echo $(((C - 1) / $1 * rtt + (C - 1) % $1 * tau + rtt))
    fi
}
repeat() { # N WORD: N times, in one line
    yes "$2" | head -"$1" | tr '\n' ' ' | sed 's/ $//'
}
jain() { # TIME...: of the rates
    printf '%s\n' "$@" | awk '{ s += 1 / $1; q += 1 / $1 / $1 } END { printf "%.6f", s * s / NR / q }'
}
# The pool of slots is divided: each job has its own window.
for case in 2:64 2:32 4:32 8:32 8:8; do
    J=${case%:*} S=${case#*:}
    coll "$(plain 16)" -a switchml --tenants $J --set switch.slots=$S -f json >"$tmp/json"
    expect "$J jobs share $S slots: each has a window of $((S / J))" "$(each time_ps <"$tmp/json")" \
        "$(repeat $J "$(window $((S / J)))")"
    expect "and $((S / J)) slots, all of them together $S" "$(each slots <"$tmp/json") $(each slots <"$tmp/json" | sum)" \
        "$(repeat $J $((S / J))) $S"
    expect "which is fair" "$(grep -o '"fairness": [0-9.]*' "$tmp/json")" '"fairness": 1.000000'
done
expect "one tenant is the job alone" "$(coll "$(plain 16)" -a switchml --tenants 1 --set switch.slots=8 -f csv | field time_ps)" \
    "$(coll "$(plain 16)" -a switchml --set switch.slots=8 -f csv | field time_ps)"
expect "as many slots as all of them ask for, where nobody says how many" \
    "$(coll "$(plain 16)" -a switchml --tenants 4 -f json | each slots)" "256 256 256 256"
expect "ranks are those of one job" "$(coll "$(plain 16)" -a switchml --tenants 4 -f csv | field ranks)" 4
expect "and so is the bandwidth: bytes over time" "$(coll "$(plain 16)" -a switchml --tenants 2 -f csv | field algbw_GBps)" \
    "$(awk -v t="$(window 256)" 'BEGIN { printf "%.6f", 4194304 / t * 1000 }')"
expect "a group's ranks are interleaved, too" "$(coll "$(plain 16)" -g 0-5 -a switchml --tenants 3 -f csv | field ranks)" 2

# First come, first served: the first job has its window, the next one the rest.
coll "$(plain 16)" -a switchml --tenants 2 --set switch.slots=264 --set switch.sharing=first_come -f json >"$tmp/json"
expect "first come: 256 of 264 slots for the first, 8 for the second" "$(each slots <"$tmp/json")" "256 8"
expect "and so do they end" "$(each time_ps <"$tmp/json")" "$(window 256) $(window 8)"
expect "the row is the slower one's" "$(grep -o '"ranks": 8, "time_ps": [0-9]*' "$tmp/json")" "\"ranks\": 8, \"time_ps\": $(window 8)"
expect "Jain's index of their rates" "$(grep -o '"fairness": [0-9.]*' "$tmp/json")" \
    "\"fairness\": $(jain "$(window 256)" "$(window 8)")"
expect "a static split of as many is above the knee" \
    "$(coll "$(plain 16)" -a switchml --tenants 2 --set switch.slots=264 -f json | each time_ps)" "$(repeat 2 "$(window 132)")"
refused "first come: nothing is left for the second" 3 "tenant 1: switchml: sw0.0.0: no slots left" coll -t "$(plain 16)" -b 1MiB -a switchml \
    --tenants 2 --set switch.slots=256 --set switch.sharing=first_come
# 2 (n - 1) / n C packets leave each host of a ring; a chunk crosses the switch 2 (n - 1) times.
ring=$((2 * 7 * C / 8 * tau))
in_ring() { # TIMES in one line: each between the ring's bandwidth and that with the way of a chunk
    tr ' ' '\n' | awk -v a=$ring -v b=$((14 * rtt)) '{ ok += $1 >= a && $1 <= a + b } END { print ok }'
}
coll "$(plain 24)" -a switchml --tenants 3 --set switch.slots=256 --set switch.sharing=first_come --set switch.fallback=host_ring -f json >"$tmp/json"
expect "those without run as the fallback" "$(each ran <"$tmp/json")" "switchml host-ring host-ring"
expect "and say why" "$(each reason <"$tmp/json")" "null sw0.0.0: no slots left sw0.0.0: no slots left"
expect "in the time of a ring" "$(each time_ps <"$tmp/json" | cut -d' ' -f1) $(each time_ps <"$tmp/json" | cut -d' ' -f2- | in_ring)" \
    "$(window 256) 2"
expect "with no slots of their own" "$(each slots <"$tmp/json")" "256 null null"
expect "a protocol's own ring says it as well" \
    "$(coll "$(plain 24)" -a switchml --tenants 3 --set switch.slots=256 --set switch.sharing=first_come --set refused=ring -f json | each ran)" \
    "switchml host-ring host-ring"
coll "$(plain 16)" -a sharp --tenants 2 >"$tmp/table"
expect "a streaming lock is for one: the table has a line each, with the reason" \
    "$(grep -c '^all_reduce  4 MiB  sharp  *0 .* sharp  *-$' "$tmp/table") $(grep -c '^all_reduce  4 MiB  sharp  *1 .* host-ring  .*the streaming lock is taken$' "$tmp/table")" \
    "1 1"
expect "the fallback's own settings by its name" \
    "$(coll 'switch:8@100Gbps,1us' -a switchml --set switch.fallback=host-ring --set host_ring.payload=4KiB -f csv | field messages)" \
    $((14 * C / 4))
expect "one job alone says in a note what it ran as" \
    "$(coll 'switch:8@100Gbps,1us' -a switchml --set switch.fallback=host-ring -f csv >/dev/null; grep -c 'note: switchml of 4 MiB ran as host-ring: no switch' "$tmp/err")" 1
refused "a fallback that is refused as well" 3 "switch" coll -t 'switch:8@100Gbps,1us' -a switchml -b 1MiB --set switch.fallback=sharp --set sharp.refused=fail

# Hashed slots: a job without a slot uses its server. Each job has 8 workers and a server.
all=$((C * tau + 3 * tau + 5000000)) none=$((8 * C * tau + 3 * tau + 5000000))
ps() {
    coll "$(plain 18)" -a ps-switch --tenants 2 "$@" -f json >"$tmp/json"
}
ps --set switch.slots=512
expect "a window of slots each: all is added up" "$(each time_ps <"$tmp/json") $(each fallback_share <"$tmp/json")" "$all $all 0.000000 0.000000"
ps --set switch.slots=256 --set switch.sharing=first_come
expect "first come: the second goes to its server" "$(each time_ps <"$tmp/json") $(each fallback_share <"$tmp/json")" \
    "$all $none 0.000000 1.000000"
expect "and says why" "$(each reason <"$tmp/json")" "null no slots left"
expect "half of both together" "$(grep -o '"fallback_share": [0-9.]*, "peak' "$tmp/json")" '"fallback_share": 0.500000, "peak'
expect "bytes into servers: C packets, and n C" "$(each server_bytes <"$tmp/json")" "$((C * 1106)) $((8 * C * 1106))"
expect "Jain's index of these two" "$(grep -o '"fairness": [0-9.]*' "$tmp/json")" "\"fairness\": $(jain $all $none)"
# The aggregated share is random; in any case the server's port determines the time.
for sharing in static dynamic; do
    ps --set switch.slots=256 --set switch.sharing=$sharing
    each time_ps <"$tmp/json" | tr ' ' '\n' >"$tmp/t"
    each server_bytes <"$tmp/json" | tr ' ' '\n' >"$tmp/b"
    expect "$sharing, slots for half of them: the server's port sets the time" \
        "$(paste "$tmp/t" "$tmp/b" | awk '{ ok += $1 > $2 * 80 && $1 < $2 * 80 * 1.01 } END { print ok }')" 2
    expect "$sharing: some of it is added up, for both" \
        "$(each fallback_share <"$tmp/json" | tr ' ' '\n' | awk '{ ok += $1 > 0.05 && $1 < 0.95 } END { print ok }')" 2
    expect "$sharing: their slots" "$(each slots <"$tmp/json")" "$([ $sharing = static ] && echo 128 128 || echo 256 256)"
    expect "$sharing: neither is much slower" "$(grep -o '"fairness": [0-9.]*' "$tmp/json" | awk '{ print ($2 > 0.95) }')" 1
done
# Packets whose slot another job holds: none with slots of one's own, some with shared ones, and never more than all that collide.
share() { # SHARING   share of such packets, their number as a share of all collisions
    coll "$(plain 18)" -a atp -b 256KiB --tenants 2 --set switch.slots=64 --set switch.sharing=$1 -f json |
        awk -F'[:,]' '{ for (i = 1; i < NF; i++) {
                if ($i ~ /"collision_share"/) share = $(i + 1) + 0
                if ($i ~ /"collisions"/) all = $(i + 1)
                if ($i ~ /"collisions_with_other_jobs"/) other = $(i + 1) + 0 } }
            END { print (share == 0), (share > 0 && share < 1 && other > 0), (other < all) }'
}
expect "a job with slots of its own meets no other one" "$(share static)" "1 0 1"
expect "jobs that hash over the same slots meet" "$(share dynamic)" "0 1 1"
expect "one job has no such column" "$(coll "$(plain 9)" -a atp -b 256KiB -f csv | grep -c collision_share)" 0

# 2 to 8 jobs, slots for a third of their windows, loss: all jobs end, and the accounts balance.
for J in 2 3 5 8; do
    for sharing in static dynamic first_come; do
        coll "$(plain $((J * 4)))" -a atp,libra -b 256KiB --tenants $J --set switch.slots=$((J * 33)) --set switch.sharing=$sharing --set loss=0.002 \
            --set seed=$J --set libra.rto=200us -f json >"$tmp/json"
        expect "$J jobs of atp and of libra, $sharing, with losses: all end" "$? $(each time_ps <"$tmp/json" | tr ' ' '\n' | awk '$1 > 0' | wc -l | tr -d ' ')" "0 $((2 * J))"
        expect "what was sent again is the sum of theirs" "$(each retransmissions <"$tmp/json" | sum)" \
            "$(grep -o '"simulated_ranks": [0-9]*, "retransmissions": [0-9]*' "$tmp/json" | awk '{ s += $4 } END { print s }')"
        [ $sharing = dynamic ] || expect "slots are not given twice" \
            "$(grep '"algorithm": "atp"' "$tmp/json" | each slots | sum | awk -v s=$((J * 33)) '{ print ($1 <= s) }')" 1
    done
done

# Trees that share a link: four leaves of four hosts with one uplink each, which all jobs cross.
tree='fat-tree:16@100Gbps,1us,hosts_per_leaf=4,oversubscription=4,in_network=reduce+multicast'
rtt2=$((4 * tau + 4 * 1000000 + 3 * 500000))
for J in 1 2 4; do
    expect "$J jobs over one uplink a leaf: (J C - 1) tau + RTT" \
        "$(coll "$tree" -a switchml --tenants $J -f csv | field time_ps)" $(((J * C - 1) * tau + rtt2))
done
# A ring of 8: 14 steps of M / 8 at half the uplink's bandwidth, with latencies hidden or not.
steps "$tree" -n flow -a ring --tenants 2 -f json >"$tmp/json"
expect "two rings over it, each at half the bandwidth" \
    "$(each time_ps <"$tmp/json" | tr ' ' '\n' | awk -v a=$((14 * 524288 * 160)) '{ ok += $1 > a && $1 <= a + 14 * 4000000 } END { print ok }')" 2
expect "what ran says the algorithm, and slots are none of it" "$(each ran <"$tmp/json") $(each slots <"$tmp/json")" "ring ring null null"

# Several step algorithms at once. A ring of 8 ranks has the closed form 2 (n - 1) (M / (n B) + alpha).
for network in alpha-beta flow; do
    expect "rings that share no link, on $network" "$(steps "$(plain 32)" -n $network -a ring --tenants 4 -f json | each time_ps)" \
        "$(repeat 4 $((14 * (524288 * 80 + 2000000))))"
done
expect "every plan is checked" "$(steps "$(plain 16)" -a ring,halving_doubling,tree --tenants 2 --check -f csv | wc -l | tr -d ' ')" 4
expect "and all of them beside protocols" "$(coll "$(plain 16)" -b 64KiB -a all --tenants 2 -f csv | grep -c ',switchml,\|,ring,\|,sharp,\|,direct,')" 4
expect "messages of all" "$(steps "$(plain 16)" -a ring --tenants 2 -n alpha-beta -f csv | field messages)" $((2 * 14 * 8))
expect "all bytes are on the links" \
    "$(coll "$(plain 16)" -a switchml --tenants 2 --links --expand-links -f json | grep -o '"bytes": [0-9]*, "messages"' | sort | uniq -c | awk '{ print $1, $3 }')" \
    "$(coll "$(plain 16)" -a switchml --links --expand-links -f json | grep -o '"bytes": [0-9]*, "messages"' | sort | uniq -c | awk '{ print $1, $3 }')"
for n in 1 2 3; do
    "$ringlet" coll -t "$(plain 16)" -b 16KiB:1MiB:x4 -a switchml,ring,atp,sharp --tenants 4 --set switch.slots=64 -j $n >"$tmp/table$n" 2>"$tmp/err"
    "$ringlet" coll -t "$(plain 16)" -b 16KiB:1MiB:x4 -a switchml,ring,atp,sharp --tenants 4 --set switch.slots=64 -j $n -f json >"$tmp/json$n" 2>"$tmp/err"
done
expect "the same bytes for any number of threads" "$(cksum <"$tmp/table1") $(cksum <"$tmp/json1")" "$(cksum <"$tmp/table2") $(cksum <"$tmp/json2")"
expect "and for three" "$(cksum <"$tmp/table1") $(cksum <"$tmp/json1")" "$(cksum <"$tmp/table3") $(cksum <"$tmp/json3")"
expect "a line for each tenant of each row" "$(sed -n '/tenants at once/,$p' "$tmp/table1" | grep -c '^all_reduce')" 64
expect "no columns of tenants without them" "$(coll "$(plain 8)" -a switchml -f csv | grep -c 'tenant\|fairness')" 0
expect "list names what is set" "$("$ringlet" list settings -f csv | grep -c '^switch.sharing,\|^switch.fallback,')" 2

# Wrong arguments.
star=$(plain 8)
refused "tenants of a word" 2 "--tenants: expected 1 to 65535, got 'two'" coll -t "$star" -b 1MiB --tenants two
refused "no tenants" 2 "--tenants: expected 1 to" coll -t "$star" -b 1MiB --tenants 0
refused "a list of them" 2 "got '1,2'" coll -t "$star" -b 1MiB --tenants 1,2
refused "ranks that cannot be shared out" 2 "8 ranks do not divide into 3 equal jobs" coll -t "$star" -b 1MiB --tenants 3
refused "one rank each" 2 "8 ranks do not divide into 8 equal jobs of at least two ranks" coll -t "$star" -b 1MiB --tenants 8
refused "with a root" 2 "--root does not go with --tenants" coll -t "$star" -b 1MiB --tenants 2 -c broadcast --root 1
refused "with counts" 2 "--counts does not go with --tenants" coll -t "$star" -c all_gather --tenants 2 --counts "$tmp/none"
refused "of a pair" 2 "does not go with --collective send_recv" coll -t "$star" -b 1MiB --tenants 2 -c send_recv
refused "with folds verified" 2 "--verify-fold does not go with --tenants" coll -t "$star" -b 1MiB --tenants 2 --verify-fold
refused "another sharing" 2 "expected one of static, dynamic, first_come, got 'fair'" coll -t "$star" -b 1MiB -a switchml --set switch.sharing=fair
refused "another fallback" 2 "unknown protocol 'ring'; known: switchml, ps-switch, atp, sharp, host-ring, libra, hierarchical-ina" coll \
    -t "$star" -b 1MiB -a switchml --set switch.fallback=ring
refused "pooled slots are not shared dynamically" 3 "only hashed slots are shared dynamically" coll -t "$star" -b 1MiB -a switchml --tenants 2 \
    --set switch.sharing=dynamic
refused "too few ranks for a server in each" 3 "tenant 0: ps-switch: 2 servers among 2 members" coll -t "$star" -b 1MiB -a ps_switch --tenants 4 \
    --set servers=2

# The study has an axis of tenants.
study() { # TOPOLOGY ARGUMENTS...
    net=$1
    shift
    "$ringlet" sweep ina -t "$net" -b 4MiB --set switch_latency=500ns --loss 0 --straggler 0us "$@" 2>"$tmp/err" </dev/null
}
study "$(plain 16)" -a ring,switchml --set ack=0 --tenants 1,2,4 --workers 4 --slots 32 -f csv >"$tmp/study"
ring4=$((6 * (257 * 4178 * 80 + 2000000 + 500000))) # 256 packets of 4096 + 82 B a step
expect "32 slots for one, two and four jobs; the baseline runs as often" "$(field time_ps <"$tmp/study")" \
    "$ring4 $(window 32) $ring4 $(window 16) $ring4 $(window 8)"
expect "the gain is over as many at once" "$(field gain <"$tmp/study" | tr ' ' '\n' | awk '{ printf "%s%.6f", (NR > 1 ? " " : ""), $1 }')" \
    "$(awk -v r=$ring4 -v a="$(window 32)" -v b="$(window 16)" -v c="$(window 8)" 'BEGIN { printf "%.6f %.6f %.6f %.6f %.6f %.6f", 1, r / a, 1, r / b, 1, r / c }')"
expect "each row says how many" "$(field tenants <"$tmp/study") $(field fairness <"$tmp/study")" "1 1 2 2 4 4 $(repeat 6 1)"
study "$(plain 16)" -a ring,switchml --set ack=0 --tenants 1,2,4 --workers 4 --slots 32 --plot "$tmp/study.svg" --x tenants --y gain >"$tmp/table"
expect "the summary counts the points by them" "$(grep -c '^tenants  *[124]  *1 ' "$tmp/table")" 3
expect "and names them" "$(grep -c '^# most  *.*workers 4, tenants 1, .*: switchml against ring' "$tmp/table")" 1
expect "the plot has the gain over them" "$(grep -c '>tenants<' "$tmp/study.svg" | awk '{ print ($1 > 0) }')" 1
study "$(plain 16)" -a switchml --tenants 2 --workers 4 --slots 264 --set switch.sharing=first_come -f csv >"$tmp/study"
expect "first come in the study: the slower one, and how unfair" \
    "$(field time_ps <"$tmp/study") $(field fairness <"$tmp/study" | awk '{ printf "%.6f", $1 }')" \
    "$(window 8) $(jain "$(window 256)" "$(window 8)")"
study "$(plain 18)" -a ps-switch --tenants 2 --workers 8 --slots 512 -f csv >"$tmp/study"
expect "servers apart are ranks more of each" "$(field time_ps <"$tmp/study")" $all
study "$(plain 16)" -a switchml,ring --tenants 1,4 --workers 4,8 --slots 32 -f csv >"$tmp/study"
expect "combinations that need more ranks than there are fail with the reason" \
    "$? $(grep -c '4 tenants with 8 workers each exceed the 16 ranks' "$tmp/study") $(field time_ps <"$tmp/study" | wc -w | tr -d ' ')" "1 2 6"
study "$(plain 16)" -a switchml,ring,atp --tenants 1,2 --workers 4 --slots 32 --set loss=0.001 -f csv -j 1 >"$tmp/one"
study "$(plain 16)" -a switchml,ring,atp --tenants 1,2 --workers 4 --slots 32 --set loss=0.001 -f csv -j 3 >"$tmp/three"
expect "the same bytes for any number of threads in the study" "$(cksum <"$tmp/one")" "$(cksum <"$tmp/three")"
expect "a setting that an axis varies is that axis" "$(field loss <"$tmp/one" | tr ' ' '\n' | sort -u | tr '\n' ' ')" "loss=0.001 "

# Recorded update counts. 131072 parameters with equal counts: 65536 hot ones get half of the updates.
libra() {
    coll "$(plain 9)" -a libra --set memory=256KiB --set sampled=0.0001 "$@" -f json >"$tmp/json"
}
hot() {
    grep -o '"hot_share": [0-9.]*' "$tmp/json" | cut -d' ' -f2
}
yes 7 | head -131072 >"$tmp/flat"
libra --updates "$tmp/flat"
expect "counts that are all alike are a uniform skew: the hot share is K / N" "$(hot)" 0.500000
expect "the number of parameters follows the file" "$(grep -o '"hot_parameters": [0-9]*, "parameters": [0-9]*' "$tmp/json")" \
    '"hot_parameters": 65536, "parameters": 131072'
expect "in the time of a parameter server with that share" "$(grep -o '"time_ps": [0-9]*' "$tmp/json")" "\"time_ps\": $(((C + 8 * C) / 2 * tau + 3 * tau + 5000000))"
expect "the manifest has the file" "$(grep -c '"what": "updates", "path": "'"$tmp"'/flat", "hash"' "$tmp/json")" 1
libra --set parameters=131072 --set zipf=0
expect "and so does Zipf's law with exponent 0" "$(hot)" 0.500000
# 1000 updates of one parameter, 1 of each of 1000 others: 256 hot ones have 1000 + 255 of 2000, whatever the rank of the one.
{
    yes 1 | head -700
    echo 1000
    yes 1 | head -300
} >"$tmp/steep"
coll "$(plain 9)" -a libra --updates "$tmp/steep" --set memory=1KiB --set sampled=0.001 -f json >"$tmp/json"
expect "one parameter has half of all updates" "$(hot)" 0.627500
awk 'BEGIN { print "# id, count" } { print 5 * NR ", " $1 " # of five" } END { print "1, 0" }' "$tmp/steep" >"$tmp/named"
coll "$(plain 9)" -a libra --updates "$tmp/named" --set memory=1KiB --set sampled=0.001 -f json >"$tmp/json"
expect "ids, comments and those that were never updated" "$(hot) $(grep -o '"parameters": [0-9]*' "$tmp/json")" '0.627500 "parameters": 1001'
coll "$(plain 18)" -a libra --tenants 2 --updates "$tmp/flat" --set memory=256KiB --set sampled=0.0001 -f json >"$tmp/json"
expect "two jobs of the same counts" "$(each time_ps <"$tmp/json")" "$(repeat 2 $(((C + 8 * C) / 2 * tau + 3 * tau + 5000000)))"
study "$(plain 9)" --workers 8 --tenants 1 --slots 256 -a libra,ring --updates "$tmp/flat" --set memory=256KiB --set sampled=0.0001 -f csv >"$tmp/study"
expect "and in the study, beside what knows no updates" "$(field time_ps <"$tmp/study" | cut -d' ' -f1)" $(((C + 8 * C) / 2 * tau + 3 * tau + 5000000))
printf '3\n4\nfive\n' >"$tmp/broken"
: >"$tmp/empty"
printf '0\n0\n' >"$tmp/zeros"
printf '1 2 3\n' >"$tmp/three"
star=$(plain 9)
refused "a count that is none, at its line" 3 "$tmp/broken:3: expected \"count\" or \"id count\"" coll -t "$star" -b 1MiB -a libra --updates "$tmp/broken"
refused "three numbers in a line" 3 "$tmp/three:1: expected" coll -t "$star" -b 1MiB -a libra --updates "$tmp/three"
refused "an empty file" 3 "$tmp/empty: no parameter has updates" coll -t "$star" -b 1MiB -a libra --updates "$tmp/empty"
refused "nothing but zeros" 3 "$tmp/zeros: no parameter has updates" coll -t "$star" -b 1MiB -a libra --updates "$tmp/zeros"
refused "a file that is not there" 5 "$tmp/none" coll -t "$star" -b 1MiB -a libra --updates "$tmp/none"
refused "counts without libra" 2 "--updates: is for libra" coll -t "$star" -b 1MiB -a switchml --updates "$tmp/flat"
refused "a number of parameters besides" 2 "does not go with --set parameters=5" coll -t "$star" -b 1MiB -a libra --updates "$tmp/flat" --set parameters=5
refused "an exponent besides" 2 "does not go with --set libra.zipf=1" coll -t "$star" -b 1MiB -a libra --updates "$tmp/flat" --set libra.zipf=1

finish
