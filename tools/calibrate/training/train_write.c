/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes accelerators' files with fitted surfaces. */
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/file.h"
#include "sim/text/json.h"
#include "tools/base/file.h"
#include "tools/base/json_edit.h"
#include "tools/calibrate/training/train.h"
#include "tools/output/output.h"
#include "tools/output/report_options.h"
#include "workload/models/accelerator.h"
#include "workload/models/model.h"
#include "workload/setup/locate.h"
#include "workload/setup/settings.h"

static bool like(const rlt_surface *s, const rlt_train_group *g)
{
    return strcmp(s->stack, g->stack) == 0 && strcmp(s->precision, g->precision) == 0;
}

static void put_number(rlt_jw *w, const char *key, double x)
{
    char text[32];
    snprintf(text, sizeof text, "%.4g", x);
    rlt_jw_raw(w, key, text);
}

static void put_surface(rlt_jw *w, const rlt_surface *s)
{
    static const char *const kinds[] = {"matmul", "attention", "convolution", "lookup", "vector"};
    rlt_jw_object(w, NULL);
    rlt_jw_string(w, "stack", s->stack);
    rlt_jw_string(w, "precision", s->precision);
    rlt_jw_object(w, "most");
    for (int k = 0; k < RLT_WORK_KINDS; k++)
        put_number(w, kinds[k], s->most[k]);
    rlt_jw_end_object(w);
    put_number(w, "width_half", s->width_half);
    put_number(w, "tokens_half", s->tokens_half);
    put_number(w, "tp_power", s->tp_power);
    put_number(w, "memory", s->memory);
    if (s->backward > 0 && s->backward < 1)
        put_number(w, "backward", s->backward);
    if (s->host_ps > 0) {
        char text[32];
        snprintf(text, sizeof text, "%lldus", (long long)(s->host_ps / RLT_US));
        rlt_jw_string(w, "host", text);
    }
    if (*s->source)
        rlt_jw_string(w, "source", s->source);
    rlt_jw_end_object(w);
}

/* Indents all lines but the first by two blanks, for a member of the file's object. */
static char *indented(char *text)
{
    size_t lines = 0, used = 0, length = strlen(text);
    while (length && text[length - 1] == '\n')
        text[--length] = '\0';
    for (size_t i = 0; i < length; i++)
        lines += text[i] == '\n';
    char *out = malloc(length + 2 * lines + 1);
    for (size_t i = 0; i < length && out; i++) {
        out[used++] = text[i];
        if (text[i] == '\n') {
            out[used++] = ' ';
            out[used++] = ' ';
        }
    }
    if (out)
        out[used] = '\0';
    free(text);
    return out;
}

/* Returns the accelerator's surfaces as JSON: fitted ones replace those of the same key or are appended. */
static char *surfaces_of(rlt_train_predictor *p, const rlt_accelerator *a, const char *name,
                         const char *source)
{
    size_t length;
    const rlt_train_group *g;
    rlt_jw w;
    rlt_jw_init(&w, true);
    rlt_jw_array(&w, NULL);
    for (uint32_t i = 0; i < a->n_surfaces; i++) {
        bool again = false;
        for (uint32_t k = 0; (g = rlt_train_group_at(p, k)) && !again; k++)
            again = g->n_fitted && strcmp(g->accelerator, name) == 0 && like(&a->surfaces[i], g);
        if (!again)
            put_surface(&w, &a->surfaces[i]);
    }
    for (uint32_t k = 0; (g = rlt_train_group_at(p, k)); k++) {
        rlt_surface s = g->fitted;
        if (!g->n_fitted || strcmp(g->accelerator, name) != 0)
            continue;
        snprintf(s.stack, sizeof s.stack, "%s", g->stack);
        snprintf(s.precision, sizeof s.precision, "%s", g->precision);
        snprintf(s.source, sizeof s.source,
                 "ringlet calibrate-training: %u parameter%s fitted to %u runs of %u dense model%s in "
                 "%.200s; the rest as of the surface it began with",
                 g->n_fitted, rlt_s(g->n_fitted), g->rows, g->models, rlt_s(g->models), source);
        put_surface(&w, &s);
    }
    rlt_jw_end_array(&w);
    char *text = rlt_jw_finish(&w, &length);
    return text ? indented(text) : NULL;
}

static int write_one(rlt_train_predictor *p, const rlt_train_group *g, const char *dir, const char *source,
                     rlt_error *err)
{
    rlt_accelerator a;
    char path[4096], from[4096], *text = NULL, *surfaces = NULL;
    size_t length;
    int rc = rlt_find_accelerator(g->accelerator, &a, err);
    if (rc)
        return rc;
    if (!rlt_accelerator_path(g->accelerator, rlt_accelerator_dirs().list, from, sizeof from) ||
        (size_t)snprintf(path, sizeof path, "%s/%s.json", dir, g->accelerator) >= sizeof path)
        return rlt_fail(err, RLT_EIO, g->accelerator, "its file was not found again");
    if ((rc = rlt_read_file(from, 1 << 20, &text, &length, err)))
        return rc;
    surfaces = surfaces_of(p, &a, g->accelerator, source);
    rc = surfaces ? rlt_json_edit(from, &text, &length, "surfaces", surfaces, err) : rlt_nomem(err);
    if (!rc)
        rc = rlt_file_write(path, text, length, err);
    free(surfaces);
    free(text);
    return rc;
}

int rlt_train_write(rlt_train_predictor *p, const char *dir, const char *source, rlt_error *err)
{
    const rlt_train_group *g, *other;
    int rc = 0;
    for (uint32_t i = 0; !rc && (g = rlt_train_group_at(p, i)); i++) {
        bool first = g->n_fitted > 0;
        for (uint32_t k = 0; k < i && first; k++) {
            other = rlt_train_group_at(p, k);
            first = !other->n_fitted || strcmp(other->accelerator, g->accelerator) != 0;
        }
        if (first)
            rc = write_one(p, g, dir, source, err);
    }
    return rc;
}
