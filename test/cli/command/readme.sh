#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every command that the README shows works. Its code blocks say which kind they are:
#   sh        commands to run here: each line that begins with "ringlet " must end with status 0, in the order of the page, in a
#             folder of their own in which topologies/, traces/ and the sample studies are as in the source folder; later lines may use what earlier
#             ones wrote. A backslash at the end of a line continues it.
#   console   commands that need root, a shell of the reader's or files of theirs: not run
#   text      output; c, python: code
# Options named anywhere on the page must be options of ringlet.
set -u
cd "$(dirname "$0")/../../.." || exit 1
ringlet=${RINGLET:-build/ringlet}
case $ringlet in /*) ;; *) ringlet=$PWD/$ringlet ;; esac
readme=$PWD/README.md
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
number=0 failed=0
unset NO_COLOR COLUMNS

verdict() { # name, complaint or ""
    number=$((number + 1))
    if [ -z "$2" ]; then
        echo "ok $number - $1"
    else
        failed=$((failed + 1))
        echo "not ok $number - $1"
        echo "$2" | sed 's/^/# /' | head -30
    fi
}

mkdir "$tmp/bin" "$tmp/work"
ln -s "$ringlet" "$tmp/bin/ringlet"
ln -s "$PWD/topologies" "$tmp/work/topologies"
ln -s "$PWD/traces" "$tmp/work/traces"
mkdir -p "$tmp/work/tools/sweep"
ln -s "$PWD/tools/sweep/examples" "$tmp/work/tools/sweep/examples"

awk '
/^```/ { if (inside) inside = 0; else inside = $0 == "```sh"; next }
inside && joined == "" && !/^ringlet / { next }
inside { line = joined $0; if (sub(/\\$/, "", line)) joined = line; else { print line; joined = "" } }
' "$readme" >"$tmp/commands"

while IFS= read -r line; do
    (cd "$tmp/work" && PATH="$tmp/bin:$PATH" sh -c "$line" >"$tmp/out" 2>"$tmp/err" </dev/null)
    status=$?
    why=""
    [ $status = 0 ] || why="status $status
$(tail -5 "$tmp/err")"
    verdict "$line" "$why"
done <"$tmp/commands"

commands=$(wc -l <"$tmp/commands")
[ "$commands" -ge 20 ] && why="" || why="only $commands commands were found"
verdict "the page has commands to run" "$why"
missing=""
for c in run coll topo trace list check; do
    grep -q "^ringlet $c " "$tmp/commands" || missing="$missing $c"
done
verdict "each subcommand is shown" "$missing"

"$ringlet" --generate-man | sed 's/\\-/-/g' | grep -o -e '--[a-z][a-z-]*' | sort -u >"$tmp/known"
printf '%s\n' --cflags --libs --help --version >>"$tmp/known"
unknown=$(grep -o -e '--[a-z][a-z-]*' "$readme" | sort -u | grep -vxF -f "$tmp/known")
verdict "options named on the page exist" "$unknown"

[ "$failed" = 0 ]
