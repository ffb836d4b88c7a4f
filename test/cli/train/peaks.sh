#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Published peaks of memory beside predicted ones, per framework: the table of workload/training/MEMORY.md, which has the
# sources. A figure is what the source measured: bytes reserved by PyTorch's allocator (torchtitan, the fullest rank), bytes
# allocated (Megatron-LM, the last rank, which writes its log; of 2021 the fullest), or memory of the device (Megatron-DeepSpeed).
. "$(dirname "$0")/../../support/tap.sh"

llama405b=transformer:layers=126,hidden=16384,heads=128,kv_heads=8,ffn=53248,gated=yes,vocabulary=128256,tied=no,bias=no,norm=rms,dropout=no,learned_positions=no,fused_attention=yes
megatron7b=transformer:layers=32,hidden=4096,heads=32,kv_heads=8,tied=no,fused_attention=yes,sequence=8192
megatron15b=transformer:layers=32,hidden=6144,heads=48,kv_heads=8,vocabulary=256000,sequence=4096,tied=no,bias=no,dropout=no,learned_positions=no,fused_attention=yes
mixtral=mixtral-8x7b:sequence=4096,vocabulary=256000
gpt1b=transformer:layers=24,hidden=2048,heads=16,vocabulary=50304,sequence=2048
old=megatron:zero=0,accumulate=0,main_gradient=4,precision=fp16,recompute=full,batch=4
early=megatron-deepspeed:main_gradient=4,batch=512

peak() { # model, layout, strategy, ranks, field, stage: last or fullest; sets $got to GiB
    net='switch:8@450GB/s,1us'
    [ "$4" -le 8 ] || net="$net*switch:$(($4 / 8))@50GB/s,1us"
    "$ringlet" run -q --model "$1" --accelerator h200 -t "$net" --network alpha-beta --fold-stages --layout "$2" --strategy "$3" \
        --any-memory --format json -o "$tmp/run.json" >"$tmp/out" 2>"$tmp/err" || verdict "$1 in $2 runs" "exit $?"
    got=$(grep -o "\"$5\": *[0-9]*" "$tmp/run.json" | awk -v which="$6" '{ if (which == "last" || $2 > most) most = $2 } END { printf "%.6f", most / 1024 ^ 3 }')
}
: >"$tmp/rows"
while IFS='|' read -r group name model layout strategy ranks published; do
    case $group in
    torchtitan) field=reserved_bytes stage=fullest ;;
    megatron) field=allocated_bytes stage=last ;;
    log) field=allocated_bytes stage=fullest ;;
    device) field=memory_bytes stage=fullest ;;
    esac
    peak "$(eval echo "$model")" "$layout" "$(eval echo "$strategy")" "$ranks" $field $stage
    factor=$(grep -o '"allocated_bytes": *[0-9]*' "$tmp/run.json" | awk '$2 > most { most = $2 } END { printf "%.6f", most / 1024 ^ 3 }')
    echo "$group|$name|$got|$published|$factor" >>"$tmp/rows"
    echo "# $group: $name: published $published GiB, predicted $(awk -v a="$got" -v b="$published" 'BEGIN { printf "%.1f, %+.1f %%", a, 100 * (a / b - 1) }')"
