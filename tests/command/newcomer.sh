#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# The first hour of somebody who knows zstd, git-lfs, safetensors and ffmpeg: what they type, and the
# answers. (Installing: tests/build/installed.sh, packages.sh; completion: options.sh; progress on a
# terminal, and names that end a pipe: streams.sh; names of 100 000 letters: list.sh; what a killed run
# leaves: directories.sh; more of sizes: tests/unit/test_encode_levels.c, test_encode_predict.c.)
. "$top_srcdir/tests/command/lib.sh"
mkdir 'my model'
"$MAKE" -s 1 'my model/model-00001-of-00003.safetensors' a:BF16:100x500:gauss || exit 99
"$MAKE" -s 2 'my model/model-00002-of-00003.safetensors' b:BF16:100x500:gauss || exit 99
"$MAKE" -s 3 'my model/model-00003-of-00003.safetensors' c:F32:100x200:gauss || exit 99
echo '{"weight_map": {"a": "model-00001-of-00003.safetensors", "b": "model-00002-of-00003.safetensors",
    "c": "model-00003-of-00003.safetensors"}}' >'my model/model.safetensors.index.json'
echo '{}' >'my model/config.json'
cp 'my model/model-00001-of-00003.safetensors' model.safetensors

# As with zstd.
run 2 "$WCODEC" model.safetensors; says "no such command, but a file: did you mean 'wcodec compress' with 'model.safetensors'?$"
run 2 "$WCODEC" compress -19 model.safetensors; says "levels are 1 to 9, not '19'"
run 2 "$WCODEC" compress -12 model.safetensors; says "levels are 1 to 9, not '12'"
run 2 "$WCODEC" compress -10 model.safetensors; says "levels are 1 to 9, not '10'"
run 2 "$WCODEC" compress --level=19 model.safetensors; says "levels are 1 to 9, not '19'"
run 2 "$WCODEC" compress --out=x model.safetensors; says '(--output, --output-dir)'
run 3 "$WCODEC" decompress model.safetensors; says "is no .wcodec file but a safetensors file"
run 1 "$WCODEC" decompress nothing.safetensors; says 'No such file'
run 2 "$WCODEC" compress .; says 'no name to make an output.s from; use -o'
missing model.safetensors.wcodec x
run 0 sh -c '"$1" compress <model.safetensors >out.wcodec' sh "$WCODEC"
run 0 sh -c 'cat model.safetensors | "$1" compress -q | "$1" decompress -q | cmp - model.safetensors' sh "$WCODEC"; quiet
run 0 sh -c '"$1" test <out.wcodec' sh "$WCODEC"
mv out.wcodec out.compressed
run 2 "$WCODEC" decompress out.compressed; says 'does not end in .wcodec; use -o'
run 0 "$WCODEC" compress --level=1 model.safetensors; says '1 tensor, .* KiB to .* KiB ([0-9.]* %), .*B/s'
run 0 "$WCODEC" compress -9 model.safetensors; says 'up to date, but made with other options (-1): -f makes it anew'
run 0 "$WCODEC" info model.safetensors.wcodec; prints '^options: *-1$'
run 1 "$WCODEC" compress --lossy=bits:4 model.safetensors; says 'exists already; -f replaces it'
run 0 "$WCODEC" compress -9f model.safetensors
run 0 "$WCODEC" list model.safetensors.wcodec; prints '^total: 1 tensor, 1 file, '
run 3 "$WCODEC" verify --xxh128=00000000000000000000000000000000 model.safetensors.wcodec; says 'differs from the hash'
run 4 "$WCODEC" test --backend=foo model.safetensors.wcodec; says 'own are cpu, cuda and opencl'
: >empty
run 0 "$WCODEC" compress empty; says 'empty: empty, stored in'
run 0 "$WCODEC" decompress -f empty.wcodec
same empty /dev/null

# The same bytes make the same file: after a touch, as a copy, in a clone.
cp model.safetensors.wcodec before
touch model.safetensors
run 0 "$WCODEC" compress -9f model.safetensors
same before model.safetensors.wcodec 'after touch'
mkdir clone
cp model.safetensors clone/copy.safetensors
chmod 600 clone/copy.safetensors
run 0 "$WCODEC" compress -9n clone/copy.safetensors
same before clone/copy.safetensors.wcodec 'in a clone'
run 0 "$WCODEC" decompress -f clone/copy.safetensors.wcodec
is "$(stat -c %a clone/copy.safetensors)" 600

