/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work of reactive protocols and aggregating switches in a run. */
#include <inttypes.h>
#include <string.h>

#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "net/topology/topology.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/output/output.h"
#include "tools/output/react.h"
#include "tools/run/report.h"
#include "workload/experiment/run/result.h"
#include "workload/experiment/run/run.h"
#include "workload/replay/replay.h"

/* The protocols that ran, in order of appearance, with the number of runs. */
typedef struct ran {
    const char *protocol;
    uint32_t times;
} ran;

static uint32_t list_protocols(const rlt_fabric *f, ran *list, uint32_t most)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < rlt_fabric_jobs(f); i++) {
        const char *name = rlt_fabric_result(f, i).protocol;
        uint32_t k = 0;
        while (k < n && list[k].protocol != name)
            k++;
        if (k == most)
            continue;
        if (k == n)
            list[n++] = (ran){.protocol = name};
        list[k].times++;
    }
    return n;
}

static rlt_react_result sum_of(const rlt_fabric *f)
{
    rlt_react_result sum = {0};
    for (uint32_t i = 0; i < rlt_fabric_jobs(f); i++) {
        rlt_react_result r = rlt_fabric_result(f, i);
        sum.packets += r.packets;
        sum.retransmissions += r.retransmissions;
        sum.timeouts += r.timeouts;
        sum.lost += r.lost;
        sum.aggregated += r.aggregated;
        sum.unaggregated += r.unaggregated;
        sum.server_bytes += r.server_bytes;
    }
    return sum;
}

/* Returns the first reason why a protocol ran in place of the one asked for; NULL: none did. */
static const char *why_other(const rlt_fabric *f, char *buffer, size_t size)
{
    for (uint32_t i = 0; i < rlt_fabric_jobs(f); i++) {
        rlt_react_result r = rlt_fabric_result(f, i);
        if (r.fallback[0] || r.fell_back) {
            snprintf(buffer, size, "%s", r.fallback[0] ? r.fallback : r.fell_back);
            return buffer;
        }
    }
    return NULL;
}

void rlt_run_react_table(const rlt_run *r, FILE *out)
{
    enum { MOST = 16 };
    const rlt_fabric *f = rlt_replay_fabric(r->replay);
    const rlt_aggregator *a;
    ran list[MOST];
    char why[160], name[200];
    uint32_t node;
    if (!f || rlt_fabric_jobs(f) == 0)
        return;
    uint32_t n = list_protocols(f, list, MOST);
    rlt_react_result sum = sum_of(f);
    rlt_heading(out, "\naggregation in the network");
    for (uint32_t i = 0; i < n; i++)
        fprintf(out, "%s%u by %s", i ? ", " : "", list[i].times, list[i].protocol);
    fprintf(out, "; %" PRIu64 " packets from hosts, %" PRIu64 " sent again\n", sum.packets,
            sum.retransmissions);
    if (why_other(f, why, sizeof why))
        fprintf(out, "note: some fell back: %s\n", why);
    for (uint32_t i = 0; (a = rlt_fabric_switch(f, i, &node)); i++) {
        rlt_agg_occupancy o = rlt_aggregator_occupancy(a, rlt_run_end(r));
        rlt_agg_counts c = rlt_aggregator_counts(a, RLT_NONE);
        fprintf(out,
                "%s: at most %u of %u slots in use, %.1f on average; %" PRIu64 " sums, %" PRIu64
                " collisions, %" PRIu64 " fallbacks\n",
                rlt_topology_node_name(r->setup.topology, node, name, sizeof name), o.peak,
                rlt_aggregator_slots(a), o.mean, c.completions, c.collisions, c.fallbacks);
    }
}

static void put_switch(rlt_jw *w, const rlt_run *r, const rlt_aggregator *a, uint32_t node)
{
    char name[200];
    rlt_agg_occupancy o = rlt_aggregator_occupancy(a, rlt_run_end(r));
    rlt_agg_counts c = rlt_aggregator_counts(a, RLT_NONE);
    rlt_jw_object(w, NULL);
    rlt_jw_string(w, "switch", rlt_topology_node_name(r->setup.topology, node, name, sizeof name));
    rlt_jw_u64(w, "slots", rlt_aggregator_slots(a));
    rlt_jw_u64(w, "peak_occupancy", o.peak);
    rlt_jw_double(w, "mean_occupancy", o.mean, 3);
    rlt_agg_counts_json(w, &c);
    rlt_jw_end_object(w);
}

void rlt_run_react_json(const rlt_run *r, rlt_jw *w)
{
    enum { MOST = 16 };
    const rlt_fabric *f = rlt_replay_fabric(r->replay);
    const rlt_aggregator *a;
    ran list[MOST];
    uint32_t node;
    char why[160];
    if (!f)
        return;
    uint32_t n = list_protocols(f, list, MOST);
    rlt_react_result sum = sum_of(f);
    rlt_jw_object(w, "in_network");
    rlt_jw_object(w, "jobs");
    for (uint32_t i = 0; i < n; i++)
        rlt_jw_u64(w, list[i].protocol, list[i].times);
    rlt_jw_end_object(w);
    rlt_jw_u64(w, "packets", sum.packets);
    rlt_jw_u64(w, "retransmissions", sum.retransmissions);
    rlt_jw_u64(w, "timeouts", sum.timeouts);
    rlt_jw_u64(w, "lost", sum.lost);
    rlt_jw_u64(w, "aggregated", sum.aggregated);
    rlt_jw_u64(w, "unaggregated", sum.unaggregated);
    rlt_jw_u64(w, "server_bytes", sum.server_bytes);
    if (why_other(f, why, sizeof why))
        rlt_jw_string(w, "fallback", why);
    rlt_jw_array(w, "switches");
    for (uint32_t i = 0; (a = rlt_fabric_switch(f, i, &node)); i++)
        put_switch(w, r, a, node);
    rlt_jw_end_array(w);
    rlt_jw_end_object(w);
}
