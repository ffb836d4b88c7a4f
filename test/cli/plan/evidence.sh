#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# tools/plan/EVIDENCE.md: quick lines of its tables are what ringlet prints. Layouts at random: the options.
. "$(dirname "$0")/../../support/tap.sh"
page=tools/plan/EVIDENCE.md

for row in 'recommended GPT-3 5B' 'recommended Mixtral 8x7B' 'calculon Megatron-22B'; do
    RINGLET=$ringlet sh tools/plan/evidence.sh "${row%% *}" "${row#* }" >"$tmp/out" 2>"$tmp/err"
    grep -q '^| .* |$' "$tmp/out" && grep -qxF -- "$(cat "$tmp/out")" "$page" && verdict "the page has the line of $row" "" ||
        verdict "the page has the line of $row" "it is not there"
done
sh tools/plan/evidence.sh other >"$tmp/out" 2>"$tmp/err"
expect "an unknown table" "$?-$(cat "$tmp/err")" '2-usage: evidence.sh recommended|calculon [NAME]'

# Lines of the measured groups: tau (mean); regret (median, mean, worst); error.
lines=5 series=vtrain-multi,vtrain-1node,bloom,lucie,tr3m table=../shared/data/throughput/measured_layouts.csv # of all sources
[ -r "$table" ] || { lines=4 series=vtrain-multi,vtrain-1node,bloom,tr3m table=test/data/throughput/measured_layouts.csv; }
for networks in '' --networks-as-sold; do
    name="measured groups${networks:+, as sold}"
    "$ringlet" calibrate-training --check $networks --series $series "$table" >"$tmp/out" 2>"$tmp/err"
    awk '/^ranking of layouts by group/ { exit } $2 == "-" && $3 ~ /^[0-9]+$/ && NF == 10 && $1 ~ /^(vtrain|bloom|lucie|tr3m)/ {
        printf "| %s (%s) | .* | %s; %g, %g, %g; %s |\n", $1, $3, $6, $7, $8, $9, $10 }' "$tmp/out" >"$tmp/lines"
    wrong=$([ "$(wc -l <"$tmp/lines")" = $lines ] || echo "$(cat "$tmp/lines")")
    while read -r line; do grep -q -- "^$line" "$page" || wrong="$wrong; not on the page: $line"; done <"$tmp/lines"
    verdict "$name" "$wrong"
done

net='switch:4@300GB/s,500ns*switch:2@25GB/s,2us'
plan() {
    "$ringlet" plan -q --model transformer:layers=6,hidden=1024,heads=8,vocabulary=8000,sequence=512 --accelerator a100-80gb -t "$net" \
        --layout order=tp-cp-dp-pp,sp=on --train batch=32 --strategy megatron "$@" >"$tmp/out" 2>"$tmp/err"
}
count() { sed -n "s/^ *\"$1\": *\\([^,]*\\),*$/\\1/p" "$tmp/out" | head -1; }
plan --sample 100 -f json
expect "at random: none is faster than the fastest within 0 %" "$?-$(count possible)-$(awk -v f="$(count faster)" 'BEGIN { print f < 5 }')" 0-100-1
cp "$tmp/out" "$tmp/first"
plan --sample 100 -f json
cmp -s "$tmp/out" "$tmp/first" && verdict "the same sample again" "" || verdict "the same sample again" "it differs"
plan --sample 100 --than 1h -f json
expect "all take less than an hour" "$(count faster)-$(count simulated)" "100-$(count simulated)"
grep -q '"command": *"[^"]*--\(sample\|than\)' "$tmp/out" && verdict "commands run one layout" "they sample" || verdict "commands run one layout" ""
plan --than 1s
expect "--than alone" "$?-$(grep -c 'than: goes with --sample' "$tmp/err")" 2-1
plan --sample 10 --than 1
expect "a time without a unit" "$?-$(grep -c -e '--than' "$tmp/err")" 3-1
finish
