/* SPDX-License-Identifier: GPL-3.0-or-later */
/* The links of a finished run. */
#include <stdlib.h>

#include "tools/run/run.h"

int rlt_run_links(const rlt_run *r, bool folded, rlt_link_class **classes, uint32_t *n, rlt_error *err)
{
    const rlt_net *net = rlt_replay_net(r->replay);
    *classes = NULL;
    *n = 0;
    return net ? rlt_links_list(r->setup.topology, net->usage, rlt_run_end(r), folded, classes, n, err) : 0;
}

rlt_time rlt_run_end(const rlt_run *r)
{
    return rlt_sim_now(rlt_replay_sim(r->replay));
}
