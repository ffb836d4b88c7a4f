// The page of a deployment search.
const USES = {
  all_reduce: ["all_reduce", "replicas share the batch; gradients are all-reduced"], ps: ["ps", "replicas share the batch; gradients meet at a parameter server"],
  model: ["model", "model parallel: each operator on one of the devices"], duplicate: ["duplicate", "every device does the whole batch"],
};
const times = (x) => digits(x, 3) + "\u2009\u00d7";
// "4 v100", or "4 v100 (b)" for the second of two groups that read alike.
const namesOfDevices = (d) => {
  const plain = d.device_groups.map((g) => `${g.count} ${g.type}`);
  return plain.map((x, i) => (plain.indexOf(x) === plain.lastIndexOf(x) ? x : `${x} (${String.fromCharCode(97 + plain.slice(0, i).filter((y) => y === x).length)})`));
};
const signed = (x, show) => (x > 0 ? "+" : x < 0 ? "\u2212" : "") + show(Math.abs(x));

// Figures of each plan beside data parallelism. Without a topology the plans have no time over the network.
const comparePlans = (d) => {
  const base = d.plans[0];
  return d.plans.map((p) => ({ ...p, gain: base.time_ps / p.time_ps, networkGain: p.network_time_ps ? base.network_time_ps / p.network_time_ps : null,
    contention: p.network_time_ps ? p.network_time_ps - p.time_ps : null }));
};

const deploySummary = (d, plans) => {
  const best = plans.find((p) => p.returned), base = plans[0], uniform = plans.find((p) => p.name === "best uniform") || base, s = h("section", { id: "summary", "aria-label": "Summary" });
  const at = (p) => p.network_time_ps ?? p.time_ps, over = best.network_time_ps !== null ? "over the network" : "by the reference\u2019s timing";
  s.append(h("div", { class: "figures" }, figure(time(at(best)), `iteration ${over}, ${best.name}`), figure(time(at(base)), "data parallel"), figure(time(at(uniform)), "best uniform"),
    figure(times(at(base) / at(best)), "speed-up over data parallel"), figure(times(at(uniform) / at(best)), "over best uniform"),
    best.network_time_ps !== null ? figure(time(best.time_ps), "by the reference\u2019s timing") : null, best.network_time_ps !== null ? figure(times(best.gain), "its speed-up over data parallel") : null));
  s.append(h("p", { class: "verdict" }, best === base || best === uniform ? `No strategy found is faster ${over} than the ${best.name} one. It is returned.`
    : `The strategy \u201c${best.name}\u201d takes ${time(at(best))} ${over}: ${digits(at(base) / at(best), 3)} times as fast as data parallelism, and ${digits(at(uniform) / at(best), 3)} times as fast as the best strategy that treats all groups alike.`));
  if (d.stopped) s.append(h("p", { class: "verdict state-failed" }, `The search was stopped before its end: ${count(d.judged)} of ${count(d.budget)} strategies were judged${d.judged_network ? `, and ${count(d.judged_network)} over the network` : ""}. The strategy returned is the best until then.`));
  s.append(h("p", { class: "note" }, h("code", {}, d.command_line)));
  main.append(s);
};

