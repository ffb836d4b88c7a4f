/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Aggregators: allocation of slots to jobs, and accounts. */
#include "net/aggregation/aggregator.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "net/aggregation/aggregator_internal.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"

#define MAX_BYTES ((uint64_t)4 << 30) /* limit of the state that an aggregator allocates here */

rlt_agg_memory rlt_slots_memory(rlt_slot_mode mode, uint32_t slots, uint32_t payload, uint32_t width)
{
    uint64_t banks = (uint64_t)slots * (mode == RLT_SLOTS_POOL ? 2 : 1);
    return (rlt_agg_memory){banks * payload, banks * ((uint64_t)width + 8)};
}

uint32_t rlt_slot_hash(uint32_t job, uint32_t chunk, uint32_t round, uint32_t slots)
{
    uint64_t h = rlt_mix64(((uint64_t)job << 32 | chunk) ^ rlt_mix64(round + 1));
    return (uint32_t)((h >> 32) * slots >> 32);
}

const char *rlt_agg_refusal_text(rlt_agg_refusal r)
{
    static const char *const text[] = {"granted", "no slots left", "no tree left",
                                       "the streaming lock is taken",
                                       "more contributors than a slot has bits for"};
    return (unsigned)r < sizeof text / sizeof text[0] ? text[r] : "?";
}

/* Sets the number of slots that fit the memory, if it is not given. */
static int size_pool(rlt_aggregator_config *cfg, rlt_error *err)
{
    uint64_t each = rlt_slots_memory(cfg->mode, 1, cfg->payload, 0).value_bytes;
    uint64_t fit = each ? cfg->memory_bytes / each : RLT_MAX_SLOTS;
    if (cfg->slots == 0) {
        if (cfg->memory_bytes == 0)
            return rlt_fail(err, RLT_ERANGE, "aggregator", "expected a number of slots or their memory");
        if (fit == 0)
            return rlt_fail(err, RLT_ERANGE, "aggregator", "%" PRIu64 " bytes hold no slot of %" PRIu64,
                            cfg->memory_bytes, each);
        cfg->slots = fit < RLT_MAX_SLOTS ? (uint32_t)fit : RLT_MAX_SLOTS;
    }
    if (cfg->slots > RLT_MAX_SLOTS)
        return rlt_fail(err, RLT_ERANGE, "aggregator", "expected at most %d slots, got %u", RLT_MAX_SLOTS,
                        cfg->slots);
    if (cfg->memory_bytes && cfg->slots > fit)
        return rlt_fail(err, RLT_ERANGE, "aggregator",
                        "%u slots of %" PRIu64 " bytes are more than the memory of %" PRIu64, cfg->slots,
                        each, cfg->memory_bytes);
    return 0;
}

static int check(rlt_aggregator_config *cfg, rlt_error *err)
{
    if (cfg->width == 0 || cfg->width > RLT_MAX_AGG_WIDTH)
        return rlt_fail(err, RLT_ERANGE, "aggregator", "expected 1 to %d contributors, got %u",
                        RLT_MAX_AGG_WIDTH, cfg->width);
    if (cfg->sharing == RLT_SHARE_DYNAMIC && cfg->mode != RLT_SLOTS_HASH)
        return rlt_fail(err, RLT_EUNSUPPORTED, "aggregator",
                        "only hashed slots are shared dynamically: workers name the others");
    if (cfg->jobs > RLT_MAX_AGG_JOBS || cfg->element_bits > 64 || cfg->series_bin_ps < 0)
        return rlt_fail(err, RLT_ERANGE, "aggregator", "expected at most %d jobs and 64 bits",
                        RLT_MAX_AGG_JOBS);
    return size_pool(cfg, err);
}

