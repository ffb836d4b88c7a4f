/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Matches communication across ranks. The k-th collective of each member of a group is one collective; the
 * k-th send of a (source, destination, tag) meets the k-th receive. Refuses collectives whose members
 * disagree, naming both sides.
 */
#include <inttypes.h>
#include <stddef.h>
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

/* Largest number of count table entries in one program: 2 GiB. */
#define MAX_COUNTS ((uint64_t)1 << 28)

enum { DIGIT_BITS = 11 };

typedef struct collectives {
    uint32_t *issued;        /* collectives issued by each member of each group, indexed as group_ranks */
    uint32_t *first_comm;    /* first communication of each group */
    uint32_t *first_comm_op; /* of each group */
    uint32_t n_groups, n_comms, n_comm_ops;
    uint32_t pair; /* group of the message matched last, or RLT_NONE */
    uint64_t n_counts;
} collectives;

typedef struct message {
    uint32_t source, destination, tag, op;
} message;

static uint32_t members(const rlt_builder *b, uint32_t group)
{
    return b->store->group_first[group + 1] - b->store->group_first[group];
}

/* Finds the member of each collective operation and counts the collectives that each member issues. */
static int count_collectives(rlt_builder *b, collectives *c, rlt_error *err)
{
    rlt_program_store *s = b->store;
    for (uint32_t i = 0; i < b->n_ops; i++) {
        rlt_op *op = &s->ops[i];
        if (op->kind != RLT_OP_COLLECTIVE)
            continue;
        uint32_t group = b->comms[op->comm].group;
        op->member = rlt__group_member(b, group, op->rank);
        if (op->member == RLT_NONE) {
            char where[200], text[160];
            rlt__op_place(b, i, where, sizeof where);
            rlt__group_text(b, group, text, sizeof text);
            return rlt_fail(err, RLT_ESCHEMA, where,
                            "a collective on %s, but rank %" PRIu32 " is not a member", text, op->rank);
        }
        c->issued[s->group_first[group] + op->member]++;
    }
    return 0;
}

/* Returns the k-th collective that a member issues on a group, for messages. */
static uint32_t find_issue(const rlt_builder *b, uint32_t group, uint32_t member, uint32_t k)
{
    for (uint32_t i = 0; i < b->n_ops; i++) {
        const rlt_op *op = &b->store->ops[i];
        if (op->kind == RLT_OP_COLLECTIVE && b->comms[op->comm].group == group && op->member == member &&
            k-- == 0)
            return i;
    }
    return RLT_NONE;
}

static int counts_differ(const rlt_builder *b, const collectives *c, uint32_t group, rlt_error *err)
{
    const uint32_t *issued = c->issued + b->store->group_first[group];
    const uint32_t *ranks = b->store->group_ranks + b->store->group_first[group];
    uint32_t least = 0, most = 0;
    for (uint32_t m = 1; m < members(b, group); m++) {
        least = issued[m] < issued[least] ? m : least;
        most = issued[m] > issued[most] ? m : most;
    }
    char where[200], text[160];
    uint32_t op = find_issue(b, group, most, issued[least]);
    rlt__op_place(b, op, where, sizeof where);
    rlt__group_text(b, group, text, sizeof text);
    return rlt_fail(err, RLT_ESCHEMA, where,
                    "has no partner: rank %" PRIu32 " issues %" PRIu32 " collectives on %s, rank %" PRIu32
                    " only %" PRIu32,
                    ranks[most], issued[most], text, ranks[least], issued[least]);
}

/* Checks that all members of a group issue equally many collectives. Lays out the matched collectives group
 * by group. */
static int lay_out(const rlt_builder *b, collectives *c, rlt_error *err)
{
    uint64_t comms = 0, comm_ops = 0;
    for (uint32_t g = 0; g < c->n_groups; g++) {
        uint32_t n = members(b, g), *issued = c->issued + b->store->group_first[g];
        for (uint32_t m = 1; m < n; m++)
            if (issued[m] != issued[0])
                return counts_differ(b, c, g, err);
        c->first_comm[g] = (uint32_t)comms;
        c->first_comm_op[g] = (uint32_t)comm_ops;
        comms += issued[0];
        /* cannot wrap: each entry is an operation, of which there are at most RLT_MAX_OPS */
        comm_ops += (uint64_t)issued[0] * n;
    }
    c->n_comms = (uint32_t)comms;
    c->n_comm_ops = (uint32_t)comm_ops;
    return 0;
}

