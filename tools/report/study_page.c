/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The page of a study. */
#include "tools/report/study_page.h"

#include <stdlib.h>
#include <string.h>

#include "tools/report/page.h"
#include "tools/report/study_data.h"
#include "workload/replay/causes.h"

enum { LINKS_OF_POINT = 6, MOST_LINKS = 24000, MOST_AXES = 64 };

/* Writes JSON from the file after checking that it is a list; sets *n to its length. */
static int list_json(rlt_jw *w, const char *key, const char *what, const char *json, uint32_t *n,
                     rlt_error *err)
{
    rlt_json_doc *doc = NULL;
    int rc = rlt_json_parse(what, json ? json : "[]", json ? strlen(json) : 2, &doc, err);
    if (rc)
        return rc;
    if (rlt_json_is_array(rlt_json_root(doc))) {
        *n = rlt_json_count(rlt_json_root(doc));
        rlt_jw_raw(w, key, json ? json : "[]");
    } else
        rc = rlt_fail(err, RLT_ESCHEMA, what, "expected a list");
    rlt_json_free(doc);
    return rc;
}

static int head_json(rlt_study *s, rlt_jw *w, rlt_error *err)
{
    rlt_study_head h;
    uint32_t n;
    int rc = rlt_study_head_of(s, &h, err);
    if (rc)
        return rc;
    rlt_jw_object(w, "study");
    rlt_jw_string(w, "name", h.name ? h.name : "");
    rlt_jw_string(w, "text", h.text ? h.text : "");
    rlt_jw_string(w, "hash", h.hash ? h.hash : "");
    rlt_jw_string(w, "ringlet", h.ringlet ? h.ringlet : "");
    rlt_jw_string(w, "shard", h.shard ? h.shard : "");
    rlt_jw_i64(w, "points", h.points);
    rlt_jw_string(w, "command", h.command ? h.command : "");
    rc = list_json(w, "objectives", "study.objectives", h.objectives, &n, err);
    if (!rc)
        rc = list_json(w, "columns", "study.columns", h.columns, &n, err);
    rlt_jw_end_object(w);
    return rc;
}

static int axes_json(rlt_study *s, rlt_jw *w, uint32_t *lengths, uint32_t *n, rlt_error *err)
{
    const char *name, *pointers, *values;
    uint32_t places;
    int rc, bad = 0;
    *n = 0;
    rlt_jw_array(w, "axes");
    while (!bad && (rc = rlt_study_next_axis(s, &name, &pointers, &values, err)) > 0) {
        if (*n == MOST_AXES)
            return rlt_fail(err, RLT_ERANGE, "axis", "more than %d axes", MOST_AXES);
        rlt_jw_object(w, NULL);
        rlt_jw_string(w, "name", name ? name : "");
        bad = list_json(w, "pointers", "axis.pointers", pointers, &places, err);
        if (!bad)
            bad = list_json(w, "values", "axis.values", values, &lengths[*n], err);
        rlt_jw_end_object(w);
        ++*n;
    }
    rlt_jw_end_array(w);
    return bad ? bad : rc;
}

/* Writes coordinates such as "[0,3,-1]" after checks: one per axis, each an index of a value or -1. */
static int coordinates_json(rlt_jw *w, const char *text, const uint32_t *lengths, uint32_t n, rlt_error *err)
{
    const char *at = text ? text : "[]";
    rlt_jw_array(w, NULL);
    for (uint32_t i = 0; i < n && text; i++) {
        char *end;
        at += strspn(at, i ? ", " : "[ ");
        long long x = strtoll(at, &end, 10);
        if (end == at || x < -1 || x >= (long long)lengths[i])
            return rlt_fail(err, RLT_ESCHEMA, "point.coordinates",
                            "expected an index of a value or -1 for each of %u axes, got '%.80s'", n, text);
        rlt_jw_i64(w, NULL, x);
        at = end;
    }
    rlt_jw_end_array(w);
    return 0;
}

static void figure_json(rlt_jw *w, rlt_study_figure f)
{
    if (f.kind == RLT_FIGURE_WHOLE)
        rlt_jw_i64(w, NULL, f.whole);
    else if (f.kind == RLT_FIGURE_REAL)
        rlt_jw_double(w, NULL, f.real, 6);
    else
        rlt_jw_null(w, NULL);
}

