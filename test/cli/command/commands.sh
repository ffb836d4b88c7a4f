#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The documented command line: every command, and every documented error with its exit status.
# Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"

value() { # key FILE: first number or word after "key":
    grep -o "\"$1\": *[^,}]*" "$2" | head -1 | sed 's/^[^:]*: *//'
}

net='ring:4@200GB/s,500ns*switch:8@50GB/s,500ns'

# ---- the command itself
answers "--version lists what is built in" 0 '^networks:.* alpha-beta.* flow' '' --version
answers "--version names the libraries" 0 'igraph' '' --version
# igraph is loaded by those who need it: here what the loader finds under its name is no library.
mkdir "$tmp/late"
for f in $(PATH=$PATH:/usr/sbin:/sbin ldconfig -p 2>/dev/null | sed -n 's/^\s*\(libigraph\.so\.[0-9]*\) .*/\1/p' | sort -u); do echo none >"$tmp/late/$f"; done
export LD_LIBRARY_PATH="$tmp/late"
answers "--version starts without igraph" 0 'igraph' '' --version
answers "a collective needs no igraph" 0 '^all_reduce' '' coll -t ring:8@50GB/s,500ns -b 1MiB -a ring
answers "a missing library is named, and its package" 3 '' "^ringlet: libigraph\.so.*cannot be loaded: .*; apt-get install libigraph-dev$" \
    topo export ring:4@50GB/s,500ns --as graphml
unset LD_LIBRARY_PATH
answers "--help shows the commands" 0 '^  coll ' '' --help
answers "-h is --help" 0 '^usage: ringlet COMMAND' '' -h
answers "help COMMAND is COMMAND --help" 0 '^usage: ringlet coll' '' help coll
answers "no command is wrong use" 2 '' 'ringlet: expected a command'
answers "an unknown command is named, and the nearest" 2 '' "^ringlet: cool: unknown command; did you mean 'coll'?" cool
answers "an unknown verb is named, and the nearest" 2 '' "^ringlet: topo: unknown command 'rout'; did you mean 'route'?" topo rout x 0 1
answers "an unknown model is named, and the nearest" 2 '' "transfomer: unknown model; did you mean 'transformer'?" run -m transfomer -t hgx-h100-8
answers "wrong use of a verb points to its help" 2 '' "^'ringlet trace generate --help' explains its use" trace generate
answers "an unknown command without a near one" 2 '' "unknown command; 'ringlet --help' lists them" quux
answers "an unknown option is named, and the nearest" 2 '' "^ringlet: --versoin: unknown option; did you mean '--version'?" --versoin
answers "a man page is made from the tables" 0 '\\-\\-collective' '' --generate-man coll
answers "its synopsis has the required options" 0 '^\.B \\-\\-topology' '' --generate-man coll
answers "the first man page lists the others" 0 '^\.BR ringlet.-calibrate.-training (1)' '' --generate-man
answers "no man page of what is no command" 2 '' "did you mean 'coll'" --generate-man col
answers "the man page has the option of all commands" 0 '\\-\\-config FILE' '' --generate-man
answers "the tables are printed as JSON" 0 '"name": "rank-scale", .*"kind": "list"' '' --generate-json
answers "the completion is made from the tables" 0 'complete -o default -F _ringlet ringlet' '' --generate-completion
for c in run coll topo trace list check; do
    answers "$c --help ends with an example" 0 '^  ringlet '"$c" '' $c --help
    last=$(tail -1 "$tmp/out")
    case $last in "  ringlet $c "*) verdict "the example is the last line of $c --help" "" ;;
    *) verdict "the example is the last line of $c --help" "it is '$last'" ;; esac
    long=$(grep -v '^  ringlet\|^usage' "$tmp/out" | awk 'length($0) > 80' | head -1)
    expect "$c --help fits 80 columns" "$long" ""
done
for c in run 'run stragglers' plan sweep 'design bandwidth' 'design dimensions' 'deploy search' 'deploy judges' 'deploy policy'; do
    # shellcheck disable=SC2086
    answers "$c takes -q" 0 '-q, --quiet' '' $c -q --help
done
for v in describe analyse route check import export; do
    answers "topo $v --help" 0 "^usage: ringlet topo $v" '' topo $v --help
done
for v in info convert slice check generate; do
    answers "trace $v --help" 0 "^usage: ringlet trace $v" '' trace $v --help
done
"$ringlet" --help >/dev/full 2>"$tmp/err"
expect "a full disk is exit status 5" "$?" 5
"$ringlet" --help 2>"$tmp/err" | head -0 >/dev/null
expect "a closed pipe is no crash, and no complaint" "$(cat "$tmp/err")" ""

