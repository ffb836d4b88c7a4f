/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The public Kineto recordings (skipped if ../shared is absent). Counts are those published with them.
 * Measured times must result although the recorded waiting is not in the program.
 */
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "test/support/traces/kineto.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/kineto/host_trace.h"

#define SHARED "../shared/data/kineto/"
#define DLRM   SHARED "dlrm_v100_8rank"
#define TRUTH  "test/data/kineto/" /* figures counted from the recordings */
#define HOSTS  "../shared/data/host_et/"

static rlt_error err;

/* Splits a line of a table into columns; the last entry is NULL. These tables have no commas inside
 * fields. */
static int read_row(FILE *f, char *line, size_t size, char **cells, int max)
{
    if (!fgets(line, (int)size, f))
        return 0;
    int n = 0;
    for (char *at = line; at && n < max; n++) {
        cells[n] = at;
        at = strchr(at, ',');
        if (at)
            *at++ = '\0';
    }
    return n;
}

static rlt_time us(const char *text)
{
    return (rlt_time)(atof(text) * 1e6 + 0.5);
}

/* Returns the total of the recorded intervals of a rank's kernels; overlaps count once. */
static int by_start(const void *a, const void *b)
{
    const rlt_time *x = a, *y = b;
    return (x[0] > y[0]) - (x[0] < y[0]);
}

static rlt_time busy(const rlt_program *p, uint32_t rank, rlt_op_kind kind)
{
    rlt_time(*v)[2] = malloc((p->n_ops + 1) * sizeof *v), sum = 0, until = 0;
    size_t n = 0;
    assert_non_null(v);
    for (uint32_t i = p->rank_first[rank]; i < p->rank_first[rank + 1]; i++)
        if (p->ops[i].kind == kind) {
            v[n][0] = p->ops[i].recorded_ps;
            v[n++][1] = p->ops[i].recorded_ps + p->ops[i].recorded_duration_ps;
        }
    qsort(v, n, sizeof *v, by_start);
    for (size_t i = 0; i < n; i++) {
        rlt_time from = v[i][0] > until ? v[i][0] : until;
        sum += v[i][1] > from ? v[i][1] - from : 0;
        until = v[i][1] > until ? v[i][1] : until;
    }
    free(v);
    return sum;
}

static rlt_program *read_shared(const char *spec, rlt_read_options *o)
{
    rlt_program *p = NULL;
    err = (rlt_error){0};
    if (access(DLRM, R_OK) != 0) {
        print_message("[  SKIP    ] ../shared is not there\n");
        skip();
    }
    if (rlt_trace_read(&spec, 1, o, &p, &err) < 0)
        fail_msg("%s: %s", err.where, err.what);
    return p;
}

/* Eight ranks of DLRM: counts and times as measured. Played back with the recorded transfers, spans and waits
 * agree with the measured ones, although no wait is in the program. */
