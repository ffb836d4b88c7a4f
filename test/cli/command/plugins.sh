#!/bin/sh
# SPDX-License-Identifier: GPL-3.0-or-later
# Plug-ins: the examples of test/plugins, one file each, are built outside the tree against the installed headers. Their additions
# are used like built-in ones, pass 'ringlet check', and are named in lists and manifests. Bad plug-ins are refused with a reason.
. "$(dirname "$0")/../../support/tap.sh"
cc=${CC:-gcc}
# The command reports a crashing plug-in, under a sanitizer, too.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}handle_segv=0:handle_sigbus=0:allow_user_segv_handler=1"
make -s install-headers DESTDIR="$tmp/root" PREFIX=/usr DEPS=no >"$tmp/out" 2>"$tmp/err" || { verdict "headers" "cannot be installed"; finish; }
cp test/plugins/*.c "$tmp"
topologies=$PWD/topologies source=$PWD
cd "$tmp" || exit 1
flags=$(PKG_CONFIG_PATH="$tmp/root/usr/lib/pkgconfig" PKG_CONFIG_SYSROOT_DIR="$tmp/root" pkg-config --cflags ringlet)
# A built-in addition is its own file and one line in the header with the list: no other file has its name.
named() { (cd "$source" && git grep -lwE "$1" -- 'sim/*.[ch]' 'net/*.[ch]' 'collectives/*.[ch]' 'workload/*.[ch]' 'tools/*.[ch]' | sort | tr '\n' ' '); }
if (cd "$source" && git rev-parse) >out 2>err; then
    expect "an algorithm is two files" "$(named 'rlt_pairwise|X\(pairwise\)')" "collectives/algorithm.h collectives/algorithms/pairwise.c "
    expect "a reader is two files" "$(named 'rlt_reader_goal|X\(goal\)')" "workload/program/reader.h workload/readers/goal.c "
    expect "a protocol is two files" "$(named 'rlt_atp|X\(atp\)')" "collectives/in_network/atp.c collectives/in_network/reactive.h "
    expect "a network model is two files" "$(named 'rlt_net_packet|X\(packet\)')" "net/network.h net/packet/packet.c "
    expect "a model is two files" "$(named 'rlt__model_dlrm|X\(dlrm\)')" "workload/models/dlrm.c workload/models/internal.h "
    expect "a shape is two files" "$(named 'rlt_shape_dragonfly|X\(dragonfly\)')" "net/shapes/dragonfly.c net/shapes/shape.h "
else
    skip "files that an addition touches" "needs the sources in git"
fi

build() { # name: name.c into name.so
    # shellcheck disable=SC2086
    $cc -std=c11 -pedantic -Wall -Wextra -Werror -shared -fPIC $flags -o "$1.so" "$1.c" >out 2>err
}
broken() { # a bad plug-in: the compiler's warnings do not matter
    # shellcheck disable=SC2086
    $cc -std=c11 -w -shared -fPIC $flags -o "$1.so" "$1.c" >out 2>err
}
for p in chain steps dense lean; do
    build $p && verdict "$p is built against the installed headers" "" || verdict "$p is built against the installed headers" "no"
    "$ringlet" check ./$p.so >out 2>err && grep -q "^./$p.so: ok: plug-in $p 1.0" out && verdict "$p is proved" "" || verdict "$p is proved" "status $?"
done
# The plug-in is proved in a child of fork, which would wait for ever for a lock that another thread held at that moment.
proofs() { for i in 1 2 3 4 5 6 7 8 9 10; do timeout 60 "$ringlet" check ./lean.so >/dev/null 2>&1 || echo "status $?"; done; }
expect "thirty proofs, three at a time, end" "$({ proofs & proofs & proofs; wait; })" ""
"$ringlet" check ./chain.so >out 2>err
expect "chain: a grid of groups, runs and folded runs" "$(grep -cE '^algorithm chain: [0-9]{3} plans .* [0-9]{3} runs end' out)" 1
"$ringlet" check ./steps.so >out 2>err
expect "steps: 4 ranks, 12 operations" "$(grep -c '^reader steps: reads its sample: 4 ranks, 12 operations' out)" 1
"$ringlet" check ./dense.so >out 2>err
expect "dense: 4 x 1024 x 1024 parameters" "$(grep -c '^model dense: 4 layers and 4 tensors have the same 4194304 parameters' out)" 1

# A chain of 4 with one chunk: three hops of 1 MB at 100 GB/s and 2 x 500 ns: 3 (10 + 0.5 + 0.5) us.
time_of() { "$ringlet" --plugin ./chain.so coll -t switch:4@100GB/s,500ns -c broadcast -a chain -b 1000000B -f json "$@" >out 2>err; }
time_of --set chunks=1
expect "coll with the added algorithm" "$(grep -o '"time_ps": *[0-9]*' out | head -1 | tr -d ' ')" '"time_ps":33000000'
expect "the manifest names the plug-in and its hash" "$(grep -o '{"what": "plug-in[^}]*}' out | sed -E 's/[0-9a-f]{16}/HASH/')" \
    '{"what": "plug-in chain 1.0", "path": "./chain.so", "hash": "HASH"}'
time_of --set chunks=1 --set chain.way=down
expect "its own parameter: the other way takes as long" "$(grep -o '"time_ps": *[0-9]*' out | head -1 | tr -d ' ')" '"time_ps":33000000'
time_of --set way=sideways
expect "a wrong value of it" "$(grep -c "way: expected one of up, down, got 'sideways'" err)" 1
time_of --set chunks=1 --check --verify-fold && verdict "coll --check --verify-fold" "" || verdict "coll --check --verify-fold" "status $?"
expect "list tells where it comes from" "$("$ringlet" --plugin=./chain.so list algorithms | grep -A1 '^chain ' | tr -s ' \n' ' ' | grep -c 'plug-in chain')" 1
expect "list without it is as before" "$("$ringlet" list algorithms | grep -c chain.so)" 0
printf '#steps 4\ncompute 10us\nall_reduce 0\nend\n' >mine.steps
"$ringlet" --plugin ./steps.so run --trace mine.steps -t switch:4@100GB/s,500ns -f json >out 2>err
expect "run reads the added format" "$?" 0
"$ringlet" run --trace mine.steps -t switch:4@100GB/s,500ns >out 2>err
expect "which nothing reads without it" "$?" 3
"$ringlet" --plugin ./dense.so --plugin ./lean.so run --model dense:layers=2 --strategy lean --accelerator h100-sxm -t "$topologies/hgx-h100-8.json" >out 2>err
expect "run trains the added model with the added strategy" "$?" 0
"$ringlet" --plugin ./dense.so run --model dense:layer=2 --accelerator h100-sxm -t "$topologies/hgx-h100-8.json" >out 2>err
expect "a misspelt parameter of it" "$(grep -c "did you mean 'layers'?" err)" 1
printf '{"command": "coll", "base": {"topology": "switch:4@100GB/s,500ns", "collective": "broadcast", "bytes": "1MiB"},
  "axes": [{"name": "algorithm", "pointer": "/algorithm", "values": ["chain", "tree"]}], "columns": ["time_ps"]}' >study.json
"$ringlet" --plugin ./chain.so sweep study.json -q --db study >out 2>err
expect "sweep over the added algorithm" "$?" 0

refused() { # name, status, words, command
    name=$1 status=$2 words=$3
    shift 3
    "$ringlet" "$@" >out 2>err
    got=$?
    [ $got = "$status" ] || { verdict "$name" "status $got, expected $status"; return; }
    grep -qE -- "$words" err && verdict "$name" "" || verdict "$name" "expected $words, got $(cat err)"
}
refused "no file" 5 '^ringlet: ./none.so: ' --plugin ./none.so list algorithms
refused "no word" 2 'expected a shared object' --plugin
echo 'no object' >text.so
refused "a text" 3 './text.so: not a plug-in: not a shared object' --plugin ./text.so list algorithms
head -c 2000 chain.so >cut.so
refused "half of one" 3 './cut.so: not a plug-in: the shared object is truncated' --plugin ./cut.so list algorithms
# Each field that is read before the loader reads the object: ELF64 has its type at 16, the table of segments at 32 (8 bytes), the
# size of an entry at 54, their number at 56; an entry has its offset in the file at 8, its size there at 32 (8 bytes each).
damaged() { # what, offset, bytes
    cp chain.so damaged.so
    printf '%b' "$3" | dd of=damaged.so bs=1 seek="$2" conv=notrunc 2>/dev/null
    refused "damaged: $1" 3 './damaged.so: not a plug-in: the shared object is truncated or damaged' --plugin ./damaged.so list algorithms
}
first=$(od -An -tu8 -j32 -N8 chain.so | tr -d ' ')
damaged "no shared object" 16 '\0002'
damaged "entries of another size" 54 '\0071'
damaged "the table lies far behind the end" 39 '\0020'
damaged "more entries than the file holds" 57 '\0377'
damaged "a segment lies far behind the end" $((first + 15)) '\0020'
damaged "a segment ends behind the end" $((first + 39)) '\0020'
echo 'int nothing = 1;' >empty.c && broken empty
refused "another shared object" 3 "not a plug-in: it defines no 'ringlet_plugin'" --plugin ./empty.so list algorithms
refused "the same by check" 3 "not a plug-in: it defines no 'ringlet_plugin'" check ./empty.so
sed 's/\.abi = RLT_PLUGIN_ABI/.abi = 99/' chain.c >abi.c && broken abi
refused "another ABI" 3 'built for plug-in ABI 99, but this ringlet has ABI 2' --plugin ./abi.so list algorithms
sed 's/"chain"/"ring"/' chain.c >taken.c && broken taken
refused "a name that is taken" 3 "algorithm 'ring' exists already" --plugin ./taken.so list algorithms
refused "one plug-in twice" 3 "'chain' exists already" --plugin ./chain.so --plugin ./chain.so list algorithms
sed '/\.steps = chain_steps/d' chain.c >slot.c && broken slot
refused "a slot that is missing" 3 "algorithm 'chain' has no 'steps': expected a function or a text" --plugin ./slot.so list algorithms
sed '/\.samples = samples/d; s/\.readers = readers,/.readers = readers};/' steps.c >sample.c && broken sample
refused "a reader without a sample" 3 './sample.so: has readers, but no sample file for them' --plugin ./sample.so list algorithms
sed 's/{&chain, NULL}/{\&chain, \&chain, NULL}/' chain.c >twice.c && broken twice
refused "an algorithm that appears twice" 3 "./twice.so: algorithm 'chain' appears twice" --plugin ./twice.so list algorithms
sed 's/{&chain, NULL}/{NULL}/' chain.c >idle.c && broken idle
refused "empty lists" 3 './idle.so: adds nothing: all its lists are empty' --plugin ./idle.so list algorithms
sed '/^ *\.name = "chain",$/{x;s/^/n/;/^nn$/{x;d};x}' chain.c >nameless.c && broken nameless
refused "a plug-in without a name" 3 './nameless.so: the plug-in has no name' --plugin ./nameless.so list algorithms
sed '/\.version = /d' chain.c >old.c && broken old
refused "a plug-in without a version" 3 './old.so: the plug-in has no version' --plugin ./old.so list algorithms
sed 's/rlt_lane_bytes(plan, lane)/rlt_lane_bytes(plan, lane) \/ 2/' chain.c >half.c && broken half
refused "an algorithm that sends half" 3 '^ringlet: ./half.so: algorithm chain: broadcast of ' check ./half.so
sed 's/k == 0 \&\& member/k == 1 \&\& member/' chain.c >stall.c && broken stall
refused "an algorithm that waits for nobody" 3 '^ringlet: ./stall.so: algorithm chain: broadcast of ' check ./stall.so
sed 's/plan->blocks = 1;/plan->blocks = 1; *(volatile int *)0 = 1;/' chain.c >crash.c && broken crash
refused "an algorithm that crashes" 3 './crash.so: the plug-in crashes: ' check ./crash.so
sed 's/if (!rc \&\& !r.ended)/if (!rc \&\& r.line == 0)/; s/return bad(r, err, "compute .*/return 0;/' steps.c >lax.c && broken lax
refused "a reader that takes half a file" 3 'reader steps: read: accepts its sample truncated to' check ./lax.so
sed 's/l->output_elements = d.width;/l->parameters += 1; &/' dense.c >wrong.c && broken wrong
refused "a model whose parameters differ" 3 'model dense: parameters: the model has 4194304, its layers have 4194308' check ./wrong.so
sed 's/zero=3/zreo=3/' lean.c >typo.c && broken typo
refused "a strategy with a wrong setting" 3 'strategy lean: .*zreo' check ./typo.so
finish
