/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * MSCCL XML written by hand: each type of step does what MSCCL's run-time does, and damaged files are
 * refused. Each damage is one change of a correct file, which passes in the same test. The message must name
 * the file and the changed line, or the line that cannot be served because of it.
 */
#include "test/support/support.h"

#include <stdio.h>

#include "collectives/formats/msccl.h"
#include "collectives/listed.h"
#include "sim/base/error.h"

static int parse(const char *text, rlt_listed *out, rlt_error *err)
{
    *err = (rlt_error){0};
    return rlt_msccl_parse("plan.xml", text, strlen(text), out, err);
}

static void sound(const char *text)
{
    rlt_listed l;
    rlt_error err;
    if (parse(text, &l, &err))
        fail_msg("%s: %s", err.where, err.what);
    rlt_listed_free(&l);
}

/* All-reduce of two gpus through scratch: sends, receives, a dependency, a local sum, out of place. */
static const char pair[] =
    "<algo name=\"pair\" proto=\"LL\" nchannels=\"1\" nchunksperloop=\"2\" ngpus=\"2\" coll=\"allreduce\" "
    "inplace=\"0\">\n"
    "<gpu id=\"0\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"2\">\n"
    "<tb id=\"0\" send=\"1\" recv=\"1\" chan=\"0\">\n"
    "<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"s\" dstoff=\"0\" cnt=\"2\" depid=\"-1\" "
    "deps=\"-1\" hasdep=\"0\"/>\n"
    "<step s=\"1\" type=\"r\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"s\" dstoff=\"0\" cnt=\"2\" depid=\"-1\" "
    "deps=\"-1\" hasdep=\"1\"/>\n"
    "</tb>\n"
    "<tb id=\"1\" send=\"-1\" recv=\"-1\" chan=\"0\">\n"
    "<step s=\"0\" type=\"cpy\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"2\" depid=\"-1\" "
    "deps=\"-1\" hasdep=\"0\"/>\n"
    "<step s=\"1\" type=\"re\" srcbuf=\"s\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"2\" depid=\"0\" "
    "deps=\"1\" hasdep=\"0\"/>\n"
    "</tb>\n"
    "</gpu>\n"
    "<gpu id=\"1\" i_chunks=\"2\" o_chunks=\"2\" s_chunks=\"0\">\n"
    "<tb id=\"0\" send=\"0\" recv=\"0\" chan=\"0\">\n"
    "<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"s\" dstoff=\"0\" cnt=\"2\" depid=\"-1\" "
    "deps=\"-1\" hasdep=\"0\"/>\n"
    "<step s=\"1\" type=\"rrc\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"2\" depid=\"-1\" "
    "deps=\"-1\" hasdep=\"0\"/>\n"
    "</tb>\n"
    "</gpu>\n"
    "</algo>\n";

/* An all-reduce on a ring of three with each fused step once: rrs, which keeps nothing; rrcs, which does;
 * rcs. */
static void ring_of_three(char *text, size_t size)
{
    size_t n = (size_t)snprintf(text, size,
                                "<algo name=\"three\" proto=\"Simple\" nchannels=\"1\" nchunksperloop=\"3\" "
                                "ngpus=\"3\" coll=\"allreduce\" inplace=\"1\">\n");
    for (unsigned g = 0; g < 3; g++) {
        static const char *const types[] = {"s", "rrs", "rrcs", "rcs", "r"};
        n += (size_t)snprintf(text + n, size - n,
                              "<gpu id=\"%u\" i_chunks=\"3\" o_chunks=\"0\" s_chunks=\"0\">\n"
                              "<tb id=\"0\" send=\"%u\" recv=\"%u\" chan=\"0\">\n",
                              g, (g + 1) % 3, (g + 2) % 3);
        for (unsigned k = 0; k < 5; k++)
            n += (size_t)snprintf(text + n, size - n,
                                  "<step s=\"%u\" type=\"%s\" srcbuf=\"i\" srcoff=\"%u\" dstbuf=\"i\" "
                                  "dstoff=\"%u\" cnt=\"1\"/>\n",
                                  k, types[k], (g + 3 * 3 - k) % 3, (g + 3 * 3 - k) % 3);
        n += (size_t)snprintf(text + n, size - n, "</tb>\n</gpu>\n");
    }
    snprintf(text + n, size - n, "</algo>\n");
}

static void steps_do_what_the_run_time_does(void **state)
{
    (void)state;
    char text[4096];
    sound(pair);
    ring_of_three(text, sizeof text);
    sound(text);
}

