/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * An iteration of a designed network, event by event. A collective of a group meets no other group on its
 * way, so that the network of one group, with the links that it can use, stands for all of them.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/executor.h"
#include "sim/mem.h"
#include "workload/design_internal.h"

enum { MAX_DISTINCT = 4096, MAX_REFINED = 1 << 20 };

typedef struct known {
    rlt_coll_kind kind;
    rlt_design_over over;
    uint64_t bytes;
    rlt_time time_ps;
    double sent[RLT_MAX_DIMS]; /* of an accelerator */
} known;

typedef struct running {
    const rlt_design_net *net;
    const rlt_design_work *work;
    const rlt_design_loop *loop;
    const rlt_design_how *how;
    const double *bw;
    rlt_design_run *run;
    rlt__design_groups groups;
    known *known;
    uint32_t n_known, room;
} running;

/* ---- one collective ---- */

/* The links of one group in a dimension. Of a fully connected dimension it has those between its members; in
 * a part of a ring, consecutive members, it has the line between them; members further apart share each link
 * with the groups in between. */
static int write_dim(const running *r, uint32_t i, uint32_t g, bool consecutive, char *text, size_t size,
                     rlt_error *err)
{
    const rlt_design_dim *d = &r->net->dims[i];
    uint32_t n = d->size;
    double bw = r->bw[i], apart = 1;
    bool switched = r->how->all_switches || d->block == RLT_BLOCK_SWITCH;
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
        return rlt_fail(err, RLT_ERANGE, "design", "dimension %u gets %g B/s: not within 1 B/s to 1 PB/s",
                        i + 1, bw);
    int used = snprintf(text, size, "%s:%u@%" PRIu64 "B/s,%" PRId64 "ps%s", shape, g, (uint64_t)llround(bw),
                        (rlt_time)((double)d->latency_ps * apart),
                        d->in_network ? ",in_network=reduce+multicast" : "");
    return used > 0 && (size_t)used < size ? 0 : rlt_fail(err, RLT_ERANGE, "design", "too many dimensions");
}

typedef struct small {
    rlt_topology *topology;
    rlt_placement placement;
    rlt_group group;
    rlt_router *router;
    rlt_sim *sim;
    rlt_exec *exec;
    rlt_plan plan;
    rlt_fold fold;
    bool folded, done;
    uint32_t axis[RLT_MAX_DIMS]; /* of the whole network, by dimension of this one */
} small;

static void note_end(void *ctx, uint64_t cookie)
{
    (void)cookie;
    ((small *)ctx)->done = true;
}

static int open_small(small *s, const running *r, rlt_design_over over, rlt_error *err)
{
    const rlt_design_group *g = &r->groups.of[over];
    char spec[1024] = "";
    uint32_t n = 0;
    int rc = 0;
    for (uint32_t i = 0; i < r->net->n && !rc; i++) {
        size_t at = strlen(spec);
        if (g->size[i] == 1)
            continue;
        if (n)
            spec[at++] = '*';
        rc = write_dim(r, i, g->size[i], over != RLT_DESIGN_DATA, spec + at, sizeof spec - at, err);
        s->axis[n++] = i;
    }
    if (rc || (rc = rlt_topology_load(spec, NULL, &s->topology, err)))
        return rc;
    uint32_t ranks = rlt_topology_accelerators(s->topology);
    if ((rc = rlt_placement_identity(s->topology, ranks, &s->placement, err)) ||
        (rc = rlt_group_create(s->topology, &s->placement, NULL, ranks, &s->group, err)) ||
        (rc = rlt_router_create(s->topology, &s->placement, RLT_ROUTE_DMODK, &s->router, err)))
        return rc;
    return rlt_sim_create(&s->sim, err);
}

static uint32_t chunks_of(const rlt_design_how *how, uint64_t bytes)
{
    uint64_t chunks = bytes / RLT_DESIGN_CHUNK_BYTES;
    if (how->chunks)
        return how->chunks;
    return chunks > RLT_DESIGN_CHUNKS ? RLT_DESIGN_CHUNKS : chunks ? (uint32_t)chunks : 1;
}

