/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Classes of links: from a table, or in closed form for a product under translations. */
#include "net/fold.h"

#include <stdlib.h>

#include "net/shapes/factor.h"
#include "net/shapes/shape.h"
#include "net/topology/frozen.h"
#include "sim/base/time.h"

static uint32_t dim_of_link(const rlt_topology *t, uint32_t link)
{
    uint32_t d = t->n_dims - 1;
    while (link < t->dims[d].first_link)
        d--;
    return d;
}

uint32_t rlt_net_fold_class(const rlt_net_fold *f, uint32_t link)
{
    if (f->of_link)
        return f->of_link[link];
    const rlt_topology *t = f->topology;
    uint32_t inside = f->part ? rlt__part_class(f->part, link) : RLT_NONE;
    if (inside != RLT_NONE)
        return inside;
    uint32_t d = dim_of_link(t, link);
    if (f->part)
        return f->first_class[d];
    const rlt_product_dim *p = &t->dims[d];
    return f->first_class[d] + p->f.shape->orbit(&p->f, (link - p->first_link) % p->f.links);
}

/* Returns the kind of a link by its ends (leaves an accelerator, inner, enters one): for graphs, and for
 * shapes without orbits. */
static uint32_t kind_by_ends(const rlt_topology *t, uint32_t link)
{
    rlt_link l = rlt_topology_link(t, link);
    if (rlt_topology_node_kind(t, l.src) == RLT_ACCELERATOR)
        return 0;
    return rlt_topology_node_kind(t, l.dst) == RLT_ACCELERATOR ? 2 : 1;
}

static bool has_orbits(const rlt_product_dim *d)
{
    return d->f.shape->orbit && d->ports == RLT_PORTS_PLAIN;
}

uint32_t rlt__link_kind(const rlt_topology *t, uint32_t link)
{
    enum { ENDS = 3 };
    uint32_t first = 0, d = t->n_dims ? dim_of_link(t, link) : 0;
    for (uint32_t i = 0; i < d; i++) {
        const rlt_factor *f = &t->dims[i].f;
        first += has_orbits(&t->dims[i]) ? f->shape->orbits(f) : ENDS;
    }
    if (!t->n_dims || !has_orbits(&t->dims[d]))
        return first + kind_by_ends(t, link);
    const rlt_product_dim *p = &t->dims[d];
    return first + p->f.shape->orbit(&p->f, (link - p->first_link) % p->f.links);
}

/* Returns how many of the sizes belong to the dimension; RLT_NONE if they do not match it. */
static uint32_t match_dim(const rlt_factor *f, const uint32_t *sizes, uint32_t n)
{
    uint32_t own[RLT_MAX_SUBDIMS], used = 0;
    if (!f->shape->translations) { /* every permutation is a symmetry: any sizes with this product match */
        uint64_t product = 1;
        while (product < f->n && used < n)
            product *= sizes[used++];
        return product == f->n ? used : RLT_NONE;
    }
    uint32_t k = f->shape->translations(f, own);
    for (uint32_t i = 0; i < k; i++) {
        if (own[i] == 1)
            continue;
        if (used == n || sizes[used] != own[i])
            return RLT_NONE;
        used++;
    }
    return used;
}

/* Checks the shapes against the sizes and counts the classes. */
static int count_classes(const rlt_topology *t, const uint32_t *sizes, uint32_t n, rlt_net_fold *out,
                         rlt_error *err)
{
    uint32_t used = 0;
    if (t->n_dims == 0)
        return rlt_fail(err, RLT_EUNSUPPORTED, "fold", "the topology is a graph, not a product");
    if (t->n_changed)
        return rlt_fail(err, RLT_EUNSUPPORTED, "fold", "the bandwidth of some links was changed");
    for (uint32_t d = 0; d < t->n_dims; d++) {
        const rlt_factor *f = &t->dims[d].f;
        if (!has_orbits(&t->dims[d]))
            return rlt_fail(err, RLT_EUNSUPPORTED, "fold", "a %s dimension is not the same everywhere",
                            f->shape->info.name);
        uint32_t taken = match_dim(f, sizes + used, n - used);
        if (taken == RLT_NONE)
            return rlt_fail(err, RLT_EUNSUPPORTED, "fold",
                            "the algorithm does not follow the topology's dimension %u", d);
        used += taken;
        out->first_class[d] = out->n_classes;
        out->n_classes += f->links ? f->shape->orbits(f) : 0;
    }
    if (used != n)
        return rlt_fail(err, RLT_EUNSUPPORTED, "fold", "the algorithm has more dimensions than the topology");
    return 0;
}

