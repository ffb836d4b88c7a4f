#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# What test/run.sh counts and prints: without all public data a skipped test is no failure, whichever form its CMocka prints.
. "$(dirname "$0")/../../support/tap.sh"
run=$PWD/test/run.sh
mkdir -p "$tmp/alone/clone" "$tmp/beside/clone" "$tmp/beside/shared/data" "$tmp/tests" "$tmp/part/clone/test/data" "$tmp/part/shared/data"
cd "$tmp/tests" || exit 1
cat >skips.c <<'EOF'
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>
static void passes(void **state) { (void)state; }
static void skips(void **state) { (void)state; skip(); }
int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(passes), cmocka_unit_test(skips)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
EOF
${CC:-cc} -o skips skips.c -lcmocka 2>"$tmp/err" || verdict "a test with CMocka is built" "not built"
fake() { # name, exit status, lines
    printf "#!/bin/sh\ncat <<'END'\n%s\nEND\nexit %s\n" "$3" "$2" >"$1"
    chmod +x "$1"
}
fake passes 0 "ok 1 - one
ok 2 - two"
fake old-form 0 "ok 1 - one
not ok 2 - two # SKIP"
fake new-form 0 "ok 1 - one
ok 2 - two # SKIP"
fake program 0 "ok 1 - one
ok 2 - two # SKIP needs sqlite3"
fake comment 0 "ok 1 - one
# skipped: two, which needs sqlite3"
fake nothing 0 "1..0 # SKIP needs sqlite3"
fake several 0 "ok 1 - one
ok 2 - two # SKIP needs node, chromium and playwright-core"
fake fails 1 "ok 1 - one
not ok 2 - two"
fake crashes 139 "ok 1 - one"
fake silent 0 ""
unset ABSENT
closing() { # place, programs: the closing line and the exit status
    place=$1
    shift
    (cd "$tmp/$place/clone" && for t in "$@"; do set -- "$@" "$tmp/tests/$t" && shift; done && JOBS=2 sh "$run" build "$@") >"$tmp/out" 2>&1
    status=$?
    echo "$(tail -1 "$tmp/out"), status $status"
}
expect "CMocka's own skip is none of the failed" "$(closing alone skips)" "1 passed, 0 failed, 1 skipped, status 0"
expect "either form" "$(closing alone passes old-form new-form)" "4 passed, 0 failed, 2 skipped, status 0"
expect "each is named, none as not ok" "$(grep -c 'two # SKIP' "$tmp/out") $(grep -c 'not ok' "$tmp/out")" "2 0"
expect "a test that fails" "$(closing alone passes fails)" "3 passed, 1 failed, 0 skipped, status 1"
expect "it is named once more before the closing line" "$(tail -2 "$tmp/out" | head -1 | sed "s|.*fails:|fails:|")" "fails: not ok 2 - two"
expect "one that ends early" "$(closing alone passes crashes)" "3 passed, 1 failed, 0 skipped, status 1"
expect "one without a test" "$(closing alone passes silent)" "2 passed, 1 failed, 0 skipped, status 1"
expect "where data are, a skip is a failure" "$(closing beside passes old-form)" "3 passed, 1 failed, 0 skipped, status 1"
printf '# files\nhere.txt some/repo\nelsewhere.txt -\n' >"$tmp/part/clone/test/data/sources.txt"
: >"$tmp/part/shared/data/here.txt"
expect "where only some of the data are, it is none" "$(closing part passes old-form)" "3 passed, 0 failed, 1 skipped, status 0"
: >"$tmp/part/shared/data/elsewhere.txt"
expect "until all are" "$(closing part passes old-form)" "3 passed, 1 failed, 0 skipped, status 1"
expect "unless a program is missing" "$(closing beside passes program)" "3 passed, 0 failed, 1 skipped, status 0"
expect "a comment and an empty plan are skips" "$(closing beside passes comment nothing)" "3 passed, 0 failed, 2 skipped, status 0"
export ABSENT=""
expect "in CI a skip for want of a program is a failure" "$(closing alone passes program)" "3 passed, 1 failed, 0 skipped, status 1"
expect "in any form" "$(closing alone passes comment nothing)" "3 passed, 2 failed, 0 skipped, status 1"
expect "it says which" "$(grep -c 'comment: 1 tests skipped although what they need is here' "$tmp/out")" 1
ABSENT="chromium sqlite3"
expect "unless that program could not be installed" "$(closing alone passes program several)" "4 passed, 0 failed, 2 skipped, status 0"
ABSENT="chromium-browser sqlite"
expect "by its whole name" "$(closing alone program several)" "2 passed, 2 failed, 0 skipped, status 1"
expect "what needs no program may be left out" "$(closing alone old-form)" "1 passed, 0 failed, 1 skipped, status 0"
finish
