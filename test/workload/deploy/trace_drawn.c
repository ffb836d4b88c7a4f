/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The operator graph of random traces, whole: names, times, weights, updates, tensors and notes, by the rules in
 * trace.h. What operations wait for, their passes and their gradients have tests of their own, and are asked for
 * here.
 */
#include <math.h>
#include <stdbool.h>
#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/text.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "test/support/dice.h"
#include "test/support/traces/chakra.h"
#include "workload/deploy/graphs/graphs.h"
#include "workload/deploy/graphs/trace.h"
#include "workload/deploy/opgraph.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/chakra/node.h"

enum { CASES = 400, MAX_OPS = 20, MAX_NAMES = 3 * MAX_OPS, RESOURCES = 16 };

#define LONG "a_kernel_whose_name_is_longer_than_all_that_an_operator_can_have_forward"

/* ---- random files ---- */

static void draw(dice *d)
{
    static const char *const names[] = {"gemm",     "gemm",    "gemm #2",   "gemm #3", "forward",
                                        "backward", "wgrad",   "optimizer", "",        LONG,
                                        LONG " 2",  "forward", "backward",  "adam"};
    static const uint32_t types[] = {RLT_CHAKRA_ALL_REDUCE, RLT_CHAKRA_ALL_REDUCE, RLT_CHAKRA_REDUCE_SCATTER,
                                     RLT_CHAKRA_ALL_TO_ALL};
    const bool recording = below(d, 3) == 0, updates = below(d, 2), grouped = below(d, 4) == 0;
    uint32_t n = 2 + below(d, MAX_OPS - 1);
    file f;
    begin(&f);
    for (uint32_t i = 1; i <= n; i++) {
        uint32_t what = below(d, recording ? 6 : 5);
        if (i > 1 && what >= 3 && what < 5) {
            head(&f, i, "reduction", RLT_CHAKRA_COLL);
            number(&f, "comm_type", RLT_CHAKRA_INT64, types[below(d, 4)]);
            number(&f, "comm_size", RLT_CHAKRA_INT64, below(d, 6) ? 1 + roll(d, 5000) : 7);
            if (grouped)
                text(&f, "pg_name", "data");
        } else {
            const char *name = names[below(d, updates ? 14 : 7)];
            work(&f, i, name, 1 + below(d, 50), what == 5);
            number(&f, what == 5 ? "tid" : "stream", RLT_CHAKRA_INT64, 1 + below(d, 2));
        }
        for (uint32_t k = 0; k < 2 && i > 1; k++)
            if (below(d, 4))
                dep(&f, i - 1 - below(d, i < 4 ? i - 1 : 3));
        message(&f);
    }
    end(&f, "t.x.et");
}

/* ---- the model ---- */

typedef struct wanted {
    rlt_trace_maker m;
    rlt_trace_node nodes[2 * MAX_OPS];
    uint32_t order[2 * MAX_OPS], last[RESOURCES], slot[RESOURCES], stamp[RESOURCES];
    rlt_growing notes;
    char names[MAX_NAMES][128];
    uint32_t n_names;
} wanted;

/* A name that none before it has: the first 60 characters, and the first number from 2 on that makes it new. */
static const char *name_for(wanted *w, const char *prefix, const char *name)
{
    char first[100], *out = w->names[w->n_names];
    snprintf(first, sizeof first, "%s%.60s", prefix, *name ? name : "operation");
    snprintf(out, 128, "%s", first);
    for (uint32_t k = 2, taken = 1; taken; k++) {
        taken = 0;
        for (uint32_t i = 0; i < w->n_names; i++)
            taken |= strcmp(w->names[i], out) == 0;
        if (taken)
            snprintf(out, 128, "%s #%u", first, k);
    }
    assert_true(w->n_names + 1 < MAX_NAMES);
    return w->names[w->n_names++];
}

static bool is_update(const wanted *w, uint32_t op)
{
    return w->nodes[op].role == RLT_TRACE_DEVICE && w->nodes[op].pass == RLT_OPERATOR_UPDATE;
}

/* Each gradient has an update that alone waits for it, and each update such gradients. */
static bool all_known(const wanted *w)
{
    uint32_t updates = 0;
    for (uint32_t i = 0; i < w->m.n_gradients; i++)
        if (w->m.gradients[i].update == RLT_NONE)
            return false;
    for (uint32_t op = 0; op < w->m.p->n_ops; op++) {
        if (is_update(w, op) && w->nodes[op].waiters == 0)
            return false;
        updates += is_update(w, op);
    }
    return updates > 0;
}

