/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Finds operation, bytes and group of each NCCL kernel. Recent recordings have them at the kernel, or at the
 * host call around its launch. Older ones need the host execution trace, whose k-th communication is the
 * rank's k-th NCCL kernel in launch order.
 *
 * Kernels launched before the recording began have no size. If the sizes that follow repeat with a period,
 * the missing ones continue the period backwards. Example: 3, 5, 3, 5 after two unknown ones: these are 3 and
 * 5.
 */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/json_stream.h"
#include "workload/program/program.h"
#include "workload/readers/kineto/host_trace.h"
#include "workload/readers/kineto/kineto.h"

typedef struct group {
    uint32_t id, n, self; /* index in the builder; members; the rank's own member index */
} group;

struct rlt_kin_comms {
    const rlt_kin_run *run;
    const rlt_kin_recording *k;
    const rlt_host_trace *host;
    uint32_t n, n_early;  /* the first n_early were launched before the window or the recording */
    uint32_t *attributes; /* index into the recording's comms, or RLT_NONE: use the host trace */
    uint32_t *names;      /* kernel names, in the recording's strings */
    uint32_t *from_host;  /* index into the host trace's comms, or RLT_NONE */
    rlt_map group_index;  /* (group text, ranks text) -> group */
    group *groups;
    uint32_t n_groups, groups_capacity;
    uint32_t *ranks, ranks_capacity; /* scratch */
    uint64_t *counts;
    uint32_t counts_capacity;
    uint64_t assumed_groups, assumed_roots, bad_splits;
    uint32_t continued; /* sizes that continue a period backwards */
    uint32_t fixed;     /* the first ones, which keep their recorded time */
};

/* Facts about one collective, from whichever source. */
typedef struct facts {
    const char *name, *group, *ranks, *split_text;
    uint64_t in_elems, out_elems, elem_bytes;
    uint32_t group_size, rank_start, rank_stride;
    const uint64_t *splits;
    uint32_t n_splits;
    int64_t root, source, destination;
    uint64_t group_key;
} facts;

/* Converts a name to lower case and keeps only letters and digits. */
static void plain_name(const char *name, char *out, size_t size)
{
    size_t n = 0;
    for (; *name && n < size - 1; name++)
        if (isalnum((unsigned char)*name))
            out[n++] = (char)tolower((unsigned char)*name);
    out[n] = '\0';
}

/* Returns RLT_ALL_REDUCE, ... for a recorded operation name ("allreduce", "_allgather_base") or a kernel
 * name; -1 if unknown. RLT_SEND_RECV for send and recv. */
static int coll_kind(const char *name)
{
    static const struct {
        const char *part;
        rlt_coll_kind kind;
    } kinds[] = {
        {"allreduce", RLT_ALL_REDUCE}, {"allgather", RLT_ALL_GATHER}, {"reducescatter", RLT_REDUCE_SCATTER},
        {"alltoall", RLT_ALL_TO_ALL},  {"broadcast", RLT_BROADCAST},  {"barrier", RLT_BARRIER},
        {"sendrecv", RLT_SEND_RECV},   {"send", RLT_SEND_RECV},       {"recv", RLT_SEND_RECV},
        {"gather", RLT_GATHER},        {"scatter", RLT_SCATTER},      {"reduce", RLT_REDUCE},
    };
    char plain[80];
    plain_name(name, plain, sizeof plain);
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (strstr(plain, kinds[i].part))
            return (int)kinds[i].kind;
    return -1;
}

