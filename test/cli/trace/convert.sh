#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Any trace or generated workload, written as Chakra and read again, runs equally to the picosecond: time, iterations, every
# rank's account, every communication, every link. Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"

# Figures of a run without names of inputs, and without numbers of communications, which follow the order of groups in a file.
figures() {
    sed '/"manifest"/,/^  },/d; /"certificate"/,/^  }/d; /"workload"/d; /"slowdown"/d; /"notes"/,$d; s/"index": [0-9]*, //; s/,$//' "$1" | sort
}
compare() { # NAME NETWORK
    figures "$tmp/a.json" >"$tmp/a"
    figures "$tmp/b.json" >"$tmp/b"
    if ! grep -q '"iteration_time_ps": \[[1-9]' "$tmp/a"; then
        verdict "$1" "there is nothing to compare"
    else
        verdict "$1" "$(diff "$tmp/a" "$tmp/b" | head -4 | cut -c1-300)"
    fi
}
again() { # NAME NETWORK TRACE [OPTIONS OF READING]...
    name=$1 net=$2
    shift 2
    rm -rf "$tmp/et"
    if "$ringlet" run --trace "$@" -t "$net" -f json -o "$tmp/a.json" 2>"$tmp/err" &&
        "$ringlet" trace convert "$@" -t "$net" -o "$tmp/et" >"$tmp/out" 2>"$tmp/err" &&
        "$ringlet" run --trace "$tmp/et" -t "$net" -f json -o "$tmp/b.json" 2>"$tmp/err"; then
        compare "$name"
    else
        verdict "$name" "it does not run"
    fi
}

# Generated traces against the same model in memory; sends, receives, unequal exchanges and groups of one from here on.
"$ringlet" trace generate -s ranks=4 -s layers=3 -s steps=2 -o "$tmp/model" >"$tmp/out" 2>"$tmp/err"
slower=$(grep -o -- '--overlap-slowdown [0-9.]*' "$tmp/err")
"$ringlet" run --model transformer:ranks=4,layers=3,steps=2 -t dgx-a100-8 -f json -o "$tmp/a.json" 2>"$tmp/err"
"$ringlet" run --trace "$tmp/model" -t dgx-a100-8 $slower -f json -o "$tmp/b.json" 2>"$tmp/err"
sed -i '/^  "training": {/,/^  },\{0,1\}$/d' "$tmp/a.json"
compare "a generated transformer"
again "and once more" dgx-a100-8 "$tmp/model"

# Trainings with layouts, generated for run and written for others.
training() { # NAME NETWORK MODEL ACCELERATOR LAYOUT TRAIN [OPTION]...
    name=$1 net=$2 model=$3 accelerator=$4 layout=$5 train=$6
    shift 6
    rm -rf "$tmp/et"
    if "$ringlet" run --model "$model" --accelerator "$accelerator" --layout "$layout" --train "$train" "$@" -t "$net" -f json -o "$tmp/a.json" 2>"$tmp/err" &&
        "$ringlet" trace generate --model "$model" --accelerator "$accelerator" --layout "$layout" --train "$train" "$@" -o "$tmp/et" >"$tmp/out" 2>"$tmp/notes" &&
        "$ringlet" run --trace "$tmp/et" -t "$net" $(grep -o -- '--overlap-slowdown [0-9.]*' "$tmp/notes") -f json -o "$tmp/b.json" 2>"$tmp/err"; then
        sed -i '/^  "training": {/,/^  },\{0,1\}$/d' "$tmp/a.json"
        compare "$name"
    else
        verdict "$name" "$(cat "$tmp/err")"
    fi
}
training "1F1B, tensor parallel, ZeRO-1" 'switch:8@450GB/s,500ns' gpt2-small h100 dp=2,tp=2,pp=2 batch=16,zero=1
training "FSDP" 'switch:4@450GB/s,500ns' gpt2-small h100 dp=4 batch=8,zero=3
training "experts, interleaved" 'switch:8@450GB/s,500ns' mixtral-8x7b b200 dp=4,pp=2,ep=4,vp=2 schedule=interleaved,batch=16,recompute=full --any-memory
training "AxoNN's messages" 'switch:8@150GB/s,500ns' gpt2-small v100 dp=2,pp=4 batch=16 --strategy axonn
training "ResNet-50" 'switch:4@450GB/s,500ns' resnet50 a100 dp=4 batch=64,microbatch=16,precision=bf16
again "rescaled" dgx-a100-8 "$tmp/model" --rescale @4=7
again "a sample trace" leaf-spine-16 traces/transformer-16
cat >"$tmp/stages.txt" <<END
node1 -- Input -- forward_compute_time=9.5, backward_compute_time=0.0, activation_size=8.0, parameter_size=0.0 -- stage_id=0
node2 -- Conv -- forward_compute_time=0.004, backward_compute_time=0.001, activation_size=3000.0, parameter_size=2000.0 -- stage_id=0
node3 -- Linear -- forward_compute_time=0.003, backward_compute_time=0.004, activation_size=7.0, parameter_size=4001.0 -- stage_id=1
	node1 -- node2
	node2 -- node3
