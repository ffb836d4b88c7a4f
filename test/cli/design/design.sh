#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Splits of bandwidth that LIBRA published or that were solved from its released inputs, the iterations that ASTRA-sim 1.0 simulates
# with them, a grid search that finds no better split, conflicting limits, and clear errors. Networks, prices, workloads and
# splits: github.com/willjwon/sc245-artifact (SC22) and github.com/astra-sim/libra (LIBRA'24); ASTRA-sim 1.0 was run on them.
. "$(dirname "$0")/../../support/tap.sh"
if ! "$ringlet" --version | grep -q 'NLopt [0-9]'; then
    skip "designs" "needs NLopt"
    finish
fi

# Two equal blocks of nine layers: file, ns of projections, attention, feed-forward, norm; bytes of all-reduce, all-gather (share
# of a rank), weight gradients; `spread`: gradients of all weight matrices, in two sizes.
transformer() {
    awk -v t1=$2 -v t2=$3 -v t3=$4 -v t4=$5 -v a=$6 -v g=$7 -v w=$8 -v s="${9:-0}" -v l="${10:-0}" '
        function layer(n, t, f, i, size, k) {
            print n, -1, t, f ? "ALLREDUCE" : "NONE", f, t, i, size, t, k ? "ALLREDUCE" : "NONE", k, 10
        }
        BEGIN {
            for (b = 0; b < 2; b++) {
                layer("Q", t1, 0, "ALLREDUCE", a, s ? s : b ? 0 : w)
                layer("K", t1, 0, "NONE", 0, s); layer("V", t1, 0, "NONE", 0, s)
                layer("QK", t2, 0, "NONE", 0, 0); layer("softmax", t2, 0, "NONE", 0, 0)
                layer("concat", t1, a, "ALLGATHER", g, s)
                layer("W1", t3, 0, "ALLREDUCE", a, l); layer("W2", t3, a, "NONE", 0, l)
                layer("norm", t4, 0, "NONE", 0, 0)
            }
        }' >"$1"
}
transformer "$tmp/175B" 9375000 781250 37500000 12207 805306368 50331648 452984832
transformer "$tmp/1T" 2343750 97656 9375000 12207 805306368 6291456 226492416
transformer "$tmp/17B" 4498545 270589 17994181 1057 69730304 69730304 869449728
transformer "$tmp/175B-spread" 9375000 781250 37500000 12207 805306368 50331648 0 18874368 75497472
transformer "$tmp/1T-spread" 2343750 97656 9375000 12207 805306368 6291456 0 9437184 37748736
tp() { case $1 in 175B*) echo 16 ;; 1T*) echo 128 ;; *) echo 1 ;; esac }
ln -sf "$PWD/../shared/data/astra1/ResNet_50.txt" "$tmp/ResNet"

# Shape by name with its bandwidths: shape B1/B2/..., unit.
net() {
    echo "$2" | awk -F/ -v shape=$1 -v unit=$3 'BEGIN {
        of["2D"] = "ring:8 switch:128"; of["4D"] = "ring:2 fully-connected:8 ring:8 switch:8"
        of["L3"] = "ring:16 fully-connected:8 switch:32"; of["L4"] = "ring:4 fully-connected:8 ring:4 switch:32"
    } { n = split(of[shape], d, " "); for (i = 1; i <= n; i++) printf "%s%s@%s%s,1ns", (i == 1 ? "" : "*"), d[i], $i, unit; print "" }'
}
design() { "$ringlet" design bandwidth --shared ideal "$@" --format csv 2>"$tmp/err"; }
# Split and column of a CSV report.
cell() { awk -F, -v row=$1 -v name=$2 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } $1 == row && !done { print $c; done = 1 }'; }
near() { # name, actual, expected, relative tolerance (or absolute behind +); lists with /
    wrong=$(echo "${2:-nothing} $3 $4" | awk '{
        n = split($2, want, "/"); m = split($1, got, "/")
        if (n != m) { print "got " $1 ", expected " $2; exit }
        for (i = 1; i <= n; i++) {
            far = got[i] - want[i]; if (far < 0) far = -far
            limit = substr($3, 1, 1) == "+" ? substr($3, 2) + 0 : $3 * want[i]
            if (far > limit) { print "got " $1 ", expected " $2 " within " $3; exit }
        }
    }')
    verdict "$1" "$wrong"
}

# ---- SC22: network, workload, split of 100 GB/s, ns of an iteration; then the objective time x cost, where two published splits
# are not converged: they were solved again.
while read -r shape work objective split value; do
    design -t "$(net $shape 1/1/1/1 GB/s)" -w "$tmp/$work@tp=$(tp $work)" --total 100GB/s --loop recompute --forward-compute 1 \
        --cost sc22 --objective $objective --no-simulation >"$tmp/out"
    near "SC22 $shape $work $objective: split" "$(cell chosen bandwidths <"$tmp/out")" $split +0.1
    got=$(awk -v t="$(cell chosen time_ps <"$tmp/out")" -v c="$(cell chosen cost_dollars <"$tmp/out")" -v o=$objective \
        'BEGIN { printf "%.9g", o == "perf" ? t / 1e3 : t / 1e3 * c }')
    near "SC22 $shape $work $objective: objective" $got $value 1e-4
done <<END
2D 17B perf 87.586/12.414 344520675.12
2D 175B perf 81.925/18.075 957415827.02
2D 1T perf 87.177/12.823 411060761.61
4D 17B perf 50.049/43.793/5.474/0.684 344520675.12
4D 175B perf 43.963/38.467/15.618/1.952 973339484.11
4D 1T perf 44.278/38.743/4.843/12.136 439093103.12
2D 17B perf-per-cost 98.457/1.543 1.364959371e14
2D 175B perf-per-cost 96.593/3.407 5.295651396e14
2D 1T perf-per-cost 92.220/7.780 3.465483637e14
4D 17B perf-per-cost 87.720/10.766/1.346/0.168 4.953470463e13
4D 175B perf-per-cost 59.149/36.584/3.793/0.474 1.957431125e14
4D 1T perf-per-cost 49.563/43.368/5.421/1.648 1.539017654e14
END

# As published: a line with the size of model groups and the checkpoints, one with the number of layers.
published() { (printf 'HYBRID_TRANSFORMER_FWD_IN_BCKWD\tmodel_parallel_NPU_group: %s checkpoints: 2 0 9 checkpoint_initiates: 2 17 8\n18\n' $(tp $1); cat "$tmp/$1"); }
for work in 175B 1T; do
    published $work >"$tmp/$work.txt"
    for file in $work@tp=$(tp $work) $work.txt; do
        design -t "$(net 2D 1/1 GB/s)" -w "$tmp/$file" --total 100GB/s --loop recompute --forward-compute 1 --no-simulation >"$tmp/out"
        cell chosen time_ps <"$tmp/out"
    done >"$tmp/times"
    expect "SC22 $work with its header" "$(uniq -c "$tmp/times" | awk '{ print $1 }')" 2
done
design -t "$(net 2D 1/1 GB/s)" -w "$tmp/1T.txt@tp=8" --total 100GB/s >"$tmp/out"
expect "the header's groups are not another size" "$? $(cut -d, -f1 "$tmp/err" | head -1)" "2 ringlet: --workload: tp=8"