static void place_collectives(rlt_builder *b, collectives *c)
{
    rlt_program_store *s = b->store;
    memset(c->issued, 0, b->n_group_ranks * sizeof *c->issued);
    for (uint32_t i = 0; i < b->n_ops; i++) {
        const rlt_op *op = &s->ops[i];
        if (op->kind != RLT_OP_COLLECTIVE)
            continue;
        uint32_t group = b->comms[op->comm].group, n = members(b, group);
        uint32_t k = c->issued[s->group_first[group] + op->member]++;
        rlt_comm *comm = &s->comms[c->first_comm[group] + k];
        comm->group = group;
        comm->sequence = k;
        comm->first_op = c->first_comm_op[group] + k * n;
        s->comm_ops[comm->first_op + op->member] = i;
    }
}

static int disagree(const rlt_builder *b, const rlt_comm *comm, uint32_t member, const char *mine,
                    const char *first, rlt_error *err)
{
    const rlt_program_store *s = b->store;
    uint32_t op = s->comm_ops[comm->first_op + member], op0 = s->comm_ops[comm->first_op];
    char where[200], text[160];
    rlt__op_place(b, op, where, sizeof where);
    rlt__group_text(b, comm->group, text, sizeof text);
    return rlt_fail(err, RLT_ESCHEMA, where,
                    "rank %" PRIu32 " issues %s as its collective %" PRIu32 " of %s, but rank %" PRIu32
                    " issues %s there ('%.80s')",
                    s->ops[op].rank, mine, comm->sequence, text, s->ops[op0].rank, first,
                    rlt_interned(&s->strings, s->ops[op0].name));
}

/* Assembles the members' rows into the count matrix; a member without a row sends equal shares. Sets bytes to
 * the largest send or receive buffer. */
static int assemble_counts(rlt_builder *b, collectives *c, rlt_comm *comm, rlt_error *err)
{
    rlt_program_store *s = b->store;
    uint32_t n = members(b, comm->group);
    c->n_counts += (uint64_t)n * n;
    if (c->n_counts > MAX_COUNTS)
        return rlt_fail(err, RLT_ERANGE, NULL,
                        "the all-to-alls with bytes per member need more than %" PRIu64 " counts",
                        MAX_COUNTS);
    uint64_t *matrix = rlt_arena_array(&s->arena, (size_t)n * n, sizeof *matrix);
    uint64_t *received = calloc(n, sizeof *received);
    int rc = matrix && received ? 0 : rlt_nomem(err);
    comm->bytes = 0;
    for (uint32_t m = 0; m < n && rc == 0; m++) {
        uint32_t op = s->comm_ops[comm->first_op + m];
        const rlt_build_comm *want = &b->comms[s->ops[op].comm];
        uint64_t sent = 0, share = want->bytes / n, rest = want->bytes % n;
        for (uint32_t j = 0; j < n && rc == 0; j++) {
            uint64_t bytes = want->counts ? want->counts[j] : share + (j < rest);
            matrix[(size_t)m * n + j] = bytes;
            if (bytes > INT64_MAX || sent + bytes > INT64_MAX || received[j] + bytes > INT64_MAX) {
                char where[200];
                rlt__op_place(b, op, where, sizeof where);
                rc = rlt_fail(err, RLT_ERANGE, where, "more than 2^63 bytes in one all-to-all");
                break;
            }
            sent += bytes;
            received[j] += bytes;
        }
        comm->bytes = sent > comm->bytes ? sent : comm->bytes;
    }
    for (uint32_t j = 0; j < n && rc == 0; j++)
        comm->bytes = received[j] > comm->bytes ? received[j] : comm->bytes;
    free(received);
    comm->counts = matrix;
    return rc;
}

