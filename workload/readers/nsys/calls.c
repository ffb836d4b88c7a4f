/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * NVTX ranges of a recording: marks of steps, and NCCL's calls. NCCL attaches a payload to each of its
 * ranges; the database describes payloads as C structures, by domain and schema. A payload follows a header
 * of 32 bytes: domain, schema, size and total size, 8 bytes each. Fields have the names that NCCL gives them
 * (src/include/nvtx_payload_schemas.h). "Message size" counts the bytes of the call's count argument.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "workload/program/program.h"
#include "workload/readers/kineto/kineto.h"
#include "workload/readers/nsys/database.h"
#include "workload/readers/nsys/nsys.h"

enum { HEADER = 32, MAX_ENTRIES = 4096, MAX_CALLS = 1 << 26 };

/* Returns the field of a name; RLT_NSYS_FIELDS: none that is used. */
static rlt_nsys_field field_of(const char *name)
{
    static const struct {
        const char *name;
        rlt_nsys_field field;
    } fields[] = {{"NCCL communicator ID", RLT_NSYS_COMM},
                  {"Message size [bytes]", RLT_NSYS_BYTES},
                  {"Bytes", RLT_NSYS_BYTES},
                  {"Root", RLT_NSYS_ROOT},
                  {"Peer rank", RLT_NSYS_PEER},
                  {"No. of ranks", RLT_NSYS_N_RANKS},
                  {"Rank", RLT_NSYS_RANK}};
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (strcmp(name, fields[i].name) == 0)
            return fields[i].field;
    return RLT_NSYS_FIELDS;
}

/* domain, schema, offset, type, name */
static int take_entry(rlt_nsys_file *f, rlt_rows *r)
{
    /* Bytes of NVTX's entry types 1 to 22: char, short, int, long, long long, each signed and unsigned, int8
     * to uint64, float, double, long double, size. */
    static const uint8_t sizes[] = {0, 1, 1, 2, 2, 4, 4, 8, 8, 8, 8, 1, 1, 2, 2, 4, 4, 8, 8, 0, 0, 0, 8};
    int64_t offset = rlt__row_number(r, 2), type = rlt__row_number(r, 3);
    rlt_nsys_entry e = {.domain = (uint64_t)rlt__row_number(r, 0),
                        .schema = (uint64_t)rlt__row_number(r, 1),
                        .field = field_of(rlt__row_text(r, 4))};
    if (e.field == RLT_NSYS_FIELDS || type < 0 || type >= (int64_t)sizeof sizes || !sizes[type] ||
        offset < 0 || offset > 1 << 16 || f->n_entries == MAX_ENTRIES)
        return 0;
    e.offset = (uint32_t)offset;
    e.size = sizes[type];
    int rc = rlt_grow(&f->entries, &f->entries_capacity, sizeof *f->entries, (uint64_t)f->n_entries + 1,
                      MAX_ENTRIES, "fields of payloads", f->err);
    if (rc == 0)
        f->entries[f->n_entries++] = e;
    return rc;
}

static uint64_t little_endian(const unsigned char *p, uint32_t n)
{
    uint64_t v = 0;
    while (n-- > 0)
        v = v << 8 | p[n];
    return v;
}

/* Reads the payload's fields. `domain`: of the range. */
static void decode(const rlt_nsys_file *f, const unsigned char *p, uint32_t n, uint64_t domain,
                   rlt_nsys_call *c)
{
    if (n < HEADER)
        return;
    uint64_t own = little_endian(p, 8), schema = little_endian(p + 8, 8);
    for (uint32_t i = 0; i < f->n_entries; i++) {
        const rlt_nsys_entry *e = &f->entries[i];
        if (e->schema != schema || (e->domain != domain && e->domain != own) || e->size > n - HEADER ||
            e->offset > n - HEADER - e->size)
            continue;
        c->value[e->field] = little_endian(p + HEADER + e->offset, e->size);
        c->has |= 1u << e->field;
    }
}

static bool begins(const char *text, const char *with)
{
    return strncmp(text, with, strlen(with)) == 0;
}

static int add_step(rlt_nsys_file *f, rlt_kin_recording *k, rlt_rows *r, int64_t begin, int64_t duration)
{
    rlt_kin_step s = {
        .begin = begin, .end = begin + duration, .row = rlt__nsys_thread(k, rlt__row_number(r, 2))};
    return rlt__kin_keep_step(k, &s, f->err);
}

