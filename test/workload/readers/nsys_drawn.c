/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Random batches of NCCL's calls in recordings of Nsight Systems: two processes with two threads each,
 * groups inside groups, and calls inside calls, whose rows lie in the database in any order. While they are
 * drawn it is known which calls each kernel carries out: all of a batch, those of a communicator, or one; or
 * that nobody can tell.
 */
#include <stdio.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/dice.h"
#include "test/support/traces/nsys.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

enum { PROCESSES = 2, THREADS = 2, MAX_KERNELS = 64, MAX_CALLS = 6, MAX_ROWS = 256 };

typedef struct kernel_of {
    char name[40];
    int process;
    int kind; /* index of a call; -1: unknown */
    uint64_t bytes;
} kernel_of;

/* A row of one of the tables: a range of NCCL, a launch or a kernel. */
typedef struct row {
    char what; /* r, l or k */
    int process, thread, from, to, schema, correlation;
    char name[40];
    uint64_t comm, bytes;
    uint32_t root;
} row;

typedef struct drawn {
    dice d;
    row rows[MAX_ROWS];
    uint32_t n_rows, n_kernels, unknown[PROCESSES], of[PROCESSES];
    kernel_of kernels[MAX_KERNELS];
    int now[PROCESSES][THREADS], correlation;
} drawn;

static const struct {
    const char *name;
    int schema;
    rlt_coll_kind kind;
} calls[] = {{"ncclAllReduce", 5, RLT_ALL_REDUCE},
             {"ncclReduceScatter", 5, RLT_REDUCE_SCATTER},
             {"ncclAllGather", 5, RLT_ALL_GATHER},
             {"ncclBroadcast", 6, RLT_BROADCAST}};

static row *add(drawn *x, char what, int process, int thread, int from, int to, const char *name)
{
    row *r = &x->rows[x->n_rows++];
    assert_true(x->n_rows < MAX_ROWS);
    *r = (row){.what = what, .process = process, .thread = thread, .from = from, .to = to, .schema = -1};
    snprintf(r->name, sizeof r->name, "%s", name);
    return r;
}

/* A kernel whose launch is in [from, to] of a thread. */
static void launch(drawn *x, int process, int thread, int at, int kind, uint64_t bytes)
{
    kernel_of *k = &x->kernels[x->n_kernels];
    *k = (kernel_of){.process = process, .kind = kind, .bytes = bytes};
    snprintf(k->name, sizeof k->name, "ncclDevKernel_Generic_%u", x->n_kernels++);
    x->correlation++;
    add(x, 'l', process, thread, at, at, "cudaLaunchKernelExC_v11060")->correlation = x->correlation;
    row *r = add(x, 'k', process, thread, at + 3, at + 4, k->name);
    r->correlation = x->correlation;
    x->of[process]++;
    x->unknown[process] += kind < 0;
}

typedef struct one {
    int kind;
    uint64_t comm, bytes;
    uint32_t root;
} one;

static one draw_call(drawn *x, int process, int thread, int begin, int end, uint32_t comms)
{
    one c = {.kind = (int)below(&x->d, below(&x->d, 3) ? 1 : 4),
             .comm = 500 + 10 * (uint64_t)process + below(&x->d, comms)};
    c.bytes = below(&x->d, 12) ? roll(&x->d, 100000) : ((uint64_t)1 << 50) - below(&x->d, 2);
    c.root = calls[c.kind].schema == 6 ? below(&x->d, 2) : 0;
    row *r = add(x, 'r', process, thread, begin, end, calls[c.kind].name);
    r->schema = calls[c.kind].schema;
    r->comm = c.comm;
    r->bytes = c.bytes;
    r->root = c.root;
    if (below(&x->d, 4) == 0 && end > begin + 2) { /* NCCL's own */
        row *own = add(x, 'r', process, thread, begin + 1, begin + 2, "ncclAllReduce");
        own->schema = 5;
        own->comm = c.comm;
        own->bytes = 7;
    }
    return c;
}

