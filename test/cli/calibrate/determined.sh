#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What the rows determine, and what they do not: constants that stay and are named, intervals, advice, halves, groups left
# out. Measurements are the simulator's own with known constants, or closed forms. Speaks TAP.
. "$(dirname "$0")/../../support/tap.sh"
plain_only "what runs determine"
# Without NLopt there is no fit; calibrate.sh tests what is said then.
printf 'collective,ranks,bytes,time_us\nall_reduce,2,8,1\n' >"$tmp/one.csv"
if "$ringlet" calibrate -t dgx-a100-8 "$tmp/one.csv" 2>&1 | grep -q 'built without'; then
    skip "fits" "built without NLopt"
    finish
fi
# column NAME KEY FILE   the value of a key of one constant in a report in JSON
column() { tr -d '\n' <"$3" | sed 's/{"constant"/\n&/g; s/{ *"constant"/\n{"constant"/g' | sed -n 's|^{"constant": *"'"$1"'".*"'"$2"'": *"\{0,1\}\([^",}]*\).*|\1|p' | head -1; }
# close NAME GOT EXPECTED PERCENT   numbers, whatever follows them
close() {
    awk -v g="$2" -v e="$3" -v p="$4" 'BEGIN { g += 0; exit !(g > e * (1 - p / 100) && g < e * (1 + p / 100)) }'
    verdict "$1" "$([ $? = 0 ] || echo "got '$2', expected $3 within $4 %")"
}

# All-reduces on eight GPUs whose launch and message of LL are others than in the file: they are found, and the constants of
# all-to-all stay as they are, byte for byte.
for ranks in 8 4 2; do
    "$ringlet" coll -t dgx-a100-8 -c all_reduce -a auto -r $ranks -b 1KiB:1GiB:x2 -s launch=20us -s LL.message=2us -f csv 2>/dev/null
done | awk 'NR == 1 || !/^collective/' >"$tmp/ar.csv"
"$ringlet" calibrate -t dgx-a100-8 --system ar "$tmp/ar.csv" --max-evaluations 3000 -o "$tmp/ar.json" -f json >"$tmp/out" 2>"$tmp/err"
expect "a fit to all-reduces" $? 0
close "recovers the launch" "$(column launch after "$tmp/out")" 20 2
close "and the message of LL" "$(column protocols.LL.message after "$tmp/out")" 2 4
p2p() { sed -n '/"P2P/p' "$1"; }
p2p topologies/dgx-a100-8.json >"$tmp/want"
p2p "$tmp/ar.json" | cmp -s - "$tmp/want"
expect "the constants of all-to-all are those of the file" $? 0
expect "and named as such" "$(column protocols.P2P.message state "$tmp/out")-$(column protocols.P2P.message determined_by "$tmp/out")-$(column protocols.P2P.message rows "$tmp/out")" "untouched-no row: kept-0"
expect "they are not in the record" "$(grep -c '"constants":.*P2P' "$tmp/ar.json")" 0
expect "a constant names its rows" "$(column launch determined_by "$tmp/out" | sed 's/^[0-9]* rows/N rows/')-$(column launch least_bytes "$tmp/out")" "N rows-1024"

head='system,collective,n_ranks,size_bytes,time_us'
. test/support/ring_times.sh
machine() { # NAME ENDPOINT BANDWIDTH REST
    printf '{\n  "name": "%s",\n  "endpoint": {%s},\n  "dims": [\n    {"shape": "switch", "size": 8, "bandwidth": "%s", "latency": "10ns"}\n  ]%s\n}\n' "$1" "$2" "$3" "${4:-}"
}
{ echo $head && ring synthetic 7.5 1.3 220 0 2 4 8; } >"$tmp/ring.csv"
{ echo $head && ring noisy 7.5 1.3 220 0.1 2 4 8; } >"$tmp/noisy.csv"
machine m '"launch": "5us", "message": "500ns"' 300GB/s >"$tmp/m.json"

# The latency of the links does to every row what the message does: one of the two is fitted.
"$ringlet" calibrate -t "$tmp/m.json" -a ring --fit launch,message,dims.0.bandwidth,dims.0.latency "$tmp/ring.csv" -f json -o "$tmp/d.json" >"$tmp/out" 2>"$tmp/err"
expect "two constants of one effect" "$?-$(column dims.0.latency state "$tmp/out")-$(column dims.0.latency determined_by "$tmp/out")" "0-degenerate-same effect as message: kept"
expect "the other stays as it is" "$(grep -c '"latency": "10ns"' "$tmp/d.json")" 1
# Two links of 10 ns lie between the sender and the receiver.
close "the first carries both" "$(column message after "$tmp/out")" 1280 1

