/* SPDX-License-Identifier: GPL-3.0-or-later */
/* Charts as SVG. Ten colours that colour-blind people can tell apart (Okabe and Ito 2008, and greys). */
#include "tools/output/plot.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sim/base/error.h"
#include "sim/base/text.h"
#include "sim/text/json.h"
#include "tools/base/file.h"

enum {
    WIDTH = 520,
    HEIGHT = 320,
    LEFT = 74,
    TOP = 44,
    BOTTOM = 48,
    RIGHT = 16,
    LEGEND_ROW = 18,
    HEAD = 34,
    COLOURS = 9,
    MARKERS = 6,
    LETTER = 7, /* about the width of a letter, and the height of a line */
    LINE = 13,
    GAP = 8 /* least space between two labels of x */
};
static const char *const colours[COLOURS] = {"#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00",
                                             "#56b4e9", "#7a5c00", "#5b3fa0", "#333333"};
static const char *const dashes[] = {"", "7 3", "2 3", "9 3 2 3"};

typedef struct axis {
    bool linear;
    double low, high; /* logarithms to base 10, unless linear */
    double from, to;  /* where the limits are drawn, in points */
} axis;

typedef struct frame {
    FILE *out;
    const rlt_plot_panel *panel;
    const rlt_plot_scales *scales;
    const rlt_plot_panel *alike; /* panels that share the limits */
    uint32_t n_alike;
    axis x, y;
    double *labelled; /* end of the last label on the axis at hand: labels do not touch */
} frame;

static void text(FILE *out, const char *s)
{
    for (size_t n; *s; s += n ? n : 1) {
        n = rlt_utf8_length(s);
        if (n == 0)
            fputc('?', out);
        else if (*s == '&')
            fputs("&amp;", out);
        else if (*s == '<')
            fputs("&lt;", out);
        else if (*s == '>')
            fputs("&gt;", out);
        else if ((unsigned char)*s >= ' ')
            fwrite(s, 1, n, out);
    }
}

static double scaled(const axis *a, double value)
{
    return a->linear ? value : log10(value);
}

static double at(const axis *a, double value)
{
    double part = a->high > a->low ? (scaled(a, value) - a->low) / (a->high - a->low) : 0.5;
    return a->from + part * (a->to - a->from);
}

static bool shown(const frame *f, const rlt_plot_line *l, uint32_t i)
{
    return (f->x.linear || l->x[i] > 0) && (f->y.linear || l->y[i] > 0) && isfinite(l->x[i]) &&
           isfinite(l->y[i]);
}

static void hold(frame *f, const rlt_plot_line *l)
{
    for (uint32_t i = 0; i < l->n; i++) {
        if (!shown(f, l, i))
            continue;
        f->x.low = fmin(f->x.low, scaled(&f->x, l->x[i]));
        f->x.high = fmax(f->x.high, scaled(&f->x, l->x[i]));
        f->y.low = fmin(f->y.low, scaled(&f->y, l->y[i]));
        f->y.high = fmax(f->y.high, scaled(&f->y, l->y[i]));
    }
}

/* Finds limits that hold all points, with a little room above and below. */
static void find_limits(frame *f)
{
    f->x.low = f->y.low = HUGE_VAL;
    f->x.high = f->y.high = -HUGE_VAL;
    for (uint32_t k = 0; k < f->n_alike; k++)
        for (uint32_t i = 0; i < f->alike[k].n_lines; i++)
            hold(f, &f->alike[k].lines[i]);
    if (f->x.low > f->x.high)
        f->x.low = f->x.high = f->y.low = f->y.high = 0;
    double unit = f->y.linear ? fabs(f->y.high) + (f->y.high == 0) : 1;
    double room = 0.05 * (f->y.high - f->y.low) + 0.02 * unit;
    if (f->y.linear && f->scales->y_from_zero)
        f->y.low = fmin(f->y.low, 0);
    f->y.low -= f->y.linear && f->y.low >= 0 && f->y.low < room ? f->y.low : room;
    f->y.high += room;
    if (f->scales->x_names) {
        f->x.low = 0.5;
        f->x.high = f->scales->n_x_names + 0.5;
        return;
    }
    unit = f->x.linear ? fabs(f->x.high) + (f->x.high == 0) : 1;
    room = 0.02 * (f->x.high - f->x.low) + 0.01 * unit;
    f->x.low -= room;
    f->x.high += room;
}