/* Assembles a gather with unequal shares, one share per member. */
static int assemble_shares(rlt_builder *b, rlt_comm *comm, rlt_error *err)
{
    rlt_program_store *s = b->store;
    uint32_t n = members(b, comm->group);
    uint64_t *shares = rlt_arena_array(&s->arena, n, sizeof *shares);
    if (!shares)
        return rlt_nomem(err);
    comm->bytes = 0;
    for (uint32_t m = 0; m < n; m++) {
        shares[m] = b->comms[s->ops[s->comm_ops[comm->first_op + m]].comm].bytes / n;
        comm->bytes += shares[m]; /* n shares below 2^64 / n */
    }
    comm->counts = shares;
    return 0;
}

/* Checks that the members' requests agree. The collective takes the request of the first member. */
static int agree(rlt_builder *b, collectives *c, rlt_comm *comm, rlt_error *err)
{
    rlt_program_store *s = b->store;
    uint32_t n = members(b, comm->group);
    const uint32_t *ops = s->comm_ops + comm->first_op;
    const rlt_build_comm *first = &b->comms[s->ops[ops[0]].comm];
    bool counts = false, rooted = rlt_coll_rooted(first->kind);
    comm->kind = first->kind;
    comm->bytes = first->bytes;
    comm->timed = first->timed;
    comm->root = rooted ? first->root : 0;
    for (uint32_t m = 0; m < n; m++) {
        const rlt_build_comm *own = &b->comms[s->ops[ops[m]].comm];
        if (own->kind != first->kind)
            return disagree(b, comm, m, rlt_coll_name(own->kind), rlt_coll_name(first->kind), err);
        if (own->timed != first->timed)
            return disagree(b, comm, m, own->timed ? "one with a recorded time" : "one with bytes",
                            first->timed ? "one with a recorded time" : "one with bytes", err);
        if (rooted && own->root != first->root) {
            char mine[48], other[48];
            snprintf(mine, sizeof mine, "one with root %" PRIu32, own->root);
            snprintf(other, sizeof other, "one with root %" PRIu32, first->root);
            return disagree(b, comm, m, mine, other, err);
        }
        counts = counts || own->counts;
        comm->step = s->ops[ops[m]].step > comm->step ? s->ops[ops[m]].step : comm->step;
    }
    if (comm->kind == RLT_SCATTER) /* the root's request gives the bytes */
        comm->bytes = b->comms[s->ops[ops[comm->root]].comm].bytes;
    for (uint32_t m = 0; m < n && !counts && comm->kind != RLT_SCATTER; m++) {
        const rlt_build_comm *own = &b->comms[s->ops[ops[m]].comm];
        if (own->bytes != first->bytes && comm->kind == RLT_GATHER)
            return assemble_shares(b, comm, err);
        if (own->bytes != first->bytes) {
            char mine[64], other[64];
            snprintf(mine, sizeof mine, "%s of %" PRIu64 " bytes", rlt_coll_name(own->kind), own->bytes);
            snprintf(other, sizeof other, "%s of %" PRIu64 " bytes", rlt_coll_name(first->kind),
                     first->bytes);
            return disagree(b, comm, m, mine, other, err);
        }
    }
    return counts ? assemble_counts(b, c, comm, err) : 0;
}

static int match_collectives(rlt_builder *b, collectives *c, rlt_error *err)
{
    rlt_program_store *s = b->store;
    c->n_groups = b->n_groups;
    c->issued = calloc(b->n_group_ranks + (size_t)1, sizeof *c->issued);
    c->first_comm = calloc(b->n_groups + (size_t)1, sizeof *c->first_comm);
    c->first_comm_op = calloc(b->n_groups + (size_t)1, sizeof *c->first_comm_op);
    if (!c->issued || !c->first_comm || !c->first_comm_op)
        return rlt_nomem(err);
    int rc = count_collectives(b, c, err);
    if (rc == 0)
        rc = lay_out(b, c, err);
    if (rc < 0)
        return rc;
    /* Leaves room for the messages: each takes two of the remaining requests. */
    s->comms = calloc(b->n_comms + (size_t)1, sizeof *s->comms);
    s->comm_ops = calloc(b->n_comms + (size_t)1, sizeof *s->comm_ops);
    if (!s->comms || !s->comm_ops)
        return rlt_nomem(err);
    place_collectives(b, c);
    for (uint32_t i = 0; i < c->n_comms; i++) {
        rc = agree(b, c, &s->comms[i], err);
        if (rc < 0)
            return rc;
    }
    for (uint32_t i = 0; i < c->n_comms; i++)
        for (uint32_t m = 0; m < members(b, s->comms[i].group); m++)
            s->ops[s->comm_ops[s->comms[i].first_op + m]].comm = i;
    return 0;
}

