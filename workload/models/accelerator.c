/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads accelerators from JSON files:
 *
 *   name, source              texts
 *   also                      a shorter name; default none
 *   memory, bandwidth         "80GB", "2039GB/s"
 *   peaks                     by precision (fp32, tf32, fp16, bf16, fp8, ...): "312TFLOPS", without sparsity
 *   launch                    time per operation: "5us"; default 0
 *   overlap_slowdown          1 or more; default 1
 *   surfaces                  an array of one or more:
 *     stack, precision        default "any"
 *     most                    by kind of work (matmul, attention, convolution, lookup, vector): 1e-6 to 1
 *     memory                  1e-6 to 1
 *     width_half, tokens_half, tp_power
 *                             0 or more; default 0
 *     backward                1e-6 to 1; default 1
 *     host                    time per iteration: "50ms"; default 0
 *     source                  text
 */
#include "workload/models/accelerator.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/find.h"
#include "sim/text/json.h"

/* ---- from files ---- */

static int read_text(rlt_json v, const char *key, bool required, char *out, size_t size, rlt_error *err)
{
    const char *text = NULL;
    int rc = rlt_json_get_string(v, key, required, &text, err);
    if (rc || !text)
        return rc;
    if (!*text || strlen(text) >= size)
        return rlt_json_fail(rlt_json_get(v, key), RLT_ERANGE, err, "expected a text of 1 to %zu bytes",
                             size - 1);
    snprintf(out, size, "%s", text);
    rlt_make_printable(out);
    return 0;
}

static int read_number(rlt_json v, const char *key, bool required, double least, double most, double *out,
                       rlt_error *err)
{
    int rc = rlt_json_get_double(v, key, required, out, err);
    if (!rc && !(*out >= least && *out <= most))
        rc = rlt_json_fail(rlt_json_get(v, key), RLT_ERANGE, err, "expected a number from %g to %g", least,
                           most);
    return rc;
}

/* Efficiencies below this are taken for a slip of the pen. */
#define LEAST 1e-6

static int read_surface(rlt_json v, rlt_surface *s, rlt_error *err)
{
    static const char *const keys[] = {"stack",  "precision", "most", "width_half", "tokens_half", "tp_power",
                                       "memory", "backward",  "host", "source",     NULL};
    static const char *const kinds[] = {"matmul", "attention", "convolution", "lookup", "vector", NULL};
    rlt_json most = rlt_json_get(v, "most");
    int rc;
    *s = (rlt_surface){.stack = "any", .precision = "any", .backward = 1};
    if ((rc = rlt_json_only(v, keys, err)) ||
        (rc = read_text(v, "stack", false, s->stack, sizeof s->stack, err)) ||
        (rc = read_text(v, "precision", false, s->precision, sizeof s->precision, err)) ||
        (rc = read_number(v, "width_half", false, 0, 1e9, &s->width_half, err)) ||
        (rc = read_number(v, "tokens_half", false, 0, 1e9, &s->tokens_half, err)) ||
        (rc = read_number(v, "tp_power", false, 0, 4, &s->tp_power, err)) ||
        (rc = read_number(v, "memory", true, LEAST, 1, &s->memory, err)) ||
        (rc = read_number(v, "backward", false, LEAST, 1, &s->backward, err)) ||
        (rc = rlt_json_get_duration(v, "host", false, &s->host_ps, err)) ||
        (rc = read_text(v, "source", false, s->source, sizeof s->source, err)))
        return rc;
    if (!rlt_json_is(most))
        return rlt_json_fail(v, RLT_ESCHEMA, err, "missing 'most'");
    if ((rc = rlt_json_only(most, kinds, err)))
        return rc;
    for (int k = 0; k < RLT_WORK_KINDS && !rc; k++)
        rc = read_number(most, kinds[k], true, LEAST, 1, &s->most[k], err);
    return rc;
}

static int read_surfaces(rlt_json list, rlt_accelerator *a, rlt_error *err)
{
    int rc = 0;
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v) && !rc; v = rlt_json_next(v)) {
        rlt_surface *s = &a->surfaces[a->n_surfaces];
        if (a->n_surfaces == RLT_MAX_SURFACES)
            return rlt_json_fail(v, RLT_ERANGE, err, "more than %d surfaces", RLT_MAX_SURFACES);
        rc = read_surface(v, s, err);
        for (uint32_t i = 0; i < a->n_surfaces && !rc; i++)
            if (strcmp(s->stack, a->surfaces[i].stack) == 0 &&
                strcmp(s->precision, a->surfaces[i].precision) == 0)
                rc = rlt_json_fail(v, RLT_ESCHEMA, err,
                                   "a second surface for stack %s and precision %s: expected one", s->stack,
                                   s->precision);
        a->n_surfaces++;
    }
    return rc;
}

