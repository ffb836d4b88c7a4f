/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Weights as a file. First line:
 *
 *     ringlet-policy 1 width=64 layers=4 heads=4 checksum=0123456789abcdef how they came about
 *
 * Then one little-endian IEEE 754 number of 32 bits for each weight, in the order of rlt_policy_weights.
 */
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/text/file.h"
#include "tools/base/file.h"
#include "tools/deploy/policy/policy.h"
#include "tools/deploy/policy/weights.h"

enum { MAX_FILE = 256 << 20, MAX_NOTE = 1000 };

static void put_number(unsigned char *out, double x)
{
    float f = (float)x;
    uint32_t bits;
    memcpy(&bits, &f, sizeof bits);
    for (int i = 0; i < 4; i++)
        out[i] = (unsigned char)(bits >> 8 * i);
}

static double get_number(const unsigned char *in)
{
    uint32_t bits = 0;
    float f;
    for (int i = 0; i < 4; i++)
        bits |= (uint32_t)in[i] << 8 * i;
    memcpy(&f, &bits, sizeof f);
    return f;
}

int rlt_policy_save(const rlt_policy *p, const char *path, const char *note, rlt_error *err)
{
    size_t bytes = 4 * p->at.n;
    unsigned char *numbers = malloc(bytes);
    rlt_file f;
    if (!numbers)
        return rlt_nomem(err);
    for (size_t i = 0; i < p->at.n; i++)
        put_number(numbers + 4 * i, p->weights[i]);
    int rc = rlt_file_open(&f, path, err);
    if (!rc) {
        (void)fprintf(f.stream, "ringlet-policy 1 width=%u layers=%u heads=%u checksum=%016" PRIx64 " %.*s\n",
                      p->shape.width, p->shape.layers, p->shape.heads, rlt_hash_bytes(numbers, bytes, 0),
                      MAX_NOTE, note);
        (void)fwrite(numbers, 1, bytes, f.stream);
        rc = rlt_file_close(&f, err);
    }
    free(numbers);
    return rc;
}

/* Reads the first line. *at: where the numbers begin. */
static int read_line(const char *path, const char *text, rlt_policy **out, uint64_t *checksum, size_t *at,
                     rlt_error *err)
{
    rlt_policy_shape shape;
    int end = 0;
    const char *line_end = strchr(text, '\n');
    if (!line_end ||
        sscanf(text,
               "ringlet-policy 1 width=%" SCNu32 " layers=%" SCNu32 " heads=%" SCNu32 " checksum=%" SCNx64
               "%n",
               &shape.width, &shape.layers, &shape.heads, checksum, &end) != 4 ||
        text + end > line_end)
        return rlt_fail(err, RLT_EMALFORMED, path,
                        "these are no weights: the first line should begin with 'ringlet-policy 1'; `ringlet "
                        "deploy train` makes such files");
    int rc = rlt__policy_make(&shape, out, err);
    if (rc) {
        rlt_error_prefix(err, path);
        return rc;
    }
    *at = (size_t)(line_end - text) + 1;
    (*out)->note = strndup(text[end] == ' ' ? text + end + 1 : text + end,
                           (size_t)(line_end - text) - (size_t)end - (text[end] == ' '));
    return (*out)->note ? 0 : rlt_nomem(err);
}

static int read_numbers(const char *path, rlt_policy *p, const unsigned char *numbers, uint64_t checksum,
                        rlt_error *err)
{
    if (rlt_hash_bytes(numbers, 4 * p->at.n, 0) != checksum)
        return rlt_fail(err, RLT_EMALFORMED, path, "the weights are damaged: their checksum does not fit");
    for (size_t i = 0; i < p->at.n; i++) {
        p->weights[i] = get_number(numbers + 4 * i);
        if (!isfinite(p->weights[i]))
            return rlt_fail(err, RLT_EMALFORMED, path, "weight %zu is not a finite number", i);
    }
    return 0;
}

int rlt_policy_load(const char *path, rlt_policy **out, rlt_error *err)
{
    char *text = NULL;
    size_t length, at = 0;
    uint64_t checksum = 0;
    *out = NULL;
    int rc = rlt_read_file(path, MAX_FILE, &text, &length, err);
    if (rc)
        return rc;
    rc = read_line(path, text, out, &checksum, &at, err);
    if (!rc && length - at != 4 * (*out)->at.n)
        rc = rlt_fail(err, RLT_EMALFORMED, path, "%zu bytes of weights, but this shape has %zu", length - at,
                      4 * (*out)->at.n);
    if (!rc)
        rc = read_numbers(path, *out, (const unsigned char *)text + at, checksum, err);
    free(text);
    if (rc) {
        rlt_policy_free(*out);
        *out = NULL;
    }
    return rc;
}
