/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters of algorithms by name: shared ones, and those of single algorithms. */
#include <stdio.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/words.h"

const rlt_param rlt_coll_parameters[] = {
    RLT_HAS_CHANNELS(NULL),   RLT_HAS_CHUNKS(NULL),  RLT_HAS_WINDOW(NULL),
    RLT_HAS_DIRECTIONS(NULL), RLT_HAS_SERVERS(NULL), RLT_HAS_PATTERNS(NULL),
    RLT_HAS_SCHEDULE(NULL),   RLT_HAS_ORDER(NULL),   {0}};

/* Reads "ring,direct": pattern names by dimension of the topology, innermost first. */
int rlt_read_patterns(const rlt_param *p, void *into, const char *text, const char *where, rlt_error *err)
{
    rlt_coll_params *params = into;
    const char *cursor = text, *item;
    size_t length;
    (void)p;
    memset(params->patterns, 0, sizeof params->patterns);
    for (uint32_t d = 0; (item = rlt_next_item(&cursor, ',', &length)); d++) {
        char word[32];
        uint8_t which = 0;
        snprintf(word, sizeof word, "%.*s", (int)(length < 31 ? length : 31), item);
        if (d == RLT_MAX_DIMS)
            return rlt_fail(err, RLT_EUSAGE, where, "'%s' is for dimension %u, but a topology has at most %d",
                            word, d, RLT_MAX_DIMS);
        int rc = rlt_param_read(&rlt_pattern_parameter, &which, word, where, err);
        if (rc)
            return rc;
        params->patterns[d] = rlt_pattern_name(which);
    }
    return 0;
}

void rlt_write_patterns(const rlt_param *p, const void *from, char *text, size_t size)
{
    const rlt_coll_params *params = from;
    size_t used = 0;
    (void)p;
    for (uint32_t d = 0; d < RLT_MAX_DIMS && params->patterns[d] && used < size; d++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", d ? "," : "", params->patterns[d]);
}

/* Returns the name without an algorithm's prefix. *only is that algorithm, or NULL. */
static const char *bare_name(const char *name, const rlt_algorithm **only)
{
    const char *dot = strchr(name, '.');
    *only = NULL;
    for (uint32_t i = 0; dot && (*only = rlt_algorithm_at(i)); i++)
        if (strlen((*only)->name) == (size_t)(dot - name) &&
            strncmp((*only)->name, name, (size_t)(dot - name)) == 0)
            return dot + 1;
    return name;
}

const rlt_param *rlt_coll_parameter(const char *name)
{
    const rlt_algorithm *only, *a;
    const rlt_param *p = rlt_params_find(rlt_coll_parameters, name);
    const char *bare = bare_name(name, &only);
    for (uint32_t i = 0; !p && (a = rlt_algorithm_at(i)); i++)
        if (!only || a == only)
            p = rlt_params_find(a->parameters, bare);
    return p;
}

static int set_own(rlt_coll_params *params, const rlt_param *row, const char *value, rlt_error *err)
{
    rlt_param_value slots[RLT_MAX_OWN] = {{0}};
    uint32_t k = 0, slot = (uint32_t)(row->offset / sizeof *slots);
    while (k < params->n_own && params->own[k].row != row)
        k++;
    if (k == RLT_MAX_OWN || slot >= RLT_MAX_OWN)
        return rlt_fail(err, RLT_ERANGE, row->name, "more than %d parameters of specific algorithms",
                        RLT_MAX_OWN);
    int rc = rlt_param_read(row, slots, value, NULL, err);
    if (rc)
        return rc;
    params->own[k] = (rlt_coll_own){row, slots[slot]};
    params->n_own += k == params->n_own;
    return 0;
}

int rlt_coll_params_set(rlt_coll_params *params, const char *name, const char *value, rlt_error *err)
{
    const rlt_algorithm *only, *a;
    const rlt_param *p = rlt_params_find(rlt_coll_parameters, name);
    const char *bare = bare_name(name, &only);
    bool known = false;
    int rc = 0;
    if (p)
        return rlt_param_read(p, params, value, NULL, err);
    for (uint32_t i = 0; !rc && (a = rlt_algorithm_at(i)); i++) {
        p = only && a != only ? NULL : rlt_params_find(a->parameters, bare);
        known |= p != NULL;
        if (p)
            rc = p->width == sizeof(rlt_param_value) ? set_own(params, p, value, err)
                                                     : rlt_param_read(p, params, value, NULL, err);
    }
    if (only && !known)
        return rlt_params_unknown(only->parameters, only->name, bare, err);
    return known ? rc : rlt_params_unknown(rlt_coll_parameters, "algorithms", name, err);
}

const rlt_param *rlt_coll_params_idle(const rlt_coll_params *params, const rlt_algorithm *a, uint32_t i,
                                      char *text, size_t size)
{
    const rlt_coll_params none = {0};
    for (const rlt_param *p = rlt_coll_parameters; p->name; p++) {
        char without[80];
        rlt_param_write(p, params, text, size);
        rlt_param_write(p, &none, without, sizeof without);
        if (strcmp(text, without) != 0 && !rlt_params_find(a->parameters, p->name) && i-- == 0)
            return p;
    }
    for (uint32_t k = 0; k < params->n_own; k++) {
        rlt_param_value slots[RLT_MAX_OWN] = {{0}};
        const rlt_param *row = params->own[k].row;
        slots[row->offset / sizeof *slots] = params->own[k].value;
        rlt_param_write(row, slots, text, size);
        if (!rlt_params_find(a->parameters, row->name) && i-- == 0)
            return row;
    }
    return NULL;
}
