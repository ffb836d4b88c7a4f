/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The table of reactive protocols, and their settings. */
#include "collectives/in_network/reactive.h"

#include <string.h>

#include "collectives/collective.h"
#include "collectives/in_network/reactor.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/registry.h"

#define RLT_X(name) &rlt_##name,
static const rlt_reactive *const table[] = {RLT_REACTIVES(RLT_X)};
#undef RLT_X
static rlt_registry registry = RLT_REGISTRY("protocol", RLT_ESCHEMA, table);

const rlt_reactive *rlt_reactive_at(uint32_t i)
{
    return rlt_registry_at(&registry, i);
}

const rlt_reactive *rlt_reactive_find(const char *name, rlt_error *err)
{
    return rlt_registry_find(&registry, name, NULL, err);
}

const char *rlt_reactive_name(const rlt_reactive *r)
{
    return r->name;
}

const char *rlt_reactive_summary(const rlt_reactive *r)
{
    return r->summary;
}

const rlt_param *rlt_reactive_settings(const rlt_reactive *r)
{
    return r->settings;
}

uint32_t rlt_reactive_can(const rlt_reactive *r)
{
    return r->can;
}

bool rlt_reactive_does(const rlt_reactive *r, rlt_coll_kind kind)
{
    return (unsigned)kind < RLT_COLL_KINDS && (r->kinds >> kind & 1);
}

uint32_t rlt_reacting_servers(const rlt_reacting *r)
{
    return r->protocol->servers ? r->protocol->servers(r->values) : 0;
}

int rlt_settings_preset(const rlt_reactive *r, rlt_param_value values[RLT_MAX_SETTINGS], rlt_error *err)
{
    memset(values, 0, RLT_MAX_SETTINGS * sizeof *values);
    return rlt_params_preset(r->settings, values, err);
}

int rlt_settings_set(const rlt_reactive *r, rlt_param_value values[RLT_MAX_SETTINGS], const char *name,
                     const char *text, rlt_error *err)
{
    return rlt_params_set(r->settings, r->name, values, name, text, err);
}
