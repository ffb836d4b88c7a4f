// Memory of a training over time, in steps, for the first rank of each stage.
const memorySection = (run) => {
  const curves = (run.memory_curves || []).filter((c) => c.steps.length);
  if (!curves.length) return null;
  const s = section("memory", "Memory"), LEFT = 70, DASHES = [[], [7, 3], [2, 3], [9, 3, 2, 3]];
  const end = Math.max(run.time_ps, 1), top = highest(curves, (c) => c.steps.reduce((m, v, i) => (i % 2 && v > m ? v : m), 0)) * 1.08;
  const colours = ["compute", "collective", "good", "send", "accent", "bad"], inkOf = (i) => palette[colours[i % colours.length]];
  const c = canvas((w) => (w < 560 ? 200 : 260), (g, w, tall) => {
    const x = (t) => LEFT + (t / end) * (w - LEFT - 12), y = (b) => tall - 22 - (b / top) * (tall - 34);
    const unit = 1024 ** Math.floor(Math.log(Math.max(top, 1)) / Math.log(1024)), step = niceStep(top / unit, 5) * unit, ts = niceStep(end, Math.max(2, (w - LEFT) / 110));
    g.strokeStyle = palette.rule; g.fillStyle = palette.quiet; g.lineWidth = 1;
    for (let b = 0; b <= top; b += step) { const p = Math.round(y(b)) + 0.5; g.beginPath(); g.moveTo(LEFT, p); g.lineTo(w - 8, p); g.stroke(); g.textAlign = "right"; g.fillText(bytes(b), LEFT - 6, p); }
    g.textAlign = "left";
    for (let t = 0; t <= end; t += ts) g.fillText(axisTime(t, ts, end), x(t) + 2, tall - 8);
    g.lineWidth = 1.5;
    curves.forEach((k, i) => {
      g.strokeStyle = inkOf(i); g.setLineDash(DASHES[Math.floor(i / colours.length) % DASHES.length]); g.beginPath();
      for (let n = 0; n < k.steps.length; n += 2) { const px = x(k.steps[n]); if (n) g.lineTo(px, y(k.steps[n - 1])); else g.moveTo(px, y(k.steps[1])); g.lineTo(px, y(k.steps[n + 1])); }
      g.lineTo(x(end), y(k.steps[k.steps.length - 1])); g.stroke();
    });
    g.setLineDash([]);
  }, "Memory of the first rank of each stage over time");
  const key = h("div", { class: "key" }, curves.map((k, i) => { const sign = h("i"); drawers.push(() => { sign.style.background = inkOf(i); }); return h("span", {}, sign, `stage ${k.stage}, rank ${k.rank}: at most ${bytes(k.steps.reduce((m, v, n) => (n % 2 && v > m ? v : m), 0))}`); }));
  s.append(h("div", { class: "stage" }, c), key, curves.some((k) => k.every > 1) ? h("p", { class: "note" }, `Of each ${Math.max(...curves.map((k) => k.every))} changes the highest is drawn.`) : "");
  return { curves };
};
