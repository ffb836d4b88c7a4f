#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Racks and tori that ringlet brings: the figures of their data sheets, measured and closed-form collectives, and nodes
# times networks. Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"

fact() { # NAME KEY EXPECTED TOPOLOGY: a figure of `topo -f json`
    "$ringlet" topo "$4" -f json >"$tmp/out" 2>"$tmp/err"
    expect "$4: $1" "$(grep -o "\"$2\": *[0-9]*" "$tmp/out" | sed 's/.*: *//')" "$3"
}
between() { # NAME COLUMN LEAST MOST ARGUMENTS: a figure of the only row
    name=$1 column=$2 least=$3 most=$4
    shift 4
    "$ringlet" coll "$@" -f csv >"$tmp/out" 2>"$tmp/err" </dev/null
    verdict "$name" "$(awk -F, -v c="$column" -v a="$least" -v b="$most" '
        NR == 1 { for (i = 1; i <= NF; i++) if ($i == c) k = i }
        NR == 2 { rows++; if (!k || $k < a || $k > b) print c " is " $k ", expected " a " to " b }
        END { if (rows != 1) print "no row" }' "$tmp/out")"
}

# NVIDIA data sheet: 1.8 TB/s a GPU, both ways together; 72 of them are the 130 TB/s of a rack.
for rack in gb200-nvl72 gb300-nvl72; do
    fact "72 GPUs" accelerators 72 $rack
    fact "0.9 TB/s a GPU and direction" min_egress_Bps 900000000000 $rack
done
# Google's documentation: 1200 GB/s both ways of a v5p, 3200 Gb/s of a v6e; the pod's bisection is 3.2 TB/s.
fact "600 GB/s a chip and direction" min_egress_Bps 600000000000 tpu-v5p-8x8x8
# 8 x 8 rows are cut in two places: 128 links of 100 GB/s.
fact "its bisection" bisection_Bps 12800000000000 tpu-v5p-8x8x8
fact "400 GB/s a chip and direction" min_egress_Bps 400000000000 tpu-v6e-16x16
fact "the published bisection" bisection_Bps 3200000000000 tpu-v6e-16x16
fact "seven links of 48 GB/s" min_egress_Bps 336000000000 mi300x-8

# A rack of GB200, 8 GiB, NCCL 2.26.2: 834.6 GB/s (github.com/coreweave/nccl-tests); NVLS, to which wire is fitted.
between "all-reduce on a rack" busbw_GBps 818 851 -t gb200-nvl72 -c all_reduce -b 8GiB -a auto
expect "by NVLS" "$(cut -d, -f3 "$tmp/out" | tail -1)" nvls
# Rings in all dimensions use every link all the time: bus bandwidth 600 and 400 GB/s at most.
between "all-reduce on a 3-D torus" busbw_GBps 570 600 -t tpu-v5p-8x8x8 -c all_reduce -b 256MiB -a auto
between "reduce-scatter on a 2-D torus" busbw_GBps 380 400 -t tpu-v6e-16x16 -c reduce_scatter -b 256MiB -a auto
# Direct messages use all seven links: 7 x 48 = 336 GB/s.
between "all-reduce of eight MI300X" busbw_GBps 334 336 -t mi300x-8 -c all_reduce -b 1GiB -a direct

# RCCL's tuner on them: rings with LL take 12 + 14 x 0.8 us for nothing, and Simple the seven links.
between "auto of eight MI300X" busbw_GBps 330 336 -t mi300x-8 -c all_reduce -b 1GiB -a auto
expect "by rings" "$(cut -d, -f3 "$tmp/out" | tail -1)" ring
between "auto of 8 B" time_ps 23.1e6 23.3e6 -t mi300x-8 -c all_reduce -b 8B -a auto
# Two of them with NICs of 50 GB/s, 94.5 % of which are used: trees, then from 512 MiB on rings.
between "two boxes" busbw_GBps 360 378 -t 'mi300x-8*rail:2@400Gbps,2us' -c all_reduce -b 1GiB -a auto
expect "by rings, too" "$(cut -d, -f3 "$tmp/out" | tail -1)" ring
between "two boxes, 256 MiB" busbw_GBps 1 378 -t 'mi300x-8*rail:2@400Gbps,2us' -c all_reduce -b 256MiB -a auto
expect "by trees" "$(cut -d, -f3 "$tmp/out" | tail -1)" tree

# A node times a network: at most the NICs' 8 x 50 GB/s, or 900 GB/s of NVLink, and not the one NIC of a single ring.
between "pod of DGX H100" busbw_GBps 200 400 -t 'hgx-h100-8*rail:32@400Gbps,2us' -c all_reduce -b 1GiB -a ring
expect "has 256 GPUs" "$(cut -d, -f4 "$tmp/out" | tail -1)" 256
between "racks on rails" busbw_GBps 200 900 -t 'gb300-nvl72*rail:2@800Gbps,2us' -c all_reduce -b 1GiB -a ring
expect "have 144 GPUs" "$(cut -d, -f4 "$tmp/out" | tail -1)" 144

# COMHPC 2016, all-reduce over 128 hosts on EDR: 6.01 and 46.93 us between hosts for 8 B and 4096 B, 2.83 and 14.48 us
# with SHARP. Four constants are fitted to these four figures, so this only shows that they are what is claimed.
hosts='-t edr-sharp-128 -c all_reduce --network packet --set switch_latency=90ns'
sharp="$hosts --set sharp.generation=switch-ib2"
between "8 B between hosts" time_ps 5.8e6 6.2e6 $hosts -b 8B -a recursive_doubling
between "4096 B between hosts" time_ps 46.4e6 47.4e6 $hosts -b 4096B -a recursive_doubling
between "8 B with SHARP" time_ps 2.77e6 2.89e6 $sharp -b 8B -a sharp
between "4096 B with SHARP, in segments" time_ps 14.3e6 14.7e6 $sharp -b 4096B -a sharp
# A larger message of a switch that does not stream: 64 KiB are 256 payloads, 86 rounds of a little over 2.3 us.
between "64 KiB in segments" time_ps 196e6 200e6 $sharp -b 64KiB -a sharp
"$ringlet" coll $hosts -b 8B -a sharp --set sharp.generation=edr >"$tmp/out" 2>"$tmp/err"
expect "an unknown generation" "$?-$(grep -c 'quantum' "$tmp/err")" 2-1
"$ringlet" coll $sharp -b 8B -a sharp --set sharp.mode=sat --set sharp.refused=fail >"$tmp/out" 2>"$tmp/err"
expect "a stream that the generation lacks" "$?-$(grep -c 'does not stream' "$tmp/err")" 3-1

# A figure that was not computed is no 0.
large='fat-tree:131072@50GB/s,500ns,levels=3,hosts_per_leaf=64'
expect "the bisection of a very large network" "$("$ringlet" topo "$large" | sed -n 's/^bisection *//p')" "not computed, the network is too large"
fact "no bisection in JSON" bisection_Bps "" "$large"
fact "a half of 64 accelerators" bisection_Bps 1600000000000 switch:64@50GB/s,500ns

finish
