/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Documents: chapters with what they ask for. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "tools/help/chapters.h"
#include "tools/help/help.h"
#include "tools/help/markdown.h"

const char *rlt_help_find(const char *text, size_t n, const char *word)
{
    size_t length = strlen(word);
    for (size_t i = 0; length && i + length <= n; i++)
        if (strncasecmp(text + i, word, length) == 0)
            return text + i;
    return NULL;
}

/* The argument of the comment "<!-- NAME: ARGUMENT -->"; false: there is none. */
static bool ask(const char *text, const char *name, char *argument, size_t size)
{
    char begin[32];
    snprintf(begin, sizeof begin, "<!-- %s: ", name);
    const char *at = strstr(text, begin), *end;
    if (!at || !(end = strstr(at, " -->")))
        return false;
    at += strlen(begin);
    snprintf(argument, size, "%.*s", (int)(end - at), at);
    return true;
}

/* Sections and chapters of rooms whose headings begin so, whole. */
static void show(rlt_growing *out, const char *heading)
{
    for (rlt_chapter c = {0}; rlt_chapter_next(&c);)
        for (rlt_section s = {0}; !rlt_chapter_is_topic(&c) && rlt_section_next(c.text, &s);)
            if (s.level && s.heading_length >= strlen(heading) &&
                strncasecmp(s.heading, heading, strlen(heading)) == 0)
                rlt_growing_add(out, "\n%.*s", (int)rlt_section_whole(&s), s.text);
}

static bool has_one(const rlt_section *s, const char *words)
{
    char word[64];
    for (size_t n; *words; words += n + strspn(words + n, ", ")) {
        n = strcspn(words, ",");
        snprintf(word, sizeof word, "%.*s", (int)n, words);
        if (rlt_help_find(s->heading, s->heading_length, word))
            return true;
    }
    return false;
}

static void see(rlt_growing *out, const char *topic, const char *words)
{
    bool any = false;
    for (rlt_chapter c = {0}; rlt_chapter_next(&c);) {
        if (strcmp(c.path, topic) == 0 || strcmp(c.path, "tools/help/glossary.md") == 0)
            continue;
        for (rlt_section s = {0}; rlt_section_next(c.text, &s);) {
            char name[RLT_CHAPTER_NAME], slug[RLT_SLUG];
            if (!s.level || !has_one(&s, words))
                continue;
            rlt_chapter_name(&c, name);
            rlt_section_slug(&s, slug);
            rlt_growing_add(out, "%s", any ? "" : "\n## Read on\n\n");
            any = true;
            rlt_growing_add(out, "- `ringlet help %s%s%s`: %.*s\n", name, s.level > 1 ? "#" : "",
                            s.level > 1 ? slug : "", (int)s.heading_length, s.heading);
        }
    }
}

int rlt_help_document(const rlt_chapter *c, char **text, rlt_error *err)
{
    char argument[256], name[RLT_CHAPTER_NAME];
    rlt_growing out = {0};
    rlt_growing_bytes(&out, c->text, strlen(c->text));
    if (rlt_chapter_is_topic(c) && strcmp(rlt_chapter_name(c, name), "columns") == 0)
        rlt_help_columns(&out);
    if (ask(c->text, "show", argument, sizeof argument))
        show(&out, argument);
    if (ask(c->text, "see", argument, sizeof argument))
        see(&out, c->path, argument);
    *text = out.text;
    return rlt_growing_whole(&out, err);
}

int rlt_help_man(FILE *out, const char *chapter, const char *slug, rlt_error *err)
{
    rlt_chapter c;
    rlt_section s;
    if (!rlt_chapter_find(chapter, &c) || (slug && !rlt_section_find(c.text, slug, &s)))
        return 0;
    const char *body = slug ? memchr(s.text, '\n', s.length) : c.text;
    if (!body)
        return 0;
    return rlt_roff(out, body, slug ? rlt_section_whole(&s) - (size_t)(body - s.text) : strlen(body), c.path,
                    err);
}
