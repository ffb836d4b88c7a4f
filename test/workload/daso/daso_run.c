/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Programs of DASO and Horovod: their times compared with sums by hand, bytes by link, limits. */
#include <math.h>

#include "collectives/collective.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/trainings/daso.h"
#include "workload/daso/daso.h"
#include "workload/program/program.h"
#include "workload/replay/alone.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"

/* A program that has run over a network, with its objects. */
typedef struct run {
    rlt_topology *t;
    rlt_placement place;
    rlt_program *p;
    rlt_replay *r;
    rlt_time end_ps;
} run;

static void run_open(run *x, const char *network, const rlt_daso *d, const rlt_daso_work *w,
                     const rlt_daso_phase *phase, bool alone)
{
    rlt_error err = {0};
    rlt_timing *timing = NULL;
    *x = (run){0};
    if (rlt_topology_load(network, "topologies", &x->t, &err) ||
        rlt_placement_identity(x->t, d->nodes * d->gpus, &x->place, &err) ||
        (phase ? rlt_daso_program(d, w, *phase, 0, &x->p, &err) : rlt_horovod_program(d, w, 0, &x->p, &err)))
        fail_msg("%s: %s", err.where, err.what);
    rlt_replay_options o = rlt_replay_options_default();
    o.topology = x->t;
    o.placement = &x->place;
    if (alone && rlt_timing_alone(&o, &timing, &err))
        fail_msg("%s: %s", err.where, err.what);
    o.timing = timing;
    if (rlt_replay_create(x->p, &o, &x->r, &err) || rlt_replay_run(x->r, &err))
        fail_msg("%s: %s", err.where, err.what);
    x->end_ps = rlt_replay_time(x->r);
    rlt_timing_free(timing);
}

static void run_close(run *x)
{
    rlt_replay_free(x->r);
    rlt_program_free(x->p);
    rlt_placement_free(&x->place);
    rlt_topology_free(x->t);
}

static rlt_time time_of(const char *network, const rlt_daso *d, const rlt_daso_work *w,
                        const rlt_daso_phase *phase, bool alone)
{
    run x;
    run_open(&x, network, d, w, phase, alone);
    rlt_time end = x.end_ps;
    run_close(&x);
    return end;
}

/* One layer with one tensor. */
static void single(test_model *m, uint64_t elements, rlt_time batch_ps)
{
    memset(m, 0, sizeof *m);
    test_model_layer(m, "all", 1);
    test_model_tensor(m, elements);
    test_model_finish(m, batch_ps);
}

static rlt_daso plain(uint32_t nodes, uint32_t gpus, uint32_t batches)
{
    rlt_daso d = rlt_daso_default();
    d.nodes = nodes;
    d.gpus = gpus;
    d.batches = batches;
    return d;
}

static rlt_time collective(const char *network, rlt_coll_kind kind, uint64_t bytes)
{
    return test_collective(&(test_net){.topology = network, .model = &rlt_net_flow}, kind, bytes, NULL)
        .time_ps;
}

static rlt_time longer(rlt_time a, rlt_time b)
{
    return a > b ? a : b;
}

/* Two nodes of one GPU, three batches, B = 4, W = 1: sent after the first, merged after the second, the last
 * one blocking. Tested with a transfer that outlasts a batch and with one that hides behind it. */
