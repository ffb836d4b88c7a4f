/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collectives/nodes/full_rings.h"

#include <string.h>

enum { LEAST = 3, MOST = 32, EIGHT = 8 };

/* Found by search; test/collectives/nodes/full_rings.c proves it. */
static const uint8_t of_eight[EIGHT - 1][EIGHT] = {
    {0, 1, 2, 3, 4, 5, 6, 7}, {0, 6, 1, 7, 3, 2, 5, 4}, {0, 3, 7, 6, 2, 4, 1, 5}, {0, 4, 7, 2, 6, 5, 3, 1},
    {0, 2, 7, 4, 3, 5, 1, 6}, {0, 7, 5, 2, 1, 4, 6, 3}, {0, 5, 7, 1, 3, 6, 4, 2},
};

uint32_t rlt_full_rings(const rlt_coll_request *req)
{
    bool halves =
        req->kind == RLT_ALL_REDUCE || req->kind == RLT_REDUCE_SCATTER || req->kind == RLT_ALL_GATHER;
    if (!halves || req->n_rings || req->params.directions > 1 || req->n < LEAST || req->n > MOST)
        return 0;
    for (uint32_t d = 0; d < req->n_dims; d++)
        if (req->dims[d] == req->n)
            return req->shapes[d] && !strcmp(req->shapes[d], "fully-connected") ? rlt_full_ring_count(req->n)
                                                                                : 0;
    return 0;
}

uint32_t rlt_full_ring_count(uint32_t n)
{
    return n == EIGHT ? EIGHT - 1 : n % 2 ? n - 1 : 2 * (n - 1);
}

/* Cycle r of the zigzags r, r + 1, r - 1, r + 2, ... over a circle of all members but the last, which closes
 * it. For n odd no two of them share a directed link; for n even each pair of members is joined twice. */
static void zigzag(uint32_t n, uint32_t r, uint32_t *cycle)
{
    cycle[0] = n - 1;
    for (uint32_t i = 0; i + 1 < n; i++)
        cycle[i + 1] = (r + (i % 2 ? (i + 1) / 2 : n - 1 - i / 2)) % (n - 1);
}

void rlt_full_ring(uint32_t n, uint32_t c, uint32_t *order)
{
    uint32_t first[MOST], number[MOST], cycle[MOST], ways = n % 2 ? 1 : 2;
    c %= rlt_full_ring_count(n);
    for (uint32_t i = 0; n == EIGHT && i < n; i++)
        order[i] = of_eight[c][i];
    if (n == EIGHT)
        return;
    zigzag(n, 0, first);
    zigzag(n, c / ways, cycle);
    for (uint32_t i = 0; i < n; i++)
        number[first[i]] = i;
    for (uint32_t i = 0; i < n; i++)
        order[i] = number[cycle[c % ways ? n - 1 - i : i]];
}
