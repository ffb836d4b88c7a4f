/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Philox 4x32-10. Constants: Salmon, Moraes, Dror, Shaw (SC'11), table 2 and section 4. */
#include "sim/base/random.h"

#include <math.h>

void rlt_philox4x32(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xd2511f53u * c0, p1 = (uint64_t)0xcd9e8d57u * c2;
        c0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0;
        c1 = (uint32_t)p1;
        c2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;
        c3 = (uint32_t)p0;
        k0 += 0x9e3779b9u;
        k1 += 0xbb67ae85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/* The seed is the key; entity and purpose fill the upper half of the counter, so streams never overlap. */
static void block(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k, uint64_t out[2])
{
    const uint32_t counter[4] = {(uint32_t)k, (uint32_t)(k >> 32), entity, purpose};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t words[4];
    rlt_philox4x32(counter, key, words);
    out[0] = words[0] | (uint64_t)words[1] << 32;
    out[1] = words[2] | (uint64_t)words[3] << 32;
}

uint64_t rlt_random_u64(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k)
{
    uint64_t both[2];
    block(seed, entity, purpose, k, both);
    return both[0];
}

double rlt_random_unit(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k)
{
    return (double)(rlt_random_u64(seed, entity, purpose, k) >> 11) * 0x1p-53;
}

uint64_t rlt_random_below(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)rlt_random_u64(seed, entity, purpose, k) * n) >> 64);
}

static const double ln_2 = 0x1.62e42fefa39efp-1, pi = 0x1.921fb54442d18p+1;

/* log x = e log 2 + log m with x = m 2^e, m around 1. log m = 2 (s + s^3 / 3 + s^5 / 5 ...), s = (m - 1) / (m
 * + 1), |s| < 0.172. */
double rlt_fixed_log(double x)
{
    int e;
    double m = frexp(x, &e);
    if (m < 0x1.6a09e667f3bcdp-1) {
        m *= 2;
        e--;
    }
    double s = (m - 1) / (m + 1), sum = 0;
    for (int k = 23; k >= 1; k -= 2)
        sum = sum * (s * s) + 1.0 / k;
    return e * ln_2 + 2 * s * sum;
}

/* exp x = 2^n exp r with x = n log 2 + r, |r| < 0.35; exp r by its series. */
double rlt_fixed_exp(double x)
{
    int n = (int)(x / ln_2 + (x < 0 ? -0.5 : 0.5));
    double r = x - n * ln_2, sum = 1;
    for (int k = 17; k >= 1; k--)
        sum = 1 + sum * r / k;
    return ldexp(sum, n);
}

/* Returns cos(2 pi u) for u in [0, 1), by the series of sine or cosine of an angle of at most pi / 4. */
static double cos_turn(double u)
{
    int eighth = (int)(u * 8), quarter = (eighth + 1) / 2 % 4;
    double x = 2 * pi * (u - (eighth + 1) / 2 * 0.25), sine = 1, cosine = 1;
    for (int k = 20; k >= 2; k -= 2) {
        cosine = 1 - x * x / (k * (k - 1)) * cosine;
        sine = 1 - x * x / (k * (k + 1)) * sine;
    }
    sine *= x;
    return quarter == 0 ? cosine : quarter == 1 ? -sine : quarter == 2 ? -cosine : sine;
}

/* Maps bits to (0, 1], so that the logarithm is finite. */
static double above_zero(uint64_t bits)
{
    return (double)((bits >> 11) + 1) * 0x1p-53;
}

double rlt_random_normal(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k)
{
    uint64_t both[2];
    block(seed, entity, purpose, k, both);
    return sqrt(-2 * rlt_fixed_log(above_zero(both[0]))) * cos_turn((double)(both[1] >> 11) * 0x1p-53);
}

double rlt_random_lognormal(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k, double cv)
{
    double variance = rlt_fixed_log(1 + cv * cv);
    return rlt_fixed_exp(sqrt(variance) * rlt_random_normal(seed, entity, purpose, k) - variance / 2);
}

double rlt_random_exponential(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k)
{
    return -rlt_fixed_log(above_zero(rlt_random_u64(seed, entity, purpose, k)));
}
