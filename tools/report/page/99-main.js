// Start: sets the system's theme, then makes the page for the kind of data.
document.documentElement.dataset.theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
readPalette();
const parts = { run: runPage, study: studyPage, deploy: deployPage }[DATA.kind](DATA);
wordsSection();
setTheme(document.documentElement.dataset.theme);
// Interface for tests.
window.ringlet = { parts, data: DATA, decodeTrack, readyMs: performance.now() };