done <<'EOP'
torchtitan|8B, 8K, FSDP 8|llama3-8b:sequence=8192|dp=8|torchtitan:batch=16,microbatch=2,recompute=products|8|82.4
torchtitan|8B, 8K, FSDP 8, compiled|llama3-8b:sequence=8192|dp=8|torchtitan:batch=16,microbatch=2,recompute=products|8|77.0
torchtitan|8B, 8K, FSDP 8, compiled, fp8|llama3-8b:sequence=8192|dp=8|torchtitan:batch=16,microbatch=2,recompute=products|8|76.8
torchtitan|8B, 32K, FSDP 8, full|llama3-8b:sequence=32768|dp=8|torchtitan:batch=8,recompute=full|8|83.9
torchtitan|8B, 64K, FSDP 4 x CP 2, full|llama3-8b:sequence=65536|dp=4,cp=2|torchtitan:batch=4,recompute=full|8|84.2
torchtitan|8B, 128K, FSDP 2 x CP 4, full|llama3-8b:sequence=131072|dp=2,cp=4|torchtitan:batch=2,recompute=full|8|84.0
torchtitan|8B, 256K, CP 8, full|llama3-8b:sequence=262144|dp=1,cp=8|torchtitan:batch=1,recompute=full|8|84.5
torchtitan|8B, 8K, FSDP 128|llama3-8b:sequence=8192|dp=128|torchtitan:batch=256,microbatch=2,recompute=products|128|67.0
torchtitan|8B, 8K, FSDP 128, compiled|llama3-8b:sequence=8192|dp=128|torchtitan:batch=256,microbatch=2,recompute=products|128|62.0
torchtitan|8B, 8K, FSDP 128, compiled, fp8|llama3-8b:sequence=8192|dp=128|torchtitan:batch=256,microbatch=2,recompute=products|128|61.8
torchtitan|70B, 8K, FSDP 32 x TP 8, full|llama3-70b:sequence=8192|dp=32,tp=8|torchtitan:batch=512,microbatch=16,recompute=full|256|71.9
torchtitan|the same, async TP|llama3-70b:sequence=8192|dp=32,tp=8|torchtitan:batch=512,microbatch=16,recompute=full|256|67.6
torchtitan|405B, 8K, 1F1B, full|$llama405b,sequence=8192|dp=8,tp=8,pp=8|torchtitan:batch=256,microbatch=4,recompute=full|512|82.5
torchtitan|405B, 8K, interleaved, full|$llama405b,sequence=8192|dp=8,tp=8,pp=8,vp=2|torchtitan:batch=256,microbatch=4,recompute=full,schedule=interleaved|512|72.7
torchtitan|405B, 32K, 1F1B, CP 1, full|$llama405b,sequence=32768|dp=8,tp=8,pp=8|torchtitan:batch=64,recompute=full|512|75.3
torchtitan|405B, 64K, 1F1B, CP 2, full|$llama405b,sequence=65536|dp=4,cp=2,tp=8,pp=8|torchtitan:batch=32,recompute=full|512|75.9
torchtitan|405B, 128K, 1F1B, CP 4, full|$llama405b,sequence=131072|dp=2,cp=4,tp=8,pp=8|torchtitan:batch=16,recompute=full|512|77.1
torchtitan|405B, 256K, 1F1B, CP 8, full|$llama405b,sequence=262144|dp=1,cp=8,tp=8,pp=8|torchtitan:batch=8,recompute=full|512|84.9
torchtitan|8B, 8K, FSDP 32, compiled loss|llama3-8b:sequence=8192|dp=32|torchtitan:batch=64,microbatch=2,recompute=products,loss=4|32|47.96
torchtitan|8B, 8K, FSDP 64, compiled loss|llama3-8b:sequence=8192|dp=64|torchtitan:batch=128,microbatch=2,recompute=products,loss=4|64|46.97
megatron|7B, 8K, TP 4 x DP 2|$megatron7b,vocabulary=131584|dp=2,tp=4|megatron:batch=8,microbatch=2|8|53.22
megatron|7B, 8K, PP 4 x VP 8 x DP 2|$megatron7b,vocabulary=131200|dp=2,pp=4,vp=8|megatron:batch=8,schedule=interleaved|8|56.55
megatron|15B, 4K, TP 8 x DP 16|$megatron15b|dp=16,tp=8|megatron:batch=384,microbatch=4,sp=on|128|26.23
megatron|Mixtral 8x7B, TP 2 x PP 4 x EP 4 x DP 16|$mixtral|dp=16,tp=2,pp=4,ep=4|megatron:batch=1024,sp=on|128|24.68
log|18B, 1K, TP 4 x PP 4, fp16, full|transformer:layers=40,hidden=6144,heads=32,vocabulary=50688|tp=4,pp=4|$old|16|25.59
log|65B, 1K, TP 4 x PP 16, fp16, full|transformer:layers=64,hidden=9216,heads=32,vocabulary=50688|tp=4,pp=16|$old|64|24.18
device|1.3B, DP 8|$gpt1b|dp=8|$early|8|27
device|1.3B, PP 2|$gpt1b|dp=4,pp=2|$early|8|21
device|1.3B, PP 4|$gpt1b|dp=2,pp=4|$early|8|19
device|1.3B, PP 4, microbatch 2|$gpt1b|dp=2,pp=4|$early,microbatch=2|8|30
device|1.3B, TP 2|$gpt1b|dp=4,tp=2|$early|8|21
device|1.3B, DP 8, full|$gpt1b|dp=8|$early,recompute=full|8|16
device|1.3B, PP 2, full|$gpt1b|dp=4,pp=2|$early,recompute=full|8|11
device|1.3B, PP 2, microbatch 2, full|$gpt1b|dp=4,pp=2|$early,microbatch=2,recompute=full|8|12
device|1.3B, PP 2, microbatch 4, full|$gpt1b|dp=4,pp=2|$early,microbatch=4,recompute=full|8|13
device|1.3B, PP 4, full|$gpt1b|dp=2,pp=4|$early,recompute=full|8|9
device|1.3B, PP 4, microbatch 4, full|$gpt1b|dp=2,pp=4|$early,microbatch=4,recompute=full|8|11
device|1.3B, PP 8, full|$gpt1b|dp=1,pp=8|$early,recompute=full|8|9
device|1.3B, PP 8, microbatch 4, full|$gpt1b|dp=1,pp=8|$early,microbatch=4,recompute=full|8|11
EOP

