#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Accuracy of the shipped constants on measured machines behind NVSwitch. From 1 MiB on the median error is at most 4 % and
# the 90th percentile at most 12 %; below, 6 % and 15 %. Also on a machine that nothing was fitted to.
. "$(dirname "$0")/../../support/tap.sh"
measured=test/data/collectives/measured_collectives.csv
table=$("$ringlet" calibrate --check -f csv "$measured" 2>/dev/null)
# system, collective, size, median, p90: "within" if the row exists and both are within their limits
within() {
    printf '%s\n' "$table" | awk -F, -v s="$1" -v c="$2" -v z="$3" -v m="$4" -v p="$5" '
        $1 == s && $2 == c && $3 == z { found = 1; if ($5 <= m && $6 <= p) print "within"; else print $5, $6 }
        END { if (!found) print "no such row" }'
}
for system in "8x A100-SXM4-80GB NVSwitch" "8x H100-SXM NVSwitch" "GB300 4 GPU tray"; do
    expect "$system, from 1 MiB on" "$(within "$system" all ">= 1 MiB" 0.04 0.12)" within
    expect "$system, below" "$(within "$system" all "< 1 MiB" 0.06 0.15)" within
done
for ranks in 4 8; do # NVLS, but for 1 MiB
    table=$("$ringlet" calibrate --check -f csv -w ranks=$ranks -w collective=all_reduce -w dtype=half "$measured" 2>/dev/null)
    expect "NVLS, $ranks GPUs" "$(within "8x H100-SXM NVSwitch" all_reduce ">= 1 MiB" 0.03 0.06)" within
done
table=$("$ringlet" calibrate --check -f csv "$measured" 2>/dev/null)
expect "two and two A100 on bridges and PCIe, not fitted to" \
    "$(within "4x A100 pairwise NVLink (Azure NC96)" all_reduce ">= 1 MiB" 0.06 0.15)" within

# Clusters: nodes from data sheets and the class of their network. The goals are those of the file. With the rows of all sources
# where they are at hand, else with those that this repository may hold.
rows=184 nodes=../shared/data/collectives/measured_multinode.csv
[ -r "$nodes" ] || { rows=77 nodes=test/data/collectives/measured_multinode.csv; }
# class NAME MEDIAN_COLUMN MEDIAN P90   test,system,network,rows,median,p90 of three classes
class() {
    printf '%s\n' "$table" | awk -F, -v test="$1" -v k="$2" -v m="$3" -v p="$4" '
        $1 == test && $2 == "all" { found = 1; print ($k <= m && $(k + 1) <= p) ? "within" : $k " " $(k + 1) }
        END { if (!found) print "no such row" }'
}
table=$("$ringlet" calibrate --check --clusters tools/calibrate/clusters.json -f csv "$nodes" "$measured" 2>/dev/null)
printf '%s\n' "$table" | awk -F, '{ print "# " $2 ": " $5 ", " $6 "; " $8 ", " $9 "; " $11 ", " $12 }'
expect "clusters, below 1 MiB" "$(class "as shipped" 5 0.20 9)" within
expect "clusters, from 1 MiB on" "$(class "as shipped" 8 0.12 0.35)" within
expect "clusters, from 1 GiB on" "$(class "as shipped" 11 0.05 9)" within
expect "rows that count" "$(printf '%s\n' "$table" | awk -F, '$2 == "all" { print $4 + $7 }')" $rows

# The tuner's choices, visible as jumps in the measurements: in an all-reduce 2 A100 leave LL between 512 KiB and 1 MiB, 8 A100
# use LL128 from 4 to 16 MiB; 8 H100 use the switch (NVLS) from 2 MiB on, but not for one-byte elements.
chosen() { "$ringlet" coll -a auto "$@" --why 2>&1 >/dev/null | sed -n 's/.*: note: [^:]*: \([a-z]*, [-A-Za-z0-9]*\),.*/\1/p' | tr '\n' ';'; }
expect "2 A100" "$(chosen -t dgx-a100-8 -r 2 -b 512KiB,1MiB)" "ring, LL;ring, Simple;"
expect "8 A100" "$(chosen -t dgx-a100-8 -b 2MiB,4MiB,16MiB,32MiB)" "ring, LL;ring, LL128;ring, LL128;ring, Simple;"
expect "8 H100" "$(chosen -t hgx-h100-8 -b 1MiB,2MiB)" "ring, LL;nvls, NVLS;"
expect "8 H100, one byte" "$(chosen -t hgx-h100-8 --dtype int8 -b 1MiB,4MiB,64MiB)" "ring, LL;ring, LL128;ring, Simple;"
expect "all-to-all" "$(chosen -t hgx-h100-8 -c all_to_all -b 128KiB,256KiB)" "direct, P2P-LL;direct, P2P;"
finish
