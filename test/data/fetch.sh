#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Fetches the files of a table (sources.txt) from their repositories, checks each, and puts it where tests look. A file that is
# there already is not fetched. A file appears under its name only when it is whole and checked.
# fetch.sh [FOLDER [MIRROR [TABLE]]]
#   FOLDER   where the files go (default ../shared/data, where tests look)
#   MIRROR   an address or a folder that has REPOSITORY/COMMIT/PATH (default: GitHub's)
# Exit 1 if a file could not be had, or is not the one that the table names.
set -u
cd "$(dirname "$0")/../.." || exit 1
folder=${1:-../shared/data}
mirror=${2:-https://raw.githubusercontent.com}
table=${3:-test/data/sources.txt}
say() { echo "data: $*" >&2; }
[ -r "$table" ] || { say "$table cannot be read"; exit 1; }
mkdir -p "$folder" || exit 1
for left in "$folder"/.fetch-*; do # of a run that was killed
    kill -0 "${left##*-}" 2>/dev/null || rm -rf "$left"
done
work=$folder/.fetch-$$
mkdir "$work" || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM HUP

sum() { sha256sum | cut -d' ' -f1; }
compressed_here() { # file, path at its source
    case $1 in *.gz) case $2 in *.gz) return 1 ;; esac ;; *) return 1 ;; esac
}
is_there() { # file, path, checksum
    [ -f "$folder/$1" ] || return 1
    if compressed_here "$1" "$2"; then gzip -dc "$folder/$1" 2>/dev/null; else cat "$folder/$1"; fi | sum | grep -qx "$3"
}
bring() { # address below the mirror, file
    case $mirror in
    *://*)
        if command -v curl >/dev/null; then
            curl -fsSL --retry 2 -o "$2" "$mirror/$1"
        elif command -v wget >/dev/null; then
            wget -q -O "$2" "$mirror/$1"
        else
            echo "needs curl or wget" >&2 && false
        fi ;;
    *) cp "$mirror/$1" "$2" ;;
    esac
}
fetch() { # file, repository, commit, path, checksum
    archive=${4%%!*}
    from=$2/$3/$archive
    got=$work/got
    if [ "$archive" = "$4" ]; then
        bring "$from" "$got" 2>"$work/why" || { say "$1: $from: $(tail -1 "$work/why")"; return 1; }
    else # archives hold several files each, and are fetched once
        kept=$work/$(echo "$from" | sum)
        [ -s "$kept" ] || bring "$from" "$kept" 2>"$work/why" || { rm -f "$kept"; say "$1: $from: $(tail -1 "$work/why")"; return 1; }
        tar -xzOf "$kept" "${4#*!}" >"$got" 2>"$work/why" || { say "$1: $from: $(tail -1 "$work/why")"; return 1; }
    fi
    has=$(sum <"$got")
    if [ "$has" != "$5" ]; then
        say "$1: refused: sha256 of $mirror/$from is $has, expected $5"
        return 1
    fi
    if compressed_here "$1" "$4"; then
        gzip -n -9 -c "$got" >"$got.gz" && mv "$got.gz" "$got" || return 1
    fi
    mkdir -p "$(dirname "$folder/$1")" && mv -f "$got" "$folder/$1"
}

here=0 fetched=0 wrong=0 never=0
while read -r file repository commit path checksum licence; do
    case $file in "#"* | "") continue ;; esac
    case /$file/ in */../* | //*) say "$table: $file: expected a path inside the folder"; wrong=$((wrong + 1)); continue ;; esac
    if [ "$repository" = - ]; then
        [ -e "$folder/$file" ] || { never=$((never + 1)) && echo "data: $file cannot be fetched: $path $checksum $licence"; }
    elif [ -z "$licence" ]; then
        say "$table: $file: expected FILE REPOSITORY COMMIT PATH SHA256 LICENCE"
        wrong=$((wrong + 1))
    elif is_there "$file" "$path" "$checksum"; then
        here=$((here + 1))
    elif fetch "$file" "$repository" "$commit" "$path" "$checksum"; then
        fetched=$((fetched + 1))
    else
        wrong=$((wrong + 1))
    fi
done <"$table"
echo "data: $folder: $fetched fetched, $here already there, $wrong missing or refused, $never that cannot be fetched"
[ $wrong = 0 ]
