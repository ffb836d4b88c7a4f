/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Measured clusters: nodes and the network between them. A file says which topology sentence, settings and
 * class of network stand for each measured system, and which constants of the network a fit may change
 * (MEASUREMENTS.md). A cluster is a machine of the trial whose constants are settings of the endpoint.
 *
 * A fit minimises the mean of |log(simulated / measured)| plus RLT_PULL times the mean of
 * ((value - prior) / step)^2, so that what the rows do not determine stays at its prior.
 */
#ifndef RLT_TOOLS_CALIBRATE_CLUSTERS_H
#define RLT_TOOLS_CALIBRATE_CLUSTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "net/endpoint/endpoint.h"
#include "sim/base/column.h"
#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/text/json.h"
#include "tools/calibrate/calibrate.h"
#include "tools/calibrate/job.h"
#include "workload/setup/settings.h"

#define RLT_PULL 0.02

/* Texts belong to the document. */
typedef struct rlt_cluster {
    const char *name, *system, *topology, *network; /* topology NULL: not simulated */
    const char *site, *apart;                       /* NULL: its name; counted */
    rlt_texts where;                                /* the rows that are its own */
    rlt_settings how;
    const rlt_algorithm *algorithms[RLT_COLL_KINDS];
    rlt_endpoint shipped; /* its settings, before constants change */
    uint32_t machine;     /* index in the trial; RLT_NONE */
    uint32_t rows, dropped;
} rlt_cluster;

typedef struct rlt_cluster_constant {
    const char *name;
    bool by_network, microseconds;
    bool offset; /* the value is added to the shipped one of each cluster */
    double prior, step, least, most;
    rlt_json priors; /* those by class of network */
} rlt_cluster_constant;

enum {
    RLT_BELOW,
    RLT_FROM_MIB,
    RLT_FROM_GIB,
    RLT_CLASSES
}; /* classes of sizes; the last is part of the second */

typedef struct rlt_clusters {
    rlt_json_doc *doc;
    rlt_cluster *list;
    uint32_t n;
    rlt_cluster_constant *constants;
    uint32_t n_constants;
} rlt_clusters;

/* Reads the file, and opens the machines of all clusters with a topology (`apart`: also of those apart). */
int rlt_clusters_open(rlt_clusters *c, rlt_calib_job *j, bool apart, rlt_error *err) RLT_MUST_USE;
/* Gives each measurement to the clusters whose system and filters it matches. Of the rows of a series, those
 * that took more than 1.35 times as long as the next larger size are dropped. */
int rlt_clusters_place(rlt_clusters *c, rlt_calib_job *j, rlt_error *err) RLT_MUST_USE;
void rlt_clusters_free(rlt_clusters *c);
/* Returns the cluster of a machine. */
rlt_cluster *rlt_cluster_of(const rlt_clusters *c, uint32_t machine);

/* Fits the constants to the rows that are not held out: of all machines to the priors (`own` NULL), or of one
 * cluster from its shipped values on. The machines keep them; *text, if not NULL, gets their names and
 * values. */
int rlt_clusters_fit(const rlt_clusters *c, rlt_calib_job *j, const rlt_cluster *own, char *text, size_t size,
                     rlt_error *err) RLT_MUST_USE;

/* Columns of the table of errors. */
extern const rlt_columns rlt_cluster_table;
/* --check, --leave-one-out or --halves over the clusters of --clusters. */
int rlt_calib_clusters(rlt_calib_job *j, rlt_error *err) RLT_MUST_USE;

#endif
