#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# `ringlet help`: topics, chapters, terms, columns, examples and places print; every example runs in a folder that has topologies/,
# traces/ and the sample studies, and nothing else; whatever results show has a text.
. "$(dirname "$0")/../../support/tap.sh"
LC_ALL=C
export LC_ALL

help() { "$ringlet" help "$@" >"$tmp/out" 2>"$tmp/err" </dev/null; }
# What stands in code of a chapter may be wider than a terminal; bytes that go on a character are no columns.
find README.md sim net collectives workload tools topologies traces test -name '*.md' | sort >"$tmp/chapters"
tr '\n' '\0' <"$tmp/chapters" | xargs -0 cat | sed 's/^/  /' | sort -u >"$tmp/code"
too_wide() { grep -vxF -f "$tmp/wide-code" "$1" | sed "s/$(printf '[\200-\277]')//g" | awk 'length($0) > 80' | head -2; }
awk 'length($0) > 80' "$tmp/code" >"$tmp/wide-code"

# ---- topics and chapters
help
expect "help lists topics" "$?" 0
missing=""
for topic in accuracy algorithms changes columns environment examples exit-status folding formats glossary network-models questions \
    recording tour units; do
    grep -q "^  $topic  *[a-z0-9]" "$tmp/out" || missing="$missing $topic"
done
verdict "each topic is listed, with what it says" "$missing"
wrong="" wide="" n=0
sed -n 's|^tools/help/\(.*\)\.md$|\1|p' "$tmp/chapters" | grep -v README >"$tmp/names"
while read -r path; do
    case $path in tools/help/README.md) echo tools/help ;; tools/help/*) continue ;; README.md) echo readme ;; */README.md) echo "${path%/README.md}" ;;
    *) echo "${path%.md}" | tr A-Z a-z ;; esac
done <"$tmp/chapters" >>"$tmp/names"
while read -r name; do
    n=$((n + 1))
    help "$name" && [ "$(wc -l <"$tmp/out")" -ge 5 ] || wrong="$wrong $name"
    wide=$wide$(too_wide "$tmp/out")
done <"$tmp/names"
expect "each file of Markdown is a chapter" "$n" "$(wc -l <"$tmp/chapters" | tr -d ' ')"
verdict "each topic and chapter prints" "$wrong"
verdict "within 80 columns" "$wide"
help net/flow#cost && grep -q '^Cost$' "$tmp/out" && ! grep -q '^Sources$' "$tmp/out"
expect "a section alone" "$?" 0
help daso
expect "a room by its last name" "$?" 0
help changes
expect "a topic brings the sections that it asks for" "$(grep -c '^Changes$' "$tmp/out")" 1

# ---- terms and columns
wrong=""
sed -n 's/^## //p' tools/help/glossary.md | tr ',' '\n' | sed 's/^ *//' >"$tmp/terms"
while read -r term; do
    help "$term" || wrong="$wrong; $term"
done <"$tmp/terms"
verdict "each term prints, by each of its names" "$wrong"
[ "$(wc -l <"$tmp/terms")" -ge 80 ]
expect "there are terms" "$?" 0
help Comm-Wait
expect "a term in another writing" "$?" 0
help wait_ps && grep -q 'unit ps' "$tmp/out"
expect "a column prints with its unit" "$?" 0

# ---- what is not there
refused() { # name, pattern on standard error, words
    name=$1 pattern=$2
    shift 2
    help "$@"
    status=$?
    [ $status = 2 ] && grep -q -e "$pattern" "$tmp/err" && verdict "$name" "" || verdict "$name" "status $status"
}
refused "the nearest topic" "^ringlet: foldng: no such topic; did you mean 'folding'?" foldng
refused "the nearest term" "did you mean 'busbw'?" bubw
refused "nothing near" "'ringlet help -k xyzzy' searches" xyzzy
refused "the nearest section" "no section 'cots'; did you mean 'cost'?" net/flow#cots
refused "a search that finds nothing" "xyzzy: stands nowhere" -k xyzzy
help -k congestion
expect "a search" "$?" 0
for place in 'ringlet help net/packet' 'ringlet coll --network' '--network packet --set congestion='; do
    grep -qF -- "  $place" "$tmp/out"
    expect "it finds $place" "$?" 0
done
help -k bubble
expect "excerpts fit into 80 columns" "$(awk 'length > 80 && /^    /' "$tmp/out" | head -1)" ""
expect "and are cut between words, with dots" "$(grep -c '^    \.\.\. .* \.\.\.$' "$tmp/out" | sed 's/^[1-9].*/some/')" some
help -k busbw && grep -q '^  ringlet help busbw$' "$tmp/out" && grep -q '^  ringlet help columns#' "$tmp/out"
expect "a search finds terms and columns" "$?" 0

