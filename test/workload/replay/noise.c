/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Noise on durations: moments and dwell times compared with theory, within three standard errors; steps that
 * wait for the slowest of n ranks compared with the expected maximum. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "test/support/support.h"
#include "workload/program/program.h"
#include "workload/replay/noise.h"
#include "workload/replay/replay.h"

static rlt_noise parsed(const char *text)
{
    rlt_noise n;
    rlt_error err = {0};
    if (rlt_noise_parse(text, &n, &err))
        fail_msg("%s: %s: %s", text, err.where, err.what);
    return n;
}

static void test_words(void **state)
{
    (void)state;
    rlt_noise n = parsed("lognormal:cv=0.25,on=both");
    assert_true(n.kind == RLT_NOISE_LOGNORMAL && n.cv == 0.25 && n.on == RLT_NOISE_ON_BOTH);
    n = parsed("markov:slow=2,enter=0.01,leave=0.2");
    assert_true(n.kind == RLT_NOISE_MARKOV && n.slow == 2 && n.enter == 0.01 && n.leave == 0.2 &&
                n.on == RLT_NOISE_ON_COMPUTE);
    n = parsed("lognormal:on=host,cv=1");
    assert_true(n.on == RLT_NOISE_ON_HOST);
    n = parsed("markov:slow=0.5,enter=1,leave=1");
    assert_true(n.slow == 0.5 && n.enter == 1 && n.leave == 1);
    n = parsed("measured");
    assert_true(n.kind == RLT_NOISE_MEASURED && n.on == RLT_NOISE_ON_COMPUTE && !n.name[0]);
    n = parsed("operation:name=gemm,cv=2,on=both");
    assert_true(n.kind == RLT_NOISE_OPERATION && n.cv == 2 && strcmp(n.name, "gemm") == 0);
}

static void test_kinds(void **state)
{
    static const char *const names[] = {"lognormal", "markov", "operation", "measured"};
    (void)state;
    for (uint32_t i = 0; i < 4; i++) {
        const rlt_noise by = {.kind = (rlt_noise_kind)i};
        assert_string_equal(rlt_noise_kind_at(i)->name, names[i]);
        assert_int_equal(rlt_noise_by_operation(&by), i >= 2);
        for (int on = 0; on < 3; on++) {
            const rlt_noise acts = {.kind = (rlt_noise_kind)i, .on = (rlt_noise_on)on};
            assert_int_equal(rlt_noise_is_on(&acts, false), on == 0 || on == 2);
            assert_int_equal(rlt_noise_is_on(&acts, true), on == 1 || on == 2);
        }
    }
    assert_null(rlt_noise_kind_at(4));
}

