/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The links of a tree-shaped transfer. Trees are kept, because a collective asks for the same ones again and
 * again: one in each slot of a table, until another takes its place or a link changes.
 */
#include "net/network_tree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/route.h"
#include "net/shapes/shapes.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

typedef struct tree_node {
    uint32_t epoch;
    uint32_t inputs;  /* links of the tree that enter the node, and ranks on it */
    uint32_t in, out; /* towards the root: one of the links that enter it, and the link that leaves it */
} tree_node;

/* A tree as it was found: `ranks` (none: 0 .. n-1), then links and their roles. */
typedef struct kept_tree {
    uint64_t route_key, bw_Bps;
    rlt_time latency_ps;
    uint32_t root, n, n_ranks, n_links; /* n 0: an empty slot */
    bool reduce, all;
    uint32_t *words;
} kept_tree;

enum { SLOTS = 1 << 15, MAX_KEPT_WORDS = 1 << 24 };

struct rlt_net_tree {
    kept_tree *kept;
    uint32_t kept_words;
    tree_node *nodes;
    uint32_t *link_epoch;
    uint32_t epoch;
    uint32_t *visited; /* nodes of the tree */
    uint32_t n_visited, room;
    /* For the current tree: */
    const rlt_tree_message *message;
    bool reduce;
    bool root_sends; /* true if a rank is at the root */
    rlt_time latency_ps;
    rlt_time back_ps; /* latency from the root to the farthest rank; of a sum for all only */
    uint64_t bw_Bps;
    uint32_t blocked; /* failed link in the way */
};

static int tree_create(const rlt_topology *t, rlt_net_tree **out)
{
    rlt_net_tree *x = *out = calloc(1, sizeof(*x));
    if (!x)
        return RLT_ENOMEM;
    x->nodes = calloc(rlt_topology_nodes(t), sizeof(*x->nodes));
    x->link_epoch = calloc((size_t)rlt_topology_links(t) + 1, sizeof(*x->link_epoch));
    x->kept = calloc(SLOTS, sizeof(*x->kept));
    return x->nodes && x->link_epoch && x->kept ? 0 : RLT_ENOMEM;
}

void rlt__net_tree_free(rlt_net_core *c)
{
    if (!c->tree)
        return;
    for (uint32_t i = 0; c->tree->kept && i < SLOTS; i++)
        free(c->tree->kept[i].words);
    free(c->tree->kept);
    free(c->tree->nodes);
    free(c->tree->link_epoch);
    free(c->tree->visited);
    free(c->tree);
    c->tree = NULL;
}

static void next_epoch(rlt_net_tree *x, const rlt_topology *t)
{
    if (x->epoch == UINT32_MAX) {
        memset(x->nodes, 0, rlt_topology_nodes(t) * sizeof(*x->nodes));
        memset(x->link_epoch, 0, rlt_topology_links(t) * sizeof(*x->link_epoch));
        x->epoch = 0;
    }
    x->epoch++;
    x->n_visited = 0;
    x->root_sends = false;
    x->latency_ps = x->back_ps = 0;
    x->bw_Bps = UINT64_MAX;
}

static tree_node *node_at(rlt_net_tree *x, uint32_t v)
{
    tree_node *n = &x->nodes[v];
    if (n->epoch != x->epoch)
        *n = (tree_node){.epoch = x->epoch, .in = RLT_NONE, .out = RLT_NONE};
    return n;
}

static int fail(rlt_net_core *c, int code, const char *text, uint32_t node)
{
    const rlt_net_tree *x = c->tree;
    char where[64], name[200];
    snprintf(where, sizeof(where), x->reduce ? "reduction to rank %u" : "multicast from rank %u",
             x->message->root);
    return rlt_sim_fail(c->sim, code, where, text,
                        rlt_topology_node_name(rlt_router_topology(c->router), node, name, sizeof(name)));
}

static int cannot(rlt_net_core *c, uint32_t node)
{
    return fail(
        c, RLT_EUNSUPPORTED,
        c->tree->message->all ? "%s cannot add up and replicate: switches need in_network=reduce+multicast"
        : c->tree->reduce     ? "%s cannot add up what comes together there: switches need in_network=reduce"
                              : "%s cannot replicate: switches need in_network=multicast",
        node);
}

