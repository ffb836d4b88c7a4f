/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random GOAL programs, spelled in random ways. A second model works out from the operations, without lanes,
 * which of them must be over before another one ends. The steps that the reader makes must say the same: no
 * order is lost, and none is added.
 */
#include <stdio.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/formats/plan_file.h"
#include "collectives/listed.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"

enum { MAX_OPS = 24, MAX_EDGES = 48, MAX_STEPS = 192 };
enum { SEND, RECV, CALC };

typedef struct op {
    uint32_t type, rank, peer, tag, line, match;
    uint64_t bytes;
    char label[40];
} op;

typedef struct edge {
    uint32_t op, needs;
    bool early;
} edge;

typedef struct program {
    uint32_t n_ranks, n_ops, n_edges, root;
    uint64_t bytes;
    op ops[MAX_OPS];
    edge edges[MAX_EDGES];
    bool described;
    /* the file */
    char text[16384];
    size_t n;
    uint32_t line;
} program;

/* Which nodes of a graph reach which. */
typedef struct reach {
    uint32_t n;
    bool to[MAX_STEPS][MAX_STEPS];
} reach;

static void close_under(reach *r)
{
    for (uint32_t k = 0; k < r->n; k++)
        for (uint32_t i = 0; i < r->n; i++)
            for (uint32_t j = 0; r->to[i][k] && j < r->n; j++)
                r->to[i][j] |= r->to[k][j];
}

static void put(program *p, const char *word)
{
    size_t n = strlen(word);
    assert_true(p->n + n < sizeof p->text);
    memcpy(p->text + p->n, word, n + 1);
    p->n += n;
    for (size_t i = 0; i < n; i++)
        p->line += word[i] == '\n';
}

/* Puts something that may stand between two words; `needed`: they are not words if nothing does. */
static void gap(program *p, dice *d, bool needed)
{
    static const char *const all[] = {" ",      "  ",         "\t",          "\n",     "\r\n",
                                      " \n \t", "/**/",       "/***/ ",      "/*/ */", "//\n",
                                      "// {\n", "/* a\nb */", " /* * / */\n"};
    for (uint32_t i = needed ? 1 : below(d, 2); i; i = below(d, 4) == 0)
        put(p, below(d, 3) ? " " : all[below(d, sizeof all / sizeof *all)]);
}

static void put_number(program *p, dice *d, uint64_t value, const char *suffix)
{
    char text[80];
    snprintf(text, sizeof text, "%.*s%llu%s", (int)(below(d, 4) ? 0 : below(d, 9)), "000000000",
             (unsigned long long)value, suffix);
    put(p, text);
}

static void option(program *p, dice *d, const char *name, uint64_t value)
{
    gap(p, d, true);
    put(p, name);
    gap(p, d, true);
    put_number(p, d, value, "");
}

static void put_op(program *p, dice *d, op *o)
{
    static const char *const words[] = {"send", "recv", "calc"};
    uint32_t when = below(d, 3);
    put(p, "\n");
    put(p, o->label);
    gap(p, d, false);
    put(p, ":");
    gap(p, d, false);
    o->line = p->line;
    put(p, words[o->type]);
    gap(p, d, true);
    put_number(p, d, o->type == CALC ? 0 : o->bytes, o->type != CALC && below(d, 2) ? "b" : "");
    if (o->type != CALC)
        option(p, d, o->type == SEND ? "to" : "from", o->peer);
    if (when == 0)
        option(p, d, "cpu", below(d, 65536));
    if (o->type != CALC && (o->tag || below(d, 2)))
        option(p, d, "tag", o->tag);
    if (when == 1)
        option(p, d, "nic", below(d, 65536));
    put(p, "\n");
}

static void put_edge(program *p, dice *d, const edge *e)
{
    gap(p, d, true);
    put(p, p->ops[e->op].label);
    gap(p, d, true);
    put(p, e->early ? "irequires" : "requires");
    gap(p, d, true);
    put(p, p->ops[e->needs].label);
    gap(p, d, true);
}

/* Labels of a rank differ; a label may look like another one. */
static void name_ops(program *p, dice *d)
{
    static const char *const styles[] = {"l%u", "l0%u", "l%ux", "%u", "send%u", "op.%u", "l9999999%u", "L%u"};
    for (uint32_t i = 0; i < p->n_ops; i++)
        snprintf(p->ops[i].label, sizeof p->ops[i].label,
                 below(d, 2) ? "l%u" : styles[below(d, sizeof styles / sizeof *styles)], i);
}