const plansSection = (d, plans) => {
  const s = section("plans", "Strategies compared"), most = highest(plans, (p) => Math.max(p.time_ps, p.network_time_ps || 0));
  const bar = (ps, name) => { const i = h("i", { class: name }); i.style.width = (100 * (ps || 0)) / most + "%"; return i; };
  const cell = (text, name = "n") => h("td", { class: name }, text), head = (text, unit, name = "n") => h("th", { class: name + " plain", scope: "col" }, text, h("small", {}, unit));
  s.append(framed(h("div", { class: "grid" }, h("table", {}, h("caption", { class: "unseen" }, "Strategies compared, by both timings"),
    h("thead", {}, h("tr", {}, head("strategy", "", ""), head("reference", "time"), head("speed-up", "reference"), head("network", "time"), head("speed-up", "network"), head("sharing links adds", "network \u2212 reference"), head("in %", "of the reference"), head("both times", "above: reference", ""), head("memory", "", ""))),
    h("tbody", {}, plans.map((p) => h("tr", { class: p.returned ? "best" : "" }, cell(p.name + (p.returned ? " \u2605 returned" : ""), ""), cell(time(p.time_ps)), cell(times(p.gain)), cell(time(p.network_time_ps)), cell(p.networkGain ? times(p.networkGain) : "\u2013"),
      cell(p.contention === null ? "\u2013" : signed(p.contention, time)), cell(p.contention === null ? "\u2013" : signed(p.contention / p.time_ps, (x) => percent(x, 0))),
      h("td", { class: "bars" }, bar(p.time_ps, ""), p.network_time_ps ? bar(p.network_time_ps, "net") : null), cell(p.over ? `lacks on ${plural(p.over, "device")}` : "fits", p.over ? "over" : ""))))))),
  h("p", { class: "note" }, "The reference\u2019s timing gives each pair of devices a link of its own and takes an all-reduce from a formula. The network shares links and simulates each message. The difference is therefore contention, less what the formula charges too much: it can be negative."));
};

const searchSection = (d) => {
  const s = section("search", "Search");
  const plots = d.curves.map((text, i) => {
    const svg = new DOMParser().parseFromString(text, "image/svg+xml").documentElement, [, , wide, tall] = svg.getAttribute("viewBox").split(" ").map(Number);
    svg.querySelector("rect").remove(); // the page has its own background, and a heading in place of the title
    svg.querySelector("text").remove();
    svg.setAttribute("viewBox", `0 36 ${wide} ${tall - 52}`);
    svg.removeAttribute("width"); svg.removeAttribute("height");
    svg.setAttribute("role", "img");
    svg.setAttribute("aria-label", `Best time against strategies judged, ${i ? "over the network" : "by the reference's timing"}, beside data parallelism`);
    return h("div", { class: "plot" }, document.importNode(svg, true));
  });
  s.append(h("div", { class: "cols" }, plots), h("p", { class: "note" }, `${d.method} judged ${count(d.judged)} of at most ${count(d.budget)} strategies by the reference\u2019s timing; `,
    d.first_better ? `number ${count(d.first_better)} was the first better than data parallelism.` : "none was better than data parallelism.",
    d.judged_network ? ` A second search judged ${count(d.judged_network)} over the network, from the best so far.` : " There was no second search over the network.", d.stopped ? " It was stopped before its end." : ""));
  return plots;
};

// Why a group is where it is: what the choice does to its gradients. The column beside says what it is worth.
const whyText = (d, g) => {
  const all = d.device_groups.length, some = d.device_groups.filter((_, i) => (g.placement >> i) & 1), devices = some.reduce((n, x) => n + x.count, 0);
  const weights = bytes(g.parameter_bytes), where = some.length < all ? `${devices} of ${d.devices.length} devices` : "all devices";
  if (g.baseline) return "as under data parallelism";
  if (g.duplicated) return `inputs of ${plural(g.duplicated, "operator")} are gathered`;
  if (devices === 1) return g.parameter_bytes ? `${weights} of gradients stay on one device` : "one device; it has no weights";
  if (g.use === "model") return g.parameter_bytes ? `${weights} of gradients are not reduced` : "no weights; the batch is not divided";
  if (g.use === "duplicate") return g.parameter_bytes ? `${weights} of gradients are not reduced` : "each device has the whole batch";
  return g.parameter_bytes ? `${weights} of gradients on ${where}` : `no weights; ${where} share the batch`;
};

