#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# ringlet calibrate: recovers constants from times made by a closed form, predicts held-out sizes, leaves the rest of the
# file unchanged; errors in tables have a place. Speaks TAP; the last line is "N passed, N failed".
. "$(dirname "$0")/../../support/tap.sh"

. test/support/ring_times.sh
machine() { # NAME ENDPOINT REST
    printf '{\n  "name": "%s", "_why": "kept, \\"as it is\\"",\n  "endpoint": {%s},\n\n  "dims": [\n    {"shape": "switch", "size": 8, "bandwidth": "300GB/s", "latency": "0ns"}\n  ]%s\n}\n' "$1" "$2" "${3:-}"
}
head='system,collective,n_ranks,size_bytes,time_us'
{ echo $head && ring synthetic 7.5 1.3 220 0 4 8; } >"$tmp/ring.csv"
machine m '"launch": "5us", "message": "500ns"' >"$tmp/m.json"

# near NAME FILE KEY UNIT EXPECTED PERCENT   compares the number of "KEY" in FILE
near() {
    got=$(sed -n 's|.*"'"$3"'": "\([0-9.]*\)'"$4"'".*|\1|p' "$2" | head -1)
    awk -v g="${got:-0}" -v e="$5" -v p="$6" 'BEGIN { exit !(g > e * (1 - p / 100) && g < e * (1 + p / 100)) }'
    verdict "$1" "$([ $? = 0 ] || echo "got '$got' $4, expected $5 within $6 %")"
}

if "$ringlet" calibrate -t "$tmp/m.json" "$tmp/ring.csv" 2>&1 | grep -q 'built without'; then
    "$ringlet" calibrate -t "$tmp/m.json" "$tmp/ring.csv" >"$tmp/out" 2>"$tmp/err"
    expect "without NLopt a fit says which package brings it" "$?-$(grep -c libnlopt-dev "$tmp/err")-$(wc -c <"$tmp/out")" 2-1-0
    fits=no
else
    fits=yes
fi

