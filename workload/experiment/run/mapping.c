/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Maps the axes of a layout to the dimensions of a topology. Pinned (--map): each axis has dimensions, and
 * its groups use only links of these. Chosen (order=auto): every order of the axes is simulated, and the
 * fastest wins. Axes of size 1 change nothing, so at most 24 orders differ.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "sim/watch.h"
#include "workload/experiment/run/mapping.h"
#include "workload/experiment/run/run.h"
#include "workload/models/accelerator.h"
#include "workload/plan/plan.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"
#include "workload/training/training.h"

/* Up to this many ranks times microbatches, orders are simulated whole; beyond it, folded. */
enum { WHOLE = 2048 };

/* ---- pinned ---- */

typedef struct pins {
    uint32_t dim[RLT_AXES_OF_LAYOUT];      /* dimension of each axis, or RLT_NONE */
    uint32_t given[RLT_AXES_OF_LAYOUT], n; /* axes in the order named */
    const rlt_topology *topology;
} pins;

static int read_pin(const rlt_param *row, void *into, const char *value, const char *where, rlt_error *err)
{
    pins *p = into;
    uint64_t d;
    int rc = rlt_parse_count(value, &d, where, err);
    if (rc)
        return rc;
    if (d >= rlt_topology_dims(p->topology))
        return rlt_fail(err, RLT_EUSAGE, where, "%s has dimensions 0 to %u, not %s",
                        rlt_topology_name(p->topology), rlt_topology_dims(p->topology) - 1, value);
    uint32_t axis = (uint32_t)((row->offset - offsetof(pins, dim)) / sizeof *p->dim);
    p->dim[axis] = (uint32_t)d;
    p->given[p->n++] = axis;
    return 0;
}

#define PIN(axis)                                                                                            \
    .kind = RLT_PARAM_OTHER, .read = read_pin, .arg = "number of a dimension, from 0 (innermost)",           \
    RLT_FIELD(pins, dim[axis])
static const rlt_param parameters[] = {{"tp", PIN(RLT_AXIS_TP), .help = "dimension of tensor parallelism"},
                                       {"cp", PIN(RLT_AXIS_CP), .help = "dimension of context parallelism"},
                                       {"dp", PIN(RLT_AXIS_DP), .help = "dimension of data parallelism"},
                                       {"pp", PIN(RLT_AXIS_PP), .help = "dimension of pipeline stages"},
                                       {0}};

const rlt_param *rlt_mapping_parameters(void)
{
    return parameters;
}

/* Reads "tp=0,dp=1,pp=1": dimensions of the axes. Among axes of one dimension the first is the innermost. */
static int read_pins(const char *map, const rlt_topology *t, rlt_training *tr, pins *p, rlt_error *err)
{
    *p = (pins){.topology = t};
    memset(p->dim, 0xff, sizeof p->dim);
    int rc = rlt_params_set_list(parameters, "a mapping", p, map, err);
    uint32_t n = p->n, *given = p->given;
    if (rc) {
        if (err)
            err->code = RLT_EUSAGE;
        return RLT_EUSAGE;
    }
    if (p->dim[RLT_AXIS_DP] == RLT_NONE && tr->size[RLT_AXIS_DP] == 0)
        tr->size[RLT_AXIS_DP] = 1;
    for (uint32_t a = 0; a < RLT_AXES_OF_LAYOUT; a++) {
        if (p->dim[a] != RLT_NONE)
            continue;
        if (tr->size[a] > 1)
            return rlt_fail(err, RLT_EUSAGE, rlt_axis_name((rlt_axis)a),
                            "has no dimension: expected one for each axis above 1");
        given[n++] = a;
    }
    uint32_t k = 0;
    for (uint32_t d = 0; d <= RLT_MAX_DIMS; d++)
        for (uint32_t i = 0; i < n; i++)
            if (d == RLT_MAX_DIMS ? p->dim[given[i]] == RLT_NONE : p->dim[given[i]] == d)
                tr->order[k++] = (rlt_axis)given[i];
    return 0;
}

/* Checks the sizes. Data parallelism without a size takes the rest of its dimension. */
static int check_pins(const rlt_topology *t, rlt_training *tr, const pins *p, rlt_error *err)
{
    for (uint32_t d = 0; d < rlt_topology_dims(t); d++) {
        uint32_t size = rlt_topology_dim(t, d).size;
        uint64_t used = 1;
        for (uint32_t i = 0; i < RLT_AXES_OF_LAYOUT; i++) {
            rlt_axis a = tr->order[i];
            if (p->dim[a] != d || (a == RLT_AXIS_DP && tr->size[a] == 0))
                continue;
            if (used * tr->size[a] > size)
                return used == 1
                           ? rlt_fail(err, RLT_EUSAGE, NULL, "%s %u does not fit dimension %u of size %u",
                                      rlt_axis_name(a), tr->size[a], d, size)
                           : rlt_fail(err, RLT_EUSAGE, NULL,
                                      "%s %u does not fit the rest of dimension %u (size %u): %llu are left",
                                      rlt_axis_name(a), tr->size[a], d, size,
                                      (unsigned long long)(size / used));
            used *= tr->size[a];
        }
        if (p->dim[RLT_AXIS_DP] == d && tr->size[RLT_AXIS_DP] == 0)
            tr->size[RLT_AXIS_DP] = (uint32_t)(size / used);
    }
    return 0;
}

