/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The texts of plans, word by word: what is refused, where, and in which words. */
#include <stdio.h>
#include <string.h>

#include "collectives/collective.h"
#include "collectives/formats/plan_file.h"
#include "collectives/listed.h"
#include "sim/base/error.h"
#include "test/support/support.h"

/* Broadcast of a block from rank 0 to rank 1, in JSON and in GOAL. */
static const char json[] = "{\"format\": \"ringlet-plan\", \"version\": 1, \"name\": \"x\",\n"
                           " \"collective\": \"broadcast\", \"ranks\": 2, \"lanes\": 1,\n"
                           " \"blocks\": 2, \"blocks_of\": \"all\", \"buffers\": 1, \"result\": 0,\n"
                           " \"programs\": [{\"rank\": 0, \"lane\": 0, \"steps\": [\n"
                           "  {\"to\": 1, \"step\": 0, \"send\": [0, 2]}]},\n"
                           "  {\"rank\": 1, \"lane\": 0, \"steps\": [\n"
                           "  {\"receives\": 1, \"from\": 0}]}]}\n";
static const char goal[] = "/* by\n hand */\n"
                           "num_ranks 2\n"
                           "rank 0 {\n"
                           "a: calc 0\n"
                           "b: send 64b to 1 tag 5 // comment\n"
                           "b requires a\n"
                           "}\n"
                           "rank 1 {\n"
                           "c: recv 64b from 0 tag 5 cpu 0\n"
                           "}\n";

/* At the bounds: the most bytes, the last root, the largest tag and places within a node. */
static const char described[] = "/* ringlet plan: x collective broadcast root 1 bytes 281474976710656 */\n"
                                "num_ranks 2\n"
                                "rank 0 {\n"
                                "l0: recv 281474976710656b from 1 tag 4294967294 cpu 65535 nic 65535\n"
                                "}\n"
                                "rank 1 { l0: send 281474976710656b to 0 tag 4294967294 }\n";

typedef struct damage {
    const char *base, *from, *to;
    unsigned line;
    const char *says;
} damage;

/* Refuses a text with one change. Returns the code. */
static int check_damage(const damage *d)
{
    static const rlt_listed none;
    rlt_goal_hint hint = {RLT_SEND_RECV, 64};
    rlt_listed l;
    char text[2048], where[32];
    rlt_error err = {0};
    if (rlt_plan_parse("f", d->base, strlen(d->base), &hint, &l, &err))
        fail_msg("%s: %s", err.where, err.what);
    rlt_listed_free(&l);
    const char *at = strstr(d->base, d->from);
    if (!at)
        fail_msg("no '%s' to change", d->from);
    snprintf(text, sizeof text, "%.*s%s%s", (int)(at - d->base), d->base, d->to, at + strlen(d->from));
    snprintf(where, sizeof where, "f:%u", d->line);
    memset(&l, 1, sizeof l);
    int rc = rlt_plan_parse("f", text, strlen(text), &hint, &l, &err);
    if (rc == 0)
        fail_msg("'%s' for '%s' is not refused", d->to, d->from);
    assert_memory_equal(&l, &none, sizeof l);
    size_t n = strlen(where);
    if (strncmp(err.where, where, n) != 0 || (err.where[n] >= '0' && err.where[n] <= '9') ||
        !strstr(err.what, d->says) || strchr(err.what, '\n'))
        fail_msg("'%s' for '%s': %s: %s", d->to, d->from, err.where, err.what);
    return rc;
}