if [ $fits = yes ]; then
    "$ringlet" calibrate -t "$tmp/m.json" -a ring --fit launch,message,dims.0.bandwidth "$tmp/ring.csv" -o "$tmp/fitted.json" -f csv >"$tmp/out" 2>"$tmp/err"
    expect "a fit" "$?-$(wc -c <"$tmp/err" | tr -d ' ')" 0-0
    near "finds the launch" "$tmp/fitted.json" launch us 7.5 1
    near "finds the latency of a step" "$tmp/fitted.json" message ns 1300 1
    near "finds the bandwidth" "$tmp/fitted.json" bandwidth GB/s 220 1
    # system,collective,size,rows,median,p90,worst,ratio,set,...
    expect "and predicts what was held out" "$(awk -F, '$9 == "held out" && $4 >= 10 && $7 < 0.001' "$tmp/out" | wc -l | tr -d ' ')" 2
    sed -e '/"_calibration"/,$d' -e 's/\("launch": \)"[^"]*"/\1"5us"/; s/\("message": \)"[^"]*"/\1"500ns"/; s/\("bandwidth": \)"[^"]*"/\1"300GB\/s"/; s/  \],$/  ]/' "$tmp/fitted.json" >"$tmp/back"
    sed '$d' "$tmp/m.json" | cmp -s - "$tmp/back"
    expect "all else of the file is as it was" $? 0
    "$ringlet" check "$tmp/fitted.json" >/dev/null 2>&1
    expect "the file is a topology" $? 0
    expect "it names its source" "$(grep -c '"source":"ringlet calibrate, fitted to ring.csv"' "$tmp/fitted.json")" 1
    expect "and the residuals" "$(grep -c '"rows":"held out","count":1[0-9],"median":0.00' "$tmp/fitted.json")" 2
    for jobs in 1 3; do
        "$ringlet" calibrate -j $jobs -t "$tmp/m.json" -a ring --fit launch,message,dims.0.bandwidth "$tmp/ring.csv" -o "$tmp/again.json" -f csv >"$tmp/again" 2>&1
        cmp -s "$tmp/fitted.json" "$tmp/again.json" && cmp -s "$tmp/out" "$tmp/again"
        expect "the same bytes with $jobs jobs" $? 0
    done
    "$ringlet" calibrate -t "$tmp/fitted.json" -a ring --fit launch,message,dims.0.bandwidth "$tmp/ring.csv" -o "$tmp/twice.json" >/dev/null 2>&1
    expect "a second fit replaces the record of the first" "$?-$(grep -c '"fit":' "$tmp/twice.json")" 0-1

    # The file has no constants yet; measurements are off by up to 10 %.
    machine bare '' >"$tmp/bare.json"
    { echo $head && ring noisy 7.5 1.3 300 0.1 2 4 8; } >"$tmp/noisy.csv"
    "$ringlet" calibrate -t "$tmp/bare.json" -a ring --fit launch=1us,message=100ns "$tmp/noisy.csv" -o "$tmp/put.json" >"$tmp/out" 2>"$tmp/err"
    expect "constants that the file lacks" $? 0
    near "are put there: the launch" "$tmp/put.json" launch us 7.5 8
    near "are put there: the latency" "$tmp/put.json" message ns 1300 8
    "$ringlet" calibrate -t "$tmp/m.json" -a ring "$tmp/noisy.csv" -o - 2>/dev/null >"$tmp/std.json"
    near "the default: all numbers of the endpoint" "$tmp/std.json" message ns 1300 8
    expect "and no others" "$(grep -c '"bandwidth": "300GB/s"' "$tmp/std.json")" 1
    "$ringlet" calibrate -t "$tmp/m.json" -a ring --hold-out 1KiB:1GiB:x4 "$tmp/ring.csv" -f json >"$tmp/out" 2>&1
    expect "sizes held out by name" "$?-$(grep -o '"rows": *[0-9]*,[^}]*"set": *"held out"' "$tmp/out" | grep -o '"rows": *[0-9]*' | awk '{ n += $2 } END { print n }')" 0-22
    "$ringlet" calibrate -t "$tmp/m.json" -a ring --hold-out none "$tmp/ring.csv" -f csv 2>&1 | grep -q 'held out'
    expect "or none" $? 1

    # Two machines of a family share launch and message, and differ in bandwidth; a third one contradicts.
    mkdir "$tmp/topologies"
    machine a '"launch": "5us", "message": "500ns"' ', "_calibration": {"systems": ["A"], "family": "f"}' >"$tmp/topologies/a.json"
    machine b '"launch": "9us", "message": "100ns"' ', "_calibration": {"systems": ["B"], "family": "f"}' | sed 's/300GB/150GB/' >"$tmp/topologies/b.json"
    machine c '"launch": "1us"' ', "_calibration": {"systems": ["C"], "family": "g"}' >"$tmp/topologies/c.json"
    { echo $head && ring A 7.5 1.3 300 0 4 8 && ring B 7.5 1.3 150 0 4 8; } >"$tmp/family.csv"
    (cd "$tmp" && "$ringlet" calibrate --leave-one-out f -a ring family.csv -f csv) >"$tmp/out" 2>"$tmp/err"
    expect "each left out once" "$?-$(grep -c '^A,' "$tmp/out")-$(grep -c '^B,' "$tmp/out")" 0-2-2
    expect "is predicted from the others" "$(awk -F, '($1 == "A" || $1 == "B") && $7 < 0.001 && $9 == "held out" && $10 > 0.01' "$tmp/out" | wc -l | tr -d ' ')" 4
    (cd "$tmp" && "$ringlet" calibrate --leave-one-out g -a ring family.csv) >"$tmp/out" 2>"$tmp/err"
    expect "a family of one" "$?-$(wc -l <"$tmp/err" | tr -d ' ')" 3-1
    (cd "$tmp" && "$ringlet" calibrate --leave-one-out h -a ring family.csv) >"$tmp/out" 2>"$tmp/err"
    expect "a family of none" "$?-$(grep -c "family h" "$tmp/err")" 3-1

    # Ctrl-C: a large table, and far more evaluations than there is time for.
    { echo $head && ring slow 7.5 1.3 220 0.3 2 3 4 5 6 7 8 && ring slow 7 1.1 200 0.3 2 3 4 5 6 7 8; } >"$tmp/slow.csv"
    "$ringlet" calibrate -t "$tmp/m.json" -a tree --fit launch,message,byte=1ps,dims.0.bandwidth,dims.0.latency=1ns --max-evaluations 1000000 "$tmp/slow.csv" -o "$tmp/partial.json" >"$tmp/out" 2>"$tmp/err" </dev/null &
    job=$!
    spent $job 100
    if kill -INT $job 2>/dev/null; then
        wait $job
        expect "interrupted" "$?-$(grep -c '^ringlet: interrupted: the results are partial$' "$tmp/err")" 130-1
        expect "the best so far is written" "$(grep -c '"partial":true' "$tmp/partial.json.partial")" 1
    else
        wait $job
        verdict "interrupted" "it ended before"
    fi
