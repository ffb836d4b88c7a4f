/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Gradients drawn from distributions, and read from files. */
#include "tools/coll/gradients.h"

#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/random.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "sim/text/file.h"

enum { USUAL_LENGTH = 65536, MOST_VALUES = 1 << 27, MAX_BYTES = 1 << 30, BETWEEN_LOOKS = 4096 };
enum { PURPOSE_SIZE = 0x4772, PURPOSE_SIGN = 0x4773 };
enum { NORMAL, LOG_UNIFORM, WORDS };
static const char *const words[WORDS] = {"normal", "log-uniform"};

/* Contents of a file. */
typedef struct numbers {
    float *items;
    uint32_t n, capacity;
} numbers;

const char *rlt_gradients_word(uint32_t i)
{
    return i < WORDS ? words[i] : NULL;
}

static int add_number(numbers *f, double x, const char *where, rlt_error *err)
{
    if (!isfinite(x))
        return rlt_fail(err, RLT_ERANGE, where, "expected a finite number, got %g", x);
    if (fabs(x) > (double)FLT_MAX)
        return rlt_fail(err, RLT_ERANGE, where, "%g does not fit into a 32-bit float", x);
    int rc =
        rlt_grow(&f->items, &f->capacity, sizeof *f->items, (uint64_t)f->n + 1, MOST_VALUES, "numbers", err);
    if (!rc)
        f->items[f->n++] = (float)x;
    return rc;
}

/* Copies the text of a line without blanks around it and without comment; "" if nothing is left. Text longer
 * than any number is cut and gets three points, so that it is refused as a number. */
static void trim(const char *line, size_t length, char *out, size_t size)
{
    const char *comment = memchr(line, '#', length);
    length = comment ? (size_t)(comment - line) : length;
    while (length && strchr(" \t\r", line[length - 1]))
        length--;
    while (length && strchr(" \t", *line))
        line++, length--;
    snprintf(out, size, length < size ? "%.*s" : "%.*s...", (int)(length < size ? length : size - 4), line);
}

static int read_text(numbers *f, const char *path, const char *text, size_t length, rlt_error *err)
{
    char word[80], where[300];
    uint64_t number = 1;
    int rc = 0;
    if (memchr(text, '\0', length))
        return rlt_fail(err, RLT_EMALFORMED, path, "expected one number a line; raw floats are named *.f32");
    for (const char *p = text, *end = text + length; p < end && !rc; number++) {
        const char *stop = memchr(p, '\n', (size_t)(end - p));
        double x;
        stop = stop ? stop : end;
        trim(p, (size_t)(stop - p), word, sizeof word);
        snprintf(where, sizeof where, "%.250s:%" PRIu64, path, number);
        if (word[0] && !(rc = rlt_parse_number(word, -HUGE_VAL, &x, where, err)))
            rc = add_number(f, x, where, err);
        p = stop + 1;
    }
    return rc;
}

static int read_raw(numbers *f, const char *path, const char *bytes, size_t length, rlt_error *err)
{
    char where[300];
    int rc = 0;
    if (length % sizeof(float))
        return rlt_fail(err, RLT_EMALFORMED, path, "%zu bytes are not a multiple of 4, the size of a float",
                        length);
    for (size_t i = 0; i < length && !rc; i += sizeof(float)) {
        uint32_t bits = 0;
        float x;
        for (uint32_t k = 0; k < sizeof bits; k++)
            bits |= (uint32_t)(unsigned char)bytes[i + k] << (8 * k);
        memcpy(&x, &bits, sizeof x);
        snprintf(where, sizeof where, "%.250s: value %zu", path, i / sizeof(float));
        rc = add_number(f, (double)x, where, err);
    }
    return rc;
}

static int read_file(const char *path, numbers *f, rlt_inputs *in, rlt_error *err)
{
    static const char ending[] = ".f32";
    size_t length, name = strlen(path);
    char *text = NULL;
    int rc = rlt_read_file(path, MAX_BYTES, &text, &length, err);
    if (rc == RLT_EIO) {
        rlt_nearest near = rlt_nearest_to(path);
        for (uint32_t i = 0; i < WORDS; i++)
            rlt_nearest_try(&near, words[i]);
        if (near.best && err)
            *err = (rlt_error){0};
        if (near.best)
            return rlt_fail(err, RLT_EUSAGE, "--gradients",
                            "'%s' is neither a word nor a file; did you mean '%s'?", path, near.best);
    }
    if (rc)
        return rc;
    rlt_inputs_add(in, "gradients", path, rlt_hash_bytes(text, length, 0));
    if (name > strlen(ending) && strcmp(path + name - strlen(ending), ending) == 0)
        rc = read_raw(f, path, text, length, err);
    else
        rc = read_text(f, path, text, length, err);
    if (!rc && f->n == 0)
        rc = rlt_fail(err, RLT_ESCHEMA, path, "has no numbers");
    free(text);
    return rc;
}

/* Draws from 10^0 down to 10^-8. */
static double draw(int word, uint64_t seed, uint32_t worker, uint64_t i)
{
    static const double decades = 8 * 2.302585092994046; /* ln 10 */
    if (word == NORMAL)
        return rlt_random_normal(seed, worker, PURPOSE_SIZE, i);
    double x = rlt_fixed_exp(-decades * rlt_random_unit(seed, worker, PURPOSE_SIZE, i));
    return rlt_random_below(seed, worker, PURPOSE_SIGN, i, 2) ? -x : x;
}

static int fill(const rlt_gradients_ask *ask, int word, const numbers *file, rlt_gradients *g, rlt_error *err)
{
    for (uint32_t w = 0; w < ask->workers; w++) {
        float *x = g->values + w * g->length;
        g->x[w] = x;
        for (uint64_t i = 0; i < g->length; i++) {
            if (i % BETWEEN_LOOKS == 0 && rlt_watch_stopped(ask->watch))
                return rlt_fail(err, RLT_ECANCELLED, NULL, "interrupted");
            x[i] = word < WORDS ? (float)(ask->size * draw(word, ask->seed, w, i))
                                : file->items[(w * g->length + i) % file->n];
        }
    }
    return 0;
}

int rlt_gradients_make(const rlt_gradients_ask *ask, rlt_gradients *out, rlt_inputs *in, rlt_error *err)
{
    numbers file = {0};
    int word = 0, rc = 0;
    while (word < WORDS && strcmp(ask->source, words[word]) != 0)
        word++;
    if (word == WORDS && (rc = read_file(ask->source, &file, in, err)))
        goto done;
    out->length = ask->length ? ask->length : word < WORDS ? USUAL_LENGTH : file.n;
    if (out->length > MOST_VALUES / ask->workers) {
        rc = rlt_fail(err, RLT_EUSAGE, "--values", "%" PRIu64 " values of %u workers are more than %d",
                      out->length, ask->workers, MOST_VALUES);
        goto done;
    }
    out->values = malloc(ask->workers * out->length * sizeof *out->values);
    out->x = malloc(ask->workers * sizeof *out->x);
    if (!out->values || !out->x)
        rc = rlt_nomem(err);
    else
        rc = fill(ask, word, &file, out, err);
done:
    free(file.items);
    if (rc)
        rlt_gradients_free(out);
    return rc;
}

void rlt_gradients_free(rlt_gradients *g)
{
    free(g->values);
    free(g->x);
    *g = (rlt_gradients){0};
}
