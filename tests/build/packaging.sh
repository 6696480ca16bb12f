#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# What packages are made by agrees with the sources, and what cannot be packaged is refused.
. "$top_srcdir/tests/build/checks.sh"
work=$(mktemp -d "${TMPDIR:-/tmp}/wcodec-packaging.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT
debian=$top_srcdir/packaging/debian

"$top_srcdir/scripts/symbols" >"$work/symbols"
run "Debian's symbols are those of the map (else: scripts/symbols)" \
    diff "$work/symbols" "$debian/libwcodec0.symbols"
run "Debian's version" grep -q "^wcodec ($PACKAGE_VERSION-" "$debian/changelog"
run "RPM's version" grep -q "^Version: *$PACKAGE_VERSION\$" "$top_srcdir/packaging/wcodec.spec"
run "Python's version" grep -q "^version = \"$PACKAGE_VERSION\"" "$top_srcdir/python/pyproject.toml"

# Recipes that are not built here: their version, and no option that configure has not.
recipes='guix/wcodec.scm nix/package.nix homebrew/wcodec.rb'
"$top_srcdir/configure" --help >"$work/help" || exit 99
options_of () {
    grep -oE -e '--(with|without|enable|disable)-[a-z0-9-]+' "$1" | sort -u
}
for recipe in $recipes; do
    file=$top_srcdir/packaging/$recipe
    run "$recipe: version" grep -qF "$PACKAGE_VERSION" "$file"
    unknown=
    for option in $(options_of "$file"); do
        name=$(echo "$option" | sed 's/^--with\(out\)*-/--with-/; s/^--\(en\|dis\)able-/-able-/')
        sed 's/--\(en\|dis\)able-/-able-/' "$work/help" | grep -qE -e "$name([^a-z-]|$)" ||
            unknown="$unknown $option"
    done
    run "$recipe: options of configure$unknown" test -z "$unknown"
    for part in zstd xxhash jansson hwloc lz4 opencl; do
        run "$recipe: $part" grep -qi "$part" "$file"
    done
done

refuses () {
    ! "$top_srcdir/scripts/make-deb" --build="$work/build" --output="$work/debs" "$2" \
        >"$work/out" 2>&1 && grep -q "$1" "$work/out"
}
if command -v dpkg-buildpackage >/dev/null 2>&1; then
    run "refuses a missing tarball" refuses 'no such file' "$work/wcodec-1.tar.xz"
    : >"$work/other.tar.xz"
    run "refuses another name" refuses 'not wcodec-VERSION' "$work/other.tar.xz"
    : >"$work/wcodec-1.tar.xz"
    run "refuses what is no tarball" refuses 'cannot be unpacked' "$work/wcodec-1.tar.xz"
    mkdir "$work/wcodec-1"
    tar -cJf "$work/wcodec-1.tar.xz" -C "$work" wcodec-1
    run "refuses a tarball without packaging" refuses 'packaging/debian is not in it' \
        "$work/wcodec-1.tar.xz"
else
    skip "no dpkg-buildpackage"
fi
finish