static int read_peaks(rlt_json object, rlt_accelerator *a, rlt_error *err)
{
    int rc = 0;
    for (rlt_json v = rlt_json_first(object); rlt_json_is(v) && !rc; v = rlt_json_next(v), a->n_peaks++) {
        const char *name = rlt_json_key(v);
        uint64_t *flops = &a->peaks[a->n_peaks].Flops;
        if (a->n_peaks == RLT_MAX_PEAKS)
            return rlt_json_fail(v, RLT_ERANGE, err, "more than %d precisions", RLT_MAX_PEAKS);
        if (!*name || strlen(name) >= sizeof a->peaks[0].precision || strcmp(name, "any") == 0)
            return rlt_json_fail(v, RLT_ESCHEMA, err, "expected the name of a precision, such as bf16");
        snprintf(a->peaks[a->n_peaks].precision, sizeof a->peaks[0].precision, "%s", name);
        if (!(rc = rlt_json_get_flops(object, name, true, flops, err)) && *flops == 0)
            rc = rlt_json_fail(v, RLT_ERANGE, err, "expected a rate above 0");
    }
    return rc;
}

static int read_accelerator(rlt_json root, rlt_accelerator *a, rlt_error *err)
{
    static const char *const keys[] = {"name",  "also",   "source",           "memory",   "bandwidth",
                                       "peaks", "launch", "overlap_slowdown", "surfaces", NULL};
    rlt_json peaks = rlt_json_get(root, "peaks"), surfaces = rlt_json_get(root, "surfaces");
    int rc;
    a->overlap_slowdown = 1;
    if ((rc = rlt_json_only(root, keys, err)) ||
        (rc = read_text(root, "name", true, a->name, sizeof a->name, err)) ||
        (rc = read_text(root, "also", false, a->also, sizeof a->also, err)) ||
        (rc = read_text(root, "source", true, a->source, sizeof a->source, err)) ||
        (rc = rlt_json_get_size(root, "memory", true, &a->memory_bytes, err)) ||
        (rc = rlt_json_get_rate(root, "bandwidth", true, &a->memory_Bps, err)) ||
        (rc = rlt_json_get_duration(root, "launch", false, &a->launch_ps, err)) ||
        (rc = read_number(root, "overlap_slowdown", false, 1, 100, &a->overlap_slowdown, err)))
        return rc;
    if (a->memory_bytes == 0 || a->memory_Bps == 0)
        return rlt_json_fail(root, RLT_ERANGE, err, "expected memory and bandwidth above 0");
    if (!rlt_json_is_object(peaks) || rlt_json_count(peaks) == 0)
        return rlt_json_fail(rlt_json_is(peaks) ? peaks : root, RLT_ESCHEMA, err,
                             "expected 'peaks', an object such as {\"bf16\": \"312TFLOPS\"}");
    if (!rlt_json_is_array(surfaces) || rlt_json_count(surfaces) == 0)
        return rlt_json_fail(rlt_json_is(surfaces) ? surfaces : root, RLT_ESCHEMA, err,
                             "expected 'surfaces', an array with at least one entry");
    if ((rc = read_peaks(peaks, a, err)))
        return rc;
    return read_surfaces(surfaces, a, err);
}

static int load_file(const char *path, rlt_accelerator *a, rlt_error *err)
{
    rlt_json_doc *doc = NULL;
    int rc = rlt_json_load(path, &doc, err);
    if (!rc)
        rc = read_accelerator(rlt_json_root(doc), a, err);
    rlt_json_free(doc);
    return rc;
}

/* Finds the accelerator whose field `also` is this name. */
static bool find_also(const char *dirs, const char *name, char *path, size_t size)
{
    static const char *const endings[] = {".json", NULL};
    rlt_found found;
    bool is = false;
    if (rlt_find_all(dirs, endings, &found, NULL) == 0)
        for (uint32_t i = 0; !is && i < found.n; i++) {
            rlt_accelerator a = {0};
            is = rlt_find_file(dirs, found.names[i], path, size) && load_file(path, &a, NULL) == 0 &&
                 strcmp(a.also, name) == 0;
        }
    rlt_find_free(&found);
    return is;
}

