/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes the page with its data. */
#include "tools/report/page.h"

#include <stdlib.h>
#include <string.h>

#include "tools/base/file.h"

char *rlt_page_escape(const char *json, size_t length)
{
    size_t extra = 0;
    for (size_t i = 0; i < length; i++)
        extra += json[i] == '<' ? 5 : 0;
    char *text = malloc(length + extra + 1), *out = text;
    if (!text)
        return NULL;
    for (size_t i = 0; i < length; i++)
        if (json[i] == '<') {
            memcpy(out, "\\u003c", 6); /* inside a string: JSON has no '<' elsewhere */
            out += 6;
        } else
            *out++ = json[i];
    *out = '\0';
    return text;
}

int rlt_page_write(const char *path, const char *json, size_t length, rlt_error *err)
{
    char *data = rlt_page_escape(json, length);
    rlt_file f;
    if (!data)
        return rlt_nomem(err);
    int rc = rlt_file_open(&f, path, err);
    if (!rc) {
        fputs(rlt__page_head, f.stream);
        fputs(data, f.stream);
        fputs(rlt__page_tail, f.stream);
        rc = rlt_file_close(&f, err);
    }
    free(data);
    return rc;
}
