#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# What the command could do once a file had got at its decoder (escape.c): next to nothing, and with
# --no-sandbox all. What it needs it keeps.
. "$top_srcdir/tests/command/lib.sh"
mkdir in else
"$MAKE" in/a.safetensors w:BF16:300x300:gauss || exit 99
"$WCODEC" compress -q in/a.safetensors || exit 99
run 0 "$WCODEC" test -vv --backend=cpu in/a.safetensors.wcodec
said=$(cat err)
files=no calls=no
case $said in *'sandbox: files confined'*) files=yes ;; esac
case $said in *'calls confined'*) calls=yes ;; esac
echo "files confined: $files, calls: $calls"
[ $files$calls != nono ] || { echo 'skipped: nothing can be confined here'; exit 77; }
build_preload escape || { echo 'skipped: nothing can be put in front of the command'; exit 77; }

# escapes COMMAND...: what escape.c says of it is in ./err
escapes () {
    rm -f "$HOME/made"
    run 0 env ESCAPE_TO="$HOME/made" ESCAPE_OVER="$HOME/there" LD_PRELOAD="$work/escape.so" "$WCODEC" "$@"
}
# Not in a folder of temporary files, which is allowed.
HOME=$work/home TMPDIR=$work/tmp
export HOME TMPDIR
mkdir home tmp
echo there >home/there

# confined COMMAND...
confined () {
    escapes "$@"
    if [ $files = yes ]; then
        says '^create: Permission denied'; says '^overwrite: Permission denied'
        missing home/made
    fi
    if [ $calls = yes ]; then
        says '^connect: Permission denied'; says '^run: Permission denied'
        says '^look: Permission denied'; says '^talk: Permission denied'
        says '^type: Permission denied'
    fi
}
confined compress -fq --backend=cpu in/a.safetensors
confined test -q --backend=cpu in/a.safetensors.wcodec
confined list in/a.safetensors.wcodec
confined info in/a.safetensors.wcodec
confined verify -q --backend=cpu in/a.safetensors.wcodec in/a.safetensors
confined decompress -q --backend=cpu -o else/a in/a.safetensors.wcodec
confined cat --backend=cpu --tensor=w -o else/w in/a.safetensors.wcodec
confined convert -q --backend=cpu -o else/c.safetensors in/a.safetensors.wcodec
cp in/a.safetensors in/b.safetensors
poke in/b.safetensors 50000 125
"$WCODEC" compress -q --base=in/a.safetensors in/b.safetensors || exit 99
confined rebase -q --backend=cpu --from=in/a.safetensors -o else/r.wcodec in/b.safetensors.wcodec
confined vectors train -q --backend=cpu --anchors=4 --max-iterations=2 -o else/v in/a.safetensors
confined bench -q --backend=cpu -n 1 in/a.safetensors.wcodec

# Drivers run compilers, and talk to their services: where one may be loaded, that is left.
mkdir plugins
: >plugins/wcodec_opencl.so
WCODEC_BACKEND_PATH=$work/plugins
export WCODEC_BACKEND_PATH
escapes test -q in/a.safetensors.wcodec
if [ $calls = yes ]; then says '^connect: Permission denied'; says '^type: Permission denied'; fi
says '^run: done'; says '^talk: done'
confined list in/a.safetensors.wcodec
confined test -q --backend=cpu in/a.safetensors.wcodec
unset WCODEC_BACKEND_PATH

escapes test -q --no-sandbox in/a.safetensors.wcodec
for what in create overwrite connect talk run look type; do says "^$what: done"; done

# Outputs go where they are wanted, however that is said.
mkdir model model/sub deep
"$MAKE" model/sub/x.safetensors w:BF16:30x300:gauss || exit 99
echo '{}' >model/config.json
ln -s deep link
run 0 "$WCODEC" compress -q -o link/a.wcodec in/a.safetensors; exists deep/a.wcodec
run 0 "$WCODEC" compress -rq model; exists model.wcodec/sub/x.safetensors.wcodec
run 0 "$WCODEC" compress -rq model/ -O made/; exists made/model.wcodec/sub/x.safetensors.wcodec
run 0 "$WCODEC" decompress -rq model.wcodec -o "$work/deep/back/"; run 0 diff -r model deep/back
run 0 sh -c 'cd model/sub && "$1" compress -q x.safetensors && "$1" compress -q --rm ../sub/x.safetensors' sh "$WCODEC"
missing model/sub/x.safetensors
echo in/a.safetensors >names
rm in/a.safetensors.wcodec
run 0 "$WCODEC" compress -q --filelist=names; exists in/a.safetensors.wcodec
run 0 "$WCODEC" compress -q --index=front -o else/front.wcodec in/a.safetensors
run 0 sh -c '"$1" compress -c - <in/a.safetensors >else/piped' sh "$WCODEC"
run 0 "$WCODEC" test -q else/front.wcodec else/piped
run 0 "$WCODEC" decompress -qfo /dev/null else/piped
finish
