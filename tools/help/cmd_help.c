/* SPDX-License-Identifier: GPL-3.0-or-later */
/* ringlet help: topics, terms, chapters, commands with worked examples, and a search over all of them. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/options.h"
#include "sim/base/param.h"
#include "sim/base/text.h"
#include "sim/base/words.h"
#include "tools/base/command.h"
#include "tools/base/commands.h"
#include "tools/help/chapters.h"
#include "tools/help/help.h"
#include "tools/help/markdown.h"
#include "tools/output/output.h"

enum { SUBJECT = 256, NAME_WIDTH = 17 };

typedef struct help_settings {
    const char *word;
} help_settings;

static const rlt_option own_options[] = {
    {"search", 'k', RLT_PARAM_TEXT, "WORD",
     "Lists every place where WORD stands: topics, terms, chapters, options, settings and columns.",
     .offset = offsetof(help_settings, word)},
    {0}};
static const rlt_option_group options[] = {{"Options", own_options, 0}, {0}};

static bool topic_at(uint32_t i, rlt_chapter *c)
{
    for (*c = (rlt_chapter){0}; rlt_chapter_next(c);)
        if (rlt_chapter_is_topic(c) && i-- == 0)
            return true;
    return false;
}

/* For the completion: commands, then topics. Not shared by threads. */
static const char *topic_word(uint32_t i)
{
    static char name[RLT_CHAPTER_NAME];
    const rlt_command *c;
    uint32_t commands = 0;
    rlt_chapter topic;
    for (; (c = rlt_command_at(commands)); commands++)
        if (commands == i)
            return c->name;
    return topic_at(i - commands, &topic) ? rlt_chapter_name(&topic, name) : NULL;
}

static void list_topics(FILE *out)
{
    rlt_chapter c;
    char name[RLT_CHAPTER_NAME];
    rlt_heading(out, "Topics:");
    for (uint32_t i = 0; topic_at(i, &c); i++) {
        const char *summary;
        size_t n;
        rlt_chapter_summary(&c, &summary, &n);
        fprintf(out, "  %-*s %.*s\n", NAME_WIDTH, rlt_chapter_name(&c, name), (int)n, summary);
    }
    fputc('\n', out);
    rlt_heading(out, "Chapters, a room of the sources each:");
    int column = 0;
    for (c = (rlt_chapter){0}; rlt_chapter_next(&c);) {
        if (rlt_chapter_is_topic(&c))
            continue;
        int n = (int)strlen(rlt_chapter_name(&c, name));
        if (column && column + 1 + n > 80) {
            fputc('\n', out);
            column = 0;
        }
        column += fprintf(out, "%s%s", column ? " " : "  ", name);
    }
    fputs("\n\n'ringlet help TOPIC' prints one, 'ringlet help TERM' what a word of the output means;\n"
          "'ringlet help COMMAND' explains a command with worked examples;\n"
          "'ringlet help -k WORD' lists every place where a word stands.\n",
          out);
}

static int print_document(const rlt_chapter *c, const char *slug, rlt_error *err)
{
    char *text = NULL;
    rlt_section s;
    int rc = rlt_help_document(c, &text, err);
    if (!rc && !slug)
        rc = rlt_render(stdout, text, strlen(text), c->path, err);
    else if (!rc && rlt_section_find(text, slug, &s))
        rc = rlt_render(stdout, s.text, rlt_section_whole(&s), c->path, err);
    else if (!rc) {
        rlt_nearest near = rlt_nearest_to(slug);
        char all[64][RLT_SLUG];
        size_t n = 0;
        for (s = (rlt_section){0}; rlt_section_next(text, &s) && n < 64;)
            if (s.level)
                rlt_nearest_try(&near, rlt_section_slug(&s, all[n++]));
        rc = rlt_fail(err, RLT_EUSAGE, c->path, "no section '%s'%s%s%s", slug,
                      near.best ? "; did you mean '" : "", near.best ? near.best : "", near.best ? "'?" : "");
    }
    free(text);
    return rc;
}

/* "net/flow#interface", or the one room whose last name it is ("flow"). */
static bool find_chapter(const char *subject, rlt_chapter *c)
{
    char name[RLT_CHAPTER_NAME];
    rlt_chapter only = {0};
    if (rlt_chapter_find(subject, c))
        return true;
    for (*c = (rlt_chapter){0}; rlt_chapter_next(c);) {
        const char *last = strrchr(rlt_chapter_name(c, name), '/');
        if (!last || strcmp(last + 1, subject) != 0)
            continue;
        if (only.path)
            return false;
        only = *c;
    }
    *c = only;
    return only.path != NULL;
}

/* Chapters of rooms that have the same last name as what was printed. */
static void print_related(const char *subject)
{
    char name[RLT_CHAPTER_NAME];
    bool any = false;
    for (rlt_chapter c = {0}; rlt_chapter_next(&c);) {
        const char *last = strrchr(rlt_chapter_name(&c, name), '/');
        if (!last || strcmp(last + 1, subject) != 0)
            continue;
        printf("%s ringlet help %s", any ? "," : "\nSee also:", name);
        any = true;
    }
    if (any)
        putchar('\n');
}

static const rlt_command *find_command(char *const *words, int n, char *name, size_t size)
{
    const rlt_command *c = NULL, *found = NULL;
    for (uint32_t i = 0; n && (c = rlt_command_at(i)) && strcmp(c->name, words[0]) != 0; i++)
        continue;
    if (!n || !c || n > 2)
        return NULL;
    snprintf(name, size, "ringlet %s", c->name);
    if (n == 1)
        return c;
    for (const rlt_command *const *v = c->verbs; v && *v && !found; v++)
        if (strcmp((*v)->name, words[1]) == 0)
            found = *v;
    if (found)
        snprintf(name, size, "ringlet %s %s", c->name, found->name);
    return found;
}

