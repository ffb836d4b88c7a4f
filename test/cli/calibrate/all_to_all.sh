#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The table of all-to-all across nodes that make validate prints: named as without a measured row; the closed form of
# clusters by hand, and predictions that meet it where bytes count. Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"
RINGLET=$ringlet tools/calibrate/all_to_all.sh >"$tmp/out" 2>"$tmp/err"
expect "it ends well" "$?" 0
expect "it says that nothing was measured" "$(grep -c '^All-to-all across nodes, no measured row' "$tmp/out")" 1
# 2^30 (64 - 8) / 64 / 47.25 GB/s + 63 x 128 KiB / 50 GB/s = 19884.1 + 165.2 us; 2^30 (32 - 8) / 32 / 23.625 GB/s +
# 31 x 128 KiB / 25 GB/s = 34087.0 + 162.5 us.
form() { awk -v t="$1" -v b="$2" '$1 == t && $2 == b { print $4 }' "$tmp/out"; }
expect "64 H100" "$(form 'hgx-h100-8*rail:8@400Gbps,500ns' 1073741824)" 20049
expect "32 A100" "$(form 'dgx-a100-8*rail:4@200Gbps,500ns,network=roce' 1073741824)" 34250
expect "1 MiB" "$(form 'hgx-h100-8*rail:8@400Gbps,500ns' 1048576)" 185
expect "predictions of 1 GiB within 2 %" \
    "$(awk '$2 == 1073741824 && $5 >= 0.98 && $5 <= 1.02' "$tmp/out" | wc -l)" 2
expect "six rows" "$(awk '$2 ~ /^[0-9]+$/' "$tmp/out" | wc -l)" 6
expect "make validate prints it" "$(make -n validate DEPS=no 2>/dev/null | grep -c 'tools/calibrate/all_to_all.sh')" 1
finish
