/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Division of a model's layers over the chunks of a pipeline. A chunk begins at a block, or at the head (the
 * logits); the embeddings belong to the first chunk. The equal division gives the first n mod c of c chunks
 * one block more than the others.
 *
 * The division by time makes the longest chunk as short as possible. With blocks 1 .. n in order, times t and
 * L(k, j) the longest of k chunks of the first j blocks,
 *
 *   L(k, j) = min over i < j of max(L(k - 1, i), t(i + 1) + ... + t(j))
 *
 * Of all divisions with that longest chunk it takes the one with the least sum of squares, which is the most
 * even one. O(c n^2).
 *
 * Example: times 1 1 1 1 4 on 3 chunks. The longest is 4; 2-2-1 and 1-3-1 have it, 2-2-1 is more even.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sim/base/error.h"
#include "sim/base/param.h"
#include "sim/base/time.h"
#include "sim/base/units.h"
#include "sim/base/words.h"
#include "workload/models/model.h"
#include "workload/training/internal.h"
#include "workload/training/training.h"

uint32_t rlt__blocks_of(const rlt_model *m)
{
    uint32_t n = 0;
    for (uint32_t i = 0; i < m->n_layers; i++)
        n += m->layers[i].movable;
    return n;
}

/* Returns the k-th layer at which a stage may begin, or the number of layers if there are fewer. */
static uint32_t movable(const rlt_model *m, uint32_t k)
{
    for (uint32_t i = 0; i < m->n_layers; i++)
        if (m->layers[i].movable && k-- == 0)
            return i;
    return m->n_layers;
}

/* Returns the first layer of the head: of the blocks behind the last one at which a stage may begin (logits,
 * further tokens). Returns the number of layers if there is no head. */
static uint32_t head_of(const rlt_model *m)
{
    uint32_t i = m->n_layers;
    bool repeats = false;
    for (uint32_t k = 0; k < m->n_layers; k++) {
        bool before = repeats;
        repeats = rlt__repeats(m, k, before);
        if (repeats || before)
            i = repeats ? m->n_layers : k;
    }
    return i;
}

/* Returns true if two layers do the same, whatever their names. */
static bool same_layer(const rlt_model *m, const rlt_model_layer *x, const rlt_model_layer *y)
{
    rlt_model_layer one = *x, other = *y;
    memset(one.name, 0, sizeof one.name);
    memset(other.name, 0, sizeof other.name);
    one.block = other.block = one.first_product = other.first_product = 0;
    if (memcmp(&one, &other, sizeof one) != 0 || x->tied_parameters)
        return false;
    for (uint32_t k = 0; k < x->n_products; k++) {
        const rlt_model_product *p = &m->products[x->first_product + k],
                                *q = &m->products[y->first_product + k];
        if (p->rows < q->rows || p->rows > q->rows || p->in != q->in || p->out != q->out ||
            p->split != q->split || p->expert != q->expert)
            return false;
    }
    return true;
}

/* Returns the length of the block that begins at layer i, and is followed by an equal one; else 0. */
static uint32_t repeated_block(const rlt_model *m, uint32_t i)
{
    uint32_t n = 1;
    if (!m->layers[i].movable || (i && m->layers[i - 1].block == m->layers[i].block))
        return 0;
    while (i + n < m->n_layers && m->layers[i + n].block == m->layers[i].block)
        n++;
    if (i + 2 * n > m->n_layers ||
        (i + 2 * n < m->n_layers && m->layers[i + 2 * n].block == m->layers[i + n].block))
        return 0;
    for (uint32_t k = i; k < i + n; k++)
        if (m->layers[k + n].block - m->layers[i + n].block != 0 ||
            !same_layer(m, &m->layers[k], &m->layers[k + n]))
            return 0;
    return n;
}

