#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The same command gives the same bytes, whatever it runs on: a table of hashes, a column for each command and a row for each
# setting: threads, ranks of MPI, locale, time zone, randomized addresses, folder.
# determinism.sh BUILD   one build, without MPI: seconds
# determinism.sh all     builds by gcc and clang, -O0 and -O3 (BUILDS), with MPI; valgrind; and a build that ThreadSanitizer
#                        watches, with the tests of threads and of the server. They stay in build-*.
# The last line is "hashes: 1" if each column has one hash. A difference names its command and setting. A race, an invalid
# access, or a command that fails is a failure, too.
set -u
cd "$(dirname "$0")/.." || exit 1
top=$PWD
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
unset NO_COLOR COLUMNS LANG LC_ALL TZ UV_THREADPOOL_SIZE
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 TSAN_OPTIONS="exitcode=66 halt_on_error=1"
export TMPDIR="$tmp"

# NAME COMMAND: run in an empty folder, with $ringlet, $ranks (a launcher of several, or nothing), $jobs and $top. What it
# prints and the files that it leaves are hashed.
cat >"$tmp/commands" <<'COMMANDS'
run $ringlet run --trace "$top/traces/transformer-8" -t hgx-h100-8 --explain -f json
train $ringlet run --model gpt2-small --accelerator h100-sxm -t 'switch:8@450GB/s,500ns*switch:2@50GB/s,2us' --layout tp=2,pp=2 --train batch=32,zero=1 -f csv
coll $ringlet coll -t 'ring:4@200GB/s,500ns*switch:8@50GB/s,500ns' -b 1MiB -j $jobs
packets $ringlet coll -t fat-tree:16@50GB/s,500ns,hosts_per_leaf=4 --network packet --threads $jobs -b 256KiB -a ring,direct -j 1 -f json
plan $ranks $ringlet plan --model gpt2-small --accelerator h100-sxm -t 'switch:8@450GB/s,500ns*switch:2@50GB/s,2us' --train batch=64 -j $jobs -q -f csv
sweep $ranks $ringlet sweep "$top/tools/sweep/examples/collectives.json" --db db -j $jobs -q >/dev/null && $ringlet sweep top db && $ringlet sweep query db -c point,time_ps,busbw_GBps,status -f csv && rm -f db
design $ringlet design bandwidth -t 'ring:8@50GB/s,500ns*switch:128@50GB/s,500ns' -w gpt3-13b@tp=8,zero=1 --total 300GB/s
topo $ringlet topo describe dgx1-v100-8 -f json && $ringlet topo export dgx1-v100-8 --as graphml
trace $ringlet trace convert "$top/traces/transformer-8" -o et && $ringlet trace info et
report $ringlet run --trace "$top/traces/transformer-8" -t hgx-h100-8 -o run.json && $ringlet report run.json -o run.html
COMMANDS

rows=0
show() { # SETTING: a row of the table. Each hash is compared with the first of its column.
    line=$(printf '%-44s' "$1")
    while read -r name command; do
        rm -rf "$folder"
        mkdir -p "$folder"
        if (cd "$folder" && eval "$command") >"$tmp/printed" 2>"$tmp/err" </dev/null; then
            hash=$({ cat "$tmp/printed" && cd "$folder" && find . -type f -print0 | LC_ALL=C sort -z | xargs -0 -r cat; } | sha256sum | cut -c1-8)
            [ -f "$tmp/first.$name" ] || echo "$hash" >"$tmp/first.$name"
            [ "$hash" = "$(cat "$tmp/first.$name")" ] || echo "differs: $name with $1" >>"$tmp/wrong"
        else
            hash="failed  "
            { echo "failed: $name with $1" && tail -20 "$tmp/err"; } >>"$tmp/wrong"
        fi
        line="$line $hash"
    done <"$tmp/commands"
    echo "$line"
    rows=$((rows + 1))
}
without() { echo "skipped: $1 (needs $2)"; }

