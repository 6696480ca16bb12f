#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# --rm: what it removes and what it refuses.
. "$top_srcdir/tests/command/lib.sh"
"$MAKE" original w:BF16:100x1000:gauss || exit 99

cp original a
run 0 "$WCODEC" compress --rm a
missing a
run 0 "$WCODEC" decompress --rm a.wcodec
missing a.wcodec
same a original
run 0 "$WCODEC" compress --rm -k a
exists a a.wcodec
# The output is there from a run before: it is tested in full, then the input goes.
run 0 "$WCODEC" compress --rm a; says 'up to date'
missing a
cp original a
poke a.wcodec 4000 252
poke a.wcodec 4001 7
run 1 "$WCODEC" compress --rm a
says 'error: a.wcodec: exists already, but is damaged (.*): the input is kept; -f makes it anew'
same a original 'a damaged output is no reason to remove the input'
rm a.wcodec

ln a hard
run 1 "$WCODEC" compress --rm a; says 'hard links'
exists a hard
missing a.wcodec
rm hard
ln -s a soft
run 1 "$WCODEC" compress --rm soft; says 'symbolic link'
exists a soft
missing soft.wcodec
run 2 sh -c 'cat a | "$1" compress --rm - -o x' sh "$WCODEC"
missing x
mkdir dir
cp a dir/a.safetensors
run 2 "$WCODEC" compress --rm dir; says 'is a directory'
exists dir/a.safetensors
missing dir.wcodec

# No output, no removal.
run 1 sh -c 'ulimit -f 50; "$1" compress --rm a' sh "$WCODEC"
same a original
missing a.wcodec
echo taken >a.wcodec
run 1 "$WCODEC" compress --rm a
same a original
rm a.wcodec
run 0 "$WCODEC" compress a
head -c 1000 a.wcodec >cut.wcodec
run 3 "$WCODEC" decompress --rm cut.wcodec
exists cut.wcodec
missing cut
run 0 "$WCODEC" compress --rm -f a
missing a
# Several inputs: one that fails stays, the others go.
cp original b
cp original c
ln c c2
run 1 "$WCODEC" compress --rm c b
missing b
exists c b.wcodec

# Two inputs, one output: -f replaces what was there before, never what this run has made.
mkdir one two
cp original one/m
head -c 1000 original >two/m
cp two/m two.original
run 1 "$WCODEC" compress --rm -f one/m two/m -O both; says 'two inputs cannot have one output'
missing one/m
same two/m two.original
run 0 "$WCODEC" decompress -c both/m.wcodec
"$WCODEC" decompress -q -c both/m.wcodec >restored
same restored original
run 0 "$WCODEC" compress --rm two/m
run 0 "$WCODEC" compress original -o one/m.wcodec
run 1 "$WCODEC" decompress --rm -f one/m.wcodec two/m.wcodec -O both; says 'two inputs cannot have one output'
missing one/m.wcodec
exists two/m.wcodec
same both/m original
# Without --rm too.
cp original one/m
cp two.original two/m
run 1 "$WCODEC" compress -f one/m two/m -O both
# A device or a pipe keeps nothing.
run 2 "$WCODEC" compress --rm -f original -o /dev/null; says 'device or pipe'
run 2 "$WCODEC" decompress --rm -f two/m.wcodec -o /dev/null; says 'device or pipe'
exists original two/m.wcodec
clean
finish
