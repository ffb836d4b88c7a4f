/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads GOAL, the text of LogGOPSim (Hoefler, Schneider, Lumsdaine, "LogGOPSim", LSAP 2010). One file has all
 * ranks. A calc is compute on its CPU. Sends and receives need no CPU: only the network times them
 * (workload/timing/loggops.h has LogGOPSim's own costs). `a irequires b` adds an operation without duration
 * before b, on b's CPU, and a waits for it.
 */
#include "workload/readers/goal.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/file.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

#define MAX_FILE_BYTES ((size_t)1 << 31)
enum { PS_PER_NS = 1000 };

void rlt__goal_free(rlt_goal *g)
{
    free(g->ops);
    free(g->edges);
    *g = (rlt_goal){0};
}

int rlt__goal_load(const char *path, rlt_goal *out, uint64_t *hash, rlt_error *err)
{
    char *text = NULL;
    size_t length = 0;
    bool described;
    *out = (rlt_goal){.file = path, .computes = true};
    int rc = rlt_read_file(path, MAX_FILE_BYTES, &text, &length, err);
    if (!rc && hash)
        *hash = rlt_hash_bytes(text, length, 0);
    if (!rc)
        rc = rlt_goal_scan(out, text, length, &described, err);
    if (!rc)
        rc = rlt_goal_match(out, err);
    free(text);
    return rc;
}

/* Returns the resource of a rank's CPU. */
static uint32_t cpu_of(rlt_builder *b, rlt_map *cpus, const rlt_goal_op *o)
{
    uint64_t key = (uint64_t)o->rank << 16 | o->cpu;
    uint32_t at = rlt_map_get(cpus, key);
    if (at == RLT_NONE) {
        char name[16];
        snprintf(name, sizeof name, "cpu %u", o->cpu);
        at = rlt_build_resource(b, o->rank, RLT_RES_STREAM, name);
        rlt_error err = {0};
        if (at != RLT_NONE && rlt_map_put(cpus, key, at)) {
            (void)rlt_nomem(&err);
            rlt_build_fail(b, &err);
        }
    }
    return at;
}

static uint32_t build_op(rlt_builder *b, rlt_map *cpus, const rlt_goal_op *o)
{
    rlt_op_desc d = rlt_op_desc_init(RLT_OP_COMPUTE, o->rank);
    char name[] = "line 4294967295", *digit = name + sizeof name - 1;
    for (uint32_t line = o->line; line || !*digit; line /= 10)
        *--digit = (char)('0' + line % 10);
    digit = memcpy(digit - 5, "line ", 5);
    d.name = rlt_build_string(b, digit, (size_t)(name + sizeof name - 1 - digit));
    if (o->type == RLT_GOAL_NOP) {
        d.resource = cpu_of(b, cpus, o);
        d.duration_ps = (rlt_time)o->bytes * PS_PER_NS;
    } else {
        d.kind = o->type == RLT_GOAL_SEND ? RLT_OP_SEND : RLT_OP_RECV;
        d.peer = o->peer;
        d.tag = o->tag;
        d.bytes = o->bytes;
    }
    return rlt_build_op(b, &d);
}

static int build(rlt_goal *g, rlt_builder *b, rlt_error *err)
{
    rlt_map cpus = {0};
    int rc = rlt_goal_beginnings(g, err);
    uint32_t *ops = rc ? NULL : malloc(((size_t)g->n_ops + 1) * sizeof *ops);
    if (!rc && !ops)
        rc = rlt_nomem(err);
    for (uint32_t i = 0; !rc && i < g->n_ops && !rlt_build_failed(b); i++)
        ops[i] = build_op(b, &cpus, &g->ops[i]);
    for (uint32_t i = 0; !rc && i < g->n_edges && !rlt_build_failed(b); i++)
        rlt_build_dep(b, ops[g->edges[i].op], ops[g->edges[i].needs]);
    rlt_map_free(&cpus);
    free(ops);
    return rc;
}

static int check_use(const char *const *paths, uint32_t n, const rlt_goal *g, const rlt_read_options *opts,
                     rlt_error *err)
{
    if (n != 1)
        return rlt_fail(err, RLT_EUSAGE, paths[1],
                        "a GOAL file has all ranks: expected one file, got %" PRIu32, n);
    if (opts->n_ranks && opts->n_ranks != g->ranks)
        return rlt_fail(err, RLT_ESCHEMA, paths[0], "has %" PRIu32 " ranks, not %" PRIu32, g->ranks,
                        opts->n_ranks);
    if (opts->last_step > 0)
        return rlt_fail(err, RLT_ERANGE, paths[0], "expected steps within the recorded 0:0, got %d:%d",
                        opts->first_step < 0 ? 0 : opts->first_step, opts->last_step);
    return 0;
}

static int read_goal(const char *const *paths, uint32_t n, const rlt_read_options *opts, rlt_program **out,
                     rlt_error *err)
{
    rlt_goal g = {0};
    rlt_builder *b = NULL;
    uint64_t hash = 0;
    *out = NULL;
    if (n == 0)
        return rlt_fail(err, RLT_EUSAGE, NULL, "no trace files");
    int rc = rlt__goal_load(paths[0], &g, &hash, err);
    if (rc || (rc = check_use(paths, n, &g, opts, err)) || (rc = rlt_builder_create(g.ranks, &b, err)))
        goto out;
    rc = build(&g, b, err);
    if (rc) {
        rlt_builder_free(b);
        goto out;
    }
    rlt_build_hash(b, hash);
    rlt_error own = {0};
    rc = rlt_builder_finish(b, "goal", out, &own);
    if (rc) {
        rlt_error_prefix(&own, paths[0]);
        if (err && !err->code)
            *err = own;
    }
out:
    rlt__goal_free(&g);
    return rc;
}

/* Skips blanks and comments. */
static size_t skip(const char *head, size_t n)
{
    size_t i = 0;
    for (;;) {
        while (i < n && (head[i] == ' ' || head[i] == '\t' || head[i] == '\r' || head[i] == '\n'))
            i++;
        if (i + 1 >= n || head[i] != '/' || (head[i + 1] != '*' && head[i + 1] != '/'))
            return i;
        bool block = head[i + 1] == '*';
        i += 2;
        if (block) {
            while (i + 1 < n && !(head[i] == '*' && head[i + 1] == '/'))
                i++;
            i = i + 2 < n ? i + 2 : n;
        } else {
            while (i < n && head[i] != '\n')
                i++;
        }
    }
}

static int probe(const char *path, const char *head, size_t n)
{
    static const char word[] = "num_ranks";
    size_t at = skip(head, n), length = sizeof word - 1;
    (void)path;
    return n - at > length && memcmp(head + at, word, length) == 0 && strchr(" \t\r\n", head[at + length])
               ? 95
               : 0;
}

const rlt_reader rlt_reader_goal = {
    .name = "goal",
    .summary = "GOAL, LogGOPSim's text of messages and calculations, one file for all ranks",
    .probe = probe,
    .read = read_goal,
    .check = NULL,
};
