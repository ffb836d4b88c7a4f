/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Fills options from texts, by their tables. */
#include "sim/base/options.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

/* Reads one option. Errors name it as the user types it. */
static int put(const rlt_option *o, char *settings, const char *text, rlt_error *err)
{
    char where[64];
    snprintf(where, sizeof where, "--%s", o->name);
    return rlt_param_read(o, settings, text, where, err);
}

int rlt_options_begin(const rlt_option_group *groups, void *settings, rlt_parsed *out, rlt_error *err)
{
    *out = (rlt_parsed){.groups = groups, .settings = settings};
    for (const rlt_option_group *g = groups; g && g->options; g++)
        for (const rlt_option *o = g->options; o->name; o++)
            out->n_options++;
    out->given = calloc(out->n_options + 1, sizeof *out->given);
    return out->given ? 0 : rlt_nomem(err);
}

int rlt_options_give(rlt_parsed *p, uint32_t i, const char *text, rlt_error *err)
{
    size_t base = 0;
    const rlt_option *o = rlt_option_at(p->groups, i, &base);
    p->given[i] = text;
    return put(o, (char *)p->settings + base, text, err);
}

/* Returns true if an option that `spared_by` lists was given: "NAME=VALUE", or "NAME" for any value,
 * separated by blanks. */
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

/* Sets the preset of an option that was not given; reports a missing required one. */
static int finish_option(const rlt_parsed *p, const rlt_option *o, size_t base, rlt_error *err)
{
    char where[64];
    if (o->required && !spared(p, o)) {
        snprintf(where, sizeof where, "--%s", o->name);
        return rlt_fail(err, RLT_EUSAGE, where, "is required: pass %s %s", where, o->arg ? o->arg : "VALUE");
    }
    return o->preset ? put(o, (char *)p->settings + base, o->preset, err) : 0;
}

int rlt_options_finish(const rlt_parsed *p, rlt_error *err)
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
    int rc = rlt_options_begin(groups, settings, out, err);
    for (uint32_t i = 0; i < n && !rc; i++)
        rc = rlt_options_give(out, words[i].option, words[i].text, err);
    return rc ? rc : rlt_options_finish(out, err);
}

void rlt_parsed_free(rlt_parsed *p)
{
    for (const rlt_option_group *g = p->given ? p->groups : NULL; g && g->options; g++)
        for (const rlt_option *o = g->options; o->name; o++)
            if (o->kind == RLT_PARAM_LIST)
                free(((rlt_texts *)(void *)((char *)p->settings + g->base + o->offset))->items);
    free(p->given);
    p->given = NULL;
}
