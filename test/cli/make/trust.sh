#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# make trust: what its page says of steps that hold, fail, or say nothing. A stand-in takes the place of make.
. "$(dirname "$0")/../../support/tap.sh"
mkdir "$tmp/bin"
cat >"$tmp/bin/make" <<'EOC'
#!/bin/sh
case $1 in
test) echo "ok"; echo "12 passed, 0 failed, 3 skipped" ;;
faults) echo "7 faults injected, 1 lost, 0 half"; exit 2 ;;
fuzz) echo "nothing of note" ;;
mutate) printf '%s,' "$@"; echo; echo "total: 9 of 10 killed (90.0 %)" ;;
determinism) kill -INT $$ ;;
esac
EOC
chmod +x "$tmp/bin/make"
page() { # STEPS
    env PATH="$tmp/bin:$PATH" STEPS="$1" BUILD="$tmp/build" N=5 ROOM="a b" test/trust.sh >"$tmp/out" 2>"$tmp/err"
}
says "a step that holds is a line" 0 "tests: 12 passed, 0 failed, 3 skipped" page tests
expect "the last line says that all holds" "$(tail -1 "$tmp/build/trust.txt")" "all of this holds"
says "rooms and their mutants are given on" 0 "notice: total: 9 of 10 killed (90.0 %)" page "tests mutate"
expect "as the user gave them" "$(head -1 "$tmp/build/trust/mutate.txt")" "mutate,N=5,ROOM=a b,"
says "a step that fails is told, and the others are run" 1 "FAILED (exit 2" page "faults tests"
expect "it is named again at the end" "$(tail -1 "$tmp/build/trust.txt")" "failed: faults"
grep -q "12 passed" "$tmp/build/trust.txt" && verdict "what holds stays" "" || verdict "what holds stays" "no line"
says "a step without a figure proves nothing" 1 "failed: fuzz" page fuzz
says "a step that is not there is refused" 1 "no step of STEPS=tets is known" page tets
says "an interruption ends the page" 1 "interrupted" page "determinism mutate"
expect "nothing is run after it" "$(grep -c killed "$tmp/build/trust.txt")" "0"
finish
