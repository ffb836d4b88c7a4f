/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options that an algorithm built on the direct exchange sets in its plan. Internal to collectives/. */
#ifndef RLT_COLLECTIVES_ALGORITHMS_DIRECT_H
#define RLT_COLLECTIVES_ALGORITHMS_DIRECT_H

/* plan->words: partners by exclusive or; n must be a power of two. */
enum { RLT_DIRECT_XOR };

#endif
