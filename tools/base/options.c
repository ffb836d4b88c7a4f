/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Parsing of options by their tables, with getopt_long underneath. */
#include "tools/base/options.h"

#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/units.h"
#include "tools/base/message.h"

enum {
    MAX_OPTIONS = 128,
    MAX_TIMES = 1 << 16, /* one option given */
    FIRST_LONG = 256,    /* getopt's value of option 0: beyond all letters */
    HELP = 255,
};

const rlt_option *rlt_option_at(const rlt_option_group *groups, uint32_t i, size_t *base)
{
    for (; groups && groups->options; groups++)
        for (const rlt_option *o = groups->options; o->name; o++)
            if (i-- == 0) {
                if (base)
                    *base = groups->base;
                return o;
            }
    return NULL;
}

bool rlt_given(const rlt_parsed *p, const char *name)
{
    uint32_t i = 0;
    for (const rlt_option_group *g = p->groups; g && g->options; g++)
        for (const rlt_option *o = g->options; o->name; o++, i++)
            if (strcmp(o->name, name) == 0)
                return p->given[i] != NULL;
    return false;
}

int rlt_given_only(const rlt_parsed *p, const char *const *taken, const char *with, rlt_error *err)
{
    for (uint32_t i = 0; i < p->n_options; i++) {
        const char *name = rlt_option_at(p->groups, i, NULL)->name;
        uint32_t k = 0;
        while (taken[k] && strcmp(taken[k], name) != 0)
            k++;
        if (p->given[i] && !taken[k]) {
            char where[64];
            snprintf(where, sizeof where, "--%s", name);
            return rlt_fail(err, RLT_EUSAGE, where, "does not go with %s", with);
        }
    }
    return 0;
}

