/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Reader of MSCCL XML, element by element, with checks of each attribute. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "collectives/algorithm.h"
#include "collectives/check/listed_check.h"
#include "collectives/collective.h"
#include "collectives/formats/msccl.h"
#include "collectives/formats/msccl_raw.h"
#include "collectives/listed.h"
#include "sim/base/error.h"
#include "sim/base/mem.h"
#include "sim/base/time.h"
#include "sim/text/xml.h"

static const char *const types[RLT_MSCCL_TYPES] = {
#define RLT_X(e, name) [e] = name,
    RLT_MSCCL_STEP_LIST(RLT_X)
#undef RLT_X
};

static int get_u32(const rlt_xml_tag *tag, const char *name, bool required, uint32_t max, uint32_t *out,
                   rlt_error *err)
{
    int64_t value = *out;
    int rc = rlt_xml_get_i64(tag, name, required, 0, max, &value, err);
    *out = (uint32_t)value;
    return rc;
}

/* Reads an optional attribute; -1 in the file means absent. */
static int get_optional(const rlt_xml_tag *tag, const char *name, bool required, uint32_t max, uint32_t *out,
                        rlt_error *err)
{
    int64_t value = -1;
    int rc = rlt_xml_get_i64(tag, name, required, -1, max, &value, err);
    *out = value < 0 ? RLT_NONE : (uint32_t)value;
    return rc;
}

static int read_collective(rlt_msccl *m, const rlt_xml_tag *tag, rlt_error *err)
{
    const char *coll = NULL;
    rlt_error why = {0};
    int rc = rlt_xml_get_text(tag, "coll", true, &coll, err);
    if (rc)
        return rc;
    if (rlt_coll_parse(coll, &m->kind, &why))
        return rlt_xml_fail(
            tag, strcmp(coll, "custom") == 0 ? RLT_EUNSUPPORTED : RLT_ESCHEMA, err,
            "coll=\"%.40s\": the expected result is not known, so the plan cannot be checked; %.300s", coll,
            why.what);
    if ((rc = get_u32(tag, "root", false, m->n_gpus - 1, &m->root, err)))
        return rc;
    if (m->kind == RLT_SEND_RECV && m->n_gpus != 2)
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "send_recv needs 2 gpus, got %u", m->n_gpus);
    bool shares = m->kind == RLT_ALL_GATHER || m->kind == RLT_REDUCE_SCATTER || m->kind == RLT_ALL_TO_ALL ||
                  m->kind == RLT_GATHER || m->kind == RLT_SCATTER;
    if (shares && m->chunks % m->n_gpus)
        return rlt_xml_fail(tag, RLT_ESCHEMA, err,
                            "nchunksperloop=\"%u\" cannot be shared equally by ngpus=\"%u\" in %s", m->chunks,
                            m->n_gpus, rlt_coll_name(m->kind));
    return 0;
}

static int read_algo(rlt_msccl *m, const rlt_xml_tag *tag, rlt_error *err)
{
    static const char *const names[] = {
        "name",       "proto", "nchannels", "nchunksperloop", "ngpus",    "coll",     "inplace",
        "outofplace", "redop", "root",      "minBytes",       "maxBytes", "nthreads", NULL};
    const char *name = "msccl";
    uint32_t in_place = 0, out_of_place = 0;
    int rc;
    if (!rlt_xml_is(tag, "algo"))
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "expected <algo>, got <%.40s>: not an MSCCL file",
                            tag->name);
    if ((rc = rlt_xml_only(tag, names, err)) || (rc = rlt_xml_get_text(tag, "name", false, &name, err)) ||
        (rc = get_u32(tag, "ngpus", true, RLT_MSCCL_MAX_GPUS, &m->n_gpus, err)) ||
        (rc = get_u32(tag, "nchunksperloop", true, RLT_MSCCL_MAX_CHUNKS, &m->chunks, err)) ||
        (rc = get_u32(tag, "inplace", false, 1, &in_place, err)) ||
        (rc = get_u32(tag, "outofplace", false, 1, &out_of_place, err)))
        return rc;
    if (m->n_gpus == 0 || m->chunks == 0)
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "%s=\"0\": there is nothing to do",
                            m->n_gpus ? "nchunksperloop" : "ngpus");
    snprintf(m->name, sizeof m->name, "%s", name);
    m->line = tag->line;
    /* a plan that is correct out of place is also correct in place */
    m->in_place = in_place && !out_of_place;
    m->gpus = calloc(m->n_gpus, sizeof *m->gpus);
    return m->gpus ? read_collective(m, tag, err) : rlt_nomem(err);
}

