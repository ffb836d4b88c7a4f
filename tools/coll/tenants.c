/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/coll/tenants.h"

#include "collectives/collective.h"
#include "sim/base/column.h"

/* Columns of the lines below the table. The first N_OF_ROW say which row a line belongs to. */
enum { N_COLUMNS = 11, N_OF_ROW = 3 };
static const rlt_column columns[N_COLUMNS] = {
    {"collective", "collective", NULL, RLT_COL_TEXT, 0, 0, "kind of the collective"},
    {"bytes", "size", NULL, RLT_COL_SIZE, 0, 0, "its size as nccl-tests counts it: the buffer of a rank"},
    {"algorithm", "algorithm", NULL, RLT_COL_TEXT, 0, 0, "algorithm or protocol that was asked for"},
    {"tenant", "tenant", NULL, RLT_COL_COUNT, 0, 0, "number of the job"},
    {"time_ps", "time", "us", RLT_COL_TIME, 0, 0,
     "from the first step to the moment when the job's last rank is done"},
    {"slots", "slots", NULL, RLT_COL_COUNT, 0, 0, "aggregation slots that the job was granted"},
    {"fallback_share", "to srv", "%", RLT_COL_PERCENT, 0, 1,
     "share of the contributions that reached a server without being aggregated by a switch"},
    {"retransmissions", "resent", NULL, RLT_COL_COUNT, 0, 0, "packets that the job sent again"},
    {"server_bytes", NULL, NULL, RLT_COL_COUNT, 0, 0, "bytes that arrived at the job's parameter servers"},
    {"ran", "ran as", NULL, RLT_COL_TEXT, 0, 0, "protocol that the job ran as"},
    {"reason", "because", NULL, RLT_COL_TEXT, 0, 0, "why the job ran as another protocol than asked for"},
};

const rlt_columns rlt_tenant_columns = {"Jobs of `ringlet coll --tenants`: JSON `tenants[]`", columns,
                                        N_COLUMNS};

static void fill(rlt_value v[N_COLUMNS], const rlt_tenant *t, uint32_t tenant)
{
    uint32_t i = N_OF_ROW;
    v[i++] = rlt_count(tenant);
    v[i++] = rlt_ps(t->time_ps);
    v[i++] = t->slots;
    v[i++] = t->fallback;
    v[i++] = t->retransmissions;
    v[i++] = t->server_bytes;
    v[i++] = rlt_text(t->ran);
    v[i++] = rlt_text(t->why[0] ? t->why : NULL);
}

void rlt_tenants_json(rlt_jw *w, const rlt_tenants *t)
{
    rlt_value v[N_COLUMNS];
    rlt_jw_array(w, "tenants");
    for (uint32_t i = 0; i < t->n; i++) {
        fill(v, &t->list[i], i);
        rlt_jw_object(w, NULL);
        rlt_row_json(w, columns + N_OF_ROW, N_COLUMNS - N_OF_ROW, v + N_OF_ROW);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
}

void rlt_tenants_table(rlt_table *table, FILE *out)
{
    rlt_table_begin(table, RLT_FORMAT_TABLE, columns, N_COLUMNS, out, NULL);
}

void rlt_tenants_rows(rlt_table *table, const rlt_tenants *t, rlt_coll_kind kind, uint64_t bytes,
                      const char *algorithm)
{
    rlt_value v[N_COLUMNS] = {rlt_text(rlt_coll_name(kind)), rlt_count(bytes), rlt_text(algorithm)};
    for (uint32_t i = 0; i < t->n; i++) {
        fill(v, &t->list[i], i);
        rlt_table_row(table, v);
    }
}
