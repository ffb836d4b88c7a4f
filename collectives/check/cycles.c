/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Edge-disjoint Hamiltonian cycles: Walecki's for complete graphs, a randomised search for others. */
#include "collectives/check/cycles.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/random.h"
#include "sim/base/time.h"

/* Budget in visited nodes, after which no attempt begins: a tenth of a second. */
#define MAX_WORK ((uint64_t)1 << 27)
enum { PURPOSE = 0xc7c1e, ATTEMPTS = 64, TRIES = 12, ROTATIONS = 40, EXCHANGES = 4000 };

typedef struct search {
    uint32_t n, max, k; /* nodes, cycles wanted, cycles so far */
    uint8_t *left;      /* multiplicity of edges that are in no cycle yet */
    uint32_t *orders;   /* the cycles so far */
    uint32_t *path, *place;
    uint32_t (*next)[2]; /* neighbours of (cycle, node), for exchanges */
    uint32_t attempt;
    uint64_t drawn, work;
} search;

static uint32_t below(search *s, uint32_t n)
{
    return (uint32_t)rlt_random_below(0, s->attempt, PURPOSE, s->drawn++, n);
}

/* Number of free edges from a node to nodes outside the path. */
static uint32_t ways(search *s, uint32_t node)
{
    uint32_t count = 0;
    s->work += s->n;
    for (uint32_t v = 0; v < s->n; v++)
        count += s->left[node * s->n + v] && s->place[v] == RLT_NONE;
    return count;
}

/* Returns the neighbour outside the path with the fewest ways on, ties broken at random; RLT_NONE if there is
 * none. */
static uint32_t best_extension(search *s, uint32_t end)
{
    uint32_t best = RLT_NONE, least = UINT32_MAX, equal = 0;
    for (uint32_t v = 0; v < s->n; v++) {
        if (!s->left[end * s->n + v] || s->place[v] != RLT_NONE)
            continue;
        uint32_t w = ways(s, v);
        equal = w < least ? 1 : equal + (w == least);
        if (w < least || (w == least && below(s, equal) == 0))
            best = v;
        least = w < least ? w : least;
    }
    return best;
}

/* Reverses path[from ..= to]. */
static void reverse(search *s, uint32_t from, uint32_t to)
{
    for (; from < to; from++, to--) {
        uint32_t a = s->path[from], b = s->path[to];
        s->path[from] = b;
        s->path[to] = a;
        s->place[b] = from;
        s->place[a] = to;
    }
}

/* Rotates the path: joins its end to a random neighbour inside it, whose successor becomes the new end. */
static bool rotate(search *s, uint32_t length)
{
    uint32_t end = s->path[length - 1], count = 0, at = RLT_NONE;
    for (uint32_t v = 0; v < s->n; v++)
        if (s->left[end * s->n + v] && s->place[v] != RLT_NONE && s->place[v] + 2 < length &&
            below(s, ++count) == 0)
            at = s->place[v];
    if (at == RLT_NONE)
        return false;
    reverse(s, at + 1, length - 1);
    return true;
}

/* Tries to find one cycle through all nodes along free edges, in s->path. */
static bool grow(search *s)
{
    uint32_t length = 0, budget = ROTATIONS * s->n;
    memset(s->place, 0xff, s->n * sizeof *s->place);
    s->path[length] = below(s, s->n);
    s->place[s->path[length++]] = 0;
    while (budget-- && s->work < MAX_WORK) {
        s->work += s->n;
        uint32_t end = s->path[length - 1], v = best_extension(s, end);
        if (v != RLT_NONE) {
            s->place[v] = length;
            s->path[length++] = v;
        } else if (length == s->n && s->left[end * s->n + s->path[0]]) {
            return true;
        } else {
            if (budget % 8 == 0)
                reverse(s, 0, length - 1);
            if (!rotate(s, length))
                return false;
        }
    }
    return false;
}

static void take(search *s)
{
    uint32_t *order = s->orders + (size_t)s->k * s->n;
    memcpy(order, s->path, s->n * sizeof *order);
    for (uint32_t i = 0; i < s->n; i++) {
        uint32_t u = order[i], v = order[(i + 1) % s->n];
        s->left[u * s->n + v]--;
        s->left[v * s->n + u]--;
    }
    s->k++;
}

