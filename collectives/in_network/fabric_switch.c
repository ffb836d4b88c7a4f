/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Switches of a fabric: trees are planted with slots at their adding stops, and packets are handled at
 * stops. */
#include <stdlib.h>
#include <string.h>

#include "collectives/in_network/fabric.h"
#include "collectives/in_network/reactive.h"
#include "collectives/in_network/reactor.h"
#include "net/aggregation/aggregator.h"
#include "net/aggregation/tree.h"
#include "net/packet/packets.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

enum { USUAL_WIDTH = 1024, MOST_NAMED = 1 << 20 /* slots that fit into aux */ };

/* Planting trees. */

/* Request of a job for slots at one stop. */
typedef struct asked {
    uint32_t tree, stop, slots, payload;
} asked;

static int create_switch(const rlt_fabric_job *j, const rlt_stop *x, const asked *a, rlt_fabric_switch_ **out,
                         rlt_error *err)
{
    rlt_fabric *f = j->fabric;
    rlt_aggregator_config cfg = f->cfg.aggregator;
    int rc = rlt_grow(&f->switches, &f->switches_room, sizeof *f->switches, (uint64_t)f->n_switches + 1,
                      UINT32_MAX, "switches that add", err);
    if (rc)
        return rc;
    cfg.mode = j->mode;
    cfg.payload = a->payload;
    cfg.values = 2; /* the sum, and the number of marked packets in it */
    if (cfg.width == 0)
        cfg.width = x->need > USUAL_WIDTH ? x->need : USUAL_WIDTH;
    if (cfg.slots == 0 && cfg.memory_bytes == 0) {
        uint64_t all = (uint64_t)a->slots * j->n_trees * (cfg.jobs ? cfg.jobs : 1);
        cfg.slots = all < RLT_MAX_SLOTS ? (uint32_t)all : RLT_MAX_SLOTS;
    }
    if (cfg.sharing == RLT_SHARE_STATIC && cfg.jobs)
        cfg.jobs *= j->n_trees;
    rlt_fabric_switch_ *s = &f->switches[f->n_switches];
    *s = (rlt_fabric_switch_){.node = x->node, .mode = j->mode, .payload = a->payload};
    rc = rlt_map_put(&f->switch_of, x->node, f->n_switches) ? rlt_nomem(err) : 0;
    if (!rc)
        rc = rlt_aggregator_create(&cfg, &s->agg, err);
    if (rc)
        rlt_map_remove(&f->switch_of, x->node);
    else
        f->n_switches++;
    *out = s;
    return rc;
}

static int refuse(const rlt_fabric_job *j, uint32_t node, const char *why, rlt_error *err)
{
    char name[200];
    return rlt_fail(err, RLT_EUNSUPPORTED, j->req.protocol->name, "%s: %s",
                    rlt_topology_node_name(j->fabric->cfg.packets.topology, node, name, sizeof name), why);
}

/* Bitmap of a stop's ports towards its contributors; beyond 64 ports, bits are shared. */
static uint64_t ports_of(const rlt_fabric_job *j, const rlt_reduction *r, const rlt_stop *x)
{
    const rlt_topology *topo = j->fabric->cfg.packets.topology;
    uint64_t ports = 0;
    uint32_t ordinal = 0;
    for (uint32_t l = 0; j->streaming && l < rlt_topology_links(topo); l++) {
        if (rlt_topology_link(topo, l).src != x->node)
            continue;
        for (uint32_t i = 0; i < x->need; i++) {
            rlt_way down = r->contributors[x->first_contributor + i].down;
            if (down.n && r->links[down.first] == l)
                ports |= UINT64_C(1) << (ordinal % 64);
        }
        ordinal++;
    }
    return ports;
}

