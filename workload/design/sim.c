/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Simulates an iteration of a designed network. The loops join everything at the end of each layer, where the
 * network is empty. The time of a layer then depends on no other layer, so equal layers and equal collectives
 * are simulated once.
 */
#include <math.h>
#include <stdlib.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "workload/design/design.h"
#include "workload/design/internal.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

enum { MAX_DISTINCT = 4096 };

/* Result of one collective, or of two, the second of which begins later. */
typedef struct known {
    rlt__design_coll colls[2];
    uint32_t n;
    rlt_time time_ps;
    double sent[RLT_MAX_DIMS]; /* by dimension, per accelerator */
} known;

typedef struct running {
    rlt__design_place place;
    const rlt_design_loop *loop;
    rlt_design_run *run;
    known *known;
    uint32_t n_known, room;
} running;

/* ---- collectives ---- */

static bool same(const rlt__design_coll *a, const rlt__design_coll *b)
{
    return a->kind == b->kind && a->over == b->over && a->bytes == b->bytes && a->start_ps == b->start_ps;
}

static int find(running *r, const rlt__design_coll *colls, uint32_t n, known *out, rlt_error *err)
{
    for (uint32_t i = 0; i < r->n_known; i++)
        if (r->known[i].n == n && same(&r->known[i].colls[0], &colls[0]) &&
            (n == 1 || same(&r->known[i].colls[1], &colls[1]))) {
            *out = r->known[i];
            return 0;
        }
    *out = (known){.colls = {colls[0]}, .n = n};
    if (n > 1)
        out->colls[1] = colls[1];
    int rc = rlt__design_collectives(&r->place, colls, n, &out->time_ps, out->sent, &r->run->events, err);
    if (rc || (rc = rlt_grow(&r->known, &r->room, sizeof *r->known, (uint64_t)r->n_known + 1, MAX_DISTINCT,
                             "distinct collectives", err)))
        return rc;
    r->known[r->n_known++] = *out;
    r->run->collectives++;
    return 0;
}

/* Makes the collective of a layer. Returns false if it sends nothing. */
static bool coll_of(const running *r, const rlt_design_comm *c, rlt__design_coll *out)
{
    const rlt_design_group *g = &r->place.groups.of[c->over];
    uint32_t members = 1;
    for (uint32_t i = 0; i < r->place.net->n; i++)
        members *= g->size[i];
    *out = (rlt__design_coll){.kind = c->kind, .over = c->over, .bytes = (uint64_t)llround(c->bytes)};
    return c->any && members > 1 && out->bytes > 0;
}

/* ---- the iteration ---- */

typedef struct building {
    running *r;
    rlt_builder *b;
    uint32_t last; /* operation that the next compute follows */
    int rc;
    rlt_error *err;
} building;

static uint32_t add_op(building *g, rlt_op_kind kind, rlt_time ps, uint32_t after)
{
    rlt_op_desc d = rlt_op_desc_init(kind, 0);
    d.duration_ps = ps;
    uint32_t op = rlt_build_op(g->b, &d);
    if (after != RLT_NONE)
        rlt_build_dep(g->b, op, after);
    return op;
}

static rlt_time scaled_ps(const building *g, double seconds)
{
    return (rlt_time)llround(seconds * g->r->loop->compute_scale * 1e12);
}

static uint32_t compute(building *g, double seconds, uint32_t after)
{
    rlt_time ps = scaled_ps(g, seconds);
    g->r->run->compute_ps += ps;
    return seconds > 0 ? add_op(g, RLT_OP_COMPUTE, ps, after) : after;
}

static uint32_t pass(building *g, const known *k, double times, uint32_t after)
{
    for (uint32_t i = 0; i < g->r->place.net->n; i++)
        g->r->run->utilization[i] += k->sent[i] * times;
    return add_op(g, RLT_OP_DELAY, (rlt_time)llround((double)k->time_ps * times), after);
}

static uint32_t communicate(building *g, const rlt_design_comm *c, double times, uint32_t after)
{
    rlt__design_coll coll;
    known k;
    if (g->rc || !coll_of(g->r, c, &coll))
        return after;
    g->rc = find(g->r, &coll, 1, &k, g->err);
    return g->rc ? after : pass(g, &k, times, after);
}

/* Returns true if the collectives of a layer's gradients use the same links at the same time. *out is then
 * their joint result. */
