/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Ranks by MPI, in ringlet-mpi only. No other file uses MPI. */
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/base/error.h"
#include "tools/base/interrupt.h"
#include "tools/base/pool.h"
#include "tools/base/progress.h"
#include "tools/sweep/point.h"
#include "tools/sweep/ranks.h"
#include "tools/sweep/state.h"
#include "tools/sweep/store/store.h"
#include "tools/sweep/study/study.h"
#include "workload/experiment/figures.h"
#include "workload/experiment/shared.h"

/* Points assigned to a rank at once: one waits while the other runs. */
enum { DEPTH = 2, PAUSE_NS = 50000, PATIENCE_MS = 250 };
enum { TAG_POINT = 1, TAG_STOP, TAG_OUTCOME, TAG_INPUT, TAG_FATAL, TAG_BYE };

/* A point, and the study's number of draws: places that are dropped are known only on rank 0. */
typedef struct order {
    uint64_t id, place, draws;
} order;

typedef struct answer {
    uint64_t id;
    rlt_outcome outcome; /* followed by its links */
} answer;

typedef struct input {
    uint64_t hash;
    char what[64], path[1024];
} input;

static void pause_a_moment(void)
{
    struct timespec t = {.tv_nsec = PAUSE_NS};
    nanosleep(&t, NULL);
}

const char *rlt_ranks_version(char *buffer, size_t size)
{
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    text[strcspn(text, ",\n")] = '\0';
    snprintf(buffer, size, "%.60s", text);
    return buffer;
}

int rlt_ranks_become(const char *command, char **argv, rlt_error *err)
{
    (void)command;
    (void)argv;
    (void)err;
    return 0;
}

int rlt_ranks_begin(uint32_t *n, uint32_t *rank, rlt_error *err)
{
    int count = 1, own = 0, threads;
    if (MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &threads) != MPI_SUCCESS)
        return rlt_fail(err, RLT_EIO, "MPI", "does not start");
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    rlt_interrupt_init(); /* MPI may have replaced the signal handlers */
    *n = (uint32_t)count;
    *rank = (uint32_t)own;
    return 0;
}

int rlt_ranks_text(const char *own, char **text, rlt_error *err)
{
    uint64_t length = own ? strlen(own) : 0;
    MPI_Bcast(&length, 1, MPI_UINT64_T, 0, MPI_COMM_WORLD);
    *text = length ? calloc(length + 1, 1) : NULL;
    if (!length)
        return 0;
    if (!*text)
        return rlt_nomem(err);
    if (own)
        memcpy(*text, own, length);
    MPI_Bcast(*text, (int)length, MPI_CHAR, 0, MPI_COMM_WORLD);
    return 0;
}

int rlt_ranks_share(void *items, size_t size, uint32_t n, int rc, rlt_error *err)
{
    int count, own, first;
    MPI_Datatype item, share;
    rlt_error why = err ? *err : (rlt_error){0};
    MPI_Comm_size(MPI_COMM_WORLD, &count);
    MPI_Comm_rank(MPI_COMM_WORLD, &own);
    int bid = !rc ? 2 * count : rc == RLT_ECANCELLED ? count + own : own;
    MPI_Allreduce(&bid, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first < 2 * count) {
        why.code = rc;
        MPI_Bcast(&why, sizeof why, MPI_BYTE, first % count, MPI_COMM_WORLD);
        if (err)
            *err = why;
        return why.code;
    }
    MPI_Type_contiguous((int)size, MPI_BYTE, &item);
    for (int r = 0; r < count && (uint32_t)r < n; r++) {
        MPI_Type_vector(((int)n - r - 1) / count + 1, 1, count, item, &share);
        MPI_Type_commit(&share);
        MPI_Bcast((char *)items + (size_t)r * size, 1, share, r, MPI_COMM_WORLD);
        MPI_Type_free(&share);
    }
    MPI_Type_free(&item);
    return 0;
}

/* Receives a message if there is one; malloc'ed. */
static int receive(int from, MPI_Status *status, void **message, int *length, bool *got, rlt_error *err)
{
    int there = 0;
    *got = false;
    MPI_Iprobe(from, MPI_ANY_TAG, MPI_COMM_WORLD, &there, status);
    if (!there)
        return 0;
    MPI_Get_count(status, MPI_BYTE, length);
    *message = malloc((size_t)*length + 1);
    if (!*message)
        return rlt_nomem(err);
    MPI_Recv(*message, *length, MPI_BYTE, status->MPI_SOURCE, status->MPI_TAG, MPI_COMM_WORLD,
             MPI_STATUS_IGNORE);
    *got = true;
    return 0;
}

