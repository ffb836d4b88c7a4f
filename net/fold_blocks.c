/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folds of a part of a product: of the links of blocks that can be exchanged, or of those that carry
 * anything. The other links of a dimension are one class. */
#include <stdbool.h>
#include <stdlib.h>

#include "net/fold.h"
#include "net/shapes/factor.h"
#include "net/shapes/shape.h"
#include "net/topology/frozen.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"

/* The links of `used`, or the `links` links from `from` on of the blocks in `blocks`, as bits. */
typedef struct rlt__part {
    rlt_map used; /* link -> class */
    uint32_t from, links, n_runs, n_blocks;
    rlt_block_run runs[RLT_MAX_BLOCK_RUNS];
    uint64_t *blocks;
} part;

uint32_t rlt__part_class(const part *p, uint32_t link)
{
    if (!p->blocks)
        return rlt_map_get(&p->used, link);
    uint32_t local = link - p->from, before = 0;
    if (local >= p->links) /* also of those below: they wrap round */
        return RLT_NONE;
    for (uint32_t i = 0; i < p->n_runs; i++) {
        rlt_block_run r = p->runs[i];
        if (i + 1 < p->n_runs && local >= p->runs[i + 1].first) {
            before += r.each;
            continue;
        }
        uint32_t block = (local - r.first) / r.each, place = (local - r.first) % r.each;
        bool used = block < p->n_blocks && p->blocks[block / 64] >> block % 64 & 1;
        return used ? before + place : RLT_NONE;
    }
    return RLT_NONE;
}

void rlt__fold_part_free(part *p)
{
    if (!p)
        return;
    rlt_map_free(&p->used);
    free(p->blocks);
    free(p);
}

/* Puts the other links of each dimension into a class. Classes are in order of their lowest link, but for
 * these, which come last. */
static void fold_rest(const rlt_topology *t, rlt_net_fold *out)
{
    uint32_t inside[RLT_MAX_DIMS] = {0}, n = out->n_classes;
    for (uint32_t d = 0; d < t->n_dims; d++)
        out->first_class[d] = RLT_NONE;
    for (uint32_t c = 0, d; c < n; c++) {
        for (d = t->n_dims - 1; out->link[c] < t->dims[d].first_link;)
            d--;
        inside[d] += out->size[c];
    }
    for (uint32_t d = 0; d < t->n_dims; d++) {
        uint32_t first = t->dims[d].first_link,
                 end = d + 1 < t->n_dims ? t->dims[d + 1].first_link : t->links;
        if (inside[d] == end - first)
            continue;
        while (rlt_net_fold_class(out, first) != RLT_NONE)
            first++;
        out->first_class[d] = out->n_classes;
        out->link[out->n_classes] = first;
        out->size[out->n_classes++] = end - t->dims[d].first_link - inside[d];
    }
}

static int allocate(const rlt_topology *t, uint32_t classes, rlt_net_fold *out, rlt_error *err)
{
    out->part = calloc(1, sizeof *out->part);
    out->size = malloc(((size_t)classes + t->n_dims) * sizeof *out->size);
    out->link = malloc(((size_t)classes + t->n_dims) * sizeof *out->link);
    return out->part && out->size && out->link ? 0 : rlt_nomem(err);
}

int rlt_net_fold_blocks(const rlt_topology *t, uint32_t dim, uint32_t beside, const uint32_t *blocks,
                        uint32_t n, rlt_net_fold *out, rlt_error *err)
{
    const rlt_product_dim *d = &t->dims[dim];
    const rlt_factor *f = &d->f;
    uint32_t size = rlt_topology_exchanges(t, dim), lowest = blocks[0];
    *out = (rlt_net_fold){.topology = t};
    if (!t->plain || !size || !f->shape->block_runs)
        return rlt_fail(err, RLT_EUNSUPPORTED, "fold", "dimension %u has no blocks that can be exchanged",
                        dim);
    int rc = allocate(t, f->links / (f->n / size), out, err);
    part *p = out->part;
    if (!rc) {
        p->from = d->first_link + (beside % d->stride + beside / d->stride / d->size * d->stride) * f->links;
        p->links = f->links;
        p->n_blocks = f->n / size;
        p->n_runs = f->shape->block_runs(f, p->runs);
        p->blocks = calloc(p->n_blocks / 64 + 1, sizeof *p->blocks);
        rc = p->blocks ? 0 : rlt_nomem(err);
    }
    for (uint32_t k = 0; k < n && !rc; k++) {
        p->blocks[blocks[k] / 64] |= (uint64_t)1 << blocks[k] % 64;
        lowest = blocks[k] < lowest ? blocks[k] : lowest;
    }
    for (uint32_t i = 0; !rc && i < p->n_runs; i++)
        for (uint32_t k = 0; k < p->runs[i].each; k++) {
            out->size[out->n_classes] = n;
            out->link[out->n_classes++] = p->from + p->runs[i].first + lowest * p->runs[i].each + k;
        }
    if (rc)
        rlt_net_fold_free(out);
    else
        fold_rest(t, out);
    return rc;
}

int rlt_net_fold_used(const rlt_topology *t, const uint32_t *links, uint32_t n, rlt_net_fold *out,
                      rlt_error *err)
{
    *out = (rlt_net_fold){.topology = t};
    int rc = allocate(t, n, out, err);
    for (uint32_t i = 0; i < n && !rc; i++) {
        out->size[i] = 1;
        out->link[i] = links[i];
        rc = rlt_map_put(&out->part->used, links[i], i) ? rlt_nomem(err) : 0;
    }
    out->n_classes = rc ? 0 : n;
    if (rc)
        rlt_net_fold_free(out);
    else
        fold_rest(t, out);
    return rc;
}
