/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the files of accelerators and stacks with fitted constants. Text that is not a constant stays. */
#include <errno.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "sim/base/error.h"
#include "sim/base/find.h"
#include "sim/base/time.h"
#include "sim/text/file.h"
#include "sim/text/json.h"
#include "tools/base/file.h"
#include "tools/base/json_edit.h"
#include "tools/calibrate/training/train.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/models/stack.h"
#include "workload/setup/locate.h"

enum { MAX_FILE = 1 << 20 };

/* A file whose values are changed one after the other. The first failure is kept. */
typedef struct edited {
    const char *from;
    char *text;
    size_t length;
    int rc;
    rlt_error *err;
} edited;

static void edit(edited *e, const char *path, const char *value)
{
    if (!e->rc)
        e->rc = rlt_json_edit(e->from, &e->text, &e->length, path, value, e->err);
}

static void edit_number(edited *e, const char *path, double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.4g", x);
    edit(e, path, text);
}

static void edit_factors(edited *e, const char *stem, const rlt_precision_factors *f)
{
    char path[64];
    for (uint32_t i = 0; i < f->n; i++) {
        snprintf(path, sizeof path, "%s.%s", stem, f->at[i].precision);
        edit_number(e, path, f->at[i].factor);
    }
}

/* Times are written in whole microseconds; below 1 us, in nanoseconds. A time of 0 is left out. */
static void edit_time(edited *e, const char *path, rlt_time t)
{
    char text[40];
    if (t <= 0)
        return;
    if (t < RLT_US)
        snprintf(text, sizeof text, "\"%lldns\"", (long long)(t / RLT_NS));
    else
        snprintf(text, sizeof text, "\"%lldus\"", (long long)(t / RLT_US));
    edit(e, path, text);
}

static void edit_source(edited *e, const char *path, const char *source)
{
    char text[600];
    snprintf(text, sizeof text, "\"%.500s\"", source);
    edit(e, path, text);
}

/* The subject of evidence: a kind of model under a stack, and where its rows are. */
typedef struct about {
    const rlt_train_predictor *p;
    const rlt_train_rows *rows;
    const rlt_accelerator *a;
    bool own;
} about;

/* Counts the rows of a stack, a kind and a precision (NULL: any) on the accelerator; `related`: on its
 * generation. */
static uint32_t count_rows(const about *x, const char *stack, bool dense, const char *precision, bool related)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < x->rows->n; i++) {
        const rlt_train_row *r = &x->rows->rows[i];
        if (*r->reason)
            continue;
        const rlt_accelerator *b = r->training.accelerator;
        bool here = strcmp(b->name, x->a->name) == 0 ||
                    (related && *b->generation && strcmp(b->generation, x->a->generation) == 0);
        n += here && r->dense == dense && strcmp(r->training.stack, stack) == 0 &&
             (!precision || strcmp(r->training.precision, precision) == 0);
    }
    return n;
}

/* Returns the interval of few runs of one machine, each left out of the fit: its square is the mean of theirs
 * and of the known one, which counts as three runs. */
static rlt_spread own_spread(const about *x, const char *stack, bool dense)
{
    const double known_runs = 3;
    const rlt_train_like like = {x->a, stack, dense, RLT_LEAVE_ROW, NULL};
    rlt_spread s = rlt_train_spread(x->rows, &like),
               known =
                   rlt_accelerator_grounds(x->a, stack, "", dense ? RLT_KIND_DENSE : RLT_KIND_EXPERTS).spread;
    double n = count_rows(x, stack, dense, NULL, false), by = log(s.high), other = by;
    if (known.high > 1)
        other = log(known.high);
    by = sqrt((n * by * by + known_runs * other * other) / (n + known_runs));
    return (rlt_spread){exp(-by), exp(by)};
}

