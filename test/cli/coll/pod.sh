#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# One machine in several descriptions takes one time (to 1 %), in every algorithm: as a product, as rail-optimised, as a graph
# written by hand or exported, with a node read from NCCL's XML. Rings over nodes fill the NICs.
. "$(dirname "$0")/../../support/tap.sh"
plain_only "one machine in several descriptions"
cd "$tmp" || exit 1
sizes=1KiB,1MiB,1GiB

same() { # name, collective, algorithms, sizes, descriptions...; $tmp/first keeps the first table
    name=$1 what=$2 by=$3 bytes=$4
    shift 4
    rm -f first
    complaint=""
    for machine; do
        "$ringlet" coll -t "$machine" -c "$what" -a "$by" -b "$bytes" -f csv >table 2>err || complaint="$machine: $(head -1 err)"
        grep -v '^#' table | cut -d, -f1-3,5 >times
        [ -s first ] || cp times first
        awk -F, -v machine="$machine" '
            FNR == NR { key[FNR] = $1 "," $2 "," $3; time[FNR] = $4; rows = FNR; next }
            FNR > 1 && (key[FNR] != $1 "," $2 "," $3 || $4 > 1.01 * time[FNR] || time[FNR] > 1.01 * $4) {
                print machine ": " $0 " instead of " key[FNR] "," time[FNR]
            }
            END { if (FNR != rows) print machine ": " FNR " rows" }' first times >apart
        complaint=$complaint$(head -4 apart)
    done
    [ "$(wc -l <first)" -gt 1 ] || complaint="$complaint; no row"
    verdict "$name" "$complaint"
}
busbw() { # the machine; its ring of 8 GiB, GB/s
    "$ringlet" coll -t "$1" -c all_reduce -a ring -b 8GiB -f csv 2>err | awk -F, '$3 == "ring" { print $7 }'
}
at_least() { # name, value, least
    expect "$1 ($2 of $3 GB/s)" "$(awk -v a="$2" -v b="$3" 'BEGIN { print (a >= b ? "enough" : a) }')" enough
}

# Eight accelerators at an NVSwitch, each with a port of its own to the leaf of its rail.
by_hand() { # nodes
    awk -v N="$1" 'BEGIN {
        printf "{\"node_size\": 8, \"pxn\": \"on\", \"nodes\": ["
        for (a = 0; a < 8 * N; a++) printf "{\"id\": \"gpu %d\", \"kind\": \"accelerator\", \"forwards\": true},\n", a
        printf "{\"id\": \"nvswitch \", \"kind\": \"switch\", \"count\": %d}, {\"id\": \"leaf \", \"kind\": \"switch\", \"count\": 8}],\n", N
        printf "\"links\": ["
        for (a = 0; a < 8 * N; a++) {
            printf "{\"src\": \"gpu %d\", \"dst\": \"nvswitch %d\", \"bandwidth\": \"450GB/s\", \"latency\": \"500ns\"},\n", a, int(a / 8)
            printf "{\"src\": \"gpu %d\", \"dst\": \"leaf %d\", \"bandwidth\": \"50GB/s\", \"latency\": \"500ns\"}%s\n", a, a % 8, a < 8 * N - 1 ? "," : "]}"
        }
    }'
}
rails() { echo "switch:8@450GB/s,500ns*rail:$1@50GB/s,500ns"; }
optimised() { # nodes
    echo "{\"dims\": [{\"shape\": \"rail-optimised\", \"size\": $(($1 * 8)), \"bandwidth\": \"50GB/s\", \"latency\": \"500ns\",
        \"gpus_per_node\": 8, \"nvlink_bandwidth\": \"450GB/s\", \"pxn\": \"on\"}]}"
}
for n in 4 64; do
    by_hand $n >hand$n.json
    optimised $n >optimised$n.json
    "$ringlet" topo export "$(rails $n)" -o exported$n.json
    "$ringlet" topo export "$(rails $n)" --as graphml -o exported$n.graphml
done
all=ring,tree,hierarchical,torus,direct,halving_doubling,recursive_doubling,bruck,pairwise,ps,rings,tacos,auto
same "4 nodes, every algorithm: all_reduce" all_reduce $all $sizes \
    "$(rails 4)" ./optimised4.json ./hand4.json ./exported4.json ./exported4.graphml