/* State of rank 0. */

typedef struct host {
    rlt_sweep *w;
    const rlt_pool_work *work;
    uint32_t ranks, *flying; /* by rank: points assigned */
    bool *ended;             /* by slot */
    uint32_t started, taken;
} host;

static uint32_t idlest(const host *h)
{
    uint32_t best = 1;
    for (uint32_t r = 2; r < h->ranks; r++)
        if (h->flying[r] < h->flying[best])
            best = r;
    return best;
}

static int hand_out(host *h, rlt_error *err)
{
    while (h->started < h->work->n && h->started - h->taken < h->work->slots) {
        uint32_t rank = idlest(h), slot = h->started % h->work->slots;
        if (h->flying[rank] == DEPTH)
            return 0;
        int rc = h->work->prepare(h->work->ctx, h->started, slot, err);
        if (rc)
            return rc;
        rlt_point_job *e = &h->w->slots[slot].experiment;
        order o = {e->point.id, e->point.place, h->w->study->draws};
        h->started++;
        h->ended[slot] = !e->ready;
        if (!e->ready)
            continue;
        MPI_Send(&o, sizeof o, MPI_BYTE, (int)rank, TAG_POINT, MPI_COMM_WORLD);
        h->flying[rank]++;
    }
    return 0;
}

static int take_answer(host *h, const void *message, int length, rlt_error *err)
{
    const answer *a = message;
    for (uint32_t i = h->taken; i < h->started; i++) {
        uint32_t slot = i % h->work->slots;
        rlt_point_job *e = &h->w->slots[slot].experiment;
        if (h->ended[slot] || e->point.id != a->id)
            continue;
        size_t bytes = a->outcome.n_links * sizeof *a->outcome.links;
        if ((size_t)length != sizeof *a + bytes)
            return rlt_fail(err, RLT_EIO, "MPI", "a message of %d bytes is not one of ringlet's", length);
        e->outcome = a->outcome;
        e->outcome.links = bytes ? malloc(bytes) : NULL;
        if (bytes && !e->outcome.links) {
            e->outcome.n_links = 0;
            return rlt_nomem(err);
        }
        if (bytes)
            memcpy(e->outcome.links, a + 1, bytes);
        h->ended[slot] = true;
        return 0;
    }
    return 0;
}

static int take_message(host *h, const MPI_Status *status, const void *message, int length, rlt_error *err)
{
    const input *in = message;
    const rlt_error *why = message;
    switch (status->MPI_TAG) {
    case TAG_OUTCOME:
        h->flying[status->MPI_SOURCE]--;
        return take_answer(h, message, length, err);
    case TAG_INPUT:
        return rlt_store_input(h->w->store, in->what, in->path, in->hash, err);
    case TAG_FATAL:
        return rlt_fail(err, why->code, why->where, "rank %d: %s", status->MPI_SOURCE, why->what);
    default:
        return 0;
    }
}

int rlt_ranks_run(rlt_sweep *w, const rlt_pool_work *work, rlt_error *err)
{
    host h = {.w = w, .work = work, .ranks = w->jobs + 1};
    int rc = 0;
    h.flying = calloc(h.ranks, sizeof *h.flying);
    h.ended = calloc(work->slots, sizeof *h.ended);
    if (!h.flying || !h.ended)
        rc = rlt_nomem(err);
    while (!rc && h.taken < work->n) {
        MPI_Status status;
        void *message = NULL;
        int length = 0;
        bool got = false;
        if (rlt_interrupted())
            rc = RLT_ECANCELLED;
        else if (!(rc = hand_out(&h, err)))
            rc = receive(MPI_ANY_SOURCE, &status, &message, &length, &got, err);
        if (!rc && got)
            rc = take_message(&h, &status, message, length, err);
        free(message);
        while (!rc && h.taken < h.started && h.ended[h.taken % work->slots]) {
            rc = work->take(work->ctx, h.taken, h.taken % work->slots, err);
            h.taken++;
            if (work->progress)
                rlt_progress_update(work->progress, h.taken, work->n);
            got = true;
        }
        if (!rc && !got)
            pause_a_moment();
    }
    free(h.flying);
    free(h.ended);
    return rc;
}

/* Releases the ranks and waits for their goodbyes. Returns false if that failed, or took too long after
 * Ctrl-C: then some rank is dead. */
