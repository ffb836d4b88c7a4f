// Shared by all parts of the page: elements, numbers with units, colours, sharp canvases.
const DATA = JSON.parse(document.getElementById("data").textContent);
const main = document.getElementById("main");

const h = (tag, attributes, ...children) => {
  const svg = h.svg.has(tag);
  const e = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [k, v] of Object.entries(attributes || {})) {
    if (v === undefined || v === null || v === false) continue;
    if (k.startsWith("on")) e.addEventListener(k.slice(2), v);
    else e.setAttribute(k, v === true ? "" : v);
  }
  e.append(...children.flat(9).filter((c) => c !== null && c !== undefined && c !== false));
  return e;
};
h.svg = new Set(["svg", "g", "path", "line", "rect", "circle", "text", "polyline", "polygon", "defs", "pattern", "title", "marker"]);

const clamp = (x, low, high) => Math.max(low, Math.min(high, x));
const lowest = (a, f) => a.reduce((m, x) => Math.min(m, f(x)), Infinity);
const highest = (a, f) => a.reduce((m, x) => Math.max(m, f(x)), -Infinity);

const grouped = (x) => (Number.isInteger(x) ? String(x).replace(/\B(?=(\d{3})+$)/g, "\u2009") : x.toLocaleString("en-GB").replace(/,/g, "\u2009"));
// Four significant digits; no exponent in the range that people read.
const digits = (x, n = 4) => {
  if (x === 0) return "0";
  const a = Math.abs(x);
  if (a >= 10 ** n || a < 1e-4) return a >= 1e15 || a < 1e-4 ? x.toExponential(2) : grouped(Math.round(x));
  return x.toFixed(clamp(n - 1 - Math.floor(Math.log10(a)), 0, 6));
};
const TIMES = [["s", 1e12], ["ms", 1e9], ["\u00b5s", 1e6], ["ns", 1e3], ["ps", 1]];
const time = (ps, n) => {
  if (ps === null || ps === undefined) return "\u2013";
  const [unit, size] = TIMES.find(([, s]) => Math.abs(ps) >= s) || TIMES[4];
  return digits(ps / size, n) + "\u2009" + unit;
};
const bytes = (b) => {
  if (b === null || b === undefined) return "\u2013";
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let i = 0;
  for (; Math.abs(b) >= 1024 && i < 5; i++) b /= 1024;
  return digits(b) + "\u2009" + units[i];
};
const rate = (b) => (b ? digits(b / 1e9) + "\u2009GB/s" : "\u2013");
const percent = (x, n = 1) => (x === null || x === undefined ? "\u2013" : (100 * x).toFixed(n) + "\u2009%");
const count = (x) => (x === null || x === undefined ? "\u2013" : Math.abs(x) < 10000 ? String(x) : grouped(x));
const plural = (n, word) => `${count(n)} ${word}${n === 1 ? "" : "s"}`;

// Parses a number with a unit, as typed into a filter: "100us" -> ps, "4MiB" -> bytes, "12 %" -> 0.12.
const UNITS = { ps: 1, ns: 1e3, us: 1e6, "\u00b5s": 1e6, ms: 1e9, s: 1e12, b: 1, kib: 1024, mib: 2 ** 20, gib: 2 ** 30, tib: 2 ** 40,
  kb: 1e3, mb: 1e6, gb: 1e9, tb: 1e12, "gb/s": 1, "mb/s": 1e-3, "tb/s": 1e3, "gbps": 0.125, "mbps": 0.125e-3, "tbps": 125, "%": 0.01, k: 1e3, m: 1e6 };
const quantity = (text) => {
  const m = /^(-?[0-9.]+(?:e-?\d+)?)\s*([a-z%\u00b5/]*)$/i.exec(text.trim());
  if (!m || Number.isNaN(+m[1])) return NaN;
  return m[2] === "" ? +m[1] : +m[1] * (UNITS[m[2].toLowerCase()] ?? NaN);
};

const unpack64 = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));

const colour = (name) => getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
let palette = {};
const readPalette = () => {
  for (const n of ["paper", "panel", "ink", "quiet", "rule", "faint", "accent", "focus", "compute", "memory", "host", "delay",
    "wait", "collective", "send", "recv", "idle", "good", "bad", "text"]) palette[n] = colour(n);
};
// Converts "#rrggbb" or "rgb(r,g,b)" to an opaque pixel of an image.
const pixelOf = (css) => {
  const v = css[0] === "#" ? [1, 3, 5].map((i) => parseInt(css.slice(i, i + 2), 16)) : css.match(/\d+/g).map(Number);
  return ((255 << 24) | (v[2] << 16) | (v[1] << 8) | v[0]) >>> 0;
};
// Colour scales of utilization: light to dark on white, dark to light on black; the order also holds in grey.
const LIGHT = [[238, 240, 240], [197, 216, 230], [120, 169, 205], [49, 110, 160], [24, 62, 110], [60, 10, 50]];
const DARK = [[34, 39, 43], [30, 66, 98], [32, 110, 140], [80, 165, 150], [190, 205, 110], [255, 240, 170]];
const heatRGB = (u) => {
  const ramp = document.documentElement.dataset.theme === "dark" ? DARK : LIGHT;
  if (!(u > 0)) return ramp[0];
  const x = clamp(u, 0, 1) * 4 + 1, i = Math.min(4, Math.floor(x)), f = x - i;
  return ramp[i].map((c, k) => Math.round(c + (ramp[Math.min(5, i + 1)][k] - c) * f));
};
const heatColour = (u) => (u === null || u === undefined ? palette.rule : `rgb(${heatRGB(u).join(",")})`);

