#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Accounts of links in ringlet coll, run and sweep: copies of packets that are still queued when the work ends are not
# counted, and alpha-beta names a link that two messages overload, however short they are. Speaks TAP; the last line is
# "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"
tree='fat-tree:16@50GB/s,0ns,hosts_per_leaf=4,oversubscription=4'

# An all-to-all over a thin link: queues outlast the timeout, and copies follow the last packet.
why=""
"$ringlet" coll -n packet -t "$tree" -c all_to_all -a direct -b 16MB -f csv >"$tmp/out" 2>"$tmp/err" ||
    why="exit status $?: $(cat "$tmp/err")"
verdict "copies of packets after the end are not counted" "$why"

# The study of aggregation: small windows, losses and parameter servers.
"$ringlet" sweep aggregation --format csv >"$tmp/out" 2>"$tmp/err"
why=$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "busiest_utilization") c = i; next }
    $c != "" { n++; if ($c > 1 + 1e-6) print "point " $1 ": " $c } END { if (n < 50) print n + 0 " points" }' "$tmp/out")
verdict "no link of the aggregation study is busy for longer than the run" "$why"

# GOAL: ranks 0 and 1 send 1 MB to ranks 4 and 5, over one link of 50 GB/s; then rank 0 computes for 1 ms.
goal() {
    cat <<END
num_ranks 16
rank 0 {
l1: send 1000000b to 4 tag 1
l2: calc 1000000
l2 requires l1
}
rank 1 {
l1: send 1000000b to $1 tag 1
}
rank 4 {
l1: recv 1000000b from 0 tag 1
}
rank $1 {
l1: recv 1000000b from 1 tag 1
}
$(for i in 2 3 5 6 7 8 9 10 11 12 13 14 15; do [ "$i" = "$1" ] || printf 'rank %s {\n}\n' "$i"; done)
END
}
goal 5 >"$tmp/meet.goal"
goal 3 >"$tmp/apart.goal"
why=""
"$ringlet" run --trace "$tmp/meet.goal" -t "$tree" -n alpha-beta >"$tmp/out" 2>"$tmp/err" || why="exit status $?"
grep -q 'warning: the run loads link .* to 200 % of its capacity' "$tmp/err" || why="$why
$(cat "$tmp/err")"
verdict "alpha-beta names a link where two short messages meet" "$why"
why=""
"$ringlet" run --trace "$tmp/apart.goal" -t "$tree" -n alpha-beta >"$tmp/out" 2>"$tmp/err" || why="exit status $?"
grep -q 'of its capacity' "$tmp/err" && why="$why
$(cat "$tmp/err")"
verdict "and none where they do not" "$why"

finish