for place in algorithms collectives/algorithms/algorithms; do
    help "$place" && tr -s ' \n' ' ' <"$tmp/out" | grep -q 'symmetric windows, copy-engine collectives and hybrid'
    expect "$place names kernels without a published cost" "$?" 0
done

# ---- questions
wrong="" n=0
grep '^| .*`ringlet help' tools/help/questions.md | sed 's/.*`ringlet help \([^`]*\)`.*/\1/' >"$tmp/places"
while read -r place; do
    n=$((n + 1))
    # shellcheck disable=SC2086
    help $place || wrong="$wrong; $place"
done <"$tmp/places"
verdict "each question of a newcomer has its place" "$wrong"
[ $n -ge 30 ]
expect "there are thirty questions" "$?" 0

# ---- examples
mkdir -p "$tmp/bin" "$tmp/work/tools/sweep"
ln -s "$ringlet" "$tmp/bin/ringlet"
ln -s "$PWD/topologies" "$PWD/traces" "$tmp/work"
ln -s "$PWD/tools/sweep/examples" "$tmp/work/tools/sweep/examples"
code() { awk '/^```/ { inside = !inside; next } inside && !/^#/' tools/help/examples.md; }
code >"$tmp/commands"
wrong=""
for c in $("$ringlet" list options -f csv | sed '1d' | cut -d, -f2 | tr -d '"' | sed 's/ .*//' | sort -u) list check help; do
    [ "$(grep -c "^ringlet $c " "$tmp/commands")" -ge 3 ] || wrong="$wrong $c"
    help "$c" && grep -q '^Worked examples:$' "$tmp/out" && [ "$(grep -c "^  ringlet $c " "$tmp/out")" -ge 3 ] || wrong="$wrong help:$c"
done
verdict "each command has three worked examples" "$wrong"
while IFS= read -r line; do
    case $line in "ringlet serve "*) continue ;; esac
    (cd "$tmp/work" && PATH="$tmp/bin:$PATH" sh -c "$line" >"$tmp/out" 2>"$tmp/err" </dev/null)
    expect "$line" "$?" 0
