/* SPDX-License-Identifier: GPL-3.0-or-later */
/* --mine: a layout of the user, as a run beside the search. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/text.h"
#include "sim/base/words.h"
#include "tools/plan/plan.h"
#include "workload/experiment/layouts/layouts.h"
#include "workload/plan/plan.h"
#include "workload/training/training.h"

/* Checks that each item is an axis, or dp, with a value. */
static int check(const char *list, rlt_error *err)
{
    const char *item;
    size_t length;
    rlt_training t = rlt_training_default();
    int rc = rlt_names_once(list, err);
    while (!rc && (item = rlt_next_item(&list, ',', &length))) {
        char name[32], value[RLT_LAYOUT_WORD + 1];
        size_t n = strcspn(item, "=,");
        snprintf(name, sizeof name, "%.*s", (int)n, item);
        if (n >= length || (!rlt_layout_is_axis(name) && strcmp(name, "dp") != 0))
            return rlt_fail(
                err, RLT_EUSAGE, "--mine",
                "expected axes of a search with one value each, such as tp=8,pp=2,microbatch=1, got "
                "'%.*s'",
                (int)length, item);
        snprintf(value, sizeof value, "%.*s", (int)(length - n - 1), item + n + 1);
        rc = rlt_training_set(&t, name, value, err);
    }
    if (rc)
        rlt_error_prefix(err, "--mine");
    return rc;
}

/* Returns true if a list has a setting of this name. */
static bool names(const char *list, const char *name)
{
    const char *item;
    size_t length, n = strlen(name);
    while ((item = rlt_next_item(&list, ',', &length)))
        if (length > n && strncmp(item, name, n) == 0 && item[n] == '=')
            return true;
    return false;
}

/* Writes the settings: what the search fixes, and the list over it. */
static int write_settings(const rlt_layouts *l, const char *list, char **out, rlt_error *err)
{
    rlt_growing text = {0};
    size_t length;
    rlt_growing_add(&text, "%s%s", l->layout ? l->layout : "", l->layout ? "," : "");
    for (uint32_t i = 0; i < l->space.n; i++) {
        const rlt_layout_axis *a = &l->space.axes[i];
        if (a->n == 1 && !names(list, a->name))
            rlt_growing_add(&text, "%s=%s,", a->name, a->values[0]);
    }
    rlt_growing_add(&text, "%s", list);
    return rlt_growing_finish(&text, out, &length, err);
}

int rlt_plan_mine_run(const rlt_layouts *l, const rlt_plan_asked *s, const rlt_parsed *args,
                      rlt_plan_mine *out, rlt_error *err)
{
    rlt_plan_asked folded = *s;
    *out = (rlt_plan_mine){.asked = s->mine != NULL};
    folded.verify = false; /* as the times of the search */
    if (!s->mine)
        return 0;
    int rc = check(s->mine, err);
    if (!rc)
        rc = write_settings(l, s->mine, &out->layout, err);
    if (rc)
        return rc;
    rc = rlt_plan_run_settings(l, &folded, args, &(rlt_plan_texts){out->layout, l->train}, &out->run,
                               &out->why);
    out->runs = rc == 0;
    if (rc == 0 || rc == RLT_ESCHEMA || rc == RLT_ERANGE)
        return 0;
    if (err)
        *err = out->why;
    return rc;
}

void rlt_plan_mine_free(rlt_plan_mine *m)
{
    free(m->layout);
    free(m->run.command);
    *m = (rlt_plan_mine){.asked = false};
}
