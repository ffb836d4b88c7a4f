/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of a run. Large data are reduced, and the page says so. */
#include "tools/report/run_page.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/time.h"
#include "tools/report/drawing.h"
#include "tools/report/page.h"

enum { MOST_RANKS = 16384, MOST_COLLECTIVES = 4000, MOST_LINKS = 3000, MOST_COLUMNS = 20 };

static int raw(rlt_jw *w, const char *key, rlt_json v, rlt_error *err)
{
    size_t begin, end;
    if (!rlt_json_is(v)) {
        rlt_jw_null(w, key);
        return 0;
    }
    rlt_json_extent(v, &begin, &end);
    char *text = strndup(rlt_json_text(v.doc) + begin, end - begin);
    if (!text)
        return rlt_nomem(err);
    rlt_jw_raw(w, key, text);
    free(text);
    return 0;
}

static double real(rlt_json object, const char *key)
{
    double x = 0;
    return rlt_json_is_number(rlt_json_get(object, key)) && !rlt_json_get_double(object, key, false, &x, NULL)
               ? x
               : 0;
}

int rlt_run_page_check(rlt_json run, rlt_error *err)
{
    static const char *const arrays[] = {"iteration_time_ps", "ranks", "collectives", "links"};
    const char *command = rlt_json_string(rlt_json_get(rlt_json_get(run, "manifest"), "command"));
    if (!command || strcmp(command, "run") != 0)
        return rlt_json_fail(run, RLT_ESCHEMA, err,
                             "expected a result of 'ringlet run --format json' (manifest.command \"run\")");
    if (!rlt_json_is_number(rlt_json_get(run, "time_ps")))
        return rlt_json_fail(run, RLT_ESCHEMA, err, "expected a time_ps");
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++) {
        rlt_json list = rlt_json_get(run, arrays[i]);
        if (!rlt_json_is_array(list))
            return rlt_json_fail(run, RLT_ESCHEMA, err, "expected a list '%s'", arrays[i]);
        for (rlt_json v = rlt_json_first(list); i && rlt_json_is(v); v = rlt_json_next(v))
            if (!rlt_json_is_object(v))
                return rlt_json_fail(v, RLT_ESCHEMA, err, "expected an object");
    }
    return 0;
}

/* A row of a list, with its sort key. */
typedef struct ordered {
    rlt_json row;
    double weight;
    uint32_t place;
} ordered;

static int heaviest_first(const void *a, const void *b)
{
    const ordered *x = a, *y = b;
    if (x->weight != y->weight)
        return x->weight < y->weight ? 1 : -1;
    return (x->place > y->place) - (x->place < y->place);
}

static int in_place(const void *a, const void *b)
{
    const ordered *x = a, *y = b;
    return (x->place > y->place) - (x->place < y->place);
}

/* Writes {"total", "columns", "rows"}: the members named by `columns`. If there are more than `most` rows,
 * the heaviest by the sum of two members (`weights`) are kept. */
static int list_json(rlt_jw *w, const char *key, rlt_json list, const char *const *columns, uint32_t most,
                     const char *const weights[2], bool sorted, rlt_error *err)
{
    uint32_t n = rlt_json_count(list), k = 0;
    ordered *rows = malloc(((size_t)n + 1) * sizeof *rows);
    int rc = 0;
    if (!rows)
        return rlt_nomem(err);
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v); v = rlt_json_next(v), k++)
        rows[k] = (ordered){v, weights ? real(v, weights[0]) + real(v, weights[1]) : 0, k};
    if (n > most || sorted)
        qsort(rows, n, sizeof *rows, heaviest_first);
    if (n > most && !sorted)
        qsort(rows, most, sizeof *rows, in_place);
    rlt_jw_object(w, key);
    rlt_jw_u64(w, "total", n);
    rlt_jw_array(w, "columns");
    for (uint32_t c = 0; columns[c]; c++)
        rlt_jw_string(w, NULL, columns[c]);
    rlt_jw_end_array(w);
    rlt_jw_array(w, "rows");
    for (uint32_t i = 0; i < n && i < most && !rc; i++) {
        rlt_jw_array(w, NULL);
        for (uint32_t c = 0; columns[c] && !rc; c++)
            rc = raw(w, NULL, rlt_json_get(rows[i].row, columns[c]), err);
        rlt_jw_end_array(w);
    }
    rlt_jw_end_array(w);
    rlt_jw_end_object(w);
    free(rows);
    return rc;
}