static uint64_t weights_of(const wanted *w, uint32_t op)
{
    uint64_t sum = 0;
    for (uint32_t i = 0; i < w->m.n_gradients; i++)
        if (w->nodes[w->m.gradients[i].producer].mate == op)
            sum += w->m.gradients[i].bytes;
    return sum;
}

static void add_operators(wanted *w, rlt_opgraph_builder *b)
{
    static const char *const kinds[] = {"Forward", "Backward", "Update"};
    uint32_t id[2 * MAX_OPS], n = 0;
    for (uint32_t k = 0; k < w->m.p->n_ops; k++)
        if (rlt__trace_is_operator(&w->m, w->order[k]))
            id[w->order[k]] = w->nodes[w->order[k]].id = n++;
    for (uint32_t k = 0; k < w->m.p->n_ops; k++) {
        uint32_t op = w->order[k];
        const rlt_trace_node *x = &w->nodes[op];
        if (!rlt__trace_is_operator(&w->m, op))
            continue;
        uint64_t weights = weights_of(w, op);
        (void)rlt_opgraph_op(b, &(rlt_operator){.name = name_for(w, "", rlt__trace_name(&w->m, op)),
                                                .kind = kinds[x->pass],
                                                .time_ps = w->m.p->ops[op].duration_ps,
                                                .parameter_bytes = weights,
                                                .forward = id[x->mate == RLT_NONE ? op : x->mate],
                                                .together = weights ? id[op] : RLT_NONE,
                                                .pass = x->pass,
                                                .splittable = x->pass != RLT_OPERATOR_UPDATE});
    }
    for (uint32_t e = 0; e < w->m.n_edges; e++) {
        uint32_t from = w->m.edges[e].from, to = w->m.edges[e].to;
        bool gradient = is_update(w, to) && !is_update(w, from);
        rlt_opgraph_tensor(
            b, &(rlt_tensor){id[from], id[to], 0, gradient ? RLT_TENSOR_GRADIENT : RLT_TENSOR_BATCHED});
    }
}

/* The time that gradient i gets of those that it shares updates with: what the ones before it leave. */
static rlt_time share_of(const wanted *w, uint32_t i, bool known)
{
    double whole = 0, all = 0, before = 0;
    const rlt_trace_gradient *g = w->m.gradients;
    for (uint32_t k = 0; k < w->m.n_gradients; k++) {
        if (known && g[k].update != g[i].update)
            continue;
        all += (double)g[k].bytes;
        before += k < i ? (double)g[k].bytes : 0;
    }
    for (uint32_t op = 0; op < w->m.p->n_ops; op++)
        if (is_update(w, op) && (!known || op == g[i].update))
            whole += (double)w->m.p->ops[op].duration_ps;
    if (w->m.n_pass[RLT_OPERATOR_UPDATE] == 0)
        whole = nearbyint(all / 4e5 * 1e6);
    return (rlt_time)(floor(whole * ((before + (double)g[i].bytes) / all)) - floor(whole * (before / all)));
}

static void add_updates(wanted *w, rlt_opgraph_builder *b)
{
    const bool known = all_known(w);
    for (uint32_t i = 0; i < w->m.n_gradients; i++) {
        const rlt_trace_gradient *g = &w->m.gradients[i];
        uint32_t of_update = 0, forward = w->nodes[w->nodes[g->producer].mate].id;
        for (uint32_t k = 0; k < w->m.n_gradients; k++)
            of_update += w->m.gradients[k].update == g->update;
        const char *name = known && of_update == 1
                               ? name_for(w, "", rlt__trace_name(&w->m, g->update))
                               : name_for(w, "update ", rlt__trace_name(&w->m, g->producer));
        uint32_t u = rlt_opgraph_op(b, &(rlt_operator){.name = name,
                                                       .kind = "Update",
                                                       .time_ps = share_of(w, i, known),
                                                       .parameter_bytes = g->bytes,
                                                       .forward = forward,
                                                       .together = forward,
                                                       .pass = RLT_OPERATOR_UPDATE});
        rlt_opgraph_tensor(b, &(rlt_tensor){w->nodes[g->producer].id, u, g->bytes, RLT_TENSOR_GRADIENT});
    }
    if (!known && w->m.n_gradients && w->m.n_pass[2])
        rlt_growing_add(&w->notes,
                        "the time of update operations is divided over the gradients by bytes (%u)\n",
                        w->m.n_pass[2]);
    if (!known && w->m.n_gradients && !w->m.n_pass[2])
        rlt_growing_add(
            &w->notes,
            "the trace has no update operations: their times follow from the bytes of parameters\n");
}

