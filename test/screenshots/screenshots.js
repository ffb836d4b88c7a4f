// SPDX-License-Identifier: GPL-3.0-or-later
// Takes pictures of pages and drawings in headless Chromium, wide and narrow, light and dark, and joins them in one page to look
// at. Usage: node screenshots.js DIR PLAYWRIGHT CHROMIUM. DIR has *.html, *.svg, and *.url with the address of a served page.
const path = require("path"), fs = require("fs");
const [dir, playwright, chromium] = process.argv.slice(2);
const { chromium: browserType } = require(playwright);
const WIDTHS = [1280, 390], SCHEMES = ["light", "dark"];

(async () => {
  const browser = await browserType.launch({ executablePath: chromium, args: ["--no-sandbox", "--disable-dev-shm-usage"] });
  const out = path.join(dir, "shots");
  fs.mkdirSync(out, { recursive: true });
  const names = fs.readdirSync(dir).filter((f) => /\.(html|svg|url)$/.test(f) && f !== "index.html").sort();
  let rows = "";
  for (const name of names) {
    const drawing = name.endsWith(".svg");
    const target = name.endsWith(".url") ? fs.readFileSync(path.join(dir, name), "utf8").trim() : "file://" + path.resolve(dir, name);
    rows += `<h2 id="${name}">${name}</h2><div>`;
    for (const width of WIDTHS)
      for (const scheme of drawing ? ["light"] : SCHEMES) {
        const context = await browser.newContext({ viewport: { width, height: 900 }, colorScheme: scheme });
        const page = await context.newPage(), file = `${name.replace(/\.\w+$/, "")}-${width}-${scheme}.png`;
        if (drawing) await page.setContent(`<body style="margin:0">${fs.readFileSync(path.join(dir, name), "utf8")}`);
        else await page.goto(target, { waitUntil: "load" });
        await page.evaluate(() => { // two points side by side, so that every part of a study is there
          const m = window.ringlet?.parts?.model;
          if (m && m.rows.length > 1) { m.togglePick(m.rows[0]); m.togglePick(m.rows[m.rows.length - 1]); }
        });
        await page.waitForTimeout(400);
        await page.screenshot({ path: path.join(out, file), fullPage: true });
        rows += `<figure><a href="shots/${file}"><img src="shots/${file}" loading="lazy" style="width:${width === 390 ? 195 : 640}px"></a><figcaption>${width} px, ${scheme}</figcaption></figure>`;
        await context.close();
      }
    rows += "</div>";
  }
  fs.writeFileSync(path.join(dir, "index.html"), `<!doctype html><meta charset="utf-8"><title>Screenshots</title><style>body{font:14px sans-serif;margin:24px}` +
    `div{display:flex;flex-wrap:wrap;gap:16px;align-items:flex-start}figure{margin:0}img{border:1px solid #ccc}</style><h1>Screenshots</h1>${rows}`);
  console.log(`${names.length} pages, in ${path.join(dir, "index.html")}`);
  await browser.close();
})().catch((e) => { console.error(String(e)); process.exit(1); });
