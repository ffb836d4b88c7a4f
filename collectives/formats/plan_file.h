/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plans in files: ringlet's own JSON, which keeps a plan exactly; MSCCL XML
 * (collectives/formats/msccl.h); and GOAL, the text of LogGOPSim (Hoefler, Schneider, Lumsdaine,
 * "LogGOPSim", LSAP 2010), which has messages and no data.
 *
 * JSON:
 *   {"format": "ringlet-plan", "version": 1, "name", "collective", "ranks", "root", "lanes", "blocks",
 *    "blocks_of": "lane" | "all" | "untracked", "buffers", "result", "bytes" (untracked),
 *    "programs": [{"rank", "lane", "steps": [...]}]}
 * A step is an object with these members, each left out where it has its default:
 *   to, step, lane    receiver, the step there that waits for this message, its lane (default: the same lane)
 *   send, land        blocks [first, run, stride, reps], shorter where the rest is 1, 0, 1; land: default
 *   send buffer, into      the buffers these blocks are in (default 0)
 *   add, copy, nowait true: as in rlt_step
 *   verb              "reduce", "multicast"
 *   receives, from    number of messages waited for, and their sender if there is only one
 *   after             [lane, step] of this rank to wait for
 *   bytes             size of the message (untracked)
 *
 * GOAL:
 *   num_ranks N
 *   rank R { label: send 8b to 1 tag 0; label: recv 8b from 1 tag 0; label: calc 0;
 *            a requires b; a irequires b }
 * The k-th send to a rank with a tag meets its k-th receive, in the order of the file. Only calc 0 is taken:
 * steps have no durations. Our writer states the collective and its bytes in a comment; for other files the
 * caller states them.
 */
#ifndef RLT_COLLECTIVES_FORMATS_PLAN_FILE_H
#define RLT_COLLECTIVES_FORMATS_PLAN_FILE_H

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/listed.h"
#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum rlt_plan_format {
    RLT_PLAN_JSON,
    RLT_PLAN_MSCCL,
    RLT_PLAN_GOAL,
    RLT_PLAN_FORMATS
} rlt_plan_format;

/* What a GOAL file of somebody else's is for. */
typedef struct rlt_goal_hint {
    rlt_coll_kind kind;
    uint64_t bytes;
} rlt_goal_hint;

const char *rlt_plan_format_name(rlt_plan_format format);
/* Reads a file of any of the formats, told apart by how it begins; hint may be NULL.
 * The plan is proven by rlt_listed_check. */
int rlt_plan_load(const char *path, const rlt_goal_hint *hint, rlt_listed *out, rlt_error *err) RLT_MUST_USE;
int rlt_plan_parse(const char *file, const char *text, size_t length, const rlt_goal_hint *hint,
                   rlt_listed *out, rlt_error *err) RLT_MUST_USE;
/* *text is malloc'ed. RLT_EUNSUPPORTED for what the format cannot say. */
int rlt_plan_write(const rlt_plan *plan, rlt_plan_format format, char **text, size_t *length,
                   rlt_error *err) RLT_MUST_USE;

/* The single formats; internal. */
int rlt_plan_json_parse(const char *file, const char *text, size_t length, rlt_listed *out,
                        rlt_error *err) RLT_MUST_USE;
int rlt_plan_json_write(const rlt_plan *plan, const char *name, char **text, size_t *length,
                        rlt_error *err) RLT_MUST_USE;
int rlt_goal_parse(const char *file, const char *text, size_t length, const rlt_goal_hint *hint,
                   rlt_listed *out, rlt_error *err) RLT_MUST_USE;
int rlt_goal_write(const rlt_plan *plan, const char *name, char **text, size_t *length,
                   rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
