#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ringlet plan over numbers of accelerators, and fronts: against every point simulated alone, and against one plan
# for each number.
. "$(dirname "$0")/../../support/tap.sh"

model=transformer:layers=4,hidden=512,heads=4,vocabulary=4000,sequence=256
inner='switch:4@300GB/s,500ns'
net="$inner*switch:2@25GB/s,2us"
space='tp=1+2+4,pp=1+2,cp=1,sp=on,vp=1,order=tp-cp-dp-pp'
train='batch=48,microbatch=1+2+4,recompute=none+full,zero=1,schedule=1f1b'
plan() { "$ringlet" plan -q --model "$model" --accelerator a100-80gb --layout "$space" --train "$train" "$@" >"$tmp/out" 2>"$tmp/err"; }
column() { # name: of the CSV
    awk -F, -v name="$1" 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } NR > 1 { print $c }' "$tmp/out"
}

# Every point of a small space on 8, simulated by ringlet run: time and memory.
for tp in 1 2 4; do for pp in 1 2; do for mb in 1 2 4; do for again in none full; do
    "$ringlet" run -q --model "$model" --accelerator a100-80gb -t "$net" --layout "tp=$tp,pp=$pp,sp=on" --fold-stages -f json \
        --train "batch=48,microbatch=$mb,recompute=$again,zero=1" 2>/dev/null | awk '
        /^  "time_ps":/ { gsub(/[^0-9]/, ""); time = $0 }
        /"stages":/ { while (match($0, /"memory_bytes": [0-9]+/)) {
            m = substr($0, RSTART + 16, RLENGTH - 16) + 0; if (m > most) most = m; $0 = substr($0, RSTART + RLENGTH) } }
        END { if (time) print time, most }'
done; done; done; done >"$tmp/points"
[ "$(wc -l <"$tmp/points")" -ge 20 ] && verdict "points simulated" "" || verdict "points simulated" "$(cat "$tmp/points")"
sort -n -k1,1 -k2,2 "$tmp/points" | awk '!n || $2 < least { print $1, $2; least = $2; n++ }' >"$tmp/front"
plan -t "$net" --front time,memory --plot "$tmp/front.svg" -f csv
expect "a front" $? 0
column time_ps >"$tmp/times"
column memory_bytes | sed 's/\..*//' | paste -d' ' "$tmp/times" - >"$tmp/got"
expect "time and memory: all that no point beats in both" "$(cat "$tmp/got")" "$(cat "$tmp/front")"
[ "$(wc -l <"$tmp/front")" -ge 3 ] && verdict "the front has several points" "" || verdict "the front has several points" "$(cat "$tmp/front")"
grep -q '<svg' "$tmp/front.svg" && verdict "drawn" "" || verdict "drawn" "no picture"

# One plan for each number of accelerators.
for n in 4 8 12 16 20 24; do
    [ $n = 4 ] && t=$inner || t="$inner*switch:$((n / 4))@25GB/s,2us"
    plan -t "$t" -f csv && echo "$n $(column time_ps | head -1)"
