/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads Chakra execution traces into a program. Times are whole microseconds. Where the format leaves a
 * choice:
 *   - A node waits for its control and data dependencies. In traces converted from PyTorch, control
 *     dependencies are the call tree (a node may even be its own parent) and are ignored.
 *   - The duration of a collective or message includes its waiting: kept as recorded, not replayed.
 *   - comm_size of an all-gather or gather is the share that each rank contributes; of a scatter, the share
 *     that each rank receives.
 *   - An all-to-all whose size differs between ranks is uneven: each rank divides its own bytes equally.
 *   - COMM_COLL without comm_size on the host is the host's record of a collective: host work.
 */
#include <inttypes.h>
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
#include "workload/program/reader.h"
#include "workload/readers/chakra/internal.h"
#include "workload/readers/chakra/node.h"

/* Marks node ids that became no operation, in the map of ids. */
#define SKIPPED (RLT_NONE - 1)

enum { MAX_RESOURCE_NAME = 64 };

typedef struct pending_dep {
    uint32_t op;
    uint64_t node, on;
} pending_dep;

/* State while the file of one rank is read. */
typedef struct rank_reader {
    rlt_chakra_trace *t;
    uint32_t rank;
    bool from_pytorch;
    rlt_map ops; /* node id -> operation */
    pending_dep *deps;
    uint32_t n_deps, deps_capacity;
    uint64_t *counts; /* scratch: a row of an all-to-all */
    uint32_t counts_capacity;
} rank_reader;

static int node_error(const rlt_chakra_node *n, int code, rlt_error *err, const char *what)
{
    char where[160];
    ptrdiff_t length = n->name.end - n->name.at;
    snprintf(where, sizeof where, "node %" PRIu64 " '%.*s'", n->id, (int)(length > 80 ? 80 : length),
             n->name.at ? (const char *)n->name.at : "");
    return rlt_fail(err, code, where, "%s", what);
}

/* Reads an optional integer. Keeps *out if there is none. */
static int integer(const rlt_chakra_node *n, rlt_chakra_attr a, uint64_t max, uint64_t *out, rlt_error *err)
{
    int rc = rlt__chakra_u64(n, a, max, out, err);
    return rc < 0 ? rc : 0;
}

static int duration_of(const rlt_chakra_node *n, rlt_time *duration_ps, rlt_error *err)
{
    uint64_t exact = UINT64_MAX;
    int rc = integer(n, RLT_CHAKRA_ATTR_DURATION, (uint64_t)RLT_TIME_MAX, &exact, err);
    if (rc < 0)
        return rc;
    if (exact != UINT64_MAX) {
        *duration_ps = (rlt_time)exact;
        return 0;
    }
    if (n->duration_us > (uint64_t)(RLT_TIME_MAX / RLT_US))
        return node_error(n, RLT_ERANGE, err, "a duration of more than 26 days");
    *duration_ps = (rlt_time)n->duration_us * RLT_US;
    return 0;
}

static rlt_time ratio_time(uint64_t amount, uint64_t per_second)
{
    return per_second ? rlt_transfer_time(amount, per_second) : 0;
}

/* Roofline: the longer of computing and moving, equal to ops / min(memory rate x intensity, peak). */
static int estimate(rank_reader *r, const rlt_chakra_node *n, rlt_op_desc *d, rlt_error *err)
{
    const rlt_read_options *o = r->t->opts;
    bool memory = n->type == RLT_CHAKRA_MEM_LOAD || n->type == RLT_CHAKRA_MEM_STORE;
    uint64_t operations = 0, bytes = 0;
    int rc = integer(n, RLT_CHAKRA_ATTR_NUM_OPS, INT64_MAX, &operations, err);
    if (rc == 0)
        rc = integer(n, RLT_CHAKRA_ATTR_TENSOR_SIZE, INT64_MAX, &bytes, err);
    bool can = memory ? o->memory_Bps > 0 : o->peak_Flops > 0 && rlt__chakra_has(n, RLT_CHAKRA_ATTR_NUM_OPS);
    if (rc < 0 || (d->duration_ps > 0 && (memory || !can || !o->roofline_replaces)))
        return rc;
    if (memory && o->serial_communication) /* ASTRA-sim's name of the resource */
        return node_error(
            n, RLT_EUNSUPPORTED, err,
            "a memory node has no duration: expected one, because no remote memory is described");
    if (!can) {
        if (!n->has_duration && !rlt__chakra_has(n, RLT_CHAKRA_ATTR_DURATION))
            rlt_build_note(r->t->builder, 1, "%s without a duration takes no time",
                           memory ? "memory node" : "compute");
        return 0;
    }
    rlt_time compute = memory ? 0 : ratio_time(operations, o->peak_Flops),
             move = ratio_time(bytes, o->memory_Bps);
    d->duration_ps = compute > move ? compute : move;
    if (o->roofline_replaces) /* ASTRA-sim counts whole nanoseconds */
        d->duration_ps -= d->duration_ps % RLT_NS;
    return 0;
}

