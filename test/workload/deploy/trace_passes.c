/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Step, order, passes and forward work of random traces against the rules at the head of trace.h, applied here to
 * one operation at a time.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/support.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/graphs/trace.h"
#include "workload/deploy/opgraph.h"
#include "workload/program/program.h"

enum { CASES = 2000, MAX_OPS = 24, STEPS = 4, THREADS = 3, NEITHER = 9 };

/* Names with what the first three rules find in them, and what the fourth does. */
static const struct name {
    const char *text, *bare; /* bare: without the word of its pass, NULL if it has none */
    bool update, backward, forward;
} names[] = {
    {"gemm", NULL, false, false, false},
    {"Optimizer", NULL, true, false, false},
    {"fused_ADAM_cast", NULL, true, false, false},
    {"adagrad", NULL, true, false, false},
    {"xsgd", NULL, true, false, false},
    {"multi_tensor_apply<2>", NULL, true, false, false},
    {"ADDCMUL", NULL, true, false, false},
    {"addcdiv1", NULL, true, false, false},
    {"addcdi", NULL, false, false, false},
    {"a step", NULL, true, false, false},
    {"STEP", NULL, true, false, false},
    {"_step2", NULL, true, false, false},
    {"stepper", NULL, false, false, false},
    {"footstep", NULL, false, false, false},
    {"footstep step", NULL, true, false, false},
    {"forward a", " a", false, false, true},
    {"Forward b", " b", false, false, true},
    {"x forwards", "x s", false, false, true},
    {"forwar", NULL, false, false, false},
    {"backward a", " a", false, true, false},
    {"BACKWARD b", " b", false, true, false},
    {"x backwards", "x s", false, true, false},
    {"autograd", NULL, false, true, false},
    {"a WGRAD", NULL, false, true, false},
    {"dgrad", NULL, false, true, false},
    {"bwd0", NULL, false, true, false},
    {"conv_bw_1", NULL, false, true, false},
    {"conv_bw", NULL, false, false, false},
    {"zackward forwar", NULL, false, false, false},
    {"zorward", NULL, false, false, false},
    {"ztep", NULL, false, false, false},
    {"cgrad", NULL, false, false, false},
    {"forward backward", NULL, false, true, true},
    {"backward step", NULL, true, true, false},
};
enum { NAMES = sizeof names / sizeof *names };

typedef struct trial {
    rlt_program *p;
    const struct name *name[MAX_OPS];
    uint32_t kind[MAX_OPS], step[MAX_OPS], resource[MAX_OPS], n;
    rlt_time ps[MAX_OPS];
    /* The model: the step; operations in order, and their places; the pass, NEITHER for all but device work of
     * the step; threads that launched them. */
    uint32_t taken, order[MAX_OPS], place[MAX_OPS], n_order, pass[MAX_OPS], thread[MAX_OPS];
    bool recording;
} trial;

static void draw(trial *x, dice *d)
{
    static const rlt_op_kind kinds[] = {RLT_OP_COMPUTE, RLT_OP_MEMORY, RLT_OP_COMPUTE, RLT_OP_HOST,
                                        RLT_OP_DELAY};
    rlt_builder *b;
    rlt_error err = {0};
    uint32_t threads[THREADS], rank[MAX_OPS], hosts = below(d, 2) ? 5 : 3;
    x->n = 2 + below(d, MAX_OPS - 1);
    assert_int_equal(rlt_builder_create(1, &b, &err), 0);
    for (uint32_t i = 0; i < THREADS; i++) {
        char name[16];
        snprintf(name, sizeof name, "thread %u", i);
        threads[i] = rlt_build_resource(b, 0, RLT_RES_HOST, name);
    }
    for (uint32_t i = 0; i < x->n; i++) {
        x->name[i] = &names[below(d, 3) ? 0 : below(d, NAMES)];
        x->kind[i] = kinds[below(d, hosts)];
        x->step[i] = below(d, STEPS);
        x->ps[i] = (rlt_time)below(d, 4) * 1000;
        rlt_op_desc o = rlt_op_desc_init((rlt_op_kind)x->kind[i], 0);
        o.duration_ps = x->ps[i];
        o.step = (uint16_t)x->step[i];
        o.name = rlt_build_string(b, x->name[i]->text, strlen(x->name[i]->text));
        x->resource[i] = RLT_NONE;
        if (x->kind[i] == RLT_OP_HOST)
            o.resource = x->resource[i] = threads[below(d, THREADS)];
        assert_int_equal(rlt_build_op(b, &o), i);
        rank[i] = below(d, 1000) * MAX_OPS + i; /* who may wait for whom */
    }
    for (uint32_t i = 0; i < 2 * x->n; i++) {
        uint32_t a = below(d, x->n), c = below(d, x->n);
        if (rank[a] > rank[c])
            rlt_build_dep(b, a, c);
    }
    assert_int_equal(rlt_builder_finish(b, "drawn", &x->p, &err), 0);
    assert_int_equal(x->p->n_ops, x->n);
}

