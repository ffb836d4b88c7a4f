/* SPDX-License-Identifier: GPL-3.0-or-later */
/* XML by expat. Maps its callbacks to ours, adds places and limits, and refuses document types. */
#include "sim/text/xml.h"

#include <expat.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct reader {
    XML_Parser parser;
    const char *file;
    const rlt_xml_handler *handler;
    void *user;
    uint32_t depth;
    char *open[RLT_XML_MAX_DEPTH]; /* names of the open elements, for text() */
    int rc;
    rlt_error *err;
} reader;

static uint32_t clamp(XML_Size n)
{
    return n >= UINT32_MAX ? UINT32_MAX : (uint32_t)n;
}

/* Strips the prefix: "g:node" -> "node". */
static const char *local(const char *name)
{
    const char *colon = strrchr(name, ':');
    return colon ? colon + 1 : name;
}

/* From here on the functions that return an unsigned long are deprecated. */
#if XML_MAJOR_VERSION > 2 || XML_MINOR_VERSION >= 9
#define XML_GetCurrentLineNumber   XML_GetCurrentLineNumber64
#define XML_GetCurrentColumnNumber XML_GetCurrentColumnNumber64
#endif

static rlt_xml_tag tag_of(const reader *r, const char *name, const char **attributes, uint32_t depth)
{
    bool prefixed = false;
    for (const char **a = attributes; a && *a && !prefixed; a += 2)
        prefixed = strchr(a[0], ':') != NULL;
    return (rlt_xml_tag){.file = r->file,
                         .prefixed = prefixed,
                         .name = local(name),
                         .attributes = (const char *const *)attributes,
                         .line = clamp(XML_GetCurrentLineNumber(r->parser)),
                         .column = clamp(XML_GetCurrentColumnNumber(r->parser)) + 1,
                         .depth = depth};
}

/* expat may still deliver an event or two after this. */
static void stop(reader *r, int rc)
{
    r->rc = rc;
    XML_StopParser(r->parser, XML_FALSE);
}

static void XMLCALL on_start(void *user, const XML_Char *name, const XML_Char **attributes)
{
    reader *r = user;
    if (r->rc)
        return;
    rlt_xml_tag tag = tag_of(r, name, attributes, r->depth);
    int rc = 0, n = XML_GetSpecifiedAttributeCount(r->parser) / 2;
    if (r->depth == RLT_XML_MAX_DEPTH)
        rc = rlt_xml_fail(&tag, RLT_ERANGE, r->err, "elements nested more than %d deep", RLT_XML_MAX_DEPTH);
    else if (n > RLT_XML_MAX_ATTRIBUTES)
        rc = rlt_xml_fail(&tag, RLT_ERANGE, r->err, "an element of %d attributes; at most %d", n,
                          RLT_XML_MAX_ATTRIBUTES);
    else if (r->handler->text && !(r->open[r->depth] = strdup(tag.name)))
        rc = rlt_nomem(r->err);
    else if (r->handler->start)
        rc = r->handler->start(r->user, &tag, r->err);
    r->depth++;
    if (rc)
        stop(r, rc);
}

static void XMLCALL on_end(void *user, const XML_Char *name)
{
    reader *r = user;
    if (r->rc)
        return;
    rlt_xml_tag tag = tag_of(r, name, NULL, --r->depth);
    free(r->open[r->depth]);
    r->open[r->depth] = NULL;
    int rc = r->handler->end ? r->handler->end(r->user, &tag, r->err) : 0;
    if (rc)
        stop(r, rc);
}

static void XMLCALL on_text(void *user, const XML_Char *text, int length)
{
    reader *r = user;
    if (r->rc || !r->depth)
        return;
    rlt_xml_tag tag = tag_of(r, r->open[r->depth - 1], NULL, r->depth - 1);
    int rc = r->handler->text(r->user, &tag, text, (size_t)length, r->err);
    if (rc)
        stop(r, rc);
}

static void XMLCALL on_doctype(void *user, const XML_Char *name, const XML_Char *system,
                               const XML_Char *public, int has_internal)
{
    reader *r = user;
    (void)system, (void)public, (void)has_internal;
    if (r->rc)
        return;
    rlt_xml_tag tag = tag_of(r, name, NULL, 0);
    stop(r, rlt_xml_fail(&tag, RLT_EMALFORMED, r->err,
                         "document types and entity declarations are not supported; remove them"));
}

static int syntax_error(const reader *r)
{
    enum XML_Error code = XML_GetErrorCode(r->parser);
    if (code == XML_ERROR_NO_MEMORY)
        return rlt_nomem(r->err);
    rlt_xml_tag tag = tag_of(r, "", NULL, 0);
    return rlt_xml_fail(&tag, RLT_EMALFORMED, r->err, "not well-formed XML: %s", XML_ErrorString(code));
}

