/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fills recordings: what parsers of all formats share. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/readers/kineto/kineto.h"

int rlt__kin_add(rlt_kin_run *run, const char *path, rlt_kin_recording **out, rlt_error *err)
{
    int rc = rlt_grow(&run->recordings, &run->files_capacity, sizeof *run->recordings,
                      (uint64_t)run->n_files + 1, RLT_KIN_MAX_FILES, "recordings", err);
    if (rc < 0)
        return rc;
    *out = &run->recordings[run->n_files++];
    **out = (rlt_kin_recording){.path = path, .rank = RLT_NONE};
    return 0;
}

int rlt__kin_keep(rlt_kin_recording *k, const rlt_kin_event *e, rlt_error *err)
{
    if (e->row == RLT_NONE)
        return rlt_nomem(err);
    int rc = 0;
    if (k->n_events == k->events_capacity)
        rc = rlt_grow(&k->events, &k->events_capacity, sizeof *k->events, (uint64_t)k->n_events + 1,
                      RLT_KIN_MAX_EVENTS, "events", err);
    if (rc == 0)
        k->events[k->n_events++] = *e;
    return rc;
}

int rlt__kin_keep_comm(rlt_kin_recording *k, const rlt_kin_comm *c, uint32_t *index, rlt_error *err)
{
    if (c->name == RLT_NONE || c->dtype == RLT_NONE || c->ranks == RLT_NONE || c->in_split == RLT_NONE ||
        c->group == RLT_NONE)
        return rlt_nomem(err);
    int rc = rlt_grow(&k->comms, &k->comms_capacity, sizeof *k->comms, (uint64_t)k->n_comms + 1,
                      RLT_KIN_MAX_EVENTS, "collectives", err);
    if (rc < 0)
        return rc;
    *index = k->n_comms;
    k->comms[k->n_comms++] = *c;
    k->sized = true;
    return 0;
}

int rlt__kin_keep_step(rlt_kin_recording *k, const rlt_kin_step *s, rlt_error *err)
{
    if (s->row == RLT_NONE)
        return rlt_nomem(err);
    int rc = rlt_grow(&k->steps, &k->steps_capacity, sizeof *k->steps, (uint64_t)k->n_steps + 1,
                      RLT_KIN_MAX_STEPS, "steps", err);
    if (rc == 0)
        k->steps[k->n_steps++] = *s;
    return rc;
}

int rlt__kin_keep_sync(rlt_kin_recording *k, const rlt_kin_sync *s, rlt_error *err)
{
    int rc = rlt_grow(&k->syncs, &k->syncs_capacity, sizeof *k->syncs, (uint64_t)k->n_syncs + 1,
                      RLT_KIN_MAX_EVENTS, "synchronisations", err);
    if (rc == 0)
        k->syncs[k->n_syncs++] = *s;
    return rc;
}

int rlt__kin_keep_group(rlt_kin_recording *k, const rlt_kin_group *g, rlt_error *err)
{
    int rc = rlt_grow(&k->groups, &k->groups_capacity, sizeof *k->groups, (uint64_t)k->n_groups + 1,
                      RLT_KIN_MAX_EVENTS, "groups", err);
    if (rc == 0)
        k->groups[k->n_groups++] = *g;
    return rc;
}

/* Appends up to 70 bytes of a text. */
static size_t append(char *to, size_t at, const char *text)
{
    size_t n = text ? strnlen(text, 70) : 0;
    memcpy(to + at, text ? text : "", n);
    return at + n;
}

uint32_t rlt__kin_row(rlt_kin_recording *k, char kind, const char *outer, const char *inner)
{
    char text[160];
    text[0] = kind;
    size_t n = append(text, 1, outer);
    text[n++] = '/';
    return rlt_intern(&k->rows, text, append(text, n, inner));
}

