/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Sizes between which another algorithm becomes the fastest. Both ends of such a gap are simulated. It is
 * halved until they are close. Then wide gaps are halved, too, as another algorithm may win inside. The
 * search stops when it has cost as much as the sizes asked for. This is counted in events, as answers must
 * not depend on a clock. */
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

/* Most ratio of the ends of a gap, if another algorithm is the fastest above; if it is the same one. */
#define CLOSE 1.05
#define WIDE  2.0
/* Work that a search may always take, in events: about a second. */
#define FREE_WORK ((uint64_t)1 << 21)
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

typedef struct gap {
    const rlt_coll_point *below, *above; /* the fastest at two neighbouring sizes */
    bool changes;                        /* another algorithm is faster above */
} gap;

/* Finds the gap above `g`, or the first one if `g` is zero. False: none. */
static bool next_gap(const rlt_coll_points *p, rlt_coll_kind kind, gap *g)
{
    const rlt_coll_point *a = g->above ? g->above : fastest_from(p, kind, 0);
    const rlt_coll_point *b = a ? fastest_from(p, kind, a->bytes + 1) : NULL;
    if (!b)
        return false;
    const rlt_coll_point *same = find(p, kind, a->place, b->bytes);
    bool stays = same && same->time_ps == b->time_ps;
    *g = (gap){a, stays ? same : b, !stays};
    return true;
}

static bool next_crossing(const rlt_coll_points *p, rlt_coll_kind kind, gap *g)
{
    bool more = next_gap(p, kind, g);
    while (more && !g->changes)
        more = next_gap(p, kind, g);
    return more;
}

static double ratio_of(const gap *g)
{
    return (double)g->above->bytes / (double)g->below->bytes;
}

/* Returns about where the fastest changes: straight lines through both ends, on logarithmic axes, meet there.
 * If one of the two algorithms was left out at an end, it is the upper end. */
static double meet(const rlt_coll_points *p, const gap *g)
{
    const rlt_coll_point *a0 = g->below, *b1 = g->above, *a1 = find(p, a0->kind, a0->place, b1->bytes),
                         *b0 = find(p, a0->kind, b1->place, a0->bytes);
    if (!a1 || !b0 || a0->bytes == 0 || a0->time_ps <= 0 || b1->time_ps <= 0)
        return (double)b1->bytes;
    double before = log((double)a0->time_ps / (double)b0->time_ps),
           after = log((double)a1->time_ps / (double)b1->time_ps);
    double part = after != before ? before / (before - after) : 0.5;
    return exp(log((double)a0->bytes) + part * (log((double)b1->bytes) - log((double)a0->bytes)));
}

/* Returns a size between two, near their geometric mean, or 0. It shares their factors, so that blocks that
 * are even at both ends are even there as well. If it can, it is these factors times a power of two: most
 * people ask for such sizes. */
static uint64_t middle(uint64_t low, uint64_t high)
{
    uint64_t unit = high, rest = low;
    double product = (double)low * (double)high;
    while (rest) {
        uint64_t next = unit % rest;
        unit = rest;
        rest = next;
    }
    uint64_t bytes = unit;
    while (2.0 * (double)bytes * (double)bytes <= product)
        bytes *= 2;
    if (bytes > low && bytes < high)
        return bytes;
    while (unit > low / PARTS && unit % 2 == 0)
        unit /= 2;
    bytes = (uint64_t)llround(sqrt(product) / (double)unit) * unit;
    return bytes > low && bytes < high ? bytes : 0;
}

/* Returns true if both ends have both algorithms. If one was left out there, halving finds only where. */
static bool is_whole(const rlt_coll_points *p, const gap *g)
{
    return find(p, g->above->kind, g->below->place, g->above->bytes) &&
           find(p, g->above->kind, g->above->place, g->below->bytes);
}

/* Estimates the work of a size between: for each algorithm, the geometric mean of its work at the ends. */
static double work_between(const rlt_coll_points *p, const gap *g)
{
    double work = 0;
    for (uint32_t i = 0; i < p->n; i++) {
        const rlt_coll_point *q = &p->items[i], *low;
        if (q->kind != g->above->kind || q->bytes != g->above->bytes)
            continue;
        low = find(p, q->kind, q->place, g->below->bytes);
        work += low ? sqrt((double)q->work * (double)low->work) : (double)q->work;
    }
    return work;
}

static double work_of(const rlt_coll_points *p)
{
    double work = 0;
    for (uint32_t i = 0; i < p->n; i++)
        work += (double)p->items[i].work;
    return work;
}

