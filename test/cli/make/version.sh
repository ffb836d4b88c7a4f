#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The version names the commit in a checkout, and only there. Only its own object depends on it.
. "$(dirname "$0")/../../support/tap.sh"
plain=$(sed -n 's/^VERSION *= *//p' Makefile)
"$ringlet" --version >"$tmp/out"
expect "the command tells it" "$(sed -n 's/^ringlet \([0-9.]*\).*/\1/p' "$tmp/out")" "$plain"
expect "results tell the same" "$("$ringlet" topo ring:4@1GB/s,0ns -f json | sed -n 's/.*"ringlet": "\(.*\)".*/\1/p')" \
    "$(sed -n 's/^ringlet //p' "$tmp/out")"
mkdir "$tmp/copy" "$tmp/copy/tools" "$tmp/copy/test"
cp Makefile "$tmp/copy"
cd "$tmp/copy" || exit 1
version() { # arguments of make; what the command would tell
    make -s BUILD="$tmp/build" DEPS=no "$tmp/build/tools/base/version.c" "$@" >"$tmp/out" 2>"$tmp/err"
    sed -n 's/.*"\(.*\)";$/\1/p' "$tmp/build/tools/base/version.c"
}
expect "without git: the version alone" "$(version)" "$plain"
if ! command -v git >/dev/null; then
    skip "the commit" "needs git"
    finish
fi
repository() { # folder
    git -C "$1" init -q && git -C "$1" add -A && git -C "$1" -c user.name=a -c user.email=a@b commit -qm one
}
repository .
commit=$(git rev-parse --short=8 HEAD)
expect "a commit" "$(version)" "$plain+g$commit"
touch -d @1 "$tmp/build/tools/base/version.c"
version >"$tmp/same"
expect "not written again" "$(stat -c %Y "$tmp/build/tools/base/version.c")" 1
touch test/new
expect "a file that is not built changes nothing" "$(version)" "$plain+g$commit"
touch tools/new.c
expect "an added source" "$(version)" "$plain+g$commit.dirty"
rm tools/new.c
echo >>Makefile
expect "a changed file" "$(version)" "$plain+g$commit.dirty"
git checkout -q Makefile
expect "COMMIT= leaves it out" "$(version COMMIT=)" "$plain"
git tag "v$plain"
expect "the tag of the version" "$(version)" "$plain"
rm -rf .git
repository "$tmp"
expect "an archive inside another checkout" "$(version)" "$plain"
finish
