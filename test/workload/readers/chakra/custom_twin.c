/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random custom collectives as Chakra nodes against the same messages as a GOAL file: both are one plan, step by
 * step. And what is refused, word for word: nodes that say too little or too much, and those that differ from the
 * plan in the metadata.
 */
#include <stdio.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/formats/plan_file.h"
#include "collectives/listed.h"
#include "sim/base/error.h"
#include "sim/text/protowire.h"
#include "test/support/dice.h"
#include "test/support/traces/chakra.h"
#include "workload/readers/chakra/custom.h"
#include "workload/readers/chakra/node.h"

enum { RANKS = 4, OPS = 16, NOBODY = 99 };
#define LARGEST_TAG (UINT32_MAX - 1)

typedef enum deed { SENDS, RECEIVES, WORKS } deed;
typedef struct op {
    deed what;
    uint32_t peer, tag, needs[2], n_needs;
    uint64_t bytes, id; /* without a peer (NOBODY) or bytes (0), the node does not tell them */
} op;

typedef struct plan {
    uint32_t ranks, n[RANKS];
    op ops[RANKS][OPS];
} plan;

static op *add(plan *p, dice *d, uint32_t rank, op o)
{
    uint32_t n = p->n[rank]++;
    o.id = 3 + 7 * n + below(d, 7);
    for (uint32_t i = 0; i < 2 && n && below(d, 2); i++)
        o.needs[o.n_needs++] = below(d, n);
    p->ops[rank][n] = o;
    return &p->ops[rank][n];
}

static void draw(plan *p, dice *d)
{
    static const uint32_t tags[] = {0, 1, LARGEST_TAG};
    *p = (plan){.ranks = 2 + below(d, RANKS - 1)};
    for (uint32_t k = 2 + below(d, 7); k > 0; k--) {
        uint32_t from = below(d, p->ranks), to = (from + 1 + below(d, p->ranks - 1)) % p->ranks,
                 tag = tags[below(d, 3)];
        uint64_t bytes = 1 + roll(d, 1000);
        add(p, d, from, (op){.what = SENDS, .peer = to, .tag = tag, .bytes = bytes});
        add(p, d, to, (op){.what = RECEIVES, .peer = from, .tag = tag, .bytes = bytes});
        if (below(d, 3) == 0)
            add(p, d, to, (op){.what = WORKS});
    }
}

/* Writes an attribute of the metadata. */
static void metadata(file *f, const char *name, const char *value)
{
    rlt_pb_out v = {0}, a = {0};
    rlt__pb_put_bytes(&v, RLT_CHAKRA_STRING, value, strlen(value));
    rlt__pb_put_bytes(&a, 1, name, strlen(name));
    rlt__pb_put_raw(&a, v.data, v.length);
    rlt__pb_put_bytes(&f->node, 2, a.data, a.length);
    rlt__pb_out_free(&v);
    rlt__pb_out_free(&a);
}

static void put_op(file *f, const plan *p, uint32_t rank, const op *o)
{
    if (o->what == WORKS)
        work(f, o->id, "sum", 7, false);
    else {
        bool sends = o->what == SENDS;
        head(f, o->id, "m", sends ? RLT_CHAKRA_SEND : RLT_CHAKRA_RECV);
        if (o->peer != NOBODY)
            number(f, sends ? "comm_dst" : "comm_src", RLT_CHAKRA_INT32, o->peer);
        if (o->bytes)
            number(f, "comm_size", RLT_CHAKRA_INT64, o->bytes);
        if (o->tag)
            number(f, "comm_tag", RLT_CHAKRA_UINT32, o->tag);
    }
    for (uint32_t i = 0; i < o->n_needs; i++)
        dep(f, p->ops[rank][o->needs[i]].id);
    message(f);
}

