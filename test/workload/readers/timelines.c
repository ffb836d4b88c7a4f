/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Pipeline timelines: results by hand, refused files, and a measured job step by step. */
#include <math.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/traces/replay.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/replay/replay.h"

#define STEPS_MEASURED "test/data/pipeline_timelines/ST/ground_truth_steps.csv"
#define ST             "../shared/data/pipeline_timelines/ST"
#define TRACE          ST "/trace-ST.csv.gz"
#define HEAD           "dp_rank,stage,rank,step,optype,start_ts,duration,seq_id,mc,mb_id,gmc\n"
enum { STEPS = 32 };

static const char *folder(void)
{
    static char dir[64];
    if (!dir[0]) {
        snprintf(dir, sizeof dir, "/tmp/ringlet-timeline-XXXXXX");
        assert_non_null(mkdtemp(dir));
    }
    return dir;
}

static void write_file(const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder(), name);
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    assert_true(fputs(text, f) >= 0);
    fclose(f);
}

static int load(const char *path, bool ideal, rlt_program **p, rlt_error *err)
{
    rlt_read_options o = {.first_step = -1, .last_step = -1, .ideal = ideal};
    return rlt_trace_read(&path, 1, &o, p, err);
}

/* Result of a run: its steps, and the times of its ranks. */
typedef struct outcome {
    uint32_t n;
    double step_s[STEPS], comm_s[8];
} outcome;

static outcome replay(const rlt_program *p, double compute_scale, double network_scale)
{
    rlt_topology *t = NULL;
    rlt_replay *x = NULL;
    rlt_error err = {0};
    outcome out = {0};
    assert_int_equal(rlt_topology_load("switch:8@50GB/s,1us", "topologies", &t, &err), 0);
    rlt_replay_options o = rlt_replay_options_default();
    o.topology = t;
    o.compute_scale = compute_scale;
    o.network_scale = network_scale;
    if (rlt_replay_create(p, &o, &x, &err) || rlt_replay_run(x, &err))
        fail_msg("%s: %s", err.where, err.what);
    out.n = rlt_replay_iterations(x);
    assert_true(out.n <= STEPS && p->n_ranks <= 8);
    for (uint32_t i = 0; i < out.n; i++)
        out.step_s[i] = (double)rlt_replay_iteration_ps(x, i) * 1e-12;
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        rlt_rank_result k = rlt_replay_rank(x, r);
        assert_int_equal(k.compute_ps + k.exposed_comm_ps + k.host_ps + k.idle_ps, k.end_ps - k.start_ps);
        out.comm_s[r] = (double)k.exposed_comm_ps * 1e-12;
    }
    assert_int_equal(rlt_replay_net(x)->messages, 0);
    rlt_replay_free(x);
    rlt_topology_free(t);
    return out;
}