/* Adds an entry of evidence to a list in text form. */
static void put_evidence(const about *x, rlt_jw *w, const char *stack, bool dense, const char *precision)
{
    uint32_t rows = precision ? count_rows(x, stack, dense, precision, false) : 0;
    bool here = count_rows(x, stack, dense, NULL, false) > 0;
    const rlt_train_like like = {x->a, stack, dense, here ? RLT_LEAVE_GROUP : RLT_LEAVE_ACCELERATOR, NULL};
    rlt_spread s = x->own ? own_spread(x, stack, dense) : rlt_train_spread(x->rows, &like);
    if ((precision && !rows) || s.low <= 0)
        return;
    rlt_jw_object(w, NULL);
    rlt_jw_string(w, "stack", stack);
    if (precision)
        rlt_jw_string(w, "precision", precision);
    rlt_jw_string(w, "kind", dense ? "dense" : "experts");
    rlt_jw_u64(w, "rows", rows);
    rlt_jw_double(w, "low", s.low, 3);
    rlt_jw_double(w, "high", s.high, 3);
    rlt_jw_end_object(w);
}

/* Puts each object of a list on a line of its own, as an entry of a member of the file. Returns NULL if
 * memory ran out; frees `list`. */
static char *spread_out(char *list)
{
    size_t n = list ? strlen(list) : 0, used = 0;
    char *out = list ? malloc(8 * n + 16) : NULL;
    for (size_t i = 0; out && i < n; i++) {
        bool begins = list[i] == '{', ends = list[i] == ']' && i > 0 && list[i - 1] == '}';
        used += (size_t)sprintf(out + used, "%s%c", begins ? "\n    " : ends ? "\n  " : "", list[i]);
    }
    free(list);
    return out;
}

static void edit_evidence(edited *e, const about *x)
{
    rlt_jw w;
    rlt_jw_init(&w, false);
    rlt_jw_array(&w, NULL);
    for (uint32_t i = 0; i < x->a->n_stacks; i++)
        for (int dense = 1; dense >= 0; dense--) {
            const char *stack = x->a->stacks[i].name;
            if (!count_rows(x, stack, dense, NULL, true))
                continue;
            for (uint32_t k = 0; k < x->a->n_peaks; k++)
                put_evidence(x, &w, stack, dense, x->a->peaks[k].precision);
            put_evidence(x, &w, stack, dense, NULL);
        }
    rlt_jw_end_array(&w);
    char *text = spread_out(rlt_jw_finish(&w, NULL));
    if (text)
        edit(e, "evidence", text);
    else if (!e->rc)
        e->rc = rlt_nomem(e->err);
    free(text);
}

/* Writes the spread of accelerators without rows, which the stack "any" holds. */
static void edit_spread(edited *e, const rlt_train_rows *rows)
{
    for (int dense = 1; dense >= 0; dense--) {
        const rlt_train_like like = {NULL, "", dense, RLT_LEAVE_GENERATION, NULL};
        rlt_spread s = rlt_train_spread(rows, &like);
        if (s.low <= 0)
            continue;
        edit_number(e, dense ? "spread.dense.low" : "spread.experts.low", s.low);
        edit_number(e, dense ? "spread.dense.high" : "spread.experts.high", s.high);
    }
}

static void edit_accelerator(edited *e, const rlt_accelerator *a, const char *source)
{
    const rlt_kernels *k = &a->kernels;
    edit_number(e, "overlap_slowdown", a->overlap_slowdown);
    edit_number(e, "kernels.most.matmul", k->most[RLT_WORK_MATMUL]);
    edit_number(e, "kernels.most.attention", k->most[RLT_WORK_ATTENTION]);
    edit_number(e, "kernels.memory", k->memory);
    edit_number(e, "kernels.rows_half", k->rows_half);
    edit_number(e, "kernels.outputs_half", k->outputs_half);
    edit_number(e, "kernels.inputs_half", k->inputs_half);
    edit_number(e, "kernels.area_half", k->area_half);
    edit_number(e, "kernels.backward", k->backward);
    edit_number(e, "kernels.host", k->host);
    edit_factors(e, "kernels.precisions", &k->precisions);
    edit_source(e, "kernels.source", source);
}

static void edit_stack(edited *e, const rlt_stack *s, const char *source)
{
    edit_number(e, "most.matmul", s->most[RLT_WORK_MATMUL]);
    edit_number(e, "most.attention", s->most[RLT_WORK_ATTENTION]);
    edit_factors(e, "precisions", &s->precisions);
    edit_time(e, "host_kernel", s->host_kernel_ps);
    edit_time(e, "host_expert", s->host_expert_ps);
    edit_time(e, "host_pass", s->host_pass_ps);
    edit_time(e, "host", s->host_ps);
    edit_source(e, "source", source);
}

