/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Simulates each collective alone and remembers its duration. */
#include "workload/replay/alone.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/fold.h"
#include "collectives/plan.h"
#include "collectives/relay.h"
#include "net/endpoint/endpoint.h"
#include "net/fold.h"
#include "net/network.h"
#include "net/route.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"
#include "workload/replay/internal.h"
#include "workload/replay/replay.h"
#include "workload/timing/timing.h"

enum { MAX_KNOWN = 1 << 20, REQUEST_WORDS = 5 + 3 * RLT_MAX_DIMS };

typedef struct alone {
    rlt_timing timing; /* must be first: the base */
    rlt_replay_options how;
    /* One network serves all collectives that do not fold, one after the other: at the end of each, nothing
     * is under way. It is made for the first of them. */
    rlt_placement identity;
    rlt_router *router;
    rlt_sim *sim;
    rlt_exec *whole;
    bool done;       /* state of the collective under way */
    rlt_time end_ps; /* its end; acknowledgements of its packets come later */
    int broken;      /* error of a simulation that did not end; what it left stays in the queue */
    rlt_strings keys, classes;
    rlt_time *known; /* duration by index of the key */
    uint32_t n, room;
    uint64_t *key; /* buffer for the next key: request, members */
    uint32_t key_room;
    /* In dimensions whose blocks of accelerators can be exchanged, blocks are numbered in the order in which
     * they appear: groups that differ by an exchange take the same time. */
    uint32_t dims, sizes[RLT_MAX_DIMS];
    uint32_t block[RLT_MAX_DIMS];   /* accelerators of a block; 0: none can be exchanged */
    uint32_t *number[RLT_MAX_DIMS]; /* by block, in the group `seen` */
    uint32_t *seen[RLT_MAX_DIMS], turn;
} alone;

static void note_end(void *ctx, uint64_t cookie)
{
    alone *a = ctx;
    (void)cookie;
    a->done = true;
    a->end_ps = rlt_sim_now(a->sim);
}

static int plan_of(const alone *a, const rlt_coll_request *asked, rlt_plan *plan, rlt_error *err)
{
    const rlt_algorithm *want = a->how.algorithm[asked->kind];
    rlt_coll_request req = *asked;
    req.model = a->how.model;
    if (!want || !a->how.algorithm_where_able)
        return rlt_plan_create(want, &req, plan, err);
    rlt_error why = {0};
    int rc = rlt_plan_create(want, &req, plan, &why);
    if (rc == RLT_EUNSUPPORTED)
        return rlt_plan_create(NULL, &req, plan, err);
    return rc < 0 ? rlt_fail(err, rc, why.where, "%s", why.what) : 0;
}

static int open_router(alone *a, rlt_error *err)
{
    const rlt_topology *t = a->how.topology;
    int rc = rlt_sim_create(&a->sim, err);
    if (rc == 0)
        rc = rlt_placement_identity(t, rlt_topology_accelerators(t), &a->identity, err);
    return rc ? rc
              : rlt_router_create(t, a->how.placement ? a->how.placement : &a->identity, a->how.routing,
                                  &a->router, err);
}

static rlt_net_config network_of(const alone *a, const rlt_net_fold *fold)
{
    return (rlt_net_config){.sim = a->sim,
                            .router = a->router,
                            .endpoint = a->how.endpoint,
                            .bandwidth_scale = a->how.network_scale,
                            .latency_scale = 1 / a->how.network_scale,
                            .packet = a->how.packet,
                            .fold = fold};
}

static int open_network(const alone *a, const rlt_net_fold *fold, rlt_exec **exec, rlt_error *err)
{
    rlt_net_config cfg = network_of(a, fold);
    return rlt_exec_create(a->how.model, &cfg, exec, err);
}

/* Runs a plan, folded or (n_classes 0) whole. */
static int run(alone *a, rlt_exec *exec, const rlt_plan *plan, const rlt_fold *fold, rlt_error *err)
{
    rlt_exec_client client = {.ctx = a, .done = note_end};
    uint32_t id = rlt_exec_add_folded(exec, plan, fold->n_classes ? fold : NULL, &client, 0, 0);
    a->done = false;
    if (id != RLT_NONE)
        rlt_exec_arrive_all(exec, id);
    int rc = rlt_sim_run(a->sim, RLT_TIME_MAX, err);
    if (rc == 0 && !a->done)
        rc = rlt_fail(err, RLT_ESTALL, rlt_coll_name(plan->req.kind), "ended with work pending");
    return rc;
}

/* Finds the fold of a plan if it has a closed form. It is no error if there is none. */
static int find_fold(const alone *a, const rlt_plan *plan, rlt_fold *fold, rlt_error *err)
{
    rlt_fold_options how = {.blocking = a->how.endpoint.injection == RLT_INJECT_BLOCKING,
                            .serialises = !(a->how.model->can & RLT_NET_SHARES_LINKS)};
    rlt_error why = {0};
    if (!(a->how.model->can & RLT_NET_FOLDS))
        return 0;
    int rc = rlt_fold_create(plan, a->router, &how, fold, &why);
    return rc == 0 || rc == RLT_EUNSUPPORTED ? 0 : rlt_fail(err, rc, why.where, "%s", why.what);
}

