#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Recordings of rocprofv3, written here by hand with the columns of its CSV output, and the times of their replay by hand.
# Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"

calls='"Domain","Function","Process_Id","Thread_Id","Correlation_Id","Start_Timestamp","End_Timestamp"'
# One rank: a kernel, then an all-reduce that waits for it and for the other rank; the host waits for all.
rank() { # NAME AGENT END-OF-KERNEL
    cat >"$tmp/$1_kernel_trace.csv" <<END
"Kind","Agent_Id","Queue_Id","Stream_Id","Thread_Id","Dispatch_Id","Kernel_Id","Kernel_Name","Correlation_Id","Start_Timestamp","End_Timestamp"
"KERNEL_DISPATCH","Agent $2",1,1,70,1,33,"gemm(float*, int)",2,2000,$3
"KERNEL_DISPATCH","Agent $2",2,2,70,2,16,"ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)",4,$3,70000
END
    cat >"$tmp/$1_hip_api_trace.csv" <<END
$calls
"HIP_RUNTIME_API_EXT","hipLaunchKernel",70,70,2,1000,2000
"HIP_RUNTIME_API_EXT","hipExtLaunchKernel",70,70,4,5500,6500
"HIP_RUNTIME_API_EXT","hipDeviceSynchronize",70,70,5,8000,70000
END
    cat >"$tmp/$1_marker_api_trace.csv" <<END
$calls
"MARKER_CORE_RANGE_API","iteration 3",70,70,1,1000,100000
END
    cat >"$tmp/$1_rccl_api_trace.csv" <<END
$calls
"RCCL_API","ncclAllReduce",70,70,3,5000,7000
END
    cat >"$tmp/$1_memory_copy_trace.csv" <<END
"Kind","Direction","Stream_Id","Source_Agent_Id","Destination_Agent_Id","Correlation_Id","Start_Timestamp","End_Timestamp"
END
    echo '"Node_Id","Agent_Type"' >"$tmp/$1_agent_info.csv"
    cat >"$tmp/host/$1.json" <<END
{"schema":"1.0.1","pid":7,"nodes":[{"name":"record_param_comms","id":8,"rf_id":4,
 "inputs":[[[1,2,0,10000,4,"cuda:0"]],5,94,${1#rank},"allreduce",[],[]],"outputs":[[1,2,0,10000,4,"cuda:0"]]}]}
END
}
mkdir "$tmp/host"
rank rank0 4 12000
rank rank1 5 20000
net='switch:2@1GB/s,500ns'
time_of() { "$ringlet" run --trace "$@" --step-mark iteration -t "$net" -f json 2>"$tmp/err" | jq -c .iteration_time_ps; }
# From the mark at 1 us the later kernel takes 19 us; 40000 B take 42 us between two ranks; after the wait the host is busy
# for 30 us.
expect "sizes from host traces" "$(time_of "$tmp" --host-trace "$tmp/host")" '[91000000]'
expect "the folder's files by name" "$(time_of "$tmp"/*.csv --host-trace "$tmp/host")" '[91000000]'
expect "without sizes: recorded times" "$(time_of "$tmp" --keep-waits)" '[99000000]'
leaves_nothing 3 "the sizes of 1 of its 1 NCCL operations; rocprofv3 does not record them" run --trace "$tmp" --step-mark iteration -t "$net"
"$ringlet" check "$tmp" >"$tmp/out" 2>"$tmp/err"
expect "check names the reader" "$? $(sed -n 2p "$tmp/out")" "3 $tmp/rank0_kernel_trace.csv: 2 files, read as rocprof"
expect "files of a rank belong to its recording" "$(head -1 "$tmp/out")" "ignored: 2 files not of the trace: err, out"
expect "and what is missing" "$(grep -c '^lacks: .*\(roctx range\|rocprofv3 does not record them; give\)' "$tmp/out")" 2
mkdir "$tmp/bare"
cp "$tmp/rank0_kernel_trace.csv" "$tmp/bare"
"$ringlet" trace check "$tmp/bare" >"$tmp/out" 2>"$tmp/err"
expect "kernels alone have no launches" "$(grep -c '^lacks: launches of 2 device' "$tmp/out")" 1

# ---- the same in JSON, as --output-format json writes it: ids for names, which stand apart
json() { # NAME AGENT END-OF-KERNEL PID
    cat <<END
{"metadata": {"pid": $4}, "strings": {"buffer_records": [{"kind": "NONE", "operations": []},
  {"kind": "HIP_RUNTIME_API", "operations": ["hipLaunchKernel", "hipExtLaunchKernel", "hipDeviceSynchronize"]},
  {"kind": "RCCL_API", "operations": ["ncclAllReduce"]}, {"kind": "MEMORY_COPY", "operations": ["NONE", "MEMORY_COPY_HOST_TO_DEVICE"]}],
  "marker_api": [{"key": 1, "value": "iteration 3"}]},
 "kernel_symbols": [{"kernel_id": 0, "formatted_kernel_name": ""}, {"kernel_id": 33, "formatted_kernel_name": "gemm(float*, int)"},
  {"kernel_id": 16, "formatted_kernel_name": "ncclDevKernel_Generic_1(ncclDevKernelArgsStorage<4096ul>)"}],
 "buffer_records": {"kernel_dispatch": [
   {"kind": 9, "operation": 0, "thread_id": 70, "correlation_id": {"internal": 2, "external": 0}, "start_timestamp": 2000,
    "end_timestamp": $3, "dispatch_info": {"agent_id": {"handle": $2}, "queue_id": {"handle": 1}, "kernel_id": 33}, "stream_id": {"handle": 1}},
   {"kind": 9, "operation": 0, "thread_id": 70, "correlation_id": {"internal": 4, "external": 0}, "start_timestamp": $3,
    "end_timestamp": 70000, "dispatch_info": {"agent_id": {"handle": $2}, "queue_id": {"handle": 1}, "kernel_id": 16}, "stream_id": {"handle": 2}}],
  "hip_api": [
   {"kind": 1, "operation": 0, "thread_id": 70, "correlation_id": {"internal": 2}, "start_timestamp": 1000, "end_timestamp": 2000},
   {"kind": 1, "operation": 1, "thread_id": 70, "correlation_id": {"internal": 4}, "start_timestamp": 5500, "end_timestamp": 6500},
   {"kind": 1, "operation": 2, "thread_id": 70, "correlation_id": {"internal": 5}, "start_timestamp": 8000, "end_timestamp": 70000}],
  "marker_api": [{"kind": 0, "operation": 0, "thread_id": 70, "correlation_id": {"internal": 1}, "start_timestamp": 1000, "end_timestamp": 100000}],
  "rccl_api": [{"kind": 2, "operation": 0, "thread_id": 70, "correlation_id": {"internal": 3}, "start_timestamp": 5000, "end_timestamp": 7000}],
  "memory_copy": [{"kind": 3, "operation": 1, "thread_id": 70, "correlation_id": {"internal": 6}, "start_timestamp": 500,
    "end_timestamp": 600, "dst_agent_id": {"handle": $2}, "src_agent_id": {"handle": 1}, "bytes": 8}]}}
END
}
of_json() { echo '{"rocprofiler-sdk-tool": ['; cat; echo ']}'; }
mkdir "$tmp/json"
json rank0 4 12000 70 | of_json >"$tmp/json/rank0_results.json"
json rank1 5 20000 71 | of_json >"$tmp/json/rank1_results.json"
expect "JSON takes the same time" "$(time_of "$tmp/json" --host-trace "$tmp/host")" '[91000000]'
expect "without sizes: recorded times, too" "$(time_of "$tmp/json" --keep-waits)" '[99000000]'
(json rank0 4 12000 70; echo ,; json rank1 5 20000 71) | of_json >"$tmp/both_results.json"
expect "two processes in a file" "$(time_of "$tmp/both_results.json" --keep-waits)" '[99000000]'
cp "$tmp/json/rank0_results.json" "$tmp/bare/rank0_results.json"
"$ringlet" check "$tmp/bare" >"$tmp/out" 2>"$tmp/err"
expect "beside its CSV it is not read again" "$(grep -c '1 file, read as rocprof' "$tmp/out")" 1

# ---- broken files
for change in 's/"kernel_id": 33, "form/"kernel_id": 34, "form/ kernel_symbols has no kernel 33' \
    's/"operation": 2,/"operation": 3,/ strings has no name' 's/"internal": 5/"internal": "x"/ buffer_records.hip_api[2].correlation_id.internal' \
    's/"queue_id"/"queue"/ a member queue_id' 's/"end_timestamp": 12000/"end_timestamp": 9e30/ end_timestamp: expected'; do
    said=${change#*/ }
    sed "${change%"$said"}" "$tmp/json/rank0_results.json" >"$tmp/bad_results.json"
    leaves_nothing 3 "$said" run --trace "$tmp/bad_results.json" -t "$net"
done
echo '{"rocprofiler-sdk-tool": {}}' >"$tmp/bad_results.json"
leaves_nothing 3 "expected a list rocprofiler-sdk-tool" run --trace "$tmp/bad_results.json" -t "$net"
leaves_nothing 3 "no device work is recorded here" run --trace "$tmp/rank0_hip_api_trace.csv" -t "$net"
sed 's/Agent_Id/Agent/' "$tmp/rank0_kernel_trace.csv" >"$tmp/bare/bad_kernel_trace.csv"
leaves_nothing 3 "expected a column Agent_Id" run --trace "$tmp/bare/bad_kernel_trace.csv" -t "$net"
sed 's/,2000,12000/,2000,x/' "$tmp/rank0_kernel_trace.csv" >"$tmp/bare/bad_kernel_trace.csv"
leaves_nothing 3 "bad_kernel_trace.csv:2:68: End_Timestamp: expected a whole number, got 'x'" \
    run --trace "$tmp/bare/bad_kernel_trace.csv" -t "$net"
finish