# Files of other kinds.
printf 'version https://git-lfs.github.com/spec/v1\noid sha256:%064d\nsize 90868376\n' 0 >lfs.safetensors
run 0 "$WCODEC" compress lfs.safetensors; says 'warning: .*is a git-lfs pointer, not the file itself'; says 'git lfs pull'
cp lfs.safetensors lfs.wcodec
run 3 "$WCODEC" test lfs.wcodec; says 'is no .wcodec file but a git-lfs pointer'
run 3 "$WCODEC" list model.safetensors; says "but a safetensors file ('wcodec compress' makes one of it)"
printf 'GGUF\003\000\000\000' >model.gguf
run 0 "$WCODEC" compress model.gguf; says 'is a GGUF file, but: its header is cut short.*: stored as opaque bytes'
head -c 5000 model.safetensors.wcodec >trunc.wcodec
run 3 "$WCODEC" decompress trunc.wcodec; says 'it is cut short'
missing trunc
run 3 "$WCODEC" decompress --keep-going trunc.wcodec; says 'bytes of the original.s [0-9]* are missing'

# Folders.
run 0 "$WCODEC" compress 'my model'; says 'config.json: copied'; says 'total: 3 compressed, .* 2 copied, 0 up to date'
run 0 "$WCODEC" test 'my model.wcodec'
cp -r 'my model.wcodec' ms
rm ms/model-00002-of-00003.safetensors.wcodec
for command in 'test -r ms' 'decompress ms -o back'; do
    run 1 "$WCODEC" $command; says '1 of the 3 files of this model is missing: model-00002-of-00003.safetensors, with 1 tensor'
done
exists back/model-00001-of-00003.safetensors back/model-00003-of-00003.safetensors
run 1 "$WCODEC" list ms
run 3 "$WCODEC" verify ms 'my model'
echo 'no JSON' >ms/model.safetensors.index.json
run 3 "$WCODEC" test ms; says 'model.safetensors.index.json: line 1'
mv 'my model/config.json' real.json
ln -s ../real.json 'my model/config.json'
ln -s model-00001-of-00003.safetensors 'my model/linked.safetensors'
ln -s nowhere 'my model/dangling'
run 0 "$WCODEC" compress 'my model'; says 'dangling: left out: a symbolic link to what is not there'
run 0 "$WCODEC" decompress 'my model.wcodec'; says 'config.json: up to date'; says 'linked.safetensors: up to date'
if [ -L 'my model/config.json' ] && [ -L 'my model/linked.safetensors' ]; then pass; else fail 'links were replaced'; fi

# Hugging Face's cache: a snapshot, and the whole. Restored onto it, links stay.
cache=hub/models--org--tiny
mkdir -p $cache/blobs $cache/refs $cache/snapshots/0123
for i in 1 2 3; do
    cp "my model/model-0000$i-of-00003.safetensors" $cache/blobs/d$i
    ln -s ../../blobs/d$i $cache/snapshots/0123/model-0000$i-of-00003.safetensors
done
cp 'my model/model.safetensors.index.json' $cache/blobs/d4
ln -s ../../blobs/d4 $cache/snapshots/0123/model.safetensors.index.json
printf 0123 >$cache/refs/main
run 0 "$WCODEC" compress -r $cache/snapshots/0123 -o snapshot; says 'total: 3 compressed, .* 1 copied'
run 0 "$WCODEC" test -r snapshot
run 0 "$WCODEC" list snapshot; prints '^total: 3 tensors, 3 files'
run 0 "$WCODEC" verify -r snapshot $cache/snapshots/0123
run 0 "$WCODEC" decompress -r snapshot -o $cache/snapshots/0123; says 'total: .* 4 up to date'
is "$(find $cache/snapshots -type l | wc -l | tr -d ' ')" 4 'links in the snapshot'
run 0 "$WCODEC" compress -rq hub
run 0 "$WCODEC" decompress -rq hub.wcodec -o hub.back
run 0 diff -r hub hub.back
rm -r hub hub.wcodec hub.back snapshot

