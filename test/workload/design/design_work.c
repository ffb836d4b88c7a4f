/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a designed network has to carry, read from every kind of file, layer by layer; and files of prices. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/text_file.h"
#include "test/support/trainings/drawn_training.h"
#include "test/support/trainings/training.h"
#include "workload/design/design.h"
#include "workload/models/model.h"
#include "workload/program/program.h"
#include "workload/training/training.h"

enum { MODEL = 4, DATA = 2 };

typedef int reading(rlt_design_work *w, const char *path, rlt_error *err);

static int simai(rlt_design_work *w, const char *path, rlt_error *err)
{
    return rlt_design_work_simai(w, path, false, err);
}

static int simai_twice(rlt_design_work *w, const char *path, rlt_error *err)
{
    return rlt_design_work_simai(w, path, true, err);
}

static int read_text(reading *read, const char *text, rlt_design_work *w, rlt_error *err)
{
    char path[] = "/tmp/ringlet-design-XXXXXX";
    test_write_new(path, text, strlen(text));
    *w = (rlt_design_work){.model = MODEL, .data = DATA};
    *err = (rlt_error){0};
    int rc = read(w, path, err);
    unlink(path);
    return rc;
}

/* Writes each layer as "compute:kind over bytes" for each of its phases. */
static void describe(const rlt_design_work *w, char *out, size_t size)
{
    static const char *const over[] = {"model", "data", "all"};
    size_t used = 0;
    out[0] = '\0';
    for (uint32_t i = 0; i < w->n; i++)
        for (uint32_t p = 0; p < 3 && used < size; p++) {
            const rlt_design_comm *c = &w->layers[i].comm[p];
            used += (size_t)snprintf(out + used, size - used, "%s%g",
                                     p   ? " "
                                     : i ? "; "
                                         : "",
                                     round(w->layers[i].compute_s[p] * 1e9));
            if (c->any && used < size)
                used += (size_t)snprintf(out + used, size - used, ":%s/%s/%g", rlt_coll_name(c->kind),
                                         over[c->over], c->bytes);
        }
}

static void expect(reading *read, const char *text, const char *layers)
{
    char got[1000];
    rlt_design_work w;
    rlt_error err;
    if (read_text(read, text, &w, &err))
        fail_msg("%s: %s", err.where, err.what);
    describe(&w, got, sizeof got);
    assert_string_equal(got, layers);
    rlt_design_work_free(&w);
    assert_null(w.layers);
    assert_int_equal(w.n + w.room, 0);
}

static void refuse(reading *read, const char *text, int code, const char *message)
{
    rlt_design_work w;
    rlt_error err;
    int rc = read_text(read, text, &w, &err);
    if (rc != code || !strstr(err.what, message))
        fail_msg("%d: '%s', expected '%s'", rc, err.what, message);
    rlt_design_work_free(&w);
}

#define GATHERS "1\na -1 100 ALLGATHER 1000 50 ALLREDUCE 300 30 ALLREDUCE 2000 7\n"

/* An all-gather has the share of a rank: that of 8, 4 or 2 members is as many times as large. */
static void first_astra(void **state)
{
    (void)state;
    expect(rlt_design_work_astra1, "MODEL\n" GATHERS, "100:all_gather/all/8000 50:all_reduce/all/300 30");
    expect(rlt_design_work_astra1, "DATA\n" GATHERS, "100 50 30:all_reduce/all/2000");
    expect(rlt_design_work_astra1, "HYBRID_DATA_MODEL\n" GATHERS,
           "100:all_gather/model/4000 50:all_reduce/model/300 30:all_reduce/data/2000");
    expect(rlt_design_work_astra1, "HYBRID_MODEL_DATA\n" GATHERS,
           "100:all_gather/data/2000 50:all_reduce/data/300 30:all_reduce/model/2000");
    /* layers without a header: activations over the model's ranks, gradients over the others */
    expect(rlt_design_work_astra1, "a -1 100 ALLREDUCE 10 50 NONE 0 30 ALLREDUCE 2000 7\n",
           "100:all_reduce/model/10 50 30:all_reduce/data/2000");
}

#define TWO                                                                                                  \
    "2\na -1 100 NONE 0 50 NONE 0 30 ALLREDUCE 2000 7\nb -1 200 NONE 0 60 NONE 0 40 ALLREDUCE 4000 9\n"