int rlt_aggregator_create(const rlt_aggregator_config *cfg, rlt_aggregator **out, rlt_error *err)
{
    rlt_aggregator_config c = *cfg;
    *out = NULL;
    int rc = check(&c, err);
    if (rc)
        return rc;
    uint32_t versions = c.mode == RLT_SLOTS_POOL ? 2 : 1, words = (c.width + 63) / 64;
    size_t banks = (size_t)c.slots * versions;
    uint64_t each = sizeof(rlt_bank) + words * sizeof(uint64_t) + (uint64_t)c.values * sizeof(rlt_agg_value);
    if (banks * each > MAX_BYTES)
        return rlt_fail(err, RLT_ERANGE, "aggregator", "%u slots of %u values need more than 4 GiB here",
                        c.slots, c.values);
    rlt_aggregator *a = calloc(1, sizeof *a);
    if (!a)
        return rlt_nomem(err);
    a->cfg = c;
    a->versions = versions;
    a->words = words;
    a->banks = calloc(banks, sizeof *a->banks);
    a->seen = calloc(banks, words * sizeof *a->seen);
    a->kept_bits = calloc(2 * (size_t)words, sizeof *a->kept_bits);
    if (c.values > 0) {
        a->values = calloc(banks, c.values * sizeof *a->values);
        a->kept_values = calloc(c.values, sizeof *a->kept_values);
    }
    if (c.series_bin_ps > 0)
        a->bins = calloc(RLT_AGG_BINS, sizeof *a->bins);
    a->bin_ps = c.series_bin_ps;
    if (!a->banks || !a->seen || !a->kept_bits || (c.values > 0 && (!a->values || !a->kept_values)) ||
        (c.series_bin_ps > 0 && !a->bins)) {
        rlt_aggregator_free(a);
        return rlt_nomem(err);
    }
    *out = a;
    return 0;
}

void rlt_aggregator_free(rlt_aggregator *a)
{
    if (!a)
        return;
    free(a->banks);
    free(a->seen);
    free(a->values);
    free(a->kept_bits);
    free(a->kept_values);
    free(a->jobs);
    free(a->bins);
    free(a);
}

/* Returns the first gap of at most `want` slots between the ranges of live jobs. */
static uint32_t find_gap(const rlt_aggregator *a, uint32_t want, uint32_t *first)
{
    uint32_t best = 0;
    for (uint32_t i = 0; i <= a->n_jobs && best < want; i++) {
        uint32_t begin = i == 0 ? 0 : a->jobs[i - 1].first + a->jobs[i - 1].slots, end = a->cfg.slots;
        if (i > 0 && (!a->jobs[i - 1].live || a->jobs[i - 1].slots == 0))
            continue;
        for (uint32_t j = 0; j < a->n_jobs; j++) {
            const rlt_agg_tenant *t = &a->jobs[j];
            if (t->live && t->slots > 0 && t->first >= begin && t->first < end)
                end = t->first;
            else if (t->live && t->slots > 0 && t->first <= begin && begin < t->first + t->slots)
                end = begin;
        }
        uint32_t room = end > begin ? end - begin : 0;
        if (room > best) {
            best = room < want ? room : want;
            *first = begin;
        }
    }
    return best;
}

static uint32_t live_jobs(const rlt_aggregator *a, bool streaming)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < a->n_jobs; i++)
        n += a->jobs[i].live && a->jobs[i].want.streaming == streaming;
    return n;
}

static rlt_agg_refusal grant(const rlt_aggregator *a, rlt_agg_tenant *t)
{
    const rlt_aggregator_config *c = &a->cfg;
    uint32_t want = t->want.slots && t->want.slots < c->slots ? t->want.slots : c->slots;
    if (t->want.need > c->width)
        return RLT_AGG_TOO_WIDE;
    if (c->mode == RLT_SLOTS_CREDIT) {
        uint32_t limit = t->want.streaming ? c->streams : c->trees;
        if (limit && live_jobs(a, t->want.streaming) >= limit)
            return RLT_AGG_NO_TREE;
    }
    if (c->sharing == RLT_SHARE_DYNAMIC) {
        t->slots = c->slots;
        return RLT_AGG_GRANTED;
    }
    if (c->sharing == RLT_SHARE_STATIC && c->jobs > 1 && want > c->slots / c->jobs)
        want = c->slots / c->jobs;
    t->slots = want ? find_gap(a, want, &t->first) : 0;
    return t->slots ? RLT_AGG_GRANTED : RLT_AGG_NO_SLOTS;
}

