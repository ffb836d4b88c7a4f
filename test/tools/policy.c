/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The graph network of deployment search: against the same network computed the long way, and its gradients. */
#include "tools/deploy/policy/policy.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sim/base/error.h"
#include "sim/base/random.h"

enum { OPS = 6, DEVICES = 3, ACTIONS = 21, MOST_EDGES = OPS * DEVICES, MOST_WIDTH = 64, MOST_CHANNELS = 256 };

static rlt_error err;
static const rlt_policy_shape small = {8, 4, 4};

/* A state with its own arrays. */
typedef struct random_state {
    double ops[OPS * RLT_OP_FEATURES], devices[DEVICES * RLT_DEVICE_FEATURES];
    uint32_t src[RLT_EDGE_KINDS][MOST_EDGES], dst[RLT_EDGE_KINDS][MOST_EDGES];
    double features[RLT_EDGE_KINDS][MOST_EDGES * RLT_PLACE_FEATURES];
    uint32_t placement[ACTIONS];
    uint8_t way[ACTIONS];
    double target[ACTIONS];
    rlt_policy_state s;
} random_state;

static double draw(uint64_t seed, uint64_t k)
{
    return rlt_random_unit(seed, 0, 0, k);
}

static void add_edge(random_state *r, int kind, uint32_t src, uint32_t dst)
{
    uint32_t n = r->s.edges[kind].n++;
    r->src[kind][n] = src;
    r->dst[kind][n] = dst;
}

static void connect(random_state *r)
{
    static const uint32_t flows[][2] = {{0, 1}, {0, 2}, {1, 3},
                                        {2, 3}, {3, 4}, {1, 4}}; /* group 5 is alone */
    for (uint32_t i = 0; i < DEVICES; i++)
        for (uint32_t k = 0; k < DEVICES; k++)
            if (i != k)
                add_edge(r, RLT_EDGE_LINK, i, k);
    for (size_t i = 0; i < sizeof flows / sizeof flows[0]; i++) {
        add_edge(r, RLT_EDGE_PREV, flows[i][0], flows[i][1]);
        add_edge(r, RLT_EDGE_SUCC, flows[i][1], flows[i][0]);
    }
    for (uint32_t i = 0; i < OPS; i++)
        for (uint32_t d = 0; d < DEVICES; d++) {
            add_edge(r, RLT_EDGE_PLACE, i, d);
            add_edge(r, RLT_EDGE_SERVE, d, i);
        }
}

static void fill(random_state *r, uint64_t seed)
{
    uint64_t k = 0;
    double sum = 0;
    memset(r, 0, sizeof *r);
    r->s = (rlt_policy_state){.n_ops = OPS, .n_devices = DEVICES, .n_actions = ACTIONS, .deciding = 2};
    r->s.ops = r->ops;
    r->s.devices = r->devices;
    r->s.placement = r->placement;
    r->s.way = r->way;
    connect(r);
    for (int e = 0; e < RLT_EDGE_KINDS; e++) {
        r->s.edges[e].src = r->src[e];
        r->s.edges[e].dst = r->dst[e];
        r->s.edges[e].features = r->features[e];
        for (uint32_t i = 0; i < MOST_EDGES * RLT_PLACE_FEATURES; i++)
            r->features[e][i] = draw(seed, k++);
    }
    for (uint32_t i = 0; i < OPS * RLT_OP_FEATURES; i++)
        r->ops[i] = draw(seed, k++);
    for (uint32_t i = 0; i < DEVICES * RLT_DEVICE_FEATURES; i++)
        r->devices[i] = draw(seed, k++);
    for (uint32_t a = 0; a < ACTIONS; a++) {
        r->placement[a] = a % 7 + 1;
        r->way[a] = (uint8_t)(a / 7);
        r->target[a] = draw(seed, k++);
        sum += r->target[a];
    }
    for (uint32_t a = 0; a < ACTIONS; a++)
        r->target[a] /= sum;
}

static rlt_policy *policy(rlt_policy_shape shape, uint64_t seed)
{
    rlt_policy *p;
    assert_int_equal(rlt_policy_create(&shape, seed, &p, &err), 0);
    /* Biases and offsets begin at 0: move all, so that each matters. */
    for (uint64_t i = 0; i < rlt_policy_parameters(p); i++)
        rlt_policy_weights(p)[i] += 0.1 * (draw(seed + 1, i) - 0.5);
    return p;
}

static void evaluate(const rlt_policy *p, const rlt_policy_state *s, double *log_p)
{
    rlt_policy_run *run;
    assert_int_equal(rlt_policy_run_create(p, &run, &err), 0);
    assert_int_equal(rlt_policy_evaluate(run, s, log_p, &err), 0);
    rlt_policy_run_free(run);
}

