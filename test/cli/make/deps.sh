#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Packages are installed where that is possible: on simulated machines, whose PATH has only the commands put there.
. "$(dirname "$0")/../../support/tap.sh"
for tool in sh tr echo; do
    real=$(command -v "$tool") && case $real in /*) mkdir -p "$tmp/base" && ln -s "$real" "$tmp/base/$tool" ;; esac
done

fake() { # name, behaviour: makes a command of the machine
    printf '#!/bin/sh\n%s\n' "$2" >"$tmp/bin/$1"
    chmod +x "$tmp/bin/$1"
}
machine() { # user's number, names that pkg-config knows, packages that apt-get does not have, anything: no sources of locales
    rm -rf "$tmp/bin" "$tmp/calls"
    mkdir "$tmp/bin"
    : >"$tmp/calls"
    cp -P "$tmp/base"/* "$tmp/bin/"
    for tool in ar sqlite3 jq mpirun; do fake "$tool" ""; done
    fake locale "[ -n '${4:-}' ] || echo UTF-8"
    fake gcc "case ' $2 ' in *' metis '*) exit 0 ;; esac; exit 1"
    fake id "echo $1"
    fake pkg-config "case ' $2 ' in *\" \$2 \"*) exit 0 ;; esac; exit 1"
    fake apt-get "echo \"\$*\" >>'$tmp/calls'
        for a in \"\$@\"; do case ' $3 ' in *\" \$a \"*) echo 'E: Unable to locate package' >&2; exit 100 ;; esac; done"
}
deps() { # words for deps.sh; sets $got to the exit status
    PATH=$tmp/bin "$tmp/bin/sh" tools/deps.sh "$@" >"$tmp/out" 2>"$tmp/err"
    got=$?
}
said() { # name, text in standard error
    grep -qF -- "$2" "$tmp/err" && verdict "$1" "" || verdict "$1" "no '$2' in '$(cat "$tmp/err")'"
}
needed="igraph libcjson libuv cmocka zlib expat"
all="$needed nlopt libisal sqlite3 libmicrohttpd ompi-c metis"

machine 0 "$all" ""
deps
expect "all is there: nothing is said" "$got$(cat "$tmp/err" "$tmp/calls")" 0

machine 0 "zlib expat" "" bare
deps
expect "as root: exit" "$got" 0
expect "as root: what is needed in one call, what is useful singly" "$(sed 's/install -y --no-install-recommends //' "$tmp/calls")" \
    "update -qq
libigraph-dev libcjson-dev libuv1-dev libcmocka-dev libc6-dev
libnlopt-dev
libisal-dev
libsqlite3-dev
locales
libmicrohttpd-dev
libopenmpi-dev
libmetis-dev
libopenblas-serial-dev"

machine 0 "$needed" "libnlopt-dev libmicrohttpd-dev locales" bare
deps
expect "three that cannot be had: goes on" "$got" 0
said "the first is said, and what is lost" "goes without libnlopt-dev, which cannot be installed: fits of calibrate, and design"
said "the second is said, and what is lost" "goes without libmicrohttpd-dev, which cannot be installed: serve"
said "the third is said, and what is lost" "goes without locales, which cannot be installed: the test of results in another locale"
expect "the others are installed" "$(grep -cE 'install.* (libsqlite3-dev|libopenmpi-dev|libmetis-dev|libopenblas-serial-dev)$' "$tmp/calls")" 4

machine 0 "libcjson libuv cmocka zlib expat" "libigraph-dev"
deps
expect "a needed one that cannot be had: exit" "$got" 1
said "it is said" "cannot install what it needs; as root: apt-get install -y --no-install-recommends libigraph-dev libc6-dev"

machine 1000 "$needed" ""
deps
expect "not root, useful ones missing: goes on" "$got$(cat "$tmp/calls")" 0
said "not root: what is lost is said" "goes without libopenblas-serial-dev: deploy"
said "not root: the line is said" "as root: apt-get install -y --no-install-recommends libnlopt-dev libisal-dev libsqlite3-dev libmicrohttpd-dev libopenmpi-dev libmetis-dev libopenblas-serial-dev"
machine 1000 "libuv cmocka zlib expat" ""
deps
expect "not root, needed ones missing: exit" "$got$(cat "$tmp/calls")" 1
said "not root: the needed ones" "needs packages that are missing; as root: apt-get install -y --no-install-recommends libigraph-dev libcjson-dev libc6-dev"

machine 1000 "$needed" ""
fake sudo '[ "$1" = -n ] && exit 0; exec "$@"'
deps
expect "with sudo they are installed" "$got $(grep -c install "$tmp/calls")" "0 7"

for user in 0 1000; do
    machine $user "$needed" ""
    rm "$tmp/bin/apt-get"
    deps
    expect "no apt-get (user $user), useful ones missing: goes on" "$got" 0
    machine $user "" ""
    rm "$tmp/bin/apt-get"
    deps
    expect "no apt-get (user $user), needed ones missing: exit" "$got" 1
    said "no apt-get (user $user): the line is said" "libigraph-dev libcjson-dev libuv1-dev libcmocka-dev zlib1g-dev libexpat1-dev libc6-dev"
done

machine 0 "" ""
rm "$tmp/bin/pkg-config"
deps check
expect "check installs nothing" "$got$(cat "$tmp/calls")" 1
said "without pkg-config every library is missing" "pkg-config libigraph-dev"

machine 0 "$all" ""
deps page
expect "what tests use beside is installed singly" "$got $(grep -cE 'install.* (nodejs|npm|chromium|graphviz|clang-format|clang|debhelper|dh-python|lintian|valgrind|gdb)$' "$tmp/calls")" "0 11"
finish
