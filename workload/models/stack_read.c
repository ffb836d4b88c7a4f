/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads software stacks from JSON, one in each file of workload/stacks/:
 *
 *   name, source      texts
 *   most              factors on an accelerator's efficiencies, by kind of work: 0.01 to 10; default 1
 *   precisions        factors on matmul by precision; default 1 each
 *   host_kernel       time per kernel: "50us"; default 0
 *   host_expert       time per layer of experts and microbatch; default 0
 *   host_pass         time per pass of a microbatch through a stage; default 0
 *   host_handover     time per such pass in a pipeline, to synchronise and hand over; default 0
 *   host_image        time per image that the training process loads itself; default 0
 *   host              time per iteration; default 0
 *   spread            by kind of model, on accelerators that were not measured (evidence.c)
 *   score_passes      times that a forward pass reads or writes a score of attention, if the stack does not
 *                     fuse attention: 0 to 100; default 0, as the model says
 */
#include "workload/models/stack_read.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/find.h"
#include "sim/text/json.h"
#include "workload/models/model.h"
#include "workload/models/stack.h"

static const rlt__bounds factors = {0.01, 10}, passes = {0, 100};

int rlt__read_text(rlt_json v, const char *key, bool required, char *out, size_t size, rlt_error *err)
{
    const char *text = NULL;
    int rc = rlt_json_get_string(v, key, required, &text, err);
    if (rc || !text)
        return rc;
    if (!*text || strlen(text) >= size)
        return rlt_json_fail(rlt_json_get(v, key), RLT_ERANGE, err, "expected a text of 1 to %zu bytes",
                             size - 1);
    snprintf(out, size, "%s", text);
    rlt_make_printable(out);
    return 0;
}

int rlt__read_number(rlt_json v, const char *key, bool required, rlt__bounds in, double *out, rlt_error *err)
{
    int rc = rlt_json_get_double(v, key, required, out, err);
    if (!rc && !(*out >= in.least && *out <= in.most))
        rc = rlt_json_fail(rlt_json_get(v, key), RLT_ERANGE, err, "expected a number from %g to %g", in.least,
                           in.most);
    return rc;
}

int rlt__read_kinds(rlt_json v, rlt_json parent, bool required, rlt__bounds in, double out[RLT_WORK_KINDS],
                    rlt_error *err)
{
    static const char *const kinds[] = {"matmul", "attention", "convolution", "lookup", "vector", NULL};
    int rc = 0;
    if (!rlt_json_is(v))
        return required ? rlt_json_fail(parent, RLT_ESCHEMA, err, "missing 'most'") : 0;
    if ((rc = rlt_json_only(v, kinds, err)))
        return rc;
    for (int k = 0; k < RLT_WORK_KINDS && !rc; k++)
        rc = rlt__read_number(v, kinds[k], required, in, &out[k], err);
    return rc;
}

int rlt__read_factors(rlt_json object, rlt_precision_factors *f, rlt_error *err)
{
    int rc = 0;
    if (rlt_json_is(object) && !rlt_json_is_object(object))
        return rlt_json_fail(object, RLT_ESCHEMA, err, "expected an object such as {\"fp8\": 0.84}");
    for (rlt_json v = rlt_json_first(object); rlt_json_is(v) && !rc; v = rlt_json_next(v)) {
        const char *name = rlt_json_key(v);
        if (f->n == RLT_MAX_PEAKS || !*name || strlen(name) >= sizeof f->at[0].precision)
            return rlt_json_fail(v, RLT_ESCHEMA, err, "expected at most %d precisions, such as fp8",
                                 RLT_MAX_PEAKS);
        snprintf(f->at[f->n].precision, sizeof f->at[0].precision, "%s", name);
        f->at[f->n].factor = 1;
        rc = rlt__read_number(object, name, true, factors, &f->at[f->n++].factor, err);
    }
    return rc;
}