static bool device(const trial *x, uint32_t i)
{
    return x->kind[i] == RLT_OP_COMPUTE || x->kind[i] == RLT_OP_MEMORY;
}

static rlt_time time_of(const trial *x, uint32_t step)
{
    rlt_time sum = 0;
    for (uint32_t i = 0; i < x->n; i++)
        sum += device(x, i) && x->step[i] == step ? x->ps[i] : 0;
    return sum;
}

/* The first step for which fewer than half of the steps with work take less, and at most half take more. Returns
 * how many have work. */
static uint32_t find_step(trial *x)
{
    uint32_t with = 0;
    for (uint32_t s = 0; s < STEPS; s++)
        with += time_of(x, s) > 0;
    for (uint32_t s = STEPS; s-- > 0;) {
        uint32_t less = 0, same = 0;
        for (uint32_t k = 0; k < STEPS; k++) {
            less += time_of(x, k) > 0 && time_of(x, k) < time_of(x, s);
            same += time_of(x, k) == time_of(x, s);
        }
        if (time_of(x, s) > 0 && less <= with / 2 && with / 2 < less + same)
            x->taken = s;
    }
    return with;
}

static void visit(trial *x, uint32_t i)
{
    const rlt_op *o = &x->p->ops[i];
    if (x->place[i] != RLT_NONE)
        return;
    for (uint32_t k = 0; k < o->n_deps; k++)
        visit(x, x->p->deps[o->first_dep + k]);
    x->place[i] = x->n_order;
    x->order[x->n_order++] = i;
}

/* Of several that launch it, the one that stands last. */
static uint32_t thread_of(const trial *x, uint32_t i)
{
    const rlt_op *o = &x->p->ops[i];
    uint32_t last = RLT_NONE, found = x->resource[i];
    if (x->kind[i] == RLT_OP_HOST || !x->recording)
        return found;
    for (uint32_t k = 0; k < o->n_deps; k++) {
        uint32_t on = x->p->deps[o->first_dep + k];
        if ((x->kind[on] != RLT_OP_HOST && x->kind[on] != RLT_OP_DELAY) || thread_of(x, on) == RLT_NONE)
            continue;
        if (last == RLT_NONE || x->place[on] > x->place[last])
            last = on;
    }
    return last == RLT_NONE ? RLT_NONE : thread_of(x, last);
}

static void find_passes(trial *x)
{
    uint32_t main = RLT_NONE, first = x->n, last = x->n;
    for (uint32_t k = 0; k < x->n; k++) {
        uint32_t i = x->order[k], thread = thread_of(x, i);
        const struct name *name = x->name[i];
        x->pass[i] = NEITHER;
        if (!device(x, i) || x->step[i] != x->taken)
            continue;
        main = main == RLT_NONE ? thread : main;
        x->pass[i] = name->update                                               ? RLT_OPERATOR_UPDATE
                     : name->backward || (thread != RLT_NONE && thread != main) ? RLT_OPERATOR_BACKWARD
                     : name->forward && !x->recording                           ? RLT_OPERATOR_FORWARD
                                                                                : NEITHER + 1;
        if (x->pass[i] == RLT_OPERATOR_BACKWARD) {
            first = first == x->n ? k : first;
            last = k;
        }
    }
    for (uint32_t k = 0; k < x->n; k++) {
        uint32_t *pass = &x->pass[x->order[k]];
        if (*pass == NEITHER + 1)
            *pass = k < first ? RLT_OPERATOR_FORWARD : k > last ? RLT_OPERATOR_UPDATE : RLT_OPERATOR_BACKWARD;
    }
}

/* Without the word of the pass that it has. */
static const char *bare_name(const trial *x, uint32_t i)
{
    static const struct {
        const char *text;
        uint32_t pass;
        const char *bare;
    } others[] = {{"forward backward", RLT_OPERATOR_FORWARD, " backward"},
                  {"forward backward", RLT_OPERATOR_BACKWARD, "forward "},
                  {"backward step", RLT_OPERATOR_BACKWARD, " step"}};
    const struct name *n = x->name[i];
    for (size_t k = 0; k < sizeof others / sizeof *others; k++)
        if (strcmp(n->text, others[k].text) == 0 && x->pass[i] == others[k].pass)
            return others[k].bare;
    return x->pass[i] == (n->backward ? RLT_OPERATOR_BACKWARD : RLT_OPERATOR_FORWARD) ? n->bare : NULL;
}