/* The help of a command, its examples, and where more stands. */
static int print_command(const rlt_command *c, const char *name, const char *first, rlt_error *err)
{
    char slug[RLT_SLUG];
    rlt_chapter examples;
    rlt_section s;
    int rc = 0;
    rlt_print_help(stdout, name, c);
    snprintf(slug, sizeof slug, "ringlet-%s", first);
    if (rlt_chapter_find("examples", &examples) && rlt_section_find(examples.text, slug, &s)) {
        const char *body = memchr(s.text, '\n', s.length);
        putchar('\n');
        rlt_heading(stdout, "Worked examples:");
        putchar('\n');
        rc = rlt_render(stdout, body, rlt_section_whole(&s) - (size_t)(body - s.text), examples.path, err);
    }
    print_related(first);
    return rc;
}

static int print_column(const char *subject, bool *found, rlt_error *err)
{
    rlt_chapter c;
    char *text = NULL;
    rlt_growing rows = {0};
    if (!rlt_chapter_find("columns", &c))
        return 0;
    int rc = rlt_help_document(&c, &text, err);
    if (!rc)
        rc = rlt_help_column(&rows, text, subject, err);
    *found = rc > 0;
    if (rc > 0 && !(rc = rlt_growing_whole(&rows, err)))
        rc = rlt_render(stdout, rows.text, rows.length, NULL, err);
    free(rows.text);
    free(text);
    return rc;
}

static int unknown(const char *subject, rlt_error *err)
{
    static char names[512][RLT_TERM];
    size_t n = 0;
    const rlt_command *command;
    rlt_chapter c = {0}, glossary;
    rlt_nearest near = rlt_nearest_to(subject);
    for (uint32_t i = 0; (command = rlt_command_at(i)); i++)
        rlt_nearest_try(&near, command->name);
    while (rlt_chapter_next(&c) && n < 256) {
        char name[RLT_CHAPTER_NAME];
        snprintf(names[n], RLT_TERM, "%.63s", rlt_chapter_name(&c, name));
        rlt_nearest_try(&near, names[n++]);
    }
    if (rlt_chapter_find("glossary", &glossary))
        for (rlt_section s = {0}; rlt_section_next(glossary.text, &s);)
            for (int i = 0; s.level > 1 && n < 512 && rlt_help_term_name(&s, i, names[n]); i++)
                rlt_nearest_try(&near, names[n++]);
    if (near.best)
        return rlt_fail(err, RLT_EUSAGE, subject, "no such topic; did you mean '%s'?", near.best);
    return rlt_fail(err, RLT_EUSAGE, subject,
                    "no such topic; 'ringlet help' lists them, 'ringlet help -k %s' searches", subject);
}

static int print_subject(const char *subject, rlt_error *err)
{
    char name[SUBJECT];
    rlt_chapter c;
    rlt_section s;
    bool found = false;
    const char *section = strchr(subject, '#');
    snprintf(name, sizeof name, "%.*s", (int)strcspn(subject, "#"), subject);
    bool chapter = find_chapter(name, &c);
    bool exact = chapter && (section || rlt_chapter_is_topic(&c) || strchr(name, '/'));
    if (!exact && rlt_help_term(subject, &s)) {
        int rc = rlt_render(stdout, s.text, s.length, "tools/help/glossary.md", err);
        print_related(subject);
        return rc;
    }
    if (chapter)
        return print_document(&c, section ? section + 1 : NULL, err);
    int rc = print_column(subject, &found, err);
    return rc || found ? rc : unknown(subject, err);
}

static int run(const rlt_parsed *args, void *settings, rlt_error *err)
{
    const help_settings *s = settings;
    char subject[SUBJECT] = "", name[SUBJECT];
    if (s->word) {
        int found = rlt_help_search(stdout, s->word, err);
        return found > 0 ? 0 : found < 0 ? found : rlt_fail(err, RLT_EUSAGE, s->word, "stands nowhere");
    }
    if (!args->n_operands) {
        rlt_print_overview(stdout);
        putchar('\n');
        list_topics(stdout);
        return 0;
    }
    const rlt_command *c = find_command(args->operands, args->n_operands, name, sizeof name);
    if (c)
        return print_command(c, name, args->operands[0], err);
    for (int i = 0; i < args->n_operands; i++) {
        size_t used = strlen(subject);
        snprintf(subject + used, sizeof subject - used, "%s%s", i ? " " : "", args->operands[i]);
    }
    return print_subject(subject, err);
}

const rlt_command rlt_cmd_help = {
    .name = "help",
    .summary = "topics, terms, chapters, commands with worked examples; searched with -k",
    .operands = "[TOPIC]",
    .operand_at = topic_word,
    .min_operands = 0,
    .max_operands = 8,
    .description =
        "Prints a topic (ringlet help lists them), what a word of the output means (ringlet help busbw), a "
        "chapter about a room of the sources (ringlet help net/flow), a section of one (ringlet help "
        "net/flow#reading-order), a column of a result (ringlet help wait_ps), or a command with worked "
        "examples (ringlet help coll).",
    .example = "ringlet help busbw",
    .options = options,
    .settings_size = sizeof(help_settings),
    .run = run,
};
