// The timeline: a row per track; rows scroll, time zooms. Of events closer than a pixel only one is drawn.
const CATEGORIES = { compute: "compute", memory: "memory", host: "host", delay: "delay", wait: "wait", collective: "collective", send: "send", recv: "receive" };

const decodeTrack = (t) => {
  const b = unpack64(t.data), n = t.n, from = new Float64Array(n), to = new Float64Array(n), label = new Uint32Array(n);
  const many = new Map();
  let at = 0, end = 0;
  const next = () => {
    let x = 0, f = 1, c;
    do { c = b[at++]; x += (c & 127) * f; f *= 128; } while (c > 127);
    return x;
  };
  for (let i = 0; i < n; i++) {
    from[i] = end + next();
    to[i] = end = from[i] + next();
    const l = next();
    label[i] = Math.floor(l / 2);
    if (l % 2) many.set(i, [next(), next()]);
  }
  return { rank: t.rank, order: t.order, name: t.name, n, from, to, label, many };
};
// Returns the first event that ends after t.
const endsAfter = (to, t, low = 0) => {
  let high = to.length;
  while (low < high) { const m = (low + high) >> 1; if (to[m] > t) high = m; else low = m + 1; }
  return low;
};

const timelineSection = (data) => {
  const s = section("timeline", "Timeline");
  if (!data) {
    s.append(empty("No timeline in this result. ", h("code", {}, "ringlet run \u2026 --report page.html"), " has one, and ",
      h("code", {}, "ringlet report run.json --timeline step.json"), " takes what ", h("code", {}, "run --timeline step.json"), " wrote."));
    return null;
  }
  const labels = data.labels.map((l) => l.split("\t"));
  let tracks = [];
  for (const t of data.tracks) tracks.push(t.like === undefined ? decodeTrack(t) : { ...tracks[t.like], rank: t.rank, order: t.order, name: t.name });
  const decoded = tracks.filter((_, i) => data.tracks[i].like === undefined);
  tracks.sort((a, b) => a.rank - b.rank || a.order - b.order);
  const all = tracks, total = Math.max(data.end_ps, 1), AXIS = 22;
  const ruler = document.createElement("canvas").getContext("2d");
  ruler.font = "11.5px " + palette.text;
  const GUTTER = clamp(76 + highest([...new Set(all.map((t) => t.name))], (n) => ruler.measureText(n).width), 120, 300);
  let t0 = 0, t1 = total, top = 0, rowH = 17, pickTrack = -1, pickEvent = -1, fills = {};
  const viewH = () => clamp(AXIS + tracks.length * rowH + 6, 120, 470);
  const gutter = (w) => (w < 560 ? 84 : GUTTER);
  const xOf = (t, w) => gutter(w) + ((t - t0) / (t1 - t0)) * (w - gutter(w));
  const tOf = (x, w) => t0 + ((x - gutter(w)) / (w - gutter(w))) * (t1 - t0);

  const drawRow = (g, tr, i, y, w) => {
    const left = gutter(w), scale = (w - left) / (t1 - t0), high = rowH - (rowH > 7 ? 3 : rowH > 3 ? 1 : 0);
    let last = -1, e = endsAfter(tr.to, t0);
    while (e < tr.n && tr.from[e] < t1) {
      const x = left + Math.max(0, tr.from[e] - t0) * scale, x1 = left + Math.min(t1 - t0, tr.to[e] - t0) * scale;
      const cat = labels[tr.label[e]][0];
      if (x1 - x < 1) {
        const px = Math.floor(x);
        if (px !== last) { g.fillStyle = palette[cat] || palette.quiet; g.fillRect(px, y, 1, high); last = px; }
        // Events that end within this pixel are drawn already.
        e = Math.max(e + 1, endsAfter(tr.to, t0 + (px + 1 - left) / scale, e));
        continue;
      }
      g.fillStyle = tr.many.has(e) ? (fills["+" + cat] ||= hatch(g, palette[cat] || palette.quiet, palette.panel, 7))
        : cat === "wait" ? (fills.wait ||= hatch(g, palette.wait, palette.collective)) : palette[cat] || palette.quiet;
      g.fillRect(x, y, Math.max(1, x1 - x - (x1 - x > 4 ? 0.6 : 0)), high);
      if (i === pickTrack && e === pickEvent) { g.strokeStyle = palette.focus; g.lineWidth = 2; g.strokeRect(x, y, x1 - x, high); }
      if (x1 - x > 34 && high > 10) {
        const name = labels[tr.label[e]][1] || cat, room = x1 - x - 8;
        g.save(); g.beginPath(); g.rect(x, y, x1 - x - 2, high); g.clip();
        g.fillStyle = cat === "wait" || cat === "host" || cat === "memory" || cat === "delay" ? palette.ink : document.documentElement.dataset.theme === "dark" ? "#0b0d0f" : "#fff";
        if (room > name.length * 3) g.fillText(name, x + 4, y + high / 2 + 0.5);
        g.restore();
      }
      last = Math.floor(x1);
      e++;
    }
  };
  const draw = (g, w, tall) => {
    fills = {};
    const left = gutter(w), rows = Math.ceil((tall - AXIS) / rowH) + 1, first = Math.floor(top / rowH);
    const step = niceStep(t1 - t0, Math.max(2, (w - left) / 110));
    g.fillStyle = palette.quiet; g.strokeStyle = palette.rule; g.lineWidth = 1; g.textAlign = "left";
    for (let t = Math.ceil(t0 / step) * step; t <= t1; t += step) {
      const x = Math.round(xOf(t, w)) + 0.5;
      g.beginPath(); g.moveTo(x, AXIS - 5); g.lineTo(x, tall); g.stroke();
      const text = axisTime(t, step, t1);
      if (x + g.measureText(text).width < w) g.fillText(text, x + 3, AXIS / 2);
    }
    g.save(); g.beginPath(); g.rect(0, AXIS, w, tall - AXIS); g.clip();
    for (let i = first; i < Math.min(tracks.length, first + rows); i++) {
      const y = AXIS + i * rowH - top + 1, tr = tracks[i], head = i === 0 || tracks[i - 1].rank !== tr.rank;
      if (head && i > 0 && rowH > 4) { g.fillStyle = palette.rule; g.fillRect(0, y - 2, w, 1); }
      if (i === pickTrack) { g.fillStyle = palette.faint; g.fillRect(0, y - 1, w, rowH); }
      drawRow(g, tr, i, y, w);
      if (rowH >= 10) {
        g.save(); g.beginPath(); g.rect(0, y - 2, left - 6, rowH + 2); g.clip();
        if (head || i === first) { g.fillStyle = palette.ink; g.fillText(left < 100 ? String(tr.rank) : "rank " + tr.rank, 7, y + rowH / 2 - 1); }
        g.fillStyle = palette.quiet; g.fillText(tr.name, left < 100 ? 30 : 62, y + rowH / 2 - 1);
        g.restore();
      } else if (head && tracks.length) {
        const every = Math.max(1, Math.round((14 / rowH) * (new Set(tracks.map((x) => x.rank)).size / tracks.length)));
        if (tr.rank % every === 0) { g.fillStyle = palette.quiet; g.fillText("rank " + tr.rank, 7, y + 2); }
      }
    }
    g.restore();
    const span = tracks.length * rowH, view = tall - AXIS;
    if (span > view + 4) { g.fillStyle = palette.quiet; g.globalAlpha = 0.5; g.fillRect(w - 4, AXIS + (top / span) * view, 3, Math.max(12, (view / span) * view)); g.globalAlpha = 1; }
    if (t1 - t0 < total * 0.999) { g.fillStyle = palette.accent; g.fillRect(left + (t0 / total) * (w - left), tall - 3, Math.max(6, ((t1 - t0) / total) * (w - left)), 3); }
  };
  const c = canvas(viewH, draw, "Timeline of ranks and streams; arrow keys pan, plus and minus zoom, N and P step through events of the chosen track, Enter zooms to the event");
  c.tabIndex = 0;
  c.setAttribute("role", "application");
  const stage = h("div", { class: "stage" }, c), detail = h("div", { class: "detail", "aria-live": "polite" });
  const settle = () => {
    const span = Math.min(t1 - t0, total);
    t0 = clamp(t0, 0, total - span); t1 = t0 + span;
    top = clamp(top, 0, Math.max(0, tracks.length * rowH - (viewH() - AXIS)));
    range.textContent = t1 - t0 > total * 0.999 ? "whole run, " + time(total) : `${time(t0)} to ${time(t1)} (${time(t1 - t0)})`;
    c.paint();
  };
  const zoom = (f, at = (t0 + t1) / 2) => {
    const span = clamp((t1 - t0) * f, 50, total);
    t0 = at - ((at - t0) / (t1 - t0)) * span; t1 = t0 + span;
    settle();
  };
  const fit = () => { t0 = 0; t1 = total; settle(); };
  const describe = (tr, e) => {
    const [cat, name, more] = labels[tr.label[e]], m = tr.many.get(e), length = tr.to[e] - tr.from[e];
    const begin = `rank ${tr.rank}, ${tr.name}: `;
    if (m) return `${begin}${count(m[0])} short events, ${time(m[1])} of ${time(length)}, from ${time(tr.from[e], 6)}; the longest is ${name || cat}`;
    return `${begin}${name || CATEGORIES[cat] || cat}${name && name !== cat ? " (" + (CATEGORIES[cat] || cat) + ")" : ""}, ${time(length)}, from ${time(tr.from[e], 6)} to ${time(tr.to[e], 6)}${more ? "; " + more : ""}`;
  };
  const hit = (ev) => {
    const r = c.getBoundingClientRect(), x = ev.clientX - r.left, y = ev.clientY - r.top, w = r.width;
    const i = Math.floor((y - AXIS + top) / rowH);
    if (y < AXIS || x < gutter(w) || !tracks[i]) return null;
    const tr = tracks[i], t = tOf(x, w), slack = ((t1 - t0) / w) * 2;
    const e = endsAfter(tr.to, t - slack);
    return e < tr.n && tr.from[e] <= t + slack ? [i, e] : [i, -1];
  };
  const pick = (i, e) => {
    pickTrack = i; pickEvent = e;
    detail.textContent = e >= 0 ? describe(tracks[i], e) : "";
    c.paint();
  };
  let drag = null;
  c.addEventListener("pointerdown", (ev) => { drag = { x: ev.clientX, y: ev.clientY, t0, t1, top, moved: false }; c.setPointerCapture(ev.pointerId); });
  c.addEventListener("pointermove", (ev) => {
    if (drag) {
      const w = c.clientWidth, dx = ev.clientX - drag.x, dy = ev.clientY - drag.y;
      drag.moved ||= Math.abs(dx) + Math.abs(dy) > 4;
      if (drag.moved) {
        const d = (dx / (w - gutter(w))) * (drag.t1 - drag.t0);
        t0 = drag.t0 - d; t1 = drag.t1 - d; top = drag.top - dy;
        showTip(0, 0, ""); settle();
      }
      return;
    }
    const at = hit(ev);
    showTip(ev.clientX, ev.clientY, at && at[1] >= 0 ? describe(tracks[at[0]], at[1]) : "");
  });
  c.addEventListener("pointerup", (ev) => { if (drag && !drag.moved) { const at = hit(ev); pick(at ? at[0] : -1, at ? at[1] : -1); } drag = null; });
  c.addEventListener("pointercancel", () => { drag = null; });
  c.addEventListener("pointerleave", () => showTip(0, 0, ""));
  c.addEventListener("dblclick", (ev) => { const r = c.getBoundingClientRect(); zoom(0.25, tOf(ev.clientX - r.left, r.width)); });
  c.addEventListener("wheel", (ev) => {
    const r = c.getBoundingClientRect(), overflow = tracks.length * rowH > viewH() - AXIS;
    if (ev.ctrlKey || ev.metaKey || ev.altKey) zoom(Math.exp(clamp(ev.deltaY, -200, 200) * 0.004), tOf(ev.clientX - r.left, r.width));
    else if (ev.shiftKey || Math.abs(ev.deltaX) > Math.abs(ev.deltaY)) { const d = ((ev.deltaX || ev.deltaY) / r.width) * (t1 - t0); t0 += d; t1 += d; settle(); }
    else if (overflow && document.activeElement === c) { const before = top; top += ev.deltaY; settle(); if (top === before) return; }
    else return;
    ev.preventDefault();
  }, { passive: false });
  const stepEvent = (by) => {
    if (pickTrack < 0) pickTrack = Math.floor(top / rowH);
    const tr = tracks[pickTrack];
    const e = pickEvent < 0 ? Math.min(endsAfter(tr.to, t0), tr.n - 1) : clamp(pickEvent + by, 0, tr.n - 1);
    if (tr.to[e] < t0 || tr.from[e] > t1) { const half = (t1 - t0) / 2, mid = (tr.from[e] + tr.to[e]) / 2; t0 = mid - half; t1 = mid + half; }
    pick(pickTrack, e); settle();
  };
  const stepTrack = (by) => {
    pick(clamp(pickTrack + by, 0, tracks.length - 1), -1);
    const y = pickTrack * rowH;
    top = clamp(top, y + rowH - (viewH() - AXIS), y);
    say(`rank ${tracks[pickTrack].rank}, ${tracks[pickTrack].name}`); settle();
  };
  c.addEventListener("keydown", (ev) => {
    const d = (t1 - t0) * 0.2, keys = {
      ArrowLeft: () => { t0 -= d; t1 -= d; settle(); }, ArrowRight: () => { t0 += d; t1 += d; settle(); },
      ArrowUp: () => stepTrack(-1), ArrowDown: () => stepTrack(1),
      PageUp: () => { top -= 300; settle(); }, PageDown: () => { top += 300; settle(); },
      "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), w: () => zoom(0.6), s: () => zoom(1 / 0.6),
      a: () => { t0 -= d; t1 -= d; settle(); }, d: () => { t0 += d; t1 += d; settle(); },
      Home: fit, 0: fit, n: () => stepEvent(1), p: () => stepEvent(-1),
      Enter: () => { if (pickEvent >= 0) { const tr = tracks[pickTrack], l = Math.max(50, tr.to[pickEvent] - tr.from[pickEvent]); t0 = tr.from[pickEvent] - l * 0.1; t1 = tr.to[pickEvent] + l * 0.1; settle(); } },
      Escape: () => pick(-1, -1),
    };
    if (ev.ctrlKey || ev.metaKey || !keys[ev.key]) return;
    ev.preventDefault();
    keys[ev.key]();
  });
  const range = h("span", { class: "quiet" });
  const find = h("input", { type: "search", placeholder: "Tracks: rank=3, stream", "aria-label": "Filter tracks", oninput: () => {
    const m = matching(find.value.trim(), indexOf(all, [{ key: "rank", title: "rank", kind: "count", get: (r) => r.rank }, { key: "track", title: "track", kind: "text", get: (r) => r.name + " " + "rank " + r.rank }]));
    tracks = find.value.trim() ? all.filter((_, i) => m[i]) : all;
    pickTrack = pickEvent = -1; top = 0;
    fitRows();
    settle();
  } });
  let dense = false;
  const fitRows = () => { rowH = dense ? clamp(440 / Math.max(1, tracks.length), 1, 17) : 17; };
  const rowsButton = h("button", { type: "button", "aria-pressed": "false", class: "tick", onclick: () => {
    dense = !dense; rowsButton.setAttribute("aria-pressed", String(dense)); fitRows(); settle(); } }, "All ranks at once");
  toolbar(s, range, h("span", { class: "push" }), find, all.length > 26 ? rowsButton : null,
    h("button", { type: "button", onclick: () => zoom(0.5), "aria-label": "Zoom in" }, "+"),
    h("button", { type: "button", onclick: () => zoom(2), "aria-label": "Zoom out" }, "\u2212"),
    h("button", { type: "button", onclick: fit }, "Whole run"));
  const used = new Set();
  for (const t of decoded) for (const l of new Set(t.label)) used.add(labels[l][0]);
  const keyOf = (cat) => { const i = h("i"); drawers.push(() => { i.style.background = cat === "wait" ? `repeating-linear-gradient(135deg, ${palette.wait} 0 3px, ${palette.collective} 3px 4px)` : palette[cat]; }); return h("span", {}, i, CATEGORIES[cat]); };
  s.append(stage, h("div", { class: "bar" }, h("div", { class: "key" }, Object.keys(CATEGORIES).filter((k) => used.has(k)).map(keyOf))), detail,
    h("p", { class: "note hands" }, "Drag to pan, double-click or Ctrl + wheel to zoom. With the keyboard: arrows, + and \u2212, N and P from event to event, Enter to zoom to it, Home for all."),
    data.resolution_ps || data.dropped ? h("p", { class: "note" }, data.resolution_ps ? `${count(data.events)} events, ${data.tracks.length > decoded.length ? `in ${count(decoded.length)} different tracks, ` : ""}drawn as ${count(data.shown)}: neighbours within ${time(data.resolution_ps)} that are shorter stand as one, hatched.` : "",
      data.dropped ? ` ${count(data.dropped)} events were left out of the recording.` : "") : "");
  settle();
  return { zoom, fit, goTo: (from, to) => { const l = Math.max(50, to - from); t0 = from - l * 0.15; t1 = to + l * 0.15; settle(); s.scrollIntoView(); c.focus(); }, get range() { return [t0, t1]; }, canvas: c };
};