END
again "stages of a pipeline, replicated" switch:8@50GB/s,500ns "$tmp/stages.txt" --trace-ranks 6
cat >"$tmp/moe.txt" <<END
HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 2 pp: 1 vpp: 1 ga: 1 all_gpus: 8 checkpoints: 0 checkpoint_initiates: 0
2
a -1 100 ALLTOALL_EP 2001 50 ALLTOALL_EP 2001 30 REDUCESCATTER_DP_EP 4003 7
b -1 100 ALLGATHER 2001 50 REDUCESCATTER 1000 30 ALLREDUCE 4000 7
END
again "expert, tensor and data groups" switch:8@50GB/s,500ns "$tmp/moe.txt"
cat >"$tmp/trace-two.csv" <<END
dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc
0,0,0,3,forward-compute,0.0123456789,1.0000000000003,0,0,0,0
0,0,0,3,forward-send,1.1,2.5,0,-1,-1,-1
0,0,0,3,layernorm-grads-all-reduce,3.6,0.000031,0,0,-1,-1
0,1,1,3,forward-recv,3.5,0.1,0,-1,-1,-1
0,1,1,3,forward-compute,3.6,1.0,0,0,0,1
END
again "a timeline, of recorded times" switch:8@50GB/s,500ns "$tmp/trace-two.csv"

# Names of kernels and groups that mean something in a format, or that a terminal obeys.
mkdir "$tmp/odd"
for r in 0 1; do
    printf '{"distributedInfo": {"rank": %d, "world_size": 2}, "traceEvents": [' $r
    t=0
    for name in '\u0000a\u0001\n\t\u007f' '<&>\"\\]]>' '\u001b[31m%s%n' '\ud83d\ude00\uffff' '' "$(printf '%0500d' 0)"; do
        t=$((t + 30))
        printf '{"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 1, "tid": 1, "ts": %d, "dur": 2, "args": {"correlation": %d}},' $t $t $((t + 10)) $((t + 1))
        printf '{"ph": "X", "cat": "kernel", "name": "%s", "pid": 0, "tid": 7, "ts": %d, "dur": 5, "args": {"stream": 7, "correlation": %d}},' "$name" $((t + 3)) $t
        printf '{"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "pid": 0, "tid": 20, "ts": %d, "dur": 5, "args": {"stream": 20, "correlation": %d, "Collective name": "allreduce", "In msg nelems": 1000, "Out msg nelems": 1000, "dtype": "Float", "Group size": 2, "Process Group Name": "%s", "Process Group Ranks": "[0, 1]"}},' \
            $((t + 13)) $((t + 1)) "$name"
    done
    echo '{"ph": "i"}]}'
done >"$tmp/both"
sed -n 1p "$tmp/both" >"$tmp/odd/0.json"
sed -n 2p "$tmp/both" >"$tmp/odd/1.json"
again "hostile names" switch:2@1GB/s,1us "$tmp/odd"

