/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet run --report`: writes the page of a run from the run in memory. */
#include <stdlib.h>

#include "collectives/collective.h"
#include "net/fold.h"
#include "net/links.h"
#include "net/network.h"
#include "net/topology/topology.h"
#include "net/usage.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "tools/report/heat.h"
#include "tools/report/run_page.h"
#include "tools/report/timeline.h"
#include "tools/run/events.h"
#include "tools/run/report.h"
#include "workload/experiment/run/result.h"
#include "workload/experiment/run/run.h"
#include "workload/replay/replay.h"

typedef struct tracks {
    rlt_timeline *timeline;
    rlt_map of; /* (rank, track) -> track of the timeline */
} tracks;

static int put_track(void *ctx, uint32_t rank, uint32_t track, const char *name, rlt_error *err)
{
    tracks *t = ctx;
    uint32_t index;
    int rc = rlt_timeline_add_track(t->timeline, rank, track, name, &index, err);
    if (!rc && rlt_map_put(&t->of, (uint64_t)rank << 32 | track, index))
        rc = rlt_nomem(err);
    return rc;
}

static int put_event(void *ctx, const rlt_run *r, const rlt_run_event *e, rlt_error *err)
{
    tracks *t = ctx;
    char detail[112] = "", name[200], amount[32];
    bool wait = e->comm != RLT_NONE && e->category[0] == 'w';
    if (wait)
        snprintf(detail, sizeof detail, "for rank %u", e->for_rank);
    else if (e->comm != RLT_NONE)
        snprintf(detail, sizeof detail, "%s %s, %s, %u ranks", rlt_coll_name(r->program->comms[e->comm].kind),
                 e->algorithm, rlt_format_size(amount, sizeof amount, r->program->comms[e->comm].bytes),
                 rlt_run_comm_ranks(r, e->comm));
    snprintf(name, sizeof name, "%.150s%s", e->name[0] ? e->name : e->category, wait ? " (wait)" : "");
    return rlt_timeline_add(t->timeline, rlt_map_get(&t->of, (uint64_t)e->rank << 32 | e->track), e->category,
                            name, detail, e->from_ps, e->to_ps, err);
}

/* Links over time. A row is a link, or a class of links that folding knows to be equal. */
typedef struct links {
    const rlt_run *r;
    const rlt_usage *usage;
    const rlt_net_fold *fold;
} links;

static uint32_t link_of(const links *l, uint32_t row)
{
    return l->fold ? l->fold->link[row] : row;
}

static double link_at(void *ctx, uint32_t row, uint32_t bin)
{
    const links *l = ctx;
    rlt_time bin_ps = rlt_usage_bin_ps(l->usage);
    /* The capacity as built: it may have changed during the run. */
    double full = (double)rlt_topology_link(l->r->setup.topology, link_of(l, row)).bw_Bps *
                  l->r->options.network_scale * (double)bin_ps * 1e-12;
    return full > 0 ? rlt_usage_bin_bytes(l->usage, link_of(l, row), bin) / full : 0;
}

static const char *link_name(void *ctx, uint32_t row, uint32_t count, char *buffer, size_t size)
{
    const links *l = ctx;
    char src[64], dst[64];
    rlt_link link = rlt_topology_link(l->r->setup.topology, link_of(l, row));
    uint64_t like = l->fold ? l->fold->size[row] : count;
    rlt_topology_node_name(l->r->setup.topology, link.src, src, sizeof src);
    rlt_topology_node_name(l->r->setup.topology, link.dst, dst, sizeof dst);
    if (like > 1)
        snprintf(buffer, size, "%s \u2192 %s and %llu like it", src, dst, (unsigned long long)like - 1);
    else
        snprintf(buffer, size, "%s \u2192 %s", src, dst);
    return buffer;
}

static uint32_t link_dim(void *ctx, uint32_t row)
{
    const links *l = ctx;
    return rlt_topology_link(l->r->setup.topology, link_of(l, row)).dim;
}

/* Returns the utilization of each link in *out, malloc'ed. */
static int utilization_of(const rlt_run *r, double **out, rlt_error *err)
{
    rlt_link_class *list = NULL;
    uint32_t n = 0;
    int rc = rlt_run_links(r, false, &list, &n, err);
    if (rc)
        return rc;
    *out = malloc(((size_t)n + 1) * sizeof **out);
    if (!*out)
        rc = rlt_nomem(err);
    for (uint32_t i = 0; i < n && !rc; i++)
        (*out)[list[i].first] = list[i].utilization;
    free(list);
    return rc;
}

static int document(const rlt_run *r, const rlt_run_asked *s, rlt_json_doc **out, rlt_error *err)
{
    rlt_jw w;
    size_t length;
    int rc = rlt_run_document(r, s, false, &w, err);
    if (!rc && r->trains)
        rc = rlt_run_memory_curves(r, &w, err);
    if (!rc)
        rlt_jw_end_object(&w);
    char *text = rlt_jw_finish(&w, &length);
    if (!rc)
        rc = text ? rlt_json_parse("result", text, length, out, err) : rlt_nomem(err);
    free(text);
    return rc;
}

int rlt_run_report(const rlt_run *r, const rlt_run_asked *s, const char *path, rlt_error *err)
{
    const rlt_net *net = rlt_replay_net(r->replay);
    rlt_json_doc *doc = NULL;
    rlt_timeline timeline = {0};
    tracks t = {.timeline = &timeline};
    rlt_run_sink sink = {&t, put_track, put_event};
    double *utilization = NULL;
    links l = {r, net ? net->usage : NULL, net ? rlt_usage_fold(net->usage) : NULL};
    rlt_heat heat = {.ctx = &l, .at = link_at, .name = link_name, .dim = link_dim};
    rlt_run_page page = {.timeline = &timeline, .events = RLT_PAGE_EVENTS, .topology = r->setup.topology};
    int rc = document(r, s, &doc, err);
    if (!rc)
        rc = rlt_run_events(r, &sink, &timeline.dropped, err);
    if (!rc && net && !(rc = utilization_of(r, &utilization, err)) && rlt_usage_bin_ps(net->usage)) {
        heat.rows = l.fold ? l.fold->n_classes : rlt_topology_links(r->setup.topology);
        heat.bins = rlt_usage_bins(net->usage);
        heat.bin_ps = rlt_usage_bin_ps(net->usage);
        page.heat = &heat;
    }
    if (!rc) {
        page.run = rlt_json_root(doc);
        page.utilization = utilization;
        rc = rlt_run_page_write(&page, path, err);
    }
    free(utilization);
    rlt_map_free(&t.of);
    rlt_timeline_free(&timeline);
    rlt_json_free(doc);
    return rc;
}