static bool name_begins(const rlt_chakra_node *n, const char *word)
{
    size_t length = strlen(word);
    return (size_t)(n->name.end - n->name.at) >= length && memcmp(n->name.at, word, length) == 0;
}

static bool is_host(const rlt_chakra_node *n)
{
    uint64_t cpu = 0;
    return rlt__chakra_u64(n, RLT_CHAKRA_ATTR_IS_CPU_OP, UINT64_MAX, &cpu, NULL) > 0 && cpu;
}

/* Reads our writer's "<kind letter>:<name>". "-" is no resource. */
static bool stated_resource(rank_reader *r, const rlt_chakra_node *n, uint32_t *resource)
{
    const rlt_chakra_value *v = &n->attr[RLT_CHAKRA_ATTR_RESOURCE];
    size_t length = (size_t)(v->bytes.end - v->bytes.at);
    if (v->field != RLT_CHAKRA_STRING || length == 0)
        return false;
    const char *text = (const char *)v->bytes.at, *letters = RLT_CHAKRA_RESOURCES,
               *letter = strchr(letters, text[0]);
    *resource = RLT_NONE;
    if (length < 2 || text[1] != ':' || !text[0] || !letter)
        return true;
    char *name = malloc(length);
    if (name) {
        memcpy(name, text + 2, length - 2);
        name[length - 2] = '\0';
        *resource = rlt_build_resource(r->t->builder, r->rank, (rlt_resource_kind)(letter - letters), name);
    } else {
        rlt_error none = {0};
        rlt_nomem(&none);
        rlt_build_fail(r->t->builder, &none);
    }
    free(name);
    return true;
}

static uint32_t numbered_resource(rank_reader *r, rlt_resource_kind kind, const rlt_chakra_node *n,
                                  rlt_chakra_attr a, const char *word, const char *otherwise)
{
    char name[MAX_RESOURCE_NAME];
    const rlt_chakra_value *v = &n->attr[a];
    uint64_t number;
    snprintf(name, sizeof name, "%s", otherwise);
    if (v->field == RLT_CHAKRA_STRING)
        snprintf(name, sizeof name, "%s %.*s", word,
                 (int)(v->bytes.end - v->bytes.at > 40 ? 40 : v->bytes.end - v->bytes.at),
                 (const char *)v->bytes.at);
    else if (rlt__chakra_u64(n, a, UINT64_MAX, &number, NULL) > 0)
        snprintf(name, sizeof name, "%s %" PRId64, word, (int64_t)number);
    return rlt_build_resource(r->t->builder, r->rank, kind, name);
}

/* Returns the attribute of the stream of device work. PyTorch's converter writes it as `tid` if it writes no
 * `stream`. */
static rlt_chakra_attr stream_attr(const rank_reader *r, const rlt_chakra_node *n)
{
    bool as_tid = r->from_pytorch && !rlt__chakra_has(n, RLT_CHAKRA_ATTR_STREAM);
    return as_tid ? RLT_CHAKRA_ATTR_TID : RLT_CHAKRA_ATTR_STREAM;
}

static uint32_t work_resource(rank_reader *r, const rlt_chakra_node *n, rlt_op_kind kind)
{
    uint32_t resource;
    if (stated_resource(r, n, &resource))
        return resource;
    if (kind == RLT_OP_HOST)
        return numbered_resource(r, RLT_RES_HOST, n, RLT_CHAKRA_ATTR_TID, "thread", "host");
    if (n->type == RLT_CHAKRA_MEM_LOAD || n->type == RLT_CHAKRA_MEM_STORE)
        return numbered_resource(r, RLT_RES_COPY, n, RLT_CHAKRA_ATTR_STREAM, "stream", "memory");
    return numbered_resource(r, RLT_RES_STREAM, n, stream_attr(r, n), "stream", "compute");
}