/* Buffers that overlap in place: i is a part of o for an all-gather, o a part of i for a reduce-scatter. */
static void buffers_overlap_in_place(void **state)
{
    (void)state;
    static const char gather[] =
        "<algo name=\"g\" nchunksperloop=\"2\" ngpus=\"2\" coll=\"allgather\" inplace=\"1\">"
        "<gpu id=\"0\" i_chunks=\"1\" o_chunks=\"2\" s_chunks=\"0\"><tb id=\"0\" send=\"1\" recv=\"1\" "
        "chan=\"0\">"
        "<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\"/>"
        "<step s=\"1\" type=\"r\" srcbuf=\"o\" srcoff=\"1\" dstbuf=\"o\" dstoff=\"1\" cnt=\"1\"/></tb></gpu>"
        "<gpu id=\"1\" i_chunks=\"1\" o_chunks=\"2\" s_chunks=\"0\"><tb id=\"0\" send=\"0\" recv=\"0\" "
        "chan=\"0\">"
        "<step s=\"0\" type=\"s\" srcbuf=\"o\" srcoff=\"1\" dstbuf=\"o\" dstoff=\"1\" cnt=\"1\"/>"
        "<step s=\"1\" type=\"r\" srcbuf=\"o\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" "
        "cnt=\"1\"/></tb></gpu></algo>";
    static const char scatter[] =
        "<algo name=\"s\" nchunksperloop=\"2\" ngpus=\"2\" coll=\"reduce_scatter\" inplace=\"1\">"
        "<gpu id=\"0\" i_chunks=\"2\" o_chunks=\"1\" s_chunks=\"0\"><tb id=\"0\" send=\"1\" recv=\"1\" "
        "chan=\"0\">"
        "<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"1\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\"/>"
        "<step s=\"1\" type=\"rrc\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" "
        "cnt=\"1\"/></tb></gpu>"
        "<gpu id=\"1\" i_chunks=\"2\" o_chunks=\"1\" s_chunks=\"0\"><tb id=\"0\" send=\"0\" recv=\"0\" "
        "chan=\"0\">"
        "<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"o\" dstoff=\"0\" cnt=\"1\"/>"
        "<step s=\"1\" type=\"rrc\" srcbuf=\"o\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"1\" "
        "cnt=\"1\"/></tb></gpu></algo>";
    sound(gather);
    sound(scatter);
}

/* Copies a text with its `nth` occurrence of a piece replaced. */
static void change(const char *base, const char *from, const char *to, unsigned nth, char *out, size_t size)
{
    const char *at = strstr(base, from);
    while (at && nth-- > 1)
        at = strstr(at + 1, from);
    if (!at)
        fail_msg("no '%s' to change", from);
    snprintf(out, size, "%.*s%s%s", (int)(at - base), base, to, at + strlen(from));
}

typedef struct damage {
    const char *from, *to;
    unsigned nth, line;
    const char *says;
} damage;

/* Returns the code. */
static int check_damage(const char *base, const damage *d)
{
    char text[8192], place[64];
    rlt_listed l;
    rlt_error err;
    change(base, d->from, d->to, d->nth, text, sizeof text);
    int rc = parse(text, &l, &err);
    if (rc == 0)
        fail_msg("'%s' for '%s' is not refused", d->to, d->from);
    snprintf(place, sizeof place, "plan.xml:%u", d->line);
    size_t n = strlen(place);
    if (strncmp(err.where, place, n) != 0 || (err.where[n] >= '0' && err.where[n] <= '9') ||
        !strstr(err.what, d->says) || strchr(err.what, '\n'))
        fail_msg("'%s' for '%s': %s: %s; expected %s and '%s'", d->to, d->from, err.where, err.what, place,
                 d->says);
    return rc;
}

