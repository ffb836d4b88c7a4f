/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * --explain: the causes of time (causes.c), and the critical path of a run. It is a chain of operations from
 * time 0 to the end of the run, each started by the end of the one before. Only operations on it can shorten
 * the run. A faster or slower network changes its transfers first, so two runs that differ in the network
 * differ by the transfers on their paths, plus what another path contributes.
 */
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "net/links.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "tools/output/output.h"
#include "tools/run/report.h"
#include "workload/experiment/run/result.h"
#include "workload/experiment/run/run.h"
#include "workload/program/program.h"
#include "workload/replay/replay.h"

enum { SHOWN = 6 };

static const char *const purposes[RLT_PURPOSES] = {"other", "TP", "CP", "EP", "DP", "PP", "offloading"};

typedef struct share {
    uint32_t id; /* a name or a rank */
    uint32_t count;
    rlt_time time_ps;
} share;

static int largest_first(const void *a, const void *b)
{
    const share *x = a, *y = b;
    if (x->time_ps != y->time_ps)
        return x->time_ps < y->time_ps ? 1 : -1;
    return (x->id > y->id) - (x->id < y->id);
}

static int by_id(const void *a, const void *b)
{
    const share *x = a, *y = b;
    return (x->id > y->id) - (x->id < y->id);
}

/* Sums entries with equal ids. Returns the number of sums, sorted with the largest first. */
static uint32_t gather(share *list, uint32_t n)
{
    uint32_t k = 0;
    qsort(list, n, sizeof *list, by_id);
    for (uint32_t i = 0; i < n; i++) {
        if (k && list[k - 1].id == list[i].id) {
            list[k - 1].time_ps += list[i].time_ps;
            list[k - 1].count += list[i].count;
        } else {
            list[k++] = list[i];
        }
    }
    qsort(list, k, sizeof *list, largest_first);
    return k;
}

static int by_name(const rlt_run *r, const rlt_path_sum *p, rlt_path_kind kind, share **out, uint32_t *n,
                   rlt_error *err)
{
    share *list = malloc(((size_t)p->n + 1) * sizeof *list);
    uint32_t k = 0;
    if (!list)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < p->n; i++)
        if (p->items[i].kind == kind)
            list[k++] =
                (share){r->program->ops[p->items[i].op].name, 1, p->items[i].end_ps - p->items[i].begin_ps};
    *n = gather(list, k);
    *out = list;
    return 0;
}

/* Lists ranks by how long others waited for them: the sum over all communications to which a rank came
 * last. */
static int waited_for(const rlt_run *r, share **out, uint32_t *n, rlt_error *err)
{
    const rlt_program *p = r->program;
    share *list = calloc(p->n_ranks, sizeof *list);
    if (!list)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < p->n_ranks; i++)
        list[i].id = i;
    for (uint32_t c = 0; c < p->n_comms; c++) {
        rlt_comm_result res = rlt_replay_comm(r->replay, c);
        uint32_t last = p->ops[p->comm_ops[p->comms[c].first_op + res.last_member]].rank;
        if (res.end_ps < 0)
            continue;
        list[last].count++;
        for (uint32_t m = 0; m < rlt_run_comm_ranks(r, c); m++) {
            rlt_time start = rlt_replay_op(r->replay, p->comm_ops[p->comms[c].first_op + m]).start_ps;
            /* a receive may be posted after its message left */
            if (start >= 0 && start < res.last_arrival_ps)
                list[last].time_ps += res.last_arrival_ps - start;
        }
    }
    qsort(list, p->n_ranks, sizeof *list, largest_first);
    *n = p->n_ranks;
    *out = list;
    return 0;
}

static double percent(rlt_time part, rlt_time whole)
{
    return whole > 0 ? 100 * (double)part / (double)whole : 0;
}

/* Returns the time that the wires need for the transfers of a kind on the path: the sum of their bounds. A
 * transfer that is on the path in part counts with at most that part. */
static rlt_time wires_alone(const rlt_run *r, const rlt_path_sum *p, int kind)
{
    rlt_time bound = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        if (p->items[i].kind != RLT_PATH_TRANSFER)
            continue;
        uint32_t comm = r->program->ops[p->items[i].op].comm;
        if (comm == RLT_NONE)
            continue;
        rlt_time part = p->items[i].end_ps - p->items[i].begin_ps,
                 whole = rlt_replay_comm(r->replay, comm).bound_ps;
        if ((int)r->program->comms[comm].kind == kind)
            bound = rlt_time_add(bound, whole < part ? whole : part);
    }
    return bound;
}

/* Divides transfers and offloading on the path by what they are for, where that is known. */
static void print_purposes(const rlt_path_sum *p, FILE *out)
{
    char a[32];
    bool any = false;
    for (int k = 0; k < RLT_PURPOSES; k++)
        any = any || (k && p->by_purpose_ps[k]);
    for (int k = 0; any && k < RLT_PURPOSES; k++)
        if (p->by_purpose_ps[k])
            fprintf(out, "    for %-10s %8s  %5.1f %%\n", purposes[k],
                    rlt_format_duration(a, sizeof a, p->by_purpose_ps[k]),
                    percent(p->by_purpose_ps[k], p->total_ps));
}