# ---- Overlapped loops, 4D, 325 GB/s, gradients per weight matrix.
while read -r work loop split value; do
    design -t "$(net 4D 1/1/1/1 GB/s)" -w "$tmp/$work-spread@tp=$(tp $work)" --total 325GB/s --loop $loop --forward-compute 1 \
        --no-simulation >"$tmp/out"
    near "$loop $work: split" "$(cell chosen bandwidths <"$tmp/out")" $split +0.05
    near "$loop $work: time" "$(cell chosen time_ps <"$tmp/out")" ${value}e3 1e-5
done <<END
175B no-overlap 137.985/120.737/58.914/7.364 750429561.2
175B overlap 125.217/109.565/80.193/10.024 720058472.5
175B recompute 142.879/125.019/50.758/6.345 773337855.0
175B overlap-recompute 136.299/119.262/61.724/7.715 744558344.4
1T no-overlap 140.462/122.904/15.363/46.271 230160676.9
1T overlap 139.763/122.293/15.287/47.657 207884401.9
1T recompute 143.903/125.915/15.739/39.443 252794495.3
1T overlap-recompute 144.035/126.031/15.754/39.180 230551865.1
END

# ---- LIBRA'24: total, split, speed-up and speed per dollar over an equal split.
while read -r shape work objective total split speedup gain; do
    [ -r "$tmp/$work" ] || { skip "LIBRA $shape $work" "../shared/data is not here"; continue; }
    design -t "$(net $shape 1/1/1/1 GB/s)" -w "$tmp/$work@tp=$(tp $work)" --total ${total}GB/s --objective $objective --tie-break 1e-5 \
        --no-simulation >"$tmp/out"
    [ $split = - ] || near "LIBRA $shape $work $objective $total: split" "$(cell chosen bandwidths <"$tmp/out")" $split +0.05
    near "LIBRA $shape $work $objective $total: speed-up" "$(cell chosen speedup <"$tmp/out")" $speedup 1e-4
    [ $gain = - ] || near "LIBRA $shape $work $objective $total: per cost" "$(cell chosen per_cost_gain <"$tmp/out")" $gain 2e-4
done <<END
L3 175B perf 500 397.5529/89.9927/12.4543 1.0595 4.333
L4 175B perf 500 338.4497/84.6124/58.1578/18.7801 1.0729 3.886
L4 1T perf 500 321.7506/93.8439/10.0547/74.3508 1.2422 1.965
L3 17B perf 500 468.8645/27.3504/3.7851 1.0191 5.044
L3 ResNet perf 500 468.8645/27.3504/3.7851 1.2846 6.359
L4 ResNet perf 500 375.0916/109.4017/11.7216/3.7851 1.3141 7.625
L3 175B perf-per-cost 500 480.5113/17.1195/2.3692 1.0154 5.205
L4 175B perf-per-cost 500 448.8325/44.5587/4.9956/1.6132 0.9528 6.754
L3 17B perf-per-cost 500 489.9031/8.8694/1.2275 0.9972 5.262
L3 ResNet perf-per-cost 500 468.8645/27.3504/3.7851 1.2846 6.359
L4 ResNet perf-per-cost 500 419.8196/70.2265/7.5243/2.4297 1.2083 7.891
L4 ResNet perf 100 - 1.9647 11.400
L4 1T perf 100 - 1.6893 -
L4 175B perf 100 - 1.3010 -
L4 175B perf 1000 676.8994/169.2248/116.3156/37.5602 1.0374 -
L4 ResNet perf 1000 - 1.1704 -
END
while read -r work objective split value cost; do
    design -t "$(net L4 1/1/1/1 GB/s)" -w "$tmp/$work@tp=$(tp $work)" --total 1000GB/s --constraint 'b1 = 500GB/s' --constraint 'b1 >= b2' \
        --constraint 'b2 >= b3' --constraint 'b3 + b4 = 200GB/s' --objective $objective --tie-break 1e-5 --no-simulation >"$tmp/out"
    near "LIBRA's constraints, $work $objective: split" "$(cell chosen bandwidths <"$tmp/out")" $split +0.05
    near "LIBRA's constraints, $work $objective: time" "$(cell chosen time_ps <"$tmp/out")" ${value}e3 1e-5
    near "LIBRA's constraints, $work $objective: cost" "$(cell chosen cost_dollars <"$tmp/out")" $cost $([ $objective = perf ] && echo +1 || echo 1e-5)
done <<END
175B perf 500/300/151.1811/48.8189 708438743 22966069
175B perf-per-cost 500/300/197.0457/2.9543 743326911 12934243
1T perf 500/300/15.625/184.375 194118476 52615818
END
design -t "$(net L4 125/125/125/125 GB/s)" -w "$tmp/175B@tp=16" --total 500GB/s --tie-break 1e-5 --no-simulation >"$tmp/out"
near "LIBRA's cost of 4 dimensions" "$(cell equal cost_dollars <"$tmp/out")" 34508892.16 +0.01
design -t "$(net L3 125/125/125 GB/s)" -w "$tmp/175B@tp=16" --total 500GB/s --tie-break 1e-5 --no-simulation >"$tmp/out"
near "LIBRA's cost of 3 dimensions" "$(cell equal cost_dollars <"$tmp/out")" 44646481.92 +0.01

# ---- ASTRA-sim 1.0: workload, network, split in 2^30 B/s; us simulated, us in closed form, dollars. Its splits are rounded.
while read -r work shape kind split simulated model cost; do
    design -t "$(net $shape $split GiB/s)" -w "$tmp/$work@tp=$(tp $work)" --total 100GiB/s --unit GiB/s --loop recompute \
        --compute-scale 0.26 --all-switches --endpoint-delay 1ns --chunks 64 >"$tmp/out"
    near "ASTRA-sim $work $shape $kind $split: simulated" "$(cell given simulated_ps <"$tmp/out")" ${simulated}e6 0.0005
    near "ASTRA-sim $work $shape $kind $split: model" "$(cell given time_ps <"$tmp/out")" ${model}e6 1e-6
    near "ASTRA-sim $work $shape $kind $split: cost" "$(cell given cost_dollars <"$tmp/out")" $cost +1
    [ $kind = Equal ] && near "$work $shape $split: simulated as in closed form" "$(cell given simulated_over_model <"$tmp/out")" 1 0.001
