/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Philox 4x32-10. Constants: Salmon, Moraes, Dror, Shaw (SC'11), table 2 and section 4. */
#include "sim/random.h"

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
uint64_t rlt_random_u64(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k)
{
    const uint32_t counter[4] = {(uint32_t)k, (uint32_t)(k >> 32), entity, purpose};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};
    uint32_t out[4];
    rlt_philox4x32(counter, key, out);
    return out[0] | (uint64_t)out[1] << 32;
}

double rlt_random_unit(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k)
{
    return (double)(rlt_random_u64(seed, entity, purpose, k) >> 11) * 0x1p-53;
}

uint64_t rlt_random_below(uint64_t seed, uint32_t entity, uint32_t purpose, uint64_t k, uint64_t n)
{
    return (uint64_t)(((unsigned __int128)rlt_random_u64(seed, entity, purpose, k) * n) >> 64);
}
