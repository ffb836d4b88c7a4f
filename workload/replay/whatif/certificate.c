/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Certificates: one sweep over the recorded times of each rank. */
#include "workload/replay/whatif/certificate.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "workload/program/program.h"

typedef enum activity { COMPUTES, COMMUNICATES, FIXED, INSIDE, GAP, ACTIVITIES, NOTHING } activity;

/* An activity begins or ends. */
typedef struct change {
    rlt_time at_ps;
    uint32_t op;
    bool begins;
    uint8_t what;
} change;

/* Sums over the ranks, in ps. */
typedef struct sums {
    double span, comm, exposed, gap, fixed, inside, hidden, lost;
} sums;

typedef struct certifier {
    const rlt_program *p;
    rlt_certificate *out;
    uint8_t *inside; /* by name: 0 not looked at yet, 1 no, 2 yes */
    change *list;    /* room for the changes of a rank */
    sums sum;
} certifier;

bool rlt_communicates_inside(const char *name)
{
    static const char *const parts[] = {"nvshmem",        "deep_ep",       "deepep",        "multimem",
                                        "userbuffers",    "cross_device_", "allreduce",     "all_reduce",
                                        "allgather",      "all_gather",    "reducescatter", "reduce_scatter",
                                        "alltoall",       "all_to_all",    "all2all",       "nccl",
                                        "one_shot_push_", "two_shot_",     "symm_mem"};
    char plain[512];
    size_t n = 0;
    for (; name[n] && n + 1 < sizeof plain; n++)
        plain[n] = (char)tolower((unsigned char)name[n]);
    plain[n] = '\0';
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++)
        if (strstr(plain, parts[i]))
            return true;
    return false;
}

static activity activity_of(certifier *c, const rlt_op *op)
{
    if (op->kind >= RLT_OP_COLLECTIVE)
        return op->comm != RLT_NONE && c->p->comms[op->comm].timed ? FIXED : COMMUNICATES;
    if (op->kind == RLT_OP_DELAY)
        return op->purpose == RLT_FOR_UNKNOWN ? GAP : NOTHING;
    if (op->kind != RLT_OP_COMPUTE && op->kind != RLT_OP_MEMORY)
        return NOTHING;
    uint8_t *known = &c->inside[op->name == RLT_NONE ? 0 : op->name + 1];
    if (!*known)
        *known = op->name != RLT_NONE && rlt_communicates_inside(rlt_program_string(c->p, op->name)) ? 2 : 1;
    return *known == 2 ? INSIDE : COMPUTES;
}

static int in_time(const void *a, const void *b)
{
    const change *x = a, *y = b;
    return (x->at_ps > y->at_ps) - (x->at_ps < y->at_ps);
}

/* Lists the changes of a rank; returns their number. */
static uint32_t list_changes(certifier *c, uint32_t rank)
{
    const rlt_program *p = c->p;
    uint32_t n = 0;
    for (uint32_t i = p->rank_first[rank]; i < p->rank_first[rank + 1]; i++) {
        const rlt_op *op = &p->ops[i];
        activity what = activity_of(c, op);
        rlt_time lasts = op->recorded_duration_ps >= 0 ? op->recorded_duration_ps : op->duration_ps;
        c->out->untimed += op->recorded_ps < 0 && lasts > 0;
        c->out->recorded = c->out->recorded || op->recorded_ps >= 0;
        if (what == NOTHING || op->recorded_ps < 0 || lasts <= 0)
            continue;
        c->list[n++] = (change){op->recorded_ps, i, true, (uint8_t)what};
        c->list[n++] = (change){rlt_time_add(op->recorded_ps, lasts), i, false, (uint8_t)what};
        if (what == FIXED || what == INSIDE)
            c->out->by_op[i] = lasts;
    }
    qsort(c->list, n, sizeof *c->list, in_time);
    return n;
}

/* Adds a stretch during which the activities under way are the same. */
static void add_stretch(const uint32_t *active, double lasts, sums *s)
{
    bool comm = active[COMMUNICATES] || active[FIXED];
    bool exposed = comm && !active[COMPUTES] && !active[INSIDE], gap = comm && active[GAP];
    s->comm += comm ? lasts : 0;
    s->exposed += exposed ? lasts : 0;
    s->gap += gap ? lasts : 0;
    s->fixed += active[FIXED] ? lasts : 0;
    s->inside += active[INSIDE] ? lasts : 0;
    s->hidden += gap || active[FIXED] || active[INSIDE] ? lasts : 0;
    s->lost += gap && exposed ? lasts : 0;
}

