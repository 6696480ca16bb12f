#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Hostile safetensors headers and indexes: taken as tensors or as opaque bytes, as the rules say;
# restored byte for byte; nothing but what was asked for is written; nothing raw on a terminal.
. "$top_srcdir/tests/command/lib.sh"

# controls FILE: nothing in it acts on a terminal.
controls () {
    if LC_ALL=C tr -d '\n' <"$1" | LC_ALL=C grep -q -e '[[:cntrl:]]' \
        -e "$(printf '\302[\200-\237]')" -e "$(printf '\342\200[\252-\256]')"; then
        fail "controls in $1: $(head -c 300 "$1" | cat -v)"
    else
        pass
    fi
}

# little SIZE: eight bytes.
little () {
    n=$1
    for _ in 1 2 3 4 5 6 7 8; do
        printf "\\$(printf %o $((n & 255)))"
        n=$((n >> 8))
    done
}

# file KIND HEADER [DATA]: the header in printf's escapes, with ^ for JSON's backslash; KIND is
# tensors or opaque.
file () {
    kind=$1
    printf "$2" | tr '^' '\\' >head.txt
    { little "$(size_of head.txt)"; cat head.txt; printf '%s' "${3-abcd}"; } >x.safetensors
    judge "$2"
}
judge () {
    what=$(printf '%.60s' "$1")
    cp x.safetensors original
    run 0 "$WCODEC" compress x.safetensors; silent; controls err
    case $kind:$(cat err) in
    tensors:*opaque*|opaque:*[0-9]\ tensor*) fail "not taken as $kind: $what" ;;
    *) pass ;;
    esac
    if [ $kind = opaque ]; then
        says 'warning: x.safetensors: '
        run 3 "$WCODEC" compress --strict -o strict x.safetensors; controls err
        missing strict
        rm -f strict
    fi
    for arguments in list 'list --json' info 'info --json' test; do
        run 0 "$WCODEC" $arguments x.safetensors.wcodec; controls out; controls err
    done
    rm x.safetensors
    run 0 "$WCODEC" decompress -q x.safetensors.wcodec; quiet
    same x.safetensors original "$what"
    run 3 "$WCODEC" list x.safetensors
    rm x.safetensors x.safetensors.wcodec
    # shellcheck disable=SC2012
    is "$(ls -A | tr '\n' ' ')" 'err head.txt original out ' "$what"
}

t='"dtype":"U8","shape":[4],"data_offsets":[0,4]'
file tensors "{\"a\":{$t}}"
file tensors " \\n\\t {\"a\":{$t}}   "
file tensors "{\"a\":{$t,\"more\":{\"x\":[1,null]}}}"
file tensors "{\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]},\"a\":{$t}}" abcdefgh
file tensors '{}' ''
file tensors '{"a":{"dtype":"NEW_9","shape":[7],"data_offsets":[0,4]}}'

# Names and words that a terminal, a shell or a file system would act on.
for name in '../../etc/passwd' '/etc/passwd' '..' 'a/b' '-rf' '' '*' '$(id)' '^u001b]0;x^u0007' \
    '^u009b31m' '^u202e' '^n^r' '%%s%%n' '__metadata__ ' '^ud83d^ude00'; do
    file tensors "{\"$name\":{$t}}"
done
file tensors '{"a":{"dtype":"^u001b[1m^u009b","shape":[4],"data_offsets":[0,4]}}'
file tensors "{\"__metadata__\":{\"^u001b[1m\":\"^u009b^n\"},\"a\":{$t}}"

