/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plans of all algorithms, as writers put them. The operations of a plan are worked out again, by a
 * search through all of its steps for each receive. MSCCL files hold what their run-time needs and no more.
 * Texts in the form that a writer gives come back byte for byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/formats/plan_file.h"
#include "collectives/formats/text.h"
#include "collectives/formats/unroll.h"
#include "collectives/listed.h"
#include "collectives/plan.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"

enum { MAX_STEPS = 1 << 12, MAX_TBS = 1 << 11 };

static rlt_step step_at(const rlt_plan *p, uint32_t place, uint32_t k)
{
    rlt_step s;
    rlt_step_clear(&s);
    p->algorithm->step(p, place / p->lanes, place % p->lanes, k, &s);
    return s;
}

static uint32_t steps_at(const rlt_plan *p, uint32_t place)
{
    return p->algorithm->steps(p, place / p->lanes, place % p->lanes);
}

static uint32_t total_steps(const rlt_plan *p)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < p->req.n * p->lanes; i++)
        n += steps_at(p, i);
    return n;
}

/* Where a message lands. */
static uint32_t place_to(const rlt_plan *p, uint32_t from, const rlt_step *s)
{
    return s->send_to * p->lanes + (from % p->lanes + s->peer_shift) % p->lanes;
}

static const char *const places[] = {"ring:2@50GB/s,500ns", "ring:3@50GB/s,500ns", "switch:4@50GB/s,1us",
                                     "ring:2@200GB/s,500ns*switch:3@50GB/s,500ns"};

/* Calls `check` for the plans of all algorithms on small networks, if they are no work of the network
 * itself. */
static uint32_t every_plan(uint32_t lanes, void (*check)(const rlt_plan *plan))
{
    uint32_t n = 0;
    for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
        test_group g;
        test_group_open(&g, places[i], 0);
        for (uint32_t a = 0; rlt_algorithm_at(a); a++)
            for (int kind = 0; kind < RLT_COLL_KINDS; kind++) {
                rlt_coll_request req = rlt_group_request(&g.g, (rlt_coll_kind)kind, 1 << 16);
                rlt_plan plan;
                req.params.channels = lanes;
                if (!(rlt_algorithm_at(a)->kinds & 1u << kind) || (kind == RLT_SEND_RECV && g.g.n != 2) ||
                    rlt_plan_create(rlt_algorithm_at(a), &req, &plan, &(rlt_error){0}))
                    continue;
                if (!plan.reduces && !plan.multicasts && total_steps(&plan) < MAX_STEPS) {
                    check(&plan);
                    n++;
                }
                rlt_plan_free(&plan);
            }
        test_group_close(&g);
    }
    return n;
}

/* The operations of a plan, one after another, and where each step of a place ends. */
typedef struct expected {
    rlt_unrolled_op ops[4 * MAX_STEPS];
    uint32_t n, done[MAX_STEPS], begin[MAX_STEPS + 1];
} expected;

static void expect_op(expected *x, const rlt_plan *p, uint8_t type, uint32_t place, uint32_t k,
                      uint32_t *last)
{
    x->ops[x->n] = (rlt_unrolled_op){type, place / p->lanes, place % p->lanes, k, RLT_NONE, *last, RLT_NONE};
    *last = x->n++;
}

/* One receive for each message of any step to this one. Its sender stands in `other` for now. */
static void expect_receives(expected *x, const rlt_plan *p, uint32_t place, uint32_t k, uint32_t *last)
{
    for (uint32_t from = 0; from < p->req.n * p->lanes; from++)
        for (uint32_t i = 0; i < steps_at(p, from); i++) {
            rlt_step s = step_at(p, from, i);
            if (s.send_to == RLT_NONE || place_to(p, from, &s) != place || s.peer_step != k)
                continue;
            expect_op(x, p, RLT_OP_RECV, place, k, last);
            x->ops[x->n - 1].other = x->begin[from] + i;
        }
}

