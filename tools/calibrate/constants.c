/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Constants of topology files: numbers with units, found by name and changed in the text. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "sim/text/json.h"
#include "tools/base/json_edit.h"
#include "tools/calibrate/calibrate.h"

/* Largest factor by which a fit may change a constant. A fraction stays at most 1. */
#define REACH 30.0

enum { MAX_PATH = 96, MAX_DEPTH = 8 };

static const struct {
    const char *name;
    double scale;
} units[] = {{"", 1},           {"fs", 1e-3},      {"ps", 1},        {"ns", 1e3},      {"us", 1e6},
             {"ms", 1e9},       {"s", 1e12},       {"B", 1},         {"KB", 1e3},      {"MB", 1e6},
             {"GB", 1e9},       {"KiB", 0x1p10},   {"MiB", 0x1p20},  {"GiB", 0x1p30},  {"B/s", 1},
             {"KB/s", 1e3},     {"MB/s", 1e6},     {"GB/s", 1e9},    {"TB/s", 1e12},   {"KiB/s", 0x1p10},
             {"MiB/s", 0x1p20}, {"GiB/s", 0x1p30}, {"Mbps", 1.25e5}, {"Gbps", 1.25e8}, {"Tbps", 1.25e11},
             {"Mb/s", 1.25e5},  {"Gb/s", 1.25e8},  {"Tb/s", 1.25e11}};

static double scale_of(const char *unit)
{
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strcmp(units[i].name, unit) == 0)
            return units[i].scale;
    return 0;
}

/* Reads "0.6us" or a plain number. Returns false for all else. */
static bool read_text(const char *text, double *value, char *unit, size_t size)
{
    size_t n = strspn(text, "0123456789.");
    char number[32];
    if (n == 0 || n >= sizeof number)
        return false;
    snprintf(number, sizeof number, "%.*s", (int)n, text);
    text += n;
    text += strspn(text, " ");
    if (strlen(text) >= size || scale_of(text) == 0 || rlt_parse_number(number, 0, value, NULL, NULL))
        return false;
    snprintf(unit, size, "%s", text);
    *value *= scale_of(unit);
    return true;
}

/* Reads a value of a file. `whole` is set for a plain number without a point. */
static bool read_value(const rlt_machine *m, rlt_json v, double *value, char *unit, size_t size, bool *whole)
{
    char number[32];
    size_t begin, end;
    *whole = false;
    unit[0] = 0;
    if (rlt_json_string(v))
        return read_text(rlt_json_string(v), value, unit, size) && (unit[0] || *value <= 0);
    rlt_json_extent(v, &begin, &end);
    if (!rlt_json_is_number(v) || end - begin >= sizeof number)
        return false;
    snprintf(number, sizeof number, "%.*s", (int)(end - begin), m->text + begin);
    *whole = number[strspn(number, "0123456789")] == 0;
    return rlt_parse_number(number, 0, value, NULL, NULL) == 0;
}

void rlt_constant_text(const rlt_constant *c, double value, const char *unit, int digits, char *buffer,
                       size_t size)
{
    double v = value / scale_of(unit);
    int decimals = v > 0 ? digits - 1 - (int)floor(log10(v)) : 0;
    size_t n;
    decimals = c->whole || decimals < 0 ? 0 : decimals > 9 ? 9 : decimals;
    snprintf(buffer, size, "%.*f", decimals, c->whole && v < 1 ? 1 : v);
    n = strlen(buffer);
    while (decimals > 0 && buffer[n - 1] == '0')
        n--;
    n -= buffer[n - 1] == '.';
    snprintf(buffer + n, size - n, "%s", unit[0] || c->whole || memchr(buffer, '.', n) ? unit : ".0");
}

/* Finds the constant in the endpoint, else from the top of the file. */
static bool find_path(rlt_json root, const char *name, char *path, rlt_json *v)
{
    snprintf(path, MAX_PATH, "endpoint.%s", name);
    *v = rlt_json_find(root, path);
    if (rlt_json_is(*v))
        return true;
    *v = rlt_json_find(root, name);
    if (rlt_json_is(*v))
        snprintf(path, MAX_PATH, "%s", name);
    return rlt_json_is(*v);
}

bool rlt_machine_number(const rlt_machine *m, rlt_json root, const char *name, double *value)
{
    char path[MAX_PATH], unit[12];
    rlt_json v;
    bool whole;
    return find_path(root, name, path, &v) && read_value(m, v, value, unit, sizeof unit, &whole) &&
           *value > 0;
}

/* Finds the constant for this machine, or for all. */
static rlt_constant *constant_named(rlt_constant *list, uint32_t n, const char *name, const char *of)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(list[i].name, name) == 0 && list[i].of == of)
            return &list[i];
    return NULL;
}