/* Takes slots at one stop. *granted is 0 if the switch refuses, with the reason in *why. */
static int admit(rlt_fabric_job *j, const asked *a, uint32_t *granted, const char **why, rlt_error *err)
{
    rlt_fabric *f = j->fabric;
    rlt_fabric_job_tree *t = &j->trees[a->tree];
    const rlt_stop *x = &t->map->stops[a->stop];
    uint32_t i = rlt_map_get(&f->switch_of, x->node), job;
    rlt_agg_refusal refusal;
    rlt_fabric_switch_ *s = i == RLT_NONE ? NULL : &f->switches[i];
    *granted = 0;
    int rc = s ? 0 : create_switch(j, x, a, &s, err);
    if (rc)
        return rc;
    if (s->mode != j->mode || s->payload < a->payload) {
        *why = s->mode != j->mode ? "another job uses this switch in another mode"
                                  : "the slots of another job are smaller";
        return 0;
    }
    rlt_agg_job want = {.need = x->need,
                        .slots = a->slots,
                        .root = x->parent == RLT_NONE,
                        .priority = j->req.priority,
                        .streaming = j->streaming,
                        .ports = ports_of(j, t->map, x)};
    rc = rlt_grow(&s->owners, &s->owners_room, sizeof *s->owners, (uint64_t)s->n_owners + 1, UINT32_MAX,
                  "jobs on a switch", err);
    if (!rc)
        rc = rlt_aggregator_admit(s->agg, &want, &job, &refusal, granted, err);
    if (rc)
        return rc;
    *why = rlt_agg_refusal_text(refusal);
    if (job == RLT_NONE)
        return 0;
    s->owners[job] = (rlt_agg_owner){j->number, a->tree, a->stop};
    s->n_owners += job == s->n_owners;
    if (j->streaming && !rlt_aggregator_lock(s->agg, job)) {
        (void)rlt_aggregator_release(s->agg, job, rlt_sim_now(j->sim));
        *granted = 0;
        *why = rlt_agg_refusal_text(RLT_AGG_LOCKED);
        return 0;
    }
    t->agg[a->stop] = (uint32_t)(s - f->switches);
    t->agg_job[a->stop] = job;
    return 0;
}

static void release(rlt_fabric_job *j, rlt_fabric_job_tree *t)
{
    for (uint32_t s = 0; t->map && t->agg_job && s < t->map->n_stops; s++)
        if (t->agg_job[s] != RLT_NONE)
            rlt_aggregator_forget(j->fabric->switches[t->agg[s]].agg, t->agg_job[s], rlt_sim_now(j->sim));
}

static void uproot(rlt_fabric_job *j, rlt_fabric_job_tree *t)
{
    release(j, t);
    rlt_reduction_free(t->map);
    rlt_map_free(&t->stop_of);
    free(t->agg_job);
    free(t->agg);
    free(t->up);
    free(t->down);
    free(t->branch);
    free(t->from_server);
    free(t->to_server);
    memset(t, 0, sizeof *t);
}

void rlt__fabric_uproot(rlt_fabric_job *j)
{
    for (uint32_t i = 0; i < j->n_trees && j->trees; i++)
        uproot(j, &j->trees[i]);
    free(j->trees);
    j->trees = NULL;
}

/* Route of packets for a way of a tree; RLT_NONE when out of memory. */
static uint32_t route_of(const rlt_fabric_job *j, const rlt_reduction *r, rlt_way way)
{
    return rlt_packets_route(j->packets, r->links + way.first, way.n);
}

/* Makes the routes from a stop through the root to each server. */
static int route_to_servers(rlt_fabric_job *j, rlt_fabric_job_tree *t, uint32_t stop, rlt_error *err)
{
    const rlt_reduction *r = t->map;
    uint32_t *links = malloc(((size_t)r->n_links + 1) * sizeof *links), n = 0;
    int rc = links ? 0 : rlt_nomem(err);
    for (uint32_t s = stop; !rc && r->stops[s].parent != RLT_NONE; s = r->stops[s].parent) {
        const rlt_stop *top = &r->stops[r->stops[s].parent];
        rlt_way up = r->contributors[top->first_contributor + r->stops[s].child].up;
        memcpy(links + n, r->links + up.first, up.n * sizeof *links);
        n += up.n;
    }
    for (uint32_t i = 0; i < j->n_servers && !rc; i++) {
        rlt_way on = r->to_server[i];
        memcpy(links + n, r->links + on.first, on.n * sizeof *links);
        uint32_t *route = &t->to_server[stop * j->n_servers + i];
        if ((*route = rlt_packets_route(j->packets, links, n + on.n)) == RLT_NONE)
            rc = rlt_nomem(err);
    }
    free(links);
    return rc;
}