/* Whether every node has exactly two free edges. If so, they become factor k, and `next` lists the neighbours
 * in all factors. */
static bool last_factor(search *s)
{
    for (uint32_t u = 0; u < s->n; u++) {
        uint32_t degree = 0;
        for (uint32_t v = 0; v < s->n; v++)
            for (uint32_t c = 0; c < s->left[u * s->n + v]; c++)
                if (degree < 2)
                    s->next[s->k * s->n + u][degree++] = v;
                else
                    return false;
        if (degree != 2)
            return false;
    }
    for (uint32_t c = 0; c < s->k; c++) {
        const uint32_t *order = s->orders + (size_t)c * s->n;
        for (uint32_t i = 0; i < s->n; i++) {
            s->next[c * s->n + order[i]][0] = order[(i + s->n - 1) % s->n];
            s->next[c * s->n + order[i]][1] = order[(i + 1) % s->n];
        }
    }
    return true;
}

/* Counts the closed pieces of a factor. s->path lists the nodes piece by piece. */
static uint32_t pieces(search *s, uint32_t factor)
{
    uint32_t(*next)[2] = s->next + (size_t)factor * s->n;
    uint32_t count = 0, length = 0;
    memset(s->place, 0xff, s->n * sizeof *s->place);
    for (uint32_t first = 0; first < s->n; first++) {
        if (s->place[first] != RLT_NONE)
            continue;
        uint32_t at = first, from = next[first][1];
        count++;
        while (s->place[at] == RLT_NONE) {
            uint32_t on = next[at][0] == from ? next[at][1] : next[at][0];
            s->place[at] = length;
            s->path[length++] = at;
            from = at;
            at = on;
        }
    }
    return count;
}

/* Replaces u's neighbour `was` in a factor by `is`. */
static void relink(search *s, uint32_t factor, uint32_t u, uint32_t was, uint32_t is)
{
    uint32_t *pair = s->next[factor * s->n + u];
    pair[pair[0] == was ? 0 : 1] = is;
}

/* Exchanges the edges a-b, c-d of factor f with the edges b-c, d-a of factor g. */
static void exchange(search *s, uint32_t f, uint32_t g, const uint32_t q[4])
{
    for (uint32_t i = 0; i < 4; i++) {
        uint32_t other_f = i % 2 ? q[i - 1] : q[i + 1], other_g = i % 2 ? q[(i + 1) % 4] : q[(i + 3) % 4];
        relink(s, f, q[i], other_f, other_g);
        relink(s, g, q[i], other_g, other_f);
    }
}

/* Draws a random square whose edges belong to f and g in turn. */
static bool find_square(search *s, uint32_t f, uint32_t g, uint32_t q[4])
{
    q[0] = below(s, s->n);
    q[1] = s->next[f * s->n + q[0]][below(s, 2)];
    q[2] = s->next[g * s->n + q[1]][below(s, 2)];
    q[3] = s->next[f * s->n + q[2]][below(s, 2)];
    const uint32_t *last = s->next[g * s->n + q[3]];
    return q[2] != q[0] && q[3] != q[1] && q[3] != q[0] && q[2] != q[1] &&
           (last[0] == q[0] || last[1] == q[0]);
}

/* Joins the pieces of the last factor into one cycle by exchanges that do not increase the total number of
 * pieces, and occasionally by others. */
static bool join(search *s)
{
    uint32_t factors = s->k + 1, squares = 0;
    uint32_t total = s->k + pieces(s, s->k);
    for (uint32_t i = 0; i < EXCHANGES * factors && total > factors; i++) {
        uint32_t f = below(s, factors), g = (f + 1 + below(s, factors - 1)) % factors, q[4];
        if (!find_square(s, f, g, q))
            continue;
        uint32_t before = pieces(s, f) + pieces(s, g);
        exchange(s, f, g, q);
        uint32_t after = pieces(s, f) + pieces(s, g);
        if (after > before && ++squares % 64)
            exchange(s, f, g, (const uint32_t[4]){q[1], q[2], q[3], q[0]});
        else
            total = total - before + after;
    }
    for (uint32_t c = 0; total == factors && c < factors; c++) {
        pieces(s, c);
        memcpy(s->orders + (size_t)c * s->n, s->path, s->n * sizeof *s->path);
    }
    return total == factors;
}

