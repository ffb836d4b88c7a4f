/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names of the collectives and the bus bandwidth factors of nccl-tests. */
#include "collectives/collective.h"

#include <ctype.h>
#include <string.h>

static const char *const names[RLT_COLL_KINDS] = {
#define RLT_X(e, name) [e] = name,
    RLT_COLLECTIVE_LIST(RLT_X)
#undef RLT_X
};

const char *rlt_coll_name(rlt_coll_kind kind)
{
    return (unsigned)kind < RLT_COLL_KINDS ? names[kind] : "unknown";
}

/* Whether two names are equal up to case and separators. */
static bool same_name(const char *a, const char *b)
{
    for (;;) {
        while (*a == '_' || *a == '-' || *a == ' ')
            a++;
        while (*b == '_' || *b == '-' || *b == ' ')
            b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (*a == '\0')
            return true;
        a++;
        b++;
    }
}

int rlt_coll_parse(const char *name, rlt_coll_kind *kind, rlt_error *err)
{
    for (int k = 0; k < RLT_COLL_KINDS; k++) {
        if (same_name(name, names[k])) {
            *kind = (rlt_coll_kind)k;
            return 0;
        }
    }
    char known[256] = "";
    for (int k = 0; k < RLT_COLL_KINDS; k++) {
        rlt_list_name(known, sizeof known, names[k]);
    }
    return rlt_fail(err, RLT_ESCHEMA, NULL, "unknown collective '%s'; known: %s", name, known);
}

uint32_t rlt_dtype_bytes(const char *name)
{
    static const struct {
        const char *name;
        uint32_t bytes;
    } types[] = {{"int8", 1},  {"uint8", 1},    {"char", 1},   {"fp8", 1},     {"f8e4m3", 1},  {"f8e5m2", 1},
                 {"half", 2},  {"bfloat16", 2}, {"fp16", 2},   {"bf16", 2},    {"float16", 2}, {"float", 4},
                 {"int32", 4}, {"uint32", 4},   {"fp32", 4},   {"float32", 4}, {"int", 4},     {"double", 8},
                 {"int64", 8}, {"uint64", 8},   {"float64", 8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (same_name(name, types[i].name))
            return types[i].bytes;
    return 0;
}

double rlt_busbw_factor(rlt_coll_kind kind, uint32_t n)
{
    double share = n > 0 ? (double)(n - 1) / (double)n : 0.0;
    switch (kind) {
    case RLT_ALL_REDUCE:
        return 2.0 * share;
    case RLT_REDUCE_SCATTER:
    case RLT_ALL_GATHER:
    case RLT_ALL_TO_ALL:
    case RLT_GATHER:
    case RLT_SCATTER:
        return share;
    default:
        return 1.0;
    }
}

void rlt_request_params(rlt_coll_request *req, const rlt_coll_params *params)
{
    req->params = *params;
    memset(req->params.patterns, 0, sizeof req->params.patterns);
    rlt_request_patterns(req, params->patterns);
}

void rlt_request_patterns(rlt_coll_request *req, const char *const by_dimension[RLT_MAX_DIMS])
{
    for (uint32_t i = 0; i < req->n_dims; i++)
        req->params.patterns[i] = req->axes[i] < RLT_MAX_DIMS ? by_dimension[req->axes[i]] : NULL;
}
