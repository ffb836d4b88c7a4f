/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Aligns the clocks of different hosts. All ranks leave a collective together, so recorded ends show the
 * offset between clocks. Two recordings are compared if they have the same NCCL kernels in the same order.
 * Let d_k be the difference of the ends of kernel k, and m the median of all d_k. If three quarters of the
 * d_k are close to m, and |m| is more than is usual on one host (1 to 7 us), m is subtracted from the second
 * recording. Otherwise nothing changes, as with groups smaller than the run: the differences then are no
 * constant. Example: ends that differ by 5.002, 4.999, 5.001 and 5.000 ms give an offset of about 5 ms.
 */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "workload/readers/kineto/kineto.h"

#define SAME_HOST_NS 100000
#define FARTHEST_NS  1000000000000000000 /* 30 years, so that sums fit */
enum { LEAST_COMMS = 3, MOST_COMMS = 4096 };

typedef struct ending {
    int64_t begin, end;
    uint32_t name;
} ending;

typedef struct endings {
    ending *at;
    uint32_t n, capacity;
} endings;

static int by_begin(const void *a, const void *b)
{
    const ending *x = a, *y = b;
    return (x->begin > y->begin) - (x->begin < y->begin);
}

static int by_value(const void *a, const void *b)
{
    const int64_t *x = a, *y = b;
    return (*x > *y) - (*x < *y);
}

static int collect(const rlt_kin_run *run, const rlt_kin_recording *k, endings *out, rlt_error *err)
{
    rlt_kin_window w;
    int rc = rlt__kin_window(run, k, &w, err);
    for (uint32_t i = 0; i < k->n_events && rc == 0; i++) {
        const rlt_kin_event *e = &k->events[i];
        if (e->role != RLT_KIN_NCCL || e->ts < w.begin || rlt__kin_end(e) > w.end)
            continue;
        rc = rlt_grow(&out->at, &out->capacity, sizeof *out->at, (uint64_t)out->n + 1, RLT_KIN_MAX_EVENTS,
                      "collectives", err);
        if (rc == 0)
            out->at[out->n++] = (ending){.begin = e->ts, .end = k->base + rlt__kin_end(e), .name = e->name};
    }
    if (out->n > 1)
        qsort(out->at, out->n, sizeof *out->at, by_begin);
    return rc;
}

static bool same_kernels(const rlt_kin_recording *a, const endings *x, const rlt_kin_recording *b,
                         const endings *y)
{
    if (x->n != y->n || x->n < LEAST_COMMS)
        return false;
    for (uint32_t i = 0; i < x->n; i++)
        if (strcmp(rlt_interned(&a->strings, x->at[i].name), rlt_interned(&b->strings, y->at[i].name)) != 0)
            return false;
    return true;
}

/* Computes the median difference of the ends. Returns true if three quarters of the differences are close to
 * it. */
static bool constant_offset(const endings *x, const endings *y, int64_t *offset)
{
    int64_t differences[MOST_COMMS];
    uint32_t n = x->n < MOST_COMMS ? x->n : MOST_COMMS, close = 0;
    for (uint32_t i = 0; i < n; i++)
        differences[i] = y->at[i].end - x->at[i].end;
    qsort(differences, n, sizeof *differences, by_value);
    *offset = differences[n / 2];
    for (uint32_t i = 0; i < n; i++)
        close += llabs(differences[i] - *offset) <= SAME_HOST_NS / 2;
    return llabs(*offset) > SAME_HOST_NS && llabs(*offset) < FARTHEST_NS && close >= n - n / 4;
}

int rlt__kin_align_clocks(rlt_kin_run *run, rlt_error *err)
{
    endings first = {0};
    int rc = collect(run, &run->recordings[0], &first, err);
    for (uint32_t i = 1; i < run->n_files && rc == 0 && first.n >= LEAST_COMMS; i++) {
        rlt_kin_recording *k = &run->recordings[i];
        endings own = {0};
        int64_t offset;
        rc = collect(run, k, &own, err);
        if (rc == 0 && same_kernels(&run->recordings[0], &first, k, &own) &&
            constant_offset(&first, &own, &offset)) {
            k->base -= offset;
            run->n_aligned++;
            run->largest_offset = llabs(offset) > run->largest_offset ? llabs(offset) : run->largest_offset;
        }
        free(own.at);
    }
    free(first.at);
    return rc;
}
