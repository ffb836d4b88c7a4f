/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Loaded once, read by all. */
#include "tools/sweep/shared.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/bound.h"
#include "sim/map.h"
#include "sim/mem.h"

enum { KEPT_NETS = 256, KEPT_WORKS = 16, MAX_KEPT = 1 << 20 };

static const char *const of_net[] = {"topology", "link-scale", "placement", NULL};
/* Changing these leaves the workload as it is. */
static const char *const not_of_work[] = {
    "topology",   "link-scale", "placement",     "algorithm",  "compute-scale",
    "host-scale", "rank-scale", "network-scale", "rank-delay", "overlap-slowdown",
    "no-skew",    "until",      "set",           "network",    "routing",
    "injection",  "link-event", "noise",         "seed",       "failures",
    "iterations", NULL};

static bool is_one_of(const char *name, const char *const *names)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

void rlt_option_key(const rlt_option_group *groups, const rlt_option_texts *texts, const char *const *names,
                    bool others, uint64_t key[2])
{
    key[0] = 1;
    key[1] = 2;
    for (uint32_t i = 0; i < texts->n; i++) {
        const rlt_option_text *t = &texts->items[i];
        const char *name = rlt_option_at(groups, t->option, NULL)->name;
        if (names && is_one_of(name, names) == others)
            continue;
        for (int k = 0; k < 2; k++) {
            key[k] = rlt_hash_bytes(name, strlen(name) + 1, key[k]);
            key[k] = rlt_hash_bytes(t->text, strlen(t->text) + 1, key[k]);
        }
    }
}

static void free_net(rlt_shared_net *net)
{
    if (net->placed)
        rlt_placement_free(&net->placement);
    rlt_topology_free(net->topology);
    if (net->primed)
        rlt_map_free(net->primed);
    free(net->primed);
    free(net);
}

static void free_work(rlt_shared_work *work)
{
    rlt_run_close(&work->stem);
    free(work);
}

/* Drops the one that was not in use for longest, where more are kept than should be. */
static void trim_nets(rlt_shared *s)
{
    uint32_t oldest = RLT_NONE;
    for (uint32_t i = 0; i < s->n_nets; i++)
        if (s->nets[i]->refs == 0 && (oldest == RLT_NONE || s->nets[i]->used < s->nets[oldest]->used))
            oldest = i;
    if (s->n_nets < KEPT_NETS || oldest == RLT_NONE)
        return;
    free_net(s->nets[oldest]);
    s->nets[oldest] = s->nets[--s->n_nets];
}

static void trim_works(rlt_shared *s)
{
    uint32_t oldest = RLT_NONE;
    for (uint32_t i = 0; i < s->n_works; i++)
        if (s->works[i]->refs == 0 && (oldest == RLT_NONE || s->works[i]->used < s->works[oldest]->used))
            oldest = i;
    if (s->n_works < KEPT_WORKS || oldest == RLT_NONE)
        return;
    free_work(s->works[oldest]);
    s->works[oldest] = s->works[--s->n_works];
}

static int load_net(rlt_shared *s, const rlt_settings *sim, rlt_shared_net *net, rlt_error *err)
{
    rlt_inputs in = {0};
    if (!sim->topology)
        return rlt_fail(err, RLT_EUSAGE, "--topology", "is required: T");
    int rc = rlt_setup_topology(sim, &net->topology, err);
    if (rc)
        return rc;
    if (sim->topology[0] != '{' && s->note)
        rc = s->note(s->ctx, "topology", sim->topology, rlt_topology_hash(net->topology), err);
    if (rc || !sim->placement)
        return rc;
    if ((rc = rlt_placement_load(sim->placement, net->topology, &net->placement, err)))
        return rc;
    net->placed = true;
    rc = rlt_inputs_add_file(&in, "placement", sim->placement, err);
    return rc || !s->note ? rc : s->note(s->ctx, "placement", sim->placement, in.items[0].hash, err);
}

int rlt_shared_net_of(rlt_shared *s, const rlt_option_group *groups, const rlt_option_texts *texts,
                      rlt_settings *sim, rlt_shared_net **out, rlt_error *err)
{
    uint64_t key[2];
    rlt_shared_net *net = NULL;
    int rc = 0;
    rlt_option_key(groups, texts, of_net, false, key);
    for (uint32_t i = 0; i < s->n_nets && !net; i++)
        if (s->nets[i]->key[0] == key[0] && s->nets[i]->key[1] == key[1])
            net = s->nets[i];
    if (!net) {
        trim_nets(s);
        rc = rlt_grow(&s->nets, &s->nets_capacity, sizeof *s->nets, (uint64_t)s->n_nets + 1, MAX_KEPT,
                      "topologies", err);
        if (rc || !(net = calloc(1, sizeof *net)))
            return rc ? rc : rlt_nomem(err);
        memcpy(net->key, key, sizeof key);
        if ((rc = load_net(s, sim, net, err))) {
            free_net(net);
            return rc;
        }
        s->nets[s->n_nets++] = net;
    }
    net->refs++;
    net->used = ++s->clock;
    sim->loaded = net->topology;
    sim->placed = net->placed ? &net->placement : NULL;
    *out = net;
    return 0;
}

/* Workloads that depend on all of the network, or change what is beside them, are each point's own. */
static bool may_share(const rlt_run_settings *s)
{
    return !s->fold && !s->astra_system && !s->jobs.job.n && !s->jobs.background.n &&
           strcmp(s->timing, "network") == 0;
}