static uint32_t accelerator_of(const rlt_topology *t, const rlt_training *tr, const pins *p, uint32_t rank)
{
    uint32_t at[RLT_AXES_OF_LAYOUT], stride = 1, accelerator = 0;
    rlt_training_place(tr, rank, at);
    for (uint32_t d = 0; d < rlt_topology_dims(t); d++) {
        uint32_t inside = stride;
        for (uint32_t i = 0; i < RLT_AXES_OF_LAYOUT; i++)
            if (p->dim[tr->order[i]] == d) {
                accelerator += at[tr->order[i]] * inside;
                inside *= tr->size[tr->order[i]];
            }
        stride *= rlt_topology_dim(t, d).size;
    }
    return accelerator;
}

int rlt_mapping_pin(const char *map, const rlt_topology *t, rlt_training *tr, rlt_placement *where,
                    rlt_error *err)
{
    pins p;
    int rc = read_pins(map, t, tr, &p, err);
    if (!rc)
        rc = check_pins(t, tr, &p, err);
    if (rc) {
        rlt_error_prefix(err, "--map");
        return rc;
    }
    uint32_t n = rlt_training_ranks(tr);
    *where = (rlt_placement){.n = n, .accelerator = malloc(n * sizeof(uint32_t))};
    if (!where->accelerator)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < n; i++)
        where->accelerator[i] = accelerator_of(t, tr, &p, i);
    return 0;
}

/* ---- chosen ---- */

typedef struct search {
    const rlt_training *training;
    const rlt_replay_options *how;
    const rlt_watch *watch;
    rlt_mapping *found;
} search;

static int try_order(const search *s, const rlt_axis *order, rlt_error *err)
{
    rlt_mapping *m = s->found;
    rlt_training t = *s->training;
    rlt_tried_order next;
    uint32_t at = m->n;
    for (uint32_t i = 0; i < m->n; i++)
        if (rlt_layout_same_order(&t, order, m->tried[i].order))
            return 0;
    t.steps = 1;
    memcpy(t.order, order, sizeof t.order);
    memcpy(next.order, order, sizeof next.order);
    int rc = rlt_layout_simulate(&t, s->how, m->folded, NULL, s->watch, &next.time_ps, err);
    if (rc)
        return rc;
    for (; at > 0 && m->tried[at - 1].time_ps > next.time_ps; at--)
        m->tried[at] = m->tried[at - 1];
    m->tried[at] = next;
    m->n++;
    return 0;
}

/* Tries all orders in a fixed sequence that begins with the default one. Among equals the first wins. */
static int try_all(const search *s, rlt_axis *order, uint32_t n, uint32_t used, rlt_error *err)
{
    int rc = n == RLT_AXES_OF_LAYOUT ? try_order(s, order, err) : 0;
    for (uint32_t a = 0; a < RLT_AXES_OF_LAYOUT && n < RLT_AXES_OF_LAYOUT && !rc; a++)
        if (!(used >> a & 1)) {
            order[n] = (rlt_axis)a;
            rc = try_all(s, order, n + 1, used | 1u << a, err);
        }
    return rc;
}

int rlt_mapping_choose(rlt_training *t, const rlt_replay_options *how, bool folded, const rlt_watch *watch,
                       rlt_mapping *m, rlt_error *err)
{
    rlt_axis order[RLT_AXES_OF_LAYOUT];
    uint64_t work = (uint64_t)rlt_training_ranks(t) * rlt_training_microbatches(t);
    *m = (rlt_mapping){.folded = folded || work > WHOLE};
    int rc = try_all(&(search){t, how, watch, m}, order, 0, 0, err);
    if (rc) {
        rlt_error_prefix(err, "order=auto");
        return rc;
    }
    memcpy(t->order, m->tried[0].order, sizeof t->order);
    return 0;
}

int rlt_mapping_options(rlt_run *r, const rlt_accelerator *a, rlt_error *err)
{
    const rlt_run_settings *s = r->settings;
    int rc = rlt_run_network(r, err);
    r->options.host_scale = s->host_scale;
    r->options.compute_scale = s->compute_scale;
    r->options.overlap_slowdown =
        rlt_given(r->args, "overlap-slowdown") ? s->overlap_slowdown : a->overlap_slowdown;
    return rc;
}
