/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Equal jobs at once: their members, and what each of them did. */
#include "tools/coll/tenants.h"

#include <stdlib.h>

#include "collectives/algorithm.h"
#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"

/* Columns of the lines below the table; the first ones say which row they belong to. */
enum { N_COLUMNS = 11, N_OF_ROW = 3 };
static const rlt_column columns[N_COLUMNS] = {
    {"collective", "collective", NULL, RLT_COL_TEXT, 0, 0},
    {"bytes", "size", NULL, RLT_COL_SIZE, 0, 0},
    {"algorithm", "algorithm", NULL, RLT_COL_TEXT, 0, 0},
    {"tenant", "tenant", NULL, RLT_COL_COUNT, 0, 0},
    {"time_ps", "time", "us", RLT_COL_TIME, 0, 0},
    {"slots", "slots", NULL, RLT_COL_COUNT, 0, 0},
    {"fallback_share", "to srv", "%", RLT_COL_PERCENT, 0, 1},
    {"retransmissions", "resent", NULL, RLT_COL_COUNT, 0, 0},
    {"server_bytes", NULL, NULL, RLT_COL_COUNT, 0, 0},
    {"ran", "ran as", NULL, RLT_COL_TEXT, 0, 0},
    {"reason", "because", NULL, RLT_COL_TEXT, 0, 0},
};

int rlt_tenant_groups(const rlt_topology *t, const rlt_placement *p, const uint32_t *ranks, uint32_t n_ranks,
                      uint32_t n, rlt_group **out, rlt_error *err)
{
    uint32_t each = n_ranks / n;
    *out = NULL;
    if (n_ranks % n != 0 || each < 2)
        return rlt_fail(err, RLT_EUSAGE, "--tenants",
                        "%u ranks are not %u equal jobs of two ranks or more each", n_ranks, n);
    rlt_group *groups = calloc(n, sizeof *groups);
    uint32_t *own = malloc(each * sizeof *own);
    int rc = groups && own ? 0 : rlt_nomem(err);
    for (uint32_t j = 0; j < n && !rc; j++) {
        for (uint32_t k = 0; k < each; k++)
            own[k] = ranks ? ranks[k * n + j] : k * n + j;
        rc = rlt_group_create(t, p, own, each, &groups[j], err);
    }
    free(own);
    if (rc)
        rlt_tenant_groups_free(groups, n);
    else
        *out = groups;
    return rc;
}

void rlt_tenant_groups_free(rlt_group *groups, uint32_t n)
{
    for (uint32_t j = 0; j < n && groups; j++)
        rlt_group_free(&groups[j]);
    free(groups);
}

static int make(rlt_tenants *out, uint32_t n, rlt_error *err)
{
    *out = (rlt_tenants){.list = calloc(n, sizeof *out->list), .n = n, .fairness = 1};
    for (uint32_t i = 0; i < n && out->list; i++)
        out->list[i].slots = out->list[i].fallback = out->list[i].retransmissions =
            out->list[i].server_bytes = rlt_absent();
    return out->list ? 0 : rlt_nomem(err);
}

int rlt_tenants_of_steps(const rlt_coll_run *run, rlt_tenants *out, rlt_error *err)
{
    const rlt_plan *p = &run->plan;
    double sum = 0, squares = 0;
    int rc = make(out, run->planned, err);
    for (uint32_t i = 0; i < run->planned && !rc; i++) {
        rlt_time time_ps = run->tenants[i].time_ps;
        double rate = time_ps > 0 ? (double)run->bytes / (double)time_ps : 0;
        sum += rate;
        squares += rate * rate;
        out->list[i].time_ps = time_ps;
        out->list[i].ran = p->req.listed ? p->req.listed->name : p->algorithm->name;
    }
    out->fairness = rlt_jain(sum, squares, run->planned);
    return rc;
}

int rlt_tenants_of_protocol(const rlt_react_run *run, const rlt_react_ask *ask, rlt_tenants *out,
                            rlt_error *err)
{
    int rc = make(out, run->tenants, err);
    for (uint32_t i = 0; i < run->tenants && !rc; i++) {
        const rlt_react_result *r = &run->results[i];
        rlt_tenant *t = &out->list[i];
        const char *why = rlt_react_reason(r);
        t->time_ps = r->time_ps;
        t->slots = r->adders ? rlt_count(r->slots) : rlt_absent();
        t->fallback = rlt_react_fallback(r, 1);
        t->retransmissions = rlt_count(r->retransmissions);
        t->server_bytes = r->servers ? rlt_count(r->server_bytes) : rlt_absent();
        t->ran = rlt_react_ran(r, ask);
        if (!why && r->adders && r->slots == 0)
            why = rlt_agg_refusal_text(RLT_AGG_NO_SLOTS);
        snprintf(t->why, sizeof t->why, "%s", why ? why : "");
    }
    out->fairness = run->fairness;
    return rc;
}

void rlt_tenants_free(rlt_tenants *t)
{
    free(t->list);
    *t = (rlt_tenants){0};
}

static void fill(rlt_value v[N_COLUMNS], const rlt_tenant *t, uint32_t tenant)
{
    uint32_t i = N_OF_ROW;
    v[i++] = rlt_count(tenant);
    v[i++] = rlt_ps(t->time_ps);
    v[i++] = t->slots;
    v[i++] = t->fallback;
    v[i++] = t->retransmissions;
    v[i++] = t->server_bytes;
    v[i++] = rlt_text(t->ran);
    v[i++] = rlt_text(t->why[0] ? t->why : NULL);
}

void rlt_tenants_json(rlt_jw *w, const rlt_tenants *t)
{
    rlt_value v[N_COLUMNS];
    rlt_jw_array(w, "tenants");
    for (uint32_t i = 0; i < t->n; i++) {
        fill(v, &t->list[i], i);
        rlt_jw_object(w, NULL);
        rlt_row_json(w, columns + N_OF_ROW, N_COLUMNS - N_OF_ROW, v + N_OF_ROW);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
}

void rlt_tenants_table(rlt_table *table, FILE *out)
{
    rlt_table_begin(table, RLT_FORMAT_TABLE, columns, N_COLUMNS, out, NULL);
}

void rlt_tenants_rows(rlt_table *table, const rlt_tenants *t, rlt_coll_kind kind, uint64_t bytes,
                      const char *algorithm)
{
    rlt_value v[N_COLUMNS] = {rlt_text(rlt_coll_name(kind)), rlt_count(bytes), rlt_text(algorithm)};
    for (uint32_t i = 0; i < t->n; i++) {
        fill(v, &t->list[i], i);
        rlt_table_row(table, v);
    }
}
