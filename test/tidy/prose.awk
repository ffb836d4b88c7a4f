# SPDX-License-Identifier: GPL-3.0-or-later
# How pages read: awk -f prose.awk PAGE.md... prints a line for each page:
#   PAGE WORDS SENTENCES LONGEST OVER: words in all, sentences of running text, words of the longest sentence,
#   sentences of more than 25 words. With -v show=N it also prints each sentence of more than N words.
# Running text is what stands in paragraphs and lists; headings, tables and code are left out. `code` in a
# sentence counts as one word.

function end_sentence(text,    n, word) {
    gsub(/^[ \t]+|[ \t]+$/, "", text)
    if (text !~ /[A-Za-z]/)
        return
    n = split(text, word, /[ \t]+/)
    sentences++
    if (n > longest)
        longest = n
    if (n > 25)
        over++
    if (show && n > show)
        print file ": " n " words: " text
}

function end_paragraph(    at) {
    gsub(/`[^`]*`/, "code", paragraph)
    gsub(/\]\([^)]*\)/, "]", paragraph)
    gsub(/\*\*/, "", paragraph)
    while (match(paragraph, /[.!?]["')\]]*[ \t]+/)) {
        at = RSTART + RLENGTH
        # An abbreviation does not end a sentence.
        if (substr(paragraph, 1, RSTART) ~ /(e\.g|i\.e|vs|al|Fig|cf|approx)\.$/) {
            paragraph = substr(paragraph, 1, RSTART - 1) substr(paragraph, RSTART + 1)
            continue
        }
        end_sentence(substr(paragraph, 1, RSTART))
        paragraph = substr(paragraph, at)
    }
    end_sentence(paragraph)
    paragraph = ""
}

function end_page() {
    end_paragraph()
    if (file != "")
        print file, words, sentences, longest + 0, over + 0
    words = sentences = longest = over = fenced = 0
}

FNR == 1 {
    end_page()
    file = FILENAME
}
{
    words += NF
}
/^ *```/ {
    end_paragraph()
    fenced = !fenced
    next
}
fenced {
    next
}
/^ *\|/ || /^#/ || /^[ \t]*$/ {
    end_paragraph()
    next
}
/^ *([-*]|[0-9]+\.) / {
    end_paragraph()
    sub(/^ *([-*]|[0-9]+\.) +/, "")
}
{
    paragraph = paragraph " " $0
}
END {
    end_page()
}