static void cycling_by_hand(void **state)
{
    enum { ELEMENTS = 1000000 };
    const char *network = "switch:2@10GB/s,1us";
    static test_model m;
    (void)state;
    for (int slow = 0; slow < 2; slow++) {
        rlt_time c = (slow ? 100 : 900) * RLT_US;
        rlt_daso d = plain(2, 1, 3);
        single(&m, ELEMENTS, c);
        rlt_time reduce = collective(network, RLT_ALL_REDUCE, 4 * ELEMENTS),
                 loss = collective(network, RLT_ALL_REDUCE, 4);
        rlt_time batch = c + rlt_transfer_time(20 * ELEMENTS, d.memory_Bps);
        rlt_time pack = rlt_transfer_time(8 * ELEMENTS, d.memory_Bps),
                 merge = rlt_transfer_time(12 * ELEMENTS, d.memory_Bps);
        assert_true(slow == (reduce > batch));
        rlt_time want = batch + pack + longer(batch, reduce) + merge + batch + pack + reduce + pack + loss;
        assert_int_equal(time_of(network, &d, &m.work, &(rlt_daso_phase){4, 1, 1}, false), want);

        /* Staged through host memory and added up there, in two consecutive chunks. The slowest stage of the
         * second chunk is not hidden by later stages of the first. */
        d.staging_Bps = 25000000000u;
        d.chunk_elements = ELEMENTS;
        d.reduce_Bps = 40000000000u;
        rlt_time copy = rlt_transfer_time(4 * ELEMENTS, d.staging_Bps),
                 add = rlt_transfer_time(4 * ELEMENTS, d.reduce_Bps);
        reduce += 2 * copy + add;
        want = batch + pack + longer(batch, reduce) + merge + batch + pack + reduce + pack + loss;
        assert_int_equal(time_of(network, &d, &m.work, &(rlt_daso_phase){4, 1, 1}, false), want);
        d.chunk_elements = ELEMENTS / 2;
        assert_true(time_of(network, &d, &m.work, &(rlt_daso_phase){4, 1, 1}, false) < want);
    }
}

/* Two nodes of two GPUs, one blocking batch. Gradients are averaged in the node after the backward pass. One
 * group packs two bytes per element, all-reduces, unpacks, and broadcasts while the host launches. */
static void blocking_by_hand(void **state)
{
    enum { ELEMENTS = 1000000 };
    const char *network = "fully-connected:2@100GB/s,1us*switch:2@10GB/s,1us";
    static test_model m;
    rlt_daso d = plain(2, 2, 1);
    rlt_daso_phase blocking = {0, 0, 0};
    (void)state;
    single(&m, ELEMENTS, 900 * RLT_US);
    rlt_time inside = collective("fully-connected:2@100GB/s,1us", RLT_ALL_REDUCE, 4 * ELEMENTS);
    rlt_time copies = collective("fully-connected:2@100GB/s,1us", RLT_BROADCAST, 4 * ELEMENTS);
    rlt_time reduce = collective("switch:2@10GB/s,1us", RLT_ALL_REDUCE, 2 * ELEMENTS);
    rlt_time loss = collective(network, RLT_ALL_REDUCE, 4);
    rlt_time moved =
        rlt_transfer_time(20 * ELEMENTS, d.memory_Bps) + 2 * rlt_transfer_time(6 * ELEMENTS, d.memory_Bps);
    rlt_time until = 900 * RLT_US + inside + moved + reduce;
    assert_int_equal(time_of(network, &d, &m.work, &blocking, false), until + d.launch_ps + copies + loss);
    d.broadcast_each = false; /* the launch hides behind the transfer, or the transfer behind the launch */
    assert_int_equal(time_of(network, &d, &m.work, &blocking, false),
                     until + longer(d.launch_ps, copies) + loss);
    /* A group of one does not communicate. */
    d = plain(1, 1, 1);
    assert_int_equal(time_of("switch:1@1GB/s,0ns", &d, &m.work, &blocking, false), 900 * RLT_US + moved);
}

/* Gradients of two layers: the last layer's are ready within the backward pass, the first layer's at its
 * end. */
