// The network: one group per dimension, or a graph by kinds of nodes. Utilization sets a link's colour and width.
const LAYER = { accelerator: 0, nic: 1, pcie: 2, cpu: 3, switch: 4 };

const circle = (n, r, cx, cy) => Array.from({ length: n }, (_, i) => [cx + r * Math.sin((2 * Math.PI * i) / n), cy - r * Math.cos((2 * Math.PI * i) / n)]);

const layered = (dim, w, tall) => {
  const n = dim.nodes.length, near = Array.from({ length: n }, () => []), level = dim.nodes.map(([, kind]) => LAYER[kind]);
  for (const [a, b] of dim.edges) { near[a].push(b); near[b].push(a); }
  // Levels of switches: distance from the accelerators.
  const far = Array(n).fill(Infinity), queue = [];
  dim.nodes.forEach(([, kind], i) => { if (kind === "accelerator") { far[i] = 0; queue.push(i); } });
  for (let q = 0; q < queue.length; q++) for (const b of near[queue[q]]) if (far[b] === Infinity) { far[b] = far[queue[q]] + 1; queue.push(b); }
  dim.nodes.forEach(([, kind], i) => { if (kind === "switch") level[i] = 4 + Math.min(far[i], 6); });
  const layers = [...new Set(level)].sort((a, b) => a - b).map((l) => level.map((x, i) => (x === l ? i : -1)).filter((i) => i >= 0));
  const place = Array(n).fill(0);
  const spread = () => layers.forEach((l) => l.forEach((node, i) => { place[node] = (i + 0.5) / l.length; }));
  spread();
  for (let pass = 0; pass < 6; pass++) {
    for (const l of pass % 2 ? layers : layers.slice().reverse()) {
      const centre = new Map(l.map((i) => [i, near[i].length ? near[i].reduce((a, b) => a + place[b], 0) / near[i].length : place[i]]));
      l.sort((a, b) => centre.get(a) - centre.get(b) || a - b);
    }
    spread();
  }
  const at = [];
  layers.forEach((l, k) => l.forEach((node) => { at[node] = [14 + place[node] * (w - 28), tall - 26 - (k * (tall - 52)) / Math.max(1, layers.length - 1)]; }));
  return at;
};

const layout = (dim, w, tall) => {
  const n = dim.nodes.length, cx = w / 2, cy = tall / 2, r = Math.min(w, tall) / 2 - 26;
  const ends = dim.nodes.filter(([, k]) => k === "accelerator").length;
  if (dim.shape === "ring" || dim.shape === "fully-connected") return circle(n, r, cx, cy);
  if (dim.shape === "switch" && n === ends + 1) return [...circle(ends, r, cx, cy), [cx, cy]];
  if ((dim.shape === "torus" || dim.shape === "mesh") && n === ends) {
    const [a, b = 1, c = 1] = dim.sizes, rest = n / (a * b);
    if (b === 1) return dim.shape === "torus" ? circle(n, r, cx, cy) : dim.nodes.map((_, i) => [24 + (i * (w - 48)) / Math.max(1, n - 1), cy]);
    const dx = (w - 60) / Math.max(1, a - 1 + (rest > 1 ? (rest - 1) * 0.36 : 0)), dy = (tall - 60) / Math.max(1, b - 1 + (rest > 1 ? (rest - 1) * 0.3 : 0));
    return dim.nodes.map((_, i) => { const x = i % a, y = Math.floor(i / a) % b, z = Math.floor(i / (a * b)); return [30 + (x + z * 0.36) * dx, tall - 30 - (y + z * 0.3) * dy]; });
  }
  return layered(dim, w, tall);
};

const arrow = (x0, y0, x1, y1, bend) => {
  const dx = x1 - x0, dy = y1 - y0, l = Math.hypot(dx, dy) || 1, ox = (-dy / l) * bend, oy = (dx / l) * bend;
  return bend > 8 ? `M${x0} ${y0}Q${(x0 + x1) / 2 + ox * 2} ${(y0 + y1) / 2 + oy * 2} ${x1} ${y1}` : `M${x0 + ox} ${y0 + oy}L${x1 + ox} ${y1 + oy}`;
};

