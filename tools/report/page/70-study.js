// The page of a study: a row per point, with axes (inputs) and figures (results).
const FIGURES = {
  iteration_time_ps: ["iteration", "time", "min"], time_ps: ["time", "time", "min"], compute_ps: ["compute", "time", "min"],
  exposed_comm_ps: ["exposed comm.", "time", "min"], host_ps: ["host", "time", "min"], idle_ps: ["idle", "time", "min"],
  memory_bytes: ["memory", "bytes", "min"], model_flops_utilization: ["MFU", "percent", "max"], tokens_per_second: ["tokens/s", "real", "max"],
  busbw_GBps: ["busbw GB/s", "real", "max"], bound_ps: ["bound", "time", "min"], busiest_utilization: ["busiest link", "percent", "min"],
  bytes: ["bytes", "bytes", "min"], events: ["events", "count", "min"], messages: ["messages", "count", "min"],
};
const HEAD = ["point", "name", "coordinates", "replica", "status", "error", "options", "same_as", "busiest_link"];
const COORD = 2, STATUS = 4, FIRST = HEAD.length;
// Formats values of an axis: a zipped axis by the ends of its pointers, objects by their differences, null
// for an absent option.
const lastOf = (pointer) => { const p = pointer.split("/").filter((x) => x !== "-" && !/^\d+$/.test(x)); return p.length ? p[p.length - 1].replace(/~1/g, "/").replace(/~0/g, "~") : pointer; };
const plain = (v) => (v === null ? "none" : typeof v === "object" ? v.name || JSON.stringify(v).replace(/"/g, "") : String(v));
const namer = (a) => {
  if (a.pointers.length > 1 && a.values.every(Array.isArray)) return (v) => v.map((x, i) => `${lastOf(a.pointers[i] || "")}=${plain(x)}`).join(",");
  if (a.values.every((v) => v && typeof v === "object" && !Array.isArray(v) && !v.name)) {
    const keys = [...new Set(a.values.flatMap(Object.keys))].filter((k) => new Set(a.values.map((v) => JSON.stringify(v[k]))).size > 1);
    return (v) => (v && typeof v === "object" && keys.filter((k) => v[k] !== undefined).map((k) => plain(v[k])).join(",")) || plain(v);
  }
  // The setting's name is redundant if it is the axis's name: "loss=0.001" of an axis called loss, "switch.slots=16" of one called slots.
  const rest = (v) => { const i = v.indexOf("="), before = v.slice(0, i); return i > 0 && (before === a.name || before.endsWith("." + a.name)) ? v.slice(i + 1) : null; };
  const twice = a.values.every((v) => v === null || (typeof v === "string" && rest(v) !== null));
  return (v) => (twice && v ? rest(String(v)) ?? plain(v) : plain(v));
};
const numberOf = (v) => (typeof v === "number" ? v : typeof v === "string" ? quantity(v) : NaN);
const at = (tree, pointer) => pointer.split("/").slice(1).reduce((t, k) => (t === null || t === undefined ? undefined : t[k.replace(/~1/g, "/").replace(/~0/g, "~")]), tree);

// Sets a pointer's value as a sweep does: replaces or adds it; "-" appends to a list, null removes.
const put = (tree, pointer, v) => {
  const keys = pointer.split("/").slice(1).map((k) => k.replace(/~1/g, "/").replace(/~0/g, "~")), last = keys.pop(), parent = keys.reduce((t, k) => t?.[k], tree);
  if (!parent || typeof parent !== "object") return;
  if (Array.isArray(parent) && last === "-") { if (v !== null) parent.push(v); } else if (v === null) delete parent[last];
  else Object.defineProperty(parent, last, { value: v, enumerable: true, writable: true, configurable: true });
};

// State shared by the parts of the page: data and derived values, filter and selection, and who is notified.
const studyModel = (data) => {
  const m = { data, rows: data.rows, pick: [], listeners: [] };
  m.axes = data.axes.map((a, i) => ({ name: a.name, pointers: a.pointers, say: namer(a), texts: a.values.map(namer(a)), values: a.values, i,
    numeric: a.values.every((v) => !Number.isNaN(numberOf(v))), whole: a.values.every((v) => typeof v === "number") }));
  // Causes of time come with their names. Those that no point has are left out.
  const causes = data.causes || [];
  for (const [key, name] of causes) FIGURES[key] = FIGURES[key] || [name.replace(/^exposed (..) communication$/, "exposed $1"), "time", "min"];
  m.causes = causes.filter(([key]) => m.rows.some((r) => r[FIRST + data.figures.indexOf(key)] > 0));
  const unused = causes.map((c) => c[0]).filter((k) => !m.causes.some((c) => c[0] === k));
  let base = {};
  try { base = JSON.parse(data.study.text).base || {}; } catch { /* a text of another kind */ }
  const goals = new Map((data.study.objectives || []).filter((o) => o && typeof o === "object").map((o) => [o.column, o.goal === "max" || o.goal === "maximise" || o.goal === "maximize" ? "max" : "min"]));
  m.figures = data.figures.map((key, i) => ({ key, at: FIRST + i, title: (FIGURES[key] || [key])[0], kind: (FIGURES[key] || [0, "real"])[1],
    goal: goals.get(key) || (FIGURES[key] || [0, 0, "min"])[2], objective: goals.has(key) }))
    .filter((f) => (!unused.includes(f.key) && m.rows.some((r) => r[f.at] !== null)) || (data.live && f.objective));
  const wanted = (data.study.columns || []).filter((k) => m.figures.some((f) => f.key === k));
  if (wanted.length) m.figures = m.figures.filter((f) => f.objective || wanted.includes(f.key));
  const order = Object.keys(FIGURES);
  const aims = [...goals.keys()];
  m.figures.sort((a, b) => b.objective - a.objective || aims.indexOf(a.key) - aims.indexOf(b.key) || order.indexOf(a.key) - order.indexOf(b.key));
  m.figure = (key) => m.figures.find((f) => f.key === key);
  m.main = m.figures[0];
  m.value = (r, a) => (r[COORD][a] >= 0 ? m.axes[a].values[r[COORD][a]] : null);
  m.axisText = (r, a) => (r[COORD][a] >= 0 ? m.axes[a].texts[r[COORD][a]] : m.beside(r)[a]);
  // A named point is outside the grid. Its own settings, then those of the base, determine its values on axes.
  const named = new Map();
  m.beside = (r) => {
    if (r[0] < 0) return [];
    let texts = named.get(r[0]);
    if (texts) return texts;
    const own = JSON.parse(JSON.stringify(base));
    try { for (const [p, v] of Object.entries(JSON.parse(r[6]) || {})) put(own, p, v); } catch { /* none */ }
    texts = m.axes.map((a) => {
      const list = a.pointers.map((p) => at(own, p) ?? null), v = JSON.stringify(list.length > 1 ? list : list[0]);
      const k = a.values.findIndex((x) => JSON.stringify(x) === v);
      if (k >= 0) return a.texts[k];
      if (list.every((x) => x === null)) return null;
      return a.say(list.length > 1 ? list : list[0]);
    });
    named.set(r[0], texts);
    return texts;
  };
  // Index of the value on an axis; -1: not one of its values.
  m.place = (r, a) => (r[COORD][a] >= 0 ? r[COORD][a] : m.axes[a].texts.indexOf(m.beside(r)[a]));
  m.shown = m.rows;
  m.match = null; // a byte per row: 1 if it passes the filter
  m.changed = (what) => { for (const l of m.listeners) l(what); };
  m.togglePick = (r) => {
    const i = m.pick.indexOf(r);
    if (i >= 0) m.pick.splice(i, 1);
    else { m.pick.push(r); if (m.pick.length > 2) m.pick.shift(); }
    m.changed("pick");
  };
  m.label = (r) => r[1] || "point " + r[0];
  return m;
};
const chooser = (label, options, chosen, onchange) => {
  const s = h("select", { "aria-label": label, onchange: () => onchange(s.value) }, options.map(([v, t]) => h("option", { value: v, selected: v === chosen }, t)));
  return h("label", {}, h("span", { class: "quiet" }, label + " "), s);
};

// Axes that change how much work is done: times of different amounts of work are not compared.
const WORK = /^\/(bytes|collective|ranks|model|trace|train\/batch)(\/|$)/;
const placeOf = (r) => (r[1] ? "name " + r[1] : r[COORD].join());
// Returns the points that may be called the best of the study: those of its grid, replicas as their mean, in groups of equal work.
// What-ifs and named points have settings of their own, so they are not among them.
const comparable = (m) => {
  const f = m.main, done = m.rows.filter((r) => r[0] >= 0 && r[STATUS] === "done" && r[f.at] !== null), grid = done.filter((r) => r[COORD].length && r[COORD].every((k) => k >= 0));
  const axes = f.kind === "time" ? m.axes.filter((a) => a.pointers.some((p) => WORK.test(p))) : [], means = new Map(), groups = new Map();
  for (const r of done) { const k = placeOf(r), e = means.get(k) || { row: r, sum: 0, n: 0 }; e.sum += r[f.at]; e.n++; means.set(k, e); }
  for (const e of means.values()) e.value = e.sum / e.n;
  for (const e of new Set((grid.length ? grid : done).map((r) => means.get(placeOf(r))))) { const k = axes.map((a) => e.row[COORD][a.i] ?? -1).join(); if (!groups.has(k)) groups.set(k, []); groups.get(k).push(e); }
  const better = (a, b) => (f.goal === "max" ? b.value > a.value : b.value < a.value) ? b : a;
  return { means, axes, best: [...groups.values()].map((g) => g.reduce(better)).sort((a, b) => a.row[0] - b.row[0]) };
};
// Returns what the best is compared with: the first named point of the study, or the point that is its base.
const baselineOf = (m, means) => {
  const named = m.rows.find((r) => r[0] >= 0 && r[1] && means.has(placeOf(r)));
  if (named) return [means.get(placeOf(named)), named[1]];
  const texts = m.beside([Infinity, null, [], 0, "", null, "{}"]), same = m.rows.find((r) => r[COORD].length && means.has(placeOf(r)) && r[COORD].every((k, i) => k >= 0 && m.axes[i].texts[k] === texts[i]));
  return same ? [means.get(placeOf(same)), `the study\u2019s base (point ${same[0]})`] : null;
};
const studyFigures = (m) => {
  const box = h("section", { id: "summary", "aria-label": "Summary" }), MOST = 6;
  const fill = () => {
    const by = (s) => m.rows.filter((r) => r[0] >= 0 && r[STATUS] === s).length, f = m.main, c = f ? comparable(m) : { best: [], axes: [] }, one = c.best.length === 1 ? c.best[0] : null;
    const planned = m.data.study.points || m.rows.length, done = by("done"), failed = by("failed"), base = c.best.length ? baselineOf(m, c.means) : null;
    const show = (v) => SHOW[f.kind](f.kind === "count" ? Math.round(v) : v);
    const against = (e) => (!base || base[0] === e || !base[0].value || !e.value || c.axes.some((a) => base[0].row[COORD][a.i] !== e.row[COORD][a.i]) ? ""
      : f.kind === "time" ? `, ${digits(base[0].value / e.value, 3)} times as fast as ${base[1]}` : `, ${digits(e.value / base[0].value, 3)} times that of ${base[1]}`);
    const words = (e) => [m.axes.filter((a) => !c.axes.includes(a)).map((a) => `${a.name} ${m.axisText(e.row, a.i) ?? "\u2013"}`).join(", ") || m.label(e.row), ` (${show(e.value)}${e.n > 1 ? `, the mean of ${e.n} replicas` : ""}${against(e)}). `,
      h("button", { type: "button", onclick: () => m.togglePick(e.row) }, "Choose it to compare")];
    box.replaceChildren(h("div", { class: "figures" }, figure(`${count(done)}`, `of ${plural(planned, "point")} done`), figure(count(failed), "failed"),
      one ? figure(show(one.value), `best ${f.title}: ${m.label(one.row)}`) : null, figure(count(m.axes.length), "axes")),
    one ? h("p", { class: "verdict" }, "Best: ", words(one)) : "",
    ...(c.best.length > 1 ? [h("p", { class: "verdict" }, `Best ${f.title} for each ${c.axes.map((a) => a.name).join(" and ")}, as other amounts of work are not comparable:`),
      h("ul", { class: "notes" }, c.best.slice(0, MOST).map((e) => h("li", {}, h("b", {}, c.axes.map((a) => m.axisText(e.row, a.i)).join(", ")), ": ", words(e)))),
      c.best.length > MOST ? h("p", { class: "note" }, `${c.best.length - MOST} more are in the table.`) : ""] : []));
    explainWords(box);
  };
  main.append(box);
  m.listeners.push((what) => what === "data" && fill());
  fill();
};
// Figures that differ between points, without those that repeat another one: the columns of the table. A served page has all, as
// points may still come.
const telling = (m) => {
  if (m.data.live || m.rows.length < 2) return m.figures;
  const seen = [];
  return m.figures.filter((f) => {
    const known = m.rows.filter((r) => r[f.at] !== null), differ = known.some((r) => r[f.at] !== known[0][f.at]) || (known.length && known.length < m.rows.filter((r) => r[STATUS] === "done").length);
    const again = seen.some((g) => known.every((r) => r[f.at] === r[g.at]));
    if (differ && !again) seen.push(f);
    return f.objective || (differ && !again);
  });
};

const pointsSection = (m) => {
  const s = section("points", "Points");
  const told = telling(m), silent = m.figures.filter((f) => !told.includes(f)), equal = (f) => { const r = m.rows.find((x) => x[f.at] !== null); return `${f.title} ${r && m.rows.every((x) => x[f.at] === null || x[f.at] === r[f.at]) ? SHOW[f.kind](r[f.at]) : "(as another column)"}`; };
  const columns = [
    { key: "point", title: "point", kind: "count", get: (r) => r[0] },
    ...(m.data.live || m.rows.some((r) => r[1]) ? [{ key: "name", title: "name", kind: "text", get: (r) => r[1] }] : []),
    ...(m.rows.some((r) => r[3]) ? [{ key: "replica", title: "replica", kind: "count", get: (r) => r[3] }] : []),
    ...m.axes.map((a, i) => ({ key: a.name, title: a.name, unit: "axis", kind: a.whole ? "real" : "text",
      get: a.whole ? (r) => m.value(r, i) : (r) => m.axisText(r, i),
      ...(a.whole ? {} : a.numeric ? { number: (r) => numberOf(m.value(r, i) ?? m.axisText(r, i)) } : { order: (r) => (r[COORD][i] >= 0 ? r[COORD][i] : null) }) })),
    ...told.map((f) => ({ key: f.key, title: f.title, kind: f.kind, meter: f.kind === "percent", get: (r) => r[f.at] })),
    ...(m.rows.some((r) => r[8]) ? [{ key: "busiest_link", title: "busiest link", unit: "name", kind: "text", get: (r) => r[8] }] : []),
    ...(m.rows.some((r) => r[3] > 0) ? [{ key: "replica", title: "replica", kind: "count", get: (r) => r[3] }] : []),
    { key: "status", title: "status", kind: "text", get: (r) => r[STATUS] },
    ...(m.rows.some((r) => r[5]) ? [{ key: "error", title: "error", kind: "text", get: (r) => r[5] }] : []),
  ];
  // Each part of a zipped axis can be filtered and plotted, too.
  const also = m.axes.filter((a) => a.pointers.length > 1 && a.values.every(Array.isArray)).flatMap((a) => a.pointers.map((p, k) => ({ key: lastOf(p), title: lastOf(p),
    kind: a.values.every((v) => typeof v[k] === "number") ? "real" : "text", get: (r) => a.values[m.place(r, a.i)]?.[k] ?? null })))
    .concat(silent.map((f) => ({ key: f.key, title: f.title, kind: f.kind, get: (r) => r[f.at] })));
  const main = m.main ? { time: "<20ms", bytes: "<=4GiB", percent: ">=50%" }[m.main.kind] || ">100" : "";
  const first = m.axes.length ? `${m.axes[0].name}=${m.axes[0].texts[0]}` : "";
  const hint = [first && /\s/.test(first) ? `"${first}"` : first, m.main ? `${m.main.key.replace(/_(ps|bytes|GBps)$/, "")}${main}` : ""].filter(Boolean);
  const t = dataTable({ rows: m.rows, columns, also, label: "points", sort: m.main ? { key: m.main.key, down: m.main.goal === "max" } : null,
    filterLabel: hint.join(" "), onFilter: (rows, matched) => { m.shown = rows; m.match = matched; m.changed("filter"); },
    onPick: (r) => m.togglePick(r), picked: (r) => m.pick.includes(r), tall: 420 });
  t.input.style.minWidth = "min(420px, 100%)";
  toolbar(s, t.input, t.number, h("span", { class: "push quiet hands" }, "A click on a row chooses it; two are compared below."));
  s.append(t.grid, h("p", { class: "note" }, "A filter holds for all pictures. Terms are and-ed: words, ", hint.map((x) => [h("code", { class: "term" }, x), " "]), h("code", { class: "term" }, "-status=failed"), ".",
    silent.length ? ` Not shown, as all points have the same: ${silent.map(equal).join(", ")}.` : ""));
  m.listeners.push((what) => { if (what === "pick") t.render(); if (what === "data") t.rows = m.rows; });
  return t;
};

// Formats the settings of a named point, {pointer: value}, or the options of a what-if.
const optionWords = (text) => {
  try { return Object.entries(JSON.parse(text)).map(([k, v]) => `${k.replace(/^\//, "")} ${plain(v)}`).join(", "); } catch { return text; }
};
// Parts of the time of a point, [name, colour, time]: by cause if those are known, else by state.
const timeParts = (m, r) => {
  const of = (k) => { const f = m.data.figures.indexOf(k); return f < 0 ? 0 : r[FIRST + f] || 0; };
  const colour = (k) => (CAUSES.find((c) => c[0] === k) || [0, 0, "idle"])[2];
  const known = m.causes.some(([k]) => of(k) > 0);
  return [["compute", "compute", of("compute_ps")],
    ...(known ? m.causes.map(([k, name]) => [name, colour(k), of(k)]) : [["exposed communication", "collective", of("exposed_comm_ps")]]),
    ["host", "host", of("host_ps")], ["idle", "idle", of("idle_ps")]].filter((p) => p[2] > 0);
};
// Compares two points: inputs, results, time by cause, and busy links.
const compareSection = (m) => {
  const s = section("compare", "Side by side"), box = h("div");
  const links = () => { const by = new Map(); for (const l of m.data.links) { if (!by.has(l[0])) by.set(l[0], []); by.get(l[0]).push(l); } return by; };
  let byPoint = links();
  const bar = (r) => {
    const g = h("svg", { viewBox: "0 0 400 26", role: "img", preserveAspectRatio: "none" });
    const list = timeParts(m, r), total = (l) => l.reduce((a, p) => a + p[2], 0), sum = total(list);
    const longest = Math.max(...m.pick.map((p) => total(timeParts(m, p))), 1), seen = {};
    let x = 0;
    for (const [, c, v] of list) {
      const w = (v / longest) * 400, q = h("rect", { x, y: 3, width: w, height: 20 });
      seen[c] = (seen[c] || 0) + 1; // parts of one colour pale one after the other
      q.style.fill = palette[c]; q.style.fillOpacity = 1 / seen[c]; q.style.stroke = palette.quiet; q.style.strokeWidth = 0.5; g.append(q); x += w;
    }
    g.setAttribute("aria-label", list.map(([name, , v]) => `${name} ${percent(sum ? v / sum : 0)}`).join(", "));
    return [g, h("p", { class: "note" }, g.getAttribute("aria-label"))];
  };
  const timed = (r) => timeParts(m, r).length > 0;
  const fill = () => {
    if (!m.pick.length) { box.replaceChildren(empty("Choose two points: in the table, in the plot, or with Enter on a row.")); return; }
    const [a, b] = m.pick, both = m.pick.length === 2;
    const row = (name, x, y, change) => h("tr", {}, h("th", { scope: "row" }, name), h("td", { class: "n" }, x), both ? h("td", { class: "n" }, y) : null, both ? h("td", { class: "n" }, change) : null);
    const delta = (f) => (b[f.at] === null || a[f.at] === null || !a[f.at] ? "" : b[f.at] === a[f.at] ? "equal" : b[f.at] / a[f.at] >= 10 ? `\u00d7\u2009${digits(b[f.at] / a[f.at], 3)}` : (b[f.at] >= a[f.at] ? "+" : "\u2212") + digits(Math.abs(b[f.at] / a[f.at] - 1) * 100, 3) + "\u2009%");
    const t = h("table", { class: "beside" }, h("caption", { class: "unseen" }, "Two points side by side"),
      h("thead", {}, h("tr", {}, h("th", {}, ""), m.pick.map((p, i) => h("th", { class: "n", scope: "col" }, `${"AB"[i]}: ${m.label(p)}`)), both ? h("th", { class: "n" }, "B against A") : null)),
      h("tbody", {}, m.axes.map((x, i) => row(x.name, m.axisText(a, i) ?? "\u2013", both ? m.axisText(b, i) ?? "\u2013" : "", both && a[COORD][i] !== b[COORD][i] ? "differs" : "")),
        m.figures.map((f) => row(f.title, SHOW[f.kind](a[f.at]), both ? SHOW[f.kind](b[f.at]) : "", both ? delta(f) : "")),
        row("busiest link", a[8] ?? "\u2013", both ? b[8] ?? "\u2013" : "", ""), row("status", a[STATUS], both ? b[STATUS] : "", "")));
    const side = (p, i) => h("div", {}, h("h3", {}, `${"AB"[i]}: ${m.label(p)}`), timed(p) ? bar(p) : "",
      (byPoint.get(p[7] >= 0 ? p[7] : p[0]) || []).length ? h("p", { class: "note" }, "Busiest links: " + byPoint.get(p[7] >= 0 ? p[7] : p[0]).slice(0, 4).map((l) => `${l[1]} ${percent(l[6])}`).join("; ")) : "",
      p[6] ? h("p", { class: "note" }, h("code", {}, optionWords(p[6]))) : "", p[5] ? h("p", { class: "note" }, p[5]) : "");
    const grid = h("div", { class: "grid" }, t);
    grid.style.maxHeight = "none";
    box.replaceChildren(h("div", { class: "cols" }, framed(grid), h("div", { class: "cols" }, m.pick.map(side))));
  };
  toolbar(s, h("button", { type: "button", onclick: () => { m.pick.length = 0; m.changed("pick"); } }, "Clear"),
    h("button", { type: "button", onclick: () => { m.pick.reverse(); m.changed("pick"); } }, "Swap"));
  s.append(box);
  m.listeners.push((what) => { if (what === "data") byPoint = links(); if (what !== "filter") fill(); });
  drawers.push(fill);
};

const studyPage = (data) => {
  const m = studyModel(data), study = data.study;
  document.getElementById("title").textContent = study.name || "study";
  document.getElementById("subtitle").textContent = `study of ${plural(Math.max(study.points, m.rows.length), "point")}, ${plural(m.axes.length, "axis").replace("axiss", "axes")}${study.shard && study.shard !== "0/1" ? ", shard " + study.shard : ""}`;
  document.title = `${study.name || "study"} \u00b7 ringlet`;
  studyFigures(m);
  const live = data.live ? liveSection(m) : null;
  const table = pointsSection(m);
  compareSection(m);
  const pareto = m.figures.length ? paretoSection(m) : null;
  const sensitivity = m.figures.length && m.axes.length ? sensitivitySection(m) : null;
  if (m.axes.length) parallelSection(m);
  const s = section("about", "About this study");
  s.append(pairs([["ringlet", study.ringlet], ["hash", study.hash], ["points", `${count(m.rows.length)} of ${count(study.points)}`]]),
    study.text ? h("details", {}, h("summary", {}, "Its text"), h("pre", {}, study.text)) : "",
    data.links_left_out ? h("p", { class: "note" }, `${count(data.links_left_out)} links of points are left out: the busiest of each are here.`) : "");
  return { model: m, table, pareto, sensitivity, live };
};
