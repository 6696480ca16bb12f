#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Files of other kinds that hold tensors: these are found, and the file comes back byte for byte.
. "$top_srcdir/tests/command/lib.sh"
"$PYTHON" "$sources/tests/command/make_containers.py" || exit 77

# there_and_back FILE KIND TENSORS [OPTIONS]
there_and_back () {
    file=$1 kind=$2 tensors=$3
    shift 3
    run 0 "$WCODEC" compress -fv "$@" $file; silent; says "$file: $tensors tensor"
    run 0 "$WCODEC" test $file.wcodec; silent
    run 0 "$WCODEC" verify $file.wcodec $file; silent
    rm -f back
    run 0 "$WCODEC" decompress -o back $file.wcodec; silent
    same $file back "$file $*"
    run 0 "$WCODEC" info $file.wcodec; prints "^kind:       $kind$"; prints "^tensors:    $tensors$"
    run 0 "$WCODEC" info --json $file.wcodec; json out
    json_is out "d['files'][0]['kind'] == '$kind' and d['files'][0]['tensor_count'] == $tensors"
}
# opaque FILE REASON
opaque () {
    run 0 "$WCODEC" compress -fv $1; silent; says "$2"; says "stored as opaque bytes"
    rm -f back
    run 0 "$WCODEC" decompress -o back $1.wcodec
    same $1 back "$1"
    run 0 "$WCODEC" info $1.wcodec; prints '^kind:       opaque$'
    run 3 "$WCODEC" compress --strict -o strict $1; says 'no file of tensors'
    missing strict
}
# smaller FILE PERCENT: it was coded as numbers, not as bytes.
smaller () {
    before=$(size_of $1) after=$(size_of $1.wcodec)
    if [ $((after * 100)) -lt $((before * $2)) ]; then pass; else fail "$1: $before bytes became $after"; fi
}

# NumPy.
for options in '' -1 -9 --tune=latency --exclude=w --lossy=none '-T 1'; do
    there_and_back plain.npy npy 1 $options
    there_and_back plain.npz npz 4 $options
done
there_and_back zip64.npz npz 4
there_and_back behind.npy npy 1
for f in plain.npy plain.npz zip64.npz; do
    run 0 "$WCODEC" compress -fq $f
    smaller $f 86
done
run 0 "$WCODEC" list plain.npz.wcodec
prints '^w  *F32  *\[100, 300\]  *120000 '; prints '^layer/h  *F16 '; prints '^equal .* alias '; prints '^none  *F64  *\[0, 3\] '
run 0 "$WCODEC" cat --tensor=w --slice=1:3 plain.npz.wcodec
tail -c 120000 plain.npy | head -c 3600 | tail -c 2400 >rows
same rows out
run 0 "$WCODEC" decompress --only='layer/*' -o some.safetensors plain.npz.wcodec
run 0 "$WCODEC" compress --strict -q some.safetensors
run 0 "$WCODEC" list some.safetensors.wcodec; prints '^layer/h  *F16  *\[100, 300\] '
run 0 sh -c 'cat plain.npz | "$1" compress -q | "$1" decompress -q | cmp - plain.npz' sh "$WCODEC"; quiet
run 0 "$WCODEC" compress -f --raw plain.npz; says 'stored as opaque bytes'
run 0 "$WCODEC" compress -f --strict plain.npz
run 0 "$WCODEC" compress -f --lossy=bits:6 plain.npy; says '1 tensor, 1 approximated'
run 0 "$WCODEC" bench -n 1 plain.npz.wcodec; prints 'F32'
there_and_back partly.npz npz 2
run 0 "$WCODEC" compress -fv partly.npz; says '1 of 3 arrays stay as they are: "w.npy": it is compressed'
run 0 "$WCODEC" compress -f partly.npz; if grep -q 'stay as' err; then fail 'said without -v'; else pass; fi
run 0 "$WCODEC" list partly.npz.wcodec; prints '^../up  *U8 '
opaque packed.npz 'is a NumPy archive (.npz), but: none of its arrays is taken: "w.npy": it is compressed'
opaque big.npy 'is a NumPy array (.npy), but: its elements are big-endian'
opaque cut.npy 'is a NumPy array (.npy), but: it is cut short'
opaque cut.npz 'is a NumPy archive (.npz), but: no directory is at its end'

