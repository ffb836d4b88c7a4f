/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Collectives and algorithms that a list names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/in_network/reactive.h"
#include "collectives/library.h"
#include "sim/base/error.h"
#include "sim/base/words.h"
#include "workload/experiment/coll/coll.h"
#include "workload/experiment/coll/load.h"
#include "workload/setup/settings.h"

static int unknown_kind(const char *word, const rlt_error *why, rlt_error *err)
{
    rlt_nearest near = rlt_nearest_to(word);
    for (int k = 0; k < RLT_COLL_KINDS; k++)
        rlt_nearest_try(&near, rlt_coll_name((rlt_coll_kind)k));
    if (near.best)
        return rlt_fail(err, RLT_EUSAGE, "--collective", "unknown collective '%s'; did you mean '%s'?", word,
                        near.best);
    return rlt_fail(err, RLT_EUSAGE, "--collective", "%s", why->what);
}

int rlt__coll_kinds(rlt_coll_load *l, rlt_error *err)
{
    rlt_coll_ask *ask = l->ask;
    const char *cursor = ask->settings->collective, *item;
    size_t length;
    while ((item = rlt_next_item(&cursor, ',', &length))) {
        char word[48];
        rlt_coll_kind kind;
        rlt_error why = {0};
        bool all = length == 3 && strncmp(item, "all", 3) == 0;
        snprintf(word, sizeof word, "%.*s", (int)(length < 47 ? length : 47), item);
        for (int k = 0; all && k < RLT_COLL_KINDS; k++)
            l->kinds[k] = (rlt_coll_kind)k;
        if (all) {
            ask->n_kinds = RLT_COLL_KINDS;
            return 0;
        }
        if (rlt_coll_parse(word, &kind, &why))
            return unknown_kind(word, &why, err);
        if (ask->n_kinds == RLT_COLL_KINDS)
            return rlt_fail(err, RLT_EUSAGE, "--collective", "expected each collective once");
        l->kinds[ask->n_kinds++] = kind;
    }
    return 0;
}

/* Takes all algorithms. Includes reactive protocols only if --algorithm is given and a switch aggregates. */
static int take_all(rlt_coll_load *l, rlt_error *err)
{
    rlt_coll_ask *ask = l->ask;
    const rlt_reactive *r;
    uint32_t n = 0;
    ask->all_algorithms = true;
    for (; rlt_algorithm_at(n) && n < RLT_COLL_ALGORITHMS; n++)
        ask->algorithms[n] = rlt_algorithm_at(n);
    ask->n_algorithms = n;
    for (uint32_t i = 0; ask->settings->algorithm && (r = rlt_reactive_at(i)); i++) {
        if (n + i >= RLT_COLL_ALGORITHMS)
            return rlt_fail(err, RLT_EUSAGE, "--algorithm", "expected at most %d algorithms",
                            RLT_COLL_ALGORITHMS);
        l->protocols[l->n_protocols++] = r;
    }
    return 0;
}

void rlt__coll_place_protocols(rlt_coll_load *l)
{
    rlt_coll_ask *ask = l->ask;
    uint32_t next = 0;
    for (uint32_t i = 0; i < ask->n_algorithms && !ask->all_algorithms; i++)
        if (l->named[i])
            ask->reacting[i] = &ask->setup.protocols[next++];
    for (; next < ask->setup.n_protocols; next++)
        ask->reacting[ask->n_algorithms++] = &ask->setup.protocols[next];
}

enum { LABEL = 48, MOST_NAMES = 40 };
struct rlt_coll_label {
    char name[MOST_NAMES][LABEL]; /* by place of the algorithm */
};

/* Reads "auto=nccl-2.23", and names the rows that it gives: "tree@nccl-2.23". */
static int take_version(rlt_coll_ask *ask, const char *version, rlt_error *err)
{
    uint32_t at = ask->n_algorithms;
    int rc = rlt_library_read(version, &ask->libraries[at], err);
    if (rc) {
        rlt_error_prefix(err, "--algorithm: auto");
        return rc;
    }
    if (!ask->labels)
        ask->labels = calloc(RLT_COLL_ALGORITHMS, sizeof *ask->labels);
    if (!ask->labels)
        return rlt_nomem(err);
    for (uint32_t k = 0; k < MOST_NAMES && rlt_algorithm_at(k); k++)
        snprintf(ask->labels[at].name[k], LABEL, "%.28s@%.16s", rlt_algorithm_at(k)->name, version);
    return 0;
}

const char *rlt_coll_label_of(const rlt_coll_ask *ask, uint32_t i, const rlt_algorithm *a)
{
    uint32_t at = i % ask->n_algorithms, k = 0;
    while (k < MOST_NAMES && rlt_algorithm_at(k) && rlt_algorithm_at(k) != a)
        k++;
    bool known = k < MOST_NAMES && rlt_algorithm_at(k);
    return ask->libraries[at] && known ? ask->labels[at].name[k] : a->name;
}

int rlt__coll_algorithms(rlt_coll_load *l, const char *text, rlt_error *err)
{
    rlt_coll_ask *ask = l->ask;
    const char *cursor = text, *item;
    size_t length;
    if (strcmp(text, "all") == 0)
        return take_all(l, err);
    while ((item = rlt_next_item(&cursor, ',', &length))) {
        char word[48];
        const rlt_algorithm *table[RLT_COLL_KINDS], *found = NULL;
        snprintf(word, sizeof word, "%.*s", (int)(length < 47 ? length : 47), item);
        if (ask->n_algorithms == RLT_COLL_ALGORITHMS)
            return rlt_fail(err, RLT_EUSAGE, "--algorithm", "expected at most %d algorithms",
                            RLT_COLL_ALGORITHMS);
        const rlt_reactive *protocol = rlt_find_protocol(word, strlen(word));
        if (protocol)
            l->protocols[l->n_protocols++] = protocol;
        l->named[ask->n_algorithms] = protocol;
        if (strncmp(word, "auto=", 5) == 0) {
            int rc = take_version(ask, word + 5, err);
            if (rc)
                return rc;
        } else if (strcmp(word, "auto") != 0 && !protocol) {
            int rc = strchr(word, '=') ? rlt_fail(err, RLT_EUSAGE, "--algorithm",
                                                  "expected the name of an algorithm, got '%s'", word)
                                       : rlt_parse_algorithms(word, table, err);
            if (rc)
                return rc;
            for (int k = 0; k < RLT_COLL_KINDS; k++)
                found = table[k] ? table[k] : found;
        }
        ask->algorithms[ask->n_algorithms++] = found;
    }
    return 0;
}