data=../shared/data
published() { # arguments of again, where the file is at hand
    if [ -e "$3" ]; then again "$@"; else skip "$1" "$3 is not here"; fi
}
published "timeline ST" switch:8@50GB/s,500ns $data/pipeline_timelines/ST/trace-ST.csv.gz
published "timeline ST without stragglers" switch:8@50GB/s,500ns $data/pipeline_timelines/ST/trace-ST.csv.gz --ideal
published "Kineto DLRM" dgx1-v100-8 $data/kineto/dlrm_v100_8rank --host-trace $data/host_et/dlrm_v100_8rank
published "Chakra DLRM" dgx1-v100-8 $data/chakra/dlrm_v100_8rank
published "Kineto of one rank, replicated" dgx-a100-8 $data/kineto/hta/nccl_parser_config__nccl_data.json.gz --replicate 1=0
published "Chakra custom ring" ring:8@100GB/s,500ns $data/chakra/astra_custom_collectives/custom_ring_allreduce_8npus_1MB
published "AICB's list" switch:128@50GB/s,500ns $data/simai/aicb_G13B-M1-C01_GPT13B_megatron_tp8_pp1_mbs1.csv
for f in $data/simai/*.txt $data/astra1/*.txt; do
    published "$(basename "$f" .txt)" 'ring:4@100GB/s,500ns*switch:4@50GB/s,500ns' "$f" --trace-ranks 16
done
for f in $data/pipedream/*.txt; do
    published "PipeDream $(basename "$f" .txt)" switch:8@50GB/s,500ns "$f" --trace-ranks 6
done
for f in $data/goal/*.goal; do
    published "GOAL $(basename "$f" .goal)" switch:32@50GB/s,500ns "$f"
done

# ---- JSON: the feeder's list of nodes, and messages one after another as chakra_jsonizer prints them
mkdir "$tmp/feeder" "$tmp/messages"
for r in 0 1; do
    cat >"$tmp/feeder/job.$r.json" <<END
{"workload_graph": [
  {"Id": 1, "Name": "gemm [a, \"{b}\"]", "NodeType": 4, "data_deps": [], "ctrlDeps": [77], "runtime": $((100 + 100 * r)), "is_cpu_op": false},
  {"Id": 2, "Name": "sum", "NodeType": 7, "data_deps": [1], "is_cpu_op": false, "comm_type": 0, "comm_size": 1000000, "pg_name": "0"},
  {"Id": 3, "Name": "update", "NodeType": 4, "data_deps": [2], "runtime": 10, "is_cpu_op": false}
], "workload_name": "w", "ngpus": 2}
END
    cat >"$tmp/messages/job.$r.json" <<END
{
  "version": "0.0.4"
}{
  "id": "1", "name": "gemm [a, \"{b}\"]", "type": "COMP_NODE",
  "durationMicros": "$((100 + 100 * r))", "attr": [{"name": "is_cpu_op", "boolVal": false}, {"name": "x", "doubleVal": 1.5}]
}{
  "id": "2", "name": "sum", "type": "COMM_COLL_NODE", "dataDeps": ["1"],
  "attr": [{"name": "is_cpu_op", "boolVal": false}, {"name": "comm_type", "int64Val": "0"}, {"name": "comm_size", "int64Val": "1000000"},
    {"name": "pg_name", "stringVal": "0"}, {"name": "involved_dim", "boolList": {"values": [true, false]}}]
}{
  "id": "3", "name": "update", "type": "COMP_NODE", "dataDeps": ["2"], "durationMicros": "10", "attr": [{"name": "is_cpu_op", "boolVal": false}]
}
END
done
# 200 us, 1 MB over two ranks at 1 GB/s, 10 us.
for form in feeder messages; do
    "$ringlet" run --trace "$tmp/$form" -t 'switch:2@1GB/s,500ns' -f json >"$tmp/out" 2>"$tmp/err"
    expect "Chakra in JSON: $form" "$(jq -c .iteration_time_ps "$tmp/out")" '[1212000000]'
    "$ringlet" trace convert "$tmp/$form" -o "$tmp/$form.et" >"$tmp/out" 2>"$tmp/err"
    expect "and converted: $form" "$(cat "$tmp/$form.et"/* | cksum)" "$(cat "$tmp/feeder.et"/* | cksum)"
done
expect "check names the reader" "$("$ringlet" check "$tmp/feeder" | head -1)" "$tmp/feeder/job.0.json: 2 files, read as chakra"
sed 's/"Id": 3/"Id": x/' "$tmp/feeder/job.0.json" >"$tmp/bad.json"
leaves_nothing 3 "bad.json:4: object:1:" run --trace "$tmp/bad.json" -t 'switch:2@1GB/s,500ns'
sed 's/"COMP_NODE"/"GAME_NODE"/' "$tmp/messages/job.0.json" >"$tmp/bad.json"
leaves_nothing 3 "unknown type of node 'GAME_NODE'" run --trace "$tmp/bad.json" -t 'switch:2@1GB/s,500ns'
head -c 500 "$tmp/messages/job.0.json" >"$tmp/bad.json"
leaves_nothing 3 "an object does not end" run --trace "$tmp/bad.json" -t 'switch:2@1GB/s,500ns'
head -5 "$tmp/feeder/job.0.json" | head -c 320 >"$tmp/bad.json"
leaves_nothing 3 "bad.json:" run --trace "$tmp/bad.json" -t 'switch:2@1GB/s,500ns'
finish
