/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Splits a topology. A node belongs to the machine with the nearest accelerators, in links. If those of two
 * machines are equally near, it belongs to the network and is a group of its own.
 */
#include "net/import/infragraph/split.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"

/* ---- cables ---- */

/* A directed link with its ends in order. */
typedef struct directed {
    uint32_t low, high;
    bool back; /* from high to low */
    uint64_t bw_Bps;
    rlt_time latency_ps;
} directed;

static int by_ends(const void *a, const void *b)
{
    const directed *x = a, *y = b;
    if (x->low != y->low)
        return x->low < y->low ? -1 : 1;
    if (x->high != y->high)
        return x->high < y->high ? -1 : 1;
    if (x->back != y->back)
        return x->back ? 1 : -1;
    if (x->bw_Bps != y->bw_Bps)
        return x->bw_Bps < y->bw_Bps ? -1 : 1;
    return (x->latency_ps > y->latency_ps) - (x->latency_ps < y->latency_ps);
}

/* A text under construction. */
typedef struct text {
    char *at;
    uint32_t length, capacity;
} text;

static int append(text *t, const char *what, rlt_error *err)
{
    uint32_t n = (uint32_t)strlen(what);
    int rc = rlt_grow(&t->at, &t->capacity, 1, t->length + n + 1ull, UINT32_MAX / 2, "bytes", err);
    if (rc)
        return rc;
    memcpy(t->at + t->length, what, n + 1ull);
    t->length += n;
    return 0;
}

/* Adds a cable of the links list[0..n). */
static int add_cable(rlt__ig_split *s, const directed *list, uint32_t n, text *t, rlt_error *err)
{
    rlt__ig_cable_kind kind = {.plain = n == 2 && !list[0].back && list[1].back &&
                                        list[0].bw_Bps == list[1].bw_Bps &&
                                        list[0].latency_ps == list[1].latency_ps};
    bool bar = false;
    int rc = 0;
    t->length = 0;
    for (uint32_t i = 0; i <= n && !rc; i++) {
        char one[64];
        if (!bar && (i == n || list[i].back)) {
            rc = append(t, "| ", err);
            bar = true;
        }
        if (i == n || rc)
            break;
        if (list[i].back == list[0].back)
            kind.bw_Bps += list[i].bw_Bps;
        if (list[i].latency_ps > kind.latency_ps)
            kind.latency_ps = list[i].latency_ps;
        snprintf(one, sizeof one, "%" PRIu64 "/%" PRId64 " ", list[i].bw_Bps, list[i].latency_ps);
        rc = append(t, one, err);
    }
    if (rc)
        return rc;
    uint32_t k = rlt_intern(&s->kind_texts, t->at, t->length - 1);
    if (k == RLT_NONE)
        return rlt_nomem(err);
    s->kinds[k] = kind;
    s->cables[s->n_cables++] = (rlt__ig_cable){list[0].low, list[0].high, k};
    return 0;
}

static int make_cables(rlt__ig_split *s, rlt_error *err)
{
    uint32_t n = rlt_topology_links(s->t);
    directed *list = malloc((n + 1ull) * sizeof *list);
    text t = {0};
    int rc = 0;
    s->cables = malloc((n + 1ull) * sizeof *s->cables);
    s->kinds = malloc((n + 1ull) * sizeof *s->kinds);
    if (!list || !s->cables || !s->kinds)
        rc = rlt_nomem(err);
    for (uint32_t i = 0; i < n && !rc; i++) {
        rlt_link l = rlt_topology_link(s->t, i);
        bool back = l.src > l.dst;
        list[i] = (directed){back ? l.dst : l.src, back ? l.src : l.dst, back, l.bw_Bps, l.latency_ps};
    }
    if (!rc)
        qsort(list, n, sizeof *list, by_ends);
    for (uint32_t i = 0, end; i < n && !rc; i = end) {
        for (end = i + 1; end < n && list[end].low == list[i].low && list[end].high == list[i].high;)
            end++;
        rc = add_cable(s, list + i, end - i, &t, err);
    }
    free(t.at);
    free(list);
    return rc;
}

/* ---- groups ---- */