/* Makes the routes of all ways of a tree. */
static int lay_routes(rlt_fabric_job *j, rlt_fabric_job_tree *t, rlt_error *err)
{
    const rlt_reduction *r = t->map;
    bool ok = true;
    int rc = 0;
    t->up = malloc(((size_t)r->n_contributors + 1) * sizeof *t->up);
    t->down = malloc(((size_t)r->n_contributors + 1) * sizeof *t->down);
    t->branch = malloc(((size_t)r->n_branches + 1) * sizeof *t->branch);
    t->from_server = malloc(((size_t)j->n_servers + 1) * sizeof *t->from_server);
    t->to_server = malloc(((size_t)j->n_servers * r->n_stops + 1) * sizeof *t->to_server);
    if (!t->up || !t->down || !t->branch || !t->from_server || !t->to_server)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < r->n_contributors; i++) {
        ok &= (t->up[i] = route_of(j, r, r->contributors[i].up)) != RLT_NONE;
        ok &= (t->down[i] = route_of(j, r, r->contributors[i].down)) != RLT_NONE;
    }
    for (uint32_t i = 0; i < r->n_branches; i++)
        ok &= (t->branch[i] = route_of(j, r, r->branches[i].down)) != RLT_NONE;
    for (uint32_t i = 0; i < j->n_servers; i++)
        ok &= (t->from_server[i] = route_of(j, r, r->from_server[i])) != RLT_NONE;
    for (uint32_t s = 0; s < r->n_stops; s++) {
        ok &= rlt_map_put(&t->stop_of, r->stops[s].node, s) == 0;
        if (r->stops[s].adds && !rc)
            rc = route_to_servers(j, t, s, err);
    }
    return rc ? rc : ok ? 0 : rlt_nomem(err);
}

/* Plants one tree with slots at all its adding stops. A switch that refuses is barred, and the next best tree
 * is tried; fails if no tree is left. */
static int plant_one(rlt_fabric_job *j, uint32_t tree, rlt_reduction_request *q, uint8_t *barred,
                     uint32_t slots, uint32_t payload, rlt_error *err)
{
    const char *why = "";
    rlt_fabric_job_tree *t = &j->trees[tree];
    for (;;) {
        /* all slots are shared, whatever is requested */
        bool all = j->fabric->cfg.aggregator.sharing == RLT_SHARE_DYNAMIC;
        uint32_t refused = RLT_NONE, least = all ? MOST_NAMED : slots;
        int rc = rlt_reduction_create(q, &t->map, err);
        if (rc)
            return rc;
        t->agg_job = malloc(t->map->n_stops * sizeof *t->agg_job);
        t->agg = calloc(t->map->n_stops, sizeof *t->agg);
        if (t->agg_job)
            memset(t->agg_job, 0xff, t->map->n_stops * sizeof *t->agg_job); /* RLT_NONE */
        if (!t->agg_job || !t->agg)
            return rlt_nomem(err);
        for (uint32_t s = 0; s < t->map->n_stops && refused == RLT_NONE; s++) {
            uint32_t granted = 0;
            if (!t->map->stops[s].adds)
                continue;
            const asked a = {tree, s, slots, payload};
            if ((rc = admit(j, &a, &granted, &why, err)) != 0)
                return rc;
            if (t->agg_job[s] == RLT_NONE)
                refused = t->map->stops[s].node;
            else if (granted < least)
                least = granted;
        }
        if (refused == RLT_NONE) {
            if (tree == 0 || least < j->result.slots)
                j->result.slots = least;
            return lay_routes(j, t, err);
        }
        uproot(j, t);
        barred[refused] = 1;
        q->barred = barred;
        rlt_reduction *other = NULL;
        if (rlt_reduction_create(q, &other, NULL) != 0)
            return refuse(j, refused, why, err);
        rlt_reduction_free(other);
    }
}

