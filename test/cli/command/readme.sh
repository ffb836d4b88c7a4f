#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Every command that the README and the chapters show works. Code blocks say which kind they are:
#   sh        commands to run here: each line that begins with ringlet, echo, mkdir, printf or sed must end with status 0, in
#             the order of the page. Each page has a folder of its own in which topologies/, traces/ and the sample studies
#             are as in the source folder; later lines may use what earlier ones of the page wrote. A backslash at the end
#             of a line continues it.
#   console   commands that need root, a shell of the reader's or files of theirs: not run
#   text      output; c, python, json: code
# The output that README.md shows behind commands is what they print; "..." stands for what it leaves out.
# Options that a page names are options of ringlet, and its links lead to files and headings that exist.
. "$(dirname "$0")/../../support/tap.sh"
plain_only "commands of all pages"
top=$PWD

mkdir "$tmp/bin"
ln -s "$ringlet" "$tmp/bin/ringlet"
find README.md sim net collectives workload tools test topologies traces -name '*.md' | LC_ALL=C sort >"$tmp/pages"
: >"$tmp/all"

run_page() { # page
    work=$(mktemp -d "$tmp/page-XXXXXX")
    ln -s "$top/topologies" "$top/traces" "$work"
    mkdir -p "$work/tools/sweep"
    ln -s "$top/tools/sweep/examples" "$work/tools/sweep/examples"
    awk '
    /^```/ { if (inside) inside = 0; else inside = $0 == "```sh"; next }
    inside && joined == "" && !/^(ringlet|echo|mkdir|printf|sed) / { next }
    inside { line = joined $0; if (sub(/\\$/, "", line)) joined = line; else { print line; joined = "" } }
    ' "$1" >"$tmp/commands"
    cat "$tmp/commands" >>"$tmp/all"
    while IFS= read -r line; do
        # A server runs until it is interrupted.
        case $line in
        "ringlet serve "*) until="timeout --preserve-status -s INT 2" ;;
        *) until="" ;;
        esac
        (cd "$work" && PATH="$tmp/bin:$PATH" sh -c "$until $line" >"$tmp/out" 2>"$tmp/err" </dev/null)
        status=$?
        cat "$tmp/out" "$tmp/err" >>"$work/printed"
        [ -z "$until" ] || [ $status != 130 ] || status=0
        why=""
        [ $status = 0 ] || why="status $status
$(tail -5 "$tmp/err")"
        verdict "$1: $line" "$why"
    done <"$tmp/commands"
    [ "$1" != README.md ] || verdict "$1: output is what the commands print" "$(not_printed "$1" "$work/printed")"
    rm -rf "$work"
}

# Lines of output on a page with which no line begins that a command printed. Columns may be narrower.
not_printed() { # page, file
    awk '
    { gsub(/ +/, " "); sub(/^ /, ""); sub(/ $/, "") }
    FNR == NR { all = all "\n" $0; next }
    /^```/ { if (inside) { shown = inside == "```sh"; inside = "" } else inside = $0; next }
    inside == "" && $0 != "" { shown = 0 }
    inside == "```text" && shown { sub(/ ?\.\.\.$/, "") }
    inside == "```text" && shown && !index(all, "\n" $0)' "$2" "$1"
}

# Headings as links name them.
anchors() { sed -n 's/^##* //p' "$1" | tr '[:upper:]' '[:lower:]' | sed 's/[^a-z0-9 _-]//g; s/ /-/g'; }

broken_links() { # page
    awk '/^```/ { inside = !inside; next } !inside' "$1" | tr '\n' ' ' | grep -o ']([^) ]*)' | sed 's/^](//; s/)$//' | grep -v '^https*:' |
        sort -u | while IFS= read -r target; do
        file=${target%%#*}
        [ -n "$file" ] && file=$(dirname "$1")/$file || file=$1
        if [ ! -e "$file" ]; then
            echo "$target: no such file"
        elif [ "$target" != "${target#*#}" ] && ! anchors "$file" | grep -qxF -- "${target#*#}"; then
            echo "$target: no such heading"
        fi
    done
}

# Options of the commands, those before a command, and those of pkg-config, rocprofv3 and nsys.
man_pages | sed 's/\\-/-/g' | grep -o -e '--[a-z][a-z-]*' | sort -u >"$tmp/known"
printf '%s\n' --cflags --libs --output-format --runtime-trace --cuda-event-trace --cuda-graph-trace --type >>"$tmp/known"

while IFS= read -r page; do
    run_page "$page"
    verdict "$page: options exist" "$(grep -o -e '--[a-z][a-z-]*' "$page" | sort -u | grep -vxF -f "$tmp/known")"
    verdict "$page: links lead somewhere" "$(broken_links "$page")"
done <"$tmp/pages"

commands=$(wc -l <"$tmp/all")
[ "$commands" -ge 60 ] && why="" || why="only $commands commands were found"
verdict "the pages have commands to run" "$why"
missing=""
for c in run coll topo trace sweep report design list check; do
    grep -q "^ringlet $c " "$tmp/all" || missing="$missing $c"
done
verdict "each subcommand is shown" "$missing"

finish