done >"$tmp/plans"
best() { sort -n -k"$1","$1" "$tmp/with" | head -1 | cut -d' ' -f1,2; }
awk '{ printf "%d %s %.0f\n", $1, $2, $1 * $2 }' "$tmp/plans" >"$tmp/with"
answer() { echo "$(column accelerators | head -1) $(column time_ps | head -1)"; }
plan -t "$net" --accelerators 4:24 -f csv
expect "the fastest number" "$(answer)" "$(best 2)"
plan -t "$net" --accelerators 4:24 --objective tokens-per-accelerator -f csv
expect "the most tokens per accelerator" "$(answer)" "$(best 3)"
plan -t "$net" --accelerators 24+20+4+8+12+16 --objective cost --price 3/h --tokens 2T -f csv
expect "the cheapest" "$(answer)" "$(best 3)"
want=$(answer | awk '{ printf "%.2f", $1 * $2 / 1e12 / 3600 * 3 * 2e12 / (48 * 256) }')
expect "its price" "$(printf '%.2f' "$(column dollars)")" "$want"
plan -t "$net" --accelerators 4:24 --objective energy --power 500W --tokens 2T -f csv
want=$(answer | awk '{ printf "%.2f", $1 * $2 / 1e12 / 3600 * 0.5 * 2e12 / (48 * 256) }')
expect "the least energy" "$(printf '%.2f' "$(column energy_kWh)") $(answer)" "$want $(best 3)"
sort -n -k2,2 -k3,3 "$tmp/with" | awk '!n || $3 < least { print $1, $2; least = $3; n++ }' >"$tmp/front"
plan -t "$net" --accelerators 4:24 --front time,energy -f csv
column time_ps >"$tmp/times"
expect "time and energy over numbers" "$(column accelerators | paste -d' ' - "$tmp/times")" "$(cat "$tmp/front")"
sort -n -k1,1 "$tmp/plans" | awk '!n || $2 < least { print; least = $2; n++ }' >"$tmp/front"
plan -t "$net" --accelerators 4:24 --front accelerators,time -f csv
column time_ps >"$tmp/times"
expect "accelerators and time" "$(column accelerators | paste -d' ' - "$tmp/times")" "$(cat "$tmp/front")"