static int read_stack(rlt_json v, rlt_stack *s, rlt_error *err)
{
    static const char *const keys[] = {
        "name",          "source",     "most", "precisions", "host_kernel",  "host_expert", "host_pass",
        "host_handover", "host_image", "host", "spread",     "score_passes", NULL};
    int rc;
    *s = (rlt_stack){.most = {1, 1, 1, 1, 1}};
    if ((rc = rlt_json_only(v, keys, err)) ||
        (rc = rlt__read_text(v, "name", true, s->name, sizeof s->name, err)) ||
        (rc = rlt__read_text(v, "source", false, s->source, sizeof s->source, err)) ||
        (rc = rlt__read_kinds(rlt_json_get(v, "most"), v, false, factors, s->most, err)) ||
        (rc = rlt__read_factors(rlt_json_get(v, "precisions"), &s->precisions, err)) ||
        (rc = rlt_json_get_duration(v, "host_kernel", false, &s->host_kernel_ps, err)) ||
        (rc = rlt_json_get_duration(v, "host_expert", false, &s->host_expert_ps, err)) ||
        (rc = rlt_json_get_duration(v, "host_pass", false, &s->host_pass_ps, err)) ||
        (rc = rlt_json_get_duration(v, "host_handover", false, &s->host_handover_ps, err)) ||
        (rc = rlt_json_get_duration(v, "host_image", false, &s->host_image_ps, err)) ||
        (rc = rlt__read_number(v, "score_passes", false, passes, &s->score_passes, err)) ||
        (rc = rlt__read_spreads(rlt_json_get(v, "spread"), s->spread, err)))
        return rc;
    return rlt_json_get_duration(v, "host", false, &s->host_ps, err);
}

static bool has(const rlt_stack *list, uint32_t n, const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0)
            return true;
    return false;
}

/* Adds a stack. One of this name that is there already stays, or is an error. */
static int add_stack(rlt_json v, rlt_stack *list, uint32_t *n, bool first_wins, rlt_error *err)
{
    rlt_stack s;
    int rc = read_stack(v, &s, err);
    if (rc || (first_wins && has(list, *n, s.name)))
        return rc;
    if (has(list, *n, s.name))
        return rlt_json_fail(v, RLT_ESCHEMA, err, "a second stack '%s': expected one", s.name);
    if (*n == RLT_MAX_STACKS)
        return rlt_json_fail(v, RLT_ERANGE, err, "more than %d stacks", RLT_MAX_STACKS);
    list[(*n)++] = s;
    return 0;
}

int rlt__read_stacks(rlt_json array, rlt_stack *list, uint32_t *n, rlt_error *err)
{
    int rc = 0;
    if (rlt_json_is(array) && !rlt_json_is_array(array))
        return rlt_json_fail(array, RLT_ESCHEMA, err, "expected an array of stacks");
    for (rlt_json v = rlt_json_first(array); rlt_json_is(v) && !rc; v = rlt_json_next(v))
        rc = add_stack(v, list, n, false, err);
    return rc;
}

int rlt__load_stacks(const char *dirs, rlt_stack *list, uint32_t *n, rlt_error *err)
{
    static const char *const endings[] = {".json", NULL};
    char dir[PATH_MAX], beside[PATH_MAX + 16], path[PATH_MAX];
    int rc = 0;
    while (!rc && dirs && rlt_find_next_dir(&dirs, dir, sizeof dir)) {
        rlt_found found;
        snprintf(beside, sizeof beside, "%s/../stacks", dir);
        rc = rlt_find_all(beside, endings, &found, err);
        for (uint32_t i = 0; i < found.n && !rc; i++) {
            rlt_json_doc *doc = NULL;
            if (!rlt_find_file(beside, found.names[i], path, sizeof path))
                continue;
            if (!(rc = rlt_json_load(path, &doc, err)))
                rc = add_stack(rlt_json_root(doc), list, n, true, err);
            rlt_json_free(doc);
        }
        rlt_find_free(&found);
    }
    return rc;
}
