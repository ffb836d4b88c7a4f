#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Layouts on nodes times a network: groups inside a node, across nodes, and over both. Speaks TAP; the last line is
# "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"
model='--model transformer:layers=2,hidden=1024,heads=16,vocabulary=1000,sequence=512'
groups() { # TOPOLOGY LAYOUT: each kind of group once, "8 ranks in 0 by nvls"
    # shellcheck disable=SC2086
    "$ringlet" run $model -t "$1" --layout "$2" -f json >"$tmp/out" 2>"$tmp/err" </dev/null
    sed -n 's/.*"collective": "all_reduce", "algorithm": "\([a-z_]*\)", "ranks": \([0-9]*\), "dims": \[\([0-9, ]*\)\].*/\2 ranks in \3 by \1/p' \
        "$tmp/out" | sort -u | tr '\n' ';'
}
time_of() { sed -n 's/^  "time_ps": \([0-9]*\).*/\1/p' "$tmp/out"; }

# Tensor groups of a node, data groups with one member of each node: rings over its NIC. The gradients of 8 ranks are
# large enough for the switch (NVLS), those of 16 over two nodes take a tree.
h100='hgx-h100-8*rail:2@400Gbps,2us'
expect "a node is a tensor group" "$(groups "$h100" tp=8,dp=2)" '2 ranks in 1 by ring;8 ranks in 0 by ring;'
inside=$(time_of)
expect "data groups over both nodes" "$(groups "$h100" tp=2,dp=8)" '2 ranks in 0 by ring;8 ranks in 0, 1 by tree;'
expect "data groups are nodes" "$(groups "$h100" tp=2,dp=8,order=dp-tp)" '2 ranks in 1 by ring;8 ranks in 0 by nvls;'
# A graph as a node, whose pairs of accelerators share a NIC.
expect "a graph is a node" "$(groups 'l40s-pcie-8*rail:2@400Gbps,2us,nics=4' tp=8,dp=2)" \
    '2 ranks in 1 by ring;8 ranks in 0 by ring;'

# Tensor groups across nodes cannot be faster; auto finds the order that keeps them inside.
groups "$h100" tp=8,dp=2,order=dp-tp >"$tmp/groups"
expect "across nodes" "$(cat "$tmp/groups")" '2 ranks in 0 by ring;8 ranks in 0, 1 by tree;'
[ "$(time_of)" -gt "$inside" ] && verdict "tensor groups over both nodes are slower" "" ||
    verdict "tensor groups over both nodes are slower" "$(time_of) against $inside"
groups "$h100" tp=8,dp=2,order=auto >"$tmp/groups"
expect "auto keeps tensor groups inside" "$(time_of)" "$inside"
# Pinned axes are those of the dimensions.
# shellcheck disable=SC2086
"$ringlet" run $model -t "$h100" --layout tp=8,dp=2 --map tp=0,dp=1 -f json >"$tmp/out" 2>"$tmp/err" </dev/null
expect "pinned to node and network" "$(time_of)" "$inside"
leaves_nothing 2 'does not fit dimension 1 of size 2' run $model -t "$h100" --layout tp=8,dp=2 --map tp=1,dp=0
# Groups that take two of four accelerators of each node are no product: they have no switch in common.
"$ringlet" run -q --model transformer:layers=4,hidden=256,heads=4,vocabulary=1000 --accelerator h100-sxm --topology 'hgx-h100-8*switch:2@50GB/s,2us' \
    --layout cp=4,pp=2,dp=2,order=tp-dp-pp-cp --train batch=16,zero=0 --any-memory >"$tmp/out" 2>"$tmp/err"
verdict "gradients of a group over two nodes that is no product" "$([ $? = 0 ] || cat "$tmp/err")"
finish
