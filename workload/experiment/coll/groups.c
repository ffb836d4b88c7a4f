/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranks that take part in a collective. */
#include <stdio.h>
#include <stdlib.h>

#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "workload/experiment/coll/coll.h"
#include "workload/experiment/coll/lists.h"
#include "workload/experiment/coll/load.h"

int rlt__coll_count_tenants(rlt_coll_load *l, rlt_error *err)
{
    const char *text = l->ask->settings->tenants;
    uint64_t n = 1;
    if (text && (rlt_parse_count(text, &n, NULL, NULL) || n < 1 || n > RLT_MAX_JOBS))
        return rlt_fail(err, RLT_EUSAGE, "--tenants", "expected 1 to %d, got '%s'", RLT_MAX_JOBS, text);
    l->ask->n_tenants = text ? (uint32_t)n : 0;
    return 0;
}

/* Computes the number of ranks that --workers asks for. */
static int count_workers(const rlt_coll_ask *ask, uint32_t *n, rlt_error *err)
{
    uint64_t tenants = ask->n_tenants ? ask->n_tenants : 1, workers = ask->settings->workers;
    if (workers && workers * tenants > *n)
        return rlt_fail(
            err, RLT_EUSAGE, "--workers", "%llu tenant%s with %llu workers each exceed the %u ranks",
            (unsigned long long)tenants, tenants == 1 ? "" : "s", (unsigned long long)workers, *n);
    *n = workers ? (uint32_t)(workers * tenants) : *n;
    return 0;
}

static int make_groups(rlt_coll_ask *ask, rlt_error *err)
{
    const rlt_coll_settings *s = ask->settings;
    uint32_t *ranks = NULL, n = ask->setup.placement.n;
    int rc = count_workers(ask, &n, err);
    if (rc)
        return rc;
    if (s->group)
        rc = rlt_parse_ranks(s->group, &ranks, &n, err);
    if (!rc) {
        rc = rlt_group_create(ask->setup.topology, &ask->setup.placement, ranks, n, &ask->group, err);
        if (rc && s->group && err)
            snprintf(err->where, sizeof err->where, "--group");
    }
    free(ranks);
    if (!rc && ask->group.n >= 2) {
        uint32_t two[2] = {ask->group.ranks ? ask->group.ranks[0] : 0,
                           ask->group.ranks ? ask->group.ranks[1] : 1};
        rc = rlt_group_create(ask->setup.topology, &ask->setup.placement, two, 2, &ask->pair, err);
    }
    return rc;
}

/* Finds the member index of the root, which the user names by rank; default: the first member. */
static int find_root(rlt_coll_ask *ask, rlt_error *err)
{
    uint64_t root = ask->settings->root;
    if (!rlt_given(ask->args, "root"))
        return 0;
    for (uint32_t m = 0; m < ask->group.n; m++)
        if ((ask->group.ranks ? ask->group.ranks[m] : m) == root) {
            ask->root = m;
            return 0;
        }
    return rlt_fail(err, RLT_EUSAGE, "--root", "rank %llu is not in the group, which has %u ranks",
                    (unsigned long long)root, ask->group.n);
}

static void free_tenants(rlt_group *groups, uint32_t n)
{
    for (uint32_t j = 0; j < n && groups; j++)
        rlt_group_free(&groups[j]);
    free(groups);
}

/* Makes the group of each of n tenants. Member k of tenant j is the group's rank k * n + j. Every tenant is
 * then spread as the whole group is, and crosses the same switches. Example: 8 ranks and 2 tenants give {0,
 * 2, 4, 6} and {1, 3, 5, 7}. */
static int make_tenants(rlt_coll_ask *ask, rlt_error *err)
{
    const uint32_t *ranks = ask->group.ranks;
    uint32_t n_ranks = ask->group.n, n = ask->n_tenants, each = n_ranks / n;
    if (n_ranks % n != 0 || each < 2)
        return rlt_fail(err, RLT_EUSAGE, "--tenants",
                        "%u ranks do not divide into %u equal jobs of at least two ranks", n_ranks, n);
    rlt_group *groups = calloc(n, sizeof *groups);
    uint32_t *own = malloc(each * sizeof *own);
    int rc = groups && own ? 0 : rlt_nomem(err);
    for (uint32_t j = 0; j < n && !rc; j++) {
        for (uint32_t k = 0; k < each; k++)
            own[k] = ranks ? ranks[k * n + j] : k * n + j;
        rc = rlt_group_create(ask->setup.topology, &ask->setup.placement, own, each, &groups[j], err);
    }
    free(own);
    if (rc)
        free_tenants(groups, n);
    else
        ask->tenants = groups;
    return rc;
}

/* Refuses options that apply to a single group. */
static int check_tenants(const rlt_coll_load *l, rlt_error *err)
{
    static const char *const others[] = {"root", "counts", "plan", "export-plan", "verify-fold"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (rlt_given(l->ask->args, others[i]))
            return rlt_fail(err, RLT_EUSAGE, NULL, "--%s does not go with --tenants", others[i]);
    if (l->ask->n_kinds == 1 && l->kinds[0] == RLT_SEND_RECV)
        return rlt_fail(err, RLT_EUSAGE, "--tenants", "does not go with --collective send_recv");
    return 0;
}

int rlt__coll_groups(rlt_coll_load *l, rlt_error *err)
{
    int rc = make_groups(l->ask, err);
    if (!rc)
        rc = find_root(l->ask, err);
    if (rc || !l->ask->n_tenants)
        return rc;
    rc = check_tenants(l, err);
    return rc ? rc : make_tenants(l->ask, err);
}

void rlt__coll_groups_free(rlt_coll_ask *ask)
{
    free_tenants(ask->tenants, ask->n_tenants);
    rlt_group_free(&ask->pair);
    rlt_group_free(&ask->group);
}
