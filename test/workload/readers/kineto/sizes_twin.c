/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random recordings of NCCL kernels, some of which were launched before the recording, or lack their sizes: these come
 * from the host's trace, and from the same place one period later. Which of them are known, what each one is, and which
 * keep their recorded time, follows from the heads of comm.c and host_trace.h. The same groups of one rank for all ranks
 * of a job.
 */
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/say.h"
#include "test/support/traces/kineto.h"
#include "test/support/traces/kineto_text.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

enum { MAX_EARLY = 6, MAX_KERNELS = 20, MAX_HOST = 12, RANKS = 3 };
enum { SUM, GATHER, SPREAD, EXCHANGE, KINDS };

static const struct {
    const char *kernel, *operation;
    rlt_coll_kind kind;
} kinds[KINDS] = {{"ncclDevKernel_AllReduce", "allreduce", RLT_ALL_REDUCE},
                  {"ncclDevKernel_AllGather", "_allgather_base", RLT_ALL_GATHER},
                  {"ncclDevKernel_Broadcast", "broadcast", RLT_BROADCAST},
                  {"ncclDevKernel_SendRecv", "all_to_all", RLT_ALL_TO_ALL}};

typedef struct coll {
    int kind, elems;
    int root;           /* of a broadcast */
    uint32_t to[RANKS]; /* elements to each rank of an exchange, where they are said */
    bool said, split;
} coll;

typedef struct drawn {
    dice d;
    char text[1 << 14], host_text[1 << 14];
    size_t used, host_used;
    int early, n, n_host;
    coll all[MAX_KERNELS], host[MAX_HOST];
} drawn;

static coll draw_coll(drawn *x, bool split)
{
    coll c = {.kind = (int)below(&x->d, KINDS), .root = (int)below(&x->d, RANKS)};
    for (int i = 0; i < RANKS; i++)
        c.to[i] = below(&x->d, 3);
    c.elems = 12 * (1 + (int)below(&x->d, 2));
    c.split = split && below(&x->d, 2);
    return c;
}

static bool same(const coll *a, const coll *b)
{
    return a->kind == b->kind && a->elems == b->elems && (a->kind != SPREAD || a->root == b->root);
}

static void say_kernel(drawn *x, int i)
{
    const coll *c = &x->all[i];
    int at = 100 + 20 * i;
    if (i >= x->early)
        TEST_SAY(x,
                 "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":1,\"tid\":1,"
                 "\"ts\":%d,\"dur\":2,\"args\":{\"correlation\":%d}},",
                 10 + i, 500 + i);
    TEST_SAY(x,
             "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"%s\",\"pid\":0,\"tid\":7,\"ts\":%d,\"dur\":%d,"
             "\"args\":{\"device\":0,\"stream\":7,\"correlation\":%d",
             kinds[c->kind].kernel, at, 5 + i % 3, 500 + i);
    if (c->said)
        TEST_SAY(x,
                 ",\"Collective name\":\"%s\",\"In msg nelems\":%d,\"Out msg nelems\":%d,\"dtype\":\"Float\","
                 "\"Root rank\":%d",
                 kinds[c->kind].operation, c->elems, c->elems, c->kind == SPREAD ? c->root : -1);
    TEST_SAY(x, "}},");
}

/* A collective in the host's trace. Its rank is the root of a broadcast, and 1 otherwise. */
static void say_host(drawn *x, int i)
{
    const coll *c = &x->host[i];
    char split[64] = "";
    if (c->split)
        snprintf(split, sizeof split, "%u,%u,%u", c->to[0], c->to[1], c->to[2]);
    test_say(x->host_text, sizeof x->host_text, &x->host_used,
             "%s{\"name\":\"record_param_comms\",\"rf_id\":%d,\"inputs\":[[[1,2,0,%d,4,\"cuda:0\"]],7,1,%d,"
             "\"%s\",[%s],[]],\"outputs\":[]}",
             i ? "," : "", 10 + 3 * i, c->elems, c->kind == SPREAD ? c->root : 1, kinds[c->kind].operation,
             split);
}

/* Gives launched kernels, and early ones before them, the host's collectives from the first place on that fits, or whole
 * turns of all. Returns false if there is no such place. */
static bool ask_host(drawn *x)
{
    int n = x->n - x->early;
    for (int shift = 0; shift + n <= x->n_host || (shift == 0 && n % x->n_host == 0); shift++) {
        bool fits = true;
        for (int i = 0; i < n; i++)
            fits = fits && x->host[(shift + i) % x->n_host].kind == x->all[x->early + i].kind;
        if (!fits)
            continue;
        for (int i = -shift; i < n; i++)
            if (x->early + i >= 0) {
                x->all[x->early + i] = x->host[(shift + i) % x->n_host];
                x->all[x->early + i].said = true;
            }
        return true;
    }
    return false;
}

