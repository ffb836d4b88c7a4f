/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parameters by their tables: values from text and to text, and tables by name. */
#include "sim/base/param.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/units.h"
#include "sim/base/words.h"

enum { MAX_TIMES = 1 << 16, /* one option given */ MILLION = 1000000, MAX_NAME = 64, MAX_LISTED = 900 };

const char *rlt_param_word(const rlt_param *p, uint32_t i, char *buffer)
{
    const char *cursor = p->words, *word;
    size_t length;
    if (p->word_at)
        return p->word_at(i);
    while ((word = rlt_next_item(&cursor, '|', &length)))
        if (i-- == 0) {
            snprintf(buffer, 64, "%.*s", (int)length, word);
            return buffer;
        }
    return NULL;
}

/* ---- from text */

/* Fails with all words, and the one that may be meant. */
static int no_such_word(const rlt_param *p, const char *text, const char *where, rlt_error *err)
{
    char buffer[64], near_buffer[64] = "", list[512] = "";
    const char *word;
    rlt_nearest near = rlt_nearest_to(text);
    for (uint32_t i = 0; (word = rlt_param_word(p, i, buffer)); i++) {
        const char *before = near.best;
        rlt_nearest_try(&near, word);
        if (near.best && near.best != before) {
            snprintf(near_buffer, sizeof near_buffer, "%s", word);
            near.best = near_buffer;
        }
        rlt_list_name(list, sizeof list, word);
    }
    if (near.best)
        return rlt_fail(err, RLT_EUSAGE, where, "expected one of %s, got '%.80s'; did you mean '%s'?", list,
                        text, near.best);
    return rlt_fail(err, RLT_EUSAGE, where, "expected one of %s, got '%.80s'", list, text);
}

/* Returns the index of a word. */
static int find_word(const rlt_param *p, const char *text, uint64_t *number, const char *where,
                     rlt_error *err)
{
    char buffer[64];
    const char *word;
    for (uint32_t i = 0; (word = rlt_param_word(p, i, buffer)); i++) {
        *number = i;
        if (strcmp(word, text) == 0)
            return 0;
    }
    return no_such_word(p, text, where, err);
}

static int read_flag(bool *field, const char *text, const char *where, rlt_error *err)
{
    bool off = strcmp(text, "off") == 0;
    if (*text && !off && strcmp(text, "on") != 0)
        return rlt_fail(err, RLT_EUSAGE, where, "expected on or off, got '%.80s'", text);
    *field = !off;
    return 0;
}

static int read_text(const rlt_param *p, void *field, const char *text, const char *where, rlt_error *err)
{
    const char *what = p->arg ? p->arg : "a value";
    if (!*text)
        return rlt_fail(err, RLT_EUSAGE, where, "expected %s, got nothing", what);
    if (p->kind == RLT_PARAM_TEXT) {
        *(const char **)field = text;
        return 0;
    }
    if (strlen(text) >= p->width)
        return rlt_fail(err, RLT_EUSAGE, where, "expected %s of at most %u characters, got '%.80s'", what,
                        p->width - 1, text);
    memcpy(field, text, strlen(text) + 1);
    return 0;
}

static int add_text(rlt_texts *list, const char *text, const char *where, rlt_error *err)
{
    int rc = rlt_grow(&list->items, &list->capacity, sizeof *list->items, (uint64_t)list->n + 1, MAX_TIMES,
                      where, err);
    if (!rc)
        list->items[list->n++] = text;
    return rc;
}

/* Writes a limit in the form in which values are given. */
static const char *limit_text(const rlt_param *p, double limit, char *text, size_t size)
{
    switch (p->kind) {
    case RLT_PARAM_SIZE:
        return rlt_format_size(text, size, (uint64_t)limit);
    case RLT_PARAM_RATE:
        return rlt_format_rate(text, size, (uint64_t)limit);
    case RLT_PARAM_DURATION:
        return rlt_format_duration(text, size, (rlt_time)limit);
    case RLT_PARAM_COUNT:
    case RLT_PARAM_COUNTS:
        snprintf(text, size, "%.0f", limit);
        return text;
    case RLT_PARAM_PPM:
        snprintf(text, size, limit > 0 && limit < 100 ? "%.6f" : "%.15g", limit / MILLION);
        return text;
    default:
        break;
    }
    snprintf(text, size, "%.15g%s", limit, p->kind == RLT_PARAM_FLOPS ? "FLOPS" : "");
    return text;
}