const drawDim = (dim, index, product) => {
  const W = 420, H = dim.nodes && dim.nodes.length > 60 ? 380 : 300, svg = h("svg", { viewBox: `0 0 ${W} ${H}`, role: "img" });
  const links = [];
  const paintLinks = () => links.forEach(([e, u]) => { e.style.stroke = heatColour(u); e.style.strokeWidth = u === null ? 1 : 1 + 3.2 * Math.min(1, u); e.style.strokeDasharray = u === null ? "2 3" : ""; });
  const link = (path, u, title) => { const e = h("path", { d: path, fill: "none" }); links.push([e, u]); e.addEventListener("pointermove", (ev) => showTip(ev.clientX, ev.clientY, title)); e.addEventListener("pointerleave", () => showTip(0, 0, "")); svg.append(e); };
  if (dim.edges) {
    const at = layout(dim, W, H), seen = new Map(), curved = dim.shape === "torus" && dim.sizes.length > 1;
    dim.edges.map((e, i) => [e, i]).sort((a, b) => (a[0][2] ?? -1) - (b[0][2] ?? -1)).forEach(([[a, b, most, mean]]) => {
      const key = a + "-" + b, k = seen.get(key) || 0;
      seen.set(key, k + 1);
      const wrap = curved && Math.hypot(at[a][0] - at[b][0], at[a][1] - at[b][1]) > (W / Math.max(...dim.sizes)) * 1.5;
      link(arrow(...at[a], ...at[b], wrap ? 9 + 2 * k : 1.9 + 3 * k), most, `${dim.nodes[a][0]} \u2192 ${dim.nodes[b][0]}\n` + (most === null ? "not told apart in this result" :
        dim.groups > 1 ? `busiest of ${count(dim.groups)} groups ${percent(most)}, mean ${percent(mean)}` : `busy ${percent(most)}`));
    });
    const many = dim.nodes.length > 40;
    dim.nodes.forEach(([name, kind], i) => {
      const [x, y] = at[i], r = many ? 3 : kind === "accelerator" ? 6 : 5;
      const mark = kind === "accelerator" ? h("circle", { cx: x, cy: y, r }) : kind === "switch" ? h("rect", { x: x - r * 1.5, y: y - r, width: r * 3, height: r * 2, rx: 2 }) : h("rect", { x: x - r, y: y - r, width: 2 * r, height: 2 * r });
      drawers.push(() => { mark.style.fill = kind === "accelerator" ? palette.ink : palette.panel; mark.style.stroke = palette.ink; mark.style.strokeWidth = 1.2; });
      mark.append(h("title", {}, `${name} (${kind})`));
      svg.append(mark);
      const label = name.replace(/^acc/, "");
      if (!many && label.length < 10 && dim.nodes.length <= 24) {
        const cx = W / 2, out = x < cx - 1 ? "end" : x > cx + 1 ? "start" : "middle";
        const ring = ["ring", "fully-connected", "switch"].includes(dim.shape) && kind === "accelerator";
        svg.append(ring ? h("text", { x: x + (out === "end" ? -10 : out === "start" ? 10 : 0), y: y + (out === "middle" ? (y < H / 2 ? -10 : 19) : 4), "text-anchor": out, class: "quiet" }, label)
          : h("text", { x, y: y + (kind === "accelerator" ? 19 : -10), "text-anchor": "middle", class: "quiet" }, label));
      }
    });
  } else {
    const kinds = [...new Set(dim.kinds.flatMap((k) => [k[0], k[1]]))].sort((a, b) => LAYER[a] - LAYER[b]);
    const y = (k) => H - 50 - (kinds.indexOf(k) * (H - 100)) / Math.max(1, kinds.length - 1);
    dim.kinds.forEach(([a, b, n, most, mean]) => {
      const up = LAYER[a] < LAYER[b], same = a === b, x = W / 2 + (up ? -26 : 26);
      link(same ? `M${W / 2 - 60} ${y(a) - 8}C${W / 2 - 150} ${y(a) - 50} ${W / 2 - 150} ${y(a) + 50} ${W / 2 - 60} ${y(a) + 8}` : `M${x} ${y(a)}L${x} ${y(b)}`, most, `${count(n)} links ${a} \u2192 ${b}\nbusiest ${percent(most)}, mean ${percent(mean)}`);
      svg.append(h("text", { x: same ? W / 2 - 134 : x + (up ? -8 : 8), y: same ? y(a) + 4 : (y(a) + y(b)) / 2, "text-anchor": up || same ? "end" : "start" }, `${count(n)} links, ${percent(most)}`));
    });
    kinds.forEach((k) => {
      const box = h("rect", { x: W / 2 - 60, y: y(k) - 14, width: 120, height: 28, rx: 3 });
      drawers.push(() => { box.style.fill = palette.panel; box.style.stroke = palette.ink; });
      svg.append(box, h("text", { x: W / 2, y: y(k) + 4, "text-anchor": "middle" }, k === "switch" ? "switches" : k + "s"));
    });
  }
  drawers.push(paintLinks);
  const known = dim.edges ? dim.edges.filter((e) => e[2] !== null).map((e) => e[2]) : dim.kinds.map((k) => k[3]).filter((x) => x !== null);
  const most = known.length ? Math.max(...known) : null;
  svg.setAttribute("aria-label", `${dim.shape} of ${dim.size}, ${dim.links} links, the busiest ${percent(most)}`);
  const what = product ? `Dimension ${index}: ${dim.shape} of ${dim.sizes.length > 1 ? dim.sizes.join("\u2009\u00d7\u2009") : count(dim.size)}` : "The graph";
  return h("figure", {}, h("figcaption", {}, h("b", {}, what), h("span", { class: "quiet" },
    ` ${dim.bandwidth_Bps ? rate(dim.bandwidth_Bps) + " each, " + time(dim.latency_ps) + " a link, " : ""}${plural(dim.links, "link")}${dim.groups > 1 ? ` in ${count(dim.groups)} groups` : ""}; busiest ${percent(most)}`)), svg);
};