uint32_t rlt__nsys_communicator(rlt_kin_recording *k, uint64_t id)
{
    char name[32];
    int n = snprintf(name, sizeof name, "0x%llx", (unsigned long long)id);
    return rlt_intern(&k->strings, name, (size_t)n);
}

/* Adds the membership that a call of ncclCommInitRank and its like tells. */
static int add_member(rlt_nsys_file *f, rlt_kin_recording *k, const rlt_nsys_call *c)
{
    uint64_t n = c->value[RLT_NSYS_N_RANKS], rank = c->value[RLT_NSYS_RANK];
    if (n == 0 || n > RLT_MAX_RANKS || rank >= n)
        return 0;
    rlt_kin_group g = {.name = rlt__nsys_communicator(k, c->value[RLT_NSYS_COMM]),
                       .ranks = rlt_intern(&k->strings, "", 0),
                       .size = (uint32_t)n,
                       .own = (uint32_t)rank};
    if (g.name == RLT_NONE || g.ranks == RLT_NONE)
        return rlt_nomem(f->err);
    for (uint32_t i = 0; i < k->n_groups; i++)
        if (k->groups[i].name == g.name)
            return 0;
    return rlt__kin_keep_group(k, &g, f->err);
}

static int add_call(rlt_nsys_file *f, rlt_kin_recording *k, rlt_nsys_call *c, const char *name)
{
    uint32_t inits = 1u << RLT_NSYS_COMM | 1u << RLT_NSYS_N_RANKS | 1u << RLT_NSYS_RANK;
    if ((c->has & inits) == inits)
        return add_member(f, k, c);
    if (!(c->has & 1u << RLT_NSYS_BYTES) && strcmp(name, "GroupStart") != 0 && strcmp(name, "GroupEnd") != 0)
        return 0;
    c->recording = (uint32_t)(k - f->run->recordings);
    c->name = rlt_intern(&k->strings, name, strlen(name));
    if (c->name == RLT_NONE || c->row == RLT_NONE)
        return rlt_nomem(f->err);
    int rc = rlt_grow(&f->calls, &f->calls_capacity, sizeof *f->calls, (uint64_t)f->n_calls + 1, MAX_CALLS,
                      "NCCL calls", f->err);
    if (rc == 0)
        f->calls[f->n_calls++] = *c;
    return rc;
}

/* begin, end, thread, text, domain, payload */
static int take_range(rlt_nsys_file *f, rlt_rows *r)
{
    rlt_kin_recording *k = rlt__nsys_recording(f, rlt__row_number(r, 2));
    const char *name = rlt__row_text(r, 3);
    rlt_nsys_call c = {0};
    int64_t duration = 0;
    uint32_t n;
    bool step = begins(name, f->mark), nccl = begins(name, "nccl");
    int rc = k && (step || nccl) ? rlt__nsys_times(f, r, &c.begin, &duration) : 0;
    if (rc <= 0)
        return rc;
    if (step)
        return add_step(f, k, r, c.begin, duration);
    const unsigned char *payload = rlt__row_bytes(r, 5, &n);
    decode(f, payload, n, (uint64_t)rlt__row_number(r, 4), &c);
    c.end = c.begin + duration;
    c.row = rlt__nsys_thread(k, rlt__row_number(r, 2));
    return add_call(f, k, &c, name + 4);
}

int rlt__nsys_ranges(rlt_nsys_file *f)
{
    int rc = 0;
    f->table = "NVTX_PAYLOAD_SCHEMA_ENTRIES";
    if (rlt__database_has(f->db, f->table, "schemaId"))
        rc = rlt__nsys_each(f,
                            "SELECT domainId, schemaId, \"offset\", type, name FROM "
                            "NVTX_PAYLOAD_SCHEMA_ENTRIES",
                            take_entry);
    f->table = "NVTX_EVENTS";
    if (rc || !rlt__database_has(f->db, f->table, NULL))
        return rc;
    return rlt__nsys_each(
        f,
        rlt__database_has(f->db, f->table, "binaryData")
            ? "SELECT start, \"end\", globalTid, coalesce(text, value), domainId, binaryData "
              "FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId"
            : "SELECT start, \"end\", globalTid, coalesce(text, value), domainId, NULL "
              "FROM NVTX_EVENTS LEFT JOIN StringIds ON id = textId",
        take_range);
}
