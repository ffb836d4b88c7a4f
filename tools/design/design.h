/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * `ringlet design`: interface shared by the files of tools/design/. Bandwidths are bytes a second in doubles,
 * as in workload/design/design.h.
 */
#ifndef RLT_TOOLS_DESIGN_DESIGN_H
#define RLT_TOOLS_DESIGN_DESIGN_H

#include <stdio.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "tools/base/command.h"
#include "tools/output/output.h"
#include "workload/design/design.h"
#include "workload/setup/inputs.h"

/* ---- limits on the split (limits.c, simplex.c) ---- */

enum { RLT_MAX_LIMITS = 64, RLT_LIMIT_TEXT = 96 };

/* The limit sum_i a_i B_i <= b, or == b, with B_i the bandwidth of dimension i. For a limit on cost, a and b
 * are in dollars, without the fixed part. */
typedef struct rlt_limit {
    double a[RLT_MAX_DIMS], b;
    bool equal;
    char text[RLT_LIMIT_TEXT]; /* name in messages */
} rlt_limit;

typedef struct rlt_limits {
    uint32_t n_dims, n;
    bool shapes_vary; /* a level without a dimension is allowed: other shapes have one */
    rlt_level level[RLT_MAX_DIMS];
    rlt_limit items[RLT_MAX_LIMITS];
} rlt_limits;

/* Lower bound of every bandwidth: they are positive. */
#define RLT_LEAST_BPS 1e3

/*
 * Adds a limit from text: "b1 >= 2*b2 + 50GB/s", "total = 500GB/s", "cost <= 1e6". Both sides of <=, >= or =
 * are sums. Terms are b1, b2, ..., levels (pod, node, ...: the sum of their dimensions), total, and rates; or
 * cost and dollars. dollars[i] is the price of a byte a second in dimension i, for all accelerators together;
 * `fixed` is the cost without bandwidth. RLT_EUSAGE.
 */
int rlt_limits_add(rlt_limits *l, const char *text, const double dollars[RLT_MAX_DIMS], double fixed,
                   rlt_error *err) RLT_MUST_USE;
int rlt_limits_total(rlt_limits *l, double total, rlt_error *err) RLT_MUST_USE;

typedef enum rlt_lp { RLT_LP_DONE, RLT_LP_INFEASIBLE, RLT_LP_UNBOUNDED } rlt_lp;
/* Maximises sum_i c_i B_i under the limits, by the simplex method with Bland's rule. Bits of `skip`: bit i
 * drops limit i; bit 63 - d drops the lower bound of dimension d. */
rlt_lp rlt_limits_most(const rlt_limits *l, const double c[RLT_MAX_DIMS], uint64_t skip,
                       double bw[RLT_MAX_DIMS]);
/* Returns RLT_ECHECK if the limits conflict or leave a dimension unbounded. It names a smallest conflict:
 * without any one of the limits named, the others can be met. */
int rlt_limits_check(const rlt_limits *l, rlt_error *err) RLT_MUST_USE;
/* Returns by how much a split violates the worst limit, relative to the limit's size. */
double rlt_limits_violation(const rlt_limits *l, const double bw[RLT_MAX_DIMS]);

/* ---- the best split (solve.c) ---- */

typedef enum rlt_design_goal { RLT_LEAST_TIME, RLT_LEAST_TIME_COST, RLT_LEAST_COST } rlt_design_goal;

typedef struct rlt_split_problem {
    const rlt_design_model *model;
    const rlt_limits *limits;
    rlt_design_goal goal;
    double deadline_s;     /* for least cost: longest time allowed */
    const double *dollars; /* cost = fixed + sum_i dollars[i] * B_i */
    double fixed;
    uint32_t starts; /* most start points; all are used only for time times cost, which is not convex */
} rlt_split_problem;

typedef struct rlt_split {
    double bw[RLT_MAX_DIMS], objective;
    double violation;
} rlt_split;

bool rlt_split_available(void);
/* Solves by NLopt's SLSQP (Kraft 1988), in logarithms of bandwidths and of the times of shapes. RLT_EUSAGE
 * without NLopt. */
int rlt_split_solve(const rlt_split_problem *p, rlt_split *out, rlt_error *err) RLT_MUST_USE;
double rlt_split_objective(const rlt_split_problem *p, const double bw[RLT_MAX_DIMS]);

/* ---- settings and what they load (setup.c) ---- */