/* The kind of call that some calls are together: all of one kind and root are as one. -1: unknown. */
static int together(const one *c, uint32_t n, uint64_t comm, uint64_t *bytes)
{
    int kind = -2;
    uint32_t root = 0;
    *bytes = 0;
    for (uint32_t i = 0; i < n; i++) {
        if (comm && c[i].comm != comm)
            continue;
        if (kind == -2)
            root = c[i].root;
        bool odd = c[i].bytes >= (uint64_t)1 << 50 || (kind >= 0 && (kind != c[i].kind || root != c[i].root));
        kind = kind == -1 || odd ? -1 : c[i].kind;
        *bytes += c[i].bytes;
    }
    return *bytes >= (uint64_t)1 << 50 ? -1 : kind;
}

static void draw_batch(drawn *x)
{
    int process = (int)below(&x->d, PROCESSES), thread = (int)below(&x->d, THREADS);
    int *now = &x->now[process][thread];
    one c[MAX_CALLS];
    uint64_t bytes = 0, seen[MAX_CALLS];
    uint32_t n = 1 + below(&x->d, MAX_CALLS), comms = 0;
    *now += 1 + (int)below(&x->d, 5);
    if (below(&x->d, 2)) {
        c[0] = draw_call(x, process, thread, *now, *now + 6, 3);
        int kind = together(c, 1, 0, &bytes);
        launch(x, process, thread, *now + (int)below(&x->d, 7), kind, bytes);
        *now += 8;
        return;
    }
    uint32_t most = 1 + below(&x->d, 3);
    bool nested = below(&x->d, 3) == 0;
    add(x, 'r', process, thread, *now, *now + 1, "ncclGroupStart");
    for (uint32_t i = 0; i < n; i++) {
        if (nested && i == n / 2)
            add(x, 'r', process, thread, *now + 2, *now + 3, "ncclGroupStart");
        c[i] = draw_call(x, process, thread, *now + 4, *now + 8, most);
        *now += 8;
        uint32_t k = 0;
        while (k < comms && seen[k] != c[i].comm)
            k++;
        seen[k] = c[i].comm;
        comms = k == comms ? comms + 1 : comms;
    }
    if (nested)
        add(x, 'r', process, thread, *now + 2, *now + 3, "ncclGroupEnd");
    add(x, 'r', process, thread, *now + 4, *now + 24, "ncclGroupEnd");
    uint32_t how = below(&x->d, 3), kernels = how == 0 ? comms : how == 1 ? n : 1 + below(&x->d, n);
    for (uint32_t i = 0; i < kernels; i++) {
        int kind = kernels == comms ? together(c, n, seen[i], &bytes)
                   : kernels == n   ? together(c + i, 1, 0, &bytes)
                                    : -1;
        launch(x, process, thread, *now + 5 + 3 * (int)i, kind, bytes);
    }
    *now += 26;
}

static void draw(drawn *x)
{
    dice d = x->d;
    memset(x, 0, sizeof *x);
    x->d = d;
    for (int p = 0; p < PROCESSES; p++)
        for (int t = 0; t < THREADS; t++)
            x->now[p][t] = 100 + 3 * p + t;
    for (uint32_t k = 1 + below(&x->d, 6); k > 0; k--)
        draw_batch(x);
    for (int p = 0; p < PROCESSES; p++) /* every process has work */
        if (!x->of[p]) {
            draw_call(x, p, 0, 60, 66, 1);
            row *r = &x->rows[x->n_rows - 1];
            r = r->bytes == 7 && r->from == 61 ? r - 1 : r;
            *r = (row){.what = 'r',
                       .process = p,
                       .from = 60,
                       .to = 66,
                       .schema = 5,
                       .comm = 500 + 10 * (uint64_t)p,
                       .bytes = 40,
                       .name = "ncclAllReduce"};
            launch(x, p, 0, 62, 0, 40);
        }
}

static void write_rows(drawn *x)
{
    begin();
    for (int p = 0; p < PROCESSES; p++) {
        step(p + 1, 0, 5000);
        for (uint32_t c = 0; c < 3; c++)
            range(p + 1, 1, 10, 11, "ncclCommInitRank", 0, 500 + 10 * (uint64_t)p + c, 1, 0);
    }
    for (uint32_t n = x->n_rows; n > 0; n--) {
        uint32_t pick = below(&x->d, n);
        const row *r = &x->rows[pick];
        if (r->what == 'r')
            range(r->process + 1, r->thread + 1, r->from, r->to, r->name, r->schema, r->comm, r->bytes,
                  r->root);
        else if (r->what == 'l')
            call(r->process + 1, r->thread + 1, r->correlation, r->from, r->to, r->name);
        else
            kernel(r->process + 1, r->process, 20 + r->thread, r->correlation, r->from, r->to, r->name);
        x->rows[pick] = x->rows[n - 1];
    }
}