static uint32_t comm_resource(rank_reader *r, const rlt_chakra_node *n)
{
    uint32_t resource;
    if (stated_resource(r, n, &resource))
        return resource;
    if (rlt__chakra_has(n, stream_attr(r, n)))
        return numbered_resource(r, RLT_RES_STREAM, n, stream_attr(r, n), "stream", "");
    /* ASTRA-sim: one communication at a time, except receives */
    if (r->t->opts->serial_communication && n->type != RLT_CHAKRA_RECV)
        return rlt_build_resource(r->t->builder, r->rank, RLT_RES_NETWORK, "network");
    return RLT_NONE;
}

static const struct collective_kind {
    rlt_coll_kind kind;
    bool known;
} collective_kinds[] = {
    [RLT_CHAKRA_ALL_REDUCE] = {RLT_ALL_REDUCE, true},
    [RLT_CHAKRA_REDUCE] = {RLT_REDUCE, true},
    [RLT_CHAKRA_ALL_GATHER] = {RLT_ALL_GATHER, true},
    [RLT_CHAKRA_GATHER] = {RLT_GATHER, true},
    [RLT_CHAKRA_SCATTER] = {RLT_SCATTER, true},
    [RLT_CHAKRA_BROADCAST] = {RLT_BROADCAST, true},
    [RLT_CHAKRA_ALL_TO_ALL] = {RLT_ALL_TO_ALL, true},
    [RLT_CHAKRA_REDUCE_SCATTER] = {RLT_REDUCE_SCATTER, true},
    [RLT_CHAKRA_REDUCE_SCATTER_BLOCK] = {RLT_REDUCE_SCATTER, true},
    [RLT_CHAKRA_BARRIER] = {RLT_BARRIER, true},
};

/* Fills the row of bytes to each member of an uneven all-to-all. d->send_counts stays NULL if it is even. */
static int fill_counts(rank_reader *r, const rlt_chakra_node *n, bool uneven, uint32_t members,
                       rlt_op_desc *d, rlt_error *err)
{
    bool listed = rlt__chakra_has(n, RLT_CHAKRA_ATTR_COUNTS);
    if ((!listed && !uneven) || r->t->opts->alone)
        return 0;
    int rc = rlt_grow(&r->counts, &r->counts_capacity, sizeof *r->counts, members, RLT_MAX_MEMBERS, "members",
                      err);
    if (rc < 0)
        return rc;
    uint32_t found;
    if (listed) {
        rc = rlt__chakra_integers(n, RLT_CHAKRA_ATTR_COUNTS, r->counts, members, &found, err);
        if (rc == 0 && found != members)
            rc = node_error(n, RLT_ESCHEMA, err, "expected one ringlet_counts entry per member of the group");
    } else {
        for (uint32_t m = 0; m < members; m++)
            r->counts[m] = d->bytes / members + (m < d->bytes % members);
        rlt_build_note(r->t->builder, 1,
                       "all-to-all with a different size on each rank: each rank splits its buffer evenly");
    }
    d->send_counts = r->counts;
    return rc;
}

static int root_of(rank_reader *r, const rlt_chakra_node *n, rlt_op_desc *d, rlt_error *err)
{
    uint64_t root = UINT64_MAX;
    int rc = integer(n, RLT_CHAKRA_ATTR_ROOT_RANK, RLT_MAX_RANKS - 1, &root, err);
    if (rc < 0 || root == UINT64_MAX || r->t->opts->alone)
        return rc;
    d->root = rlt__group_member(r->t->builder, d->group, (uint32_t)root);
    return d->root == RLT_NONE
               ? node_error(n, RLT_ESCHEMA, err, "root_rank is not in the group of the collective")
               : 0;
}

