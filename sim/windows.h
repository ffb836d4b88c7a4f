/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several simulations that are parts of one, each on a thread of its own.
 *
 * Let `ahead` be the least time that an event of one part takes to reach another: the latency of a link. Let
 * T be the least time of any event that is pending. Nothing that happens at T or later reaches another part
 * before T + ahead. So all parts run their events in the window [T, T + ahead) without looking at each
 * other. Whatever they send meanwhile is a letter, taken when all have met at the end of the window.
 *
 *   Example: two hosts, 500 ns apart, one part each. A packet leaves the first at 0: a letter. The parts
 *   meet, the second takes the letter, and the next window begins when the packet arrives, at 500 ns.
 *
 * Letters of one sender are taken in the order in which they were sent, those of part 0 first. The result
 * does not depend on the parts if the order of events of one instant does not (see rlt_sim_places).
 *
 * A part's simulation and all that its handlers touch belong to its thread while rlt_windows_run runs. Part 0
 * runs on the calling thread. rlt_sim_stop for part 0, from anywhere, stops all.
 */
#ifndef RLT_SIM_WINDOWS_H
#define RLT_SIM_WINDOWS_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/sim.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_MAX_PARTS = 64 };

typedef struct rlt_windows rlt_windows;

/* Calls to a part, on its thread. */
typedef struct rlt_windows_client {
    void *ctx;
    /* Takes a letter: schedules its event, at its time. The letter is gone afterwards. */
    void (*take)(void *ctx, uint32_t from, const void *letter);
    /* A window begins. `ended`: the time at which the work of the last part ended; -1: some goes on. */
    void (*begin)(void *ctx, rlt_time ended);
} rlt_windows_client;

/* n of 1 .. RLT_MAX_PARTS, ahead > 0. */
int rlt_windows_create(uint32_t n, rlt_time ahead, rlt_windows **out, rlt_error *err) RLT_MUST_USE;
void rlt_windows_free(rlt_windows *w);
/* Joins part `self` before the run. `ended` returns the time at which its work ended, or -1; events that are
 * still pending then do not count as work. */
void rlt_windows_join(rlt_windows *w, uint32_t self, rlt_sim *sim, rlt_time (*ended)(void *ctx), void *ctx);
void rlt_windows_listen(rlt_windows *w, uint32_t self, const rlt_windows_client *client);
/* Returns room for a letter of `bytes` bytes, aligned to 8, from `self` to another part. `when`: the time of
 * its event, at least `ahead` from now; RLT_TIME_MAX if it has none. Returns NULL after rlt_sim_fail. */
void *rlt_windows_letter(rlt_windows *w, uint32_t self, uint32_t to, rlt_time when, uint32_t bytes);
/* Runs until nothing is pending in any part, or one has failed or was stopped. Returns 0 or the error of the
 * first part that has one. */
int rlt_windows_run(rlt_windows *w, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
