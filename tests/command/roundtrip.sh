#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Every dtype there and back, at all levels and choices; equal output for any number of threads;
# mode and time.
. "$top_srcdir/tests/command/lib.sh"
"$MAKE" -s 7 -m format=pt -m author=me all.safetensors all || exit 99

"$MAKE" -s 8 fixed.safetensors w:BF16:100x384:gauss e:BF16:3x40x500:gauss \
    h:F16:64x256:gauss r:BF16:64x256:random || exit 99
run 0 "$WCODEC" compress --tune=compute-fixed fixed.safetensors; silent
run 0 "$WCODEC" list fixed.safetensors.wcodec; prints '^w .* fixed11 '; prints '^e .* fixed11 '
run 0 "$WCODEC" test fixed.safetensors.wcodec; silent
run 0 "$WCODEC" verify fixed.safetensors.wcodec fixed.safetensors; silent
run 0 "$WCODEC" decompress -o back fixed.safetensors.wcodec; silent
same fixed.safetensors back 'compress --tune=compute-fixed'
rm back
run 0 "$WCODEC" compress -f --tune=compute fixed.safetensors; silent
run 0 "$WCODEC" list fixed.safetensors.wcodec; prints '^w .* fragments/p'; prints '^h .* fragments/p'
run 0 "$WCODEC" decompress -o back fixed.safetensors.wcodec; silent
same fixed.safetensors back 'compress --tune=compute'
rm back

for options in '' -1 -2 -5 -9 --fast --best --tune=latency --tune=compute-fixed --tune=compute --tile=4096 --tile=65536 \
    --profile=pairs --profile=p12 --profile=p8 --predict=none --predict=left --predict=paeth \
    --predict=wht --lossy=none --raw --no-verify '--exclude=blocks.*' '--include=*.bf16' \
    '-T 1' '-T 3'; do
    run 0 "$WCODEC" compress -f $options all.safetensors; silent; says 'all.safetensors: '
    run 0 "$WCODEC" test all.safetensors.wcodec; silent
    run 0 "$WCODEC" verify all.safetensors.wcodec all.safetensors; silent
    run 0 "$WCODEC" decompress -f -o back all.safetensors.wcodec; silent
    same all.safetensors back "compress $options"
done
for n in 1 2 5; do
    "$WCODEC" compress -q -T $n all.safetensors -o threads.$n.wcodec
done
same threads.1.wcodec threads.2.wcodec
same threads.1.wcodec threads.5.wcodec
same all.safetensors.wcodec threads.1.wcodec

# Sizes around those of tiles, in one file each; nothing grows by more than 0.1 % and 4 KiB.
for n in 0 1 2 127 128 129 4095 4096 4097 8192 65537; do
    "$MAKE" -s $n odd.safetensors "w:BF16:$n:gauss" "r:U8:$n:random" "d:F64:$n:gauss"
    run 0 "$WCODEC" compress -fq odd.safetensors; silent; quiet
    run 0 "$WCODEC" decompress -fq odd.safetensors.wcodec -o back
    same odd.safetensors back "$n elements"
    before=$(size_of odd.safetensors) after=$(size_of odd.safetensors.wcodec)
    if [ "$after" -le $((before + before / 1000 + 4096)) ]; then pass; else fail "$before bytes became $after"; fi
done

# What is no safetensors file.
: >empty
printf x >one
head -c 100000 "$WCODEC" >binary
head -c 5000 all.safetensors >cut.safetensors
for f in empty one binary cut.safetensors; do
    run 0 "$WCODEC" compress $f; silent
    rm -f back
    run 0 "$WCODEC" decompress -o back $f.wcodec
    same $f back
    run 0 "$WCODEC" list $f.wcodec
    run 0 "$WCODEC" info $f.wcodec; prints 'kind:       opaque'
done
cp cut.safetensors cut.bin
run 0 "$WCODEC" compress cut.bin; says 'stored as opaque bytes'
if grep -q warning err; then fail "a warning for what has another name"; else pass; fi
run 0 "$WCODEC" compress -f -v cut.bin; says 'no file of tensors: '
run 3 "$WCODEC" compress --strict -o strict.wcodec cut.bin; missing strict.wcodec
rm cut.safetensors.wcodec
run 0 "$WCODEC" compress cut.safetensors; says 'warning: .*opaque'
run 3 "$WCODEC" compress --strict -o strict.wcodec cut.safetensors; missing strict.wcodec
run 0 "$WCODEC" compress --strict -q -o strict.wcodec all.safetensors; quiet
run 0 "$WCODEC" compress --raw -o raw.wcodec cut.safetensors
if grep -q warning err; then fail "--raw warns"; else pass; fi