/* Finds the longest row of equal blocks. */
static void find_alike(rlt_training *t)
{
    const rlt_model *m = t->model;
    t->blocks.alike = t->blocks.alike_end = t->blocks.period = 0;
    for (uint32_t i = 0, n, end; i < m->n_layers; i = end) {
        end = i + 1;
        if (!(n = repeated_block(m, i)))
            continue;
        for (end = i + n; repeated_block(m, end) == n;)
            end += n;
        end += n;
        if (end - i > t->blocks.alike_end - t->blocks.alike) {
            t->blocks.alike = i;
            t->blocks.alike_end = end;
            t->blocks.period = n;
        }
    }
}

void rlt__find_blocks(rlt_training *t)
{
    find_alike(t);
    const rlt_model *m = t->model;
    uint32_t before = 0;
    t->blocks.of = m;
    t->blocks.n = rlt__blocks_of(m);
    t->blocks.head = head_of(m);
    t->blocks.first = before = movable(m, 0);
    t->blocks.each = 0;
    bool equal = true;
    for (uint32_t i = before + 1; i < m->n_layers; i++) {
        if (!m->layers[i].movable)
            continue;
        equal &= t->blocks.each == 0 || i - before == t->blocks.each;
        t->blocks.each = i - before;
        before = i;
    }
    t->blocks.each = equal ? t->blocks.each : 0;
}

/* Returns how many chunks a model can have beyond one per block: one for the logits alone, another for the
 * embeddings alone (Megatron-LM's account_for_loss_in_pipeline_split and
 * account_for_embedding_in_pipeline_split). */
static uint32_t spare(const rlt_model *m)
{
    bool head = head_of(m) < m->n_layers;
    return head ? 1 + (movable(m, 0) > 0) : 0;
}

/* Returns the number of blocks before a chunk, which is not the first. The head follows the last block. */
static uint32_t blocks_before(const rlt_training *t, uint32_t chunk)
{
    uint32_t chunks = rlt__chunks(t), n = t->blocks.of == t->model ? t->blocks.n : rlt__blocks_of(t->model),
             sum = 0;
    uint32_t least = n / chunks, more = n % chunks, before = chunks > n + 1;
    if (t->split != RLT_CHUNKS_BLOCKS && t->n_split == chunks) {
        for (uint32_t c = 0; c < chunk; c++)
            sum += t->chunk_blocks[c];
        return sum;
    }
    if (chunks > n && chunks > 1)
        return chunk - before;
    return chunk * least + (chunk < more ? chunk : more);
}

/* Returns the first layer of a chunk. */
static uint32_t begin_of(const rlt_training *t, uint32_t chunk)
{
    const rlt_model *m = t->model;
    if (chunk == 0 || chunk >= rlt__chunks(t))
        return chunk ? m->n_layers : 0;
    uint32_t block = blocks_before(t, chunk);
    if (t->blocks.of == m && block >= t->blocks.n)
        return t->blocks.head;
    if (t->blocks.of == m && t->blocks.each)
        return t->blocks.first + block * t->blocks.each;
    return block >= rlt__blocks_of(m) ? head_of(m) : movable(m, block);
}

void rlt_training_layers(const rlt_training *t, uint32_t chunk, uint32_t *first, uint32_t *end)
{
    *first = begin_of(t, chunk);
    *end = begin_of(t, chunk + 1);
}

/* Returns the stage that has a layer. */
static uint32_t stage_of(const rlt_training *t, uint32_t layer)
{
    uint32_t low = 0, high = rlt__chunks(t);
    while (high - low > 1) {
        uint32_t middle = low + (high - low) / 2;
        *(begin_of(t, middle) <= layer ? &low : &high) = middle;
    }
    return rlt__stage_of(t, low);
}

/* Returns the layer that holds the tied parameters: the nearest earlier one outside the blocks that repeat
 * that has at least as many parameters. */
static uint32_t holder(const rlt_model *m, uint32_t tied)
{
    uint32_t found = tied;
    bool repeats = false;
    for (uint32_t i = 0; i < tied; i++) {
        repeats = rlt__repeats(m, i, repeats);
        if (!repeats && m->layers[i].parameters >= m->layers[tied].tied_parameters)
            found = i;
    }
    return found;
}