/* ---- the long way: W (h || f) for each edge, the decoder for each action; weights in the order of the
 * README ---- */

typedef struct reader {
    const double *next;
} reader;

static const double *weights(reader *r, uint32_t n)
{
    const double *w = r->next;
    r->next += n;
    return w;
}

/* y = x W, with W of n x m. */
static void times(const double *x, const double *w, uint32_t n, uint32_t m, double *y)
{
    for (uint32_t k = 0; k < m; k++) {
        y[k] = 0;
        for (uint32_t i = 0; i < n; i++)
            y[k] += x[i] * w[i * m + k];
    }
}

/* y = x W + b, or its tanh. */
static void dense(const double *x, const double *w, uint32_t n, uint32_t m, double *y)
{
    times(x, w, n, m, y);
    for (uint32_t k = 0; k < m; k++)
        y[k] += w[n * m + k];
}

static void to_tanh(double *x, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        x[i] = tanh(x[i]);
}

static void norm(const double *gamma, uint32_t n, double *x)
{
    for (uint32_t i = 0; i < n; i++)
        x[i] = gamma[i] * x[i] + gamma[n + i];
}

typedef struct long_way {
    uint32_t h, heads, layers;
    double node[2][OPS][MOST_WIDTH], edge[RLT_EDGE_KINDS][MOST_EDGES][MOST_WIDTH], o[2][OPS][MOST_CHANNELS];
} long_way;

static const int from[RLT_EDGE_KINDS] = {1, 0, 0, 0, 1}, to[RLT_EDGE_KINDS] = {1, 0, 0, 1, 0};

static void long_inputs(long_way *l, const random_state *r, reader *w)
{
    static const uint32_t features[RLT_EDGE_KINDS] = {1, 1, 1, 5, 5};
    const double *in;
    for (int t = 0; t < 2; t++) {
        uint32_t n = t ? DEVICES : OPS, f = t ? RLT_DEVICE_FEATURES : RLT_OP_FEATURES;
        in = weights(w, f * l->h + 3 * l->h);
        for (uint32_t i = 0; i < n; i++) {
            dense(t ? r->s.devices + i * f : r->s.ops + i * f, in, f, l->h, l->node[t][i]);
            to_tanh(l->node[t][i], l->h);
            norm(in + f * l->h + l->h, l->h, l->node[t][i]);
        }
    }
    for (int e = 0; e < RLT_EDGE_KINDS; e++) {
        uint32_t f = features[e], width = l->h / 4;
        in = weights(w, f * width + 3 * width);
        for (uint32_t i = 0; i < r->s.edges[e].n; i++) {
            dense(r->s.edges[e].features + (size_t)i * f, in, f, width, l->edge[e][i]);
            to_tanh(l->edge[e][i], width);
            norm(in + f * width + width, width, l->edge[e][i]);
        }
    }
}

static void long_attention(long_way *l, const random_state *r, int e, reader *w)
{
    static double z[MOST_EDGES][MOST_CHANNELS], z_d[MOST_CHANNELS], joined[2 * MOST_WIDTH];
    uint32_t h = l->h, c = h * l->heads, n = r->s.edges[e].n;
    double score[MOST_EDGES];
    const double *w_s = weights(w, (h + h / 4) * c), *w_d = weights(w, h * c), *norm_s = weights(w, 2 * c);
    const double *norm_d = weights(w, 2 * c), *left = weights(w, c), *right = weights(w, c);
    for (uint32_t k = 0; k < l->heads; k++) {
        double sums[OPS] = {0};
        for (uint32_t i = 0; i < n; i++) {
            memcpy(joined, l->node[from[e]][r->src[e][i]], h * sizeof *joined);
            memcpy(joined + h, l->edge[e][i], h / 4 * sizeof *joined);
            times(joined, w_s, h + h / 4, c, z[i]);
            norm(norm_s, c, z[i]);
            times(l->node[to[e]][r->dst[e][i]], w_d, h, c, z_d);
            norm(norm_d, c, z_d);
            score[i] = 0;
            for (uint32_t j = k * h; j < (k + 1) * h; j++)
                score[i] += left[j] * z[i][j] + right[j] * z_d[j];
            score[i] = exp(score[i] > 0 ? score[i] : 0.2 * score[i]);
            sums[r->dst[e][i]] += score[i];
        }
        for (uint32_t i = 0; i < n; i++)
            for (uint32_t j = k * h; j < (k + 1) * h; j++)
                l->o[to[e]][r->dst[e][i]][j] += score[i] / sums[r->dst[e][i]] * z[i][j] / (to[e] ? 2 : 3);
    }
}

