// Plots of a study: Pareto front, sensitivity to each axis, and parallel axes.
// Chooses two figures that trade: the first objective, and the figure that gives the longest front with it. Without a front of three
// points, the figure that follows the objective least, so that the picture is no straight line.
const pairOf = (m) => {
  const y = m.figures[0], first = m.figures.filter((f) => f.objective), rows = m.rows.filter((r) => r[0] >= 0 && r[y.at] !== null), every = Math.max(1, Math.floor(rows.length / 2000));
  const some = rows.filter((_, i) => i % every === 0), sign = (f) => (f.goal === "max" ? -1 : 1);
  const parts = new Set(["compute_ps", "exposed_comm_ps", "host_ps", "idle_ps", "events", ...m.causes.map((c) => c[0])]);
  const front = (x) => {
    let best = Infinity, n = 0;
    for (const r of some.filter((r) => r[x.at] !== null).sort((a, b) => sign(x) * (a[x.at] - b[x.at]) || sign(y) * (a[y.at] - b[y.at]))) if (sign(y) * r[y.at] < best) { best = sign(y) * r[y.at]; n++; }
    return n;
  };
  const follows = (x) => { // how closely, from 0 to 1
    const list = some.filter((r) => r[x.at] !== null), mean = (f) => list.reduce((a, r) => a + r[f.at], 0) / list.length, mx = mean(x), my = mean(y);
    let xy = 0, xx = 0, yy = 0;
    for (const r of list) { xy += (r[x.at] - mx) * (r[y.at] - my); xx += (r[x.at] - mx) ** 2; yy += (r[y.at] - my) ** 2; }
    return xx && yy ? Math.abs(xy) / Math.sqrt(xx * yy) : 1;
  };
  const others = m.figures.filter((f) => f !== y && (f.objective || !parts.has(f.key)) && follows(f) < 0.999);
  const score = (f) => { const n = front(f); return (n > 2 ? 2 + (first.includes(f) ? 1e6 : 0) + n : 1 - follows(f)); };
  const best = others.length ? others.reduce((a, f) => (score(f) > score(a) ? f : a)) : m.figures[Math.min(1, m.figures.length - 1)];
  return [best, y];
};
const paretoSection = (m) => {
  const s = section("pareto", "Trade-offs"), names = m.figures.map((f) => [f.key, f.title]);
  let [x, y] = pairOf(m), shade = m.axes.length ? 0 : -1, log = true;
  let front = [], known = null, knownFor = "", place = null, ramp = [];
  // Points that no other beats in both figures; sorted once per pair of figures.
  const findFront = () => {
    const sx = x.goal === "max" ? -1 : 1, sy = y.goal === "max" ? -1 : 1, rows = m.rows;
    if (knownFor !== x.key + sx + y.key + sy || known.of !== rows) {
      known = Uint32Array.from(rows.keys()).filter((i) => rows[i][x.at] !== null && rows[i][y.at] !== null);
      known.sort((a, b) => sx * (rows[a][x.at] - rows[b][x.at]) || sy * (rows[a][y.at] - rows[b][y.at]));
      known.of = rows; knownFor = x.key + sx + y.key + sy; place = null;
    }
    let best = Infinity;
    front = [];
    for (const i of known) { if ((m.match && !m.match[i]) || rows[i][0] < 0) continue; const v = sy * rows[i][y.at]; if (v < best) { best = v; front.push(rows[i]); } }
  };
  // Positions of known points; cached until figures or size change.
  const placed = (w, tall) => {
    const want = [x.key, y.key, log, w, tall].join();
    if (place && place.want === want) return place;
    const rows = Array.from(known, (i) => m.rows[i]), px = new Float32Array(rows.length), py = new Float32Array(rows.length);
    const sx = scale(x, rows, 84 + 6, w - 14), sy = scale(y, rows, tall - 34 - 6, 12);
    rows.forEach((r, k) => { px[k] = sx.to(r[x.at]); py[k] = sy.to(r[y.at]); });
    return (place = { want, px, py, sx, sy });
  };
  const scale = (f, rows, a, b) => {
    const values = rows.map((r) => r[f.at]), low = lowest(values, (v) => v), high = highest(values, (v) => v);
    const l = log && low > 0 && high / low > 20, t = l ? Math.log10 : (v) => v, lo = t(low), span = t(high) - lo || 1;
    const to = (v) => a + ((t(v) - lo) / span) * (b - a), ticks = [];
    if (l && f.kind === "bytes") { for (let v = 4 ** Math.ceil(Math.log(low) / Math.log(4)); v <= high; v *= 4) ticks.push(v); }
    else if (l) for (let p = Math.floor(Math.log10(low)); p <= Math.log10(high) + 1; p++) { for (const k of high / low > 3000 ? [1] : [1, 3]) { const v = k * 10 ** p; if (v >= low && v <= high) ticks.push(v); } }
    else { const unit = f.kind === "bytes" ? 1024 ** Math.floor(Math.log(Math.max(1, high)) / Math.log(1024)) : 1, step = niceStep(span / unit, 6) * unit; for (let v = Math.ceil(low / step) * step; v <= high + step * 1e-6; v += step) ticks.push(v); }
    return { to, ticks };
  };
  const SYMBOLS = 6;
  const symbol = (g, k, px, py, r) => {
    g.beginPath();
    switch (k % SYMBOLS) {
      case 0: g.arc(px, py, r, 0, 7); break;
      case 1: g.rect(px - r, py - r, 2 * r, 2 * r); break;
      case 2: g.moveTo(px, py - r * 1.3); g.lineTo(px + r * 1.2, py + r); g.lineTo(px - r * 1.2, py + r); break;
      case 3: g.moveTo(px, py - r * 1.4); g.lineTo(px + r * 1.4, py); g.lineTo(px, py + r * 1.4); g.lineTo(px - r * 1.4, py); break;
      case 4: g.moveTo(px, py + r * 1.3); g.lineTo(px + r * 1.2, py - r); g.lineTo(px - r * 1.2, py - r); break;
      default: g.rect(px - r * 1.4, py - r * 0.5, r * 2.8, r); 
    }
    g.closePath();
  };
  const step = (r) => (shade < 0 ? -1 : m.place(r, shade));
  const colourOf = (i) => (shade < 0 ? palette.compute : i < 0 ? palette.quiet : (ramp[i] ||= heatColour(0.12 + (0.8 * i) / Math.max(1, m.axes[shade].texts.length - 1))));
  // Thousands of small squares, drawn as pixels: a path each would take as long as everything else.
  const sheet = document.createElement("canvas");
  const dots = (g, w, tall, p) => {
    const ratio = g.getTransform().a, W = Math.round(w * ratio), H = Math.round(tall * ratio), q = sheet.getContext("2d", { willReadFrequently: true });
    if (sheet.width !== W || sheet.height !== H) { sheet.width = W; sheet.height = H; }
    const image = new ImageData(W, H), pixels = new Uint32Array(image.data.buffer), inks = new Map();
    const square = (k, size, ink) => {
      const s = Math.max(1, Math.round(size * ratio)), x0 = Math.round(p.px[k] * ratio - s / 2), y0 = Math.round(p.py[k] * ratio - s / 2);
      for (let y1 = Math.max(0, y0); y1 < Math.min(H, y0 + s); y1++) pixels.fill(ink, y1 * W + Math.max(0, x0), y1 * W + Math.min(W, x0 + s));
    };
    const grey = pixelOf(palette.rule), match = m.match;
    if (match) for (let k = 0; k < known.length; k++) if (!match[known[k]]) square(k, 2, grey);
    for (let k = 0; k < known.length; k++) {
      if (match && !match[known[k]]) continue;
      const i = step(m.rows[known[k]]);
      let ink = inks.get(i);
      if (ink === undefined) inks.set(i, (ink = pixelOf(colourOf(i))));
      square(k, 3.4, ink);
    }
    q.putImageData(image, 0, 0);
    g.drawImage(sheet, 0, 0, w, tall);
  };
  const c = canvas((w) => clamp(w * 0.6, 260, 430), (g, w, tall) => {
    const L = 84, B = 34;
    if (!known.length) return;
    const p = placed(w, tall), { sx, sy } = p;
    g.strokeStyle = palette.rule; g.fillStyle = palette.quiet; g.lineWidth = 1;
    for (const v of sx.ticks) { const p = Math.round(sx.to(v)) + 0.5; g.beginPath(); g.moveTo(p, 8); g.lineTo(p, tall - B); g.stroke(); g.textAlign = "center"; const label = SHOW[x.kind](v), half = g.measureText(label).width / 2; g.fillText(label, Math.min(p, w - half - 1), tall - B + 10); }
    for (const v of sy.ticks) { const p = Math.round(sy.to(v)) + 0.5; g.beginPath(); g.moveTo(L, p); g.lineTo(w - 8, p); g.stroke(); g.textAlign = "right"; g.fillText(SHOW[y.kind](v), L - 6, p); }
    g.fillStyle = palette.ink; g.textAlign = "center"; g.fillText(`${x.title} (${x.goal === "max" ? "more" : "less"} is better)`, (w + L) / 2, tall - 9);
    g.save(); g.translate(9, tall / 2); g.rotate(-Math.PI / 2); g.fillText(`${y.title} (${y.goal === "max" ? "more" : "less"} is better)`, 0, 0); g.restore(); g.textAlign = "left";
    ramp = [];
    if (known.length > 1500) dots(g, w, tall, p);
    else {
      const left = (k) => !m.match || m.match[known[k]];
      g.fillStyle = palette.rule;
      for (let k = 0; k < known.length; k++) if (!left(k)) g.fillRect(p.px[k] - 1, p.py[k] - 1, 2, 2);
      g.strokeStyle = palette.quiet; g.lineWidth = 0.6;
      for (let k = 0; k < known.length; k++) {
        if (!left(k)) continue;
        const i = step(m.rows[known[k]]);
        g.fillStyle = colourOf(i);
        symbol(g, Math.max(0, i), p.px[k], p.py[k], 3.4);
        g.fill(); g.stroke();
      }
    }
    g.strokeStyle = palette.ink; g.lineWidth = 1.4; g.beginPath();
    front.forEach((r, i) => { const px = sx.to(r[x.at]), py = sy.to(r[y.at]); if (i) g.lineTo(px, sy.to(front[i - 1][y.at])); g.lineTo(px, py); });
    g.stroke();
    for (const r of front) { g.beginPath(); g.arc(sx.to(r[x.at]), sy.to(r[y.at]), 4.6, 0, 7); g.fillStyle = palette.panel; g.fill(); g.stroke(); }
    m.pick.forEach((r, i) => { if (r[x.at] === null || r[y.at] === null) return; const px = sx.to(r[x.at]), py = sy.to(r[y.at]); g.fillStyle = palette.focus; g.beginPath(); g.arc(px, py, 6, 0, 7); g.fill(); g.font = "bold 12px " + palette.text; g.fillText("AB"[i], px + 20 > w ? px - 17 : px + 9, py); });
  }, "Trade-off of two figures; the table beside lists the points that nothing beats in both");
  const near = (ev) => {
    const r = c.getBoundingClientRect(), px = ev.clientX - r.left, py = ev.clientY - r.top;
    let best = null, d = 144;
    for (let k = 0; place && k < known.length; k++) {
      const q = (place.px[k] - px) ** 2 + (place.py[k] - py) ** 2;
      if (q < d && (!m.match || m.match[known[k]])) { d = q; best = m.rows[known[k]]; }
    }
    return best;
  };
  c.addEventListener("pointermove", (ev) => { const r = near(ev); showTip(ev.clientX, ev.clientY, r ? `${m.label(r)}: ${x.title} ${SHOW[x.kind](r[x.at])}, ${y.title} ${SHOW[y.kind](r[y.at])}\n` + m.axes.map((a, i) => `${a.name} ${m.axisText(r, i) ?? "\u2013"}`).join(", ") : ""); });
  c.addEventListener("pointerleave", () => showTip(0, 0, ""));
  c.addEventListener("click", (ev) => { const r = near(ev); if (r) m.togglePick(r); });
  const list = h("div");
  let table = null;
  const fill = () => {
    findFront();
    const columns = [{ key: "point", title: "point", kind: "text", get: (r) => m.label(r) },
      ...[...new Set([y, x])].map((f) => ({ key: f.key, title: f.title, kind: f.kind, get: (r) => r[f.at] })), ...m.axes.map((a, i) => ({ key: a.name, title: a.name, kind: "text", get: (r) => m.axisText(r, i) }))];
    if (!table || table.names !== x.key + y.key) {
      table = dataTable({ rows: front, columns, label: "points that nothing beats in both", tall: 360, onPick: m.togglePick, picked: (r) => m.pick.includes(r) });
      table.names = x.key + y.key;
      list.replaceChildren(h("h3", {}, "Nothing beats these in both"), table.grid);
    } else table.rows = front;
    c.paint();
  };
  toolbar(s, chooser("across", names, x.key, (k) => { x = m.figure(k); fill(); }), chooser("up", names, y.key, (k) => { y = m.figure(k); fill(); }),
    m.axes.length ? chooser("shade by", [["-1", "nothing"], ...m.axes.map((a, i) => [String(i), a.name])], String(shade), (k) => { shade = +k; c.paint(); }) : null,
    chooser("scale", [["log", "logarithmic"], ["lin", "linear"]], "log", (k) => { log = k === "log"; c.paint(); }));
  s.append(h("div", { class: "cols" }, h("div", {}, c), list));
  m.listeners.push((what) => { if (what === "pick") { c.paint(); table.render(); } else fill(); });
  fill();
  return { get front() { return front; } };
};

