#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# compress --lossy: what it promises, what it leaves alone and says so, and that nobody loses the
# exact copy unasked.
. "$top_srcdir/tests/command/lib.sh"
"$MAKE" original a.weight:BF16:300x400:gauss b.weight:F16:50000:gauss c.weight:F32:64x1000:gauss \
    a.norm:F32:3000:gauss few:F32:100:gauss ints:I32:2000:gauss nans:BF16:4000:random || exit 99

# Bad values name the option and what it takes.
for value in '' bits bits: bits:0 bits:33 bits:-1 bits:4x bits:nan bits:inf bits:0x4 snr:-1 \
    snr:201 error:0 error: error:1e200 snr:20,5 quality:3; do
    run 2 "$WCODEC" compress --lossy="$value" original; says '--lossy is none, snr:DB.*error:E.*bits:B'
done
run 2 "$WCODEC" compress --lossy-scale=block original; says '--lossy-scale is tensor or row'
run 2 "$WCODEC" compress --lossy-scale=row original; says 'needs --lossy'
run 2 "$WCODEC" compress --lossy=error:0.1 --lossy-scale=row original; says 'snr and bits'
run 2 "$WCODEC" compress --lossy=snr:20 --raw original; says 'exclude each other'
missing original.wcodec

# Each tensor keeps to what was asked for, by the figures in the file, and verify finds the same.
for target in snr:23.5 error:0.01 error:1e-2 bits:4.5; do
    rm -f original.wcodec
    run 0 "$WCODEC" compress -v --lossy=$target --exclude='*.norm' original; says '7 tensors, 3 approximated'
    says '"a.norm" stays lossless: its name is left out'
    says '"few" stays lossless: it is small'
    says '"ints" stays lossless: its type has no lossy form'
    says '"nans" stays lossless: it holds NaN'
    run 0 "$WCODEC" test original.wcodec
    run 0 "$WCODEC" list --json original.wcodec; json out
    json_is out 'd["files"][0]["lossy"]["tensors"] == 3 and [t["name"] for t in
        d["files"][0]["tensors"] if t["lossy"]] == ["a.weight", "b.weight", "c.weight"]'
    case $target in
    snr:*) json_is out 'all(t["lossy"]["snr_db"] >= 23.5 for t in d["files"][0]["tensors"] if t["lossy"])' ;;
    error:*) json_is out 'all(t["lossy"]["largest_error"] <= 0.01 for t in d["files"][0]["tensors"] if t["lossy"])' ;;
    *) json_is out 'all(t["coded_bytes"] * 8 <= 4.5 * t["bytes"] / (4 if t["dtype"] == "F32" else 2)
        for t in d["files"][0]["tensors"] if t["lossy"])' ;;
    esac
done
run 0 "$WCODEC" decompress -o back original.wcodec
if cmp -s back original; then fail 'what was approximated is equal'; else pass; fi
run 0 "$WCODEC" cat --tensor=a.norm original.wcodec
cp out norm
"$WCODEC" compress -q -c original >exact.wcodec
"$WCODEC" cat --tensor=a.norm exact.wcodec >norm.exact
same norm norm.exact 'a tensor that was left out is exact'

# What is approximated once stays as it is.
run 0 "$WCODEC" compress back
run 0 "$WCODEC" decompress -c back.wcodec
cp out again
same again back

