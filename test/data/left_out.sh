#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Says which published rows are missing from tables of this repository, and how to have them: left_out.sh TABLE...
cd "$(dirname "$0")/../.." || exit 1
awk -v tables=" $* " '
    /^#/ || !index(tables, " test/data/" $1 " ") { next }
    FNR == NR { all[$1] += $2; next }
    {
        if (!(told[$1]++))
            print "test/data/" $1 " goes without " all[$1] " published rows, which may be read but not shipped:"
        source = $4
        for (i = 5; i <= NF; i++)
            source = source " " $i
        printf "  %4d of %s (%s)\n", $2, source, $3 == "-" ? "no licence stated" : $3
        some = 1
    }
    END {
        if (some)
            print "to have them, copy the figures into tables with the same columns, and name all tables:\n" \
                "  make validate MEASURED=FILE MEASURED_NODES=FILE MEASURED_TRAINING=\"FILE...\""
    }' test/data/left-out.txt test/data/left-out.txt