# Not as the rules are.
file opaque "{\"a\":{$t},\"a\":{$t}}"
file opaque "{\"a\":{$t},\"^u0061\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[4,8]}}" abcdefgh
file opaque "{\"a\":{\"dtype\":\"U8\",$t}}"
file opaque "{\"a\":{$t},\"b\":{$t}}"
file opaque "{\"a\":{$t},\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[2,6]}}" abcdef
file opaque "{\"a\":{$t},\"b\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":[5,9]}}" abcdefghi
file opaque "{\"a\":{$t}}" abcde
file opaque "{\"a\":{$t}}" abc
for shape in '[99999999999999999999]' '[18446744073709551615]' '[4294967296,4294967296,4]' \
    '[0,9223372036854775808]' '[-4]' '[4.0]' '[4e0]' '[04]' '4' '[[4]]' '["4"]'; do
    file opaque "{\"a\":{\"dtype\":\"U8\",\"shape\":$shape,\"data_offsets\":[0,4]}}"
done
for offsets in '[0,18446744073709551620]' '[4,0]' '[-4,0]' '[0]' '[0,4,8]' '[0,400]'; do
    file opaque "{\"a\":{\"dtype\":\"U8\",\"shape\":[4],\"data_offsets\":$offsets}}"
done
file opaque "\\357\\273\\277{\"a\":{$t}}"
file opaque "{\"a\":{$t}}\\000\\000"
file opaque "{\"a\":{$t}}x"
file opaque "{\"a\\000b\":{$t}}"
file opaque "{\"a^u0000b\":{$t}}"
file opaque "{\"a\\377\":{$t}}"
file opaque "{\"a\\300\\200\":{$t}}"
file opaque "{\"a\\355\\240\\200\":{$t}}"
file opaque "{\"^ud800\":{$t}}"
file opaque "{\"a\\033[31m\":{$t}}"
file opaque "{\"__metadata__\":{$t}}"
file opaque "{\"__metadata__\":{\"k\":1},\"a\":{$t}}"
file opaque "{\"__metadata__\":{\"k\":\"1\",\"k\":\"2\"},\"a\":{$t}}"
file opaque '[]' ''
file opaque 'null' ''
kind=opaque
printf '\377\377\377\377\377\377\377\377{}' >x.safetensors; judge 'length 2^64 - 1'
{ little 100000001; printf '{}'; } >x.safetensors; judge 'length over the limit'
{ little 2000000; head -c 2000000 /dev/zero | tr '\0' '['; } >x.safetensors; judge 'two million brackets'

# Indexes of model folders: no name leads out of the folder.
rm -f ./*
"$MAKE" a.safetensors a:U8:100:text || exit 99
mkdir m
"$WCODEC" compress -q a.safetensors -O m
index () {
    code=$1
    printf "$2" | tr '^' '\\' >m/m.safetensors.index.json
    run "$code" "$WCODEC" list m; controls err
    [ "$code" = 0 ] || says '^wcodec: error: m/'
}
index 0 '{"metadata": {"total_size": 1}, "weight_map": {"a": "a.safetensors"}}'
for map in '' '[]' '{}' '{"weight_map": {}}' '{"weight_map": []}' '{"weight_map": {"a": 1}}' \
    '{"weight_map": {"a": "a.safetensors", "a": "a.safetensors"}}' \
    '{"weight_map": {"b": "a.safetensors"}}' '\357\273\277{"weight_map": {"a": "a.safetensors"}}' \
    '{"weight_map": {"a^u0000": "a.safetensors"}}'; do
    index 3 "$map"
done
for name in '../m/a.safetensors' '/etc/passwd' '' '.' '..' 'a.safetensors^u0000' 'C:x' 'x^^y' \
    '^u001b]0;x^u0007' 'm^u009b'; do
    case $name in *009b) code=1 ;; *) code=3 ;; esac
    index $code "{\"weight_map\": {\"a\": \"$name\"}}"
done
index 1 '{"weight_map": {"a": "m.safetensors"}}'
head -c 3000000 /dev/zero | tr '\0' '[' >m/m.safetensors.index.json
run 3 "$WCODEC" list m; says 'depth'
mkfifo m/fifo.safetensors.wcodec
index 1 '{"weight_map": {"a": "fifo.safetensors"}}'
ln -s / m/link.safetensors.wcodec
index 1 '{"weight_map": {"a": "link.safetensors"}}'
finish