static bool has_units(const rlt_param *p)
{
    return p->kind == RLT_PARAM_SIZE || p->kind == RLT_PARAM_RATE || p->kind == RLT_PARAM_FLOPS ||
           p->kind == RLT_PARAM_DURATION;
}

/* Checks that a value is within its row's limits and fits its field. */
static int check_range(const rlt_param *p, double value, const char *text, const char *where, rlt_error *err)
{
    char least[32], most[32];
    bool narrow = p->width == sizeof(uint32_t) && p->kind != RLT_PARAM_NUMBER;
    double max = p->max > 0 ? p->max : narrow ? (double)UINT32_MAX : 0;
    if (value >= p->min && (max <= 0 || value <= max))
        return 0;
    if (value < 1 && has_units(p) && p->min > 0 && p->min <= 1 && max <= 0) /* clearer than "at least 1 ps" */
        return rlt_fail(err, RLT_EUSAGE, where, "expected more than 0, got '%.80s'", text);
    limit_text(p, p->min, least, sizeof least);
    limit_text(p, max, most, sizeof most);
    if (max <= 0)
        return rlt_fail(err, RLT_EUSAGE, where, "expected at least %s, got '%.80s'", least, text);
    return rlt_fail(err, RLT_EUSAGE, where, "expected %s to %s%s%s, got '%.80s'", least, most,
                    p->unit ? " " : "", p->unit ? p->unit : "", text);
}

/* Words and shares have no range: their form says it. */
char *rlt_param_range(const rlt_param *p, char *text, size_t size)
{
    char least[32], most[32];
    bool from = p->min > 0, to = p->max > 0;
    limit_text(p, p->min, least, sizeof least);
    limit_text(p, p->max, most, sizeof most);
    text[0] = '\0';
    if (to)
        snprintf(text, size, "%s to %s", from ? least : "0", most);
    else if (from && p->min <= 1 && has_units(p))
        snprintf(text, size, "above 0");
    else if (from)
        snprintf(text, size, "at least %s", least);
    return text;
}

const char *rlt_param_kind_name(rlt_param_kind kind)
{
    static const char *const names[] = {
        [RLT_PARAM_FLAG] = "flag",     [RLT_PARAM_TEXT] = "text",     [RLT_PARAM_NAME] = "name",
        [RLT_PARAM_WORD] = "word",     [RLT_PARAM_CHOICE] = "word",   [RLT_PARAM_LIST] = "list",
        [RLT_PARAM_COUNT] = "count",   [RLT_PARAM_COUNTS] = "counts", [RLT_PARAM_SIZE] = "size",
        [RLT_PARAM_RATE] = "rate",     [RLT_PARAM_FLOPS] = "flops",   [RLT_PARAM_DURATION] = "duration",
        [RLT_PARAM_NUMBER] = "number", [RLT_PARAM_SHARE] = "share",   [RLT_PARAM_PPM] = "number",
        [RLT_PARAM_OTHER] = "other"};
    return names[kind];
}

static void store(const rlt_param *p, void *field, uint64_t n)
{
    if (p->width == sizeof(uint8_t))
        *(uint8_t *)field = (uint8_t)n;
    else if (p->width == sizeof(uint32_t) || (p->width == 0 && p->kind == RLT_PARAM_CHOICE))
        *(uint32_t *)field = (uint32_t)n;
    else
        *(uint64_t *)field = n;
}

static uint64_t load(const rlt_param *p, const void *field)
{
    if (p->width == sizeof(uint8_t))
        return *(const uint8_t *)field;
    if (p->width == sizeof(uint32_t) || (p->width == 0 && p->kind == RLT_PARAM_CHOICE))
        return *(const uint32_t *)field;
    return *(const uint64_t *)field;
}

static int read_integer(const rlt_param *p, void *field, const char *text, const char *where, rlt_error *err)
{
    uint64_t n = 0;
    int rc = p->kind == RLT_PARAM_SIZE    ? rlt_parse_size(text, &n, where, err)
             : p->kind == RLT_PARAM_RATE  ? rlt_parse_rate(text, &n, where, err)
             : p->kind == RLT_PARAM_FLOPS ? rlt_parse_flops(text, &n, where, err)
                                          : rlt_parse_count(text, &n, where, err);
    bool above = p->max > 0 && p->max < 0x1p64 && n > (uint64_t)p->max; /* doubles may round it away */
    if (!rc)
        rc = check_range(p, above ? 0x1p64 : (double)n, text, where, err);
    if (!rc)
        store(p, field, n);
    return rc;
}

