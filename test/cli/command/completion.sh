#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# The bash completion offers commands, options, and the words and names that values can be.
. "$(dirname "$0")/../../support/tap.sh"
"$ringlet" --generate-completion >"$tmp/completion"
expect "made from the tables" $? 0
if ! command -v bash >/dev/null; then
    skip "bash completes" "needs bash"
    finish
fi
# Splits each line as readline does: letters of COMP_WORDBREAKS are words of their own.
cat >"$tmp/complete.bash" <<'EOF'
. "$1"
while read -r line; do
    COMP_WORDS=($(sed 's/[=:]/ & /g' <<<"${line%_}"))
    [[ ${line%_} == *[\ =:] ]] && COMP_WORDS+=('')
    COMP_WORDS[0]=$2
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _ringlet
    echo "${COMPREPLY[*]}"
done
EOF
offers() { # line (_ ends it after a blank), words that are offered
    words=$(echo "ringlet $1" | bash "$tmp/complete.bash" "$tmp/completion" "$ringlet" 2>&1)
    expect "$1" "$words" "$2"
}
offers 'co' 'coll'
offers 'coll --net' '--network'
offers 'topo ex' 'export'
offers 'coll --format j' 'json'
offers 'coll --format=j' 'json'
offers 'plan --objective to' 'tokens-per-accelerator'
offers 'coll -c reduce,barr' 'reduce,barrier'
offers 'coll -a ring,sw' 'ring,switchml'
offers 'run -a all_reduce=ring,all_gather=tw' 'two_level'
offers 'run -t hgx-' 'hgx-h100-8'
offers 'run --topology=hgx-' 'hgx-h100-8'
offers 'topo route hgx-' 'hgx-h100-8'
offers 'deploy -t testbed-4xv100-4' 'testbed-4xv100-4xv100'
offers 'run --accelerator h100-s' 'h100-sxm'
offers 'plan --model llama3-' 'llama3-8b llama3-70b'
offers 'run --model transformer:layers=4,hid' '4,hidden='
offers 'run --trace transformer-1' 'transformer-16'
offers 'sweep rep' 'replay'
offers 'run --strategy sam' 'samo'
offers 'run --layout tp=8,sta' '8,stack= 8,state='
offers 'run --layout tp=8,stack=megatron-' 'megatron-bridge'
offers 'run --train dispatcher=nvshmem-p5' 'nvshmem-p5'
offers 'run --set inj' 'injection='
offers 'run --set injection=' 'nic blocking'
offers 'run --noise lognormal:' 'cv= on='
offers 'run -o _' ''
offers 'list folde' 'folders'
offers 'check gb200-' 'gb200-nvl72'
offers 'check llama3-8' 'llama3-8b'
offers 'trace diff transformer-1' 'transformer-16'
offers 'design bandwidth -w transformer-8' 'transformer-8'
for list in $(grep -o '_ringlet_list [a-z]*' "$tmp/completion" | sort -u | cut -d' ' -f2); do
    "$ringlet" list "$list" -f csv >"$tmp/out" 2>"$tmp/err"
    expect "a list: $list" $? 0
done
finish
