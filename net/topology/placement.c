/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Placements: the identity, or read from a JSON file. */
#include "net/topology/placement.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdlib.h>

#include "sim/base/time.h"
#include "sim/text/json.h"

int rlt_placement_identity(const rlt_topology *t, uint32_t n, rlt_placement *out, rlt_error *err)
{
    uint32_t have = rlt_topology_accelerators(t);
    *out = (rlt_placement){.n = n};
    if (n == 0 || n > have)
        return rlt_fail(err, RLT_ERANGE, NULL, "%" PRIu32 " ranks on a topology of %" PRIu32 " accelerators",
                        n, have);
    return 0;
}

/* Reads an accelerator, by number or name. */
static int read_accelerator(rlt_json v, const rlt_topology *t, uint32_t *out, rlt_error *err)
{
    uint32_t n = rlt_topology_accelerators(t);
    if (rlt_json_is_string(v)) {
        *out = rlt_topology_find_node(t, rlt_json_string(v));
        return *out < n ? 0
                        : rlt_json_fail(v, RLT_ESCHEMA, err, "no accelerator '%.64s'", rlt_json_string(v));
    }
    uint64_t id = 0;
    int rc = rlt_json_is_number(v)
                 ? rlt_json_u64(v, n - 1, &id, err)
                 : rlt_json_fail(v, RLT_ESCHEMA, err, "expected an accelerator's number or name");
    *out = (uint32_t)id;
    return rc;
}

static int read_rank(rlt_json v, const rlt_topology *t, uint32_t rank, rlt_placement *p, rlt_error *err)
{
    static const char *const keys[] = {"accelerator", "nic", NULL};
    const char *nic = NULL;
    int rc;
    p->nic[rank] = RLT_NONE;
    if (!rlt_json_is_object(v))
        return read_accelerator(v, t, &p->accelerator[rank], err);
    rlt_json a = rlt_json_get(v, "accelerator");
    if ((rc = rlt_json_only(v, keys, err)) < 0 || (rc = rlt_json_get_string(v, "nic", false, &nic, err)) < 0)
        return rc;
    if (!rlt_json_is(a))
        return rlt_json_fail(v, RLT_ESCHEMA, err, "missing 'accelerator'");
    if (nic) {
        uint32_t node = rlt_topology_find_node(t, nic);
        if (node == RLT_NONE || rlt_topology_node_kind(t, node) != RLT_NIC)
            return rlt_json_fail(rlt_json_get(v, "nic"), RLT_ESCHEMA, err, "no NIC '%.64s'", nic);
        p->nic[rank] = node;
    }
    return read_accelerator(a, t, &p->accelerator[rank], err);
}

static int read_ranks(rlt_json ranks, const rlt_topology *t, rlt_placement *p, rlt_error *err)
{
    uint32_t n = rlt_json_count(ranks), have = rlt_topology_accelerators(t), rank = 0;
    bool any_nic = false;
    if (!rlt_json_is_array(ranks) || n == 0)
        return rlt_json_fail(ranks, RLT_ESCHEMA, err, "expected a list of accelerators, one a rank");
    if (n > have)
        return rlt_json_fail(ranks, RLT_ERANGE, err,
                             "%" PRIu32 " ranks on a topology of %" PRIu32 " accelerators", n, have);
    bool *taken = calloc(have, sizeof *taken);
    p->n = n;
    p->accelerator = calloc(n, sizeof *p->accelerator);
    p->nic = calloc(n, sizeof *p->nic);
    int rc = taken && p->accelerator && p->nic ? 0 : rlt_nomem(err);
    for (rlt_json v = rlt_json_first(ranks); rc == 0 && rlt_json_is(v); v = rlt_json_next(v), rank++) {
        if ((rc = read_rank(v, t, rank, p, err)) < 0)
            break;
        if (taken[p->accelerator[rank]])
            rc = rlt_json_fail(v, RLT_ESCHEMA, err, "accelerator %" PRIu32 " already has a rank",
                               p->accelerator[rank]);
        taken[p->accelerator[rank]] = true;
        any_nic = any_nic || p->nic[rank] != RLT_NONE;
    }
    free(taken);
    if (rc == 0 && !any_nic) {
        free(p->nic);
        p->nic = NULL;
    }
    return rc;
}

int rlt_placement_load(const char *path, const rlt_topology *t, rlt_placement *out, rlt_error *err)
{
    static const char *const keys[] = {"ranks", NULL};
    rlt_json_doc *doc;
    *out = (rlt_placement){0};
    int rc = rlt_json_load(path, &doc, err);
    if (rc < 0)
        return rc;
    rlt_json root = rlt_json_root(doc), ranks = rlt_json_get(root, "ranks");
    rc = rlt_json_only(root, keys, err);
    if (rc == 0)
        rc = rlt_json_is(ranks) ? read_ranks(ranks, t, out, err)
                                : rlt_json_fail(root, RLT_ESCHEMA, err, "missing 'ranks'");
    if (rc < 0)
        rlt_placement_free(out);
    rlt_json_free(doc);
    return rc;
}

void rlt_placement_free(rlt_placement *p)
{
    if (!p)
        return;
    free(p->accelerator);
    free(p->nic);
    *p = (rlt_placement){0};
}
