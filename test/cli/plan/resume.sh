#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ringlet plan with threads, ranks and a file of answers: the same bytes, however it runs and is stopped.
. "$(dirname "$0")/../../support/tap.sh"

net='switch:8@450GB/s,500ns*switch:8@50GB/s,2us'
plan() {
    "$ringlet" plan -q --model llama3-8b --accelerator h100-sxm -t "$net" --train batch=128 --strategy megatron --within 1% "$@" >"$tmp/out" 2>"$tmp/err"
}
same() { # name
    cmp -s "$tmp/out" "$tmp/want" && verdict "$1" "" || verdict "$1" "$(diff "$tmp/out" "$tmp/want" | head -5)"
}

plan -j 1 -f json
cp "$tmp/out" "$tmp/want"
grep -q '"proven": true' "$tmp/want" && verdict "one thread" "" || verdict "one thread" "not proven"
plan -j 4 -f json --save "$tmp/four"
same "four threads: the same bytes"
plan -j 3 -f json --save "$tmp/one"
cmp -s "$tmp/one" "$tmp/four" && verdict "answers are kept in the same order" "" || verdict "answers are kept in the same order" "they differ"
lines=$(wc -l <"$tmp/one")
plan -f json --save "$tmp/one"
same "all is known: the same bytes"
expect "all is known: nothing is added" "$(wc -l <"$tmp/one")" "$lines"

# Killed in the middle, once and once more; and by the system, in the middle of a line.
killed() { # lines in the file
    (exec "$ringlet" plan -q --model llama3-8b --accelerator h100-sxm -t "$net" --train batch=128 --strategy megatron --within 1% -j 1 -f json \
        --save "$tmp/killed" >"$tmp/out" 2>"$tmp/err") &
    pid=$!
    until [ "$(wc -l <"$tmp/killed")" -ge "$1" ] || ! kill -0 $pid 2>/dev/null; do sleep 0.01; done
    kill -9 $pid 2>/dev/null
    wait $pid 2>/dev/null
}
: >"$tmp/killed"
killed $((lines / 4))
killed $((lines / 2))
before=$(wc -l <"$tmp/killed")
if [ "$before" -lt "$lines" ]; then
    [ "$before" -gt 1 ] && verdict "killed: answers are kept" "" || verdict "killed: answers are kept" "$before lines"
    plan -f json --save "$tmp/killed"
    same "killed twice, then to the end: the same bytes"
    cmp -s "$tmp/killed" "$tmp/one" && verdict "killed: the same answers" "" || verdict "killed: the same answers" "they differ"
else
    skip "killed twice, then to the end" "needs a slower machine: it was done before"
fi
(ulimit -f $(($(wc -c <"$tmp/one") / 1024)) && plan -f json --save "$tmp/limited") 2>/dev/null
[ $? = 5 ] && [ -n "$(tail -c 1 "$tmp/limited")" ] && verdict "a limit on its size while it writes" "" || verdict "a limit on its size while it writes" "$(wc "$tmp/limited")"
plan -f json --save "$tmp/limited"
same "a limit on its size, then to the end: the same bytes"
plan --most 1 -f csv --save "$tmp/most"
plan -f json --save "$tmp/most"
same "stopped by --most, then to the end: the same bytes"

