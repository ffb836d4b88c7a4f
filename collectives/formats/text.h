/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Names in the texts of plans. Internal to collectives/. */
#ifndef RLT_COLLECTIVES_FORMATS_TEXT_H
#define RLT_COLLECTIVES_FORMATS_TEXT_H

#include <stddef.h>

/* Makes a name that all formats allow: characters other than letters, digits and "_-.+(),=:" become '_'. */
void rlt_plain_name(const char *name, char *out, size_t size);

#endif
