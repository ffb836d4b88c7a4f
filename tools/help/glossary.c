/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Terms: the sections of tools/help/glossary.md, each headed by its names. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "tools/help/chapters.h"
#include "tools/help/help.h"

bool rlt_help_term_name(const rlt_section *entry, int i, char name[RLT_TERM])
{
    const char *at = entry->heading, *end = at + entry->heading_length;
    for (; at < end; i--) {
        const char *comma = memchr(at, ',', (size_t)(end - at));
        comma = comma ? comma : end;
        if (i == 0) {
            snprintf(name, RLT_TERM, "%.*s", (int)(comma - at), at);
            return true;
        }
        at = comma + 1;
        at += at < end && *at == ' ';
    }
    return false;
}

/* Letters and digits alone count: "Comm-Wait" and "comm wait" are one. */
static bool same(const char *a, const char *b)
{
    for (;; a++, b++) {
        while (*a && !isalnum((unsigned char)*a))
            a++;
        while (*b && !isalnum((unsigned char)*b))
            b++;
        if (tolower((unsigned char)*a) != tolower((unsigned char)*b))
            return false;
        if (!*a)
            return true;
    }
}

bool rlt_help_term(const char *term, rlt_section *entry)
{
    rlt_chapter c;
    char name[RLT_TERM];
    if (!rlt_chapter_find("glossary", &c))
        return false;
    for (*entry = (rlt_section){0}; rlt_section_next(c.text, entry);)
        for (int i = 0; entry->level > 1 && rlt_help_term_name(entry, i, name); i++)
            if (same(name, term))
                return true;
    return false;
}
