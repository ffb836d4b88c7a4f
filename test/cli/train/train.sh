#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Training jobs on the command line: models, layouts, strategies, options from files, comparison of two runs, errors.
. "$(dirname "$0")/../../support/tap.sh"

job='--model gpt2-small --accelerator a100-40gb'
net='--topology switch:8@300GB/s,500ns'
says() { # name, text, then the arguments: exit status 0 and the text
    name=$1 text=$2
    shift 2
    "$ringlet" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
    [ "$status" = 0 ] && grep -qF -- "$text" "$tmp/out" && verdict "$name" "" || verdict "$name" "exit $status, or no '$text'"
}

says "a model over all accelerators" "tp 1, cp 1, dp 8, pp 1" run $job $net
says "tensor and pipeline parallelism" "tp 2, cp 1, dp 2, pp 2" run $job $net --layout tp=2,pp=2
says "what it takes of memory" "memory at stage 0" run $job $net --layout pp=2
says "tensors only without a framework" "these are tensors only" run $job $net
says "a framework's share" "reserved with fragments, 2.15 of context" run $job $net --strategy torchtitan
says "nothing saved" "recompute=selective saves no memory here" run --model gpt2-small:fused_attention=yes --accelerator a100-40gb $net --train recompute=selective
says "zero-bubble" "8 microbatches a pipeline" run $job $net --layout pp=4 --train schedule=zero-bubble,batch=16
says "interleaved" "dp 2, pp 4" run $job $net --layout pp=4,vp=3 --train schedule=interleaved,batch=16
says "compute is named by its pass" "x recomputed forward" run $job $net --layout tp=2,pp=2 --train recompute=full,batch=16 --explain
expect "a part of a transfer needs no more than that part" "$(awk '
    function us(t, unit) { return t * (unit ~ /^s/ ? 1e6 : unit ~ /^ms/ ? 1e3 : unit ~ /^us/ ? 1 : 1e-3) }
    /^  transfers: / { n++; if (us($10, $11) > us($5, $6)) print }
    END { if (n < 2) print n " kinds of transfers" }' "$tmp/out")" ""
says "experts" "expert dispatch" run --model mixtral-8x7b:layers=2 --accelerator h100-sxm $net --layout ep=8 --format json --timeline /dev/stdout
says "fully sharded" "all_gather" run $job $net --strategy fsdp
says "a strategy and more" "8 microbatches a pipeline" run $job $net --layout pp=2 --strategy axonn:batch=32,stack=any,precision=bf16
says "JSON has the training" '"model_flops_utilization"' run $job $net --format json
leaves_nothing 2 "recompute=full: is a trace, which does not go with --model: give one of them (write lists with commas and no blanks)" run $job $net --train batch=8 recompute=full
leaves_nothing 2 "--trace: does not go with --model" run $job $net --trace traces/transformer-8
leaves_nothing 3 "ep: 26 tables are not a multiple of ep 8" run --model dlrm-mlperf --accelerator a100 $net --layout ep=8
leaves_nothing 3 "more than the 85.2 GB of a100-80gb: zero=1 would fit" run --model dlrm-mlperf --accelerator a100 $net --layout ep=2
leaves_nothing 3 "more expert parallelism (ep), pipeline stages or" run --model deepseek-v3 --accelerator a100 $net
says "a microbatch of one" "in 4 microbatches a pipeline, each of 1 image" run --model resnet50 --accelerator a100 $net --train batch=32
says "one microbatch" "in 1 microbatch a pipeline, of 32 images" run --model resnet50 --accelerator a100 $net --train batch=256,microbatch=32
"$ringlet" run --model dlrm-mlperf --accelerator a100 -t switch:26@300GB/s,500ns --layout ep=26 --train batch=53248,microbatch=2048 >"$tmp/out" 2>&1
expect "ranks that read the same stand in one row" "$(sed -n '/^0/{s/ .*//;p;}' "$tmp/out")" 0-25
# All communication is folded away; a faster network halves a transfer except for its latencies.
folded="run $job --topology switch:8@3GB/s,1ns --train zero=1,batch=8 --fold-stages --any-memory"
says "folded collectives are transfers" "transfers take" $folded --explain
grep -q "other collectives take the time that they take alone" "$tmp/out" && verdict "and take the time that they take alone" "" || verdict "and take the time that they take alone" "it is not said"
guess=$(sed -n 's/^  a network twice as fast *\([0-9.]*\) ms.*/\1/p' "$tmp/out")
"$ringlet" $folded --network-scale 2 >"$tmp/out" 2>&1
expect "folded collectives are the network's" "$(sed -n 's/^total time *\([0-9.]*\) ms/\1/p' "$tmp/out" |
    awk -v guess="$guess" '{ print (guess / $1 < 1.02 && guess / $1 > 0.98) }')" 1