# PyTorch.
for options in '' -1 -9 '--exclude=model.*'; do
    there_and_back plain.pt pytorch 3 $options
done
run 0 "$WCODEC" list plain.pt.wcodec
prints '^model.embed.weight  *F32  *\[100, 300\] '; prints '^model.turned  *F16  *\[100, 300\] '; prints '^data/2  *F32  *\[30000\] '
run 0 "$WCODEC" info plain.pt.wcodec
prints 'pytorch.shared.model.head.weight = model.embed.weight'; prints 'pytorch.permuted.model.turned = shape 300,100 strides 1,300'
run 0 "$WCODEC" compress -fv plain.pt; says '2 tensors are not listed'
there_and_back missing.pt pytorch 1
there_and_back code.pt pytorch 1
there_and_back laughs.pt pytorch 1
missing executed
opaque big.pt 'is a PyTorch checkpoint (zip), but: its numbers are not little-endian'
opaque packed.pt 'is a PyTorch checkpoint (zip), but: its members are compressed'
opaque short.pt 'but: tensor "model.turned" is not within "model/data/1"'
opaque nothing.pt 'but: no tensors are found in it'
opaque deep.pt 'but: its pickle has values nested more than 64 deep'
opaque opcode.pt 'but: an instruction that is not known at byte 3 of its pickle'

# GGUF.
for options in '' -1 -9; do
    there_and_back plain.gguf gguf 3 $options
done
run 0 "$WCODEC" compress -fv plain.gguf; says '1 of 4 tensors are of types that are not known'
run 0 "$WCODEC" list plain.gguf.wcodec
prints '^token_embd.weight  *F32  *\[100, 300\] '; prints '^output.weight  *F16 '; prints '^blk.0.ffn.weight  *U8  *\[200, 340\] '
run 0 "$WCODEC" list plain.gguf.wcodec; prints '^blk.0.ffn.weight  *U8  *\[200, 340\]  *68000 .* records '
run 0 "$WCODEC" info --json plain.gguf.wcodec; json out
json_is out "[(t['coding']['kind'], t['coding']['split']) for t in d['files'][0]['tensors'] if t['name'] == 'blk.0.ffn.weight'] == [('records', '2+32')]"
run 0 "$WCODEC" cat --tensor=blk.0.ffn.weight plain.gguf.wcodec
head -c 3400 out | tail -c 2380 >rows
run 0 "$WCODEC" cat --tensor=blk.0.ffn.weight --slice=3:10 plain.gguf.wcodec; same rows out
run 0 "$WCODEC" convert -f -o typed.safetensors plain.gguf.wcodec
there_and_back typed.safetensors safetensors 3
run 0 "$WCODEC" list typed.safetensors.wcodec; prints '^blk.0.ffn.weight .* records '
run 0 "$WCODEC" info plain.gguf.wcodec
prints 'general.architecture = llama'; prints 'gguf.type.blk.0.ffn.weight = Q8_0'
opaque cut.gguf 'is a GGUF file, but: tensor "blk.0.ffn.weight" has 68000 bytes at byte [0-9]*, which is past the end'
opaque big.gguf 'is a GGUF file, but: it is big-endian'
opaque same.gguf 'is a GGUF file, but: the name "token_embd.weight" is there twice'

# ONNX.
for options in '' -1 -9 '--exclude=w*'; do
    there_and_back plain.onnx onnx 5 $options
done
run 0 "$WCODEC" compress -fv plain.onnx; says '1 of 6 tensors are not listed: "steps" is stored as numbers of varying size'
smaller plain.onnx 92
run 0 "$WCODEC" list plain.onnx.wcodec
prints '^half.value  *F16  *\[100, 300\] '; prints '^w  *BOOL  *\[3\] '; prints '^w.2  *F32  *\[100, 300\] '; prints '^numbers  *F32 .* alias '; prints '^packed  *U8  *\[3, 2\] '
run 0 "$WCODEC" info plain.onnx.wcodec
prints 'onnx.type.packed = INT4 3,4'; prints 'onnx.producer_name = test'
run 0 "$WCODEC" cat --tensor=w.2 plain.onnx.wcodec
tail -c 120000 plain.npy >rows
same rows out
opaque cut.onnx 'is an ONNX model, but: field 7 at byte [0-9]* has [0-9]* bytes, of which [0-9]* are there'
opaque short.onnx 'is an ONNX model, but: tensor "w" has 120000 bytes, but its type and shape make 120400'
opaque steps.onnx 'is an ONNX model, but: no tensors are found in it: "steps" is stored as numbers'
opaque deep.onnx 'is an ONNX model, but: messages are nested more than 100 deep'

