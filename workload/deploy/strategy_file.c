/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Strategies as JSON. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"

static const char *const uses[RLT_USES] = {"ps", "all_reduce", "model", "duplicate"};

const char *rlt_use_name(uint8_t use)
{
    return use < RLT_USES ? uses[use] : "?";
}

static void write_hash(rlt_jw *w, const char *key, uint64_t hash)
{
    char text[24];
    snprintf(text, sizeof text, "%016" PRIx64, hash);
    rlt_jw_string(w, key, text);
}

static void write_operator(rlt_jw *w, const rlt_operator *o, uint32_t group, bool broadcast)
{
    rlt_jw_object(w, NULL);
    rlt_jw_string(w, "name", o->name);
    rlt_jw_u64(w, "group", group);
    rlt_jw_bool(w, "broadcast", broadcast);
    rlt_jw_i64(w, "time_ps", o->time_ps);
    rlt_jw_i64(w, "launch_ps", o->launch_ps);
    rlt_jw_u64(w, "parameter_bytes", o->parameter_bytes);
    rlt_jw_u64(w, "kept_bytes", o->kept_bytes);
    rlt_jw_u64(w, "forward", o->forward);
    if (o->together != RLT_NONE)
        rlt_jw_u64(w, "together", o->together);
    rlt_jw_u64(w, "pass", o->pass);
    rlt_jw_bool(w, "splittable", o->splittable);
    rlt_jw_end_object(w);
}

void rlt_strategy_members(rlt_jw *w, const rlt_opgraph *g, const rlt_cluster *c, const rlt_grouping *p,
                          const rlt_strategy *s)
{
    rlt_jw_string(w, "graph", g->name);
    write_hash(w, "graph_hash", g->hash);
    rlt_jw_string(w, "cluster", c->name);
    write_hash(w, "cluster_hash", c->hash);
    rlt_jw_array(w, "device_groups");
    for (uint32_t i = 0; i < c->n_groups; i++) {
        rlt_jw_object(w, NULL);
        rlt_jw_string(w, "type", c->groups[i].name);
        rlt_jw_u64(w, "count", c->groups[i].n);
        rlt_jw_digits(w, "factor", c->groups[i].factor, 9);
        rlt_jw_u64(w, "memory_bytes", c->groups[i].memory_bytes);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    rlt_jw_array(w, "groups");
    for (uint32_t i = 0; i < s->n; i++) {
        rlt_jw_object(w, NULL);
        rlt_jw_array(w, "devices");
        for (uint32_t k = 0; k < c->n_groups; k++)
            if (s->actions[i].placement >> k & 1)
                rlt_jw_u64(w, NULL, k);
        rlt_jw_end_array(w);
        rlt_jw_string(w, "use", rlt_use_name(s->actions[i].use));
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    rlt_jw_array(w, "operators");
    for (uint32_t i = 0; i < g->n_ops; i++)
        write_operator(w, &g->ops[i], p->of_op[i], s->broadcast && s->broadcast[i]);
    rlt_jw_end_array(w);
    rlt_jw_array(w, "tensors");
    for (uint32_t i = 0; i < g->n_tensors; i++) {
        const rlt_tensor *t = &g->tensors[i];
        rlt_jw_array(w, NULL);
        rlt_jw_u64(w, NULL, t->src);
        rlt_jw_u64(w, NULL, t->dst);
        rlt_jw_u64(w, NULL, t->bytes);
        rlt_jw_u64(w, NULL, t->kind);
        rlt_jw_end_array(w);
    }
    rlt_jw_end_array(w);
}

/* ---- reading ---- */

rlt_json rlt_strategy_object(const rlt_json_doc *doc)
{
    rlt_json root = rlt_json_root(doc), inner = rlt_json_get(root, "strategy");
    return rlt_json_is(inner) ? inner : root;
}

static int read_action(rlt_json v, const rlt_cluster *c, rlt_action *a, rlt_error *err)
{
    static const char *const keys[] = {"devices", "use", NULL};
    rlt_json devices = rlt_json_get(v, "devices");
    const char *use = NULL;
    int rc;
    *a = (rlt_action){0};
    if ((rc = rlt_json_only(v, keys, err)) || (rc = rlt_json_get_string(v, "use", true, &use, err)))
        return rc;
    for (a->use = 0; a->use < RLT_USES && strcmp(use, uses[a->use]) != 0;)
        a->use++;
    if (a->use == RLT_USES)
        return rlt_json_fail(rlt_json_get(v, "use"), RLT_ESCHEMA, err,
                             "expected ps, all_reduce, model or duplicate, got '%.40s'", use);
    for (rlt_json d = rlt_json_first(devices); rlt_json_is(d) && !rc; d = rlt_json_next(d)) {
        uint64_t i = 0;
        if (!(rc = rlt_json_u64(d, UINT32_MAX, &i, err)) && i >= c->n_groups)
            rc = rlt_json_fail(d, RLT_ESCHEMA, err, "the cluster has device groups 0 to %u", c->n_groups - 1);
        a->placement |= rc ? 0 : 1u << i;
    }
    if (!rc && a->placement == 0)
        rc = rlt_json_fail(v, RLT_ESCHEMA, err, "expected 'devices', a list of at least one device group");
    return rc;
}

static int read_actions(rlt_json root, const rlt_cluster *c, rlt_strategy *s, rlt_error *err)
{
    rlt_json groups = rlt_json_get(root, "groups");
    if (!rlt_json_is_array(groups) || rlt_json_count(groups) == 0 ||
        rlt_json_count(groups) > RLT_MAX_OPERATORS)
        return rlt_json_fail(root, RLT_ESCHEMA, err, "expected 'groups', a list of at least one group");
    s->actions = calloc(rlt_json_count(groups), sizeof *s->actions);
    if (!s->actions)
        return rlt_nomem(err);
    int rc = 0;
    for (rlt_json v = rlt_json_first(groups); rlt_json_is(v) && !rc; v = rlt_json_next(v))
        rc = read_action(v, c, &s->actions[s->n++], err);
    return rc;
}

static int read_operator(rlt_json v, const rlt_strings *names, uint32_t n_groups, uint32_t *of_op,
                         uint8_t *broadcast, rlt_error *err)
{
    const char *name = NULL;
    uint64_t group = 0;
    bool both = false;
    int rc;
    if ((rc = rlt_json_get_string(v, "name", true, &name, err)) ||
        (rc = rlt_json_get_u64(v, "group", true, n_groups - 1, &group, err)) ||
        (rc = rlt_json_get_bool(v, "broadcast", false, &both, err)))
        return rc;
    uint32_t i = rlt_intern_find(names, name, strlen(name));
    if (i == RLT_NONE)
        return rlt_json_fail(v, RLT_ESCHEMA, err, "the graph has no operator '%.80s'", name);
    if (of_op[i] != RLT_NONE)
        return rlt_json_fail(v, RLT_ESCHEMA, err, "operator '%.80s' appears twice", name);
    of_op[i] = (uint32_t)group;
    broadcast[i] = both;
    return 0;
}

static int read_operators(rlt_json root, const rlt_opgraph *g, rlt_strategy *s, uint32_t *of_op,
                          rlt_error *err)
{
    rlt_strings names = {0};
    rlt_json list = rlt_json_get(root, "operators");
    int rc =
        rlt_json_is_array(list) ? 0 : rlt_json_fail(root, RLT_ESCHEMA, err, "expected 'operators', a list");
    for (uint32_t i = 0; i < g->n_ops && !rc; i++) {
        uint32_t k = rlt_intern(&names, g->ops[i].name, strlen(g->ops[i].name));
        of_op[i] = RLT_NONE;
        if (k != i)
            rc = k == RLT_NONE
                     ? rlt_nomem(err)
                     : rlt_fail(err, RLT_EUNSUPPORTED, g->name,
                                "two operators are called '%.80s': a strategy file needs different names",
                                g->ops[i].name);
    }
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v) && !rc; v = rlt_json_next(v))
        rc = read_operator(v, &names, s->n, of_op, s->broadcast, err);
    for (uint32_t i = 0; i < g->n_ops && !rc; i++)
        if (of_op[i] == RLT_NONE)
            rc = rlt_json_fail(list, RLT_ESCHEMA, err, "operator '%.80s' is missing", g->ops[i].name);
    rlt_strings_free(&names);
    return rc;
}