/* Returns the bytes per element; 0: unknown. */
static uint32_t dtype_bytes(const char *dtype)
{
    static const struct {
        const char *name;
        uint32_t bytes;
    } types[] = {
        {"float", 4},   {"float32", 4}, {"int", 4},          {"int32", 4},          {"uint32", 4},
        {"long", 8},    {"longint", 8}, {"int64", 8},        {"uint64", 8},         {"double", 8},
        {"float64", 8}, {"half", 2},    {"float16", 2},      {"bfloat16", 2},       {"short", 2},
        {"int16", 2},   {"uint16", 2},  {"char", 1},         {"byte", 1},           {"bool", 1},
        {"int8", 1},    {"uint8", 1},   {"complexfloat", 8}, {"complexdouble", 16},
    };
    char plain[40];
    plain_name(dtype, plain, sizeof plain);
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (!strcmp(plain, types[i].name))
            return types[i].bytes;
    return strncmp(plain, "float8", 6) == 0 ? 1 : 0;
}

/* Finds the attributes of kernels that have none, at the record_param_comms around their launches. */
static int ask_calls(rlt_kin_comms *c, const rlt_kin_launch *nccl, rlt_error *err)
{
    uint32_t n = 0;
    rlt_kin_call *calls = malloc(((size_t)c->k->n_comms + 1) * sizeof *calls);
    if (!calls)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < c->k->n_events; i++) {
        const rlt_kin_event *e = &c->k->events[i];
        if (e->role == RLT_KIN_COMMS && e->attributes != RLT_NONE)
            calls[n++] = rlt__kin_call_of(e);
    }
    rlt__kin_order_calls(calls, n);
    for (uint32_t i = 0; i < c->n; i++) {
        if (c->attributes[i] != RLT_NONE || nccl[i].call == RLT_NONE)
            continue;
        const rlt_kin_event *e = &c->k->events[nccl[i].call];
        const rlt_kin_call *around = rlt__kin_call_around(calls, n, e);
        if (around)
            c->attributes[i] = around->attributes;
    }
    free(calls);
    return 0;
}

/* Returns true if a kernel can be this operation. Point-to-point kernels also do all-to-alls, all-reduce
 * kernels also do barriers, and an unknown kernel may do any operation. */
static bool can_be(const char *kernel, const char *operation)
{
    int k = coll_kind(kernel), o = coll_kind(operation);
    if (k < 0 || k == o)
        return true;
    return (k == RLT_SEND_RECV && o == RLT_ALL_TO_ALL) || (k == RLT_ALL_REDUCE && o == RLT_BARRIER);
}

/* Whether the launched kernels can be the host trace's communications from `shift` on. */
static bool fits(const rlt_kin_comms *c, uint32_t shift)
{
    for (uint32_t i = c->n_early; i < c->n; i++) {
        const rlt_host_comm *h = &c->host->comms[(shift + i - c->n_early) % c->host->n_comms];
        if (!can_be(rlt_interned(&c->k->strings, c->names[i]), rlt_interned(&c->host->strings, h->name)))
            return false;
    }
    return true;
}

/* Finds the rank's communications in its host trace, which may have more than the replayed steps, or one step
 * of several. */
static int ask_host(rlt_kin_comms *c, rlt_error *err)
{
    const rlt_host_trace *h = c->host;
    uint32_t n = c->n - c->n_early, last = n <= h->n_comms ? h->n_comms - n : 0;
    if (n <= h->n_comms || n % h->n_comms == 0)
        for (uint32_t shift = 0; shift <= last && shift < 4096; shift++)
            if (fits(c, shift)) {
                for (uint32_t i = 0; i < n; i++)
                    c->from_host[c->n_early + i] = (shift + i) % h->n_comms;
                for (uint32_t i = 0; i < c->n_early && i < shift; i++)
                    c->from_host[c->n_early - 1 - i] = shift - 1 - i;
                return 0;
            }
    return rlt_fail(err, RLT_ESCHEMA, c->k->path,
                    "its %" PRIu32 " NCCL kernels do not match the %" PRIu32
                    " communications of the host trace %.200s",
                    n, h->n_comms, h->path);
}

static const rlt_host_trace *host_trace_of(const rlt_kin_run *run, const rlt_kin_recording *k)
{
    for (uint32_t i = 0; i < run->n_host_traces; i++)
        if (run->host_traces[i].rank == k->rank)
            return &run->host_traces[i];
    return NULL;
}

