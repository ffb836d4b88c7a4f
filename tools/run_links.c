/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Links of a finished run: folded into classes, named, and as CSV. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "tools/run.h"

static rlt_link_class link_of(const rlt_run *r, const rlt_net *net, uint32_t id, rlt_time end)
{
    rlt_link_class c = {.first = id,
                        .count = 1,
                        .link = rlt_topology_link(r->setup.topology, id),
                        .usage = rlt_usage_link(net->usage, id)};
    c.link.bw_Bps = c.usage.bw_Bps;
    c.link.latency_ps = (rlt_time)((double)c.link.latency_ps / r->options.network_scale + 0.5);
    c.utilization = end > 0 ? (double)c.usage.busy_ps / (double)end : 0;
    return c;
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/* Members of one class become neighbours, in order of id. */
static int by_class(const void *a, const void *b)
{
    const rlt_link_class *x = a, *y = b;
    int c = compare_u64(x->link.dim, y->link.dim);
    if (!c)
        c = compare_u64(x->usage.bytes, y->usage.bytes);
    if (!c)
        c = compare_u64((uint64_t)x->usage.busy_ps, (uint64_t)y->usage.busy_ps);
    if (!c)
        c = compare_u64((uint64_t)x->usage.active_ps, (uint64_t)y->usage.active_ps);
    return c ? c : compare_u64(x->first, y->first);
}

static int by_utilization(const void *a, const void *b)
{
    const rlt_link_class *x = a, *y = b;
    if (x->utilization != y->utilization)
        return x->utilization < y->utilization ? 1 : -1;
    return compare_u64(x->first, y->first);
}

static bool same_class(const rlt_link_class *x, const rlt_link_class *y)
{
    return x->link.dim == y->link.dim && x->usage.bytes == y->usage.bytes &&
           x->usage.busy_ps == y->usage.busy_ps && x->usage.active_ps == y->usage.active_ps;
}

int rlt_run_links(const rlt_run *r, bool folded, rlt_link_class **classes, uint32_t *n, rlt_error *err)
{
    const rlt_net *net = rlt_replay_net(r->replay);
    uint32_t links = net ? rlt_topology_links(r->setup.topology) : 0, k = 0;
    rlt_time end = rlt_sim_now(rlt_replay_sim(r->replay));
    rlt_link_class *list = malloc(((size_t)links + 1) * sizeof *list);
    if (!list)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < links; i++)
        list[i] = link_of(r, net, i, end);
    if (folded) {
        qsort(list, links, sizeof *list, by_class);
        for (uint32_t i = 0; i < links; i++)
            if (k && same_class(&list[k - 1], &list[i]))
                list[k - 1].count++;
            else
                list[k++] = list[i];
        qsort(list, k, sizeof *list, by_utilization);
    } else {
        k = links;
    }
    *classes = list;
    *n = k;
    return 0;
}

void rlt_run_link_name(const rlt_run *r, const rlt_link_class *c, char *buffer, size_t size)
{
    const rlt_topology *t = r->setup.topology;
    char src[64], dst[64];
    if (c->count > 1 && rlt_topology_is_product(t)) {
        snprintf(buffer, size, "dim %u %s x %u", c->link.dim, rlt_topology_dim(t, c->link.dim).shape,
                 c->count);
        return;
    }
    snprintf(buffer, size, "%s->%s", rlt_topology_node_name(t, c->link.src, src, sizeof src),
             rlt_topology_node_name(t, c->link.dst, dst, sizeof dst));
    if (c->count > 1) {
        size_t used = strlen(buffer);
        snprintf(buffer + used, size - used, " and %u like it", c->count - 1);
    }
}

static void series_rows(const rlt_run *r, const rlt_net *net, FILE *out)
{
    rlt_time bin = rlt_usage_bin_ps(net->usage);
    uint32_t bins = bin ? rlt_usage_bins(net->usage) : 0;
    fprintf(out, "link,from_ps,to_ps,bytes\n");
    for (uint32_t i = 0; i < rlt_topology_links(r->setup.topology); i++)
        for (uint32_t b = 0; b < bins; b++) {
            double bytes = rlt_usage_bin_bytes(net->usage, i, b);
            if (bytes > 0)
                fprintf(out, "%u,%" PRId64 ",%" PRId64 ",%.3f\n", i, (int64_t)b * bin, ((int64_t)b + 1) * bin,
                        bytes);
        }
}

int rlt_run_links_csv(const rlt_run *r, const char *path, rlt_error *err)
{
    const rlt_net *net = rlt_replay_net(r->replay);
    rlt_link_class *list = NULL;
    uint32_t n;
    rlt_file f = {0};
    int rc = rlt_file_open(&f, path, err);
    if (rc || (rc = rlt_run_links(r, false, &list, &n, err)))
        goto fail;
    if (net && r->settings->report.series_ps)
        series_rows(r, net, f.stream);
    else
        fprintf(f.stream,
                "id,src,dst,dim,bandwidth_Bps,latency_ps,bytes,messages,busy_ps,active_ps,utilization\n");
    for (uint32_t i = 0; i < n && !r->settings->report.series_ps; i++) {
        char src[64], dst[64];
        const rlt_link_class *c = &list[i];
        fprintf(f.stream,
                "%u,%s,%s,%u,%" PRIu64 ",%" PRId64 ",%" PRIu64 ",%" PRIu64 ",%" PRId64 ",%" PRId64 ",%.9f\n",
                c->first, rlt_topology_node_name(r->setup.topology, c->link.src, src, sizeof src),
                rlt_topology_node_name(r->setup.topology, c->link.dst, dst, sizeof dst), c->link.dim,
                c->link.bw_Bps, c->link.latency_ps, c->usage.bytes, c->usage.messages, c->usage.busy_ps,
                c->usage.active_ps, c->utilization);
    }
    free(list);
    return rlt_file_close(&f, err);
fail:
    free(list);
    rlt_file_discard(&f);
    return rc;
}
