/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Functions on a study's file that need no SQLite. Builds without SQLite report here which package provides
 * it. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "tools/report/study_data.h"
#include "workload/replay/causes.h"

static const char *const figures[RLT_STUDY_OWN] = {"time_ps",
                                                   "iteration_time_ps",
                                                   "compute_ps",
                                                   "exposed_comm_ps",
                                                   "host_ps",
                                                   "idle_ps",
                                                   "events",
                                                   "messages",
                                                   "bytes",
                                                   "busiest_utilization",
                                                   "bound_ps",
                                                   "memory_bytes",
                                                   "model_flops_utilization",
                                                   "tokens_per_second",
                                                   "busbw_GBps"};

const char *rlt_study_figure_name(uint32_t i)
{
    uint32_t k = RLT_STUDY_OWN;
    if (i < RLT_STUDY_OWN)
        return figures[i];
    for (int c = 0; c < RLT_CAUSES; c++)
        if (rlt_cause_key((rlt_cause)c) && k++ == i)
            return rlt_cause_key((rlt_cause)c);
    return NULL;
}

int rlt_is_study(const char *path, rlt_error *err)
{
    char begin[16];
    FILE *f = strcmp(path, "-") == 0 ? NULL : fopen(path, "rb");
    if (!f && (strcmp(path, "-") == 0 || errno == ENOENT))
        return 0;
    if (!f)
        return errno == ENOMEM ? rlt_nomem(err)
                               : rlt_fail(err, RLT_EIO, path, "cannot open: %s", strerror(errno));
    int is = fread(begin, 1, sizeof begin, f) == sizeof begin && memcmp(begin, "SQLite format 3", 16) == 0;
    if (ferror(f))
        is = rlt_fail(err, RLT_EIO, path, "cannot read: %s", strerror(errno));
    fclose(f);
    return is;
}

#ifndef RLT_WITH_SQLITE
static int missing(const char *path, rlt_error *err)
{
    return rlt_fail(err, RLT_EUNSUPPORTED, path,
                    "this ringlet was built without SQLite: apt-get install libsqlite3-dev, then make");
}

int rlt_study_open(const char *path, rlt_study **out, rlt_error *err)
{
    *out = NULL;
    return missing(path, err);
}

void rlt_study_close(rlt_study *s)
{
    (void)s;
}

int rlt_study_head_of(rlt_study *s, rlt_study_head *out, rlt_error *err)
{
    (void)s;
    (void)out;
    return missing(NULL, err);
}

int rlt_study_point_of(rlt_study *s, int64_t point, rlt_study_point *out, rlt_error *err)
{
    (void)s;
    (void)point;
    (void)out;
    return missing(NULL, err);
}

int rlt_study_next_axis(rlt_study *s, const char **name, const char **pointers, const char **values,
                        rlt_error *err)
{
    (void)s;
    *name = *pointers = *values = NULL;
    return missing(NULL, err);
}

int rlt_study_next_point(rlt_study *s, rlt_study_point *out, rlt_error *err)
{
    (void)s;
    (void)out;
    return missing(NULL, err);
}

int rlt_study_next_link(rlt_study *s, rlt_study_link *out, rlt_error *err)
{
    (void)s;
    (void)out;
    return missing(NULL, err);
}
#endif