fi

# --check needs no NLopt. Times are twice the closed form, so simulations are half of them.
machine half '"launch": "7.5us", "message": "1300ns"' ', "_calibration": {"systems": ["synthetic", "other"], "family": "f"}' | sed 's/300GB/220GB/' >"$tmp/half.json"
awk -F, -v OFS=, 'NR > 1 { $5 = $5 * 2 } 1' "$tmp/ring.csv" >"$tmp/double.csv"
"$ringlet" calibrate --check -t "$tmp/half.json" -a ring "$tmp/double.csv" -f csv >"$tmp/out" 2>"$tmp/err"
expect "a check" "$?-$(wc -l <"$tmp/out" | tr -d ' ')-$(wc -c <"$tmp/err" | tr -d ' ')" 0-3-0
expect "counts and errors" "$(awk -F, 'function half(x) { return x > 0.49999 && x < 0.50001 } NR > 1 && half($5) && half($6) && half($7) && half($8) { n += $4 } END { print n }' "$tmp/out")" 42
for format in table csv json; do
    "$ringlet" calibrate --check -t "$tmp/half.json" -a ring "$tmp/double.csv" -f $format --rows -o "$tmp/out" >"$tmp/none" 2>"$tmp/err"
    expect "each row as $format" "$?-$(grep -c 'half.*all_reduce' "$tmp/out")-$(wc -c <"$tmp/none" | tr -d ' ')" "0-42-0"
done
(cd "$tmp" && rm -rf topologies && mkdir topologies && cp half.json topologies && "$ringlet" calibrate --check -a ring double.csv -f csv) >"$tmp/again" 2>&1
"$ringlet" calibrate --check -t "$tmp/half.json" -a ring "$tmp/double.csv" -f csv | cmp -s - "$tmp/again"
expect "the topologies that claim a system are found" $? 0
{ cat "$tmp/double.csv" && echo "stranger,all_reduce,8,1024,5" && echo "synthetic,all_reduce,16,1024,5"; } >"$tmp/more.csv"
"$ringlet" calibrate --check -t "$tmp/half.json" -a ring "$tmp/more.csv" -f csv >"$tmp/out" 2>"$tmp/err"
expect "what is left out is said" "$?-$(grep -c 'does not claim: stranger' "$tmp/err")-$(grep -c '1 row left out' "$tmp/err")" 0-1-1

# Rows that lack a cell, or have one that is no number, are skipped and counted.
{ cat "$tmp/double.csv" && echo "synthetic,all_reduce,,1024,5" && echo "synthetic,all_reduce,8,1024," && echo "synthetic,all_reduce,8,one,5"; } >"$tmp/holes.csv"
"$ringlet" calibrate --check -t "$tmp/half.json" -a ring "$tmp/holes.csv" -f csv >"$tmp/again" 2>"$tmp/err"
status=$?
"$ringlet" calibrate --check -t "$tmp/half.json" -a ring "$tmp/double.csv" -f csv | cmp -s - "$tmp/again"
expect "rows with holes" "$status-$?-$(cat "$tmp/err")" "0-0-ringlet: note: 3 rows skipped: row 44 of holes.csv: n_ranks is blank"

