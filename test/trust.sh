#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# One page: what was tried against ringlet, and what came of it. Each line is printed by the run that proves it, in this call.
# trust.sh   FUZZ=600: seconds of hostile inputs. N=200: mutants of each room. ROOM: rooms that are mutated (default all).
#            STEPS: only these steps. The page is build/trust.txt, the whole output of each step build/trust/STEP.txt.
#            BUILD: another folder than build.
# Fails if a step fails, or none is run. Ctrl-C ends it; the lines until then stay.
set -u
cd "$(dirname "$0")/.." || exit 1
out=${BUILD:-build}/trust page=${BUILD:-build}/trust.txt
mkdir -p "$out"
failed="" tried=""

step() { # name, pattern of the lines that count, what they say, command...
    name=$1 pattern=$2 what=$3
    shift 3
    case " ${STEPS:-$name} " in *" $name "*) ;; *) return ;; esac
    tried="$tried $name"
    began=$(date +%s)
    "$@" >"$out/$name.txt" 2>&1 </dev/null
    status=$?
    [ $status = 130 ] && echo "interrupted" && exit 130
    seconds=$(($(date +%s) - began))
    result=$(grep -E "$pattern" "$out/$name.txt" | tail -1)
    [ $status = 0 ] && [ -n "$result" ] || { failed="$failed $name" && result="FAILED (exit $status, see $out/$name.txt) $result"; }
    printf '%-13s %6d s  %s: %s\n' "$name" $seconds "$what" "$result"
}
all() {
    echo "ringlet $(git describe --always --dirty 2>/dev/null || echo 'outside a checkout'), $(nproc) processors, $(date -u +%Y-%m-%d)"
    step tests '^[0-9]+ passed, ' "tests" make test
    step fuzz 'since the first run' "inputs tried under sanitizers, leaks and memory errors 0" make fuzz SECONDS="${FUZZ:-600}"
    step faults 'faults injected' "memory, files and machines that fail" make faults
    step determinism '^hashes: ' "builds and settings" make determinism
    step coverage '^total' "executed by tests" make coverage
    step mutate '^total' "changes of meaning that tests notice" make mutate N="${N:-200}" ROOM="${ROOM:-}"
    [ -n "$tried" ] || failed=" no step of STEPS=$STEPS is known"
    [ -z "$failed" ] && echo "all of this holds" || echo "failed:$failed"
}
all | tee "$page"
tail -1 "$page" | grep -q '^all of this holds'
