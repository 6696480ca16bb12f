#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Model folders: mirrored, restored, run again, nested, and in each other.
. "$top_srcdir/tests/command/lib.sh"
mkdir -p model/sub/deep model/.cache
"$MAKE" -s 1 model/m-00001-of-00002.safetensors a:BF16:100x500:gauss a2:I64:3:gauss || exit 99
"$MAKE" -s 2 model/m-00002-of-00002.safetensors b:F32:100x300:gauss || exit 99
"$MAKE" -s 3 model/sub/deep/x.safetensors c:F16:100x300:gauss || exit 99
echo '{"metadata": {}, "weight_map": {"a": "m-00001-of-00002.safetensors",
    "a2": "m-00001-of-00002.safetensors", "b": "m-00002-of-00002.safetensors"}}' >model/m.safetensors.index.json
echo '{"x": 1}' >model/config.json
touch -d 2001-01-01 model/config.json
ln -s config.json model/alias.json
ln -s ../m-00002-of-00002.safetensors model/sub/linked.safetensors
ln -s . model/loop
mkfifo model/fifo

run 0 "$WCODEC" compress -r model; silent; says 'fifo: left out'; says 'loop: left out'
says 'total: 4 compressed, .*, 3 copied, 0 up to date'; says 'config.json: copied'
for f in m-00001-of-00002.safetensors m-00002-of-00002.safetensors sub/deep/x.safetensors sub/linked.safetensors; do
    exists model.wcodec/$f.wcodec
    missing model.wcodec/$f
    run 0 "$WCODEC" verify model.wcodec/$f.wcodec model/$f
done
for f in config.json alias.json m.safetensors.index.json; do
    same model/$f model.wcodec/$f
done
is "$(stat -c %Y model.wcodec/config.json)" "$(stat -c %Y model/config.json)"
if [ -L model.wcodec/alias.json ]; then fail 'a link was copied as a link'; else pass; fi
missing model.wcodec/loop model.wcodec/fifo
exists model.wcodec/.cache

# What a run that was killed left is no file of the model.
touch model/.m.safetensors.wcodec.bi80ki0tc4 model/.other.bi80ki0tc4
run 0 "$WCODEC" compress -r model; says '.m.safetensors.wcodec.bi80ki0tc4: left out: a temporary file'
missing model.wcodec/.m.safetensors.wcodec.bi80ki0tc4
exists model.wcodec/.other.bi80ki0tc4
rm model/.*.bi80ki0tc4 model.wcodec/.other.bi80ki0tc4
# Nor is what the library, a copied file and Python left; all of them are named.
for f in .a.safetensors.wcodec.I300pE .m.safetensors.wcodec.-8b_cd .sub.safetensors.Zq-W_x .config.json.0kq7v3d9ab \
    .new.safetensors.0f3a9c11e2b4.part .config.json.0f3a9c11e2b4.part; do
    touch "model/$f"
    run 0 "$WCODEC" compress -r model; says "$f: left out: a temporary file"
    missing "model.wcodec/$f"
    rm "model/$f"
done
# Names that only look so are files of the model.
for f in .a.safetensors.backup .a.safetensors.BACKUP .a.safetensors.Backup .a.safetensors.202401 .a.safetensors.deprecated \
    .a.safetensors.1700000000 .config.json.1700000000 .config.json.deprecated .config.json.I300pE .other.json.0kq7v3d9ab \
    .other.json.0f3a9c11e2b4.part .config.json.202401011230.part .new.safetensors.0f3a9c11e2b4.par .safetensors.I300pE \
    a.safetensors.wcodec.I300pE .I300pE; do
    touch "model/$f"
    run 0 "$WCODEC" compress -r model
    exists "model.wcodec/$f"
    rm "model/$f" "model.wcodec/$f"
done

# Again: nothing to do. Something changed: only that, with -f.
find model.wcodec -type f -exec stat -c '%n %i %Y' {} + | sort >before
run 0 "$WCODEC" compress -r model; says 'config.json: up to date'; says 'x.safetensors.wcodec: up to date'
find model.wcodec -type f -exec stat -c '%n %i %Y' {} + | sort >after
same before after 'a second run changes nothing'
"$MAKE" -s 9 model/sub/deep/x.safetensors c:F16:100x300:gauss
run 1 "$WCODEC" compress -r model; says 'x.safetensors.wcodec: exists already'
run 3 "$WCODEC" verify -r model.wcodec model; says 'differs'
run 0 "$WCODEC" compress -rf model
run 0 "$WCODEC" verify -r model.wcodec model
rm model.wcodec/m-00001-of-00002.safetensors.wcodec model.wcodec/config.json
run 3 "$WCODEC" verify -r model.wcodec model; says 'config.json: is not in'
run 0 "$WCODEC" compress -rq model
exists model.wcodec/m-00001-of-00002.safetensors.wcodec model.wcodec/config.json