static int read_gpu(rlt_msccl *m, const rlt_xml_tag *tag, rlt_error *err)
{
    static const char *const names[] = {"id", "i_chunks", "o_chunks", "s_chunks", NULL};
    static const char *const chunks[] = {"i_chunks", "o_chunks", "s_chunks"};
    uint32_t id = 0;
    int rc;
    if (!rlt_xml_is(tag, "gpu"))
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "expected <gpu>, not <%.40s>", tag->name);
    if ((rc = rlt_xml_only(tag, names, err)) || (rc = get_u32(tag, "id", true, m->n_gpus - 1, &id, err)))
        return rc;
    rlt_msccl_gpu *g = &m->gpus[id];
    if (g->line)
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "gpu %u is given twice, first on line %u", id, g->line);
    *g = (rlt_msccl_gpu){.line = tag->line, .first = m->n_tbs};
    for (int i = 0; i < 3; i++)
        if ((rc = get_u32(tag, chunks[i], false, RLT_MSCCL_MAX_CHUNKS, &g->chunks[i], err)))
            return rc;
    m->gpu = id;
    return 0;
}

static int read_tb(rlt_msccl *m, const rlt_xml_tag *tag, rlt_error *err)
{
    static const char *const names[] = {"id", "send", "recv", "chan", NULL};
    rlt_msccl_gpu *g = &m->gpus[m->gpu];
    rlt_msccl_tb tb = {.gpu = m->gpu, .line = tag->line, .first = m->n_steps};
    int rc;
    if (!rlt_xml_is(tag, "tb"))
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "expected <tb>, not <%.40s>", tag->name);
    if ((rc = rlt_xml_only(tag, names, err)) ||
        (rc = get_u32(tag, "id", true, RLT_MAX_LANES - 1, &tb.id, err)) ||
        (rc = get_optional(tag, "send", false, m->n_gpus - 1, &tb.send, err)) ||
        (rc = get_optional(tag, "recv", false, m->n_gpus - 1, &tb.recv, err)) ||
        (rc = get_optional(tag, "chan", false, RLT_MAX_LANES - 1, &tb.channel, err)))
        return rc;
    tb.channel = tb.channel == RLT_NONE ? 0 : tb.channel;
    if (tb.id != g->n)
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "expected tb %u of gpu %u, got id=\"%u\"", g->n, m->gpu,
                            tb.id);
    if (tb.send == m->gpu || tb.recv == m->gpu)
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "%s=\"%u\" is the gpu itself",
                            tb.send == m->gpu ? "send" : "recv", m->gpu);
    rc = rlt_grow(&m->tbs, &m->tb_capacity, sizeof *m->tbs, (uint64_t)m->n_tbs + 1, RLT_MSCCL_MAX_STEPS,
                  "thread blocks", err);
    if (rc)
        return rc;
    m->tbs[m->n_tbs++] = tb;
    g->n++;
    return 0;
}

/* Checks that a buffer of the current gpu contains these chunks. */
static int check_ref(const rlt_msccl *m, const rlt_xml_tag *tag, const char *what, rlt_msccl_ref r,
                     uint32_t count, rlt_error *err)
{
    const rlt_msccl_gpu *g = &m->gpus[m->gpu];
    uint32_t chunks = g->chunks[r.buffer == 'i' ? 0 : r.buffer == 'o' ? 1 : 2];
    if ((uint64_t)r.offset + count <= chunks)
        return 0;
    return rlt_xml_fail(tag, RLT_ESCHEMA, err,
                        "%soff=\"%u\" cnt=\"%u\" does not lie in the %u chunks of buffer %c of gpu %u", what,
                        r.offset, count, chunks, r.buffer, m->gpu);
}

static int read_ref(const rlt_xml_tag *tag, const char *buffer, const char *offset, rlt_msccl_ref *r,
                    rlt_error *err)
{
    const char *text = NULL;
    int rc = rlt_xml_get_text(tag, buffer, true, &text, err);
    if (rc)
        return rc;
    if (strlen(text) != 1 || !strchr("ios", text[0]))
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "%s=\"%.40s\": expected i, o or s", buffer, text);
    r->buffer = text[0];
    return get_u32(tag, offset, true, RLT_MSCCL_MAX_CHUNKS, &r->offset, err);
}

static int read_type(const rlt_xml_tag *tag, uint8_t *type, rlt_error *err)
{
    const char *text = NULL;
    int rc = rlt_xml_get_text(tag, "type", true, &text, err);
    if (rc)
        return rc;
    for (*type = 0; *type < RLT_MSCCL_TYPES; (*type)++)
        if (strcmp(types[*type], text) == 0)
            return 0;
    return rlt_xml_fail(tag, RLT_ESCHEMA, err,
                        "type=\"%.40s\": expected s, r, rcs, rrs, rrc, rrcs, cpy, re or nop", text);
}

