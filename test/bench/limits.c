/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * What this machine does in a nanosecond, for the limits in rows.txt. Prints CPU nanoseconds, the best of
 * several runs:
 *
 *   scan   a byte of 64 MiB that memchr passes over
 *   copy   a byte of 64 MiB that memcpy moves
 *   miss   a load in 64 MiB whose address depends on the load before
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "sim/base/map.h"

enum { BYTES = 64 << 20, LOADS = 1 << 20, CELLS = BYTES / 4, RUNS = 3 };

static double cpu_ns(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* Links all cells into one cycle in random order (Sattolo's shuffle). */
static void make_cycle(uint32_t *cells)
{
    for (uint32_t i = 0; i < CELLS; i++)
        cells[i] = i;
    for (uint32_t i = CELLS - 1; i > 0; i--) {
        uint32_t j = (uint32_t)(rlt_mix64(i) % i), kept = cells[i];
        cells[i] = cells[j];
        cells[j] = kept;
    }
}

/* The compiler must not drop work whose result nobody reads. */
static volatile uintptr_t sink;

static void scan(const uint32_t *cells, char *other)
{
    (void)cells;
    sink = (uintptr_t)memchr(other, 1, BYTES);
}

static void copy(const uint32_t *cells, char *other)
{
    memcpy(other, cells, BYTES);
    sink = (uintptr_t)other[sink % BYTES];
}

static void miss(const uint32_t *cells, char *other)
{
    (void)other;
    uint32_t at = 0;
    for (int i = 0; i < LOADS; i++)
        at = cells[at];
    sink = at;
}

static double best(void (*work)(const uint32_t *, char *), const uint32_t *cells, char *other, double units)
{
    double least = 1e30;
    for (int i = 0; i < RUNS; i++) {
        double begun = cpu_ns();
        work(cells, other);
        double took = cpu_ns() - begun;
        least = took < least ? took : least;
    }
    return least / units;
}

int main(void)
{
    uint32_t *cells = malloc(BYTES);
    char *other = malloc(BYTES);
    if (!cells || !other)
        return 1;
    make_cycle(cells);
    memset(other, 0, BYTES);
    double scanned = best(scan, cells, other, BYTES);
    printf("scan=%.4f copy=%.4f miss=%.1f\n", scanned, best(copy, cells, other, BYTES),
           best(miss, cells, other, LOADS));
    free(other);
    free(cells);
    return 0;
}
