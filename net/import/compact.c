/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Products of dimensions in one line, innermost first:
 *   ring:4@200GB/s,500ns*switch:8@50GB/s,500ns     shape:size@bandwidth,latency[,key=value...]
 *   hgx-h100-8*rail:64@400Gbps,2us                 or the name or file of a topology, or JSON in braces
 * A size such as 4x4x4 also sets the shape's `sizes`. The short names of the papers on multi-dimensional
 * networks are accepted, too: RI, FC, SW.
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "net/endpoint/endpoint.h"
#include "net/import/import.h"
#include "net/import/read.h"
#include "net/shapes/factor.h"
#include "net/shapes/shapes.h"
#include "net/topology/build.h"
#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/units.h"

enum { MAX_TEXT = 4096 };

typedef struct reader {
    const char *text;
    rlt_arena arena;
    rlt_dim_spec dims[RLT_MAX_DIMS];
    rlt_topology *whole[RLT_MAX_DIMS]; /* topologies that stand for dimensions */
    uint32_t n_dims;
    const rlt_import *import;
    char where[160];
    rlt_error *err;
} reader;

static const char *place(reader *r, const char *p)
{
    snprintf(r->where, sizeof r->where, "%.100s: column %u", r->text, (unsigned)(p - r->text) + 1);
    return r->where;
}

/* Returns the word from *p to one of `stops` or the end. *p then points to the stop. */
static char *word(reader *r, const char **p, const char *stops)
{
    size_t n = strcspn(*p, stops);
    char *w = rlt_arena_strndup(&r->arena, *p, n);
    if (!w)
        (void)rlt_nomem(r->err);
    *p += n;
    return w;
}

static const char *shape_name(const char *w)
{
    static const char *const aliases[][2] = {
        {"RI", "ring"}, {"FC", "fully-connected"}, {"fc", "fully-connected"}, {"SW", "switch"}};
    for (size_t i = 0; i < sizeof aliases / sizeof *aliases; i++)
        if (strcmp(w, aliases[i][0]) == 0)
            return aliases[i][1];
    return w;
}

static int add_param(reader *r, rlt_dim_spec *d, const char *name, const char *value, const char *at)
{
    if (d->n_params == RLT_MAX_DIM_PARAMS)
        return rlt_fail(r->err, RLT_ERANGE, place(r, at), "at most %d parameters of a shape",
                        RLT_MAX_DIM_PARAMS);
    d->params[d->n_params].name = name;
    d->params[d->n_params++].value = value;
    return 0;
}

static int read_size(reader *r, const char *w, const char *at, rlt_dim_spec *d)
{
    uint64_t product = 1;
    for (const char *p = w;; p++) {
        char digits[16];
        uint64_t n = 0;
        size_t length = strcspn(p, "x");
        snprintf(digits, sizeof digits, "%.*s", (int)(length < 15 ? length : 15), p);
        if (rlt_parse_count(digits, &n, NULL, NULL) < 0 || n == 0)
            return rlt_fail(r->err, RLT_EMALFORMED, place(r, at),
                            "expected a size, such as 8 or 4x4x4, got '%.40s'", w);
        product = n > RLT_MAX_ACCELERATORS ? n : product * n;
        if (product > RLT_MAX_ACCELERATORS)
            return rlt_fail(r->err, RLT_ERANGE, place(r, at), "more than %d accelerators",
                            RLT_MAX_ACCELERATORS);
        p += length;
        if (*p == 0)
            break;
    }
    d->size = (uint32_t)product;
    return strchr(w, 'x') ? add_param(r, d, "sizes", w, at) : 0;
}