/* Finds the links that a plan can use, if they are few of very many and known: those of a plan without trees
 * of switches. A network of all links takes 160 bytes a link, but serves all plans. */
static int find_used(const alone *a, const rlt_plan *plan, rlt_net_fold *fold, rlt_error *err)
{
    const rlt_topology *t = a->how.topology;
    const rlt_coll_request *req = &plan->req;
    rlt__used used = {0};
    enum { VERY_MANY = 1 << 16 };
    if (rlt_topology_links(t) < VERY_MANY || plan->reduces || plan->multicasts ||
        !rlt_topology_is_product(t) || !(a->how.model->can & RLT_NET_FOLDS) ||
        a->how.routing != RLT_ROUTE_DMODK || !rlt__used_pays(t, (uint64_t)req->n * (req->n - 1)))
        return 0;
    int rc = rlt__used_add(a->router, &used, req->ranks, req->n, err);
    if (!rc)
        rc = rlt__used_fold(t, &used, fold, err);
    free(used.links);
    return rc;
}

/* Runs a plan on a network of its own if it folds, or uses few links; else on the one of all. */
static int run_plan(alone *a, const rlt_plan *plan, rlt_error *err)
{
    rlt_fold fold = {0};
    rlt_exec *own = NULL;
    int handlers = rlt_sim_handlers(a->sim), rc = find_fold(a, plan, &fold, err);
    if (!rc && !fold.n_classes && !a->whole)
        rc = find_used(a, plan, &fold.net, err);
    if (rc)
        return rc;
    if (fold.net.n_classes)
        rc = open_network(a, &fold.net, &own, err);
    else if (!a->whole)
        rc = open_network(a, NULL, &a->whole, err);
    if (!rc)
        a->broken = rc = run(a, own ? own : a->whole, plan, &fold, err);
    if (own && !rc)
        rlt_sim_forget(a->sim, handlers);
    rlt_exec_free(own);
    rlt_fold_free(&fold);
    return rc;
}

static int simulate(alone *a, const rlt_coll_request *req, rlt_time *duration_ps, rlt_error *err)
{
    rlt_plan plan = {0};
    if (a->broken)
        return rlt_fail(err, a->broken, rlt_coll_name(req->kind), "follows a collective that did not end");
    int rc = plan_of(a, req, &plan, err);
    if (rc < 0)
        return rc;
    rlt_net_config cfg = network_of(a, NULL);
    rc = rlt__relay_time(&plan, a->how.model, &cfg, duration_ps, err);
    if (rc == RLT_EUNSUPPORTED) {
        rlt_time begin = rlt_sim_now(a->sim);
        rc = run_plan(a, &plan, err);
        *duration_ps = a->end_ps - begin;
    } else {
        a->broken = rc;
    }
    rlt_plan_free(&plan);
    return rc;
}

/* Finds the dimensions whose accelerators, or blocks of them, can be exchanged. */
static int find_symmetry(alone *a, rlt_error *err)
{
    const rlt_topology *t = a->how.topology;
    uint64_t Bps;
    bool uniform = rlt_topology_is_product(t) && rlt_topology_uniform_Bps(t, &Bps);
    a->dims = uniform ? rlt_topology_dims(t) : 0;
    for (uint32_t d = 0; d < a->dims; d++) {
        uint32_t block = rlt_topology_exchanges(t, d);
        a->sizes[d] = rlt_topology_dim(t, d).size;
        a->block[d] = block == 1 || a->how.routing == RLT_ROUTE_DMODK ? block : 0;
        a->number[d] = calloc(a->sizes[d], sizeof *a->number[d]);
        a->seen[d] = calloc(a->sizes[d], sizeof *a->seen[d]);
        if (!a->number[d] || !a->seen[d])
            return rlt_nomem(err);
    }
    return 0;
}

/* Writes what a plan depends on beside the members: groups of another grid may have another algorithm. */
static void write_request(alone *a, const rlt_coll_request *req)
{
    const uint64_t head[] = {(uint64_t)req->kind, req->root, req->bytes, req->node, req->n_dims};
    uint64_t *at = a->key;
    memcpy(at, head, sizeof head);
    at += sizeof head / sizeof *head;
    for (uint32_t d = 0; d < RLT_MAX_DIMS; d++, at += 3) {
        bool used = d < req->n_dims;
        at[0] = used ? req->dims[d] : 0;
        at[1] = used ? req->axes[d] : 0;
        at[2] = used ? (uint64_t)(uintptr_t)req->shapes[d] : 0;
    }
}