done <<END
17B 2D Equal 50.00/50.00 141754.6 141752.4 3143680
17B 2D Perf 87.58/12.42 129837.6 129591.5 1088745
17B 2D PPC 98.46/1.54 244058.5 243835.6 493810
17B 4D Equal 25.00/25.00/25.00/25.00 145801.0 145801.1 1725440
17B 4D Perf 50.03/43.77/5.49/0.71 130058.8 129598.9 345962
17B 4D PPC 87.44/11.02/1.39/0.16 184746.1 182603.0 239313
17B 2D Equal 150.00/150.00 122860.7 122858.5 9431040
17B 2D Perf 262.74/37.26 118888.0 118804.9 3266236
17B 2D PPC 295.38/4.62 156961.9 156886.2 1481429
17B 4D Equal 75.00/75.00/75.00/75.00 124207.9 124208.0 5176320
17B 4D Perf 150.09/131.31/16.47/2.13 118961.1 118807.3 1037887
17B 4D PPC 262.32/33.06/4.17/0.48 137190.0 136475.4 717939
17B 2D Equal 250.00/250.00 119082.1 119079.7 15718400
17B 2D Perf 437.90/62.10 116698.0 116647.5 5443727
17B 2D PPC 492.30/7.70 139542.6 139496.3 2469048
175B 2D Equal 50.00/50.00 595196.2 595136.7 3143680
175B 2D Perf 81.92/18.08 491608.3 491496.3 1398243
175B 2D PPC 96.59/3.41 841010.4 838247.9 596064
175B 4D Equal 25.00/25.00/25.00/25.00 657219.0 656806.6 1725440
175B 4D Perf 43.96/38.47/15.62/1.95 510587.9 506393.7 426199
175B 4D PPC 58.91/36.65/3.96/0.48 667828.9 662312.4 315199
175B 2D Equal 150.00/150.00 356604.0 356562.5 9431040
175B 2D Perf 245.76/54.24 322072.9 322015.7 4194730
175B 2D PPC 289.77/10.23 438521.8 437599.6 1788193
175B 4D Equal 75.00/75.00/75.00/75.00 377258.3 377119.1 5176320
175B 4D Perf 131.88/115.41/46.86/5.85 328392.0 326981.5 1278597
175B 4D PPC 176.73/109.95/11.88/1.44 380804.5 378954.4 945598
175B 2D Equal 250.00/250.00 308884.5 308847.7 15718400
175B 2D Perf 409.60/90.40 288168.2 288119.6 6991217
175B 2D PPC 482.95/17.05 358024.3 357469.9 2980321
1T 2D Equal 50.00/50.00 407648.2 407564.5 3143680
1T 2D Perf 87.18/12.82 283687.2 283441.5 1110618
1T 2D PPC 92.22/7.78 403004.0 400100.9 835023
1T 4D Equal 25.00/25.00/25.00/25.00 464160.3 463697.3 1725440
1T 4D Perf 44.28/38.74/4.85/12.14 316131.7 309556.7 982790
1T 4D PPC 49.57/43.36/5.42/1.65 485563.7 479407.2 398305
1T 2D Equal 150.00/150.00 175191.1 175142.6 9431040
1T 2D Perf 261.54/38.46 133869.1 133768.3 3331854
1T 2D PPC 276.66/23.34 173632.4 172654.7 2505069
1T 4D Equal 75.00/75.00/75.00/75.00 194009.1 193853.5 5176320
1T 4D Perf 132.84/116.22/14.55/36.42 144672.2 142473.3 2948370
1T 4D PPC 148.71/130.08/16.26/4.95 201149.4 199090.1 1194916
1T 2D Equal 250.00/250.00 128698.8 128658.2 15718400
1T 2D Perf 435.90/64.10 103908.1 103833.6 5553091
1T 2D PPC 461.10/38.90 127758.2 127165.5 4175114
END

# ---- no split of a grid is better
grid() { # name, shape, workload, objective, limits; steps of 1 in 24 of the total
    name=$1 shape=$2 work=$3 objective=$4
    shift 4
    design -t "$(net $shape 1/1/1/1 GB/s)" -w "$work" --total 120GB/s --objective $objective --no-simulation "$@" >"$tmp/out"
    best=$(awk -v t="$(cell chosen time_ps <"$tmp/out")" -v c="$(cell chosen cost_dollars <"$tmp/out")" -v o=$objective \
        'BEGIN { printf "%.12g", o == "perf" ? t : t * c }')
    worse="" tried=0
    for split in $(awk -v n=$(case $shape in *2*) echo 2 ;; *) echo 3 ;; esac) 'BEGIN { for (i = 1; i < 24; i++) if (n == 2) print 5 * i "/" 5 * (24 - i)
            else for (k = 1; i + k < 24; k += 3) print 5 * i "/" 5 * k "/" 5 * (24 - i - k) }'); do
        design -t "$(net $shape $split GB/s)" -w "$work" --total 120GB/s --objective $objective --no-simulation "$@" >"$tmp/one"
        tried=$((tried + 1))
        [ -z "$worse" ] && worse=$(awk -v t="$(cell given time_ps <"$tmp/one")" -v c="$(cell given cost_dollars <"$tmp/one")" -v o=$objective \
            -v best=$best -v s=$split 'BEGIN { x = o == "perf" ? t : t * c; if (x < best * (1 - 1e-9)) print s " gives " x ", chosen " best }')
    done
    [ $tried -gt 20 ] || worse="only $tried splits"
    verdict "no split of a grid beats it: $name" "$worse"
}
grid "175B perf" 2D "$tmp/175B@tp=16" perf
grid "1T per cost" 2D "$tmp/1T@tp=128" perf-per-cost
grid "175B per cost, 3D" L3 "$tmp/175B@tp=16" perf-per-cost
grid "overlapped, 3D" L3 "$tmp/175B-spread@tp=16" perf --loop overlap