int rlt_fabric_job_plant(rlt_fabric_job *j, rlt_add_place place, uint32_t trees, uint32_t slots,
                         uint32_t payload, rlt_error *err)
{
    const rlt_topology *topo = j->fabric->cfg.packets.topology;
    uint32_t *load = NULL;
    uint8_t *barred = calloc(rlt_topology_nodes(topo), 1);
    uint32_t *nodes = malloc(j->workers * sizeof *nodes);
    rlt_reduction_request q = {.topology = topo,
                               .n = j->stride ? j->workers / j->stride : j->workers,
                               .nodes = nodes,
                               .n_servers = j->n_servers,
                               .servers = j->nodes + j->first_server,
                               .place = place,
                               .width = j->fabric->cfg.aggregator.width,
                               .root = RLT_NONE};
    int rc = barred && nodes ? 0 : rlt_nomem(err);
    j->n_trees = trees;
    j->trees = calloc(trees, sizeof *j->trees);
    if (trees > 1 && !(load = calloc((size_t)rlt_topology_links(topo) + 1, sizeof *load)))
        rc = rlt_nomem(err);
    if (!j->trees)
        rc = rlt_nomem(err);
    q.load = load;
    for (uint32_t i = 0; i < trees && !rc; i++) {
        for (uint32_t k = 0; k < q.n; k++)
            nodes[k] = j->nodes[rlt_fabric_job_tree_worker(j, i, k)];
        rc = plant_one(j, i, &q, barred, slots, payload, err);
        if (!rc && load)
            rlt_reduction_load(j->trees[i].map, load);
        for (uint32_t s = 0; !rc && s < j->trees[i].map->n_stops; s++)
            j->result.adders += j->trees[i].map->stops[s].adds;
        if (!rc && j->trees[i].map->levels > j->result.levels)
            j->result.levels = j->trees[i].map->levels;
    }
    if (!rc && j->mode != RLT_SLOTS_HASH && j->result.slots * trees < j->window)
        j->window = j->result.slots * trees;
    free(barred);
    free(nodes);
    free(load);
    return rc;
}

/* Handling packets at stops. */

typedef struct visit {
    rlt_fabric_job *j;
    rlt_fabric_job_tree *t;
    uint32_t stop;
    const rlt_packet *p;
} visit;

static void send(const visit *v, uint8_t kind, uint32_t dst, uint32_t route, uint32_t aux, uint64_t data,
                 uint32_t member)
{
    rlt_packet p = *v->p;
    p.kind = kind;
    p.flags &= (uint8_t)~RLT_PACKET_RESEND;
    p.src = v->t->map->stops[v->stop].node;
    p.dst = dst;
    p.route = route;
    p.aux = aux;
    p.data = data;
    rlt__fabric_send(v->j, &p, member);
}

/* Worker at index `member` of the tree; RLT_NONE stays RLT_NONE. */
static uint32_t worker_of(const visit *v, uint32_t member)
{
    return member == RLT_NONE ? RLT_NONE
                              : rlt_fabric_job_tree_worker(v->j, (uint32_t)(v->t - v->j->trees), member);
}

/* Sends the sum down all branches. */
static void multicast(const visit *v, uint64_t sum)
{
    const rlt_reduction *r = v->t->map;
    const rlt_stop *x = &r->stops[v->stop];
    for (uint32_t i = 0; i < x->n_branches; i++) {
        const rlt_branch *b = &r->branches[x->first_branch + i];
        uint32_t member = worker_of(v, b->member);
        uint32_t dst = b->stop != RLT_NONE ? r->stops[b->stop].node : v->j->nodes[member];
        send(v, RLT_PK_RESULT, dst, v->t->branch[x->first_branch + i], RLT_AUX(0, rlt_aux_slot(v->p->aux)),
             sum, member);
    }
}

static void unicast(const visit *v, uint64_t sum)
{
    const rlt_reduction *r = v->t->map;
    uint32_t i = r->stops[v->stop].first_contributor + rlt_aux_child(v->p->aux);
    const rlt_contributor *c = &r->contributors[i];
    uint32_t member = worker_of(v, c->member);
    bool below = c->stop != RLT_NONE;
    send(v, below ? RLT_PK_RESULT : RLT_PK_ANSWER, below ? r->stops[c->stop].node : v->j->nodes[member],
         v->t->down[i], RLT_AUX(0, rlt_aux_slot(v->p->aux)), sum, member);
}

static void send_up(const visit *v, uint64_t sum)
{
    const rlt_reduction *r = v->t->map;
    const rlt_stop *x = &r->stops[v->stop], *top = &r->stops[x->parent];
    send(v, RLT_PK_DATA, top->node, v->t->up[top->first_contributor + x->child],
         RLT_AUX(x->child, rlt_aux_slot(v->p->aux)), sum, RLT_NONE);
}

static void send_to_server(const visit *v, uint8_t kind, uint32_t chunk, uint32_t aux, uint64_t data)
{
    uint32_t server = rlt_fabric_job_server(v->j, chunk), src = v->p->src;
    rlt_packet p = *v->p;
    p.kind = kind;
    p.src = kind == RLT_PK_ALONE ? src : v->t->map->stops[v->stop].node;
    p.dst = v->j->nodes[v->j->first_server + server];
    p.route = v->t->to_server[v->stop * v->j->n_servers + server];
    p.key = chunk;
    p.aux = aux;
    p.data = data;
    p.flow = v->j->number;
    rlt__fabric_send(v->j, &p, RLT_NONE);
}

