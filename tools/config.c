/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Options from a JSON file, as if they had been typed. */
#include "tools/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "net/json.h"
#include "sim/mem.h"
#include "tools/message.h"

enum { MAX_WORDS = 1 << 16 };

/* `at`: the value whose option or text this is. */
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
    c->owned[c->n_owned++] = (rlt_config_word){word, place};
    return 0;
}

static int known(const rlt_option_group *groups, const char *whose, rlt_json v, const rlt_option **out,
                 rlt_error *err)
{
    const char *key = rlt_json_key(v);
    rlt_nearest near = rlt_nearest_to(key);
    const rlt_option *o;
    for (uint32_t i = 0; (o = rlt_option_at(groups, i, NULL)); i++) {
        rlt_nearest_try(&near, o->name);
        if (strcmp(o->name, key) == 0) {
            *out = o;
            return 0;
        }
    }
    return rlt_json_fail(v, RLT_ESCHEMA, err, "no option %s%s%s%s", whose,
                         near.best ? "; did you mean '" : "", near.best ? near.best : "",
                         near.best ? "'?" : "");
}

/* A number or string as text; a bool inside an object is on or off. */
static int text_of(rlt_json v, const char *document, const char **text, size_t *length, rlt_error *err)
{
    if (rlt_json_is_string(v)) {
        *text = rlt_json_string(v);
        *length = strlen(*text);
    } else if (rlt_json_is_number(v)) {
        size_t begin, end;
        rlt_json_extent(v, &begin, &end);
        *text = document + begin;
        *length = end - begin;
    } else {
        return rlt_json_fail(v, RLT_ESCHEMA, err, "expected a text or a number");
    }
    return 0;
}

static int list_of(rlt_json v, const char *document, char **out, size_t *length, rlt_error *err)
{
    FILE *f = open_memstream(out, length);
    int rc = f ? 0 : rlt_nomem(err);
    for (rlt_json m = rlt_json_first(v); !rc && rlt_json_is(m); m = rlt_json_next(m)) {
        const char *text;
        size_t n;
        rc = text_of(m, document, &text, &n, err);
        if (!rc)
            fprintf(f, "%s%s=%.*s", ftell(f) ? "," : "", rlt_json_key(m), (int)n, text);
    }
    if (f && fclose(f) && !rc)
        rc = rlt_nomem(err);
    return rc;
}

static int add_value(rlt_config *c, const char *name, rlt_json v, const char *document, rlt_error *err)
{
    char option[80], *made = NULL;
    const char *text;
    size_t length;
    int n = snprintf(option, sizeof option, "--%s", name);
    int rc = add(c, v, option, (size_t)n, err);
    if (rc)
        return rc;
    if (rlt_json_is_object(v)) {
        rc = list_of(v, document, &made, &length, err);
        text = made;
    } else {
        rc = text_of(v, document, &text, &length, err);
    }
    if (!rc)
        rc = add(c, v, text, length, err);
    free(made);
    return rc;
}

static int add_member(rlt_config *c, const rlt_option_group *groups, const char *whose, rlt_json v,
                      const char *document, rlt_error *err)
{
    const rlt_option *o = NULL;
    char option[80];
    int rc = known(groups, whose, v, &o, err);
    if (rc)
        return rc;
    if (o->kind == RLT_OPT_FLAG) {
        bool on = rlt_json_is_true(v);
        if (!on &&
            (rlt_json_is_string(v) || rlt_json_is_number(v) || rlt_json_is_object(v) || rlt_json_is_array(v)))
            return rlt_json_fail(v, RLT_ESCHEMA, err, "expected true or false");
        int n = snprintf(option, sizeof option, "--%s", o->name);
        return on ? add(c, v, option, (size_t)n, err) : 0;
    }
    if (!rlt_json_is_array(v))
        return add_value(c, o->name, v, document, err);
    for (rlt_json item = rlt_json_first(v); !rc && rlt_json_is(item); item = rlt_json_next(item))
        rc = add_value(c, o->name, item, document, err);
    return rc;
}

static int read_config(rlt_config *c, const rlt_option_group *groups, const char *whose, const char *path,
                       rlt_error *err)
{
    rlt_json_doc *doc = NULL;
    int rc = rlt_json_load(path, &doc, err);
    if (rc)
        return rc;
    rlt_json root = rlt_json_root(doc);
    if (!rlt_json_is_object(root))
        rc = rlt_json_fail(root, RLT_ESCHEMA, err, "expected an object of options");
    for (rlt_json v = rlt_json_first(root); !rc && rlt_json_is(v); v = rlt_json_next(v))
        if (rlt_json_key(v)[0] != '_')
            rc = add_member(c, groups, whose, v, rlt_json_text(doc), err);
    rlt_json_free(doc);
    return rc;
}

/* argv[0], then the files' options, then what was kept of argv. */
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

/* The word of a file that an option's text is, or a flag's name: what was typed besides is in its place. */
static const rlt_config_word *word_of(const rlt_config *c, const rlt_option *o, const char *text)
{
    for (uint32_t i = 0; i < c->n_owned; i++) {
        const char *word = c->owned[i].text;
        if (word == text || (o->kind == RLT_OPT_FLAG && text && strncmp(word, "--", 2) == 0 &&
                             strcmp(word + 2, o->name) == 0))
            return &c->owned[i];
    }
    return NULL;
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
