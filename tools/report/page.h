/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The page: one self-contained HTML file with its data inside. Its sources are in tools/report/page/ and are
 * joined at build time (tools/report/page/embed.c).
 */
#ifndef RLT_TOOLS_REPORT_PAGE_H
#define RLT_TOOLS_REPORT_PAGE_H

#include <stddef.h>

#include "sim/base/error.h"

/* Text of the page before and after its data; NUL-terminated. */
extern const char rlt__page_head[], rlt__page_tail[];

/* Returns JSON to stand inside the page: malloc'ed, with '<' escaped, so that no text can end the element.
 * NULL: no memory. */
char *rlt_page_escape(const char *json, size_t length);
/* Writes the page with these data (valid JSON) to a file; "-" or NULL: standard output. */
int rlt_page_write(const char *path, const char *json, size_t length, rlt_error *err) RLT_MUST_USE;

#endif
