#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `ringlet trace diff`: recordings whose differences are known by hand; names that changed; wrong use. Speaks TAP.
. "$(dirname "$0")/../../support/tap.sh"

# Rank 1 computes for THIRD seconds, and rank 0 waits for it in a reduce-scatter that takes half a second.
job() { # FOLDER THIRD [STEPS]
    mkdir "$1"
    echo dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc >"$1/trace-x.csv"
    for step in ${3:-3}; do
        awk -v step="$step" -v t="$2" 'BEGIN {
            printf "0,0,0,%d,forward-compute,0.0,1.0,0,0,0,0\n0,0,0,%d,grads-reduce-scatter,1.0,%.1f,0,0,-1,-1\n", step, step, t - 0.5
            printf "1,0,1,%d,forward-compute,0.0,%.1f,0,0,0,0\n1,0,1,%d,grads-reduce-scatter,%.1f,0.5,0,0,-1,-1\n", step, t, step, t
        }' >>"$1/trace-x.csv"
    done
    printf 'dp_size: 2\npp_size: 1\ntp_size: 1\nworld_size: 2\n' >"$1/meta-x.yaml"
}
job "$tmp/a" 3.0
job "$tmp/b" 4.0
job "$tmp/twice" 4.0 "3 4"
compare() { # STATUS NAME ARGUMENTS...
    status=$1 name=$2
    shift 2
    "$ringlet" trace diff "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    expect "$name: exit $status" $? "$status"
}
has() { grep -qE -- "$2" "$tmp/out" "$tmp/err" && verdict "$1" "" || verdict "$1" "no '$2'"; }

compare 0 "a rank that computes a second longer" "$tmp/a" "$tmp/b"
has "a step takes a second longer" '^a step takes \+1 s \(\+28.57 %\)'
has "half of it is compute" '^compute +2 s +2.5 s +\+500 ms +50.0 %'
has "no transfer takes longer" '^transfer +500 ms +500 ms +\+0 ps +0.0 %'
has "the other half is waiting" '^wait +1 s +1.5 s +\+500 ms +50.0 %'
has "it adds up" '^sum +3.5 s +4.5 s +\+1 s +100.0 %'
has "who is waited for" '^1 +2 s +3 s +\+1 s$'
compare 0 "as JSON" "$tmp/a" "$tmp/b" -f json
expect "shares add up, and differences to the whole" "$(jq -c '[([.results[].share] | add), ([.results[].difference_ps] | add) == .difference_ps, .waited_for]' "$tmp/out")" '[1,true,[{"rank":1,"time_a_ps":2000000000000,"time_b_ps":3000000000000}]]'
compare 0 "as CSV" "$tmp/a" "$tmp/b" -f csv
expect "the same differences" "$(awk -F, 'NR > 1 { s += $(NF - 1) } END { print s / 1e12 }' "$tmp/out")" 1
compare 0 "another number of steps" "$tmp/b" "$tmp/twice"
has "is said" 'have 1 and 2 steps: means over steps'
has "and divided" '^a step takes [+-]'
compare 0 "with itself" "$tmp/a" "$tmp/a"
has "no difference" '^a step takes \+0 ps'

# One file of two ranks: communication by names. Kernel b is renamed, c is gone, d is new; a takes 10 us longer.
event() { printf '{"ph":"X","cat":"%s","name":"%s","pid":%s,"tid":%s,"ts":%s,"dur":%s,"args":{%s}},' "$@"; }
record() { # SECOND THIRD LONGER
    printf '{"distributedInfo":{"rank":0,"world_size":%s},"traceEvents":[' "$4"
    event user_annotation 'ProfilerStep#0' 1 1 0 60 ''
    n=0
    for k in a "$1" a x y "$2" y; do
        n=$((n + 1))
        long=20
        [ $k = a ] && long=$((20 + $3))
        event cuda_runtime cudaLaunchKernel 1 1 $n 1 "\"correlation\":$n"
        event kernel "$k" 0 7 $((n * 100)) $long "\"stream\":7,\"correlation\":$n"
    done
    event cuda_runtime cudaLaunchKernel 1 1 20 1 '"correlation":20'
    event kernel ncclDevKernel_AllReduce 0 9 900 50 '"stream":9,"correlation":20'
    printf '{"ph":"i"}]}'
}
record b c 0 2 >"$tmp/a.json"
record bb x 10 2 >"$tmp/b.json"
record bb x 10 4 >"$tmp/four.json"
compare 0 "one recording of two ranks each" "$tmp/a.json" "$tmp/b.json" --all
has "by the names of kernels" 'communication by names of kernels only.*rank 1 of 2 is missing'
has "its transfer" '^transfer +ncclDevKernel_AllReduce '
has "a renamed kernel" '^compute +bb +renamed +1.000 +1.000'
has "a kernel that is gone" '^compute +c +gone +1.000 +- '
has "a longer one" '^compute +a +2.000 +2.000 +20 us +30 us +40 us +60 us +20 us'
has "a more frequent one" '^compute +x +1.000 +2.000'
compare 0 "another number of ranks" "$tmp/a.json" "$tmp/four.json"
has "is said, too" 'are of 2 and 4 ranks'

compare 2 "one trace only" "$tmp/a"
compare 2 "a scale that was not recorded" "$tmp/a" "$tmp/b" --rescale dp=4
compare 5 "a trace that is not there" "$tmp/a" "$tmp/none"
compare 3 "traces without times" traces/transformer-8 traces/transformer-8
has "says what to do" 'ringlet run --compare'
echo '{"traceEvents": [' >"$tmp/cut.json"
compare 3 "a recording cut short" "$tmp/a.json" "$tmp/cut.json"
finish
