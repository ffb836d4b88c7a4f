/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * The causes of a run's time, and what to change. The parts add up to the whole: exactly in picoseconds, and
 * in tenths of a per cent as printed.
 */
#include <stdio.h>
#include <string.h>

#include "net/topology/topology.h"
#include "sim/base/error.h"
#include "sim/base/units.h"
#include "sim/text/json.h"
#include "tools/output/output.h"
#include "tools/run/report.h"
#include "workload/experiment/run/run.h"
#include "workload/program/program.h"
#include "workload/replay/causes.h"
#include "workload/replay/replay.h"
#include "workload/training/training.h"

enum { WHOLE = 1000 /* tenths of a per cent */, LEAST = 10 /* least share with levers */, WORDS = 400 };

void rlt_run_causes_totals(const rlt_run *r, rlt_jw *w)
{
    for (int c = 0; c < RLT_CAUSES; c++)
        if (rlt_cause_key((rlt_cause)c))
            rlt_jw_i64(w, rlt_cause_key((rlt_cause)c), r->causes[r->last_rank].ps[c]);
    for (int b = 0; b < RLT_BUBBLES; b++)
        rlt_jw_i64(w, rlt_bubble_key((rlt_bubble_part)b), r->causes[r->last_rank].bubble_ps[b]);
}

/* Returns the sums over all ranks, as seconds: in picoseconds they may overflow. */
static double all_ranks(const rlt_run *r, double *s)
{
    double whole = 0;
    for (int c = 0; c < RLT_CAUSES; c++) {
        s[c] = 0;
        for (uint32_t i = 0; i < r->program->n_ranks; i++)
            s[c] += (double)r->causes[i].ps[c] * 1e-12;
        whole += s[c];
    }
    return whole;
}

/* Rounds n parts to tenths of a per cent that add up to `all` of them: rounds down, then gives what is
 * missing to those that lost most. */
static void round_shares(const double *part, int n, uint32_t all, uint32_t *tenths)
{
    double lost[RLT_CAUSES], whole = 0;
    uint32_t sum = 0;
    for (int c = 0; c < n; c++)
        whole += part[c];
    for (int c = 0; c < n; c++) {
        double exact = whole > 0 ? all * part[c] / whole : 0;
        tenths[c] = (uint32_t)exact;
        lost[c] = exact - tenths[c];
        sum += tenths[c];
    }
    for (; whole > 0 && sum < all; sum++) {
        int most = 0;
        for (int c = 1; c < n; c++)
            if (lost[c] > lost[most])
                most = c;
        tenths[most]++;
        lost[most] = -1;
    }
}

static void rank_shares(const rlt_run *r, uint32_t *tenths)
{
    double part[RLT_CAUSES];
    for (int c = 0; c < RLT_CAUSES; c++)
        part[c] = (double)r->causes[r->last_rank].ps[c];
    round_shares(part, RLT_CAUSES, WHOLE, tenths);
}

/* Levers */

/* Returns the bubble of equal stages in per cent: (p - 1) / (v m + p - 1). */
static double law(const rlt_training *t, uint32_t microbatches)
{
    double more = t->size[RLT_AXIS_PP] - 1;
    return 100 * more / ((double)t->vp * microbatches + more);
}

static void pipeline_lever(const rlt_training *t, char *text, size_t size)
{
    uint32_t m = rlt_training_microbatches(t);
    bool in_turn = t->schedule == RLT_SCHEDULE_GPIPE || t->schedule == RLT_SCHEDULE_1F1B ||
                   t->schedule == RLT_SCHEDULE_INTERLEAVED;
    const char *other = t->schedule == RLT_SCHEDULE_INTERLEAVED
                            ? ", more chunks (vp), schedule=zero-bubble or dualpipev"
                        : in_turn || t->schedule == RLT_SCHEDULE_MESSAGE
                            ? ", interleaving (schedule=interleaved,vp=2), schedule=zero-bubble or dualpipev"
                        : t->schedule == RLT_SCHEDULE_ZERO_BUBBLE ? ", schedule=dualpipev"
                                                                  : "";
    int used =
        snprintf(text, size, "more microbatches than %u (batch, microbatch)%s, fewer stages than pp=%u", m,
                 other, t->size[RLT_AXIS_PP]);
    if (in_turn && used > 0 && (size_t)used < size)
        snprintf(text + used, size - (size_t)used,
                 "; equal stages leave a bubble of %.1f %%, with twice the microbatches %.1f %%; more than "
                 "that is uneven stages",
                 law(t, m), law(t, 2 * m));
}

