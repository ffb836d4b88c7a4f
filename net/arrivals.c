/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Messages that arrive at one instant, for models in which their order matters. */
#include "net/network_internal.h"
#include "sim/base/mem.h"
#include "sim/sim.h"

void rlt__line_up(rlt_net_core *c, rlt_arrivals *line, const rlt_arrival *a)
{
    const uint64_t room = 2 * ((uint64_t)line->n + 1);
    if (room > line->room &&
        rlt_grow(&line->items, &line->room, sizeof *line->items, room, UINT32_MAX, "messages", NULL)) {
        rlt_sim_fail(c->sim, RLT_ENOMEM, NULL, "no memory for one more message");
        return;
    }
    if (line->n == 0)
        rlt_sim_post(c->sim, rlt_sim_now(c->sim), RLT_START, line->serve, 0);
    line->items[line->n++] = *a;
}

static inline bool comes_before(const rlt_arrival *x, const rlt_arrival *y)
{
    if (x->port != y->port)
        return x->port < y->port;
    return x->rx != y->rx ? x->rx < y->rx : x->tx < y->tx;
}

/* Returns the end of the ascending run that begins at `from`. */
static uint32_t run_end(const rlt_arrival *a, uint32_t from, uint32_t n)
{
    uint32_t end = from + 1;
    while (end < n && !comes_before(&a[end], &a[end - 1]))
        end++;
    return end < n ? end : n;
}

static void merge(const rlt_arrival *a, uint32_t from, uint32_t middle, uint32_t end, rlt_arrival *out)
{
    uint32_t i = from, k = middle;
    for (uint32_t to = from; to < end; to++)
        out[to] = k == end || (i < middle && !comes_before(&a[k], &a[i])) ? a[i++] : a[k++];
}

/* Merges runs in pairs until one is left. Members send in the order of their numbers, most often all to the
 * member that is as many places on: that makes two runs. */
const rlt_arrival *rlt__line_take(rlt_arrivals *line)
{
    rlt_arrival *a = line->items, *other = a + line->room / 2;
    const uint32_t n = line->n;
    while (run_end(a, 0, n) < n) {
        for (uint32_t from = 0, end; from < n; from = end) {
            uint32_t middle = run_end(a, from, n);
            end = run_end(a, middle, n);
            merge(a, from, middle, end, other);
        }
        rlt_arrival *merged = other;
        other = a;
        a = merged;
    }
    line->n = 0;
    return a;
}
