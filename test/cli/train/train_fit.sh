#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Predicted iterations of all measured trainings: errors of a joint fit on the groups of runs that it did not see.
. "$(dirname "$0")/../../support/tap.sh"
plain_only "a joint fit of all measured runs"
"$ringlet" calibrate-training --rounds 5 --leave-out group -f json -o "$tmp/fit.json" test/data/throughput/measured_training.csv >"$tmp/out" 2>&1
expect "exit status" $? 0
figure() { # models, member: its value in the summary
    sed -n '/"summary"/,/\]/p' "$tmp/fit.json" | tr -d '\n' | tr '{' '\n' | grep "\"models\": \"$1\"" | sed "s/.*\"$2\": \([0-9.]*\).*/\1/"
}
within() { # name, value, least, most
    expect "$1" "$(awk -v x="$2" -v a="$3" -v b="$4" 'BEGIN { print (x >= a && x <= b && x != "") ? "within" : x }')" within
}
within "dense models left out: median" "$(figure dense left_out_median)" 0 0.08
within "experts left out: p90" "$(figure experts left_out_p90)" 0 0.45
within "dense models within their intervals" "$(figure dense within)" 0.75 1
within "experts within their intervals" "$(figure experts within)" 0.75 1
finish
