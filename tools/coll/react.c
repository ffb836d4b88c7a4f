/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The work of switches and servers for one collective, as JSON. */
#include "tools/coll/react.h"

#include <stdlib.h>

#include "collectives/in_network/libra/libra.h"
#include "collectives/in_network/reactive.h"
#include "net/aggregation/aggregator.h"
#include "sim/base/time.h"
#include "tools/output/react.h"

/* Returns the mean number of slots in use in each bin, if it was recorded. */
static int occupancy_of(const rlt_aggregator *a, rlt_time *bin_ps, double **slots, uint32_t *bins,
                        rlt_error *err)
{
    *bins = a ? rlt_aggregator_bins(a, bin_ps) : 0;
    *slots = NULL;
    if (*bins == 0)
        return 0;
    if (!(*slots = calloc(*bins, sizeof **slots)))
        return rlt_nomem(err);
    for (uint32_t i = 0; i < *bins; i++)
        (*slots)[i] = rlt_aggregator_bin(a, i);
    return 0;
}

static void put_occupancy(rlt_jw *w, rlt_time bin_ps, const double *slots, uint32_t bins)
{
    rlt_jw_object(w, "occupancy");
    rlt_jw_i64(w, "bin_ps", bin_ps);
    rlt_jw_array(w, "slots");
    for (uint32_t i = 0; i < bins; i++)
        rlt_jw_double(w, NULL, slots[i], 3);
    rlt_jw_end_array(w);
    rlt_jw_end_object(w);
}

static int put_fullest(rlt_jw *w, const rlt_react_run *run, const rlt_topology *t, rlt_error *err)
{
    char name[200];
    double *slots;
    uint32_t bins;
    rlt_time bin_ps = 0;
    rlt_agg_memory m = rlt_aggregator_memory(run->fullest);
    int rc = occupancy_of(run->fullest, &bin_ps, &slots, &bins, err);
    if (rc)
        return rc;
    rlt_jw_string(w, "fullest_switch", rlt_topology_node_name(t, run->node, name, sizeof name));
    rlt_jw_double(w, "mean_occupancy", run->mean, 3);
    rlt_jw_u64(w, "memory_bytes", m.value_bytes + (m.state_bits + 7) / 8);
    if (bins)
        put_occupancy(w, bin_ps, slots, bins);
    free(slots);
    return 0;
}

/* Writes the counts that only Libra has. */
static void put_libra(rlt_jw *w, const rlt_libra_report *l)
{
    rlt_jw_object(w, "libra");
    rlt_jw_double(w, "hot_share", l->share, 6);
    rlt_jw_double(w, "packet_share", l->packet_share, 6);
    rlt_jw_u64(w, "hot_parameters", l->hot);
    rlt_jw_u64(w, "parameters", l->parameters);
    rlt_jw_u64(w, "updates_counted", l->counted);
    rlt_jw_double(w, "hot_touched", l->touched, 1);
    rlt_jw_u64(w, "register_bytes", l->register_bytes);
    rlt_jw_double(w, "passes", l->passes, 4);
    rlt_jw_double(w, "passes_random", l->passes_random, 4);
    rlt_jw_double(w, "gain_by_law", l->law, 4);
    rlt_jw_u64(w, "connections", l->connections);
    rlt_jw_u64(w, "connections_without_switch", l->connections_plain);
    rlt_jw_u64(w, "connections_of_a_server", l->server_connections);
    rlt_jw_u64(w, "incast", l->incast);
    rlt_jw_u64(w, "steps", l->steps);
    rlt_jw_u64(w, "flushes", l->flushes);
    rlt_jw_double(w, "staleness_mean", l->staleness_mean, 3);
    rlt_jw_u64(w, "staleness_worst", l->staleness_worst);
    rlt_jw_end_object(w);
}

int rlt_react_json(rlt_jw *w, const rlt_react_run *run, const rlt_topology *t, rlt_error *err)
{
    int rc = 0;
    const rlt_react_result *r = &run->result;
    rlt_libra_report libra;
    rlt_jw_object(w, "in_network");
    rlt_jw_u64(w, "workers", r->workers);
    rlt_jw_u64(w, "servers", r->servers);
    rlt_jw_u64(w, "chunks", r->chunks);
    rlt_jw_u64(w, "window", r->window);
    rlt_jw_u64(w, "slots", r->slots);
    rlt_jw_u64(w, "adders", r->adders);
    rlt_jw_u64(w, "levels", r->levels);
    rlt_jw_u64(w, "packets", r->packets);
    rlt_jw_u64(w, "timeouts", r->timeouts);
    rlt_jw_u64(w, "lost", r->lost);
    rlt_jw_u64(w, "left_out", r->left_out);
    if (rlt_react_reason(r))
        rlt_jw_string(w, "fallback", rlt_react_reason(r));
    rlt_agg_counts_json(w, &r->switches);
    if (run->node != RLT_NONE)
        rc = put_fullest(w, run, t, err);
    if (!rc && rlt_libra_report_of(run->fabric, run->slowest, &libra, NULL) == 0)
        put_libra(w, &libra);
    rlt_jw_end_object(w);
    return rc;
}