uint32_t rlt__kin_row_of(rlt_kin_recording *k, char kind, int64_t outer, int64_t inner)
{
    char a[24], b[24];
    snprintf(a, sizeof a, "%lld", (long long)outer);
    snprintf(b, sizeof b, "%lld", (long long)inner);
    return rlt__kin_row(k, kind, a, b);
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

rlt_kin_role rlt__kin_runtime_role(const char *name)
{
    static const struct {
        const char *name;
        rlt_kin_role role;
    } roles[] = {
        {"DeviceSynchronize", RLT_KIN_DEVICE_SYNC},
        {"CtxSynchronize", RLT_KIN_DEVICE_SYNC},
        {"StreamSynchronize", RLT_KIN_STREAM_SYNC},
        {"EventSynchronize", RLT_KIN_EVENT_SYNC},
        {"Memcpy", RLT_KIN_BLOCKING_COPY},
        {"MemcpyWithStream", RLT_KIN_BLOCKING_COPY},
        {"MemcpyDtoH", RLT_KIN_BLOCKING_COPY},
        {"MemcpyHtoD", RLT_KIN_BLOCKING_COPY},
        {"MemcpyToSymbol", RLT_KIN_BLOCKING_COPY},
        {"MemcpyFromSymbol", RLT_KIN_BLOCKING_COPY},
        {"StreamWaitEvent", RLT_KIN_WAIT_EVENT},
        {"EventRecord", RLT_KIN_RECORD_EVENT},
        {"EventRecordWithFlags", RLT_KIN_RECORD_EVENT},
    };
    size_t skip = begins(name, "cuda") ? 4 : begins(name, "hip") ? 3 : begins(name, "cu") ? 2 : 0;
    if (skip == 0)
        return RLT_KIN_PLAIN;
    size_t n = strcspn(name + skip, "_"); /* ignores "_ptsz", "_v2" */
    for (size_t i = 0; i < sizeof roles / sizeof *roles; i++)
        if (strlen(roles[i].name) == n && !strncmp(name + skip, roles[i].name, n))
            return roles[i].role;
    return RLT_KIN_PLAIN;
}

bool rlt__kin_is_nccl(const char *name)
{
    return strncasecmp(name, "nccl", 4) == 0 || strncasecmp(name, "rccl", 4) == 0 ||
           strncasecmp(name, "void nccl", 9) == 0 || strncasecmp(name, "oneCCL", 6) == 0;
}

static int by_begin(const void *a, const void *b)
{
    const rlt_kin_step *x = a, *y = b;
    return x->begin != y->begin ? (x->begin < y->begin ? -1 : 1) : (x->end < y->end) - (x->end > y->end);
}

/* Overlapping steps are marked on several threads, or nested: the earlier one is kept. */
void rlt__kin_order_steps(rlt_kin_recording *k)
{
    uint32_t kept = 0;
    if (k->n_steps > 0)
        qsort(k->steps, k->n_steps, sizeof *k->steps, by_begin);
    for (uint32_t i = 0; i < k->n_steps; i++)
        if (kept == 0 || k->steps[i].begin >= k->steps[kept - 1].end)
            k->steps[kept++] = k->steps[i];
    k->n_steps = kept;
}

void rlt__kin_recording_free(rlt_kin_recording *k)
{
    free(k->events);
    free(k->comms);
    free(k->syncs);
    free(k->steps);
    free(k->groups);
    rlt_strings_free(&k->strings);
    rlt_strings_free(&k->rows);
    *k = (rlt_kin_recording){.path = k->path, .rank = RLT_NONE};
}

uint32_t rlt__kin_first(const void *things, uint32_t n, size_t size,
                        bool (*before)(const void *thing, const void *key), const void *key)
{
    uint32_t low = 0, high = n;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (before((const char *)things + middle * size, key))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

rlt_kin_call rlt__kin_call_of(const rlt_kin_event *e)
{
    return (rlt_kin_call){.begin = e->ts, .end = rlt__kin_end(e), .row = e->row, .attributes = e->attributes};
}

static int by_thread(const void *a, const void *b)
{
    const rlt_kin_call *x = a, *y = b;
    if (x->row != y->row)
        return x->row < y->row ? -1 : 1;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

void rlt__kin_order_calls(rlt_kin_call *calls, uint32_t n)
{
    qsort(calls, n, sizeof *calls, by_thread);
}

static bool begun(const void *call, const void *moment)
{
    return by_thread(call, moment) <= 0;
}

rlt_kin_call *rlt__kin_call_around(rlt_kin_call *calls, uint32_t n, const rlt_kin_event *e)
{
    rlt_kin_call moment = rlt__kin_call_of(e);
    uint32_t i = rlt__kin_first(calls, n, sizeof *calls, begun, &moment);
    return i > 0 && calls[i - 1].row == e->row && e->ts <= calls[i - 1].end ? &calls[i - 1] : NULL;
}
