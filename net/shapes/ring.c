/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ring: local link 2i leads from i to i + 1, link 2i + 1 from i to i - 1 (modulo n). A ring of two has two
 * parallel links each way.
 */
#include "net/shapes/factor.h"
#include "net/shapes/shape.h"
#include "sim/base/error.h"

static int build(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err)
{
    int rc = rlt_factor_share(spec, f, 2, err);
    if (rc)
        return rc;
    f->degree[0] = f->n > 1 ? 2 : 0;
    if ((rc = rlt_factor_counts(spec, f, 0, f->n > 1 ? 2ull * f->n : 0, err)) != 0)
        return rc;
    return rlt_factor_longest(spec, f, f->n / 2, err);
}

static void ends(const rlt_factor *f, uint32_t link, uint32_t *src, uint32_t *dst)
{
    uint32_t i = link / 2;
    *src = i;
    if (link % 2 == 0)
        *dst = i + 1 == f->n ? 0 : i + 1;
    else
        *dst = i == 0 ? f->n - 1 : i - 1;
}

static uint32_t route(const rlt_factor *f, uint32_t src, uint32_t dst, rlt_pick pick, uint32_t *links)
{
    uint32_t n = f->n;
    uint32_t up = dst >= src ? dst - src : dst + n - src;
    bool down = up > n - up || (up == n - up && !pick.by_destination && pick.value % 2);
    if (!down) {
        for (uint32_t k = 0, i = src; k < up; k++, i = i + 1 == n ? 0 : i + 1)
            links[k] = 2 * i;
        return up;
    }
    for (uint32_t k = 0, i = src; k < n - up; k++, i = i == 0 ? n - 1 : i - 1)
        links[k] = 2 * i + 1;
    return n - up;
}

const rlt_shape rlt_shape_ring = {
    .info = {"ring", "a bidirectional ring; a link carries half of the bandwidth; the shorter way round",
             NULL},
    .build = build,
    .ends = ends,
    .route = route,
    .translations = rlt_shape_one_cycle,
    .orbits = rlt_shape_two_orbits,
    .orbit = rlt_shape_parity,
};
