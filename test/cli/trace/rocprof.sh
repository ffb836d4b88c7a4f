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

# ---- broken files
leaves_nothing 3 "no device work is recorded here" run --trace "$tmp/rank0_hip_api_trace.csv" -t "$net"
sed 's/Agent_Id/Agent/' "$tmp/rank0_kernel_trace.csv" >"$tmp/bare/bad_kernel_trace.csv"
leaves_nothing 3 "expected a column Agent_Id" run --trace "$tmp/bare/bad_kernel_trace.csv" -t "$net"
sed 's/,2000,12000/,2000,x/' "$tmp/rank0_kernel_trace.csv" >"$tmp/bare/bad_kernel_trace.csv"
leaves_nothing 3 "bad_kernel_trace.csv:2:68: End_Timestamp: expected a whole number, got 'x'" \
    run --trace "$tmp/bare/bad_kernel_trace.csv" -t "$net"
finish
