/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collects operations, dependencies, resources and groups in the order of the calls, and keeps the first
 * failure. */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/program/internal.h"
#include "workload/program/program.h"

enum { MAX_NOTES = 4096, MAX_NOTE_LENGTH = 512 };

int rlt_builder_create(uint32_t n_ranks, rlt_builder **out, rlt_error *err)
{
    *out = NULL;
    if (n_ranks == 0 || n_ranks > RLT_MAX_RANKS)
        return rlt_fail(err, RLT_ERANGE, NULL, "%" PRIu32 " ranks: expected 1 to %d", n_ranks, RLT_MAX_RANKS);
    rlt_builder *b = calloc(1, sizeof *b);
    rlt_program_store *s = calloc(1, sizeof *s);
    if (!b || !s) {
        free(b);
        free(s);
        return rlt_nomem(err);
    }
    b->store = s;
    b->n_ranks = n_ranks;
    s->rank_start_ps = malloc(n_ranks * sizeof *s->rank_start_ps);
    s->rank_recorded_ps = malloc(n_ranks * sizeof *s->rank_recorded_ps);
    b->rank_stamp = calloc(n_ranks, sizeof *b->rank_stamp);
    if (!s->rank_start_ps || !s->rank_recorded_ps || !b->rank_stamp) {
        rlt_builder_free(b);
        return rlt_nomem(err);
    }
    for (uint32_t r = 0; r < n_ranks; r++) {
        s->rank_start_ps[r] = INT64_MIN; /* unknown */
        s->rank_recorded_ps[r] = -1;
    }
    *out = b;
    return 0;
}

void rlt_builder_free(rlt_builder *b)
{
    if (!b)
        return;
    if (b->store)
        rlt_program_free(&b->store->program);
    free(b->needs);
    free(b->deps);
    free(b->comms);
    free(b->group_labels);
    free(b->group_ascending);
    free(b->group_purposes);
    free(b->rank_stamp);
    rlt_strings_free(&b->resource_keys);
    rlt_strings_free(&b->group_keys);
    rlt_strings_free(&b->note_keys);
    rlt_map_free(&b->members);
    free(b);
}

bool rlt_build_failed(const rlt_builder *b)
{
    return b->error.code != 0;
}

void rlt_build_fail(rlt_builder *b, const rlt_error *err)
{
    if (b->error.code == 0 && err->code != 0)
        b->error = *err;
}

static uint32_t no_memory(rlt_builder *b)
{
    (void)rlt_nomem(&b->error);
    return RLT_NONE;
}

uint32_t rlt_build_string(rlt_builder *b, const char *s, size_t length)
{
    if (rlt_build_failed(b))
        return RLT_NONE;
    uint32_t i = rlt_intern(&b->store->strings, s, length);
    return i == RLT_NONE ? no_memory(b) : i;
}

static bool good_rank(rlt_builder *b, uint32_t rank, const char *what)
{
    if (rank < b->n_ranks)
        return true;
    (void)rlt_fail(&b->error, RLT_ERANGE, NULL, "%s names rank %" PRIu32 ", but there %s %" PRIu32 " rank%s",
                   what, rank, b->n_ranks == 1 ? "is only" : "are only", b->n_ranks,
                   b->n_ranks == 1 ? "" : "s");
    return false;
}

uint32_t rlt_build_resource(rlt_builder *b, uint32_t rank, rlt_resource_kind kind, const char *name)
{
    if (rlt_build_failed(b) || !good_rank(b, rank, "a resource"))
        return RLT_NONE;
    uint32_t text = rlt_build_string(b, name, strlen(name));
    uint32_t key[3] = {rank, (uint32_t)kind, text};
    uint32_t i = text == RLT_NONE ? RLT_NONE : rlt_intern(&b->resource_keys, (const char *)key, sizeof key);
    if (i == RLT_NONE)
        return no_memory(b);
    if (i < b->n_resources)
        return i;
    if (rlt_grow(&b->store->resources, &b->resources_capacity, sizeof *b->store->resources, (uint64_t)i + 1,
                 RLT_MAX_OPS, "resources", &b->error) < 0)
        return RLT_NONE;
    b->store->resources[i] = (rlt_resource){.rank = rank, .name = text, .kind = kind};
    b->n_resources = i + 1;
    return i;
}

