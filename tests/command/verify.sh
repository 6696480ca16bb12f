#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# verify: equal, different, shorter, longer; hashes; JSON.
. "$top_srcdir/tests/command/lib.sh"
"$MAKE" a.safetensors first:BF16:30x1000:gauss second:I8:5000:gauss || exit 99
"$WCODEC" compress -q a.safetensors
size=$(size_of a.safetensors)

run 0 "$WCODEC" verify a.safetensors.wcodec a.safetensors; silent; says 'the same as'
run 0 "$WCODEC" verify -q a.safetensors.wcodec a.safetensors; silent; quiet
cp a.safetensors b
poke b $((size - 5000 + 17)) 0
poke a.safetensors $((size - 5000 + 17)) 1
"$WCODEC" compress -fq a.safetensors
run 3 "$WCODEC" verify a.safetensors.wcodec b
says "byte $((size - 5000 + 17)), in tensor 'second' at byte 17 of it: 0x01 here, 0x00 there"
silent
cp a.safetensors c
poke c 3 7
run 3 "$WCODEC" verify a.safetensors.wcodec c; says 'byte 3, in no tensor'
head -c 100 a.safetensors >short
run 3 "$WCODEC" verify a.safetensors.wcodec short; says 'byte 100, .*the end there'
{ cat a.safetensors; printf x; } >long
run 3 "$WCODEC" verify a.safetensors.wcodec long
says "byte $size, after the last byte: the end here, 0x78 there"
: >empty
run 3 "$WCODEC" verify a.safetensors.wcodec empty; says 'byte 0,'
run 1 "$WCODEC" verify a.safetensors.wcodec missing; says 'missing: cannot open'
run 1 "$WCODEC" verify missing a.safetensors
run 3 "$WCODEC" verify a.safetensors a.safetensors

# Approximated tensors, of files that the oracle made: as far off as they say, or less.
golden=$sources/tests/golden
for name in odd-bf16-lossy-plain odd-f16-lossy-wide odd-f32-lossy-adst; do
    run 0 "$WCODEC" decompress -q -f -o near "$golden/$name.wcodec"
    run 0 "$WCODEC" verify "$golden/$name.wcodec" near
    says 'approximates near: no error in 1 lossy tensor; all else is the same'; silent
    run 0 "$WCODEC" verify --json "$golden/$name.wcodec" near; json out
    json_is out 'd["results"][0]["same"] and d["results"][0]["lossy"]["largest_error"] == 0 and
        d["results"][0]["lossy"]["snr_db"] is None'
    poke near 20 7
    run 3 "$WCODEC" verify "$golden/$name.wcodec" near; says 'byte 20, in no tensor'
done
run 0 "$WCODEC" decompress -q -f -o near "$golden/odd-f32-lossy-adst.wcodec"
poke near $(($(size_of near) - 4)) 1
run 0 "$WCODEC" verify "$golden/odd-f32-lossy-adst.wcodec" near
says 'approximates near: SNR [0-9.]* dB, largest error [0-9]'
run 0 "$WCODEC" verify --json "$golden/odd-f32-lossy-adst.wcodec" near; json out
json_is out 'not d["results"][0]["same"] and d["results"][0]["difference"] is None and
    0 < d["results"][0]["lossy"]["largest_error"] < 0.9'
poke near $(($(size_of near) - 1)) 127
run 3 "$WCODEC" verify "$golden/odd-f32-lossy-adst.wcodec" near
says "in tensor 't' at byte [0-9]* of it, than the file says: an error of "
head -c 5000 near >short
run 3 "$WCODEC" verify "$golden/odd-f32-lossy-adst.wcodec" short; says 'byte 5000, .*the end there'
run 0 "$WCODEC" test "$golden/odd-f32-lossy-adst.wcodec"; says ': ok, lossy: SNR'
run 0 "$WCODEC" test --json "$golden/odd-f32-lossy-adst.wcodec"; json out
json_is out 'd["results"][0]["lossy"]["largest_error"] > 0'
run 0 "$WCODEC" test --json a.safetensors.wcodec; json out; json_is out 'd["results"][0]["lossy"] is None'

# A folder with a copied file that cannot be read to its end: that is no difference.
short=/sys/kernel/mm/transparent_hugepage/enabled
if [ -r $short ] && [ "$(stat -c %s $short)" -gt "$(cat $short | wc -c)" ]; then
    mkdir folder folder.wcodec
    cp a.safetensors folder
    cp a.safetensors.wcodec folder.wcodec
    ln -s $short folder/note
    ln -s $short folder.wcodec/note
    run 1 "$WCODEC" verify folder.wcodec folder; says 'folder.wcodec/note: the file ends'
    run 1 "$WCODEC" verify --json folder.wcodec folder; json out
    json_is out '[r["error"] for r in d["results"] if not r["same"]] == ["cannot be read"] and
        any(r["same"] for r in d["results"])'
    rm folder.wcodec/note
    echo other >folder.wcodec/note
    run 3 "$WCODEC" verify folder.wcodec folder; says "note: differs from 'folder/note'"
else
    skip 'no file here is shorter than it says'
fi

hash=$("$WCODEC" info --json a.safetensors.wcodec | sed -n 's/.*"xxh128":"\([0-9a-f]*\)".*/\1/p')
run 0 "$WCODEC" verify --xxh128 "$hash" a.safetensors.wcodec
run 0 "$WCODEC" verify --xxh128 "$(echo "$hash" | tr a-f A-F)" a.safetensors.wcodec
run 3 "$WCODEC" verify --xxh128 "$(echo "$hash" | tr 0-9a-f 1-9a-f0)" a.safetensors.wcodec
says "differs from the hash that was given: the original's is $hash"
if command -v xxhsum >/dev/null 2>&1; then
    # Of the leaves' digests and the size, both little-endian.
    xxh128 () {
        xxhsum -H2 "$1" 2>/dev/null | cut -d' ' -f1
    }
    bytes () {
        for byte in $(echo "$1" | sed 's/../& /g'); do
            octal="\\$(printf %o "0x$byte")$octal"
        done
    }
    split -b 65536 a.safetensors leaf.
    : >tree
    for leaf in leaf.*; do
        octal=''
        bytes "$(xxh128 "$leaf")"
        printf "$octal" >>tree
    done
    octal=''
    bytes "$(printf %016x "$(wc -c <a.safetensors)")"
    printf "$octal" >>tree
    is "$(xxh128 tree)" "$hash" 'xxhsum agrees'
else
    skip 'no xxhsum to compare the hash with'
fi

run 0 "$WCODEC" verify --json a.safetensors.wcodec a.safetensors; json out; quiet
json_is out 'd["results"][0]["same"] is True'
run 3 "$WCODEC" verify --json a.safetensors.wcodec b; json out
json_is out '"second" in d["results"][0]["difference"]'
run 3 "$WCODEC" verify --json --xxh128 00000000000000000000000000000000 a.safetensors.wcodec
json out; json_is out 'd["results"][0]["same"] is False'
printf 'nothing of ours' >other.wcodec
run 3 "$WCODEC" verify --json other.wcodec a.safetensors; json out
json_is out '".wcodec" in d["results"][0]["error"] and d["results"][0]["difference"] is None'
finish