# As one namespace of tensors, by folder or by index.
run 0 "$WCODEC" list model.wcodec; prints '^a  *BF16'; prints '^b  *F32'
run 0 "$WCODEC" list model.wcodec/m.safetensors.index.json; prints '^a2  *I64'
run 0 "$WCODEC" info --json model.wcodec; json out; json_is out 'len(d["files"]) == 2'
run 0 "$WCODEC" cat --tensor=b model.wcodec
is "$(size_of out)" 120000
run 0 "$WCODEC" test -r model.wcodec; says 'x.safetensors.wcodec: ok'
run 0 "$WCODEC" test -r --json model.wcodec; json out
json_is out 'len(d["results"]) == 4 and all(r["ok"] for r in d["results"])'
run 1 "$WCODEC" test model; says 'holds no .wcodec'

# Back.
run 0 "$WCODEC" decompress -r model.wcodec -o restored
for f in m-00001-of-00002.safetensors m-00002-of-00002.safetensors sub/deep/x.safetensors \
    config.json m.safetensors.index.json; do
    same model/$f restored/$f
done
run 0 "$WCODEC" decompress -r model.wcodec -o restored; says 'config.json: up to date'
says 'x.safetensors: up to date'
run 0 "$WCODEC" decompress -rq model.wcodec -O elsewhere
same model/config.json elsewhere/model/config.json
run 0 "$WCODEC" compress -rq model/ -O packed
same model.wcodec/config.json packed/model.wcodec/config.json

# A model without one of its files, or with an index that is none.
cp -r model.wcodec short
run 0 "$WCODEC" test -r short
mv short/m-00002-of-00002.safetensors.wcodec gone
run 1 "$WCODEC" test -r short; says 'm-00001-of-00002.safetensors.wcodec: ok'
says 'index.json: 1 of the 2 files of this model is missing: m-00002-of-00002.safetensors, with 1 tensor$'
run 1 "$WCODEC" test -r --json short; json out
json_is out 'sorted((r["ok"], r["status"] == "ok") for r in d["results"]) == [(False, False)] + [(True, True)] * 3'
run 1 "$WCODEC" decompress -r short -o short.back; says 'index.json: 1 of the 2 files of this model is missing'
run 1 "$WCODEC" decompress -r --json short -o short.json; json out
json_is out '[(r["path"], "m-00002-of-00002.safetensors" in r["error"]) for r in d["results"] if not r["ok"]] == [
    ("short/m.safetensors.index.json", True)] and all("error" not in r for r in d["results"] if r["ok"])'
rm -r short.json
same model/m-00001-of-00002.safetensors short.back/m-00001-of-00002.safetensors
run 0 "$WCODEC" compress -r short.back; says 'warning: .*: 1 of the 2 files of this model is missing'
rm short/m-00001-of-00002.safetensors.wcodec
run 1 "$WCODEC" test -r short; says '2 of the 2 files of this model are missing: m-00001-of-00002.safetensors, with 2 tensors, for one$'
cp model.wcodec/m-0000?-of-00002.safetensors.wcodec short
cp gone short/m-00001-of-00002.safetensors.wcodec
run 3 "$WCODEC" test -r short; says 'm.safetensors.index.json'
echo '{"weight_map": {"a": 1' >short/m.safetensors.index.json
run 3 "$WCODEC" test -r short; says 'm.safetensors.index.json: line 2, byte 23: '
run 3 "$WCODEC" decompress -rf short -o short.back; says 'm.safetensors.index.json: line 2'
same short/m.safetensors.index.json short.back/m.safetensors.index.json
for map in '{}' '[]' '{"weight_map": {}}' '{"weight_map": {"a": 1}}' '{"weight_map": {"a": "../x"}}' '{"weight_map": {"a": ""}}'; do
    echo "$map" >short/m.safetensors.index.json
    run 3 "$WCODEC" test -r short; says 'm.safetensors.index.json: '
