/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Shapes of a dimension (ring, switch, fat-tree, ...) as seen from outside: their list, the limits of every
 * topology, and the operations of switches. shape.h is the inside.
 */
#ifndef RLT_NET_SHAPES_SHAPES_H
#define RLT_NET_SHAPES_SHAPES_H

#include <stdint.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/registry.h"

#ifdef __cplusplus
extern "C" {
#endif

enum {
    RLT_MAX_ACCELERATORS = 1 << 24,
    RLT_MAX_LINKS = 1 << 28,
};

/* Operations of a switch on data in transit: sum its inputs; send one message out on several links. */
enum { RLT_CAN_REDUCE = 1, RLT_CAN_MULTICAST = 2 };

/* Row of any parameter table for these operations; the field is a uint8_t. */
#define RLT_IN_NETWORK(...)                                                                                  \
    {                                                                                                        \
        "in_network", .kind = RLT_PARAM_CHOICE, .words = "none|reduce|multicast|reduce+multicast",           \
                      .help = "operations of switches on data in transit", __VA_ARGS__                       \
    }
/* A parameter for that field alone. */
RLT_API extern const rlt_param rlt_in_network_parameter;

typedef struct rlt_shape_info {
    const char *name, *summary;
    const rlt_param *parameters; /* parameters of an rlt_factor (net/shapes/factor.h); NULL: none */
} rlt_shape_info;
/* Returns shape i, for `ringlet list`; NULL past the end. */
RLT_API const rlt_shape_info *rlt_shape_list(uint32_t i);

#ifdef __cplusplus
}
#endif
#endif
