/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Random models and clusters, to train the policy on. */
#ifndef RLT_TOOLS_DEPLOY_RANDOM_H
#define RLT_TOOLS_DEPLOY_RANDOM_H

#include <stdint.h>

#include "sim/base/error.h"
#include "workload/deploy/cluster.h"
#include "workload/deploy/opgraph.h"

/*
 * Makes the k-th random model of a seed: 6 to 60 layers, one after the other, some with an edge around them.
 * Forward times sum to 20 to 300 ms, outputs to 0.2 to 20 GB, weights to 4 MB to 1.5 GB. Weights are spread
 * evenly, grow along the model as in convolutional networks, or lie mostly in the last layers, or the first.
 */
int rlt_random_model(uint64_t seed, uint32_t k, rlt_opgraph **out, rlt_error *err) RLT_MUST_USE;

/*
 * Makes the k-th random cluster of a seed, without a topology. As in TAG's training: 2 to 4 device groups, a
 * next one with probability 1/2 while there are fewer than 16 devices; v100, 1080ti or p100 with 14, 9 and 10
 * GiB; 2, 3, 4, 6 or 8 devices; 3, 8 or 20 GB/s inside; racks, with 5 GB/s inside and 2.81 GB/s between.
 * `eight`: 8 devices in groups of 1 to 4, all with the same bandwidths, as in TAG's test of generalisation.
 */
int rlt_random_cluster(uint64_t seed, uint32_t k, bool eight, rlt_cluster *out, rlt_error *err) RLT_MUST_USE;

#endif
