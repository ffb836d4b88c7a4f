#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The recipe of the Debian packages agrees with the rest of the tree. Building them takes minutes: make deb.
. "$(dirname "$0")/../../support/tap.sh"
debian=tools/packaging/debian
field() { # name: its value in the first paragraph of control
    awk -v name="$1:" '/^$/ { exit } /^[^ ]/ { on = $1 == name } on' $debian/control | sed "s/^$1://"
}
# What the build takes, apart from what only tests and the packaging itself use.
wanted=$(sed -n 's/#.*//; /^required=/,/^\[/p' tools/deps.sh | grep -oE ':(lib[a-z0-9.+-]*-dev|zlib1g-dev|pkg-config)' | tr -d : |
    grep -vE '^(libcmocka-dev|libglpk-dev)$' | sort -u)
expect "build dependencies are those of tools/deps.sh" \
    "$(field Build-Depends | tr ',' '\n' | sed 's/\[.*//; s/(.*//' | tr -d ' ' | grep -vE '^(debhelper-compat|dh-python|python3)$' | grep . | sort -u)" "$wanted"
for package in $(sed -n 's/^Package: //p' $debian/control); do
    [ -s "$debian/$package.install" ]
    expect "$package: has files" $? 0
done
expect "each executable is in one package" "$(cat $debian/*.install | grep -c '^usr/bin/')" \
    "$(sed -n 's/^ALL_BESIDE := //p' Makefile | wc -w | awk '{ print $1 + 1 }')"
expect "the library's number is that of its package" "$(grep -c "^Package: libringlet$(sed -n 's/^SOVERSION = //p' Makefile)\$" $debian/control)" 1
sh -n tools/packaging/deb.sh
expect "the script parses" $? 0
mkdir "$tmp/bin"
for tool in sh dirname mkdir pwd; do ln -s "$(command -v $tool)" "$tmp/bin/$tool" 2>/dev/null; done
PATH=$tmp/bin sh tools/packaging/deb.sh "$tmp/deb" 1 >"$tmp/out" 2>"$tmp/err"
expect "without its tools: what to install" "$? $(grep -c 'apt-get install build-essential debhelper dh-python lintian' "$tmp/err")" "1 1"
finish
