/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * How to add a trace reader: a text of steps that all ranks do.
 *   #steps 4            the number of ranks
 *   compute 12.5us      each rank computes
 *   all_reduce 1MiB     all ranks communicate
 *   end
 */
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "workload/plugin/plugin.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

enum { MAX_STEPS_RANKS = 1024 };

static int steps_probe(const char *path, const char *head, size_t n)
{
    (void)path;
    return n >= 7 && memcmp(head, "#steps ", 7) == 0 ? 100 : 0;
}

typedef struct reading {
    const char *path;
    unsigned line, ranks;
    rlt_builder *builder;
    uint32_t group, streams[MAX_STEPS_RANKS];
    bool ended;
} reading;

static int bad(const reading *r, rlt_error *err, const char *expected, const char *got)
{
    char where[300];
    snprintf(where, sizeof where, "%.255s:%u", r->path, r->line);
    return rlt_fail(err, RLT_EMALFORMED, where, "expected %s, got '%.40s'", expected, got);
}

static int begin(reading *r, const char *line, rlt_error *err)
{
    uint32_t all[MAX_STEPS_RANKS];
    char rest;
    if (sscanf(line, "#steps %u%c", &r->ranks, &rest) != 1 || r->ranks < 2 || r->ranks > MAX_STEPS_RANKS)
        return bad(r, err, "'#steps ' and 2 to 1024 ranks", line);
    int rc = rlt_builder_create(r->ranks, &r->builder, err);
    if (rc)
        return rc;
    for (uint32_t i = 0; i < r->ranks; i++) {
        all[i] = i;
        r->streams[i] = rlt_build_resource(r->builder, i, RLT_RES_STREAM, "stream");
    }
    r->group = rlt_build_group(r->builder, "", all, r->ranks);
    return 0;
}

static int take(reading *r, const char *line, rlt_error *err)
{
    char word[16] = "", value[32] = "", rest;
    uint64_t bytes = 0;
    rlt_time time_ps = 0;
    int n = sscanf(line, "%15s %31s %c", word, value, &rest);
    bool compute = n == 2 && strcmp(word, "compute") == 0;
    r->ended = n == 1 && strcmp(word, "end") == 0;
    if (r->ended)
        return 0;
    if (!compute && !(n == 2 && strcmp(word, "all_reduce") == 0))
        return bad(r, err, "compute TIME, all_reduce SIZE or end", line);
    int rc = compute ? rlt_parse_duration(value, &time_ps, r->path, err)
                     : rlt_parse_size(value, &bytes, r->path, err);
    for (uint32_t i = 0; i < r->ranks && !rc; i++) {
        rlt_op_desc d = rlt_op_desc_init(compute ? RLT_OP_COMPUTE : RLT_OP_COLLECTIVE, i);
        d.resource = r->streams[i];
        d.duration_ps = time_ps;
        d.coll = RLT_ALL_REDUCE;
        d.bytes = bytes;
        d.group = compute ? RLT_NONE : r->group;
        rlt_build_op(r->builder, &d);
    }
    return rc;
}

static int steps_read(const char *const *paths, uint32_t n, const rlt_read_options *opts, rlt_program **out,
                      rlt_error *err)
{
    reading r = {.path = paths[0]};
    char line[128];
    int rc = 0;
    (void)opts;
    if (n != 1)
        return rlt_fail(err, RLT_ESCHEMA, paths[1], "expected one file for all ranks");
    FILE *f = fopen(paths[0], "r");
    if (!f)
        return rlt_fail(err, RLT_EIO, paths[0], "cannot be read");
    while (!rc && !r.ended && fgets(line, sizeof line, f)) {
        line[strcspn(line, "\r\n")] = '\0';
        rc = r.line++ == 0 ? begin(&r, line, err) : take(&r, line, err);
    }
    fclose(f);
    if (!rc && !r.ended)
        rc = bad(&r, err, "end", "the end of the file");
    if (!rc)
        return rlt_builder_finish(r.builder, "steps", out, err);
    rlt_builder_free(r.builder);
    return rc;
}

static const rlt_reader steps = {.name = "steps",
                                 .summary = "a text of steps that all ranks do",
                                 .probe = steps_probe,
                                 .read = steps_read};

static const char text[] = "#steps 4\ncompute 12.5us\nall_reduce 1MiB\ncompute 2us\nend\n";
static const rlt_plugin_sample samples[] = {{"sample.steps", text, sizeof text - 1}};
static const rlt_reader *const readers[] = {&steps, NULL};
RLT_PLUGIN = {.abi = RLT_PLUGIN_ABI,
              .name = "steps",
              .version = "1.0",
              .summary = "a trace reader",
              .readers = readers,
              .samples = samples};