static int fill_collective(rank_reader *r, const rlt_chakra_node *n, rlt_op_desc *d, rlt_error *err)
{
    rlt_chakra_trace *t = r->t;
    uint64_t type = 0;
    int rc = integer(n, RLT_CHAKRA_ATTR_COMM_TYPE, UINT32_MAX, &type, err);
    if (rc == 0)
        rc = integer(n, RLT_CHAKRA_ATTR_COMM_SIZE, INT64_MAX, &d->bytes, err);
    if (rc < 0)
        return rc;
    if (type >= sizeof collective_kinds / sizeof *collective_kinds || !collective_kinds[type].known)
        return node_error(n, RLT_EUNSUPPORTED, err, "a comm_type that is not in the schema");
    d->coll = collective_kinds[type].kind;
    if (!rlt__chakra_has(n, RLT_CHAKRA_ATTR_COMM_SIZE) && d->coll != RLT_BARRIER)
        rlt_build_note(t->builder, 1, "collective without comm_size moves 0 bytes");
    if (t->n_ranks == 1 && !t->opts->alone)
        rlt_build_note(
            t->builder, 1,
            "collective of a single rank: moves nothing; pass the files of all ranks, or use --trace-ranks "
            "and --replicate");
    uint32_t name = rlt__chakra_group_name(t, n, err);
    if (name == RLT_NONE)
        return err && err->code ? err->code : RLT_ENOMEM;
    rc = rlt__chakra_resolve(t, r->rank, n, name, &d->group, err);
    if (rc < 0 || d->group == RLT_NONE)
        return rc; /* the builder has failed and has the error */
    const uint32_t *first = t->builder->store->group_first + d->group;
    uint32_t members = first[1] - first[0], k = rlt__chakra_count(t, name);
    rc = root_of(r, n, d, err);
    if (rc == 0 && (d->coll == RLT_ALL_GATHER || d->coll == RLT_GATHER || d->coll == RLT_SCATTER)) {
        if (d->bytes > INT64_MAX / members)
            return node_error(n, RLT_ERANGE, err, "the shares sum to more than 2^63 bytes");
        d->bytes *= members;
    }
    if (rc == 0)
        rc = integer(n, RLT_CHAKRA_ATTR_BYTES, INT64_MAX, &d->bytes, err);
    uint32_t exchange = rlt_map_get(&t->exchange_at, (uint64_t)name << 32 | k);
    if (rc == 0 && d->coll == RLT_ALL_TO_ALL)
        rc = fill_counts(r, n, exchange != RLT_NONE && t->exchanges[exchange].differs, members, d, err);
    return rc;
}

static int fill_message(rank_reader *r, const rlt_chakra_node *n, rlt_op_desc *d, rlt_error *err)
{
    bool sends = n->type == RLT_CHAKRA_SEND;
    rlt_chakra_attr side = sends ? RLT_CHAKRA_ATTR_COMM_DST : RLT_CHAKRA_ATTR_COMM_SRC;
    uint64_t peer = UINT64_MAX, tag = 0;
    int rc = integer(n, side, UINT32_MAX - 1, &peer, err);
    if (rc == 0)
        rc = integer(n, RLT_CHAKRA_ATTR_COMM_TAG, UINT64_MAX, &tag, err);
    if (rc == 0)
        rc = integer(n, RLT_CHAKRA_ATTR_COMM_SIZE, INT64_MAX, &d->bytes, err);
    if (rc == 0 && peer >= r->t->n_ranks)
        rc = node_error(n, RLT_ESCHEMA, err,
                        peer != UINT64_MAX ? "the other rank of the message is not in the trace"
                        : sends            ? "a send without comm_dst"
                                           : "a receive without comm_src");
    d->peer = (uint32_t)peer;
    d->tag = (uint32_t)tag;
    return rc;
}

static int fill_work(rank_reader *r, const rlt_chakra_node *n, rlt_op_desc *d, rlt_error *err)
{
    bool memory = n->type == RLT_CHAKRA_MEM_LOAD || n->type == RLT_CHAKRA_MEM_STORE ||
                  name_begins(n, "Memcpy") || name_begins(n, "Memset");
    uint64_t kind = n->type == RLT_CHAKRA_COLL || is_host(n) ? RLT_OP_HOST
                    : memory                                 ? RLT_OP_MEMORY
                                                             : RLT_OP_COMPUTE;
    int rc = integer(n, RLT_CHAKRA_ATTR_KIND, RLT_OP_DELAY, &kind, err);
    if (rc == 0)
        rc = duration_of(n, &d->duration_ps, err);
    d->kind = (rlt_op_kind)kind;
    if (rc == 0 && kind != RLT_OP_HOST && kind != RLT_OP_DELAY)
        rc = estimate(r, n, d, err);
    d->resource = work_resource(r, n, d->kind);
    return rc;
}

