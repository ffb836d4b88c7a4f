/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The proof of a reader. It recognises its sample before any other reader. It reads the sample into a program
 * that replays, and twice into the same program. It refuses an empty file and a file cut in half. It survives
 * a change of every single byte.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "net/import/import.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "workload/plugin/internal.h"
#include "workload/plugin/plugin.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"
#include "workload/replay/replay.h"

enum { MAX_SAMPLE = 1 << 16, MAX_CHANGED = 512 };

static int write_sample(const char *path, const char *text, size_t length, rlt_error *err)
{
    FILE *f = fopen(path, "wb");
    bool ok = f && fwrite(text, 1, length, f) == length;
    if (f && fclose(f))
        ok = false;
    return ok ? 0 : rlt_fail(err, RLT_EIO, path, "cannot write the sample");
}

/* *out is NULL before. */
static int read_it(const rlt_reader *r, const char *path, rlt_program **out, rlt_error *err)
{
    rlt_read_options how = {.first_step = -1, .last_step = -1};
    int rc = r->read(&path, 1, &how, out, err);
    if (!rc && !*out)
        return rlt_fail(err, RLT_ECHECK, path, "returned 0 without a program");
    if (rc && err && !err->what[0])
        return rlt_fail(err, RLT_ECHECK, path, "fails without a message");
    return rc;
}

static int replay(const rlt_program *p, rlt_time *time_ps, rlt_error *err)
{
    char spec[64];
    rlt_topology *topology = NULL;
    rlt_replay *run = NULL;
    rlt_replay_options how = rlt_replay_options_default();
    snprintf(spec, sizeof spec, "switch:%u@10GB/s,500ns", p->n_ranks < 2 ? 2 : p->n_ranks);
    int rc = rlt_topology_load(spec, NULL, &topology, err);
    how.topology = topology;
    if (!rc && !(rc = rlt_replay_create(p, &how, &run, err)) && !(rc = rlt_replay_run(run, err)))
        *time_ps = rlt_replay_time(run);
    rlt_replay_free(run);
    rlt_topology_free(topology);
    return rc;
}

static int read_twice(const rlt_reader *r, const char *path, char *line, size_t size, rlt_error *err)
{
    rlt_time time_ps[2] = {0, 0};
    const rlt_reader *found = NULL;
    int rc = rlt_reader_for(path, &found, err);
    if (!rc && found != r)
        rc = rlt_fail(err, RLT_ECHECK, "probe", "the reader %s recognises the sample too", found->name);
    for (int i = 0; i < 2 && !rc; i++) {
        rlt_program *p = NULL;
        if (!(rc = read_it(r, path, &p, err)) && !(rc = replay(p, &time_ps[i], err)))
            snprintf(line, size, "reads its sample: %u ranks, %u operations, %lld ps", p->n_ranks,
                     p->rank_first[p->n_ranks], (long long)time_ps[i]);
        rlt_program_free(p);
    }
    if (!rc && time_ps[0] != time_ps[1])
        rc = rlt_fail(err, RLT_ECHECK, "read",
                      "two replays of the same file take %lld ps and %lld ps: expected equal times",
                      (long long)time_ps[0], (long long)time_ps[1]);
    return rc;
}

/* Checks that the reader refuses a shortened file. */
static int refuse(const rlt_reader *r, const char *path, const rlt_plugin_sample *s, size_t length,
                  rlt_error *err)
{
    rlt_program *p = NULL;
    rlt_error why = {0};
    int rc = write_sample(path, s->text, length, err);
    if (rc)
        return rc;
    rc = read_it(r, path, &p, &why);
    rlt_program_free(p);
    if (rc == RLT_ECHECK)
        return rlt_fail(err, rc, "read", "%s", why.what);
    return rc ? 0
              : rlt_fail(err, RLT_ECHECK, "read", "accepts its sample truncated to %zu of %zu bytes", length,
                         s->length);
}

/* Changes bytes one by one. The reader may refuse or accept the result; it must return. */
static int change(const rlt_reader *r, const char *path, const rlt_plugin_sample *s, uint32_t *refused,
                  rlt_error *err)
{
    char *text = malloc(s->length);
    size_t step = s->length / MAX_CHANGED + 1;
    int rc = text ? 0 : rlt_nomem(err);
    for (size_t i = 0; i < s->length && !rc; i += step) {
        rlt_program *p = NULL;
        rlt_error why = {0};
        memcpy(text, s->text, s->length);
        text[i] = (char)(text[i] ^ 0x15);
        if ((rc = write_sample(path, text, s->length, err)))
            break;
        *refused += read_it(r, path, &p, &why) != 0;
        rlt_program_free(p);
    }
    free(text);
    return rc;
}

int rlt__prove_reader(const rlt_reader *r, const rlt_plugin_sample *sample, const char *scratch, char *line,
                      size_t size, rlt_error *err)
{
    char path[4096];
    uint32_t refused = 0;
    if (!sample->file || !sample->file[0] || strchr(sample->file, '/') || !sample->text || !sample->length ||
        sample->length > MAX_SAMPLE)
        return rlt_fail(err, RLT_ESCHEMA, "sample", "expected a file name without folders and 1 to %d bytes",
                        MAX_SAMPLE);
    snprintf(path, sizeof path, "%s/%s", scratch, sample->file);
    int rc = write_sample(path, sample->text, sample->length, err);
    if (!rc && !(rc = read_twice(r, path, line, size, err)) && !(rc = refuse(r, path, sample, 0, err)) &&
        !(rc = refuse(r, path, sample, sample->length / 2, err)) &&
        !(rc = change(r, path, sample, &refused, err))) {
        size_t used = strlen(line);
        snprintf(line + used, size - used,
                 "; rejects it empty, cut in half, and %u times with a byte changed", refused);
    }
    unlink(path);
    return rc;
}