static int read_duration(const rlt_param *p, rlt_time *field, const char *text, const char *where,
                         rlt_error *err)
{
    rlt_time t = 0;
    int rc = rlt_parse_duration(text, &t, where, err);
    if (!rc)
        rc = check_range(p, (double)t, text, where, err);
    if (!rc)
        *field = t;
    return rc;
}

static int read_number(const rlt_param *p, double *field, const char *text, const char *where, rlt_error *err)
{
    double x = 0;
    int rc = rlt_parse_number(text, 0, &x, where, err);
    if (!rc)
        rc = check_range(p, x, text, where, err);
    if (!rc)
        *field = x;
    return rc;
}

static int read_ppm(const rlt_param *p, uint32_t *field, const char *text, const char *where, rlt_error *err)
{
    int64_t ppm = -1;
    double most = p->max > 0 ? p->max : (double)UINT32_MAX;
    char from[32], to[32];
    if (!*text || rlt_parse_decimal(text, strlen(text), MILLION, &ppm) < 0 || ppm < 0 || (double)ppm > most)
        return rlt_fail(err, RLT_EUSAGE, where, "expected a number from %s to %s, got '%.80s'",
                        limit_text(p, p->min, from, sizeof from), limit_text(p, most, to, sizeof to), text);
    if ((double)ppm < p->min)
        return rlt_fail(err, RLT_EUSAGE, where, "expected at least %s%s%s%s, got '%.80s'",
                        limit_text(p, p->min, from, sizeof from), p->unit ? " (" : "", p->unit ? p->unit : "",
                        p->unit ? ")" : "", text);
    *field = (uint32_t)ppm;
    return 0;
}

static int read_counts(const rlt_param *p, rlt_counts *field, const char *text, const char *where,
                       rlt_error *err)
{
    const char *cursor = text, *item;
    size_t length;
    rlt_counts found = {.n = 0};
    for (; (item = rlt_next_item(&cursor, '-', &length)); found.n++) {
        char number[32];
        uint64_t n;
        snprintf(number, sizeof number, "%.*s", (int)(length < 31 ? length : 31), item);
        if (found.n == RLT_MAX_COUNTS || rlt_parse_count(number, &n, NULL, NULL) || (double)n < p->min ||
            (double)n > p->max)
            return rlt_fail(err, RLT_EUSAGE, where,
                            "expected up to %d numbers from %.0f to %.0f such as 512-256-64, got '%.80s'",
                            RLT_MAX_COUNTS, p->min, p->max, text);
        found.items[found.n] = (uint32_t)n;
    }
    *field = found;
    return 0;
}

static int read_value(const rlt_param *p, void *into, const char *text, const char *where, rlt_error *err)
{
    void *field = (char *)into + p->offset;
    uint64_t number = 0;
    int rc;
    switch (p->kind) {
    case RLT_PARAM_FLAG:
        return read_flag(field, text, where, err);
    case RLT_PARAM_TEXT:
    case RLT_PARAM_NAME:
        return read_text(p, field, text, where, err);
    case RLT_PARAM_WORD:
        *(const char **)field = text;
        return find_word(p, text, &number, where, err);
    case RLT_PARAM_CHOICE:
        if (!(rc = find_word(p, text, &number, where, err)))
            store(p, field, number);
        return rc;
    case RLT_PARAM_LIST:
        return add_text(field, text, where, err);
    case RLT_PARAM_COUNTS:
        return read_counts(p, field, text, where, err);
    case RLT_PARAM_DURATION:
        return read_duration(p, field, text, where, err);
    case RLT_PARAM_NUMBER:
        return read_number(p, field, text, where, err);
    case RLT_PARAM_SHARE:
        return rlt_parse_share(text, 1, field, where, err);
    case RLT_PARAM_PPM:
        return read_ppm(p, field, text, where, err);
    case RLT_PARAM_OTHER:
        return p->read(p, into, text, where, err);
    default:
        return read_integer(p, field, text, where, err);
    }
}