for c in all_gather reduce_scatter broadcast reduce gather scatter barrier; do
    same "4 nodes, every algorithm: $c" $c $all 1KiB,1MiB "$(rails 4)" ./hand4.json
done
same "4 nodes, every algorithm: all_to_all" all_to_all $all,two_level,rail $sizes \
    "$(rails 4)" ./optimised4.json ./hand4.json ./exported4.json ./exported4.graphml
same "64 nodes, all_reduce" all_reduce ring,hierarchical,direct,halving_doubling,recursive_doubling,auto $sizes \
    "$(rails 64)" ./optimised64.json ./hand64.json ./exported64.json
same "64 nodes, tree" all_reduce tree 1KiB,1MiB "$(rails 64)" ./optimised64.json ./hand64.json ./exported64.json
same "64 nodes, tree, 1 GiB" all_reduce tree 1GiB "$(rails 64)" ./hand64.json
same "64 nodes, all_to_all" all_to_all direct,two_level,rail,bruck,pairwise,auto 1KiB,1MiB \
    "$(rails 64)" ./optimised64.json ./hand64.json ./exported64.json

# NCCL's description of a node: 18 NVLinks of 20.6 GB/s, PCIe of 48 GB/s between an accelerator and its NIC. A link
# to the network takes 2 us; PCIe ends 200 ns each. As a product: 370.8 GB/s inside, 2.4 us a link outside.
node_xml() {
    echo '<system version="2">'
    for c in 0 1; do
        echo "<cpu host_hash='0x1' numaid='$c' arch='x86_64' vendor='GenuineIntel' familyid='6' modelid='143'>"
        for i in 1 2 3 4; do
            b=$((c * 4 + i)) pcie="link_speed='32.0 GT/s PCIe' link_width='16'"
            echo "<pci busid='0000:${b}0:00.0' class='0x060400' $pcie>"
            echo "<pci busid='0000:${b}1:00.0' class='0x030200' $pcie><gpu dev='$((b - 1))' sm='90' rank='$((b - 1))'>"
            echo "<nvlink target='0000:f0:00.0' count='18' tclass='0x068000'/></gpu></pci>"
            echo "<pci busid='0000:${b}2:00.0' class='0x020700' $pcie><nic><net name='n$b' dev='$b' speed='400000'/></nic></pci></pci>"
        done
        echo "</cpu>"
    done
    echo "</system>"
}
node_xml >node.xml
"$ringlet" topo export ./node.xml | awk '/"endpoint"/ { on = 1 } on { print } /^  },/ { exit }' >endpoint
product() { # nodes
    echo "{$(cat endpoint) \"dims\": [{\"shape\": \"switch\", \"size\": 8, \"bandwidth\": \"370.8GB/s\", \"latency\": \"0ns\",
        \"in_network\": \"reduce+multicast\"}, {\"shape\": \"rail\", \"size\": $1, \"bandwidth\": \"400Gbps\",
        \"latency\": \"2.4us\", \"nics\": 8, \"pcie\": \"48GB/s\"}]}"
}
for n in 4 64; do
    product $n >product$n.json
    "$ringlet" topo export "./node.xml*rail:$n@400Gbps,2us" -o imported$n.json
done
all=ring,tree,hierarchical,torus,direct,halving_doubling,recursive_doubling,bruck,pairwise,ps,auto
for c in all_reduce all_gather broadcast; do
    same "4 nodes of an NCCL topology: $c" $c $all 1KiB,16MiB './node.xml*rail:4@400Gbps,2us' ./product4.json ./imported4.json
done
same "4 nodes of an NCCL topology: all_to_all" all_to_all $all,two_level,rail 1KiB,16MiB \
    './node.xml*rail:4@400Gbps,2us' ./product4.json ./imported4.json
same "64 nodes of an NCCL topology" all_reduce ring,hierarchical,direct,auto $sizes \
    './node.xml*rail:64@400Gbps,2us' ./product64.json ./imported64.json
same "64 nodes of an NCCL topology, tree" all_reduce tree 1MiB './node.xml*rail:64@400Gbps,2us' ./imported64.json

