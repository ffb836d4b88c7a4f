/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "net/import/read.h"

#include <string.h>

char *rlt__topo_stem(rlt_arena *arena, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    return rlt_arena_strndup(arena, base, dot && dot > base ? (size_t)(dot - base) : strlen(base));
}

bool rlt__topo_kind(const char *word, rlt_node_kind *kind)
{
    static const char *const words[] = {"accelerator", "nic", "pcie", "cpu", "switch"};
    static const rlt_node_kind kinds[] = {RLT_ACCELERATOR, RLT_NIC, RLT_PCIE, RLT_CPU, RLT_SWITCH};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        if (strcmp(word, words[i]) == 0) {
            *kind = kinds[i];
            return true;
        }
    }
    return false;
}

bool rlt__topo_pxn(const char *word, rlt_pxn *pxn)
{
    *pxn = strcmp(word, "on") == 0 ? RLT_PXN_ON : RLT_PXN_OFF;
    return *pxn == RLT_PXN_ON || strcmp(word, "off") == 0;
}

const char *rlt__skip_escape(const char *p, const char *end)
{
    if (end - p < 2 || p[0] != '\x1b' || p[1] != '[')
        return p;
    for (p += 2; p < end && (*p < '@' || *p > '~'); p++)
        ;
    return p < end ? p + 1 : p;
}