# Compressed anew by another coding, the file still says what it has lost; copies of it do too.
run 0 "$WCODEC" list --json original.wcodec; cp out before
kept='[t["lossy"] and [t["lossy"][k] for k in ("snr_db", "largest_error", "mean_squared_error", "mean_square")] for t in d["files"][0]["tensors"]]'
"$PYTHON" -c 'import json, sys; d = json.load(open("before")); print(eval(sys.argv[1]))' "$kept" >figures
run 0 "$WCODEC" compress -9 -o anew.wcodec original.wcodec
run 0 "$WCODEC" decompress -q -o back.anew anew.wcodec; same back.anew back
run 0 "$WCODEC" compress --index=front -o anew.front anew.wcodec
run 0 "$WCODEC" compress -1 -o anew.twice anew.front
run 0 "$WCODEC" compress --only='*' -o anew.some anew.wcodec
for file in anew.wcodec anew.front anew.twice anew.some; do
    run 0 "$WCODEC" list --json $file; json out
    json_is out "d['files'][0]['lossy']['tensors'] == 3 and str($kept) == open('figures').read().strip()"
    json_is out 'not any("transform" in t["coding"] for t in d["files"][0]["tensors"])'
    run 0 "$WCODEC" info $file; prints '^lossy: *3 of 7 tensors are approximated: SNR'
    prints '^lossy: *a.weight, approximated before it was compressed anew: SNR'
    if grep -q wcodec.lossy out; then fail 'the record is listed as metadata'; else pass; fi
    run 0 "$WCODEC" test $file; says 'lossy: SNR'
done
run 0 "$WCODEC" verify anew.twice original; says 'approximates original: .* in 3 lossy tensors'
run 0 "$WCODEC" compress --only='[ab].*' -o anew.some -f anew.wcodec
run 0 "$WCODEC" info anew.some; prints '^lossy: *2 of 3 tensors'
if "$WCODEC" decompress -qc anew.some | head -c 2000 | grep -q wcodec.lossy; then
    fail 'the record is in the header of what is restored'; else pass; fi

# Loss upon loss is refused: nobody could say how far it is from the original.
for file in original.wcodec anew.wcodec; do
    run 2 "$WCODEC" compress --lossy=bits:3 -o twice.wcodec $file
    says "tensor '[abc].weight': it is approximated already, with errors up to"; missing twice.wcodec
    run 2 "$WCODEC" compress --lossy=bits:3 --include='c.*' -o twice.wcodec $file; says "'c.weight'"
    run 0 "$WCODEC" compress --lossy=bits:3 --exclude='*.weight' -o twice.wcodec $file; says '7 tensors, 4 approximated'
    run 0 "$WCODEC" list --json twice.wcodec; json_is out 'd["files"][0]["lossy"]["tensors"] == 4'
    rm twice.wcodec
done
# The record is not taken from a stranger's metadata.
"$MAKE" -m wcodec.lossy.w=3ff0000000000000\ 3ff0000000000000\ 3ff0000000000000 claim w:BF16:300x40:gauss || exit 99
run 0 "$WCODEC" compress -q claim
run 0 "$WCODEC" list --json claim.wcodec; json_is out 'd["files"][0]["lossy"] is None'
run 0 "$WCODEC" decompress -qc claim.wcodec; same out claim

# That nothing could be approximated is said.
run 0 "$WCODEC" compress -v -c --lossy=snr:20 --exclude='*' original; says '7 tensors, 0 approximated'
run 0 "$WCODEC" compress -v -c original; says ': 7 tensors, [0-9.]* '

# Threads do not matter, nor where the output goes.
"$WCODEC" compress -q -T1 -c --lossy=snr:30 --lossy-scale=row original >one || fail 'one thread'
"$WCODEC" compress -q -T7 -c --lossy=snr:30 --lossy-scale=row original >seven || fail 'seven threads'
same one seven
run 0 "$WCODEC" info one; prints '; 300 scales; SNR 30'

# An exact file is not what --lossy asks for, and an approximated one is not up to date.
rm original.wcodec
run 0 "$WCODEC" compress original
run 1 "$WCODEC" compress --lossy=bits:4 original; says 'exists already'
run 0 "$WCODEC" compress -f --lossy=bits:4 original
run 1 "$WCODEC" compress original; says 'exists already'

# The exact copy goes only when that is said twice.
rm original.wcodec
cp original copy
run 2 "$WCODEC" compress --rm --lossy=bits:4 original; says '--rm after --lossy leaves no exact copy: add -f'
exists original
missing original.wcodec
run 0 "$WCODEC" compress --rm --lossy=none original
missing original
mv copy original
run 0 "$WCODEC" compress --rm -f --lossy=bits:4 original
missing original
run 0 "$WCODEC" test original.wcodec
finish
