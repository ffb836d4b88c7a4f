#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Versions of NCCL that choose the collectives of a run and of a study. Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"

# Gradients of 6.3 MB over four nodes of eight H100. In NCCL 2.22 NVLSTree waits 25 + 2 x 2 x 14 us, and is faster than a
# tree with LL128 from 4 MiB on. In 2.30 it waits 25 + 2 x 2 x 20.9 us, and trees last until 8 MiB (test/cli/coll/choices.sh).
four='hgx-h100-8*rail:4@400Gbps,2us'
model='transformer:layers=4,hidden=256,heads=4,vocabulary=1000'
run() { "$ringlet" run --model "$model" --layout dp=32 -t "$four" "$@" -f json >"$tmp/out" 2>"$tmp/err" </dev/null; }
large() { sed -n 's/.*"algorithm": "\([a-z_]*\)", .*"bytes": 6303232.*/\1/p' "$tmp/out"; }
time_of() { sed -n 's/^  "time_ps": \([0-9]*\).*/\1/p' "$tmp/out"; }

run && newest=$(time_of)
expect "the newest version" "$(large)" tree
run -a auto
expect "auto" "$(time_of) $(large)" "$newest tree"
run -s nccl=2.22 && old=$(time_of)
expect "a version by --set" "$(large)" nvls_tree
for how in auto=nccl-2.22 auto=2.22 all_reduce=auto=nccl-2.22 all_reduce@32=auto=2.22:1GiB:ring; do
    run -a "$how"
    expect "-a $how" "$(time_of) $(large)" "$old nvls_tree"
done
run -a all_reduce=auto=2.22:4MiB:auto=2.30
expect "a version for small ones, another for large ones" "$(large)" tree
run -a auto=nccl-2.22 --fold
expect "folded" "$(time_of)" "$old"

# A study: points of its own.
cat >"$tmp/study.json" <<EOF
{"command": "run", "base": {"model": "$model", "layout": {"dp": 32}, "topology": "$four"},
 "axes": [{"pointer": "/algorithm", "values": ["auto", "auto=nccl-2.22", "auto=nccl-2.17"]}]}
EOF
"$ringlet" sweep "$tmp/study.json" -q --db "$tmp/db" >"$tmp/out" 2>"$tmp/err"
if "$ringlet" sweep query "$tmp/db" -f csv >"$tmp/out" 2>"$tmp/err"; then
    expect "points of a study" "$(grep -c -e ",auto,0,0,,$newest," -e ",auto=nccl-2.22,0,0,,$old," -e ",auto=nccl-2.17,0,2," "$tmp/out")" 3
else
    skip "points of a study" "needs SQLite"
fi

bad() { # status, text, then the arguments
    leaves_nothing "$1" "$2" run --model "$model" --layout dp=32 -t "$four" -a "$3"
}
bad 2 'the tuner is known from NCCL 2.18 to 2.31' auto=nccl-2.17
bad 2 'expected a version such as 2.23' auto=newest
bad 2 'expected a version such as 2.23' all_reduce=auto=newest:1MiB:ring
bad 3 'over several nodes' auto=rccl
bad 3 'over several nodes' all_to_all=auto=nccl-2.22
leaves_nothing 3 'over several nodes' run --model "$model" --layout dp=8 -t hgx-h100-8 -a auto=nccl-2.22
finish