static void add_notes(wanted *w)
{
    char size[32];
    for (uint32_t i = 0; i < w->m.p->n_notes; i++)
        rlt_growing_add(&w->notes, "trace: %s (%llu)\n", w->m.p->notes[i].text,
                        (unsigned long long)w->m.p->notes[i].count);
    if (w->m.recording)
        rlt_growing_add(&w->notes,
                        "host work is left out; operations of a stream are taken to follow each other\n");
    if (w->m.n_gradients)
        rlt_growing_add(&w->notes,
                        "gradients are guessed: reductions after backward work, %s in %u; their weights are "
                        "given to forward operators by name or mirrored time\n",
                        rlt_format_size(size, sizeof size, w->m.bytes), w->m.n_gradients);
    else
        rlt_growing_add(&w->notes,
                        "no reduction of gradients found: parameters are unknown, taken as 0 bytes, "
                        "so data parallelism looks cheaper than it is\n");
    if (w->m.other)
        rlt_growing_add(&w->notes,
                        "communication other than that is left out, since the strategy decides it: %u, %s\n",
                        (uint32_t)w->m.other, rlt_format_size(size, sizeof size, w->m.other_bytes));
    if (w->m.joined)
        rlt_growing_add(&w->notes,
                        "operators without a recorded dependency are taken to follow the one before (%u)\n",
                        w->m.joined);
    rlt_growing_add(
        &w->notes, "sizes of tensors and activations are not in the trace: taken as 0 bytes, so dividing the "
                   "model looks cheaper than it is; sufficient factors are not searched\n"
                   "every operator but updates is taken to divide the batch, and its time with it\n");
}

/* Makes the graph that the trace should become. NULL: it has no work. */
static rlt_opgraph *make(wanted *w, const rlt_program *p, rlt_error *e)
{
    rlt_graph_options o = RLT_GRAPH_OPTIONS_DEFAULT;
    rlt_opgraph_builder *b;
    rlt_opgraph *g = NULL;
    assert_true(p->n_ops <= 2 * MAX_OPS && p->n_resources <= RESOURCES);
    *w = (wanted){.m = {.p = p,
                        .options = &o,
                        .err = e,
                        .nodes = w->nodes,
                        .order = w->order,
                        .last = w->last,
                        .slot = w->slot,
                        .stamp = w->stamp}};
    o.notes = &w->notes;
    if (rlt__trace_step(&w->m, "t"))
        return NULL;
    assert_int_equal(rlt__trace_order(&w->m), 0);
    rlt__trace_passes(&w->m);
    assert_int_equal(rlt__trace_edges(&w->m), 0);
    assert_int_equal(rlt__trace_gradients(&w->m), 0);
    if (w->m.n_gradients == 0) {
        w->m.updates = true;
        assert_int_equal(rlt__trace_edges(&w->m), 0);
    }
    assert_int_equal(rlt__trace_mates(&w->m), 0);
    assert_int_equal(rlt__trace_join(&w->m), 0);
    assert_int_equal(rlt_opgraph_begin("t", &b, e), 0);
    rlt_opgraph_batch(b, 16);
    rlt_opgraph_unsized(b);
    add_operators(w, b);
    add_updates(w, b);
    add_notes(w);
    if (rlt_opgraph_finish(b, &g, e))
        return NULL;
    return g;
}

/* ---- comparison ---- */

static void same_graph(uint64_t seed, const rlt_opgraph *a, const rlt_opgraph *b)
{
    for (uint32_t i = 0; i < a->n_ops && i < b->n_ops; i++) {
        const rlt_operator *x = &a->ops[i], *y = &b->ops[i];
        if (strcmp(x->name, y->name) != 0 || strcmp(x->kind, y->kind) != 0 || x->time_ps != y->time_ps ||
            x->parameter_bytes != y->parameter_bytes || x->launch_ps || x->kept_bytes ||
            x->forward != y->forward || x->together != y->together || x->pass != y->pass ||
            x->splittable != y->splittable)
            fail_msg("case %llu: %u is '%s' of %lld ps, not '%s' of %lld ps", (unsigned long long)seed, i,
                     x->name, (long long)x->time_ps, y->name, (long long)y->time_ps);
    }
    assert_int_equal(a->n_ops, b->n_ops);
    assert_int_equal(a->n_tensors, b->n_tensors);
    for (uint32_t i = 0; i < a->n_tensors; i++) {
        const rlt_tensor *t = &a->tensors[i], *u = &b->tensors[i];
        assert_true(t->src == u->src && t->dst == u->dst && t->bytes == u->bytes && t->kind == u->kind);
    }
    assert_string_equal(a->name, b->name);
    assert_int_equal(a->batch, b->batch);
    assert_int_equal(a->unsized, b->unsized);
    assert_int_equal(a->hash, b->hash);
}

