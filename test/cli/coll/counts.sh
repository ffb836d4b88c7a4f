#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Gather, scatter, unequal shares and parameter servers on the command line: times computed by hand, and clear errors.
. "$(dirname "$0")/../../support/tap.sh"
# Time of the only row in ps, on an ideal switch of 10 ps a byte (100 GB/s) and 1 us a message.
time_of() {
    "$ringlet" coll -t switch:4@100GB/s,500ns -n alpha-beta --check -f json "$@" 2>"$tmp/err" |
        sed -n 's/.*"time_ps": *\([0-9]*\).*/\1/p'
}
wrong() { # name, text of the message, status, arguments
    name=$1 text=$2 status=$3
    shift 3
    refused "$name" "$status" "$text" coll -t switch:4@100GB/s,500ns "$@"
}

echo 1000 0 3000 500 >"$tmp/shares"
expect "gather: all but the root's share in a burst" "$(time_of -a auto -c gather --root 0 -b 4000B)" 1030000
expect "scatter by a tree: two rounds" "$(time_of -c scatter -a tree -b 4000B)" 2030000
expect "gather with counts: to rank 2, 1500 bytes" "$(time_of -a auto -c gather --root 2 --counts "$tmp/shares")" 1015000
expect "scatter with counts: from rank 0, 3500 bytes" "$(time_of -a auto -c scatter --counts "$tmp/shares")" 1035000
expect "all-gather with counts: rank 2 sends 3 x 3000" "$(time_of -a auto -c all_gather --counts "$tmp/shares")" 1090000
expect "reduce-scatter with counts: rank 2 hears as much" "$(time_of -a auto -c reduce_scatter --counts "$tmp/shares")" 1090000
expect "one parameter server: 3 x 4000 bytes in, and out" "$(time_of -c all_reduce -a ps -b 4000B)" 2240000
expect "four: a quarter of it" "$(time_of -c all_reduce -a ps -b 4000B -s servers=4)" 2060000
expect "all collectives, all algorithms" "$(time_of -c all -a all -b 4KiB | wc -l | awk '{ print ($1 > 30) }')" 1

yes 7 | head -16 >"$tmp/pairs"
echo 1 2 3 >"$tmp/few"
echo 1 2 3 4 5 >"$tmp/many"
echo 1 2 -3 4 >"$tmp/negative"
echo 1 2 3 999999999999999999 >"$tmp/large"
wrong "too few counts" "few: expected 4 numbers, one for each rank, got 3" 3 -c gather --counts "$tmp/few"
wrong "too many" "many:1:9: expected 4 numbers" 3 -c gather --counts "$tmp/many"
wrong "a negative one" "negative:1:5: expected a number of bytes" 3 -c scatter --counts "$tmp/negative"
wrong "one too large" "large:1:7: expected a number of bytes" 3 -c scatter --counts "$tmp/large"
wrong "counts of what has no shares" "--counts: needs one --collective: all_to_all, all_gather" 2 -c broadcast --counts "$tmp/shares"
wrong "a size as well" "--bytes: does not go with --counts" 2 -c gather --bytes 1MiB --counts "$tmp/shares"
wrong "counts of several collectives" "--counts: needs one" 2 -c gather,scatter --counts "$tmp/shares"
wrong "an algorithm that cannot do counts" "bruck: does not support all_to_all with counts" 3 -c all_to_all -a bruck --counts "$tmp/pairs"
wrong "a root that is not there" "--root: rank 4 is not in the group" 2 -c gather --root 4
wrong "more servers than members" "ps: expected at most 4 servers, the number of members, got 5" 3 -c all_reduce -a ps -s servers=5
wrong "no servers" "servers: expected 1 to" 2 -c all_reduce -a ps -s servers=0
wrong "chunks past all lanes" "are more than 4096 lanes" 3 -c gather -a tree -s chunks=4096 -s channels=2
finish
