# SPDX-License-Identifier: GPL-3.0-or-later
# A ring all-reduce of m bytes over n ranks of an ideal switch: launch + 2(n-1)(alpha + m/(n B)), in us; each time is
# changed by up to NOISE, by a fixed sequence of factors.
ring() { # NAME LAUNCH_us ALPHA_us GBps NOISE RANKS...
    name=$1 launch=$2 alpha=$3 bw=$4 noise=$5
    shift 5
    echo "$*" | awk -v name="$name" -v l="$launch" -v a="$alpha" -v b="$bw" -v noise="$noise" '{
        for (i = 1; i <= NF; i++)
            for (m = 1024; m <= 1073741824; m *= 2) {
                n = $i
                seed = (seed * 1103 + 12345) % 65536
                f = 1 + noise * (seed / 32768 - 1)
                printf "%s,all_reduce,%d,%d,%.9f\n", name, n, m, f * (l + 2 * (n - 1) * (a + m / (n * b * 1000)))
            }
    }'
}
