#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The user's own machine on the command line: its descriptions are accepted by topo, check, coll and topo import.
# Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"
logs=../shared/data/nccl_logs

cat >"$tmp/topo.xml" <<'EOF'
<system version="1">
  <cpu numaid="0" arch="x86_64" vendor="AuthenticAMD" familyid="23" modelid="49">
    <pci busid="0000:01:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="0" sm="80" rank="0" gdr="1"><nvlink target="0000:02:00.0" count="4" tclass="0x030200"/></gpu>
    </pci>
    <pci busid="0000:02:00.0" class="0x030200" link_speed="16.0 GT/s PCIe" link_width="16">
      <gpu dev="1" sm="80" rank="1" gdr="1"><nvlink target="0000:01:00.0" count="4" tclass="0x030200"/></gpu>
    </pci>
  </cpu>
</system>
EOF
cat >"$tmp/graph.xml" <<'EOF'
<graphs version="1">
  <graph id="0" pattern="4" nchannels="2" speedintra="20" speedinter="20">
    <channel><gpu dev="0"/><gpu dev="1"/></channel>
    <channel><gpu dev="1"/><gpu dev="0"/></channel>
  </graph>
</graphs>
EOF
printf '\tGPU0\tGPU1\tCPU Affinity\nGPU0\t X \tNV4\t0-7\nGPU1\tNV4\t X \t0-7\n' >"$tmp/smi.txt"

answers "an NCCL topology is described" 0 '^2 accelerators, 3 nodes, 6 links' '' topo "$tmp/topo.xml"
answers "it is imported, and what was assumed is said" 0 '"gpu0", "dst": "gpu1", "bandwidth": "80000000000B/s"' 'note: NCCL topology file: 20 GB/s per NVLink' \
    topo import "$tmp/topo.xml"
answers "a bandwidth that is given" 0 '"gpu0", "dst": "gpu1", "bandwidth": "100000000000B/s"' '25 GB/s per NVLink (given)' \
    topo import "$tmp/topo.xml" --set nvlink=25GB/s
answers "rings of a graph dump" 0 '' 'the 2 channels' topo import "$tmp/topo.xml" --graph "$tmp/graph.xml" -o "$tmp/t.json"
verdict "what was imported is a topology with these rings" \
    "$("$ringlet" topo "$tmp/t.json" 2>&1 | grep -q 'rings  *2 recommended' || echo "no two rings in it")"
answers "a graph dump alone" 0 '^2 accelerators, 2 nodes, 2 links' '' topo "$tmp/graph.xml"
answers "a matrix of nvidia-smi" 0 '^2 accelerators, 3 nodes, 6 links' '' topo "$tmp/smi.txt"
answers "the matrix says what it assumes" 0 '' 'note: nvidia-smi topo -m: .*ASSUMED; --set nvlink=' topo import "$tmp/smi.txt"
answers "a collective over it" 0 '^all_reduce' '' coll -t "$tmp/smi.txt" -c all_reduce -b 1MiB
answers "check knows a topology file" 0 'ok: topology of 2 accelerators' '' check "$tmp/topo.xml" "$tmp/smi.txt" "$tmp/graph.xml"
answers "readers are listed" 0 '^nvidia-smi ' '' list readers
gzip -c "$tmp/smi.txt" >"$tmp/smi.txt.gz"
answers "gzip is inflated" 0 '^2 accelerators' '' topo "$tmp/smi.txt.gz"
printf '{"ranks": [1, 0]}' | gzip -c >"$tmp/place"
gzip -c topologies/dgx-a100-8.json >"$tmp/dgx"
answers "gzip of any format, whatever its name" 0 '^8 accelerators' '' topo "$tmp/dgx"
answers "a placement in gzip" 0 'ok: placement of 2 ranks' '' check "$tmp/place" --topology "$tmp/dgx"
"$ringlet" topo - <"$tmp/dgx" >"$tmp/out" 2>&1
verdict "gzip on standard input" "$(grep -q '^8 accelerators' "$tmp/out" || cat "$tmp/out")"
head -c 200 "$tmp/dgx" >"$tmp/cut"
answers "gzip that is cut off" 3 '' 'damaged gzip data' topo "$tmp/cut"
answers "standard input" 3 '' 'standard input: the file is empty' topo -

