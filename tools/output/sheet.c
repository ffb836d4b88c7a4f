/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes rows to the chosen file in the chosen format. */
#include "tools/output/sheet.h"

#include <stdio.h>

#include "tools/base/interrupt.h"
#include "tools/output/manifest.h"

int rlt_sheet_open(rlt_sheet *s, const rlt_report_settings *how, const char *command, const rlt_parsed *args,
                   const rlt_inputs *in, rlt_error *err)
{
    *s = (rlt_sheet){.format = rlt_format_of(how->format, how->output), .path = how->output};
    if (s->format != RLT_FORMAT_JSON)
        return rlt_file_open(&s->file, s->path, err);
    rlt_document_begin(&s->json, command, args, in);
    return 0;
}

void rlt_sheet_heading(rlt_sheet *s, const rlt_column *columns, uint32_t n)
{
    if (s->format == RLT_FORMAT_JSON)
        rlt_jw_array(&s->json, "results");
    rlt_table_begin(&s->table, s->format, columns, n, s->file.stream, &s->json);
}

void rlt_sheet_row(rlt_sheet *s, const rlt_value *values)
{
    rlt_table_row(&s->table, values);
}

int rlt_sheet_close(rlt_sheet *s, int rc, const char *legend, rlt_error *err)
{
    bool partial = rc == RLT_ECANCELLED;
    if (partial)
        rlt_interrupted_result(err);
    int ended = rlt_table_end(&s->table, rc ? NULL : err);
    if (ended || (rc && !partial)) {
        if (s->format == RLT_FORMAT_JSON)
            rlt_document_drop(&s->json);
        rlt_file_discard(&s->file);
        return rc ? rc : ended;
    }
    if (s->format == RLT_FORMAT_JSON) {
        rlt_jw_end_array(&s->json);
        if (partial)
            rlt_jw_bool(&s->json, "partial", true);
        ended = rlt_document_write(&s->json, s->path, rc ? NULL : err);
    } else {
        if (s->format == RLT_FORMAT_TABLE)
            fputs(legend, s->file.stream);
        rlt_mark_partial(s->file.stream);
        ended = rlt_file_close(&s->file, rc ? NULL : err);
    }
    return rc ? rc : ended;
}