/* Compares by (source, destination, tag). */
static int order_key(const message *x, const message *y)
{
    if (x->source != y->source)
        return x->source < y->source ? -1 : 1;
    if (x->destination != y->destination)
        return x->destination < y->destination ? -1 : 1;
    return x->tag == y->tag ? 0 : x->tag < y->tag ? -1 : 1;
}

static inline uint32_t key_at(const message *m, size_t offset)
{
    return *(const uint32_t *)(const void *)((const char *)m + offset);
}

/* Sorts by one digit of the key at `offset`; keeps the order of equal digits. */
static void sort_by_digit(const message *from, message *to, uint32_t n, size_t offset, unsigned shift)
{
    uint32_t first[1 << DIGIT_BITS] = {0}, digits = sizeof first / sizeof *first;
    for (uint32_t i = 0; i < n; i++)
        first[key_at(&from[i], offset) >> shift & (digits - 1)]++;
    for (uint32_t d = 0, sum = 0; d < digits; d++) {
        uint32_t count = first[d];
        first[d] = sum;
        sum += count;
    }
    for (uint32_t i = 0; i < n; i++)
        to[first[key_at(&from[i], offset) >> shift & (digits - 1)]++] = from[i];
}

/* Sorts messages, which are in the order of their operations, by (source, destination, tag). `room` has room
 * for them. Digits that all messages have in common cost nothing. */
static void sort_messages(message *all, message *room, uint32_t n)
{
    message *m = all;
    static const size_t keys[] = {offsetof(message, tag), offsetof(message, destination),
                                  offsetof(message, source)};
    for (size_t k = 0; k < sizeof keys / sizeof *keys; k++) {
        uint32_t differ = 0;
        for (uint32_t i = 1; i < n; i++)
            differ |= key_at(&m[i], keys[k]) ^ key_at(&m[0], keys[k]);
        for (unsigned shift = 0; shift < 32; shift += DIGIT_BITS) {
            if (!(differ >> shift & ((1u << DIGIT_BITS) - 1)))
                continue;
            sort_by_digit(m, room, n, keys[k], shift);
            message *sorted = room;
            room = m;
            m = sorted;
        }
    }
    if (m != all)
        memcpy(all, m, n * sizeof *all);
}

static int join(rlt_builder *b, collectives *c, const message *send, const message *receive, uint32_t k,
                rlt_error *err)
{
    rlt_program_store *s = b->store;
    const rlt_build_comm *out = &b->comms[s->ops[send->op].comm], *in = &b->comms[s->ops[receive->op].comm];
    if (out->bytes != in->bytes) {
        char where[200];
        rlt__op_place(b, receive->op, where, sizeof where);
        return rlt_fail(err, RLT_ESCHEMA, where,
                        "receives %" PRIu64 " bytes, but rank %" PRIu32 " sends %" PRIu64 " ('%.80s')",
                        in->bytes, send->source, out->bytes,
                        rlt_interned(&s->strings, s->ops[send->op].name));
    }
    if (out->timed != in->timed) {
        char where[200];
        rlt__op_place(b, receive->op, where, sizeof where);
        return rlt_fail(
            err, RLT_ESCHEMA, where,
            "rank %" PRIu32 " records the time of the message, but rank %" PRIu32 " only the bytes",
            out->timed ? send->source : send->destination, out->timed ? send->destination : send->source);
    }
    uint32_t ranks[2] = {send->source, send->destination};
    uint32_t group = c->pair;
    if (group == RLT_NONE || memcmp(s->group_ranks + s->group_first[group], ranks, sizeof ranks) != 0)
        group = c->pair = rlt_build_group(b, "", ranks, 2);
    if (group == RLT_NONE)
        return b->error.code;
    uint32_t comm = c->n_comms++, first = c->n_comm_ops;
    c->n_comm_ops += 2;
    s->comms[comm] = (rlt_comm){.kind = RLT_SEND_RECV,
                                .group = group,
                                .sequence = k,
                                .first_op = first,
                                .step = s->ops[send->op].step,
                                .bytes = out->bytes,
                                .timed = out->timed};
    uint32_t ops[2] = {send->op, receive->op};
    for (uint32_t m = 0; m < 2; m++) {
        s->comm_ops[first + m] = ops[m];
        s->ops[ops[m]].comm = comm;
        s->ops[ops[m]].member = m;
    }
    return 0;
}

