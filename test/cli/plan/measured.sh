#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ringlet plan --measured: known factors are found again from simulated runs; the best layout follows them; wrong
# files are named by file and line.
. "$(dirname "$0")/../../support/tap.sh"

net='switch:4@300GB/s,500ns*switch:2@25GB/s,2us'
model=transformer:layers=6,hidden=1024,heads=8,vocabulary=8000,sequence=512
job="--model $model --accelerator a100-80gb"
space='--layout cp=1,vp=1,sp=on,order=tp-cp-dp-pp --train batch=32,recompute=none,schedule=1f1b'
plan() { "$ringlet" plan -q $job -t "$net" "$@" >"$tmp/out" 2>"$tmp/err"; }
# Runs of six layouts: more settings of the training, then options.
runs() {
    more=$1
    shift
    echo tp,pp,dp,microbatch,zero,batch,sp,seconds
    for row in '1 1 8 4 1' '1 1 8 1 3' '2 1 4 2 1' '1 2 4 4 1' '2 2 2 4 1' '4 2 1 8 1'; do
        echo "$row" | {
            read -r tp pp dp mb zero
            ps=$("$ringlet" run -q $job --fold-stages -f json -t "$net" --layout "tp=$tp,pp=$pp,dp=$dp,sp=on" --train "batch=32,microbatch=$mb,zero=$zero$more" "$@" |
                sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' | head -1)
            echo "$tp,$pp,$dp,$mb,$zero,32,on,$(echo "$ps" | awk '{ printf "%.9f", $1 / 1e12 }')"
        }
    done
}
factor() { sed -n "s/^ *\"$1\": *{\"factor\": *\\([0-9.]*\\).*/\\1/p" "$tmp/out"; }
near() { # name, got, wanted, share
    echo "$2 $3 $4" | awk '{ exit !($1 > $2 * (1 - $3) && $1 < $2 * (1 + $3)) }' && verdict "$1" "" || verdict "$1" "$2, not $3"
}
best() { sed -n 's/.*"time_ps".*"layout": *"\([^"]*\)".*/\1/p' "$tmp/out" | head -1; }

runs ,half_sizes=1.6 --dim-scale 1=0.12 --compute-scale 0.85 >"$tmp/slow.csv"
plan $space --measured "$tmp/slow.csv" -f json
expect "a plan from runs" $? 0
near "bandwidth is found again" "$(factor bandwidth)" 0.12 0.02
near "efficiency is found again" "$(factor efficiency)" 0.85 0.02
near "half_sizes is found again" "$(factor half_sizes)" 1.6 0.1
near "runs are predicted" "$(sed -n 's/^ *"error": *\([0-9.]*\).*/\1/p' "$tmp/out" | awk '{ print 1 + $1 }')" 1 0.01
near "each one left out, too" "$(sed -n 's/^ *"error_left_out": *\([0-9.]*\).*/\1/p' "$tmp/out" | awk '{ print 1 + $1 }')" 1 0.02
expect "one layout is to be measured next" "$(grep -c '"runs": "next"' "$tmp/out")" 1
slow=$(best)

# The command of a row states the factors and takes its time.
line=$(grep -o '"command": *"ringlet run [^"]*"' "$tmp/out" | head -1 | sed 's/^"command": *"\(.*\)"$/\1/')
want=$(grep -o '"time_ps": *[0-9]*' "$tmp/out" | head -1 | sed 's/[^0-9]//g')
expect "a pasted command takes the time of its row" "$(sh -c "\"$ringlet\" ${line#ringlet } -q -f json" | sed -n 's/^ *"time_ps": *\([0-9]*\).*/\1/p' | head -1)" "$want"
cp "$tmp/out" "$tmp/first"
plan $space --measured "$tmp/slow.csv" -f json
cmp -s "$tmp/out" "$tmp/first" && verdict "the same bytes again" "" || verdict "the same bytes again" "they differ"

runs '' >"$tmp/asis.csv"
plan $space --measured "$tmp/asis.csv" -f json
near "nothing to learn: bandwidth" "$(factor bandwidth)" 1 0.01
near "nothing to learn: efficiency" "$(factor efficiency)" 1 0.01
[ "$(best)" != "$slow" ] && verdict "another layout is the best" "" || verdict "another layout is the best" "$slow"
grep -q '"runs": "measured"' "$tmp/out" && verdict "runs among the layouts are marked" "" || verdict "runs among the layouts are marked" "$(cat "$tmp/out")"

# One run, on half of the accelerators.
printf 'tp,dp,batch,microbatch,iteration_s,note\n2,2,16,4,0.06,half of them\n' >"$tmp/one.csv"
plan $space --measured "$tmp/one.csv"
expect "one run on half of the accelerators" $? 0
grep -q 'learned from 1 run of' "$tmp/out" && verdict "nothing is left out of one run" "" || verdict "nothing is left out of one run" "$(cat "$tmp/out")"

says() { # name, exit status, text, content of the file
    printf "$4" >"$tmp/bad.csv"
    plan $space --measured "$tmp/bad.csv"
    got=$?
    [ $got = "$2" ] && grep -q -e "$3" "$tmp/err" && verdict "$1" "" || verdict "$1" "exit $got: $(cat "$tmp/err")"
}
says "a column that is not known" 3 "bad.csv:1: column 'speed' is no setting of a training" 'tp,speed,seconds\n1,2,3\n'
says "no times" 3 'bad.csv:1: no column has the measured times' 'tp,pp\n1,2\n'
says "no number" 3 "bad.csv:3:3: seconds: expected the seconds of an iteration, got 'fast'" 'tp,seconds\n1,0.1\n2,fast\n'
says "a value that is none" 3 'bad.csv:2: tp: ' 'tp,seconds\nmany,0.1\n'
says "a layout against a rule" 3 'bad.csv:2: .*tp 3' 'tp,seconds\n3,0.1\n'
says "more accelerators than there are" 3 'bad.csv:2: ' 'tp,dp,seconds\n8,8,0.1\n'
says "two models" 3 "bad.csv:3:1: model: the runs must be of one, 'a', not also 'b'" 'model,tp,seconds\na,1,0.1\nb,1,0.2\n'
says "no runs" 3 'bad.csv: has no runs' 'tp,seconds\n'
says "two commas" 3 'bad.csv:2' 'tp,seconds\n1,0.1,7\n'
plan $space --measured "$tmp/none.csv"
expect "no file" $? 5
plan $space --measured "$tmp/asis.csv" --dim-scale 1=2
expect "a factor that is stated and learned" $? 2
model=llama3-70b
job="--model $model --accelerator a100-80gb"
printf 'tp,pp,microbatch,seconds\n1,1,1,3\n' >"$tmp/bad.csv"
plan --train batch=32 --measured "$tmp/bad.csv"
grep -q 'bad.csv:2: .*GB' "$tmp/err" && verdict "out of memory: a run of another model" "" || verdict "out of memory: a run of another model" "$(cat "$tmp/err")"
finish
