#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# .wcodec files as inputs of compress: compressed anew, some tensors of them, the index in front; names from a list.
. "$top_srcdir/tests/command/lib.sh"
"$MAKE" -m format=pt a.safetensors w:BF16:300x200:gauss again:BF16:300x200:same x:I8:5000:gauss t:U8:3000:text z:F32:40:zero h:F16:70x9:gauss || exit 99
run 0 "$WCODEC" compress -1 -q a.safetensors
run 0 "$WCODEC" compress -9 -q -o 9.wcodec a.safetensors
size=$(size_of a.safetensors)

# Compressed anew: as if from the original.
for input in a.safetensors.wcodec 9.wcodec; do
    run 0 "$WCODEC" compress -9 -o anew.wcodec "$input"; says '6 tensors, '
    same anew.wcodec 9.wcodec "$input"
    rm anew.wcodec
done
run 0 sh -c '"$1" compress -q -9 <a.safetensors.wcodec >piped.wcodec' sh "$WCODEC"; same piped.wcodec 9.wcodec
run 0 "$WCODEC" compress -9 -o 9.wcodec a.safetensors.wcodec; says 'up to date$'
run 0 "$WCODEC" compress -2 -o 9.wcodec a.safetensors.wcodec; says 'up to date, but made with other options (-9)'
run 1 "$WCODEC" compress -9 a.safetensors.wcodec; says 'ends in .wcodec already; use -o, or -O'
run 0 "$WCODEC" compress -9 -q -O folder a.safetensors.wcodec; same folder/a.safetensors.wcodec 9.wcodec
run 0 "$WCODEC" compress --lossy=bits:4 -o lossy.wcodec a.safetensors.wcodec; says ' 2 approximated'
run 0 "$WCODEC" compress --lossy=bits:4 -q -o direct.wcodec a.safetensors; same lossy.wcodec direct.wcodec
run 0 "$WCODEC" compress -q --raw -o raw.wcodec 9.wcodec
run 0 "$WCODEC" decompress -q -o raw raw.wcodec; same raw 9.wcodec
printf 'no numbers' >opaque
run 0 "$WCODEC" compress -q opaque
run 0 "$WCODEC" compress -9 -q -o o.wcodec opaque.wcodec
run 0 "$WCODEC" decompress -q o.wcodec; same o opaque
head -c $(($(size_of 9.wcodec) - 1)) 9.wcodec >cut.wcodec
run 3 "$WCODEC" compress -1 -o bad.wcodec cut.wcodec; says 'cut short'; missing bad.wcodec
cp a.safetensors.wcodec bad.wcodec
poke bad.wcodec 20000 252
run 3 "$WCODEC" compress -9 -o worse.wcodec bad.wcodec; says "tensor '"; missing worse.wcodec

# Some tensors.
run 0 "$WCODEC" compress --only='[wx]' --tensor=again -o some.wcodec 9.wcodec; says '3 tensors, '
run 0 "$WCODEC" test some.wcodec
run 0 "$WCODEC" decompress -q --only='[wx]' --tensor=again -o expected 9.wcodec
run 0 "$WCODEC" decompress -q -o some some.wcodec
run 0 "$WCODEC" list --json some.wcodec
json_is out '[(t["name"], t["coding"]["kind"]) for t in d["files"][0]["tensors"]][1:2] == [("again", "alias")]'
for name in w x again; do
    "$WCODEC" cat --tensor=$name some.wcodec >mine
    "$WCODEC" cat --tensor=$name 9.wcodec >theirs
    same mine theirs "tensor $name"
done
run 0 "$WCODEC" info some.wcodec; prints '^options: *-9$'; prints 'metadata: *format = pt'
# An alias without its original.
run 0 "$WCODEC" compress -q --tensor=again -o again.wcodec 9.wcodec
"$WCODEC" cat --tensor=again again.wcodec >mine
"$WCODEC" cat --tensor=w 9.wcodec >theirs
same mine theirs
run 0 "$WCODEC" compress -q --only='*' -o all.wcodec lossy.wcodec
run 0 "$WCODEC" test all.wcodec
run 1 "$WCODEC" compress --only='nothing*' -o none.wcodec 9.wcodec; says 'no tensor matches'; missing none.wcodec
run 2 "$WCODEC" compress --only='*' -o none.wcodec a.safetensors; says 'is no .wcodec file'
run 2 "$WCODEC" compress -5 --only='*' -o none.wcodec 9.wcodec; says 'as they are coded'
run 3 "$WCODEC" compress --only='*' -o none.wcodec bad.wcodec; says "tensor '.*': the hash of its payload differs"; missing none.wcodec

