#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The tables of EVIDENCE.md, one row a line: `evidence.sh recommended [NAME]`, `evidence.sh calculon [NAME]`.
# recommended: layouts of recommended.csv (NVIDIA/NeMo-Framework-Launcher@26e42fa9:launcher_scripts/conf/training) in
# their spaces. A layout says no recomputation: it takes the fastest that fits.
set -u
ringlet=${RINGLET:-build/ringlet}
here=$(dirname "$0")
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

field() { sed -n "s/^ *\"$1\": *\"*\\([^\",]*\\).*/\\1/p" "$out/json" | head -1; }
first() { grep -o "\"$1\": *\"*[^\",]*" "$out/json" | head -1 | sed 's/^[^:]*: *"*//'; }
last() { grep -o "\"$1\": *\"*[^\",]*" "$out/json" | tail -1 | sed 's/^[^:]*: *"*//'; }
plan() { "$ringlet" plan -q -f json -o "$out/json" "$@" 2>"$out/err" || { echo "| $name | $(cat "$out/err") |" && return 1; }; }
percent() { awk -v s="$(field "$1")" 'BEGIN { printf "%.1f", 100 * s }'; }
seconds() { awk -v t="$1" 'BEGIN { printf "%.4g", t / 1e12 }'; }
layout() { last layout | sed 's/ sp=on//; s/ schedule=[a-z0-9]*//; s/ *recompute=none//; s/microbatch=/mb /; s/\([a-z]\)=/\1 /g; s/recompute //; s/^ *//'; }

# The share of time that the largest cause of waiting has: bubble, tp, cp, ep, dp, pp.
waits() {
    for cause in bubble exposed_tp exposed_cp exposed_ep exposed_dp exposed_pp; do
        echo "$cause $(last $cause)"
    done | sort -k2 -g | tail -1 | awk '{ sub("exposed_", "", $1); printf "%s %.0f", $1, 100 * $2 }'
}

recommended() { # a row of the table
    set -- --model "$model" --accelerator h100-sxm --strategy megatron -t "switch:8@450GB/s,500ns*switch:$nodes@50GB/s,2us"
    train=batch=$batch,stack=megatron-bridge,schedule=1f1b+interleaved,accumulate=2,gradient=2,tp_overlap=$tp_overlap,precision=$precision
    plan "$@" --top 1 --layout "tp=$tp,pp=$pp,vp=$vp,cp=$cp,ep=$ep,sp=on,order=tp-cp-dp-pp" --train "$train,microbatch=$microbatch,recompute=none" || return
    theirs=$(first time_ps) what=$(layout) wait=$(waits)
    plan "$@" --top 1 --layout tp=1:8,sp=on,order=tp-cp-dp-pp --train "$train,microbatch=1:8" --sample 300 --than "${theirs}ps" || return
    echo "| $name | $((nodes * 8)) | $(seconds "$theirs"): $what | $wait | $(seconds "$(first time_ps)"): $(layout) | $(waits) | $(awk -v a="$theirs" -v b="$(first time_ps)" 'BEGIN { printf "%.1f", 100 * (a / b - 1) }') | $(field faster) of $(field possible): $(percent share) ($(percent share_low) to $(percent share_high)) |"
}

# The time of a layout of Calculon here, and the bytes of its fullest stage.
judge() { # TP PP VP MICROBATCH RECOMPUTATION, then the options of the case
    tp=$1 pp=$2 vp=$3 microbatch=$4 recompute=$5
    shift 5
    schedule=interleaved
    [ "$vp" = 1 ] && schedule=1f1b
    "$ringlet" run -q -f json -o "$out/json" "$@" --fold-stages --any-memory --layout "tp=$tp,pp=$pp,vp=$vp,sp=on" \
        --train "$train,microbatch=$microbatch,recompute=$recompute,zero=1,schedule=$schedule" >"$out/err" 2>&1 || cat "$out/err"
}

calculon() { # a row of the table: Calculon's layouts, the first is its best
    case $machine in
    a100) inside=195 between=22.5 and='' ;;
    *) inside=292.5 between=45 and='s/312TFLOPS/1000TFLOPS/; s/2048GB/3072GB/; s/a100/h100/' ;;
    esac
    sed "$and" "$here/calculon.json" >"$out/machine.json"
    train=batch=$batch,tp_overlap=on,stack=calculon others='' best=''
    set -- --model "transformer:layers=$layers,hidden=$hidden,heads=$heads,vocabulary=1,sequence=2048,learned_positions=no,tied=no" \
        --accelerator "$out/machine.json" -t "switch:8@${inside}GB/s,10us*switch:$((ranks / 8))@${between}GB/s,20us"
    echo "$layouts" | tr ';' '\n' >"$out/layouts"
    while read -r sizes; do
        judge ${sizes% *} "$@" || return
        echo "$(first time_ps) $(first memory_bytes) $sizes" >>"$out/judged"
    done <"$out/layouts"
    room=$(awk 'NR == 1 { printf "%.0f", ($2 > 80 * 2 ^ 30 ? $2 + 1 : 80 * 2 ^ 30) }' "$out/judged")
    sed -i "s/\"80GiB\"/\"${room}B\"/" "$out/machine.json"
    plan "$@" --top 1 --layout tp=1:8,cp=1,ep=1,sp=on,order=tp-cp-dp-pp --train "$train,microbatch=1:$microbatches,schedule=1f1b+interleaved,zero=1" || return
    ours=$(first time_ps)
    awk -v name="$name" -v best="$ours" -v what="$(layout)" -v room="$room" -v points="$(field points)" -v n="$(field simulated)" '
        { dp = 0; text = sprintf("%s·%s, vp %s, mb %s, %s", $3, $4, $5, $6, $7); slower = 100 * ($1 / best - 1) }
        NR == 1 { line = sprintf("| %s | %s: %s s | %.4g (%+.1f %%) | %.1f | %.4g: %s | %.1f |", name, text, $8, $1 / 1e12, 100 * ($1 / 1e12 / $8 - 1), room / 1e9, best / 1e12, what, slower); next }
        { others = others sprintf("%s%s·%s %.1f", others ? ", " : "", $3, $4, slower) }
        END { print line " " others " | " n " of " points " |" }' "$out/judged"
    rm "$out/judged"
}

# Turns lines of a table into assignments: fields with commas stand in quotes.
rows() { # FILE [NAME]
    awk -v only="$2" 'NR == 1 { n = split($0, names, ","); next }
        {
            text = $0
            line = ""
            for (i = 1; i <= n; i++) {
                if (substr(text, 1, 1) == "\"") { end = index(substr(text, 2), "\""); value = substr(text, 2, end - 1); text = substr(text, end + 3) }
                else { end = index(text ",", ","); value = substr(text, 1, end - 1); text = substr(text, end + 1) }
                if (i == 1 && only != "" && value != only) next
                line = line names[i] "=\047" value "\047 "
            }
            print line
        }' "$1"
}
case ${1-} in
recommended) rows "$here/recommended.csv" "${2-}" >"$out/rows" ;;
calculon) rows "$here/calculon.csv" "${2-}" >"$out/rows" ;;
*)
    echo "usage: evidence.sh recommended|calculon [NAME]" >&2
    exit 2
    ;;
esac
while read -r line; do
    eval "$line"
    "$1"
done <"$out/rows"