done
# A file that stands there uncompressed is there.
echo '{"weight_map": {"b": "m-00002-of-00002.safetensors"}}' >short/m.safetensors.index.json
rm short/m-00002-of-00002.safetensors.wcodec
cp model/m-00002-of-00002.safetensors short
run 0 "$WCODEC" test -r short
run 0 "$WCODEC" decompress -rfq short -o short.back
rm -r short short.back short.back.wcodec gone

# Links are followed, as in Hugging Face's cache, whose folders hold nothing else; restored onto
# them, what they lead to is up to date. A link to nothing is left out.
mkdir -p hub/blobs hub/snapshots/1
mv model/sub/deep/x.safetensors hub/blobs/d0
cp hub/blobs/d0 model/sub/deep/x.safetensors
cp model/config.json hub/blobs/d1
ln -s ../../blobs/d0 hub/snapshots/1/model.safetensors
ln -s ../../blobs/d1 hub/snapshots/1/config.json
ln -s ../../blobs/d2 hub/snapshots/1/tokenizer.json
run 0 "$WCODEC" compress hub/snapshots/1 -o hub.wcodec; says 'tokenizer.json: left out: a symbolic link to what is not there'
run 0 "$WCODEC" verify hub.wcodec/model.safetensors.wcodec hub/snapshots/1/model.safetensors
run 0 "$WCODEC" decompress hub.wcodec -o hub/snapshots/1
says 'model.safetensors: up to date'; says 'config.json: up to date'
if [ -L hub/snapshots/1/model.safetensors ] && [ -L hub/snapshots/1/config.json ]; then pass; else fail 'a link was replaced'; fi
run 0 "$WCODEC" compress hub/snapshots/1 -o hub.wcodec; says 'model.safetensors.wcodec: up to date'
rm hub/snapshots/1/tokenizer.json
run 0 "$WCODEC" decompress -q hub.wcodec -o hub.back
run 0 diff -r hub.back hub/snapshots/1
run 0 "$WCODEC" compress -rq hub -o whole.wcodec
run 0 "$WCODEC" decompress -rq whole.wcodec -o whole
run 0 diff -r hub whole
printf other >hub/blobs/d1
run 1 "$WCODEC" decompress hub.wcodec -o hub/snapshots/1; says 'config.json: is a symbolic link; -f replaces'
rm -r hub hub.wcodec hub.back whole whole.wcodec

# Without -r the folders below are left out, and that is said.
run 0 "$WCODEC" compress model -o flat; says 'sub: left out'
missing flat/sub
exists flat/config.json

# In each other; other wrong places.
run 2 "$WCODEC" compress -r model -o model/inside; says 'must be apart'
missing model/inside
run 2 "$WCODEC" compress -r model -O model/sub
run 2 "$WCODEC" compress -r model.wcodec/sub -o model.wcodec
run 2 "$WCODEC" compress -r model -o model
ln -s model other
run 2 "$WCODEC" compress -r other -o model/x
run 2 "$WCODEC" compress -c model; says 'is a directory'
run 2 "$WCODEC" decompress --tensor a model.wcodec -o x
run 2 "$WCODEC" compress .
run 1 "$WCODEC" compress -r model -o flat/config.json
run 2 "$WCODEC" verify model.wcodec model/config.json
run 2 "$WCODEC" decompress model

# Where nothing is.
mkdir none
run 0 "$WCODEC" compress none; says 'none: holds no files'
is "$(ls -A none.wcodec)" ''
run 0 "$WCODEC" decompress none.wcodec -o none.again; says 'none.wcodec: holds no files'
run 1 "$WCODEC" list none; says '^wcodec: error: none: has neither'
run 1 "$WCODEC" list none.wcodec/; says '^wcodec: error: none.wcodec/: has neither'
rm -r none none.wcodec none.again
# What is wrong is named once.
mkdir broken
printf 'no container' >broken/x.wcodec
run 3 "$WCODEC" list broken; says '^wcodec: error: broken/x.wcodec: is no .wcodec'
echo '{"weight_map": {"a": "y.safetensors"}}' >broken/m.safetensors.index.json
run 1 "$WCODEC" list ./broken; says '^wcodec: error: ./broken/y.safetensors.wcodec: No such file'
rm -r broken

# A link in the mirror leads nowhere; the rest is made.
mkdir away linked.wcodec
ln -s ../away linked.wcodec/sub
run 1 "$WCODEC" compress -rf model -o linked.wcodec; says 'linked.wcodec/sub: is a symbolic link'
is "$(ls -A away)" ''
exists linked.wcodec/m-00001-of-00002.safetensors.wcodec linked.wcodec/m.safetensors.index.json
rm -r away linked.wcodec

