/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Libra's plan: the hot parameters, their share of the packets, and their place in the switch. */
#include <math.h>

#include "collectives/in_network/libra/internal.h"
#include "collectives/in_network/libra/libra.h"
#include "collectives/in_network/libra/place.h"
#include "collectives/in_network/libra/workload.h"
#include "collectives/in_network/reactor.h"
#include "sim/base/error.h"

/* Finds the popularity of the parameters: recorded, or Zipf's by the settings. The caller frees `own`. */
static int find_skew(const rlt_fabric_job *j, rlt_skew *own, const rlt_skew **out, rlt_error *err)
{
    *own = (rlt_skew){0};
    *out = j->req.updates ? j->req.updates : own;
    if (j->req.updates)
        return 0;
    return rlt_skew_zipf(rlt_fabric_job_setting(j, RLT__LIBRA_ZIPF).d,
                         rlt_fabric_job_setting(j, RLT__LIBRA_PARAMETERS).u, own, err);
}

static int find_hot(const rlt_fabric_job *j, rlt__libra *s, rlt_error *err)
{
    rlt_libra_report *r = &s->report;
    rlt_skew own;
    const rlt_skew *skew;
    rlt_hot_set hot;
    rlt_hot_request q = {.workers = j->workers,
                         .updates = r->updates,
                         .steps = (uint32_t)rlt_fabric_job_setting(j, RLT__LIBRA_SAMPLE_STEPS).u,
                         .sampled = rlt_fabric_job_setting(j, RLT__LIBRA_SAMPLED).d,
                         .memory_bytes = rlt_fabric_job_setting(j, RLT__LIBRA_MEMORY).u,
                         .arrays = (uint32_t)rlt_fabric_job_setting(j, RLT__LIBRA_ARRAYS).u,
                         .entry_bytes = (uint32_t)rlt_fabric_job_setting(j, RLT__LIBRA_ENTRY).u,
                         .seed = s->seed};
    int rc = find_skew(j, &own, &skew, err);
    if (rc)
        return rc;
    rc = rlt_hot_find(skew, &q, &hot, err);
    if (!rc) {
        r->parameters = skew->n;
        r->share = hot.share;
        r->hot = hot.n;
        r->counted = hot.counted;
        r->touched = hot.touched;
        rlt_hot_free(&hot);
    }
    rlt_skew_free(&own);
    return rc;
}

static int place(const rlt_fabric_job *j, rlt__libra *s, uint64_t values, rlt_error *err)
{
    rlt_libra_report *r = &s->report;
    uint32_t arrays = (uint32_t)rlt_fabric_job_setting(j, RLT__LIBRA_ARRAYS).u;
    rlt_hot_layout layout;
    if (values == 0 || values > RLT_MAX_PACKET_VALUES)
        return rlt_fail(err, RLT_ERANGE, "libra", "a packet has %llu values; expected 1 to %d",
                        (unsigned long long)values, RLT_MAX_PACKET_VALUES);
    /* A given share means full packets; their number does not matter. */
    uint64_t n = r->hot ? r->hot : values * 100;
    int rc =
        rlt_hot_place(n, (uint32_t)values, arrays,
                      (rlt_hot_order)rlt_fabric_job_setting(j, RLT__LIBRA_ORDER).u, s->seed, &layout, err);
    if (rc)
        return rc;
    r->passes = layout.passes_mean;
    r->passes_random = rlt_passes_random((uint32_t)values, arrays);
    rlt_hot_layout_free(&layout);
    return 0;
}

int rlt__libra_plan(rlt_fabric_job *j, rlt__libra *s, rlt_error *err)
{
    rlt_libra_report *r = &s->report;
    uint64_t payload = rlt_fabric_job_setting(j, RLT__LIBRA_PAYLOAD).u, bytes = j->req.bytes;
    double entry = (double)rlt_fabric_job_setting(j, RLT__LIBRA_ENTRY).u;
    double cold = (double)rlt_fabric_job_setting(j, RLT__LIBRA_COLD_ENTRY).u;
    r->updates = bytes / rlt_fabric_job_setting(j, RLT__LIBRA_ENTRY).u;
    r->share = rlt_fabric_job_setting(j, RLT__LIBRA_SHARE).d;
    int rc = 0;
    if ((j->req.updates || rlt_fabric_job_setting(j, RLT__LIBRA_PARAMETERS).u) && r->updates)
        rc = find_hot(j, s, err);
    if (!rc)
        rc = place(j, s, payload / rlt_fabric_job_setting(j, RLT__LIBRA_ENTRY).u, err);
    if (rc)
        return rc;
    /* A cold update carries the key of its parameter; a hot update is known by its place in the packet. */
    double each = r->share * entry + (1 - r->share) * cold;
    uint64_t chunks = (bytes + payload - 1) / payload;
    s->hot = r->share;
    if (entry < cold || entry > cold) {
        s->hot = r->share * entry / each;
        chunks = (uint64_t)ceil((double)r->updates * each / (double)payload);
    }
    if (chunks > UINT32_MAX / 2 / r->steps)
        return rlt_fail(err, RLT_ERANGE, "libra", "too many chunks: %llu in each of %u steps",
                        (unsigned long long)chunks, r->steps);
    s->per_step = (uint32_t)chunks;
    r->packet_share = s->hot;
    r->hot_packets = (uint64_t)floor((double)chunks * s->hot);
    r->cold_packets = chunks - r->hot_packets;
    r->law = rlt_libra_gain(j->workers, s->hot);
    return 0;
}

/* Number of hot chunks before an index. Computed from the index alone, so that the result does not depend on
 * the order of calls. */
static uint32_t hot_before(const rlt__libra *s, uint32_t index)
{
    return (uint32_t)floor(index * s->hot);
}

bool rlt__libra_is_hot(const rlt__libra *s, uint32_t chunk)
{
    uint32_t i = chunk % s->per_step;
    return hot_before(s, i + 1) > hot_before(s, i);
}

uint32_t rlt__libra_slot(const rlt_fabric_job *j, uint32_t chunk)
{
    const rlt__libra *s = j->state;
    uint32_t slots = j->result.slots;
    return slots ? hot_before(s, chunk % s->per_step) % slots : 0;
}

/* Server of a chunk: round robin, separately over hot and cold packets. */
uint32_t rlt__libra_server(const rlt_fabric_job *j, uint32_t chunk)
{
    const rlt__libra *s = j->state;
    uint32_t i = chunk % s->per_step, hot = hot_before(s, i);
    return (rlt__libra_is_hot(s, chunk) ? hot : i - hot) % j->n_servers;
}
