// A table that sorts and filters, and draws only the rows in sight.
//
// columns: {key, title, unit, kind: text|time|bytes|rate|percent|count|real, get(row)}. A filter is words that must be
// in the row and terms such as transfer>100us, bytes<=4MiB, algorithm=ring, utilization>=50%, -name=x (not).
const SHOW = { text: (v) => v ?? "\u2013", time: (v) => time(v), bytes, rate, percent: (v) => percent(v), count, real: (v) => (v === null || v === undefined ? "\u2013" : Number.isInteger(v) ? count(v) : digits(v)) };
const ROW = 24;

const matcher = (text, columns) => {
  const terms = (text.match(/"[^"]*"|\S+/g) || []).map((t) => t.replace(/"/g, ""));
  const tests = terms.map((term) => {
    const m = /^(-?)([^<>=!]+)(<=|>=|!=|=|<|>)(.*)$/.exec(term);
    const name = m && m[2].toLowerCase();
    const c = m && (columns.find((k) => k.key.toLowerCase() === name || k.title.toLowerCase() === name) ||
      columns.find((k) => k.key.toLowerCase().startsWith(name) || k.title.toLowerCase().startsWith(name)));
    if (c) {
      const want = m[4].toLowerCase(), x = quantity(m[4]), not = m[1] === "-";
      const one = (r) => {
        const v = c.get(r);
        if (c.kind === "text" || Number.isNaN(x)) {
          const s = String(c.kind === "text" ? v ?? "" : SHOW[c.kind](v)).toLowerCase();
          return m[3] === "=" ? s === want || (want.endsWith("*") && s.startsWith(want.slice(0, -1))) : m[3] === "!=" ? s !== want : false;
        }
        if (v === null || v === undefined) return false;
        switch (m[3]) {
          case "<": return v < x;
          case ">": return v > x;
          case "<=": return v <= x;
          case ">=": return v >= x;
          case "!=": return v !== x;
          default: return v === x || SHOW[c.kind](v).replace(/\u2009/g, "") === m[4];
        }
      };
      return not ? (r) => !one(r) : one;
    }
    const not = term.length > 1 && term[0] === "-", word = (not ? term.slice(1) : term).toLowerCase();
    const texts = columns.filter((k) => k.kind === "text");
    const any = (r) => texts.some((k) => String(k.get(r) ?? "").toLowerCase().includes(word));
    return not ? (r) => !any(r) : any;
  });
  return (r) => tests.every((t) => t(r));
};

