// Served pages: new points appear as they come, and what-ifs are added.
const HELP = { topology: "switch:8@450GB/s,500ns*switch:8@50GB/s,2us", model: "llama3-8b, or transformer:layers=24,hidden=1024", accelerator: "h100-sxm", layout: "tp=2,pp=2",
  train: "batch=128,recompute=selective", collective: "all_reduce", bytes: "64MiB", ranks: "all", trace: "a folder of recordings on this machine", network: "flow, alpha-beta or packet", algorithm: "all_reduce=ring", "network-scale": "2", "compute-scale": "1.5", set: "name=value" };
const COMMON = ["topology", "model", "accelerator", "layout", "train", "trace", "network", "collective", "bytes", "ranks", "algorithm", "network-scale", "compute-scale", "set", "rank-scale"];
const MANY = ["set", "link-scale", "rank-scale", "rank-delay"], FLAGS = ["no-skew", "any-memory", "fold", "no-fold"];

const liveSection = (m) => {
  const s = section("whatif", "What if"), live = m.data.live, fields = {}, list = h("div", { role: "status" });
  // Every request carries the token of the page's address.
  const ask = (path, request = {}) => fetch(path, { ...request, headers: { ...request.headers, "X-Ringlet-Token": live.token } });
  const field = (o) => { fields[o] = h("input", { name: o, placeholder: HELP[o] || "", spellcheck: "false", autocomplete: "off" }); return h("label", {}, "--" + o, fields[o]); };
  const name = h("input", { name: "name", placeholder: "what-if", maxlength: "80", autocomplete: "off" });
  const button = h("button", { type: "submit" }, "Start");
  const error = h("p", { class: "note state-failed", role: "alert" });
  const form = h("form", { class: "ask" }, h("label", {}, "name", name), COMMON.filter((o) => live.options.includes(o)).map(field));
  const more = h("details", {}, h("summary", {}, "More options"), h("div", { class: "ask" }));
  const rest = h("form", { class: "ask" }, live.options.filter((o) => !COMMON.includes(o) && !FLAGS.includes(o)).map(field));
  more.replaceChildren(more.firstChild, rest);
  const status = h("span", { class: "quiet" }, "live");
  const start = async (e) => {
    e.preventDefault();
    const options = {};
    for (const [k, f] of Object.entries(fields)) { const v = f.value.trim(); if (v) options[k] = MANY.includes(k) ? v.split(/\s+/) : v; }
    Object.assign(options, taken);
    button.disabled = true;
    error.textContent = "";
    try {
      const r = await ask("/runs", { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify({ name: name.value.trim(), options }) });
      const text = await r.text();
      if (!r.ok) { try { error.textContent = JSON.parse(text).error; } catch { error.textContent = text; } }
      await poll();
    } catch { error.textContent = "the server does not answer"; }
    button.disabled = false;
  };
  form.addEventListener("submit", start);
  rest.addEventListener("submit", start);
  // Flags have no field: those of the point that filled the form are kept.
  let taken = {};
  const fillIn = async (p) => {
    if (!p) { error.textContent = "Choose a point first."; return; }
    error.textContent = "";
    let given;
    try {
      const run = started.find((r) => -r.id === p[0]);
      if (run) { // a what-if: its options as requested
        given = { options: {}, left_out: [] };
        for (const w of run.options) { const [, k, v] = /^--([a-z-]+)=?(.*)$/s.exec(w); (given.options[k] ||= []).push(v); }
      } else given = await (await ask("/options/" + p[0])).json();
    } catch { error.textContent = "the server does not answer"; return; }
    if (given.error) { error.textContent = given.error; return; }
    for (const f of Object.values(fields)) f.value = "";
    taken = {};
    for (const [k, v] of Object.entries(given.options)) { if (fields[k]) fields[k].value = v.join(" "); else if (FLAGS.includes(k)) taken[k] = true; }
    if (given.left_out.length) error.textContent = `Not taken over, as a what-if cannot have them: ${given.left_out.map((o) => "--" + o).join(", ")}.`;
    name.value = ("like " + m.label(p)).slice(0, 80);
  };
  const from = h("button", { type: "button", onclick: () => fillIn(m.pick[0]) }, "Fill in from the chosen point");
  toolbar(s, from, h("span", { class: "push" }), status);
  form.append(h("div", {}, h("label", {}, "\u00a0"), button));
  s.append(form, more, error, list);

  let etag = "", runs = "", started = [];
  // A what-if is a point outside all axes, with a negative number.
  const rowOf = (r) => [-r.id, r.name || "what-if " + r.id, m.axes.map(() => -1), 0, r.state === "done" ? "what-if" : r.state, r.error || null, r.options.join(" "), -1, r.busiest_link || null,
    ...(r.figures.length ? r.figures : m.data.figures.map(() => null))];
  const take = (rows) => {
    const old = new Map(m.pick.map((p, i) => [p[0], i]));
    m.rows = rows.concat(started.filter((r) => r.state === "done" || r.state === "failed").map(rowOf));
    for (const r of m.rows) if (old.has(r[0])) m.pick[old.get(r[0])] = r;
    m.changed("data");
  };
  const poll = async () => {
    const q = await (await ask("/runs")).text();
    if (q !== runs) {
      runs = q;
      started = JSON.parse(q).runs;
      list.replaceChildren(...started.map((r) => h("p", { class: "note" }, h("b", {}, r.name || "what-if " + r.id), " ", h("span", { class: "state-" + r.state }, r.state),
        r.figures.length ? `, ${time(r.figures[m.data.figures.indexOf("iteration_time_ps")] ?? r.figures[m.data.figures.indexOf("time_ps")])}` : "", " ", h("code", {}, r.options.join(" ")), r.error ? " " + r.error : "")));
      take(m.data.rows);
    }
    const d = await ask("/data", { headers: etag ? { "If-None-Match": etag } : {} });
    if (d.status === 200) {
      const first = !etag;
      etag = d.headers.get("ETag") || "";
      const fresh = await d.json();
      if (!first || fresh.rows.length !== m.data.rows.length) { m.data.rows = fresh.rows; m.data.links = fresh.links; take(fresh.rows); }
    }
    const done = m.data.rows.filter((r) => r[STATUS] === "done").length;
    status.textContent = `live: ${count(done)} of ${plural(Math.max(m.data.study.points, m.data.rows.length), "point")} done`;
  };
  const loop = async () => {
    try { if (!document.hidden) await poll(); } catch { status.textContent = "the server has ended; this is its last answer"; }
    setTimeout(loop, started.some((r) => r.state === "running" || r.state === "waiting") ? 400 : 2000);
  };
  setTimeout(loop, 300);
  return { poll, form, fields, name, fillIn };
};