/* Lists the sizes to simulate next, for about `work` at most: those where the fastest changes, or others. */
static uint32_t list_middles(const rlt_coll_points *p, bool changes, double work, rlt_coll_case *cases)
{
    uint32_t n = 0;
    for (int kind = 0; kind < RLT_COLL_KINDS; kind++) {
        for (gap g = {0}; next_gap(p, (rlt_coll_kind)kind, &g);) {
            bool wanted = g.changes == changes && g.below->bytes && ratio_of(&g) > (changes ? CLOSE : WIDE) &&
                          is_whole(p, &g);
            double takes = wanted ? work_between(p, &g) : 0;
            uint64_t bytes = wanted && takes <= work ? middle(g.below->bytes, g.above->bytes) : 0;
            if (bytes && n < MOST_CASES) {
                cases[n++] = (rlt_coll_case){(rlt_coll_kind)kind, bytes};
                work -= takes;
            }
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
        out->work = one.result.work;
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
    double asked = work_of(points), most = asked > FREE_WORK ? asked : FREE_WORK;
    int rc = s.results ? 0 : rlt_nomem(err);
    s.ask.cases = cases;
    for (uint32_t round = 0; round < ROUNDS && !rc && ask->n_algorithms > 1; round++) {
        double taken = work_of(points) - asked;
        s.ask.n_cases = list_middles(points, true, most - taken, cases);
        if (s.ask.n_cases == 0)
            s.ask.n_cases = list_middles(points, false, FREE_WORK - taken, cases);
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

/* Returns true if an algorithm is faster than another one at any size. Rows of a size are neighbours. */
static bool is_compared(const rlt_coll_points *p, rlt_coll_kind kind)
{
    for (uint32_t i = 1; i < p->n; i++) {
        const rlt_coll_point *a = &p->items[i - 1], *b = &p->items[i];
        if (b->kind == kind && a->kind == kind && a->bytes == b->bytes && a->time_ps != b->time_ps)
            return true;
    }
    return false;
}

/* Ends a sentence with the sizes that it rests on. */
static void put_sizes(FILE *out, uint32_t sizes, const gap *widest, size_t *column)
{
    char part[200], low[32], high[32];
    if (ratio_of(widest) > WIDE)
        snprintf(part, sizeof part, " (%u sizes simulated, widest gap %s to %s)", sizes,
                 rlt_format_size(low, sizeof low, widest->below->bytes),
                 rlt_format_size(high, sizeof high, widest->above->bytes));
    else
        snprintf(part, sizeof part, " (%u sizes simulated, steps up to x2)", sizes);
    put_part(out, part, column);
    putc('\n', out);
}

static void put_crossings(FILE *out, const rlt_coll_ask *ask, const rlt_coll_points *p, rlt_coll_kind kind)
{
    gap g = {0}, widest = {0};
    uint32_t sizes = 1;
    bool any = false, open = false;
    size_t column = 0;
    char part[200], name[64], low[32], high[32];
    const rlt_coll_point *first = fastest_from(p, kind, 0);
    for (; is_compared(p, kind) && next_gap(p, kind, &g); sizes++) {
        if (sizes == 1)
            column += (size_t)fprintf(out, "# %s: %s is fastest", rlt_coll_name(kind),
                                      name_of(ask, first, name, sizeof name));
        widest = sizes == 1 || ratio_of(&g) > ratio_of(&widest) ? g : widest;
        if (!g.changes)
            continue;
        open = ratio_of(&g) > CLOSE;
        snprintf(part, sizeof part, "%s %s%s,", any ? " to" : " up to",
                 rlt_format_size(low, sizeof low, g.below->bytes), open ? " at least" : "");
        put_part(out, part, &column);
        snprintf(part, sizeof part, " %s from %s%s", name_of(ask, g.above, name, sizeof name),
                 rlt_format_size(high, sizeof high, g.above->bytes), open ? " at the latest" : "");
        put_part(out, part, &column);
        any = true;
    }
    if (sizes == 1)
        return;
    if (any && !open)
        put_part(out, " on", &column);
    if (!any) {
        snprintf(part, sizeof part, " from %s to %s", rlt_format_size(low, sizeof low, first->bytes),
                 rlt_format_size(high, sizeof high, g.above->bytes));
        put_part(out, part, &column);
    }
    put_sizes(out, sizes, &widest, &column);
}

void rlt_coll_put_crossings(FILE *out, const rlt_coll_ask *ask, const rlt_coll_points *p)
{
    for (int kind = 0; kind < RLT_COLL_KINDS; kind++)
        put_crossings(out, ask, p, (rlt_coll_kind)kind);
}

void rlt_coll_json_crossings(rlt_jw *w, const rlt_coll_ask *ask, const rlt_coll_points *p)
{
    char name[64];
    rlt_jw_array(w, "crossovers");
    for (int kind = 0; kind < RLT_COLL_KINDS; kind++) {
        for (gap g = {0}; next_crossing(p, (rlt_coll_kind)kind, &g);) {
            rlt_jw_object(w, NULL);
            rlt_jw_string(w, "collective", rlt_coll_name((rlt_coll_kind)kind));
            rlt_jw_string(w, "below", name_of(ask, g.below, name, sizeof name));
            rlt_jw_string(w, "above", name_of(ask, g.above, name, sizeof name));
            rlt_jw_double(w, "bytes", meet(p, &g), 0);
            rlt_jw_u64(w, "between_bytes", g.below->bytes);
            rlt_jw_u64(w, "and_bytes", g.above->bytes);
            rlt_jw_end_object(w);
        }
    }
    rlt_jw_end_array(w);
}