answers "a setting that is not known" 2 '' "nvlnk: unknown setting of an import; did you mean .nvlink.?" topo import "$tmp/topo.xml" --set nvlnk=1GB/s
answers "a setting that the format has no use for" 2 '' 'nccl-topology takes only' topo import "$tmp/topo.xml" --set link_bandwidth=1GB/s
answers "a graph for what has its own rings" 2 '' 'not to json' topo import hgx-h100-8 --graph "$tmp/graph.xml"
answers "settings with written-out dimensions" 2 '' 'neither --set nor --graph' topo import ring:4@1GB/s,1us --set nvlink=1GB/s
sed 's/0000:02:00.0" class/0000:01:00.0" class/' "$tmp/topo.xml" >"$tmp/twice.xml"
answers "errors have line and column" 3 '' 'twice.xml:6:5: PCI device 0000:01:00.0 is listed twice' check "$tmp/twice.xml"
sed 's/NV4/NVX/' "$tmp/smi.txt" >"$tmp/odd.txt"
answers "and so they have in a matrix" 3 '' 'odd.txt:2:10: expected X, NV#' check "$tmp/odd.txt"

# ---- AMD: rocm-smi --showtopo and amd-smi topology --json
matrix() { # TITLE GPUS TYPES: a cell per pair by awk
    echo "============================ $1 ============================"
    awk -v n="$2" 'BEGIN { printf "      "; for (k = 0; k < n; k++) printf " GPU%-8d", k; print "" }'
    awk -v n="$2" "BEGIN { for (i = 0; i < n; i++) { printf \"GPU%d  \", i; for (k = 0; k < n; k++) printf \" %-11s\", i == k ? 0 : ($3); print \"\" } }"
}
rocm_smi() { # GPUS WEIGHT HOPS TYPE
    echo "============================ ROCm System Management Interface ============================"
    matrix "Weight between two GPUs" $1 "$2"
    matrix "Hops between two GPUs" $1 "$3"
    matrix "Link Type between two GPUs" $1 "$4"
    echo "======================================= Numa Nodes ======================================="
    awk -v n=$1 'BEGIN { for (i = 0; i < n; i++) printf "GPU[%d]\t\t: (Topology) Numa Node: %d\nGPU[%d]\t\t: (Topology) Numa Affinity: %d\n", i, (i >= n / 2), i, (i >= n / 2) }'
}
amd_smi() { # GPUS BANDWIDTH
    awk -v n=$1 -v bw="$2" 'BEGIN {
        for (i = 0; i < n; i++) {
            printf "%s{\"gpu\": %d, \"bdf\": \"0000:0%d:00.0\", \"links\": [", i ? ",\n " : "[", i, i
            for (k = 0; k < n; k++)
                printf "%s{\"gpu\": %d, \"weight\": %d, \"link_status\": \"ENABLED\", \"link_type\": \"%s\", \"num_hops\": %d, \"bandwidth\": \"%s\"}",
                    k ? ", " : "", k, i == k ? 0 : 15, i == k ? "SELF" : "XGMI", i != k, i == k ? "N/A" : bw
            printf "]}"
        }
        print "]" }'
}
rocm_smi 8 15 1 '"XGMI"' >"$tmp/mi300.txt"
amd_smi 8 50000-64000 >"$tmp/mi300.json"
bound() { "$ringlet" coll -t "$1" -c all_reduce -a direct -b 1GiB -f json | jq -c '.rows[0].bound_ps'; }
for file in mi300.txt mi300.json; do
    answers "AMD's $file" 0 '^8 accelerators, 8 nodes, 56 links' '' topo "$tmp/$file"
    expect "is the machine in topologies/: $file" "$(bound "$tmp/$file")" "$(bound mi300x-8)"
