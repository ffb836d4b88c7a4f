/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reads ASTRA-sim's system JSON. Its bandwidths are decimal gigabytes,
 * its rates 10^12 operations a second. */
#include "workload/timing/astra_system.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "sim/text/json.h"

/* Limit on chunks per collective. More mean a wrong file, and would only cost time. */
enum { MAX_SPLITS = 1 << 20 };

static const char *const kind_keys[RLT_ASTRA_KINDS] = {
    "all-reduce-implementation", "all-gather-implementation", "reduce-scatter-implementation",
    "all-to-all-implementation"};

static int read_algorithm(rlt_json v, rlt_astra_implementation *into, rlt_error *err)
{
    static const struct {
        const char *name;
        uint8_t algorithm;
    } known[] = {{"ring", RLT_ASTRA_RING},
                 {"direct", RLT_ASTRA_DIRECT},
                 {"halvingDoubling", RLT_ASTRA_HALVING_DOUBLING},
                 {"doubleBinaryTree", RLT_ASTRA_TREE},
                 {"oneRing", RLT_ASTRA_RING},
                 {"oneDirect", RLT_ASTRA_DIRECT},
                 {"oneHalvingDoubling", RLT_ASTRA_HALVING_DOUBLING}};
    const char *name = rlt_json_string(v);
    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++) {
        size_t n = strlen(known[i].name), digits = n;
        bool direct = known[i].algorithm == RLT_ASTRA_DIRECT;
        if (strncmp(name, known[i].name, n) != 0)
            continue;
        while (direct && isdigit((unsigned char)name[digits]))
            digits++;
        if (name[digits] != '\0')
            continue;
        into->windowed = into->windowed || digits > n;
        into->one = into->one || strncmp(name, "one", 3) == 0;
        into->algorithm[into->n++] = known[i].algorithm;
        return 0;
    }
    return rlt_json_fail(
        v, RLT_ESCHEMA, err,
        "expected ring, direct, direct<window>, halvingDoubling, doubleBinaryTree, oneRing, oneDirect "
        "or oneHalvingDoubling, got '%.40s'",
        name ? name : "no string");
}

static int read_implementation(rlt_json root, int kind, rlt_astra_implementation *into, rlt_error *err)
{
    char key[64];
    snprintf(key, sizeof key, "%s-custom", kind_keys[kind]);
    into->custom = rlt_json_is(rlt_json_get(root, key));
    rlt_json list = rlt_json_get(root, kind_keys[kind]);
    if (!rlt_json_is(list))
        return 0;
    if (!rlt_json_is_array(list) || rlt_json_count(list) == 0 || rlt_json_count(list) > RLT_MAX_DIMS)
        return rlt_json_fail(list, RLT_ESCHEMA, err, "expected a list of 1 to %d algorithms, one a dimension",
                             RLT_MAX_DIMS);
    for (rlt_json v = rlt_json_first(list); rlt_json_is(v); v = rlt_json_next(v)) {
        int rc = read_algorithm(v, into, err);
        if (rc < 0)
            return rc;
    }
    if (into->one && into->n > 1)
        return rlt_json_fail(list, RLT_ESCHEMA, err, "an algorithm over all dimensions must stand alone");
    return 0;
}

/* Reads a non-negative number times a decimal unit. */
static int read_rate(rlt_json root, const char *key, double unit, uint64_t *out, rlt_error *err)
{
    double value = 0;
    int rc = rlt_json_get_double(root, key, false, &value, err);
    if (rc < 0)
        return rc;
    if (!(value >= 0) || value * unit > 9e18)
        return rlt_json_fail(rlt_json_get(root, key), RLT_ERANGE, err, "expected a number from 0 to %g",
                             9e18 / unit);
    *out = (uint64_t)(value * unit + 0.5);
    return 0;
}

