/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Several equal jobs at once on one network: `ringlet coll --tenants`. Member k of job j is rank k * jobs + j
 * of the group, so that every job lies where all lie and crosses the same switches.
 */
#ifndef RLT_TOOLS_COLL_TENANTS_H
#define RLT_TOOLS_COLL_TENANTS_H

#include "collectives/collective.h"
#include "net/topology/placement.h"
#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/time.h"
#include "sim/text/json.h"
#include "tools/coll/coll.h"
#include "tools/coll/react.h"
#include "tools/output/output.h"

/* What one of them did: its line below the table. */
typedef struct rlt_tenant {
    rlt_time time_ps;
    rlt_value slots, fallback, retransmissions, server_bytes; /* absent: of no meaning to what ran */
    const char *ran;                                          /* protocol or algorithm; borrowed */
    char why[256]; /* another one ran, or none of it was added up; "": neither */
} rlt_tenant;
typedef struct rlt_tenants {
    rlt_tenant *list; /* NULL: none */
    uint32_t n;
    double fairness; /* Jain's index of their rates */
} rlt_tenants;

/* The group of each of n jobs on the given ranks (NULL: 0 .. n_ranks-1), all of them equal in size;
 * *out is malloc'ed, to be freed by rlt_tenant_groups_free. RLT_EUSAGE:
 * the ranks make no equal jobs of two or more. */
int rlt_tenant_groups(const rlt_topology *t, const rlt_placement *p, const uint32_t *ranks, uint32_t n_ranks,
                      uint32_t n, rlt_group **out, rlt_error *err) RLT_MUST_USE;
void rlt_tenant_groups_free(rlt_group *groups, uint32_t n);

/* What they did in a run that has ended. To be freed by rlt_tenants_free. */
int rlt_tenants_of_steps(const rlt_coll_run *run, rlt_tenants *out, rlt_error *err) RLT_MUST_USE;
int rlt_tenants_of_protocol(const rlt_react_run *run, const rlt_react_ask *ask, rlt_tenants *out,
                            rlt_error *err) RLT_MUST_USE;
void rlt_tenants_free(rlt_tenants *t);

/* "tenants": [...] into an open object. */
void rlt_tenants_json(rlt_jw *w, const rlt_tenants *t);
/* As lines of a table of their own, which rlt_tenants_table begins; it is written when it ends. */
void rlt_tenants_table(rlt_table *table, FILE *out);
void rlt_tenants_rows(rlt_table *table, const rlt_tenants *t, rlt_coll_kind kind, uint64_t bytes,
                      const char *algorithm);

#endif
