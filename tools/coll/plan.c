/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Export of plans. */
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/formats/plan_file.h"
#include "collectives/in_network/reactive.h"
#include "collectives/plan.h"
#include "sim/base/error.h"
#include "tools/base/file.h"
#include "tools/coll/coll.h"
#include "workload/experiment/coll/coll.h"

static rlt_plan_format format_of(const char *name)
{
    int f = 0;
    while (f < RLT_PLAN_FORMATS && strcmp(name, rlt_plan_format_name((rlt_plan_format)f)) != 0)
        f++;
    return (rlt_plan_format)f;
}

int rlt_coll_plan_export(const rlt_coll_ask *ask, const char *path, const char *format, rlt_error *err)
{
    rlt_plan plan;
    char *text = NULL;
    size_t length = 0;
    if ((uint64_t)ask->n_cases * ask->n_algorithms != 1)
        return rlt_fail(err, RLT_EUSAGE, "--export-plan",
                        "needs one --collective, one size of --bytes and one --algorithm");
    if (ask->reacting[0])
        return rlt_fail(err, RLT_EUNSUPPORTED, "--export-plan",
                        "%s reacts to arriving packets: it has no plan that could be written",
                        rlt_reactive_name(ask->reacting[0]->protocol));
    rlt_coll_request req = rlt_coll_request_of(ask, 0, 0);
    int rc = rlt_plan_create(ask->algorithms[0], &req, &plan, err);
    if (rc)
        return rc;
    rc = rlt_plan_write(&plan, format_of(format), &text, &length, err);
    if (!rc)
        rc = rlt_file_write(path, text, length, err);
    free(text);
    rlt_plan_free(&plan);
    return rc;
}