# ---- coll: the closed form of ring all-reduce, 2 (n-1)/n bytes / bandwidth, without latency
# 4 ranks, 4 MB, 100 GB/s: 1.5 x 4e6 / 1e11 s = 60 us; busbw = 100 GB/s
for model in flow alpha-beta; do
    answers "coll --network $model: json" 0 '"schema_version": *1' '' coll -t switch:4@100GB/s,0ns -c all_reduce \
        -a ring -b 4MB --network $model -f json
    expect "ring all-reduce under $model takes what theory says" "$(value time_ps "$tmp/out")" 60000000
    expect "its bus bandwidth is the link's ($model)" "$(value busbw_GBps "$tmp/out" | cut -d. -f1)" 100
    expect "its algorithm bandwidth ($model)" "$(value algbw_GBps "$tmp/out" | cut -c1-6)" 66.666
    expect "it meets the bound ($model)" "$(value bound_ps "$tmp/out")" 60000000
done
for key in manifest results collective algorithm ranks bytes time_ps algbw_GBps busbw_GBps bound_ps bottleneck events \
    messages network injection; do
    expect "coll json has $key" "$(grep -c "\"$key\":" "$tmp/out" | sed 's/^[1-9].*/some/')" some
done
answers "coll --links adds links" 0 '"utilization"' '' coll -t switch:4@100GB/s,0ns -a ring -b 4MB -f json --links
expect "a send port is busy all the time" "$(value utilization "$tmp/out" | cut -c1-5)" 1.000
expect "and carries 2 (n-1)/n of the bytes" "$(grep -o '"links".*' "$tmp/out" | grep -o '"bytes": *[0-9]*' | head -1)" '"bytes": 6000000'
expect "a link is active all that time" "$(grep -o '"links".*' "$tmp/out" | grep -o '"active_ps": *[-0-9]*' | head -1)" '"active_ps": 60000000'
answers "coll with start-up costs" 0 '"links"' '' coll -t hgx-h100-8 -b 1MB -f json --links
expect "no account is negative" "$(grep -c ': *-[0-9]' "$tmp/out")" 0
for key in id src dst dim count bytes busy_ps active_ps utilization; do
    expect "a link has $key" "$(grep -o '"links".*' "$tmp/out" | grep -c "\"$key\":" | sed 's/^[1-9].*/some/')" some
done
answers "coll --links-csv" 0 '' '' coll -t switch:4@100GB/s,0ns -a ring -b 4MB --links-csv "$tmp/links.csv"
expect "links as csv: a row a link and the heading" "$(wc -l <"$tmp/links.csv" | tr -d ' ')" 9
expect "links as csv: heading" "$(head -1 "$tmp/links.csv")" id,src,dst,dim,count,bandwidth_Bps,bytes,messages,busy_ps,active_ps,utilization
answers "coll --links-csv is for one row" 2 '' '^ringlet: --links-csv: is for one' coll -t switch:4@100GB/s,0ns -b 1KiB,2KiB --links-csv "$tmp/x"
answers "coll --series adds bytes over time" 0 '"series_bytes"' '' coll -t switch:4@100GB/s,0ns -a ring -b 4MB -f json --links --series 10us
answers "coll --links as a table" 0 'acc0  *sw0.0.0' '' coll -t switch:4@100GB/s,0ns -a ring -b 4MB --links
answers "coll as csv" 0 '^collective,bytes,algorithm,ranks,time_ps' '' coll -t switch:4@100GB/s,0ns -a ring -b 1KB:4KB:x2 -f csv
expect "csv: a row a size" "$(wc -l <"$tmp/out" | tr -d ' ')" 4
answers "coll: all collectives, all algorithms" 0 '^all_to_all' 'nvls is left out of all_reduce, ' coll -t "$net" -c all -a all -b 64KiB
expect "the fastest of each size is marked" "$(grep -c ' \* ' "$tmp/out" | sed 's/^[1-9].*/some/')" some
for c in all_reduce reduce_scatter all_gather all_to_all broadcast reduce barrier send_recv; do
    answers "coll -c $c, checked" 0 "^$c" '' coll -t 'ring:4@200GB/s,500ns' -c $c -b 64KiB --check
done
answers "coll: send_recv of 1 MB over 100 GB/s takes 10 us" 0 'send_recv  .* 10\.00 ' '' coll -t switch:4@100GB/s,0ns -c send_recv -b 1MB
answers "coll --injection blocking is in the result" 0 '"injection": *"blocking"' '' coll -t switch:4@100GB/s,0ns -b 1MB -f json --injection blocking
answers "coll --routing spray" 0 'routing spray' '' coll -t switch:4@100GB/s,0ns -b 1MB --routing spray
answers "coll --set" 0 'all_reduce' '' coll -t switch:4@100GB/s,0ns -b 1MB -a ring --set message=1us --set channels=2
answers "coll --set of a parameter that an algorithm lacks is told" 0 'all_reduce' 'note: ring has no parameter window' \
    coll -t switch:4@100GB/s,0ns -b 1MB -a ring --set window=2
answers "coll --link-scale takes FROM->TO as tables print it" 0 '^  *0  *acc0  *sw0.0.0 .* 30\.00 ' '' \
    coll -t switch:4@100GB/s,0ns -b 1MB -a ring --link-scale 'acc0 -> sw0.0.0=0.5' --expand-links --links
