#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Traces on the command line of ringlet run and ringlet trace: timelines of pipeline-parallel jobs, rescaled traces.
# Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"

net=switch:8@50GB/s,500ns
run() { # STATUS NAME ARGUMENTS...   status; a failure has one message, with the way to help where the use was wrong, and no result
    status=$1 name=$2 why=""
    shift 2
    "$ringlet" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    got=$?
    [ $got = "$status" ] || why="exit status $got, expected $status"
    [ "$status" = 0 ] || [ "$(grep -c '^ringlet: ' "$tmp/err")" = 1 ] || why="$why
expected one message"
    [ "$status" = 0 ] || ! [ -s "$tmp/out" ] || why="$why
a result in spite of the error"
    verdict "$name" "$why"
}
has() { # NAME TEXT   what was printed has it
    grep -qF -- "$2" "$tmp/out" "$tmp/err" && verdict "$1" "" || verdict "$1" "no '$2'"
}

mkdir "$tmp/job"
cat >"$tmp/job/trace-two.csv" <<END
dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc
0,0,0,3,forward-compute,0.0,1.0,0,0,0,0
0,0,0,3,grads-reduce-scatter,1.0,2.5,0,0,-1,-1
1,0,1,3,forward-compute,0.0,3.0,0,0,0,0
1,0,1,3,grads-reduce-scatter,3.0,0.5,0,0,-1,-1
0,0,0,9,forward-compute,0.0,3.0,0,0,0,0
0,0,0,9,grads-reduce-scatter,3.0,0.5,0,0,-1,-1
1,0,1,9,forward-compute,0.0,3.0,0,0,0,0
1,0,1,9,grads-reduce-scatter,3.0,0.5,0,0,-1,-1
END
echo '{"a": [1]}' >"$tmp/job/result-two.json"
printf 'dp_size: 2\npp_size: 1\ntp_size: 4\nworld_size: 8\n' >"$tmp/job/meta-two.yaml"

run 0 "a folder with a timeline and results in JSON" run --trace "$tmp/job" -t $net
has "its steps" "iteration 1   3.5 s"
has "its unknown bytes are said" "communication with a recorded time and unknown bytes"
has "ranks that were not recorded, too" "the job had 8 ranks"
gzip -c "$tmp/job/trace-two.csv" >"$tmp/trace-zipped.csv.gz"
run 0 "a compressed one" run --trace "$tmp/trace-zipped.csv.gz" -t $net -f json
has "the same steps" '"iteration_time_ps": [3500000000000, 3500000000000]'
run 0 "its second step" run --trace "$tmp/job" --steps 1 -t $net
has "one step" "1 iteration"
run 0 "with its waits as recorded" run --trace "$tmp/job" --keep-waits --compute-scale 2 -t $net
has "half of everything" "total time    3.5 s"
run 0 "without stragglers" run --trace "$tmp/job" --ideal -t $net
has "every computation takes the mean" "iteration 0   3 s"
has "and how much they cost" "slowdown      1.1667"
run 0 "the same as JSON" run --trace "$tmp/job" --ideal -t $net -f json
has "has the slowdown" '"slowdown": 1.166667'
run 0 "what is in it" trace info "$tmp/job"
run 3 "a step that is not there" run --trace "$tmp/job" --steps 2 -t $net
run 2 "--ideal of a generated model" run --model transformer --ideal -t $net
run 2 "--ideal of another format" run --trace traces/transformer-8 --ideal -t $net
has "says whose" "chakra reader"

# A folder without its last rank, and with files of other kinds.
cp -r traces/transformer-8 "$tmp/seven"
chmod u+w "$tmp/seven"
rm -f "$tmp/seven/transformer.7.et"
echo hello >"$tmp/seven/notes.txt"
echo '{"traceEvents": []}' >"$tmp/seven/transformer.9.json"
for verb in "trace check" check; do
    "$ringlet" $verb "$tmp/seven" >"$tmp/out" 2>"$tmp/err"
    expect "$verb without the last rank: exit 1" $? 1
    has "says which" "lacks: ranks: 1 of 8 have no file (first: rank 7)"
    has "and what it ignored" "ignored: 2 files not of the trace: transformer.9.json, notes.txt"