static void label(char *out, size_t size, rlt_plot_unit unit, double value)
{
    static const char *const binary[] = {"B", "KiB", "MiB", "GiB", "TiB", "PiB"};
    static const char *const rates[] = {"B/s", "kB/s", "MB/s", "GB/s", "TB/s", "PB/s"};
    static const char *const seconds[] = {"s", "ms", "us", "ns", "ps"};
    static const char *const thousands[] = {"", " k", " M", " G"};
    int i = 0;
    if (unit == RLT_PLOT_BYTES) {
        for (; i < 5 && value >= 1024; i++)
            value /= 1024;
        snprintf(out, size, "%.4g %s", value, binary[i]);
    } else if (unit == RLT_PLOT_SECONDS) {
        for (; i < 4 && value < 0.9999 && value > 0; i++)
            value *= 1000;
        snprintf(out, size, "%.4g %s", value, seconds[i]);
    } else if (unit == RLT_PLOT_DOLLARS) {
        for (; i < 3 && value >= 999.9; i++)
            value /= 1000;
        snprintf(out, size, "$%.4g%s", value, thousands[i]);
    } else if (unit == RLT_PLOT_RATE) {
        for (; i < 5 && value >= 1000; i++)
            value /= 1000;
        snprintf(out, size, "%.4g %s", value, rates[i]);
    } else {
        snprintf(out, size, "%.6g", value);
    }
}

/* Returns true if a label fits behind the last one, and notes its end. Labels come in ascending order: on y
 * upwards, so that coordinates fall. */
static bool has_room(const frame *f, bool is_x, double p, const char *words)
{
    double half = is_x ? LETTER * (double)strlen(words) / 2 : LINE / 2, begin = is_x ? p - half : -p - half;
    if (begin < *f->labelled)
        return false;
    *f->labelled = (is_x ? p + half : -p + half) + (is_x ? GAP : 0);
    return true;
}

static void tick(const frame *f, bool is_x, double value, bool strong)
{
    char words[64];
    double p = at(is_x ? &f->x : &f->y, value);
    label(words, sizeof words, is_x ? f->panel->x_unit : f->panel->y_unit, value);
    strong = strong && has_room(f, is_x, p, words);
    const char *grey = strong ? "#cfcfcf" : "#ececec";
    if (is_x)
        fprintf(f->out, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"%s\"/>", p, f->y.to, f->y.from, grey);
    else
        fprintf(f->out, "<path d=\"M%.1f %.1fH%.1f\" stroke=\"%s\"/>", f->x.from, p, f->x.to, grey);
    if (strong && is_x)
        fprintf(f->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">%s</text>\n", p, f->y.from + 16,
                words);
    else if (strong)
        fprintf(f->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">%s</text>\n", f->x.from - 6, p + 4,
                words);
}

/* Labels powers of two, as many as fit. */
static void binary_ticks(const frame *f, bool is_x)
{
    const axis *a = is_x ? &f->x : &f->y;
    double two = log10(2), first = ceil(a->low / two), last = floor(a->high / two), step = 1;
    while ((last - first) / step > 7)
        step *= 2;
    if (first > last)
        tick(f, is_x, pow(10, (a->low + a->high) / 2), true);
    for (double e = ceil(first / step) * step; e <= last; e += step)
        tick(f, is_x, pow(2, e), true);
}

/* Returns true if decimal_ticks would label at least two values. */
static bool is_long(const axis *a)
{
    static const double labelled[] = {1, 2, 5};
    uint32_t n = 0;
    for (double e = floor(a->low); e <= a->high; e++)
        for (int m = 0; m < 3; m++)
            n += e + log10(labelled[m]) >= a->low && e + log10(labelled[m]) <= a->high;
    return n > 1;
}

