#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# InfraGraph on the command line: the same machine described for NCCL and as InfraGraph takes the same time, and so does
# what was written and read again.
# Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"

taken() { # topology: times of a ring and of a direct all-to-all, in picoseconds
    for c in all_reduce:ring all_to_all:direct; do
        "$ringlet" coll -t "$1" -c "${c%:*}" -a "${c#*:}" -b 1KiB,1MiB,64MiB --format json 2>&1 |
            grep -o '"time_ps": *[0-9]*' | tr -dc '0-9\n'
    done | tr '\n' ' '
}
same_times() { # name, topology, topology
    first=$(taken "$2")
    # Six times, none of them zero: otherwise nothing was compared.
    if [ "$(printf '%s' "$first" | tr ' ' '\n' | grep -c '^[1-9]')" = 6 ]; then
        expect "$1" "$(taken "$3")" "$first"
    else
        verdict "$1" "no six times: $first"
    fi
}

# Four V100s of a DGX-1 on two sockets: NVLinks join four of six pairs. NCCL's figures: NVLink 20 GB/s, PCIe 3 x16
# 12 GB/s, Broadwell's QPI 6 GB/s, a GPU or NIC on PCIe 0.2 us.
gpu() { # bus, rank, peer, links, peer, links
    echo "<pci busid=\"0000:$1:00.0\" class=\"0x030200\" link_speed=\"8 GT/s\" link_width=\"16\">
      <gpu dev=\"$2\" sm=\"70\" rank=\"$2\" gdr=\"1\">
        <nvlink target=\"0000:$3:00.0\" count=\"$4\" tclass=\"0x030200\"/>
        <nvlink target=\"0000:$5:00.0\" count=\"$6\" tclass=\"0x030200\"/></gpu></pci>"
}
cpu='arch="x86_64" vendor="GenuineIntel" familyid="6" modelid="79"'
cat >"$tmp/dgx1.xml" <<EOF
<system version="1">
  <cpu numaid="0" $cpu><pci busid="0000:04:00.0" class="0x060400" link_speed="8 GT/s" link_width="16">
    $(gpu 06 0 07 1 85 2) $(gpu 07 1 06 1 86 2)
    <pci busid="0000:05:00.0" class="0x020700" link_speed="8 GT/s" link_width="16"><nic>
      <net name="mlx5_0" dev="0" speed="100000"/></nic></pci></pci></cpu>
  <cpu numaid="1" $cpu><pci busid="0000:84:00.0" class="0x060400" link_speed="8 GT/s" link_width="16">
    $(gpu 85 2 06 2 86 1) $(gpu 86 3 07 2 85 1)</pci></cpu>
</system>
EOF
cat >"$tmp/dgx1.yaml" <<'EOF'
name: dgx1
devices:
- name: dgx1
  components:
  - {name: gpu, count: 4, choice: xpu}
  - {name: cpu, count: 2, choice: cpu}
  - {name: plx, count: 2, choice: switch}
  - {name: nic, count: 1, choice: nic}
  links:
  - {name: one, physical: {bandwidth: {gigabytes_per_second: 20}, latency: {ns: 0}}}
  - {name: two, physical: {bandwidth: {gigabytes_per_second: 40}, latency: {ns: 0}}}
  - {name: slot, physical: {bandwidth: {gigabits_per_second: 96}, latency: {us: 0.2}}}
  - {name: bridge, physical: {bandwidth: {gigabits_per_second: 96}, latency: {us: 0}}}
  - {name: qpi, physical: {bandwidth: {gigabytes_per_second: 6}, latency: {us: 0}}}
  edges:
  - {ep1: {component: 'gpu[0:4:2]'}, ep2: {component: 'gpu[1:4:2]'}, scheme: one2one, link: one}
  - {ep1: {component: 'gpu[0:2]'}, ep2: {component: 'gpu[2:4]'}, scheme: one2one, link: two}
  - {ep1: {component: 'gpu[0:2]'}, ep2: {component: 'plx[0]'}, scheme: many2many, link: slot}
  - {ep1: {component: 'gpu[2:4]'}, ep2: {component: 'plx[1]'}, scheme: many2many, link: slot}
  - {ep1: {component: nic}, ep2: {component: 'plx[0]'}, scheme: one2one, link: slot}
  - {ep1: {component: plx}, ep2: {component: cpu}, scheme: one2one, link: bridge}
  - {ep1: {component: cpu}, ep2: {component: cpu}, scheme: many2many, link: qpi}
instances:
- {name: node, device: dgx1, count: 1}
EOF
same_times "a DGX-1: NCCL's topology and InfraGraph" "$tmp/dgx1.xml" "$tmp/dgx1.yaml"
"$ringlet" topo export "$tmp/dgx1.xml" --as infragraph -o "$tmp/dgx1.json"
same_times "NCCL's topology, written as InfraGraph" "$tmp/dgx1.xml" "$tmp/dgx1.json"
answers "the written file is accepted" 0 'ok: topology of 4 accelerators' '' check "$tmp/dgx1.json"