/* Continues the shortest period backwards. Returns how many collectives that makes known. */
static int continue_backwards(drawn *x)
{
    int first = x->n, done = 0;
    while (first > 0 && x->all[first - 1].said)
        first--;
    for (int p = 1; p <= (x->n - first) / 2; p++) {
        bool repeats = true;
        for (int i = first; i + p < x->n; i++)
            repeats = repeats && same(&x->all[i], &x->all[i + p]);
        if (!repeats)
            continue;
        for (int i = first - 1; i >= 0 && x->all[i].kind == x->all[i + p].kind; i--, done++)
            x->all[i] = x->all[i + p];
        return done;
    }
    return done;
}

static void draw(drawn *x, bool hosts)
{
    coll pattern[3];
    int period = 1 + (int)below(&x->d, 3), shift = (int)below(&x->d, 4), odd = (int)below(&x->d, 3);
    x->used = x->host_used = 0;
    x->early = (int)below(&x->d, MAX_EARLY + 1);
    x->n = x->early + 1 + (int)below(&x->d, MAX_KERNELS - MAX_EARLY - 1);
    x->n_host = 1 + (int)below(&x->d, MAX_HOST);
    for (int i = 0; i < period; i++)
        pattern[i] = draw_coll(x, hosts);
    for (int i = 0; i < x->n; i++) {
        x->all[i] = pattern[i % period];
        if (odd == 0 && below(&x->d, 8) == 0)
            x->all[i] = draw_coll(x, hosts);
        x->all[i].said = !hosts && (i >= x->early || below(&x->d, 4) == 0);
    }
    for (int i = 0; i < x->n_host; i++) {
        x->host[i] = pattern[(x->early + i + shift) % period];
        if (odd == 1 && below(&x->d, 8) == 0)
            x->host[i] = draw_coll(x, hosts);
    }
    TEST_SAY(x, "{\"distributedInfo\":{\"rank\":1,\"world_size\":%d},\"traceEvents\":[" STEP(0, 0, 1000),
             RANKS);
    for (int i = 0; i < x->n; i++)
        say_kernel(x, i);
    TEST_SAY(x, "{}]}");
    test_say(x->host_text, sizeof x->host_text, &x->host_used, "{\"nodes\":[");
    for (int i = 0; i < x->n_host; i++)
        say_host(x, i);
    test_say(x->host_text, sizeof x->host_text, &x->host_used, "]}");
}

static void check_counts(const coll *c, const rlt_comm *comm, uint32_t *bad)
{
    uint32_t rows = c->to[0] + c->to[1] + c->to[2];
    if (!c->split || c->kind != EXCHANGE) {
        assert_null(comm->counts);
        return;
    }
    if (rows == 0 || (uint32_t)c->elems % rows) {
        ++*bad;
        assert_null(comm->counts);
        return;
    }
    assert_non_null(comm->counts);
    for (int i = 0; i < RANKS; i++)
        assert_int_equal(comm->counts[i], (uint32_t)c->elems / rows * 4 * c->to[i]);
}

static void check(const drawn *x, const rlt_program *p, int continued)
{
    int i = 0, fixed = x->early;
    uint32_t bad = 0;
    while (fixed > 0 && x->all[fixed - 1].said)
        fixed--;
    for (uint32_t k = p->rank_first[1]; k < p->rank_first[2]; k++) {
        const rlt_op *o = &p->ops[k];
        if (o->kind != RLT_OP_COLLECTIVE)
            continue;
        const coll *c = &x->all[i];
        const rlt_comm *comm = &p->comms[o->comm];
        uint64_t bytes = (uint64_t)c->elems * 4 * (c->kind == GATHER ? RANKS : 1);
        bool timed = i++ < fixed;
        assert_int_equal(comm->kind, timed && c->kind == EXCHANGE ? RLT_ALL_REDUCE : kinds[c->kind].kind);
        assert_int_equal(comm->timed, timed);
        assert_int_equal(p->group_first[comm->group + 1] - p->group_first[comm->group], timed ? 1 : RANKS);
        if (timed)
            continue;
        for (int r = 0; r < RANKS && comm->counts; r++) /* the largest buffer: what all send to one */
            bytes = comm->counts[r] * RANKS > bytes ? comm->counts[r] * RANKS : bytes;
        assert_int_equal(comm->bytes, bytes);
        assert_int_equal(comm->root, c->kind == SPREAD ? c->root : 0);
        check_counts(c, comm, &bad);
    }
    assert_int_equal(i, x->n);
    assert_int_equal(noted(p, "one period later"), continued * RANKS);
    assert_int_equal(noted(p, "recorded time kept"), fixed * RANKS);
    assert_int_equal(noted(p, "do not add up"), bad * RANKS);
    assert_int_equal(noted(p, "root that is not recorded"), 0);
}

