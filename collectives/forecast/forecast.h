/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Forecasts: how long the algorithms of a collective take, by closed forms, to choose among them.
 *
 * Members are a grid of axes, innermost first. All links of an axis are alike. Symbols: k is the size of an
 * axis, s the product of the sizes below it, n the number of members, M the collective's bytes, B the
 * bandwidth of a link one way.
 *
 *   PORT   a port for each member into switches. `block` members are near each other (a leaf)
 *   FULL   a link between every two
 *   RING   a link to each of two neighbours
 *   LINE   a ring without the link from the last member to the first
 *
 * What is counted: the latencies along the longest chain of messages, and the bytes on the busiest link. For
 * pieces that follow each other, hops + pieces - 1 times one piece. Forms hold for networks that share links
 * between messages; queues inside the network are not counted.
 */
#ifndef RLT_COLLECTIVES_FORECAST_FORECAST_H
#define RLT_COLLECTIVES_FORECAST_FORECAST_H

#include <stdbool.h>
#include <stdint.h>

enum { RLT_MAX_AXES = 48 };

typedef enum rlt_axis_form { RLT_AXIS_PORT, RLT_AXIS_FULL, RLT_AXIS_RING, RLT_AXIS_LINE } rlt_axis_form;

typedef struct rlt_axis {
    rlt_axis_form form;
    bool joined; /* of the same dimension as the axis before it: a torus has several */
    uint32_t size;
    uint32_t block; /* PORT only */
    double link_Bps;
    double near_s, far_s; /* latency to a neighbour; PORT: to a member of another block */
} rlt_axis;

typedef struct rlt_forecast {
    uint32_t n, n_axes;
    uint32_t node;    /* members of a node that have NICs of their own; 0 or n: nodes do not matter */
    double message_s; /* delay of each message at its ends */
    double bytes;
    double tree_pieces; /* pieces of the algorithm tree */
    rlt_axis axes[RLT_MAX_AXES];
} rlt_forecast;

typedef enum rlt_task {
    RLT_TASK_NONE,    /* no forms */
    RLT_TASK_BARRIER, /* bytes do not count */
    RLT_TASK_COPY,    /* broadcast, reduce */
    RLT_TASK_ROOT,    /* gather, scatter: the root has a share for each member */
} rlt_task;

/* Algorithms, as in the table of collectives/algorithm.h. */
typedef enum rlt_way {
    RLT_WAY_RING,
    RLT_WAY_HIERARCHICAL,
    RLT_WAY_DIRECT,
    RLT_WAY_RECURSIVE,
    RLT_WAY_TREE,
    RLT_WAY_RINGS,
    RLT_WAYS
} rlt_way;

/* Returns seconds; infinity if the algorithm does not serve the task there, or no form is known. `inwards`:
 * the root receives (reduce, gather). */
double rlt_forecast_s(const rlt_forecast *f, rlt_task task, rlt_way way, bool inwards);

#endif