static void leave_unmatched(rlt_builder *b, const message *m, bool is_send)
{
    rlt_op *op = &b->store->ops[m->op];
    op->comm = RLT_NONE;
    rlt_build_note(b, 1,
                   is_send
                       ? "send from rank %" PRIu32 " to rank %" PRIu32 " with tag %" PRIu32 " has no receive"
                       : "receive from rank %" PRIu32 " at rank %" PRIu32 " with tag %" PRIu32 " has no send",
                   m->source, m->destination, m->tag);
}

/* Joins sends and receives, both sorted. */
static int merge_messages(rlt_builder *b, collectives *c, const message *sends, uint32_t n_sends,
                          const message *receives, uint32_t n_receives, rlt_error *err)
{
    uint32_t i = 0, j = 0, k = 0;
    while (i < n_sends || j < n_receives) {
        int order = i == n_sends ? 1 : j == n_receives ? -1 : order_key(&sends[i], &receives[j]);
        if (order != 0) {
            leave_unmatched(b, order < 0 ? &sends[i] : &receives[j], order < 0);
            i += order < 0;
            j += order > 0;
            k = 0;
            continue;
        }
        k = i > 0 && order_key(&sends[i - 1], &sends[i]) == 0 ? k : 0;
        int rc = join(b, c, &sends[i++], &receives[j++], k++, err);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int match_messages(rlt_builder *b, collectives *c, rlt_error *err)
{
    const rlt_program_store *s = b->store;
    uint32_t n[2] = {0, 0};
    for (uint32_t i = 0; i < b->n_ops; i++)
        if (s->ops[i].kind >= RLT_OP_SEND)
            n[s->ops[i].kind == RLT_OP_RECV]++;
    uint32_t most = n[0] > n[1] ? n[0] : n[1];
    message *all = malloc(((size_t)n[0] + n[1] + most + 1) * sizeof *all);
    if (!all)
        return rlt_nomem(err);
    message *next[2] = {all, all + n[0]};
    for (uint32_t i = 0; i < b->n_ops; i++) {
        const rlt_op *op = &s->ops[i];
        if (op->kind < RLT_OP_SEND)
            continue;
        const rlt_build_comm *d = &b->comms[op->comm];
        if (op->kind == RLT_OP_SEND)
            *next[0]++ = (message){.source = op->rank, .destination = d->peer, .tag = d->tag, .op = i};
        else
            *next[1]++ = (message){.source = d->peer, .destination = op->rank, .tag = d->tag, .op = i};
    }
    sort_messages(all, all + n[0] + n[1], n[0]);
    sort_messages(all + n[0], all + n[0] + n[1], n[1]);
    int rc = merge_messages(b, c, all, n[0], all + n[0], n[1], err);
    free(all);
    return rc;
}

int rlt__match(rlt_builder *b, rlt_error *err)
{
    collectives c = {.pair = RLT_NONE};
    int rc = match_collectives(b, &c, err);
    if (rc == 0)
        rc = match_messages(b, &c, err);
    b->store->program.n_comms = c.n_comms;
    b->store->program.n_comm_ops = c.n_comm_ops;
    free(c.issued);
    free(c.first_comm);
    free(c.first_comm_op);
    return rc;
}