# Networks with several ways, and nodes without a switch: the graph spreads as the product does.
way() { # product
    "$ringlet" topo export "$1" -o way.json
    same "as a graph: $1" all_reduce ring,tree,hierarchical,direct,recursive_doubling,auto 1KiB,16MiB "$1" ./way.json
    same "as a graph, all_to_all: $1" all_to_all direct,two_level,rail,auto 1MiB "$1" ./way.json
}
way 'switch:8@450GB/s,500ns*fat-tree:16@50GB/s,500ns'
way 'switch:4@450GB/s,500ns*fat-tree:16@50GB/s,500ns,levels=3,hosts_per_leaf=4,leaves_per_pod=2,oversubscription=2,nics=2'
way 'switch:4@450GB/s,500ns*fat-tree:8@50GB/s,500ns,planes=1,pxn=off'
way 'switch:4@450GB/s,500ns*rail:8@50GB/s,500ns,nodes_per_leaf=4,spines=3,pxn=off'
way 'switch:8@450GB/s,500ns*fat-tree:8@50GB/s,500ns,nics=4,planes=2,pcie=30GB/s'
way 'fully-connected:4@300GB/s,500ns*switch:4@50GB/s,500ns'
way 'l40s-pcie-8*rail:4@50GB/s,500ns,nics=2'

# pod-512-rail is its product. The bound of a ring: NICs of a node together, or NVLink of an accelerator, on which it
# sends g - 1 of g rings.
same "pod-512-rail and its product" all_reduce ring,tree,hierarchical,direct,auto 1KiB,1MiB pod-512-rail \
    'switch:8@450GB/s,500ns*rail:64@400Gbps,500ns,nodes_per_leaf=32,spines=32,pxn=off'
at_least "ring of 64 nodes: 95 % of 8 NICs" "$(busbw "$(rails 64)")" 380
at_least "ring of 64 nodes, graph" "$(busbw ./hand64.json)" 380
at_least "ring of 64 nodes, NCCL topology: PCIe" "$(busbw './node.xml*rail:64@400Gbps,2us')" 364.8
at_least "ring where NVLink is slower: 100 x 8 / 7" "$(busbw 'switch:8@100GB/s,500ns*rail:16@50GB/s,500ns')" 108.6
# 4 nodes of 8 A100 with four 200 Gb/s NICs: 100 GB/s of NICs, NVLink 300.
at_least "ring of 4 x 8 A100, 4 NICs" "$(busbw 'switch:8@300GB/s,500ns*rail:4@200Gbps,2us,nics=4')" 95
"$ringlet" coll -t 'hgx-h100-8*switch:2@25GB/s,2us' -c all_reduce -a ring,auto -b 1MiB >out 2>err
expect "a calibrated node in a larger machine" "$?" 0

"$ringlet" topo 'hgx-h100-8*rail:4@400Gbps,2us' >out 2>err
expect "nodes in words" "$(grep -A1 '^nodes' out | tr -s ' \n' ' ')" "nodes 4 of 8 accelerators; 8 NICs of 50 GB/s a node, \
in 1 network messages move to the receiver's NIC index inside the node first (pxn on) "
"$ringlet" topo ./imported4.json >out 2>err
expect "nodes of a graph" "$(grep '^nodes' out | tr -s ' ')" "nodes 4 of 8 accelerators; 8 NICs of 50 GB/s a node"
"$ringlet" run --model llama3-8b --layout tp=8,dp=4 --accelerator h100-sxm -t 'hgx-h100-8*rail:4@400Gbps,2us' -a ring \
    --explain >out 2>err
# 64 layer halves of tensor parallelism stay inside. Gradients cross: 3.01 GB a rank, at 0.945 * 0.87 of 50 GB/s, take 73 ms.
expect "explained: inside and between nodes" \
    "$(grep -c 'transfers inside nodes .* ms, between nodes .* ms; NICs busy' out)" 1
expect "a lever that is pulled already is not named" "$(grep -c 'levers: smaller tp than 8, .*, larger microbatches$' out)" 1
"$ringlet" run --model llama3-8b --layout tp=8,dp=4,order=dp-tp --accelerator h100-sxm -t 'hgx-h100-8*rail:4@400Gbps,2us' -a ring \
    --explain >across 2>err
expect "one that helps is" "$(grep -c 'levers: smaller tp .*, tp inside a node (--map tp=0)$' across)" 1
expect "NICs are busy for the gradients" "$(awk '/^total time/ { ms = $3 } /NICs busy/ { sub(/.*NICs busy /, ""); share = $1 }
    END { print (ms * share / 100 > 72.5 && ms * share / 100 < 74) ? "73 ms" : ms " ms, " share " %" }' out)" "73 ms"
finish
