#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# compress --vectors: which tensors it applies to, what it promises of them, and what it refuses.
. "$top_srcdir/tests/command/lib.sh"
"$MAKE" original embed.weight:F32:3000x32:gauss head.weight:F16:300x64:gauss w.weight:BF16:400x300:gauss \
    few:F32:10x40:gauss ints:I32:2000:gauss || exit 99

# Bad values name the option and what it takes.
for value in '' 0 -1 2097153 x; do
    run 2 "$WCODEC" compress --vectors --vectors-anchors="$value" original; says 'a number from 1 to 2097152'
done
for value in '' 0 33 nan 4x; do
    run 2 "$WCODEC" compress --vectors --vectors-bits="$value" original; says '0.01 to 32'
done
for value in '' 0 1 -0.5 nan; do
    run 2 "$WCODEC" compress --vectors --vectors-recall="$value" original; says 'above 0 and below 1'
done
run 2 "$WCODEC" compress --vectors-bits=4 original; says 'need --vectors'
run 2 "$WCODEC" compress --vectors --vectors-bits=4 --vectors-recall=0.9 original; says 'exclude each other'
run 2 "$WCODEC" compress --vectors --raw original; says 'exclude each other'
run 2 "$WCODEC" compress --vectors --base=original original; says 'exclude each other'
run 2 "$WCODEC" compress --vectors --rm original; says 'add -f'
missing original.wcodec

# Names that match no table, before anything is written.
run 2 "$WCODEC" compress --vectors='embed*' --vectors='tok*' original; says 'original: no tensor.s name matches "tok\*"'
run 2 "$WCODEC" compress --vectors=few original; says '"few": it has fewer than 16 rows'
run 2 "$WCODEC" compress --vectors=ints original; says '"ints": it is neither of F16'
run 2 "$WCODEC" compress --vectors=head.weight --vectors-anchors=301 original; says 'fewer rows than anchors'
run 2 "$WCODEC" compress --vectors='embed*' --exclude=embed.weight original; says 'its name is left out'
missing original.wcodec

# Of several files, or of a folder, each may lack the table; that none has it is told.
mkdir shards && cp original shards/one.safetensors
"$MAKE" shards/two.safetensors other.weight:F32:300x32:gauss few:F32:10x40:gauss || exit 99
run 0 "$WCODEC" compress --vectors=embed.weight --vectors='fe*' --vectors-bits=5 shards
says 'one.safetensors: 5 tensors, 1 approximated'; says 'two.safetensors: 2 tensors, 0 approximated'
run 0 "$WCODEC" compress --vectors=embed.weight -O named shards/two.safetensors shards/one.safetensors
says 'one.safetensors: 5 tensors, 1 approximated'
run 0 "$WCODEC" compress -f --vectors=tok shards; says 'nothing was approximated: .*--vectors=tok'
run 2 "$WCODEC" compress -f --vectors=embed.weight shards/two.safetensors; says 'no tensor.s name matches'
rm -r shards shards.wcodec named

# All tables, at a rate; all else is exact.
run 0 "$WCODEC" compress --vectors --vectors-bits=5 original; says '5 tensors, 1 approximated'
run 0 "$WCODEC" info original.wcodec
run 0 "$WCODEC" info -v original.wcodec; prints 'embed.weight, rows of 32: by 16 anchors; 1 scale; SNR'
run 0 "$WCODEC" list --json original.wcodec; json out
json_is out '[t["name"] for t in d["files"][0]["tensors"] if t["lossy"]] == ["embed.weight"]'
json_is out '[t["coding"]["anchors"] for t in d["files"][0]["tensors"] if t["lossy"]] == [16]'
json_is out '[4.85 < t["bits_per_element"] <= 5 for t in d["files"][0]["tensors"] if t["lossy"]] == [True]'
run 0 "$WCODEC" test original.wcodec
run 0 "$WCODEC" cat --tensor=w.weight original.wcodec; cp out weight
"$WCODEC" compress -q -c original >exact.wcodec
"$WCODEC" cat --tensor=w.weight exact.wcodec >weight.exact
same weight weight.exact 'what is no table is exact'

# By name and number of anchors, for a recall, beside --lossy.
run 0 "$WCODEC" compress -f -v --vectors='head*' --vectors-anchors=20 --vectors-recall=0.8 --lossy=snr:30 original
says '"head.weight" reaches a recall@10 of 0.8'; says '"few" stays lossless'
run 0 "$WCODEC" list --json original.wcodec; json out
json_is out '{t["name"]: t["coding"].get("anchors") for t in d["files"][0]["tensors"] if t["lossy"]} == {"embed.weight": None, "head.weight": 20, "w.weight": None}'
json_is out 'all(t["lossy"]["snr_db"] >= 30 for t in d["files"][0]["tensors"] if t["lossy"] and t["name"] != "head.weight")'

# The default recall; and tables that are there already are approximated no further.
run 0 "$WCODEC" compress -f -v --vectors=head.weight original; says 'recall@10 of 0.9[5-9]'
run 2 "$WCODEC" compress --vectors=head.weight -o again.wcodec original.wcodec; says 'approximated already'
missing again.wcodec
finish
