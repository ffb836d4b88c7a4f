/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "net/import/infragraph/infragraph.h"
int rlt_topology_to_infragraph(const rlt_topology *t, char **text, rlt_error *err)
{
    (void)t;
    (void)text;
    return rlt_fail(err, RLT_EUNSUPPORTED, NULL, "not yet");
}
