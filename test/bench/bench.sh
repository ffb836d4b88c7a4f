#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# bench.sh [short|long] [WORDS]: measures the rows of rows.txt whose line contains WORDS. Instructions come first: callgrind counts
# them alike under any load, so several rows are counted at a time. CPU seconds (least of three runs, one run if it takes longer
# than 1 s) and peak memory of the whole process follow, a row at a time. Start-up is left out of cost a unit and of growth.
#   RINGLET=FILE  the command to measure, such as that of an earlier build
#   LIMIT=S       seconds after which a run of a command is given up (default 300); its cells are empty
set -u
cd "$(dirname "$0")/../.." || exit 1
build=${BUILD:-build}
ringlet=${RINGLET:-$build/ringlet}
limit=${LIMIT:-300}
when=${1:-short} words=${2:-}
here=test/bench
command -v valgrind >/dev/null 2>&1 || { echo "valgrind is missing: apt-get install valgrind" >&2; exit 1; }
t=$(mktemp -d)
trap 'rm -rf "$t"' EXIT
trap 'exit 130' INT TERM
. "$here/inputs.sh"

field() { echo "$1" | cut -d'|' -f"$2" | sed 's/^ *//; s/ *$//'; }
# A row for each n: number | counted | work | n | unit | limit | goal | command, with n put in.
expand() {
    number=0
    grep -v '^#' "$here/rows.txt" | grep -F -- "$words" | while IFS= read -r line; do
        [ "$(field "$line" 1)" = short ] || [ "$when" = long ] || continue
        for n in $(field "$line" 4); do
            number=$((number + 1))
            command=$(eval "echo \"$(field "$line" 8)\"")
            unit=$(field "$line" 5 | sed "s/\$n/$n/; s,\$t,$t,")
            echo "$number|$(field "$line" 2)|$(field "$line" 3)|$n|$unit|$(field "$line" 6)|$(field "$line" 7)|$command"
        done
    done
}
expand >"$t/rows"
for file in $(grep -o "$t/[a-z]*[.0-9a-z]*" "$t/rows" | sort -u); do
    case $file in */mine.json) ;; *) make_input "$file" ;; esac
done

# Counts. A command stands on one line without characters that a shell would read.
export ringlet t limit
count='f=$1; set -f; c=$(cut -d"|" -f8- "$f"); timeout -k 10 $limit valgrind --tool=callgrind --callgrind-out-file=/dev/null $ringlet $c 2>&1 >/dev/null | sed -n "s/.*Collected : *//p" >"$f.i"'
while IFS= read -r row; do
    [ "$(field "$row" 2)" = yes ] || continue
    f=$t/row.$(field "$row" 1)
    echo "$row" >"$f"
    echo "$f"
done <"$t/rows" | xargs -r -P "$(getconf _NPROCESSORS_ONLN)" -n 1 sh -c "$count" count

cost() { # CPU seconds and KiB of a command
    set -f
    set -- $(timeout -k 10 "$limit" "$build/test/bench/spawn" 1 "$ringlet" $1 2>/dev/null) "$1"
    [ $# -ge 3 ] || { echo "- -"; return; }
    awk -v s="$1" 'BEGIN { exit s > 1 }' && set -- $("$build/test/bench/spawn" 2 "$ringlet" $3 2>/dev/null) "$1"
    awk -v a="$1" -v b="$3" -v k="$2" 'BEGIN { print (b + 0 > 0 && b < a ? b : a), k }'
}
units() { # N NAME of a row, the row's n, its command
    n=$2
    case $1 in
    'size of '*) set -- $1; wc -c <"$3" ;;
    messages* | events*) set -f; set -- "${1%% *}" $(timeout -k 10 "$limit" "$ringlet" $3 -f json 2>/dev/null | sed -n "s/^ *\"${1%% *}\": *\([0-9]*\).*/\1/p"); echo "${2:-0}" ;;
    *) set -- $1; echo $(($1)) ;;
    esac
}
eval "$("$build/test/bench/limits")"
hold=$("$build/test/bench/queue" 1000000 ties 1000 | sed 's/.*: \([0-9.]*\) ns.*/\1/')
echo "# $(git describe --always --dirty 2>/dev/null), $($ringlet --version | head -1), $(gcc -dumpfullversion), $(getconf _NPROCESSORS_ONLN) processors, load $(cut -d' ' -f1 /proc/loadavg)"
echo "# limits of this machine: hold $hold ns (an event taken and put back), miss $miss ns (a load), scan $scan, copy $copy ns a byte"
echo "# i: instructions of a unit; e: exponent of growth, of instructions, or of CPU time if these were not counted"
printf '%-40s %9s %14s %11s %6s %9s %8s %9s %7s  %s\n' work n instructions a-unit e CPU_s MB limit_s x-limit goal
start=$(instructions "$ringlet" coll -t switch:2@50GB/s,500ns -c all_reduce -a ring -b 1MiB)
start_s=$(cost 'coll -t switch:2@50GB/s,500ns -c all_reduce -a ring -b 1MiB' | cut -d' ' -f1)
while IFS= read -r row; do
    number=$(field "$row" 1) n=$(field "$row" 4) command=$(field "$row" 8)
    counted=$(cat "$t/row.$number.i" 2>/dev/null)
    set -- $(cost "$command")
    echo "$(field "$row" 3)|$n|$(units "$(field "$row" 5)" "$n" "$command")|$(field "$row" 5 | sed 's/.* //')|$(field "$row" 6)|$(field "$row" 7)|${counted:--}|$1|$2"
done <"$t/rows" | awk -F'|' -v start="$start" -v start_s="$start_s" -v hold="$hold" -v miss="$miss" -v scan="$scan" -v copy="$copy" '
    function limit(text,   i, n, part, sum, f) { # a sum of products of numbers and names
        n = split(text, part, "+")
        for (i = 1; i <= n; i++) { split(part[i] "*1", f, "*"); sum += value(f[1]) * value(f[2]) }
        return sum
    }
    function value(x) { return x == "hold" ? hold : x == "miss" ? miss : x == "scan" ? scan : x == "copy" ? copy : x + 0 }
    { counted = $7 != "-" && $7 + 0 > 0; own = counted ? $7 - start : 0; own_s = $8 - start_s; unit = $3 + 0
      own = own > 1 ? own : 1; own_s = own_s > 0.0001 ? own_s : 0.0001
      e = "-"; x = $2 + 0
      if ($1 == last && x > last_x) e = sprintf("%.2f", (counted ? log(own / last_own) : log(own_s / last_s)) / log(x / last_x))
      a = counted && unit && $7 > start ? sprintf("%.1f", own / unit) : "-"
      l = limit($5) * unit / 1e9
      printf "%-40s %9d %14s %11s %6s %9s %8.1f %9s %7s  %s\n", $1, x, $7, a, e, $8, $9 / 1024, (l ? sprintf("%.4f", l) : "-"), (l && $8 != "-" ? sprintf("%.1f", own_s / l) : "-"), $6
      fflush(); last = $1; last_x = x; last_own = own; last_s = own_s }'
