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

#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/text/json.h"
#include "workload/models/model.h"
#include "workload/models/stack.h"

static const rlt_json_bounds factors = {0.01, 10}, passes = {0, 100};

int rlt__read_kinds(rlt_json v, rlt_json parent, bool required, rlt_json_bounds in,
                    double out[RLT_WORK_KINDS], rlt_error *err)
{
    static const char *const kinds[] = {"matmul", "attention", "convolution", "lookup", "vector", NULL};
    int rc = 0;
    if (!rlt_json_is(v))
        return required ? rlt_json_fail(parent, RLT_ESCHEMA, err, "missing 'most'") : 0;
    if ((rc = rlt_json_only(v, kinds, err)))
        return rc;
    for (int k = 0; k < RLT_WORK_KINDS && !rc; k++)
        rc = rlt_json_get_within(v, kinds[k], required, in, &out[k], err);
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
        rc = rlt_json_get_within(object, name, true, factors, &f->at[f->n++].factor, err);
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
        (rc = rlt_json_get_text(v, "name", true, s->name, sizeof s->name, err)) ||
        (rc = rlt_json_get_text(v, "source", false, s->source, sizeof s->source, err)) ||
        (rc = rlt__read_kinds(rlt_json_get(v, "most"), v, false, factors, s->most, err)) ||
        (rc = rlt__read_factors(rlt_json_get(v, "precisions"), &s->precisions, err)) ||
        (rc = rlt_json_get_duration(v, "host_kernel", false, &s->host_kernel_ps, err)) ||
        (rc = rlt_json_get_duration(v, "host_expert", false, &s->host_expert_ps, err)) ||
        (rc = rlt_json_get_duration(v, "host_pass", false, &s->host_pass_ps, err)) ||
        (rc = rlt_json_get_duration(v, "host_handover", false, &s->host_handover_ps, err)) ||
        (rc = rlt_json_get_duration(v, "host_image", false, &s->host_image_ps, err)) ||
        (rc = rlt_json_get_within(v, "score_passes", false, passes, &s->score_passes, err)) ||
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

typedef struct stacks {
    rlt_stack *list;
    uint32_t *n;
} stacks;

static int add_file(void *ctx, rlt_json top, rlt_error *err)
{
    stacks *s = ctx;
    return add_stack(top, s->list, s->n, true, err);
}

int rlt__load_stacks(const char *dirs, rlt_stack *list, uint32_t *n, rlt_error *err)
{
    stacks s = {list, n};
    return rlt_json_load_beside(dirs, "stacks", add_file, &s, err);
}
