/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Runs the missing points of a study. */
#include "tools/sweep/sweep.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/base/mem.h"
#include "tools/base/pool.h"
#include "tools/sweep/ranks.h"
#include "workload/experiment/figures.h"
#include "workload/experiment/prepared.h"
#include "workload/experiment/shared.h"
#include "workload/plugin/plugin.h"

/* Results that may wait for an earlier one or the disk; fewer if each has all its links. */
enum { SLOTS = 512, SLOTS_WITH_LINKS = 64, SLOTS_A_JOB = 8 };

static double now_s(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static int keep_note(rlt_sweep *w, const char *what, const char *path, uint64_t hash, rlt_error *err)
{
    int rc = rlt_grow(&w->notes, &w->notes_capacity, sizeof *w->notes, (uint64_t)w->n_notes + 1, UINT16_MAX,
                      "inputs", err);
    if (rc)
        return rc;
    rlt_sweep_note *n = &w->notes[w->n_notes++];
    *n = (rlt_sweep_note){strdup(what), strdup(path), hash};
    return n->what && n->path ? 0 : rlt_nomem(err);
}

static int note_input(void *ctx, const char *what, const char *path, uint64_t hash, rlt_error *err)
{
    rlt_sweep *w = ctx;
    if (!w->store)
        return keep_note(w, what, path, hash, err);
    w->fatal = rlt_store_input(w->store, what, path, hash, &w->why);
    return w->fatal ? rlt_fail(err, RLT_ECANCELLED, path, "has changed") : 0;
}

/* Determines whether a point of this stretch is assigned to this shard and not done. */
static int is_missing(rlt_sweep *w, uint64_t id, bool *missing, rlt_error *err)
{
    rlt_sweep_point p;
    bool there = false;
    int rc = 0;
    *missing = id % w->shards == w->shard && rlt_sweep_point_at(w->study, id, &p);
    if (*missing && (int64_t)id <= w->last)
        rc = rlt_store_has(w->store, id, &there, err);
    *missing = *missing && !there;
    return rc;
}

static int count_missing(rlt_sweep *w, uint32_t *n, rlt_error *err)
{
    int rc = 0;
    *n = 0;
    for (uint64_t id = w->next; id < w->end && !rc; id++) {
        bool missing;
        rc = is_missing(w, id, &missing, err);
        *n += missing;
    }
    return rc;
}

/* Finds the lowest point with the same options, in progress or done; -1: none. */
static int find_same(rlt_sweep *w, uint32_t i, const rlt_point_job *e, int64_t *same, rlt_error *err)
{
    for (uint32_t k = w->first_flying; k < i; k++) {
        const uint64_t *key = w->keys[k % w->n_slots];
        if (key[0] == e->key[0] && key[1] == e->key[1]) {
            const rlt_sweep_slot *other = &w->slots[k % w->n_slots];
            *same = other->same_as >= 0 ? other->same_as : (int64_t)other->experiment.point.id;
            return 0;
        }
    }
    return rlt_store_find(w->store, e->key, e->point.id, same, err);
}

/* Callbacks of a pool, also used for ranks. */
static int prepare_point(void *ctx, uint32_t i, uint32_t slot, rlt_error *err)
{
    rlt_sweep *w = ctx;
    rlt_point_job *e = &w->slots[slot].experiment;
    bool missing = false, there;
    int rc = 0;
    while (!rc && !missing)
        rc = is_missing(w, w->next++, &missing, err);
    if (rc || (rc = rlt_point_describe(e, w->study, w->next - 1, &there, err)) ||
        (rc = find_same(w, i, e, &w->slots[slot].same_as, err)))
        return rc;
    w->slots[slot].kept = -1;
    if (w->slots[slot].same_as < 0 && (rc = rlt_store_kept(w->store, e->key, &w->slots[slot].kept, err)))
        return rc;
    memcpy(w->keys[slot], e->key, sizeof e->key);
    if (w->slots[slot].same_as >= 0 || w->slots[slot].kept >= 0)
        e->ready = false;
    return w->remote ? 0 : rlt_point_prepare(e, &w->inputs, err);
}

static int run_slot(void *ctx, rlt_task *job, uint32_t i, uint32_t slot, rlt_error *err)
{
    rlt_sweep *w = ctx;
    (void)i;
    return rlt_point_run(&w->slots[slot].experiment, job, err);
}

static bool has_room(void *ctx)
{
    const rlt_sweep *w = ctx;
    return rlt_shared_has_room(&w->inputs);
}

static void release_inputs(void *ctx, uint32_t slot)
{
    rlt_sweep *w = ctx;
    rlt_prepared_end(&w->slots[slot].experiment.prepared);
}

static void show(rlt_sweep *w)
{
    double spent = now_s() - w->began_s;
    snprintf(w->label, sizeof w->label, "%llu of %llu points, %.0f/s, %llu failed",
             (unsigned long long)w->done, (unsigned long long)w->total,
             spent > 0 ? (double)w->n_flying / spent : 0, (unsigned long long)w->failed);
}

static int take_point(void *ctx, uint32_t i, uint32_t slot, rlt_error *err)
{
    rlt_sweep *w = ctx;
    rlt_point_job *e = &w->slots[slot].experiment;
    rlt_store_row row = {.study = w->study,
                         .point = &e->point,
                         .key = e->key,
                         .same_as = w->slots[slot].same_as,
                         .kept = w->slots[slot].kept,
                         .outcome = &e->outcome};
    bool failed = e->outcome.status != 0;
    w->assumed |= e->outcome.assumed;
    w->measured |= e->outcome.measured;
    if (!*w->stack)
        snprintf(w->stack, sizeof w->stack, "%s", e->outcome.stack);
    else if (*e->outcome.stack && strcmp(w->stack, e->outcome.stack) != 0)
        snprintf(w->other, sizeof w->other, "%s", e->outcome.stack);
    if (failed && !w->first_error[0])
        snprintf(w->first_error, sizeof w->first_error, "point %llu: %s", (unsigned long long)e->point.id,
                 e->outcome.error);
    int rc = rlt_store_put(w->store, &row, err);
    if (!rc && (row.same_as >= 0 || row.kept >= 0))
        rc = rlt_store_failed(w->store, e->point.id, &failed, err);
    rlt_point_reset(e);
    w->first_flying = i + 1;
    w->n_flying++;
    w->reused += row.kept >= 0;
    w->copied += row.same_as >= 0;
    w->done++;
    w->failed += failed;
    show(w);
    return rc;
}

static int run_stretch(rlt_sweep *w, uint64_t first, uint64_t end, rlt_error *err)
{
    rlt_pool_work work = {.slots = w->n_slots,
                          .ctx = w,
                          .prepare = prepare_point,
                          .room = has_room,
                          .ended = release_inputs,
                          .run = run_slot,
                          .take = take_point,
                          .progress = w->progress.label ? &w->progress : NULL};
    w->next = first;
    w->end = end;
    w->first_flying = 0;
    int rc = count_missing(w, &work.n, err);
    if (rc || !work.n)
        return rc;
    rc = w->remote ? rlt_ranks_run(w, &work, err) : rlt_pool_run(&work, w->jobs, err);
    if (w->fatal) {
        rc = w->fatal;
        *err = w->why;
    }
    for (uint32_t i = 0; i < w->n_slots; i++)
        rlt_point_reset(&w->slots[i].experiment);
    return rc;
}

static int run_rounds(rlt_sweep *w, rlt_sweep_study *study, rlt_error *err)
{
    int rc = 0;
    while (!rc && study->n_chosen < study->wanted) {
        uint64_t before = study->n_chosen;
        rc = rlt__sweep_choose(study, w->store, err);
        rc = rc ? rc : rlt__sweep_skipped(w, err);
        if (!rc)
            rc = run_stretch(w, before * study->replicas, (uint64_t)study->n_chosen * study->replicas, err);
    }
    return rc;
}

void rlt__sweep_note_inputs(rlt_sweep *w)
{
    w->inputs.note = note_input;
    w->inputs.ctx = w;
}

int rlt_sweep_probe(rlt_sweep *w, const rlt_sweep_study *study, rlt_error *err)
{
    rlt__sweep_note_inputs(w);
    return rlt_point_probe(study, &w->inputs, err);
}

static int enter_notes(rlt_sweep *w, rlt_error *err)
{
    const rlt_plugin_loaded *plugin;
    int rc = 0;
    for (uint32_t i = 0; !rc && (plugin = rlt_plugin_at(i)); i++)
        rc = rlt_store_input(w->store, "plug-in", plugin->path, plugin->hash, err);
    for (uint32_t i = 0; i < w->n_notes && !rc; i++)
        rc = rlt_store_input(w->store, w->notes[i].what, w->notes[i].path, w->notes[i].hash, err);
    return rc;
}

int rlt_sweep_run(rlt_sweep *w, rlt_sweep_study *study, rlt_error *err)
{
    uint64_t draws = study->draws * study->replicas;
    int rc, ended = 0;
    w->study = study;
    w->n_slots = (study->links == RLT_FIGURE_LINKS_ALL ? SLOTS_WITH_LINKS : SLOTS) + SLOTS_A_JOB * w->jobs;
    rlt__sweep_note_inputs(w);
    w->began_s = now_s();
    if ((rc = enter_notes(w, err)) || (rc = rlt_store_count(w->store, &w->done, &w->failed, &w->last, err)))
        return rc;
    w->total = rlt_sweep_share(study, w->shard, w->shards);
    w->slots = calloc(w->n_slots, sizeof *w->slots);
    w->keys = calloc(w->n_slots, sizeof *w->keys);
    if (!w->slots || !w->keys)
        return rlt_nomem(err);
    show(w);
    rc = study->sample == RLT_SWEEP_ADAPTIVE ? run_rounds(w, study, err) : run_stretch(w, 0, draws, err);
    if (!rc)
        rc = run_stretch(w, draws, rlt_sweep_end(study), err);
    ended = rlt_store_commit(w->store, rc ? NULL : err);
    return rc ? rc : ended;
}

void rlt_sweep_free(rlt_sweep *w)
{
    for (uint32_t i = 0; i < w->n_slots && w->slots; i++)
        rlt_point_free(&w->slots[i].experiment);
    for (uint32_t i = 0; i < w->n_notes; i++) {
        free(w->notes[i].what);
        free(w->notes[i].path);
    }
    free(w->notes);
    free(w->slots);
    free(w->keys);
    w->slots = NULL;
    rlt__sweep_skip_free(w);
    rlt_shared_free(&w->inputs);
}