# The interval holds the truth; with twice the noise it is about twice as wide.
"$ringlet" calibrate -t "$tmp/m.json" -a ring --fit launch,message,dims.0.bandwidth --hold-out none "$tmp/noisy.csv" -f json >"$tmp/out" 2>"$tmp/err"
low=$(column dims.0.bandwidth low "$tmp/out") high=$(column dims.0.bandwidth high "$tmp/out")
expect "an interval" "$(awk -v l="$low" -v h="$high" 'BEGIN { l += 0; h += 0; print (l > 180 && l < 220 && h > 220 && h < 260) }')" 1
{ echo $head && ring noisy 7.5 1.3 220 0.2 2 4 8; } >"$tmp/noisier.csv"
"$ringlet" calibrate -t "$tmp/m.json" -a ring --fit launch,message,dims.0.bandwidth --hold-out none "$tmp/noisier.csv" -f json >"$tmp/out" 2>"$tmp/err"
expect "wider with more noise" "$(awk -v l="$low" -v h="$high" -v l2="$(column dims.0.bandwidth low "$tmp/out")" -v h2="$(column dims.0.bandwidth high "$tmp/out")" \
    'BEGIN { r = log(h2 / l2) / log((h + 0) / (l + 0)); print (r > 1.5 && r < 3) }')" 1

# A wrong bandwidth that is not free: the advice names it. With it free, nothing is left to say.
"$ringlet" calibrate -t "$tmp/m.json" -a ring --fit launch,message "$tmp/ring.csv" -f json >"$tmp/out" 2>"$tmp/err"
expect "advice" "$?-$(sed 's/[0-9.]* %/N %/g' "$tmp/err")-$(grep -c '"free": *"dims.0.bandwidth"' "$tmp/out")" \
    "0-ringlet: note: N % are left from 1 MiB on (median, fitted rows); with dims.0.bandwidth free, N %: --fit launch,message,dims.0.bandwidth-1"
reach=$(sed -n 's/.*free, \([0-9.]*\) %.*/\1/p' "$tmp/err")
expect "with what it would reach" "$(awk -v r="$reach" 'BEGIN { print (r < 1) }')" 1
"$ringlet" calibrate -t "$tmp/m.json" -a ring --fit launch,message,dims.0.bandwidth "$tmp/ring.csv" >"$tmp/out" 2>"$tmp/err"
expect "no advice where little is left" "$?-$(wc -c <"$tmp/err" | tr -d ' ')" 0-0

# Half of the sizes: the form predicts the others exactly, interpolation bends where latency meets bandwidth.
"$ringlet" calibrate -t "$tmp/m.json" -a ring --fit launch,message,dims.0.bandwidth --halves "$tmp/ring.csv" -f csv >"$tmp/out" 2>"$tmp/err"
expect "halves" "$?-$(awk -F, '$9 == "held out" && $7 < 0.001 && $13 > 0.002 { n++ } END { print n + 0 }' "$tmp/out")-$(head -1 "$tmp/out" | grep -c 'median_interpolated,p90_interpolated$')" 0-2-1
"$ringlet" calibrate -t "$tmp/m.json" -a ring --fit launch,message,dims.0.bandwidth "$tmp/ring.csv" -o "$tmp/a.json" >/dev/null 2>&1
awk -F, -v OFS=, 'NR > 1 && int(log($4 / 1024) / log(2) + 0.5) % 2 { $5 *= 3 } 1' "$tmp/ring.csv" >"$tmp/spoilt.csv"
"$ringlet" calibrate -t "$tmp/m.json" -a ring --fit launch,message,dims.0.bandwidth "$tmp/spoilt.csv" -o "$tmp/b.json" >/dev/null 2>&1
found() { grep -e '"launch":' -e '"bandwidth":' "$1"; }
found "$tmp/a.json" >"$tmp/want"
found "$tmp/b.json" | cmp -s - "$tmp/want"
expect "held-out rows do not influence the constants" $? 0

