/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Finds the hot set: counts updates over sampled steps, takes the parameters seen most often, and computes
 * their coverage. */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/in_network/libra/workload.h"
#include "sim/base/error.h"
#include "sim/base/map.h"

enum { POPULAR = 1 << 18 };

typedef struct tally {
    uint64_t rank;
    uint32_t count;
} tally;

static int hotter(const void *a, const void *b)
{
    const tally *x = a, *y = b;
    if (x->count != y->count)
        return x->count > y->count ? -1 : 1;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

static int by_rank(const void *a, const void *b)
{
    const tally *x = a, *y = b;
    return x->rank < y->rank ? -1 : x->rank > y->rank;
}

uint64_t rlt_hot_room(uint64_t memory_bytes, uint32_t arrays, uint32_t entry_bytes)
{
    return arrays && entry_bytes ? memory_bytes / arrays / entry_bytes * arrays : 0;
}

static int check(const rlt_hot_request *q, uint64_t *wanted, uint64_t *counted, rlt_error *err)
{
    *wanted = q->hot ? q->hot : rlt_hot_room(q->memory_bytes, q->arrays, q->entry_bytes);
    if (q->workers == 0 || q->updates == 0 || q->steps == 0)
        return rlt_fail(err, RLT_ERANGE, "hot set", "expected at least one worker, one update and one step");
    if (!(q->sampled > 0 && q->sampled <= 1))
        return rlt_fail(err, RLT_ERANGE, "hot set", "expected a share of steps in (0, 1], got %g",
                        q->sampled);
    if (*wanted > RLT_MAX_HOT)
        return rlt_fail(err, RLT_ERANGE, "hot set",
                        "%" PRIu64 " hot parameters are too many; the limit is %d", *wanted, RLT_MAX_HOT);
    double all = fmax(q->workers, floor(q->sampled * q->steps * q->workers * (double)q->updates + 0.5));
    if (all > RLT_MAX_SAMPLED)
        return rlt_fail(err, RLT_ERANGE, "hot set",
                        "%.0f updates are too many to count; the limit is %d: sample fewer steps", all,
                        RLT_MAX_SAMPLED);
    *counted = (uint64_t)all;
    return 0;
}

/* Merges equal ranks by sorting. Only rare ranks, whose number is unbounded, come here; the POPULAR lowest
 * ranks have counters of their own. */
static uint64_t gather(tally *t, uint64_t n)
{
    uint64_t kept = 0;
    qsort(t, (size_t)n, sizeof *t, by_rank);
    for (uint64_t i = 0; i < n; i++) {
        if (kept && t[kept - 1].rank == t[i].rank)
            t[kept - 1].count++;
        else
            t[kept++] = t[i];
    }
    return kept;
}

static int count(const rlt_skew *k, const rlt_hot_request *q, uint64_t total, tally **out, uint64_t *seen,
                 rlt_error *err)
{
    uint64_t each = total / q->workers, rare = 0;
    uint32_t *popular = calloc(POPULAR, sizeof *popular);
    tally *t = malloc(((size_t)total + POPULAR) * sizeof *t);
    if (!popular || !t) {
        free(popular);
        free(t);
        return rlt_nomem(err);
    }
    for (uint64_t i = 0; i < total; i++) {
        uint64_t rank = rlt_skew_draw(k, q->seed, (uint32_t)(i / each), i % each);
        if (rank < POPULAR)
            popular[rank]++;
        else
            t[rare++] = (tally){rank, 1};
    }
    uint64_t kept = gather(t, rare);
    for (uint32_t rank = 0; rank < POPULAR; rank++)
        if (popular[rank])
            t[kept++] = (tally){rank, popular[rank]};
    qsort(t, (size_t)kept, sizeof *t, hotter);
    free(popular);
    *out = t;
    *seen = kept;
    return 0;
}

/* Chance of at least one hit: 1 - (1 - p)^times. */
static double ever(double p, double times)
{
    return p < 1 ? -expm1(times * log1p(-p)) : 1;
}

int rlt_hot_find(const rlt_skew *k, const rlt_hot_request *q, rlt_hot_set *out, rlt_error *err)
{
    tally *t = NULL;
    uint64_t wanted = 0;
    memset(out, 0, sizeof *out);
    int rc = check(q, &wanted, &out->counted, err);
    if (!rc)
        rc = count(k, q, out->counted, &t, &out->seen, err);
    if (rc)
        return rc;
    out->n = wanted < out->seen ? wanted : out->seen;
    out->ranks = malloc(((size_t)out->n + 1) * sizeof *out->ranks);
    if (!out->ranks) {
        free(t);
        return rlt_nomem(err);
    }
    double alone = (double)q->updates;
    for (uint64_t i = 0; i < out->n; i++) {
        double p = rlt_skew_share(k, t[i].rank);
        out->ranks[i] = t[i].rank;
        out->share += p;
        out->touched += ever(p, alone * q->workers);
        out->touched_alone += ever(p, alone);
    }
    out->best = rlt_skew_coverage(k, wanted);
    out->memory_bytes = out->n * q->entry_bytes;
    free(t);
    return 0;
}

void rlt_hot_free(rlt_hot_set *h)
{
    free(h->ranks);
    memset(h, 0, sizeof *h);
}

double rlt_libra_gain(uint32_t n, double share)
{
    return n / (n * (1 - share) + share);
}

double rlt_libra_share(uint32_t n, double gain)
{
    return (1 - 1 / gain) * n / (n - 1.0);
}

double rlt_libra_up(uint64_t updates, double share, double hot_bytes, double cold_bytes)
{
    return (double)updates * (share * hot_bytes + (1 - share) * cold_bytes);
}

double rlt_libra_in(uint32_t n, uint64_t updates, double share, double touched, double hot_bytes,
                    double cold_bytes)
{
    return n * (double)updates * (1 - share) * cold_bytes + touched * hot_bytes;
}
