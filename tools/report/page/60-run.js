// The page of a run.
const pairs = (list) => h("dl", { class: "pairs" }, list.flatMap(([k, v]) => [h("dt", {}, k), h("dd", {}, v)]));

const runFigures = (run) => {
  const waits = (run.bubble_ps || 0) + (run.start_skew_ps || 0) + (run.peer_wait_ps || 0), sent = CAUSES.slice(3).filter(([k]) => run[k] > 0);
  const span = run.compute_ps + (sent.length || waits ? waits + sent.reduce((a, [k]) => a + run[k], 0) : run.exposed_comm_ps) + run.host_ps + run.idle_ps;
  const of = (x) => (span ? x / span : 0), share = (x, name) => (x ? figure(percent(of(x)), name) : null);
  const l = run.links, at = (k) => l.columns.indexOf(k), busiest = l.rows.length && l.rows[0][at("utilization")] > 0 ? l.rows[0] : null;
  const iterations = run.iteration_time_ps || [], s = h("section", { id: "summary", "aria-label": "Summary" });
  s.append(h("div", { class: "figures" },
    figure(time(iterations.length ? iterations[iterations.length - 1] : run.time_ps), iterations.length > 1 ? `last of ${iterations.length} iterations` : "iteration"),
    iterations.length > 1 ? figure(time(run.time_ps), "total time") : null,
    figure(percent(of(run.compute_ps)), "compute"), share(run.bubble_ps, "pipeline bubble"), share(run.start_skew_ps, "start skew"), share(run.peer_wait_ps, "waiting for other ranks"),
    sent.length || waits ? sent.map(([k, name]) => figure(percent(of(run[k])), name.replace(/^exposed (..)$/, "exposed $1 communication"))) : share(run.exposed_comm_ps, "exposed communication"),
    share(run.host_ps, "host"), share(run.idle_ps, "idle"),
    busiest ? figure(percent(busiest[at("utilization")]), "busiest link") : null,
    run.training && run.training.model_flops_utilization ? figure(percent(run.training.model_flops_utilization), "model FLOPS utilization") : null,
    figure(count(run.ranks.total), "ranks")));
  if (run.explain && run.explain.verdict) s.append(h("p", { class: "verdict" }, run.explain.verdict[0].toUpperCase() + run.explain.verdict.slice(1) + "."));
  if (run.explain && run.explain.levers && run.explain.largest_loss !== "compute") s.append(h("p", { class: "verdict" }, `Most is lost to: ${run.explain.largest_loss}. Levers: ${run.explain.levers}.`));
  s.append(h("p", { class: "note" }, `Shares are of rank ${run.rank_of_totals}, the last to end.`, busiest ? ` Busiest link: ${busiest[at("src")]} \u2192 ${busiest[at("dst")]}${busiest[at("count")] > 1 ? ` and ${busiest[at("count")] - 1} like it` : ""}.` : "",
    run.partial ? " The run was stopped before its end." : ""));
  main.append(s);
};

