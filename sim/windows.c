/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Windows. Letters and reports have two copies, of which each window uses the other one: those of the last
 * window are read while those of the next one are written. So parts meet once per window.
 */
#include "sim/windows.h"

#include <pthread.h>
#include <stdalign.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/sim.h"

/* Looks at the clock of meetings before a thread sleeps: about as long as waking it takes. */
enum { LOOKS = 2000 };
#define MAX_LETTERS ((uint64_t)1 << 31) /* bytes */

/* Letters from one part to another. */
typedef struct box {
    alignas(64) char *items;
    uint32_t used, room;
} box;

/* Told to the others when they meet. */
typedef struct report {
    alignas(64) rlt_time next; /* least time among its events and the letters it sent */
    rlt_time ended;
    bool stopped;
} report;

typedef struct part {
    rlt_windows *windows;
    rlt_sim *sim;
    rlt_time (*ended)(void *ctx);
    void *ended_ctx;
    rlt_windows_client client;
    box *out[2]; /* by receiver */
    report told[2];
    rlt_time letter; /* least time of a letter sent in this window */
    unsigned turn;   /* the copy in use */
    uint32_t self;
    rlt_error error;
    pthread_t thread;
} part;

struct rlt_windows {
    uint32_t n;
    rlt_time ahead;
    part *parts;
    bool spins;
    enum { WAIT, GO, GIVE_UP } gate;
    atomic_uint here, meetings;
    pthread_mutex_t lock;
    pthread_cond_t changed;
};

int rlt_windows_create(uint32_t n, rlt_time ahead, rlt_windows **out, rlt_error *err)
{
    *out = NULL;
    if (n < 1 || n > RLT_MAX_PARTS || ahead <= 0)
        return rlt_fail(err, RLT_ERANGE, NULL, "%u parts, %lld ps apart", n, (long long)ahead);
    rlt_windows *w = calloc(1, sizeof *w);
    if (!w)
        return rlt_nomem(err);
    w->n = n;
    w->ahead = ahead;
    w->spins = sysconf(_SC_NPROCESSORS_ONLN) >= (long)n;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->changed, NULL);
    atomic_init(&w->here, 0);
    atomic_init(&w->meetings, 0);
    w->parts = aligned_alloc(alignof(part), n * sizeof *w->parts);
    for (uint32_t i = 0; w->parts && i < n; i++)
        w->parts[i] = (part){.windows = w, .self = i, .letter = RLT_TIME_MAX};
    bool all = w->parts != NULL;
    for (uint32_t i = 0; i < 2 * n && all; i++) {
        box *boxes = aligned_alloc(alignof(box), n * sizeof *boxes);
        for (uint32_t k = 0; boxes && k < n; k++)
            boxes[k] = (box){0};
        w->parts[i / 2].out[i % 2] = boxes;
        all = boxes != NULL;
    }
    if (!all) {
        rlt_windows_free(w);
        return rlt_nomem(err);
    }
    *out = w;
    return 0;
}