/* Groups of the file as a grouping, whose order is its own: actions move along. */
static int put_in_order(const rlt_opgraph *g, const uint32_t *of_op, rlt_grouping *p, rlt_strategy *s,
                        rlt_error *err)
{
    rlt_action *sorted = calloc(s->n, sizeof *sorted);
    int rc = sorted ? rlt_grouping_make(g, of_op, s->n, p, err) : rlt_nomem(err);
    for (uint32_t i = 0; i < g->n_ops && !rc; i++)
        sorted[p->of_op[i]] = s->actions[of_op[i]];
    if (rc) {
        free(sorted);
        return rc;
    }
    free(s->actions);
    s->actions = sorted;
    s->n = p->n;
    return 0;
}

int rlt_strategy_read(rlt_json_doc *doc, const rlt_opgraph *g, const rlt_cluster *c, rlt_grouping *p,
                      rlt_strategy *s, rlt_error *err)
{
    uint32_t *of_op = malloc((size_t)g->n_ops * sizeof *of_op);
    *p = (rlt_grouping){0};
    *s = (rlt_strategy){.broadcast = calloc(g->n_ops, 1)};
    int rc = of_op && s->broadcast ? 0 : rlt_nomem(err);
    if (!rc) {
        rlt_json root = rlt_strategy_object(doc);
        if (!(rc = read_actions(root, c, s, err)) && !(rc = read_operators(root, g, s, of_op, err)))
            rc = put_in_order(g, of_op, p, s, err);
    }
    if (rc)
        rlt_strategy_free(s);
    free(of_op);
    return rc;
}
