# SPDX-License-Identifier: GPL-3.0-or-later
# Start of every shell test: . "$(dirname "$0")/../../support/tap.sh"
# It changes to the source folder, finds the command ($ringlet) and makes a folder that is removed at the end ($tmp).
# verdict, expect and skip print TAP. A test ends with finish.
set -u
this=$(basename "$0")
cd "$(dirname "$0")" || exit 1
this=$PWD/$this
until [ -f test/support/tap.sh ]; do [ "$PWD" != / ] && cd .. || exit 1; done
ringlet=${RINGLET:-${BUILD:-build}/ringlet}
case $ringlet in /*) ;; *) ringlet=$PWD/$ringlet ;; esac
[ -x "$ringlet" ] || { echo "not ok 1 - no $ringlet"; exit 1; }
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
passed=0 failed=0 number=0
unset NO_COLOR COLUMNS POSIXLY_CORRECT UV_THREADPOOL_SIZE

verdict() { # name, complaint or ""; a complaint also shows the command's $tmp/out and $tmp/err
    number=$((number + 1))
    if [ -z "$2" ]; then
        passed=$((passed + 1))
        echo "ok $number - $1"
    else
        failed=$((failed + 1))
        echo "not ok $number - $1"
        echo "$2" | sed 's/^/# /'
        head -c 2000 "$tmp/out" "$tmp/err" 2>/dev/null | sed 's/^/# /'
    fi
}
expect() { # name, actual, expected
    [ "$2" = "$3" ] && verdict "$1" "" || verdict "$1" "got '$2', expected '$3'"
}
skip() { # name of the skipped check, reason: "needs PROGRAM", or which data is not here
    number=$((number + 1))
    echo "ok $number - $1 # SKIP $2"
}
plain_only() { # what the test is about: minutes of figures or examples, whose code other tests run under sanitizers, too
    [ -z "${SANITIZE:-}" ] || { skip "$1" "needs a build without sanitizers"; finish; }
}
says() { # name, exit status, text that is printed, then a command that fills $tmp/out and $tmp/err
    name=$1 want=$2 text=$3
    shift 3
    "$@"
    got=$?
    [ $got = "$want" ] && cat "$tmp/err" "$tmp/out" | grep -qF -e "$text" && verdict "$name" "" || verdict "$name" "exit status $got, wanted $want and '$text'"
}
answers() { # name, exit status, pattern on standard output ("": anything), pattern on standard error ("": nothing is there), arguments
    name=$1 status=$2 out=$3 err=$4 wrong=""
    shift 4
    "$ringlet" "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    got=$?
    [ $got = "$status" ] || wrong="exit status $got, expected $status: $*"
    [ -z "$out" ] || grep -q -e "$out" "$tmp/out" || wrong="$wrong; standard output lacks '$out'"
    if [ -n "$err" ]; then
        grep -q -e "$err" "$tmp/err" || wrong="$wrong; standard error lacks '$err'"
    elif [ -s "$tmp/err" ]; then
        wrong="$wrong; standard error is not empty"
    fi
    verdict "$name" "$wrong"
}
refused() { # name, exit status, text of the one message, then the arguments, to which -o is added; no output is left behind
    name=$1 status=$2 text=$3 wrong=""
    shift 3
    "$ringlet" "$@" -o "$tmp/left" >"$tmp/out" 2>"$tmp/err" </dev/null
    got=$?
    [ "$got" = "$status" ] || wrong="exit status $got, expected $status"
    grep -qF -- "$text" "$tmp/err" || wrong="$wrong; no '$text'"
    [ "$(grep -v '^ringlet: note: ' "$tmp/err" | grep -c '^ringlet: ')" = 1 ] || wrong="$wrong; not one message"
    ! grep -q Sanitizer "$tmp/err" || wrong="$wrong; a sanitizer speaks"
    [ ! -e "$tmp/left" ] || wrong="$wrong; a file was left"
    rm -f "$tmp/left"
    verdict "$name" "$wrong"
}
leaves_nothing() { # status, text, arguments
    status=$1 text=$2
    shift 2
    refused "refused: $*" "$status" "$text" "$@"
}
finish() {
    echo "$passed passed, $failed failed"
    [ "$failed" = 0 ]
    exit
}

man_pages() { # all of them
    "$ringlet" --generate-man
    for page in $("$ringlet" --generate-man | sed -n 's/^\.BR ringlet.-\(.*\) (1)$/\1/p' | tr -d '\\'); do "$ringlet" --generate-man "$page"; done
}

# Waits until a process has used so many hundredths of a second of processor time, however busy the machine is.
spent() { # PID HUNDREDTHS
    while [ "$(awk '{ print $14 }' "/proc/$1/stat" 2>/dev/null || echo "$2")" -lt "$2" ]; do sleep 0.1; done
}
# Tests read JSON with jq.
command -v jq >/dev/null || ! grep -qw 'jq -[a-z]*' "$this" || { skip "all of it" "needs jq"; finish; }

# Runs a sweep in three ranks under MPI. The first, which writes, dies in a call of its own: in the midst of its work on any
# machine. Needs mpirun, ringlet-mpi and $(dirname "$ringlet")/test/faults.so. The companion itself is started: the library that
# makes calls fail does not outlive an exec.
dying_rank() { # CALL NUMBER, then the arguments of ringlet sweep
    call=$1 at=$2
    shift 2
    cp "$(dirname "$ringlet")/test/faults.so" "$tmp/faults.so" # LD_PRELOAD takes no path with spaces
    timeout 120 mpirun --oversubscribe -n 3 sh -c '[ "$OMPI_COMM_WORLD_RANK" != 0 ] || export LD_PRELOAD="$1"; shift; exec "$@"' - \
        "$tmp/faults.so" env FAULT_UNDER="$tmp" FAULT_CALL="$call" FAULT_AT="$at" FAULT_HOW=kill \
        "$ringlet-mpi" sweep "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
}
