/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Simulates collectives of a designed network. A collective alone meets no other group, so a network of one
 * group with the links that it can use represents all groups. Two collectives at once over different groups
 * run on the whole network. There all accelerators are alike: one of each collective is simulated, and
 * represents those that begin at all other accelerators.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/fold.h"
#include "collectives/plan.h"
#include "net/endpoint/endpoint.h"
#include "net/fold.h"
#include "net/import/import.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "workload/design/design.h"
#include "workload/design/internal.h"

enum { AT_MOST_PERCENT = 100, AT_ONCE = 2 };

/* ---- the network ---- */

static bool is_switch(const rlt__design_place *p, uint32_t i)
{
    return p->how->all_switches || p->net->dims[i].block == RLT_BLOCK_SWITCH;
}

/* Writes the links of one group of g members in a dimension. In a fully connected dimension these are the
 * links between its members. Consecutive members of a part of a ring have the line between them. Members
 * further apart share each link with the groups in between. */
static int write_dim(const rlt__design_place *p, uint32_t i, uint32_t g, bool consecutive, char *text,
                     size_t size, rlt_error *err)
{
    const rlt_design_dim *d = &p->net->dims[i];
    uint32_t n = d->size;
    double bw = p->bw[i], apart = 1;
    bool switched = is_switch(p, i);
    const char *shape = switched ? "switch" : rlt_block_name(d->block);
    if (!switched && d->block == RLT_BLOCK_FULL)
        bw *= (g - 1.) / (n - 1.);
    else if (!switched && g < n && consecutive)
        shape = "mesh";
    else if (!switched && g < n)
        bw /= apart = (double)n / g;
    if (g == 2 && strcmp(shape, "ring") == 0)
        shape = "fully-connected"; /* a pair sends both ways round at once */
    if (!(bw >= 1 && bw <= 1e15))
        return rlt_fail(err, RLT_ERANGE, "design", "dimension %u gets %g B/s: expected 1 B/s to 1 PB/s",
                        i + 1, bw);
    int used = snprintf(text, size, "%s:%u@%" PRIu64 "B/s,%" PRId64 "ps%s", shape, g, (uint64_t)llround(bw),
                        (rlt_time)((double)d->latency_ps * apart),
                        d->in_network ? ",in_network=reduce+multicast" : "");
    return used > 0 && (size_t)used < size
               ? 0
               : rlt_fail(err, RLT_ERANGE, "design", "the network has too many dimensions to describe");
}

/* Returns how two collectives meet. Any two groups of a switch share its ports. In a fully connected
 * dimension, groups inside a part and groups across parts have links of their own. A collective over
 * everything loads the links of a part of a ring or fully connected dimension more than other links. */
rlt__design_meeting rlt__design_meet(const rlt__design_place *p, rlt_design_over a, rlt_design_over b)
{
    rlt__design_meeting m = RLT__DESIGN_APART;
    if (a == b)
        return RLT__DESIGN_ONE_NET;
    for (uint32_t i = 0; i < p->net->n; i++) {
        uint32_t n = p->net->dims[i].size, x = p->groups.of[a].size[i], y = p->groups.of[b].size[i];
        if (x == 1 || y == 1)
            continue;
        if (is_switch(p, i) || (x == n && y == n))
            m = RLT__DESIGN_ONE_NET;
        else if (p->net->dims[i].block == RLT_BLOCK_RING || x == n || y == n)
            return RLT__DESIGN_MIXED;
    }
    return m;
}

/* ---- collectives ---- */

typedef struct one {
    rlt__design_coll coll;
    rlt_group group;
    rlt_plan plan;
    rlt_fold fold;
    bool folded;
    uint32_t id;
} one;

typedef struct small {
    const rlt__design_place *p;
    rlt_topology *topology;
    rlt_placement placement;
    rlt_router *router;
    rlt_sim *sim;
    rlt_exec *exec;
    rlt_net_fold joint; /* fold of several collectives */
    const rlt_net_fold *fold;
    one ones[AT_ONCE];
    uint32_t n, ended, n_dims;
    rlt_time end_ps;
    uint32_t size[RLT_MAX_DIMS];
    uint32_t axis[RLT_MAX_DIMS]; /* dimension of the whole network, by dimension of this one */
} small;

