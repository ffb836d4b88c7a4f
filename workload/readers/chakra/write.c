/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Writes a program as Chakra execution traces. Standard fields and attributes hold what the format can
 * express. Attributes with the prefix ringlet_ hold the rest (picoseconds, resources, steps, uneven
 * all-to-alls), so that reading the files gives an equal program. Operation i of a rank is node i + 1.
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "sim/text/protowire.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/readers/chakra/node.h"

static const uint8_t chakra_kinds[RLT_COLL_KINDS] = {
    [RLT_ALL_REDUCE] = RLT_CHAKRA_ALL_REDUCE, [RLT_REDUCE_SCATTER] = RLT_CHAKRA_REDUCE_SCATTER,
    [RLT_ALL_GATHER] = RLT_CHAKRA_ALL_GATHER, [RLT_ALL_TO_ALL] = RLT_CHAKRA_ALL_TO_ALL,
    [RLT_BROADCAST] = RLT_CHAKRA_BROADCAST,   [RLT_REDUCE] = RLT_CHAKRA_REDUCE,
    [RLT_BARRIER] = RLT_CHAKRA_BARRIER,       [RLT_GATHER] = RLT_CHAKRA_GATHER,
    [RLT_SCATTER] = RLT_CHAKRA_SCATTER,
};

typedef struct writer {
    const rlt_program *p;
    rlt_pb_out file, node, attr;
} writer;

/* Appends the value collected in w->attr under the name of the attribute. */
static void put_attr(writer *w, rlt_pb_out *to, uint32_t field, rlt_chakra_attr a)
{
    const char *name = rlt__chakra_attr_names[a];
    rlt_pb_out whole = {0};
    rlt__pb_put_bytes(&whole, 1, name, strlen(name));
    rlt__pb_put_raw(&whole, w->attr.data, w->attr.length);
    rlt__pb_put_bytes(to, field, whole.data, whole.length);
    to->failed = to->failed || whole.failed;
    rlt__pb_out_free(&whole);
    w->attr.length = 0;
}

/* `field` is the field of attributes in the enclosing message: 10 in a node, 2 in the metadata. */
static void put_integer(writer *w, rlt_pb_out *to, uint32_t field, rlt_chakra_attr a, uint32_t member,
                        uint64_t value)
{
    rlt__pb_put_uint(&w->attr, member, value);
    put_attr(w, to, field, a);
}

static void put_string(writer *w, rlt_pb_out *to, uint32_t field, rlt_chakra_attr a, const char *text)
{
    rlt__pb_put_bytes(&w->attr, RLT_CHAKRA_STRING, text, strlen(text));
    put_attr(w, to, field, a);
}

static uint32_t group_members(const rlt_program *p, uint32_t g)
{
    return p->group_first[g + 1] - p->group_first[g];
}

static bool is_world(const rlt_program *p, uint32_t g)
{
    if (group_members(p, g) != p->n_ranks)
        return false;
    for (uint32_t i = 0; i < p->n_ranks; i++)
        if (p->group_ranks[p->group_first[g] + i] != i)
            return false;
    return true;
}

/* Returns the first group with all ranks. Process groups are numbered as ASTRA-sim requires; "0" is this
 * world. */
static uint32_t first_world(const rlt_program *p)
{
    for (uint32_t g = 0; g < p->n_groups; g++)
        if (is_world(p, g))
            return g;
    return RLT_NONE;
}

static void group_name(uint32_t world, uint32_t g, char *buffer, size_t size)
{
    snprintf(buffer, size, "%" PRIu32, g == world ? 0 : g + 1);
}

static void put_counts(writer *w, const rlt_comm *c, uint32_t member)
{
    uint32_t n = group_members(w->p, c->group);
    rlt_pb_out values = {0}, list = {0};
    for (uint32_t j = 0; j < n; j++)
        rlt__pb_put_varint(&values, c->counts[(size_t)member * n + j]);
    rlt__pb_put_bytes(&list, 1, values.data, values.length);
    rlt__pb_put_bytes(&w->attr, RLT_CHAKRA_UINT64_LIST, list.data, list.length);
    w->attr.failed = w->attr.failed || values.failed || list.failed;
    rlt__pb_out_free(&values);
    rlt__pb_out_free(&list);
    put_attr(w, &w->node, 10, RLT_CHAKRA_ATTR_COUNTS);
}

