/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Walking over JSON text without building anything: sim/text/json.c checks a text with it and finds the places
 * of values. Internal to sim/text.
 */
#ifndef RLT_SIM_TEXT_JSON_SCAN_H
#define RLT_SIM_TEXT_JSON_SCAN_H

#include <stdbool.h>

enum { RLT__JSON_DEPTH = 64 };

typedef struct rlt__json_scanner {
    const char *text, *p, *end;
    const char *what; /* the first mistake, found at p */
} rlt__json_scanner;

void rlt__json_space(rlt__json_scanner *s);
/* Over a string that starts at p. */
bool rlt__json_scan_string(rlt__json_scanner *s);
/* Over blanks and one value; false with `what` at the first mistake. */
bool rlt__json_scan(rlt__json_scanner *s, int depth);

#endif
