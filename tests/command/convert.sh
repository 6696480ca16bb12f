#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# wcodec convert: safetensors files of files of other kinds.
. "$top_srcdir/tests/command/lib.sh"
"$PYTHON" "$sources/tests/command/make_containers.py" || exit 77

# A safetensors file as text: its metadata, then each tensor with a sum of its bytes. It is refused
# where bytes are left over or a tensor is not aligned.
cat >show.py <<'PY'
import hashlib, json, struct, sys
data = open(sys.argv[1], "rb").read()
size = struct.unpack("<Q", data[:8])[0]
header, data = json.loads(data[8 : 8 + size]), data[8 + size :]
assert size % 8 == 0
for key, value in sorted(header.pop("__metadata__").items()):
    print(key, "=", value)
bits, end = {"F64": 64, "I64": 64, "F32": 32, "F16": 16, "BF16": 16, "U8": 8, "BOOL": 8}, 0
for name, t in sorted(header.items(), key=lambda item: item[1]["data_offsets"]):
    begin, stop = t["data_offsets"]
    count = bits[t["dtype"]]
    for n in t["shape"]:
        count *= n
    assert begin == end and begin % (bits[t["dtype"]] // 8) == 0 and (stop - begin) * 8 == count, name
    end = stop
    print(name, t["dtype"], t["shape"], hashlib.md5(data[begin:stop]).hexdigest())
assert end == len(data)
PY
# converts FILE [OPTIONS]: ./shown is what came of it, the same of its .wcodec file.
converts () {
    file=$1
    shift
    rm -f plain.st coded.st
    run 0 "$WCODEC" convert "$@" -o plain.st $file; silent; says "$file: "
    run 0 "$PYTHON" show.py plain.st; quiet; cp out shown
    run 0 "$WCODEC" compress -1fq $file
    run 0 "$WCODEC" convert "$@" -o coded.st $file.wcodec; silent
    same plain.st coded.st "$file $*"
}
# has NAME, DTYPE, [SHAPE] and a file with the bytes.
has () {
    sum=$(md5sum <"$4" | cut -d' ' -f1)
    if grep -q -F -x -e "$1 $2 $3 $sum" shown; then pass; else fail "$file: no $1 $2 $3 $sum: $(cat shown)"; fi
}
tail -c 120000 plain.npy >f32

converts plain.npy; has arr_0 F32 '[100, 300]' f32
converts plain.npz; has w F32 '[100, 300]' f32; has equal F32 '[100, 300]' f32; has none F64 '[0, 3]' /dev/null
run 0 grep -x 'format = pt' shown
converts plain.onnx; has w.2 F32 '[100, 300]' f32; has numbers F32 '[300, 100]' f32
run 0 grep -x 'onnx.type.packed = INT4 3,4' shown
run 0 "$WCODEC" convert -f -o plain.st plain.onnx; says 'warning: plain.onnx: 1 of 6 tensors are not listed'

# Tensors that share bytes have their own, dimensions are in their own order.
converts plain.pt; has model.embed.weight F32 '[100, 300]' f32; has model.head.weight F32 '[100, 300]' f32
if grep -q -e shared -e permuted -e container shown; then fail 'metadata of another file'; else pass; fi
"$PYTHON" - <<'PY'
import random, struct
rng = random.Random(1)
values = [rng.random() for _ in range(6)]
rows = struct.pack("<6f", *values)
columns = struct.pack("<6f", *(values[i * 2 + k] for k in range(2) for i in range(3)))
def array(name, order, shape, data):
    text = "{'descr': '<f4', 'fortran_order': %s, 'shape': %s, }" % (order, shape)
    text += " " * (-(len(text) + 11) % 64) + "\n"
    open(name, "wb").write(b"\x93NUMPY\1\0" + struct.pack("<H", len(text)) + text.encode() + data)
array("columns.npy", True, "(3, 2)", columns)
array("wide.npy", True, "(2, 3)", columns)
open("rows", "wb").write(rows)
PY
converts columns.npy; has arr_0 F32 '[3, 2]' rows
run 0 "$WCODEC" convert -o turned.st plain.pt; run 0 "$PYTHON" show.py turned.st; prints '^model.turned F16 \[300, 100\] '
run 0 "$PYTHON" - <<'PY'
import json, struct
data = open("turned.st", "rb").read()
size = struct.unpack("<Q", data[:8])[0]
at = json.loads(data[8 : 8 + size])["model.turned"]["data_offsets"][0] + 8 + size
made = struct.unpack("<30000H", data[at : at + 60000])
data = open("plain.npz", "rb").read()
at = data.index(b"NUMPY", data.index(b"layer/h.npy"))
at = data.index(b"\n", at) + 1
stored = struct.unpack("<30000H", data[at : at + 60000])
assert all(made[i * 100 + k] == stored[k * 300 + i] for i in range(300) for k in range(100))
PY

# Blocks as they are, and as numbers.
converts plain.gguf; has token_embd.weight F32 '[100, 300]' f32
run 0 grep -x -F 'gguf.type.blk.0.ffn.weight = Q8_0' shown
run 0 grep -F 'blk.0.ffn.weight U8 [200, 340]' shown
for type in f16 bf16 f32; do
    converts plain.gguf --dequantize=$type
    run 0 grep -F "blk.0.ffn.weight $(echo $type | tr a-z A-Z) [200, 320]" shown
    if grep -q gguf.type shown; then fail 'blocks that are none'; else pass; fi
done
"$PYTHON" - <<'PY'
import struct
name = b"strange"
head = b"GGUF" + struct.pack("<IQQ", 3, 1, 0) + struct.pack("<Q", len(name)) + name + struct.pack("<IQIQ", 1, 256, 16, 0)
open("strange.gguf", "wb").write(head + bytes(-len(head) % 32) + bytes(66))
PY
run 0 "$WCODEC" convert -o strange.st strange.gguf
run 1 "$WCODEC" convert -f --dequantize=f16 -o gone.st strange.gguf; says "strange.gguf: tensor 'strange' is of type IQ2_XXS, which --dequantize does not know"
missing gone.st

# A model of ONNX with its external data, from each form.
run 0 "$WCODEC" convert onnx/model.onnx; says 'onnx/model.onnx: 4 tensors, .* written to onnx/model.safetensors'
file=onnx/model.onnx
run 0 "$PYTHON" show.py onnx/model.safetensors; cp out shown
has w F32 '[100, 300]' f32; has tied F32 '[100, 300]' f32
run 0 "$WCODEC" convert -o data.st onnx/model.onnx_data; says '3 tensors'
cp onnx/model.safetensors before
rm onnx/model.safetensors
run 0 "$WCODEC" compress -q onnx
run 0 "$WCODEC" convert -o coded.st -f onnx.wcodec/model.onnx.wcodec; same coded.st before
rm onnx.wcodec/model.onnx_data.wcodec
run 1 "$WCODEC" convert -o gone.st onnx.wcodec/model.onnx.wcodec; says 'onnx.wcodec/model.onnx_data.wcodec: cannot open'; missing gone.st
run 1 "$WCODEC" convert -o gone.st - <onnx/model.onnx; says "standard input: has tensors in 'model.onnx_data'"; missing gone.st
cp onnx/model.onnx_data before
ln -s model.onnx_data onnx/link
for target in model.onnx_data link; do
    run 1 "$WCODEC" convert -f -o onnx/$target onnx/model.onnx; says "onnx/$target: input and output are the same file"
    same onnx/model.onnx_data before
done
rm onnx/link
mv onnx/model.onnx_data onnx/away
run 1 "$WCODEC" convert onnx/model.onnx; says 'onnx/model.onnx_data: cannot open'; missing onnx/model.safetensors
cp plain.npy onnx/model.onnx_data
run 1 "$WCODEC" convert onnx/model.onnx; says 'is no external data of onnx/model.onnx'; missing onnx/model.safetensors
rm onnx/model.onnx_data
mkfifo onnx/model.onnx_data
run 1 timeout 20 "$WCODEC" convert onnx/model.onnx; says 'onnx/model.onnx_data: is no file, but external data of onnx/model.onnx'
rm onnx/model.onnx_data
mv onnx/away onnx/model.onnx_data

# Names, pipes, and outputs that are there.
cp plain.npz second.npz
run 0 "$WCODEC" convert plain.pt second.npz; exists plain.safetensors second.safetensors
run 1 "$WCODEC" convert -f plain.pt plain.npz; says 'two inputs cannot have one output'
cp plain.safetensors before
run 1 "$WCODEC" convert plain.gguf; says 'plain.safetensors: .*exists'; same plain.safetensors before
run 0 "$WCODEC" convert -f plain.gguf
run 0 sh -c '"$1" convert <plain.npy - >piped.st' sh "$WCODEC"
run 0 "$WCODEC" convert -c plain.npy; same out piped.st
run 0 "$WCODEC" compress --strict -q piped.st
run 1 "$WCODEC" convert -f plain.safetensors; says 'same file'
run 2 "$WCODEC" convert; says 'convert what'
run 2 "$WCODEC" convert -c plain.pt plain.npz
run 2 "$WCODEC" convert -o x plain.pt plain.npz; missing x
run 2 "$WCODEC" convert --dequantize=f8 plain.gguf; says '--dequantize is none, f16, bf16 or f32'

# Folders: as packages look for them.
mkdir -p model/below
cp plain.pt model/pytorch_model-00001-of-00002.bin
cp plain.gguf model/below
cp plain.npz model/pytorch_model-00002-of-00002.bin
cp onnx/model.onnx onnx/model.onnx_data piped.st model
# More files of external data than may be open at once, as the limit is set for old programs.
mkdir many
"$PYTHON" - <<'PY'
def varint(v):
    out = bytearray()
    while v > 127:
        out.append(v & 127 | 128)
        v >>= 7
    return bytes(out + bytes([v]))

def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value

tensors = b""
for i in range(100):
    # Some exporters call such files what they are not.
    name = b"w%d%s" % (i, b"" if i else b".safetensors")
    open(b"many/" + name, "wb").write(bytes([i]) * 8)
    location = field(1, b"location") + field(2, name)
    tensors += field(5, field(1, 2) + field(2, 1) + field(8, name) + field(13, location) + field(14, 1))
open("many/model.onnx", "wb").write(field(1, 8) + field(7, tensors))
PY
run 0 sh -c 'ulimit -S -n 64 && exec "$0" convert -o many.st many/model.onnx' "$WCODEC"; says '100 tensors'
run 0 "$WCODEC" convert -o folder many
is "$(ls folder)" model.safetensors
same folder/model.safetensors many.st
run 0 "$WCODEC" compress -q many
for file in many/* many.wcodec/*.wcodec; do echo x; done | sort | uniq -c >out; prints '^ *202 x$'
run 0 "$WCODEC" convert -f -o many.st many.wcodec/model.onnx.wcodec; same folder/model.safetensors many.st
mkdir index
for text in '{"weight_map":' '{"other": 1}' '{"weight_map":{"w":[]}}'; do
    echo "$text" >index/pytorch_model.bin.index.json
    run 3 "$WCODEC" convert -f -o indexed index
    cat err >>places
done
cp places err
says 'pytorch_model.bin.index.json: line 2, byte 15: '
says 'pytorch_model.bin.index.json: has no "weight_map" of names'
says "pytorch_model.bin.index.json: tensor 'w' is mapped to what is no file name"
echo '{"metadata":{"total_size":5},"weight_map":{"w":"pytorch_model-00002-of-00002.bin","model.turned":"pytorch_model-00001-of-00002.bin"}}' >model/pytorch_model.bin.index.json
echo text >model/config.json
cp cut.gguf model
run 2 "$WCODEC" convert model; says 'needs -o'
run 2 "$WCODEC" convert -o model/inside model; says 'must be apart'
run 0 "$WCODEC" convert -o flat model; says 'model/below: left out: a directory'; missing flat/below
run 0 "$WCODEC" convert -r -o converted model; says 'warning: model/cut.gguf: is a GGUF file, but: .*: copied as it is'
is "$(cd converted && find . -type f | sort | tr '\n' ' ')" './below/plain.safetensors ./config.json ./cut.gguf ./model-00001-of-00002.safetensors ./model-00002-of-00002.safetensors ./model.safetensors ./model.safetensors.index.json ./piped.st '
run 0 "$PYTHON" show.py converted/model.safetensors; cp out shown; file=model
has w F32 '[100, 300]' f32
same converted/piped.st piped.st
if grep -q '"w": "model-00002-of-00002.safetensors"' converted/model.safetensors.index.json; then pass; else fail 'the index has other names'; fi
run 1 "$WCODEC" convert -r -o converted model; says 'exists'
run 0 "$WCODEC" convert -fr -o converted model
run 0 "$WCODEC" compress -qr converted
run 0 "$WCODEC" list converted.wcodec/model.safetensors.index.json; prints '^model.turned  *F16  *\[300, 100\]'
rm -r converted.wcodec/below converted.wcodec/config.json
run 0 "$WCODEC" convert -o joined.st converted.wcodec/model.safetensors.index.json; says '8 tensors'
shard=converted.wcodec/model-00001-of-00002.safetensors.wcodec
cp $shard before
run 1 "$WCODEC" convert -f -o $shard converted.wcodec/model.safetensors.index.json; says "$shard: input and output are the same file"; same $shard before
# Names of what stays as it is do not change.
echo 'version https://git-lfs.github.com/spec/v1' >model/pytorch_model-00001-of-00002.bin
run 0 "$WCODEC" convert -o pointer model; says 'pytorch_model-00001-of-00002.bin: .*: copied as it is'
is "$(grep -c 'copied as it is' err)" 2
exists pointer/pytorch_model-00001-of-00002.bin
for pair in '"w": "model-00002-of-00002.safetensors"' '"model.turned": "pytorch_model-00001-of-00002.bin"'; do
    if grep -q "$pair" pointer/model.safetensors.index.json; then pass; else fail "the index has no $pair"; fi
done
echo '{' >model/pytorch_model.bin.index.json
run 3 "$WCODEC" convert -f -o converted model; says 'pytorch_model.bin.index.json: line 2, byte 2: '

# As JSON: what came of each file.
rm model/pytorch_model.bin.index.json
run 0 "$WCODEC" convert --json -r -o model.json model; json out
json_is out '{r["path"]: r["status"] for r in d["results"]}["model/config.json"] == "copied" and all(r["ok"] for r in d["results"])'
json_is out 'any(r["path"] == "model/below/plain.gguf" and r["output"] == "model.json/below/plain.safetensors" and r["status"] == "converted" for r in d["results"])'
rm -f plain.safetensors
run 3 "$WCODEC" convert --json plain.npz none.pt cut.gguf; json out
json_is out '[(r["path"], r["ok"], r["status"]) for r in d["results"]] == [("plain.npz", True, "converted"), ("none.pt", False, "failed"), ("cut.gguf", False, "failed")]'
json_is out 'd["results"][0]["output"] == "plain.safetensors" and d["results"][0]["tensors"] == 4 and d["results"][0]["bytes"] == '"$(size_of plain.safetensors)"' and "cut.gguf" in d["results"][2]["error"]'
run 2 "$WCODEC" convert -o x plain.npz plain.pt; says '-o takes one input$'
run 2 "$WCODEC" convert --json -c plain.npz; says 'use -o'; silent
run 2 "$WCODEC" convert --json model; json out; json_is out '[r["ok"] for r in d["results"]] == [False]'
rm plain.safetensors

# What is no file of tensors, damaged, or of types that safetensors files have not.
run 3 "$WCODEC" convert -o gone.st show.py; says 'show.py: no file of tensors'; missing gone.st
run 3 "$WCODEC" convert -o gone.st cut.gguf; says 'cut.gguf: no file of tensors: is a GGUF file, but'; missing gone.st
run 3 "$WCODEC" convert -o gone.st big.npy; missing gone.st
run 1 "$WCODEC" convert -o gone.st none.pt; says 'none.pt: cannot open'
run 1 "$WCODEC" convert -o nowhere/gone.st plain.pt; says 'nowhere'
"$PYTHON" - <<'PY'
import struct
text = b'{"a":{"dtype":"F9_X","shape":[2],"data_offsets":[0,2]}}'
open("odd.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + b"xy")
PY
run 1 "$WCODEC" convert -o gone.st odd.safetensors; says "odd.safetensors: tensor 'a' is of type F9_X, which safetensors files have not"; missing gone.st
# Metadata that is made up.
cat >lies.py <<'PY'
import json, struct, sys
key, value, dtype, shape, size = sys.argv[1:]
text = json.dumps({"__metadata__": {key: value}, "a": {"dtype": dtype, "shape": json.loads(shape), "data_offsets": [0, int(size)]}}).encode()
open("lies.safetensors", "wb").write(struct.pack("<Q", len(text)) + text + bytes(int(size)))
PY
for order in '' 'shape 2,3' 'shape 2,3 strides 3,2' 'shape 2,4 strides 4,1' 'shape 2,3 strides 1,99999999999999999999' 'shape 2,3 strides 3,1,1' 'shape -2,3 strides 3,1' \
    'shape 2,3 strides 0,0' 'shape 2,3 strides 1,1' 'shape 2,3 strides 2,1' 'shape 2,3 strides 1,2 ' 'shape 6 strides 1' 'shape 9223372036854775809,2 strides 1,1' 'shape 2,3 strides 6,0 '; do
    "$PYTHON" lies.py pytorch.permuted.a "$order" F32 '[2, 3]' 24
    run 1 "$WCODEC" convert -o gone.st lies.safetensors; says "tensor 'a': the order of its dimensions cannot be read"; missing gone.st
done
for shape in '[]' '[35]' '[34, 1]'; do
    size=$("$PYTHON" -c "import math; print(math.prod($shape))")
    "$PYTHON" lies.py gguf.type.a Q8_0 U8 "$shape" "$size"
    run 1 "$WCODEC" convert --dequantize=f32 -o gone.st lies.safetensors; says "tensor 'a': its rows are no whole number of blocks"; missing gone.st
done
"$PYTHON" lies.py gguf.type.a Q8_0 F32 '[34]' 136
run 1 "$WCODEC" convert --dequantize=f32 -o gone.st lies.safetensors; says 'no whole number of blocks'
"$PYTHON" lies.py pytorch.shared.a a F32 '[34]' 136
run 1 "$WCODEC" convert -o gone.st lies.safetensors; says "tensor 'a' is there twice"
"$PYTHON" lies.py pytorch.shared.__metadata__ a F32 '[34]' 136
run 1 "$WCODEC" convert -o gone.st lies.safetensors; says "tensor '__metadata__' is called what safetensors files call their metadata"; missing gone.st
"$PYTHON" lies.py pytorch.permuted.a 'shape 1,2,3 strides 99,1,2' F32 '[1, 2, 3]' 24
run 0 "$WCODEC" convert -o turned.st -f lies.safetensors
"$PYTHON" lies.py pytorch.shared.b c F32 '[34]' 136
run 0 "$WCODEC" convert -o lies.st lies.safetensors; says "warning: .*tensor 'b' is left out: that with its bytes, 'c', is not there"

run 0 "$WCODEC" compress -q plain.pt -o damaged.wcodec
poke damaged.wcodec 5000 255
run 3 "$WCODEC" convert -o gone.st damaged.wcodec; missing gone.st
clean
finish
