/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The part of link changes that all models share: the event, and messages without a route over working links.
 * These are parked, unsent, and sent when links come back.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/endpoint/endpoint.h"
#include "net/network.h"
#include "net/network_internal.h"
#include "net/route.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

typedef enum parked_kind { PARKED_MESSAGE, PARKED_REDUCE, PARKED_MULTICAST } parked_kind;

struct rlt__parked {
    parked_kind kind;
    rlt_message message;
    rlt_tree_message tree; /* its ranks are owned here, or NULL */
    rlt_tuning tuning;
    bool tuned;
    uint32_t blocked; /* failed link in the way */
};

uint64_t rlt__net_link_Bps(const rlt_net_core *c, uint32_t link)
{
    uint64_t bw = rlt_router_link_Bps(c->router, link);
    return bw ? rlt__scaled_bw(bw, c->bandwidth_scale) : 0;
}

char *rlt__net_failed_name(const rlt_net_core *c, uint32_t link, char *buffer, size_t size)
{
    const rlt_topology *t = rlt_router_topology(c->router);
    rlt_link l = rlt_topology_link(t, link);
    char from[72], to[72];
    snprintf(buffer, size, "link %u (%s->%s), which has failed", link,
             rlt_topology_node_name(t, l.src, from, sizeof(from)),
             rlt_topology_node_name(t, l.dst, to, sizeof(to)));
    return buffer;
}

/* ---- parked messages ---- */

static rlt__parked *park(rlt_net_core *c, const rlt_tuning *tuning, uint32_t blocked)
{
    if (rlt_grow(&c->parked, &c->parked_room, sizeof(*c->parked), (uint64_t)c->n_parked + 1, UINT32_MAX,
                 "messages", NULL)) {
        rlt_sim_fail(c->sim, RLT_ENOMEM, NULL, "no memory for one more message");
        return NULL;
    }
    rlt__parked *p = &c->parked[c->n_parked++];
    *p = (rlt__parked){.tuned = tuning != NULL, .blocked = blocked};
    if (tuning)
        p->tuning = *tuning;
    return p;
}

int rlt__net_park(rlt_net_core *c, const rlt_message *m)
{
    rlt__parked *p = park(c, m->tuning, rlt_router_blocked(c->router));
    if (p) {
        p->kind = PARKED_MESSAGE;
        p->message = *m;
    }
    return RLT_ESTALL;
}

int rlt__net_park_tree(rlt_net_core *c, const rlt_tree_message *m, bool reduce, uint32_t blocked)
{
    uint32_t *ranks = m->ranks ? malloc((m->n ? (size_t)m->n : 1) * sizeof(*ranks)) : NULL;
    rlt__parked *p = m->ranks && !ranks ? NULL : park(c, m->tuning, blocked);
    if (!p) {
        free(ranks);
        rlt_sim_fail(c->sim, RLT_ENOMEM, NULL, "no memory for one more message");
        return RLT_ESTALL;
    }
    if (ranks)
        memcpy(ranks, m->ranks, m->n * sizeof(*ranks));
    p->kind = reduce ? PARKED_REDUCE : PARKED_MULTICAST;
    p->tree = *m;
    p->tree.ranks = ranks;
    return RLT_ESTALL;
}

uint64_t rlt__net_parked(const rlt_net_core *c, char *text, size_t size)
{
    char link[200];
    if (c->n_parked == 0)
        return 0;
    const rlt__parked *p = &c->parked[0];
    rlt__net_failed_name(c, p->blocked, link, sizeof(link));
    if (p->kind == PARKED_MESSAGE)
        snprintf(text, size, "%u not sent, such as the message from rank %u to rank %u, which waits for %s",
                 c->n_parked, p->message.src, p->message.dst, link);
    else
        snprintf(text, size, "%u not sent, such as the %s rank %u, which waits for %s", c->n_parked,
                 p->kind == PARKED_REDUCE ? "reduction to" : "multicast from", p->tree.root, link);
    return c->n_parked;
}

