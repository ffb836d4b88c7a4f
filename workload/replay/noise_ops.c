/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Noise by operation: drawn, or taken from what the recording shows from step to step. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/random.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/replay/internal.h"
#include "workload/replay/noise.h"
#include "workload/replay/replay.h"

/* Purpose of the random streams; the place in the list is added. The entity is the rank, k the operation. */
enum { PURPOSE = 0x6e6f6f00 };

/* Operations of one kind of noise. */
typedef struct chosen {
    const rlt_program *p;
    const rlt_noise *noise;
    uint8_t *known; /* by name: 0 not looked at yet, 1 no, 2 yes */
    uint32_t n_names;
} chosen;

static bool varies(chosen *c, const rlt_op *op)
{
    bool host = op->kind == RLT_OP_HOST, device = op->kind == RLT_OP_COMPUTE || op->kind == RLT_OP_MEMORY;
    if ((!host && !device) || !rlt_noise_is_on(c->noise, host))
        return false;
    if (!c->noise->name[0])
        return true;
    if (op->name == RLT_NONE)
        return false;
    uint8_t *known = &c->known[op->name];
    if (!*known)
        *known = strstr(rlt_program_string(c->p, op->name), c->noise->name) ? 2 : 1;
    return *known == 2;
}

/* Recorded durations of the k-th operation of a name in the steps of one rank. */
typedef struct position {
    double sum;
    uint32_t n;
} position;

/* Durations of all varying operations, as multiples of the mean of their position, by name. */
typedef struct ratios {
    double *mean;             /* by operation; 0: none */
    double *list;             /* by name */
    uint32_t *first, *filled; /* list[first[name] ..] has filled[name] ratios */
} ratios;

static uint32_t name_of(const chosen *c, const rlt_op *op)
{
    return op->name == RLT_NONE ? c->n_names - 1 : op->name;
}

/* Returns the position of an operation, a new one if needed; RLT_NONE: out of memory. `at` counts the
 * operations of each name and step, `index` has the positions. */
static uint32_t find_position(const chosen *c, const rlt_op *op, rlt_map *at, rlt_map *index, uint32_t *n)
{
    uint64_t name = name_of(c, op), key = name << 16 | op->step;
    uint32_t k = rlt_map_get(at, key);
    k = k == RLT_NONE ? 0 : k + 1;
    if (rlt_map_put(at, key, k) < 0)
        return RLT_NONE;
    key = name << 32 | k;
    uint32_t i = rlt_map_get(index, key);
    return i != RLT_NONE ? i : rlt_map_put(index, key, *n) < 0 ? RLT_NONE : (*n)++;
}

/* Finds the means of a rank's positions. Those of one step only have none. */
static int find_means(chosen *c, uint32_t rank, position *list, uint32_t *of, ratios *r, rlt_error *err)
{
    const rlt_program *p = c->p;
    rlt_map at = {0}, index = {0};
    uint32_t n = 0, first = p->rank_first[rank];
    int rc = 0;
    for (uint32_t i = first; i < p->rank_first[rank + 1] && !rc; i++) {
        if (!varies(c, &p->ops[i]))
            continue;
        uint32_t before = n, k = of[i - first] = find_position(c, &p->ops[i], &at, &index, &n);
        if (k == RLT_NONE)
            rc = rlt_nomem(err);
        else {
            if (n > before)
                list[k] = (position){0, 0};
            list[k].sum += (double)p->ops[i].duration_ps;
            list[k].n++;
        }
    }
    for (uint32_t i = first; i < p->rank_first[rank + 1] && !rc; i++)
        if (varies(c, &p->ops[i]) && list[of[i - first]].n > 1)
            r->mean[i] = list[of[i - first]].sum / list[of[i - first]].n;
    rlt_map_free(&at);
    rlt_map_free(&index);
    return rc;
}

/* Gathers the ratios by name, in the order of operations. */
static void gather(chosen *c, ratios *r)
{
    const rlt_program *p = c->p;
    for (uint32_t i = 0; i < p->n_ops; i++)
        r->first[name_of(c, &p->ops[i]) + 1] += r->mean[i] > 0;
    for (uint32_t k = 0; k < c->n_names; k++)
        r->first[k + 1] += r->first[k];
    for (uint32_t i = 0; i < p->n_ops; i++) {
        uint32_t k = name_of(c, &p->ops[i]);
        if (r->mean[i] > 0)
            r->list[r->first[k] + r->filled[k]++] = (double)p->ops[i].duration_ps / r->mean[i];
    }
}

