/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "tools/output/react.h"

void rlt_agg_counts_json(rlt_jw *w, const rlt_agg_counts *c)
{
    rlt_jw_u64(w, "sums", c->completions);
    rlt_jw_u64(w, "contributions", c->contributions);
    rlt_jw_u64(w, "duplicates", c->duplicates);
    rlt_jw_u64(w, "unicasts", c->unicasts);
    rlt_jw_u64(w, "collisions", c->collisions);
    rlt_jw_u64(w, "collisions_with_other_jobs", c->foreign);
    rlt_jw_u64(w, "fallbacks", c->fallbacks);
    rlt_jw_u64(w, "preemptions", c->preemptions);
    rlt_jw_u64(w, "evictions", c->evictions);
}
