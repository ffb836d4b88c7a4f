#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Style as a test, each rule with its reason. Existing violations are listed in test/tidy/known.txt, by rule and name;
# nothing may be added to it. Reads only sources: no build is needed.
set -u
cd "$(dirname "$0")/.." || exit 1
tmp=$(mktemp -d)
trap 'rm -rf "$tmp"' EXIT
bad=0 n=0
verdict() { # name, offending lines
    n=$((n + 1))
    if [ -z "$2" ]; then
        echo "ok $n - $1"
    else
        echo "not ok $n - $1"
        echo "$2" | sed 's/^/# /' | head -20
        bad=1
    fi
}

listed() { # name: the files of that name in a checkout, or in an unpacked archive
    if [ -z "$(git rev-parse --show-cdup 2>&1)" ]; then
        git ls-files -- "$1"
    else
        find . -path './build*' -prune -o -type f -name "$1" -print | sed 's|^\./||' | sort
    fi
}
find sim net collectives workload tools test -name '*.[ch]' | sort >"$tmp/all"
grep -v '^test/' "$tmp/all" >"$tmp/product"
# Drops the known lines of a rule: RULE KEY.
unknown() {
    awk -v rule="$1" 'FNR == NR { if ($1 == rule) known[$2] = 1; next } !($1 in known)' test/tidy/known.txt -
}

awk -f test/tidy/rooms.awk test/rooms.txt $(cat "$tmp/product") >"$tmp/rooms"
# An arrow is a decision: write it down before you draw it.
verdict "rooms include only rooms that test/rooms.txt allows" "$(grep -E '^(arrow|room)' "$tmp/rooms")"
# A private header can change without a look at other rooms.
verdict "rooms are entered by their doors and public headers" "$(grep '^door' "$tmp/rooms")"
# An unused permission hides the real structure.
verdict "test/rooms.txt allows nothing that nobody uses" "$(grep '^idle' "$tmp/rooms")"
# Parts of a circle cannot be read, tested or replaced alone.
verdict "neither rooms nor files include each other in a circle" "$(grep '^circle' "$tmp/rooms")"

awk -f test/tidy/includes.awk pass=1 $(grep 'h$' "$tmp/all") pass=2 $(cat "$tmp/all") >"$tmp/includes"
# A header that drops an include breaks nobody, and a reader finds each name in one step.
verdict "a file includes what it uses" "$(grep ' needs ' "$tmp/includes")"
# An unneeded include is a false arrow, and a rebuild.
verdict "a file uses what it includes" "$(grep ' does not use ' "$tmp/includes")"
# A function used only in its file is static; an unused one is dead.
verdict "what a header declares is called by others" \
    "$(sed -n 's/\(.*\) declares \(.*\) for nobody/\2 of \1/p' "$tmp/includes" | unknown dead)"

awk -f test/tidy/style.awk $(cat "$tmp/product") >"$tmp/style"
rule() { sed -n "s/^$1 //p" "$tmp/style"; }
# A function should be readable on one screen.
verdict "functions have 60 lines at most" "$(rule length | sed 's/^[^ ]* //' | unknown length)"
# More than six arguments are confused at the call. The error, common to all functions that fail, is not counted.
verdict "functions take 6 parameters at most" "$(rule parameters | sed 's/^[^ ]* //' | unknown parameters)"
# Two files fit side by side on a screen.
verdict "lines have 110 columns at most" "$(rule width | sed 's/:[0-9]*:/ &/' | unknown width)"
verdict "lines of Python, too" "$(listed '*.py' | xargs awk 'length > 110 { print FILENAME ":" FNR }')"
# The end of a comment does not stand alone if its beginning does not.
verdict "comments end as they begin" "$(rule stranded | sed 's/:[0-9]*:/ &/' | unknown stranded)"
# A comment names its noun first.
verdict "words that are not used" "$(rule words | sed 's/:[0-9]*:/ &/' | unknown words)"
# A comment that begins so makes the reader look for its noun.
verdict "at most one comment in 200 begins with of, what or whose" \
    "$(grep -hoE '/\*+ *[A-Za-z]+' $(cat "$tmp/product") |
        awk 'tolower($2) ~ /^(of|what|whose)$/ { n++ } END { if (n * 200 > NR) print n " of " NR }')"
