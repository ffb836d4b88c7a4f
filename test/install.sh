#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs into an empty folder. Each installed header compiles alone, in C and in C++; the shared library exports what they declare,
# no more and no less; programs replay a trace, run a collective and train a model against the installed tree, linked both ways.
set -eu
cd "$(dirname "$0")/.."
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
CC=${CC:-gcc} CXX=${CXX:-g++}
fail() { echo "install: $*" >&2; exit 1; }
make -s install DESTDIR="$dir" PREFIX=/usr DEPS=no
include=$dir/usr/include/ringlet
headers=$(cd "$include" && find . -name '*.h' | sed 's,^\./,,' | sort)

for h in $headers; do
    echo "#include \"$h\"" >"$dir/alone.c"
    $CC -std=c11 -pedantic -Wall -Wextra -Wshadow -Werror -fsyntax-only -I"$include" "$dir/alone.c" || fail "$h does not compile as C"
    cp "$dir/alone.c" "$dir/alone.cpp"
    $CXX -std=c++17 -pedantic -Wall -Wextra -Werror -fsyntax-only -I"$include" "$dir/alone.cpp" || fail "$h does not compile as C++"
    grep -q 'extern "C"' "$include/$h" || fail "$h lacks extern \"C\""
done

# Declarations marked RLT_API (the preprocessor keeps the word): functions and lists of variables.
cp -R "$include" "$dir/words"
sed -i -E 's/#define RLT_API +.*/#define RLT_API RLT_API/' "$dir/words/sim/base/error.h"
for h in $headers; do echo "#include \"$h\""; done | $CC -std=c11 -E -P -I"$dir/words" -x c - | tr '\n' ' ' | tr ';{}' '\n\n\n' | grep -w RLT_API |
    sed -E '/\(/!s/.*extern +(const +)?(struct +)?[a-z_0-9]+ +//; s/__attribute__ *\(\(.*//; s/\(.*//; s/\[[^]]*\]//g; s/,/\n/g' |
    grep -oE 'rlt_[A-Za-z0-9_]+ *$' | tr -d ' ' | sort -u >"$dir/declared"
nm -D --defined-only "$dir/usr/lib/libringlet.so" | awk '$2 != "A" {print $3}' | sort -u >"$dir/exported"
[ "$(wc -l <"$dir/declared")" -gt 100 ] || fail "found only $(wc -l <"$dir/declared") declarations in the installed headers"
diff "$dir/declared" "$dir/exported" >"$dir/diff" || { cat "$dir/diff" >&2; fail "declared (<) and exported (>) names differ"; }

export PKG_CONFIG_PATH="$dir/usr/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$dir"
data=$dir/usr/share/ringlet
for link in shared static; do
    if [ $link = shared ]; then
        flags=$(pkg-config --cflags --libs ringlet)
    else # libringlet itself is static, the libraries below it need not be
        # shellcheck disable=SC2046
        flags="$(pkg-config --cflags --libs ringlet | sed 's/-lringlet\b/-l:libringlet.a/') $(PKG_CONFIG_SYSROOT_DIR='' pkg-config --libs $(pkg-config --print-requires-private ringlet)) -lm -lpthread -ldl"
    fi
    for program in replay collective train vary; do
        # shellcheck disable=SC2086
        $CC -std=c11 -pedantic -Wall -Wextra -Werror -o "$dir/$program-$link" "test/install/$program.c" $flags || fail "$program does not link ($link)"
    done
    if [ $link = static ] && ldd "$dir/replay-static" | grep -q libringlet; then fail "the static program needs libringlet.so"; fi
    expect() { # words expected in the output, command
        words=$1
        shift
        LD_LIBRARY_PATH="$dir/usr/lib" "$@" >"$dir/out" 2>&1 || fail "$* failed: $(cat "$dir/out")"
        grep -qE "$words" "$dir/out" || fail "$*: expected $words, got $(cat "$dir/out")"
    }
    expect '^iteration 0: [1-9][0-9]* ps$' "$dir/replay-$link" "$data/traces/transformer-8" "$data/topologies/hgx-h100-8.json"
    # 14 steps of 125 000 bytes at 50 GB/s each way round, and 500 ns each.
    expect '^ring: 42000000 ps, bound 17500000 ps$' "$dir/collective-$link" 'ring:8@100GB/s,500ns' ring 1000000
    expect '^8 ranks: [1-9][0-9]* ps$' "$dir/train-$link" gpt3-2.7b "$data/accelerators/h100-sxm.json" \
        "$data/topologies/hgx-h100-8.json" tp=4 dp=2 batch=8
    # Ten networks on two threads. The first is the topology unchanged; a faster one is never slower.
    expect '^network-scale=1: [1-9][0-9]* ps$' "$dir/vary-$link" "trace=$data/traces/transformer-8" "topology=$data/topologies/hgx-h100-8.json"
    awk '/^network-scale=[0-9]+: [0-9]+ ps$/ { n++; if (n > 1 && $2 > last) exit 1; last = $2 } END { if (n != 10) exit 1 }' "$dir/out" ||
        fail "ten networks: $(cat "$dir/out")"
    # By name: the library finds data where the environment says so.
    (cd "$dir" && export RINGLET_DATA="$data" && expect '^network-scale=1: [1-9][0-9]* ps$' "$dir/vary-$link" trace=transformer-8 topology=hgx-h100-8)
    LD_LIBRARY_PATH="$dir/usr/lib" "$dir/replay-$link" /nowhere ring:2@1GB/s,0ns 2>"$dir/out" && fail "a missing trace is no error"
    grep -q '^/nowhere: no such file' "$dir/out" || fail "a missing trace: $(cat "$dir/out")"
done

# The executables beside the command are installed, too, and reported by the command's own folder.
"$dir/usr/bin/ringlet" --version >"$dir/out"
${BUILD:-build}/ringlet --version | cmp -s - "$dir/out" || fail "--version: $(cat "$dir/out")"
if grep -q 'in ringlet-serve' "$dir/out"; then
    sqlite3 "$dir/study.sqlite" <test/page/study.sql
    "$dir/usr/bin/ringlet" serve "$dir/study.sqlite" --port 0 >"$dir/url" &
    server=$!
    until [ -s "$dir/url" ] || ! kill -0 $server 2>/dev/null; do sleep 0.05; done
    kill -INT $server
    wait $server || fail "serve ended with status $?"
    grep -q '^http://127' "$dir/url" || fail "serve does not tell its address"
fi
[ -s "$data/accelerators/h100-sxm.json" ] || fail "no accelerators"
[ -s "$dir/usr/share/man/man1/ringlet.1" ] && [ -s "$dir/usr/share/man/man1/ringlet-run.1" ] && [ -s "$dir/usr/share/bash-completion/completions/ringlet" ] || fail "no man page or completion"
make -s uninstall DESTDIR="$dir" PREFIX=/usr >/dev/null
left=$(find "$dir/usr" -type f)
[ -z "$left" ] || fail "uninstall left: $left"
echo "installed $(echo "$headers" | wc -l) headers that compile in C and C++, linked, ran, uninstalled"