static void kernels_carry_out_their_calls(void **state)
{
    static drawn x;
    uint32_t whole = 0;
    (void)state;
    x.d = (dice){.seed = 8};
    for (int i = 0; i < 150; i++) {
        rlt_program *p = NULL;
        char says[100];
        draw(&x);
        write_rows(&x);
        int rc = try_read(&p), first = x.unknown[0] ? 0 : 1;
        snprintf(says, sizeof says, "lacks the sizes of %u of its %u NCCL operations", x.unknown[first],
                 x.of[first]);
        if (x.unknown[0] + x.unknown[1]) {
            if (rc != RLT_ESCHEMA || !strstr(err.what, says))
                fail_msg("%d: %s: %s, expected %s\n%s", rc, err.where, err.what, says,
                         script + strlen(TABLES));
            continue;
        }
        if (rc)
            fail_msg("%s: %s\n%s", err.where, err.what, script + strlen(TABLES));
        assert_int_equal(p->n_ranks, PROCESSES);
        for (uint32_t k = 0; k < x.n_kernels; k++) {
            const rlt_op *o = named(p, x.kernels[k].name);
            const rlt_comm *c = &p->comms[o->comm];
            assert_int_equal(o->rank, x.kernels[k].process);
            assert_int_equal(c->kind, calls[x.kernels[k].kind].kind);
            assert_int_equal(c->bytes, x.kernels[k].bytes);
        }
        rlt_program_free(p);
        whole++;
    }
    assert_true(whole > 30);
}

/* Each process sends its own number of bytes to each, and receives what they send, in any order: one
 * exchange. */
static void exchanges_may_be_uneven(void **state)
{
    dice d = {.seed = 9};
    (void)state;
    for (int k = 0; k < 60; k++) {
        uint64_t sent[4][4], most = 0;
        uint32_t n = 2 + below(&d, 3);
        bool even = below(&d, 3) == 0;
        begin();
        for (uint32_t i = 0; i < n * n; i++)
            sent[i / n][i % n] = even ? 500 : roll(&d, 1000);
        for (uint32_t i = 0; i < n; i++) {
            uint32_t order[8];
            int pid = (int)i + 1, now = 102;
            step(pid, 0, 1000);
            range(pid, 1, 1, 2, "ncclCommInitRank", 0, 500, n, i);
            range(pid, 1, 100, 101, "ncclGroupStart", -1, 0, 0, 0);
            for (uint32_t m = 0; m < 2 * n; m++) {
                uint32_t at = below(&d, m + 1);
                order[m] = order[at];
                order[at] = m;
            }
            for (uint32_t m = 0; m < 2 * n; m++, now += 2) {
                uint32_t peer = order[m] / 2;
                bool sends = order[m] % 2;
                range(pid, 1, now, now + 1, sends ? "ncclSend" : "ncclRecv", 8, 500,
                      sends ? sent[i][peer] : sent[peer][i], peer);
            }
            range(pid, 1, 120, 140, "ncclGroupEnd", -1, 0, 0, 0);
            call(pid, 1, 1, 121, 122, "cudaLaunchKernelExC_v11060");
            kernel(pid, (int)i, 20, 1, 200, 210, "ncclDevKernel_SendRecv");
        }
        rlt_program *p = read_it();
        assert_int_equal(p->n_comms, 1);
        assert_int_equal(p->comms[0].kind, RLT_ALL_TO_ALL);
        for (uint32_t i = 0; i < n; i++) {
            uint64_t out = 0, in = 0;
            for (uint32_t j = 0; j < n; j++) {
                out += sent[i][j];
                in += sent[j][i];
                assert_int_equal(p->comms[0].counts ? p->comms[0].counts[i * n + j] : 500, sent[i][j]);
            }
            most = out > most ? out : most;
            most = in > most ? in : most;
        }
        assert_int_equal(!p->comms[0].counts, even);
        assert_int_equal(p->comms[0].bytes, most);
        rlt_program_free(p);
    }
}

