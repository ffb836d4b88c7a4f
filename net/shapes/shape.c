/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of shapes, and the construction of factors. */
#include "net/shapes/shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/param.h"
#include "sim/base/registry.h"
#include "sim/base/time.h"

#define RLT_X(name) &rlt_shape_##name,
static const rlt_shape *const shapes[] = {RLT_SHAPES(RLT_X)};
#undef RLT_X

static rlt_registry registry = RLT_REGISTRY("shape", RLT_ESCHEMA, shapes);

const rlt_shape_info *rlt_shape_list(uint32_t i)
{
    return rlt_registry_at(&registry, i);
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

static int check_spec(const rlt_dim_spec *spec, rlt_error *err)
{
    if (spec->size < 1 || spec->size > RLT_MAX_ACCELERATORS)
        return rlt_fail(err, RLT_ERANGE, spec->where, "size must be from 1 to %d, got %" PRIu32,
                        RLT_MAX_ACCELERATORS, spec->size);
    if (spec->n_params > RLT_MAX_DIM_PARAMS)
        return rlt_fail(err, RLT_ERANGE, spec->where, "at most %d parameters", RLT_MAX_DIM_PARAMS);
    if (spec->bw_Bps && spec->link_bw_Bps)
        return rlt_fail(err, RLT_ESCHEMA, spec->where, "give bandwidth or link_bandwidth, not both");
    if (!spec->bw_Bps && !spec->link_bw_Bps)
        return rlt_fail(err, RLT_ESCHEMA, spec->where, "bandwidth must be above zero");
    if (spec->bw_Bps > RLT_MAX_LINK_Bps || spec->link_bw_Bps > RLT_MAX_LINK_Bps)
        return rlt_fail(err, RLT_ERANGE, spec->where, "bandwidth above 1 PB/s");
    if (spec->latency_ps < 0 || spec->latency_ps >= RLT_TIME_MAX)
        return rlt_fail(err, RLT_ERANGE, spec->where, "latency out of range");
    return 0;
}

static int read_one(const rlt_dim_spec *spec, rlt_factor *f, uint32_t i, rlt_error *err)
{
    static const rlt_param in_network = RLT_DIM_IN_NETWORK;
    const char *name = spec->params[i].name, *value = spec->params[i].value;
    const rlt_param *table = f->shape->info.parameters, *p = rlt_params_find(table, name);
    rlt_error why = {0};
    char whose[64];
    for (uint32_t j = 0; j < i; j++)
        if (strcmp(name, spec->params[j].name) == 0)
            return rlt_fail(err, RLT_ESCHEMA, spec->where, "parameter '%s' is given twice", name);
    if (!p && strcmp(name, in_network.name) == 0) /* `none` is also allowed for shapes without switches */
        p = &in_network;
    if (p)
        return rlt_param_read(p, f, value, NULL, &why)
                   ? rlt_fail(err, RLT_ESCHEMA, spec->where, "%s: %s", name, why.what)
                   : 0;
    snprintf(whose, sizeof whose, "shape %s", spec->shape);
    rlt_params_unknown(table, whose, name, &why);
    return rlt_fail(err, RLT_ESCHEMA, spec->where, "%.40s: %s", name, why.what);
}

/* Fills f from its shape's table: defaults, then given values. */
static int read_parameters(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err)
{
    int rc = rlt_params_preset(f->shape->info.parameters, f, err);
    for (uint32_t i = 0; i < spec->n_params && !rc; i++)
        rc = read_one(spec, f, i, err);
    return rc;
}

int rlt_factor_build(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err)
{
    *f = (rlt_factor){.n = spec->size, .split = UINT32_MAX};
    int rc = check_spec(spec, err);
    if (rc)
        return rc;
    f->shape = rlt_registry_find(&registry, spec->shape ? spec->shape : "", spec->where, err);
    if (!f->shape)
        return RLT_ESCHEMA;
    if ((rc = read_parameters(spec, f, err)) != 0 || (rc = f->shape->build(spec, f, err)) != 0)
        return rc;
    if (f->in_network && !f->switches)
        return rlt_fail(err, RLT_ESCHEMA, spec->where, "in_network: a %s has no switches", spec->shape);
    return 0;
}

uint64_t rlt_factor_egress(const rlt_factor *f, uint32_t a)
{
    if (f->shape->degree)
        return f->shape->degree(f, a) * f->cls[0].bw_Bps;
    return f->degree[0] * f->cls[0].bw_Bps + f->degree[1] * f->cls[1].bw_Bps;
}