says "list of trainings" "schedule" list training
says "list of strategies" "samo" list strategies
says "DASO" "saved" run --model resnet50 --accelerator a100-40gb --topology juwels-booster --strategy daso:nodes=2,epochs=10,samples=20000
says "DASO: what a batch takes" "a rank, 273 ms of compute" run --model resnet50 --accelerator a100-40gb --topology juwels-booster --strategy daso:nodes=2,epochs=10,samples=20000,batch_time=273ms
daso="run --model resnet50 --accelerator a100-40gb --topology juwels-booster --strategy daso:nodes=2,epochs=10,samples=20000"
says "a picture of DASO's epochs" ">time of an epoch<" $daso --plot /dev/stdout
grep -q "the loss that was given" "$tmp/out" && verdict "a constant loss is not drawn" "it is" || verdict "a constant loss is not drawn" ""
says "and of a loss" ">the loss that was given, over time<" $daso,loss=3,0.9,1 --plot /dev/stdout
says "which is one setting, wherever it stands" "10 epochs" $daso,loss=3,0.9,1,warmup=2
leaves_nothing 2 "loss: expected a ratio of 0 to 1, got '9'" $daso,loss=3,9,1,warmup=2
leaves_nothing 2 "expected NAME=VALUE, got 'fused'" $daso,warmup=2,fused
leaves_nothing 5 "/nowhere/x.svg" $daso --plot /nowhere/x.svg
# Stragglers alone: each saving is within a point of the reference, which has all rows of 16 nodes. Without jitter the overhead is
# 0.1 / 1.1; one node saves nothing.
"$ringlet" run stragglers -f csv >"$tmp/out" 2>"$tmp/err"
expect "the straggler table, within a point" "$(awk -F, 'NR > 1 { n++; d = $6 - $7; wrong += $7 == "" || d > 0.01 || d < -0.01 } END { print n, wrong }' "$tmp/out")" "14 0"
expect "overhead alone: 24 of 264 batches" "$(sed -n 9p "$tmp/out")" "16,0.000000,0.100000,264.000000,240.000000,0.090909,0.091000"
expect "the same again" "$("$ringlet" run stragglers -f csv | cmp - "$tmp/out")" ""
expect "one node" "$("$ringlet" run stragglers --nodes 1 --jitter 0.3 --overhead 0 -f csv | tail -1 | cut -d, -f6,7)" "0.000000,"
expect "a percentage" "$("$ringlet" run stragglers --nodes 4 --jitter 30% --overhead 0 -f csv)" "$("$ringlet" run stragglers --nodes 4 --jitter 0.3 --overhead 0 -f csv)"
expect "numbers and percentages in one list" "$("$ringlet" run stragglers --nodes 4 --jitter 0.1,10% --overhead 0.25,25% -f csv | sed 1d | sort -u | wc -l)" 1
expect "a range of nodes" "$("$ringlet" run stragglers --nodes 4:16:x2 --jitter 0 --overhead 0 -f csv | cut -d, -f1 | tr '\n' ' ')" "nodes 4 8 16 "
leaves_nothing 2 "expected 0 to 10, or a percentage, got '2000%'" run stragglers --jitter 2000%
leaves_nothing 2 "--jitter: expected a number, got '10x'" run stragglers --jitter 0.1,10x
leaves_nothing 2 "--overhead: too many shares: 65; the limit is 64" run stragglers --overhead "$(seq -s, 65)"
expect "8 skips wait for 2 batches" "$("$ringlet" run stragglers --skips 8 --jitter 0.2 --overhead 0 -f csv)" \
    "$("$ringlet" run stragglers --skips 8 --wait 2 --jitter 0.2 --overhead 0 -f csv)"
