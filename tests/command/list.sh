#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# list and info: what they say, as table and as JSON; strange names; locales.
. "$top_srcdir/tests/command/lib.sh"
"$MAKE" -s 5 -m format=pt all.safetensors all || exit 99
"$WCODEC" compress -q all.safetensors

run 0 "$WCODEC" list all.safetensors.wcodec; quiet
is "$(wc -l <out | tr -d ' ')" 37 'a line a tensor, a head and totals'
is "$(tail -n 1 out)" "total: 35 tensors, 1 file, $(tail -n 1 out | sed 's/.*file, //')"
prints '^total: 35 tensors, 1 file, 1\.[0-9]* MiB to [0-9.]* KiB, ratio 0\.[0-9]*$'
prints '^NAME  *DTYPE  *SHAPE  *BYTES  *CODED  *RATIO  *CODING  *XXH3$'
prints '^blocks.0.bf16  *BF16  *\[100, 257\]  *51400  *[0-9]*  *0\.[0-9]*  *[a-z]'
prints '^scalar  *F32  *\[\]  *4 '
prints '^empty  *F32  *\[0, 7\]  *0 '
prints '^constant .* constant  *0000000000000000$'
prints '^twin.b .* alias '
sed '$d' out | awk '{print length($0) - length($NF)}' >columns
is "$(sort -u columns | wc -l | tr -d ' ')" 1 'columns are aligned'
run 0 "$WCODEC" -l all.safetensors.wcodec all.safetensors.wcodec; prints '^all.safetensors.wcodec:$'

printf 'no tensors' >opaque
run 0 "$WCODEC" compress -q opaque
run 0 "$WCODEC" list opaque.wcodec; is "$(wc -l <out | tr -d ' ')" 1; prints '^total: no tensors, opaque bytes, 1 file, 10 B to '
# A name of 1000 characters does not pad the other rows.
"$MAKE" long.safetensors "$(printf '%01000d' 0):F32:4:gauss" short:F32:4:gauss || exit 99
run 0 "$WCODEC" compress -q long.safetensors
run 0 "$WCODEC" list long.safetensors.wcodec
is "$(grep '^short' out | awk '{print (length($0) < 250)}')" 1 'a short row beside a long name'
rm opaque* long.*

run 0 "$WCODEC" list --json all.safetensors.wcodec; quiet; json out
json_is out 'len(d["files"]) == 1 and len(d["files"][0]["tensors"]) == 35'
json_is out 'd["files"][0]["bytes"] == '"$(size_of all.safetensors)"
json_is out 'd["files"][0]["coded_bytes"] == '"$(size_of all.safetensors.wcodec)"
json_is out 'all(set(t) >= {"name", "dtype", "shape", "bytes", "coded_bytes", "coding",
    "bits_per_element", "order0_bits"} for t in d["files"][0]["tensors"])'
json_is out 'all(set(t["coding"]) >= {"kind", "profile", "split", "tile", "tables", "run"} for t in
    d["files"][0]["tensors"])'
json_is out '[t for t in d["files"][0]["tensors"] if t["name"] == "twin.b"][0]["coding"]["alias_of"] == "twin.a"'
json_is out '[t for t in d["files"][0]["tensors"] if t["name"] == "blocks.0.bf16"][0]["coding"]["kind"] == "tiles"'
json_is out 'sum(t["bytes"] for t in d["files"][0]["tensors"]) <= d["files"][0]["bytes"]'
cp out tensors.json
run 0 "$WCODEC" list --json all.safetensors.wcodec all.safetensors.wcodec; json out
json_is out 'len(d["files"]) == 2'

