#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Recordings of Nsight Systems: databases with the tables that `nsys export --type sqlite` makes, written here by hand, and
# the times of their replay by hand. Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"
command -v sqlite3 >/dev/null || { skip "recordings of Nsight Systems" "needs sqlite3"; finish; }
"$ringlet" --version | grep -q SQLite || { skip "recordings of Nsight Systems" "needs SQLite"; finish; }

# schema of the tables, as `nsys export --type sqlite` creates them; columns that are not used are left out
schema() {
    cat <<'END'
PRAGMA page_size = 512;
CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, demangledName INTEGER NOT NULL, shortName INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_MEMCPY (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, bytes INTEGER NOT NULL, copyKind INTEGER NOT NULL, srcKind INTEGER, dstKind INTEGER);
CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME (start INTEGER NOT NULL, end INTEGER NOT NULL, eventClass INTEGER NOT NULL, globalTid INTEGER,
    correlationId INTEGER, nameId INTEGER NOT NULL, returnValue INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_SYNCHRONIZATION (start INTEGER NOT NULL, end INTEGER NOT NULL, deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL,
    streamId INTEGER NOT NULL, correlationId INTEGER, globalPid INTEGER, syncType INTEGER NOT NULL, eventId INTEGER NOT NULL);
CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT (deviceId INTEGER NOT NULL, contextId INTEGER NOT NULL, streamId INTEGER NOT NULL, correlationId INTEGER,
    globalPid INTEGER, eventId INTEGER NOT NULL);
CREATE TABLE NVTX_EVENTS (start INTEGER NOT NULL, end INTEGER, eventType INTEGER NOT NULL, text TEXT, globalTid INTEGER, textId INTEGER, domainId INTEGER,
    jsonText TEXT, binaryData BLOB);
CREATE TABLE NVTX_PAYLOAD_SCHEMA_ENTRIES (domainId INTEGER NOT NULL, schemaId INTEGER NOT NULL, idx INTEGER NOT NULL, flags INTEGER, type INTEGER,
    name TEXT, description TEXT, arrayOrUnionDetail INTEGER, offset INTEGER);
CREATE TABLE ENUM_CUDA_MEM_KIND (id INTEGER NOT NULL PRIMARY KEY, name TEXT, label TEXT);
CREATE TABLE TARGET_INFO_SESSION_START_TIME (utcEpochNs INTEGER);
INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1700000000000000000);
INSERT INTO ENUM_CUDA_MEM_KIND VALUES (0, 'CUDA_MEMOPR_MEMORY_KIND_PAGEABLE', 'Pageable'), (1, 'CUDA_MEMOPR_MEMORY_KIND_PINNED', 'Pinned');
INSERT INTO StringIds VALUES (1, 'gemm'), (2, 'ncclDevKernel_AllReduce_Sum_f32_RING_LL'), (3, 'ncclDevKernel_SendRecv'), (11, 'cudaLaunchKernel_v7000'),
    (12, 'cudaDeviceSynchronize_v3020'), (13, 'cudaLaunchKernelExC_v11060'), (21, 'ncclAllReduce'), (22, 'ncclCommInitRankConfig'),
    (23, 'ncclGroupStart'), (24, 'ncclGroupEnd'), (25, 'ncclSend'), (26, 'ncclRecv');
INSERT INTO NVTX_PAYLOAD_SCHEMA_ENTRIES VALUES
    (4, 0, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, NULL), (4, 0, 1, NULL, 5, 'No. of ranks', NULL, NULL, 8),
    (4, 0, 2, NULL, 5, 'Rank', NULL, NULL, 12), (4, 0, 3, NULL, 5, 'CUDA device', NULL, NULL, 16),
    (4, 5, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, NULL), (4, 5, 1, NULL, 22, 'Message size [bytes]', NULL, NULL, 8),
    (4, 5, 2, NULL, 9001, 'Reduction operation', NULL, NULL, 16),
    (4, 8, 0, NULL, 18, 'NCCL communicator ID', NULL, NULL, NULL), (4, 8, 1, NULL, 22, 'Message size [bytes]', NULL, NULL, 8),
    (4, 8, 2, NULL, 5, 'Peer rank', NULL, NULL, 16);
END
}
# little-endian hexadecimal of a number
le() { # BYTES NUMBER
    awk -v n="$1" -v v="$2" 'BEGIN { for (i = 0; i < n; i++) { printf "%02x", v % 256; v = int(v / 256) } }'
}
blob() { echo "X'$(le 8 4)$(le 8 $1)$(le 8 24)$(le 8 56)$2'"; } # SCHEMA PAYLOAD
process() { echo $(($1 * 16777216)); }
thread() { echo $(($1 * 16777216 + $1)); }
range() { echo "INSERT INTO NVTX_EVENTS VALUES ($2, $3, 59, NULL, $(thread $1), $4, 4, NULL, $5);"; } # PID BEGIN END TEXTID BLOB
call() { echo "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES ($2, $3, 0, $(thread $1), $4, $5, 0);"; } # PID BEGIN END CORRELATION NAME
kernel() { echo "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES ($2, $3, $6, 1, $5, $4, $(process $1), $7, $7);"; } # PID BEGIN END CORRELATION STREAM DEVICE NAME
# One rank: a kernel, then an all-reduce of 40000 bytes that waits for it and for the other rank; the host waits for all.
rank() { # PID RANK RANKS DEVICE END-OF-KERNEL
    range $1 100 200 22 "$(blob 0 $(le 8 48879)$(le 4 $3)$(le 4 $2)$(le 4 $4)$(le 4 0))"
    echo "INSERT INTO NVTX_EVENTS VALUES (1000, 100000, 59, 'iteration $2', $(thread $1), NULL, 0, NULL, NULL);"
    call $1 1000 2000 1 11
    kernel $1 2000 $5 1 7 $4 1
    range $1 5000 7000 21 "$(blob 5 $(le 8 48879)$(le 8 40000)$(le 8 0))"
    call $1 5500 6500 2 13
    kernel $1 $5 70000 2 20 $4 2
    call $1 8000 70000 3 12
}