static void horovod_by_hand(void **state)
{
    enum { ELEMENTS = 1000000 };
    const char *network = "switch:2@10GB/s,1us";
    static test_model m;
    rlt_daso d = plain(2, 1, 2);
    (void)state;
    memset(&m, 0, sizeof m);
    test_model_layer(&m, "first", 1);
    test_model_tensor(&m, ELEMENTS);
    test_model_layer(&m, "last", 1);
    test_model_tensor(&m, ELEMENTS);
    test_model_finish(&m, 1200 * RLT_US); /* ready after 800 and 1200 us */
    d.overhead_ps = 70 * RLT_US;
    d.tensor_ps = 5 * RLT_US;
    rlt_time one = collective(network, RLT_ALL_REDUCE, 2 * ELEMENTS),
             both = collective(network, RLT_ALL_REDUCE, 4 * ELEMENTS),
             loss = collective(network, RLT_ALL_REDUCE, 4);
    rlt_time copy = rlt_transfer_time(10 * ELEMENTS, d.memory_Bps),
             copies = rlt_transfer_time(20 * ELEMENTS, d.memory_Bps);
    rlt_time rest = d.overhead_ps + 2 * d.tensor_ps + rlt_transfer_time(40 * ELEMENTS, d.memory_Bps) +
                    d.cycle_ps / 2 + d.negotiation_ps + loss;
    /* Cycles of 1 ms: taken at 1 and at 2 ms; the second does not wait for the first. */
    rlt_time want = 2 * RLT_MS + d.negotiation_ps + copy + one + copy + rest;
    assert_int_equal(time_of(network, &d, &m.work, NULL, false), 2 * want);
    /* Cycles of 2 ms: both at once. */
    d.cycle_ps = 2 * RLT_MS;
    want = 2 * RLT_MS + d.negotiation_ps + copies + both + copies + rest + RLT_MS / 2;
    assert_int_equal(time_of(network, &d, &m.work, NULL, false), 2 * want);
    /* A buffer for only one of them: they are sent one after the other. */
    d.fusion_bytes = 2 * ELEMENTS;
    run x;
    run_open(&x, network, &d, &m.work, NULL, false);
    assert_int_equal(x.p->n_comms, 2 * 3);
    assert_int_equal(x.p->comms[0].bytes, 2 * ELEMENTS);
    run_close(&x);
}

/* Buckets of 8.196, 31.50, 26.26, 26.55 and 9.72 MB. */
static void buckets_of_resnet50(void **state)
{
    static const double want_MB[] = {8.196, 31.50, 26.26, 26.55, 9.72};
    static test_model m;
    rlt_daso d = plain(1, 2, 1);
    rlt_program *p;
    uint64_t sum = 0;
    uint32_t n = 0;
    (void)state;
    test_resnet50(&m, 1, RLT_MS);
    assert_int_equal(m.model.n_tensors, 161);
    assert_int_equal(rlt_daso_program(&d, &m.work, (rlt_daso_phase){4, 1, 1}, 0, &p, NULL), 0);
    for (uint32_t i = 0; i < p->n_comms && p->comms[i].kind == RLT_ALL_REDUCE; i++) {
        if (p->comms[i].bytes == 4)
            continue;
        assert_true(n < 5 && fabs((double)p->comms[i].bytes / 1e6 - want_MB[n]) < 0.006);
        sum += p->comms[i].bytes;
        n++;
    }
    assert_int_equal(n, 5);
    assert_int_equal(sum, 102228128);
    rlt_program_free(p);
}

/* Returns the bytes that a rank sends between nodes. */
static uint64_t sent_out(const run *x, uint32_t rank)
{
    const rlt_net *net = rlt_replay_net(x->r);
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < rlt_topology_links(x->t); i++) {
        rlt_link l = rlt_topology_link(x->t, i);
        if (l.dim == 1 && l.src == rank)
            bytes += rlt_usage_link(net->usage, i).bytes;
    }
    return bytes;
}

/* A global sync uses one NIC per node: 2 (P - 1) / P of the buffer each way, on P of the P * g links. The
 * only other traffic between nodes is the loss of the epoch. */
