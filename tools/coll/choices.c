/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes at which `auto` changes its choice. */
#include <stdio.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/candidate.h"
#include "collectives/collective.h"
#include "collectives/plan.h"
#include "collectives/selector.h"
#include "collectives/stated.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "tools/base/message.h"
#include "tools/coll/coll.h"
#include "workload/experiment/coll/coll.h"

typedef struct choice {
    char name[96];
} choice;

/* How a choice is named: with its protocol, where a tuner has one, or by its algorithm alone. */
typedef choice choose_fn(const rlt_coll_request *like, uint64_t bytes);

static choice choose_algorithm(const rlt_coll_request *like, uint64_t bytes)
{
    rlt_coll_request req = *like;
    choice c;
    req.bytes = bytes;
    snprintf(c.name, sizeof c.name, "%s", rlt_algorithm_choose(&req)->name);
    return c;
}

/* "" if nothing chooses by size there. */
static choice choose_protocol(const rlt_coll_request *like, uint64_t bytes)
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

typedef struct change {
    choice below, above;
    uint64_t last, first; /* largest size of the one, smallest of the other */
} change;

/* Finds the next change from size `low` to `end`. Corrections by size step at powers of two, so each is
 * looked at. Between two neighbours one change is found, by bisection. */
static bool change_after(choose_fn *choose, const rlt_coll_request *like, uint64_t low, uint64_t end,
                         change *out)
{
    choice at = choose(like, low);
    while (low < end) {
        uint64_t high = 1;
        while (high <= low && high <= end / 2)
            high *= 2;
        high = high <= low || high > end ? end : high;
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
            *out = (change){at, choose(like, above), below, above}; /* a third one may lie between */
            return true;
        }
        low = high;
    }
    return false;
}

/* A request of `auto`, and the smallest and largest size asked for. */
typedef struct asked {
    rlt_coll_request req;
    uint64_t first, last;
} asked;

/* Fills the request for a collective by place `a` of the list. False: it is not asked for, or of one size. */
static bool asked_of(const rlt_coll_ask *ask, rlt_coll_kind kind, uint32_t a, asked *out)
{
    uint64_t first = UINT64_MAX, last = 0;
    uint32_t row = 0;
    for (uint32_t k = 0; k < ask->n_cases; k++) {
        uint64_t bytes = ask->cases[k].bytes;
        if (ask->cases[k].kind != kind)
            continue;
        first = bytes < first ? bytes : first;
        last = bytes > last ? bytes : last;
        row = k * ask->n_algorithms;
    }
    if (first >= last)
        return false;
    *out = (asked){rlt_coll_request_of(ask, row + a, 0), first, last};
    return true;
}

/* Notes the choices for a request of some size. */
static void note_choices(const asked *x)
{
    char line[600], chooser[120], from[32];
    const rlt_coll_request *req = &x->req;
    choice start = choose_protocol(req, x->first);
    change c;
    if (!start.name[0] || (!rlt_chooser(req, chooser, sizeof chooser) && req->library))
        return;
    if (rlt_algorithm_stated(req))
        snprintf(chooser, sizeof chooser, "as the topology states");
    size_t used = (size_t)snprintf(line, sizeof line, "%s", start.name);
    for (uint64_t at = x->first; change_after(choose_protocol, req, at, x->last, &c); at = c.first)
        if (used < sizeof line)
            used += (size_t)snprintf(line + used, sizeof line - used, "; %s from %s on", c.above.name,
                                     rlt_format_size(from, sizeof from, c.first));
    rlt_note("%s, auto: %s (%s)", rlt_coll_name(req->kind), line, chooser);
}

void rlt_coll_choices(const rlt_coll_ask *ask)
{
    asked x;
    for (int kind = 0; kind < RLT_COLL_KINDS; kind++)
        for (uint32_t a = 0; a < ask->n_algorithms; a++)
            if (asked_of(ask, (rlt_coll_kind)kind, a, &x) && (a == 0 || x.req.library))
                note_choices(&x);
}

bool rlt_coll_is_auto(const rlt_coll_ask *ask, uint32_t a)
{
    return !ask->algorithms[a] && !ask->reacting[a] && !ask->listed[a];
}

/* Fills the request of `auto` at place `a`, and its name: "auto=nccl-2.22". False: something else is
 * there. */
static bool auto_of(const rlt_coll_ask *ask, rlt_coll_kind kind, uint32_t a, asked *out, char name[64])
{
    const char *version = strchr(rlt_coll_label_of(ask, a, &rlt_ring), '@');
    snprintf(name, 64, "auto%s%.40s", version ? "=" : "", version ? version + 1 : "");
    return rlt_coll_is_auto(ask, a) && asked_of(ask, kind, a, out) && !rlt_library_check(&out->req, NULL);
}

void rlt_coll_put_choices(FILE *out, const rlt_coll_ask *ask)
{
    asked x;
    change c;
    char name[64], size[32];
    for (int kind = 0; kind < RLT_COLL_KINDS; kind++)
        for (uint32_t a = 0; a < ask->n_algorithms; a++) {
            bool any = false;
            if (!auto_of(ask, (rlt_coll_kind)kind, a, &x, name))
                continue;
            for (uint64_t at = x.first; change_after(choose_algorithm, &x.req, at, x.last, &c);
                 at = c.first) {
                if (!any)
                    fprintf(out, "# %s: %s takes %s", rlt_coll_name((rlt_coll_kind)kind), name, c.below.name);
                fprintf(out, " up to %s, then %s", rlt_format_size(size, sizeof size, c.last), c.above.name);
                any = true;
            }
            if (any)
                fputs(" (a choice, not a comparison)\n", out);
        }
}

void rlt_coll_json_choices(rlt_jw *w, const rlt_coll_ask *ask)
{
    asked x;
    change c;
    char name[64];
    rlt_jw_array(w, "choices");
    for (int kind = 0; kind < RLT_COLL_KINDS; kind++)
        for (uint32_t a = 0; a < ask->n_algorithms; a++) {
            if (!auto_of(ask, (rlt_coll_kind)kind, a, &x, name))
                continue;
            for (uint64_t at = x.first; change_after(choose_algorithm, &x.req, at, x.last, &c);
                 at = c.first) {
                rlt_jw_object(w, NULL);
                rlt_jw_string(w, "collective", rlt_coll_name((rlt_coll_kind)kind));
                rlt_jw_string(w, "algorithm", name);
                rlt_jw_string(w, "below", c.below.name);
                rlt_jw_string(w, "above", c.above.name);
                rlt_jw_u64(w, "between_bytes", c.last);
                rlt_jw_u64(w, "and_bytes", c.first);
                rlt_jw_end_object(w);
            }
        }
    rlt_jw_end_array(w);
}