static bool contend(building *g, const rlt_design_layer *l, known *out)
{
    rlt__design_coll colls[2];
    if (g->rc || !coll_of(g->r, &l->comm[1], &colls[0]) || !coll_of(g->r, &l->comm[2], &colls[1]))
        return false;
    rlt__design_meeting m = rlt__design_meet(&g->r->place, colls[0].over, colls[1].over);
    if (m == RLT__DESIGN_APART)
        return false;
    g->rc = find(g->r, &colls[0], 1, out, g->err);
    colls[1].start_ps = scaled_ps(g, l->compute_s[2]);
    if (g->rc || out->time_ps <= colls[1].start_ps)
        return false;
    if (m == RLT__DESIGN_MIXED) {
        g->r->run->composed++;
        return false;
    }
    g->r->run->contending++;
    g->rc = find(g->r, colls, 2, out, g->err);
    return !g->rc;
}

static uint32_t join(building *g, uint32_t a, uint32_t b)
{
    if (a == b)
        return a;
    uint32_t both = add_op(g, RLT_OP_DELAY, 0, a);
    if (b != RLT_NONE)
        rlt_build_dep(g->b, both, b);
    return both;
}

static void backward(building *g, const rlt_design_layer *l)
{
    uint32_t inputs = compute(g, l->compute_s[1], g->last), weights;
    known both;
    if (!g->r->loop->overlap) {
        inputs = communicate(g, &l->comm[1], 1, inputs);
        g->last = communicate(g, &l->comm[2], 1, compute(g, l->compute_s[2], inputs));
    } else if (contend(g, l, &both)) {
        compute(g, l->compute_s[2], inputs);
        g->last = pass(g, &both, 1, inputs);
    } else {
        weights = communicate(g, &l->comm[2], 1, compute(g, l->compute_s[2], inputs));
        g->last = join(g, weights, communicate(g, &l->comm[1], 1, inputs));
    }
}

static int build(running *r, rlt_program **out, rlt_error *err)
{
    building g = {.r = r, .last = RLT_NONE, .err = err};
    int rc = rlt_builder_create(1, &g.b, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < r->place.work->n && !g.rc; i++) {
        const rlt_design_layer *l = &r->place.work->layers[i];
        g.last = compute(&g, l->compute_s[0] * r->loop->forward_compute, g.last);
        g.last = communicate(&g, &l->comm[0], r->loop->forward_passes, g.last);
    }
    for (uint32_t i = r->place.work->n; i-- > 0 && !g.rc;)
        backward(&g, &r->place.work->layers[i]);
    if (g.rc) {
        rlt_builder_free(g.b);
        return g.rc;
    }
    return rlt_builder_finish(g.b, "design", out, err);
}

static int replay(running *r, const rlt_program *p, rlt_error *err)
{
    rlt_replay_options o = rlt_replay_options_default();
    rlt_topology *one = NULL;
    rlt_replay *x = NULL;
    int rc = rlt_topology_load("switch:2@1GB/s,0ns", NULL, &one, err);
    o.topology = one;
    if (!rc && !(rc = rlt_replay_create(p, &o, &x, err)) && !(rc = rlt_replay_run(x, err))) {
        r->run->time_ps = rlt_replay_time(x);
        r->run->events += rlt_sim_events(rlt_replay_sim(x));
    }
    rlt_replay_free(x);
    rlt_topology_free(one);
    return rc;
}

int rlt_design_simulate(const rlt_design_net *net, const rlt_design_work *w, const rlt_design_loop *loop,
                        const double bw[RLT_MAX_DIMS], const rlt_design_how *how, rlt_design_run *out,
                        rlt_error *err)
{
    running r = {.place = {.net = net, .work = w, .how = how, .bw = bw}, .loop = loop, .run = out};
    rlt_program *p = NULL;
    *out = (rlt_design_run){0};
    int rc = rlt__design_groups_of(net, w, &r.place.groups, err);
    if (!rc && !(rc = build(&r, &p, err)))
        rc = replay(&r, p, err);
    for (uint32_t i = 0; i < net->n && !rc; i++)
        out->utilization[i] = out->time_ps ? out->utilization[i] / (bw[i] * (double)out->time_ps * 1e-12) : 0;
    rlt_program_free(p);
    free(r.known);
    return rc;
}