/* Whether tensor-parallel groups stay inside nodes, with rank r on accelerator r. */
static bool tp_inside(const rlt_run *r)
{
    const rlt_training *t = &r->training;
    uint64_t node = rlt_topology_node_size(r->setup.topology), group = t->size[RLT_AXIS_TP];
    return !r->settings->sim.placement && !r->settings->map &&
           node % (rlt_training_stride(t, RLT_AXIS_TP) * group) == 0;
}

static void training_lever(const rlt_run *r, rlt_cause c, char *text, size_t size)
{
    const rlt_training *t = &r->training;
    switch (c) {
    case RLT_CAUSE_BUBBLE:
        pipeline_lever(t, text, size);
        break;
    case RLT_CAUSE_TP:
        snprintf(text, size, "smaller tp than %u%s, larger microbatches%s", t->size[RLT_AXIS_TP],
                 t->sequence_parallel ? "" : ", sequence parallelism (sp=on)",
                 tp_inside(r) ? "" : ", tp inside a node (--map tp=0)");
        break;
    case RLT_CAUSE_CP:
        snprintf(text, size, "smaller cp than %u, cp on faster links (order, --map)", t->size[RLT_AXIS_CP]);
        break;
    case RLT_CAUSE_EP:
        snprintf(text, size, "smaller ep than %u, ep inside a node, dispatcher=two-level%s", t->ep,
                 t->size[RLT_AXIS_PP] > 1 && t->schedule != RLT_SCHEDULE_DUALPIPE &&
                         t->schedule != RLT_SCHEDULE_DUALPIPEV
                     ? ", overlap with other microbatches (schedule=dualpipe)"
                     : "");
        break;
    case RLT_CAUSE_DP:
        snprintf(text, size, "%s%sa larger batch an iteration, larger buckets (bucket), smaller dp than %u",
                 t->overlap ? "" : "overlap=on, ", t->zero == 3 && !t->prefetch ? "prefetch=on, " : "",
                 t->size[RLT_AXIS_DP]);
        break;
    case RLT_CAUSE_PP:
        snprintf(text, size, "fewer chunks (vp) or stages (pp), pp on faster links (order, --map)");
        break;
    case RLT_CAUSE_OFFLOAD:
        snprintf(text, size, "a faster link to the host (offload_bandwidth), offload=off, larger dp or zero");
        break;
    default:
        text[0] = '\0';
    }
}

static void lever(const rlt_run *r, rlt_cause c, char *text, size_t size)
{
    static const char *const general[RLT_CAUSES] = {
        [RLT_CAUSE_COMPUTE] = "faster accelerators, lower precision, less recomputation",
        [RLT_CAUSE_BUBBLE] = "more microbatches, chunks of stages (interleaving), fewer or more even stages",
        [RLT_CAUSE_SKEW] =
            "the ranks that start late: let all start together (--no-skew drops recorded offsets)",
        [RLT_CAUSE_WAIT] =
            "the ranks that others wait for, which --explain lists: mend slow ones, spread the work evenly",
        [RLT_CAUSE_TP] = "fewer ranks a layer, faster links inside a node",
        [RLT_CAUSE_CP] = "fewer ranks a sequence, faster links",
        [RLT_CAUSE_EP] = "fewer ranks for the experts, dispatcher=two-level, faster links",
        [RLT_CAUSE_DP] = "larger buckets, more overlap, a larger batch, faster links",
        [RLT_CAUSE_PP] = "fewer stages, faster links",
        [RLT_CAUSE_OFFLOAD] = "a faster link to the host, less offloading",
        [RLT_CAUSE_COMM] = "more overlap, another algorithm (--algorithm), faster links",
        [RLT_CAUSE_HOST] = "faster hosts, fewer launches",
        [RLT_CAUSE_IDLE] = "gaps of the recording, in which nothing runs",
        [RLT_CAUSE_ENDED] = "work that is spread evenly over the ranks",
    };
    text[0] = '\0';
    if (r->trains)
        training_lever(r, c, text, size);
    if (!text[0])
        snprintf(text, size, "%s", general[c]);
}

/* Returns the largest cause that is not compute, by all ranks; compute if there is none. */
static rlt_cause largest_loss(const double *s)
{
    rlt_cause best = RLT_CAUSE_COMPUTE;
    for (int c = RLT_CAUSE_COMPUTE + 1; c < RLT_CAUSES; c++)
        if (s[c] > 0 && (best == RLT_CAUSE_COMPUTE || s[c] > s[best]))
            best = (rlt_cause)c;
    return best;
}