settings() { # BUILD NAME: all settings with one build
    # A link: the build may lie in a folder with spaces.
    plain=$tmp/build$rows/ringlet
    mkdir "${plain%/*}"
    ln -s "$(readlink -f "$1/ringlet")" "$plain"
    ringlet=$plain ranks="" jobs=2 folder=$tmp/work
    show "$2"
    for jobs in 1 5; do show "$2, $jobs threads"; done
    jobs=2
    if [ -z "$sizes" ]; then
        :
    elif command -v mpirun >/dev/null && [ -x "$1/ringlet-mpi" ]; then
        for n in $sizes; do
            ranks="mpirun --oversubscribe -np $n"
            show "$2, $n ranks"
        done
        ranks=""
    else
        without "$2, ranks" mpirun
    fi
    if [ -d "$tmp/locales" ]; then
        ringlet="env LOCPATH=$tmp/locales LC_ALL=de_DE.UTF-8 $plain"
        show "$2, LC_ALL=de_DE.UTF-8"
    else
        without "$2, LC_ALL=de_DE.UTF-8" "localedef and the source of the locale"
    fi
    ringlet="env TZ=Pacific/Chatham $plain"
    show "$2, TZ=Pacific/Chatham"
    if setarch -R true 2>/dev/null; then
        ringlet="setarch -R $plain"
        show "$2, addresses not random"
    else
        without "$2, addresses not random" "setarch -R"
    fi
    ringlet=$plain folder="$tmp/else where/deep"
    show "$2, another folder"
    folder=$tmp/work
}

mkdir "$tmp/locales"
localedef -i de_DE -f UTF-8 "$tmp/locales/de_DE.UTF-8" >/dev/null 2>&1 || rmdir "$tmp/locales"
began=$(date +%s) sizes=""
printf '%-44s' ""
while read -r name command; do printf ' %-8s' "$name"; done <"$tmp/commands"
echo
if [ "$1" = all ]; then
    sizes="2 3"
    for build in ${BUILDS:-gcc:-O0 gcc:-O3 clang:-O0 clang:-O3}; do
        compiler=${build%%:*} flags=${build#*:} dir=build-$compiler$flags
        if command -v "$compiler" >/dev/null; then
            make -s BUILD="$dir" CC="$compiler" CFLAGS="$flags" all >/dev/null || exit 1
            settings "$dir" "$compiler $flags"
        else
            without "$compiler $flags" "$compiler"
        fi
    done
    if command -v valgrind >/dev/null; then
        # The C library's loader reads words across the end of a path. It is many calls deep.
        for kind in Addr4 Addr8 Addr16 Addr32 Cond; do printf '{\nloader\nMemcheck:%s\n...\nfun:_dl_open\n}\n' $kind; done >"$tmp/loader"
        ringlet="valgrind -q --num-callers=40 --error-exitcode=99 --suppressions=$tmp/loader $plain"
        show "valgrind, $compiler $flags"
    else
        without valgrind valgrind
    fi
    dir=build-thread
    make -s BUILD="$dir" SANITIZE=thread CFLAGS="-O1 -g" all "$dir/test/tools/pool" "$dir/test/tools/serve" >/dev/null || exit 1
    ringlet=$(readlink -f "$dir/ringlet") jobs=4
    show "ThreadSanitizer, 4 threads"
    test/run.sh "$dir" "$dir/test/tools/pool" "$dir/test/tools/serve" || echo "failed: tests with ThreadSanitizer" >>"$tmp/wrong"
else
    settings "$1" "this build"
fi
columns=$(wc -l <"$tmp/commands")
if [ -s "$tmp/wrong" ]; then
    cat "$tmp/wrong"
    grep -q '^differs: ' "$tmp/wrong" && hashes="more than 1" || hashes="1 where all went well, but something failed"
    echo "hashes: $hashes, of $columns commands in $rows settings"
    exit 1
fi
echo "$columns commands in $rows settings, $(($(date +%s) - began)) s"
echo "hashes: 1"
