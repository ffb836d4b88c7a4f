/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "workload/models/precision.h"

#include <stddef.h>

static const char fp8[] = "Micikevicius et al., arXiv 2209.05433; a scale per tensor",
                  mx[] = "OCP Microscaling Formats specification 1.0: a scale of 8 bits for 32 elements",
                  nv[] = "NVIDIA, arXiv 2509.25149: a scale of 8 bits for 16 elements, and one per tensor";

static const rlt_precision formats[] = {
    {"element", 0, 0, 0, "set by the training"},
    {"fp32", 32, 0, 0, "IEEE 754"},
    {"bf16", 16, 0, 0, "16 bits"},
    {"fp16", 16, 0, 0, "IEEE 754"},
    {"fp8", 8, 0, 0, fp8},
    {"mxfp8", 8, 32, 8, mx},
    {"mxfp6", 6, 32, 8, mx},
    {"mxfp4", 4, 32, 8, mx},
    {"nvfp4", 4, 16, 8, nv},
};

const rlt_precision *rlt_precision_at(uint32_t i)
{
    return i < sizeof formats / sizeof *formats ? &formats[i] : NULL;
}

const char *rlt_precision_word(uint32_t i)
{
    const rlt_precision *p = rlt_precision_at(i);
    return p ? p->name : NULL;
}

double rlt_precision_bytes(uint32_t i, uint32_t element_bytes)
{
    const rlt_precision *p = &formats[i];
    double bits = p->bits + (p->block ? (double)p->scale_bits / p->block : 0);
    return i ? bits / 8 : element_bytes;
}