static void test_wrong_words(void **state)
{
#define KNOWN   "'; known are lognormal, markov, operation and measured"
#define ABOVE_0 " needs cv above 0, such as cv=0.1"
#define MARKOV  "markov needs slow, enter and leave above 0, such as slow=2,enter=0.01,leave=0.2"
    static const char *const wrong[][2] = {
        {"", "unknown noise '" KNOWN},
        {"gauss:cv=1", "unknown noise 'gauss" KNOWN},
        {"lognorma:cv=1", "unknown noise 'lognorma" KNOWN},
        {"lognormals:cv=1", "unknown noise 'lognormals" KNOWN},
        {"1234567890123456789012345678901234567890:",
         "unknown noise '1234567890123456789012345678901234567890" KNOWN},
        {"12345678901234567890123456789012345678901",
         "unknown noise '1234567890123456789012345678901234567890" KNOWN},
        {"lognormal:cv=0", "lognormal" ABOVE_0},
        {"operation:cv=0", "operation" ABOVE_0},
        {"markov:slow=0,enter=0.1,leave=0.1", MARKOV},
        {"markov:slow=2,enter=0,leave=0.1", MARKOV},
        {"markov:slow=2,enter=0.1,leave=0", MARKOV},
        {"lognormal", NULL},
        {"lognormal:cv=-1", NULL},
        {"lognormal:cv=10.1", NULL},
        {"lognormal:slow=2", NULL},
        {"lognormal:cv", NULL},
        {"lognormal:name=gemm,cv=1", NULL},
        {"markov:slow=2", NULL},
        {"markov:slow=2,enter=2,leave=0.1", NULL},
        {"markov:slow=2,enter=0.1,leave=1.1", NULL},
        {"markov:slow=1000001,enter=0.1,leave=0.1", NULL},
        {"markov:cv=0.1", NULL},
        {"lognormal:cv=0.1,on=gpu", NULL},
        {"lognormal:cv=0.1,", NULL},
        {"operation", NULL},
        {"operation:cv=10.1", NULL},
        {"measured:cv=0.1", NULL},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        rlt_noise n;
        rlt_error err = {0};
        assert_int_equal(rlt_noise_parse(wrong[i][0], &n, &err), RLT_EUSAGE);
        if (wrong[i][1])
            assert_string_equal(err.what, wrong[i][1]);
        assert_true(err.what[0] != '\0');
    }
#undef KNOWN
#undef ABOVE_0
#undef MARKOV
    assert_int_equal(parsed("lognormal:cv=10").cv, 10);
    assert_int_equal(parsed("operation:cv=10").cv, 10);
    assert_int_equal(parsed("markov:slow=1000000,enter=1,leave=1").slow, 1000000);
}

/* Mean 1 and the requested variance. The fourth central moment of a lognormal gives the error of the
 * variance. */
static void test_lognormal(void **state)
{
    (void)state;
    enum { RANKS = 64, STEPS = 4096 };
    const double cvs[] = {0.05, 0.1, 0.5};
    double *f = malloc(sizeof *f * RANKS * STEPS);
    assert_non_null(f);
    for (int c = 0; c < 3; c++) {
        rlt_noise n = {.kind = RLT_NOISE_LOGNORMAL, .cv = cvs[c]};
        double sum = 0, square = 0, all = (double)RANKS * STEPS, cv2 = cvs[c] * cvs[c], w = 1 + cv2;
        for (int i = 0; i < RANKS * STEPS; i++)
            f[i] = 1;
        rlt_noise_fill(&n, 1, false, 5, RANKS, STEPS, f);
        for (int i = 0; i < RANKS * STEPS; i++) {
            sum += f[i];
            square += (f[i] - 1) * (f[i] - 1);
        }
        double fourth = cv2 * cv2 * (w * w * w * w + 2 * w * w * w + 3 * w * w - 3);
        assert_true(fabs(sum / all - 1) <= 3 * cvs[c] / sqrt(all));
        assert_true(fabs(square / all - cv2) <= 3 * sqrt((fourth - cv2 * cv2) / all));
    }
    free(f);
}

/* Share of slow steps, with the variance of a mean over a chain of correlation r = 1 - enter - leave; mean
 * length of a slow stretch 1 / leave. */
static void test_markov(void **state)
{
    (void)state;
    enum { RANKS = 64, STEPS = 8192 };
    rlt_noise n = parsed("markov:slow=3,enter=0.02,leave=0.2");
    double *f = malloc(sizeof *f * RANKS * STEPS), slow = 0, begun = 0;
    assert_non_null(f);
    for (int i = 0; i < RANKS * STEPS; i++)
        f[i] = 1;
    rlt_noise_fill(&n, 1, true, 5, RANKS, STEPS, f);
    for (int i = 0; i < RANKS * STEPS; i++)
        assert_true(f[i] == 1); /* not on the host */
    rlt_noise_fill(&n, 1, false, 5, RANKS, STEPS, f);
    for (int i = 0; i < RANKS * STEPS; i++) {
        assert_true(f[i] == 1 || f[i] == 3);
        slow += f[i] == 3;
        begun += f[i] == 3 && (i % STEPS == 0 || f[i - 1] == 1);
    }
    double p = 0.02 / 0.22, r = 1 - 0.22, all = (double)RANKS * STEPS;
    double error = sqrt(p * (1 - p) * (1 + r) / (1 - r) / all);
    assert_true(fabs(slow / all - p) <= 3 * error);
    double length = slow / begun, spread = sqrt(1 - 0.2) / 0.2 / sqrt(begun); /* geometric */
    assert_true(fabs(length - 1 / 0.2) <= 3 * spread);
    free(f);
}