const strategySection = (d) => {
  const s = section("strategy", "Where each group runs"), used = [...new Set(d.groups.map((g) => g.use))], widths = d.device_groups.map((x) => clamp(4 * x.count, 14, 60)), names = namesOfDevices(d);
  const strip = (g) => h("span", { class: "strip", "aria-hidden": "true" }, d.device_groups.map((x, i) => { const e = h("i", { class: (g.placement >> i) & 1 ? "use use-" + g.use : "", title: names[i] }); e.style.width = widths[i] + "px"; return e; }));
  const columns = [
    { key: "group", title: "group", kind: "count", get: (g) => g.group }, { key: "devices", title: "devices", unit: names.join(" | "), kind: "text", get: (g) => names.filter((_, i) => (g.placement >> i) & 1).join(", "), mark: strip, markWide: widths.reduce((a, x) => a + x + 2, 12) },
    { key: "use", title: "use", kind: "text", get: (g) => g.use }, { key: "why", title: "why", kind: "text", get: (g) => whyText(d, g) },
    { key: "slower", title: "else slower by", unit: "if data parallel", kind: "percent", get: (g) => g.slower, help: "How much longer the iteration takes if only this group is spread as under data parallelism, by the reference's timing" },
    { key: "compute_ps", title: "compute", unit: "reference device", kind: "time", get: (g) => g.compute_ps }, { key: "parameter_bytes", title: "weights", kind: "bytes", get: (g) => g.parameter_bytes },
    { key: "operators", title: "operators", kind: "count", get: (g) => g.operators }, ...(d.groups.some((g) => g.duplicated) ? [{ key: "duplicated", title: "duplicated", unit: "operators", kind: "count", get: (g) => g.duplicated }] : []),
    { key: "first", title: "first operator", kind: "text", get: (g) => g.first }];
  const t = dataTable({ rows: d.groups, columns, label: "groups of operators", filterLabel: "use=model slower>10%", tall: 560 });
  toolbar(s, h("div", { class: "key" }, used.map((u) => h("span", {}, h("i", { class: "use use-" + u }), `${USES[u][0]}: ${USES[u][1]}`))), t.input, t.number);
  s.append(t.grid, h("p", { class: "note" }, `${count(d.operators)} operators in ${plural(d.groups.length, "group")}; ${percent(d.cut, 0)} of the bytes cross groups. \u201cElse slower by\u201d is by the reference\u2019s timing. A negative figure: the returned strategy is faster over the network, not by that timing.${d.groups.some((g) => g.duplicated) ? " It leaves out the gathering of inputs." : ""}`));
  return t;
};

const deviceSection = (d) => {
  const s = section("memory", "Memory and use of devices"), best = d.plans.find((p) => p.returned), room = (x) => d.device_groups[x.group].memory_bytes;
  const top = highest(d.devices, room), wide = clamp(880 / d.devices.length, 1, 46), gap = wide > 6 ? 4 : 0, TALL = 130, y = (b) => (TALL * b) / top, names = namesOfDevices(d);
  const svg = h("svg", { class: "memories", viewBox: `0 0 ${Math.max(120, d.devices.length * wide)} ${TALL + 20}`, role: "img", "aria-label": "Memory of each device against its capacity; the table has the figures" });
  d.devices.forEach((x, i) => {
    const at = i * wide, full = x.peak_bytes > room(x), words = `device ${i}, ${d.device_groups[x.group].type}: ${bytes(x.peak_bytes)} of ${bytes(room(x))}`, used = Math.min(y(x.peak_bytes), TALL);
    svg.append(h("g", {}, h("title", {}, words), h("rect", { x: at, y: TALL - used, width: wide - gap, height: used, class: full ? "full" : "" }), h("rect", { x: at, y: TALL - y(room(x)), width: wide - gap, height: y(room(x)), class: "room" })));
    if (i === 0 || x.group !== d.devices[i - 1].group) svg.append(h("text", { x: at, y: TALL + 14, class: "quiet" }, names[x.group]));
  });
  svg.style.maxWidth = Math.max(120, d.devices.length * wide) + "px";
  const rows = d.devices.map((x, i) => ({ ...x, device: i, type: d.device_groups[x.group].type, room: room(x) }));
  const t = dataTable({ rows, label: "devices", filterLabel: "type=v100 memory>1GiB", tall: 330, columns: [
    { key: "device", title: "device", kind: "count", get: (x) => x.device }, ...(d.devices.some((x, i) => x.rank !== i) ? [{ key: "rank", title: "rank", unit: "of the network", kind: "count", get: (x) => x.rank }] : []), { key: "type", title: "type", kind: "text", get: (x) => x.type },
    { key: "memory", title: "memory", unit: "most at once", kind: "bytes", get: (x) => x.peak_bytes }, { key: "capacity", title: "capacity", kind: "bytes", get: (x) => x.room },
    { key: "full", title: "full", kind: "percent", meter: true, get: (x) => x.peak_bytes / x.room }, { key: "busy", title: "computes", unit: "in an iteration", kind: "time", get: (x) => x.busy_ps },
    { key: "share", title: "share", unit: "of the iteration", kind: "percent", meter: true, get: (x) => x.busy_ps / best.time_ps }] });
  const fullest = rows.reduce((a, x) => (x.peak_bytes / x.room > a.peak_bytes / a.room ? x : a), rows[0]), idle = rows.filter((x) => !x.busy_ps).length;
  toolbar(s, t.input, t.number);
  s.append(svg, h("p", { class: "note lower" }, `The fullest is device ${fullest.device}, a ${fullest.type}: ${bytes(fullest.peak_bytes)} of ${bytes(fullest.room)}, ${percent(fullest.peak_bytes / fullest.room)}. `,
    idle ? `${plural(idle, "device")} of ${rows.length} compute nothing. ` : "", "Outline: capacity. Memory and time are those of the reference\u2019s timing."), t.grid);
  return t;
};

