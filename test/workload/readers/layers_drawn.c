/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random tables of layers, in SimAI's and in ASTRA-sim 1.0's words. What a step of a rank does, and in which
 * order, is worked out again from the rules at the heads of layers.h, simai.c and astra1.c: what holds up
 * what is kept as a set of operations for each of them, and compared with what the program's dependencies
 * lead to.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/text_file.h"
#include "test/support/traces/kineto.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

enum { MAX_LAYERS = 5, MAX_OPS = 160, NONE = 99 };
enum { FORWARD, INPUT, WEIGHT };
enum { OVER_NONE, OVER_ALL, OVER_MODEL, OVER_DATA, OVER_EXPERT, OVER_DATA_EXPERT };

typedef struct layer {
    char name[16];
    uint64_t ns[3], update, bytes[3];
    int kind[3], scope[3]; /* kind: index of a word, 0: none */
    bool checkpoint, recompute;
} layer;

typedef struct op {
    char name[64];
    uint64_t ns, bytes;
    int kind, scope;     /* kind 0: compute */
    bool after[MAX_OPS]; /* operations that it waits for */
} op;

typedef struct table {
    dice d;
    bool simai, shares; /* shares: bytes of all-gathers are those of a rank */
    bool micro;         /* SimAI's file with one policy for all layers */
    uint32_t n, ranks, model, expert, stages, late, said, accumulate;
    layer layers[MAX_LAYERS];
    op ops[MAX_OPS];
    uint32_t n_ops, left_out;
    bool chain[MAX_OPS]; /* the next compute waits for these */
    char text[8192];
    size_t used;
    rlt_read_options options;
} table;

static const char *const words[] = {"NONE",          "ALLREDUCE", "ALLGATHER",
                                    "REDUCESCATTER", "ALLTOALL",  "BROADCAST"};
static const rlt_coll_kind kinds[] = {RLT_BARRIER,        RLT_ALL_REDUCE, RLT_ALL_GATHER,
                                      RLT_REDUCE_SCATTER, RLT_ALL_TO_ALL, RLT_BROADCAST};

static void say(table *t, const char *word)
{
    t->used += (size_t)snprintf(t->text + t->used, sizeof t->text - t->used, "%s", word);
    assert_true(t->used < sizeof t->text);
}

static void say_number(table *t, const char *key, uint64_t v)
{
    char text[80];
    snprintf(text, sizeof text, "%s%llu%s", key, (unsigned long long)v, below(&t->d, 3) ? " " : "\t ");
    say(t, text);
}

/* The members of a rank's group: how many, how far apart. Ranks of a stage are consecutive. */
static void group_of(const table *t, int scope, uint32_t rank, uint32_t *n, uint32_t *stride, uint32_t *first)
{
    uint32_t data = t->ranks / t->stages / t->model;
    *n = scope == OVER_ALL           ? t->ranks
         : scope == OVER_MODEL       ? t->model
         : scope == OVER_DATA        ? data
         : scope == OVER_EXPERT      ? t->expert
         : scope == OVER_DATA_EXPERT ? data / t->expert
                                     : 1;
    *stride = scope == OVER_DATA || scope == OVER_EXPERT ? t->model
              : scope == OVER_DATA_EXPERT                ? t->model * t->expert
                                                         : 1;
    *first = rank - rank / *stride % *n * *stride;
}

static op *add(table *t, const char *what, const layer *l)
{
    op *o = &t->ops[t->n_ops++];
    assert_true(t->n_ops < MAX_OPS);
    *o = (op){.ns = 0};
    snprintf(o->name, sizeof o->name, "%s %s", what, l->name);
    memcpy(o->after, t->chain, sizeof t->chain);
    return o;
}

static uint32_t compute(table *t, const char *what, const layer *l, uint64_t ns)
{
    if (ns == 0)
        return NONE;
    op *o = add(t, what, l);
    o->ns = ns;
    t->chain[o - t->ops] = true;
    return (uint32_t)(o - t->ops);
}

/* NONE: no communication, or one of a single rank. */
static uint32_t communicate(table *t, const char *what, const layer *l, int phase)
{
    uint32_t n, stride, first;
    if (l->kind[phase] == 0 || l->bytes[phase] == 0)
        return NONE;
    group_of(t, l->scope[phase], 0, &n, &stride, &first);
    if (n < 2) {
        t->left_out++;
        return NONE;
    }
    op *o = add(t, what, l);
    o->kind = l->kind[phase];
    o->scope = l->scope[phase];
    o->bytes = l->bytes[phase] * (kinds[o->kind] == RLT_ALL_GATHER && t->shares ? n : 1);
    return (uint32_t)(o - t->ops);
}

