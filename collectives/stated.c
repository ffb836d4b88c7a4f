/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collectives/stated.h"

#include <stdio.h>
#include <string.h>

/* Word of a chain that stands for the choice without a statement. */
static bool is_auto(const char *name)
{
    return strcmp(name, "auto") == 0;
}

const rlt_algorithm *rlt_algorithm_stated(const rlt_coll_request *req)
{
    bool asked = req->topology && !req->library; /* a version that is asked for chooses itself */
    const char *name =
        asked ? rlt_topology_chosen(req->topology, rlt_coll_name(req->kind), req->bytes) : NULL;
    const rlt_algorithm *a = name && !is_auto(name) ? rlt_algorithm_find(name, NULL) : NULL;
    rlt_plan plan;
    if (!a)
        return NULL;
    int rc = rlt__plan_untuned(a, req, &plan, NULL);
    if (!rc)
        rlt_plan_free(&plan);
    return rc == 0 || rc == RLT_ENOMEM ? a : NULL; /* rlt_plan_create reports that memory ran out */
}

int rlt_stated_check(const rlt_topology *t, rlt_error *err)
{
    uint32_t n;
    const rlt_choice *all = rlt_topology_choices(t, &n);
    for (uint32_t i = 0; i < n; i++) {
        char where[96];
        rlt_coll_kind kind;
        const rlt_algorithm *a = NULL;
        rlt_error why = {0};
        snprintf(where, sizeof where, "%.40s: auto.%s", rlt_topology_name(t), all[i].collective);
        int rc = rlt_coll_parse(all[i].collective, &kind, &why);
        if (!rc && !is_auto(all[i].algorithm) && !(a = rlt_algorithm_find(all[i].algorithm, &why)))
            rc = RLT_ESCHEMA;
        if (rc)
            return rlt_fail(err, RLT_ESCHEMA, where, "%s", why.what);
        if (a && !(a->kinds & 1u << kind))
            return rlt_fail(err, RLT_ESCHEMA, where, "%s does not support %s", a->name, all[i].collective);
    }
    return 0;
}