run 0 "$WCODEC" info all.safetensors.wcodec; quiet
prints "^hash:       [0-9a-f]*$"
prints '^kind:       safetensors$'
prints '^tensors:    35$'
prints "^size:       $(size_of all.safetensors) "
prints '^metadata:   format = pt$'
prints '^hash:       [0-9a-f]\{32\}$'
prints '^NAME  *DTYPE  *CODING  *SPLIT  *TILE  *TABLES  *BITS  *BOUND  *RATIO$'
prints '^blocks.0.bf16  *BF16  *[a-z0-9]*  *r7+c8+r1 '
prints '^total: .* 35 tensors (1 '
prints '^bound: '
run 0 "$WCODEC" info --json all.safetensors.wcodec; quiet; json out
json_is out 'd["files"][0]["metadata"] == {"format": "pt"}'
json_is out 'd["files"][0]["totals"]["coded_bytes"] == sum(t["coded_bytes"] for t in d["files"][0]["tensors"])'
json_is out 'd["files"][0]["totals"]["other_coded_bytes"] +
    d["files"][0]["totals"]["coded_bytes"] == d["files"][0]["coded_bytes"]'
json_is out 'd["files"][0]["format_version"] == 1 and len(d["files"][0]["xxh128"]) == 32'
hash=$("$WCODEC" info all.safetensors.wcodec | sed -n 's/^hash:       //p')
run 0 "$WCODEC" verify --xxh128="$hash" all.safetensors.wcodec

# No number changes with the locale; a comma is no decimal point. Locales may be missing: then the C
# locale stands in.
"$WCODEC" info all.safetensors.wcodec >here
for locale in C POSIX C.UTF-8 de_DE.UTF-8 fr_FR.UTF-8 de_DE; do
    run 0 env LC_ALL=$locale LANG=$locale "$WCODEC" info all.safetensors.wcodec
    same out here "locale $locale"
    run 0 env LC_ALL=$locale "$WCODEC" list --json all.safetensors.wcodec
    same out tensors.json "locale $locale"
done

# Approximated tensors, of a file that the oracle made.
lossy=$sources/tests/golden/odd-f16-lossy-wide.wcodec
run 0 "$WCODEC" list "$lossy"; prints '  CODING  *SNR  *XXH3$'
prints '^t  *F16 .* lossy/[a-z]*/[a-z0-9]*  *[-0-9.a-z]*  *[0-9a-f]*$'
run 0 "$WCODEC" info "$lossy"; prints '^lossy:      1 of 1 tensors are approximated: SNR'
prints '^lossy:      t, rows of 31: dct [0-9.]* %, adst [0-9.]* %; order rows; 17 scales; SNR'
run 0 "$WCODEC" list --json "$lossy"; json out
json_is out 'd["files"][0]["lossy"]["tensors"] == 1 and d["files"][0]["tensors"][0]["lossy"]["scales"] == 17'
json_is out 'd["files"][0]["tensors"][0]["coding"]["kind"] == "lossy" and
    [m["transform"] for m in d["files"][0]["tensors"][0]["coding"]["transform"]["modes"]] ==
    ["dct", "adst"] and d["files"][0]["tensors"][0]["coding"]["transform"]["order"] == "rows"'
json_is tensors.json 'd["files"][0]["lossy"] is None and all(t["lossy"] is None for t in d["files"][0]["tensors"])'

# A matrix at a fixed rate, and one that is too narrow.
"$MAKE" fixed.safetensors w:BF16:100x384:gauss n:BF16:100x100:gauss || exit 99
run 0 "$WCODEC" compress -q --tune=compute-fixed fixed.safetensors
run 0 "$WCODEC" list fixed.safetensors.wcodec; prints '^w  *BF16 .*  fixed11  *[0-9a-f]*$'
run 0 "$WCODEC" list --json fixed.safetensors.wcodec; json out
json_is out '{t["name"]: t["coding"]["kind"] for t in d["files"][0]["tensors"]} ==
    {"w": "fixed", "n": "tiles"}'
run 0 "$WCODEC" compress -q -f --tune=compute fixed.safetensors
run 0 "$WCODEC" list --json fixed.safetensors.wcodec; json out
json_is out '{t["name"]: t["coding"]["kind"] for t in d["files"][0]["tensors"]} ==
    {"w": "fragments", "n": "tiles"}'

