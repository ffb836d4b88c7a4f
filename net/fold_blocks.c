/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Folds of a part of a product: of the links of blocks that can be exchanged, or of those that carry
 * anything. The other links of a dimension are one class. */
#include <stdlib.h>

#include "net/fold.h"
#include "net/shapes/factor.h"
#include "net/shapes/shape.h"
#include "net/topology/frozen.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

/* Puts the other links of each dimension into a class. Classes are in order of their lowest link, but for
 * these, which come last. */
static void fold_rest(const rlt_topology *t, rlt_net_fold *out)
{
    for (uint32_t i = 0; i < t->n_dims; i++) {
        uint32_t end = i + 1 < t->n_dims ? t->dims[i + 1].first_link : t->links, c = out->n_classes;
        out->size[c] = 0;
        for (uint32_t k = t->dims[i].first_link; k < end; k++) {
            if (out->of_link[k] != RLT_NONE)
                continue;
            out->of_link[k] = c;
            if (!out->size[c]++)
                out->link[c] = k;
        }
        out->n_classes += out->size[c] > 0;
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
    uint32_t most = f->links / (f->n / size),
             group = beside % d->stride + beside / d->stride / d->size * d->stride;
    int rc = allocate(t, most, out, err);
    for (uint32_t i = 0; i < most && !rc && f->shape->block_link(f, blocks[0], i) != RLT_NONE; i++) {
        out->n_classes++;
        out->size[i] = n;
        out->link[i] = RLT_NONE;
        for (uint32_t k = 0; k < n; k++) {
            uint32_t link = d->first_link + group * f->links + f->shape->block_link(f, blocks[k], i);
            out->of_link[link] = i;
            out->link[i] = link < out->link[i] ? link : out->link[i];
        }
    }
    if (!rc)
        fold_rest(t, out);
    return rc;
}

int rlt_net_fold_used(const rlt_topology *t, const uint32_t *links, uint32_t n, rlt_net_fold *out,
                      rlt_error *err)
{
    *out = (rlt_net_fold){.topology = t};
    int rc = allocate(t, n, out, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < n; i++) {
        out->size[i] = 1;
        out->link[i] = links[i];
        out->of_link[links[i]] = i;
    }
    out->n_classes = n;
    fold_rest(t, out);
    return 0;
}