static void spell(program *p, dice *d)
{
    char head[200];
    p->line = 1;
    if (p->described) {
        snprintf(head, sizeof head, "/* ringlet plan: any-name collective all_reduce root %u bytes %llu */",
                 p->root, (unsigned long long)p->bytes);
        put(p, head);
    } else
        put(p, below(d, 2) ? "// by hand\n" : "/* ringlet */");
    gap(p, d, false);
    option(p, d, "num_ranks", p->n_ranks);
    for (uint32_t k = 0, first = below(d, p->n_ranks); k < p->n_ranks; k++) {
        uint32_t rank = (first + k) % p->n_ranks;
        bool late = below(d, 2);
        option(p, d, "rank", rank);
        gap(p, d, false);
        put(p, "{");
        for (uint32_t i = 0; i < p->n_ops; i++) {
            if (p->ops[i].rank == rank)
                put_op(p, d, &p->ops[i]);
            for (uint32_t e = 0; e < p->n_edges && !late; e++)
                if (p->ops[i].rank == rank && p->edges[e].op == i)
                    put_edge(p, d, &p->edges[e]);
        }
        for (uint32_t e = 0; e < p->n_edges && late; e++)
            if (p->ops[p->edges[e].op].rank == rank)
                put_edge(p, d, &p->edges[e]);
        put(p, "}");
        gap(p, d, false);
    }
}

/* The k-th send of a rank to another with a tag meets the k-th receive, in the order of the file. */
static void match_ops(program *p)
{
    for (uint32_t i = 0; i < p->n_ops; i++) {
        op *s = &p->ops[i];
        uint32_t before = 0;
        for (uint32_t k = 0; k < i; k++)
            before += p->ops[k].type == SEND && p->ops[k].rank == s->rank && p->ops[k].peer == s->peer &&
                      p->ops[k].tag == s->tag;
        for (uint32_t k = 0; k < p->n_ops && s->type == SEND; k++) {
            op *r = &p->ops[k];
            if (r->type != RECV || r->rank != s->peer || r->peer != s->rank || r->tag != s->tag)
                continue;
            if (before-- == 0) {
                s->match = k;
                r->bytes = s->bytes;
            }
        }
    }
}

/* Operations in an order that has no circle, which then is shuffled a little: then it may have one. */
static void draw(program *p, dice *d)
{
    static const uint32_t tags[] = {0, 1, 7, UINT32_MAX - 1};
    memset(p, 0, sizeof *p);
    p->n_ranks = 2 + below(d, 4);
    p->root = below(d, p->n_ranks);
    p->described = below(d, 2);
    p->bytes = roll(d, (uint64_t)1 << 40);
    for (uint32_t n = 1 + below(d, MAX_OPS / 2); n > 0; n--) {
        uint32_t a = below(d, p->n_ranks), b = (a + 1 + below(d, p->n_ranks - 1)) % p->n_ranks;
        uint32_t tag = tags[below(d, 4)];
        if (below(d, 3) == 0) {
            p->ops[p->n_ops++] = (op){.type = CALC, .rank = a};
            continue;
        }
        p->ops[p->n_ops++] = (op){.type = SEND,
                                  .rank = a,
                                  .peer = b,
                                  .tag = tag,
                                  .bytes = roll(d, (uint64_t)1 << (1 + below(d, 48)))};
        p->ops[p->n_ops++] = (op){.type = RECV, .rank = b, .peer = a, .tag = tag};
    }
    for (uint32_t k = below(d, 4) ? 0 : 1 + below(d, 6); k > 0; k--) {
        uint32_t i = below(d, p->n_ops), j = below(d, p->n_ops);
        op o = p->ops[i];
        p->ops[i] = p->ops[j];
        p->ops[j] = o;
    }
    match_ops(p);
    name_ops(p, d);
    for (uint32_t k = 0; k < 6 * p->n_ops && p->n_edges < MAX_EDGES; k++) {
        uint32_t i = below(d, p->n_ops), j = below(d, p->n_ops);
        if ((j < i || below(d, 100) == 0) && p->ops[i].rank == p->ops[j].rank)
            p->edges[p->n_edges++] = (edge){i, j, below(d, 5) == 0};
    }
    spell(p, d);
}

/* Node 2 i is the begin of operation i, node 2 i + 1 its end. */
static void model(const program *p, reach *r)
{
    memset(r, 0, sizeof *r);
    r->n = 2 * p->n_ops;
    for (uint32_t i = 0; i < p->n_ops; i++) {
        r->to[2 * i][2 * i + 1] = true;
        if (p->ops[i].type == SEND)
            r->to[2 * i + 1][2 * p->ops[i].match + 1] = true;
    }
    for (uint32_t e = 0; e < p->n_edges; e++)
        r->to[2 * p->edges[e].needs + !p->edges[e].early][2 * p->edges[e].op] = true;
    close_under(r);
}

static uint32_t end_of(const rlt_listed *l)
{
    return l->first[l->n * l->lanes];
}