static void sweep(certifier *c, uint32_t rank)
{
    uint32_t active[ACTIVITIES] = {0}, n = list_changes(c, rank);
    rlt_time comm = 0; /* so far */
    rlt_time *by_op = c->out->by_op;
    for (uint32_t i = 0; i < n; i++) {
        const change *at = &c->list[i];
        rlt_time lasts = i ? at->at_ps - c->list[i - 1].at_ps : 0;
        add_stretch(active, (double)lasts, &c->sum);
        comm += active[COMMUNICATES] || active[FIXED] ? lasts : 0;
        if (at->begins)
            active[at->what]++;
        else
            active[at->what]--;
        if (at->what == GAP)
            by_op[at->op] = at->begins ? comm : comm - by_op[at->op];
    }
    rlt_time span = c->p->rank_recorded_ps[rank];
    if (span < 0)
        span = n ? c->list[n - 1].at_ps - c->list[0].at_ps : 0;
    c->sum.span += (double)span;
}

static void set_means(certifier *c)
{
    rlt_certificate *o = c->out;
    double n = c->p->n_ranks;
    if (!o->recorded)
        return;
    o->span_ps = (rlt_time)(c->sum.span / n);
    o->comm_ps = (rlt_time)(c->sum.comm / n);
    o->exposed_ps = (rlt_time)(c->sum.exposed / n);
    o->gap_ps = (rlt_time)(c->sum.gap / n);
    o->fixed_ps = (rlt_time)(c->sum.fixed / n);
    o->inside_ps = (rlt_time)(c->sum.inside / n);
    o->hidden_ps = (rlt_time)(c->sum.hidden / n);
    o->lost_ps = (rlt_time)(c->sum.lost / n);
}

int rlt_certify(const rlt_program *p, rlt_certificate *out, rlt_error *err)
{
    uint32_t most = 0, names = 0;
    *out = (rlt_certificate){.recorded = false};
    for (uint32_t r = 0; r < p->n_ranks; r++)
        if (p->rank_first[r + 1] - p->rank_first[r] > most)
            most = p->rank_first[r + 1] - p->rank_first[r];
    for (uint32_t i = 0; i < p->n_ops; i++)
        if (p->ops[i].name != RLT_NONE && p->ops[i].name >= names)
            names = p->ops[i].name + 1;
    certifier c = {.p = p,
                   .out = out,
                   .inside = calloc((size_t)names + 1, 1),
                   .list = malloc(((size_t)most * 2 + 1) * sizeof *c.list)};
    out->by_op = calloc((size_t)p->n_ops + 1, sizeof *out->by_op);
    int rc = c.inside && c.list && out->by_op ? 0 : rlt_nomem(err);
    for (uint32_t r = 0; r < p->n_ranks && !rc; r++)
        sweep(&c, r);
    if (!rc)
        set_means(&c);
    else
        rlt_certificate_free(out);
    free(c.inside);
    free(c.list);
    return rc;
}

void rlt_certificate_free(rlt_certificate *c)
{
    free(c->by_op);
    *c = (rlt_certificate){.recorded = false};
}

bool rlt_certificate_fails(const rlt_certificate *c)
{
    /* below a hundredth of the span, the network hardly matters in the recording */
    return c->lost_ps > c->exposed_ps / 2 && c->lost_ps > c->span_ps / 100;
}

/* Appends a part of the hidden time, if there is any. */
static size_t append(char *buffer, size_t size, size_t used, rlt_time part, const char *where)
{
    char a[32];
    int n = part && used < size ? snprintf(buffer + used, size - used, ", %s in %s",
                                           rlt_format_duration(a, sizeof a, part), where)
                                : 0;
    return n > 0 ? used + (size_t)n : used;
}

char *rlt_certificate_text(const rlt_certificate *c, char *buffer, size_t size)
{
    char a[32], b[32];
    buffer[0] = '\0';
    if (!c->recorded) {
        if (c->untimed)
            snprintf(buffer, size,
                     "none: the trace does not say when its operations ran, so that waits inside "
                     "their durations do not show");
        return buffer;
    }
    int n =
        snprintf(buffer, size, "%s of the recorded %s (%.1f %%) could hide communication",
                 rlt_format_duration(a, sizeof a, c->hidden_ps), rlt_format_duration(b, sizeof b, c->span_ps),
                 c->span_ps ? 100 * (double)c->hidden_ps / (double)c->span_ps : 0);
    size_t used = n > 0 ? (size_t)n : size;
    used = append(buffer, size, used, c->gap_ps, "gaps");
    used = append(buffer, size, used, c->fixed_ps, "communication of recorded time");
    append(buffer, size, used, c->inside_ps, "kernels that communicate");
    return buffer;
}