void rlt__group_text(const rlt_builder *b, uint32_t group, char *buffer, size_t size)
{
    const rlt_program_store *s = b->store;
    const char *label = rlt_interned(&s->strings, b->group_labels[group]);
    if (label[0]) {
        snprintf(buffer, size, "group \"%.80s\"", label);
        return;
    }
    uint32_t first = s->group_first[group], n = s->group_first[group + 1] - first;
    int used = snprintf(buffer, size, "the group of ranks");
    for (uint32_t i = 0; i < n && i < 8 && used > 0 && (size_t)used < size; i++)
        used += snprintf(buffer + used, size - (size_t)used, "%s %" PRIu32, i ? "," : "",
                         s->group_ranks[first + i]);
    if (n > 8 && used > 0 && (size_t)used < size)
        snprintf(buffer + used, size - (size_t)used, ", ... (%" PRIu32 ")", n);
}

uint32_t rlt__group_member(const rlt_builder *b, uint32_t group, uint32_t rank)
{
    const rlt_program_store *s = b->store;
    if (!b->group_ascending[group])
        return rlt_map_get(&b->members, (uint64_t)group << 32 | rank);
    uint32_t low = s->group_first[group], high = s->group_first[group + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (s->group_ranks[middle] < rank)
            low = middle + 1;
        else
            high = middle;
    }
    return low < s->group_first[group + 1] && s->group_ranks[low] == rank ? low - s->group_first[group]
                                                                          : RLT_NONE;
}

/* Returns the index of a group by its key: the label, or the ranks if it is unnamed. */
static uint32_t group_key(rlt_builder *b, const char *label, const uint32_t *ranks, uint32_t n)
{
    size_t length = label[0] ? strlen(label) : (size_t)n * sizeof *ranks;
    char *key = malloc(length + 1);
    if (!key)
        return no_memory(b);
    key[0] = label[0] ? 'L' : 'R';
    memcpy(key + 1, label[0] ? (const void *)label : (const void *)ranks, length);
    uint32_t i = rlt_intern(&b->group_keys, key, length + 1);
    free(key);
    return i == RLT_NONE ? no_memory(b) : i;
}

static bool check_ranks(rlt_builder *b, const char *label, const uint32_t *ranks, uint32_t n)
{
    if (n == 0) {
        (void)rlt_fail(&b->error, RLT_ESCHEMA, NULL, "group \"%.80s\" has no ranks", label);
        return false;
    }
    b->stamp++; /* cannot wrap: at most RLT_MAX_OPS groups */
    for (uint32_t i = 0; i < n; i++) {
        if (!good_rank(b, ranks[i], "a group"))
            return false;
        if (b->rank_stamp[ranks[i]] == b->stamp) {
            (void)rlt_fail(&b->error, RLT_ESCHEMA, NULL, "group \"%.80s\" names rank %" PRIu32 " twice",
                           label, ranks[i]);
            return false;
        }
        b->rank_stamp[ranks[i]] = b->stamp;
    }
    return true;
}

static int same_ranks(rlt_builder *b, uint32_t group, const uint32_t *ranks, uint32_t n)
{
    const rlt_program_store *s = b->store;
    uint32_t first = s->group_first[group], old = s->group_first[group + 1] - first;
    const char *label = rlt_interned(&s->strings, b->group_labels[group]);
    if (old != n)
        return rlt_fail(&b->error, RLT_ESCHEMA, NULL,
                        "group \"%.80s\" has %" PRIu32 " ranks in one place and %" PRIu32 " in another",
                        label, old, n);
    for (uint32_t i = 0; i < n; i++)
        if (s->group_ranks[first + i] != ranks[i])
            return rlt_fail(&b->error, RLT_ESCHEMA, NULL,
                            "group \"%.80s\" has rank %" PRIu32 " as its member %" PRIu32
                            " in one place and rank %" PRIu32 " in another",
                            label, s->group_ranks[first + i], i, ranks[i]);
    return 0;
}