static void write_nodes(const plan *p, const char *attribute, const char *value)
{
    for (uint32_t r = 0; r < p->ranks; r++) {
        file f = {{0}, {0}};
        char name[32];
        rlt__pb_put_bytes(&f.node, 1, "0.0.4", 5);
        metadata(&f, "schema", "broadcast");
        if (attribute)
            metadata(&f, attribute, value);
        message(&f);
        for (uint32_t i = 0; i < p->n[r]; i++)
            put_op(&f, p, r, &p->ops[r][i]);
        snprintf(name, sizeof name, "c.%u.et", r);
        end(&f, name);
    }
}

static void write_goal(const plan *p, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "num_ranks %u\n", p->ranks);
    for (uint32_t r = 0; r < p->ranks; r++) {
        used += (size_t)snprintf(text + used, size - used, "rank %u {\n", r);
        for (uint32_t i = 0; i < p->n[r]; i++) {
            const op *o = &p->ops[r][i];
            used += o->what == WORKS
                        ? (size_t)snprintf(text + used, size - used, "l%u: calc 0\n", i)
                        : (size_t)snprintf(text + used, size - used, "l%u: %s %llub %s %u tag %u\n", i,
                                           o->what == SENDS ? "send" : "recv", (unsigned long long)o->bytes,
                                           o->what == SENDS ? "to" : "from", o->peer, o->tag);
            for (uint32_t k = 0; k < o->n_needs; k++)
                used += (size_t)snprintf(text + used, size - used, "l%u requires l%u\n", i, o->needs[k]);
        }
        used += (size_t)snprintf(text + used, size - used, "}\n");
    }
    assert_true(used < size);
}

static int load(const rlt_goal_hint *hint, rlt_listed *out, rlt_error *err)
{
    char prefix[256];
    const char *spec = path_of("c", prefix, sizeof prefix);
    *err = (rlt_error){0};
    return rlt_chakra_custom_load(&spec, 1, hint, out, err);
}

static void same_plan(uint32_t k, const rlt_listed *a, const rlt_listed *b)
{
    const uint32_t sizes[] = {a->n, a->lanes, a->blocks, a->root, a->kind, a->untracked, (uint32_t)a->bytes},
                   others[] = {b->n, b->lanes, b->blocks, b->root, b->kind, b->untracked, (uint32_t)b->bytes};
    if (memcmp(sizes, others, sizeof sizes) != 0)
        fail_msg("trial %u: other sizes", k);
    assert_memory_equal(a->first, b->first, ((size_t)a->n * a->lanes + 1) * sizeof *a->first);
    for (uint32_t i = 0; i < a->first[a->n * a->lanes]; i++) {
        const rlt_step *x = &a->steps[i], *y = &b->steps[i];
        const uint64_t is[] = {x->send_to,   x->peer_step,  x->peer_shift, x->send_bytes,
                               x->recv_from, x->recv_count, x->wait_lane,  x->wait_step,
                               x->nowait,    x->copy,       x->reduce},
                       must[] = {y->send_to,   y->peer_step,  y->peer_shift, y->send_bytes,
                                 y->recv_from, y->recv_count, y->wait_lane,  y->wait_step,
                                 y->nowait,    y->copy,       y->reduce};
        if (memcmp(is, must, sizeof is) != 0)
            fail_msg("trial %u: step %u differs", k, i);
    }
}

static void one_plan(void **state)
{
    static const rlt_coll_kind kinds[] = {RLT_ALL_REDUCE, RLT_ALL_GATHER, RLT_BROADCAST};
    dice d = {.seed = 41};
    (void)state;
    for (uint32_t k = 0; k < 150; k++) {
        static plan p;
        char text[8000];
        rlt_listed a, b;
        rlt_error err = {0};
        rlt_goal_hint hint = {kinds[below(&d, 3)], 1 + roll(&d, 5000)}, other = {RLT_ALL_TO_ALL, hint.bytes};
        bool named = below(&d, 2); /* the metadata's word goes before the caller's */
        draw(&p, &d);
        write_nodes(&p, named ? "collective" : NULL, rlt_coll_name(hint.kind));
        write_goal(&p, text, sizeof text);
        if (load(named ? &other : &hint, &a, &err))
            fail_msg("trial %u: %s: %s", k, err.where, err.what);
        if (rlt_plan_parse("goal", text, strlen(text), &hint, &b, &err))
            fail_msg("trial %u: %s: %s\n%s", k, err.where, err.what, text);
        same_plan(k, &a, &b);
        assert_string_equal(a.name, "chakra");
        rlt_listed_free(&a);
        rlt_listed_free(&b);
        clean();
    }
}