void rlt__kin_comms_free(rlt_kin_comms *c)
{
    if (!c)
        return;
    free(c->attributes);
    free(c->names);
    free(c->from_host);
    free(c->groups);
    free(c->ranks);
    free(c->counts);
    rlt_map_free(&c->group_index);
    free(c);
}

/* Old host traces name groups by a pointer, which has no meaning on other ranks. */
static bool is_pointer(const char *name)
{
    size_t n = strspn(name, "0123456789");
    return n >= 9 && name[n] == '\0';
}

static facts facts_of(const rlt_kin_comms *c, uint32_t i)
{
    facts f = {.root = -1, .source = -1, .destination = -1, .ranks = "", .split_text = ""};
    const rlt_strings *s = &c->k->strings;
    if (c->attributes[i] != RLT_NONE) {
        const rlt_kin_comm *a = &c->k->comms[c->attributes[i]];
        f.name = rlt_interned(s, a->name);
        f.group = rlt_interned(s, a->group);
        f.ranks = rlt_interned(s, a->ranks);
        f.split_text = rlt_interned(s, a->in_split);
        f.in_elems = a->in_elems;
        f.out_elems = a->out_elems;
        f.elem_bytes = dtype_bytes(rlt_interned(s, a->dtype));
        f.group_size = a->group_size;
        f.rank_start = a->rank_start;
        f.rank_stride = a->rank_stride;
        f.root = a->root;
        f.source = a->source;
        f.destination = a->destination;
        f.group_key = (uint64_t)a->group << 32 | a->ranks;
        return f;
    }
    const rlt_host_comm *h = &c->host->comms[c->from_host[i]];
    f.name = rlt_interned(&c->host->strings, h->name);
    f.group = rlt_interned(&c->host->strings, h->group);
    f.in_elems = h->in_elems;
    f.out_elems = h->out_elems;
    f.elem_bytes = h->elem_bytes;
    f.group_size = h->group_size;
    f.rank_start = h->rank_start;
    f.rank_stride = h->rank_stride;
    f.splits = h->n_splits ? c->host->splits + h->first_split : NULL;
    f.n_splits = h->n_splits;
    f.root = h->recorded_rank;
    f.group_key = (uint64_t)h->group << 32 | UINT32_MAX;
    return f;
}

/* Whether the size of a collective is known. */
static bool known(const rlt_kin_comms *c, uint32_t i)
{
    return c->attributes[i] != RLT_NONE || c->from_host[i] != RLT_NONE;
}

/* Returns true if two known collectives do the same. */
static bool same(const rlt_kin_comms *c, uint32_t i, uint32_t j)
{
    facts a = facts_of(c, i), b = facts_of(c, j);
    return a.in_elems == b.in_elems && a.out_elems == b.out_elems && a.elem_bytes == b.elem_bytes &&
           a.group_key == b.group_key && a.root == b.root && !strcmp(a.name, b.name);
}

/* Returns the shortest period with which collectives first .. n-1 repeat, at least twice; 0: none. */
static uint32_t period_of(const rlt_kin_comms *c, uint32_t first)
{
    enum { LONGEST = 4096 };
    for (uint32_t p = 1; p <= (c->n - first) / 2 && p <= LONGEST; p++) {
        uint32_t i = first;
        while (i + p < c->n && same(c, i, i + p))
            i++;
        if (i + p >= c->n)
            return p;
    }
    return 0;
}

/* Gives early collectives without a size that of the same place one period later. */
static void continue_backwards(rlt_kin_comms *c)
{
    uint32_t first = c->n;
    while (first > 0 && known(c, first - 1))
        first--;
    if (first == 0 || first > c->n_early)
        return;
    uint32_t p = period_of(c, first);
    for (uint32_t i = first; p && i-- > 0 && c->names[i] == c->names[i + p]; c->continued++) {
        c->attributes[i] = c->attributes[i + p];
        c->from_host[i] = c->from_host[i + p];
    }
}