# Its external data: by the model beside it.
for options in '' -1 -9; do
    there_and_back onnx/model.onnx_data onnxdata 2 $options
    there_and_back onnx/model.onnx onnx 1 $options
done
run 0 "$WCODEC" compress -f onnx/model.onnx_data
smaller onnx/model.onnx_data 86
run 0 "$WCODEC" list onnx/model.onnx_data.wcodec
prints '^w  *F32  *\[100, 300\] '; prints '^h  *F16  *\[100, 300\] '
run 0 "$WCODEC" info onnx/model.onnx_data.wcodec; prints 'onnx.shared.tied = w'
run 0 "$WCODEC" info onnx/model.onnx.wcodec; prints 'onnx.external.model.onnx_data = 3'
run 0 "$WCODEC" cat --tensor=w --slice=1:3 onnx/model.onnx_data.wcodec
head -c 3600 onnx/model.onnx_data | tail -c 2400 >rows
same rows out
# Without the model, from the container alone.
run 0 "$WCODEC" compress -9 -o onnx/again.wcodec onnx/model.onnx_data.wcodec; says '2 tensors'
run 0 "$WCODEC" info onnx/again.wcodec; prints '^kind:       onnxdata$'; prints 'onnx.shared.tied = w'
run 0 "$WCODEC" verify onnx/again.wcodec onnx/model.onnx_data
run 0 "$WCODEC" compress -f --raw onnx/model.onnx_data; says 'stored as opaque bytes'
run 0 sh -c '"$1" compress -q <onnx/model.onnx_data >piped.wcodec' sh "$WCODEC"
run 0 "$WCODEC" info piped.wcodec; prints '^kind:       opaque$'
rm onnx/*.wcodec
run 0 "$WCODEC" compress onnx; says 'onnx/model.onnx_data: 2 tensors'; says 'onnx/alone: 1 tensor,'; says 'onnx/config.json: copied'
run 0 "$WCODEC" list onnx.wcodec; prints '^w  *F32 '; prints '^alone  *F16 '; prints '^packed  *U8 '
if grep -q '^up ' out; then fail 'a tensor in another folder is listed'; else pass; fi
run 0 "$WCODEC" decompress -o onnx.back onnx.wcodec
run 0 diff -r onnx onnx.back
run 0 "$WCODEC" test -r onnx.wcodec
run 0 "$WCODEC" verify -r onnx.wcodec onnx
mkdir lost
head -c 150000 onnx/model.onnx_data >lost/model.onnx_data
cp onnx/model.onnx lost
run 0 "$WCODEC" compress -v lost/model.onnx_data; says 'by lost/model.onnx: tensor "h" has 60000 bytes at byte 131072, which is past the end'
run 3 "$WCODEC" compress -f --strict lost/model.onnx_data; says 'past the end'

# All of one to a safetensors file, as the man page has it.
for f in plain.npz plain.pt plain.gguf plain.onnx; do
    run 0 "$WCODEC" compress -1fq $f
    run 0 "$WCODEC" decompress -f --only='*' -o all.safetensors $f.wcodec
    run 0 "$WCODEC" compress --strict -fq all.safetensors
    run 0 "$WCODEC" list --json $f.wcodec; cp out before
    run 0 "$WCODEC" list --json all.safetensors.wcodec; cp out after
    json_is before "sorted((t['name'], t['dtype'], t['shape']) for t in d['files'][0]['tensors']) == sorted((t['name'], t['dtype'], t['shape']) for t in json.load(open('after'))['files'][0]['tensors'])"
done

# What is chosen is by content, not by name.
cp plain.npz plain.bin
there_and_back plain.bin npz 4
cp plain.npy plain.safetensors
there_and_back plain.safetensors npy 1
# Thousands of small arrays: what an archive has for each of them is coded, too.
for options in '' -9; do
    there_and_back many.npz npz 2000 $options; smaller many.npz 65
    there_and_back many.pt pytorch 2000 $options; smaller many.pt 62
done
# That stands in the index: in a copy with this in front too, compressed anew, and of some tensors.
run 0 "$WCODEC" compress -fq --index=front -o front.wcodec many.npz
run 0 "$WCODEC" compress -fq -9 -o again.wcodec front.wcodec
for f in front again; do
    run 0 "$WCODEC" test $f.wcodec
    run 0 "$WCODEC" decompress -f -o back $f.wcodec
    same many.npz back "many.npz by way of $f.wcodec"
done
run 0 "$WCODEC" list --json many.npz.wcodec; cp out whole
# Without the index that is lost, and every tensor is there.
size=$(size_of many.npz.wcodec)
head -c $((size - 100)) many.npz.wcodec >cut.wcodec
run 3 "$WCODEC" decompress --keep-going -f -o saved.safetensors cut.wcodec; says 'missing'
run 0 "$WCODEC" decompress -f --only='*' -o all.safetensors many.npz.wcodec
run 0 "$WCODEC" compress --strict -fq saved.safetensors all.safetensors
run 0 "$WCODEC" list --json saved.safetensors.wcodec; cp out after
json_is whole "len(d['files'][0]['tensors']) == len(json.load(open('after'))['files'][0]['tensors'])"
# In folders too; beside safetensors files they are not the model.
mkdir forms
cp plain.gguf plain.npz plain.npy forms
"$MAKE" forms/model.safetensors token_embd.weight:F16:100x300:gauss || exit 99
echo notes >forms/README.md
run 0 "$WCODEC" compress forms; says 'total: 4 compressed, .* 1 copied'
run 0 "$WCODEC" test forms.wcodec
run 0 "$WCODEC" list forms.wcodec; prints '^token_embd.weight  *F16 '; prints '^total: 1 tensor, 1 file'
run 0 "$WCODEC" decompress forms.wcodec -o forms.back
run 0 diff -r forms forms.back
rm -r forms/model.safetensors forms.wcodec
cp forms/plain.gguf forms/other.gguf
run 0 "$WCODEC" compress -q forms
run 3 "$WCODEC" list forms.wcodec; says "forms.wcodec/.*gguf.wcodec: .*'token_embd.weight'"
# A folder of PyTorch's files is a model as one of safetensors files is.
run 0 "$WCODEC" compress -r bin; says 'total: 2 compressed, .* 4 copied'
for n in 1 2; do
    exists bin.wcodec/pytorch_model-0000$n-of-00002.bin.wcodec; missing bin.wcodec/pytorch_model-0000$n-of-00002.bin
done
exists bin.wcodec/pytorch_model.bin.index.json bin.wcodec/optimizer.bin bin.wcodec/training_args.bin bin.wcodec/sub/old_model.bin
for name in bin.wcodec bin.wcodec/pytorch_model.bin.index.json; do
    run 0 "$WCODEC" list $name; prints '^embed.weight *F32'; prints '^layer.weight *F16'
    run 0 "$WCODEC" info --json $name; json_is out '[f["kind"] for f in d["files"]] == ["pytorch"] * 2'
done
run 0 "$WCODEC" cat --tensor=layer.weight bin.wcodec; is "$(size_of out)" 60000
run 0 "$WCODEC" test -r bin.wcodec; says '00002-of-00002.bin.wcodec: ok'
run 0 "$WCODEC" verify -r bin.wcodec bin
run 0 "$WCODEC" compress -r bin; says 'pytorch_model-00001-of-00002.bin.wcodec: up to date'
run 0 "$WCODEC" decompress -r bin.wcodec -o bin.back
diff -r bin bin.back >different || fail "what comes back differs: $(cat different)"
rm bin.wcodec/pytorch_model-00002-of-00002.bin.wcodec
for command in 'test -r' 'list'; do
    # shellcheck disable=SC2086 # a command and its option
    run 1 "$WCODEC" $command bin.wcodec; says 'pytorch_model-00002-of-00002.bin'
done
run 1 "$WCODEC" decompress -rf bin.wcodec -o bin.back; says 'index.json: 1 of the 2 files of this model is missing: pytorch_model-00002-of-00002.bin'
cp bin.wcodec/pytorch_model-00001-of-00002.bin.wcodec bin
run 1 "$WCODEC" compress -rf bin; says "left out: its name is taken by the compressed 'pytorch_model-00001-of-00002.bin'"
finish