answers "coll --link-scale of no link" 2 '' 'there is no such link' coll -t switch:4@100GB/s,0ns -b 1MB --link-scale 'acc0->acc1=0.5'
answers "a clock of 0 is refused" 2 '' 'clock: expected at least 0.000001' coll -t switch:4@100GB/s,0ns -b 1MB --set clock=0
answers "coll --plot" 0 'all_gather' '' coll -t ring:4@50GB/s,500ns -c all_reduce,all_gather -b 1KiB,1MiB --plot "$tmp/p.svg"
expect "tacos is drawn on four charts, alike, though other algorithms stand before it" \
    "$(grep -o 'stroke=.*<title>tacos<' "$tmp/p.svg" | sed 's/ d=.*//' | uniq -c | sed 's/^ *\([0-9]*\) .*/\1/')" 4
answers "coll --ranks" 0 '"ranks": *3' '' coll -t switch:4@100GB/s,0ns -b 1MB -f json --ranks 3
answers "coll --group" 0 '"ranks": *2' '' coll -t switch:4@100GB/s,0ns -b 1MB -f json --group 1,3
answers "coll --root" 0 'broadcast' '' coll -t switch:4@100GB/s,0ns -b 1MB -c broadcast --root 2
answers "coll --no-fold" 0 'all_reduce' '' coll -t switch:4@100GB/s,0ns -b 1MB --no-fold
printf '0 100 200\n300 0 400\n500 600 0\n' >"$tmp/counts"
answers "coll --counts" 0 '"bytes": *1100' '' coll -t switch:3@100GB/s,0ns -c all_to_all --counts "$tmp/counts" -f json
# The name of --output chooses the format, for every command.
first() { head -c 1 "$1" | tr -d '\n'; }
for command in "coll -t switch:4@100GB/s,0ns -b 1MB" "run --trace traces/transformer-8 -t hgx-h100-8 -q" "topo hgx-h100-8" \
    "list algorithms" "trace info traces/transformer-8" "design bandwidth -t libra-4d -w gpt3-175b@tp=16,zero=2 --total 500GB/s"; do
    rm -f "$tmp"/named.*
    for name in named.json named.csv named.txt; do
        "$ringlet" $command -o "$tmp/$name" >/dev/null 2>"$tmp/err" || verdict "$command -o $name" "$(cat "$tmp/err")"
    done
    "$ringlet" $command -o "$tmp/named.2.json" -f csv >/dev/null 2>&1
    "$ringlet" $command -f table >"$tmp/named.table" 2>/dev/null
    expect "the name of -o chooses the format: ${command%% -*}" \
        "$(first "$tmp/named.json") $(cmp "$tmp/named.csv" "$tmp/named.2.json" 2>&1) $(cmp "$tmp/named.txt" "$tmp/named.table" 2>&1)" "{  "
done
answers "coll -o writes a file" 0 '' '' coll -t switch:4@100GB/s,0ns -b 1MB -f json -o "$tmp/r1.json"
answers "and again" 0 '' '' coll -t switch:4@100GB/s,0ns -b 1MB -f json -o "$tmp/r2.json"
cmp -s "$tmp/r1.json" "$tmp/r2.json"
expect "the same run gives the same bytes" "$?" 0
expect "nothing is left beside the files" "$(find "$tmp" -name 'r[12].json*' | wc -l | tr -d ' ')" 2
answers "a named topology" 0 'hgx-h100-8' '' coll -t hgx-h100-8 -b 1MiB
answers "alpha-beta warns about inner links over capacity" 0 '' 'warning: .* alpha-beta does not share' \
    coll -t 'fat-tree:16@100GB/s,0ns,hosts_per_leaf=4,oversubscription=4' -c all_to_all -a direct -b 16MB -n alpha-beta

