#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Placement of a layout's axes on a topology's dimensions: order=auto is the best of all orders run one by one, --map pins axes to
# dimensions. Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"
job='--model gpt2-small --accelerator a100-40gb --train batch=48'
time_of() { "$ringlet" run -q $job -f json "$@" 2>"$tmp/err" </dev/null | sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' | head -1; }
orders() { # layouts in every order of three axes, one by one, fastest first: TIME ORDER
    for o in tp-dp-pp tp-pp-dp dp-tp-pp dp-pp-tp pp-tp-dp pp-dp-tp; do
        echo "$(time_of "$@,order=$o") $o"
    done | sort -n -s -k1,1
}

# The third has 6 accelerators a node, which tp=4 does not divide.
for case in 'tp=4,pp=2 switch:4@300GB/s,500ns*switch:4@25GB/s,2us' 'tp=2,pp=3 ring:2@200GB/s,500ns*torus:9@20GB/s,1us,sizes=3x3' \
    'tp=4,pp=1 switch:6@300GB/s,500ns*fat-tree:4@25GB/s,2us' 'tp=2,pp=3 fat-tree:12@25GB/s,1us,hosts_per_leaf=4,spines=1'; do
    net=${case#* }
    for how in '' --fold-stages; do
        "$ringlet" run -q $job -t "$net" --layout "${case% *},order=auto" $how -f json >"$tmp/json" 2>"$tmp/err" </dev/null
        orders -t "$net" $how --layout "${case% *}" >"$tmp/each"
        best=$(head -1 "$tmp/each" | cut -d' ' -f1)
        [ -n "$best" ] && verdict "there are times: $case $how" "" || verdict "there are times: $case $how" "none"
        expect "auto is the best of all orders: $case $how" "$(sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' "$tmp/json" | head -1)" "$best"
        grep -o '"order": "[a-z-]*", "time_ps": [0-9]*' "$tmp/json" | sed 's/.*: //' >"$tmp/tried"
        expect "and tells of each its time: $case $how" "$(sort -nu "$tmp/tried" | tr '\n' ' ')" \
            "$(cut -d' ' -f1 "$tmp/each" | sort -nu | tr '\n' ' ')"
    done
done
auto() { "$ringlet" run -q $job "$@" 2>"$tmp/err" </dev/null >"$tmp/out"; sed -n 's/^order \([a-z-]*\), .*/\1/p' "$tmp/out"; }
net='switch:4@300GB/s,500ns*switch:4@25GB/s,2us'
for layout in tp=4 tp=2 tp=4,pp=2; do
    order=$(auto -t "$net" --layout $layout,order=auto)
    case $order in tp-*) verdict "tp stays in the node: $layout" "" ;; *) verdict "tp stays in the node: $layout" "'$order'" ;; esac
done
expect "twice the same" "$(auto -t "$net" --layout tp=4,order=auto)$(cksum <"$tmp/out")" "$(auto -t "$net" --layout tp=4,order=auto)$(cksum <"$tmp/out")"
grep -qF 'order tp-dp, the fastest of 2 simulated: ' "$tmp/out" && grep -qF '; the next, dp-tp: ' "$tmp/out" &&
    verdict "the runner-up is named" "" || verdict "the runner-up is named" "it is not"
expect "with one axis there is nothing to choose" "$(auto -t "$net" --layout order=auto)" dp
expect "steps are those asked for" "$(time_of -t "$net" --layout tp=4,order=auto --train batch=48,steps=2)" "$(time_of -t "$net" --layout tp=4 --train batch=48,steps=2)"
leaves_nothing 2 "expected axes like tp-cp-dp-pp, or auto" run $job -t "$net" --layout order=best

# A job's order is chosen for the job's ranks: alone there it takes the time of the best order, given explicitly.
for on in 0-7 8-15 0,2,4,6,8,10,12,14; do
    for order in auto tp-dp dp-tp; do
        printf '{"model": "gpt2-small", "accelerator": "a100-40gb", "layout": "tp=4,dp=2,order=%s", "train": "batch=48"}' $order >"$tmp/$order.json"
        "$ringlet" run -q -t "$net" --job "$tmp/$order.json@$on" -f json 2>"$tmp/err" </dev/null | sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' | head -1 >"$tmp/$order"
    done
    expect "a job's order is the best one: $on" "$(cat "$tmp/auto")" "$(sort -n "$tmp/tp-dp" "$tmp/dp-tp" | head -1)"
done
"$ringlet" run -t "$net" --job "$tmp/auto.json@0-7" --algorithm all_reduce=bogus >"$tmp/out" 2>"$tmp/err" </dev/null
status=$?
[ $status = 2 ] && grep -q "^ringlet: --algorithm: unknown" "$tmp/err" && verdict "the network's options are not the job's" "" ||
    verdict "the network's options are not the job's" "exit $status"

# Pinned axes. If axes fill their dimensions, the pins are an order.
for case in 'tp=0,pp=1,dp=1 tp-pp-dp' 'tp=0,dp=1,pp=1 tp-dp-pp' 'dp=0,pp=0,tp=1 dp-pp-tp'; do
    expect "map ${case% *} is order ${case#* }" "$(time_of -t "$net" --layout tp=4,pp=2 --map "${case% *}")" \
        "$(time_of -t "$net" --layout "tp=4,pp=2,order=${case#* }")"
done
used() { # the dimensions whose links carried anything
    "$ringlet" run -q $job -t "$net" -f json "$@" 2>"$tmp/err" </dev/null | grep '"bandwidth_Bps"' | grep -v '"bytes": 0,' |
        grep -o '"dim": [0-9]' | sort -u | tr -dc 0-9
}
expect "tp in the node alone" "$(used --layout tp=2,dp=1 --map tp=0)" 0
expect "tp across nodes alone" "$(used --layout tp=4,dp=1 --map tp=1)" 1
expect "both" "$(used --layout tp=2,dp=2 --map tp=0,dp=1)" 01
expect "dp takes what is left" "$("$ringlet" run -q $job -t "$net" --layout tp=2 --map tp=0,dp=1 2>&1 | grep -o 'dp [0-9]*')" "dp 4"
leaves_nothing 2 "--map: tp 8 does not fit dimension 0 of size 4" run $job -t "$net" --layout tp=8 --map tp=0
leaves_nothing 2 "--map: pp 2 does not fit the rest of dimension 0 (size 4): 1 are left" run $job -t "$net" --layout tp=4,pp=2 --map tp=0,pp=0
leaves_nothing 2 "--map: pp: has no dimension" run $job -t "$net" --layout tp=4,pp=2 --map tp=0
leaves_nothing 2 "has dimensions 0 to 1, not 2" run $job -t "$net" --layout tp=4 --map tp=2
leaves_nothing 2 "--map: qp: unknown setting of a mapping; did you mean" run $job -t "$net" --map qp=1
leaves_nothing 2 "--map: tp: is given twice" run $job -t "$net" --map tp=0,tp=1
leaves_nothing 2 "expected NAME=VALUE" run $job -t "$net" --map tp
leaves_nothing 2 "expected a whole number, got 'x'" run $job -t "$net" --map tp=x
printf '{"ranks": [0, 1]}' >"$tmp/p.json"
leaves_nothing 2 "does not go with --placement" run $job -t "$net" --map dp=0 --placement "$tmp/p.json"
"$ringlet" run -t "$net" --trace traces/transformer-8 --map tp=0 >"$tmp/out" 2>"$tmp/err"
expect "only of a training" "$?-$(grep -c -- '--map.* need --model' "$tmp/err")" 2-1
finish