database() { # FILE; SQL on standard input
    rm -f "$1"
    (schema; cat) | sqlite3 "$1"
}
check() { "$ringlet" trace check "$@" --step-mark iteration >"$tmp/out" 2>"$tmp/err"; echo "$? $(grep -c "$lacks" "$tmp/out")"; }
time_of() { "$ringlet" run --trace "$@" --step-mark iteration -t "$net" -f json 2>"$tmp/err" | jq -c .iteration_time_ps; }
net='switch:2@1GB/s,500ns'

# ---- a file for each rank, and both ranks in one file, where the process of the second device comes first
mkdir "$tmp/job"
for r in 0 1; do rank $((100 + r)) $r 2 0 $((12000 + 8000 * r)) | database "$tmp/job/job.$r.sqlite"; done
(rank 100 1 2 1 20000; rank 101 0 2 0 12000) | database "$tmp/both.sqlite"
# From the mark at 1 us the later kernel takes 19 us; 40000 B take 42 us between two ranks; after the wait the host is busy
# for 30 us.
lacks='^lacks'
for trace in "$tmp/job" "$tmp/job/job" "$tmp/both.sqlite"; do
    expect "replayed: $(basename "$trace")" "$(time_of "$trace")" '[91000000]'
    expect "lacks nothing: $(basename "$trace")" "$(check "$trace")" "0 0"
done
expect "check names the reader" "$("$ringlet" check "$tmp/both.sqlite" | head -1)" "$tmp/both.sqlite: 1 file, read as nsys"
expect "one rank of two" "$(check "$tmp/job/job.0.sqlite") $(grep -c 'rank 1' "$tmp/out")" "1 1 1"
expect "is replaced by the other" "$(time_of "$tmp/job/job.1.sqlite" --replicate 0=1)" '[91000000]'

