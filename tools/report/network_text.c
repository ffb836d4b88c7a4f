/* SPDX-License-Identifier: GPL-3.0-or-later */
/* A network with link utilization, as text. */
#include "tools/report/network_text.h"

#include <inttypes.h>
#include <string.h>

#include "tools/base/file.h"

enum { MOST_NAME = 160 };

static const char *kind_name(rlt_node_kind kind)
{
    static const char *const names[] = {"accelerator", "nic", "pcie", "cpu", "switch"};
    return names[kind];
}

/* Writes text between XML tags; characters that XML forbids become '?'. */
static void put_xml(const char *text, FILE *out)
{
    for (; *text; text++)
        switch (*text) {
        case '&':
            fputs("&amp;", out);
            break;
        case '<':
            fputs("&lt;", out);
            break;
        case '>':
            fputs("&gt;", out);
            break;
        default:
            putc((unsigned char)*text < 0x20 ? '?' : *text, out);
        }
}

static void put_dot(const char *text, FILE *out)
{
    putc('"', out);
    for (; *text; text++) {
        if (*text == '"' || *text == '\\')
            putc('\\', out);
        putc((unsigned char)*text < 0x20 ? '?' : *text, out);
    }
    putc('"', out);
}

static void write_graphml(const rlt_topology *t, const double *utilization, FILE *out)
{
    char name[MOST_NAME];
    fputs("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
          "<graphml xmlns=\"http://graphml.graphdrawing.org/xmlns\">\n"
          "  <key id=\"g_name\" for=\"graph\" attr.name=\"name\" attr.type=\"string\"/>\n"
          "  <key id=\"v_name\" for=\"node\" attr.name=\"name\" attr.type=\"string\"/>\n"
          "  <key id=\"v_kind\" for=\"node\" attr.name=\"kind\" attr.type=\"string\"/>\n"
          "  <key id=\"v_forwards\" for=\"node\" attr.name=\"forwards\" attr.type=\"boolean\"/>\n"
          "  <key id=\"e_bandwidth\" for=\"edge\" attr.name=\"bandwidth\" attr.type=\"string\"/>\n"
          "  <key id=\"e_latency\" for=\"edge\" attr.name=\"latency\" attr.type=\"string\"/>\n"
          "  <key id=\"e_dim\" for=\"edge\" attr.name=\"dim\" attr.type=\"double\"/>\n"
          "  <key id=\"e_utilization\" for=\"edge\" attr.name=\"utilization\" attr.type=\"double\"/>\n"
          "  <graph id=\"G\" edgedefault=\"directed\">\n    <data key=\"g_name\">",
          out);
    put_xml(rlt_topology_name(t), out);
    fputs("</data>\n", out);
    for (uint32_t i = 0; i < rlt_topology_nodes(t); i++) {
        fprintf(out, "    <node id=\"n%u\"><data key=\"v_name\">", i);
        put_xml(rlt_topology_node_name(t, i, name, sizeof name), out);
        fprintf(out, "</data><data key=\"v_kind\">%s</data><data key=\"v_forwards\">%s</data></node>\n",
                kind_name(rlt_topology_node_kind(t, i)), rlt_topology_forwards(t, i) ? "true" : "false");
    }
    for (uint32_t i = 0; i < rlt_topology_links(t); i++) {
        rlt_link l = rlt_topology_link(t, i);
        fprintf(out,
                "    <edge source=\"n%u\" target=\"n%u\"><data key=\"e_bandwidth\">%" PRIu64
                "B/s</data><data key=\"e_latency\">%" PRId64 "ps</data><data key=\"e_dim\">%u</data>",
                l.src, l.dst, l.bw_Bps, l.latency_ps, l.dim);
        if (utilization[i] >= 0)
            fprintf(out, "<data key=\"e_utilization\">%.6f</data>", utilization[i]);
        fputs("</edge>\n", out);
    }
    fputs("  </graph>\n</graphml>\n", out);
}

/* Writes dot; a busier link has a wider line. */
static void write_dot(const rlt_topology *t, const double *utilization, FILE *out)
{
    char name[MOST_NAME];
    fputs("digraph ", out);
    put_dot(rlt_topology_name(t), out);
    fputs(" {\n", out);
    for (uint32_t i = 0; i < rlt_topology_nodes(t); i++) {
        fprintf(out, "  n%u [label=", i);
        put_dot(rlt_topology_node_name(t, i, name, sizeof name), out);
        fprintf(out, " kind=%s shape=%s];\n", kind_name(rlt_topology_node_kind(t, i)),
                rlt_topology_node_kind(t, i) == RLT_SWITCH ? "ellipse" : "box");
    }
    for (uint32_t i = 0; i < rlt_topology_links(t); i++) {
        rlt_link l = rlt_topology_link(t, i);
        double u = utilization[i];
        fprintf(out, "  n%u -> n%u [bandwidth=\"%" PRIu64 "B/s\" latency=\"%" PRId64 "ps\" dim=%u", l.src,
                l.dst, l.bw_Bps, l.latency_ps, l.dim);
        if (u >= 0)
            fprintf(out, " utilization=%.6f label=\"%.1f %%\" penwidth=%.2f", u, 100 * u,
                    0.5 + 5 * (u < 1 ? u : 1));
        else
            fputs(" style=dotted", out);
        fputs("];\n", out);
    }
    fputs("}\n", out);
}

int rlt_network_text(const rlt_topology *t, const double *utilization, const char *format, const char *path,
                     rlt_error *err)
{
    rlt_file f;
    int rc = rlt_file_open(&f, path, err);
    if (rc)
        return rc;
    (strcmp(format, "dot") == 0 ? write_dot : write_graphml)(t, utilization, f.stream);
    return rlt_file_close(&f, err);
}
