/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Switch: local link 2i leads from accelerator i up to the switch, link 2i + 1 down to it. */
#include "net/shapes/factor.h"
#include "net/shapes/shape.h"
#include "sim/base/error.h"

static int build(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err)
{
    static const char *const known[] = {NULL};
    int rc = rlt_dim_only(spec, known, err);
    if (rc || (rc = rlt_factor_share(spec, f, 1, err)) != 0)
        return rc;
    f->degree[0] = 1;
    if ((rc = rlt_factor_counts(spec, f, 1, 2ull * f->n, err)) != 0)
        return rc;
    return rlt_factor_longest(spec, f, f->n > 1 ? 2 : 0, err);
}

static void ends(const rlt_factor *f, uint32_t link, uint32_t *src, uint32_t *dst)
{
    *src = link % 2 ? f->n : link / 2;
    *dst = link % 2 ? link / 2 : f->n;
}

static uint32_t route(const rlt_factor *f, uint32_t src, uint32_t dst, rlt_pick pick, uint32_t *links)
{
    (void)f, (void)pick;
    links[0] = 2 * src;
    links[1] = 2 * dst + 1;
    return 2;
}

const rlt_shape rlt_shape_switch = {
    .info = {"switch", "one ideal switch; a link up and a link down carry all of the bandwidth",
             "in_network=reduce+multicast"},
    .build = build,
    .ends = ends,
    .route = route,
    .orbits = rlt_shape_two_orbits,
    .orbit = rlt_shape_parity,
};
