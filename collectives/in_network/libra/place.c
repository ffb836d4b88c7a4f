/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Hot parameters on register arrays. */
#include "collectives/in_network/libra/place.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/random.h"

enum { PURPOSE_PLACE = 0x4c70 };

uint32_t rlt_passes_even(uint32_t values, uint32_t arrays)
{
    return values / arrays + (values % arrays > 0);
}

/* Chance that no bin gets more than `most` balls if `values` balls are thrown into `arrays` bins.
 *
 * Let X_1, ..., X_A be independent Poisson variables of mean values / A. Given that they sum up to `values`,
 * they are distributed like the bins. So the chance is P(X_1 + ... + X_A = values, all X_i <= most) / P(X_1 +
 * ... + X_A = values). The sum of A Poisson variables is Poisson of mean `values`. way[j] is the numerator's
 * convolution after the bins so far: their sum is j, and none exceeds `most`. O(arrays * values * most). */
static double none_above(uint32_t values, uint32_t arrays, uint32_t most, double *way, double *next,
                         double *weight)
{
    double mean = (double)values / arrays, factorial = 0;
    weight[0] = exp(-mean);
    for (uint32_t i = 1; i <= values; i++) {
        factorial += log(i);
        weight[i] = exp(i * log(mean) - mean - factorial);
    }
    memset(way, 0, ((size_t)values + 1) * sizeof *way);
    way[0] = 1;
    for (uint32_t a = 0; a < arrays; a++) {
        for (uint32_t j = 0; j <= values; j++) {
            double sum = 0;
            for (uint32_t i = 0; i <= most && i <= j; i++)
                sum += weight[i] * way[j - i];
            next[j] = sum;
        }
        double *t = way;
        way = next;
        next = t;
    }
    return way[values] / exp(values * log(values) - values - factorial);
}

double rlt_passes_random(uint32_t values, uint32_t arrays)
{
    if (values == 0 || arrays == 0 || values > RLT_MAX_PACKET_VALUES || arrays > RLT_MAX_ARRAYS)
        return 0;
    if (arrays == 1)
        return values;
    double *room = malloc(3 * ((size_t)values + 1) * sizeof *room);
    if (!room)
        return NAN;
    uint32_t least = rlt_passes_even(values, arrays);
    double mean = least;
    /* E[max] = sum over t >= 0 of P(max > t). */
    for (uint32_t most = least; most < values; most++) {
        double above =
            1 - none_above(values, arrays, most, room, room + values + 1, room + 2 * ((size_t)values + 1));
        if (above < 1e-12)
            break;
        mean += above;
    }
    free(room);
    return mean;
}

static void count_passes(rlt_hot_layout *l, uint32_t *load)
{
    double sum = 0;
    for (uint64_t p = 0; p < l->packets; p++) {
        uint64_t first = p * l->values, end = first + l->values < l->n ? first + l->values : l->n;
        uint32_t most = 0;
        memset(load, 0, l->arrays * sizeof *load);
        for (uint64_t i = first; i < end; i++)
            if (++load[l->array[i]] > most)
                most = load[l->array[i]];
        sum += most;
        if (most > l->passes_most)
            l->passes_most = most;
    }
    l->passes_mean = l->packets ? sum / (double)l->packets : 0;
}

int rlt_hot_place(uint64_t n, uint32_t values, uint32_t arrays, rlt_hot_order order, uint64_t seed,
                  rlt_hot_layout *out, rlt_error *err)
{
    memset(out, 0, sizeof *out);
    if (values == 0 || values > RLT_MAX_PACKET_VALUES || arrays == 0 || arrays > RLT_MAX_ARRAYS)
        return rlt_fail(err, RLT_ERANGE, "placement", "expected 1 to %d values and 1 to %d arrays",
                        RLT_MAX_PACKET_VALUES, RLT_MAX_ARRAYS);
    if (n > RLT_MAX_HOT)
        return rlt_fail(err, RLT_ERANGE, "placement",
                        "%" PRIu64 " hot parameters are too many; the limit is %d", n, RLT_MAX_HOT);
    uint32_t *load = calloc(arrays, sizeof *load);
    out->array = malloc(((size_t)n + 1) * sizeof *out->array);
    if (!load || !out->array) {
        free(load);
        rlt_hot_layout_free(out);
        return rlt_nomem(err);
    }
    out->n = n;
    out->values = values;
    out->arrays = arrays;
    out->packets = n / values + (n % values > 0);
    for (uint64_t i = 0; i < n; i++) {
        /* Rounds continue from packet to packet, so that arrays fill evenly if k is not a multiple of A. */
        uint64_t a =
            order == RLT_PLACE_HEAT ? i % arrays : rlt_random_below(seed, 0, PURPOSE_PLACE, i, arrays);
        out->array[i] = (uint16_t)a;
        load[a]++;
    }
    for (uint32_t a = 0; a < arrays; a++)
        if (load[a] > out->entries)
            out->entries = load[a];
    count_passes(out, load);
    free(load);
    return 0;
}

void rlt_hot_layout_free(rlt_hot_layout *l)
{
    free(l->array);
    memset(l, 0, sizeof *l);
}

double rlt_hot_packets_touched(const rlt_skew *k, const rlt_hot_set *h, uint32_t values, uint64_t updates,
                               double *fill)
{
    double packets = 0, parameters = 0;
    for (uint64_t first = 0; first < h->n && values; first += values) {
        double p = 0;
        for (uint64_t i = first; i < first + values && i < h->n; i++) {
            double share = rlt_skew_share(k, h->ranks[i]);
            p += share;
            parameters += share < 1 ? -expm1((double)updates * log1p(-share)) : 1;
        }
        packets += p < 1 ? -expm1((double)updates * log1p(-p)) : 1;
    }
    if (fill)
        *fill = packets > 0 ? parameters / (packets * values) : 0;
    return packets;
}

rlt_recirculation rlt_recirculate(double passes, double packet_ps, double limit_per_s)
{
    double more = passes > 1 ? passes - 1 : 0;
    return (rlt_recirculation){limit_per_s / (1 + more), more * packet_ps};
}
