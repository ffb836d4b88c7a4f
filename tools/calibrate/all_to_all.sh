#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# All-to-all across nodes: predicted times beside a closed form. No measured row is known, so these are no errors.
#   S (n - g) / n / (0.945 r) + c (n - 1)
# S: bytes of a rank; n ranks, g of them on a node; r: NIC rate of a GPU; c: 128 KiB at the rate of a NIC.
set -u
ringlet=${RINGLET:-build/ringlet}
row() { # TOPOLOGY RANKS GPUS RATE-OF-A-GPU RATE-OF-A-NIC, in GB/s
    "$ringlet" coll -t "$1" -c all_to_all -a direct -b 1MiB,64MiB,1GiB -f csv </dev/null |
        awk -F, -v machine="$1" -v n="$2" -v g="$3" -v r="$4" -v nic="$5" '
            NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
            {
                bytes = $at["bytes"]
                form = bytes * (n - g) / n / (0.945 * r * 1e3) + 131072 / (nic * 1e3) * (n - 1)
                predicted = $at["time_ps"] / 1e6
                printf "%-52s %10d %12.0f %10.0f %7.2f\n", machine, bytes, predicted, form, predicted / form
            }'
}
echo 'All-to-all across nodes, no measured row: predicted beside a closed form'
printf '%-52s %10s %12s %10s %7s\n' topology bytes 'predicted us' 'form us' ratio
row 'hgx-h100-8*rail:8@400Gbps,500ns' 64 8 50 50
row 'dgx-a100-8*rail:4@200Gbps,500ns,network=roce' 32 8 25 25