/* A launched kernel of messages would be one, so none is without a size. */
static void sizes(bool hosts, uint64_t seed)
{
    static const rlt_replicate every = {RLT_NONE, 1};
    static drawn x;
    int read = 0;
    const char *name = "one.json";
    char et[128];
    x.d = (dice){.seed = seed};
    path_of("et_1.json", et, sizeof et);
    for (int round = 0; round < 600; round++) {
        rlt_read_options o = options();
        rlt_program *p = NULL;
        draw(&x, hosts);
        write_file(name, x.text);
        write_file("et_1.json", x.host_text);
        o.replicate = &every;
        o.n_replicate = 1;
        o.host_trace_dir = hosts ? et : NULL;
        int rc = read_files(1, &name, &o, &p);
        bool fits = !hosts || ask_host(&x);
        if ((rc == 0) != fits || (!fits && !strstr(err.what, "do not match the"))) {
            fputs(x.text, stdout);
            fail_msg("%d: %s", rc, err.what);
        }
        if (rc)
            continue;
        read++;
        check(&x, p, continue_backwards(&x));
        rlt_program_free(p);
    }
    unlink(et);
    assert_true(read > 200);
}

static void sizes_of_kernels(void **state)
{
    (void)state;
    sizes(false, 7);
}

static void sizes_of_hosts(void **state)
{
    (void)state;
    sizes(true, 8);
}

/* The recording of a rank with one collective of a group. */
static void write_member(const char *name, uint32_t rank, uint32_t ranks, const char *group)
{
    drawn x = {.used = 0};
    TEST_SAY(&x,
             "{\"distributedInfo\":{\"rank\":%u,\"world_size\":%u},\"traceEvents\":[" STEP(0, 0, 100) LAUNCH(
                 1, 10, 5,
                 8) "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"ncclDevKernel_AllReduce\","
                    "\"pid\":0,\"tid\":7,\"ts\":20,\"dur\":5,\"args\":{" ON(
                        7, 8) ","
                              "\"Collective name\":\"allreduce\",\"In msg nelems\":1,\"dtype\":\"Float\","
                              "\"Process Group Name\":\"g\",\"Process Group Ranks\":\"[%s]\"}}]}",
             rank, ranks, group);
    write_file(name, x.text);
}

/* Of a job whose groups are ranks `apart` from each other, one group is recorded. The ranks of the others replay it, so many
 * places on: so do the members of their groups. */
static void shifted_groups(void **state)
{
    static const char *const files[] = {"0.json", "1.json", "2.json", "3.json"};
    dice d = {.seed = 9};
    (void)state;
    for (int round = 0; round < 200; round++) {
        uint32_t apart = 1 + below(&d, 4), n = 2 + below(&d, 3), ranks = apart * n, own = below(&d, apart);
        uint32_t member[4], turn = below(&d, n), n_others = 0, shifts[4] = {0};
        rlt_replicate others[16];
        rlt_read_options o = options();
        rlt_program *p = NULL;
        char group[64];
        size_t used = 0;
        for (uint32_t i = 0; i < n; i++) {
            member[i] = own + (i + turn) % n * apart;
            test_say(group, sizeof group, &used, "%s%u", i ? ", " : "", member[i]);
        }
        for (uint32_t i = 0; i < n; i++)
            write_member(files[i], member[i], ranks, group);
        for (uint32_t g = 1; g < apart; g++) {
            uint32_t shift = shifts[(own + g) % apart] = g + below(&d, n) * apart;
            for (uint32_t i = 0; i < n; i++)
                others[n_others++] = (rlt_replicate){(member[i] + shift) % ranks, member[i]};
        }
        o.replicate = others;
        o.n_replicate = n_others;
        if (read_files(n, files, &o, &p) < 0)
            fail_msg("%s: %s: %u apart, [%s]", err.where, err.what, apart, group);
        assert_int_equal(p->n_comms, apart);
        for (uint32_t c = 0; c < apart; c++) {
            const uint32_t *found = p->group_ranks + p->group_first[p->comms[c].group];
            for (uint32_t i = 0; i < n; i++)
                assert_int_equal(found[i], (member[i] + shifts[found[0] % apart]) % ranks);
        }
        rlt_program_free(p);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_of_kernels),
        cmocka_unit_test(sizes_of_hosts),
        cmocka_unit_test(shifted_groups),
    };
    return cmocka_run_group_tests_name("kineto_sizes", tests, make_folder, remove_folder);
}
