/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/help/chapters.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static const char own_room[] = "tools/help/", page[] = "README.md";

bool rlt_chapter_next(rlt_chapter *c)
{
    const char *path = c->path ? c->text + strlen(c->text) + 1 : rlt__help_texts;
    if (!*path)
        return false;
    *c = (rlt_chapter){path, path + strlen(path) + 1};
    return true;
}

bool rlt_chapter_is_topic(const rlt_chapter *c)
{
    size_t n = sizeof own_room - 1;
    return strncmp(c->path, own_room, n) == 0 && strcmp(c->path + n, page) != 0;
}

char *rlt_chapter_name(const rlt_chapter *c, char name[RLT_CHAPTER_NAME])
{
    const char *file = strrchr(c->path, '/');
    const char *from = rlt_chapter_is_topic(c) ? c->path + sizeof own_room - 1 : c->path;
    file = file ? file + 1 : c->path;
    size_t n = strlen(from) - strlen(".md");
    if (strcmp(file, page) == 0 && file > c->path)
        n = (size_t)(file - 1 - from);
    snprintf(name, RLT_CHAPTER_NAME, "%.*s", (int)n, from);
    for (char *at = name; *at; at++)
        *at = (char)tolower((unsigned char)*at);
    return name;
}

bool rlt_chapter_find(const char *wanted, rlt_chapter *c)
{
    char name[RLT_CHAPTER_NAME];
    for (*c = (rlt_chapter){0}; rlt_chapter_next(c);)
        if (strcmp(rlt_chapter_name(c, name), wanted) == 0 || strcmp(c->path, wanted) == 0)
            return true;
    return false;
}

/* "net/flow/../import" becomes "net/import"; false where that leaves the tree. */
static bool add_parts(char *path, size_t size, const char *parts, size_t n)
{
    for (const char *at = parts, *end = parts + n; at < end;) {
        size_t length = strcspn(at, "/");
        length = length > (size_t)(end - at) ? (size_t)(end - at) : length;
        size_t used = strlen(path);
        if (length == 2 && memcmp(at, "..", 2) == 0) {
            char *last = strrchr(path, '/');
            if (!used)
                return false;
            *(last ? last : path) = '\0';
        } else if (length && !(length == 1 && *at == '.'))
            snprintf(path + used, size - used, "%s%.*s", used ? "/" : "", (int)length, at);
        at += length + 1;
    }
    return true;
}

bool rlt_chapter_linked(const char *from, const char *link, rlt_chapter *c)
{
    char path[256] = "";
    const char *folder_end = from ? strrchr(from, '/') : NULL;
    size_t n = strcspn(link, "#");
    if (!n || strstr(link, "://") ||
        !add_parts(path, sizeof path, from, folder_end ? (size_t)(folder_end - from) : 0) ||
        !add_parts(path, sizeof path, link, n))
        return false;
    if (rlt_chapter_find(path, c))
        return true;
    size_t used = strlen(path);
    snprintf(path + used, sizeof path - used, "%s%s", used ? "/" : "", page);
    return rlt_chapter_find(path, c);
}

/* The marks of a heading: "## "; 0: the line is none. */
static int heading_level(const char *line)
{
    int level = (int)strspn(line, "#");
    return level <= 6 && line[level] == ' ' ? level : 0;
}

static const char *next_line(const char *line)
{
    line += strcspn(line, "\n");
    return *line ? line + 1 : line;
}

bool rlt_section_next(const char *text, rlt_section *s)
{
    const char *at = s->text ? s->text + s->length : text;
    bool code = false;
    if (!*at)
        return false;
    *s = (rlt_section){.text = at, .level = heading_level(at)};
    if (s->level) {
        s->heading = at + s->level + 1;
        s->heading_length = strcspn(s->heading, "\n");
        at = next_line(at);
    }
    for (; *at && (code || !heading_level(at)); at = next_line(at))
        if (strncmp(at, "```", 3) == 0)
            code = !code;
    s->length = (size_t)(at - s->text);
    return true;
}

size_t rlt_section_whole(const rlt_section *s)
{
    rlt_section next = *s;
    size_t length = s->length;
    while (rlt_section_next(s->text, &next) && next.level > s->level)
        length += next.length;
    return length;
}

char *rlt_section_slug(const rlt_section *s, char slug[RLT_SLUG])
{
    size_t n = 0;
    for (size_t i = 0; i < s->heading_length && n + 1 < RLT_SLUG; i++) {
        unsigned char c = (unsigned char)s->heading[i];
        if (isalnum(c) || c == '-' || c == '_' || c >= 0x80)
            slug[n++] = (char)tolower(c);
        else if (c == ' ')
            slug[n++] = '-';
    }
    slug[n] = '\0';
    return slug;
}

bool rlt_section_find(const char *text, const char *wanted, rlt_section *s)
{
    char slug[RLT_SLUG];
    for (*s = (rlt_section){0}; rlt_section_next(text, s);)
        if (s->level && strcmp(rlt_section_slug(s, slug), wanted) == 0)
            return true;
    return false;
}

void rlt_chapter_summary(const rlt_chapter *c, const char **summary, size_t *length)
{
    rlt_section s = {0};
    *summary = "", *length = 0;
    while (rlt_section_next(c->text, &s) && !s.level)
        continue;
    const char *colon = s.level ? memchr(s.heading, ':', s.heading_length) : NULL;
    if (!colon)
        return;
    *summary = colon + 1 + strspn(colon + 1, " ");
    *length = (size_t)(s.heading + s.heading_length - *summary);
}