# Two inputs for one name.
mkdir clash
cp model/m-00002-of-00002.safetensors clash/x.safetensors
cp flat/m-00001-of-00002.safetensors.wcodec clash/x.safetensors.wcodec
run 1 "$WCODEC" compress clash; says 'name is taken'
run 1 "$WCODEC" compress --json clash; json out
json_is out '[(r["path"], "is taken" in r["error"]) for r in d["results"] if not r["ok"]] == [("clash/x.safetensors.wcodec", True)]'
run 0 "$WCODEC" verify clash.wcodec/x.safetensors.wcodec clash/x.safetensors

# One bad file does not stop the others.
cp -r flat damaged.wcodec
poke damaged.wcodec/m-00001-of-00002.safetensors.wcodec 20 1
run 3 "$WCODEC" decompress damaged.wcodec
missing damaged/m-00001-of-00002.safetensors
same model/m-00002-of-00002.safetensors damaged/m-00002-of-00002.safetensors
clean

# A mirror's folders let nobody in whom the source's keep out, whatever the umask is.
mkdir -m 700 private
mkdir -m 750 private/sub
mkdir -m 555 private/sub/fixed
cp model/config.json private/sub/fixed 2>/dev/null || { chmod 755 private/sub/fixed; cp model/config.json private/sub/fixed; chmod 555 private/sub/fixed; }
cp model/m-00002-of-00002.safetensors private/c.safetensors
for mask in 000 022 077; do
    (umask $mask && "$WCODEC" compress -qr private) || fail "compress with umask $mask"
    (umask $mask && "$WCODEC" decompress -qr private.wcodec -o public) || fail "decompress with umask $mask"
    for mirror in private.wcodec public; do
        is "$(stat -c %a $mirror $mirror/sub $mirror/sub/fixed | tr '\n' ' ')" '700 750 755 '
    done
    rm -r private.wcodec public
done
chmod 755 private/sub/fixed
# One that is there keeps what it has.
mkdir -m 711 private.wcodec
run 0 "$WCODEC" compress -qr private
is "$(stat -c %a private.wcodec private.wcodec/sub | tr '\n' ' ')" '711 750 '

# A link in the place of a mirror's folder is not followed, not even one that comes while we look.
mkdir victim race race/sub
ln -s ../victim private.wcodec/linked
mkdir private/linked
cp model/config.json private/linked
run 1 "$WCODEC" compress -rf private; says 'private.wcodec/linked: is a symbolic link, which is not followed'
is "$(ls victim)" ''
run 1 "$WCODEC" compress -rf private -o private.wcodec/; says 'wcodec/linked: is a symbolic link'
cp model/m-00002-of-00002.safetensors race/sub/w.safetensors
echo note >race/sub/note.txt
cat >exchange.py <<'END'
"""Exchanges two names again and again, until it is killed. Ends with 77 where that cannot be done."""
import ctypes, os, sys
libc = ctypes.CDLL(None, use_errno=True)
if not hasattr(libc, "renameat2"):
    sys.exit(77)
names = [os.fsencode(name) for name in sys.argv[1:3]]
while True:
    if libc.renameat2(-100, names[0], -100, names[1], 2) != 0 and ctypes.get_errno() != 2:
        sys.exit(77)
    if len(sys.argv) > 3:
        open(sys.argv.pop(), "w").close()
END
tries=0 exchanged=yes
while [ $tries -lt 12 ] && [ $exchanged = yes ]; do
    for what in compress decompress; do
        rm -rf out.d other
        mkdir -p out.d/sub
        ln -s ../victim other
        rm -f begun
        "$PYTHON" exchange.py out.d/sub other begun &
        exchanger=$!
        while [ ! -e begun ] && kill -0 $exchanger 2>/dev/null; do sleep 0.02; done
        if [ $what = compress ]; then
            "$WCODEC" compress -qqrf race -o out.d 2>/dev/null
        else
            "$WCODEC" decompress -qqrf race.wcodec -o out.d 2>/dev/null
        fi
        kill $exchanger 2>/dev/null || exchanged=no
        wait $exchanger 2>/dev/null
        [ -n "$(ls victim)" ] && fail "$what wrote beside its mirror: $(ls victim)"
        rm -f victim/*
        [ $what = decompress ] || "$WCODEC" compress -qr race 2>/dev/null
    done
    tries=$((tries + 1))
done
if [ $exchanged = yes ]; then pass; else skip 'names cannot be exchanged here'; fi
finish
