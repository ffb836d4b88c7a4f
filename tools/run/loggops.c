/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet run --timing loggops`: times of the ranks in LogGOPSim's cost model. */
#include <inttypes.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/text/json.h"
#include "tools/base/file.h"
#include "tools/output/manifest.h"
#include "tools/output/output.h"
#include "tools/run/report.h"
#include "workload/experiment/run/run.h"
#include "workload/setup/inputs.h"
#include "workload/timing/loggops.h"

enum { PS_PER_NS = 1000, MANY_RANKS = 16 };

static const rlt_column columns[] = {
    {"rank", "rank", NULL, RLT_COL_COUNT, 0, 0, "number of the rank"},
    {"end_ps", "end", NULL, RLT_COL_TIME, 0, 0, "when the rank ends"},
};
enum { N_COLUMNS = sizeof columns / sizeof *columns };
const rlt_columns rlt_loggops_columns = {"Costs by LogGOPSim: `ringlet run --timing loggops`, JSON `ranks[]`",
                                         columns, N_COLUMNS};

static int put_ranks(const rlt_loggops_result *r, uint32_t n, rlt_format format, FILE *out, rlt_jw *w,
                     rlt_error *err)
{
    rlt_table t;
    rlt_table_begin(&t, format, columns, N_COLUMNS, out, w);
    for (uint32_t i = 0; i < n; i++) {
        rlt_value row[] = {rlt_count(i), rlt_ps((int64_t)r->rank_end_ns[i] * PS_PER_NS)};
        rlt_table_row(&t, row);
    }
    return rlt_table_end(&t, err);
}

static int put_json(const rlt_parsed *args, const char *file, const rlt_loggops *p,
                    const rlt_loggops_result *r, const char *path, rlt_error *err)
{
    rlt_inputs in = {0};
    rlt_jw w;
    int rc = rlt_inputs_add_file(&in, "trace", file, err);
    if (rc)
        return rc;
    rlt_document_begin(&w, "run", args, &in);
    rlt_jw_string(&w, "timing", "loggops");
    rlt_jw_object(&w, "loggops_ns");
    rlt_jw_u64(&w, "L", p->L);
    rlt_jw_u64(&w, "o", p->o);
    rlt_jw_u64(&w, "g", p->g);
    rlt_jw_u64(&w, "G", p->G);
    rlt_jw_u64(&w, "O", p->O);
    rlt_jw_u64(&w, "S_bytes", p->S);
    rlt_jw_end_object(&w);
    rlt_jw_i64(&w, "time_ps", (int64_t)r->end_ns * PS_PER_NS);
    rlt_jw_u64(&w, "messages", r->messages);
    rlt_jw_u64(&w, "bytes", r->bytes);
    rlt_jw_array(&w, "ranks");
    rc = put_ranks(r, r->ranks, RLT_FORMAT_JSON, NULL, &w, err);
    rlt_jw_end_array(&w);
    if (rc) {
        rlt_document_drop(&w);
        return rc;
    }
    return rlt_document_write(&w, path, err);
}

static int put_text(const rlt_loggops *p, const rlt_loggops_result *r, rlt_format format, const char *path,
                    rlt_error *err)
{
    rlt_file f = {0};
    bool table = format == RLT_FORMAT_TABLE;
    uint32_t shown = table && r->ranks > MANY_RANKS ? MANY_RANKS : r->ranks;
    int rc = rlt_file_open(&f, path, err);
    if (rc)
        return rc;
    if (table)
        fprintf(f.stream,
                "goal workload: %u rank%s, %" PRIu64 " message%s, %" PRIu64 " bytes\nLogGOPSim's costs, no "
                "network: L=%" PRIu64 " o=%" PRIu64 " g=%" PRIu64 " G=%" PRIu64 " O=%" PRIu64
                " ns, S=%" PRIu64 " B\n\n",
                r->ranks, rlt_s(r->ranks), r->messages, rlt_s(r->messages), r->bytes, p->L, p->o, p->g, p->G,
                p->O, p->S);
    rc = put_ranks(r, shown, format, f.stream, NULL, err);
    if (table && shown < r->ranks)
        fprintf(f.stream, "... and %u more\n", r->ranks - shown);
    if (table)
        fprintf(f.stream, "\nfinish time %" PRIu64 " ns\n", r->end_ns);
    if (rc) {
        rlt_file_discard(&f);
        return rc;
    }
    return rlt_file_close(&f, err);
}

int rlt_run_loggops(const rlt_parsed *args, const rlt_run_asked *asked, rlt_error *err)
{
    const rlt_run_settings *s = &asked->run;
    rlt_loggops p = rlt_loggops_default();
    rlt_loggops_result r = {0};
    int rc = 0;
    if (s->model || s->trace.n + (uint32_t)args->n_operands != 1)
        return rlt_fail(err, RLT_EUSAGE, "--timing loggops", "needs one GOAL file as --trace");
    if (s->sim.topology)
        return rlt_fail(err, RLT_EUSAGE, "--timing loggops", "uses no network: omit --topology");
    const char *file = s->trace.n ? s->trace.items[0] : args->operands[0];
    for (uint32_t i = 0; i < s->sim.set.n; i++) {
        if (rlt_loggops_parse(s->sim.set.items[i], &p, err)) {
            rlt_error_prefix(err, "--set");
            return RLT_EUSAGE;
        }
    }
    rc = rlt_loggops_run(file, &p, &r, err);
    rlt_format format = rlt_format_of(asked->report.format, asked->report.output);
    if (!rc)
        rc = format == RLT_FORMAT_JSON ? put_json(args, file, &p, &r, asked->report.output, err)
                                       : put_text(&p, &r, format, asked->report.output, err);
    rlt_loggops_free(&r);
    return rc;
}