static outcome run_text(const char *text, bool ideal, double compute_scale, double network_scale)
{
    rlt_program *p = NULL;
    rlt_error err = {0};
    write_file("trace-x.csv", text);
    if (load(folder(), ideal, &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    assert_string_equal(p->reader, "timeline");
    outcome out = replay(p, compute_scale, network_scale);
    rlt_program_free(p);
    return out;
}

static void expect_step(outcome o, uint32_t step, double seconds)
{
    assert_true(step < o.n);
    if (fabs(o.step_s[step] - seconds) > 1e-9)
        fail_msg("step %u takes %.12f s, expected %.12f s", step, o.step_s[step], seconds);
}

/* One microbatch through two stages. */
#define PIPELINE                                                                                             \
    HEAD "0,0,0,7,forward-compute,0,1.0,0,0,0,0\n"                                                           \
         "0,0,0,7,forward-send,1.0,0.1,0,-1,-1,-1\n"                                                         \
         "0,0,0,7,backward-recv,1.1,3.2,0,-1,-1,-1\n"                                                        \
         "0,0,0,7,backward-compute,4.3,1.0,0,0,0,0\n"                                                        \
         "0,0,0,7,gc,5.3,0.0,0,-1,0,-1\n"                                                                    \
         "0,0,0,7,optimizer,5.4,0.6,0,-1,-1,-1\n"                                                            \
         "0,1,1,7,forward-recv,0,1.1,0,-1,-1,-1\n"                                                           \
         "0,1,1,7,forward-compute,1.1,1.0,0,0,0,1\n"                                                         \
         "0,1,1,7,backward-compute,2.1,2.1,0,0,0,1\n"                                                        \
         "0,1,1,7,backward-send,4.2,0.1,0,-1,-1,-1\n"                                                        \
         "0,1,1,7,optimizer,4.3,6e-1,0,-1,-1,-1\n"

/* Waits follow from the dependencies: computing twice as fast halves them as well; a network of half the
 * speed only lengthens the transfers. */
static void pipeline(void **state)
{
    (void)state;
    expect_step(run_text(PIPELINE, false, 1, 1), 0, 6.0);
    expect_step(run_text(PIPELINE, false, 2, 1), 0, 0.5 + 0.1 + 0.5 + 1.05 + 0.1 + 0.5 + 0.1 + 0.3);
    expect_step(run_text(PIPELINE, false, 1, 0.5), 0, 6.0 + 0.1 + 0.1);
    /* Without stragglers: forward 1, backward (1 + 2.1) / 2, optimizer 0.6, no gap. */
    expect_step(run_text(PIPELINE, true, 1, 1), 0, 1 + 0.1 + 1 + 1.55 + 0.1 + 1.55 + 0.6);
}

/* A send and a receive that begin together wait together; a send waits for its receive. */
static void batch(void **state)
{
    (void)state;
    /* Stage 0 sends and receives at 1; stage 1 computes until 3, then does both. */
    const char *text = HEAD "0,0,0,1,forward-compute,0,1,0,0,0,0\n"
                            "0,0,0,1,backward-recv,1,2.25,0,-1,-1,-1\n"
                            "0,0,0,1,forward-send,1,2.25,0,-1,-1,-1\n"
                            "0,0,0,1,backward-compute,3.25,1,0,0,0,0\n"
                            "0,1,1,1,backward-compute,0,3,0,0,0,1\n"
                            "0,1,1,1,backward-send,3,0.25,0,-1,-1,-1\n"
                            "0,1,1,1,forward-recv,3,0.25,0,-1,-1,-1\n"
                            "0,1,1,1,forward-compute,3.25,1,0,0,0,1\n";
    outcome o = run_text(text, false, 1, 1);
    expect_step(o, 0, 4.25);
    assert_float_equal(o.comm_s[0], 2.25, 1e-9);
    assert_float_equal(o.comm_s[1], 0.25, 1e-9);
    expect_step(run_text(text, false, 2, 1), 0, 1.5 + 0.25 + 0.5);
}

/* Steps may have any numbers, in any order. Each begins as recorded, independently of the others. */
static void steps(void **state)
{
    (void)state;
    outcome o = run_text(HEAD "1,0,1,900,forward-compute,0,3,0,0,0,0\n"
                              "1,0,1,900,grads-reduce-scatter,3,0.5,0,0,-1,-1\n"
                              "0,0,0,20,forward-compute,0.25,1,0,0,0,0\n"
                              "0,0,0,20,grads-reduce-scatter,1.25,1.25,0,0,-1,-1\n"
                              "1,0,1,20,forward-compute,0,2,0,0,0,0\n"
                              "1,0,1,20,grads-reduce-scatter,2,0.5,0,0,-1,-1\n"
                              "0,0,0,900,forward-compute,0,1,0,0,0,0\n"
                              "0,0,0,900,grads-reduce-scatter,1,2.5,0,0,-1,-1\n"
                              "0,0,0,900,optimizer,3.5,1,0,-1,-1,-1\n",
                         false, 1, 1);
    assert_int_equal(o.n, 2);
    expect_step(o, 0, 2.5);
    expect_step(o, 1, 4.5);
    assert_float_equal(o.comm_s[0], 1.25 + 2.5, 1e-9);
    /* Rank 1 is done 1 s before rank 0 and is idle then. */
    assert_float_equal(o.comm_s[1], 0.5 + 0.5, 1e-9);
}

/* A gap that other ranks of the stage lack counts as waiting; a gap that all have stays. */
static void gaps(void **state)
{
    (void)state;
    expect_step(run_text(HEAD "0,0,0,1,forward-compute,0,1,0,0,0,0\n"
                              "0,0,0,1,grads-reduce-scatter,3,0.5,0,0,-1,-1\n"
                              "1,0,1,1,forward-compute,0,1,0,0,0,0\n"
                              "1,0,1,1,grads-reduce-scatter,1.25,2.25,0,0,-1,-1\n",
                         false, 1, 1),
                0, 1 + 0.25 + 0.5);
    expect_step(run_text(HEAD "0,0,0,1,forward-compute,0,1,0,0,0,0\n"
                              "0,0,0,1,grads-reduce-scatter,3,0.5,0,0,-1,-1\n"
                              "1,0,1,1,forward-compute,0,1,0,0,0,0\n"
                              "1,0,1,1,grads-reduce-scatter,3,0.5,0,0,-1,-1\n",
                         false, 1, 1),
                0, 3.5);
}

static void refuse(const char *text, int code, const char *where, const char *what)
{
    rlt_program *p = NULL;
    rlt_error err = {0};
    write_file("trace-x.csv", text);
    int rc = load(folder(), false, &p, &err);
    assert_null(p);
    if (rc != code || err.code != code || !strstr(err.where, where) || !strstr(err.what, what))
        fail_msg("%d: %s: %s, expected %d: %s: %s", rc, err.where, err.what, code, where, what);
}

#define ROW "0,0,0,1,forward-compute,0,1,0,0,0,0\n"

static void refusals(void **state)
{
    (void)state;
    refuse("dp_rank,optype,start_ts\n0,gc,0\n", RLT_ESCHEMA, "x.csv:1", "the column stage is missing");
    refuse(HEAD, RLT_ESCHEMA, "x.csv:1", "no operations");
    refuse(HEAD "0,0,0,1,gc,0,1,0\n", RLT_EMALFORMED, "x.csv:2", "8 cells under 11 columns");
    refuse(HEAD "0,0,0,1,gc,0,-1,0,0,0,0\n", RLT_EMALFORMED, "x.csv:2", "duration: expected seconds");
    refuse(HEAD "0,0,0,1,gc,nan,1,0,0,0,0\n", RLT_EMALFORMED, "x.csv:2", "start_ts: expected seconds");
    refuse(HEAD "0,0,0,1,gc,0,1e300,0,0,0,0\n", RLT_EMALFORMED, "x.csv:2", "duration: expected seconds");
    refuse(HEAD "0,0,0,1,,0,1,0,0,0,0\n", RLT_ESCHEMA, "x.csv:2", "optype: expected a name");
    refuse(HEAD "-1,0,0,1,gc,0,1,0,0,0,0\n", RLT_EMALFORMED, "x.csv:2", "dp_rank: expected a whole number");
    refuse(HEAD "9999999,0,0,1,gc,0,1,0,0,0,0\n", RLT_ERANGE, "x.csv:2", "dp_rank");
    refuse(HEAD "900000,900000,0,1,gc,0,1,0,0,0,0\n", RLT_ESCHEMA, "x.csv", "some rank has none");
    refuse(HEAD ROW "1,0,0,2,gc,0,1,0,0,0,0\n", RLT_ESCHEMA, "x.csv", "a rank has no operations in a step");
    refuse(HEAD "0,0,0,1,forward-compute,0,1,0,1,0,0\n", RLT_EUNSUPPORTED, "x.csv:2", "interleaved");
    refuse(HEAD ROW "0,0,0,1,backward-compute,0.4,1,0,0,0,0\n", RLT_EUNSUPPORTED, "x.csv:3",
           "backward-compute overlaps forward-compute (line 2)");
    refuse(HEAD ROW "0,0,0,1,forward-send,1,1,0,0,0,0\n", RLT_ESCHEMA, "x.csv:3", "stage 0 of 1");
    refuse(HEAD ROW "0,1,1,1,forward-recv,1,1,0,0,0,0\n", RLT_ESCHEMA, "x.csv:3",
           "forward-recv 0 of step 1 is recorded 1 times, but the number of its members is 2");
    refuse(HEAD ROW "1,0,1,1,params-all-gather,1,1,0,0,0,0\n", RLT_ESCHEMA, "x.csv:3",
           "params-all-gather 0 of step 1 is recorded 1 times");
    refuse(HEAD ROW "0,2,2,1,gc,0,1,0,0,0,0\n0,1,1,1,embedding-grads-all-reduce,1,1,0,0,0,0\n", RLT_ESCHEMA,
           "x.csv:4", "stage 1 of 3 takes no part");
    write_file("meta-x.yaml", "trial_name: x\ndp_size: 4\npp_size: 1\n");
    refuse(HEAD ROW, RLT_ESCHEMA, "meta-x.yaml", "says 4 x 1");
    write_file("meta-x.yaml", "dp_size: 1\npp_size: one\n");
    refuse(HEAD ROW, RLT_ESCHEMA, "meta-x.yaml:2:10: pp_size", "expected a whole number");
    write_file("meta-x.yaml", "vpp_size: 2\n");
    refuse(HEAD ROW, RLT_EUNSUPPORTED, "meta-x.yaml", "interleaved");
    write_file("meta-x.yaml", "");
}

/* Only the timeline reader supports runs without stragglers. */
static void ideal_of_another(void **state)
{
    (void)state;
    rlt_program *p = NULL;
    rlt_error err = {0};
    assert_int_equal(load("traces/transformer-8", true, &p, &err), RLT_EUSAGE);
    assert_non_null(strstr(err.what, "chakra"));
}

static double median(double *v, uint32_t n)
{
    for (uint32_t i = 1; i < n; i++)
        for (uint32_t k = i; k > 0 && v[k - 1] > v[k]; k--) {
            double x = v[k];
            v[k] = v[k - 1];
            v[k - 1] = x;
        }
    return n % 2 ? v[n / 2] : (v[n / 2 - 1] + v[n / 2]) / 2;
}

static uint32_t truth(double *seconds)
{
    FILE *f = fopen(STEPS_MEASURED, "r");
    char line[256];
    uint32_t n = 0;
    assert_non_null(f);
    assert_non_null(fgets(line, sizeof line, f));
    while (n < STEPS && fgets(line, sizeof line, f))
        assert_int_equal(sscanf(line, "%*d,%lf,", &seconds[n++]), 1);
    fclose(f);
    return n;
}

/* The span of every step compared with the measured one (ground_truth_steps.csv): median error within 5 %. */
static void measured(void **state)
{
    (void)state;
    double seconds[STEPS], error[STEPS];
    rlt_program *p = NULL;
    rlt_error err = {0};
    if (access(TRACE, R_OK) != 0)
        skip();
    uint32_t n = truth(seconds);
    if (load(ST, false, &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    outcome o = replay(p, 1, 1);
    assert_int_equal(n, STEPS);
    assert_int_equal(o.n, n);
    for (uint32_t i = 0; i < n; i++) {
        error[i] = fabs(o.step_s[i] / seconds[i] - 1);
        assert_true(error[i] < 0.05);
    }
    double typical = median(error, n);
    print_message("# ST: median error of a step %.3f %%, largest %.3f %%\n", 100 * typical,
                  100 * error[n - 1]);
    assert_true(typical < 0.05);
    /* Waits as recorded: all communication is regenerated, and takes each rank as long as recorded, except
     * for gaps that count as waiting, and the wait for the next step. */
    for (uint32_t r = 0; r < p->n_ranks; r++) {
        double recorded = 0;
        for (uint32_t i = p->rank_first[r]; i < p->rank_first[r + 1]; i++)
            if (p->ops[i].comm != RLT_NONE && p->ops[i].recorded_duration_ps > 0 &&
                (i == p->rank_first[r] || p->ops[i].recorded_ps != p->ops[i - 1].recorded_ps))
                recorded += (double)p->ops[i].recorded_duration_ps * 1e-12;
        print_message("# rank %u: communication %.2f s, recorded %.2f s\n", r, o.comm_s[r], recorded);
        assert_true(fabs(o.comm_s[r] / recorded - 1) < 0.02);
    }
    rlt_program_free(p);
}

/* The authors' own simulation of the job without stragglers: 1.8433 s per step (ms-ST.json, tideal). */
static void ideal(void **state)
{
    (void)state;
    double authors = 0;
    char text[1024] = "";
    rlt_program *p = NULL;
    rlt_error err = {0};
    FILE *f = fopen(ST "/ms-ST.json", "r");
    if (!f || access(TRACE, R_OK) != 0)
        skip();
    assert_true(fread(text, 1, sizeof text - 1, f) > 0);
    fclose(f);
    const char *at = strstr(text, "\"tideal\": ");
    assert_non_null(at);
    authors = strtod(at + strlen("\"tideal\": "), NULL);
    assert_true(authors > 1);
    if (load(TRACE, true, &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    outcome o = replay(p, 1, 1);
    print_message("# ST without stragglers: %.4f s a step, by its authors %.4f s\n", o.step_s[0], authors);
    for (uint32_t i = 0; i < o.n; i++)
        assert_true(fabs(o.step_s[i] / authors - 1) < 0.05);
    rlt_program_free(p);
}

static int clean(void **state)
{
    char path[128];
    (void)state;
    snprintf(path, sizeof path, "%s/trace-x.csv", folder());
    unlink(path);
    snprintf(path, sizeof path, "%s/meta-x.yaml", folder());
    unlink(path);
    return rmdir(folder());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pipeline), cmocka_unit_test(batch),    cmocka_unit_test(steps),
        cmocka_unit_test(gaps),     cmocka_unit_test(refusals), cmocka_unit_test(ideal_of_another),
        cmocka_unit_test(measured), cmocka_unit_test(ideal),
    };
    return cmocka_run_group_tests_name("timelines", tests, NULL, clean);
}
