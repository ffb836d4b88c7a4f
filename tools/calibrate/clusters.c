/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The file of clusters: read, machines opened, measurements placed on them. */
#include "tools/calibrate/clusters.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/base/pool.h"
#include "tools/calibrate/calibrate.h"
#include "tools/calibrate/job.h"
#include "tools/calibrate/measure/measure.h"
#include "tools/calibrate/select.h"
#include "tools/output/output.h"
#include "workload/setup/inputs.h"
#include "workload/setup/settings.h"

/* A row above this many times the next larger size of its series is an outlier. */
#define OUTLIER 1.35

enum { MOST_TEXTS = 64 };

/* ---- reading ---- */

static int read_texts(rlt_json v, const char *key, rlt_texts *out, rlt_error *err)
{
    rlt_json list = rlt_json_get(v, key);
    if (!rlt_json_is(list))
        return 0;
    if (!rlt_json_is_array(list))
        return rlt_json_fail(list, RLT_ESCHEMA, err, "expected a list of texts NAME=VALUE");
    for (rlt_json s = rlt_json_first(list); rlt_json_is(s); s = rlt_json_next(s)) {
        const char *text = rlt_json_string(s);
        if (!text || !strchr(text, '='))
            return rlt_json_fail(s, RLT_ESCHEMA, err, "expected a text NAME=VALUE");
        if (out->n == MOST_TEXTS)
            return rlt_json_fail(s, RLT_ERANGE, err, "more than %d texts", MOST_TEXTS);
        int rc = rlt_grow(&out->items, &out->capacity, sizeof *out->items, (uint64_t)out->n + 1, MOST_TEXTS,
                          "texts", err);
        if (rc)
            return rc;
        out->items[out->n++] = text;
    }
    return 0;
}

static int read_constant(rlt_cluster_constant *k, rlt_json v, rlt_error *err)
{
    static const char *const keys[] = {"name", "by",    "unit", "prior",  "priors",
                                       "step", "least", "most", "offset", NULL};
    const char *by = NULL, *unit = "";
    int rc = rlt_json_only(v, keys, err);
    if (rc || (rc = rlt_json_get_string(v, "name", true, &k->name, err)) ||
        (rc = rlt_json_get_string(v, "by", false, &by, err)) ||
        (rc = rlt_json_get_string(v, "unit", false, &unit, err)) ||
        (rc = rlt_json_get_double(v, "prior", true, &k->prior, err)) ||
        (rc = rlt_json_get_bool(v, "offset", false, &k->offset, err)) ||
        (rc = rlt_json_get_double(v, "step", true, &k->step, err)) ||
        (rc = rlt_json_get_double(v, "least", true, &k->least, err)) ||
        (rc = rlt_json_get_double(v, "most", true, &k->most, err)))
        return rc;
    k->priors = rlt_json_get(v, "priors");
    k->by_network = by != NULL;
    k->microseconds = strcmp(unit, "us") == 0;
    if ((by && strcmp(by, "network") != 0) || (*unit && !k->microseconds))
        return rlt_json_fail(v, RLT_ESCHEMA, err, "'by' can only be network, and 'unit' only us");
    if (!rlt_params_find(rlt_endpoint_parameters(), k->name))
        return rlt_json_fail(rlt_json_get(v, "name"), RLT_ESCHEMA, err, "'%.60s' is no setting of endpoints",
                             k->name);
    if (k->step <= 0 || k->least >= k->most)
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected a step above 0, and 'least' below 'most'");
    return 0;
}