void rlt_windows_free(rlt_windows *w)
{
    if (!w)
        return;
    for (uint32_t i = 0; w->parts && i < 2 * w->n; i++) {
        box *boxes = w->parts[i / 2].out[i % 2];
        for (uint32_t k = 0; boxes && k < w->n; k++)
            free(boxes[k].items);
        free(boxes);
    }
    free(w->parts);
    pthread_cond_destroy(&w->changed);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

void rlt_windows_join(rlt_windows *w, uint32_t self, rlt_sim *sim, rlt_time (*ended)(void *ctx), void *ctx)
{
    w->parts[self].sim = sim;
    w->parts[self].ended = ended;
    w->parts[self].ended_ctx = ctx;
}

void rlt_windows_listen(rlt_windows *w, uint32_t self, const rlt_windows_client *client)
{
    w->parts[self].client = *client;
}

void *rlt_windows_letter(rlt_windows *w, uint32_t self, uint32_t to, rlt_time when, uint32_t bytes)
{
    part *p = &w->parts[self];
    box *b = &p->out[p->turn][to];
    uint32_t whole = (bytes + 15) / 8 * 8; /* its length, then the letter */
    if (whole > b->room - b->used &&
        rlt_grow(&b->items, &b->room, 1, (uint64_t)b->used + whole, MAX_LETTERS, "letters", NULL) != 0) {
        rlt_sim_fail(p->sim, RLT_ENOMEM, NULL, "no memory for one more letter between threads");
        return NULL;
    }
    char *at = b->items + b->used;
    *(uint32_t *)(void *)at = whole;
    b->used += whole;
    p->letter = when < p->letter ? when : p->letter;
    return at + 8;
}

/* Waits until all parts are here. */
static void meet(rlt_windows *w)
{
    unsigned before = atomic_load_explicit(&w->meetings, memory_order_relaxed);
    if (atomic_fetch_add_explicit(&w->here, 1, memory_order_acq_rel) + 1 == w->n) {
        atomic_store_explicit(&w->here, 0, memory_order_relaxed);
        pthread_mutex_lock(&w->lock);
        atomic_store_explicit(&w->meetings, before + 1, memory_order_release);
        pthread_cond_broadcast(&w->changed);
        pthread_mutex_unlock(&w->lock);
        return;
    }
    for (int k = 0; k < LOOKS && w->spins; k++) {
        if (atomic_load_explicit(&w->meetings, memory_order_acquire) != before)
            return;
#if defined(__x86_64__) || defined(__i386__)
        __builtin_ia32_pause();
#endif
    }
    pthread_mutex_lock(&w->lock);
    while (atomic_load_explicit(&w->meetings, memory_order_acquire) == before)
        pthread_cond_wait(&w->changed, &w->lock);
    pthread_mutex_unlock(&w->lock);
}

/* Tells the others about the window that has ended. */
static void tell(part *p)
{
    report *r = &p->told[p->turn];
    rlt_time next;
    *r = (report){.next = p->letter, .ended = p->ended(p->ended_ctx), .stopped = p->error.code != 0};
    if (rlt_sim_next(p->sim, &next) && next < r->next)
        r->next = next;
    p->letter = RLT_TIME_MAX;
}

/* Returns what all have told together. */
static report all_told(const rlt_windows *w, unsigned turn)
{
    report all = {.next = RLT_TIME_MAX, .ended = 0};
    for (uint32_t i = 0; i < w->n; i++) {
        const report *r = &w->parts[i].told[turn];
        all.next = r->next < all.next ? r->next : all.next;
        all.stopped |= r->stopped;
        if (all.ended >= 0)
            all.ended = r->ended < 0 || r->ended > all.ended ? r->ended : all.ended;
    }
    return all;
}

static void take_letters(const part *p, unsigned turn)
{
    for (uint32_t from = 0; from < p->windows->n; from++) {
        box *b = &p->windows->parts[from].out[turn][p->self];
        for (uint32_t at = 0; at < b->used; at += *(const uint32_t *)(void *)(b->items + at))
            p->client.take(p->client.ctx, from, b->items + at + 8);
        b->used = 0;
    }
}

static void run_part(part *p)
{
    rlt_windows *w = p->windows;
    for (;;) {
        unsigned turn = p->turn;
        tell(p);
        meet(w);
        report all = all_told(w, turn);
        p->turn = !turn;
        p->client.begin(p->client.ctx, all.ended);
        if (all.stopped || all.next == RLT_TIME_MAX)
            return;
        take_letters(p, turn);
        int rc = rlt_sim_run(p->sim, rlt_time_add(all.next, w->ahead - 1), &p->error);
        p->error.code = rc;
    }
}

static void *run_thread(void *ctx)
{
    part *p = ctx;
    rlt_windows *w = p->windows;
    pthread_mutex_lock(&w->lock);
    while (w->gate == WAIT)
        pthread_cond_wait(&w->changed, &w->lock);
    bool go = w->gate == GO;
    pthread_mutex_unlock(&w->lock);
    if (go)
        run_part(p);
    return NULL;
}

int rlt_windows_run(rlt_windows *w, rlt_error *err)
{
    uint32_t started = 1;
    w->gate = WAIT;
    while (started < w->n &&
           pthread_create(&w->parts[started].thread, NULL, run_thread, &w->parts[started]) == 0)
        started++;
    pthread_mutex_lock(&w->lock);
    w->gate = started == w->n ? GO : GIVE_UP;
    pthread_cond_broadcast(&w->changed);
    pthread_mutex_unlock(&w->lock);
    if (started == w->n)
        run_part(&w->parts[0]);
    for (uint32_t i = 1; i < started; i++)
        pthread_join(w->parts[i].thread, NULL);
    if (started < w->n)
        return rlt_fail(err, RLT_ENOMEM, NULL, "cannot start thread %u of %u", started + 1, w->n);
    for (uint32_t i = 0; i < w->n; i++) {
        const rlt_error *e = &w->parts[i].error;
        if (e->code != 0)
            return rlt_fail(err, e->code, e->where, "%s", e->what);
    }
    return 0;
}
