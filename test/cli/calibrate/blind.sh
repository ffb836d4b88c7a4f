#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Published iterations that no fit has seen (tools/calibrate/training/published.csv): every row is predicted, its times
# follow from the figures that its source prints, no shipped constant was fitted to it, and predictions obey the laws of
# strong scaling. Rows of ZeRO-3 are left out here: their all-gathers over up to 2240 ranks take minutes.
. "$(dirname "$0")/../../support/tap.sh"
plain_only "fits of what was left out"
table=tools/calibrate/training/published.csv
grep -v 'ZeRO-3' "$table" >"$tmp/published.csv"
n=$(($(wc -l <"$tmp/published.csv") - 1))

"$ringlet" calibrate-training --check --rows -f json -o "$tmp/rows.json" "$tmp/published.csv" >"$tmp/out" 2>"$tmp/err"
expect "the table" $? 0
expect "every row is predicted" "$(grep -c '"predicted_s": *[0-9]' "$tmp/rows.json")" "$n"
expect "none is without a reason to be left out" "$(grep -c '"not_covered": *"' "$tmp/rows.json")" 0

# Lines of `accelerator stack source rows`, one for each source, and one for all dense rows, one for experts.
"$ringlet" calibrate-training --check --by-source -f csv "$tmp/published.csv" >"$tmp/groups" 2>"$tmp/err"
sed 1d "$tmp/published.csv" | sed 's/.*,\(arXiv [^,"]*\|NeMo [^,"]*\),.*/\1/' | sort -u >"$tmp/sources"
expect "one line for each source" "$(awk -F, 'NR > 1 && $1 != "all" { print $3 }' "$tmp/groups" | sort)" "$(cat "$tmp/sources")"
expect "their rows are all rows" "$(awk -F, 'NR > 1 && $1 != "all" { n += $4 } END { print n }' "$tmp/groups")" "$n"

# Constants name what they were fitted to: no publication of this table.
publications=$(sed 's/^\([^ ]* [^ ]*\).*/\1/' "$tmp/sources" | sort -u)
verdict "no constant was fitted to them" "$(echo "published.csv
$publications" | while read -r name; do grep -lF -- "$name" workload/accelerators/*.json workload/stacks/*.json; done)"

# Times against other columns of the same tables.
seconds() { # source, model, GPUs: its time
    grep -F -- "$1" "$tmp/published.csv" | grep "^\"*$2\"*,\"*[^\"]*\"*,$3," | sed "s/.*,\\([0-9.e+]*\\),$1.*/\\1/" | head -1
}
near() { # name, value, expected, relative tolerance
    verdict "$1: $2, published $3" "$(awk -v a="$2" -v b="$3" -v t="$4" 'BEGIN { if (!(a > b * (1 - t) && a < b * (1 + t))) print "apart" }')"
}
calc() { awk "BEGIN { printf \"%.6g\", $1 }"; }
# 1.7B: 512 sequences of 2048 tokens, 4.4 PFLOPS (arXiv 2104.04473, table 1, and its equation 3).
flops=$(calc '96 * 512 * 2048 * 24 * 2304 ^ 2 * (1 + 2048 / (6 * 2304) + 51200 / (16 * 24 * 2304))')
near "1.7B, PFLOPS" "$(calc "$flops / $(seconds 'arXiv 2104.04473 table 1' 'Megatron 1.7B' 32) / 1e15")" 4.4 0.015
# 300e9 tokens in 84 days on 384 GPUs (its table 2).
near "175B, days" "$(calc "300e9 / (1536 * 2048) * $(seconds 'arXiv 2104.04473 table 2 PTD' 'GPT-3 175B' 384) / 86400")" 84 0.015
near "MegaScale, tokens a second" "$(calc "6144 * 2048 / $(seconds 'arXiv 2402.15627 table 2 MegaScale' 'MegaScale 175B, fused attention' 12288)")" 1984e3 0.005
near "DeepSeek-V3, days for 1e12 tokens" "$(calc "1e12 / (15360 * 4096) * $(seconds 'arXiv 2412.19437' 'DeepSeekV3 (w/ MTP)' 2048) / 86400")" 3.7 0.015
# Nemotron-4 15B: 200e9 tokens in 0.8 and 0.4 days, 7.6e12 in 11.9.
while read -r gpus batch tokens days; do
    near "Nemotron-4 15B on $gpus GPUs, days" \
        "$(calc "$tokens / ($batch * 4096) * $(seconds 'arXiv 2402.16819' 'Nemotron-4 15B' "$gpus") / 86400")" "$days" 0.07
done <<EOP
768 384 200e9 0.8
1536 768 200e9 0.4
2304 1152 7.6e12 11.9
EOP

# Strong scaling: with the same batch more GPUs take less time, and not fewer GPU-seconds.
sed -n 's/.*"ranks": \([0-9]*\),.*"predicted_s": \([0-9.]*\),.*"source": "\([^"]*\)".*/\3|\1|\2/p' "$tmp/rows.json" >"$tmp/predicted"
scaling() { # source, number of rows, least GPUs, most GPUs
    verdict "$1, $3 to $4 GPUs: strong scaling" "$(grep -F "$1" "$tmp/predicted" | sort -t'|' -k2n |
        awk -F'|' -v least="$3" -v most="$4" -v rows="$2" '$2 >= least && $2 <= most {
            if (k++ && !($3 < t && $2 * $3 >= 0.999 * n * t)) print "from " n " to " $2 " GPUs: " t " to " $3 " s"
            n = $2; t = $3
        } END { if (k != rows) print k + 0 " rows" }')"
}
scaling 'table 2 Megatron-LM' 4 256 1024
scaling 'table 2 Megatron-LM' 4 3072 12288
scaling 'table 2 MegaScale' 4 256 1024
scaling 'table 2 MegaScale' 4 3072 12288
scaling 'arXiv 2201.11990' 3 2240 3360
finish
