#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Trainings on one accelerator, measured by tools/calibrate/training/measure.py (test/data/throughput/measured_alone.csv), which
# no fit has seen: each row is predicted, beside its interval and its peak of memory. The models of PyTorch have as many
# parameters as ringlet's. ROWS=1 prints the rows.
. "$(dirname "$0")/../../support/tap.sh"
table=test/data/throughput/measured_alone.csv
measure=tools/calibrate/training/measure.py
command -v python3 >/dev/null || { skip "trainings on one accelerator" "needs python3"; finish; }

cat >"$tmp/each.py" <<'E2'
import csv, json, statistics, subprocess, sys
ringlet, table = sys.argv[1:]
within, errors, peaks = [], {}, []
for row in csv.DictReader(open(table, encoding="utf-8")):
    setting = "torchtitan:batch={global_batch},microbatch={micro_batch},stack={stack},recompute={recompute}"
    words = [ringlet, "run", "--model", f"{row['model']},sequence={row['seq_len']}", "--accelerator", row["gpu_system"]]
    words += ["-t", row["topology"], "--strategy", setting.format(**row), "--any-memory", "-f", "json"]
    ran = subprocess.run(words, capture_output=True, text=True, check=False)
    if ran.returncode:
        print("refused:", ran.stderr.strip())
        continue
    result = json.loads(ran.stdout)
    job, stage = result["training"], result["training"]["stages"][0]
    measured, predicted = float(row["iteration_time_s"]), result["time_ps"] / 1e12
    if int(row["parameters"]) != job["parameters"]:
        print("parameters:", row["model"], row["parameters"], job["parameters"])
    within.append(job["iteration_low_s"] <= measured <= job["iteration_high_s"])
    errors.setdefault(row["gpu_system"], []).append(abs(predicted / measured - 1))
    peaks.append(stage["allocated_bytes"] / float(row["allocated_bytes"]))
    print(
        f"# {row['gpu_system']:9} {row['stack']:18} {row['model'].split(',')[1]:11} {row['micro_batch']:>3} x "
        f"{row['seq_len']:5} {row['recompute']:4} measured {measured:.3f} s, p/m {predicted / measured:.2f}, "
        f"peak {float(row['allocated_bytes']) / 1e9:5.1f} GB, p/m {peaks[-1]:.2f}"
    )
print(f"# in the 80 % interval: {sum(within)} of {len(within)}")
for system, e in errors.items():
    print(f"# {system}: median error {100 * statistics.median(e):.1f} %, worst {100 * max(e):.1f} %")
peaks = [abs(p - 1) for p in peaks]
print(f"# peaks of memory: median error {100 * statistics.median(peaks):.1f} %, worst {100 * max(peaks):.1f} %")
E2
python3 "$tmp/each.py" "$ringlet" "$table" >"$tmp/each"
expect "each row is predicted" "$(grep -c 'measured' "$tmp/each")" "$(($(wc -l <"$table") - 1))"
verdict "with PyTorch's number of parameters" "$(grep -v '^#' "$tmp/each")"
[ -n "${ROWS:-}" ] && cat "$tmp/each" || grep -v measured "$tmp/each"
verdict "no constant was fitted to them" "$(grep -lE 'measured_alone|measure.py' workload/accelerators/*.json workload/stacks/*.json)"

# A machine of one's own: constants fitted to its rows are nearer to them than those that never saw them.
for system in h200 h100-sxm; do
    { head -1 "$table" && grep ",$system," "$table"; } >"$tmp/$system.csv"
    median() { "$ringlet" calibrate-training "$@" -a $system -f json "$tmp/$system.csv" | sed -n 's/.*"models": "dense",.*"median": \([0-9.]*\),.*/\1/p' | head -1; }
    verdict "$system, fitted to its own rows" "$(awk -v blind="$(median --check)" -v own="$(median)" 'BEGIN { if (!(own > 0 && own < blind)) print own " against " blind }')"
done

python3 "$measure" --list >"$tmp/list"
expect "the program lists its rows" $? 0
verdict "which are those of the table" "$(while read -r row; do
    size=${row#*@}; size=${size%%,*}
    grep -q ",${size%x*},${size#*x},bf16," "$table" || echo "$row"; done <"$tmp/list")"
# One word is not understood: status 2, and the word.
for row in llama-1b llama-1b@4 llama-1b@4x llama-1b@4x2048,half 'resnet@1x1' 'transformer:experts=8@1x128' \
    'transformer:hidden=100,heads=3@1x128' 'transformer:dropout=yes@1x128' llama-1b@0x128; do
    python3 "$measure" "$row" >"$tmp/out" 2>"$tmp/err"
    expect "$row: status" $? 2
    verdict "$row: one line" "$(grep -c '^measure: ' "$tmp/err" | grep -vx 1)"
done

# In place of PyTorch stands a module that has an accelerator, and stops at the first call for it.
mkdir "$tmp/lib"
printf '%s\n' 'class cuda:' '    is_available = staticmethod(lambda: True)' \
    'class device:' '    def __init__(self, *where): raise KeyboardInterrupt' 'distributed = None' >"$tmp/lib/torch.py"
stand_in() { PYTHONPATH=$tmp/lib PYTHONDONTWRITEBYTECODE=1 python3 "$measure" "$@" >"$tmp/out" 2>"$tmp/err"; }
stand_in -o "$tmp/nowhere/x.csv" llama-1b@1x128
expect "a file that cannot be written: status" $? 1
expect "the file and the reason" "$(cat "$tmp/err")" "measure: $tmp/nowhere/x.csv: No such file or directory"
stand_in llama-1b@1x128
expect "interrupted: status" $? 130
expect "one line" "$(cat "$tmp/err")" "measure: interrupted; the rows until then are written"
finish