# The fewest: the deadline is the time of 8, to the minute, so that 4 are too slow.
minutes=$(awk '$1 == 8 { printf "%d", $2 / 1e12 * 1e9 / (48 * 256) / 60 + 1 }' "$tmp/plans")
limit=$(awk -v m="$minutes" 'BEGIN { printf "%.0f", m * 60 * 48 * 256 / 1e9 * 1e12 }')
want=$(awk -v l="$limit" '$2 <= l { print; exit }' "$tmp/plans")
plan -t "$net" --accelerators 4:24 --objective accelerators --deadline "${minutes}min" --tokens 1B -f json
expect "the fewest" "$(grep -o '"accelerators": *[0-9]*, "tokens' "$tmp/out" | tr -dc 0-9) $(grep -o '"time_ps": *[0-9]*' "$tmp/out" | tr -dc 0-9)" "$want"
expect "each number is accounted for" "$(grep -c '"end":' "$tmp/out") $(grep -c '"not searched"' "$tmp/out")" "6 0"
plan -t "$net" --accelerators 4:24 --objective accelerators --deadline "${minutes}min" --tokens 1B
grep -q 'the next smaller number, 4: .*at least' "$tmp/out" && verdict "what fewer could reach" "" || verdict "what fewer could reach" "$(cat "$tmp/out")"
line=$(sed -n 's/^ *1  ringlet //p' "$tmp/out")
expect "the command takes its time" "$(sh -c "\"$ringlet\" $line -q -f json" | sed -n 's/^  "time_ps": *\([0-9]*\).*/\1/p')" "${want#* }"
plan -t "$net" --accelerators 4:60
grep -q '^  against a rule: [0-9]*, such as: batch: 48 samples are not a multiple' "$tmp/out" && verdict "numbers that cannot be cut" "" || verdict "numbers that cannot be cut" "$(cat "$tmp/out")"
"$ringlet" plan -q --model "$model" --accelerator a100-80gb --train "$train" --layout "$space" --accelerators 36+44 \
    -t "$inner*dragonfly:8@25GB/s,2us,groups=2,routers=2" >"$tmp/out" 2>"$tmp/err"
grep -qF "such as: $inner*dragonfly:11@25GB/s,2us,groups=2,routers=2: column 24: groups 2 x routers 2 x hosts 1 is not size 11" "$tmp/err" &&
    verdict "a long rule is said in full" "" || verdict "a long rule is said in full" "$(cat "$tmp/err")"

# What is said to be least on a number is not above its plan, for a model near the peak, too; and with so little memory
# that more accelerators are fewer accelerator-hours.
many() { # name, objective, key, arguments of the plans...
    name=$1 objective=$2 key=$3
    shift 3
    for n in 4 8 16 24; do
        [ $n = 4 ] && t=$inner || t="$inner*switch:$((n / 4))@25GB/s,2us"
        plan -t "$t" "$@" -f csv && echo "$n $(column time_ps | head -1)"
    done | awk '{ printf "%d %s %.0f\n", $1, $2, $1 * $2 }' >"$tmp/with"
    plan -t "$net" "$@" --accelerators 4+8+16+24 --objective "$objective" -f json
    expect "$name" "$(grep -o '"accelerators": *[0-9]*, "tokens' "$tmp/out" | tr -dc 0-9) $(grep -o '"time_ps": *[0-9]*' "$tmp/out" | tr -dc 0-9)" "$(best "$key")"
    grep -o '"accelerators": [0-9]*, "end": "[a-z, ]*", "least_ps": [0-9]*' "$tmp/out" | sed 's/[^0-9]*\([0-9]*\)[^0-9]*\([0-9]*\)/\1 \2/' >"$tmp/least"
    above=$(awk 'FNR == NR { time[$1] = $2; next } $1 in time && $2 > time[$1]' "$tmp/with" "$tmp/least")
    [ -z "$above" ] && [ -s "$tmp/least" ] && verdict "$name: bounds" "" || verdict "$name: bounds" "$above"
}
many "little memory" tokens-per-accelerator 3 --headroom 99.86%
awk 'NR == 1 { n = 0 } $1 == 4 { four = $3 } $3 < four { n++ } END { exit n == 0 }' "$tmp/with" && verdict "there, more is less" "" || verdict "there, more is less" "$(cat "$tmp/with")"
model=transformer:layers=2,hidden=8192,heads=64,vocabulary=4000,sequence=4096
many "near the peak" time 2
model=transformer:layers=4,hidden=512,heads=4,vocabulary=4000,sequence=256
says "a deadline that nothing meets" 3 'no layout reaches 1T tokens in 1min: an iteration may take 7.373e-07 s, the fastest takes ' plan -t "$net" --deadline 1min --tokens 1T
says "nor any number" 3 ' accelerators; 6 numbers of accelerators = ' plan -t "$net" --accelerators 4:24 --deadline 1min --tokens 1T
says "a price without a unit" 2 "price: expected dollars per accelerator and hour, such as 2.5/h, got '2.5'" plan -t "$net" --price 2.5
says "a deadline without a unit" 2 'deadline: expected a time such as 30days or 12h' plan -t "$net" --deadline 30 --tokens 1T
says "tokens of an unknown unit" 2 'tokens: expected a number of tokens such as 15T' plan -t "$net" --tokens 15X
says "power without a unit" 2 'power: expected watts of an accelerator, such as 700W' plan -t "$net" --power 700
says "cost without a price" 2 'objective: cost needs --price' plan -t "$net" --objective cost
says "a deadline without tokens" 2 'deadline: needs --tokens' plan -t "$net" --deadline 30days
says "the fewest of a fixed number" 2 'objective: accelerators needs --accelerators' plan -t "$net" --objective accelerators --deadline 1h --tokens 1B
says "the fewest without a deadline" 2 'objective: accelerators needs --deadline' plan -t "$net" --objective accelerators --accelerators 4:8
says "a front of one" 2 'front: expected two of' plan -t "$net" --front time
says "a front of the same" 2 'front: expected two of' plan -t "$net" --front time,time
says "a picture of other rows" 2 'plot: draws no rows of --robust' plan -t "$net" --plot "$tmp/x.svg" --robust bandwidth=0.5:1
says "no multiple" 2 'accelerators: 6 is no multiple of 4' plan -t "$net" --accelerators 4+6
says "no number" 2 "accelerators: expected a range such as 64:4096" plan -t "$net" --accelerators few
says "twice" 2 'accelerators: has 8 twice' plan -t "$net" --accelerators 8+8
says "a range without a multiple" 2 'accelerators: 5:7 has no multiple' plan -t "$net" --accelerators 5:7
net=dgx-a100-8
says "a topology that cannot be resized" 2 'accelerators: expected a --topology that ends with' plan -t "$net" --accelerators 8:16
finish