static int read_params(reader *r, const char **p, rlt_dim_spec *d)
{
    while (**p == ',') {
        const char *at = ++*p;
        char *w = word(r, p, ",*"), *equals = w ? strchr(w, '=') : NULL;
        if (!w)
            return RLT_ENOMEM;
        if (!equals || equals == w || equals[1] == 0)
            return rlt_fail(r->err, RLT_EMALFORMED, place(r, at), "expected key=value, got '%.40s'", w);
        *equals = 0;
        int rc = add_param(r, d, w, equals + 1, at);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int expect(reader *r, const char *p, char c, const char *what)
{
    return *p == c ? 0
                   : rlt_fail(r->err, RLT_EMALFORMED, place(r, p),
                              "expected '%c' and %s (shape:size@bandwidth,latency)", c, what);
}

static int read_dim(reader *r, const char **p)
{
    rlt_dim_spec *d = &r->dims[r->n_dims];
    const char *at = *p;
    char *w = word(r, p, ":@,*");
    int rc;
    if (!w)
        return RLT_ENOMEM;
    d->shape = shape_name(w);
    if (w[0] == 0)
        return rlt_fail(r->err, RLT_EMALFORMED, place(r, at), "expected a shape");
    if (!(d->where = rlt_arena_strdup(&r->arena, place(r, at))))
        return rlt_nomem(r->err);
    if ((rc = expect(r, *p, ':', "a size")) < 0)
        return rc;
    at = ++*p;
    if (!(w = word(r, p, "@,*")))
        return RLT_ENOMEM;
    if ((rc = read_size(r, w, at, d)) < 0 || (rc = expect(r, *p, '@', "a bandwidth")) < 0)
        return rc;
    at = ++*p;
    if (!(w = word(r, p, ",*")))
        return RLT_ENOMEM;
    if ((rc = rlt_parse_rate(w, &d->bw_Bps, place(r, at), r->err)) < 0)
        return rc;
    if (d->bw_Bps == 0)
        return rlt_fail(r->err, RLT_ERANGE, place(r, at), "the bandwidth is zero");
    if ((rc = expect(r, *p, ',', "a latency")) < 0)
        return rc;
    at = ++*p;
    if (!(w = word(r, p, ",*")))
        return RLT_ENOMEM;
    if ((rc = rlt_parse_duration(w, &d->latency_ps, place(r, at), r->err)) < 0 ||
        (rc = read_params(r, p, d)) < 0)
        return rc;
    r->n_dims++;
    return 0;
}

/* Whether the text up to the next '*' names a topology: it has no size, and is no shape's name. */
static bool is_whole(const char *p)
{
    size_t n = strcspn(p, "*:@,");
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)(n < 63 ? n : 63), p);
    for (uint32_t i = 0; rlt_shape_list(i); i++)
        if (strcmp(shape_name(name), rlt_shape_list(i)->name) == 0)
            return false;
    return n > 0 && p[n] != ':' && p[n] != '@';
}

/* Reads a topology that stands for dimensions. Its name is not empty. */
static int read_whole(reader *r, const char **p)
{
    rlt_dim_spec *d = &r->dims[r->n_dims];
    const char *at = *p;
    char *w = word(r, p, "*");
    if (!w || !(d->where = rlt_arena_strdup(&r->arena, place(r, at))))
        return rlt_nomem(r->err);
    int rc = rlt__topo_part(w, r->import, &r->whole[r->n_dims], r->err);
    if (rc)
        return rc;
    d->whole = &r->whole[r->n_dims++];
    return 0;
}

static int read_dims(reader *r)
{
    const char *p = r->text;
    if (strlen(p) > MAX_TEXT)
        return rlt_fail(r->err, RLT_ERANGE, place(r, p + MAX_TEXT),
                        "the topology's text is longer than %d bytes", MAX_TEXT);
    for (;; p++) {
        if (r->n_dims == RLT_MAX_DIMS)
            return rlt_fail(r->err, RLT_ERANGE, place(r, p), "more than %d dimensions", RLT_MAX_DIMS);
        int rc = is_whole(p) ? read_whole(r, &p) : read_dim(r, &p);
        if (rc < 0 || *p == 0)
            return rc;
    }
}

int rlt_topology_from_compact(const char *text, const rlt_import *import, rlt_topology **out, rlt_error *err)
{
    reader r = {.text = text, .import = import, .err = err};
    *out = NULL;
    int rc = read_dims(&r);
    if (rc == 0) {
        rlt_topology_spec spec = {
            .name = text, .where = text, .source = "", .hash = rlt_hash_bytes(text, strlen(text), 0)};
        spec.endpoint = rlt_endpoint_default();
        if (r.whole[0])
            rlt__topo_node(r.whole[0], &spec);
        spec.n_dims = r.n_dims;
        spec.dims = r.dims;
        rc = rlt_topology_build(&spec, out, err);
    }
    for (uint32_t i = 0; i < r.n_dims; i++)
        rlt_topology_free(r.whole[i]);
    rlt_arena_free(&r.arena);
    return rc;
}