static void hold(table *t, uint32_t o)
{
    if (o != NONE)
        t->chain[o] = true;
}

static void forward(table *t, const char *what, const char *exchange, uint32_t from, uint32_t to)
{
    uint32_t early = NONE;
    for (uint32_t i = from; i < to; i++) {
        compute(t, what, &t->layers[i], t->layers[i].ns[FORWARD]);
        uint32_t o = communicate(t, exchange, &t->layers[i], FORWARD);
        if (i == 0 && t->late != NONE)
            early = o;
        else
            hold(t, o);
        if (i == t->late)
            hold(t, early);
    }
    hold(t, early);
}

/* The whole step. */
static void run(table *t)
{
    uint32_t reduced[MAX_LAYERS], early = NONE;
    t->n_ops = t->left_out = 0;
    memset(t->chain, 0, sizeof t->chain);
    forward(t, "forward", "output of", 0, t->n);
    for (uint32_t i = t->n; i-- > 0;) {
        const layer *l = &t->layers[i];
        uint32_t from = i;
        while (l->recompute && from > 0 && !t->layers[from].checkpoint)
            from--;
        forward(t, "recompute", "recompute of", from, i);
        if (i == 0)
            hold(t, early);
        for (int k = 0; k < 2; k++) {
            if (k == t->simai) {
                compute(t, "weight gradient", l, l->ns[WEIGHT]);
                reduced[i] = communicate(t, "weight gradient of", l, WEIGHT);
                continue;
            }
            compute(t, "input gradient", l, l->ns[INPUT]);
            if (i > 0 || t->late == NONE)
                hold(t, communicate(t, "input gradient of", l, INPUT));
            else if (early == NONE)
                early = communicate(t, "input gradient of", l, INPUT);
            if (t->late != NONE && i == t->late + 1)
                early = communicate(t, "input gradient of", &t->layers[0], INPUT);
        }
    }
    for (uint32_t i = t->n; i-- > 0;) {
        uint32_t o = compute(t, "update", &t->layers[i], t->layers[i].update);
        if (o != NONE && reduced[i] != NONE)
            t->ops[o].after[reduced[i]] = t->chain[reduced[i]] = true;
    }
}

static void draw_layers(table *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        layer *l = &t->layers[i];
        snprintf(l->name, sizeof l->name, "layer%u", i);
        l->update = below(&t->d, 3) ? below(&t->d, 100) : 0;
        for (int p = 0; p < 3; p++) {
            uint32_t suffix = t->simai ? below(&t->d, 5) : 0;
            l->ns[p] = below(&t->d, 4) ? below(&t->d, 1000) : below(&t->d, 2);
            l->kind[p] = (int)below(&t->d, 6);
            l->bytes[p] = below(&t->d, 5) ? 1 + below(&t->d, 100000) : below(&t->d, 2);
            l->scope[p] = suffix == 3   ? OVER_EXPERT
                          : suffix == 4 ? OVER_DATA_EXPERT
                          : p == WEIGHT ? OVER_DATA
                                        : OVER_MODEL;
        }
    }
}

/* Rows of 12 columns. */
static void say_layers(table *t)
{
    for (uint32_t i = 0; i < t->n; i++) {
        const layer *l = &t->layers[i];
        say(t, l->name);
        say(t, below(&t->d, 2) ? " -1 " : "\t-1   ");
        for (int p = 0; p < 3; p++) {
            say_number(t, "", l->ns[p]);
            say(t, words[l->kind[p]]);
            say(t, t->simai && l->scope[p] == OVER_EXPERT        ? "_EP"
                   : t->simai && l->scope[p] == OVER_DATA_EXPERT ? "_DP_EP"
                                                                 : "");
            say_number(t, " ", l->bytes[p]);
        }
        say_number(t, "", l->update);
        say(t, below(&t->d, 3) ? "\n" : " \r\n\n");
    }
}

static void list(table *t, const char *key, bool checkpoint)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < t->n; i++)
        n += checkpoint ? t->layers[i].checkpoint : t->layers[i].recompute;
    say_number(t, key, n);
    for (uint32_t i = 0; i < t->n; i++)
        if (checkpoint ? t->layers[i].checkpoint : t->layers[i].recompute)
            say_number(t, "", i);
}

/* Scopes of forward pass and input gradients, and of weight gradients, by policy. */
static void set_scopes(layer *l, uint32_t policy)
{
    static const int scopes[][2] = {{OVER_NONE, OVER_ALL},   {OVER_NONE, OVER_ALL},   {OVER_ALL, OVER_NONE},
                                    {OVER_MODEL, OVER_DATA}, {OVER_DATA, OVER_MODEL}, {OVER_ALL, OVER_ALL}};
    l->scope[FORWARD] = l->scope[INPUT] = scopes[policy][0];
    l->scope[WEIGHT] = scopes[policy][1];
}