/* Finds as many cycles as one attempt can. */
static void find_cycles(search *s)
{
    while (s->k < s->max) {
        bool found = false;
        for (uint32_t i = 0; i < TRIES && !found; i++)
            found = grow(s);
        if (found) {
            take(s);
        } else {
            if (s->k && last_factor(s) && join(s))
                s->k++;
            return;
        }
    }
}

/* Writes a Walecki cycle. It zigzags over a circle of n - 1 nodes (n odd) or n - 2 nodes (n even), and closes
 * through one more node. If n is even, the last node is inserted into the middle edge, between opposite
 * nodes, which no other zigzag breaks. */
static void walecki(uint32_t n, uint32_t cycle, uint32_t *order)
{
    uint32_t circle = (n - 1) / 2 * 2;
    *order++ = circle;
    for (uint32_t i = 0; i < circle; i++) {
        uint32_t step = i % 2 ? (i + 1) / 2 : circle - i / 2;
        *order++ = (cycle + step) % circle;
        if (n % 2 == 0 && i == circle / 2 - 1)
            *order++ = n - 1;
    }
}

/* Smallest capacity between any two nodes. */
static uint32_t complete(uint32_t n, const uint8_t *capacity)
{
    uint32_t least = UINT32_MAX;
    for (uint32_t u = 0; u < n; u++)
        for (uint32_t v = 0; v < n; v++)
            if (u != v && capacity[u * n + v] < least)
                least = capacity[u * n + v];
    return least;
}

/* Upper bound on the number of cycles: half the edges of any node, at most `max`. */
static uint32_t most(uint32_t n, const uint8_t *capacity, uint32_t max)
{
    for (uint32_t u = 0; u < n; u++) {
        uint32_t degree = 0;
        for (uint32_t v = 0; v < n; v++)
            degree += u == v ? 0 : capacity[u * n + v];
        max = degree / 2 < max ? degree / 2 : max;
    }
    return max;
}

static bool allocate(search *s)
{
    size_t n = s->n;
    s->left = malloc(n * n);
    s->orders = malloc(s->max * n * sizeof *s->orders);
    s->path = malloc(n * sizeof *s->path);
    s->place = malloc(n * sizeof *s->place);
    s->next = malloc(s->max * n * sizeof *s->next);
    return s->left && s->orders && s->path && s->place && s->next;
}

int rlt_cycles_find(uint32_t n, const uint8_t *capacity, uint32_t max, uint32_t *orders, uint32_t *found,
                    rlt_error *err)
{
    search s = {.n = n, .max = most(n, capacity, max)};
    uint32_t times = n > 2 ? complete(n, capacity) : 0;
    int rc = 0;
    *found = 0;
    if (n < 3 || n > RLT_CYCLES_MAX_NODES || s.max == 0)
        return 0;
    while (times && *found < s.max && *found < times * ((n - 1) / 2)) {
        walecki(n, *found % ((n - 1) / 2), orders + (size_t)*found * n);
        ++*found;
    }
    if (*found == s.max)
        return 0;
    if (!allocate(&s))
        rc = rlt_nomem(err);
    for (s.attempt = 0; rc == 0 && s.attempt < ATTEMPTS && *found < s.max && s.work < MAX_WORK; s.attempt++) {
        s.k = 0;
        s.drawn = 0;
        memcpy(s.left, capacity, (size_t)n * n);
        for (uint32_t u = 0; u < n; u++)
            s.left[u * n + u] = 0;
        find_cycles(&s);
        if (s.k > *found)
            memcpy(orders, s.orders, (size_t)s.k * n * sizeof *orders);
        *found = s.k > *found ? s.k : *found;
    }
    free(s.next);
    free(s.place);
    free(s.path);
    free(s.orders);
    free(s.left);
    return rc;
}
