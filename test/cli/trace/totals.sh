#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Totals of ringlet trace info on published traces, compared with sums over the files by awk: layers, compute
# time, and communications with their bytes. None of these formats has FLOPs; times are compared in their place.
# Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"
data=../shared/data
[ -d $data/simai ] || { skip "published traces" "$data is not here"; finish; }

# "layers compute_ps communications bytes" of a file as read by a reader.
totals() { # ARGUMENTS...
    "$ringlet" trace info "$@" --format json >"$tmp/out" 2>"$tmp/err" || return
    awk -F'[:,}]' '
        /"layers":/ { layers = $2 + 0 }
        /"kind": "(compute|memory)"/ { ps += $6 }
        /"collective":/ { n += $6; bytes += $8 }
        END { printf "%d %.0f %.0f %.0f\n", layers, ps, n, bytes }' "$tmp/out"
}

# Twelve columns: name, dependency, then time, kind and bytes of three phases, and the update. `inner` groups do the
# communication of forward and input gradient, `outer` groups that of the weight gradient; a group of one rank has none.
layers() { # FILE RANKS INNER OUTER SHARES   SHARES: what an all-gather's bytes are multiplied by
    tr '\t\r' '  ' <"$data/$1" | awk -v ranks="$2" -v inner="$3" -v outer="$4" -v shares="$5" '
        $2 == "-1" && NF >= 12 {
            layers++
            ns += $3 + $6 + $9 + $12
            for (i = 4; i <= 10; i += 3) {
                groups = i == 10 ? outer : inner
                if ($i != "NONE" && $(i + 1) > 0) {
                    n += groups
                    bytes += groups * $(i + 1) * ($i ~ /^ALLGATHER/ ? shares : 1)
                }
            }
        }
        END { printf "%d %.0f %.0f %.0f\n", layers, ns * ranks * 1000, n, bytes }'
}
table() { # FILE RANKS INNER OUTER SHARES
    expect "$1 on $2 ranks" "$(totals "$data/$1" --trace-ranks "$2")" "$(layers "$@")"
}
gpt=simai/G13B-M1-C01_GPT13B_megatron_tp8_pp1_mbs1_A100.txt
llama=simai/L7B-M1-C04_Llama7B_megatron_tp2_pp1_mbs1_A100.txt
table astra1/DLRM.txt 8 1 1 1
table astra1/DLRM_HybridParallel.txt 16 1 1 1
table astra1/ResNet_50.txt 8 0 1 1
table astra1/Resnet50_DataParallel.txt 4 0 1 1
table astra1/microAllReduce.txt 8 0 1 1
# All in dimension 0 if dimensions are unknown: the contribution of a rank to its all-gathers counts eight times.
table astra1/MLP_HybridParallel_Data_Model.txt 8 1 0 8
# Tensor-parallel groups of 8, of 2, of 1, and data-parallel groups across them.
table $gpt 8 1 0 1
table $gpt 16 2 8 1
table $llama 8 4 2 1
table simai/L7B-D1-C02_Llama7B_deepspeed_zero3_A100.txt 4 0 1 1
table simai/all_gather.txt 8 0 1 1
table simai/all_reduce.txt 8 0 1 1
table simai/microAllReduce.txt 16 2 8 1

aicb=$data/simai/aicb_G13B-M1-C01_GPT13B_megatron_tp8_pp1_mbs1.csv
expect "AICB's list" "$(totals "$aicb")" "$(awk -F, '
    NR == 1 { split($0, w, /[^0-9]+/); ranks = w[3] + 1 }
    NR > 2 && $4 > 0 { n += ranks / $3; bytes += ranks / $3 * $4 }
    END { printf "0 0 %.0f %.0f\n", n, bytes }' "$aicb")"

# Input nodes load data and take no time; on two ranks the parameters of each node are all-reduced once.
for f in alexnet gnmt resnet18 resnet50 squeezenet1_0 vgg16; do
    file=$data/pipedream/$f.graph.txt
    expect "PipeDream $f" "$(totals "$file" --trace-ranks 2)" "$(awk '
        /forward_compute_time/ {
            nodes++
            split($0, w, /forward_compute_time=|, backward_compute_time=|, activation_size=|, parameter_size=/)
            ms += w[3] + ($0 ~ / -- Input/ ? 0 : w[2])
            if (w[5] + 0 > 0) { n++; bytes += w[5] }
        }
        END { printf "%d %.0f %.0f %.0f\n", nodes, ms * 1000 * 2 * 1e6, n, bytes }' "$file")"
done
# Stages: the output of a node is sent once to each other stage that uses it, and its gradient is sent back.
file=$data/pipedream/test_graphs_vgg16_partitioned.txt
expect "PipeDream vgg16 in stages" "$(totals "$file")" "$(awk '
    /forward_compute_time/ {
        nodes++
        split($0, w, /forward_compute_time=|, backward_compute_time=|, activation_size=|, parameter_size=|stage_id=/)
        ms += w[3] + ($0 ~ / -- Input/ ? 0 : w[2])
        size[$1] = w[4]
        stage[$1] = w[6] + 0
    }
    /^\t/ { from[++edges] = $1; to[edges] = $3 }
    END {
        for (i = 1; i <= edges; i++)
            if (stage[from[i]] != stage[to[i]] && !seen[from[i], stage[to[i]]]++) { n += 2; bytes += 2 * size[from[i]] }
        printf "%d %.0f %.0f %.0f\n", nodes, ms * 1000 * 1e6, n, bytes
    }' "$file")"

for file in "$data"/goal/*.goal; do
    expect "GOAL $(basename "$file" .goal)" "$(totals "$file")" "$(awk '
        { for (i = 1; i < NF; i++) { if ($i == "calc") ns += $(i + 1); if ($i == "send") { n++; bytes += $(i + 1) } } }
        END { printf "0 %.0f %.0f %.0f\n", ns * 1000, n, bytes }' "$file")"
    # It is in LogGOPSim's table, which the tests of GOAL compare row by row.
    expect "is in the reference" "$(grep -c "^$(basename "$file")," test/data/goal/loggopsim_reference.csv)" 4
done

# A timeline: seconds of compute, one message for each send, one communication for each group and place: parameters
# and gradients of a stage, embeddings of a pipeline, the final norm, the layer norms of a rank, and the step's barrier.
st=$data/pipeline_timelines/ST/trace-ST.csv.gz
[ -r $st ] || { skip "timeline ST" "$st is not here"; finish; }
expect "timeline ST" "$(totals "$st" | awk '{ printf "%d %.6f %d %d\n", $1, $2 / 1e12, $3, $4 }')" "$(gzip -dc "$st" | awk -F, '
    NR == 1 { next }
    { steps[$4] }
    $5 ~ /compute$/ || $5 == "optimizer" { s += $7 }
    $5 ~ /send$/ || $5 ~ /^layernorm/ { n++ }
    ($5 ~ /^params/ || $5 ~ /^grads-reduce/) && $1 == 0 { n++ }
    $5 ~ /^embedding/ && $2 == 0 { n++ }
    $5 ~ /clip/ && $1 == 0 && $2 == 0 { n++ }
    END { for (k in steps) n++; printf "0 %.6f %d 0\n", s, n - 1 }')"
finish