#define SIMAI "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: "

static void simai_tables(void **state)
{
    (void)state;
    /* The file says how many ranks share a model: 2 of 8, which leaves 4 for data. */
    expect(simai, SIMAI "2\n" TWO, "100 50 30:all_reduce/data/2000; 200 60 40:all_reduce/data/4000");
    rlt_design_work w;
    rlt_error err;
    assert_int_equal(read_text(simai, SIMAI "2\n" TWO, &w, &err), 0);
    assert_int_equal(w.model, 2);
    assert_int_equal(w.data, 4);
    rlt_design_work_free(&w);
    /* Layer 0 is repeated before the backward pass of layer 1: its forward pass alone, unless repeats are included. */
#define CHECKPOINTS SIMAI "2 checkpoints: 1 0 checkpoint_initiates: 1 1\n" TWO
    expect(simai, CHECKPOINTS, "100 50 30:all_reduce/data/2000; 200 60 40:all_reduce/data/4000; 100 0 0");
    expect(simai_twice, CHECKPOINTS, "100 50 30:all_reduce/data/2000; 200 60 40:all_reduce/data/4000");
    /* Without groups of experts, nothing is sent in them, and their copies are the ranks of the data. */
    expect(simai, SIMAI "2\n1\na -1 100 ALLTOALL_EP 8 50 NONE 0 30 ALLREDUCE_DP_EP 2000 7\n",
           "100 50 30:all_reduce/data/2000");
    refuse(simai, SIMAI "3\n" TWO, RLT_ERANGE, "8 accelerators do not divide into its model groups of 3");
    refuse(simai, SIMAI "2 ep: 2\n" TWO, RLT_EUNSUPPORTED, "expert parallelism");
    refuse(simai, SIMAI "2 pp: 2\n" TWO, RLT_EUNSUPPORTED, "pipeline stages");
}

#define LAYERS(layer) "{\"layers\": [" layer "]}"

static void json(void **state)
{
    (void)state;
    /* Activations go over the model's ranks and gradients over the others, unless 'over' says otherwise. */
    expect(
        rlt_design_work_json,
        LAYERS(
            "{\"repeat\": 2, \"forward\": {\"compute\": \"5ns\", \"collective\": \"all-reduce\", \"bytes\": \"7B\"},"
            "\"weight\": {\"collective\": \"all-to-all\", \"bytes\": \"9B\"}},"
            "{\"forward\": {\"collective\": \"all-reduce\", \"bytes\": \"1B\", \"over\": \"data\"},"
            "\"input\": {\"collective\": \"all-reduce\", \"bytes\": \"2B\", \"over\": \"all\"},"
            "\"weight\": {\"collective\": \"all-reduce\", \"bytes\": \"3B\", \"over\": \"model\"}}"),
        "5:all_reduce/model/7 0 0:all_to_all/data/9; 5:all_reduce/model/7 0 0:all_to_all/data/9; "
        "0:all_reduce/data/1 0:all_reduce/all/2 0:all_reduce/model/3");
    expect(rlt_design_work_json, LAYERS("{\"forward\": {\"collective\": \"all-reduce\", \"bytes\": \"0B\"}}"),
           "0 0 0");
    refuse(rlt_design_work_json,
           LAYERS("{\"forward\": {\"collective\": \"all-reduce\", \"bytes\": \"1B\", \"over\": \"x\"}}"),
           RLT_ESCHEMA, "expected model, data or all, got 'x'");
    refuse(rlt_design_work_json, LAYERS(""), RLT_ESCHEMA, "the file has no layers");
    refuse(rlt_design_work_json, LAYERS("7"), RLT_ESCHEMA, "expected an object with forward, input, weight");
    refuse(rlt_design_work_json, LAYERS("{\"forward\": 7}"), RLT_ESCHEMA, "expected an object with compute");
    refuse(rlt_design_work_json, LAYERS("{\"forward\": {\"collective\": \"gather\"}}"), RLT_ESCHEMA, "bytes");
    refuse(rlt_design_work_json, LAYERS("{\"forward\": {\"collective\": \"sing\", \"bytes\": \"1B\"}}"),
           RLT_ESCHEMA, "sing");
    refuse(rlt_design_work_json, "{\"layers\": 7}", RLT_ESCHEMA, "expected 'layers', a list");
    refuse(rlt_design_work_json, "[]", RLT_ESCHEMA, "expected an object with layers");
}