/* Writes the members into the key, numbered anew where this changes nothing. */
static void write_members(alone *a, const rlt_coll_request *req)
{
    uint32_t next[RLT_MAX_DIMS] = {0};
    if (++a->turn == 0) /* wrapped: forget */
        for (uint32_t d = 0; d < a->dims; d++)
            memset(a->seen[d], 0, a->sizes[d] * sizeof *a->seen[d]);
    for (uint32_t i = 0; i < req->n; i++) {
        uint32_t at = rlt_placed(a->how.placement ? a->how.placement : &a->identity, rlt_member_rank(req, i)),
                 stride = 1;
        uint32_t dims = req->n_rings ? 0 : a->dims; /* rings are along links of their own */
        uint64_t named = dims ? 0 : at;
        for (uint32_t d = 0; d < dims; d++) {
            uint32_t x = at % a->sizes[d], size = a->block[d], block = size ? x / size : 0;
            if (size && a->seen[d][block] != a->turn) {
                a->seen[d][block] = a->turn;
                a->number[d][block] = next[d]++;
            }
            named += (uint64_t)(size ? a->number[d][block] * size + x % size : x) * stride;
            at /= a->sizes[d];
            stride *= a->sizes[d];
        }
        a->key[REQUEST_WORDS + i] = named;
    }
}

static int write_key(alone *a, const rlt_coll_request *req, size_t words, rlt_error *err)
{
    int rc = rlt_grow(&a->key, &a->key_room, sizeof *a->key, words, RLT_MAX_MEMBERS + REQUEST_WORDS,
                      "members", err);
    if (rc < 0)
        return rc;
    write_request(a, req);
    write_members(a, req);
    return 0;
}

/* Finds the index of a request among those known, or adds it. */
static int find(alone *a, const rlt_coll_request *req, uint32_t *index, rlt_error *err)
{
    size_t words = REQUEST_WORDS + (size_t)req->n;
    int rc = write_key(a, req, words, err);
    if (rc < 0)
        return rc;
    *index = rlt_intern(&a->keys, (const char *)a->key, words * sizeof *a->key);
    if (*index == RLT_NONE)
        return rlt_nomem(err);
    return rlt_grow(&a->known, &a->room, sizeof *a->known, (uint64_t)*index + 1, MAX_KNOWN,
                    "distinct collectives", err);
}

/* A class is what is left of a request without its kind, root and bytes. */
static int classify(rlt_timing *t, const rlt_coll_request *req, uint32_t *index, rlt_error *err)
{
    alone *a = (alone *)t;
    rlt_coll_request members = *req;
    members.kind = RLT_BARRIER;
    members.root = 0;
    members.bytes = 0;
    size_t words = REQUEST_WORDS + (size_t)req->n;
    int rc = write_key(a, &members, words, err);
    if (rc < 0)
        return rc;
    *index = rlt_intern(&a->classes, (const char *)a->key, words * sizeof *a->key);
    return *index == RLT_NONE ? rlt_nomem(err) : 0;
}

static const rlt_time unknown = -1;

static int duration(rlt_timing *t, const rlt_coll_request *req, rlt_time *duration_ps, rlt_error *err)
{
    alone *a = (alone *)t;
    uint32_t i;
    if (req->counts)
        return simulate(a, req, duration_ps, err);
    int rc = find(a, req, &i, err);
    if (rc == 0 && i == a->n)
        a->known[a->n++] = unknown;
    if (rc == 0 && a->known[i] == unknown) {
        rlt_time found = 0;
        rc = simulate(a, req, &found, err);
        a->known[i] = rc ? unknown : found;
    }
    if (rc == 0)
        *duration_ps = a->known[i];
    return rc;
}

rlt_sim *rlt_timing_alone_sim(rlt_timing *t)
{
    return ((alone *)t)->sim;
}

static void destroy(rlt_timing *t)
{
    alone *a = (alone *)t;
    rlt_exec_free(a->whole);
    rlt_router_free(a->router);
    rlt_placement_free(&a->identity);
    rlt_sim_free(a->sim);
    rlt_strings_free(&a->keys);
    rlt_strings_free(&a->classes);
    for (uint32_t d = 0; d < a->dims; d++) {
        free(a->number[d]);
        free(a->seen[d]);
    }
    free(a->known);
    free(a->key);
    free(a);
}

int rlt_timing_alone(const rlt_replay_options *how, rlt_timing **out, rlt_error *err)
{
    *out = NULL;
    for (int k = 0; k < RLT_COLL_KINDS; k++)
        if (how->reacting[k] || how->n_rules)
            return rlt_fail(
                err, RLT_EUNSUPPORTED, "timing",
                "collectives are timed alone with one algorithm per kind: rules and reactive protocols are "
                "not supported");
    alone *a = calloc(1, sizeof *a);
    if (!a)
        return rlt_nomem(err);
    a->timing = (rlt_timing){.name = "alone", .duration = duration, .classify = classify, .destroy = destroy};
    a->how = *how;
    int rc = open_router(a, err);
    if (!rc)
        rc = find_symmetry(a, err);
    if (rc < 0) {
        destroy(&a->timing);
        return rc;
    }
    *out = &a->timing;
    return 0;
}
