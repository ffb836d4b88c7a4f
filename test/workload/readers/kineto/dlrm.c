/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A recorded training step compared with measurements: TorchRec DLRM on 8 V100 (DGX-1), Kineto and host
 * traces from facebookresearch/param, replayed over the DGX-1's network. Waiting is regenerated. Expected
 * results are each rank's step span, its waiting inside collectives, and each collective's transfer.
 */
#include <math.h>
#include <stdio.h>
#include <unistd.h>

#include "collectives/collective.h"
#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/replay/replay.h"

#define DATA  "../shared/data/kineto/dlrm_v100_8rank"
#define TRUTH "test/data/kineto/dlrm_v100_8rank"
#define HOST  "../shared/data/host_et/dlrm_v100_8rank"
#define RANKS 8
#define COMMS 8

static double truth_span_us[RANKS], truth_wait_us[RANKS], truth_transfer_us[COMMS];
static rlt_program *program;
static rlt_topology *dgx1;

/* Returns column `column` of line `row`; 0 is the first line after the heading. */
static double cell(const char *path, int row, int column)
{
    char line[4096];
    FILE *f = fopen(path, "r");
    assert_non_null(f);
    for (int i = 0; i <= row + 1; i++)
        assert_non_null(fgets(line, sizeof line, f));
    fclose(f);
    char *p = line;
    for (int i = 0; i < column; i++) {
        p = strchr(p, ',');
        assert_non_null(p);
        p++;
    }
    return atof(p);
}

static int load(void **state)
{
    rlt_error err = {0};
    const char *specs[] = {DATA};
    rlt_read_options o = {.host_trace_dir = HOST, .first_step = -1, .last_step = -1};
    (void)state;
    if (access(DATA, R_OK) != 0)
        return 0;
    for (int i = 0; i < RANKS; i++) {
        truth_span_us[i] = cell(TRUTH "/ground_truth_rank.csv", i, 3);
        truth_wait_us[i] = cell(TRUTH "/ground_truth_rank.csv", i, 13);
    }
    for (int i = 0; i < COMMS; i++)
        truth_transfer_us[i] = cell(TRUTH "/ground_truth_collectives.csv", i, 8);
    if (rlt_trace_read(specs, 1, &o, &program, &err) < 0 ||
        rlt_topology_load("topologies/dgx1-v100-8.json", NULL, &dgx1, &err) < 0) {
        fprintf(stderr, "%s: %s\n", err.where, err.what);
        return -1;
    }
    return 0;
}

static int unload(void **state)
{
    (void)state;
    rlt_program_free(program);
    rlt_topology_free(dgx1);
    return 0;
}