static void long_layers(long_way *l, const random_state *r, reader *w)
{
    double y[MOST_WIDTH];
    for (uint32_t i = 0; i < l->layers; i++) {
        memset(l->o, 0, sizeof l->o);
        for (int e = 0; e < RLT_EDGE_KINDS; e++)
            long_attention(l, r, e, w);
        for (int t = 0; t < 2; t++) {
            const double *out = weights(w, l->h * l->heads * l->h + l->h);
            for (uint32_t k = 0; k < (t ? DEVICES : OPS); k++) {
                dense(l->o[t][k], out, l->h * l->heads, l->h, y);
                if (i + 1 < l->layers)
                    to_tanh(y, l->h);
                for (uint32_t j = 0; j < l->h; j++)
                    l->node[t][k][j] += y[j];
            }
        }
    }
}

static void long_decoder(const long_way *l, const random_state *r, reader *w, double *log_p)
{
    uint32_t h = l->h;
    const double *d1 = weights(w, (h + 1) * h + h), *d2 = weights(w, h * h + h);
    const double *d3 = weights(w, (2 * h + 3) * h + h), *d4 = weights(w, h + 1);
    double x[2 * MOST_WIDTH + 3], u[MOST_WIDTH], y[MOST_WIDTH], sum = 0;
    for (uint32_t a = 0; a < ACTIONS; a++) {
        double joined[2 * MOST_WIDTH + 3] = {0};
        for (uint32_t d = 0; d < DEVICES; d++) {
            memcpy(x, l->node[1][d], h * sizeof *x);
            x[h] = r->placement[a] >> d & 1;
            dense(x, d1, h + 1, h, u);
            to_tanh(u, h);
            dense(u, d2, h, h, y);
            to_tanh(y, h);
            for (uint32_t k = 0; k < h; k++)
                joined[k] += y[k] / DEVICES;
        }
        memcpy(joined + h, l->node[0][r->s.deciding], h * sizeof *joined);
        joined[2 * h + r->way[a]] = 1;
        dense(joined, d3, 2 * h + 3, h, y);
        to_tanh(y, h);
        dense(y, d4, h, 1, &log_p[a]);
        sum += exp(log_p[a]);
    }
    for (uint32_t a = 0; a < ACTIONS; a++)
        log_p[a] -= log(sum);
}

static void equals_the_long_way(void **state)
{
    (void)state;
    static random_state r;
    static long_way l;
    double fast[ACTIONS], slow[ACTIONS];
    for (uint64_t seed = 0; seed < 3; seed++) {
        rlt_policy *p = policy((rlt_policy_shape){16, 3, 2}, seed);
        reader w = {rlt_policy_weights(p)};
        fill(&r, seed);
        evaluate(p, &r.s, fast);
        memset(&l, 0, sizeof l);
        l.h = 16;
        l.heads = 2;
        l.layers = 3;
        long_inputs(&l, &r, &w);
        long_layers(&l, &r, &w);
        long_decoder(&l, &r, &w, slow);
        assert_true(w.next == rlt_policy_weights(p) + rlt_policy_parameters(p));
        for (uint32_t a = 0; a < ACTIONS; a++)
            assert_true(fabs(fast[a] - slow[a]) < 1e-11);
        rlt_policy_free(p);
    }
}

/* ---- properties ---- */

static void counts(void **state)
{
    (void)state;
    static const uint64_t expected[][2] = {{256, 14290689}, {128, 3606401}, {64, 918465}, {32, 238049}};
    for (size_t i = 0; i < sizeof expected / sizeof expected[0]; i++) {
        rlt_policy *p;
        assert_int_equal(rlt_policy_create(&(rlt_policy_shape){(uint32_t)expected[i][0], 4, 4}, 1, &p, &err),
                         0);
        assert_int_equal(rlt_policy_parameters(p), expected[i][1]);
        rlt_policy_free(p);
    }
    assert_int_equal(RLT_POLICY_DEFAULT.width, 64);
}

static void probabilities_sum_to_one(void **state)
{
    (void)state;
    static random_state r;
    double log_p[ACTIONS], sum = 0;
    rlt_policy *p = policy(RLT_POLICY_DEFAULT, 5);
    fill(&r, 5);
    evaluate(p, &r.s, log_p);
    for (uint32_t a = 0; a < ACTIONS; a++)
        sum += exp(log_p[a]);
    assert_true(fabs(sum - 1) < 1e-12);
    rlt_policy_free(p);
}