# ---- several workloads, in-network reduction, prices from a file, a Clos
design -t "$(net 4D 1/1/1/1 GB/s)" -w "$tmp/17B" -w "$tmp/175B@tp=16" -w "$tmp/1T@tp=128,weight=2" --total 100GB/s --no-simulation >"$tmp/out"
mean=$(awk -F, '$1 == "chosen" && $2 == "all" { all = $4 } $1 == "chosen" && $2 == "1T" { sum += 2 * $4 } $1 == "chosen" && $2 ~ /7/ { sum += $4 }
    END { printf "%.9f", all / (sum / 4) }' "$tmp/out")
near "several workloads: their weighted mean" "$mean" 1 1e-9
# All-reduce over an in-network switch of 4 and a plain one of 4: s into the first, 2 s/4 3/4 into the second, a ratio of 8 to 3.
echo '{"layers": [{"weight": {"compute": "1us", "collective": "all_reduce", "bytes": "1GB", "over": "all"}}]}' >"$tmp/one.json"
design -t 'switch:4@1GB/s,1ns*switch:4@1GB/s,1ns' -w "$tmp/one.json" --total 110GB/s --in-network 1 >"$tmp/out"
near "switches that add up change the split" "$(cell chosen bandwidths <"$tmp/out")" 80/30 +0.001
# In the simulation a member's own part also goes to the switch: 5/4 of the closed form.
near "and are simulated: 5/4 of the closed form" "$(cell chosen simulated_over_model <"$tmp/out")" 1.2625 0.0125
near "both dimensions busy for what they carry" "$(cell chosen utilization <"$tmp/out")" 0.99/0.792 0.0125
# One dimension: each of 16 ranks fetches and stores its share, 17/16 of the closed form. The first of 64 chunks is fetched
# and the last is stored without overlap.
design -t 'switch:16@10GB/s,1ns' -w "$tmp/one.json" --total 10GB/s --in-network 1 >"$tmp/out"
near "a switch alone is simulated" "$(cell chosen simulated_ps <"$tmp/out")" $((100000000000 * 17 / 16 * 131 / 128)) 0.01
design -t 'switch:4@1GB/s,1ns*switch:4@1GB/s,1ns' -w "$tmp/one.json" --total 110GB/s >"$tmp/out"
near "without them 1.5 to 0.375" "$(cell chosen bandwidths <"$tmp/out")" 88/22 +0.001
echo '{"source": "made up", "pod": {"link": 1, "switch": 10, "nic": 100}}' >"$tmp/prices.json"
dollars() { design -t 'switch:64@1GB/s,1ns*switch:64@1GB/s,1ns' -w "$tmp/one.json" --total 2GB/s --no-simulation --levels pod,pod "$@" >"$tmp/out"
    cell given cost_dollars <"$tmp/out" | sed 's/\..*//'; }
expect "prices of a file" "$(dollars --cost "$tmp/prices.json")" $((4096 * 2 * 111))
# 64 ports fit one tier of radix 64; 4096 need three: 3 links, 5 switch ports.
expect "a Clos that joins everything" "$(dollars --cost "$tmp/prices.json" --radix 64)" $((4096 * (111 + 3 + 50 + 100)))
"$ringlet" design bandwidth -t 'switch:2@1GB/s,1ns*ring:2@1GB/s,1ns*ring:2@1GB/s,1ns*switch:8@1GB/s,1ns' -w "$tmp/one.json" --total 2GB/s --no-simulation >"$tmp/out"
expect "a switch that has no price is said" "$(grep -c '^# dimension 1: these prices have no switch at the chiplet' "$tmp/out")" 1
expect "rails need one tier" "$(dollars --cost "$tmp/prices.json" --radix 64 --rail)" $((4096 * 2 * 111))

# ---- traces: the same layers as a layer table, and as a trace of each rank
head -5 "$tmp/17B" | sed 's/ALLREDUCE 69730304/NONE 0/' >"$tmp/layers"
(echo DATA; echo 5; cat "$tmp/layers") >"$tmp/layers.txt"
for n in 16; do
    "$ringlet" trace convert "$tmp/layers.txt" --trace-ranks $n -o "$tmp/trace" >"$tmp/out" 2>"$tmp/err"
    design -t 'ring:4@10GB/s,1ns*switch:4@10GB/s,1ns' -w "$tmp/layers.txt" --total 20GB/s >"$tmp/out"
    as_layers=$(cell chosen time_ps <"$tmp/out")
    design -t 'ring:4@10GB/s,1ns*switch:4@10GB/s,1ns' -w "$tmp/trace" --total 20GB/s >"$tmp/out"
    near "a trace takes what its layers take" "$(cell chosen time_ps <"$tmp/out")" "$as_layers" 1e-6
done

of_trace() { design -t hgx-h100-8 -w "$1" --total 500GB/s; }
expect "a shipped trace by its name" "$(of_trace transformer-8)" "$(of_trace traces/transformer-8)"
# Checkpoints repeat forward passes in every loop: the same as in the trace of each rank.
published 17B | sed 's/group: 1/group: 4/' >"$tmp/17B.txt"
"$ringlet" trace convert "$tmp/17B.txt" --trace-ranks 16 -o "$tmp/repeats" >"$tmp/out" 2>"$tmp/err"
design -t 'ring:4@10GB/s,1ns*switch:4@10GB/s,1ns' -w "$tmp/17B.txt" --total 20GB/s --no-simulation >"$tmp/out"
as_layers=$(cell chosen time_ps <"$tmp/out")
design -t 'ring:4@10GB/s,1ns*switch:4@10GB/s,1ns' -w "$tmp/repeats@tp=4" --total 20GB/s --no-simulation >"$tmp/out"
near "layers with checkpoints, too" "$(cell chosen time_ps <"$tmp/out")" "$as_layers" 1e-6

for loop in overlap recompute overlap-recompute; do
    "$ringlet" design bandwidth -t 'ring:4@10GB/s,1ns*switch:4@10GB/s,1ns' -w "$tmp/trace" --total 20GB/s --loop $loop -o "$tmp/left" >"$tmp/out" 2>"$tmp/err"
    expect "a trace has no loop: $loop" "$? $(head -1 "$tmp/err") $(ls "$tmp/left" 2>/dev/null)" \
        "2 ringlet: --loop: $loop needs workloads with layers; '$tmp/trace' is a trace "
done

# ---- chunks have at least 256 KiB: a small collective is not divided
small() { # bytes, options: us simulated over one switch of 4 at 10 GB/s, 10 us away
    echo '{"layers": [{"weight": {"collective": "all_reduce", "bytes": "'$1'", "over": "all"}}]}' >"$tmp/small.json"
    shift
    design -t 'switch:4@10GB/s,5us' -w "$tmp/small.json" --total 10GB/s "$@" >"$tmp/out"
    cell chosen simulated_ps <"$tmp/out" | awk '{ print $1 / 1e6 }'
}
# Halving and doubling: 4 rounds of 10 us, and 3/2 of the bytes at 10 GB/s.
near "one chunk of 128 KiB" "$(small 128KiB)" $(awk 'BEGIN { print 40 + 1.5 * 131072 / 1e4 }') 1e-6
expect "1 MiB in 4" "$(small 1MiB)" "$(small 1MiB --chunks 4)"
expect "and 64 MiB in 64" "$(small 64MiB)" "$(small 64MiB --chunks 64)"
expect "fewer are faster there" "$(awk -v a="$(small 1MiB)" -v b="$(small 1MiB --chunks 64)" 'BEGIN { print (a < b / 2) }')" 1

# ---- concurrent collectives of a layer: two over one switch, 2 * 1/2 of 96 MiB and 2 * 3/4 of 32 MiB through one port
echo '{"layers": [{"repeat": 3, "input": {"collective": "all_reduce", "bytes": "96MiB", "over": "model"},
    "weight": {"collective": "all_reduce", "bytes": "32MiB", "over": "data"}}]}' >"$tmp/beside.json"
beside() { # topology
    "$ringlet" design bandwidth -t "$1" -w "$tmp/beside.json@tp=2" --total 10GB/s --loop overlap -f json >"$tmp/out" 2>"$tmp/err"
    jq -r '.splits[] | select(.split == "chosen").workloads[0] | "\(.layers_contending) \(.layers_composed) \(.simulated_ps)"' "$tmp/out"
}
beside switch:8@10GB/s,1ns >"$tmp/beside"
expect "collectives that share a switch contend" "$(cut -d' ' -f1,2 "$tmp/beside")" "3 0"
near "and take what their bytes take" "$(cut -d' ' -f3 "$tmp/beside")" $((3 * (96 + 48) * 1048576 * 100)) 0.02
expect "parts of a ring are each alone, as told" "$(beside ring:8@10GB/s,1ns | cut -d' ' -f1,2)" "0 3"
"$ringlet" design bandwidth -t ring:8@10GB/s,1ns -w "$tmp/beside.json@tp=2" --total 10GB/s --loop overlap >"$tmp/out" 2>"$tmp/err"
expect "in the table, too" "$(grep -c 'share links in 3 layers; they compete in 0, while in 3 (' "$tmp/out")" 1