const scaleKey = () => {
  const c = h("canvas", { width: 160, height: 10, role: "img", "aria-label": "colour scale from idle to fully busy" });
  c.style.width = "160px"; c.style.height = "10px";
  drawers.push(() => { const g = c.getContext("2d"); for (let i = 0; i < 160; i++) { g.fillStyle = heatColour(i / 159); g.fillRect(i, 0, 1, 10); } });
  return h("span", { class: "key" }, h("span", {}, "idle"), c, h("span", {}, "fully busy"));
};

const networkSection = (data, run) => {
  const s = section("network", "Network");
  toolbar(s, h("span", { class: "quiet" }, `${run.topology}, ${plural(run.accelerators, "accelerator")}; ${run.network} model`), h("span", { class: "push" }), scaleKey());
  const beside = data && data.dims.length === 1;
  const left = beside ? h("div", {}) : s, right = beside ? h("div", {}) : s;
  if (beside) s.append(h("div", { class: "cols" }, left, right));
  if (!data) s.append(empty("The network is not drawn: its file was not found, or has changed since. ", h("code", {}, "ringlet report \u2026 --topology T"), " names it."));
  else {
    left.append(h("div", { class: "nets" }, data.dims.map((d, i) => drawDim(d, i, data.product))));
    const dotted = data.dims.some((d) => d.edges && d.edges.some((e) => e[2] === null));
    left.append(h("p", { class: "note" }, data.product && data.dims.some((d) => d.groups > 1) ? "All groups of a dimension are alike: one is drawn, each link as busy as the busiest in its place. " : "", "Links are coloured and thick by how busy they were over the run.",
      dotted ? " Dotted: this result has links folded into classes; run with --links, or with --report, to tell them apart." : ""));
  }
  const columns = getters(run.links, [
    { key: "src", title: "from", kind: "text" }, { key: "dst", title: "to", kind: "text" }, { key: "dim", title: "dim", kind: "count" },
    { key: "count", title: "links", unit: "like it", kind: "count" }, { key: "utilization", title: "utilization", kind: "percent", meter: true }, { key: "bandwidth_Bps", title: "bandwidth", kind: "rate" },
    { key: "bytes", title: "bytes", unit: "each", kind: "bytes" }, { key: "busy_ps", title: "busy", kind: "time", help: "bytes over bandwidth" },
    { key: "active_ps", title: "active", kind: "time", help: "some transfer present" },
    { key: "drops", title: "drops", kind: "count" }, { key: "marks", title: "marks", kind: "count" }, { key: "pauses", title: "pauses", kind: "count" }, { key: "peak_bytes", title: "peak", unit: "queue", kind: "bytes" }]);
  const t = dataTable({ rows: run.links.rows, columns, label: "links", filterLabel: "utilization>50%, dim=1", tall: beside ? 330 : 280 });
  right.append(h("div", { class: "bar hands" }, h("h3", {}, "Links"), t.input, t.number), t.grid);
  if (run.links.total > run.links.rows.length) right.append(h("p", { class: "note" }, `The busiest ${count(run.links.rows.length)} of ${count(run.links.total)}.`));
  return t;
};

