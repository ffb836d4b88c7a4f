#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Sizes at which `auto` changes its choice, as --why prints them. Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"

# Prints the choices, each size rounded up to a power of two: "tree LL; tree LL128 from 256 KiB on (NCCL 2.30)".
choices() {
    "$ringlet" coll -a auto --why "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    sed -n 's/^ringlet: note: all_reduce, auto: //p' "$tmp/err" | awk '{
        for (i = 1; i <= NF; i++)
            if ($i == "from") {
                for (up = 1; up < $(i + 1); up *= 2) {}
                unit = $(i + 2)
                if (up == 1024) { up = 1; unit = unit == "KiB" ? "MiB" : "GiB" }
                $(i + 1) = up; $(i + 2) = unit
            }
        print
    }'
}

# Choice of NCCL 2.30.7 over InfiniBand, worked out by hand from its tables (test/collectives/tuner.c: choice_by_size).
# Powers of two are looked at there.
trees='tree LL; tree LL128 from 256 KiB on'
a100() { # NODES LL128 SIMPLE
    expect "DGX A100, $1 nodes" "$(choices -t "dgx-a100-8*rail:$1@200Gbps,2us" -b 8B,16GiB)" \
        "$trees; ring LL128 from $2 on; ring Simple from $3 on (NCCL 2.30)"
}
h100() { # NODES SWITCH RINGS
    expect "DGX H100, $1 nodes" "$(choices -t "hgx-h100-8*rail:$1@400Gbps,2us" -b 8B,16GiB)" \
        "$trees; nvls_tree from $2 on$3 (NCCL 2.30)"
}
a100 2 '16 MiB' '128 MiB'
a100 4 '32 MiB' '256 MiB'
a100 16 '256 MiB' '1 GiB'
h100 2 '4 MiB' ''
h100 4 '16 MiB' '; ring Simple from 1 GiB on'
h100 16 '32 MiB' '; ring Simple from 8 GiB on'
# One node: LL 15 us and 50.11 GB/s, LL128 40.6 us and 126.2 GB/s: 2.13 MB; Simple 56 us, 137.1 GB/s: 24.3 MB.
expect "DGX A100" "$(choices -t dgx-a100-8 -b 8B,16GiB)" \
    'ring LL; ring LL128 from 4 MiB on; ring Simple from 32 MiB on (constants of the endpoint)'
expect "not rounded" "$(grep -c 'ring LL128 from 2.03 MiB on; ring Simple from 23.16 MiB on' "$tmp/err")" 1
# RCCL: 23.2 us and 26.88 GB/s against 46.4 us and 336 GB/s of bus bandwidth: 387 kB.
expect "8 MI300X" "$(choices -t mi300x-8 -b 8B,16GiB)" \
    'ring LL; ring Simple from 512 KiB on (RCCL, constants of MI300X alone)'
expect "an endpoint without a tuner" "$(choices -t 'switch:8@50GB/s,1us' -b 8B,1GiB)" ''
expect "one size" "$(choices -t dgx-a100-8 -b 1MiB)" ''

# Candidates that cannot run stand in one line, not in one for each size.
"$ringlet" coll -a auto --why -t 'hgx-h100-8*rail:2@400Gbps,2us' -b 1KiB,1MiB,4MiB >"$tmp/out" 2>"$tmp/err"
expect "excluded candidates" "$(sed -n 's/.*out of the question: //p' "$tmp/err")" 'collnet (it needs a CollNet plug-in)'
expect "a line for each size" "$(grep -c 'all_reduce of' "$tmp/err")" 3

# Versions beside each other. 4 MiB on four nodes: NVLSTree waits 25 + 4 x 14 us in NCCL 2.22, 25 + 4 x 20.9 in 2.30, a
# tree with LL128 14 + 2 (7 x 1.25 + 2 x 8.5) = 65.5 us.
four='hgx-h100-8*rail:4@400Gbps,2us'
"$ringlet" coll -t "$four" -a auto=nccl-2.22,auto=nccl-2.30,auto=2.31,auto -b 4MiB -f csv --why >"$tmp/out" 2>"$tmp/err"
expect "versions" "$(cut -d, -f3 "$tmp/out" | tail -n +2 | tr '\n' ' ')" 'nvls_tree@nccl-2.22 tree@nccl-2.30 tree@2.31 tree '
expect "a version that is not published" "$(grep -c '4 MiB by NCCL 2.31, constants of 2.30.7' "$tmp/err")" 1
"$ringlet" coll -t "$four" -a auto=nccl-2.22,auto=nccl-2.30 -b 8B,4GiB --why >"$tmp/out" 2>"$tmp/err"
expect "choices of each" "$(grep -c 'auto: tree LL; .*(NCCL 2.[23][02])' "$tmp/err")" 2
for bad in auto=nccl-2.17 auto=2.40; do
    leaves_nothing 2 'the tuner is known from NCCL 2.18 to 2.31' coll -t "$four" -a "$bad" -b 1MiB
done
leaves_nothing 2 'expected a version such as 2.23' coll -t "$four" -a auto=newest -b 1MiB
leaves_nothing 3 'over several nodes' coll -t hgx-h100-8 -a auto=nccl-2.22 -b 1MiB
leaves_nothing 3 'over several nodes' coll -t "$four" -a auto=rccl -b 1MiB
"$ringlet" coll -t mi300x-8 -a auto=nccl-2.30,auto=rccl -b 1MiB -f csv >"$tmp/out" 2>"$tmp/err"
expect "a version that cannot choose drops out" "$(tail -n +2 "$tmp/out" | cut -d, -f3)" ring@rccl

# Logs of NCCL 2.7.8 and 2.10.3 list the channels of rings and trees, but not what the tuner chose. The measured 4 GB
# (125 GB/s in a node, 10.6 GB/s over four) are those of rings.
logs=../shared/data/nccl_logs
for log in n1_16gb_all_reduce_bench n1_32gb_all_reduce_bench all_reduce_bench-32gb-n4; do
    if [ ! -r "$logs/$log.txt.gz" ]; then
        skip "$log" "$logs/$log.txt.gz is not here"
        continue
    fi
    gzip -dc "$logs/$log.txt.gz" >"$tmp/machine.log"
    expect "$log" "$(choices -t "$tmp/machine.log" -b 8B,4GB)" 'ring (as the topology states)'
done
finish