static int fill(rlt_kin_comms *c, const rlt_kin_launch *nccl, rlt_error *err)
{
    bool missing = false;
    c->attributes = malloc(((size_t)c->n + 1) * sizeof *c->attributes);
    c->names = malloc(((size_t)c->n + 1) * sizeof *c->names);
    c->from_host = malloc(((size_t)c->n + 1) * sizeof *c->from_host);
    if (!c->attributes || !c->names || !c->from_host)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < c->n; i++) {
        c->attributes[i] = c->k->events[nccl[i].work].attributes;
        c->names[i] = c->k->events[nccl[i].work].name;
        c->from_host[i] = RLT_NONE;
    }
    int rc = ask_calls(c, nccl, err);
    for (uint32_t i = 0; i < c->n && rc == 0; i++)
        missing = missing || c->attributes[i] == RLT_NONE;
    return rc == 0 && missing && c->host && c->host->n_comms ? ask_host(c, err) : rc;
}

int rlt__kin_comms_create(const rlt_kin_run *run, const rlt_kin_recording *k, const rlt_kin_launch *nccl,
                          uint32_t n, uint32_t n_early, rlt_kin_comms **out, rlt_error *err)
{
    *out = NULL;
    rlt_kin_comms *c = calloc(1, sizeof *c);
    if (!c)
        return rlt_nomem(err);
    *c = (rlt_kin_comms){.run = run, .k = k, .host = host_trace_of(run, k), .n = n, .n_early = n_early};
    int rc = fill(c, nccl, err);
    if (rc == 0)
        continue_backwards(c);
    if (rc < 0)
        rlt__kin_comms_free(c);
    else
        *out = c;
    return rc;
}

/* Parses "[0, 1, 5]" into c->ranks. *n is 0 if there are none, or if some are left out ("..."). */
static int parse_ranks(rlt_kin_comms *c, const char *text, uint32_t *n, rlt_error *err)
{
    *n = 0;
    if (strstr(text, "..."))
        return 0;
    for (const char *at = text; *at;) {
        if (!isdigit((unsigned char)*at)) {
            at++;
            continue;
        }
        char *end;
        unsigned long v = strtoul(at, &end, 10);
        at = end;
        int rc = rlt_grow(&c->ranks, &c->ranks_capacity, sizeof *c->ranks, (uint64_t)*n + 1, RLT_MAX_RANKS,
                          "ranks of a group", err);
        if (rc < 0)
            return rc;
        c->ranks[(*n)++] = v < RLT_MAX_RANKS ? (uint32_t)v : RLT_NONE;
    }
    return 0;
}

static int fill_ranks(rlt_kin_comms *c, uint32_t start, uint32_t stride, uint32_t n, rlt_error *err)
{
    int rc =
        rlt_grow(&c->ranks, &c->ranks_capacity, sizeof *c->ranks, n, RLT_MAX_RANKS, "ranks of a group", err);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        uint64_t r = start + (uint64_t)i * stride;
        c->ranks[i] = r < RLT_MAX_RANKS ? (uint32_t)r : RLT_NONE;
    }
    return rc;
}

/* Finds the members of the collective's group, in c->ranks. */
static int members(rlt_kin_comms *c, const facts *f, uint32_t *n, rlt_error *err)
{
    if (c->run->opts->alone)
        return fill_ranks(c, 0, 1, *n = 1, err);
    int rc = parse_ranks(c, f->ranks, n, err);
    for (uint32_t i = 0; i < c->k->n_groups && rc == 0 && *n == 0; i++)
        if (!strcmp(rlt_interned(&c->k->strings, c->k->groups[i].name), f->group))
            rc = parse_ranks(c, rlt_interned(&c->k->strings, c->k->groups[i].ranks), n, err);
    if (rc < 0 || *n > 0)
        return rc;
    *n = f->group_size ? f->group_size : c->run->n_ranks;
    if (f->rank_stride > 0)
        return fill_ranks(c, f->rank_start, f->rank_stride, *n, err);
    if (*n != c->run->n_ranks)
        return rlt_fail(err, RLT_ESCHEMA, c->k->path,
                        "the recording does not list the ranks of process group '%.60s' (%" PRIu32 " ranks)",
                        f->group, *n);
    c->assumed_groups++;
    return fill_ranks(c, 0, 1, *n, err);
}

