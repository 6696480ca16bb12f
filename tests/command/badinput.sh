#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Damaged, cut, foreign and newer files: exit code 3, a message, no output.
. "$top_srcdir/tests/command/lib.sh"
"$MAKE" a.safetensors w:BF16:30x1000:gauss x:I8:5000:gauss t:U8:3000:text || exit 99
"$WCODEC" compress -q a.safetensors
size=$(size_of a.safetensors.wcodec)

refuse () {
    for command in test list info 'decompress -o out.file' 'cat --tensor=w' \
        'verify --xxh128=00000000000000000000000000000000'; do
        run 3 "$WCODEC" $command "$1"
        says "^wcodec: error: $1: "
        silent
    done
    missing out.file
}

for n in 0 1 7 63 64 127 128 200 $((size / 2)) $((size - 64)) $((size - 1)); do
    head -c $n a.safetensors.wcodec >cut.wcodec
    refuse cut.wcodec
done
{ cat a.safetensors.wcodec; printf x; } >longer.wcodec
refuse longer.wcodec
cat a.safetensors.wcodec a.safetensors.wcodec >twice.wcodec
refuse twice.wcodec
cp a.safetensors foreign.wcodec
refuse foreign.wcodec
# Text mode: line ends changed on the way.
tr -d '\r' <a.safetensors.wcodec >textmode.wcodec
refuse textmode.wcodec
# Files of other kinds are named.
foreign () {
    printf "$2" >foreign.wcodec
    refuse foreign.wcodec
    says "is no .wcodec file but $3"
    cp foreign.wcodec foreign.bin
    run 0 "$WCODEC" compress -f foreign.bin; says "foreign.bin: is $3"
    run 3 "$WCODEC" compress -f --strict foreign.bin; says "$3"
    run 0 "$WCODEC" decompress -qc foreign.bin.wcodec
    same out foreign.bin
    cp foreign.wcodec foreign.safetensors
    run 0 "$WCODEC" compress -f foreign.safetensors; says "warning: foreign.safetensors: no valid safetensors file.*$3"
}
foreign lfs 'version https://git-lfs.github.com/spec/v1\noid sha256:0123456789\nsize 12345678\n' 'a git-lfs pointer'
run 0 "$WCODEC" compress -f foreign.bin; says "warning: .*git lfs pull"
foreign gguf 'GGUF\003\000\000\000\001' 'a GGUF file'
foreign torch 'PK\003\004\000\000\010\010\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\016\000\000\000model/data.pkl' 'a PyTorch checkpoint'
foreign html '<!DOCTYPE html><title>404</title>' 'an HTML page'
cp a.safetensors foreign.wcodec
refuse foreign.wcodec; says "but a safetensors file ('wcodec compress'"
rm foreign.*

# A newer version says so (the head's checksum is looked at only in versions that are known).
cp a.safetensors.wcodec newer.wcodec
poke newer.wcodec 8 2
run 3 "$WCODEC" test newer.wcodec; says 'newer'
run 3 "$WCODEC" decompress -o out.file newer.wcodec; missing out.file

# One byte changed, everywhere in steps: the full test and the restoring find it; nothing is left.
step=$((size / 97 + 1)) at=3 found=0 tried=0
while [ $at -lt "$size" ]; do
    cp a.safetensors.wcodec flip.wcodec
    old=$(od -An -tu1 -j $at -N 1 a.safetensors.wcodec | tr -d ' ')
    poke flip.wcodec $at "$(printf %o $((old ^ 16)))"
    tried=$((tried + 1))
    "$WCODEC" test -q flip.wcodec 2>err
    tested=$?
    "$WCODEC" decompress -q -o out.file flip.wcodec 2>>err
    restored=$?
    if [ $tested -eq 3 ] && { [ $restored -eq 3 ] && [ ! -e out.file ] || cmp -s out.file a.safetensors; }; then
        found=$((found + 1))
    else
        echo "byte $at: test $tested, decompress $restored"
    fi
    rm -f out.file
    at=$((at + step))
done
is $found $tried 'flips found'

# --quick looks at the structure only.
cp a.safetensors.wcodec payload.wcodec
old=$(od -An -tu1 -j $((size / 3)) -N 1 a.safetensors.wcodec | tr -d ' ')
poke payload.wcodec $((size / 3)) "$(printf %o $((old ^ 1)))"
run 0 "$WCODEC" test --quick payload.wcodec
run 3 "$WCODEC" test payload.wcodec
run 3 "$WCODEC" test --json payload.wcodec; json out
json_is out 'd["results"][0]["ok"] is False and d["results"][0]["error"]'
run 0 "$WCODEC" test --backend=all --json a.safetensors.wcodec; json out
json_is out '"cpu:0" in [r["device"] for r in d["results"]] and all(r["ok"] for r in d["results"])'
run 3 "$WCODEC" test --backend=all payload.wcodec; says 'payload.wcodec: on cpu:0: '
run 0 "$WCODEC" test --backend=all --quick payload.wcodec
run 3 "$WCODEC" test a.safetensors.wcodec payload.wcodec a.safetensors.wcodec
is "$(grep -c ': ok$' err)" 2 'the others are tested all the same'