// Change of a figure along one axis with all others fixed: the typical and the greatest ratio.
const sensitivitySection = (m) => {
  const s = section("sensitivity", "What matters"), box = h("div");
  let f = m.main;
  const measure = (axis) => {
    const groups = new Map(), all = m.axes.reduce((a, x) => a * x.texts.length, 1);
    for (const r of m.shown) {
      if (!(r[f.at] > 0) || r[COORD][axis] < 0) continue;
      // Index in the grid without this axis. A replica is offset by the size of the grid.
      let k = r[3];
      for (let i = 0; i < m.axes.length; i++) k = k * m.axes[i].texts.length + (i === axis ? 0 : r[COORD][i]);
      if (all * (r[3] + 1) > 2 ** 53) k = r[COORD].map((v, i) => (i === axis ? "" : v)).join() + "/" + r[3];
      const g = groups.get(k);
      if (g) { if (r[f.at] < g[0]) { g[0] = r[f.at]; g[2] = r[COORD][axis]; } if (r[f.at] > g[1]) { g[1] = r[f.at]; g[3] = r[COORD][axis]; } g[4]++; }
      else groups.set(k, [r[f.at], r[f.at], r[COORD][axis], r[COORD][axis], 1]);
    }
    const list = [...groups.values()].filter((g) => g[4] > 1), ratios = list.map((g) => g[1] / g[0]).sort((a, b) => a - b), wins = new Map();
    for (const g of list) { const w = f.goal === "max" ? g[3] : g[2]; wins.set(w, (wins.get(w) || 0) + 1); }
    const win = [...wins].sort((a, b) => b[1] - a[1])[0];
    return { axis, n: list.length, typical: ratios.length ? ratios[Math.floor(ratios.length / 2)] : 1, most: ratios.length ? ratios[ratios.length - 1] : 1, win };
  };
  let bars = [];
  const fill = () => {
    bars = m.axes.map((_, i) => measure(i)).sort((a, b) => b.typical - a.typical);
    const most = Math.max(1.0001, ...bars.map((b) => b.most)), slim = box.clientWidth > 0 && box.clientWidth < 640, W = slim ? box.clientWidth : 860, H = slim ? 48 : 26, L = slim ? 1 : 150, R = slim ? 8 : 330, svg = h("svg", { viewBox: `0 0 ${W} ${bars.length * H + 8}`, role: "img", "aria-label": "How much each axis matters" });
    const wide = (v) => (Math.log(v) / Math.log(most)) * (W - L - R);
    bars.forEach((b, i) => {
      const y = (slim ? 24 : 4) + i * H, a = m.axes[b.axis], words = b.n ? `\u00d7\u2009${digits(b.typical, 3)}, at most \u00d7\u2009${digits(b.most, 3)}` : "nothing to compare", win = b.win ? `best: ${a.texts[b.win[0]]} in ${percent(b.win[1] / b.n, 0)}` : "";
      if (slim) { // words stand above the bar, since there is no room beside it
        const bar = h("rect", { x: L, y, width: Math.max(1, wide(b.typical)), height: 13 }), line = h("path", { d: `M${L + wide(b.typical)} ${y + 6.5}H${L + wide(b.most)}m0 -5v10` });
        bar.style.fill = palette.compute; line.style.stroke = palette.quiet; line.style.strokeWidth = 1.4;
        svg.append(h("text", { x: L, y: y - 6 }, `${a.name}  ${words}`), h("text", { x: W - 4, y: y - 6, class: "quiet", "text-anchor": "end" }, win.length < 30 ? win : ""), line, bar);
        return;
      }
      const bar = h("rect", { x: L, y: y + 4, width: Math.max(1, wide(b.typical)), height: H - 9 }), line = h("path", { d: `M${L + wide(b.typical)} ${y + H / 2}H${L + wide(b.most)}m0 -5v10` });
      bar.style.fill = palette.compute; line.style.stroke = palette.quiet; line.style.strokeWidth = 1.4;
      svg.append(h("text", { x: L - 8, y: y + H / 2 + 4, "text-anchor": "end" }, a.name), line, bar,
        h("text", { x: W - R + 12, y: y + H / 2 + 4 }, words),
        h("text", { x: W - R + 150, y: y + H / 2 + 4, class: "quiet" }, win));
    });
    svg.style.maxWidth = W + "px";
    box.replaceChildren(svg);
  };
  toolbar(s, chooser("of", m.figures.map((x) => [x.key, x.title]), f.key, (k) => { f = m.figure(k); fill(); }));
  s.append(box, h("p", { class: "note" }, "Greatest over least when one axis varies and the others stay. Bar: the middle of all such groups; line: the greatest. Of the points that the filter leaves."));
  let late = 0;
  m.listeners.push((what) => { if (what !== "pick") { clearTimeout(late); late = setTimeout(fill, 60); } });
  drawers.push(fill);
  let slimWas = null;
  new ResizeObserver(() => { const w = box.clientWidth, slim = w > 0 && w < 640 ? w : 0; if (slim !== slimWas) { slimWas = slim; fill(); } }).observe(box);
  return { get bars() { return bars; } };
};

