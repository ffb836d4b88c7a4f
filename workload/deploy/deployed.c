/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads what `ringlet deploy --format json` wrote, as a trace: each device is a rank, its operators run in
 * the order in which they become ready, transfers are messages and reductions are collectives.
 */
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/judge.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"
#include "workload/program/program.h"
#include "workload/program/reader.h"

static int probe(const char *path, const char *head, size_t n)
{
    static const char mark[] = "\"command\": \"deploy\"";
    (void)path;
    for (size_t i = 0; i + sizeof mark - 1 <= n; i++)
        if (memcmp(head + i, mark, sizeof mark - 1) == 0)
            return 100;
    return 0;
}

static int read_cluster(rlt_json root, rlt_cluster *c, rlt_error *err)
{
    rlt_json list = rlt_json_get(root, "device_groups");
    int rc = rlt_json_is_array(list)
                 ? 0
                 : rlt_json_fail(root, RLT_ESCHEMA, err, "expected 'device_groups', a list");
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v) && !rc; v = rlt_json_next(v)) {
        rlt_device_group g = {.intra_Bps = 1}; /* the topology of the run has the bandwidths */
        const char *type = NULL;
        uint64_t n = 0;
        if ((rc = rlt_json_get_string(v, "type", true, &type, err)) ||
            (rc = rlt_json_get_u64(v, "count", true, RLT_MAX_DEVICES, &n, err)) ||
            (rc = rlt_json_get_double(v, "factor", true, &g.factor, err)) ||
            (rc = rlt_json_get_u64(v, "memory_bytes", true, UINT64_MAX >> 1, &g.memory_bytes, err)))
            break;
        snprintf(g.name, sizeof g.name, "%.63s", type);
        g.n = (uint32_t)n;
        rc = rlt_cluster_add(c, &g, err);
    }
    for (uint32_t i = 0; i < c->n_groups; i++)
        for (uint32_t k = 0; k < c->n_groups; k++)
            c->inter_Bps[i][k] = 1;
    return rc ? rc : rlt_cluster_ready(c, err);
}

static int read_operator(rlt_json v, rlt_opgraph_builder *b, rlt_error *err)
{
    rlt_operator o = {.together = RLT_NONE};
    uint64_t time = 0, launch = 0, forward = 0, together = RLT_NONE, pass = 0;
    int rc;
    if ((rc = rlt_json_get_string(v, "name", true, &o.name, err)) ||
        (rc = rlt_json_get_u64(v, "time_ps", true, RLT_TIME_MAX - 1, &time, err)) ||
        (rc = rlt_json_get_u64(v, "launch_ps", true, RLT_TIME_MAX - 1, &launch, err)) ||
        (rc = rlt_json_get_u64(v, "parameter_bytes", true, UINT64_MAX >> 1, &o.parameter_bytes, err)) ||
        (rc = rlt_json_get_u64(v, "kept_bytes", true, UINT64_MAX >> 1, &o.kept_bytes, err)) ||
        (rc = rlt_json_get_u64(v, "forward", true, RLT_MAX_OPERATORS, &forward, err)) ||
        (rc = rlt_json_get_u64(v, "together", false, RLT_MAX_OPERATORS, &together, err)) ||
        (rc = rlt_json_get_u64(v, "pass", true, RLT_OPERATOR_UPDATE, &pass, err)) ||
        (rc = rlt_json_get_bool(v, "splittable", true, &o.splittable, err)))
        return rc;
    o.time_ps = (rlt_time)time;
    o.launch_ps = (rlt_time)launch;
    o.forward = (uint32_t)forward;
    o.together = (uint32_t)together;
    o.pass = (uint8_t)pass;
    (void)rlt_opgraph_op(b, &o); /* rlt_opgraph_finish reports a failure */
    return 0;
}