static void damage_is_named(void **state)
{
    (void)state;
    static const damage all[] = {
        {"</algo>", "", 1, 19, "not well-formed"},
        {"ngpus=\"2\"", "", 1, 1, "ngpus"},
        {"ngpus=\"2\"", "ngpus=\"3\"", 1, 1, "no gpu 2"},
        {"ngpus=\"2\"", "ngpus=\"99999999999999999999\"", 1, 1, "ngpus"},
        {"nchunksperloop=\"2\"", "nchunksperloop=\"0\"", 1, 1, "nothing to do"},
        {"nchunksperloop=\"2\"", "nchunksperloop=\"-2\"", 1, 1, "nchunksperloop"},
        {"ngpus=\"2\"", "ngpus=\"2\" root=\"2\"", 1, 1, "root"},
        {"allreduce", "custom", 1, 1, "cannot be checked"},
        {"proto=", "prot=", 1, 1, "prot"},
        {"<gpu id=\"1\"", "<gpu id=\"0\"", 1, 12, "given twice"},
        {"<gpu id=\"1\"", "<gpu id=\"2\"", 1, 12, "id"},
        {"<tb id=\"1\"", "<tb id=\"7\"", 1, 7, "expected tb 1"},
        {"send=\"1\"", "send=\"0\"", 1, 3, "the gpu itself"},
        {"send=\"1\"", "send=\"-1\"", 1, 4, "send=\"-1\""},
        {"type=\"r\"", "type=\"x\"", 1, 5, "expected s, r,"},
        {"srcbuf=\"i\"", "srcbuf=\"q\"", 1, 4, "expected i, o or s"},
        {"srcoff=\"0\"", "srcoff=\"1\"", 1, 4, "does not lie in"},
        {"srcoff=\"0\"", "srcoff=\"4294967295\"", 1, 4, "srcoff"},
        {"cnt=\"2\"", "cnt=\"4294967297\"", 1, 4, "cnt"},
        {"cnt=\"2\"", "cnt=\"-1\"", 1, 4, "cnt"},
        {"cnt=\"2\"", "cnt=\"0\"", 1, 4, "at least one"},
        {"cnt=\"2\"", "cnt=\"1\"", 1, 15, "receives 2 chunks, but gpu 0 sends 1 on line 4"},
        {"<step s=\"1\"", "<step s=\"2\"", 1, 5, "expected step 1"},
        {"depid=\"0\"", "depid=\"5\"", 1, 9, "tbs 0 to 1"},
        {"deps=\"1\"", "deps=\"2\"", 1, 9, "2 steps"},
        {"depid=\"0\"", "depid=\"-1\"", 1, 9, "expected both"},
        {"chan=\"0\"", "chan=\"1\"", 3, 14, "receives only 0 times"}, /* gpu 1 receives on another channel */
        {"coll=\"allreduce\"", "coll=\"allgather\"", 1, 4, "has 1 chunks"},
    };
    sound(pair);
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        damage d = all[i];
        if (strstr(d.says, "receives only"))
            d.line = 4; /* the send that nobody receives */
        check_damage(pair, &d);
    }
}

/* Elements in the wrong place, and thread blocks that do not go together. */
static void elements_are_named(void **state)
{
    (void)state;
    static const damage all[] = {
        {"<algo", "<algorithm", 1, 1, "expected <algo>, got <algorithm>: not an MSCCL file"},
        {"<gpu", "<rank", 1, 2, "expected <gpu>, not <rank>"},
        {"<gpu", "<rank", 2, 12, "expected <gpu>, not <rank>"},
        {"<tb", "<block", 2, 7, "expected <tb>, not <block>"},
        {"<step", "<op", 2, 5, "expected <step>, not <op>"},
        {"hasdep=\"0\"/>", "hasdep=\"0\"><x/></step>", 1, 4, "unexpected <x> inside a step"},
        {"<tb", "and <tb", 2, 7, "unexpected text between elements"},
        {"hasdep=\"0\"/>", "hasdep=\"0\">x</step>", 1, 4, "unexpected text between elements"},
        {"recv=\"1\"", "recv=\"-1\"", 1, 5, "the step receives, but tb 0 has recv=\"-1\""},
        {"<tb id=\"1\" send=\"-1\"", "<tb id=\"1\" send=\"1\"", 1, 7,
         "tb 1 of gpu 0 sends to gpu 1 on channel 0, but so does tb 0 on line 3"},
        {"recv=\"-1\"", "recv=\"1\"", 1, 7,
         "tb 1 of gpu 0 receives from gpu 1 on channel 0, but so does tb 0 on line 3"},
        {"type=\"s\"", "type=\"cpy\"", 1, 15,
         "gpu 1 receives from gpu 0 on channel 0, but the source sends only 0 times there"},
        /* no thread block sends there */
        {"send=\"1\" recv=\"1\" chan=\"0\">\n<step s=\"0\" type=\"s\"",
         "send=\"-1\" recv=\"1\" chan=\"0\">\n<step s=\"0\" type=\"cpy\"", 1, 15, "sends only 0 times"},
        {"s_chunks=\"2\"", "s_chunks=\"507\"", 1, 1,
         "507 chunks of scratch are too many: the limit is 253 times nchunksperloop=\"2\""},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        assert_int_equal(check_damage(pair, &all[i]), RLT_ESCHEMA);
    char text[4096];
    change(pair, "s_chunks=\"2\"", "s_chunks=\"506\"", 1, text, sizeof text);
    sound(text);
    /* rrs needs a chunk more than the file states. */
    static const damage most = {"s_chunks=\"0\"", "s_chunks=\"4194304\"", 1, 1,
                                "4194305 chunks of scratch are too many: the limit is 4194304"};
    ring_of_three(text, sizeof text);
    check_damage(text, &most);
}

/* Well-formed files of wrong plans: the checker names the step. */
static void wrong_plans_are_named(void **state)
{
    (void)state;
    char text[4096];
    static const damage pairs[] = {
        /* does not wait for the message: unordered */
        {"depid=\"0\" deps=\"1\"", "depid=\"-1\" deps=\"-1\"", 1, 9, "holds nothing"},
        /* lost: replaces its own contribution instead of adding */
        {"type=\"re\"", "type=\"cpy\"", 1, 9, "replaces the contribution of member 0"},
        {"type=\"rrc\"", "type=\"r\"", 1, 15, "lacks the contribution of member 1"},
        /* doubled: adds what it already has */
        {"type=\"re\" srcbuf=\"s\"", "type=\"re\" srcbuf=\"i\"", 1, 9, "comes a second time"},
    };
    static const damage threes[] = {
        /* misplaced */
        {"srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\"", "srcoff=\"1\" dstbuf=\"i\" dstoff=\"1\"", 1, 14,
         "block 1 from member 0 step 0 is added to block 0"},
        /* both wait for each other */
        {"cnt=\"1\"/>", "cnt=\"1\" depid=\"0\" deps=\"4\"/>", 1, 4, "deadlock"},
    };
    sound(pair);
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++)
        check_damage(pair, &pairs[i]);
    ring_of_three(text, sizeof text);
    sound(text);
    for (size_t i = 0; i < sizeof threes / sizeof *threes; i++)
        check_damage(text, &threes[i]);
}