# ---- sizes: without NVTX ranges of NCCL the recording lacks them
for r in 0 1; do
    (rank $((100 + r)) $r 2 0 20000; echo "DELETE FROM NVTX_EVENTS WHERE textId = 21;") | database "$tmp/job/bare.$r.sqlite"
done
lacks='^lacks: collective sizes: 2 of 2 .*nvtx'
expect "a recording without sizes" "$(check "$tmp/job/bare")" "3 1"
expect "is not replayed" "$(time_of "$tmp/job/bare"; grep -c 'lacks the sizes of 1 of its 1 .*nsys profile' "$tmp/err")" 1
expect "but with recorded times" "$(time_of "$tmp/job/bare" --keep-waits)" '[99000000]'

# ---- a batch of sends and receives to all is an all-to-all: PID RANK BYTES-TO-0 BYTES-TO-1
messages() { # PID NAME PEER BYTES BEGIN
    range $1 $5 $(($5 + 100)) $2 "$(blob 8 $(le 8 48879)$(le 8 $4)$(le 4 $3)$(le 4 0))"
}
begin() { # PID RANK RANKS
    range $1 100 200 22 "$(blob 0 $(le 8 48879)$(le 4 $3)$(le 4 $2)$(le 4 $2)$(le 4 0))"
    echo "INSERT INTO NVTX_EVENTS VALUES (1000, 50000, 59, 'iteration 0', $(thread $1), NULL, 0, NULL, NULL);"
    range $1 2000 2100 23 NULL
}
end() { # PID
    range $1 5000 6000 24 NULL
    call $1 5100 5900 7 13
    kernel $1 6000 40000 7 20 0 3
    call $1 6100 40000 8 12
}
exchange() { # PID RANK BYTES-TO-0 BYTES-TO-1 BYTES-FROM-0 BYTES-FROM-1
    begin $1 $2 2
    for peer in 0 1; do
        messages $1 25 $peer $(eval echo \$$((3 + peer))) $((2200 + 400 * peer))
        messages $1 26 $peer $(eval echo \$$((5 + peer))) $((2400 + 400 * peer))
    done
    end $1
}
exchange 100 0 5000 20000 5000 10000 | database "$tmp/job/all.0.sqlite"
exchange 101 1 10000 5000 20000 5000 | database "$tmp/job/all.1.sqlite"
"$ringlet" trace info "$tmp/job/all" --step-mark iteration -f json >"$tmp/out" 2>"$tmp/err"
expect "sends and receives to all" "$(jq -c '.communications[] | [.collective, .ranks, .count]' "$tmp/out")" '["all_to_all",2,1]'
# The calls end at 5.9 us; the larger part takes 20 us and two links; then the host works from 40 to 50 us.
expect "takes as long as its larger part" "$(time_of "$tmp/job/all")" '[36000000]'

# ---- a batch of messages to some: a ring of four, where each sends 1000 B and receives as many
for r in 0 1 2 3; do
    (begin 10$r $r 4
    messages 10$r 25 $(((r + 1) % 4)) 1000 2200
    messages 10$r 26 $(((r + 3) % 4)) 1000 2400
    end 10$r) | database "$tmp/job/ring.$r.sqlite"
done
net='switch:4@1GB/s,500ns'
"$ringlet" trace info "$tmp/job/ring" --step-mark iteration -f json >"$tmp/out" 2>"$tmp/err"
expect "messages of a batch" "$(jq -c '.communications[] | [.collective, .ranks, .count, .bytes]' "$tmp/out")" '["send_recv",2,4,4000]'
expect "go side by side" "$(time_of "$tmp/job/ring")" '[17000000]'

