// Words of the page, as the glossary of `ringlet help` explains them (the build makes GLOSSARY of its text).
const WORDS = GLOSSARY.split(/^## /m).slice(1).map((s) => {
  const [names, ...lines] = s.split("\n");
  return { names: names.split(", "), text: lines.filter((l) => l && !l.startsWith("Example:")).join(" ").replace(/`/g, "") };
});
const LABELS = ".figure span, th button, th.plain, table.beside tbody th, dt";
const wordIn = (text, name) => new RegExp(`(^|[^a-z])${name.toLowerCase().replace(/[.*+?^${}()|[\]\\/]/g, "\\$&")}s?([^a-z]|$)`).test(text);
// Explains labels that are, or have, words of the glossary: where the pointer rests, and the main figures also at a click. Returns
// the words.
const explainWords = (root) => {
  const used = new Set();
  for (const e of root.querySelectorAll(LABELS)) {
    const own = e.tagName === "BUTTON" ? e.firstChild.data : e.textContent, text = (own || "").toLowerCase().trim();
    const exact = WORDS.find((w) => w.names.some((n) => n.toLowerCase() === text)), known = exact ? [exact] : WORDS.filter((w) => w.names.some((n) => n.length > 3 && wordIn(text, n)));
    known.forEach((w) => used.add(w));
    if (!known.length || e.dataset.explained) continue;
    const help = known.map((w) => `${w.names[0]}: ${w.text}`).join("\n");
    e.dataset.explained = "yes";
    e.title = e.tagName === "BUTTON" ? `${help}\n${e.title}` : help;
    if (e.tagName !== "SPAN") continue;
    e.classList.add("known");
    e.addEventListener("click", (ev) => { showTip(ev.clientX, ev.clientY, help); ev.stopPropagation(); });
  }
  return used;
};
// Lists them at the end of the page.
const wordsSection = () => {
  const used = explainWords(main);
  if (used.size)
    section("words", "Words").append(h("details", {}, h("summary", {}, `${used.size} words of this page, explained`),
      h("dl", { class: "words" }, WORDS.filter((w) => used.has(w)).map((w) => h("div", {}, h("dt", {}, w.names[0]), h("dd", {}, w.text))))));
};
document.addEventListener("click", () => showTip(0, 0, ""));