int rlt_xml_read(const char *file, const char *text, size_t length, const rlt_xml_handler *handler,
                 void *user, rlt_error *err)
{
    reader r = {.file = file, .handler = handler, .user = user, .err = err};
    if (length > RLT_XML_MAX_BYTES)
        return rlt_fail(err, RLT_ERANGE, file, "an XML text of more than %d MiB", RLT_XML_MAX_BYTES >> 20);
    r.parser = XML_ParserCreate(NULL);
    if (!r.parser)
        return rlt_nomem(err);
    XML_SetUserData(r.parser, &r);
    XML_SetElementHandler(r.parser, on_start, on_end);
    XML_SetStartDoctypeDeclHandler(r.parser, on_doctype);
    if (handler->text)
        XML_SetCharacterDataHandler(r.parser, on_text);
    if (XML_Parse(r.parser, text, (int)length, XML_TRUE) != XML_STATUS_OK && !r.rc)
        r.rc = syntax_error(&r);
    for (uint32_t i = 0; i < RLT_XML_MAX_DEPTH; i++)
        free(r.open[i]);
    XML_ParserFree(r.parser);
    return r.rc;
}

int rlt_xml_fail(const rlt_xml_tag *tag, int code, rlt_error *err, const char *fmt, ...)
{
    char where[sizeof err->where];
    va_list args;
    snprintf(where, sizeof where, "%.450s:%" PRIu32 ":%" PRIu32, tag->file, tag->line, tag->column);
    va_start(args, fmt);
    rlt_vfail(err, code, where, fmt, args);
    va_end(args);
    return code;
}

/* Returns true if an attribute has this name. Most names differ in their first byte. */
static inline bool is_named(const rlt_xml_tag *tag, const char *attribute, const char *name)
{
    const char *own = tag->prefixed ? local(attribute) : attribute;
    return own[0] == name[0] && strcmp(own, name) == 0;
}

const char *rlt_xml_get(const rlt_xml_tag *tag, const char *name)
{
    for (const char *const *a = tag->attributes; a && *a; a += 2)
        if (is_named(tag, a[0], name))
            return a[1];
    return NULL;
}

bool rlt_xml_is(const rlt_xml_tag *tag, const char *name)
{
    return strcmp(tag->name, name) == 0;
}

int rlt_xml_get_text(const rlt_xml_tag *tag, const char *name, bool required, const char **out,
                     rlt_error *err)
{
    const char *value = rlt_xml_get(tag, name);
    if (!value)
        return required ? rlt_xml_fail(tag, RLT_ESCHEMA, err, "<%.60s> has no '%s'", tag->name, name) : 0;
    *out = value;
    return 0;
}

/* Reads an integer. strtoll also accepts blanks and signs that a file should not have. */
static bool read_i64(const char *text, int64_t *out)
{
    bool negative = *text == '-';
    int64_t value = 0;
    text += negative;
    if (!*text)
        return false;
    for (; *text; text++) {
        if (*text < '0' || *text > '9' || value > (INT64_MAX - 9) / 10)
            return false;
        value = 10 * value + (*text - '0');
    }
    *out = negative ? -value : value;
    return true;
}

int rlt_xml_get_i64(const rlt_xml_tag *tag, const char *name, bool required, int64_t min, int64_t max,
                    int64_t *out, rlt_error *err)
{
    const char *text = NULL;
    int64_t value;
    int rc = rlt_xml_get_text(tag, name, required, &text, err);
    if (rc || !text)
        return rc;
    if (!read_i64(text, &value) || value < min || value > max)
        return rlt_xml_fail(tag, RLT_ERANGE, err,
                            "expected '%s' of <%.60s> to be an integer from %" PRId64 " to %" PRId64
                            ", got '%.60s'",
                            name, tag->name, min, max, text);
    *out = value;
    return 0;
}

int rlt_xml_only(const rlt_xml_tag *tag, const char *const *names, rlt_error *err)
{
    for (const char *const *a = tag->attributes; a && *a; a += 2) {
        const char *const *n = names;
        while (*n && !is_named(tag, a[0], *n))
            n++;
        if (!*n)
            return rlt_xml_fail(tag, RLT_ESCHEMA, err, "unknown attribute '%.60s' of <%.60s>", a[0],
                                tag->name);
    }
    return 0;
}

const char *rlt_xml_version(void)
{
    const char *version = XML_ExpatVersion(), *digits = strpbrk(version, "0123456789");
    return digits ? digits : version; /* "expat_2.5.0" */
}
