#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Predicted iterations against measured trainings: every run is covered or has a reason, folded predictions agree with runs
# of all ranks, a machine of the user's own is fitted, intervals are written and read, and invalid input is refused.
. "$(dirname "$0")/../../support/tap.sh"
measured=test/data/throughput/measured_training.csv
header="model,params,gpu_system,n_gpus,tp,pp,dp,cp,vp,ep,sharding,global_batch,micro_batch,seq_len,precision,recompute,iteration_time_s,tflops_per_gpu,note"
row="MPT 125m,,a100_80gb,8,1,1,8,,,,FULL_SHARD,512,32,2048,bf16,False,0.9248,,GradAccum 2"
status() { # what the command exits with; its output is kept
    "$ringlet" calibrate-training "$@" >"$tmp/out" 2>"$tmp/err"
    echo $?
}

# A table of one run: too few for a fit.
printf '%s\n%s\n' "$header" "$row" >"$tmp/one.csv"
expect "one run" "$(status --check "$tmp/one.csv")" 0
expect "says that it is covered" "$(grep -c '^1 runs: 1 covered, 0 refused$' "$tmp/out")" 1
expect "JSON" "$(status --check -f json -o "$tmp/one.json" "$tmp/one.csv"; grep -c '"covered": 1' "$tmp/one.json")" "0
1"