/* Returns true for kinds whose comm_size is a member's share. */
static bool in_shares(rlt_coll_kind kind)
{
    return kind == RLT_ALL_GATHER || kind == RLT_GATHER || kind == RLT_SCATTER;
}

static uint64_t own_bytes(const rlt_program *p, const rlt_comm *c, uint32_t member)
{
    uint32_t n = group_members(p, c->group);
    if (in_shares(c->kind))
        return c->counts ? c->counts[member] : c->bytes / n;
    if (!c->counts)
        return c->bytes;
    uint64_t sum = 0;
    for (uint32_t j = 0; j < n; j++)
        sum += c->counts[(size_t)member * n + j];
    return sum;
}

static void put_communication(writer *w, const rlt_op *op, uint32_t world)
{
    const rlt_program *p = w->p;
    const rlt_comm *c = &p->comms[op->comm];
    const uint32_t *ranks = p->group_ranks + p->group_first[c->group];
    uint64_t bytes = own_bytes(p, c, op->member);
    if (c->kind == RLT_SEND_RECV) {
        put_integer(w, &w->node, 10, RLT_CHAKRA_ATTR_COMM_SRC, RLT_CHAKRA_INT32, ranks[0]);
        put_integer(w, &w->node, 10, RLT_CHAKRA_ATTR_COMM_DST, RLT_CHAKRA_INT32, ranks[1]);
        /* tags are not kept: a separate tag per message matches in the same way */
        put_integer(w, &w->node, 10, RLT_CHAKRA_ATTR_COMM_TAG, RLT_CHAKRA_INT32, op->comm & INT32_MAX);
    } else {
        char name[16];
        group_name(world, c->group, name, sizeof name);
        put_integer(w, &w->node, 10, RLT_CHAKRA_ATTR_COMM_TYPE, RLT_CHAKRA_INT64, chakra_kinds[c->kind]);
        put_string(w, &w->node, 10, RLT_CHAKRA_ATTR_PG_NAME, name);
        if (rlt_coll_rooted(c->kind))
            put_integer(w, &w->node, 10, RLT_CHAKRA_ATTR_ROOT_RANK, RLT_CHAKRA_INT64, ranks[c->root]);
    }
    put_integer(w, &w->node, 10, RLT_CHAKRA_ATTR_COMM_SIZE, RLT_CHAKRA_INT64, bytes);
    if (in_shares(c->kind) && !c->counts && bytes * group_members(p, c->group) != c->bytes)
        put_integer(w, &w->node, 10, RLT_CHAKRA_ATTR_BYTES, RLT_CHAKRA_UINT64, c->bytes);
    if (c->counts && c->kind == RLT_ALL_TO_ALL)
        put_counts(w, c, op->member);
}

/* Writes the resource, unless the reader would choose the same one. */
static void put_resource(writer *w, const rlt_op *op)
{
    const rlt_program *p = w->p;
    bool communicates = op->kind >= RLT_OP_COLLECTIVE;
    if (op->resource == RLT_NONE) {
        if (!communicates)
            put_string(w, &w->node, 10, RLT_CHAKRA_ATTR_RESOURCE, "-");
        return;
    }
    const rlt_resource *r = &p->resources[op->resource];
    const char *name = rlt_program_string(p, r->name), *usual = op->kind == RLT_OP_HOST ? "host" : "compute";
    rlt_resource_kind usual_kind = op->kind == RLT_OP_HOST ? RLT_RES_HOST : RLT_RES_STREAM;
    if (!communicates && op->kind != RLT_OP_DELAY && r->kind == usual_kind && strcmp(name, usual) == 0)
        return;
    char *text = malloc(strlen(name) + 3);
    if (!text) {
        w->node.failed = true;
        return;
    }
    snprintf(text, strlen(name) + 3, "%c:%s", RLT_CHAKRA_RESOURCES[r->kind], name);
    put_string(w, &w->node, 10, RLT_CHAKRA_ATTR_RESOURCE, text);
    free(text);
}

