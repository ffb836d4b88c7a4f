/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "collectives/forecast/forecast.h"

#include <math.h>

/* Pieces of chains, as the algorithms cut them; chunks and most pieces of hierarchical. */
#define PIECE_BYTES (512.0 * 1024)
enum { CHUNKS = 4, MAX_PIECES = 256, MAX_RINGS = 256 };

/* Axes from .. to - 1. */
typedef struct part {
    uint32_t from, to;
} part;

static bool relays(const rlt_axis *a)
{
    return a->form == RLT_AXIS_RING || a->form == RLT_AXIS_LINE;
}

static part whole(const rlt_forecast *f)
{
    return (part){0, f->n_axes};
}

/* Returns the dimension that begins with axis `from`. */
static part dimension_at(const rlt_forecast *f, uint32_t from)
{
    part p = {from, from + 1};
    while (p.to < f->n_axes && f->axes[p.to].joined)
        p.to++;
    return p;
}

static double members(const rlt_forecast *f, part p)
{
    double n = 1;
    for (uint32_t i = p.from; i < p.to; i++)
        n *= f->axes[i].size;
    return n;
}

/* Latency to the member that is so many places on. */
static double hop(const rlt_axis *a, double distance)
{
    if (a->form == RLT_AXIS_RING)
        distance = distance < a->size - distance ? distance : a->size - distance;
    if (relays(a))
        return distance * a->near_s;
    return a->form == RLT_AXIS_PORT && distance >= a->block ? a->far_s : a->near_s;
}

/* Latency to the farthest member. */
static double reach(const rlt_forecast *f)
{
    double s = f->message_s;
    for (uint32_t i = 0; i < f->n_axes; i++) {
        const rlt_axis *a = &f->axes[i];
        s += hop(a, a->form == RLT_AXIS_RING ? a->size / 2 : a->size - 1);
    }
    return s;
}

/* Latency of the m - 1 hops along the natural order of m members. Axis i moves on in one hop of s, and
 * returns to its first place in one of s k. */
static double lap(const rlt_forecast *f, part p)
{
    double m = members(f, p), moves = m, s = m * f->message_s;
    for (uint32_t i = p.from; i < p.to; i++) {
        const rlt_axis *a = &f->axes[i];
        double returns = moves / a->size;
        s += (moves - returns) * a->near_s + returns * hop(a, a->size - 1);
        if (a->form == RLT_AXIS_PORT && a->block < a->size)
            s += (moves / a->block - returns) * (a->far_s - a->near_s);
        moves = returns;
    }
    return s * (m - 1) / m;
}

/* How many links of the innermost axis the rings over nodes use where one ring uses one: with eight members,
 * each linked to each, the rings are RCCL's paths, of which no link is in more than two. */
static double spread(const rlt_forecast *f)
{
    const rlt_axis *a = &f->axes[0];
    return a->form == RLT_AXIS_FULL && a->size == 8 && f->node == 8 && f->n > 8 ? 4 : 1;
}

/* Bandwidth of a ring of all members, one way. Over nodes there is one for each member of a node, so that all
 * NICs are used. */
static double ring_Bps(const rlt_forecast *f)
{
    bool nodes = f->node > 1 && f->node < f->n;
    double least = INFINITY, below = 1;
    for (uint32_t i = 0; i < f->n_axes; i++) {
        double rings = !nodes ? 1 : below >= f->node ? f->node : i == 0 ? spread(f) : 1;
        least = fmin(least, f->axes[i].link_Bps * rings);
        below *= f->axes[i].size;
    }
    return least;
}

/* One ring of all members. */
static double ring(const rlt_forecast *f)
{
    return lap(f, whole(f)) + f->bytes * (f->n - 1) / f->n / ring_Bps(f);
}

/* A chain through all members, in pieces; over nodes one for each member of a node. A piece passes the links
 * of axis i in those hops in which no axis above it moves. */
static double chain(const rlt_forecast *f)
{
    double channels = f->node > 1 && f->node < f->n ? f->node : 1, below = 1, transit = 0, slowest = 0;
    double pieces = fmax(1, ceil(f->bytes / channels / PIECE_BYTES)), piece = f->bytes / channels / pieces;
    for (uint32_t i = 0; i < f->n_axes; i++) {
        const rlt_axis *a = &f->axes[i];
        transit += (f->n / below - f->n / below / a->size) * piece / a->link_Bps;
        slowest =
            fmax(slowest, piece / a->link_Bps * (below >= channels ? 1 : channels / (i ? 1 : spread(f))));
        below *= a->size;
    }
    return lap(f, whole(f)) + transit + (pieces - 1) * slowest;
}

/* A chain in each dimension. */
static double chains(const rlt_forecast *f)
{
    double chunks = dimension_at(f, 0).to < f->n_axes ? CHUNKS : 1;
    double pieces = fmin(fmax(chunks, floor(f->bytes / PIECE_BYTES)), MAX_PIECES), sum = 0, slowest = 0;
    for (part p = dimension_at(f, 0); p.from < f->n_axes; p = dimension_at(f, p.to)) {
        double piece = f->bytes / pieces / f->axes[p.from].link_Bps, hops = members(f, p) - 1;
        bool full = f->axes[p.from].form == RLT_AXIS_FULL;
        sum += full ? f->axes[p.from].near_s + f->message_s + piece : lap(f, p) + hops * piece;
        slowest = fmax(slowest, piece);
    }
    return sum + (pieces - 1) * slowest;
}