static int read_cluster(rlt_cluster *k, rlt_json v, const rlt_settings *how, rlt_error *err)
{
    static const char *const keys[] = {"name",  "system",    "topology", "network", "set",
                                       "where", "algorithm", "site",     "apart",   NULL};
    const char *algorithm = NULL;
    int rc = rlt_json_only(v, keys, err);
    *k = (rlt_cluster){.machine = RLT_NONE};
    if (rc || (rc = rlt_json_get_string(v, "name", true, &k->name, err)) ||
        (rc = rlt_json_get_string(v, "system", true, &k->system, err)) ||
        (rc = rlt_json_get_string(v, "network", true, &k->network, err)) ||
        (rc = rlt_json_get_string(v, "topology", false, &k->topology, err)) ||
        (rc = rlt_json_get_string(v, "site", false, &k->site, err)) ||
        (rc = rlt_json_get_string(v, "apart", false, &k->apart, err)) ||
        (rc = rlt_json_get_string(v, "algorithm", false, &algorithm, err)) ||
        (rc = read_texts(v, "where", &k->where, err)) || (rc = read_texts(v, "set", &k->how.set, err)))
        return rc;
    if (!k->topology && !k->apart)
        return rlt_json_fail(v, RLT_ESCHEMA, err, "a cluster without 'topology' needs 'apart', the reason");
    k->site = k->site ? k->site : k->name;
    k->how.topology = k->topology;
    k->how.network = how->network;
    k->how.routing = how->routing;
    if (algorithm && (rc = rlt_parse_algorithms(algorithm, k->algorithms, err)))
        rlt_error_prefix(err, k->name);
    return rc;
}

static int read_file(rlt_clusters *c, const char *path, const rlt_settings *how, rlt_error *err)
{
    static const char *const keys[] = {"constants", "goals", "clusters", NULL};
    int rc = rlt_json_load(path, &c->doc, err);
    if (rc || (rc = rlt_json_only(rlt_json_root(c->doc), keys, err)))
        return rc;
    rlt_json constants = rlt_json_get(rlt_json_root(c->doc), "constants"),
             list = rlt_json_get(rlt_json_root(c->doc), "clusters");
    if (!rlt_json_is_array(list) || !rlt_json_count(list) || rlt_json_count(list) > RLT_MAX_MACHINES)
        return rlt_fail(err, RLT_ESCHEMA, path, "expected 'clusters', a list of 1 to %d clusters",
                        RLT_MAX_MACHINES);
    c->list = calloc(rlt_json_count(list), sizeof *c->list);
    c->constants = calloc(rlt_json_count(constants) + 1, sizeof *c->constants);
    if (!c->list || !c->constants)
        return rlt_nomem(err);
    for (rlt_json v = rlt_json_first(constants); rlt_json_is(v) && !rc; v = rlt_json_next(v))
        rc = read_constant(&c->constants[c->n_constants++], v, err);
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v) && !rc; v = rlt_json_next(v))
        rc = read_cluster(&c->list[c->n++], v, how, err);
    return rc;
}

/* ---- machines ---- */

/* Opens the cluster's topology, with its class of network, then its settings, then those of --set. */
static int open_machine(rlt_cluster *k, rlt_machine *m, const rlt_settings *how, rlt_error *err)
{
    rlt_texts own = k->how.set;
    int rc;
    k->how.set = (rlt_texts){0};
    rc = rlt_setup_open(&k->how, 0, &m->setup, err);
    k->how.set = own;
    *m = (rlt_machine){.how = &k->how, .setup = m->setup, .key = "calibration"};
    if (!rc && !(m->path = strdup(k->topology)))
        rc = rlt_nomem(err);
    if (!rc)
        rc = rlt_setup_set(&m->setup, "network", k->network, err);
    for (int pass = 0; pass < 2; pass++) {
        const rlt_texts *set = pass ? &how->set : &own;
        for (uint32_t i = 0; i < set->n && !rc; i++) {
            char name[64];
            const char *value;
            rc = rlt_split_setting(set->items[i], name, sizeof name, &value, pass ? "--set" : "set", err);
            if (!rc)
                rc = rlt_setup_set(&m->setup, name, value, err);
        }
    }
    if (rc) {
        rlt_error_prefix(err, k->name);
        rlt_machine_free(m);
        return rc;
    }
    m->node = rlt_topology_node_size(m->setup.topology);
    m->algorithms = k->algorithms;
    k->shipped = m->setup.endpoint;
    return 0;
}

int rlt_clusters_open(rlt_clusters *c, rlt_calib_job *j, bool apart, rlt_error *err)
{
    int rc = read_file(c, j->s->clusters, &j->s->sim, err);
    if (rc || (rc = rlt_inputs_add_file(&j->inputs, "clusters", j->s->clusters, err)))
        return rc;
    j->machines = calloc(c->n, sizeof *j->machines);
    if (!j->machines)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < c->n && !rc; i++) {
        rlt_cluster *k = &c->list[i];
        if (!k->topology || (k->apart && !apart))
            continue;
        if (!(rc = open_machine(k, &j->machines[j->n_machines], &j->s->sim, err)))
            k->machine = j->n_machines++;
    }
    j->trial.machines = j->machines;
    j->trial.n_machines = j->n_machines;
    j->trial.threads = rlt_pool_threads(j->s->jobs);
    return rc;
}

