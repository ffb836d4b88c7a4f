#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Installs the packages that ringlet builds with, where it may; else prints the command that does. The names are those of
# Debian 12, Debian 13 and Ubuntu 24.04, which differ in one: Ubuntu has no package chromium (its browser is a snap).
# Fails only if a required package is missing. Optional packages are installed one by one: if one cannot be
# installed it is named with what is lost, and the build or the tests leave that out.
# deps.sh check: only names missing packages. deps.sh page: also installs what tests need to open pages, draw graphs,
# check the format, compile with clang, build Debian packages, count instructions, follow the tour and run the notebooks.
# deps.sh fuzz: also installs what make fuzz compiles with.
set -u
# Proof that a package is installed: a command, a library by its pkg-config name, a header, a library that links, a
# source of locales, or a module of Debian's Python, which may not be the first in PATH.
# cblas.h alone proves nothing: other packages have one, too.
required="gcc:gcc pkg-config:pkg-config ar:binutils lib=igraph:libigraph-dev lib=libcjson:libcjson-dev lib=libuv:libuv1-dev
    lib=cmocka:libcmocka-dev lib=zlib:zlib1g-dev lib=expat:libexpat1-dev"
optional="lib=nlopt:libnlopt-dev lib=libisal:libisal-dev lib=sqlite3:libsqlite3-dev sqlite3:sqlite3 jq:jq charmap=UTF-8:locales
    lib=libmicrohttpd:libmicrohttpd-dev
    lib=ompi-c:libopenmpi-dev mpirun:openmpi-bin header=metis.h:libmetis-dev
    link=openblas:libopenblas-serial-dev"
[ "${1:-}" = page ] && optional="$optional node:nodejs npm:npm chromium:chromium dot:graphviz
    clang-format:clang-format clang:clang dh:debhelper dh_python3:dh-python lintian:lintian
    valgrind:valgrind gdb:gdb header=glpk.h:libglpk-dev python3:python3
    python=pip:python3-pip python=ensurepip:python3-venv python=pandas:python3-pandas
    python=matplotlib:python3-matplotlib python=nbclient:python3-nbclient python=nbconvert:python3-nbconvert
    python=ipykernel:python3-ipykernel"
[ "${1:-}" = fuzz ] && optional="clang:clang fuzzer=clang:libclang-rt-dev"

missing() { # prints those of a list that are not installed
    for w in "$@"; do
        case $w in
        header=*) w=${w#header=} && gcc -E -include "${w%%:*}" -x c /dev/null >/dev/null 2>&1 || echo "${w##*:}" ;;
        link=*) w=${w#link=} && echo 'int main(void){return 0;}' 2>/dev/null | gcc -x c -o /dev/null - -l"${w%%:*}" >/dev/null 2>&1 || echo "${w##*:}" ;;
        python=*) w=${w#python=} && /usr/bin/python3 -c "import ${w%%:*}" >/dev/null 2>&1 || echo "${w##*:}" ;;
        fuzzer=*) w=${w#fuzzer=} && echo 'int LLVMFuzzerTestOneInput(const char *d, long n) { return !d && n; }' |
            "${w%%:*}" -fsanitize=fuzzer -x c -o /dev/null - 2>/dev/null || echo "${w##*:}" ;;
        charmap=*) w=${w#charmap=} && case $(locale -m 2>/dev/null) in *"${w%%:*}"*) ;; *) echo "${w##*:}" ;; esac ;;
        lib=*) w=${w#lib=} && pkg-config --exists "${w%%:*}" 2>/dev/null || echo "${w##*:}" ;;
        *) command -v "${w%%:*}" >/dev/null 2>&1 || echo "${w##*:}" ;;
        esac
    done
}
lost() { # prints what goes with an optional package
    case $1 in
    libnlopt-dev) echo "fits of calibrate, and design" ;;
    libisal-dev) echo "faster reading of .gz files" ;;
    libsqlite3-dev) echo "sweeps into databases, pages of studies, recordings of Nsight Systems" ;;
    sqlite3) echo "tests of databases" ;;
    jq) echo "tests that read JSON" ;;
    locales) echo "the test of results in another locale" ;;
    libmicrohttpd-dev) echo "serve" ;;
    libopenmpi-dev) echo "sweeps under MPI" ;;
    openmpi-bin) echo "tests under MPI" ;;
    libmetis-dev | libopenblas-serial-dev) echo "deploy" ;;
    nodejs | npm | chromium) echo "tests of pages in a browser" ;;
    graphviz) echo "tests of drawn graphs" ;;
    clang-format) echo "the check of the format" ;;
    clang) echo "the build with a second compiler" ;;
    debhelper | dh-python | lintian) echo "Debian packages" ;;
    valgrind) echo "counts of instructions" ;;
    gdb) echo "one test of the tour" ;;
    libglpk-dev) echo "the comparison with GLPK" ;;
    python3) echo "tests of the Python package" ;;
    *) echo "tests of notebooks" ;;
    esac
}
say() { echo "ringlet: $*" >&2; }
# shellcheck disable=SC2086
needed=$(missing $required | tr '\n' ' ')
# shellcheck disable=SC2086
useful=$(missing $optional | tr '\n' ' ')
[ -z "$needed$useful" ] && exit 0

install="apt-get install -y --no-install-recommends"
as_root=none
if [ "${1:-}" != check ] && command -v apt-get >/dev/null 2>&1; then
    if [ "$(id -u)" = 0 ]; then
        as_root=""
    elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
        as_root=sudo
    fi
fi
if [ "$as_root" = none ]; then
    for package in $useful; do say "goes without $package: $(lost "$package")"; done
    [ -n "$useful" ] && say "to have what it goes without, as root: $install ${useful% }"
    [ -z "$needed" ] && exit 0
    say "needs packages that are missing; as root: $install ${needed}libc6-dev"
    exit 1
fi
export DEBIAN_FRONTEND=noninteractive
say "installs: $needed${useful% }"
$as_root apt-get update -qq || say "the list of packages may be old"
# shellcheck disable=SC2086
if [ -n "$needed" ] && ! $as_root $install $needed libc6-dev >/dev/null; then
    say "cannot install what it needs; as root: $install ${needed}libc6-dev"
    exit 1
fi
for package in $useful; do
    $as_root $install "$package" >/dev/null || say "goes without $package, which cannot be installed: $(lost "$package")"
done
exit 0