const collectivesSection = (run, heat, timeline) => {
  const s = section("collectives", "Collectives"), list = run.collectives, at = (k) => list.columns.indexOf(k);
  if (!list.rows.length) { s.append(empty("No communication in this run.")); return null; }
  const l = run.links, link = (k) => l.columns.indexOf(k);
  // The busiest link during the collective. Without a series: the busiest in the run, among the dimensions it uses.
  const meanwhile = list.rows.map((r) => {
    if (r[at("end_ps")] === null) return null;
    if (heat && r[at("end_ps")] - r[at("last_arrival_ps")] >= heat.bin / 2) return heat.busiest(r[at("last_arrival_ps")], r[at("end_ps")]);
    const dims = at("dims") >= 0 ? r[at("dims")] : null;
    const b = l.rows.find((x) => x[link("utilization")] > 0 && (!dims || dims.includes(x[link("dim")])));
    return b ? { name: `${b[link("src")]} \u2192 ${b[link("dst")]}${b[link("count")] > 1 ? " and " + (b[link("count")] - 1) + " like it" : ""}`, u: null } : null;
  });
  const place = new Map(list.rows.map((r, i) => [r, i]));
  const columns = getters(list, [
    { key: "index", title: "#", kind: "count" }, { key: "collective", title: "collective", kind: "text" }, { key: "algorithm", title: "algorithm", kind: "text" },
    { key: "ranks", title: "ranks", kind: "count" }, { key: "count", title: "times", kind: "count", help: "how often, in all groups; other columns are of the first" }, { key: "bytes", title: "bytes", kind: "bytes" }, { key: "last_arrival_ps", title: "begins", kind: "time" },
    { key: "wait_ps", title: "wait", kind: "time", help: "first to last arrival" }, { key: "transfer_ps", title: "transfer", kind: "time" },
    { key: "bound_ps", title: "bound", kind: "time", help: "no algorithm can be faster" },
    { key: "efficiency", title: "efficiency", unit: "bound / transfer", kind: "percent", meter: true, fn: (r) => (r[at("bound_ps")] && r[at("transfer_ps")] ? r[at("bound_ps")] / r[at("transfer_ps")] : null) },
    { key: "busbw_GBps", title: "busbw", unit: "GB/s", kind: "real" }, { key: "last_rank", title: "last", unit: "rank", kind: "count" },
    { key: "bottleneck", title: "bottleneck", unit: heat ? "busiest link meanwhile" : "busiest link of its dimensions", kind: "text", fn: (r) => { const m = meanwhile[place.get(r)]; return m ? m.name + (m.u !== null ? `, ${percent(m.u, 0)}` : "") : null; } }]);
  const t = dataTable({ rows: list.rows, columns, label: "collectives", filterLabel: "algorithm=ring transfer>100us",
    onPick: timeline ? (r) => { if (r[at("end_ps")] !== null) timeline.goTo(r[at("first_arrival_ps")], r[at("end_ps")]); } : null });
  const kinds = new Map();
  for (const r of list.rows) { const k = r[at("collective")], v = kinds.get(k) || [0, 0, 0], n = r[at("count")] || 1; v[0] += n; v[1] += n * (r[at("transfer_ps")] || 0); v[2] += n * (r[at("wait_ps")] || 0); kinds.set(k, v); }
  toolbar(s, t.input, t.number);
  s.append(t.grid, h("p", { class: "note" }, [...kinds].sort((a, b) => b[1][1] - a[1][1]).map(([k, v]) => `${count(v[0])} \u00d7 ${k}: transfers ${time(v[1])}, waits ${time(v[2])}`).join("; ") + ".",
    list.total > list.rows.length ? ` Only the ${count(list.rows.length)} of ${count(list.total)} that took longest are here.` : "", timeline ? " A click on a row shows it in the timeline." : ""));
  return t;
};

const aboutSection = (run) => {
  const s = section("about", "About this run"), m = run.manifest || {}, options = Object.entries(m.options || {});
  const words = (v) => (Array.isArray(v) ? v.join(" ") : String(v));
  const cp = run.explain && run.explain.critical_path;
  s.append(h("div", { class: "cols" },
    h("div", {}, h("h3", {}, "Options"), pairs([["ringlet", m.ringlet || ""], ["workload", run.workload || ""], ...options.map(([k, v]) => ["--" + k, words(v)])])),
    h("div", {}, h("h3", {}, "Inputs and amounts"), pairs([...(m.inputs || []).map((i) => [i.what, `${i.path} (${i.hash})`]), ["events", count(run.events)], ["messages", count(run.messages)], ["operations", count(run.operations)], ["routing", run.routing], ["injection", run.injection]])),
    cp ? h("div", {}, h("h3", {}, "Critical path"), pairs(Object.entries(cp).flatMap(([k, v]) => (v && typeof v === "object" ? Object.entries(v).map(([of, t]) => [`\u2013 for ${of.replace(/_/g, " ")}`, t]) : [[k, v]])).map(([k, v]) => [k.replace(/_ps$/, "").replace(/_/g, " "), `${time(v)}, ${percent(cp.total_ps ? v / cp.total_ps : 0)}`])),
      run.explain.waited_for.length ? [h("h3", {}, "Waited for"), pairs(run.explain.waited_for.slice(0, 8).map((x) => ["rank " + x.rank, `last to ${x.last_to}; the others waited ${time(x.others_waited_ps)} in all`]))] : null) : null,
    (run.notes || []).length ? h("div", {}, h("h3", {}, "Notes"), pairs(run.notes.map((n) => [count(n.count) + " \u00d7", n.text]))) : null));
};

const runPage = (data) => {
  const run = data.run;
  document.getElementById("title").textContent = run.topology;
  document.getElementById("subtitle").textContent = `${run.workload} workload, ${plural(run.ranks.total, "rank")}, ${run.network} network`;
  document.title = `${run.topology} \u00b7 ringlet`;
  runFigures(run);
  const timeline = timelineSection(data.timeline);
  const ranks = breakdownSection(run);
  const memory = memorySection(run);
  const links = networkSection(data.drawing, run);
  const heat = heatSection(data.heat);
  const collectives = collectivesSection(run, heat, timeline);
  aboutSection(run);
  return { timeline, ranks, memory, links, heat, collectives };
};