# ---- coll: wrong use
answers "a missing topology option" 2 '' '^ringlet: --topology: is required' coll -b 1MiB
answers "a size without a unit" 2 '' "^ringlet: --bytes: .*unit.*1024" coll -t switch:4@100GB/s,0ns -b 1024
answers "a range that never ends" 2 '' '^ringlet: --bytes: the range .* never ends' coll -t switch:4@100GB/s,0ns -b 1KiB:2KiB:x1
answers "an unknown collective" 2 '' "^ringlet: --collective: unknown collective 'all_redcue'; did you mean 'all_reduce'?" coll -t switch:4@100GB/s,0ns -c all_redcue
answers "an unknown algorithm" 2 '' "^ringlet: --algorithm: unknown algorithm 'rign'; did you mean 'ring'?" coll -t switch:4@100GB/s,0ns -a rign
answers "an algorithm that cannot do it" 2 '' '^ringlet: --algorithm: point_to_point does not support all_reduce' coll -t switch:4@100GB/s,0ns -a point_to_point
answers "an unknown network" 2 '' "^ringlet: --network: .*did you mean 'flow'?" coll -t switch:4@100GB/s,0ns -n flwo
answers "an unknown option" 2 '' "^ringlet: --netwrok: unknown option; did you mean '--network'?" coll -t switch:4@100GB/s,0ns --netwrok flow
answers "the help is pointed to" 2 '' "'ringlet coll --help'" coll --netwrok flow
answers "an unknown setting" 2 '' "^ringlet: --set: chanels: unknown setting; did you mean 'channels'?" coll -t switch:4@100GB/s,0ns --set chanels=2
answers "a setting without a value" 2 '' '^ringlet: --set: expected NAME=VALUE' coll -t switch:4@100GB/s,0ns --set channels
answers "a setting without a unit" 2 '' '^ringlet: --set: message: .*unit' coll -t switch:4@100GB/s,0ns --set message=5
answers "a bad format" 2 '' "^ringlet: --format: .*did you mean 'json'?" coll -t switch:4@100GB/s,0ns --format jsn
answers "a root outside the group" 2 '' '^ringlet: --root: rank 9 ' coll -t switch:4@100GB/s,0ns -c broadcast --root 9
answers "a bad group" 2 '' '^ringlet: --group: ' coll -t switch:4@100GB/s,0ns --group 0,x
answers "a rank named twice" 3 '' '^ringlet: --group' coll -t switch:4@100GB/s,0ns --group 0,1,0
answers "an argument too many" 2 '' '^ringlet: extra: ' coll -t switch:4@100GB/s,0ns extra
answers "more ranks than accelerators" 3 '' '^ringlet: 9 ranks do not fit the 4 accelerators' coll -t switch:4@100GB/s,0ns --ranks 9
answers "a topology that is not there" 3 '' "^ringlet: hgx-h10-8: no such file.* did you mean 'hgx-h100-8'?" coll -t hgx-h10-8
answers "a compact topology without a unit" 3 '' '^ringlet: .*unit' coll -t switch:4@100
printf '0 1 2\n3 x 4\n5 6 7\n' >"$tmp/bad-counts"
answers "bad counts: line and column" 3 '' "bad-counts:2:3: expected a number of bytes.*'x'" coll -t switch:3@100GB/s,0ns -c all_to_all --counts "$tmp/bad-counts"
answers "too few counts" 3 '' 'expected 4 x 4 numbers' coll -t switch:4@100GB/s,0ns -c all_to_all --counts "$tmp/counts"
answers "an output folder that is not there" 5 '' '^ringlet: .*/no/such: cannot' coll -t switch:4@100GB/s,0ns -b 1MB -o "$tmp/no/such"
"$ringlet" coll -t switch:4@100GB/s,0ns -b 1MB >/dev/full 2>"$tmp/err"
expect "coll to a full disk" "$?" 5

# ---- coll: interrupted
"$ringlet" coll -t switch:64@100GB/s,1us -c all_to_all -a direct -b 1MB:50MB:+1KB -f json -o "$tmp/part.json" 2>"$tmp/err" &
job=$!
spent $job 100
kill -INT $job
wait $job
expect "an interrupt is exit status 130" "$?" 130
expect "what was done is written and flagged" "$(grep -c '"partial": *true' "$tmp/part.json.partial")" 1
expect "and said" "$(grep -c 'interrupted' "$tmp/err")" 1

# Work that is long, and most of it outside the event loop. What counts is processor time: other programs take the rest.
hundredths() { # of processor time that ended children used
    times >"$tmp/times"
    awk 'END { split($1 " " $2, p, /[ms ]+/); printf "%d", (p[1] * 60 + p[2] + p[3] * 60 + p[4]) * 100 }' "$tmp/times"
}
used() { # PID: hundredths of a second that it has used
    awk '{ print $14 + $15 }' "/proc/$1/stat" 2>/dev/null
}
most=100 # hundredths of a second; sanitizers make work several times slower
[ -z "${SANITIZE:-}" ] || most=200
ends() { # NAME ARGUMENTS...
    name=$1
    shift
    before=$(hundredths)
    "$ringlet" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null &
    job=$!
    spent $job 30
    at=$(used $job)
    kill -TERM $job
    wait $job
    status=$?
    after=$(($(hundredths) - before - ${at:-0}))
    [ $after -le $most ]
    expect "ends soon: $name" "$status-$?-$(grep -c '^ringlet: .*\(interrupted\|stopped\)' "$tmp/err")" 130-0-1
}
"$ringlet" --version >"$tmp/version"
mkdir "$tmp/temporary"
export TMPDIR="$tmp/temporary"
h100="--accelerator h100-sxm -t switch:8@450GB/s,500ns*switch:1024@50GB/s,2us"
ends "a search of layouts" plan -q --model llama3-70b $h100 --train batch=2048
ends "a large training" run --model gpt3-175b $h100 --layout dp=64,tp=8,pp=16
ends "traces of a large training" trace generate --model gpt3-175b --accelerator h100-sxm --layout dp=64,tp=8,pp=16 -o "$tmp/generated"
ends "stragglers" run stragglers --nodes 64,128,256,512 --jitter 0,0.1,0.2,0.3 --batches 20000
ends "messages of a large network" coll -t fat-tree:4096@50GB/s,500ns,levels=3 -c all_to_all -a direct -b 1MiB --no-fold
ends "the proof of a large plan" coll -t switch:800@50GB/s,500ns -c all_to_all -a direct -b 1MiB --check
ends "a fit to trainings" calibrate-training tools/calibrate/training/published.csv
ends "a study of networks" design dimensions --study added-dimension -n 65536 --total 100GB/s --any-memory -w gpt3-175b@tp=16,microbatch=16 \
    -w megatron-1t@tp=32,microbatch=8 -w gpt3-175b@tp=8,microbatch=16 -w megatron-1t@tp=16,microbatch=8 -w gpt3-175b@tp=32,microbatch=16
