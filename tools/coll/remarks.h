/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What the user should know beside the rows of a table: settings without effect, choices, approximations.
 * Most notes are printed once. */
#ifndef RLT_TOOLS_COLL_REMARKS_H
#define RLT_TOOLS_COLL_REMARKS_H

#include <stdbool.h>
#include <stdint.h>

#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "net/links.h"
#include "workload/experiment/coll/coll.h"
#include "workload/experiment/coll/one.h"

/* What there is to say about a row. A text is empty if it has no meaning. */
typedef struct rlt_coll_remarks {
    rlt_coll_kind kind;
    const rlt_algorithm *algorithm; /* NULL: a reactive protocol */
    rlt_busiest over;               /* a link over capacity under alpha-beta */
    uint64_t rounded;               /* bytes added so that blocks are equal */
    char fell_back[400];            /* what ran instead, and why; with tenants their lines tell */
    char why[768];                  /* the choices of a tuned endpoint, for --why */
    char unfolded[200];             /* why every rank is simulated, for --verify-fold */
    char alone[200];                /* why it was simulated on one thread */
    char out[512];                  /* its candidates that are out of the question */
} rlt_coll_remarks;

/* What was said already. Zero-initialise. */
typedef struct rlt_coll_remarked {
    uint32_t over, unused, rounded; /* one bit an algorithm */
    uint64_t back;                  /* one bit a place among the algorithms asked for */
    bool costs, alone;
    char out[sizeof((rlt_coll_remarks *)0)->out];
} rlt_coll_remarked;

/* Collects the remarks about a row that was simulated and is still held, on any thread. `why`: explains what
 * was chosen. */
void rlt_coll_remarks_of(const rlt_coll_one *one, bool why, rlt_coll_remarks *out);
/* Prints them. `place` is that of the row's algorithm in the list. */
void rlt_coll_remark(rlt_coll_remarked *said, const rlt_coll_ask *ask, uint32_t place,
                     const rlt_coll_remarks *r);
/* Says why all rows are simulated on packets, or which rows would be, and warns of many packets. */
void rlt_coll_remark_network(const rlt_coll_ask *ask);

#endif
