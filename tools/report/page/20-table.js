// A table that sorts and filters, and draws only the visible rows.
//
// columns: {key, title, unit, kind: text|time|bytes|rate|percent|count|real, get(row)}. A text that is a quantity has
// number(row); a column with its own order has order(row); one with a drawing before its text has mark(row), markWide pixels wide. `also`: columns used only by filters. A filter has words and
// terms such as transfer>100us, bytes<=4MiB, algorithm=ring, utilization>=50%, -name=x (not); all must hold.
const SHOW = { text: (v) => v ?? "\u2013", time: (v) => time(v), bytes, rate, percent: (v) => percent(v), count, real: (v) => (v === null || v === undefined ? "\u2013" : Number.isInteger(v) ? count(v) : digits(v)) };
const ROW = 24;

// Rows by columns, made on first use: numbers in an array of doubles (NaN: unknown), texts as indices of distinct
// words, so that a term is tested once per word.
const indexOf = (rows, columns) => {
  const numbers = new Map(), words = new Map(), n = rows.length;
  return {
    rows, columns,
    numbers: (c) => {
      let x = numbers.get(c);
      if (!x) {
        numbers.set(c, (x = new Float64Array(n)));
        for (let i = 0; i < n; i++) x[i] = (c.number || c.get)(rows[i]) ?? NaN;
      }
      return x;
    },
    words: (c) => {
      let x = words.get(c);
      if (!x) {
        const codes = new Uint32Array(n), list = [], seen = new Map(), known = [];
        for (let i = 0; i < n; i++) {
          const v = c.get(rows[i]) ?? null;
          let k = seen.get(v);
          if (k === undefined) { seen.set(v, (k = list.length)); known.push(v !== null); list.push(String(c.kind === "text" ? v ?? "" : SHOW[c.kind](v)).toLowerCase()); }
          codes[i] = k;
        }
        words.set(c, (x = { codes, list, known }));
      }
      return x;
    },
  };
};

// Returns a byte per row: 1 if all terms hold.
const matching = (text, index) => {
  const n = index.rows.length, columns = index.columns, ok = new Uint8Array(n).fill(1);
  const keep = (c, test) => {
    const { codes, list } = index.words(c), yes = Uint8Array.from(list, (s) => (test(s) ? 1 : 0));
    for (let i = 0; i < n; i++) ok[i] &= yes[codes[i]];
  };
  for (const term of (text.match(/(?:"[^"]*"|[^\s"])+/g) || []).map((t) => t.replace(/"/g, ""))) {
    const m = /^(-?)([^<>=!]+)(<=|>=|!=|=|<|>)(.*)$/.exec(term), name = m && m[2].toLowerCase();
    const c = m && (columns.find((k) => k.key.toLowerCase() === name || k.title.toLowerCase() === name) ||
      columns.find((k) => k.key.toLowerCase().startsWith(name) || k.title.toLowerCase().startsWith(name)));
    if (!c) {
      const not = term.length > 1 && term[0] === "-" ? 1 : 0, word = (not ? term.slice(1) : term).toLowerCase(), any = new Uint8Array(n);
      for (const k of columns) {
        if (k.kind !== "text") continue;
        const { codes, list } = index.words(k), yes = Uint8Array.from(list, (s) => (s.includes(word) ? 1 : 0));
        for (let i = 0; i < n; i++) any[i] |= yes[codes[i]];
      }
      for (let i = 0; i < n; i++) ok[i] &= any[i] ^ not;
      continue;
    }
    const not = m[1] === "-" ? 1 : 0, want = m[4].toLowerCase(), x = quantity(m[4]), op = m[3];
    if (Number.isNaN(x) || (c.kind === "text" && (!c.number || op === "=" || op === "!="))) {
      keep(c, (s) => (op === "=" ? s === want || (want.endsWith("*") && s.startsWith(want.slice(0, -1))) : op === "!=" ? s !== want : false) !== !!not);
      continue;
    }
    const v = index.numbers(c);
    // Values are shown with four digits, so a typed value with those digits matches.
    const shown = (y) => y === x || (Math.abs(y - x) <= 0.01 * Math.abs(x) && SHOW[c.kind](y).replace(/\u2009/g, "") === m[4]);
    const test = { "<": (y) => y < x, ">": (y) => y > x, "<=": (y) => y <= x, ">=": (y) => y >= x, "!=": (y) => y === y && y !== x, "=": shown }[op];
    for (let i = 0; i < n; i++) ok[i] &= (test(v[i]) ? 1 : 0) ^ not;
  }
  return ok;
};