ends "a sweep" sweep tools/sweep/examples/training.json -q -j 2 -f csv
if grep -q 'SQLite [0-9]' "$tmp/version"; then
    rows=$(wc -l <"$tmp/out")
    [ "$rows" -gt 1 ] && verdict "a sweep prints the points that are done" "" || verdict "a sweep prints the points that are done" "$rows lines"
fi
ends "a large graph" topo export switch:1048576@50GB/s,500ns --as graphml -o "$tmp/ends.graphml"
expect "and leaves no file" "$(ls "$tmp" | grep -c ends)" 0
expect "nor a temporary folder" "$(ls "$tmp/temporary")" ""
# A second signal kills. One that comes while the first is pending is none.
for again in 1 2 3 4 5; do
    "$ringlet" topo export switch:1048576@50GB/s,500ns --as graphml >"$tmp/out" 2>"$tmp/err" &
    job=$!
    spent $job 10
    kill -TERM $job
    sleep 0.1
    kill -TERM $job 2>/dev/null
    wait $job
    status=$?
    [ $status = 143 ] && break
done
expect "a second signal kills" $status 143
unset TMPDIR

# ---- topo
answers "topo describes dimensions" 0 'switch  *8  *50 GB/s' '' topo "$net"
answers "topo: bisection of a switch of 8 at 50 GB/s is 200 GB/s" 0 'bisection  *200 GB/s' '' topo switch:8@50GB/s,500ns
answers "topo as json" 0 '"bisection_Bps": *200000000000' '' topo switch:8@50GB/s,500ns -f json
answers "topo as csv" 0 '^0,switch,8,50000000000,500000,16' '' topo switch:8@50GB/s,500ns -f csv
answers "topo describe" 0 'diameter' '' topo describe hgx-h100-8
answers "topo analyse" 0 'diameter' '' topo analyse hgx-h100-8
answers "topo of standard input" 3 '' 'standard input' topo -
answers "topo route: two links through a switch, 1 us" 0 '^# 2 links, 1 us, 50 GB/s' '' topo route switch:8@50GB/s,500ns 0 7
answers "topo route by name" 0 'acc1  *acc0' '' topo route ring:4@200GB/s,0ns acc1 acc0
answers "topo route as json" 0 '"latency_ps": *1000000' '' topo route switch:8@50GB/s,500ns 0 7 -f json
answers "topo route to itself" 0 'same accelerator' '' topo route ring:4@200GB/s,0ns 1 1
answers "topo route: no such accelerator" 3 '' '^ringlet: 9: expected an accelerator from 0 to 3' topo route ring:4@200GB/s,0ns 0 9
answers "topo route: no such name" 3 '' '^ringlet: gpu9: no node of that name' topo route ring:4@200GB/s,0ns 0 gpu9
answers "topo route: a switch is no end" 3 '' '^ringlet: sw0.0.0: .*this is not one' topo route switch:4@200GB/s,0ns 0 sw0.0.0
answers "topo route wants two ends" 2 '' 'expected T SRC DST' topo route ring:4@200GB/s,0ns 0
answers "topo check" 0 'hgx-h100-8.json: ok: 8 accelerators' '' topo check topologies/hgx-h100-8.json
answers "topo export --as dot" 0 'acc0' '' topo export ring:4@200GB/s,0ns --as dot
answers "topo export --as graphml" 0 '<graphml' '' topo export ring:4@200GB/s,0ns --as graphml -o -
answers "topo export to a file" 0 '' '' topo export ring:4@200GB/s,0ns --as graphml -o "$tmp/ring.graphml"
answers "topo import reads it back" 0 '' '' topo import "$tmp/ring.graphml" -o "$tmp/ring.json"
answers "what was imported is the same ring" 0 'ok: 4 accelerators, 4 nodes, 8 links' '' topo check "$tmp/ring.json"
answers "topo export: unknown format" 2 '' "^ringlet: --as: expected one of json, graphml, dot" topo export ring:4@200GB/s,0ns --as png
answers "topo without a topology" 2 '' 'expected T' topo
printf '{\n  "name": "x",\n  "dims": [\n    {"shape": "ring", "size": 4, "bandwidth": "50", "latency": "1ns"}\n  ]\n}\n' >"$tmp/bad.json"
answers "a bad topology: line, column, path" 3 '' 'bad.json:4:[0-9]*: .*dims\[0\].*bandwidth' topo check "$tmp/bad.json"