static int plan_small(small *s, const running *r, const known *k, rlt_error *err)
{
    rlt_coll_request req = rlt_group_request(&s->group, k->kind, k->bytes);
    rlt_fold_options folding = {.blocking = r->how->endpoint.injection == RLT_INJECT_BLOCKING,
                                .max_messages = MAX_REFINED};
    rlt_error why = {0};
    req.chunks = chunks_of(r->how, k->bytes);
    for (uint32_t i = 0; i < req.n_dims; i++)
        if (k->kind == RLT_ALL_REDUCE && r->net->dims[s->axis[req.axes[i]]].in_network)
            req.patterns[i] = "nvls";
        else if (strcmp(req.shapes[i], "switch") == 0 && (req.dims[i] & (req.dims[i] - 1)) == 0)
            req.patterns[i] = "halving_doubling";
    /* Whole blocks fold. */
    uint64_t whole = (uint64_t)req.n * req.chunks;
    if (req.bytes % whole)
        req.bytes += whole - req.bytes % whole;
    int rc = rlt_plan_create(&rlt_hierarchical, &req, &s->plan, err);
    if (rc)
        return rc;
    rc = rlt_fold_create(&s->plan, s->router, &folding, &s->fold, &why);
    s->folded = rc == 0;
    return rc == RLT_EUNSUPPORTED ? 0 : rc ? rlt_fail(err, rc, why.where, "%s", why.what) : 0;
}

/* Bytes that left an accelerator, by dimension of the whole network. */
static void count_sent(const small *s, double sent[RLT_MAX_DIMS])
{
    const rlt_topology *t = s->topology;
    const rlt_usage *u = rlt_exec_net(s->exec)->usage;
    uint32_t n = s->folded ? s->fold.net.n_classes : rlt_topology_links(t),
             ranks = rlt_topology_accelerators(t);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t id = s->folded ? s->fold.net.link[i] : i;
        rlt_link l = rlt_topology_link(t, id);
        if (l.src < ranks)
            sent[s->axis[l.dim]] +=
                (double)rlt_usage_link(u, id).bytes * (s->folded ? s->fold.net.size[i] : 1) / (double)ranks;
    }
}

static void close_small(small *s)
{
    rlt_exec_free(s->exec);
    rlt_fold_free(&s->fold);
    rlt_plan_free(&s->plan);
    rlt_sim_free(s->sim);
    rlt_router_free(s->router);
    rlt_group_free(&s->group);
    rlt_placement_free(&s->placement);
    rlt_topology_free(s->topology);
}

static int simulate(const running *r, known *k, rlt_error *err)
{
    small s = {0};
    rlt_exec_client client = {.ctx = &s, .done = note_end};
    int rc = open_small(&s, r, k->over, err);
    if (!rc)
        rc = plan_small(&s, r, k, err);
    rlt_net_config cfg = {.sim = s.sim,
                          .router = s.router,
                          .endpoint = r->how->endpoint,
                          .bandwidth_scale = 1,
                          .latency_scale = 1,
                          .fold = s.folded ? &s.fold.net : NULL};
    if (!rc)
        rc = rlt_exec_create(&rlt_net_flow, &cfg, &s.exec, err);
    if (rc)
        goto out;
    uint32_t id = rlt_exec_add_folded(s.exec, &s.plan, s.folded ? &s.fold : NULL, &client, 0, 0);
    if (id != RLT_NONE)
        rlt_exec_arrive_all(s.exec, id);
    rc = rlt_sim_run(s.sim, RLT_TIME_MAX, err);
    if (!rc && !s.done)
        rc = rlt_fail(err, RLT_ESTALL, rlt_coll_name(k->kind), "ended with work pending");
    if (!rc) {
        k->time_ps = rlt_sim_now(s.sim);
        rlt_net_settle(rlt_exec_net(s.exec));
        count_sent(&s, k->sent);
        r->run->events += rlt_sim_events(s.sim);
    }
out:
    close_small(&s);
    return rc;
}

/* ---- the iteration ---- */

