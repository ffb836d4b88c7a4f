/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Factors learned from runs: the runs are simulated under factors that the test chose, through settings of a run.
 * The factors found have the least cost of their surroundings, computed here; so have the uncertainties.
 */
#include "workload/experiment/layouts/measured.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "test/support/support.h"
#include "test/support/text_file.h"
#include "test/support/trainings/search.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/plan/plan.h"
#include "workload/training/training.h"

enum { RUNS = 7, FACTORS = RLT_LAYOUT_FACTORS };

static const search_words space = {.topology = "switch:4@300GB/s,500ns*switch:2@25GB/s,2us",
                                   .model =
                                       "transformer:layers=4,hidden=512,heads=8,vocabulary=8000,sequence=256",
                                   .layout = "cp=1,vp=1,sp=on,order=tp-cp-dp-pp",
                                   .train = "batch=32,recompute=none,schedule=1f1b"};
static const struct {
    int tp, pp, dp, microbatch, zero;
} runs[RUNS] = {{1, 1, 8, 4, 1}, {1, 1, 8, 1, 3}, {2, 1, 4, 2, 1}, {1, 2, 4, 4, 1},
                {2, 2, 2, 4, 1}, {4, 2, 1, 8, 1}, {4, 1, 2, 2, 0}};

/* Seconds of run i under factors, as settings say them. */
static double seconds(uint32_t i, const double *at)
{
    static search_walk one;
    char layout[120], train[160];
    search_words w = space;
    search_factored f;
    snprintf(layout, sizeof layout, "cp=1,vp=1,sp=on,order=tp-cp-dp-pp,tp=%d,pp=%d,ep=1", runs[i].tp,
             runs[i].pp);
    snprintf(train, sizeof train, "batch=32,recompute=none,schedule=1f1b,microbatch=%d,zero=%d",
             runs[i].microbatch, runs[i].zero);
    w.layout = layout;
    w.train = train;
    search_under(&f, &w, at[0], at[1], at[2]);
    search_all(&f.words, 0, &one);
    assert_int_equal(one.n, 1);
    return (double)one.points[0].time_ps * 1e-12;
}

static const char of_layouts[] = "batch=32,recompute=none,schedule=1f1b,microbatch=1+4,zero=1+3";

/* Every layout of a small space under factors. */
static void walk_layouts(const double *at, search_walk *out)
{
    search_factored f;
    search_words w = space;
    w.train = of_layouts;
    search_under(&f, &w, at[0], at[1], at[2]);
    search_all(&f.words, 0, out);
}

/* Writes the runs with noise of some per cent, and reads them. */
static void measure(const rlt_layouts *l, const double *at, double noise, uint32_t n, double *measured,
                    rlt_measured *out)
{
    static const double signs[RUNS] = {1, -0.5, -1, 0.3, 0.8, -0.9, 0.4};
    char path[] = "/tmp/ringlet-runs-XXXXXX", text[2000];
    rlt_error err = {0};
    int used = snprintf(text, sizeof text, "tp,pp,dp,micro_batch,sharding,global_batch,note,model,seconds\n");
    for (uint32_t i = 0; i < n; i++) {
        measured[i] = seconds(i, at) * (1 + noise * signs[i]);
        used +=
            snprintf(text + used, sizeof text - (size_t)used, "%d,%d,%d,%d,%d,32,run %u,mine,%.12g\n",
                     runs[i].tp, runs[i].pp, runs[i].dp, runs[i].microbatch, runs[i].zero, i, measured[i]);
    }
    test_write_new(path, text, (size_t)used);
    if (rlt_measured_read(l, path, out, &err))
        fail_msg("%s: %s", err.where, err.what);
    unlink(path);
    assert_int_equal(out->n, n);
    for (uint32_t i = 0; i < n; i++) {
        assert_true(fabs(out->runs[i].measured_s / measured[i] - 1) < 1e-9);
        assert_int_equal(out->runs[i].line, i + 2);
    }
}

static const double width[FACTORS] = {1.5, 0.2, 0.7}; /* priors */

