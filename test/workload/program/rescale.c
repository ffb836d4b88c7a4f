/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Rescaled programs are compared with the same workloads generated or read at that scale. Bytes are
 * conserved, and bad requests are refused. */
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/text_file.h"
#include "test/support/traces/replay.h"
#include "test/support/trainings/transformer.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/program/rescale.h"

#define DATA "../shared/data/"

static rlt_program *scaled(rlt_program *p, const char *group, uint32_t members)
{
    rlt_program *out = NULL;
    rlt_error err = {0};
    if (rlt_program_rescale(p, group, members, &out, &err))
        fail_msg("%s: %s", err.where, err.what);
    rlt_program_free(p);
    return out;
}

static void same_comm(const rlt_program *a, const rlt_op *x, const rlt_program *b, const rlt_op *y)
{
    const rlt_comm *c = &a->comms[x->comm], *d = &b->comms[y->comm];
    uint32_t n = a->group_first[c->group + 1] - a->group_first[c->group];
    assert_int_equal(c->kind, d->kind);
    assert_int_equal(c->bytes, d->bytes);
    assert_int_equal(c->root, d->root);
    assert_int_equal(c->sequence, d->sequence);
    assert_int_equal(x->member, y->member);
    assert_int_equal(n, b->group_first[d->group + 1] - b->group_first[d->group]);
    assert_memory_equal(a->group_ranks + a->group_first[c->group], b->group_ranks + b->group_first[d->group],
                        n * sizeof *a->group_ranks);
}

/* Expects equal operations, dependencies and communication. */
static void same(rlt_program *a, rlt_program *b)
{
    assert_int_equal(a->n_ranks, b->n_ranks);
    assert_int_equal(a->n_ops, b->n_ops);
    assert_int_equal(a->n_deps, b->n_deps);
    assert_int_equal(a->n_comms, b->n_comms);
    assert_int_equal(a->n_resources, b->n_resources);
    assert_memory_equal(a->deps, b->deps, a->n_deps * sizeof *a->deps);
    for (uint32_t i = 0; i < a->n_ops; i++) {
        const rlt_op *x = &a->ops[i], *y = &b->ops[i];
        assert_int_equal(x->kind, y->kind);
        assert_int_equal(x->rank, y->rank);
        assert_int_equal(x->step, y->step);
        assert_int_equal(x->duration_ps, y->duration_ps);
        assert_string_equal(rlt_program_string(a, x->name), rlt_program_string(b, y->name));
        assert_int_equal(x->resource == RLT_NONE, y->resource == RLT_NONE);
        if (x->resource != RLT_NONE)
            assert_string_equal(rlt_program_string(a, a->resources[x->resource].name),
                                rlt_program_string(b, b->resources[y->resource].name));
        if (x->kind >= RLT_OP_COLLECTIVE)
            same_comm(a, x, b, y);
    }
    rlt_program_free(a);
    rlt_program_free(b);
}

static rlt_program *transformer(uint32_t ranks)
{
    return test_transformer(ranks, 4, 2);
}

static void generated(void **state)
{
    (void)state;
    static const uint32_t sizes[][2] = {{2, 8}, {8, 2}, {4, 6}, {3, 3}};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        same(scaled(transformer(sizes[i][0]), "dp", sizes[i][1]), transformer(sizes[i][1]));
    same(scaled(transformer(2), "@2", 5), transformer(5));
    /* so they take equally long, to the picosecond */
    rlt_program *a = scaled(transformer(2), "dp", 8), *b = transformer(8);
    assert_int_equal(test_replay(a, "hgx-h100-8"), test_replay(b, "hgx-h100-8"));
    assert_true(test_replay(a, "hgx-h100-8") > 0);
    rlt_program_free(a);
    rlt_program_free(b);
}

