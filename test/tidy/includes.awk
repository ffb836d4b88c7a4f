# SPDX-License-Identifier: GPL-3.0-or-later
# Reads all sources twice (awk -f includes.awk pass=1 HEADERS pass=2 FILES) and prints violations about includes, a
# line each:
#   FILE needs HEADER for SYMBOL      it uses a name that only this header declares, but includes it indirectly
#   FILE does not use HEADER          the file uses no name that the header declares
#   HEADER declares SYMBOL for nobody used only by its own source: make it static, or remove it
# A source (a.c) may rely on the includes of its own header (a.h). Headers of test/support/ also supply
# system headers that every test needs. Names are found by the layout that
# clang-format gives to declarations, so no compiler is needed.

# Returns the line without comments and texts.
function code(line,    out, i, j) {
    out = ""
    while (line != "") {
        if (in_comment) {
            i = index(line, "*/")
            if (!i)
                return out
            line = substr(line, i + 2)
            in_comment = 0
            continue
        }
        if (!match(line, /\/\*|\/\/|"|'/))
            return out line
        out = out substr(line, 1, RSTART - 1) " "
        i = substr(line, RSTART, 1)
        if (i == "/") {
            if (substr(line, RSTART + 1, 1) == "/")
                return out
            line = substr(line, RSTART + 2)
            in_comment = 1
            continue
        }
        line = substr(line, RSTART + 1)
        while ((j = match(line, /["'\\]/)) && substr(line, j, 1) != i)
            line = substr(line, j + (substr(line, j, 1) == "\\" ? 2 : 1))
        line = substr(line, j + 1)
    }
    return out
}

function declare(name) {
    if (name == "" || name in in_this)
        return
    in_this[name] = 1
    declared[FILENAME] = declared[FILENAME] " " name
    homes[name]++
    home[name] = FILENAME
}

# Names of functions: before "(" in a declaration that begins at the first column.
function declare_function(line) {
    if (match(line, /[A-Za-z_][A-Za-z_0-9]*\(/)) {
        declare(substr(line, RSTART, RLENGTH - 1))
        if (line !~ /static inline/)
            functions[substr(line, RSTART, RLENGTH - 1)] = 1
    }
}

function declare_list(text,    n, i, part) {
    n = split(text, part, ",")
    for (i = 1; i <= n; i++) {
        sub(/=.*/, "", part[i])
        sub(/\[.*/, "", part[i])
        gsub(/[^A-Za-z_0-9 ]/, " ", part[i])
        sub(/ +$/, "", part[i])
        sub(/.* /, "", part[i])
        declare(part[i])
    }
}

function declarations(line,    name) {
    if (line ~ /^# *define /) {
        name = line
        sub(/^# *define +/, "", name)
        sub(/[^A-Za-z_0-9].*/, "", name)
        declare(name)
        return
    }
    if (in_enum) {
        name = line
        if (name ~ /\}/) {
            in_enum = 0
            sub(/\}.*/, "", name)
        }
        declare_list(name)
    } else if (line ~ /^(typedef )?enum[^;{]*\{/) {
        name = line
        sub(/^[^{]*\{/, "", name)
        in_enum = name !~ /\}/
        sub(/\}.*/, "", name)
        declare_list(name)
    } else if (line ~ /^    / && in_body) {
        name = line # members
        sub(/;.*/, "", name)
        if (match(name, /\(\*[a-z_0-9]+\)/))
            members[FILENAME] = members[FILENAME] " " substr(name, RSTART + 2, RLENGTH - 3)
        else {
            gsub(/[^A-Za-z_0-9]/, " ", name)
            members[FILENAME] = members[FILENAME] " " name
        }
    }
    if (line ~ /^(typedef )?(struct|union)[^;(]*\{/)
        in_body = 1
    if (line ~ /^\}/) {
        in_body = 0
        if (match(line, /^\} *[A-Za-z_][A-Za-z_0-9]*;/)) {
            name = substr(line, 2, RLENGTH - 2)
            sub(/^ */, "", name)
            declare(name)
        } else if (line ~ /^\} *[A-Za-z_].*;/)
            declare_list(substr(line, 2, index(line, ";") - 2))
    } else if (line ~ /^typedef .*;/) {
        if (match(line, /\(\*[A-Za-z_0-9]+\)/))
            declare(substr(line, RSTART + 2, RLENGTH - 3))
        else {
            name = line
            sub(/\(.*|;.*/, "", name)
            sub(/.*[ *]/, "", name)
            declare(name)
        }
    } else if (line ~ /^typedef .*\(\*[A-Za-z_0-9]+\)/) {
        match(line, /\(\*[A-Za-z_0-9]+\)/)
        declare(substr(line, RSTART + 2, RLENGTH - 3))
    } else if (line ~ /^typedef .*[a-z_0-9]\(/) {
        name = line
        sub(/\(.*/, "", name)
        sub(/.*[ *]/, "", name)
        declare(name)
    } else if (line ~ /^(RLT_API )?extern [a-z]/ || in_extern) {
        in_extern = line !~ /;/
        name = line
        sub(/;.*/, "", name)
        declare_list(name)
    } else if (line ~ /^[A-Za-z_].*\(/ && line !~ /^(typedef|struct .*\{)/)
        declare_function(line)
}

FNR == 1 {
    in_comment = in_enum = in_extern = in_body = 0
    split("", in_this)
    split("", seen)
    if (pass == 2)
        files[++n_files] = FILENAME
}

pass == 1 && FILENAME ~ /\.h$/ {
    if (!/^ *#include/)
        declarations(code($0))
}

pass == 2 {
    if (match($0, /^#include "[^"]*"/)) {
        name = substr($0, 11, RLENGTH - 11)
        includes[FILENAME] = includes[FILENAME] " " name
        has[FILENAME, name] = 1
        next
    }
    line = code($0)
    # "struct NAME" may be a forward declaration.
    while (match(line, /(struct|union|enum) +[A-Za-z_][A-Za-z_0-9]*/)) {
        name = substr(line, RSTART, RLENGTH)
        line = substr(line, 1, RSTART - 1) " " substr(line, RSTART + RLENGTH)
        sub(/.* /, "", name)
        used[FILENAME, name] = 1
    }
    gsub(/[^A-Za-z_0-9]+/, " ", line)
    n = split(line, word, " ")
    for (i = 1; i <= n; i++) {
        # A function called by an inline function of a header counts as called by users of that.
        if (FILENAME == home[word[i]] && $0 ~ /^    /)
            at_home[word[i]] = 1
        if (!(word[i] in seen)) {
            seen[word[i]] = 1
            used[FILENAME, word[i]] = 1
            if (!(FILENAME == home[word[i]]))
                users[word[i]]++
            if (word[i] in homes && word[i] ~ /^(rlt_|RLT_)/)
                names[FILENAME] = names[FILENAME] " " word[i]
        }
    }
}

function uses(file, header,    n, i, w) {
    n = split(declared[header] " " members[header], w, " ")
    for (i = 1; i <= n; i++)
        if ((file, w[i]) in used)
            return 1
    return 0
}

END {
    for (name in functions)
        if (homes[name] == 1 && name ~ /^rlt_/ && users[name] < 2 && !(name in at_home))
            print home[name] " declares " name " for nobody"
    for (f = 1; f <= n_files; f++) {
        file = files[f]
        own = file
        sub(/\.c$/, ".h", own)
        n = split(names[file], word, " ")
        for (i = 1; i <= n; i++) {
            h = home[word[i]]
            if (homes[word[i]] != 1 || h == file || (file, h) in told || (file, h) in has || own != file && (own, h) in has && (file, own) in has)
                continue
            told[file, h] = 1
            print file " needs " h " for " word[i]
        }
        n = split(includes[file], word, " ")
        for (i = 1; i <= n; i++)
            if (word[i] != own && word[i] in declared && word[i] !~ /^test\/support\// && !uses(file, word[i]))
                print file " does not use " word[i]
    }
}
