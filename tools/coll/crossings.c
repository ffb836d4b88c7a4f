/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes between which another algorithm becomes the fastest. Both ends of such a bracket are simulated. It is
 * halved until they are close. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/collective.h"
#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "sim/watch.h"
#include "tools/base/pool.h"
#include "tools/base/progress.h"
#include "tools/coll/coll.h"
#include "workload/experiment/coll/coll.h"
#include "workload/experiment/coll/one.h"

/* Ends of a bracket are at most 5 % apart, unless a size between them takes more events than this. */
#define CLOSE       1.05
#define MOST_EVENTS ((uint64_t)1 << 23)
enum { ROUNDS = 32, MOST_CASES = 256, PARTS = 32 };

static const rlt_coll_point *find(const rlt_coll_points *p, rlt_coll_kind kind, uint32_t place,
                                  uint64_t bytes)
{
    for (uint32_t i = 0; i < p->n; i++) {
        const rlt_coll_point *q = &p->items[i];
        if (q->kind == kind && q->bytes == bytes && q->place == place)
            return q;
    }
    return NULL;
}

/* Returns the fastest row of the smallest size that has at least `from` bytes, the first in the list among
 * equals. NULL: no such size. */
static const rlt_coll_point *fastest_from(const rlt_coll_points *p, rlt_coll_kind kind, uint64_t from)
{
    const rlt_coll_point *best = NULL;
    for (uint32_t i = 0; i < p->n; i++) {
        const rlt_coll_point *q = &p->items[i];
        if (q->kind != kind || q->bytes < from)
            continue;
        bool faster = best && q->bytes == best->bytes &&
                      (q->time_ps < best->time_ps || (q->time_ps == best->time_ps && q->place < best->place));
        if (!best || q->bytes < best->bytes || faster)
            best = q;
    }
    return best;
}

/* Returns the size at which two lines meet on logarithmic axes. Each line goes through two points: a0 and a1,
 * b0 and b1. */
static double meet(const rlt_coll_point *a0, const rlt_coll_point *a1, const rlt_coll_point *b0,
                   const rlt_coll_point *b1)
{
    double before = log((double)a0->time_ps / (double)b0->time_ps),
           after = log((double)a1->time_ps / (double)b1->time_ps);
    double part = after != before ? before / (before - after) : 0.5;
    return exp(log((double)a0->bytes) + part * (log((double)a1->bytes) - log((double)a0->bytes)));
}

typedef struct crossing {
    const rlt_coll_point *below, *above; /* the fastest at the two ends, neighbours among the sizes */
    double bytes;
} crossing;

/* Finds the next pair of neighbouring sizes, from size `from` on, between which another algorithm becomes the
 * fastest. `bytes` is about where: straight lines on logarithmic axes meet there. False: none. */
static bool crossing_after(const rlt_coll_points *p, rlt_coll_kind kind, uint64_t from, crossing *out)
{
    const rlt_coll_point *a = fastest_from(p, kind, from), *b;
    while (a && (b = fastest_from(p, kind, a->bytes + 1))) {
        const rlt_coll_point *same = find(p, kind, a->place, b->bytes),
                             *other = find(p, kind, b->place, a->bytes);
        if (a->place != b->place && !(same && same->time_ps == b->time_ps)) {
            bool known = same && other && a->bytes > 0 && a->time_ps > 0 && b->time_ps > 0;
            *out = (crossing){a, b, known ? meet(a, same, other, b) : (double)b->bytes};
            return true;
        }
        a = same && same->time_ps == b->time_ps ? same : b;
    }
    return false;
}

/* Returns a size between two, near their geometric mean, or 0. It shares their factors, so that blocks that
 * are even at both ends are even there as well. */
static uint64_t middle(uint64_t low, uint64_t high)
{
    uint64_t unit = high, rest = low;
    while (rest) {
        uint64_t next = unit % rest;
        unit = rest;
        rest = next;
    }
    while (unit > low / PARTS && unit % 2 == 0)
        unit /= 2;
    uint64_t bytes = (uint64_t)llround(sqrt((double)low * (double)high) / (double)unit) * unit;
    return bytes > low && bytes < high ? bytes : 0;
}

