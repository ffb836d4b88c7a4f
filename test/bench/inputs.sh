# SPDX-License-Identifier: GPL-3.0-or-later
# Makes one input file of a benchmark, if it is not there: make_input FOLDER/NAME. Sourced; needs $ringlet. Names: counts.N,
# ring.N.goal, ring.N.xml, net.N.graphml, kineto.N.json (and .gz), timeline.N.json, run.json, measured.csv.

# Counts of an all-to-all whose sizes differ by up to a half, 64 MiB a rank; one row per sender, the diagonal is empty.
make_counts() { awk -v n="$1" 'BEGIN { m = int(67108864 / n); for (i = 0; i < n; i++) { row = ""; for (j = 0; j < n; j++)
    row = row (i == j ? 0 : int(m * (1 + 0.5 * (((i * n + j) * 7919) % 1000) / 1000))) " "; print row } }'; }

# A recording of one rank: kernels on two streams, each with its launch.
make_kineto() { awk -v n="$1" 'BEGIN { print "{\"schemaVersion\": 1, \"distributedInfo\": {\"rank\": 0, \"world_size\": 1}, \"traceEvents\": ["
    ts = 1000; for (i = 0; i < n / 2; i++) { ts += 10
        printf "  {\"ph\": \"X\", \"cat\": \"cuda_runtime\", \"name\": \"cudaLaunchKernel\", \"pid\": 7, \"tid\": 7, \"ts\": %d, \"dur\": 4, \"args\": {\"correlation\": %d, \"cbid\": 211}},\n", ts, i + 1
        printf "  {\"ph\": \"X\", \"cat\": \"kernel\", \"name\": \"void at::native::vectorized_elementwise_kernel<4, at::native::kernel_%d>(int, float*)\", \"pid\": 0, \"tid\": %d, \"ts\": %d, \"dur\": 8, \"args\": {\"correlation\": %d, \"device\": 0, \"stream\": %d, \"grid\": [%d, 1, 1], \"block\": [256, 1, 1]}}%s\n", i % 50, 7 + i % 2, ts + 6, i + 1, 7 + i % 2, i % 999 + 1, i + 1 < n / 2 ? "," : ""
    } print "]}" }'; }

# A timeline of eight ranks whose events all differ.
make_timeline() { awk -v n="$1" 'BEGIN { print "{\"traceEvents\":["; x = 1
    for (r = 0; r < 8; r++) printf "{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"tid\":0,\"args\":{\"name\":\"rank %d\"}},\n", r, r
    for (r = 0; r < 8; r++) { at = 0; for (i = 0; i < n / 8; i++) { x = (x * 16807) % 2147483647; at += 1 + x % 20
        printf "%s{\"ph\":\"X\",\"pid\":%d,\"tid\":1,\"ts\":%d.%03d,\"dur\":0.%03d,\"cat\":\"compute\",\"name\":\"op %d\"}\n", i + r ? "," : "", r, at / 1000, at % 1000, 1 + x % 20, i % 9; at += 1 + x % 20 } }
    print "],\"otherData\":{\"generator\":\"ringlet\",\"dropped_events\":0}}" }'; }

ring_plan() { # ranks, format, file
    "$ringlet" coll -t "switch:$1@50GB/s,500ns" -c all_reduce -a ring -b 64MiB --export-plan "$3" --as "$2" >/dev/null
}

# Counts the instructions of a command.
instructions() { valgrind --tool=callgrind --callgrind-out-file=/dev/null "$@" 2>&1 >/dev/null | sed -n 's/.*Collected : *//p'; }

make_input() {
    [ -e "$1" ] && return
    at=$(dirname "$1") of=$(basename "$1")
    n=$(echo "$of" | cut -d. -f2)
    case $of in
    counts.*) make_counts "$n" >"$1" ;;
    ring.*.goal) ring_plan "$n" goal "$1" ;;
    ring.*.xml) ring_plan "$n" msccl "$1" ;;
    net.*.graphml) "$ringlet" topo export "fat-tree:$n@50GB/s,500ns,levels=3,hosts_per_leaf=64" --as graphml -o "$1" ;;
    kineto.*.json) make_kineto "$n" >"$1" ;;
    kineto.*.json.gz) make_input "${1%.gz}" && gzip -k "${1%.gz}" ;;
    timeline.*.json) make_timeline "$n" >"$1" ;;
    run.json) "$ringlet" run -q --trace traces/transformer-8 -t hgx-h100-8 -f json -o "$1" ;;
    measured.csv) "$ringlet" coll -t dgx-a100-8 -b 1MiB,16MiB,64MiB -a auto -o "$1" ;;
    esac
    [ -s "$1" ] || { echo "bench: $of could not be made in $at" >&2; exit 1; }
}