static void print_path(const rlt_run *r, const rlt_path_sum *p, FILE *out)
{
    char a[32], b[32];
    rlt_heading(out, "\ncritical path, %s", rlt_format_duration(a, sizeof a, p->total_ps));
    for (int k = 0; k <= RLT_PATH_START; k++)
        if (p->by_kind_ps[k])
            fprintf(out, "  %-12s %10s  %5.1f %%\n", rlt_path_name((rlt_path_kind)k),
                    rlt_format_duration(a, sizeof a, p->by_kind_ps[k]),
                    percent(p->by_kind_ps[k], p->total_ps));
    print_purposes(p, out);
    for (int k = 0; k < RLT_COLL_KINDS; k++) {
        rlt_time bound = wires_alone(r, p, k);
        if (p->by_coll[k])
            fprintf(out,
                    "  transfers: %u x %s, %s; the wires alone need %s of it, the rest is launch, latency "
                    "and the algorithm\n",
                    p->by_coll[k], rlt_coll_name((rlt_coll_kind)k),
                    rlt_format_duration(a, sizeof a, p->by_coll_ps[k]),
                    rlt_format_duration(b, sizeof b, bound));
    }
}

/* Whether the members of a communication are on several nodes. */
static bool crosses_nodes(const rlt_run *r, uint32_t comm)
{
    const rlt_program *p = r->program;
    const rlt_placement *placed = r->jobs.placement.n ? &r->jobs.placement : &r->setup.placement;
    uint32_t node = rlt_topology_node_size(r->setup.topology), first = 0;
    for (uint32_t m = 0; m < rlt_run_comm_ranks(r, comm); m++) {
        uint32_t rank = p->ops[p->comm_ops[p->comms[comm].first_op + m]].rank;
        uint32_t at = rlt_placed(placed, rank) / node;
        if (m && at != first)
            return true;
        first = at;
    }
    return false;
}

/* Returns the share of the run in which the busiest link between nodes carries data, in percent. */
static double network_busy(const rlt_run *r, const rlt_link_class *links, uint32_t n)
{
    const rlt_topology *t = r->setup.topology;
    uint32_t inside = 1, dim = 0;
    double most = 0;
    while (dim < rlt_topology_dims(t) && inside < rlt_topology_node_size(t))
        inside *= rlt_topology_dim(t, dim++).size;
    for (uint32_t i = 0; i < n; i++)
        if (links[i].link.dim >= dim && links[i].utilization > most)
            most = links[i].utilization;
    return 100 * most;
}

/* Tells transfers on the path between nodes from those inside, and from collectives that were not placed
 * because they are folded. */
static int print_nodes(const rlt_run *r, const rlt_path_sum *p, FILE *out, rlt_error *err)
{
    const rlt_topology *t = r->setup.topology;
    rlt_time inside = 0, between = 0, folded = 0;
    rlt_link_class *links = NULL;
    char a[32], b[32], c[32];
    uint32_t n = 0;
    if (rlt_topology_node_size(t) == rlt_topology_accelerators(t))
        return 0;
    for (uint32_t i = 0; i < p->n; i++) {
        const rlt_time part = p->items[i].end_ps - p->items[i].begin_ps;
        uint32_t comm = r->program->ops[p->items[i].op].comm;
        if (p->items[i].kind != RLT_PATH_TRANSFER)
            continue;
        if (comm == RLT_NONE)
            folded = rlt_time_add(folded, part);
        else if (crosses_nodes(r, comm))
            between = rlt_time_add(between, part);
        else
            inside = rlt_time_add(inside, part);
    }
    if (!inside && !between)
        return 0;
    fprintf(out, "  transfers inside nodes %s, between nodes %s", rlt_format_duration(a, sizeof a, inside),
            rlt_format_duration(b, sizeof b, between));
    if (folded)
        fprintf(out, ", folded collectives %s", rlt_format_duration(c, sizeof c, folded));
    int rc = rlt_topology_is_product(t) ? rlt_run_links(r, true, &links, &n, err) : 0;
    if (n)
        fprintf(out, "; NICs busy %.1f %% of the run", network_busy(r, links, n));
    fputc('\n', out);
    free(links);
    return rc;
}

static int print_names(const rlt_run *r, const rlt_path_sum *p, rlt_path_kind kind, FILE *out, rlt_error *err)
{
    share *list = NULL;
    uint32_t n = 0;
    int rc = by_name(r, p, kind, &list, &n, err);
    if (rc)
        return rc;
    if (n == 1 && strcmp(rlt_program_string(r->program, list[0].id), rlt_path_name(kind)) == 0)
        n = 0; /* unnamed: the line above says it all */
    if (n)
        fprintf(out, "  most of its %s:\n", rlt_path_name(kind));
    for (uint32_t i = 0; i < n && i < SHOWN; i++) {
        char a[32], name[91];
        snprintf(name, sizeof name, "%s", rlt_program_string(r->program, list[i].id));
        rlt_make_printable(name);
        fprintf(out, "    %10s in %4u x %s\n", rlt_format_duration(a, sizeof a, list[i].time_ps),
                list[i].count, name[0] ? name : "(unnamed)");
    }
    free(list);
    return 0;
}