static void dlrm(void **state)
{
    char line[1000], *c[20];
    rlt_read_options o = options();
    (void)state;
    o.host_trace_dir = HOSTS "dlrm_v100_8rank";
    rlt_program *p = read_shared(DLRM, &o);
    played v = play(p, -1, true);
    FILE *f = fopen(TRUTH "dlrm_v100_8rank/ground_truth_rank.csv", "r");
    assert_non_null(f);
    assert_true(read_row(f, line, sizeof line, c, 20) > 0);
    for (uint32_t r = 0; r < 8; r++) {
        assert_int_equal(read_row(f, line, sizeof line, c, 20), 17);
        assert_int_equal(count(p, r, RLT_OP_COMPUTE) + count(p, r, RLT_OP_COLLECTIVE), atoi(c[8]));
        assert_int_equal(count(p, r, RLT_OP_COLLECTIVE), atoi(c[9]));
        assert_int_equal(count(p, r, RLT_OP_MEMORY), atoi(c[10]));
        assert_int_equal(busy(p, r, RLT_OP_COMPUTE), us(c[11]));
        assert_int_equal(busy(p, r, RLT_OP_COLLECTIVE), us(c[12]));
        assert_int_equal(p->rank_recorded_ps[r], us(c[3]));
        assert_true(llabs(v.rank_end[r] - us(c[3])) <= us(c[3]) / 200);
        assert_true(llabs(v.wait[r] - us(c[13])) <= us(c[13]) / 50);
    }
    fclose(f);
    assert_int_equal(noted(p, "contradicts"), 0);
    /* The program has no wait as a gap, except for kernels of the previous step on two ranks. */
    assert_int_equal(noted(p, "over 50 us"), 2);
    rlt_time gaps = total(p, RLT_OP_DELAY);
    for (uint32_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].kind == RLT_OP_DELAY && p->ops[i].duration_ps > 50 * RLT_US)
            gaps -= p->ops[i].duration_ps;
    assert_true(gaps < 8 * 270 * 3 * RLT_US); /* a launch latency for each of about 270 pieces of work */
    played_free(&v);
    /* If all start together, the wait of the first collective falls from 7.6 ms to the difference of the host
     * times. */
    v = play(p, -1, false);
    for (uint32_t m = 0; m < 8; m++) {
        uint32_t op = p->comm_ops[p->comms[0].first_op + m];
        assert_true(v.end[op] - v.arrived[op] < 1000 * RLT_US);
    }
    played_free(&v);
    f = fopen(TRUTH "dlrm_v100_8rank/ground_truth_collectives.csv", "r");
    assert_non_null(f);
    assert_true(read_row(f, line, sizeof line, c, 20) > 0);
    for (uint32_t i = 0; i < 8; i++) {
        read_row(f, line, sizeof line, c, 20);
        uint64_t sent = 0;
        for (uint32_t j = 0; p->comms[i].counts && j < 8; j++)
            sent += p->comms[i].counts[j];
        assert_int_equal(p->comms[i].counts ? sent : p->comms[i].bytes, atoi(c[5]));
        assert_int_equal(p->comms[i].kind, strncmp(c[2], "all_to_all", 10) ? RLT_ALL_REDUCE : RLT_ALL_TO_ALL);
    }
    fclose(f);
    rlt_program_free(p);
}

/* Each marked step of the single-rank recordings alone: with waits regenerated, the host's time from its
 * begin to its end is the measured one. */
static void public_steps(void **state)
{
    char line[1000], *c[20], last[300] = "", path[400];
    rlt_replicate every = {RLT_NONE, 0};
    int step = 0;
    (void)state;
    if (access(SHARED "hta", R_OK) != 0)
        skip();
    FILE *f = fopen(TRUTH "hta/ground_truth_steps.csv", "r");
    assert_non_null(f);
    assert_true(read_row(f, line, sizeof line, c, 20) > 0);
    while (read_row(f, line, sizeof line, c, 20) >= 8) {
        step = strcmp(last, c[0]) ? 0 : step + 1;
        snprintf(last, sizeof last, "%s", c[0]);
        snprintf(path, sizeof path, SHARED "hta/%s", c[0]);
        rlt_read_options o = options();
        o.first_step = o.last_step = step;
        o.replicate = &every;
        o.n_replicate = 1;
        rlt_program *p = read_shared(path, &o);
        played v = play(p, -1, true);
        rlt_time host = 0;
        uint32_t nccl = 0;
        for (uint32_t i = p->rank_first[0]; i < p->rank_first[1]; i++) {
            host = p->ops[i].kind == RLT_OP_HOST && v.end[i] > host ? v.end[i] : host;
            nccl += p->ops[i].kind == RLT_OP_COLLECTIVE;
        }
        if (llabs(host - us(c[5])) > 2 * RLT_US)
            fail_msg("%s %s: %lld", c[0], c[4], (long long)host);
        assert_true(nccl <= (uint32_t)atoi(c[7]));
        assert_int_equal(p->rank_recorded_ps[0] >= us(c[5]), 1);
        assert_int_equal(p->rank_recorded_ps[0], v.rank_end[0]);
        played_free(&v);
        rlt_program_free(p);
    }
    fclose(f);
}

