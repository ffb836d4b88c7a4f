/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Accounts of a stretch of a run that repeats. */
#include <stdlib.h>
#include <string.h>

#include "net/network.h"
#include "net/usage.h"
#include "net/usage_internal.h"
#include "sim/base/time.h"

int rlt_net_mark(rlt_net *net)
{
    rlt_usage *u = net->usage;
    if (u->series || net->unique)
        return RLT_EUNSUPPORTED;
    if (!u->marked)
        u->marked = malloc((u->n + 1) * sizeof *u->marked);
    if (!u->marked)
        return RLT_ENOMEM;
    memcpy(u->marked, u->links, u->n * sizeof *u->marked);
    net->marked = (rlt_net_totals){net->messages, net->bytes_offered, net->bytes_delivered,
                                   net->bytes_absorbed, net->bytes_replicated};
    return 0;
}

static rlt_time active(const rlt_account *a)
{
    return a->active + (a->to - a->from);
}

void rlt_net_repeat(rlt_net *net, uint64_t times, rlt_time period_ps)
{
    rlt_usage *u = net->usage;
    rlt_time later = period_ps * (rlt_time)times;
    for (uint32_t i = 0; i < u->n; i++) {
        rlt_account *a = &u->links[i];
        const rlt_account *m = &u->marked[i];
        if (a->messages == m->messages)
            continue;
        rlt_time more = (active(a) - active(m)) * (rlt_time)times;
        a->bytes += (a->bytes - m->bytes) * times;
        a->messages += (a->messages - m->messages) * times;
        a->active += more;
        if (a->to > 0) { /* the open interval moves to the last repetition */
            a->from += later;
            a->to += later;
        }
    }
    net->messages += (net->messages - net->marked.messages) * times;
    net->bytes_offered += (net->bytes_offered - net->marked.bytes_offered) * times;
    net->bytes_delivered += (net->bytes_delivered - net->marked.bytes_delivered) * times;
    net->bytes_absorbed += (net->bytes_absorbed - net->marked.bytes_absorbed) * times;
    net->bytes_replicated += (net->bytes_replicated - net->marked.bytes_replicated) * times;
}
