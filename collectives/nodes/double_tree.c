/* SPDX-License-Identifier: GPL-3.0-or-later */
/* NCCL's double binary tree. */
#include "collectives/nodes/double_tree.h"

#include "sim/base/time.h"

static rlt_tree_place first_tree(uint32_t n, uint32_t place)
{
    rlt_tree_place t = {.parent = RLT_NONE};
    uint32_t bit = place & (0u - place), half = bit / 2;
    if (place == 0) {
        for (half = 1; half < n; half *= 2)
            ;
        half /= 2;
    } else {
        uint32_t up = (place ^ bit) | bit << 1;
        t.parent = up < n ? up : place ^ bit;
        if (half)
            t.children[t.n_children++] = place - half;
    }
    while (half && place + half >= n)
        half /= 2;
    if (half)
        t.children[t.n_children++] = place + half;
    return t;
}

/* Place p of the second tree is place m(p) of the first. */
static uint32_t to_first(uint32_t n, uint32_t place)
{
    return n % 2 ? (place + n - 1) % n : n - 1 - place;
}

static uint32_t from_first(uint32_t n, uint32_t place)
{
    return n % 2 ? (place + 1) % n : n - 1 - place;
}

rlt_tree_place rlt_double_tree(uint32_t n, uint32_t place, uint32_t tree)
{
    if (tree == 0)
        return first_tree(n, place);
    rlt_tree_place t = first_tree(n, to_first(n, place));
    if (t.parent != RLT_NONE)
        t.parent = from_first(n, t.parent);
    for (uint32_t i = 0; i < t.n_children; i++)
        t.children[i] = from_first(n, t.children[i]);
    return t;
}

uint32_t rlt_double_tree_load(uint32_t n)
{
    uint32_t most = 0;
    for (uint32_t place = 0; place < n; place++) {
        uint32_t sends = 0;
        for (uint32_t tree = 0; tree < 2; tree++) {
            rlt_tree_place t = rlt_double_tree(n, place, tree);
            sends += (t.parent != RLT_NONE) + t.n_children;
        }
        most = sends > most ? sends : most;
    }
    return most;
}