/* Each of the two trees carries half of the data to two children. A port sends both halves one after the
 * other. On a link to each peer, a piece takes half of that. On axes that relay, branches of both trees and
 * of several levels share a link: between a half and all for one piece, three halves for many. `rounds`: 2
 * if the data also goes up. */
static double tree(const rlt_forecast *f)
{
    static const double first[] = {1, 0.5, 0.75, 0.75}, next[] = {1, 0.5, 1.5, 1.5};
    double latency = 0, transit = 0, slowest = 0, below = 1, distance = 1, piece = f->bytes / f->tree_pieces;
    for (uint32_t i = 0; i < f->n_axes; i++) {
        const rlt_axis *a = &f->axes[i];
        slowest = fmax(slowest, next[a->form] * piece / a->link_Bps);
        for (; distance < below * a->size; distance *= 2) {
            double d = floor(distance / below);
            if (a->form == RLT_AXIS_LINE && i + 1 < f->n_axes && a->size - d > d)
                d = a->size - d; /* a child may be on the line before, at its end */
            latency += hop(a, d) + f->message_s;
            transit = fmax(transit, first[a->form] * piece / a->link_Bps);
        }
        if (i + 1 < f->n_axes) /* or at the place before on the next axis */
            latency += hop(a + 1, 1);
        below *= a->size;
    }
    return latency + ceil(log2(f->n)) * transit + (f->tree_pieces - 1) * slowest;
}

/* The root and every other member exchange `bytes`. Messages move along the axes innermost first: one to the
 * root comes in along the outermost axis in which the members differ, one from it leaves along the
 * innermost. */
static double at_root(const rlt_forecast *f, double bytes, bool inwards)
{
    double below = 1, slowest = 0;
    for (uint32_t i = 0; i < f->n_axes; i++) {
        const rlt_axis *a = &f->axes[i];
        double k = a->size, share = a->form == RLT_AXIS_FULL   ? 1
                                    : a->form == RLT_AXIS_RING ? floor(k / 2)
                                                               : k - 1;
        slowest = fmax(slowest, (inwards ? below : f->n / below / k) * share / a->link_Bps);
        below *= k;
    }
    return reach(f) + bytes * slowest;
}

/* Chains along disjoint rings, both ways, which use every link of a torus, and of a full dimension. */
static double ring_chains(const rlt_forecast *f)
{
    const rlt_axis *a = &f->axes[0];
    double lanes = a->form == RLT_AXIS_FULL ? 2 * floor((f->n - 1) / 2.0) : 0;
    for (uint32_t i = 0; i < f->n_axes; i++)
        lanes += f->axes[i].form == RLT_AXIS_RING && f->axes[i].size > 2 ? 2 : 0;
    if (f->n > MAX_RINGS || dimension_at(f, 0).to < f->n_axes || lanes == 0)
        return INFINITY;
    double lane = f->bytes / lanes, pieces = fmax(1, ceil(lane / PIECE_BYTES));
    return (f->n - 1) * (a->near_s + f->message_s) + (f->n - 1 + pieces - 1) * lane / pieces / a->link_Bps;
}

/* A message without bytes in each step. */
static double barrier(const rlt_forecast *f, rlt_way way)
{
    double sum = 0, below = 1, distance = 1;
    switch (way) {
    case RLT_WAY_RING:
        return 2 * lap(f, whole(f));
    case RLT_WAY_HIERARCHICAL:
        for (part p = dimension_at(f, 0); p.from < f->n_axes; p = dimension_at(f, p.to))
            sum += f->axes[p.from].form == RLT_AXIS_FULL ? f->axes[p.from].near_s + f->message_s : lap(f, p);
        return 2 * sum;
    case RLT_WAY_DIRECT:
        return reach(f);
    case RLT_WAY_RECURSIVE: /* with a step before and after if they are too many for a power of two */
        for (uint32_t i = 0; i < f->n_axes; below *= f->axes[i++].size)
            for (; distance * 2 <= below * f->axes[i].size; distance *= 2)
                sum += hop(&f->axes[i], floor(distance / below)) + f->message_s;
        return f->n & (f->n - 1) ? sum + 2 * reach(f) : sum;
    default:
        return INFINITY;
    }
}

static double copy(const rlt_forecast *f, rlt_way way, bool inwards)
{
    switch (way) {
    case RLT_WAY_RING:
        return chain(f);
    case RLT_WAY_HIERARCHICAL:
        return chains(f);
    case RLT_WAY_DIRECT:
        return at_root(f, f->bytes, inwards);
    case RLT_WAY_TREE:
        return tree(f);
    case RLT_WAY_RINGS:
        return ring_chains(f);
    default:
        return INFINITY;
    }
}

double rlt_forecast_s(const rlt_forecast *f, rlt_task task, rlt_way way, bool inwards)
{
    if (task == RLT_TASK_COPY)
        return copy(f, way, inwards);
    if (task == RLT_TASK_BARRIER)
        return barrier(f, way);
    return way == RLT_WAY_DIRECT ? at_root(f, f->bytes / f->n, inwards)
           : way == RLT_WAY_RING ? ring(f)
                                 : INFINITY;
}