static bool can(const rlt_net_core *c, uint32_t node)
{
    const rlt_net_tree *x = c->tree;
    uint32_t needed = x->message->all ? RLT_CAN_REDUCE | RLT_CAN_MULTICAST
                      : x->reduce     ? RLT_CAN_REDUCE
                                      : RLT_CAN_MULTICAST;
    return (rlt_topology_in_network(rlt_router_topology(c->router), node) & needed) == needed;
}

/* Adds a link in the direction of travel. */
static int use(rlt_net_core *c, uint32_t link, uint32_t role)
{
    uint64_t bw = rlt_router_link_Bps(c->router, link);
    if (bw == 0) { /* a cable may fail in one direction only */
        c->tree->blocked = link;
        return RLT_ESTALL;
    }
    if (bw < c->tree->bw_Bps)
        c->tree->bw_Bps = bw;
    return rlt__shares_push(c, link, role)
               ? rlt_sim_fail(c->sim, RLT_ENOMEM, NULL, "no memory for one more message")
               : 0;
}

static int visit(rlt_net_core *c, uint32_t node)
{
    rlt_net_tree *x = c->tree;
    if (x->n_visited == x->room && rlt_grow(&x->visited, &x->room, sizeof(*x->visited),
                                            (uint64_t)x->n_visited + 1, UINT32_MAX, "nodes", NULL))
        return rlt_sim_fail(c->sim, RLT_ENOMEM, NULL, "no memory for one more message");
    x->visited[x->n_visited++] = node;
    return 0;
}

/* Finds the other direction of a cable. */
static int turn(rlt_net_core *c, uint32_t link, uint32_t *back)
{
    const rlt_topology *t = rlt_router_topology(c->router);
    *back = rlt_topology_reverse(t, link);
    return *back != RLT_NONE
               ? 0
               : fail(c, RLT_EUNSUPPORTED, "a link from %s has no counterpart in the other direction",
                      rlt_topology_link(t, link).src);
}

/* Adds the other direction of a link of a sum for all. */
static int add_back(rlt_net_core *c, uint32_t link, bool first, bool last, bool seen, rlt_time *latency)
{
    uint32_t back, role = first ? RLT_TREE_LAST : last ? RLT_TREE_FIRST : RLT_TREE_INNER;
    int rc = turn(c, link, &back);
    if (rc)
        return rc;
    *latency = rlt_time_add(*latency, rlt_topology_link(rlt_router_topology(c->router), back).latency_ps);
    return seen ? 0 : use(c, back, role);
}

/* Adds a link of the route from a rank towards the root. first, last: it is the first or last link of the
 * route. */
static int add_link(rlt_net_core *c, uint32_t link, bool first, bool last, rlt_time latency[2])
{
    const rlt_topology *t = rlt_router_topology(c->router);
    rlt_net_tree *x = c->tree;
    rlt_link l = rlt_topology_link(t, link);
    tree_node *from = node_at(x, l.src);
    uint32_t travel = link, role = (x->reduce ? first : last)   ? RLT_TREE_FIRST
                                   : (x->reduce ? last : first) ? RLT_TREE_LAST
                                                                : RLT_TREE_INNER;
    int rc;
    if (from->out != RLT_NONE && from->out != link)
        return fail(c, RLT_EUNSUPPORTED, "routes part at %s: they are no tree (try the routing dmodk)",
                    l.src);
    from->out = link;
    if (!x->reduce && (rc = turn(c, link, &travel)) != 0)
        return rc;
    latency[0] =
        rlt_time_add(latency[0], travel == link ? l.latency_ps : rlt_topology_link(t, travel).latency_ps);
    bool seen = x->link_epoch[link] == x->epoch;
    if (x->message->all && (rc = add_back(c, link, first, last, seen, &latency[1])) != 0)
        return rc;
    if (seen)
        return 0;
    x->link_epoch[link] = x->epoch;
    tree_node *to = node_at(x, l.dst);
    to->inputs++;
    to->in = link;
    rc = visit(c, l.dst);
    return rc ? rc : use(c, travel, role);
}

