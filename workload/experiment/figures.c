/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The columns of an experiment's results. */
#include "workload/experiment/figures.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/map.h"
#include "sim/base/words.h"

const rlt_figure_info rlt_figure_infos[RLT_FIGURES] = {
    [RLT_FIG_TIME] = {"time_ps", RLT_FIG_INTEGER, "time of the run or the collective"},
    [RLT_FIG_ITERATION] = {"iteration_time_ps", RLT_FIG_INTEGER, "mean time of an iteration, rounded down"},
    [RLT_FIG_COMPUTE] = {"compute_ps", RLT_FIG_INTEGER, "compute time of the rank that ends last"},
    [RLT_FIG_COMM] = {"exposed_comm_ps", RLT_FIG_INTEGER,
                      "communication time of that rank without simultaneous compute"},
    [RLT_FIG_HOST] = {"host_ps", RLT_FIG_INTEGER, "time when only the host of that rank works"},
    [RLT_FIG_IDLE] = {"idle_ps", RLT_FIG_INTEGER, "time when that rank does nothing"},
    [RLT_FIG_EVENTS] = {"events", RLT_FIG_INTEGER, "events of the simulation"},
    [RLT_FIG_MESSAGES] = {"messages", RLT_FIG_INTEGER, "messages sent"},
    [RLT_FIG_BYTES] = {"bytes", RLT_FIG_INTEGER, "bytes offered to the network, without protocol overhead"},
    [RLT_FIG_BUSIEST_LINK] = {"busiest_link", RLT_FIG_TEXT, "link with the longest busy time"},
    [RLT_FIG_BUSIEST] = {"busiest_utilization", RLT_FIG_REAL, "busy time of the busiest link / time"},
    [RLT_FIG_MEMORY] = {"memory_bytes", RLT_FIG_INTEGER, "memory of the pipeline stage that needs the most"},
    [RLT_FIG_MFU] = {"model_flops_utilization", RLT_FIG_REAL,
                     "a training's model FLOPs / (time x peak of its accelerators)"},
    [RLT_FIG_TOKENS] = {"tokens_per_second", RLT_FIG_REAL, "training tokens per second"},
    [RLT_FIG_BUSBW] = {"busbw_GBps", RLT_FIG_REAL,
                       "bus bandwidth of a collective: bytes / time x its bus factor"},
    [RLT_FIG_BOUND] = {"bound_ps", RLT_FIG_INTEGER, "lower bound of a collective: no algorithm is faster"},
    [RLT_FIG_RETRANSMISSIONS] = {"retransmissions", RLT_FIG_INTEGER, "packets retransmitted"},
    [RLT_FIG_FALLBACK] = {"fallback_share", RLT_FIG_REAL,
                          "share of contributions that fell back to a server, not aggregated by a switch"},
    [RLT_FIG_PEAK] = {"peak_occupancy", RLT_FIG_INTEGER,
                      "most aggregation slots in use at the fullest switch"},
    [RLT_FIG_MEAN] = {"mean_occupancy", RLT_FIG_REAL, "mean aggregation slots in use at the fullest switch"},
    [RLT_FIG_SERVER_BYTES] = {"server_bytes", RLT_FIG_INTEGER, "bytes that arrived at parameter servers"},
    [RLT_FIG_COLLIDED] = {"collision_share", RLT_FIG_REAL,
                          "share of the packets at aggregating switches whose slot another job held"},
    [RLT_FIG_FAIRNESS] = {"fairness", RLT_FIG_REAL, "Jain's fairness index of the jobs' rates"},
    [RLT_FIG_BUBBLE] = {"bubble_ps", RLT_FIG_INTEGER,
                        "time when the rank that ends last waits for another pipeline stage"},
    [RLT_FIG_SKEW] = {"start_skew_ps", RLT_FIG_INTEGER,
                      "time when that rank has not begun, or waits for one that began later"},
    [RLT_FIG_WAIT] = {"peer_wait_ps", RLT_FIG_INTEGER, "time when that rank waits for a slower one"},
    [RLT_FIG_EXPOSED_TP] = {"exposed_tp_ps", RLT_FIG_INTEGER,
                            "time when transfers of tensor parallelism hold that rank up"},
    [RLT_FIG_EXPOSED_CP] = {"exposed_cp_ps", RLT_FIG_INTEGER, "the same, context parallelism"},
    [RLT_FIG_EXPOSED_EP] = {"exposed_ep_ps", RLT_FIG_INTEGER, "the same, expert parallelism"},
    [RLT_FIG_EXPOSED_DP] = {"exposed_dp_ps", RLT_FIG_INTEGER, "the same, data parallelism"},
    [RLT_FIG_EXPOSED_PP] = {"exposed_pp_ps", RLT_FIG_INTEGER, "the same, messages between pipeline stages"},
    [RLT_FIG_EXPOSED_OFFLOAD] = {"exposed_offload_ps", RLT_FIG_INTEGER,
                                 "the same, copies between the device and its host"},
    [RLT_FIG_EXPOSED_OTHER] = {"exposed_other_ps", RLT_FIG_INTEGER, "the same, of unknown purpose"},
    [RLT_FIG_ENDED] = {"ended_ps", RLT_FIG_INTEGER, "time after that rank and its pipeline have ended"},
    [RLT_FIG_GAIN] = {"gain", RLT_FIG_REAL, "the best baseline's objective / the point's own"},
};

const char *rlt_figure_type(const rlt_figure_info *f)
{
    static const char *const types[] = {
        [RLT_FIG_INTEGER] = "INTEGER", [RLT_FIG_REAL] = "REAL", [RLT_FIG_TEXT] = "TEXT"};
    return types[f->kind];
}

