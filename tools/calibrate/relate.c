/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Relations between the machines of a family, for constants that machines share up to numbers of their data
 * sheets.
 *
 *   Example: {"scales": {"copy": "dims.0.bandwidth/thread_blocks"}}. Machines with 300 and 450 GB/s and 24
 *   thread blocks each have the factors 300 and 450 over their geometric mean, 0.82 and 1.22. A shared
 *   constant of 0.6 then means 0.49 on the first machine and 0.73 on the second.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "tools/calibrate/calibrate.h"

double rlt_machine_scale(const rlt_machine *m, const char *name)
{
    for (uint32_t i = 0; i < m->n_scales; i++)
        if (strcmp(m->scales[i].name, name) == 0)
            return m->scales[i].factor;
    return 1;
}

/* Computes a product such as "clock/dims.0.bandwidth" from numbers of the file and plain numbers. */
static int product(const rlt_machine *m, rlt_json root, rlt_json at, double *value, rlt_error *err)
{
    const char *p = rlt_json_string(at);
    bool over = false;
    *value = 1;
    if (!p)
        return rlt_json_fail(at, RLT_ESCHEMA, err, "expected a product, such as \"clock/dims.0.bandwidth\"");
    for (;;) {
        char name[64];
        size_t n = strcspn(p, "*/");
        double factor;
        while (n && *p == ' ')
            p++, n--;
        size_t end = n;
        while (end && p[end - 1] == ' ')
            end--;
        snprintf(name, sizeof name, "%.*s", (int)(end < 63 ? end : 63), p);
        bool plain = name[strspn(name, "0123456789.")] == 0;
        if (plain ? rlt_parse_number(name, 0, &factor, NULL, NULL) || factor <= 0
                  : !rlt_machine_number(m, root, name, &factor))
            return rlt_json_fail(at, RLT_ESCHEMA, err, "the file has no number above zero '%s'", name);
        *value = over ? *value / factor : *value * factor;
        p += n;
        if (!*p)
            return 0;
        over = *p++ == '/';
    }
}

static int read_relations(rlt_machine *m, bool shared, rlt_json root, rlt_error *err)
{
    rlt_json c = rlt_json_get(root, m->key), scales = rlt_json_get(c, "scales");
    const char *harness = NULL;
    int rc = rlt_json_get_string(c, "harness", false, &harness, err);
    m->n_scales = 0;
    snprintf(m->harness, sizeof m->harness, "%s", harness && !shared ? harness : "");
    for (rlt_json s = rlt_json_first(scales); rlt_json_is(s) && !rc; s = rlt_json_next(s)) {
        if (m->n_scales == RLT_MAX_SCALES)
            return rlt_json_fail(s, RLT_ERANGE, err, "more than %d scales", RLT_MAX_SCALES);
        snprintf(m->scales[m->n_scales].name, sizeof m->scales->name, "%s", rlt_json_key(s));
        rc = product(m, root, s, &m->scales[m->n_scales].factor, err);
        m->n_scales++;
    }
    return rc;
}

/* Makes the factors relative. The first machine names the relations; the others must have the same. */
static int normalise(rlt_machine *machines, uint32_t n, rlt_error *err)
{
    for (uint32_t i = 1; i < n; i++)
        if (machines[i].n_scales != machines[0].n_scales ||
            strcmp(machines[i].harness, machines[0].harness) != 0)
            return rlt_fail(err, RLT_ESCHEMA, machines[i].path,
                            "its scales and harness differ from those of %s, of the same family",
                            machines[0].path);
    for (uint32_t s = 0; n && s < machines[0].n_scales; s++) {
        double mean = 0;
        for (uint32_t i = 0; i < n; i++) {
            if (strcmp(machines[i].scales[s].name, machines[0].scales[s].name) != 0)
                return rlt_fail(err, RLT_ESCHEMA, machines[i].path, "it scales '%s' where %s scales '%s'",
                                machines[i].scales[s].name, machines[0].path, machines[0].scales[s].name);
            mean += log(machines[i].scales[s].factor) / n;
        }
        for (uint32_t i = 0; i < n; i++)
            machines[i].scales[s].factor /= exp(mean);
    }
    return 0;
}

int rlt_machines_relate(rlt_machine *machines, uint32_t n, bool shared, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < n && !rc; i++) {
        rlt_json_doc *doc;
        if ((rc = rlt_json_parse(machines[i].path, machines[i].text, machines[i].length, &doc, err)))
            break;
        rc = read_relations(&machines[i], shared, rlt_json_root(doc), err);
        rlt_json_free(doc);
    }
    return rc ? rc : normalise(machines, n, err);
}
