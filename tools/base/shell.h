/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Words of a command line that is meant to be pasted. */
#ifndef RLT_TOOLS_BASE_SHELL_H
#define RLT_TOOLS_BASE_SHELL_H

#include <stdio.h>

/* Writes a word so that a shell reads it as it is: in quotes if it has other characters than plain ones. */
void rlt_put_word(FILE *out, const char *word);

#endif