/* Labels decades. Thin lines mark 2 to 9 between them; 2 and 5 are labelled if there are few decades. */
static void decimal_ticks(const frame *f, bool is_x)
{
    const axis *a = is_x ? &f->x : &f->y;
    bool few = a->high - a->low < 2;
    double step = 1;
    while ((a->high - a->low) / step > 8)
        step++;
    for (double e = floor(a->low); e <= a->high; e++) {
        for (int m = 1; m < 10; m++) {
            double value = pow(10, e) * m, log_value = e + log10(m);
            if (log_value < a->low || log_value > a->high)
                continue;
            bool strong = m == 1 ? fmod(e, step) == 0 : few && (m == 2 || m == 5);
            if (strong || step < 2)
                tick(f, is_x, value, strong);
        }
    }
}

/* Labels five to ten round numbers: 1, 2 or 5 times a power of ten. The step of bytes is a power of two. */
static void even_ticks(const frame *f, bool is_x)
{
    const axis *a = is_x ? &f->x : &f->y;
    rlt_plot_unit unit = is_x ? f->panel->x_unit : f->panel->y_unit;
    double low = a->linear ? a->low : pow(10, a->low), high = a->linear ? a->high : pow(10, a->high);
    double base = unit == RLT_PLOT_BYTES ? 2 : 10, span = high - low;
    if (!(span > 0) || !isfinite(span))
        return;
    double step = pow(base, floor(log(span / 5) / log(base)));
    if (unit != RLT_PLOT_BYTES && span / step > (is_x ? 16 : 25)) /* x labels stand side by side, so fewer
                                                                   * fit */
        step *= 5;
    else if (unit != RLT_PLOT_BYTES && span / step > (is_x ? 8 : 10))
        step *= 2;
    if (unit == RLT_PLOT_COUNT)
        step = fmax(step, 1);
    for (double k = ceil(low / step); k * step <= high; k++)
        tick(f, is_x, k * step + 0.0, true); /* avoids -0 */
}

