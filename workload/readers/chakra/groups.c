/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Process groups of Chakra traces. A list in the trace gives the ranks of a group (PyTorch's METADATA node
 * "process_group:init", or our writer's attribute). Without a list, a group named "" or "0" is the world, and
 * any other group has the ranks that use it. involved_dim selects ranks along dimensions of the topology.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "sim/text/protowire.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/chakra/internal.h"
#include "workload/readers/chakra/node.h"

enum { MAX_GROUP_NAMES = 1 << 22 };

static const char *rank_file(const rlt_chakra_trace *t, uint32_t rank)
{
    return t->rank_path[rank];
}

static uint32_t intern_group(rlt_chakra_trace *t, const char *name, size_t length, rlt_error *err)
{
    uint32_t before = t->names.n, g = rlt_intern(&t->names, name, length);
    if (g == RLT_NONE) {
        (void)rlt_nomem(err);
        return RLT_NONE;
    }
    if (g < before)
        return g;
    uint32_t old = t->groups_capacity;
    if (rlt_grow(&t->groups, &t->groups_capacity, sizeof *t->groups, (uint64_t)g + 1, MAX_GROUP_NAMES,
                 "process groups", err) < 0)
        return RLT_NONE;
    for (uint32_t i = old; i < t->groups_capacity; i++)
        t->groups[i] = (rlt_chakra_group){.built = RLT_NONE};
    old = t->issued_capacity;
    if (rlt_grow(&t->issued, &t->issued_capacity, sizeof *t->issued, (uint64_t)g + 1, MAX_GROUP_NAMES,
                 "process groups", err) < 0)
        return RLT_NONE;
    memset(t->issued + old, 0, (t->issued_capacity - old) * sizeof *t->issued);
    return g;
}

uint32_t rlt__chakra_group_name(rlt_chakra_trace *t, const rlt_chakra_node *node, rlt_error *err)
{
    const rlt_chakra_value *v = &node->attr[RLT_CHAKRA_ATTR_PG_NAME];
    if (v->field == RLT_CHAKRA_STRING)
        return intern_group(t, (const char *)v->bytes.at, (size_t)(v->bytes.end - v->bytes.at), err);
    uint64_t number;
    int rc = rlt__chakra_u64(node, RLT_CHAKRA_ATTR_PG_NAME, UINT32_MAX, &number, err);
    if (rc < 0)
        return RLT_NONE;
    char text[24] = "";
    if (rc > 0)
        snprintf(text, sizeof text, "%" PRIu64, number);
    return intern_group(t, text, strlen(text), err);
}

bool rlt__chakra_is_collective(const rlt_chakra_node *node)
{
    if (node->type != RLT_CHAKRA_COLL)
        return false;
    uint64_t cpu = 0;
    bool host = rlt__chakra_u64(node, RLT_CHAKRA_ATTR_IS_CPU_OP, UINT64_MAX, &cpu, NULL) > 0 && cpu;
    return !host || rlt__chakra_has(node, RLT_CHAKRA_ATTR_COMM_SIZE);
}

uint32_t rlt__chakra_count(rlt_chakra_trace *t, uint32_t group)
{
    return t->issued[group]++;
}

static int add_member(rlt_chakra_group *g, uint32_t rank, rlt_error *err)
{
    if (g->n > 0 && g->ranks[g->n - 1] == rank && !g->listed)
        return 0;
    int rc = rlt_grow(&g->ranks, &g->capacity, sizeof *g->ranks, (uint64_t)g->n + 1, RLT_MAX_RANKS,
                      "ranks of a group", err);
    if (rc == 0)
        g->ranks[g->n++] = rank;
    return rc;
}

/* Reads one entry {"pg_name": "1", "ranks": [0, 2], "group_size": 2}. An empty list of ranks means all. */
static int list_group(rlt_chakra_trace *t, rlt_json entry, rlt_error *err)
{
    const char *name = NULL;
    char number[24];
    rlt_json pg = rlt_json_get(entry, "pg_name");
    uint64_t value;
    if (rlt_json_is_number(pg) && rlt_json_u64(pg, UINT32_MAX, &value, NULL) == 0) {
        snprintf(number, sizeof number, "%" PRIu64, value);
        name = number;
    } else {
        name = rlt_json_string(pg);
    }
    rlt_json ranks = rlt_json_get(entry, "ranks");
    if (!name || !rlt_json_is_array(ranks))
        return 0;
    uint32_t g = intern_group(t, name, strlen(name), err);
    if (g == RLT_NONE)
        return err ? err->code : RLT_ENOMEM;
    rlt_chakra_group *group = &t->groups[g];
    rlt_chakra_group fresh = {.listed = true, .built = RLT_NONE};
    int rc = 0;
    fresh.world = rlt_json_count(ranks) == 0;
    for (rlt_json r = rlt_json_first(ranks); rlt_json_is(r) && rc == 0; r = rlt_json_next(r)) {
        rc = rlt_json_u64(r, RLT_MAX_RANKS - 1, &value, err);
        if (rc == 0)
            rc = add_member(&fresh, (uint32_t)value, err);
    }
    bool same = group->listed && group->world == fresh.world && group->n == fresh.n &&
                (fresh.n == 0 || memcmp(group->ranks, fresh.ranks, fresh.n * sizeof *fresh.ranks) == 0);
    if (rc == 0 && group->listed && !same)
        rc = rlt_fail(err, RLT_ESCHEMA, NULL,
                      "process group \"%.80s\" has different ranks in different files", name);
    if (rc < 0 || same) {
        free(fresh.ranks);
        return rc;
    }
    free(group->ranks);
    *group = fresh;
    return 0;
}

/* Reads PyTorch's list: JSON in a string, perhaps in another list with its quotes escaped. */
static int list_groups(rlt_chakra_trace *t, const char *path, rlt_pb values, rlt_error *err)
{
    const char *text = (const char *)values.at;
    size_t length = (size_t)(values.end - values.at), first = 0, last = length, n = 0;
    while (first + 1 < length && !(text[first] == '[' && (text[first + 1] == '{' || text[first + 1] == ']')))
        first++;
    while (last > first && text[last - 1] != ']')
        last--;
    /* "[...]" inside ["..."]: drops the outer bracket */
    while (last > first + 1 && (text[last - 1] == ']') && last >= 2 &&
           (text[last - 2] == '"' || text[last - 2] == '\''))
        last -= 2;
    char *copy = malloc(length + 1);
    if (!copy)
        return rlt_nomem(err);
    for (size_t i = first; i < last; i++)
        if (!(text[i] == '\\' && text[i + 1] == '"')) /* a bracket ends the text */
            copy[n++] = text[i];
    rlt_json_doc *doc = NULL;
    int rc = 0;
    if (n == 0 || rlt_json_parse(path, copy, n, &doc, NULL) < 0 || !rlt_json_is_array(rlt_json_root(doc)))
        rlt_build_note(t->builder, 1, "unreadable list of process groups: ignored");
    else
        for (rlt_json e = rlt_json_first(rlt_json_root(doc)); rlt_json_is(e) && rc == 0; e = rlt_json_next(e))
            rc = list_group(t, e, err);
    rlt_json_free(doc);
    free(copy);
    return rc;
}

static bool has_text(rlt_pb where, const char *what)
{
    size_t n = strlen(what);
    for (const uint8_t *p = where.at; p && (size_t)(where.end - p) >= n; p++)
        if (memcmp(p, what, n) == 0)
            return true;
    return false;
}

/* Notes the size of an all-to-all. Sizes are compared between ranks by order in the group. */
static int note_exchange(rlt_chakra_trace *t, const rlt_chakra_node *node, uint32_t group, uint32_t k,
                         rlt_error *err)
{
    uint64_t type = 0, bytes = 0;
    if (rlt__chakra_u64(node, RLT_CHAKRA_ATTR_COMM_TYPE, UINT32_MAX, &type, err) < 0 ||
        rlt__chakra_u64(node, RLT_CHAKRA_ATTR_COMM_SIZE, INT64_MAX, &bytes, err) < 0)
        return RLT_ESCHEMA;
    if (type != RLT_CHAKRA_ALL_TO_ALL)
        return 0;
    uint64_t key = (uint64_t)group << 32 | k;
    uint32_t at = rlt_map_get(&t->exchange_at, key);
    if (at != RLT_NONE) {
        t->exchanges[at].differs = t->exchanges[at].differs || t->exchanges[at].bytes != bytes;
        return 0;
    }
    int rc = rlt_grow(&t->exchanges, &t->exchanges_capacity, sizeof *t->exchanges,
                      (uint64_t)t->n_exchanges + 1, RLT_MAX_OPS, "all-to-alls", err);
    if (rc < 0)
        return rc;
    t->exchanges[t->n_exchanges] = (rlt_chakra_exchange){.bytes = bytes};
    return rlt_map_put(&t->exchange_at, key, t->n_exchanges++) < 0 ? rlt_nomem(err) : 0;
}

static int scan_node(rlt_chakra_trace *t, uint32_t rank, const rlt_chakra_node *node, rlt_error *err)
{
    if (node->has_start && node->start_us > 0 && node->start_us < t->first_start_us)
        t->first_start_us = node->start_us;
    if (node->type == RLT_CHAKRA_METADATA && has_text(node->name, "process_group:init"))
        return list_groups(t, rank_file(t, rank), node->input_values, err);
    if (!rlt__chakra_is_collective(node))
        return 0;
    uint32_t g = rlt__chakra_group_name(t, node, err);
    if (g == RLT_NONE)
        return err && err->code ? err->code : RLT_ENOMEM;
    if (!t->groups[g].listed && add_member(&t->groups[g], rank, err) < 0)
        return RLT_ENOMEM;
    return note_exchange(t, node, g, rlt__chakra_count(t, g), err);
}

static int scan_file(rlt_chakra_trace *t, uint32_t rank, rlt_chakra_node *node, rlt_error *err)
{
    rlt_chakra_file f;
    int rc = rlt__chakra_open(rank_file(t, rank), &f, node, err);
    if (rc < 0)
        return rc;
    memset(t->issued, 0, t->issued_capacity * sizeof *t->issued);
    rlt_build_hash(t->builder, rlt_hash_bytes(f.text, f.length, rank));
    if (node->attr[RLT_CHAKRA_ATTR_GROUPS].field == RLT_CHAKRA_STRING)
        rc = list_groups(t, f.path, node->attr[RLT_CHAKRA_ATTR_GROUPS].bytes, err);
    while (rc == 0 && (rc = rlt__chakra_next(&f, node, err)) > 0) {
        rc = scan_node(t, rank, node, err);
        if (rc < 0)
            rlt_error_prefix(err, f.path);
    }
    rlt__chakra_close(&f);
    return rc;
}

int rlt__chakra_scan(rlt_chakra_trace *t, rlt_error *err)
{
    rlt_chakra_node node = {0};
    int rc = 0;
    t->first_start_us = UINT64_MAX;
    if (intern_group(t, "", 0, err) == RLT_NONE)
        return RLT_ENOMEM;
    for (uint32_t r = 0; r < t->n_ranks && rc == 0; r++)
        rc = scan_file(t, r, &node, err);
    free(node.deps);
    return rc;
}

static const uint32_t *world(rlt_chakra_trace *t, rlt_error *err)
{
    if (!t->world) {
        t->world = malloc(t->n_ranks * sizeof *t->world);
        if (!t->world) {
            (void)rlt_nomem(err);
            return NULL;
        }
        for (uint32_t r = 0; r < t->n_ranks; r++)
            t->world[r] = r;
    }
    return t->world;
}

/* Builds the group of ranks that differ from `rank` only in the involved dimensions; mixed radix, dimension 0
 * fastest. */
static int involved_group(rlt_chakra_trace *t, uint32_t rank, uint64_t involved, uint32_t *group,
                          rlt_error *err)
{
    const rlt_read_options *o = t->opts;
    uint64_t product = 1, size = 1;
    for (uint32_t d = 0; d < o->n_dims; d++) {
        product *= o->dims[d];
        size *= involved >> d & 1 ? o->dims[d] : 1;
    }
    if (product != t->n_ranks)
        return rlt_fail(err, RLT_ESCHEMA, NULL,
                        "involved_dim selects dimensions of a topology of %" PRIu64
                        " ranks, but the trace has %" PRIu32,
                        product, t->n_ranks);
    uint32_t *ranks = malloc(size * sizeof *ranks);
    if (!ranks)
        return rlt_nomem(err);
    uint32_t base = rank, n = 1, stride = 1;
    for (uint32_t d = 0; d < o->n_dims; d++) { /* member 0 has coordinate 0 in each involved dimension */
        if (involved >> d & 1)
            base -= rank / stride % o->dims[d] * stride;
        stride *= o->dims[d];
    }
    ranks[0] = base;
    stride = 1;
    for (uint32_t d = 0; d < o->n_dims; d++) {
        for (uint32_t c = 1; (involved >> d & 1) && c < o->dims[d]; c++)
            for (uint32_t i = 0; i < n; i++)
                ranks[c * n + i] = ranks[i] + c * stride;
        n *= involved >> d & 1 ? o->dims[d] : 1;
        stride *= o->dims[d];
    }
    *group = rlt_build_group(t->builder, "", ranks, n);
    free(ranks);
    return 0;
}

/* Reads the involved dimensions as bits: all of them if the node has none or the dimensions are unknown. */
static int involved_dims(rlt_chakra_trace *t, const rlt_chakra_node *node, bool *all, uint64_t *involved,
                         rlt_error *err)
{
    uint64_t flags[RLT_MAX_DIMS];
    uint32_t n;
    *all = true;
    int rc = rlt__chakra_integers(node, RLT_CHAKRA_ATTR_INVOLVED_DIM, flags, RLT_MAX_DIMS, &n, err);
    if (rc < 0 || n == 0)
        return rc;
    bool some = false;
    *involved = 0;
    for (uint32_t d = 0; d < n && d < RLT_MAX_DIMS; d++) {
        *involved |= (uint64_t)(flags[d] != 0) << d;
        some = some || flags[d] == 0;
    }
    if (t->opts->n_dims == 0) {
        if (some)
            rlt_build_note(t->builder, 1,
                           "collective along some dimensions (involved_dim): runs over all ranks, because no "
                           "topology was given");
        return 0;
    }
    for (uint32_t d = 0; d < t->opts->n_dims; d++)
        *all = *all && (*involved >> d & 1);
    return 0;
}

int rlt__chakra_resolve(rlt_chakra_trace *t, uint32_t rank, const rlt_chakra_node *node, uint32_t name,
                        uint32_t *group, rlt_error *err)
{
    rlt_chakra_group *g = &t->groups[name];
    const char *label = rlt_interned(&t->names, name);
    bool plain = !g->listed && (label[0] == '\0' || strcmp(label, "0") == 0);
    if (plain && !t->opts->alone) {
        bool all;
        uint64_t involved = 0;
        int rc = involved_dims(t, node, &all, &involved, err);
        if (rc < 0)
            return rc;
        if (!all)
            return involved_group(t, rank, involved, group, err);
    }
    if (g->built == RLT_NONE) {
        bool whole = plain || g->world || t->opts->alone;
        if (!whole && !g->listed)
            rlt_build_note(t->builder, 1,
                           "process group without a list of ranks: assumed to be the ranks that use it");
        const uint32_t *ranks = whole ? world(t, err) : g->ranks;
        if (!ranks)
            return RLT_ENOMEM;
        g->built = rlt_build_group(t->builder, label, ranks, whole ? t->n_ranks : g->n);
    }
    *group = g->built;
    return 0;
}

void rlt__chakra_groups_free(rlt_chakra_trace *t)
{
    for (uint32_t g = 0; g < t->names.n && g < t->groups_capacity; g++)
        free(t->groups[g].ranks);
    free(t->groups);
    free(t->exchanges);
    free(t->issued);
    free(t->world);
    rlt_map_free(&t->exchange_at);
    rlt_strings_free(&t->names);
}
