/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Opens an experiment on collectives from its settings. */
#include <stdlib.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/executor.h"
#include "net/topology/placement.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "workload/experiment/coll/coll.h"
#include "workload/experiment/coll/lists.h"
#include "workload/experiment/coll/load.h"
#include "workload/setup/inputs.h"
#include "workload/setup/settings.h"

static int open_setup(rlt_coll_load *l, rlt_error *err)
{
    rlt_coll_ask *ask = l->ask;
    rlt_settings sim = ask->settings->sim;
    sim.protocols = l->protocols;
    sim.n_protocols = l->n_protocols;
    sim.protocols_where_able = ask->all_algorithms;
    int rc = rlt_setup_open(&sim, ask->settings->ranks, &ask->setup, err);
    if (!rc)
        rlt__coll_place_protocols(l);
    return rc;
}

/* Returns the bytes of a collective with counts: for an all-to-all the largest send buffer, else the sum of
 * all shares. */
static uint64_t counted_bytes(const uint64_t *counts, uint32_t rows, uint32_t n)
{
    uint64_t most = 0;
    for (uint32_t i = 0; i < rows; i++) {
        uint64_t sum = 0;
        for (uint32_t k = 0; k < n && sum >> 62 == 0; k++) /* counts are below 2^49 */
            sum += counts[(size_t)i * n + k];
        most = sum > most ? sum : most;
    }
    return most;
}

static int read_counts(rlt_coll_load *l, rlt_error *err)
{
    rlt_coll_ask *ask = l->ask;
    const rlt_coll_settings *s = ask->settings;
    uint32_t n = ask->group.n, taken = 1u << RLT_ALL_TO_ALL | 1u << RLT_ALL_GATHER |
                                       1u << RLT_REDUCE_SCATTER | 1u << RLT_GATHER | 1u << RLT_SCATTER;
    int rc;
    if (rlt_given(ask->args, "bytes"))
        return rlt_fail(err, RLT_EUSAGE, "--bytes",
                        "does not go with --counts, which gives the bytes of each share");
    if (ask->n_kinds != 1 || !(taken & 1u << l->kinds[0]))
        return rlt_fail(err, RLT_EUSAGE, "--counts",
                        "needs one --collective: all_to_all, all_gather, reduce_scatter, gather or scatter");
    uint32_t rows = l->kinds[0] == RLT_ALL_TO_ALL ? n : 1;
    if (s->files)
        ask->counts = s->files->counts;
    else if ((rc = rlt_read_counts(s->counts, rows, n, &ask->counts, err)) ||
             (rc = rlt_inputs_add_file(&ask->setup.inputs, "counts", s->counts, err)))
        return rc;
    l->counted = counted_bytes(ask->counts, rows, n);
    return 0;
}

/* Lists kinds and sizes. Sizes apply only to kinds that have a size. */
static int list_cases(rlt_coll_load *l, rlt_error *err)
{
    rlt_coll_ask *ask = l->ask;
    ask->cases = calloc((size_t)ask->n_kinds * ask->n_sizes, sizeof *ask->cases);
    if (!ask->cases)
        return rlt_nomem(err);
    for (uint32_t k = 0; k < ask->n_kinds; k++) {
        rlt_coll_kind kind = l->kinds[k];
        bool one = kind == RLT_BARRIER || ask->counts;
        if (kind == RLT_SEND_RECV && (ask->group.n < 2 || ask->tenants)) {
            if (ask->n_kinds == 1)
                return rlt_fail(err, RLT_EUSAGE, "--collective", "send_recv needs two ranks");
            continue;
        }
        for (uint32_t i = 0; i < (one ? 1 : ask->n_sizes); i++)
            ask->cases[ask->n_cases++] = (rlt_coll_case){kind, kind == RLT_BARRIER ? 0
                                                               : ask->counts       ? l->counted
                                                                                   : l->sizes[i]};
    }
    return 0;
}

