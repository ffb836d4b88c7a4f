/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Detects the format of a plan and calls its reader or writer. */
#include "collectives/formats/plan_file.h"

#include <stdlib.h>
#include <string.h>

#include "collectives/formats/msccl.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/text/file.h"

#define MAX_FILE_BYTES ((size_t)256 << 20)

const char *rlt_plan_format_name(rlt_plan_format format)
{
    static const char *const names[] = {"json", "msccl", "goal"};
    return format < RLT_PLAN_FORMATS ? names[format] : "unknown";
}

static int parse_any(const char *file, const char *text, size_t length, const rlt_goal_hint *hint,
                     rlt_listed *out, rlt_error *err)
{
    size_t mark = length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0; /* byte order mark */
    size_t i = mark;
    while (i < length && strchr(" \t\r\n", text[i]))
        i++;
    *out = (rlt_listed){0};
    if (i < length && text[i] == '<')
        return rlt_msccl_parse(file, text, length, out, err);
    if (i < length && text[i] == '{')
        return rlt_plan_json_parse(file, text, length, out, err);
    if (i < length && (text[i] == '/' || text[i] == 'n'))
        return rlt_goal_parse(file, text + mark, length - mark, hint, out, err);
    return rlt_fail(
        err, RLT_EMALFORMED, file,
        "not a plan: expected MSCCL XML ('<algo ...'), ringlet's JSON ('{') or GOAL ('num_ranks')");
}

int rlt_plan_parse(const char *file, const char *text, size_t length, const rlt_goal_hint *hint,
                   rlt_listed *out, rlt_error *err)
{
    rlt_error why = {0};
    int rc = parse_any(file, text, length, hint, out, &why);
    if (rc && strncmp(why.where, file, strlen(file)) != 0) /* the check names the plan, not its file */
        rlt_error_prefix(&why, file);
    return rc ? rlt_fail(err, rc, why.where, "%s", why.what) : 0;
}

int rlt_plan_load(const char *path, const rlt_goal_hint *hint, rlt_listed *out, rlt_error *err)
{
    char *text = NULL;
    size_t length = 0;
    *out = (rlt_listed){0};
    int rc = rlt_read_file(path, MAX_FILE_BYTES, &text, &length, err);
    if (!rc)
        rc = rlt_plan_parse(path, text, length, hint, out, err);
    free(text);
    return rc;
}

int rlt_plan_write(const rlt_plan *plan, rlt_plan_format format, char **text, size_t *length, rlt_error *err)
{
    const char *name = plan->algorithm == &rlt_custom ? plan->req.listed->name : plan->algorithm->name;
    if (plan->req.counts)
        return rlt_fail(err, RLT_EUNSUPPORTED, name, "plans with counts cannot be written to a file");
    switch (format) {
    case RLT_PLAN_JSON:
        return rlt_plan_json_write(plan, name, text, length, err);
    case RLT_PLAN_MSCCL:
        return rlt_msccl_write(plan, name, text, length, err);
    default:
        return rlt_goal_write(plan, name, text, length, err);
    }
}