static void text_json(rlt_jw *w, const char *text)
{
    if (text)
        rlt_jw_string(w, NULL, text);
    else
        rlt_jw_null(w, NULL);
}

static int points_json(rlt_study *s, rlt_jw *w, const uint32_t *lengths, uint32_t n, rlt_error *err)
{
    rlt_study_point p;
    int rc, bad = 0;
    rlt_jw_array(w, "figures");
    for (uint32_t i = 0; rlt_study_figure_name(i); i++)
        rlt_jw_string(w, NULL, rlt_study_figure_name(i));
    rlt_jw_end_array(w);
    rlt_jw_array(w, "causes");
    for (int c = 0; c < RLT_CAUSES; c++) {
        if (!rlt_cause_key((rlt_cause)c))
            continue;
        rlt_jw_array(w, NULL);
        rlt_jw_string(w, NULL, rlt_cause_key((rlt_cause)c));
        rlt_jw_string(w, NULL, rlt_cause_name((rlt_cause)c));
        rlt_jw_end_array(w);
    }
    rlt_jw_end_array(w);
    rlt_jw_array(w, "rows");
    while (!bad && (rc = rlt_study_next_point(s, &p, err)) > 0) {
        rlt_jw_array(w, NULL);
        rlt_jw_i64(w, NULL, p.point);
        text_json(w, p.name);
        bad = coordinates_json(w, p.coordinates, lengths, n, err);
        rlt_jw_i64(w, NULL, p.replica);
        rlt_jw_string(w, NULL, p.failed ? "failed" : "done");
        text_json(w, p.error);
        text_json(w, p.options);
        rlt_jw_i64(w, NULL, p.same_as);
        text_json(w, p.busiest_link);
        for (uint32_t i = 0; rlt_study_figure_name(i); i++)
            figure_json(w, p.figures[i]);
        rlt_jw_end_array(w);
    }
    rlt_jw_end_array(w);
    return bad ? bad : rc;
}

static int links_json(rlt_study *s, rlt_jw *w, rlt_error *err)
{
    rlt_study_link l;
    int64_t of = -1, left_out = 0;
    uint32_t nth = 0, total = 0;
    int rc;
    rlt_jw_array(w, "links");
    while ((rc = rlt_study_next_link(s, &l, err)) > 0) {
        nth = l.point == of ? nth + 1 : 0;
        of = l.point;
        if (nth >= LINKS_OF_POINT || total >= MOST_LINKS) {
            left_out++;
            continue;
        }
        total++;
        rlt_jw_array(w, NULL);
        rlt_jw_i64(w, NULL, l.point);
        text_json(w, l.id);
        rlt_jw_i64(w, NULL, l.dim);
        rlt_jw_i64(w, NULL, l.count);
        rlt_jw_i64(w, NULL, l.bytes);
        rlt_jw_i64(w, NULL, l.busy_ps);
        rlt_jw_double(w, NULL, l.utilization, 4);
        rlt_jw_end_array(w);
    }
    rlt_jw_end_array(w);
    rlt_jw_i64(w, "links_left_out", left_out);
    return rc;
}

int rlt_study_json(const char *path, rlt_jw *w, rlt_error *err)
{
    rlt_study *s = NULL;
    uint32_t lengths[MOST_AXES], n;
    int rc;
    rlt_jw_init(w, false);
    if ((rc = rlt_study_open(path, &s, err)))
        return rc;
    rlt_jw_object(w, NULL);
    rlt_jw_string(w, "kind", "study");
    if (!(rc = head_json(s, w, err)) && !(rc = axes_json(s, w, lengths, &n, err)) &&
        !(rc = points_json(s, w, lengths, n, err)))
        rc = links_json(s, w, err);
    rlt_study_close(s);
    if (rc && err && strncmp(err->where, path, strlen(path)) != 0)
        rlt_error_prefix(err, path);
    return rc;
}

int rlt_study_page_write(const char *path, const char *output, rlt_error *err)
{
    rlt_jw w;
    size_t length;
    int rc = rlt_study_json(path, &w, err);
    if (!rc)
        rlt_jw_end_object(&w);
    char *text = rlt_jw_finish(&w, &length);
    if (!rc)
        rc = text ? rlt_page_write(output, text, length, err) : rlt_nomem(err);
    free(text);
    return rc;
}
