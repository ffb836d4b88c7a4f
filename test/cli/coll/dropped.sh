#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ringlet coll: an algorithm of a list that cannot run drops out with one note, in JSON, too; alone it is an error.
# Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"

# Both levels can add up and replicate, but accelerators relay between them and can do neither: a tree over both fails.
two='switch:8@450GB/s,500ns,in_network=reduce+multicast*switch:4@50GB/s,500ns,in_network=reduce+multicast'

coll() { # arguments; sets $status
    "$ringlet" coll "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
}

for kind in all_reduce reduce_scatter all_gather all_to_all broadcast reduce gather scatter barrier send_recv; do
    coll -t "$two" -c $kind -a all -b 1MiB
    expect "the table of $kind ends" "$status-$(grep -c "^$kind .* ring \|^$kind .* point_to_point " "$tmp/out")" 0-1
done
kinds=all_reduce,reduce_scatter,all_gather,all_to_all,broadcast,reduce
coll -t "$two" -c $kinds -a all -b 64KiB:1MiB:x4 --all
expect "every collective, every algorithm" "$status-$(grep -c '^[a-z_]*  *[0-9]' "$tmp/out")" \
    "0-$(($("$ringlet" coll -t "$two" -c $kinds -a all -b 64KiB -f csv 2>/dev/null | wc -l) * 3 - 3))"
expect "one note for nvls, with its collectives" "$(grep -c 'nvls' "$tmp/err")-$(grep -c \
    'nvls is left out of all_reduce, reduce_scatter, all_gather, broadcast, reduce: needs members on one switch' "$tmp/err")" 1-1
expect "no note for collectives that an algorithm never does" "$(grep -c 'does not support' "$tmp/err")" 0

coll -t "$two" -c all_reduce -a ring,nvls -b 1MiB -f json
expect "in JSON" "$status-$(grep -c '"dropped": \[' "$tmp/out")-$(grep -c \
    '"algorithm": "nvls", "from_bytes": 1048576, "sizes": 1, "reason": "needs members on one switch' "$tmp/out")" 0-1-1
coll -t "$two" -c all_reduce -a nvls -b 1MiB
expect "alone it is an error" "$status-$(grep -c '^ringlet: nvls: needs members on one switch' "$tmp/err")" 3-1
coll -t ring:8@100GB/s,1us -c all_reduce -a nvls -b 1MiB
expect "where no switch is, too" "$status-$(grep -c '^ringlet: nvls: no switch' "$tmp/err")" 3-1

coll -t ring:8@100GB/s,1us -c broadcast,all_gather -a ring,rings,bruck -b 1MiB,2MiB
expect "a named algorithm that lacks a collective is named" \
    "$status-$(grep -c 'left out' "$tmp/err")-$(grep -c 'bruck is left out of broadcast: it does not support' "$tmp/err")" 0-1-1
coll -t 'ring:4@100GB/s,1us*switch:8@50GB/s,1us' -a ring,rings -b 1MiB,2MiB
expect "and one that this network cannot carry" \
    "$status-$(wc -l <"$tmp/err" | tr -d ' ')-$(grep -c 'rings is left out of all_reduce: no ring' "$tmp/err")" 0-1-1
coll -t ring:8@100GB/s,1us -c all_reduce -a nvls,bruck -b 1MiB
expect "nothing is left" "$status-$(grep -c 'none of these algorithms' "$tmp/err")-$(grep -c 'left out' "$tmp/err")" 2-1-2
coll -t ring:8@100GB/s,1us -c all_reduce -b 1MiB
expect "without -a nothing is said of what nobody would expect" "$status-$(wc -l <"$tmp/err" | tr -d ' ')" 0-0
# 32 ranks: packets are left out of all above 2^33 / 32 = 256 MiB.
coll -t 'switch:32@100GB/s,1us,in_network=reduce+multicast' -a all -b 1KiB,512MiB,1GiB -n packet --set mtu=1MiB
expect "at some sizes only" "$status-$(grep -c 'switchml is left out of all_reduce (2 of 3 sizes, from 512 MiB): its packets take' "$tmp/err")" 0-1

finish