/* Builds `steps` times: each of n ranks computes for a second, then all meet. */
static rlt_program *meeting(uint32_t n, uint32_t steps)
{
    rlt_builder *b;
    rlt_program *p;
    rlt_error err = {0};
    uint32_t *ranks = malloc(n * sizeof *ranks);
    assert_non_null(ranks);
    assert_int_equal(rlt_builder_create(n, &b, &err), 0);
    for (uint32_t r = 0; r < n; r++)
        ranks[r] = r;
    uint32_t group = rlt_build_group(b, "", ranks, n);
    for (uint32_t r = 0; r < n; r++) {
        uint32_t last = RLT_NONE;
        for (uint32_t k = 0; k < steps; k++) {
            rlt_op_desc d = rlt_op_desc_init(RLT_OP_COMPUTE, r);
            d.duration_ps = RLT_S;
            d.step = (uint16_t)k;
            uint32_t work = rlt_build_op(b, &d);
            d = rlt_op_desc_init(RLT_OP_COLLECTIVE, r);
            d.coll = RLT_ALL_REDUCE;
            d.group = group;
            d.bytes = n;
            d.step = (uint16_t)k;
            uint32_t meet = rlt_build_op(b, &d);
            if (last != RLT_NONE)
                rlt_build_dep(b, work, last);
            rlt_build_dep(b, meet, work);
            last = meet;
        }
    }
    free(ranks);
    if (rlt_builder_finish(b, "test", &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    return p;
}

/* Computes the seconds that the slowest rank computes in each step. */
static void steps_of(const rlt_program *p, const rlt_noise *noise, uint64_t seed, double *out)
{
    char spec[64];
    rlt_error err = {0};
    rlt_topology *t;
    rlt_replay *r;
    rlt_replay_options o = rlt_replay_options_default();
    snprintf(spec, sizeof spec, "switch:%u@50GB/s,0ns", p->n_ranks);
    assert_int_equal(rlt_topology_load(spec, NULL, &t, &err), 0);
    o.topology = t;
    o.model = &rlt_net_alpha_beta;
    o.algorithm[RLT_ALL_REDUCE] = rlt_algorithm_find("recursive_doubling", NULL);
    assert_non_null(o.algorithm[RLT_ALL_REDUCE]);
    o.noise = noise;
    o.n_noise = 1;
    o.seed = seed;
    if (rlt_replay_create(p, &o, &r, &err) || rlt_replay_run(r, &err))
        fail_msg("%s: %s", err.where, err.what);
    for (uint32_t k = 0; k < p->n_steps; k++) {
        rlt_comm_result c = rlt_replay_comm(r, k);
        rlt_time before = k ? rlt_replay_comm(r, k - 1).end_ps : 0;
        out[k] = (double)(c.last_arrival_ps - before) * 1e-12;
        assert_true(c.end_ps - c.last_arrival_ps < RLT_US);
    }
    rlt_replay_free(r);
    rlt_topology_free(t);
}

/* E max of n lognormals of mean 1 = integral of 1 - F(x)^n. */
static double expected_max(uint32_t n, double cv)
{
    double s2 = log(1 + cv * cv), s = sqrt(s2), sum = 0, dz = 1e-3;
    for (double z = -10; z < 10; z += dz) { /* over x = exp(s z - s2 / 2) */
        double middle = z + dz / 2, cdf = 0.5 * erfc(-middle / sqrt(2));
        double width = exp(s * (z + dz) - s2 / 2) - exp(s * z - s2 / 2);
        sum += width * (1 - pow(cdf, n));
    }
    return exp(-10 * s - s2 / 2) + sum;
}

static void test_slowest_of_n(void **state)
{
    (void)state;
    const uint32_t ns[] = {4, 16, 64, 256}, steps[] = {4000, 2000, 1000, 400};
    const double table[] = {1.03, 1.77, 2.34, 2.82}; /* standard deviations, of normals */
    for (int i = 0; i < 4; i++) {
        rlt_program *p = meeting(ns[i], steps[i]);
        double *s = malloc(steps[i] * sizeof *s);
        assert_non_null(s);
        const double cvs[] = {1e-4, 0.2};
        for (int c = 0; c < 2; c++) {
            rlt_noise noise = {.kind = RLT_NOISE_LOGNORMAL, .cv = cvs[c]};
            double sum = 0, square = 0, n = steps[i];
            steps_of(p, &noise, 3, s);
            for (uint32_t k = 0; k < steps[i]; k++) {
                sum += s[k];
                square += (s[k] - 1) * (s[k] - 1);
            }
            double mean = sum / n, error = sqrt((square / n - (mean - 1) * (mean - 1)) / n);
            double want = c ? expected_max(ns[i], cvs[c]) : 1 + cvs[c] * table[i];
            double slack = c ? 1e-4 : cvs[c] * 0.006; /* the table is rounded */
            if (fabs(mean - want) > 3 * error + slack)
                fail_msg("slowest of %u, cv %g: %.6f, expected %.6f within 3 x %.6f", ns[i], cvs[c], mean,
                         want, error);
        }
        free(s);
        rlt_program_free(p);
    }
}

/* Equal seeds give equal runs, other seeds others. Factors depend only on rank and step. */
static void test_seed(void **state)
{
    (void)state;
    rlt_program *p = meeting(8, 20);
    rlt_noise noise = parsed("lognormal:cv=0.1");
    double a[20], b[20], c[20], f[8 * 20];
    steps_of(p, &noise, 1, a);
    steps_of(p, &noise, 1, b);
    steps_of(p, &noise, 2, c);
    assert_memory_equal(a, b, sizeof a);
    assert_memory_not_equal(a, c, sizeof a);
    for (int i = 0; i < 160; i++)
        f[i] = 1;
    rlt_noise_fill(&noise, 1, false, 1, 8, 20, f);
    for (int k = 0; k < 20; k++) {
        double most = 0;
        for (int r = 0; r < 8; r++)
            most = fmax(most, f[r * 20 + k]);
        assert_true(fabs(a[k] - most) < 2e-12);
    }
    rlt_program_free(p);
}

/* Returns a program of one rank: in each of 3 steps `n` kernels "gemm" of 9, 10 or 11 us by step, and one "copy"
 * that always takes 5 us. */
static rlt_program *kernels(uint32_t n)
{
    rlt_builder *b;
    rlt_program *p = NULL;
    rlt_error err = {0};
    assert_int_equal(rlt_builder_create(1, &b, &err), 0);
    uint32_t stream = rlt_build_resource(b, 0, RLT_RES_STREAM, "s");
    for (uint32_t i = 0; i < 3 * (n + 1); i++) {
        bool copy = i % (n + 1) == n;
        rlt_op_desc d = rlt_op_desc_init(RLT_OP_COMPUTE, 0);
        d.resource = stream;
        d.name = rlt_build_string(b, copy ? "copy" : "a gemm", copy ? 4 : 6);
        d.step = (uint16_t)(i / (n + 1));
        d.duration_ps = copy ? 5 * RLT_US : (9 + d.step) * RLT_US;
        rlt_build_op(b, &d);
    }
    if (rlt_builder_finish(b, "test", &p, &err))
        fail_msg("%s: %s", err.where, err.what);
    return p;
}

static rlt_replay *noisy(const rlt_program *p, const rlt_noise *noise, rlt_error *err)
{
    rlt_topology *t;
    rlt_replay *r = NULL;
    rlt_replay_options o = rlt_replay_options_default();
    assert_int_equal(rlt_topology_load("switch:2@50GB/s,0ns", NULL, &t, err), 0);
    o.topology = t;
    o.noise = noise;
    o.n_noise = 1;
    if (!rlt_replay_create(p, &o, &r, err) && rlt_replay_run(r, err)) {
        rlt_replay_free(r);
        r = NULL;
    }
    rlt_topology_free(t);
    return r;
}

static void test_operations(void **state)
{
    enum { N = 3000 };
    rlt_program *p = kernels(N);
    rlt_noise measured = parsed("measured:name=gemm"), drawn = parsed("operation:cv=0.2,name=gemm"),
              none = parsed("measured:name=conv");
    rlt_error err = {0};
    (void)state;
    for (int kind = 0; kind < 2; kind++) {
        uint32_t of[3] = {0};
        double sum = 0, square = 0;
        rlt_replay *r = noisy(p, kind ? &drawn : &measured, &err);
        assert_non_null(r);
        for (uint32_t i = 0; i < p->n_ops; i++) {
            rlt_op_result o = rlt_replay_op(r, i);
            rlt_time took = o.end_ps - o.start_ps;
            double x = (double)took / (double)p->ops[i].duration_ps;
            if (i % (N + 1) == N) {
                assert_int_equal(took, 5 * RLT_US);
                continue;
            }
            sum += x;
            square += (x - 1) * (x - 1);
            for (uint32_t k = 0; k < 3 && !kind; k++)
                of[k] += llabs(took - (9 + k) * RLT_US) <= 1;
        }
        if (kind) { /* within three standard errors */
            assert_true(fabs(sum / (3 * N) - 1) < 3 * 0.2 / sqrt(3 * N));
            assert_true(fabs(sqrt(square / (3 * N)) - 0.2) < 0.01);
        } else { /* a third each */
            assert_int_equal(of[0] + of[1] + of[2], 3 * N);
            for (int k = 0; k < 3; k++)
                assert_true(fabs(of[k] - (double)N) < 3 * sqrt(N * 2 / 3.0));
        }
        rlt_replay_free(r);
    }
    assert_null(noisy(p, &none, &err));
    assert_non_null(strstr(err.what, "'conv'"));
    rlt_program_free(p);
}

/* What is done once has nothing to differ from: of 20 kernels in the first step only the first is repeated, with 5 us and
 * 15 us. These two times are drawn for it, and the others keep theirs. */
static void test_once(void **state)
{
    enum { FIRST = 20 };
    rlt_builder *b;
    rlt_program *p = NULL;
    rlt_noise measured = parsed("measured:name=gemm");
    rlt_error err = {0};
    (void)state;
    assert_int_equal(rlt_builder_create(1, &b, &err), 0);
    for (int i = 0; i <= FIRST; i++) {
        rlt_op_desc d = rlt_op_desc_init(RLT_OP_COMPUTE, 0);
        d.name = rlt_build_string(b, "gemm", 4);
        d.step = i == FIRST;
        d.duration_ps = (i == 0 ? 5 : i < FIRST ? 10 : 15) * RLT_US;
        rlt_build_op(b, &d);
    }
    assert_int_equal(rlt_builder_finish(b, "test", &p, &err), 0);
    rlt_replay *r = noisy(p, &measured, &err);
    assert_non_null(r);
    for (uint32_t i = 0; i <= FIRST; i++) {
        rlt_op_result o = rlt_replay_op(r, i);
        rlt_time took = o.end_ps - o.start_ps;
        if (i % FIRST)
            assert_int_equal(took, 10 * RLT_US);
        else
            assert_true(llabs(took - 5 * RLT_US) <= 1 || llabs(took - 15 * RLT_US) <= 1);
    }
    rlt_replay_free(r);
    rlt_program_free(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_words),       cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_wrong_words), cmocka_unit_test(test_lognormal),
        cmocka_unit_test(test_markov),      cmocka_unit_test(test_slowest_of_n),
        cmocka_unit_test(test_seed),        cmocka_unit_test(test_operations),
        cmocka_unit_test(test_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