/* The order of the plan's steps: in their lanes, by their waits, and by messages. */
static void order_of(const rlt_listed *l, reach *r)
{
    memset(r, 0, sizeof *r);
    r->n = end_of(l);
    assert_true(r->n <= MAX_STEPS);
    for (uint32_t m = 0; m < l->n; m++)
        for (uint32_t lane = 0; lane < l->lanes; lane++) {
            uint32_t from = l->first[m * l->lanes + lane], to = l->first[m * l->lanes + lane + 1];
            for (uint32_t i = from; i < to; i++) {
                const rlt_step *s = &l->steps[i];
                assert_false(s->nowait || s->verb || s->copy);
                if (i + 1 < to)
                    r->to[i][i + 1] = true;
                if (s->wait_lane != RLT_NONE)
                    r->to[l->first[m * l->lanes + s->wait_lane] + s->wait_step][i] = true;
                if (s->send_to != RLT_NONE)
                    r->to[i][l->first[s->send_to * l->lanes + (lane + s->peer_shift) % l->lanes] +
                             s->peer_step] = true;
            }
        }
    close_under(r);
}

/* The step with which an operation ends: all other steps of its line lead to it. */
static uint32_t last_of(const rlt_listed *l, const reach *r, uint32_t line)
{
    for (uint32_t i = 0, k; i < r->n; i++) {
        for (k = 0; k < r->n; k++)
            if (l->line[k] == line && k != i && !r->to[k][i])
                break;
        if (l->line[i] == line && k == r->n)
            return i;
    }
    fail_msg("no step ends line %u", line);
    return 0;
}

static bool any_leads(const rlt_listed *l, const reach *r, uint32_t line, uint32_t to)
{
    for (uint32_t i = 0; i < r->n; i++)
        if (l->line[i] == line && (i == to || r->to[i][to]))
            return true;
    return false;
}

/* An operation that requires none, or whose requirements others continue, opens a lane: no other one does.
 * No step is there without need: one for each operation, and one more for each wait beyond the first. */
static void check_lanes(const program *p, const rlt_listed *l, const uint32_t *last)
{
    uint32_t steps = p->n_ops;
    for (uint32_t i = 0; i < p->n_edges; i++)
        if (p->edges[i].early)
            return;
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const uint32_t *first = l->first + p->ops[i].rank * l->lanes;
        uint32_t lane = 0, waits = 0;
        while (first[lane + 1] <= last[i])
            lane++;
        bool opens = l->line[first[lane]] == p->ops[i].line;
        for (uint32_t e = 0; e < p->n_edges; e++) {
            if (p->edges[e].op != i)
                continue;
            uint32_t of = last[p->edges[e].needs];
            waits += of < first[lane] || of >= first[lane + 1];
            for (uint32_t k = 0; opens && k < l->lanes; k++)
                assert_int_not_equal(first[k + 1], of + 1);
        }
        steps += waits > 1 ? waits - 1 : 0;
    }
    assert_int_equal(end_of(l), steps);
}

static void check_program(const program *p, const rlt_listed *l, const reach *wanted)
{
    static reach got;
    uint32_t last[MAX_OPS];
    order_of(l, &got);
    assert_int_equal(l->n, p->n_ranks);
    assert_true(l->untracked && l->kind == RLT_ALL_REDUCE);
    assert_int_equal(l->bytes, p->bytes);
    assert_int_equal(l->root, p->described ? p->root : 0);
    assert_string_equal(l->name, p->described ? "any-name" : "a_b.goal");
    assert_string_equal(l->source, "dir/a b.goal");
    for (uint32_t i = 0; i < p->n_ops; i++)
        last[i] = last_of(l, &got, p->ops[i].line);
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const op *o = &p->ops[i];
        const rlt_step *s = &l->steps[last[i]];
        assert_int_equal(s->send_to, o->type == SEND ? o->peer : RLT_NONE);
        assert_int_equal(s->send_bytes, o->type == SEND ? o->bytes : 0);
        assert_int_equal(s->recv_from, o->type == RECV ? o->peer : RLT_NONE);
        assert_int_equal(s->recv_count, o->type == RECV);
        for (uint32_t k = 0; k < p->n_ops; k++) {
            if (k == i)
                continue;
            if (got.to[last[k]][last[i]] != wanted->to[2 * k + 1][2 * i + 1] ||
                any_leads(l, &got, p->ops[k].line, last[i]) != wanted->to[2 * k][2 * i + 1])
                fail_msg("line %u before line %u:\n%s", p->ops[k].line, o->line, p->text);
        }
    }
    check_lanes(p, l, last);
}