void rlt_run_causes_line(const rlt_run *r, FILE *out)
{
    uint32_t tenths[RLT_CAUSES];
    rank_shares(r, tenths);
    fprintf(out, "rank %u, the last to end: compute %u.%u %%", r->last_rank, tenths[0] / 10, tenths[0] % 10);
    for (int c = 1; c < RLT_CAUSES; c++)
        if (r->causes[r->last_rank].ps[c])
            fprintf(out, ", %s %u.%u %%", rlt_cause_name((rlt_cause)c), tenths[c] / 10, tenths[c] % 10);
    fputc('\n', out);
    double all[RLT_CAUSES];
    char words[WORDS];
    all_ranks(r, all);
    rlt_cause loss = largest_loss(all);
    round_shares(all, RLT_CAUSES, WHOLE, tenths);
    if (loss == RLT_CAUSE_COMPUTE || tenths[loss] < LEAST)
        return;
    lever(r, loss, words, sizeof words);
    fprintf(out, "most is lost to: %s, %u.%u %% of all ranks\n  levers: %s\n", rlt_cause_name(loss),
            tenths[loss] / 10, tenths[loss] % 10, words);
}

/* Prints the parts of the bubble. They add up to its shares, in tenths of a per cent. */
static void print_bubble(const rlt_run *r, uint32_t one_share, uint32_t all_share, FILE *out)
{
    double one[RLT_BUBBLES], all[RLT_BUBBLES];
    uint32_t one_tenths[RLT_BUBBLES], all_tenths[RLT_BUBBLES];
    char a[32];
    for (int b = 0; b < RLT_BUBBLES; b++) {
        one[b] = (double)r->causes[r->last_rank].bubble_ps[b];
        all[b] = 0;
        for (uint32_t i = 0; i < r->program->n_ranks; i++)
            all[b] += (double)r->causes[i].bubble_ps[b] * 1e-12;
    }
    round_shares(one, RLT_BUBBLES, one_share, one_tenths);
    round_shares(all, RLT_BUBBLES, all_share, all_tenths);
    for (int b = 0; b < RLT_BUBBLES; b++)
        if (all[b] > 0)
            fprintf(out, "    %-22s %10s %4u.%u %% %7u.%u %%\n", rlt_bubble_name((rlt_bubble_part)b),
                    rlt_format_duration(a, sizeof a, r->causes[r->last_rank].bubble_ps[b]),
                    one_tenths[b] / 10, one_tenths[b] % 10, all_tenths[b] / 10, all_tenths[b] % 10);
}

void rlt_run_causes_table(const rlt_run *r, FILE *out)
{
    double all[RLT_CAUSES];
    uint32_t one_share[RLT_CAUSES], all_share[RLT_CAUSES];
    char a[32];
    all_ranks(r, all);
    rank_shares(r, one_share);
    round_shares(all, RLT_CAUSES, WHOLE, all_share);
    snprintf(a, sizeof a, "rank %u", r->last_rank);
    rlt_heading(out, "\n%-26s %19s %11s", "where the time goes", a, "all ranks");
    for (int c = 0; c < RLT_CAUSES; c++) {
        if (all[c] <= 0)
            continue;
        fprintf(out, "  %-24s %10s %4u.%u %% %7u.%u %%\n", rlt_cause_name((rlt_cause)c),
                rlt_format_duration(a, sizeof a, r->causes[r->last_rank].ps[c]), one_share[c] / 10,
                one_share[c] % 10, all_share[c] / 10, all_share[c] % 10);
        if (c == RLT_CAUSE_BUBBLE)
            print_bubble(r, one_share[c], all_share[c], out);
    }
    fprintf(out, "  %-24s %10s  100.0 %%   100.0 %%\n", "sum",
            rlt_format_duration(a, sizeof a, rlt_replay_time(r->replay)));
}

void rlt_run_causes_json(const rlt_run *r, rlt_jw *w)
{
    double all[RLT_CAUSES], whole = all_ranks(r, all);
    char words[WORDS];
    rlt_cause loss = largest_loss(all);
    rlt_jw_array(w, "causes");
    for (int c = 0; c < RLT_CAUSES; c++) {
        if (all[c] <= 0)
            continue;
        rlt_jw_object(w, NULL);
        rlt_jw_string(w, "cause", rlt_cause_name((rlt_cause)c));
        rlt_jw_i64(w, "cause_ps", r->causes[r->last_rank].ps[c]);
        for (int b = 0; b < RLT_BUBBLES && c == RLT_CAUSE_BUBBLE; b++)
            rlt_jw_i64(w, rlt_bubble_key((rlt_bubble_part)b), r->causes[r->last_rank].bubble_ps[b]);
        rlt_jw_double(w, "share_of_all_ranks", all[c] / whole, 6);
        rlt_jw_end_object(w);
    }
    rlt_jw_end_array(w);
    lever(r, loss, words, sizeof words);
    rlt_jw_string(w, "largest_loss", rlt_cause_name(loss));
    rlt_jw_string(w, "levers", words);
}
