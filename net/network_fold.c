/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The number of messages that a message stands for on each link of its path, if it is not always one: in a
 * folded network, and if a route crosses a link twice. */
#include <stdio.h>

#include "net/fold.h"
#include "net/network.h"
#include "net/network_internal.h"
#include "net/route.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

int rlt__shares_push(rlt_net_core *c, uint32_t link, uint32_t times)
{
    rlt_shares *s = &c->shares;
    if (s->n == s->room) {
        uint32_t room = s->room;
        int rc = rlt_grow(&s->times, &room, sizeof(*s->times), (uint64_t)s->n + 1, UINT32_MAX, "links", NULL);
        if (!rc)
            rc = rlt_grow(&s->links, &s->room, sizeof(*s->links), (uint64_t)s->n + 1, UINT32_MAX, "links",
                          NULL);
        if (rc)
            return rc;
    }
    s->links[s->n] = link;
    s->times[s->n++] = times;
    return 0;
}

static int add(rlt_net_core *c, uint32_t link)
{
    rlt_shares *s = &c->shares;
    uint32_t *at = &s->at[link];
    if (*at < s->n && s->links[*at] == link) {
        s->times[*at]++;
        return 0;
    }
    *at = s->n;
    return rlt__shares_push(c, link, 1);
}

/* Stores pairs (link, count) in runs, from the end, so that each run knows its successor. */
int rlt__shares_keep(rlt_net_core *c, uint32_t *first)
{
    enum { PAIRS = RLT_RUN_LINKS / 2 };
    const rlt_shares *s = &c->shares;
    uint32_t next = RLT_NONE, n = s->n;
    while (n) {
        uint32_t k = (n - 1) % PAIRS + 1, i = rlt_pool_get(&c->path_runs);
        if (i == RLT_NONE) {
            rlt__path_drop(c, next);
            return RLT_ENOMEM;
        }
        rlt_path_run *r = rlt__path_run(c, i);
        n -= k;
        r->next = next;
        r->n = 2 * k;
        for (uint32_t p = 0; p < k; p++) {
            r->links[2 * p] = s->links[n + p];
            r->links[2 * p + 1] = s->times[n + p];
        }
        next = i;
    }
    *first = next;
    return 0;
}

int rlt__shares_load(rlt_net_core *c, uint32_t first)
{
    int rc = 0;
    c->shares.n = 0;
    for (uint32_t i = first; i != RLT_NONE && !rc; i = rlt__path_run(c, i)->next) {
        const rlt_path_run *r = rlt__path_run(c, i);
        for (uint32_t p = 0; p < r->n && !rc; p += 2)
            rc = rlt__shares_push(c, r->links[p], r->links[p + 1]);
    }
    return rc;
}

static int uneven(rlt_net_core *c, const rlt_message *m, uint32_t class, uint64_t messages)
{
    char where[64];
    snprintf(where, sizeof(where), "message from rank %u to rank %u", m->src, m->dst);
    return rlt_sim_fail(c->sim, RLT_ETOPOLOGY, where,
                        "%llu messages do not fall evenly on the %u links of class %u of the folded network",
                        (unsigned long long)messages, c->fold->size[class], class);
}

int rlt__net_shares(rlt_net_core *c, const rlt_message *m, const uint32_t *links, uint32_t n)
{
    rlt_shares *s = &c->shares;
    s->n = 0;
    for (uint32_t i = 0; i < n; i++)
        if (c->fold || c->may_loop ? add(c, c->fold ? rlt_net_fold_class(c->fold, links[i]) : links[i])
                                   : rlt__shares_push(c, links[i], 1))
            return rlt_sim_fail(c->sim, RLT_ENOMEM, NULL, "no memory for one more message");
    for (uint32_t i = 0; c->fold && i < s->n; i++) {
        uint64_t messages = (uint64_t)s->times[i] * rlt__message_count(m), size = c->fold->size[s->links[i]];
        if (messages % size || messages / size > UINT32_MAX)
            return uneven(c, m, s->links[i], messages);
        s->times[i] = (uint32_t)(messages / size);
    }
    return 0;
}

/* Finds the class of a port, and how many of the messages that m stands for use each such port at once. */
static int port_class(rlt_net_core *c, const rlt_message *m, uint32_t link, uint32_t *class, uint32_t *times)
{
    int rc = rlt__net_shares(c, m, &link, 1);
    if (rc)
        return rc;
    *class = c->shares.links[0];
    *times = c->shares.times[0];
    return 0;
}

int rlt__net_ports(rlt_net_core *c, const rlt_message *m, const rlt_path *p, uint32_t ends[2],
                   uint32_t *arriving)
{
    uint32_t leaving = 1;
    ends[0] = p->links[0];
    ends[1] = p->links[p->n - 1];
    *arriving = 1;
    if (!c->fold)
        return 0;
    int rc = port_class(c, m, ends[1], &ends[1], arriving);
    if (!rc)
        rc = port_class(c, m, ends[0], &ends[0], &leaving);
    if (rc || leaving == 1)
        return rc;
    char where[64];
    snprintf(where, sizeof(where), "message from rank %u to rank %u", m->src, m->dst);
    return rlt_sim_fail(c->sim, RLT_EUNSUPPORTED, where,
                        "%u messages are on a send port of the folded network at once", leaving);
}