static int grow_groups(rlt_builder *b, uint32_t n)
{
    rlt_program_store *s = b->store;
    uint64_t groups = (uint64_t)b->n_groups + 1;
    int rc = rlt_grow(&s->group_first, &b->group_first_capacity, sizeof *s->group_first, groups + 1,
                      RLT_MAX_OPS, "groups", &b->error);
    if (rc == 0)
        rc = rlt_grow(&b->group_labels, &b->group_labels_capacity, sizeof *b->group_labels, groups,
                      RLT_MAX_OPS, "groups", &b->error);
    if (rc == 0)
        rc = rlt_grow(&b->group_ascending, &b->group_ascending_capacity, 1, groups, RLT_MAX_OPS, "groups",
                      &b->error);
    if (rc == 0)
        rc = rlt_grow(&b->group_purposes, &b->group_purposes_capacity, 1, groups, RLT_MAX_OPS, "groups",
                      &b->error);
    if (rc == 0)
        rc = rlt_grow(&s->group_ranks, &b->group_ranks_capacity, sizeof *s->group_ranks,
                      (uint64_t)b->n_group_ranks + n, RLT_NONE - 1, "members of groups", &b->error);
    return rc;
}

uint32_t rlt_build_group(rlt_builder *b, const char *label, const uint32_t *ranks, uint32_t n)
{
    if (rlt_build_failed(b) || !check_ranks(b, label, ranks, n))
        return RLT_NONE;
    uint32_t g = group_key(b, label, ranks, n), text = rlt_build_string(b, label, strlen(label));
    if (g == RLT_NONE || text == RLT_NONE)
        return RLT_NONE;
    if (g < b->n_groups)
        return label[0] && same_ranks(b, g, ranks, n) < 0 ? RLT_NONE : g;
    if (grow_groups(b, n) < 0)
        return RLT_NONE;
    rlt_program_store *s = b->store;
    uint32_t first = b->n_group_ranks;
    bool ascending = true;
    for (uint32_t i = 1; i < n; i++)
        ascending = ascending && ranks[i - 1] < ranks[i];
    for (uint32_t i = 0; i < n && !ascending; i++)
        if (rlt_map_put(&b->members, (uint64_t)g << 32 | ranks[i], i) < 0)
            return no_memory(b);
    memcpy(s->group_ranks + first, ranks, n * sizeof *ranks);
    s->group_first[g] = first;
    s->group_first[g + 1] = b->n_group_ranks = first + n;
    b->group_labels[g] = text;
    b->group_ascending[g] = ascending;
    b->group_purposes[g] = (uint8_t)rlt_purpose_of(label);
    b->n_groups = g + 1;
    return g;
}

static int check_communication(rlt_builder *b, const rlt_op_desc *d)
{
    if (d->timed && (d->bytes || d->send_counts))
        return rlt_fail(&b->error, RLT_EUSAGE, NULL,
                        "has both bytes and a recorded time: expected one of them");
    if (d->kind == RLT_OP_COLLECTIVE) {
        if ((unsigned)d->coll >= RLT_COLL_KINDS || d->coll == RLT_SEND_RECV)
            return rlt_fail(&b->error, RLT_EUSAGE, NULL, "no such collective: %d", (int)d->coll);
        if (d->group >= b->n_groups)
            return rlt_fail(&b->error, RLT_EUSAGE, NULL, "a collective without a group");
        uint32_t n = b->store->group_first[d->group + 1] - b->store->group_first[d->group];
        if (rlt_coll_rooted(d->coll) && d->root >= n)
            return rlt_fail(&b->error, RLT_ESCHEMA, NULL,
                            "root is member %" PRIu32 ", but the group has only %" PRIu32 " members", d->root,
                            n);
        if (d->send_counts && d->coll != RLT_ALL_TO_ALL)
            return rlt_fail(&b->error, RLT_EUSAGE, NULL, "bytes per member are for all_to_all only");
        return 0;
    }
    if (d->peer >= b->n_ranks)
        return rlt_fail(&b->error, RLT_ERANGE, NULL,
                        "the other rank of the message is %" PRIu32 ", but there are only %" PRIu32 " ranks",
                        d->peer, b->n_ranks);
    if (d->peer == d->rank)
        return rlt_fail(&b->error, RLT_ESCHEMA, NULL, "a message from a rank to itself");
    return 0;
}