/* ---- what is refused ---- */

static void expect_refusal(const plan *p, const char *attribute, const char *value, int code,
                           const char *where, const char *what)
{
    rlt_listed l;
    rlt_error err;
    rlt_goal_hint hint = {RLT_ALL_REDUCE, 40};
    write_nodes(p, attribute, value);
    int rc = load(&hint, &l, &err);
    if (rc != code || !strstr(err.where, where) || strcmp(err.what, what) != 0)
        fail_msg("%d, '%s: %s', expected %d, '%s: %s'", rc, err.where, err.what, code, where, what);
    assert_null(l.first);
    clean();
}

/* Rank 0 sends 40 bytes to rank 1, which sends them back. */
static plan pair(void)
{
    return (plan){.ranks = 2,
                  .n = {2, 2},
                  .ops = {{{SENDS, 1, 0, {0}, 0, 40, 1}, {RECEIVES, 1, 0, {0}, 0, 40, 2}},
                          {{RECEIVES, 0, 0, {0}, 0, 40, 1}, {SENDS, 0, 0, {0}, 1, 40, 2}}}};
}

static void wrong_nodes(void **state)
{
    plan p = pair();
    (void)state;
    p.ops[0][0].peer = 2;
    expect_refusal(&p, NULL, NULL, RLT_ESCHEMA, "c.0.et: node 1", "attribute comm_dst is 2, expected 0 to 1");
    p.ops[0][0].peer = 0;
    expect_refusal(&p, NULL, NULL, RLT_ESCHEMA, "c.0.et: node 1", "a message from a rank to itself");
    p = pair();
    p.ops[0][0].tag = p.ops[1][0].tag = UINT32_MAX;
    expect_refusal(&p, NULL, NULL, RLT_ESCHEMA, "c.0.et: node 1",
                   "attribute comm_tag is 4294967295, expected 0 to 4294967294");
    p = pair();
    p.ops[0][0].bytes = p.ops[1][0].bytes = ((uint64_t)1 << 48) + 1;
    expect_refusal(&p, NULL, NULL, RLT_ESCHEMA, "c.0.et: node 1",
                   "attribute comm_size is 281474976710657, expected 0 to 281474976710656");
    p = pair();
    p.ops[0][0].bytes = p.ops[1][0].bytes = 0;
    expect_refusal(&p, NULL, NULL, RLT_ESCHEMA, "c.0.et: node 1", "a message without comm_size");
    p = pair();
    p.ops[0][0].peer = NOBODY;
    expect_refusal(&p, NULL, NULL, RLT_ESCHEMA, "c.0.et: node 1", "a send without comm_dst");
    p = pair();
    p.ops[1][0].peer = NOBODY;
    expect_refusal(&p, NULL, NULL, RLT_ESCHEMA, "c.1.et: node 1", "a receive without comm_src");
    p = pair();
    p.ops[1][1].id = 1;
    expect_refusal(&p, NULL, NULL, RLT_ESCHEMA, "c.1.et: node 1", "another node has the same number");
    p.ops[1][1].id = UINT32_MAX;
    expect_refusal(&p, NULL, NULL, RLT_ERANGE, "c.1.et: node 4294967295", "the node's number is above 2^32");
    p = pair();
    expect_refusal(
        &p, "collective", "sing", RLT_ESCHEMA, "c.0.et",
        "metadata: unknown collective 'sing'; known: all_reduce, reduce_scatter, all_gather, all_to_all, "
        "broadcast, reduce, barrier, send_recv, gather, scatter");
}