# Eight A100s on NVSwitches: twelve NVLinks of 20 GB/s each; PCIe 4 x16 24 GB/s; Rome 16 GB/s between sockets.
a100() { # bus, rank
    echo "<pci busid=\"0000:$1:00.0\" class=\"0x030200\" link_speed=\"16.0 GT/s PCIe\" link_width=\"16\">
      <gpu dev=\"$2\" sm=\"80\" rank=\"$2\" gdr=\"1\"><nvlink target=\"0000:c4:00.0\" count=\"12\"
      tclass=\"0x068000\"/></gpu></pci>"
}
rome='arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49"'
cat >"$tmp/a100.xml" <<EOF
<system version="1">
  <cpu numaid="0" $rome>$(a100 01 0) $(a100 02 1) $(a100 03 2) $(a100 04 3)</cpu>
  <cpu numaid="1" $rome>$(a100 81 4) $(a100 82 5) $(a100 83 6) $(a100 84 7)</cpu>
</system>
EOF
cat >"$tmp/a100.yaml" <<'EOF'
devices:
- name: a100
  components:
  - {name: gpu, count: 8, choice: xpu}
  - {name: cpu, count: 2, choice: cpu}
  - {name: nvsw, count: 1, choice: switch}
  links: [{name: nvlink}, {name: pcie}, {name: fabric}]
  edges:
  - {ep1: {component: gpu}, ep2: {component: nvsw}, scheme: many2many, link: nvlink}
  - {ep1: {component: 'cpu[0]'}, ep2: {component: 'gpu[0:4]'}, scheme: many2many, link: pcie}
  - {ep1: {component: 'cpu[1]'}, ep2: {component: 'gpu[4:8]'}, scheme: many2many, link: pcie}
  - {ep1: {component: 'cpu[0]'}, ep2: {component: 'cpu[1]'}, scheme: one2one, link: fabric}
instances: [{name: node, device: a100, count: 1}]
EOF
answers "figures that a file lacks" 3 '' \
    "a100.yaml:7:11: devices\[0\].links\[0\]: link 'nvlink' has no bandwidth.*--set link=nvlink:64GB/s" \
    check "$tmp/a100.yaml"
answers "figures that the user states" 0 '' \
    'note: InfraGraph of 11 vertices and 17 edges (8 nvlink, 8 pcie, 1 fabric). Links that state none have 0ns (given)' \
    topo import "$tmp/a100.yaml" --set link=nvlink:240GB/s --set link=pcie:24GB/s,200ns --set link=fabric:16GB/s \
    --set latency=0ns -o "$tmp/a100.json"
same_times "eight A100s: NCCL's topology and InfraGraph" "$tmp/a100.xml" "$tmp/a100.json"

# A product that is written out is a graph, with routes of its own: it is compared with the graph in ringlet's JSON.
for topology in hgx-h100-8 'switch:8@450GB/s,500ns*rail:4@400Gbps,2us' 'hgx-h100-8*rail:4@400Gbps,2us,nics=4' \
    fat-tree:16@50GB/s,500ns,hosts_per_leaf=4; do
    "$ringlet" topo export "$topology" -o "$tmp/graph.json"
    "$ringlet" topo export "$topology" --as infragraph -o "$tmp/copy.json"
    same_times "$topology, written and read" "$tmp/graph.json" "$tmp/copy.json"
done
"$ringlet" topo export 'hgx-h100-8*rail:4@400Gbps,2us,nics=4' --as infragraph -o "$tmp/one.json"
"$ringlet" topo export "$tmp/one.json" --as infragraph -o "$tmp/two.json"
cmp "$tmp/one.json" "$tmp/two.json" >"$tmp/out" 2>&1 && [ -s "$tmp/one.json" ]
verdict "written, read and written gives the same file" "$([ $? = 0 ] || echo "they differ")"

# A machine as a factor: ports at the end of its links are NICs.
sed 's/  links: .*/  links: [{name: nvlink}, {name: pcie}, {name: fabric}, {name: slot}]/
    s/^  - {name: nvsw/  - {name: port, count: 8, choice: port}\n&/
    s/^  edges:/&\n  - {ep1: {component: "cpu[0]"}, ep2: {component: "port[0:4]"}, scheme: many2many, link: slot}/
    s/^  - {ep1: .*fabric}/&\n  - {ep1: {component: "cpu[1]"}, ep2: {component: "port[4:8]"}, scheme: many2many, link: slot}/' \
    "$tmp/a100.yaml" >"$tmp/ports.yaml"
"$ringlet" topo import "$tmp/ports.yaml" --set bandwidth=24GB/s --set latency=200ns -o "$tmp/ports.json" 2>"$tmp/err"
expect "ports at the end are NICs" "$(grep -o '"kind": "nic"' "$tmp/ports.json" | wc -l | tr -d ' ')" 8
answers "an InfraGraph is a factor of a product" 0 '^32 accelerators' '' topo "$tmp/ports.json*fat-tree:4@200Gbps,1us"

answers "InfraGraph is listed" 0 '^infragraph ' '' list readers
answers "NCCL's topology has other settings" 2 '' 'nccl-topology takes only' \
    topo import "$tmp/a100.xml" --set latency=1us
answers "InfraGraph has not those of NCCL" 2 '' 'infragraph takes only' \
    topo import "$tmp/a100.yaml" --set nvlink=1GB/s
answers "a setting for an unknown link" 2 '' "no link has the name 'nvlnk'" \
    topo import "$tmp/a100.yaml" --set link=nvlnk:1GB/s
answers "a latency without a unit" 2 '' 'latency' topo import "$tmp/a100.yaml" --set latency=5
finish
