/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet help -k WORD: every place where a word stands. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "tools/base/command.h"
#include "tools/help/chapters.h"
#include "tools/help/help.h"
#include "tools/help/markdown.h"
#include "tools/help/settings.h"
#include "tools/output/output.h"

enum { EXCERPT = 68, BEFORE = 24 };

typedef struct search {
    FILE *out;
    const char *word;
    const char *title; /* title of the group until it is printed, then NULL */
    int found;
} search;

/* A place, and the part of the line [line .. line + n) around the word. */
static void hit(search *s, const char *place, const char *line, size_t n)
{
    const char *at = rlt_help_find(line, n, s->word), *end = line + n;
    bool cut = at && at - line > BEFORE && n > EXCERPT;
    if (cut) {
        const char *blank = memchr(at - BEFORE, ' ', BEFORE);
        cut = blank != NULL;
        line = blank ? blank + 1 : line;
    }
    while (line < end && strchr("| #>-", *line))
        line++;
    n = (size_t)(end - line);
    bool long_line = rlt_text_width(line, n) > EXCERPT;
    while (long_line && n && (rlt_text_width(line, n) > EXCERPT || line[n] != ' '))
        n--;
    if (long_line && n == 0) /* without a blank to cut at */
        for (n = (size_t)(end - line); rlt_text_width(line, n) > EXCERPT;)
            n--;
    if (s->title) {
        fputs(s->found ? "\n" : "", s->out);
        rlt_heading(s->out, "%s:", s->title);
    }
    s->title = NULL;
    fprintf(s->out, "  %s\n    %s%.*s%s\n", place, cut ? "... " : "", (int)n, line, long_line ? " ..." : "");
    s->found++;
}

static void search_section(search *s, const rlt_chapter *c, const char *name, const rlt_section *section)
{
    char place[RLT_CHAPTER_NAME + RLT_SLUG + 32], slug[RLT_SLUG], term[RLT_TERM];
    const char *end = section->text + section->length,
               *at = rlt_help_find(section->text, section->length, s->word);
    const char *line = at;
    if (!at)
        return;
    if (rlt_chapter_is_topic(c) && strcmp(name, "glossary") == 0 && section->level > 1 &&
        rlt_help_term_name(section, 0, term))
        snprintf(place, sizeof place, "ringlet help %s%s%s", strchr(term, ' ') ? "'" : "", term,
                 strchr(term, ' ') ? "'" : "");
    else
        snprintf(place, sizeof place, "ringlet help %s%s%s", name, section->level > 1 ? "#" : "",
                 section->level > 1 ? rlt_section_slug(section, slug) : "");
    while (line > section->text && line[-1] != '\n')
        line--;
    const char *stop = memchr(at, '\n', (size_t)(end - at));
    hit(s, place, line, (size_t)((stop ? stop : end) - line));
}

/* Topics first, then the pages of rooms. */
static int search_chapters(search *s, bool topics, rlt_error *err)
{
    int rc = 0;
    for (rlt_chapter c = {0}; !rc && rlt_chapter_next(&c);) {
        char name[RLT_CHAPTER_NAME], *text = NULL;
        rlt_chapter_name(&c, name);
        if (rlt_chapter_is_topic(&c) != topics)
            continue;
        if (strcmp(name, "columns") == 0) {
            rc = rlt_help_document(&c, &text, err);
            c.text = text ? text : c.text;
        }
        for (rlt_section section = {0}; !rc && rlt_section_next(c.text, &section);)
            search_section(s, &c, name, &section);
        rlt_chapter_find(name, &c);
        free(text);
    }
    return rc;
}

static void search_options(search *s, const char *name, const rlt_command *c)
{
    const rlt_option *o;
    if (rlt_help_find(c->description, strlen(c->description), s->word)) {
        char place[96];
        snprintf(place, sizeof place, "%s --help", name);
        hit(s, place, c->description, strlen(c->description));
    }
    for (uint32_t i = 0; (o = rlt_option_at(c->options, i, NULL)); i++) {
        char place[160];
        snprintf(place, sizeof place, "%s --%s", name, o->name);
        if (rlt_help_find(o->name, strlen(o->name), s->word) ||
            rlt_help_find(o->help, strlen(o->help), s->word))
            hit(s, place, o->help, strlen(o->help));
    }
    for (const rlt_command *const *v = c->verbs; v && *v; v++) {
        char verb[96];
        snprintf(verb, sizeof verb, "%s %s", name, (*v)->name);
        search_options(s, verb, *v);
    }
}

static void no_owner(void *self, const rlt_setting_owner *o)
{
    (void)self, (void)o;
}

static void search_setting(void *self, const rlt_setting_owner *o, const rlt_param *p)
{
    search *s = self;
    char place[256];
    const char *help = p->help ? p->help : "";
    snprintf(place, sizeof place, "%s%s%s=", o->given, o->prefix ? o->prefix : "", p->name);
    if (rlt_help_find(p->name, strlen(p->name), s->word) || rlt_help_find(help, strlen(help), s->word))
        hit(s, place, help, strlen(help));
}

int rlt_help_search(FILE *out, const char *word, rlt_error *err)
{
    search s = {.out = out, .word = word, .title = "Topics, terms and columns"};
    const rlt_command *c;
    int rc = search_chapters(&s, true, err);
    s.title = "Chapters of rooms";
    rc = rc ? rc : search_chapters(&s, false, err);
    s.title = "Options";
    for (uint32_t i = 0; (c = rlt_command_at(i)); i++) {
        char name[64];
        snprintf(name, sizeof name, "ringlet %s", c->name);
        search_options(&s, name, c);
    }
    s.title = "Settings";
    rlt_each_setting(&(rlt_setting_visitor){no_owner, search_setting, &s});
    return rc ? rc : s.found;
}
