#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ringlet check on inputs of trainings and calibrations: each kind is recognised by its content, and an error has
# file, line and column. (Topologies, placements and traces: commands.sh.) Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"
good() { # what is said, file
    "$ringlet" check "$2" >"$tmp/out" 2>"$tmp/err" </dev/null
    expect "good: $1" "$?-$(cut -c"1-$((${#2} + ${#1} + 6))" "$tmp/out")" "0-$2: ok: $1"
}
bad() { # status, what is said behind the file's name, the content, the file's name
    printf '%s\n' "$3" >"$tmp/$4"
    "$ringlet" check "$tmp/$4" >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
    [ "$status" = "$1" ] && grep -qF -- "ringlet: $tmp/$4$2" "$tmp/err" && [ "$(wc -l <"$tmp/err")" -eq 1 ] && [ ! -s "$tmp/out" ] &&
        verdict "bad: $4$2" "" || verdict "bad: $4$2" "exit $status, expected $1"
}
for f in workload/accelerators/*.json; do
    "$ringlet" check "$f" >"$tmp/out" 2>"$tmp/err"
    expect "$f" "$?-$(grep -c ': ok: accelerator ' "$tmp/out")" 0-1
done
printf 'name,parameters,forward_flop\na,10,20\nb,30,60\n' >"$tmp/model.csv"
good "model of 2 layers, 40 parameters" "$tmp/model.csv"
printf '{"layers": [{"name": "a", "parameters": 5}]}' >"$tmp/model.json"
good "model of 1 layer, 5 parameters" "$tmp/model.json"
printf '# id count\n3 10\n4 20\n' >"$tmp/updates"
good "updates of 2 parameters, 30 in all" "$tmp/updates"
printf '7\n8\n9\n' >"$tmp/updates"
good "updates of 3 parameters, 24 in all" "$tmp/updates"
printf '{"model": "gpt2-small", "accelerator": "a100-40gb", "topology": "hgx-h100-8", "layout": {"tp": 2}, "format": "json"}' >"$tmp/options.json"
good "options of ringlet run" "$tmp/options.json"
printf '{"model": "gpt2-small", "accelerator": "a100-40gb", "layout": {"pp": 2}}' >"$tmp/job.json"
good "a job for ringlet run" "$tmp/job.json"
printf '{"trace": "traces/transformer-8"}' >"$tmp/job.json"
good "a job for ringlet run" "$tmp/job.json"
printf 'collective,n_ranks,size_bytes,time_us\nall_reduce,8,1024,10\nall_reduce,8,2048,11.5\n' >"$tmp/coll.csv"
good "2 measured collectives" "$tmp/coll.csv"
head='model,params,gpu_system,n_gpus,tp,pp,dp,cp,vp,ep,sharding,global_batch,micro_batch,seq_len,precision,recompute,iteration_time_s,tokens_per_s_per_gpu,tflops_per_gpu,mfu_pct,source,licence,note'
row='GPT-2 7.5B (Megatron-LM),7.5B,"V100-SXM2-16GB, 4/node",16,4,4,1,,,,,4,1,1024,fp16,full,0.661,,23.2,,own,own,'
printf '%s\n%s\n' "$head" "$row" >"$tmp/training.csv"
good "1 measured training" "$tmp/training.csv"

printf '%s\n%s\n%s\n' "$head" "$row" "$(echo "$row" | sed 's/,0.661,/,fast,/')" >"$tmp/training.csv"
good "1 measured training; 1 row skipped: row 3: iteration_time_s: expected seconds, got 'fast'" "$tmp/training.csv"
echo '{"schema": "1.1.0-chakra.0.0.4", "pid": 7, "nodes": [{"id": 2, "name": "[pytorch|profiler|execution_trace|thread]", "ctrl_deps": 1}]}' >"$tmp/rank_3.json"
good "host execution trace of rank 3: 0 communications; --host-trace gives their sizes to a recording" "$tmp/rank_3.json"
"$ringlet" run --trace "$tmp/rank_3.json" -t hgx-h100-8 >"$tmp/out" 2>"$tmp/err"
expect "which is no trace, and run says so" "$?-$(grep -c 'host execution trace of PyTorch.*--host-trace' "$tmp/err")" 3-1

bad 3 ":1:10: dimz: unknown key 'dimz', did you mean 'dims'? (taken as a topology; --as says otherwise)" '{"dimz": [4]}' t.json
bad 3 ":2:3: parameters: expected a whole number" "name,parameters
a,x" m.csv
bad 3 ":1:21: layers[0].nam: unknown key 'nam', did you mean 'name'?" '{"layers": [{"nam": "a"}]}' m.json
bad 3 ':3: expected "count" or "id count"' "# counts
3 10
4 x" u.txt
bad 3 ":1:90: peaks.bf16: " '{"name": "a", "source": "none", "memory": "1GB", "bandwidth": "1TB/s", "peaks": {"bf16": "3"}, "kernels": {"most": {"matmul": 0.5}, "memory": 0.5}}' a.json
bad 3 ":1:65: topology: nowhere" '{"model": "gpt2-small", "accelerator": "a100-40gb", "topology": "nowhere"}' o.json
bad 3 ":1:36: modl: no option of this command; did you mean 'model'?" '{"topology": "hgx-h100-8", "modl": "gpt2-small"}' o.json
bad 3 ":1:62: train: recompute: expected one of none, selective, products, full" '{"model": "gpt2-small", "accelerator": "a100-40gb", "train": "recompute=some"}' j.json
bad 3 ":1:11: model: gpt2-smal: unknown model; did you mean 'gpt2-small'?" '{"model": "gpt2-smal", "accelerator": "a100-40gb"}' j.json
bad 3 ": --layout, --train" '{"layout": "tp=2", "trace": "traces/transformer-8"}' j.json
bad 3 ": no row is usable: 1 row skipped: row 2: size_bytes: expected a whole number" "collective,n_ranks,size_bytes,time_us
all_reduce,8,x,10" c.csv
bad 3 ":2:" "$head
$(echo "$row" | sed 's/,0.661,/,fast,/')" t.csv
bad 3 ":1: no column 'n_gpus'" "model,gpu_system,iteration_time_s
a,b,1" t.csv
bad 3 ":1:1: unknown column 'foo'; a table of layers has" "foo,bar
1,2" f.csv
bad 3 ":1:60: axes[0].pointer: expected a pointer" '{"base": {"trace": "x"}, "axes": [{"name": "a", "pointer": "x"}]}' study.json
# What 'ringlet list' names is found by kind.
good "accelerator h100-sxm, " h100-sxm
good "accelerator a100-80gb, " a100
good "topology of 8 accelerators, " hgx-h100-8
good "model of 51 layers, " gpt2-small
good "study of 401 points over 3 axes" replay
# The database of a study is told from recordings in the same format.
if "$ringlet" --version | grep -q SQLite; then
    echo '{"base": {"trace": "transformer-8", "topology": "hgx-h100-8"}, "axes": [
        {"name": "net", "pointer": "/network-scale", "values": [1, 2]}, {"name": "until", "pointer": "/until", "values": ["1s", "0s"]}]}' >"$tmp/grown.json"
    "$ringlet" sweep "$tmp/grown.json" --db "$tmp/grown.sqlite" >"$tmp/out" 2>"$tmp/err"
    good "database of a study: 4 of 4 points done, 2 failed" "$tmp/grown.sqlite"
else
    skip "the database of a study" "needs SQLite"
fi
named() { # what is said, name
    "$ringlet" check "$2" >"$tmp/out" 2>"$tmp/err"
    [ $? = 3 ] && grep -qF -- "ringlet: $2: $1" "$tmp/err" && verdict "$2: $1" "" || verdict "$2: $1" "$(cat "$tmp/err")"
}
named "is a stack of software" megatron
nearest="no such file, and nothing of that name; did you mean the"
named "$nearest accelerator 'h100-sxm'?" h100-sx
named "$nearest topology 'hgx-h100-8'?" hgx-h10-8
named "$nearest model 'llama3-8b'?" llama3-9b
named "$nearest trace 'transformer-8'?" transformer-9
named "$nearest study 'replay'?" replai
named "no such file, and nothing of that name: 'ringlet list'" nowhere
named "column 8: expected a rate" ring:4@
printf '{"peaks": {}}' >"$tmp/x"
"$ringlet" check --as model "$tmp/model.csv" >"$tmp/out" 2>"$tmp/err"
expect "--as says what it is" $? 0
"$ringlet" check --as updates "$tmp/model.csv" >"$tmp/out" 2>"$tmp/err"
expect "even where it is not" "$?-$(grep -c 'model.csv:1: expected' "$tmp/err")" 3-1
"$ringlet" check --as modle "$tmp/model.csv" >"$tmp/out" 2>"$tmp/err"
expect "--as of nothing there is" "$?-$(grep -c "did you mean 'model'" "$tmp/err")" 2-1
"$ringlet" check --help >"$tmp/out"
for word in accelerators models '--config' '--job' '--updates' 'measured trainings' 'measured collectives' placements studies; do
    tr -s '\n ' '  ' <"$tmp/out" | grep -qF -- "$word" && verdict "--help lists $word" "" || verdict "--help lists $word" "it does not"
done
good "281 measured training" test/data/throughput/measured_training.csv
"$ringlet" check test/data/collectives/measured_collectives.csv >"$tmp/out" 2>&1
expect "measured collectives" "$?-$(grep -c 'ok: 2248 measured collectives' "$tmp/out")" 0-1
finish
