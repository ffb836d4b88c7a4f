#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What the Makefile rebuilds, and that it misses nothing: from make -n, and in a copy of the sources.
. "$(dirname "$0")/../../support/tap.sh"
build=${BUILD:-build}
# What make would do with unchanged flags: sources compiled, programs linked.
would() { make --no-print-directory V= -n -o "$build/flags" -o "$build/objects" -o "$build/prefix" -o "$build/tools/base/version.c" BUILD="$build" DEPS=no "$@" 2>"$tmp/err" >"$tmp/out"; }
compiled() { sed -n 's/^echo "  CC    *\(.*\)"$/\1/p' "$tmp/out" | sort | tr '\n' ' '; }
linked() { sed -n "s|^echo \"  LINK  *$build/\(.*\)\"\$|\1|p" "$tmp/out" | sort | tr '\n' ' '; }

would all
expect "nothing is built when all is" "$(compiled)$(linked)" ""
# Headers that no other header includes: the sources show their users.
for header in tools/serve/options.h tools/output/manifest.h workload/program/join.h net/topology/cut.h; do
    would -W "$header" all tests
    users=$(grep -lrF "#include \"$header\"" --include='*.c' sim net collectives workload tools test | sort | tr '\n' ' ')
    [ -n "$users" ] && ! grep -qrF "#include \"$header\"" --include='*.h' sim net collectives workload tools test
    expect "$header is a leaf" "$?" 0
    expect "$header: its users are compiled, and nothing else" "$(compiled)" "$users"
done
would -W tools/topo/cmd_topo.c all
expect "a source of the command is in all of its executables" "$(linked)" "$(cd "$build" && ls -d ringlet ringlet-deploy ringlet-mpi ringlet-serve 2>/dev/null | tr '\n' ' ')"
would -W tools/serve/http.c all
expect "that of the server is in its own" "$(linked)" "$([ -x "$build/ringlet-serve" ] && echo 'ringlet-serve ')"
would WITHOUT="libmicrohttpd mpi metis" -B all
expect "without libraries there is no executable of theirs" "$(linked)" "ringlet "

# A new folder on a floor needs no line in the Makefile; a deleted source leaves the library.
mkdir "$tmp/copy"
cp -R Makefile sim net collectives workload tools topologies test "$tmp/copy"
cd "$tmp/copy" || exit 1
build=$tmp/copy/built
for floor in sim net collectives workload tools; do
    mkdir "$floor/added" "$floor/added/within"
    echo "int rlt_added_in_$floor(void);
int rlt_added_in_$floor(void) { return 1; }" >"$floor/added/within/one.c"
done
echo 'int main(void) { return 0; }' >test/sim/added.c
would all tests
for floor in sim net collectives workload tools; do
    compiled | grep -q " $floor/added/within/one\.c "
    expect "a new folder in $floor is compiled" "$?" 0
done
grep 'whole-archive' "$tmp/out" | grep -v '/tools/added/within/one\.o'
expect "that in tools is in each executable of the command" "$?" 1
linked | grep -q 'test/sim/added '
expect "a new test is built" "$?" 0
# Real builds, with few sources.
find sim net collectives workload -name '*.c' | grep -vE '/added/|^sim/base/' | xargs rm
parts() { ar t "$build/libringlet.a" | grep -c '^one\.o$'; }
make -s BUILD="$build" DEPS=no CFLAGS=-O0 "$build/libringlet.a" >"$tmp/out" 2>"$tmp/err"
expect "new folders: built" "$?" 0
expect "new folders: in the library" "$(parts)" 4
expect "new folders: their functions, too" "$(nm "$build/libringlet.a" | grep -c ' T rlt_added_in_')" 4
rm -r net/added
make -s BUILD="$build" DEPS=no CFLAGS=-O0 "$build/libringlet.a" >"$tmp/out" 2>"$tmp/err"
expect "a folder that is gone: built" "$?" 0
expect "a folder that is gone: not in the library" "$(parts)" 3
touch "$build/ringlet-mpi" "$build/ringlet-serve" "$build/ringlet-deploy"
make -s BUILD="$build" DEPS=no CFLAGS=-O0 WITHOUT="libmicrohttpd mpi metis" "$build/libringlet.a" >"$tmp/out" 2>"$tmp/err"
expect "executables that are no longer built are gone" "$(cd "$build" && ls -d ringlet-* 2>/dev/null)" ""
finish
