#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `auto` takes at most twice the time of the fastest algorithm, as simulated: on every shape that its forms know, for
# collectives with a root and barriers, at 1 KiB, 1 MiB and 64 MiB. The synthesised tacos is left out.
. "$(dirname "$0")/../../support/tap.sh"
cd "$tmp" || exit 1
all=auto,ring,rings,hierarchical,direct,halving_doubling,recursive_doubling,tree

twice() { # network, machine
    "$ringlet" coll -n "$1" -t "$2" -c broadcast,reduce,gather,scatter,barrier -a $all -b 1KiB,1MiB,64MiB -f csv >table 2>err
    verdict "$1: $2" "$(awk -F, '
        FNR == 1 || /^#/ { next }
        { key = $1 "," $2 }
        !(key in auto) { auto[key] = $5; name[key] = $3; n++; next }
        !(key in best) || $5 < best[key] { best[key] = $5; by[key] = $3 }
        END {
            for (key in best)
                if (auto[key] > 2 * best[key])
                    print key ": " name[key] " takes " auto[key] " ps, " by[key] " " best[key]
            if (n < 13) print n " cells"
        }' table | head -5)$(grep -v warning err | grep error)"
}
near=@300GB/s,200ns
far=@50GB/s,500ns
# Alpha-beta does not share the links of a ring: gathers beat their bound there, which ends the command.
twice flow ring:24$far
for machine in switch:24$far fat-tree:32$far,hosts_per_leaf=8,oversubscription=4 fat-tree:32$far,levels=3,hosts_per_leaf=4 \
    fully-connected:8$far torus:3x5$far torus:4x4x2$far mesh:4x4$far "switch:8$near*switch:4$far" \
    "switch:4$near*fat-tree:8$far" "fully-connected:4$near*ring:8$far" "switch:4$near*torus:3x3$far"; do
    twice flow "$machine"
    twice alpha-beta "$machine"
done
finish
