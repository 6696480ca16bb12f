#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# Installs into a folder of its own, builds the example programs against that tree through
# pkg-config, and runs them.
set -u
: "${CC:?}" "${top_srcdir:?}" "${top_builddir:?}" "${LIBDIR:?}" "${PKGCONFIGDIR:?}" "${PACKAGE_VERSION:?}"
command -v pkg-config >/dev/null 2>&1 || { echo "no pkg-config: skipped"; exit 77; }
. "$top_srcdir/tests/build/checks.sh"
root=$(pwd)/tests/build/installed.tmp
rm -rf "$root"
mkdir -p "$root" || exit 99
trap 'chmod -R u+w "$root"; rm -rf "$root"' EXIT

# The outer make's job server is not for this one.
unset MAKEFLAGS MFLAGS MAKELEVEL
run "make install" ${MAKE:-make} -s -C "$top_builddir" install DESTDIR="$root" >"$root/install.log" 2>&1
[ "$failed" -eq 0 ] || { cat "$root/install.log"; finish; }

PKG_CONFIG_PATH=$root$PKGCONFIGDIR${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
PKG_CONFIG_SYSROOT_DIR=$root
# Also with a prefix of /usr the flags must name the tree under test.
PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1
PKG_CONFIG_ALLOW_SYSTEM_LIBS=1
LD_LIBRARY_PATH=$root$LIBDIR${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR PKG_CONFIG_ALLOW_SYSTEM_CFLAGS \
    PKG_CONFIG_ALLOW_SYSTEM_LIBS LD_LIBRARY_PATH
run "version in wcodec.pc" test "$(pkg-config --modversion wcodec)" = "$PACKAGE_VERSION"
prefix=$(env -u PKG_CONFIG_SYSROOT_DIR pkg-config --variable=prefix wcodec)
run "plugindir in wcodec.pc" test -n "$(pkg-config --variable=plugindir wcodec)"

flags=$(pkg-config --cflags --libs wcodec) || { failed=$((failed + 1)); finish; }
for example in compress-tensors decode-tensor load-model multiply sync-weights; do
    # shellcheck disable=SC2086
    run "build $example" $CC -std=c11 -Wall -Wextra -Werror $SANITIZER_FLAGS -o "$root/$example" \
        "$top_srcdir/examples/$example.c" $flags
done

run "compress-tensors" "$root/compress-tensors" "$root/made.wcodec"
run "decode-tensor, list" "$root/decode-tensor" "$root/made.wcodec" >"$root/list"
run "decode-tensor, one tensor" "$root/decode-tensor" "$root/made.wcodec" layer.0.weight >"$root/one"
run "the tensor's first values" grep -q \
    '^layer\.0\.weight F32 \[256, 64\]: 0 0\.00390625 0\.0078125 0\.0117188$' "$root/one"
run "load-model" "$root/load-model" "$root/made.wcodec" >"$root/loaded"
run "what was loaded" grep -q '^[a-z]*:[0-9]*: [1-9][0-9]* tensors, [1-9]' "$root/loaded"
run "multiply" "$root/multiply" "$root/made.wcodec" >"$root/products"
run "what it computed" grep -q \
    '^layer\.0\.weight \[256, 64\] plain, 65536 of 65536 bytes: 32736$' "$root/products"
run "sync-weights" "$root/sync-weights" >"$root/synchronised"
run "what it synchronised" grep -q '^1 tensor of 262144 bytes by a message of less than [1-9][0-9]*00: the same$' "$root/synchronised"
run "refuses a missing tensor" sh -c '! "$1" "$2" no.such.tensor 2>"$3"' sh "$root/decode-tensor" \
    "$root/made.wcodec" "$root/message"
run "says which" grep -q 'no\.such\.tensor' "$root/message"
run "refuses what is no .wcodec file" sh -c '! "$1" "$1" 2>/dev/null' sh "$root/decode-tensor"
# The dynamic linker is told, by root only and where it is not for a package.
mkdir -p "$root/fake"
printf '#!/bin/sh\necho 0\n' >"$root/fake/id"
# shellcheck disable=SC2016 # for that script
printf '#!/bin/sh\n: >"${0%%/*}/told"\n' >"$root/fake/ldconfig"
chmod +x "$root/fake/id" "$root/fake/ldconfig"
run "make install into a folder tells no linker" env PATH="$root/fake:$PATH" ${MAKE:-make} -s -C "$top_builddir" install-exec-hook DESTDIR="$root"
run "it was not called" test ! -e "$root/fake/told"
run "make install as root tells the linker" env PATH="$root/fake:$PATH" ${MAKE:-make} -s -C "$top_builddir" install-exec-hook DESTDIR=
run "it was called" test -e "$root/fake/told"
rm -r "$root/fake"
# What README links to lies beside it, except for sources.
docs=$(dirname "$(find "$root" -name README.md -path '*/doc/*' | awk '{print length, $0}' | sort -n | head -n 1 | cut -d ' ' -f 2)")
grep -o '](\([^):#]*\)' "$docs/README.md" | sed 's/](//' | grep -v -e '^include/' | sort -u >"$root/links"
while read -r link; do
    run "README's link $link" test -f "$docs/$link"
done <"$root/links"

# Nothing of ours is left afterwards, empty folders neither.
run "make uninstall" ${MAKE:-make} -s -C "$top_builddir" uninstall DESTDIR="$root" >"$root/uninstall.log" 2>&1
find "$root" -mindepth 2 -type f >"$root/left"
# By paths below the prefix, which may itself lie in a folder of our name.
(cd "$root$prefix" 2>/dev/null && find . -path '*wcodec*') >>"$root/left"
run "nothing is left: $(head -n 3 "$root/left" | tr '\n' ' ')" test ! -s "$root/left"
cat "$root/list" "$root/one" "$root/message"
finish