done <"$tmp/commands"
# They go on until they are ended (a shell may ignore Ctrl-C for what it runs beside); once they say where, they serve.
if [ -x "${ringlet%/*}/ringlet-serve" ]; then
    grep '^ringlet serve ' "$tmp/commands" | sed 's/^ringlet serve /&--port 0 /; s/\(--port 0\) \1/\1/' >"$tmp/serve"
    while IFS= read -r line; do
        cd "$tmp/work" || exit 1
        # What the command before it printed must not be taken for its own.
        rm -f "$tmp/out" "$tmp/err"
        # shellcheck disable=SC2086
        "$ringlet" ${line#ringlet } >"$tmp/out" 2>"$tmp/err" </dev/null &
        job=$!
        cd "$OLDPWD" || exit 1
        until grep -q 'http://' "$tmp/out" "$tmp/err" 2>/dev/null || ! kill -0 $job 2>/dev/null; do sleep 0.1; done
        kill -TERM $job
        wait $job
        grep -q 'http://' "$tmp/out" "$tmp/err"
        expect "$line" "$?" 0
    done <"$tmp/serve"
else
    skip "examples of ringlet serve" "needs libmicrohttpd"
fi

# ---- nothing without a text
man_pages | sed 's/\\-/-/g; s/\\&//g; s/\\e/\\/g' >"$tmp/man"
expect "each man page of a command has examples" "$(grep -c '^\.SH EXAMPLES' "$tmp/man")" "$(grep -c '^\.BR ringlet-' "$tmp/man")"
missing=""
while IFS= read -r line; do grep -qxF -- "$line" "$tmp/man" || missing="$missing
$line"; done <<END
$(code)
END
verdict "all of them" "$missing"
no_text() { "$ringlet" list "$1" -f csv | awk '/,$/ || /,""$/'; }
verdict "options without a text: 0" "$(no_text options)"
verdict "settings without a text: 0" "$(no_text settings)"
verdict "columns without a text: 0" "$("$ringlet" help columns | grep '^`[A-Za-z_]*`  *$')"
# The page explains what is in JSON alone; a table explains its own columns.
double=""
awk -F' *[|] *' 'NF > 5 && $3 != "" && $3 != "in tables" && $3 !~ /^--/ { print $3 }' tools/help/columns.md >"$tmp/titles"
while read -r title; do
    help "$title"
    [ "$(grep -c '^- ' "$tmp/out")" -le 1 ] || double="$double; $title"
done <"$tmp/titles"
verdict "columns of tables that columns.md explains once more: 0" "$double"
verdict "sections of columns of the same heading: 0" "$("$ringlet" help columns | grep -B1 '^name  ' | grep -v '^name  \|^--' | sort | uniq -d)"
statuses=$(sed -n 's/^ *RLT_EXIT_[A-Z]* = \([0-9]*\),.*/\1/p' tools/base/message.h)
missing=""
for status in $statuses; do
    grep -q "^| $status | " tools/help/exit-status.md || missing="$missing $status"
    [ "$(grep -A1 '^\.B ' "$tmp/man" | grep -c "^\.B $status$")" = 1 ] || missing="$missing man:$status"
done
verdict "exit statuses without a text: 0" "$missing"
[ -n "$statuses" ]
expect "there are exit statuses" "$?" 0
variables=$(grep -rh 'getenv("' --include='*.c' sim net collectives workload tools | grep -o 'getenv("[A-Z_]*"' | sed 's/.*("//; s/"//'
    sed -n '/names\[\] = {/,/};/p' tools/sweep/ranks_none.c | grep -o '"[A-Z_]*"' | tr -d '"')
missing=""
for variable in $variables; do grep -q "\`$variable\`" tools/help/environment.md || missing="$missing $variable"; done
verdict "environment variables without a text: 0" "$missing"
[ -n "$variables" ]
expect "there are variables" "$?" 0

# ---- headings of real tables, names of real JSON
: >"$tmp/words"
cd "$tmp/work" || exit 1
heads() { # pattern of the line with headings, command
    pattern=$1
    shift
    "$ringlet" "$@" 2>/dev/null | grep -e "$pattern" | sed 's/^ *//; s/   */\n/g; s/  /\n/g' >>"$tmp/words"
    "$ringlet" "$@" -f json 2>/dev/null | sed '/"manifest": {/,/^  },/d' | grep -o '"[A-Za-z_]*": *' | tr -d '": ' >>"$tmp/words"
}
heads '^rank  \|^   #  \|^link  ' run --trace traces/transformer-8 --topology hgx-h100-8 --explain
heads '^rank  ' run --model gpt2-small --accelerator a100-40gb --topology switch:8@300GB/s,500ns --layout pp=4 --train batch=16
heads '^collective  \|^link  ' coll --topology switch:8@50GB/s,500ns --collective all_reduce --bytes 1MiB,2MiB --links
heads '^collective  ' coll -t 'switch:9@100Gbps,1us,in_network=reduce+multicast' -b 64KiB -a switchml,atp,libra --set parameters=1000000
heads '^collective  ' coll -t 'switch:16@100Gbps,1us,in_network=reduce+multicast' -b 64KiB -a switchml,ring --tenants 2 --set switch.slots=32
heads '^workers  ' coll arithmetic --workers 2
heads '^ *nodes  ' run stragglers --nodes 4
heads '^dim  ' topo hgx-h100-8
heads '^hop  ' topo route hgx-h100-8 0 1
heads '^operations  \|^communication  ' trace info traces/transformer-8
heads '^split  ' design bandwidth -t libra-4d -w gpt3-175b@tp=16,zero=2 --total 500GB/s
heads '^total  ' design bandwidth -t libra-4d -w gpt3-175b@tp=16,zero=2 --total 400GB/s,500GB/s
heads '^shape  ' design dimensions -n 64 -w gpt3-13b@tp=8,zero=1 --total 300GB/s --max-dims 2
heads '^point  ' sweep top replay.sqlite -n 2
heads '^axis  ' sweep sensitivity replay.sqlite
heads '^what  ' sweep compare replay.sqlite 0 1
heads '^system  ' calibrate --check -t dgx-a100-8 --system mine measured.csv
heads '^accelerator  ' calibrate-training --check trained.csv
cd "$OLDPWD" || exit 1
# Axes of the study are names of its own.
sort -u "$tmp/words" | grep -vx '#\|bw\|' >"$tmp/unique"
[ "$(wc -l <"$tmp/unique")" -ge 150 ]
expect "tables and JSON were read" "$?" 0
missing=""
while IFS= read -r word; do help "$word" || missing="$missing; $word"; done <"$tmp/unique"
verdict "each heading and name has a text" "$missing"

finish