typedef struct finder {
    rlt_constant *list;
    uint32_t n, count[RLT_MAX_CONSTANTS]; /* machines with it, to divide the sums in `before` */
    const rlt_machine *machine;           /* current machine */
} finder;

static rlt_constant *enter(finder *f, const char *name, const char *unit, bool whole, rlt_error *err)
{
    const char *of =
        f->machine->harness[0] && strcmp(f->machine->harness, name) == 0 ? f->machine->path : NULL;
    rlt_constant *c = constant_named(f->list, f->n, name, of);
    if (c)
        return c;
    if (f->n == RLT_MAX_CONSTANTS || strlen(name) >= sizeof c->name) {
        rlt_fail(err, RLT_ERANGE, f->machine->path, "more than %d constants to fit", RLT_MAX_CONSTANTS);
        return NULL;
    }
    c = &f->list[f->n++];
    *c = (rlt_constant){.whole = whole, .of = of};
    snprintf(c->name, sizeof c->name, "%s", name);
    snprintf(c->unit, sizeof c->unit, "%s", unit);
    return c;
}

/* Returns true for numbers that are not fitted: whole numbers (counts), sizes (of buffers), the clock (from
 * the data sheet), the tuner's estimates (they need not be true), and zeros (the cost does not exist). */
static bool is_fact(const char *key, double value, const char *unit, bool whole)
{
    size_t n = strlen(unit);
    bool size = n > 0 && unit[n - 1] == 'B';
    return whole || size || value <= 0 || strcmp(key, "clock") == 0 || strncmp(key, "tuner_", 6) == 0;
}

/* Finds all numbers below `v` that can be fitted. */
static int find_numbers(finder *f, rlt_json v, const char *prefix, int depth, rlt_error *err)
{
    uint32_t i = 0;
    int rc = 0;
    for (rlt_json m = rlt_json_first(v); rlt_json_is(m) && !rc; m = rlt_json_next(m), i++) {
        const char *key = rlt_json_is_array(v) ? rlt_json_string(rlt_json_get(m, "name")) : rlt_json_key(m);
        char name[MAX_PATH], number[12], unit[12];
        double value;
        bool whole;
        snprintf(number, sizeof number, "%u", i);
        int length = snprintf(name, sizeof name, "%s%s%s", prefix, *prefix ? "." : "", key ? key : number);
        if (length < 0 || length >= (int)sizeof name)
            return rlt_json_fail(m, RLT_ERANGE, err, "a path of more than %d letters", MAX_PATH - 1);
        if (key && key[0] == '_')
            continue;
        if (rlt_json_is_object(m) || rlt_json_is_array(m)) {
            rc = depth < MAX_DEPTH ? find_numbers(f, m, name, depth + 1, err) : 0;
        } else if (read_value(f->machine, m, &value, unit, sizeof unit, &whole) &&
                   !is_fact(key ? key : number, value, unit, whole)) {
            rlt_constant *c = enter(f, name, unit, false, err);
            if (!c)
                return RLT_ERANGE;
            c->before += log(value / rlt_machine_scale(f->machine, name));
            f->count[c - f->list]++;
        }
    }
    return rc;
}

static int no_such(const finder *f, rlt_json root, const char *name, rlt_error *err)
{
    rlt_constant list[RLT_MAX_CONSTANTS];
    finder all = {.list = list, .machine = f->machine};
    rlt_error ignored = {0};
    rlt_nearest near = rlt_nearest_to(name);
    (void)find_numbers(&all, rlt_json_get(root, "endpoint"), "", 0, &ignored);
    for (uint32_t i = 0; i < all.n; i++)
        rlt_nearest_try(&near, all.list[i].name);
    return rlt_fail(err, RLT_EUSAGE, "--fit",
                    "%s has no number '%s'%s%s%s; %s=VALUE puts one into its endpoint", f->machine->path,
                    name, near.best ? "; did you mean '" : "", near.best ? near.best : "",
                    near.best ? "'?" : "", name);
}

