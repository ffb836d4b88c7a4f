#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Fuzzes every target under AddressSanitizer and UndefinedBehaviorSanitizer: see README.md in this folder.
# fuzz.sh SECONDS [TARGET]   SECONDS for all targets together, JOBS of them at a time (default: one for each processor).
# Inputs that are found lie in build-fuzz/corpus/TARGET.
# Adds the executions to executions.txt here, one line a target, and prints the total. Ctrl-C ends it; what was executed until
# then counts. A target that fails leaves its input in build-fuzz/failed/TARGET-*; the exit status is then 1, and the others run
# nevertheless.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=build-fuzz ledger=test/fuzz/executions.txt
program=$build/test/fuzz/engine

executions() { # target: of this call
    sed -n 's/^stat::number_of_executed_units: *//p' "$build/log/$1" 2>/dev/null
}
if [ "${1:-}" = --one ]; then # target, seconds: a process of its own
    mkdir -p "$build/corpus/$2"
    # What LeakSanitizer, limits of memory and of time find counts as a failure, too.
    FUZZ_TARGET=$2 ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 nice -n 10 $program -max_total_time="$3" \
        -max_len=16384 -timeout=60 -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="$build/failed/$2-" \
        "$build/corpus/$2" "test/fuzz/corpus/$2" >"$build/log/$2" 2>&1
    status=$? failed=""
    [ $status = 0 ] || failed=", FAILED: $(sed -n 's/.*Test unit written to //p' "$build/log/$2")"
    done=$(executions "$2")
    printf '%-24s %12s executions%s\n' "$2" "${done:-0}" "$failed"
    exit $status
fi

seconds=${1:-60} jobs=${JOBS:-$(nproc)}
tools/deps.sh fuzz
make -s -j"$(nproc)" CC=clang BUILD=$build CFLAGS='-O2 -g' SANITIZE=address,undefined,float-cast-overflow,fuzzer-no-link \
    $program || exit 1
known=$(FUZZ_TARGET=list $program)
targets=${2:-$known}
for t in $targets; do
    echo "$known" | grep -qxF -e "$t" || { echo "fuzz: TARGET=$t: expected one of:" $known >&2 && exit 2; }
done
n=$(echo "$targets" | wc -w)
each=$(((seconds * (jobs < n ? jobs : n) + n - 1) / n))
mkdir -p $build/failed $build/log
rm -f $build/log/*
touch $ledger

count() {
    for t in $targets; do
        echo "$t $(executions "$t")"
    done | cat $ledger - | awk 'NF { n[$1] += $2 } END { for (t in n) print t, n[t] }' | LC_ALL=C sort >$ledger.new &&
        mv $ledger.new $ledger
    awk '{ n += $2 } END { printf "%-24s %12d executions\n", "since the first run", n }' $ledger
}
trap 'sleep 1; count; exit 130' INT TERM # the engines print what they executed, and end
printf '%s\n' $targets | xargs -P "$jobs" -I{} test/fuzz/fuzz.sh --one {} "$each"
status=$?
trap - INT TERM
count
[ $status = 0 ]
