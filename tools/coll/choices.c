/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes at which `auto` changes its choice, for --why. */
#include <stdio.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/candidate.h"
#include "collectives/collective.h"
#include "collectives/selector.h"
#include "collectives/stated.h"
#include "sim/base/units.h"
#include "tools/base/message.h"
#include "tools/coll/coll.h"
#include "workload/experiment/coll/coll.h"

typedef struct choice {
    char name[96];
} choice;

/* The choice for `bytes`; "" if nothing chooses by size there. */
static choice choose(const rlt_coll_request *like, uint64_t bytes)
{
    rlt_candidate all[RLT_MAX_CANDIDATES];
    rlt_coll_request req = *like;
    choice c = {""};
    req.bytes = bytes;
    const rlt_algorithm *stated = rlt_algorithm_stated(&req);
    if (stated)
        snprintf(c.name, sizeof c.name, "%s", stated->name);
    else if (rlt_candidates(&req, all) > 0 && !all[0].excluded)
        rlt_candidate_name(&all[0], rlt_request_endpoint(&req), c.name, sizeof c.name);
    return c;
}

static bool same(const choice *a, const choice *b)
{
    return strcmp(a->name, b->name) == 0;
}

/* Appends "; NAME from SIZE on". */
static size_t append(char *line, size_t used, size_t size, const choice *c, uint64_t bytes)
{
    char from[32];
    int n = used < size ? snprintf(line + used, size - used, "; %s from %s on", c->name,
                                   rlt_format_size(from, sizeof from, bytes))
                        : 0;
    return used + (n > 0 ? (size_t)n : 0);
}

/* Lists the changes between two sizes. Corrections by size step at powers of two, so each is looked at.
 * Between two neighbours there is one change at most, found by bisection. */
static void list_changes(const rlt_coll_request *like, uint64_t first, uint64_t last, char *line, size_t size)
{
    choice at = choose(like, first);
    size_t used = (size_t)snprintf(line, size, "%s", at.name);
    for (uint64_t low = first; low < last;) {
        uint64_t high = 1;
        while (high <= low && high <= last / 2)
            high *= 2;
        high = high <= low || high > last ? last : high;
        choice next = choose(like, high);
        uint64_t below = low, above = high;
        while (!same(&at, &next) && above - below > 1) {
            uint64_t middle = below + (above - below) / 2;
            choice there = choose(like, middle);
            if (same(&there, &at))
                below = middle;
            else
                above = middle;
        }
        if (!same(&at, &next)) {
            next = choose(like, above); /* a third one may lie between */
            used = append(line, used, size, &next, above);
            high = above;
        }
        at = next;
        low = high;
    }
}

/* One line: the choices for a request of some size. */
static void note_choices(const rlt_coll_request *req, uint64_t first, uint64_t last)
{
    char line[600], chooser[120];
    if (!choose(req, first).name[0] || (!rlt_chooser(req, chooser, sizeof chooser) && req->library))
        return;
    if (rlt_algorithm_stated(req))
        snprintf(chooser, sizeof chooser, "as the topology states");
    list_changes(req, first, last, line, sizeof line);
    rlt_note("%s, auto: %s (%s)", rlt_coll_name(req->kind), line, chooser);
}

void rlt_coll_choices(const rlt_coll_ask *ask)
{
    for (int kind = 0; kind < RLT_COLL_KINDS; kind++) {
        uint64_t first = UINT64_MAX, last = 0;
        uint32_t row = 0;
        for (uint32_t k = 0; k < ask->n_cases; k++) {
            uint64_t bytes = ask->cases[k].bytes;
            if (ask->cases[k].kind != (rlt_coll_kind)kind)
                continue;
            first = bytes < first ? bytes : first;
            last = bytes > last ? bytes : last;
            row = k * ask->n_algorithms;
        }
        for (uint32_t a = 0; a < ask->n_algorithms && first < last; a++) {
            rlt_coll_request req = rlt_coll_request_of(ask, row + a, 0);
            if (a == 0 || req.library)
                note_choices(&req, first, last);
        }
    }
}