/* Neighbours in rows. */
typedef struct rows {
    uint32_t *first, *to, *distance, *queue;
} rows;

static int make_rows(const rlt__ig_split *s, rows *r, rlt_error *err)
{
    uint32_t n = rlt_topology_nodes(s->t);
    r->first = calloc(n + 2ull, sizeof *r->first);
    r->to = malloc((2ull * s->n_cables + 1) * sizeof *r->to);
    r->distance = malloc((n + 1ull) * sizeof *r->distance);
    r->queue = malloc((n + 1ull) * sizeof *r->queue);
    uint32_t *degree = calloc(n + 1ull, sizeof *degree);
    int rc = r->first && r->to && r->distance && r->queue && degree ? 0 : rlt_nomem(err);
    for (uint32_t i = 0; i < s->n_cables && !rc; i++) {
        degree[s->cables[i].low]++;
        degree[s->cables[i].high]++;
    }
    for (uint32_t v = 0; v < n && !rc; v++)
        r->first[v + 2] = r->first[v + 1] + degree[v];
    for (uint32_t i = 0; i < s->n_cables && !rc; i++) {
        r->to[r->first[s->cables[i].low + 1]++] = s->cables[i].high;
        r->to[r->first[s->cables[i].high + 1]++] = s->cables[i].low;
    }
    free(degree);
    return rc;
}

/* Searches from all accelerators at once. group[v] becomes the machine of the nearest one, or RLT_NONE if two
 * machines are equally near. */
static void search(rlt__ig_split *s, rows *r)
{
    uint32_t n = rlt_topology_nodes(s->t), accelerators = rlt_topology_accelerators(s->t), tail = 0;
    for (uint32_t v = 0; v < n; v++) {
        r->distance[v] = v < accelerators ? 0 : RLT_NONE;
        s->group[v] = v < accelerators ? v / rlt_topology_node_size(s->t) : RLT_NONE;
        if (v < accelerators)
            r->queue[tail++] = v;
    }
    for (uint32_t head = 0; head < tail; head++) {
        uint32_t v = r->queue[head];
        for (uint32_t i = r->first[v]; i < r->first[v + 1]; i++) {
            uint32_t w = r->to[i];
            if (r->distance[w] == RLT_NONE) {
                r->distance[w] = r->distance[v] + 1;
                s->group[w] = s->group[v];
                r->queue[tail++] = w;
            } else if (r->distance[w] == r->distance[v] + 1 && s->group[w] != s->group[v]) {
                s->group[w] = RLT_NONE;
            }
        }
    }
}

/* Makes the rows of members and of cables inside, and numbers the members of each kind. */
static int make_members(rlt__ig_split *s, rlt_error *err)
{
    enum { KINDS = RLT_SWITCH + 1 };
    uint32_t n = rlt_topology_nodes(s->t), inside = 0;
    s->member_first = calloc(s->n_groups + 3ull, sizeof *s->member_first);
    s->member = malloc((n + 1ull) * sizeof *s->member);
    s->inner_first = calloc(s->n_groups + 3ull, sizeof *s->inner_first);
    s->inner = malloc((s->n_cables + 1ull) * sizeof *s->inner);
    if (!s->member_first || !s->member || !s->inner_first || !s->inner)
        return rlt_nomem(err);
    /* Entry g + 2 counts group g; entry g + 1 then moves from its begin to its end. */
    for (uint32_t v = 0; v < n; v++)
        s->member_first[s->group[v] + 2]++;
    for (uint32_t i = 0; i < s->n_cables; i++) {
        uint32_t g = s->group[s->cables[i].low];
        s->inner_first[g + 2] += g == s->group[s->cables[i].high];
    }
    for (uint32_t g = 2; g <= s->n_groups; g++) {
        s->member_first[g] += s->member_first[g - 1];
        s->inner_first[g] += s->inner_first[g - 1];
    }
    for (uint32_t v = 0; v < n; v++)
        s->member[s->member_first[s->group[v] + 1]++] = v;
    for (uint32_t i = 0; i < s->n_cables; i++)
        if (s->group[s->cables[i].low] == s->group[s->cables[i].high])
            s->inner[s->inner_first[s->group[s->cables[i].low] + 1]++] = i;
    for (uint32_t g = 0; g < s->n_groups; g++) {
        uint32_t of[KINDS] = {0};
        for (inside = s->member_first[g]; inside < s->member_first[g + 1]; inside++)
            s->place[s->member[inside]] = of[rlt_topology_node_kind(s->t, s->member[inside])]++;
    }
    return 0;
}

