/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages that arrive at one instant, for models in which their order matters. */
#include <stdlib.h>
#include <string.h>

#include "net/network_internal.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/sim.h"

void rlt__line_up(rlt_net_core *c, rlt_arrivals *line, const rlt_arrival *a)
{
    if (rlt_grow(&line->items, &line->room, sizeof *line->items, (uint64_t)line->n + 1, UINT32_MAX,
                 "messages", NULL)) {
        rlt_sim_fail(c->sim, RLT_ENOMEM, NULL, "no memory for one more message");
        return;
    }
    if (line->n == 0)
        rlt_sim_post(c->sim, rlt_sim_now(c->sim), RLT_START, line->serve, 0);
    line->items[line->n++] = *a;
}

static int compare_arrivals(const void *x, const void *y)
{
    const rlt_arrival *a = x, *b = y;
    if (a->port != b->port)
        return a->port < b->port ? -1 : 1;
    if (a->rx != b->rx)
        return a->rx < b->rx ? -1 : 1;
    return a->tx < b->tx ? -1 : a->tx > b->tx;
}

uint32_t rlt__line_sort(rlt_arrivals *line)
{
    qsort(line->items, line->n, sizeof *line->items, compare_arrivals);
    return line->n;
}

void rlt__line_served(rlt_net_core *c, rlt_arrivals *line, uint32_t n)
{
    line->n -= n;
    memmove(line->items, line->items + n, line->n * sizeof *line->items);
    if (line->n)
        rlt_sim_post(c->sim, rlt_sim_now(c->sim), RLT_START, line->serve, 0);
}
