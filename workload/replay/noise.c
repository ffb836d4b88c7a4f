/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Factors on durations, by rank and step. */
#include "workload/replay/noise.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/random.h"
#include "sim/base/words.h"

/* Purpose of the random streams. The place in the list is added; the entity is the rank. */
enum { PURPOSE = 0x6e6f6900 };

#define AT(field) RLT_FIELD(rlt_noise, field)
#define ON                                                                                                   \
    {                                                                                                        \
        "on", .kind = RLT_PARAM_CHOICE, AT(on), .words = "compute|host|both", .preset = "compute",           \
              .help = "work whose durations vary"                                                            \
    }
static const rlt_param lognormal[] = {{"cv", .kind = RLT_PARAM_NUMBER, AT(cv), .required = true, .max = 10,
                                       .help = "coefficient of variation, above 0"},
                                      ON,
                                      {0}};
static const rlt_param markov[] = {
    {"slow", .kind = RLT_PARAM_NUMBER, AT(slow), .required = true, .max = 1e6,
     .help = "factor on the durations of a slow rank, above 0"},
    {"enter", .kind = RLT_PARAM_NUMBER, AT(enter), .required = true, .max = 1,
     .help = "probability that a rank becomes slow from one step to the next, above 0"},
    {"leave", .kind = RLT_PARAM_NUMBER, AT(leave), .required = true, .max = 1,
     .help = "probability that a slow rank recovers from one step to the next, above 0"},
    ON,
    {0}};
#define NAME                                                                                                 \
    {                                                                                                        \
        "name", .kind = RLT_PARAM_NAME, AT(name),                                                            \
                .help = "part of the names of the operations that vary (default: all)"                       \
    }
static const rlt_param operation[] = {{"cv", .kind = RLT_PARAM_NUMBER, AT(cv), .required = true, .max = 10,
                                       .help = "coefficient of variation of each operation, above 0"},
                                      NAME,
                                      ON,
                                      {0}};
static const rlt_param measured[] = {NAME, ON, {0}};
#undef AT
#undef ON
#undef NAME
static const rlt_noise_info kinds[] = {[RLT_NOISE_LOGNORMAL] = {"lognormal", lognormal},
                                       [RLT_NOISE_MARKOV] = {"markov", markov},
                                       [RLT_NOISE_OPERATION] = {"operation", operation},
                                       [RLT_NOISE_MEASURED] = {"measured", measured}};
enum { N_KINDS = sizeof kinds / sizeof *kinds };

const rlt_noise_info *rlt_noise_kind_at(uint32_t i)
{
    return i < N_KINDS ? &kinds[i] : NULL;
}

static int check(const rlt_noise *n, rlt_error *err)
{
    if (n->kind == RLT_NOISE_MEASURED)
        return 0;
    if (n->kind != RLT_NOISE_MARKOV)
        return n->cv > 0 ? 0
                         : rlt_fail(err, RLT_EUSAGE, NULL, "%s needs cv above 0, such as cv=0.1",
                                    kinds[n->kind].name);
    return n->slow > 0 && n->enter > 0 && n->leave > 0
               ? 0
               : rlt_fail(err, RLT_EUSAGE, NULL,
                          "markov needs slow, enter and leave above 0, such as slow=2,enter=0.01,leave=0.2");
}

int rlt_noise_parse(const char *text, rlt_noise *out, rlt_error *err)
{
    size_t length = strcspn(text, ":");
    uint32_t kind = 0;
    while (kind < N_KINDS &&
           (strlen(kinds[kind].name) != length || memcmp(text, kinds[kind].name, length) != 0))
        kind++;
    if (kind == N_KINDS)
        return rlt_fail(err, RLT_EUSAGE, NULL,
                        "unknown noise '%.*s'; known are lognormal, markov, operation and measured",
                        (int)(length < 40 ? length : 40), text);
    *out = (rlt_noise){.kind = (rlt_noise_kind)kind};
    int rc = rlt_params_preset(kinds[kind].parameters, out, err);
    if (!rc)
        rc = rlt_params_set_list(kinds[kind].parameters, kinds[kind].name, out,
                                 text[length] ? text + length + 1 : NULL, err);
    return rc ? rc : check(out, err);
}

bool rlt_noise_by_operation(const rlt_noise *n)
{
    return n->kind == RLT_NOISE_OPERATION || n->kind == RLT_NOISE_MEASURED;
}

bool rlt_noise_is_on(const rlt_noise *n, bool host)
{
    return n->on != (host ? RLT_NOISE_ON_COMPUTE : RLT_NOISE_ON_HOST);
}

static void fill_markov(const rlt_noise *n, uint64_t seed, uint32_t rank, uint32_t purpose, uint32_t steps,
                        double *factors)
{
    bool slow = rlt_random_unit(seed, rank, purpose, 0) < n->enter / (n->enter + n->leave);
    for (uint32_t k = 0; k < steps; k++) {
        if (slow)
            factors[k] *= n->slow;
        if (rlt_random_unit(seed, rank, purpose, k + 1ull) < (slow ? n->leave : n->enter))
            slow = !slow;
    }
}

void rlt_noise_fill(const rlt_noise *list, uint32_t n, bool host, uint64_t seed, uint32_t ranks,
                    uint32_t steps, double *factors)
{
    for (uint32_t i = 0; i < n; i++)
        for (uint32_t r = 0;
             r < ranks && rlt_noise_is_on(&list[i], host) && !rlt_noise_by_operation(&list[i]); r++) {
            double *own = factors + (size_t)r * steps;
            if (list[i].kind == RLT_NOISE_MARKOV)
                fill_markov(&list[i], seed, r, PURPOSE + i, steps, own);
            else
                for (uint32_t k = 0; k < steps; k++)
                    own[k] *= rlt_random_lognormal(seed, r, PURPOSE + i, k, list[i].cv);
        }
}
