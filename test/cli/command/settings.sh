#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `ringlet list settings` and `ringlet list options`: everything listed is accepted by its owner, and nothing else is.
. "$(dirname "$0")/../../support/tap.sh"

"$ringlet" list settings -f csv >"$tmp/settings"
"$ringlet" list options -f csv >"$tmp/options"
printf 'num_ranks 1\nrank 0 {\na: calc 1\n}\n' >"$tmp/one.goal"
printf 'collective,ranks,bytes,time_us\nall_reduce,4,1024,10\n' >"$tmp/measured.csv"
star=switch:4@50GB/s,500ns
train="run --model transformer:layers=1 -t $star"

# given OWNER OPTION TEXT: prints what a run says on standard error. TEXT has an invalid value: it may be refused, its name may not.
given() {
    of=$1 option=$2 text=$3
    case "$option $of" in
    "--set algorithms" | "--set endpoints" | "--set switches") set -- coll -t $star -b 1KiB ;;
    "--set a protocol"*) text=LL${text#PROTOCOL} && set -- coll -t hgx-h100-8 -b 1KiB ;;
    "--set "*) set -- coll -t $star -b 1KiB -a "$of" ;;
    "--network packet --set "*) set -- coll -t $star -b 1KiB --network packet ;;
    "--timing loggops --set "*) set -- run --timing loggops "$tmp/one.goal" ;;
    "--strategy "*) set -- run --model resnet50 -t $star ;;
    "--failures "*) set -- $train --iterations 9 ;;
    "--background "*) set -- $train && text="0>1:${text#*:}" ;;
    "--topology "*) set -- coll -b 1KiB ;;
    "topo import "*) set -- topo import "$tmp/topo.txt" ;;
    "--map "*) set -- $train --layout tp=2 ;;
    "--workload "*) set -- design bandwidth -t $star --total 1GB/s && text="transformer@${text#*@}" ;;
    "--where "*) set -- calibrate --check -t $star "$tmp/measured.csv" ;;
    "--model "*) set -- run -t $star ;;
    *) set -- $train ;;
    esac
    "$ringlet" "$@" "${option##* }" "$text" 2>&1 >"$tmp/out" </dev/null
}

unknown='unknown setting\|unknown option\|belongs to'
sed '1d' "$tmp/settings" | cut -d, -f1-3 >"$tmp/rows"
last="" wrong="" n=0
while IFS=, read -r one of how; do
    case $how in *" SHAPE:"*) of="shape switch" ;; esac
    case $how in '"--topology '*) how="--topology ${of#shape }:4@50GB/s,500ns,$one=VALUE" ;; esac
    text=${how##* }
    case $how in column*) continue ;; esac # a file's: below
    said=$(given "$of" "${how% *}" "${text%VALUE}@")
    n=$((n + 1))
    echo "$said" | grep -q "$unknown" && wrong="$wrong
$of, $how: $said"
    [ "$of" = "$last" ] && continue
    last=$of
    name=${text%=VALUE} front=""
    case $how in --topology*) front=${name%"$one"} name=$one ;; esac
    case $name in *[.:]*) front=${name%[.:]*}$(printf %s "${name%"${name##*[.:]}"}" | tail -c 1) ;; esac
    said=$(given "$of" "${how% *}" "${front}zzzzzzzz=1")
    echo "$said" | grep -q "$unknown" && verdict "$of: another name is refused" "" ||
        verdict "$of: another name is refused" "$how: $said"
done <"$tmp/rows"
columns=$(awk -F, '/,tables of layers,/ { printf ",%s", $1 }' "$tmp/settings")
printf 'name%s\nx\n' "$columns" >"$tmp/layers.csv"
"$ringlet" check "$tmp/layers.csv" >"$tmp/out" 2>"$tmp/err"
grep -q 'unknown column' "$tmp/err" && verdict "columns of layers" "$(cat "$tmp/err")" || verdict "columns of layers" ""
verdict "each of the names listed is taken" "$wrong"
[ $n -gt 290 ] && verdict "all are listed" "" || verdict "all are listed" "$n"
for of in endpoints "a protocol of the endpoint" "packet network" algorithms switchml libra switches "noise markov" failures \
    "background traffic" DASO LogGOPS \
    trainings transformer resnet vgg dlrm mapping "workloads of a design" measurements; do
    grep -q ",$of," "$tmp/settings" && verdict "listed: $of" "" || verdict "listed: $of" "it is not"
done
expect "a row has all of it" "$(grep '^switchml.rto,' "$tmp/settings" | cut -d, -f1-4,7,8)" \
    'switchml.rto,switchml,--set switchml.rto=VALUE,duration,10ms,0 to 1000 s'
"$ringlet" list settings >"$tmp/out"
expect "as text" "$(grep -m 1 -A 2 '^cv ' "$tmp/out" | tr -s ' \n' ' ')" \
    'cv coefficient of variation, above 0 [number; 0 to 10; required] on work whose durations vary '
"$ringlet" list settings -f json >"$tmp/out"
expect "as json" "$(grep -c '"given": *"--failures mtbf=VALUE"' "$tmp/out")" 1

# ---- options: each is known to its command, and --help has no others. Options that end the parsing come last.
cut -d, -f1,2 "$tmp/options" | sed '1d' >"$tmp/rows"
wrong=""
while IFS=, read -r name command; do
    "$ringlet" $command "--$name=@" --zzzzzzzz >"$tmp/out" 2>"$tmp/err" </dev/null
    grep -q -e "--$name: unknown option" "$tmp/err" && wrong="$wrong $command --$name"
done <"$tmp/rows"
verdict "each of the options listed is known" "$wrong"
for command in run coll sweep "topo route" "trace generate" calibrate "design bandwidth" serve list check; do
    expect "as many as --help has: $command" "$(grep -c ",$command\$" "$tmp/rows")" \
        "$("$ringlet" $command --help | grep -c '^  \(-., \|    \)--[a-z]')"
    "$ringlet" list options $command -f csv >"$tmp/out"
    expect "and alone: $command" "$(sed 1d "$tmp/out" | cut -d, -f2 | sort -u | head -1)" "$command"
done
expect "a command with its verbs" "$("$ringlet" list options topo -f csv | cut -d, -f2 | grep -c '^topo route$')" \
    "$(grep -c ',topo route$' "$tmp/rows")"
"$ringlet" list options coll -f json >"$tmp/out"
expect "options as json" "$(grep -c '"name": *"topology"' "$tmp/out")" 1
"$ringlet" list >"$tmp/out"
expect "not in the list of everything" "$(grep -c '^options' "$tmp/out")" 0
leaves_nothing 2 "col: no command; did you mean 'coll'?" list options col
leaves_nothing 2 "rout: no command of topo; did you mean 'route'?" list options topo rout
leaves_nothing 2 "zzzzzzzz: no command" list options zzzzzzzz
leaves_nothing 2 "only 'options' takes a further operand" list settings coll
finish