# ---- list
for what in topologies accelerators collectives algorithms networks shapes readers models settings; do
    answers "list $what" 0 '[a-z]' '' list $what
    answers "list $what as json" 0 "\"$what\": *\[" '' list $what -f json
    answers "list $what as csv" 0 '^name,' '' list $what -f csv
done
answers "list shows everything" 0 '^algorithms' '' list
answers "list finds the sample topologies" 0 '^hgx-h100-8  *8 ' '' list topologies
answers "list finds the accelerators" 0 '^h100-sxm  *h100  *79.65 GiB  *3.35 TB/s .*bf16 989.5' '' list accelerators
answers "list shows a model with its size" 0 '^"*gpt3-175b"*,"174615846912 parameters' '' list models -f csv
answers "list of something unknown" 2 '' "^ringlet: algoritms: nothing of that kind; did you mean 'algorithms'?" list algoritms
answers "list as csv needs one" 2 '' '^ringlet: --format: csv needs one' list -f csv

# ---- check
answers "check of a good topology" 0 'ok: topology of 8 accelerators' '' check topologies/hgx-h100-8.json
answers "check of several" 0 'dgx-a100-8.json: ok' '' check topologies/*.json
answers "check of a bad one: line and column" 3 '' 'bad.json:4:[0-9]*: ' check "$tmp/bad.json"
answers "check goes on after a bad one" 3 'hgx-h100-8.json: ok' 'bad.json:4' check "$tmp/bad.json" topologies/hgx-h100-8.json
printf '{"name": "x", "dims": [{"shape": "rign", "size": 4, "bandwidth": "50GB/s", "latency": "1ns"}]}' >"$tmp/shape.json"
answers "check: an unknown shape" 3 '' 'shape.json:1:[0-9]*: ' check "$tmp/shape.json"
printf '{"name": "x"' >"$tmp/cut.json"
answers "check: a file cut short" 3 '' 'cut.json:1:[0-9]*' check "$tmp/cut.json"
printf '' >"$tmp/empty.json"
answers "check: an empty file" 3 '' 'empty.json' check "$tmp/empty.json"
printf '{"ranks": [3, 1]}' >"$tmp/place.json"
answers "check of a placement" 0 'ok: placement of 2 ranks on switch:4@' '' check "$tmp/place.json" --topology switch:4@100GB/s,0ns
answers "check of a placement wants the topology" 2 '' 'a placement needs its topology' check "$tmp/place.json"
printf '{"ranks": [3, 3]}' >"$tmp/twice.json"
answers "check: an accelerator used twice" 3 '' 'twice.json:1:' check "$tmp/twice.json" --topology switch:4@100GB/s,0ns
answers "check of a file that is not there" 5 '' 'nonesuch.json: no such file' check nonesuch.json
answers "check without a file" 2 '' 'expected FILE' check
answers "coll with a placement" 0 '"ranks": *2' '' coll -t switch:4@100GB/s,0ns -b 1MB -f json --placement "$tmp/place.json"
printf '{\n  "scheduling-policy": "LIFO",\n  "endpoint-delay": 10,\n  "active-chunks-per-dimension": 1,\n  "preferred-dataset-splits": 4,\n  "all-reduce-implementation": ["ring"],\n  "all-gather-implementation": ["ring"],\n  "reduce-scatter-implementation": ["ring"],\n  "all-to-all-implementation": ["ring"],\n  "collective-optimization": "localBWAware",\n  "local-mem-bw": 50\n}\n' >"$tmp/system.json"
answers "check of an ASTRA-sim system" 0 'ok: ASTRA-sim system' '' check "$tmp/system.json"

# ---- trace
answers "trace without a verb" 2 '' 'ringlet: trace: expected a command' trace
answers "trace with a wrong verb" 2 '' "unknown command 'inof'; did you mean 'info'?" trace inof
answers "trace generate" 0 'trace.<rank>.et: 4 ranks' 'million parameters' trace generate --set ranks=4 --set layers=2 -o "$tmp/gen"
expect "trace generate: a file a rank" "$(find "$tmp/gen" -name 'trace.*.et' | wc -l | tr -d ' ')" 4
answers "trace generate: unknown property" 2 '' "layrs: unknown setting of a transformer; did you mean 'layers'" trace generate --set layrs=2 -o "$tmp/gen"
answers "trace generate wants a folder" 2 '' '^ringlet: --output: is required' trace generate
answers "trace info of a folder" 0 'all_reduce  *4 ' '' trace info "$tmp/gen"
answers "trace info of a prefix" 0 '4 ranks' '' trace info "$tmp/gen/trace"
answers "trace info as json" 0 '"ranks": *4' '' trace info "$tmp/gen" -f json
answers "trace info as csv" 0 '^all_reduce,4,' '' trace info "$tmp/gen" -f csv
answers "trace check" 0 '^ok: 4 ranks' '' trace check "$tmp/gen"
answers "check of a trace" 0 '^ok: 4 ranks' '' check "$tmp/gen"
answers "trace convert" 0 'copy.<rank>.et: 4 ranks' '' trace convert "$tmp/gen" -o "$tmp/conv" --prefix copy
answers "trace convert keeps what there is" 0 'all_reduce  *4 ' '' trace info "$tmp/conv"
answers "trace slice wants steps" 2 '' '^ringlet: --steps: is required' trace slice "$tmp/gen" -o "$tmp/slice"
answers "trace slice of bad steps" 2 '' '^ringlet: --steps: expected a step' trace slice "$tmp/gen" -o "$tmp/slice" --steps 3:1
answers "trace of a folder that is not there" 5 '' '^ringlet: .*nonesuch' trace info "$tmp/nonesuch"
mkdir "$tmp/odd" && echo hello >"$tmp/odd/x.0.et"
answers "trace of something else" 3 '' '^ringlet: .*x.0.et' trace info "$tmp/odd"
head -c 60 "$tmp/gen/trace.0.et" >"$tmp/odd/cut.0.et"
answers "trace cut short" 3 '' '^ringlet: .*cut.0.et' trace info "$tmp/odd/cut.0.et"

# Where another algorithm becomes the fastest. On a switch of 10 ps a byte and 1 us a message, in alpha-beta, an all-reduce of m
# bytes over 4 ranks takes 6 (1 us + 2.5 m ps) by ring, 2 (1 us + 10 m ps) by recursive doubling: equal at 4 us / 5 ps = 800 kB.
cross="coll -t switch:4@100GB/s,500ns -n alpha-beta -a ring,recursive_doubling -b 400kB,800kB,1600kB"
answers "coll tells where the fastest changes, between sizes 5 % apart" 0 \
    '^# all_reduce: recursive_doubling is fastest up to 800 kB, ring from 825 kB on$' '' $cross
answers "coll tells it in JSON" 0 '"below": "recursive_doubling", "above": "ring"' '' $cross -f json
answers "at the size where they are equal" 0 '"bytes": 800000, "between_bytes": 800000, "and_bytes": 825000' '' $cross -f json
# hgx-h100-8: direct wins at 1 MiB and nvls at 64 MiB, but from 7.625 to 18.5 MiB a ring beats both.
between="coll -t hgx-h100-8 -a ring,direct,nvls -b 1MiB,64MiB"
answers "an algorithm that wins only between the sizes asked for" 0 \
    '^# all_reduce: direct is fastest up to 7.375 MiB, ring from 7.625 MiB to 18.5 MiB,' '' $between
expect "rows are still those asked for" "$("$ringlet" $between -f csv | wc -l | tr -d ' ')" 7
expect "and the same by any number of threads" "$("$ringlet" $between -j 1 -f json | cksum)" "$("$ringlet" $between -j 3 -f json | cksum)"
expect "those ends are what a run at them says" \
    "$("$ringlet" coll -t hgx-h100-8 -a direct,ring -b 7.375MiB,7.625MiB -f csv | awk -F, 'NR > 1 { t[$2, $3] = $5; b[$2] }
        END { print t[7733248, "direct"] < t[7733248, "ring"], t[7995392, "ring"] < t[7995392, "direct"] }')" "1 1"
# There direct wins at 4 MiB as well, between two sizes at which another one does: halving_doubling.
pocket="coll -t hgx-h100-8 -a direct,halving_doubling,nvls"
answers "an algorithm that wins between two sizes of another one" 0 'direct from 3.5 MiB to 4.125 MiB,$' '' $pocket -b 1MiB,2MiB,64MiB
answers "a sentence tells the sizes that it rests on" 0 '(20 sizes simulated, steps up to x2)$' '' $pocket -b 1MiB,2MiB,64MiB
answers "even if nothing changes" 0 \
    '^# all_reduce: direct is fastest from 3.75 MiB to 4 MiB (2 sizes simulated, steps up to x2)$' '' $pocket -b 3.75MiB,4MiB
answers "no algorithm is the fastest where all are alike" 0 '^all_reduce      1 KiB .*[*]' '' coll -t switch:1@1GB/s,1us -a ring,direct -b 1KiB,1MiB
expect "nor does a sentence say so" "$(grep -c 'is fastest' "$tmp/out")" 0
answers "no legend of a mark that no row has" 0 '^send_recv' '' coll -t ring:8@50GB/s,500ns -c send_recv -b 1KiB,1MiB
expect "of the fastest" "$(grep -c 'fastest' "$tmp/out")" 0
# 512 ranks: a size takes half a million events by ring, wherever it is. The search may take two million.
wide="coll -t switch:512@50GB/s,500ns -a ring,tree --no-fold -b 1KiB,16GiB"
answers "a search costs no more than the table, and says what it leaves open" 0 \
    '^# all_reduce: tree is fastest up to 256 MiB at least, ring from 16 GiB at the latest$' '' $wide
expect "with its sizes" "$(sed -n '/^# all_reduce/{n;p;}' "$tmp/out")" "#   (4 sizes simulated, widest gap 1 KiB to 4 MiB)"
answers "auto alone compares nothing" 0 '^# all_reduce: auto takes ring up to 1.043 MiB, then nvls (a choice' '' coll -t hgx-h100-8 -a auto -b 1MiB,64MiB
answers "in JSON, too" 0 '"crossovers": \[\]' '' coll -t hgx-h100-8 -a auto -b 1MiB,64MiB -f json
answers "each version has its own" 0 '^# all_reduce: auto=nccl-2.30 takes tree up to 9.658 MiB, then nvls_tree up to' '' \
    coll -t 'hgx-h100-8*rail:4@400Gbps,2us' -a auto=nccl-2.22,auto=nccl-2.30 -b 4MiB,1GiB
answers "auto beside others is one of them" 0 'auto is fastest\|auto from' '' coll -t 'hgx-h100-8' -a auto,direct -b 1MiB,64MiB
answers "one algorithm, no change" 0 '"crossovers": \[\]' '' coll -t switch:4@100GB/s,500ns -a ring -b 1KB,1MB -f json

# A ring of 24: 12 of the 23 senders come from one side, over the root's one link there. Their blocks of 2 MiB take 40 ps a byte.
answers "in alpha-beta a neighbour and passing messages share the last link" 0 "^gather,50331648,direct,24,$((12 * 2097152 * 40 + 500000))," 'to 1100 % of its capacity' \
    coll -n alpha-beta -t ring:24@50GB/s,500ns -c gather -a direct -b 48MiB -f csv

# Folding simulates one rank of each class with the same times. It can be verified and switched off.
fold="coll -t ring:4@200GB/s,500ns*switch:8@50GB/s,500ns -a hierarchical -b 96KiB"
answers "coll folds" 0 '"simulated_ranks": 1}' '' $fold -f json
answers "coll --no-fold" 0 '"simulated_ranks": 32}' '' $fold -f json --no-fold
answers "coll --verify-fold" 0 'hierarchical' '' $fold --verify-fold
# Equal links: the choice of the link that a flow is counted on must not depend on link numbers.
ties() { answers "folded = whole where links tie: $*" 0 '' '' coll -j 1 --verify-fold "$@"; }
ties -t switch:3@300GB/s,1ps -b 333MB -a direct --set channels=5 --set chunks=7 --set window=1
ties -t switch:5@7GB/s,1ps -c all_to_all -a pairwise -b 1MB --set chunks=7
ties -t switch:3@70GB/s,1ps -c all_gather -a bruck -b 96KiB --set chunks=3
answers "not both" 2 '' '^ringlet: --verify-fold: does not go with --no-fold' $fold --verify-fold --no-fold
folded=$("$ringlet" $fold -f csv | cut -d, -f1-11) whole=$("$ringlet" $fold -f csv --no-fold | cut -d, -f1-11)
[ -n "$folded" ] && [ "$folded" = "$whole" ] && why="" || why="folded: $folded; whole: $whole"
verdict "folded rows are the whole ones" "$why"
answers "too large and uneven: rounded, and said" 0 ',2002717997280,' 'note: all_reduce by ring: simulated with 891136 more bytes' \
    coll -t switch:1000000@50GB/s,500ns -a ring -b 64MiB -n alpha-beta -f csv
answers "a million ranks, even" 0 ',2002677997320,' '' coll -t switch:1000000@50GB/s,500ns -a ring -b 67MB -n alpha-beta -f csv

# ASTRA-sim's two back-ends: 2 (n - 1) steps of two hops of 1 us through a switch; the aware one stores and forwards.
cat >"$tmp/astra.json" <<'EOF'
{"scheduling-policy": "LIFO", "endpoint-delay": 10, "preferred-dataset-splits": 1, "active-chunks-per-dimension": 1,
 "all-reduce-implementation": ["ring"], "all-gather-implementation": ["ring"], "reduce-scatter-implementation": ["ring"],
 "all-to-all-implementation": ["direct"]}
EOF
sed 's/\["ring"\]/["ring", "ring"]/; s/\["direct"\]/["direct", "direct"]/' "$tmp/astra.json" >"$tmp/astra2.json"
astra="run --trace traces/transformer-8 -t switch:8@50GB/s,500ns --astra-system $tmp/astra.json"
answers "run --timing astra" 0 'timing astra in closed form' '' $astra --timing astra
answers "run --timing astra-aware" 0 'timing astra-aware in closed form' '' $astra --timing astra-aware
answers "astra-aware has one dimension" 3 '' 'congestion-aware back-end supports one dimension' run --trace traces/transformer-8 \
    -t 'switch:4@50GB/s,500ns*switch:2@50GB/s,500ns' --astra-system "$tmp/astra2.json" --timing astra-aware

finish
