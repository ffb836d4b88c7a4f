#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Where results go wrong: an interruption, a full disk, a limit on file sizes, two results under one name, inputs without an end.
. "$(dirname "$0")/../../support/tap.sh"
line='# partial: interrupted before the end'
small="-t switch:4@100GB/s,0ns"

# interrupted ARGUMENTS...   SIGINT after a second of processor time.
interrupted() {
    "$ringlet" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null &
    job=$!
    spent $job 100
    kill -INT $job
    wait $job
}
long="coll -t switch:64@100GB/s,1us -c all_to_all -a direct -b 1MB:50MB:+1KB"
for form in csv table json; do
    echo earlier >"$tmp/res"
    interrupted $long -f $form -o "$tmp/res"
    expect "interrupted, $form: the status, and the file as it was" "$? $(cat "$tmp/res")" "130 earlier"
    expect "interrupted, $form: says where the results are" \
        "$(grep -c "^ringlet: note: $tmp/res.partial has the partial results; $tmp/res is as it was$" "$tmp/err") $(grep -c '^ringlet: interrupted: the results are partial$' "$tmp/err")" "1 1"
    case $form in
    json) expect "interrupted, $form: marked" "$(grep -c '"partial": true' "$tmp/res.partial")" 1 ;;
    *) expect "interrupted, $form: marked" "$(tail -n 1 "$tmp/res.partial")" "$line" ;;
    esac
    expect "interrupted, $form: nothing else is left" "$(ls "$tmp" | grep -c '^res')" 2
    rm -f "$tmp/res" "$tmp/res.partial"
done
interrupted $long -f csv
expect "interrupted on standard output: marked" "$? $(tail -n 1 "$tmp/out")" "130 $line"
# The first row is done at once. The second is one event of many seconds: its work is ended, the first row stays.
event="coll -t fat-tree:4096@50GB/s,500ns -c gather,all_to_all -a direct -b 1MiB --no-fold -j 1 -f csv"
interrupted $event -o "$tmp/res"
expect "interrupted in one event: the status" "$? $(grep -c '^ringlet: interrupted: work that could not stop' "$tmp/err")" "130 1"
expect "interrupted in one event: rows that were done" "$(ls "$tmp" | grep '^res') $(sed -n '2s/,.*//p; $p' "$tmp/res.partial" | tr '\n' ' ')" "res.partial gather $line "
interrupted $event
expect "the same on standard output" "$? $(sed -n '2s/,.*//p; $p' "$tmp/out" | tr '\n' ' ')" "130 gather $line "
interrupted $event -f json -o "$tmp/none"
expect "JSON is not kept in parts" "$? $(ls "$tmp" | grep -c '^none')" "130 0"

# ---- outputs that take no more
full() { # NAME ARGUMENTS...
    name=$1
    shift
    "$ringlet" "$@" >/dev/full 2>"$tmp/err"
    expect "a full disk: $name" "$?-$(grep -c 'cannot write: No space left on device$' "$tmp/err")-$(wc -l <"$tmp/err" | tr -d ' ')" 5-1-1
}
"$ringlet" run --trace traces/transformer-8 -t hgx-h100-8 -f json >"$tmp/run.json" 2>"$tmp/err"
full "report" report "$tmp/run.json"
full "report, by name" report "$tmp/run.json" -o /dev/full
full "coll as JSON" coll $small -f json
full "coll as CSV" coll $small -f csv -b 1KiB:1GiB:x2
full "man page" --generate-man
full "tables" --generate-json
full "topology" topo export hgx-h100-8 --as json
(ulimit -f 2; "$ringlet" coll $small -b 1KiB:1GiB:+1MiB -f csv -o "$tmp/large") >"$tmp/out" 2>"$tmp/err"
expect "a limit on file sizes" "$? $(sed 's/.*cannot/cannot/' "$tmp/err") $(ls "$tmp" | grep -c large)" "5 cannot write: File too large 0"
if "$ringlet" --version | grep -q 'SQLite [0-9]'; then
    (ulimit -f 4; "$ringlet" sweep collectives -q --db "$tmp/study" -j 1) >"$tmp/out" 2>"$tmp/err"
    expect "a limit on file sizes: a sweep" "$? $(grep -c '^ringlet: ' "$tmp/err")" "5 1"
    (ulimit -f 4; "$ringlet" sweep collectives -q -j 1) >"$tmp/out" 2>"$tmp/err"
    expect "a limit on file sizes: a sweep without a database" "$? $(grep -c '^ringlet: ' "$tmp/err")" "5 1"
fi

# ---- two results under one name
ln -s twice "$tmp/link"
twice() { # NAME ARGUMENTS...
    name=$1
    shift
    (cd "$tmp" && "$ringlet" "$@") >"$tmp/out" 2>"$tmp/err" </dev/null
    expect "refused: $name" "$?-$(grep -c '^ringlet: --.*only one would be left$' "$tmp/err")-$(ls "$tmp" | grep -c '^twice')" 2-1-0
}
twice "the same name" coll $small -o twice --links-csv twice
twice "with a dot" coll $small -a ring -c all_reduce -b 1MiB -o twice --links-csv ./twice
twice "in full" coll $small -o "$tmp/twice" --plot twice
: >"$tmp/file"
ln -s file "$tmp/other"
twice "through a link" run --model transformer:layers=1,hidden=64,heads=4 -t switch:2@1GB/s,1us -o file --timeline other
"$ringlet" coll $small -a ring -c all_reduce -b 1MiB -o /dev/null --links-csv /dev/null >"$tmp/out" 2>"$tmp/err"
expect "two devices may be one" $? 0
(cd "$tmp" && "$ringlet" coll $small -a ring -c all_reduce -b 1MiB -o a --links-csv b && ls a b) >"$tmp/out" 2>"$tmp/err"
expect "two names are two files" "$? $(tail -n 2 "$tmp/out" | tr '\n' ' ')" "0 a b "

# ---- inputs without an end. AddressSanitizer reserves more memory than any limit.
most="ulimit -v 6000000"
[ -z "${SANITIZE:-}" ] || most=:
endless() { # NAME ARGUMENTS...
    name=$1
    shift
    ($most; timeout 120 "$ringlet" "$@") >"$tmp/out" 2>"$tmp/err" </dev/zero
    status=$?
    { [ $status = 3 ] || [ $status = 5 ]; } && [ "$(grep -c '^ringlet: ' "$tmp/err")" = 1 ] && verdict "without an end: $name" "" || verdict "without an end: $name" "status $status"
}
for from in /dev/zero -; do
    endless "trace $from" run --trace $from -t hgx-h100-8
    endless "topology $from" topo $from
    endless "check $from" check $from
done
endless "folder" topo "$tmp"
endless "measurements" calibrate -t hgx-h100-8 /dev/zero
endless "result" report /dev/zero

# ---- names in CSV do not compute in a spreadsheet; numbers stay
"$ringlet" topo export switch:4@1GB/s,1us --as json | sed 's/"acc0"/"=1+1"/g; s/"acc1"/"@SUM(A1)"/g; s/"acc2"/"-2"/g; s/"acc3"/"+x,y"/g' >"$tmp/names.json"
"$ringlet" coll -t "$tmp/names.json" -c all_gather -a ring -b 1MB -o /dev/null --links-csv "$tmp/links.csv" >"$tmp/out" 2>"$tmp/err"
expect "names that begin like formulas" "$? $(cut -d , -f 2- "$tmp/links.csv" | grep -o "^\"'[^\"]*\"\|^-2" | tr '\n' ' ')" "0 \"'=1+1\" \"'@SUM(A1)\" -2 \"'+x,y\" "
finish