static void expect_ops(expected *x, const rlt_plan *p, bool wait_all)
{
    static uint32_t sends[MAX_STEPS];
    uint32_t all = p->req.n * p->lanes;
    x->n = x->begin[0] = 0;
    for (uint32_t i = 0; i < all; i++)
        x->begin[i + 1] = x->begin[i] + steps_at(p, i);
    for (uint32_t i = 0; i < all; i++) {
        uint32_t last = RLT_NONE;
        for (uint32_t k = 0; k < steps_at(p, i); k++) {
            rlt_step s = step_at(p, i, k);
            if (s.wait_lane != RLT_NONE)
                expect_op(x, p, RLT_OP_NOP, i, k, &last);
            if (s.copy)
                expect_op(x, p, RLT_OP_COPY, i, k, &last);
            uint32_t before = last;
            if (s.send_to != RLT_NONE) {
                sends[x->begin[i] + k] = x->n;
                expect_op(x, p, RLT_OP_SEND, i, k, &last);
                last = s.nowait && !wait_all ? before : last;
            }
            expect_receives(x, p, i, k, &last);
            x->done[x->begin[i] + k] = last;
        }
    }
    for (uint32_t i = 0; i < x->n; i++) {
        rlt_unrolled_op *o = &x->ops[i];
        uint32_t place = o->member * p->lanes + o->lane;
        rlt_step s = step_at(p, place, o->step);
        if (o->type == RLT_OP_NOP)
            o->wait = x->done[x->begin[o->member * p->lanes + s.wait_lane] + s.wait_step];
        if (o->type == RLT_OP_RECV) {
            o->other = sends[o->other];
            x->ops[o->other].other = i;
        }
    }
}

static void check_unrolled(const rlt_plan *p)
{
    static expected x;
    for (int wait_all = 0; wait_all < 2; wait_all++) {
        rlt_unrolled u;
        rlt_error err = {0};
        uint32_t member = 0;
        expect_ops(&x, p, wait_all);
        if (rlt_unroll(p, wait_all, &u, &err))
            fail_msg("%s: %s", err.where, err.what);
        assert_int_equal(u.n_ops, x.n);
        for (uint32_t i = 0; i < x.n; i++) {
            const rlt_unrolled_op *a = &u.ops[i], *b = &x.ops[i];
            if (a->type != b->type || a->member != b->member || a->lane != b->lane || a->step != b->step ||
                a->other != b->other || a->after != b->after || a->wait != b->wait)
                fail_msg("%s of %s, %u members: operation %u", rlt_coll_name(p->req.kind), p->algorithm->name,
                         p->req.n, i);
            for (; member <= b->member; member++)
                assert_int_equal(u.first[member], i);
        }
        assert_int_equal(u.first[p->req.n], x.n);
        rlt_unrolled_free(&u);
    }
}

static void operations_are_those_of_the_steps(void **state)
{
    (void)state;
    assert_true(every_plan(0, check_unrolled) > 50);
    assert_true(every_plan(2, check_unrolled) > 50);
}

/* A thread block of a written file. */
typedef struct tb {
    int send, recv, chan;
    uint32_t gpu, first, n;
} tb;

typedef struct xml_step {
    char type[8], src, dst;
    uint32_t src_at, dst_at, count, has;
    int dep_tb, dep_step;
    bool named; /* another step waits for it */
} xml_step;

typedef struct xml {
    uint32_t n_tbs, n_steps, channels, chunks, gpus, in, out, s[3];
    char coll[32];
    tb tbs[MAX_TBS];
    xml_step steps[4 * MAX_STEPS];
} xml;