/* measured.h: the squares of the residuals over 3 %, and of the logarithms over the widths of the prior. */
static double cost(const double *at, const double *measured, uint32_t n)
{
    double sum = 0;
    for (uint32_t i = 0; i < n; i++)
        sum += pow(log(seconds(i, at) / measured[i]) / 0.03, 2);
    for (uint32_t k = 0; k < FACTORS; k++)
        sum += pow(log(at[k]) / width[k], 2);
    return sum;
}

/* Slopes of log(time) by log(factor), from both sides; the fit takes them from one, 2 % above. */
static double slope(uint32_t i, const double *at, uint32_t k)
{
    double more[FACTORS];
    memcpy(more, at, sizeof more);
    more[k] *= exp(0.02);
    return log(seconds(i, more) / seconds(i, at)) / 0.02;
}

static void invert3(double c[3][3])
{
    double a[3][3], det = 0;
    memcpy(a, c, sizeof a);
    for (int i = 0; i < 3; i++)
        det += a[0][i] * (a[1][(i + 1) % 3] * a[2][(i + 2) % 3] - a[1][(i + 2) % 3] * a[2][(i + 1) % 3]);
    for (int i = 0; i < 3; i++)
        for (int j = 0; j < 3; j++)
            c[j][i] = (a[(i + 1) % 3][(j + 1) % 3] * a[(i + 2) % 3][(j + 2) % 3] -
                       a[(i + 1) % 3][(j + 2) % 3] * a[(i + 2) % 3][(j + 1) % 3]) /
                      det;
}

/* The fit, computed here: residuals, slopes, and the factors without one run. */
typedef struct known {
    uint32_t n;
    double at[FACTORS], measured[RUNS], residuals[RUNS], slopes[RUNS][FACTORS];
} known;

/* C of the runs but one (n: of all), with a noise. */
static void covariance(const known *a, double noise, uint32_t without, double c[3][3])
{
    for (uint32_t k = 0; k < FACTORS; k++)
        for (uint32_t q = 0; q < FACTORS; q++) {
            c[k][q] = k == q ? 1 / (width[k] * width[k]) : 0;
            for (uint32_t i = 0; i < a->n; i++)
                c[k][q] += i == without ? 0 : a->slopes[i][k] * a->slopes[i][q] / (noise * noise);
        }
    invert3(c);
}

/* Seconds of a run with the factors that the others give. */
static double left_out(const known *a, uint32_t i)
{
    double c[3][3], b[FACTORS], at[FACTORS];
    covariance(a, 0.03, i, c);
    for (uint32_t k = 0; k < FACTORS; k++) {
        b[k] = -log(a->at[k]) / (width[k] * width[k]);
        for (uint32_t j = 0; j < a->n; j++)
            b[k] -= j == i ? 0 : a->slopes[j][k] * a->residuals[j] / (0.03 * 0.03);
    }
    for (uint32_t k = 0; k < FACTORS; k++)
        at[k] = a->at[k] * exp(c[k][0] * b[0] + c[k][1] * b[1] + c[k][2] * b[2]);
    return seconds(i, at);
}

static void assert_predictions(const known *a, const rlt_measured *m)
{
    double error = 0, out = 0;
    for (uint32_t i = 0; i < a->n; i++) {
        double one = left_out(a, i);
        error += fabs(a->residuals[i]) / a->n;
        out += fabs(log(one / a->measured[i])) / a->n;
        assert_true(fabs(m->runs[i].predicted_s / seconds(i, a->at) - 1) < 1e-5);
        assert_true(fabs(m->runs[i].left_out_s / one - 1) < 1e-3);
    }
    assert_true(fabs(m->error - error) < 1e-5 && fabs(m->left_out - out) < 1e-3);
}

