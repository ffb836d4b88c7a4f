#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# make data: files of a table come whole and checked from a mirror, or not at all. Where public data are at hand, the
# project's own table is held against them.
. "$(dirname "$0")/../../support/tap.sh"
commit=$(printf '%040d' 7)
mirror=$tmp/mirror data=$tmp/data table=$tmp/table
at=$mirror/some/repo/$commit
mkdir -p "$at/folder"
echo plain >"$at/folder/plain.txt"
echo big >"$at/big.txt"
(cd "$tmp" && mkdir pack && echo one >pack/one.json && echo two >pack/two.json && tar -czf "$at/pack.tar.gz" pack)
sum() { sha256sum "$1" | cut -d' ' -f1; }
cat >"$table" <<END
# a comment

a/plain.txt some/repo $commit folder/plain.txt $(sum "$at/folder/plain.txt") MIT
a/big.txt.gz some/repo $commit big.txt $(sum "$at/big.txt") MIT
b/one.json some/repo $commit pack.tar.gz!pack/one.json $(sum "$tmp/pack/one.json") MIT
b/two.json.gz some/repo $commit pack.tar.gz!pack/two.json $(sum "$tmp/pack/two.json") MIT
c/derived.csv - MIT made from big.txt by hand
END
got() { # arguments of fetch.sh; prints the exit status
    test/data/fetch.sh "$@" >"$tmp/out" 2>"$tmp/err"
    echo $?
}
closing() { sed -n "s|^data: $data: ||p" "$tmp/out"; }
files() { (cd "$data" && find . -type f | sort | tr '\n' ' '); }

expect "from a folder" "$(got "$data" "$mirror" "$table") $(cat "$tmp/err")" "0 "
expect "all are there" "$(files)" "./a/big.txt.gz ./a/plain.txt ./b/one.json ./b/two.json.gz "
expect "with their content" "$(cat "$data/a/plain.txt" "$data/b/one.json"; gzip -dc "$data/a/big.txt.gz"; gzip -dc "$data/b/two.json.gz")" \
    "$(cat "$at/folder/plain.txt" "$tmp/pack/one.json" "$at/big.txt" "$tmp/pack/two.json")"
expect "what cannot be fetched is named" "$(grep -c '^data: c/derived.csv cannot be fetched: made from big.txt by hand$' "$tmp/out")" 1
expect "the count" "$(closing)" "4 fetched, 0 already there, 0 missing or refused, 1 that cannot be fetched"
expect "again, without a mirror: nothing is fetched" "$(got "$data" "$tmp/none" "$table") $(closing)" \
    "0 0 fetched, 4 already there, 0 missing or refused, 1 that cannot be fetched"
echo changed >"$data/a/plain.txt"
expect "a file that was changed comes anew" "$(got "$data" "$mirror" "$table") $(closing)" \
    "0 1 fetched, 3 already there, 0 missing or refused, 1 that cannot be fetched"
if command -v curl >/dev/null || command -v wget >/dev/null; then
    command -v curl >/dev/null && url=file://$mirror || url=
    [ -z "$url" ] || expect "from an address" "$(got "$tmp/url" "$url" "$table") $(find "$tmp/url" -type f | wc -l)" "0 4"
fi

# What is wrong is named, and the others come all the same.
rm -rf "$data"
echo other >"$at/folder/plain.txt"
rm "$at/big.txt"
expect "wrong files: exit" "$(got "$data" "$mirror" "$table")" 1
expect "another content is refused" "$(grep -c "^data: a/plain.txt: refused: sha256 of $mirror/some/repo/$commit/folder/plain.txt is $(sum "$at/folder/plain.txt"), expected " "$tmp/err")" 1
expect "a missing file is named" "$(grep -c "^data: a/big.txt.gz: some/repo/$commit/big.txt: .*No such file" "$tmp/err")" 1
expect "the others are there" "$(files)" "./b/one.json ./b/two.json.gz "
expect "the count of both" "$(closing)" "2 fetched, 0 already there, 2 missing or refused, 1 that cannot be fetched"
head -c 40 "$at/pack.tar.gz" >"$tmp/cut" && mv "$tmp/cut" "$at/pack.tar.gz"
rm -rf "$data"
expect "an archive cut short" "$(got "$data" "$mirror" "$table") $(files)" "1 "
printf '%s\n' "../out.txt some/repo $commit big.txt $(printf '%064d' 1) MIT" "x.txt some/repo $commit" >"$tmp/odd"
expect "a wrong table: exit" "$(got "$data" "$mirror" "$tmp/odd") $(files)" "1 "
expect "a path out of the folder" "$(grep -c "odd: ../out.txt: expected a path inside the folder" "$tmp/err")" 1
expect "a short line" "$(grep -c "odd: x.txt: expected FILE REPOSITORY COMMIT PATH SHA256 LICENCE" "$tmp/err")" 1
expect "no table" "$(got "$data" "$mirror" "$tmp/none") $(grep -c 'none cannot be read' "$tmp/err")" "1 1"

