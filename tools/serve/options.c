/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options of a point, from the study's text and the point's coordinates. */
#include "tools/serve/options.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "sim/text/tree.h"
#include "tools/report/study_data.h"
#include "tools/sweep/study/study.h"

/* Converts coordinates as in the database: one number for each axis, all -1 for a named point. */
static int place_of(const rlt_sweep_study *s, const rlt_study_point *from, rlt_sweep_point *out,
                    rlt_error *err)
{
    const char *at = from->coordinates ? from->coordinates : "";
    *out =
        (rlt_sweep_point){.id = (uint64_t)from->point, .named = RLT_NONE, .replica = (uint32_t)from->replica};
    for (uint32_t a = 0; a < s->n_axes; a++) {
        char *end;
        at += strspn(at, "[, ");
        long x = strtol(at, &end, 10);
        if (end == at || x < -1 || x >= (long)s->axes[a].n)
            return rlt_fail(err, RLT_ESCHEMA, "point.coordinates", "not of this study's axes");
        out->at[a] = x < 0 ? 0 : (uint32_t)x;
        at = end;
    }
    for (uint32_t i = 0; from->name && i < s->n_named; i++)
        if (strcmp(s->named[i].name, from->name) == 0)
            out->named = i;
    return 0;
}

static void write_options(const rlt_sweep_study *s, const rlt_option_texts *texts, const rlt_runs *runs,
                          rlt_jw *w)
{
    rlt_jw_object(w, "options");
    for (uint32_t i = 0; i < texts->n; i++) {
        const rlt_option *o = rlt_option_at(s->command->options, texts->items[i].option, NULL);
        if (!rlt_runs_allows(runs, o->name))
            continue;
        if (i == 0 || texts->items[i - 1].option != texts->items[i].option)
            rlt_jw_array(w, o->name);
        rlt_jw_string(w, NULL, texts->items[i].text);
        if (i + 1 == texts->n || texts->items[i + 1].option != texts->items[i].option)
            rlt_jw_end_array(w);
    }
    rlt_jw_end_object(w);
    rlt_jw_array(w, "left_out");
    for (uint32_t i = 0; i < texts->n; i++) {
        const rlt_option *o = rlt_option_at(s->command->options, texts->items[i].option, NULL);
        if (!rlt_runs_allows(runs, o->name))
            rlt_jw_string(w, NULL, o->name);
    }
    rlt_jw_end_array(w);
}

int rlt_point_options_json(const char *study, int64_t point, const rlt_runs *runs, rlt_jw *w, rlt_error *err)
{
    rlt_study *db = NULL;
    rlt_study_head head;
    rlt_study_point from;
    rlt_sweep_study s = {0};
    rlt_sweep_point p;
    rlt_arena arena = {0};
    rlt_option_texts texts = {0};
    int rc = rlt_study_open(study, &db, err);
    if (rc || (rc = rlt_study_head_of(db, &head, err)) ||
        (rc = rlt_sweep_study_parse("study.text", head.text ? head.text : "", &s, err)) ||
        (rc = rlt_study_point_of(db, point, &from, err)) || (rc = place_of(&s, &from, &p, err)) ||
        (rc = rlt_sweep_options(&s, &p, &arena, &texts, err)))
        goto out;
    write_options(&s, &texts, runs, w);
out:
    free(texts.items);
    rlt_arena_free(&arena);
    rlt_sweep_study_free(&s);
    rlt_study_close(db);
    return rc;
}