static int add_communication(rlt_builder *b, const rlt_op_desc *d)
{
    int rc = check_communication(b, d);
    if (rc == 0)
        rc = rlt_grow(&b->comms, &b->comms_capacity, sizeof *b->comms, (uint64_t)b->n_comms + 1, RLT_MAX_OPS,
                      "communications", &b->error);
    if (rc < 0)
        return rc;
    rlt_build_comm c = {.kind = d->kind == RLT_OP_COLLECTIVE ? d->coll : RLT_SEND_RECV,
                        .group = d->group,
                        .root = d->root,
                        .peer = d->peer,
                        .tag = d->tag,
                        .bytes = d->bytes,
                        .timed = d->timed};
    if (d->kind == RLT_OP_COLLECTIVE && d->coll == RLT_BARRIER)
        c.bytes = 0;
    if (d->kind == RLT_OP_COLLECTIVE && d->send_counts) {
        uint32_t n = b->store->group_first[d->group + 1] - b->store->group_first[d->group];
        uint64_t *row = rlt_arena_array(&b->store->arena, n, sizeof *row);
        if (!row)
            return rlt_nomem(&b->error);
        memcpy(row, d->send_counts, n * sizeof *row);
        c.counts = row;
    }
    b->comms[b->n_comms++] = c;
    return 0;
}

/* Records the failure of an operation. Formats its name only here, because failures are rare. */
static uint32_t refuse(rlt_builder *b, const rlt_op_desc *d)
{
    if (!b->error.where[0])
        snprintf(b->error.where, sizeof b->error.where, "rank %" PRIu32 ": operation '%.100s'", d->rank,
                 rlt_interned(&b->store->strings, d->name));
    return RLT_NONE;
}

static uint8_t purpose_of(const rlt_builder *b, const rlt_op_desc *d)
{
    bool grouped = d->purpose == RLT_FOR_UNKNOWN && d->kind == RLT_OP_COLLECTIVE;
    return grouped ? b->group_purposes[d->group] : (uint8_t)d->purpose;
}

uint32_t rlt_build_op(rlt_builder *b, const rlt_op_desc *d)
{
    if (rlt_build_failed(b) || !good_rank(b, d->rank, "an operation"))
        return RLT_NONE;
    rlt_program_store *s = b->store;
    if (d->duration_ps < 0 || d->duration_ps > RLT_TIME_MAX) {
        (void)rlt_fail(&b->error, RLT_ERANGE, NULL, "a duration of %" PRId64 " ps: expected 0 to 26 days",
                       d->duration_ps);
        return refuse(b, d);
    }
    if (d->resource != RLT_NONE &&
        (d->resource >= b->n_resources || s->resources[d->resource].rank != d->rank)) {
        (void)rlt_fail(&b->error, RLT_EUSAGE, NULL, "runs on a resource of another rank");
        return refuse(b, d);
    }
    bool communicates = d->kind >= RLT_OP_COLLECTIVE;
    if (rlt_grow(&s->ops, &b->ops_capacity, sizeof *s->ops, (uint64_t)b->n_ops + 1, RLT_MAX_OPS, "operations",
                 &b->error) < 0)
        return RLT_NONE;
    if (communicates && add_communication(b, d) < 0)
        return refuse(b, d);
    s->ops[b->n_ops] = (rlt_op){
        .duration_ps = communicates && !d->timed ? 0 : d->duration_ps,
        .recorded_ps = d->recorded_ps < 0 ? -1 : d->recorded_ps,
        .recorded_duration_ps = d->recorded_duration_ps < 0 ? -1 : d->recorded_duration_ps,
        .rank = d->rank,
        .resource = d->resource,
        .name = d->name,
        .comm = communicates ? b->n_comms - 1 : RLT_NONE, /* index of the request, until matched */
        .step = d->step,
        .kind = (uint8_t)d->kind,
        .purpose = purpose_of(b, d),
    };
    return b->n_ops++;
}