bool rlt_accelerator_path(const char *spec, const char *dirs, char *path, size_t size)
{
    int n = snprintf(path, size, "%s", spec);
    if (n < 0 || (size_t)n >= size)
        return false;
    return access(spec, F_OK) == 0 ||
           (*spec && !strchr(spec, '/') &&
            (rlt_find_file(dirs, spec, path, size) || find_also(dirs, spec, path, size)));
}

int rlt_accelerator_load(const char *spec, const char *dirs, rlt_accelerator *out, rlt_error *err)
{
    char path[PATH_MAX], near[NAME_MAX + 1];
    *out = (rlt_accelerator){0};
    if (rlt_accelerator_path(spec, dirs, path, sizeof path))
        return load_file(path, out, err);
    if (rlt_find_near(dirs, spec, near, sizeof near))
        return rlt_fail(err, RLT_EIO, spec,
                        "neither a file nor an accelerator has this name; did you mean '%s'?", near);
    return rlt_fail(
        err, RLT_EIO, spec,
        "neither a file nor an accelerator has this name ('ringlet list accelerators' shows them)");
}

/* ---- times ---- */

static bool is(const char *of_surface, const char *wanted)
{
    return strcmp(of_surface, wanted ? wanted : "any") == 0;
}

int rlt_accelerator_surface(const rlt_accelerator *a, const char *stack, const char *precision,
                            const rlt_surface **out, rlt_error *err)
{
    const char *const wanted[][2] = {{stack, precision}, {"any", precision}, {stack, "any"}, {"any", "any"}};
    char list[512] = "";
    for (size_t k = 0; k < 4; k++)
        for (uint32_t i = 0; i < a->n_surfaces; i++)
            if (is(a->surfaces[i].stack, wanted[k][0]) && is(a->surfaces[i].precision, wanted[k][1])) {
                *out = &a->surfaces[i];
                return 0;
            }
    for (uint32_t i = 0; i < a->n_surfaces; i++) {
        char one[64];
        snprintf(one, sizeof one, "%s in %s", a->surfaces[i].stack, a->surfaces[i].precision);
        rlt_list_name(list, sizeof list, one);
    }
    return rlt_fail(err, RLT_EUNSUPPORTED, a->name,
                    "no efficiency of stack %s in precision %s; known are: %s", stack ? stack : "any",
                    precision ? precision : "any", list);
}

int rlt_accelerator_peak(const rlt_accelerator *a, const char *precision, uint64_t *Flops, rlt_error *err)
{
    char list[256] = "";
    for (uint32_t i = 0; i < a->n_peaks; i++) {
        if (strcmp(a->peaks[i].precision, precision) == 0) {
            *Flops = a->peaks[i].Flops;
            return 0;
        }
        rlt_list_name(list, sizeof list, a->peaks[i].precision);
    }
    return rlt_fail(err, RLT_EUNSUPPORTED, a->name, "has no peak for precision %s; known are: %s", precision,
                    list);
}

/* Returns x^p for p >= 0. Uses only products and square roots, which are exactly rounded on every machine;
 * pow is not. */
static double power(double x, double p)
{
    enum { BITS = 40 };
    double result = 1, root = x;
    for (; p >= 1; p--)
        result *= x;
    for (int i = 0; i < BITS && p > 0; i++) {
        root = sqrt(root);
        p *= 2;
        if (p >= 1) {
            result *= root;
            p--;
        }
    }
    return result;
}

static double efficiency(const rlt_surface *s, const rlt_work *w)
{
    double e = s->most[w->kind];
    if (w->kind != RLT_WORK_MATMUL)
        return e;
    if (w->width) {
        double width = w->width / power(w->tp ? w->tp : 1, s->tp_power);
        e *= width / (width + s->width_half);
    }
    if (w->tokens > 0)
        e *= w->tokens / (w->tokens + s->tokens_half);
    return e;
}

rlt_time rlt_accelerator_time(const rlt_accelerator *a, const rlt_surface *s, uint64_t peak_Flops,
                              const rlt_work *w)
{
    double compute = w->flop > 0 ? w->flop / ((double)peak_Flops * efficiency(s, w)) : 0;
    double memory = w->bytes / ((double)a->memory_Bps * s->memory);
    double ps = (compute > memory ? compute : memory) * 1e12 + 0.5;
    return ps < (double)(RLT_TIME_MAX - a->launch_ps) ? a->launch_ps + (rlt_time)ps : RLT_TIME_MAX;
}