# Interrupted in the middle of a file: the mirror's file is a pipe that delivers a half and then waits.
mkfifo "$at/big.txt"
(exec 3>"$at/big.txt" && echo half >&3 && : >"$tmp/begun" && exec sleep 1000) &
feeder=$!
setsid test/data/fetch.sh "$data" "$mirror" "$table" >"$tmp/out" 2>"$tmp/err" &
fetcher=$!
until [ -e "$tmp/begun" ]; do kill -0 $fetcher 2>/dev/null || break; done
kill -TERM "-$fetcher"
wait $fetcher
expect "interrupted: exit" $? 130
kill $feeder
expect "nothing half is left" "$(find "$data" -type f) $(ls -A "$data" | grep -v '^[ab]$')" " "
mkdir -p "$data/.fetch-999999999" && got "$data" "$mirror" "$tmp/odd" >"$tmp/ignored"
expect "what a killed run left goes" "$(ls -A "$data" | grep -c fetch)" 0

# The table of the project.
rows() { grep -vE '^(#|$)' test/data/sources.txt; }
expect "each line is whole" "$(rows | grep -vE '^[^ ]+ ([^ /]+/[^ /]+ [0-9a-f]{40} [^ ]+ [0-9a-f]{64}|-) (MIT|Apache-2.0|BSD-style|mixed)( |$)')" ""
expect "no file comes twice" "$(rows | cut -d' ' -f1 | sort | uniq -d)" ""
# Tables of this repository: each row has its source with a commit, and a licence that allows it to be here. What was
# measured for this project has the program that measured it.
for measured in test/data/collectives/measured_*.csv test/data/throughput/measured_*.csv; do
    wrong=$(sed 1d "$measured" | grep -vE ',"?[^,]+@[0-9a-f]{7,40}[: ].*,(Apache-2.0|MIT|MIT-0|BSD-3-Clause),' |
        grep -vE ',"measure.py, PyTorch [^,]*, [-0-9]{10}",[^,]*,this project$' | head -2)
    verdict "$(basename "$measured"): sources and licences" "$wrong"
done
# Those with rows of all sources, where they are at hand, have exactly the missing rows more.
less() { # table: how many rows the complete one has more, and how many rows of this one are not in it
    more=$(($(wc -l <"../shared/data/$1") - $(wc -l <"test/data/$1")))
    sort "../shared/data/$1" >"$tmp/all-rows"
    echo "$more $(sort "test/data/$1" | comm -23 - "$tmp/all-rows" | wc -l)"
}
for measured in $(grep -v '^#' test/data/left-out.txt | cut -d' ' -f1 | uniq); do
    [ -r "../shared/data/$measured" ] || { skip "$measured: what is left out" "rows of all sources are not here"; continue; }
    expect "$measured: what is left out" "$(less "$measured")" "$(awk -v t="$measured" '$1 == t { n += $2 } END { print n, 0 }' test/data/left-out.txt)"
done
expect "what is left out is told" "$(test/data/left_out.sh test/data/throughput/measured_layouts.csv | head -2)" \
    "test/data/throughput/measured_layouts.csv goes without 37 published rows, which may be read but not shipped:
    37 of OpenLLM-France/Lucie-Training@c3b8b3a013a3:chronicles/parallelism (GPL-3.0)"
expect "of a table of one's own nothing is" "$(test/data/left_out.sh ../measured_layouts.csv)" ""
if [ ! -d ../shared/data ]; then
    skip "the table and public data" "public data are not here"
    finish
fi
public=$PWD/../shared/data
rows | while read -r file repository commit path rest; do
    [ "$repository" = - ] && continue
    to=$tmp/public/$repository/$commit/${path%%!*}
    case $path in
    *!*) mkdir -p "$(dirname "$to")" "$to.d/$(dirname "${path#*!}")" && gzip -dc "$public/$file" >"$to.d/${path#*!}" ;;
    *) mkdir -p "$(dirname "$to")"
        case $file in *.gz) case $path in *.gz) cp "$public/$file" "$to" ;; *) gzip -dc "$public/$file" >"$to" ;; esac ;; *) cp "$public/$file" "$to" ;; esac ;;
    esac
done
find "$tmp/public" -name '*.d' -type d | while read -r d; do (cd "$d" && tar -czf "${d%.d}" *); done
data=$tmp/all
expect "all come from a mirror of the public files" "$(got "$data" "$tmp/public") $(closing | cut -d, -f3)" "0  0 missing or refused"
expect "and are those of the folder" "$(cd "$data" && find . -type f | while read -r f; do
    case $f in *.gz) [ "$(gzip -dc "$f" | sum -)" = "$(gzip -dc "$public/$f" | sum -)" ] ;; *) cmp -s "$f" "$public/$f" ;; esac || echo "$f"
done)" ""
finish