// Links over time: a row per link or class of equal links, a column per bin.
const heatSection = (data) => {
  const s = section("heat", "Links over time");
  if (!data || !data.list.length) {
    s.append(empty("No series in this result: ", h("code", {}, "--series 100us"), " records how busy each link is, bin by bin."));
    return null;
  }
  const cells = data.list.map((l) => unpack64(l.data)), GUTTER = 190, H = clamp(Math.floor(420 / cells.length), 3, 16), AXIS = 20;
  const left = (w) => (w < 560 ? 90 : GUTTER);
  let cursor = [0, 0], focused = false;
  const c = canvas(() => AXIS + cells.length * H + 2, (g, w) => {
    const x0 = left(w), ratio = g.getTransform().a, wide = Math.max(1, Math.round((w - x0) * ratio));
    const image = g.createImageData(wide, 1), ramp = Array.from({ length: 256 }, (_, v) => heatRGB(v / 254));
    cells.forEach((row, r) => {
      for (let x = 0; x < wide; x++) {
        const a = Math.floor((x * data.bins) / wide), b = Math.max(a + 1, Math.floor(((x + 1) * data.bins) / wide));
        let v = 0;
        for (let k = a; k < b; k++) v = Math.max(v, row[k]);
        const [R, G, B] = ramp[v];
        image.data.set([R, G, B, 255], x * 4);
      }
      const y = Math.round((AXIS + r * H) * ratio), y1 = Math.round((AXIS + (r + 1) * H) * ratio) - (H > 6 ? 1 : 0);
      for (let yy = y; yy < y1; yy++) g.putImageData(image, Math.round(x0 * ratio), yy);
      if (H >= 11 || r % Math.ceil(12 / H) === 0) {
        g.save(); g.beginPath(); g.rect(0, 0, x0 - 6, 1e4); g.clip();
        g.fillStyle = palette.quiet; g.fillText(data.list[r].name, 4, AXIS + r * H + Math.max(H, 8) / 2); g.restore();
      }
    });
    const end = data.bins * data.bin_ps, step = niceStep(end, Math.max(2, (w - x0) / 110));
    g.fillStyle = palette.quiet;
    for (let t = 0; t < end; t += step) { const x = x0 + (t / end) * (w - x0); g.fillRect(x, AXIS - 4, 1, 4); if (x + 50 < w) g.fillText(axisTime(t, step, end), x + 3, AXIS / 2 - 2); }
    if (focused) { g.strokeStyle = palette.focus; g.lineWidth = 2; g.strokeRect(x0 + (cursor[1] / data.bins) * (w - x0) - 1, AXIS + cursor[0] * H - 1, Math.max(4, (w - x0) / data.bins + 2), H + 2); }
  }, "How busy each link was over time; arrow keys read cells");
  c.tabIndex = 0;
  const detail = h("div", { class: "detail", "aria-live": "polite" });
  const read = (r, b) => { const v = cells[r][b]; return `${data.list[r].name}: ${v === 255 ? "over 100\u2009%" : percent(v / 254)} busy from ${time(b * data.bin_ps, 5)} to ${time((b + 1) * data.bin_ps, 5)}`; };
  const at = (ev) => { const q = c.getBoundingClientRect(), r = Math.floor((ev.clientY - q.top - AXIS) / H), b = Math.floor(((ev.clientX - q.left - left(q.width)) / (q.width - left(q.width))) * data.bins); return cells[r] && b >= 0 && b < data.bins ? [r, b] : null; };
  c.addEventListener("pointermove", (ev) => { const p = at(ev); showTip(ev.clientX, ev.clientY, p ? read(...p) : ""); });
  c.addEventListener("pointerleave", () => showTip(0, 0, ""));
  c.addEventListener("focus", () => { focused = c.matches(":focus-visible"); c.paint(); });
  c.addEventListener("blur", () => { focused = false; c.paint(); });
  c.addEventListener("keydown", (ev) => {
    const m = { ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1], PageUp: [0, -32], PageDown: [0, 32] }[ev.key];
    if (!m) return;
    ev.preventDefault();
    focused = true;
    cursor = [clamp(cursor[0] + m[0], 0, cells.length - 1), clamp(cursor[1] + m[1], 0, data.bins - 1)];
    detail.textContent = read(...cursor); c.paint();
  });
  toolbar(s, h("span", { class: "quiet" }, `bins of ${time(data.bin_ps)}; the busiest first`), h("span", { class: "push" }), scaleKey());
  s.append(h("div", { class: "stage" }, c), detail);
  if (data.shown < data.rows) s.append(h("p", { class: "note" }, `${count(data.shown)} of ${count(data.rows)} rows.`));
  return { cells, busiest: (from, to) => {
    const a = Math.floor(from / data.bin_ps), b = Math.min(data.bins - 1, Math.floor((to - 1) / data.bin_ps));
    let best = -1, most = 0;
    cells.forEach((row, r) => { let v = 0; for (let k = a; k <= b; k++) v += row[k]; if (v > most) { most = v; best = r; } });
    return best < 0 ? null : { name: data.list[best].name, u: most / (b - a + 1) / 254 };
  }, bin: data.bin_ps };
};