static void on_tell(void *ctx, uint64_t payload)
{
    rlt_net_core *c = ctx;
    uint64_t tx = *(const uint64_t *)rlt_pool_at(&c->told, (uint32_t)payload);
    rlt_pool_put(&c->told, (uint32_t)payload);
    c->client.injected(c->client.ctx, tx);
}

/* Reports an injection later, since the client was told at issue that this would happen. */
static void tell_at(rlt_net_core *c, uint64_t tx, rlt_time when)
{
    uint32_t i = rlt_pool_get(&c->told);
    if (i == RLT_NONE) {
        rlt_sim_fail(c->sim, RLT_ENOMEM, NULL, "no memory for one more message");
        return;
    }
    *(uint64_t *)rlt_pool_at(&c->told, i) = tx;
    rlt_sim_post(c->sim, when, RLT_COMPLETE, c->tell, i);
}

static void send_parked(rlt_net_core *c, rlt__parked *p)
{
    const rlt_net_model *model = c->base.model;
    const rlt_tuning *tuning = p->tuned ? &p->tuning : NULL;
    rlt_time then;
    p->message.tuning = p->tree.tuning = tuning;
    if (p->kind == PARKED_MESSAGE)
        then = model->send(&c->base, &p->message);
    else
        then = (p->kind == PARKED_REDUCE ? model->reduce_to : model->multicast)(&c->base, &p->tree);
    if (then >= 0)
        tell_at(c, p->kind == PARKED_MESSAGE ? p->message.tx : p->tree.tx, then);
}

/* Sends all parked messages in their original order. Messages that still have no route are parked again. */
static void send_all_parked(rlt_net_core *c)
{
    rlt__parked *list = c->parked;
    uint32_t n = c->n_parked;
    c->parked = NULL;
    c->n_parked = c->parked_room = 0;
    for (uint32_t i = 0; i < n; i++) {
        send_parked(c, &list[i]);
        free((void *)(uintptr_t)list[i].tree.ranks);
    }
    free(list);
}

/* ---- the event ---- */

static uint64_t changed_Bps(const rlt_net_core *c, uint32_t link, double factor)
{
    return factor > 0 ? rlt__scaled_bw(rlt_topology_link(rlt_router_topology(c->router), link).bw_Bps, factor)
                      : 0;
}

void rlt_net_link_event(rlt_net *net, const uint32_t *links, uint32_t n, double factor)
{
    rlt_net_core *c = (rlt_net_core *)net;
    if (!(factor >= 0) || factor > 1e6 || c->changes == RLT_LINKS_STAY ||
        (factor == 0 && c->changes != RLT_LINKS_FAIL)) {
        rlt_sim_fail(c->sim, RLT_EUSAGE, "link event",
                     "a link event with factor %g in a network that was not set up for it", factor);
        return;
    }
    for (uint32_t i = 0; i < n; i++)
        if (rlt_router_set_link(c->router, links[i], changed_Bps(c, links[i], factor)) != 0) {
            rlt_sim_fail(c->sim, RLT_ENOMEM, "link event", "no memory");
            return;
        }
    rlt__net_tree_free(c); /* trees that were found over other links */
    net->model->relink(net, links, n);
    send_all_parked(c);
}

int rlt__net_changes_init(rlt_net_core *c, const rlt_net_config *cfg, rlt_error *err)
{
    rlt_pool_init(&c->told, sizeof(uint64_t));
    c->changes = cfg->changes;
    if (cfg->changes == RLT_LINKS_STAY)
        return 0;
    if (cfg->fold)
        return rlt_fail(err, RLT_EUNSUPPORTED, NULL, "links of a folded network cannot change");
    return rlt_sim_register(cfg->sim, c, &(rlt_handler_entry){on_tell, &c->tell}, 1, err);
}

void rlt__net_changes_fini(rlt_net_core *c)
{
    for (uint32_t i = 0; i < c->n_parked; i++)
        free((void *)(uintptr_t)c->parked[i].tree.ranks);
    free(c->parked);
    rlt_pool_free(&c->told);
}
