/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/experiment/coll/tenants.h"

#include <stdio.h>
#include <stdlib.h>

#include "collectives/algorithm.h"
#include "collectives/in_network/reactive.h"
#include "collectives/listed.h"
#include "net/aggregation/aggregator.h"

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
