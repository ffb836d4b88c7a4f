/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Plans in files, in one of three formats. Ringlet's own JSON keeps a plan exactly. MSCCL XML is described in
 * collectives/formats/msccl.h. GOAL is the text format of LogGOPSim (Hoefler, Schneider, Lumsdaine,
 * "LogGOPSim", LSAP 2010); it has messages, but not their contents.
 *
 * JSON:
 *   {"format": "ringlet-plan", "version": 1, "name", "collective", "ranks", "root", "lanes", "blocks",
 *    "blocks_of": "lane" | "all" | "untracked", "buffers", "result", "bytes" (untracked),
 *    "programs": [{"rank", "lane", "steps": [...]}]}
 * A step is an object with the following members. A member with its default value may be omitted.
 *   to, step, lane    receiver; its step that waits for this message; that step's lane (default: same lane)
 *   send, land        blocks [first, run, stride, reps]; trailing 1, 0, 1 may be omitted; land: default send
 *   buffer, into      buffers of these blocks (default 0)
 *   add, copy, nowait true: as in rlt_step (add is `reduce`)
 *   verb              "reduce", "multicast", "reduce_all"
 *   receives, from    number of awaited messages; their sender, if there is only one
 *   after             [lane, step] of this rank that must be over
 *   bytes             size of the message (untracked)
 *
 * GOAL:
 *   num_ranks N
 *   rank R { label: send 8b to 1 tag 0; label: recv 8b from 1 tag 0; label: calc 0;
 *            a requires b; a irequires b }
 * The k-th send to a rank with a tag matches its k-th receive, in the order of the file. Only calc 0 is
 * accepted, since steps have no durations. Our writer states the collective and its bytes in a comment; for
 * other files the caller states them.
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

/* Kind and size for a GOAL file that our writer has not described. */
typedef struct rlt_goal_hint {
    rlt_coll_kind kind;
    uint64_t bytes;
} rlt_goal_hint;

const char *rlt_plan_format_name(rlt_plan_format format);
/* Reads a file in any of the formats, detected by its beginning, and checks the plan with rlt_listed_check.
 * hint may be NULL. *out is empty if it fails. */
int rlt_plan_load(const char *path, const rlt_goal_hint *hint, rlt_listed *out, rlt_error *err) RLT_MUST_USE;
int rlt_plan_parse(const char *file, const char *text, size_t length, const rlt_goal_hint *hint,
                   rlt_listed *out, rlt_error *err) RLT_MUST_USE;
/* Writes a plan; the caller frees *text. RLT_EUNSUPPORTED for what the format cannot express. */
int rlt_plan_write(const rlt_plan *plan, rlt_plan_format format, char **text, size_t *length,
                   rlt_error *err) RLT_MUST_USE;

/* Readers and writers of single formats. Internal. */
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