/* Reads 0, 1, false or true. */
static int read_switch(rlt_json root, const char *key, bool *out, rlt_error *err)
{
    rlt_json v = rlt_json_get(root, key);
    uint64_t number;
    if (!rlt_json_is(v))
        return 0;
    if (!rlt_json_is_number(v))
        return rlt_json_get_bool(root, key, false, out, err);
    int rc = rlt_json_u64(v, 1, &number, err);
    *out = rc == 0 && number == 1;
    return rc;
}

static int read_optimisation(rlt_json root, bool *baseline, rlt_error *err)
{
    const char *text = "baseline";
    int rc = rlt_json_get_string(root, "collective-optimization", false, &text, err);
    if (rc < 0)
        return rc;
    *baseline = strcmp(text, "baseline") == 0;
    if (!*baseline && strcmp(text, "localBWAware") != 0)
        return rlt_json_fail(rlt_json_get(root, "collective-optimization"), RLT_ESCHEMA, err,
                             "expected localBWAware or baseline, got '%.40s'", text);
    return 0;
}

static int read_policy(rlt_json root, rlt_error *err)
{
    const char *text = "LIFO";
    int rc = rlt_json_get_string(root, "scheduling-policy", false, &text, err);
    if (rc == 0 && strcmp(text, "LIFO") != 0 && strcmp(text, "FIFO") != 0 && strcmp(text, "EXPLICIT") != 0)
        rc = rlt_json_fail(rlt_json_get(root, "scheduling-policy"), RLT_ESCHEMA, err,
                           "expected LIFO, FIFO or EXPLICIT, got '%.40s'", text);
    return rc;
}

static int read_system(rlt_json root, rlt_astra_system *out, rlt_error *err)
{
    *out = (rlt_astra_system){.active_chunks = 1, .endpoint_ns = 10};
    if (!rlt_json_is_object(root))
        return rlt_json_fail(root, RLT_ESCHEMA, err, "expected an object with ASTRA-sim's system settings");
    int rc = rlt_json_get_u64(root, "preferred-dataset-splits", true, MAX_SPLITS, &out->splits, err);
    if (rc == 0 && out->splits == 0)
        rc = rlt_json_fail(rlt_json_get(root, "preferred-dataset-splits"), RLT_ERANGE, err,
                           "must be at least 1");
    if (rc == 0)
        rc = rlt_json_get_u64(root, "active-chunks-per-dimension", false, MAX_SPLITS, &out->active_chunks,
                              err);
    if (rc == 0 && out->active_chunks == 0)
        rc = rlt_json_fail(rlt_json_get(root, "active-chunks-per-dimension"), RLT_ERANGE, err,
                           "must be at least 1");
    if (rc == 0)
        rc = rlt_json_get_u64(root, "endpoint-delay", false, 1000000000u, &out->endpoint_ns, err);
    if (rc == 0)
        rc = read_rate(root, "local-mem-bw", 1e9, &out->memory_Bps, err);
    if (rc == 0)
        rc = read_rate(root, "peak-perf", 1e12, &out->peak_Flops, err);
    if (rc == 0)
        rc = read_switch(root, "roofline-enabled", &out->roofline, err);
    if (rc == 0)
        rc = read_optimisation(root, &out->baseline, err);
    if (rc == 0)
        rc = read_policy(root, err);
    for (int k = 0; k < RLT_ASTRA_KINDS && rc == 0; k++)
        rc = read_implementation(root, k, &out->implementation[k], err);
    if (rc == 0 && out->roofline && out->peak_Flops == 0)
        rc = rlt_json_fail(rlt_json_get(root, "roofline-enabled"), RLT_ESCHEMA, err,
                           "the roofline needs peak-perf, in 10^12 operations a second");
    return rc;
}

int rlt__astra_system_load(const char *path, rlt_astra_system *out, rlt_error *err)
{
    rlt_json_doc *doc = NULL;
    int rc = rlt_json_load(path, &doc, err);
    if (rc == 0)
        rc = read_system(rlt_json_root(doc), out, err);
    rlt_json_free(doc);
    return rc;
}
