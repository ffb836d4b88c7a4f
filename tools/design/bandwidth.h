/* SPDX-License-Identifier: GPL-3.0-or-later */
/* `ringlet design bandwidth`: shared by its reports of one budget (bandwidth.c) and of several
 * (budgets.c). */
#ifndef RLT_TOOLS_DESIGN_BANDWIDTH_H
#define RLT_TOOLS_DESIGN_BANDWIDTH_H

#include "net/topology/topology.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/text/json.h"
#include "tools/design/design.h"
#include "workload/design/design.h"

/* RLT_SPLIT_ANY: the best split of any speeds, beside one of listed speeds (--nic); its name is NULL without
 * a list. */
enum { RLT_SPLIT_GIVEN, RLT_SPLIT_EQUAL, RLT_SPLIT_CHOSEN, RLT_SPLIT_ANY, RLT_SPLITS };
enum { RLT_MAX_BUDGETS = 1000 };

/* A total bandwidth, and its best split. */
typedef struct rlt_budget {
    uint64_t total_Bps;  /* bytes a second; 0: only limits bound the split */
    char conflict[1024]; /* why no split meets the limits; "": some split does */
    rlt_judged judged[RLT_SPLITS];
    rlt_split best;
    double closed_s;           /* time by the closed form, if `closed` */
    uint32_t combinations;     /* number, of listed speeds; 0: none are listed */
    bool closed, equal_breaks; /* equal_breaks: the equal split violates the limits */
} rlt_budget;

typedef struct rlt_bandwidth_job {
    const rlt_parsed *args;
    rlt_design_settings settings; /* with the current total */
    rlt_design_setup u;
    rlt_design_net net;
    double given[RLT_MAX_DIMS]; /* bandwidths stated by the topology, bytes a second */
    rlt_budget *budgets;        /* owned */
    uint32_t n;
    const char *plot; /* file, or NULL */
} rlt_bandwidth_job;

/* Returns the goal in words, such as "least time". */
const char *rlt__bandwidth_goal(const rlt_bandwidth_job *j);
/* Prints how good the best of the listed speeds is. NULL: no budget has a split. */
void rlt__bandwidth_listed(const rlt_bandwidth_job *j, const rlt_budget *b, FILE *f);
/* Prints a line for each switch without a price. */
void rlt__bandwidth_free_switches(const rlt_bandwidth_job *j, FILE *f);
/* Writes the members of one budget into an open object. */
void rlt__bandwidth_json(const rlt_bandwidth_job *j, const rlt_budget *b, rlt_jw *w);
extern const rlt_columns rlt_budget_columns; /* columns of a row a budget */
/* Writes a row a budget, and the plot. Returns RLT_ECHECK, after all is written, if a budget cannot meet the
 * limits. */
int rlt__bandwidth_budgets(const rlt_bandwidth_job *j, rlt_error *err) RLT_MUST_USE;

#endif