/* Refuses options that contradict each other, before anything is loaded. */
static int check_together(rlt_coll_ask *ask, rlt_error *err)
{
    static const char *const others[] = {"ranks", "group"};
    const rlt_coll_settings *s = ask->settings;
    for (size_t i = 0; s->workers && i < sizeof others / sizeof *others; i++)
        if (rlt_given(ask->args, others[i]))
            return rlt_fail(err, RLT_EUSAGE, NULL, "--%s does not go with --workers", others[i]);
    if (s->dtype && (ask->element = rlt_dtype_bytes(s->dtype)) == 0)
        return rlt_fail(err, RLT_EUSAGE, "--dtype",
                        "unknown type '%s'; known are int8, uint8, fp8, half, bfloat16, int32, float, int64, "
                        "double",
                        s->dtype);
    if (s->no_fold && s->verify_fold)
        return rlt_fail(err, RLT_EUSAGE, "--verify-fold", "does not go with --no-fold");
    return 0;
}

/* Returns the default algorithms: a comparison only if it takes moments. */
static const char *default_algorithms(const rlt_coll_ask *ask, bool compare)
{
    enum { COMPARED = 64 };
    return compare && ask->group.n <= COMPARED ? "all" : "auto";
}

static int load(rlt_coll_load *l, bool compare, rlt_error *err)
{
    rlt_coll_ask *ask = l->ask;
    const rlt_coll_settings *s = ask->settings;
    int rc;
    if ((rc = check_together(ask, err)) || (rc = rlt__coll_kinds(l, err)) ||
        (rc = rlt__coll_count_tenants(l, err)) ||
        (s->algorithm && (rc = rlt__coll_algorithms(l, s->algorithm, err))) ||
        (rc = rlt_parse_sizes(s->bytes, &l->sizes, &ask->n_sizes, err)) || (rc = open_setup(l, err)) ||
        (rc = rlt__coll_groups(l, err)) || (s->counts && (rc = read_counts(l, err))) ||
        (rc = list_cases(l, err)))
        return rc;
    if (!s->algorithm && !s->plans.n && (rc = rlt__coll_algorithms(l, default_algorithms(ask, compare), err)))
        return rc;
    if (s->files) {
        ask->plans = s->files->plans;
        ask->n_plans = s->files->n_plans;
    }
    return rlt__coll_plans(ask, err);
}

int rlt_coll_open(rlt_coll_ask *ask, bool compare, rlt_error *err)
{
    rlt_coll_load l = {.ask = ask};
    int rc = load(&l, compare, err);
    free(l.sizes);
    return rc;
}

int rlt_coll_open_one(rlt_coll_ask *ask, rlt_error *err)
{
    int rc = rlt_coll_open(ask, false, err);
    if (!rc && (ask->n_cases != 1 || ask->n_algorithms != 1 || ask->all_algorithms))
        rc = rlt_fail(err, RLT_EUSAGE, NULL,
                      "expected one collective, one size and one algorithm, got %u collectives or sizes and "
                      "%u algorithms",
                      ask->n_cases, ask->n_algorithms);
    return rc;
}

void rlt_coll_close(rlt_coll_ask *ask)
{
    if (!ask->settings || !ask->settings->files) {
        rlt_coll_files_free(&(rlt_coll_files){ask->plans, ask->n_plans, ask->counts, NULL, {0}});
    }
    free(ask->cases);
    free(ask->labels);
    rlt__coll_groups_free(ask);
    rlt_setup_free(&ask->setup);
    *ask = (rlt_coll_ask){0};
}

rlt_coll_request rlt_coll_request_of(const rlt_coll_ask *ask, uint32_t i, uint32_t tenant)
{
    const rlt_coll_case *c = &ask->cases[i / ask->n_algorithms];
    const rlt_group *g = ask->tenants ? &ask->tenants[tenant] : &ask->group;
    rlt_coll_request r = rlt_group_request(c->kind == RLT_SEND_RECV ? &ask->pair : g, c->kind, c->bytes);
    r.root = ask->root;
    if (!rlt_coll_rooted(c->kind))
        r.root = 0;
    r.counts = ask->counts;
    rlt_setup_parameters(&ask->setup, &r);
    r.element = ask->element;
    r.library = ask->libraries[i % ask->n_algorithms];
    r.listed = ask->listed[i % ask->n_algorithms];
    return r;
}