static int fill_communication(rank_reader *r, const rlt_chakra_node *n, rlt_op_desc *d, rlt_error *err)
{
    rlt_time recorded;
    int rc = duration_of(n, &recorded, err);
    if (rc < 0)
        return rc;
    bool has = n->has_duration && recorded > 0;
    if (rlt__chakra_has(n, RLT_CHAKRA_ATTR_DURATION)) { /* from our writer: a communication of known time */
        d->timed = true;
        d->duration_ps = recorded;
        has = has && d->recorded_duration_ps > 0;
    }
    if (has && d->recorded_duration_ps < 0) /* our writer gives it exactly */
        d->recorded_duration_ps = recorded;
    d->resource = comm_resource(r, n);
    if (r->t->opts->keep_waits && has) {
        d->kind = RLT_OP_DELAY;
        d->duration_ps = d->recorded_duration_ps;
        return 0;
    }
    if (r->t->opts->alone && n->type != RLT_CHAKRA_COLL) {
        rlt_build_note(r->t->builder, 1, "message to or from another rank: left out");
        d->duration_ps = 0;
        d->timed = false;
        return 0;
    }
    d->kind = n->type == RLT_CHAKRA_SEND   ? RLT_OP_SEND
              : n->type == RLT_CHAKRA_RECV ? RLT_OP_RECV
                                           : RLT_OP_COLLECTIVE;
    return d->kind == RLT_OP_COLLECTIVE ? fill_collective(r, n, d, err) : fill_message(r, n, d, err);
}

/* Fills recorded values: the start relative to the earliest start of all files, and exact values of our
 * writer. */
static int fill_recorded(const rank_reader *r, const rlt_chakra_node *n, rlt_op_desc *d, rlt_error *err)
{
    uint64_t start = UINT64_MAX, duration = UINT64_MAX, step = 0, purpose = RLT_FOR_UNKNOWN;
    if (n->has_start && n->start_us >= r->t->first_start_us &&
        n->start_us - r->t->first_start_us <= (uint64_t)(RLT_TIME_MAX / RLT_US))
        start = (n->start_us - r->t->first_start_us) * (uint64_t)RLT_US;
    int rc = integer(n, RLT_CHAKRA_ATTR_RECORDED, (uint64_t)RLT_TIME_MAX, &start, err);
    if (rc == 0)
        rc = integer(n, RLT_CHAKRA_ATTR_RECORDED_DURATION, (uint64_t)RLT_TIME_MAX, &duration, err);
    if (rc == 0)
        rc = integer(n, RLT_CHAKRA_ATTR_STEP, UINT16_MAX, &step, err);
    if (rc == 0)
        rc = integer(n, RLT_CHAKRA_ATTR_PURPOSE, RLT_PURPOSES - 1, &purpose, err);
    d->recorded_ps = start == UINT64_MAX ? -1 : (rlt_time)start;
    if (duration != UINT64_MAX)
        d->recorded_duration_ps = (rlt_time)duration;
    d->step = (uint16_t)step;
    d->purpose = (rlt_purpose)purpose;
    return rc;
}

static bool in_steps(const rlt_read_options *o, rlt_op_desc *d)
{
    if ((o->first_step > 0 && d->step < o->first_step) || (o->last_step >= 0 && d->step > o->last_step))
        return false;
    if (o->first_step > 0)
        d->step = (uint16_t)(d->step - o->first_step);
    return true;
}

static int describe(rank_reader *r, const rlt_chakra_node *n, rlt_op_desc *d, rlt_error *err)
{
    switch (n->type) {
    case RLT_CHAKRA_COMP:
    case RLT_CHAKRA_MEM_LOAD:
    case RLT_CHAKRA_MEM_STORE:
        return fill_work(r, n, d, err);
    case RLT_CHAKRA_COLL:
        return rlt__chakra_is_collective(n) ? fill_communication(r, n, d, err) : fill_work(r, n, d, err);
    case RLT_CHAKRA_SEND:
    case RLT_CHAKRA_RECV:
        return fill_communication(r, n, d, err);
    default: /* kept, because others may depend on each other through it */
        if (n->type != RLT_CHAKRA_METADATA)
            rlt_build_note(r->t->builder, 1, "node of unknown type %" PRIu32 ": takes no time", n->type);
        else
            rlt_build_note(r->t->builder, 1, "metadata node: takes no time");
        d->kind = RLT_OP_DELAY;
        return 0;
    }
}

