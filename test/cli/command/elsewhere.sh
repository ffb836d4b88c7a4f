#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Shipped names are found wherever the command was put, in the order of search; an unknown name says what is near.
. "$(dirname "$0")/../../support/tap.sh"
source=$PWD
make -s install-data DESTDIR="$tmp" PREFIX=/usr >"$tmp/out" 2>"$tmp/err" || verdict "install-data" "fails"
mkdir "$tmp/usr/bin" "$tmp/empty"
for file in "$ringlet" "$ringlet-deploy"; do [ ! -x "$file" ] || cp "$file" "$tmp/usr/bin"; done
mv "$tmp/usr" "$tmp/moved here"
moved="$tmp/moved here/bin/ringlet"
cd "$tmp/empty" || exit 1

works() { # name, then the arguments of the moved command
    name=$1
    shift
    "$moved" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    expect "moved: $name" $? 0
}
works "topology and trace" run --trace transformer-8 -t hgx-h100-8 -f json
here=$(cd "$source" && "$ringlet" run --trace transformer-8 -t hgx-h100-8 -f json | grep '"time_ps"')
expect "moved: the same time" "$(grep '"time_ps"' "$tmp/out")" "$here"
works "accelerator, stack, dispatcher" run --model mixtral-8x7b --accelerator h100 -t 'hgx-h100-8*switch:2@50GB/s,2us' \
    --layout tp=4,dp=4,ep=4,stack=megatron,dispatcher=uccl-p5
works "study" sweep replay --dry-run
mkdir replay
works "study, beside a folder of that name" sweep replay --dry-run
rmdir replay
[ ! -x "$moved-deploy" ] || works "operator graph and weights" deploy -g small-cnn -t testbed-4xv100-4xv100 --weights tag --budget 4
works "trace info" trace info transformer-16
works "job" run --job transformer-8@0-7 -t hgx-h100-8
"$moved" check --as training "$tmp/moved here/share/ringlet/measured/published.csv" >"$tmp/out" 2>"$tmp/err"
expect "moved: names of measured systems" "$(grep -c 'no list of names' "$tmp/err")" 0
for list in topologies accelerators traces studies stacks dispatchers; do
    expect "moved: list $list" "$("$moved" list $list -f csv)" \
        "$(cd "$source" && "$ringlet" list $list -f csv | sed "s|,traces/|,$tmp/moved here/share/ringlet/traces/|")"
done
expect "list folders names the folder that has them" \
    "$("$moved" list folders -f csv | grep '^"*topologies' | grep -v ',$' | cut -d, -f2 | tr -d '"')" "$tmp/moved here/share/ringlet/topologies"

# RINGLET_DATA comes first; a folder in it may be missing.
mkdir -p "$tmp/own/topologies" "$tmp/own/traces"
sed '0,/"name"/s/"name": *"[^"]*"/"name": "my own"/' "$source/topologies/hgx-h100-8.json" >"$tmp/own/topologies/hgx-h100-8.json"
cp -R "$source/traces/transformer-8" "$tmp/own/traces/mine"
own() { RINGLET_DATA=$tmp/nowhere:$tmp/own "$moved" "$@"; }
expect "RINGLET_DATA wins" "$(own topo hgx-h100-8 | grep -c 'my own')" 1
expect "RINGLET_DATA adds names" "$(own run --trace mine -t hgx-h100-8 -f json | grep '"time_ps"')" "$here"
expect "the others stay" "$(own topo mi300x-8 >/dev/null && echo yes)" yes
for r in 0 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15; do cp "$source/traces/transformer-16/transformer.$r.et" mine.$r.et; done
expect "files here come before a name" "$(own trace info mine -f json | grep -c '"operations": 2048,')" 1
rm mine.*.et

refused() { # status, text, arguments
    status=$1 text=$2
    shift 2
    "$moved" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    got=$?
    wrong=""
    [ $got = "$status" ] || wrong="exit status $got, expected $status"
    grep -qF -- "$text" "$tmp/err" || wrong="$wrong; no '$text'"
    verdict "refused: $*" "$wrong"
}
refused 3 "hgx-h10-8: no such file, and no topology of that name; did you mean 'hgx-h100-8'?" coll -t hgx-h10-8
refused 3 "did you mean 'hgx-h100-8'?" topo h100
refused 3 "'ringlet list topologies' shows them; dimensions are written" topo qqqq
refused 5 "no/hgx-h100-8.json: no such file" topo no/hgx-h100-8.json
refused 5 "hgx-h10-8.json: no such file" topo hgx-h10-8.json
refused 3 "no accelerator of that name; did you mean 'h100-sxm'" run --model llama3-8b --accelerator h100-sxn -t hgx-h100-8
refused 3 "no trace of that name; did you mean 'transformer-8'?" run --trace transformer-9 -t hgx-h100-8
refused 3 "no trace of that name ('ringlet list traces' shows them)" trace info qqqq
refused 5 "traces/transformer-9: no such file" run --trace traces/transformer-9 -t hgx-h100-8
refused 3 "no study of that name; did you mean 'replay'?" sweep repla --dry-run
[ ! -x "$moved-deploy" ] || refused 3 "no weights of that name; did you mean 'tag'?" deploy -g small-cnn -t testbed-4xv100-4xv100 --weights tug
refused 3 "stack: no stack 'megatrom'" run --model llama3-8b --accelerator h100 -t hgx-h100-8 --layout stack=megatrom
rm -r "$tmp/moved here/share"
refused 3 "no topology of that name: there are none in topologies:$tmp/moved here/topologies:" topo hgx-h100-8
finish
