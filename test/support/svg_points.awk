# SPDX-License-Identifier: GPL-3.0-or-later
# Reads the points of a chart that ringlet drew and prints their values on its logarithmic axes: "x y" per line.
# The labels of the ticks give the scale.
#   awk -v panel=1 -v line=NAME -f test/support/svg_points.awk FILE   the points of the line with that name
#   awk -v panel=1 -v marks=2 -f test/support/svg_points.awk FILE     the markers of the panel's second line with markers
BEGIN {
    n = split("B KiB MiB GiB TiB", name, " ")
    for (i = 1; i <= n; i++) unit[name[i]] = 1024 ^ (i - 1)
    n = split("B/s kB/s MB/s GB/s TB/s PB/s", name, " ")
    for (i = 1; i <= n; i++) unit[name[i]] = 1000 ^ (i - 1)
    n = split("s ms us ns ps", name, " ")
    for (i = 1; i <= n; i++) unit[name[i]] = 1000 ^ (1 - i)
    unit[""] = 1; unit["k"] = 1e3; unit["M"] = 1e6; unit["G"] = 1e9
}
function tick(    label, part, px, axis) {
    label = $0
    sub(/.*text-anchor="[a-z]*">[$]?/, "", label); sub(/<.*/, "", label)
    split(label, part, " ")
    px = $0
    sub(/.*<path d="M/, "", px)
    axis = px ~ /^[0-9.]+ [0-9.]+V/ ? "x" : "y"
    if (axis == "y") sub(/^[0-9.]+ /, "", px)
    px += 0
    if (!((axis, 0) in at)) { at[axis, 0] = px; value[axis, 0] = part[1] * unit[part[2]] }
    at[axis, 1] = px; value[axis, 1] = part[1] * unit[part[2]]
}
function read(axis, px) {
    return value[axis, 0] * exp((px - at[axis, 0]) / (at[axis, 1] - at[axis, 0]) * log(value[axis, 1] / value[axis, 0]))
}
function put(xy,    q) { split(xy, q, " "); printf "%.6e %.6e\n", read("x", q[1]), read("y", q[2]) }
/font-weight="bold"/ { seen++ }
seen != panel { next }
/<path d="M[0-9.]+ [0-9.]+[VH][0-9.]+" stroke="#cfcfcf"\/><text/ { tick() }
line != "" && index($0, "<title>" line "</title>") {
    sub(/.* d="M/, ""); sub(/".*/, "")
    n = split($0, p, "L")
    for (i = 1; i <= n; i++) put(p[i])
}
/^<g fill=.*<\/g>$/ && ++groups == marks {
    n = split($0, p, "<path d=\"M")
    for (i = 2; i <= n; i++) { sub(/m.*/, "", p[i]); put(p[i]) }
}