typedef struct rlt_design_settings {
    const char *levels, *in_network, *shared;
    rlt_texts workload;
    uint64_t tp;
    const char *accelerator, *loop;
    double compute_scale, forward_compute;
    const char *objective, *cost, *unit;
    rlt_texts constraint;
    rlt_time deadline_ps;
    const char *totals;    /* as given */
    uint64_t total, radix; /* total: bytes a second, set by the command from `totals`; 0: none */
    bool rail;
    double npu_cost, tie_break;
    bool no_simulation, all_switches;
    uint64_t chunks;
    rlt_time endpoint_ps;
    const char *format, *output;
} rlt_design_settings;
extern const rlt_option rlt_design_work_options[], rlt_design_goal_options[], rlt_design_cost_options[],
    rlt_design_sim_options[], rlt_design_report_options[]; /* offsets in rlt_design_settings */

enum { RLT_MAX_WORKS = 16 };

/* The part of the problem that does not depend on the network's shape. */
typedef struct rlt_design_setup {
    const rlt_design_settings *s;
    rlt_design_loop loop;
    rlt_design_prices prices;
    rlt_design_cost cost;
    rlt_design_how how;
    rlt_design_goal goal;
    bool shapes_vary; /* networks of different numbers of dimensions are compared */
    uint32_t n_works;
    double weight[RLT_MAX_WORKS]; /* their sum is 1 */
    rlt_design_work works[RLT_MAX_WORKS];
    rlt_inputs inputs;
} rlt_design_setup;

int rlt_design_setup_open(rlt_design_setup *u, const rlt_design_settings *s, rlt_error *err) RLT_MUST_USE;
/* Applies the settings of the levels ("chiplet,package,node,pod") and of the dimensions with in-network
 * aggregation ("1,4") to a network. */
int rlt_design_setup_net(const rlt_design_setup *u, rlt_design_net *net, rlt_error *err) RLT_MUST_USE;
/* Returns the parameters of --workload behind its @, besides those of a training. */
const rlt_param *rlt_design_workload_parameters(void);
/* Builds the workloads for `ranks` accelerators. */
int rlt_design_setup_works(rlt_design_setup *u, uint64_t ranks, rlt_error *err) RLT_MUST_USE;
void rlt_design_setup_free(rlt_design_setup *u);
/* Prints "prices: libra (source)" and how switches are built. */
void rlt_design_prices_line(const rlt_design_setup *u, FILE *out);
/* Reads dimensions and bandwidths of a product of rings, switches and fully connected dimensions. */
int rlt_design_read_net(const char *spec, rlt_design_net *net, double bw[RLT_MAX_DIMS], rlt_inputs *inputs,
                        rlt_error *err) RLT_MUST_USE;

/* One shape, its workloads, and their times (candidate.c). */
typedef struct rlt_design_candidate {
    const rlt_design_setup *u;
    rlt_design_net net;
    rlt_design_model all, each[RLT_MAX_WORKS];         /* the weighted sum, and each workload */
    double rates[RLT_MAX_DIMS], dollars[RLT_MAX_DIMS]; /* a byte a second: per accelerator, for all */
    double fixed;
    rlt_limits limits;
} rlt_design_candidate;

/* Opens a shape. Free it in every case. RLT_ERANGE if groups do not divide the dimensions. */
int rlt_design_candidate_open(rlt_design_candidate *c, const rlt_design_setup *u, const rlt_design_net *net,
                              rlt_error *err) RLT_MUST_USE;
void rlt_design_candidate_free(rlt_design_candidate *c);
int rlt_design_candidate_solve(const rlt_design_candidate *c, rlt_design_goal goal, double deadline_s,
                               rlt_split *out, rlt_error *err) RLT_MUST_USE;

/* A split with its predicted and simulated figures. */
typedef struct rlt_judged {
    const char *name;
    double bw[RLT_MAX_DIMS], time_s, cost;
    double each_s[RLT_MAX_WORKS];
    bool simulated;
    double simulated_s; /* weighted over the workloads */
    rlt_design_run run[RLT_MAX_WORKS];
    double utilization[RLT_MAX_DIMS]; /* per dimension, over the weighted times */
} rlt_judged;
int rlt_design_candidate_judge(const rlt_design_candidate *c, const char *name, const double bw[RLT_MAX_DIMS],
                               rlt_judged *out, rlt_error *err) RLT_MUST_USE;

/* Formats x / unit with `decimals` decimals, joined by slashes: "87.586/12.414". */
char *rlt_design_join(char *text, size_t size, const double *x, uint32_t n, double unit, int decimals);
/* Formats the shape, such as "ring:4*switch:8". */
char *rlt_design_shape_text(const rlt_design_net *net, char *text, size_t size);

extern const rlt_command rlt_design_bandwidth, rlt_design_dimensions;

#endif
