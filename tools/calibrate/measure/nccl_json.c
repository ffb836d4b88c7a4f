/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Measurements as nccl-tests -J writes them (version 2). Unneeded keys are ignored. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/calibrate/measure/measure.h"

typedef struct job {
    rlt_measurements *t;
    const rlt_measure_text *in;
    rlt_measurement common;
} job;

/* Counts distinct host names of the processes. 0: the file has none. */
static uint32_t count_hosts(rlt_json devices)
{
    uint32_t n = 0;
    for (rlt_json d = rlt_json_first(devices); rlt_json_is(d); d = rlt_json_next(d)) {
        const char *host = rlt_json_string(rlt_json_get(d, "hostname"));
        bool again = !host;
        for (rlt_json e = rlt_json_first(devices); !again && e.node != d.node; e = rlt_json_next(e)) {
            const char *other = rlt_json_string(rlt_json_get(e, "hostname"));
            again = other && strcmp(host, other) == 0;
        }
        n += !again;
    }
    return n;
}

static int read_ranks(job *j, rlt_json root, rlt_error *err)
{
    enum { MAX_PROCESSES = 1 << 14 };
    rlt_json config = rlt_json_get(root, "config"), devices = rlt_json_get(config, "devices");
    uint64_t threads = 1, gpus = 1, ranks;
    int rc;
    if ((rc = rlt_json_get_u64(config, "nthreads", false, 1 << 12, &threads, err)) ||
        (rc = rlt_json_get_u64(config, "ngpus", false, 1 << 12, &gpus, err)))
        return rc;
    if (rlt_json_count(devices) > MAX_PROCESSES)
        return rlt_json_fail(devices, RLT_ERANGE, err, "more than %d processes", MAX_PROCESSES);
    ranks = rlt_json_count(devices) * threads * gpus;
    if (ranks > RLT_MAX_MEMBERS)
        return rlt_json_fail(config, RLT_ERANGE, err, "more than %d ranks", RLT_MAX_MEMBERS);
    j->common.ranks = ranks ? (uint32_t)ranks : j->in->hints.ranks;
    j->common.nodes = count_hosts(devices);
    if (j->common.nodes == 0)
        j->common.nodes = j->in->hints.nodes ? j->in->hints.nodes : 1;
    if (j->common.ranks == 0)
        return rlt_json_fail(root, RLT_ESCHEMA, err, "expected config.devices; or use --ranks");
    return 0;
}

static int read_kind(job *j, rlt_json root, rlt_error *err)
{
    rlt_json program = rlt_json_first(rlt_json_get(root, "args"));
    const char *name = rlt_json_string(program);
    rlt_error why = {0};
    if (!name)
        name = j->in->hints.collective;
    if (!name)
        return rlt_json_fail(root, RLT_ESCHEMA, err,
                             "expected args with the name of the test; or use --collective");
    if (rlt_measure_kind(name, &j->common.kind, &why))
        return rlt_json_fail(rlt_json_is(program) ? program : root, RLT_ESCHEMA, err, "%s", why.what);
    return 0;
}

static int read_body(job *j, rlt_json row, const char *key, rlt_buffers buffers, rlt_error *err)
{
    rlt_json body = rlt_json_get(row, key), wrong = rlt_json_get(body, "nwrong");
    rlt_measurement m = j->common;
    char where[600];
    double us = 0, n_wrong = 0;
    int rc;
    if (!rlt_json_is_object(body)) /* null: it was not run */
        return 0;
    if (rlt_json_is(rlt_json_get(body, "cpu_time")))
        return rlt_json_fail(body, RLT_EUNSUPPORTED, err,
                             "these are times of the host (-C): measure without -C");
    if ((rc = rlt_json_get_double(body, "time", true, &us, err)) ||
        (rlt_json_is_number(wrong) && (rc = rlt_json_get_double(body, "nwrong", false, &n_wrong, err))))
        return rc;
    if (!(us > 0) || us > 1e12)
        return rlt_json_fail(rlt_json_get(body, "time"), RLT_ERANGE, err, "expected a time above zero");
    if (n_wrong > 0)
        return rlt_json_fail(body, RLT_EMALFORMED, err, "the row reports wrong values");
    m.time_ps = (rlt_time)llround(us * (double)RLT_US);
    m.buffers = buffers;
    rlt_json_where(body, where, sizeof where);
    return rlt_measure_add(j->t, &m, where, err);
}

/* Reads a result: two measurements. An unusable one is skipped; host times are an error. */
static int read_result(job *j, rlt_json row, rlt_error *err)
{
    static const char *const keys[] = {"out_of_place", "in_place"};
    const char *type = "";
    rlt_error why = {0};
    int rc = 0;
    j->common.line++;
    if (!rlt_json_is_object(row))
        rc = rlt_json_fail(row, RLT_ESCHEMA, &why, "expected a result with size, out_of_place and in_place");
    else if (!(rc = rlt_json_get_u64(row, "size", true, (uint64_t)1 << 48, &j->common.bytes, &why)))
        rc = rlt_json_get_string(row, "type", false, &type, &why);
    if (rc)
        return rlt_measure_skip(j->t, j->in, j->common.line, &why) ? rlt_nomem(err) : 0;
    if (!(j->common.dtype = rlt_arena_strdup(&j->t->arena, type)))
        return rlt_nomem(err);
    for (int k = 0; k < 2 && !rc; k++) {
        rc = read_body(j, row, keys[k], k ? RLT_IN_PLACE : RLT_OUT_OF_PLACE, &why);
        if (rc == RLT_EUNSUPPORTED)
            return rlt_fail(err, rc, why.where, "%s", why.what);
        rc = rc ? rlt_measure_skip(j->t, j->in, j->common.line, &why) : 0;
    }
    return rc ? rlt_nomem(err) : 0;
}

int rlt_measure_nccl_json(rlt_measurements *t, const rlt_measure_text *in, rlt_error *err)
{
    job j = {.t = t,
             .in = in,
             .common = {.system = in->system, .dtype = "", .source = "", .note = "", .file = in->path}};
    rlt_json_doc *doc;
    rlt_json root, results;
    int rc = rlt_json_parse(in->path, in->text, in->length, &doc, err);
    if (rc)
        return rc;
    root = rlt_json_root(doc);
    results = rlt_json_get(root, "results");
    if (!rlt_json_is_array(results))
        rc = rlt_json_fail(root, RLT_ESCHEMA, err, "expected 'results', as nccl-tests -J writes them");
    if (!rc && !(rc = read_ranks(&j, root, err)))
        rc = read_kind(&j, root, err);
    for (rlt_json row = rlt_json_first(results); !rc && rlt_json_is(row); row = rlt_json_next(row))
        rc = read_result(&j, row, err);
    rlt_json_free(doc);
    return rc;
}
