/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Workloads: loaded once, read by all threads. */
#include <stdlib.h>
#include <string.h>

#include "collectives/bound.h"
#include "collectives/collective.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/base/words.h"
#include "sim/text/tree.h"
#include "workload/experiment/kept.h"
#include "workload/experiment/run/run.h"
#include "workload/experiment/shared.h"
#include "workload/program/program.h"
#include "workload/setup/settings.h"

/* Operations take about 150 bytes each, with dependencies and communications. */
enum { KEPT_WORKS = 256, KEPT_OPS = 1 << 20 };

/* Options that do not change the workload. */
static const char *const not_of_work[] = {"topology",
                                          "link-scale",
                                          "placement",
                                          "algorithm",
                                          "compute-scale",
                                          "host-scale",
                                          "rank-scale",
                                          "network-scale",
                                          "rank-delay",
                                          "overlap-slowdown",
                                          "no-skew",
                                          "until",
                                          "set",
                                          "network",
                                          "routing",
                                          "injection",
                                          "link-event",
                                          "noise",
                                          "seed",
                                          "failures",
                                          "iterations",
                                          "dim-scale",
                                          NULL};

bool rlt_shared_is_of_work(const char *option)
{
    return !rlt_is_one_of(option, not_of_work);
}

static void free_work(rlt_shared_work *work)
{
    rlt_run_close(&work->stem);
    rlt_placement_free(&work->pinned);
    free(work);
}

void rlt__shared_works_free(rlt_shared *s)
{
    for (uint32_t i = 0; i < s->works.n; i++)
        free_work((rlt_shared_work *)s->works.items[i]);
    free(s->works.items);
}

static uint64_t count_ops(const rlt_shared *s, bool used)
{
    uint64_t ops = 0;
    for (uint32_t i = 0; i < s->works.n; i++)
        if (!used || s->works.items[i]->refs)
            ops += ((const rlt_shared_work *)s->works.items[i])->stem.program->n_ops;
    return ops;
}

bool rlt_shared_has_room(const rlt_shared *s)
{
    return count_ops(s, true) < KEPT_OPS;
}

/* Drops workloads while too many or too large ones are kept. */
static void trim_works(rlt_shared *s)
{
    uint64_t ops = count_ops(s, false);
    rlt_kept *old;
    while ((s->works.n >= KEPT_WORKS || ops > KEPT_OPS) && (old = rlt_kept_drop(&s->works))) {
        ops -= ((rlt_shared_work *)old)->stem.program->n_ops;
        free_work((rlt_shared_work *)old);
    }
}

static bool asks_for_order(const char *list)
{
    return list && strstr(list, "order=auto");
}

/* Returns true if a workload may be shared. Folding and order=auto simulate to find a workload: workers do
 * that, and each point has its own. */
static bool may_share(const rlt_run_settings *s)
{
    return !s->fold && !s->fold_stages &&
           !(s->model && !s->map &&
             (asks_for_order(s->layout) || asks_for_order(s->train) || asks_for_order(s->strategy)));
}

/* Adds what a workload takes from the network: the number of ranks, and the sizes of dimensions. */
static void add_shape(const rlt_shared_net *net, uint64_t key[2])
{
    uint32_t accelerators = rlt_topology_accelerators(net->topology);
    uint32_t n[RLT_MAX_DIMS + 4] = {net->placed ? net->placement.n : accelerators, accelerators,
                                    rlt_topology_is_product(net->topology)};
    n[3] = rlt_topology_dims(net->topology);
    for (uint32_t d = 0; d < n[3]; d++)
        n[d + 4] = rlt_topology_dim(net->topology, d).size;
    rlt__key_add(key, n, sizeof n);
}

/* Jobs depend on the placement and exclude some disturbances, so both are part of the key. */
static void add_jobs(const rlt_run_settings *s, const rlt_shared_net *net, uint64_t key[2])
{
    const rlt_placement *p = &net->placement;
    bool wrong[] = {s->faults.failures != NULL, s->faults.noise.n != 0};
    if (!s->jobs.job.n && !s->jobs.background.n)
        return;
    rlt__key_add(key, wrong, sizeof wrong);
    if (net->placed && p->accelerator)
        rlt__key_add(key, p->accelerator, p->n * sizeof *p->accelerator);
    if (net->placed && p->nic)
        rlt__key_add(key, p->nic, p->n * sizeof *p->nic);
}

static void key_of(const rlt_option_texts *texts, const rlt_parsed *parsed, const rlt_run_settings *s,
                   const rlt_shared_net *net, uint64_t key[2])
{
    rlt_option_key(parsed->groups, texts, not_of_work, true, key);
    add_shape(net, key);
    add_jobs(s, net, key);
    if (s->astra_system) /* its times depend on the links */
        rlt__key_add(key, net->kept.key, sizeof net->kept.key);
}

static int load_work(rlt_shared *s, rlt_shared_work *work, rlt_error *err)
{
    rlt_run *r = &work->stem;
    int rc = rlt_run_load(r, err);
    if (!rc)
        rc = rlt_shared_note(s, &r->setup.inputs, err);
    if (!rc && r->settings->map) {
        work->pinned = r->setup.placement;
        r->setup.placement = (rlt_placement){0};
    }
    rlt_setup_free(&r->setup);
    r->args = NULL;
    r->settings = NULL;
    return rc;
}

int rlt_shared_work_of(rlt_shared *s, rlt_prepared *p, rlt_error *err)
{
    uint64_t key[2];
    if (!may_share(p->settings))
        return 0;
    key_of(p->texts, p->parsed, p->settings, p->net, key);
    rlt_shared_work *work = (rlt_shared_work *)rlt_kept_find(&s->works, key);
    if (!work) {
        trim_works(s);
        if (!(work = calloc(1, sizeof *work)))
            return rlt_nomem(err);
        work->stem.args = p->parsed;
        work->stem.settings = p->settings;
        int rc = load_work(s, work, err);
        if (!rc)
            rc = rlt_kept_add(&s->works, &work->kept, key, "workloads", err);
        if (rc) {
            free_work(work);
            return rc;
        }
    }
    p->work = work;
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
    const rlt_placement *place = work->stem.jobs.placement.n ? &work->stem.jobs.placement
                                 : work->pinned.n            ? &work->pinned
                                 : net->placed               ? &net->placement
                                                             : &own;
    rlt_router *router = NULL;
    rlt_map seen = {0};
    bool known;
    int rc = rlt_shared_primed(net, work->kept.key[0], &known, err);
    if (rc || known)
        return rc;
    if (place == &own)
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
