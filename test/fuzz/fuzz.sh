#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Fuzzes every target under AddressSanitizer and UndefinedBehaviorSanitizer: see README.md in this folder.
# fuzz.sh SECONDS [TARGET]     SECONDS for all targets together. Inputs that are found lie in build-fuzz/corpus/TARGET.
# Adds the executions to executions.txt here, one line a target, and prints the total. A target that fails leaves its
# input in build-fuzz/failed/TARGET-*; the exit status is then 1, and the other targets run nevertheless.
set -u
cd "$(dirname "$0")/../.." || exit 1
build=build-fuzz ledger=test/fuzz/executions.txt
program=$build/test/fuzz/engine
seconds=${1:-60}
tools/deps.sh fuzz
make -s -j"$(nproc)" CC=clang BUILD=$build CFLAGS='-O1 -g' SANITIZE=address,undefined,float-cast-overflow,fuzzer-no-link \
    $program || exit 1
known=$(FUZZ_TARGET=list $program)
targets=${2:-$known}
for t in $targets; do
    echo "$known" | grep -qxF -e "$t" || { echo "fuzz: TARGET=$t: expected one of:" $known >&2 && exit 2; }
done
n=$(echo "$targets" | wc -w)
each=$(((seconds + n - 1) / n))
mkdir -p $build/failed $build/log
touch $ledger
failed=""

enter() { # target, executions
    awk -v target="$1" -v more="$2" '$1 == target { $2 += more; seen = 1 } NF { print $1, $2 }
        END { if (!seen) print target, more + 0 }' $ledger | LC_ALL=C sort >$ledger.new && mv $ledger.new $ledger
}
for t in $targets; do
    mkdir -p "$build/corpus/$t"
    # What LeakSanitizer, limits of memory and of time find counts as a failure, too.
    FUZZ_TARGET=$t ASAN_OPTIONS=detect_leaks=1:allocator_may_return_null=1 nice -n 10 $program -max_total_time="$each" \
        -max_len=16384 -timeout=60 -rss_limit_mb=4096 -print_final_stats=1 -artifact_prefix="$build/failed/$t-" \
        "$build/corpus/$t" "test/fuzz/corpus/$t" >"$build/log/$t" 2>&1
    status=$?
    done=$(sed -n 's/^stat::number_of_executed_units: *//p' "$build/log/$t")
    enter "$t" "${done:-0}"
    printf '%-24s %12s executions' "$t" "${done:-0}"
    if [ $status != 0 ]; then
        printf ', FAILED: %s' "$(sed -n 's/.*Test unit written to //p' "$build/log/$t")"
        failed=1
    fi
    echo
done
awk '{ n += $2 } END { printf "%-24s %12d executions\n", "since the first run", n }' $ledger
[ -z "$failed" ]