static void read_xml(const char *text, xml *x)
{
    uint32_t gpu = 0, id, k;
    memset(x, 0, offsetof(xml, tbs));
    assert_int_equal(sscanf(text,
                            "<algo name=\"%*[^\"]\" proto=\"Simple\" nchannels=\"%u\" nchunksperloop=\"%u\" "
                            "ngpus=\"%u\" coll=\"%31[^\"]\" inplace=\"%u\" outofplace=\"%u\"",
                            &x->channels, &x->chunks, &x->gpus, x->coll, &x->in, &x->out),
                     6);
    for (const char *at = text; (at = strchr(at, '\n')) && at[1];) {
        tb *t = &x->tbs[x->n_tbs];
        xml_step *s = &x->steps[x->n_steps];
        for (at++; *at == ' ';)
            at++;
        if (sscanf(at, "<gpu id=\"%u\" i_chunks=\"%u\" o_chunks=\"%u\" s_chunks=\"%u\">", &gpu, &x->s[0],
                   &x->s[1], &x->s[2]) == 4)
            continue;
        if (sscanf(at, "<tb id=\"%u\" send=\"%d\" recv=\"%d\" chan=\"%d\">", &id, &t->send, &t->recv,
                   &t->chan) == 4) {
            t->gpu = gpu;
            t->first = x->n_steps;
            t->n = 0;
            x->n_tbs++;
        } else if (
            sscanf(at,
                   "<step s=\"%u\" type=\"%7[^\"]\" srcbuf=\"%c\" srcoff=\"%u\" dstbuf=\"%c\" dstoff=\"%u\" "
                   "cnt=\"%u\" depid=\"%d\" deps=\"%d\" hasdep=\"%u\"/>",
                   &k, s->type, &s->src, &s->src_at, &s->dst, &s->dst_at, &s->count, &s->dep_tb, &s->dep_step,
                   &s->has) == 10) {
            s->named = false;
            x->tbs[x->n_tbs - 1].n++;
            x->n_steps++;
        } else
            assert_memory_equal(at, "</", 2);
    }
}

/* Each wait is for another thread block of the gpu, and for more than was awaited before; steps that are
 * awaited say so, and no others. */
static void check_waits(xml *x, uint32_t t)
{
    const tb *b = &x->tbs[t];
    uint32_t first = t, end = t, waited[MAX_TBS] = {0};
    while (first > 0 && x->tbs[first - 1].gpu == b->gpu)
        first--;
    while (end < x->n_tbs && x->tbs[end].gpu == b->gpu)
        end++;
    for (uint32_t i = b->first; i < b->first + b->n; i++) {
        const xml_step *s = &x->steps[i];
        assert_int_equal(s->dep_tb < 0, s->dep_step < 0);
        if (s->dep_tb < 0)
            continue;
        uint32_t other = first + (uint32_t)s->dep_tb;
        assert_true(other < end && other != t && (uint32_t)s->dep_step < x->tbs[other].n);
        assert_true((uint32_t)s->dep_step + 1 > waited[s->dep_tb]);
        waited[s->dep_tb] = (uint32_t)s->dep_step + 1;
        x->steps[x->tbs[other].first + (uint32_t)s->dep_step].named = true;
    }
}

/* A thread block sends to its peer, receives from it, or has none. */
static void check_block(const xml *x, const tb *b)
{
    bool sends = false, receives = false;
    assert_true(b->n > 0 && b->chan >= 0 && (uint32_t)b->chan < x->channels);
    for (uint32_t i = b->first; i < b->first + b->n; i++) {
        const xml_step *s = &x->steps[i];
        sends |= s->type[0] == 's';
        receives |= s->type[0] == 'r' && strcmp(s->type, "re") != 0;
        if (s->type[0] == 'r' && strcmp(s->type, "re") != 0)
            assert_true(s->src == s->dst && s->src_at == s->dst_at);
        assert_int_equal(s->count == 0, strcmp(s->type, "nop") == 0);
    }
    assert_int_equal(sends, b->send >= 0);
    assert_int_equal(receives, b->recv >= 0);
}

static bool pairs_of(const rlt_plan *p)
{
    for (uint32_t i = 0; i < p->req.n * p->lanes; i++)
        for (uint32_t k = 0; k < steps_at(p, i); k++) {
            rlt_step s = step_at(p, i, k);
            if (s.send_to != RLT_NONE && s.peer_shift % p->lanes)
                return true;
        }
    return false;
}