static bool is_close(const crossing *c)
{
    return (double)c->above->bytes <= CLOSE * (double)c->below->bytes;
}

/* Returns true if a size between takes too many events, judged by the larger end. */
static bool is_large(const rlt_coll_points *p, const crossing *c)
{
    uint64_t events = 0;
    for (uint32_t i = 0; i < p->n; i++)
        if (p->items[i].kind == c->above->kind && p->items[i].bytes == c->above->bytes)
            events += p->items[i].events;
    return events > MOST_EVENTS;
}

/* Returns true if both ends have both algorithms. If one was left out there, halving finds only where. */
static bool is_whole(const rlt_coll_points *p, const crossing *c)
{
    return find(p, c->above->kind, c->below->place, c->above->bytes) &&
           find(p, c->above->kind, c->above->place, c->below->bytes);
}

/* Lists the sizes to simulate next. */
static uint32_t list_middles(const rlt_coll_points *p, rlt_coll_case *cases)
{
    uint32_t n = 0;
    for (int kind = 0; kind < RLT_COLL_KINDS; kind++) {
        crossing c;
        for (uint64_t from = 0; crossing_after(p, (rlt_coll_kind)kind, from, &c); from = c.above->bytes) {
            bool done = is_close(&c) || is_large(p, &c) || !is_whole(p, &c);
            uint64_t bytes = done ? 0 : middle(c.below->bytes, c.above->bytes);
            if (bytes && n < MOST_CASES)
                cases[n++] = (rlt_coll_case){(rlt_coll_kind)kind, bytes};
        }
    }
    return n;
}

typedef struct search {
    rlt_coll_ask ask; /* with the sizes of this round */
    rlt_coll_points *points;
    rlt_coll_point *results; /* one per slot; time -1: the algorithm cannot do it */
    bool runs[MOST_CASES][RLT_COLL_ALGORITHMS];
} search;

/* Lists the algorithms that ran at the next larger size. The others would take too long, or cannot run. */
static void list_runs(search *s)
{
    for (uint32_t k = 0; k < s->ask.n_cases; k++) {
        const rlt_coll_case *c = &s->ask.cases[k];
        const rlt_coll_point *up = fastest_from(s->points, c->kind, c->bytes + 1);
        for (uint32_t a = 0; a < s->ask.n_algorithms; a++)
            s->runs[k][a] = find(s->points, c->kind, a, up->bytes) != NULL;
    }
}

/* Simulates one algorithm at one size. */
static int simulate(void *ctx, rlt_task *job, uint32_t i, uint32_t slot, rlt_error *err)
{
    search *s = ctx;
    rlt_coll_one one = {0};
    rlt_watch watch = rlt_task_watcher(job);
    rlt_error why = {0};
    rlt_coll_point *out = &s->results[slot];
    const rlt_coll_case *c = &s->ask.cases[i / s->ask.n_algorithms];
    *out =
        (rlt_coll_point){.kind = c->kind, .bytes = c->bytes, .place = i % s->ask.n_algorithms, .time_ps = -1};
    if (!s->runs[i / s->ask.n_algorithms][out->place])
        return 0;
    int rc = rlt_coll_one_open(&one, &s->ask, i, 0, &why);
    if (rc && rc != RLT_ENOMEM)
        rc = RLT_EUNSUPPORTED;
    rc = rc ? rc : rlt_coll_one_simulate(&one, &watch, &why);
    if (!rc) {
        out->time_ps = one.result.time_ps;
        out->events = one.result.events;
        out->algorithm = one.result.algorithm;
    }
    rlt_coll_one_end(&one);
    if (rc == 0 || rc == RLT_EUNSUPPORTED || rc == RLT_ETOPOLOGY)
        return 0;
    return rlt_fail(err, rc, why.where, "%s", why.what);
}

static int take(void *ctx, uint32_t i, uint32_t slot, rlt_error *err)
{
    search *s = ctx;
    (void)i;
    return s->results[slot].time_ps < 0 ? 0 : rlt_coll_note_point(s->points, &s->results[slot], err);
}

