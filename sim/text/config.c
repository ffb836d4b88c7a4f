/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options from a JSON file, as if they had been typed. */
#include "sim/text/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/mem.h"
#include "sim/base/param.h"
#include "sim/text/json.h"
#include "sim/text/tree.h"

enum { MAX_WORDS = 1 << 16 };

/* Adds one argument. `at` is the value in the file to which it belongs. */
static int add(rlt_config *c, rlt_json at, const char *text, size_t length, rlt_error *err)
{
    char where[sizeof err->where];
    int rc =
        rlt_grow(&c->owned, &c->room, sizeof *c->owned, (uint64_t)c->n_owned + 1, MAX_WORDS, "options", err);
    if (rc)
        return rc;
    rlt_json_where(at, where, sizeof where);
    char *word = malloc(length + 1), *place = strdup(where);
    if (!word || !place) {
        free(word);
        free(place);
        return rlt_nomem(err);
    }
    memcpy(word, text, length);
    word[length] = '\0';
    c->owned[c->n_owned++] = (rlt_config_word){word, place, c->n_files};
    return 0;
}

/* Adds the texts of an option. `v` is its value, or one element of a list. */
static int add_texts(rlt_config *c, const rlt_json_tree *v, const rlt_option *o, uint32_t number,
                     rlt_arena *arena, rlt_error *err)
{
    rlt_option_texts texts = {0};
    char option[80];
    int n = snprintf(option, sizeof option, "--%s", o->name);
    int rc = rlt_tree_option(v, NULL, o, number, arena, &texts, err);
    for (uint32_t i = 0; i < texts.n && !rc; i++) {
        rc = add(c, v->at, option, (size_t)n, err);
        if (!rc && o->kind != RLT_PARAM_FLAG)
            rc = add(c, v->at, texts.items[i].text, strlen(texts.items[i].text), err);
    }
    free(texts.items);
    return rc;
}

static int add_member(rlt_config *c, const rlt_option_group *groups, const char *whose,
                      const rlt_json_tree *v, rlt_arena *arena, rlt_error *err)
{
    uint32_t number = 0;
    int rc = rlt_tree_known(groups, whose, v, &number, err);
    if (rc)
        return rc;
    const rlt_option *o = rlt_option_at(groups, number, NULL);
    if (o->kind == RLT_PARAM_FLAG || v->kind != RLT_TREE_ARRAY)
        return add_texts(c, v, o, number, arena, err);
    for (const rlt_json_tree *item = v->first; item && !rc; item = item->next)
        rc = item->kind == RLT_TREE_ARRAY
                 ? rlt_json_fail(item->at, RLT_ESCHEMA, err, "expected a text or a number")
                 : add_texts(c, item, o, number, arena, err);
    return rc;
}

static int read_config(rlt_config *c, const rlt_option_group *groups, const char *whose, const char *path,
                       rlt_error *err)
{
    rlt_json_doc *doc = NULL;
    int rc = rlt_json_load(path, &doc, err);
    if (rc)
        return rc;
    c->n_files++;
    rlt_json root = rlt_json_root(doc);
    rlt_arena arena = {0};
    rlt_json_tree *tree = NULL;
    if (!rlt_json_is_object(root))
        rc = rlt_json_fail(root, RLT_ESCHEMA, err, "expected an object of options");
    else
        rc = rlt_tree_make(&arena, root, &tree, err);
    for (const rlt_json_tree *v = rc ? NULL : tree->first; v && !rc; v = v->next)
        rc = add_member(c, groups, whose, v, &arena, err);
    rlt_arena_free(&arena);
    rlt_json_free(doc);
    return rc;
}

/* Builds argv: argv[0], the options of the files, then the rest of the original arguments. */
static int put_together(rlt_config *c, char *first, char **kept, int n_kept, rlt_error *err)
{
    c->argc = 1 + (int)c->n_owned + n_kept;
    c->argv = calloc((size_t)c->argc + 1, sizeof *c->argv);
    if (!c->argv)
        return rlt_nomem(err);
    c->argv[0] = first;
    for (uint32_t i = 0; i < c->n_owned; i++)
        c->argv[1 + i] = c->owned[i].text;
    if (n_kept)
        memcpy(c->argv + 1 + c->n_owned, kept, (size_t)n_kept * sizeof *kept);
    return 0;
}

int rlt_config_file(rlt_config *c, const rlt_option_group *groups, const char *whose, const char *path,
                    rlt_error *err)
{
    static char none[] = "";
    *c = (rlt_config){0};
    int rc = read_config(c, groups, whose, path, err);
    return rc ? rc : put_together(c, none, NULL, 0, err);
}