static void damage_is_named(void **state)
{
    (void)state;
    static const damage all[] = {
        {json, "\"version\": 1", "\"version\": 2", 1, "version 2"},
        {json, "ringlet-plan", "ringlet-plane", 1, "expected \"ringlet-plan\""},
        {json, "broadcast", "broadside", 2, "broadside"},
        {json, "\"ranks\": 2", "\"ranks\": 0", 1, "not a plan"},
        {json, "\"ranks\": 2", "\"ranks\": 99999999999", 2, "99999999999"},
        {json, "\"blocks\": 2", "\"blocks\": -2", 3, "-2"},
        {json, "\"all\"", "\"every\"", 3, "expected \"lane\""},
        {json, "\"to\"", "\"two\"", 5, "two"},
        {json, "\"to\": 1", "\"to\": 2", 5, "2"},
        {json, "\"to\": 1", "\"to\": 0", 5, "sends to member 0"},
        {json, "\"step\": 0", "\"step\": 1", 5, "which has 1"},
        {json, "\"send\": [0, 2]", "\"copy\": true", 5, "is missing"},
        {json, "[0, 2]", "[0, 2, 1]", 5, "1, 2 or 4"},
        {json, "[0, 2]", "[0, 4294967294, 1, 4294967294]", 5, "blocks"},
        {json, "[0, 2]", "[0, 1]", 7, "block 1 of the result is empty"},
        {json, "\"receives\": 1, ", "", 7, "waits for 0 messages, but 1"},
        {json, "\"from\": 0", "\"from\": 1", 7, "waits for member 1, but gets a message from member 0"},
        {json, "\"from\": 0", "\"after\": [0, 0]", 7, "deadlock"},
        {json, "\"rank\": 1", "\"rank\": 0", 6, "given twice"},
        {json, "]}]}\n", "]}]", 7, ""},
        {json, "\"ranks\": 2", "\"ranks\": 65537", 2, "from 0 to 65536, got 65537"},
        {json, "\"lanes\": 1", "\"lanes\": 0", 1, "0 lanes"},
        {json, "\"blocks\": 2", "\"blocks\": 0", 1, "0 blocks"},
        {json, "\"buffers\": 1", "\"buffers\": 256", 3, "from 0 to 255, got 256"},
        {json, "\"result\": 0", "\"result\": 1", 1, "result 1 of 1 buffers"},
        {json, "\"lanes\": 1", "\"lanes\": 1, \"root\": 2", 1, "root 2"},
        {json, "\"all\"", "\"all\", \"bytes\": 5", 3, "only a plan"},
        {json, "\"all\"", "\"untracked\"", 1, "bytes"},
        {json, "\"from\": 0", "\"from\": 2", 7, "from 0 to 1, got 2"},
        {json, "\"receives\": 1", "\"receives\": 65536", 7, "from 0 to 65535, got 65536"},
        {json, "\"from\": 0", "\"after\": [1, 0]", 7, "expected lane 0 to 0, got 1"},
        {json, "\"from\": 0", "\"after\": [0]", 7, "a list of 2 to 2 numbers"},
        {json, "\"from\": 0", "\"after\": 0", 7, "a list of 2 to 2 numbers"},
        {json, "[0, 2]", "[0, 2], \"verb\": \"move\"", 5, "got \"move\""},
        {json, "[0, 2]", "[0, 2], \"lane\": 1", 5, "from 0 to 0, got 1"},
        {json, "[0, 2]", "[0, 2], \"buffer\": 1", 5, "from 0 to 0, got 1"},
        {json, "[0, 2]", "[0, 2], \"into\": 1", 5, "from 0 to 0, got 1"},
        {json, "[0, 2]", "[0, 2], \"land\": [0]", 5, "sends 1 x 2 blocks, but they land as 1 x 1"},
        {json, "[0, 2]", "[2, 2]", 5, "1 x 2 blocks from block 2 on do not fit in a lane of 2 blocks"},
        {json, "[0, 2]", "[0, 3]", 5, "1 x 3 blocks from block 0 on do not fit"},
        {json, "[0, 2]", "[0, 0]", 5, "1 x 0 blocks from block 0 on do not fit"},
        {json, "[0, 2]", "[0, 1, 1, 3]", 5, "3 x 1 blocks from block 0 on do not fit"},
        {json, "[0, 2]", "[]", 5, "a list of 1 to 4 numbers"},
        {json, "[0, 2]", "[0, 1, 1, 2, 1]", 5, "a list of 1 to 4 numbers"},
        {json, "\"step\": 0, ", "", 5, "step"},
        {json, "{\"receives\": 1, \"from\": 0}", "7", 7, "expected a step as an object"},
        {json, "\"rank\": 1", "\"rank\": 2", 6, "from 0 to 1, got 2"},
        {json, "1, \"lane\": 0", "1, \"lane\": 1", 6, "from 0 to 0, got 1"},
        {json, "[{\"rank\": 0", "[7, {\"rank\": 0", 4, "expected an object with rank"},
        {goal, "num_ranks 2", "num_ranks 0", 3, "num_ranks 0"},
        {goal, "num_ranks 2", "num_ranks 2000000", 3, "above"},
        {goal, "calc 0", "calc 5", 5, "expected calc 0"},
        {goal, "send 64b", "sent 64b", 6, "expected send, recv or calc"},
        {goal, "send 64b", "send 63b", 10, "receives 64 bytes, but rank 0 sends 63 on line 6"},
        {goal, "send 64b", "send 99999999999999999999b", 6, "above"},
        {goal, "to 1", "to 2", 6, "above 1"},
        {goal, "to 1", "to 0", 6, "itself"},
        {goal, "tag 5 //", "tag 6 //", 6, "no operation receives"},
        {goal, "b requires a", "b requires d", 7, "no operation has the label 'd'"},
        {goal, "b requires a", "a requires b\nb requires a", 6, "requires itself"},
        {goal, "b requires a", "b irequires b", 6, "requires itself"},
        {goal, "rank 1 {", "rank 0 {", 9, "given twice"},
        {goal, "c: recv 64b from 0 tag 5 cpu 0\n", "", 6, "no operation receives"},
        {goal, "c: recv", "c: calc 0 c: recv", 10, "given twice"},
        {goal, "hand */", "hand", 1, "without an end"},
        {goal, "cpu 0\n}\n", "cpu 0\n", 11, "the end"},
        {goal, "tag 5 //", "tag 4294967295 //", 6, "above 4294967294"},
        {goal, "cpu 0", "cpu 65536", 10, "above 65535"},
        {goal, "cpu 0", "nic 65536", 10, "above 65535"},
        {goal, "send 64b", "send 281474976710657b", 6, "above 281474976710656"},
        {goal, "from 0", "to 0", 10, "expected 'from', got 'to'"},
        {goal, "to 1", "from 1", 6, "expected 'to', got 'from'"},
        {goal, "from 0", "from 1", 10, "receives from itself"},
        {goal, "b requires a", "b needs a", 7, "expected ':' or 'requires'"},
        {goal, "num_ranks", "ranks", 3, "expected 'num_ranks', got 'ranks'"},
        {goal, "rank 1 {", "rank 2 {", 9, "above 1"},
        {described, "656", "657", 1, "281474976710657 bytes are too many"},
        {described, "broadcast", "broadside", 1, "broadside"},
        {described, "bytes", "size", 1, "expected 'ringlet plan: NAME"},
        {described, "root 1", "root 2", 1, "root 2 is not a rank; expected 0 to 1"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check_damage(&all[i]);
}

/* Damage with the code of its refusal. */
static void codes_of_damage(void **state)
{
    (void)state;
    static const struct {
        int code;
        damage d;
    } all[] = {
        {RLT_ESCHEMA,
         {json, "\"programs\": [", "\"programs\": 0, \"_\": [", 1, "expected \"programs\": [...]"}},
        {RLT_ESCHEMA,
         {json, "\"steps\": [\n  {\"to", "\"steps\": 0, \"_\": [\n  {\"to", 4, "expected \"steps\": [...]"}},
        {RLT_ESCHEMA,
         {json, "0, \"steps\": [\n  {\"receives", "0, \"_\": [\n  {\"receives", 6,
          "expected \"steps\": [...]"}},
        {RLT_ERANGE,
         {json, "2, \"lanes\": 1", "65536, \"lanes\": 65", 1, "65536 ranks x 65 lanes are too many"}},
        {RLT_ESCHEMA,
         {goal, "send 64b to 1 tag 5", "calc 0", 10,
          "rank 1 receives from rank 0 with tag 5, but no operation sends this message"}},
        {RLT_ESCHEMA,
         {goal, "tag 5 cpu", "tag 5 d: recv 64b from 0 tag 5 cpu", 10,
          "rank 1 receives from rank 0 with tag 5, but no operation sends"}},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_int_equal(check_damage(&all[i].d), all[i].code);
}

/* A value that is no object, given to the reader of JSON itself. */
static void no_object(void **state)
{
    rlt_listed l = {0};
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_plan_json_parse("f", "\n [1]", 5, &l, &err), RLT_ESCHEMA);
    assert_string_equal(err.where, "f:2:2");
    assert_string_equal(err.what, "expected an object");
}

/* What begins like none of the formats is no plan, and leaves nothing behind. */
static void other_texts(void **state)
{
    static const char *const all[] = {"", " \n", "?", "[1]", "\"name\"", "\xef\xbb\xbf 7"};
    static const rlt_listed none;
    rlt_listed l;
    (void)state;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        rlt_error err = {0};
        memset(&l, 1, sizeof l);
        assert_int_equal(rlt_plan_parse("f", all[i], strlen(all[i]), NULL, &l, &err), RLT_EMALFORMED);
        assert_string_equal(err.where, "f");
        assert_non_null(strstr(err.what, "not a plan: expected MSCCL XML"));
        assert_memory_equal(&l, &none, sizeof l);
    }
    memset(&l, 1, sizeof l);
    assert_int_equal(rlt_plan_load("/nowhere/plan", NULL, &l, &(rlt_error){0}), RLT_EIO);
    assert_memory_equal(&l, &none, sizeof l);
}

/* A byte order mark before the text is no part of it. */
static void marks_are_passed_over(void **state)
{
    (void)state;
    const char *const all[] = {json, goal};
    rlt_goal_hint hint = {RLT_SEND_RECV, 64};
    for (size_t i = 0; i < 2; i++) {
        char text[1024];
        rlt_listed l;
        rlt_error err = {0};
        snprintf(text, sizeof text, "\xef\xbb\xbf%s", all[i]);
        if (rlt_plan_parse("f", text, strlen(text), &hint, &l, &err))
            fail_msg("%s: %s", err.where, err.what);
        assert_int_equal(l.n, 2);
        rlt_listed_free(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(codes_of_damage),
        cmocka_unit_test(no_object),
        cmocka_unit_test(other_texts),
        cmocka_unit_test(marks_are_passed_over),
    };
    return cmocka_run_group_tests_name("plan_texts", tests, NULL, NULL);
}