static uint32_t member_of(const rlt_kin_comms *c, uint32_t n, uint32_t rank)
{
    for (uint32_t i = 0; i < n; i++)
        if (c->ranks[i] == rank)
            return i;
    return RLT_NONE;
}

/* Returns the member index. For a recording that replaces another rank: a group without that rank is shifted
 * to it. */
static uint32_t own_member(rlt_kin_comms *c, uint32_t n, uint32_t rank)
{
    uint32_t self = member_of(c, n, rank), all = c->run->n_ranks;
    if (self != RLT_NONE || rank == c->k->rank)
        return self;
    for (uint32_t i = 0; i < n; i++)
        if (c->ranks[i] < all)
            c->ranks[i] = (uint32_t)(((uint64_t)c->ranks[i] + all + rank - c->k->rank) % all);
    return member_of(c, n, rank);
}

static int find_group(rlt_kin_comms *c, const facts *f, uint32_t rank, rlt_builder *b, group *out,
                      rlt_error *err)
{
    uint32_t index = rlt_map_get(&c->group_index, f->group_key);
    if (index != RLT_NONE) {
        *out = c->groups[index];
        return 0;
    }
    int rc = members(c, f, &out->n, err);
    if (rc < 0)
        return rc;
    out->self = own_member(c, out->n, rank);
    if (out->self == RLT_NONE)
        return rlt_fail(err, RLT_ESCHEMA, c->k->path,
                        "rank %" PRIu32 " is not in its own process group '%.60s'", rank, f->group);
    char label[128];
    if (is_pointer(f->group))
        snprintf(label, sizeof label, "group %" PRIu32, c->n_groups);
    else
        snprintf(label, sizeof label, "group %.80s", f->group);
    if (out->n != c->run->n_ranks) { /* disjoint groups may have equal names */
        size_t used = strlen(label);
        snprintf(label + used, sizeof label - used, " from rank %" PRIu32, c->ranks[0]);
    }
    out->id = rlt_build_group(b, label, c->ranks, out->n);
    rc = rlt_grow(&c->groups, &c->groups_capacity, sizeof *c->groups, (uint64_t)c->n_groups + 1, RLT_MAX_OPS,
                  "groups", err);
    if (rc == 0 && rlt_map_put(&c->group_index, f->group_key, c->n_groups) < 0)
        rc = rlt_nomem(err);
    if (rc == 0)
        c->groups[c->n_groups++] = *out;
    return rc;
}

/* Parses split sizes, in elements of the first dimension, into c->counts. *n is 0 if there are none. */
static int read_splits(rlt_kin_comms *c, const facts *f, uint32_t *n, rlt_error *err)
{
    *n = 0;
    int rc = 0;
    if (f->splits) {
        rc = rlt_grow(&c->counts, &c->counts_capacity, sizeof *c->counts, f->n_splits, RLT_MAX_RANKS,
                      "split sizes", err);
        if (rc == 0)
            memcpy(c->counts, f->splits, f->n_splits * sizeof *c->counts);
        *n = f->n_splits;
        return rc;
    }
    for (const char *at = strstr(f->split_text, "...") ? "" : f->split_text; *at && rc == 0;) {
        if (!isdigit((unsigned char)*at)) {
            at++;
            continue;
        }
        char *end;
        unsigned long long v = strtoull(at, &end, 10);
        at = end;
        rc = rlt_grow(&c->counts, &c->counts_capacity, sizeof *c->counts, (uint64_t)*n + 1, RLT_MAX_RANKS,
                      "split sizes", err);
        if (rc == 0)
            c->counts[(*n)++] = v < (uint64_t)1 << 50 ? v : 0;
    }
    return rc;
}

