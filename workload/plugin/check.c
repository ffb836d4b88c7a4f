/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Proves all entries of a plug-in, one line each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "sim/base/error.h"
#include "workload/models/model.h"
#include "workload/plugin/internal.h"
#include "workload/plugin/plugin.h"
#include "workload/program/reader.h"
#include "workload/training/training.h"

enum { LINE = 320 };

/* Appends a line such as "algorithm mine: 123 plans ...". */
static int put(char **text, const char *what, const char *name, const char *line, rlt_error *err)
{
    size_t used = *text ? strlen(*text) : 0, size = used + strlen(what) + strlen(name) + strlen(line) + 5;
    char *longer = realloc(*text, size);
    if (!longer)
        return rlt_nomem(err);
    *text = longer;
    snprintf(longer + used, size - used, "%s %s: %s\n", what, name, line);
    return 0;
}

static int named(int rc, const char *what, const char *name, rlt_error *err)
{
    char where[160];
    snprintf(where, sizeof where, "%s %.64s", what, name);
    if (rc)
        rlt_error_prefix(err, where);
    return rc;
}

int rlt_plugin_check(const rlt_plugin *p, const char *scratch, char **text, rlt_error *err)
{
    char line[LINE];
    int rc = 0;
    *text = NULL;
    for (uint32_t i = 0; !rc && p->algorithms && p->algorithms[i]; i++) {
        const rlt_algorithm *a = p->algorithms[i];
        rc = named(rlt__prove_algorithm(a, line, sizeof line, err), "algorithm", a->name, err);
        rc = rc ? rc : put(text, "algorithm", a->name, line, err);
    }
    for (uint32_t i = 0; !rc && p->readers && p->readers[i]; i++) {
        const rlt_reader *r = p->readers[i];
        rc = named(rlt__prove_reader(r, &p->samples[i], scratch, line, sizeof line, err), "reader", r->name,
                   err);
        rc = rc ? rc : put(text, "reader", r->name, line, err);
    }
    for (uint32_t i = 0; !rc && p->families && p->families[i]; i++) {
        const rlt_model_family *f = p->families[i];
        rc = named(rlt__prove_family(f, line, sizeof line, err), "model", f->name, err);
        rc = rc ? rc : put(text, "model", f->name, line, err);
    }
    for (uint32_t i = 0; !rc && p->strategies && p->strategies[i]; i++) {
        const rlt_training_strategy *s = p->strategies[i];
        rc = named(rlt__prove_strategy(s, line, sizeof line, err), "strategy", s->name, err);
        rc = rc ? rc : put(text, "strategy", s->name, line, err);
    }
    if (rc) {
        free(*text);
        *text = NULL;
    }
    return rc;
}
