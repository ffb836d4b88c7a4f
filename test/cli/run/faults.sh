#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Faults of `ringlet run` on the command line: changing links, noise, jobs, failures; wrong arguments, and files left behind.
. "$(dirname "$0")/../../support/tap.sh"

run() { # expected status, text expected on either stream, arguments
    want=$1 text=$2
    shift 2
    "$ringlet" run -q "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    got=$?
    if [ $got != "$want" ]; then
        verdict "exit $want: run $*" "exit $got"
    elif cat "$tmp/err" "$tmp/out" | grep -qF -- "$text"; then
        verdict "exit $want: run $*" ""
    else
        verdict "exit $want: run $*" "no '$text'"
    fi
}
time_of() { "$ringlet" run -q "$@" --format json 2>"$tmp/err" | sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' | head -1; }

# Two ranks that only reduce 100 MB: 4 ms over 50 GB/s without latency.
cat >"$tmp/two.goal" <<'G'
num_ranks 2
rank 0 {
l1: send 100000000b to 1 tag 1
}
rank 1 {
l1: recv 100000000b from 0 tag 1
}
G
g="--trace $tmp/two.goal"
s="--topology switch:2@50GB/s,0ns"
r="--topology ring:4@100GB/s,0ns"

expect "undisturbed" "$(time_of $g $s)" 2000000000
run 0 "lose=0:100000: link 0 carried " $g $s --set lose=0:100000
run 0 "so nothing was lost" $g $s --set lose=0:100000,1:1
run 0 "lose=3:100000: link 3 carried " $g $s --set lose=3:100000
run 0 "lose=acc1->sw0.0.0:100000: link 2 carried " $g $s --set 'lose=acc1->sw0.0.0:100000'
run 0 "lose=acc1:100000: link 3 carried " $g $s --set lose=acc1:100000
expect "half the bandwidth from 1 ms on" "$(time_of $g $s --link-event 1ms:acc0=0.5)" 3000000000
expect "and back" "$(time_of $g $s --link-event '1ms:acc0->sw0.0.0=0.5' --link-event 1.5ms:0=1)" 2250000000
expect "a link that fails and comes back" "$(time_of $g $s --link-event 1ms:acc1=0 --link-event 7ms:acc1=1)" 8000000000
expect "a ring goes round the other way" "$(time_of $g $r --link-event 1ms:0=0)" 2000000000
expect "alpha-beta: what is under way stays" "$(time_of $g $s --network alpha-beta --link-event 1ms:acc0=0.5)" 2000000000
expect "alpha-beta: what begins sees it" "$(time_of $g $s --network alpha-beta --link-event 0ms:acc0=0.5)" 4000000000
expect "events after the end do not count" "$(time_of $g $s --link-event 1h:acc0=0)" 2000000000
run 0 "link event at 1 ms: acc0 (2 links) has 0.5 times the bandwidth" $g $s --link-event 1ms:acc0=0.5
run 0 "link event at 1 ms: 0 (1 link) fails: its traffic takes another route or waits" $g $r --link-event 1ms:0=0
run 0 "this is after the end of the run, so nothing happened" $g $s --link-event 1h:acc0=0
"$ringlet" run $g $s --link-event 1ms:acc0=0.5 --link-event 1h:acc0=0 -f json >"$tmp/out"
expect "events in JSON" "$(jq -c '[.link_events[] | [.at_ps, .link, .links_changed, .bandwidth_factor + 0, .happened]]' "$tmp/out")" '[[1000000000,"acc0",2,0.5,true],[3600000000000000,"acc0",2,0,false]]'
run 4 "link 0 (acc0->sw0.0.0), which has failed" $g $s --link-event 1ms:acc0=0 -o "$tmp/left"
run 4 "link 0 (acc0->sw0.0.0), which has failed" $g $s --network packet --link-event 1ms:acc0=0
run 4 "which has failed" $g $s --network alpha-beta --link-event 0ms:acc0=0
run 0 "total time" $g $s --network packet --link-event 1ms:acc0=0 --link-event 2ms:acc0=1
expect "nothing is left behind" "$(ls "$tmp/left" 2>/dev/null)" ""

run 2 "expected TIME:LINK=X" $g $s --link-event acc0=0.5
run 2 "expected TIME:LINK=X" $g $s --link-event 5ms:acc0
run 2 "--link-event" $g $s --link-event 5:acc0=0.5
run 2 "--link-event" $g $s --link-event 5ms:acc7=0.5
run 2 "--link-event" $g $s --link-event 5ms:acc0=-1
run 2 "there is no such link" $g $s --link-event '5ms:acc0->acc1=0'
run 2 "as 'ringlet run --links --expand-links' lists them" $g $s --link-event '5ms:gpu0=0'
run 2 "--link-event" $g $s --link-event 5ms:99=0

m="--model transformer:layers=4,hidden=256,heads=4,vocabulary=1000,steps=3 --topology switch:8@50GB/s,500ns"
plain=$(time_of $m)
noisy=$(time_of $m --noise lognormal:cv=0.1)
[ "$noisy" -gt "$plain" ] && verdict "the slowest rank decides" "" || verdict "the slowest rank decides" "$noisy, without noise $plain"
expect "the same seed is the same run" "$(time_of $m --noise lognormal:cv=0.1 --seed 1)" "$noisy"
[ "$(time_of $m --noise lognormal:cv=0.1 --seed 2)" != "$noisy" ] && verdict "another seed is another run" "" ||
    verdict "another seed is another run" "both $noisy"
trace="--trace traces/transformer-8 --topology switch:8@50GB/s,500ns"
expect "no host work, no noise on it" "$(time_of $trace --noise lognormal:cv=0.1,on=host)" "$(time_of $trace)"
run 0 "total time" $m --noise markov:slow=2,enter=0.1,leave=0.2 --noise lognormal:cv=0.05
[ "$(time_of $m --noise operation:cv=0.3)" != "$plain" ] && verdict "operations vary" "" || verdict "operations vary" "they do not"
expect "only those of that name" "$(time_of $m --noise operation:cv=0.3,name=optimizer --seed 3)" "$(time_of $m --noise operation:cv=0.3,name=optimizer --seed 3)"
run 2 "no operation that could vary has 'nonesuch' in its name" $m --noise operation:cv=0.3,name=nonesuch
run 2 "measured needs several recorded steps" $trace --noise measured
run 2 "--noise" $m --noise lognormal
run 2 "unknown noise" $m --noise gauss:cv=0.1
run 2 "--noise" $m --noise markov:slow=2,enter=3,leave=0.2
run 2 "--noise: cv" $m --noise lognormal:cv=abc

# Other jobs and background traffic. One message of 100 MB from rank 0 to rank 1, 2 ms alone.
four="--topology switch:4@50GB/s,0ns"
job_times() { sed -n 's/.*"first_rank".*"time_ps": *\([0-9]*\).*/\1/p' "$tmp/json" | tr '\n' ' '; }
"$ringlet" run -q $g $four --job "$tmp/two.goal@2,3" --format json >"$tmp/json" 2>"$tmp/err"
expect "jobs on links of their own" "$(job_times)" "2000000000 2000000000 "
expect "a job on the other's sender waits its turn" \
    "$(time_of $g --topology ring:4@100GB/s,0ns --job "$tmp/two.goal@3,2")" 2000000000
d="--topology test/support/networks/dumbbell.json"
"$ringlet" run -q $g $d --job "$tmp/two.goal@2,3" --format json >"$tmp/json" 2>"$tmp/err"
expect "two jobs across one cable take twice as long" "$(job_times)" "4000000000 4000000000 "
expect "half of the cable for background traffic" "$(time_of $g $d --background '2>3:25GB/s')" 4000000000
expect "the other way it does not matter" "$(time_of $g $d --background '3>2:25GB/s')" 2000000000
expect "by turns: four messages of 10 KB begin in the first microsecond" \
    "$(time_of $g $d --background '2>3:50GB/s,on=1us,off=10ms,size=10KB')" 2000800000
run 0 "job 1, ranks 4-7" --model transformer:layers=2,ranks=4 --topology switch:8@50GB/s,500ns --job transformer:layers=3@4-7
run 0 "background traffic" --model transformer:layers=2 --topology switch:8@50GB/s,500ns --background '0-3>4-7:5GB/s,on=1ms,off=1ms'
run 4 "which has failed" $g $four --background '2>1:5GB/s' --link-event 1ms:acc0=0
run 2 "expected WORKLOAD@ACCELERATORS" $g $four --job "$tmp/two.goal"
run 2 "accelerator 1 already has rank 1" $g $four --job "$tmp/two.goal@1,2"
run 2 "has 2 ranks, but 1 accelerators are listed" $g $four --job "$tmp/two.goal@2"
run 2 "expected an accelerator from 0 to 3" $g $four --job "$tmp/two.goal@2,9"
run 5 "nothing.goal" $g $four --job "$tmp/nothing.goal@2,3"
echo "not a trace" >"$tmp/broken.goal"
run 3 "broken.goal" $g $four --job "$tmp/broken.goal@2,3"
run 2 "expected FROM>TO:RATE" $g $four --background 2-3:5GB/s
run 2 "--background" $g $four --background '2>3:5'
run 2 "to itself" $g $four --background '2>2:5GB/s'
run 2 "2 sources for 3 destinations" $g $four --background '0-1>1-3:5GB/s'
run 2 "unknown setting" $g $four --background '2>3:5GB/s,of=2ms'
# Failures: 2 ms an iteration on two accelerators.
f="--iterations 1000000 --failures"
run 0 "goodput" $g $four $f mtbf=100h,checkpoint=10s,interval=5min,restart=1min
"$ringlet" run -q $g $four $f mtbf=2h,checkpoint=10s,interval=200s,restart=60s --format json >"$tmp/json" 2>"$tmp/err"
field() { sed -n "s/.*\"$1\": *\([0-9.]*\).*/\1/p" "$tmp/json" | tail -1; }
expect "work" "$(field work_s)" 2000.000000
expect "half the MTBF of one" "$(field mtbf_s)" 3600.000000
# 3600 e^(60/3600) (e^(210/3600) - 1) 10
expect "Daly's total" "$(field expected_s)" "$(awk 'BEGIN { printf "%.6f", 36000 * exp(60 / 3600) * (exp(210 / 3600) - 1) }')"
awk -v m="$(field mean_s)" -v e="$(field expected_s)" -v s="$(field standard_error_s)" \
    'BEGIN { exit !(s > 0 && m - e < 3 * s && e - m < 3 * s) }' && verdict "timelines agree" "" || verdict "timelines agree" "$(cat "$tmp/json")"
run 2 "needs --iterations" $g $four --failures mtbf=100h,checkpoint=10s
run 2 "needs --failures" $g $four --iterations 5
run 2 "--failures" $g $four $f mtbf=100h
run 2 "--failures: mtbf" $g $four $f mtbf=100,checkpoint=10s
run 0 "s, practically never completes" $g $four $f mtbf=1s,checkpoint=10min,interval=30min
run 2 "does not go with --job" $g $four $f mtbf=100h,checkpoint=10s --job "$tmp/two.goal@2,3"
run 2 "rate: expected more than 0" $g $four --background '2>3:0GB/s'
run 2 "expected both on and off, or neither" $g $four --background '2>3:5GB/s,on=2ms'
finish