# Names that would write to the terminal, or look like options, paths and other things.
"$MAKE" names.safetensors 'esc%1b[31m:U8:10:text' 'new%0aline:U8:10:text' 'tab%09:U8:10:text' \
    '../../etc/passwd:U8:10:text' '/absolute:U8:10:text' '-f:U8:10:text' \
    'bell%07:U8:10:text' 'del%7f:U8:10:text' 'c1%c2%9b31m:U8:10:text' 'rlo%e2%80%aex:U8:10:text' \
    'quote"back\slash:U8:10:text' 'gr%c3%bc%c3%9fe:U8:10:text' \
    '%e5%ad%97:U8:10:text' ' space :U8:10:text' ':U8:10:text' || exit 99
run 0 "$WCODEC" compress names.safetensors
for command in list info; do
    run 0 "$WCODEC" $command names.safetensors.wcodec
    tr -d '\n' <out | LC_ALL=C tr -d '\040-\176\200-\377' >controls
    is "$(size_of controls)" 0 "$command prints control characters"
    prints 'esc\\x1b\[31m'
    prints 'new\\x0aline'
    prints 'c1\\xc2\\x9b31m'
    prints 'rlo\\xe2\\x80\\xaex'
    prints 'grüße'
    run 0 "$WCODEC" $command --json names.safetensors.wcodec; json out
    json_is out '{"esc\x1b[31m", "c1\x9b31m", "del\x7f", "rlo\u202ex", "grüße"} <= {t["name"] for t
        in d["files"][0]["tensors"]}'
    # C1 in UTF-8, DEL, and characters that turn the direction.
    if LC_ALL=C grep -q -e "$(printf '\302[\200-\237]')" -e "$(printf '\177')" \
        -e "$(printf '\342\200\256')" out; then
        fail "$command --json prints controls"
    else
        pass
    fi
    prints 'grüße'
done
run 0 "$WCODEC" cat --tensor "$(printf 'new\nline')" names.safetensors.wcodec
is "$(size_of out)" 10
run 0 "$WCODEC" cat --tensor=../../etc/passwd names.safetensors.wcodec
run 0 "$WCODEC" cat --tensor=-f names.safetensors.wcodec
run 0 "$WCODEC" cat --tensor= names.safetensors.wcodec
run 0 "$WCODEC" decompress -f names.safetensors.wcodec
is "$(find . -name '*passwd*')" ''

# Names of files too: not UTF-8, with control characters.
bad=$(printf 'b\377ad\033[1m\nname.safetensors')
if cp all.safetensors "$bad" 2>/dev/null; then
    run 0 "$WCODEC" compress "$bad"; says 'b\\xffad\\x1b\[1m\\x0aname'
    run 0 "$WCODEC" list --json "$bad.wcodec"; json out
    run 0 "$WCODEC" info "$bad.wcodec"; prints 'b\\xffad'
    run 0 "$WCODEC" test --json "$bad.wcodec"; json out
    run 3 "$WCODEC" test "$bad"; says '\\x1b'
    rm "$bad"
    run 0 "$WCODEC" decompress "$bad.wcodec"
    same all.safetensors "$bad"
else
    skip 'file names must be UTF-8 here'
fi

# Colour is for terminals, or on request.
run 0 "$WCODEC" list --color=always all.safetensors.wcodec
if grep -q "$(printf '\033')" out; then pass; else fail '--color=always gives none'; fi
run 0 "$WCODEC" list --color=never all.safetensors.wcodec
if grep -q "$(printf '\033')" out; then fail '--color=never gives some'; else pass; fi

run 0 "$WCODEC" devices; quiet; prints '^cpu '
run 0 "$WCODEC" devices -v; prints '^threads: [0-9]'
run 0 "$WCODEC" devices --json; json out
json_is out 'any(x["backend"] == "cpu" and x["available"] and x["chosen"] for x in d["devices"])'
finish
