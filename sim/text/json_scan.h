/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Walks over JSON text without building anything. sim/text/json.c uses it to check a text and to find the
 * places of values. Internal to sim/text/.
 */
#ifndef RLT_SIM_TEXT_JSON_SCAN_H
#define RLT_SIM_TEXT_JSON_SCAN_H

#include <stdbool.h>

enum { RLT__JSON_DEPTH = 64 };

typedef struct rlt__json_scanner {
    const char *text, *p, *end;
    const char *what; /* description of the first mistake, which is at p */
} rlt__json_scanner;

void rlt__json_space(rlt__json_scanner *s);
/* Skips a string that starts at p. */
bool rlt__json_scan_string(rlt__json_scanner *s);
/* Skips blanks and one value. Returns false at the first mistake, with `what` set. */
bool rlt__json_scan(rlt__json_scanner *s, int depth);

#endif