/* Computes the bytes to each member of an all-to-all; d->send_counts stays NULL if it is even. */
static int send_counts(rlt_kin_comms *c, const facts *f, uint32_t n, rlt_op_desc *d, rlt_error *err)
{
    uint32_t splits;
    uint64_t rows = 0;
    int rc = read_splits(c, f, &splits, err);
    if (rc < 0 || splits == 0)
        return rc;
    for (uint32_t i = 0; i < splits; i++)
        rows += c->counts[i];
    if (splits != n || (rows == 0 ? f->in_elems != 0 : f->in_elems % rows != 0)) {
        c->bad_splits++;
        return 0;
    }
    uint64_t row_bytes = rows ? f->in_elems / rows * f->elem_bytes : 0;
    for (uint32_t i = 0; i < n; i++)
        c->counts[i] *= row_bytes;
    d->send_counts = c->counts;
    return 0;
}

static void set_root(rlt_kin_comms *c, const facts *f, const group *g, rlt_op_desc *d)
{
    d->root = 0;
    if (f->root >= 0 && f->root < (int64_t)g->n)
        d->root = (uint32_t)f->root;
    else
        c->assumed_roots++;
}

static int message(rlt_kin_comms *c, const facts *f, uint64_t bytes, rlt_builder *b, rlt_op_desc *d,
                   rlt_error *err)
{
    char plain[16];
    if (c->run->opts->alone) {
        rlt_build_note(b, 1, "message to or from another rank: left out");
        d->kind = RLT_OP_DELAY;
        return 0;
    }
    plain_name(f->name, plain, sizeof plain);
    bool sends = strstr(plain, "send") != NULL;
    int64_t peer = sends ? f->destination : f->source;
    if (peer < 0 || peer >= c->run->n_ranks)
        return rlt_fail(
            err, RLT_ESCHEMA, c->k->path,
            "the recording does not name the %s of rank %" PRIu32 "'s message: point-to-point messages "
            "need \"Src Rank\" and \"Dst Rank\"; --keep-waits replays their recorded time instead",
            sends ? "destination" : "source", d->rank);
    d->kind = sends ? RLT_OP_SEND : RLT_OP_RECV;
    d->peer = (uint32_t)(((uint64_t)peer + c->run->n_ranks + d->rank - c->k->rank) % c->run->n_ranks);
    d->bytes = bytes;
    return 0;
}

rlt_kin_sizes rlt__kin_comms_sizes(const rlt_kin_comms *c)
{
    rlt_kin_sizes s = {.n = c->n, .early = c->n_early, .continued = c->continued};
    for (uint32_t i = 0; i < c->n; i++) {
        s.early_unknown += i < c->n_early && !known(c, i);
        s.launched_unknown += i >= c->n_early && !known(c, i);
    }
    return s;
}

int rlt__kin_comms_require(const rlt_kin_comms *c, rlt_error *err)
{
    rlt_kin_sizes s = rlt__kin_comms_sizes(c);
    if (s.launched_unknown == 0)
        return 0;
    return rlt_fail(err, RLT_ESCHEMA, c->k->path,
                    "the recording lacks the sizes of %" PRIu32 " of its %" PRIu32 " NCCL operations%s; %s",
                    s.launched_unknown, s.n, c->host ? ", and so does its host trace" : "",
                    c->run->format->sizes);
}

static uint64_t hash_text(uint64_t h, const char *text)
{
    while (*text)
        h = rlt_mix64(h ^ (unsigned char)*text++);
    return h;
}

/* Returns what tells a collective from others, on every rank alike. */
static uint64_t identity(const rlt_kin_comms *c, uint32_t i)
{
    facts f = facts_of(c, i);
    uint64_t h = hash_text(hash_text(f.group_size, f.name), is_pointer(f.group) ? "" : f.group);
    return rlt_mix64(h ^ rlt_mix64(f.in_elems * f.elem_bytes));
}

