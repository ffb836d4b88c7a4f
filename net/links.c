/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Statistics of links: classes of equal ones, the busiest one, and the check of the accounts. */
#include "net/links.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/fold.h"

static double part(rlt_time busy_ps, rlt_time time_ps)
{
    return time_ps > 0 ? (double)busy_ps / (double)time_ps : 0;
}

static int compare_u64(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

static int compare_ports(const rlt_port_counts *a, const rlt_port_counts *b)
{
    const uint64_t pairs[][2] = {{a->drops, b->drops},
                                 {a->losses, b->losses},
                                 {a->marks, b->marks},
                                 {a->pauses, b->pauses},
                                 {(uint64_t)a->paused_ps, (uint64_t)b->paused_ps},
                                 {a->peak_bytes, b->peak_bytes}};
    int c = 0;
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs && !c; i++)
        c = compare_u64(pairs[i][0], pairs[i][1]);
    return c;
}

/* Orders links so that members of one class are neighbours, by id. */
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
    if (!c)
        c = compare_ports(&x->port, &y->port);
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
           x->usage.busy_ps == y->usage.busy_ps && x->usage.active_ps == y->usage.active_ps &&
           compare_ports(&x->port, &y->port) == 0;
}

rlt_link_class rlt_link_class_of(const rlt_topology *t, const rlt_usage *u, uint32_t id, rlt_time time_ps)
{
    rlt_link_class c = {
        .first = id, .count = 1, .link = rlt_topology_link(t, id), .usage = rlt_usage_link(u, id)};
    c.link.bw_Bps = c.usage.bw_Bps;
    c.utilization = part(c.usage.busy_ps, time_ps);
    c.packets = rlt_usage_port(u, id, &c.port);
    return c;
}

/* Sorts the links and merges those of one class. Returns the number of classes. */
static uint32_t fold(rlt_link_class *list, uint32_t n)
{
    uint32_t k = 0;
    qsort(list, n, sizeof *list, by_class);
    for (uint32_t i = 0; i < n; i++)
        if (k && same_class(&list[k - 1], &list[i]))
            list[k - 1].count += list[i].count;
        else
            list[k++] = list[i];
    qsort(list, k, sizeof *list, by_utilization);
    return k;
}

int rlt_links_list(const rlt_topology *t, const rlt_usage *u, rlt_time time_ps, bool folded,
                   rlt_link_class **list, uint32_t *n, rlt_error *err)
{
    const rlt_net_fold *f = folded ? rlt_usage_fold(u) : NULL;
    uint32_t links = f ? f->n_classes : rlt_topology_links(t);
    rlt_link_class *all = malloc(((size_t)links + 1) * sizeof *all);
    if (!all)
        return rlt_nomem(err);
    *n = 0;
    for (uint32_t i = 0; i < links; i++) {
        rlt_link_class c = rlt_link_class_of(t, u, f ? f->link[i] : i, time_ps);
        c.count = f ? f->size[i] : 1;
        if (folded && *n && same_class(&all[*n - 1], &c)) /* most links of a large network carry nothing */
            all[*n - 1].count += c.count;
        else
            all[(*n)++] = c;
    }
    if (folded)
        *n = fold(all, *n);
    *list = all;
    return 0;
}

void rlt_link_class_name(const rlt_topology *t, const rlt_link_class *c, char *buffer, size_t size)
{
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

static void link_name(const rlt_topology *t, uint32_t link, char *buffer, size_t size)
{
    rlt_link l = rlt_topology_link(t, link);
    bool from_switch = rlt_topology_node_kind(t, l.src) == RLT_SWITCH;
    bool to_switch = rlt_topology_node_kind(t, l.dst) == RLT_SWITCH;
    if (rlt_topology_is_product(t))
        snprintf(buffer, size, "dim %u %s%s", l.dim, rlt_topology_dim(t, l.dim).shape,
                 from_switch && to_switch ? " between switches"
                 : to_switch              ? " up"
                 : from_switch            ? " down"
                                          : "");
    else {
        char src[72], dst[72];
        snprintf(buffer, size, "%s -> %s", rlt_topology_node_name(t, l.src, src, sizeof src),
                 rlt_topology_node_name(t, l.dst, dst, sizeof dst));
    }
}

rlt_busiest rlt_links_busiest(const rlt_topology *t, const rlt_usage *u, rlt_time time_ps)
{
    rlt_busiest b = {.link = RLT_NONE};
    rlt_time most = 0;
    const rlt_net_fold *f = rlt_usage_fold(u);
    uint32_t n = f ? f->n_classes : rlt_topology_links(t);
    for (uint32_t i = 0; i < n; i++) { /* classes are in order of their lowest link */
        uint32_t id = f ? f->link[i] : i;
        rlt_link_usage c = rlt_usage_link(u, id);
        if (c.busy_ps > most) {
            most = c.busy_ps;
            b.link = id;
        }
    }
    if (b.link != RLT_NONE) {
        b.utilization = part(most, time_ps);
        link_name(t, b.link, b.name, sizeof b.name);
    }
    return b;
}

/* Finds the link that carried most above its capacity while it was active, compared with that capacity. */
static rlt_busiest most_crowded(const rlt_topology *t, const rlt_usage *u)
{
    rlt_busiest b = {.link = RLT_NONE};
    const rlt_net_fold *f = rlt_usage_fold(u);
    uint32_t n = f ? f->n_classes : rlt_topology_links(t);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t id = f ? f->link[i] : i;
        rlt_link_usage c = rlt_usage_link(u, id);
        /* The end of each transfer is rounded to a picosecond. */
        if (c.busy_ps <= c.active_ps + (rlt_time)c.messages || part(c.busy_ps, c.active_ps) <= b.utilization)
            continue;
        b.link = id;
        b.utilization = part(c.busy_ps, c.active_ps);
    }
    if (b.link != RLT_NONE)
        link_name(t, b.link, b.name, sizeof b.name);
    return b;
}

int rlt_accounts_check(const rlt_net *net, const rlt_topology *t, rlt_time time_ps, rlt_busiest *over,
                       rlt_error *err)
{
    bool shares_all = net->model->can & RLT_NET_SHARES_LINKS;
    rlt_busiest worst = rlt_links_busiest(t, net->usage, time_ps);
    if (over)
        *over = shares_all ? (rlt_busiest){.link = RLT_NONE} : most_crowded(t, net->usage);
    if (net->bytes_offered + net->bytes_replicated !=
        net->bytes_delivered + net->bytes_absorbed + net->bytes_abandoned)
        return rlt_fail(
            err, RLT_ECHECK, "accounts",
            "%llu bytes were offered to the network and %llu replicated there, %llu delivered and "
            "%llu added up there",
            (unsigned long long)net->bytes_offered, (unsigned long long)net->bytes_replicated,
            (unsigned long long)net->bytes_delivered, (unsigned long long)net->bytes_absorbed);
    if (worst.link == RLT_NONE)
        return 0;
    rlt_link_usage c = rlt_usage_link(net->usage, worst.link);
    /* The end of each transfer is rounded to a picosecond: allow one per message. */
    if (!shares_all || c.busy_ps <= time_ps + (rlt_time)c.messages)
        return 0;
    return rlt_fail(err, RLT_ECHECK, "accounts", "link %u (%s) was busy for %lld ps in a run of %lld ps",
                    worst.link, worst.name, (long long)c.busy_ps, (long long)time_ps);
}