void rlt_clusters_free(rlt_clusters *c)
{
    for (uint32_t i = 0; i < c->n; i++) {
        free(c->list[i].where.items);
        free(c->list[i].how.set.items);
    }
    free(c->list);
    free(c->constants);
    rlt_json_free(c->doc);
    *c = (rlt_clusters){0};
}

rlt_cluster *rlt_cluster_of(const rlt_clusters *c, uint32_t machine)
{
    for (uint32_t i = 0; i < c->n; i++)
        if (c->list[i].machine == machine)
            return &c->list[i];
    return NULL;
}

/* ---- rows ---- */

static int by_series(const void *a, const void *b)
{
    const rlt_measurement *x = *(rlt_measurement *const *)a, *y = *(rlt_measurement *const *)b;
    int order;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    if (x->ranks != y->ranks)
        return x->ranks < y->ranks ? -1 : 1;
    if (x->nodes != y->nodes)
        return x->nodes < y->nodes ? -1 : 1;
    if (x->buffers != y->buffers)
        return x->buffers < y->buffers ? -1 : 1;
    if ((order = strcmp(x->dtype, y->dtype)))
        return order;
    if (x->bytes != y->bytes)
        return x->bytes < y->bytes ? -1 : 1;
    return (x > y) - (x < y);
}

static bool same_series(const rlt_measurement *x, const rlt_measurement *y)
{
    return x->kind == y->kind && x->ranks == y->ranks && x->nodes == y->nodes && x->buffers == y->buffers &&
           strcmp(x->dtype, y->dtype) == 0;
}

/* Adds the rows of one cluster, in order of size, without outliers. */
static int place(rlt_cluster *k, rlt_trial *t, rlt_measurement **rows, uint32_t n, rlt_error *err)
{
    int rc = 0;
    qsort(rows, n, sizeof *rows, by_series);
    for (uint32_t i = 0; i < n && !rc; i++) {
        bool entered = true;
        if (i + 1 < n && same_series(rows[i], rows[i + 1]) &&
            (double)rows[i]->time_ps > OUTLIER * (double)rows[i + 1]->time_ps) {
            k->dropped++;
            continue;
        }
        k->rows++;
        if (k->machine == RLT_NONE)
            continue;
        rc = rlt_trial_add(t, rows[i], k->machine, &entered, err);
        if (!rc && entered)
            t->rows[t->n_rows - 1].group = k->name;
        else if (!rc)
            rc = rlt_fail(err, RLT_ESCHEMA, k->name, "%s has no room for %u ranks on %u node%s", k->topology,
                          rows[i]->ranks, rows[i]->nodes, rlt_s(rows[i]->nodes));
    }
    return rc;
}

int rlt_clusters_place(rlt_clusters *c, rlt_calib_job *j, rlt_error *err)
{
    const rlt_measurements *from = &j->measured;
    rlt_measurement **own = calloc((size_t)from->n + 1, sizeof *own);
    int rc = own ? 0 : rlt_nomem(err);
    for (uint32_t i = 0; i < c->n && !rc; i++) {
        rlt_cluster *k = &c->list[i];
        uint32_t n = 0;
        for (uint32_t r = 0; r < from->n && !rc; r++) {
            bool match = strcmp(from->rows[r].system, k->system) == 0;
            if (match)
                rc = rlt_select_matches(&from->rows[r], &k->where, &match, err);
            if (match)
                own[n++] = &from->rows[r];
        }
        if (rc)
            rlt_error_prefix(err, k->name);
        else
            rc = place(k, &j->trial, own, n, err);
    }
    free(own);
    if (!rc && j->trial.n_rows == 0)
        return rlt_fail(err, RLT_ESCHEMA, j->s->clusters, "no measurement is of a system of these clusters");
    return rc ? rc : rlt_trial_freeze(&j->trial, err);
}
