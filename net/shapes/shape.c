/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of shapes. */
#include "net/shapes/shape.h"

#include <stdio.h>
#include <string.h>

#define RLT_X(name) &rlt_shape_##name,
static const rlt_shape *const shapes[] = {RLT_SHAPES(RLT_X)};
#undef RLT_X

static rlt_registry registry = RLT_REGISTRY("shape", RLT_ESCHEMA, shapes);

rlt_registry *rlt_shapes(void)
{
    return &registry;
}

const rlt_shape_info *rlt_shape_list(uint32_t i)
{
    return rlt_registry_at(&registry, i);
}

const rlt_shape *rlt_shape_find(const char *name, const char *where, rlt_error *err)
{
    return rlt_registry_find(&registry, name ? name : "", where, err);
}

uint32_t rlt_shape_one_cycle(const rlt_factor *f, uint32_t *sizes)
{
    sizes[0] = f->n;
    return 1;
}

uint32_t rlt_shape_two_orbits(const rlt_factor *f)
{
    (void)f;
    return 2;
}

uint32_t rlt_shape_parity(const rlt_factor *f, uint32_t link)
{
    (void)f;
    return link % 2;
}
