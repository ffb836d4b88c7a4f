/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Answers of a search, kept in a file as they come (--save), so that a search that was killed goes on.
 *
 * The first line names the question: version, options and hashes of inputs. Each further line is one answer:
 *
 *   simulate 8/1/8/1/2/selective/on/tp-cp-dp-pp/interleaved/12/1 19381867758408 0x1p+35 3f0c...
 *   question, values of the axes that have one, picoseconds, bytes of memory, checksum
 *
 * A checksum covers its line and all before it. A last line without its end was being written when the search
 * was killed, and is dropped. Only bounds and times are kept: the rest takes no time. Bounds of sizes are
 * computed again and compared, since they change with the model and the accelerator.
 */
#ifndef RLT_TOOLS_PLAN_ANSWERS_H
#define RLT_TOOLS_PLAN_ANSWERS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "workload/plan/plan.h"
#include "workload/setup/inputs.h"

typedef struct rlt_answer {
    rlt_time ps;
    double memory_bytes;
    uint32_t line;
} rlt_answer;

/* Zero it, and close it in every case. */
typedef struct rlt_answers {
    const char *path; /* borrowed */
    const rlt_layout_space *space;
    FILE *file; /* NULL: answers are not written */
    rlt_strings keys;
    rlt_answer *known; /* by the index of the key */
    uint32_t room;
    uint32_t lines;
    uint64_t checksum; /* all lines so far */
} rlt_answers;

/* Writes the question as one line, malloc'ed. */
int rlt_answers_question(const rlt_parsed *args, const rlt_inputs *in, char **line,
                         rlt_error *err) RLT_MUST_USE;
/* Opens the file, which may be new, and reads it. *text is malloc'ed. Another search that has it open is an
 * error. */
int rlt_answers_open(rlt_answers *a, const char *path, char **text, rlt_error *err) RLT_MUST_USE;
/* Takes the answers of a text (NULL: none). RLT_EUSAGE if it answers another question, RLT_EMALFORMED with
 * the number of a damaged line. An open file then goes on behind its last whole line. */
int rlt_answers_read(rlt_answers *a, const char *question, const rlt_layout_space *space, const char *text,
                     rlt_error *err) RLT_MUST_USE;
bool rlt_answers_recall(const rlt_answers *a, const rlt_layout_task *t, rlt_layout_outcome *out);
int rlt_answers_keep(rlt_answers *a, const rlt_layout_task *t, const rlt_layout_outcome *o,
                     rlt_error *err) RLT_MUST_USE;
/* Hands what was kept to the system, where it outlives this process. */
int rlt_answers_flush(rlt_answers *a, rlt_error *err) RLT_MUST_USE;
void rlt_answers_close(rlt_answers *a);

#endif