done
run 3 "a run without the last rank" run --trace "$tmp/seven" -t $net
run 0 "replaced by another" run --trace "$tmp/seven" -t $net --replicate 7=0
has "eight ranks" "chakra workload: 8 ranks"
run 0 "or left out" run --trace "$tmp/seven" -t $net --trace-ranks 7
run 0 "the whole folder" trace check traces/transformer-8
has "all ranks" "ok: ranks: 8 of 8 present"
sed '3s/2.5/later/' "$tmp/job/trace-two.csv" >"$tmp/trace-broken.csv"
run 3 "a broken file" run --trace "$tmp/trace-broken.csv" -t $net -o "$tmp/result"
has "file, line and column" "trace-broken.csv:3: duration: expected seconds"
[ -e "$tmp/result" ]
expect "leaves no result" $? 1
"$ringlet" check "$tmp/trace-broken.csv" >"$tmp/out" 2>"$tmp/err"
expect "a broken file, checked" $? 3
head -c 150 "$tmp/trace-zipped.csv.gz" >"$tmp/trace-short.csv.gz"
run 3 "a compressed file that ends early" run --trace "$tmp/trace-short.csv.gz" -t $net

result() { sed '/"manifest"/,/^  },/d; /"training"/,/^  },/d; /"notes"/,$d' "$tmp/out"; }
run 0 "a model of two ranks on eight" run --model transformer:ranks=2,layers=4 --rescale dp=8 -t $net -f json
result >"$tmp/rescaled"
run 0 "a model of eight ranks" run --model transformer:ranks=8,layers=4 -t $net -f json
result >"$tmp/generated"
[ -s "$tmp/generated" ] && cmp -s "$tmp/rescaled" "$tmp/generated"
expect "is the same, links and all" $? 0
run 0 "a trace, by the size of its groups" run --trace traces/transformer-16 --rescale @16=8 -t $net
has "is of eight ranks" "chakra workload: 8 ranks"
run 0 "a timeline" run --trace "$tmp/job" --rescale dp=8 -t $net
has "takes as long" "iteration 1   3.5 s"
has "and says what was assumed" "rescaling groups 'dp' from 2 to 8 members"
run 0 "written rescaled" trace convert "$tmp/job" --rescale dp=3 -o "$tmp/three"
expect "three files" "$(ls "$tmp/three" | wc -l | tr -d ' ')" 3
run 2 "a group that is not there" run --trace "$tmp/job" --rescale pp=8 -t $net
has "says which are" "known are: all (@2), dp stage 0 (@2)"
for wrong in dp dp= dp=1 dp=many =8 @2=8; do
    run 2 "--rescale $wrong" run --trace "$tmp/job" --rescale $wrong -t $net
done
run 3 "more ranks than accelerators" run --trace "$tmp/job" --rescale dp=16 -t $net
run 2 "a conversion that cannot be rescaled" trace convert "$tmp/job" --rescale pp=8 -o "$tmp/none"
[ -e "$tmp/none" ]
expect "makes no folder" $? 1

# ---- tables of layers, folded: rank 0 stands for all
layer='ALLGATHER 400000 300 REDUCESCATTER 200000 200 ALLREDUCE 900000 10'
table() { # LAYERS RANKS
    echo "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 8 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: $2 checkpoints: 0 checkpoint_initiates: 0"
    echo "$1"
    awk -v n="$1" -v layer="$layer" 'BEGIN { for (i = 0; i < n; i++) print "l" i, -1, 1000 + i, layer }'
}
table 20 32 >"$tmp/table.txt"
net='switch:8@100GB/s,500ns*switch:4@25GB/s,1us'
for fold in "" --fold; do
    "$ringlet" run $fold --trace "$tmp/table.txt" -t "$net" -f json 2>"$tmp/err" | jq -c .iteration_time_ps
done >"$tmp/times"
expect "a folded table takes what all ranks take" "$(uniq -c "$tmp/times" | awk '{ print $1, ($2 != "") }')" "2 1"
table 1789 9216 >"$tmp/large.txt"
"$ringlet" run --trace "$tmp/large.txt" -t 'switch:8@100GB/s,500ns*switch:1152@25GB/s,1us' >"$tmp/out" 2>"$tmp/err"
expect "too many operations: --fold is named" "$? $(grep -c 'run --fold simulates identical ranks once' "$tmp/err")" "3 1"
"$ringlet" run --fold --trace "$tmp/large.txt" -t 'switch:8@100GB/s,500ns*switch:1152@25GB/s,1us' >"$tmp/out" 2>"$tmp/err"
expect "1789 layers on 9216 ranks" "$? $(grep -c '^note: identical ranks.*(9216)' "$tmp/out")" "0 1"
"$ringlet" run --fold --trace "$tmp/large.txt" -t hgx-h100-8 >"$tmp/out" 2>"$tmp/err"
expect "on too few accelerators" "$? $(grep -c 'rank 8 does not exist; the placement has 8 ranks' "$tmp/err")" "3 1"
"$ringlet" run --fold --trace traces/transformer-8 -t hgx-h100-8 >"$tmp/out" 2>"$tmp/err"
expect "other traces do not fold" "$? $(grep -c 'the chakra reader cannot tell that ranks are identical' "$tmp/err")" "2 1"
finish
