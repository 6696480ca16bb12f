#!/bin/sh
# SPDX-FileCopyrightText: 2026 The wcodec authors
# SPDX-License-Identifier: BSD-2-Clause
# scripts/release refuses what is no release, and makes one of a small tree, the same from two folders.
. "$top_srcdir/tests/build/checks.sh"
command -v git >/dev/null 2>&1 || { echo "no git: skipped"; exit 77; }
work=$(mktemp -d "${TMPDIR:-/tmp}/wcodec-release-test.XXXXXX") || exit 99
trap 'rm -rf "$work"' EXIT

# A tree with all that is looked at; what makes its tarball is short.
tree=$work/tree
mkdir -p "$tree/scripts" "$tree/include/wcodec" "$tree/python" "$tree/packaging/debian" \
    "$tree/tests/golden"
cp "$top_srcdir/scripts/release" "$top_srcdir/scripts/sbom.py" "$tree/scripts/"
{ echo 'AC_INIT([wcodec], [1.2.3])'; grep '^WCODEC_' "$top_srcdir/configure.ac"; } >"$tree/configure.ac"
printf '#define WCODEC_VERSION_%s %s\n' MAJOR 1 MINOR 2 PATCH 3 >"$tree/include/wcodec/base.h"
echo 'version = "1.2.3"' >"$tree/python/pyproject.toml"
echo 'wcodec (1.2.3-1) unstable; urgency=medium' >"$tree/packaging/debian/changelog"
echo 'wcodec 1.2.3 (2026-01-31)' >"$tree/NEWS"
: >"$tree/tests/golden/1.2.3-1.wcodec"
: >"$tree/tests/golden/1.2.3.abi.xz"
echo '0  1.2.3-1.wcodec' >"$tree/tests/golden/SUMS"
printf '#!/bin/sh\n' | tee "$tree/autogen.sh" >"$tree/configure"
cat >"$tree/Makefile" <<'END'
dist:
	mkdir wcodec-1.2.3
	cp NEWS configure.ac scripts/release wcodec-1.2.3
	tar --sort=name --mtime=@1000000000 --owner=0 --group=0 --mode=644 -cJf wcodec-1.2.3.tar.xz wcodec-1.2.3
END
chmod +x "$tree/autogen.sh" "$tree/configure"
git_here () {
    git -C "$tree" -c user.name=test -c user.email=test@example.org -c commit.gpgsign=false "$@"
}
git_here init -q && git_here add -A && git_here commit -q -m tree || exit 99
unset MAKEFLAGS MFLAGS MAKELEVEL

release () {
    sh "$tree/scripts/release" --output="$work/out" "$@" >"$work/log" 2>&1
}
refuses () {
    ! release "$2" && grep -q -e "$1" "$work/log"
}
# breaks NAME MESSAGE FILE TEXT: with that text in a committed file it is refused
breaks () {
    cp "$tree/$3" "$work/kept"
    echo "$4" >"$tree/$3"
    git_here commit -q -a -m broken
    run "$1" refuses "$2" 1.2.3
    cp "$work/kept" "$tree/$3"
    git_here commit -q -a -m mended
}

run "makes one" release 1.2.3
run "its checksum" sh -c 'cd "$1" && sha256sum -c --quiet SHA256SUMS' sh "$work/out"
run "its bill of materials" python3 - "$work/out" <<'END'
import hashlib, json, sys
text = open(sys.argv[1] + "/wcodec-1.2.3.spdx.json").read()
d = json.loads(text)
tarball = open(sys.argv[1] + "/wcodec-1.2.3.tar.xz", "rb").read()
own = d["packages"][0]
assert d["spdxVersion"] == "SPDX-2.3" and d["creationInfo"]["created"] == "2001-09-09T01:46:40Z"
assert own["versionInfo"] == "1.2.3"
assert own["checksums"][0]["checksumValue"] == hashlib.sha256(tarball).hexdigest()
assert {p["name"] for p in d["packages"]} >= {"wcodec", "libzstd", "libxxhash", "jansson", "liblz4"}
files = {f["fileName"]: f["licenseConcluded"] for f in d["files"]}
assert files == {"./NEWS": "NOASSERTION", "./configure.ac": "NOASSERTION", "./release": "BSD-2-Clause"}
assert ("libzstd" in text) and any(r["relationshipType"] == "DEPENDS_ON" for r in d["relationships"])
END
run "no tag is set" test -z "$(git_here tag)"
run "refuses another version" refuses 'configure.ac says version 1.2.3, not 1.2.4' 1.2.4
run "refuses what is no version" refuses 'three numbers' 1.2
breaks "refuses another version in the header" 'base.h says version 9' include/wcodec/base.h \
    '#define WCODEC_VERSION_MAJOR 9'
breaks "refuses another version of the Python package" 'pyproject.toml says' python/pyproject.toml \
    'version = "1.2.2"'
breaks "refuses another version of Debian's" 'changelog says version 1.2.2' \
    packaging/debian/changelog 'wcodec (1.2.2-1) unstable; urgency=medium'
breaks "refuses NEWS without a date" 'NEWS: the first line has no date' NEWS \
    'wcodec 1.2.3 (not released yet)'
breaks "refuses a golden file that is not listed" 'SUMS does not list 1.2.3-1' tests/golden/SUMS x
rm "$tree/tests/golden/1.2.3.abi.xz"
git_here commit -q -a -m "no interface"
run "refuses a release without its interface" refuses '1.2.3.abi.xz, the interface, is not there' 1.2.3
: >"$tree/tests/golden/1.2.3.abi.xz"
git_here add -A
git_here commit -q -a -m "its interface"
breaks "refuses tarballs that differ" 'differ' Makefile 'dist:
	pwd >wcodec-1.2.3.tar.xz'
: >"$tree/new"
run "refuses a tree that is not clean" refuses 'not clean: ?? new' 1.2.3
rm "$tree/new"
git_here tag v1.2.3
run "refuses a version that has its tag" refuses 'is there already' 1.2.3
finish
