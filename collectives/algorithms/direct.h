/* SPDX-License-Identifier: GPL-3.0-or-later */
/* What an algorithm built on the direct exchange sets of its plan. Internal to collectives/. */
#ifndef RLT_COLLECTIVES_ALGORITHMS_DIRECT_H
#define RLT_COLLECTIVES_ALGORITHMS_DIRECT_H

/* plan->words: partners by exclusive or, in a power of two of members. */
enum { RLT_DIRECT_XOR };

#endif