static uint32_t mate_of(const trial *x, uint32_t op)
{
    const char *bare = bare_name(x, op);
    uint32_t same = 0, named = op, mirrored = op;
    double whole[2] = {0}, before = 0, behind = 0;
    for (uint32_t i = 0; i < x->n; i++) {
        const char *other = x->pass[i] == RLT_OPERATOR_FORWARD ? bare_name(x, i) : NULL;
        if (bare && other && strcmp(bare, other) == 0) {
            same++;
            named = i;
        }
        if (x->pass[i] <= RLT_OPERATOR_BACKWARD)
            whole[x->pass[i]] += (double)x->ps[i];
        if (x->pass[i] == RLT_OPERATOR_BACKWARD && x->place[i] < x->place[op])
            before += (double)x->ps[i];
    }
    if (same == 1)
        return named;
    double share = (before + (double)x->ps[op] / 2) / (whole[1] > 0 ? whole[1] : 1);
    for (uint32_t k = x->n; k-- > 0;) {
        uint32_t i = x->order[k];
        if (x->pass[i] != RLT_OPERATOR_FORWARD || (mirrored != op && behind >= share * whole[0]))
            continue;
        mirrored = i;
        behind += (double)x->ps[i];
    }
    return mirrored;
}

/* ---- comparison ---- */

static void check_notes(const trial *x, const char *notes, uint32_t with)
{
    char step[160] = "", all[400];
    uint32_t n[3] = {0};
    for (uint32_t i = 0; i < x->n; i++)
        if (x->pass[i] < 3)
            n[x->pass[i]]++;
    if (with > 1)
        snprintf(step, sizeof step, "step %u of the trace is taken, of %u with device work (median time)\n",
                 x->taken, with);
    snprintf(all, sizeof all,
             "%spasses are guessed from names, threads and order: %u forward, %u backward and %u update "
             "operations\n",
             step, n[0], n[1], n[2]);
    assert_string_equal(notes, all);
}

static void check(trial *x, uint64_t seed)
{
    rlt_growing notes = {0};
    rlt_error err = {0};
    rlt_graph_options o = RLT_GRAPH_OPTIONS_DEFAULT;
    rlt_trace_node nodes[MAX_OPS];
    uint32_t order[MAX_OPS], with = find_step(x);
    rlt_trace_maker m = {.p = x->p, .options = &o, .err = &err, .nodes = nodes, .order = order};
    o.notes = &notes;
    assert_int_equal(rlt__trace_step(&m, "t"), with ? 0 : RLT_EMALFORMED);
    if (!with) {
        assert_string_equal(err.where, "t");
        return;
    }
    assert_int_equal(m.step, x->taken);
    assert_int_equal(rlt__trace_order(&m), 0);
    rlt__trace_passes(&m);
    assert_int_equal(rlt__trace_mates(&m), 0);
    x->n_order = 0;
    x->recording = false;
    for (uint32_t i = 0; i < x->n; i++) {
        x->place[i] = RLT_NONE;
        x->recording = x->recording || (x->kind[i] == RLT_OP_HOST && x->step[i] == x->taken);
    }
    for (uint32_t i = 0; i < x->n; i++)
        visit(x, i);
    assert_memory_equal(order, x->order, x->n * sizeof *order);
    assert_int_equal(m.recording, x->recording);
    find_passes(x);
    for (uint32_t i = 0; i < x->n; i++) {
        bool counts = x->pass[i] != NEITHER;
        assert_int_equal(nodes[i].role, counts ? RLT_TRACE_DEVICE : RLT_TRACE_GONE);
        if (counts && nodes[i].pass != x->pass[i])
            fail_msg("case %llu: '%s' is in pass %u, not %u", (unsigned long long)seed, x->name[i]->text,
                     nodes[i].pass, x->pass[i]);
        uint32_t mate = x->pass[i] == RLT_OPERATOR_BACKWARD ? mate_of(x, i) : RLT_NONE;
        if (nodes[i].mate != mate)
            fail_msg("case %llu: operation %u belongs to %u, not %u", (unsigned long long)seed, i,
                     nodes[i].mate, mate);
    }
    check_notes(x, notes.text, with);
    free(notes.text);
}

static void random_traces(void **state)
{
    static trial x;
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++) {
        dice d = {.seed = seed};
        draw(&x, &d);
        check(&x, seed);
        rlt_program_free(x.p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_traces)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