/* Finds one item of the user's list in one machine. */
static int find_named(finder *f, rlt_json root, const char *item, rlt_error *err)
{
    char name[64], path[MAX_PATH], unit[12], start_unit[12];
    const char *equals = strchr(item, '=');
    double value, start = 0;
    rlt_json v;
    bool whole = false;
    rlt_constant *c;
    snprintf(name, sizeof name, "%.*s", (int)(equals ? equals - item : 63), item);
    if (equals && (!read_text(equals + 1, &start, start_unit, sizeof start_unit) || start <= 0))
        return rlt_fail(err, RLT_EUSAGE, "--fit", "expected a number above zero with its unit, got '%.40s'",
                        equals + 1);
    bool there = find_path(root, name, path, &v);
    if (!there && !equals)
        return no_such(f, root, name, err);
    if (there && !read_value(f->machine, v, &value, unit, sizeof unit, &whole))
        return rlt_json_fail(v, RLT_EUSAGE, err, "'%s' is not a number that can be fitted", name);
    if (there && value <= 0 && !equals)
        return rlt_fail(err, RLT_EUSAGE, "--fit", "%s is zero in %s: give a start value, such as %s=1us",
                        name, f->machine->path, name);
    c = enter(f, name, equals ? start_unit : unit, whole, err);
    if (!c)
        return RLT_ERANGE;
    c->absent = c->absent || !there;
    c->before += log((equals ? start : value) / rlt_machine_scale(f->machine, name));
    f->count[c - f->list]++;
    return 0;
}

static int find_list(finder *f, rlt_json root, const char *list, rlt_error *err)
{
    const char *cursor = list, *item;
    size_t length;
    int rc = 0;
    while (!rc && (item = rlt_next_item(&cursor, ',', &length))) {
        char text[96];
        snprintf(text, sizeof text, "%.*s", (int)(length < 95 ? length : 95), item);
        rc = find_named(f, root, text, err);
    }
    return rc;
}

/* Sets the bounds. The ratio "wire" (wire bytes / data bytes) is at least 1; a fraction stays at most 1. */
static void set_bounds(rlt_constant *c)
{
    const char *dot = strrchr(c->name, '.'), *key = dot ? dot + 1 : c->name;
    bool bare = !c->unit[0] && !c->whole, wire = bare && strcmp(key, "wire") == 0;
    c->low = wire ? 1 : c->value / REACH;
    c->high = bare && !wire && c->value <= 1 ? 1 : c->value * REACH;
}

int rlt_constants_find(rlt_machine *machines, uint32_t n, const char *list, rlt_constant *out,
                       uint32_t *n_out, rlt_error *err)
{
    finder f = {.list = out};
    int rc = 0;
    for (uint32_t i = 0; i < n && !rc; i++) {
        rlt_json_doc *doc;
        f.machine = &machines[i];
        if ((rc = rlt_json_parse(machines[i].path, machines[i].text, machines[i].length, &doc, err)))
            break;
        rlt_json root = rlt_json_root(doc);
        rc = list ? find_list(&f, root, list, err)
                  : find_numbers(&f, rlt_json_get(root, "endpoint"), "", 0, err);
        rlt_json_free(doc);
    }
    for (uint32_t i = 0; i < f.n && !rc; i++) {
        rlt_constant *c = &out[i];
        c->value = c->before = exp(c->before / f.count[i]);
        set_bounds(c);
    }
    *n_out = f.n;
    if (!rc && f.n == 0)
        return rlt_fail(err, RLT_ESCHEMA, f.machine->path,
                        "its endpoint has no numbers to fit; --fit launch=5us,message=1us puts some there");
    return rc;
}

static int apply_one(rlt_machine *m, const rlt_constant *c, int digits, rlt_error *err)
{
    char path[MAX_PATH], unit[12], number[64], text[80];
    rlt_json_doc *doc;
    rlt_json v;
    double old;
    bool whole, there;
    if (c->of && c->of != m->path)
        return 0;
    int rc = rlt_json_parse(m->path, m->text, m->length, &doc, err);
    if (rc)
        return rc;
    there = find_path(rlt_json_root(doc), c->name, path, &v);
    if (there && (!read_value(m, v, &old, unit, sizeof unit, &whole) || (!unit[0] && c->unit[0])))
        snprintf(unit, sizeof unit, "%s", c->unit);
    rlt_json_free(doc);
    if (!there && !c->absent)
        return 0; /* another machine has this constant */
    if (!there) {
        snprintf(path, sizeof path, "endpoint.%s", c->name);
        snprintf(unit, sizeof unit, "%s", c->unit);
    }
    rlt_constant_text(c, c->value * rlt_machine_scale(m, c->name), unit, digits, number, sizeof number);
    snprintf(text, sizeof text, unit[0] ? "\"%s\"" : "%s", number);
    return rlt_json_edit(m->path, &m->text, &m->length, path, text, err);
}

int rlt_constants_apply(rlt_machine *m, const rlt_constant *c, uint32_t n, int digits, rlt_error *err)
{
    int rc = 0;
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = apply_one(m, &c[i], digits, err);
    return rc ? rc : rlt_machine_rebuild(m, err);
}