int rlt__kin_comms_share(rlt_kin_comms *c, uint64_t **shared, uint32_t *n, rlt_error *err)
{
    if (!*shared) {
        *shared = malloc(((size_t)c->n_early + 1) * sizeof **shared);
        if (!*shared)
            return rlt_nomem(err);
        for (*n = 0; *n < c->n_early && known(c, c->n_early - 1 - *n); ++*n)
            (*shared)[*n] = identity(c, c->n_early - 1 - *n);
        return 0;
    }
    uint32_t k = 0;
    while (k < *n && k < c->n_early && known(c, c->n_early - 1 - k) &&
           identity(c, c->n_early - 1 - k) == (*shared)[k])
        k++;
    *n = k;
    return 0;
}

/* Describes a collective that cannot be simulated: it keeps its recorded time, which contains waiting, and
 * has no other members. */
static int describe_fixed(rlt_kin_comms *c, uint32_t i, rlt_builder *b, rlt_op_desc *d)
{
    int kind = coll_kind(rlt_interned(&c->k->strings, c->names[i]));
    d->kind = RLT_OP_COLLECTIVE;
    d->coll = kind < 0 || kind == RLT_SEND_RECV ? RLT_ALL_REDUCE : (rlt_coll_kind)kind;
    d->group = rlt_build_group(b, "", &d->rank, 1);
    d->timed = true;
    c->fixed++;
    return 0;
}

int rlt__kin_comms_describe(rlt_kin_comms *c, uint32_t i, rlt_builder *b, rlt_op_desc *d, rlt_error *err)
{
    if (i < c->n_early && c->n_early - i > c->run->n_early_shared)
        return describe_fixed(c, i, b, d);
    facts f = facts_of(c, i);
    group g;
    int kind = coll_kind(f.name);
    if (kind < 0)
        return rlt_fail(err, RLT_EUNSUPPORTED, c->k->path, "unknown NCCL operation '%.60s'", f.name);
    if (f.elem_bytes == 0 && f.in_elems + f.out_elems > 0)
        return rlt_fail(err, RLT_ESCHEMA, c->k->path,
                        "unknown element type in '%.60s': its size in bytes is needed", f.name);
    uint64_t most = f.in_elems > f.out_elems ? f.in_elems : f.out_elems;
    if (kind == RLT_SEND_RECV)
        return message(c, &f, most * f.elem_bytes, b, d, err);
    int rc = find_group(c, &f, d->rank, b, &g, err);
    if (rc < 0)
        return rc;
    d->kind = RLT_OP_COLLECTIVE;
    d->coll = (rlt_coll_kind)kind;
    d->group = g.id;
    d->bytes = (kind == RLT_BROADCAST ? most : f.in_elems) * f.elem_bytes;
    if (kind == RLT_ALL_GATHER || kind == RLT_GATHER)
        d->bytes = f.in_elems ? d->bytes * g.n : f.out_elems * f.elem_bytes;
    if (c->run->opts->alone)
        return 0;
    if (rlt_coll_rooted(d->coll))
        set_root(c, &f, &g, d);
    return kind == RLT_ALL_TO_ALL ? send_counts(c, &f, g.n, d, err) : 0;
}

void rlt__kin_comms_note(const rlt_kin_comms *c, rlt_builder *b)
{
    if (c->continued)
        rlt_build_note(
            b, c->continued,
            "collectives launched before the recording, without a size: that of the same place one "
            "period later assumed");
    if (c->fixed)
        rlt_build_note(b, c->fixed,
                       "collectives launched before the steps that cannot be matched: recorded time kept");
    if (c->assumed_groups)
        rlt_build_note(b, c->assumed_groups, "process groups without a list of ranks: all ranks assumed");
    if (c->assumed_roots)
        rlt_build_note(b, c->assumed_roots,
                       "collectives with a root that is not recorded: the first member assumed");
    if (c->bad_splits)
        rlt_build_note(b, c->bad_splits, "all-to-alls whose split sizes do not add up: even splits assumed");
}
