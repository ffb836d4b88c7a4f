/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a simulation says in the columns of the table. */
#include "tools/coll/row.h"

#include <stdio.h>

#include "collectives/collective.h"
#include "collectives/executor.h"
#include "collectives/in_network/reactive.h"
#include "sim/sim.h"

const rlt_column rlt_row_columns[RLT_ROW_COLUMNS] = {
    {"collective", "collective", NULL, RLT_COL_TEXT, 10, 0}, /* or as wide as the longest asked for */
    {"bytes", "size", NULL, RLT_COL_SIZE, 9, 0},
    {"algorithm", "algorithm", NULL, RLT_COL_TEXT, 12, 0}, /* the same */
    {"ranks", "ranks", NULL, RLT_COL_COUNT, 5, 0},
    {"time_ps", "time", "us", RLT_COL_TIME, 10, 0},
    {NULL, "", NULL, RLT_COL_TEXT, 1, 0}, /* the fastest of its size */
    {"algbw_GBps", "algbw", "GB/s", RLT_COL_REAL, 8, 2},
    {"busbw_GBps", "busbw", "GB/s", RLT_COL_REAL, 8, 2},
    {"bound_ps", "bound", "us", RLT_COL_TIME, 10, 0},
    {NULL, "eff.", "%", RLT_COL_PERCENT, 5, 1},
    {"bottleneck_utilization", "busy", "%", RLT_COL_PERCENT, 5, 1},
    {"bottleneck", "bottleneck", NULL, RLT_COL_TEXT, 10, 0},
    {"bus_factor", NULL, NULL, RLT_COL_REAL, 0, 0},
    {"events", NULL, NULL, RLT_COL_COUNT, 0, 0},
    {"messages", NULL, NULL, RLT_COL_COUNT, 0, 0},
    {"simulated_ranks", NULL, NULL, RLT_COL_COUNT, 0, 0}, /* one of each class, when folded */
    {"retransmissions", "resent", NULL, RLT_COL_COUNT, 6, 0},
    {"fallback_share", "to srv", "%", RLT_COL_PERCENT, 6, 1}, /* not added up on the way to a server */
    {"peak_occupancy", "slots", NULL, RLT_COL_COUNT, 6, 0},
    {"server_bytes", NULL, NULL, RLT_COL_COUNT, 0, 0},
    {"tenant_count", "tenants", NULL, RLT_COL_COUNT, 7, 0},
    {"fairness", "Jain", NULL, RLT_COL_REAL, 6, 3},
};

static void put_tenants(rlt_coll_row *row, const rlt_tenants *t)
{
    row->values[RLT_ROW_OF_PROTOCOLS] = t->list ? rlt_count(t->n) : rlt_absent();
    row->values[RLT_ROW_OF_PROTOCOLS + 1] = t->list ? rlt_real(t->fairness) : rlt_absent();
}

void rlt_row_of_steps(rlt_coll_row *row, const rlt_coll_run *run, const rlt_tenants *tenants)
{
    const rlt_coll_request *r = &run->plan.req;
    double seconds = (double)run->time_ps * 1e-12, factor = rlt_busbw_factor(r->kind, r->n);
    double algbw = (double)run->bytes / seconds * 1e-9;
    bool timed = run->time_ps > 0;
    uint32_t i = 0;
    row->time_ps = run->time_ps;
    snprintf(row->bottleneck, sizeof row->bottleneck, "%s",
             run->busiest.link == RLT_NONE ? "none" : run->busiest.name);
    row->values[i++] = rlt_text(rlt_coll_name(r->kind));
    row->values[i++] = rlt_count(run->bytes);
    row->values[i++] = rlt_text(r->listed ? r->listed->name : run->plan.algorithm->name);
    row->values[i++] = rlt_count(r->n);
    row->values[i++] = rlt_ps(run->time_ps);
    row->values[i++] = rlt_text("");
    row->values[i++] = timed ? rlt_real(algbw) : rlt_absent();
    row->values[i++] = timed ? rlt_real(algbw * factor) : rlt_absent();
    row->values[i++] = rlt_ps(run->bound_ps);
    row->values[i++] = timed ? rlt_real((double)run->bound_ps / (double)run->time_ps) : rlt_absent();
    row->values[i++] = rlt_real(run->busiest.utilization);
    row->values[i++] = rlt_absent(); /* the bottleneck: filled when the row stays where it is */
    row->values[i++] = rlt_real(factor);
    row->values[i++] = rlt_count(rlt_sim_events(run->sim));
    row->values[i++] = rlt_count(rlt_exec_net(run->exec)->messages);
    row->values[i++] = rlt_count(run->simulated);
    while (i < RLT_ROW_OF_PROTOCOLS)
        row->values[i++] = rlt_absent();
    put_tenants(row, tenants);
}

void rlt_row_of_protocol(rlt_coll_row *row, const rlt_react_run *run, const rlt_react_ask *ask,
                         const rlt_tenants *tenants)
{
    const rlt_coll_request *req = ask->req;
    const rlt_react_result *r = &run->result;
    double seconds = (double)r->time_ps * 1e-12, factor = rlt_busbw_factor(req->kind, r->workers);
    double algbw = (double)req->bytes / seconds * 1e-9;
    bool timed = r->time_ps > 0;
    uint32_t i = 0;
    row->time_ps = r->time_ps;
    snprintf(row->bottleneck, sizeof row->bottleneck, "%s",
             run->busiest.link == RLT_NONE ? "none" : run->busiest.name);
    row->values[i++] = rlt_text(rlt_coll_name(req->kind));
    row->values[i++] = rlt_count(req->bytes);
    row->values[i++] = rlt_text(rlt_reactive_name(ask->reacting->protocol));
    row->values[i++] = rlt_count(req->n);
    row->values[i++] = rlt_ps(r->time_ps);
    row->values[i++] = rlt_text("");
    row->values[i++] = timed ? rlt_real(algbw) : rlt_absent();
    row->values[i++] = timed ? rlt_real(algbw * factor) : rlt_absent();
    row->values[i++] = rlt_ps(run->bound_ps);
    row->values[i++] = timed ? rlt_real((double)run->bound_ps / (double)r->time_ps) : rlt_absent();
    row->values[i++] = rlt_real(run->busiest.utilization);
    row->values[i++] = rlt_absent();
    row->values[i++] = rlt_real(factor);
    row->values[i++] = rlt_count(run->events);
    row->values[i++] = rlt_count(r->packets);
    row->values[i++] = rlt_count((uint64_t)req->n * run->tenants);
    row->values[i++] = rlt_count(r->retransmissions);
    row->values[i++] = rlt_react_fallback(run->results, run->tenants);
    row->values[i++] = run->node == RLT_NONE ? rlt_absent() : rlt_count(run->peak);
    row->values[i++] = run->servers ? rlt_count(r->server_bytes) : rlt_absent();
    put_tenants(row, tenants);
}
