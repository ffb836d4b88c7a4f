/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Numbers as bytes (LEB128) and bytes as base64: what a page carries in bulk. */
#ifndef RLT_TOOLS_REPORT_PACK_H
#define RLT_TOOLS_REPORT_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Zero-initialise; `bytes` is freed by the owner. A failed allocation is remembered. */
typedef struct rlt_pack {
    unsigned char *bytes;
    size_t n, capacity;
    bool failed;
} rlt_pack;

void rlt_pack_byte(rlt_pack *p, unsigned byte);
/* Seven bits a byte, lowest first; all but the last have the eighth. */
void rlt_pack_number(rlt_pack *p, uint64_t number);
/* malloc'ed text, or NULL when memory ran out, now or before. */
char *rlt_pack_base64(const rlt_pack *p);

#endif
