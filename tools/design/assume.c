/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Assumptions of a design: accelerator, layout, batch and memory of each model, and which of them the
 * user did not say. */
#include <stdio.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "tools/design/design.h"
#include "workload/design/design.h"
#include "workload/training/training.h"

/* Returns true if the list "microbatch=4,precision=bf16" has the name. */
static bool names(const char *list, const char *name)
{
    const char *item;
    size_t length, n = strlen(name);
    while (list && (item = rlt_next_item(&list, ',', &length)))
        if (length > n && strncmp(item, name, n) == 0 && item[n] == '=')
            return true;
    return false;
}

void rlt_design_assume(rlt_design_assumed *out, const rlt_training *t, const char *list, bool accelerator)
{
    static const char *const settings[] = {"batch", "microbatch", "precision", "zero"};
    *out = (rlt_design_assumed){.model = true,
                                .batch = t->batch,
                                .microbatch = t->microbatch,
                                .zero = t->zero,
                                .recompute = t->recompute == RLT_RECOMPUTE_FULL,
                                .memory_bytes = rlt_training_fullest(t, NULL),
                                .room_bytes = (double)t->accelerator->memory_bytes};
    snprintf(out->accelerator, sizeof out->accelerator, "%s", t->accelerator->name);
    snprintf(out->precision, sizeof out->precision, "%s", t->precision);
    if (!accelerator)
        out->unsaid[out->n_unsaid++] = "accelerator";
    for (size_t i = 0; i < sizeof settings / sizeof *settings; i++)
        if (!names(list, settings[i]))
            out->unsaid[out->n_unsaid++] = settings[i];
}

static bool fits(const rlt_design_assumed *a)
{
    return a->memory_bytes <= a->room_bytes;
}

int rlt_design_fits(const rlt_design_setup *u, const rlt_training *t, const char *name, rlt_error *err)
{
    rlt_error why = {0};
    int rc = u->s->any_memory ? 0 : rlt_training_fits(t, &why);
    return rc ? rlt_fail(err, rc, name,
                         "%s (full recomputation: --loop recompute; to design anyway: --any-memory)",
                         why.what)
              : 0;
}

/* ---- lines ---- */

static void put_model(const rlt_design_work *w, const rlt_design_assumed *a, FILE *out)
{
    fprintf(out,
            "# %s: %s, tp %u, dp %u, batch %llu in microbatches of %u, %s, ZeRO %u, %s recomputation; %s "
            "%.1f of %.1f GB of memory\n",
            w->name, a->accelerator, w->model, w->data, (unsigned long long)a->batch, a->microbatch,
            a->precision, a->zero, a->recompute ? "full" : "no", fits(a) ? "needs" : "DOES NOT FIT: needs",
            a->memory_bytes / 1e9, a->room_bytes / 1e9);
    for (uint32_t i = 0; i < a->n_unsaid; i++)
        fprintf(out, "%s%s", i == 0 ? "#   not said, so assumed: " : ", ", a->unsaid[i]);
    if (a->n_unsaid)
        fputc('\n', out);
}

void rlt_design_assumptions(const rlt_design_setup *u, FILE *out)
{
    for (uint32_t i = 0; i < u->n_works; i++) {
        const rlt_design_work *w = &u->works[i];
        if (u->assumed[i].model)
            put_model(w, &u->assumed[i], out);
        else
            fprintf(out, "# %s: tp %u, dp %u; compute times are the file's, so its memory is not checked\n",
                    w->name, w->model, w->data);
    }
    fprintf(out, "# prices: %s (%s)", u->prices.name, u->prices.source);
    if (u->cost.radix)
        fprintf(out, "; switches of %u ports in as many tiers as needed%s", u->cost.radix,
                u->cost.rail ? ", each for one rail" : "");
    fputs(rlt_given(u->args, "cost") ? "\n" : "; assumed\n", out);
}

/* ---- JSON ---- */

static void put_model_json(const rlt_design_assumed *a, rlt_jw *w)
{
    rlt_jw_string(w, "accelerator", a->accelerator);
    rlt_jw_u64(w, "batch", a->batch);
    rlt_jw_u64(w, "microbatch", a->microbatch);
    rlt_jw_string(w, "precision", a->precision);
    rlt_jw_u64(w, "zero", a->zero);
    rlt_jw_string(w, "recompute", a->recompute ? "full" : "none");
    rlt_jw_double(w, "memory_bytes", a->memory_bytes, 0);
    rlt_jw_double(w, "accelerator_memory_bytes", a->room_bytes, 0);
    rlt_jw_bool(w, "fits_memory", fits(a));
    rlt_jw_array(w, "assumed");
    for (uint32_t i = 0; i < a->n_unsaid; i++)
        rlt_jw_string(w, NULL, a->unsaid[i]);
    rlt_jw_end_array(w);
}

void rlt_design_assumptions_json(const rlt_design_setup *u, rlt_jw *w)
{
    rlt_jw_bool(w, "prices_assumed", !rlt_given(u->args, "cost"));
    rlt_jw_array(w, "assumptions");
    for (uint32_t i = 0; i < u->n_works; i++) {
        rlt_jw_object(w, NULL);
        rlt_jw_string(w, "workload", u->works[i].name);
        rlt_jw_u64(w, "tp", u->works[i].model);
        rlt_jw_u64(w, "dp", u->works[i].data);
        if (u->assumed[i].model)
            put_model_json(&u->assumed[i], w);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
}
