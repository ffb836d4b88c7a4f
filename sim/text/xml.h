/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Reads XML strictly, element by element. sim/text/xml.c is the only file that knows expat.
 *
 * A document type is refused at its "<!DOCTYPE", so that no entity is ever declared or expanded. Also refused
 * are depth above RLT_XML_MAX_DEPTH, more than RLT_XML_MAX_ATTRIBUTES attributes in an element, and texts
 * above RLT_XML_MAX_BYTES. Names lose their namespace prefix ("g:node" is "node"). Text arrives as UTF-8.
 */
#ifndef RLT_SIM_TEXT_XML_H
#define RLT_SIM_TEXT_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "sim/base/error.h"

#ifdef __cplusplus
extern "C" {
#endif

enum { RLT_XML_MAX_DEPTH = 64, RLT_XML_MAX_ATTRIBUTES = 64, RLT_XML_MAX_BYTES = 256 << 20 };

/* The current tag. Valid during the call that receives it. */
typedef struct rlt_xml_tag {
    const char *file;              /* name of the text in messages */
    const char *name;              /* name of the element */
    const char *const *attributes; /* name, value, name, value, ..., NULL; NULL for an end tag */
    uint32_t line, column;         /* place of its '<', from 1 */
    uint32_t depth;                /* 0: the outermost element */
    bool prefixed;                 /* some attribute's name has a prefix */
} rlt_xml_tag;

/* Callbacks; each may be NULL. A result other than 0 stops the reading and is returned by rlt_xml_read. */
typedef struct rlt_xml_handler {
    int (*start)(void *user, const rlt_xml_tag *tag, rlt_error *err);
    int (*end)(void *user, const rlt_xml_tag *tag, rlt_error *err);
    /* Character data between tags, in pieces, blanks included. `tag` is the enclosing element, with the place
     * of the piece and without attributes. */
    int (*text)(void *user, const rlt_xml_tag *tag, const char *text, size_t length, rlt_error *err);
} rlt_xml_handler;

/* Reads text[0..length). Errors have file:line:column. RLT_EMALFORMED, RLT_ERANGE, RLT_ENOMEM. */
int rlt_xml_read(const char *file, const char *text, size_t length, const rlt_xml_handler *handler,
                 void *user, rlt_error *err) RLT_MUST_USE;

/* Fails with the place of the tag. */
int rlt_xml_fail(const rlt_xml_tag *tag, int code, rlt_error *err, const char *fmt, ...) RLT_PRINTF(4);
/* Returns the value of an attribute, or NULL. */
const char *rlt_xml_get(const rlt_xml_tag *tag, const char *name);
bool rlt_xml_is(const rlt_xml_tag *tag, const char *name);

/* Typed attributes. Return 0 when read, and also when absent and not `required` (*out then keeps its
 * value). */
int rlt_xml_get_text(const rlt_xml_tag *tag, const char *name, bool required, const char **out,
                     rlt_error *err) RLT_MUST_USE;
/* Reads a decimal integer in [min, max]. */
int rlt_xml_get_i64(const rlt_xml_tag *tag, const char *name, bool required, int64_t min, int64_t max,
                    int64_t *out, rlt_error *err) RLT_MUST_USE;
/* Refuses attributes that are not in the NULL-terminated list. */
int rlt_xml_only(const rlt_xml_tag *tag, const char *const *names, rlt_error *err) RLT_MUST_USE;

/* Returns the version of expat. */
const char *rlt_xml_version(void);

#ifdef __cplusplus
}
#endif
#endif