says "its JSON has a manifest" '"command": "run stragglers"' run stragglers --jitter 0 -f json
says "its table names what it is of" "# 4 GPUs a node, 240 batches, a global sync every 4, merged after 1; seed 11" run stragglers --jitter 0
leaves_nothing 2 "--nodes: expected whole numbers from 1 to 4194304, got '0'" run stragglers --nodes 16,0
leaves_nothing 2 "--nodes: expected a whole number, got '1.5'" run stragglers --nodes 1.5
leaves_nothing 2 "--nodes: expected whole numbers from 1 to 4096, got '4097'" run stragglers --nodes 4097 --gpus 4096
leaves_nothing 2 "--jitter: expected 0 to 10, or a percentage, got '11'" run stragglers --jitter 0.1,11
leaves_nothing 2 "--overhead: expected a number, got 'x'" run stragglers --overhead x
leaves_nothing 2 "--skips: expected 1 to 65536, got '0'" run stragglers --skips 0
# DASO consists of many runs: options of a single run are refused, options of the network apply.
for odd in '--timeline f' '--report f' '--links' '--links-csv f' '--explain' '--until 1ms' '--series 1us' '--layout tp=2' '--fold' \
    '--noise lognormal:cv=0.1' '--link-event 1ms:acc0=0.5' '--rank-scale 1:compute=0.5' '--failures mtbf=1h,checkpoint=1s' '--job f@0' \
    '--background 0>1:1GB/s' '--overlap-slowdown 2' '--timing astra' '--rescale dp=2' '--alone'; do
    leaves_nothing 2 "${odd%% *}: does not go with --strategy daso" $daso $odd
