/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Results of a search, and how they are written. Internal to tools/deploy. */
#ifndef RLT_TOOLS_DEPLOY_REPORT_H
#define RLT_TOOLS_DEPLOY_REPORT_H

#include <stdbool.h>
#include <stdint.h>

#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/time.h"
#include "tools/deploy/deploy.h"
#include "tools/search/search.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/judge.h"
#include "workload/deploy/opgraph.h"
#include "workload/deploy/strategy.h"
#include "workload/setup/inputs.h"

enum {
    RLT_GROUP_COLUMNS = 8,
    RLT_EVALUATION_COLUMNS = 11,
    RLT_CORRELATION_COLUMNS = 5,
    RLT_ROUND_COLUMNS = 8,
    RLT_BENEFIT_COLUMNS = 10
};

/* Strategies that are compared, in the order in which they are made. */
enum {
    RLT_PLAN_DATA_PARALLEL,
    RLT_PLAN_UNIFORM, /* the best that treats all groups alike */
    RLT_PLAN_FOUND,   /* by the search, with the reference's timing */
    RLT_PLAN_REFINED, /* by a search over the network, from the best of those above */
    RLT_PLAN_FACTORS, /* the best of those above, with sufficient factors */
    RLT_PLANS
};
typedef struct rlt_deploy_plan {
    bool there;
    rlt_verdict tag, network;
    bool judged_network;   /* false: without a topology */
    const uint16_t *point; /* its decisions; borrowed */
} rlt_deploy_plan;

/* All that the report of a search shows. */
typedef struct rlt_deploy_found {
    rlt_deployment *deployment;
    const rlt_search_result *search, *refined; /* refined NULL: there was no second search */
    rlt_deploy_plan plans[RLT_PLANS];
    int best; /* the plan that is returned: the fastest over the network */
    double cut;
    const char *notes;   /* assumptions of the graph's reader, one a line; or NULL */
    uint8_t *broadcast;  /* RLT_PLAN_FACTORS: by operator, 1 = duplicated, with its inputs gathered */
    uint32_t duplicated; /* number of those */
    rlt_time *alone_ps;  /* by group: the iteration if only this group is as under data parallelism */
} rlt_deploy_found;

const char *rlt_deploy_plan_name(int plan);
/* A row of the table of groups. The cells borrow from the row and from the graph. */
typedef struct rlt_deploy_row {
    rlt_value cells[RLT_GROUP_COLUMNS];
    char devices[512];
} rlt_deploy_row;
void rlt_deploy_group_row(const rlt_deploy_found *f, uint32_t group, rlt_deploy_row *row);
/* Draws a search beside data parallelism, as SVG in *svg, which is malloc'ed. `network`: the second one. */
int rlt_deploy_curve(const rlt_deploy_found *f, bool network, char **svg, rlt_error *err) RLT_MUST_USE;
/* Writes the page of --report. `stopped`: by Ctrl-C. */
int rlt_deploy_page(const rlt_deploy_found *f, const rlt_parsed *args, const rlt_deploy_settings *s,
                    const rlt_inputs *in, bool stopped, rlt_error *err) RLT_MUST_USE;

/* Items of a list, copied. */
enum { RLT_DEPLOY_WORD = 512 };
typedef struct rlt_deploy_items {
    char (*text)[RLT_DEPLOY_WORD];
    uint32_t n;
} rlt_deploy_items;
/* Splits a list; NULL: no items. The caller frees `text`, also after an error. */
int rlt_deploy_split(const char *list, char separator, const char *option, rlt_deploy_items *out,
                     rlt_error *err) RLT_MUST_USE;

/* Loads what the options name. */
typedef struct rlt_deploy_case {
    rlt_opgraph *graph;
    rlt_cluster cluster;
    rlt_grouping grouping;
    double cut;
    char *notes; /* assumptions of the graph's reader, one a line; or NULL */
} rlt_deploy_case;
int rlt_deploy_load(const char *graph, const char *topology, const rlt_deploy_settings *s,
                    rlt_deploy_case *out, rlt_error *err) RLT_MUST_USE;
/* Only the graph. */
int rlt_deploy_load_graph(const char *graph, const rlt_deploy_settings *s, rlt_deploy_case *out,
                          rlt_error *err) RLT_MUST_USE;
void rlt_deploy_unload(rlt_deploy_case *c);

int rlt_deploy_report(const rlt_deploy_found *f, const rlt_parsed *args, const rlt_deploy_settings *s,
                      const rlt_inputs *in, int rc, rlt_error *err) RLT_MUST_USE;

#endif
