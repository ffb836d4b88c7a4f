/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Mesh and torus of k sub-dimensions, the first fastest. Routes take the sub-dimensions in order. A link
 * carries 1/(2k) of the bandwidth; at the border of a mesh links are simply missing.
 *
 * Numbers of local links:
 *   torus  2k i + 2s leads from i one up in sub-dimension s, 2k i + 2s + 1 one down; where the size is two
 *          these are two parallel links each way
 *   mesh   sub-dimension after sub-dimension; within one, line after line; within a line of m, link 2p leads
 *          from position p up to p + 1 and link 2p + 1 back, p < m - 1
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "net/shapes/factor.h"
#include "net/shapes/shape.h"
#include "net/shapes/shapes.h"
#include "sim/base/error.h"
#include "sim/base/param.h"

static uint32_t count(const rlt_factor *f)
{
    return f->number[0];
}

static uint32_t size(const rlt_factor *f, uint32_t s)
{
    return f->number[1 + s];
}

/* Returns the first local link of sub-dimension s of a mesh, stored in number[7 + s]. */
static uint32_t first_link(const rlt_factor *f, uint32_t s)
{
    return f->number[1 + RLT_MAX_SUBDIMS + s];
}

/* Reads "4x4x4" into number[0] = count and number[1 ..] = sizes. */
static int read_sizes(const rlt_param *param, void *into, const char *text, const char *where, rlt_error *err)
{
    rlt_factor *f = into;
    uint64_t product = 1;
    uint32_t k = 0;
    (void)param;
    for (const char *p = text;; p++) {
        uint64_t value = 0;
        const char *start = p;
        while (*p >= '0' && *p <= '9' && value <= RLT_MAX_ACCELERATORS)
            value = 10 * value + (uint64_t)(*p++ - '0');
        if (p == start || value < 2 || value > RLT_MAX_ACCELERATORS || (*p && *p != 'x') ||
            k == RLT_MAX_SUBDIMS)
            return rlt_fail(err, RLT_ESCHEMA, where,
                            "expected one to %d numbers above 1, such as 4x4x4, got '%.40s'", RLT_MAX_SUBDIMS,
                            text);
        f->number[1 + k++] = (uint32_t)value;
        product *= value;
        if (product > RLT_MAX_ACCELERATORS || !*p)
            break;
    }
    f->number[0] = k;
    if (product != f->n)
        return rlt_fail(err, RLT_ESCHEMA, where, "%.40s do not multiply to %" PRIu32, text, f->n);
    return 0;
}

static void write_sizes(const rlt_param *param, const void *from, char *text, size_t size)
{
    const rlt_factor *f = from;
    size_t used = 0;
    (void)param;
    for (uint32_t s = 0; s < count(f) && used < size; s++)
        used += (size_t)snprintf(text + used, size - used, "%s%" PRIu32, s ? "x" : "", f->number[1 + s]);
}

#define SIZES                                                                                                \
    "sizes", .kind = RLT_PARAM_OTHER, .read = read_sizes, .write = write_sizes,                              \
             .arg = "sizes, such as 4x4x4", .help = "sizes of the sub-dimensions, the first fastest"
static const rlt_param torus_parameters[] = {{SIZES, .usual = "such as 4x4x4; one ring"}, {0}};
static const rlt_param mesh_parameters[] = {{SIZES, .usual = "such as 4x4x4; one line"}, {0}};

uint32_t rlt_shape_sub_sizes(const rlt_factor *f, uint32_t *sizes)
{
    for (uint32_t s = 0; s < count(f); s++)
        sizes[s] = size(f, s);
    return count(f);
}

static int build(const rlt_dim_spec *spec, rlt_factor *f, bool torus, rlt_error *err)
{
    if (!rlt_dim_given(spec, "sizes")) {
        f->number[0] = f->n > 1;
        f->number[1] = f->n;
    }
    uint32_t k = count(f), hops = 0;
    int rc;
    uint64_t mesh_links = 0;
    for (uint32_t s = 0; s < k; s++) {
        uint32_t m = size(f, s);
        hops += torus ? m / 2 : m - 1;
        f->number[1 + RLT_MAX_SUBDIMS + s] = (uint32_t)mesh_links;
        mesh_links += 2ull * (m - 1) * (f->n / m);
    }
    f->degree[0] = 2 * k;
    if ((rc = rlt_factor_share(spec, f, k ? 2 * k : 2, err)) != 0)
        return rc;
    if (!torus && k)
        f->bw_Bps = 0;
    if ((rc = rlt_factor_counts(spec, f, 0, torus ? 2ull * k * f->n : mesh_links, err)) != 0)
        return rc;
    return rlt_factor_longest(spec, f, hops, err);
}

static int build_torus(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err)
{
    return build(spec, f, true, err);
}

