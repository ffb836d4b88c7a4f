#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# A sample of `make determinism`: this build alone. And a difference is found and named.
. "$(dirname "$0")/../../support/tap.sh"
sh test/determinism.sh "$(dirname "$ringlet")" >"$tmp/out" 2>"$tmp/err"
expect "the same bytes with any number of threads, locale, time zone, addresses and folder" "$?, $(tail -1 "$tmp/out")" "0, hashes: 1"
grep '^skipped: ' "$tmp/out" >"$tmp/skipped"
expect "all settings were there" "$(grep -c '^[^ ].* [0-9a-f]\{8\} ' "$tmp/out")" "$((7 - $(wc -l <"$tmp/skipped")))"
while IFS= read -r line; do
    why=${line##*\(}
    skip "${line%% \(*}" "${why%\)}"
done <"$tmp/skipped"
# A command that tells the time of day, or says nothing in a folder of another name.
mkdir "$tmp/tells" "$tmp/fails"
printf '#!/bin/sh\ncase $* in *plan*) date +%%Z ;; esac\n' >"$tmp/tells/ringlet"
printf '#!/bin/sh\ncase $PWD in *deep*) echo no place >&2 && exit 7 ;; esac\n' >"$tmp/fails/ringlet"
chmod +x "$tmp/tells/ringlet" "$tmp/fails/ringlet"
sh test/determinism.sh "$tmp/tells" >"$tmp/out" 2>"$tmp/err"
expect "a difference" "$?, $(grep -c '^differs: ' "$tmp/out"), $(tail -1 "$tmp/out")" "1, 1, hashes: more than 1, of 10 commands in $((7 - $(wc -l <"$tmp/skipped"))) settings"
expect "names command and setting" "$(grep '^differs: ' "$tmp/out")" "differs: plan with this build, TZ=Pacific/Chatham"
sh test/determinism.sh "$tmp/fails" >"$tmp/out" 2>"$tmp/err"
expect "a failure" "$?, $(grep -c '^failed: ' "$tmp/out") $(grep -c 'no place' "$tmp/out")" "1, 10 10"
finish