/* Sets the bits of all workers below a contributor. */
static void mark_workers(const rlt_reduction *r, uint32_t contributor, uint64_t *bits)
{
    const rlt_contributor *c = &r->contributors[contributor];
    if (c->stop == RLT_NONE) {
        bits[c->member / 64] |= UINT64_C(1) << (c->member % 64);
        return;
    }
    const rlt_stop *x = &r->stops[c->stop];
    for (uint32_t i = 0; i < x->need; i++)
        mark_workers(r, x->first_contributor + i, bits);
}

/* Sends a partial sum to the server. `of` is the bitmap of its contributors at this stop; the note lists the
 * workers below them. */
static void send_partial(const visit *v, uint32_t chunk, const uint64_t *of, uint64_t sum)
{
    rlt_fabric_job *j = v->j;
    const rlt_stop *x = &v->t->map->stops[v->stop];
    uint32_t note = j->n_servers ? rlt_pool_get(&j->notes) : RLT_NONE;
    if (note == RLT_NONE) {
        rlt_sim_fail(j->sim, j->n_servers ? RLT_ENOMEM : RLT_EUSAGE, j->req.protocol->name,
                     j->n_servers ? "no memory for a partial sum"
                                  : "a partial sum needs a server, but the job has none");
        return;
    }
    uint64_t *bits = rlt_pool_at(&j->notes, note);
    memset(bits, 0, j->note_words * sizeof *bits);
    for (uint32_t i = 0; i < x->need; i++)
        if (of[i / 64] >> (i % 64) & 1)
            mark_workers(v->t->map, x->first_contributor + i, bits);
    send_to_server(v, RLT_PK_PARTIAL, chunk, note, sum);
}

/* Sends a partial sum that was evicted from its slot to the server of the job that owns the chunk. */
static void send_evicted(const visit *at, const rlt_agg_sum *sum)
{
    rlt_fabric *f = at->j->fabric;
    const rlt_agg_owner *o = &f->switches[at->t->agg[at->stop]].owners[sum->job];
    rlt_packet p = *at->p;
    visit v = {.j = f->jobs[o->job], .stop = o->stop, .p = &p};
    v.t = &v.j->trees[o->tree];
    p.bytes = v.j->wire_bytes; /* the packet that evicts may be another job's */
    send_partial(&v, sum->chunk, sum->bits, (uint64_t)sum->values[0].i);
}

/* Forwards a packet that was not added to the server: a worker's contribution as ALONE, the sum of a lower
 * stop as PARTIAL. */
static void send_on(const visit *v)
{
    const rlt_reduction *r = v->t->map;
    uint32_t child = rlt_aux_child(v->p->aux);
    if (v->j->n_servers == 0)
        return;
    if (r->contributors[r->stops[v->stop].first_contributor + child].stop == RLT_NONE) {
        send_to_server(v, RLT_PK_ALONE, v->p->key, v->p->aux, v->p->data);
        return;
    }
    uint64_t of[RLT_MAX_AGG_WIDTH / 64] = {0};
    of[child / 64] = UINT64_C(1) << (child % 64);
    send_partial(v, v->p->key, of, v->p->data);
}

static void obey(const visit *v, const rlt_agg_verdict *d)
{
    uint64_t sum = d->sum.values ? (uint64_t)d->sum.values[0].i : v->p->data;
    switch (d->action) {
    case RLT_AGG_UP:
        send_up(v, sum);
        break;
    case RLT_AGG_MULTICAST:
        multicast(v, sum);
        break;
    case RLT_AGG_UNICAST:
        unicast(v, sum);
        break;
    case RLT_AGG_SERVER:
        send_to_server(v, RLT_PK_SUM, v->p->key, RLT_AUX(0, d->slot), sum);
        break;
    case RLT_AGG_FORWARD:
        send_on(v);
        break;
    case RLT_AGG_BUSY:
        rlt_sim_fail(v->j->sim, RLT_ECHECK, v->j->req.protocol->name,
                     "chunk %u arrived at a slot that is not free", v->p->key);
        break;
    case RLT_AGG_FETCH:
    case RLT_AGG_DROP:
    case RLT_AGG_HOLD:
        break;
    }
}

