/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Writes plans as GOAL: the messages for one size of the collective, and their order, without their
 * contents. */
#include "collectives/algorithm.h"
#include "collectives/collective.h"
#include "collectives/formats/plan_file.h"
#include "collectives/formats/text.h"
#include "collectives/formats/unroll.h"
#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/base/time.h"

static void write_member(rlt_growing *t, const rlt_plan *plan, const rlt_unrolled *u, uint32_t member)
{
    uint32_t first = u->first[member];
    rlt_growing_add(t, "\nrank %u {\n", member);
    for (uint32_t i = first; i < u->first[member + 1]; i++) {
        const rlt_unrolled_op *o = &u->ops[i], *other = o->other < u->n_ops ? &u->ops[o->other] : o;
        const rlt_unrolled_op *sender = o->type == RLT_OP_RECV ? other : o;
        rlt_step s;
        rlt_step_clear(&s);
        plan->algorithm->step(plan, sender->member, sender->lane, sender->step, &s);
        /* The index of the receive serves as tag, so that every message has its own. */
        if (o->type == RLT_OP_SEND)
            rlt_growing_add(t, "l%u: send %llub to %u tag %u\n", i - first + 1,
                            (unsigned long long)s.send_bytes, other->member,
                            o->other - u->first[other->member]);
        else if (o->type == RLT_OP_RECV)
            rlt_growing_add(t, "l%u: recv %llub from %u tag %u\n", i - first + 1,
                            (unsigned long long)s.send_bytes, other->member, i - first);
        else
            rlt_growing_add(t, "l%u: calc 0\n", i - first + 1);
        if (o->after != RLT_NONE)
            rlt_growing_add(t, "l%u requires l%u\n", i - first + 1, o->after - first + 1);
        if (o->wait != RLT_NONE)
            rlt_growing_add(t, "l%u requires l%u\n", i - first + 1, o->wait - first + 1);
    }
    rlt_growing_add(t, "}\n");
}

int rlt_goal_write(const rlt_plan *plan, const char *name, char **text, size_t *length, rlt_error *err)
{
    rlt_growing t = {0};
    rlt_unrolled u;
    char plain[64];
    int rc = rlt_unroll(plan, false, &u, err);
    if (rc)
        return rc;
    rlt_plain_name(name, plain, sizeof plain);
    rlt_growing_add(&t, "/* ringlet plan: %s collective %s root %u bytes %llu */\nnum_ranks %u\n", plain,
                    rlt_coll_name(plan->req.kind), plan->req.root, (unsigned long long)plan->req.bytes,
                    plan->req.n);
    for (uint32_t m = 0; m < plan->req.n; m++)
        write_member(&t, plan, &u, m);
    rlt_unrolled_free(&u);
    return rlt_growing_finish(&t, text, length, err);
}
