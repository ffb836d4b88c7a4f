/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Factors on durations, by rank and step. */
#include "workload/replay/noise.h"

#include <stdio.h>
#include <string.h>

#include "sim/base/random.h"
#include "sim/base/units.h"
#include "sim/base/words.h"

/* Purpose of its random streams; the place in the list is added, the rank is the entity. */
enum { PURPOSE = 0x6e6f6900 };

static int set(rlt_noise *n, const char *name, const char *value, rlt_error *err)
{
    const struct {
        const char *name;
        rlt_noise_kind kind;
        double *field, max;
    } numbers[] = {{"cv", RLT_NOISE_LOGNORMAL, &n->cv, 10},
                   {"slow", RLT_NOISE_MARKOV, &n->slow, 1e6},
                   {"enter", RLT_NOISE_MARKOV, &n->enter, 1},
                   {"leave", RLT_NOISE_MARKOV, &n->leave, 1}};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        if (strcmp(name, numbers[i].name) != 0 || numbers[i].kind != n->kind)
            continue;
        int rc = rlt_parse_number(value, 0, numbers[i].field, name, err);
        if (rc || *numbers[i].field <= numbers[i].max)
            return rc;
        return rlt_fail(err, RLT_EUSAGE, name, "expected 0 to %g, got '%.40s'", numbers[i].max, value);
    }
    if (strcmp(name, "on") != 0)
        return rlt_fail(err, RLT_EUSAGE, name, "unknown setting; %s has %s and on",
                        n->kind == RLT_NOISE_MARKOV ? "markov" : "lognormal",
                        n->kind == RLT_NOISE_MARKOV ? "slow, enter, leave" : "cv");
    n->compute = strcmp(value, "host") != 0;
    n->host = strcmp(value, "compute") != 0;
    return !n->compute || !n->host || strcmp(value, "both") == 0
               ? 0
               : rlt_fail(err, RLT_EUSAGE, name, "expected compute, host or both, got '%.40s'", value);
}

static int check(const rlt_noise *n, rlt_error *err)
{
    if (n->kind == RLT_NOISE_LOGNORMAL)
        return n->cv > 0 ? 0 : rlt_fail(err, RLT_EUSAGE, NULL, "lognormal needs cv above 0, such as cv=0.1");
    return n->slow > 0 && n->enter > 0 && n->leave > 0
               ? 0
               : rlt_fail(err, RLT_EUSAGE, NULL,
                          "markov needs slow, enter and leave above 0, such as slow=2,enter=0.01,leave=0.2");
}

int rlt_noise_parse(const char *text, rlt_noise *out, rlt_error *err)
{
    size_t length = strcspn(text, ":");
    int rc = 0;
    *out = (rlt_noise){.compute = true};
    if (length == 6 && memcmp(text, "markov", length) == 0)
        out->kind = RLT_NOISE_MARKOV;
    else if (length != 9 || memcmp(text, "lognormal", length) != 0)
        return rlt_fail(err, RLT_EUSAGE, NULL, "unknown noise '%.*s'; known are lognormal and markov",
                        (int)(length < 40 ? length : 40), text);
    if (text[length])
        rc = rlt_names_once(text + length + 1, err);
    for (const char *at = text + length; *at && !rc; at += strcspn(at, ",")) {
        char item[80];
        at++; /* the colon, or a comma */
        snprintf(item, sizeof item, "%.*s", (int)(strcspn(at, ",") < 79 ? strcspn(at, ",") : 79), at);
        char *equals = strchr(item, '=');
        if (!equals)
            return rlt_fail(err, RLT_EUSAGE, NULL, "expected NAME=VALUE, got '%s'", item);
        *equals = '\0';
        rc = set(out, item, equals + 1, err);
    }
    return rc ? rc : check(out, err);
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
        for (uint32_t r = 0; r < ranks && (host ? list[i].host : list[i].compute); r++) {
            double *own = factors + (size_t)r * steps;
            if (list[i].kind == RLT_NOISE_MARKOV)
                fill_markov(&list[i], seed, r, PURPOSE + i, steps, own);
            else
                for (uint32_t k = 0; k < steps; k++)
                    own[k] *= rlt_random_lognormal(seed, r, PURPOSE + i, k, list[i].cv);
        }
}