# ---- several budgets: each row is the result of a run with that budget alone
column() { awk -F, -v name=$1 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == name) c = i } NR > 1 { print $c }' "$2"; }
each="-t $(net 4D 9/9/9/9 GB/s) -w $tmp/175B@tp=16 -w $tmp/17B"
# The figures of a split: bandwidths, times, speed-up, cost, utilization.
numbers='[.bandwidth, .time_ps, .simulated_ps, .speedup, .cost_dollars, .utilization] | flatten | map(tostring) | join(" ")'
for how in "--objective perf" "--objective perf-per-cost --constraint b1>=20GB/s" "--no-simulation --unit GiB/s"; do
    "$ringlet" design bandwidth $each $how --total 50GB/s,300GB/s,100GB/s:400GB/s:x4 -f json >"$tmp/several.json" 2>"$tmp/err"
    design $each $how --total 50GB/s,300GB/s,100GB/s:400GB/s:x4 >"$tmp/several"
    expect "budgets, in the order given: $how" "$(column total_Bps "$tmp/several" | tr '\n' ' ')" "50000000000 300000000000 100000000000 400000000000 "
    i=0 wrong=""
    for total in 50 300 100 400; do
        "$ringlet" design bandwidth $each $how --total ${total}GB/s -f json >"$tmp/out" 2>"$tmp/err"
        # All members except the manifest and what holds for all budgets.
        jq -cS 'del(.schema_version, .manifest, .assumptions, .prices_assumed)' "$tmp/out" >"$tmp/alone"
        jq -cS ".budgets[$i] | del(.total_Bps, .per_cost_over_first)" "$tmp/several.json" | cmp -s - "$tmp/alone" || wrong="$wrong JSON of $total"
        design $each $how --total ${total}GB/s >"$tmp/out"
        for name in bandwidths time_ps simulated_ps simulated_over_model speedup cost_dollars utilization; do
            got=$(column $name "$tmp/several" | sed -n $((i + 1))p)
            [ "$got" = "$(cell chosen $name <"$tmp/out")" ] || wrong="$wrong $name of $total"
        done
        i=$((i + 1))
    done
    verdict "each is as if alone: $how" "$wrong"
    expect "speed per dollar over the first: $how" "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) at[$i] = i; next }
        { x = 1 / ($at["time_ps"] * $at["cost_dollars"]); if (NR == 2) first = x; d = x / first / $at["per_cost_over_first"] - 1; if (d > 2e-6 || d < -2e-6) n++ }
        END { print n + 0, NR }' "$tmp/several")" "0 5"
done
"$ringlet" design bandwidth $each --total 50GB/s -f json >"$tmp/out" 2>"$tmp/err"
"$ringlet" design bandwidth $each --total 50GB/s:50GB/s -f json 2>"$tmp/err" | grep -v '"total":' >"$tmp/one"
expect "a range of one budget is that budget" "$(grep -v '"total":' "$tmp/out" | cmp - "$tmp/one" 2>&1)" ""

design $each --total 1GB/s:1TB/s:+1GB/s --no-simulation >"$tmp/out"
expect "a thousand budgets" "$(column time_ps "$tmp/out" | awk 'NR > 1 && $1 > was * (1 + 1e-7) { n++ } { was = $1 } END { print n + 0, NR }')" "0 1000"

# Published splits of least time scale with the total (SC22: 100 to 1000 GB/s).
while read -r shape work split; do
    design -t "$(net $shape 1/1/1/1 GB/s)" -w "$tmp/$work@tp=$(tp $work)" --total 100GB/s:1000GB/s:+100GB/s --loop recompute \
        --forward-compute 1 --cost sc22 --no-simulation >"$tmp/out"
    expect "SC22 $shape $work: a row for each of ten budgets" "$(column bandwidths "$tmp/out" | wc -l | tr -d ' ')" 10
    wrong=$(awk -F, -v want=$split 'NR > 1 { n = split(want, w, "/"); if (split($2, b, "/") != n) print "row " NR
        for (i = 1; i <= n; i++) { d = b[i] / ($1 / 1e11) - w[i]; if (d > 0.1 || d < -0.1) print $1 ": " $2 } }' "$tmp/out")
    verdict "SC22 $shape $work: the published split at ten budgets" "$wrong"
done <<END
2D 17B 87.58/12.42
2D 175B 81.92/18.08
2D 1T 87.18/12.82
4D 17B 50.03/43.77/5.49/0.71
4D 175B 43.96/38.47/15.62/1.95
4D 1T 44.28/38.74/4.85/12.14
END
# LIBRA'24: speed-ups over an equal split at several totals.
while read -r work totals speedups; do
    [ -r "$tmp/$work" ] || { skip "LIBRA $work at several totals" "../shared/data is not here"; continue; }
    design -t "$(net L4 1/1/1/1 GB/s)" -w "$tmp/$work@tp=$(tp $work)" --total $totals --tie-break 1e-5 --no-simulation >"$tmp/out"
    near "LIBRA L4 $work at $totals: speed-ups" "$(column speedup "$tmp/out" | paste -sd/ -)" $speedups 1e-4
done <<END
175B 100GB/s,500GB/s,1000GB/s 1.3010/1.0729/1.0374
1T 100GB/s:500GB/s:x5 1.6893/1.2422
ResNet 100GB/s,500GB/s:1000GB/s:+500GB/s 1.9647/1.3141/1.1704
END

# Budgets that cannot meet the limits say so in their rows; the other rows are unchanged.
for format in table csv json; do
    "$ringlet" design bandwidth $each --total 50GB/s,100GB/s,70GB/s --constraint 'b1 >= 60GB/s' --constraint 'b2 >= 20GB/s' -f $format \
        --plot "$tmp/part.svg" -o "$tmp/left" >"$tmp/out" 2>"$tmp/err"
    expect "some budgets meet no limits: $format" "$?-$(cat "$tmp/err")" "1-ringlet: 2 of 3 budgets have no split that meets the limits"
    cp "$tmp/left" "$tmp/rows.$format"
done
expect "their rows say which limits conflict" "$(grep -c 'no split meets all of: total = 50 GB/s, b1 >= 60GB/s' "$tmp/rows.table") $(grep -c \
    '^70000000000,,,,,,,,,"no split meets all of: total = 70 GB/s, b1 >= 60GB/s, b2 >= 20GB/s"$' "$tmp/rows.csv") $(jq -r '.budgets[2].conflict' "$tmp/rows.json")" \
    "1 1 no split meets all of: total = 70 GB/s, b1 >= 60GB/s, b2 >= 20GB/s"
design $each --total 100GB/s --constraint 'b1 >= 60GB/s' --constraint 'b2 >= 20GB/s' >"$tmp/out"
expect "the others are shown" "$(sed -n 3p "$tmp/rows.csv" | cut -d, -f2,3,8)" "$(cell chosen bandwidths <"$tmp/out"),$(cell chosen time_ps <"$tmp/out"),1.000000"
expect "and drawn" "$(grep -c '<title>' "$tmp/part.svg")" 9
rm -f "$tmp/left"
"$ringlet" design bandwidth $each --total 5GB/s,6GB/s --constraint 'b1 >= 60GB/s' --plot "$tmp/p.svg" >"$tmp/out" 2>"$tmp/err"
expect "where none does there is no plot" "$?-$(ls "$tmp/p.svg" 2>/dev/null)-$(grep -c '^ringlet: 2 of 2 budgets have no split that meets the limits: nothing to draw$' "$tmp/err")" 1--1