static int lists_json(rlt_json run, rlt_jw *w, rlt_error *err)
{
    static const char *const ranks[] = {"rank",
                                        "start_ps",
                                        "span_ps",
                                        "compute_ps",
                                        "comm_ps",
                                        "exposed_comm_ps",
                                        "host_ps",
                                        "idle_ps",
                                        "comm_wait_ps",
                                        "comm_transfer_ps",
                                        "exposed_by_dims_ps",
                                        "bubble_ps",
                                        "start_skew_ps",
                                        "peer_wait_ps",
                                        "exposed_tp_ps",
                                        "exposed_cp_ps",
                                        "exposed_ep_ps",
                                        "exposed_dp_ps",
                                        "exposed_pp_ps",
                                        "exposed_offload_ps",
                                        "exposed_other_ps",
                                        "ended_ps",
                                        NULL};
    static const char *const colls[] = {"index",
                                        "collective",
                                        "algorithm",
                                        "ranks",
                                        "step",
                                        "bytes",
                                        "first_arrival_ps",
                                        "last_arrival_ps",
                                        "end_ps",
                                        "wait_ps",
                                        "transfer_ps",
                                        "bound_ps",
                                        "busbw_GBps",
                                        "last_rank",
                                        "dims",
                                        "count",
                                        NULL};
    static const char *const links[] = {
        "id",        "src",         "dst",   "dim",   "count",  "bandwidth_Bps", "bytes", "busy_ps",
        "active_ps", "utilization", "drops", "marks", "pauses", "peak_bytes",    NULL};
    static const char *const long_ones[] = {"wait_ps", "transfer_ps"}, *const busy_ones[] = {"utilization",
                                                                                             ""};
    int rc = list_json(w, "ranks", rlt_json_get(run, "ranks"), ranks, MOST_RANKS, NULL, false, err);
    if (!rc)
        rc = list_json(w, "collectives", rlt_json_get(run, "collectives"), colls, MOST_COLLECTIVES, long_ones,
                       false, err);
    return rc ? rc
              : list_json(w, "links", rlt_json_get(run, "links"), links, MOST_LINKS, busy_ones, true, err);
}

static int members_json(rlt_json run, rlt_jw *w, rlt_error *err)
{
    static const char *const apart[] = {"ranks", "collectives", "links", NULL};
    int rc = 0;
    rlt_jw_object(w, "run");
    for (rlt_json v = rlt_json_first(run); rlt_json_is(v) && !rc; v = rlt_json_next(v)) {
        const char *key = rlt_json_key(v);
        bool skip = false;
        for (int i = 0; apart[i]; i++)
            skip = skip || strcmp(apart[i], key) == 0;
        if (!skip)
            rc = raw(w, key, v, err);
    }
    if (!rc)
        rc = lists_json(run, w, err);
    rlt_jw_end_object(w);
    return rc;
}

int rlt_run_page_utilization(const rlt_topology *t, rlt_json run, double **out, rlt_error *err)
{
    uint32_t n = rlt_topology_links(t), by_dim[RLT_MAX_DIMS] = {0};
    double *u = malloc(((size_t)n + 1) * sizeof *u);
    *out = u;
    if (!u)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < n; i++) {
        u[i] = -1;
        by_dim[rlt_topology_link(t, i).dim]++;
    }
    rlt_json list = rlt_json_get(run, "links");
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v); v = rlt_json_next(v)) {
        double id = real(v, "id"), dim = real(v, "dim"), count = real(v, "count"), x = real(v, "utilization");
        if (!(id >= 0 && id < n && dim >= 0 && dim < RLT_MAX_DIMS))
            continue;
        u[(uint32_t)id] = x;
        for (uint32_t i = 0; i < n && count == by_dim[(uint32_t)dim]; i++)
            if (rlt_topology_link(t, i).dim == (uint32_t)dim)
                u[i] = x;
    }
    return 0;
}

