/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Ends of edges: a component and its indices, as a slice of Python: "x" and "x[:]" are all, "x[3]" is one,
 * "x[0:4:2]" is 0 and 2. Dots lead into components that are devices.
 */
#include <inttypes.h>
#include <string.h>

#include "net/import/infragraph/document.h"
#include "net/import/read.h"
#include "sim/base/map.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/json.h"

/* A step of a path: a name and the indices from first to before `end`. */
typedef struct segment {
    const char *name;
    size_t length;
    bool sliced;
    uint64_t first, end, step;
    const char *rest; /* after the segment */
} segment;

static int wrong(rlt__ig_document *d, rlt_json at, const char *text)
{
    return rlt_json_fail(at, RLT_ESCHEMA, d->err,
                         "expected a name and a slice, such as nic, nic[0] or nic[0:4:2]; got '%.80s'", text);
}

/* Reads digits; leaves *value if there are none. Returns the text after them. */
static const char *read_index(const char *p, uint64_t *value)
{
    if (*p < '0' || *p > '9')
        return p;
    *value = 0;
    for (; *p >= '0' && *p <= '9'; p++)
        *value = *value < UINT32_MAX ? *value * 10 + (uint64_t)(*p - '0') : *value;
    return p;
}

/* Reads "name[a:b:c]" up to a dot or the end. Indices that are left out stay at their default. */
static int read_segment(rlt__ig_document *d, const char *text, rlt_json at, segment *s)
{
    const char *p = text + strcspn(text, "[].");
    *s = (segment){.name = text, .length = (size_t)(p - text), .end = UINT64_MAX, .step = 1};
    if (s->length == 0)
        return wrong(d, at, text);
    if (*p == '[') {
        const char *inside = ++p;
        s->sliced = true;
        p = read_index(p, &s->first);
        if (*p == ']') {
            if (p == inside)
                return wrong(d, at, text);
            s->end = s->first + 1;
        } else {
            for (uint64_t *next = &s->end; *p == ':' && next; next = next == &s->end ? &s->step : NULL)
                p = read_index(p + 1, next);
        }
        if (*p++ != ']')
            return wrong(d, at, text);
    }
    if (*p && *p != '.')
        return wrong(d, at, text);
    s->rest = p;
    return 0;
}

/* Fits a slice to `count` items. */
static int check_slice(rlt__ig_document *d, segment *s, uint32_t count, rlt_json at)
{
    int length = (int)(s->length < 60 ? s->length : 60);
    if (s->end == UINT64_MAX)
        s->end = count;
    if (s->step == 0)
        return rlt_json_fail(at, RLT_ERANGE, d->err, "the step of %.*s is zero", length, s->name);
    if (s->end > count || s->first >= count)
        return rlt_json_fail(at, RLT_ERANGE, d->err,
                             "%.*s has %" PRIu32 ", numbered from 0; got index %" PRIu64, length, s->name,
                             count, s->first >= count ? s->first : s->end - 1);
    return s->first < s->end
               ? 0
               : rlt_json_fail(at, RLT_ERANGE, d->err, "the slice of %.*s is empty", length, s->name);
}

static int add_end(rlt__ig_document *d, rlt__ig_ends *ends, uint32_t vertex)
{
    int rc = rlt_grow(&ends->items, &ends->capacity, sizeof *ends->items, ends->n + 1ull, RLT_MAX_FILE_NODES,
                      "ends of an edge", d->err);
    if (!rc)
        ends->items[ends->n++] = vertex;
    return rc;
}

int rlt__ig_path(rlt__ig_document *d, const rlt__ig_device *device, const char *text, rlt_json at,
                 uint32_t base, rlt__ig_ends *ends)
{
    segment s;
    int rc = read_segment(d, text, at, &s);
    if (rc < 0)
        return rc;
    int length = (int)(s.length < 60 ? s.length : 60);
    uint32_t k = rlt_intern_find(&device->names, s.name, s.length);
    if (k == RLT_NONE && d->import->lenient) {
        d->lenience.unknown++;
        return 0;
    }
    if (k == RLT_NONE)
        return rlt_json_fail(at, RLT_ESCHEMA, d->err,
                             "device '%.60s' has no component '%.*s'; --set lenient=on leaves it out",
                             device->name, length, s.name);
    const rlt__ig_component *c = &device->components[k];
    if ((rc = check_slice(d, &s, c->count, at)) < 0)
        return rc;
    if ((c->choice == RLT__IG_DEVICE) != (*s.rest == '.'))
        return rlt_json_fail(at, RLT_ESCHEMA, d->err,
                             *s.rest ? "'%.*s' is no device: nothing is inside it"
                                     : "'%.*s' is a device: expected one of its components, after a dot",
                             length, s.name);
    for (uint64_t i = s.first; i < s.end && rc == 0; i += s.step) {
        uint32_t vertex = base + c->first + (uint32_t)i * c->stride;
        rc = *s.rest ? rlt__ig_path(d, &d->devices[c->device], s.rest + 1, at, vertex, ends)
                     : add_end(d, ends, vertex);
    }
    return rc;
}

int rlt__ig_instance_path(rlt__ig_document *d, const char *instance, const char *component, rlt_json at,
                          rlt__ig_ends *ends)
{
    segment s;
    int rc = read_segment(d, instance, at, &s);
    if (rc < 0)
        return rc;
    if (*s.rest)
        return wrong(d, at, instance);
    uint32_t k = rlt_intern_find(&d->instance_names, s.name, s.length);
    if (k == RLT_NONE)
        return rlt_json_fail(at, RLT_ESCHEMA, d->err, "no instance is named '%.*s'",
                             (int)(s.length < 60 ? s.length : 60), s.name);
    const rlt__ig_instance *of = &d->instances[k];
    const rlt__ig_device *device = &d->devices[of->device];
    if ((rc = check_slice(d, &s, of->count, at)) < 0)
        return rc;
    for (uint64_t i = s.first; i < s.end && rc == 0; i += s.step)
        rc = rlt__ig_path(d, device, component, at, of->first + (uint32_t)i * device->size, ends);
    return rc;
}