# The plot: its points are those of the table.
at_points() { # panel, line
    awk -v panel=$1 -v line="$2" -f test/support/svg_points.awk "$tmp/plot.svg"
}
design $each --total 1TB/s,30GB/s:960GB/s:x2 --plot "$tmp/plot.svg" >"$tmp/out"
expect "three panels" "$(grep -c 'font-weight' "$tmp/plot.svg")" 3
# bandwidths are columns 2 to 5, then time_ps 6, simulated_ps 7, sim/model 8, speed-up 9, dollars 10; the least budget first
drawn() { # panel, line, the row's value
    sed 's/\//,/g' "$tmp/out" | awk -F, "NR > 1 { printf \"%.9e %.9e\\n\", \$1, $3 }" | sort -g >"$tmp/want"
    at_points $1 "$2" | paste -d' ' - "$tmp/want" | awk 'function off(a, b) { a = a / b - 1; return a > 0.01 || a < -0.01 }
        { n++; if (NF != 4 || off($1, $3) || off($2, $4)) bad = bad " " $0 } END { print n bad }'
}
expect "drawn: time" "$(drawn 1 'best split' '$7 * 1e-12')" 7
expect "drawn: closed form" "$(drawn 1 'best split, closed form' '$6 * 1e-12')" 7
expect "drawn: b1" "$(drawn 2 'b1: ring:2' '$2')" 7
expect "drawn: b4" "$(drawn 2 'b4: switch:8' '$5')" 7
expect "drawn: cost" "$(drawn 3 'best split' '$10')" 7
design $each --total 30GB/s,60GB/s --no-simulation --plot "$tmp/plot.svg" >"$tmp/out"
expect "without simulations the closed form is drawn" "$(grep -c 'time, closed form' "$tmp/plot.svg") $(grep -c 'best split, closed form' "$tmp/plot.svg") $(drawn 1 'best split' '$6 * 1e-12')" "1 0 2"
"$ringlet" design bandwidth $each --total 30GB/s,60GB/s --plot "$tmp/p.svg" -o /nosuch/left >"$tmp/out" 2>"$tmp/err"
expect "no plot without its table" "$? $(ls "$tmp/p.svg" 2>/dev/null)" "5 "

# ---- what a design takes for granted
models="bandwidth -t ring:8@50GB/s,500ns*switch:128@50GB/s,500ns --total 300GB/s --no-simulation"
"$ringlet" design $models -w gpt3-13b@tp=8,zero=1 -w "$tmp/17B@tp=8" >"$tmp/out" 2>"$tmp/err"
expect "what holds for a model" "$(grep '^# gpt3-13b' "$tmp/out")" \
    "# gpt3-13b: a100-80gb, tp 8, dp 128, batch 128 in microbatches of 1, bf16, ZeRO 1, no recomputation; needs 16.3 of 85.2 GB of memory"
expect "what of it was assumed" "$(grep -A1 '^# gpt3-13b' "$tmp/out" | tail -n 1)" "#   not said, so assumed: accelerator, batch, microbatch, precision"
expect "a file has no memory" "$(grep -c '^# 17B: tp 8, dp 128; .*memory is not checked' "$tmp/out") $(grep -c '^# prices: libra .*; assumed' "$tmp/out")" "1 1"
"$ringlet" design $models -w gpt3-13b@tp=8,zero=1,batch=256,microbatch=2,precision=bf16,accelerator=h100-sxm --cost libra >"$tmp/out" 2>"$tmp/err"
expect "nothing is assumed where all is said" "$(grep -c assumed "$tmp/out") $(grep -c '^# gpt3-13b: h100-sxm, .* batch 256 in microbatches of 2' "$tmp/out")" "0 1"
for how in "$models" "$models,200GB/s" "dimensions -n 64 --total 300GB/s --max-dims 2 --no-simulation"; do
    how=$(echo "$how" | sed 's/--total 300GB\/s --no-simulation,200GB\/s/--total 300GB\/s,200GB\/s --no-simulation/')
    "$ringlet" design $how -w gpt3-13b@tp=8,zero=1 -f json >"$tmp/out" 2>"$tmp/err"
    expect "assumptions in JSON: $how" "$(jq -r '.assumptions[0] | "\(.workload) \(.accelerator) \(.tp) \(.precision) \(.fits_memory) \(.assumed | join(" "))"' "$tmp/out")" \
        "gpt3-13b a100-80gb 8 bf16 true accelerator batch microbatch precision"
done
"$ringlet" design $models --any-memory -w gpt3-175b@tp=8 >"$tmp/out" 2>"$tmp/err"
expect "a model that does not fit is flagged" "$? $(grep -c '^# gpt3-175b: .*DOES NOT FIT: needs' "$tmp/out")" "0 1"
"$ringlet" design $models --loop recompute -w gpt3-13b@tp=8,zero=1,recompute=full >"$tmp/out" 2>"$tmp/err"
expect "recomputation saves memory" "$? $(grep -c 'full recomputation; needs [0-9.]* of' "$tmp/out")" "0 1"

# ---- speeds for sale
listed="$models -w gpt3-13b@tp=8,zero=1"
"$ringlet" design $listed --nic 100Gbps,200Gbps,400Gbps -f json >"$tmp/out" 2>"$tmp/err"
expect "the outermost dimension takes a listed speed" "$(jq -r '.splits[2] | "\(.split) \(.bandwidth[1] | round) \(.bandwidth | add | round)"' "$tmp/out")" "chosen 50 300"
worse="" best=$(jq '.splits[2].time_ps' "$tmp/out")
for rate in 12.5 25 50; do
    "$ringlet" design $listed --constraint "b2 = ${rate}GB/s" -f json >"$tmp/one" 2>"$tmp/err"
    worse=$worse$(jq --argjson best "$best" 'if .splits[2].time_ps < $best * (1 - 1e-8) then .splits[2].bandwidth else empty end' "$tmp/one")
done
verdict "no other listed speed is better" "$worse"
"$ringlet" design $listed -f json >"$tmp/one" 2>"$tmp/err"
expect "it says how far from any speed" "$(jq -rn 'input as $x | input as $y | [($x.splits[3].time_ps / $y.splits[2].time_ps - 1 | fabs) < 1e-7,
    ($x.splits[2].time_ps / $y.splits[2].time_ps - 1 - $x.over_any_speeds | fabs) < 1e-7, $x.proven, $x.combinations] | map(tostring) | join(" ")' "$tmp/out" "$tmp/one")" "true true true 3"
"$ringlet" design $listed --nic 100Gbps,200Gbps,400Gbps --nic package=100GB/s,200GB/s --objective perf-per-cost >"$tmp/out" 2>"$tmp/err"
expect "every dimension listed: proven for speed per dollar, too" "$(grep -c 'best of 6 combinations, proven; its time x cost is' "$tmp/out")" 1
"$ringlet" design dimensions -n 64 --total 300GB/s --max-dims 3 --no-simulation -w gpt3-13b@tp=8,zero=1 --nic 100Gbps,400Gbps -f csv >"$tmp/out" 2>"$tmp/err"
expect "each shape takes one" "$(awk -F, 'NR > 1 { print $5 + 0 }' "$tmp/out" | sort -un | grep -vx '12.5\|50')" ""