# --keep-going saves the tensors that are whole.
run 3 "$WCODEC" decompress -o whole payload.wcodec; missing whole
run 3 "$WCODEC" decompress --keep-going -o saved payload.wcodec; says 'left out'; exists saved
run 0 "$WCODEC" compress -q -o saved.wcodec saved
run 0 "$WCODEC" list --json saved.wcodec
json_is out 'len(d["files"][0]["tensors"]) == 2'
for name in $(sed -n 's/.*"name":"\([wxt]\)","dtype".*/\1/p' out); do
    "$WCODEC" cat --tensor=$name saved.wcodec >mine
    "$WCODEC" cat --tensor=$name a.safetensors.wcodec >theirs
    same mine theirs "tensor $name"
done
run 0 "$WCODEC" decompress --keep-going -o intact a.safetensors.wcodec
same intact a.safetensors
# What is saved must be written: 3 is not for a disk that is full.
run 3 "$WCODEC" decompress --keep-going -c payload.wcodec
(ulimit -f 4 && run 1 "$WCODEC" decompress --keep-going -o full payload.wcodec &&
    says "full: cannot write: File too large" && [ "$failed" -eq 0 ]) || fail 'a failed write with --keep-going'
missing full
if [ -w /dev/full ]; then
    run 1 "$WCODEC" decompress --keep-going -f -o /dev/full payload.wcodec; says '/dev/full: cannot write: No space left'
    run 1 sh -c '"$1" decompress --keep-going -c payload.wcodec >/dev/full' sh "$WCODEC"
fi
# As JSON: what was written, and what is wrong with it.
run 3 "$WCODEC" decompress --keep-going --json -f -o saved payload.wcodec; json out
json_is out '[(r["ok"], r["status"], r["bytes"], r["tensors"]) for r in d["results"]] == [
    (False, "restored in part", '"$(size_of saved)"', 2)] and "tensor" in d["results"][0]["error"]'
name=$(sed -n "s/.*tensor '\([^']*\)' is left out.*/\1/p" err)
run 3 "$WCODEC" decompress --keep-going --only='*' --json -f -o saved payload.wcodec; json out
json_is out '[(r["ok"], r["bytes"], r["tensors"], "'"'$name'"'" in r["error"]) for r in d["results"]] == [
    (False, '"$(size_of saved)"', 2, True)]'
run 0 "$WCODEC" decompress --keep-going --json -f -o intact a.safetensors.wcodec; json out
json_is out '[(r["ok"], r["status"], r["bytes"], r["tensors"], "error" in r) for r in d["results"]] == [
    (True, "restored", '"$(size_of a.safetensors)"', 3, False)]'
for sync in --no-sync --quiet; do
    run 0 "$WCODEC" decompress $sync --only="$name" --json -f -o one a.safetensors.wcodec; json out
    json_is out '[(r["ok"], r["status"], r["bytes"], r["tensors"], "error" in r) for r in d["results"]] == [
        (True, "restored in part", '"$(size_of one)"', 1, False)]'
done
# Without the index, or its tail, all is found by the headers of groups; of a file that is cut short, what is whole.
for n in 1 64 65; do
    head -c $((size - n)) a.safetensors.wcodec >cut.wcodec
    run 3 "$WCODEC" decompress cut.wcodec; missing cut
    run 3 "$WCODEC" decompress --keep-going -o found cut.wcodec; says 'nothing of the original is missing, but its hash is not known'
    same found a.safetensors
    rm found
done
head -c $((size - 1000)) a.safetensors.wcodec >cut.wcodec
run 3 "$WCODEC" decompress --keep-going -o half cut.wcodec; says 'cut short, or damaged: [0-9]* bytes of the original.s 68[0-9]* are missing'
says 'is left out'; says ' of 3 tensors written to half'
run 0 "$WCODEC" compress -q --strict half
run 0 "$WCODEC" list --json half.wcodec; json_is out '0 < len(d["files"][0]["tensors"]) < 3'
run 3 "$WCODEC" decompress --keep-going --json -f -o half cut.wcodec; json out
json_is out '[(r["ok"], r["status"]) for r in d["results"]] == [(False, "restored in part")] and "cut short" in d["results"][0]["error"]'
run 3 "$WCODEC" decompress --keep-going --only=w --json -f -o half cut.wcodec; says 'are missing'; json out
json_is out '[(r["ok"], r["tensors"]) for r in d["results"]] == [(False, 1)]'
rm half half.wcodec
head -c 100 a.safetensors.wcodec >cut.wcodec
run 3 "$WCODEC" decompress --keep-going -o nothing cut.wcodec; missing nothing
printf 'no numbers, twice: no numbers' >opaque
run 0 "$WCODEC" compress -q opaque
head -c $(($(size_of opaque.wcodec) - 70)) opaque.wcodec >cut.wcodec
run 3 "$WCODEC" decompress --keep-going -o found cut.wcodec; same found opaque

run 1 "$WCODEC" test /; says 'no .wcodec files\|directory'
run 1 "$WCODEC" list nothing.wcodec; says 'No such file'
: >x.wcodec
run 3 "$WCODEC" decompress x.wcodec; missing x
clean
finish