/* Takes a number for one more job: a reused or a new one. */
static int take_number(rlt_aggregator *a, uint32_t *number, rlt_error *err)
{
    if (a->n_forgotten == 0) {
        *number = a->n_jobs;
        return rlt_grow(&a->jobs, &a->jobs_room, sizeof *a->jobs, (uint64_t)a->n_jobs + 1, RLT_MAX_AGG_JOBS,
                        "jobs on a switch", err);
    }
    for (*number = 0; !a->jobs[*number].forgotten;)
        ++*number;
    return 0;
}

int rlt_aggregator_admit(rlt_aggregator *a, const rlt_agg_job *want, uint32_t *job, rlt_agg_refusal *refusal,
                         uint32_t *slots, rlt_error *err)
{
    *job = RLT_NONE;
    *slots = 0;
    *refusal = RLT_AGG_GRANTED;
    if (want->need == 0)
        return rlt_fail(err, RLT_ERANGE, "aggregator", "a job without contributors");
    uint32_t number;
    int rc = take_number(a, &number, err);
    if (rc)
        return rc;
    rlt_agg_tenant t = {.want = *want, .live = true};
    *refusal = grant(a, &t);
    if (*refusal != RLT_AGG_GRANTED && (*refusal != RLT_AGG_NO_SLOTS || a->cfg.mode != RLT_SLOTS_HASH))
        return 0;
    *slots = t.slots;
    *job = number;
    if (number == a->n_jobs) {
        a->n_jobs++;
    } else {
        a->n_forgotten--;
        rlt_agg_counts_add(&a->past, &a->jobs[number].counts);
    }
    a->jobs[number] = t;
    return 0;
}

uint32_t rlt_aggregator_release(rlt_aggregator *a, uint32_t job, rlt_time now)
{
    uint32_t unfinished = 0;
    if (job >= a->n_jobs || !a->jobs[job].live)
        return 0;
    rlt_agg_tenant *t = &a->jobs[job];
    for (size_t i = (size_t)t->first * a->versions; i < (size_t)(t->first + t->slots) * a->versions; i++) {
        rlt_bank *b = &a->banks[i];
        if (b->state == RLT_BANK_FREE || b->job != job)
            continue;
        unfinished += b->state != RLT_BANK_DONE;
        rlt__agg_vacate(a, b, now);
        b->state = RLT_BANK_FREE;
    }
    t->live = t->locks = false;
    return unfinished;
}

void rlt_aggregator_forget(rlt_aggregator *a, uint32_t job, rlt_time now)
{
    (void)rlt_aggregator_release(a, job, now);
    if (job < a->n_jobs && !a->jobs[job].forgotten) {
        a->jobs[job].forgotten = true;
        a->n_forgotten++;
    }
}

bool rlt_aggregator_lock(rlt_aggregator *a, uint32_t job)
{
    if (job >= a->n_jobs || !a->jobs[job].live)
        return false;
    rlt_agg_tenant *t = &a->jobs[job];
    for (uint32_t i = 0; i < a->n_jobs; i++) {
        const rlt_agg_tenant *o = &a->jobs[i];
        if (i != job && o->live && o->locks && (!a->cfg.lock_ports || (o->want.ports & t->want.ports)))
            return false;
    }
    t->locks = true;
    return true;
}

void rlt_aggregator_unlock(rlt_aggregator *a, uint32_t job)
{
    if (job < a->n_jobs)
        a->jobs[job].locks = false;
}

/* ---- occupancy ---- */

/* The series is full: doubles the width of the bins. */
static void merge_bins(rlt_aggregator *a)
{
    for (uint32_t i = 0; i < RLT_AGG_BINS / 2; i++)
        a->bins[i] = a->bins[2 * i] + a->bins[2 * i + 1];
    memset(a->bins + RLT_AGG_BINS / 2, 0, RLT_AGG_BINS / 2 * sizeof *a->bins);
    a->n_bins = (a->n_bins + 1) / 2;
    a->bin_ps *= 2;
}

