# SPDX-License-Identifier: GPL-3.0-or-later
# Rules about single files: awk -f style.awk FILES prints "RULE FILE:LINE: what", a line each. test/tidy.sh has the
# reasons.
function say(rule, line, what) {
    print rule " " FILENAME ":" line ": " what
}

FNR == 1 {
    guard = toupper(FILENAME)
    gsub(/[\/.]/, "_", guard)
    guard = "RLT_" guard
    body = comment = 0
    signature = ""
    if ($0 !~ /SPDX-License-Identifier: GPL-3\.0-or-later/)
        say("licence", 1, "the first line is not the licence's")
}

length($0) > 110 {
    say("width", FNR, length($0) " columns")
}

FILENAME ~ /\.h$/ && /^#ifndef RLT_.*_H$/ && FNR < 60 && !guarded[FILENAME] {
    guarded[FILENAME] = 1
    if ($2 != guard)
        say("guard", FNR, $2 " should be " guard)
}

# A comment with text in its first line must have text in its last.
comment && /\*\// {
    if (comment == 2 && /^ *\*\/ *$/)
        say("stranded", FNR, "a comment's end stands alone, its beginning does not")
    comment = 0
}
/\/\*/ && !/\*\// {
    comment = /\/\*[ *]*$/ ? 1 : 2
}
/\/\* Of / {
    say("words", FNR, "a comment begins with 'Of': name the noun")
}

# Functions: clang-format sets their braces at the first column.
/^[A-Za-z_]/ && !/;$/ && !/^(typedef|struct|enum|union|extern|static const|const|#)/ {
    signature = $0
    next
}
/^\{/ {
    body = FNR
    name = signature
    if (match(name, /[A-Za-z_0-9]+\(/))
        name = substr(name, RSTART, RLENGTH - 1)
    sub(/, rlt_error \*err\)/, ")", signature) # every function that can fail has it
    n = gsub(/,/, ",", signature) + 1
    if (signature ~ /\(/ && n > 6)
        say("parameters", FNR, name " has " n)
}
/^\}/ && body {
    if (FNR - body + 1 > 62)
        say("length", FNR, name " has " FNR - body - 1 " lines")
    body = 0
    signature = ""
}
!body && signature != "" {
    signature = signature " " $0
}