/* C, and sqrt(g' C g) of layouts, with slopes from other simulations. */
static void assert_uncertainty(const known *a, const rlt_measured *m)
{
    search_asked asked;
    rlt_layouts l;
    search_words w = space;
    static search_walk walk, moved[FACTORS];
    double c[3][3], squares = 0, sd[SEARCH_MOST];
    rlt_error err = {0};
    for (uint32_t i = 0; i < a->n; i++)
        squares += a->residuals[i] * a->residuals[i] / a->n;
    covariance(a, fmax(0.03, sqrt(squares)), a->n, c);
    walk_layouts(a->at, &walk);
    for (uint32_t k = 0; k < FACTORS; k++) {
        double to[FACTORS];
        assert_true(fabs(m->sd[k] / sqrt(c[k][k]) - 1) < 0.01);
        for (uint32_t q = 0; q < FACTORS; q++)
            assert_true(fabs(m->covariance[k][q] - c[k][q]) < 0.01 * sqrt(c[k][k] * c[q][q]));
        memcpy(to, a->at, sizeof to);
        to[k] *= exp(0.02);
        walk_layouts(to, &moved[k]);
    }
    w.train = of_layouts;
    search_open(&l, &asked, &w);
    assert_true(walk.n < SEARCH_MOST);
    memset(&walk.points[walk.n], 0xff, sizeof *walk.points); /* nothing is read or written behind the last */
    sd[walk.n] = -1;
    assert_int_equal(rlt_measured_uncertain(&l, m, NULL, walk.points, walk.n, sd, &err), 0);
    assert_true(sd[walk.n] <= -1 && sd[walk.n] >= -1);
    rlt_layouts_close(&l);
    rlt_parsed_free(&asked.args);
    for (uint32_t p = 0; p < walk.n; p++) {
        double g[FACTORS], sum = 0;
        for (uint32_t k = 0; k < FACTORS; k++)
            g[k] = log((double)search_same(&moved[k], &walk.points[p])->time_ps /
                       (double)walk.points[p].time_ps) /
                   0.02;
        for (uint32_t k = 0; k < FACTORS; k++)
            for (uint32_t q = 0; q < FACTORS; q++)
                sum += g[k] * c[k][q] * g[q];
        assert_true(fabs(sd[p] - sqrt(sum)) < 0.01 * sqrt(sum) + 1e-5);
    }
}

static void learn(const rlt_layouts *l, const double *planted, double noise, uint32_t n)
{
    known a = {.n = n};
    rlt_measured m;
    rlt_error err = {0};
    measure(l, planted, noise, n, a.measured, &m);
    if (rlt_measured_fit(l, NULL, &m, &err))
        fail_msg("%s: %s", err.where, err.what);
    a.at[0] = m.factors.bandwidth;
    a.at[1] = m.factors.efficiency;
    a.at[2] = m.factors.half_sizes;
    double least = cost(a.at, a.measured, n);
    assert_true(noise > 0 || least <= cost(planted, a.measured, n) + 0.01);
    for (uint32_t k = 0; k < FACTORS; k++)
        for (int way = -1; way < 2; way += 2) {
            double to[FACTORS];
            memcpy(to, a.at, sizeof to);
            to[k] *= 1 + 0.02 * way;
            if (cost(to, a.measured, n) < least - 0.01)
                fail_msg("factor %u: %g costs %g, %g costs less", k, a.at[k], least, to[k]);
        }
    for (uint32_t i = 0; i < n; i++) {
        a.residuals[i] = log(seconds(i, a.at) / a.measured[i]);
        for (uint32_t k = 0; k < FACTORS; k++)
            a.slopes[i][k] = slope(i, a.at, k);
    }
    if (n >= 3)
        assert_predictions(&a, &m);
    else
        assert_true(m.left_out <= 0 && m.runs[0].left_out_s <= 0);
    assert_false(m.bandwidth_is_fixed);
    assert_uncertainty(&a, &m);
    rlt_measured_free(&m);
}

static void factors_have_the_least_cost(void **state)
{
    static const double planted[][FACTORS] = {{0.12, 0.85, 1.6}, {1, 1, 1}, {0.4, 1.1, 0.6}};
    search_asked asked;
    rlt_layouts l;
    (void)state;
    search_open(&l, &asked, &space);
    learn(&l, planted[0], 0, RUNS);
    learn(&l, planted[1], 0, RUNS - 1);
    learn(&l, planted[2], 0.08, RUNS);
    learn(&l, planted[0], 0, 3);
    learn(&l, planted[2], 0, 2);
    rlt_layouts_close(&l);
    rlt_parsed_free(&asked.args);
}