static void put_times(writer *w, const rlt_op *op)
{
    bool communicates = op->kind >= RLT_OP_COLLECTIVE;
    if (communicates ? w->p->comms[op->comm].timed : op->duration_ps % RLT_US != 0)
        put_integer(w, &w->node, 10, RLT_CHAKRA_ATTR_DURATION, RLT_CHAKRA_UINT64, (uint64_t)op->duration_ps);
    if (op->recorded_ps >= 0)
        put_integer(w, &w->node, 10, RLT_CHAKRA_ATTR_RECORDED, RLT_CHAKRA_UINT64, (uint64_t)op->recorded_ps);
    if (op->recorded_duration_ps >= 0)
        put_integer(w, &w->node, 10, RLT_CHAKRA_ATTR_RECORDED_DURATION, RLT_CHAKRA_UINT64,
                    (uint64_t)op->recorded_duration_ps);
    if (op->step > 0)
        put_integer(w, &w->node, 10, RLT_CHAKRA_ATTR_STEP, RLT_CHAKRA_UINT32, op->step);
}

static uint32_t node_type(const rlt_op *op)
{
    return op->kind == RLT_OP_COLLECTIVE ? RLT_CHAKRA_COLL
           : op->kind == RLT_OP_SEND     ? RLT_CHAKRA_SEND
           : op->kind == RLT_OP_RECV     ? RLT_CHAKRA_RECV
                                         : RLT_CHAKRA_COMP;
}

static void put_op(writer *w, uint32_t rank, uint32_t index, uint32_t world)
{
    const rlt_program *p = w->p;
    const rlt_op *op = &p->ops[index];
    uint32_t base = p->rank_first[rank];
    bool communicates = op->kind >= RLT_OP_COLLECTIVE;
    const char *name = rlt_program_string(p, op->name);
    w->node.length = 0;
    rlt__pb_put_uint(&w->node, 1, (uint64_t)(index - base) + 1);
    if (op->name != RLT_NONE)
        rlt__pb_put_bytes(&w->node, 2, name, strlen(name));
    rlt__pb_put_uint(&w->node, 3, node_type(op));
    if (op->n_deps) {
        rlt_pb_out ids = {0};
        for (uint32_t d = 0; d < op->n_deps; d++)
            rlt__pb_put_varint(&ids, (uint64_t)(p->deps[op->first_dep + d] - base) + 1);
        rlt__pb_put_bytes(&w->node, 5, ids.data, ids.length);
        w->node.failed = w->node.failed || ids.failed;
        rlt__pb_out_free(&ids);
    }
    rlt_time duration = communicates ? op->recorded_duration_ps : op->duration_ps;
    if (duration >= 0)
        rlt__pb_put_uint(&w->node, 7, (uint64_t)((duration + RLT_US / 2) / RLT_US));
    put_integer(w, &w->node, 10, RLT_CHAKRA_ATTR_IS_CPU_OP, RLT_CHAKRA_BOOL, op->kind == RLT_OP_HOST);
    if (communicates)
        put_communication(w, op, world);
    else if (op->kind == RLT_OP_MEMORY || op->kind == RLT_OP_DELAY)
        put_integer(w, &w->node, 10, RLT_CHAKRA_ATTR_KIND, RLT_CHAKRA_UINT32, op->kind);
    if (op->purpose != RLT_FOR_UNKNOWN)
        put_integer(w, &w->node, 10, RLT_CHAKRA_ATTR_PURPOSE, RLT_CHAKRA_UINT32, op->purpose);
    put_times(w, op);
    put_resource(w, op);
    rlt__pb_put_varint(&w->file, w->node.length);
    rlt__pb_put_raw(&w->file, w->node.data, w->node.length);
}

static void list_group(const rlt_program *p, uint32_t world, uint32_t g, rlt_jw *j)
{
    char name[16];
    group_name(world, g, name, sizeof name);
    rlt_jw_object(j, NULL);
    rlt_jw_string(j, "pg_name", name);
    rlt_jw_array(j, "ranks");
    for (uint32_t i = p->group_first[g]; i < p->group_first[g + 1] && !is_world(p, g); i++)
        rlt_jw_u64(j, NULL, p->group_ranks[i]);
    rlt_jw_end_array(j);
    rlt_jw_end_object(j);
}