# The same run with all ranks over the simulated network.
folded=$("$ringlet" calibrate-training --check --rows -f csv "$tmp/one.csv" | awk -F, 'NR == 2 { print $8 }')
whole=$("$ringlet" run -q -m mpt-125m:sequence=2048 --accelerator a100-80gb --layout dp=8 --train batch=512,microbatch=32,zero=3,stack=llm-foundry \
    -t switch:8@300GB/s,500ns --any-memory -f json | sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' | head -1)
expect "one rank or all" "$(echo "$folded $whole" | awk '{ d = $1 * 1e12 / $2 - 1; print (d < 0.01 && d > -0.01) ? "alike" : $0 }')" alike

# Reasons, one for each row.
reason() { # name, row, what it says
    printf '%s\n%s\n' "$header" "$2" >"$tmp/row.csv"
    status --check "$tmp/row.csv" >/dev/null
    expect "$1" "$(grep -c "^ *1  $3  *row.csv: 2$" "$tmp/out")" 1
}
reason "unknown system" "MPT 125m,,abacus,8,1,1,8,,,,FULL_SHARD,512,32,2048,bf16,False,1,," \
    "the system 'abacus' is not known, and no accelerator has this name"
reason "no network" "MPT 125m,,h200,8,1,1,8,,,,FULL_SHARD,512,32,2048,bf16,False,1,," "no topology is given for the system 'h200'"
reason "unknown model" "Oracle,,a100_80gb,8,1,1,8,,,,FULL_SHARD,512,32,2048,bf16,False,1,," "Oracle: .*"
reason "ranks that do not fit" "MPT 125m,,a100_80gb,8,2,1,8,,,,FULL_SHARD,512,32,2048,bf16,False,1,," \
    "tp 2 x pp 1 x cp 1 x dp 8 are not 8 accelerators"
reason "microbatches that do not fit" "MPT 125m,,a100_80gb,8,1,1,8,,,,FULL_SHARD,512,32,2048,bf16,False,1,,GradAccum 3" \
    "3 microbatches of 32 x dp 8 are not a batch of 512"
reason "no precision" "MPT 125m,,a100_80gb,8,1,1,8,,,,FULL_SHARD,512,32,2048,,False,1,," "no precision is given"
reason "no tensor parallelism given" "MPT 125m,,a100_80gb,8,,1,8,,,,FULL_SHARD,512,32,2048,bf16,False,1,," "no tp is given"
reason "no stages given" "MPT 125m,,a100_80gb,8,1,,8,,,,FULL_SHARD,512,32,2048,bf16,False,1,," "no pp is given"
reason "no time" "MPT 125m,,a100_80gb,8,1,1,8,,,,FULL_SHARD,512,32,2048,bf16,False,,," "no time is given"
reason "time of 0" "MPT 125m,,a100_80gb,8,1,1,8,,,,FULL_SHARD,512,32,2048,bf16,False,0,," "its time is 0"
reason "two runs in one" "MPT 125m,,a100_80gb,8,1 (2),1,8,,,,FULL_SHARD,512,32,2048,bf16,False,1,," \
    "the row mixes the figures of two runs"
reason "heads that tensor parallelism does not divide" "MPT 125m,,a100_80gb,8,8,1,1,,,,FULL_SHARD,512,32,2048,bf16,False,1,," \
    "tp: 12 heads are not a multiple of tp 8"
# 30e9 parameters without ZeRO take 16 bytes each: 480 GB.
reason "more than the memory" "MPT 30b,,a100_80gb,8,1,1,8,,,,0,512,1,2048,bf16,True,1,," \
    "the layout does not fit the memory of a100-80gb"

# Columns that are settings of a training: as for a run, and refused as there. An empty cell is as no column.
wide="$header,schedule,split"
stages="MPT 125m,,a100_80gb,4,1,4,1,,,,0,32,1,2048,bf16,False,1,,"
predicted() { # header, row
    printf '%s\n%s\n' "$1" "$2" >"$tmp/set.csv"
    "$ringlet" calibrate-training --check --rows -f csv "$tmp/set.csv" | awk -F, 'NR == 2 { print $8 }'
}
expect "empty settings" "$(predicted "$wide" "$stages,,")" "$(predicted "$header" "$stages")"
folded=$(predicted "$wide" "$stages,dualpipe,2-3-3-4")
whole=$("$ringlet" run -q -m mpt-125m:sequence=2048 --accelerator a100-80gb --layout pp=4 --train batch=32,stack=llm-foundry,schedule=dualpipe,split=2-3-3-4 \
    -t switch:4@300GB/s,500ns --any-memory --fold-stages -f json | sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' | head -1)
expect "a schedule and a division of layers" "$(echo "$folded $whole" | awk '{ d = $1 * 1e12 / $2 - 1; print (d < 0.01 && d > -0.01) ? "alike" : $0 }')" alike
header=$wide
reason "unknown schedule" "$stages,dualpip," "schedule: expected one of gpipe, .*dualpipev, got 'dualpip'; did you mean 'dualpipe'?"
reason "unknown division" "$stages,,evenly" "split: expected blocks, time, .* got 'evenly'"
reason "a division of other chunks" "$stages,,6-6" "split: 2 numbers, but the pipeline has 4 chunks"
header=${wide%,schedule,split}

# Exchanges overlap as the row says, else as the published configuration of its model and system says.
experts="Qwen3_235B_a22B,,DGX-H100,256,2,8,,1,4,32,,8192,1,4096,FP8,,80.2645,,"
said=$(predicted "$header,overlap" "$experts,")
expect "a published configuration: exchanges overlap" "$said" "$(predicted "$header,overlap" "$experts,on")"
expect "the row comes first" "$(echo "$said $(predicted "$header,overlap" "$experts,off")" | awk '{ print ($2 > 1.02 * $1) ? "slower" : $0 }')" slower
expect "of this system only" "$(predicted "$header,overlap" "$(echo "$experts" | sed 's/DGX-H100/DGX-B200/'),")" "$(predicted "$header,overlap" "$(echo "$experts" | sed 's/DGX-H100/DGX-B200/'),off")"

# Without a column of sequences a model has its own. A topology that cannot be read names its line.
short=$(echo "$header" | sed 's/,seq_len//')
expect "a model's own sequence" "$(predicted "$short" "llama3-8b:sequence=2048,,a100_80gb,8,1,1,8,,,,0,64,1,bf16,,20,,")" \
    "$(predicted "$header" "llama3-8b,,a100_80gb,8,1,1,8,,,,0,64,1,2048,bf16,,20,,")"
printf '%s,topology\n%s,switch:8@fast\n' "$header" "mpt-125m,,a100-80gb,8,1,1,8,,,,0,64,1,2048,bf16,,20,," >"$tmp/where.csv"
expect "a wrong topology" "$(status --check "$tmp/where.csv")" 3
expect "names its line" "$(grep -c 'line 2: switch:8@fast' "$tmp/err")" 1

# Wrong input.
expect "no such file" "$(status --check "$tmp/none.csv")" 5
expect "names it" "$(grep -c 'none.csv' "$tmp/err")" 1
echo "model,params" >"$tmp/short.csv"
expect "missing column" "$(status --check "$tmp/short.csv")" 3
expect "names the column" "$(grep -c "short.csv:1: no column 'gpu_system'" "$tmp/err")" 1
printf '%s\n%s\n' "$header" "MPT 125m,,a100_80gb,eight,1,1,8,,,,,512,32,2048,bf16,False,1,," >"$tmp/word.csv"
expect "no number" "$(status --check "$tmp/word.csv" -o "$tmp/report")" 3
expect "names line and column" "$(grep -c 'word.csv:2:21: n_gpus: expected a whole number' "$tmp/err")" 1
expect "leaves no report" "$(ls "$tmp/report" 2>/dev/null)" ""
printf '%s\n%s\n' "$header" "MPT 125m,,a100_80gb,8,1,1,8,,,,FULL_SHARD,512,32,2048,bf16,False,soon,," >"$tmp/time.csv"
expect "a time that is no number" "$(status --check "$tmp/time.csv")" 3
expect "no table" "$(status --check)" 2
expect "unknown option" "$(status --chekc "$tmp/one.csv")" 2
expect "nothing to write" "$(status --check --write "$tmp" "$tmp/one.csv")" 2
expect "no such format" "$(status --check -f yaml "$tmp/one.csv")" 2
expect "nothing of that kind to leave out" "$(status --leave-out group,moon "$tmp/one.csv")" 2
expect "says what there is" "$(grep -c "expected group, accelerator, source, generation, row, got 'moon'" "$tmp/err")" 1
printf '%s\n%s\n' "$header" "MPT 125m,,abacus,8,1,1,8,,,,FULL_SHARD,512,32,2048,bf16,False,1,," >"$tmp/nothing.csv"
expect "nothing fitted" "$(status --write "$tmp/nothing" "$tmp/nothing.csv")" 3
expect "says so" "$(grep -c -- '--write: nothing was fitted' "$tmp/err")" 1
expect "writes nothing" "$(ls "$tmp/nothing" 2>/dev/null)" ""

# A machine of the user's own: its times are those of an accelerator whose matrix products are 20 % slower than the file says.
own() { # name, efficiency of matrix products
    cat <<END
{"name": "$1", "source": "a test", "memory": "141GB", "bandwidth": "4.8TB/s", "peaks": {"fp32": "67TFLOPS", "bf16": "989TFLOPS"},
 "kernels": {"most": {"matmul": $2, "attention": 0.3, "convolution": 0.5, "lookup": 0.8, "vector": 0.8}, "memory": 0.9,
  "rows_half": 200, "outputs_half": 100, "inputs_half": 100, "source": "assumed"}}
END
}
own mine 0.7 >"$tmp/mine.json"
own slow 0.56 >"$tmp/slow.json"
{
    echo "$header,topology"
    for b in 1 2 4; do echo "llama3-8b,,,8,1,1,8,,,,3,$((b * 16)),$b,4096,bf16,full,1,,,\"switch:8@450GB/s,500ns\""; done
    echo 'gpt3-1.3b:sequence=2048,,,8,2,2,2,,,,0,64,4,,bf16,none,1,,,"switch:8@450GB/s,500ns"'
} >"$tmp/ask.csv"
expect "times of the slow machine" "$(status --check --rows -f csv --accelerator "$tmp/slow.json" "$tmp/ask.csv")" 0
awk -F, 'NR > 1 { print $8 }' "$tmp/out" >"$tmp/times"
expect "all of them" "$(grep -c '^[0-9.]*[1-9]' "$tmp/times")" 4
{
    echo "$header,topology"
    sed 1d "$tmp/ask.csv" | paste -d, - "$tmp/times" | awk -F, -v OFS=, '{ $17 = $NF; NF = NF - 1; print }'
    echo 'llama3-8b,,,8,1,1,8,,,,3,16,1,4096,bf16,full,,,,"switch:8@450GB/s,500ns"'
} >"$tmp/user.csv"
expect "a fit of one machine" "$(status --accelerator "$tmp/mine.json" --write "$tmp/fitted" "$tmp/user.csv")" 0
expect "skips what it cannot use, with a count" "$(grep -c '^ *1  no time is given  *user.csv: 6$' "$tmp/out")" 1
expect "writes the accelerator alone" "$(cd "$tmp/fitted" && find . -type f)" "./accelerators/mine.json"
expect "finds the slower products within 5 %" \
    "$(sed -n 's/.*"matmul": \([0-9.]*\).*/\1/p' "$tmp/fitted/accelerators/mine.json" | awk -v e=0.56 '{ d = $1 / e - 1; print (d < 0.05 && d > -0.05) ? "within" : $1 " for " e }')" within
expect "with their source" "$(grep -c 'fitted to user.csv' "$tmp/fitted/accelerators/mine.json")" 1
ran=$("$ringlet" run -q -m llama3-8b:sequence=4096 --accelerator "$tmp/fitted/accelerators/mine.json" --layout dp=8 --train zero=3,recompute=full -t switch:8@450GB/s,500ns --fold)
expect "the prediction rests on them" "$(echo "$ran" | grep -c '^80 % interval of an iteration: .*, fitted: 4 measured runs on mine with any in bf16$')" 1
expect "a model without evidence does not" "$("$ringlet" run -q -m resnet50 --accelerator "$tmp/fitted/accelerators/mine.json" --layout dp=8 -t switch:8@450GB/s,500ns --fold |
    grep -c 'assumed: no measured run of such a model on mine or its generation$')" 1
expect "no such accelerator" "$(status --accelerator "$tmp/none.json" "$tmp/user.csv" >/dev/null; grep -c "no accelerator has this name" "$tmp/out")" 1
expect "into no folder" "$(status --accelerator "$tmp/mine.json" --write "$tmp/no/where" "$tmp/user.csv")" 5

# What was assumed is told when it is compared with what was fitted.
for a in h100-sxm mi300x; do
    "$ringlet" run -q -m llama3-8b:sequence=4096 --accelerator $a --layout dp=8 --train zero=3,recompute=full -t switch:8@450GB/s,500ns --fold -f json >"$tmp/$a.json"
done
expect "JSON says what a prediction rests on" "$(grep -c '"basis": "assumed"' "$tmp/mi300x.json")" 1
"$ringlet" run --compare "$tmp/h100-sxm.json" "$tmp/mi300x.json" >"$tmp/out" 2>"$tmp/err"
expect "unlike evidence is told" "$(grep -c 'that on mi300x is assumed: their difference rests on no measurement' "$tmp/err")" 1
"$ringlet" run --compare "$tmp/h100-sxm.json" "$tmp/h100-sxm.json" >"$tmp/out" 2>"$tmp/err"
expect "like evidence is not" "$(wc -c <"$tmp/err" | tr -d ' ')" 0
"$ringlet" run -q -m llama3-8b:sequence=4096 --accelerator b200 --layout dp=8 --train zero=3,recompute=full -t switch:8@450GB/s,500ns --fold -f json >"$tmp/b200.json"
"$ringlet" run --compare "$tmp/h100-sxm.json" "$tmp/b200.json" >"$tmp/out" 2>"$tmp/err"
expect "unlike stacks are told" "$(grep -c "the stacks chosen differ, llm-foundry and megatron-bridge" "$tmp/err")" 1
cat >"$tmp/study.json" <<'END'
{"name": "both", "command": "run", "base": {"model": "llama3-8b:sequence=4096", "topology": "switch:8@450GB/s,500ns", "fold": true,
  "network": "alpha-beta", "layout": {"dp": 8}, "train": {"zero": 3, "recompute": "full"}},
 "axes": [{"name": "accelerator", "pointer": "/accelerator", "values": ["h100-sxm", "mi300x"]}]}
END
"$ringlet" sweep "$tmp/study.json" >"$tmp/out" 2>"$tmp/err"
expect "a sweep over unlike evidence tells, too" "$(grep -c "others' are assumed" "$tmp/err")" 1
"$ringlet" list accelerators >"$tmp/out" 2>&1
expect "accelerators say what is behind them" "$(grep -c '^h100-sxm .*llm-foundry bf16 [0-9]* runs' "$tmp/out"; grep -c '^h200 .*derived from hopper' "$tmp/out"; grep -c '^mi300x .*assumed' "$tmp/out")" "1
1
1"

expect "the measured runs" "$(status --check --rows -f csv "$measured")" 0
expect "covered or not, with a reason" "$(awk -F, 'NR > 1 { n++; if ($8 != "") c++; else if ($NF != "") m++ } END { print n, c + m }' "$tmp/out")" "281 281"
expect "at least 251 are covered" "$(awk -F, 'NR > 1 && $8 != "" { n++ } END { print (n >= 251 ? "yes" : n) }' "$tmp/out")" yes
finish