static void programs_keep_their_order(void **state)
{
    (void)state;
    static program p;
    static reach wanted;
    dice d = {.seed = 11};
    uint32_t circles = 0;
    for (int i = 0; i < 1000; i++) {
        rlt_listed l;
        rlt_error err = {0};
        bool circle = false;
        draw(&p, &d);
        model(&p, &wanted);
        rlt_goal_hint hint = {RLT_ALL_REDUCE, p.bytes};
        for (uint32_t k = 0; k < wanted.n; k++)
            circle |= wanted.to[k][k];
        int rc = rlt_plan_parse("dir/a b.goal", p.text, p.n, &hint, &l, &err);
        circles += circle;
        if (circle)
            assert_true(rc == RLT_ECHECK || rc == RLT_ESCHEMA);
        else if (rc)
            fail_msg("%s: %s\n%s", err.where, err.what, p.text);
        else
            check_program(&p, &l, &wanted);
        if (!rc)
            rlt_listed_free(&l);
    }
    assert_true(circles > 50 && circles < 500);
}

/* A file that says nothing of its collective needs one from its caller. */
static void the_caller_names_the_collective(void **state)
{
    (void)state;
    static const char text[] = "num_ranks 1 rank 0 { a: calc 0 }";
    rlt_goal_hint hint = {RLT_BROADCAST, 5};
    rlt_listed l;
    rlt_error err = {0};
    assert_int_equal(rlt_plan_parse("x.goal", text, strlen(text), NULL, &l, &err), RLT_EUNSUPPORTED);
    assert_non_null(strstr(err.what, "names neither"));
    assert_int_equal(rlt_plan_parse("x.goal", text, strlen(text), &hint, &l, &err), 0);
    assert_string_equal(l.name, "x.goal");
    assert_true(l.kind == RLT_BROADCAST && l.bytes == 5 && l.untracked);
    rlt_listed_free(&l);
    /* Ranks may have no operations. */
    assert_int_equal(rlt_plan_parse("x.goal", "num_ranks 3 rank 1 { }", 22, &hint, &l, &err), 0);
    assert_int_equal(l.n, 3);
    assert_int_equal(end_of(&l), 0);
    rlt_listed_free(&l);
}

/* A label has at most 62 characters. */
static void labels_have_a_length(void **state)
{
    (void)state;
    rlt_goal_hint hint = {RLT_BROADCAST, 5};
    for (int n = 61; n <= 63; n++) {
        char text[200];
        rlt_listed l;
        rlt_error err = {0};
        int length = snprintf(text, sizeof text, "num_ranks 1\nrank 0 { %0*d: calc 0 }", n, 1);
        int rc = rlt_plan_parse("x.goal", text, (size_t)length, &hint, &l, &err);
        assert_int_equal(rc, n > 62 ? RLT_EMALFORMED : 0);
        assert_int_equal(n > 62, strstr(err.what, "more than 62") != NULL);
        rlt_listed_free(&l);
        /* what stands elsewhere is shown as a whole, unless it is longer */
        memset(text, 'n', (size_t)n);
        text[n] = '\0';
        err = (rlt_error){0};
        assert_int_equal(rlt_plan_parse("x.goal", text, (size_t)n, &hint, &l, &err), RLT_EMALFORMED);
        assert_int_equal(n > 62, strstr(err.what, "more than 62") != NULL);
        snprintf(text + n, sizeof text - (size_t)n, "'");
        assert_int_equal(n <= 62, strstr(err.what, text) != NULL);
    }
}

/* A zero byte is no word, wherever one may stand. */
static void zero_bytes_are_named(void **state)
{
    (void)state;
    static const char good[] = "num_ranks 1\nrank 0 {\na: calc 0\na requires a\n}";
    static const struct {
        const char *before;
        unsigned line;
    } all[] = {{"num_ranks", 1}, {"1", 1},    {"rank 0", 2},   {"{", 2},    {"a:", 3},
               {": calc", 3},    {"calc", 3}, {"requires", 4}, {"a\n}", 4}, {"}", 5}};
    rlt_goal_hint hint = {RLT_BROADCAST, 5};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        char text[sizeof good], where[40];
        rlt_listed l;
        rlt_error err = {0};
        memcpy(text, good, sizeof good);
        text[strstr(good, all[i].before) - good] = '\0';
        snprintf(where, sizeof where, "x.goal:%u", all[i].line);
        assert_int_equal(rlt_goal_parse("x.goal", text, sizeof text - 1, &hint, &l, &err), RLT_EMALFORMED);
        assert_string_equal(err.where, where);
        assert_string_equal(err.what, "a zero byte");
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_keep_their_order),
        cmocka_unit_test(the_caller_names_the_collective),
        cmocka_unit_test(labels_have_a_length),
        cmocka_unit_test(zero_bytes_are_named),
    };
    return cmocka_run_group_tests_name("formats_goal", tests, NULL, NULL);
}