static int drawing(const rlt_run_page *p, rlt_jw *w, rlt_error *err)
{
    double *own = NULL;
    int rc = p->utilization ? 0 : rlt_run_page_utilization(p->topology, p->run, &own, err);
    if (!rc)
        rc = rlt_drawing_json(p->topology, p->utilization ? p->utilization : own, w, err);
    free(own);
    return rc;
}

/* Series of links in the document. */
typedef struct series {
    rlt_json *links;
    double *scale; /* bytes of a bin -> utilization */
    double *cells;
    uint32_t bins;
} series;

static double series_at(void *ctx, uint32_t row, uint32_t bin)
{
    const series *s = ctx;
    return s->cells[(size_t)row * s->bins + bin] * s->scale[row];
}

static uint32_t series_dim(void *ctx, uint32_t row)
{
    const series *s = ctx;
    return (uint32_t)real(s->links[row], "dim");
}

static const char *series_name(void *ctx, uint32_t row, uint32_t count, char *buffer, size_t size)
{
    const series *s = ctx;
    const char *src = rlt_json_string(rlt_json_get(s->links[row], "src"));
    const char *dst = rlt_json_string(rlt_json_get(s->links[row], "dst"));
    snprintf(buffer, size, count > 1 ? "%.60s \u2192 %.60s and %u like it" : "%.60s \u2192 %.60s",
             src ? src : "", dst ? dst : "", count - 1);
    return buffer;
}

static int series_fill(series *s, rlt_json list, double bin_s, rlt_error *err)
{
    uint32_t n = rlt_json_count(list), r = 0;
    s->links = calloc((size_t)n + 1, sizeof *s->links);
    s->scale = calloc((size_t)n + 1, sizeof *s->scale);
    s->cells = calloc((size_t)n * s->bins + 1, sizeof *s->cells);
    if (!s->links || !s->scale || !s->cells)
        return rlt_nomem(err);
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v); v = rlt_json_next(v), r++) {
        double bandwidth = real(v, "bandwidth_Bps");
        uint32_t b = 0;
        s->links[r] = v;
        s->scale[r] = bandwidth > 0 ? 1 / (bandwidth * bin_s) : 0;
        rlt_json bins = rlt_json_get(v, "series_bytes");
        for (rlt_json x = rlt_json_first(bins); rlt_json_is(x) && b < s->bins; x = rlt_json_next(x), b++) {
            uint64_t bytes = 0;
            if (rlt_json_u64(x, UINT64_MAX, &bytes, err))
                return RLT_ESCHEMA;
            s->cells[(size_t)r * s->bins + b] = (double)bytes;
        }
    }
    return 0;
}

static int heat_of_document(rlt_json run, rlt_jw *w, rlt_error *err)
{
    rlt_json list = rlt_json_get(run, "links");
    double bin_ps = real(run, "series_bin_ps");
    series s = {.bins = rlt_json_count(rlt_json_get(rlt_json_first(list), "series_bytes"))};
    rlt_heat h = {rlt_json_count(list), s.bins, (rlt_time)bin_ps, &s, series_at, series_name, series_dim};
    if (bin_ps < 1 || !s.bins || bin_ps > 1e17)
        return 0;
    int rc = series_fill(&s, list, bin_ps * 1e-12, err);
    if (!rc)
        rc = rlt_heat_json(&h, w, err);
    free(s.links);
    free(s.scale);
    free(s.cells);
    return rc;
}

int rlt_run_page_write(const rlt_run_page *p, const char *path, rlt_error *err)
{
    rlt_jw w;
    size_t length;
    rlt_jw_init(&w, false);
    rlt_jw_object(&w, NULL);
    rlt_jw_string(&w, "kind", "run");
    int rc = members_json(p->run, &w, err);
    if (!rc && p->timeline)
        rc = rlt_timeline_json(p->timeline, p->events, &w, err);
    if (!rc && p->topology)
        rc = drawing(p, &w, err);
    if (!rc)
        rc = p->heat ? rlt_heat_json(p->heat, &w, err) : heat_of_document(p->run, &w, err);
    rlt_jw_end_object(&w);
    char *text = rlt_jw_finish(&w, &length);
    if (!rc)
        rc = text ? rlt_page_write(path, text, length, err) : rlt_nomem(err);
    free(text);
    return rc;
}