static int measure(chosen *c, ratios *r, rlt_error *err)
{
    const rlt_program *p = c->p;
    uint32_t most = 0;
    for (uint32_t k = 0; k < p->n_ranks; k++)
        if (p->rank_first[k + 1] - p->rank_first[k] > most)
            most = p->rank_first[k + 1] - p->rank_first[k];
    position *list = malloc(((size_t)most + 1) * sizeof *list);
    uint32_t *of = malloc(((size_t)most + 1) * sizeof *of);
    int rc = list && of ? 0 : rlt_nomem(err);
    for (uint32_t k = 0; k < p->n_ranks && !rc; k++)
        rc = find_means(c, k, list, of, r, err);
    free(list);
    free(of);
    if (!rc)
        gather(c, r);
    return rc;
}

/* Multiplies the factors of the operations that were measured in several steps. */
static int draw_measured(chosen *c, uint64_t seed, uint32_t purpose, double *factors, rlt_error *err)
{
    const rlt_program *p = c->p;
    if (p->n_steps < 2)
        return rlt_fail(err, RLT_EUSAGE, "noise",
                        "measured needs several recorded steps, but the workload has one");
    ratios r = {calloc((size_t)p->n_ops + 1, sizeof *r.mean), malloc(((size_t)p->n_ops + 1) * sizeof *r.list),
                calloc((size_t)c->n_names + 1, sizeof *r.first), calloc(c->n_names, sizeof *r.filled)};
    int rc = r.mean && r.list && r.first && r.filled ? measure(c, &r, err) : rlt_nomem(err);
    for (uint32_t i = 0; i < p->n_ops && !rc; i++) {
        const rlt_op *op = &p->ops[i];
        uint32_t k = name_of(c, op);
        if (r.mean[i] <= 0 || op->duration_ps <= 0)
            continue;
        uint64_t pick = rlt_random_below(seed, op->rank, purpose, i - p->rank_first[op->rank], r.filled[k]);
        factors[i] *= r.list[r.first[k] + pick] * r.mean[i] / (double)op->duration_ps;
    }
    free(r.mean);
    free(r.list);
    free(r.first);
    free(r.filled);
    return rc;
}

static int draw(chosen *c, uint64_t seed, uint32_t purpose, double *factors, rlt_error *err)
{
    const rlt_program *p = c->p;
    bool any = false;
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const rlt_op *op = &p->ops[i];
        if (!varies(c, op))
            continue;
        any = true;
        if (c->noise->kind == RLT_NOISE_OPERATION)
            factors[i] *=
                rlt_random_lognormal(seed, op->rank, purpose, i - p->rank_first[op->rank], c->noise->cv);
    }
    if (!any)
        return rlt_fail(err, RLT_EUSAGE, "noise", "no operation that could vary has '%s' in its name",
                        c->noise->name);
    return c->noise->kind == RLT_NOISE_MEASURED ? draw_measured(c, seed, purpose, factors, err) : 0;
}

int rlt__replay_noise_ops(rlt_replay *r, rlt_error *err)
{
    const rlt_program *p = r->program;
    const rlt_replay_options *o = &r->options;
    uint32_t names = 1; /* one for operations without a name */
    int rc = 0;
    for (uint32_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].name != RLT_NONE && p->ops[i].name + 2 > names)
            names = p->ops[i].name + 2;
    for (uint32_t i = 0; i < o->n_noise && !rc; i++) {
        if (!rlt_noise_by_operation(&o->noise[i]))
            continue;
        chosen c = {p, &o->noise[i], calloc(names, 1), names};
        if (!r->op_noise && (r->op_noise = malloc(((size_t)p->n_ops + 1) * sizeof *r->op_noise)))
            for (uint32_t k = 0; k < p->n_ops; k++)
                r->op_noise[k] = 1;
        rc = c.known && r->op_noise ? draw(&c, o->seed, PURPOSE + i, r->op_noise, err) : rlt_nomem(err);
        free(c.known);
    }
    return rc;
}