# ---- refusals: status, text on standard error, then the arguments; no file is left
two="bandwidth -t ring:4@1GB/s,1ns*switch:8@1GB/s,1ns --any-memory -w gpt3-175b@tp=4"
leaves_nothing 1 "no split meets all of: total = 500 GB/s, b1>=300GB/s, b2>=300GB/s" design $two --total 500GB/s --constraint 'b1>=300GB/s' --constraint 'b1<=400GB/s' \
    --constraint 'b2>=300GB/s' --constraint 'cost<=1e9'
leaves_nothing 1 "no split meets all of: total = 500 GB/s, cost<=100" design $two --total 500GB/s --constraint 'b1>=b2' --constraint 'cost<=100'
leaves_nothing 1 "no split meets all of: b1<=0, b1 > 0" design $two --total 500GB/s --constraint 'b1<=0'
leaves_nothing 2 "b2 has no upper bound" design $two --constraint 'b1<=1GB/s'
leaves_nothing 2 "--total: expected RATE, got nothing" design $two --total ''
leaves_nothing 2 "--total: expected a rate with a unit" design $two --total 100GB/s,
leaves_nothing 2 "--total: expected a rate with a unit" design $two --total 100GB/s,5
leaves_nothing 2 "--total: the end of the range, 10GB/s, is below its start, 20GB/s" design $two --total 20GB/s:10GB/s
leaves_nothing 2 "--total: the range from 10GB/s to 20GB/s never ends: expected a step above 0" design $two --total 10GB/s:20GB/s:+0GB/s
leaves_nothing 2 "--total: the range from 10GB/s to 20GB/s never ends: expected a step above 0" design $two --total 10GB/s:20GB/s:x1
leaves_nothing 2 "--total: expected a step such as x2 or +50GB/s, got '5'" design $two --total 10GB/s:20GB/s:5
leaves_nothing 2 "--total: every budget must be above zero" design $two --total 0GB/s,1GB/s
leaves_nothing 2 "--total: too many rates: 1001; the limit is 1000" design $two --total 1GB/s:9PB/s:+1B/s
leaves_nothing 2 "--plot: needs several budgets, such as --total 100GB/s:1TB/s:+100GB/s" design $two --total 1GB/s --plot "$tmp/p.svg"
leaves_nothing 2 "--plot: needs several budgets" design $two --constraint 'total<=1GB/s' --plot "$tmp/p.svg"
leaves_nothing 5 "/nosuch/p.svg: cannot create" design $two --total 1GB/s,2GB/s --plot /nosuch/p.svg
leaves_nothing 5 "/nosuch/p.svg: cannot create" design $two --total 1GB/s,2GB/s --no-simulation --plot /nosuch/p.svg
leaves_nothing 2 "--total: expected a rate with a unit" design dimensions -n 16 -w "$tmp/17B" --total 1GB/s,2GB/s
leaves_nothing 2 "5 needs a unit" design $two --constraint 'b1<=5'
leaves_nothing 2 "expected b1 to b2, a level, total" design $two --constraint 'b3<=5GB/s'
leaves_nothing 2 "compares dollars with bandwidths" design $two --constraint 'cost<=b1'
leaves_nothing 2 "expected <=, >= or =" design $two --constraint 'b1'
leaves_nothing 2 "no dimension is at the level node" design $two --total 1GB/s --constraint 'node<=5GB/s'
leaves_nothing 3 "prices.json: has no prices for level 'package' of dimension 1" design $two --total 1GB/s --objective perf-per-cost --cost "$tmp/prices.json"
leaves_nothing 3 "a trace of 16 ranks for 32 accelerators" design bandwidth -t ring:4@1GB/s,1ns*switch:8@1GB/s,1ns -w "$tmp/trace" --total 1GB/s
leaves_nothing 3 "gpt3-175b: stage 0 needs 785.7 GB" design bandwidth -t ring:4@1GB/s,1ns*switch:2@1GB/s,1ns -w gpt3-175b@tp=4 --total 1GB/s
leaves_nothing 2 "recompute=: design recomputes whole blocks, with --loop recompute" design $two,recompute=full --total 1GB/s
leaves_nothing 2 "--nic: expected a rate with a unit" design $two --total 1GB/s --nic 100
leaves_nothing 2 "--nic: expected a rate with a unit" design $two --total 1GB/s --nic ''
leaves_nothing 2 "--nic: 'b=1GB/s': expected a level or b1 to b8 before '='" design $two --total 1GB/s --nic b=1GB/s
leaves_nothing 2 "--nic: b3: the network has 2 dimensions" design $two --total 1GB/s --nic b3=1GB/s
leaves_nothing 2 "--nic: no dimension without a list is at the level node" design $two --total 1GB/s --nic node=1GB/s
leaves_nothing 2 "--nic: every speed must be above zero" design $two --total 1GB/s --nic 0GB/s
leaves_nothing 2 "the same dimensions have a list already" design $two --total 1GB/s --nic 1GB/s --nic pod=2GB/s
leaves_nothing 1 "--nic: no combination of these speeds meets the limits" design $two --total 1GB/s --nic 1GB/s,2GB/s
leaves_nothing 2 "has no b1" design $two --constraint '1GB/s<=2GB/s'
leaves_nothing 2 "dimension 1 is a ring: only switches can aggregate" design $two --total 1GB/s --in-network 1
leaves_nothing 2 "2 levels for 3 dimensions" design bandwidth -t ring:4@1GB/s,1ns*ring:4@1GB/s,1ns*switch:8@1GB/s,1ns -w gpt3-2.7b --total 1GB/s --levels node,pod
leaves_nothing 2 "expected libra, sc22, 2021, clos or a file" design $two --total 1GB/s --cost nothing
leaves_nothing 3 "design does not support pipeline parallelism" design $two,pp=2 --total 1GB/s
leaves_nothing 3 "cannot be divided into groups of 5" design bandwidth -t ring:4@1GB/s,1ns -w gpt3-175b@tp=5 --total 1GB/s
leaves_nothing 3 "does not divide dimension 1 of size 4" design bandwidth -t ring:4@1GB/s,1ns*switch:3@1GB/s,1ns -w "$tmp/17B@tp=3" --total 1GB/s
leaves_nothing 3 "design supports products of ring" design bandwidth -t fat-tree:16@1GB/s,1ns,levels=2,hosts_per_leaf=4 -w gpt3-175b --total 1GB/s
head -3 "$tmp/17B" | sed '2s/NONE/SOME/' >"$tmp/broken"
leaves_nothing 3 "broken:2:" design bandwidth -t ring:4@1GB/s,1ns -w "$tmp/broken" --total 1GB/s
echo '{"layers": [{"forward": {"collective": "all_reduce", "bytes": "1GB", "over": "some"}}]}' >"$tmp/broken.json"
leaves_nothing 3 "layers[0].forward.over: expected model, data or all" design bandwidth -t ring:4@1GB/s,1ns -w "$tmp/broken.json" --total 1GB/s
echo '{"source": "x", "pod": {"link": -1}}' >"$tmp/broken.json"
leaves_nothing 3 "pod.link" design $two --total 1GB/s --cost "$tmp/broken.json"

