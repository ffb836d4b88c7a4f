/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * A binary heap in an array that the caller owns. No item goes before the first one. The order of equal items
 * depends on the history of the heap, so `before` should tell all items apart.
 *
 *     static bool sooner(const queue *q, const event *a, const event *b) { ... }
 *     RLT_HEAP(events, event, queue, sooner)
 *
 * defines events_push(q, array, &n, item), which needs room for one more item in the array, and events_pop(q,
 * array, &n), which needs n > 0. `q` is passed on to `before`. Both are O(log n), with `before` inlined.
 * net/flow has heaps of its own, whose items know their place and can be moved.
 */
#ifndef RLT_SIM_BASE_HEAP_H
#define RLT_SIM_BASE_HEAP_H

#include <stdint.h>

#define RLT_HEAP(name, item, context, before)                                                                \
    static inline void name##_push(const context *ctx, item *heap, uint32_t *n, item one)                    \
    {                                                                                                        \
        uint32_t i = (*n)++;                                                                                 \
        for (; i && before(ctx, &one, &heap[(i - 1) / 2]); i = (i - 1) / 2)                                  \
            heap[i] = heap[(i - 1) / 2];                                                                     \
        heap[i] = one;                                                                                       \
    }                                                                                                        \
    static inline item name##_pop(const context *ctx, item *heap, uint32_t *n)                               \
    {                                                                                                        \
        item top = heap[0], last = heap[--*n];                                                               \
        uint32_t i = 0, child;                                                                               \
        for (; (child = 2 * i + 1) < *n; i = child) {                                                        \
            if (child + 1 < *n && before(ctx, &heap[child + 1], &heap[child]))                               \
                child++;                                                                                     \
            if (!before(ctx, &heap[child], &last))                                                           \
                break;                                                                                       \
            heap[i] = heap[child];                                                                           \
        }                                                                                                    \
        heap[i] = last;                                                                                      \
        return top;                                                                                          \
    }

#endif