/* Three blocks of 1 ms forward and 2 ms backward, halves of which are for inputs and for weights, 64 elements between
 * blocks and 1000 parameters each, all in 2 bytes; tensor parallelism of 2 halves the time and the parameters. */
static void trainings(void **state)
{
    static const struct {
        uint32_t ranks;
        const char *tp, *batch, *overlap, *bucket, *layers;
    } rows[] = {
        {2, "1", "2", "off", "1B",
         "1e+06 1e+06 1e+06:all_reduce/data/6000; 1e+06 1e+06 1e+06; 1e+06 1e+06 1e+06"},
        {2, "1", "2", "on", "4000B",
         "1e+06 1e+06 1e+06:all_reduce/data/2000; 1e+06 1e+06 1e+06:all_reduce/data/4000; 1e+06 1e+06 1e+06"},
        {2, "2", "1", "on", "4000B",
         "500000:all_reduce/model/128 500000:all_reduce/model/128 500000; "
         "500000:all_reduce/model/128 500000:all_reduce/model/128 500000; "
         "500000:all_reduce/model/128 500000:all_reduce/model/128 500000"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char got[1000];
        rlt_design_work w = {0};
        fixture f = {.err = {0}};
        test_blocks(&f.model, 3);
        for (uint32_t k = 0; k < 3; k++)
            f.model.layers[k].tp_elements = TEST_BLOCK_OUTPUT;
        test_begin(&f);
        test_set(&f, "tp", rows[i].tp);
        test_set(&f, "batch", rows[i].batch);
        test_set(&f, "overlap", rows[i].overlap);
        test_set(&f, "bucket", rows[i].bucket);
        if (rlt_training_plan(&f.t, rows[i].ranks, &f.err) || rlt_design_work_training(&w, &f.t, &f.err))
            fail_msg("%s: %s", f.err.where, f.err.what);
        describe(&w, got, sizeof got);
        assert_string_equal(got, rows[i].layers);
        rlt_design_work_free(&w);
        rlt_model_free(&f.model);
    }
}

/* The first thing that a design leaves out of a training; NULL: none. */
static const char *left_out(const rlt_training *t)
{
    static const char *const words[] = {"pipeline parallelism", "context parallelism",
                                        "expert parallelism",   "ZeRO 3",
                                        "sequence parallelism", "local SGD"};
    const bool has[] = {t->size[RLT_AXIS_PP] > 1,
                        t->size[RLT_AXIS_CP] > 1,
                        t->ep > 1 || rlt_training_etp(t) < t->size[RLT_AXIS_TP],
                        t->zero == 3,
                        t->sequence_parallel,
                        t->sync_every > 1};
    for (size_t i = 0; i < sizeof has / sizeof *has; i++)
        if (has[i])
            return words[i];
    return NULL;
}

static void same_comm(uint32_t k, uint32_t layer, const rlt_design_comm *c, rlt_design_over over,
                      double bytes)
{
    if (c->any != (bytes > 0) || (c->any && (c->kind != RLT_ALL_REDUCE || c->over != over)) ||
        fabs(c->bytes - bytes) > 1e-9 * bytes)
        fail_msg("trial %u, layer %u: %g bytes, expected %g", k, layer, c->bytes, bytes);
}

static void same_time(uint32_t k, uint32_t layer, double seconds, double ps)
{
    if (fabs(seconds * 1e12 - ps) > 1e-9 * ps)
        fail_msg("trial %u, layer %u: %g ps, expected %g", k, layer, seconds * 1e12, ps);
}

/* Returns the bytes of a layer's gradients: of all weights of a rank, or of adapters alone, without those that are
 * pruned. */
static double gradients_of(const rlt_training *t, const rlt_model_layer *l)
{
    double n = (double)(l->parameters + l->expert_parameters) / (l->sharded ? t->size[RLT_AXIS_TP] : 1);
    return (t->lora_rank ? (double)t->lora_rank * (double)l->sides : n) * t->gradient_bytes *
           (1 - t->sparsity);
}

/* Compares layers with the microbatches of a training, one after another. Gradients of the last one are summed when a
 * bucket is full, and the rest after the first layer. */
static void compare_training(uint32_t k, const rlt_training *t, const rlt_design_work *w)
{
    uint32_t n = t->model->n_layers, m = rlt_training_microbatches(t), tp = t->size[RLT_AXIS_TP];
    static rlt_time forward[DRAWN_LAYERS], backward[DRAWN_LAYERS];
    double bucket = 0;
    rlt_error err = {0};
    assert_int_equal(rlt_training_layer_times(t, forward, backward, &err), 0);
    assert_int_equal(w->n, n * m);
    assert_int_equal(w->model, tp);
    assert_int_equal(w->data, t->size[RLT_AXIS_DP]);
    for (uint32_t i = w->n; i-- > 0;) {
        const rlt_model_layer *l = &t->model->layers[i % n];
        const rlt_design_layer *got = &w->layers[i];
        double each = tp > 1 ? (double)t->microbatch * t->element_bytes : 0,
               back = (double)(l->tp_inputs ? l->tp_inputs : l->tp_elements);
        same_time(k, i, got->compute_s[0], (double)forward[i % n]);
        same_time(k, i, got->compute_s[1], (double)backward[i % n] / 2);
        same_time(k, i, got->compute_s[2], (double)backward[i % n] / 2);
        same_comm(k, i, &got->comm[0], RLT_DESIGN_MODEL, (double)l->tp_elements * each);
        same_comm(k, i, &got->comm[1], RLT_DESIGN_MODEL, back * each);
        bool last = i >= n * (m - 1), first = i % n == 0;
        bucket += last && w->data > 1 ? gradients_of(t, l) : 0;
        bool full = last && (first || (t->overlap && bucket >= (double)t->bucket_bytes));
        same_comm(k, i, &got->comm[2], RLT_DESIGN_DATA, full ? bucket : 0);
        bucket = full ? 0 : bucket;
    }
}

static void drawn_trainings(void **state)
{
    dice d = {.seed = 21};
    uint32_t planned = 0;
    (void)state;
    for (uint32_t k = 0; k < 600; k++) {
        static drawn x;
        rlt_training *t = &x.f.t;
        rlt_design_work w = {0};
        rlt_error err = {0};
        if (!drawn_training(&x, &d, 1))
            continue;
        bool plain = below(&d, 4) > 0;
        if (plain) {
            t->size[RLT_AXIS_PP] = t->size[RLT_AXIS_CP] = t->vp = t->ep = 1;
            t->zero = below(&d, 3);
            t->shard = t->etp = 0;
            t->sequence_parallel = t->tp_overlap = false;
            t->sync_every = below(&d, 8) ? 1 : 2;
            t->batch = t->size[RLT_AXIS_DP] * t->microbatch * (1 + below(&d, 3));
            if (rlt_training_plan(t, 0, &err))
                continue;
        }
        const char *what = left_out(t);
        int rc = rlt_design_work_training(&w, t, &err);
        assert_int_equal(rc, what ? RLT_EUNSUPPORTED : 0);
        if (what)
            assert_string_equal(err.what + strlen("design does not support "), what);
        else
            compare_training(k, t, &w);
        planned += !what;
        rlt_design_work_free(&w);
    }
    assert_true(planned > 100);
}

static int prices(const char *text, rlt_design_prices *out, rlt_error *err)
{
    char path[] = "/tmp/ringlet-prices-XXXXXX";
    test_write_new(path, text, strlen(text));
    *err = (rlt_error){0};
    int rc = rlt_design_prices_read(path, out, err);
    unlink(path);
    return rc;
}

/* Tables that are built in are numbered from 0; a level that has a price has it for links. */
static void built_in_prices(void **state)
{
    (void)state;
    static const char *const names[] = {"libra", "sc22", "2021"};
    uint32_t n = 0;
    for (const rlt_design_prices *p; (p = rlt_design_prices_at(n)) != NULL; n++) {
        assert_true(n < 3 && strlen(p->source) > 0);
        assert_string_equal(p->name, names[n]);
        assert_int_equal(p->pairs, n == 1);
        for (int l = 0; l < RLT_LEVELS; l++)
            assert_true(p->link[l] > 0 && p->switch_port[l] >= 0 && !p->lacks[l]);
    }
    assert_int_equal(n, 3);
    assert_null(rlt_design_prices_at(n + 1));
}

static void price_files(void **state)
{
    rlt_design_prices p;
    rlt_error err;
    (void)state;
    assert_int_equal(prices("{\"source\": \"here\", \"node\": {\"link\": 1e12, \"nic\": 0}}", &p, &err), 0);
    assert_true(p.lacks[0] && p.lacks[1] && !p.lacks[2] && p.lacks[3]);
    assert_true(p.link[2] >= 1e12 && p.link[2] <= 1e12 && p.nic[2] <= 0 && !p.pairs);
    assert_string_equal(p.source, "here");
    assert_string_equal(p.name, "prices");
    assert_int_equal(prices("{\"source\": \"x\", \"link_is_both_ways\": true, \"name\": \"n\"}", &p, &err),
                     0);
    assert_true(p.pairs && p.lacks[2]);
    assert_string_equal(p.name, "n");
    assert_int_equal(prices("{\"source\": \"x\", \"pod\": {\"link\": 1000000000001}}", &p, &err), RLT_ERANGE);
    assert_int_equal(prices("{\"source\": \"x\", \"pod\": {\"switch\": -1}}", &p, &err), RLT_ERANGE);
    assert_int_equal(prices("{\"source\": \"x\", \"pod\": {\"port\": 1}}", &p, &err), RLT_ESCHEMA);
    assert_int_equal(prices("{\"pod\": {}}", &p, &err), RLT_ESCHEMA);
    assert_int_equal(prices("[]", &p, &err), RLT_ESCHEMA);
}

/* Traces of 8 ranks with a communication that no design has, or of too few ranks. */
static void refused_traces(void **state)
{
    static const uint32_t pair[] = {0, 1}, all[] = {0, 1, 2, 3, 4, 5, 6, 7};
    static const struct {
        uint32_t ranks;
        rlt_op_kind kind;
        uint32_t members;
        bool timed;
        int code;
        const char *where, *what;
    } rows[] = {
        {4, RLT_OP_COMPUTE, 0, false, RLT_ERANGE, "",
         "the trace has 4 ranks, but the network has 8 accelerators"},
        {8, RLT_OP_SEND, 0, false, RLT_EUNSUPPORTED, "",
         "design supports collectives only: the trace has messages between two ranks"},
        {8, RLT_OP_COLLECTIVE, 2, false, RLT_EUNSUPPORTED, "odd",
         "a collective of 2 ranks, the first of them rank 0, fits no group: expected the tensor-parallel "
         "ranks of tp=4, the data-parallel ranks, or all ranks"},
        {8, RLT_OP_COLLECTIVE, 8, true, RLT_EUNSUPPORTED, "all_reduce",
         "a communication has no size: expected a trace that records bytes"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        rlt_builder *b = NULL;
        rlt_program *p = NULL;
        rlt_error err = {0};
        rlt_design_work w = {.model = MODEL, .data = DATA};
        assert_int_equal(rlt_builder_create(rows[i].ranks, &b, &err), 0);
        uint32_t n = rows[i].members ? rows[i].members : rows[i].kind == RLT_OP_SEND ? 2 : 1;
        uint32_t g = rows[i].members ? rlt_build_group(b, "odd", n == 2 ? pair : all, n) : RLT_NONE;
        for (uint32_t r = 0; r < n; r++) {
            rlt_op_desc d = rlt_op_desc_init(rows[i].kind, r);
            if (rows[i].kind == RLT_OP_SEND && r)
                d.kind = RLT_OP_RECV;
            d.name = rlt_build_string(b, "x", 1);
            d.coll = RLT_ALL_REDUCE;
            d.group = g;
            d.peer = 1 - r % 2;
            d.timed = rows[i].timed;
            d.duration_ps = 5;
            d.bytes = d.timed ? 0 : 8;
            (void)rlt_build_op(b, &d);
        }
        assert_int_equal(rlt_builder_finish(b, "test", &p, &err), 0);
        int rc = rlt_design_work_program(&w, p, &err);
        if (rc != rows[i].code || strcmp(err.where, rows[i].where) != 0 ||
            strcmp(err.what, rows[i].what) != 0)
            fail_msg("row %zu: %d at '%s': '%s'", i, rc, err.where, err.what);
        rlt_design_work_free(&w);
        rlt_program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(refused_traces),  cmocka_unit_test(first_astra),
                                       cmocka_unit_test(simai_tables),    cmocka_unit_test(json),
                                       cmocka_unit_test(trainings),       cmocka_unit_test(drawn_trainings),
                                       cmocka_unit_test(built_in_prices), cmocka_unit_test(price_files)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