/* What a workload takes from the network: how many ranks there are, and the dimensions' sizes. */
static void add_shape(const rlt_shared_net *net, uint64_t key[2])
{
    uint32_t n[RLT_MAX_DIMS + 2] = {net->placed ? net->placement.n
                                                : rlt_topology_accelerators(net->topology)};
    n[1] = rlt_topology_dims(net->topology);
    for (uint32_t d = 0; d < n[1]; d++)
        n[d + 2] = rlt_topology_dim(net->topology, d).size;
    for (int k = 0; k < 2; k++)
        key[k] = rlt_hash_bytes(n, sizeof n, key[k]);
}

static int load_work(rlt_shared *s, rlt_shared_work *work, rlt_error *err)
{
    rlt_run *r = &work->stem;
    int rc = rlt_run_load(r, err);
    for (uint32_t i = 0; i < r->setup.inputs.n && !rc && s->note; i++)
        if (strcmp(r->setup.inputs.items[i].what, "topology") != 0)
            rc = s->note(s->ctx, r->setup.inputs.items[i].what, r->setup.inputs.items[i].path,
                         r->setup.inputs.items[i].hash, err);
    rlt_setup_free(&r->setup);
    r->args = NULL;
    r->settings = NULL;
    return rc;
}

int rlt_shared_work_of(rlt_shared *s, const rlt_option_texts *texts, const rlt_parsed *parsed,
                       const rlt_run_settings *settings, const rlt_shared_net *net, rlt_shared_work **out,
                       rlt_error *err)
{
    uint64_t key[2];
    rlt_shared_work *work = NULL;
    int rc = 0;
    *out = NULL;
    if (!may_share(settings))
        return 0;
    rlt_option_key(parsed->groups, texts, not_of_work, true, key);
    add_shape(net, key);
    for (uint32_t i = 0; i < s->n_works && !work; i++)
        if (s->works[i]->key[0] == key[0] && s->works[i]->key[1] == key[1])
            work = s->works[i];
    if (!work) {
        trim_works(s);
        rc = rlt_grow(&s->works, &s->works_capacity, sizeof *s->works, (uint64_t)s->n_works + 1, MAX_KEPT,
                      "workloads", err);
        if (rc || !(work = calloc(1, sizeof *work)))
            return rc ? rc : rlt_nomem(err);
        memcpy(work->key, key, sizeof key);
        work->stem.args = parsed;
        work->stem.settings = settings;
        if ((rc = load_work(s, work, err))) {
            free_work(work);
            return rc;
        }
        s->works[s->n_works++] = work;
    }
    work->refs++;
    work->used = ++s->clock;
    *out = work;
    return 0;
}

int rlt_shared_primed(rlt_shared_net *net, uint64_t key, bool *known, rlt_error *err)
{
    if (!net->primed && !(net->primed = calloc(1, sizeof *net->primed)))
        return rlt_nomem(err);
    *known = rlt_map_get(net->primed, key) != RLT_NONE;
    return *known || rlt_map_put(net->primed, key, 1) == 0 ? 0 : rlt_nomem(err);
}

static int prime_comm(const rlt_shared_net *net, const rlt_program *p, const rlt_comm *c, rlt_router *router,
                      const rlt_placement *place, rlt_error *err)
{
    rlt_group g = {0};
    rlt_bound bound;
    int rc = rlt_group_create(net->topology, place, p->group_ranks + p->group_first[c->group],
                              p->group_first[c->group + 1] - p->group_first[c->group], &g, err);
    if (!rc) {
        rlt_coll_request req = rlt_group_request(&g, c->kind, c->bytes);
        req.root = c->root;
        rc = rlt_coll_bound(&req, router, 1, 1, &bound, err);
    }
    rlt_group_free(&g);
    return rc;
}

int rlt_shared_prime(rlt_shared_net *net, const rlt_shared_work *work, rlt_error *err)
{
    const rlt_program *p = work->stem.program;
    rlt_placement own = {0};
    const rlt_placement *place = net->placed ? &net->placement : &own;
    rlt_router *router = NULL;
    rlt_map seen = {0};
    bool known;
    int rc = rlt_shared_primed(net, work->key[0], &known, err);
    if (rc || known)
        return rc;
    if (!net->placed)
        rc = rlt_placement_identity(net->topology, rlt_topology_accelerators(net->topology), &own, err);
    if (!rc)
        rc = rlt_router_create(net->topology, place, RLT_ROUTE_DMODK, &router, err);
    for (uint32_t i = 0; i < p->n_comms && !rc; i++) {
        const rlt_comm *c = &p->comms[i];
        uint64_t key = ((uint64_t)c->group << 32 | c->root) * RLT_COLL_KINDS + (uint64_t)c->kind;
        if (c->timed || c->counts || rlt_map_get(&seen, key) != RLT_NONE)
            continue;
        if (rlt_map_put(&seen, key, 1))
            rc = rlt_nomem(err);
        else if (p->n_ranks <= place->n) /* else the replay refuses it */
            rc = prime_comm(net, p, c, router, place, err);
    }
    rlt_map_free(&seen);
    rlt_router_free(router);
    rlt_placement_free(&own);
    return rc;
}

void rlt_shared_leave(rlt_shared *s, rlt_shared_net *net, rlt_shared_work *work)
{
    (void)s;
    if (net)
        net->refs--;
    if (work)
        work->refs--;
}

void rlt_shared_free(rlt_shared *s)
{
    for (uint32_t i = 0; i < s->n_nets; i++)
        free_net(s->nets[i]);
    for (uint32_t i = 0; i < s->n_works; i++)
        free_work(s->works[i]);
    free(s->nets);
    free(s->works);
    *s = (rlt_shared){0};
}