int rlt_coll_refine(const rlt_coll_ask *ask, uint32_t jobs, rlt_coll_points *points, rlt_error *err)
{
    enum { SLOTS = 1024 };
    rlt_coll_case cases[MOST_CASES];
    rlt_progress progress;
    search s = {.ask = *ask, .points = points, .results = calloc(SLOTS, sizeof *s.results)};
    rlt_pool_work work = {.slots = SLOTS, .ctx = &s, .run = simulate, .take = take, .progress = &progress};
    int rc = s.results ? 0 : rlt_nomem(err);
    s.ask.cases = cases;
    for (uint32_t round = 0; round < ROUNDS && !rc && ask->n_algorithms > 1; round++) {
        s.ask.n_cases = list_middles(points, cases);
        work.n = s.ask.n_cases * ask->n_algorithms;
        if (work.n == 0)
            break;
        list_runs(&s);
        rlt_progress_start(&progress, "crossovers");
        rc = rlt_pool_run(&work, jobs, err);
        rlt_progress_clear();
    }
    free(s.results);
    return rc;
}

/* Names a row by its place in the list: what `auto` chose is not what is compared. */
static const char *name_of(const rlt_coll_ask *ask, const rlt_coll_point *p, char *buffer, size_t size)
{
    const char *version = strchr(p->algorithm, '@');
    if (!rlt_coll_is_auto(ask, p->place))
        return p->algorithm;
    snprintf(buffer, size, "auto%s%s", version ? "=" : "", version ? version + 1 : "");
    return buffer;
}

/* Writes a part of a sentence in comment lines of up to 110 columns. `column` is where the last one ended. */
static void put_part(FILE *out, const char *part, size_t *column)
{
    enum { WIDTH = 110 };
    size_t length = strlen(part);
    if (*column + length > WIDTH) {
        fputs("\n#   ", out);
        *column = 4;
        part += *part == ' ';
    }
    fputs(part, out);
    *column += length;
}

void rlt_coll_put_crossings(FILE *out, const rlt_coll_ask *ask, const rlt_coll_points *p)
{
    for (int kind = 0; kind < RLT_COLL_KINDS; kind++) {
        crossing c;
        size_t column = 0;
        bool any = false, wide = false;
        char part[200], name[64], low[32], high[32];
        for (uint64_t from = 0; crossing_after(p, (rlt_coll_kind)kind, from, &c); from = c.above->bytes) {
            if (!any)
                column += (size_t)fprintf(out, "# %s: %s is fastest", rlt_coll_name((rlt_coll_kind)kind),
                                          name_of(ask, c.below, name, sizeof name));
            snprintf(part, sizeof part, "%s %s,", any ? " to" : " up to",
                     rlt_format_size(low, sizeof low, c.below->bytes));
            put_part(out, part, &column);
            snprintf(part, sizeof part, " %s from %s", name_of(ask, c.above, name, sizeof name),
                     rlt_format_size(high, sizeof high, c.above->bytes));
            put_part(out, part, &column);
            any = true;
            wide |= !is_close(&c);
        }
        if (any)
            put_part(out, wide ? " on (sizes between are not simulated)" : " on (all simulated)", &column);
        if (any)
            putc('\n', out);
    }
}

void rlt_coll_json_crossings(rlt_jw *w, const rlt_coll_ask *ask, const rlt_coll_points *p)
{
    char name[64];
    rlt_jw_array(w, "crossovers");
    for (int kind = 0; kind < RLT_COLL_KINDS; kind++) {
        crossing c;
        for (uint64_t from = 0; crossing_after(p, (rlt_coll_kind)kind, from, &c); from = c.above->bytes) {
            rlt_jw_object(w, NULL);
            rlt_jw_string(w, "collective", rlt_coll_name((rlt_coll_kind)kind));
            rlt_jw_string(w, "below", name_of(ask, c.below, name, sizeof name));
            rlt_jw_string(w, "above", name_of(ask, c.above, name, sizeof name));
            rlt_jw_double(w, "bytes", c.bytes, 0);
            rlt_jw_u64(w, "between_bytes", c.below->bytes);
            rlt_jw_u64(w, "and_bytes", c.above->bytes);
            rlt_jw_end_object(w);
        }
    }
    rlt_jw_end_array(w);
}