static int build_mesh(const rlt_dim_spec *spec, rlt_factor *f, rlt_error *err)
{
    return build(spec, f, false, err);
}

static uint32_t stride_of(const rlt_factor *f, uint32_t s)
{
    uint32_t stride = 1;
    for (uint32_t i = 0; i < s; i++)
        stride *= size(f, i);
    return stride;
}

static void ends_torus(const rlt_factor *f, uint32_t link, uint32_t *src, uint32_t *dst)
{
    uint32_t k = count(f), node = link / (2 * k), s = link % (2 * k) / 2;
    uint32_t m = size(f, s), stride = stride_of(f, s), x = node / stride % m;
    *src = node;
    if (link % 2 == 0)
        *dst = x + 1 == m ? node - x * stride : node + stride;
    else
        *dst = x == 0 ? node + (m - 1) * stride : node - stride;
}

static uint32_t route_torus(const rlt_factor *f, uint32_t src, uint32_t dst, rlt_pick pick, uint32_t *links)
{
    uint32_t k = count(f), n = 0, stride = 1, at = src, s_rest = src, d_rest = dst;
    for (uint32_t s = 0; s < k; s++) {
        uint32_t m = size(f, s), x = s_rest % m, y = d_rest % m;
        s_rest /= m;
        d_rest /= m;
        uint32_t up = y >= x ? y - x : y + m - x;
        bool down = up > m - up || (up == m - up && !pick.by_destination && (pick.value >> s) % 2);
        for (uint32_t left = down ? m - up : up; left; left--) {
            links[n++] = 2 * k * at + 2 * s + down;
            if (!down) {
                at = x + 1 == m ? at - x * stride : at + stride;
                x = x + 1 == m ? 0 : x + 1;
            } else {
                at = x == 0 ? at + (m - 1) * stride : at - stride;
                x = x == 0 ? m - 1 : x - 1;
            }
        }
        stride *= m;
    }
    return n;
}

static void ends_mesh(const rlt_factor *f, uint32_t link, uint32_t *src, uint32_t *dst)
{
    uint32_t s = count(f) - 1;
    while (s && link < first_link(f, s))
        s--;
    link -= first_link(f, s);
    uint32_t m = size(f, s), stride = stride_of(f, s), line = link / (2 * (m - 1)),
             p = link % (2 * (m - 1)) / 2;
    uint32_t low = line % stride, high = line / stride;
    uint32_t lower = low + p * stride + high * stride * m, upper = lower + stride;
    *src = link % 2 ? upper : lower;
    *dst = link % 2 ? lower : upper;
}

static uint32_t route_mesh(const rlt_factor *f, uint32_t src, uint32_t dst, rlt_pick pick, uint32_t *links)
{
    (void)pick;
    uint32_t n = 0, stride = 1, low = 0, high = src, d_rest = dst;
    for (uint32_t s = 0; s < count(f); s++) {
        uint32_t m = size(f, s), x = high % m, y = d_rest % m;
        high /= m;
        d_rest /= m;
        uint32_t base = first_link(f, s) + (low + high * stride) * 2 * (m - 1);
        for (; x < y; x++)
            links[n++] = base + 2 * x;
        for (; x > y; x--)
            links[n++] = base + 2 * (x - 1) + 1;
        low += y * stride;
        stride *= m;
    }
    return n;
}

static uint32_t degree_mesh(const rlt_factor *f, uint32_t a)
{
    uint32_t degree = 0;
    for (uint32_t s = 0; s < count(f); s++) {
        uint32_t m = size(f, s), x = a % m;
        a /= m;
        degree += (x > 0 ? 1u : 0u) + (x + 1 < m ? 1u : 0u);
    }
    return degree;
}

static uint32_t translations_torus(const rlt_factor *f, uint32_t *sizes)
{
    for (uint32_t s = 0; s < count(f); s++)
        sizes[s] = size(f, s);
    return count(f);
}

static uint32_t orbits_torus(const rlt_factor *f)
{
    return 2 * count(f);
}

static uint32_t orbit_torus(const rlt_factor *f, uint32_t link)
{
    return link % (2 * count(f));
}

const rlt_shape rlt_shape_torus = {
    .info = {"torus", "rings in several sub-dimensions; dimension-order routes, the shorter way round",
             torus_parameters},
    .grid = true,
    .build = build_torus,
    .ends = ends_torus,
    .route = route_torus,
    .translations = translations_torus,
    .orbits = orbits_torus,
    .orbit = orbit_torus,
};

const rlt_shape rlt_shape_mesh = {
    .info = {"mesh", "a grid in several sub-dimensions without wrap-around; dimension-order routes",
             mesh_parameters},
    .grid = true,
    .build = build_mesh,
    .ends = ends_mesh,
    .route = route_mesh,
    .degree = degree_mesh,
};