# The index in front.
run 0 "$WCODEC" compress -9 -q --index=front -o front.wcodec a.safetensors
run 0 "$WCODEC" test front.wcodec
run 0 "$WCODEC" info front.wcodec; prints '^options: *-9 --index=front$'
run 0 "$WCODEC" compress -9 --index=front -o front.wcodec a.safetensors; says 'up to date$'
run 0 "$WCODEC" compress -9 --index=end -o front.wcodec a.safetensors; says 'up to date, but made with other options (-9 --index=front)'
run 0 "$WCODEC" compress -9 -o front.wcodec a.safetensors; says 'up to date$'
run 0 "$WCODEC" decompress -q -o back front.wcodec; same back a.safetensors
run 0 "$WCODEC" compress -q --index=front -o copied.wcodec 9.wcodec; same copied.wcodec front.wcodec
run 0 "$WCODEC" compress -q --index=end -o end.wcodec front.wcodec; same end.wcodec 9.wcodec
run 0 sh -c '"$1" compress -q -9 --index=front <a.safetensors | cat >piped.wcodec' sh "$WCODEC"; same piped.wcodec front.wcodec
run 0 "$WCODEC" compress -q --index=front --only='[wt]' -o some.front 9.wcodec
run 0 "$WCODEC" test some.front
# What cannot be written is named, the temporary file too.
(ulimit -f 4 && run 1 "$WCODEC" compress --index=front -o none.wcodec a.safetensors &&
    says 'none.wcodec: cannot be kept in a temporary file (see TMPDIR): File too large' &&
    is "$(grep -c . "$work/err")" 1 && [ "$failed" -eq 0 ]) || fail 'a temporary file that is full'
(ulimit -f 4 && run 1 "$WCODEC" compress --index=front -o none.wcodec 9.wcodec &&
    says 'none.wcodec: cannot write: File too large' && [ "$failed" -eq 0 ]) || fail 'a file that is full'
missing none.wcodec
if [ -w /dev/full ]; then
    run 1 "$WCODEC" compress --index=front -f -o /dev/full a.safetensors; says '/dev/full: cannot write: No space left'
fi
run 1 env TMPDIR="$work/nowhere" "$WCODEC" compress --index=front -o none.wcodec a.safetensors
says 'nowhere: cannot make a temporary file'; is "$(grep -c . err)" 1
head -c $(($(size_of front.wcodec) - 100)) front.wcodec >cut.wcodec
run 3 "$WCODEC" test cut.wcodec
run 3 "$WCODEC" decompress --keep-going -f -o saved cut.wcodec; says 'are missing'; exists saved
run 0 "$WCODEC" compress -q --index=front -o opaque.front opaque
run 0 "$WCODEC" decompress -q -f -o o opaque.front; same o opaque

# Lists of names.
mkdir lists
cp a.safetensors "lists/a b.safetensors"
cp a.safetensors lists/c.safetensors
printf 'lists/a b.safetensors\r\n\nlists/c.safetensors' >names
run 0 "$WCODEC" compress --filelist=names; says 'total: 2 compressed'
exists 'lists/a b.safetensors.wcodec' lists/c.safetensors.wcodec
run 0 sh -c 'ls lists/*.wcodec | "$1" test --filelist=-' sh "$WCODEC"
is "$(grep -c ': ok$' err)" 2
run 2 "$WCODEC" compress --filelist=nowhere; says "No such file or directory 'nowhere'"
: >empty
run 2 "$WCODEC" list --filelist=empty; says 'no name in the list of files'
printf 'a\0b' >nul
run 2 "$WCODEC" list --filelist=nul; says 'holds a NUL'
# Standard input cannot be both, and what has no end is no list.
for operand in - 'names -'; do
    # shellcheck disable=SC2086 # several operands
    run 2 sh -c 'echo a.safetensors | "$0" compress -c --filelist=- "$@"' "$WCODEC" $operand
    says 'standard input is the list of files, and cannot be an input too'
done
run 2 sh -c 'printf "a.safetensors\n-\n" | "$1" compress --filelist=-' sh "$WCODEC"; says 'cannot be an input too'
run 2 timeout 60 "$WCODEC" list --filelist=/dev/zero; says "holds a NUL: '/dev/zero'"
run 2 timeout 60 sh -c 'yes | tr -d "\n" | "$1" list --filelist=-' sh "$WCODEC"; says 'a line of a list of files has more than 64 KiB'
run 2 timeout 60 sh -c 'yes name | "$1" list --filelist=-' sh "$WCODEC"; says 'a list of files has more than 64 MiB'
is "$size" "$(size_of back)"
clean
finish