# Two nodes of four accelerators: two ranks on two nodes use the outer dimension.
cat >"$tmp/two.json" <<'END'
{"dims": [{"shape": "switch", "size": 4, "bandwidth": "100GB/s", "latency": "0ns"}, {"shape": "switch", "size": 2, "bandwidth": "10GB/s", "latency": "0ns"}]}
END
printf 'collective,ranks,nodes,bytes,time_us\nsend_recv,2,1,1000000,10\nsend_recv,2,2,1000000,100\n' >"$tmp/two.csv"
"$ringlet" calibrate --check -t "$tmp/two.json" "$tmp/two.csv" -f csv >"$tmp/out" 2>"$tmp/err"
expect "ranks on several nodes" "$?-$(awk -F, 'NR > 1 { print $4, $7 }' "$tmp/out")" "0-2 0.000000"

# --plot: a point for each row.
points() { awk "$@" -f test/support/svg_points.awk "$tmp/p.svg"; }
same() { # NAME RANKS COLUMN POINTS   column: 8 measured, 9 simulated; points in order of size
    awk -F, -v ranks=$2 -v column=$3 '$3 == "all_reduce" && $4 == ranks { printf "%.9e %.9e\n", $7, $column * 1e-12 }' "$tmp/rows" | sort -g -k1,1 -k2,2 |
        if [ $3 = 9 ]; then uniq; else cat; fi >"$tmp/want"
    wrong=$(echo "$4" | paste -d' ' - "$tmp/want" | awk 'function off(a, b) { a = a / b - 1; return a > 0.01 || a < -0.01 }
        NF != 4 || off($1, $3) || off($2, $4) { print "row " NR ": " $0 } END { if (NR < 21) print "only " NR " points" }')
    verdict "$1" "$wrong"
}
# One size measured twice, the second time slower; another collective.
{ cat "$tmp/double.csv" && awk -F, -v OFS=, 'NR > 1 { $5 = $5 * 1.2; print }' "$tmp/double.csv" &&
    awk -F, -v OFS=, 'NR > 1 && $3 == 8 { $2 = "all_gather"; print }' "$tmp/double.csv"; } >"$tmp/twice.csv"
"$ringlet" calibrate --check -t "$tmp/half.json" -a ring "$tmp/twice.csv" -f csv --rows --plot "$tmp/p.svg" >"$tmp/rows" 2>"$tmp/err"
expect "--plot" "$?-$(wc -c <"$tmp/err" | tr -d ' ')-$(grep -c font-weight "$tmp/p.svg")-$(grep -o '>synthetic: [a-z_]*<' "$tmp/p.svg" | tr -d '\n')" "0-0-2->synthetic: all_reduce<>synthetic: all_gather<"
same "measured, 4 ranks" 4 8 "$(points -v panel=1 -v marks=1)"
same "measured, 8 ranks" 8 8 "$(points -v panel=1 -v marks=2)"
same "simulated, 4 ranks" 4 9 "$(points -v panel=1 -v line='4 ranks')"
same "simulated, 8 ranks" 8 9 "$(points -v panel=1 -v line='8 ranks')"
expect "a name in the legend for each number of ranks" "$(grep -c '</g><text[^>]*>[48] ranks</text>$' "$tmp/p.svg")" 3
"$ringlet" calibrate --check -t "$tmp/half.json" -a ring "$tmp/twice.csv" -f csv --rows >"$tmp/out" 2>"$tmp/err"
cmp -s "$tmp/out" "$tmp/rows"
expect "--plot changes no row" $? 0
printf 'collective,ranks,nodes,bytes,time_us,dtype\nsend_recv,2,1,1000000,10,half\nsend_recv,2,2,1000000,100,half\nsend_recv,2,2,1000000,100,float\n' >"$tmp/one.csv"
"$ringlet" calibrate --check -t "$tmp/two.json" "$tmp/one.csv" --plot "$tmp/p.svg" >"$tmp/out" 2>"$tmp/err"
expect "one size: a tick, and dashes for lines" "$?-$(grep -c '>976.6 KiB</text>' "$tmp/p.svg")-$(grep -c 'm-8 0h16"><title>2 ranks' "$tmp/p.svg")" 0-1-3
expect "lines are named after nodes and types" "$(grep -o '<title>[^<]*' "$tmp/p.svg" | sed 's/.*>//' | tr '\n' ';')" "2 ranks, half;2 ranks on 2 nodes, half;2 ranks on 2 nodes, float;"
rm -f "$tmp/p.svg"
# Thirteen systems; then one whose name is neither XML nor UTF-8.
of_system() { awk -F, -v OFS=, -v name="$1" 'NR > 1 && $3 == 8 { $1 = name; print }' "$tmp/ring.csv"; }
echo $head >"$tmp/claimed.csv"
list=""
for i in 01 02 03 04 05 06 07 08 09 10 11 12 13; do
    of_system s$i >>"$tmp/claimed.csv"
    list="$list${list:+, }\"s$i\""
done
machine claims '"launch": "7.5us"' ", \"_calibration\": {\"systems\": [$list]}" >"$tmp/claims.json"
"$ringlet" calibrate --check -t "$tmp/claims.json" -a ring "$tmp/claimed.csv" --plot "$tmp/p.svg" >"$tmp/out" 2>"$tmp/err"
expect "twelve panels, and which" "$?-$(grep -c font-weight "$tmp/p.svg")-$(grep -c 'note: --plot: 12 of 13 systems and collectives are drawn: s01: all_reduce, s02: .*, s12: all_reduce; --system and --where choose others$' "$tmp/err")" 0-12-1
odd="odd <a&b>$(printf '\377')"
{ echo $head && of_system "$odd"; } >"$tmp/odd.csv"
"$ringlet" calibrate --check -t "$tmp/claims.json" -a ring "$tmp/odd.csv" --system "$odd" --plot "$tmp/p.svg" >"$tmp/out" 2>"$tmp/err"
expect "names that are no text" "$?-$(grep -c '>odd &lt;a&amp;b&gt;?: all_reduce</text>' "$tmp/p.svg")" 0-1
rm -f "$tmp/p.svg"
"$ringlet" calibrate --check -t "$tmp/half.json" -a ring "$tmp/double.csv" --plot "$tmp/p.svg" -o /nosuch/out >"$tmp/out" 2>"$tmp/err"
expect "no plot without its report" "$?-$(ls "$tmp/p.svg" 2>/dev/null)" 5-
if [ $fits = yes ]; then
    "$ringlet" calibrate -t "$tmp/m.json" -a ring --fit launch,message,dims.0.bandwidth "$tmp/ring.csv" -o "$tmp/again.json" -f csv --rows --plot "$tmp/p.svg" >"$tmp/rows" 2>"$tmp/err"
    expect "a fit is drawn" "$?-$(wc -c <"$tmp/err" | tr -d ' ')" 0-0
    same "measured, all sizes" 4 8 "$(points -v panel=1 -v marks=1)"
    same "simulated with what was found" 4 9 "$(points -v panel=1 -v line='4 ranks')"
    rm -f "$tmp/p.svg"
    "$ringlet" calibrate -t "$tmp/m.json" -a ring --fit launch "$tmp/ring.csv" -o /nosuch/m.json --plot "$tmp/p.svg" >"$tmp/out" 2>"$tmp/err"
    expect "no plot without its machine" "$?-$(ls "$tmp/p.svg" 2>/dev/null)" 5-
fi

# bad NAME STATUS PATTERN ARGUMENTS...   expects one matching line on standard error, and nothing else
bad() {
    name=$1 status=$2 pattern=$3
    shift 3
    "$ringlet" calibrate "$@" >"$tmp/out" 2>"$tmp/err" </dev/null
    got=$?
    lines=$(grep -vc "^'ringlet" "$tmp/err")
    grep -q "^ringlet: $pattern" "$tmp/err" || { verdict "$name" "status $got: $(cat "$tmp/err")" && return; }
    expect "$name" "$got-$lines-$(wc -c <"$tmp/out" | tr -d ' ')" "$status-1-0"
}
csv() {
    printf "$1" >"$tmp/bad.csv"
}
t=$tmp/half.json
csv ''
bad "an empty table" 3 ".*bad.csv: the file is empty" --check -t "$t" "$tmp/bad.csv"
csv 'collective,n_ranks,size_bytes\nall_reduce,8,1\n'
bad "a column missing" 3 ".*bad.csv:1: no column 'time_us'" --check -t "$t" "$tmp/bad.csv"
csv 'collective,n_ranks,size_bytes,time_us\nall_reduce,8,1,-2\n'
bad "no usable row" 3 ".*bad.csv: no row is usable: 1 row skipped: row 2: time_us: expected a time above zero, got '-2'" --check -t "$t" "$tmp/bad.csv"
bad "a broken table is not drawn" 3 ".*bad.csv: no row is usable" --check -t "$t" "$tmp/bad.csv" --plot "$tmp/p.svg"
csv 'collective,n_ranks,size_bytes,time_us\nall_reduce,16,1,2\n'
bad "a plot that cannot be written" 5 "/nosuch/p.svg: cannot create" --check -t "$t" "$tmp/double.csv" --plot /nosuch/p.svg
bad "a plot of many fits" 2 "--plot: not together with --leave-one-out" --leave-one-out f "$tmp/double.csv" --plot "$tmp/p.svg"
expect "and leaves nothing" "$(ls "$tmp/p.svg" 2>/dev/null)" ""
bad "more ranks than the machine has" 3 ".*bad.csv: no measurement fits" --check -t "$tmp/two.json" "$tmp/bad.csv"
bad "rows of no claimed system" 3 ".*bad.csv: no measurement is of a system that the topology names" --check -t "$t" "$tmp/bad.csv"
csv 'system,collective,n_ranks,size_bytes,time_us\na,all_reduce,8,1,2\nb,all_reduce,8,1,2\n'
bad "two systems and no word which" 2 "--system: the measurements are of several systems, 'a' and 'b'" --check -t "$tmp/two.json" "$tmp/bad.csv"
bad "a system that was not measured" 3 "--system: no measurement" --check -t "$tmp/two.json" --system c "$tmp/bad.csv"
bad "no file" 5 "/nonexistent" --check -t "$t" /nonexistent
bad "no machine" 2 "--topology: is required for a fit" "$tmp/ring.csv"
bad "a machine that is no file" 2 "switch:8@1GB/s,0ns: expected a topology file in JSON" --check -t switch:8@1GB/s,0ns "$tmp/ring.csv"
bad "a filter of what is no column" 2 "--where: colour: unknown setting; a measurement has system" --check -t "$t" -w colour=red "$tmp/ring.csv"
bad "a filter that leaves nothing" 3 "--where: no measurement matches" --check -t "$t" -w ranks=3 "$tmp/ring.csv"
printf '{"_calibration": {"systems": "x"}, "dims": [{"shape": "switch", "size": 4, "bandwidth": "1GB/s", "latency": "0ns"}]}' >"$tmp/bad.json"
bad "claims that are no list" 3 ".*bad.json:1:30: _calibration.systems: expected a list" --check -t "$tmp/bad.json" "$tmp/ring.csv"
if [ $fits = yes ]; then
    bad "a constant that is not there" 2 "--fit: .*half.json has no number 'mesage'; did you mean" -t "$t" --fit launch,mesage "$tmp/ring.csv"
    bad "a constant that is no number" 2 ".*half.json:2:11: name: 'name' is not a number that can be fitted" -t "$t" --fit name "$tmp/ring.csv"
    bad "a start that is no number" 2 "--fit: expected a number above zero" -t "$t" --fit launch=x "$tmp/ring.csv"
    bad "nothing to fit" 3 ".*two.json: its endpoint has no numbers" -t "$tmp/two.json" "$tmp/two.csv"
    bad "all held out" 2 "--hold-out: nothing is left to fit" -t "$t" -a ring --hold-out 1KiB:1GiB:x2 "$tmp/ring.csv"
fi

# The public table.
table=test/data/collectives/measured_collectives.csv
"$ringlet" calibrate --check -t dgx-a100-8 --system '8x A100-SXM4-80GB NVSwitch' $table -f csv >"$tmp/out" 2>"$tmp/err"
expect "the public table" "$?-$(awk -F, '$2 == "all" { n += $4 } END { print n }' "$tmp/out")" 0-504

finish