static int add_deps(rank_reader *r, const rlt_chakra_node *n, uint32_t op, rlt_error *err)
{
    uint32_t first = r->from_pytorch ? n->n_ctrl : 0;
    if (first > 0)
        rlt_build_note(r->t->builder, first, "control dependency of a PyTorch trace (call tree): not used");
    for (uint32_t i = first; i < n->n_deps; i++) {
        int rc = rlt_grow(&r->deps, &r->deps_capacity, sizeof *r->deps, (uint64_t)r->n_deps + 1, RLT_NONE - 1,
                          "dependencies", err);
        if (rc < 0)
            return rc;
        r->deps[r->n_deps++] = (pending_dep){.op = op, .node = n->id, .on = n->deps[i]};
    }
    return 0;
}

static int read_node(rank_reader *r, const rlt_chakra_node *n, rlt_error *err)
{
    rlt_builder *b = r->t->builder;
    if (rlt_map_get(&r->ops, n->id) != RLT_NONE)
        return node_error(n, RLT_ESCHEMA, err, "another node has the same id");
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_DELAY, r->rank);
    int rc = fill_recorded(r, n, &d, err);
    if (d.step >= r->t->n_steps)
        r->t->n_steps = d.step + 1u;
    bool skipped = (n->type == RLT_CHAKRA_METADATA && n->n_deps == 0) || !in_steps(r->t->opts, &d);
    if (rc == 0 && !skipped) {
        if (n->name.at)
            d.name = rlt_build_string(b, (const char *)n->name.at, (size_t)(n->name.end - n->name.at));
        rc = describe(r, n, &d, err);
    }
    if (rc < 0)
        return rc;
    uint32_t op = skipped ? SKIPPED : rlt_build_op(b, &d);
    if (op == RLT_NONE)
        return RLT_EUSAGE; /* the builder has the error */
    if (rlt_map_put(&r->ops, n->id, op) < 0)
        return rlt_nomem(err);
    if (skipped)
        return 0;
    if (r->from_pytorch && d.kind == RLT_OP_COLLECTIVE)
        rlt_build_note(
            b, 1, "collective of a PyTorch trace: the format does not record which device work waits for it");
    return add_deps(r, n, op, err);
}

static int resolve_deps(rank_reader *r, const char *path, rlt_error *err)
{
    for (uint32_t i = 0; i < r->n_deps; i++) {
        const pending_dep *dep = &r->deps[i];
        uint32_t on = rlt_map_get(&r->ops, dep->on);
        if (on == RLT_NONE) {
            const rlt_program_store *s = r->t->builder->store;
            char where[160];
            snprintf(where, sizeof where, "node %" PRIu64 " '%.80s'", dep->node,
                     rlt_interned(&s->strings, s->ops[dep->op].name));
            int rc = rlt_fail(err, RLT_ESCHEMA, where,
                              "depends on node %" PRIu64 ", which is not in the file", dep->on);
            rlt_error_prefix(err, path);
            return rc;
        }
        if (on != SKIPPED)
            rlt_build_dep(r->t->builder, dep->op, on);
    }
    return 0;
}

static int read_metadata(rank_reader *r, const rlt_chakra_node *n, rlt_error *err)
{
    uint64_t start = UINT64_MAX, recorded = UINT64_MAX;
    r->from_pytorch = rlt__chakra_has(n, RLT_CHAKRA_ATTR_PID);
    int rc = integer(n, RLT_CHAKRA_ATTR_RANK_START, (uint64_t)RLT_TIME_MAX, &start, err);
    if (rc == 0)
        rc = integer(n, RLT_CHAKRA_ATTR_RANK_RECORDED, (uint64_t)RLT_TIME_MAX, &recorded, err);
    if (rc == 0 && start != UINT64_MAX)
        rlt_build_rank_start(r->t->builder, r->rank, (rlt_time)start);
    if (rc == 0 && recorded != UINT64_MAX)
        rlt_build_rank_recorded(r->t->builder, r->rank, (rlt_time)recorded);
    return rc;
}