int rlt_param_read(const rlt_param *p, void *into, const char *text, const char *where, rlt_error *err)
{
    rlt_error why = {0};
    int rc = read_value(p, into, text, where ? where : p->name, &why);
    /* Errors of the unit parsers are wrong usage here, not bad input. */
    if (rc && rc != RLT_ENOMEM && p->kind != RLT_PARAM_OTHER)
        rc = RLT_EUSAGE;
    return rc ? rlt_fail(err, rc, why.where, "%s", why.what) : 0;
}

/* ---- to text */

static void write_list(const rlt_texts *list, char *text, size_t size)
{
    for (uint32_t i = 0; i < list->n; i++)
        rlt_list_name(text, size, list->items[i]);
}

static void write_counts(const rlt_counts *counts, char *text, size_t size)
{
    size_t used = 0;
    for (uint32_t i = 0; i < counts->n && used < size; i++)
        used += (size_t)snprintf(text + used, size - used, "%s%u", i ? "-" : "", counts->items[i]);
}

/* Writes the shortest decimal that reads back as the same number. */
static void write_number(double x, char *text, size_t size)
{
    for (int digits = 6; digits <= 17; digits++) {
        snprintf(text, size, "%.*g", digits, x);
        if (strtod(text, NULL) == x)
            return;
    }
}

char *rlt_param_write(const rlt_param *p, const void *from, char *text, size_t size)
{
    static const char *const units[] = {
        [RLT_PARAM_SIZE] = "B", [RLT_PARAM_RATE] = "B/s", [RLT_PARAM_FLOPS] = "FLOPS"};
    const void *field = (const char *)from + p->offset;
    const char *word = NULL, *unit = "";
    char buffer[64];
    text[0] = '\0';
    switch (p->kind) {
    case RLT_PARAM_FLAG:
        word = *(const bool *)field ? "on" : "off";
        break;
    case RLT_PARAM_NAME:
        word = field;
        break;
    case RLT_PARAM_TEXT:
    case RLT_PARAM_WORD:
        word = *(const char *const *)field;
        break;
    case RLT_PARAM_CHOICE:
        word = rlt_param_word(p, (uint32_t)load(p, field), buffer);
        break;
    case RLT_PARAM_LIST:
        write_list(field, text, size);
        break;
    case RLT_PARAM_COUNTS:
        write_counts(field, text, size);
        break;
    case RLT_PARAM_DURATION:
        snprintf(text, size, "%lldps", (long long)*(const rlt_time *)field);
        break;
    case RLT_PARAM_NUMBER:
    case RLT_PARAM_SHARE:
        write_number(*(const double *)field, text, size);
        break;
    case RLT_PARAM_PPM:
        snprintf(text, size, "%u.%06u", *(const uint32_t *)field / MILLION,
                 *(const uint32_t *)field % MILLION);
        break;
    case RLT_PARAM_OTHER:
        if (p->write)
            p->write(p, from, text, size);
        break;
    default:
        unit = p->kind == RLT_PARAM_COUNT ? "" : units[p->kind];
        snprintf(text, size, "%llu%s", (unsigned long long)load(p, field), unit);
    }
    if (word)
        snprintf(text, size, "%s", word);
    return text;
}

char *rlt_param_form(const rlt_param *p, char *text, size_t size)
{
    static const char *const forms[] = {[RLT_PARAM_FLAG] = "on|off",
                                        [RLT_PARAM_TEXT] = "text",
                                        [RLT_PARAM_NAME] = "name",
                                        [RLT_PARAM_WORD] = "word",
                                        [RLT_PARAM_CHOICE] = "word",
                                        [RLT_PARAM_LIST] = "text",
                                        [RLT_PARAM_COUNT] = "count",
                                        [RLT_PARAM_COUNTS] = "counts, such as 512-256",
                                        [RLT_PARAM_SIZE] = "size, such as 4MiB",
                                        [RLT_PARAM_RATE] = "rate, such as 50GB/s",
                                        [RLT_PARAM_FLOPS] = "rate, such as 312TFLOPS",
                                        [RLT_PARAM_DURATION] = "duration, such as 1us",
                                        [RLT_PARAM_NUMBER] = "number",
                                        [RLT_PARAM_SHARE] = "0 to 1, or a percentage",
                                        [RLT_PARAM_PPM] = "number",
                                        [RLT_PARAM_OTHER] = "value"};
    char buffer[64];
    const char *word;
    size_t used = 0;
    bool words = p->kind == RLT_PARAM_WORD || p->kind == RLT_PARAM_CHOICE;
    snprintf(text, size, "%s", p->arg ? p->arg : forms[p->kind]);
    for (uint32_t i = 0; !p->arg && words && used < size && (word = rlt_param_word(p, i, buffer)); i++)
        used += (size_t)snprintf(text + used, size - used, "%s%s", i ? "|" : "", word);
    return text;
}