# ---- communicators of some ranks: ranks 0 and 2 sum after 12 us, ranks 1 and 3 after 20 us, side by side
for r in 0 1 2 3; do
    (rank 10$r $r 4 0 $((12000 + 8000 * (r % 2)))
    echo "DELETE FROM NVTX_EVENTS WHERE textId = 21;"
    range 10$r 300 400 22 "$(blob 0 $(le 8 $((500 + r % 2)))$(le 4 2)$(le 4 $((r / 2)))$(le 4 0)$(le 4 0))"
    range 10$r 5000 7000 21 "$(blob 5 $(le 8 $((500 + r % 2)))$(le 8 40000)$(le 8 0))") | database "$tmp/job/pairs.$r.sqlite"
done
"$ringlet" trace info "$tmp/job/pairs" --step-mark iteration -f json >"$tmp/out" 2>"$tmp/err"
expect "sums of pairs" "$(jq -c '.communications[] | [.collective, .ranks, .count, .bytes]' "$tmp/out")" '["all_reduce",2,2,80000]'
expect "are two collectives" "$(time_of "$tmp/job/pairs")" '[91000000]'

# ---- clocks: the session of rank 1 began 5 us after that of rank 0
rank 100 0 2 0 12000 | database "$tmp/job/clocks.0.sqlite"
(rank 101 1 2 0 20000; echo "UPDATE TARGET_INFO_SESSION_START_TIME SET utcEpochNs = utcEpochNs + 5000;") | database "$tmp/job/clocks.1.sqlite"
expect "a session that began later" "$(time_of "$tmp/job/clocks")" '[96000000]'

# ---- events: stream 20 waits for the kernel until 12 us of stream 7, not for the one until 30 us that follows the event. Its
# own kernel runs from 30 us to 40 us, 18 us after the event, and the host works for 10 us more. On a device half as fast the
# kernels of stream 7 end at 22 us and 58 us, and that of stream 20 runs from 40 us to 60 us.
(echo "INSERT INTO StringIds VALUES (31, 'cudaEventRecord_v3020'), (32, 'cudaStreamWaitEvent_v3020');
INSERT INTO NVTX_EVENTS VALUES (1000, 50000, 59, 'iteration 0', $(thread 100), NULL, 0, NULL, NULL);
INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 1, 7, 2, $(process 100), 9), (0, 1, 7, 9, $(process 100), 9);
INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (4600, 4700, 0, 1, 20, 4, $(process 100), 2, 9);"
call 100 1000 2000 1 11
kernel 100 2000 12000 1 7 0 1
call 100 2500 2600 2 31
call 100 3000 4000 3 11
kernel 100 12000 30000 3 7 0 1
call 100 4500 4800 4 32
call 100 5000 6000 5 11
kernel 100 30000 40000 5 20 0 1
call 100 7000 7100 9 31
call 100 8000 40000 6 12) | database "$tmp/event.sqlite"
net='switch:1@1GB/s,500ns'
expect "a stream waits for an event" "$(time_of "$tmp/event.sqlite") $(time_of "$tmp/event.sqlite" --compute-scale 0.5)" \
    '[49000000] [69000000]'
lacks='synchronisation: 1 cuda_sync events'
expect "which is recorded" "$(check "$tmp/event.sqlite")" "0 1"
net='switch:4@1GB/s,500ns'

# ---- broken files
head -c 3000 "$tmp/both.sqlite" >"$tmp/cut.sqlite"
leaves_nothing 3 "$tmp/cut.sqlite" run --trace "$tmp/cut.sqlite" -t "$net"
echo 'CREATE TABLE point (a);' | sqlite3 "$tmp/other.sqlite"
leaves_nothing 3 "expected a table CUPTI_ACTIVITY_KIND_KERNEL" run --trace "$tmp/other.sqlite" -t "$net"
echo "DROP TABLE StringIds;" | database "$tmp/names.sqlite"
leaves_nothing 3 "no such table: StringIds" run --trace "$tmp/names.sqlite" -t "$net"
: | database "$tmp/empty.sqlite"
leaves_nothing 3 "no device work" run --trace "$tmp/empty.sqlite" -t "$net"
echo x >"$tmp/job.nsys-rep"
leaves_nothing 3 "nsys export --type sqlite" run --trace "$tmp/job.nsys-rep" -t "$net"
finish