/* Starts the timer of a slot. */
static void wind_clock(const visit *v, const rlt_agg_packet *a, uint32_t slot)
{
    rlt_fabric *f = v->j->fabric;
    uint32_t i = rlt_pool_get(&f->clocks);
    if (i == RLT_NONE) {
        rlt_sim_fail(f->sim, RLT_ENOMEM, NULL, "no memory for one more timer");
        return;
    }
    *(rlt_slot_clock *)rlt_pool_at(&f->clocks, i) =
        (rlt_slot_clock){.owner = {v->j->number, v->p->key % v->j->n_trees, v->stop},
                         .chunk = a->chunk,
                         .slot = slot,
                         .version = v->j->mode == RLT_SLOTS_POOL ? a->version : 0};
    rlt_sim_post(f->sim, rlt_time_add(rlt_sim_now(f->sim), v->j->ttl_ps), RLT_START, f->on_clock, i);
}

void rlt__fabric_on_clock(void *ctx, uint64_t payload)
{
    rlt_fabric *f = ctx;
    rlt_slot_clock c = *(const rlt_slot_clock *)rlt_pool_at(&f->clocks, (uint32_t)payload);
    rlt_pool_put(&f->clocks, (uint32_t)payload);
    rlt_fabric_job *j = f->jobs[c.owner.job];
    if (j->closed)
        return;
    rlt_packet p = {
        .bytes = j->wire_bytes, .flags = (uint8_t)(j->packet_flags | RLT_PACKET_EXPIRED), .key = c.chunk};
    visit v = {.j = j, .t = &j->trees[c.owner.tree], .stop = c.owner.stop, .p = &p};
    rlt_agg_verdict d;
    rlt_aggregator_expire(f->switches[v.t->agg[v.stop]].agg, v.t->agg_job[v.stop], c.chunk, c.slot, c.version,
                          rlt_sim_now(f->sim), &d);
    if (d.action != RLT_AGG_DROP)
        send_partial(&v, c.chunk, d.sum.bits, (uint64_t)d.sum.values[0].i);
}

void rlt__fabric_handle(rlt_fabric_job *j, const rlt_packet *p)
{
    visit v = {.j = j, .t = &j->trees[p->key % j->n_trees], .p = p};
    v.stop = rlt_map_get(&v.t->stop_of, p->dst);
    if (v.stop == RLT_NONE) {
        rlt_sim_fail(j->sim, RLT_EUSAGE, j->req.protocol->name,
                     "a packet arrived at a switch outside its tree");
        return;
    }
    if (!v.t->map->stops[v.stop].adds) {
        multicast(&v, p->data);
        return;
    }
    rlt_agg_value value[2] = {{.i = (int64_t)p->data}, {.i = (p->flags & RLT_PACKET_CE) != 0}};
    rlt_agg_packet a = {.kind = p->kind == RLT_PK_DATA ? RLT_AGG_DATA : RLT_AGG_RESULT,
                        .job = v.t->agg_job[v.stop],
                        .chunk = p->key,
                        .slot = rlt_aux_slot(p->aux),
                        .version = rlt_job_version(j, p->key),
                        .resend = (p->flags & RLT_PACKET_RESEND) != 0,
                        .child = rlt_aux_child(p->aux),
                        .values = value};
    rlt_agg_verdict d;
    rlt_aggregator_packet(j->fabric->switches[v.t->agg[v.stop]].agg, &a, rlt_sim_now(j->sim), &d);
    if (d.evicts)
        send_evicted(&v, &d.evicted);
    if (d.claimed && j->ttl_ps > 0)
        wind_clock(&v, &a, d.slot);
    rlt_packet marked = *p;
    if (d.sum.values && d.sum.values[1].i != 0) {
        marked.flags |= RLT_PACKET_CE;
        v.p = &marked;
    }
    obey(&v, &d);
}

void rlt__fabric_stop(rlt_fabric_job *j, const rlt_packet *p)
{
    const rlt_fabric_job_tree *t = &j->trees[p->key % j->n_trees];
    uint32_t stop = j->pass_ports ? rlt_map_get(&t->stop_of, p->dst) : RLT_NONE;
    if (stop == RLT_NONE || t->agg_job[stop] == RLT_NONE ||
        !rlt__fabric_recirculates(j, &j->fabric->switches[t->agg[stop]], p))
        rlt__fabric_handle(j, p);
}