/* Opposite stages of DualPipe have the same chunks: neither needs a copy of what the other holds. */
void rlt__find_copies(rlt_training *t)
{
    const rlt_model *m = t->model;
    uint32_t pp = t->size[RLT_AXIS_PP];
    t->home = t->away = 0;
    for (uint32_t i = 0; i < m->n_layers && pp > 1 && t->home == t->away; i++)
        if (m->layers[i].tied_parameters) {
            uint32_t home = stage_of(t, holder(m, i)), away = stage_of(t, i);
            bool opposite = t->schedule == RLT_SCHEDULE_DUALPIPE && home + away == pp - 1;
            t->home = home;
            t->away = opposite ? home : away;
            t->copies = i;
        }
}

/* The parameter */

static const char *const words[] = {"blocks", "time"};

int rlt__split_read(const rlt_param *p, void *into, const char *text, const char *where, rlt_error *err)
{
    rlt_training *t = into;
    const char *cursor = text, *item;
    size_t length;
    uint64_t n;
    (void)p;
    t->n_split = 0;
    for (int k = 0; k < 2; k++)
        if (strcmp(text, words[k]) == 0) {
            t->split = (rlt_chunking)k;
            return 0;
        }
    t->split = RLT_CHUNKS_LIST;
    bool right = *text;
    while (right && (item = rlt_next_item(&cursor, '-', &length))) {
        char number[16];
        snprintf(number, sizeof number, "%.*s", (int)(length < 15 ? length : 15), item);
        right = t->n_split < RLT_MAX_SPLIT && !rlt_parse_count(number, &n, NULL, NULL) && n <= UINT16_MAX;
        if (right)
            t->chunk_blocks[t->n_split++] = (uint16_t)n;
    }
    return right ? 0
                 : rlt_fail(err, RLT_EUSAGE, where,
                            "expected blocks, time, or the blocks of up to %d chunks such as 3-4-4-4, got "
                            "'%.80s'",
                            RLT_MAX_SPLIT, text);
}

void rlt__split_write(const rlt_param *p, const void *from, char *text, size_t size)
{
    const rlt_training *t = from;
    size_t used = 0;
    (void)p;
    if (t->split != RLT_CHUNKS_LIST)
        snprintf(text, size, "%s", words[t->split]);
    for (uint32_t c = 0; t->split == RLT_CHUNKS_LIST && c < t->n_split && used < size; c++)
        used += (size_t)snprintf(text + used, size - used, "%s%u", c ? "-" : "", t->chunk_blocks[c]);
}

/* Checks */

/* Checks the blocks of each chunk. Only a chunk of the embeddings or the logits alone has none. */
static int check_list(const rlt_training *t, rlt_error *err)
{
    const rlt_model *m = t->model;
    uint32_t chunks = rlt__chunks(t), n = rlt__blocks_of(m), sum = 0;
    if (t->n_split != chunks)
        return rlt_fail(err, RLT_ESCHEMA, "split", "%u numbers, but the pipeline has %u chunks", t->n_split,
                        chunks);
    for (uint32_t c = 0; c < chunks; c++) {
        bool alone = c == 0 ? movable(m, 0) > 0 : c + 1 == chunks && head_of(m) < m->n_layers;
        if (t->chunk_blocks[c] == 0 && (!alone || chunks == 1))
            return rlt_fail(
                err, RLT_ESCHEMA, "split",
                "chunk %u is empty: only the first may have embeddings alone, and the last logits "
                "alone",
                c + 1);
        sum += t->chunk_blocks[c];
    }
    if (sum != n)
        return rlt_fail(err, RLT_ESCHEMA, "split", "the numbers add up to %u blocks, but the model has %u",
                        sum, n);
    return 0;
}