static int make_folder(const char *dir, const char *name, char *path, size_t size, rlt_error *err)
{
    if ((size_t)snprintf(path, size, "%s/%s", dir, name) >= size)
        return rlt_fail(err, RLT_EUSAGE, dir, "the name is too long");
    if (mkdir(path, 0777) != 0 && errno != EEXIST)
        return rlt_fail(err, RLT_EIO, path, "%s", strerror(errno));
    return 0;
}

static int finish(edited *e, const char *dir, const char *name)
{
    char path[PATH_MAX];
    if (!e->rc && (size_t)snprintf(path, sizeof path, "%s/%s.json", dir, name) >= sizeof path)
        e->rc = rlt_fail(e->err, RLT_EUSAGE, dir, "the name is too long");
    if (!e->rc)
        e->rc = rlt_file_write(path, e->text, e->length, e->err);
    free(e->text);
    return e->rc;
}

static int write_accelerator(const about *x, const char *spec, const char *dir, const char *source,
                             rlt_error *err)
{
    char from[PATH_MAX];
    edited e = {.from = from, .err = err};
    if (!rlt_accelerator_path(spec, rlt_accelerator_dirs().list, from, sizeof from))
        return rlt_fail(err, RLT_EIO, spec, "the accelerator's file is gone");
    e.rc = rlt_read_file(from, MAX_FILE, &e.text, &e.length, err);
    edit_accelerator(&e, x->a, source);
    edit_evidence(&e, x);
    return finish(&e, dir, x->a->name);
}

/* Finds the file of a stack beside the folders of accelerators. */
static bool stack_path(const char *name, char *path, size_t size)
{
    rlt_dirs dirs = rlt_accelerator_dirs();
    const char *rest = dirs.list;
    char dir[PATH_MAX], beside[PATH_MAX + 16];
    while (rlt_find_next_dir(&rest, dir, sizeof dir)) {
        snprintf(beside, sizeof beside, "%s/../stacks", dir);
        if (rlt_find_file(beside, name, path, size))
            return true;
    }
    return false;
}

static int write_stack(const rlt_train_rows *rows, const rlt_stack *s, const char *dir, const char *source,
                       rlt_error *err)
{
    char from[PATH_MAX];
    edited e = {.from = from, .err = err};
    if (!stack_path(s->name, from, sizeof from))
        return 0;
    e.rc = rlt_read_file(from, MAX_FILE, &e.text, &e.length, err);
    bool any = strcmp(s->name, "any") == 0, used = false;
    for (uint32_t i = 0; i < rows->n && !used; i++)
        used = !*rows->rows[i].reason && strcmp(rows->rows[i].training.stack, s->name) == 0;
    if (used)
        edit_stack(&e, s, source);
    if (any)
        edit_spread(&e, rows);
    return finish(&e, dir, s->name);
}

int rlt_train_write(rlt_train_predictor *p, const rlt_train_rows *t, bool own, const char *dir,
                    const char *source, rlt_error *err)
{
    char accelerators[PATH_MAX], stacks[PATH_MAX];
    const rlt_accelerator *a;
    int rc;
    if (mkdir(dir, 0777) != 0 && errno != EEXIST)
        return rlt_fail(err, RLT_EIO, dir, "%s", strerror(errno));
    if ((rc = make_folder(dir, "accelerators", accelerators, sizeof accelerators, err)) ||
        (!own && (rc = make_folder(dir, "stacks", stacks, sizeof stacks, err))))
        return rc;
    for (uint32_t m = 0; !rc && (a = rlt_train_machine(p, m)); m++) {
        const about x = {p, t, a, own};
        rc = write_accelerator(&x, rlt_train_machine_spec(p, m), accelerators, source, err);
    }
    /* Parameters of stacks are the same on all machines. */
    a = own ? NULL : rlt_train_machine(p, 0);
    for (uint32_t i = 0; a && i < a->n_stacks && !rc; i++)
        rc = write_stack(t, &a->stacks[i], stacks, source, err);
    return rc;
}
