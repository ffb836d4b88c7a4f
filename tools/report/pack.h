/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers as bytes (LEB128) and bytes as base64, for the bulk data of a page. */
#ifndef RLT_TOOLS_REPORT_PACK_H
#define RLT_TOOLS_REPORT_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise. The owner frees `bytes`. A failed allocation is remembered. */
typedef struct rlt_pack {
    unsigned char *bytes;
    size_t n, capacity;
    bool failed;
} rlt_pack;

void rlt_pack_byte(rlt_pack *p, unsigned byte);
/* Appends a number: seven bits a byte, lowest first; every byte but the last has the eighth bit set. */
void rlt_pack_number(rlt_pack *p, uint64_t number);
/* Returns malloc'ed text, or NULL if memory ran out now or earlier. */
char *rlt_pack_base64(const rlt_pack *p);

#endif