static void draw_simai(table *t)
{
    uint32_t data = 1 + below(&t->d, 3), how = below(&t->d, 3);
    bool repeats = below(&t->d, 3) == 0;
    t->model = 1 + below(&t->d, 3);
    t->expert = 1 + below(&t->d, 2);
    t->stages = 1 + below(&t->d, 2);
    t->accumulate = 1 + below(&t->d, 3);
    t->ranks = t->model * t->expert * t->stages * data;
    for (uint32_t i = 0; i < t->n && repeats; i++) {
        t->layers[i].checkpoint = below(&t->d, 3) == 0;
        t->layers[i].recompute = below(&t->d, 2);
        t->shares |= t->layers[i].checkpoint;
    }
    say(t, t->micro          ? "MICRO "
           : below(&t->d, 2) ? "HYBRID_TRANSFORMER_FWD_IN_BCKWD "
                             : "HYBRID_TRANSFORMER ");
    for (uint32_t i = 0; i < t->n && t->micro; i++) {
        snprintf(t->layers[i].name, sizeof t->layers[i].name, "micro_test");
        set_scopes(&t->layers[i], 1);
    }
    if (t->model > 1 || below(&t->d, 2))
        say_number(t, "model_parallel_NPU_group: ", t->model);
    if (t->stages > 1 || below(&t->d, 2))
        say_number(t, "pp: ", t->stages);
    if (t->expert > 1 || below(&t->d, 2))
        say_number(t, "ep: ", t->expert);
    say_number(t, "vpp: ", 1);
    say_number(t, "ga: ", t->accumulate);
    if (how == 0)
        say_number(t, "all_gpus: ", t->ranks);
    if (repeats || below(&t->d, 2)) {
        list(t, "checkpoints: ", true);
        list(t, "checkpoint_initiates: ", false);
    }
    say_number(t, below(&t->d, 2) ? "pp_comm: " : "pp_comm ", 0);
    if (how == 1)
        t->options.n_ranks = t->ranks;
    if (how == 2 && below(&t->d, 2)) {
        t->options.n_dims = 2;
        t->options.dims[0] = t->model;
        t->options.dims[1] = t->ranks / t->model;
    } else if (how == 2) {
        t->ranks = t->model * t->expert * t->stages;
        t->ranks = t->ranks > 1 ? t->ranks : 2;
    }
    say(t, "\n");
    say_number(t, "", t->said);
    say(t, "\n");
    say_layers(t);
}

static void draw_astra1(table *t)
{
    static const char *const policies[] = {
        "DATA", "MICRO", "MODEL", "HYBRID_DATA_MODEL", "HYBRID_MODEL_DATA", "HYBRID_DLRM"};
    uint32_t policy = below(&t->d, 7);
    bool dims = below(&t->d, 2), bare = policy == 6;
    t->shares = true;
    t->model = t->expert = t->stages = 1;
    t->ranks = 4 + 2 * below(&t->d, 3);
    t->options.n_ranks = dims && below(&t->d, 2) ? 0 : t->ranks;
    bool other = dims && t->options.n_ranks && below(&t->d, 2); /* dimensions of another number of ranks */
    if (policy == 3 || policy == 4)
        t->model = dims && !other ? 2 : t->ranks;
    if (dims) {
        t->options.n_dims = 2;
        t->options.dims[0] = 2;
        t->options.dims[1] = t->ranks / 2 + other;
    }
    for (uint32_t i = 0; i < t->n; i++)
        set_scopes(&t->layers[i], bare ? 5 : policy);
    if (!bare) {
        say(t, policies[policy]);
        if (policy == 5)
            say_number(t, " ", t->late = below(&t->d, t->n + 1));
        say(t, "\n");
        say_number(t, "", t->said);
        say(t, "\n");
    } else
        t->said = t->n;
    say_layers(t);
}

static void draw(table *t)
{
    dice d = t->d;
    memset(t, 0, sizeof *t);
    t->d = d;
    t->options.first_step = t->options.last_step = -1;
    t->options.serial_communication = below(&t->d, 2);
    t->simai = below(&t->d, 2);
    t->micro = t->simai && below(&t->d, 4) == 0;
    t->n = 1 + below(&t->d, MAX_LAYERS);
    t->said = below(&t->d, 4) ? t->n : t->n + 1;
    t->late = NONE;
    draw_layers(t);
    if (t->simai)
        draw_simai(t);
    else
        draw_astra1(t);
    run(t);
}

