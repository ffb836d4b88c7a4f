/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fully connected: the n - 1 links of accelerator i are local links i(n-1) .. i(n-1)+n-2, by destination. */
#include "net/shapes/factor.h"
#include "net/shapes/shape.h"
#include "sim/base/error.h"

static int build(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err)
{
    uint32_t others = f->n - 1;
    int rc = rlt_factor_counts(spec, f, 0, (uint64_t)f->n * others, err);
    if (rc)
        return rc;
    f->degree[0] = others;
    if ((rc = rlt_factor_share(spec, f, others ? others : 1, err)) != 0)
        return rc;
    return rlt_factor_longest(spec, f, others ? 1 : 0, err);
}

static void ends(const rlt_factor *f, uint32_t link, uint32_t *src, uint32_t *dst)
{
    uint32_t others = f->n - 1;
    *src = link / others;
    *dst = link % others;
    if (*dst >= *src)
        ++*dst;
}

static uint32_t route(const rlt_factor *f, uint32_t src, uint32_t dst, rlt_pick pick, uint32_t *links)
{
    (void)pick;
    links[0] = src * (f->n - 1) + (dst > src ? dst - 1 : dst);
    return 1;
}

static uint32_t orbits(const rlt_factor *f)
{
    return f->n - 1;
}

/* Returns the orbit of a link: its distance (destination - source) modulo n. */
static uint32_t orbit(const rlt_factor *f, uint32_t link)
{
    uint32_t src, dst;
    ends(f, link, &src, &dst);
    return (dst > src ? dst - src : dst + f->n - src) - 1;
}

const rlt_shape rlt_shape_fully_connected = {
    .info = {"fully-connected", "a link between every two; a link carries 1/(n-1) of the bandwidth", NULL},
    .complete = true,
    .build = build,
    .ends = ends,
    .route = route,
    .translations = rlt_shape_one_cycle,
    .orbits = orbits,
    .orbit = orbit,
};