static double loss_of(rlt_policy_run *run, const random_state *r)
{
    double log_p[ACTIONS], loss = 0;
    assert_int_equal(rlt_policy_evaluate(run, &r->s, log_p, &err), 0);
    for (uint32_t a = 0; a < ACTIONS; a++)
        loss -= r->target[a] * log_p[a];
    return loss;
}

static void gradients(void **state)
{
    (void)state;
    static random_state r;
    const double step = 1e-5;
    double loss, most = 0;
    uint64_t checked = 0;
    for (uint64_t seed = 0; seed < 3; seed++) {
        rlt_policy *p = policy(small, seed);
        uint64_t n = rlt_policy_parameters(p);
        double *w = rlt_policy_weights(p), *g = calloc(n, sizeof *g);
        rlt_policy_run *run;
        fill(&r, seed);
        assert_int_equal(rlt_policy_run_create(p, &run, &err), 0);
        assert_int_equal(rlt_policy_gradient(run, &r.s, r.target, g, &loss, &err), 0);
        assert_true(fabs(loss - loss_of(run, &r)) < 1e-12);
        for (uint64_t i = seed; i < n; i += 3) { /* a third of the weights each time: all of them in all */
            double keep = w[i];
            w[i] = keep + step;
            double up = loss_of(run, &r);
            w[i] = keep - step;
            double down = loss_of(run, &r), slope = (up - down) / (2 * step);
            w[i] = keep;
            most = fmax(most, fabs(slope - g[i]) / fmax(1e-4, fabs(slope) + fabs(g[i])));
            checked++;
        }
        free(g);
        rlt_policy_run_free(run);
        rlt_policy_free(p);
    }
    print_message("%llu gradients, largest relative difference %.1e\n", (unsigned long long)checked, most);
    assert_true(most < 1e-5);
}

/* Renumbers operator groups and device groups: group i becomes op[i]. */
static void renumber(random_state *out, const random_state *r, const uint32_t *op, const uint32_t *device)
{
    fill(out, 0);
    for (uint32_t i = 0; i < OPS; i++)
        memcpy(out->ops + op[i] * RLT_OP_FEATURES, r->ops + i * RLT_OP_FEATURES,
               RLT_OP_FEATURES * sizeof *r->ops);
    for (uint32_t i = 0; i < DEVICES; i++)
        memcpy(out->devices + device[i] * RLT_DEVICE_FEATURES, r->devices + i * RLT_DEVICE_FEATURES,
               RLT_DEVICE_FEATURES * sizeof *r->devices);
    memcpy(out->features, r->features, sizeof r->features);
    for (int e = 0; e < RLT_EDGE_KINDS; e++)
        for (uint32_t i = 0; i < r->s.edges[e].n; i++) {
            out->src[e][i] = (from[e] ? device : op)[r->src[e][i]];
            out->dst[e][i] = (to[e] ? device : op)[r->dst[e][i]];
        }
    for (uint32_t a = 0; a < ACTIONS; a++) {
        out->way[a] = r->way[a];
        out->placement[a] = 0;
        for (uint32_t d = 0; d < DEVICES; d++)
            out->placement[a] |= (r->placement[a] >> d & 1) << device[d];
    }
    out->s.deciding = op[r->s.deciding];
}

static void numbering_does_not_matter(void **state)
{
    (void)state;
    static random_state a, b;
    static const uint32_t op[OPS] = {3, 5, 0, 1, 4, 2}, device[DEVICES] = {2, 0, 1};
    double first[ACTIONS], second[ACTIONS];
    rlt_policy *p = policy(RLT_POLICY_DEFAULT, 9);
    fill(&a, 9);
    renumber(&b, &a, op, device);
    evaluate(p, &a.s, first);
    evaluate(p, &b.s, second);
    for (uint32_t i = 0; i < ACTIONS; i++)
        assert_true(fabs(first[i] - second[i]) < 1e-10);
    b.s.deciding = op[0]; /* another group: something must change */
    evaluate(p, &b.s, second);
    assert_true(fabs(first[0] - second[0]) > 1e-6);
    rlt_policy_free(p);
}

static void learns_one_state_by_heart(void **state)
{
    (void)state;
    static random_state r;
    rlt_policy *p = policy(small, 2);
    double *g = calloc(rlt_policy_parameters(p), sizeof *g), loss = 0, entropy = 0;
    rlt_policy_run *run;
    rlt_adam adam;
    fill(&r, 2);
    for (uint32_t a = 0; a < ACTIONS; a++)
        entropy -= r.target[a] * log(r.target[a]);
    assert_int_equal(rlt_policy_run_create(p, &run, &err), 0);
    assert_int_equal(rlt_adam_create(p, &adam, &err), 0);
    adam.rate = 1e-3;
    for (uint32_t i = 0; i < 1500; i++) {
        assert_int_equal(rlt_policy_gradient(run, &r.s, r.target, g, &loss, &err), 0);
        rlt_adam_step(&adam, p, g);
    }
    assert_true(loss - entropy > -1e-12);
    assert_true(loss - entropy < 0.01);
    rlt_adam_free(&adam);
    rlt_policy_run_free(run);
    rlt_policy_free(p);
    free(g);
}