/* The peers of a lane, and its channels, from the operations that were checked above. */
static uint32_t blocks_of(const rlt_plan *p, const rlt_unrolled *u, uint32_t member, uint32_t lane,
                          bool wait_all)
{
    bool sends[64][64] = {{false}}, receives[64][64] = {{false}}, local = false, simple = true,
         pairs = pairs_of(p);
    uint32_t channels[64] = {0}, to = 0, from = 0, used = 0, any = 0, split = 0;
    for (uint32_t i = u->first[member]; i < u->first[member + 1]; i++) {
        const rlt_unrolled_op *o = &u->ops[i], *other = o->other == RLT_NONE ? o : &u->ops[o->other];
        const rlt_unrolled_op *sender = o->type == RLT_OP_RECV ? other : o;
        if (o->lane != lane)
            continue;
        any = 1;
        if (o->type != RLT_OP_SEND && o->type != RLT_OP_RECV) {
            local = true;
            continue;
        }
        uint32_t at = pairs ? sender->lane * p->lanes + (sender == o ? other : o)->lane : sender->lane;
        channels[at] = 1;
        (o->type == RLT_OP_SEND ? sends : receives)[other->member][at] = true;
        if (o->type == RLT_OP_SEND && step_at(p, o->member * p->lanes + o->lane, o->step).nowait && !wait_all)
            simple = false;
    }
    for (uint32_t k = 0; k < 64; k++) {
        bool a = false, b = false;
        for (uint32_t c = 0; c < 64; c++) {
            split += sends[k][c] + receives[k][c];
            a |= sends[k][c];
            b |= receives[k][c];
        }
        to += a;
        from += b;
        used += channels[k];
    }
    simple = simple && to <= 1 && from <= 1 && used <= 1;
    return simple ? any : split + local;
}

static void check_msccl(const rlt_plan *p)
{
    static xml x;
    static const char *const names[] = {"allreduce", "allgather", "alltoall"};
    char *text = NULL;
    size_t length = 0;
    rlt_error err = {0};
    rlt_unrolled u;
    uint64_t chunks = 0, sent = 0, blocks = 0, waiting = 0;
    if (p->req.kind == RLT_BARRIER)
        return;
    if (rlt_plan_write(p, RLT_PLAN_MSCCL, &text, &length, &err))
        fail_msg("%s: %s", err.where, err.what);
    read_xml(text, &x);
    bool gathers = p->req.kind == RLT_ALL_GATHER || p->req.kind == RLT_GATHER;
    bool scatters = p->req.kind == RLT_REDUCE_SCATTER || p->req.kind == RLT_SCATTER;
    assert_string_equal(x.coll, p->req.kind == RLT_ALL_REDUCE   ? names[0]
                                : p->req.kind == RLT_ALL_GATHER ? names[1]
                                : p->req.kind == RLT_ALL_TO_ALL ? names[2]
                                                                : rlt_coll_name(p->req.kind));
    assert_int_equal(x.gpus, p->req.n);
    assert_int_equal(x.chunks, p->blocks * (p->shared ? 1 : p->lanes));
    assert_int_equal(x.channels, pairs_of(p) ? p->lanes * p->lanes : p->lanes);
    assert_true(x.in == (p->result == 0) && x.out == !x.in);
    assert_int_equal(x.s[0], gathers ? x.chunks / p->req.n : x.chunks);
    assert_int_equal(x.s[1], scatters ? x.chunks / p->req.n : x.chunks);
    assert_int_equal(x.s[2] > 0, p->buffers > 1);
    for (uint32_t t = 0; t < x.n_tbs; t++)
        check_waits(&x, t);
    for (uint32_t t = 0; t < x.n_tbs; t++)
        check_block(&x, &x.tbs[t]);
    for (uint32_t i = 0; i < x.n_steps; i++) {
        assert_int_equal(x.steps[i].has, x.steps[i].named);
        chunks += x.steps[i].type[0] == 's' ? x.steps[i].count : 0;
    }
    assert_int_equal(rlt_unroll(p, false, &u, &err), 0);
    for (uint32_t i = 0; i < p->req.n * p->lanes; i++) {
        for (uint32_t k = 0; k < steps_at(p, i); k++) {
            rlt_step s = step_at(p, i, k);
            sent += s.send_to == RLT_NONE ? 0 : s.send.run * s.send.reps;
        }
        blocks += blocks_of(p, &u, i / p->lanes, i % p->lanes, false);
        waiting += blocks_of(p, &u, i / p->lanes, i % p->lanes, true);
    }
    assert_int_equal(chunks, sent);
    if (x.n_tbs != blocks && x.n_tbs != waiting)
        fail_msg("%s of %s, %u members: %u thread blocks", rlt_coll_name(p->req.kind), p->algorithm->name,
                 p->req.n, x.n_tbs);
    rlt_unrolled_free(&u);
    free(text);
}