static void one_nic_a_node(void **state)
{
    enum { NODES = 4, GPUS = 4, ELEMENTS = 12000000 };
    const char *network = "fully-connected:4@300GB/s,0ns*switch:4@25GB/s,500ns";
    static test_model m;
    (void)state;
    single(&m, ELEMENTS, 10 * RLT_MS);
    for (uint32_t batches = 1; batches <= 2; batches++) {
        rlt_daso d = plain(NODES, GPUS, batches);
        rlt_daso_phase phases[] = {{4, 1, 1}, {0, 0, 0}};
        for (int i = 0; i < 2; i++) {
            run x;
            run_open(&x, network, &d, &m.work, &phases[i], false);
            uint64_t buffer = ELEMENTS * (i ? 2u : 4u), each = 2 * (NODES - 1) * (buffer / NODES);
            for (uint32_t r = 0; r < NODES * GPUS; r++) {
                uint64_t bytes = sent_out(&x, r), want = r % GPUS < batches ? each : 0;
                if (bytes < want || bytes > want + 100)
                    fail_msg("%u batches: rank %u sent %llu bytes", batches, r, (unsigned long long)bytes);
            }
            run_close(&x);
        }
    }
}

/* B = 1, W = 0 is the blocking phase except for the size of elements. More skips save more. A single node
 * saves nothing. */
static void limits(void **state)
{
    const char *network = "fully-connected:4@300GB/s,0ns*switch:8@25GB/s,500ns";
    static test_model m;
    rlt_daso d = plain(8, 4, 65);
    (void)state;
    single(&m, 1000000, 50 * RLT_MS);
    d.jitter = 0.1;
    d.downcast_bytes = 4;
    d.batches = 9;
    assert_int_equal(time_of(network, &d, &m.work, &(rlt_daso_phase){1, 1, 0}, false),
                     time_of(network, &d, &m.work, &(rlt_daso_phase){0, 0, 0}, false));
    d.batches = 65;
    rlt_time before = time_of(network, &d, &m.work, &(rlt_daso_phase){0, 0, 0}, false);
    for (uint32_t skips = 1; skips <= 16; skips *= 2) {
        rlt_daso_phase phase = {skips, 1, skips < 8 ? 1 : skips / 4};
        rlt_time now = time_of(network, &d, &m.work, &phase, false);
        if (now > before)
            fail_msg("%u skips take %lld ps, less of them %lld", skips, (long long)now, (long long)before);
        before = now;
    }
    d.nodes = 1;
    d.launch_ps = d.negotiation_ps = d.cycle_ps = 0;
    single(&m, 1000, 50 * RLT_MS);
    double daso =
        (double)time_of("fully-connected:4@300GB/s,0ns", &d, &m.work, &(rlt_daso_phase){4, 1, 1}, false);
    double horovod = (double)time_of("fully-connected:4@300GB/s,0ns", &d, &m.work, NULL, false);
    assert_true(fabs(1 - daso / horovod) < 1e-4); /* broadcasts of 4 kB and a loss of 4 bytes */
}

/* Collectives timed alone give the times of the whole simulation, because they share no link. Ranks end an
 * epoch together, within a message of the loss, so epochs add up. */
static void alone_and_together(void **state)
{
    const char *network = "fully-connected:4@300GB/s,0ns*switch:4@25GB/s,500ns";
    static const rlt_daso_phase phases[] = {{4, 1, 1}, {2, 1, 1}, {8, 2, 2}, {0, 0, 0}};
    static test_model m;
    rlt_daso d = plain(4, 4, 10);
    (void)state;
    memset(&m, 0, sizeof m);
    for (uint32_t i = 0; i < 10; i++) {
        test_model_layer(&m, "layer", 1 + i);
        test_model_tensor(&m, 1000000 + i * 500000);
        test_model_tensor(&m, 1000);
    }
    test_model_finish(&m, 50 * RLT_MS);
    d.jitter = 0.1;
    for (int i = 0; i < 5; i++) {
        run x;
        run_open(&x, network, &d, &m.work, i < 4 ? &phases[i] : NULL, false);
        double apart = (double)time_of(network, &d, &m.work, i < 4 ? &phases[i] : NULL, true);
        assert_true(fabs(apart / (double)x.end_ps - 1) < 1e-4);
        for (uint32_t r = 0; r < 16; r++)
            assert_true(x.end_ps - rlt_replay_rank(x.r, r).end_ps < 10 * RLT_US);
        run_close(&x);
    }
}