static int read_tensor(rlt_json v, rlt_opgraph_builder *b, rlt_error *err)
{
    static const uint64_t most[4] = {RLT_MAX_OPERATORS, RLT_MAX_OPERATORS, UINT64_MAX >> 1, RLT_TENSOR_FULL};
    uint64_t x[4];
    int rc = rlt_json_is_array(v) && rlt_json_count(v) == 4
                 ? 0
                 : rlt_json_fail(v, RLT_ESCHEMA, err, "expected [source, destination, bytes, kind]");
    for (uint32_t i = 0; i < 4 && !rc; i++)
        rc = rlt_json_u64(rlt_json_at(v, i), most[i], &x[i], err);
    if (!rc)
        rlt_opgraph_tensor(b, &(rlt_tensor){(uint32_t)x[0], (uint32_t)x[1], x[2], (uint8_t)x[3]});
    return rc;
}

static int read_graph(rlt_json root, rlt_opgraph **out, rlt_error *err)
{
    const char *name = "graph";
    rlt_opgraph_builder *b = NULL;
    int rc = rlt_json_get_string(root, "graph", true, &name, err);
    if (rc || (rc = rlt_opgraph_begin(name, &b, err)))
        return rc;
    for (rlt_json v = rlt_json_first(rlt_json_get(root, "operators")); rlt_json_is(v) && !rc;
         v = rlt_json_next(v))
        rc = read_operator(v, b, err);
    for (rlt_json v = rlt_json_first(rlt_json_get(root, "tensors")); rlt_json_is(v) && !rc;
         v = rlt_json_next(v))
        rc = read_tensor(v, b, err);
    if (rc) {
        rlt_opgraph_drop(b);
        return rc;
    }
    return rlt_opgraph_finish(b, out, err);
}

/* Turns the deployment into a program. */
static int make_program(rlt_json_doc *doc, const rlt_opgraph *g, const rlt_cluster *c, rlt_program **out,
                        rlt_error *err)
{
    rlt_grouping p = {0};
    rlt_strategy s = {0};
    rlt_judge *j = NULL;
    int rc = rlt_strategy_read(doc, g, c, &p, &s, err);
    if (!rc && !(rc = rlt_judge_create(g, &p, c, &j, err)))
        rc = rlt_judge_program(j, &s, false, out, err);
    rlt_judge_free(j);
    rlt_strategy_free(&s);
    rlt_grouping_free(&p);
    return rc;
}

static int read(const char *const *paths, uint32_t n, const rlt_read_options *opts, rlt_program **out,
                rlt_error *err)
{
    rlt_json_doc *doc = NULL;
    rlt_opgraph *g = NULL;
    rlt_cluster c = {.name = "deployment"};
    *out = NULL;
    if (n != 1)
        return rlt_fail(err, RLT_EUSAGE, n ? paths[1] : NULL,
                        "a deployment has all ranks: expected one file, got %u", n);
    if (opts->last_step > 0)
        return rlt_fail(err, RLT_ERANGE, paths[0], "expected steps within the recorded 0:0, got %d:%d",
                        opts->first_step < 0 ? 0 : opts->first_step, opts->last_step);
    int rc = rlt_json_load(paths[0], &doc, err);
    if (!rc)
        rc = read_cluster(rlt_strategy_object(doc), &c, err);
    if (!rc && opts->n_ranks && opts->n_ranks != c.n_devices)
        rc = rlt_fail(err, RLT_ESCHEMA, paths[0], "has %u ranks, not %u", c.n_devices, opts->n_ranks);
    if (!rc && !(rc = read_graph(rlt_strategy_object(doc), &g, err)))
        rc = make_program(doc, g, &c, out, err);
    rlt_opgraph_free(g);
    rlt_cluster_free(&c);
    rlt_json_free(doc);
    return rc;
}

const rlt_reader rlt_reader_deployment = {
    .name = "deployment",
    .summary = "a deployment that ringlet deploy wrote as JSON",
    .probe = probe,
    .read = read,
};