/* Returns the groups of the rank's collectives, except the world, as JSON. NULL if memory is exhausted. */
static char *groups_text(const rlt_program *p, uint32_t rank, uint32_t world)
{
    uint8_t *seen = calloc((size_t)p->n_groups + 1, 1);
    rlt_jw j;
    rlt_jw_init(&j, false);
    rlt_jw_array(&j, NULL);
    for (uint32_t i = p->rank_first[rank]; seen && i < p->rank_first[rank + 1]; i++) {
        if (p->ops[i].kind != RLT_OP_COLLECTIVE)
            continue;
        uint32_t g = p->comms[p->ops[i].comm].group;
        if (g != world && !seen[g])
            list_group(p, world, g, &j);
        seen[g] = 1;
    }
    rlt_jw_end_array(&j);
    char *text = rlt_jw_finish(&j, NULL);
    if (!seen) {
        free(text);
        text = NULL;
    }
    free(seen);
    return text;
}

static int put_metadata(writer *w, uint32_t rank, uint32_t world, rlt_error *err)
{
    const rlt_program *p = w->p;
    char *groups = groups_text(p, rank, world);
    if (!groups)
        return rlt_nomem(err);
    w->node.length = 0;
    rlt__pb_put_bytes(&w->node, 1, "0.0.4", 5);
    put_integer(w, &w->node, 2, RLT_CHAKRA_ATTR_RANKS, RLT_CHAKRA_UINT32, p->n_ranks);
    put_integer(w, &w->node, 2, RLT_CHAKRA_ATTR_RANK_START, RLT_CHAKRA_UINT64,
                (uint64_t)p->rank_start_ps[rank]);
    if (p->rank_recorded_ps[rank] >= 0)
        put_integer(w, &w->node, 2, RLT_CHAKRA_ATTR_RANK_RECORDED, RLT_CHAKRA_UINT64,
                    (uint64_t)p->rank_recorded_ps[rank]);
    if (strcmp(groups, "[]") != 0)
        put_string(w, &w->node, 2, RLT_CHAKRA_ATTR_GROUPS, groups);
    free(groups);
    rlt__pb_put_varint(&w->file, w->node.length);
    rlt__pb_put_raw(&w->file, w->node.data, w->node.length);
    return 0;
}

/* Writes a temporary file and renames it: a reader never sees half a file. */
static int replace_file(const char *path, const rlt_pb_out *o, rlt_error *err)
{
    size_t size = strlen(path) + 32;
    char *beside = malloc(size);
    if (!beside)
        return rlt_nomem(err);
    snprintf(beside, size, "%s.%ld.part", path, (long)getpid());
    FILE *f = fopen(beside, "wb");
    bool good = f && fwrite(o->data, 1, o->length, f) == o->length;
    int number = errno;
    if (f && fclose(f) != 0 && good) {
        good = false;
        number = errno;
    }
    if (good && rename(beside, path) != 0) {
        good = false;
        number = errno;
    }
    int rc = good ? 0 : rlt_fail(err, RLT_EIO, path, "cannot write: %s", strerror(number));
    if (!good && f)
        remove(beside);
    free(beside);
    return rc;
}

static int check(const rlt_program *p, rlt_error *err)
{
    for (uint32_t i = 0; i < p->n_ops; i++) {
        const rlt_op *op = &p->ops[i];
        if (op->kind >= RLT_OP_COLLECTIVE && op->comm == RLT_NONE)
            return rlt_fail(err, RLT_EUNSUPPORTED, NULL,
                            "rank %" PRIu32
                            ": operation '%.100s' has no matching send or receive, and cannot be written",
                            op->rank, rlt_program_string(p, op->name));
    }
    return 0;
}

int rlt_chakra_write(const rlt_program *p, const char *dir, const char *prefix, rlt_error *err)
{
    writer w = {.p = p};
    uint32_t world = first_world(p);
    size_t size = strlen(dir) + strlen(prefix) + 32;
    char *path = malloc(size);
    int rc = path ? check(p, err) : rlt_nomem(err);
    for (uint32_t r = 0; r < p->n_ranks && rc == 0; r++) {
        w.file.length = 0;
        rc = put_metadata(&w, r, world, err);
        for (uint32_t i = p->rank_first[r]; i < p->rank_first[r + 1] && rc == 0; i++)
            put_op(&w, r, i, world);
        if (rc == 0 && (w.file.failed || w.node.failed || w.attr.failed))
            rc = rlt_nomem(err);
        if (rc == 0) {
            snprintf(path, size, "%s/%s.%" PRIu32 ".et", dir, prefix, r);
            rc = replace_file(path, &w.file, err);
        }
    }
    rlt__pb_out_free(&w.file);
    rlt__pb_out_free(&w.node);
    rlt__pb_out_free(&w.attr);
    free(path);
    return rc;
}