summary() { # groups as a pattern; prints the rows, the median and the worst error, %
    grep -E "^($1)\|" "$tmp/rows" | awk -F'|' '{ e = 100 * ($3 / $4 - 1); print e < 0 ? -e : e }' | sort -n |
        awk '{ e[NR] = $1 } END { printf "%d %.1f %.1f", NR, NR % 2 ? e[(NR + 1) / 2] : (e[NR / 2] + e[NR / 2 + 1]) / 2, e[NR] }'
}
at_most() { # name, groups, rows, median, worst
    line=$(summary "$2")
    verdict "$1: rows, median error and worst, %: $line" "$(echo "$line" | awk -v n="$3" -v m="$4" -v w="$5" '$1 != n || $2 > m || $3 > w { print "not " n " rows, or beyond " m " and " w }')"
}
at_most "torchtitan" torchtitan 20 7 20
at_most "Megatron-LM" "megatron|log" 6 7 20
at_most "torchtitan and Megatron-LM" "torchtitan|megatron|log" 26 7 20
# The source does not state the ZeRO stage of these runs on V100s. With ZeRO 0 the TP 2 row takes 21.4 GiB.
at_most "Megatron-DeepSpeed, ZeRO stage assumed" device 13 7 26

# The factor for fragments is fitted to torchtitan's rows. Each of them is predicted with the median of the others.
expect "the factor of the others, from row to row" "$(grep '^torchtitan' "$tmp/rows" | awk -F'|' '
    { r[NR] = $4 / $5; name[NR] = $2; measured[NR] = $4; allocated[NR] = $5 }
    END {
        for (out = 1; out <= NR; out++) {
            n = 0
            for (i = 1; i <= NR; i++) if (i != out) s[++n] = r[i]
            for (i = 2; i <= n; i++) { x = s[i]; for (k = i - 1; k > 0 && s[k] > x; k--) s[k + 1] = s[k]; s[k + 1] = x }
            f = s[(n + 1) / 2]
            e = allocated[out] * f / measured[out] - 1
            printf "# left out: %s: factor %.3f, %+.1f %%\n", name[out], f, 100 * e >"'"$tmp/left"'"
            e = e < 0 ? -e : e
            bad += e > 0.2
            sum[out] = e
            for (k = out - 1; k > 0 && sum[k] > e; k--) sum[k + 1] = sum[k]
            sum[k + 1] = e
        }
        printf "%d beyond 20 %%, median %s", bad, (sum[NR / 2] + sum[NR / 2 + 1]) / 2 <= 0.07 ? "within 7 %" : "beyond"
    }')" "0 beyond 20 %, median within 7 %"
cat "$tmp/left"
finish
