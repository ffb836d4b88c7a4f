/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The time of a relay, without simulating it. In a relay, such as a ring, the members form a cycle, and each
 * of them passes on to the next one, in every step, what the one before sent it in the step before.
 *
 * If no two members use one link, no message waits for another, and each takes the time that it takes alone.
 * Let the message from member i to member i + 1 keep its sender for s_i, and arrive after w_i. Step k of
 * member i begins at
 *
 *   v(i, 0) = 0      v(i, k + 1) = max(v(i, k) + s_i, v(i - 1, k) + w_(i - 1))
 *
 * If the shortest w is at least the longest s, data always arrives after the own message has left: the
 * second term is the larger one, and K steps take
 *
 *   v(i, K) = w_(i - 1) + w_(i - 2) + ... + w_(i - K)
 *
 * If what members pass on differs in size, w and s depend on the sender of step 0. The formula then holds if
 * the least w exceeds the greatest s by K times what the sizes change. If the slowest message keeps its
 * sender until it arrives, and all have one size, its sender determines every step: K times that w. Otherwise
 * v is computed step by step, up to 2^27 of them.
 *
 *   Example: 4 members on a switch with links of 50 GB/s and 500 ns, reduce-scatter of 200 kB: s = 1 us and
 *   w = 2 us in each of 3 steps: 6 us.
 */
#ifndef RLT_COLLECTIVES_RELAY_H
#define RLT_COLLECTIVES_RELAY_H

#include "collectives/algorithm.h"
#include "net/network.h"
#include "sim/base/error.h"
#include "sim/base/time.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Computes the time of a plan that has the network to itself, from the arrival of its members to its end.
 * s and w are those of messages that are sent over an idle network, as `cfg` describes it (without client
 * and fold), at the present time of its simulation. RLT_EUNSUPPORTED without a reason if the plan is no
 * relay, if members share a link, or if it has too many steps; other errors leave messages in the
 * simulation. O(members) where a formula holds. Internal.
 */
int rlt__relay_time(const rlt_plan *plan, const rlt_net_model *model, const rlt_net_config *cfg,
                    rlt_time *time_ps, rlt_error *err) RLT_MUST_USE;

#ifdef __cplusplus
}
#endif
#endif