/* Loads the network of one group if all are equal, else the whole network. */
static int load_topology(small *s, rlt_error *err)
{
    rlt_design_over over = s->ones[0].coll.over;
    char spec[1024] = "";
    for (uint32_t k = 1; k < s->n; k++)
        over = s->ones[k].coll.over == over ? over : RLT_DESIGN_EVERY;
    const rlt_design_group *g = &s->p->groups.of[over];
    for (uint32_t i = 0; i < s->p->net->n; i++) {
        size_t at = strlen(spec);
        if (g->size[i] == 1)
            continue;
        if (s->n_dims)
            spec[at++] = '*';
        int rc = write_dim(s->p, i, g->size[i], over != RLT_DESIGN_DATA, spec + at, sizeof spec - at, err);
        if (rc)
            return rc;
        s->size[s->n_dims] = g->size[i];
        s->axis[s->n_dims++] = i;
    }
    return rlt_topology_load(spec, NULL, &s->topology, err);
}

/* Makes the group of accelerator 0: consecutive accelerators, or as far apart as model groups are large. */
static int make_group(const small *s, one *o, rlt_error *err)
{
    const rlt_design_work *w = s->p->work;
    uint32_t all = rlt_topology_accelerators(s->topology), n = all, stride = 1;
    if (all == (uint64_t)w->model * w->data && o->coll.over == RLT_DESIGN_MODEL)
        n = w->model;
    if (all == (uint64_t)w->model * w->data && o->coll.over == RLT_DESIGN_DATA) {
        n = w->data;
        stride = w->model;
    }
    if (n == all)
        return rlt_group_create(s->topology, &s->placement, NULL, n, &o->group, err);
    uint32_t *ranks = malloc(n * sizeof *ranks);
    if (!ranks)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < n; i++)
        ranks[i] = i * stride;
    int rc = rlt_group_create(s->topology, &s->placement, ranks, n, &o->group, err);
    free(ranks);
    return rc;
}

static int open_small(small *s, rlt_error *err)
{
    int rc = load_topology(s, err);
    if (rc)
        return rc;
    uint32_t ranks = rlt_topology_accelerators(s->topology);
    rc = rlt_placement_identity(s->topology, ranks, &s->placement, err);
    for (uint32_t k = 0; k < s->n && !rc; k++)
        rc = make_group(s, &s->ones[k], err);
    if (!rc)
        rc = rlt_router_create(s->topology, &s->placement, RLT_ROUTE_DMODK, &s->router, err);
    return rc ? rc : rlt_sim_create(&s->sim, err);
}

static uint32_t chunks_of(const rlt_design_how *how, uint64_t bytes)
{
    uint64_t chunks = bytes / RLT_DESIGN_CHUNK_BYTES;
    if (how->chunks)
        return how->chunks;
    return chunks > RLT_DESIGN_CHUNKS ? RLT_DESIGN_CHUNKS : chunks ? (uint32_t)chunks : 1;
}

static int plan_one(const small *s, one *o, rlt_error *err)
{
    rlt_coll_request req = rlt_group_request(&o->group, o->coll.kind, o->coll.bytes);
    req.params.chunks = chunks_of(s->p->how, o->coll.bytes);
    for (uint32_t i = 0; i < req.n_dims; i++)
        if (o->coll.kind == RLT_ALL_REDUCE && s->p->net->dims[s->axis[req.axes[i]]].in_network)
            req.params.patterns[i] = "nvls";
        else if (strcmp(req.shapes[i], "switch") == 0 && (req.dims[i] & (req.dims[i] - 1)) == 0)
            req.params.patterns[i] = "halving_doubling";
    /* Whole blocks fold. */
    uint64_t whole = (uint64_t)req.n * req.params.chunks;
    if (req.bytes % whole)
        req.bytes += whole - req.bytes % whole;
    return rlt_plan_create(&rlt_hierarchical, &req, &o->plan, err);
}

static int fold_one(small *s, rlt_error *err)
{
    one *o = &s->ones[0];
    rlt_error why = {0};
    rlt_fold_options folding = {.blocking = s->p->how->endpoint.injection == RLT_INJECT_BLOCKING,
                                .percent = AT_MOST_PERCENT};
    int rc = rlt_fold_create(&o->plan, s->router, &folding, &o->fold, &why);
    o->folded = rc == 0;
    s->fold = o->folded ? &o->fold.net : NULL;
    return rc == RLT_EUNSUPPORTED ? 0 : rc ? rlt_fail(err, rc, why.where, "%s", why.what) : 0;
}