# Sizes: the types of today against zstd -3; what -9 and a predictor promise.
cat >newtypes.py <<'PY'
import array, json, random, struct, sys
rng = random.Random(4)
def save(path, dtype, elements):
    size = len(elements) * elements.itemsize
    text = json.dumps({"w": {"dtype": dtype, "shape": [256, len(elements) // 256], "data_offsets": [0, size]}})
    if sys.byteorder == "big":
        elements.byteswap()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text.encode() + elements.tobytes())
def nibbles(count):
    return sum(min(15, max(0, round(rng.gauss(8, 2.5)))) << 4 * i for i in range(count))
def half():
    return struct.unpack("<H", struct.pack("<e", rng.gauss(0, 0.02)))[0] if rng.random() < 0.5 else 0
save("int4", "I32", array.array("I", (nibbles(8) for _ in range(1 << 16))))
save("nf4", "U8", array.array("B", (nibbles(2) for _ in range(1 << 18))))
save("pruned", "F16", array.array("H", (half() for _ in range(1 << 18))))
PY
packed=
if command -v "$PYTHON" >/dev/null 2>&1; then
    "$PYTHON" newtypes.py || exit 99
    packed='int4 nf4 pruned'
else
    skip 'no Python to make packed weights with'
fi
"$MAKE" e4m3 w:F8_E4M3:1024x1024:gauss || exit 99
"$MAKE" e5m2 w:F8_E5M2:1024x1024:gauss || exit 99
"$MAKE" int8 w:I8:300x400:gauss || exit 99
"$MAKE" f32 w:F32:600x400:gauss || exit 99
for file in e4m3 e5m2 $packed; do
    run 0 "$WCODEC" compress -q $file
    if command -v zstd >/dev/null 2>&1; then
        theirs=$(zstd -3 -q -c $file | wc -c) ours=$(size_of $file.wcodec)
        # Head, tail and index take some 400 bytes.
        if [ "$ours" -le $((theirs + 400)) ]; then pass; else fail "$file: $ours bytes, zstd -3 $theirs"; fi
    else
        skip 'no zstd to compare with'
    fi
done
for file in int8 f32 e4m3 $packed; do
    "$WCODEC" compress -qf -9 $file || fail "-9 $file"
    best=$(size_of $file.wcodec)
    for option in -1 -3 --tile=65536 --profile=p8 '-7 --tile=32768'; do
        # shellcheck disable=SC2086 # two options
        "$WCODEC" compress -qf $option $file || fail "$option $file"
        if [ "$best" -le $(($(size_of $file.wcodec) + 16)) ]; then pass; else fail "$file: -9 takes $best bytes, $option less"; fi
    done
done
# By name, a predictor is used although the tensor grows, as the man page says, but not beyond its bytes.
"$WCODEC" compress -qf --predict=none int8
plain=$(size_of int8.wcodec)
for predictor in left top average planar paeth wht; do
    run 0 "$WCODEC" compress -qf --predict=$predictor int8
    size=$(size_of int8.wcodec)
    if [ "$size" -gt "$plain" ] && [ "$size" -lt "$(size_of int8)" ]; then pass; else fail "--predict=$predictor: $size bytes, none $plain"; fi
    run 0 "$WCODEC" list int8.wcodec; prints "$predictor/"
done
run 0 "$WCODEC" compress -qf int8
if [ "$(size_of int8.wcodec)" -le "$plain" ]; then pass; else fail 'the default predictor makes it larger'; fi

# Smaller things.
"$MAKE" three a:BF16:40x50:gauss b:BF16:40x50:gauss c:F32:2:zero || exit 99
run 0 "$WCODEC" compress --json three; json out; json_is out 'd["results"][0]["tensors"] == 3'
run 0 "$WCODEC" decompress --json -f three.wcodec; json out; json_is out 'd["results"][0]["ok"]'
run 0 "$WCODEC" decompress --only='[ab]' -o two three.wcodec; says '2 of 3 tensors written to two'
for command in list info; do
    run 1 "$WCODEC" $command --json three.wcodec nothing; json out
    json_is out '[bool(f.get("error")) for f in d["files"]] == [False, True]'
done
run 3 "$WCODEC" test --json three.wcodec two; json out
json_is out 'all("lossy" in r for r in d["results"]) and "error" in d["results"][1]'
printf 'no numbers' >opaque
run 0 "$WCODEC" compress -q opaque
run 0 "$WCODEC" list opaque.wcodec; prints '^total: no tensors, opaque bytes, 1 file'
if command -v file >/dev/null 2>&1; then
    run 0 "$WCODEC" compress -q -9 --index=front -o front.wcodec three
    run 0 file -m "$sources/doc/wcodec.magic" front.wcodec
    prints "(wcodec), version 1, of $(size_of three) bytes, index in front, level 9$"
    run 0 file -m "$sources/doc/wcodec.magic" three; if grep -q '(wcodec)' out; then fail 'another file is taken for ours'; else pass; fi
else
    skip 'no file(1)'
fi
run 0 "$WCODEC" devices -v; quiet
for word in encode-verify decode-nocheck BITS BOUND; do
    run 0 "$WCODEC" help bench; prints "$word"
done
run 0 env WCODEC_LOG=off "$WCODEC" test -q three.wcodec; quiet
run 0 env WCODEC_LOG=info "$WCODEC" test -q three.wcodec
if grep -q ' 1 [a-zA-Z]* *nodes' err; then fail '"1 nodes"'; else pass; fi
finish
