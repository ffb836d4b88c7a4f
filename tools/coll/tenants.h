/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Tenants of `ringlet coll --tenants`: one line each. */
#ifndef RLT_TOOLS_COLL_TENANTS_H
#define RLT_TOOLS_COLL_TENANTS_H

#include <stdint.h>
#include <stdio.h>

#include "collectives/collective.h"
#include "sim/base/column.h"
#include "sim/text/json.h"
#include "tools/output/output.h"
#include "workload/experiment/coll/tenants.h"

extern const rlt_columns rlt_tenant_columns;
/* Writes "tenants": [...] into an open object. */
void rlt_tenants_json(rlt_jw *w, const rlt_tenants *t);
/* As lines of a table of their own: rlt_tenants_table begins it, rlt_tenants_rows adds a line for each
 * tenant, rlt_table_end writes it. */
void rlt_tenants_table(rlt_table *table, FILE *out);
void rlt_tenants_rows(rlt_table *table, const rlt_tenants *t, rlt_coll_kind kind, uint64_t bytes,
                      const char *algorithm);

#endif