const deployAbout = (d) => {
  const s = section("about", "Inputs and assumptions"), m = d.manifest, words = (v) => (Array.isArray(v) ? v.join(" ") : String(v));
  s.append(h("div", { class: "cols" },
    h("div", {}, h("h3", {}, "Options"), pairs([["ringlet", m.ringlet], ...Object.entries(m.options).map(([k, v]) => ["--" + k, words(v)])])),
    h("div", {}, h("h3", {}, "Inputs"), pairs([...m.inputs.map((i) => [i.what, `${i.path} (${i.hash})`]), ["weights", bytes(d.parameter_bytes)]]),
      h("h3", { class: "next" }, "Devices"), pairs(d.device_groups.map((g, i) => [namesOfDevices(d)[i], `${bytes(g.memory_bytes)}, ${digits(g.factor, 3)} \u00d7 the time of the reference device, ${rate(g.bandwidth_Bps)} among them`]))),
    h("div", {}, h("h3", {}, "Assumptions"), h("ul", { class: "notes" }, d.notes.map((n) => h("li", {}, n[0].toUpperCase() + n.slice(1) + ".")),
      ["A device of factor f takes f times as long as the reference device, for every operator.", "A replica of c takes 1/c of an operator\u2019s time and its launch, if the operator can divide the batch.", "Activations kept for the backward pass are the outputs of the layers. What a layer keeps inside is not counted as memory.",
        "The search goes by the reference\u2019s timing (TAG, arXiv 2302.06126). The strategy that is returned is the fastest over the network of those compared above.", "It is the best strategy found, not a proven optimum."].map((x) => h("li", {}, x))),
      h("p", { class: "note" }, "Links, timeline and stragglers of this strategy: write it with ", h("code", {}, "-o strategy.json"), ", then ", h("code", {}, "ringlet run --trace strategy.json --topology T --report run.html"), "."))));
};

const deployPage = (d) => {
  const devices = d.devices.length, plans = comparePlans(d);
  document.getElementById("title").textContent = `${d.graph} on ${d.cluster}`;
  document.getElementById("subtitle").textContent = `deployment search: ${plural(devices, "device")}, ${plural(d.groups.length, "group")} of operators, ${d.method}`;
  document.title = `${d.graph} on ${d.cluster} \u00b7 ringlet`;
  deploySummary(d, plans);
  plansSection(d, plans);
  const plots = searchSection(d), groups = strategySection(d), memory = deviceSection(d);
  deployAbout(d);
  return { plans, plots, groups, memory };
};
