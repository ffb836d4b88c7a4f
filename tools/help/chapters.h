/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Chapters: the Markdown files of the tree, embedded by the build. A chapter of this room is a topic and is
 * named by its file ("folding"); a room's page is named by the room ("net/flow"), another file of a room by
 * both ("net/import/formats"), the first page of the tree "readme". Texts are constant and shared.
 */
#ifndef RLT_TOOLS_HELP_CHAPTERS_H
#define RLT_TOOLS_HELP_CHAPTERS_H

#include <stdbool.h>
#include <stddef.h>

/* Path, text, path, text, ..., each ended by a NUL, and an empty path. Written by the build. */
extern const char rlt__help_texts[];

typedef struct rlt_chapter {
    const char *path, *text;
} rlt_chapter;

/* The chapter after *c, in the order of paths; the first one after {0}. False past the last. */
bool rlt_chapter_next(rlt_chapter *c);

enum { RLT_CHAPTER_NAME = 128 };
/* Returns name. */
char *rlt_chapter_name(const rlt_chapter *c, char name[RLT_CHAPTER_NAME]);
/* A topic: a chapter of this room, but not the room's own page. */
bool rlt_chapter_is_topic(const rlt_chapter *c);
/* The chapter of that name, that path, or of the file that `link` in the chapter `from` (NULL: none) leads
 * to. False: there is none. */
bool rlt_chapter_find(const char *name, rlt_chapter *c);
bool rlt_chapter_linked(const char *from, const char *link, rlt_chapter *c);

/* A heading with what stands below it, up to the next heading of any level. */
typedef struct rlt_section {
    const char *heading; /* without its marks, not NUL-terminated; NULL: what stands before the first one */
    size_t heading_length;
    const char *text; /* from the heading's own line on */
    size_t length;
    int level; /* 1 to 6; 0 without a heading */
} rlt_section;

/* The section after *s in `text`; the first one after {0}. False past the last. Headings in code are none. */
bool rlt_section_next(const char *text, rlt_section *s);
/* Its length with the sections below it in rank. */
size_t rlt_section_whole(const rlt_section *s);

enum { RLT_SLUG = 96 };
/* The heading as links name it: "Your own machine" is your-own-machine. Returns slug. */
char *rlt_section_slug(const rlt_section *s, char slug[RLT_SLUG]);
bool rlt_section_find(const char *text, const char *slug, rlt_section *s);

/* Returns the text behind the colon of a chapter's first heading; empty without one. */
void rlt_chapter_summary(const rlt_chapter *c, const char **summary, size_t *length);

#endif