int rlt__check_split(const rlt_training *t, rlt_error *err)
{
    uint32_t n = rlt__blocks_of(t->model), chunks = rlt__chunks(t);
    if (t->split == RLT_CHUNKS_LIST)
        return check_list(t, err);
    if (t->split == RLT_CHUNKS_TIME && (chunks > RLT_MAX_SPLIT || n > UINT16_MAX))
        return rlt_fail(err, RLT_ERANGE, "split", "%u chunks of %u blocks exceed the limits, %d and %d",
                        chunks, n, RLT_MAX_SPLIT, UINT16_MAX);
    if (chunks > 1 && chunks > n + (n ? spare(t->model) : 0))
        return rlt_fail(err, RLT_ESCHEMA, "pp", "%u stages x %u chunks exceed the model's %u blocks",
                        t->size[RLT_AXIS_PP], chunks / t->size[RLT_AXIS_PP], n);
    return 0;
}

/* By time */

/* Places at which a chunk may begin or end, in order: the number of blocks before each, and the time of all
 * layers before it. The first is the begin of the model, the last its end. */
typedef struct places {
    uint32_t *blocks, n;
    rlt_time *before_ps;
} places;

static void add_place(places *p, uint32_t blocks, rlt_time before_ps)
{
    p->blocks[p->n] = blocks;
    p->before_ps[p->n++] = before_ps;
}

/* Lists the places. The time of a layer is that of all its passes for a microbatch. */
static int find_places(const rlt_training *t, places *p, rlt_error *err)
{
    const rlt_model *m = t->model;
    rlt__times x = {0};
    rlt_time sum = 0;
    uint32_t blocks = 0, head = head_of(m);
    size_t room = (size_t)rlt__blocks_of(m) + 3;
    p->blocks = malloc(room * sizeof *p->blocks);
    p->before_ps = malloc(room * sizeof *p->before_ps);
    int rc = p->blocks && p->before_ps ? rlt__training_times(t, &x, err) : rlt_nomem(err);
    for (uint32_t i = 0; i < m->n_layers && !rc; i++) {
        if (i == 0 || m->layers[i].movable || i == head)
            add_place(p, blocks, sum);
        blocks += m->layers[i].movable;
        sum += x.forward[i] + x.backward[i] + x.weights[i] + x.again[i];
    }
    if (!rc)
        add_place(p, blocks, sum);
    rlt__training_times_free(&x);
    return rc;
}

/* Fills best[j], the least value of `chunks` chunks of what is before place j, and from[k * n + j], the place
 * where chunk k begins if it ends at j. With limit < 0 the value is the time of the longest chunk; otherwise
 * it is the sum of squares, of chunks up to the limit. */
static void divide(const places *p, uint32_t chunks, double limit, double *best, uint32_t *from)
{
    for (uint32_t j = 0; j < p->n; j++)
        best[j] = j ? INFINITY : 0;
    for (uint32_t k = 0; k < chunks; k++)
        for (uint32_t j = p->n; j-- > 0;) {
            double least = INFINITY;
            for (uint32_t i = j; i-- > 0;) {
                double time = (double)(p->before_ps[j] - p->before_ps[i]), value;
                value = limit < 0 ? (time > best[i] ? time : best[i]) : best[i] + time * time;
                if (limit >= 0 && time > limit)
                    break;
                if (value < least) {
                    least = value;
                    from[(size_t)k * p->n + j] = i;
                }
            }
            best[j] = least;
        }
}

int rlt__split_layers(rlt_training *t, rlt_error *err)
{
    places p = {0};
    uint32_t chunks = rlt__chunks(t);
    if (t->split != RLT_CHUNKS_TIME)
        return 0;
    int rc = find_places(t, &p, err);
    double *best = malloc(p.n * sizeof *best);
    uint32_t *from = calloc((size_t)chunks * p.n, sizeof *from), j = p.n - 1;
    if (!rc && (!best || !from))
        rc = rlt_nomem(err);
    if (!rc) {
        divide(&p, chunks, -1, best, from);
        divide(&p, chunks, best[p.n - 1], best, from);
        t->n_split = chunks;
    }
    for (uint32_t k = chunks; !rc && k-- > 0; j = from[(size_t)k * p.n + j])
        t->chunk_blocks[k] = (uint16_t)(p.blocks[j] - p.blocks[from[(size_t)k * p.n + j]]);
    free(best);
    free(from);
    free(p.blocks);
    free(p.before_ps);
    return rc;
}
