/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Classes of the links of blocks that can be exchanged. */
#include <stdlib.h>

#include "net/fold.h"
#include "net/shapes/factor.h"
#include "net/shapes/shape.h"
#include "net/topology/frozen.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

/* Puts the other links of each dimension into a class. The classes of blocks come first. */
static void fold_rest(const rlt_topology *t, uint32_t dim, uint32_t in_blocks, rlt_net_fold *out)
{
    for (uint32_t i = 0; i < t->n_dims; i++) {
        const rlt_product_dim *d = &t->dims[i];
        uint32_t links = d->f.links * d->groups, rest = links - (i == dim ? in_blocks : 0),
                 c = out->n_classes;
        if (!rest)
            continue;
        out->size[c] = rest;
        out->link[c] = RLT_NONE;
        for (uint32_t k = d->first_link; k < d->first_link + links; k++) {
            if (out->of_link[k] != RLT_NONE)
                continue;
            out->of_link[k] = c;
            out->link[c] = out->link[c] == RLT_NONE ? k : out->link[c];
        }
        out->n_classes++;
    }
}

static int allocate(const rlt_topology *t, uint32_t classes, rlt_net_fold *out, rlt_error *err)
{
    out->size = malloc(((size_t)classes + t->n_dims) * sizeof *out->size);
    out->link = malloc(((size_t)classes + t->n_dims) * sizeof *out->link);
    out->of_link = malloc(((size_t)t->links + 1) * sizeof *out->of_link);
    if (!out->size || !out->link || !out->of_link) {
        rlt_net_fold_free(out);
        return rlt_nomem(err);
    }
    for (uint32_t i = 0; i < t->links; i++)
        out->of_link[i] = RLT_NONE;
    return 0;
}

int rlt_net_fold_blocks(const rlt_topology *t, uint32_t dim, uint32_t beside, const uint32_t *blocks,
                        uint32_t n, rlt_net_fold *out, rlt_error *err)
{
    const rlt_product_dim *d = &t->dims[dim];
    const rlt_factor *f = &d->f;
    uint32_t size = rlt_topology_exchanges(t, dim);
    *out = (rlt_net_fold){.topology = t};
    if (!t->plain || !size || !f->shape->block_link)
        return rlt_fail(err, RLT_EUNSUPPORTED, "fold", "dimension %u has no blocks that can be exchanged",
                        dim);
    uint32_t classes = f->links / (f->n / size),
             group = beside % d->stride + beside / d->stride / d->size * d->stride;
    int rc = allocate(t, classes, out, err);
    for (uint32_t i = 0; i < classes && !rc; i++) {
        out->size[i] = n;
        out->link[i] = RLT_NONE;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t link = d->first_link + group * f->links + f->shape->block_link(f, blocks[k], i);
            out->of_link[link] = i;
            out->link[i] = link < out->link[i] ? link : out->link[i];
        }
    }
    out->n_classes = classes;
    if (!rc)
        fold_rest(t, dim, classes * n, out);
    return rc;
}
