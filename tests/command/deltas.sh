#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# --base: deltas are made of a file, or a folder of them, and every command decodes them; bases that
# are found, wrong, missing, damaged or too deep.
. "$top_srcdir/tests/command/lib.sh"

# Models of which each differs from the one before in some elements: 0 to 3, and one of nothing.
cat >models.py <<'PY'
import json, random, struct
def save(path, tensors):
    header, data = {}, b""
    for name, dtype, bits, t in tensors:
        header[name] = {"dtype": dtype, "shape": [len(t) * 8 // bits // 100, 100], "data_offsets": [len(data), len(data) + len(t)]}
        data += t
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + data)
rng = random.Random(3)
def weights(n, width):
    return bytearray(b"".join(struct.pack("<f", rng.gauss(0, 0.02))[4 - width:] for _ in range(n)))
tensors = [("a", "BF16", 16, weights(60000, 2)), ("b", "F32", 32, weights(50000, 4)), ("c", "BF16", 16, weights(40000, 2))]
for i in range(4):
    save(f"{i}.safetensors", tensors)
    for name, dtype, bits, t in tensors[:2]:
        width = bits // 8
        for k in range(0, len(t), width):
            if rng.random() < 0.01:
                v = int.from_bytes(t[k:k + width], "little") + rng.choice([-1, 1, 2])
                t[k:k + width] = (v % (1 << bits)).to_bytes(width, "little")
save("other.safetensors", [("a", "BF16", 16, weights(60000, 2))])
PY
"$PYTHON" models.py || exit 99
run 0 "$WCODEC" compress -q 0.safetensors

# Against the original and against a .wcodec file of it: the same bytes.
run 0 "$WCODEC" compress -q --base=0.safetensors -o 1.wcodec 1.safetensors
mkdir coded
run 0 "$WCODEC" compress -q --base=0.safetensors.wcodec -o coded/1.wcodec 1.safetensors
same 1.wcodec coded/1.wcodec
run 0 "$WCODEC" compress -q -o alone.wcodec 1.safetensors
if [ $(($(size_of 1.wcodec) * 20)) -lt "$(size_of alone.wcodec)" ]; then pass; else
    fail "a delta of $(size_of 1.wcodec) bytes, alone $(size_of alone.wcodec)"
fi
rm alone.wcodec

# Decoded by what is given, in whatever form, or by what is in the same folder.
cp 0.safetensors.wcodec elsewhere
for base in 0.safetensors elsewhere coded; do
    test $base = coded && mv elsewhere coded/0.wcodec
    run 0 "$WCODEC" decompress -q -f -o back --base=$base coded/1.wcodec; same back 1.safetensors "by $base"
    run 0 "$WCODEC" test --base=$base 1.wcodec
done
rm back
mkdir apart
cp 1.wcodec apart
run 0 "$WCODEC" test coded/1.wcodec
run 0 "$WCODEC" verify 1.wcodec 1.safetensors
run 0 "$WCODEC" cat --tensor=a --slice=7:20 1.wcodec
head -c $((8 + $(od -An -tu8 -N8 1.safetensors) + 4000)) 1.safetensors | tail -c 2600 >rows
same out rows 'rows'
run 0 "$WCODEC" list 1.wcodec; prints ' delta '
run 0 "$WCODEC" info 1.wcodec; prints '^base: .*: .*0.safetensors'; prints '^delta: *c: equal 100.0 %'
prints '^delta: *a: sparse 100.0 %'
run 0 "$WCODEC" info apart/1.wcodec; prints '^base: '
run 0 "$WCODEC" list --json 1.wcodec
json_is out '[t["coding"]["delta"]["shares"] for t in d["files"][0]["tensors"]] == [{"sparse": 1.0}, {"sparse": 1.0}, {"equal": 1.0}]'
json_is out 'all(t["coding"]["kind"] == "delta" and t["coding"]["delta"]["depth"] == 1 for t in d["files"][0]["tensors"])'
run 0 "$WCODEC" test --quick apart/1.wcodec

# Missing, and wrong: before anything is written, with hashes and what to do.
hash_of () {
    "$WCODEC" info "$1" | sed -n 's/^hash: *//p'
}
run 0 "$WCODEC" compress -q other.safetensors
wanted=$(hash_of 0.safetensors.wcodec) given=$(hash_of other.safetensors.wcodec)
for command in decompress test 'cat --tensor=a' 'verify --xxh128=00000000000000000000000000000000'; do
    # shellcheck disable=SC2086
    run 1 "$WCODEC" $command apart/1.wcodec; says "hash $wanted"; says '\-\-base=FILE'
done
run 1 "$WCODEC" decompress -o back --base=other.safetensors apart/1.wcodec
says "hash $wanted"; says "other.safetensors has hash $given"; missing back
run 1 "$WCODEC" decompress -o back --base=none apart/1.wcodec; says 'none: '; missing back
run 3 "$WCODEC" decompress -o back --base=models.py apart/1.wcodec; says 'models.py'; missing back
run 2 "$WCODEC" compress --base=0.safetensors --lossy=bits:4 -o bad.wcodec 1.safetensors; says 'base'; missing bad.wcodec
run 2 "$WCODEC" test --base-depth=65 1.wcodec; says 'a depth is a number from 1 to 64'
run 2 "$WCODEC" devices --base=x; says 'takes no option --base'

# Nothing in common: as without.
run 0 "$WCODEC" compress -q --base=1.safetensors -o with.wcodec other.safetensors
same with.wcodec other.safetensors.wcodec

# Chains.
run 0 "$WCODEC" compress -q --base=1.wcodec -o 2.wcodec 2.safetensors
run 0 "$WCODEC" compress -q --base=2.wcodec -o 3.wcodec 3.safetensors
mkdir chain
mv 2.wcodec 3.wcodec chain
cp 1.wcodec 0.safetensors.wcodec chain
run 0 "$WCODEC" decompress -q chain/3.wcodec; same chain/3 3.safetensors
run 0 "$WCODEC" info chain/3.wcodec; prints '3 deltas deep'; prints '^base: .*: chain/2.wcodec'; prints '^delta: *a: sparse 100.0 %'
run 0 "$WCODEC" info --json chain/3.wcodec
json_is out '[(t["coding"]["delta"]["depth"], t["coding"]["delta"]["shares"]) for t in d["files"][0]["tensors"]] == [(3, {"sparse": 1.0}), (3, {"sparse": 1.0}), (3, {"equal": 1.0})]'
json_is out '{t["coding"]["delta"]["base"] for t in d["files"][0]["tensors"]} == {"'"$(hash_of chain/2.wcodec)"'"}'
run 1 "$WCODEC" test --base-depth=2 chain/3.wcodec; says 'more than 2 deltas'
# Every file of the chain is named, by its hash where it is not at hand.
run 0 "$WCODEC" info chain/3.wcodec; is "$(grep -c '^base: ' out)" 3
prints "^base:  *$(hash_of chain/1.wcodec), .*: chain/1.wcodec, which chain/2.wcodec is made of$"
prints "^base:  *$wanted, .*: chain/0.safetensors.wcodec, which chain/1.wcodec is made of$"
run 0 "$WCODEC" info --json chain/3.wcodec; json out
json_is out '[(b["path"], b["of"]) for b in d["files"][0]["bases"]] == [("chain/2.wcodec", None), ("chain/1.wcodec", "chain/2.wcodec"), ("chain/0.safetensors.wcodec", "chain/1.wcodec")] and d["files"][0]["bases"][2]["hash"] == "'"$wanted"'"'
rm chain/0.safetensors.wcodec
run 0 "$WCODEC" info chain/3.wcodec; prints "^base:  *$wanted, [^:]*, which chain/1.wcodec is made of$"
cp 0.safetensors.wcodec chain
run 1 "$WCODEC" compress --base-depth=3 --base=chain/3.wcodec --base=chain -o 4.wcodec 3.safetensors; says '3 deltas deep'
rm chain/2.wcodec
run 1 "$WCODEC" test chain/3.wcodec; says 'a delta of a file'
run 0 "$WCODEC" test --base=2.safetensors chain/3.wcodec

# Of a file some of whose tensors need no base, these are decoded without; what needs one that is
# missing is named, and the rest is saved.
cat >mixed.py <<'PY'
import json, struct
def load(path):
    with open(path, "rb") as f:
        data = f.read()
    n = struct.unpack("<Q", data[:8])[0]
    return json.loads(data[8:8 + n]), data[8 + n:]
header, data = load("1.safetensors")
more = bytes(range(256)) * 200
header["own"] = {"dtype": "U8", "shape": [200, 256], "data_offsets": [len(data), len(data) + len(more)]}
text = json.dumps(header).encode()
with open("more.safetensors", "wb") as f:
    f.write(struct.pack("<Q", len(text)) + text + data + more)
PY
"$PYTHON" mixed.py || exit 99
mkdir lonely
run 0 "$WCODEC" compress -q --base=0.safetensors -o lonely/more.wcodec more.safetensors
run 0 "$WCODEC" cat --tensor=own --slice=0:2 lonely/more.wcodec
is "$(size_of out)" 512 'rows of a tensor that needs no base'
run 0 "$WCODEC" decompress -q --only=own -o lonely/own lonely/more.wcodec
run 1 "$WCODEC" cat --tensor=a lonely/more.wcodec; says "hash $wanted"; says "'a'"; is "$(size_of out)" 0 'nothing written'
run 1 "$WCODEC" decompress -q --only='[ao]*' -o lonely/no lonely/more.wcodec; says "'a'"; missing lonely/no
run 1 "$WCODEC" decompress -q --keep-going -o lonely/saved lonely/more.wcodec; says "hash $wanted"
says "tensor 'a' is left out"; says "tensor 'b' is left out"; says "tensor 'c' is left out"
run 0 "$WCODEC" decompress -q --only=own -o lonely/own2 lonely/more.wcodec; same lonely/saved lonely/own2
# Two bases, of which one is there.
run 0 "$WCODEC" compress -q --only=a -o lonely/a.wcodec 0.safetensors.wcodec
run 0 "$WCODEC" compress -q --base=lonely/a.wcodec --base=0.safetensors -o apart/two.wcodec 1.safetensors
run 1 "$WCODEC" decompress --keep-going --base=0.safetensors -o saved apart/two.wcodec; says "tensor 'a' is left out"
run 0 "$WCODEC" cat --base=0.safetensors --tensor=b apart/two.wcodec
rm -f saved apart/two.wcodec

# --rm of a delta and its base, the base first, to another folder: it is needed until the delta is
# restored. What fails stays, and what was restored goes.
mkdir remove restored
cp 1.wcodec 0.safetensors.wcodec remove
cp 1.wcodec remove/again.wcodec
run 0 "$WCODEC" decompress -q --rm -O restored remove/0.safetensors.wcodec remove/1.wcodec
same restored/0.safetensors 0.safetensors; same restored/1 1.safetensors
missing remove/0.safetensors.wcodec; missing remove/1.wcodec
cp other.safetensors.wcodec remove
run 1 "$WCODEC" decompress -q --rm -O restored remove/other.safetensors.wcodec remove/again.wcodec
says 'again.wcodec'; exists remove/again.wcodec; missing remove/other.safetensors.wcodec

mkdir recoded
cp 1.wcodec 0.safetensors.wcodec remove
run 0 "$WCODEC" compress -q -1 --rm -O recoded remove/0.safetensors.wcodec remove/1.wcodec
missing remove/0.safetensors.wcodec; missing remove/1.wcodec
run 0 "$WCODEC" verify recoded/1.wcodec 1.safetensors

# What is made from private files is as private: of the file itself, or of a base.
mode_of () {
    stat -c %a "$1" 2>/dev/null || stat -f %Lp "$1"
}
mkdir private
cp 1.wcodec 0.safetensors private
umask 022
for place in 1.wcodec 0.safetensors; do
    chmod 644 private/*
    chmod 600 private/$place
    run 0 "$WCODEC" cat --tensor=a -o private/out private/1.wcodec; is "$(mode_of private/out)" 600 "cat, $place private"
    run 0 "$WCODEC" convert -q -f -o private/out private/1.wcodec; is "$(mode_of private/out)" 600 "convert, $place private"
    run 0 "$WCODEC" decompress -q -f -o private/out private/1.wcodec; is "$(mode_of private/out)" 600 "decompress, $place private"
    run 0 "$WCODEC" decompress -q -f --only=a -o private/out private/1.wcodec; is "$(mode_of private/out)" 600 "a part, $place private"
    run 0 "$WCODEC" rebase -q -f -o private/out private/1.wcodec; is "$(mode_of private/out)" 600 "rebase, $place private"
    rm -f private/out
done
chmod 644 private/*
run 0 "$WCODEC" cat --tensor=a -o private/out private/1.wcodec; is "$(mode_of private/out)" 644 'of files for all'
# Not of a file in the same folder that nothing is made of.
mkdir bases
cp 0.safetensors other.safetensors bases
chmod 644 1.safetensors bases/*
chmod 600 bases/other.safetensors
run 0 "$WCODEC" compress -q --base=bases -o private/out.wcodec 1.safetensors; is "$(mode_of private/out.wcodec)" 644 'a file beside the base private'
run 0 "$WCODEC" decompress -q --base=bases -o private/back private/out.wcodec; is "$(mode_of private/back)" 644 'a file beside the base private'
chmod 600 bases/0.safetensors
run 0 "$WCODEC" compress -q -f --base=bases -o private/out.wcodec 1.safetensors; is "$(mode_of private/out.wcodec)" 600 'the base private'
rm -r private/out.wcodec private/back bases
umask 077
run 0 "$WCODEC" cat -f --tensor=a -o private/out private/1.wcodec; is "$(mode_of private/out)" 600 'the umask counts'
umask 022

# A damaged base is named.
cp 0.safetensors.wcodec damaged
poke damaged 30000 255
poke damaged 30001 255
run 3 "$WCODEC" decompress -o back --base=damaged apart/1.wcodec; says 'base damaged'; missing back

# Alone again, or onto another base, by rebase: what a file of the original would be, with the options
# that the file was made with.
run 0 "$WCODEC" rebase -q --from=0.safetensors -o apart/flat.wcodec apart/1.wcodec
run 0 "$WCODEC" compress -q -o direct.wcodec 1.safetensors; same apart/flat.wcodec direct.wcodec
run 0 "$WCODEC" rebase -q -c 1.wcodec; same out direct.wcodec 'to standard output'
rm direct.wcodec
run 0 "$WCODEC" compress -q -9 --name --tile=8192 --base=0.safetensors -o apart/9.wcodec 1.safetensors
run 0 "$WCODEC" rebase --from=0.safetensors --json -o apart/9flat.wcodec apart/9.wcodec
json_is out '[r["status"] for r in d["results"]] == ["compressed"]'
run 0 "$WCODEC" compress -q -9 --name --tile=8192 -o direct.wcodec 1.safetensors; same apart/9flat.wcodec direct.wcodec
rm direct.wcodec
run 0 "$WCODEC" rebase -q --base=2.safetensors --from=0.safetensors -o apart/onto.wcodec apart/1.wcodec
run 0 "$WCODEC" compress -q --base=2.safetensors -o direct.wcodec 1.safetensors; same apart/onto.wcodec direct.wcodec
run 0 "$WCODEC" test --base=2.safetensors apart/onto.wcodec
run 0 "$WCODEC" rebase -q --base=2.safetensors -o apart/of-flat.wcodec apart/flat.wcodec; same apart/of-flat.wcodec direct.wcodec
rm direct.wcodec
run 0 "$WCODEC" compress -q --index=front --base=0.safetensors -o front.wcodec 1.safetensors
run 0 "$WCODEC" rebase -q -o apart/front-flat.wcodec front.wcodec
run 0 "$WCODEC" info --json apart/front-flat.wcodec; json_is out 'd["files"][0]["index"] == "front"'
rm front.wcodec apart/9* apart/front-flat.wcodec apart/of-flat.wcodec
run 1 "$WCODEC" rebase -o apart/no.wcodec apart/1.wcodec; says '--from=FILE'; missing apart/no.wcodec
run 1 "$WCODEC" rebase --base=0.safetensors -o apart/no.wcodec apart/1.wcodec; says '--from=FILE'; missing apart/no.wcodec
run 1 "$WCODEC" rebase --from=other.safetensors -o apart/no.wcodec apart/1.wcodec; says "hash $wanted"; missing apart/no.wcodec
run 1 "$WCODEC" rebase --base=none -o apart/no.wcodec 1.wcodec; says 'none: '; missing apart/no.wcodec
run 1 "$WCODEC" rebase -o apart/flat.wcodec 1.wcodec; says 'exists already'
run 2 "$WCODEC" rebase --base=1.safetensors -o apart/no.wcodec 1.wcodec; says 'delta of itself'; missing apart/no.wcodec
run 1 "$WCODEC" rebase -f -o 0.safetensors 1.wcodec; says 'is a base'
run 1 "$WCODEC" rebase -f -o 1.wcodec 1.wcodec; says 'same file'
run 2 "$WCODEC" rebase -o apart/no.wcodec apart/flat.wcodec; says 'no deltas'; missing apart/no.wcodec
run 2 "$WCODEC" rebase -o apart/no.wcodec 1.safetensors; says 'is no .wcodec file'; missing apart/no.wcodec
run 2 "$WCODEC" rebase 1.wcodec; says 'needs -o'
run 2 "$WCODEC" rebase -c 1.wcodec 1.wcodec; says 'takes one'
# A folder is mirrored: deltas are rebased, what holds none is copied as it is, and so is all else.
mkdir -p links/sub
cp 0.safetensors.wcodec links/0.wcodec
cp 1.wcodec links/1.wcodec
"$WCODEC" compress -q --base=1.safetensors -o links/sub/2.wcodec 2.safetensors || exit 99
echo '{}' >links/config.json
run 2 "$WCODEC" rebase -c links; says 'links: is a directory'
run 2 "$WCODEC" rebase -o links/in links; says 'must be apart'
run 1 "$WCODEC" rebase -r -o alone links; says "links/sub/2.wcodec: .*--from=FILE"
exists alone/1.wcodec; missing alone/sub/2.wcodec
run 0 "$WCODEC" rebase -r --from=1.safetensors -o alone links
says 'alone/1.wcodec: up to date'; says 'alone/0.wcodec: up to date'; says 'total: 1 rebased'
same alone/0.wcodec links/0.wcodec; same alone/config.json links/config.json
same alone/1.wcodec apart/flat.wcodec
"$WCODEC" compress -q -o direct.wcodec 2.safetensors; same alone/sub/2.wcodec direct.wcodec; rm direct.wcodec
run 0 "$WCODEC" rebase -r --json -o alone links --from=1.safetensors; json out
json_is out 'sorted(r["status"] for r in d["results"]) == ["up to date"] * 4'
run 0 "$WCODEC" rebase -rq --base=2.safetensors -o onto alone/1.wcodec
rm onto
mkdir few
cp alone/0.wcodec alone/1.wcodec few
run 0 "$WCODEC" rebase --base=2.safetensors -o onto few; says 'total: 2 rebased'
same onto/1.wcodec apart/onto.wcodec
run 0 "$WCODEC" rebase --base=2.safetensors -o onto few; says 'onto/1.wcodec: up to date$'
run 1 "$WCODEC" rebase --base=0.safetensors.wcodec -o onto few; says 'onto/1.wcodec: exists already; -f'
poke onto/1.wcodec 400 255
poke onto/1.wcodec 401 1
run 1 "$WCODEC" rebase --base=2.safetensors -o onto few; says 'onto/1.wcodec: exists already, but is damaged'
run 0 "$WCODEC" rebase -fq --base=2.safetensors -o onto few; same onto/1.wcodec apart/onto.wcodec
rm -r links alone onto few
run 2 "$WCODEC" compress --raw --base=0.safetensors -o apart/no.wcodec 1.safetensors; says 'exclude each other'
run 0 "$WCODEC" compress -q -o flat.wcodec 1.wcodec
run 0 "$WCODEC" compress -q -o direct.wcodec 1.safetensors; same flat.wcodec direct.wcodec
run 0 "$WCODEC" compress -q --only='[ac]' -o apart/some.wcodec 1.wcodec
run 0 "$WCODEC" decompress -q --base=0.safetensors -o some apart/some.wcodec
run 0 "$WCODEC" decompress -q --only='[ac]' -o expected 1.wcodec; same some expected
run 0 "$WCODEC" compress -q --index=front -o apart/front.wcodec apart/1.wcodec
run 0 "$WCODEC" test --base=0.safetensors apart/front.wcodec

# Payloads that end in the side: a tile that became one value, one that differs by one value, and one
# whose differences are all alike.
cat >odd.py <<'PY'
import array, json, random, struct
rng = random.Random(1)
n = 1 << 17
first = array.array("H", [rng.getrandbits(16) for _ in range(n)])
def save(path, elements):
    header = {"w": {"dtype": "BF16", "shape": [n], "data_offsets": [0, 2 * n]}}
    text = json.dumps(header).encode()
    with open(path, "wb") as f:
        f.write(struct.pack("<Q", len(text)) + text + elements.tobytes())
second, third, fourth = (array.array("H", first) for _ in range(3))
for i in range(16384, 32768):
    second[i], third[i] = 0, third[i] + 5 & 0xffff
for i in range(1, n, 2):
    fourth[i] = fourth[i] + 1 & 0xffff
for i, elements in enumerate((first, second, third, fourth)):
    save(f"odd{i}.safetensors", elements)
PY
"$PYTHON" odd.py || exit 99
for i in 1 2 3; do
    run 0 "$WCODEC" compress -q --base=odd0.safetensors odd$i.safetensors
    run 0 "$WCODEC" decompress -q -o back odd$i.safetensors.wcodec; same back odd$i.safetensors
    rm back
done

# Nothing is a delta of itself, no base is overwritten, and --rm leaves what is needed.
run 2 "$WCODEC" compress --base=odd0.safetensors -o self odd0.safetensors; says 'delta of itself'; missing self
mkdir self
cp odd0.safetensors odd1.safetensors odd2.safetensors self
run 2 "$WCODEC" compress --rm --base=self self/odd0.safetensors self/odd1.safetensors self/odd2.safetensors
says 'delta of itself'; exists self/odd0.safetensors; missing self/odd1.safetensors
run 0 "$WCODEC" decompress -q self/odd1.safetensors.wcodec; same self/odd1.safetensors odd1.safetensors
run 0 "$WCODEC" compress -q -o base odd0.safetensors
run 1 "$WCODEC" compress -f --base=base -o base odd1.safetensors; says 'base: is a base'
run 0 "$WCODEC" test base

# Nor are two files deltas of each other.
mkdir circle
cp odd0.safetensors odd1.safetensors circle
run 0 "$WCODEC" compress -q --base=circle/odd0.safetensors circle/odd1.safetensors
run 2 "$WCODEC" compress --rm --base=circle/odd1.safetensors.wcodec circle/odd0.safetensors
says 'delta of itself'; exists circle/odd0.safetensors; missing circle/odd0.safetensors.wcodec
run 0 "$WCODEC" compress -q -o circle/0.wcodec circle/odd0.safetensors
rm circle/*.safetensors
run 2 "$WCODEC" compress --rm --base=circle/odd1.safetensors.wcodec -o circle/new.wcodec circle/0.wcodec
exists circle/0.wcodec; missing circle/new.wcodec
run 0 "$WCODEC" test circle/odd1.safetensors.wcodec

# A delta is no substitute for what needs no base; and the other way it is said.
run 1 "$WCODEC" compress odd1.safetensors; says 'exists already'
run 0 "$WCODEC" compress -q -f odd1.safetensors
run 0 "$WCODEC" compress --base=odd0.safetensors odd1.safetensors; says 'made with other options'
run 0 "$WCODEC" compress -q -f --base=odd0.safetensors odd1.safetensors
run 0 "$WCODEC" compress --base=odd2.safetensors odd1.safetensors; says 'another base'
mkdir apart2
cp odd1.safetensors apart2
cp odd1.safetensors.wcodec apart2
run 0 "$WCODEC" compress -q --rm --base=odd0.safetensors apart2/odd1.safetensors; missing apart2/odd1.safetensors

# Of a folder, files that hold no tensors are no bases. Of two files of one original one that needs
# no other is taken; an original is found by whatever name.
mkdir mixed
cp odd0.safetensors mixed
printf 'no weights' >mixed/training_args.bin
: >mixed/empty.safetensors
run 0 "$WCODEC" compress -q -f --base=mixed -o mixed/1.delta.wcodec odd1.safetensors
rm mixed/odd0.safetensors
run 1 "$WCODEC" compress --base=mixed -o mixed/2.wcodec odd2.safetensors; says 'a delta of a file'
run 0 "$WCODEC" compress -q -o mixed/1.flat.wcodec odd1.safetensors
run 0 "$WCODEC" compress -q --base=mixed -o mixed/2.wcodec odd2.safetensors
run 0 "$WCODEC" test mixed/2.wcodec
rm mixed/1.flat.wcodec mixed/1.delta.wcodec
run 1 "$WCODEC" test mixed/2.wcodec
cp odd1.safetensors mixed/original.weights
run 0 "$WCODEC" test mixed/2.wcodec

# Of containers of other kinds too: where one array of several is changed, the others' coded bytes
# stay, alone and as deltas.
cat >arrays.py <<'PY'
import array, random, struct, sys, zipfile
for k in (0, 1, 2):
    rng = random.Random(7)
    with zipfile.ZipFile("arrays%d.npz" % k, "w") as z:
        for i in range(6):
            a = array.array("f", [rng.gauss(0, 0.02) for _ in range(9000)])
            if k:
                a[5 * i] += 1
            if k == 2 and i == 3:
                a[100] += 1
            if sys.byteorder == "big":
                a.byteswap()
            text = b"{'descr': '<f4', 'fortran_order': False, 'shape': (90, 100), }"
            head = b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + text + b" " * (117 - len(text)) + b"\n"
            z.writestr("w%d.npy" % i, head + a.tobytes())
PY
"$PYTHON" arrays.py || exit 99
for base in '' --base=arrays0.npz; do
    for k in 1 2; do
        # shellcheck disable=SC2086
        run 0 "$WCODEC" compress -q -f $base arrays$k.npz
        run 0 "$WCODEC" list --json arrays$k.npz.wcodec
        json_is out 'all(t["coding"]["kind"] == ("delta" if "'$base'" else t["coding"]["kind"]) for t in d["files"][0]["tensors"]) and len(d["files"][0]["tensors"]) == 6'
        cp out list$k
    done
    "$PYTHON" -c 'import json; a, b = ([t["payload_xxh3"] for t in json.load(open("list%d" % k))["files"][0]["tensors"]] for k in (1, 2)); print([i for i in range(6) if a[i] != b[i]])' >out
    is "$(cat out)" '[3]' "arrays whose coded bytes changed $base"
done

# Folders.
mkdir new old
cp 0.safetensors other.safetensors old
cp 1.safetensors new
run 0 "$WCODEC" compress -q --base=old new
run 1 "$WCODEC" test new.wcodec
run 0 "$WCODEC" decompress -q -o back --base=old new.wcodec; same back/1.safetensors 1.safetensors
finish