static int add_rank(rlt_net_core *c, uint32_t rank)
{
    rlt_net_tree *x = c->tree;
    rlt_path p;
    rlt_time latency[2] = {0, 0};
    int rc = rlt_route(c->router, rank, x->message->root, x->message->route_key, &p);
    if (rc == RLT_ESTALL)
        x->blocked = rlt_router_blocked(c->router);
    if (rc)
        return rc == RLT_ESTALL
                   ? rc
                   : rlt__net_no_route(c, &(rlt_message){.src = rank, .dst = x->message->root}, rc);
    if (p.n == 0) {
        x->root_sends = true;
        return 0;
    }
    uint32_t here = rlt_topology_link(rlt_router_topology(c->router), p.links[0]).src;
    node_at(x, here)->inputs++;
    rc = visit(c, here);
    for (uint32_t i = 0; i < p.n && !rc; i++)
        rc = add_link(c, p.links[i], i == 0, i + 1 == p.n, latency);
    if (latency[0] > x->latency_ps)
        x->latency_ps = latency[0];
    if (latency[1] > x->back_ps)
        x->back_ps = latency[1];
    return rc;
}

/* Finds the first node from the root on that can do the operation; *top. */
static int find_top(rlt_net_core *c, uint32_t root, uint32_t *top)
{
    const rlt_topology *t = rlt_router_topology(c->router);
    uint32_t v = root, blame = RLT_NONE;
    do {
        uint32_t in = node_at(c->tree, v)->in;
        if (in == RLT_NONE)
            return cannot(c, blame != RLT_NONE ? blame : v);
        v = rlt_topology_link(t, in).src;
        if (rlt_topology_node_kind(t, v) == RLT_SWITCH)
            blame = v;
    } while (!can(c, v));
    *top = v;
    return 0;
}

/* Adds the root's own part: from the root to the first node that can do the operation, and back. */
static int add_root(rlt_net_core *c)
{
    const rlt_topology *t = rlt_router_topology(c->router);
    rlt_net_tree *x = c->tree;
    uint32_t root = rlt_placed(rlt_router_placement(c->router), x->message->root), top = root, back;
    rlt_time up = 0, down = 0;
    int rc = find_top(c, root, &top);
    for (uint32_t v = root; !rc && v != top;) {
        uint32_t in = node_at(x, v)->in, role = v != root   ? RLT_TREE_INNER
                                                : x->reduce ? RLT_TREE_FIRST
                                                            : RLT_TREE_LAST;
        rlt_link l = rlt_topology_link(t, in);
        if ((rc = turn(c, in, &back)) != 0)
            return rc;
        down = rlt_time_add(down, l.latency_ps);
        up = rlt_time_add(up, rlt_topology_link(t, back).latency_ps);
        if (!x->message->all) /* a sum for all has both directions already */
            rc = use(c, x->reduce ? back : in, role);
        v = l.src;
    }
    rlt_time there = x->latency_ps > down ? x->latency_ps - down : 0,
             back_ps = x->back_ps > up ? x->back_ps - up : 0;
    if (x->message->all)
        x->latency_ps = rlt_time_add(there > up ? there : up, back_ps > down ? back_ps : down);
    else if (rlt_time_add(up, down) > x->latency_ps)
        x->latency_ps = rlt_time_add(up, down);
    return rc;
}

/* Finds all links of the current tree. */
static int grow(rlt_net_core *c)
{
    rlt_net_tree *x = c->tree;
    const rlt_tree_message *m = x->message;
    int rc = 0;
    for (uint32_t i = 0; i < m->n && !rc; i++)
        rc = add_rank(c, m->ranks ? m->ranks[i] : i);
    for (uint32_t i = 0; i < x->n_visited && !rc; i++)
        if (node_at(x, x->visited[i])->inputs > 1 && !can(c, x->visited[i]))
            rc = cannot(c, x->visited[i]);
    if (!rc && x->root_sends && c->shares.n)
        rc = add_root(c);
    return rc;
}

static kept_tree *slot_of(const rlt_net_tree *x)
{
    const rlt_tree_message *m = x->message;
    uint64_t h = rlt_mix64((uint64_t)m->root << 32 | m->n) + (x->reduce ? 1 : 0) + (m->all ? 2 : 0);
    return &x->kept[rlt_mix64(h + (m->ranks && m->n ? m->ranks[0] : 0)) % SLOTS];
}