/* Fills sizes and representatives. The first links of a group leave its accelerator 0 and contain one link of
 * each orbit. */
static void fill_classes(const rlt_topology *t, rlt_net_fold *out)
{
    for (uint32_t d = 0; d < t->n_dims; d++) {
        const rlt_product_dim *p = &t->dims[d];
        uint32_t orbits = p->f.links ? p->f.shape->orbits(&p->f) : 0;
        for (uint32_t local = 0; local < orbits; local++) {
            uint32_t c = out->first_class[d] + p->f.shape->orbit(&p->f, local);
            out->size[c] = p->f.links / orbits * p->groups;
            out->link[c] = p->first_link + local;
        }
    }
}

int rlt_net_fold_translations(const rlt_topology *t, const uint32_t *sizes, uint32_t n, rlt_net_fold *out,
                              rlt_error *err)
{
    *out = (rlt_net_fold){.topology = t};
    int rc = count_classes(t, sizes, n, out, err);
    if (rc)
        return rc;
    out->size = malloc((out->n_classes + 1) * sizeof *out->size);
    out->link = malloc((out->n_classes + 1) * sizeof *out->link);
    if (!out->size || !out->link) {
        rlt_net_fold_free(out);
        return rlt_nomem(err);
    }
    fill_classes(t, out);
    return 0;
}

/* Returns the first link, by number, onto which turns map a link; RLT_NONE if they do not map links. */
static uint32_t first_turned(const rlt_topology *t, uint32_t link)
{
    uint32_t d = dim_of_link(t, link), n = t->dims[0].f.n;
    const rlt_product_dim *p = &t->dims[d];
    const rlt_shape *shape = p->f.shape;
    uint32_t local = (link - p->first_link) % p->f.links, group = (link - p->first_link) / p->f.links;
    if (d == 0) {
        uint32_t like = 0;
        while (shape->orbit(&p->f, like) != shape->orbit(&p->f, local))
            like++;
        return link - local + like;
    }
    if (p->ports == RLT_PORTS_PLAIN)
        return link - group % n * p->f.links;
    uint32_t to = p->planes == 1 && p->nics == n && shape->turned ? shape->turned(&p->f, local) : RLT_NONE;
    return to == RLT_NONE ? RLT_NONE : link - local + to;
}

static int check_turns(const rlt_topology *t, rlt_error *err)
{
    uint32_t own[RLT_MAX_SUBDIMS];
    const rlt_factor *f = &t->dims[0].f;
    if (t->n_dims < 2 || t->dims[0].size != t->node_size || !has_orbits(&t->dims[0]) ||
        (f->shape->translations && (f->shape->translations(f, own) != 1 || own[0] != f->n)))
        return rlt_fail(err, RLT_EUNSUPPORTED, "fold", "the nodes cannot be turned");
    if (t->n_changed)
        return rlt_fail(err, RLT_EUNSUPPORTED, "fold", "the bandwidth of some links was changed");
    for (uint32_t d = 1; d < t->n_dims; d++)
        if (t->dims[d].ports != RLT_PORTS_PLAIN && t->dims[d].ports != RLT_PORTS_OWN)
            return rlt_fail(err, RLT_EUNSUPPORTED, "fold", "the accelerators of a node share its NICs");
    return 0;
}

int rlt_net_fold_turns(const rlt_topology *t, rlt_net_fold *out, rlt_error *err)
{
    *out = (rlt_net_fold){.topology = t};
    int rc = check_turns(t, err);
    if (rc)
        return rc;
    out->size = calloc((size_t)t->links + 1, sizeof *out->size);
    out->link = malloc(((size_t)t->links + 1) * sizeof *out->link);
    out->of_link = malloc(((size_t)t->links + 1) * sizeof *out->of_link);
    if (!out->size || !out->link || !out->of_link)
        rc = rlt_nomem(err);
    for (uint32_t i = 0; i < t->links && !rc; i++) {
        uint32_t first = first_turned(t, i);
        if (first == RLT_NONE)
            rc = rlt_fail(err, RLT_EUNSUPPORTED, "fold", "the network is not the same for all of a node");
        else if (first == i)
            out->link[out->of_link[i] = out->n_classes++] = i;
        else
            out->of_link[i] = out->of_link[first];
        if (!rc)
            out->size[out->of_link[i]]++;
    }
    if (rc)
        rlt_net_fold_free(out);
    return rc;
}

void rlt_net_fold_free(rlt_net_fold *f)
{
    if (!f)
        return;
    free(f->size);
    free(f->link);
    free(f->of_link);
    rlt__fold_part_free(f->part);
    *f = (rlt_net_fold){0};
}
