/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Switch: local link 2i leads from accelerator i up to the switch, link 2i + 1 down to it. */
#include "net/shapes/factor.h"
#include "net/shapes/shape.h"
#include "sim/base/error.h"
#include "sim/base/param.h"

static int build(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err)
{
    int rc = rlt_factor_share(spec, f, 1, err);
    if (rc)
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

static uint32_t block(const rlt_factor *f)
{
    (void)f;
    return 1;
}

static uint32_t block_runs(const rlt_factor *f, rlt_block_run *runs)
{
    (void)f;
    runs[0] = (rlt_block_run){0, 2};
    return 1;
}

static const rlt_param parameters[] = {RLT_DIM_IN_NETWORK, {0}};

const rlt_shape rlt_shape_switch = {
    .info = {"switch", "one ideal switch; a link up and a link down carry all of the bandwidth", parameters},
    .build = build,
    .ends = ends,
    .route = route,
    .orbits = rlt_shape_two_orbits,
    .orbit = rlt_shape_parity,
    .block = block,
    .block_runs = block_runs,
};