// Drawing parts register here. All are redrawn when the theme or the width changes.
const drawers = [];
const redraw = () => { readPalette(); for (const d of drawers) d(); };
const theme = document.getElementById("theme");
const setTheme = (name) => {
  document.documentElement.dataset.theme = name;
  theme.setAttribute("aria-pressed", String(name === "dark"));
  theme.textContent = name === "dark" ? "Light" : "Dark";
  redraw();
};
theme.addEventListener("click", () => setTheme(document.documentElement.dataset.theme === "dark" ? "light" : "dark"));
let screenTheme = null;
addEventListener("beforeprint", () => { screenTheme = document.documentElement.dataset.theme; setTheme("light"); for (const f of printers) f(true); });
addEventListener("afterprint", () => { for (const f of printers) f(false); if (screenTheme) setTheme(screenTheme); });
const printers = [];

// Makes a canvas of `height()` CSS pixels whose context is in CSS pixels, too.
const canvas = (height, draw, label) => {
  const c = h("canvas", { role: "img", "aria-label": label });
  let width = 0;
  const paint = (measured) => { // if nothing has moved the width is known: asking for it would force a layout
    if (measured !== true || !width) width = c.clientWidth || width;
    if (!width) return;
    const tall = height(width), ratio = Math.min(devicePixelRatio || 1, 3);
    if (c.width !== Math.round(width * ratio) || c.height !== Math.round(tall * ratio)) {
      c.width = Math.round(width * ratio);
      c.height = Math.round(tall * ratio);
      c.style.height = tall + "px";
    }
    const g = c.getContext("2d");
    g.setTransform(ratio, 0, 0, ratio, 0, 0);
    g.clearRect(0, 0, width, tall);
    g.font = "11.5px " + palette.text;
    g.textBaseline = "middle";
    draw(g, width, tall);
  };
  let queued = false;
  c.paint = () => { if (!queued) { queued = true; requestAnimationFrame(() => { queued = false; paint(true); }); } };
  c.paintNow = paint;
  drawers.push(() => paint());
  new ResizeObserver(() => { if (c.clientWidth !== width) paint(); }).observe(c);
  return c;
};

// Draws slanted lines over a colour, so that waiting and merged events differ without colour.
const hatch = (g, base, line, gap = 5) => {
  const t = document.createElement("canvas");
  t.width = t.height = gap;
  const q = t.getContext("2d");
  q.fillStyle = base; q.fillRect(0, 0, gap, gap);
  q.strokeStyle = line; q.lineWidth = 1.1;
  q.beginPath(); q.moveTo(-1, gap + 1); q.lineTo(gap + 1, -1); q.moveTo(-1, 1); q.lineTo(1, -1); q.moveTo(gap - 1, gap + 1); q.lineTo(gap + 1, gap - 1); q.stroke();
  return g.createPattern(t, "repeat");
};

const tip = document.getElementById("tip");
const showTip = (x, y, text) => {
  if (!text) { tip.hidden = true; return; }
  tip.textContent = text;
  tip.hidden = false;
  const r = tip.getBoundingClientRect();
  tip.style.left = clamp(x + 14, 4, innerWidth - r.width - 4) + "px";
  tip.style.top = (y + 18 + r.height > innerHeight ? y - r.height - 10 : y + 18) + "px";
};
const say = (text) => { document.getElementById("say").textContent = text; };

// Returns a step of 1, 2 or 5 times a power of ten that makes about n steps.
const niceStep = (span, n) => {
  const raw = span / n, p = 10 ** Math.floor(Math.log10(raw));
  return [1, 2, 5, 10].find((m) => m * p >= raw) * p;
};

// Labels an axis up to `end`: one unit, with as many decimals as the step needs.
const axisTime = (t, step, end) => {
  const [unit, size] = TIMES.find(([, s]) => end >= s) || TIMES[4];
  return (t / size).toFixed(clamp(Math.ceil(-Math.log10(step / size) - 1e-9), 0, 9)) + "\u2009" + unit;
};

const section = (id, title, ...children) => {
  const s = h("section", { id, "aria-labelledby": id + "-h" }, h("div", { class: "bar" }, h("h2", { id: id + "-h" }, title)), ...children);
  main.append(s);
  document.getElementById("nav").append(h("a", { href: "#" + id }, title));
  return s;
};
const toolbar = (s, ...children) => s.firstChild.append(...children.filter(Boolean));
const empty = (...text) => h("p", { class: "empty" }, ...text);
const figure = (value, label) => h("div", { class: "figure" }, h("b", {}, value), h("span", {}, label));
