/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The columns of the table, and how a simulation fills them. */
#include "tools/coll/row.h"

#include <stdio.h>

#include "collectives/collective.h"
#include "net/usage.h"

/* Collective and algorithm become as wide as the longest name asked for. */
const rlt_column rlt_row_columns[RLT_ROW_COLUMNS] = {
    {"collective", "collective", NULL, RLT_COL_TEXT, 10, 0, "kind of the collective"},
    {"bytes", "size", NULL, RLT_COL_SIZE, 9, 0, "its size as nccl-tests counts it: the buffer of a rank"},
    {"algorithm", "algorithm", NULL, RLT_COL_TEXT, 12, 0, "algorithm or protocol that carries it out"},
    {"ranks", "ranks", NULL, RLT_COL_COUNT, 5, 0, "number of ranks that take part"},
    {"time_ps", "time", "us", RLT_COL_TIME, 10, 0,
     "from the first step to the moment when the last rank is done"},
    {NULL, "", NULL, RLT_COL_TEXT, 1, 0, "* marks the fastest algorithm of this size"},
    {"algbw_GBps", "algbw", "GB/s", RLT_COL_REAL, 8, 2, "algorithm bandwidth: bytes / time"},
    {"busbw_GBps", "busbw", "GB/s", RLT_COL_REAL, 8, 2,
     "bus bandwidth: algbw x the bus factor of the collective"},
    {"bound_ps", "bound", "us", RLT_COL_TIME, 10, 0, "lower bound: no algorithm is faster on this network"},
    {NULL, "eff.", "%", RLT_COL_PERCENT, 5, 1, "efficiency: bound / time"},
    {"bottleneck_utilization", "busy", "%", RLT_COL_PERCENT, 5, 1,
     "utilization of the bottleneck: its busy time / time"},
    {"bottleneck", "bottleneck", NULL, RLT_COL_TEXT, 10, 0, "the link that is busy longest"},
    {"bus_factor", NULL, NULL, RLT_COL_REAL, 0, 0, "bus factor: 2 (n-1)/n for an all-reduce of n ranks"},
    {"network", NULL, NULL, RLT_COL_TEXT, 0, 0, "network model, the same for all rows"},
    {"events", NULL, NULL, RLT_COL_COUNT, 0, 0, "events of the simulation"},
    {"messages", NULL, NULL, RLT_COL_COUNT, 0, 0, "messages sent"},
    {"simulated_ranks", NULL, NULL, RLT_COL_COUNT, 0, 0,
     "ranks that were simulated: one of each class of identical ranks"},
    {"retransmissions", "resent", NULL, RLT_COL_COUNT, 6, 0, "packets sent again"},
    {"fallback_share", "to srv", "%", RLT_COL_PERCENT, 6, 1,
     "share of the contributions that reached a server without being aggregated by a switch"},
    {"peak_occupancy", "slots", NULL, RLT_COL_COUNT, 6, 0,
     "aggregation slots in use at the fullest switch, at most"},
    {"server_bytes", NULL, NULL, RLT_COL_COUNT, 0, 0, "bytes that arrived at parameter servers"},
    {"collision_share", "taken", "%", RLT_COL_PERCENT, 6, 1,
     "share of the packets at aggregating switches that found their slot taken by another job"},
    {"tenant_count", "tenants", NULL, RLT_COL_COUNT, 7, 0, "jobs at the same time (--tenants)"},
    {"fairness", "Jain", NULL, RLT_COL_REAL, 6, 3,
     "Jain's index of the rates of the jobs: 1 is equal, 1/J one job has all"},
};

void rlt_row_of(rlt_coll_row *row, const rlt_coll_result *r, const rlt_tenants *tenants)
{
    bool timed = r->time_ps > 0;
    uint32_t i = 0;
    row->time_ps = r->time_ps;
    snprintf(row->bottleneck, sizeof row->bottleneck, "%s",
             r->busiest.link == RLT_NONE ? "none" : r->busiest.name);
    row->values[i++] = rlt_text(rlt_coll_name(r->kind));
    row->values[i++] = rlt_count(r->bytes);
    row->values[i++] = rlt_text(r->algorithm);
    row->values[i++] = rlt_count(r->ranks);
    row->values[i++] = rlt_ps(r->time_ps);
    row->values[i++] = rlt_text("");
    row->values[i++] = r->algbw_GBps;
    row->values[i++] = r->busbw_GBps;
    row->values[i++] = rlt_ps(r->bound_ps);
    row->values[i++] = timed ? rlt_real((double)r->bound_ps / (double)r->time_ps) : rlt_absent();
    row->values[i++] = rlt_real(r->busiest.utilization);
    row->values[i++] = rlt_absent(); /* the bottleneck: set once the row is at its final place */
    row->values[i++] = rlt_real(r->factor);
    row->values[i++] = rlt_text(r->network);
    row->values[i++] = rlt_count(r->events);
    row->values[i++] = rlt_count(r->messages);
    row->values[i++] = rlt_count(r->simulated);
    row->values[i++] = r->retransmissions;
    row->values[i++] = r->fallback;
    row->values[i++] = r->peak;
    row->values[i++] = r->server_bytes;
    row->values[i++] = r->collided;
    row->values[i++] = tenants->list ? rlt_count(tenants->n) : rlt_absent();
    row->values[i++] = r->fairness;
}
