/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What a search found, and how it is written. Internal to tools/deploy. */
#ifndef RLT_TOOLS_DEPLOY_REPORT_H
#define RLT_TOOLS_DEPLOY_REPORT_H

#include <stdbool.h>
#include <stdint.h>

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

enum { RLT_GROUP_COLUMNS = 8, RLT_EVALUATION_COLUMNS = 11, RLT_CORRELATION_COLUMNS = 5 };

/* Times of one strategy. */
typedef struct rlt_deploy_plan {
    const char *name; /* "data parallel", ... */
    rlt_verdict tag, network;
    bool judged_network; /* false: without a topology */
} rlt_deploy_plan;

/* All that the report of a search shows. */
typedef struct rlt_deploy_found {
    rlt_deployment *deployment;
    const rlt_search_result *search;
    rlt_deploy_plan data_parallel, uniform, found;
    const rlt_deploy_plan *returned; /* the fastest of these over the network */
    const uint16_t *point;           /* its decisions */
    double cut;
    uint8_t *broadcast;  /* by operator: duplicated, with its inputs gathered; NULL: none */
    uint32_t duplicated; /* number of those */
    rlt_time plain_ps;   /* time of the point that is returned, without them */
    rlt_time *alone_ps;  /* by group: the iteration if only this group is as under data parallelism */
} rlt_deploy_found;

/* Loads what the options name. */
typedef struct rlt_deploy_case {
    rlt_opgraph *graph;
    rlt_cluster cluster;
    rlt_grouping grouping;
    double cut;
} rlt_deploy_case;
int rlt_deploy_load(const char *graph, const char *topology, const rlt_deploy_settings *s,
                    rlt_deploy_case *out, rlt_error *err) RLT_MUST_USE;
void rlt_deploy_unload(rlt_deploy_case *c);

int rlt_deploy_report(const rlt_deploy_found *f, const rlt_parsed *args, const rlt_deploy_settings *s,
                      const rlt_inputs *in, int rc, rlt_error *err) RLT_MUST_USE;

#endif