char *rlt_figure_list(const char *before, bool typed, char buffer[RLT_FIGURE_LIST])
{
    size_t used = 0;
    for (int i = 0; i < RLT_FIG_STORED; i++)
        used += (size_t)snprintf(buffer + used, RLT_FIGURE_LIST - used, "%s%s%s%s%s", i ? ", " : "", before,
                                 rlt_figure_infos[i].name, typed ? " " : "",
                                 typed ? rlt_figure_type(&rlt_figure_infos[i]) : "");
    return buffer;
}

static bool ends_with(const char *name, const char *end)
{
    size_t n = strlen(name), k = strlen(end);
    return n >= k && strcmp(name + n - k, end) == 0;
}

rlt_column rlt_figure_column(rlt_figure f)
{
    if (f == RLT_FIGURES || rlt_figure_infos[f].kind == RLT_FIG_TEXT)
        return (rlt_column){.kind = RLT_COL_TEXT};
    const char *name = rlt_figure_infos[f].name;
    if (ends_with(name, "_ps"))
        return (rlt_column){.kind = RLT_COL_TIME};
    if (ends_with(name, "bytes"))
        return (rlt_column){.kind = RLT_COL_SIZE};
    if (ends_with(name, "utilization"))
        return (rlt_column){.kind = RLT_COL_PERCENT, .unit = "%", .decimals = 1};
    if (rlt_figure_infos[f].kind == RLT_FIG_REAL)
        return (rlt_column){.kind = RLT_COL_REAL, .decimals = -4};
    return (rlt_column){.kind = RLT_COL_COUNT};
}

rlt_value rlt_figure_value(const rlt_column *c, bool is_real, int64_t integer, double real)
{
    if (c->kind == RLT_COL_REAL || c->kind == RLT_COL_PERCENT)
        return rlt_real(is_real ? real : (double)integer);
    if (is_real && !(fabs(real) < 9.2e18))
        return rlt_absent();
    integer = is_real ? llround(real) : integer;
    return c->kind == RLT_COL_TIME ? rlt_ps(integer) : rlt_count((uint64_t)integer);
}

void rlt_outcome_integer(rlt_outcome *o, rlt_figure f, int64_t value)
{
    o->there[f] = true;
    o->integer[f] = value;
}

void rlt_outcome_real(rlt_outcome *o, rlt_figure f, double value)
{
    o->there[f] = true;
    o->real[f] = value;
}

void rlt_outcome_fail(rlt_outcome *o, int32_t status, const rlt_error *err)
{
    rlt_outcome_free(o);
    o->status = status;
    snprintf(o->error, sizeof o->error, "%.300s%s%.390s", err->where, err->where[0] ? ": " : "", err->what);
}

void rlt_outcome_free(rlt_outcome *o)
{
    free(o->links);
    *o = (rlt_outcome){0};
}

rlt_figure rlt_figure_find(const char *name, rlt_error *err)
{
    rlt_nearest near = rlt_nearest_to(name);
    char known[400] = "";
    for (int i = 0; i < RLT_FIGURES; i++) {
        if (strcmp(rlt_figure_infos[i].name, name) == 0)
            return (rlt_figure)i;
        rlt_nearest_try(&near, rlt_figure_infos[i].name);
        rlt_list_name(known, sizeof known, rlt_figure_infos[i].name);
    }
    if (near.best)
        rlt_fail(err, RLT_ESCHEMA, NULL, "no column '%s'; did you mean '%s'?", name, near.best);
    else
        rlt_fail(err, RLT_ESCHEMA, NULL, "no column '%s'; there are %s", name, known);
    return RLT_FIGURES;
}

static int take_links(const rlt_topology *t, const rlt_usage *u, rlt_time time_ps, bool folded,
                      rlt_outcome *o, rlt_error *err)
{
    rlt_link_class *all = NULL;
    rlt_strings names = {0};
    uint32_t n = 0;
    int rc = rlt_links_list(t, u, time_ps, folded, &all, &n, err);
    if (!rc && !(o->links = calloc((size_t)n + 1, sizeof *o->links)))
        rc = rlt_nomem(err);
    for (uint32_t i = 0; i < n && !rc; i++) {
        rlt_link_figures *l = &o->links[o->n_links++];
        char name[140];
        rlt_link_class_name(t, &all[i], name, sizeof name);
        bool twice = rlt_intern_find(&names, name, strlen(name)) != RLT_NONE;
        if (rlt_intern(&names, name, strlen(name)) == RLT_NONE)
            rc = rlt_nomem(err);
        snprintf(l->id, sizeof l->id, twice ? "%s #%u" : "%s", name, all[i].first);
        l->dim = all[i].link.dim;
        l->count = all[i].count;
        l->bytes = all[i].usage.bytes;
        l->busy_ps = all[i].usage.busy_ps;
        l->active_ps = all[i].usage.active_ps;
        l->utilization = all[i].utilization;
    }
    rlt_strings_free(&names);
    free(all);
    return rc;
}

int rlt_link_figures_of(const rlt_topology *t, const rlt_usage *u, rlt_time time_ps, rlt_figure_links links,
                        rlt_outcome *o, rlt_error *err)
{
    rlt_busiest busiest = rlt_links_busiest(t, u, time_ps);
    o->there[RLT_FIG_BUSIEST_LINK] = busiest.link != RLT_NONE;
    snprintf(o->busiest, sizeof o->busiest, "%s", busiest.link == RLT_NONE ? "" : busiest.name);
    rlt_outcome_real(o, RLT_FIG_BUSIEST, busiest.utilization);
    return links == RLT_FIGURE_LINKS_NONE
               ? 0
               : take_links(t, u, time_ps, links == RLT_FIGURE_LINKS_SUMMARY, o, err);
}
