# SPDX-License-Identifier: GPL-3.0-or-later
# How a page reads. Of each file a line: words of the whole file, words of the longest sentence, per cent of sentences of
# more than 25 words, file, the longest sentence. A sentence ends with . ! or ? before a blank or the line's end, with its
# paragraph, list item or table cell. Code blocks are no sentences, a link counts as its text, a code span as one word.
function sentence(s, w, n) {
    n = split(s, w, " ")
    if (n == 0) return
    total++
    if (n > 25) over++
    if (n > most) { most = n; longest = s }
}
function flush(s, i, parts, n) {
    gsub(/`[^`]*`/, "CODE", text)
    gsub(/!?\[/, "", text)
    gsub(/\]\([^)]*\)/, "", text)
    gsub(/e\.g\.|i\.e\.|et al\.|eff\./, "etc", text)
    gsub(/[.!?][)*"]*( |$)/, "&\001", text)
    n = split(text, parts, "\001")
    for (i = 1; i <= n; i++) sentence(parts[i])
    text = ""
}
function report() {
    flush()
    if (file != "") printf "%d %d %.1f %s %s\n", words, most, total ? 100 * over / total : 0, file, longest
    words = most = total = over = inside = 0
    longest = ""
}
FNR == 1 { report(); file = FILENAME }
{ words += NF }
/^```/ { flush(); inside = !inside; next }
inside { next }
/^[ \t]*$/ { flush(); next }
/^#/ { flush(); next }
/^\|/ {
    flush()
    if ($0 ~ /^[|: -]*$/) next
    gsub(/\\\|/, "/")
    cells = split($0, cell, "|")
    for (c = 1; c <= cells; c++) { text = cell[c]; flush() }
    next
}
/^ *([*-]|[0-9]+\.) / { flush(); sub(/^ *([*-]|[0-9]+\.) /, "") }
{ text = text " " $0 }
END { report() }