static void add_to_bins(rlt_aggregator *a, rlt_time now)
{
    while (now / a->bin_ps >= RLT_AGG_BINS)
        merge_bins(a);
    for (rlt_time t = a->last; t < now;) {
        rlt_time bin = t / a->bin_ps, end = (bin + 1) * a->bin_ps;
        if (end > now)
            end = now;
        a->bins[bin] += (double)a->now * (double)(end - t);
        if ((uint32_t)bin >= a->n_bins)
            a->n_bins = (uint32_t)bin + 1;
        t = end;
    }
}

static void advance(rlt_aggregator *a, rlt_time now)
{
    if (now <= a->last)
        return;
    if (a->bins)
        add_to_bins(a, now);
    a->integral += (double)a->now * (double)(now - a->last);
    a->last = now;
}

void rlt__agg_occupy(rlt_aggregator *a, rlt_bank *b, rlt_time now)
{
    advance(a, now);
    b->since = now;
    b->counted = true;
    if (++a->now > a->peak)
        a->peak = a->now;
}

void rlt__agg_vacate(rlt_aggregator *a, rlt_bank *b, rlt_time now)
{
    if (!b->counted)
        return;
    advance(a, now);
    b->counted = false;
    a->now--;
    uint64_t stay = now > b->since ? (uint64_t)(now - b->since) : 1;
    a->residency[63 - __builtin_clzll(stay)]++;
}

rlt_agg_occupancy rlt_aggregator_occupancy(const rlt_aggregator *a, rlt_time now)
{
    rlt_agg_occupancy o = {.now = a->now, .peak = a->peak, .integral = a->integral};
    if (now > a->last)
        o.integral += (double)a->now * (double)(now - a->last);
    if (now > 0)
        o.mean = o.integral / (double)now;
    memcpy(o.residency, a->residency, sizeof o.residency);
    return o;
}

uint32_t rlt_aggregator_bins(const rlt_aggregator *a, rlt_time *bin_ps)
{
    *bin_ps = a->bin_ps;
    return a->n_bins;
}

double rlt_aggregator_bin(const rlt_aggregator *a, uint32_t bin)
{
    return bin < a->n_bins ? a->bins[bin] / (double)a->bin_ps : 0;
}

/* ---- accounts ---- */

void rlt_agg_counts_add(rlt_agg_counts *sum, const rlt_agg_counts *more)
{
    sum->packets += more->packets;
    sum->contributions += more->contributions;
    sum->completions += more->completions;
    sum->duplicates += more->duplicates;
    sum->stale += more->stale;
    sum->late += more->late;
    sum->unicasts += more->unicasts;
    sum->collisions += more->collisions;
    sum->foreign += more->foreign;
    sum->fallbacks += more->fallbacks;
    sum->resends += more->resends;
    sum->preemptions += more->preemptions;
    sum->evictions += more->evictions;
    sum->partials += more->partials;
    sum->overflows += more->overflows;
    sum->blocked += more->blocked;
    sum->refused += more->refused;
}

rlt_agg_counts rlt_aggregator_counts(const rlt_aggregator *a, uint32_t job)
{
    rlt_agg_counts sum = {0};
    if (job == RLT_NONE)
        sum = a->past;
    for (uint32_t i = 0; i < a->n_jobs; i++)
        if (job == RLT_NONE || i == job)
            rlt_agg_counts_add(&sum, &a->jobs[i].counts);
    return sum;
}

uint32_t rlt_aggregator_slots(const rlt_aggregator *a)
{
    return a->cfg.slots;
}

uint32_t rlt_aggregator_unfinished(const rlt_aggregator *a)
{
    uint32_t n = 0;
    for (size_t i = 0; i < (size_t)a->cfg.slots * a->versions; i++)
        n += a->banks[i].state == RLT_BANK_AGG || a->banks[i].state == RLT_BANK_SENT;
    return n;
}

rlt_agg_memory rlt_aggregator_memory(const rlt_aggregator *a)
{
    return rlt_slots_memory(a->cfg.mode, a->cfg.slots, a->cfg.payload, a->cfg.width);
}