done
answers "rocm-smi says no bandwidth" 0 '"gpu0", "dst": "gpu1", "bandwidth": "48000000000B/s"' 'ASSUMED: MI300X; --set xgmi=' topo import "$tmp/mi300.txt"
answers "another one is stated" 0 '"gpu0", "dst": "gpu1", "bandwidth": "50000000000B/s"' '50 GB/s (given)' topo import "$tmp/mi300.txt" --set xgmi=50GB/s
answers "amd-smi says it" 0 '"gpu0", "dst": "gpu1", "bandwidth": "48000000000B/s"' 'three quarters of the stated' topo import "$tmp/mi300.json"
# A ring of four: two hops weigh twice as much. Neighbours' neighbours go through one of them.
rocm_smi 4 '(k - i) % 2 ? 15 : 30' '(k - i) % 2 ? 1 : 2' '"XGMI"' >"$tmp/ring.txt"
answers "pairs of two hops" 0 '^4 accelerators, 6 nodes, 18 links' '' topo "$tmp/ring.txt"
answers "go through a third GPU" 0 '' '2 pairs without an xGMI link go through a third GPU' topo import "$tmp/ring.txt"
# Two islands of two GPUs, one on each CPU.
rocm_smi 4 '(i < 2) == (k < 2) ? 15 : 72' '(i < 2) == (k < 2) ? 1 : 3' '(i < 2) == (k < 2) ? "XGMI" : "PCIE"' >"$tmp/islands.txt"
answers "islands are joined by their CPUs" 0 '^4 accelerators, 6 nodes, 14 links' '' topo "$tmp/islands.txt"
answers "check knows them" 0 'ok: topology of 8 accelerators' '' check "$tmp/mi300.txt" "$tmp/mi300.json"
sed 's/XGMI/ZGMI/' "$tmp/mi300.txt" >"$tmp/odd.txt"
answers "an unknown type has its line" 3 '' "odd.txt:24: expected a type of link, XGMI or PCIE, got 'ZGMI'" check "$tmp/odd.txt"
sed '24s/XGMI/PCIE/' "$tmp/mi300.txt" >"$tmp/odd.txt"
answers "both directions agree" 3 '' 'from GPU 0 to GPU 1 differs from the entry back' check "$tmp/odd.txt"
sed '$d' "$tmp/mi300.json" >"$tmp/odd.json"
echo ' {"gpu": 7}]' >>"$tmp/odd.json"
answers "a GPU without links" 3 '' 'odd.json:8:.*expected links' check "$tmp/odd.json"

if [ -d $logs ]; then
    answers "a log of four GPUs" 0 'rings  *12 recommended' '' topo $logs/n1_32gb_all_reduce_bench.txt.gz
    # The recorded run printed 1002.9 Gb/s of bus bandwidth at 4 GiB, which is 125.4 GB/s.
    "$ringlet" coll -t $logs/n1_32gb_all_reduce_bench.txt.gz -c all_reduce -a ring -b 4GiB -f csv >"$tmp/out" 2>"$tmp/err"
    verdict "its all-reduce comes out as measured" \
        "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "busbw_GBps") c = i }
                    NR == 2 && !($c > 124 && $c < 126.5) { print "bus bandwidth " $c }' "$tmp/out")"
    answers "a log of four nodes" 0 '' 'a NIC 10.6 GB/s' topo import $logs/all_reduce_bench-32gb-n4.txt.gz -o "$tmp/n4.json"
    answers "and back" 0 'rings  *4 recommended' '' topo "$tmp/n4.json"
    # The recorded runs of these four nodes reached 10.6 GB/s of bus bandwidth on NCCL's rings.
    for m in $logs/all_reduce_bench-32gb-n4.txt.gz "$tmp/n4.json"; do
        "$ringlet" coll -t "$m" -c all_reduce -a auto -b 4GiB -f csv --why >"$tmp/out" 2>"$tmp/err"
        verdict "auto takes what the machine took: $(basename "$m")" \
            "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "busbw_GBps") c = i }
                        NR == 2 && !($3 == "ring" && $c > 10.5 && $c < 10.7) { print $3 ", bus bandwidth " $c }' "$tmp/out"
               grep -q 'all_reduce of 4 GiB: ring, as the topology states' "$tmp/err" || cat "$tmp/err")"
    done
else
    skip "logs of real runs" "$logs is not here"
fi

finish