/* Links of a graph have no common factor: bandwidth stays as it is. */
static void graphs_keep_their_bandwidth(void **state)
{
    search_asked asked;
    rlt_layouts l;
    rlt_measured m;
    rlt_error err = {0};
    search_words w = space;
    char path[] = "/tmp/ringlet-runs-XXXXXX",
         text[] = "iteration_s,tp,pp,microbatch\n0.5,1,1,4\n0.5,2,1,4\n0.4,2,2,4\n";
    (void)state;
    w.topology = "dgx1-v100-8";
    test_write_new(path, text, sizeof text - 1);
    search_open(&l, &asked, &w);
    assert_int_equal(rlt_measured_read(&l, path, &m, &err), 0);
    assert_int_equal(rlt_measured_fit(&l, NULL, &m, &err), 0);
    assert_true(m.bandwidth_is_fixed && m.factors.bandwidth >= 1 && m.factors.bandwidth <= 1);
    assert_true(fabs(m.sd[0] - 1.5) < 1e-9 && m.factors.efficiency < 1);
    unlink(path);
    rlt_measured_free(&m);
    rlt_layouts_close(&l);
    rlt_parsed_free(&asked.args);
}

/* sp needs several ranks of a tensor; what ZeRO 1 and 2 shard, one copy has whole. */
static bool is_the_same(const rlt_training *t, const rlt_training *run)
{
    bool one = t->size[RLT_AXIS_DP] == 1 && t->zero < 3 && run->zero < 3, whole = t->size[RLT_AXIS_TP] == 1;
    return t->size[RLT_AXIS_TP] == run->size[RLT_AXIS_TP] && t->size[RLT_AXIS_PP] == run->size[RLT_AXIS_PP] &&
           t->microbatch == run->microbatch && (one || t->zero == run->zero) &&
           t->recompute == run->recompute && t->schedule == run->schedule &&
           (whole || t->sequence_parallel == run->sequence_parallel) && t->vp == run->vp &&
           rlt_layout_same_order(t, t->order, run->order);
}

/* Returns how many points of a space are among the runs. */
static uint32_t measured_points(const char *layout, const char *train)
{
    static const double one[FACTORS] = {1, 1, 1};
    search_asked asked;
    rlt_layouts l;
    rlt_measured m;
    rlt_error err = {0};
    search_words w = space;
    double measured[RUNS];
    const rlt_layout_search all = {.no_bounds = true};
    uint32_t found = 0;
    w.layout = layout;
    w.train = train;
    search_open(&l, &asked, &w);
    assert_int_equal(rlt_layouts_find(&l, &all, &err), 0);
    measure(&l, one, 0, 6, measured, &m);
    for (uint32_t p = 0; p < l.result.n; p++) {
        rlt_training t, run;
        bool has = false;
        assert_int_equal(rlt_layouts_training(&l, &l.result.points[p], &t, &err), 0);
        for (uint32_t i = 0; i < m.n; i++) {
            assert_int_equal(rlt__measured_training(&l, &m, &m.runs[i], &run, &err), 0);
            has = has || is_the_same(&t, &run);
        }
        assert_int_equal(rlt_measured_has(&l, &m, &l.result.points[p]), has);
        found += has;
    }
    rlt_measured_free(&m);
    rlt_layouts_close(&l);
    rlt_parsed_free(&asked.args);
    return found;
}

/* A point is measured if all that its settings say is. */
static void points_that_were_measured(void **state)
{
    (void)state;
    assert_int_equal(measured_points("cp=1,vp=1,sp=on,order=tp-cp-dp-pp+dp-tp-cp-pp",
                                     "batch=32,recompute=none,schedule=1f1b,microbatch=1+2+4+8,zero=0+1+3"),
                     6);
    assert_true(
        measured_points(
            "cp=1,vp=1+2,sp=on+off,order=tp-cp-dp-pp+dp-tp-cp-pp",
            "batch=32,recompute=none+full,schedule=1f1b+gpipe+interleaved,microbatch=1+2+4+8,zero=0+1+3") >
        0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(factors_have_the_least_cost),
        cmocka_unit_test(graphs_keep_their_bandwidth),
        cmocka_unit_test(points_that_were_measured),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