/* Folds all accelerators into one: they are alike, with all of their groups. */
static int fold_all(small *s, rlt_error *err)
{
    uint32_t sizes[RLT_MAX_TRANSLATIONS];
    rlt_error why = {0};
    for (uint32_t k = 0; k < s->n; k++)
        if (!s->ones[k].plan.algorithm->symmetry(&s->ones[k].plan, sizes))
            return 0;
    int rc = rlt_net_fold_translations(s->topology, s->size, s->n_dims, &s->joint, &why);
    if (rc == RLT_EUNSUPPORTED)
        return 0; /* a line: its ends differ from the others */
    if (rc)
        return rlt_fail(err, rc, why.where, "%s", why.what);
    s->fold = &s->joint;
    for (uint32_t k = 0; k < s->n; k++) {
        one *o = &s->ones[k];
        o->fold.n_classes = 1;
        o->fold.rep = calloc(1, sizeof *o->fold.rep);
        o->fold.size = malloc(sizeof *o->fold.size);
        if (!o->fold.rep || !o->fold.size)
            return rlt_nomem(err);
        o->fold.size[0] = rlt_topology_accelerators(s->topology);
        o->folded = true;
    }
    return 0;
}

/* ---- the run ---- */

static void note_end(void *ctx, uint64_t cookie)
{
    small *s = ctx;
    (void)cookie;
    s->ended++;
    s->end_ps = rlt_sim_now(s->sim);
}

static void begin(void *ctx, uint64_t which)
{
    small *s = ctx;
    rlt_exec_arrive_all(s->exec, s->ones[which].id);
}

/* Adds up the bytes that left an accelerator, by dimension of the whole network. */
static void count_sent(const small *s, double sent[RLT_MAX_DIMS])
{
    const rlt_topology *t = s->topology;
    const rlt_usage *u = rlt_exec_net(s->exec)->usage;
    uint32_t n = s->fold ? s->fold->n_classes : rlt_topology_links(t), ranks = rlt_topology_accelerators(t);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t id = s->fold ? s->fold->link[i] : i;
        rlt_link l = rlt_topology_link(t, id);
        if (l.src < ranks)
            sent[s->axis[l.dim]] +=
                (double)rlt_usage_link(u, id).bytes * (s->fold ? s->fold->size[i] : 1) / (double)ranks;
    }
}

/* Enters all collectives before any begins: a collective that is alone skips over equal steps. */
static int run_small(small *s, rlt_error *err)
{
    rlt_exec_client client = {.ctx = s, .done = note_end};
    rlt_net_config cfg = {.sim = s->sim,
                          .router = s->router,
                          .endpoint = s->p->how->endpoint,
                          .bandwidth_scale = 1,
                          .latency_scale = 1,
                          .fold = s->fold};
    int rc = rlt_exec_create(&rlt_net_flow, &cfg, &s->exec, err), on_begin = 0;
    if (rc)
        return rc;
    rc = rlt_sim_register(s->sim, s, &(rlt_handler_entry){begin, &on_begin}, 1, err);
    if (rc)
        return rc;
    for (uint32_t k = 0; k < s->n; k++) {
        one *o = &s->ones[k];
        o->id = rlt_exec_add_folded(s->exec, &o->plan, o->folded ? &o->fold : NULL, &client, k, 0);
        if (o->id != RLT_NONE)
            rlt_sim_at(s->sim, o->coll.start_ps, RLT_START, on_begin, k);
    }
    if ((rc = rlt_sim_run(s->sim, RLT_TIME_MAX, err)))
        return rc;
    if (s->ended < s->n)
        return rlt_fail(err, RLT_ESTALL, rlt_coll_name(s->ones[0].coll.kind), "ended with work pending");
    rlt_net_settle(rlt_exec_net(s->exec));
    return 0;
}

static void close_small(small *s)
{
    rlt_exec_free(s->exec);
    for (uint32_t k = 0; k < s->n; k++) {
        rlt_fold_free(&s->ones[k].fold);
        rlt_plan_free(&s->ones[k].plan);
        rlt_group_free(&s->ones[k].group);
    }
    rlt_net_fold_free(&s->joint);
    rlt_sim_free(s->sim);
    rlt_router_free(s->router);
    rlt_placement_free(&s->placement);
    rlt_topology_free(s->topology);
}

int rlt__design_collectives(const rlt__design_place *p, const rlt__design_coll *colls, uint32_t n,
                            rlt_time *end_ps, double sent[RLT_MAX_DIMS], uint64_t *events, rlt_error *err)
{
    small s = {.p = p, .n = n};
    for (uint32_t k = 0; k < n; k++)
        s.ones[k].coll = colls[k];
    int rc = open_small(&s, err);
    for (uint32_t k = 0; k < n && !rc; k++)
        rc = plan_one(&s, &s.ones[k], err);
    if (!rc)
        rc = n == 1 ? fold_one(&s, err) : fold_all(&s, err);
    if (!rc && !(rc = run_small(&s, err))) {
        *end_ps = s.end_ps;
        count_sent(&s, sent);
        *events += rlt_sim_events(s.sim);
    }
    close_small(&s);
    return rc;
}