static int print_links(const rlt_run *r, FILE *out, rlt_error *err)
{
    rlt_link_class *links = NULL;
    uint32_t n = 0;
    int rc = rlt_run_links(r, true, &links, &n, err);
    if (rc)
        return rc;
    bool used = n && links[0].usage.bytes;
    if (used)
        rlt_heading(out, "busiest links");
    for (uint32_t i = 0; used && i < n && i < 3 && links[i].usage.bytes; i++) {
        char name[160], rate[32];
        rlt_link_class_name(r->setup.topology, &links[i], name, sizeof name);
        fprintf(out, "  %-30s %s, %.2f %% of the run; while something was on it, %.1f %%\n", name,
                rlt_format_rate(rate, sizeof rate, links[i].link.bw_Bps), 100 * links[i].utilization,
                percent(links[i].usage.busy_ps, links[i].usage.active_ps));
    }
    free(links);
    return 0;
}

static int print_waits(const rlt_run *r, FILE *out, rlt_error *err)
{
    share *list = NULL;
    uint32_t n = 0;
    int rc = waited_for(r, &list, &n, err);
    if (rc)
        return rc;
    if (n && list[0].time_ps)
        rlt_heading(out, "who is waited for");
    for (uint32_t i = 0; i < n && i < SHOWN && list[i].time_ps; i++) {
        char a[32];
        fprintf(out, "  rank %-5u came last to %u of %u communications; the others waited %s in all\n",
                list[i].id, list[i].count, r->program->n_comms,
                rlt_format_duration(a, sizeof a, list[i].time_ps));
    }
    free(list);
    return 0;
}

int rlt_run_explain(const rlt_run *r, FILE *out, rlt_error *err)
{
    rlt_path_sum p;
    int rc = rlt_run_path(r, &p, err);
    if (rc)
        return rc;
    rlt_run_causes_table(r, out);
    print_path(r, &p, out);
    if ((rc = print_nodes(r, &p, out, err)) || (rc = print_names(r, &p, RLT_PATH_HOST, out, err)) ||
        (rc = print_names(r, &p, RLT_PATH_COMPUTE, out, err)) || (rc = print_links(r, out, err)) ||
        (rc = print_waits(r, out, err)))
        goto end;
    rc = rlt_run_what_if_table(r, out, err);
end:
    rlt_path_sum_free(&p);
    return rc;
}

int rlt_run_explain_json(const rlt_run *r, rlt_jw *w, rlt_error *err)
{
    static const char *const keys[] = {"compute_ps", "host_ps", "delay_ps", "transfer_ps", "start_skew_ps"};
    rlt_path_sum p;
    share *waits = NULL;
    uint32_t n = 0;
    char verdict[512];
    int rc = rlt_run_path(r, &p, err);
    if (rc)
        return rc;
    if ((rc = waited_for(r, &waits, &n, err)))
        goto end;
    if ((rc = rlt_run_verdict(r, verdict, sizeof verdict, err)))
        goto free_waits;
    rlt_jw_object(w, "explain");
    rlt_jw_string(w, "verdict", verdict);
    rlt_run_causes_json(r, w);
    rlt_jw_object(w, "critical_path");
    for (int k = 0; k <= RLT_PATH_START; k++)
        rlt_jw_i64(w, keys[k], p.by_kind_ps[k]);
    rlt_jw_object(w, "transfer_for_ps");
    for (int k = 0; k < RLT_PURPOSES; k++)
        if (p.by_purpose_ps[k])
            rlt_jw_i64(w, purposes[k], p.by_purpose_ps[k]);
    rlt_jw_end_object(w);
    rlt_jw_i64(w, "total_ps", p.total_ps);
    rlt_jw_end_object(w);
    rlt_jw_array(w, "transfers");
    for (int k = 0; k < RLT_COLL_KINDS; k++)
        if (p.by_coll[k]) {
            rlt_jw_object(w, NULL);
            rlt_jw_string(w, "collective", rlt_coll_name((rlt_coll_kind)k));
            rlt_jw_u64(w, "count", p.by_coll[k]);
            rlt_jw_i64(w, "transfer_ps", p.by_coll_ps[k]);
            rlt_jw_end_object(w);
        }
    rlt_jw_end_array(w);
    rlt_jw_array(w, "waited_for");
    for (uint32_t i = 0; i < n && waits[i].time_ps; i++) {
        rlt_jw_object(w, NULL);
        rlt_jw_u64(w, "rank", waits[i].id);
        rlt_jw_u64(w, "last_to", waits[i].count);
        rlt_jw_i64(w, "others_waited_ps", waits[i].time_ps);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    rc = rlt_run_what_if_json(r, w, err);
    rlt_jw_end_object(w);
free_waits:
    free(waits);
end:
    rlt_path_sum_free(&p);
    return rc;
}
