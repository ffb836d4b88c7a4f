/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Output files. A file is written beside its final name and renamed when complete, so that a reader never
 * sees a partial file and a failed run leaves the old one. "-" or NULL is standard output. A full disk, a
 * closed pipe and any other write error is RLT_EIO naming the file. Results of work that was interrupted have
 * a name of their own, FILE.partial, and do not replace FILE.
 */
#ifndef RLT_TOOLS_BASE_FILE_H
#define RLT_TOOLS_BASE_FILE_H

#include <stdbool.h>
#include <stdio.h>

#include "sim/base/error.h"
#include "sim/base/options.h"

typedef struct rlt_file {
    FILE *stream;     /* to write to; NULL: not open */
    const char *path; /* final name as given; borrowed */
    char *target;     /* resolved final name; NULL: written in place */
    char *beside;     /* temporary name, in the same folder */
    char *kept;       /* name of partial results, in the same folder */
} rlt_file;

int rlt_file_open(rlt_file *f, const char *path, rlt_error *err) RLT_MUST_USE;
/* Fails if no file of this name could be created, before long work. Leaves nothing behind. */
int rlt_file_check(const char *path, rlt_error *err) RLT_MUST_USE;
/* Returns RLT_EUSAGE if two options name the same file to write: the second would replace the first. */
int rlt_files_apart(const rlt_parsed *args, rlt_error *err) RLT_MUST_USE;
/* Completes and renames the file. Closes it in every case. */
int rlt_file_close(rlt_file *f, rlt_error *err) RLT_MUST_USE;
/* Flushes what was written so far, lines of a table or of CSV, so that they appear as they are computed. They
 * are kept if the program is ended. */
int rlt_file_flush(rlt_file *f, rlt_error *err) RLT_MUST_USE;
/* Removes what was written. Does nothing on a closed file. */
void rlt_file_discard(rlt_file *f);
/* Writes a whole text to a file. */
int rlt_file_write(const char *path, const char *text, size_t length, rlt_error *err) RLT_MUST_USE;

/* Notes a file or folder that rlt_files_abandon removes, too, until it is dropped. The path is borrowed. What
 * was added last is removed first. */
void rlt_temporary_add(const char *path);
void rlt_temporary_drop(const char *path);
/* Removes all temporary files, but keeps those with flushed rows as FILE.partial. No file is opened or
 * renamed from now on. For the end of the program, while other threads still run. Returns true if rows were
 * flushed to standard output. */
bool rlt_files_abandon(void);

/* Ending of the name of partial results, and the last line of a table or CSV of them. */
#define RLT_PARTIAL_END  ".partial"
#define RLT_PARTIAL_LINE "# partial: interrupted before the end\n"
/* From now on results are partial, as the work was interrupted: files are closed under the name of partial
 * ones, and a note says so. */
void rlt_results_are_partial(void);
/* Ends a table or CSV: writes the line of partial results if they are. */
void rlt_mark_partial(FILE *out);

/* Flushes standard output before the program ends. Returns RLT_EIO if not all of it was written. */
int rlt_stdout_finish(rlt_error *err) RLT_MUST_USE;

#endif
