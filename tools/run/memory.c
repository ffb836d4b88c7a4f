/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Memory of a training's ranks over time: as CSV, as counters of a timeline, and in the JSON. */
#include <inttypes.h>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "tools/base/file.h"
#include "tools/base/message.h"
#include "tools/run/report.h"
#include "workload/experiment/run/daso.h"
#include "workload/experiment/run/run.h"
#include "workload/training/memory_time.h"
#include "workload/training/training.h"

enum { MAX_COUNTS = 200000, MAX_STEPS = 4000 };

int rlt_memory_check(const rlt_run_asked *s, rlt_error *err)
{
    if (!s->memory_csv)
        return 0;
    if (!s->run.model)
        return rlt_fail(err, RLT_EUSAGE, "--memory-csv", "needs --model: only trainings have memory");
    if (s->run.recording.rescale.n)
        return rlt_fail(err, RLT_EUSAGE, "--memory-csv",
                        "cannot be combined with --rescale, which moves ranks");
    if (s->compare || rlt_run_is_daso(&s->run))
        return rlt_fail(err, RLT_EUSAGE, "--memory-csv", "needs a single run%s",
                        s->compare ? ", not --compare" : ", not --strategy daso");
    return 0;
}

/* Returns the number of ranks whose memory is known. */
static uint32_t ranks_of(const rlt_run *r)
{
    if (!r->trains || r->settings->recording.rescale.n)
        return 0;
    return rlt_folded_ranks(&r->training, r->passes.folded);
}

static int curve_of(const rlt_run *r, uint32_t rank, rlt_memory_curve *c, rlt_error *err)
{
    return rlt_memory_curve_of(&r->training, &r->passes, r->program, r->replay, rank, c, err);
}

int rlt_run_memory_csv(const rlt_run *r, const char *path, rlt_error *err)
{
    rlt_file f;
    int rc = rlt_file_open(&f, path, err);
    if (rc)
        return rc;
    fputs("time_ps,rank,bytes\n", f.stream);
    for (uint32_t rank = 0; rank < ranks_of(r) && !rc; rank++) {
        rlt_memory_curve c;
        if ((rc = curve_of(r, rank, &c, err)))
            break;
        for (uint32_t i = 0; i < c.n; i++)
            fprintf(f.stream, "%" PRId64 ",%u,%.0f\n", c.steps[i].time_ps, rank, c.steps[i].bytes);
        rlt_memory_curve_free(&c);
    }
    if (rc)
        rlt_file_discard(&f);
    else
        rlt_mark_partial(f.stream);
    return rc ? rc : rlt_file_close(&f, err);
}

int rlt_run_memory_counters(const rlt_run *r, FILE *out, uint64_t *dropped, rlt_error *err)
{
    uint64_t written = 0, lost = 0;
    for (uint32_t rank = 0; rank < ranks_of(r); rank++) {
        rlt_memory_curve c;
        char ts[32];
        int rc = curve_of(r, rank, &c, err);
        if (rc)
            return rc;
        for (uint32_t i = 0; i < c.n; i++) {
            if (written == MAX_COUNTS) {
                lost += c.n - i;
                break;
            }
            written++;
            fprintf(out,
                    ",\n{\"ph\":\"C\",\"pid\":%u,\"tid\":0,\"ts\":%s,\"name\":\"memory\",\"args\":{\"bytes\":"
                    "%.0f}}",
                    rank, rlt_format_us(ts, sizeof ts, c.steps[i].time_ps), c.steps[i].bytes);
        }
        rlt_memory_curve_free(&c);
    }
    if (lost)
        rlt_warn("%" PRIu64 " changes of memory beyond the first %d are not in the timeline", lost,
                 MAX_COUNTS);
    *dropped += lost;
    return 0;
}

int rlt_run_memory_curves(const rlt_run *r, rlt_jw *w, rlt_error *err)
{
    uint32_t stages = ranks_of(r) ? r->passes.n_stages : 0;
    rlt_jw_array(w, "memory_curves");
    for (uint32_t s = 0; s < stages; s++) {
        uint32_t rank = rlt_stage_rank(&r->training, &r->passes, s);
        rlt_memory_curve c;
        int rc = curve_of(r, rank, &c, err);
        if (rc)
            return rc;
        /* The maximum stands for `every` neighbouring steps, so that no peak is lost. */
        uint32_t every = (c.n + MAX_STEPS - 1) / MAX_STEPS;
        rlt_jw_object(w, NULL);
        rlt_jw_u64(w, "stage", s);
        rlt_jw_u64(w, "rank", rank);
        rlt_jw_u64(w, "every", every);
        rlt_jw_array(w, "steps");
        for (uint32_t i = 0; i < c.n; i += every) {
            double most = c.steps[i].bytes;
            for (uint32_t k = i; k < c.n && k < i + every; k++)
                most = c.steps[k].bytes > most ? c.steps[k].bytes : most;
            rlt_jw_i64(w, NULL, c.steps[i].time_ps);
            rlt_jw_double(w, NULL, most, 0);
        }
        rlt_jw_end_array(w);
        rlt_jw_end_object(w);
        rlt_memory_curve_free(&c);
    }
    rlt_jw_end_array(w);
    return 0;
}

int rlt_run_memory_json(const rlt_run *r, rlt_jw *w, rlt_error *err)
{
    uint32_t stages = ranks_of(r) ? r->passes.n_stages : 0;
    rlt_jw_array(w, "memory");
    for (uint32_t s = 0; s < stages; s++) {
        rlt_training_memory m = rlt_training_memory_of(&r->training, s);
        rlt_memory_curve c;
        int rc = curve_of(r, rlt_stage_rank(&r->training, &r->passes, s), &c, err);
        if (rc)
            return rc;
        rlt_jw_object(w, NULL);
        rlt_jw_u64(w, "stage", s);
        rlt_jw_double(w, "peak_bytes", c.peak_bytes, 0);
        rlt_jw_double(w, "weights_bytes", m.parameters, 0);
        rlt_jw_double(w, "gradients_bytes", m.gradients, 0);
        rlt_jw_double(w, "optimizer_bytes", m.optimizer, 0);
        rlt_jw_double(w, "activations_bytes", (c.peak_bytes - c.base_bytes) / r->training.fragmentation, 0);
        rlt_jw_double(w, "buffers_bytes", m.buffers, 0);
        rlt_jw_double(w, "gathered_bytes", m.gathered, 0);
        rlt_jw_i64(w, "time_of_peak_ps", c.peak_ps);
        rlt_jw_end_object(w);
        rlt_memory_curve_free(&c);
    }
    rlt_jw_end_array(w);
    return 0;
}
