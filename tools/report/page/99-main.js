// Begins: the system's theme, then the page of what the data are.
document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
readPalette();
const parts = { run: runPage, study: studyPage }[DATA.kind](DATA);
setTheme(document.documentElement.dataset.theme);
// What a test asks of the page.
window.ringlet = { parts, data: DATA, decodeTrack, readyMs: performance.now() };