static int read_rank(rlt_chakra_trace *t, uint32_t rank, rlt_chakra_node *node, rlt_error *err)
{
    rank_reader r = {.t = t, .rank = rank};
    rlt_chakra_file f;
    const char *path = t->rank_path[rank];
    int rc = rlt__chakra_open(path, &f, node, err);
    if (rc < 0)
        return rc;
    memset(t->issued, 0, t->issued_capacity * sizeof *t->issued);
    rc = read_metadata(&r, node, err);
    while (rc == 0 && (rc = rlt__chakra_next(&f, node, err)) > 0) {
        rc = read_node(&r, node, err);
        if (rc < 0 && !rlt_build_failed(t->builder))
            rlt_error_prefix(err, path);
    }
    if (rc == 0)
        rc = resolve_deps(&r, path, err);
    rlt__chakra_close(&f);
    rlt_map_free(&r.ops);
    free(r.deps);
    free(r.counts);
    return rc;
}

/* Returns the rank whose recording replaces a missing rank. */
static uint32_t stand_in(const rlt_read_options *o, uint32_t rank)
{
    uint32_t any = RLT_NONE;
    for (uint32_t i = 0; i < o->n_replicate; i++) {
        if (o->replicate[i].rank == rank)
            return o->replicate[i].from;
        if (o->replicate[i].rank == RLT_NONE)
            any = o->replicate[i].from;
    }
    return any;
}

static uint32_t rank_of(const rlt_read_options *o, const char *path, uint32_t i, uint32_t n)
{
    uint32_t rank = o->alone ? 0 : rlt_rank_in_name(path);
    return rank != RLT_NONE ? rank : n == 1 ? 0 : i;
}

/* Finds the number of ranks: what the options say, else what the first of several files declares, if it is
 * ringlet's own, else from the names of the files. A single file is a rank by itself. */
static int count_ranks(const rlt_read_options *o, const char *const *paths, uint32_t n, uint32_t *ranks,
                       rlt_error *err)
{
    uint32_t last = 0;
    uint64_t declared = 0;
    rlt_chakra_file f;
    rlt_chakra_node node = {0};
    for (uint32_t i = 0; i < n; i++)
        last = rank_of(o, paths[i], i, n) > last ? rank_of(o, paths[i], i, n) : last;
    *ranks = o->n_ranks ? o->n_ranks : last + 1;
    if (!o->n_ranks && n > 1) {
        int rc = rlt__chakra_open(paths[0], &f, &node, err);
        if (rc < 0)
            return rc;
        rc = integer(&node, RLT_CHAKRA_ATTR_RANKS, RLT_MAX_RANKS, &declared, err);
        rlt__chakra_close(&f);
        free(node.deps);
        if (rc < 0) {
            rlt_error_prefix(err, paths[0]);
            return rc;
        }
        *ranks = declared > *ranks ? (uint32_t)declared : *ranks;
    }
    if (last >= *ranks || *ranks > RLT_MAX_RANKS)
        return rlt_fail(err, RLT_ERANGE, paths[n - 1],
                        "is rank %" PRIu32 ", but the trace has only %" PRIu32 " ranks", last, *ranks);
    return 0;
}

/* Returns the first rank without a file, by the names of the files, which are in the order of ranks. */
static uint32_t first_missing(const rlt_read_options *o, const char *const *paths, uint32_t n)
{
    uint32_t i = 0;
    while (i < n && rank_of(o, paths[i], i, n) == i)
        i++;
    return i;
}

