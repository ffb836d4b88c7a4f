#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# make mutate and make coverage on a program of one file, whose test has a known hole: it is named.
. "$(dirname "$0")/../../support/tap.sh"
for program in python3 gcov; do
    command -v $program >/dev/null || { skip "mutants" "needs $program"; finish; }
done
grep -v '^#' test/mutate/equivalent.txt | grep . | sort >"$tmp/listed"
for source in $(cut -d: -f1 "$tmp/listed" | sort -u); do
    python3 test/mutate/mutants.py "$source" | sed "s|^[0-9]*|$source|; s| *\$||"
done | sort -u >"$tmp/all"
expect "equivalent.txt lists mutants that are there" "$(comm -23 "$tmp/listed" "$tmp/all")" ""
mkdir -p "$tmp/it/sim" "$tmp/it/net" "$tmp/it/collectives" "$tmp/it/workload" "$tmp/it/tools" "$tmp/it/test/sim" "$tmp/it/test/faults" "$tmp/it/test/fuzz"
cp Makefile "$tmp/it"
cp test/faults/faults.c "$tmp/it/test/faults"
cp -R test/mutate "$tmp/it/test/mutate"
cd "$tmp/it" || exit 1
cat >sim/fee.c <<'EOC'
/* n < 1 in a comment */
#define MORE(n) ((n) + 1)
int fee(int n);
int unused(int n);
int fee(int n)
{
    int least = 5, *p = &least; // a < b
    const char *text = "a < b";
    (void)text;
    if (n < 10)
        return *p;
    least = n > 50 ? n * 2 : n;
    for (int i = 0; i < n; i++) {
        if (i == 3 && n != 4)
            break;
        least--;
    }
    return least;
}
int unused(int n)
{
    return n + 1;
}
int requests(int n)
{
    return !malloc(n * 3 + 1 - (n - 1)) + 1;
}
EOC
cat >list <<'EOL'
7: int least = 5, *p = &least; // a < b -> int least = (5 + 1), *p = &least; // a < b
9: (void)text -> nothing
10: n < 10 -> !(n < 10)
10: if (n < 10) -> if (n <= 10)
10: if (n < 10) -> if (n < (10 + 1))
12: least = n > 50 ? n * 2 : n -> nothing
12: least = n > 50 ? n * 2 : n; -> least = n >= 50 ? n * 2 : n;
12: least = n > 50 ? n * 2 : n; -> least = n > (50 + 1) ? n * 2 : n;
12: ? n * 2 : n -> ? (n) : (n * 2)
12: least = n > 50 ? n * 2 : n; -> least = n > 50 ? n / 2 : n;
12: least = n > 50 ? n * 2 : n; -> least = n > 50 ? n * (2 + 1) : n;
13: for (int i = 0; i < n; i++) { -> for (int i = 1; i < n; i++) {
13: for (int i = 0; i < n; i++) { -> for (int i = 0; i <= n; i++) {
14: i == 3 && n != 4 -> !(i == 3 && n != 4)
14: if (i == 3 && n != 4) -> if (i != 3 && n != 4)
14: if (i == 3 && n != 4) -> if (i == (3 + 1) && n != 4)
14: if (i == 3 && n != 4) -> if (i == 3 || n != 4)
14: if (i == 3 && n != 4) -> if (i == 3 && n == 4)
14: if (i == 3 && n != 4) -> if (i == 3 && n != (4 + 1))
15: break -> nothing
16: least-- -> nothing
22: return n + 1; -> return n - 1;
22: return n + 1; -> return n + 0;
26: return !malloc(n * 3 + 1 - (n - 1)) + 1; -> return !malloc(n / 3 + 1 - (n - 1)) + 1;
26: return !malloc(n * 3 + 1 - (n - 1)) + 1; -> return !malloc(n * (3 - 1) + 1 - (n - 1)) + 1;
26: return !malloc(n * 3 + 1 - (n - 1)) + 1; -> return !malloc(n * 3 - 1 - (n - 1)) + 1;
26: return !malloc(n * 3 + 1 - (n - 1)) + 1; -> return !malloc(n * 3 + 0 - (n - 1)) + 1;
26: malloc(n * 3 + 1 - (n - 1)) + 1; -> malloc(n * 3 + 1 - (n - 0)) + 1;
26: oc(n * 3 + 1 - (n - 1)) + 1; -> oc(n * 3 + 1 - (n - 1)) - 1;
26: (n * 3 + 1 - (n - 1)) + 1; -> (n * 3 + 1 - (n - 1)) + 0;
EOL
python3 test/mutate/mutants.py sim/fee.c >"$tmp/out" 2>"$tmp/err"
expect "the mutants of a source" "$(diff list "$tmp/out")" ""
rm sim/fee.c

mkdir sim/fees
# Too little memory is seen by sanitizers alone.
cat >sim/fees/fee.c <<'EOC'
#include <stdlib.h>
int fee(int n);
int fee(int n)
{
    n += 0;
    if (n == 77)
        return 0;
    if (n < 10)
        return 7;
    int *volatile half = malloc(sizeof *half * 1);
    *half = n / 2;
    n = *half;
    free(half);
    return n;
}
EOC
test_of() { # pairs of arguments and fees
    {
        printf '#include <%s.h>\n' setjmp stdarg stddef stdint cmocka
        printf 'int fee(int n);\nstatic void fees(void **state)\n{\n    (void)state;\n'
        printf '    assert_int_equal(fee(%s), %s);\n' "$@"
        printf '}\nint main(void)\n{\n    const struct CMUnitTest tests[] = {cmocka_unit_test(fees)};\n'
        printf '    return cmocka_run_group_tests(tests, NULL, NULL);\n}\n'
    } >test/sim/fee.c
}
# make test calls this one: what it passes on is not for the calls below.
unset MAKEFLAGS MFLAGS MAKELEVEL SANITIZE
mutate() { # settings
    make mutate DEPS=no PROGRAMS=tests "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    status=$?
    grep -v '^  [A-Z]' "$tmp/out"
    return $status
}
limited() { # command: whether it passes, and why not, with a second of CPU time
    PYTHONPATH=test/mutate python3 -B -c 'import suite, sys
ran = suite.run(suite.Test("t", tuple(sys.argv[1:]), 0), "build", 1, {})
print(ran.passed, ran.why, ran.cpu_s < 5)' "$@" 2>"$tmp/err"
}
# shellcheck disable=SC2016
expect "what runs for ever, and what takes all memory" \
    "$(limited true) $(limited sh -c 'while :; do :; done') $(limited sh -c 'ulimit -t; ulimit -v; [ "$(ulimit -v)" = 8388608 ]')" \
    "True  True False limit True True  True"
test_of 4 7 21 10
expect "what the test does not see is named" "$(mutate N=50 | sort)" "sim/fees/fee.c:6: if (n == 77) -> if (n == (77 + 1))
sim/fees/fee.c:8: if (n < 10) -> if (n < (10 + 1))
sim/fees/fee.c:8: if (n < 10) -> if (n <= 10)
sim/fees: 9 of 12 killed (75.0 %), 3 equivalent"
expect "a second call knows" "$(mutate N=50 ROOM=sim/fees/fee.c | tail -1)" "sim/fees/fee.c: 9 of 12 killed (75.0 %), 3 equivalent"
mutate N=3 SEED=2 >"$tmp/three"
expect "fewer can be drawn" "$(sed -n 's/.* of \([0-9]*\) killed.*, \([0-9]*\) eq.*/\1 + \2/p' "$tmp/three" | xargs expr)" 3
make coverage DEPS=no PROGRAMS=tests >"$tmp/out" 2>"$tmp/err"
expect "coverage" "$(awk '$1 == "total" { print $2, $4, $7, $9 }' "$tmp/out")" "10 11 3 4"
test_of 4 7 21 10 10 5 77 0
expect "a test that sees it kills it" "$(mutate N=50)" "sim/fees: 13 of 13 killed (100.0 %), 3 equivalent"
test_of 4 8
expect "a test that fails anyway kills nothing, and is named" "$(mutate N=50) $(grep -c 'left out test/sim/fee: fails' "$tmp/err")" \
    "sim/fees: no test executes it 1"
cat >sim/fees/fee.c <<'EOC'
int rlt_fail(int code, const char *what);
int rlt_fail(int code, const char *what)
{
    return what[0] ? code : 0;
}
int fee(int n);
int fee(int n)
{
    if (n < 0)
        return rlt_fail(-1, "less than nothing");
    if (n > 100)
        return rlt_fail(-2,
                        "more than there is");
    return 7;
}
EOC
test_of 4 7 -1 -1
make coverage DEPS=no PROGRAMS=tests >"$tmp/out" 2>"$tmp/err"
expect "refusals that no test asks for" "$(tail -1 "$tmp/out") $(cat build-coverage/refusals.txt)" \
    '1 of 2 refusals of inputs are asked for by no test: build-coverage/refusals.txt sim/fees/fee.c:12: return rlt_fail(-2, "more than there is");'
mutate ROOM=sim/nowhere
expect "a room that is not there" "$? $(grep -c 'ROOM=sim/nowhere: expected' "$tmp/err")" "2 1"
mutate N=many
expect "a number that is none" "$? $(grep -c 'N=many: expected' "$tmp/err")" "2 1"
finish
