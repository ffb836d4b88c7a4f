// Time of each rank by cause; they add up to the run. If no purpose of communication is known: by state, with exposed
// communication by dimension; these add up to the rank's span.
const CAUSES = [["bubble_ps", "pipeline bubble", "wait"], ["start_skew_ps", "start skew", "wait"],
  ["peer_wait_ps", "waiting for other ranks", "wait"], ["exposed_tp_ps", "exposed TP", "collective"],
  ["exposed_cp_ps", "exposed CP", "collective"], ["exposed_ep_ps", "exposed EP", "collective"], ["exposed_dp_ps", "exposed DP", "collective"],
  ["exposed_pp_ps", "exposed PP", "send"], ["exposed_offload_ps", "exposed offloading", "recv"], ["exposed_other_ps", "exposed communication", "collective"]];
const PURPOSES = CAUSES.slice(3, 9).concat([CAUSES[0]]).map((c) => c[0]);
const namesCauses = (run) => run.ranks.rows.some((x) => PURPOSES.some((k) => x[run.ranks.columns.indexOf(k)] > 0));
const breakdownParts = (run) => {
  const r = run.ranks, at = (k) => r.columns.indexOf(k), dims = run.exposed_dims || null, by = at("exposed_by_dims_ps");
  const parts = [{ name: "compute", colour: "compute", of: (x) => x[at("compute_ps")] }];
  if (namesCauses(run)) {
    const shades = {};
    for (const [key, name, colour] of CAUSES) if (r.rows.some((x) => x[at(key)] > 0)) {
      const k = shades[colour] || 0;
      shades[colour] = k + 1;
      parts.push({ name, colour, shade: k, of: (x) => x[at(key)] });
    }
  } else if (dims && r.rows.length && r.rows[0][by]) {
    dims.forEach((d, i) => parts.push({ name: "exposed, " + d, colour: "collective", shade: i, of: (x) => x[by][i] }));
  } else parts.push({ name: "exposed communication", colour: "collective", of: (x) => x[at("exposed_comm_ps")] });
  parts.push({ name: "host", colour: "host", of: (x) => x[at("host_ps")] }, { name: "idle", colour: "idle", of: (x) => x[at("idle_ps")] });
  return parts.filter((p) => r.rows.some((x) => p.of(x) > 0));
};
const shade = (g, part) => {
  if (!part.shade) return palette[part.colour];
  return hatch(g, palette[part.colour], palette.panel, 3 + 2 * part.shade);
};

const breakdownSection = (run) => {
  const s = section("time", "Where the time goes"), rows = run.ranks.rows, parts = breakdownParts(run);
  const at = (k) => run.ranks.columns.indexOf(k), MOST = 64, per = Math.ceil(rows.length / MOST);
  const bands = [], named = namesCauses(run); // causes include what comes before the start and after the end
  for (let i = 0; i < rows.length; i += per) {
    const group = rows.slice(i, i + per), mean = (f) => group.reduce((a, x) => a + f(x), 0) / group.length;
    bands.push({ name: per === 1 ? "rank " + group[0][0] : `${group[0][0]}\u2013${group[group.length - 1][0]}`,
      start: named ? 0 : mean((x) => x[at("start_ps")]), parts: parts.map((p) => mean(p.of)), span: mean((x) => (named ? parts.reduce((a, p) => a + p.of(x), 0) : x[at("span_ps")])) });
  }
  const end = Math.max(1, highest(bands, (b) => b.start + b.span)), LEFT = 74, RIGHT = 70, H = bands.length > 32 ? 9 : 16;
  const c = canvas(() => bands.length * H + 22, (g, w) => {
    const scale = (w - LEFT - RIGHT) / end, fills = parts.map((p) => shade(g, p));
    const step = niceStep(end, Math.max(2, (w - LEFT - RIGHT) / 110));
    g.textAlign = "left";
    for (let t = 0; t <= end; t += step) {
      g.fillStyle = palette.rule; g.fillRect(LEFT + t * scale, 18, 1, bands.length * H);
      g.fillStyle = palette.quiet; g.fillText(axisTime(t, step, end), LEFT + t * scale + 2, 9);
    }
    bands.forEach((b, i) => {
      const y = 20 + i * H;
      let x = LEFT + b.start * scale;
      b.parts.forEach((v, k) => {
        g.fillStyle = fills[k]; g.fillRect(x, y, v * scale, H - (H > 10 ? 3 : 1));
        if (parts[k].colour === "idle") { g.strokeStyle = palette.rule; g.strokeRect(x, y, v * scale, H - 3); }
        x += v * scale;
      });
      if (H > 10 || i % 2 === 0) { g.fillStyle = palette.quiet; g.fillText(b.name, 4, y + (H - 2) / 2);
        g.fillText(percent(b.span ? b.parts[0] / b.span : 0), w - RIGHT + 8, y + (H - 2) / 2); }
    });
  }, "Time of each rank by what it was spent on; the table beside has the figures");
  c.addEventListener("pointermove", (ev) => {
    const r = c.getBoundingClientRect(), b = bands[Math.floor((ev.clientY - r.top - 20) / H)];
    showTip(ev.clientX, ev.clientY, b ? `${per > 1 ? "mean of ranks " : ""}${b.name}\n` + parts.map((p, k) => `${p.name} ${time(b.parts[k])}, ${percent(b.span ? b.parts[k] / b.span : 0)}`).join("\n") : "");
  });
  c.addEventListener("pointerleave", () => showTip(0, 0, ""));
  const key = h("div", { class: "key" }, parts.map((p) => { const i = h("i"); drawers.push(() => { const k = p.shade || 0; i.style.background = k ? `repeating-linear-gradient(135deg, ${palette[p.colour]} 0 ${1 + 2 * k}px, ${palette.panel} ${1 + 2 * k}px ${2 + 2 * k}px)` : palette[p.colour]; }); return h("span", {}, i, p.name); }));
  const columns = getters(run.ranks, [
    { key: "rank", title: "rank", kind: "count" }, { key: "span_ps", title: "span", kind: "time" },
    { key: "compute_ps", title: "compute", kind: "time" },
    { key: "exposed_comm_ps", title: "exposed", unit: "communication", kind: "time" },
    { key: "bubble_ps", title: "bubble", kind: "time", spare: true },
    { key: "host_ps", title: "host", kind: "time", spare: true }, { key: "idle_ps", title: "idle", kind: "time", spare: true },
    { key: "comm_wait_ps", title: "waits", unit: "in all", kind: "time" }, { key: "comm_transfer_ps", title: "transfers", unit: "in all", kind: "time" }]);
  const t = dataTable({ rows, columns, label: "ranks", filterLabel: "exposed>1ms", tall: 330 });
  toolbar(s, key);
  s.append(h("div", { class: "cols" }, h("div", {}, c, h("p", { class: "note" }, named ? "At the right: how much of the time a rank computes." : "At the right: how much of its span a rank computes.", per > 1 ? ` Each bar is the mean of ${per} ranks.` : "",
    run.ranks.total > rows.length ? ` The first ${count(rows.length)} of ${count(run.ranks.total)} ranks.` : "")),
    h("div", {}, h("div", { class: "bar hands" }, t.input, t.number), t.grid)));
  return t;
};