/* Assigns a file to each rank. Every rank needs one, or a replacement. */
static int assign_files(rlt_chakra_trace *t, const char *const *paths, uint32_t n, rlt_error *err)
{
    int rc = count_ranks(t->opts, paths, n, &t->n_ranks, err);
    if (rc < 0)
        return rc;
    if (t->n_ranks > n && t->opts->n_replicate == 0)
        return rlt_fail(err, RLT_ESCHEMA, paths[0],
                        "the trace has %" PRIu32 " file%s for %" PRIu32
                        " ranks; --replicate RANK=FROM replaces a missing rank by the recording of another "
                        "(the first without a file: rank %" PRIu32 ")",
                        n, n == 1 ? "" : "s", t->n_ranks, first_missing(t->opts, paths, n));
    t->rank_path = calloc(t->n_ranks, sizeof *t->rank_path);
    if (!t->rank_path)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t rank = rank_of(t->opts, paths[i], i, n);
        if (t->rank_path[rank])
            return rlt_fail(err, RLT_ESCHEMA, paths[i],
                            "is rank %" PRIu32 ", the same as %.200s: expected one file per rank", rank,
                            t->rank_path[rank]);
        t->rank_path[rank] = paths[i];
    }
    for (uint32_t r = 0; r < t->n_ranks; r++) {
        uint32_t from = t->rank_path[r] ? r : stand_in(t->opts, r);
        if (from >= t->n_ranks || !t->rank_path[from])
            return rlt_fail(err, RLT_ESCHEMA, paths[0],
                            "there is no file for rank %" PRIu32 ", and no recording replaces it", r);
        t->rank_path[r] = t->rank_path[from];
    }
    return 0;
}

static int read_chakra(const char *const *paths, uint32_t n, const rlt_read_options *opts, rlt_program **out,
                       rlt_error *err)
{
    rlt_error own = {0}; /* kept apart: the builder's error takes precedence */
    const char *path = NULL;
    rlt_chakra_trace t = {.opts = opts};
    rlt_chakra_node node = {0};
    *out = NULL;
    int rc = n ? assign_files(&t, paths, n, &own) : rlt_fail(&own, RLT_EUSAGE, NULL, "no trace files");
    if (rc == 0)
        rc = rlt_builder_create(t.n_ranks, &t.builder, &own);
    if (rc == 0)
        rc = rlt__chakra_scan(&t, &own);
    for (uint32_t r = 0; r < t.n_ranks && rc == 0; r++) {
        rc = read_rank(&t, r, &node, &own);
        if (!path && rlt_build_failed(t.builder))
            path = t.rank_path[r];
    }
    if (rc == 0 && opts->last_step >= 0 && (uint32_t)opts->last_step >= t.n_steps)
        rc = rlt_fail(
            &own, RLT_ERANGE, paths[0], "expected steps within the recorded 0:%" PRIu32 ", got %d:%d",
            t.n_steps ? t.n_steps - 1 : 0, opts->first_step < 0 ? 0 : opts->first_step, opts->last_step);
    if (t.builder) {
        if (rc < 0 && own.code == 0)
            (void)rlt_fail(&own, rc, NULL, "%s", rlt_strerror(rc));
        rlt_build_fail(t.builder, &own);
        rc = rlt_builder_finish(t.builder, "chakra", out, err);
        if (rc < 0 && path && err && !err->where[0])
            rlt_error_prefix(err, path);
    } else if (err && err->code == 0) {
        *err = own;
    }
    rlt__chakra_groups_free(&t);
    free(node.deps);
    free(t.rank_path);
    return rc;
}

static int check_chakra(const char *const *paths, uint32_t n, const rlt_read_options *opts, char **text,
                        rlt_error *err)
{
    enum { SIZE = 400 };
    uint32_t ranks;
    *text = NULL;
    int rc = count_ranks(opts, paths, n, &ranks, err);
    if (rc < 0)
        return rc;
    *text = malloc(SIZE);
    if (!*text)
        return rlt_nomem(err);
    if (ranks <= n)
        snprintf(*text, SIZE, "ok: ranks: %" PRIu32 " of %" PRIu32 " present\n", ranks, ranks);
    else
        snprintf(*text, SIZE,
                 "lacks: ranks: %" PRIu32 " of %" PRIu32 " have no file (first: rank %" PRIu32
                 "); add it, or use another rank's: --replicate %" PRIu32 "=%" PRIu32 "\n",
                 ranks - n, ranks, first_missing(opts, paths, n), first_missing(opts, paths, n),
                 rank_of(opts, paths[0], 0, n));
    return 0;
}

const rlt_reader rlt_reader_chakra = {
    .name = "chakra",
    .summary = "Chakra execution traces (.et, also gzip), one file per rank",
    .probe = rlt__chakra_probe,
    .read = read_chakra,
    .check = check_chakra,
};