static void msccl_has_what_its_run_time_needs(void **state)
{
    (void)state;
    assert_true(every_plan(0, check_msccl) > 50);
    assert_true(every_plan(2, check_msccl) > 50);
}

typedef struct text_plan {
    test_group g;
    rlt_listed l;
    rlt_plan plan;
} text_plan;

/* Reads a plan for all ranks of a topology. */
static void read_plan(text_plan *p, const char *text, const char *topology)
{
    rlt_error err = {0};
    test_group_open(&p->g, topology, 0);
    if (rlt_plan_parse("f", text, strlen(text), NULL, &p->l, &err))
        fail_msg("%s: %s", err.where, err.what);
    rlt_coll_request req = rlt_group_request(&p->g.g, p->l.kind, p->l.untracked ? p->l.bytes : 1 << 20);
    req.root = p->l.root;
    req.listed = &p->l;
    if (rlt_plan_create(&rlt_custom, &req, &p->plan, &err))
        fail_msg("%s: %s", err.where, err.what);
}

static void close_plan(text_plan *p)
{
    rlt_plan_free(&p->plan);
    rlt_listed_free(&p->l);
    test_group_close(&p->g);
}

/* A text in the form that the writer gives comes back byte for byte: no key is said without need. */
static void comes_back(const char *text, rlt_plan_format format, const char *topology)
{
    text_plan p;
    rlt_error err = {0};
    char *again = NULL;
    size_t length = 0;
    read_plan(&p, text, topology);
    if (rlt_plan_write(&p.plan, format, &again, &length, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_string_equal(again, text);
    assert_int_equal(length, strlen(text));
    free(again);
    close_plan(&p);
}

#define HEAD(kind, root, lanes, blocks, of, buffers, result)                                                 \
    "{\n  \"format\": \"ringlet-plan\",\n  \"version\": 1,\n  \"name\": \"x\",\n  \"collective\": \"" kind   \
    "\",\n  \"ranks\": 2,\n  \"root\": " root ",\n  \"lanes\": " lanes ",\n  \"blocks\": " blocks            \
    ",\n  \"blocks_of\": \"" of "\",\n  \"buffers\": " buffers ",\n  \"result\": " result ",\n"

static void texts_come_back(void **state)
{
    (void)state;
    /* The second lane waits for the first, sends without waiting, and across to the first. */
    static const char lanes[] = HEAD(
        "broadcast", "1", "2", "2", "all", "1",
        "0") "  \"programs\": [\n"
             "    {\"rank\": 0, \"lane\": 0, \"steps\": [\n"
             "      {\"receives\": 1, \"from\": 1},\n      {\"receives\": 1, \"from\": 1}]},\n"
             "    {\"rank\": 1, \"lane\": 0, \"steps\": [\n      {\"to\": 0, \"step\": 0, \"send\": [1]}]},\n"
             "    {\"rank\": 1, \"lane\": 1, \"steps\": [\n"
             "      {\"to\": 0, \"step\": 1, \"lane\": 0, \"send\": [0], \"nowait\": true, "
             "\"after\": [0, 0]}]}]\n}\n";
    /* Each lane has a block of its own; the sums are added where they land. */
    static const char own[] =
        HEAD("all_reduce", "0", "2", "1", "lane", "1",
             "0") "  \"programs\": [\n"
                  "    {\"rank\": 0, \"lane\": 0, \"steps\": [\n"
                  "      {\"to\": 1, \"step\": 0, \"send\": [0], \"add\": true},\n"
                  "      {\"receives\": 1, \"from\": 1}]},\n"
                  "    {\"rank\": 0, \"lane\": 1, \"steps\": [\n      {\"receives\": 1, \"from\": 1},\n"
                  "      {\"to\": 1, \"step\": 1, \"send\": [0]}]},\n"
                  "    {\"rank\": 1, \"lane\": 0, \"steps\": [\n      {\"receives\": 1, \"from\": 0},\n"
                  "      {\"to\": 0, \"step\": 1, \"send\": [0]}]},\n"
                  "    {\"rank\": 1, \"lane\": 1, \"steps\": [\n"
                  "      {\"to\": 0, \"step\": 0, \"send\": [0], \"add\": true},\n"
                  "      {\"receives\": 1, \"from\": 0}]}]\n}\n";
    static const char untracked[] = HEAD(
        "broadcast", "1", "1", "1", "untracked", "1",
        "0") "  \"bytes\": 70,\n"
             "  \"programs\": [\n"
             "    {\"rank\": 0, \"lane\": 0, \"steps\": [\n      {\"receives\": 2, \"from\": 1}]},\n"
             "    {\"rank\": 1, \"lane\": 0, \"steps\": [\n      {\"to\": 0, \"step\": 0, \"bytes\": 30},\n"
             "      {\"to\": 0, \"step\": 0, \"bytes\": 40}]}]\n}\n";
    /* In the network: a sum at rank 1, and another at both. */
    static const char reduces[] =
        HEAD("reduce", "1", "1", "1", "all", "2",
             "1") "  \"programs\": [\n"
                  "    {\"rank\": 1, \"lane\": 0, \"steps\": [\n"
                  "      {\"to\": 1, \"step\": 0, \"send\": [0], \"into\": 1, \"verb\": \"reduce\", "
                  "\"receives\": 1, "
                  "\"from\": 1}]}]\n}\n";
    static const char at_all[] =
        HEAD("all_reduce", "0", "1", "1", "all", "2",
             "1") "  \"programs\": [\n"
                  "    {\"rank\": 0, \"lane\": 0, \"steps\": [\n"
                  "      {\"step\": 0, \"send\": [0], \"into\": 1, \"verb\": \"reduce_all\", "
                  "\"receives\": 1, \"from\": 0}]},\n"
                  "    {\"rank\": 1, \"lane\": 0, \"steps\": [\n      {\"receives\": 1, \"from\": 0}]}]\n}\n";
    static const char goal[] =
        "/* ringlet plan: x collective broadcast root 1 bytes 70 */\nnum_ranks 2\n\n"
        "rank 0 {\nl1: recv 30b from 1 tag 0\nl2: recv 40b from 1 tag 1\nl2 requires l1\n}\n\n"
        "rank 1 {\nl1: send 30b to 0 tag 0\nl2: send 40b to 0 tag 1\nl2 requires l1\n}\n";
    /* Two blocks apart, twice; the second message lands in the other buffer and is copied from there. */
    static const char apart[] = "{\n  \"format\": \"ringlet-plan\",\n  \"version\": 1,\n  \"name\": \"x\",\n"
                                "  \"collective\": \"broadcast\",\n  \"ranks\": 2,\n  \"root\": 0,\n"
                                "  \"lanes\": 1,\n  \"blocks\": 4,\n  \"blocks_of\": \"all\",\n"
                                "  \"buffers\": 2,\n  \"result\": 0,\n  \"programs\": [\n"
                                "    {\"rank\": 0, \"lane\": 0, \"steps\": [\n"
                                "      {\"to\": 1, \"step\": 0, \"send\": [0, 1, 2, 2]},\n"
                                "      {\"to\": 1, \"step\": 1, \"send\": [1, 1, 2, 2], \"land\": [0, 2], "
                                "\"into\": 1}]},\n"
                                "    {\"rank\": 1, \"lane\": 0, \"steps\": [\n"
                                "      {\"receives\": 1, \"from\": 0},\n"
                                "      {\"receives\": 1, \"from\": 0},\n"
                                "      {\"send\": [0, 2], \"land\": [1, 1, 2, 2], \"buffer\": 1, "
                                "\"copy\": true}]}]\n}\n";
    comes_back(apart, RLT_PLAN_JSON, "switch:2@50GB/s,1us");
    comes_back(lanes, RLT_PLAN_JSON, "switch:2@50GB/s,1us");
    comes_back(own, RLT_PLAN_JSON, "switch:2@50GB/s,1us");
    comes_back(untracked, RLT_PLAN_JSON, "switch:2@50GB/s,1us");
    comes_back(reduces, RLT_PLAN_JSON, "switch:2@50GB/s,1us");
    comes_back(at_all, RLT_PLAN_JSON, "switch:2@50GB/s,1us");
    comes_back(goal, RLT_PLAN_GOAL, "switch:2@50GB/s,1us");
}

/* The first message is for the second step. A connection of MSCCL keeps the order of its messages. */
static void msccl_refuses_messages_that_overtake(void **state)
{
    (void)state;
    static const char crossed[] =
        "{\"format\": \"ringlet-plan\", \"version\": 1, \"name\": \"x\", \"collective\": \"broadcast\", "
        "\"ranks\": 2, \"lanes\": 1, \"blocks\": 2, \"blocks_of\": \"all\", \"buffers\": 1, \"result\": 0, "
        "\"programs\": [{\"rank\": 0, \"lane\": 0, \"steps\": [{\"to\": 1, \"step\": 1, \"send\": [0]}, "
        "{\"to\": 1, \"step\": 0, \"send\": [1]}]}, {\"rank\": 1, \"lane\": 0, \"steps\": ["
        "{\"receives\": 1, \"from\": 0}, {\"receives\": 1, \"from\": 0}]}]}";
    text_plan p;
    rlt_error err = {0};
    char *text = NULL;
    size_t length = 0;
    read_plan(&p, crossed, "switch:2@50GB/s,1us");
    assert_int_equal(rlt_plan_write(&p.plan, RLT_PLAN_MSCCL, &text, &length, &err), RLT_EUNSUPPORTED);
    assert_non_null(strstr(err.what, "member 1 does not receive in the order in which member 0 sends"));
    close_plan(&p);
}

typedef struct refusal {
    const char *text;
    rlt_plan_format format;
    int code;
    const char *says;
} refusal;

/* The writer refuses the plan of a text, in words that begin with these, and leaves nothing behind. */
static void check_refusal(const refusal *r)
{
    text_plan p;
    rlt_error err = {0};
    char *text = NULL;
    size_t length = 0;
    read_plan(&p, r->text, "switch:2@50GB/s,1us");
    int rc = rlt_plan_write(&p.plan, r->format, &text, &length, &err);
    if (rc != r->code || strncmp(err.what, r->says, strlen(r->says)) != 0)
        fail_msg("%d %s: %s; expected '%s'", rc, err.where, err.what, r->says);
    assert_string_equal(err.where, "custom");
    assert_null(text);
    close_plan(&p);
}

static void plans_beyond_a_format(void **state)
{
    (void)state;
    /* A sum in the network. */
    static const char reduces[] = HEAD(
        "reduce", "1", "1", "1", "all", "2",
        "1") "\"programs\": [{\"rank\": 1, \"lane\": 0, \"steps\": [{\"to\": 1, \"step\": 0, \"send\": [0], "
             "\"into\": 1, \"verb\": \"reduce\", \"receives\": 1, \"from\": 1}]}]}";
    /* Three blocks: the first rank has two of them. */
    static const char uneven[] =
        HEAD("gather", "1", "1", "3", "all", "1",
             "0") "\"programs\": [{\"rank\": 0, \"lane\": 0, \"steps\": [{\"to\": 1, \"step\": 0, "
                  "\"send\": [0, 2]}]}, {\"rank\": 1, \"lane\": 0, \"steps\": [{\"receives\": 1}]}]}";
    /* 65 lanes, and a message from the first to the last. */
    static const char across[] = HEAD(
        "broadcast", "0", "65", "1", "all", "1",
        "0") "\"programs\": [{\"rank\": 0, \"lane\": 0, \"steps\": [{\"to\": 1, \"step\": 0, \"lane\": 64, "
             "\"send\": [0]}]}, {\"rank\": 1, \"lane\": 64, \"steps\": [{\"receives\": 1}]}]}";
    static const refusal all[] = {
        {reduces, RLT_PLAN_GOAL, RLT_EUNSUPPORTED, "in-network reductions and multicasts cannot be written"},
        {reduces, RLT_PLAN_MSCCL, RLT_EUNSUPPORTED, "in-network reductions and multicasts cannot be written"},
        {uneven, RLT_PLAN_MSCCL, RLT_EUNSUPPORTED, "3 blocks cannot be divided equally among 2 members"},
        {across, RLT_PLAN_MSCCL, RLT_ERANGE,
         "65 lanes that send to each other need 4225 channels; the limit is 4096"},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++)
        check_refusal(&all[i]);
}

/* MSCCL has at most 4096 members. JSON does not know the dimensions inside which a switch adds up. */
static void algorithms_beyond_a_format(void **state)
{
    (void)state;
    rlt_coll_request req = {.kind = RLT_BROADCAST, .n = 4096, .bytes = 1 << 16, .params.chunks = 1};
    rlt_coll_request inside = test_grid_request((const uint32_t[]){2, 2, 0}, RLT_ALL_REDUCE, 1 << 16);
    rlt_plan plan;
    rlt_error err = {0};
    char *text = NULL;
    size_t length = 0;
    for (; req.n <= 4097; req.n++) {
        assert_int_equal(rlt_plan_create(&rlt_tree, &req, &plan, &err), 0);
        assert_int_equal(rlt_plan_write(&plan, RLT_PLAN_MSCCL, &text, &length, &err),
                         req.n > 4096 ? RLT_ERANGE : 0);
        rlt_plan_free(&plan);
        assert_int_equal(text == NULL, req.n > 4096);
        free(text);
        text = NULL;
    }
    assert_string_equal(err.where, "tree");
    assert_string_equal(err.what, "4097 members with 2 chunks are too many for MSCCL");
    err = (rlt_error){0};
    inside.params.patterns[0] = "nvls";
    assert_int_equal(rlt_plan_create(&rlt_hierarchical, &inside, &plan, &err), 0);
    assert_int_equal(rlt_plan_write(&plan, RLT_PLAN_JSON, &text, &length, &err), RLT_EUNSUPPORTED);
    assert_string_equal(err.where, "hierarchical");
    assert_string_equal(err.what,
                        "reductions and multicasts inside dimensions cannot be written in this format");
    rlt_plan_free(&plan);
}

/* A plan that lists messages of no bytes has no shares to scale. */
static void no_bytes_cannot_be_scaled(void **state)
{
    (void)state;
    static const char empty[] =
        "/* ringlet plan: x collective broadcast root 1 bytes 0 */\nnum_ranks 2\n"
        "rank 0 {\nl1: recv 0b from 1 tag 0\n}\nrank 1 {\nl1: send 0b to 0 tag 0\n}\n";
    text_plan p;
    rlt_plan plan;
    rlt_error err = {0};
    read_plan(&p, empty, "switch:2@50GB/s,1us");
    rlt_coll_request req = p.plan.req;
    req.bytes = 1;
    assert_int_equal(rlt_plan_create(&rlt_custom, &req, &plan, &err), RLT_EUNSUPPORTED);
    assert_string_equal(err.where, "f");
    assert_string_equal(err.what, "'x' was made for 0 bytes and cannot be scaled to 1");
    close_plan(&p);
}

/* Letters, digits and a few marks stay; all others become '_'. A name is cut to its room. */
static void names_are_plain(void **state)
{
    (void)state;
    static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.+(),=:";
    for (int c = 1; c < 256; c++) {
        char name[3] = {(char)c, 'x', '\0'}, out[3] = "??";
        rlt_plain_name(name, out, sizeof out);
        assert_int_equal(out[0], strchr(plain, c) ? (char)c : '_');
        assert_string_equal(out + 1, "x");
    }
    for (size_t size = 1; size <= 5; size++) {
        char out[8] = "#######";
        rlt_plain_name("abc", out, size);
        assert_int_equal(strlen(out), size < 4 ? size - 1 : 3);
        assert_memory_equal(out, "abc", strlen(out));
        assert_int_equal(out[strlen(out) + 1], '#');
    }
    rlt_plan_format formats[] = {RLT_PLAN_JSON, RLT_PLAN_MSCCL, RLT_PLAN_GOAL, RLT_PLAN_FORMATS};
    const char *const words[] = {"json", "msccl", "goal", "unknown"};
    for (int i = 0; i < 4; i++)
        assert_string_equal(rlt_plan_format_name(formats[i]), words[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_are_those_of_the_steps),
        cmocka_unit_test(msccl_has_what_its_run_time_needs),
        cmocka_unit_test(texts_come_back),
        cmocka_unit_test(msccl_refuses_messages_that_overtake),
        cmocka_unit_test(plans_beyond_a_format),
        cmocka_unit_test(algorithms_beyond_a_format),
        cmocka_unit_test(no_bytes_cannot_be_scaled),
        cmocka_unit_test(names_are_plain),
    };
    return cmocka_run_group_tests_name("formats_written", tests, NULL, NULL);
}