static rlt_replay *replay(double network_scale, bool no_skew)
{
    rlt_error err = {0};
    rlt_replay *r = NULL;
    rlt_replay_options o = rlt_replay_options_default();
    o.topology = dgx1;
    o.endpoint = *rlt_topology_endpoint(dgx1);
    o.network_scale = network_scale;
    o.no_skew = no_skew;
    if (rlt_replay_create(program, &o, &r, &err) < 0 || rlt_replay_run(r, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    return r;
}

static void need_data(void)
{
    if (!program) {
        print_message("%s is missing\n", DATA);
        skip();
    }
}

static void step_spans(void **state)
{
    double sum = 0, worst = 0;
    rlt_time first = RLT_TIME_MAX, last = 0;
    (void)state;
    need_data();
    rlt_replay *r = replay(1, false);
    for (uint32_t i = 0; i < RANKS; i++) {
        rlt_rank_result k = rlt_replay_rank(r, i);
        double error = fabs((double)(k.end_ps - k.start_ps) * 1e-6 / truth_span_us[i] - 1);
        sum += error;
        worst = fmax(worst, error);
        first = k.end_ps < first ? k.end_ps : first;
        last = k.end_ps > last ? k.end_ps : last;
        assert_int_equal(k.compute_ps + k.exposed_comm_ps + k.host_ps + k.idle_ps, k.end_ps - k.start_ps);
    }
    fprintf(stderr, "# step spans: mean error %.2f %%, worst %.2f %%; ends within %.3f ms\n",
            100 * sum / RANKS, 100 * worst, (double)(last - first) * 1e-9);
    assert_true(sum / RANKS <= 0.05);
    assert_true(worst <= 0.10);
    assert_true(last - first <= 2 * RLT_MS);
    rlt_replay_free(r);
}

static void nccl_waiting(void **state)
{
    (void)state;
    need_data();
    rlt_replay *r = replay(1, false);
    for (uint32_t i = 0; i < RANKS; i++) {
        double wait = (double)rlt_replay_rank(r, i).comm_wait_ps * 1e-6;
        fprintf(stderr, "# rank %u waits %.0f us, measured %.0f us (%+.1f %%)\n", i, wait, truth_wait_us[i],
                100 * (wait / truth_wait_us[i] - 1));
    }
    for (uint32_t i = 0; i < RANKS; i++)
        assert_true(fabs((double)rlt_replay_rank(r, i).comm_wait_ps * 1e-6 / truth_wait_us[i] - 1) <= 0.10);
    rlt_replay_free(r);
}

/* The wait of the first collective is the start skew; without skew it almost vanishes. */
static void waiting_without_skew(void **state)
{
    (void)state;
    need_data();
    rlt_replay *with = replay(1, false), *without = replay(1, true);
    rlt_comm_result a = rlt_replay_comm(with, 0), b = rlt_replay_comm(without, 0);
    double skewed = (double)(a.last_arrival_ps - a.first_arrival_ps),
           even = (double)(b.last_arrival_ps - b.first_arrival_ps);
    double all_with = 0, all_without = 0;
    for (uint32_t i = 0; i < RANKS; i++) {
        all_with += (double)rlt_replay_rank(with, i).comm_wait_ps;
        all_without += (double)rlt_replay_rank(without, i).comm_wait_ps;
    }
    fprintf(stderr,
            "# first collective: arrivals spread over %.0f us, without start skew %.0f us; all waits of all "
            "ranks %.1f and %.1f ms\n",
            skewed * 1e-6, even * 1e-6, all_with * 1e-9, all_without * 1e-9);
    assert_true(even <= 0.15 * skewed);
    rlt_replay_free(with);
    rlt_replay_free(without);
}

/*
 * The profiler has whole microseconds, so a transfer, the difference of two times, is known to 1 us. Beyond that a
 * factor of 1.5: by so much two measurements of one small collective differ on one machine (8 accelerators of a
 * node, 512 B to 64 KiB, in and out of place: up to 1.54 in measured_collectives.csv of nccl-tests).
 */
static void transfers(void **state)
{
    (void)state;
    need_data();
    assert_int_equal(program->n_comms, COMMS);
    rlt_replay *r = replay(1, false);
    for (uint32_t i = 0; i < COMMS; i++) {
        rlt_comm_result c = rlt_replay_comm(r, i);
        double took_us = (double)(c.end_ps - c.last_arrival_ps) * 1e-6, truth_us = truth_transfer_us[i];
        fprintf(stderr, "# %s of %llu B: %.1f us, measured %.0f us\n", rlt_coll_name(program->comms[i].kind),
                (unsigned long long)program->comms[i].bytes, took_us, truth_us);
        assert_true(took_us <= 1.5 * (truth_us + 1) && took_us >= (truth_us - 1) / 1.5);
        assert_true(c.end_ps - c.last_arrival_ps >= c.bound_ps);
    }
    rlt_replay_free(r);
}

/* On a network of a tenth, the step grows by the transfers on the critical path. */
static void slow_network_is_accounted_for(void **state)
{
    rlt_time transfer[2] = {0, 0}, end[2];
    (void)state;
    need_data();
    for (int k = 0; k < 2; k++) {
        rlt_path_item *items;
        uint32_t n;
        rlt_error err = {0};
        rlt_replay *r = replay(k ? 0.1 : 1, false);
        assert_int_equal(rlt_replay_critical_path(r, &items, &n, &err), 0);
        for (uint32_t i = 0; i < n; i++)
            if (items[i].kind == RLT_PATH_TRANSFER)
                transfer[k] += items[i].end_ps - items[i].begin_ps;
        end[k] = rlt_replay_time(r);
        free(items);
        rlt_replay_free(r);
    }
    fprintf(stderr, "# network of a tenth: step longer by %.0f us, transfers on the path by %.0f us\n",
            (double)(end[1] - end[0]) * 1e-6, (double)(transfer[1] - transfer[0]) * 1e-6);
    assert_true(end[1] > end[0]);
    /* Other operations may leave the path, so the transfers grow by at least as much as the step. */
    assert_true(transfer[1] - transfer[0] >= end[1] - end[0]);
    assert_true((double)(end[1] - end[0]) >= 0.5 * (double)(transfer[1] - transfer[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(step_spans),
        cmocka_unit_test(nccl_waiting),
        cmocka_unit_test(waiting_without_skew),
        cmocka_unit_test(transfers),
        cmocka_unit_test(slow_network_is_accounted_for),
    };
    return cmocka_run_group_tests(tests, load, unload);
}