static bool dismiss(void)
{
    int ranks, gone = 0;
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int r = 1; r < ranks; r++)
        MPI_Send(NULL, 0, MPI_BYTE, r, TAG_STOP, MPI_COMM_WORLD);
    struct timespec begun, now;
    clock_gettime(CLOCK_MONOTONIC, &begun);
    while (gone < ranks - 1) {
        MPI_Status status;
        void *message = NULL;
        int length;
        bool got;
        if (receive(MPI_ANY_SOURCE, &status, &message, &length, &got, NULL))
            return false;
        gone += got && status.MPI_TAG == TAG_BYE;
        free(message);
        clock_gettime(CLOCK_MONOTONIC, &now);
        int64_t spent_ms = (now.tv_sec - begun.tv_sec) * 1000 + (now.tv_nsec - begun.tv_nsec) / 1000000;
        if (!got && rlt_interrupted() && spent_ms > PATIENCE_MS)
            return false;
        if (!got)
            pause_a_moment();
    }
    return true;
}

void rlt_ranks_end(uint32_t rank, bool served)
{
    if (rank == 0 && served && !dismiss())
        return; /* MPI_Finalize would wait for the dead rank */
    if (rank != 0)
        rlt_interrupt_release(); /* rank 0 speaks; a launcher that ends early sends the others a signal */
    MPI_Finalize();
}

/* State of another rank. */

typedef struct guest {
    rlt_shared inputs;
    rlt_point_job experiment;
    rlt_sweep_study *study;
} guest;

static int tell_input(void *ctx, const char *what, const char *path, uint64_t hash, rlt_error *err)
{
    input in = {.hash = hash};
    (void)ctx;
    (void)err;
    snprintf(in.what, sizeof in.what, "%s", what);
    snprintf(in.path, sizeof in.path, "%s", path);
    MPI_Send(&in, sizeof in, MPI_BYTE, 0, TAG_INPUT, MPI_COMM_WORLD);
    return 0;
}

static int send_answer(const rlt_point_job *e, rlt_error *err)
{
    size_t bytes = e->outcome.n_links * sizeof *e->outcome.links;
    answer *a = malloc(sizeof *a + bytes);
    if (!a)
        return rlt_nomem(err);
    memset(a, 0, sizeof *a);
    a->id = e->point.id;
    a->outcome = e->outcome;
    a->outcome.links = NULL;
    if (bytes)
        memcpy(a + 1, e->outcome.links, bytes);
    MPI_Send(a, (int)(sizeof *a + bytes), MPI_BYTE, 0, TAG_OUTCOME, MPI_COMM_WORLD);
    free(a);
    return 0;
}

static int run_order(guest *g, const order *o, rlt_error *err)
{
    rlt_point_job *e = &g->experiment;
    uint64_t draw = o->id / g->study->replicas;
    bool there;
    g->study->draws = o->draws;
    if (g->study->chosen && draw < g->study->draws)
        g->study->chosen[draw] = o->place;
    int rc = rlt_point_describe(e, g->study, o->id, &there, err);
    if (!rc)
        rc = rlt_point_prepare(e, &g->inputs, err);
    if (!rc)
        rc = rlt_point_run(e, NULL, err);
    if (!rc)
        rc = send_answer(e, err);
    rlt_point_reset(e);
    return rc;
}

int rlt_ranks_serve(rlt_sweep_study *study, rlt_error *err)
{
    guest g = {.study = study, .inputs = {.note = tell_input}};
    int rc = 0;
    bool stopped = false;
    while (!stopped && !rc) {
        MPI_Status status;
        void *message = NULL;
        int length = 0;
        bool got;
        rc = receive(0, &status, &message, &length, &got, err);
        stopped = got && status.MPI_TAG == TAG_STOP;
        if (!rc && got && !stopped && !rlt_interrupted())
            rc = run_order(&g, message, err);
        free(message);
        if (rc && rc != RLT_ECANCELLED) {
            rlt_error why = *err;
            why.code = rc;
            MPI_Send(&why, sizeof why, MPI_BYTE, 0, TAG_FATAL, MPI_COMM_WORLD);
        }
        if (rc) { /* rank 0 reports the error; its further orders are ignored */
            rc = 0;
            *err = (rlt_error){0};
        }
        if (!got)
            pause_a_moment();
    }
    MPI_Send(NULL, 0, MPI_BYTE, 0, TAG_BYE, MPI_COMM_WORLD);
    rlt_point_free(&g.experiment);
    rlt_shared_free(&g.inputs);
    return rc;
}