# Each file can be copied alone.
verdict "each source names its licence" "$(rule licence)"
# Two headers with one guard hide each other.
verdict "include guards follow paths" "$(rule guard)"

# A room with one concept can be remembered.
verdict "rooms have 25 files at most" \
    "$(sed 's|/[^/]*$||' "$tmp/product" | uniq -c | awk '$1 > 25 { print $2 " has " $1 }' | unknown room)"
# One page says what a room is for; nobody reads two.
pages=$(for room in $(sed 's|/[^/]*$||' "$tmp/product" | uniq); do
    if [ ! -f "$room/README.md" ]; then
        echo "$room has no README.md"
    elif [ "$(wc -l <"$room/README.md")" -gt 80 ]; then
        echo "$room/README.md has more than 80 lines"
    fi
done)
# A page that names what is gone leads nowhere. Programs under build/ are named by their sources.
stale=$(for page in $(listed '*.md'); do
    grep -oE '`[^`]*`' "$page" | tr '` ,;()' '\n' | grep -E '^(build/)?(sim|net|collectives|workload|tools|test|topologies|traces)/[A-Za-z0-9_./*-]*$' |
        grep -E '^build/|[.*]|/$' | sort -u | while read -r path; do
        source=${path#build/}
        ls -d $source $source.c "${page%/*}/$source" 2>/dev/null | grep -q . || echo "$page names $path"
    done
done)
verdict "pages name files that are there" "$stale"
verdict "each room has a page" "$(echo "$pages" | grep . | unknown page)"
# A chapter is read in one sitting; in the texts of help one looks something up.
verdict "chapters have 150 lines at most" \
    "$(listed '*.md' | grep -vE 'README.md$|^tools/help/' | xargs wc -l | awk '$2 != "total" && $1 > 150 { print $2 " has " $1 }')"
# Two screens show what ringlet is for; a sentence that is read twice costs more than two sentences.
verdict "README.md has 250 lines and 2500 words at most, no sentence of more than 35 words, 5 % of more than 25" \
    "$({ wc -l <README.md; awk -f test/tidy/prose.awk README.md; } | tr '\n' ' ' |
        awk '$1 > 250 || $2 > 2500 || $3 > 35 || $4 > 5 { print $1 " lines, " $2 " words, longest " $3 ", " $4 " %" }')"
# make calls them by name: without the right to, a target ends with status 127.
verdict "files that begin with #! may be executed, and no others" \
    "$({ listed '*.sh'; listed '*.py'; } | while read -r f; do
        case $(head -c 2 "$f") in '#!') [ -x "$f" ] || echo "$f may not be" ;; *) [ ! -x "$f" ] || echo "$f may be" ;; esac
    done)"
# Who has a clone has nothing beside it.
verdict "pages name no folder beside the checkout" "$(listed '*.md' | grep -v '^test/README.md$' | xargs grep -n '\.\./shared')"
# The shared library exports what programs can include: the doors that the Makefile lists, and what these include.
open=$(sed -n '/^DOORS :=/,/[^\\]$/p' Makefile | tr ' \\' '\n\n' | grep '\.h$' | sort)
while :; do
    more=$({ echo "$open"; grep -hoE '^#include "[^"]+' $open | cut -d'"' -f2; } | sort -u)
    [ "$more" != "$open" ] || break
    open=$more
done
verdict "RLT_API stands in installed headers only" \
    "$(grep -l '^RLT_API' $(cat "$tmp/product") | while read -r f; do echo "$open" | grep -qxF "$f" || echo "$f"; done)"
exit $bad