static int make_groups(rlt__ig_split *s, rlt_error *err)
{
    uint32_t n = rlt_topology_nodes(s->t);
    rows r = {0};
    s->group = malloc((n + 1ull) * sizeof *s->group);
    s->place = malloc((n + 1ull) * sizeof *s->place);
    int rc = s->group && s->place ? make_rows(s, &r, err) : rlt_nomem(err);
    if (!rc) {
        search(s, &r);
        s->n_groups = s->n_machines = rlt_topology_accelerators(s->t) / rlt_topology_node_size(s->t);
        for (uint32_t v = 0; v < n; v++)
            if (s->group[v] == RLT_NONE)
                s->group[v] = s->n_groups++;
        rc = make_members(s, err);
    }
    free(r.first);
    free(r.to);
    free(r.distance);
    free(r.queue);
    return rc;
}

/* ---- devices ---- */

/* Writes what distinguishes a group: the kinds of its nodes, and its cables. */
static int describe_group(const rlt__ig_split *s, uint32_t g, text *t, rlt_error *err)
{
    char one[64];
    int rc = 0;
    t->length = 0;
    for (uint32_t i = s->member_first[g]; i < s->member_first[g + 1] && !rc; i++) {
        snprintf(one, sizeof one, "%d ", (int)rlt_topology_node_kind(s->t, s->member[i]));
        rc = append(t, one, err);
    }
    for (uint32_t i = s->inner_first[g]; i < s->inner_first[g + 1] && !rc; i++) {
        const rlt__ig_cable *c = &s->cables[s->inner[i]];
        snprintf(one, sizeof one, "%d.%" PRIu32 "-%d.%" PRIu32 ":%" PRIu32 " ",
                 (int)rlt_topology_node_kind(s->t, c->low), s->place[c->low],
                 (int)rlt_topology_node_kind(s->t, c->high), s->place[c->high], c->kind);
        rc = append(t, one, err);
    }
    return rc;
}

static int make_devices(rlt__ig_split *s, rlt_error *err)
{
    rlt_strings known = {0};
    text t = {0};
    s->device = malloc((s->n_groups + 1ull) * sizeof *s->device);
    s->instance = malloc((s->n_groups + 1ull) * sizeof *s->instance);
    s->first_group = malloc((s->n_groups + 1ull) * sizeof *s->first_group);
    s->count = calloc(s->n_groups + 1ull, sizeof *s->count);
    int rc = s->device && s->instance && s->first_group && s->count ? 0 : rlt_nomem(err);
    for (uint32_t g = 0; g < s->n_groups && !rc; g++) {
        if ((rc = describe_group(s, g, &t, err)) != 0)
            break;
        uint32_t k = rlt_intern(&known, t.at, t.length);
        if (k == RLT_NONE) {
            rc = rlt_nomem(err);
            break;
        }
        if (k == s->n_devices)
            s->first_group[s->n_devices++] = g;
        s->device[g] = k;
        s->instance[g] = s->count[k]++;
    }
    free(t.at);
    rlt_strings_free(&known);
    return rc;
}

int rlt__ig_split_make(const rlt_topology *t, rlt__ig_split *s, rlt_error *err)
{
    *s = (rlt__ig_split){.t = t};
    int rc = make_cables(s, err);
    if (!rc)
        rc = make_groups(s, err);
    return rc ? rc : make_devices(s, err);
}

void rlt__ig_split_free(rlt__ig_split *s)
{
    free(s->cables);
    free(s->kinds);
    rlt_strings_free(&s->kind_texts);
    free(s->group);
    free(s->place);
    free(s->member_first);
    free(s->member);
    free(s->inner_first);
    free(s->inner);
    free(s->device);
    free(s->instance);
    free(s->first_group);
    free(s->count);
}