static rlt_program *read_at(const char *path, uint32_t ranks)
{
    rlt_read_options o = {.first_step = -1, .last_step = -1, .n_ranks = ranks};
    rlt_program *p = NULL;
    rlt_error err = {0};
    if (rlt_trace_read(&path, 1, &o, &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    return p;
}

/* Tensor-parallel groups inside data-parallel ones: both get their copies and places. */
static void two_dimensions(void **state)
{
    (void)state;
    const char *text =
        "HYBRID_TRANSFORMER_FWD_IN_BCKWD model_parallel_NPU_group: 2 ep: 1 pp: 1 vpp: 1 ga: 1 all_gpus: 4 "
        "checkpoints: 0 checkpoint_initiates: 0\n2\n"
        "a -1 100 ALLREDUCE 2000 50 ALLREDUCE 1000 30 REDUCESCATTER 4000 7\n"
        "b -1 100 ALLGATHER 2000 50 NONE 0 30 ALLREDUCE 4000 7\n";
    char path[] = "/tmp/ringlet-rescale-XXXXXX";
    test_write_new(path, text, strlen(text));
    same(scaled(read_at(path, 4), "data", 6), read_at(path, 12));
    same(scaled(read_at(path, 12), "data", 2), read_at(path, 4));
    unlink(path);
}

static void published(void **state)
{
    (void)state;
    const char *simai = DATA "simai/G13B-M1-C01_GPT13B_megatron_tp8_pp1_mbs1_A100.txt",
               *stages = DATA "pipedream/test_graphs_vgg16_partitioned.txt";
    if (access(simai, R_OK)) {
        print_message("# no ../shared: published files are not here\n");
        skip();
    }
    same(scaled(read_at(simai, 16), "data", 8), read_at(simai, 64));
    /* three stages of a pipeline, replicated: messages between stages are copied */
    same(scaled(read_at(stages, 6), "stage", 4), read_at(stages, 12));
}

static uint32_t named(rlt_builder *b, const char *name)
{
    return rlt_build_string(b, name, strlen(name));
}

static rlt_op_desc collective(rlt_builder *b, uint32_t rank, rlt_coll_kind kind, uint32_t group,
                              uint64_t bytes)
{
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COLLECTIVE, rank);
    d.name = named(b, "c");
    d.coll = kind;
    d.group = group;
    d.bytes = bytes;
    return d;
}

static rlt_program *finish(rlt_builder *b)
{
    rlt_program *p = NULL;
    rlt_error err = {0};
    if (rlt_builder_finish(b, "test", &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    return p;
}

static rlt_builder *builder(uint32_t ranks)
{
    rlt_builder *b = NULL;
    assert_int_equal(rlt_builder_create(ranks, &b, NULL), 0);
    return b;
}

/* In an uneven exchange, the bytes that a rank sends stay, and so do the bytes received in total. The sum of
 * the shares of a gather stays. */
static void conserved(void **state)
{
    (void)state;
    static const uint32_t both[] = {0, 1};
    static const uint64_t rows[2][2] = {{10, 7}, {5, 3}};
    rlt_builder *b = builder(2);
    uint32_t g = rlt_build_group(b, "ep", both, 2);
    for (uint32_t r = 0; r < 2; r++) {
        rlt_op_desc d = collective(b, r, RLT_ALL_TO_ALL, g, 0);
        d.send_counts = rows[r];
        rlt_build_op(b, &d);
        d = collective(b, r, RLT_GATHER, g, r ? 200 : 62); /* shares of 31 and 100 bytes */
        d.root = 1;
        rlt_build_op(b, &d);
    }
    rlt_program *p = scaled(finish(b), "ep", 5);
    assert_int_equal(p->n_ranks, 5);
    assert_int_equal(p->n_comms, 2);
    const rlt_comm *a2a = &p->comms[0], *gather = &p->comms[1];
    assert_int_equal(a2a->kind, RLT_ALL_TO_ALL);
    assert_non_null(a2a->counts);
    uint64_t received = 0;
    for (uint32_t m = 0; m < 5; m++) { /* member m does what m mod 2 did */
        uint64_t sent[2] = {0, 0};
        for (uint32_t j = 0; j < 5; j++) {
            sent[j % 2] += a2a->counts[m * 5 + j];
            received += a2a->counts[m * 5 + j];
        }
        assert_int_equal(sent[0], rows[m % 2][0]);
        assert_int_equal(sent[1], rows[m % 2][1]);
    }
    assert_int_equal(received, 3 * 17 + 2 * 8);
    assert_int_equal(gather->kind, RLT_GATHER);
    assert_int_equal(gather->root, 1);
    assert_int_equal(gather->bytes, 131);
    uint64_t shares[2] = {0, 0};
    for (uint32_t m = 0; m < 5; m++)
        shares[m % 2] += gather->counts[m];
    assert_int_equal(shares[0], 31);
    assert_int_equal(shares[1], 100);
    rlt_program_free(p);
}

/* Two stages of two ranks; the second lists its ranks in reverse. There is no common distance, so copies are
 * numbered one after the other. The world grows; a recorded time stays. */
static void irregular(void **state)
{
    (void)state;
    static const uint32_t first[] = {0, 1}, second[] = {3, 2}, all[] = {0, 1, 2, 3};
    rlt_builder *b = builder(4);
    uint32_t g[2] = {rlt_build_group(b, "dp 0", first, 2), rlt_build_group(b, "dp 1", second, 2)};
    uint32_t world = rlt_build_group(b, "all", all, 4);
    for (uint32_t r = 0; r < 4; r++) {
        rlt_op_desc d = collective(b, r, RLT_ALL_REDUCE, g[r / 2], 1000);
        rlt_build_op(b, &d);
        d = collective(b, r, RLT_BROADCAST, world, 8);
        d.root = 3;
        rlt_build_op(b, &d);
        d = collective(b, r, RLT_BARRIER, world, 0);
        d.timed = true;
        d.duration_ps = 7 * RLT_US;
        rlt_build_op(b, &d);
        d = rlt_op_desc_init(r < 2 ? RLT_OP_SEND : RLT_OP_RECV, r);
        d.peer = 3 - r; /* 0 to 3 and 1 to 2: member 0 to 0, 1 to 1 */
        d.bytes = 64;
        rlt_build_op(b, &d);
    }
    rlt_program *p = scaled(finish(b), "dp", 4);
    assert_int_equal(p->n_ranks, 8);
    /* Old ranks 0 1 2 3 are new 0 1 2 3 and, again, 4 5 6 7. */
    static const uint32_t want[8][4] = {{0, 1, 4, 5}, {0, 1, 4, 5}, {3, 2, 7, 6}, {3, 2, 7, 6},
                                        {0, 1, 4, 5}, {0, 1, 4, 5}, {3, 2, 7, 6}, {3, 2, 7, 6}};
    static const uint32_t peer[8] = {3, 2, 1, 0, 7, 6, 5, 4};
    for (uint32_t r = 0; r < 8; r++) {
        const rlt_op *o = p->ops + p->rank_first[r];
        assert_int_equal(p->rank_first[r + 1] - p->rank_first[r], 4);
        const uint32_t *members = p->group_ranks + p->group_first[p->comms[o[0].comm].group];
        assert_memory_equal(members, want[r], sizeof want[r]);
        assert_int_equal(p->comms[o[0].comm].bytes, 1000);
        uint32_t grown = p->comms[o[1].comm].group;
        assert_int_equal(p->group_first[grown + 1] - p->group_first[grown], 8);
        assert_int_equal(p->comms[o[1].comm].root, 3);
        assert_true(p->comms[o[2].comm].timed);
        assert_int_equal(o[2].duration_ps, 7 * RLT_US);
        const uint32_t *pair = p->group_ranks + p->group_first[p->comms[o[3].comm].group];
        assert_int_equal(pair[1 - o[3].member], peer[r]);
    }
    rlt_program_free(p);
}

/* Neighbours stay neighbours, even if the first group is not that of rank 0. */
static void in_another_order(void **state)
{
    static const uint32_t late[] = {2, 3}, early[] = {0, 1};
    (void)state;
    rlt_builder *b = builder(4);
    uint32_t g[2] = {rlt_build_group(b, "dp 1", late, 2), rlt_build_group(b, "dp 0", early, 2)};
    for (uint32_t r = 0; r < 4; r++) {
        rlt_op_desc d = collective(b, r, RLT_ALL_REDUCE, g[r < 2], 1000);
        rlt_build_op(b, &d);
    }
    rlt_program *p = scaled(finish(b), "dp", 4);
    assert_int_equal(p->n_ranks, 8);
    for (uint32_t r = 0; r < 8; r++) {
        const rlt_op *o = p->ops + p->rank_first[r];
        const uint32_t *members = p->group_ranks + p->group_first[p->comms[o->comm].group];
        for (uint32_t i = 0; i < 4; i++)
            assert_int_equal(members[i], r / 4 * 4 + i);
    }
    rlt_program_free(p);
}

static void refuse(const rlt_program *p, const char *group, uint32_t members, int code, const char *what)
{
    rlt_program *out = (rlt_program *)(void *)&out; /* nothing is left of it */
    rlt_error err = {0};
    int rc = rlt_program_rescale(p, group, members, &out, &err);
    assert_null(out);
    if (rc != code || err.code != code || !strstr(err.what, what))
        fail_msg("%d: %s, expected %d: %s", rc, err.what, code, what);
    assert_null(out);
}

/* A size is a decimal number. */
static void group_of_twelve(void **state)
{
    static const uint32_t all[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11};
    (void)state;
    rlt_builder *b = builder(12);
    uint32_t g = rlt_build_group(b, "", all, 12);
    for (uint32_t r = 0; r < 12; r++) {
        rlt_op_desc d = collective(b, r, RLT_ALL_REDUCE, g, 8);
        rlt_build_op(b, &d);
    }
    rlt_program *p = finish(b);
    refuse(p, "@13", 2, RLT_EUSAGE, "no group '@13'; known are: (unnamed) (@12)");
    p = scaled(p, "@12", 3);
    assert_int_equal(p->n_ranks, 3);
    rlt_program_free(p);
}

static void refusals(void **state)
{
    (void)state;
    static const uint32_t pairs[][2] = {{0, 1}, {2, 3}, {0, 2}, {1, 3}}, odd[] = {0, 1, 2};
    rlt_builder *b = builder(4);
    uint32_t tp[2], dp[2], some = rlt_build_group(b, "some", odd, 3);
    tp[0] = rlt_build_group(b, "tp 0", pairs[0], 2);
    tp[1] = rlt_build_group(b, "tp 1", pairs[1], 2);
    dp[0] = rlt_build_group(b, "dp 0", pairs[2], 2);
    dp[1] = rlt_build_group(b, "dp 1", pairs[3], 2);
    for (uint32_t r = 0; r < 4; r++) {
        rlt_op_desc d = collective(b, r, RLT_ALL_REDUCE, tp[r / 2], 8);
        rlt_build_op(b, &d);
        d = collective(b, r, RLT_ALL_REDUCE, dp[r % 2], 8);
        rlt_build_op(b, &d);
        d = rlt_op_desc_init(r % 2 ? RLT_OP_RECV : RLT_OP_SEND, r);
        d.peer = r ^ 1;
        rlt_build_op(b, &d);
        d = collective(b, r, RLT_BROADCAST, some, 8);
        d.root = 2;
        if (r < 3)
            rlt_build_op(b, &d);
    }
    rlt_program *p = finish(b);
    refuse(p, "pp", 4, RLT_EUSAGE, "no group 'pp'; known are: some (@3), tp 0 (@2), tp 1 (@2), dp 0 (@2)");
    refuse(p, "t", 4, RLT_EUSAGE, "no group 't'");
    refuse(p, "@7", 4, RLT_EUSAGE, "no group '@7'");
    refuse(p, "@2", 4, RLT_EUSAGE, "rank 0 is in several groups '@2'");
    refuse(p, "some", 4, RLT_EUSAGE, "rank 3 is in no group 'some': expected every rank in one of them");
    refuse(p, "dp", 1, RLT_EUSAGE, "two or more members");
    refuse(p, "dp", 1u << 24, RLT_ERANGE, "2 groups of 16777216 members exceed 16777216 ranks");
    refuse(p, "dp", (1u << 23) + 1, RLT_ERANGE, "2 groups of 8388609 members exceed 16777216 ranks");
    refuse(p, "dp", 4, RLT_EUNSUPPORTED, "group 'some' has only some members");
    refuse(p, "tp", 4, RLT_EUNSUPPORTED, "a message between members of groups 'tp'");
    rlt_program_free(p);
    static const uint32_t chain[][2] = {{0, 1}, {2, 1}};
    b = builder(3);
    for (uint32_t i = 0; i < 2; i++) {
        uint32_t pair = rlt_build_group(b, i ? "dp 1" : "dp 0", chain[i], 2);
        for (uint32_t k = 0; k < 2; k++) {
            rlt_op_desc d = collective(b, chain[i][k], RLT_ALL_REDUCE, pair, 8);
            rlt_build_op(b, &d);
        }
    }
    p = finish(b);
    refuse(p, "dp", 4, RLT_EUSAGE, "rank 1 is in several groups 'dp'");
    rlt_program_free(p);
    b = builder(3);
    uint32_t g = rlt_build_group(b, "dp", odd, 3);
    for (uint32_t r = 0; r < 3; r++) {
        rlt_op_desc d = collective(b, r, RLT_BROADCAST, g, 8);
        d.root = 2;
        rlt_build_op(b, &d);
    }
    p = finish(b);
    refuse(p, "dp", 2, RLT_EUNSUPPORTED, "the root of a broadcast");
    rlt_program_free(p);
}

/* "group dp 3" of a recording is meant by "dp", as "dp of rank 0" is; "dpx" is another word. */
static void labels(void **state)
{
    static const char *const names[] = {"group dp 3", "dp of rank 0", "dp", "group dpx", "dpx"};
    static const uint32_t both[] = {0, 1};
    (void)state;
    for (int i = 0; i < 5; i++) {
        rlt_builder *b = builder(2);
        uint32_t g = rlt_build_group(b, names[i], both, 2);
        for (uint32_t r = 0; r < 2; r++) {
            rlt_op_desc d = collective(b, r, RLT_ALL_REDUCE, g, 8);
            rlt_build_op(b, &d);
        }
        rlt_program *p = finish(b);
        if (i < 3) {
            p = scaled(p, "dp", 4);
            assert_int_equal(p->n_ranks, 4);
        } else {
            refuse(p, "dp", 4, RLT_EUSAGE, "no group 'dp'");
        }
        rlt_program_free(p);
    }
}

/* Pairs of tp inside dp = 2, rescaled to 4: place j repeats the rows, shares and roots of place j mod 2. */
static void copies_of_a_place(void **state)
{
    static const uint32_t pairs[][2] = {{0, 1}, {2, 3}, {0, 2}, {1, 3}};
    static const uint64_t rows[4][2] = {{1, 2}, {3, 4}, {5, 6}, {7, 8}};
    static const uint64_t shares[2][2] = {{5, 15}, {25, 35}};
    static const char *const labels[] = {"tp 0", "tp 1", "tp 0 / dp 2", "tp 1 / dp 3"};
    (void)state;
    rlt_builder *b = builder(4);
    uint32_t tp[2], dp[2];
    for (uint32_t i = 0; i < 2; i++) {
        tp[i] = rlt_build_group(b, i ? "tp 1" : "tp 0", pairs[i], 2);
        dp[i] = rlt_build_group(b, i ? "dp 1" : "dp 0", pairs[2 + i], 2);
    }
    for (uint32_t r = 0; r < 4; r++) {
        rlt_op_desc d = collective(b, r, RLT_ALL_TO_ALL, tp[r / 2], 0);
        d.send_counts = rows[r];
        rlt_build_op(b, &d);
        d = collective(b, r, RLT_GATHER, tp[r / 2], 2 * shares[r / 2][r % 2]);
        d.root = 1;
        rlt_build_op(b, &d);
        d = collective(b, r, RLT_BROADCAST, tp[r / 2], 9);
        d.root = 1;
        d.recorded_ps = 100 + r;
        d.recorded_duration_ps = 10 + r;
        d.step = 1;
        rlt_build_op(b, &d);
        d = collective(b, r, RLT_ALL_REDUCE, dp[r % 2], 8);
        rlt_build_op(b, &d);
        rlt_build_rank_start(b, r, 50 * (rlt_time)r);
    }
    rlt_build_layers(b, 12);
    rlt_build_note(b, 3, "a note");
    rlt_program *p = scaled(finish(b), "dp", 4);
    assert_int_equal(p->n_layers, 12);
    assert_string_equal(p->notes[0].text, "a note");
    assert_int_equal(p->notes[0].count, 3);
    assert_int_equal(p->notes[1].count, 8);
    assert_non_null(strstr(p->notes[1].text, "groups 'dp' from 2 to 4 members: member k repeats the work of "
                                             "member k mod 2; collectives keep their bytes"));
    for (uint32_t r = 0; r < 8; r++) {
        const rlt_op *o = p->ops + p->rank_first[r];
        uint32_t place = r / 2 % 2;
        for (uint32_t i = 0; i < 3; i++) {
            const rlt_comm *c = &p->comms[o[i].comm];
            const uint32_t *ranks = p->group_ranks + p->group_first[c->group];
            assert_int_equal(ranks[0], r / 2 * 2);
            assert_int_equal(ranks[1], r / 2 * 2 + 1);
            assert_int_equal(c->root, i > 0);
            assert_string_equal(rlt_program_string(p, p->group_names[c->group]), labels[r / 2]);
        }
        assert_memory_equal(p->comms[o[0].comm].counts, rows[2 * place], sizeof rows / 2);
        assert_memory_equal(p->comms[o[1].comm].counts, shares[place], sizeof shares[0]);
        assert_int_equal(p->comms[o[2].comm].bytes, 9);
        assert_int_equal(o[2].recorded_ps, 100 + r % 4);
        assert_int_equal(o[2].recorded_duration_ps, 10 + r % 4);
        assert_int_equal(o[2].step, 1);
        assert_int_equal(p->rank_start_ps[r], 50 * (r % 4));
    }
    rlt_program_free(p);
}

/* Groups of unlike sizes, groups of one, and a message without its other half. */
static void refuses_groups_that_do_not_fit(void **state)
{
    static const uint32_t ranks[] = {0, 1, 2, 3, 4};
    static const struct {
        uint32_t first, second; /* sizes of both groups */
        bool alone;             /* rank 0 sends what nobody receives */
        int code;
        const char *what;
    } cases[] = {
        {2, 3, false, RLT_EUSAGE, "groups 'dp' have 2 and 3 members: expected groups of equal size"},
        {3, 2, false, RLT_EUSAGE, "groups 'dp' have 3 and 2 members: expected groups of equal size"},
        {1, 1, false, RLT_EUSAGE, "groups 'dp' have one member: expected at least two"},
        {2, 2, true, RLT_EUNSUPPORTED, "rank 0: operation 'lone' has no matching send or receive"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t n = cases[i].first + cases[i].second;
        rlt_builder *b = builder(n);
        uint32_t g[2] = {rlt_build_group(b, "dp 0", ranks, cases[i].first),
                         rlt_build_group(b, "dp 1", ranks + cases[i].first, cases[i].second)};
        for (uint32_t r = 0; r < n; r++) {
            rlt_op_desc d = collective(b, r, RLT_ALL_REDUCE, g[r >= cases[i].first], 8);
            rlt_build_op(b, &d);
        }
        rlt_op_desc d = rlt_op_desc_init(RLT_OP_SEND, 0);
        d.name = named(b, "lone");
        d.peer = 1;
        if (cases[i].alone)
            rlt_build_op(b, &d);
        rlt_program *p = finish(b);
        refuse(p, "dp", 4, cases[i].code, cases[i].what);
        rlt_program_free(p);
    }
}

/* A share of almost 2^62 bytes beside the two halves of a small one: three of it are more than 2^63. */
static void too_many_bytes(void **state)
{
    static const uint32_t both[] = {0, 1};
    (void)state;
    for (int n = 2; n < 4; n++) {
        rlt_builder *b = builder(2);
        uint32_t g = rlt_build_group(b, "dp", both, 2);
        for (uint32_t r = 0; r < 2; r++) {
            rlt_op_desc d = collective(b, r, RLT_GATHER, g, r ? (uint64_t)INT64_MAX / 2 * 2 : 2);
            rlt_build_op(b, &d);
        }
        rlt_program *p = finish(b);
        if (n == 2)
            p = scaled(p, "dp", 2);
        else
            refuse(p, "dp", 3, RLT_ERANGE, "the shares sum to more than 2^63 bytes");
        rlt_program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generated),
        cmocka_unit_test(two_dimensions),
        cmocka_unit_test(published),
        cmocka_unit_test(conserved),
        cmocka_unit_test(irregular),
        cmocka_unit_test(in_another_order),
        cmocka_unit_test(group_of_twelve),
        cmocka_unit_test(refusals),
        cmocka_unit_test(labels),
        cmocka_unit_test(copies_of_a_place),
        cmocka_unit_test(refuses_groups_that_do_not_fit),
        cmocka_unit_test(too_many_bytes),
    };
    return cmocka_run_group_tests_name("rescale", tests, NULL, NULL);
}
