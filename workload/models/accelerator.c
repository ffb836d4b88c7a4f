/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads accelerators from JSON files:
 *
 *   name, source              texts
 *   also                      a shorter name; default none
 *   generation                chips whose constants are fitted together: "hopper"; default none
 *   processor                 the host's, where the module has one of its own: "grace"; default none
 *   memory, bandwidth         "80GB", "2039GB/s"
 *   peaks                     by precision (fp32, tf32, fp16, bf16, fp8, ...): "312TFLOPS", without sparsity
 *   multiprocessors           default: not known
 *   power_w                   thermal design power in watts, without the host; default: not known
 *   launch                    time per operation: "5us"; default 0
 *   overlap_slowdown          1 or more; default 1
 *   kernels:
 *     most                    by kind of work (matmul, attention, convolution, lookup, vector): 1e-6 to 1
 *     memory                  1e-6 to 1
 *     rows_half, outputs_half, inputs_half, area_half
 *                             0 or more; default 0
 *     backward                1e-6 to 1; default 1
 *     precisions              factors on matmul by precision; default 1 each
 *     host                    factor on the host's times; default 1
 *     source                  text
 *   evidence                  measured runs behind the constants (evidence.c)
 *   stacks                    an array of stacks of this file's own, each as in workload/stacks/ (stack.c)
 */
#include "workload/models/accelerator.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "sim/base/find.h"
#include "sim/text/json.h"
#include "workload/models/stack.h"
#include "workload/models/stack_read.h"

/* ---- from files ---- */

static int read_peaks(rlt_json object, rlt_accelerator *a, rlt_error *err)
{
    int rc = 0;
    for (rlt_json v = rlt_json_first(object); rlt_json_is(v) && !rc; v = rlt_json_next(v), a->n_peaks++) {
        const char *name = rlt_json_key(v);
        if (a->n_peaks == RLT_MAX_PEAKS)
            return rlt_json_fail(v, RLT_ERANGE, err, "more than %d precisions", RLT_MAX_PEAKS);
        uint64_t *flops = &a->peaks[a->n_peaks].Flops;
        if (!*name || strlen(name) >= sizeof a->peaks[0].precision || strcmp(name, "any") == 0)
            return rlt_json_fail(v, RLT_ESCHEMA, err, "expected the name of a precision, such as bf16");
        snprintf(a->peaks[a->n_peaks].precision, sizeof a->peaks[0].precision, "%s", name);
        if (!(rc = rlt_json_get_flops(object, name, true, flops, err)) && *flops == 0)
            rc = rlt_json_fail(v, RLT_ERANGE, err, "expected a rate above 0");
    }
    return rc;
}

static const rlt_json_bounds shares = {RLT__LEAST, 1}, sizes = {0, 1e12}, counts = {0, 1e6},
                             slowdowns = {1, 100}, powers = {0, 1e5};

static int read_kernels(rlt_json v, rlt_kernels *k, rlt_error *err)
{
    static const char *const keys[] = {"most",      "memory",      "rows_half", "outputs_half",
                                       "area_half", "inputs_half", "backward",  "precisions",
                                       "host",      "source",      NULL};
    int rc;
    *k = (rlt_kernels){.backward = 1, .host = 1};
    if ((rc = rlt_json_only(v, keys, err)) ||
        (rc = rlt__read_kinds(rlt_json_get(v, "most"), v, true, shares, k->most, err)) ||
        (rc = rlt_json_get_within(v, "memory", true, shares, &k->memory, err)) ||
        (rc = rlt_json_get_within(v, "rows_half", false, sizes, &k->rows_half, err)) ||
        (rc = rlt_json_get_within(v, "outputs_half", false, sizes, &k->outputs_half, err)) ||
        (rc = rlt_json_get_within(v, "inputs_half", false, sizes, &k->inputs_half, err)) ||
        (rc = rlt_json_get_within(v, "area_half", false, sizes, &k->area_half, err)) ||
        (rc = rlt_json_get_within(v, "backward", false, shares, &k->backward, err)) ||
        (rc = rlt_json_get_within(v, "host", false, sizes, &k->host, err)) ||
        (rc = rlt__read_factors(rlt_json_get(v, "precisions"), &k->precisions, err)))
        return rc;
    return rlt_json_get_text(v, "source", false, k->source, sizeof k->source, err);
}