// Frames a table that scrolls: its first column stays, and a hint shows where more columns are.
const framed = (grid) => {
  const hint = h("span", { class: "more", "aria-hidden": "true" }, "more columns \u2192"), frame = h("div", { class: "frame" }, grid, hint);
  const look = () => { const left = grid.scrollWidth - grid.clientWidth - grid.scrollLeft; frame.classList.toggle("cut", left > 4); frame.classList.toggle("moved", grid.scrollLeft > 0); };
  grid.addEventListener("scroll", look, { passive: true });
  new ResizeObserver(look).observe(grid);
  if (grid.firstChild) new ResizeObserver(look).observe(grid.firstChild);
  return frame;
};

const dataTable = ({ rows, columns, label, sort, filterLabel, onFilter, onPick, picked, also = [], tall = 452 }) => {
  let shown = rows, key = sort ? sort.key : null, down = sort ? sort.down : false, printing = false, first = -1, last = -1, cursor = -1;
  const body = h("tbody");
  const heads = columns.map((c) => h("th", { class: c.kind === "text" ? "" : "n", scope: "col" },
    h("button", { type: "button", title: c.help || "Sort by " + c.title, onclick: () => { down = key === c.key ? !down : c.kind !== "text"; key = c.key; order(); apply(); } },
      c.title, h("span", { "aria-hidden": "true" }), h("small", {}, c.unit || ""))));
  const grid = h("div", { class: "grid", tabindex: "0", role: "region", "aria-label": label },
    h("table", { class: "rows", "aria-rowcount": rows.length }, h("caption", { class: "unseen" }, label), h("colgroup", {}, columns.map(() => h("col"))), h("thead", {}, h("tr", {}, heads)), body));
  grid.style.maxHeight = tall + "px";
  const number = h("span", { class: "quiet", role: "status" });
  const input = h("input", { type: "search", spellcheck: "false", "aria-label": filterLabel || "Filter " + label,
    placeholder: "Filter: " + (filterLabel || "words, or time>100us") });

  // Widths are computed once from the texts: automatic widths would lay out every cell after every filter.
  const ruler = document.createElement("canvas").getContext("2d");
  const measure = () => {
    let sum = 0;
    const every = Math.max(1, Math.floor(rows.length / 300));
    columns.forEach((c, k) => {
      let longest = "";
      for (let i = 0; i < rows.length; i += every) { const t = String(SHOW[c.kind](c.get(rows[i]))); if (t.length > longest.length) longest = t; }
      ruler.font = "13.5px " + palette.text;
      const cells = ruler.measureText(c.kind === "text" ? longest : longest.replace(/\d/g, "0") + "0").width + (c.meter ? 56 : 0) + (c.mark ? c.markWide : 0);
      ruler.font = "12px " + palette.text;
      const wide = Math.ceil(clamp(Math.max(cells * 1.02, ruler.measureText(c.title + " \u25be").width, ruler.measureText(c.unit || "").width), 24, 320)) + 21;
      grid.querySelectorAll("col")[k].style.width = wide + "px";
      sum += wide;
    });
    grid.firstChild.style.minWidth = sum + "px";
  };
  // Visible lines are created once; later only their contents change.
  const lines = [];
  const newLine = () => {
    const cells = columns.map((c) => {
      const td = h("td", { class: c.kind === "text" ? "t" : "n" }), text = document.createTextNode(""), meter = c.meter ? h("span", { class: "meter", "aria-hidden": "true" }) : null;
      td.append(text);
      if (meter) td.append(meter);
      return { td, text, meter, shown: "", row: null };
    });
    const tr = h("tr", {}, cells.map((k) => k.td)), l = { tr, cells, at: -1, pick: null };
    if (onPick) tr.addEventListener("click", (e) => { cursor = l.at; onPick(shown[l.at], e); render(true); });
    return l;
  };
  const tell = (l, r, i) => {
    columns.forEach((c, k) => {
      const v = c.get(r), text = String(SHOW[c.kind](v)), q = l.cells[k];
      if (c.mark && q.row !== r) { q.row = r; q.td.replaceChildren(c.mark(r), q.text); }
      if (q.shown !== text) {
        q.text.data = q.shown = text;
        if (c.kind === "text") { if (text.length > 40) q.td.title = text; else q.td.removeAttribute("title"); }
        if (q.meter) q.meter.style.backgroundSize = clamp(v || 0, 0, 1) * 100 + "% 100%";
      }
    });
    const is = picked ? picked(r) : false;
    if (l.pick !== is) { l.pick = is; l.tr.className = is ? "pick" : ""; }
    if (l.at !== i) { l.at = i; l.tr.setAttribute("aria-rowindex", i + 1); }
    if (onPick) l.tr.setAttribute("aria-selected", String(i === cursor));
  };
  const space = () => h("tr", { class: "space", "aria-hidden": "true" }, h("td", { colspan: columns.length }));
  const above = space(), below = space();
  let made = "", scrolled = 0;
  const render = (force) => {
    const a = printing ? 0 : Math.max(0, Math.floor(scrolled / ROW) - 8) & ~1; // even: stripes stay in place
    const b = printing ? Math.min(shown.length, 120) : Math.min(shown.length, a + Math.ceil(tall / ROW) + (a ? 16 : 6));
    if (!force && a === first && b === last) return;
    first = a; last = b;
    while (lines.length < b - a) lines.push(newLine());
    for (let i = a; i < b; i++) tell(lines[i - a], shown[i], i);
    above.firstChild.style.height = a * ROW + "px";
    below.firstChild.style.height = (shown.length - b) * ROW + "px";
    const now = `${a > 0} ${b - a} ${b < shown.length && !printing}`;
    if (now !== made) body.replaceChildren(...(a ? [above] : []), ...lines.slice(0, b - a).map((l) => l.tr), ...(b < shown.length && !printing ? [below] : []));
    made = now;
  };
  // Rows are sorted all at once; filters keep that order.
  let index = indexOf(rows, columns.concat(also)), sorted = null, matched = null;
  const order = () => {
    const c = columns.find((k) => k.key === key), n = rows.length;
    sorted = Uint32Array.from({ length: n }, (_, i) => i);
    if (c) {
      const sign = down ? -1 : 1;
      let v = null;
      if (c.order) v = Float64Array.from(rows, (r) => c.order(r) ?? NaN);
      else if (c.kind === "text" && !c.number) { // by the position of its word among all words
        const { codes, list, known } = index.words(c), place = new Float64Array(list.length);
        Array.from(list.keys()).sort((x, y) => (list[x] < list[y] ? -1 : list[x] > list[y] ? 1 : 0)).forEach((w, i) => { place[w] = known[w] ? i : NaN; });
        v = Float64Array.from(codes, (k) => place[k]);
      } else v = index.numbers(c);
      sorted.sort((x, y) => {
        const a = v[x], b = v[y];
        if (a === b) return x - y;
        if (a !== a) return b !== b ? x - y : 1;
        if (b !== b) return -1;
        return (a - b) * sign;
      });
    }
    heads.forEach((t, i) => {
      const on = columns[i].key === key;
      t.setAttribute("aria-sort", on ? (down ? "descending" : "ascending") : "none");
      t.querySelector("span").textContent = on ? (down ? " \u25be" : " \u25b4") : "";
    });
  };
  const apply = () => {
    matched = matching(input.value.trim(), index);
    shown = [];
    for (let i = 0; i < sorted.length; i++) if (matched[sorted[i]]) shown.push(rows[sorted[i]]);
    if (scrolled) { grid.scrollTop = 0; scrolled = 0; }
    render(true);
    number.textContent = shown.length === rows.length ? plural(rows.length, "row") : `${count(shown.length)} of ${plural(rows.length, "row")}`;
    if (onFilter) onFilter(shown, matched);
  };
  input.addEventListener("input", apply);
  grid.addEventListener("scroll", () => { scrolled = grid.scrollTop; render(false); }, { passive: true });
  grid.addEventListener("keydown", (e) => {
    const page = Math.floor(tall / ROW) - 2;
    const step = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -Infinity, End: Infinity }[e.key];
    if (e.target !== grid || (!step && e.key !== "Enter" && e.key !== " ")) return;
    if (!step && !(onPick && shown[cursor])) return;
    e.preventDefault();
    if (!step) { onPick(shown[cursor], e); render(true); return; }
    cursor = clamp(cursor + step, 0, shown.length - 1);
    grid.scrollTop = clamp(grid.scrollTop, (cursor + 3) * ROW - tall, cursor * ROW);
    scrolled = grid.scrollTop;
    render(true);
  });
  printers.push((on) => { printing = on; render(true); });
  const table = { grid: framed(grid), input, number, get rows() { return shown; }, set rows(r) { rows = r; index = indexOf(rows, columns.concat(also)); measure(); order(); apply(); }, render: () => render(true),
    filter(text) { input.value = text; apply(); } };
  // Prepares the words before the first letter is typed.
  if (rows.length > 2000) (window.requestIdleCallback || setTimeout)(() => columns.forEach((c) => c.kind === "text" && index.words(c)));
  measure();
  order();
  apply();
  return table;
};
// Converts {columns, rows, total} to column descriptions with getters by name.
// Columns that are empty in all rows are left out, and those of `spare` that are zero in all.
const getters = (list, specs) => specs.filter((s) => s.fn || (list.columns.includes(s.key) && (!list.rows.length || list.rows.some((r) => r[list.columns.indexOf(s.key)] !== null && (!s.spare || r[list.columns.indexOf(s.key)] !== 0))))).map((s) => {
  const i = list.columns.indexOf(s.key);
  return { ...s, get: s.fn || ((r) => r[i]) };
});