# A family: message is a fixed number of bytes (2 us at 100 GB/s), launch is the measuring program's.
mkdir "$tmp/topologies"
family() { # NAME BANDWIDTH NODES
    machine $1 '"launch": "5us", "message": "1us"' $2GB/s ", \"_calibration\": {\"systems\": [\"$1\"], \"family\": \"f\", \"site\": \"$3\", \"harness\": \"launch\", \"scales\": {\"message\": \"1/dims.0.bandwidth\"}}" |
        sed 's/"10ns"/"0ns"/'
}
family A 100 east >"$tmp/topologies/a.json"
family B 200 east >"$tmp/topologies/b.json"
family C 400 west >"$tmp/topologies/c.json"
{ echo $head && ring A 9 2 100 0 4 8 && ring B 6 1 200 0 4 8 && ring C 3 0.5 400 0 4 8; } >"$tmp/family.csv"
out_of() { (cd "$tmp" && "$ringlet" calibrate -a ring --fit launch,message family.csv -f csv "$@") >"$tmp/out" 2>"$tmp/err"; }
out_of --leave-one-out f
expect "scales and harness: each is predicted" "$?-$(awk -F, '$9 == "held out" && $7 < 0.01 { n++ } END { print n + 0 }' "$tmp/out")-$(awk -F, 'NR > 1 { n += $4 } END { print n }' "$tmp/out")" 0-6-123
out_of --leave-one-out f --harness shared
expect "a shared harness does not fit" "$?-$(awk -F, '$9 == "held out" && $7 > 0.1 { n++ } END { print (n >= 3) }' "$tmp/out")" 0-1
out_of --leave-one-out f --by site
expect "a site left out" "$?-$(grep -c '^east,' "$tmp/out")-$(grep -c '^west,' "$tmp/out")-$(awk -F, '$9 == "held out" && $7 < 0.01 { n++ } END { print n + 0 }' "$tmp/out")" 0-2-2-4
(cd "$tmp" && "$ringlet" calibrate --check -a ring family.csv -f csv --by family) >"$tmp/out" 2>"$tmp/err"
expect "a check by family" "$?-$(awk -F, '$1 == "f" { n += $4 } END { print n }' "$tmp/out")" 0-126
sed 's|"harness": "launch"|"harness": "message"|' "$tmp/topologies/b.json" >"$tmp/b" && mv "$tmp/b" "$tmp/topologies/b.json"
out_of --leave-one-out f
expect "machines that contradict each other" "$?-$(grep -c 'b.json: its scales and harness differ from those of' "$tmp/err")" 3-1

# Output of nccl-tests of two nodes in two files: the hosts say that ranks 4 to 7 are elsewhere.
cat >"$tmp/two.json" <<'END'
{"dims": [{"shape": "switch", "size": 4, "bandwidth": "100GB/s", "latency": "0ns"}, {"shape": "switch", "size": 2, "bandwidth": "10GB/s", "latency": "0ns"}]}
END
nccl() { # HOST_OF_THE_SECOND RANKS TIME
    echo "# Collective test starting: sendrecv_perf"
    for r in 0 1; do echo "#  Rank  $r Group  0 Pid 1$r on $([ $r = 0 ] && echo node1 || echo "$1") device  0 [0x0f] NVIDIA H100"; done
    echo "#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong"
    echo "     1000000        250000     float    none      -1   $2    1.00    1.00      0   $2    1.00    1.00      0"
}
nccl node1 10 >"$tmp/one.txt"
nccl node2 100 >"$tmp/two.txt"
"$ringlet" calibrate --check -t "$tmp/two.json" --system s "$tmp/one.txt" "$tmp/two.txt" -f csv --by nodes >"$tmp/out" 2>"$tmp/err"
expect "nccl-tests on one and two nodes" "$?-$(awk -F, 'NR > 1 { print $1, $4, $7 }' "$tmp/out" | tr '\n' ';')" "0-1 node 2 0.000000;2 nodes 2 0.000000;"
printf 'collective,ranks,nodes,bytes,time_us\nall_reduce,16,4,8,1\nall_reduce,8,2,8,1\n' >"$tmp/four.csv"
"$ringlet" calibrate --check -t "$tmp/two.json" "$tmp/four.csv" >"$tmp/out" 2>"$tmp/err"
expect "more nodes than the topology has" "$?-$(grep -c '1 row left out: .*; the first has 16 ranks on 4 nodes$' "$tmp/err")" 0-1

# Nothing to determine, and uses that exclude each other.
"$ringlet" calibrate -t dgx-a100-8 --system ar --fit protocols.P2P.message "$tmp/ar.csv" >"$tmp/out" 2>"$tmp/err"
expect "no row depends on the constant" "$?-$(cat "$tmp/err")" "3-ringlet: --fit: no measured row depends on protocols.P2P.message"
"$ringlet" calibrate --check -t dgx-a100-8 --halves "$tmp/ar.csv" >"$tmp/out" 2>"$tmp/err"
expect "halves of a check" "$?-$(grep -c 'halves: is for a fit' "$tmp/err")" 2-1
finish