static int read_accelerator(rlt_json root, rlt_accelerator *a, rlt_error *err)
{
    static const char *const keys[] = {
        "name",      "also",     "generation", "source",          "memory",
        "bandwidth", "peaks",    "launch",     "multiprocessors", "overlap_slowdown",
        "kernels",   "evidence", "stacks",     "processor",       "power_w",
        NULL};
    rlt_json peaks = rlt_json_get(root, "peaks"), kernels = rlt_json_get(root, "kernels");
    double multiprocessors = 0;
    int rc;
    a->overlap_slowdown = 1;
    if ((rc = rlt_json_only(root, keys, err)) ||
        (rc = rlt_json_get_text(root, "name", true, a->name, sizeof a->name, err)) ||
        (rc = rlt_json_get_text(root, "also", false, a->also, sizeof a->also, err)) ||
        (rc = rlt_json_get_text(root, "generation", false, a->generation, sizeof a->generation, err)) ||
        (rc = rlt_json_get_text(root, "processor", false, a->processor, sizeof a->processor, err)) ||
        (rc = rlt_json_get_text(root, "source", true, a->source, sizeof a->source, err)) ||
        (rc = rlt_json_get_size(root, "memory", true, &a->memory_bytes, err)) ||
        (rc = rlt_json_get_rate(root, "bandwidth", true, &a->memory_Bps, err)) ||
        (rc = rlt_json_get_within(root, "multiprocessors", false, counts, &multiprocessors, err)) ||
        (rc = rlt_json_get_within(root, "power_w", false, powers, &a->power_w, err)) ||
        (rc = rlt_json_get_duration(root, "launch", false, &a->launch_ps, err)) ||
        (rc = rlt_json_get_within(root, "overlap_slowdown", false, slowdowns, &a->overlap_slowdown, err)))
        return rc;
    a->multiprocessors = (uint32_t)multiprocessors;
    if (a->memory_bytes == 0 || a->memory_Bps == 0)
        return rlt_json_fail(root, RLT_ERANGE, err, "expected memory and bandwidth above 0");
    if (!rlt_json_is_object(peaks) || rlt_json_count(peaks) == 0)
        return rlt_json_fail(rlt_json_is(peaks) ? peaks : root, RLT_ESCHEMA, err,
                             "expected 'peaks', an object such as {\"bf16\": \"312TFLOPS\"}");
    if (!rlt_json_is_object(kernels))
        return rlt_json_fail(rlt_json_is(kernels) ? kernels : root, RLT_ESCHEMA, err,
                             "expected 'kernels', an object with the efficiencies of the accelerator");
    if ((rc = read_peaks(peaks, a, err)) || (rc = read_kernels(kernels, &a->kernels, err)) ||
        (rc = rlt__read_evidence(rlt_json_get(root, "evidence"), a->evidence, &a->n_evidence, err)))
        return rc;
    return rlt__read_stacks(rlt_json_get(root, "stacks"), a->stacks, &a->n_stacks, err);
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

/* Finds the accelerator whose field `also` is this name. Returns 1, 0 if there is none, or RLT_ENOMEM. */
static int find_also(const char *dirs, const char *name, char *path, size_t size, rlt_error *err)
{
    static const char *const endings[] = {".json", NULL};
    rlt_found found;
    int rc = rlt_find_all(dirs, endings, &found, NULL), is = 0;
    for (uint32_t i = 0; !rc && !is && i < found.n; i++) {
        rlt_accelerator a = {0};
        int loaded = rlt_find_file(dirs, found.names[i], path, size) ? load_file(path, &a, NULL) : RLT_ENAME;
        is = loaded == 0 && strcmp(a.also, name) == 0;
        rc = loaded == RLT_ENOMEM ? loaded : 0;
    }
    rlt_find_free(&found);
    return rc == RLT_ENOMEM ? rlt_nomem(err) : is;
}

/* As find_also, for any name, or a path. */
static int find(const char *spec, const char *dirs, char *path, size_t size, rlt_error *err)
{
    int n = snprintf(path, size, "%s", spec);
    if (n < 0 || (size_t)n >= size)
        return 0;
    if (access(spec, F_OK) == 0)
        return 1;
    if (!*spec || strchr(spec, '/'))
        return 0;
    return rlt_find_file(dirs, spec, path, size) ? 1 : find_also(dirs, spec, path, size, err);
}

bool rlt_accelerator_path(const char *spec, const char *dirs, char *path, size_t size)
{
    return find(spec, dirs, path, size, NULL) > 0;
}

int rlt_accelerator_load(const char *spec, const char *dirs, rlt_accelerator *out, rlt_error *err)
{
    char path[PATH_MAX];
    *out = (rlt_accelerator){0};
    int rc = find(spec, dirs, path, sizeof path, err);
    if (rc < 0)
        return rc;
    if (rc == 0)
        return rlt_find_fail(dirs, "accelerator", spec, " ('ringlet list accelerators' shows them)", err);
    rc = load_file(path, out, err);
    if (!rc)
        rc = rlt__load_stacks(dirs, out->stacks, &out->n_stacks, err);
    return rc ? rc
              : rlt_dispatchers_load(dirs, out->dispatchers, RLT_MAX_DISPATCHERS, &out->n_dispatchers, err);
}

/* ---- constants and times ---- */

const rlt_stack *rlt_accelerator_stack(const rlt_accelerator *a, const char *name)
{
    for (uint32_t i = 0; i < a->n_stacks; i++)
        if (strcmp(a->stacks[i].name, name) == 0)
            return &a->stacks[i];
    return NULL;
}

const rlt_stack *rlt_accelerator_stack_used(const rlt_accelerator *a, const char *name)
{
    const rlt_stack *s = rlt_accelerator_stack(a, name);
    return s ? s : rlt_accelerator_stack(a, "any");
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

/* Returns the peak of attention: that of 16 bits, or of a wider precision. */
static uint64_t wide_peak(const rlt_accelerator *a, const char *precision, uint64_t Flops)
{
    uint64_t wide = 0;
    if (strncmp(precision, "fp32", 4) == 0 || strncmp(precision, "tf32", 4) == 0)
        return Flops;
    for (uint32_t i = 0; i < a->n_peaks; i++)
        if (strcmp(a->peaks[i].precision, "bf16") == 0 ||
            (!wide && strcmp(a->peaks[i].precision, "fp16") == 0))
            wide = a->peaks[i].Flops;
    return wide && wide < Flops ? wide : Flops;
}

static double factor_of(const rlt_precision_factors *f, const char *precision)
{
    for (uint32_t i = 0; i < f->n; i++)
        if (strcmp(f->at[i].precision, precision) == 0)
            return f->at[i].factor;
    return 1;
}

int rlt_accelerator_roofline(const rlt_accelerator *a, const char *stack, const char *precision,
                             rlt_roofline *out, rlt_error *err)
{
    static const rlt_stack none = {.name = "any", .most = {1, 1, 1, 1, 1}};
    const rlt_kernels *k = &a->kernels;
    const rlt_stack *s = rlt_accelerator_stack_used(a, stack ? stack : "any");
    uint64_t Flops;
    int rc = rlt_accelerator_peak(a, precision, &Flops, err);
    if (rc)
        return rc;
    s = s ? s : &none;
    *out = (rlt_roofline){.stack = s->name,
                          .peak_Flops = Flops,
                          .peak_16_Flops = wide_peak(a, precision, Flops),
                          .memory_Bps = a->memory_Bps,
                          .launch_ps = a->launch_ps,
                          .rows_half = k->rows_half,
                          .outputs_half = k->outputs_half,
                          .inputs_half = k->inputs_half,
                          .area_half = k->area_half,
                          .memory = k->memory,
                          .backward = k->backward > 0 ? k->backward : 1,
                          .host_kernel_ps = (double)s->host_kernel_ps * k->host,
                          .host_expert_ps = (double)s->host_expert_ps * k->host,
                          .host_pass_ps = (double)s->host_pass_ps * k->host,
                          .host_handover_ps = (double)s->host_handover_ps * k->host,
                          .host_image_ps = (double)s->host_image_ps * k->host,
                          .host_ps = (double)s->host_ps * k->host,
                          .score_passes = s->score_passes};
    for (int i = 0; i < RLT_WORK_KINDS; i++) {
        double e = k->most[i] * s->most[i];
        if (i == RLT_WORK_MATMUL)
            e *= factor_of(&k->precisions, precision) * factor_of(&s->precisions, precision);
        out->most[i] = e < 1 ? e : 1;
    }
    return 0;
}

static double share(double size, double half)
{
    return size > 0 ? size / (size + half) : 1;
}

/* Long sums are split over multiprocessors: weight gradients of few weights and many rows. With
 * inputs_half counted in, a longer sum is never faster. */
static double sums_of(const rlt_work *w, double inputs_half)
{
    const double split = 4096;
    return w->k > split ? (w->k + inputs_half) / (split + inputs_half) : 1;
}

static double efficiency(const rlt_roofline *s, const rlt_work *w)
{
    double e = s->most[w->kind];
    if (w->kind != RLT_WORK_MATMUL && w->kind != RLT_WORK_CONVOLUTION)
        return e;
    const double tile_rows = 128;
    if (w->kind == RLT_WORK_CONVOLUTION) {
        /* Convolutions have tiles for few channels, and keep a filter's inputs in shared memory. A tile of
         * few rows is as long as a full one, and counts as one. */
        double rows = w->m > tile_rows ? w->m : tile_rows;
        return e * share(w->m, s->rows_half) * share(rows * w->n * sums_of(w, 0), s->area_half);
    }
    e *= share(w->m, s->rows_half) * share(w->m * w->n * sums_of(w, s->inputs_half), s->area_half);
    return e * share(w->n, s->outputs_half) * share(w->k, s->inputs_half);
}

/* Returns FLOPs over efficiency, with the product filled up to m rows and n outputs. */
static double filled(const rlt_roofline *s, const rlt_work *w, double m, double n)
{
    rlt_work larger = *w;
    larger.m = m > w->m ? m : w->m;
    larger.n = n > w->n ? n : w->n;
    return w->flop * (larger.m / w->m) * (larger.n / w->n) / efficiency(s, &larger);
}

/* Returns FLOPs over efficiency. A product is never slower than one of more rows or outputs. With R, O and A
 * the halves of rows, outputs and area, its time is (1 + R / m) (1 + O / n) (m n + A) but for a factor:
 * least at m^2 = R A / n for a given n, at n^2 = O A / m for a given m, and at m^3 = R^2 A / O and
 * n^3 = O^2 A / R for neither. Its logarithm is convex in those of m and n, so that the least is one of
 * these. */
static double least_flop(const rlt_roofline *s, const rlt_work *w)
{
    double least = w->flop / efficiency(s, w), r = s->rows_half, o = s->outputs_half,
           area = s->area_half / sums_of(w, s->inputs_half);
    if (w->kind != RLT_WORK_MATMUL || !(w->m > 0) || !(w->n > 0) ||
        (w->m * w->m * w->n >= r * area && w->n * w->n * w->m >= o * area))
        return least;
    bool both = r > 0 && o > 0;
    double m[] = {sqrt(r * area / w->n), 0, both ? cbrt(r * r * area / o) : 0},
           n[] = {0, sqrt(o * area / w->m), both ? cbrt(o * o * area / r) : 0};
    for (int i = 0; i < 3; i++)
        least = fmin(least, filled(s, w, m[i], n[i]));
    return least;
}

rlt_time rlt_roofline_time(const rlt_roofline *s, const rlt_work *w)
{
    double peak = (double)(w->kind == RLT_WORK_ATTENTION ? s->peak_16_Flops : s->peak_Flops);
    double compute = w->flop > 0 ? least_flop(s, w) / peak : 0;
    double memory = w->bytes / ((double)s->memory_Bps * s->memory);
    double ps = (compute > memory ? compute : memory) * 1e12 + 0.5;
    return ps < (double)(RLT_TIME_MAX - s->launch_ps) ? s->launch_ps + (rlt_time)ps : RLT_TIME_MAX;
}