/* Labels as many names as fit, at about seven points a letter. */
static void name_ticks(const frame *f)
{
    const rlt_plot_scales *p = f->scales;
    double room = (f->x.to - f->x.from) / p->n_x_names, widest = 0;
    for (uint32_t i = 0; i < p->n_x_names; i++)
        widest = fmax(widest, 7.0 * (double)strlen(p->x_names[i]) + 6);
    uint32_t every = widest > room ? (uint32_t)ceil(widest / room) : 1;
    for (uint32_t i = 0; i < p->n_x_names; i += every) {
        double x = at(&f->x, i + 1);
        fprintf(f->out, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#ececec\"/>", x, f->y.to, f->y.from);
        fprintf(f->out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", x, f->y.from + 16);
        text(f->out, p->x_names[i]);
        fputs("</text>\n", f->out);
    }
}

static void ticks(const frame *f, bool is_x)
{
    const axis *a = is_x ? &f->x : &f->y;
    rlt_plot_unit unit = is_x ? f->panel->x_unit : f->panel->y_unit;
    *f->labelled = -HUGE_VAL;
    if (is_x && f->scales->x_names)
        name_ticks(f);
    else if (a->linear)
        even_ticks(f, is_x);
    else if (unit == RLT_PLOT_BYTES || (is_x && f->scales->x_doubles))
        binary_ticks(f, is_x);
    else if (unit == RLT_PLOT_COUNT || !is_long(a))
        even_ticks(f, is_x);
    else
        decimal_ticks(f, is_x);
}

static void marker(FILE *out, uint32_t kind, double x, double y)
{
    static const char *const shapes[MARKERS] = {"m-3.5 0a3.5 3.5 0 1 0 7 0a3.5 3.5 0 1 0 -7 0",
                                                "m-3 -3h6v6h-6z",
                                                "m0 -4l3.8 6.6h-7.6z",
                                                "m0 -4.4l4.4 4.4l-4.4 4.4l-4.4 -4.4z",
                                                "m-3.8 -2.6h7.6l-3.8 6.6z",
                                                "m-4 -1.2h2.8v-2.8h2.4v2.8h2.8v2.4h-2.8v2.8h-2.4v-2.8h-2.8z"};
    fprintf(out, "<path d=\"M%.1f %.1f%s\"/>", x, y, shapes[kind % MARKERS]);
}

static uint32_t look(const rlt_plot_line *l, uint32_t place)
{
    return l->look ? l->look - 1 : place;
}

static void line_style(FILE *out, const rlt_plot_line *l, uint32_t i)
{
    bool bound = l->reference && !l->look;
    const char *dash = bound ? "4 4" : dashes[i / COLOURS % (sizeof dashes / sizeof *dashes)];
    fprintf(out, "stroke=\"%s\" stroke-width=\"%s\"%s%s%s", bound ? "#777777" : colours[i % COLOURS],
            bound ? "1.6" : "1.8", *dash ? " stroke-dasharray=\"" : "", dash, *dash ? "\"" : "");
}

/* Returns true if point i of line `index` has a marker. With many points every k-th has one, offset per line
 * so that the markers of different lines do not overlap. */
static bool marked(const frame *f, const rlt_plot_line *l, uint32_t index, uint32_t i)
{
    uint32_t marks = f->scales->marks, every = marks && l->n > marks ? l->n / marks + 1 : 1;
    return i % every == (uint64_t)every * (2 * index + 1) / (2 * f->panel->n_lines) % every;
}

static void line(const frame *f, uint32_t index)
{
    const rlt_plot_line *l = &f->panel->lines[index];
    uint32_t kind = look(l, index);
    char command = 'M';
    uint32_t points = 0;
    if (!f->scales->scattered || l->reference) {
        fputs("<path fill=\"none\" ", f->out);
        line_style(f->out, l, kind);
        fputs(" d=\"", f->out);
        for (uint32_t i = 0; i < l->n; i++) {
            if (!shown(f, l, i))
                continue;
            if (l->steps && command == 'L')
                fprintf(f->out, "H%.1f", at(&f->x, l->x[i]));
            fprintf(f->out, "%c%.1f %.1f", command, at(&f->x, l->x[i]), at(&f->y, l->y[i]));
            command = 'L';
            points++;
        }
        if (l->reference && points == 1) /* a line of one point is invisible */
            fputs("m-8 0h16", f->out);
        fputs("\"><title>", f->out);
        text(f->out, l->name);
        fputs("</title></path>\n", f->out);
    }
    if (l->reference)
        return;
    fprintf(f->out, "<g fill=\"%s\">", colours[kind % COLOURS]);
    for (uint32_t i = 0; i + l->steps < l->n; i++) {
        if (shown(f, l, i) && marked(f, l, index, i))
            marker(f->out, kind, at(&f->x, l->x[i]), at(&f->y, l->y[i]));
    }
    fputs("</g>\n", f->out);
}

/* Returns true if the line shares the legend entry of the line before it, which shows the markers. */
static bool joins(const rlt_plot_panel *p, uint32_t i)
{
    const rlt_plot_line *l = &p->lines[i];
    return i > 0 && l->reference && l->look && l->look == l[-1].look && strcmp(l->name, l[-1].name) == 0;
}

/* A legend: the lines of one panel, or of several that mean the same by the same looks. */
typedef struct key {
    const rlt_plot_panel *panels;
    uint32_t n;
    const rlt_plot_scales *scales;
    double width;
} key;

/* Returns true if line i of panel p is an entry: no line before it has its name. */
static bool enters(const key *k, uint32_t p, uint32_t i)
{
    const char *name = k->panels[p].lines[i].name;
    for (uint32_t q = 0; q < p; q++)
        for (uint32_t j = 0; j < k->panels[q].n_lines; j++)
            if (strcmp(k->panels[q].lines[j].name, name) == 0)
                return false;
    return !joins(&k->panels[p], i);
}

static bool same_look(const rlt_plot_line *a, uint32_t i, const rlt_plot_line *b, uint32_t j)
{
    bool grey = a->reference && !a->look, other = b->reference && !b->look;
    return grey == other && (grey || look(a, i) == look(b, j));
}

/* Returns true if equal names have equal looks in all panels, and no others do. */
static bool shares_legend(const rlt_plot_panel *panels, uint32_t n)
{
    for (uint32_t p = 1; p < n; p++)
        for (uint32_t i = 0; i < panels[p].n_lines; i++)
            for (uint32_t q = 0; q < p; q++)
                for (uint32_t j = 0; j < panels[q].n_lines; j++) {
                    const rlt_plot_line *a = &panels[p].lines[i], *b = &panels[q].lines[j];
                    if (same_look(a, i, b, j) != (strcmp(a->name, b->name) == 0))
                        return false;
                }
    return n > 1;
}

/* Returns the number of names in a row of the legend: at most three a panel's width. */
static uint32_t legend_columns(const key *k)
{
    size_t longest = 0;
    for (uint32_t p = 0; p < k->n; p++)
        for (uint32_t i = 0; i < k->panels[p].n_lines; i++)
            longest = (size_t)fmax((double)longest, (double)strlen(k->panels[p].lines[i].name));
    double fit = (k->width - LEFT - RIGHT) / (32 + LETTER * (double)longest + 8),
           most = 3 * floor(k->width / WIDTH);
    return fit > most ? (uint32_t)most : fit < 1 ? 1 : (uint32_t)fit;
}

/* Returns the height of a legend, its title included. */
static uint32_t legend_height(const key *k)
{
    uint32_t columns = legend_columns(k), n = 0;
    for (uint32_t p = 0; p < k->n; p++)
        for (uint32_t i = 0; i < k->panels[p].n_lines; i++)
            n += enters(k, p, i);
    return LEGEND_ROW * ((n + columns - 1) / columns + (k->scales->legend != NULL));
}

static void entry(FILE *out, const key *k, uint32_t p, uint32_t i, double x, double y)
{
    const rlt_plot_panel *of = &k->panels[p];
    const rlt_plot_line *l = &of->lines[i];
    uint32_t kind = look(l, i);
    if (!k->scales->scattered || l->reference || (i + 1 < of->n_lines && joins(of, i + 1))) {
        fprintf(out, "<path fill=\"none\" d=\"M%.1f %.1fh26\" ", x, y);
        line_style(out, l, kind);
        fputs("/>", out);
    }
    if (!l->reference) {
        fprintf(out, "<g fill=\"%s\">", colours[kind % COLOURS]);
        marker(out, kind, x + 13, y);
        fputs("</g>", out);
    }
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\">", x + 32, y + 4);
    text(out, l->name);
    fputs("</text>\n", out);
}

static void legend(FILE *out, const key *k, double left, double top)
{
    uint32_t columns = legend_columns(k), place = 0;
    double pitch = (k->width - LEFT - RIGHT) / columns;
    if (k->scales->legend) {
        fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" font-style=\"italic\">", left, top + 4);
        text(out, k->scales->legend);
        fputs("</text>\n", out);
        top += LEGEND_ROW;
    }
    for (uint32_t p = 0; p < k->n; p++)
        for (uint32_t i = 0; i < k->panels[p].n_lines; i++)
            if (enters(k, p, i)) {
                entry(out, k, p, i, left + place % columns * pitch,
                      top + place / columns * (double)LEGEND_ROW);
                place++;
            }
}