# A torn last line is dropped. Other damage is named.
head -c 3000 "$tmp/one" >"$tmp/torn"
plan -f json --save "$tmp/torn"
same "a torn last line: the same bytes"
cmp -s "$tmp/torn" "$tmp/one" && verdict "a torn last line is written again" "" || verdict "a torn last line is written again" "they differ"
head -c 40 "$tmp/one" >"$tmp/torn"
plan -f json --save "$tmp/torn"
same "a torn first line: the same bytes"
sed '7s/ \([0-9]\)/ 9\1/2' "$tmp/one" >"$tmp/bad"
says "a changed number" 3 "$tmp/bad: line 7 is damaged" plan --save "$tmp/bad"
sed 8d "$tmp/one" >"$tmp/bad"
says "a line is missing" 3 "$tmp/bad: line 8 is damaged" plan --save "$tmp/bad"
sed '$s/.*/bound/' "$tmp/one" >"$tmp/bad"
says "a last line of one word" 3 "$tmp/bad: line $lines is damaged" plan --save "$tmp/bad"
cp "$tmp/one" "$tmp/bad"
says "another question" 2 "--save: $tmp/bad holds answers to another question" plan --save "$tmp/bad" --headroom 5%
cmp -s "$tmp/bad" "$tmp/one" && verdict "another question: the file stays" "" || verdict "another question: the file stays" "it changed"
echo notes >"$tmp/bad"
says "another file" 2 "--save: $tmp/bad holds answers to another question" plan --save "$tmp/bad"
expect "another file stays" "$(cat "$tmp/bad")" notes
printf notes >"$tmp/bad"
says "another file without an end of line" 2 "holds answers to another question" plan --save "$tmp/bad"
cp workload/accelerators/h100-sxm.json "$tmp/chip.json"
plan --accelerator "$tmp/chip.json" --save "$tmp/chip"
cp "$tmp/chip" "$tmp/bad"
sed 's/"bandwidth": "3350GB/"bandwidth": "3000GB/' workload/accelerators/h100-sxm.json >"$tmp/chip.json"
says "the accelerator has changed" 1 "$tmp/chip: line 2: is now" plan --accelerator "$tmp/chip.json" --save "$tmp/chip"
cmp -s "$tmp/chip" "$tmp/bad" && verdict "the accelerator has changed: the file stays" "" || verdict "the accelerator has changed: the file stays" "it changed"
if command -v flock >/dev/null 2>&1; then
    exec 9<"$tmp/one"
    flock 9
    says "two searches with one file" 5 "$tmp/one: is in use by another search" plan --save "$tmp/one"
    exec 9<&-
else
    skip "two searches with one file" "needs flock (apt-get install util-linux)"
fi
says "a folder" 5 "$tmp: cannot be opened" plan --save "$tmp"
says "no folder" 5 "$tmp/none/file: cannot be opened" plan --save "$tmp/none/file"
says "no threads" 2 "--jobs" plan -j 0

# Several ranks.
# Questions that make several searches: each with one thread, three, and three ranks.
questions() { # file of the results, option
    for question in "--robust bandwidth=0.5:1" "--front time,memory" "--accelerators 8:24 --objective time" "--mine tp=2" "--advice"; do
        "$ringlet" plan -q --model "transformer:layers=6,hidden=1024,heads=8,vocabulary=8000,sequence=512" --accelerator a100-80gb \
            -t 'switch:4@300GB/s,500ns*switch:2@25GB/s,2us' --train batch=32 --strategy megatron --layout order=tp-cp-dp-pp $question ${2:-} -f json
    done >"$tmp/$1" 2>"$tmp/err"
}
questions alone "-j 1"
questions threads "-j 3"
cmp -s "$tmp/threads" "$tmp/alone" && verdict "several searches: the same bytes with threads" "" || verdict "several searches: the same bytes with threads" "$(diff "$tmp/alone" "$tmp/threads" | head -3)"
expect "several searches: each has an answer" "$(grep -c '"results"' "$tmp/alone")" 5

if command -v mpirun >/dev/null 2>&1 && [ -x "$(dirname "$ringlet")/ringlet-mpi" ]; then
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0" # Open MPI keeps memory to its end
    alone=$ringlet
    ringlet="$tmp/ranks"
    printf '#!/bin/sh\nexec timeout 120 mpirun --oversubscribe -np 3 "%s" "$@" </dev/null\n' "$alone" >"$ringlet"
    chmod +x "$ringlet"
    plan -f json --save "$tmp/ranks.save"
    same "mpirun -np 3: the same bytes"
    cmp -s "$tmp/ranks.save" "$tmp/one" && verdict "mpirun: the same answers" "" || verdict "mpirun: the same answers" "they differ"
    head -n $((lines / 2)) "$tmp/one" >"$tmp/part"
    plan -f json --save "$tmp/part" -j 2
    same "mpirun goes on with two threads each: the same bytes"
    says "mpirun: a damaged file is said once" 2 "holds answers to another question" plan --save "$tmp/bad"
    expect "mpirun: one rank says it" "$(grep -c 'another question' "$tmp/err")" 1
    questions by-ranks
    cmp -s "$tmp/by-ranks" "$tmp/alone" && verdict "mpirun, several searches: the same bytes" "" || verdict "mpirun, several searches: the same bytes" "$(diff "$tmp/alone" "$tmp/by-ranks" | head -3)"
    says "mpirun: no batch" 2 "expected batch=N" plan --train microbatch=1
    ringlet=$alone
else
    skip "several ranks" "needs mpirun of Open MPI (apt-get install libopenmpi-dev openmpi-bin)"
fi
finish