/* ---- tables */

const rlt_param *rlt_params_find(const rlt_param *table, const char *name)
{
    for (const rlt_param *p = table; p && p->name; p++)
        if (strcmp(p->name, name) == 0)
            return p;
    return NULL;
}

int rlt_params_preset(const rlt_param *table, void *into, rlt_error *err)
{
    int rc = 0;
    for (const rlt_param *p = table; p && p->name && !rc; p++)
        if (p->preset)
            rc = rlt_param_read(p, into, p->preset, NULL, err);
    return rc;
}

int rlt_params_unknown(const rlt_param *table, const char *whose, const char *name, rlt_error *err)
{
    char list[MAX_LISTED] = "";
    rlt_nearest near = rlt_nearest_to(name);
    for (const rlt_param *p = table; p && p->name; p++) {
        rlt_nearest_try(&near, p->name);
        rlt_list_name(list, sizeof list, p->name);
    }
    if (near.best)
        return rlt_fail(err, RLT_EUSAGE, name, "unknown setting of %s; did you mean '%s'?", whose, near.best);
    return rlt_fail(err, RLT_EUSAGE, name, "unknown setting; %s has %s", whose, *list ? list : "none");
}

int rlt_params_set(const rlt_param *table, const char *whose, void *into, const char *name, const char *value,
                   rlt_error *err)
{
    const rlt_param *p = rlt_params_find(table, name);
    return p ? rlt_param_read(p, into, value, NULL, err) : rlt_params_unknown(table, whose, name, err);
}

int rlt_params_set_text(const rlt_param *table, const char *whose, void *into, const char *text,
                        rlt_error *err)
{
    char name[MAX_NAME];
    const char *value;
    int rc = rlt_split_setting(text, name, sizeof name, &value, text, err);
    return rc ? rc : rlt_params_set(table, whose, into, name, value, err);
}

int rlt_params_set_list(const rlt_param *table, const char *whose, void *into, const char *list,
                        rlt_error *err)
{
    const char *cursor = list && *list ? list : NULL, *item;
    size_t length;
    int rc = rlt_names_once(list, err);
    while (!rc && (item = rlt_next_item(&cursor, ',', &length))) {
        char one[512];
        for (; length && *item == ' '; item++)
            length--;
        if (length >= sizeof one)
            return rlt_fail(err, RLT_EUSAGE, NULL, "'%.40s' is too long", item);
        snprintf(one, sizeof one, "%.*s", (int)length, item);
        rc = rlt_params_set_text(table, whose, into, one, err);
    }
    return rc;
}

char *rlt_params_describe(const rlt_param *table, char *text, size_t size)
{
    size_t used = 0;
    text[0] = '\0';
    for (const rlt_param *p = table; p && p->name && used < size; p++) {
        char form[256] = "";
        bool words = p->kind == RLT_PARAM_WORD || p->kind == RLT_PARAM_CHOICE;
        if (words)
            rlt_param_form(p, form, sizeof form);
        const char *value = words ? form : p->preset;
        used += (size_t)snprintf(text + used, size - used, p->usual ? "%s%s%s%s (%s)" : "%s%s%s%s",
                                 used ? ", " : "", p->name, value && !p->usual ? "=" : "",
                                 value && !p->usual ? value : "", p->usual);
    }
    return text;
}

int rlt_split_setting(const char *text, char *name, size_t size, const char **value, const char *where,
                      rlt_error *err)
{
    const char *equals = strchr(text, '=');
    if (!equals || equals == text || (size_t)(equals - text) >= size)
        return rlt_fail(err, RLT_EUSAGE, where, "expected NAME=VALUE, got '%s'", text);
    memcpy(name, text, (size_t)(equals - text));
    name[equals - text] = '\0';
    *value = equals + 1;
    return 0;
}