static void public_recordings(void **state)
{
    static const struct {
        const char *name;
        uint32_t ranks, kernels, copies, nccl, steps;
    } cases[] = {
        {"amd_trace__mi250_minitoy_train_ROCm6_2_kineto.json.gz", 1, 14, 2, 0, 2},
        {"critical_path__alexnet__benchmark_result_2869224_1695835535_trace.json.gz", 1, 79, 19, 0, 1},
        {"critical_path__cuda_event_sync__event_sync_trace.json.gz", 1, 4, 1, 0, 1},
        {"critical_path__cuda_event_sync_multi_stream__event_sync_trace.json.gz", 1, 3, 3, 0, 1},
        {"critical_path__simple_add__benchmark_result_493459_1694039959_trace.json.gz", 1, 79, 19, 0, 1},
        {"nccl_parser_config__nccl_data.json.gz", 2, 2700, 1074, 21, 3},
        {"ns_resolution_trace__rank-0.Apr_03_18_51_38.1102.pt.trace.json.gz", 1, 4350, 1745, 0, 5},
    };
    rlt_replicate every = {RLT_NONE, 0};
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[400];
        rlt_read_options o = options();
        o.replicate = &every;
        o.n_replicate = 1;
        snprintf(path, sizeof path, SHARED "hta/%s", cases[i].name);
        rlt_program *p = read_shared(path, &o);
        assert_int_equal(p->n_ranks, cases[i].ranks);
        assert_int_equal(p->n_steps, cases[i].steps);
        assert_int_equal(count(p, 0, RLT_OP_COLLECTIVE), cases[i].nccl);
        assert_int_equal(count(p, 0, RLT_OP_COMPUTE) + cases[i].nccl, cases[i].kernels);
        assert_int_equal(count(p, 0, RLT_OP_MEMORY), cases[i].copies);
        assert_int_equal(noted(p, "over 100 us"), 0);
        rlt_program_free(p);
    }
}

/* The all-reduces of the training step agree between the recording's attributes and the other rank's host
 * trace. */
static void public_host_traces(void **state)
{
    rlt_host_trace t;
    (void)state;
    if (access(HOSTS "resnet_2gpu_et.json.gz", R_OK) != 0)
        skip();
    assert_int_equal(rlt_host_trace_load(HOSTS "resnet_2gpu_et.json.gz", &t, &err), 0);
    assert_int_equal(t.rank, 1);
    bool seen = false;
    for (uint32_t i = 0; i < t.n_comms; i++) {
        const rlt_host_comm *h = &t.comms[i];
        assert_string_not_equal(rlt_interned(&t.strings, h->name), "wait");
        assert_int_equal(h->group_size, 2);
        seen = seen || (h->in_elems == 7875584 && h->elem_bytes == 4);
    }
    assert_true(seen && t.n_waits > 0);
    rlt_host_trace_free(&t);
    assert_int_equal(rlt_host_trace_load(HOSTS "dlrm_v100_8rank/dlrm_eg_3.json.gz", &t, &err), 0);
    assert_int_equal(t.rank, 3);
    assert_int_equal(t.n_comms, 8);
    assert_int_equal(t.n_waits, 5);
    rlt_host_trace_free(&t);
    assert_int_equal(rlt_host_trace_load(HOSTS "linear_et.json.gz", &t, &err), 0);
    assert_int_equal(t.n_comms, 0);
    rlt_host_trace_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dlrm),
        cmocka_unit_test(public_steps),
        cmocka_unit_test(public_recordings),
        cmocka_unit_test(public_host_traces),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