#define STEP(s, type)                                                                                        \
    "<step s=\"" s "\" type=\"" type "\" srcbuf=\"i\" srcoff=\"0\" dstbuf=\"i\" dstoff=\"0\" cnt=\"2\"/>"
#define TALK                                                                                                 \
    "<algo name=\"talk\" nchunksperloop=\"2\" ngpus=\"2\" coll=\"allreduce\" inplace=\"1\">"                 \
    "<gpu id=\"0\" i_chunks=\"2\"><tb id=\"0\" send=\"1\" recv=\"1\">" STEP("0", "s")                        \
        STEP("1", "r") "</tb></gpu><gpu id=\"1\" i_chunks=\"2\"><tb id=\"0\" send=\"0\" recv=\"0\">" STEP(   \
            "0", "rrc") STEP("1", "s") "</tb></gpu></algo>"

/* Two chunks go from rank 0 to rank 1 and back: 20 bytes each. */
static void other_plans(void **state)
{
    rlt_listed l;
    rlt_error err;
    plan p = pair();
    (void)state;
    write_nodes(&p, "input_file", TALK);
    if (load(NULL, &l, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_false(l.untracked);
    assert_string_equal(l.name, "talk");
    rlt_listed_free(&l);
    p.n[1] = 3;
    p.ops[1][2] = (op){WORKS, 0, 0, {0}, 0, 0, 3}; /* work says nothing, wherever it is */
    write_nodes(&p, "input_file", TALK);
    assert_int_equal(load(NULL, &l, &err), 0);
    rlt_listed_free(&l);
    p = pair();
    p.n[0] = p.n[1] = 1;
    expect_refusal(&p, "input_file", TALK, RLT_ESCHEMA, "/c",
                   "rank 0 has fewer messages than the plan 'talk' in its metadata");
    p = pair();
    p.n[0] = p.n[1] = 4;
    p.ops[0][2] = (op){SENDS, 1, 0, {0}, 0, 40, 7};
    p.ops[0][3] = (op){WORKS, 0, 0, {0}, 0, 0, 8};
    p.ops[1][2] = (op){WORKS, 0, 0, {0}, 0, 0, 7};
    p.ops[1][3] = (op){RECEIVES, 0, 0, {0}, 0, 40, 8};
    expect_refusal(&p, "input_file", TALK, RLT_ESCHEMA, "/c: node 7",
                   "rank 0 has more messages than the plan 'talk' in its metadata");
    p = pair();
    op first = p.ops[0][0];
    p.ops[0][0] = p.ops[0][1];
    p.ops[0][1] = first;
    expect_refusal(&p, "input_file", TALK, RLT_ESCHEMA, "/c: node 2",
                   "rank 0 receives from rank 1, but the plan in the metadata sends to rank 1 there");
    p = pair();
    first = p.ops[1][0];
    p.ops[1][0] = p.ops[1][1];
    p.ops[1][0].n_needs = 0;
    p.ops[1][1] = first;
    expect_refusal(&p, "input_file", TALK, RLT_ESCHEMA, "/c: node 2",
                   "rank 1 sends to rank 0, but the plan in the metadata receives from rank 0 there");
    p = pair();
    p.ops[0][1].bytes = p.ops[1][1].bytes = 42;
    expect_refusal(&p, "input_file", TALK, RLT_ESCHEMA, "/c: node 2",
                   "42 bytes for 2 chunks, but the first message has 20 bytes per chunk");
    p = pair();
    p.ops[0][0].bytes = p.ops[1][0].bytes = 41;
    expect_refusal(&p, "input_file", TALK, RLT_ESCHEMA, "/c: node 1",
                   "41 bytes for 2 chunks, but the first message has 20 bytes per chunk");
    p = pair();
    p.ranks = 3;
    expect_refusal(&p, "input_file", TALK, RLT_ESCHEMA, "/c", "3 files for a plan of 2 ranks");
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(one_plan), cmocka_unit_test(wrong_nodes),
                                       cmocka_unit_test(other_plans)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