const parallelSection = (m) => {
  const s = section("parallel", "All axes at once"), MOST = 800;
  const note = h("p", { class: "note" });
  const tracks = [...m.axes.map((a, i) => ({ name: a.name, n: a.texts.length, at: (r) => { const k = m.place(r, i); return k < 0 ? null : a.texts.length > 1 ? k / (a.texts.length - 1) : 0.5; }, texts: a.texts }))];
  const SLIM = 560, GAP = 54, c = canvas((w) => (w < SLIM ? 40 + GAP * (m.axes.length + Math.max(1, Math.min(2, m.figures.filter((f) => f.objective).length)) - 1) + 20 : 340), (g, w, tall) => {
    const figures = m.figures.filter((f) => f.objective).slice(0, 2);
    if (!figures.length && m.main) figures.push(m.main);
    const all = [...tracks, ...figures.map((f) => {
      const known = m.rows.filter((r) => r[f.at] !== null), low = lowest(known, (r) => r[f.at]), high = highest(known, (r) => r[f.at]), l = low > 0 && high / low > 20;
      const t = l ? Math.log : (v) => v, span = t(high) - t(low) || 1;
      return { name: f.title, figure: f, low, high, at: (r) => (r[f.at] === null ? null : (t(r[f.at]) - t(low)) / span) };
    })];
    const L = 40, R = 70, T = 26, B = 20, xs = all.map((_, i) => L + (i * (w - L - R)) / Math.max(1, all.length - 1)), y = (v) => tall - B - v * (tall - T - B);
    // On a narrow page axes are stacked.
    const slim = w < SLIM, at = (i, v) => (slim ? [16 + v * (w - 70), 26 + i * GAP] : [xs[i], y(v)]);
    const rows = m.shown.filter((r) => !m.main || r[m.main.at] !== null), every = Math.ceil(rows.length / MOST), last = all[all.length - 1];
    const drawn = every > 1 ? rows.filter((_, i) => i % every === 0) : rows;
    const line = (r) => { g.beginPath(); let pen = false; all.forEach((a, i) => { const v = a.at(r); if (v === null) { pen = false; return; } if (pen) g.lineTo(...at(i, v)); else g.moveTo(...at(i, v)); pen = true; }); g.stroke(); };
    g.lineWidth = 1; g.globalAlpha = clamp(40 / Math.max(1, drawn.length), 0.1, 0.8);
    for (const r of drawn) { g.strokeStyle = heatColour(0.15 + 0.75 * (last.at(r) ?? 0)); line(r); }
    g.globalAlpha = 1;
    m.pick.forEach((r, i) => { g.strokeStyle = palette.focus; g.lineWidth = 2.4; g.setLineDash(i ? [6, 4] : []); line(r); });
    g.setLineDash([]); g.lineWidth = 1;
    all.forEach((a, i) => {
      g.strokeStyle = palette.ink; g.beginPath(); g.moveTo(...at(i, 1)); g.lineTo(...at(i, 0)); g.stroke();
      if (slim) {
        g.fillStyle = palette.panel; g.fillRect(0, at(i, 0)[1] - 20, g.measureText(a.name).width + 10, 15);
        g.fillStyle = palette.ink; g.textAlign = "left"; g.fillText(a.name, 4, at(i, 0)[1] - 12);
        let end = -1; // overlapping labels are left out
        const put = (v, text) => { const x = clamp(at(i, v)[0], 2, w - g.measureText(text).width - 4); if (x < end) return; end = x + g.measureText(text).width + 8; g.fillText(text, x, at(i, v)[1] + 11); };
        if (a.texts) a.texts.forEach((t, k) => put(a.texts.length > 1 ? k / (a.texts.length - 1) : 0.5, t.length > 16 ? t.slice(0, 15) + "\u2026" : t));
        else { put(0, SHOW[a.figure.kind](a.low)); put(1, SHOW[a.figure.kind](a.high)); }
        return;
      }
      g.textAlign = i ? "center" : "left"; g.fillStyle = palette.ink; g.fillText(a.name, i ? xs[i] : 4, 10); g.textAlign = "left";
      const mark = (v, text) => { const q = g.measureText(text).width; g.fillStyle = palette.panel; g.globalAlpha = 0.8; g.fillRect(xs[i] + 3, y(v) - 7, q + 5, 14); g.globalAlpha = 1; g.fillStyle = palette.ink; g.fillText(text, xs[i] + 5, y(v)); };
      if (a.texts) a.texts.forEach((t, k) => { if (a.texts.length < 20 || k % Math.ceil(a.texts.length / 12) === 0) mark(a.texts.length > 1 ? k / (a.texts.length - 1) : 0.5, t.length > 16 ? t.slice(0, 15) + "\u2026" : t); });
      else { mark(0, SHOW[a.figure.kind](a.low)); mark(1, SHOW[a.figure.kind](a.high)); }
    });
    note.textContent = every > 1 ? `One in ${every} of ${plural(rows.length, "point")} is drawn; the filter above chooses.` : `${plural(rows.length, "point")}; A is drawn whole, B dashed.`;
  }, "Parallel coordinates of all axes and the objectives");
  s.append(h("div", { class: "stage" }, c), note);
  // The table updates first: this plot is the slowest.
  let late = 0;
  m.listeners.push((what) => { clearTimeout(late); if (what === "pick") c.paint(); else late = setTimeout(() => c.paint(), 120); });
};