/* ---- Adam and files ---- */

/* The first step of Adam moves each weight by the rate against the sign of its gradient, however it is
 * clipped. */
static void first_step(void **state)
{
    (void)state;
    rlt_policy *p = policy(small, 3);
    uint64_t n = rlt_policy_parameters(p);
    double *g = calloc(n, sizeof *g), *before = malloc(n * sizeof *before);
    rlt_adam adam;
    assert_int_equal(rlt_adam_create(p, &adam, &err), 0);
    adam.epsilon = 0;
    memcpy(before, rlt_policy_weights(p), n * sizeof *before);
    for (uint64_t i = 0; i < n; i++)
        g[i] = i % 2 ? 3 : -5;
    rlt_adam_step(&adam, p, g);
    for (uint64_t i = 0; i < n; i++) {
        assert_true(fabs(before[i] - rlt_policy_weights(p)[i] - (i % 2 ? 1e-4 : -1e-4)) < 1e-12);
        assert_true(fabs(g[i]) < 1e-300);
    }
    rlt_adam_free(&adam);
    rlt_policy_free(p);
    free(g);
    free(before);
}

/* Reads a file that is no good. */
static void refuse(const char *path, int code, const char *says)
{
    rlt_policy *p;
    err = (rlt_error){0};
    assert_int_equal(rlt_policy_load(path, &p, &err), code);
    assert_non_null(strstr(err.what, says));
    assert_null(p);
}

static void damage(const char *path, long at, const char *bytes)
{
    FILE *f = fopen(path, "r+");
    assert_non_null(f);
    assert_int_equal(fseek(f, at, SEEK_SET), 0);
    assert_true(fputs(bytes, f) >= 0);
    assert_int_equal(fclose(f), 0);
}

static void files(void **state)
{
    (void)state;
    static random_state r;
    char path[] = "/tmp/ringlet-policy-XXXXXX";
    double first[ACTIONS], second[ACTIONS];
    int fd = mkstemp(path);
    rlt_policy *p = policy(small, 4), *q;
    assert_true(fd >= 0);
    close(fd);
    fill(&r, 4);
    assert_int_equal(rlt_policy_save(p, path, "ringlet deploy train, seed 4", &err), 0);
    assert_int_equal(rlt_policy_load(path, &q, &err), 0);
    assert_string_equal(rlt_policy_note(q), "ringlet deploy train, seed 4");
    assert_int_equal(rlt_policy_shape_of(q)->width, 8);
    evaluate(p, &r.s, first);
    evaluate(q, &r.s, second);
    for (uint32_t a = 0; a < ACTIONS; a++)
        assert_true(fabs(first[a] - second[a]) < 1e-4);
    rlt_policy_free(q);
    damage(path, 500, "x");
    refuse(path, RLT_EMALFORMED, "damaged");
    assert_int_equal(truncate(path, 1000), 0);
    refuse(path, RLT_EMALFORMED, "bytes of weights");
    damage(path, 0, "PK");
    refuse(path, RLT_EMALFORMED, "no weights");
    assert_int_equal(truncate(path, 0), 0);
    refuse(path, RLT_EMALFORMED, "no weights");
    unlink(path);
    refuse(path, RLT_EIO, "");
    rlt_policy_free(p);
}

static void wrong_shapes(void **state)
{
    (void)state;
    static const rlt_policy_shape bad[] = {{0, 4, 4},  {6, 4, 4},  {2048, 4, 4}, {64, 0, 4},
                                           {64, 9, 4}, {64, 4, 0}, {64, 4, 17}};
    rlt_policy *p;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(rlt_policy_create(&bad[i], 1, &p, &err), RLT_ERANGE);
    assert_null(p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_the_long_way),
        cmocka_unit_test(counts),
        cmocka_unit_test(probabilities_sum_to_one),
        cmocka_unit_test(gradients),
        cmocka_unit_test(numbering_does_not_matter),
        cmocka_unit_test(learns_one_state_by_heart),
        cmocka_unit_test(first_step),
        cmocka_unit_test(files),
        cmocka_unit_test(wrong_shapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