static void panel(frame f, double left, double top)
{
    const rlt_plot_panel *p = f.panel;
    FILE *out = f.out;
    find_limits(&f);
    f.x.from = left + LEFT;
    f.x.to = left + WIDTH - RIGHT;
    f.y.to = top + TOP;
    f.y.from = top + HEIGHT - BOTTOM;
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" font-weight=\"bold\">", f.x.from, top + 24);
    text(out, p->title);
    fputs("</text>\n<g stroke-width=\"1\">", out);
    for (int is_x = 0; is_x < 2; is_x++)
        ticks(&f, is_x);
    fprintf(out, "<path fill=\"none\" stroke=\"#555555\" d=\"M%.1f %.1fV%.1fH%.1f\"/></g>\n", f.x.from,
            f.y.to, f.y.from, f.x.to);
    fprintf(out, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"middle\">", (f.x.from + f.x.to) / 2,
            f.y.from + 36);
    text(out, p->x_label);
    fprintf(out, "</text><text transform=\"translate(%.1f %.1f) rotate(-90)\" text-anchor=\"middle\">",
            left + 14, (f.y.from + f.y.to) / 2);
    text(out, p->y_label);
    fputs("</text>\n", out);
    for (uint32_t i = 0; i < p->n_lines; i++)
        line(&f, i);
}