/* Reads the source and destination chunks of a step on its own gpu. */
static int read_chunks(rlt_msccl *m, const rlt_xml_tag *tag, rlt_msccl_step *s, rlt_error *err)
{
    bool src = s->type != RLT_MSCCL_RECV && s->type != RLT_MSCCL_RCS;
    bool dst = s->type != RLT_MSCCL_SEND && s->type != RLT_MSCCL_RRS;
    int rc = get_u32(tag, "cnt", true, RLT_MSCCL_MAX_CHUNKS, &s->count, err);
    if (rc)
        return rc;
    if (s->count == 0)
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "cnt=\"0\": expected at least one chunk");
    if (src && ((rc = read_ref(tag, "srcbuf", "srcoff", &s->src, err)) ||
                (rc = check_ref(m, tag, "src", s->src, s->count, err))))
        return rc;
    if (dst && ((rc = read_ref(tag, "dstbuf", "dstoff", &s->dst, err)) ||
                (rc = check_ref(m, tag, "dst", s->dst, s->count, err))))
        return rc;
    const rlt_msccl_tb *tb = &m->tbs[m->n_tbs - 1];
    if (rlt_msccl_sends(s->type) && tb->send == RLT_NONE)
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "the step sends, but tb %u has send=\"-1\"", tb->id);
    if (rlt_msccl_receives(s->type) && tb->recv == RLT_NONE)
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "the step receives, but tb %u has recv=\"-1\"", tb->id);
    return 0;
}

static int read_step(rlt_msccl *m, const rlt_xml_tag *tag, rlt_error *err)
{
    static const char *const names[] = {"s",   "type",  "srcbuf", "srcoff", "dstbuf", "dstoff",
                                        "cnt", "depid", "deps",   "hasdep", NULL};
    rlt_msccl_tb *tb = &m->tbs[m->n_tbs - 1];
    rlt_msccl_step s = {.line = tag->line, .tb = m->n_tbs - 1, .from = RLT_NONE, .to = RLT_NONE};
    uint32_t number = 0, ignored = 0;
    int rc;
    if (!rlt_xml_is(tag, "step"))
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "expected <step>, not <%.40s>", tag->name);
    if ((rc = rlt_xml_only(tag, names, err)) ||
        (rc = get_u32(tag, "s", true, RLT_MSCCL_MAX_STEPS, &number, err)) ||
        (rc = read_type(tag, &s.type, err)) ||
        (rc = get_optional(tag, "depid", false, RLT_MAX_LANES, &s.dep_tb, err)) ||
        (rc = get_optional(tag, "deps", false, RLT_MSCCL_MAX_STEPS, &s.dep_step, err)) ||
        (rc = get_u32(tag, "hasdep", false, 1, &ignored, err)))
        return rc;
    if (number != tb->n)
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "expected step %u of tb %u, got s=\"%u\"", tb->n, tb->id,
                            number);
    if ((s.dep_tb == RLT_NONE) != (s.dep_step == RLT_NONE))
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "depid and deps: expected both or neither to be -1");
    if (s.type != RLT_MSCCL_NOP && (rc = read_chunks(m, tag, &s, err)))
        return rc;
    rc = rlt_grow(&m->steps, &m->step_capacity, sizeof *m->steps, (uint64_t)m->n_steps + 1,
                  RLT_MSCCL_MAX_STEPS, "steps", err);
    if (rc)
        return rc;
    m->steps[m->n_steps++] = s;
    tb->n++;
    if (s.type == RLT_MSCCL_RRS && s.count > tb->temporary)
        tb->temporary = s.count;
    return 0;
}

static int start(void *user, const rlt_xml_tag *tag, rlt_error *err)
{
    rlt_msccl *m = user;
    switch (tag->depth) {
    case 0:
        return read_algo(m, tag, err);
    case 1:
        return read_gpu(m, tag, err);
    case 2:
        return read_tb(m, tag, err);
    case 3:
        return read_step(m, tag, err);
    default:
        return rlt_xml_fail(tag, RLT_ESCHEMA, err, "unexpected <%.40s> inside a step", tag->name);
    }
}

static int text_between(void *user, const rlt_xml_tag *tag, const char *text, size_t length, rlt_error *err)
{
    (void)user;
    for (size_t i = 0; i < length; i++)
        if (!strchr(" \t\r\n", text[i]))
            return rlt_xml_fail(tag, RLT_ESCHEMA, err, "unexpected text between elements");
    return 0;
}

int rlt_msccl_parse(const char *file, const char *text, size_t length, rlt_listed *out, rlt_error *err)
{
    static const rlt_xml_handler handler = {.start = start, .text = text_between};
    rlt_msccl m = {.file = file};
    *out = (rlt_listed){0};
    int rc = rlt_xml_read(file, text, length, &handler, &m, err);
    if (!rc)
        rc = rlt_msccl_build(&m, out, err);
    if (!rc)
        rc = rlt_listed_check(out, err);
    if (rc)
        rlt_listed_free(out);
    free(m.gpus);
    free(m.tbs);
    free(m.steps);
    return rc;
}