static void check_communication(const table *t, const rlt_program *p, uint32_t rank, const op *o,
                                const rlt_op *x)
{
    const rlt_comm *c = &p->comms[x->comm];
    const uint32_t *members = p->group_ranks + p->group_first[c->group];
    uint32_t n, stride, first;
    group_of(t, o->scope, rank, &n, &stride, &first);
    assert_int_equal(c->kind, kinds[o->kind]);
    assert_int_equal(c->bytes, o->bytes);
    assert_int_equal(c->root, 0);
    assert_int_equal(p->group_first[c->group + 1] - p->group_first[c->group], n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(members[i], first + i * stride);
    assert_int_equal(x->purpose == RLT_FOR_TP, o->scope == OVER_MODEL);
}

/* Compute runs on one stream, and communication on one for each kind of group that is used; or all of it on the network, one
 * at a time. No other groups and streams are made. */
static void check_resources(const table *t, const rlt_program *p)
{
    static const char *const names[] = {"", "all", "model", "data", "expert", "data-expert"};
    bool serial = t->options.serial_communication, used[OVER_DATA_EXPERT + 1] = {false};
    uint32_t groups = 0, streams = serial ? 2 : 1;
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const op *o = &t->ops[i - p->rank_first[p->ops[i].rank]];
        const rlt_resource *r = &p->resources[p->ops[i].resource];
        char name[64] = "compute";
        if (o->kind)
            snprintf(name, sizeof name, serial ? "network" : "communication %s", names[o->scope]);
        assert_string_equal(rlt_program_string(p, r->name), name);
        assert_int_equal(r->kind, o->kind && serial ? RLT_RES_NETWORK : RLT_RES_STREAM);
        if (o->kind && !used[o->scope]) {
            uint32_t n, stride, first;
            group_of(t, o->scope, 0, &n, &stride, &first);
            used[o->scope] = true;
            groups += t->ranks / n;
            streams += !serial;
        }
    }
    assert_int_equal(p->n_groups, groups);
    assert_int_equal(p->n_resources, t->ranks * streams);
}

static void check_rank(const table *t, const rlt_program *p, uint32_t rank)
{
    static bool after[MAX_OPS][MAX_OPS];
    uint32_t first = p->rank_first[rank];
    memset(after, 0, sizeof after);
    assert_int_equal(p->rank_first[rank + 1] - first, t->n_ops);
    for (uint32_t i = 0; i < t->n_ops; i++) {
        const rlt_op *x = &p->ops[first + i];
        const op *o = &t->ops[i];
        assert_string_equal(rlt_program_string(p, x->name), o->name);
        assert_int_equal(x->kind, o->kind ? RLT_OP_COLLECTIVE : RLT_OP_COMPUTE);
        assert_int_equal(x->duration_ps, (rlt_time)o->ns * RLT_NS);
        if (o->kind)
            check_communication(t, p, rank, o, x);
        for (uint32_t d = 0; d < x->n_deps; d++) {
            uint32_t on = p->deps[x->first_dep + d] - first;
            assert_true(on < i);
            after[i][on] = true;
            for (uint32_t k = 0; k < on; k++)
                after[i][k] |= after[on][k];
        }
        for (uint32_t k = 0; k < i; k++)
            if (after[i][k] != o->after[k])
                fail_msg("%s after %s:\n%s", o->name, t->ops[k].name, t->text);
    }
}

static void tables_become_steps(void **state)
{
    static table t;
    (void)state;
    t.d = (dice){.seed = 4};
    for (int i = 0; i < 400; i++) {
        char path[] = "/tmp/ringlet-layers-XXXXXX";
        const char *list_of = path;
        rlt_program *p = NULL;
        rlt_error err = {0};
        draw(&t);
        test_write_new(path, t.text, strlen(t.text));
        int rc = rlt_trace_read(&list_of, 1, &t.options, &p, &err);
        unlink(path);
        if (rc)
            fail_msg("%s: %s\n%s", err.where, err.what, t.text);
        assert_string_equal(p->reader, t.simai ? "simai" : "astra1");
        assert_int_equal(p->n_ranks, t.ranks);
        assert_int_equal(p->n_layers, t.n);
        assert_string_equal(err.where, "");
        check_resources(&t, p);
        check_rank(&t, p, 0);
        check_rank(&t, p, t.ranks - 1);
        check_rank(&t, p, below(&t.d, t.ranks));
        assert_int_equal(noted(p, "groups of one rank: left out"), t.left_out);
        assert_int_equal(noted(p, "differs from the number on its second line"), t.said != t.n);
        assert_int_equal(noted(p, "traffic between pipeline stages"), t.stages - 1);
        assert_int_equal(noted(p, "gradient accumulation"), t.accumulate > 1 ? t.accumulate : 0);
        rlt_program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tables_become_steps),
    };
    return cmocka_run_group_tests_name("layers_drawn", tests, NULL, NULL);
}