static const rlt_plot_scales usual = {.x_linear = false};

static void picture(FILE *out, const char *title, const rlt_plot_panel *panels, uint32_t n, uint32_t columns,
                    const rlt_plot_scales *scales)
{
    uint32_t below = 0, rows = (n + columns - 1) / columns, wide = WIDTH * (n < columns ? n : columns);
    bool shared = shares_legend(panels, n);
    key all = {panels, n, scales, wide};
    for (uint32_t i = 0; i < n && !shared; i++) {
        uint32_t own = legend_height(&(key){&panels[i], 1, scales, WIDTH});
        below = own > below ? own : below;
    }
    uint32_t pitch = HEIGHT + below + 20, width = wide,
             height = HEAD + pitch * rows + (shared ? legend_height(&all) : 0);
    double labelled = 0, letter = 0.55 * (double)strlen(title),
           size = letter > 0 ? (width - 32) / letter : 14;
    fprintf(out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%u\" height=\"%u\" viewBox=\"0 0 %u %u\" "
            "font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"#222222\">\n"
            "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n<text x=\"16\" y=\"22\" "
            "font-size=\"%.4g\">",
            width, height, width, height,
            size > 14  ? 14
            : size < 8 ? 8
                       : size);
    text(out, title);
    fputs("</text>\n", out);
    for (uint32_t i = 0; i < n; i++) {
        frame f = {.out = out,
                   .panel = &panels[i],
                   .scales = scales,
                   .alike = scales->same_limits ? panels : &panels[i],
                   .n_alike = scales->same_limits ? n : 1,
                   .x.linear = scales->x_linear,
                   .y.linear = scales->y_linear,
                   .labelled = &labelled};
        double left = i % columns * (double)WIDTH, top = HEAD + i / columns * (double)pitch;
        panel(f, left, top);
        if (!shared)
            legend(out, &(key){&panels[i], 1, scales, WIDTH}, left + LEFT, top + HEIGHT + 4);
    }
    if (shared)
        legend(out, &all, LEFT, HEAD + pitch * rows - 16.0);
    fputs("</svg>\n", out);
}

int rlt_plot_write(const char *path, const char *title, const rlt_plot_panel *panels, uint32_t n,
                   uint32_t columns, rlt_error *err)
{
    return rlt_plot_write_scaled(path, title, panels, n, columns, &usual, err);
}

int rlt_plot_write_scaled(const char *path, const char *title, const rlt_plot_panel *panels, uint32_t n,
                          uint32_t columns, const rlt_plot_scales *scales, rlt_error *err)
{
    rlt_file file = {0};
    int rc = rlt_file_open(&file, path, err);
    if (rc)
        return rc;
    picture(file.stream, title, panels, n, columns, scales);
    return rlt_file_close(&file, err);
}

int rlt_plot_text(const char *title, const rlt_plot_panel *panels, uint32_t n, uint32_t columns, char **svg,
                  rlt_error *err)
{
    char buffer[4096];
    size_t length;
    rlt_growing all = {0};
    FILE *f = tmpfile();
    if (!f)
        return rlt_fail(err, RLT_EIO, title, "cannot draw: no temporary file: %s", strerror(errno));
    picture(f, title, panels, n, columns, &usual);
    rewind(f);
    while ((length = fread(buffer, 1, sizeof buffer, f)))
        rlt_growing_bytes(&all, buffer, length);
    bool failed = ferror(f) != 0;
    if (fclose(f) || failed) {
        free(all.text);
        return rlt_fail(err, RLT_EIO, title, "cannot draw: the temporary file could not be written");
    }
    return rlt_growing_finish(&all, svg, &length, err);
}

void rlt_plot_keep(const char *path, int rc)
{
    struct stat st;
    if (rc && path && stat(path, &st) == 0 && S_ISREG(st.st_mode))
        unlink(path);
}