int rlt_config_expand(rlt_config *c, const rlt_option_group *groups, int argc, char **argv, rlt_error *err)
{
    static const char name[] = "--config";
    int rc = 0, n_kept = 0;
    *c = (rlt_config){0};
    char **kept = calloc((size_t)argc + 1, sizeof *kept);
    if (!kept)
        return rlt_nomem(err);
    for (int i = 1; i < argc && !rc; i++) {
        size_t n = sizeof name - 1;
        bool here = strncmp(argv[i], name, n) == 0 && (argv[i][n] == '\0' || argv[i][n] == '=');
        const char *path = !here ? NULL : argv[i][n] ? argv[i] + n + 1 : i + 1 < argc ? argv[++i] : "";
        if (path && !*path)
            rc = rlt_fail(err, RLT_EUSAGE, name, "expected a file");
        else if (path)
            rc = read_config(c, groups, "of this command", path, err);
        else
            kept[n_kept++] = argv[i];
    }
    if (!rc)
        rc = put_together(c, argv[0], kept, n_kept, err);
    free(kept);
    return rc;
}

static uint32_t number_of(const rlt_option_group *groups, const char *name)
{
    uint32_t i = 0;
    const rlt_option *o;
    while ((o = rlt_option_at(groups, i, NULL)) && strcmp(o->name, name) != 0)
        i++;
    return i;
}

int rlt_config_fill(const rlt_config *c, const rlt_option_group *groups, void *settings, rlt_parsed *out,
                    rlt_error *err)
{
    int rc = rlt_options_begin(groups, settings, out, err);
    for (uint32_t i = 0; i < c->n_owned && !rc; i++) {
        uint32_t number = number_of(groups, c->owned[i].text + 2);
        bool flag = rlt_option_at(groups, number, NULL)->kind == RLT_PARAM_FLAG;
        rc = rlt_options_give(out, number, flag ? "" : c->owned[++i].text, err);
    }
    return rc ? rc : rlt_options_finish(out, err);
}

/* Returns the file's word that holds an option's text, or a flag's name; NULL if the option was typed,
 * because the typed text has replaced it. */
static const rlt_config_word *word_of(const rlt_config *c, const rlt_option *o, const char *text)
{
    for (uint32_t i = 0; i < c->n_owned; i++) {
        const char *word = c->owned[i].text;
        if (word == text || (o->kind == RLT_PARAM_FLAG && text && strncmp(word, "--", 2) == 0 &&
                             strcmp(word + 2, o->name) == 0))
            return &c->owned[i];
    }
    return NULL;
}

/* Returns the number of the file that an option's text is from, 0 for the command line. */
static uint32_t file_of(const rlt_config *c, const char *text)
{
    for (uint32_t i = 0; i < c->n_owned; i++)
        if (c->owned[i].text == text)
            return c->owned[i].file;
    return 0;
}

static bool same_name(const char *a, const char *b)
{
    size_t n = strcspn(a, "=");
    return n && a[n] && strncmp(a, b, n + 1) == 0;
}

static int settle_names(const rlt_config *c, const rlt_option *o, rlt_texts *list, rlt_error *err)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < list->n; i++) {
        uint32_t k = i + 1;
        while (k < list->n && !same_name(list->items[i], list->items[k]))
            k++;
        if (k < list->n && file_of(c, list->items[i]) == file_of(c, list->items[k])) {
            char where[160];
            snprintf(where, sizeof where, "--%s: %.*s", o->name, (int)strcspn(list->items[i], "="),
                     list->items[i]);
            return rlt_fail(err, RLT_EUSAGE, where, "is given twice, as '%.60s' and as '%.60s'",
                            list->items[i], list->items[k]);
        }
        if (k == list->n)
            list->items[kept++] = list->items[i];
    }
    list->n = kept;
    return 0;
}

int rlt_config_names(const rlt_config *c, rlt_parsed *p, rlt_error *err)
{
    int rc = 0;
    for (const rlt_option_group *g = p->groups; g && g->options; g++)
        for (const rlt_option *o = g->options; o->name && !rc; o++)
            if (o->named)
                rc =
                    settle_names(c, o, (rlt_texts *)(void *)((char *)p->settings + g->base + o->offset), err);
    return rc;
}

int rlt_config_locate(const rlt_config *c, const rlt_parsed *p, int rc, rlt_error *err)
{
    char rest[sizeof err->where];
    const rlt_option *o;
    if (!err || !c->n_owned || !p->given || strncmp(err->where, "--", 2) != 0)
        return rc;
    size_t n = strcspn(err->where + 2, ":");
    for (uint32_t i = 0; (o = rlt_option_at(p->groups, i, NULL)); i++) {
        const rlt_config_word *w = NULL;
        if (strlen(o->name) == n && memcmp(o->name, err->where + 2, n) == 0)
            w = word_of(c, o, p->given[i]);
        if (!w)
            continue;
        const char *more = err->where + 2 + n;
        snprintf(rest, sizeof rest, "%s", more + (*more ? strspn(more, ": ") : 0));
        err->where[0] = '\0';
        if (*rest)
            snprintf(err->where, sizeof err->where, "%s", rest);
        rlt_error_prefix(err, w->where);
        return rc == RLT_EUSAGE ? (err->code = RLT_ESCHEMA) : rc;
    }
    return rc;
}

void rlt_config_free(rlt_config *c)
{
    for (uint32_t i = 0; i < c->n_owned; i++) {
        free(c->owned[i].text);
        free(c->owned[i].where);
    }
    free(c->owned);
    free(c->argv);
    *c = (rlt_config){0};
}