# An equal split of 90 gives 30 to the first dimension, below its limit of 40: the reference split violates the limit.
for limit in 40 20; do
    "$ringlet" design bandwidth -t 'ring:4@1GB/s,1ns*ring:4@1GB/s,1ns*switch:8@1GB/s,1ns' -w "$tmp/17B@tp=4" --total 90GB/s --no-simulation --constraint "b1>=${limit}GB/s" >"$tmp/out$limit" 2>"$tmp/err"
done
expect "an equal split beyond the limits is said" "$(grep -c 'equal split, the reference, violates the limits' "$tmp/out40") $(grep -c 'equal split, the reference' "$tmp/out20")" "1 0"

# ---- dimensions
dims() { "$ringlet" design dimensions -f csv "$@" 2>"$tmp/err"; }
dims -n 64 -w "$tmp/17B" --total 100GB/s --max-dims 3 --shapes ring --all --no-simulation >"$tmp/out"
# 64 = 2^6: one way in one dimension, 4 in two (2 to 16, then the rest), 10 in three.
expect "every factorisation" "$(awk -F, 'NR > 1 { n[$2]++ } END { print n[1], n[2], n[3] }' "$tmp/out")" "1 4 10"
expect "the front is what no other beats" "$(awk -F, 'NR > 1 { t[++n] = $6; c[n] = $9; f[n] = $3 } END {
    for (i = 1; i <= n; i++) { beaten = 0
        for (k = 1; k <= n; k++) if (k != i && t[k] < t[i] * (1 + 1e-7) && c[k] < c[i] * (1 - 1e-6)) beaten = 1
        for (k = 1; k < i; k++) if (c[k] < c[i] * (1 + 1e-6)) beaten = 1
        if (beaten == (f[i] == "*")) wrong++
        shown += f[i] == "*" }
    if (!shown) wrong = "nothing shown"
    print wrong + 0 }' "$tmp/out")" 0
dims -n 64 -w "$tmp/17B" --total 100GB/s --max-dims 3 --constraint 'pod <= 5GB/s' --shapes ring --no-simulation >"$tmp/out"
dims -n 64 -w "$tmp/17B" --total 100GB/s --max-dims 3 --shapes ring --all --no-simulation --cost "$tmp/prices.json" >"$tmp/all"
expect "no shape has a dimension where prices are missing" "$(awk -F, 'NR > 1 { print $2 }' "$tmp/all" | sort -u)" 1
expect "limits by level" "$(awk -F, 'NR > 1 && $5 > 5.000001 { n++ } END { print n + 0, (NR > 1) }' "$tmp/out")" "0 1"
dims -n 1024 -w "$tmp/175B@tp=16" -w "$tmp/17B" --total 100GB/s --study added-dimension --plot "$tmp/plot.svg" >"$tmp/out"
expect "each added dimension saves" "$(awk -F, 'NR > 1 { if ($1 == was && $7 > cost * (1 + 1e-9)) n++; was = $1; cost = $7 } END { print n + 0, NR }' "$tmp/out")" "0 11"
expect "at the same time" "$(awk -F, 'NR > 1 { if ($1 == was && ($9 / t - 1 > 1e-6 || $9 / t - 1 < -1e-3)) n++; was = $1; t = $9 } END { print n + 0 }' "$tmp/out")" 0
# The simulation is within 2 % of that time.
expect "simulated, too" "$(awk -F, 'NR > 1 && ($10 / $9 > 1.02 || $10 < $9 * (1 - 1e-6)) { n++ } END { print n + 0 }' "$tmp/out")" 0
expect "and drawn" "$(grep -c '<svg' "$tmp/plot.svg")" 1
expect "with every number of dimensions, and dollars" "$(grep -o '>[1-5]</text>' "$tmp/plot.svg" | sort -u | wc -l) $(grep -c '>[$][0-9.]* [kM]</text>' "$tmp/plot.svg")" "5 5"
dims -n 1024 -w "$tmp/175B@tp=16" --total 300GB/s --max-dims 4 --no-simulation --plot "$tmp/plot.svg" >"$tmp/out"
expect "times that differ little have ticks, too" "$(grep -cE '>[0-9.]+ (s|ms)</text>' "$tmp/plot.svg" | awk '{ print ($1 >= 3) }')" 1
"$ringlet" design dimensions -n 64 -w "$tmp/17B" --total 100GB/s --max-dims 2 -f json >"$tmp/out" 2>"$tmp/err"
expect "JSON" "$(jq -r '.designs | length > 0' "$tmp/out")" true
"$ringlet" design bandwidth -t "$(net 2D 50/50 GB/s)" -w "$tmp/175B@tp=16" --total 100GB/s -f json >"$tmp/out" 2>"$tmp/err"
expect "JSON of a split" "$(jq -r '.splits | map(.split) | join(" ")' "$tmp/out")" "given equal chosen"
leaves_nothing 5 "/nosuch/p.svg: cannot create" design dimensions -n 16 -w "$tmp/17B" --total 1GB/s --max-dims 2 --plot /nosuch/p.svg
leaves_nothing 5 "/nosuch/p.svg: cannot create" design dimensions -n 16 -w "$tmp/17B" --total 1GB/s --max-dims 2 --study added-dimension --plot /nosuch/p.svg
"$ringlet" design dimensions -n 16 -w "$tmp/17B" --total 1GB/s --max-dims 2 --plot "$tmp/p.svg" -o /nosuch/left >"$tmp/out" 2>"$tmp/err"
expect "nor a plot without its report" "$? $(ls "$tmp/p.svg" 2>/dev/null)" "5 "
awk 'BEGIN { printf "{\"layers\": ["; for (i = 0; i < 17; i++) printf "%s{\"repeat\": 65536}", i ? "," : ""; print "]}" }' >"$tmp/many.json"
leaves_nothing 3 "too many layers" design bandwidth -t ring:4@1GB/s,1ns -w "$tmp/many.json" --total 1GB/s
many="dimensions -n 64 -w $tmp/17B --max-dims 2"
# One shape has one dimension; with two, 2, 4, 8 or 16 as a ring or a switch.
leaves_nothing 1 "no shape is left: 0 not divisible into groups, 9 that cannot meet the limits, 0 with parts without a price" design $many --total 1GB/s --constraint 'cost<=1'
leaves_nothing 2 "--study: needs --total" design $many --study added-dimension --constraint 'total<=1GB/s'
leaves_nothing 2 "above --max-dims" design $many --min-dims 3 --total 1GB/s
leaves_nothing 2 "expected ring, fully-connected or switch" design $many --shapes torus --total 1GB/s
leaves_nothing 2 "applies to the dimensions of one network" design $many --levels pod --total 1GB/s
leaves_nothing 2 "--objective cost and --deadline must be given together" design $many --objective cost
leaves_nothing 1 "no split within the limits reaches 1 ms; without any communication an iteration takes 327.149 ms" design \
    bandwidth -t ring:8@1GB/s,1ns*switch:8@1GB/s,1ns -w "$tmp/17B" --objective cost --deadline 1ms
finish