const dataTable = ({ rows, columns, label, sort, filterLabel, onFilter, onPick, picked, tall = 452 }) => {
  let shown = rows, key = sort ? sort.key : null, down = sort ? sort.down : false, printing = false, first = -1, last = -1, cursor = -1;
  const body = h("tbody");
  const heads = columns.map((c) => h("th", { class: c.kind === "text" ? "" : "n", scope: "col" },
    h("button", { type: "button", title: c.help || "Sort by " + c.title, onclick: () => { down = key === c.key ? !down : c.kind !== "text"; key = c.key; order(); apply(); } },
      c.title, h("span", { "aria-hidden": "true" }), h("small", {}, c.unit || ""))));
  const grid = h("div", { class: "grid", tabindex: "0", role: "region", "aria-label": label },
    h("table", { "aria-rowcount": rows.length }, h("caption", { class: "unseen" }, label), h("thead", {}, h("tr", {}, heads)), body));
  grid.style.maxHeight = tall + "px";
  const number = h("span", { class: "quiet", role: "status" });
  const input = h("input", { type: "search", spellcheck: "false", "aria-label": filterLabel || "Filter " + label,
    placeholder: "Filter: " + (filterLabel || "words, or time>100us") });

  const cell = (c, r) => {
    const v = c.get(r), text = SHOW[c.kind](v), td = h("td", { class: c.kind === "text" ? "" : "n", title: c.kind === "text" && String(text).length > 40 ? text : null }, text);
    if (c.meter && typeof v === "number") {
      const m = h("span", { class: "meter", "aria-hidden": "true" });
      m.style.backgroundSize = clamp(v, 0, 1) * 100 + "% 100%";
      td.append(m);
    }
    return td;
  };
  const line = (r, i) => h("tr", { class: picked && picked(r) ? "pick" : null, "aria-rowindex": i + 1, "aria-selected": onPick ? String(i === cursor) : null,
    onclick: onPick ? (e) => { cursor = i; onPick(r, e); render(true); } : null }, columns.map((c) => cell(c, r)));
  const space = (px) => { const tr = h("tr", { class: "space", "aria-hidden": "true" }, h("td", { colspan: columns.length })); tr.firstChild.style.height = px + "px"; return tr; };
  const render = (force) => {
    const a = printing ? 0 : Math.max(0, Math.floor(grid.scrollTop / ROW) - 8);
    const b = printing ? Math.min(shown.length, 120) : Math.min(shown.length, a + Math.ceil(tall / ROW) + 18);
    if (!force && a === first && b === last) return;
    first = a; last = b;
    body.replaceChildren(...(a ? [space(a * ROW)] : []), ...shown.slice(a, b).map((r, i) => line(r, a + i)),
      ...(b < shown.length && !printing ? [space((shown.length - b) * ROW)] : []));
  };
  // All rows are sorted once, and a filter keeps their order.
  let sorted = rows;
  const order = () => {
    const c = columns.find((k) => k.key === key);
    sorted = rows;
    if (c) {
      const sign = down ? -1 : 1;
      sorted = rows.slice().sort((x, y) => {
        const a = c.get(x), b = c.get(y);
        if (a === b) return 0;
        if (a === null || a === undefined) return 1;
        if (b === null || b === undefined) return -1;
        return (a < b ? -1 : 1) * sign;
      });
    }
    heads.forEach((t, i) => {
      const on = columns[i].key === key;
      t.setAttribute("aria-sort", on ? (down ? "descending" : "ascending") : "none");
      t.querySelector("span").textContent = on ? (down ? " \u25be" : " \u25b4") : "";
    });
  };
  const apply = () => {
    const text = input.value.trim();
    shown = text ? sorted.filter(matcher(text, columns)) : sorted.slice();
    grid.scrollTop = 0;
    render(true);
    number.textContent = shown.length === rows.length ? plural(rows.length, "row") : `${count(shown.length)} of ${plural(rows.length, "row")}`;
    if (onFilter) onFilter(shown);
  };
  input.addEventListener("input", apply);
  grid.addEventListener("scroll", () => render(false), { passive: true });
  grid.addEventListener("keydown", (e) => {
    const page = Math.floor(tall / ROW) - 2;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[e.key];
    if (e.target !== grid || (!step && e.key !== "Enter" && e.key !== " ")) return;
    if (!step && !(onPick && shown[cursor])) return;
    e.preventDefault();
    if (!step) { onPick(shown[cursor], e); render(true); return; }
    cursor = clamp(cursor + step, 0, shown.length - 1);
    grid.scrollTop = clamp(grid.scrollTop, (cursor + 3) * ROW - tall, cursor * ROW);
    render(true);
  });
  printers.push((on) => { printing = on; render(true); });
  const table = { grid, input, number, get rows() { return shown; }, set rows(r) { rows = r; order(); apply(); }, render: () => render(true),
    filter(text) { input.value = text; apply(); } };
  order();
  apply();
  return table;
};
// {columns, rows, total} of the data as a list of column descriptions with getters by name.
// A column that no row has is left out.
const getters = (list, specs) => specs.filter((s) => s.fn || (list.columns.includes(s.key) && (!list.rows.length || list.rows.some((r) => r[list.columns.indexOf(s.key)] !== null)))).map((s) => {
  const i = list.columns.indexOf(s.key);
  return { ...s, get: s.fn || ((r) => r[i]) };
});