/* Takes the tree from the table, if it is there. */
static int recall(rlt_net_core *c, bool *found)
{
    rlt_net_tree *x = c->tree;
    const rlt_tree_message *m = x->message;
    const kept_tree *k = slot_of(x);
    uint32_t ranks = m->ranks ? m->n : 0;
    *found = m->n && k->n == m->n && k->root == m->root && k->reduce == x->reduce && k->all == m->all &&
             k->n_ranks == ranks && k->route_key == (m->route_key & rlt_router_key_mask(c->router)) &&
             !memcmp(k->words, ranks ? m->ranks : k->words, ranks * sizeof(*k->words));
    if (!*found)
        return 0;
    while (c->shares.room < k->n_links) /* makes room */
        if (rlt__shares_push(c, 0, 0))
            return rlt_sim_fail(c->sim, RLT_ENOMEM, NULL, "no memory for one more message");
    c->shares.n = k->n_links;
    if (k->n_links) {
        memcpy(c->shares.links, k->words + ranks, k->n_links * sizeof(*k->words));
        memcpy(c->shares.times, k->words + ranks + k->n_links, k->n_links * sizeof(*k->words));
    }
    x->latency_ps = k->latency_ps;
    x->bw_Bps = k->bw_Bps;
    return 0;
}

/* Puts the current tree into the table, while there is room. Sprayed routes change with every message. */
static void keep(rlt_net_core *c)
{
    rlt_net_tree *x = c->tree;
    const rlt_tree_message *m = x->message;
    kept_tree *k = slot_of(x);
    uint32_t ranks = m->ranks ? m->n : 0, n = c->shares.n;
    x->kept_words -= k->n_ranks + 2 * k->n_links;
    free(k->words);
    *k = (kept_tree){.words = NULL};
    if (rlt_router_routing(c->router) == RLT_ROUTE_SPRAY || n > MAX_KEPT_WORDS / 4 ||
        ranks + 2 * n > MAX_KEPT_WORDS - x->kept_words)
        return;
    k->words = malloc((ranks + 2 * (size_t)n + 1) * sizeof(*k->words));
    if (!k->words)
        return;
    if (ranks)
        memcpy(k->words, m->ranks, ranks * sizeof(*k->words));
    for (uint32_t i = 0; i < n; i++) {
        k->words[ranks + i] = c->shares.links[i];
        k->words[ranks + n + i] = c->shares.times[i];
    }
    x->kept_words += ranks + 2 * n;
    k->route_key = m->route_key & rlt_router_key_mask(c->router);
    k->bw_Bps = x->bw_Bps;
    k->latency_ps = x->latency_ps;
    k->root = m->root;
    k->n = m->n;
    k->n_ranks = ranks;
    k->n_links = n;
    k->reduce = x->reduce;
    k->all = m->all;
}

static int find(rlt_net_core *c)
{
    bool found;
    int rc = recall(c, &found);
    if (rc || found)
        return rc;
    rc = grow(c);
    if (!rc)
        keep(c);
    return rc;
}

int rlt__net_tree(rlt_net_core *c, const rlt_tree_message *m, bool reduce, rlt_leg *leg)
{
    const rlt_topology *t = rlt_router_topology(c->router);
    if (!c->tree && tree_create(t, &c->tree) != 0) {
        rlt__net_tree_free(c); /* another transfer of this instant builds its own */
        return rlt_sim_fail(c->sim, RLT_ENOMEM, NULL, "no memory for a tree");
    }
    rlt_net_tree *x = c->tree;
    next_epoch(x, t);
    x->message = m;
    x->reduce = reduce;
    c->shares.n = 0;
    int rc = find(c);
    if (rc == RLT_ESTALL)
        return rlt__net_park_tree(c, m, reduce, x->blocked);
    if (rc)
        return rc;
    uint64_t count = m->count ? m->count : 1, bytes = m->bytes * count,
             others = m->n ? bytes * (m->n - 1) : 0;
    c->base.messages += (reduce ? m->n : 1) * count;
    c->base.bytes_offered += reduce ? bytes + others : bytes;
    c->base.bytes_absorbed += reduce ? others : 0;
    c->base.bytes_replicated += !reduce || m->all ? others : 0;
    leg->path = (rlt_path){.n = c->shares.n, .latency_ps = x->latency_ps, .bw_Bps = x->bw_Bps};
    /* Members in order: if any two are on different nodes, the first and the last are. */
    uint32_t first = m->ranks && m->n ? m->ranks[0] : 0, end = m->n ? m->n - 1 : 0;
    uint32_t last = m->ranks && m->n ? m->ranks[end] : end;
    return rlt__net_leg_slow(
        c, &(rlt_message){.src = first, .dst = last, .bytes = m->bytes, .tuning = m->tuning}, leg);
}
