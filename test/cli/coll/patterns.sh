#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# --set patterns on the command line, compared with times computed by hand; sub-sizes of tori.
# Speaks TAP; the last line is "N passed, N failed".
set -u
cd "$(dirname "$0")/../../.." || exit 1
ringlet=${RINGLET:-build/ringlet}
passed=0 failed=0
verdict() { # name, got, expected
    case $2 in
    *"$3"*) passed=$((passed + 1)) && echo "ok $((passed + failed)) - $1" ;;
    *) failed=$((failed + 1)) && echo "not ok $((passed + failed)) - $1" && echo "# lacks '$3': $2" ;;
    esac
}
coll() { "$ringlet" coll -t 'switch:4@200GB/s,500ns*switch:8@50GB/s,1us' -c all_reduce -a hierarchical -b 3200B \
    --set chunks=1 -f csv "$@" 2>&1; echo "exit $?"; }

# alpha 1 us and 2 us, beta 5 and 20 ps; 2400 of 3200 bytes on 4 ranks, then 700 of 800 on 8, there and back:
# ring 3 + 7 rounds, direct 1 + 1, halving 2 + 3.
verdict "rings, the default" "$(coll)" ",34052000,"
verdict "direct, then halving" "$(coll --set patterns=direct,halving_doubling)" ",14052000,"
verdict "halving, then direct" "$(coll --set patterns=halving_doubling,direct)" ",8052000,"
verdict "the innermost alone" "$(coll --set patterns=direct)" ",30052000,"
verdict "an unknown pattern" "$(coll --set patterns=rign)" "did you mean 'ring'?"
verdict "its exit status" "$(coll --set patterns=rign)" "exit 2"
verdict "too many of them" "$(coll --set patterns=ring,ring,ring)" "is for dimension 2"
verdict "not of a power of two" "$("$ringlet" coll -t 'switch:6@50GB/s,1us' -c all_gather -a hierarchical -b 6KiB \
    --set patterns=halving_doubling 2>&1)" "needs a power of two in all_gather, but a dimension has 6 members"
verdict "an algorithm without" "$(coll -a ring --set patterns=ring)" "ring has no parameter patterns"
verdict "listed" "$("$ringlet" list settings -f csv)" "patterns"
verdict "sub-sizes" "$("$ringlet" topo 'torus:24@300GB/s,500ns,sizes=4x3x2' -f json)" '4x3x2'
verdict "no node, no rail" "$("$ringlet" coll -t 'switch:6@50GB/s,1us' -c all_to_all -a rail -b 6KiB 2>&1)" \
    "needs at least two nodes of several members, or a group of at least two dimensions"
echo "$passed passed, $failed failed"
[ $failed = 0 ]