int rlt__scatter_deps(rlt_builder *b)
{
    uint32_t n = 0;
    b->deps_capacity = 0;
    int rc = rlt_grow(&b->deps, &b->deps_capacity, sizeof *b->deps, (uint64_t)b->n_deps + 1, RLT_NONE - 1,
                      "dependencies", &b->error);
    for (uint32_t i = 0; i < b->n_ops && rc == 0; i++) {
        const rlt_op *o = &b->store->ops[i];
        for (uint32_t k = 0; k < o->n_deps; k++)
            b->deps[n++] = (rlt_build_dep_pair){.op = i, .on = b->needs[o->first_dep + k]};
    }
    free(b->needs);
    b->needs = NULL;
    return rc;
}

void rlt_build_dep(rlt_builder *b, uint32_t op, uint32_t on)
{
    if (rlt_build_failed(b))
        return;
    if (op >= b->n_ops || on >= b->n_ops) {
        (void)rlt_fail(&b->error, RLT_EUSAGE, NULL,
                       "operation %" PRIu32 " depends on operation %" PRIu32
                       ", but one of the two does not exist",
                       op, on);
        return;
    }
    if (b->store->ops[op].rank != b->store->ops[on].rank) {
        char where[160];
        rlt__op_place(b, op, where, sizeof where);
        (void)rlt_fail(&b->error, RLT_EUSAGE, where, "depends on an operation of another rank, rank %" PRIu32,
                       b->store->ops[on].rank);
        return;
    }
    bool ordered = !b->deps && op >= b->last_dependent;
    if (!ordered && !b->deps && rlt__scatter_deps(b) < 0)
        return;
    if (b->n_deps == b->deps_capacity &&
        (ordered ? rlt_grow(&b->needs, &b->deps_capacity, sizeof *b->needs, (uint64_t)b->n_deps + 1,
                            RLT_NONE - 1, "dependencies", &b->error)
                 : rlt_grow(&b->deps, &b->deps_capacity, sizeof *b->deps, (uint64_t)b->n_deps + 1,
                            RLT_NONE - 1, "dependencies", &b->error)) < 0)
        return;
    if (ordered) {
        rlt_op *o = &b->store->ops[op];
        o->first_dep = o->n_deps ? o->first_dep : b->n_deps;
        o->n_deps++;
        b->last_dependent = op;
        b->needs[b->n_deps++] = on;
    } else
        b->deps[b->n_deps++] = (rlt_build_dep_pair){.op = op, .on = on};
}

void rlt_build_rank_start(rlt_builder *b, uint32_t rank, rlt_time recorded_ps)
{
    if (!rlt_build_failed(b) && good_rank(b, rank, "a start"))
        b->store->rank_start_ps[rank] = recorded_ps;
}

void rlt_build_rank_recorded(rlt_builder *b, uint32_t rank, rlt_time span_ps)
{
    if (!rlt_build_failed(b) && good_rank(b, rank, "a recorded span"))
        b->store->rank_recorded_ps[rank] = span_ps < 0 ? -1 : span_ps;
}

void rlt_build_note(rlt_builder *b, uint64_t count, const char *fmt, ...)
{
    char text[MAX_NOTE_LENGTH];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    rlt_make_printable(text);
    if (rlt_build_failed(b) ||
        (b->n_notes == MAX_NOTES && rlt_intern_find(&b->note_keys, text, strlen(text)) == RLT_NONE))
        return;
    rlt_program_store *s = b->store;
    uint32_t i = rlt_intern(&b->note_keys, text, strlen(text));
    if (i == RLT_NONE || rlt_grow(&s->notes, &b->notes_capacity, sizeof *s->notes, (uint64_t)i + 1, MAX_NOTES,
                                  "notes", NULL) < 0) {
        (void)no_memory(b);
        return;
    }
    if (i == b->n_notes) {
        s->notes[i] = (rlt_note){.text = rlt_arena_strdup(&s->arena, text)};
        if (!s->notes[i].text) {
            (void)no_memory(b);
            return;
        }
        b->n_notes++;
    }
    s->notes[i].count += count;
}

void rlt_build_hash(rlt_builder *b, uint64_t hash)
{
    b->hash = rlt_mix64(b->hash * 31 + hash);
}

void rlt_build_layers(rlt_builder *b, uint32_t n)
{
    b->n_layers = n;
}