# Mode and time come back, to the nanosecond where the .wcodec file kept it.
cp one moded
chmod 640 moded
touch -d '2020-02-03 04:05:06.789 UTC' moded
run 0 "$WCODEC" compress -q moded
is "$(stat -c '%a %Y' moded.wcodec)" "$(stat -c '%a %Y' moded)"
mv moded moded.orig
run 0 "$WCODEC" decompress -q moded.wcodec
is "$(stat -c '%a %y' moded)" "$(stat -c '%a %y' moded.orig)"
# They come from the .wcodec file, not from what it holds: the same bytes make the same file.
touch -d '2021-01-01 UTC' moded.wcodec
rm moded
run 0 "$WCODEC" decompress -q moded.wcodec
is "$(stat -c '%Y' moded)" "$(stat -c '%Y' moded.wcodec)" "the .wcodec file's own time"
cp moded.orig other
touch -d '2022-01-01 UTC' other
chmod 604 other
run 0 "$WCODEC" compress -q other
same moded.wcodec other.wcodec 'the same bytes by another name, at another time'
run 0 "$WCODEC" compress -qn -o third.wcodec moded.orig
same moded.wcodec third.wcodec '-n is the default'
run 0 "$WCODEC" compress -q --name --no-name -o third.wcodec -f moded.orig
same moded.wcodec third.wcodec 'the last one counts'
run 0 "$WCODEC" info moded.wcodec
if grep -e '^original' -e '^mode' -e '^modified' out; then fail 'something is noted'; else pass; fi
run 0 sh -c '"$1" compress -q --name <moded.orig >third.wcodec' sh "$WCODEC"
same moded.wcodec third.wcodec 'standard input has no name'
# With --name all three are noted, and the time comes back from there.
run 0 "$WCODEC" compress -q --name -fo named.wcodec other
run 0 "$WCODEC" info named.wcodec; prints '^original:  *other$'; prints '^mode:  *0604$'
prints '^modified:  *2022-01-01 00:00:00 UTC'
run 0 "$WCODEC" info --json named.wcodec
json_is out '[d["files"][0][k] for k in ("name", "mode", "mtime")] == ["other", "0604", 1640995200]'
touch named.wcodec
run 0 "$WCODEC" decompress -q named.wcodec
is "$(stat -c '%a %Y' named)" '604 1640995200' 'the time noted in the file'
run 0 env SOURCE_DATE_EPOCH=1000000000 "$WCODEC" compress -qN -fo named.wcodec other
run 0 "$WCODEC" info named.wcodec; prints '^modified:  *2001-09-09 01:46:40 UTC'
run 0 env SOURCE_DATE_EPOCH=4000000000 "$WCODEC" compress -qN -fo named.wcodec other
run 0 "$WCODEC" info named.wcodec; prints '^modified:  *2022-01-01 00:00:00 UTC'
run 2 env SOURCE_DATE_EPOCH=now "$WCODEC" compress -N other -o never.wcodec; says 'SOURCE_DATE_EPOCH'
missing never.wcodec
run 0 env SOURCE_DATE_EPOCH=now "$WCODEC" compress -q other -o never.wcodec
# Folders: times and modes of all files come back from the mirror.
mkdir folder
cp -p moded.orig folder/a.safetensors
cp -p other folder/b.txt
run 0 "$WCODEC" compress -q folder
run 0 "$WCODEC" decompress -q folder.wcodec -o folder.back
for file in a.safetensors b.txt; do
    is "$(stat -c '%a %y' folder.back/$file)" "$(stat -c '%a %y' folder/$file)" "$file of a folder"
done
rm -r folder folder.back folder.wcodec
if [ "$(id -u)" = 0 ]; then
    cp one owned
    chown 12345:23456 owned
    chmod 4755 owned
    run 0 "$WCODEC" compress -q owned
    is "$(stat -c '%u %g %a' owned.wcodec)" '12345 23456 755'
else
    skip 'owners need root'
fi
# Where the time went.
parts='s: reading [0-9.]* %, coding [0-9.]* %, verifying [0-9.]* %, hashing [0-9.]* %, writing '
run 0 "$WCODEC" compress -v -o timed.wcodec all.safetensors; says "$parts"
run 0 "$WCODEC" test -v timed.wcodec; says "$parts"
run 0 "$WCODEC" decompress -v -o timed timed.wcodec; says "$parts"; same all.safetensors timed 'timed'
run 0 sh -c '"$1" decompress -c timed.wcodec | cat >piped' sh "$WCODEC"; same timed piped 'a pipe'
# A regular standard output: after what is there, and what follows comes after it.
run 0 sh -c '{ echo before; "$1" decompress -c timed.wcodec; echo after; } >mixed' sh "$WCODEC"
run 0 sh -c '{ echo before; cat timed; echo after; } | cmp - mixed'
run 0 sh -c 'echo before >mixed; "$1" decompress -c timed.wcodec >>mixed' sh "$WCODEC"
run 0 sh -c '{ echo before; cat timed; } | cmp - mixed'
run 0 sh -c '"$1" decompress -c timed.wcodec >/dev/null' sh "$WCODEC"
clean
finish