/* A call waits for an event: for what was on the stream of its last record before the call, in the same
 * process. Without one it waits for what ended last. */
static void the_last_record_counts(void **state)
{
    static const char *const kernels[] = {"seven", "eight", "nine"};
    dice d = {.seed = 10};
    (void)state;
    for (int k = 0; k < 60; k++) {
        int found = 9, last = -1;
        uint32_t n = below(&d, 12);
        begin();
        step(1, 0, 1000);
        for (int s = 0; s < 3; s++)
            launched(7 + s, 1 + s, 62 + 4 * s, 500 + s, kernels[s]);
        call(1, 1, 50, 120, 505, "cudaEventSynchronize_v3020");
        sync_row(1, -1, 50, 40);
        for (uint32_t i = 0; i < n; i++) {
            int process = (int)below(&d, 4) ? 1 : (int)below(&d, 3),
                event = below(&d, 3) ? 40 : 39 + (int)below(&d, 3);
            int at = 44 + (int)below(&d, 14), stream = 7 + (int)below(&d, 3);
            if (process == 1 && event == 40 && at == last)
                continue;
            call(1, 1, at, 80 + at - 44, 81 + at - 44, "cudaEventRecord_v3020");
            sql("INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (%lld, %d, %d, %d);", PID(process), event,
                at, stream);
            if (process == 1 && event == 40 && at < 50 && at > last) {
                last = at;
                found = stream;
            }
        }
        rlt_program *p = read_it();
        for (int s = 0; s < 3; s++)
            assert_int_equal(effect(p, kernels[s]) > 900 * RLT_US, found == 7 + s);
        rlt_program_free(p);
    }
}

/* A message on a communicator whose begin is not recorded: its peer is a rank. */
static void peers_without_a_communicator(void **state)
{
    (void)state;
    begin();
    for (int i = 0; i < 2; i++) {
        step(i + 1, 0, 1000);
        range(i + 1, 1, 100, 140, i ? "ncclRecv" : "ncclSend", 8, 77, 60, i ? 0 : 1);
        call(i + 1, 1, 1, 110, 111, "cudaLaunchKernelExC_v11060");
        kernel(i + 1, i, 20, 1, 200, 210, "ncclDevKernel_SendRecv");
    }
    rlt_program *p = read_it();
    assert_int_equal(p->n_comms, 1);
    assert_int_equal(p->comms[0].kind, RLT_SEND_RECV);
    assert_int_equal(p->comms[0].bytes, 60);
    assert_int_equal(p->ops[p->comm_ops[p->comms[0].first_op]].rank, 0);
    assert_int_equal(p->ops[p->comm_ops[p->comms[0].first_op + 1]].rank, 1);
    rlt_program_free(p);
}

/* One process of a world of three, whose recording all ranks replay: shares on an unknown communicator are
 * of all. */
static void a_world_of_one_recording(void **state)
{
    const rlt_replicate all = {RLT_NONE, 0};
    rlt_read_options o = options();
    const char *list[] = {path};
    rlt_program *p = NULL;
    (void)state;
    begin();
    step(1, 0, 1000);
    range(1, 1, 1, 2, "ncclCommInitRank", 0, 500, 3, 0);
    range(1, 1, 100, 140, "ncclReduceScatter", 5, 77, 60, 0);
    call(1, 1, 1, 110, 111, "cudaLaunchKernelExC_v11060");
    kernel(1, 0, 20, 1, 200, 210, "ncclDevKernel_ReduceScatter");
    write_database();
    o.step_mark = "iteration";
    o.replicate = &all;
    o.n_replicate = 1;
    if (rlt_reader_nsys.read(list, 1, &o, &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_int_equal(p->n_ranks, 3);
    assert_int_equal(p->n_comms, 1);
    assert_int_equal(p->comms[0].bytes, 3 * 60);
    rlt_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_carry_out_their_calls), cmocka_unit_test(exchanges_may_be_uneven),
        cmocka_unit_test(the_last_record_counts),        cmocka_unit_test(peers_without_a_communicator),
        cmocka_unit_test(a_world_of_one_recording),
    };
    return run_in_database(tests, sizeof tests / sizeof *tests);
}