const char *rlt_option_word(const rlt_option *o, uint32_t i, char *buffer)
{
    const char *cursor = o->words, *word;
    size_t length;
    if (o->word_at)
        return o->word_at(i);
    while ((word = rlt_next_item(&cursor, '|', &length)))
        if (i-- == 0) {
            snprintf(buffer, 64, "%.*s", (int)length, word);
            return buffer;
        }
    return NULL;
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

static int check_word(const rlt_option *o, const char *text, const char *where, rlt_error *err)
{
    char buffer[64], near_buffer[64] = "", list[512] = "";
    const char *word;
    rlt_nearest near = rlt_nearest_to(text);
    for (uint32_t i = 0; (word = rlt_option_word(o, i, buffer)); i++) {
        const char *before = near.best;
        if (strcmp(word, text) == 0)
            return 0;
        rlt_nearest_try(&near, word);
        if (near.best && near.best != before) {
            snprintf(near_buffer, sizeof near_buffer, "%s", word);
            near.best = near_buffer;
        }
        rlt_list_name(list, sizeof list, word);
    }
    if (near.best)
        return rlt_fail(err, RLT_EUSAGE, where, "expected one of %s, got '%s'; did you mean '%s'?", list,
                        text, near.best);
    return rlt_fail(err, RLT_EUSAGE, where, "expected one of %s, got '%s'", list, text);
}

static int read_count(const rlt_option *o, const char *text, uint64_t *out, const char *where, rlt_error *err)
{
    int rc = rlt_parse_count(text, out, where, err);
    if (rc)
        return rc;
    if (*out < o->min)
        return rlt_fail(err, RLT_EUSAGE, where, "expected at least %llu, got '%s'",
                        (unsigned long long)o->min, text);
    if (o->max && *out > o->max)
        return rlt_fail(err, RLT_EUSAGE, where, "expected at most %llu, got '%s'", (unsigned long long)o->max,
                        text);
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

/* Puts one value into its field. What the unit parsers refuse is wrong use here, not bad input. */
static int set_value(const rlt_option *o, char *field, const char *text, rlt_error *err)
{
    rlt_error why = {0};
    char where[64];
    int rc = 0;
    snprintf(where, sizeof where, "--%s", o->name);
    switch (o->kind) {
    case RLT_OPT_FLAG:
        *(bool *)(void *)field = true;
        break;
    case RLT_OPT_WORD:
        rc = check_word(o, text, where, &why);
        *(const char **)(void *)field = text;
        break;
    case RLT_OPT_TEXT:
        if (!*text)
            rc = rlt_fail(&why, RLT_EUSAGE, where, "expected %s, got nothing", o->arg ? o->arg : "a value");
        *(const char **)(void *)field = text;
        break;
    case RLT_OPT_LIST:
        rc = add_text((rlt_texts *)(void *)field, text, where, &why);
        break;
    case RLT_OPT_COUNT:
        rc = read_count(o, text, (uint64_t *)(void *)field, where, &why);
        break;
    case RLT_OPT_SIZE:
        rc = rlt_parse_size(text, (uint64_t *)(void *)field, where, &why);
        break;
    case RLT_OPT_RATE:
        rc = rlt_parse_rate(text, (uint64_t *)(void *)field, where, &why);
        break;
    case RLT_OPT_FLOPS:
        rc = rlt_parse_flops(text, (uint64_t *)(void *)field, where, &why);
        break;
    case RLT_OPT_DURATION:
        rc = rlt_parse_duration(text, (rlt_time *)(void *)field, where, &why);
        break;
    case RLT_OPT_NUMBER:
        rc = rlt_parse_number(text, 0, (double *)(void *)field, where, &why);
        break;
    }
    if (rc && rc != RLT_ENOMEM)
        rc = RLT_EUSAGE;
    return rc ? rlt_fail(err, rc, why.where, "%s", why.what) : 0;
}

/* getopt's two views of the tables. */
typedef struct getopt_view {
    struct option longs[MAX_OPTIONS + 2];
    char shorts[2 * MAX_OPTIONS + 4];
} getopt_view;

static int make_view(rlt_parsed *p, getopt_view *v, rlt_error *err)
{
    const rlt_option *o;
    char *s = v->shorts;
    uint32_t i = 0;
    *s++ = ':';
    for (; (o = rlt_option_at(p->groups, i, NULL)); i++) {
        if (i == MAX_OPTIONS)
            return rlt_fail(err, RLT_ERANGE, "options", "more than %d in one table", MAX_OPTIONS);
        int takes = o->kind != RLT_OPT_FLAG;
        v->longs[i] =
            (struct option){o->name, takes ? required_argument : no_argument, NULL, FIRST_LONG + (int)i};
        if (o->letter) {
            *s++ = o->letter;
            if (takes)
                *s++ = ':';
        }
    }
    v->longs[i] = (struct option){"help", no_argument, NULL, HELP};
    v->longs[i + 1] = (struct option){0};
    *s++ = 'h';
    *s = '\0';
    p->n_options = i;
    return 0;
}

static uint32_t find_letter(const rlt_parsed *p, int letter)
{
    for (uint32_t i = 0; i < p->n_options; i++)
        if (rlt_option_at(p->groups, i, NULL)->letter == letter)
            return i;
    return RLT_NONE;
}

/* Why getopt refused a word of the command line. */
static int refuse(const rlt_parsed *p, int what, const char *word, rlt_error *err)
{
    char name[64];
    rlt_nearest near;
    uint32_t prefixes = 0;
    size_t length = strcspn(word, "=");
    if (optopt >= FIRST_LONG || (what == ':' && optopt)) {
        uint32_t i = optopt >= FIRST_LONG ? (uint32_t)(optopt - FIRST_LONG) : find_letter(p, optopt);
        const rlt_option *o = rlt_option_at(p->groups, i, NULL);
        snprintf(name, sizeof name, "--%s", o->name);
        return what == ':' ? rlt_fail(err, RLT_EUSAGE, name, "needs a value: %s", o->arg ? o->arg : o->words)
                           : rlt_fail(err, RLT_EUSAGE, name, "takes no value");
    }
    if (optopt == HELP)
        return rlt_fail(err, RLT_EUSAGE, "--help", "takes no value");
    if (optopt) {
        snprintf(name, sizeof name, "-%c", optopt);
        return rlt_fail(err, RLT_EUSAGE, name, "unknown option");
    }
    snprintf(name, sizeof name, "%.*s", (int)length, word);
    near = rlt_nearest_to(name + 2);
    rlt_nearest_try(&near, "help");
    for (uint32_t i = 0; i < p->n_options; i++) {
        const char *candidate = rlt_option_at(p->groups, i, NULL)->name;
        rlt_nearest_try(&near, candidate);
        prefixes += strncmp(candidate, name + 2, strlen(name + 2)) == 0;
    }
    if (prefixes > 1)
        return rlt_fail(err, RLT_EUSAGE, name, "short for %u options; write it out", prefixes);
    if (near.best)
        return rlt_fail(err, RLT_EUSAGE, name, "unknown option; did you mean '--%s'?", near.best);
    return rlt_fail(err, RLT_EUSAGE, name, "unknown option");
}

/* "NAME=VALUE" or a flag's "NAME", several of them separated by blanks. */
static bool spared(const rlt_parsed *p, const rlt_option *o)
{
    for (uint32_t i = 0; o->spared_by && i < p->n_options; i++) {
        const char *name = rlt_option_at(p->groups, i, NULL)->name, *at = o->spared_by;
        size_t n = strlen(name);
        for (; p->given[i] && *at; at += strspn(at, " ")) {
            size_t length = strcspn(at, " ");
            bool same = length >= n && strncmp(at, name, n) == 0;
            if (same && (length == n || (at[n] == '=' && strlen(p->given[i]) == length - n - 1 &&
                                         strncmp(at + n + 1, p->given[i], length - n - 1) == 0)))
                return true;
            at += length;
        }
    }
    return false;
}

/* Presets for what was not given, and complaints about what had to be. */
static int finish_option(const rlt_parsed *p, const rlt_option *o, size_t base, rlt_error *err)
{
    char where[64];
    if (o->required && !spared(p, o)) {
        snprintf(where, sizeof where, "--%s", o->name);
        return rlt_fail(err, RLT_EUSAGE, where, "is required: %s", o->arg ? o->arg : "a value");
    }
    return o->preset ? set_value(o, (char *)p->settings + base + o->offset, o->preset, err) : 0;
}

static int finish(const rlt_parsed *p, rlt_error *err)
{
    uint32_t i = 0;
    int rc = 0;
    for (const rlt_option_group *g = p->groups; g && g->options; g++)
        for (const rlt_option *o = g->options; o->name && !rc; o++, i++)
            if (!p->given[i])
                rc = finish_option(p, o, g->base, err);
    return rc;
}

int rlt_options_fill(const rlt_option_group *groups, const rlt_option_text *words, uint32_t n, void *settings,
                     rlt_parsed *out, rlt_error *err)
{
    int rc = 0;
    *out = (rlt_parsed){.groups = groups, .settings = settings};
    for (const rlt_option_group *g = groups; g && g->options; g++)
        for (const rlt_option *o = g->options; o->name; o++)
            out->n_options++;
    out->given = calloc(out->n_options + 1, sizeof *out->given);
    if (!out->given)
        return rlt_nomem(err);
    for (uint32_t i = 0; i < n && !rc; i++) {
        size_t base = 0;
        const rlt_option *o = rlt_option_at(groups, words[i].option, &base);
        out->given[words[i].option] = words[i].text;
        rc = set_value(o, (char *)settings + base + o->offset, words[i].text, err);
    }
    return rc ? rc : finish(out, err);
}

int rlt_options_parse(const rlt_option_group *groups, int argc, char **argv, void *settings, rlt_parsed *out,
                      rlt_error *err)
{
    getopt_view view;
    int c, rc;
    *out = (rlt_parsed){.groups = groups, .settings = settings};
    if ((rc = make_view(out, &view, err)))
        return rc;
    out->given = calloc(out->n_options + 1, sizeof *out->given);
    if (!out->given)
        return rlt_nomem(err);
    opterr = 0;
    optind = 0; /* GNU: start afresh */
    while ((c = getopt_long(argc, argv, view.shorts, view.longs, NULL)) != -1) {
        size_t base = 0;
        if (c == 'h' || c == HELP) {
            out->help = true;
            return 0;
        }
        if (c == '?' || c == ':')
            return refuse(out, c, argv[optind - 1], err);
        uint32_t i = c >= FIRST_LONG ? (uint32_t)(c - FIRST_LONG) : find_letter(out, c);
        const rlt_option *o = rlt_option_at(groups, i, &base);
        out->given[i] = optarg ? optarg : "";
        if ((rc = set_value(o, (char *)settings + base + o->offset, out->given[i], err)))
            return rc;
    }
    out->operands = argv + optind;
    out->n_operands = argc - optind;
    return finish(out, err);
}

void rlt_parsed_free(rlt_parsed *p)
{
    for (const rlt_option_group *g = p->given ? p->groups : NULL; g && g->options; g++)
        for (const rlt_option *o = g->options; o->name; o++)
            if (o->kind == RLT_OPT_LIST)
                free(((rlt_texts *)(void *)((char *)p->settings + g->base + o->offset))->items);
    free(p->given);
    p->given = NULL;
}
