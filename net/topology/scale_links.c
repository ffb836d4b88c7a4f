/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Makes links slower or faster, for what-if studies. */
#include <stdlib.h>
#include <string.h>

#include "net/shapes/factor.h"
#include "net/shapes/shapes.h"
#include "net/topology/frozen.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/base/units.h"

static int scale_one(rlt_topology *t, uint32_t link, double factor, rlt_error *err)
{
    rlt_link l = rlt_topology_link(t, link);
    uint64_t bw = rlt__scaled_bw(l.bw_Bps, factor);
    if (bw > RLT_MAX_LINK_Bps)
        return rlt_fail(err, RLT_ERANGE, NULL, "link %u would be faster than 1 PB/s", link);
    if (!t->n_dims) {
        t->graph.links[link].bw_Bps = bw;
        return 0;
    }
    uint32_t i = rlt_map_get(&t->changed_at, link);
    if (i == RLT_NONE) {
        int rc = rlt_grow(&t->changed, &t->changed_room, sizeof *t->changed, (uint64_t)t->n_changed + 1,
                          UINT32_MAX, "changed links", err);
        if (rc)
            return rc;
        i = t->n_changed;
        if (rlt_map_put(&t->changed_at, link, i) < 0)
            return rlt_nomem(err);
        t->n_changed++;
        t->changed[i] = (rlt_changed_link){.src = l.src, .dst = l.dst, .was_Bps = l.bw_Bps};
    }
    t->changed[i].bw_Bps = bw;
    return 0;
}

/* Finds the nodes of "from->to", also written "from -> to" as tables print it, or of one node. RLT_NONE
 * stands for any node. */
static bool find_ends(const rlt_topology *t, const char *which, uint32_t *from, uint32_t *to)
{
    const char *arrow = strstr(which, "->");
    char name[256];
    if (!arrow) {
        *from = *to = rlt_topology_find_node(t, which);
        return *from != RLT_NONE;
    }
    size_t length = (size_t)(arrow - which);
    const char *last = arrow + 2;
    while (length && which[length - 1] == ' ')
        length--;
    last += strspn(last, " ");
    if (length >= sizeof name)
        return false;
    memcpy(name, which, length);
    name[length] = '\0';
    *from = rlt_topology_find_node(t, name);
    *to = rlt_topology_find_node(t, last);
    return *from != RLT_NONE && *to != RLT_NONE;
}

static bool touches(const rlt_topology *t, uint32_t link, bool either, uint32_t from, uint32_t to)
{
    rlt_link l = rlt_topology_link(t, link);
    return either ? l.src == from || l.dst == to : l.src == from && l.dst == to;
}

int rlt_topology_find_links(const rlt_topology *t, const char *which, uint32_t **links, uint32_t *n,
                            rlt_error *err)
{
    uint64_t id;
    uint32_t from, to, *list = NULL, room = 0;
    *links = NULL;
    *n = 0;
    if (rlt_parse_count(which, &id, which, NULL) == 0) {
        if (id >= t->links)
            return rlt_fail(err, RLT_ERANGE, which, "there are links 0 to %u", t->links - 1);
        if (!(list = malloc(sizeof *list)))
            return rlt_nomem(err);
        list[(*n)++] = (uint32_t)id;
        *links = list;
        return 0;
    }
    if (!find_ends(t, which, &from, &to))
        return rlt_fail(
            err, RLT_ERANGE, which,
            "expected the number of a link, a node, or FROM->TO, as 'ringlet run --links --expand-links' "
            "lists them");
    bool either = strstr(which, "->") == NULL;
    for (uint32_t i = 0; i < t->links; i++) {
        if (!touches(t, i, either, from, to))
            continue;
        int rc = rlt_grow(&list, &room, sizeof *list, (uint64_t)*n + 1, RLT_MAX_LINKS, "links", err);
        if (rc) {
            free(list);
            return rc;
        }
        list[(*n)++] = i;
    }
    *links = list;
    return list ? 0 : rlt_fail(err, RLT_ERANGE, which, "there is no such link");
}

int rlt_topology_scale_links(rlt_topology *t, const char *which, double factor, rlt_error *err)
{
    uint32_t *links, n;
    if (!(factor > 0) || factor > 1e6)
        return rlt_fail(err, RLT_ERANGE, which, "expected a factor above 0, at most 1e6");
    int rc = rlt_topology_find_links(t, which, &links, &n, err);
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = scale_one(t, links[i], factor, err);
    free(links);
    return rc;
}

/* Scales a bandwidth. 0 stands for unknown and stays. */
static int scale_bandwidth(uint64_t *bw_Bps, double factor, rlt_error *err)
{
    *bw_Bps = *bw_Bps ? rlt__scaled_bw(*bw_Bps, factor) : 0;
    return *bw_Bps > RLT_MAX_LINK_Bps
               ? rlt_fail(err, RLT_ERANGE, NULL, "the dimension would be faster than 1 PB/s")
               : 0;
}

int rlt_topology_scale_dim(rlt_topology *t, uint32_t d, double factor, rlt_error *err)
{
    int rc = 0;
    if (!(factor > 0) || factor > 1e6)
        return rlt_fail(err, RLT_ERANGE, NULL, "expected a factor above 0, at most 1e6");
    if (!t->n_dims)
        return rlt_fail(err, RLT_EUNSUPPORTED, NULL,
                        "%s is a graph: its links have no dimension, scale them by --link-scale", t->name);
    if (d >= t->n_dims)
        return rlt_fail(err, RLT_ERANGE, NULL, "%s has dimensions 0 to %u, not %u", t->name, t->n_dims - 1,
                        d);
    if (t->parts[d])
        return rlt_fail(err, RLT_EUNSUPPORTED, NULL,
                        "dimension %u of %s is a graph: scale its links by --link-scale", d, t->name);
    rlt_product_dim *dim = &t->dims[d];
    for (int c = 0; c < 2 && !rc; c++)
        rc = scale_bandwidth(&dim->f.cls[c].bw_Bps, factor, err);
    if (!rc)
        rc = scale_bandwidth(&dim->f.bw_Bps, factor, err);
    if (!rc)
        rc = scale_bandwidth(&dim->nic_link.bw_Bps, factor, err);
    t->hash = rlt_hash_bytes(&d, sizeof d, rlt_hash_bytes(&factor, sizeof factor, t->hash));
    rlt__find_node_facts(t);
    return rc;
}
