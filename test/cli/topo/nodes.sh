#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Nodes of composed machines: descriptions that are refused, nodes of imported hosts, and layouts that know nodes.
# Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"

wrong_nodes() { # text, topology: one error with its column, from topo and coll alike
    for command in "topo export" "coll -b 1MiB -t"; do
        # shellcheck disable=SC2086
        leaves_nothing 3 "$1" $command "$2"
        expect "one line: $2" "$(wc -l <"$tmp/err")" 1
    done
}
wrong_nodes "column 13: 'l40s-pcie-8' has no NICs: state how many a node has with nics=" 'l40s-pcie-8*rail:4@50GB/s,500ns'
wrong_nodes "column 13: 'dgx1-v100-8' has no NICs" 'dgx1-v100-8*fat-tree:4@12.5GB/s,1us'
wrong_nodes '3 NICs do not divide the 8 accelerators of a node' 'switch:8@450GB/s,500ns*rail:4@50GB/s,500ns,nics=3'
wrong_nodes 'nics=16 for nodes of 8 accelerators: at most one each' 'hgx-h100-8*rail:4@50GB/s,500ns,nics=16'
wrong_nodes '3 planes do not divide the 4 NICs of a node' 'hgx-h100-8*fat-tree:4@50GB/s,500ns,nics=4,planes=3'
wrong_nodes 'pxn=off, but each of the 8 NICs has a network of its own' 'hgx-h100-8*rail:4@50GB/s,500ns,planes=8,pxn=off'
wrong_nodes 'pxn moves messages inside a node, but nodes have one accelerator here' 'rail:4@50GB/s,500ns,pxn=on'
wrong_nodes "parameter 'nics' is given twice" 'hgx-h100-8*rail:4@50GB/s,500ns,nics=4,nics=2'
wrong_nodes 'network=efa, but a dimension before it states roce' \
    'hgx-h100-8*rail:2@50GB/s,500ns,network=roce*rail:2@25GB/s,1us,network=efa'
wrong_nodes "network: expected one of" 'hgx-h100-8*rail:2@50GB/s,500ns,network=myrinet'
echo '{"dims": [{"shape": "switch", "size": 8, "bandwidth": "450GB/s", "latency": "1us"},
    {"shape": "rail", "size": 2, "bandwidth": "50GB/s", "latency": "1us", "nics": 4}]}' >"$tmp/pair.json"
wrong_nodes "states NICs for nodes of 8 accelerators: it can only come first" "switch:2@450GB/s,500ns*$tmp/pair.json"

# Graphs whose nodes are stated wrongly.
graph() { # fields
    printf '{%s, "nodes": [{"id": "a", "kind": "accelerator", "count": 4}, {"id": "s", "kind": "switch"}],
        "links": [{"src": "a0", "dst": "s", "bandwidth": "50GB/s", "latency": "1us"},
        {"src": "a1", "dst": "s", "bandwidth": "50GB/s", "latency": "1us"}, {"src": "a2", "dst": "s", "bandwidth": "50GB/s", "latency": "1us"},
        {"src": "a3", "dst": "s", "bandwidth": "50GB/s", "latency": "1us"}]}' "$1" >"$tmp/graph.json"
}
graph '"node_size": 3'
wrong_nodes 'node_size 3 does not divide the 4 accelerators' "$tmp/graph.json"
graph '"node_size": 2, "dims": [4]'
wrong_nodes 'node_size 2 is no product of the first of the dims' "$tmp/graph.json"
graph '"pxn": "on"'
wrong_nodes 'pxn is about messages between nodes: state node_size' "$tmp/graph.json"
graph '"node_size": 2, "pxn": "maybe"'
wrong_nodes "expected on or off, got 'maybe'" "$tmp/graph.json"

# NCCL's XML of two hosts with two GPUs and a NIC each: the hosts are nodes. NVLinks between GPUs: PXN.
gpu() { # BUS DEV RANK PEER-BUS
    printf '<pci busid="0000:0%s:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16"><gpu dev="%s" sm="80" rank="%s" gdr="1">' "$1" "$2" "$3"
    [ -z "$nvlinks" ] || printf '<nvlink target="0000:0%s:00.0" count="4" tclass="0x030200"/>' "$4"
    printf '</gpu></pci>'
}
host() { # HASH RANK RANK
    echo "<cpu host_hash=\"0x$1\" numaid=\"0\" arch=\"x86_64\" vendor=\"AuthenticAMD\" familyid=\"23\" modelid=\"49\">"
    echo '<pci busid="0000:0a:00.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">'
    gpu 1 0 "$2" 2
    gpu 2 1 "$3" 1
    echo '<pci busid="0000:05:00.0" class="0x020700" link_speed="16.0 GT/s PCIe" link_width="16"><nic>'
    echo '<net name="mlx5_0" dev="0" speed="200000" port="1" guid="0x1" maxconn="131072" gdr="1"/></nic></pci></pci></cpu>'
}
nodes_of() { # NVLINKS RANKS-OF-HOST-1 RANKS-OF-HOST-2
    nvlinks=$1
    {
        echo '<system version="1">'
        host 1 "${2% *}" "${2#* }"
        host 2 "${3% *}" "${3#* }"
        echo '</system>'
    } >"$tmp/hosts.xml"
    "$ringlet" topo import "$tmp/hosts.xml" -o "$tmp/hosts.json" >"$tmp/out" 2>"$tmp/err"
    grep -oE '"(node_size|pxn)": "?[a-z0-9]*' "$tmp/hosts.json" | tr -d '"\n' | sed 's/pxn/ pxn/'
}
expect "two hosts joined by NVLink inside" "$(nodes_of yes '0 1' '2 3')" 'node_size: 2 pxn: on'
"$ringlet" topo "$tmp/hosts.xml" >"$tmp/out" 2>"$tmp/err"
expect "as described" "$(grep -c '^nodes  *2 of 2 accelerators; 1 NIC of 25 GB/s a node$' "$tmp/out")" 1
expect "hosts without NVLink" "$(nodes_of '' '0 1' '2 3')" 'node_size: 2'
expect "ranks that alternate between hosts" "$(nodes_of yes '0 2' '1 3')" ''
finish