static void one_case(uint64_t seed, uint32_t *shared)
{
    static wanted w;
    const rlt_read_options how = {.first_step = -1, .last_step = -1, .alone = true};
    rlt_graph_options o = RLT_GRAPH_OPTIONS_DEFAULT;
    dice d = {.seed = seed};
    rlt_growing notes = {0};
    rlt_opgraph *got = NULL;
    rlt_program *p = NULL;
    rlt_error err = {0}, own = {0};
    char own_path[256];
    const char *path = path_of("t.x.et", own_path, sizeof own_path);
    draw(&d);
    if (rlt_trace_read(&path, 1, &how, &p, &own))
        fail_msg("case %llu: %s: %s", (unsigned long long)seed, own.where, own.what);
    rlt_opgraph *want = make(&w, p, &own);
    o.batch = 16;
    o.notes = &notes;
    int rc = rlt_opgraph_read(path, &o, &got, &err);
    if (rc != own.code || (rc && strcmp(err.what, own.what) != 0))
        fail_msg("case %llu: %d, %s, not %d, %s", (unsigned long long)seed, rc, err.what, own.code, own.what);
    if (!rc) {
        same_graph(seed, got, want);
        assert_string_equal(notes.text, w.notes.text);
        *shared += w.m.n_gradients > 1 && w.m.n_pass[2];
    }
    rlt_opgraph_free(got);
    rlt_opgraph_free(want);
    free(notes.text);
    free(w.notes.text);
    free(w.m.items);
    free(w.m.met);
    free(w.m.edges);
    free(w.m.gradients);
    rlt_map_free(&w.m.seen);
    rlt_program_free(p);
}

static void drawn(void **state)
{
    uint32_t shared = 0;
    (void)state;
    for (uint64_t seed = 1; seed <= CASES; seed++)
        one_case(seed, &shared);
    print_message("# %u with several gradients and updates\n", shared);
    assert_true(shared > CASES / 10);
}

/* An optimizer updates something in a microsecond, and the batch is stated. */
static void options(void **state)
{
    static const struct {
        double speed;
        uint32_t batch;
        const char *what; /* NULL: it is read */
    } rows[] = {
        {1, 1, NULL},
        {5e-11, 1, NULL}, /* 27 hours */
        {5e-12, 1, "a time below 0 or beyond the clock's range"},
        {0, 1, "the optimizer needs more than 0 bytes a microsecond"},
        {-1, 1, "the optimizer needs more than 0 bytes a microsecond"},
        {1, 0, "a trace does not state its batch: expected the samples of the recorded rank (--batch)"}};
    char path[256];
    file f;
    (void)state;
    begin(&f);
    work(&f, 1, "forward", 3, false);
    message(&f);
    work(&f, 2, "backward", 4, false);
    dep(&f, 1);
    message(&f);
    head(&f, 3, "reduction", RLT_CHAKRA_COLL);
    number(&f, "comm_type", RLT_CHAKRA_INT64, RLT_CHAKRA_ALL_REDUCE);
    number(&f, "comm_size", RLT_CHAKRA_INT64, 5);
    dep(&f, 2);
    message(&f);
    end(&f, "o.et");
    path_of("o.et", path, sizeof path);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_graph_options o = RLT_GRAPH_OPTIONS_DEFAULT;
        rlt_opgraph *g = NULL;
        rlt_error err = {0};
        o.batch = rows[i].batch;
        o.costs.update_bytes_per_us = rows[i].speed;
        int rc = rlt_opgraph_read(path, &o, &g, &err);
        assert_int_equal(rc != 0, rows[i].what != NULL);
        if (rc && !strstr(err.what, rows[i].what))
            fail_msg("row %zu: %s: %s", i, err.where, err.what);
        if (!rc)
            assert_int_equal(g->update_ps, (rlt_time)(5 / rows[i].speed * 1e6));
        rlt_opgraph_free(g);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(drawn), cmocka_unit_test(options)};
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