/* The total is the sum of the schedule's epochs, each replayed alone. */
static void total(void **state)
{
    const char *network = "fully-connected:2@300GB/s,0ns*switch:2@25GB/s,500ns";
    static test_model m;
    static rlt_daso_result result;
    rlt_daso d = plain(2, 2, 7);
    rlt_daso_phase phases[20];
    rlt_time sum = 0;
    uint64_t bytes = 0;
    rlt_error err = {0};
    (void)state;
    single(&m, 1000000, 50 * RLT_MS);
    d.epochs = 20;
    d.max_skips = 4;
    assert_int_equal(rlt_daso_schedule(&d, phases, &err), 0);
    for (uint32_t e = 0; e < d.epochs; e++) {
        sum += time_of(network, &d, &m.work, &phases[e], false);
        bytes += rlt_daso_count(&d, phases[e], 1000000).global_bytes;
    }
    rlt_topology *t;
    assert_int_equal(rlt_topology_load(network, NULL, &t, &err), 0);
    rlt_replay_options o = rlt_replay_options_default();
    o.topology = t;
    assert_int_equal(rlt_daso_run(&d, &m.work, &o, &result, &err), 0);
    assert_int_equal(result.daso_ps, sum);
    assert_int_equal(result.global_bytes, bytes);
    assert_int_equal(result.horovod_ps, 20 * time_of(network, &d, &m.work, NULL, false));
    assert_int_equal(result.horovod_bytes, 20 * 7 * 2000000);
    assert_int_equal(result.n_kinds, 4);
    assert_int_equal(result.batches, 7);
    assert_true(fabs(result.saving - (1 - (double)result.daso_ps / (double)result.horovod_ps)) < 1e-12);
    rlt_topology_free(t);
}

/* Equal seeds give equal bytes, other seeds give others. */
static void seeds(void **state)
{
    const char *network = "fully-connected:2@300GB/s,0ns*switch:2@25GB/s,500ns";
    static test_model m;
    rlt_daso d = plain(2, 2, 4);
    rlt_daso_phase phase = {4, 1, 1};
    (void)state;
    single(&m, 1000, 50 * RLT_MS);
    d.jitter = 0.2;
    rlt_time first = time_of(network, &d, &m.work, &phase, false);
    assert_int_equal(first, time_of(network, &d, &m.work, &phase, false));
    d.seed = 2;
    assert_int_not_equal(first, time_of(network, &d, &m.work, &phase, false));
}

static void refused(void **state)
{
    static test_model m;
    rlt_daso d = plain(2, 2, 4);
    rlt_program *p = NULL;
    rlt_error err = {0};
    (void)state;
    single(&m, 1000, RLT_MS);
    m.forward_ps[0] = -1;
    assert_int_equal(rlt_daso_program(&d, &m.work, (rlt_daso_phase){4, 1, 1}, 0, &p, &err), RLT_ERANGE);
    assert_int_equal(rlt_horovod_program(&d, &m.work, 0, &p, NULL), RLT_ERANGE);
    m.forward_ps[0] = 1;
    m.tensors[0].layer = 1;
    assert_int_equal(rlt_daso_program(&d, &m.work, (rlt_daso_phase){4, 1, 1}, 0, &p, NULL), RLT_ESCHEMA);
    m.tensors[0].layer = 0;
    d.nodes = 1 << 20;
    d.gpus = 16;
    d.batches = 60000;
    assert_int_equal(rlt_horovod_program(&d, &m.work, 0, &p, NULL), RLT_ERANGE);
    assert_null(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(cycling_by_hand),
        cmocka_unit_test(blocking_by_hand),
        cmocka_unit_test(horovod_by_hand),
        cmocka_unit_test(buckets_of_resnet50),
        cmocka_unit_test(one_nic_a_node),
        cmocka_unit_test(limits),
        cmocka_unit_test(alone_and_together),
        cmocka_unit_test(total),
        cmocka_unit_test(seeds),
        cmocka_unit_test(refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