done
leaves_nothing 2 "--memory-csv: needs a single run, not --strategy daso" $daso --memory-csv f
leaves_nothing 2 "batch_time: expected more than 0, got '0s'" $daso,batch_time=0s
leaves_nothing 2 "loss: expected a number, START,RATIO,FLOOR or a file" $daso,loss=
says "DASO as CSV" "skips,local,wait,epochs,epoch_ps" $daso --format csv
took() { "$ringlet" $daso --format json "$@" 2>"$tmp/err" | sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p'; }
base=$(took)
slower() { got=$(took "$@"); [ "${got:-0}" -gt "$base" ] && verdict "slower: $*" "" || verdict "slower: $*" "$got of $base"; }
slower --network-scale 0.1
slower --compute-scale 0.5
[ "$(took --algorithm all_reduce=recursive_doubling)" -ne "$base" ] && verdict "another algorithm counts" "" || verdict "another algorithm counts" "it does not"
expect "as fast as it is" "$(took --network-scale 1 --compute-scale 1)" "$base"

# Unusual spellings.
leaves_nothing 2 "order: expected axes like tp-cp-dp-pp, or auto, got ''" run $job $net --layout order=
leaves_nothing 3 "ep: gpt2-small has no experts: expected ep=1" run $job $net --layout ep=2
leaves_nothing 2 "--map: orders the axes of the layout: it does not go with order=" run $job $net --layout tp=2,order=dp-tp --map tp=0,dp=0
leaves_nothing 2 "--background: size: expected more than 0, got '0'" run $job $net --background '0>1:1GB/s,size=0'
leaves_nothing 2 "--background: off: expected more than 0, got '0'" run $job $net --background '0>1:1GB/s,on=1ms,off=0'
leaves_nothing 2 "--failures: expected NAME=VALUE, got ''" run $job $net --iterations 9 --failures mtbf=1h,checkpoint=1s,
leaves_nothing 2 "gpt2-small: is a model" run $net --job gpt2-small@0-3
printf '{"model": "gpt2-small", "accelerator": "a100-40gb"}' >"$tmp/placeless.json"
printf '{"model": "gpt2-small", "accelerator": "a100-40gb", "topology": "switch:4@1GB/s,1us"}' >"$tmp/placed.json"
printf '{"model": "resnet50", "accelerator": "a100-40gb", "topology": "juwels-booster", "strategy": "daso:nodes=2"}' >"$tmp/daso.json"
printf '{"compare": true, "topology": "switch:4@1GB/s,1us"}' >"$tmp/again.json"
leaves_nothing 3 "placeless.json: --topology: is required" run --compare "$tmp/placed.json" "$tmp/placeless.json"
leaves_nothing 3 "daso.json:1:93: strategy: daso is many runs" run --compare "$tmp/placed.json" "$tmp/daso.json"
leaves_nothing 3 "again.json:1:13: compare: a file with" run --compare "$tmp/again.json" "$tmp/placed.json"
for odd in '--timeline f' '--layout tp=2' '--plot f' '--links' '--topology f'; do
    leaves_nothing 2 "${odd%% *}: does not go with --compare: set options in the two files" run --compare "$tmp/placed.json" "$tmp/placed.json" $odd
done
leaves_nothing 2 "--format: --compare writes a table or json" run --compare "$tmp/placed.json" "$tmp/placed.json" --format csv
timed() { "$ringlet" run $job $net "$@" --format json 2>"$tmp/err" | sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' | head -1; }
# With stages, under flow, the last messages of a pipeline share ports with gradients. Parts of a message that are gathered
# share the port of the next message.
for layout in tp=4,dp=2 dp=8 tp=2,pp=2,dp=2 pp=4,dp=2; do
    for network in alpha-beta flow; do
        case $layout,$network in *pp*,flow) continue ;; esac
        expect "folded = whole: $layout, $network" "$(timed --layout $layout --train overlap=off,scatter_gather=off --network $network --fold)" \
            "$(timed --layout $layout --train overlap=off,scatter_gather=off --network $network)"
    done
done
# Tensor-parallel groups with their own dimensions: folding agrees to the picosecond for all other communication.
planes() { "$ringlet" run --model gpt2-small --accelerator a100-40gb --layout "$1" --train "$2" --network "$3" -t "$4" ${5:-} --format json 2>"$tmp/err" | sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' | head -1; }
for network in alpha-beta flow; do
    for case in 'tp=2,pp=2,dp=2 batch=16 switch:2@300GB/s,500ns*switch:4@25GB/s,2us' \
        'tp=4,pp=3,dp=2 batch=12,zero=1 fully-connected:4@300GB/s,500ns*fat-tree:8@25GB/s,1us,hosts_per_leaf=2,oversubscription=2' \
        'tp=2,pp=2,dp=4,order=dp-tp-pp batch=32,schedule=gpipe ring:4@100GB/s,500ns*switch:2@200GB/s,1us*ring:2@25GB/s,2us' \
        'tp=2,pp=4,dp=2,vp=3 batch=32,schedule=interleaved,zero=2 switch:2@300GB/s,500ns*torus:4x2@25GB/s,1us'; do
        set -- $case
        whole=$(planes "$1" "$2" $network "$3")
        expect "planes = whole: $1, $network" "$(planes "$1" "$2" $network "$3" --fold)" "${whole:-nothing}"
    done
done
says "what was folded" "stands for the 2 of a tensor-parallel group" run --model gpt2-small --accelerator a100-40gb --layout tp=2,pp=2,dp=2 --train batch=16 -t 'switch:2@300GB/s,500ns*switch:4@25GB/s,2us' --fold
says "what could not be" "stands for a pipeline stage" run $job $net --layout tp=2,pp=2,dp=2 --fold
leaves_nothing 2 "--fold: does not go with --rank-scale, which makes ranks differ" run $job $net --layout tp=2,pp=2 --fold --rank-scale 1:compute=0.5
says "overlap costs" "total time" run $job $net --overlap-slowdown 1.3
leaves_nothing 3 "a slowdown from 1" run $job $net --overlap-slowdown 0.5
leaves_nothing 2 "needs --model" run --accelerator a100-40gb $net
leaves_nothing 2 "need --model" run --trace traces/transformer-8 $net --layout tp=2
# Without --accelerator the training uses a named default: the output is the same except for those words.
alone() { "$ringlet" run -t hgx-h100-8 "$@" 2>"$tmp/err" | sed 's/ (none is named: the default)//'; }
for m in transformer transformer:layers=4,microbatch=4,ranks=4 gpt2-small:tp=2,steps=2; do
    alone --model $m --links --series 100us >"$tmp/none"
    alone --model $m --links --series 100us --accelerator h100-sxm >"$tmp/h100"
    grep -q '^iteration 0 ' "$tmp/none" && cmp -s "$tmp/none" "$tmp/h100" && verdict "--model $m: one family" "" ||
        verdict "--model $m: one family" "$(diff "$tmp/none" "$tmp/h100")"
done
says "which accelerator is said" "on h100-sxm (none is named: the default)" run --model transformer:layers=1 $net
expect "settings of the training behind the model" "$("$ringlet" run --model transformer:layers=2,ranks=4,microbatch=2 $net -f csv 2>&1)" \
    "$("$ringlet" run --model transformer:layers=2 --layout dp=4 --train microbatch=2 $net -f csv 2>&1)"
leaves_nothing 2 "--model: ranks: is given twice" run --model transformer:ranks=2,ranks=4 $net
leaves_nothing 2 "peak: unknown setting of a transformer" run --model transformer:peak=1TFLOPS $net
leaves_nothing 2 "--model: microbatch: expected" run --model transformer:microbatch=0 $net
leaves_nothing 2 "did you mean 'gpt2-small'" run --model gpt2-smal --accelerator a100-40gb $net
leaves_nothing 3 "did you mean 'a100-40gb'" run --model gpt2-small --accelerator a100-41gb $net
leaves_nothing 2 "unknown setting" run $job $net --layout qp=2
leaves_nothing 2 "expected one of none, selective, products, full" run $job $net --train recompute=some
leaves_nothing 2 "unknown strategy 'sammo'; did you mean 'samo'?" run $job $net --strategy sammo
leaves_nothing 3 "not a multiple" run $job $net --layout tp=3
leaves_nothing 3 "exceed the limit of 268435456 operations" run $job $net --train batch=800000000
leaves_nothing 3 "12 heads are not a multiple of tp 8" run $job $net --layout tp=8
leaves_nothing 3 "16 ranks exceed the 8 ranks available" run $job $net --layout dp=16
leaves_nothing 3 "several chunks per stage need schedule=interleaved" run $job $net --layout pp=2,vp=2
leaves_nothing 2 "the unit is missing" run $job $net --train host=5
leaves_nothing 3 "stage 0 needs" run --model llama3-70b --accelerator h100-sxm $net
says "whatever the memory" "llama3-70b" run --model llama3-70b --accelerator h100-sxm $net --any-memory --train zero=3
leaves_nothing 2 "unknown setting" run --model resnet50 --accelerator a100-40gb --topology juwels-booster --strategy daso:nodez=2

# A name appears once in a list. A repeated option replaces the earlier value, and the command line overrides a file.
leaves_nothing 2 "--layout: tp: is given twice, as 'tp=2' and as 'tp=4'" run $job $net --layout tp=2,tp=4
leaves_nothing 2 "--train: batch: is given twice" run $job $net --train batch=8,zero=1,batch=16
leaves_nothing 2 "--strategy: sparsity: is given twice" run $job $net --strategy samo:sparsity=0.8,sparsity=0.9
leaves_nothing 2 "--strategy daso: nodes: is given twice" run --model resnet50 --accelerator a100-40gb --topology juwels-booster --strategy daso:nodes=2,nodes=4
leaves_nothing 2 "layers: is given twice, as 'layers=2' and as 'layers=3'" run --model gpt2-small:layers=2,layers=3 --accelerator a100-40gb $net
leaves_nothing 2 "layers: is given twice" run --model transformer:layers=2,layers=3 $net
leaves_nothing 2 "--set: channels: is given twice, as 'channels=2' and as 'channels=4'" run $job $net --set channels=2 --set channels=4
leaves_nothing 2 "--rank-scale: 1:compute: is given twice" run $job $net --rank-scale 1:compute=0.5 --rank-scale 1:compute=0.9
leaves_nothing 2 "--link-scale: acc1: is given twice" run $job $net --link-scale acc1=0.5 --link-scale acc1=0.5
leaves_nothing 2 "--algorithm: all_reduce: is given twice" run $job $net --algorithm all_reduce=ring,all_reduce=direct
leaves_nothing 2 "--noise: cv: is given twice" run $job $net --noise lognormal:cv=0.1,cv=0.2
leaves_nothing 2 "--failures: mtbf: is given twice" run $job $net --iterations 9 --failures mtbf=1h,checkpoint=1s,mtbf=2h
leaves_nothing 2 "--background: size: is given twice" run $job $net --background '0>1:1GB/s,size=1kB,size=2kB'
says "an option again replaces what was given before" "tp 4, cp 1" run $job $net --layout tp=2 --layout tp=4
says "help says so" "a later option overrides an" run --help
printf '{"layout": "tp=2", "set": ["launch=1ms", "message=1us"], "link-scale": ["acc1=0.5"]}' >"$tmp/once.json"
printf '{"layout": "tp=2", "set": ["launch=1ms", "launch=2ms"]}' >"$tmp/twice.json"
timed() { "$ringlet" run $job $net "$@" --format json 2>"$tmp/err" | sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' | head -1; }
expect "what is typed replaces each name of a file" "$(timed --config "$tmp/once.json" --set launch=2us --link-scale acc1=0.25)" \
    "$(timed --layout tp=2 --set launch=2us --set message=1us --link-scale acc1=0.25)"
expect "and a later file that of an earlier one" "$(printf '{"set": ["launch=2us"]}' >"$tmp/later.json"; timed --config "$tmp/once.json" --config "$tmp/later.json")" \
    "$(timed --layout tp=2 --set launch=2us --set message=1us --link-scale acc1=0.5)"
leaves_nothing 3 "launch: is given twice" run $job $net --config "$tmp/twice.json"

# An unknown stack is an error. Without one, that with the best evidence is taken; what it rests on is told.
leaves_nothing 3 "stack: no stack 'foo'; known are: any, axonn, llm-foundry" run $job $net --train stack=foo
leaves_nothing 3 "known are: any, axonn, llm-foundry" run $job $net --strategy axonn:stack=foo
says "a known one" "stack llm-foundry: ringlet calibrate-training" run $job $net --train stack=llm-foundry
says "any" "stack any: assumed" run $job $net --train stack=any
says "a strategy's own" "stack axonn: matmul, host_handover: fitted" run $job $net --strategy axonn
leaves_nothing 2 "nodes of 4" run --model resnet50 --accelerator a100-40gb $net --strategy daso:nodes=4

# Memory over time: its maximum is the figure of the check before the run, for every schedule, folded or not.
field() { grep -o "\"$1\": *[0-9]*" "$tmp/memory.json" | sed 's/.* //; s/.*://'; }
for train in schedule=gpipe schedule=1f1b,recompute=full schedule=zero-bubble schedule=interleaved schedule=message; do
    case $train in *interleaved) layout=pp=4,vp=3 ;; *) layout=pp=4 ;; esac
    for fold in "" --fold; do
        "$ringlet" run $job $net --layout $layout --train batch=16,$train $fold --memory-csv "$tmp/memory.csv" --format json -o "$tmp/memory.json" 2>"$tmp/err"
        alike=2
        [ -z "$fold" ] || alike=1
        expect "stages have a peak: $train $fold" "$(field peak_bytes | grep -c '^[1-9]')" 4
        expect "which the check counted: $train $fold" "$(field peak_bytes)" "$(field memory_bytes)"
        expect "and each rank reaches: $train $fold" \
            "$(awk -F, 'NR > 1 && $3 > most[$2] { most[$2] = $3 } END { for (r in most) print most[r] }' "$tmp/memory.csv" | sort)" \
            "$(field peak_bytes | awk -v alike=$alike '{ for (i = 0; i < alike; i++) print }' | sort)"
    done
done
says "memory in the timeline" '"name":"memory","args":{"bytes":' run $job $net --layout pp=2 --timeline /dev/stdout
says "memory of a run that is stopped" "time_ps,rank,bytes" run $job $net --layout pp=2 --until 10ms --memory-csv /dev/stdout -q
leaves_nothing 2 "needs --model" run --trace traces/transformer-8 $net --memory-csv "$tmp/left.csv"
leaves_nothing 2 "cannot be combined with --rescale" run $job $net --rescale dp=16 --memory-csv "$tmp/left.csv"
leaves_nothing 2 "needs a single run, not --compare" run --compare a b --accelerator a100-40gb --model gpt2-small --memory-csv "$tmp/left.csv"
leaves_nothing 2 "needs a single run, not --strategy daso" run --model resnet50 --accelerator a100-40gb --topology juwels-booster --strategy daso:nodes=2 --memory-csv "$tmp/left.csv"
leaves_nothing 3 "not a multiple" run $job $net --layout tp=3 --memory-csv "$tmp/left.csv"
leaves_nothing 5 "nowhere/memory.csv" run $job $net --memory-csv "$tmp/nowhere/memory.csv"
[ ! -e "$tmp/left.csv" ] && [ ! -e "$tmp/nowhere" ] && verdict "no memory left behind" "" || verdict "no memory left behind" "a file was left"

# Options from a file: the same bytes as typed, except for operands in the manifest.
printf '{"_": "a comment", "model": "gpt2-small", "accelerator": "a100-40gb", "topology": "switch:8@300GB/s,500ns", "layout": {"tp": 2}, "train": "batch=8", "no-skew": true}' >"$tmp/a.json"
"$ringlet" run $job $net --layout tp=2 --train batch=8 --no-skew >"$tmp/typed" 2>&1
"$ringlet" run --config "$tmp/a.json" >"$tmp/filed" 2>"$tmp/err"
cmp -s "$tmp/typed" "$tmp/filed" && verdict "options from a file" "" || verdict "options from a file" "differs from what is typed"
says "typed options hold" "pp 4" run --config "$tmp/a.json" --layout tp=2,pp=4
printf '{"modle": "gpt2-small"}' >"$tmp/b.json"
leaves_nothing 3 "b.json:1:11: modle: no option of this command; did you mean 'model'?" run --config "$tmp/b.json"
printf '{"no-skew": 3}' >"$tmp/b.json"
leaves_nothing 3 "expected true or false" run --config "$tmp/b.json"
printf '[1]' >"$tmp/b.json"
leaves_nothing 3 "expected an object" run --config "$tmp/b.json"
printf '{"model": ' >"$tmp/b.json"
leaves_nothing 3 "b.json:1" run --config "$tmp/b.json"
leaves_nothing 5 "nowhere" run --config "$tmp/nowhere"
echo '{"model": "transformer:layers=1,hidden=64,heads=2,vocabulary=100", "topology": {"_why": "written out", "dims": [{"shape": "switch", "size": 4, "bandwidth": "50GB/s", "latency": "1us"}]}}' >"$tmp/b.json"
"$ringlet" run --config "$tmp/b.json" -f csv >"$tmp/written" 2>"$tmp/err"
"$ringlet" run --model transformer:layers=1,hidden=64,heads=2,vocabulary=100 -t 'switch:4@50GB/s,1us' -f csv >"$tmp/named" 2>"$tmp/err"
[ -s "$tmp/named" ] && cmp -s "$tmp/written" "$tmp/named" && verdict "a topology written out in --config" "" || verdict "a topology written out in --config" "another result"
leaves_nothing 2 "expected a file" run --config=

says "a short name" "gpt2-small on v100-sxm2-16gb" run --model gpt2-small --accelerator v100 --topology switch:8@150GB/s,500ns --train precision=fp16,batch=8
says "the best known one" "stack llm-foundry: the best known on a100-40gb" run $job $net
says "what is derived is called so" "derived: measured runs on hopper, none of them on h100-sxm with any in bf16" run --model gpt2-small --accelerator h100-sxm --topology switch:8@450GB/s,500ns --train stack=any,batch=8
says "a fit is called one" "measured runs on a100-80gb with llm-foundry in bf16" run --model gpt2-small --accelerator a100-80gb --topology switch:8@300GB/s,500ns --train stack=llm-foundry,batch=8

# What the time was spent on adds up to 100.0 %, as printed, and names levers; folded, the parts are the same.
spent() { sed -n '/^where the time goes/,/^  sum/p' "$tmp/out" | awk -v column="$1" '/ %$/ && !/^  sum|^    / { s += $(NF - column) } END { printf "%.1f", s }'; }
pipeline="run --model llama3-8b --accelerator h100-sxm -t hgx-h100-8 --layout tp=2,pp=2,dp=2 --train batch=32 --explain"
says "the bubble is named" "pipeline bubble" $pipeline
expect "parts of a rank add up" "$(spent 3)" 100.0
expect "parts of all ranks add up" "$(spent 1)" 100.0
expect "most is lost to" "$(sed -n 's/^most is lost to: \([^,]*\),.*/\1/p' "$tmp/out")" "pipeline bubble"
grep -q 'schedule=interleaved,vp=2.*equal stages leave a bubble of 5.9 %, with twice the microbatches 3.0 %' "$tmp/out" && verdict "its levers" "" || verdict "its levers" "they are missing"
bubble() { sed -n '/^where the time goes/,/^  sum/p' "$tmp/out" | awk -v column="$1" '/^  pipeline bubble/ { s = $(NF - column) } /^    / { s -= $(NF - column) } END { printf "%.1f", s * s }'; }
expect "parts of the bubble add up to it" "$(bubble 3) $(bubble 1) $(grep -c '^    \(warm-up\|inside\|drain\) ' "$tmp/out")" "0.0 0.0 3"
named() { sed -n '/^where the time goes/,/^  sum/p' "$tmp/out" | cut -c 1-26; }
parts=$(named)
says "folded: exposed communication by purpose" "exposed TP communication" $pipeline --fold
expect "folded: parts add up" "$(spent 3)" 100.0
expect "folded: the same parts" "$(named)" "$parts"
"$ringlet" $pipeline -f json >"$tmp/out"
expect "as JSON, the causes add up" "$(jq -c '[([.explain.causes[].cause_ps] | add) == .time_ps, .explain.largest_loss, ([.ranks[] | .compute_ps + .host_ps + .idle_ps + .bubble_ps + .start_skew_ps + .peer_wait_ps + .exposed_tp_ps + .exposed_cp_ps + .exposed_ep_ps + .exposed_dp_ps + .exposed_pp_ps + .exposed_offload_ps + .exposed_other_ps + .ended_ps] | unique) == [.time_ps]]' "$tmp/out")" '[true,"pipeline bubble",true]'
expect "as JSON, the parts of the bubble add up" "$(jq -c '[.ranks[] | .bubble_warm_up_ps + .bubble_inside_ps + .bubble_drain_ps == .bubble_ps] + [.bubble_warm_up_ps + .bubble_inside_ps + .bubble_drain_ps == .bubble_ps] | unique' "$tmp/out")" '[true]'

# The bubble is in the sentence on what bounds the run. Folded or not, the account is the same, and --verify-fold
# simulates both.
says "the sentence names the bubble" "what bounds it: the pipeline bubble; through the stages, compute takes" run --model llama3-8b -t switch:8@450GB/s,500ns --layout tp=2,pp=4 --train batch=8
wide="run --model llama3-8b -t switch:8@450GB/s,500ns*switch:8@50GB/s,2us --layout tp=8,dp=8"
"$ringlet" $wide -f json >"$tmp/whole.json"
"$ringlet" $wide --fold -f json >"$tmp/folded.json"
account='[.time_ps, .compute_ps, .exposed_comm_ps, .idle_ps, .host_ps, .exposed_tp_ps, .exposed_dp_ps]'
expect "64 ranks, folded or not: the same account" "$(jq -c "$account" "$tmp/folded.json")" "$(jq -c "$account" "$tmp/whole.json")"
says "and verified" "verified: the same time with every rank simulated" $wide --fold --verify-fold
grep -q ' [0-9]* [0-9][0-9]0 tokens/s' "$tmp/out"
expect "thousands can be read" "$?" 0
"$ringlet" run --model llama3-8b -t 'switch:8@450GB/s,500ns*switch:8@50GB/s,2us' --layout tp=2,dp=8,pp=4 --train batch=32 --fold-stages --verify-fold >"$tmp/out" 2>"$tmp/err"
expect "stages whose collectives contend: exit 1" "$? $(grep -c 'iteration 0 takes .* folded and .* with every rank simulated' "$tmp/err")" "1 1"
"$ringlet" $wide --verify-fold >"$tmp/out" 2>"$tmp/err"
expect "--verify-fold without a fold" "$?" 2
printf '{"command": "run", "base": {"model": "llama3-70b", "topology": "switch:8@450GB/s,500ns", "layout": "tp=8", "train": "batch=8,zero=0"}, "axes": [{"name": "r", "pointer": "/seed", "values": [1]}]}' >"$tmp/study.json"
"$ringlet" sweep "$tmp/study.json" -q --db "$tmp/study" >"$tmp/out" 2>"$tmp/err"
expect "a study's first error is whole" "$(grep -c 'more than the [0-9.]* GB of h100-sxm: .* needed' "$tmp/err")" 1

# Comparison: the differences of the states add up to the difference of the span.
"$ringlet" run --config "$tmp/a.json" --format json -o "$tmp/one.json" 2>"$tmp/err"
says "a result and a file of options" "the second takes" run --compare "$tmp/one.json" "$tmp/a.json"
grep -q 'takes 0.00 % more time' "$tmp/out" && verdict "equal to itself" "" || verdict "equal to itself" "it is not"
printf '{"model": "gpt2-small", "accelerator": "a100-40gb", "topology": "switch:8@300GB/s,500ns"}' >"$tmp/b.json"
says "where the difference is" "exposed DP communication" run --compare "$tmp/a.json" "$tmp/b.json"
expect "shares add up" "$(awk '/^(compute|exposed [A-Z]* ?communication|host|idle) / { s += $NF } END { printf "%.0f", s }' "$tmp/out")" 100
"$ringlet" run --trace traces/transformer-8 -t switch:8@300GB/s,500ns -f json -o "$tmp/short.json" 2>"$tmp/err"
says "much longer is told as a factor" "the second takes 13." run --compare "$tmp/short.json" "$tmp/whole.json"
says "as JSON" '"transfers"' run --compare "$tmp/one.json" "$tmp/b.json" --format json
leaves_nothing 2 "expected two files, got 1" run --compare "$tmp/one.json"
printf '{"schema_version": 1}' >"$tmp/c.json"
leaves_nothing 3 "c.json: time_ps is missing: expected a result" run --compare "$tmp/one.json" "$tmp/c.json"
head -c 2000 "$tmp/one.json" >"$tmp/c.json"
leaves_nothing 3 "c.json: byte 2000: the file ends here" run --compare "$tmp/one.json" "$tmp/c.json"
sed 's/"transfer_ps": *[0-9]*/"transfer_ps": "1us"/' "$tmp/one.json" >"$tmp/c.json"
leaves_nothing 3 "transfer_ps: expected a whole number" run --compare "$tmp/one.json" "$tmp/c.json"
# The result of a large run exceeds the 64 MiB that are read at once.
{ sed '/"collectives": \[/q' "$tmp/one.json" && awk 'BEGIN {
    for (i = 0; i < 500000; i++)
        print "{\"collective\": \"all_reduce\", \"algorithm\": \"ring\", \"bytes\": 1048576, \"wait_ps\": 1, \"transfer_ps\": 1000000, \"first_arrival_ps\": 0, \"end_ps\": 1000001},"
}' && sed '1,/"collectives": \[/d' "$tmp/one.json"; } >"$tmp/large.json"
says "a result of 70 MB" "takes 0.00 % more time" run --compare "$tmp/large.json" "$tmp/one.json"
rm "$tmp/large.json"
finish