/* NULL in *out: sends nothing. */
static int find(running *r, const rlt_design_comm *c, const known **out, rlt_error *err)
{
    const rlt_design_group *g = &r->groups.of[c->over];
    known k = {.kind = c->kind, .over = c->over, .bytes = (uint64_t)llround(c->bytes)};
    uint32_t members = 1;
    int rc = 0;
    *out = NULL;
    for (uint32_t i = 0; i < r->net->n; i++)
        members *= g->size[i];
    if (!c->any || members == 1 || k.bytes == 0)
        return 0;
    for (uint32_t i = 0; i < r->n_known; i++)
        if (r->known[i].kind == k.kind && r->known[i].over == k.over && r->known[i].bytes == k.bytes) {
            *out = &r->known[i];
            return 0;
        }
    if ((rc = simulate(r, &k, err)) ||
        (rc = rlt_grow(&r->known, &r->room, sizeof *r->known, (uint64_t)r->n_known + 1, MAX_DISTINCT,
                       "collectives that differ", err)))
        return rc;
    r->known[r->n_known] = k;
    *out = &r->known[r->n_known++];
    r->run->collectives++;
    return 0;
}

typedef struct building {
    running *r;
    rlt_builder *b;
    uint32_t last; /* what the next compute follows */
    int rc;
    rlt_error *err;
} building;

static uint32_t add_op(building *g, rlt_op_kind kind, double seconds, rlt_time ps, uint32_t after)
{
    rlt_op_desc d = rlt_op_desc_init(kind, 0);
    d.duration_ps = ps + (rlt_time)llround(seconds * 1e12);
    uint32_t op = rlt_build_op(g->b, &d);
    if (after != RLT_NONE)
        rlt_build_dep(g->b, op, after);
    return op;
}

static uint32_t compute(building *g, double seconds, uint32_t after)
{
    seconds *= g->r->loop->compute_scale;
    g->r->run->compute_ps += (rlt_time)llround(seconds * 1e12);
    return seconds > 0 ? add_op(g, RLT_OP_COMPUTE, seconds, 0, after) : after;
}

static uint32_t communicate(building *g, const rlt_design_comm *c, double times, uint32_t after)
{
    const known *k = NULL;
    if (!g->rc)
        g->rc = find(g->r, c, &k, g->err);
    if (g->rc || !k)
        return after;
    for (uint32_t i = 0; i < g->r->net->n; i++)
        g->r->run->utilization[i] += k->sent[i] * times;
    return add_op(g, RLT_OP_DELAY, 0, (rlt_time)llround((double)k->time_ps * times), after);
}

static void backward(building *g, const rlt_design_layer *l)
{
    uint32_t inputs = compute(g, l->compute_s[1], g->last), weights;
    if (!g->r->loop->overlap) {
        inputs = communicate(g, &l->comm[1], 1, inputs);
        g->last = communicate(g, &l->comm[2], 1, compute(g, l->compute_s[2], inputs));
        return;
    }
    weights = communicate(g, &l->comm[2], 1, compute(g, l->compute_s[2], inputs));
    g->last = communicate(g, &l->comm[1], 1, inputs);
    if (weights != g->last) {
        uint32_t both = add_op(g, RLT_OP_DELAY, 0, 0, weights);
        if (g->last != RLT_NONE)
            rlt_build_dep(g->b, both, g->last);
        g->last = both;
    }
}

static int build(running *r, rlt_program **out, rlt_error *err)
{
    building g = {.r = r, .last = RLT_NONE, .err = err};
    int rc = rlt_builder_create(1, &g.b, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < r->work->n && !g.rc; i++) {
        const rlt_design_layer *l = &r->work->layers[i];
        g.last = compute(&g, l->compute_s[0] * r->loop->forward_compute, g.last);
        g.last = communicate(&g, &l->comm[0], r->loop->forward_passes, g.last);
    }
    for (uint32_t i = r->work->n; i-- > 0 && !g.rc;)
        backward(&g, &r->work->layers[i]);
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
    running r = {.net = net, .work = w, .loop = loop, .how = how, .bw = bw, .run = out};
    rlt_program *p = NULL;
    *out = (rlt_design_run){0};
    int rc = rlt__design_groups_of(net, w, &r.groups, err);
    if (!rc && !(rc = build(&r, &p, err)))
        rc = replay(&r, p, err);
    for (uint32_t i = 0; i < net->n && !rc; i++)
        out->utilization[i] = out->time_ps ? out->utilization[i] / (bw[i] * (double)out->time_ps * 1e-12) : 0;
    rlt_program_free(p);
    free(r.known);
    return rc;
}
