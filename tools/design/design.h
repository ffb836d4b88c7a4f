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
#include "sim/text/json.h"
#include "tools/base/command.h"
#include "tools/output/output.h"
#include "workload/design/design.h"
#include "workload/setup/inputs.h"
#include "workload/training/training.h"

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
/* Adds low <= B_d <= high, or B_d = low if both are equal. */
int rlt_limits_range(rlt_limits *l, uint32_t d, double low, double high, rlt_error *err) RLT_MUST_USE;

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

/* The members from any_bw on are set only for listed speeds (nic.c). */
typedef struct rlt_split {
    double bw[RLT_MAX_DIMS], objective;
    double violation;
    double any_bw[RLT_MAX_DIMS]; /* the best split of any speeds */
    double over_any;             /* objective over that of any_bw, less one */
    uint32_t leaves;             /* combinations of speeds that were solved; bounds exclude the others */
    bool proven;                 /* no other combination is better */
} rlt_split;

bool rlt_split_available(void);
/* Solves by NLopt's SLSQP (Kraft 1988), in logarithms of bandwidths and of the times of shapes. RLT_EUSAGE
 * without NLopt. */
int rlt_split_solve(const rlt_split_problem *p, rlt_split *out, rlt_error *err) RLT_MUST_USE;
double rlt_split_objective(const rlt_split_problem *p, const double bw[RLT_MAX_DIMS]);

/* ---- speeds for sale (nic.c) ---- */

enum { RLT_MAX_NICS = RLT_MAX_DIMS, RLT_MAX_NIC_RATES = 64 };

/* Speeds that a dimension may have: dimension `dim`, or, if 0, all dimensions of a level. */
typedef struct rlt_nic {
    uint32_t dim, n;
    rlt_level level;
    double rate[RLT_MAX_NIC_RATES]; /* bytes a second, ascending */
} rlt_nic;

typedef struct rlt_nics {
    uint32_t n;
    rlt_nic items[RLT_MAX_NICS];
} rlt_nics;
/* Reads lists: "100Gbps,400Gbps" for the pod, "node=450GB/s,900GB/s", "b2=50GB/s". */
int rlt_nics_read(rlt_nics *out, const rlt_texts *texts, rlt_error *err) RLT_MUST_USE;

/* ---- settings and what they load (setup.c) ---- */

typedef struct rlt_design_settings {
    const char *levels, *in_network, *shared;
    rlt_texts workload, nic;
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
    bool no_simulation, all_switches, any_memory;
    uint64_t chunks;
    rlt_time endpoint_ps;
    const char *format, *output;
    bool quiet;
} rlt_design_settings;
extern const rlt_option rlt_design_work_options[], rlt_design_goal_options[], rlt_design_cost_options[],
    rlt_design_sim_options[], rlt_design_report_options[]; /* offsets in rlt_design_settings */

enum { RLT_MAX_WORKS = 16 };

/* Assumptions about a workload (assume.c). Only models have more than the sizes of their groups. */
typedef struct rlt_design_assumed {
    bool model, recompute;
    char accelerator[64], precision[16];
    uint64_t batch;
    uint32_t microbatch, zero;
    double memory_bytes, room_bytes;
    const char *unsaid[8]; /* names of what the user left to the presets */
    uint32_t n_unsaid;
} rlt_design_assumed;

/* The part of the problem that does not depend on the network's shape. */
typedef struct rlt_design_setup {
    const rlt_design_settings *s;
    const rlt_parsed *args; /* set by the command; NULL: assumptions are not reported */
    rlt_design_loop loop;
    rlt_design_prices prices;
    rlt_design_cost cost;
    rlt_design_how how;
    rlt_design_goal goal;
    bool shapes_vary; /* networks of different numbers of dimensions are compared */
    uint32_t n_works;
    double weight[RLT_MAX_WORKS]; /* their sum is 1 */
    rlt_design_work works[RLT_MAX_WORKS];
    rlt_design_assumed assumed[RLT_MAX_WORKS];
    rlt_nics nics;
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
/* Notes what holds for a model, whose settings are `list`; `accelerator`: the user named one. */
void rlt_design_assume(rlt_design_assumed *out, const rlt_training *t, const char *list, bool accelerator);
/* Returns RLT_ERANGE if the model needs more memory than its accelerator has, unless --any-memory. */
int rlt_design_fits(const rlt_design_setup *u, const rlt_training *t, const char *name,
                    rlt_error *err) RLT_MUST_USE;
/* Prints a line a workload with what holds for it, what of that was assumed, and the prices. */
void rlt_design_assumptions(const rlt_design_setup *u, FILE *out);
void rlt_design_assumptions_json(const rlt_design_setup *u, rlt_jw *w);
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
    const rlt_nic *nic[RLT_MAX_DIMS]; /* speeds of each dimension; NULL: any */
    uint32_t listed, combinations;    /* dimensions with such a list; products of their lengths */
} rlt_design_candidate;

/* Opens a shape. Free it in every case. RLT_ERANGE if groups do not divide the dimensions. */
int rlt_design_candidate_open(rlt_design_candidate *c, const rlt_design_setup *u, const rlt_design_net *net,
                              rlt_error *err) RLT_MUST_USE;
void rlt_design_candidate_free(rlt_design_candidate *c);
int rlt_design_candidate_solve(const rlt_design_candidate *c, rlt_design_goal goal, double deadline_s,
                               rlt_split *out, rlt_error *err) RLT_MUST_USE;

/* Gives each dimension its list of speeds. RLT_EUSAGE if a list is for no dimension. */
int rlt_nics_apply(rlt_design_candidate *c, rlt_error *err) RLT_MUST_USE;
/* Finds the best split with listed speeds, and the best one of any speeds beside it. RLT_ECHECK if none meets
 * the limits. */
int rlt_nics_solve(const rlt_design_candidate *c, const rlt_split_problem *p, rlt_split *out,
                   rlt_error *err) RLT_MUST_USE;

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