/* Two thread blocks that access a chunk without an order are refused; with a wait or a message between them
 * they pass. */
static void races_are_named(void **state)
{
    (void)state;
    static const char race[] =
        "<algo name=\"race\" nchunksperloop=\"2\" ngpus=\"2\" coll=\"broadcast\" inplace=\"1\">\n"
        "<gpu id=\"0\" i_chunks=\"2\" o_chunks=\"0\" s_chunks=\"0\">\n"
        "<tb id=\"0\" send=\"1\" recv=\"-1\" chan=\"0\">\n"
        "<step s=\"0\" type=\"s\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\" cnt=\"2\"/>\n"
        "</tb></gpu>\n"
        "<gpu id=\"1\" i_chunks=\"2\" o_chunks=\"0\" s_chunks=\"2\">\n"
        "<tb id=\"0\" send=\"-1\" recv=\"0\" chan=\"0\">\n"
        "<step s=\"0\" type=\"r\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\" cnt=\"2\"/>\n"
        "</tb>\n"
        "<tb id=\"1\" send=\"-1\" recv=\"-1\" chan=\"0\">\n"
        "<step s=\"0\" type=\"cpy\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"s\" dstoff=\"0\" cnt=\"2\" "
        "depid=\"0\" "
        "deps=\"0\"/>\n"
        "<step s=\"1\" type=\"cpy\" srcbuf=\"s\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\" cnt=\"2\"/>\n"
        "</tb>\n"
        "<tb id=\"2\" send=\"-1\" recv=\"-1\" chan=\"0\">\n"
        "<step s=\"0\" type=\"cpy\" srcbuf=\"i\" srcoff=\"1\" dstbuf=\"i\" dstoff=\"1\" cnt=\"1\" "
        "depid=\"1\" "
        "deps=\"1\"/>\n"
        "</tb></gpu></algo>\n";
    damage d = {"depid=\"1\" deps=\"1\"", "depid=\"0\" deps=\"0\"", 1, 0, "neither waits for the other"};
    char text[4096];
    rlt_listed l;
    rlt_error err;
    sound(race);
    change(race, d.from, d.to, d.nth, text, sizeof text);
    assert_int_equal(parse(text, &l, &err), RLT_ECHECK);
    assert_non_null(strstr(err.what, d.says));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_do_what_the_run_time_does),
        cmocka_unit_test(buffers_overlap_in_place),
        cmocka_unit_test(damage_is_named),
        cmocka_unit_test(elements_are_named),
        cmocka_unit_test(wrong_plans_are_named),
        cmocka_unit_test(races_are_named),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
